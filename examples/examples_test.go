// Package examples_test builds and runs the examples as their comments say.
package examples_test

import (
	"os"
	"os/exec"
	"testing"
)

func TestHostAsksTheBackendOfItsRegistration(t *testing.T) {
	tests := []struct{ file, want string }{
		{"go.sum", "refused: go.sum is generated: change its source instead.\n"},
		{"README.md", "no control objects to edit README.md\n"},
	}
	for _, tt := range tests {
		t.Run(tt.file, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "go", "run", "./examples/host", "examples/host/hooks.json", "edit", tt.file)
			cmd.Dir = ".."
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
