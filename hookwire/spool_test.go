//go:build linux || darwin

package hookwire_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
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
