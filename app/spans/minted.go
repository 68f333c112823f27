package spans

import (
	"time"

	"github.com/google/uuid"
	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	mintedTraces = 8192        // how many traces are remembered, of all endpoints
	mintedFor    = time.Minute // and for how long
)

// mintedCache remembers which attempts traces were minted for. That never changes while the todo lives. Only the trace of
// an open attempt is remembered, whose todo retention leaves alone, and not for long: should the todo end and be removed
// within that time, a span of its trace finds no todo when it is stored, and is unbound. What is not there is not
// remembered, and neither is anything that a later claim or a later request may change.
type mintedCache struct {
	traces *lru.Cache[mintedTrace, mintedEntry]
	now    func() time.Time
}

// mintedTrace is scoped by the endpoint: to any other, the trace is one that nobody knows.
type mintedTrace struct {
	endpoint uuid.UUID
	trace    [16]byte
}

type mintedEntry struct {
	MintedAttempt
	until time.Time
}

func newMintedCache() mintedCache {
	traces, err := lru.New[mintedTrace, mintedEntry](mintedTraces)
	if err != nil {
		panic(err) // of a size below one
	}
	return mintedCache{traces: traces, now: time.Now}
}

func (c mintedCache) remember(endpoint uuid.UUID, trace [16]byte, a MintedAttempt) {
	c.traces.Add(mintedTrace{endpoint, trace}, mintedEntry{a, c.now().Add(mintedFor)})
}

func (c mintedCache) find(endpoint uuid.UUID, trace [16]byte) (MintedAttempt, bool) {
	entry, ok := c.traces.Get(mintedTrace{endpoint, trace})
	if !ok || !c.now().Before(entry.until) {
		return MintedAttempt{}, false
	}
	return entry.MintedAttempt, true
}

// Minted returns the attempt that a trace was minted for, as far as a lookup of the last minute for this endpoint found
// it. False says nothing: Resolve knows.
func (s *Store) Minted(endpoint uuid.UUID, trace [16]byte) (MintedAttempt, bool) {
	return s.minted.find(endpoint, trace)
}
