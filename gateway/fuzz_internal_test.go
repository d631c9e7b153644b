package gateway

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/hookwire"
)

// FuzzDecide: whatever the payload, the agent gets nothing, or its own whole form
// of a refusal, and a refusal only at events that can be refused.
func FuzzDecide(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `[]`, `{"hook_event_name":"Stop"}`, "{\"hook_event_name\":\"PreToolUse\",\"x\":\"\xff\"}",
		`{"session_id":"s","cwd":"/home/dev/r","hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"git push --force"},"transcript_path":"/x"}`,
		`{"session_id":"s","cwd":"/home/dev/r","hook_event_name":"PreToolUse","tool_name":"Read","tool_use_id":"t","tool_input":{"file_path":"/home/dev/.ssh/id_rsa"},"transcript_path":"/x"}`,
		`{"session_id":"s","cwd":"/","hook_event_name":"PreToolUse","tool_name":"apply_patch","tool_use_id":"t","tool_input":{"command":"*** Begin Patch\n*** Delete File: ../x\n*** End Patch"},"turn_id":"1","model":"m"}`,
		`{"session_id":"s","cwd":"/r","hook_event_name":"SessionEnd","reason":"clear","transcript_path":"/x"}`,
	} {
		for i, event := range []string{"PreToolUse", "Stop", ""} {
			f.Add(i%2 == 0, event, []byte(seed))
		}
	}
	o, err := Options{
		Socket: "/nowhere/hook.sock", Policy: PolicySource{Home: "/home/dev"}, PolicyTimeout: 10 * time.Second, FailurePolicy: ahp.FailClosed,
		Audit: noLog{}, OnAuditFailure: harness.RecordProceed, Oversize: OversizeRefuse,
	}.complete()
	if err != nil {
		f.Fatal(err)
	}
	g := &Gateway{
		opts: o, log: slog.New(slog.DiscardHandler), metrics: newMetrics(), sessions: newSessions("/home/dev"),
		source: "urn:example:fuzz", recorder: harness.Discard,
	}
	g.audit = newAuditor(o.Audit, o.OnAuditFailure, g.log, g.metrics)
	if g.decider, err = NewDecider(o.Policy); err != nil {
		f.Fatal(err)
	}
	if err := g.openChain(); err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { g.Close() })
	f.Fuzz(func(t *testing.T, claude bool, event string, payload []byte) {
		agent := hookwire.AgentCodex
		if claude {
			agent = hookwire.AgentClaudeCode
		}
		a, wait := g.decide(t.Context(), &hookwire.Request{
			Header: hookwire.Header{Agent: agent, Event: event, BudgetMs: 20_000, CWD: "/home/dev/r"}, Payload: payload,
		}, time.Now())
		if wait != nil {
			wait()
		}
		if _, err := hookwire.AppendAnswer(nil, a); err != nil || a.Status != hookwire.StatusAnswer {
			t.Fatalf("status %d: %v", a.Status, err)
		}
		if len(a.Stdout) == 0 && len(a.Stderr) == 0 && a.ExitCode == 0 {
			return
		}
		if a.ExitCode != 2 || len(a.Stderr) == 0 || len(a.Stdout) > 0 && !json.Valid(a.Stdout) {
			t.Fatalf("neither nothing nor a refusal: exit %d, stdout %q, stderr %q", a.ExitCode, a.Stdout, a.Stderr)
		}
		for _, never := range []string{"Stop", "SubagentStop", "PostToolUse", "SessionEnd"} {
			// Unless the payload itself says that it stands elsewhere.
			if event == never && !bytes.Contains(payload, []byte("PreToolUse")) && !bytes.Contains(payload, []byte("PermissionRequest")) &&
				!bytes.Contains(payload, []byte("UserPromptSubmit")) && !bytes.Contains(payload, []byte(`\`)) {
				t.Fatalf("%s was refused", event)
			}
		}
	})
}
