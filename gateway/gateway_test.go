package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/internal/leak"
	"github.com/holdpoint/holdpoint/settle"
)

// client is the real hook client, built once.
var client string

func TestMain(m *testing.M) {
	if os.Getenv("HOLDPOINT_TEST_DIAL") != "" { // we are the other user
		dialAsAnotherUser()
		return
	}
	dir, err := os.MkdirTemp("", "hp-client-")
	if err != nil {
		panic(err)
	}
	client = filepath.Join(dir, "holdpoint-hook")
	build := exec.Command("go", "build", "-o", client, "github.com/holdpoint/holdpoint/cmd/holdpoint-hook")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic(string(out))
	}
	code := m.Run()
	os.RemoveAll(dir)
	if code == 0 {
		if err := leak.Find(goleak.IgnoreTopFunction("os/exec.(*Cmd).Start.func2")); err != nil {
			os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}

// A running is a gateway under test.
type running struct {
	*gateway.Gateway
	t      *testing.T
	opts   gateway.Options
	log    *logBuffer
	api    *http.Client
	stop   context.CancelFunc
	result chan error
}

// A logBuffer keeps what the gateway logs.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// shortDir is a private folder with a path short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hp-") //nolint:usetesting // its path is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func memoryLog(t *testing.T) audit.Log {
	t.Helper()
	log, err := audit.NewMemory(0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return log
}

// options are complete and may be edited.
func options(t *testing.T) gateway.Options {
	t.Helper()
	return gateway.Options{
		Socket:         filepath.Join(shortDir(t), "hook.sock"),
		Policy:         gateway.PolicySource{Home: "/home/dev"},
		PolicyTimeout:  5 * time.Second,
		FailurePolicy:  ahp.FailClosed,
		Audit:          memoryLog(t),
		OnAuditFailure: harness.RecordDeny,
		Oversize:       gateway.OversizeRefuse,
		Drain:          10 * time.Second,
	}
}

func start(t *testing.T, o gateway.Options) *running {
	t.Helper()
	r := &running{t: t, log: &logBuffer{}, result: make(chan error, 1)}
	o.Logger = slog.New(slog.NewJSONHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.opts = o
	g, err := gateway.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	r.Gateway = g
	ctx, cancel := context.WithCancel(context.Background())
	r.stop = cancel
	go func() { r.result <- g.Run(ctx) }()
	t.Cleanup(func() { r.end() })
	r.until("ready", func() bool { return r.Ready().Ready || r.Ready().AuditBroken })
	return r
}

// end stops the gateway and waits for it.
func (r *running) end() {
	r.t.Helper()
	if r.stop == nil {
		return
	}
	r.stop()
	r.stop = nil
	select {
	case err := <-r.result:
		if err != nil {
			r.t.Errorf("Run: %v", err)
		}
	case <-time.After(time.Minute):
		r.t.Fatal("Run did not return")
	}
}

// until waits for a condition that another goroutine brings about.
func (r *running) until(what string, ok func() bool) {
	r.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !ok() {
		if time.Now().After(deadline) {
			r.t.Fatalf("never: %s\n%s", what, r.log)
		}
		time.Sleep(5 * time.Millisecond) // a poll, not a synchronisation
	}
}

// records returns all entries of the kinds, oldest first.
func (r *running) records(kinds ...audit.Kind) []audit.Record {
	r.t.Helper()
	var out []audit.Record
	for rec, err := range r.opts.Audit.Query(context.Background(), audit.Filter{Kinds: kinds, Limit: audit.MaxLimit}) {
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, rec)
	}
	return out
}

func (r *running) settlements() []settle.Record {
	r.t.Helper()
	var out []settle.Record
	for _, rec := range r.records(audit.Settlement) {
		s, err := settle.ParseRecord(rec.Data)
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, s)
	}
	return out
}

// unixClient speaks HTTP to the AHP socket.
func (r *running) unixClient() *http.Client {
	if r.api != nil {
		return r.api
	}
	sock := filepath.Join(filepath.Dir(r.opts.Socket), "ahp.sock")
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", sock)
	}}
	r.t.Cleanup(tr.CloseIdleConnections)
	r.api = &http.Client{Transport: tr, Timeout: 30 * time.Second}
	return r.api
}

func (r *running) get(path string) (int, string) {
	r.t.Helper()
	resp, err := r.unixClient().Get("http://holdpoint" + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// metric returns the lines of /metrics that begin with name.
func (r *running) metric(name string) string {
	r.t.Helper()
	_, body := r.get("/metrics")
	var lines []string
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, name) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n")
}

// A told is what an agent got from its hook.
type told struct {
	stdout, stderr string
	exit           int
}

func (o told) denied() bool {
	return o.exit == 2 && strings.Contains(o.stdout, `"permissionDecision": "deny"`)
}

func (o told) empty() bool { return o == told{} }

// hook runs the real hook client, fail-closed, on one payload.
func hook(t *testing.T, socket, agent, event string, payload []byte) told {
	t.Helper()
	return hookWith(t, "fail-closed", socket, agent, event, payload)
}

func hookWith(t *testing.T, policy, socket, agent, event string, payload []byte) told {
	t.Helper()
	args := []string{"--failure-policy", policy, "--socket", socket, "--timeout", "20s"}
	if agent != "" {
		args = append(args, agent)
	}
	if event != "" {
		args = append(args, event)
	}
	cmd := exec.Command(client, args...)
	cmd.Stdin = bytes.NewReader(payload)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	cmd.Dir = "/"
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return told{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// bash is the payload of a shell command of Claude Code.
func bash(command string) []byte {
	b, err := json.Marshal(map[string]any{
		"session_id": "s-1", "cwd": "/home/dev/repo", "hook_event_name": "PreToolUse", "tool_name": "Bash",
		"tool_input": map[string]any{"command": command}, "tool_use_id": "toolu_1", "transcript_path": "/x",
	})
	if err != nil {
		panic(err)
	}
	return b
}

// ask sends one frame without the client and returns the answer.
func ask(t *testing.T, socket, agent, event string, payload []byte) (*hookwire.Answer, error) {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	frame, err := hookwire.AppendRequest(nil, &hookwire.Request{
		Header:  hookwire.Header{Client: "test", Agent: agent, Event: event, BudgetMs: 20_000, CWD: "/home/dev/repo"},
		Payload: payload,
	})
	if err != nil {
		return nil, err
	}
	if _, err := c.Write(frame); err != nil {
		return nil, err
	}
	return hookwire.ReadAnswer(c)
}

// dialAsAnotherUser is the whole of the test's program when it runs as somebody else.
func dialAsAnotherUser() {
	socket := os.Getenv("HOLDPOINT_TEST_DIAL")
	c, err := net.Dial("unix", socket)
	if err != nil {
		os.Stdout.WriteString(err.Error())
		return
	}
	defer c.Close()
	frame, _ := hookwire.AppendRequest(nil, &hookwire.Request{Header: hookwire.Header{Agent: hookwire.AgentClaudeCode}, Payload: bash("ls")})
	if strings.HasSuffix(socket, "ahp.sock") {
		frame = []byte("GET /healthz HTTP/1.0\r\nHost: x\r\n\r\n")
	}
	_, _ = c.Write(frame) // may fail: the other side hung up
	n, _ := io.Copy(io.Discard, c)
	os.Stdout.WriteString("connected, " + strconv.FormatInt(n, 10) + " bytes\n")
}
