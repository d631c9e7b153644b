package facts_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
)

func inputEvent(input, mcp string) *ahp.Event {
	ev := &ahp.Event{
		ID: "e", Source: "urn:example:x", Type: ahp.ToolBefore, Time: "2027-02-03T04:05:06Z",
		Session: ahp.Session{ID: "s", CWD: "/home/dev/repo", WorkspaceRoots: []string{"/home/dev/repo"}},
		Tool:    &ahp.Tool{CallID: "c", Name: "Bash", Kind: ahp.KindShell, Input: ahp.Raw(input)},
	}
	if mcp != "" {
		ev.Tool.Name, ev.Tool.Kind, ev.Tool.MCP = "mcp__files__x", ahp.KindMCP, ahp.Raw(mcp)
	}
	return ev
}

// A number that no float64 holds hides nothing that stands beside it.
func TestNumbersBeyondFloatHideNothing(t *testing.T) {
	for _, input := range []string{
		`{"n":1e400,"command":"git push --force"}`,
		`{"command":"git push --force","n":[{"m":-1e999}]}`,
		`{"n":` + string(slices.Repeat([]byte("9"), 400)) + `,"command":"git push --force"}`,
	} {
		f, err := facts.Extract(t.Context(), inputEvent(input, ""), facts.Options{Home: "/home/dev"})
		if err != nil {
			t.Fatal(err)
		}
		if len(f.Hazards) != 1 || f.Hazards[0].Code != "git.force_push" {
			t.Errorf("%.40s: hazards %+v", input, f.Hazards)
		}
	}
	f, err := facts.Extract(t.Context(), inputEvent(`{}`, `{"n":1e400,"server":"vault"}`), facts.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if f.MCP == nil || f.MCP.Server != "vault" {
		t.Errorf("mcp %+v", f.MCP)
	}
}

// What the event itself causes is no outage, which a policy could excuse.
func TestAnInputThatCannotBeReadIsTheEventsFault(t *testing.T) {
	for _, input := range []string{`{"a":`, `"text"`, `[1]`, `{"a":1}{"b":2}`, `{"a":1e400} x`, `{"a":1,"a":2}`} {
		_, err := facts.Extract(t.Context(), inputEvent(input, ""), facts.Options{})
		var fail *ahp.Failure
		if !errors.As(err, &fail) || fail.Class.PolicyApplies() {
			t.Errorf("%s: error %v", input, err)
		}
	}
}
