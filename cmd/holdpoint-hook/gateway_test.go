//go:build linux || darwin

package main_test

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/hookwire"
)

// long is the timeout where the client must not reach it, short where it must.
const (
	long  = "30s"
	short = "700ms"
)

// TestNoAnswer holds what the client does without a usable answer, for every way
// in which there is none.
func TestNoAnswer(t *testing.T) {
	answer, err := hookwire.AppendAnswer(nil, &hookwire.Answer{Status: hookwire.StatusAnswer, Stdout: []byte(strings.Repeat("x", 1000))})
	if err != nil {
		t.Fatal(err)
	}
	patch := func(at int, with ...byte) []byte {
		b := bytes.Clone(answer)
		copy(b[at:], with)
		return b
	}
	// sending reads the request and writes bytes that are not a whole answer.
	sending := func(b []byte) func(*testing.T, place) {
		return func(t *testing.T, p place) {
			p.serve(t, func(c *net.UnixConn) { read(c); _, _ = c.Write(b) })
		}
	}
	tests := []struct {
		name    string
		timeout string
		set     func(*testing.T, place)
		causes  []hookwire.Cause
	}{
		{"down", long, func(*testing.T, place) {}, []hookwire.Cause{hookwire.CauseSocketMissing}},
		{"stale socket", long, func(t *testing.T, p place) {
			l, err := net.Listen("unix", p.socket)
			if err != nil {
				t.Fatal(err)
			}
			l.(*net.UnixListener).SetUnlinkOnClose(false)
			l.Close()
			chmod(t, p.socket, 0o600)
		}, []hookwire.Cause{hookwire.CauseConnectFailed}},
		{"hung before it accepts", short, func(t *testing.T, p place) {
			l, err := net.Listen("unix", p.socket)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.Close() })
			chmod(t, p.socket, 0o600)
		}, []hookwire.Cause{hookwire.CauseDeadline}},
		{"hung after it read", short, func(t *testing.T, p place) { p.serve(t, forever) }, []hookwire.Cause{hookwire.CauseDeadline}},
		{"slow", short, func(t *testing.T, p place) {
			p.serve(t, func(c *net.UnixConn) {
				read(c)
				// The client hangs up at its deadline; only then the answer is sent.
				_, _ = io.Copy(io.Discard, c)
				_, _ = c.Write(answer)
			})
		}, []hookwire.Cause{hookwire.CauseDeadline}},
		{"trickling", short, func(t *testing.T, p place) {
			p.serve(t, func(c *net.UnixConn) {
				read(c)
				tick := time.NewTicker(20 * time.Millisecond)
				defer tick.Stop()
				for i := range answer {
					if _, err := c.Write(answer[i : i+1]); err != nil {
						return
					}
					<-tick.C
				}
			})
		}, []hookwire.Cause{hookwire.CauseDeadline}},
		{"half-open: never answers, never closes", short, func(t *testing.T, p place) {
			ended := make(chan struct{})
			p.serve(t, func(c *net.UnixConn) { read(c); _ = c.CloseRead(); <-ended })
			t.Cleanup(func() { close(ended) })
		}, []hookwire.Cause{hookwire.CauseDeadline}},
		{"half-open: does not read", long, func(t *testing.T, p place) {
			p.serve(t, func(c *net.UnixConn) { _ = c.CloseRead(); _ = c.CloseWrite(); forever(c) })
		}, []hookwire.Cause{hookwire.CauseSendFailed, hookwire.CauseAnswerLost}},
		{"half-open: says it is done", long, func(t *testing.T, p place) {
			p.serve(t, func(c *net.UnixConn) { read(c); _ = c.CloseWrite(); forever(c) })
		}, []hookwire.Cause{hookwire.CauseAnswerLost}},
		{"hangs up at once", long, func(t *testing.T, p place) {
			p.serve(t, func(*net.UnixConn) {})
		}, []hookwire.Cause{hookwire.CauseSendFailed, hookwire.CauseAnswerLost}},
		{"killed in the middle of its answer", long, func(t *testing.T, p place) {
			startDaemon(t, "killed", p.dir, 0)
			chmod(t, p.socket, 0o600)
		}, []hookwire.Cause{hookwire.CauseAnswerLost}},
		{"half a header", long, sending(answer[:7]), []hookwire.Cause{hookwire.CauseAnswerLost}},
		{"half a body", long, sending(answer[:200]), []hookwire.Cause{hookwire.CauseAnswerLost}},
		{"flooding: announces too much stdout", long, sending(patch(8, 0xff, 0xff, 0xff, 0xff)), []hookwire.Cause{hookwire.CauseAnswerTooLarge}},
		{"flooding: announces too much stderr", long, sending(patch(12, 0, 2, 0, 0)), []hookwire.Cause{hookwire.CauseAnswerTooLarge}},
		{"flooding: never stops", long, func(t *testing.T, p place) {
			p.serve(t, func(c *net.UnixConn) {
				read(c)
				for {
					if _, err := c.Write(bytes.Repeat([]byte("x"), 1<<16)); err != nil {
						return
					}
				}
			})
		}, []hookwire.Cause{hookwire.CauseAnswerMalformed}},
		{"garbage", long, sending([]byte("HTTP/1.1 200 OK\r\n\r\n{}")), []hookwire.Cause{hookwire.CauseAnswerMalformed}},
		{"the agent's answer without a frame", long, sending([]byte(`{"hookSpecificOutput": {}}`)), []hookwire.Cause{hookwire.CauseAnswerMalformed}},
		{"no status", long, sending(patch(4, 0)), []hookwire.Cause{hookwire.CauseAnswerMalformed}},
		{"output with a refusing status", long, sending(patch(4, byte(hookwire.StatusBusy))), []hookwire.Cause{hookwire.CauseAnswerMalformed}},
		{"unknown status", long, sending([]byte("HPH1\x4d\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00")), []hookwire.Cause{hookwire.CauseGatewayFault}},
		{"a newer layout", long, sending([]byte("HPH2\x01\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00")), []hookwire.Cause{hookwire.CauseVersion}},
		{"does not serve this version", long, func(t *testing.T, p place) { p.serve(t, statusOnly(hookwire.StatusVersion)) }, []hookwire.Cause{hookwire.CauseVersion}},
		{"busy", long, func(t *testing.T, p place) { p.serve(t, statusOnly(hookwire.StatusBusy)) }, []hookwire.Cause{hookwire.CauseBusy}},
		{"its own fault", long, func(t *testing.T, p place) { p.serve(t, statusOnly(hookwire.StatusInternal)) }, []hookwire.Cause{hookwire.CauseGatewayFault}},
		{"calls the frame malformed", long, func(t *testing.T, p place) { p.serve(t, statusOnly(hookwire.StatusMalformed)) }, []hookwire.Cause{hookwire.CauseGatewayFault}},
		{"socket writable by others", long, func(t *testing.T, p place) {
			p.serve(t, answering(&hookwire.Answer{Status: hookwire.StatusAnswer}))
			chmod(t, p.socket, 0o666)
		}, []hookwire.Cause{hookwire.CauseSocketUntrusted}},
		{"socket behind a symlink", long, func(t *testing.T, p place) {
			p.serve(t, answering(&hookwire.Answer{Status: hookwire.StatusAnswer}))
			if err := errors.Join(os.Rename(p.socket, p.socket+".real"), os.Symlink(p.socket+".real", p.socket)); err != nil {
				t.Fatal(err)
			}
		}, []hookwire.Cause{hookwire.CauseSocketUntrusted}},
		{"a file instead of a socket", long, func(t *testing.T, p place) {
			if err := os.WriteFile(p.socket, nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}, []hookwire.Cause{hookwire.CauseSocketUntrusted}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, m := range modes() {
				if tt.timeout == short && m.event != "PreToolUse" && m.event != "Stop" {
					continue // each of these waits for its deadline
				}
				t.Run(m.String(), func(t *testing.T) {
					t.Parallel()
					p := newPlace(t)
					tt.set(t, p)
					got := start{stdin: strings.NewReader(m.payload()), args: m.args(p, tt.timeout)}.run(t)
					want, outcome := m.want(t, false, textNoAnswer)
					expect(t, got, want)
					cause := tt.causes[0]
					lines := p.spool(t)
					for _, c := range tt.causes {
						if len(lines) == 1 && lines[0].Cause == c {
							cause = c
						}
					}
					p.expectLines(t, lines, m, cause, outcome)
				})
			}
		})
	}
}

// TestUntrustedFolder is apart: the client leaves no line in a folder that is not
// the user's alone.
func TestUntrustedFolder(t *testing.T) {
	tests := []struct {
		name string
		set  func(*testing.T, place) place
	}{
		{"open to the group", func(t *testing.T, p place) place { chmod(t, p.dir, 0o770); return p }},
		{"readable by all", func(t *testing.T, p place) place { chmod(t, p.dir, 0o755); return p }},
		{"behind a symlink", func(t *testing.T, p place) place {
			link := p.dir + "l"
			if err := os.Symlink(p.dir, link); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.Remove(link) })
			return place{link, filepath.Join(link, hookwire.SocketName)}
		}},
		{"relative", func(_ *testing.T, p place) place { return place{p.dir, p.socket[1:]} }},
		{"not clean", func(_ *testing.T, p place) place { return place{p.dir, p.dir + "/./hook.sock"} }},
		{"too long", func(_ *testing.T, p place) place { return place{p.dir, p.dir + "/" + strings.Repeat("x", 120)} }},
	}
	for _, tt := range tests {
		for _, m := range modes() {
			t.Run(tt.name+"/"+m.String(), func(t *testing.T) {
				t.Parallel()
				real := newPlace(t)
				real.serve(t, answering(&hookwire.Answer{Status: hookwire.StatusAnswer}))
				p := tt.set(t, real)
				got := start{stdin: strings.NewReader(m.payload()), args: m.args(p, long), dir: "/"}.run(t)
				want, _ := m.want(t, false, textNoAnswer)
				expect(t, got, want)
				if _, err := os.Lstat(filepath.Join(real.dir, hookwire.SpoolName)); err == nil && tt.name != "too long" && tt.name != "not clean" {
					t.Error("a line was left in a folder that is not the user's alone")
				}
			})
		}
	}
}

// expectLines is expectNote for lines that were read before.
func (p place) expectLines(t *testing.T, lines []hookwire.Fallback, m mode, cause hookwire.Cause, outcome hookwire.Outcome) {
	t.Helper()
	if len(lines) != 1 {
		t.Errorf("%d lines in the spool, want 1: %+v", len(lines), lines)
		return
	}
	f := lines[0]
	if f.Agent != m.agent || f.Event != m.event || f.Policy != m.policy || f.Cause != cause || f.Outcome != outcome ||
		f.ParentPID != os.Getpid() || f.PayloadBytes != int64(len(m.payload())) {
		t.Errorf("spool says %+v, want %s %s %s", f, m, cause, outcome)
	}
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

// TestAnswer holds that the gateway's answer arrives as it is, also from a gateway
// one frame version older or newer.
func TestAnswer(t *testing.T) {
	for _, server := range []byte{hookwire.Version - 1, hookwire.Version, hookwire.Version + 1} {
		for _, m := range modes() {
			t.Run(string('0'+rune(server))+"/"+m.String(), func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				alias := p.dir + "l"
				if err := os.Symlink(p.dir, alias); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { os.Remove(alias) })
				want := &hookwire.Answer{Status: hookwire.StatusAnswer, ExitCode: 2, Stdout: []byte("{\"a\":\"\x00\xff\"}\n"), Stderr: []byte("no\n")}
				b, err := hookwire.AppendAnswer(nil, want)
				if err != nil {
					t.Fatal(err)
				}
				b[6] = server
				got := make(chan *hookwire.Request, 1)
				p.serve(t, func(c *net.UnixConn) {
					r := read(c)
					got <- r
					_, _ = c.Write(b)
				})
				res := start{
					stdin: strings.NewReader(m.payload()), args: m.args(p, long), dir: p.dir,
					env: []string{"CLAUDE_PROJECT_DIR=/home/dev/repo", "ANTHROPIC_API_KEY=hunter2", "PWD=" + alias},
				}.run(t)
				expect(t, res, result{string(want.Stdout), string(want.Stderr), 2})
				p.expectSilence(t)
				r := <-got
				if r == nil {
					t.Fatal("no request arrived")
				}
				h := r.Header
				if h.Agent != m.agent || h.Event != m.event || h.Client != "1.2.3" || h.Version != hookwire.Version || h.CWD != p.dir ||
					h.ParentPID != os.Getpid() || h.ParentStart <= 0 || h.BudgetMs <= 0 || h.BudgetMs > 30000 || h.Cut {
					t.Errorf("header %+v", h)
				}
				if claude := m.agent == "claude-code"; claude != (h.Env["CLAUDE_PROJECT_DIR"] == "/home/dev/repo") || len(h.Env) > 1 {
					t.Errorf("env %v", h.Env)
				}
				if string(r.Payload) != m.payload() {
					t.Errorf("payload %q", r.Payload)
				}
			})
		}
	}
}

func TestEmptyAndLargeAnswers(t *testing.T) {
	m := mode{"claude-code", "PreToolUse", "fail-closed"}
	for _, n := range []int{0, 1, 4080, 4081, 100_000, hookwire.MaxStdoutBytes} {
		p := newPlace(t)
		out := strings.Repeat("y", n)
		p.serve(t, answering(&hookwire.Answer{Status: hookwire.StatusAnswer, Stdout: []byte(out), Stderr: []byte(strings.Repeat("e", min(n, hookwire.MaxStderrBytes)))}))
		got := start{stdin: strings.NewReader(m.payload()), args: m.args(p, long)}.run(t)
		if got.stdout != out || len(got.stderr) != min(n, hookwire.MaxStderrBytes) || got.code != 0 {
			t.Errorf("%d bytes: got %d, %d, code %d", n, len(got.stdout), len(got.stderr), got.code)
		}
		p.expectSilence(t)
	}
}

// TestGatewayOfAnotherUser has a socket that passes every check of its path while
// another user listens.
func TestGatewayOfAnotherUser(t *testing.T) {
	needRoot(t)
	for _, m := range modes() {
		t.Run(m.String(), func(t *testing.T) {
			theirs, ours := newPlace(t), newPlace(t)
			if err := os.Chown(theirs.dir, stranger, stranger); err != nil {
				t.Fatal(err)
			}
			startDaemon(t, "answers", theirs.dir, stranger)
			if err := errors.Join(os.Rename(theirs.socket, ours.socket), os.Chown(ours.socket, 0, 0), os.Chmod(ours.socket, 0o600)); err != nil {
				t.Fatal(err)
			}
			got := start{stdin: strings.NewReader(m.payload()), args: m.args(ours, long)}.run(t)
			want, outcome := m.want(t, false, textNoAnswer)
			expect(t, got, want)
			ours.expectNote(t, m, hookwire.CausePeerUntrusted, outcome)

			// The path itself tells as well.
			got = start{stdin: strings.NewReader(m.payload()), args: m.args(theirs, long)}.run(t)
			expect(t, got, want)
		})
	}
}

// TestClientOfAnotherUser starts the client as a user who may not talk to the
// gateway, and without a socket's name, where no environment may name one.
func TestClientOfAnotherUser(t *testing.T) {
	needRoot(t)
	p := newPlace(t)
	p.serve(t, answering(&hookwire.Answer{Status: hookwire.StatusAnswer}))
	trap := newPlace(t) // what the environment points to
	state := filepath.Join(trap.dir, ".local", "state", "holdpoint")
	if err := os.MkdirAll(state, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{trap.dir, filepath.Join(trap.dir, ".local"), filepath.Join(trap.dir, ".local", "state"), state} {
		if err := os.Chown(path, stranger, stranger); err != nil {
			t.Fatal(err)
		}
	}
	startDaemon(t, "answers", state, stranger)
	// The trap works for whoever is sent there.
	m := mode{"codex", "PreToolUse", "fail-closed"}
	got := start{uid: stranger, dir: "/", stdin: strings.NewReader(m.payload()), args: m.args(place{state, filepath.Join(state, hookwire.SocketName)}, long)}.run(t)
	expect(t, got, result{})
	env := []string{"HOME=" + trap.dir, "XDG_STATE_HOME=" + filepath.Join(trap.dir, ".local", "state"), "XDG_RUNTIME_DIR=" + state, "HOLDPOINT_SOCKET=" + filepath.Join(state, hookwire.SocketName)}
	for _, m := range modes() {
		t.Run(m.String(), func(t *testing.T) {
			want, _ := m.want(t, false, textNoAnswer)
			got := start{uid: stranger, dir: "/", env: env, stdin: strings.NewReader(m.payload()), args: m.args(p, long)}.run(t)
			expect(t, got, want)
			got = start{uid: stranger, dir: "/", env: env, stdin: strings.NewReader(m.payload()), args: []string{"--failure-policy", m.policy, m.agent, m.event}}.run(t)
			expect(t, got, want)
		})
	}
	p.expectSilence(t)
}

// TestLightAndSmall holds the client's dependencies and size.
func TestLightAndSmall(t *testing.T) {
	const module = "github.com/holdpoint/holdpoint/"
	allowed := map[string]bool{
		"bufio": true, "bytes": true, "cmp": true, "errors": true, "io": true, "io/fs": true, "iter": true, "math/bits": true,
		"os": true, "path": true, "reflect": false, "runtime": true, "slices": true, "strconv": true, "strings": true, "sync": true,
		"sync/atomic": true, "syscall": true, "time": true, "unicode": true, "unicode/utf16": true, "unicode/utf8": true, "unsafe": true,
		module + "hookwire": true, module + "native/refuse": true, module + "cmd/holdpoint-hook": true,
	}
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", ".")
	cmd.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false")
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	deps := strings.Fields(string(out))
	if len(deps) < 20 {
		t.Fatalf("go list gave %q", deps)
	}
	for _, dep := range deps {
		if !allowed[dep] && !strings.HasPrefix(dep, "internal/") {
			t.Errorf("the client depends on %s", dep)
		}
	}
	st, err := os.Stat(hookBinary)
	if err != nil {
		t.Fatal(err)
	}
	if st.Size() > 2_500_000 {
		t.Errorf("the client has %d bytes, at most 2.5 MB are allowed", st.Size())
	}
}
