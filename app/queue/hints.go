package queue

import (
	"sync"
	"time"

	"github.com/google/uuid"
)

// A claimer starts its scan where its last claim was, for a second at most. Under a long transaction the
// rows before that place are dead but cannot be vacuumed, and a scan from the beginning would visit them
// all again for each claim. A todo that came back in front of the hint waits until it lapses.
const hintLife = time.Second

// maxHints bounds the memory of hints; when it is reached they all start anew.
const maxHints = 4096

type claimKey struct {
	endpoint uuid.UUID
	queue    string // empty: every queue of the endpoint
}

type claimHint struct {
	createdAt time.Time
	id        uuid.UUID
	until     time.Time
}

type claimHints struct {
	mu   sync.Mutex
	last map[claimKey]claimHint
}

func newClaimHints() *claimHints { return &claimHints{last: map[claimKey]claimHint{}} }

// after returns the place to start behind, nil for the beginning.
func (h *claimHints) after(key claimKey) (createdAt *time.Time, id *uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	hint, ok := h.last[key]
	if !ok {
		return nil, nil
	}
	if time.Now().After(hint.until) {
		delete(h.last, key)
		return nil, nil
	}
	return &hint.createdAt, &hint.id
}

// claimed moves the hint on; its life is counted from when it was set from the beginning, so that a busy
// claimer looks back once a second too.
func (h *claimHints) claimed(key claimKey, createdAt time.Time, id uuid.UUID) {
	h.mu.Lock()
	defer h.mu.Unlock()
	hint, ok := h.last[key]
	if !ok {
		if len(h.last) >= maxHints {
			clear(h.last)
		}
		hint.until = time.Now().Add(hintLife)
	}
	hint.createdAt, hint.id = createdAt, id
	h.last[key] = hint
}

func (h *claimHints) forget(key claimKey) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.last, key)
}
