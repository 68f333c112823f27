package webhook

import (
	"net/http"
	"slices"
	"strings"

	"github.com/switchboard-otel/switchboard/app/mask"
	"github.com/switchboard-otel/switchboard/app/text"
)

// Limits of what is kept of headers.
const (
	maxHeaders     = 64
	maxHeaderValue = 1024      // bytes of one, cut
	maxHeaderBytes = 24 * 1024 // of all names and values, so that their JSON stays far below the column's check
)

// secretive are parts of the names of headers whose value is, or proves, a secret.
var secretive = []string{"authorization", "cookie", "signature", "api-key", "apikey", "token", "secret", "password"}

// addresses are headers that tell where a delivery came from, which is never shown.
var addresses = []string{"forwarded", "x-forwarded-for", "x-real-ip", "cf-connecting-ip", "true-client-ip", "x-client-ip",
	"x-cluster-client-ip", "x-original-forwarded-for", "x-envoy-external-address"}

// Sanitize returns the headers that may be stored, shown and given to rules: lower-case names, several values
// joined by commas. A value that is or proves a secret is replaced by a marker; so is hidden, which is the
// token of the webhook's own address, wherever a proxy repeats it. Addresses of the sender are left out.
func Sanitize(header http.Header, hidden string) map[string]string {
	names := make([]string, 0, len(header))
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	kept, size := make(map[string]string, min(len(names), maxHeaders)), 0
	for _, name := range names {
		value := strings.Join(header[name], ", ")
		name = strings.ToLower(text.Clean(name))
		if slices.Contains(addresses, name) || len(name) > maxHeaderValue {
			continue
		}
		if slices.ContainsFunc(secretive, func(part string) bool { return strings.Contains(name, part) }) {
			value = mask.Redacted
		}
		if hidden != "" {
			value = strings.ReplaceAll(value, hidden, mask.Redacted)
		}
		value, _ = text.Cut(mask.String(text.Clean(value)), maxHeaderValue)
		size += len(name) + len(value)
		if len(kept) == maxHeaders || size > maxHeaderBytes {
			break
		}
		kept[name] = value
	}
	return kept
}
