package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/google/go-cmp/cmp"
	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/mcpserver"
	"github.com/switchboard-otel/switchboard/app/postgres/postgrestest"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
)

// The clients of the official TypeScript SDK: of its first generation, of its second one, which starts out with the same
// version of the protocol, and of that with the version in which a client listens by a call of its own.
var typeScriptClients = []struct{ library, version string }{
	{"@modelcontextprotocol/sdk", ""},
	{"@modelcontextprotocol/client", ""},
	{"@modelcontextprotocol/client", "2026-07-28"},
}

// A client of the TypeScript SDK gets a URL and nothing else. It finds out whom to ask, registers itself, sends its human
// to a page that says what it wants, calls every verb, hears the doorbell, fetches new tokens, and goes on after the server
// was restarted, an hour later.
func TestOAuth_TheTypeScriptSDKConnectsWithAURLAlone(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	c := start(t, unhurried(t), withProvider(t), withEnv("SWITCHBOARD_DATABASE_URL="+db.URL, "SWITCHBOARD_A2A=1",
		"SWITCHBOARD_A2UI=1", "SWITCHBOARD_SECRET_ENCRYPTION_KEY="+strings.Repeat("5e", 32)))
	human := openBrowser(t)
	human.do(chromedp.Navigate(c.url + "/endpoints"))
	human.signInAs("test-user@127.0.0.1")
	owner := ownerOf(t, db)

	var clients []*typeScript
	for _, which := range typeScriptClients {
		s := runTypeScript(t, c, owner, which.library, which.version)
		s.connect(human)
		s.callEverything()
		s.isRung()
		s.refreshes()
		clients = append(clients, s)
	}

	if err := c.stop(); err != nil {
		t.Fatalf("%v\n%s", err, c.output)
	}
	db.Advance(t, time.Hour)
	var before []tokens
	for _, s := range clients {
		before = append(before, s.tokens())
		s.mark()
	}
	c.launch()
	c.awaitReady()
	for i, s := range clients {
		s.listens()
		s.isRung()
		if s.tokens() == before[i] {
			s.t.Errorf("%s goes on with tokens of an hour ago", s.name)
		}
		s.leave()
	}
}

// ownerOf is the human that signed in through the provider, with a token for the API.
func ownerOf(t *testing.T, db *postgrestest.DB) person {
	t.Helper()
	var id uuid.UUID
	if err := db.Pool.QueryRow(t.Context(), `SELECT id FROM humans WHERE name = 'Test User'`).Scan(&id); err != nil {
		t.Fatal(err)
	}
	store := identity.NewStore(db.Pool, queue.NewStore(db.Pool, settings.NewReader(db.Pool, zap.NewNop())))
	token, err := store.NewAccessToken(t.Context(), id, "e2e")
	if err != nil {
		t.Fatal(err)
	}
	return person{id: id, token: token}
}

// connect gets the client in, with the help of its human.
func (s *typeScript) connect(human *browser) {
	s.t.Helper()
	id := s.send("connect", nil)
	page := s.until("the consent page", func(l said) bool { return l.Page != "" }).Page
	human.do(chromedp.Navigate(page), chromedp.WaitVisible(`button[value=allow]`))
	asks := human.text(`section[aria-labelledby="consent-h"]`)
	for _, must := range []string{"A TypeScript client", "http://127.0.0.1:", s.at.Slug, "claim_next", "Test User"} {
		if !strings.Contains(asks, must) {
			s.t.Errorf("%s: the consent page does not name %s: %s", s.name, must, asks)
		}
	}
	human.do(chromedp.Click(`button[value=allow]`), chromedp.WaitNotPresent(`button[value=allow]`))
	var met struct {
		Server  struct{ Name string }
		Version string
	}
	s.answer(id, &met)
	if met.Server.Name != "switchboard" || met.Version == "" {
		s.t.Errorf("%s met %+v", s.name, met)
	}
	for i, want := range []string{"POST /mcp/" + s.at.Slug + " 401", "GET /.well-known/oauth-protected-resource/mcp/" + s.at.Slug + " 200",
		"GET /.well-known/oauth-authorization-server 200", "POST /oauth/register 201", "POST /oauth/token 200"} {
		if !slices.ContainsFunc(s.log, func(l said) bool { return l.HTTP == want }) {
			s.t.Errorf("%s: step %d of %s is missing", s.name, i+1, want)
		}
	}
	s.listens()
}

// listens waits until the client has a stream.
func (s *typeScript) listens() {
	s.t.Helper()
	s.until("a stream", func(l said) bool { return l.Stream })
}

// callEverything calls each verb that the client is offered, and reads each kind of resource.
func (s *typeScript) callEverything() {
	s.t.Helper()
	var offered []string
	s.do("tools", nil, &offered)
	w := newShift(s.t, s.at, func(verb string, args map[string]any) json.RawMessage {
		s.t.Helper()
		var result struct {
			IsError           bool
			Content           []struct{ Text string }
			StructuredContent json.RawMessage
		}
		s.do("call", map[string]any{"verb": verb, "args": args}, &result)
		if result.IsError || len(result.Content) != 1 {
			s.t.Fatalf("%s: %s is answered %+v", s.name, verb, result)
		}
		return result.StructuredContent
	})
	w.work()
	var all, called []string
	for _, tool := range mcpserver.Tools() {
		all = append(all, tool.Name)
	}
	for verb := range w.used {
		called = append(called, verb)
	}
	slices.Sort(all)
	slices.Sort(offered)
	slices.Sort(called)
	if diff := cmp.Diff(all, offered) + cmp.Diff(offered, called); diff != "" {
		s.t.Errorf("%s: of what there is, is offered and was called: %s", s.name, diff)
	}
	s.until("the changed lease", func(l said) bool { return l.Heard.Method == "notifications/tools/list_changed" })
	s.readEverything()
}

func (s *typeScript) readEverything() {
	s.t.Helper()
	id := s.c.pushAs(s.owner, s.at, map[string]any{"title": "to be read", "queue": "idle"})
	var templates []string
	s.do("templates", nil, &templates)
	if len(templates) != 3 {
		s.t.Errorf("%s: the resources are %v", s.name, templates)
	}
	for _, template := range templates {
		uri := strings.NewReplacer("{id}", id, "{queue}", "idle").Replace(template)
		var resource struct{ URI, Text string }
		s.do("read", map[string]any{"uri": uri}, &resource)
		if resource.URI != uri || !strings.Contains(resource.Text, id) {
			s.t.Errorf("%s: %s reads %s", s.name, uri, resource.Text)
		}
	}
}

// isRung pushes work, which the client hears of and does.
func (s *typeScript) isRung() {
	s.t.Helper()
	s.mark()
	id := s.c.pushAs(s.owner, s.at, map[string]any{"title": "ring for me", "kind": "chore"})
	heard := s.until("a ring", func(l said) bool { return l.Heard.Params.Meta["todo_id"] == id }).Heard
	want := map[string]string{"todo_id": id, "queue": "default", "source": "operator", "kind": "chore"}
	if diff := cmp.Diff(want, heard.Params.Meta); diff != "" || heard.Method != "notifications/claude/channel" {
		s.t.Errorf("%s heard %s %s", s.name, heard.Method, diff)
	}
	for _, verb := range []string{"claim", "complete"} {
		var result struct{ IsError bool }
		s.do("call", map[string]any{"verb": verb, "args": map[string]any{"id": id}}, &result)
		if result.IsError {
			s.t.Errorf("%s: %s is refused", s.name, verb)
		}
	}
}

// refreshes lets the server refuse the client's access token: the SDK fetches another one and asks again.
func (s *typeScript) refreshes() {
	s.t.Helper()
	first := s.tokens()
	s.mark()
	s.do("spoil", nil, &tokens{})
	var result struct{ IsError bool }
	s.do("call", map[string]any{"verb": "list_todos"}, &result)
	s.until("a refused token", func(l said) bool { return l.HTTP == "POST /mcp/"+s.at.Slug+" 401" })
	s.until("a new token", func(l said) bool { return l.HTTP == "POST /oauth/token 200" })
	if next := s.tokens(); next.Access == first.Access || next.Refresh == first.Refresh || result.IsError {
		s.t.Errorf("%s did not refresh its tokens", s.name)
	}
}

// leave ends the session, where the protocol has one.
func (s *typeScript) leave() {
	s.t.Helper()
	s.mark()
	s.do("leave", nil, new(any))
	if s.version == "" {
		s.until("the end of its session", func(l said) bool { return l.HTTP == "DELETE /mcp/"+s.at.Slug+" 204" })
	}
}
