// Package examples_test builds and runs the examples.
package examples_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// The registration starts its backend with go run, which is for people: a backend
// gets an environment of few variables, so a build in it may know neither the
// caches nor the proxy of this test. Here it starts the program that was built.
func TestHostAsksTheBackendOfItsRegistration(t *testing.T) {
	dir := t.TempDir()
	build := exec.CommandContext(t.Context(), "go", "build", "-o", dir+string(filepath.Separator), "./backend", "./host")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	reg, err := os.ReadFile(filepath.Join("host", "hooks.json"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := json.Marshal(filepath.Join(dir, "backend"))
	if err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{`"command": "go"`: `"command": ` + string(program), `"run", "./examples/backend", `: ``} {
		if bytes.Count(reg, []byte(from)) != 1 {
			t.Fatalf("host/hooks.json does not hold %s once", from)
		}
		reg = bytes.Replace(reg, []byte(from), []byte(to), 1)
	}
	hooks := filepath.Join(dir, "hooks.json")
	if err := os.WriteFile(hooks, reg, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ file, want string }{
		{"go.sum", "refused: go.sum is generated: change its source instead.\n"},
		{"README.md", "no control objects to edit README.md\n"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "host"), hooks, "edit", tt.file)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			if string(out) != tt.want {
				t.Errorf("got %q, want %q", out, tt.want)
			}
		})
	}
}
