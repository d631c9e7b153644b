package backend_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/backend"
)

type rejections struct {
	mu   sync.Mutex
	list []backend.Rejection
}

func (r *rejections) add(x backend.Rejection) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, x)
}

// take returns what was added since the last call.
func (r *rejections) take() []backend.Rejection {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

func TestRejections(t *testing.T) {
	var heard rejections
	o := backend.Options{Versions: []ahp.Version{ahp.Version01, ahp.VersionDraft}, Rejected: heard.add}
	o.Limits.MaxBytes = 4 << 10
	s := newServer(t, decide, o)
	ctx := backend.WithPrincipal(t.Context(), "p")
	tests := []struct {
		name, frame string
		want        []backend.Rejection
	}{
		{"a request", request("a", "ls"), nil},
		{"again", request("a", "ls"), nil},
		{"a denial", request("b", "deny"), nil},
		{"a handler that fails", request("c", "error"), nil},
		{"an observation", observation("d", "ls"), nil},
		{"no JSON", `{`, []backend.Rejection{{Principal: "p", Code: ahp.CodeParse}}},
		{"the id of other content", request("a", "rm"), []backend.Rejection{{Principal: "p", Code: ahp.CodeInvalidParams}}},
		{"another version", strings.Replace(request("e", "ls"), `"0.1"`, `"0.2"`, 1), []backend.Rejection{{Principal: "p", Code: ahp.CodeUnsupportedVersion}}},
		{"a broken observation", strings.Replace(observation("f", "ls"), `"tool.before"`, `"tool.besides"`, 1), []backend.Rejection{{Principal: "p", Code: ahp.CodeUnsupportedEvent, Observation: true}}},
	}
	for _, tt := range tests {
		if _, err := s.Local(ctx, []byte(tt.frame)); err != nil {
			t.Fatal(err)
		}
		if got := heard.take(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: heard of %+v, want %+v", tt.name, got, tt.want)
		}
	}

	long := request("g", strings.Repeat("x", 8<<10))
	if err := s.ServeStdio(ctx, strings.NewReader(long+"\n"), new(bytes.Buffer)); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(long))
	r.Header.Set("Content-Type", "application/json")
	s.ServeHTTP(httptest.NewRecorder(), r)
	for _, tt := range []struct {
		edit func(*http.Request)
		want int
	}{
		{func(r *http.Request) { r.Method = http.MethodGet }, http.StatusMethodNotAllowed},
		{func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, http.StatusUnsupportedMediaType},
		{func(r *http.Request) { r.ContentLength = 1000 }, http.StatusBadRequest}, // cut off
	} {
		r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(`{}`))
		r.Header.Set("Content-Type", "application/json")
		tt.edit(r)
		w := httptest.NewRecorder()
		prior := heard.take()
		s.ServeHTTP(w, r)
		if got := heard.take(); w.Code != tt.want || !slices.Equal(got, []backend.Rejection{{Principal: "p", Status: tt.want}}) {
			t.Errorf("status %d, heard of %+v", w.Code, got)
		}
		heard.list = prior
	}
	large := backend.Rejection{Principal: "p", Code: ahp.CodeInvalidRequest}
	if got := heard.take(); !slices.Equal(got, []backend.Rejection{large, large}) {
		t.Errorf("over the limit: heard of %+v, want it over both carriers", got)
	}
}

func TestRejectionsOfWhoIsNotLetIn(t *testing.T) {
	var heard rejections
	s := newServer(t, decide, backend.Options{
		Rejected:     heard.add,
		Authenticate: backend.BearerToken("right", "p"),
		Authorize:    func(*http.Request, string) bool { return false },
	})
	for token, want := range map[string]backend.Rejection{
		"wrong": {Status: http.StatusUnauthorized}, "right": {Principal: "p", Status: http.StatusForbidden},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(`{}`))
		r.Header.Set("Authorization", "Bearer "+token)
		s.ServeHTTP(httptest.NewRecorder(), r)
		if got := heard.take(); !slices.Equal(got, []backend.Rejection{want}) {
			t.Errorf("%s: heard of %+v, want %+v", token, got, want)
		}
	}
}

// There is one place, and the handler in it asks twice more.
func TestRejectionsOfTooMany(t *testing.T) {
	var heard rejections
	var s *backend.Server
	s = newServer(t, func(ctx context.Context, _ *backend.Request) ([]ahp.Effect, error) {
		for _, frame := range []string{request("b", "ls"), observation("c", "ls")} {
			if _, err := s.Local(ctx, []byte(frame)); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}, backend.Options{MaxConcurrent: 1, Rejected: heard.add})
	if _, err := s.Local(t.Context(), []byte(request("a", "ls"))); err != nil {
		t.Fatal(err)
	}
	want := []backend.Rejection{{Code: ahp.CodeUnavailable}, {Code: ahp.CodeUnavailable, Observation: true}}
	if got := heard.take(); !slices.Equal(got, want) {
		t.Errorf("heard of %+v, want %+v", got, want)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Local(t.Context(), []byte(request("d", "ls"))); err != nil {
		t.Fatal(err)
	}
	if got := heard.take(); !slices.Equal(got, want[:1]) {
		t.Errorf("after Shutdown: heard of %+v, want %+v", got, want[:1])
	}
}
