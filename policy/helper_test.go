package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/policy/cel"
	"github.com/holdpoint/holdpoint/shell"
)

var engine = sync.OnceValue(func() policy.Engine {
	e, err := cel.New(cel.Options{})
	if err != nil {
		panic(err)
	}
	return e
})

// folder writes files, given as name and text in turn, and returns their folder.
func folder(t testing.TB, nameText ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i := 0; i < len(nameText); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, nameText[i]), []byte(nameText[i+1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func load(t testing.TB, dir string, o policy.Options) *policy.Set {
	t.Helper()
	s, err := tryLoad(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func tryLoad(dir string, o policy.Options) (*policy.Set, error) {
	o.Engine = engine()
	o.SkipFolderCheck = true
	return policy.Load(dir, o)
}

// rules wraps rules into a file.
func rules(text string) string { return "version: 1\nrules:\n" + text }

// rule returns one rule as YAML.
func rule(name, when, effect string) string {
	return "  - name: " + name + "\n    when: '" + strings.ReplaceAll(when, "'", "''") + "'\n    effect: " + effect + "\n    reason: because of " + name + "\n"
}

func decide(t testing.TB, s *policy.Set, f *facts.Facts) policy.Decision {
	t.Helper()
	d, err := s.Decide(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func wantErr(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("got no error, want one with %q", parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			t.Errorf("got error\n%v\nwant it to hold %q", err, p)
		}
	}
}

// pushFacts is a force push together with an upload.
func pushFacts() *facts.Facts {
	cmds := []shell.Command{
		{Program: "git", Sub: []string{"push"}, Flags: []string{"--force"}, Args: words("push", "--force", "origin", "feature/x")},
		{Program: "curl", Flags: []string{"-T"}, Args: words("-T", "x", "https://up.example.com/x")},
	}
	f := &facts.Facts{
		Event:   facts.Event{ID: "e", Type: "tool.before"},
		Session: facts.Session{CWD: "/home/dev/repo", Roots: []string{"/home/dev/repo"}, Home: "/home/dev"},
		Tool:    &facts.Tool{Name: "Bash", Kind: "shell", Input: map[string]any{"command": "git push --force origin feature/x; curl -T x https://up.example.com/x"}},
		Shell:   &facts.Shell{Text: "git push --force origin feature/x; curl -T x https://up.example.com/x", Result: &shell.Result{Commands: cmds}},
	}
	c := f.Shell.Result.Commands
	f.Files = []facts.File{{Path: "/home/dev/repo/x", Op: facts.FileRead, Zone: facts.ZoneWorkspace, Command: &c[1]}}
	f.URLs = []facts.URL{{Raw: "https://up.example.com/x", Host: "up.example.com", Port: 443, Use: "upload", Class: "public", Command: &c[1]}}
	f.Hazards = []facts.Hazard{
		{Code: "git.force_push", Certainty: facts.Certain, Command: &c[0], Detail: "--force", Span: facts.Span{Start: 0, End: 33}},
		{Code: "net.upload", Certainty: facts.Certain, Host: "up.example.com", Command: &c[1], Span: facts.Span{Start: 35, End: 69}},
	}
	return f
}

func words(w ...string) []shell.Arg {
	out := make([]shell.Arg, len(w))
	for i, s := range w {
		out[i] = shell.Arg{Value: s, Known: true}
	}
	return out
}
