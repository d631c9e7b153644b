package policy_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/shell"
)

func TestZeroDecisionRefuses(t *testing.T) {
	var d policy.Decision
	if !d.Denied() || len(d.Effects()) != 1 {
		t.Errorf("the zero decision does not refuse: %+v", d)
	}
}

func TestDecide(t *testing.T) {
	tests := []struct {
		name, text string
		want       policy.Effect
		rule       string
		flags      string
		shadow     string
		read       string
	}{
		{"nothing holds", rules(rule("a", "hazard('db.destructive')", "deny")), "none", "", "", "", ""},
		{"first deny wins", rules(rule("a", "hazard('net.upload')", "deny") + rule("b", "hazard('git.force_push')", "deny")), "deny", "a", "", "", "hazards"},
		{
			"flags add up, behind the deny too",
			rules(rule("f1", "hazard('git.*')", "flag") + rule("a", "tool.kind == 'shell'", "deny") + rule("f2", "connects('up.example.com')", "flag")),
			"deny", "a", "f1 f2", "", "hazards tool.kind urls",
		},
		{"shadow file", "mode: shadow\n" + rules(rule("a", "hazard('git.force_push')", "deny")), "none", "", "", "a", "hazards"},
		{"shadow rule does not hide the next", rules(rule("a", "true", "deny") + "    mode: shadow\n" + rule("b", "true", "deny")), "deny", "b", "", "a", ""},
		{"flags in shadow stay flags", "mode: shadow\n" + rules(rule("a", "true", "flag")), "none", "", "a", "", ""},
		{"disabled", rules(rule("a", "true", "deny") + "    enabled: false\n"), "none", "", "", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := decide(t, load(t, folder(t, "a.yaml", tt.text), policy.Options{}), pushFacts())
			if d.Effect != tt.want || d.Rule != tt.rule {
				t.Errorf("got %s by %q, want %s by %q", d.Effect, d.Rule, tt.want, tt.rule)
			}
			if got := firedNames(d.Flags); got != tt.flags {
				t.Errorf("flags: got %q, want %q", got, tt.flags)
			}
			if got := firedNames(d.Shadow); got != tt.shadow {
				t.Errorf("shadow: got %q, want %q", got, tt.shadow)
			}
			if got := strings.Join(d.FactsRead, " "); got != tt.read {
				t.Errorf("facts read: got %q, want %q", got, tt.read)
			}
			if got := d.Hazards; !slices.Equal(got, []string{"git.force_push", "net.upload"}) {
				t.Errorf("hazards: got %v", got)
			}
			if len(d.Effects()) != map[policy.Effect]int{"deny": 1, "none": 0}[tt.want] {
				t.Errorf("effects: %v", d.Effects())
			}
		})
	}
}

func firedNames(l []policy.Fired) string {
	var out []string
	for _, f := range l {
		out = append(out, f.Rule)
	}
	return strings.Join(out, " ")
}

func TestReasons(t *testing.T) {
	text := "version: 1\nrules:\n  - name: a\n    when: 'true'\n    effect: deny\n    code: com.example.a\n    reason: \"line one\\nline \\u202e two \\e[31m\"\n    hint: \"" + strings.Repeat("h", 1000) + "\"\n"
	d := decide(t, load(t, folder(t, "a.yaml", text), policy.Options{}), pushFacts())
	if !strings.HasPrefix(d.Reason, `line one line \u202e two \u001b[31m hhh`) || len(d.Reason) > policy.MaxReasonBytes {
		t.Errorf("reason: %q", d.Reason)
	}
	if len(d.Message) > policy.MaxMessageBytes || !strings.HasSuffix(d.Message, "…") {
		t.Errorf("message: %q", d.Message)
	}
	deny, ok := d.Effects()[0].(*ahp.Deny)
	if !ok || deny.Reason != d.Message || deny.Code != "com.example.a" {
		t.Errorf("effect: %+v", d.Effects()[0])
	}
}

func TestBreachIsRefused(t *testing.T) {
	f := pushFacts()
	f.Breach = "shell.depth"
	for _, text := range []string{"version: 1\n", "version: 1\nmode: shadow\n"} {
		d := decide(t, load(t, folder(t, "a.yaml", text), policy.Options{}), f)
		if !d.Denied() || d.Rule != policy.RuleAnalysisBound || d.Breach != "shell.depth" || d.Code != policy.CodeAnalysisBound {
			t.Errorf("got %+v", d)
		}
	}
}

// A rule that cannot be evaluated is a failure, never "no match"; a rule that
// refuses holds beside it.
func TestEvaluationFailure(t *testing.T) {
	broken := rule("broken", "tool.input.absent == 1", "deny")
	_, err := load(t, folder(t, "a.yaml", rules(broken)), policy.Options{}).Decide(t.Context(), pushFacts())
	var ee *policy.EvalError
	if !errors.As(err, &ee) || ee.Rule != "broken" || ee.Cause != policy.CauseError {
		t.Fatalf("got %v, want an EvalError of rule broken", err)
	}
	if strings.Contains(ee.Error(), "absent") {
		t.Errorf("the error quotes the input: %v", ee)
	}
	for _, text := range []string{rules(broken + rule("b", "true", "deny")), rules(rule("b", "true", "deny") + strings.Replace(broken, "effect: deny", "effect: flag", 1))} {
		if d := decide(t, load(t, folder(t, "a.yaml", text), policy.Options{}), pushFacts()); d.Rule != "b" {
			t.Errorf("got rule %q, want b", d.Rule)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	f := pushFacts()
	for range 1000 {
		f.Files = append(f.Files, facts.File{Path: "/x", Op: facts.FileRead})
	}
	d, err := load(t, folder(t, "a.yaml", rules(rule("slow", "files.exists(a, files.exists(b, a.path + b.path == 'x'))", "deny"))), policy.Options{}).Decide(ctx, f)
	if !errors.As(err, &ee) || ee.Cause != policy.CauseInterrupted || !d.Denied() {
		t.Errorf("got %+v, %v, want an interruption and the zero decision", d, err)
	}
}

func TestAllowLists(t *testing.T) {
	pack := "version: 1\npacks: [default]\n"
	tests := []struct {
		name, text string
		want       string // rules
	}{
		{"nothing exempt", pack, "git.force_push"},
		{"command for the rule", pack + "override: {git.force_push: {allow: {commands: ['git push --force origin feature/*']}}}\n", "net.upload"},
		{"short option and order", pack + "allow: {commands: ['git push origin feature/* --force']}\n", "net.upload"},
		{"another branch", pack + "allow: {commands: ['git push --force origin release/*']}\n", "git.force_push"},
		{"option missing", pack + "allow: {commands: ['git push origin feature/*']}\n", "git.force_push"},
		{"both", pack + "allow: {commands: ['git push ...'], hosts: [.example.com]}\n", ""},
		{"by command and command", pack + "allow: {commands: ['git push ...', 'curl -T * https://up.example.com/*']}\n", ""},
		{"host of another rule", pack + "override: {git.force_push: {enabled: false}, net.pipe_to_shell: {allow: {hosts: [up.example.com]}}}\n", "net.upload"},
		{"host", pack + "override: {git.force_push: {enabled: false}, net.upload: {allow: {hosts: [up.example.com]}}}\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := load(t, folder(t, "a.yaml", tt.text), policy.Options{})
			d := decide(t, s, pushFacts())
			if got := strings.Join(d.RuleNames(), " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if len(d.Hazards) != 2 {
				t.Errorf("the record must show all hazards, got %v", d.Hazards)
			}
		})
	}
}

// An allow-list never covers what is not wholly known, wrapped or elsewhere.
func TestAllowListsNeedCertainty(t *testing.T) {
	s := load(t, folder(t, "a.yaml", "version: 1\nallow: {commands: ['git push --force origin feature/*']}\nrules:\n"+rule("r", `hazard("git.force_push")`, "deny")), policy.Options{})
	base := pushFacts()
	if decide(t, s, base).Denied() {
		t.Fatal("the base command is not exempt")
	}
	for name, edit := range map[string]func(f *facts.Facts){
		"wrapped":   func(f *facts.Facts) { f.Hazards[0].Command.Wrappers = []string{"sudo"} },
		"variable":  func(f *facts.Facts) { f.Hazards[0].Command.Env = []shell.Assignment{{Name: "GIT_SSH_COMMAND"}} },
		"dynamic":   func(f *facts.Facts) { f.Hazards[0].Command.Dynamic = true },
		"disguised": func(f *facts.Facts) { f.Hazards[0].Command.Disguised = true },
		"remote":    func(f *facts.Facts) { f.Hazards[0].Command.Host = "prod" },
		"path":      func(f *facts.Facts) { f.Hazards[0].Command.Path = "./git" },
		"unknown":   func(f *facts.Facts) { f.Hazards[0].Command.Args[3].Known = false },
		"more":      func(f *facts.Facts) { f.Hazards[0].Command.Args = append(f.Hazards[0].Command.Args, words("main")...) },
	} {
		f := pushFacts()
		edit(f)
		if !decide(t, s, f).Denied() {
			t.Errorf("%s: exempt", name)
		}
	}
}

// A set, its engine and the facts are shared by every decision that runs.
func TestConcurrentDecisions(t *testing.T) {
	s := load(t, folder(t, "a.yaml", "version: 1\npacks: [default]\nallow: {hosts: [up.example.com]}\n"+strings.TrimPrefix(rules(rule("loop", "files.exists(f, f.glob('**/x'))", "flag")), "version: 1\n")), policy.Options{})
	f := pushFacts()
	want := decide(t, s, f)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				d, err := s.Decide(t.Context(), f)
				if err != nil || d.Rule != want.Rule || len(d.Flags) != len(want.Flags) || d.Digest != want.Digest {
					t.Errorf("got %+v, %v", d, err)
					return
				}
			}
		})
	}
	// Reloads use the same engine.
	for range 5 {
		load(t, "", policy.Options{Packs: []string{policy.DefaultPack}})
	}
	wg.Wait()
}

// A rule that cannot refuse changes no decision when it fails, and is not silent.
func TestARuleThatCannotRefuseFailsAlone(t *testing.T) {
	broken := `tool.input.absent == "x"`
	s := load(t, folder(t, "a.yaml", rules(
		rule("flagged", broken, "flag")+
			rule("shadowed", broken, "deny")+"    mode: shadow\n")), policy.Options{})
	f := &facts.Facts{Event: facts.Event{Type: "tool.before"}, Tool: &facts.Tool{Name: "Bash", Kind: "shell", Input: map[string]any{}}}
	d := decide(t, s, f)
	if d.Denied() {
		t.Errorf("denied by %s", d.Rule)
	}
	for what, got := range map[string][]policy.Fired{"flagged": d.Flags, "shadowed": d.Shadow} {
		if len(got) != 1 || got[0].Rule != what || got[0].Reason != policy.ReasonNotEvaluated {
			t.Errorf("%s: %+v", what, got)
		}
	}
}
