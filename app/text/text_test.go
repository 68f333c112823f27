package text

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestClean_WhatPostgreSQLCannotHoldBecomesAReplacement(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "a\x00b": "a\uFFFDb", "a\xffb": "a\uFFFDb", "\xed\xa0\x80": "\uFFFD", "": "", "héé": "héé",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCut_EndsAtACharacter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, limit := rapid.String().Draw(t, "s"), rapid.IntRange(0, 40).Draw(t, "limit")
		cut, did := Cut(s, limit)
		if len(cut) > limit || !strings.HasPrefix(s, cut) || did != (cut != s) || utf8.ValidString(s) && !utf8.ValidString(cut) {
			t.Fatalf("Cut(%q, %d) = %q, %v", s, limit, cut, did)
		}
		if did && limit-len(cut) >= utf8.UTFMax {
			t.Fatalf("Cut(%q, %d) = %q, shorter than it must be", s, limit, cut)
		}
	})
}
