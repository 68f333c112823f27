package board

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/live"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/typeid"
)

// The topics of streams (board.md section 3). Their names are the ones in a stream's address.
const (
	topicBoard    = "board"
	topicActivity = "activity"
	topicTodo     = "todo:" // and the id
)

func todoTopic(id uuid.UUID) string { return topicTodo + typeid.Todo.Format(id) }

// streamAddress is where a page listens. It says what the page shows and how it is looked at, so that the first
// frame holds exactly what has changed since it was rendered.
func streamAddress(topic, version string, looked url.Values) string {
	q := url.Values{"topic": {topic}, "since": {version}}
	for name, values := range looked {
		q[name] = values
	}
	return "/events?" + q.Encode()
}

// version is the source of the live streams.
func (b *board) version(ctx context.Context, t live.Topic) (string, error) {
	head, err := b.Feed.Head(ctx, t.Human)
	if err != nil {
		return "", err
	}
	s := stamps{}
	name, filter, _ := strings.Cut(t.Name, "?")
	switch id, isTodo := strings.CutPrefix(name, topicTodo); {
	case isTodo:
		todo, ok := typeid.Todo.Parse(id)
		if !ok {
			return "", live.ErrGone
		}
		pulse, err := b.Queue.Pulse(ctx, t.Human, todo)
		if errors.Is(err, fault.ErrTodoNotFound) {
			return "", live.ErrGone
		}
		if err != nil {
			return "", err
		}
		s = stampsOf(pulse)
	case name == topicBoard:
		if s[partLanes], err = b.lanesVersion(ctx, t.Human, filter); err != nil {
			return "", err
		}
	}
	s[partFeed] = head
	return s.String(), nil
}

func (b *board) lanesVersion(ctx context.Context, human uuid.UUID, filter string) (string, error) {
	q, err := url.ParseQuery(filter)
	if err != nil {
		return "", err
	}
	deliveries, err := b.received(ctx, human, b.now())
	if err != nil {
		return "", err
	}
	newest := (&lanesView{Received: deliveries}).newest()
	f := queue.LaneFilter{Queue: q.Get("queue")}
	if slug := q.Get("endpoint"); slug != "" {
		e, err := b.Identity.Endpoint(ctx, human, slug)
		if errors.Is(err, fault.ErrEndpointNotFound) {
			return lanesStamp(&queue.Lanes{}, newest), nil
		}
		if err != nil {
			return "", err
		}
		f.Endpoint = e.ID
	}
	lanes, err := b.Queue.Lanes(ctx, human, f)
	if err != nil {
		return "", err
	}
	return lanesStamp(lanes, newest), nil
}

// todoGone makes the one answer of it, whatever a topic's todo is missing for.
func todoGone(err error) error {
	if errors.Is(err, live.ErrGone) {
		return fault.ErrTodoNotFound
	}
	return err
}

// stream sends what changes on a page while it is open. A foreign or unknown topic is answered before the stream
// opens, like the page itself.
func (b *board) stream(w http.ResponseWriter, r *http.Request, v viewer) error {
	q := r.URL.Query()
	topic := live.Topic{Human: v.human.ID, Name: q.Get("topic")}
	switch {
	case topic.Name == topicBoard:
		topic.Name += "?" + (&lanesView{Queue: q.Get("queue"), Endpoint: q.Get("endpoint")}).values().Encode()
	case topic.Name == topicActivity, strings.HasPrefix(topic.Name, topicTodo):
	default:
		b.show(w, r, v, unknownPage)
		return nil
	}
	session := b.sessionID(r.Context())
	follow, version, err := b.live.Follow(r.Context(), topic, session)
	if errors.Is(err, live.ErrClosed) {
		return fault.ErrUnavailable
	}
	if err != nil {
		return todoGone(err)
	}
	defer follow.Close()
	s := sender{b: b, stream: follow, page: livePage{topic: topic.Name, looked: q}, form: v.form,
		shown: cmp.Or(r.Header.Get("Last-Event-ID"), q.Get("since")), events: live.NewEvents(w)}
	s.page.viewer = viewer{human: v.human, form: b.formMark}
	if err := s.send(r.Context(), version); err != nil {
		b.Log.Debug("a stream ended with its first frame", postgres.Field(err))
		return nil
	}
	s.follow(r.Context(), session)
	return nil
}

// sender is one open stream: what its page shows, and how to say what has changed since.
type sender struct {
	b      *board
	stream *live.Stream
	page   livePage
	form   string // the token of the session's forms
	shown  string
	events *live.Events
}

func (s *sender) follow(ctx context.Context, session string) {
	quiet := time.NewTicker(live.KeepAlive)
	defer quiet.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case <-s.stream.Done():
			return
		case version := <-s.stream.Changed():
			err = s.send(ctx, version)
		case <-quiet.C:
			if !s.b.signedInStill(ctx, session) {
				return
			}
			err = s.events.Ping()
		}
		if err != nil {
			s.b.Log.Debug("a stream ended", postgres.Field(err))
			return
		}
	}
}

// signedInStill asks whether a session was ended meanwhile, on any replica. Without an answer it counts as there.
func (b *board) signedInStill(ctx context.Context, session string) bool {
	_, found, err := b.sessions.Store.(scs.CtxStore).FindCtx(ctx, session)
	return found || err != nil
}

// send writes a frame with the parts that differ, and the version that the page shows with them.
func (s *sender) send(ctx context.Context, version string) error {
	if version == s.shown {
		return s.events.Send("same", version, "")
	}
	html, err := s.stream.Frame(ctx, s.page.key(version, s.shown), func() (string, error) {
		// Others wait for this frame, too: it does not end with the page that asked first.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), frameWait)
		defer cancel()
		parts, err := s.b.frame(ctx, s.page, parseStamps(version), parseStamps(s.shown))
		if err != nil {
			return "", err
		}
		return outOfBand(ctx, parts...)
	})
	if err != nil {
		return err
	}
	s.shown = version
	return s.events.Send("changed", version, strings.ReplaceAll(html, s.b.formMark, s.form))
}
