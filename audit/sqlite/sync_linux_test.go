package sqlite_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// What the system is asked to do between the question and the answer: with
// Always the WAL is flushed, after the last write to it and before the answer;
// with Batch nothing is flushed on that path, except before a checkpoint is
// given out, which is the last step.
func TestSyncBeforeAnswer(t *testing.T) {
	strace, err := exec.LookPath("strace")
	if err != nil {
		if os.Getenv("HOLDPOINT_REQUIRE_CORPUS") == "1" {
			t.Fatalf("%v (HOLDPOINT_REQUIRE_CORPUS=1)", err)
		}
		t.Skip(err)
	}
	for _, role := range []string{"always", "batch"} {
		t.Run(role, func(t *testing.T) {
			trace := filepath.Join(t.TempDir(), "trace")
			c := startChild(t, role, stateDir(t), strace, "-f", "-y", "-qq", "-o", trace,
				"-e", "trace=write,pwrite64,fsync,fdatasync")
			c.stdin.Close()
			out := make([]byte, 0)
			buf := make([]byte, 4096)
			for {
				n, err := c.stdout.Read(buf)
				out = append(out, buf[:n]...)
				if err != nil {
					break
				}
			}
			if err := c.cmd.Wait(); err != nil {
				t.Fatalf("%v\n%s", err, c.stderr)
			}
			if got := strings.Count(string(out), "answer "); got != steps+1 {
				t.Fatalf("%d answers", got)
			}
			text, err := os.ReadFile(trace)
			if err != nil {
				t.Fatal(err)
			}
			flushed := answersAfterSync(t, string(text))
			durable := 0
			for _, ok := range flushed[:steps] {
				if ok {
					durable++
				}
			}
			t.Logf("%d of %d answers came after a flush of their write", durable, steps)
			if role == "always" && durable != steps {
				t.Errorf("%d answers of %d were durable", durable, steps)
			}
			if role == "batch" && durable > steps/2 {
				t.Errorf("%d answers of %d waited for a flush", durable, steps)
			}
			if !flushed[steps] {
				t.Error("a checkpoint was given out before its entries were flushed")
			}
		})
	}
}

var (
	traceLine  = regexp.MustCompile(`^(\d+) +(.*)$`)
	unfinished = regexp.MustCompile(` *<unfinished \.\.\.>$`)
	resumed    = regexp.MustCompile(`^<\.\.\. \w+ resumed>`)
)

// answersAfterSync reads a trace and says of each answer whether the WAL was
// written and then flushed, all since the question.
func answersAfterSync(t *testing.T, trace string) (answers []bool) {
	t.Helper()
	begun := map[string]string{} // by thread: a call that has not returned
	wrote, flushed := false, false
	for line := range strings.Lines(trace) {
		m := traceLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		thread, call := m[1], m[2]
		starts, ends := true, true
		if loc := unfinished.FindStringIndex(call); loc != nil {
			begun[thread] = call[:loc[0]]
			call, ends = call[:loc[0]], false
		} else if loc := resumed.FindStringIndex(call); loc != nil {
			call, starts = begun[thread]+call[loc[1]:], false
		}
		wal := strings.Contains(call, "-wal>")
		switch {
		case strings.Contains(call, `"ask `) && ends:
			wrote, flushed = false, false
		case strings.HasPrefix(call, "pwrite64(") && wal:
			wrote, flushed = true, false
		case strings.HasPrefix(call, "f") && wal && ends && strings.HasSuffix(call, "= 0"):
			flushed = wrote
		case strings.Contains(call, `"answer `) && starts:
			answers = append(answers, flushed)
		}
	}
	if len(answers) != steps+1 {
		t.Fatalf("the trace shows %d answers, want %d", len(answers), steps+1)
	}
	return answers
}
