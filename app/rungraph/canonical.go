package rungraph

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
)

// canonicalID is the id of a configuration: the hash of the canonical JSON of what shapes it, in which names are sorted
// and numbers and text spelt as Python does. What is malformed has none: the schema says why.
func canonicalID(workflow, settings *object) (id string, wellFormed bool) {
	shape, wellFormed := canonicalWorkflow(workflow)
	if !wellFormed {
		return "", false
	}
	each := map[string]any{}
	if settings != nil {
		for _, m := range settings.members {
			each[m.name] = canonicalSetting(m.value)
		}
	}
	var text strings.Builder
	writeCanonical(&text, map[string]any{"workflow": shape, "settings": each})
	sum := sha256.Sum256([]byte(text.String()))
	return "cfg_" + hex.EncodeToString(sum[:])[:12], true
}

func canonicalWorkflow(workflow *object) (shape map[string]any, wellFormed bool) {
	if workflow == nil || byReference(workflow) {
		return nil, false
	}
	pieces, wellFormed := canonicalPieces(workflow.list("pieces"))
	artifacts, artifactsFine := canonicalArtifacts(workflow.list("artifacts"))
	edges, edgesFine := canonicalEdges(workflow.list("edges"))
	return map[string]any{
		"pieces": pieces, "artifacts": artifacts, "edges": edges, "control": canonicalControl(workflow.object("control")),
	}, wellFormed && artifactsFine && edgesFine
}

func canonicalPieces(list []any) (pieces []any, wellFormed bool) {
	for _, v := range list {
		piece, _ := v.(*object)
		id, isText := piece.text("id")
		if !isText {
			return nil, false
		}
		out := map[string]any{"id": id, "width": orDefault(piece, "width", json.Number("1"))}
		if role, present := piece.get("role"); present {
			out["role"] = role
		}
		if piece.has("workflow") {
			if out["workflow"], wellFormed = canonicalWorkflow(piece.object("workflow")); !wellFormed {
				return nil, false
			}
		}
		pieces = append(pieces, out)
	}
	return sortedByID(pieces), true
}

func canonicalArtifacts(list []any) (artifacts []any, wellFormed bool) {
	for _, v := range list {
		artifact, _ := v.(*object)
		id, isText := artifact.text("id")
		if !isText {
			return nil, false
		}
		out := map[string]any{"id": id}
		if kind, present := artifact.get("kind"); present {
			out["kind"] = kind
		}
		artifacts = append(artifacts, out)
	}
	return sortedByID(artifacts), true
}

func sortedByID(list []any) []any {
	slices.SortStableFunc(list, func(a, b any) int {
		return cmp.Compare(a.(map[string]any)["id"].(string), b.(map[string]any)["id"].(string))
	})
	return list
}

func canonicalEdges(list []any) (edges []any, wellFormed bool) {
	for _, v := range list {
		edge, _ := v.([]any)
		if len(edge) != 2 || typeOf(edge[0]) != "string" || typeOf(edge[1]) != "string" {
			return nil, false
		}
		edges = append(edges, edge)
	}
	slices.SortStableFunc(edges, func(a, b any) int {
		x, y := a.([]any), b.([]any)
		return cmp.Or(cmp.Compare(x[0].(string), y[0].(string)), cmp.Compare(x[1].(string), y[1].(string)))
	})
	return edges, true
}

func canonicalControl(control *object) map[string]any {
	gates := []string{}
	for _, v := range control.list("gates") {
		if gate, isText := v.(string); isText {
			gates = append(gates, gate)
		}
	}
	slices.Sort(gates)
	out := map[string]any{"gates": gates, "repair": &object{}, "budget": canonicalBudget(control)}
	if repair := control.object("repair"); repair != nil {
		out["repair"] = repair
	}
	if rescue := control.object("rescue"); rescue != nil {
		kept := map[string]any{}
		for _, name := range []string{"kind", "ref"} {
			if v, present := rescue.get(name); present {
				kept[name] = v
			}
		}
		out["rescue"] = kept
	}
	if rules, _ := control.object("ext").get("dev.loopmath.gate_rules"); !isEmpty(rules) {
		out["gate_rules"] = rules
	}
	return out
}

// canonicalBudget counts the first round too, so that it is never below one.
func canonicalBudget(control *object) json.Number {
	v, _ := control.get("budget")
	literal, _ := v.(json.Number)
	if n, err := strconv.ParseInt(string(literal), 10, 64); err != nil || n < 1 {
		return "1"
	}
	return literal
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case bool:
		return !v
	case string:
		return v == ""
	case json.Number:
		return number(v) == 0
	case []any:
		return len(v) == 0
	case *object:
		return len(v.members) == 0
	}
	return false
}

func canonicalSetting(v any) map[string]any {
	setting, _ := v.(*object)
	options := setting.object("options")
	if options == nil {
		options = &object{}
	}
	return map[string]any{
		"harness": orDefault(setting, "harness", nil), "model": canonicalModel(setting),
		"effort": orDefault(setting, "effort", "default"), "context_policy": orDefault(setting, "context_policy", "fresh"),
		"options": options,
	}
}

func canonicalModel(setting *object) any {
	model, _ := setting.get("model")
	switch model := model.(type) {
	case string:
		return model
	case *object:
		for _, name := range []string{"id", "raw"} {
			if label, _ := model.text(name); label != "" {
				return label
			}
		}
	}
	return nil
}

func orDefault(o *object, name string, absent any) any {
	if v, present := o.get(name); present {
		return v
	}
	return absent
}

func writeCanonical(b *strings.Builder, v any) {
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case string:
		writeText(b, v)
	case json.Number:
		b.WriteString(canonicalNumber(v))
	case []string:
		writeList(b, len(v), func(i int) { writeText(b, v[i]) })
	case []any:
		writeList(b, len(v), func(i int) { writeCanonical(b, v[i]) })
	case map[string]any:
		writeMembers(b, v)
	case *object:
		members := make(map[string]any, len(v.members))
		for _, m := range v.members {
			members[m.name] = m.value
		}
		writeMembers(b, members)
	}
}

func writeList(b *strings.Builder, n int, write func(i int)) {
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		write(i)
	}
	b.WriteByte(']')
}

func writeMembers(b *strings.Builder, members map[string]any) {
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names) // bytes of UTF-8 sort as code points do
	b.WriteByte('{')
	for i, name := range names {
		if i > 0 {
			b.WriteByte(',')
		}
		writeText(b, name)
		b.WriteByte(':')
		writeCanonical(b, members[name])
	}
	b.WriteByte('}')
}

// writeText escapes what JSON demands and nothing more; encoding/json escapes line separators too.
func writeText(b *strings.Builder, s string) {
	const short = "\b\t\n\f\r\"\\"
	b.WriteByte('"')
	for _, r := range s {
		switch i := strings.IndexRune(short, r); {
		case i >= 0:
			b.WriteByte('\\')
			b.WriteByte(`btnfr"\`[i])
		case r < 0x20:
			b.WriteString(`\u00`)
			b.WriteByte("01"[r>>4])
			b.WriteByte("0123456789abcdef"[r&15])
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}

// canonicalNumber spells a number as Python does: a whole literal as it is, any other as the shortest double, with an
// exponent from 1e16 on and below 1e-4, else with a fraction.
func canonicalNumber(n json.Number) string {
	literal := string(n)
	if !strings.ContainsAny(literal, ".eE") {
		if literal == "-0" {
			return "0"
		}
		return literal
	}
	f := number(n)
	if math.IsInf(f, 0) {
		return strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+") + "inity"
	}
	scientific := strconv.FormatFloat(f, 'e', -1, 64)
	_, exponent, _ := strings.Cut(scientific, "e")
	if e, _ := strconv.Atoi(exponent); f != 0 && (e < -4 || e >= 16) {
		return scientific
	}
	fixed := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(fixed, ".") {
		fixed += ".0"
	}
	return fixed
}
