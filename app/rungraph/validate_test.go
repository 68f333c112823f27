package rungraph

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// full is a document that uses everything the format has and draws no finding. Its configuration's id is that of the
// format's own hash.
func full(t testing.TB) []byte {
	t.Helper()
	doc, err := os.ReadFile("testdata/full.ocp.json")
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func validate(t testing.TB, doc []byte) *Report {
	t.Helper()
	r, err := Validate(context.Background(), doc, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// edited sets the value at a path such as attempts/0/node; "-" takes the member away.
func edited(t testing.TB, doc []byte, at, value string) []byte {
	t.Helper()
	var tree any
	reader := json.NewDecoder(bytes.NewReader(doc))
	reader.UseNumber() // 1.0 stays what it is
	if err := reader.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	put(t, tree, strings.Split(at, "/"), value)
	out, err := json.Marshal(tree)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func put(t testing.TB, tree any, at []string, value string) {
	t.Helper()
	name := at[0]
	switch in := tree.(type) {
	case map[string]any:
		if len(at) > 1 {
			put(t, in[name], at[1:], value)
		} else if value == "-" {
			delete(in, name)
		} else {
			in[name] = json.RawMessage(value)
		}
	case []any:
		i, err := strconv.Atoi(name)
		if err != nil || i >= len(in) {
			t.Fatalf("no element %s", name)
		}
		if len(at) > 1 {
			put(t, in[i], at[1:], value)
		} else {
			in[i] = json.RawMessage(value)
		}
	default:
		t.Fatalf("nothing at %s", name)
	}
}

func TestValidate_AcceptsEverythingTheFormatHas(t *testing.T) {
	if r := validate(t, full(t)); len(r.Findings) > 0 || !r.OK() || r.Version != "0.3" {
		t.Errorf("%+v", r)
	}
}

func TestValidate_TheSmallestDocumentDrawsOneWarning(t *testing.T) {
	const smallest = `{"ocp":"0.3","producer":{"name":"x"},"privacy":{"profile":"metadata_only"},"run":{"id":"r"},"nodes":[]}`
	r := validate(t, []byte(smallest))
	if diff := cmp.Diff([]string{"W180"}, r.Codes()); diff != "" || !r.OK() {
		t.Errorf("%v, OK %v", r.Codes(), r.OK())
	}
	silent := strings.Replace(smallest, `{"name":"x"}`, `{"name":"x","capabilities":{}}`, 1)
	if r := validate(t, []byte(silent)); len(r.Codes()) > 0 {
		t.Errorf("with empty capabilities: %v", r.Codes())
	}
}

// breaks are single edits of the full document with the codes that they must give, and where.
var breaks = []struct {
	at, value string
	codes     string
	path      string // of the first finding
}{
	{"ocp", `"0.9"`, "E003", "$['ocp']"},
	{"ocp", `0.3`, "E003", "$['ocp']"},
	{"ocp", `-`, "E003", "$['ocp']"},
	{"producer/name", `7`, "E010", "$['producer']['name']"},
	{"producer/name", `"loopmath/graph"`, "", ""},
	{"producer/capabilities", `-`, "W180", "$['producer']"},
	{"producer/capabilities/task", `false`, "E180", "$['producer']['capabilities']['task']"},
	{"producer/capabilities/edges_launch", `false`, "E180", "$['producer']['capabilities']['edges_launch']"},
	{"producer/capabilities/edges_dep", `false`, "E180", "$['producer']['capabilities']['edges_dep']"},
	{"producer/capabilities/cost_usd", `false`, "E180", "$['producer']['capabilities']['cost_usd']"},
	{"producer/capabilities/cost_tokens", `false`, "E180", "$['producer']['capabilities']['cost_tokens']"},
	{"producer/capabilities/outcome_evidence", `false`, "E180", "$['producer']['capabilities']['outcome_evidence']"},
	{"producer/capabilities/nodes", `false`, "", ""},
	{"producer/emitted_at", `"2026-04-02 11:30:00Z"`, "E010", "$['producer']['emitted_at']"},
	{"producer/emitted_at", `"2026-04-02T11:30:00"`, "E010", "$['producer']['emitted_at']"},
	{"producer/emitted_at", `"2026-99-99T99:99:99Z"`, "", ""},
	{"producer/emitted_at", `null`, "E010", "$['producer']['emitted_at']"},
	{"producer/ext/ocp.graph", `1`, "E181", "$['producer']['ext']['ocp.graph']"},
	{"moon/ext/dagr.graph", `1`, "E181", "$['moon']['ext']['dagr.graph']"},
	{"moon/ext/dev.dagr.graph", `1`, "W182", "$['moon']['ext']['dev.dagr.graph']"},
	{"privacy/profile", `"most"`, "E010", "$['privacy']['profile']"},
	{"privacy", `-`, "E010", "$"},
	{"run/id", `""`, "E010 E194", "$['run']['id']"},
	{"run/labels/it's", `1`, "E010", `$['run']['labels']["it's"]`},
	{"run/receipt", `{}`, "E180 W196", "$['run']['receipt']"},
	{"run/task/type", `"gardening"`, "W200", "$['run']['task']['type']"},
	{"run/task/features/size", `null`, "E010", "$['run']['task']['features']['size']"},
	{"run/task/base_commit", `"ffff"`, "E194", "$['run']['task']['base_commit']"},
	{"run/slate/members", `["run-2"]`, "E194", "$['run']['slate']['members']"},
	{"run/slate/members", `[]`, "E010 E194", "$['run']['slate']['members']"},
	{"run/preferences/0/slate", `"other"`, "E194", "$['run']['preferences'][0]['slate']"},
	{"run/preferences/1/winner", `"run-9"`, "E194", "$['run']['preferences'][1]['winner']"},
	{"run/configuration/id", `"cfg_0123456789ab"`, "E190", "$['run']['configuration']['id']"},
	{"run/configuration/id", `"mine"`, "E010 E190", "$['run']['configuration']['id']"},
	{"run/configuration/settings/look", `-`, "E190 E191", "$['run']['configuration']['settings']"},
	{"run/configuration/workflow", `{"ref":"elsewhere"}`, "", ""},
	{"run/configuration/workflow", `{}`, "E010 E190", "$['run']['configuration']['workflow']"},
	{"run/configuration/workflow/edges/0", `["dig","ghost"]`, "E190 E192", "$['run']['configuration']['workflow']['edges'][0]"},
	{"run/configuration/workflow/edges/0", `["dig","look"]`, "E190 E192", "$['run']['configuration']['workflow']['edges'][0]"},
	{"run/configuration/workflow/edges/2", `["look","bed"]`, "E190 E192", "$['run']['configuration']['workflow']['edges']"},
	{"run/configuration/workflow/pieces/2/workflow/artifacts/0/id", `"sit"`, "E190 E192",
		"$['run']['configuration']['workflow']['pieces'][2]['workflow']['artifacts'][0]['id']"},
	{"run/configuration/workflow/control/gates", `["bed"]`, "E190 E193", "$['run']['configuration']['workflow']['control']['gates'][0]"},
	{"run/configuration/workflow/control/repair", `{"dig":"bed"}`, "E190 E193", "$['run']['configuration']['workflow']['control']['repair']['dig']"},
	{"run/configuration/workflow/title", `"Another"`, "", ""},
	{"run/signals/0/value", `"approved"`, "E195", "$['run']['signals'][0]['value']"},
	{"run/signals/0/at_attempt", `"ghost"`, "", ""},
	{"run/signals/1/value", `true`, "E010 E195", "$['run']['signals'][1]['value']"},
	{"run/signals/1/value", `1.5`, "E195", "$['run']['signals'][1]['value']"},
	{"run/signals/3/value", `null`, "E195", "$['run']['signals'][3]['value']"},
	{"run/acceptance_rule/score/name", `"look"`, "E195", "$['run']['acceptance_rule']['score']['name']"},
	{"run/acceptance_rule/score/target", `80`, "E195", "$['run']['acceptance_rule']['score']['target']"},
	{"run/acceptance_rule/score", `null`, "", ""},
	{"run/acceptance_rule/requires/0", `"frost"`, "E195", "$['run']['acceptance_rule']['requires'][0]"},
	{"groups", `null`, "E010 E104 E115", "$['groups']"},
	{"groups/1/id", `"east"`, "E102 E115 E121", "$['groups'][1]"},
	{"groups/1/parent", `"ghost"`, "E120", "$['groups'][1]['parent']"},
	{"groups/0/parent", `"bed-1"`, "E121", "$['groups']"},
	{"nodes/2/id", `"dig"`, "E100 E111 E112 E161", "$['nodes'][2]"},
	{"nodes/0/group", `"ghost"`, "E115", "$['nodes'][0]['group']"},
	{"nodes/2/kind", `-`, "E010", "$['nodes'][2]"},
	{"nodes/2/state", `"lost"`, "W200", "$['nodes'][2]['state']"},
	{"nodes/2", `"water"`, "E010 E111 E112 E161", "$['nodes'][2]"},
	{"edges/0/from", `"ghost"`, "E110", "$['edges'][0]['from']"},
	{"edges/0/to", `"ghost"`, "E111", "$['edges'][0]['to']"},
	{"edges/0/to", `"dig"`, "E122", "$['edges']"},
	{"edges/0/tier", `"certain"`, "E010 E160", "$['edges'][0]['tier']"},
	{"edges/0/kind", `"thread"`, "W200", "$['edges'][0]['kind']"},
	{"edges/2/kind", `"dep"`, "E161", "$['attempts'][2]['origin']['launched_by']"},
	{"edges/3/artifact", `-`, "E010 E116", "$['edges'][3]"},
	{"edges/3/artifact", `"ghost"`, "E117", "$['edges'][3]['artifact']"},
	{"edges/3/to_attempt", `-`, "E010 E125", "$['edges'][3]"},
	{"edges/3/from_attempt", `"ghost"`, "E123", "$['edges'][3]['from_attempt']"},
	{"edges/3/from_attempt", `"water.a1"`, "E124 E164", "$['edges'][3]['from_attempt']"},
	{"artifacts/0/consumers", `[]`, "E164", "$['edges'][3]['to_attempt']"},
	{"attempts/2/id", `"dig.a1"`, "E101 E124", "$['edges'][3]['from_attempt']"},
	{"attempts/1/node", `"ghost"`, "E112 E124 E161", "$['edges'][3]['to_attempt']"},
	{"attempts/1/model", `"bare"`, "E010", "$['attempts'][1]['model']"},
	{"attempts/1/n", `0`, "E010", "$['attempts'][1]['n']"},
	{"attempts/1/n", `1.5`, "E010", "$['attempts'][1]['n']"},
	{"attempts/1/cause/ref", `"ghost"`, "W140", "$['attempts'][1]['cause']['ref']"},
	{"attempts/1/cause/type", `"whim"`, "W200", "$['attempts'][1]['cause']['type']"},
	{"attempts/1/outcome", `-`, "W131", "$['attempts'][1]"},
	{"attempts/1/outcome/result", `"failed"`, "E130", "$['attempts'][1]['outcome']['result']"},
	{"attempts/1/outcome/evidence", `"hearsay"`, "W200", "$['attempts'][1]['outcome']['evidence']"},
	{"attempts/0/outcome/via", `"ghost"`, "W141", "$['attempts'][0]['outcome']['via']"},
	{"attempts/2/outcome", `{"result":"done"}`, "W132", "$['attempts'][2]['outcome']"},
	{"attempts/2/origin/launched_by", `"ghost"`, "E119", "$['attempts'][2]['origin']['launched_by']"},
	{"attempts/2/origin/launched_by", `"water.a1"`, "E119", "$['attempts'][2]['origin']['launched_by']"},
	{"attempts/2/origin/external", `true`, "E010 E165", "$['attempts'][2]['origin']['launched_by']"},
	{"attempts/2/origin/how", `-`, "E010", "$['attempts'][2]['origin']"},
	{"attempts/0/cost/cache_creation_tokens", `8`, "E170", "$['attempts'][0]['cost']"},
	{"attempts/0/cost/usd", `-0.1`, "E010", "$['attempts'][0]['cost']['usd']"},
	{"attempts/0/cost/basis", `"guessed"`, "W200", "$['attempts'][0]['cost']['basis']"},
	{"attempts/0/role/value", `"gardener"`, "W200", "$['attempts'][0]['role']['value']"},
	{"attempts/0/phase/value", `"winter"`, "W200", "$['attempts'][0]['phase']['value']"},
	{"attempts/0/setting/options", `[]`, "E010", "$['attempts'][0]['setting']['options']"},
	{"artifacts/0/producer", `"ghost"`, "E118 E162 E164", "$['artifacts'][0]['producer']"},
	{"artifacts/0/writers", `["look.a1","dig.a1"]`, "E162", "$['artifacts'][0]['producer']"},
	{"artifacts/0/writers", `["dig.a1","dig.a1"]`, "E010 E166", "$['artifacts'][0]['writers']"},
	{"artifacts/0/writers", `[]`, "E010 E166", "$['artifacts'][0]['writers']"},
	{"artifacts/0/writers", `null`, "E010 E167", "$['artifacts'][0]['writers']"},
	{"artifacts/0/n_reads", `0`, "E163", "$['artifacts'][0]['n_reads']"},
	{"artifacts/0/kind/value", `"soil"`, "W200", "$['artifacts'][0]['kind']['value']"},
	{"events/0/node", `"ghost"`, "E113", "$['events'][0]['node']"},
	{"events/0/attempt", `"ghost"`, "E114", "$['events'][0]['attempt']"},
	{"events/0/type", `"sung"`, "W200", "$['events'][0]['type']"},
	{"events/1/at", `"2026-04-02T11:59:59+02:00"`, "W150", "$['events'][1]['at']"},
	{"events/1/at", `"2026-99-99T99:99:99Z"`, "", ""},
	{"moon/big", `9007199254740993`, "S004", "$['moon']['big']"},
	{"moon/big", `9007199254740992`, "", ""},
	{"moon/big", `1e999`, "S004", "$['moon']['big']"},
	{"moon/half", `"\ud800"`, "S006", "$['moon']['half']"},
	{"moon/half", `"\ud83c\udf19 \ufffd"`, "", ""},
	{"moon/twice", `{"a":1,"b":2,"a":3}`, "S005", "$['moon']['twice']['a']"},
}

func TestValidate_NamesWhatIsBroken(t *testing.T) {
	doc := full(t)
	for _, b := range breaks {
		t.Run(b.at+"="+b.value, func(t *testing.T) {
			r := validate(t, edited(t, doc, b.at, b.value))
			if got := strings.Join(r.Codes(), " "); got != b.codes {
				t.Fatalf("codes %q, want %q\n%+v", got, b.codes, r.Findings)
			}
			if len(r.Findings) > 0 && r.Findings[0].Path != b.path {
				t.Errorf("path %s, want %s", r.Findings[0].Path, b.path)
			}
		})
	}
}

const artifactOf = `{"id":"f","path":"p","kind":{"value":null,"tier":"verified"},"producer":"a","writers":["a"],"consumers":[],
	"first_write_at":null,"n_writes":null,"n_reads":null}`

// Documents that no edit of the full one makes.
var others = []struct{ name, doc, codes string }{
	{"no JSON", `{"ocp":`, "E001"},
	{"no text", "{\"ocp\":\"\xff\"}", "E001"},
	{"a mark before it", "\ufeff{}", "E001"},
	{"text behind it", `{} {}`, "E001"},
	{"a list", `[]`, "E002"},
	{"two artifacts of one id", `{"ocp":"0.3","producer":{"name":"x","capabilities":{}},"privacy":{"profile":"full"},"run":{"id":"r"},
		"nodes":[{"id":"n","kind":"task"}],"attempts":[{"id":"a","node":"n","status":"queued"}],"artifacts":[` +
		artifactOf + "," + artifactOf + "]}", "E103"},
	{"an extractor that apportions", `{"ocp":"0.2","producer":{"name":"dagr","capabilities":{}},"privacy":{"profile":"full"},"run":{"id":"r"},
		"nodes":[{"id":"n","kind":"task"}],"attempts":[{"id":"a","node":"n","status":"queued","cost":{"basis":"allocated"}}]}`, "E171"},
	{"an extractor that says how", `{"ocp":"0.3","producer":{"name":"loopmath","capabilities":{}},"privacy":{"profile":"full"},"run":{"id":"r"},
		"nodes":[{"id":"n","kind":"task"}],"attempts":[{"id":"a","node":"n","status":"queued","cost":{"basis":"allocated",
		"ext":{"dev.loopmath.logmatch":{"tier":"heuristic"}}}}]}`, ""},
	{"an old one without tiers and artifacts", `{"ocp":"0.1","producer":{"name":"x"},"privacy":{"profile":"full"},"run":{"id":"r","task":7},
		"nodes":[{"id":"n","kind":"any"},{"id":"m","kind":"any"}],"edges":[{"from":"n","to":"m"}],"artifacts":7,"ext":{"dev.dagr.x":1}}`, ""},
	{"an old one with a newer word", `{"ocp":"0.1","producer":{"name":"x"},"privacy":{"profile":"full"},"run":{"id":"r"},
		"nodes":[{"id":"n","kind":"task"},{"id":"m","kind":"task"}],"edges":[{"from":"n","to":"m","kind":"launch"}]}`, "E010"},
	{"one of 0.2 with a task of its own", `{"ocp":"0.2","producer":{"name":"x","capabilities":{"task":false}},"privacy":{"profile":"full"},
		"run":{"id":"r","task":"mine","receipt":1},"nodes":[],"ext":{"dev.dagr.x":1}}`, ""},
	{"members that stand twice: the last counts", `{"ocp":"0.1","ocp":"0.3","nodes":7,"producer":{"name":"x","capabilities":{}},
		"privacy":{"profile":"full"},"run":{"id":"r"},"nodes":[{"id":"n","kind":"task"}],"nodes":[{"id":"m","kind":"task"}],
		"attempts":[{"id":"a","node":"n","status":"queued"}]}`, "E112 S005"},
	{"a circle of two kinds of edges", `{"ocp":"0.2","producer":{"name":"x","capabilities":{}},"privacy":{"profile":"full"},"run":{"id":"r"},
		"nodes":[{"id":"a","kind":"task"},{"id":"b","kind":"task"}],
		"edges":[{"from":"a","to":"b","tier":"verified"},{"from":"b","to":"a","kind":"fan_in","tier":"verified"}]}`, "E122"},
	{"a spawned circle", `{"ocp":"0.2","producer":{"name":"x","capabilities":{}},"privacy":{"profile":"full"},"run":{"id":"r"},
		"nodes":[{"id":"a","kind":"task"}],"edges":[{"from":"a","to":"a","kind":"spawn","tier":"verified"}]}`, ""},
	{"a deep one", `{"ocp":"0.3","x":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "S002"},
	{"a wide one", `{"ocp":"0.3","x":[` + strings.Repeat("0,", maxPerEntry) + `0]}`, "S003"},
	{"a long one", `{"ocp":"0.3","nodes":[` + strings.Repeat("0,", maxEntries) + `0]}`, "S003"},
	{"a large one", `{"ocp":"` + strings.Repeat("0", MaxBytes) + `"}`, "S001"},
}

func TestValidate_AnswersWhateverItIsGiven(t *testing.T) {
	for _, o := range others {
		t.Run(o.name, func(t *testing.T) {
			if got := strings.Join(validate(t, []byte(o.doc)).Codes(), " "); got != o.codes {
				t.Errorf("codes %q, want %q", got, o.codes)
			}
		})
	}
}

func TestCodes_EachIsGivenByACase(t *testing.T) {
	var given []string
	for _, b := range breaks {
		given = append(given, strings.Fields(b.codes)...)
	}
	for _, o := range others {
		given = append(given, strings.Fields(o.codes)...)
	}
	for _, c := range Codes() {
		if !slices.Contains(given, c.Code) {
			t.Errorf("no case gives %s", c.Code)
		}
	}
	if !slices.IsSortedFunc(codes, func(a, b Code) int { return strings.Compare(a.Code, b.Code) }) {
		t.Error("codes are looked up by bisection: sort them")
	}
}

func TestReport_KeepsAHundredOfACodeAndCountsTheRest(t *testing.T) {
	doc := `{"ocp":"0.3","producer":{"name":"x"},"privacy":{"profile":"full"},"run":{"id":"r"},"nodes":[` +
		strings.Repeat(`{"id":"n","kind":"odd"},`, 300) + `{"id":"n","kind":"odd"}]}`
	r := validate(t, []byte(doc))
	if r.Errors != 300 || r.Warnings != 302 || len(r.Findings) != 201 || r.LeftOff() != 401 {
		t.Errorf("%d errors, %d warnings, %d kept, %d left off", r.Errors, r.Warnings, len(r.Findings), r.LeftOff())
	}
}

func TestCrossCheck_RunsOfASlateShareTaskAndCommit(t *testing.T) {
	first := validate(t, full(t))
	task := validate(t, edited(t, full(t), "run/task/id", `"task-2"`))
	other := validate(t, edited(t, full(t), "run/slate/id", `"slate-2"`))
	unreadable := validate(t, []byte(`{`))
	CrossCheck([]*Report{first, unreadable, task, other})
	if !first.OK() || task.OK() || task.Findings[0].Path != "$['run']['task']['id']" {
		t.Errorf("first %v, task %+v", first.Codes(), task.Findings)
	}
}

func TestValidate_TellsHowFarItIsAndStops(t *testing.T) {
	doc := []byte(`{"ocp":"0.3","producer":{"name":"x","capabilities":{}},"privacy":{"profile":"full"},"run":{"id":"r"},"nodes":[` +
		strings.Repeat(`{"id":"n","kind":"task"},`, 200000) + `{"id":"m","kind":"task"}]}`)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	last := 0
	if _, err := Validate(ctx, doc, func(done, total int) {
		if done < last || total != 2*len(doc) {
			t.Errorf("%d of %d after %d", done, total, last)
		}
		last = done
	}); err != nil || last != 2*len(doc) {
		t.Errorf("ended at %d of %d: %v", last, 2*len(doc), err)
	}
	r, err := Validate(ctx, doc, func(done, _ int) {
		if done > len(doc) {
			cancel()
		}
	})
	if r != nil || err == nil {
		t.Errorf("a check that was stopped answered %v, %v", r, err)
	}
}

// The format's public documents, with the codes that each must give. They belong to another project and are not kept
// here.
func TestValidate_AgreesWithThePublicDocuments(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "shared", "cases", "rungraph")
	index, err := os.ReadFile(filepath.Join(folder, "index.json"))
	if os.IsNotExist(err) {
		t.Skip("the public documents are not beside this repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	var cases struct {
		Documents []struct {
			File  string
			Codes []string
			Valid bool
		}
	}
	if err := json.Unmarshal(index, &cases); err != nil || len(cases.Documents) == 0 {
		t.Fatal("no documents are listed", err)
	}
	for _, c := range cases.Documents {
		t.Run(c.File, func(t *testing.T) {
			doc, err := os.ReadFile(filepath.Join(folder, c.File))
			if err != nil {
				t.Fatal(err)
			}
			r := validate(t, doc)
			if diff := cmp.Diff(c.Codes, r.Codes()); diff != "" || r.OK() != c.Valid {
				t.Errorf("OK %v, codes (-want +got):\n%s\n%+v", r.OK(), diff, r.Findings)
			}
		})
	}
}
