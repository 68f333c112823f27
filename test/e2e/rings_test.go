package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// rings are the todos that a client is told of. They are read off the streams that the SDK opens, as they pass: it
// drops a notification that is not of the protocol itself.
type rings chan string

func (r rings) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(req)
	if err == nil && strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.TeeReader(res.Body, &passing{rings: r}), res.Body}
	}
	return res, err
}

// await wants a ring for a todo.
func (r rings) await(t *testing.T, todo string) {
	t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		select {
		case id := <-r:
			if id == todo {
				return
			}
		case <-deadline.C:
			t.Fatalf("nobody was rung for %s", todo)
		}
	}
}

// passing is the beginning of a line of a stream that is passing.
type passing struct {
	line  []byte
	rings rings
}

func (p *passing) Write(b []byte) (int, error) {
	p.line = append(p.line, b...)
	for {
		line, rest, whole := bytes.Cut(p.line, []byte("\n"))
		if !whole {
			return len(b), nil
		}
		p.line = rest
		var said struct {
			Method string
			Params struct{ Meta map[string]string }
		}
		data, ok := bytes.CutPrefix(line, []byte("data: "))
		if ok && json.Unmarshal(data, &said) == nil && said.Method == "notifications/claude/channel" {
			p.rings <- said.Params.Meta["todo_id"]
		}
	}
}
