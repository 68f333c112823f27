package live_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/live"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// counter is a source whose versions a test moves.
type counter struct {
	n     atomic.Int64
	gone  atomic.Bool
	asked atomic.Int64
}

func (c *counter) version(context.Context, live.Topic) (string, error) {
	c.asked.Add(1)
	if c.gone.Load() {
		return "", live.ErrGone
	}
	return strconv.FormatInt(c.n.Load(), 10), nil
}

func hub(t *testing.T) (*live.Hub, *counter) {
	c := &counter{}
	h := live.NewHub(c.version, zap.NewNop())
	t.Cleanup(h.Close)
	return h, c
}

func follow(t *testing.T, h *live.Hub, name, session string) *live.Stream {
	t.Helper()
	s, _, err := h.Follow(t.Context(), live.Topic{Name: name}, session)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ended(s *live.Stream) bool {
	select {
	case <-s.Done():
		return true
	default:
		return false
	}
}

func TestHub_TellsTheNewestVersionAndNoneOfThoseBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := hub(t)
		slow := follow(t, h, "board", "a")
		for range 5 {
			c.n.Add(1)
			time.Sleep(time.Second)
			synctest.Wait()
		}
		if got := <-slow.Changed(); got != "5" {
			t.Errorf("a slow reader is told %s", got)
		}
		select {
		case v := <-slow.Changed():
			t.Errorf("and then %s", v)
		default:
		}
		h.Close()
	})
}

func TestHub_AsksOnceForATopicHoweverManyFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := hub(t)
		for i := range 20 {
			follow(t, h, "board", strconv.Itoa(i))
		}
		before := c.asked.Load()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if asked := c.asked.Load() - before; asked > 10 {
			t.Errorf("%d questions in ten seconds", asked)
		}
		h.Close()
	})
}

func TestHub_AsksNothingWhenNobodyFollows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := hub(t)
		follow(t, h, "board", "a").Close()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		before := c.asked.Load()
		time.Sleep(time.Minute)
		synctest.Wait()
		if c.asked.Load() != before {
			t.Error("the poll goes on")
		}
		s := follow(t, h, "board", "a")
		c.n.Add(1)
		if got := <-s.Changed(); got != "1" {
			t.Errorf("the next one is told %s", got)
		}
		h.Close()
	})
}

func TestHub_AFifthStreamOfASessionClosesItsOldest(t *testing.T) {
	h, _ := hub(t)
	other := follow(t, h, "board", "other")
	var mine []*live.Stream
	for range 5 {
		mine = append(mine, follow(t, h, "board", "mine"))
	}
	if !ended(mine[0]) || ended(mine[1]) || ended(other) {
		t.Error("not the oldest stream of the session, and it alone, was closed")
	}
	h.EndSession("mine")
	for i, s := range mine {
		if !ended(s) {
			t.Errorf("stream %d outlives its session", i)
		}
	}
	if ended(other) {
		t.Error("another session's stream was closed")
	}
}

func TestHub_EndsAStreamWhoseTopicIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, c := hub(t)
		s := follow(t, h, "todo", "a")
		c.gone.Store(true)
		<-s.Done()
		if _, _, err := h.Follow(t.Context(), live.Topic{Name: "todo"}, "a"); !errors.Is(err, live.ErrGone) {
			t.Errorf("a topic that is gone can be followed: %v", err)
		}
		h.Close()
	})
}

func TestHub_ClosesSoThatAServerCanDrain(t *testing.T) {
	h, _ := hub(t)
	s := follow(t, h, "board", "a")
	h.Close()
	if !ended(s) {
		t.Error("a stream outlives the hub")
	}
	if _, _, err := h.Follow(t.Context(), live.Topic{Name: "board"}, "a"); !errors.Is(err, live.ErrClosed) {
		t.Errorf("a closed hub takes streams: %v", err)
	}
}
