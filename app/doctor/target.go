package doctor

import (
	"errors"
	"net/url"
	"strings"
)

const tracesPath = "/v1/traces"

// Target is the URL that an exporter of an endpoint posts its spans to.
type Target struct{ url *url.URL }

// EndpointTarget is the target of an endpoint, by its slug or id, on a server given by its base URL.
func EndpointTarget(base, endpoint string) (*Target, error) {
	return ParseTarget(strings.TrimRight(base, "/") + "/otlp/" + url.PathEscape(endpoint))
}

// ParseTarget reads the base that OTEL_EXPORTER_OTLP_ENDPOINT takes, to which every exporter adds the same path,
// or the whole URL that others take verbatim. The error does not quote the URL: a password may be in it.
func ParseTarget(s string) (*Target, error) {
	u, err := url.Parse(s)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("the url must look like http://HOST:8321/otlp/ENDPOINT")
	}
	if trimmed := strings.TrimRight(u.Path, "/"); !strings.HasSuffix(trimmed, tracesPath) {
		u = u.JoinPath(tracesPath)
	}
	return &Target{u}, nil
}

func (t *Target) String() string { return t.url.String() }

// endpoint is how the path names the endpoint; empty where it names none.
func (t *Target) endpoint() string {
	_, rest, found := strings.Cut(t.url.Path, "/otlp/")
	if !found {
		return ""
	}
	name, _, _ := strings.Cut(rest, "/")
	return name
}
