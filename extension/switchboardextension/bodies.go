package switchboardextension

import (
	"io"
	"net/http"
	"time"
)

// A body that does not come holds a connection, and with it the end of the process, for as long as its
// sender likes. bodyTime is how long a body may take once somebody reads it; bodyRest how long the server
// waits for the rest of one that nobody wanted.
const (
	bodyTime = 30 * time.Second
	bodyRest = 2 * time.Second
)

// boundBodies sets these deadlines on each request. A deadline for the whole connection would not do: it
// would also end requests whose answer takes its time, such as a claim that waits for work.
func boundBodies(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength == 0 {
			next.ServeHTTP(w, r)
			return
		}
		body := &timedBody{ReadCloser: r.Body, connection: http.NewResponseController(w)}
		r.Body = body
		next.ServeHTTP(w, r)
		if !body.ended {
			_ = body.connection.SetReadDeadline(time.Now().Add(bodyRest))
		}
	})
}

type timedBody struct {
	io.ReadCloser
	connection   *http.ResponseController
	begun, ended bool
}

func (b *timedBody) Read(p []byte) (int, error) {
	if !b.begun {
		b.begun = true
		_ = b.connection.SetReadDeadline(time.Now().Add(bodyTime))
	}
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		b.ended = true
		_ = b.connection.SetReadDeadline(time.Time{})
	}
	return n, err
}
