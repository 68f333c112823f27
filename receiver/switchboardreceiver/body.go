package switchboardreceiver

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// bodyTimeout is how long a body may take to arrive. It bounds how long a slow sender can hold up a shutdown.
const bodyTimeout = 30 * time.Second

// gzipReaders keeps decompressors, whose windows are the dearest allocation of a small request.
var gzipReaders = sync.Pool{New: func() any { return new(gzip.Reader) }}

// readBody reads the body into read, decompressed. It reads at most limit bytes from the wire and unpacks at most limit + 1,
// so that a bomb costs no more than an honest request (REQ-2). Content-Length is believed only when it is too large.
func readBody(w http.ResponseWriter, r *http.Request, read *chunks, compressed bool, limit int64) *refusal {
	if r.ContentLength > limit {
		return refusedSize
	}
	// A deadline that stayed would end the request's context while the pipeline works. A writer that cannot set one
	// has the server's own timeouts.
	connection := http.NewResponseController(w)
	_ = connection.SetReadDeadline(time.Now().Add(bodyTimeout))

	var body io.Reader = http.MaxBytesReader(w, r.Body, limit)
	if compressed {
		unpacked := gzipReaders.Get().(*gzip.Reader)
		defer gzipReaders.Put(unpacked)
		// Concatenated members are one stream (RFC 1952, 2.2); anything else after a member is an error.
		if err := unpacked.Reset(body); err != nil {
			return refusedBody(err)
		}
		body = unpacked
	}
	if err := read.readFrom(body, limit); err != nil {
		return refusedBody(err) // the deadline stays: the rest of a body that stalls is not waited for
	}
	_ = connection.SetReadDeadline(time.Time{})
	return nil
}

// refusedBody tells a body that is too large, or that comes at a bad moment, from one that is broken or ended early.
func refusedBody(err error) *refusal {
	if errors.Is(err, errTooManyBodies) {
		return refusedUnavailable
	}
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		return refusedSize
	}
	return refusedDecode
}
