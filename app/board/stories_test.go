package board

import (
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/routing"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

// relay is a todo whose first worker died, whose second failed and whose third succeeded. It takes the
// database's clock 70 minutes on.
func (h *house) relay(ep *identity.Endpoint) uuid.UUID {
	h.t.Helper()
	id := h.push(ep, "Retry deliveries when the carrier gateway answers 502",
		`{"issue":1184,"repository":"northlake/parcel-api","labels":["bug","agent:s"],"body":"We give up on the first 502. The gateway restarts twice a day."}`)

	h.later(27 * time.Second)
	died := h.claim(ep, id, "harness/box-2/fixer/run-7", 10*time.Minute)
	died.store(
		died.span(0, "reason", "chat claude-fable-5", 3000, 15000, usage("claude-fable-5", 8412, 604)),
		died.span(0, "tool", "execute_tool bash", 18600, 2200, tool("bash")),
		died.span(0, "reason", "chat claude-fable-5", 21100, 20000, usage("claude-fable-5", 9891, 751)),
		died.span(0, "tool", "execute_tool bash", 41800, 131000, tool("bash")))
	h.later(69 * time.Second)
	died.note("read the issue; 502 is missing from the retryable set in client.go")
	h.later(102 * time.Second)
	died.note("running the whole suite once before I change anything")
	h.later(10*time.Minute + 19*time.Second)
	must(h.queue.Reap(h.t.Context()))(h.t)

	h.later(21 * time.Second)
	second := h.claim(ep, id, "harness/box-5/fixer/run-2", 10*time.Minute)
	second.store(
		second.span(0, "internal", "invoke_agent bugfix", 1500, 303000),
		second.span(1, "reason", "chat claude-fable-5", 2200, 14000, usage("claude-fable-5", 21904, 1310)),
		second.span(1, "tool", "execute_tool bash", 17000, 122000, tool("bash"), failed("exit status 2: database never came up on 5433")),
		second.span(3, "internal", "hook PreToolUse", 17100, 120),
		second.span(1, "reason", "chat claude-fable-5", 140000, 31000, usage("claude-fable-5", 41740, 2908)),
		second.span(1, "tool", "execute_tool bash", 172000, 44000, tool("bash"), failed("exit status 1")))
	h.later(193 * time.Second)
	second.note("make db-up waits for postgres on 5433, which box-5 does not have; trying without it")
	h.later(113 * time.Second)
	second.fail("The fix itself is small (add 502 to retryableStatus), but the carrier tests need a database and this box has none on port 5433. Unit tests without it pass. A worker on box-2 should be able to finish.",
		queue.FailParams{RetryAfterSeconds: ptr(1200)})

	h.later(27 * time.Minute)
	must(h.queue.RequeueDue(h.t.Context()))(h.t)
	third := h.claim(ep, id, "harness/box-2/fixer/run-8", 10*time.Minute)
	third.store(third.work()...)
	h.later(408 * time.Second)
	third.note("the race detector found a shared counter in my first version; moving it into the call")
	h.later(138 * time.Second)
	third.note("tests pass, PR 1191 is open, waiting for CI")
	h.later(9*time.Minute + 36*time.Second)
	third.complete("502 and 504 from the carrier gateway are now retried with full jitter, at most four times. The first version raced: the attempt counter was shared between two goroutines, so backoff state moved into the call. Tests with -race pass, CI is green on 1191.",
		"https://github.com/northlake/parcel-api/pull/1191",
		`{"pull_request":1191,"branch":"fix/1184-retry-502","files_changed":3,"tests":{"command":"go test -race ./...","passed":319,"failed":0},"ci":"success"}`)
	h.later(4 * time.Minute)
	return id
}

// work is an attempt's trace as a coding agent sends it: model calls, tools with their requests, a helper
// agent, an hour that mostly waits.
func (c *claim) work() []spans.Span {
	root := c.span(0, "internal", "invoke_agent bugfix", 2100, 1117000, func(s *spans.Span) {
		s.Attributes = []byte(`{"gen_ai.operation.name":"invoke_agent","switchboard.attempt.seq":3}`)
	})
	all := []spans.Span{root}
	add := func(parent int, category, name string, from, long int, change ...func(*spans.Span)) int {
		all = append(all, c.span(parent, category, name, from, long, change...))
		return c.ids
	}
	add(1, "reason", "chat claude-fable-5", 2600, 11800, usage("claude-fable-5", 8412, 604))
	bash := add(1, "tool", "execute_tool bash", 14600, 2300, tool("bash"))
	add(bash, "net", "GET api.github.com", 14900, 1800, func(s *spans.Span) { s.Attributes = []byte(`{"http.response.status_code":200}`) })
	add(1, "reason", "chat claude-fable-5", 17100, 16400, usage("claude-fable-5", 9940, 812))
	add(1, "tool", "execute_tool grep", 34000, 420, tool("grep"))
	add(1, "tool", "execute_tool read", 34600, 190, tool("read"))
	add(1, "reason", "chat claude-fable-5", 35200, 31700, usage("claude-fable-5", 18377, 1690))
	explorer := add(1, "internal", "invoke_agent explorer", 67400, 118000)
	add(explorer, "reason", "chat claude-haiku-4-5", 67900, 6100, usage("claude-haiku-4-5", 4120, 288))
	add(explorer, "read", "SELECT delivery_attempts", 75400, 8900)
	add(explorer, "tool", "execute_tool bash", 85000, 3400, tool("bash"))
	add(explorer, "reason", "chat claude-haiku-4-5", 92000, 93000, usage("claude-haiku-4-5", 21904, 3310))
	add(1, "reason", "chat claude-fable-5", 186000, 22500, usage("claude-fable-5", 26110, 1402))
	add(1, "tool", "execute_tool edit", 209000, 310, tool("edit"))
	test := add(1, "tool", "execute_tool bash", 211900, 64800, tool("bash"))
	for i := range 6 {
		add(test, "internal", "hook PostToolUse", 212000+i*1700, 900)
	}
	add(1, "tool", "execute_tool bash", 297000, 88000, tool("bash"), failed("exit status 1: WARNING: DATA RACE in carrier.(*Client).attempt"))
	add(1, "reason", "chat claude-fable-5", 386000, 41000, usage("claude-fable-5", 39871, 2210))
	add(1, "tool", "execute_tool edit", 427600, 240, tool("edit"))
	add(1, "tool", "execute_tool bash", 428600, 91300, tool("bash"))
	pr := add(1, "tool", "execute_tool bash", 520700, 6600, tool("bash"))
	add(pr, "net", "POST api.github.com", 521300, 5700, func(s *spans.Span) { s.Attributes = []byte(`{"http.response.status_code":201}`) })
	checks := add(1, "tool", "execute_tool bash", 949000, 4400, tool("bash"))
	add(checks, "net", "GET api.github.com/check-runs", 949200, 1900, failed("502 Bad Gateway"), func(s *spans.Span) {
		s.Attributes = []byte(`{"http.response.status_code":502,"error.type":"502"}`)
	})
	add(1, "review", "self review", 966800, 61400)
	add(1, "reason", "chat claude-fable-5", 1098000, 18300, usage("claude-fable-5", 44120, 1986))
	return all
}

// variety fills a list with todos in every state an agent can bring about, and returns the one that is being
// worked.
func (h *house) variety(ep, docs *identity.Endpoint) uuid.UUID {
	h.t.Helper()
	h.push(docs, "Draft the December changelog", "")
	h.push(ep, "Import the 2019 rate tables from the partner FTP", "")
	dead := h.push(ep, "Backfill postal codes for Svalbard", "")
	h.claim(ep, dead, "run-1", time.Minute).fail("The source is gone.", queue.FailParams{Retry: ptr(false)})
	done := h.push(docs, "Group carrier errors by upstream in the weekly mail", "")
	h.claim(docs, done, "run-2", time.Minute).complete("Grouped.", "mcp://cairn/weekly-mail", `{"ok":true}`)
	retry := h.push(ep, "Nightly export misses rows written during the snapshot", "")
	h.claim(ep, retry, "run-3", time.Minute).fail("Deadlock; try later.", queue.FailParams{RetryAfterSeconds: ptr(900)})
	released := h.push(ep, "Same body with another delivery id is stored twice", `{"issue":1201}`)
	h.claim(ep, released, "harness/box-3/fixer/run-4", time.Minute)
	must(h.queue.Release(h.t.Context(), ep, released, queue.Report{Summary: ptr("Shutting down for a host upgrade before I changed anything.")}))(h.t)
	for _, title := range []string{"Bump pgx to v5.13 and drop the query-mode workaround", "Document the X-Delivery-Id header for generic webhooks",
		"Flaky: TestReaper_TakesOver on arm64", "Carrier label PDF has the wrong page size for A6 thermal printers"} {
		h.later(2 * time.Minute)
		h.push(ep, title, "")
	}
	h.live(ep, released)
	return released
}

// live is an attempt in progress whose agent has not sent its root span yet.
func (h *house) live(ep *identity.Endpoint, id uuid.UUID) *claim {
	h.t.Helper()
	c := h.claim(ep, id, "harness/box-2/fixer/run-9", 10*time.Minute)
	unsent := 200
	c.store(
		c.span(unsent, "reason", "chat claude-fable-5", 1900, 9400, usage("claude-fable-5", 8127, 540)),
		c.span(unsent, "tool", "execute_tool bash", 11600, 2100, tool("bash")),
		c.span(unsent, "reason", "chat claude-fable-5", 14300, 22900, usage("claude-fable-5", 12011, 780)),
		c.span(unsent, "tool", "execute_tool bash", 37500, 71000, tool("bash"), failed("exit status 1")))
	h.later(107 * time.Second)
	c.note("two tests fail as expected, the hash includes X-Delivery-Id")
	h.later(100 * time.Second)
	return c
}

// delivered is a todo that came in through a webhook: verified by its address, routed by a rule as a work order.
func (h *house) delivered(ep *identity.Endpoint, body string) uuid.UUID {
	h.t.Helper()
	shown := must(h.intake.Create(h.t.Context(), ep, intake.CreateParams{Source: webhook.Generic, TargetQueue: ep.Queues[0]}))(h.t)
	yes := true
	must(h.intake.SetRules(h.t.Context(), intake.OfHuman(h.owner.ID), shown.ID.UUID(), intake.RuleChange{Rules: []routing.Rule{
		{ID: "r_01", Name: "docs-only", Expr: `.payload.docs == true`, Action: routing.Action{Drop: true}},
		{ID: "r_02", Name: "handoff-lane-m", Expr: `.payload.size == "m"`, Action: routing.Action{Queue: ep.Queues[0], WorkOrder: &yes}},
	}}))(h.t)
	target := must(h.intake.Resolve(h.t.Context(), shown.URL[strings.LastIndex(shown.URL, "/")+1:]))(h.t)
	header := http.Header{"Content-Type": {"application/json"}, "X-Delivery-Id": {"7c1e04b2"}, "User-Agent": {"northlake-events/2"}}
	receipt := must(h.intake.Deliver(h.t.Context(), target, intake.Delivery{Header: header, Body: []byte(body), SourceIP: "203.0.113.77"}))(h.t)
	if len(receipt.Todos) != 1 {
		h.t.Fatalf("the delivery made %d todos", len(receipt.Todos))
	}
	return receipt.Todos[0].ID.UUID()
}
