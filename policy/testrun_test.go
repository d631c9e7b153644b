package policy_test

import (
	"bytes"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
)

const caseRules = `version: 1
rules:
  - name: no-ssh-keys
    when: touches("read", "~/.ssh/**")
    effect: deny
    reason: Keys stay where they are.
  - name: seen-fetch
    when: size(urls) > 0
    effect: flag
    reason: A fetch.
`

func TestCases(t *testing.T) {
	s, err := policy.Parse("p.yaml", []byte(caseRules), policy.Options{Engine: engine()})
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name, text string
		passed     int
		failed     int
		diff       string // of the first failure
		problem    string
	}{
		{"tools and events", `version: 1
cases:
  - {name: key, tool: Read, input: {file_path: ~/.ssh/id_rsa}, want: deny}
  - {name: rule, tool: Read, input: {file_path: ~/.ssh/id_rsa}, want: {decision: deny, rule: no-ssh-keys, rules: [no-ssh-keys], flags: [], undecidable: false, breach: false}}
  - {name: other home, tool: Read, home: /home/ann, input: {file_path: /home/ann/.ssh/x}, want: {rule: no-ssh-keys}}
  - {name: mcp, tool: mcp__fs__read_text_file, mcp: {server: fs}, input: {path: /home/dev/.ssh/x}, want: deny}
  - {name: flag, tool: WebFetch, input: {url: "https://example.com"}, want: {decision: flag, flags: [seen-fetch], rule: seen-fetch}}
  - {name: kind, tool: MyTool, kind: file_read, input: {path: /x}, want: none}
  - {name: session, event: session.start, want: none}
`, 7, 0, "", ""},
		{"wrong hazards", "version: 1\ncases: [{name: a, tool: Read, input: {file_path: x}, want: {hazards: [db.destructive]}}]\n", 0, 1, "hazards: got [], want [db.destructive]", ""},
		{"defaults", `version: 1
defaults: {tool: Read, home: /h, cwd: /w, roots: [/w]}
cases:
  - {name: a, input: {file_path: /h/.ssh/x}, want: deny}
  - {name: b, input: {file_path: x}, want: none}
`, 2, 0, "", ""},
		{"wrong decision", "version: 1\ncases: [{name: a, tool: Read, input: {file_path: /x}, want: deny}]\n", 0, 1, "decision: got none, want deny", ""},
		{"wrong rule", "version: 1\ncases: [{name: a, tool: Read, input: {file_path: ~/.ssh/x}, want: {rule: other}}]\n", 0, 1, "rule: got no-ssh-keys, want other", ""},
		{"unknown key", "version: 1\ncases: [{name: a, tool: Read, inptu: {}, want: deny}]\n", 0, 0, "", `unknown key "inptu"; did you mean "input"?`},
		{"unknown hazard", "version: 1\ncases: [{name: a, command: ls, want: {hazards: [fs.x]}}]\n", 0, 0, "", `"fs.x" is no hazard code`},
		{"no want", "version: 1\ncases: [{name: a, command: ls}]\n", 0, 0, "", `key "want" is missing`},
		{"nothing to decide", "version: 1\ncases: [{name: a, want: none}]\n", 0, 0, "", "needs a command or a tool"},
		{"input of a wrong type", "version: 1\ncases: [{name: a, tool: Read, input: [], want: none}]\n", 0, 0, "", "found a list, want a mapping"},
		{"event", "version: 1\ncases: [{name: a, tool: Read, event: tool.befor, want: none}]\n", 0, 0, "", `found "tool.befor"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			rep, err := policy.TestFS(t.Context(), fstest.MapFS{"x_test.yaml": {Data: []byte(tt.text)}, "p.yaml": {Data: []byte("not read")}}, s, facts.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := rep.WriteText(&out); err != nil {
				t.Fatal(err)
			}
			text := out.String()
			if rep.Passed != tt.passed || rep.Failed != tt.failed || !strings.Contains(text, tt.diff) || !strings.Contains(text, tt.problem) {
				t.Errorf("got %d passed, %d failed, want %d and %d, %q, %q:\n%s", rep.Passed, rep.Failed, tt.passed, tt.failed, tt.diff, tt.problem, text)
			}
			if want := tt.failed == 0 && tt.problem == "" && tt.passed > 0; rep.OK() != want {
				t.Errorf("OK: got %v, want %v", rep.OK(), want)
			}
		})
	}
}

func TestCasesFolder(t *testing.T) {
	dir := folder(t, "p.yaml", caseRules, "p_test.yaml", "version: 1\ncases: [{tool: Read, name: k, input: {file_path: ~/.ssh/x}, want: deny}]\n")
	rep, err := policy.Test(t.Context(), dir, load(t, dir, policy.Options{}), facts.Options{})
	if err != nil || !rep.OK() || rep.Passed != 1 || rep.Results[0].File != "p_test.yaml" || rep.Results[0].Line != 2 {
		t.Errorf("got %+v, %v", rep, err)
	}
	if _, err := policy.Test(t.Context(), dir+"/none", load(t, dir, policy.Options{}), facts.Options{}); err == nil {
		t.Error("a missing folder passed")
	}
	empty, err := policy.Test(t.Context(), t.TempDir(), load(t, dir, policy.Options{}), facts.Options{})
	if err != nil || empty.OK() {
		t.Errorf("a folder without cases passed: %+v, %v", empty, err)
	}
}
