package rungraph

import "regexp"

// schema03 adds to its predecessor the task, the configuration, the signals and what else a run tells of itself.
func schema03() *schema {
	s := schema02()
	run := s.objects["run"].members
	run["task"] = task()
	run["configuration"] = configuration()
	run["provenance"] = entity(map[string]*shape{"kind": word("logged", "designed"), "chooser": chars(100)}, "kind")
	run["acceptance_rule"] = acceptanceRule()
	run["signals"] = listOf(signal())
	run["slate"] = entity(map[string]*shape{
		"id": identifier(), "members": runIDs(1), "base_commit": chars(200), "isolated": typed("boolean"),
		"blinded": typed("boolean"),
	}, "id", "members")
	run["preferences"] = listOf(preference())
	run["rescue"] = rescue()
	run["rescue"].members["basis"] = word("measured", "expected")
	run["receipt"] = receipt()

	node := s.lists["nodes"].members
	node["vertex"] = chars(200)
	node["gate"] = entity(map[string]*shape{
		"rule": chars(100), "command": chars(1000),
		"disposition": entity(map[string]*shape{"rubric": chars(500), "severity_map": chars(500), "grammar": chars(500)}),
	})
	attempt := s.lists["attempts"].members
	attempt["vertex"] = chars(200)
	attempt["round"] = whole(1)
	attempt["setting"] = setting()
	attempt["cwd"] = chars(1000)
	attempt["cost"].members["tariff"] = entity(map[string]*shape{"id": chars(200), "date": chars(40), "source": chars(500)})
	artifact := s.lists["artifacts"].members
	artifact["vertex"] = chars(200)
	artifact["version"] = whole(1)
	artifact["supersedes"] = chars(200)
	artifact["transfer_tokens"] = mapOf(&shape{
		types: []string{"object"}, members: map[string]*shape{"input": whole(0), "cache_read": whole(0)},
	})
	return s
}

func outcomeTier() *shape { return word("verified", "reported", "heuristic", "asserted") }

func task() *shape {
	return entity(map[string]*shape{
		"id": identifier(), "title": shortText(), "type": chars(100), "subtype": chars(500), "repo": chars(500), "org": chars(200),
		"groups": listOf(&shape{
			types: []string{"object"}, members: map[string]*shape{"level": chars(100), "id": chars(500), "ext": typed("object")},
			required: []string{"level", "id"},
		}),
		"features":    mapOf(typed("boolean", "number", "string")),
		"base_commit": chars(200),
		"source":      entity(map[string]*shape{"kind": chars(100), "ref": chars(500)}, "kind"),
		"labeled_by":  entity(map[string]*shape{"how": chars(100), "model": chars(200), "tier": outcomeTier()}, "how"),
	}, "id")
}

var configurationID = regexp.MustCompile(`^cfg_[0-9a-f]{12}$`)

func configuration() *shape {
	return entity(map[string]*shape{
		"id":       {types: []string{"string"}, pattern: configurationID},
		"workflow": workflow(),
		"settings": mapOf(setting()),
		"source":   word("usual", "alternative", "exploration", "user_edit", "habit", "designed"),
		"rec":      chars(200),
	})
}

func setting() *shape {
	return entity(map[string]*shape{
		"harness": chars(100), "model": model(), "effort": chars(100), "context_policy": chars(100), "options": typed("object"),
	})
}

// workflow is one that is written out or one by reference; a piece may hold either again.
func workflow() *shape {
	either := &shape{}
	piece := entity(map[string]*shape{"id": identifier(), "role": chars(100), "width": whole(1), "workflow": either}, "id")
	end := listOf(chars(200))
	end.fewest, end.most = 2, 2
	pieces := listOf(piece)
	pieces.fewest = 1
	inline := entity(map[string]*shape{
		"id": chars(200), "version": whole(1), "title": shortText(), "pieces": pieces,
		"artifacts": listOf(entity(map[string]*shape{"id": identifier(), "kind": chars(100)}, "id")),
		"edges":     listOf(end),
		"control": entity(map[string]*shape{
			"gates": set(chars(200)), "repair": mapOf(chars(200)), "budget": whole(0), "rescue": rescue(),
		}),
	}, "pieces")
	byReference := entity(map[string]*shape{"ref": identifier(), "version": whole(1)}, "ref")
	either.either = []*shape{inline, byReference}
	return either
}

func rescue() *shape {
	return entity(map[string]*shape{"kind": chars(100), "ref": chars(200), "cost_usd": amount()}, "kind")
}

func acceptanceRule() *shape {
	score := entity(map[string]*shape{
		"name": chars(200), "target": typed("number"), "better": word("higher", "lower"), "scale": scale(),
	}, "name", "target", "better")
	return entity(map[string]*shape{
		"name": chars(200), "definition": shortText(), "requires": listOf(chars(200)), "score": orNull(score),
		"excludes_events": listOf(chars(200)), "window_days": whole(0),
	}, "name", "definition")
}

func scale() *shape { return word("linear", "log", "fraction") }

func signal() *shape {
	return entity(map[string]*shape{
		"id": identifier(), "kind": word("verdict", "score", "event"), "name": chars(200),
		"value":       {types: []string{"string", "number", "null"}, longest: 500},
		"observed_at": timestamp(), "tier": outcomeTier(), "unit": chars(100), "better": word("higher", "lower"),
		"target": typed("number"), "scale": scale(), "at_attempt": chars(200),
		"source": entity(map[string]*shape{"kind": chars(100), "ref": chars(500)}, "kind"),
	}, "id", "kind", "name", "value", "observed_at", "tier")
}

func runIDs(fewest int) *shape {
	s := set(chars(200))
	s.fewest = fewest
	return s
}

func preference() *shape {
	return entity(map[string]*shape{
		"id": identifier(), "slate": chars(200), "winner": chars(200), "members": runIDs(0),
		"judge":       entity(map[string]*shape{"kind": chars(100), "model": chars(200), "blinded": typed("boolean")}),
		"observed_at": timestamp(), "tier": outcomeTier(),
	}, "id", "slate", "winner")
}

// receipt is written by one producer only and read by none of ours: its outline is checked.
func receipt() *shape {
	maybe := typed("number", "null")
	return entity(map[string]*shape{
		"before": entity(map[string]*shape{
			"rec": chars(200), "fit": chars(200), "predicted": typed("object"), "price_usd": maybe, "payback_runs": maybe,
		}),
		"after": entity(map[string]*shape{
			"cost_usd": maybe, "tokens": orNull(whole(0)), "signals": typed("array"), "fit_after": orNull(chars(200)),
		}),
	})
}
