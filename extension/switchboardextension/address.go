package switchboardextension

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// proxies are the addresses whose word on who calls is taken.
type proxies []netip.Prefix

// parseProxies reads addresses and networks, such as 10.0.0.7 and 10.1.0.0/16.
func parseProxies(list []string) (proxies, error) {
	var all proxies
	for _, text := range list {
		prefix, err := netip.ParsePrefix(text)
		if addr, addrErr := netip.ParseAddr(text); addrErr == nil {
			prefix, err = netip.PrefixFrom(addr.Unmap(), addr.Unmap().BitLen()), nil
		}
		if err != nil {
			return nil, fmt.Errorf("trusted_proxies must be addresses or networks, such as 10.0.0.7 or 10.1.0.0/16")
		}
		all = append(all, prefix.Masked())
	}
	return all, nil
}

func (p proxies) trust(addr netip.Addr) bool {
	for _, prefix := range p {
		if prefix.Contains(addr) {
			return true
		}
	}
	return false
}

// clientAddress is who calls, as far as it can be trusted: the peer, or, behind proxies that are trusted, the
// last address in X-Forwarded-For that is none of them. What stands before that anybody could have written.
func (p proxies) clientAddress(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	peer, err := netip.ParseAddr(host)
	if err != nil || !p.trust(peer.Unmap()) {
		return host
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0; i-- {
		hop, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		peer = hop
		if !p.trust(hop.Unmap()) {
			break
		}
	}
	return peer.Unmap().String()
}
