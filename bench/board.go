package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/board"
	"github.com/switchboard-otel/switchboard/app/feed"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
	"github.com/switchboard-otel/switchboard/app/trail"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

const (
	pageReads  = 200  // of the largest page
	partReads  = 1000 // of a part of it
	liveTodos  = 100
	liveBeats  = 16_000 // heartbeats with a note, by eight writers: some seconds
	liveTabs   = 16     // open pages: four sessions of four
	mostOfTodo = 300    // milliseconds for the largest page
)

// site is the Board of a product, reached over HTTP.
type site struct {
	*product
	board  *board.Board
	server *httptest.Server
	spans  *spans.Store
	limits *settings.Reader
}

func (s *server) newSite(ctx context.Context, name string, conns int32) (*site, error) {
	p, err := s.newProduct(ctx, name, conns)
	if err != nil {
		return nil, err
	}
	out := &site{product: p, server: httptest.NewUnstartedServer(nil), limits: settings.NewReader(p.Verbs, zap.NewNop())}
	out.spans = spans.NewStore(p.Verbs, out.limits)
	out.server.Start()
	out.board, err = board.New(board.Config{Identity: p.identity, Queue: p.queue, Spans: out.spans, Feed: feed.NewStore(p.Verbs), Settings: out.limits,
		Intake:  intake.NewStore(intake.Config{Pool: p.Verbs, Queue: p.queue, Settings: out.limits}),
		BaseURL: out.server.URL, LocalLogin: true, Log: zap.NewNop(),
		Health: func(context.Context) (time.Duration, error) { return time.Millisecond, nil }})
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	out.server.Config.Handler = out.board
	return out, nil
}

func (s *site) close() error {
	s.board.Close()
	s.server.Close()
	return s.Close()
}

// signIn returns a browser that is signed in as the owner.
func (s *site) signIn(ctx context.Context) (*http.Client, error) {
	token, err := s.identity.NewLoginLink(ctx, s.human)
	if err != nil {
		return nil, err
	}
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, err
	}
	c := &http.Client{Jar: jar}
	resp, err := c.Post(s.server.URL+"/login/"+token, "application/x-www-form-urlencoded", nil)
	if err != nil {
		return nil, err
	}
	return c, resp.Body.Close()
}

// get reads a page whole and returns its size.
func (s *site) get(ctx context.Context, c *http.Client, path string) (int64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL+path, nil)
	if err != nil {
		return 0, err
	}
	resp, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("%s answers %d", path, resp.StatusCode)
	}
	return io.Copy(io.Discard, resp.Body)
}

// timed runs an operation n times and returns its p95 in milliseconds.
func timed(n int, operation func() error) (float64, error) {
	latencies := make([]time.Duration, n)
	for i := range latencies {
		began := time.Now()
		if err := operation(); err != nil {
			return 0, err
		}
		latencies[i] = time.Since(began)
	}
	return milliseconds(p95(latencies)), nil
}

// benchPage is the second half of T11 and the page itself: a todo of 10,000 spans and 500 notes, its timeline, 500 of its
// spans as a waterfall, and all of it over HTTP.
func benchPage(ctx context.Context, srv *server, out *report) error {
	s, err := srv.newSite(ctx, "page", workers)
	if err != nil {
		return err
	}
	defer s.close()
	ep, err := s.vend(ctx, "page")
	if err != nil {
		return err
	}
	id, err := s.fillTodo(ctx, ep)
	if err != nil {
		return err
	}
	if err := srv.settle(ctx, s.name); err != nil {
		return err
	}
	last := 5
	for _, part := range []struct {
		id, what string
		read     func() error
	}{
		{"T11e", "timeline of 500", func() error {
			d, err := s.queue.HumanTodo(ctx, s.human, id)
			if err == nil && len(trail.Merge(nil, &d.Detail, d.Activity, 500, 0).Entries) == 0 {
				err = errors.New("the timeline is empty")
			}
			return err
		}},
		{"T11f", "waterfall of 500 of 10,000 spans", func() error {
			all, err := s.spans.ForTodo(ctx, s.human, id, &last, 500)
			if err == nil && len(trail.Layout(all, trail.Origin{}, 500).Rows) < 500 {
				err = errors.New("the waterfall is short")
			}
			return err
		}},
	} {
		took, err := timed(partReads, part.read)
		if err != nil {
			return err
		}
		out.figure(part.id, part.what+", p95", took, under(mostOfPage), fmt.Sprintf("%d reads", partReads))
	}
	c, err := s.signIn(ctx)
	if err != nil {
		return err
	}
	var size int64
	took, err := timed(pageReads, func() (err error) {
		size, err = s.get(ctx, c, "/todos/"+typeid.Todo.Format(id))
		return err
	})
	if err != nil {
		return err
	}
	out.figure("page", "page of a todo of 10,000 spans, p95", took, under(mostOfTodo), fmt.Sprintf("%d reads of %.2f MB", pageReads, float64(size)/1e6))
	return nil
}

// fillTodo makes a todo of five attempts of 2,000 spans with eight attributes of 40 bytes each, 500 notes and a payload
// of 64 KiB.
func (s *site) fillTodo(ctx context.Context, ep *identity.Endpoint) (uuid.UUID, error) {
	payload, err := json.Marshal(strings.Repeat("0123456789abcdef", 4090))
	if err != nil {
		return uuid.Nil, err
	}
	todo, _, err := s.queue.Push(ctx, s.human, queue.PushParams{Endpoint: ep, Title: "Ten thousand spans", Payload: payload})
	if err != nil {
		return uuid.Nil, err
	}
	id := todo.ID.UUID()
	attributes := []byte("{")
	for i := range 8 {
		attributes = fmt.Appendf(attributes, `"switchboard.attribute.%d":"%s",`, i, strings.Repeat("x", 40))
	}
	attributes[len(attributes)-1] = '}'
	for attempt := range 5 {
		if _, err := s.claim(ctx, ep); err != nil {
			return id, err
		}
		for range 100 {
			if err := s.heartbeat(ctx, ep, id, note()); err != nil {
				return id, err
			}
		}
		if err := s.storeSpans(ctx, ep, id, attempt+1, attributes); err != nil {
			return id, err
		}
		if attempt == 4 {
			break
		}
		if _, err := s.queue.Release(ctx, ep, id, queue.Report{}); err != nil {
			return id, err
		}
	}
	return id, nil
}

func (s *site) storeSpans(ctx context.Context, ep *identity.Endpoint, id uuid.UUID, attempt int, attributes []byte) error {
	began := time.Now().Truncate(time.Second)
	all := make([]spans.Span, 2000)
	for i := range all {
		start := began.Add(time.Duration(i) * time.Millisecond)
		all[i] = spans.Span{TodoID: id, AttemptSeq: attempt, TraceID: [16]byte{1, byte(attempt)}, SpanID: [8]byte{1, 6: byte(i >> 8), 7: byte(i)},
			Name: fmt.Sprintf("execute_tool bash %d", i), Kind: "internal", StatusCode: "unset", Category: []string{"reason", "tool", "net", "read"}[i%4],
			Attributes: attributes, StartAt: start, EndAt: start.Add(40 * time.Millisecond), ReceivedAt: began}
		if i%4 > 0 {
			all[i].ParentSpanID = [8]byte{1, 6: byte((i - 1) >> 8), 7: byte(i - 1)}
		}
	}
	for len(all) > 0 {
		if _, err := s.spans.Upsert(ctx, ep.ID, all[:500]); err != nil {
			return err
		}
		all = all[500:]
	}
	return nil
}

// benchLive is T10: what eight writers commit while sixteen pages follow what they write, beside what they commit
// while nobody looks.
func benchLive(ctx context.Context, srv *server, out *report) error {
	s, err := srv.newSite(ctx, "live", 16)
	if err != nil {
		return err
	}
	defer s.close()
	ep, err := s.vend(ctx, "live")
	if err != nil {
		return err
	}
	var ids []uuid.UUID
	var frames atomic.Int64
	round := func(followed bool) (float64, error) {
		if ids, err = s.freshTodos(ctx, ep); err != nil {
			return 0, err
		}
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		var tabs sync.WaitGroup
		defer tabs.Wait()
		defer stop()
		if followed {
			if err := s.openTabs(ctx, ids, &tabs, &frames); err != nil {
				return 0, err
			}
		}
		began := time.Now()
		err := s.beatAll(ctx, ep, ids)
		return liveBeats / time.Since(began).Seconds(), err
	}
	on, off, err := inTurn(func() (float64, error) { return round(true) }, func() (float64, error) { return round(false) })
	if err != nil {
		return err
	}
	if frames.Load() == 0 {
		return errors.New("the open pages were told nothing: the comparison is worth nothing")
	}
	same := func(rate float64) float64 { return rate }
	out.figure("T10", "commits with live updates on, of those with them off", medianRatio(on, off, same), atLeast(0.95),
		fmt.Sprintf("8 writers; %d open pages, %d frames; %.0f and %.0f a second", liveTabs, frames.Load(), medianOf(on, same), medianOf(off, same)))
	return nil
}

// freshTodos makes todos whose logs are empty, and claims them.
func (s *site) freshTodos(ctx context.Context, ep *identity.Endpoint) (ids []uuid.UUID, err error) {
	if err := s.fill(ctx, ep, liveTodos, issuePayload); err != nil {
		return nil, err
	}
	for range liveTodos {
		id, err := s.claim(ctx, ep)
		if err != nil {
			return nil, err
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// openTabs opens pages that follow some of the todos, the Board and the feed, and counts what they are sent.
func (s *site) openTabs(ctx context.Context, ids []uuid.UUID, tabs *sync.WaitGroup, frames *atomic.Int64) error {
	for range liveTabs / 4 {
		c, err := s.signIn(ctx)
		if err != nil {
			return err
		}
		for _, topic := range []string{"board", "activity", "todo:" + typeid.Todo.Format(ids[0]), "todo:" + typeid.Todo.Format(ids[1])} {
			r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.server.URL+"/events?topic="+topic, nil)
			if err != nil {
				return err
			}
			resp, err := c.Do(r)
			if err != nil {
				return err
			}
			// The first frame brings a page up to date; what follows is what is measured.
			first := bufio.NewReader(resp.Body)
			for line := "-"; line != "\n"; {
				if line, err = first.ReadString('\n'); err != nil {
					return err
				}
			}
			tabs.Go(func() {
				defer resp.Body.Close()
				for { // until the round ends
					line, err := first.ReadSlice('\n')
					if bytes.HasPrefix(line, []byte("event: changed")) {
						frames.Add(1)
					}
					if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
						return
					}
				}
			})
		}
	}
	return nil
}

// beatAll lets eight writers send heartbeats with notes, each to todos of its own.
func (s *site) beatAll(ctx context.Context, ep *identity.Endpoint, ids []uuid.UUID) error {
	const writers = 8
	var all sync.WaitGroup
	errs := make([]error, writers)
	for w := range writers {
		all.Go(func() {
			for i := range liveBeats / writers {
				if errs[w] = s.heartbeat(ctx, ep, ids[(w+writers*i)%len(ids)], note()); errs[w] != nil {
					return
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
