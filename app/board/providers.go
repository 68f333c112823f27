package board

import (
	"errors"
	"net/http"
	"time"

	"github.com/switchboard-otel/switchboard/app/signin"
)

// signInCookie keeps what tells this browser apart while its human is at an identity provider.
const signInCookie = "sb_signin"

// signInPath is where providers are left for and returned from, and where signInCookie is sent.
const signInPath = "/login/with/"

// signInTime is how long signInCookie lasts: as long as a sign-in may take.
const signInTime = 10 * time.Minute

var (
	staleSignInPage = failure{Status: http.StatusBadRequest, Title: "This sign-in is over",
		Text: "It was begun in another browser or more than ten minutes ago, or this page was loaded twice. Nobody was signed in; begin again.",
		To:   "/login", ToWords: "Sign in"}
	declinedPage = failure{Status: http.StatusForbidden, Title: "Not signed in",
		Text: "Your identity provider let nobody in, or you said no there. You can try again.",
		To:   "/login", ToWords: "Sign in"}
	unverifiedPage = failure{Status: http.StatusForbidden, Title: "No verified e-mail address",
		Text: "This server needs an e-mail address that your identity provider has verified; at GitHub, your primary one. Verify it there, then sign in again.",
		To:   "/login", ToWords: "Sign in"}
	notEnrolledPage = failure{Status: http.StatusForbidden, Title: "You are not on the list",
		Text: "Your identity provider knows you, but this server lets in only those whom its operator has listed. Ask the operator to add your e-mail address.",
		To:   "/login", ToWords: "Sign in"}
	providerPage = failure{Status: http.StatusBadGateway, Title: "Your identity provider did not answer as it should",
		Text: "Nobody was signed in. Try again in a moment; if it stays like this, the log of the collector has the reason.",
		To:   "/login", ToWords: "Sign in"}
)

// signInPages are the answers to the ways in which a sign-in at a provider ends without a human.
var signInPages = []struct {
	err  error
	page failure
}{
	{signin.ErrUnknownProvider, unknownPage},
	{signin.ErrStale, staleSignInPage},
	{signin.ErrDeclined, declinedPage},
	{signin.ErrUnverified, unverifiedPage},
	{signin.ErrNotEnrolled, notEnrolledPage},
	{signin.ErrProvider, providerPage},
}

// ways are the identity providers that the sign-in page offers.
func (b *board) ways() []signin.Choice {
	if b.SignIn == nil {
		return nil
	}
	return b.SignIn.Choices()
}

// leaveForProvider sends a browser to an identity provider. A link does it and not a form: the policy on forms would
// forbid the redirect.
func (b *board) leaveForProvider(w http.ResponseWriter, r *http.Request, v viewer) error {
	if b.SignIn == nil {
		b.show(w, r, v, unknownPage)
		return nil
	}
	var browser string
	if c, err := r.Cookie(signInCookie); err == nil {
		browser = c.Value
	}
	address, browser, err := b.SignIn.Begin(r.Context(), r.PathValue("provider"), browser)
	if err != nil {
		return b.notSignedIn(w, r, v, err)
	}
	http.SetCookie(w, b.browserCookie(browser, signInTime))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, address, http.StatusSeeOther)
	return nil
}

// returnFromProvider signs in whom the provider vouches for, and takes them where they wanted to go.
func (b *board) returnFromProvider(w http.ResponseWriter, r *http.Request, v viewer) error {
	if b.SignIn == nil {
		b.show(w, r, v, unknownPage)
		return nil
	}
	var browser string
	if c, err := r.Cookie(signInCookie); err == nil {
		browser = c.Value
	}
	human, err := b.SignIn.Finish(r.Context(), r.PathValue("provider"), browser, r.URL.Query())
	if err != nil {
		return b.notSignedIn(w, r, v, err)
	}
	if err := b.signIn(r, human); err != nil {
		return err
	}
	http.SetCookie(w, b.browserCookie("", -time.Second))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, b.resume(w, r), http.StatusSeeOther)
	return nil
}

func (b *board) browserCookie(value string, lasts time.Duration) *http.Cookie {
	return &http.Cookie{Name: signInCookie, Value: value, Path: signInPath, MaxAge: int(lasts / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: b.secure}
}

func (b *board) notSignedIn(w http.ResponseWriter, r *http.Request, v viewer, err error) error {
	for _, known := range signInPages {
		if errors.Is(err, known.err) {
			b.show(w, r, v, known.page)
			return nil
		}
	}
	return err
}
