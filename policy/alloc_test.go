//go:build !race

package policy_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
)

// TestAllocations holds what the rules cost beside the facts. The race detector makes
// sync.Pool drop items at random, so they are counted without it.
func TestAllocations(t *testing.T) {
	many := load(t, folder(t, "a.yaml", manyRules(1000)), policy.Options{Packs: []string{policy.DefaultPack}})
	pack := load(t, "", policy.Options{Packs: []string{policy.DefaultPack}})
	for name, tt := range map[string]struct {
		set   *policy.Set
		event string
		most  float64
	}{
		"nothing against it":             {pack, `{"command":"go test ./..."}`, 0},
		"nothing against it, 1000 rules": {many, `{"command":"go test ./..."}`, 0},
		"a refusal":                      {pack, `{"command":"git push --force origin main"}`, 2},
	} {
		f, err := facts.Extract(t.Context(), toolEvent("Bash", tt.event), facts.Options{Home: "/home/dev"})
		if err != nil {
			t.Fatal(err)
		}
		got := testing.AllocsPerRun(200, func() {
			if _, err := tt.set.Decide(t.Context(), f); err != nil {
				t.Fatal(err)
			}
		})
		if got > tt.most {
			t.Errorf("%s: %v allocations, at most %v are expected", name, got, tt.most)
		}
	}
}
