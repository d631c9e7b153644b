package gateway_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/settle"
)

// A remote is an AHP backend over HTTP that notes what it was asked and told.
type remote struct {
	*httptest.Server
	mu       sync.Mutex
	observed []string
	asked    int
	delay    chan struct{} // when not nil, an intercept waits for it
}

func newRemote(t *testing.T) *remote {
	r := &remote{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Event struct{ Type string } }
		}
		if err := json.NewDecoder(req.Body).Decode(&m); err != nil {
			t.Errorf("remote backend: %v", err)
		}
		r.mu.Lock()
		if m.Method == string(ahp.MethodObserve) {
			r.observed = append(r.observed, m.Params.Event.Type)
			r.mu.Unlock()
			w.WriteHeader(http.StatusNoContent)
			return
		}
		r.asked++
		r.mu.Unlock()
		if r.delay != nil {
			select {
			case <-r.delay:
			case <-req.Context().Done():
			}
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":`+string(m.ID)+`,"result":{"protocolVersion":"0.1","effects":[]}}`)
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *remote) seen() (int, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked, strings.Join(r.observed, " ")
}

func (r *remote) backend(subs ...ahp.Subscription) ahp.Backend {
	return ahp.Backend{ID: "net.acme.remote", Transport: &ahp.HTTPTransport{URL: r.URL}, Subscriptions: subs}
}

var (
	intercept = ahp.Subscription{Events: []ahp.EventType{ahp.ToolBefore}, Mode: ahp.ModeIntercept, Timeout: 20 * time.Second, FailurePolicy: ahp.FailClosed}
	observe   = ahp.Subscription{Events: []ahp.EventType{ahp.ToolBefore, ahp.ToolAfter, ahp.ToolError, ahp.SessionStart, ahp.SessionEnd}, Mode: ahp.ModeObserve}
)

func native(event string, more ...string) []byte {
	s := `{"session_id":"s-1","transcript_path":"/x","cwd":"/home/dev/repo","hook_event_name":"` + event + `"`
	for _, m := range more {
		s += "," + m
	}
	return []byte(s + "}")
}

func TestObserversAreToldBehindTheAnswer(t *testing.T) {
	rem := newRemote(t)
	o := options(t)
	o.Hooks = []ahp.Backend{rem.backend(intercept, observe)}
	r := start(t, o)
	for _, e := range []struct {
		event   string
		payload []byte
	}{
		{"SessionStart", native("SessionStart", `"source":"startup"`)},
		{"PreToolUse", bash("ls")},
		{"PostToolUse", native("PostToolUse", `"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t","tool_response":{"stdout":"x"}`)},
		{"PostToolUseFailure", native("PostToolUseFailure", `"tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t","error":"no"`)},
		{"Stop", native("Stop", `"stop_hook_active":false`)},
		{"UserPromptSubmit", native("UserPromptSubmit", `"prompt":"x"`)},
		{"SessionEnd", native("SessionEnd", `"reason":"clear"`)},
	} {
		if got := hook(t, o.Socket, hookwire.AgentClaudeCode, e.event, e.payload); !got.empty() {
			t.Errorf("%s: %+v", e.event, got)
		}
	}
	const want = "session.start tool.before tool.after tool.error session.end"
	r.until("all are told", func() bool { _, got := rem.seen(); return len(got) >= len(want) })
	if asked, got := rem.seen(); got != want || asked != 1 {
		t.Errorf("asked %d times, told of %q; want once and %q", asked, got, want)
	}
	for _, want := range []string{`handling="decided"} 1`, `handling="observed"} 4`, `handling="ignored"} 2`} {
		if got := r.metric("holdpoint_hook_events_total"); !strings.Contains(got, want) {
			t.Errorf("metrics lack %s:\n%s", want, got)
		}
	}
	if n := len(r.settlements()); n != 1 {
		t.Errorf("%d settlements, want 1: observations settle nothing", n)
	}
}

// A denial of the policy ends the chain before anybody else is asked.
func TestThePolicyIsAskedFirst(t *testing.T) {
	rem := newRemote(t)
	o := options(t)
	o.Hooks = []ahp.Backend{rem.backend(intercept)}
	r := start(t, o)
	if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", bash("git push --force")); !got.denied() {
		t.Errorf("got %+v", got)
	}
	if asked, _ := rem.seen(); asked != 0 {
		t.Errorf("the other backend was asked %d times", asked)
	}
	if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", bash("ls")); !got.empty() {
		t.Errorf("got %+v", got)
	}
	sets := r.settlements()
	if len(sets) != 2 || len(sets[1].Hops) != 2 || sets[1].Hops[0].Backend != gateway.PolicyID || sets[1].Hops[1].Backend != "net.acme.remote" {
		t.Errorf("records %+v", sets)
	}
}

func TestAFailureOfThePolicyFollowsItsFailurePolicy(t *testing.T) {
	for _, policy := range []ahp.FailurePolicy{ahp.FailClosed, ahp.FailOpen} {
		t.Run(string(policy), func(t *testing.T) {
			o := options(t)
			o.FailurePolicy, o.Reload = policy, gateway.ReloadManual
			o.Policy.Dir = filepath.Join(shortDir(t), "policy")
			if err := os.Mkdir(o.Policy.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			writePolicy(t, o.Policy.Dir, `version: 1
packs: []
rules:
  - name: fails-while-running
    when: tool.input.marker_of_the_rule == "x"
    effect: deny
    reason: x
    severity: low
`)
			r := start(t, o)
			got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", bash("ls"))
			if policy == ahp.FailClosed && !got.denied() || policy == ahp.FailOpen && !got.empty() {
				t.Errorf("got %+v", got)
			}
			if strings.Contains(got.stdout+got.stderr, "marker") {
				t.Error("the agent is told of the rule")
			}
			sets := r.settlements()
			if len(sets) != 1 {
				t.Fatalf("%d records", len(sets))
			}
			s := sets[0]
			if policy == ahp.FailClosed && s.Decision != settle.DecisionSynthetic || s.FailedOpen != (policy == ahp.FailOpen) {
				t.Errorf("record %+v", s)
			}
			if open := r.metric("holdpoint_failed_open_total"); (open != "") != (policy == ahp.FailOpen) {
				t.Errorf("failed-open metric %q", open)
			}
		})
	}
}

// The client waits a certain time; the gateway answers within it, with a refusal
// when the chain has not come to an end.
func TestTheClientsBudgetEndsTheChain(t *testing.T) {
	rem := newRemote(t)
	rem.delay = make(chan struct{})
	defer close(rem.delay)
	o := options(t)
	o.Hooks = []ahp.Backend{rem.backend(ahp.Subscription{
		Events: intercept.Events, Mode: ahp.ModeIntercept, Timeout: time.Minute, FailurePolicy: ahp.FailOpen,
	})}
	r := start(t, o)
	frame, err := hookwire.AppendRequest(nil, &hookwire.Request{
		Header:  hookwire.Header{Agent: hookwire.AgentClaudeCode, Event: "PreToolUse", BudgetMs: 300},
		Payload: bash("ls"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if ans := exchange(t, o.Socket, frame); ans.Status != hookwire.StatusAnswer || ans.ExitCode != 2 {
		t.Errorf("answer %+v, want a refusal", ans)
	}
	sets := r.settlements()
	if len(sets) != 1 || sets[0].Decision != settle.DecisionSynthetic || sets[0].FailedOpen {
		t.Errorf("records %+v: a budget that ends is never a permission", sets)
	}
}

func TestAPolicyFolderInsideAWorkspaceIsTold(t *testing.T) {
	o := options(t)
	base := shortDir(t)
	o.Policy.Dir, o.Reload = filepath.Join(base, "repo", "policy"), gateway.ReloadManual
	if err := os.MkdirAll(o.Policy.Dir, 0o700); err != nil {
		t.Fatal(err)
	}
	writePolicy(t, o.Policy.Dir, policyDeploy)
	r := start(t, o)
	at := func(dir, command string) told {
		return hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", bytes.ReplaceAll(
			bytes.ReplaceAll(bash(command), []byte("/home/dev/repo"), []byte(dir)), []byte(`"s-1"`), []byte(`"`+dir+`"`)))
	}
	at("/home/dev/repo", "ls")
	if strings.Contains(r.metric("holdpoint_policy_in_workspace"), " 1") {
		t.Error("told although no agent works there")
	}
	at(filepath.Join(base, "repo"), "ls")
	if !strings.Contains(r.metric("holdpoint_policy_in_workspace"), " 1") || !strings.Contains(r.log.String(), "policy folder lies in the workspace") {
		t.Error("not told")
	}
	// Inside the workspace or not: the gate's own files are not the agent's to change.
	if got := at(filepath.Join(base, "repo"), "echo > policy/rules.yaml"); !got.denied() {
		t.Errorf("a write to the policy: %+v", got)
	}
}

// A stop waits for what is under way, and no longer than the drain time: what has
// not come to an end by then is refused and recorded.
func TestAStopDoesNotWaitForASlowBackend(t *testing.T) {
	rem := newRemote(t)
	rem.delay = make(chan struct{})
	defer close(rem.delay)
	o := options(t)
	o.Drain = 100 * time.Millisecond
	o.Hooks = []ahp.Backend{rem.backend(ahp.Subscription{
		Events: intercept.Events, Mode: ahp.ModeIntercept, Timeout: 10 * time.Minute, FailurePolicy: ahp.FailOpen,
	})}
	r := start(t, o)
	frame, err := hookwire.AppendRequest(nil, &hookwire.Request{
		Header:  hookwire.Header{Agent: hookwire.AgentClaudeCode, Event: "PreToolUse", BudgetMs: 600_000},
		Payload: bash("ls"),
	})
	if err != nil {
		t.Fatal(err)
	}
	got := make(chan *hookwire.Answer, 1)
	go func() { got <- exchange(t, o.Socket, frame) }()
	r.until("the slow backend is asked", func() bool { asked, _ := rem.seen(); return asked == 1 })
	r.end() // fails after a minute
	if ans := <-got; ans.Status != hookwire.StatusAnswer || ans.ExitCode != 2 {
		t.Errorf("answer %+v, want a refusal", ans)
	}
	if sets := r.settlements(); len(sets) != 1 || sets[0].Decision != settle.DecisionSynthetic {
		t.Errorf("records %+v", sets)
	}
}
