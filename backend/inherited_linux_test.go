package backend_test

import (
	"context"
	"errors"
	"io"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdpoint/holdpoint/backend"
)

// A process inherits its stdin in a mode in which neither a deadline nor a close
// ends a read. A backend that is told to stop must not wait for its harness.
func TestServeStdioInherited(t *testing.T) {
	var fd [2]int
	if err := unix.Pipe(fd[:]); err != nil {
		t.Fatal(err)
	}
	in, peer := os.NewFile(uintptr(fd[0]), "in"), os.NewFile(uintptr(fd[1]), "peer")
	defer in.Close()
	defer peer.Close() // first, so that the reader ends
	answers, out := io.Pipe()
	stopped := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	s := newServer(t, decide, backend.Options{})
	go func() { done <- s.ServeStdio(ctx, in, out) }()
	if _, err := io.WriteString(peer, request("a", "ls")+"\n"); err != nil {
		t.Fatal(err)
	}
	if _, err := answers.Read(make([]byte, 4096)); err != nil {
		t.Fatal(err)
	}
	// Half a line: once it is taken, the reader is on its way to wait for the rest.
	if _, err := io.WriteString(peer, "{"); err != nil {
		t.Fatal(err)
	}
	for left := 1; left > 0; {
		var err error
		if left, err = unix.IoctlGetInt(fd[0], unix.TIOCINQ); err != nil {
			t.Skipf("cannot see how full a pipe is: %v", err)
		}
		runtime.Gosched()
	}
	for range 1000 {
		runtime.Gosched()
	}
	cancel(stopped)
	if err := <-done; !errors.Is(err, stopped) {
		t.Errorf("got %v, want %v", err, stopped)
	}
}
