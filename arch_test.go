package holdpoint_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/holdpoint/holdpoint/"

// floors gives each room its floor. Imports point down only: a package may import
// rooms of lower floors, and of its own floor only what the list beside it names.
var floors = map[string]struct {
	floor int
	same  []string // rooms of the same floor that it may import
}{
	"ahp":                     {0, nil},
	"jcs":                     {0, nil},
	"shell":                   {0, nil},
	"hookwire":                {0, nil},
	"ahp/internal/walk":       {1, nil},
	"ahp/wire01":              {1, []string{"ahp/internal/walk"}},
	"ahp/wiredraft":           {1, []string{"ahp/internal/walk"}},
	"settle":                  {1, []string{"ahp/wiredraft"}},
	"facts":                   {1, nil},
	"facts/secret":            {1, []string{"facts"}},
	"transport":               {1, nil},
	"agenthooks":              {1, nil},
	"agenthooks/loop":         {1, []string{"agenthooks"}},
	"agenthooks/ctk":          {1, []string{"agenthooks", "agenthooks/loop"}},
	"policy":                  {2, []string{"policy/packs"}},
	"policy/cel":              {2, []string{"policy"}},
	"policy/packs":            {2, nil},
	"audit":                   {2, nil},
	"audit/sqlite":            {2, []string{"audit"}},
	"audit/storetest":         {2, []string{"audit"}},
	"harness":                 {2, nil},
	"backend":                 {2, nil},
	"native":                  {2, nil},
	"native/refuse":           {2, nil},
	"native/internal/dialect": {2, []string{"native", "native/refuse"}},
	"native/claude":           {2, []string{"native", "native/refuse", "native/internal/dialect"}},
	"native/codex":            {2, []string{"native", "native/refuse", "native/internal/dialect"}},
	"gateway":                 {3, nil},
	"cmd/holdpoint":           {4, nil},
	"cmd/holdpoint-hook":      {4, nil},
}

// TestImportsPointDown holds the direction of dependency: one way, no cycles
// between rooms, nothing heavy where it does not belong.
func TestImportsPointDown(t *testing.T) {
	out := list(t, "-f", "{{.ImportPath}}: {{join .Imports \" \"}}", "./...")
	seen := 0
	for _, line := range out {
		pkg, imports, _ := strings.Cut(line, ": ")
		pkg = strings.TrimPrefix(pkg, module)
		if strings.HasPrefix(pkg, "internal/") || pkg == "examples" || strings.HasPrefix(pkg, "examples/") || !strings.Contains(line, module) {
			continue
		}
		from, ok := floors[pkg]
		if !ok {
			if !strings.HasPrefix(pkg, "github.com/") {
				t.Errorf("package %s has no floor: give it one in arch_test.go", pkg)
			}
			continue
		}
		seen++
		for imp := range strings.FieldsSeq(imports) {
			imp, ours := strings.CutPrefix(imp, module)
			if !ours || strings.HasPrefix(imp, "internal/") {
				continue
			}
			to, ok := floors[imp]
			if !ok {
				t.Errorf("%s imports %s, which has no floor", pkg, imp)
				continue
			}
			if to.floor > from.floor || to.floor == from.floor && !slices.Contains(from.same, imp) {
				t.Errorf("%s (floor %d) imports %s (floor %d)", pkg, from.floor, imp, to.floor)
			}
		}
	}
	if seen < 10 {
		t.Fatalf("only %d rooms were checked", seen)
	}
}

// TestLightRoomsStayLight keeps engines, databases and servers out of packages
// that library users and the hook client compile.
func TestLightRoomsStayLight(t *testing.T) {
	tests := []struct {
		pkg  string
		deny []string
	}{
		{"ahp", []string{"encoding/json", "net", "os/exec", "github.com/"}},
		{"jcs", []string{"net", "os/exec", "mvdan.cc/"}},
		{"shell", []string{"net/http", "os/exec", "cel.dev/", "modernc.org/"}},
		{"hookwire", []string{"encoding/json", "net/http", "github.com/go-json"}},
		{"facts", []string{"net/http", "os/exec", "cel.dev/", "modernc.org/", module + "facts/secret"}},
		{"settle", []string{"net", "os/exec"}},
		{"agenthooks", []string{"net/http", "os/exec", "cel.dev/", "modernc.org/", module + "harness", module + "ahp"}},
		{"policy", []string{"cel.dev/", "modernc.org/", "net/http"}},
		{"harness", []string{"cel.dev/", "modernc.org/", "mvdan.cc/", "github.com/prometheus/"}},
		{"backend", []string{"cel.dev/", "modernc.org/", "mvdan.cc/", "github.com/prometheus/"}},
		{"audit", []string{"modernc.org/", "net/http"}},
		{"native/refuse", []string{"encoding/json", "net", "github.com/go-json"}},
		{"cmd/holdpoint-hook", []string{"net/http", "encoding/json", "regexp", "cel.dev/", "modernc.org/", "mvdan.cc/", "github.com/spf13", "github.com/go-json", "crypto/tls"}},
	}
	for _, tt := range tests {
		t.Run(tt.pkg, func(t *testing.T) {
			deps := list(t, "-deps", "./"+tt.pkg)
			if len(deps) < 2 {
				t.Fatalf("go list -deps gave %q", deps)
			}
			for _, dep := range deps {
				for _, bad := range tt.deny {
					if dep == bad || strings.HasSuffix(bad, "/") && strings.HasPrefix(dep, bad) || !strings.HasSuffix(bad, "/") && strings.HasPrefix(dep, bad+"/") && strings.Contains(bad, ".") {
						if strings.HasPrefix(dep, strings.TrimSuffix(module, "/")) && strings.HasPrefix("github.com/", bad) {
							continue // our own module is no third party
						}
						t.Errorf("%s depends on %s", tt.pkg, dep)
					}
				}
			}
		})
	}
}

func list(t *testing.T, args ...string) []string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
	cmd.Env = append(os.Environ(), "GOFLAGS=-buildvcs=false")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}
