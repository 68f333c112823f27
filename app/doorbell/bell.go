// Package doorbell tells agents that listen that there is work (protocols.md 3). A listener is an open stream of
// one endpoint; each process rings at the streams that are open in it, and asks the database, twice a second and
// only while somebody listens, whose credential still stands and for what it should ring. A stream ends with the
// credential that opened it, before it is rung again. The database decides which process rings for a todo.
package doorbell

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/secret"
)

const (
	// pollEvery is how late a ring may be.
	pollEvery = 500 * time.Millisecond
	// pollWait bounds one look at the database.
	pollWait = 5 * time.Second
	// maxListeners is how many streams an endpoint may have in this process; one more ends its oldest.
	maxListeners = 32
	// buffered is how many signals a slow listener may be behind before it is dropped.
	buffered = 64
)

// Signal is what a listener is told. Without a Todo it says that what the endpoint may call has changed.
type Signal struct{ Todo *queue.Rung }

// Bell knows the listeners of this process.
type Bell struct {
	queue    *queue.Store
	identity *identity.Store
	log      *zap.Logger

	mu        sync.Mutex
	endpoints map[uuid.UUID]*listeners
	polling   bool
	closed    bool
	stop      chan struct{}
	stopped   sync.WaitGroup
}

// listeners are the streams of an endpoint, the one that is rung next first.
type listeners struct {
	waiting  []*Listener
	defaults identity.Defaults
}

// Listener is one open stream.
type Listener struct {
	bell       *Bell
	endpoint   uuid.UUID
	session    string
	credential string // the hash of what opened it
	signals    chan Signal
	done       chan struct{}
	end        sync.Once
}

// New returns a bell that nobody listens to yet. Close it.
func New(queue *queue.Store, identity *identity.Store, log *zap.Logger) *Bell {
	return &Bell{queue: queue, identity: identity, log: log, endpoints: map[uuid.UUID]*listeners{}, stop: make(chan struct{})}
}

// Listen opens a stream for an endpoint, which lives as long as the credential that opens it: token, as it was
// presented. A session that listens already moves to the new stream: its connection was lost before we noticed. It
// returns nil when the process ends.
func (b *Bell) Listen(endpoint *identity.Endpoint, token, session string) *Listener {
	l := &Listener{bell: b, endpoint: endpoint.ID, session: session, credential: string(secret.Hash(token)),
		signals: make(chan Signal, buffered), done: make(chan struct{})}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return nil
	}
	if session != "" {
		b.drop(endpoint.ID, func(other *Listener) bool { return other.session == session })
	}
	at := b.endpoints[endpoint.ID]
	if at == nil {
		at = &listeners{defaults: endpoint.Defaults()}
		b.endpoints[endpoint.ID] = at
	}
	if len(at.waiting) == maxListeners {
		oldest := at.waiting[0]
		b.drop(endpoint.ID, func(other *Listener) bool { return other == oldest })
	}
	at.waiting = append(at.waiting, l)
	if !b.polling {
		b.polling = true
		b.stopped.Add(1)
		go b.poll()
	}
	return l
}

// Signals receives what the listener is told.
func (l *Listener) Signals() <-chan Signal { return l.signals }

// Done is closed when the stream must end.
func (l *Listener) Done() <-chan struct{} { return l.done }

// Close ends the stream.
func (l *Listener) Close() {
	l.bell.mu.Lock()
	defer l.bell.mu.Unlock()
	l.bell.drop(l.endpoint, func(other *Listener) bool { return other == l })
}

// EndSession ends the streams of a session of an endpoint.
func (b *Bell) EndSession(endpoint uuid.UUID, session string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.drop(endpoint, func(l *Listener) bool { return l.session == session })
}

// drop ends the streams of an endpoint that gone picks. The bell is locked.
func (b *Bell) drop(endpoint uuid.UUID, gone func(*Listener) bool) {
	at := b.endpoints[endpoint]
	if at == nil {
		return
	}
	var left []*Listener
	for _, l := range at.waiting {
		if gone(l) {
			l.end.Do(func() { close(l.done) })
			continue
		}
		left = append(left, l)
	}
	if at.waiting = left; len(left) == 0 {
		delete(b.endpoints, endpoint)
	}
}

// Close ends every stream and lets nobody listen any more.
func (b *Bell) Close() {
	b.mu.Lock()
	if !b.closed {
		b.closed = true
		close(b.stop)
		for endpoint := range b.endpoints {
			b.drop(endpoint, func(*Listener) bool { return true })
		}
	}
	b.mu.Unlock()
	b.stopped.Wait()
}

// poll runs while somebody listens.
func (b *Bell) poll() {
	defer b.stopped.Done()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-b.stop:
			return
		case <-tick.C:
		}
		presented := b.listening()
		if len(presented) == 0 {
			return
		}
		ctx, cancel := context.WithTimeout(context.Background(), pollWait)
		if err := b.look(ctx, presented); err != nil {
			b.log.Warn("the doorbell could not look for work; it looks again", postgres.Field(err))
		}
		cancel()
	}
}

// listening returns the hashes of the credentials that streams were opened with.
func (b *Bell) listening() (presented [][]byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	seen := map[string]bool{}
	for _, at := range b.endpoints {
		for _, l := range at.waiting {
			if !seen[l.credential] {
				seen[l.credential] = true
				presented = append(presented, []byte(l.credential))
			}
		}
	}
	b.polling = len(presented) > 0
	return presented
}

// look ends the streams whose credential has ended, says which defaults have changed, and rings.
func (b *Bell) look(ctx context.Context, presented [][]byte) error {
	standing, err := b.identity.Standing(ctx, presented)
	if err != nil {
		return err
	}
	rung, err := b.queue.Ring(ctx, b.settle(presented, standing), "mcp")
	for i := range rung {
		b.ring(&rung[i])
	}
	return err
}

// settle returns the endpoints that are there to be rung at. Who came after the question was asked stays unasked: its
// credential was looked at when it came.
func (b *Bell) settle(presented [][]byte, standing map[string]identity.Defaults) (open []uuid.UUID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ended := map[string]bool{}
	for _, hash := range presented {
		if _, stands := standing[string(hash)]; !stands {
			ended[string(hash)] = true
		}
	}
	for endpoint, at := range b.endpoints {
		b.drop(endpoint, func(l *Listener) bool { return ended[l.credential] })
		if len(at.waiting) > 0 {
			open = append(open, endpoint)
			b.refresh(at, standing)
		}
	}
	return open
}

// refresh tells the streams of an endpoint when its defaults are others than they were. The bell is locked.
func (b *Bell) refresh(at *listeners, standing map[string]identity.Defaults) {
	for _, l := range at.waiting {
		defaults, asked := standing[l.credential]
		if !asked {
			continue
		}
		if at.defaults != defaults {
			at.defaults = defaults
			for _, l := range at.waiting {
				b.tell(l, Signal{})
			}
		}
		return
	}
}

// ring tells one listener of a todo, another one each time.
func (b *Bell) ring(r *queue.Rung) {
	b.mu.Lock()
	defer b.mu.Unlock()
	at := b.endpoints[r.Endpoint]
	if at == nil {
		return // whoever listened left between the look and the ring: the next ring finds the next listener
	}
	l := at.waiting[0]
	at.waiting = append(at.waiting[1:], l)
	b.tell(l, Signal{r})
}

// tell drops a listener that does not listen. The bell is locked.
func (b *Bell) tell(l *Listener, s Signal) {
	select {
	case l.signals <- s:
	default:
		b.drop(l.endpoint, func(other *Listener) bool { return other == l })
	}
}
