package switchboardreceiver

import (
	"net/url"
	"strings"
)

// signal is what a request exports.
type signal int

const (
	unknownSignal signal = iota
	traces
	logs
	metrics
)

var signals = map[string]signal{"traces": traces, "logs": logs, "metrics": metrics}

// route is what a path names. Its zero value names nothing.
type route struct {
	endpoint string // slug or ep_ id as sent, empty when the path has none
	signal   signal // unknownSignal when the path is not one that is served
}

// parseRoute reads /otlp/{endpoint}/v1/{signal}. Real exporters join base and path carelessly and most of them say
// nothing about a refusal, so doubled slashes, "." segments, a trailing slash and a base that already ends in
// /v1/traces are served as they were meant (decisions.md 4). A ServeMux would answer those with a redirect.
func parseRoute(escapedPath string) route {
	segments := splitPath(escapedPath)
	if len(segments) == 0 || segments[0] != "otlp" {
		return route{}
	}
	segments = segments[1:]
	if len(segments) == 0 || lastSignal(segments) != unknownSignal {
		return route{} // the base was given without an endpoint
	}
	return route{endpoint: segments[0], signal: lastSignal(segments[1:])}
}

// lastSignal returns the signal of the last pair when segments are nothing but pairs of v1 and a signal.
func lastSignal(segments []string) signal {
	if len(segments)%2 != 0 {
		return unknownSignal
	}
	last := unknownSignal
	for ; len(segments) > 0; segments = segments[2:] {
		if last = signals[segments[1]]; segments[0] != "v1" || last == unknownSignal {
			return unknownSignal
		}
	}
	return last
}

// splitPath returns the decoded segments without empty ones and ".". A segment that cannot be decoded stays as it is
// and so matches nothing.
func splitPath(escapedPath string) []string {
	var segments []string
	for escaped := range strings.SplitSeq(escapedPath, "/") {
		segment, err := url.PathUnescape(escaped)
		if err != nil {
			segment = escaped
		}
		if segment != "" && segment != "." {
			segments = append(segments, segment)
		}
	}
	return segments
}
