package gateway

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestGuard(t *testing.T) {
	const token = "s3cret-token-of-the-test"
	ok := map[string]string{"Authorization": "Bearer " + token}
	tests := []struct {
		name   string
		host   string
		header map[string]string
		tls    bool
		want   int
	}{
		{"token", "127.0.0.1:8080", ok, false, 200},
		{"token, other case of scheme", "127.0.0.1:8080", map[string]string{"Authorization": "bearer " + token}, false, 200},
		{"name", "LocalHost:1", ok, false, 200},
		{"IPv6", "[::1]:8080", ok, false, 200},
		{"no port", "localhost", ok, false, 200},
		{"no token", "127.0.0.1:8080", nil, false, 401},
		{"empty token", "127.0.0.1:8080", map[string]string{"Authorization": "Bearer "}, false, 401},
		{"wrong token", "127.0.0.1:8080", map[string]string{"Authorization": "Bearer x"}, false, 401},
		{"basic", "127.0.0.1:8080", map[string]string{"Authorization": "Basic " + token}, false, 401},
		{"token without scheme", "127.0.0.1:8080", map[string]string{"Authorization": token}, false, 401},
		{"other host", "evil.example:8080", ok, false, 421},
		{"host that begins alike", "localhost.evil.example", ok, false, 421},
		{"other origin", "localhost:1", with(ok, "Origin", "http://evil.example"), false, 403},
		{"null origin", "localhost:1", with(ok, "Origin", "null"), false, 403},
		{"origin with another port", "localhost:1", with(ok, "Origin", "http://localhost:2"), false, 403},
		{"origin with another scheme", "localhost:1", with(ok, "Origin", "http://localhost:1"), true, 403},
		{"own origin", "localhost:1", with(ok, "Origin", "http://localhost:1"), false, 200},
		{"own origin with TLS", "localhost:1", with(ok, "Origin", "https://localhost:1"), true, 200},
		{"cross site", "localhost:1", with(ok, "Sec-Fetch-Site", "cross-site"), false, 403},
		{"same site is not same origin", "localhost:1", with(ok, "Sec-Fetch-Site", "same-site"), false, 403},
		{"own origin without token", "localhost:1", map[string]string{"Origin": "http://localhost:1"}, false, 401},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			turned := 200
			g := newGuard(token, []string{"localhost", "127.0.0.1", "::1"}, tt.tls, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "inside")
			}), func(status int) { turned = status })
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
			r.Host = tt.host
			for k, v := range tt.header {
				r.Header.Set(k, v)
			}
			w := httptest.NewRecorder()
			g.ServeHTTP(w, r)
			if w.Code != tt.want {
				t.Errorf("status %d, want %d", w.Code, tt.want)
			}
			if turned != tt.want {
				t.Errorf("told of %d, want %d", turned, tt.want)
			}
			if inside := strings.Contains(w.Body.String(), "inside"); inside != (tt.want == 200) {
				t.Errorf("reached the handler: %v", inside)
			}
			if strings.Contains(w.Body.String(), token) {
				t.Error("the answer holds the token")
			}
		})
	}
}

func with(h map[string]string, k, v string) map[string]string {
	out := map[string]string{k: v}
	maps.Copy(out, h)
	return out
}
