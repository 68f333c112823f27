// Package ratelimit slows down callers one by one: an address before it has authenticated, an endpoint after.
package ratelimit

import (
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// The bounds of Retry-After in seconds. Several exporters give up at once on more than ten, and hammer on
// nought (decisions.md 10).
const (
	minRetryAfter = 1
	maxRetryAfter = 5
)

// maxKeys bounds the memory of one limiter to some megabytes. The caller that was quiet for longest is forgotten
// first; its bucket was full again anyway, unless this many others came within that time.
const maxKeys = 1 << 16

// Limiter is a token bucket for each key. It is safe for concurrent use and needs no Close.
type Limiter struct {
	perSecond rate.Limit
	burst     int
	buckets   *lru.Cache[string, *rate.Limiter]
}

// New returns a limiter that lets each key pass perSecond times a second, and burst times at once after a quiet
// while. perSecond must be above nought and burst at least 1, or nothing passes for long.
func New(perSecond float64, burst int) *Limiter {
	buckets, err := lru.New[string, *rate.Limiter](maxKeys)
	if err != nil {
		panic(err) // only a size below 1 is refused
	}
	return &Limiter{perSecond: rate.Limit(perSecond), burst: burst, buckets: buckets}
}

// Allow reports whether key may pass now, and spends one of its tokens if so. Otherwise retryAfter is the value
// of Retry-After: whole seconds, 1 to 5. A refused caller spends nothing, or one that hammers would never pass
// again.
func (l *Limiter) Allow(key string) (ok bool, retryAfter int) {
	now := time.Now()
	wish := l.bucket(key).ReserveN(now, 1)
	wait := wish.DelayFrom(now)
	if wish.OK() && wait == 0 {
		return true, 0
	}
	wish.CancelAt(now)
	return false, wholeSeconds(wait)
}

func (l *Limiter) bucket(key string) *rate.Limiter {
	if b, ok := l.buckets.Get(key); ok {
		return b
	}
	fresh := rate.NewLimiter(l.perSecond, l.burst)
	if b, raced, _ := l.buckets.PeekOrAdd(key, fresh); raced {
		return b
	}
	return fresh
}

func wholeSeconds(wait time.Duration) int {
	if wait > maxRetryAfter*time.Second {
		return maxRetryAfter
	}
	return max(minRetryAfter, int((wait+time.Second-1)/time.Second))
}
