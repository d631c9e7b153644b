package gateway

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// guard protects the TCP listener. A browser on this machine can reach loopback
// too, so there is a token everywhere; Host and Origin are checked first, so
// that a page that has a name point here learns nothing, not even that a token
// is wanted.
type guard struct {
	token [sha256.Size]byte
	hosts []string // lower case, without port
	tls   bool
	next  http.Handler
	// turned hears of each request that is not let through, and returns at once.
	turned func(status int)
}

// newGuard lets requests through that name one of hosts and carry token.
func newGuard(token string, hosts []string, tls bool, next http.Handler, turned func(status int)) *guard {
	g := &guard{token: sha256.Sum256([]byte(token)), tls: tls, next: next, turned: turned}
	for _, h := range hosts {
		g.hosts = append(g.hosts, strings.ToLower(strings.Trim(h, "[]")))
	}
	return g
}

func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	refuse := func(status int, why string) {
		g.turned(status)
		http.Error(w, why, status)
	}
	switch {
	case !g.hostAllowed(r.Host):
		refuse(http.StatusMisdirectedRequest, "unknown host")
	case !g.originAllowed(r):
		refuse(http.StatusForbidden, "cross-origin requests are refused")
	case !g.tokenValid(r):
		w.Header().Set("WWW-Authenticate", `Bearer realm="holdpoint"`)
		refuse(http.StatusUnauthorized, "a token is required")
	default:
		g.next.ServeHTTP(w, r)
	}
}

func (g *guard) hostAllowed(hostport string) bool {
	host := hostport
	if h, _, err := net.SplitHostPort(hostport); err == nil {
		host = h
	}
	return host != "" && slices.Contains(g.hosts, strings.ToLower(strings.Trim(host, "[]")))
}

// originAllowed refuses pages of other origins. Programs send no Origin.
func (g *guard) originAllowed(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		return false
	}
	origins, present := r.Header["Origin"]
	if !present {
		return true
	}
	if len(origins) != 1 {
		return false
	}
	u, err := url.Parse(origins[0])
	scheme := "http"
	if g.tls {
		scheme = "https"
	}
	return err == nil && u.Scheme == scheme && strings.EqualFold(u.Host, r.Host)
}

// tokenValid compares digests, so that neither content nor length of the token
// shows in the time that it takes.
func (g *guard) tokenValid(r *http.Request) bool {
	auth := r.Header["Authorization"]
	if len(auth) != 1 {
		return false
	}
	scheme, token, ok := strings.Cut(auth[0], " ")
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1 && ok && strings.EqualFold(scheme, "Bearer") && token != ""
}
