package cli

import (
	"strings"
	"testing"
	"time"
)

func TestVend_PassesEveryFlagOn(t *testing.T) {
	f := setup(t)
	var e struct {
		endpointDoc
		AgentKind    string `json:"agent_kind"`
		LeaseTTL     int    `json:"default_lease_ttl_seconds"`
		MaxAttempts  int    `json:"default_max_attempts"`
		RequireFence bool   `json:"require_fence"`
	}
	f.run(t, "endpoint", "vend", "My Bot", "--agent", "codex", "-q", "fix", "-q", "review", "--verbs", "claim,heartbeat",
		"--lease-ttl", "900", "--max-attempts", "3", "--require-fence", "--expires", "2d", "--json").json(t, &e)
	if e.Agent != "My Bot" || e.AgentKind != "codex" || strings.Join(e.Queues, " ") != "fix review" || strings.Join(e.Verbs, " ") != "claim heartbeat" ||
		e.LeaseTTL != 900 || e.MaxAttempts != 3 || !e.RequireFence || e.ExpiresAt.Sub(e.CreatedAt) != 48*time.Hour || !strings.HasPrefix(e.Token, "sbk_") {
		t.Errorf("vended %+v", e)
	}
}

func TestVend_PrintsBlocksToCopy(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 30, 9, 0, 0, 0, time.UTC)
	for name, expires := range map[string]*time.Time{"vend.golden": nil, "vend-expires.golden": &at} {
		got := render(Env{}, func(a *app) {
			a.printSetup(&endpointDoc{
				Slug: "my-bot-k3x9", Agent: "my bot", Queues: []string{"fix", "review"}, Verbs: []string{"claim", "claim_next", "heartbeat"},
				MCPURL: "http://127.0.0.1:8321/mcp/my-bot-k3x9", OTLPURL: "http://127.0.0.1:8321/otlp/my-bot-k3x9",
				Token: "sbk_EXAMPLE", ExpiresAt: expires,
				MCPJSON: []byte(`{"mcpServers":{"switchboard":{"type":"http","url":"http://127.0.0.1:8321/mcp/my-bot-k3x9","headers":{"Authorization":"Bearer sbk_EXAMPLE"}}}}`),
			})
		})
		golden(t, name, got)
	}
}

func TestRevoke_AsksUnlessToldNotTo(t *testing.T) {
	f := setup(t)
	slug := f.vend(t, "bot").Slug
	for answer, want := range map[string]int{"": exitFailed, "n\n": exitFailed, "yeah\n": exitFailed, "\n": exitFailed} {
		r := f.runWith(t, Env{Stdin: strings.NewReader(answer), Interactive: true}, "endpoint", "revoke", slug)
		if r.code != want || !strings.Contains(r.stderr, "Revoke "+slug+"?") {
			t.Errorf("%q: exit code %d, %s", answer, r.code, r.stderr)
		}
	}
	f.run(t, "endpoint", "revoke", slug).failed(t, exitUsage, "add -y")
	if out := f.run(t, "endpoint", "list").ok(t); !strings.Contains(out, "active") {
		t.Errorf("a refusal revoked it: %s", out)
	}
	f.runWith(t, Env{Stdin: strings.NewReader("y\n"), Interactive: true}, "endpoint", "revoke", slug).ok(t)
	if out := f.run(t, "endpoint", "list").ok(t); !strings.Contains(out, "revoked") {
		t.Errorf("list %s", out)
	}
	if out := f.run(t, "endpoint", "revoke", slug, "-y").ok(t); out != "Revoked "+slug+"\n" {
		t.Errorf("printed %q", out)
	}
}

func TestList_IsQuietWhenPipedAndAlignedOnATerminal(t *testing.T) {
	f := setup(t)
	if r := f.run(t, "endpoint", "list"); r.ok(t) != "" || r.stderr != "" {
		t.Errorf("an empty list prints %q, %q to a pipe", r.stdout, r.stderr)
	}
	if r := f.runWith(t, Env{Width: 80}, "endpoint", "list"); !strings.Contains(r.stderr, "No endpoints yet") {
		t.Errorf("an empty list says %q on a terminal", r.stderr)
	}
	slug := f.vend(t, "bot").Slug
	if cells := strings.Split(f.run(t, "endpoint", "list").ok(t), "\t"); len(cells) != 5 || cells[0] != slug || cells[1] != "bot" {
		t.Errorf("piped %q", cells)
	}
	if out := f.runWith(t, Env{Width: 80}, "endpoint", "list").ok(t); !strings.HasPrefix(out, "ENDPOINT") {
		t.Errorf("terminal %q", out)
	}
}
