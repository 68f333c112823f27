package switchboardreceiver

import (
	"context"
	"net/http"
	"sync"
)

// drain knows the requests in flight. Its zero value lets requests in.
type drain struct {
	mu       sync.Mutex
	stopped  bool
	inFlight sync.WaitGroup
}

// wrap counts the requests of h, and lets h know when one came after stop.
func (d *drain) wrap(h *handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.enter() {
			h.refuse(w, r, refusedStopping)
			return
		}
		defer d.inFlight.Done()
		h.ServeHTTP(w, r)
	})
}

func (d *drain) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stopped {
		return false
	}
	d.inFlight.Add(1)
	return true
}

func (d *drain) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
}

// wait returns when no request is in flight, or with ctx's error.
func (d *drain) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		d.inFlight.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
