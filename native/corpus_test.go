package native_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/native"
	"github.com/holdpoint/holdpoint/native/claude"
	"github.com/holdpoint/holdpoint/native/codex"
	"github.com/holdpoint/holdpoint/native/refuse"
)

// An adapter is one dialect under test.
type adapter struct {
	agent  string
	decode func(*native.Call, native.Options) (*native.Decoded, error)
	encode func(string, native.Verdict) refuse.Answer
}

var adapters = map[string]adapter{
	"claude": {claude.Agent, claude.Decode, claude.Encode},
	"codex":  {codex.Agent, codex.Decode, codex.Encode},
}

// kinds are those of the tools in the recordings (contract 12.4).
var kinds = map[string]ahp.ToolKind{
	"Bash": ahp.KindShell, "Read": ahp.KindFileRead, "Write": ahp.KindFileWrite, "Edit": ahp.KindFileEdit,
	"WebFetch": ahp.KindFetch, "Agent": ahp.KindTask, "mcp__mockmcp__lookup": ahp.KindMCP,
	"apply_patch": ahp.KindFileEdit, "view_image": ahp.KindOther,
}

var dispositions = map[string]native.Disposition{
	"PreToolUse": native.Decide, "PostToolUse": native.Observe, "PostToolUseFailure": native.Observe,
	"SessionStart": native.Observe, "SessionEnd": native.Observe,
}

var types = map[string]ahp.EventType{
	"PreToolUse": ahp.ToolBefore, "PostToolUse": ahp.ToolAfter, "PostToolUseFailure": ahp.ToolError,
	"SessionStart": ahp.SessionStart, "SessionEnd": ahp.SessionEnd,
}

// TestRecordedPayloads runs every payload that was recorded.
func TestRecordedPayloads(t *testing.T) {
	for name, want := range map[string]int{"claude": 33, "codex": 14} {
		t.Run(name, func(t *testing.T) {
			dir := corpus.Dir(t, "native/"+name)
			files, err := filepath.Glob(filepath.Join(dir, "*.json"))
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, file := range files {
				base := strings.TrimSuffix(filepath.Base(file), ".json")
				if base == "behaviour" {
					continue
				}
				n++
				t.Run(base, func(t *testing.T) {
					b, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					checkRecorded(t, adapters[name], base, b)
				})
			}
			if n != want {
				t.Errorf("%d payloads were run, want %d", n, want)
			}
		})
	}
}

func checkRecorded(t *testing.T, a adapter, base string, b []byte) {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(b, &raw); err != nil {
		t.Fatal(err)
	}
	str := func(name string) (s string) { _ = json.Unmarshal(raw[name], &s); return s }
	event := str("hook_event_name")
	if first, _, _ := strings.Cut(base, "."); first != event {
		t.Fatalf("file %s holds the event %s", base, event)
	}
	stamp := native.Options{ID: "e1", Source: "urn:x", Time: "2026-11-30T05:00:00Z"}
	call := &native.Call{Event: event, CWD: "/elsewhere", Env: map[string]string{"CLAUDE_PROJECT_DIR": "/home/dev/repo"}, Payload: b}
	d, err := a.decode(call, stamp)
	if err != nil {
		t.Fatal(err)
	}
	disposition := dispositions[event]
	if disposition == "" {
		disposition = native.Ignore
	}
	if d.Disposition != disposition || d.EventName != event || d.Mismatch {
		t.Errorf("got %s of %s, mismatch %v; want %s", d.Disposition, d.EventName, d.Mismatch, disposition)
	}
	if got := a.encode(event, native.Verdict{Decision: native.Proceed}); len(got.Stdout)+len(got.Stderr)+got.ExitCode != 0 {
		t.Errorf("proceed is answered with %+v", got)
	}
	refusal := a.encode(event, native.Verdict{})
	if want, ok := refuse.For(a.agent, event, ""); ok != (len(refusal.Stdout) > 0) || string(want.Stdout) != string(refusal.Stdout) || want.ExitCode != refusal.ExitCode {
		t.Errorf("the zero verdict is answered with %+v", refusal)
	}
	if disposition == native.Ignore {
		if d.Event != nil {
			t.Errorf("an event came of %s", event)
		}
		return
	}
	e := d.Event
	if e.Type != types[event] || e.ID != "e1" || e.Source != "urn:x" || e.Time != stamp.Time || e.Native != nil {
		t.Errorf("event %+v", e)
	}
	if e.Session.ID != str("session_id") || e.Session.CWD != "/home/dev/repo" || e.Session.Model != str("model") || e.Session.WorkspaceRoots != nil {
		t.Errorf("session %+v", e.Session)
	}
	if strings.HasSuffix(base, ".subagent") != (e.Session.Agent != nil) {
		t.Errorf("agent %+v", e.Session.Agent)
	}
	if g := e.Session.Agent; g != nil && (g.ID != str("agent_id") || g.Type != "general-purpose" || g.ID == "") {
		t.Errorf("agent %+v", g)
	}
	if wantRoots := a.agent == claude.Agent; (len(d.NamedRoots) == 1) != wantRoots {
		t.Errorf("named roots %q", d.NamedRoots)
	}
	if turn := map[string]string{claude.Agent: "prompt_id", codex.Agent: "turn_id"}[a.agent]; d.Turn != str(turn) {
		t.Errorf("turn %q, want %q", d.Turn, str(turn))
	}
	if (e.Outcome != "") != (e.Type == ahp.SessionEnd) {
		t.Errorf("outcome %q", e.Outcome)
	}
	if e.Type.HasTool() != (e.Tool != nil) {
		t.Fatalf("tool %+v", e.Tool)
	}
	if e.Tool != nil {
		checkTool(t, e, raw, str)
	}

	stamp.Native = true
	with, err := a.decode(call, stamp)
	if err != nil {
		t.Fatal(err)
	}
	if n := with.Event.Native; n == nil || n.Provider != a.agent || n.EventName != event || string(n.Payload) != strings.TrimSpace(string(b)) {
		t.Errorf("native payload %+v", n)
	}
}

func checkTool(t *testing.T, e *ahp.Event, raw map[string]json.RawMessage, str func(string) string) {
	tool := e.Tool
	if tool.Name != str("tool_name") || tool.CallID != str("tool_use_id") || tool.CallID == "" || tool.Kind != kinds[tool.Name] {
		t.Errorf("tool %+v", tool)
	}
	if string(tool.Input) != string(raw["tool_input"]) {
		t.Errorf("input %s, want token for token %s", tool.Input, raw["tool_input"])
	}
	if (tool.Output != nil) != (e.Type == ahp.ToolAfter) || string(tool.Output) != string(raw["tool_response"]) {
		t.Errorf("output %s, want %s", tool.Output, raw["tool_response"])
	}
	if (tool.Error != nil) != (e.Type == ahp.ToolError) {
		t.Errorf("error %s", tool.Error)
	}
	if tool.Error != nil {
		var m map[string]any
		if err := json.Unmarshal(tool.Error, &m); err != nil || m["message"] != str("error") {
			t.Errorf("error %s, %v", tool.Error, err)
		}
	}
	if (tool.Kind == ahp.KindMCP) != (tool.MCP != nil) {
		t.Errorf("mcp %s", tool.MCP)
	}
	if tool.MCP != nil {
		provenance := "inferred"
		if raw["mcp_server"] != nil {
			provenance = "runtime"
		}
		want := `{"server":"mockmcp","tool":"lookup","provenance":"` + provenance + `"}`
		if string(tool.MCP) != want {
			t.Errorf("mcp %s, want %s", tool.MCP, want)
		}
	}
}
