package intake_test

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/switchboard-otel/switchboard/app/identity"
	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/ratelimit"
	"github.com/switchboard-otel/switchboard/app/webhook"
)

// The list: wrong secret, wrong body byte, replay, stale, missing, malformed. Each has its answer and its
// counted reason, and leaves nothing.
func TestDelivery_WhatIsNotGenuineIsCountedAndLeavesNothing(t *testing.T) {
	w := setup(t)
	const body = `{"action":"opened"}`
	github, slack := w.create(webhook.GitHub), w.create(webhook.Slack)
	stamp := strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10)
	good := signed(github.Secret, body)
	for name, c := range map[string]struct {
		to      *intake.Shown
		body    string
		headers []string
		status  int
		counted string
	}{
		"another secret":    {github, body, []string{"X-Hub-Signature-256", signed("another", body)}, 401, "github bad_signature"},
		"another body byte": {github, strings.Replace(body, "opened", "Opened", 1), []string{"X-Hub-Signature-256", good}, 401, "github bad_signature"},
		"no signature":      {github, body, nil, 401, "github missing_signature"},
		"the older one":     {github, body, []string{"X-Hub-Signature", strings.Replace(good, "sha256", "sha1", 1)}, 401, "github missing_signature"},
		"not of its form":   {github, body, []string{"X-Hub-Signature-256", good[:20]}, 401, "github malformed"},
		"an old replay": {slack, body, []string{"X-Slack-Request-Timestamp", stamp, "X-Slack-Signature",
			strings.Replace(signed(slack.Secret, "v0:"+stamp+":"+body), "sha256=", "v0=", 1)}, 401, "slack stale"},
		"no time":         {slack, body, []string{"X-Slack-Signature", strings.Replace(good, "sha256=", "v0=", 1)}, 401, "slack missing_signature"},
		"more than 5 MiB": {github, strings.Repeat("x", 5<<20+1), []string{"X-Hub-Signature-256", good}, 413, "github too_large"},
	} {
		w.counts.take()
		got := w.send(c.to.URL, c.body, c.headers...)
		if diff := cmp.Diff(map[string]int{c.counted: 1}, w.counts.take()); got.status != c.status || diff != "" {
			t.Errorf("%s: %d %s, counted %s", name, got.status, got.body, diff)
		}
		if strings.Contains(got.body, "opened") || strings.Contains(got.body, github.Secret) {
			t.Errorf("%s: the answer quotes the delivery: %s", name, got.body)
		}
	}
	if got := w.stored(); got != [2]int{} {
		t.Errorf("%v events and todos are stored", got)
	}
}

func TestDelivery_OfUnknownSizeIsCutOffAtTheCap(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.Generic)
	body := io.MultiReader(strings.NewReader(strings.Repeat("x", 5<<20)), strings.NewReader("x"))
	if got := w.request(http.MethodPost, to.URL, io.NopCloser(body)); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := w.send(to.URL, strings.Repeat("x", 5<<20)).receipt(t); got.Created != 1 {
		t.Errorf("a body of exactly the cap: %+v", got)
	}
	if _, err := w.db.Pool.Exec(t.Context(), `INSERT INTO settings VALUES ('webhook_max_body_bytes', '2048')`); err != nil {
		t.Fatal(err)
	}
	w.await("the setting to hold", func() error {
		if got := w.send(to.URL, strings.Repeat("y", 2049)); got.status != http.StatusRequestEntityTooLarge {
			return fmt.Errorf("%d", got.status)
		}
		return nil
	})
}

// await tries until it holds. The settings are read once a second.
func (w *world) await(what string, try func() error) {
	w.t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			w.t.Fatalf("%s: %v", what, err)
		}
	}
}

// An address that nobody has, in whatever form, is one answer; so is one that was deleted, and one whose endpoint
// has ended.
func TestDelivery_UnknownAddressesAreOneAnswer(t *testing.T) {
	w := setup(t)
	deleted, ended, lives := w.create(webhook.Generic), w.create(webhook.GitHub), w.create(webhook.Generic)
	other := w.vend(w.human.ID)
	if err := w.intake.Delete(t.Context(), intake.OfHuman(w.human.ID), deleted.ID.UUID()); err != nil {
		t.Fatal(err)
	}
	want := w.send(w.url+"/webhooks/w/"+strings.Repeat("A", 22), `{}`)
	if want.status != http.StatusNotFound {
		t.Fatalf("%d %s", want.status, want.body)
	}
	w.endpoint, other = other, w.endpoint
	if _, err := w.identity.Revoke(t.Context(), w.human.ID, other.Slug); err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{deleted.URL, ended.URL, lives.URL, w.url + "/webhooks/w/", w.url + "/webhooks/w/x", w.url + "/webhooks/w/%ff%00", lives.URL + "x",
		w.url + "/webhooks/w/" + strings.Repeat("A", 4000), w.url + "/webhooks/w/a/b"} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodPut} {
			got := w.request(method, address, strings.NewReader(`{}`), "X-Hub-Signature-256", "sha256=00")
			got.header.Del("Date")
			want.header.Del("Date")
			if diff := cmp.Diff(want, got, cmp.AllowUnexported(reply{})); diff != "" {
				t.Errorf("%s %s: %s", method, address, diff)
			}
		}
	}
	if got := w.stored(); got != [2]int{} {
		t.Errorf("%v events and todos are stored", got)
	}
	if got := w.request(http.MethodGet, w.create(webhook.Generic).URL, nil); got.status != http.StatusMethodNotAllowed || got.header.Get("Allow") != "POST" {
		t.Errorf("GET of an address that lives: %d %v", got.status, got.header)
	}
}

func TestDelivery_AgainIsTheSameTodoWhateverBecameOfIt(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.GitHub)
	first := w.github(to, "d-1", `{"n":1}`).receipt(t)
	if first.Created != 1 || !first.Todos[0].Created || first.Todos[0].Queue != "lane-s" || !first.Verified || first.Trust != "signed" {
		t.Fatalf("%+v", first)
	}
	again := func() {
		t.Helper()
		w.counts.take()
		got := w.github(to, "d-1", `{"n":1}`).receipt(t)
		if got.Created != 0 || len(got.Todos) != 1 || got.Todos[0].Created || got.Todos[0].ID != first.Todos[0].ID {
			t.Errorf("again: %+v", got)
		}
		if diff := cmp.Diff(map[string]int{"github duplicate": 1}, w.counts.take()); diff != "" {
			t.Error(diff)
		}
	}
	again()
	for _, end := range []string{`state = 'canceled', ended_at = sb_now()`, `state = 'done'`} {
		if _, err := w.db.Pool.Exec(t.Context(), `UPDATE todos SET `+end); err != nil {
			t.Fatal(err)
		}
		again()
	}
	if got := w.stored(); got != [2]int{1, 1} {
		t.Errorf("%v events and todos", got)
	}
	// What names a delivery is the webhook's own: another one's same name is another delivery.
	if other := w.github(w.create(webhook.GitHub), "d-1", `{"n":1}`).receipt(t); other.Created != 1 {
		t.Errorf("on another webhook: %+v", other)
	}
}

// Of many deliveries of the same at once one makes the todo, and all answer it.
func TestDelivery_TheSameAtOnceIsOneTodo(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.Generic)
	const senders = 12
	answers := make(chan reply, senders)
	for range senders {
		go func() { answers <- w.send(to.URL, `{"n":1}`, "X-Delivery-Id", "one") }()
	}
	created, ids := 0, map[string]bool{}
	for range senders {
		got := (<-answers).receipt(t)
		created += got.Created
		ids[got.Todos[0].ID] = true
	}
	if got := w.stored(); created != 1 || len(ids) != 1 || got != [2]int{1, 1} {
		t.Errorf("%d created, %d ids, %v stored", created, len(ids), got)
	}
}

func TestDelivery_WithoutANameIsNamedByItsBody(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.Generic)
	for _, c := range []struct {
		body    string
		created int
	}{{`{"n":1}`, 1}, {`{"n":1}`, 0}, {`{"n":2}`, 1}, {"", 1}, {"", 0}, {"\x00\xff", 1}} {
		if got := w.send(to.URL, c.body).receipt(t); got.Created != c.created {
			t.Errorf("%q: %+v", c.body, got)
		}
	}
}

func TestDelivery_SlackIsAnsweredItsChallengeAndNothingIsStored(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.Slack)
	const body = `{"type":"url_verification","challenge":"3eZbrw1aBm2rZgRNFdxV"}`
	stamp := strconv.FormatInt(time.Now().Unix(), 10)
	got := w.send(to.URL, body, "X-Slack-Request-Timestamp", stamp,
		"X-Slack-Signature", strings.Replace(signed(to.Secret, "v0:"+stamp+":"+body), "sha256=", "v0=", 1))
	if got.status != http.StatusOK || got.body != `{"challenge":"3eZbrw1aBm2rZgRNFdxV"}`+"\n" || w.stored() != [2]int{} {
		t.Errorf("%d %s, stored %v", got.status, got.body, w.stored())
	}
	if got := w.send(to.URL, body); got.status != http.StatusUnauthorized {
		t.Errorf("a challenge that nobody signed: %d", got.status)
	}
}

func TestDelivery_OverALimiterIs429AndLeavesNothing(t *testing.T) {
	w := setup(t)
	to, other := w.create(webhook.Generic), w.create(webhook.Generic)
	w.handler.PerWebhook = ratelimit.New(0.001, 1)
	w.send(to.URL, `1`).receipt(t)
	w.counts.take()
	got := w.send(to.URL, `2`)
	if after, err := strconv.Atoi(got.header.Get("Retry-After")); got.status != http.StatusTooManyRequests || err != nil || after < 1 || after > 5 {
		t.Errorf("%d, Retry-After %q", got.status, got.header.Get("Retry-After"))
	}
	if diff := cmp.Diff(map[string]int{"generic rate_limited": 1}, w.counts.take()); diff != "" {
		t.Error(diff)
	}
	w.send(other.URL, `3`).receipt(t)
	w.handler.PreAuth = ratelimit.New(0.001, 1)
	w.send(w.url+"/webhooks/w/x", ``)
	if got := w.send(other.URL, `4`); got.status != http.StatusTooManyRequests {
		t.Errorf("over the limiter of addresses: %d", got.status)
	}
	if got := w.stored(); got != [2]int{2, 2} {
		t.Errorf("stored %v", got)
	}
}

// While a secret is renewed both count, for as long as was asked for.
func TestRotate_BothCountUntilTheOverlapHasPassed(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.GitHub)
	renewed, err := w.intake.Rotate(t.Context(), intake.OfHuman(w.human.ID), to.ID.UUID(), intake.RotateParams{})
	if err != nil || renewed.Secret == to.Secret || renewed.URL != "" {
		t.Fatalf("%+v %v", renewed, err)
	}
	renewed.URL = to.URL
	w.github(to, "1", `1`).receipt(t)
	w.github(renewed, "2", `2`).receipt(t)
	if detail := w.count(`SELECT count(*) FROM events WHERE verify_detail LIKE '%by the secret before the last rotation'`); detail != 1 {
		t.Errorf("%d events tell of the old secret", detail)
	}
	w.db.Advance(t, intake.DefaultOverlap+time.Second)
	if got := w.github(to, "3", `3`); got.status != http.StatusUnauthorized {
		t.Errorf("the old secret after the overlap: %d", got.status)
	}
	w.github(renewed, "4", `4`).receipt(t)
	leaked, err := w.intake.Rotate(t.Context(), intake.OfHuman(w.human.ID), to.ID.UUID(), intake.RotateParams{Overlap: ptr(time.Duration(0))})
	if err != nil || leaked.OverlapUntil != nil {
		t.Fatalf("%+v %v", leaked, err)
	}
	if got := w.github(renewed, "5", `5`); got.status != http.StatusUnauthorized {
		t.Errorf("a secret that leaked: %d", got.status)
	}
}

func TestRotate_RenewsAnAddressTheSameWay(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.Generic)
	renewed, err := w.intake.Rotate(t.Context(), intake.OfHuman(w.human.ID), to.ID.UUID(), intake.RotateParams{Overlap: ptr(time.Hour)})
	if err != nil || renewed.URL == to.URL || renewed.Secret != "" {
		t.Fatalf("%+v %v", renewed, err)
	}
	w.send(to.URL, `1`).receipt(t)
	w.send(renewed.URL, `2`).receipt(t)
	w.db.Advance(t, 2*time.Hour)
	if got := w.send(to.URL, `3`); got.status != http.StatusNotFound {
		t.Errorf("the old address: %d", got.status)
	}
	w.send(renewed.URL, `4`).receipt(t)
}

// Nothing that could be used is in the tables or in a log: no address, no secret.
func TestSecrets_AreNowhereInTheStore(t *testing.T) {
	w := setup(t)
	to, generic := w.create(webhook.GitHub), w.create(webhook.Generic)
	w.github(to, "1", `{}`).receipt(t)
	token := strings.TrimPrefix(generic.URL, w.url+intake.AddressPrefix)
	w.send(generic.URL, `{}`, "X-Original-URI", "/webhooks/w/"+token, "Authorization", "Bearer planted").receipt(t)
	var dump string
	err := w.db.Pool.QueryRow(t.Context(), `SELECT (SELECT string_agg(w::text, '') FROM webhooks w) || (SELECT string_agg(v::text, '') FROM events v)
		|| (SELECT string_agg(t::text, '') FROM todos t)`).Scan(&dump)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{to.Secret, strings.TrimPrefix(to.Secret, "whsec_"), token, "planted", signed(to.Secret, `{}`)[7:]} {
		if strings.Contains(dump, secret) {
			t.Errorf("%q is in the tables", secret)
		}
	}
}

func TestCreate_NeedsTheKeyForASignedWebhookAndStaysWithinTheCeiling(t *testing.T) {
	w := setup(t, func(c *intake.Config) { c.Sealer = nil })
	if _, err := w.intake.Create(t.Context(), w.endpoint, intake.CreateParams{Source: webhook.GitHub}); err == nil || !strings.Contains(err.Error(), "SWITCHBOARD_SECRET_ENCRYPTION_KEY") {
		t.Errorf("without a key: %v", err)
	}
	w.create(webhook.Generic)
	narrow := w.vend(w.human.ID, func(p *identity.VendParams) {
		p.WebhooksMax, p.WebhookSources, p.WebhookQueues = ptr(1), []string{"generic"}, []string{"lane-m"}
	})
	for _, c := range []struct {
		p    intake.CreateParams
		want string
	}{
		{intake.CreateParams{Source: "ftp"}, "source_type"},
		{intake.CreateParams{Source: webhook.Stripe}, "forbidden"},
		{intake.CreateParams{Source: webhook.Generic, TargetQueue: "lane-s"}, "forbidden"},
		{intake.CreateParams{Source: webhook.Generic, TargetQueue: "quarantine"}, "forbidden"},
		{intake.CreateParams{Source: webhook.Generic, Secret: ptr("long enough")}, "secret"},
		{intake.CreateParams{Source: webhook.Generic}, ""},
		{intake.CreateParams{Source: webhook.Generic}, "conflict"},
	} {
		got, err := w.intake.Create(t.Context(), narrow, c.p)
		if c.want == "" && (err != nil || got.TargetQueue != "lane-m") || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %+v %v", c.p, got, err)
		}
	}
}

// Without the key nobody can tell what is genuine: the producer is asked to send again, and nothing is stored.
func TestDelivery_WithoutTheKeyIs503AndLeavesNothing(t *testing.T) {
	w := setup(t)
	to := w.create(webhook.GitHub)
	for name, key := range map[string]string{"another key": strings.Repeat("5f", 32), "no key": ""} {
		cfg := intake.Config{Pool: w.db.Pool, Queue: w.queue, Settings: w.handler.Settings, Metrics: w.counts}
		if key != "" {
			var err error
			if cfg.Sealer, err = intake.NewSealer(key); err != nil {
				t.Fatal(err)
			}
		}
		w.handler.Intake = intake.NewStore(cfg)
		if got := w.github(to, "d", `{}`); got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || w.stored() != [2]int{} {
			t.Errorf("%s: %d %s, stored %v", name, got.status, got.body, w.stored())
		}
	}
	w.handler.Intake = w.intake
	w.github(to, "d", `{}`).receipt(t)
}
