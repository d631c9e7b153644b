package gateway_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/hookwire"
)

// TestRules shows the adapter duties that only the whole path can keep: what a
// backend behind an agent's hook is offered, and what becomes of an effect that
// the agent's hook cannot carry.
func TestRules(t *testing.T) {
	ask := func(t *testing.T, effects string, policy ahp.FailurePolicy) (answer told, offered string) {
		t.Helper()
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var m struct {
				ID     json.RawMessage
				Params struct{ Capabilities json.RawMessage }
			}
			if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
				t.Error(err)
			}
			offered = string(m.Params.Capabilities)
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"protocolVersion":"0.1","effects":`+effects+`}}`)
		}))
		defer srv.Close()
		sub := intercept
		sub.FailurePolicy = policy
		o := options(t)
		o.Hooks = []ahp.Backend{{ID: "net.acme.remote", Transport: &ahp.HTTPTransport{URL: srv.URL}, Subscriptions: []ahp.Subscription{sub}}}
		r := start(t, o)
		answer = hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", bash("ls"))
		if rec := r.settlements(); len(rec) != 1 || len(rec[0].Hops) != 2 {
			t.Fatalf("records %+v", rec)
		} else if class := rec[0].Hops[1].Class; effects != `[]` && class != ahp.FailInvalidEffect {
			t.Errorf("class %q, want %q", class, ahp.FailInvalidEffect)
		}
		return answer, offered
	}
	t.Run("V-ADAPT-5", func(t *testing.T) {
		if _, offered := ask(t, `[]`, ahp.FailClosed); offered != `{"effects":["deny"]}` {
			t.Errorf("offered %s", offered)
		}
	})
	t.Run("V-DEC-3", func(t *testing.T) {
		o := options(t)
		start(t, o)
		got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", bash("git push --force https://dev:SEED-9f3c@git.example.com/x main"))
		if !got.denied() {
			t.Fatalf("%+v", got)
		}
		for _, hidden := range []string{"SEED-9f3c", "git.example.com", "/policy", "goroutine"} {
			if strings.Contains(got.stdout+got.stderr, hidden) {
				t.Errorf("the reason shows %q: %+v", hidden, got)
			}
		}
	})
	t.Run("V-ADAPT-9", func(t *testing.T) {
		const unsupported = `[{"type":"ask","reason":"ASK-MARK"}]`
		got, _ := ask(t, unsupported, ahp.FailClosed)
		if !got.denied() {
			t.Errorf("fail-closed: %+v", got)
		}
		if strings.Contains(got.stdout+got.stderr, "ASK-MARK") {
			t.Errorf("the agent is shown what a failing backend wrote: %+v", got)
		}
		if got, _ := ask(t, unsupported, ahp.FailOpen); !got.empty() {
			t.Errorf("fail-open: %+v", got)
		}
	})
}
