package switchboardreceiver

import (
	"context"
	"time"

	"golang.org/x/sync/semaphore"
)

const (
	// decodedPerByte is how many bytes of memory a request may take for each byte that its body may have. Agents' spans
	// take up to nine. What takes more than sixteen is made of next to nothing: an empty span has two bytes in protobuf
	// and more than two hundred in memory.
	decodedPerByte = 16
	// decodedAtOnce is how many bytes all requests that are decoded or stored at one moment may take. One that takes more
	// by itself, as a raised otlp_max_request_bytes allows, takes all of it.
	decodedAtOnce = 64 << 20
	// roomWait is how long a request waits for others to end.
	roomWait = 5 * time.Second
)

// memory bounds what the requests in flight hold in memory, whatever they consist of and however long the database
// takes.
type memory struct{ room *semaphore.Weighted }

func newMemory() *memory { return &memory{room: semaphore.NewWeighted(decodedAtOnce)} }

// take waits for room, which free gives back. Without ok there was none in time.
func (m *memory) take(ctx context.Context, bytes int64) (free func(), ok bool) {
	ctx, cancel := context.WithTimeout(ctx, roomWait)
	defer cancel()
	bytes = min(bytes, decodedAtOnce)
	if m.room.Acquire(ctx, bytes) != nil {
		return nil, false
	}
	return func() { m.room.Release(bytes) }, true
}
