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
	codex := "codex"
	vended := endpointDoc{
		Slug: "my-bot-k3x9", Agent: "my bot", Queues: []string{"fix", "review"}, Verbs: []string{"claim", "claim_next", "heartbeat"},
		MCPURL: "http://127.0.0.1:8321/mcp/my-bot-k3x9", OTLPURL: "http://127.0.0.1:8321/otlp/my-bot-k3x9", Token: "sbk_EXAMPLE",
	}
	other, agent := vended, vended
	agent.ExpiresAt, agent.AgentKind, agent.Verbs = &at, &codex, []string{"claim"}
	for name, e := range map[string]*endpointDoc{"vend.golden": &other, "vend-codex.golden": &agent} {
		golden(t, name, render(Env{}, func(a *app) { a.printSetup(e) }))
	}
}

// Vending and rotating print the blocks of the agent's own kind, with the credential that was made.
func TestVend_PrintsTheBlocksOfTheKindOfAgent(t *testing.T) {
	f := setup(t)
	for kind, want := range map[string]string{
		"claude-code": "export ENABLE_TOOL_SEARCH=false\n",
		"codex":       "/v1/traces\", protocol = \"binary\"",
		"Gemini-CLI":  "\"otlpProtocol\": \"http\"",
		"opencode":    "export OTEL_BSP_SCHEDULE_DELAY=300\n",
		"aider":       "\nAny other client or exporter\n\nThese kinds have blocks of their own, printed with --agent: claude-code,",
	} {
		first := f.run(t, "endpoint", "vend", "bot", "--agent", kind).ok(t)
		slug, _, _ := strings.Cut(strings.TrimPrefix(first, "Endpoint "), " ")
		again := f.run(t, "endpoint", "rotate", slug).ok(t)
		for _, out := range []string{first, again} {
			_, token, _ := strings.Cut(out, "shown this once:\n\n")
			token, _, _ = strings.Cut(token, "\n")
			if !strings.Contains(out, want) || !strings.HasPrefix(token, "sbk_") || strings.Count(out, token) < 2 {
				t.Errorf("%s: printed\n%s", kind, out)
			}
		}
	}
}

func TestVend_TakesTheDefaultLeaseVerbsByName(t *testing.T) {
	f := setup(t)
	if e := f.vend(t, "bot", "--verbs", "claim,get_default_lease,set_default_lease"); strings.Join(e.Verbs, " ") != "claim get_default_lease set_default_lease" {
		t.Errorf("vended %v", e.Verbs)
	}
}

func TestEdit_ChangesWhatItIsToldAndNothingElse(t *testing.T) {
	f := setup(t)
	slug := f.vend(t, "bot", "--lease-ttl", "600", "--max-attempts", "3").Slug
	for _, c := range []struct{ args, want string }{
		{"--lease-ttl 900", "lease     900 s attempts  3 fence     when a claim asks for one"},
		{"--no-lease-ttl --require-fence", "lease     the server's attempts  3 fence     unless a claim says otherwise"},
		{"--no-max-attempts", "lease     the server's attempts  the server's fence     unless a claim says otherwise"},
		{"--max-attempts 7 --require-fence=false", "lease     the server's attempts  7 fence     when a claim asks for one"},
	} {
		out := f.run(t, append([]string{"endpoint", "edit", slug}, strings.Fields(c.args)...)...).ok(t)
		if got := strings.Join(strings.Split(strings.TrimSuffix(out, "\n"), "\n  "), " "); got != "Endpoint "+slug+" "+c.want {
			t.Errorf("%s: %q", c.args, got)
		}
	}
	var e endpointDoc
	f.run(t, "endpoint", "edit", slug, "--lease-ttl", "60", "--json").json(t, &e)
	if e.Slug != slug || *e.LeaseTTL != 60 || *e.MaxTries != 7 || e.Token != "" {
		t.Errorf("%+v", e)
	}
	f.run(t, "endpoint", "edit", slug, "--lease-ttl", "59").failed(t, exitFailed, "invalid: default_lease_ttl_seconds must be 60 to 86400")
	f.run(t, "endpoint", "edit", "nobody-x2x2", "--no-lease-ttl").failed(t, exitFailed, "not_found: no such endpoint")
}

func TestRotate_PrintsTheNewCredentialOnceAndSaysWhenTheEarlierOneEnds(t *testing.T) {
	f := setup(t)
	first := f.vend(t, "bot")
	var next endpointDoc
	f.run(t, "endpoint", "rotate", first.Slug, "--overlap", "15m", "--json").json(t, &next)
	if next.Slug != first.Slug || next.Token == first.Token || !strings.HasPrefix(next.Token, "sbk_") {
		t.Errorf("rotated to %+v", next)
	}
	r := f.runWith(t, Env{Width: 80}, "endpoint", "rotate", first.ID, "--overlap", "2d")
	if !strings.Contains(r.ok(t), "Its credential, shown this once:\n\nsbk_") || !strings.Contains(r.stderr, "stops working in 48h0m0s") {
		t.Errorf("printed %s\n%s", r.stdout, r.stderr)
	}
	r = f.runWith(t, Env{Width: 80}, "endpoint", "rotate", first.ID)
	if r.ok(t); !strings.Contains(r.stderr, "has stopped working") {
		t.Errorf("said %s", r.stderr)
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
