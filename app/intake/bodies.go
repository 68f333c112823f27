package intake

import (
	"sync"

	"github.com/google/uuid"
)

const (
	// bodiesAtOnce is how many bytes of bodies may be held at one moment. Rules and the store hold a few times as much
	// of each.
	bodiesAtOnce = 32 << 20
	// bodiesOfOne is how many of them may be of one webhook, so that who sends slowly is in nobody else's way.
	bodiesOfOne = 16 << 20
)

// bodies counts what is held of bodies, by webhook.
type bodies struct {
	mu    sync.Mutex
	total int64
	of    map[uuid.UUID]int64
}

// hold counts bytes more, or reports that there are too many already. One body of limit bytes is never too many
// by itself.
func (b *bodies) hold(webhook uuid.UUID, bytes, limit int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.total+bytes > max(bodiesAtOnce, limit) || b.of[webhook]+bytes > max(bodiesOfOne, limit) {
		return false
	}
	if b.of == nil {
		b.of = map[uuid.UUID]int64{}
	}
	b.total += bytes
	b.of[webhook] += bytes
	return true
}

func (b *bodies) release(webhook uuid.UUID, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total -= bytes
	if b.of[webhook] -= bytes; b.of[webhook] == 0 {
		delete(b.of, webhook)
	}
}
