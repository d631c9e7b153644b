package native_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/native"
	"github.com/holdpoint/holdpoint/native/refuse"
)

// A sample is one recorded payload and what its adapter makes of it.
type sample struct {
	name    string
	adapter adapter
	payload []byte
	decoded *native.Decoded
}

// samples decodes every recorded payload.
func samples(t *testing.T, o native.Options) []sample {
	t.Helper()
	var all []sample
	for _, name := range []string{"claude", "codex"} {
		files, err := filepath.Glob(filepath.Join(corpus.Dir(t, "native/"+name), "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if filepath.Base(file) == "behaviour.json" {
				continue
			}
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			d, err := adapters[name].decode(&native.Call{Payload: b}, o)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			all = append(all, sample{name + "/" + filepath.Base(file), adapters[name], b, d})
		}
	}
	if len(all) < 40 {
		t.Fatalf("only %d payloads", len(all))
	}
	return all
}

// tools returns the samples that carry a tool.
func tools(t *testing.T) []sample {
	t.Helper()
	all := slices.DeleteFunc(samples(t, native.Options{}), func(s sample) bool { return s.decoded.Event == nil || s.decoded.Event.Tool == nil })
	if len(all) < 20 {
		t.Fatalf("only %d tool events", len(all))
	}
	return all
}

// TestRules runs one subtest for each rule of the AHP 0.1 contract that shows on
// an adapter. Their names feed docs/conformance.
func TestRules(t *testing.T) {
	t.Run("V-TOOL-1", oneCallID)
	t.Run("V-TOOL-2", func(t *testing.T) {
		// Both agents give a call id. Without one there is no event to make up.
		for _, a := range adapters {
			in := `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{}}`
			_, err := a.decode(&native.Call{Payload: []byte(in)}, native.Options{})
			var f *ahp.Failure
			if !errors.As(err, &f) || f.Class != ahp.FailEvent {
				t.Errorf("%s: %v", a.agent, err)
			}
		}
	})
	t.Run("V-NAT-1", func(t *testing.T) {
		for _, s := range samples(t, native.Options{}) {
			if e := s.decoded.Event; e != nil && e.Native != nil {
				t.Errorf("%s: the native payload is there unasked", s.name)
			}
		}
	})
	t.Run("V-ADAPT-1", func(t *testing.T) {
		for _, s := range samples(t, native.Options{}) {
			e := s.decoded.Event
			if e == nil {
				continue
			}
			if !e.Type.Known() || e.HasExtensions || len(e.Extensions)+len(e.Unknown)+len(e.Session.Unknown) != 0 || e.Tool != nil && len(e.Tool.Unknown) != 0 {
				t.Errorf("%s: vendor data in %+v", s.name, e)
			}
		}
	})
	t.Run("V-ADAPT-2", func(t *testing.T) {
		for _, s := range tools(t) {
			if !strings.Contains(string(s.payload), `"tool_name":"`+s.decoded.Event.Tool.Name+`"`) {
				t.Errorf("%s: tool is called %q", s.name, s.decoded.Event.Tool.Name)
			}
		}
	})
	t.Run("V-ADAPT-3", func(t *testing.T) {
		for _, s := range tools(t) {
			tool := s.decoded.Event.Tool
			if tool.Input[0] != '{' || !tool.Kind.Known() {
				t.Errorf("%s: kind %q, input %s", s.name, tool.Kind, tool.Input)
			}
		}
	})
	t.Run("V-ADAPT-4", oneCallID)
	t.Run("V-ADAPT-6", func(t *testing.T) {
		// That these bytes stop the tool is held against recordings in package refuse.
		for _, s := range tools(t) {
			if s.decoded.Event.Type != ahp.ToolBefore {
				continue
			}
			got := s.adapter.encode(s.decoded.EventName, native.Verdict{Decision: native.Denied, Reason: "no"})
			want, ok := refuse.For(s.adapter.agent, "PreToolUse", "no")
			if !ok || string(got.Stdout) != string(want.Stdout) || string(got.Stderr) != "no" || got.ExitCode != 2 {
				t.Errorf("%s: %+v", s.name, got)
			}
		}
	})
	t.Run("V-ADAPT-7", func(t *testing.T) {
		for _, s := range samples(t, native.Options{}) {
			got := s.adapter.encode(s.decoded.EventName, native.Verdict{})
			refused := len(got.Stdout) > 0 || got.ExitCode != 0
			if refused != refuse.Refusable(s.adapter.agent, s.decoded.EventName) {
				t.Errorf("%s: refused is %v", s.name, refused)
			}
		}
	})
	t.Run("V-ADAPT-8", func(t *testing.T) {
		for _, s := range samples(t, native.Options{Native: true}) {
			if e := s.decoded.Event; e != nil && (e.Native == nil || string(e.Native.Payload) != strings.TrimSpace(string(s.payload)) || len(e.Unknown) != 0) {
				t.Errorf("%s: native %+v", s.name, e.Native)
			}
		}
	})
	t.Run("V-ADAPT-10", func(t *testing.T) {
		// Paths that no hook sees are named where the claim is made.
		for page, path := range map[string]string{"codex.md": "`write_stdin` is never shown", "claude-code.md": "`disableAllHooks: true`"} {
			b, err := os.ReadFile(filepath.Join("..", "docs", "agents", page))
			if err != nil {
				t.Fatal(err)
			}
			_, uncovered, ok := strings.Cut(string(b), "## Not covered")
			if !ok || !strings.Contains(uncovered, path) {
				t.Errorf("%s does not name %s", page, path)
			}
		}
	})
}

// oneCallID: the events of one call share its id, and no two calls do.
func oneCallID(t *testing.T) {
	type call struct{ session, id string }
	inputs := map[call]string{}
	before, paired := 0, 0
	all := tools(t)
	for _, s := range all {
		if e := s.decoded.Event; e.Type == ahp.ToolBefore {
			c := call{e.Session.ID, e.Tool.CallID}
			if _, twice := inputs[c]; twice {
				t.Errorf("%s: call id %s is used twice", s.name, c.id)
			}
			inputs[c] = string(e.Tool.Input)
			before++
		}
	}
	for _, s := range all {
		if e := s.decoded.Event; e.Type != ahp.ToolBefore {
			if in, ok := inputs[call{e.Session.ID, e.Tool.CallID}]; ok {
				paired++
				if in != string(e.Tool.Input) {
					t.Errorf("%s: another input under the same call id", s.name)
				}
			}
		}
	}
	if before < 15 || paired < 10 {
		t.Errorf("%d calls, %d of them with their end", before, paired)
	}
}
