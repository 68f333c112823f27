package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/switchboard-otel/switchboard/app/text"
)

// Limits of what is told of an event, in bytes.
const (
	maxType       = 64
	maxTitle      = 256
	maxExternalID = 256
)

// Event is what a delivery is about.
type Event struct {
	ExternalID string // names the delivery: the same one again has the same
	Type       string // such as issues.opened; empty when the producer does not say
	Title      string // a line for people
	Subject    string // what it is about, such as acme/web#12; empty when it is not known
}

// Read tells what a delivery is about. doc is its JSON, nil when it carries none. It takes what it finds and
// refuses nothing.
func (s Source) Read(header http.Header, body []byte, doc json.RawMessage) Event {
	f := fieldsOf(doc)
	var e Event
	switch s {
	case GitHub, Gitea:
		e = forgeEvent(s, header, f)
	case Stripe:
		e = Event{ExternalID: f.text("id"), Type: f.text("type"), Subject: f.object("data").object("object").text("id")}
	case Slack:
		inner := f.object("event")
		e = Event{ExternalID: f.text("event_id"), Type: inner.text("type"), Title: inner.text("text")}
		if e.Type == "" {
			e.Type = f.text("type")
		}
	case Standard:
		e = Event{ExternalID: header.Get("Webhook-Id"), Type: f.text("type")}
	default:
		e = Event{ExternalID: genericID(header), Type: first(f.text("type"), f.text("event")),
			Title: first(f.text("title"), f.text("subject"), f.text("name"), f.text("message"))}
	}
	return e.fit(s, body)
}

// forgeEvent is one of GitHub's or of Gitea's, which sends the same under names of its own as well.
func forgeEvent(s Source, header http.Header, f fields) Event {
	get := func(name string) string {
		if s == Gitea {
			return first(header.Get("X-Gitea-"+name), header.Get("X-GitHub-"+name))
		}
		return header.Get("X-GitHub-" + name)
	}
	e := Event{ExternalID: get("Delivery"), Type: get("Event")}
	if action := f.text("action"); action != "" && e.Type != "" {
		e.Type += "." + action
	}
	e.Subject = f.object("repository").text("full_name")
	for _, name := range []string{"issue", "pull_request", "discussion"} {
		item := f.object(name)
		if item == nil {
			continue
		}
		e.Title = item.text("title")
		if n := item.number("number"); n != "" {
			e.Subject += "#" + n
		}
		break
	}
	if e.Title == "" {
		e.Title, _, _ = strings.Cut(f.object("head_commit").text("message"), "\n")
	}
	return e
}

func genericID(header http.Header) string {
	for _, name := range []string{"X-Delivery-Id", "Webhook-Id"} {
		if id := header.Get(name); storableID(id) {
			return id
		}
	}
	return ""
}

// fit makes an event storable: an id that cannot name anything is replaced by the body's own name.
func (e Event) fit(s Source, body []byte) Event {
	if !storableID(e.ExternalID) {
		sum := sha256.Sum256(body)
		e.ExternalID = "sha256:" + hex.EncodeToString(sum[:])
	}
	e.Type, e.Subject = line(e.Type, maxType), line(e.Subject, maxTitle)
	about := strings.Trim(strings.Join([]string{first(e.Type, string(s)+" delivery"), e.Subject}, " "), " ")
	if title := line(e.Title, maxTitle); title != "" {
		about += ": " + title
	}
	e.Title = line(about, maxTitle)
	return e
}

// storableID reports whether a producer's name for a delivery can be kept whole.
func storableID(id string) bool {
	return id != "" && len(id) <= maxExternalID && utf8.ValidString(id) && !strings.ContainsFunc(id, unicode.IsControl)
}

// line is foreign text on one line: no control characters, cut to most bytes.
func line(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text.Clean(s))
	s, _ = text.Cut(strings.TrimSpace(s), most)
	return strings.TrimSpace(s)
}

func first(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// Challenge returns what Slack wants to be answered before it sends events to a new address: the challenge of
// a verified delivery that is nothing else.
func (s Source) Challenge(doc json.RawMessage) (challenge string, ok bool) {
	f := fieldsOf(doc)
	if s != Slack || f.text("type") != "url_verification" {
		return "", false
	}
	return f.text("challenge"), true
}
