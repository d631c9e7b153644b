package native_test

import (
	"os"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/native"
)

// oneLine drops the line breaks between tokens, as the encoder does. Inside of a
// string JSON has none.
var oneLine = strings.NewReplacer("\n", "", "\r", "")

// FuzzDecodeDraft holds that whatever is accepted is an event that revision draft can
// say: its encoder takes it, and its decoder takes what comes of that.
func FuzzDecodeDraft(f *testing.F) {
	for name := range adapters {
		for _, file := range corpus.Glob(f, "native/"+name, "[A-Z]*.json") {
			if b, err := os.ReadFile(file); err == nil {
				f.Add(b)
			}
		}
	}
	const head = `{"session_id":"s","cwd":"/w","hook_event_name":`
	for _, s := range []string{
		`{` + pre + `,"tool_input":{"command":"ls"},"mcp_server":{"name":"x"}}`,
		head + `"PostToolUse","tool_name":"mcp__a__b","tool_use_id":"c","tool_input":{},"tool_response":{"a":[1,"x"]},"duration_ms":1.5e3}`,
		head + `"PostToolUseFailure","tool_name":"Bash","tool_use_id":"c","tool_input":{},"error":{"message":1},"is_interrupt":true}`,
		head + `"PermissionRequest","tool_name":"Bash","tool_input":{},"permission_suggestions":[{"a":1},2]}`,
		head + `"UserPromptSubmit","prompt":"","prompt_id":"p"}`, head + `"Stop","stop_hook_active":true,"last_assistant_message":"x"}`,
		head + `"PreCompact","trigger":"manual","custom_instructions":" "}`, head + `"SessionStart","source":"fork","permission_mode":""}`,
		head + `"SessionEnd","reason":""}`, head + `"Notification","message":"","title":"t"}`, head + `"PermissionDenied","tool_name":"x","tool_use_id":"c","tool_input":{}}`,
	} {
		f.Add([]byte(s))
	}
	manifest := &ahp.Manifest{
		Events: []ahp.ManifestEvent{}, Gaps: []ahp.Gap{}, Transports: []string{}, Authentication: []string{}, ToolPaths: []string{},
		ContentCategories: []string{}, Correlation: []string{}, ManagedPolicy: ahp.ManagedPolicy{Scopes: []ahp.Scope{}},
	}
	for _, limit := range []string{"maxUploadBytes", "maxContinuations", "minTimeoutMs", "maxTimeoutMs"} {
		manifest.Gaps = append(manifest.Gaps, ahp.Gap{Path: "limits." + limit, Reason: "not known"})
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		for _, a := range adapters {
			d, err := a.decode(&native.Call{Payload: in}, native.Options{
				Revision: ahp.VersionDraft, Manifest: manifest, Native: true, ID: "e", Source: "urn:x", Time: "2026-11-30T05:00:00Z",
			})
			if err != nil || d.Event == nil {
				continue
			}
			b, err := wiredraft.AppendObserve(nil, d.Event)
			if err != nil {
				t.Fatalf("%s: %v\n%s", d.EventName, err, in)
			}
			m, err := wiredraft.Decode(b, wiredraft.Limits{MaxBytes: len(b), MaxDepth: 2 * native.DefaultMaxDepth})
			if err != nil {
				t.Fatalf("%s: %v\n%s", d.EventName, err, b)
			}
			if m.Event.Type != d.Event.Type || d.Event.Tool != nil && string(m.Event.Tool.Input) != oneLine.Replace(string(d.Event.Tool.Input)) {
				t.Fatalf("%s came back as %+v", d.EventName, m.Event)
			}
		}
	})
}
