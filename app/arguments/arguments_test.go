package arguments_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/switchboard-otel/switchboard/app/arguments"
	"github.com/switchboard-otel/switchboard/app/fault"
)

// readers are the ways to read one argument.
var readers = map[string]func(*arguments.Arguments) any{
	"exact": func(in *arguments.Arguments) any { return in.Exact("a") },
	"word":  func(in *arguments.Arguments) any { return in.Word("a") },
	"prose": func(in *arguments.Arguments) any { return in.Prose("a") },
	"whole": func(in *arguments.Arguments) any { return in.Whole("a") },
	"bool":  func(in *arguments.Arguments) any { return in.Bool("a") },
	"texts": func(in *arguments.Arguments) any { return in.Texts("a") },
}

// What each way of reading makes of a value, as JSON; "!" is a refusal. The columns are in the order of want.
func TestArguments_TheTolerantReadings(t *testing.T) {
	order := []string{"exact", "word", "prose", "whole", "bool", "texts"}
	for value, want := range map[string][6]string{
		`null`:               {"null", "null", "null", "null", "null", "null"},
		`""`:                 {`""`, "null", "null", "null", "null", "null"},
		`"null"`:             {`"null"`, "null", "null", "null", "null", "null"},
		`" "`:                {`" "`, `" "`, `" "`, "!", "!", "!"},
		`"x"`:                {`"x"`, `"x"`, `"x"`, "!", "!", "!"},
		`"a\u0000b"`:         {"!", "!", `"a\u0000b"`, "!", "!", "!"},
		"\"a\xffb\"":         {"!", "!", `"a�b"`, "!", "!", "!"},
		`7`:                  {"!", "!", "!", "7", "!", "!"},
		`"7"`:                {`"7"`, `"7"`, `"7"`, "7", "!", "!"},
		`-3`:                 {"!", "!", "!", "-3", "!", "!"},
		`300.0`:              {"!", "!", "!", "300", "!", "!"},
		`"3e2"`:              {`"3e2"`, `"3e2"`, `"3e2"`, "300", "!", "!"},
		`1.5`:                {"!", "!", "!", "!", "!", "!"},
		`1e999`:              {"!", "!", "!", "8589934592", "!", "!"},
		`-1e999`:             {"!", "!", "!", "-8589934592", "!", "!"},
		`9007199254740993`:   {"!", "!", "!", "8589934592", "!", "!"},
		`"NaN"`:              {`"NaN"`, `"NaN"`, `"NaN"`, "!", "!", "!"},
		`"inf"`:              {`"inf"`, `"inf"`, `"inf"`, "!", "!", "!"},
		`"0x10"`:             {`"0x10"`, `"0x10"`, `"0x10"`, "!", "!", "!"},
		`"1_0"`:              {`"1_0"`, `"1_0"`, `"1_0"`, "!", "!", "!"},
		`true`:               {"!", "!", "!", "!", "true", "!"},
		`"false"`:            {`"false"`, `"false"`, `"false"`, "!", "false", "!"},
		`"TRUE"`:             {`"TRUE"`, `"TRUE"`, `"TRUE"`, "!", "!", "!"},
		`[]`:                 {"!", "!", "!", "!", "!", "[]"},
		`["x","y"]`:          {"!", "!", "!", "!", "!", `["x","y"]`},
		`[null]`:             {"!", "!", "!", "!", "!", "!"},
		`["\u0000"]`:         {"!", "!", "!", "!", "!", "!"},
		"[\"\xff\"]":         {"!", "!", "!", "!", "!", "!"},
		`{"a":1}`:            {"!", "!", "!", "!", "!", "!"},
		`"` + "\u202e" + `"`: {`"` + "\u202e" + `"`, `"` + "\u202e" + `"`, `"` + "\u202e" + `"`, "!", "!", "!"},
	} {
		for i, name := range order {
			in := arguments.Parse("the body", []byte(`{"a":`+value+`}`))
			read, err := json.Marshal(readers[name](in))
			if err != nil {
				t.Fatal(err)
			}
			got := string(read)
			if in.Err() != nil {
				got = "!"
			}
			if got != want[i] {
				t.Errorf("%s read as %s is %s, want %s", value, name, got, want[i])
			}
		}
	}
}

func TestArguments_AbsentIsNothingToEveryReader(t *testing.T) {
	for _, object := range []string{``, ` `, `null`, `{}`, `{"b":1}`} {
		for name, read := range readers {
			in := arguments.Parse("the body", []byte(object))
			if got, err := json.Marshal(read(in)); string(got) != "null" || err != nil || in.Err() != nil || in.IsNull("a") || in.Filter("a") != "" {
				t.Errorf("%q read as %s is %s, %v", object, name, got, in.Err())
			}
		}
	}
}

func TestArguments_JSONStaysAsItWasSent(t *testing.T) {
	for _, value := range []string{`""`, `"null"`, `0`, `[ 1 , 2 ]`, `{"n":9007199254740993}`, `"\u0000"`} {
		in := arguments.Parse("the body", []byte(`{"a":  `+value+`  }`))
		if diff := cmp.Diff(value, string(in.JSON("a"))); diff != "" || in.Err() != nil {
			t.Errorf("%v %s", in.Err(), diff)
		}
	}
	in := arguments.Parse("the body", []byte(`{"a": null }`))
	if in.JSON("a") != nil || !in.IsNull("a") {
		t.Error("null is a value")
	}
}

func TestArguments_TheFirstRefusalStays(t *testing.T) {
	in := arguments.Parse("the body", []byte(`{"a":7,"b":7}`))
	in.Exact("a")
	in.Prose("b")
	in.Refuse(errors.New("a third"))
	if got := in.Err().Error(); got != "invalid: a must be a string of text" {
		t.Errorf("refused with %q", got)
	}
	if got := arguments.Parse("the body", []byte(`[]`)).Err().Error(); got != "invalid: the body must be one JSON object" {
		t.Errorf("refused with %q", got)
	}
}

// Whatever an object holds, reading it ends in values or in one of a few fixed sentences.
func FuzzArguments(f *testing.F) {
	for _, object := range []string{
		``, `{}`, `null`, `[]`, `{"a":`, `{"a":1}{}`, `{"a":null}`, `{"a":"null"}`, `{"a":"\u0000"}`, "{\"a\":\"\xff\"}", `{"a":1e999}`,
		`{"a":-0.0}`, `{"a":"0x10"}`, `{"a":"1_0"}`, `{"a":"NaN"}`, `{"a":"Inf"}`, `{"a":[null]}`, `{"a":["x","\u0000"]}`, `{"a":{"a":1},"a":2}`,
		`{"a":9007199254740993}`, `{"a":" 5 "}`, "\ufeff{}", strings.Repeat("[", 20000),
	} {
		f.Add(object)
	}
	sentences := map[string]bool{
		"the body must be one JSON object": true, "a must be a string of text": true, "a must be a string": true,
		"a must be a whole number": true, "a must be true or false": true, "a must be an array of strings": true,
	}
	f.Fuzz(func(t *testing.T, object string) {
		for _, read := range readers {
			in := arguments.Parse("the body", []byte(object))
			if n, isNumber := read(in).(*int); isNumber && n != nil && (*n > 1<<33 || *n < -1<<33) {
				t.Errorf("%q is %d, beyond the cut", object, *n)
			}
			var refused *fault.Error
			if in.Err() == nil {
				continue
			}
			if !errors.As(in.Err(), &refused) || refused.Code != fault.Invalid || !sentences[refused.Message] {
				t.Errorf("%q is refused with %v", object, in.Err())
			}
		}
	})
}
