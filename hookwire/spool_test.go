//go:build linux || darwin

package hookwire_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/hookwire"
)

func fallback(pid int) *hookwire.Fallback {
	return &hookwire.Fallback{
		Time: time.Date(2026, 11, 30, 5, 6, 7, 89000, time.UTC), Agent: "claude-code", Event: "PreToolUse",
		Cause: hookwire.CauseSocketMissing, Policy: "fail-closed", Outcome: hookwire.OutcomeRefused,
		PID: pid, ParentPID: 2, PayloadBytes: 1234, Elapsed: 1500 * time.Microsecond,
	}
}

func TestSpoolLine(t *testing.T) {
	want := fallback(17)
	line := hookwire.AppendSpoolLine(nil, want)
	if len(line) != 256 || line[255] != '\n' {
		t.Fatalf("line of %d bytes: %q", len(line), line)
	}
	got, err := hookwire.ParseSpoolLine(line)
	if err != nil || got != *want {
		t.Errorf("got %+v, %v, want %+v", got, err, *want)
	}
	hostile := hookwire.AppendSpoolLine(nil, &hookwire.Fallback{Agent: "a b\nc", Event: strings.Repeat("é", 200)})
	got, err = hookwire.ParseSpoolLine(hostile)
	if err != nil || got.Agent != "a?b?c" || got.Event != strings.Repeat("?", 40) || got.Policy != "" {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, bad := range []string{"", "\n", strings.Repeat(" ", 255), strings.Repeat("x", 255), string(line[:200]), string(line) + "\n"} {
		if _, err := hookwire.ParseSpoolLine([]byte(bad)); !errors.Is(err, hookwire.ErrSpoolLine) {
			t.Errorf("%.20q: got %v, want ErrSpoolLine", bad, err)
		}
	}
}

func TestReadSpoolSurvivesCutLines(t *testing.T) {
	good := hookwire.AppendSpoolLine(nil, fallback(1))
	next := hookwire.AppendSpoolLine(nil, fallback(2))
	in := append([]byte{}, good...)
	in = append(in, good[:100]...) // the disk was full
	in = append(in, next...)
	in = append(in, bytes.Repeat([]byte("x"), 5000)...)
	in = append(in, '\n')
	in = append(in, good...)
	in = append(in, good[:9]...)
	var pids []int
	bad, err := hookwire.ReadSpool(bytes.NewReader(in), func(f hookwire.Fallback) error {
		pids = append(pids, f.PID)
		return nil
	})
	if err != nil || bad != 3 || len(pids) != 3 || pids[0] != 1 || pids[1] != 2 || pids[2] != 1 {
		t.Errorf("bad %d, pids %v, err %v", bad, pids, err)
	}
}

func TestDrainSpoolLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), hookwire.SpoolName)
	const writers, each = 8, 200
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := hookwire.AppendSpool(path, fallback(w*each+i)); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	seen := map[int]int{}
	take := func(f hookwire.Fallback) error { seen[f.PID]++; return nil }
	for running := true; running; {
		select {
		case <-done:
			running = false
		default:
		}
		if bad, err := hookwire.DrainSpool(path, take); err != nil || bad != 0 {
			t.Fatalf("bad %d, err %v", bad, err)
		}
	}
	for pid := range writers * each {
		if seen[pid] != 1 {
			t.Fatalf("line %d was seen %d times", pid, seen[pid])
		}
	}
}

func TestDrainSpoolAgainAfterAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), hookwire.SpoolName)
	full := errors.New("full")
	for pid := range 3 {
		if err := hookwire.AppendSpool(path, fallback(pid)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := hookwire.DrainSpool(path, func(hookwire.Fallback) error { return full }); !errors.Is(err, full) {
		t.Fatalf("got %v", err)
	}
	if err := hookwire.AppendSpool(path, fallback(3)); err != nil {
		t.Fatal(err)
	}
	var pids []int
	if _, err := hookwire.DrainSpool(path, func(f hookwire.Fallback) error { pids = append(pids, f.PID); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(pids) != 4 || pids[3] != 3 {
		t.Errorf("got %v, want 0 to 3", pids)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestAppendSpoolRefusesWhatIsNotItsFile(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.WriteFile(target, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		make func(path string) error
	}{
		{"symlink", func(p string) error { return os.Symlink(target, p) }},
		{"fifo", func(p string) error { return syscall.Mkfifo(p, 0o600) }},
		{"open to others", func(p string) error { return errors.Join(os.WriteFile(p, nil, 0o600), os.Chmod(p, 0o644)) }},
		{"folder", func(p string) error { return os.Mkdir(p, 0o700) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(dir, strings.ReplaceAll(tt.name, " ", "-"))
			if err := tt.make(path); err != nil {
				t.Fatal(err)
			}
			if err := hookwire.AppendSpool(path, fallback(1)); err == nil {
				t.Error("was written to")
			}
		})
	}
	if b, _ := os.ReadFile(target); len(b) != 0 {
		t.Error("the symlink was followed")
	}
}
