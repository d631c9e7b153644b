package shell_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/shell"
)

// A short program that names a long text very often is not carried out to its end.
func TestGrowingText(t *testing.T) {
	long := strings.Repeat("a", 10<<10)
	for name, text := range map[string]string{
		"awk":      "echo " + long + " | awk '{system($0" + strings.Repeat(" $0", 1280) + ")}'",
		"python":   "python3 -c 'x=\"" + long + "\"\nprint(" + strings.Repeat("x,", 2560) + "x)' | sh",
		"f-string": "python3 -c 'x=\"" + long + "\"\nimport os\nos.system(f\"" + strings.Repeat("{x}", 20<<10) + "\")'",
		"template": "node -e 'x=\"" + long + "\"; eval(`" + strings.Repeat("${x}", 20<<10) + "`)'",
		"perl":     "perl -e '$x=\"" + long + "\"; system(\"" + strings.Repeat("$x", 20<<10) + "\")'",
		"ruby":     "ruby -e 'x=\"" + long + "\"; system(\"" + strings.Repeat("#{x}", 20<<10) + "\")'",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := shell.Analyze(t.Context(), text, shell.Options{Dialect: shell.Bash})
		runtime.ReadMemStats(&after)
		if len(r.Breaches) == 0 {
			t.Errorf("%s: no breach", name)
		}
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 512 {
			t.Errorf("%s: took %d MiB", name, n)
		}
	}
}
