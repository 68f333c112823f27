package switchboardreceiver

import (
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/google/uuid"
)

type chunk [64 << 10]byte

var chunkPool = sync.Pool{New: func() any { return new(chunk) }}

// errTooManyBodies says that a body cannot be held beside the others.
var errTooManyBodies = errors.New("too many bodies are held")

// chunks hold a body while it arrives and while it waits. They are used again, so that a sender that stalls holds what
// it has sent and no more, and a body that is refused leaves no garbage, as a buffer that grows would.
type chunks struct {
	among *bodies
	of    uuid.UUID // the endpoint
	list  []*chunk
	size  int
}

// readFrom reads to the end. Of a body of more than limit bytes it reads one more, and returns an http.MaxBytesError.
func (c *chunks) readFrom(r io.Reader, limit int64) (err error) {
	r = io.LimitReader(r, limit+1)
	for err == nil {
		if c.size == len(c.list)*len(chunk{}) {
			if !c.among.hold(c.of, int64(len(chunk{})), limit+int64(len(chunk{}))) {
				return errTooManyBodies
			}
			c.list = append(c.list, chunkPool.Get().(*chunk))
		}
		var n int
		n, err = r.Read(c.list[len(c.list)-1][c.size%len(chunk{}):])
		c.size += n
	}
	switch {
	case err != io.EOF:
		return err
	case int64(c.size) > limit:
		return &http.MaxBytesError{Limit: limit}
	default:
		return nil
	}
}

// appendTo appends what was read to b.
func (c *chunks) appendTo(b []byte) []byte {
	left := c.size
	for _, piece := range c.list {
		n := min(left, len(piece))
		b = append(b, piece[:n]...)
		left -= n
	}
	return b
}

// release gives the chunks back, which must not be used after it.
func (c *chunks) release() {
	for _, piece := range c.list {
		chunkPool.Put(piece)
	}
	c.among.release(c.of, int64(len(c.list)*len(chunk{})))
	c.list, c.size = nil, 0
}
