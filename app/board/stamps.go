package board

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/switchboard-otel/switchboard/app/queue"
)

// stamps is the version of what a page shows, part by part. It is a frame's id, so that whoever comes back with an
// old one is told apart in what they miss.
type stamps map[string]string

// The parts.
const (
	partFeed     = "f" // the newest entry of the feed
	partLanes    = "b"
	partMoved    = "m" // a todo's last change
	partAttempts = "e" // its attempts and its state
	partEntries  = "a" // its log
	partSpans    = "s" // spans by attempt
)

// String spells the stamps: it holds no space, no line break and nothing that a header could not carry.
func (s stamps) String() string {
	parts := make([]string, 0, len(s))
	for _, name := range slices.Sorted(maps.Keys(s)) {
		parts = append(parts, name+"."+s[name])
	}
	return strings.Join(parts, "~")
}

// parseStamps reads what a browser sends back. What it does not understand it lacks, so that it counts as changed.
func parseStamps(text string) stamps {
	s := stamps{}
	if len(text) > 4096 {
		return s
	}
	for part := range strings.SplitSeq(text, "~") {
		if name, value, ok := strings.Cut(part, "."); ok {
			s[name] = value
		}
	}
	return s
}

// changed reports whether one of the parts differs.
func (s stamps) changed(since stamps, parts ...string) bool {
	return slices.ContainsFunc(parts, func(p string) bool { return s[p] != since[p] })
}

func stampsOf(p *queue.Pulse) stamps {
	spans := make([]string, 0, len(p.Spans))
	for _, seq := range slices.Sorted(maps.Keys(p.Spans)) {
		spans = append(spans, fmt.Sprintf("%d_%d", seq, p.Spans[seq]))
	}
	state := string(p.State)
	if p.Lapsed {
		state = "lapsed"
	}
	return stamps{
		partMoved: strconv.FormatInt(p.Moved.UnixMicro(), 36), partEntries: strconv.Itoa(p.Entries),
		partAttempts: fmt.Sprintf("%d_%s", p.Attempts, state), partSpans: strings.Join(spans, "-"),
	}
}

// spansOf reads the numbers of spans by attempt back.
func (s stamps) spansOf() map[int]int {
	counts := map[int]int{}
	for part := range strings.SplitSeq(s[partSpans], "-") {
		var seq, n int
		if _, err := fmt.Sscanf(part, "%d_%d", &seq, &n); err == nil {
			counts[seq] = n
		}
	}
	return counts
}

// attemptsOf reads the number of attempts back.
func (s stamps) attemptsOf() (n int) {
	_, _ = fmt.Sscanf(s[partAttempts], "%d_", &n) // what does not say it, had none
	return n
}
