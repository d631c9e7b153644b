package examples_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheBackendSpeaksBothRevisions starts the example for each message, as a harness
// does that wants one answer of a process.
func TestTheBackendSpeaksBothRevisions(t *testing.T) {
	program := filepath.Join(t.TempDir(), "backend")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./backend").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const (
		head   = `{"jsonrpc":"2.0","id":"e","method":"hooks/intercept","params":{"protocolVersion":"`
		common = `,"event":{"id":"e","source":"urn:example:h","type":"tool.before","time":"2027-02-03T04:05:06Z"`
		old    = head + `0.1"` + common + `,"session":{"id":"s"},"tool":{"callId":"c","name":"edit","kind":"KIND","input":{"path":"FILE"}}},"capabilities":{"effects":["deny"]}}}`
		draft  = head + `draft"` + common + `,"call":{"id":"c"},"path":"native","tool":{"name":"edit","origin":"native","kind":"KIND","input":{"path":"FILE"}}},"capabilities":{"effects":[EFFECTS]}}}`
		denied = `[{"type":"deny","reason":"go.sum is generated: change its source instead.","code":"com.example.frozen"}]`
		asked  = `[{"type":"ask"},{"type":"message","text":"go.sum is generated: what is changed there will be lost."}]`
	)
	tests := []struct{ name, frame, kind, file, effects, want string }{
		{"0.1, a generated file", old, "file_edit", "go.sum", "", denied},
		{"0.1, another file", old, "file_edit", "README.md", "", "[]"},
		{"draft, somebody to ask", draft, "file_edit", "go.sum", `"deny","ask","message"`, asked},
		{"draft, nobody to ask", draft, "vendor.edit", "go.sum", `"deny"`, denied},
		{"draft, a read", draft, "file_read", "go.sum", `"deny"`, "[]"},
		{"draft, not even a refusal", draft, "file_edit", "go.sum", ``, `"code":-32004`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), program, "go.sum")
			cmd.Stdin = strings.NewReader(strings.NewReplacer("KIND", tt.kind, "FILE", tt.file, "EFFECTS", tt.effects).Replace(tt.frame) + "\n")
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil || bytes.Count(out, []byte("\n")) != 1 || !bytes.Contains(out, []byte(tt.want)) {
				t.Errorf("got %s, %v; want %s", out, err, tt.want)
			}
		})
	}
}
