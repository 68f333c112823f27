package doctor

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"strings"
	"syscall"
)

// unreachable says why no answer came. The transport's own words are for programmers, and some of them name the
// whole URL.
func unreachable(err error) finding {
	f := finding{step: stepAddress}
	var unknown *net.DNSError
	var untrusted *tls.CertificateVerificationError
	var timeout interface{ Timeout() bool }
	switch {
	case errors.As(err, &unknown):
		f.found = "there is no host of that name"
		f.next = "check the spelling of the host, and whether this machine can resolve it"
	case errors.Is(err, syscall.ECONNREFUSED):
		f.found = "nothing listens at that address"
		f.next = "start the server (make run), or check host and port; from a container 127.0.0.1 is the container itself"
	case errors.As(err, &untrusted):
		f.found = "the server's certificate is not trusted here"
		f.next = "add its authority to the system's, or name it in SSL_CERT_FILE, for the agent as well"
	case errors.Is(err, http.ErrSchemeMismatch):
		f.found = "the server speaks plain http, not https"
		f.next = "write http:// in the url"
	case strings.Contains(err.Error(), "malformed HTTP"):
		f.found = "what listens there does not speak HTTP"
		f.next = "give the address of Switchboard's one listener, by default port 8321; gRPC's 4317 is something else"
	case errors.As(err, &timeout) && timeout.Timeout():
		f.found = "no answer came in " + patience.String()
		f.next = "check host and port, and whether a firewall lets this machine through"
	default:
		f.found = "the connection broke before an answer came"
		f.next = "check that the url's scheme, host and port are the server's; its log may say more"
	}
	return f
}
