package facts

import (
	"errors"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// The classes of addresses, for [URL.Class].
const (
	ClassPublic    = "public"
	ClassLoopback  = "loopback"
	ClassPrivate   = "private"
	ClassLinkLocal = "link-local"
	ClassMetadata  = "metadata" // a cloud's instance metadata or credentials service
	ClassUnknown   = "unknown"
)

// The uses of addresses, for [URL.Use].
const (
	UseFetch   = "fetch"
	UseUpload  = "upload"
	UseConnect = "connect"
	UseListen  = "listen"
)

// MaxURLBytes bounds the text of one address. What is longer is no address that
// a tool would take, and is reported with an unknown class.
const MaxURLBytes = 64 << 10

// hostProfile maps names as resolvers do (case, width, dots) and keeps names
// that registries refuse but resolvers take, such as those with an underscore.
var hostProfile = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false))

var errHost = errors.New("not a host")

// NormalHost returns host as facts name it: lower case, without brackets, zone
// and final dot, international names in ASCII form, and every numeric form that
// resolvers take (decimal, octal, hex, short) as the address that it means. It
// is safe for concurrent use.
func NormalHost(host string) (string, error) {
	h := strings.TrimSpace(host)
	if strings.HasPrefix(h, "[") && strings.HasSuffix(h, "]") {
		h = h[1 : len(h)-1]
	}
	if h == "" || len(h) > 1024 || !utf8.ValidString(h) {
		return "", errHost
	}
	if strings.IndexByte(h, ':') >= 0 {
		a, err := netip.ParseAddr(h)
		if err != nil {
			return "", errHost
		}
		return a.Unmap().WithZone("").String(), nil
	}
	if strings.IndexByte(h, '%') >= 0 {
		u, err := url.PathUnescape(h)
		if err != nil || strings.IndexByte(u, '%') >= 0 {
			return "", errHost
		}
		if h = u; !utf8.ValidString(h) {
			return "", errHost
		}
	}
	if !plainHost(h) {
		mapped, err := hostProfile.ToASCII(h)
		if err != nil {
			return "", errHost
		}
		// A name that changes when it is mapped again would have two forms.
		if again, err := hostProfile.ToASCII(mapped); err != nil || again != mapped {
			return "", errHost
		}
		h = mapped
	}
	h = strings.TrimSuffix(strings.ToLower(h), ".")
	if h == "" || h[0] == '.' || h[len(h)-1] == '.' || strings.Contains(h, "..") {
		return "", errHost
	}
	for i := 0; i < len(h); i++ {
		if c := h[i]; c <= ' ' || c >= 0x7f || strings.IndexByte("\"#%/:<>?@[\\]^|`{}", c) >= 0 {
			return "", errHost
		}
	}
	if a, numeric, ok := numericHost(h); numeric {
		if !ok {
			return "", errHost
		}
		return a.String(), nil
	}
	return h, nil
}

func plainHost(h string) bool {
	for i := 0; i < len(h); i++ {
		if h[i] >= utf8.RuneSelf {
			return false
		}
	}
	return !strings.Contains(h, "xn--") && !strings.Contains(h, "XN--")
}

// numericHost reads the forms of inet_aton: one to four parts, each decimal,
// octal with a leading 0 or hex with 0x; the last part fills what is left.
// numeric is set when the last label says that the host is meant as an address.
func numericHost(h string) (a netip.Addr, numeric, ok bool) {
	parts := strings.Split(h, ".")
	last := parts[len(parts)-1]
	if last == "" || last[0] < '0' || last[0] > '9' {
		return a, false, false
	}
	if _, err := parsePart(last); err != nil {
		// A label such as 3com is a name; 09 or 0xzz are neither.
		return a, allDigits(last), false
	}
	if len(parts) > 4 {
		return a, true, false
	}
	var v uint64
	for i, p := range parts {
		n, err := parsePart(p)
		if err != nil {
			return a, true, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return a, true, false
			}
			v |= n << (8 * (3 - i))
			continue
		}
		if n >= 1<<(8*(5-len(parts))) {
			return a, true, false
		}
		v |= n
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true, true
}

func parsePart(p string) (uint64, error) {
	base := 10
	switch {
	case strings.HasPrefix(p, "0x"):
		p, base = p[2:], 16
		if p == "" {
			return 0, nil
		}
	case len(p) > 1 && p[0] == '0':
		p, base = p[1:], 8
	}
	if p == "" || p[0] == '+' || p[0] == '-' || strings.IndexByte(p, '_') >= 0 {
		return 0, errHost
	}
	return strconv.ParseUint(p, base, 40)
}

func allDigits(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

var metadataHosts = map[string]bool{
	"169.254.169.254":          true, // most clouds
	"169.254.170.2":            true, // container credentials
	"169.254.170.23":           true, // pod credentials
	"169.254.169.253":          true,
	"fd00:ec2::254":            true,
	"fd00:ec2::23":             true,
	"fd20:ce::254":             true,
	"100.100.100.200":          true,
	"192.0.0.192":              true,
	"168.63.129.16":            true,
	"metadata":                 true,
	"metadata.google.internal": true,
	"metadata.goog":            true,
	"metadata.azure.internal":  true,
	"metadata.azure.com":       true,
	"instance-data":            true,
}

var sharedRange = netip.MustParsePrefix("100.64.0.0/10")

// HostClass returns the class of a host in the form of [NormalHost].
func HostClass(host string) string {
	if host == "" {
		return ClassUnknown
	}
	if metadataHosts[host] || strings.HasPrefix(host, "instance-data.") {
		return ClassMetadata
	}
	a, err := netip.ParseAddr(host)
	if err != nil {
		switch {
		case host == "localhost", strings.HasSuffix(host, ".localhost"), host == "localhost.localdomain",
			host == "ip6-localhost", host == "ip6-loopback":
			return ClassLoopback
		case strings.HasSuffix(host, ".local"), strings.HasSuffix(host, ".internal"), strings.HasSuffix(host, ".lan"),
			strings.HasSuffix(host, ".home.arpa"), strings.HasSuffix(host, ".intranet"), strings.HasSuffix(host, ".svc"):
			return ClassPrivate
		case strings.IndexByte(host, '.') < 0:
			return ClassUnknown
		}
		return ClassPublic
	}
	a = a.Unmap()
	if v4, ok := embedded(a); ok {
		if metadataHosts[v4.String()] {
			return ClassMetadata
		}
		a = v4
	}
	switch {
	case a.IsLoopback(), a.IsUnspecified():
		return ClassLoopback
	case a.IsLinkLocalUnicast():
		return ClassLinkLocal
	case a.IsPrivate(), a.Is4() && sharedRange.Contains(a):
		return ClassPrivate
	case a.IsMulticast():
		return ClassUnknown
	}
	return ClassPublic
}

// embedded returns the IPv4 address inside a translated IPv6 address: NAT64,
// 6to4 and the old compatible form.
func embedded(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return a, false
	}
	b := a.As16()
	switch {
	case b[0] == 0x00 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b && isZero(b[4:12]):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case b[0] == 0x20 && b[1] == 0x02:
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case isZero(b[:12]) && (b[12] != 0 || b[13] != 0 || b[14] != 0):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	}
	return a, false
}

func isZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

var schemePorts = map[string]int{
	"http": 80, "https": 443, "ws": 80, "wss": 443, "ftp": 21, "ftps": 990, "sftp": 22, "ssh": 22, "scp": 22,
	"git": 9418, "git+ssh": 22, "git+https": 443, "git+http": 80, "telnet": 23, "ldap": 389, "ldaps": 636, "smtp": 25, "smtps": 465,
	"imap": 143, "imaps": 993, "pop3": 110, "pop3s": 995, "postgres": 5432, "postgresql": 5432, "mysql": 3306,
	"mariadb": 3306, "redis": 6379, "rediss": 6379, "mongodb": 27017, "amqp": 5672, "amqps": 5671, "nats": 4222,
	"mqtt": 1883, "smb": 445, "rsync": 873, "docker": 443, "oci": 443, "gopher": 70, "dict": 2628, "tftp": 69,
	"rtsp": 554, "vnc": 5900, "rdp": 3389, "socks5": 1080, "socks5h": 1080, "socks4": 1080, "tcp": 0, "udp": 0,
}

// special schemes are read as browsers and Node do: a backslash is a slash, any
// number of slashes may come before the host.
func special(scheme string) bool {
	switch scheme {
	case "http", "https", "ws", "wss", "ftp":
		return true
	}
	return false
}

// ParseURL reads one address: with a scheme, in the form user@host:path of git
// and scp, or a bare host with an optional port and path. It returns no fact for
// text that names no network peer (an empty text, file:, data:, mailto:, a plain
// path), and two, both possible, where programs are known to disagree on the
// host. A host that no resolver would take gives a fact with an unknown class
// and an empty host. It is safe for concurrent use.
func ParseURL(text, use string) []URL {
	u := URL{Use: use, Certainty: Certain, Class: ClassUnknown}
	if len(text) > MaxURLBytes {
		u.Raw = "(address of " + strconv.Itoa(len(text)) + " bytes)"
		u.Certainty = Possible
		return []URL{u}
	}
	s := cleanURL(text)
	if s == "" {
		return nil
	}
	scheme, rest, ok := cutScheme(s)
	if !ok {
		return parseBare(s, u)
	}
	u.Scheme = scheme
	switch scheme {
	case "file", "data", "mailto", "javascript", "about", "blob", "urn", "tel", "view-source", "chrome", "vscode", "unix", "npipe":
		return nil
	}
	slashes := rest
	if special(scheme) {
		rest = strings.TrimLeft(rest, `/\`)
	} else {
		if !strings.HasPrefix(rest, "//") {
			return nil // an opaque address such as urn:…, no peer
		}
		rest = rest[2:]
	}
	u.Raw = RedactURL(s)
	end := strings.IndexAny(rest, "/?#")
	if special(scheme) {
		end = strings.IndexAny(rest, `/\?#`)
	}
	first := u
	readAuthority(&first, rest, end)
	if !special(scheme) || !strings.ContainsRune(slashes, '\\') {
		return []URL{first}
	}
	// Others take the backslash as a part of the name or of the credentials.
	second := u
	plain := strings.TrimLeft(slashes, "/")
	readAuthority(&second, plain, strings.IndexAny(plain, "/?#"))
	if second.Host == first.Host && second.Port == first.Port {
		return []URL{first}
	}
	first.Certainty, second.Certainty = Possible, Possible
	return []URL{first, second}
}

func readAuthority(u *URL, rest string, end int) {
	auth, tail := rest, ""
	if end >= 0 {
		auth, tail = rest[:end], rest[end:]
	}
	if i := strings.LastIndexByte(auth, '@'); i >= 0 {
		u.UserInfo = i > 0
		auth = auth[i+1:]
	}
	host, port := auth, ""
	switch {
	case strings.HasPrefix(auth, "["):
		i := strings.IndexByte(auth, ']')
		if i < 0 {
			return
		}
		host, port = auth[:i+1], strings.TrimPrefix(auth[i+1:], ":")
	default:
		if i := strings.LastIndexByte(auth, ':'); i >= 0 {
			host, port = auth[:i], auth[i+1:]
		}
	}
	u.Path = urlPath(tail)
	u.Port = schemePorts[u.Scheme]
	if port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return
		}
		u.Port = int(n)
	}
	h, err := NormalHost(host)
	if err != nil {
		return
	}
	u.Host, u.Class = h, HostClass(h)
}

func urlPath(tail string) string {
	if i := strings.IndexAny(tail, "?#"); i >= 0 {
		tail = tail[:i]
	}
	if p, err := url.PathUnescape(tail); err == nil {
		return p
	}
	return tail
}

// parseBare reads an address without a scheme.
func parseBare(s string, u URL) []URL {
	u.Raw = RedactURL(s)
	// user@host:path, the form of scp and git.
	if at := strings.IndexByte(s, '@'); at > 0 && !strings.ContainsAny(s[:at], "/ :") {
		host, path, ok := strings.Cut(s[at+1:], ":")
		if ok && host != "" && !strings.ContainsAny(host, "/ ") {
			if h, err := NormalHost(host); err == nil {
				u.Scheme, u.Host, u.Port, u.Path, u.Class = "ssh", h, 22, path, HostClass(h)
				return []URL{u}
			}
		}
	}
	s = strings.TrimPrefix(s, "//")
	if strings.HasPrefix(s, "/") || strings.HasPrefix(s, ".") || strings.HasPrefix(s, "~") || strings.ContainsAny(s, " \t") {
		return nil
	}
	readAuthority(&u, s, strings.IndexAny(s, `/\?#`))
	if u.Host == "" {
		return nil
	}
	return []URL{u}
}

// cleanURL removes what every reader of addresses removes: spaces and controls
// at both ends, tabs and line ends anywhere.
func cleanURL(s string) string {
	s = strings.TrimFunc(s, func(r rune) bool { return r <= ' ' || unicode.IsSpace(r) })
	if strings.ContainsAny(s, "\t\r\n") {
		s = strings.Map(func(r rune) rune {
			if r == '\t' || r == '\r' || r == '\n' {
				return -1
			}
			return r
		}, s)
	}
	return s
}

// cutScheme splits a scheme from an address. host:port is no scheme.
func cutScheme(s string) (scheme, rest string, ok bool) {
	i := strings.IndexByte(s, ':')
	if i <= 0 {
		return "", "", false
	}
	for j := range i {
		c := s[j] | 0x20
		if (c < 'a' || c > 'z') && (j == 0 || (s[j] < '0' || s[j] > '9') && s[j] != '+' && s[j] != '-' && s[j] != '.') {
			return "", "", false
		}
	}
	scheme, rest = strings.ToLower(s[:i]), s[i+1:]
	if strings.HasPrefix(rest, "//") || special(scheme) && !allDigitsPort(rest) {
		return scheme, rest, true
	}
	if special(scheme) {
		return "", "", false
	}
	switch scheme {
	case "file", "data", "mailto", "javascript", "about", "blob", "urn", "tel", "view-source":
		return scheme, rest, true
	}
	return "", "", false
}

func allDigitsPort(rest string) bool {
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return allDigits(rest) && len(rest) <= 5
}

// RedactURL returns an address in which credentials, and the values of query
// members and fragments that look like credentials, are replaced by three stars.
func RedactURL(s string) string {
	out := s
	start := 0
	if i := strings.Index(out, "://"); i >= 0 {
		start = i + 3
	}
	end := len(out)
	if i := strings.IndexAny(out[start:], "/?#"); i >= 0 {
		end = start + i
	}
	// A password may hold a raw slash: take the last @ before a query, when a colon
	// stands before it.
	if q := strings.IndexAny(out, "?#"); q > end {
		if at := strings.LastIndexByte(out[start:q], '@'); at >= 0 && start+at > end && strings.IndexByte(out[start:end], ':') >= 0 {
			end = start + at + 1
		}
	} else if at := strings.LastIndexByte(out[start:], '@'); q < 0 && at >= 0 && start+at > end && strings.IndexByte(out[start:end], ':') >= 0 && start > 0 {
		end = start + at + 1
	}
	if at := strings.LastIndexByte(out[start:end], '@'); at > 0 {
		user := out[start : start+at]
		// The user of ssh is a name, not a secret, when no password is there.
		if strings.IndexByte(user, ':') >= 0 || start > 0 && !sshLike(out[:start]) {
			out = out[:start] + "***" + out[start+at:]
		}
	}
	q := strings.IndexAny(out, "?#")
	if q < 0 {
		return out
	}
	var b strings.Builder
	b.WriteString(out[:q])
	rest := out[q:]
	for rest != "" {
		b.WriteByte(rest[0])
		rest = rest[1:]
		n := strings.IndexAny(rest, "&?#;")
		if n < 0 {
			n = len(rest)
		}
		member := rest[:n]
		rest = rest[n:]
		if k, v, ok := strings.Cut(member, "="); ok && v != "" && secretName(k) {
			member = k + "=***"
		}
		b.WriteString(member)
	}
	return b.String()
}

func sshLike(prefix string) bool {
	return strings.HasPrefix(prefix, "ssh") || strings.HasPrefix(prefix, "git+ssh") || strings.HasPrefix(prefix, "sftp")
}

// secretName reports whether a member of that name usually holds a credential.
func secretName(k string) bool {
	k = strings.ToLower(k)
	for _, w := range [...]string{"token", "secret", "passw", "pwd", "api_key", "apikey", "api-key", "access_key", "accesskey", "signature", "credential", "auth", "session", "jwt", "private"} {
		if strings.Contains(k, w) {
			return true
		}
	}
	return k == "key" || k == "sig" || k == "code" || k == "pass"
}

// scanURLs finds the addresses in running text: what starts with http:// or
// https:// up to a space or a closing mark.
func scanURLs(text string, limit int) []Span {
	var out []Span
	for i := 0; i < len(text) && len(out) < limit; {
		j := indexFoldHTTP(text[i:])
		if j < 0 {
			break
		}
		start := i + j
		end := start
		for end < len(text) {
			r, n := utf8.DecodeRuneInString(text[end:])
			if unicode.IsSpace(r) || strings.ContainsRune("<>\"'`)]}|", r) {
				break
			}
			end += n
		}
		out = append(out, Span{Start: start, End: start + len(strings.TrimRight(text[start:end], ".,;:!?"))})
		i = max(end, start+1)
	}
	return out
}

func indexFoldHTTP(s string) int {
	for i := 0; i+7 <= len(s); i++ {
		if s[i]|0x20 != 'h' || !strings.EqualFold(s[i:i+4], "http") {
			continue
		}
		rest := s[i+4:]
		if strings.HasPrefix(rest, "://") || len(rest) > 3 && rest[0]|0x20 == 's' && strings.HasPrefix(rest[1:], "://") {
			return i
		}
	}
	return -1
}
