package backend_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/backend"
)

// serve runs all of in through a server and returns the described answers, sorted.
func serve(t *testing.T, s *backend.Server, in string) []string {
	t.Helper()
	var out bytes.Buffer
	if err := s.ServeStdio(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	if text == "" {
		return nil
	}
	if !strings.HasSuffix(text, "\n") {
		t.Errorf("the last line has no end: %q", text)
	}
	var got []string
	for line := range strings.Lines(text) {
		got = append(got, describe(t, []byte(line)))
	}
	slices.Sort(got)
	return got
}

func TestServeStdio(t *testing.T) {
	long := strings.Repeat("x", 3000)
	tests := []struct {
		id, name, in, want string
	}{
		{"AHP-STDIO-001", "messages", request("a", "ls") + "\n" + request("b", "deny") + "\r\n" + observation("c", "ls") + "\n", "Not on a Friday.,allow"},
		{"V-IO-1", "a pretty message", strings.ReplaceAll(request("a", "ls"), `,"method"`, ",\n\"method\"") + "\n", "-32700,-32700"},
		{"V-IO-10", "one message, then EOF", request("a", "deny") + "\n", "Not on a Friday."},
		{"V-AMB-9", "one message without an end", request("a", "deny"), "Not on a Friday."},
		{"V-AMB-9", "a later one is cut off", request("a", "ls") + "\n" + request("b", "deny"), "allow"},
		{"V-AMB-10", "white space", "\n  \r\n" + request("a", "ls") + " \t\r\n\n", "allow"},
		{"V-AMB-10", "white space of other grammars", "\f\n\u00a0\n", "-32700,-32700"},
		{"V-ENV-4", "notifications only", observation("a", "ls") + "\n" + observation("b", "deny") + "\n", ""},
		{"V-ERR-3", "nonsense between", "\xff\n[]\n" + request("a", "ls") + "\n", "-32600,-32700,allow"},
		{"V-SEC-1", "over the limit, and on", request("a", long) + "\n" + request("b", "deny") + "\n", "-32600,Not on a Friday."},
		{"V-SEC-1", "an observation over the limit", observation("a", long) + "\n" + request("b", "deny") + "\n", "Not on a Friday."},
		{"V-SEC-1", "over the limit without end", request("a", strings.Repeat("x", 200000)), "-32600"},
		{"V-SEC-1", "nothing", "", ""},
	}
	for i, tt := range tests {
		if i > 0 && tests[i-1].id == tt.id {
			continue
		}
		t.Run(tt.id, func(t *testing.T) {
			for _, c := range tests {
				if c.id != tt.id {
					continue
				}
				s := newServer(t, decide, backend.Options{Limits: wire01.Limits{MaxBytes: 2000}})
				if got := strings.Join(serve(t, s, c.in), ","); got != c.want {
					t.Errorf("%s: got %s, want %s", c.name, got, c.want)
				}
			}
		})
	}
}

func TestOversizedRequestKeepsItsID(t *testing.T) {
	s := newServer(t, decide, backend.Options{Limits: wire01.Limits{MaxBytes: 500}})
	var out bytes.Buffer
	if err := s.ServeStdio(t.Context(), strings.NewReader(request("big-1", strings.Repeat("x", 1000))+"\n"), &out); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.String(), `{"jsonrpc":"2.0","id":"big-1","error":{"code":-32600,`) {
		t.Errorf("%s", out.String())
	}
}

// TestSlowRequestBlocksNoOther sends a second request while the first is under way.
func TestSlowRequestBlocksNoOther(t *testing.T) {
	release := make(chan struct{})
	s := newServer(t, func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
		if r.Event.ID == "slow" {
			<-release
		}
		return nil, nil
	}, backend.Options{})
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(t.Context(), inR, outW) }()
	lines := bufio.NewReader(outR)
	send := func(s string) {
		if _, err := io.WriteString(inW, s+"\n"); err != nil {
			t.Error(err)
		}
	}
	answerTo := func(id string) {
		t.Helper()
		line, err := lines.ReadString('\n')
		if err != nil || !strings.Contains(line, `"id":"`+id+`"`) {
			t.Errorf("got %q, %v; want the answer to %s", line, err, id)
		}
	}
	send(request("slow", "ls"))
	for _, id := range []string{"a", "b", "c"} {
		send(request(id, "ls"))
		answerTo(id)
	}
	close(release)
	answerTo("slow")
	if err := inW.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestServeStdioEndsWithItsContext(t *testing.T) {
	for name, open := range map[string]func() (io.Reader, io.Closer){
		"a pipe in memory": func() (io.Reader, io.Closer) { r, w := io.Pipe(); return r, w },
		"a real pipe": func() (io.Reader, io.Closer) {
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			return r, w
		},
	} {
		t.Run(name, func(t *testing.T) {
			in, w := open()
			defer func() { _ = w.Close() }()
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("enough")
			cancel(why)
			s := newServer(t, decide, backend.Options{})
			if err := s.ServeStdio(ctx, in, io.Discard); !errors.Is(err, why) {
				t.Errorf("got %v", err)
			}
			if c, ok := in.(io.Closer); ok {
				_ = c.Close()
			}
		})
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestServeStdioEndsWhenNobodyReads(t *testing.T) {
	in, w := io.Pipe()
	s := newServer(t, decide, backend.Options{})
	done := make(chan error, 1)
	go func() { done <- s.ServeStdio(t.Context(), in, brokenWriter{}) }()
	if _, err := io.WriteString(w, request("a", "ls")+"\n"); err != nil {
		t.Fatal(err)
	}
	if err := <-done; !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}

// run starts this test program as a backend and returns its stdout and stderr.
func run(t *testing.T, mode, in string) (stdout, stderr string, code int) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childEnv+"="+mode)
	cmd.Stdin = strings.NewReader(in)
	var out, diag bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &diag
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return out.String(), diag.String(), cmd.ProcessState.ExitCode()
}

func TestStdioMain(t *testing.T) {
	t.Run("V-IO-2", func(t *testing.T) {
		stdout, stderr, code := run(t, "noisy", request("a", "deny")+"\n"+observation("b", "ls")+"\n"+request("c", "ls")+"\n")
		if code != 0 {
			t.Errorf("exit %d: %s", code, stderr)
		}
		var got []string
		for line := range strings.Lines(stdout) {
			got = append(got, describe(t, []byte(line)))
		}
		slices.Sort(got)
		if strings.Join(got, ",") != "Not on a Friday.,allow" {
			t.Errorf("stdout: %s", stdout)
		}
		for _, want := range []string{"a print of the handler", "a write to descriptor 1", "noise of a child", "observed", "a print after the end"} {
			if !strings.Contains(stderr, want) {
				t.Errorf("%q is not on stderr: %s", want, stderr)
			}
		}
	})
	t.Run("V-IO-11", func(t *testing.T) {
		if stdout, _, code := run(t, "quiet", request("a", "deny")); code != 0 || describe(t, []byte(stdout)) != "Not on a Friday." {
			t.Errorf("exit %d: %s", code, stdout)
		}
		if stdout, _, code := run(t, "canceled", ""); code != 1 || stdout != "" {
			t.Errorf("a server that was stopped: exit %d: %s", code, stdout)
		}
	})
}

// TestStdioMainEndsOnASignal holds stdin open: a read under way must not keep the
// process.
func TestStdioMainEndsOnASignal(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals between processes")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), childEnv+"=signal")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(in, request("a", "deny")+"\n"); err != nil {
		t.Error(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || describe(t, []byte(line)) != "Not on a Friday." {
		t.Errorf("%q, %v", line, err)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("got %v", err)
	}
}
