package switchboardextension

import (
	"net/http"
	"testing"
)

func TestClientAddress_TakesOnlyATrustedProxysWord(t *testing.T) {
	trusted, err := parseProxies([]string{"10.0.0.0/8", "192.0.2.1", "::1"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		peer      string
		forwarded []string
		want      string
	}{
		"no proxy":                     {"203.0.113.9:1", nil, "203.0.113.9"},
		"a stranger's header":          {"203.0.113.9:1", []string{"198.51.100.1"}, "203.0.113.9"},
		"a proxy's header":             {"10.1.2.3:1", []string{"198.51.100.1"}, "198.51.100.1"},
		"a forged entry before":        {"10.1.2.3:1", []string{"1.1.1.1, 198.51.100.1"}, "198.51.100.1"},
		"two proxies":                  {"10.1.2.3:1", []string{"198.51.100.1, 192.0.2.1"}, "198.51.100.1"},
		"two headers":                  {"10.1.2.3:1", []string{"198.51.100.1", "10.9.9.9"}, "198.51.100.1"},
		"nonsense":                     {"10.1.2.3:1", []string{"unknown"}, "10.1.2.3"},
		"nonsense before a proxy":      {"10.1.2.3:1", []string{"unknown, 10.4.4.4"}, "10.4.4.4"},
		"an empty header":              {"10.1.2.3:1", []string{""}, "10.1.2.3"},
		"IPv6":                         {"[::1]:1", []string{"2001:db8::7"}, "2001:db8::7"},
		"an IPv4 address within IPv6":  {"[::ffff:10.1.2.3]:1", []string{"198.51.100.1"}, "198.51.100.1"},
		"a peer without a port (unix)": {"@", []string{"198.51.100.1"}, "@"},
	} {
		r := &http.Request{RemoteAddr: c.peer, Header: http.Header{"X-Forwarded-For": c.forwarded}}
		if got := trusted.clientAddress(r); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
