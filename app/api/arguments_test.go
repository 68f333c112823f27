package api

import (
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/switchboard-otel/switchboard/app/fault"
)

// Whatever a body holds, reading it ends in values or in one of a few fixed sentences.
func FuzzArguments(f *testing.F) {
	for _, body := range []string{
		``, `{}`, `null`, `[]`, `{"a":`, `{"a":1}{}`, `{"a":null}`, `{"a":"null"}`, `{"a":"\u0000"}`, "{\"a\":\"\xff\"}", `{"a":1e999}`,
		`{"a":-0.0}`, `{"a":"0x10"}`, `{"a":"1_0"}`, `{"a":"NaN"}`, `{"a":"Inf"}`, `{"a":[null]}`, `{"a":["x","\u0000"]}`, `{"a":{"a":1},"a":2}`,
		`{"a":9007199254740993}`, `{"a":" 5 "}`, "\ufeff{}", strings.Repeat("[", 20000),
	} {
		f.Add(body)
	}
	sentences := map[string]bool{
		"the body must be UTF-8": true, "the body must be one JSON object": true,
		"a must be a string": true, "a must not contain the character U+0000": true, "a must be a whole number": true,
		"a must be true or false": true, "a must be an array of strings": true,
	}
	reads := []func(*arguments){
		func(in *arguments) { in.text("a") },
		func(in *arguments) { in.optionalText("a") },
		func(in *arguments) { in.optionalBool("a") },
		func(in *arguments) { in.texts("a") },
		func(in *arguments) {
			if n := in.optionalInt("a"); n != nil && (*n > maxNumber || *n < -maxNumber) {
				panic("beyond the cut")
			}
		},
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, read := range reads {
			in := bodyOf(httptest.NewRequest("POST", "/", strings.NewReader(body)))
			read(in)
			var refused *fault.Error
			if in.err == nil {
				continue
			}
			if !errors.As(in.err, &refused) || refused.Code != fault.Invalid || !sentences[refused.Message] {
				t.Errorf("%q is refused with %v", body, in.err)
			}
		}
	})
}
