package mcpserver_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/doorbell"
	"github.com/switchboard-otel/switchboard/app/identity"
)

// stream is one open stream, as a client without an SDK sees it.
type stream struct {
	lines *bufio.Scanner
	body  io.Closer
}

func (b *bundle) listen(t *testing.T, v *identity.Vended, session string) *stream {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // a stream that says nothing fails the test
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.url+"/mcp/"+v.Slug, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+v.Token)
	req.Header.Set("Accept", "text/event-stream")
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%s %s", res.Status, res.Header.Get("Content-Type"))
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	s := &stream{bufio.NewScanner(res.Body), res.Body}
	// A client comes back when the server has been restarted.
	if !s.lines.Scan() || s.lines.Text() != "retry: 5000" {
		t.Fatalf("a stream begins with %q", s.lines.Text())
	}
	return s
}

type rung struct {
	Version string `json:"jsonrpc"`
	Method  string
	Params  struct {
		Content string
		Meta    map[string]string
	}
}

// next waits for a notification. ok is false when the stream has ended.
func (s *stream) next(t *testing.T) (n rung, ok bool) {
	t.Helper()
	for s.lines.Scan() {
		if data, is := strings.CutPrefix(s.lines.Text(), "data: "); is {
			if err := json.Unmarshal([]byte(data), &n); err != nil {
				t.Fatal(err)
			}
			return n, true
		}
	}
	return n, false
}

func TestDoorbell_RingsWhenATodoIsReady(t *testing.T) {
	b := setup(t)
	s := b.listen(t, b.vended, "a")
	id := b.push(t, "a title that its source wrote")
	n, ok := s.next(t)
	if !ok || n.Version != "2.0" || n.Method != "notifications/claude/channel" || n.Params.Content != "a todo is ready in queue default: call claim_next" {
		t.Fatalf("%+v", n)
	}
	if m := n.Params.Meta; len(m) != 3 || m["todo_id"] != id || m["queue"] != "default" || m["source"] != "operator" {
		t.Errorf("meta %v", m)
	}
}

func TestDoorbell_OneSessionIsRungForATodoRoundRobin(t *testing.T) {
	b := setup(t)
	streams := []*stream{b.listen(t, b.vended, "a"), b.listen(t, b.vended, "b")}
	want := map[string]bool{}
	for range 4 {
		want[b.push(t, "one of four")] = true
	}
	for _, s := range streams {
		for range 2 {
			n, ok := s.next(t)
			if !ok || !want[n.Params.Meta["todo_id"]] {
				t.Fatalf("%+v", n)
			}
			delete(want, n.Params.Meta["todo_id"])
		}
	}
}

func TestDoorbell_RingsOnWhicheverReplicaHasTheStream(t *testing.T) {
	b := setup(t)
	other := doorbell.New(b.queue, b.identity, zap.NewNop())
	t.Cleanup(other.Close)
	elsewhere := b.vend(t, identity.VendParams{Name: "another bot"})
	if other.Listen(&elsewhere.Endpoint, elsewhere.Token, "") == nil {
		t.Fatal("the other replica lets nobody listen")
	}
	s := b.listen(t, b.vended, "a")
	id := b.push(t, "pushed anywhere")
	if n, ok := s.next(t); !ok || n.Params.Meta["todo_id"] != id {
		t.Fatalf("%+v", n)
	}
}

func TestDoorbell_ASessionThatComesBackMovesToItsNewStream(t *testing.T) {
	b := setup(t)
	first := b.listen(t, b.vended, "a")
	second := b.listen(t, b.vended, "a")
	if n, ok := first.next(t); ok {
		t.Errorf("the first stream is told of %v", n)
	}
	id := b.push(t, "a todo")
	if n, _ := second.next(t); n.Params.Meta["todo_id"] != id {
		t.Errorf("%+v", n)
	}
}

func TestDoorbell_EndsWithItsSession(t *testing.T) {
	b := setup(t)
	s := b.listen(t, b.vended, "a")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, b.url+"/mcp/"+b.vended.Slug, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.vended.Token)
	req.Header.Set("Mcp-Session-Id", "a")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusNoContent {
		t.Errorf("%s", res.Status)
	}
	if n, ok := s.next(t); ok {
		t.Errorf("told of %+v", n)
	}
}

func TestDoorbell_EndsWhenTheProcessStops(t *testing.T) {
	b := setup(t)
	s := b.listen(t, b.vended, "a")
	b.bell.Close()
	if _, ok := s.next(t); ok {
		t.Error("the stream goes on")
	}
}

// Versions before 2026-07-28 have sessions and a stream opened with GET; since then the client calls
// subscriptions/listen.
func TestDoorbell_TheOfficialClientHearsThatDefaultsHaveChanged(t *testing.T) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			b := setup(t)
			changed := make(chan struct{}, 16)
			client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
				ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { changed <- struct{}{} },
			})
			session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: b.url + "/mcp/" + b.vended.Slug,
				HTTPClient: &http.Client{Transport: headers{http.DefaultTransport, map[string]string{"Authorization": "Bearer " + b.vended.Token}}},
			}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = session.Close() })
			if got := session.InitializeResult().ProtocolVersion; got != version {
				t.Fatalf("the session speaks %s", got)
			}
			ttl := 600
			if _, err := b.identity.SetDefaultLease(t.Context(), b.vended.ID, &ttl); err != nil {
				t.Fatal(err)
			}
			select {
			case <-changed:
			case <-time.After(time.Minute):
				t.Fatal("the client was not told")
			}
		})
	}
}

func TestDoorbell_ASubscriptionIsNamedOnWhatItHears(t *testing.T) {
	b := setup(t)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, b.url+"/mcp/"+b.vended.Slug, strings.NewReader(
		`{"jsonrpc":"2.0","id":"s-1","method":"subscriptions/listen","params":{"notifications":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+b.vended.Token)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	id := b.push(t, "a todo")
	lines := bufio.NewScanner(res.Body)
	var got []string
	for len(got) < 3 && lines.Scan() {
		if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
			if got = append(got, data); len(got) == 2 {
				b.bell.Close()
			}
		}
	}
	meta := `"_meta":{"io.modelcontextprotocol/subscriptionId":"s-1"}`
	want := []string{
		`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{` + meta + `,"notifications":{}}}`,
		`{"jsonrpc":"2.0","method":"notifications/claude/channel","params":{` + meta +
			`,"content":"a todo is ready in queue default: call claim_next","meta":{"queue":"default","source":"operator","todo_id":"` + id + `"}}}`,
		`{"jsonrpc":"2.0","id":"s-1","result":{` + meta + `,"resultType":"complete"}}`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

func TestDoorbell_ASlowListenerIsDroppedAndHoldsNobodyUp(t *testing.T) {
	b := setup(t)
	slow := b.bell.Listen(&b.vended.Endpoint, b.vended.Token, "slow")
	for range 50 {
		b.push(t, "one of many")
	}
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for look := time.NewTicker(10 * time.Millisecond); len(slow.Signals()) < 50; {
		select {
		case <-look.C:
		case <-deadline.C:
			t.Fatalf("rung %d times", len(slow.Signals()))
		}
	}
	b.Advance(t, 5*time.Minute) // each is rung again: more than a listener may be behind
	select {
	case <-slow.Done():
	case <-deadline.C:
		t.Fatal("it is kept")
	}
}
