package api

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/switchboard-otel/switchboard/app/arguments"
	"github.com/switchboard-otel/switchboard/app/fault"
)

var (
	errTooLarge         = errors.New("the body is over the cap")
	errDocumentTooLarge = errors.New("the document is over its cap")
)

// bodyOf reads the arguments of a body, a JSON object. No body is no arguments.
func bodyOf(r *http.Request) *arguments.Arguments {
	text, err := io.ReadAll(r.Body)
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return refused(errTooLarge)
	case err != nil:
		return refused(fault.New(fault.Invalid, "the body ended early"))
	}
	return arguments.Parse("the body", text)
}

// queryOf reads the arguments of a query. Of a repeated one the first counts.
func queryOf(r *http.Request) *arguments.Arguments {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return refused(fault.New(fault.Invalid, "the query is malformed"))
	}
	values := make(map[string]json.RawMessage, len(query))
	for name, sent := range query {
		text, err := json.Marshal(sent[0])
		if err == nil {
			values[name] = text
		}
	}
	return arguments.Of(values)
}

func refused(err error) *arguments.Arguments {
	in := arguments.Of(nil)
	in.Refuse(err)
	return in
}

// orEmpty is a required text; absent is empty, which whoever takes it refuses.
func orEmpty(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
