package e2e

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// replicas are two processes on one database, behind a proxy that sends every request to the next.
type replicas struct {
	*external
	one, two *collector
	proxy    string
	served   [2]atomic.Int32
}

func startReplicas(t *testing.T) *replicas {
	t.Helper()
	r := &replicas{external: newExternal(t)}
	r.one, r.two = start(t, withEnv("SWITCHBOARD_DATABASE_URL="+r.url)), start(t, withEnv("SWITCHBOARD_DATABASE_URL="+r.url))
	var turn atomic.Int32
	srv := httptest.NewServer(&httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(p *httputil.ProxyRequest) {
		i := int(turn.Add(1)) % 2
		r.served[i].Add(1)
		to, err := url.Parse([]string{r.one.url, r.two.url}[i])
		if err != nil {
			panic(err)
		}
		p.SetURL(to)
	}})
	t.Cleanup(srv.Close)
	r.proxy = srv.URL
	return r
}

// open opens a stream of events.
func open(t *testing.T, address string, headers ...string) *events {
	t.Helper()
	return openWith(t, http.DefaultClient, address, headers...)
}

func openWith(t *testing.T, client *http.Client, address string, headers ...string) *events {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s answers %s", address, res.Status)
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 4<<20)
	return &events{t: t, lines: lines, close: cancel}
}

type events struct {
	t     *testing.T
	lines *bufio.Scanner
	id    string
	close func()
}

// until reads on until a line of data has the text.
func (e *events) until(text string) string {
	e.t.Helper()
	for e.lines.Scan() {
		line := e.lines.Text()
		if id, ok := strings.CutPrefix(line, "id: "); ok {
			e.id = id
		}
		if strings.Contains(line, text) {
			return line
		}
	}
	e.t.Fatalf("the stream ended without %q: %v", text, e.lines.Err())
	return ""
}

// ends reads on until the server ends the stream.
func (e *events) ends() {
	e.t.Helper()
	for e.lines.Scan() {
	}
	if err := e.lines.Err(); err != nil {
		e.t.Errorf("the stream broke off: %v", err)
	}
}

func TestReplicas_BehindARoundRobinProxyAreOneSwitchboard(t *testing.T) {
	t.Parallel()
	r := startReplicas(t)
	v := r.vend(r.one, r.one)
	v.MCPURL = r.proxy + "/mcp/" + v.Slug
	id := r.push(v, "work it on either")
	s := agent(t, v)
	must[claimed](t, s, "claim_next", nil)
	for range 6 { // on either replica, by one session
		must[map[string]any](t, s, "heartbeat", map[string]any{"id": id})
	}
	for i := range r.served {
		if r.served[i].Load() == 0 {
			t.Errorf("replica %d served nothing", i+1)
		}
	}

	link, err := r.identity.NewLoginLink(t.Context(), r.owner.ID)
	if err != nil {
		t.Fatal(err)
	}
	cookie := r.one.signIn(r.one.url + "/login/" + link)
	page := "/events?topic=todo:" + id
	first := open(t, r.one.url+page, "Cookie", cookie)
	first.until("id: ")
	first.close()
	must[map[string]any](t, s, "heartbeat", map[string]any{"id": id, "note": "said while nobody looked"})
	open(t, r.two.url+page, "Cookie", cookie, "Last-Event-ID", first.id).until("said while nobody looked")

	// Signing out at the second one ends the session at the first.
	settings := request(t, http.MethodGet, r.two.url+"/settings", nil, "Cookie", cookie)
	form := url.Values{"form": {between(t, settings.body, `name="form" value="`, `"`)}}.Encode()
	request(t, http.MethodPost, r.two.url+"/logout", []byte(form), "Cookie", cookie, "Content-Type", "application/x-www-form-urlencoded")
	if got := request(t, http.MethodGet, r.one.url+"/settings", nil, "Cookie", cookie); !strings.Contains(got.body, "<title>Sign in") {
		t.Errorf("the session of before opens %.80q", got.body)
	}
}

// A client names a session that this replica made, that the other one made, that nobody made, or none.
func TestReplicas_ServeACallWhateverSessionItNames(t *testing.T) {
	t.Parallel()
	r := startReplicas(t)
	v := r.vend(r.one, r.one)
	call := func(at *collector, session, method, params string) reply {
		t.Helper()
		return request(t, http.MethodPost, at.url+"/mcp/"+v.Slug, []byte(`{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+`}`),
			"Authorization", "Bearer "+v.Token, "Content-Type", "application/json", "Accept", "application/json, text/event-stream", "Mcp-Session-Id", session)
	}
	const hello = `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"e2e","version":"1"}}`
	sessions := []string{"", "made-up"}
	for _, at := range []*collector{r.one, r.two} {
		session := call(at, "", "initialize", hello).header.Get("Mcp-Session-Id")
		if session == "" {
			t.Fatal("no session was made")
		}
		sessions = append(sessions, session)
	}
	for _, session := range sessions {
		for _, at := range []*collector{r.one, r.two} {
			if got := call(at, session, "tools/call", `{"name":"claim_next","arguments":{}}`); got.status != http.StatusOK || !strings.Contains(got.body, `"empty":true`) {
				t.Errorf("a call of session %q is answered %d %s", session, got.status, got.body)
			}
		}
	}
}

func TestReplicas_RingForWhatTheOtherOneTookIn(t *testing.T) {
	t.Parallel()
	r := startReplicas(t)
	v := r.vend(r.one, r.one)
	token, err := r.identity.NewAccessToken(t.Context(), r.owner.ID, "e2e")
	if err != nil {
		t.Fatal(err)
	}
	owner := person{id: r.owner.ID, token: token}
	for _, from := range []struct{ pushed, listens *collector }{{r.one, r.two}, {r.two, r.one}} {
		bell := open(t, from.listens.url+"/mcp/"+v.Slug, "Authorization", "Bearer "+v.Token, "Accept", "text/event-stream")
		id := from.pushed.pushAs(owner, v, map[string]any{"title": "ring for me"})
		if line := bell.until("notifications/claude/channel"); !strings.Contains(line, id) {
			t.Errorf("rung for %s", line)
		}
		must[claimed](t, agent(t, v), "claim", map[string]any{"id": id})
		bell.close()
	}
}
