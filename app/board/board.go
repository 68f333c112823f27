// Package board serves the pages for the humans who own the agents. Everything reads and acts without
// JavaScript; a page shows only what belongs to the human who looks at it (REQ-11 to REQ-13, REQ-18).
package board

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/a-h/templ"
	"github.com/alexedwards/scs/v2"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/queue"
	"github.com/switchboard-otel/switchboard/app/settings"
	"github.com/switchboard-otel/switchboard/app/spans"
)

// Config is what the Board works with. Every field is needed but Version.
type Config struct {
	Identity *identity.Store
	Queue    *queue.Store
	Spans    *spans.Store
	Settings *settings.Reader

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
	secure   bool
	now      func() time.Time
}

// New returns the handler of /, /login, /logout, /todos, /theme and /static/. It fails when the base URL is
// none.
func New(c Config) (http.Handler, error) {
	b, err := newBoard(c)
	if err != nil {
		return nil, err
	}
	return b.handler()
}

func newBoard(c Config) (*board, error) {
	base, err := url.Parse(c.BaseURL)
	if err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https") {
		return nil, fmt.Errorf("base_url must be an http or https address, such as https://board.example.com")
	}
	b := &board{Config: c, secure: base.Scheme == "https", now: time.Now}
	b.sessions = newSessions(c.Identity.SessionStore(), b.secure, b.sessionFailed)
	return b, nil
}

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
	for pattern, p := range map[string]page{
		"/{$}":        b.signedIn(b.listTodos),
		"/todos":      b.signedIn(b.listTodos),
		"/todos/{id}": b.signedIn(b.showTodo),
		"/login":      b.showLogin,
	} {
		pages.Handle("GET "+pattern, b.serve(p))
		pages.Handle(pattern, b.methodNotAllowed("GET, HEAD"))
	}
	pages.Handle("GET /login/{token}", b.serve(b.offerLink))
	pages.Handle("POST /login/{token}", b.serve(b.spendLink))
	pages.Handle("/login/{token}", b.methodNotAllowed("GET, HEAD, POST"))
	pages.Handle("POST /logout", b.serve(b.signedIn(b.signOut)))
	pages.Handle("POST /theme", b.serve(b.signedIn(b.chooseTheme)))
	pages.Handle("/logout", b.methodNotAllowed("POST"))
	pages.Handle("/theme", b.methodNotAllowed("POST"))
	pages.Handle("/", b.serve(b.unknownPage))

	mux := http.NewServeMux()
	mux.HandleFunc("GET /static/{file...}", serveStatic)
	mux.Handle("/", b.bounded(crossOrigin.Handler(b.sessions.LoadAndSave(pages))))
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
