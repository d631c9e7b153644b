package native_test

import (
	"encoding/json"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/native"
	"github.com/holdpoint/holdpoint/native/claude"
	"github.com/holdpoint/holdpoint/native/codex"
	"github.com/holdpoint/holdpoint/native/refuse"
)

const pre = `"hook_event_name":"PreToolUse","session_id":"s","cwd":"/w","tool_name":"Bash","tool_use_id":"c"`

func TestRefusedPayloads(t *testing.T) {
	deep := strings.Repeat("[", 130) + strings.Repeat("]", 130)
	tests := []struct {
		name, in string
		pointer  string
	}{
		{"nothing", ``, ""},
		{"not JSON", `hello`, ""},
		{"an array", `[]`, ""},
		{"cut off", `{` + pre, ""},
		{"cut off behind another event", `{"hook_event_name":"Stop"`, ""},
		{"trailing data", `{` + pre + `,"tool_input":{}} {}`, ""},
		{"trailing text", `{` + pre + `,"tool_input":{}}x`, ""},
		{"byte order mark", "\ufeff{" + pre + `,"tool_input":{}}`, ""},
		{"duplicate name", `{` + pre + `,"tool_input":{},"tool_input":{"command":"true"}}`, ""},
		{"duplicate name, escaped", `{` + pre + `,"tool_input":{},"tool_inpu\u0074":{}}`, ""},
		{"duplicate name inside", `{` + pre + `,"tool_input":{"command":"a","command":"b"}}`, ""},
		{"duplicate name in what is ignored", `{` + pre + `,"tool_input":{},"x":{"a":1,"a":2}}`, ""},
		{"duplicate event", `{"hook_event_name":"Stop",` + pre + `,"tool_input":{}}`, ""},
		{"invalid UTF-8", `{` + pre + `,"tool_input":{"command":"` + "\xff" + `"}}`, ""},
		{"lone surrogate", `{` + pre + `,"tool_input":{"command":"\ud800"}}`, ""},
		{"too deep", `{` + pre + `,"tool_input":{"a":` + deep + `}}`, ""},
		{"too large", `{` + pre + `,"tool_input":{"a":"` + strings.Repeat("x", 4096) + `"}}`, ""},
		{"no session", `{"hook_event_name":"PreToolUse","tool_name":"Bash","tool_use_id":"c","tool_input":{}}`, "/session_id"},
		{"empty session", `{"hook_event_name":"PreToolUse","session_id":"","tool_name":"Bash","tool_use_id":"c","tool_input":{}}`, "/session_id"},
		{"no tool name", `{"hook_event_name":"PreToolUse","session_id":"s","tool_use_id":"c","tool_input":{}}`, "/tool_name"},
		{"tool name is null", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":null,"tool_use_id":"c","tool_input":{}}`, "/tool_name"},
		{"no call id", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{}}`, "/tool_use_id"},
		{"call id is a number", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_use_id":7,"tool_input":{}}`, "/tool_use_id"},
		{"no input", `{` + pre + `}`, "/tool_input"},
		{"input is a string of JSON (V-TOOL-3)", `{` + pre + `,"tool_input":"{}"}`, "/tool_input"},
		{"input is null", `{` + pre + `,"tool_input":null}`, "/tool_input"},
		{"cwd is a number", `{"hook_event_name":"PreToolUse","session_id":"s","cwd":1,"tool_name":"Bash","tool_use_id":"c","tool_input":{}}`, "/cwd"},
		{"agent id is an object", `{` + pre + `,"tool_input":{},"agent_id":{}}`, "/agent_id"},
		{"event is a number", `{"hook_event_name":1,"session_id":"s","tool_name":"Bash","tool_use_id":"c","tool_input":{}}`, "/hook_event_name"},
		{"mcp server is a string", `{` + pre + `,"tool_input":{},"mcp_server":"x"}`, "/mcp_server"},
		{"mcp server without a name", `{` + pre + `,"tool_input":{},"mcp_server":{"source":"x"}}`, "/mcp_server/name"},
		{"long tool name", `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"` + strings.Repeat("x", 1025) + `","tool_use_id":"c","tool_input":{}}`, "/tool_name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, a := range adapters {
				for _, commandLine := range []string{"PreToolUse", ""} {
					d, err := a.decode(&native.Call{Event: commandLine, Payload: []byte(tt.in)}, native.Options{MaxBytes: 4096})
					var f *ahp.Failure
					if !errors.As(err, &f) || f.Class != ahp.FailEvent || f.Class.PolicyApplies() {
						t.Fatalf("%s: got %v, want a failure that no policy opens", a.agent, err)
					}
					if f.Pointer != tt.pointer {
						t.Errorf("%s: pointer %q, want %q", a.agent, f.Pointer, tt.pointer)
					}
					if d == nil || d.Event != nil {
						t.Fatalf("%s: decoded %+v", a.agent, d)
					}
					if got := a.encode(d.EventName, native.Verdict{Reason: "no"}); got.ExitCode != 2 || string(got.Stderr) != "no" {
						t.Errorf("%s: for event %q the answer is %+v, no refusal", a.agent, d.EventName, got)
					}
				}
			}
		})
	}
}

func TestErrorsQuoteNothing(t *testing.T) {
	const secret = "hunter2"
	for _, in := range []string{
		`{"` + secret + `":` + secret + `}`,
		`{"a":{"` + secret + `":1,"` + secret + `":2}}`,
		`{` + pre + `,"tool_input":"` + secret + `"}`,
		secret,
	} {
		for _, a := range adapters {
			_, err := a.decode(&native.Call{Event: "PreToolUse", Payload: []byte(in)}, native.Options{})
			if err == nil || strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %q gives %v", a.agent, in, err)
			}
		}
	}
}

func TestTolerated(t *testing.T) {
	const in = ` {"new":{"a":[1]},"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Mystery","tool_use_id":"c",
		"tool_input": {"n":1.50e1, "s":"\u0041"},"agent_id":null,"model":null} `
	for _, a := range adapters {
		d, err := a.decode(&native.Call{CWD: "/client", Payload: []byte(in)}, native.Options{})
		if err != nil {
			t.Fatal(err)
		}
		e := d.Event
		if e.Session.CWD != "/client" || e.Session.Agent != nil || e.Tool.Kind != ahp.KindOther || e.Tool.MCP != nil {
			t.Errorf("event %+v, tool %+v", e, e.Tool)
		}
		if string(e.Tool.Input) != `{"n":1.50e1, "s":"\u0041"}` {
			t.Errorf("input %s changed", e.Tool.Input)
		}
	}
}

func TestDisagreement(t *testing.T) {
	stop := `{"hook_event_name":"Stop","session_id":"s"}`
	before := `{` + pre + `,"tool_input":{}}`
	tests := []struct {
		name, commandLine, in string
		event                 string
		disposition           native.Disposition
		refused               bool
	}{
		{"stands at PreToolUse, installed for Stop", "Stop", before, "PreToolUse", native.Decide, true},
		{"stands at Stop, installed for PreToolUse", "PreToolUse", stop, "Stop", native.Ignore, false},
		{"a new name, installed for PreToolUse", "PreToolUse", `{"hook_event_name":"BeforeTool","session_id":"s"}`, "PreToolUse", native.Decide, true},
		{"a new name, installed for Stop", "Stop", `{"hook_event_name":"AfterStop"}`, "AfterStop", native.Ignore, false},
		{"prompt, installed for PreToolUse", "PreToolUse", `{"hook_event_name":"UserPromptSubmit"}`, "UserPromptSubmit", native.Ignore, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, a := range adapters {
				d, err := a.decode(&native.Call{Event: tt.commandLine, Payload: []byte(tt.in)}, native.Options{})
				if !d.Mismatch || d.EventName != tt.event || d.Disposition != tt.disposition || (err != nil) != tt.refused {
					t.Errorf("%s: %+v, %v", a.agent, d, err)
				}
				answer := a.encode(d.EventName, native.Verdict{})
				if blocks := len(answer.Stdout) > 0 || answer.ExitCode != 0; blocks != tt.refused {
					t.Errorf("%s: the zero verdict answers %+v", a.agent, answer)
				}
			}
		})
	}
}

func TestMalformedAtStopNeverBlocks(t *testing.T) {
	for _, a := range adapters {
		for _, in := range []string{`{"hook_event_name":"Stop"`, `{"hook_event_name":"Stop"}{}`, `x`} {
			d, err := a.decode(&native.Call{Event: "Stop", Payload: []byte(in)}, native.Options{})
			if err == nil {
				t.Fatalf("%q was accepted", in)
			}
			if got := a.encode(d.EventName, native.Verdict{}); len(got.Stdout) > 0 || got.ExitCode != 0 {
				t.Errorf("%s: %q blocks with %+v", a.agent, in, got)
			}
		}
	}
}

func TestKinds(t *testing.T) {
	tests := []struct {
		corpus, tool string
		want         ahp.ToolKind
	}{
		{"claude", "PowerShell", ahp.KindShell},
		{"claude", "Monitor", ahp.KindShell},
		{"claude", "NotebookRead", ahp.KindFileRead},
		{"claude", "MultiEdit", ahp.KindFileEdit},
		{"claude", "NotebookEdit", ahp.KindFileEdit},
		{"claude", "Glob", ahp.KindSearch},
		{"claude", "Grep", ahp.KindSearch},
		{"claude", "LS", ahp.KindSearch},
		{"claude", "ToolSearch", ahp.KindSearch},
		{"claude", "WebSearch", ahp.KindFetch},
		{"claude", "Task", ahp.KindTask},
		{"claude", "TodoWrite", ahp.KindOther},
		{"claude", "BashOutput", ahp.KindOther},
		{"claude", "bash", ahp.KindOther},
		{"claude", "mcp__", ahp.KindMCP},
		{"claude", "mcp_x", ahp.KindOther},
		{"claude", "apply_patch", ahp.KindOther},
		{"codex", "write_stdin", ahp.KindShell},
		{"codex", "web_search", ahp.KindFetch},
		{"codex", "spawn_agent", ahp.KindTask},
		{"codex", "update_plan", ahp.KindOther},
		{"codex", "Read", ahp.KindOther},
		{"codex", "mcp__a__b", ahp.KindMCP},
	}
	for _, tt := range tests {
		in := `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"` + tt.tool + `","tool_use_id":"c","tool_input":{}}`
		d, err := adapters[tt.corpus].decode(&native.Call{Payload: []byte(in)}, native.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d.Event.Tool.Kind != tt.want {
			t.Errorf("%s %s: got %s, want %s", tt.corpus, tt.tool, d.Event.Tool.Kind, tt.want)
		}
	}
}

func TestMCPNames(t *testing.T) {
	tests := []struct{ tool, server, want string }{
		{"mcp__files__read", ``, `{"server":"files","tool":"read","provenance":"inferred"}`},
		{"mcp__a__b__c", ``, `{"server":"a","tool":"b__c","provenance":"inferred"}`},
		{"mcp__a__b__c", `{"name":"a__b"}`, `{"server":"a__b","tool":"c","provenance":"runtime"}`},
		{"mcp__my_files__read", `{"source":{"x":1},"name":"my files"}`, `{"server":"my files","tool":"read","provenance":"runtime"}`},
		{"mcp__other__read", `{"name":"files"}`, `{"server":"files","tool":"read","provenance":"runtime"}`},
		{"mcp__alone", ``, `{"tool":"alone","provenance":"inferred"}`},
		{"mcp____x", ``, `{"tool":"__x","provenance":"inferred"}`},
		{"plain", `{"name":"files"}`, `{"server":"files","tool":"plain","provenance":"runtime"}`},
		{"mcp__q\\\"__x", ``, `{"server":"q\"","tool":"x","provenance":"inferred"}`},
	}
	for _, tt := range tests {
		in := `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"` + tt.tool + `","tool_use_id":"c","tool_input":{}`
		if tt.server != "" {
			in += `,"mcp_server":` + tt.server
		}
		d, err := claude.Decode(&native.Call{Payload: []byte(in + "}")}, native.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Event.Tool; string(got.MCP) != tt.want || got.Kind != ahp.KindMCP {
			t.Errorf("%s %s: got %s %s, want %s", tt.tool, tt.server, got.Kind, got.MCP, tt.want)
		}
	}
}

func TestToolErrors(t *testing.T) {
	tests := []struct{ members, want string }{
		{`"error":"boom"`, `{"message":"boom"}`},
		{`"error":"boom","is_interrupt":true`, `{"message":"boom","category":"interrupted"}`},
		{`"error":{"message":"m","code":"c"}`, `{"message":"m","code":"c"}`},
		{`"error":{"code":7}`, `{"message":"the tool failed","detail":{"code":7}}`},
		{`"error":null`, `{"message":"the tool failed"}`},
		{`"x":0`, `{"message":"the tool failed"}`},
	}
	for _, tt := range tests {
		in := `{"hook_event_name":"PostToolUseFailure","session_id":"s","tool_name":"Bash","tool_use_id":"c","tool_input":{},` + tt.members + `}`
		d, err := claude.Decode(&native.Call{Payload: []byte(in)}, native.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := string(d.Event.Tool.Error); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.members, got, tt.want)
		}
	}
}

func TestSessionEndOutcome(t *testing.T) {
	for reason, want := range map[string]ahp.Outcome{
		`"clear"`: ahp.OutcomeCompleted, `"prompt_input_exit"`: ahp.OutcomeCompleted, `"other"`: ahp.OutcomeUnknown, `"new"`: ahp.OutcomeUnknown, `7`: ahp.OutcomeUnknown,
	} {
		d, err := claude.Decode(&native.Call{Payload: []byte(`{"hook_event_name":"SessionEnd","session_id":"s","reason":` + reason + `}`)}, native.Options{})
		if err != nil || d.Event.Outcome != want {
			t.Errorf("%s: got %+v, %v, want %s", reason, d.Event, err, want)
		}
	}
}

func TestObservedPayloadThatIsMalformed(t *testing.T) {
	for _, a := range adapters {
		d, err := a.decode(&native.Call{Event: "PostToolUse", Payload: []byte(`{"hook_event_name":"PostToolUse"}`)}, native.Options{})
		if err == nil || d.Disposition != native.Observe || d.Event != nil {
			t.Errorf("%s: %+v, %v", a.agent, d, err)
		}
		if got := a.encode(d.EventName, native.Verdict{}); len(got.Stdout)+got.ExitCode != 0 {
			t.Errorf("%s: blocks with %+v", a.agent, got)
		}
	}
}

func TestEncodeWithoutAnEvent(t *testing.T) {
	for _, a := range adapters {
		if got := a.encode("", native.Verdict{}); got.ExitCode != 2 || len(got.Stdout) != 0 || string(got.Stderr) != refuse.Default {
			t.Errorf("%s: %+v", a.agent, got)
		}
		for _, v := range []native.Verdict{{}, {Decision: "allow"}, {Decision: native.Denied, Reason: " "}} {
			got := a.encode("PreToolUse", v)
			if got.ExitCode != 2 || len(got.Stderr) == 0 || !strings.Contains(string(got.Stdout), `"deny"`) {
				t.Errorf("%s: %+v is answered with %+v", a.agent, v, got)
			}
		}
	}
}

// faultForm is all that a fault may say: names of members that we know, and words of
// ours, but nothing of the payload.
var faultForm = regexp.MustCompile(`^(/[a-z_]+(/name)?: )?` +
	`(found (nothing|null|a boolean|a string|an empty string|a number|an object|an array), expected (a string|an object|text)|` +
	`missing, and the command line names no event|differs from the event on the hook's command line|malformed|not a string in UTF-8|` +
	`text above the limit of \d+ bytes|payload of \d+ bytes, at most \d+ are read|` +
	`byte \d+: (nested more than \d+ deep|not the JSON of one object with distinct names in UTF-8))$`)

// A fault names the member, for whoever has to mend the hook.
func TestFault(t *testing.T) {
	for _, tt := range []struct{ payload, want string }{
		{`{"session_id":"s","tool_name":"Bash","tool_input":{}}`, "/tool_use_id: found nothing, expected a string"},
		{`{"session_id":"s","tool_name":"Bash","tool_input":{},"tool_use_id":7}`, "/tool_use_id: found a number, expected a string"},
		{`{"session_id":"s","tool_name":"","tool_input":{},"tool_use_id":"c"}`, "/tool_name: found an empty string, expected text"},
		{`{"session_id":"s","tool_name":"Bash","tool_input":"hunter2","tool_use_id":"c"}`, "/tool_input: found a string, expected an object"},
		{`{"session_id":null}`, "/session_id: found null, expected a string"},
		{`{"session_id":"s","cwd":["hunter2"]}`, "/cwd: found an array, expected a string"},
		{`{"session_id":"s","hook_event_name":false}`, "/hook_event_name: found a boolean, expected a string"},
		{`{"session_id":"s","hook_event_name":"Stop"`, "byte 42: not the JSON of one object with distinct names in UTF-8"},
		{`hunter2`, "byte 0: not the JSON of one object with distinct names in UTF-8"},
	} {
		for name, a := range adapters {
			_, err := a.decode(&native.Call{Event: "PreToolUse", Payload: []byte(tt.payload)}, native.Options{})
			if got := native.Fault(err); got != tt.want || !faultForm.MatchString(got) {
				t.Errorf("%s: %s: %q, want %q", name, tt.payload, got, tt.want)
			}
		}
	}
	for _, err := range []error{nil, errors.New("x"), &ahp.Failure{Class: ahp.FailConnection, Err: errors.New("10.0.0.1")}} {
		if got := native.Fault(err); got != "" {
			t.Errorf("%v: %q", err, got)
		}
	}
}

// FuzzDecode holds that whatever is accepted is a valid event whose input is the
// payload's own text, that encoding/json accepts it too, and that whatever is not
// accepted is refused at PreToolUse.
func FuzzDecode(f *testing.F) {
	for name := range adapters {
		for _, file := range corpus.Glob(f, "native/"+name, "P*.json") {
			if b, err := os.ReadFile(file); err == nil {
				f.Add(b)
			}
		}
	}
	f.Add([]byte(`{` + pre + `,"tool_input":{"command":"git push --force"},"mcp_server":{"name":"x"}}`))
	f.Add([]byte(`{"hook_event_name":"PostToolUseFailure","session_id":"s","tool_name":"mcp__a__b","tool_use_id":"c","tool_input":{},"error":{"message":1}}`))
	f.Add([]byte(`{"hook_event_name":"SessionEnd","session_id":"s","reason":"clear"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		before := string(in)
		for _, a := range adapters {
			d, err := a.decode(&native.Call{Event: "PreToolUse", Payload: in}, native.Options{Native: true})
			if string(in) != before {
				t.Fatal("the payload was changed")
			}
			if err != nil {
				if a.encode(d.EventName, native.Verdict{}).ExitCode == 0 && d.EventName == "PreToolUse" {
					t.Fatal("not refused")
				}
				if fault := native.Fault(err); !faultForm.MatchString(fault) {
					t.Fatalf("fault %q", fault)
				}
				continue
			}
			if !json.Valid(in) {
				t.Fatalf("accepted %q", in)
			}
			e := d.Event
			if e == nil {
				if d.Disposition != native.Ignore {
					t.Fatalf("no event for %s", d.Disposition)
				}
				continue
			}
			if !e.Type.Known() || e.Session.ID == "" || e.Type.HasTool() != (e.Tool != nil) {
				t.Fatalf("event %+v", e)
			}
			if e.Tool == nil {
				continue
			}
			for _, raw := range []ahp.Raw{e.Tool.Input, e.Tool.Output, e.Tool.Error, e.Tool.MCP} {
				if raw != nil && !json.Valid(raw) {
					t.Fatalf("member %q", raw)
				}
			}
			if e.Tool.Input[0] != '{' || !strings.Contains(before, string(e.Tool.Input)) || !e.Tool.Kind.Known() {
				t.Fatalf("tool %+v", e.Tool)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	in := []byte(`{` + pre + `,"tool_input":{"command":"` + strings.Repeat("x", 800) + `"},"transcript_path":"/home/dev/.codex/sessions/x.jsonl"}`)
	for b.Loop() {
		if _, err := codex.Decode(&native.Call{Event: "PreToolUse", Payload: in}, native.Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
