package board

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/switchboard-otel/switchboard/app/identity"
)

var credential = regexp.MustCompile(`sbk_[A-Za-z0-9_-]{43}`)

// The wizard, step by step and back again: what was typed stays, and the credential that it shows works.
func TestWizard_VendsWhatWasChosen(t *testing.T) {
	h := newHouse(t)
	b := h.open(t, h.signedIn(h.owner), looks[0])
	b.visit("/endpoints")
	b.do(chromedp.Click(`main a[href="/endpoints/vend"]`), chromedp.WaitVisible("#name"))
	b.do(chromedp.SendKeys("#name", "Fixer Nine"), chromedp.SendKeys("#queues", "lane-s, lane-m"), chromedp.Click(`.wizard-foot button.is-primary`))
	b.do(chromedp.WaitVisible(`.choices input[value="release"]`), chromedp.Click(`.choices input[value="release"]`), chromedp.Click(`.choices input[value="set_default_lease"]`))
	b.do(chromedp.Click(`.wizard-foot button.is-primary`), chromedp.WaitVisible("#lease"), chromedp.SendKeys("#lease", "10"), chromedp.SendKeys("#attempts", "3"))
	b.do(chromedp.Click(`.wizard-foot button:not(.is-primary)`), chromedp.WaitVisible(`.choices input[value="release"]`))
	b.do(chromedp.Click(`.wizard-foot button:not(.is-primary)`), chromedp.WaitVisible("#name"))
	b.do(chromedp.Click(`.wizard-foot button.is-primary`), chromedp.WaitVisible(`.choices input[value="release"]`))
	b.do(chromedp.Click(`.wizard-foot button.is-primary`), chromedp.WaitVisible("[name=fence]"), chromedp.Click(`[name=fence]`))
	b.do(chromedp.Click(`.wizard-foot button.is-primary`), chromedp.WaitVisible("#cred"))
	token := must(chromedp.Run(b.ctx, chromedp.Text("#cred")))(t)
	e := must(h.identity.ResolveCredential(t.Context(), strings.TrimSpace(token)))(t)
	if e.AgentName != "Fixer Nine" || strings.Join(e.Queues, " ") != "lane-s lane-m" || e.Grants(identity.VerbRelease) ||
		!e.Grants(identity.VerbSetDefaultLease) || *e.DefaultLeaseTTLSeconds != 600 || *e.DefaultMaxAttempts != 3 || !e.RequireFence {
		t.Errorf("vended %+v", e)
	}
	b.quiet()
}

// Without a script it is a form after another, each with what the ones before it hold.
func TestWizard_IsFormsAlone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.signedIn(h.owner)
	page := me.get("/endpoints/vend").body
	fill := func(changed url.Values) {
		t.Helper()
		form := url.Values{}
		for _, m := range regexp.MustCompile(`<input type="(?:hidden|checkbox)" name="([a-z]+)" value="([^"]*)"( checked)?`).FindAllStringSubmatch(page, -1) {
			if strings.HasPrefix(m[0], `<input type="hidden"`) || m[3] != "" {
				form.Add(m[1], html.UnescapeString(m[2]))
			}
		}
		for name, values := range changed {
			form[name] = values
		}
		got := me.post("/endpoints/vend", form)
		if got.StatusCode != http.StatusOK {
			t.Fatalf("%v: %d", changed, got.StatusCode)
		}
		page = got.body
	}
	fill(url.Values{"name": {"Fixer"}, "queues": {"lane-s"}, "go": {"2"}})
	fill(url.Values{"go": {"3"}})
	fill(url.Values{"lease": {"10"}, "go": {"4"}})
	e := must(h.identity.ResolveCredential(t.Context(), credential.FindString(page)))(t)
	if e.AgentName != "Fixer" || e.Queues[0] != "lane-s" || *e.DefaultLeaseTTLSeconds != 600 || len(e.Verbs) != len(identity.DrainVerbs) {
		t.Errorf("vended %+v", e)
	}
}

func TestWizard_SaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.signedIn(h.owner)
	form := formToken(t, me.get("/endpoints/vend").body)
	for name, c := range map[string]struct {
		fields url.Values
		want   string
	}{
		"no name":        {url.Values{"step": {"1"}, "go": {"2"}}, "The agent’s name must be given."},
		"a bad queue":    {url.Values{"step": {"1"}, "go": {"2"}, "name": {"x"}, "queues": {"Lane S"}}, "A queue must be lower-case"},
		"the quarantine": {url.Values{"step": {"1"}, "go": {"2"}, "name": {"x"}, "queues": {"quarantine"}}, "quarantine is reserved"},
		"no verb":        {url.Values{"step": {"2"}, "go": {"3"}, "name": {"x"}}, "must hold at least one verb"},
		"a long lease":   {url.Values{"step": {"3"}, "go": {"4"}, "name": {"x"}, "verb": {"claim"}, "lease": {"99999"}}, "must be 60 to 86400"},
		"words":          {url.Values{"step": {"3"}, "go": {"4"}, "name": {"x"}, "verb": {"claim"}, "attempts": {"many"}}, "Attempts must be a whole number"},
	} {
		c.fields.Set("form", form)
		got := me.post("/endpoints/vend", c.fields)
		said := strings.ReplaceAll(got.body, "&#39;", "’")
		if got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(said, c.want) || !strings.Contains(said, `role="alert"`) {
			t.Errorf("%s: %d, and not %q", name, got.StatusCode, c.want)
		}
		if c.fields.Get("name") != "" && !strings.Contains(got.body, `name="name" value="x"`) {
			t.Errorf("%s: what was typed is lost", name)
		}
	}
	if list := must(h.identity.Endpoints(t.Context(), h.owner.ID))(t); len(list) != 0 {
		t.Errorf("%d endpoints were made", len(list))
	}
}

// A credential is shown once: by the answer that made it, and by no page after it.
func TestEndpoints_ShowACredentialOnce(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	me := h.signedIn(h.owner)
	form := url.Values{"form": {formToken(t, me.get("/endpoints").body)}}
	made := me.post("/endpoints/quick", form)
	first := credential.FindString(made.body)
	e := must(h.identity.ResolveCredential(t.Context(), first))(t)
	if made.Header.Get("Cache-Control") != "no-store" {
		t.Error("a browser may keep the page")
	}
	for _, path := range []string{"/endpoints", "/", endpointPath(e.Slug, "edit")} {
		if strings.Contains(me.get(path).body, "sbk_"+first[4:]) {
			t.Errorf("%s shows it again", path)
		}
	}
	overlap := url.Values{"form": form["form"], "overlap": {"hour"}}
	second := credential.FindString(me.post(endpointPath(e.Slug, "rotate"), overlap).body)
	must(h.identity.ResolveCredential(t.Context(), first))(t)
	must(h.identity.ResolveCredential(t.Context(), second))(t)
	third := credential.FindString(me.post(endpointPath(e.Slug, "rotate"), form).body)
	if _, err := h.identity.ResolveCredential(t.Context(), second); err == nil || third == "" {
		t.Error("a rotation without an overlap left the earlier credential")
	}
	edited := me.post(endpointPath(e.Slug, "edit"), url.Values{"form": form["form"], "lease": {"20"}, "fence": {"on"}})
	if again := must(h.identity.Endpoint(t.Context(), h.owner.ID, e.Slug))(t); edited.StatusCode != http.StatusSeeOther ||
		*again.DefaultLeaseTTLSeconds != 1200 || !again.RequireFence || again.DefaultMaxAttempts != nil {
		t.Errorf("%d, and the defaults are %+v", edited.StatusCode, again)
	}
	me.post(endpointPath(e.Slug, "revoke"), form)
	if _, err := h.identity.ResolveCredential(t.Context(), third); err == nil {
		t.Error("a revoked endpoint's credential works")
	}
	if body := me.get("/endpoints").body; !strings.Contains(body, "revoked") || strings.Contains(body, endpointPath(e.Slug, "rotate")) {
		t.Error("the card of a revoked endpoint offers what cannot be done")
	}
}

// REQ-18: another human's endpoint is unknown, byte by byte.
func TestEndpoints_OfAnotherHumanAreUnknown(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	e := h.vend(h.owner, "bugfix", "lane-s")
	second := h.signedIn(h.human("Second"))
	form := url.Values{"form": {formToken(t, second.get("/endpoints").body)}}
	for _, action := range []string{"edit", "rotate", "revoke"} {
		foreign, unknown := second.post(endpointPath(e.Slug, action), form), second.post(endpointPath("no-such", action), form)
		if foreign.StatusCode != http.StatusNotFound || foreign.body != unknown.body {
			t.Errorf("%s: %d and %d", action, foreign.StatusCode, unknown.StatusCode)
		}
	}
	if foreign, unknown := second.get(endpointPath(e.Slug, "edit")), second.get(endpointPath("no-such", "edit")); foreign.body != unknown.body || foreign.StatusCode != http.StatusNotFound {
		t.Error("the form of a foreign endpoint differs from that of none")
	}
	if again := must(h.identity.Endpoint(t.Context(), h.owner.ID, e.Slug))(t); again.RevokedAt != nil {
		t.Error("it was revoked by somebody else")
	}
}
