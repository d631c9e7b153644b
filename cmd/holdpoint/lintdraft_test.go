package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/internal/corpus"
)

// lintJSON runs the built program and returns what it says of each file.
func lintJSON(t *testing.T, args ...string) (report lintReport, code int) {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs, "holdpoint"), append([]string{"lint", "--json"}, args...)...)
	out, err := cmd.Output()
	if code = cmd.ProcessState.ExitCode(); code != 0 && code != exitFailed {
		t.Fatalf("%v: exit %d\n%s", err, code, out)
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return report, code
}

// TestLintDraftFixtures runs every public fixture of revision draft through the
// program, which tells the revision by itself where the document names it.
func TestLintDraftFixtures(t *testing.T) {
	cases := corpus.DraftFixtures(t)
	args := []string{"--revision", "draft"}
	for i := range cases {
		args = append(args, filepath.Join(corpus.Dir(t, "ahp-draft/fixtures"), cases[i].Path))
	}
	report, code := lintJSON(t, args...)
	if code != exitFailed || len(report.Files) != len(cases) {
		t.Fatalf("exit %d, %d files of %d", code, len(report.Files), len(cases))
	}
	guessed, _ := lintJSON(t, args[2:]...)
	byServe := func(p lintProblem) bool { return p.RefusedBy != "" && p.Severity == "warning" }
	for i := range cases {
		c, f := &cases[i], &report.Files[i]
		// What serve says is beside what the library says.
		f.Problems = slices.DeleteFunc(f.Problems, byServe)
		errors := 0
		for _, p := range f.Problems {
			if p.Severity == "error" {
				errors++
			}
		}
		if f.Error != "" || (errors == 0) != c.Valid() {
			t.Errorf("%s: %s %v, want valid=%v", c.ID, f.Error, f.Problems, c.Valid())
		}
		// The reasons are those of the library, whose own tests hold them against a list.
		want, kind := wiredraft.Lint(f.File, c.Data(t), "", wiredraft.LintOptions{})
		if string(kind) != string(f.Kind) || len(want) != len(f.Problems) {
			t.Errorf("%s: %s with %v, want %s with %v", c.ID, f.Kind, f.Problems, kind, want)
			continue
		}
		for j, p := range f.Problems {
			if p.Pointer != want[j].Pointer || p.Found != want[j].Found || p.Line != want[j].Line {
				t.Errorf("%s: %v, want %v", c.ID, p, want[j])
			}
		}
		// A document that names the revision needs no flag.
		if wiredraft.Revision(c.Data(t)) == "draft" && len(slices.DeleteFunc(guessed.Files[i].Problems, byServe)) != len(f.Problems) {
			t.Errorf("%s: without --revision %v, with it %v", c.ID, guessed.Files[i].Problems, f.Problems)
		}
	}
}

// TestLintDraftRequests judges the contextual fixtures beside their requests.
func TestLintDraftRequests(t *testing.T) {
	n := 0
	for _, c := range corpus.DraftFixtures(t) {
		if c.ContextualExpectedValid == nil {
			continue
		}
		n++
		request := filepath.Join(t.TempDir(), "request.json")
		if err := os.WriteFile(request, c.Request(t), 0o600); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(corpus.Dir(t, "ahp-draft/fixtures"), c.Path)
		report, code := lintJSON(t, "--revision", "draft", "--request", request, file)
		if valid := *c.ContextualExpectedValid; (code == 0) != valid || (report.Errors == 0) != valid {
			t.Errorf("%s: exit %d, %v, want valid=%v", c.ID, code, report.Files, valid)
		}
	}
	if n != 12 {
		t.Errorf("%d contextual fixtures, want 12", n)
	}
}
