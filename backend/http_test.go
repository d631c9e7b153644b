package backend_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/backend"
)

// What is said to a request that cannot hold a message.
const (
	methodHelp = `{"error":"use POST, with one message as the body"}` + "\n"
	typeHelp   = `{"error":"the body must be application/json, without a Content-Encoding"}` + "\n"
)

func TestHTTP(t *testing.T) {
	var principal string
	s := newServer(t, func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
		principal = r.Principal
		return decide(ctx, r)
	}, backend.Options{Authenticate: backend.BearerToken("t0ken", "agent-7"), Limits: wire01.Limits{MaxBytes: 2000}})
	srv := httptest.NewServer(s)
	defer srv.Close()
	ok := request("r", "ls")
	tests := []struct {
		id, name string
		method   string
		header   map[string]string
		body     string
		status   int
		want     string // the answer
	}{
		{"AHP-HTTP-001", "no objection", "POST", nil, ok, 200, "allow"},
		{"AHP-HTTP-001", "a denial", "POST", nil, request("r2", "deny"), 200, "Not on a Friday."},
		{"AHP-HTTP-001", "a batch", "POST", nil, "[" + ok + "]", 200, "-32600"},
		{"AHP-HTTP-001", "two objects", "POST", nil, ok + ok, 200, "-32700"},
		{"AHP-HTTP-001", "a pretty object", "POST", nil, strings.ReplaceAll(request("r3", "deny"), ",", ",\n  "), 200, "Not on a Friday."},
		{"V-HTTP-1", "a charset", "POST", map[string]string{"Content-Type": "Application/JSON; charset=utf-8"}, ok, 200, "allow"},
		{"V-HTTP-1", "text", "POST", map[string]string{"Content-Type": "text/plain"}, ok, 415, typeHelp},
		{"V-HTTP-1", "an observation as text", "POST", map[string]string{"Content-Type": "text/plain"}, observation("t", "ls"), 415, typeHelp},
		{"V-HTTP-1", "no type", "POST", map[string]string{"Content-Type": ""}, ok, 415, typeHelp},
		{"V-HTTP-1", "compressed", "POST", map[string]string{"Content-Encoding": "gzip"}, ok, 415, typeHelp},
		{"V-HTTP-2", "no objection", "POST", nil, request("h2", "ls"), 200, "allow"},
		{"V-HTTP-2", "a denial", "POST", nil, request("h3", "deny"), 200, "Not on a Friday."},
		{"V-HTTP-3", "an observation", "POST", nil, observation("o", "ls"), 204, "none"},
		{"V-ENV-4", "an invalid observation", "POST", nil, strings.Replace(observation("o", "ls"), "0.1", "7", 1), 400, "none"},
		{"V-AMB-6", "an error", "POST", nil, request("r4", "panic"), 200, "-32004"},
		{"V-AMB-6", "no JSON", "POST", nil, "x", 200, "-32700"},
		{"V-HTTP-6", "GET", "GET", nil, "", 405, methodHelp},
		{"V-HTTP-6", "HEAD", "HEAD", nil, "", 405, "none"},
		{"V-HTTP-6", "PUT", "PUT", nil, ok, 405, methodHelp},
		{"V-AUTH-1", "no token", "POST", map[string]string{"Authorization": ""}, ok, 401, "none"},
		{"V-AUTH-1", "another token", "POST", map[string]string{"Authorization": "Bearer t0ke"}, ok, 401, "none"},
		{"V-AUTH-1", "another scheme", "POST", map[string]string{"Authorization": "Basic t0ken"}, ok, 401, "none"},
		{"V-SEC-1", "too large", "POST", nil, request("r", strings.Repeat("x", 2000)), 413, "none"},
		{"V-SEC-1", "too large, length unknown", "POST", map[string]string{"Transfer-Encoding": "chunked"}, request("r", strings.Repeat("x", 2000)), 413, "none"},
	}
	for i, tt := range tests {
		if i > 0 && tests[i-1].id == tt.id {
			continue
		}
		t.Run(tt.id, func(t *testing.T) {
			for _, c := range tests {
				if c.id != tt.id {
					continue
				}
				var body io.Reader = strings.NewReader(c.body)
				if c.header["Transfer-Encoding"] != "" {
					body = io.MultiReader(body) // hides the length
				}
				req, err := http.NewRequestWithContext(t.Context(), c.method, srv.URL, body)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Authorization", "Bearer t0ken")
				for k, v := range c.header {
					if k != "Transfer-Encoding" {
						req.Header.Set(k, v)
					}
				}
				resp, err := srv.Client().Do(req)
				if err != nil {
					t.Fatal(err)
				}
				b, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				if err := resp.Body.Close(); err != nil {
					t.Fatal(err)
				}
				if resp.StatusCode != c.status {
					t.Errorf("%s: status %d, want %d", c.name, resp.StatusCode, c.status)
				}
				got := string(b)
				if resp.StatusCode == http.StatusOK || got == "" {
					got = describe(t, b)
				}
				if got != c.want {
					t.Errorf("%s: got %s, want %s", c.name, got, c.want)
				}
				if len(b) > 0 && resp.Header.Get("Content-Type") != "application/json" {
					t.Errorf("%s: type %q", c.name, resp.Header.Get("Content-Type"))
				}
				if c.status == 405 && resp.Header.Get("Allow") != "POST" {
					t.Errorf("%s: no Allow", c.name)
				}
			}
		})
	}
	if principal != "agent-7" {
		t.Errorf("principal %q", principal)
	}
}

func TestBearerTokenPanicsOnNone(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("an empty token lets everybody in")
		}
	}()
	backend.BearerToken("", "x")
}

// TestHTTPWhileShuttingDown: requests still get an answer they can read.
func TestHTTPWhileShuttingDown(t *testing.T) {
	s := newServer(t, decide, backend.Options{})
	srv := httptest.NewServer(s)
	defer srv.Close()
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body   string
		status int
		want   string
	}{
		{request("a", "ls"), 200, "-32003"},
		{observation("a", "ls"), 503, "none"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL, strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := resp.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if got := describe(t, b); resp.StatusCode != c.status || got != c.want {
			t.Errorf("status %d, answer %s; want %d, %s", resp.StatusCode, got, c.status, c.want)
		}
	}
}

// TestHTTPClientThatLeaves: the handler hears of it, and the next one is served.
func TestHTTPClientThatLeaves(t *testing.T) {
	started, ended := make(chan struct{}), make(chan error, 1)
	s := newServer(t, func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
		if r.Event.ID != "slow" {
			return nil, nil
		}
		close(started)
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, ctx.Err()
	}, backend.Options{})
	srv := httptest.NewServer(s)
	defer srv.Close()
	post := func(ctx context.Context, id string) (string, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, srv.URL, strings.NewReader(request(id, "ls")))
		if err != nil {
			return "", err
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := srv.Client().Do(req)
		if err != nil {
			return "", err
		}
		defer func() { _ = resp.Body.Close() }()
		b, err := io.ReadAll(resp.Body)
		return describe(t, b), err
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-started
		cancel()
	}()
	if got, err := post(ctx, "slow"); err == nil {
		t.Errorf("an answer after all: %s", got)
	}
	if err := <-ended; err == nil {
		t.Error("the handler was not told")
	}
	if got, err := post(t.Context(), "next"); err != nil || got != "allow" {
		t.Errorf("%s, %v", got, err)
	}
}
