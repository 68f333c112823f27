package spans

import (
	"testing"
	"time"

	"github.com/google/uuid"
)

// What is remembered is asked for again, so that a todo that is gone is not believed in for ever.
func TestMintedCache_ForgetsAfterAMinute(t *testing.T) {
	now := time.Date(2026, 9, 27, 12, 0, 0, 0, time.UTC)
	c := newMintedCache()
	c.now = func() time.Time { return now }
	endpoint, trace := uuid.UUID{1}, [16]byte{2}
	c.remember(endpoint, trace, MintedAttempt{TodoID: uuid.UUID{3}, Seq: 4})
	for _, want := range []bool{true, true, false} {
		if a, ok := c.find(endpoint, trace); ok != want || ok && a.Seq != 4 {
			t.Errorf("at %s: %+v, %v", now.Format(time.TimeOnly), a, ok)
		}
		now = now.Add(mintedFor/2 + time.Nanosecond) // a look does not make it last longer
	}
}
