package board

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/alexedwards/scs/v2"
	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/identity"
)

// How long a session lasts without being used, and at most.
const (
	idleLifetime     = 7 * 24 * time.Hour
	absoluteLifetime = 30 * 24 * time.Hour
)

// The cookies of the Board.
const (
	sessionCookie = "sb_session"
	themeCookie   = "sb_theme"
	resumeCookie  = "sb_resume" // where a human wanted to go before signing in
)

// The keys of a session.
const (
	sessionHuman   = "human"   // uuid
	sessionForm    = "form"    // the token that every form of the session carries
	sessionBrowser = "browser" // what it calls itself
	sessionSaid    = "said"    // what the next page says of the action before it
)

// newSessions returns the session manager. The store sees only the SHA-256 of a session's token.
func newSessions(store scs.CtxStore, secure bool, failed func(http.ResponseWriter, *http.Request, error)) *scs.SessionManager {
	return &scs.SessionManager{ // scs.New would start the clean-up of a store in memory that nothing stops
		Store: store, HashTokenInStore: true, Codec: scs.GobCodec{},
		IdleTimeout: idleLifetime, Lifetime: absoluteLifetime, ErrorFunc: failed,
		Cookie: scs.SessionCookie{Name: sessionCookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: secure, Persist: true},
	}
}

// whose reads from a session's data who is signed in, and in which browser.
func whose(data []byte) (human *uuid.UUID, browser string) {
	_, values, err := scs.GobCodec{}.Decode(data)
	if err != nil {
		return nil, ""
	}
	text, _ := values[sessionHuman].(string)
	if id, err := uuid.Parse(text); err == nil {
		human = &id
	}
	browser, _ = values[sessionBrowser].(string)
	return human, browser
}

// sessionID is the name under which the store keeps the session of a request: the hash of its token.
func (b *board) sessionID(ctx context.Context) string {
	sum := sha256.Sum256([]byte(b.sessions.Token(ctx)))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// viewer is who looks at a page.
type viewer struct {
	human *identity.Human // nil: nobody is signed in
	form  string          // the token of the session's forms
	theme string          // light, dark, or empty for what the system says
}

// say keeps a sentence for the next page: what an action has done.
func (b *board) say(ctx context.Context, sentence string) { b.sessions.Put(ctx, sessionSaid, sentence) }

// viewer finds out who asks. A session whose human is gone is none.
func (b *board) viewer(r *http.Request) (viewer, error) {
	v := viewer{theme: themeOf(r)}
	id, err := uuid.Parse(b.sessions.GetString(r.Context(), sessionHuman))
	if err != nil {
		return v, nil
	}
	human, err := b.Identity.Human(r.Context(), id)
	if errors.Is(err, identity.ErrUnauthenticated) {
		return v, nil
	}
	v.human, v.form = human, b.sessions.GetString(r.Context(), sessionForm)
	return v, err
}

// signIn starts a session under a new token, so that one that somebody planted earlier is worth nothing.
func (b *board) signIn(r *http.Request, human *identity.Human) error {
	ctx := r.Context()
	if err := b.sessions.RenewToken(ctx); err != nil {
		return err
	}
	b.sessions.Put(ctx, sessionHuman, human.ID.String())
	b.sessions.Put(ctx, sessionForm, rand.Text())
	b.sessions.Put(ctx, sessionBrowser, browserOf(r.UserAgent()))
	return nil
}

// formToken reports whether a form was made by a page of this session.
func (v viewer) formToken(r *http.Request) bool {
	return v.form != "" && subtle.ConstantTimeCompare([]byte(r.PostFormValue("form")), []byte(v.form)) == 1
}

// remember keeps where a human wanted to go until they have signed in. The one-time link comes from a
// terminal and cannot say it.
func (b *board) remember(w http.ResponseWriter, target string) {
	if !local(target) {
		return
	}
	http.SetCookie(w, &http.Cookie{Name: resumeCookie, Value: base64.RawURLEncoding.EncodeToString([]byte(target)), Path: "/login", MaxAge: 15 * 60,
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: b.secure})
}

// resume returns where to go after signing in, and forgets it: where the link itself leads, as those that
// `switchboard demo` prints do, else what the sign-in interrupted.
func (b *board) resume(w http.ResponseWriter, r *http.Request) string {
	if next := r.URL.Query().Get("next"); local(next) {
		return next
	}
	c, err := r.Cookie(resumeCookie)
	if err != nil {
		return "/"
	}
	http.SetCookie(w, &http.Cookie{Name: resumeCookie, Path: "/login", MaxAge: -1, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Secure: b.secure})
	if target, err := base64.RawURLEncoding.DecodeString(c.Value); err == nil && local(string(target)) {
		return string(target)
	}
	return "/"
}

// maxTarget is how long a redirect target may be, in bytes: an OAuth client's request fits, and so does the cookie.
const maxTarget = 2560

// local reports whether a redirect target is a path of this server: a cookie is input like any other.
func local(target string) bool {
	if len(target) > maxTarget || !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "//") || strings.ContainsAny(target, "\\\r\n\t") {
		return false
	}
	u, err := url.Parse(target)
	return err == nil && u.Scheme == "" && u.Host == "" && u.User == nil
}
