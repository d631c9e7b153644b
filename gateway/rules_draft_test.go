package gateway_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/backend"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/settle"
)

// TestDraftRules runs one subtest for each rule of the AHP draft contract that shows
// on the gateway as a host and as a backend. Their names feed docs/conformance.
func TestDraftRules(t *testing.T) {
	// What a request offers is what its own agent does, inside the manifest.
	for _, id := range []string{"AHP-CAP-001", "D-CAP-1"} {
		t.Run(id, func(t *testing.T) {
			c := newControl(t, nil)
			o := options(t)
			startDraft(t, o, c, asks(ahp.FailOpen, "*"))
			m := gateway.AgentManifest(false)
			for _, agent := range gateway.Agents() {
				for event, p := range map[string][]byte{
					"PreToolUse": payload("ls"), "UserPromptSubmit": native("UserPromptSubmit", `"prompt":"x"`), "Stop": native("Stop"),
					"PostToolUse":  native("PostToolUse", `"tool_name":"Bash","tool_input":{},"tool_use_id":"t","tool_response":"x"`),
					"SessionStart": native("SessionStart", `"source":"startup"`),
				} {
					hook(t, o.Socket, agent, event, p)
				}
			}
			c.mu.Lock()
			defer c.mu.Unlock()
			if len(c.offers) != 10 {
				t.Fatalf("%d requests, want 10", len(c.offers))
			}
			asked := 0
			for i, offer := range c.offers {
				e := m.Event(c.asked[i])
				if e == nil || e.Capabilities == nil {
					t.Fatalf("%s is not in the manifest", c.asked[i])
				}
				for _, f := range offer.Effects {
					if !e.Capabilities.Allows(f) {
						t.Errorf("%s: %s is offered and not in the manifest", c.asked[i], f)
					}
				}
				if offer.Allows(ahp.EffectAsk) {
					asked++
				}
			}
			if asked != 1 {
				t.Errorf("ask is offered %d times, want once: Codex cannot ask", asked)
			}
		})
	}
	// The source is a number that was drawn once, and holds nothing of the machine, the
	// user or the event.
	t.Run("D-EVT-2", func(t *testing.T) {
		c := newControl(t, nil)
		o := options(t)
		r := startDraft(t, o, c, watches("*"))
		hook(t, o.Socket, hookwire.AgentClaudeCode, "UserPromptSubmit", native("UserPromptSubmit", `"prompt":"the password is hunter2"`))
		r.until("it is told", func() bool { return len(c.observed()) == 1 })
		if s := c.observed()[0].Source; !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(s) {
			t.Errorf("source %q", s)
		}
	})
	t.Run("AHP-CAP-002", func(t *testing.T) {
		for _, allows := range []bool{false, true} {
			if !gateway.AgentManifest(allows).Event(ahp.ToolBefore).Capabilities.Allows(ahp.EffectDeny) {
				t.Error("tool.before does not offer deny")
			}
		}
	})
	t.Run("D-CAP-8", func(t *testing.T) {
		for name, m := range map[string]*ahp.Manifest{"agents": gateway.AgentManifest(true), "backend": gateway.BackendManifest()} {
			b, err := wiredraft.AppendCapabilitiesResult(nil, ahp.Raw("1"), m)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _, f := wiredraft.DecodeCapabilitiesResponse(b, ahp.Raw("1"), wiredraft.Limits{}); f != nil {
				t.Errorf("%s: %v", name, f)
			}
		}
	})
	// An unknown limit is absent, and a gap says why.
	t.Run("D-DISC-5", func(t *testing.T) {
		for name, m := range map[string]*ahp.Manifest{"agents": gateway.AgentManifest(false), "backend": gateway.BackendManifest()} {
			for path, limit := range map[string]*int64{
				"limits.maxUploadBytes": m.Limits.MaxUploadBytes, "limits.maxContinuations": m.Limits.MaxContinuations,
				"limits.minTimeoutMs": m.Limits.MinTimeoutMs, "limits.maxTimeoutMs": m.Limits.MaxTimeoutMs,
			} {
				if gap := slices.ContainsFunc(m.Gaps, func(g ahp.Gap) bool { return g.Path == path && g.Reason != "" }); gap != (limit == nil) {
					t.Errorf("%s: %s is %v, gap %v", name, path, limit, gap)
				}
			}
		}
	})
	// An allow of one control does not outlive the change of a later one (D-APP-2), and
	// an ask outlives everything (D-EFF-3).
	t.Run("D-APP-2", func(t *testing.T) {
		first := newControl(t, func(*backend.Request) ([]ahp.Effect, error) { return []ahp.Effect{&ahp.Allow{}}, nil })
		second := newControl(t, func(r *backend.Request) ([]ahp.Effect, error) {
			e := r.Effects()
			e.MergeInput(map[string]any{"command": "ls -l"})
			return e.List()
		})
		o := options(t)
		hooks := append(first.hooks(asks(ahp.FailClosed, ahp.ToolBefore)), second.hooks(asks(ahp.FailClosed, ahp.ToolBefore))...)
		hooks[1].ID = "net.acme.second"
		o.Hooks, o.Revision = hooks, ahp.VersionDraft
		start(t, o)
		got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload("ls"))
		if !strings.Contains(got.stdout, `"updatedInput": {"command":"ls -l"}`) || strings.Contains(got.stdout, "permissionDecision") {
			t.Errorf("got %+v: the allow was for another input", got)
		}
	})
	t.Run("D-EFF-3", func(t *testing.T) {
		c := newControl(t, func(*backend.Request) ([]ahp.Effect, error) { return []ahp.Effect{&ahp.Allow{}}, nil })
		o := withRules(t, options(t), "  - {name: r, when: 'true', effect: ask, reason: Ask first.}\n")
		startDraft(t, o, c, asks(ahp.FailClosed, ahp.ToolBefore))
		if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload("ls")); !strings.Contains(got.stdout, `"permissionDecision": "ask"`) {
			t.Errorf("got %+v", got)
		}
	})
	// Native payloads need the subscription and the operator.
	t.Run("D-NAT-1", func(t *testing.T) {
		for _, allowed := range []bool{false, true} {
			for _, wanted := range []bool{false, true} {
				c := newControl(t, nil)
				o := options(t)
				o.Native = allowed
				sub := watches(ahp.ToolBefore)
				sub.IncludeNative = wanted
				r := startDraft(t, o, c, sub)
				hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload("ls"))
				r.until("it is told", func() bool { return len(c.observed()) == 1 })
				if e := c.observed()[0]; (e.Native != nil) != (allowed && wanted) {
					t.Errorf("operator %v, subscription %v: native %+v", allowed, wanted, e.Native)
				}
			}
		}
	})
	// The agent gets a generic reason; the record tells a failure from a denial.
	t.Run("D-FAIL-5", func(t *testing.T) {
		c := newControl(t, nil)
		c.Close() // nobody is there
		o := options(t)
		r := startDraft(t, o, c, asks(ahp.FailClosed, ahp.ToolBefore))
		if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload("ls")); !got.denied() || !strings.Contains(got.stderr, ahp.GenericDenial) {
			t.Errorf("got %+v", got)
		}
		recs := r.settlements()
		if len(recs) != 1 || recs[0].Decision != settle.DecisionSynthetic || recs[0].By != "net.acme.control" || recs[0].Class != ahp.FailConnection {
			t.Errorf("records %+v", recs)
		}
		if e := r.records(audit.Settlement); !slices.Contains(e[0].Flags, "synthetic") {
			t.Errorf("flags %v", e[0].Flags)
		}
	})
	// What no hook of an agent can carry out is refused at load.
	t.Run("D-SUB-8", func(t *testing.T) {
		c := newControl(t, nil)
		o := options(t)
		o.Revision = ahp.VersionDraft
		for _, tt := range []struct {
			sub  ahp.Subscription
			want string
		}{
			{asks(ahp.FailClosed, "tool.*"), `hooks: /hooks/0/subscriptions/0/failurePolicy ("net.acme.control"): found fail-closed at tool.after, where a hook of an agent holds nothing back`},
			{asks(ahp.FailClosed, ahp.ToolBefore, ahp.ToolAfter), "fail-closed at tool.after"},
			{asks(ahp.FailClosed, ahp.ModelRequestBefore), `/hooks/0 ("net.acme.control"): /subscriptions/0/events/0: "model.request.before" is not covered with mode intercept`},
		} {
			o.Hooks = c.hooks(tt.sub)
			if g, err := gateway.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v: %v, %v; want %q", tt.sub.Events, g, err, tt.want)
			}
		}
		startDraft(t, o, c, asks(ahp.FailClosed, ahp.ToolBefore), asks(ahp.FailOpen, ahp.ToolAfter))
	})
}
