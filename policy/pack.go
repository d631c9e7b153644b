package policy

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/holdpoint/holdpoint/policy/packs"
)

// DefaultPack is the name of the pack that covers the hazard taxonomy.
const DefaultPack = "default"

// A Pack is a policy that is part of the program.
type Pack struct {
	Name        string     `json:"name"`
	Description string     `json:"description"`
	Rules       []PackRule `json:"rules"`
}

// A PackRule is one rule of a pack, as a listing shows it.
type PackRule struct {
	Name     string   `json:"name"`
	Effect   Effect   `json:"effect"`
	Severity Severity `json:"severity"`
	Reason   string   `json:"reason"`
	Hint     string   `json:"hint,omitempty"`
	Enabled  bool     `json:"enabled"`
}

// Packs lists the packs that are part of the program, sorted by name. They are
// part of the program: a pack that cannot be read is a programmer's mistake and
// panics.
func Packs() []Pack {
	var out []Pack
	for _, name := range packNames() {
		p := Pack{Name: name}
		for _, f := range packFiles(name) {
			if len(f.doc.problems) > 0 {
				panic(f.doc.problems[0])
			}
			if f.description != "" {
				p.Description = strings.TrimSpace(f.description)
			}
			for _, r := range f.rules {
				p.Rules = append(p.Rules, PackRule{
					Name: r.rule.Name, Effect: r.rule.Effect, Severity: r.rule.Severity,
					Reason: r.rule.Reason, Hint: r.rule.Hint, Enabled: r.rule.Enabled,
				})
			}
		}
		out = append(out, p)
	}
	return out
}

// PackFiles returns the files of a pack and the cases beside them, so that a user
// can look at what a pack says or start his own policy from it.
func PackFiles(name string) (fs.FS, error) {
	if !slices.Contains(packNames(), name) {
		return nil, fmt.Errorf("no pack %q, want one of %s", name, strings.Join(packNames(), ", "))
	}
	return fs.Sub(packs.FS, name)
}

func packNames() []string {
	entries, err := packs.FS.ReadDir(".")
	if err != nil {
		panic(err)
	}
	var out []string
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

var packCache sync.Map // name to []*file; the files are never changed

// packFiles reads the files of an embedded pack, once.
func packFiles(name string) []*file {
	if c, ok := packCache.Load(name); ok {
		return c.([]*file)
	}
	entries, err := packs.FS.ReadDir(name)
	if err != nil {
		panic(err)
	}
	var out []*file
	for _, e := range entries {
		if !policyFile(e.Name()) {
			continue
		}
		p := path.Join(name, e.Name())
		data, err := packs.FS.ReadFile(p)
		if err != nil {
			panic(err)
		}
		out = append(out, parseFile(p, layerPack+name, data))
	}
	packCache.Store(name, out)
	return out
}

// policyFile reports whether a file of that name holds rules.
func policyFile(name string) bool {
	base, yaml := strings.CutSuffix(name, ".yaml")
	if !yaml {
		base, yaml = strings.CutSuffix(name, ".yml")
	}
	return yaml && !strings.HasPrefix(name, ".") && !strings.HasSuffix(base, "_test")
}

// testFile reports whether a file of that name holds cases.
func testFile(name string) bool {
	return !strings.HasPrefix(name, ".") && (strings.HasSuffix(name, "_test.yaml") || strings.HasSuffix(name, "_test.yml"))
}
