package board

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/switchboard-otel/switchboard/app/intake"
	"github.com/switchboard-otel/switchboard/app/spans"
)

const (
	// mostShown is how much of a payload or result a page shows (REQ-14).
	mostShown = 64 << 10
	// mostIndented is the nesting up to which JSON is indented. Indenting ten thousand levels would make
	// hundreds of megabytes out of twenty kilobytes.
	mostIndented = 64
)

// document is JSON as a page shows it.
type document struct {
	Text string
	Cut  bool // there is more than mostShown
}

// pretty indents JSON. What is not JSON, or nests too deeply, stays as it is.
func pretty(raw json.RawMessage) document {
	text := raw
	var indented bytes.Buffer
	if depth(raw) <= mostIndented && json.Indent(&indented, raw, "", "  ") == nil {
		text = indented.Bytes()
	}
	if len(text) <= mostShown {
		return document{Text: string(text)}
	}
	at := mostShown
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return document{Text: string(text[:at]), Cut: true}
}

// depth is how deeply arrays and objects nest.
func depth(raw []byte) (deepest int) {
	at, quoted, escaped := 0, false, false
	for _, c := range raw {
		switch {
		case escaped:
			escaped = false
		case quoted:
			quoted, escaped = c != '"', c == '\\'
		case c == '"':
			quoted = true
		case c == '[' || c == '{':
			at++
			deepest = max(deepest, at)
		case c == ']' || c == '}':
			at--
		}
	}
	return deepest
}

// absent reports whether a JSON column holds nothing to show.
func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// link returns an artifact's address when a page may link to it: an absolute https URL with a host and
// without credentials in it (REQ-11). Everything else is text.
func link(artifact string) (href string, ok bool) {
	u, err := url.Parse(artifact)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return "", false
	}
	return u.String(), true
}

// bodyOf is a delivery's body as a page shows it: its JSON indented, else its text; of bytes that are no text, their
// number.
func bodyOf(e *intake.Event) document {
	if doc := e.Document(); doc != nil {
		return pretty(doc)
	}
	if !utf8.Valid(e.Body) || bytes.IndexByte(e.Body, 0) >= 0 {
		return document{Text: "(" + size(len(e.Body)) + " that are no text)"}
	}
	return pretty(e.Body)
}

// headersOf lists the kept headers, sorted.
func headersOf(headers map[string]string) []fact {
	facts := make([]fact, 0, len(headers))
	for name, value := range headers {
		facts = append(facts, fact{name, value})
	}
	slices.SortFunc(facts, func(a, b fact) int { return strings.Compare(a.Name, b.Name) })
	return facts
}

// shortLink names where an artifact's address leads: the host, or the last two steps of its path.
func shortLink(artifact string) string {
	u, err := url.Parse(artifact)
	if err != nil {
		return artifact
	}
	steps := strings.Split(strings.Trim(u.Path, "/"), "/")
	if steps[0] == "" {
		return u.Host
	}
	return strings.Join(steps[max(len(steps)-2, 0):], "/")
}

// fact is one line of a list of details.
type fact struct{ Name, Value string }

// factsOf lists what is kept of a span, attributes sorted.
func factsOf(s *spans.Span) []fact {
	facts := []fact{{"span", s.Name}}
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, fact{name, value})
		}
	}
	add("tool", s.Tool)
	add("status", statusWords(s))
	add("service", s.ServiceName)
	add("kind", s.Kind)
	facts = append(facts, attributesOf(s.Attributes)...)
	add("span id", hex.EncodeToString(s.SpanID[:]))
	if s.ParentSpanID != [8]byte{} {
		add("parent id", hex.EncodeToString(s.ParentSpanID[:]))
	}
	add("trace id", hex.EncodeToString(s.TraceID[:]))
	return facts
}

func statusWords(s *spans.Span) string {
	if s.StatusCode == "unset" && s.StatusMessage == "" {
		return ""
	}
	return strings.TrimSuffix(s.StatusCode+": "+s.StatusMessage, ": ")
}

// attributesOf lists kept attributes, sorted; strings without their quotes, everything else as its JSON.
func attributesOf(raw []byte) []fact {
	var kept map[string]json.RawMessage
	if json.Unmarshal(raw, &kept) != nil {
		return nil
	}
	facts := make([]fact, 0, len(kept))
	for name, value := range kept {
		f := fact{name, string(value)}
		var text string
		if value[0] == '"' && json.Unmarshal(value, &text) == nil {
			f.Value = text
		}
		facts = append(facts, f)
	}
	slices.SortFunc(facts, func(a, b fact) int { return strings.Compare(a.Name, b.Name) })
	return facts
}
