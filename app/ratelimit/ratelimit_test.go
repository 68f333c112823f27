package ratelimit

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestLimiter_PassesTheBurstThenTheRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(20, 40)
		for i := range 40 {
			if ok, _ := l.Allow("a"); !ok {
				t.Fatalf("call %d of a burst of 40 was refused", i+1)
			}
		}
		if ok, retryAfter := l.Allow("a"); ok || retryAfter != 1 {
			t.Fatalf("after the burst: ok=%v retryAfter=%d, want a refusal for 1 second", ok, retryAfter)
		}
		time.Sleep(time.Second)
		passed := 0
		for range 100 {
			if ok, _ := l.Allow("a"); ok {
				passed++
			}
		}
		if passed != 20 {
			t.Fatalf("%d calls passed a second later, want 20", passed)
		}
	})
}

func TestLimiter_KeysDoNotSpendEachOthersTokens(t *testing.T) {
	l := New(0.001, 1)
	for _, key := range []string{"a", "b", "c"} {
		if ok, _ := l.Allow(key); !ok {
			t.Fatalf("the first call of %q was refused", key)
		}
	}
}

func TestLimiter_RetryAfterIsWholeSecondsFromOneToFive(t *testing.T) {
	for _, tc := range []struct {
		perSecond float64
		want      int
	}{{1000, 1}, {1, 1}, {0.5, 2}, {0.3, 4}, {0.2, 5}, {0.01, 5}, {0, 5}} {
		t.Run(fmt.Sprint(tc.perSecond), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := New(tc.perSecond, 1)
				l.Allow("a")
				if ok, retryAfter := l.Allow("a"); ok || retryAfter != tc.want {
					t.Fatalf("ok=%v retryAfter=%d, want a refusal for %d seconds", ok, retryAfter, tc.want)
				}
			})
		})
	}
}

func TestLimiter_ARefusedCallerThatHammersStillPassesInItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1, 1)
		l.Allow("a")
		for range 1000 {
			l.Allow("a")
		}
		time.Sleep(time.Second)
		if ok, _ := l.Allow("a"); !ok {
			t.Fatal("refused although a second has passed")
		}
	})
}

func TestLimiter_ABurstIsNeverExceededConcurrently(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(1, 40)
		var passed atomic.Int32
		var callers sync.WaitGroup
		for range 8 {
			callers.Go(func() {
				for range 50 {
					if ok, _ := l.Allow("a"); ok {
						passed.Add(1)
					}
				}
			})
		}
		callers.Wait()
		if passed.Load() != 40 {
			t.Fatalf("%d calls passed, want 40", passed.Load())
		}
	})
}
