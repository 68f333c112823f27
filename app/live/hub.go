// Package live tells open pages that what they show has changed. A page follows one topic; a topic has a
// version, and each process asks for the versions of the topics that are open in it, once a second. Nothing is
// sent when something is written, so a hot transaction pays nothing, any replica serves any page, and there is no
// log of frames that could lose one: whoever comes back with an older version gets what has changed (REQ-16).
package live

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"
)

const (
	// pollEvery is how often versions are asked for. It is also the most frames a topic sends per second.
	pollEvery = time.Second
	// pollWait bounds one question to the database.
	pollWait = 5 * time.Second
	// maxStreams is how many streams a session holds; one more closes its oldest.
	maxStreams = 4
)

// ErrClosed ends a stream whose topic is gone, whose session ended or opened too many others, or whose server
// stops.
var ErrClosed = errors.New("the stream was closed")

// ErrGone is what a Source answers for a topic that does not exist any more.
var ErrGone = errors.New("the topic is gone")

// Topic is what a page follows: something of one human.
type Topic struct {
	Human uuid.UUID
	Name  string
}

// Source reads a topic's version. Two equal versions mean that a page that shows one is up to date.
type Source func(ctx context.Context, topic Topic) (version string, err error)

// Hub knows the open streams of this process.
type Hub struct {
	source Source
	log    *zap.Logger

	mu      sync.Mutex
	topics  map[Topic]*followed
	session map[string][]*Stream // oldest first
	polling bool
	closed  bool
	stop    chan struct{}
	stopped sync.WaitGroup
}

// followed is a topic with those who follow it.
type followed struct {
	version string
	streams map[*Stream]bool
	frames  map[string]*frame // of the time since the last poll, by what they depend on
}

// NewHub returns a hub that asks source. Close it.
func NewHub(source Source, log *zap.Logger) *Hub {
	return &Hub{source: source, log: log, topics: map[Topic]*followed{}, session: map[string][]*Stream{}, stop: make(chan struct{})}
}

// Stream is one open page. It holds the newest version only: whoever reads slowly misses the ones between, and
// nothing else.
type Stream struct {
	hub     *Hub
	topic   Topic
	session string
	changed chan string
	done    chan struct{}
	end     sync.Once
}

// Follow opens a stream of a topic for a session. Its first version is the topic's present one; a topic that
// does not exist is ErrGone.
func (h *Hub) Follow(ctx context.Context, topic Topic, session string) (*Stream, string, error) {
	version, err := h.source(ctx, topic)
	if err != nil {
		return nil, "", err
	}
	s := &Stream{hub: h, topic: topic, session: session, changed: make(chan string, 1), done: make(chan struct{})}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return nil, "", ErrClosed
	}
	if open := h.session[session]; len(open) >= maxStreams {
		h.drop(open[0])
	}
	h.session[session] = append(h.session[session], s)
	f := h.topics[topic]
	if f == nil {
		f = &followed{version: version, streams: map[*Stream]bool{}, frames: map[string]*frame{}}
		h.topics[topic] = f
	}
	f.streams[s] = true
	if !h.polling {
		h.polling = true
		h.stopped.Add(1)
		go h.poll()
	}
	return s, version, nil
}

// Changed receives the topic's version whenever it has moved.
func (s *Stream) Changed() <-chan string { return s.changed }

// Done is closed when the stream must end.
func (s *Stream) Done() <-chan struct{} { return s.done }

// Close leaves the topic.
func (s *Stream) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	s.hub.drop(s)
}

// drop forgets a stream. The hub is locked.
func (h *Hub) drop(s *Stream) {
	s.end.Do(func() { close(s.done) })
	if f := h.topics[s.topic]; f != nil {
		delete(f.streams, s)
		if len(f.streams) == 0 {
			delete(h.topics, s.topic)
		}
	}
	open := h.session[s.session][:0]
	for _, other := range h.session[s.session] {
		if other != s {
			open = append(open, other)
		}
	}
	if h.session[s.session] = open; len(open) == 0 {
		delete(h.session, s.session)
	}
}

// EndSession closes the streams of a session that has signed out.
func (h *Hub) EndSession(session string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.session[session]) > 0 {
		h.drop(h.session[session][0])
	}
}

// Close ends every stream, so that a server can drain, and lets none begin.
func (h *Hub) Close() {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		close(h.stop)
		for _, f := range h.topics {
			for s := range f.streams {
				h.drop(s)
			}
		}
	}
	h.mu.Unlock()
	h.stopped.Wait()
}

// poll runs while somebody follows something.
func (h *Hub) poll() {
	defer h.stopped.Done()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		select {
		case <-h.stop:
			return
		case <-tick.C:
		}
		topics := h.open()
		if topics == nil {
			return
		}
		for _, topic := range topics {
			h.ask(topic)
		}
	}
}

// open lists the topics that are followed, and lets go of their frames. With none left the poll ends.
func (h *Hub) open() []Topic {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.topics) == 0 || h.closed {
		h.polling = false
		return nil
	}
	all := make([]Topic, 0, len(h.topics))
	for t, f := range h.topics {
		all = append(all, t)
		clear(f.frames)
	}
	return all
}

func (h *Hub) ask(topic Topic) {
	ctx, cancel := context.WithTimeout(context.Background(), pollWait)
	defer cancel()
	version, err := h.source(ctx, topic)
	h.mu.Lock()
	defer h.mu.Unlock()
	f := h.topics[topic]
	switch {
	case f == nil:
	case errors.Is(err, ErrGone):
		for s := range f.streams {
			h.drop(s)
		}
	case err != nil:
		h.log.Debug("the version of an open page could not be read; the next second asks again")
	case version != f.version:
		f.version = version
		for s := range f.streams {
			s.offer(version)
		}
	}
}

// offer replaces what has not been read yet.
func (s *Stream) offer(version string) {
	select {
	case <-s.changed:
	default:
	}
	s.changed <- version
}
