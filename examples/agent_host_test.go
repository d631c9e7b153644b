package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The agent host runs its five calls, with and without the user's approval. The
// auditor's lines come before the host's own: a call returns when its observers have
// been told.
func TestAgentHost(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "agent-host.exe")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", exe, "./agent-host")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const same = `  audit: tool.before write_note {"path":"safe/todo.md","text":"buy bread"}
  note: the note is below safe/ now
  audit: tool.after write_note {"path":"safe/todo.md","text":"buy bread"} ok
write_note safe/todo.md: ok "written"
  audit: tool.before read_note {"path":"safe/todo.md"}
  audit: tool.after read_note {"path":"safe/todo.md"} ok
read_note safe/todo.md: ok "buy bread"
  audit: tool.before read_note {"path":"help"}
  audit: tool.after read_note {"path":"help"} ok
read_note help: ok "notes live below safe/"
  audit: tool.before delete_note {"path":"safe/todo.md"}
  audit: tool.after delete_note {"path":"safe/todo.md"} OUTCOME
delete_note safe/todo.md: RESULT
  audit: tool.before write_note {"path":"safe/frozen.md","text":"no"}
  note: the note is below safe/ now
  audit: tool.after write_note {"path":"safe/frozen.md","text":"no"} denied
write_note safe/frozen.md: denied
`
	for answer, result := range map[string][2]string{"yes": {"ok", `ok "deleted"`}, "no": {"denied", "denied"}} {
		t.Run(answer, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), exe, "-approve", answer)
			cmd.Stderr = os.Stderr
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			want := strings.NewReplacer("OUTCOME", result[0], "RESULT", result[1]).Replace(same)
			if string(out) != want {
				t.Errorf("got\n%s\nwant\n%s", out, want)
			}
		})
	}
}
