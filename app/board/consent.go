package board

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/oauth"
)

var (
	unknownClientPage = failure{Status: http.StatusBadRequest, Title: "This client is not known here",
		Text: "It did not register at this server, or it wants the answer at an address that it did not register. Nothing was sent there. Remove this server from the client and add it again.",
		To:   "/", ToWords: "To the Board"}
	notYoursPage = failure{Status: http.StatusNotFound, Title: "No endpoint here that you could allow",
		Text: "The client asks for an endpoint that was revoked, or that you cannot see. If it is yours under another account, sign out and in again, then connect the client once more. Nothing was allowed.",
		To:   "/endpoints", ToWords: "Your endpoints"}
)

// askConsent shows what a client wants. Nothing leaves this server before the human has pressed a button: whoever makes
// somebody open this page must not get a redirect out of it.
func (b *board) askConsent(w http.ResponseWriter, r *http.Request, v viewer) error {
	consent, err := b.OAuth.Ask(r.Context(), v.human.ID, r.URL.Query())
	var wrong *oauth.AtClient
	switch {
	case errors.As(err, &wrong):
		leadsTo(w, wrong.Policy)
		return b.render(w, r, http.StatusBadRequest, misaskedPage(b.shell(r, v, "A client asks wrongly", ""), wrong))
	case err != nil:
		return b.unanswerable(w, r, v, err)
	}
	leadsTo(w, consent.Policy)
	return b.render(w, r, http.StatusOK, consentPage(b.shell(r, v, "Connect a client", ""), consent))
}

// answerConsent carries out what the human decided. The request is read again from the form and checked as before.
func (b *board) answerConsent(w http.ResponseWriter, r *http.Request, v viewer) error {
	consent, err := b.OAuth.Ask(r.Context(), v.human.ID, r.PostForm)
	var wrong *oauth.AtClient
	var to string
	switch {
	case errors.As(err, &wrong):
		to = wrong.Redirect
	case err != nil:
		return b.unanswerable(w, r, v, err)
	case r.PostFormValue("decision") == "allow":
		if to, err = b.OAuth.Allow(r.Context(), consent); err != nil {
			return err
		}
	default:
		to = b.OAuth.Deny(consent)
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Location", to) // http.Redirect would rewrite addresses of private schemes
	w.WriteHeader(http.StatusSeeOther)
	return nil
}

func (b *board) unanswerable(w http.ResponseWriter, r *http.Request, v viewer, err error) error {
	switch {
	case errors.Is(err, oauth.ErrUnknownClient):
		b.show(w, r, v, unknownClientPage)
	case errors.Is(err, fault.ErrEndpointNotFound):
		b.show(w, r, v, notYoursPage)
	default:
		return err
	}
	return nil
}

// consents are the pages that ask a human for a client. A decision whose session ended in the meantime is asked for again
// after signing in, not lost.
func (b *board) consents() map[string]page {
	if b.OAuth == nil {
		return nil
	}
	return map[string]page{
		"GET " + oauth.AuthorizePath:  b.signedIn(b.askConsent),
		"POST " + oauth.AuthorizePath: b.askAgain(b.signedIn(b.answerConsent)),
	}
}

func (b *board) askAgain(answered page) page {
	return func(w http.ResponseWriter, r *http.Request, v viewer) error {
		if v.human == nil {
			question := url.Values{}
			for name, values := range r.PostForm {
				if name != "form" && name != "decision" {
					question[name] = values
				}
			}
			b.remember(w, oauth.AuthorizePath+"?"+question.Encode())
		}
		return answered(w, r, v)
	}
}

// leadsTo lets the page's form lead to one more place: browsers hold the redirect that answers a form to the policy of
// the page that the form is on.
func leadsTo(w http.ResponseWriter, place string) {
	w.Header().Set("Content-Security-Policy", strings.Replace(contentSecurity, "form-action 'self'", "form-action 'self' "+place, 1))
}
