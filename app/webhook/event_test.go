package webhook_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/switchboard-otel/switchboard/app/webhook"
)

func TestRead_WhatADeliveryIsAbout(t *testing.T) {
	const hash = "sha256:"
	for name, c := range map[string]struct {
		source webhook.Source
		header http.Header
		body   string
		want   webhook.Event
	}{
		"an issue on GitHub": {webhook.GitHub, http.Header{"X-Github-Event": {"issues"}, "X-Github-Delivery": {"72d3162e-cc78-11e3-81ab-4c9367dc0958"}},
			`{"action":"opened","issue":{"number":12,"title":"Login fails\nafter an hour"},"repository":{"full_name":"acme/web"}}`,
			webhook.Event{ExternalID: "72d3162e-cc78-11e3-81ab-4c9367dc0958", Type: "issues.opened", Subject: "acme/web#12", Title: "issues.opened acme/web#12: Login fails after an hour"}},
		"a push to Gitea": {webhook.Gitea, http.Header{"X-Gitea-Event": {"push"}, "X-Github-Event": {"other"}, "X-Gitea-Delivery": {"d"}},
			`{"repository":{"full_name":"acme/web"},"head_commit":{"message":"Fix it\n\nlong"}}`,
			webhook.Event{ExternalID: "d", Type: "push", Subject: "acme/web", Title: "push acme/web: Fix it"}},
		"a charge of Stripe": {webhook.Stripe, nil, `{"id":"evt_1","type":"charge.failed","data":{"object":{"id":"ch_1"}}}`,
			webhook.Event{ExternalID: "evt_1", Type: "charge.failed", Subject: "ch_1", Title: "charge.failed ch_1"}},
		"a message in Slack": {webhook.Slack, nil, `{"type":"event_callback","event_id":"Ev1","event":{"type":"app_mention","text":"deploy it"}}`,
			webhook.Event{ExternalID: "Ev1", Type: "app_mention", Title: "app_mention: deploy it"}},
		"Standard Webhooks": {webhook.Standard, http.Header{"Webhook-Id": {"msg_1"}}, `{"type":"user.created","data":{}}`,
			webhook.Event{ExternalID: "msg_1", Type: "user.created", Title: "user.created"}},
		"generic, named": {webhook.Generic, http.Header{"Webhook-Id": {"b"}, "X-Delivery-Id": {"a"}}, `{"title":"Disk full","event":"alert"}`,
			webhook.Event{ExternalID: "a", Type: "alert", Title: "alert: Disk full"}},
		"generic, nothing known":                  {webhook.Generic, nil, `nothing`, webhook.Event{ExternalID: hash, Title: "generic delivery"}},
		"an id that is too long":                  {webhook.Generic, http.Header{"X-Delivery-Id": {strings.Repeat("x", 257)}}, `{}`, webhook.Event{ExternalID: hash, Title: "generic delivery"}},
		"an id with what cannot be stored":        {webhook.GitHub, http.Header{"X-Github-Delivery": {"a\xff"}}, `{}`, webhook.Event{ExternalID: hash, Title: "github delivery"}},
		"fields of other types than they ought":   {webhook.GitHub, http.Header{"X-Github-Event": {"issues"}}, `{"action":7,"issue":[],"repository":"x","head_commit":null}`, webhook.Event{ExternalID: hash, Type: "issues", Title: "issues"}},
		"an action without an event to be one of": {webhook.GitHub, nil, `{"action":"opened"}`, webhook.Event{ExternalID: hash, Title: "github delivery"}},
	} {
		if c.header == nil {
			c.header = http.Header{}
		}
		got := c.source.Read(c.header, []byte(c.body), webhook.JSON("application/json", []byte(c.body)))
		if c.want.ExternalID == hash {
			if len(got.ExternalID) != len(hash)+64 {
				t.Errorf("%s: the body's own name is %q", name, got.ExternalID)
			}
			got.ExternalID = hash
		}
		if got != c.want {
			t.Errorf("%s:\ngot  %+v\nwant %+v", name, got, c.want)
		}
	}
}

func TestJSON_IsTheDocumentOrNothing(t *testing.T) {
	for _, c := range []struct{ contentType, body, want string }{
		{"application/json", ` {"a":1} `, `{"a":1}`},
		{"", `7`, `7`},
		{"application/x-www-form-urlencoded", `payload=%7B%22a%22%3A1%7D`, `{"a":1}`},
		{"application/x-www-form-urlencoded; charset=utf-8", `command=%2Fdeploy&text=x`, ``},
		{"text/plain", `hello`, ``},
		{"application/json", "\"\xff\"", ``},
		{"application/json", `{"a":1}{}`, ``},
		{"application/json", ``, ``},
	} {
		if got := string(webhook.JSON(c.contentType, []byte(c.body))); got != c.want {
			t.Errorf("%s %q: %q", c.contentType, c.body, got)
		}
	}
}

func TestSanitize_KeepsNoSecretAndNoAddress(t *testing.T) {
	const token, planted = "AbCdEfGhIjKlMnOpQrStUv", "planted-value"
	header := http.Header{"X-Original-Url": {"/webhooks/w/" + token}, "X-Github-Event": {"issues"}, "Accept": {"a", "b"}}
	for _, secret := range []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key", "X-Hub-Signature", "X-Hub-Signature-256",
		"X-Gitea-Signature", "X-Forgejo-Signature", "Stripe-Signature", "X-Slack-Signature", "Webhook-Signature", "X-Gitlab-Token", "X-Webhook-Secret"} {
		header.Set(secret, planted)
	}
	for _, address := range []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded", "Cf-Connecting-Ip", "True-Client-Ip"} {
		header.Set(address, "192.0.2.7")
	}
	kept := webhook.Sanitize(header, token)
	text, _ := json.Marshal(kept)
	for _, bad := range []string{planted, token, "192.0.2.7"} {
		if strings.Contains(string(text), bad) {
			t.Errorf("%q is kept in %s", bad, text)
		}
	}
	if kept["x-github-event"] != "issues" || kept["accept"] != "a, b" || kept["authorization"] != "[REDACTED]" {
		t.Errorf("kept %v", kept)
	}
}

func TestSanitize_IsBounded(t *testing.T) {
	header := http.Header{}
	for i := range 200 {
		header.Set("X-"+strings.Repeat("a", i+1), strings.Repeat("é", 4000)+"\x00\xff")
	}
	kept := webhook.Sanitize(header, "")
	text, err := json.Marshal(kept)
	if err != nil || len(kept) == 0 || len(text) > 65536 {
		t.Errorf("%d headers of %d bytes are kept: %v", len(kept), len(text), err)
	}
	for name, value := range kept {
		if !utf8.ValidString(name) || !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
			t.Errorf("%s cannot be stored", name)
		}
	}
}

func FuzzRead_IsStorableWhateverComes(f *testing.F) {
	f.Add("issues", "id", `{"action":"opened","issue":{"number":1,"title":"t"}}`)
	f.Add("\xff", strings.Repeat("x", 300), `{"type":"\u0000","event":{"text":"`+strings.Repeat("é", 300)+`"}}`)
	f.Fuzz(func(t *testing.T, name, id, body string) {
		header := http.Header{"X-Github-Event": {name}, "X-Github-Delivery": {id}, "Webhook-Id": {id}, "X-Delivery-Id": {id}}
		for _, source := range webhook.Sources {
			e := source.Read(header, []byte(body), webhook.JSON("application/json", []byte(body)))
			for what, c := range map[string]struct {
				text string
				most int
			}{"id": {e.ExternalID, 256}, "type": {e.Type, 64}, "title": {e.Title, 256}, "subject": {e.Subject, 256}} {
				if len(c.text) > c.most || !utf8.ValidString(c.text) || strings.ContainsRune(c.text, 0) {
					t.Errorf("%s: the %s cannot be stored: %q", source, what, c.text)
				}
			}
			if e.ExternalID == "" || e.Title == "" {
				t.Errorf("%s: %+v", source, e)
			}
		}
	})
}
