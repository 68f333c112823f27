package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/switchboard-otel/switchboard/app/fault"
)

var errTooLarge = errors.New("the body is over the cap")

// maxNumber is beyond the end of every range, so that a number beyond it may be cut to it; as seconds it still
// fits a time.Duration.
const maxNumber = 1 << 33

// arguments are the named values of a request. They are read strictly where a wrong guess would do harm and
// tolerantly where people and models differ (decisions.md 45, 46): an unknown argument is ignored, null
// counts as absent, and so do "" and "null" for optional ones; numbers and booleans may be strings. The first
// refusal is kept in err; it names the argument and never its value.
type arguments struct {
	values map[string]json.RawMessage
	err    error
}

// bodyOf reads the arguments of a body, a JSON object. No body is no arguments.
func bodyOf(r *http.Request) *arguments {
	text, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return &arguments{err: errTooLarge}
	case err != nil:
		return &arguments{err: fault.New(fault.Invalid, "the body ended early")}
	case len(bytes.TrimSpace(text)) == 0:
		return &arguments{}
	case !utf8.Valid(text):
		return &arguments{err: fault.New(fault.Invalid, "the body must be UTF-8")}
	}
	in := &arguments{}
	if json.Unmarshal(text, &in.values) != nil {
		in.err = fault.New(fault.Invalid, "the body must be one JSON object")
	}
	return in
}

// queryOf reads the arguments of a query. Of a repeated one the first counts.
func queryOf(r *http.Request) *arguments {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return &arguments{err: fault.New(fault.Invalid, "the query is malformed")}
	}
	in := &arguments{values: make(map[string]json.RawMessage, len(query))}
	for name, values := range query {
		text, err := json.Marshal(values[0])
		if err == nil {
			in.values[name] = text
		}
	}
	return in
}

func (in *arguments) refuse(name, must string) {
	if in.err == nil {
		in.err = fault.InvalidArgument(name, must)
	}
}

// raw is the argument as it was sent; nil when it is absent.
func (in *arguments) raw(name string) json.RawMessage {
	value := bytes.TrimSpace(in.values[name])
	if bytes.Equal(value, []byte("null")) {
		return nil
	}
	return value
}

// text is a required text; absent is empty, which whoever takes it refuses.
func (in *arguments) text(name string) string {
	value := in.raw(name)
	if value == nil {
		return ""
	}
	var s string
	if json.Unmarshal(value, &s) != nil {
		in.refuse(name, "must be a string")
	}
	if strings.ContainsRune(s, 0) {
		in.refuse(name, "must not contain the character U+0000")
	}
	return s
}

// optionalText is a text, nil when absent.
func (in *arguments) optionalText(name string) *string {
	s := in.text(name)
	if s == "" || s == "null" {
		return nil
	}
	return &s
}

func (in *arguments) optionalInt(name string) *int {
	value := in.scalar(name)
	if value == "" {
		return nil
	}
	n, err := strconv.ParseFloat(value, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || n != math.Trunc(n) || strings.ContainsAny(value, "xX_nN") {
		in.refuse(name, "must be a whole number")
		return nil
	}
	whole := int(min(max(n, -maxNumber), maxNumber))
	return &whole
}

func (in *arguments) optionalBool(name string) *bool {
	value := in.scalar(name)
	if value == "" {
		return nil
	}
	b := value == "true"
	if !b && value != "false" {
		in.refuse(name, "must be true or false")
		return nil
	}
	return &b
}

// scalar is a number or boolean as text, quoted or not; empty when absent.
func (in *arguments) scalar(name string) string {
	value := in.raw(name)
	if len(value) == 0 || value[0] != '"' {
		return string(value)
	}
	if s := in.optionalText(name); s != nil {
		return *s
	}
	return ""
}

// texts is a list of texts, nil when absent.
func (in *arguments) texts(name string) []string {
	value := in.raw(name)
	if value == nil || bytes.Equal(value, []byte(`""`)) || bytes.Equal(value, []byte(`"null"`)) {
		return nil
	}
	var list []*string
	if json.Unmarshal(value, &list) != nil {
		in.refuse(name, "must be an array of strings")
		return nil
	}
	out := make([]string, len(list))
	for i, s := range list {
		if s == nil || strings.ContainsRune(*s, 0) {
			in.refuse(name, "must be an array of strings")
			return nil
		}
		out[i] = *s
	}
	return out
}
