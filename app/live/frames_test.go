package live_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/switchboard-otel/switchboard/app/live"
)

// A human who has a page open in many places pays for its frame once.
func TestFrame_IsMadeOnceForAllStreamsThatWaitForTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := hub(t)
		var made atomic.Int64
		var all sync.WaitGroup
		ask := func(s *live.Stream, key, want string) {
			all.Go(func() {
				got, err := s.Frame(t.Context(), key, func() (string, error) {
					made.Add(1)
					time.Sleep(100 * time.Millisecond) // so that all the others come meanwhile
					return want, nil
				})
				if got != want || err != nil {
					t.Errorf("%q, %v; want %q", got, err, want)
				}
			})
		}
		for i := range 20 {
			s := follow(t, h, "board", strconv.Itoa(i))
			ask(s, "v1 v0", "what changed")
			ask(s, "v1 -", "all of it")
		}
		ask(follow(t, h, "activity", "a"), "v1 v0", "the feed")
		all.Wait()
		if n := made.Load(); n != 3 {
			t.Errorf("three frames were made %d times", n)
		}
		h.Close()
	})
}

// What is kept is bounded by time: the next poll lets go of it.
func TestFrame_IsKeptUntilTheNextPoll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := hub(t)
		s := follow(t, h, "board", "a")
		made := 0
		get := func() {
			_, _ = s.Frame(t.Context(), "v1 v0", func() (string, error) { made++; return "", nil })
		}
		get()
		get()
		time.Sleep(time.Second)
		synctest.Wait()
		get()
		if made != 2 {
			t.Errorf("made %d times in two seconds", made)
		}
		h.Close()
	})
}

func TestFrame_AFailureIsTheAnswerOfThoseWhoWaitAndOfNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, _ := hub(t)
		s := follow(t, h, "board", "a")
		failed := errors.New("the database does not answer")
		fail := func() (string, error) {
			time.Sleep(100 * time.Millisecond)
			return "", failed
		}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if _, err := s.Frame(t.Context(), "v1 v0", fail); !errors.Is(err, failed) {
					t.Errorf("one who waited is told %v", err)
				}
			})
		}
		gone, leave := context.WithCancel(t.Context())
		synctest.Wait()
		leave()
		if _, err := s.Frame(gone, "v1 v0", fail); !errors.Is(err, context.Canceled) {
			t.Errorf("one who left is told %v", err)
		}
		all.Wait()
		if got, err := s.Frame(t.Context(), "v1 v0", func() (string, error) { return "made", nil }); got != "made" || err != nil {
			t.Errorf("the next one gets %q, %v", got, err)
		}
		h.Close()
	})
}
