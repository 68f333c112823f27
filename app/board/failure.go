package board

import (
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"go.uber.org/zap"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/postgres"
)

// failure is a page that says what happened and what to do. It never holds anything of the request, so that
// two answers of a kind do not differ by a byte (REQ-18).
type failure struct {
	Status  int
	Title   string
	Text    string
	To      string // where to go instead; empty: nowhere
	ToWords string
	Again   bool   // the browser may try again by itself
	Request string // the id that the log has, for what an operator must look at
}

var (
	todoNotFoundPage = failure{Status: http.StatusNotFound, Title: "No todo here",
		Text: "There is no todo with this id that you can see. It may have been pruned, or it belongs to someone else; this page is the same in both cases.",
		To:   "/todos", ToWords: "Search your todos"}
	endpointNotFoundPage = failure{Status: http.StatusNotFound, Title: "No endpoint here",
		Text: "There is no endpoint of this name that you can see. It may belong to someone else; this page is the same in both cases.",
		To:   "/endpoints", ToWords: "Your endpoints"}
	unknownPage = failure{Status: http.StatusNotFound, Title: "No page here",
		Text: "Nothing is at this address. If a link on this server brought you here, it is out of date.",
		To:   "/", ToWords: "To the Board"}
	spentLinkPage = failure{Status: http.StatusGone, Title: "This sign-in link does not work any more",
		Text: "A link signs in once, within ten minutes. Print a new one in the terminal: bin/switchboard login-link",
		To:   "/login", ToWords: "How to sign in"}
	staleFormPage = failure{Status: http.StatusForbidden, Title: "This page was open too long",
		Text: "Its form was made in another session. Nothing was changed; load the page again and repeat.",
		To:   "/", ToWords: "To the Board"}
	crossOriginPage = failure{Status: http.StatusForbidden, Title: "This form came from another site",
		Text: "Only pages of this server may act here. Nothing was changed. If this is your own server behind a proxy, its base_url must be the address that your browser shows.",
		To:   "/", ToWords: "To the Board"}
	badRequestPage = failure{Status: http.StatusBadRequest, Title: "This request cannot be read",
		Text: "Its query or its form is not well-formed. Nothing was changed.",
		To:   "/", ToWords: "To the Board"}
	tooLargePage = failure{Status: http.StatusRequestEntityTooLarge, Title: "This request is too large",
		Text: "A form may hold 1 MiB. Nothing was changed.",
		To:   "/", ToWords: "To the Board"}
	badPagePage = failure{Status: http.StatusBadRequest, Title: "This list cannot be shown",
		Text: "Its address names a filter or a page that does not exist. Start at the newest todos and filter again.",
		To:   "/todos", ToWords: "Newest todos"}
	methodPage = failure{Status: http.StatusMethodNotAllowed, Title: "This address does not take that",
		Text: "It answers other HTTP methods than this one. Nothing was changed.",
		To:   "/", ToWords: "To the Board"}
	unavailablePage = failure{Status: http.StatusServiceUnavailable, Title: "The database does not answer", Again: true,
		Text: "Nothing was changed. This page tries again every 10 seconds; if it stays like this, look at the log of the collector, or give your operator the request id."}
	internalPage = failure{Status: http.StatusInternalServerError, Title: "Something went wrong on the server",
		Text: "Nothing more is known here. The log of the collector has the reason under the request id.",
		To:   "/", ToWords: "To the Board"}
)

// fail answers an error of a page. Its text goes to the log and nowhere else.
func (b *board) fail(w http.ResponseWriter, r *http.Request, v viewer, err error) {
	if r.Context().Err() != nil {
		return // the browser has gone
	}
	f := failureOf(err)
	if f.Status >= http.StatusInternalServerError {
		f.Request = "req_" + uuid.NewString()[:8]
		b.Log.Error("a page could not be shown", zap.String("request_id", f.Request), postgres.Field(err))
	}
	b.show(w, r, v, f)
}

func failureOf(err error) failure {
	switch f := fault.From(err, postgres.Fault); f.Code {
	case fault.NotFound:
		if f == fault.ErrEndpointNotFound {
			return endpointNotFoundPage
		}
		return todoNotFoundPage
	case fault.Invalid:
		return badPagePage
	case fault.Unavailable:
		return unavailablePage
	default:
		return internalPage
	}
}

// refuse answers before it is known who asks.
func (b *board) refuse(w http.ResponseWriter, r *http.Request, f failure) {
	b.show(w, r, viewer{theme: themeOf(r)}, f)
}

func (b *board) show(w http.ResponseWriter, r *http.Request, v viewer, f failure) {
	s := shell{Title: f.Title, Viewer: v, Version: b.Version, Health: health{Answers: f.Status != http.StatusServiceUnavailable}}
	if f.Again {
		w.Header().Set("Retry-After", "10")
		if r.Method == http.MethodGet {
			w.Header().Set("Refresh", "10")
		}
	}
	if err := b.render(w, r, f.Status, failurePage(s, f)); err != nil {
		b.Log.Debug("the page of a failure could not be written", postgres.Field(err))
		http.Error(w, f.Title, f.Status)
	}
}

// sessionFailed answers when the session manager cannot read or write its store.
func (b *board) sessionFailed(w http.ResponseWriter, r *http.Request, err error) {
	b.fail(w, r, viewer{theme: themeOf(r)}, err)
}

func (b *board) unknownPage(w http.ResponseWriter, r *http.Request, v viewer) error {
	b.show(w, r, v, unknownPage)
	return nil
}

// methodNotAllowed answers a path whose methods are others. Whoever may GET may HEAD.
func (b *board) methodNotAllowed(methods []string) http.Handler {
	slices.Sort(methods)
	allow := strings.Replace(strings.Join(methods, ", "), "GET", "GET, HEAD", 1)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Allow", allow)
		b.refuse(w, r, methodPage)
	})
}
