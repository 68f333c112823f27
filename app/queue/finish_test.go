package queue_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/queue"
)

// attempt-history, "Outcomes": what each verb does to the attempt and to its todo.
func TestOutcomes(t *testing.T) {
	for name, c := range map[string]struct {
		max  int
		fail queue.FailParams
		do   string
		want shape
	}{
		"complete":                      {max: 2, do: "complete", want: shape{State: queue.StateDone, Attempt: 1, Outcome: "completed", Disposition: "done"}},
		"fail":                          {max: 2, do: "fail", want: shape{State: queue.StateFailed, Attempt: 1, Outcome: "failed", Disposition: "retry_scheduled"}},
		"fail on the last attempt":      {max: 1, do: "fail", want: shape{State: queue.StateFailed, Attempt: 1, DeadLetter: true, Outcome: "failed", Disposition: "dead_lettered"}},
		"fail, retry true, on the last": {max: 1, do: "fail", fail: queue.FailParams{Retry: ptr(true)}, want: shape{State: queue.StateFailed, Attempt: 1, DeadLetter: true, Outcome: "failed", Disposition: "dead_lettered"}},
		"fail, retry false":             {max: 9, do: "fail", fail: queue.FailParams{Retry: ptr(false)}, want: shape{State: queue.StateFailed, Attempt: 1, DeadLetter: true, Outcome: "failed", Disposition: "dead_lettered"}},
		"release":                       {max: 2, do: "release", want: shape{State: queue.StatePending, Attempt: 1, Outcome: "released", Disposition: "requeued"}},
		"reap":                          {max: 2, do: "reap", want: shape{State: queue.StatePending, Attempt: 1, Outcome: "reaped", Disposition: "requeued", Died: true}},
		"reap on the last attempt":      {max: 1, do: "reap", want: shape{State: queue.StateFailed, Attempt: 1, DeadLetter: true, Outcome: "reaped", Disposition: "dead_lettered", Died: true}},
		"revoke":                        {max: 2, do: "revoke", want: shape{State: queue.StateFailed, Attempt: 1, DeadLetter: true, Outcome: "revoked", Disposition: "dead_lettered"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			id := b.push(t, maxAttempts(c.max))
			b.claim(t, id, queue.ClaimParams{})
			r := queue.Report{Summary: ptr("what was tried"), Artifact: ptr("mcp://cairn/abc_1")}
			var err error
			switch c.do {
			case "complete":
				_, err = b.queue.Complete(t.Context(), b.endpoint, id, r, raw(`{"pr":1}`))
			case "fail":
				_, err = b.queue.Fail(t.Context(), b.endpoint, id, r, c.fail)
			case "release":
				_, err = b.queue.Release(t.Context(), b.endpoint, id, r)
			case "reap":
				b.lapse(t)
				_, err = b.queue.Reap(t.Context())
			case "revoke":
				_, err = b.identity.Revoke(t.Context(), b.human.ID, b.endpoint.Slug)
			}
			if err != nil {
				t.Fatal(err)
			}
			b.wantShape(t, id, c.want)
			d := b.get(t, id)
			a := d.Attempts[0]
			reported := c.do == "complete" || c.do == "fail" || c.do == "release"
			if reported != (a.Summary != nil) || reported != (a.Artifact != nil) || a.EndedAt == nil {
				t.Errorf("the attempt is %+v", a)
			}
			if d.Owner != nil || d.LeaseExpiresAt != nil || (d.NextRetryAt != nil) != (c.want.Disposition == "retry_scheduled") {
				t.Errorf("the todo is %+v", d.Row)
			}
			if c.do == "complete" && string(d.Result) != `{"pr":1}` {
				t.Errorf("the result is %s", d.Result)
			}
			for verb, err := range b.reports(t, id, nil) {
				if err == nil {
					t.Errorf("%s went through after the end", verb)
				}
			}
		})
	}
}

func TestFail_BacksOffDoublingUpToAQuarterHour(t *testing.T) {
	b := setup(t)
	id := b.push(t, maxAttempts(20))
	for _, want := range []time.Duration{30 * time.Second, time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 15 * time.Minute, 15 * time.Minute} {
		b.claim(t, id, queue.ClaimParams{})
		row, err := b.queue.Fail(t.Context(), b.endpoint, id, queue.Report{}, queue.FailParams{})
		if err != nil {
			t.Fatal(err)
		}
		got := row.NextRetryAt.Sub(*b.get(t, id).Attempts[0].EndedAt)
		if got < want*79/100 || got > want*121/100 {
			t.Errorf("a backoff of %v, want %v give or take a fifth", got, want)
		}
		if n, _ := b.queue.RequeueDue(t.Context()); n != 0 {
			t.Fatal("a retry was due at once")
		}
		b.Advance(t, 20*time.Minute)
		if n, err := b.queue.RequeueDue(t.Context()); n != 1 || err != nil {
			t.Fatalf("requeued %d, %v", n, err)
		}
	}
}

func TestFail_RetryAfterReplacesTheBackoff(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	b.claim(t, id, queue.ClaimParams{})
	if _, err := b.queue.Fail(t.Context(), b.endpoint, id, queue.Report{}, queue.FailParams{RetryAfterSeconds: ptr(0)}); err != nil {
		t.Fatal(err)
	}
	c, err := b.queue.ClaimNext(t.Context(), b.endpoint, "", queue.ClaimParams{})
	if err != nil || c == nil || c.AttemptSeq != 2 {
		t.Fatalf("a retry that is due at once was not claimed: %v, %v", c, err)
	}
	for _, s := range []int{-1, 86401} {
		_, err := b.queue.Fail(t.Context(), b.endpoint, id, queue.Report{}, queue.FailParams{RetryAfterSeconds: &s})
		wantCode(t, err, fault.Invalid)
	}
}

func TestRelease_CanBeClaimedBeyondTheMaximum(t *testing.T) {
	b := setup(t)
	id := b.push(t, maxAttempts(1))
	b.claim(t, id, queue.ClaimParams{})
	if _, err := b.queue.Release(t.Context(), b.endpoint, id, queue.Report{}); err != nil {
		t.Fatal(err)
	}
	b.claim(t, id, queue.ClaimParams{})
	if _, err := b.queue.Fail(t.Context(), b.endpoint, id, queue.Report{}, queue.FailParams{}); err != nil {
		t.Fatal(err)
	}
	b.wantShape(t, id, shape{State: queue.StateFailed, Attempt: 2, DeadLetter: true, Outcome: "failed", Disposition: "dead_lettered"})
}

func TestSummary_IsCutOnACharacterAndSaysSo(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	b.claim(t, id, queue.ClaimParams{Claimant: ptr("run\x00\n-7" + strings.Repeat("é", 100))})
	long := "a" + strings.Repeat("é", 1100) + "\x00"
	if _, err := b.queue.Fail(t.Context(), b.endpoint, id, queue.Report{Summary: &long}, queue.FailParams{}); err != nil {
		t.Fatal(err)
	}
	a := b.get(t, id).Attempts[0]
	if !a.SummaryTruncated || len(*a.Summary) != 2047 || !utf8.ValidString(*a.Summary) {
		t.Errorf("%d bytes, truncated %v", len(*a.Summary), a.SummaryTruncated)
	}
	if len(*a.Claimant) > 128 || !strings.HasPrefix(*a.Claimant, "run-7é") {
		t.Errorf("claimant %q", *a.Claimant)
	}
}

func TestArtifact_OutsideItsFormIsInvalidAndNothingMoves(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	b.claim(t, id, queue.ClaimParams{})
	for _, artifact := range []string{"", "http://example.org", "https://", "javascript:alert(1)", "mcp://cairn/", "mcp://cairn/" + strings.Repeat("a", 65),
		"mcp://cairn/a/b", "//example.org", "https://example.org/\x00", "https://example.org/" + strings.Repeat("a", 512), "https:example.org", "example.org"} {
		_, err := b.queue.Complete(t.Context(), b.endpoint, id, queue.Report{Artifact: &artifact}, nil)
		wantCode(t, err, fault.Invalid)
		if len(artifact) > 15 && strings.Contains(err.Error(), artifact) {
			t.Errorf("the message repeats the value: %v", err)
		}
	}
	b.wantShape(t, id, shape{State: queue.StateClaimed, Attempt: 1})
	for _, artifact := range []string{"mcp://cairn/" + strings.Repeat("a", 64), "https://example.org/pull/1?x=y#z"} {
		if _, err := b.queue.Release(t.Context(), b.endpoint, id, queue.Report{Artifact: &artifact}); err != nil {
			t.Errorf("%q: %v", artifact, err)
		}
		b.claim(t, id, queue.ClaimParams{})
	}
}

func TestResult_ThatCannotBeStoredIsInvalid(t *testing.T) {
	b := setup(t)
	id := b.push(t)
	b.claim(t, id, queue.ClaimParams{})
	deep := strings.Repeat("[", 513) + strings.Repeat("]", 513)
	for _, doc := range []string{deep, `{"a":1e400}`, `{"a":"\u0000"}`, `{`, "\"\xff\"", `"` + strings.Repeat("a", queue.MaxJSON) + `"`} {
		_, err := b.queue.Complete(t.Context(), b.endpoint, id, queue.Report{}, raw(doc))
		wantCode(t, err, fault.Invalid)
	}
	if _, err := b.queue.Complete(t.Context(), b.endpoint, id, queue.Report{}, raw(`"a backslash \\u0000 is plain text"`)); err != nil {
		t.Error(err)
	}
}
