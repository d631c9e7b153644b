package walk

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// BadURL says what is wrong with a URL that something is sent to, without quoting it,
// or returns empty texts. Plain http is for loopback, unless allowPlain. instead says
// where a credential comes from that must not stand in the URL.
func BadURL(s string, allowPlain bool, instead string) (found, expected string) {
	u, err := url.Parse(s)
	if err != nil || !URI(s) {
		return "a string that is not a URL", "an absolute http or https URL"
	}
	if scheme, _, _ := strings.Cut(s, ":"); scheme != "http" && scheme != "https" {
		return "a URL with another scheme", "http or https"
	}
	if u.Hostname() == "" {
		return "a URL without a host", "an absolute http or https URL"
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return "a port out of range", "a port from 1 to 65535"
		}
	}
	if u.User != nil {
		return "a URL with a user name or password", "a URL without: " + instead
	}
	if u.Fragment != "" {
		return "a URL with a fragment, which is never sent", "a URL without"
	}
	if u.Scheme == "http" && !allowPlain && !Loopback(u.Hostname()) {
		return "plain http to a host that is not loopback", "https"
	}
	return "", ""
}

// Loopback reports whether host names this machine: localhost, or a loopback address.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// SecretName reports whether a member of this name holds a credential, in any of the
// usual spellings.
func SecretName(name []byte) bool {
	if len(name) > 32 {
		return false
	}
	var b [32]byte
	n := 0
	for _, c := range name {
		if c == '-' || c == '_' {
			continue
		}
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		b[n] = c
		n++
	}
	switch string(b[:n]) {
	case "token", "bearertoken", "accesstoken", "authtoken", "bearer", "apikey", "xapikey", "password", "passwd", "secret",
		"clientsecret", "secretkey", "privatekey", "credential", "credentials", "authorization":
		return true
	}
	return false
}
