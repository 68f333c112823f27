package webhook_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/switchboard-otel/switchboard/app/webhook"
)

// vector is a delivery whose signature somebody else has made.
type vector struct {
	source webhook.Source
	secret string
	header http.Header
	body   string
	at     time.Time
	carry  string // the header that carries the signature
}

// published are the examples in the producers' own documentation. Stripe prints no signature: that one was made
// with openssl dgst -sha256 -hmac. Gitea signs as GitHub does.
var published = map[string]vector{
	"github": {source: webhook.GitHub, secret: "It's a Secret to Everybody", body: "Hello, World!", carry: "X-Hub-Signature-256",
		header: http.Header{"X-Hub-Signature-256": {"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}}},
	"gitea": {source: webhook.Gitea, secret: "It's a Secret to Everybody", body: "Hello, World!", carry: "X-Gitea-Signature",
		header: http.Header{"X-Gitea-Signature": {"757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}}},
	"gitea, by GitHub's header": {source: webhook.Gitea, secret: "It's a Secret to Everybody", body: "Hello, World!", carry: "X-Hub-Signature-256",
		header: http.Header{"X-Hub-Signature-256": {"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"}}},
	"slack": {source: webhook.Slack, secret: "8f742231b10e8888abcd99yyyzzz85a5", at: time.Unix(1531420618, 0), carry: "X-Slack-Signature",
		body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
		header: http.Header{"X-Slack-Request-Timestamp": {"1531420618"},
			"X-Slack-Signature": {"v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"}}},
	"standard": {source: webhook.Standard, secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", at: time.Unix(1614265330, 0), carry: "Webhook-Signature",
		body: `{"test": 2432232314}`,
		header: http.Header{"Webhook-Id": {"msg_p5jXN8AQM9LWM0D4loKWxJek"}, "Webhook-Timestamp": {"1614265330"},
			"Webhook-Signature": {"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}}},
	"stripe": {source: webhook.Stripe, secret: "whsec_test_secret_of_a_dashboard", at: time.Unix(1492774577, 0), carry: "Stripe-Signature",
		body:   `{"id":"evt_1NG8Du2eZvKYlo2CUI79vXWy","object":"event","type":"charge.succeeded"}`,
		header: http.Header{"Stripe-Signature": {"t=1492774577,v1=1d095de406e31f8511bedd6c832079cc96bcd62bd769141d4b6f0fd0fdb45564,v0=6ffbb59b2300aae63f272406069a9788598b792a944a07aba816edb039989a39"}}},
}

func (v vector) verify(t testing.TB, header http.Header, body string, now time.Time, secrets ...string) (webhook.Verdict, int) {
	var keys [][]byte
	for _, secret := range secrets {
		key, ok := v.source.Key(secret)
		if !ok {
			t.Fatalf("%s has no key in %q", v.source, secret)
		}
		keys = append(keys, key)
	}
	return v.source.Verify(header, []byte(body), keys, now)
}

func TestVerify_TheProducersOwnExamples(t *testing.T) {
	for name, v := range published {
		if got, _ := v.verify(t, v.header, v.body, v.at, v.secret); got != webhook.Verified {
			t.Errorf("%s: %s", name, got)
		}
		// While a secret is rotated both count, and it is told which one did.
		other := "whsec_" + base64.StdEncoding.EncodeToString([]byte("another secret altogether"))
		if got, which := v.verify(t, v.header, v.body, v.at, other, v.secret); got != webhook.Verified || which != 1 {
			t.Errorf("%s, by the secret before: %s %d", name, got, which)
		}
	}
}

func TestVerify_EveryOtherByteIsForged(t *testing.T) {
	for name, v := range published {
		for i := range len(v.body) {
			body := []byte(v.body)
			body[i] ^= 1
			if got, _ := v.verify(t, v.header, string(body), v.at, v.secret); got != webhook.BadSignature {
				t.Fatalf("%s with byte %d flipped: %s", name, i, got)
			}
		}
		for _, body := range []string{"", v.body + " ", v.body[1:], v.body[:len(v.body)-1]} {
			if got, _ := v.verify(t, v.header, body, v.at, v.secret); got != webhook.BadSignature {
				t.Errorf("%s with another body: %s", name, got)
			}
		}
		other := "whsec_" + base64.StdEncoding.EncodeToString([]byte("another secret altogether"))
		if got, _ := v.verify(t, v.header, v.body, v.at, other); got != webhook.BadSignature {
			t.Errorf("%s with another secret: %s", name, got)
		}
		if got, _ := v.verify(t, v.header, v.body, v.at); got != webhook.BadSignature {
			t.Errorf("%s without a secret: %s", name, got)
		}
	}
}

func TestVerify_AGenuineDeliveryOutsideTheWindowIsStaleAndAForgedOneIsForged(t *testing.T) {
	for name, v := range published {
		for _, off := range []time.Duration{-webhook.Window, webhook.Window} {
			if got, _ := v.verify(t, v.header, v.body, v.at.Add(off), v.secret); got != webhook.Verified {
				t.Errorf("%s at the window's edge: %s", name, got)
			}
			late, want := v.at.Add(off+off/time.Duration(300)), webhook.Stale
			if v.at.IsZero() { // GitHub and Gitea sign no time
				want = webhook.Verified
			}
			if got, _ := v.verify(t, v.header, v.body, late, v.secret); got != want {
				t.Errorf("%s outside the window: %s", name, got)
			}
			if got, _ := v.verify(t, v.header, v.body+"x", late, v.secret); got != webhook.BadSignature {
				t.Errorf("%s, forged and late: %s", name, got)
			}
		}
	}
}

func TestVerify_WhatCarriesTheSignatureIsMissingOrMalformed(t *testing.T) {
	malformed := map[string][]string{
		"X-Hub-Signature-256": {"sha256=", "sha1=757107ea", "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", "sha256=xyz107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", "sha256=75", "\x00"},
		"X-Gitea-Signature":   {"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17", "75", "zz"},
		"X-Slack-Signature":   {"v0=", "v1=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503", "a2"},
		"Webhook-Signature":   {"v1", "v1,", "v1,AAAA", "v1a,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", "g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=", " "},
		"Stripe-Signature":    {"t=1492774577", "v1=00", "t=x,v1=" + strings.Repeat("0", 64), "t=1,t=1,v1=" + strings.Repeat("0", 64), "t=-5,v1=" + strings.Repeat("0", 64), "t=99999999999999999999,v1=" + strings.Repeat("0", 64), "t=1,v0=" + strings.Repeat("0", 64), ",,,"},
	}
	for name, v := range published {
		for header := range v.header {
			without := v.header.Clone()
			without.Del(header)
			if got, _ := v.verify(t, without, v.body, v.at, v.secret); got != webhook.MissingSignature {
				t.Errorf("%s without %s: %s", name, header, got)
			}
			if strings.HasSuffix(header, "Timestamp") {
				for _, stamp := range []string{"soon", "1.5", "-1", "99999999999999999999", " 1"} {
					with := v.header.Clone()
					with.Set(header, stamp)
					if got, _ := v.verify(t, with, v.body, v.at, v.secret); got != webhook.Malformed {
						t.Errorf("%s with the time %q: %s", name, stamp, got)
					}
				}
			}
		}
		if len(malformed[v.carry]) == 0 {
			t.Errorf("what is a malformed %s?", v.carry)
		}
		for _, value := range malformed[v.carry] {
			with := v.header.Clone()
			with.Set(v.carry, value)
			if got, _ := v.verify(t, with, v.body, v.at, v.secret); got != webhook.Malformed {
				t.Errorf("%s with %q: %s", name, value, got)
			}
		}
		twice := v.header.Clone()
		twice.Add(v.carry, v.header.Get(v.carry))
		if got, _ := v.verify(t, twice, v.body, v.at, v.secret); got != webhook.Malformed {
			t.Errorf("%s with two of %s: %s", name, v.carry, got)
		}
	}
}

// Of several signatures one must be right, whatever the others are.
func TestVerify_OneOfSeveralSignatures(t *testing.T) {
	standard, stripe := published["standard"], published["stripe"]
	for _, list := range []string{"v1,AAAA %s", "v1a,AAAA v1," + base64.StdEncoding.EncodeToString(make([]byte, 32)) + " %s", "%s v2,xyz"} {
		header := standard.header.Clone()
		header.Set("Webhook-Signature", fmt.Sprintf(list, standard.header.Get("Webhook-Signature")))
		if got, _ := standard.verify(t, header, standard.body, standard.at, standard.secret); got != webhook.Verified {
			t.Errorf("%s: %s", list, got)
		}
	}
	header := stripe.header.Clone()
	header.Set("Stripe-Signature", "v1="+strings.Repeat("0", 64)+", "+stripe.header.Get("Stripe-Signature"))
	if got, _ := stripe.verify(t, header, stripe.body, stripe.at, stripe.secret); got != webhook.Verified {
		t.Errorf("two of Stripe's: %s", got)
	}
}

// mac is RFC 2104 written out, so that what we verify is held against more than the library we verify with.
func mac(key []byte, message string) []byte {
	if len(key) > 64 {
		sum := sha256.Sum256(key)
		key = sum[:]
	}
	inner, outer := make([]byte, 64), make([]byte, 64)
	copy(inner, key)
	copy(outer, key)
	for i := range 64 {
		inner[i] ^= 0x36
		outer[i] ^= 0x5c
	}
	first := sha256.Sum256(append(inner, message...))
	second := sha256.Sum256(append(outer, first[:]...))
	return second[:]
}

// sign is a second implementation of what each producer does.
func sign(source webhook.Source, secret, body string, at time.Time) http.Header {
	stamp := strconv.FormatInt(at.Unix(), 10)
	inHex := func(message string) string { return hex.EncodeToString(mac([]byte(secret), message)) }
	switch source {
	case webhook.GitHub:
		return http.Header{"X-Hub-Signature-256": {"sha256=" + inHex(body)}}
	case webhook.Gitea:
		return http.Header{"X-Gitea-Signature": {inHex(body)}}
	case webhook.Slack:
		return http.Header{"X-Slack-Request-Timestamp": {stamp}, "X-Slack-Signature": {"v0=" + inHex("v0:"+stamp+":"+body)}}
	case webhook.Stripe:
		return http.Header{"Stripe-Signature": {"t=" + stamp + ",v1=" + inHex(stamp+"."+body)}}
	case webhook.Standard:
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		return http.Header{"Webhook-Id": {"msg_1"}, "Webhook-Timestamp": {stamp},
			"Webhook-Signature": {"v1," + base64.StdEncoding.EncodeToString(mac(key, "msg_1."+stamp+"."+body))}}
	default:
		return http.Header{}
	}
}

func TestVerify_WhatAnotherImplementationSignsIsVerifiedAndNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		source := rapid.SampledFrom(webhook.Sources).Draw(t, "source")
		secret := "whsec_" + base64.StdEncoding.EncodeToString(rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "secret"))
		body := string(rapid.SliceOf(rapid.Byte()).Draw(t, "body"))
		at := time.Unix(rapid.Int64Range(1, 1<<39).Draw(t, "at"), 0)
		key, ok := source.Key(secret)
		if !ok {
			t.Fatal("a minted secret is no secret")
		}
		header := sign(source, secret, body, at)
		if got, _ := source.Verify(header, []byte(body), [][]byte{key}, at); got != webhook.Verified {
			t.Fatalf("%s: %s", source, got)
		}
		if source == webhook.Generic {
			return
		}
		if got, _ := source.Verify(header, []byte(body+"x"), [][]byte{key}, at); got != webhook.BadSignature {
			t.Fatalf("%s of a longer body: %s", source, got)
		}
	})
}

func FuzzVerify_NeverPanicsAndNeverVerifiesWithoutTheKey(f *testing.F) {
	for _, v := range published {
		f.Add(v.header.Get(v.carry), "1531420618", "msg_1", []byte(v.body))
	}
	f.Fuzz(func(t *testing.T, signature, stamp, id string, body []byte) {
		header := http.Header{}
		for _, v := range published {
			header.Set(v.carry, signature)
		}
		header.Set("X-Slack-Request-Timestamp", stamp)
		header.Set("Webhook-Timestamp", stamp)
		header.Set("Webhook-Id", id)
		for _, source := range webhook.Sources {
			if verdict, _ := source.Verify(header, body, [][]byte{[]byte("a key nobody has")}, time.Unix(1531420618, 0)); source.Signed() && verdict == webhook.Verified {
				t.Errorf("%s verified %q", source, signature)
			}
		}
	})
}
