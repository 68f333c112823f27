package switchboardreceiver

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/semaphore"
)

const (
	// decodedPerByte is how many bytes of memory a request may take for each byte that its body may have. Agents' spans
	// take up to five. What takes more than eight is made of next to nothing: an empty span has two bytes in protobuf
	// and more than two hundred in memory.
	decodedPerByte = 8
	// decodedAtOnce is how many bytes all requests that are decoded or stored at one moment may take. One that takes more
	// by itself, as a raised otlp_max_request_bytes allows, takes all of it.
	decodedAtOnce = 48 << 20
	// patience is how long a request waits for others to end.
	patience = 5 * time.Second
)

// memory bounds what the requests in flight hold in memory, whatever they consist of, however slowly they come and
// however long the database takes. A request's body is among the bodies until it has a desk, where it lies in one piece
// to be weighed and decoded; then it needs room for what it becomes. Nobody who has room waits for a desk.
type memory struct {
	bodies bodies
	desks  *semaphore.Weighted
	room   *semaphore.Weighted
}

func newMemory() *memory {
	return &memory{
		bodies: bodies{of: map[uuid.UUID]int64{}},
		desks:  semaphore.NewWeighted(int64(2 * runtime.GOMAXPROCS(0))),
		room:   semaphore.NewWeighted(decodedAtOnce),
	}
}

// sheets are what lies on a desk: bodies in one piece. The decoder copies what it keeps.
var sheets = sync.Pool{New: func() any { return new([]byte) }}

// desk waits for a desk and puts the body on it, whose chunks are released. leave gives it back. Without ok there was none
// in time.
func (m *memory) desk(ctx context.Context, received *chunks) (body []byte, leave func(), ok bool) {
	defer received.release()
	free, ok := acquire(ctx, m.desks, 1)
	if !ok {
		return nil, nil, false
	}
	sheet := sheets.Get().(*[]byte)
	*sheet = received.appendTo((*sheet)[:0])
	return *sheet, func() { sheets.Put(sheet); free() }, true
}

// take waits for room. free gives it back.
func (m *memory) take(ctx context.Context, bytes int64) (free func(), ok bool) {
	return acquire(ctx, m.room, min(bytes, decodedAtOnce))
}

func acquire(ctx context.Context, of *semaphore.Weighted, n int64) (release func(), ok bool) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if of.Acquire(ctx, n) != nil {
		return nil, false
	}
	return func() { of.Release(n) }, true
}
