package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Window is how far the time that a producer signed may lie from now, either way.
const Window = 300 * time.Second

// Verdict is what became of a delivery, in the words of the metrics.
type Verdict string

// The verdicts. Verify returns the first five.
const (
	Verified         Verdict = "verified"
	BadSignature     Verdict = "bad_signature"     // no secret of this webhook made it
	MissingSignature Verdict = "missing_signature" // a header that carries it is absent
	Stale            Verdict = "stale"             // genuine, and older or newer than the window: perhaps a replay
	Malformed        Verdict = "malformed"         // a header that carries it is not of its form, or the body broke off
	Duplicate        Verdict = "duplicate"         // genuine, and stored before
	TooLarge         Verdict = "too_large"
	RateLimited      Verdict = "rate_limited"
)

// Verdicts lists every verdict.
var Verdicts = []Verdict{Verified, BadSignature, MissingSignature, Stale, Malformed, Duplicate, TooLarge, RateLimited}

// maxSignatures bounds how many signatures of one delivery are compared; producers send two while they rotate.
const maxSignatures = 8

// Key turns a secret as people paste it into the bytes that a producer signs with. Standard Webhooks writes
// them in base64 behind a prefix; everybody else signs with the characters themselves. ok is false for a
// secret that is not of its source's form.
func (s Source) Key(secret string) (key []byte, ok bool) {
	if s != Standard {
		return []byte(secret), secret != ""
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	return key, err == nil && len(key) > 0
}

// signature is what a delivery carries: what was signed, in parts, and the codes that claim to be made of it.
type signature struct {
	signed [][]byte
	codes  [][]byte
	at     *time.Time // when, where the producer signs that too
}

// Verify says whether a delivery was made by who knows one of the keys: the bytes of its body are checked as
// they came, in a time that does not depend on where a wrong code differs. which is the index of the key.
// The order tells a forgery from a replay: a stale time is only said of a genuine delivery.
func (s Source) Verify(header http.Header, body []byte, keys [][]byte, now time.Time) (verdict Verdict, which int) {
	if !s.Signed() {
		return Verified, 0
	}
	sent, verdict := s.signature(header, body)
	if verdict != Verified {
		return verdict, 0
	}
	which = -1
	for i, key := range keys {
		mac := hmac.New(sha256.New, key)
		for _, part := range sent.signed {
			mac.Write(part)
		}
		want := mac.Sum(nil)
		for _, code := range sent.codes {
			if hmac.Equal(code, want) && which < 0 {
				which = i
			}
		}
	}
	switch {
	case which < 0:
		return BadSignature, 0
	case sent.at != nil && now.Sub(*sent.at).Abs() > Window:
		return Stale, 0
	}
	return Verified, which
}

// signature reads the headers of a source.
func (s Source) signature(header http.Header, body []byte) (signature, Verdict) {
	switch s {
	case Gitea:
		if _, present := header["X-Gitea-Signature"]; present {
			return bareHex(header, "X-Gitea-Signature", "", body)
		}
		return bareHex(header, "X-Hub-Signature-256", "sha256=", body)
	case GitHub:
		return bareHex(header, "X-Hub-Signature-256", "sha256=", body)
	case Slack:
		return slackSignature(header, body)
	case Stripe:
		return stripeSignature(header, body)
	default:
		return standardSignature(header, body)
	}
}

// one returns a header that must occur once and not be empty.
func one(header http.Header, name string) (string, Verdict) {
	values := header.Values(name)
	switch {
	case len(values) == 0 || len(values) == 1 && values[0] == "":
		return "", MissingSignature
	case len(values) > 1:
		return "", Malformed
	}
	return values[0], Verified
}

// bareHex is a code over the body alone.
func bareHex(header http.Header, name, prefix string, body []byte) (signature, Verdict) {
	value, verdict := one(header, name)
	if verdict != Verified {
		return signature{}, verdict
	}
	code, ok := hexCode(value, prefix)
	if !ok {
		return signature{}, Malformed
	}
	return signature{signed: [][]byte{body}, codes: [][]byte{code}}, Verified
}

// slackSignature is over v0:<timestamp>:<body>.
func slackSignature(header http.Header, body []byte) (signature, Verdict) {
	value, verdict := one(header, "X-Slack-Signature")
	if verdict != Verified {
		return signature{}, verdict
	}
	stamp, verdict := one(header, "X-Slack-Request-Timestamp")
	if verdict != Verified {
		return signature{}, verdict
	}
	code, ok := hexCode(value, "v0=")
	at, isTime := unix(stamp)
	if !ok || !isTime {
		return signature{}, Malformed
	}
	return signature{signed: [][]byte{[]byte("v0:" + stamp + ":"), body}, codes: [][]byte{code}, at: &at}, Verified
}

// stripeSignature is t=<timestamp>,v1=<hex>[,v1=<hex>...] over <timestamp>.<body>. Other schemes in it are
// passed over, so that nobody can make a delivery pass by a weaker one.
func stripeSignature(header http.Header, body []byte) (signature, Verdict) {
	value, verdict := one(header, "Stripe-Signature")
	if verdict != Verified {
		return signature{}, verdict
	}
	var stamp string
	sent := signature{}
	for item := range strings.SplitSeq(value, ",") {
		name, content, _ := strings.Cut(strings.TrimSpace(item), "=")
		switch name {
		case "t":
			if stamp != "" {
				return signature{}, Malformed
			}
			stamp = content
		case "v1":
			if code, ok := hexCode(content, ""); ok && len(sent.codes) < maxSignatures {
				sent.codes = append(sent.codes, code)
			}
		}
	}
	at, isTime := unix(stamp)
	if !isTime || len(sent.codes) == 0 {
		return signature{}, Malformed
	}
	sent.signed, sent.at = [][]byte{[]byte(stamp + "."), body}, &at
	return sent, Verified
}

// standardSignature is a list of v1,<base64>, separated by blanks, over <id>.<timestamp>.<body>. Asymmetric
// signatures (v1a) in it are passed over.
func standardSignature(header http.Header, body []byte) (signature, Verdict) {
	var parts [3]string
	for i, name := range []string{"Webhook-Id", "Webhook-Timestamp", "Webhook-Signature"} {
		var verdict Verdict
		if parts[i], verdict = one(header, name); verdict != Verified {
			return signature{}, verdict
		}
	}
	id, stamp, list := parts[0], parts[1], parts[2]
	at, isTime := unix(stamp)
	if !isTime || !storableID(id) {
		return signature{}, Malformed
	}
	sent := signature{signed: [][]byte{[]byte(id + "." + stamp + "."), body}, at: &at}
	for item := range strings.FieldsSeq(list) {
		version, content, _ := strings.Cut(item, ",")
		if version != "v1" {
			continue
		}
		code, err := base64.StdEncoding.DecodeString(content)
		if err == nil && len(code) == sha256.Size && len(sent.codes) < maxSignatures {
			sent.codes = append(sent.codes, code)
		}
	}
	if len(sent.codes) == 0 {
		return signature{}, Malformed
	}
	return sent, Verified
}

func hexCode(value, prefix string) ([]byte, bool) {
	digits, ok := strings.CutPrefix(value, prefix)
	if !ok || len(digits) != 2*sha256.Size {
		return nil, false
	}
	code, err := hex.DecodeString(digits)
	return code, err == nil
}

// unix reads seconds since 1970, as far as a time can hold them.
func unix(s string) (time.Time, bool) {
	n, err := strconv.ParseUint(s, 10, 40)
	return time.Unix(int64(n), 0), err == nil
}
