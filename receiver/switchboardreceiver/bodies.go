package switchboardreceiver

import (
	"sync"

	"github.com/google/uuid"
)

const (
	// bodiesAtOnce is how many bytes of bodies may be held at one moment, while they arrive and while they wait.
	bodiesAtOnce = 160 << 20
	// bodiesOfOne is how many of them may be of one endpoint, so that who sends slowly is in nobody else's way.
	bodiesOfOne = 32 << 20
)

// bodies counts what is held of bodies, by whose they are.
type bodies struct {
	mu    sync.Mutex
	total int64
	of    map[uuid.UUID]int64
}

// hold counts bytes more of an endpoint's body, or reports that there are too many already. One body of limit bytes is
// never too many by itself.
func (b *bodies) hold(endpoint uuid.UUID, bytes, limit int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.total+bytes > max(bodiesAtOnce, limit) || b.of[endpoint]+bytes > max(bodiesOfOne, limit) {
		return false
	}
	b.total += bytes
	b.of[endpoint] += bytes
	return true
}

func (b *bodies) release(endpoint uuid.UUID, bytes int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.total -= bytes
	if b.of[endpoint] -= bytes; b.of[endpoint] == 0 {
		delete(b.of, endpoint)
	}
}
