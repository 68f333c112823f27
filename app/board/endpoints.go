package board

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/switchboard-otel/switchboard/app/agentsetup"
	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/postgres"
	"github.com/switchboard-otel/switchboard/app/queue"
)

// endpointsView is the page of the endpoints: what each agent may do, and when it was last heard of.
type endpointsView struct {
	Now   time.Time
	Form  string
	Cards []endpointCard
}

// endpointCard is one endpoint.
type endpointCard struct {
	identity.Endpoint
	queue.EndpointWork
	LastSpan *time.Time
}

// ended reports whether an endpoint is cut off.
func (c *endpointCard) ended(now time.Time) bool {
	return c.RevokedAt != nil || c.ExpiresAt != nil && !c.ExpiresAt.After(now)
}

// mark draws how an endpoint stands.
func (c *endpointCard) mark(now time.Time) mark {
	switch {
	case c.RevokedAt != nil:
		return mark{"off", "l-off", "revoked"}
	case c.ended(now):
		return mark{"off", "l-off", "expired"}
	case c.Held > 0:
		return mark{"live", "l-live", boundedCount(c.Held) + " claimed now"}
	case c.LastSeen == nil:
		return mark{"wait", "l-wait", "not seen yet"}
	default:
		return mark{"wait", "l-wait", "quiet"}
	}
}

// showEndpoints lists a human's endpoints, those that work first.
func (b *board) showEndpoints(w http.ResponseWriter, r *http.Request, v viewer) error {
	ctx := r.Context()
	endpoints, err := b.Identity.Endpoints(ctx, v.human.ID)
	if err != nil {
		return err
	}
	work, err := b.Queue.EndpointsWork(ctx, v.human.ID)
	if err != nil {
		return err
	}
	spans, err := b.Spans.LastByEndpoint(ctx, v.human.ID)
	if err != nil {
		return err
	}
	view := &endpointsView{Now: b.now(), Form: v.form}
	for _, e := range endpoints {
		c := endpointCard{Endpoint: e, EndpointWork: work[e.ID]}
		if at, sent := spans[e.ID]; sent {
			c.LastSpan = &at
		}
		view.Cards = append(view.Cards, c)
	}
	slices.SortStableFunc(view.Cards, func(x, y endpointCard) int {
		return rank(x.ended(view.Now)) - rank(y.ended(view.Now))
	})
	return b.render(w, r, http.StatusOK, endpointsPage(b.shell(r, v, "Endpoints", "/endpoints"), view))
}

func rank(last bool) int {
	if last {
		return 1
	}
	return 0
}

// verbWords names the verbs in brief.
func verbWords(verbs []string) string {
	rest := slices.DeleteFunc(slices.Clone(verbs), func(v string) bool { return slices.Contains(identity.DrainVerbs, v) })
	if len(verbs)-len(rest) == len(identity.DrainVerbs) {
		return strings.Join(append([]string{"drain all"}, rest...), ", ")
	}
	return strings.Join(verbs, ", ")
}

// defaultWords says what claims and todos of an endpoint get when they say nothing themselves.
func defaultWords(e *identity.Endpoint) string {
	if e.DefaultLeaseTTLSeconds == nil && e.DefaultMaxAttempts == nil && !e.RequireFence {
		return "the server’s"
	}
	lease, attempts, fence := "the server’s lease", "the server’s attempts", ""
	if e.DefaultLeaseTTLSeconds != nil {
		lease = "lease " + span(time.Duration(*e.DefaultLeaseTTLSeconds)*time.Second)
	}
	if e.DefaultMaxAttempts != nil {
		attempts = counted(*e.DefaultMaxAttempts, "attempt", "attempts")
	}
	if e.RequireFence {
		fence = ", fence required"
	}
	return lease + ", " + attempts + fence
}

// defaultsView is the form of an endpoint's defaults.
type defaultsView struct {
	Endpoint *identity.Endpoint
	Form     string
	Fields   defaultsForm
	Refused  string
}

// defaultsForm is what a form of defaults holds, as it was typed.
type defaultsForm struct {
	Lease    string // minutes; empty: the server's
	Attempts string // empty: the server's
	Fence    bool
}

func defaultsFormOf(r *http.Request) defaultsForm {
	return defaultsForm{strings.TrimSpace(r.PostFormValue("lease")), strings.TrimSpace(r.PostFormValue("attempts")), r.PostFormValue("fence") != ""}
}

// read makes numbers of what was typed.
func (f defaultsForm) read() (leaseSeconds, attempts *int, err error) {
	minutes, err := wholeOf("the lease", f.Lease, "must be whole minutes, 1 to 1440")
	if err != nil {
		return nil, nil, err
	}
	if minutes != nil {
		seconds := *minutes * 60
		leaseSeconds = &seconds
	}
	attempts, err = wholeOf("attempts", f.Attempts, "must be a whole number, 1 to 1000")
	return leaseSeconds, attempts, err
}

// wholeOf reads a number that may be absent.
func wholeOf(name, text, must string) (*int, error) {
	if text == "" {
		return nil, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > 1_000_000 {
		return nil, fault.InvalidArgument(name, must)
	}
	return &n, nil
}

func (b *board) showDefaults(w http.ResponseWriter, r *http.Request, v viewer) error {
	e, err := b.Identity.Endpoint(r.Context(), v.human.ID, r.PathValue("slug"))
	if err != nil {
		return err
	}
	f := defaultsForm{Fence: e.RequireFence}
	if e.DefaultLeaseTTLSeconds != nil {
		f.Lease = strconv.Itoa(max(*e.DefaultLeaseTTLSeconds/60, 1))
	}
	if e.DefaultMaxAttempts != nil {
		f.Attempts = strconv.Itoa(*e.DefaultMaxAttempts)
	}
	view := &defaultsView{Endpoint: e, Form: v.form, Fields: f}
	return b.render(w, r, http.StatusOK, defaultsPage(b.shell(r, v, "Defaults of "+e.Slug, "/endpoints"), view))
}

// editDefaults changes the defaults of an endpoint; what is left empty goes back to the server's.
func (b *board) editDefaults(w http.ResponseWriter, r *http.Request, v viewer) error {
	ctx, slug := r.Context(), r.PathValue("slug")
	fields := defaultsFormOf(r)
	lease, attempts, err := fields.read()
	if err == nil {
		_, err = b.Identity.EditDefaults(ctx, v.human.ID, slug, identity.DefaultsEdit{
			LeaseTTLSeconds: identity.Change[int]{Set: true, Value: lease},
			MaxAttempts:     identity.Change[int]{Set: true, Value: attempts},
			RequireFence:    &fields.Fence,
		})
	}
	if f := fault.From(err, postgres.Fault); err != nil && f.Code == fault.Invalid {
		e, err := b.Identity.Endpoint(ctx, v.human.ID, slug)
		if err != nil {
			return err
		}
		view := &defaultsView{Endpoint: e, Form: v.form, Fields: fields, Refused: sentence(f.Message)}
		return b.render(w, r, http.StatusUnprocessableEntity, defaultsPage(b.shell(r, v, "Defaults of "+e.Slug, "/endpoints"), view))
	}
	if err != nil {
		return err
	}
	b.say(ctx, "The defaults of "+slug+" were changed.")
	http.Redirect(w, r, "/endpoints", http.StatusSeeOther)
	return nil
}

// credentialView shows a credential, this once.
type credentialView struct {
	Endpoint *identity.Endpoint
	Token    string
	Rotated  bool
	Guides   []agentsetup.Guide // the agent's own first
	Setup    agentsetup.Endpoint
}

// showCredential answers with a new credential. It is kept nowhere: the page cannot be had again.
func (b *board) showCredential(w http.ResponseWriter, r *http.Request, v viewer, vended *identity.Vended, rotated bool) error {
	base := strings.TrimSuffix(b.BaseURL, "/")
	view := &credentialView{Endpoint: &vended.Endpoint, Token: vended.Token, Rotated: rotated, Setup: agentsetup.Endpoint{
		MCPURL: base + "/mcp/" + vended.Slug, OTLPURL: base + "/otlp/" + vended.Slug, Credential: vended.Token}}
	own, known := agentsetup.For(orEmpty(vended.AgentKind))
	view.Guides = []agentsetup.Guide{own}
	for _, g := range append(slices.Clone(agentsetup.Guides), agentsetup.Other) {
		if g.Kind != own.Kind || !known && g.Kind != agentsetup.Other.Kind {
			view.Guides = append(view.Guides, g)
		}
	}
	return b.render(w, r, http.StatusOK, credentialPage(b.shell(r, v, "Credential of "+vended.Slug, "/endpoints"), view))
}

// rotate gives an endpoint a new credential. The earlier one goes on for as long as the form says.
func (b *board) rotate(w http.ResponseWriter, r *http.Request, v viewer) error {
	overlap := time.Duration(0)
	if r.PostFormValue("overlap") == "hour" {
		overlap = time.Hour
	}
	vended, err := b.Identity.Rotate(r.Context(), v.human.ID, r.PathValue("slug"), overlap)
	if refused, err := b.refusedAt(w, r, err, "/endpoints"); refused || err != nil {
		return err
	}
	return b.showCredential(w, r, v, vended, true)
}

// revoke cuts an endpoint off. Its form says what that does and has to be opened first.
func (b *board) revoke(w http.ResponseWriter, r *http.Request, v viewer) error {
	slug := r.PathValue("slug")
	_, err := b.Identity.Revoke(r.Context(), v.human.ID, slug)
	if err != nil {
		return err
	}
	b.say(r.Context(), fmt.Sprintf("%s is cut off. Its live todos are dead letters.", slug))
	http.Redirect(w, r, "/endpoints", http.StatusSeeOther)
	return nil
}

// refusedAt tells a conflict as a sentence on another page.
func (b *board) refusedAt(w http.ResponseWriter, r *http.Request, err error, page string) (refused bool, _ error) {
	var f *fault.Error
	if !errors.As(err, &f) || f.Code != fault.Conflict {
		return false, err
	}
	b.say(r.Context(), sentence(f.Message))
	http.Redirect(w, r, page, http.StatusSeeOther)
	return true, nil
}

// endpointPath is an endpoint's address on the Board.
func endpointPath(slug, action string) string { return "/endpoints/" + slug + "/" + action }

// elementID makes an element id of an endpoint's.
func elementID(prefix string, id uuid.UUID) string { return prefix + id.String()[:13] }
