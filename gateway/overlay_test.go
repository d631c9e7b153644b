package gateway_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/policy"
)

// project makes a workspace with an overlay.
func project(t *testing.T, overlay string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "app")
	for _, dir := range []string{".git", ".holdpoint"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	writeOverlay(t, root, overlay)
	return root
}

func writeOverlay(t *testing.T, root, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, gateway.OverlayFile), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const (
	overlayRule = "version: 1\nrules:\n  - {name: no-make, when: 'runs(\"make deploy\")', effect: deny, reason: The project says no.}\n"
	// canary is in a broken overlay: nothing of it may be logged, shown or recorded.
	canary = "SEED-7c1f"
)

// reports gathers what becomes of overlays.
type reports struct {
	mu  sync.Mutex
	all []gateway.OverlayReport
}

func (r *reports) add(o gateway.OverlayReport) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, o)
}

func (r *reports) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.all)
}

func overlayDecider(t *testing.T, dir string) (*gateway.Decider, *reports) {
	t.Helper()
	rep := &reports{}
	d, err := gateway.NewDecider(gateway.PolicySource{Dir: dir, Home: "/home/dev", Disk: true, ProjectOverlays: true, OnOverlay: rep.add})
	if err != nil {
		t.Fatal(err)
	}
	return d, rep
}

func in(roots []string, command string) *ahp.Event {
	return &ahp.Event{
		ID: "e", Type: ahp.ToolBefore, Session: ahp.Session{CWD: roots[0], WorkspaceRoots: roots},
		Tool: &ahp.Tool{Name: "Bash", Kind: ahp.KindShell, Input: ahp.Raw(`{"command":"` + command + `"}`)},
	}
}

func judged(t *testing.T, d *gateway.Decider, command string, roots ...string) policy.Decision {
	t.Helper()
	dec, _, err := d.Decide(t.Context(), in(roots, command))
	if err != nil {
		t.Fatal(err)
	}
	return dec
}

func flagged(dec policy.Decision) bool {
	return slices.ContainsFunc(dec.Flags, func(f policy.Fired) bool { return f.Rule == policy.RuleOverlay })
}

// The overlay of a project is heard by a running gateway that was told to, and its
// record says so.
func TestProjectOverlayThroughTheRealPath(t *testing.T) {
	root := project(t, overlayRule)
	payload := func(command string) []byte {
		return []byte(strings.Replace(string(bash(command)), "/home/dev/repo", root, 1))
	}
	for _, on := range []bool{false, true} {
		o := options(t)
		o.Policy.Disk, o.Policy.ProjectOverlays = true, on
		r := start(t, o)
		if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload("make deploy")); got.denied() != on {
			t.Fatalf("overlays %v: %+v", on, got)
		}
		if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload("make test")); !got.empty() {
			t.Errorf("overlays %v: %+v", on, got)
		}
		recs := r.records(audit.Settlement)
		if on {
			if !slices.Contains(recs[0].Rules, "project:no-make") || !slices.ContainsFunc(recs[0].Flags, func(f string) bool { return strings.HasPrefix(f, "overlay:sha256:") }) {
				t.Errorf("the record does not name the project: rules %q, flags %q", recs[0].Rules, recs[0].Flags)
			}
			if !slices.ContainsFunc(recs[1].Flags, func(f string) bool { return strings.HasPrefix(f, "overlay:sha256:") }) {
				t.Errorf("the record does not say that an overlay was heard: %q", recs[1].Flags)
			}
		}
		if set := r.settlements(); set[0].PolicyDigest != r.Decider().Digest() {
			t.Errorf("digest %q", set[0].PolicyDigest)
		}
	}
}

// A broken overlay is left out with a flag and one line in the log, which says
// nothing of what is in the file.
func TestBrokenProjectOverlay(t *testing.T) {
	t.Run("a text", func(t *testing.T) { brokenOverlay(t, "version: 1\nrules: "+canary+"\n") })
	t.Run("more faults than are kept", func(t *testing.T) {
		brokenOverlay(t, "version: 1\nrules:\n"+strings.Repeat("- {name: "+canary+", when: true}\n", 900))
	})
}

func brokenOverlay(t *testing.T, text string) {
	root := project(t, text)
	o := options(t)
	o.Policy.Disk, o.Policy.ProjectOverlays = true, true
	r := start(t, o)
	payload := func(command string) []byte {
		return []byte(strings.Replace(string(bash(command)), "/home/dev/repo", root, 1))
	}
	for range 3 {
		if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload("make test")); !got.empty() {
			t.Fatalf("a repository locked the agent: %+v", got)
		}
	}
	if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload("git push --force")); !got.denied() {
		t.Fatalf("a repository opened the gate: %+v", got)
	}
	for _, rec := range r.records(audit.Settlement) {
		if !slices.Contains(rec.Flags, "flag:"+policy.RuleOverlay) && rec.Decision == "proceed" {
			t.Errorf("flags %q", rec.Flags)
		}
		if strings.Contains(string(rec.Data), canary) {
			t.Error("the record holds text of the overlay")
		}
	}
	log := r.log.String()
	if strings.Count(log, "project overlay left out") < 1 || strings.Contains(log, canary) {
		t.Errorf("log:\n%s", log)
	}
}

func TestOverlayStates(t *testing.T) {
	root := project(t, overlayRule)
	d, rep := overlayDecider(t, "")
	if dec := judged(t, d, "make deploy", root); dec.Rule != "project:no-make" {
		t.Fatalf("got %+v", dec)
	}
	// What is written next counts at once, also when nobody can tell by its size.
	writeOverlay(t, root, strings.Replace(overlayRule, "make deploy", "rake deploy", 1))
	if dec := judged(t, d, "make deploy", root); dec.Denied() {
		t.Errorf("the rule before is still heard: %+v", dec)
	}
	if dec := judged(t, d, "rake deploy", root); !dec.Denied() {
		t.Error("the new rule is not heard")
	}
	writeOverlay(t, root, "")
	if dec := judged(t, d, "ls", root); dec.Denied() || !flagged(dec) {
		t.Errorf("an empty file: %+v", dec)
	}
	if err := os.Remove(filepath.Join(root, gateway.OverlayFile)); err != nil {
		t.Fatal(err)
	}
	if dec := judged(t, d, "make deploy", root); dec.Denied() || flagged(dec) || len(dec.Overlays) > 0 {
		t.Errorf("no file: %+v", dec)
	}
	// A file that stays is read once.
	old := time.Now().Add(-time.Hour)
	writeOverlay(t, root, overlayRule)
	if err := os.Chtimes(filepath.Join(root, gateway.OverlayFile), old, old); err != nil {
		t.Fatal(err)
	}
	judged(t, d, "ls", root)
	before := rep.count()
	for range 5 {
		judged(t, d, "ls", root)
	}
	if n := rep.count(); n != before {
		t.Errorf("read %d times more", n-before)
	}
}

// What is no regular file in the workspace is not read, and holds nobody.
func TestOverlayThatIsNoFile(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "secret.yaml")
	if err := os.WriteFile(outside, []byte(overlayRule), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, make := range map[string]func(string) error{
		"a folder":           func(f string) error { return os.Mkdir(f, 0o755) },
		"a link that leaves": func(f string) error { return os.Symlink(outside, f) },
		"a pipe":             mkfifo,
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t, overlayRule)
			file := filepath.Join(root, gateway.OverlayFile)
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			if err := make(file); err != nil {
				t.Fatal(err)
			}
			d, _ := overlayDecider(t, "")
			if dec := judged(t, d, "make deploy", root); dec.Denied() || !flagged(dec) {
				t.Errorf("got %+v", dec)
			}
		})
	}
}

// An overlay whose rules fail or take their time is left out; the policy decides.
func TestOverlayThatFails(t *testing.T) {
	for name, rule := range map[string]string{
		"a missing member": "tool.input.gone == 1",
		"too much work":    "files.all(a, files.all(b, files.all(c, files.all(d, files.all(e, a.path + b.path + c.path + d.path + e.path != \"x\")))))",
	} {
		t.Run(name, func(t *testing.T) {
			root := project(t, "version: 1\nrules:\n  - name: x\n    when: '"+rule+"'\n    effect: deny\n    reason: No.\n")
			d, _ := overlayDecider(t, "")
			files := strings.Repeat("a ", 60)
			dec := judged(t, d, "cat "+files, root)
			if dec.Denied() || !flagged(dec) {
				t.Errorf("got %+v", dec)
			}
			if dec := judged(t, d, "cat "+files+"; git push --force", root); dec.Rule != "git.force_push" {
				t.Errorf("got %+v", dec)
			}
		})
	}
}

// A denial of an overlay holds when a rule of the user fails: what fails opens
// nothing.
func TestOverlayBesideAFailure(t *testing.T) {
	dir := filepath.Join(shortDir(t), "policy")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	writePolicy(t, dir, "version: 1\nrules:\n  - {name: bad, when: 'tool.input.gone == 1', effect: deny, reason: X.}\n")
	d, _ := overlayDecider(t, dir)
	root := project(t, overlayRule)
	if dec := judged(t, d, "make deploy", root); dec.Rule != "project:no-make" {
		t.Errorf("got %+v", dec)
	}
	if _, _, err := d.Decide(t.Context(), in([]string{root}, "ls")); err == nil {
		t.Error("the failure is lost")
	}
}

func TestOverlaysOfSeveralRoots(t *testing.T) {
	d, _ := overlayDecider(t, "")
	a, b := project(t, overlayRule), project(t, strings.Replace(overlayRule, "make deploy", "rake deploy", 1))
	for _, command := range []string{"make deploy", "rake deploy"} {
		if dec := judged(t, d, command, a, b); !dec.Denied() {
			t.Errorf("%s: %+v", command, dec)
		}
	}
	var roots []string
	for range gateway.MaxOverlays + 1 {
		roots = append(roots, project(t, overlayRule))
	}
	if dec := judged(t, d, "ls", roots...); dec.Denied() || !flagged(dec) || len(dec.Overlays) != gateway.MaxOverlays {
		t.Errorf("many roots: %+v", dec)
	}
}

// Programs that an overlay teaches are known in its own workspace alone.
func TestOverlayTeachesPrograms(t *testing.T) {
	d, _ := overlayDecider(t, "")
	a := project(t, "version: 1\nprograms: |\n  prog ship\n    act infra.destroy a site\n")
	b := project(t, "version: 1\nrules: []\n")
	if dec := judged(t, d, "ship it", a); dec.Rule != "project:infra.destructive" || !slices.Contains(dec.Hazards, "infra.destructive") {
		t.Errorf("got %+v", dec)
	}
	if dec := judged(t, d, "ship it", b); dec.Denied() {
		t.Errorf("got %+v", dec)
	}
}

// Many decisions at once, while overlays change and the policy is loaded again.
func TestOverlaysConcurrently(t *testing.T) {
	d, _ := overlayDecider(t, "")
	root := project(t, overlayRule)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 50 {
				if dec := judged(t, d, "git push --force", root); dec.Rule != "git.force_push" {
					t.Errorf("got %+v", dec)
				}
				judged(t, d, "make deploy", root)
			}
		})
	}
	var changes sync.WaitGroup
	changes.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			writeOverlay(t, root, overlayRule+strings.Repeat("# more\n", i%7))
			if err := d.Load(); err != nil {
				t.Error(err)
			}
		}
	})
	wg.Wait()
	cancel()
	changes.Wait()
	if dec := judged(t, d, "make deploy", root); dec.Rule != "project:no-make" {
		t.Errorf("got %+v", dec)
	}
}

// The answer of the policy comes in time, whatever an overlay does.
func TestOverlayLeavesTime(t *testing.T) {
	root := project(t, "version: 1\nrules:\n  - name: x\n    when: 'files.all(a, files.all(b, files.all(c, files.all(d, a.path + b.path + c.path + d.path != \"x\"))))'\n    effect: deny\n    reason: No.\n")
	d, _ := overlayDecider(t, "")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	dec, _, err := d.Decide(ctx, in([]string{root}, "cat "+strings.Repeat("a ", 40)))
	if err != nil || ctx.Err() != nil {
		t.Fatalf("%v, %v", err, ctx.Err())
	}
	if dec.Denied() && dec.Rule != "project:x" {
		t.Errorf("got %+v", dec)
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if dec, _, err := d.Decide(ended, in([]string{root}, "git push --force")); err == nil && !dec.Denied() {
		t.Errorf("an ended call was let through: %+v", dec)
	}
}
