package mcpserver_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/switchboard-otel/switchboard/app/typeid"
)

// "ends the old at once": a claim_next that was waiting when its credential was rotated away, or its endpoint revoked,
// gets no todo that comes after that.
func TestWait_ACredentialThatEndsMeanwhileClaimsNothing(t *testing.T) {
	for name, end := range map[string]func(b *bundle) error{
		"rotated": func(b *bundle) error {
			v, err := b.identity.Rotate(t.Context(), b.human.ID, b.vended.Slug, 0)
			if err == nil {
				b.vended = v
			}
			return err
		},
		"expired": func(b *bundle) error {
			_, err := b.Pool.Exec(t.Context(), `UPDATE credentials SET expires_at = sb_now() - interval '1 hour'`)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t)
			before := b.Pool.Stat().AcquireCount()
			answer := make(chan string, 1)
			leaked := b.vended
			go func() {
				_, whole := b.verb(t, leaked, "claim_next", `{"wait_seconds":30}`)
				answer <- whole
			}()
			deadline := time.Now().Add(time.Minute)
			for { // it is known who calls, and there was nothing to claim
				if s := b.Pool.Stat(); s.AcquireCount() >= before+4 && s.AcquiredConns() == 0 {
					break
				}
				if time.Now().After(deadline) {
					t.Fatal("nobody waits")
				}
				runtime.Gosched()
			}
			if err := end(b); err != nil {
				t.Fatal(err)
			}
			id := b.push(t, "a secret of after that")
			if whole := <-answer; !strings.Contains(whole, `"structuredContent":{"empty":true}`) {
				t.Errorf("it was answered %s", whole)
			}
			if status, _, _ := b.post(t, leaked.Slug, leaked.Token, ping); status != 401 {
				t.Errorf("the credential is answered %d", status)
			}
			todo, _ := typeid.Todo.Parse(id)
			if d, err := b.queue.Get(t.Context(), &b.vended.Endpoint, todo, nil); err != nil || d.State != "pending" || d.AttemptsTotal != 0 {
				t.Errorf("%+v, %v", d, err)
			}
		})
	}
}
