package policy_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
)

const taught = `version: 1
packs: [default]
programs: |
  prog ship
    flags -p,--prod
    act infra.destroy the production site if --prod
`

func decideCommand(t *testing.T, s *policy.Set, command string) policy.Decision {
	t.Helper()
	f, err := facts.Extract(t.Context(), &ahp.Event{
		ID: "e", Type: ahp.ToolBefore, Session: ahp.Session{CWD: "/home/dev/repo", WorkspaceRoots: []string{"/home/dev/repo"}},
		Tool: &ahp.Tool{Name: "Bash", Kind: ahp.KindShell, Input: ahp.Raw(`{"command": "` + command + `"}`)},
	}, facts.Options{Home: "/home/dev", Programs: s.Programs()})
	if err != nil {
		t.Fatal(err)
	}
	return decide(t, s, f)
}

func TestPolicyTeachesPrograms(t *testing.T) {
	user := load(t, folder(t, "a.yaml", taught), policy.Options{})
	if d := decideCommand(t, user, "sudo -n true; ship --prod"); !d.Denied() || !strings.Contains(strings.Join(d.Hazards, " "), "infra.destructive") {
		t.Errorf("ship --prod: got %+v", d)
	}
	if d := decideCommand(t, user, "ship --staging"); d.Denied() {
		t.Errorf("ship --staging: got %+v", d)
	}
	if s := load(t, folder(t, "a.yaml", "version: 1\npacks: [default]\n"), policy.Options{}); s.Programs() != nil {
		t.Error("a policy that teaches nothing has programs")
	}

	// A project tightens what the user taught, and what everybody knows.
	over := folder(t, "p.yaml", "version: 1\nprograms: |\n  prog ship\n    act pkg.publish a release\n  prog ls\n    args upload*\n")
	both := load(t, folder(t, "a.yaml", taught), policy.Options{Overlays: []string{over}})
	for command, want := range map[string]string{"ship --staging": "pkg.publish", "ls src": "net.upload", "ship --prod": "infra.destructive"} {
		if d := decideCommand(t, both, command); !d.Denied() || !strings.Contains(strings.Join(d.Hazards, " "), want) {
			t.Errorf("%s: got %+v, want %s", command, d, want)
		}
	}
}

func TestTaughtProgramsAreInTheDigest(t *testing.T) {
	digest := func(text string, overlays ...string) string {
		return load(t, folder(t, "a.yaml", text), policy.Options{Overlays: overlays}).Digest()
	}
	base := digest(taught)
	if got := digest(strings.Replace(taught, "    flags -p,--prod", "    # options\n      flags  -p,--prod # long", 1)); got != base {
		t.Error("layout changes the digest")
	}
	seen := map[string]string{base: "base"}
	over := folder(t, "p.yaml", "version: 1\nprograms: |\n  prog ls\n    act deploy x\n")
	for what, got := range map[string]string{
		"none":    digest("version: 1\npacks: [default]\n"),
		"option":  digest(strings.Replace(taught, "if --prod", "if -p", 1)),
		"kind":    digest(strings.Replace(taught, "infra.destroy", "deploy", 1)),
		"user":    digest(taught + "  prog ls\n    act deploy x\n"),
		"project": digest(taught, over),
	} {
		if with, dup := seen[got]; dup {
			t.Errorf("%s and %s have one digest", what, with)
		}
		seen[got] = what
	}
}

func TestProgramProblems(t *testing.T) {
	tests := []struct {
		name, text string
		overlay    bool
		want       []string
	}{
		{"places", "version: 1\nprograms: |\n  # ours\n  prog ship\n    flags --prod\n    act infra.destory x\n    args reed\n", false, []string{
			`a.yaml:6:9: found the kind "infra.destory", expected one of`, "    act infra.destory x\n        ^", `a.yaml:7:10: found the role "reed"`,
		}},
		{"one line", "version: 1\nprograms: prog ship x/y\n", false, []string{`a.yaml:2:21: found "x/y", expected the bare name`}},
		{"folded", "version: 1\nprograms: \"prog ship\\n  act what\"\n", false, []string{`a.yaml:2:11: found the kind "what"`, "  act what\n      ^"}},
		{"number", "version: 1\nprograms: 1\n", false, []string{"a.yaml:2:11: found a number, want a text"}},
		{"empty", "version: 1\nprograms: ''\n", false, []string{"text is empty"}},
		{"size", "version: 1\nprograms: |\n" + strings.Repeat("  # "+strings.Repeat("x", 1000)+"\n", 265), false, []string{"want at most 262144"}},
		{"loosens", "version: 1\nprograms: |\n  replace terraform\n  prog rm\n    dry -f\n", true, []string{`a.yaml:3:3: found "replace", expected prog: a project may only add`, `a.yaml:5:5: found "dry"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, o := folder(t, "a.yaml", tt.text), policy.Options{}
			if tt.overlay {
				dir, o.Overlays = folder(t, "u.yaml", "version: 1\n"), []string{dir}
			}
			_, err := tryLoad(dir, o)
			wantErr(t, err, tt.want...)
		})
	}
	// Two files of the user that teach one program.
	dir := folder(t, "a.yaml", taught, "b.yaml", "version: 1\nprograms: |\n  prog other\n  prog ship\n")
	_, err := tryLoad(dir, policy.Options{})
	wantErr(t, err, `b.yaml:4:3: found "ship", which has an entry at `+filepath.Join(dir, "a.yaml")+":1:1")
}
