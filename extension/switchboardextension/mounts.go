package switchboardextension

import (
	"net/http"
	"strings"
	"sync"
)

// mounts are the handlers that receivers lend to the listener while they run.
type mounts struct {
	mu   sync.RWMutex
	list []mount
}

type mount struct {
	prefix  string
	handler http.Handler
	id      *byte // tells mounts apart, so that a late unmount removes only its own
}

func (m *mounts) add(prefix string, h http.Handler) (unmount func()) {
	id := new(byte)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, mount{prefix, h, id})
	return func() { m.remove(id) }
}

func (m *mounts) remove(id *byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i, e := range m.list {
		if e.id == id {
			m.list = append(m.list[:i:i], m.list[i+1:]...)
			return
		}
	}
}

func (m *mounts) find(path string) http.Handler {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, e := range m.list {
		if strings.HasPrefix(path, e.prefix) {
			return e.handler
		}
	}
	return nil
}
