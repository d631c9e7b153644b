package secret

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
)

// The keywords are read from the text of the rules without a parser; the parsed
// rules say whether that found all of them.
func TestKeywordsAreThoseOfTheRules(t *testing.T) {
	f, err := newPrefilter(config.DefaultConfig, true)
	if err != nil {
		t.Fatal(err)
	}
	det, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		t.Fatal(err)
	}
	rules := 0
	for id, r := range det.Config.Rules {
		rules++
		if len(r.Keywords) == 0 && r.Regex != nil && r.Path == nil {
			t.Errorf("rule %s has no keyword: the filter would hide it", id)
		}
		for _, k := range r.Keywords {
			if !f.hit("-- " + k + " --") {
				t.Errorf("keyword %q of rule %s is not in the filter", k, id)
			}
		}
	}
	if rules < 200 {
		t.Errorf("only %d rules", rules)
	}
	if f.hit("-- zzz 123 --") {
		t.Error("the filter hits anything")
	}
}

// The automaton finds what a plain search finds.
func TestPrefilter(t *testing.T) {
	words := []string{"he", "she", "hers", "his", "a3-", "x_y", "ababac"}
	p, err := buildPrefilter(words)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		b := make([]byte, rng.IntN(12))
		for i := range b {
			b[i] = "heHsriabAc3-x_y."[rng.IntN(16)]
		}
		want := slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(string(b)), w) })
		if got := p.hit(string(b)); got != want {
			t.Fatalf("%q: got %v, want %v", b, got, want)
		}
	}
}
