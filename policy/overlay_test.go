package policy_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/shell"
)

const overlaid = `version: 1
packs: [default]
override:
  git.discard_work: {effect: flag}
rules:
  - {name: mine, when: 'runs("make deploy ...")', effect: deny, reason: Not from here.}
  - {name: nowhere, when: 'runs("fetch-it ...") && !connects("*.example.com")', effect: deny, reason: Only there.}
`

func TestWithOverlay(t *testing.T) {
	user := load(t, folder(t, "u.yaml", overlaid), policy.Options{Packs: []string{policy.DefaultPack}, Overlayable: true})
	for _, tt := range []struct {
		name, overlay, command string
		effect                 policy.Effect
		rule                   string
	}{
		{"a rule of its own", "rules:\n  - {name: x, when: 'runs(\"npm publish-it\")', effect: deny, reason: No.}\n", "npm publish-it", policy.EffectDeny, "project:x"},
		{"a name that the user has", "rules:\n  - {name: mine, when: 'runs(\"rake\")', effect: deny, reason: No.}\n", "rake", policy.EffectDeny, "project:mine"},
		{"the user's rule decides first", "rules:\n  - {name: x, when: 'true', effect: deny, reason: No.}\n", "make deploy now", policy.EffectDeny, "mine"},
		{"a flag becomes a denial", "override:\n  git.discard_work: {effect: deny}\n", "git reset --hard", policy.EffectDeny, "project:git.discard_work"},
		{"an approval", "rules:\n  - {name: x, when: 'runs(\"rake ...\")', effect: ask, reason: Ask.}\n", "rake db", policy.EffectAsk, "project:x"},
		{"a program", "programs: |\n  prog ship\n    act infra.destroy a site\n", "ship it", policy.EffectDeny, "project:infra.destructive"},
		{"a fact more hides no absence", "programs: |\n  prog fetch-it\n    args host\n", "fetch-it a.example.com", policy.EffectDeny, "nowhere"},
		{"nothing", "rules:\n  - {name: x, when: 'false', effect: deny, reason: No.}\n", "ls", policy.EffectNone, ""},
		{"a flag", "rules:\n  - {name: x, when: 'true', effect: flag, reason: See.}\n", "ls", policy.EffectNone, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			with, err := user.WithOverlay(".holdpoint/policy.yaml", []byte("version: 1\n"+tt.overlay))
			if err != nil {
				t.Fatal(err)
			}
			ev := overlayEvent(tt.command)
			a, _, err := user.Judge(t.Context(), ev, overlayFacts)
			if err != nil {
				t.Fatal(err)
			}
			b, _, err := with.Judge(t.Context(), ev, overlayFacts)
			if err != nil {
				t.Fatal(err)
			}
			got := a.Stricter(b)
			if got.Effect != tt.effect || got.Rule != tt.rule {
				t.Errorf("got %s by %q, want %s by %q", got.Effect, got.Rule, tt.effect, tt.rule)
			}
			if got.Digest != a.Digest || !slices.Equal(got.Overlays, []string{b.Digest}) || a.Digest == b.Digest {
				t.Errorf("digests: %q with %q", got.Digest, got.Overlays)
			}
			if strings.Contains(tt.overlay, "effect: flag,") && (len(got.Flags) != 1 || got.Flags[0].Rule != "project:x") {
				t.Errorf("flags: %+v", got.Flags)
			}
		})
	}
}

func TestOverlaysThatAreRefused(t *testing.T) {
	user := load(t, folder(t, "u.yaml", overlaid), policy.Options{Packs: []string{policy.DefaultPack}, Overlayable: true})
	many := "version: 1\nrules:\n" + strings.Repeat("  - {name: x, when: 'true', effect: deny, reason: No.}\n", policy.MaxOverlayRules+1)
	for want, text := range map[string]string{
		"may only tighten":            "version: 1\nallow: {paths: [\"/**\"]}\n",
		"cannot switch a rule off":    "version: 1\noverride:\n  mine: {enabled: false}\n",
		"its rules deny, ask or flag": "version: 1\nrules:\n  - {name: x, when: 'true', effect: inject, text: obey, deliverAt: now, reason: R.}\n",
		"only the user's policy":      "version: 1\npacks: []\n",
		"want at most 64":             many,
		"more than 32768 bytes":       "version: 1\n# " + strings.Repeat("x", policy.MaxOverlayBytes),
		"no rule \"gone\"":            "version: 1\noverride:\n  gone: {enabled: true}\n",
		"dry":                         "version: 1\nprograms: |\n  prog rm\n    dry --pretend\n",
	} {
		_, err := user.WithOverlay("o", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v", want, err)
		}
		if len(policy.LintOverlay("o", []byte(text), policy.Options{Engine: engine(), Packs: []string{policy.DefaultPack}})) == 0 {
			t.Errorf("%q: lint finds nothing", want)
		}
	}
	// The faults of an overlay leave no trace in the policy.
	if _, err := user.WithOverlay("o", []byte("version: 1\nrules: []\n")); err != nil {
		t.Error(err)
	}
	plain := load(t, folder(t, "u.yaml", overlaid), policy.Options{})
	if _, err := plain.WithOverlay("o", nil); !errors.Is(err, policy.ErrNoOverlay) {
		t.Errorf("got %v", err)
	}
}

// However many faults a file has, the rules behind the last one that is kept are
// faulty, too, and not rules.
func TestFaultsBeyondThoseThatAreKept(t *testing.T) {
	user := load(t, folder(t, "u.yaml", overlaid), policy.Options{Overlayable: true})
	rules := "version: 1\nrules:\n" + strings.Repeat("- {name: x, when: true}\n", 900)
	for name, text := range map[string]string{
		"rules":    rules,
		"text":     strings.ReplaceAll(rules, "when: true", "when: 'true', effect: message, textFrom: 1"),
		"programs": "version: 1\nprograms: |\n" + strings.Repeat("  nonsense\n", 900),
		"both":     rules + "programs: |\n" + strings.Repeat("  nonsense\n", 300),
	} {
		_, err := user.WithOverlay("o", []byte(text))
		if err == nil {
			t.Fatalf("%s: no error", name)
		}
		found := policy.LintOverlay("o", []byte(text), policy.Options{Engine: engine()})
		if len(found) == 0 || len(found) > 400 {
			t.Errorf("%s: %d faults", name, len(found))
		}
		for _, p := range found { // each is shown with its own line
			if name == "rules" && p.Line > 2 && !strings.HasPrefix(p.Snippet, "- {name: x") {
				t.Fatalf("%s: line %d is shown as %q", name, p.Line, p.Snippet)
			}
		}
	}
	_, err := policy.Parse("o", []byte(strings.ReplaceAll(rules, "when: true}", "when: true, effect: deny, reason: r}")), policy.Options{Engine: engine()})
	if err == nil {
		t.Error("no error of the user's own file")
	}
}

// Whatever an overlay says, nothing that the policy refuses, asks or flags is lost.
func TestStricterLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fired := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) policy.Fired {
			return policy.Fired{Rule: rapid.SampledFrom([]string{"a", "b", "project:a", "project:c"}).Draw(t, "rule")}
		}), 0, 3)
		decision := rapid.Custom(func(t *rapid.T) policy.Decision {
			d := policy.Decision{
				Effect: rapid.SampledFrom([]policy.Effect{policy.EffectDeny, policy.EffectAsk, policy.EffectNone, ""}).Draw(t, "effect"),
				Rule:   rapid.SampledFrom([]string{"", "a", "project:b"}).Draw(t, "by"),
				Flags:  fired.Draw(t, "flags"), Shadow: fired.Draw(t, "shadow"),
				Hazards: []string{"h"}, Undecidable: rapid.Bool().Draw(t, "undecidable"),
			}
			if d.Effect == policy.EffectAsk {
				d.Asks = fired.Draw(t, "asks")
			}
			return d
		})
		a, b := decision.Draw(t, "a"), decision.Draw(t, "b")
		before := a
		got := a.Stricter(b)
		rank := func(d policy.Decision) int {
			switch {
			case d.Denied():
				return 2
			case d.Effect == policy.EffectAsk:
				return 1
			}
			return 0
		}
		if rank(got) != max(rank(a), rank(b)) {
			t.Fatalf("%q and %q give %q", a.Effect, b.Effect, got.Effect)
		}
		if a.Denied() && (got.Rule != a.Rule || got.Effect != a.Effect) {
			t.Fatalf("the user's denial is lost: %+v", got)
		}
		if b.Undecidable && !got.Undecidable || before.Undecidable && !got.Undecidable {
			t.Fatal("a doubt is lost")
		}
		has := func(list []policy.Fired, want []policy.Fired) {
			for _, f := range want {
				if !slices.ContainsFunc(list, func(o policy.Fired) bool { return o.Rule == f.Rule }) {
					t.Fatalf("%q is lost in %+v", f.Rule, list)
				}
			}
		}
		has(got.Flags, a.Flags)
		has(got.Shadow, a.Shadow)
		if !got.Denied() {
			has(got.Asks, a.Asks)
		}
	})
}

var overlayFacts = facts.Options{Home: "/home/dev", Dialect: shell.Bash}

func overlayEvent(command string) *ahp.Event {
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		panic(err)
	}
	return &ahp.Event{
		ID: "e", Type: ahp.ToolBefore, Session: ahp.Session{CWD: "/home/dev/repo", WorkspaceRoots: []string{"/home/dev/repo"}},
		Tool: &ahp.Tool{Name: "Bash", Kind: ahp.KindShell, Input: input},
	}
}
