package webhook

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/url"
	"unicode/utf8"
)

// JSON returns the document that a delivery carries, nil when it carries none. Producers that are set to send
// forms put it into the field named payload.
func JSON(contentType string, body []byte) json.RawMessage {
	if media, _, err := mime.ParseMediaType(contentType); err == nil && media == "application/x-www-form-urlencoded" {
		form, err := url.ParseQuery(string(body))
		if err != nil || !form.Has("payload") {
			return nil
		}
		body = []byte(form.Get("payload"))
	}
	if !utf8.Valid(body) || !json.Valid(body) {
		return nil
	}
	return bytes.TrimSpace(body)
}

// fields are the members of a JSON object; those of anything else are none.
type fields map[string]json.RawMessage

func fieldsOf(doc json.RawMessage) fields {
	var f fields
	_ = json.Unmarshal(doc, &f) // no object has no fields
	return f
}

// text is a member that is a string, empty when it is none.
func (f fields) text(name string) string {
	var s string
	_ = json.Unmarshal(f[name], &s)
	return s
}

// number is a member that is a number, as its digits.
func (f fields) number(name string) string {
	var n json.Number
	_ = json.Unmarshal(f[name], &n)
	return n.String()
}

func (f fields) object(name string) fields { return fieldsOf(f[name]) }
