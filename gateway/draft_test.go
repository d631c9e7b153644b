package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/backend"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/settle"
)

// withRules sets the policy folder of o to one file of rules, without a pack.
func withRules(t *testing.T, o gateway.Options, rules string) gateway.Options {
	t.Helper()
	dir := shortDir(t)
	if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte("version: 1\npacks: []\nrules:\n"+rules), 0o600); err != nil {
		t.Fatal(err)
	}
	o.Policy.Dir, o.Reload = dir, gateway.ReloadManual
	return o
}

// payload is a tool call before it runs, as either agent sends it.
func payload(command string) []byte { return bash(command) }

func TestEffectsOfThePolicyReachEachAgent(t *testing.T) {
	const (
		ask     = "  - {name: r, when: 'runs(\"git push ...\")', effect: ask, reason: Pushing needs a yes.}\n"
		modify  = "  - {name: r, when: 'runs(\"git push ...\")', effect: modify, reason: r, merge: '{\"command\": \"git push --dry-run\"}'}\n"
		message = "  - {name: r, when: 'true', effect: message, reason: r, text: For the user.}\n"
		inject  = "  - {name: r, when: 'true', effect: inject, deliverAt: now, reason: r, text: For the model.}\n"
		later   = "  - {name: r, when: 'true', effect: inject, deliverAt: next_turn, reason: r, text: For the model.}\n"
	)
	pre := func(more string) string {
		return `{"hookSpecificOutput": {"hookEventName": "PreToolUse", ` + more + `}}`
	}
	tests := []struct {
		name, rules, agent string
		rewriteAllows      bool
		want               string // stdout; "" with refused
		refused            string // part of the reason
		outcome            settle.State
		flags              []string
	}{
		{"ask", ask, hookwire.AgentClaudeCode, false, pre(`"permissionDecision": "ask", "permissionDecisionReason": "Pushing needs a yes."`), "", settle.Ask, nil},
		{"ask", ask, hookwire.AgentCodex, false, "", "needs an approval, which this agent cannot ask for here: Pushing needs a yes.", settle.Denied, nil},
		{"modify", modify, hookwire.AgentClaudeCode, false, pre(`"updatedInput": {"command":"git push --dry-run"}`), "", settle.Proceed, nil},
		{"modify", modify, hookwire.AgentCodex, false, "", "changes the input of this call", settle.Denied, nil},
		{"modify that may allow", modify, hookwire.AgentCodex, true, pre(`"permissionDecision": "allow", "permissionDecisionReason": "The input was changed by policy.", "updatedInput": {"command":"git push --dry-run"}`), "", settle.Proceed, nil},
		{"ask about a change", strings.Replace(ask, "name: r", "name: a", 1) + modify, hookwire.AgentClaudeCode, false, pre(`"permissionDecision": "ask", "permissionDecisionReason": "Pushing needs a yes.", "updatedInput": {"command":"git push --dry-run"}`), "", settle.Ask, nil},
		{"message", message, hookwire.AgentClaudeCode, false, `{"systemMessage": "For the user."}`, "", settle.Proceed, nil},
		{"message", message, hookwire.AgentCodex, false, `{"systemMessage": "For the user."}`, "", settle.Proceed, nil},
		{"inject", inject, hookwire.AgentClaudeCode, false, pre(`"additionalContext": "For the model."`), "", settle.Proceed, nil},
		{"inject", inject, hookwire.AgentCodex, false, "", "", settle.Proceed, []string{"left-out:r"}},
		{"inject later", later, hookwire.AgentClaudeCode, false, "", "", settle.Proceed, []string{"left-out:r"}},
	}
	for _, tt := range tests {
		t.Run(tt.agent+" "+tt.name, func(t *testing.T) {
			o := withRules(t, options(t), tt.rules)
			o.RewriteAllows = tt.rewriteAllows
			r := start(t, o)
			got := hook(t, o.Socket, tt.agent, "PreToolUse", payload("git push"))
			if tt.refused != "" {
				if !got.denied() || !strings.Contains(got.stderr, tt.refused) {
					t.Errorf("got %+v, want a refusal with %q", got, tt.refused)
				}
			} else if got != (told{stdout: tt.want}) {
				t.Errorf("got  %+v\nwant %s", got, tt.want)
			}
			all := r.settlements()
			if len(all) != 1 || all[0].Outcome != tt.outcome || !slices.Contains(all[0].Rules, "r") {
				t.Fatalf("records %+v, want one with outcome %s by rule r", all, tt.outcome)
			}
			if rec := r.records(audit.Settlement)[0]; !slices.Equal(rec.Flags, tt.flags) {
				t.Errorf("flags %v, want %v", rec.Flags, tt.flags)
			}
		})
	}
}

// Under revision 0.1 the chain can only refuse: so it does, with a reason.
func TestEffectsOfThePolicyIn01(t *testing.T) {
	rem := newRemote(t)
	o := withRules(t, options(t), `  - {name: asks, when: 'runs("git push ...")', effect: ask, reason: Pushing needs a yes.}
  - {name: moves, when: 'runs("git pull ...")', effect: modify, reason: r, merge: '{"command": "git pull --dry-run"}'}
  - {name: says, when: 'true', effect: message, reason: r, text: For the user.}
`)
	o.Hooks = []ahp.Backend{rem.backend(intercept)}
	r := start(t, o)
	for command, want := range map[string]string{"git push": "needs an approval", "git pull": "changes the input", "git log": ""} {
		got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload(command))
		if want == "" && !got.empty() || want != "" && (!got.denied() || !strings.Contains(got.stderr, want)) {
			t.Errorf("%s: got %+v", command, got)
		}
	}
	n := 0
	for _, rec := range r.records(audit.Settlement) {
		if slices.Contains(rec.Flags, "left-out:says") {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d records say that the message was left out, want that of git log", n)
	}
}

// A control is a draft backend over HTTP with the answer of a function.
type control struct {
	*httptest.Server
	mu      sync.Mutex
	asked   []ahp.EventType
	events  []*ahp.Event // observed
	offers  []ahp.Capabilities
	answer  func(*backend.Request) ([]ahp.Effect, error)
	backend *backend.Server
}

func newControl(t *testing.T, answer func(*backend.Request) ([]ahp.Effect, error)) *control {
	t.Helper()
	c := &control{answer: answer}
	var err error
	c.backend, err = backend.New(backend.HandlerFunc(func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
		c.mu.Lock()
		c.asked, c.offers = append(c.asked, r.Event.Type), append(c.offers, r.Capabilities)
		c.mu.Unlock()
		if c.answer == nil {
			return nil, nil
		}
		return c.answer(r)
	}), backend.Options{
		Versions: []ahp.Version{ahp.VersionDraft},
		Observe: func(_ context.Context, r *backend.Request) {
			c.mu.Lock()
			c.events = append(c.events, r.Event)
			c.mu.Unlock()
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Server = httptest.NewServer(c.backend)
	t.Cleanup(func() {
		c.Close()
		if err := c.backend.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return c
}

func (c *control) observed() []*ahp.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events)
}

func (c *control) hooks(subs ...ahp.Subscription) []ahp.Backend {
	for i := range subs {
		subs[i].Content = ahp.ContentSelection{Default: ahp.SelectBody}
	}
	return []ahp.Backend{{ID: "net.acme.control", Transport: &ahp.HTTPTransport{URL: c.URL}, Subscriptions: subs}}
}

func asks(policy ahp.FailurePolicy, events ...ahp.EventType) ahp.Subscription {
	return ahp.Subscription{Events: events, Mode: ahp.ModeIntercept, Timeout: 20 * time.Second, FailurePolicy: policy}
}

func watches(events ...ahp.EventType) ahp.Subscription {
	return ahp.Subscription{Events: events, Mode: ahp.ModeObserve}
}

// startDraft starts a gateway whose chain has c behind the policy.
func startDraft(t *testing.T, o gateway.Options, c *control, subs ...ahp.Subscription) *running {
	t.Helper()
	o.Hooks, o.Revision = c.hooks(subs...), ahp.VersionDraft
	return start(t, o)
}

// No backend behind the policy gets an input past it.
func TestARewriteBehindThePolicyIsJudged(t *testing.T) {
	rewrite := func(command string) func(r *backend.Request) ([]ahp.Effect, error) {
		return func(r *backend.Request) ([]ahp.Effect, error) {
			e := r.Effects()
			e.MergeInput(map[string]any{"command": command})
			return e.List()
		}
	}
	const rules = `  - {name: no-rm, when: 'runs("rm ...")', effect: deny, reason: No rm.}
  - {name: ask-push, when: 'runs("git push ...")', effect: ask, reason: Pushing needs a yes.}
  - {name: ask-drop, when: 'runs("dropdb ...")', effect: ask, reason: Databases need a yes.}
  - {name: move, when: 'runs("npm ...") && has(tool.input.command)', effect: modify, reason: r, merge: '{"command": tool.input.command.replace("npm", "pnpm")}'}
`
	tests := []struct {
		name, from, to string
		policy         ahp.FailurePolicy
		want           string // stdout, or "denied"
	}{
		{"harmless", "ls", "ls -l", ahp.FailClosed, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command":"ls -l"}}}`},
		{"denied by the policy", "ls", "rm -rf x", ahp.FailClosed, "denied"},
		{"denied by the policy, fail-open", "ls", "rm -rf x", ahp.FailOpen, ""},
		{"needs an approval that nobody asked for", "ls", "git push", ahp.FailClosed, "denied"},
		{"needs an approval that is asked for", "git push a", "git push b", ahp.FailClosed, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "Pushing needs a yes.", "updatedInput": {"command":"git push b"}}}`},
		{"needs another approval than is asked for", "git push a", "git push a; dropdb b", ahp.FailClosed, "denied"},
		{"would be changed by the policy", "ls", "npm ci", ahp.FailClosed, "denied"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newControl(t, rewrite(tt.to))
			o := withRules(t, options(t), rules)
			startDraft(t, o, c, asks(tt.policy, ahp.ToolBefore))
			got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload(tt.from))
			if tt.want == "denied" && !got.denied() || tt.want != "denied" && got != (told{stdout: tt.want}) {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

func TestEffectsOfOtherControls(t *testing.T) {
	effects := func(list ...ahp.Effect) func(*backend.Request) ([]ahp.Effect, error) {
		return func(*backend.Request) ([]ahp.Effect, error) { return list, nil }
	}
	const deny = `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "enough"}`
	tests := []struct {
		name, agent, event string
		payload            []byte
		on                 ahp.Subscription
		answer             func(*backend.Request) ([]ahp.Effect, error)
		want               told
	}{
		{"stop", hookwire.AgentClaudeCode, "PreToolUse", payload("ls"), asks(ahp.FailClosed, ahp.ToolBefore), effects(&ahp.Stop{Reason: "enough"}), told{deny + `, "continue": false, "stopReason": "enough"}`, "enough", 2}},
		{"stop that is not offered", hookwire.AgentCodex, "PreToolUse", payload("ls"), asks(ahp.FailOpen, ahp.ToolBefore), effects(&ahp.Stop{Reason: "enough"}), told{}},
		{"allow", hookwire.AgentClaudeCode, "PreToolUse", payload("ls"), asks(ahp.FailClosed, ahp.ToolBefore), effects(&ahp.Allow{}), told{stdout: `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}`}},
		{"ask", hookwire.AgentClaudeCode, "PreToolUse", payload("ls"), asks(ahp.FailClosed, ahp.ToolBefore), effects(&ahp.Ask{}), told{stdout: `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "A control asks for your approval of this call."}}`}},
		{"a result, which nobody offered", hookwire.AgentClaudeCode, "PreToolUse", payload("ls"), asks(ahp.FailClosed, ahp.ToolBefore), effects(&ahp.Return{Value: ahp.Value{JSON: ahp.Raw("1")}}), told{`{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "` + ahp.GenericDenial + `"}}`, ahp.GenericDenial, 2}},
		{"deny a prompt", hookwire.AgentCodex, "UserPromptSubmit", native("UserPromptSubmit", `"prompt":"x"`), asks(ahp.FailClosed, ahp.TurnStart), effects(&ahp.Deny{Reason: "enough"}), told{stdout: `{"decision": "block", "reason": "enough"}`}},
		{"context after", hookwire.AgentCodex, "PostToolUse", native("PostToolUse", `"tool_name":"Bash","tool_input":{},"tool_use_id":"t","tool_response":"x"`), asks(ahp.FailOpen, ahp.ToolAfter), effects(&ahp.Inject{DeliverAt: ahp.DeliverNow, Messages: []ahp.Message{ahp.TextMessage("m", ahp.RoleDeveloper, "Mind the gap.")}}), told{stdout: `{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "Mind the gap."}}`}},
		{"permission", hookwire.AgentClaudeCode, "PermissionRequest", native("PermissionRequest", `"tool_name":"Bash","tool_input":{"command":"ls"}`), asks(ahp.FailClosed, ahp.ToolPermissionRequest), effects(&ahp.Allow{}), told{stdout: `{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}`}},
		{"compaction", hookwire.AgentClaudeCode, "PreCompact", native("PreCompact", `"trigger":"auto"`), asks(ahp.FailClosed, ahp.CompactBefore), effects(&ahp.Deny{Reason: "enough"}), told{`{"decision": "block", "reason": "enough"}`, "enough", 2}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newControl(t, tt.answer)
			o := options(t)
			startDraft(t, o, c, tt.on)
			if got := hook(t, o.Socket, tt.agent, tt.event, tt.payload); got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

// What a control asks about, no other one answers when the agent prompts for it
// (D-EFF-3); what nobody asked about, it may.
func TestNoControlAnswersWhatAnotherAsks(t *testing.T) {
	prompt := func(command string) []byte {
		return native("PermissionRequest", `"tool_name":"Bash","tool_input":{ "command" : "`+command+`" }`)
	}
	const allowed = `{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}`
	c := newControl(t, func(r *backend.Request) ([]ahp.Effect, error) {
		if r.Event.Type == ahp.ToolPermissionRequest {
			return []ahp.Effect{&ahp.Allow{}}, nil
		}
		e := r.Effects()
		if strings.Contains(string(r.Event.Tool.Input), "push a") {
			e.MergeInput(map[string]any{"command": "git push b"})
		}
		return e.List()
	})
	o := withRules(t, options(t), "  - {name: r, when: 'runs(\"git push ...\")', effect: ask, reason: Pushing needs a yes.}\n")
	startDraft(t, o, c, asks(ahp.FailOpen, ahp.ToolBefore, ahp.ToolPermissionRequest))
	for _, tt := range []struct{ call, prompt, want string }{
		{"", "git push c", allowed},
		{"git push c", "git push c", ""},
		{"git push a", "git push b", ""}, // as it was changed
		{"ls", "ls", allowed},
	} {
		if tt.call != "" {
			hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload(tt.call))
		}
		if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PermissionRequest", prompt(tt.prompt)); got != (told{stdout: tt.want}) {
			t.Errorf("%s: got %+v, want %q", tt.prompt, got, tt.want)
		}
	}
}

// A turn is kept going once, whatever the control says then (D-CAP-7, NA-CC-34).
func TestATurnIsKeptGoingOnce(t *testing.T) {
	for _, agent := range []string{hookwire.AgentClaudeCode, hookwire.AgentCodex} {
		t.Run(agent, func(t *testing.T) {
			c := newControl(t, func(*backend.Request) ([]ahp.Effect, error) {
				return []ahp.Effect{&ahp.Continue{Instruction: "Run the tests."}}, nil
			})
			o := options(t)
			startDraft(t, o, c, asks(ahp.FailOpen, ahp.TurnFinishBefore))
			stop := func(turn, active string) told {
				return hook(t, o.Socket, agent, "Stop", native("Stop", `"prompt_id":"`+turn+`","turn_id":"`+turn+`","stop_hook_active":`+active+`,"last_assistant_message":"done"`))
			}
			// The session must be known for a count to be kept.
			if got := hook(t, o.Socket, agent, "PreToolUse", payload("ls")); !got.empty() {
				t.Fatalf("got %+v", got)
			}
			goOn := told{stdout: `{"decision": "block", "reason": "Run the tests."}`}
			for i, step := range []struct {
				turn, active string
				want         told
			}{{"t1", "false", goOn}, {"t1", "true", told{}}, {"t1", "false", told{}}, {"t2", "true", told{}}, {"t3", "false", goOn}} {
				if got := stop(step.turn, step.active); got != step.want {
					t.Errorf("step %d: got %+v, want %+v", i, got, step.want)
				}
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if n := *c.offers[len(c.offers)-1].Flow.Remaining; n != 1 {
				t.Errorf("the last request offers %d steps, want 1", n)
			}
			if n := *c.offers[1].Flow.Remaining; n != 0 {
				t.Errorf("the second request offers %d steps, want 0", n)
			}
		})
	}
}

// A rule can be for the events around a call, and costs nothing at others.
func TestRulesAtOtherEvents(t *testing.T) {
	o := withRules(t, options(t), `  - {name: house, on: [session.start], when: 'session.cwd == "/home/dev/repo"', effect: inject, deliverAt: now, reason: r, text: House rules.}
  - {name: quiet, on: [turn.start], when: 'session.cwd == "/home/dev/secret"', effect: deny, reason: Not here.}
`)
	r := start(t, o)
	if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "SessionStart", native("SessionStart", `"source":"startup"`)); got.stdout != `{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "House rules."}}` || got.exit != 0 {
		t.Errorf("got %+v", got)
	}
	prompt := native("UserPromptSubmit", `"prompt":"x"`)
	if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "UserPromptSubmit", prompt); !got.empty() {
		t.Errorf("got %+v", got)
	}
	if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "UserPromptSubmit", bytes.ReplaceAll(prompt, []byte("/repo"), []byte("/secret"))); got.stdout != `{"decision": "block", "reason": "Not here."}` {
		t.Errorf("got %+v", got)
	}
	if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "Stop", native("Stop")); !got.empty() {
		t.Errorf("got %+v", got)
	}
	var got []string
	for _, s := range r.settlements() {
		got = append(got, string(s.EventType)+" "+string(s.Outcome))
	}
	if want := []string{"session.start proceed", "turn.start proceed", "turn.start denied"}; !slices.Equal(got, want) {
		t.Errorf("records %q, want %q: nobody is asked about the end of a turn", got, want)
	}
}

// Observers get the effective call, and the one tool.after that a refused call is
// owed (D-OBS-2, D-TE-2).
func TestObserversOfTheDraft(t *testing.T) {
	c := newControl(t, nil)
	o := withRules(t, options(t), `  - {name: no-rm, when: 'runs("rm ...")', effect: deny, reason: No rm.}
  - {name: ask-drop, when: 'runs("dropdb ...")', effect: ask, reason: Databases need a yes.}
  - {name: move, when: 'runs("npm ...") && has(tool.input.command)', effect: modify, reason: r, merge: '{"command": "pnpm ci"}'}
`)
	r := startDraft(t, o, c, watches("*"))
	for _, command := range []string{"npm ci", "rm x"} {
		hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload(command))
	}
	hook(t, o.Socket, hookwire.AgentClaudeCode, "Notification", native("Notification", `"message":"waiting"`))
	r.until("all are told", func() bool { return len(c.observed()) == 4 })
	var got []string
	for _, e := range c.observed() {
		s := string(e.Type)
		if e.Tool != nil {
			s += " " + string(e.Tool.Input)
		}
		if b, ok := e.Body.(*ahp.ToolAfterBody); ok {
			s += " " + string(b.Outcome) + " " + string(b.Execution.Skipped)
		}
		got = append(got, s)
	}
	slices.Sort(got)
	want := []string{
		`tool.after {"command":"rm x"} denied policy`, `tool.before {"command":"pnpm ci"}`, `tool.before {"command":"rm x"}`, `user.attention`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// Every recorded payload is an event that a strict backend takes, asked and told.
func TestRecordedPayloadsInDraftThroughTheRealPath(t *testing.T) {
	for _, agent := range []struct{ name, dir string }{{hookwire.AgentClaudeCode, "claude"}, {hookwire.AgentCodex, "codex"}} {
		t.Run(agent.name, func(t *testing.T) {
			dir := corpus.Dir(t, "native/"+agent.dir)
			files, err := filepath.Glob(filepath.Join(dir, "*.json"))
			if err != nil {
				t.Fatal(err)
			}
			c := newControl(t, nil)
			o := withRules(t, options(t), "  - {name: none, when: 'false', effect: flag, reason: r}\n")
			r := startDraft(t, o, c, asks(ahp.FailOpen, "*"), watches("*"))
			want, asked := 0, 0
			for _, file := range files {
				b, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				event, _, _ := strings.Cut(filepath.Base(file), ".")
				if event == "behaviour" {
					continue
				}
				got, err := ask(t, o.Socket, agent.name, event, b)
				if err != nil || got.Status != hookwire.StatusAnswer || len(got.Stdout) > 0 || got.ExitCode != 0 {
					t.Errorf("%s: %+v, %v", filepath.Base(file), got, err)
				}
				switch event {
				case "PostToolBatch", "SubagentStart": // nothing in the draft fits
				case "SessionEnd":
					want++
				default:
					want, asked = want+1, asked+1
				}
			}
			r.until("all are told", func() bool { return len(c.observed()) == want })
			if len(c.asked) != asked {
				t.Errorf("asked about %d events, want %d", len(c.asked), asked)
			}
			for _, s := range r.settlements() {
				if s.FailedOpen || s.Outcome != settle.Proceed {
					t.Errorf("%s: %s, hops %+v", s.EventType, s.Outcome, s.Hops)
				}
			}
		})
	}
}

// What no hook can hold back is refused at load (AHP draft section 21.3).
func TestFailClosedWhereNothingIsHeldBack(t *testing.T) {
	c := newControl(t, nil)
	for _, events := range [][]ahp.EventType{{ahp.ToolAfter}, {"tool.*"}, {ahp.TurnFinishBefore}, {"*"}} {
		o := options(t)
		o.Hooks, o.Revision = c.hooks(asks(ahp.FailClosed, events...)), ahp.VersionDraft
		g, err := gateway.Open(t.Context(), o)
		if err == nil {
			err = g.Close()
			t.Errorf("%v: opened, %v", events, err)
			continue
		}
		if !strings.Contains(err.Error(), `/hooks/0/subscriptions/0/failurePolicy ("net.acme.control"): found fail-closed at `) {
			t.Errorf("%v: %v", events, err)
		}
	}
}

// A token that a registration names by reference is read from the secrets folder, and
// one that cannot be resolved is an error when the gateway starts.
func TestTokensByReference(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	c := newControl(t, nil)
	inner := c.Config.Handler
	c.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = append(seen, r.Header.Get("Authorization"))
		mu.Unlock()
		inner.ServeHTTP(w, r)
	})
	o := options(t)
	o.Hooks, o.Revision = c.hooks(asks(ahp.FailClosed, ahp.ToolBefore)), ahp.VersionDraft
	o.Hooks[0].Auth = &ahp.Bearer{TokenRef: "guard/token"}
	if g, err := gateway.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "/authentication/tokenRef") {
		t.Errorf("got %v, %v", g, err)
	}
	o.Secrets = shortDir(t)
	if err := os.MkdirAll(filepath.Join(o.Secrets, "guard"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Secrets, "guard", "token"), []byte("s3cr3t\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	start(t, o)
	if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload("ls")); !got.empty() {
		t.Errorf("got %+v", got)
	}
	// The gate's own secrets are not the agent's to read or change.
	if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload("echo x > "+o.Secrets+"/guard/token")); !got.denied() {
		t.Errorf("got %+v", got)
	}
	mu.Lock()
	defer mu.Unlock()
	// Asked about the first call, and told of the second, which was refused before its turn.
	if len(seen) == 0 || slices.ContainsFunc(seen, func(s string) bool { return s != "Bearer s3cr3t" }) {
		t.Errorf("sent %q", seen)
	}
}

// The AHP endpoint answers both revisions, with all effects that its rules have.
func TestTheAHPEndpointAnswersBothRevisions(t *testing.T) {
	o := withRules(t, options(t), `  - {name: asks, when: 'runs("git push ...")', effect: ask, reason: Pushing needs a yes.}
  - {name: breaks, when: 'tool.input.nope == 1 && runs("false ...")', effect: deny, reason: r}
  - {name: reads, when: 'size(secrets) > 0', effect: flag, reason: r}
`)
	o.Policy.Secrets = func() (facts.SecretFinder, error) {
		return func(_ context.Context, text string) ([]facts.SecretMatch, error) {
			if text == "bug" {
				panic("a bug of the detector")
			}
			return nil, nil
		}, nil
	}
	r := start(t, o)
	post := func(body string) string {
		t.Helper()
		resp, err := r.unixClient().Post("http://unix"+gateway.AHPPath, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %v: %s", resp.Status, err, b)
		}
		return string(b)
	}
	event := func(id, command string) *ahp.Event {
		return &ahp.Event{
			ID: id, Source: "urn:example:h", Type: ahp.ToolBefore, Time: "2026-01-02T03:04:05Z", Session: ahp.Session{ID: "s", CWD: "/home/dev/repo"},
			Tool: &ahp.Tool{CallID: "c", Name: "Bash", Kind: "quantum", Origin: ahp.OriginNative, Path: "native", Input: ahp.Raw(`{"command":"` + command + `"}`)},
		}
	}
	draft := func(ev *ahp.Event, caps ahp.Capabilities) string {
		t.Helper()
		b, err := wiredraft.AppendIntercept(nil, ev, &caps, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		return post(string(b))
	}
	if got := draft(event("e-1", "git push"), ahp.Bounds(ahp.ToolBefore)); !strings.Contains(got, `"effects":[{"type":"ask"}]`) {
		t.Errorf("got %s", got)
	}
	if got := draft(event("e-2", "git push"), ahp.DenyOnly()); !strings.Contains(got, policyCannotAsk) {
		t.Errorf("got %s", got)
	}
	if got := draft(event("e-3", "false"), ahp.Bounds(ahp.ToolBefore)); !strings.Contains(got, `"error":{"code":-32004`) {
		t.Errorf("got %s", got)
	}
	if got := draft(event("e-5", "bug"), ahp.Bounds(ahp.ToolBefore)); !strings.Contains(got, `"error":{"code":-32004`) {
		t.Errorf("got %s", got)
	}
	old := `{"jsonrpc":"2.0","id":"e-4","method":"hooks/intercept","params":{"protocolVersion":"0.1","event":{"id":"e-4","source":"urn:example:h","type":"tool.before","time":"2026-01-02T03:04:05Z","session":{"id":"s"},"tool":{"callId":"c","name":"Bash","kind":"shell","input":{"command":"git push"}}},"capabilities":{"effects":["deny"]}}}`
	if got := post(old); !strings.Contains(got, policyCannotAsk) || !strings.Contains(got, `"protocolVersion":"0.1"`) {
		t.Errorf("got %s", got)
	}
	got := post(`{"jsonrpc":"2.0","id":7,"method":"hooks/capabilities","params":{"protocolVersion":"draft"}}`)
	m, f := wiredraft.DecodeCapabilitiesResponse([]byte(got), ahp.Raw("7"), wiredraft.Limits{})
	if f != nil || !m.Covers(ahp.ToolBefore, ahp.ModeIntercept) || m.Covers(ahp.TurnEnd, ahp.ModeObserve) || !m.Event(ahp.ToolBefore).Capabilities.AllowsModify(ahp.TargetInput, ahp.OpReplace) {
		t.Errorf("got %s, %v", got, f)
	}

	var records []string
	for _, rec := range r.records(gateway.KindAnswer) {
		var s settle.Record
		if err := json.Unmarshal(rec.Data, &s); err != nil {
			t.Fatal(err)
		}
		class := ""
		if len(s.Hops) == 1 {
			class = string(s.Hops[0].Class)
		}
		records = append(records, strings.Join([]string{s.EventID, string(s.Outcome), string(s.Decision), class}, " "))
	}
	want := []string{"e-1 ask explicit ", "e-2 denied explicit ", "e-3 denied synthetic " + string(ahp.FailInternal), "e-5 denied synthetic " + string(ahp.FailInternal), "e-4 denied explicit "}
	if !slices.Equal(records, want) {
		t.Errorf("records\n%s\nwant\n%s", strings.Join(records, "\n"), strings.Join(want, "\n"))
	}
}

const policyCannotAsk = "dev.holdpoint.approval_unavailable"
