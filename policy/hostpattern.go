package policy

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/facts"
)

// A HostPattern is a compiled host pattern: `example.com` for that host,
// `*.example.com` for what is below it, `.example.com` for both, an address or a
// range such as `10.0.0.0/8`; each may end in `:port`. It is immutable.
type HostPattern struct {
	text   string
	host   string // lower case ASCII; "" matches any (only with sub)
	sub    bool   // names below host
	self   bool   // host itself
	prefix netip.Prefix
	port   int // 0: any
}

// CompileHost compiles a host pattern.
func CompileHost(text string) (*HostPattern, error) {
	p := &HostPattern{text: text, self: true}
	rest := text
	if pre, err := netip.ParsePrefix(rest); err == nil {
		p.prefix = pre.Masked()
		return p, nil
	}
	if addr, err := netip.ParseAddr(strings.Trim(rest, "[]")); err == nil {
		p.prefix = netip.PrefixFrom(addr, addr.BitLen())
		return p, nil
	}
	if i := strings.LastIndexByte(rest, ':'); i >= 0 {
		n, err := strconv.Atoi(rest[i+1:])
		if err != nil || n < 1 || n > 65535 {
			return nil, fmt.Errorf("host pattern %q: %q is no port", text, rest[i+1:])
		}
		p.port, rest = n, rest[:i]
		if addr, err := netip.ParseAddr(strings.Trim(rest, "[]")); err == nil {
			p.prefix = netip.PrefixFrom(addr, addr.BitLen())
			return p, nil
		}
	}
	switch {
	case strings.HasPrefix(rest, "*."):
		p.sub, p.self, rest = true, false, rest[2:]
	case strings.HasPrefix(rest, "."):
		p.sub, rest = true, rest[1:]
	}
	if rest == "" || strings.ContainsAny(rest, "*?[]/@ ") {
		return nil, fmt.Errorf("host pattern %q: want host, *.domain, .domain or an address range, without a scheme", text)
	}
	host, err := facts.NormalHost(rest)
	if err != nil {
		return nil, fmt.Errorf("host pattern %q: not a host name", text)
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		p.prefix = netip.PrefixFrom(addr, addr.BitLen())
		return p, nil
	}
	p.host = host
	return p, nil
}

// String returns the pattern as it was written.
func (p *HostPattern) String() string { return p.text }

// Match reports whether host, as in [facts.URL], is named by the pattern. A port
// of 0 is not known and matches only a pattern without a port.
func (p *HostPattern) Match(host string, port int) bool {
	if host == "" || p.port != 0 && p.port != port {
		return false
	}
	if p.prefix.IsValid() {
		addr, err := netip.ParseAddr(host)
		return err == nil && p.prefix.Contains(addr.Unmap().WithZone(""))
	}
	if p.self && host == p.host {
		return true
	}
	return p.sub && len(host) > len(p.host)+1 && strings.HasSuffix(host, p.host) && host[len(host)-len(p.host)-1] == '.'
}
