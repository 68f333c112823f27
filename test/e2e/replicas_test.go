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
	bell := open(t, v.MCPURL, "Authorization", "Bearer "+v.Token, "Accept", "text/event-stream")
	id := r.push(v, "ring for me")
	if line := bell.until("notifications/claude/channel"); !strings.Contains(line, id) {
		t.Errorf("rung for %s", line)
	}
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
}
