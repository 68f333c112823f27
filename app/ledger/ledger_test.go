package ledger

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLedger_AccountsForEachSpanOnce(t *testing.T) {
	ctx, l := NewContext(context.Background())
	if FromContext(ctx) != l {
		t.Fatal("the context carries another ledger")
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			FromContext(ctx).Reject(Unbound, 1)
			FromContext(ctx).Reject(Invalid, 2)
			FromContext(ctx).Filter(3)
			FromContext(ctx).Twin(1)
		})
	}
	all.Wait()
	if l.Account().Committed {
		t.Error("committed before the exporter said so")
	}
	l.Commit(Outcome{Stored: 7, Rejected: map[Reason]int{Cap: 5, Unbound: 1}, Twins: 2})
	want := Account{Committed: true, Stored: 7, Filtered: 150, Twins: 52, Rejected: map[Reason]int{Unbound: 51, Invalid: 100, Cap: 5}}
	got := l.Account()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.RejectedTotal() != 156 {
		t.Errorf("%d rejected in all", got.RejectedTotal())
	}
	got.Rejected[Cap] = 1000
	if l.Account().Rejected[Cap] != 5 {
		t.Error("an account is not a copy")
	}
}

// A stage that works for a receiver without a ledger finds none, and recording does nothing.
func TestLedger_NoneDoesNothing(t *testing.T) {
	l := FromContext(context.Background())
	l.Reject(Cap, 1)
	l.Filter(1)
	l.Twin(1)
	l.Unavailable()
	l.Commit(Outcome{Stored: 1})
	if l != nil {
		t.Error("a ledger came from nowhere")
	}
}
