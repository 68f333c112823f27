// Package board serves the pages for the humans who own the agents. Everything reads and acts without
// JavaScript; a page shows only what belongs to the human who looks at it (REQ-11 to REQ-16, REQ-18).
package board

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/alexedwards/scs/v2"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/feed"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/live"
	"github.com/switchboard-otel/switchboard/app/oauth"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/rungraph"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/signin"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// Config is what the Board works with. Every field is needed but Version, and where one says otherwise.
type Config struct {
	Identity  *identity.Store
	Queue     *queue.Store
	Spans     *spans.Store
	Feed      *feed.Store
	Intake    *intake.Store
	Settings  *settings.Reader
	RunGraphs *rungraph.Store
	SignIn    *signin.Service // nil: no identity provider
	OAuth     *oauth.Server   // nil: no client can be connected

	BaseURL    string // where humans and agents reach this server; cookies are Secure when it is https
	Version    string
	LocalLogin bool // one-time links sign in

	// Health asks the database for a sign of life and says how long it took.
	Health func(ctx context.Context) (time.Duration, error)
	Log    *zap.Logger
}

type board struct {
	Config
	sessions *scs.SessionManager
	live     *live.Hub
	secure   bool
	formMark string // stands for a session's form token in what sessions share
	now      func() time.Time
	patterns []string // of all routes
}

// Board serves every page, its fragments and its streams.
type Board struct {
	http.Handler
	live     *live.Hub
	patterns []string
}

// Patterns are those of all routes, as http.ServeMux spells them: what there is to check of the site.
func (b *Board) Patterns() []string { return b.patterns }

// Close ends the live streams, so that a server can drain. Pages go on.
func (b *Board) Close() { b.live.Close() }

// New returns the Board. It fails when the base URL is none.
func New(c Config) (*Board, error) {
	b, err := newBoard(c)
	if err != nil {
		return nil, err
	}
	handler, err := b.handler()
	if err != nil {
		return nil, err
	}
	return &Board{handler, b.live, b.patterns}, nil
}

func newBoard(c Config) (*board, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("base_url must be an http or https address, such as https://board.example.com")
	}
	b := &board{Config: c, secure: base.Scheme == "https", formMark: rand.Text(), now: time.Now}
	b.sessions = newSessions(sessionStore{c.Identity.SessionStore(whose)}, b.secure, b.sessionFailed)
	b.live = live.NewHub(b.version, c.Log)
	return b, nil
}

// routes are the pages of the signed-in, by their pattern. What changes something is a POST.
func (b *board) routes() map[string]page {
	routes := map[string]page{
		"GET /{$}":                       b.showLanes,
		"GET /activity":                  b.showActivity,
		"GET /todos":                     b.listTodos,
		"GET /new":                       b.showNewTodo,
		"POST /new":                      b.pushTodo,
		"GET /todos/{id}":                b.showTodo,
		"POST /todos/{id}/again":         b.runAgain,
		"GET /endpoints":                 b.showEndpoints,
		"GET /endpoints/vend":            b.showWizard,
		"POST /endpoints/vend":           b.stepWizard,
		"POST /endpoints/quick":          b.quickVend,
		"GET /endpoints/{slug}/edit":     b.showDefaults,
		"POST /endpoints/{slug}/edit":    b.editDefaults,
		"POST /endpoints/{slug}/rotate":  b.rotate,
		"POST /endpoints/{slug}/revoke":  b.revoke,
		"GET /rungraph/{document}":       b.showGraph,
		"GET /settings":                  b.showSettings,
		"POST /settings/tokens":          b.createToken,
		"POST /settings/tokens/revoke":   b.revokeToken,
		"POST /settings/connections/end": b.disconnect,
		"POST /settings/sessions/end":    b.endSession,
		"GET /events":                    b.stream,
		"POST /logout":                   b.signOut,
		"POST /theme":                    b.chooseTheme,
	}
	maps.Copy(routes, b.webhookRoutes())
	for _, action := range queue.Actions {
		routes["POST /todos/{id}/"+string(action)] = b.act(action)
	}
	return routes
}

const staticPattern = "/static/{file...}"

func (b *board) handler() (http.Handler, error) {
	base, err := url.Parse(b.BaseURL)
	if err != nil {
		return nil, err
	}
	crossOrigin, err := b.sameOrigin(base)
	if err != nil {
		return nil, err
	}
	pages := http.NewServeMux()
	methods := map[string][]string{}
	handle := func(pattern string, p page) {
		method, path, _ := strings.Cut(pattern, " ")
		pages.Handle(pattern, b.serve(p))
		b.patterns = append(b.patterns, pattern)
		methods[path] = append(methods[path], method)
	}
	for pattern, p := range b.routes() {
		handle(pattern, b.signedIn(p))
	}
	for pattern, p := range b.consents() {
		handle(pattern, p)
	}
	handle("GET /login", b.showLogin)
	handle("GET "+signInPath+"{provider}", b.leaveForProvider)
	handle("GET "+signInPath+"{provider}/callback", b.returnFromProvider)
	handle("GET /login/{token}", b.offerLink)
	handle("POST /login/{token}", b.spendLink)
	for path, allowed := range methods {
		pages.Handle(path, b.methodNotAllowed(allowed))
	}
	pages.Handle("/", b.serve(b.unknownPage))

	mux := http.NewServeMux()
	mux.HandleFunc("GET "+staticPattern, serveStatic)
	b.patterns = append(b.patterns, "GET "+staticPattern)
	mux.Handle("/", b.bounded(crossOrigin.Handler(remembering(b.sessions.LoadAndSave(pages)))))
	return secured(mux), nil
}

// page answers a request of v. An error becomes its page.
type page func(w http.ResponseWriter, r *http.Request, v viewer) error

func (b *board) serve(p page) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v, err := b.viewer(r)
		if err == nil {
			err = p(w, r, v)
		}
		if err != nil {
			b.fail(w, r, v, err)
		}
	})
}

// signedIn lets a signed-in human through, and sends everybody else to sign in and back. A form must have
// been made by a page of the same session.
func (b *board) signedIn(p page) page {
	return func(w http.ResponseWriter, r *http.Request, v viewer) error {
		if v.human == nil {
			if r.Method == http.MethodGet {
				b.remember(w, r.URL.RequestURI())
			}
			w.Header().Set("Cache-Control", "no-store")
			http.Redirect(w, r, "/login", http.StatusSeeOther)
			return nil
		}
		if r.Method == http.MethodPost && !v.formToken(r) {
			b.refuse(w, r, staleFormPage)
			return nil
		}
		return p(w, r, v)
	}
}

// render answers with a page. It is rendered whole first, so that an error never leaves half of one.
func (b *board) render(w http.ResponseWriter, r *http.Request, status int, c templ.Component) error {
	var body bytes.Buffer
	if err := c.Render(r.Context(), &body); err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, err := body.WriteTo(w)
	if err != nil {
		b.Log.Debug("the browser went away before its page was written", zap.Error(err))
	}
	return nil
}
