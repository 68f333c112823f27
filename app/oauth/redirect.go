package oauth

import (
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// maxRedirect is how long a redirect address may be, in bytes.
const maxRedirect = 1024

// privateScheme is a scheme that an application of the human's may have claimed. Those that a browser gives a meaning of
// its own are none: a code must not end in a script or a file.
var privateScheme = regexp.MustCompile(`^[a-z][a-z0-9+.-]{1,63}$`)

var browserSchemes = []string{"about", "blob", "chrome", "data", "file", "filesystem", "ftp", "intent", "javascript",
	"mailto", "sms", "tel", "urn", "vbscript", "view-source", "ws", "wss"}

// printable says that an address is spelled as RFC 3986 has it. Anything else could end the header that it is put in,
// or look to a human like another address.
var printable = regexp.MustCompile(`^[A-Za-z0-9:/?@!$&'()*+,;=._~%\[\]-]+$`)

var hostname = regexp.MustCompile(`^[A-Za-z0-9.-]+$`)

// redirectAllowed reports whether codes may be sent to an address: https, this human's own machine, or a private-use
// scheme (RFC 8252).
func redirectAllowed(address string) bool {
	if len(address) > maxRedirect || !printable.MatchString(address) {
		return false
	}
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Fragment != "" || u.Port() == "" && strings.HasSuffix(u.Host, ":") {
		return false
	}
	switch u.Scheme {
	case "https":
		return hostname.MatchString(u.Hostname()) || net.ParseIP(u.Hostname()) != nil
	case "http":
		return loopback(u)
	default:
		return privateScheme.MatchString(u.Scheme) && !slices.Contains(browserSchemes, u.Scheme)
	}
}

func loopback(u *url.URL) bool {
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// redirectRegistered reports whether a client registered an address. They are compared as text; only the port of a
// loopback address may differ, because a program learns it from its system (RFC 8252 section 7.3).
func redirectRegistered(registered []string, address string) bool {
	if slices.Contains(registered, address) {
		return true
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" || !redirectAllowed(address) {
		return false
	}
	return slices.ContainsFunc(registered, func(other string) bool {
		o, err := url.Parse(other)
		if err != nil || o.Scheme != "http" || !loopback(o) {
			return false
		}
		return portless(o) == portless(u)
	})
}

func portless(u *url.URL) string {
	without := *u
	without.Host = u.Hostname()
	return without.String()
}

// origin is what a human is shown of an address, and what a browser must let a form lead to: scheme and host, or the
// scheme alone where there is no host that means anything.
func origin(address string) (shown, policy string) {
	u, err := url.Parse(address)
	if err != nil {
		return "", ""
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return u.Scheme + ":", u.Scheme + ":"
	}
	shown = u.Scheme + "://" + u.Host
	if strings.Contains(u.Host, "[") {
		return shown, u.Scheme + ":" // a policy cannot name an IPv6 address
	}
	return shown, shown
}

// addressed adds parameters to a redirect address and keeps those that it has.
func addressed(address string, parameters url.Values) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	query := parameters.Encode()
	if u.RawQuery != "" {
		query = u.RawQuery + "&" + query
	}
	u.RawQuery = query
	return u.String()
}
