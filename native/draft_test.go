package native_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/native"
	"github.com/holdpoint/holdpoint/native/claude"
	"github.com/holdpoint/holdpoint/native/codex"
	"github.com/holdpoint/holdpoint/native/refuse"
)

var offers = map[string]map[string]native.Offer{"claude": claude.Offers(), "codex": codex.Offers(false)}

func TestOffersHaveEvidence(t *testing.T) { t.Run("D-DISC-6", offersHaveEvidence) }

// Every offer is within the bounds of its event (D-CAP-8), and every recording that
// a source names was made.
func offersHaveEvidence(t *testing.T) {
	zero := int64(0)
	all := map[string]map[string]native.Offer{"claude": claude.Offers(), "codex": codex.Offers(true)}
	for name, table := range all {
		cases := recordedCases(t, name)
		for event, o := range table {
			if !o.Event.In(ahp.VersionDraft) {
				t.Errorf("%s %s: %q is no event of the draft", name, event, o.Event)
			}
			if o.Source == "" {
				t.Errorf("%s %s: no source", name, event)
			}
			c := o.Capabilities
			if len(c.Effects) == 0 {
				continue
			}
			if c.Flow != nil && c.Flow.Continue {
				f := *c.Flow
				f.Remaining, f.Count = &zero, &zero
				c.Flow = &f
			}
			if err := c.Within(o.Event); err != nil {
				t.Errorf("%s %s: %v", name, event, err)
			}
			for _, word := range regexp.MustCompile(`[a-z]+(-[a-z0-9]+)+`).FindAllString(o.Source, -1) {
				if !cases[word] {
					t.Errorf("%s %s: the source names %q, which was not recorded", name, event, word)
				}
			}
		}
	}
	if codex.Offers(false)["PreToolUse"].Capabilities.Allows(ahp.EffectAsk) || codex.Offers(true)["PreToolUse"].Capabilities.Allows(ahp.EffectAsk) {
		t.Error("Codex runs what a hook asks about")
	}
	if codex.Offers(false)["PreToolUse"].Capabilities.Allows(ahp.EffectModify) {
		t.Error("a change would be a permission, and nobody said that it may")
	}
}

func recordedCases(t *testing.T, agent string) map[string]bool {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(corpus.Dir(t, "native/"+agent), "behaviour.json"))
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Case string `json:"case"`
	}
	if err := json.Unmarshal(b, &rows); err != nil {
		t.Fatal(err)
	}
	out := map[string]bool{}
	for _, r := range rows {
		out[r.Case] = true
	}
	return out
}

// Every recorded payload is an event of the draft, or is ignored because nothing
// there fits it.
func TestRecordedPayloadsInDraft(t *testing.T) {
	ignored := map[string]bool{"PostToolBatch": true, "SubagentStart": true}
	manifest := &ahp.Manifest{ToolPaths: []string{"native"}}
	for _, s := range samples(t, native.Options{Revision: ahp.VersionDraft, ID: "e", Source: "urn:x", Time: "2026-11-30T05:00:00Z", Manifest: manifest}) {
		t.Run(s.name, func(t *testing.T) {
			d := s.decoded
			agent, _, _ := strings.Cut(s.name, "/")
			offer, known := offers[agent][d.EventName]
			if known == ignored[d.EventName] {
				t.Fatalf("%s is mapped: %v", d.EventName, known)
			}
			if !known {
				if d.Disposition != native.Ignore || d.Event != nil {
					t.Errorf("got %s", d.Disposition)
				}
				return
			}
			want := native.Observe
			if offer.Event.Interceptable(ahp.VersionDraft) {
				want = native.Decide
			}
			e := d.Event
			if d.Disposition != want || e == nil || e.Type != offer.Event || e.ID != "e" || e.Source != "urn:x" {
				t.Fatalf("got %s of %+v, want %s of %s", d.Disposition, e, want, offer.Event)
			}
			var raw map[string]json.RawMessage
			if err := json.Unmarshal(s.payload, &raw); err != nil {
				t.Fatal(err)
			}
			str := func(name string) (s string) { _ = json.Unmarshal(raw[name], &s); return s }
			if turn := str("prompt_id") + str("turn_id"); turn != "" && (e.Turn == nil || e.Turn.ID != turn || e.Turn.Synthesized != nil) {
				t.Errorf("turn %+v, want %s", e.Turn, turn)
			}
			if e.Type.HasTool() {
				checkDraftTool(t, e, str)
			}
			checkBody(t, e, str, manifest)
		})
	}
}

func checkDraftTool(t *testing.T, e *ahp.Event, str func(string) string) {
	tool := e.Tool
	mcp := strings.HasPrefix(tool.Name, "mcp__")
	if tool.Output != nil || tool.Error != nil || tool.MCP != nil || tool.Path == "" || (tool.Origin == ahp.OriginMCP) != mcp || (tool.Server != nil) != mcp {
		t.Errorf("tool %+v", tool)
	}
	if id := str("tool_use_id"); id != "" && (tool.CallID != id || tool.CallSynthesized != nil) || id == "" && (tool.CallSynthesized == nil || !strings.HasPrefix(tool.CallID, "call/")) {
		t.Errorf("call %q, synthesized %v", tool.CallID, tool.CallSynthesized)
	}
	if mcp {
		m := tool.Server
		if m.ID != "mockmcp" || m.ToolName != "lookup" || !strings.HasPrefix(m.Connection.Transport, "_") || len(m.Connection.Gaps) != 2 || tool.Kind != "" {
			t.Errorf("server %+v of kind %q", m, tool.Kind)
		}
		return
	}
	if want := kinds[tool.Name]; want == ahp.KindOther && tool.Kind != "" || want != ahp.KindOther && tool.Kind != want {
		t.Errorf("kind %q, want %q", tool.Kind, want)
	}
}

func checkBody(t *testing.T, e *ahp.Event, str func(string) string, manifest *ahp.Manifest) {
	text := func() string {
		if len(e.Messages) != 1 || len(e.Messages[0].Parts) != 1 || e.Messages[0].Parts[0].Text == nil {
			return ""
		}
		return *e.Messages[0].Parts[0].Text
	}
	switch b := e.Body.(type) {
	case nil:
		if e.Type != ahp.ToolBefore {
			t.Errorf("%s without a body", e.Type)
		}
	case *ahp.TurnStartBody:
		if b.Trigger != "user" || text() != str("prompt") || e.Messages[0].Role != ahp.RoleUser {
			t.Errorf("turn %+v with %+v", b, e.Messages)
		}
	case *ahp.TurnFinishBody:
		if b.Outcome != ahp.TurnCompleted || b.ContinuationCount != 0 || text() != str("last_assistant_message") || b.LastAssistantItem == nil || b.LastAssistantItem.ID != e.Messages[0].ID {
			t.Errorf("turn %+v with %+v", b, e.Messages)
		}
	case *ahp.ToolAfterBody:
		if (b.Outcome == ahp.ToolFailed) != (str("error") != "") || (b.Error != nil) != (b.Outcome == ahp.ToolFailed) || b.Execution.Skipped != "" {
			t.Errorf("after %+v", b)
		}
		if text() == "" || e.Messages[0].Role != ahp.RoleTool {
			t.Errorf("result %+v", e.Messages)
		}
	case *ahp.SessionStartBody:
		if b.Trigger != "startup" || b.Harness.Name == "" || b.PermissionMode == "" || !slices.Equal(b.Manifest.ToolPaths, manifest.ToolPaths) || len(e.Gaps) != 1 || e.Messages == nil {
			t.Errorf("session %+v", b)
		}
	case *ahp.SessionEndBody:
		if b.Reason != str("reason") || e.Outcome == "" {
			t.Errorf("end %+v, %s", b, e.Outcome)
		}
	case *ahp.PermissionRequestBody:
		if b.Suggestions == nil || b.SandboxBypass {
			t.Errorf("request %+v", b)
		}
	default:
		t.Errorf("%s has a body of type %T", e.Type, b)
	}
}

// Events that no payload was recorded of, after the contract's tables.
func TestDocumentedPayloadsInDraft(t *testing.T) {
	const head = `"session_id":"s","cwd":"/w","hook_event_name":`
	tests := []struct {
		name, payload string
		check         func(e *ahp.Event) bool
	}{
		{"compaction by hand", `{` + head + `"PreCompact","trigger":"manual","custom_instructions":"keep names"}`, func(e *ahp.Event) bool {
			b, ok := e.Body.(*ahp.CompactBeforeBody)
			return ok && b.Trigger == "manual" && len(b.Instructions) == 1 && *b.Instructions[0].Text == "keep names" && e.Messages != nil && len(e.Gaps) == 1
		}},
		{"compaction by itself", `{` + head + `"PreCompact","trigger":"auto","custom_instructions":""}`, func(e *ahp.Event) bool {
			b, ok := e.Body.(*ahp.CompactBeforeBody)
			return ok && b.Trigger == "auto" && b.Instructions == nil
		}},
		{"a notice", `{` + head + `"Notification","message":"waiting","notification_type":"idle_prompt"}`, func(e *ahp.Event) bool {
			b, ok := e.Body.(*ahp.AttentionBody)
			return ok && b.Kind == "idle_prompt" && *b.Message[0].Text == "waiting" && b.Title != nil && len(b.Title) == 0
		}},
		{"a cleared session", `{` + head + `"SessionStart","source":"clear"}`, func(e *ahp.Event) bool {
			b, ok := e.Body.(*ahp.SessionStartBody)
			return ok && b.Trigger == "clear" && b.ResumedFrom != nil && *b.ResumedFrom.Synthesized && b.PermissionMode == "unknown"
		}},
		{"an interrupted call", `{` + head + `"PostToolUseFailure","tool_name":"Bash","tool_use_id":"c","tool_input":{},"error":"stop","is_interrupt":true,"duration_ms":7}`, func(e *ahp.Event) bool {
			b, ok := e.Body.(*ahp.ToolAfterBody)
			return ok && b.Outcome == ahp.ToolCancelled && b.Error == nil && string(b.DurationMs) == "7"
		}},
		{"a turn without a name", `{` + head + `"UserPromptSubmit","prompt":"hi"}`, func(e *ahp.Event) bool {
			return e.Turn != nil && e.Turn.ID == "session/s" && *e.Turn.Synthesized
		}},
		{"a turn that goes on", `{` + head + `"Stop","stop_hook_active":true,"last_assistant_message":null}`, func(e *ahp.Event) bool {
			b, ok := e.Body.(*ahp.TurnFinishBody)
			return ok && b.ContinuationCount == 1 && b.LastAssistantItem == nil && e.Messages != nil && len(e.Messages) == 0
		}},
		{"refused by the classifier", `{` + head + `"PermissionDenied","tool_name":"Bash","tool_use_id":"c","tool_input":{},"reason":"r"}`, func(e *ahp.Event) bool {
			b, ok := e.Body.(*ahp.PermissionResolvedBody)
			return ok && b.Decision == "deny" && b.DecidedBy == "auto" && e.Tool.CallID == "c"
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, err := claude.Decode(&native.Call{Payload: []byte(tt.payload)}, native.Options{Revision: ahp.VersionDraft})
			if err != nil {
				t.Fatal(err)
			}
			if !tt.check(d.Event) {
				t.Errorf("event %+v with %+v", d.Event, d.Event.Body)
			}
		})
	}
	for _, bad := range []string{
		`{` + head + `"UserPromptSubmit","prompt":1}`, `{` + head + `"Stop","last_assistant_message":{}}`, `{` + head + `"SessionStart","source":[]}`,
		`{` + head + `"PreCompact","trigger":1}`, `{` + head + `"Notification","message":1}`, `{` + head + `"PermissionRequest","tool_name":"Bash"}`,
	} {
		if d, err := claude.Decode(&native.Call{Payload: []byte(bad)}, native.Options{Revision: ahp.VersionDraft}); err == nil || d.Event != nil {
			t.Errorf("%s: got %+v", bad, d.Event)
		}
	}
}

// The same call asked about twice has one made-up id, another call another (D-EVT-5).
func TestSynthesizedCallIDs(t *testing.T) {
	id := func(input, turn string) string {
		p := `{"session_id":"s","prompt_id":"` + turn + `","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":` + input + `}`
		d, err := claude.Decode(&native.Call{Payload: []byte(p)}, native.Options{Revision: ahp.VersionDraft})
		if err != nil {
			t.Fatal(err)
		}
		return d.Event.Tool.CallID
	}
	if a := id(`{"command":"a"}`, "1"); a != id(`{"command":"a"}`, "1") || a == id(`{"command":"b"}`, "1") || a == id(`{"command":"a"}`, "2") {
		t.Errorf("ids %s", a)
	}
}

func TestEncodeVerdicts(t *testing.T) {
	const deny = `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "why"}`
	input := ahp.Raw(`{"command":"ls"}`)
	tests := []struct {
		name, agent, event string
		v                  native.Verdict
		out, err           string
		code               int
	}{
		{"nothing", "claude", "PreToolUse", native.Verdict{Decision: native.Proceed}, "", "", 0},
		{"ask", "claude", "PreToolUse", native.Verdict{Decision: native.Ask, Reason: "why"}, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "why"}}`, "", 0},
		{"ask that would run", "codex", "PreToolUse", native.Verdict{Decision: native.Ask, Reason: "why"}, deny + "}", "why", 2},
		{"allow", "claude", "PreToolUse", native.Verdict{Decision: native.Allowed}, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}`, "", 0},
		{"allow is nothing", "codex", "PreToolUse", native.Verdict{Decision: native.Allowed}, "", "", 0},
		{"change", "claude", "PreToolUse", native.Verdict{Decision: native.Proceed, Input: input}, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "updatedInput": {"command":"ls"}}}`, "", 0},
		{"change and ask", "claude", "PreToolUse", native.Verdict{Decision: native.Ask, Reason: "why", Input: input}, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask", "permissionDecisionReason": "why", "updatedInput": {"command":"ls"}}}`, "", 0},
		{"change that would be dropped", "codex", "PreToolUse", native.Verdict{Decision: native.Proceed, Reason: "why", Input: input}, deny + "}", "why", 2},
		{"change that may allow", "codex", "PreToolUse", native.Verdict{Decision: native.Proceed, Input: input, RewriteAllows: true}, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "permissionDecisionReason": "The input was changed by policy.", "updatedInput": {"command":"ls"}}}`, "", 0},
		{"change of a prompt", "claude", "UserPromptSubmit", native.Verdict{Decision: native.Proceed, Reason: "why", Input: input}, `{"decision": "block", "reason": "why"}`, "", 0},
		{"texts", "claude", "PreToolUse", native.Verdict{Decision: native.Proceed, Messages: []string{"a", "b"}, Context: []string{"c\nd", "e"}}, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "c\u000ad\u000a\u000ae"}, "systemMessage": "a b"}`, "", 0},
		{"texts that hide", "claude", "PreToolUse", native.Verdict{Decision: native.Proceed, Messages: []string{"a\x1b[2J\u202eb\nc"}, Context: []string{"d\u200b\ne\x07"}}, `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "additionalContext": "dU+200b\u000aeU+0007"}, "systemMessage": "aU+001b[2JU+202eb c"}`, "", 0},
		{"texts that hide", "codex", "SessionStart", native.Verdict{Decision: native.Proceed, Messages: []string{"\u2066a"}, Context: []string{"\U000e0041"}}, `{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "U+e0041"}}`, "", 0},
		{"texts", "codex", "PreToolUse", native.Verdict{Decision: native.Proceed, Messages: []string{"a"}, Context: []string{"c"}}, `{"systemMessage": "a"}`, "", 0},
		{"denied with texts", "claude", "PreToolUse", native.Verdict{Reason: "why", Messages: []string{"a"}, Context: []string{"c"}}, deny + `, "systemMessage": "a"}`, "why", 2},
		{"stop", "claude", "PreToolUse", native.Verdict{Decision: native.Stopped, Reason: "why", Input: input}, deny + `, "continue": false, "stopReason": "why"}`, "why", 2},
		{"stop that would run", "codex", "PreToolUse", native.Verdict{Decision: native.Stopped, Reason: "why"}, deny + "}", "why", 2},
		{"context after", "claude", "PostToolUseFailure", native.Verdict{Decision: native.Proceed, Context: []string{"c"}}, `{"hookSpecificOutput": {"hookEventName": "PostToolUseFailure", "additionalContext": "c"}}`, "", 0},
		{"context after", "codex", "PostToolUse", native.Verdict{Decision: native.Proceed, Context: []string{"c"}, Messages: []string{"a"}}, `{"hookSpecificOutput": {"hookEventName": "PostToolUse", "additionalContext": "c"}}`, "", 0},
		{"denied after", "claude", "PostToolUse", native.Verdict{Reason: "why", Messages: []string{"a"}}, `{"systemMessage": "a"}`, "", 0},
		{"go on", "claude", "Stop", native.Verdict{Decision: native.Continued, Reason: "run the tests", Messages: []string{"a"}}, `{"decision": "block", "reason": "run the tests", "systemMessage": "a"}`, "", 0},
		{"go on", "codex", "SubagentStop", native.Verdict{Decision: native.Continued, Reason: "run the tests"}, `{"decision": "block", "reason": "run the tests"}`, "", 0},
		{"denied end", "claude", "Stop", native.Verdict{Reason: "why"}, "", "", 0},
		{"stopped end", "codex", "Stop", native.Verdict{Decision: native.Stopped, Reason: "why"}, "", "", 0},
		{"prompt", "claude", "UserPromptSubmit", native.Verdict{Reason: "why", Messages: []string{"a"}}, `{"decision": "block", "reason": "why", "systemMessage": "a"}`, "", 0},
		{"prompt with context", "claude", "UserPromptSubmit", native.Verdict{Decision: native.Proceed, Context: []string{"c"}}, `{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "c"}}`, "", 0},
		{"start with context", "codex", "SessionStart", native.Verdict{Decision: native.Proceed, Context: []string{"c"}}, `{"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "c"}}`, "", 0},
		{"permission", "claude", "PermissionRequest", native.Verdict{Decision: native.Allowed}, `{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}`, "", 0},
		{"permission denied", "codex", "PermissionRequest", native.Verdict{Reason: "why"}, `{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": "why"}}}`, "", 0},
		{"permission left to the user", "claude", "PermissionRequest", native.Verdict{Decision: native.Proceed}, "", "", 0},
		{"compaction", "claude", "PreCompact", native.Verdict{Reason: "why"}, `{"decision": "block", "reason": "why"}`, "why", 2},
		{"compaction", "codex", "PreCompact", native.Verdict{Reason: "why"}, "", "", 0},
		{"no event", "claude", "", native.Verdict{Decision: native.Ask, Reason: "why"}, "", "why", 2},
	}
	for _, tt := range tests {
		t.Run(tt.agent+" "+tt.event+" "+tt.name, func(t *testing.T) {
			got := adapters[tt.agent].encode(tt.event, tt.v)
			if string(got.Stdout) != tt.out || string(got.Stderr) != tt.err || got.ExitCode != tt.code {
				t.Errorf("got  %s | %s | %d\nwant %s | %s | %d", got.Stdout, got.Stderr, got.ExitCode, tt.out, tt.err, tt.code)
			}
		})
	}
}

// Whatever the verdict, an answer is one JSON document that the strictest agent
// takes, or nothing; and what the agent cannot do where it can refuse is refused.
func TestEncodeProperty(t *testing.T) {
	known := []string{"hookSpecificOutput", "decision", "reason", "continue", "stopReason", "systemMessage"}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom([]string{"claude", "codex"}).Draw(t, "agent")
		a := adapters[name]
		event := rapid.SampledFrom([]string{
			"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "PermissionRequest", "Stop", "SubagentStop", "PreCompact",
			"SessionStart", "SessionEnd", "Unknown",
		}).Draw(t, "event")
		texts := rapid.SliceOfN(rapid.String(), 0, 3)
		v := native.Verdict{
			Decision: rapid.SampledFrom([]native.Decision{
				"", native.Proceed, native.Denied, native.Allowed, native.Ask, native.Stopped, native.Continued, "other",
			}).Draw(t, "decision"),
			Reason: rapid.String().Draw(t, "reason"), Messages: texts.Draw(t, "messages"), Context: texts.Draw(t, "context"),
			RewriteAllows: rapid.Bool().Draw(t, "may allow"),
		}
		if rapid.Bool().Draw(t, "changed") {
			v.Input = ahp.Raw(`{"a":1}`)
		}
		got := a.encode(event, v)
		var out map[string]any
		if len(got.Stdout) > 0 {
			if err := json.Unmarshal(got.Stdout, &out); err != nil {
				t.Fatalf("%s: %v", got.Stdout, err)
			}
		}
		for k := range out {
			if !slices.Contains(known, k) {
				t.Fatalf("member %q", k)
			}
		}
		specific, _ := out["hookSpecificOutput"].(map[string]any)
		decision := specific["permissionDecision"]
		if name == "codex" && (decision == "ask" || out["continue"] != nil || decision != "allow" && specific["updatedInput"] != nil || decision == "allow" && specific["updatedInput"] == nil) {
			t.Fatalf("Codex would run the command: %s", got.Stdout)
		}
		refused := got.ExitCode == 2 || out["decision"] == "block" || fmt.Sprint(specific["decision"]) != "<nil>" && strings.Contains(fmt.Sprint(specific["decision"]), "deny")
		if !refuse.Refusable(a.agent, event) {
			return
		}
		caps := offers[name][event].Capabilities
		mayRun := v.Decision == native.Proceed || v.Decision == native.Allowed ||
			v.Decision == native.Ask && caps.Allows(ahp.EffectAsk)
		if v.Input != nil && !caps.AllowsModify(ahp.TargetInput, ahp.OpReplace) {
			mayRun = mayRun && name == "codex" && event == "PreToolUse" && v.RewriteAllows
		}
		if refused == mayRun {
			t.Fatalf("%+v at %s of %s: answered with %s, exit %d", v, event, name, got.Stdout, got.ExitCode)
		}
		if mayRun && v.Input != nil && specific["updatedInput"] == nil {
			t.Fatalf("the change is lost: %s", got.Stdout)
		}
	})
}
