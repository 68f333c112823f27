package ingest

import "strings"

// Bearer returns the token of a request's Authorization headers, or of the gRPC metadata of that name. Nothing else
// authenticates: no cookie, no parameter.
//
// Two widely used agents hand the value of OTEL_EXPORTER_OTLP_HEADERS on without decoding it, so "Bearer%20" is
// read as "Bearer " (decisions.md 11). Two headers are none: which one counts would be a guess.
func Bearer(headers []string) (token string, ok bool) {
	const scheme = len("bearer")
	if len(headers) != 1 || len(headers[0]) < scheme || !strings.EqualFold(headers[0][:scheme], "bearer") {
		return "", false
	}
	rest := headers[0][scheme:]
	token, ok = strings.CutPrefix(rest, "%20")
	if !ok {
		token, ok = strings.CutPrefix(rest, " ")
	}
	token = strings.TrimSpace(token)
	return token, ok && token != ""
}
