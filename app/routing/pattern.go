package routing

import (
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"

	"github.com/itchyny/gojq"
)

// What a regular expression may measure. Matching takes no more than the length of the text times the size of
// the pattern, so both are paid for.
const (
	maxPatternBytes = 256
	maxPatternSize  = 1000 // instructions, counted before they are made
)

// pattern is a regular expression written in a rule, compiled with it.
type pattern struct {
	re   *regexp.Regexp
	size int
}

// compilePattern refuses a pattern that would be large once its repetitions are written out, before they are.
func compilePattern(text string, foldCase bool, room *room) (pattern, error) {
	if len(text) > maxPatternBytes {
		return pattern{}, fmt.Errorf("a pattern of test must be at most %d bytes", maxPatternBytes)
	}
	if foldCase {
		text = "(?i)" + text
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return pattern{}, errors.New("a pattern of test is no regular expression (RE2 syntax)")
	}
	size, runes := patternSize(parsed)
	room.instructions -= size
	room.runes -= runes
	if size > maxPatternSize || room.instructions < 0 || room.runes < 0 {
		return pattern{}, errors.New("a pattern of test is too large once its repetitions are written out")
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return pattern{}, errors.New("a pattern of test is no regular expression (RE2 syntax)")
	}
	return pattern{re: re, size: size}, nil
}

// patternSize is about how many instructions a parsed pattern becomes, and how many runes its classes hold.
func patternSize(re *syntax.Regexp) (size, runes int) {
	size, runes = 1+len(re.Rune), len(re.Rune)
	if re.Op == syntax.OpCharClass {
		size = 1
	}
	for _, sub := range re.Sub {
		s, r := patternSize(sub)
		size, runes = size+s, runes+r
	}
	if re.Op == syntax.OpRepeat {
		times := max(re.Min, re.Max, 1)
		size, runes = size*times, runes*times
	}
	return size, runes
}

func (p pattern) test(m *meter, in any) any {
	text, ok := in.(string)
	if !ok {
		return errors.New("test takes a string, not " + gojq.TypeOf(in))
	}
	if !m.spend(1+len(text)*p.size/16, 0) {
		return false
	}
	return p.re.MatchString(text)
}
