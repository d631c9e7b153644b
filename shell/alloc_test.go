//go:build !race

package shell_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/shell"
)

// TestAllocations holds what a plain line costs in memory: the syntax tree, and
// the result. The race detector makes sync.Pool drop items at random, so they are
// counted without it.
func TestAllocations(t *testing.T) {
	for text, most := range map[string]float64{
		"ls -la": 10, "git status --short": 11, "go test ./...": 13, "cat internal/parser/recover.go": 14, "rg -n 'func Parse' --type go": 16,
		"git diff HEAD~1 -- internal/parser": 16, "npm run build": 15, "mkdir -p build/out": 15, "git commit -m 'parser: recover'": 13,
		"cd web && npm run build": 26, "grep -rn foo src | head -20": 29,
	} {
		o := options()
		got := testing.AllocsPerRun(200, func() { shell.Analyze(t.Context(), text, o) })
		if got > most {
			t.Errorf("%q takes %v allocations, at most %v are allowed", text, got, most)
		}
	}
}
