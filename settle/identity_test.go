package settle_test

import (
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

func shellEvent(input string) *ahp.Event {
	return &ahp.Event{
		ID: "e-1", Source: "urn:example:test", Type: ahp.ToolBefore, Time: "2027-02-03T04:05:06Z",
		Session: ahp.Session{ID: "s-1", CWD: "/srv/app", WorkspaceRoots: []string{"/srv/app"}, Agent: &ahp.Agent{ID: "sub-1"}},
		Tool:    &ahp.Tool{CallID: "c-1", Name: "run", Kind: ahp.KindShell, Input: ahp.Raw(input)},
	}
}

func TestIdentityIsOfTheOperationOnly(t *testing.T) {
	base := settle.Identity(shellEvent(`{"cmd":"ls","n":1}`))
	if !strings.HasPrefix(base, "sha256:") || len(base) != len("sha256:")+64 {
		t.Fatalf("identity %q", base)
	}
	tests := []struct {
		name string
		edit func(*ahp.Event)
		same bool
	}{
		{"nothing", func(*ahp.Event) {}, true},
		{"member order and white space", func(e *ahp.Event) { e.Tool.Input = ahp.Raw("{ \"n\": 1.0, \"cmd\":\"\\u006cs\" }") }, true},
		{"event id", func(e *ahp.Event) { e.ID = "e-2" }, true},
		{"time", func(e *ahp.Event) { e.Time = "2027-02-03T04:05:07Z" }, true},
		{"call id", func(e *ahp.Event) { e.Tool.CallID = "c-2" }, true},
		{"session id", func(e *ahp.Event) { e.Session.ID = "s-2" }, true},
		{"input", func(e *ahp.Event) { e.Tool.Input = ahp.Raw(`{"cmd":"ls -l","n":1}`) }, false},
		{"name", func(e *ahp.Event) { e.Tool.Name = "Run" }, false},
		{"kind", func(e *ahp.Event) { e.Tool.Kind = ahp.KindOther }, false},
		{"cwd", func(e *ahp.Event) { e.Session.CWD = "/srv" }, false},
		{"roots", func(e *ahp.Event) { e.Session.WorkspaceRoots = []string{"/srv/app", "/srv/lib"} }, false},
		{"no roots known", func(e *ahp.Event) { e.Session.WorkspaceRoots = nil }, false},
		{"no roots at all", func(e *ahp.Event) { e.Session.WorkspaceRoots = []string{} }, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := shellEvent(`{"cmd":"ls","n":1}`)
			tt.edit(e)
			if got := settle.Identity(e); (got == base) != tt.same {
				t.Errorf("%s; the base is %s", got, base)
			}
		})
	}
	unknown, none := shellEvent(`{}`), shellEvent(`{}`)
	unknown.Session.WorkspaceRoots, none.Session.WorkspaceRoots = nil, []string{}
	if settle.Identity(unknown) == settle.Identity(none) {
		t.Error("unknown roots and no roots are one")
	}
	if got := settle.Identity(&ahp.Event{Type: ahp.SessionStart}); got != "" {
		t.Errorf("an event without a tool has identity %q", got)
	}
}

// Outside I-JSON two inputs must not share an identity (design decision 8).
func TestIdentityOutsideIJSON(t *testing.T) {
	a, b := settle.Identity(shellEvent(`{"n":9007199254740993}`)), settle.Identity(shellEvent(`{"n":9007199254740992}`))
	for _, id := range []string{a, b} {
		if !strings.HasPrefix(id, "raw-sha256:") {
			t.Errorf("identity %q", id)
		}
	}
	if a == b {
		t.Error("two big integers share one identity")
	}
	e, f := shellEvent(`{}`), shellEvent(`{}`)
	e.Session.CWD, f.Session.CWD = "/srv/\xff", "/srv/\ufffd"
	if x, y := settle.Identity(e), settle.Identity(f); x == y || !strings.HasPrefix(x, "raw-") {
		t.Errorf("folder names that are not UTF-8: %s and %s", x, y)
	}
}

// Two decimals that one double stands for are two operations.
func TestIdentityOfDecimalsBeyondADouble(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		same bool
	}{
		{`{"n":1.00000000000000000001}`, `{"n":1.0}`, false},
		{`{"n":0.1000000000000000055}`, `{"n":0.1}`, false},
		{`{"n":123456789012345678e-2}`, `{"n":123456789012345679e-2}`, false},
		{`{"n":1e-400}`, `{"n":0}`, false},
		{`{"n":4.9e-324}`, `{"n":5e-324}`, false},
		{`{"n":[1.50]}`, `{"n":[1.5]}`, true},
		{`{"n":15e-1}`, `{"n":1.5}`, true},
		{`{"n":0.0000000000000000001}`, `{"n":1e-19}`, true},
		{`{"n":0e-400}`, `{"n":0}`, true},
		{`{"n":"1.00000000000000000001"}`, `{"n":"1.0000000000000000000\u0031"}`, true},
		{`{"\"1.00000000000000000001":1}`, `{"\u00221.00000000000000000001":1}`, true},
	} {
		a, b := settle.Identity(shellEvent(tt.a)), settle.Identity(shellEvent(tt.b))
		if (a == b) != tt.same {
			t.Errorf("%s is %s, %s is %s", tt.a, a, tt.b, b)
		}
	}
}

func BenchmarkIdentity(b *testing.B) {
	e := shellEvent(`{"cmd":"` + strings.Repeat("echo hello && ", 60) + `","timeout":60}`)
	b.ReportAllocs()
	for b.Loop() {
		settle.Identity(e)
	}
}
