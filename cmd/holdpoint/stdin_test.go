package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A signal ends a command that waits for input, although nobody types.
func TestInterruptedInput(t *testing.T) {
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"check", "--event", "-"}, exitFailed, "holdpoint: interrupted\n"},
		{[]string{"check", "--agent", "codex"}, exitFailed, "holdpoint: interrupted\n"},
		{[]string{"check", "--batch", "-"}, exitFailed, "holdpoint: batch: interrupted\n"},
		{[]string{"policy", "explain", "--event", "-"}, exitFailed, "holdpoint: interrupted\n"},
		{[]string{"hook", "--socket", filepath.Join(t.TempDir(), "s", "hook.sock"), "codex", "PreToolUse"}, 2, "the payload could not be read"},
	} {
		in, typist := io.Pipe() // never written to
		ctx, cancel := context.WithCancel(t.Context())
		reads := make(chan struct{}, 1)
		done := make(chan int)
		var stdout, stderr bytes.Buffer
		go func() { done <- run(ctx, tt.args, notify{in, reads}, &stdout, &stderr) }()
		<-reads
		cancel()
		if code := <-done; code != tt.code || !strings.Contains(stderr.String(), tt.says) || strings.Contains(stderr.String(), context.Canceled.Error()) {
			t.Errorf("%v: exit %d, %q", tt.args, code, stderr.String())
		}
		if err := typist.Close(); err != nil { // ends the reader that is left
			t.Error(err)
		}
	}
}

// notify says that it is read from.
type notify struct {
	io.Reader
	reads chan<- struct{}
}

func (n notify) Read(b []byte) (int, error) {
	select {
	case n.reads <- struct{}{}:
	default:
	}
	return n.Reader.Read(b)
}

// Whoever has closed the other end of stdout is told nothing; another fault is said.
func TestNobodyReads(t *testing.T) {
	for _, args := range [][]string{{"version"}, {"policy", "packs"}, {"check", "--json", "--", "ls"}, {"conform", "host"}, {"lint", "."}} {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		cmd := exec.Command(filepath.Join(programs, "holdpoint"), args...)
		cmd.Stdout, cmd.Stderr = w, &stderr
		if err := cmd.Run(); err == nil {
			t.Errorf("%v: written to nobody", args)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
		if code := cmd.ProcessState.ExitCode(); code != exitFailed || stderr.Len() > 0 {
			t.Errorf("%v: exit %d, %q", args, code, stderr.String())
		}
	}
}
