package board

import (
	"errors"
	"net/http"

	"github.com/switchboard-otel/switchboard/app/identity"
)

// showLogin says how to sign in. There are no passwords here: a provider or a one-time link.
func (b *board) showLogin(w http.ResponseWriter, r *http.Request, v viewer) error {
	if v.human != nil {
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, b.resume(w, r), http.StatusSeeOther)
		return nil
	}
	return b.render(w, r, http.StatusOK, loginPage(b.shell(r, v, "Sign in", ""), b.ways(), b.LocalLogin))
}

// offerLink shows the one button that spends a link. A GET only looks: mail scanners, chat previews and
// prefetching browsers fetch links (board.md section 1).
func (b *board) offerLink(w http.ResponseWriter, r *http.Request, v viewer) error {
	if !b.LocalLogin {
		b.show(w, r, v, unknownPage)
		return nil
	}
	valid, err := b.Identity.LoginLinkValid(r.Context(), r.PathValue("token"))
	if err != nil {
		return err
	}
	if !valid {
		b.show(w, r, v, spentLinkPage)
		return nil
	}
	return b.render(w, r, http.StatusOK, linkPage(b.shell(r, v, "Sign in", "")))
}

// spendLink signs in, once per link. The link is the secret, so it needs no form token; another site's form
// is refused before.
func (b *board) spendLink(w http.ResponseWriter, r *http.Request, v viewer) error {
	if !b.LocalLogin {
		b.show(w, r, v, unknownPage)
		return nil
	}
	human, err := b.Identity.SpendLoginLink(r.Context(), r.PathValue("token"))
	if errors.Is(err, identity.ErrUnauthenticated) {
		b.show(w, r, v, spentLinkPage)
		return nil
	}
	if err != nil {
		return err
	}
	if err := b.signIn(r, human); err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, b.resume(w, r), http.StatusSeeOther)
	return nil
}

func (b *board) signOut(w http.ResponseWriter, r *http.Request, _ viewer) error {
	b.live.EndSession(b.sessionID(r.Context()))
	if err := b.sessions.Destroy(r.Context()); err != nil {
		return err
	}
	http.Redirect(w, r, "/login", http.StatusSeeOther)
	return nil
}
