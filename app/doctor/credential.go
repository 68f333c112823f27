package doctor

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/switchboard-otel/switchboard/app/secret"
)

// FromHeaders finds the credential in the value of OTEL_EXPORTER_OTLP_HEADERS, where an agent has it. It is empty
// when there is no Authorization among the headers.
func FromHeaders(list string) string {
	for pair := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(pair, "=")
		if strings.EqualFold(strings.TrimSpace(name), "authorization") {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// bare is the credential without what it is often copied with: quotes, a scheme, a percent-encoded space.
func bare(credential string) string {
	s := strings.Trim(strings.TrimSpace(credential), `"'`)
	if decoded, err := url.PathUnescape(s); err == nil {
		s = decoded
	}
	if scheme, rest, _ := strings.Cut(s, " "); strings.EqualFold(scheme, "bearer") {
		s = rest
	}
	return strings.TrimSpace(s)
}

// mistaken finds what need not be sent to be known wrong, and must not be: somebody else's kind of secret.
func mistaken(credential string) *finding {
	f := &finding{step: stepCredential}
	switch {
	case credential == "":
		f.found = "the credential is empty"
		f.next = "give the one that endpoint vend printed; endpoint rotate makes a new one"
	case strings.ContainsFunc(credential, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		f.found = "the credential has characters that none has"
		f.next = "copy it again, whole and on one line; it looks like sbk_ and 43 letters, digits, - and _"
	case strings.HasSuffix(credential, "..."):
		f.found = "this is the placeholder of the documentation"
		f.next = "put in the credential that endpoint vend printed; endpoint rotate makes a new one"
	case strings.HasPrefix(credential, string(secret.Personal)):
		f.found = "this is a person's token, for the API and the command line"
		f.next = "use the endpoint's credential, which begins with sbk_"
	case strings.HasPrefix(credential, string(secret.Lease)):
		f.found = "this is a lease token, which an agent gives to MCP verbs"
		f.next = "use the endpoint's credential, which begins with sbk_"
	default:
		return nil
	}
	return f
}

// unknown is what to say of a credential that the server refused.
func unknown(credential string) *finding {
	f := &finding{
		step:  stepCredential,
		found: "the server knows no such credential: it is mistyped, expired, rotated away, revoked or another server's",
		next:  "see with endpoint list whether the endpoint is active, and get a new one from endpoint rotate or endpoint vend",
	}
	if whole := len(secret.New(secret.Credential)); strings.HasPrefix(credential, string(secret.Credential)) && len(credential) != whole {
		f.found = fmt.Sprintf("the server knows no such credential: it has %d characters where a whole one has %d", len(credential), whole)
		f.next = "copy it again, whole and on one line"
	}
	return f
}
