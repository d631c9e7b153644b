// Package badtest builds the misbehaving backend and runs it for tests.
package badtest

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
)

// Marker stands in every bad body that the backend sends.
const Marker = "MARKER-5f1d0c-SECRET"

var (
	once sync.Once
	dir  string
	exe  string
	fail error
)

// Main builds the backend, runs the tests of m, removes it, and returns the exit
// code. A package's TestMain calls it.
func Main(m *testing.M) int {
	defer func() {
		if dir != "" {
			_ = os.RemoveAll(dir)
		}
	}()
	return m.Run()
}

// Path returns the path of the backend, built at the first use.
func Path(tb testing.TB) string {
	tb.Helper()
	once.Do(func() {
		if dir, fail = os.MkdirTemp("", "badbackend"); fail != nil { //nolint:usetesting // it outlives the first test
			return
		}
		exe = filepath.Join(dir, "badbackend.exe")
		out, err := exec.CommandContext(tb.Context(), "go", "build", "-o", exe, "github.com/holdpoint/holdpoint/internal/badbackend").CombinedOutput()
		if err != nil {
			fail = fmt.Errorf("%w\n%s", err, out)
		}
	})
	if fail != nil {
		tb.Fatalf("building the bad backend: %v", fail)
	}
	return exe
}

// Stdio returns the transport of a backend that is run with args.
func Stdio(tb testing.TB, lifecycle ahp.Lifecycle, args ...string) *ahp.StdioTransport {
	return &ahp.StdioTransport{Command: Path(tb), Args: args, Lifecycle: lifecycle}
}

// HTTP starts the backend as a server with args and returns its transport. The
// server ends with the test.
func HTTP(tb testing.TB, args ...string) *ahp.HTTPTransport {
	tb.Helper()
	// It ends with its stdin in the cleanup, which runs after the test's context ended.
	ctx, kill := context.WithCancel(context.WithoutCancel(tb.Context()))
	cmd := exec.CommandContext(ctx, Path(tb), append([]string{"-http"}, args...)...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = stdin.Close()
		timer := time.AfterFunc(10*time.Second, kill)
		_ = cmd.Wait()
		timer.Stop()
		kill()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		tb.Fatalf("the bad backend printed no URL: %v", err)
	}
	return &ahp.HTTPTransport{URL: strings.TrimSpace(line)}
}

// Faults lists what the backend can do wrong.
func Faults(tb testing.TB) []string {
	tb.Helper()
	out, err := exec.CommandContext(tb.Context(), Path(tb), "-faults").Output()
	if err != nil {
		tb.Fatal(err)
	}
	return strings.Fields(string(out))
}
