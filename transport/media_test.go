package transport_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
)

// An answer is read only if it is declared as JSON, once and as it is (V-HTTP-1).
func TestAnswerMediaType(t *testing.T) {
	const plain = "application/json"
	tests := []struct {
		name   string
		header http.Header
		ok     bool
	}{
		{"plain", http.Header{"Content-Type": {plain}}, true},
		{"charset", http.Header{"Content-Type": {"Application/JSON; charset=utf-8"}}, true},
		{"identity", http.Header{"Content-Type": {plain}, "Content-Encoding": {"identity"}}, true},
		{"none", http.Header{"Content-Type": nil}, false},
		{"other", http.Header{"Content-Type": {"application/problem+json"}}, false},
		{"two", http.Header{"Content-Type": {plain, "text/plain"}}, false},
		{"list", http.Header{"Content-Type": {plain + ", text/plain"}}, false},
		{"compressed", http.Header{"Content-Type": {plain}, "Content-Encoding": {"gzip"}}, false},
		{"two encodings", http.Header{"Content-Type": {plain}, "Content-Encoding": {"identity", "gzip"}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				maps.Copy(w.Header(), tt.header)
				_, _ = w.Write([]byte(`{}`))
			}))
			defer s.Close()
			_, f := ask(within(t, long), carry(t, &ahp.HTTPTransport{URL: s.URL}), "a")
			if ok := f == nil; ok != tt.ok || f != nil && f.Class != ahp.FailMalformed {
				t.Errorf("got %v, want an answer: %t", f, tt.ok)
			}
		})
	}
}
