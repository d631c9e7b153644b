// Package uri says what a URI is, and to which URLs something may be sent. The rule
// stands here alone: registrations of either revision are read by it, and a transport
// that was built without a document is held to it.
package uri

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// Endpoint reads the URL of something that is sent to, or says what is wrong with it,
// without quoting it: absolute, https, or http to loopback (anywhere with allowPlain),
// without user information, which would be a literal credential, and without a fragment
// (V-TLS-1, V-TLS-2, V-REG-3, D-HTTP-7, D-REG-5). instead says where a credential comes
// from. found is empty where nothing is wrong.
func Endpoint(s string, allowPlain bool, instead string) (u *url.URL, found, expected string) {
	u, err := url.Parse(s)
	if err != nil || !Valid(s) {
		return nil, "a string that is not a URL", "an absolute http or https URL"
	}
	if scheme, _, _ := strings.Cut(s, ":"); scheme != "http" && scheme != "https" {
		return nil, "a URL with another scheme", "http or https"
	}
	if u.Hostname() == "" {
		return nil, "a URL without a host", "an absolute http or https URL"
	}
	if p := u.Port(); p != "" {
		if n, err := strconv.Atoi(p); err != nil || n < 1 || n > 65535 {
			return nil, "a port out of range", "a port from 1 to 65535"
		}
	}
	if u.User != nil {
		return nil, "a URL with a user name or password", "a URL without: " + instead
	}
	if u.Fragment != "" {
		return nil, "a URL with a fragment, which is never sent", "a URL without"
	}
	if u.Scheme == "http" && !allowPlain && !Loopback(u.Hostname()) {
		return nil, "plain http to a host that is not loopback", "https"
	}
	return u, "", ""
}

// Loopback reports whether host names this machine: localhost, or a loopback address.
func Loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// Valid reports whether b is a URI with a scheme (RFC 3986): an identifier, so
// that only its characters and its authority are looked at.
func Valid[T ~string | ~[]byte](b T) bool {
	colon := 0
	for ; ; colon++ {
		if colon == len(b) {
			return false
		}
		c := b[colon]
		if c == ':' {
			break
		}
		if !isLetter(c) && (colon == 0 || !isDigit(c) && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	if colon == 0 {
		return false
	}
	rest := b[colon+1:]
	authority := 0
	if len(rest) > 1 && rest[0] == '/' && rest[1] == '/' {
		for authority = 2; authority < len(rest) && rest[authority] != '/' && rest[authority] != '?' && rest[authority] != '#'; authority++ {
		}
	}
	hash := false
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		switch {
		case isLetter(c) || isDigit(c):
		case c == '%':
			if i+2 >= len(rest) || !isHex(rest[i+1]) || !isHex(rest[i+2]) {
				return false
			}
			i += 2
		case c == '[' || c == ']':
			if i >= authority {
				return false
			}
		case c == '#':
			if hash {
				return false
			}
			hash = true
		case strings.IndexByte("-._~:/?@!$&'()*+,;=", c) < 0:
			return false
		}
	}
	if authority > 0 {
		_, err := url.Parse(string(b))
		return err == nil
	}
	return true
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
