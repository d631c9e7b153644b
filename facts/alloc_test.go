//go:build !race

package facts_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/shell"
)

// TestAllocations holds what the facts of a plain line cost beyond what shell
// takes for it. The race detector makes sync.Pool drop items at random, so they
// are counted without it.
func TestAllocations(t *testing.T) {
	so := shell.Options{Dialect: shell.Bash, CWD: "/home/dev/repo", Roots: []string{"/home/dev/repo"}, Home: "/home/dev"}
	for _, line := range plainLines {
		ev := shellEvent(t, line)
		whole := testing.AllocsPerRun(200, func() {
			if _, err := facts.Extract(t.Context(), ev, facts.Options{Home: "/home/dev", Dialect: shell.Bash}); err != nil {
				t.Fatal(err)
			}
		})
		alone := testing.AllocsPerRun(200, func() { shell.Analyze(t.Context(), line, so) })
		if whole-alone > 8 {
			t.Errorf("%q takes %v allocations, %v of them in shell; at most 8 more are allowed", line, whole, alone)
		}
	}
}
