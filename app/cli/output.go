package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
)

func (a *app) printJSON(answer json.RawMessage) error {
	var out bytes.Buffer
	if err := json.Indent(&out, answer, "", "  "); err != nil {
		return err
	}
	_, err := fmt.Fprintln(a.Stdout, escaped(out.String()))
	return err
}

// escaped spells what could steer a terminal as \u escapes. In valid JSON all of it stands within strings, so that
// the document says the same; JSON itself escapes only what is below a space.
func escaped(document string) string {
	if !strings.ContainsFunc(document, steers) {
		return document
	}
	var b strings.Builder
	for _, r := range document {
		if steers(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// jsonOr prints the answer as JSON, unless there is an error instead.
func (a *app) jsonOr(err error, answer json.RawMessage) error {
	if err != nil {
		return err
	}
	return a.printJSON(answer)
}

// hint is a line for a person; a pipe does not get it.
func (a *app) hint(format string, args ...any) {
	if a.Width > 0 {
		fmt.Fprintf(a.Stderr, format+"\n", args...)
	}
}

// age is how long ago something was, in its largest unit.
func age(now, then time.Time) string {
	d := now.Sub(then)
	switch {
	case d < time.Second:
		return "now"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}

// counted is a number with its noun.
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// duration shows three digits at most.
func duration(d time.Duration) string {
	switch {
	case d < time.Microsecond:
		return "0"
	case d < time.Millisecond:
		return fmt.Sprintf("%dµs", d/time.Microsecond)
	case d < time.Second:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	case d < 10*time.Second:
		return fmt.Sprintf("%.2fs", d.Seconds())
	case d < 100*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%dm%02ds", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%dh%02dm", d/time.Hour, d%time.Hour/time.Minute)
	}
}

// parseTime reads a Go duration, or whole days, into seconds.
func parseTime(flag, s string, least time.Duration) (seconds int64, err error) {
	mistake := usagef("--%s must be a time such as 90m, 12h or 30d", flag)
	if days, isDays := strings.CutSuffix(s, "d"); isDays {
		n, err := strconv.ParseInt(days, 10, 32)
		if err != nil || n < 1 {
			return 0, mistake
		}
		return n * 86400, nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < least || d%time.Second != 0 {
		return 0, mistake
	}
	return int64(d / time.Second), nil
}
