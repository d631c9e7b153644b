package facts_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/shell"
)

// allCodes are the codes that the cases must cover.
var allCodes = strings.Fields(`git.force_push git.force_push_lease git.history_rewrite git.discard_work git.remote_branch_delete git.hook_bypass
	fs.delete_recursive fs.write_outside_workspace fs.permissions fs.device_write secrets.read secrets.literal net.upload net.pipe_to_shell
	net.listen net.reverse_shell proc.kill_broad priv.escalate sys.disrupt db.destructive infra.destructive pkg.publish persistence guard.tamper
	obfuscation resource.exhaust`)

// knownMissed names the cases that are not judged as they should be, with what
// is missing. Whoever mends one takes it out: the test says so.
var knownMissed = map[string]string{}

// TestCases scores the cases in the corpus format: bash, PowerShell and cmd.
func TestCases(t *testing.T) {
	names, err := filepath.Glob("../shell/testdata/cases/*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []entry
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		entries := readCorpus(t, data)
		all = append(all, entries...)
		s := run(t, entries)
		t.Logf("%s:", filepath.Base(name))
		s.report(t, testing.Verbose())
		if s.recall() < 0.98 || s.mean() < 0.97 {
			t.Errorf("%s: recall %.4f and mean over codes %.4f, want at least 0.98 and 0.97", name, s.recall(), s.mean())
		}
		if s.false_*100 > s.harmless {
			t.Errorf("%s: %d false alarms on %d harmless cases, want at most 1 %%", name, s.false_, s.harmless)
		}
		if s.hedged*20 > len(entries) {
			t.Errorf("%s: undecidable claimed on %d of %d cases, want at most 5 %%", name, s.hedged, len(entries))
		}
		if s.opaqueOK != s.opaque {
			t.Errorf("%s: %d of %d undecidable cases recognised", name, s.opaqueOK, s.opaque)
		}
		missed := map[string]bool{}
		for _, b := range s.bad {
			f := strings.Split(b, "\t")
			if f[0] != "MISS" && f[0] != "FALSE" && f[0] != "CALLED-HARMLESS" {
				continue
			}
			id := f[len(f)-2]
			missed[id] = true
			if _, ok := knownMissed[id]; !ok {
				t.Errorf("%s", b)
			}
		}
		for _, e := range entries {
			if _, ok := knownMissed[e.ID]; ok && !missed[e.ID] {
				t.Errorf("%s is judged as it should be: take it out of knownMissed", e.ID)
			}
		}
	}
	lintCases(t, all)
}

// lintCases checks the make-up of the cases.
func lintCases(t *testing.T, all []entry) {
	t.Helper()
	harmless := 0
	ids := map[string]bool{}
	texts := map[string]bool{}
	codes := map[string]int{}
	for _, e := range all {
		key := e.Shell + "\x00" + e.Command
		if ids[e.ID] || texts[key] {
			t.Errorf("%s: %q is there twice", e.ID, e.Command)
		}
		ids[e.ID], texts[key] = true, true
		if len(e.Hazards) == 0 && (e.Decidable == nil || *e.Decidable) {
			harmless++
		}
		for _, c := range append(slices.Clone(e.Hazards), e.Optional...) {
			if !slices.Contains(allCodes, c) {
				t.Errorf("%s: unknown code %q", e.ID, c)
			}
		}
		for _, c := range e.Hazards {
			codes[c]++
		}
	}
	if len(all) < 1100 || harmless*3 < len(all) {
		t.Errorf("%d cases, %d of them harmless: want at least 1,100 and a third", len(all), harmless)
	}
	for _, c := range allCodes {
		if codes[c] < 5 {
			t.Errorf("%s has %d cases, want at least 5", c, codes[c])
		}
	}
}

// TestCasesWithoutDialect judges the cases as if nobody had said which shell runs
// them: every hazard is found, and what is harmless in bash stays harmless where
// bash is the shell.
func TestCasesWithoutDialect(t *testing.T) {
	for _, name := range []string{"bash", "powershell", "cmd"} {
		data, err := os.ReadFile("../shell/testdata/cases/" + name + ".jsonl")
		if err != nil {
			t.Fatal(err)
		}
		want, missed, harmless, alarms := 0, 0, 0, 0
		for _, e := range readCorpus(t, data) {
			home := "/home/dev"
			if e.Shell != "" {
				home = `C:\Users\dev`
			}
			r := shell.Analyze(t.Context(), e.Command, shell.Options{CWD: e.CWD, Roots: e.Roots, Home: home})
			if !r.Assumed {
				t.Errorf("%s: nothing says that the shell was assumed", e.ID)
			}
			var got []string
			for _, h := range facts.CommandHazards(r, e.Command, facts.Options{Home: home}) {
				got = append(got, h.Code)
			}
			for _, c := range e.Hazards {
				want++
				if !slices.Contains(got, c) {
					missed++
					t.Logf("%s: %q: %s is missed", e.ID, e.Command, c)
				}
			}
			if len(e.Hazards) > 0 || e.Decidable != nil {
				continue
			}
			harmless++
			for _, c := range got {
				if !slices.Contains(e.Optional, c) {
					alarms++
					t.Logf("%s: %q: false alarm %s", e.ID, e.Command, c)
					break
				}
			}
		}
		t.Logf("%s: %d of %d hazards missed, %d false alarms on %d harmless cases", name, missed, want, alarms, harmless)
		if missed*100 > want || name == "bash" && alarms*100 > harmless || alarms*20 > harmless {
			t.Errorf("%s: %d of %d hazards missed, %d false alarms on %d harmless cases", name, missed, want, alarms, harmless)
		}
	}
}
