package rungraph

// schema is what one version of the format demands of the top level.
type schema struct {
	lists   map[string]*shape // of one entry, by the list's name
	objects map[string]*shape
}

var (
	topRequired = []string{"ocp", "producer", "privacy", "run", "nodes"}

	schemas = map[string]*schema{"0.1": schema01(), "0.2": schema02(), "0.3": schema03()}

	statuses = []string{"queued", "working", "done", "failed", "rejected", "canceled", "settled_unverified", "lost"}
	terminal = statuses[2:]
)

func evidenceTier() *shape { return word("verified", "heuristic", "reported") }
func shortText() *shape    { return chars(500) }
func labels() *shape       { return mapOf(chars(500)) }
func reference() *shape    { return chars(200) }

// schema02 is the middle one: the other two are told by how they differ.
func schema02() *schema {
	return &schema{
		objects: map[string]*shape{
			"producer": entity(map[string]*shape{
				"name": chars(200), "version": chars(100), "framework": chars(200), "framework_version": chars(100),
				"source_contract": chars(200), "emitted_at": timestamp(), "capabilities": mapOf(typed("boolean")),
			}, "name"),
			"privacy": entity(map[string]*shape{"profile": word("metadata_only", "full"), "note": shortText()}, "profile"),
			"run": entity(map[string]*shape{
				"id": identifier(), "title": shortText(), "started_at": timestamp(), "ended_at": timestamp(),
				"workspace": chars(500), "labels": labels(),
			}, "id"),
			"ext": typed("object"),
		},
		lists: map[string]*shape{
			"groups": entity(map[string]*shape{"id": identifier(), "title": shortText(), "parent": reference()}, "id"),
			"nodes": entity(map[string]*shape{
				"id": identifier(), "kind": chars(100), "title": shortText(), "group": reference(), "state": chars(100),
				"labels": labels(),
			}, "id", "kind"),
			"edges":     edge(),
			"attempts":  attempt(),
			"artifacts": artifact(),
			"events": entity(map[string]*shape{
				"at": timestamp(), "type": chars(100), "node": reference(), "attempt": reference(), "actor": reference(),
				"detail": shortText(),
			}, "at", "type"),
		},
	}
}

func edge() *shape {
	s := entity(map[string]*shape{
		"from": reference(), "to": reference(), "kind": chars(0), "tier": evidenceTier(), "artifact": reference(),
		"from_attempt": reference(), "to_attempt": reference(), "evidence": shortText(),
	}, "from", "to", "tier")
	s.demands = func(o *object) []string {
		if kind, _ := o.text("kind"); kind != "artifact" {
			return nil
		}
		return []string{"artifact", "from_attempt", "to_attempt"}
	}
	return s
}

func attempt() *shape {
	return entity(map[string]*shape{
		"id": identifier(), "node": reference(), "n": whole(1), "actor": reference(), "harness": chars(100),
		"model": model(), "effort": chars(100),
		"cause": entity(map[string]*shape{
			"type": chars(0), "ref": reference(), "by": reference(), "reason": shortText(),
		}, "type"),
		"origin": origin(), "role": inferred(), "phase": inferred(), "status": word(statuses...),
		"started_at": timestamp(), "ended_at": timestamp(),
		"outcome": entity(map[string]*shape{
			"result": word(terminal...), "evidence": chars(0), "via": reference(), "receipt": shortText(), "reason": shortText(),
		}, "result"),
		"cost": cost(), "session": chars(500), "labels": labels(),
	}, "id", "node", "status")
}

func model() *shape {
	return entity(map[string]*shape{
		"raw": chars(200), "id": chars(200), "family": chars(100), "provider": chars(100), "tier": evidenceTier(),
	})
}

func cost() *shape {
	s := entity(map[string]*shape{"usd": amount(), "basis": chars(0), "requests": whole(0)})
	for _, tokens := range tokenCounts {
		s.members[tokens] = whole(0)
	}
	return s
}

var tokenCounts = []string{"input_tokens", "cached_input_tokens", "cache_creation_tokens", "cache_creation_5m_tokens",
	"cache_creation_1h_tokens", "output_tokens", "reasoning_tokens"}

func origin() *shape {
	s := entity(map[string]*shape{
		"launched_by": orNull(reference()), "workspace": orNull(chars(500)), "external": typed("boolean", "null"),
		"how": orNull(shortText()), "tier": evidenceTier(), "evidence": shortText(),
	}, "launched_by", "workspace", "external", "how", "tier")
	s.forbids = func(o *object) string {
		by, present := o.get("launched_by")
		if external, _ := o.get("external"); external == true && present && by != nil {
			return "launched_by"
		}
		return ""
	}
	return s
}

// inferred is a word with the evidence it rests on.
func inferred() *shape {
	return entity(map[string]*shape{
		"value": orNull(chars(100)), "tier": evidenceTier(), "evidence": orNull(shortText()),
	}, "value", "tier", "evidence")
}

func artifact() *shape {
	writers := set(reference())
	writers.fewest = 1
	return entity(map[string]*shape{
		"id": identifier(), "path": {types: []string{"string"}, shortest: 1, longest: 1000},
		"kind": entity(map[string]*shape{
			"value": orNull(chars(100)), "tier": evidenceTier(), "evidence": shortText(),
		}, "value", "tier"),
		"producer": reference(), "writers": writers, "consumers": set(reference()),
		"first_write_at": orNull(timestamp()), "n_writes": orNull(whole(1)), "n_reads": orNull(whole(0)), "labels": labels(),
	}, "id", "path", "kind", "producer", "writers", "consumers", "first_write_at", "n_writes", "n_reads")
}

// schema01 knows neither artifacts nor evidence on edges and models, and closes some sets that later ones opened.
func schema01() *schema {
	s := schema02()
	delete(s.lists, "artifacts")
	delete(s.objects["producer"].members, "capabilities")
	s.lists["edges"] = entity(map[string]*shape{
		"from": reference(), "to": reference(), "kind": word("dep", "fan_in", "spawn"),
	}, "from", "to")
	a := s.lists["attempts"].members
	for _, later := range []string{"harness", "origin", "role", "phase"} {
		delete(a, later)
	}
	delete(a["model"].members, "tier")
	delete(a["cost"].members, "cache_creation_5m_tokens")
	delete(a["cost"].members, "cache_creation_1h_tokens")
	a["cost"].members["basis"] = word("measured", "allocated")
	a["cause"].members["type"] = word("initial", "sent_back", "gate_failed", "followup", "superseded", "other")
	a["outcome"].members["evidence"] = word("verified", "reported", "heuristic", "asserted")
	return s
}
