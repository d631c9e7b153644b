//go:build linux || darwin

package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/internal/corpus"
)

// The client under test: the release build, and one that can be made to panic.
var hookBinary, panicBinary string

func TestMain(m *testing.M) {
	if dir := os.Getenv("HOLDPOINT_TEST_DAEMON"); dir != "" {
		daemonProcess(os.Getenv("HOLDPOINT_TEST_DAEMON_KIND"), dir)
		return
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "hook")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	// Children of other users must be able to start the client.
	if err := os.Chmod(dir, 0o755); err != nil {
		panic(err)
	}
	hookBinary, panicBinary = filepath.Join(dir, "holdpoint-hook"), filepath.Join(dir, "holdpoint-hook-panic")
	for path, tags := range map[string]string{hookBinary: "", panicBinary: "hookpanic"} {
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -X main.release=1.2.3", "-tags="+tags, "-o", path, ".")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			panic(string(out))
		}
	}
	return m.Run()
}

// A place is a state folder with a socket's path in it.
type place struct {
	dir, socket string
}

func newPlace(t *testing.T) place {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "hp") //nolint:usetesting // the path of a socket has little room
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return place{dir, filepath.Join(dir, hookwire.SocketName)}
}

// serve listens at the place's socket and runs handle for each connection until
// the test ends.
func (p place) serve(t *testing.T, handle func(*net.UnixConn)) {
	t.Helper()
	l, err := net.Listen("unix", p.socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p.socket, 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			wg.Go(func() { handle(c.(*net.UnixConn)); c.Close() })
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
}

// read takes a whole request off the connection.
func read(c *net.UnixConn) *hookwire.Request {
	r, err := hookwire.ReadRequest(c, 0)
	if err != nil {
		return nil
	}
	return r
}

// answering serves one answer after a whole request.
func answering(a *hookwire.Answer) func(*net.UnixConn) {
	b, err := hookwire.AppendAnswer(nil, a)
	if err != nil {
		panic(err)
	}
	return func(c *net.UnixConn) {
		if read(c) != nil {
			_, _ = c.Write(b)
		}
	}
}

func statusOnly(s hookwire.Status) func(*net.UnixConn) { return answering(&hookwire.Answer{Status: s}) }

// forever holds the connection until the peer or the test ends it.
func forever(c *net.UnixConn) { _, _ = io.Copy(io.Discard, c) }

// A result is what an agent sees of a hook.
type result struct {
	stdout, stderr string
	code           int
}

// A start is one run of the client.
type start struct {
	binary string
	stdin  io.Reader // nil: closed at once
	stdout *os.File  // nil: collected
	env    []string
	dir    string
	uid    int // 0: the test's own
	args   []string
}

func (s start) run(t *testing.T) result {
	t.Helper()
	// Longer than any timeout that a test gives the client: it must end by itself.
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	if s.binary == "" {
		s.binary = hookBinary
	}
	cmd := exec.CommandContext(ctx, s.binary, s.args...)
	cmd.WaitDelay = time.Minute // what it wrote is copied after its end: that takes a busy machine a while
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir, cmd.Env = s.stdin, &out, &errs, s.dir, s.env
	if text, ok := s.stdin.(*strings.Reader); ok && text.Len() <= pipeHolds {
		cmd.Stdin = filled(t, text)
	}
	if s.stdout != nil {
		cmd.Stdout = s.stdout
	}
	if s.uid != 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(s.uid), Gid: uint32(s.uid)}}
	}
	err := cmd.Run()
	if ctx.Err() != nil {
		t.Fatalf("the client did not end by itself: %v", s.args)
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return result{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// pipeHolds is what fits into a pipe that nobody reads yet.
const pipeHolds = 8 << 10

// filled is a pipe with all of a text in it: a client whose time is short has its
// payload when it starts, however slow we are.
func filled(t *testing.T, text io.Reader) *os.File {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if _, err := io.Copy(w, text); err != nil {
		t.Fatal(err)
	}
	w.Close()
	return r
}

// A mode is where and with which policy the client is started.
type mode struct {
	agent, event, policy string
}

func (m mode) String() string { return m.agent + "/" + m.event + "/" + m.policy }

func modes() []mode {
	var all []mode
	for _, agent := range []string{"claude-code", "codex"} {
		for _, event := range []string{"PreToolUse", "PermissionRequest", "UserPromptSubmit", "Stop", "PostToolUse"} {
			for _, policy := range []string{"fail-closed", "fail-open"} {
				all = append(all, mode{agent, event, policy})
			}
		}
	}
	return all
}

func (m mode) args(p place, timeout string) []string {
	return []string{"--failure-policy", m.policy, "--socket", p.socket, "--timeout", timeout, m.agent, m.event}
}

func (m mode) payload() string {
	return `{"session_id":"s","cwd":"/home/dev/repo","hook_event_name":"` + m.event + `","tool_name":"Bash","tool_input":{"command":"git push --force"},"tool_use_id":"c"}`
}

func (m mode) refusable() bool { return m.event != "Stop" && m.event != "PostToolUse" }

// want is what the agent must see when the client decides alone: a form that its
// recording shows to be honoured, with the client's reason in it.
func (m mode) want(t *testing.T, forced bool, reason string) (result, hookwire.Outcome) {
	t.Helper()
	switch {
	case !m.refusable():
		return result{}, hookwire.OutcomePassed
	case !forced && m.policy == "fail-open":
		return result{}, hookwire.OutcomeOpened
	}
	return recordedRefusal(t, m.agent, m.event, reason), hookwire.OutcomeRefused
}

const (
	textNoAnswer = "A required policy service did not give a usable answer, so this operation was refused."
	textTooLarge = "This operation is too large to be checked, so it was refused. Do it in smaller steps."
	textFault    = "The policy hook failed, so this operation was refused."
)

// recordedRefusal takes the recorded answer of a hook whose refusal was honoured
// and puts another reason into it.
func recordedRefusal(t *testing.T, agent, event, reason string) result {
	t.Helper()
	folder, name := "claude", "deny-robust"
	if agent == "codex" {
		folder = "codex"
	}
	switch event {
	case "PermissionRequest":
		folder, name = "claude", "permreq-deny" // not recorded for codex, whose form is the same (NA-CX-25)
	case "UserPromptSubmit":
		name = "prompt-block"
	}
	var cases []struct {
		Case      string
		ForcePush string `json:"force_push"`
		Answer    struct {
			Stdout, Stderr string
			RC             int
		} `json:"hook_answer"`
	}
	if err := json.Unmarshal(corpus.File(t, "native/"+folder+"/behaviour.json"), &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		if c.Case != name {
			continue
		}
		if c.ForcePush != "did not run" {
			t.Fatalf("%s/%s shows no refusal", folder, name)
		}
		for _, old := range []string{"MOCKGATE: force push to main is not allowed (rule no-force-push)", "MOCKGATE: prompt refused"} {
			c.Answer.Stdout = strings.ReplaceAll(c.Answer.Stdout, old, reason)
			c.Answer.Stderr = strings.ReplaceAll(c.Answer.Stderr, old, reason)
		}
		if !strings.Contains(c.Answer.Stdout, reason) {
			t.Fatalf("%s/%s has no reason", folder, name)
		}
		return result{c.Answer.Stdout, c.Answer.Stderr, c.Answer.RC}
	}
	t.Fatalf("no recording %s/%s", folder, name)
	return result{}
}

func expect(t *testing.T, got, want result) {
	t.Helper()
	if got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// spool reads and removes the spool of a place.
func (p place) spool(t *testing.T) []hookwire.Fallback {
	t.Helper()
	path := hookwire.SpoolPath(p.socket)
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = os.Remove(path)
	}
	if err != nil {
		t.Fatal(err)
	}
	var lines []hookwire.Fallback
	for line := range slices.Chunk(b, hookwire.SpoolLineBytes) {
		f, err := hookwire.ParseSpoolLine(line)
		if err != nil {
			t.Errorf("spool: %q: %v", line, err)
		}
		lines = append(lines, f)
	}
	return lines
}

// expectNote wants exactly one line in the spool that says why and what.
func (p place) expectNote(t *testing.T, m mode, cause hookwire.Cause, outcome hookwire.Outcome) {
	t.Helper()
	lines := p.spool(t)
	if len(lines) != 1 {
		t.Errorf("%d lines in the spool, want 1: %+v", len(lines), lines)
		return
	}
	f := lines[0]
	if f.Agent != m.agent || f.Event != m.event || f.Policy != m.policy || f.Cause != cause || f.Outcome != outcome || f.PID == 0 || f.ParentPID != os.Getpid() || f.Time.IsZero() {
		t.Errorf("spool says %+v, want %s %s %s", f, m, cause, outcome)
	}
}

// expectSilence wants nothing in the spool: the gateway decided.
func (p place) expectSilence(t *testing.T) {
	t.Helper()
	if lines := p.spool(t); len(lines) != 0 {
		t.Errorf("the spool says %+v, want nothing", lines)
	}
}

// needRoot skips a test that acts as several users.
func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("acts as another user, which only root can")
	}
}

const stranger = 54321 // a user id without an entry in the user database

// daemonProcess is a gateway in a process of its own: of another user, or one that
// is killed while it answers.
func daemonProcess(kind, dir string) {
	l, err := net.Listen("unix", filepath.Join(dir, hookwire.SocketName))
	if err != nil {
		panic(err)
	}
	os.Stdout.WriteString("ready\n")
	if kind == "answers" {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if read(c.(*net.UnixConn)) != nil {
				b, _ := hookwire.AppendAnswer(nil, &hookwire.Answer{Status: hookwire.StatusAnswer})
				_, _ = c.Write(b)
			}
			c.Close()
		}
	}
	c, err := l.Accept()
	if err == nil {
		read(c.(*net.UnixConn))
		b, _ := hookwire.AppendAnswer(nil, &hookwire.Answer{Status: hookwire.StatusAnswer, Stdout: []byte(`{"half": "an answer"}`)})
		_, _ = c.Write(b[:len(b)-5])
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

// startDaemon starts daemonProcess as uid in dir and waits until it listens.
func startDaemon(t *testing.T, kind, dir string, uid int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "HOLDPOINT_TEST_DAEMON="+dir, "HOLDPOINT_TEST_DAEMON_KIND="+kind)
	if uid != 0 {
		// The test's own program lies where only its user can read.
		exe := filepath.Join(filepath.Dir(hookBinary), "daemon-"+strconv.Itoa(uid))
		copyFile(t, os.Args[0], exe)
		cmd.Path, cmd.Args = exe, []string{exe}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		cmd.Dir = "/"
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	if _, err := io.ReadFull(out, make([]byte, 6)); err != nil {
		t.Fatalf("the daemon did not start: %v", err)
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, b, 0o755); err != nil {
		t.Fatal(err)
	}
}
