package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The guard that users are told to paste is the one that the demo runs, wherever it
// is written.
func TestTheGuardIsOneText(t *testing.T) {
	root := filepath.Join("..", "..")
	files := []string{filepath.Join(root, "README.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && filepath.Ext(path) == ".md" {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"claude-code PreToolUse" + guard("'") + `",`,   // in JSON
		"codex PreToolUse" + guard(`\"`) + `'",`,       // in JSON, in a shell of its own
		"codex PreToolUse" + guard(`"`) + `' '` + "''", // in TOML, likewise
	}
	counts := make([]int, len(want))
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for n, line := range strings.Split(string(b), "\n") {
			if !strings.Contains(line, "holdpoint-hook ") || !strings.Contains(line, "||") {
				continue
			}
			found := false
			for i, w := range want {
				if strings.HasSuffix(line, w) {
					found = true
					counts[i]++
				}
			}
			if !found {
				t.Errorf("%s:%d: another guard than that of demo.go:\n%s", name, n+1, line)
			}
		}
	}
	for i, n := range counts {
		if n == 0 {
			t.Errorf("no document has %s", want[i])
		}
	}
	if settings := claudeSettings("holdpoint-hook"); !strings.Contains(settings, want[0]) {
		t.Errorf("the demo's settings are not guarded:\n%s", settings)
	}
}
