package queue

import (
	"bytes"
	"encoding/json"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/switchboard-otel/switchboard/app/fault"
	"github.com/switchboard-otel/switchboard/app/text"
)

// Limits of what a caller writes, in bytes. The database checks each again.
const (
	maxTitle    = 256
	maxKind     = 64
	maxKey      = 256
	maxClaimant = 128
	maxSummary  = 2048
	maxArtifact = 512
	maxNote     = 512
)

// MaxJSON caps a payload and a result: the body of a verb call is 1 MiB at most.
const MaxJSON = 1 << 20

var cairn = regexp.MustCompile(`^mcp://cairn/[A-Za-z0-9_-]{1,64}$`)

// checkArtifact accepts a cairn handle or an absolute https URL. It is never cut, and never fetched.
func checkArtifact(artifact *string) error {
	if artifact == nil || validArtifact(*artifact) {
		return nil
	}
	return fault.InvalidArgument("artifact", "must be at most 512 bytes, and mcp://cairn/<id> or an absolute https URL")
}

func validArtifact(s string) bool {
	if len(s) > maxArtifact || !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
		return false
	}
	if cairn.MatchString(s) {
		return true
	}
	u, err := url.Parse(s)
	return err == nil && u.Scheme == "https" && u.Host != "" && u.Opaque == ""
}

// cleanClaimant drops control characters and cuts; a label that is empty then is none.
func cleanClaimant(claimant *string) *string {
	if claimant == nil {
		return nil
	}
	label := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, *claimant)
	label, _ = text.Cut(text.Clean(label), maxClaimant)
	if label == "" {
		return nil
	}
	return &label
}

// cleanSummary cuts, never refuses.
func cleanSummary(summary *string) (kept *string, truncated bool) {
	if summary == nil || *summary == "" {
		return nil, false
	}
	cut, truncated := text.Cut(text.Clean(*summary), maxSummary)
	return &cut, truncated
}

// maxJSONDepth bounds how deeply a document may nest. Readers give up on deep ones, and a todo whose payload
// its worker cannot read would be claimed again and again.
const maxJSONDepth = 512

// CheckJSON accepts any JSON document that the store can hold and every reader can read back.
func CheckJSON(name string, doc json.RawMessage) error {
	switch {
	case doc == nil:
		return nil
	case len(doc) > MaxJSON:
		return fault.InvalidArgument(name, "must be at most 1 MiB of JSON")
	case !json.Valid(doc) || !utf8.Valid(doc):
		return fault.InvalidArgument(name, "must be JSON")
	}
	return CheckReadable(name, doc)
}

// CheckReadable refuses what the store or ordinary readers cannot hold of a document that is JSON, of any size.
func CheckReadable(name string, doc json.RawMessage) error {
	if holdsNUL(doc) {
		return fault.InvalidArgument(name, "must not contain the character U+0000")
	}
	return checkReadable(name, doc)
}

// checkReadable walks valid JSON once for what ordinary readers choke on.
func checkReadable(name string, doc json.RawMessage) error {
	tokens := json.NewDecoder(bytes.NewReader(doc))
	tokens.UseNumber()
	for depth := 0; ; {
		token, err := tokens.Token()
		if err != nil {
			return nil // the end: the document was valid
		}
		switch token := token.(type) {
		case json.Delim:
			if token == '{' || token == '[' {
				depth++
			} else {
				depth--
			}
			if depth > maxJSONDepth {
				return fault.InvalidArgument(name, "must not nest deeper than 512 levels")
			}
		case json.Number:
			if _, err := token.Float64(); err != nil {
				return fault.InvalidArgument(name, "must not hold a number beyond the range of a double")
			}
		}
	}
}

// holdsNUL looks for the escape of U+0000, which PostgreSQL cannot hold as text. An escaped backslash
// before it makes it plain characters.
func holdsNUL(doc []byte) bool {
	for {
		i := bytes.Index(doc, []byte(`\u0000`))
		if i < 0 {
			return false
		}
		slashes := 0
		for j := i - 1; j >= 0 && doc[j] == '\\'; j-- {
			slashes++
		}
		if slashes%2 == 0 {
			return true
		}
		doc = doc[i+1:]
	}
}

// checkText accepts 1 to most bytes of text that the store can hold.
func checkText(name, s string, most int, must string) error {
	if s == "" || len(s) > most || !utf8.ValidString(s) || strings.ContainsRune(s, 0) || strings.TrimSpace(s) == "" {
		return fault.InvalidArgument(name, must)
	}
	return nil
}
