package live

import (
	"bytes"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	// KeepAlive is how often a quiet stream says something, so that no proxy takes it for dead.
	KeepAlive = 15 * time.Second
	// writeWait is how long a reader may take for one frame. A slower one is dropped and catches up by its version.
	writeWait = 10 * time.Second
)

// Events writes server-sent events.
type Events struct {
	w  http.ResponseWriter
	rc *http.ResponseController
}

// NewEvents begins a stream of events.
func NewEvents(w http.ResponseWriter) *Events {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	w.WriteHeader(http.StatusOK)
	return &Events{w, http.NewResponseController(w)}
}

// Send writes one event with the version that its reader will show, if there is one. An event without data tells
// the version alone.
func (e *Events) Send(event, version, data string) error {
	var b bytes.Buffer
	b.WriteString("event: " + event + "\n")
	if version != "" {
		b.WriteString("id: " + version + "\n")
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(data, "\r", ""), "\n") {
		b.WriteString("data: " + line + "\n")
	}
	b.WriteString("\n")
	return e.write(b.Bytes())
}

// Retry tells the reader how long to wait before it comes back after the stream has ended.
func (e *Events) Retry(after time.Duration) error {
	return e.write([]byte("retry: " + strconv.FormatInt(after.Milliseconds(), 10) + "\n\n"))
}

// Ping writes a comment, which readers ignore.
func (e *Events) Ping() error { return e.write([]byte(": still here\n\n")) }

func (e *Events) write(b []byte) error {
	if err := e.rc.SetWriteDeadline(time.Now().Add(writeWait)); err != nil {
		return err
	}
	if _, err := e.w.Write(b); err != nil {
		return err
	}
	return e.rc.Flush()
}
