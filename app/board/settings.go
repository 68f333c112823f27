package board

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/oauth"
	"github.com/switchboard-otel/switchboard/app/postgres"
)

// settingsView is what a human has on this server: tokens, a theme, sessions.
type settingsView struct {
	Now      time.Time
	Viewer   viewer
	Tokens   []identity.AccessToken
	Sessions []identity.Session

	Connections []oauth.Connection
	CanConnect  bool // MCP clients can be connected here

	This    string     // the id of the session that looks
	Seen    *time.Time // when the human last looked at the feed
	Token   string     // a new one, shown this once
	Name    string     // what was typed as its name
	Refused string
}

func (b *board) showSettings(w http.ResponseWriter, r *http.Request, v viewer) error {
	return b.settings(w, r, v, http.StatusOK, &settingsView{})
}

func (b *board) settings(w http.ResponseWriter, r *http.Request, v viewer, status int, view *settingsView) (err error) {
	ctx := r.Context()
	view.Now, view.Viewer, view.This = b.now(), v, b.sessionID(ctx)
	if view.Tokens, err = b.Identity.AccessTokens(ctx, v.human.ID); err != nil {
		return err
	}
	if view.Sessions, err = b.Identity.Sessions(ctx, v.human.ID); err != nil {
		return err
	}
	if view.CanConnect = b.OAuth != nil; view.CanConnect {
		if view.Connections, err = b.OAuth.Connections(ctx, v.human.ID); err != nil {
			return err
		}
	}
	if view.Seen, err = b.Feed.Seen(ctx, v.human.ID); err != nil {
		return err
	}
	return b.render(w, r, status, settingsPage(b.shell(r, v, "Settings", "/settings"), view))
}

// createToken makes a personal token and shows it this once. A name that is in use already is refused here: the
// token that has it would stop working without a word.
func (b *board) createToken(w http.ResponseWriter, r *http.Request, v viewer) error {
	ctx := r.Context()
	view := &settingsView{Name: strings.TrimSpace(r.PostFormValue("name"))}
	tokens, err := b.Identity.AccessTokens(ctx, v.human.ID)
	if err != nil {
		return err
	}
	for _, t := range tokens {
		if t.Name == view.Name {
			view.Refused = "A token of this name exists. Revoke it first, or choose another name."
			return b.settings(w, r, v, http.StatusConflict, view)
		}
	}
	view.Token, err = b.newToken(r, v, view.Name)
	if f := fault.From(err, postgres.Fault); err != nil && f.Code == fault.Invalid {
		view.Refused = sentence(f.Message)
		return b.settings(w, r, v, http.StatusUnprocessableEntity, view)
	}
	if err != nil {
		return err
	}
	return b.settings(w, r, v, http.StatusOK, view)
}

// newToken makes a token that lasts as long as the form says: a number of days, or until it is revoked.
func (b *board) newToken(r *http.Request, v viewer, name string) (string, error) {
	if lasts := r.PostFormValue("days"); lasts != "" && lasts != "0" {
		days, err := strconv.Atoi(lasts)
		if err != nil {
			days = 0 // which is refused
		}
		return b.Identity.NewExpiringAccessToken(r.Context(), v.human.ID, name, days)
	}
	return b.Identity.NewAccessToken(r.Context(), v.human.ID, name)
}

func (b *board) revokeToken(w http.ResponseWriter, r *http.Request, v viewer) error {
	if err := b.Identity.RevokeAccessToken(r.Context(), v.human.ID, r.PostFormValue("name")); err != nil {
		return err
	}
	b.say(r.Context(), "The token does not work any more.")
	http.Redirect(w, r, "/settings", http.StatusSeeOther)
	return nil
}

// endSession signs one of the human's browsers out, and closes what it has open.
func (b *board) endSession(w http.ResponseWriter, r *http.Request, v viewer) error {
	id := r.PostFormValue("session")
	ended, err := b.Identity.EndSession(r.Context(), v.human.ID, id)
	if err != nil {
		return err
	}
	if ended {
		b.live.EndSession(id)
	}
	b.say(r.Context(), "That browser is signed out.")
	http.Redirect(w, r, "/settings", http.StatusSeeOther)
	return nil
}

// tokenName is what stands in the name's field: what was typed, unless a token was made of it.
func (v *settingsView) tokenName() string {
	if v.Token != "" {
		return ""
	}
	return v.Name
}

// issuerWord says how a human signs in.
func issuerWord(issuer string) string {
	if issuer == "local" {
		return "one-time links"
	}
	return issuer
}

func sessionWord(s identity.Session) string { return cmp.Or(s.Browser, "A browser") }
