package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/switchboard-otel/switchboard/app/identity"
)

func TestVend_TheCredentialWorksAndTheBlocksCarryIt(t *testing.T) {
	f := setup(t)
	v := f.vend(t, &f.alice, `{"name":"My Bot","agent_kind":"claude-code","queues":["fix","review"],"verbs":["claim","heartbeat"],
		"default_lease_ttl_seconds":"900","default_max_attempts":3.0,"require_fence":"true","expires_in_seconds":3600,"unknown":{}}`)
	e := f.endpoint(t, v.Token)
	if e.Slug != v.Slug || e.HumanID != f.alice.ID || !strings.HasPrefix(v.Slug, "my-bot-") {
		t.Errorf("the credential is of %s, human %s", e.Slug, e.HumanID)
	}
	if v.Agent != "My Bot" || *v.AgentKind != "claude-code" || !v.RequireFence || *v.DefaultLeaseTTLSeconds != 900 || *v.DefaultMaxAttempts != 3 {
		t.Errorf("vended %+v", v.endpointBody)
	}
	if diff := cmp.Diff([][]string{{"fix", "review"}, {"claim", "heartbeat"}}, [][]string{v.Queues, v.Verbs}); diff != "" {
		t.Error(diff)
	}
	if v.ExpiresAt == nil || v.ExpiresAt.Sub(v.CreatedAt) != time.Hour {
		t.Errorf("expires %v", v.ExpiresAt)
	}
	if v.MCPURL != baseURL+"/mcp/"+v.Slug || v.OTLPURL != baseURL+"/otlp/"+v.Slug {
		t.Errorf("urls %s, %s", v.MCPURL, v.OTLPURL)
	}
	var block struct {
		MCPServers map[string]struct {
			Type, URL string
			Headers   map[string]string
		}
	}
	if err := json.Unmarshal(v.MCPJSON, &block); err != nil {
		t.Fatal(err)
	}
	if s := block.MCPServers["switchboard"]; s.Type != "http" || s.URL != v.MCPURL || s.Headers["Authorization"] != "Bearer "+v.Token {
		t.Errorf("block %s", v.MCPJSON)
	}
}

func TestVend_NullEmptyAndAbsentMeanTheDefaults(t *testing.T) {
	f := setup(t)
	for _, body := range []string{
		`{"name":"bot"}`,
		`{"name":"bot","agent_kind":null,"queues":null,"verbs":null,"default_lease_ttl_seconds":null,"require_fence":null,"expires_in_seconds":null}`,
		`{"name":"bot","agent_kind":"","queues":[],"verbs":"","default_lease_ttl_seconds":"null","default_max_attempts":"","require_fence":"","expires_in_seconds":"null"}`,
	} {
		v := f.vend(t, &f.alice, body)
		if diff := cmp.Diff([][]string{{"default"}, identity.DrainVerbs}, [][]string{v.Queues, v.Verbs}); diff != "" {
			t.Errorf("%s: %s", body, diff)
		}
		if v.AgentKind != nil || v.DefaultLeaseTTLSeconds != nil || v.DefaultMaxAttempts != nil || v.RequireFence || v.ExpiresAt != nil {
			t.Errorf("%s: %+v", body, v.endpointBody)
		}
	}
}

// Every refusal of an argument names it and keeps its value to itself.
func TestVend_BadInputNamesTheArgument(t *testing.T) {
	f := setup(t)
	const value = "Zyxwvu"
	for argument, bodies := range map[string][]string{
		"name": {`{}`, `{"name":null}`, `{"name":""}`, `{"name":" "}`, `{"name":7}`, `{"name":["Zyxwvu"]}`, "{\"name\":\"\xff\"}", `{"name":"Zyxwvu\u0000"}`,
			`{"name":"Zyxwvu\u001b[31m"}`, `{"name":"` + strings.Repeat(value, 30) + `"}`},
		"agent_kind":                {`{"name":"b","agent_kind":{"Zyxwvu":1}}`},
		"queues":                    {`{"name":"b","queues":["Zyxwvu"]}`, `{"name":"b","queues":[null]}`, `{"name":"b","queues":"Zyxwvu"}`, `{"name":"b","queues":["quarantine"]}`, `{"name":"b","queues":["a\u0000"]}`},
		"verbs":                     {`{"name":"b","verbs":["Zyxwvu"]}`, `{"name":"b","verbs":{"Zyxwvu":true}}`},
		"default_lease_ttl_seconds": {`{"name":"b","default_lease_ttl_seconds":59}`, `{"name":"b","default_lease_ttl_seconds":86401}`, `{"name":"b","default_lease_ttl_seconds":"Zyxwvu"}`, `{"name":"b","default_lease_ttl_seconds":60.5}`, `{"name":"b","default_lease_ttl_seconds":1e99}`, `{"name":"b","default_lease_ttl_seconds":[60]}`, `{"name":"b","default_lease_ttl_seconds":"NaN"}`},
		"default_max_attempts":      {`{"name":"b","default_max_attempts":0}`, `{"name":"b","default_max_attempts":-1}`, `{"name":"b","default_max_attempts":4294967301}`, `{"name":"b","default_max_attempts":true}`},
		"require_fence":             {`{"name":"b","require_fence":1}`, `{"name":"b","require_fence":"Zyxwvu"}`},
		"expires_in_seconds":        {`{"name":"b","expires_in_seconds":0}`, `{"name":"b","expires_in_seconds":-5}`, `{"name":"b","expires_in_seconds":99999999999999999999}`},
		"the body":                  {`[]`, `"Zyxwvu"`, `{"name":"b"} {"Zyxwvu":1}`, `{"name":`, "\ufeff{}", `null trailing`},
	} {
		for _, body := range bodies {
			got := f.do(t, &f.alice, "POST", "/endpoints", body)
			sentence := got.refused(t, http.StatusBadRequest, "invalid")
			if !strings.HasPrefix(sentence, argument+" ") || strings.Contains(sentence, value) {
				t.Errorf("%.80s: %q does not start with %q, or quotes the value", body, sentence, argument)
			}
		}
	}
	if n := f.count(t, "endpoints"); n != 0 {
		t.Errorf("%d endpoints stored", n)
	}
}

func TestEndpoints_NewestFirstAndOnlyOnesOwn(t *testing.T) {
	f := setup(t)
	first := f.vend(t, &f.alice, `{"name":"first"}`)
	f.vend(t, &f.bob, `{"name":"of-bob"}`)
	second := f.vend(t, &f.alice, `{"name":"second"}`)
	var list struct{ Endpoints []endpointBody }
	f.do(t, &f.alice, "GET", "/endpoints", "").into(t, http.StatusOK, &list)
	if len(list.Endpoints) != 2 || list.Endpoints[0].ID != second.ID || list.Endpoints[1].ID != first.ID {
		t.Errorf("list %+v", list)
	}
	if got := f.do(t, &f.alice, "GET", "/endpoints", ""); strings.Contains(got.body, "sbk_") {
		t.Error("a list shows a credential")
	}
}

func TestRevoke_BySlugOrIDEndsTheCredential(t *testing.T) {
	f := setup(t)
	for _, byID := range []bool{false, true} {
		v := f.vend(t, &f.alice, `{"name":"bot"}`)
		todo := f.push(t, &f.alice, v.Slug, `{"title":"t"}`, http.StatusCreated).Todo
		ref := v.Slug
		if byID {
			ref = v.ID
		}
		var first, again endpointBody
		f.do(t, &f.alice, "POST", "/endpoints/"+ref+"/revoke", "").into(t, http.StatusOK, &first)
		f.do(t, &f.alice, "POST", "/endpoints/"+ref+"/revoke", "ignored").into(t, http.StatusOK, &again)
		if first.RevokedAt == nil || !first.RevokedAt.Equal(*again.RevokedAt) {
			t.Errorf("revoked %v, then %v", first.RevokedAt, again.RevokedAt)
		}
		if _, err := f.Identity.ResolveCredential(t.Context(), v.Token); !errors.Is(err, identity.ErrUnauthenticated) {
			t.Errorf("the credential answers %v", err)
		}
		var after struct {
			DeadLetter bool `json:"dead_letter"`
		}
		f.do(t, &f.alice, "GET", "/todos/"+todo.ID, "").into(t, http.StatusOK, &after)
		if !after.DeadLetter {
			t.Error("its todo is no dead letter")
		}
		f.do(t, &f.alice, "POST", "/endpoints/"+ref+"/todos", `{"title":"late"}`).refused(t, http.StatusConflict, "conflict")
	}
}

func TestVend_GrantsTheDefaultLeaseVerbsByNameOnly(t *testing.T) {
	f := setup(t)
	v := f.vend(t, &f.alice, `{"name":"bot","verbs":["claim","get_default_lease","set_default_lease"]}`)
	if diff := cmp.Diff([]string{"claim", "get_default_lease", "set_default_lease"}, v.Verbs); diff != "" {
		t.Error(diff)
	}
}

// defaults are what an edit changes.
type defaults struct {
	Lease, Attempts int // 0: the server's
	Fence           bool
}

func defaultsOf(e *endpointBody) (d defaults) {
	if e.DefaultLeaseTTLSeconds != nil {
		d.Lease = *e.DefaultLeaseTTLSeconds
	}
	if e.DefaultMaxAttempts != nil {
		d.Attempts = *e.DefaultMaxAttempts
	}
	d.Fence = e.RequireFence
	return d
}

func TestEdit_NullClearsAndAbsentLeaves(t *testing.T) {
	f := setup(t)
	for body, want := range map[string]defaults{
		``:                                   {600, 3, true},
		`{}`:                                 {600, 3, true},
		`{"default_lease_ttl_seconds":900}`:  {900, 3, true},
		`{"default_lease_ttl_seconds":null}`: {0, 3, true},
		`{"default_max_attempts":"7"}`:       {600, 7, true},
		`{"default_max_attempts": null ,"require_fence":"false"}`:                                     {600, 0, false},
		`{"default_lease_ttl_seconds":"","default_max_attempts":"null","require_fence":null}`:         {600, 3, true},
		`{"default_lease_ttl_seconds":60,"default_max_attempts":1,"require_fence":false,"queues":[]}`: {60, 1, false},
	} {
		v := f.vend(t, &f.alice, `{"name":"bot","default_lease_ttl_seconds":600,"default_max_attempts":3,"require_fence":true}`)
		var edited endpointBody
		f.do(t, &f.alice, "PATCH", "/endpoints/"+v.Slug, body).into(t, http.StatusOK, &edited)
		if got := defaultsOf(&edited); got != want {
			t.Errorf("%s: %+v, want %+v", body, got, want)
		}
		if diff := cmp.Diff(v.Queues, edited.Queues); diff != "" || !cmp.Equal(v.Verbs, edited.Verbs) {
			t.Errorf("%s changed the grant", body)
		}
		e := f.endpoint(t, v.Token)
		if got := defaultsOf(&endpointBody{DefaultLeaseTTLSeconds: e.DefaultLeaseTTLSeconds, DefaultMaxAttempts: e.DefaultMaxAttempts, RequireFence: e.RequireFence}); got != want {
			t.Errorf("%s: the credential finds %+v, want %+v", body, got, want)
		}
	}
}

func TestRotate_EndsTheEarlierCredentialAtOnceOrAfterTheOverlap(t *testing.T) {
	f := setup(t)
	works := func(token string) bool {
		_, err := f.Identity.ResolveCredential(t.Context(), token)
		if err != nil && !errors.Is(err, identity.ErrUnauthenticated) {
			t.Fatal(err)
		}
		return err == nil
	}
	for body, overlap := range map[string]time.Duration{``: 0, `{"overlap_seconds":0}`: 0, `{"overlap_seconds":"3600"}`: time.Hour} {
		v := f.vend(t, &f.alice, `{"name":"bot"}`)
		todo := f.push(t, &f.alice, v.Slug, `{"title":"t"}`, http.StatusCreated).Todo.ID
		var next vendedBody
		f.do(t, &f.alice, "POST", "/endpoints/"+v.ID+"/rotate", body).into(t, http.StatusCreated, &next)
		if next.Token == v.Token || next.ID != v.ID || !strings.Contains(string(next.MCPJSON), next.Token) || !works(next.Token) {
			t.Errorf("%s: rotated to %+v", body, next.endpointBody)
		}
		if got := works(v.Token); got != (overlap > 0) {
			t.Errorf("%s: the earlier credential works: %t", body, got)
		}
		f.db.Advance(t, overlap+time.Second)
		if works(v.Token) || !works(next.Token) {
			t.Errorf("%s: after the overlap %t and %t work", body, works(v.Token), works(next.Token))
		}
		if got := f.story(t, &f.alice, todo); got.State != "pending" {
			t.Errorf("%s: the work is %s", body, got.State)
		}
	}
}

func TestRotate_ARevokedEndpointStaysEnded(t *testing.T) {
	f := setup(t)
	v := f.vend(t, &f.alice, `{"name":"bot"}`)
	f.do(t, &f.alice, "POST", "/endpoints/"+v.Slug+"/revoke", "")
	got := f.do(t, &f.alice, "POST", "/endpoints/"+v.Slug+"/rotate", "")
	if got.refused(t, http.StatusConflict, "conflict"); strings.Contains(got.body, "sbk_") {
		t.Error("a refusal shows a credential")
	}
}
