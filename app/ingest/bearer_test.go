package ingest_test

import (
	"testing"

	"github.com/switchboard-otel/switchboard/app/ingest"
)

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer sbk_x":    "sbk_x",
		"bearer sbk_x":    "sbk_x",
		"BEARER   sbk_x ": "sbk_x",
		"Bearer%20sbk_x":  "sbk_x",
		"bearer%20sbk_x":  "sbk_x",
		"Bearer":          "",
		"Bearer ":         "",
		"Bearer%20":       "",
		"Bearersbk_x":     "",
		"Basic sbk_x":     "",
		"sbk_x":           "",
		"":                "",
	} {
		got, ok := ingest.Bearer([]string{header})
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q %v, want %q", header, got, ok, want)
		}
	}
	for _, none := range [][]string{nil, {"Bearer a", "Bearer b"}} {
		if _, ok := ingest.Bearer(none); ok {
			t.Errorf("%q was taken for a credential", none)
		}
	}
}
