package mcpserver

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/switchboard-otel/switchboard/app/doorbell"
	"github.com/switchboard-otel/switchboard/app/gate"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/live"
)

// sessionHeader names a session. It matters to the doorbell alone: one session is rung once, and a session that
// comes back moves to its new stream. Calls are served whatever it says, on any replica.
const sessionHeader = "Mcp-Session-Id"

// comeBackAfter is what a client is told to wait before it opens its stream again. The TypeScript SDK tries twice, by
// itself within two and a half seconds, and then never again: so it tries long enough for a restart of this server.
const comeBackAfter = 5 * time.Second

// envelope is what must be known of a call before it is served.
type envelope struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Notifications struct{ ToolsListChanged bool }
	}
}

// endSession ends the streams of a session, of which nothing else is kept.
func (s *server) endSession(w http.ResponseWriter, r *http.Request, endpoint *identity.Endpoint) {
	if session := r.Header.Get(sessionHeader); session != "" {
		s.Bell.EndSession(endpoint.ID, session)
	}
	w.WriteHeader(http.StatusNoContent)
}

// startSession names the session that a client's first call starts. The client sends the name along from then on.
func startSession(w http.ResponseWriter) { w.Header().Set(sessionHeader, rand.Text()) }

// listen is the stream on which the doorbell rings: server-sent events, each a JSON-RPC message. Clients open it
// with GET, or, since the protocol's version 2026-07-28, with a call of subscriptions/listen, which is then named
// on each message. It lives as long as the credential that opened it: the bell sees to that.
func (s *server) listen(w http.ResponseWriter, r *http.Request, endpoint *identity.Endpoint, call *envelope) {
	listener := s.Bell.Listen(endpoint, gate.Bearer(r.Header), r.Header.Get(sessionHeader))
	if listener == nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the server is stopping; come again", http.StatusServiceUnavailable)
		return
	}
	defer listener.Close()
	events := live.NewEvents(w)
	err := events.Retry(comeBackAfter)
	if call != nil {
		err = errors.Join(err, events.Send("message", "", call.acknowledged()))
	}
	alive := time.NewTicker(live.KeepAlive)
	defer alive.Stop()
	for err == nil {
		select {
		case <-r.Context().Done():
			return
		case <-listener.Done():
			if call != nil {
				_ = events.Send("message", "", call.ended()) // the stream ends in any case
			}
			return
		case signal := <-listener.Signals():
			if text := call.notification(signal); text != "" {
				err = events.Send("message", "", text)
			}
		case <-alive.C:
			err = events.Ping()
		}
	}
}

// message is a JSON-RPC message that we send.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  map[string]any  `json:"params,omitempty"`
	Result  map[string]any  `json:"result,omitempty"`
}

func (m message) text() string {
	m.Version = "2.0"
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // strings, and an id that was JSON when it came
	}
	return string(text)
}

// meta names the call on what is sent in answer to it.
func (e *envelope) meta(of map[string]any) map[string]any {
	if e != nil {
		of["_meta"] = map[string]any{mcp.MetaKeySubscriptionID: e.ID}
	}
	return of
}

func (e *envelope) acknowledged() string {
	agreed := map[string]any{}
	if e.Params.Notifications.ToolsListChanged {
		agreed["toolsListChanged"] = true
	}
	return message{Method: "notifications/subscriptions/acknowledged", Params: e.meta(map[string]any{"notifications": agreed})}.text()
}

func (e *envelope) ended() string {
	return message{ID: e.ID, Result: e.meta(map[string]any{"resultType": "complete"})}.text()
}

// notification says a signal. It never carries a payload or a lease: whoever hears it claims. It is empty for what
// a call has not subscribed to.
func (e *envelope) notification(s doorbell.Signal) string {
	r := s.Todo
	if r == nil {
		if e != nil && !e.Params.Notifications.ToolsListChanged {
			return ""
		}
		return message{Method: "notifications/tools/list_changed", Params: e.meta(map[string]any{})}.text()
	}
	about := map[string]string{"todo_id": r.ID.String(), "queue": r.Queue, "source": r.Source}
	if r.Kind != nil {
		about["kind"] = *r.Kind
	}
	return message{Method: "notifications/claude/channel", Params: e.meta(map[string]any{
		"content": "a todo is ready in queue " + r.Queue + ": call claim_next", "meta": about})}.text()
}
