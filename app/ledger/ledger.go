// Package ledger keeps what became of each span of one request, so that the receiver can answer the truth:
// 200 means stored, and a partial success counts exactly what was refused (REQ-8, decisions.md 12 and 13).
//
// The receiver puts one Ledger into the request's context; processors and the exporter record into it; the
// receiver reads it when the pipeline returns. A stage that works without a ledger (spans of the stock otlp
// receiver) finds nil and every method of a nil Ledger does nothing.
package ledger

import (
	"context"
	"sync"
)

// Reason is why a span was not stored.
type Reason string

// The three reasons of REQ-8, in the order in which the answer lists them.
const (
	Unbound Reason = "unbound" // no todo of this endpoint could be found for it
	Cap     Reason = "cap"     // its attempt or todo holds as many spans as it may
	Invalid Reason = "invalid" // ids, times or shape that cannot be stored
)

// Reasons lists every reason in the order of the answer.
var Reasons = [...]Reason{Unbound, Cap, Invalid}

// Ledger is one request's account. It is safe for concurrent use.
type Ledger struct {
	mu        sync.Mutex
	rejected  map[Reason]int
	stored    int
	filtered  int
	twins     int
	committed bool

	unavailable bool
}

type key struct{}

// NewContext returns a context that carries a new ledger, and the ledger.
func NewContext(ctx context.Context) (context.Context, *Ledger) {
	l := &Ledger{rejected: map[Reason]int{}}
	return context.WithValue(ctx, key{}, l), l
}

// FromContext returns the request's ledger, nil where the request has none.
func FromContext(ctx context.Context) *Ledger {
	l, _ := ctx.Value(key{}).(*Ledger)
	return l
}

// Reject records n spans that a processor refused.
func (l *Ledger) Reject(reason Reason, n int) {
	if l == nil || n == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rejected[reason] += n
}

// Filter records n spans that the operator's configuration removes on purpose.
func (l *Ledger) Filter(n int) {
	if l == nil || n == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.filtered += n
}

// Twin records n spans that came twice in the request and were accounted for by their twins: the same span counts once,
// stored or refused (decisions.md 7 and 13).
func (l *Ledger) Twin(n int) {
	if l == nil || n == 0 {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.twins += n
}

// Outcome is what the exporter reports when all its transactions have ended.
type Outcome struct {
	Stored   int            // spans that are in the database now, those of an earlier request included
	Rejected map[Reason]int // spans that the store refused
	Twins    int            // spans that count as one with another of the request
}

// Commit records the exporter's outcome, after its last transaction. Refusals of the exporter count only
// here, so that a retried transaction never counts twice.
func (l *Ledger) Commit(o Outcome) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.committed = true
	l.stored += o.Stored
	l.twins += o.Twins
	for r, n := range o.Rejected {
		l.rejected[r] += n
	}
}

// Unavailable records that a stage could not reach the store now. The request is worth sending again then,
// whatever else went wrong beside it: another exporter's refusal must not make a producer drop spans that
// could have been stored a second later.
func (l *Ledger) Unavailable() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.unavailable = true
}

// Account is a ledger's state when the pipeline has returned.
type Account struct {
	Committed bool           // the exporter ended its last transaction
	Stored    int            // spans accounted for by the store
	Rejected  map[Reason]int // by reason
	Filtered  int            // removed by the operator's configuration, as far as a stage of ours did it
	Twins     int            // accounted for by another span of the request

	Unavailable bool // the store could not be reached
}

// Account returns a copy of the state.
func (l *Ledger) Account() Account {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := Account{Committed: l.committed, Stored: l.stored, Filtered: l.filtered, Twins: l.twins,
		Rejected: map[Reason]int{}, Unavailable: l.unavailable}
	for r, n := range l.rejected {
		a.Rejected[r] = n
	}
	return a
}

// RejectedTotal is the number of spans refused for any reason.
func (a Account) RejectedTotal() int {
	n := 0
	for _, c := range a.Rejected {
		n += c
	}
	return n
}
