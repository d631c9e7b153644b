package refuse_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/native/refuse"
)

// A recorded is one case of behaviour.json.
type recorded struct {
	Case   string `json:"case"`
	Answer *struct {
		Stdout string `json:"stdout"`
		Stderr string `json:"stderr"`
		RC     int    `json:"rc"`
	} `json:"hook_answer"`
	ForcePush string `json:"force_push"`
}

func recordings(t *testing.T, agent string) map[string]recorded {
	t.Helper()
	dir := corpus.Dir(t, "native/"+agent)
	b, err := os.ReadFile(filepath.Join(dir, "behaviour.json"))
	if err != nil {
		t.Fatal(err)
	}
	var list []recorded
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	cases := map[string]recorded{}
	for _, r := range list {
		cases[r.Case] = r
	}
	return cases
}

// TestRecordedForms holds each refusal, byte for byte, against the recording of
// an agent that honoured it.
func TestRecordedForms(t *testing.T) {
	const pushed = "MOCKGATE: force push to main is not allowed (rule no-force-push)"
	tests := []struct {
		corpus, agent, event, reason, from string
	}{
		{"claude", refuse.ClaudeCode, "PreToolUse", pushed, "deny-robust"},
		{"claude", refuse.ClaudeCode, "PermissionRequest", pushed, "permreq-deny"},
		{"claude", refuse.ClaudeCode, "UserPromptSubmit", "MOCKGATE: prompt refused", "prompt-block"},
		{"codex", refuse.Codex, "PreToolUse", pushed, "deny-robust"},
		{"codex", refuse.Codex, "UserPromptSubmit", "MOCKGATE: prompt refused", "prompt-block"},
	}
	for _, tt := range tests {
		t.Run(tt.agent+"/"+tt.event, func(t *testing.T) {
			want, ok := recordings(t, tt.corpus)[tt.from]
			if !ok || want.Answer == nil || want.ForcePush != "did not run" {
				t.Fatalf("the recording %s does not show a refusal: %+v", tt.from, want)
			}
			got, ok := refuse.For(tt.agent, tt.event, tt.reason)
			if !ok {
				t.Fatal("not refusable")
			}
			if string(got.Stdout) != want.Answer.Stdout || string(got.Stderr) != want.Answer.Stderr || got.ExitCode != want.Answer.RC {
				t.Errorf("got  %q %q %d\nwant %q %q %d", got.Stdout, got.Stderr, got.ExitCode, want.Answer.Stdout, want.Answer.Stderr, want.Answer.RC)
			}
		})
	}
}

// TestBareForm holds the form without stdout against the recording of exit 2 with
// a reason on stderr.
func TestBareForm(t *testing.T) {
	for _, agent := range []string{"claude", "codex"} {
		t.Run(agent, func(t *testing.T) {
			want, ok := recordings(t, agent)["deny-exit2"]
			if !ok || want.ForcePush != "did not run" {
				t.Fatal("no such recording")
			}
			got := refuse.Bare(want.Answer.Stderr)
			if len(got.Stdout) != 0 || string(got.Stderr) != want.Answer.Stderr || got.ExitCode != want.Answer.RC {
				t.Errorf("got %q %q %d", got.Stdout, got.Stderr, got.ExitCode)
			}
		})
	}
}

// TestDocumentedForm is the one refusal that no recording shows (NA-CX-25).
func TestDocumentedForm(t *testing.T) {
	got, ok := refuse.For(refuse.Codex, "PermissionRequest", "no")
	const want = `{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": "no"}}}`
	if !ok || string(got.Stdout) != want || len(got.Stderr) != 0 || got.ExitCode != 0 {
		t.Errorf("got %q %q %d", got.Stdout, got.Stderr, got.ExitCode)
	}
}

func TestNothingElseIsRefused(t *testing.T) {
	for _, agent := range []string{refuse.ClaudeCode, refuse.Codex} {
		for _, event := range []string{"Stop", "SubagentStop", "PostToolUse", "PostToolUseFailure", "SessionStart", "SessionEnd", "PreCompact", "pretooluse", "", "Unheard"} {
			if a, ok := refuse.For(agent, event, "no"); ok || refuse.Refusable(agent, event) || len(a.Stdout)+len(a.Stderr)+a.ExitCode != 0 {
				t.Errorf("%s %s: refused as %q %q %d", agent, event, a.Stdout, a.Stderr, a.ExitCode)
			}
		}
	}
	if refuse.Refusable("gemini", "PreToolUse") {
		t.Error("an agent whose dialect is not known has no form")
	}
}

func TestWhere(t *testing.T) {
	tests := []struct{ commandLine, payload, want string }{
		{"PreToolUse", "PreToolUse", "PreToolUse"},
		{"", "Stop", "Stop"},
		{"PreToolUse", "", "PreToolUse"},
		{"", "", ""},
		{"PreToolUse", "Stop", "Stop"},              // blocking there would never end
		{"Stop", "PreToolUse", "PreToolUse"},        //
		{"PreToolUse", "PreToolUse2", "PreToolUse"}, // a new name lifts nothing
		{"PreToolUse", "pretooluse", "PreToolUse"},  //
		{"Stop", "Unheard", "Unheard"},              //
		{"UserPromptSubmit", "SessionEnd", "SessionEnd"},
	}
	for _, tt := range tests {
		if got := refuse.Where(refuse.ClaudeCode, tt.commandLine, tt.payload); got != tt.want {
			t.Errorf("%q against %q: got %q, want %q", tt.commandLine, tt.payload, got, tt.want)
		}
	}
}

func TestLine(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain", "plain"},
		{"", refuse.Default},
		{" \n\t ", refuse.Default},
		{"  two\r\n\nlines\t ", "two lines"},
		{"a\u2028b\u2029c\u0085d", "a b c d"},
		{"esc \x1b[31m nul \x00 del \x7f c1 \u009b", "esc U+001b[31m nul U+0000 del U+007f c1 U+009b"},
		{"bidi \u202e rtl \u200f iso \u2066 alm \u061c", "bidi U+202e rtl U+200f iso U+2066 alm U+061c"},
		{"zero\u200bwidth \ufeff soft\u00ad tag \U000e0041 fill \u3164", "zeroU+200bwidth U+feff softU+00ad tag U+e0041 fill U+3164"},
		{"naïve ✓ 日本 😀", "naïve ✓ 日本 😀"},
		{"bad \xff\xfe bytes \ufffd", "bad ?? bytes \ufffd"},
		{`{"decision":"allow"}`, `Reason: {"decision":"allow"}`},
		{` ["x"]`, `Reason: ["x"]`},
		{`"x"`, `Reason: "x"`},
		{"\u200b", "U+200b"},
	}
	for _, tt := range tests {
		if got := refuse.Line(tt.in); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
	long := refuse.Line(strings.Repeat("é", 5000))
	if len(long) > refuse.MaxReasonBytes || !strings.HasSuffix(long, "…") || !utf8.ValidString(long) {
		t.Errorf("%d bytes ending in %q", len(long), long[len(long)-6:])
	}
}

// FuzzFor holds that every reason gives one line that hides nothing, and JSON that
// says the same line and nothing else.
func FuzzFor(f *testing.F) {
	f.Add("force push\n\u202e \x1b[0m \xff \"\\ 😀")
	f.Add("")
	f.Fuzz(func(t *testing.T, reason string) {
		line := refuse.Line(reason)
		if line == "" || len(line) > refuse.MaxReasonBytes || !utf8.ValidString(line) || strings.TrimSpace(line) == "" {
			t.Fatalf("line %q", line)
		}
		for _, r := range line {
			if unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
				t.Fatalf("line %q holds %U", line, r)
			}
		}
		if again := refuse.Line(line); again != line && !strings.HasSuffix(line, "…") {
			t.Fatalf("%q becomes %q", line, again)
		}
		a, ok := refuse.For(refuse.Codex, "PreToolUse", reason)
		if !ok || a.ExitCode != 2 || string(a.Stderr) != line {
			t.Fatalf("refusal %+v", a)
		}
		var m map[string]map[string]string
		if err := json.Unmarshal(a.Stdout, &m); err != nil {
			t.Fatalf("%v: %q", err, a.Stdout)
		}
		o := m["hookSpecificOutput"]
		if len(m) != 1 || len(o) != 3 || o["hookEventName"] != "PreToolUse" || o["permissionDecision"] != "deny" || o["permissionDecisionReason"] != line {
			t.Fatalf("refusal %q", a.Stdout)
		}
		for _, c := range a.Stdout {
			if c < 0x20 || c > 0x7e {
				t.Fatalf("refusal %q is not plain ASCII", a.Stdout)
			}
		}
	})
}

// What a backend writes for the user or the model hides nothing and steers no
// terminal; lines stay where they may.
func TestText(t *testing.T) {
	const bad = "a\x1b[31m\u202eb\u2066\u200bc\U000e0041\r\nd\te\rf\u2028g\x00\ufeff\xff\u0085h ✓ é"
	for oneLine, want := range map[bool]string{
		false: "aU+001b[31mU+202ebU+2066U+200bcU+e0041\nd\te\nf\ngU+0000U+feff?\nh ✓ é",
		true:  "aU+001b[31mU+202ebU+2066U+200bcU+e0041 d e f gU+0000U+feff? h ✓ é",
	} {
		if got := refuse.Text(bad, oneLine); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
	if got := refuse.Text("", false); got != "" {
		t.Errorf("got %q of nothing", got)
	}
}
