package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/backend"
	"github.com/holdpoint/holdpoint/internal/schematest"
)

// Over HTTP: status, token and what comes back, and the token is shown nowhere.
func TestInspectHTTP(t *testing.T) {
	const token = "a-token-nobody-may-see-0123456789"
	t.Setenv("INSPECT_TOKEN", token)
	real, err := backend.New(backend.HandlerFunc(func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
		if strings.Contains(string(r.Event.Tool.Input), "push") {
			return []ahp.Effect{&ahp.Deny{Reason: "Not today.", Code: "com.example.no_push"}}, nil
		}
		return nil, nil
	}), backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = real.Shutdown(context.Background()) })
	mux := http.NewServeMux()
	mux.HandleFunc("/ahp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		real.ServeHTTP(w, r)
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"`+r.Header.Get("Authorization")+`\u001b[31m"}}`)
	})
	mux.HandleFunc("/broken", func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, r.Header.Get("Authorization"), http.StatusInternalServerError)
	})
	mux.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/ahp", http.StatusTemporaryRedirect)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	tests := []struct {
		name   string
		path   string
		args   []string
		code   int
		class  ahp.FailureClass
		status int
	}{
		{"no objection", "/ahp", []string{"--token-env", "INSPECT_TOKEN"}, exitOK, "", 200},
		{"denied", "/ahp", []string{"--token-env", "INSPECT_TOKEN", "-c", "git push"}, exitDenied, "", 200},
		{"no token", "/ahp", nil, exitFailed, ahp.FailHTTPStatus, 401},
		{"a variable that is not set", "/ahp", []string{"--token-env", "INSPECT_NO_TOKEN"}, exitFailed, ahp.FailCredential, 0},
		{"status", "/broken", []string{"--token-env", "INSPECT_TOKEN"}, exitFailed, ahp.FailHTTPStatus, 500},
		{"redirect", "/moved", []string{"--token-env", "INSPECT_TOKEN"}, exitFailed, ahp.FailHTTPStatus, 307},
		{"an answer with the token in it", "/echo", []string{"--token-env", "INSPECT_TOKEN"}, exitFailed, ahp.FailIDMismatch, 200},
		{"observation", "/ahp", []string{"--token-env", "INSPECT_TOKEN", "--method", "observe"}, exitOK, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			args := append([]string{"inspect", "--url", srv.URL + tt.path}, tt.args...)
			var text, doc, errs strings.Builder
			if code := run(t.Context(), args, strings.NewReader(""), &text, &errs); code != tt.code {
				t.Errorf("exit code %d, want %d\n%s%s", code, tt.code, text.String(), errs.String())
			}
			run(t.Context(), append(args, "--json"), strings.NewReader(""), &doc, &errs)
			schematest.Validate(t, "inspect", []byte(doc.String()))
			var r inspectReport
			if err := json.Unmarshal([]byte(doc.String()), &r); err != nil {
				t.Fatal(err)
			}
			var class ahp.FailureClass
			if r.Failure != nil {
				class = r.Failure.Class
			}
			if class != tt.class || r.Status != tt.status {
				t.Errorf("class %q, status %d; want %q, %d", class, r.Status, tt.class, tt.status)
			}
			all := text.String() + doc.String() + errs.String()
			if strings.Contains(all, token) || strings.Contains(all, "\x1b") {
				t.Errorf("the token or a control character is shown:\n%s", all)
			}
		})
	}
}
