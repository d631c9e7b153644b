package policy_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/policy"
)

// The cases beside each pack pass.
func TestPacks(t *testing.T) {
	for _, p := range policy.Packs() {
		t.Run(p.Name, func(t *testing.T) {
			s := load(t, "", policy.Options{Packs: []string{p.Name}})
			fsys, err := policy.PackFiles(p.Name)
			if err != nil {
				t.Fatal(err)
			}
			rep, err := policy.TestFS(t.Context(), fsys, s, facts.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !rep.OK() {
				var b strings.Builder
				_ = rep.WriteText(&b)
				t.Error(b.String())
			}
		})
	}
	if _, err := policy.PackFiles("none"); err == nil {
		t.Error("a pack that does not exist has files")
	}
}

// The default pack has a rule for each hazard of the taxonomy, each with a
// reason, a way out, a severity and a code, and every rule has a case that fires it.
func TestDefaultPackIsComplete(t *testing.T) {
	s := load(t, "", policy.Options{Packs: []string{policy.DefaultPack}})
	byName := map[string]policy.Rule{}
	for _, r := range s.Rules() {
		byName[r.Name] = r
		if r.Reason == "" || r.Hint == "" || r.Code == "" || r.Severity == "" || !r.Enabled {
			t.Errorf("%s: incomplete: %+v", r.Name, r)
		}
		if n := len(r.Reason) + len(r.Hint) + 1; n > policy.MaxMessageBytes {
			t.Errorf("%s: reason and hint are %d bytes, want at most %d", r.Name, n, policy.MaxMessageBytes)
		}
	}
	cases, err := os.ReadFile(filepath.Join("packs", "default", "default_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range policy.HazardCodes() {
		r, ok := byName[code]
		if !ok || !strings.Contains(r.When, `hazard("`+code+`")`) {
			t.Errorf("hazard %s has no rule of its name", code)
		}
		d, err := s.Decide(t.Context(), &facts.Facts{Hazards: []facts.Hazard{{Code: code, Certainty: facts.Certain}}})
		if err != nil || !slices.Contains(d.RuleNames(), code) {
			t.Errorf("hazard %s: got %v, %v", code, d.RuleNames(), err)
		}
	}
	for name := range byName {
		if name != "secrets.literal" && name != "obfuscation" && !strings.Contains(string(cases), name) {
			t.Errorf("rule %s has no case", name)
		}
	}
}

// The codes are those of the taxonomy, and the one for input that is no command.
func TestHazardCodesAreTheTaxonomy(t *testing.T) {
	text := corpus.File(t, "shell/TAXONOMY.md")
	var want []string
	for _, m := range regexp.MustCompile("(?m)^### `([a-z_.]+)`$").FindAllSubmatch(text, -1) {
		want = append(want, string(m[1]))
	}
	want = append(want, facts.InputUnreadable)
	slices.Sort(want)
	if got := policy.HazardCodes(); !slices.Equal(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
}

// A secret in the input of any tool is refused, and the detector is asked only
// when a rule reads what it finds.
func TestSecretsInAnyTool(t *testing.T) {
	find := func(_ context.Context, s string) ([]facts.SecretMatch, error) {
		if i := strings.Index(s, "tok_123456"); i >= 0 {
			return []facts.SecretMatch{{Kind: "test", Start: i, End: i + 10}}, nil
		}
		return nil, nil
	}
	s := load(t, "", policy.Options{Packs: []string{policy.DefaultPack}})
	if !s.NeedsSecrets() {
		t.Error("the default pack reads no secrets")
	}
	if load(t, folder(t, "a.yaml", "version: 1\npacks: [default]\noverride: {secrets.literal: {enabled: false}}\n"), policy.Options{}).NeedsSecrets() {
		t.Error("secrets are needed though the rule is off")
	}
	dir := folder(t, "x_test.yaml", `version: 1
cases:
  - {name: search, tool: WebSearch, input: {query: "what is tok_123456"}, want: {decision: deny, rule: secrets.literal}}
  - {name: nested, tool: TodoWrite, input: {todos: [{content: "use tok_123456"}]}, want: {decision: deny, rule: secrets.literal}}
  - {name: task, tool: Task, input: {prompt: "tok_123456"}, want: {decision: deny, rule: secrets.literal}}
  - {name: removed, tool: Edit, input: {file_path: a, old_string: tok_123456, new_string: x}, want: none}
`)
	rep, err := policy.Test(t.Context(), dir, s, facts.Options{Secrets: find})
	if err != nil {
		t.Fatal(err)
	}
	if !rep.OK() {
		var b strings.Builder
		_ = rep.WriteText(&b)
		t.Error(b.String())
	}
}
