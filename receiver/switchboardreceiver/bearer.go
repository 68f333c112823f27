package switchboardreceiver

import (
	"net/http"
	"strings"
)

// bearer returns the token of the Authorization header. Nothing else authenticates: no cookie, no parameter.
//
// Two widely used agents hand the value of OTEL_EXPORTER_OTLP_HEADERS on without decoding it, so "Bearer%20" is
// read as "Bearer " (decisions.md 11). Two headers are none: which one counts would be a guess.
func bearer(header http.Header) (token string, ok bool) {
	const scheme = len("bearer")
	values := header.Values("Authorization")
	if len(values) != 1 || len(values[0]) < scheme || !strings.EqualFold(values[0][:scheme], "bearer") {
		return "", false
	}
	rest := values[0][scheme:]
	token, ok = strings.CutPrefix(rest, "%20")
	if !ok {
		token, ok = strings.CutPrefix(rest, " ")
	}
	token = strings.TrimSpace(token)
	return token, ok && token != ""
}
