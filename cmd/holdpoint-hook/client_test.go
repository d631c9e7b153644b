//go:build linux || darwin

package main_test

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdpoint/holdpoint/hookwire"
)

// deny is a gateway's answer that refuses with JSON alone.
var deny = &hookwire.Answer{Status: hookwire.StatusAnswer, Stdout: []byte(`{"deny": true}`)}

func TestStdinNeverClosed(t *testing.T) {
	for _, m := range modes() {
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.serve(t, answering(deny))
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			defer w.Close()
			if _, err := io.WriteString(w, m.payload()); err != nil {
				t.Fatal(err)
			}
			got := start{stdin: r, args: m.args(p, "300ms")}.run(t)
			want, outcome := m.want(t, false, textNoAnswer)
			expect(t, got, want)
			p.expectNote(t, m, hookwire.CauseStdinTimeout, outcome)
		})
	}
}

// TestStdinClosedEarly: what the agent sent is what the gateway judges.
func TestStdinClosedEarly(t *testing.T) {
	for _, payload := range []string{"", `{"hook_event_name":"PreTo`} {
		p := newPlace(t)
		got := make(chan *hookwire.Request, 1)
		p.serve(t, func(c *net.UnixConn) {
			got <- read(c)
			b, _ := hookwire.AppendAnswer(nil, deny)
			_, _ = c.Write(b)
		})
		m := mode{"codex", "PreToolUse", "fail-open"}
		expect(t, start{stdin: strings.NewReader(payload), args: m.args(p, long)}.run(t), result{string(deny.Stdout), "", 0})
		if r := <-got; r == nil || string(r.Payload) != payload {
			t.Errorf("the gateway got %v, want %q", r, payload)
		}
		p.expectSilence(t)
	}
}

func TestStdinNotReadable(t *testing.T) {
	folder, err := os.Open(t.TempDir()) // a folder can be opened but not read
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	for _, m := range modes() {
		p := newPlace(t)
		got := start{stdin: folder, args: m.args(p, long)}.run(t)
		want, outcome := m.want(t, false, textNoAnswer)
		expect(t, got, want)
		p.expectNote(t, m, hookwire.CauseStdinError, outcome)
	}
}

// counting counts what was taken of a payload of one letter.
type counting struct{ left, taken int }

func (c *counting) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), c.left)
	for i := range n {
		p[i] = 'x'
	}
	c.left, c.taken = c.left-n, c.taken+n
	return n, nil
}

// TestPayloadSize holds the limit, the refusal whatever the policy (design
// decision 4) and that all of stdin is taken.
func TestPayloadSize(t *testing.T) {
	for _, m := range modes() {
		for _, extra := range []int{0, 1, 3 << 20} {
			p := newPlace(t)
			p.serve(t, answering(deny))
			in := &counting{left: hookwire.MaxPayloadBytes + extra}
			got := start{stdin: in, args: m.args(p, long)}.run(t)
			if in.left != 0 {
				t.Errorf("%s: %d bytes were not taken", m, in.left)
			}
			if extra == 0 {
				expect(t, got, result{string(deny.Stdout), "", 0})
				p.expectSilence(t)
				continue
			}
			want, outcome := m.want(t, true, textTooLarge)
			expect(t, got, want)
			p.expectNote(t, m, hookwire.CausePayloadTooLarge, outcome)
		}
	}
}

func TestGatewayCallsThePayloadTooLarge(t *testing.T) {
	for _, m := range modes() {
		p := newPlace(t)
		p.serve(t, func(c *net.UnixConn) {
			_, err := hookwire.ReadRequest(c, 10)
			b, _ := hookwire.AppendAnswer(nil, &hookwire.Answer{Status: hookwire.StatusOf(err)})
			_, _ = c.Write(b)
			_ = c.CloseWrite()
			forever(c)
		})
		got := start{stdin: strings.NewReader(m.payload()), args: m.args(p, long)}.run(t)
		want, outcome := m.want(t, true, textTooLarge)
		expect(t, got, want)
		p.expectNote(t, m, hookwire.CausePayloadTooLarge, outcome)
	}
}

// TestAnswerBeforeTheQuestion: an answer of a gateway that did not take the whole
// payload is about something else.
func TestAnswerBeforeTheQuestion(t *testing.T) {
	b, err := hookwire.AppendAnswer(nil, &hookwire.Answer{Status: hookwire.StatusAnswer})
	if err != nil {
		t.Fatal(err)
	}
	m := mode{"codex", "PreToolUse", "fail-closed"}
	p := newPlace(t)
	p.serve(t, func(c *net.UnixConn) {
		_, _ = c.Write(b)
		_, _ = io.CopyN(io.Discard, c, 5000)
		_ = c.CloseRead()
		_ = c.CloseWrite()
		forever(c)
	})
	got := start{stdin: strings.NewReader(m.payload()[:1] + strings.Repeat(" ", 4<<20) + m.payload()[1:]), args: m.args(p, long)}.run(t)
	expect(t, got, recordedRefusal(t, m.agent, m.event, textNoAnswer))
	p.expectNote(t, m, hookwire.CauseSendFailed, hookwire.OutcomeRefused)
}

// TestStdoutClosed: an agent that does not take stdout still sees a refusal.
func TestStdoutClosed(t *testing.T) {
	refusal := &hookwire.Answer{Status: hookwire.StatusAnswer, ExitCode: 2, Stdout: []byte("{}"), Stderr: []byte("no")}
	broken := func(t *testing.T) *os.File {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		r.Close()
		t.Cleanup(func() { w.Close() })
		return w
	}
	full := func(t *testing.T) *os.File {
		f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		if err != nil {
			t.Skipf("no full device: %v", err)
		}
		t.Cleanup(func() { f.Close() })
		return f
	}
	for name, stdout := range map[string]func(*testing.T) *os.File{"closed": broken, "full": full} {
		for _, m := range modes() {
			t.Run(name+"/"+m.String(), func(t *testing.T) {
				p := newPlace(t)
				p.serve(t, answering(refusal))
				expect(t, start{stdout: stdout(t), stdin: strings.NewReader(m.payload()), args: m.args(p, long)}.run(t), result{"", "no", 2})
				p.expectSilence(t)

				// With exit code 0 the refusal was in the lost text.
				p = newPlace(t)
				p.serve(t, answering(deny))
				got := start{stdout: stdout(t), stdin: strings.NewReader(m.payload()), args: m.args(p, long)}.run(t)
				switch {
				case !m.refusable():
					expect(t, got, result{})
					p.expectSilence(t)
				default: // whatever the policy: a lost refusal is no outage
					expect(t, got, result{"", textNoAnswer, 2})
					p.expectNote(t, m, hookwire.CauseStdoutFailed, hookwire.OutcomeRefused)
				}

				// The same when the client decides alone.
				p = newPlace(t)
				got = start{stdout: stdout(t), stdin: strings.NewReader(m.payload()), args: m.args(p, long)}.run(t)
				if m.refusable() && m.policy == "fail-closed" {
					expect(t, got, result{"", textNoAnswer, 2})
				} else {
					expect(t, got, result{})
				}
			})
		}
	}
}

// TestSpoolCannotBeWritten: the decision is the same without its line.
func TestSpoolCannotBeWritten(t *testing.T) {
	tests := []struct {
		name string
		wrap []string // a shell line that ends in "$@"
		set  func(t *testing.T, p *place)
	}{
		{"disk full", nil, func(t *testing.T, p *place) {
			needRoot(t)
			if err := mountTmpfs(p.dir, "size=8k,mode=0700"); err != nil {
				t.Skipf("no file system can be mounted: %v", err)
			}
			dir := p.dir
			t.Cleanup(func() { _ = syscall.Unmount(dir, 0) })
			f, err := os.Create(filepath.Join(p.dir, "filler"))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			for err == nil {
				_, err = f.Write(make([]byte, 512))
			}
		}},
		{"file size limit", []string{"sh", "-c", `ulimit -f 0; exec "$@"`, "sh"}, func(*testing.T, *place) {}},
		{"no room for another file descriptor", []string{"sh", "-c", `ulimit -n 4; exec 3</dev/null; exec "$@"`, "sh"}, func(*testing.T, *place) {}},
		{"parent folder missing", nil, func(_ *testing.T, p *place) {
			p.socket = filepath.Join(p.dir, "a", "b", hookwire.SocketName)
		}},
		{"a folder in its place", nil, func(t *testing.T, p *place) {
			if err := os.Mkdir(hookwire.SpoolPath(p.socket), 0o700); err != nil {
				t.Fatal(err)
			}
		}},
		{"a fifo in its place", nil, func(t *testing.T, p *place) {
			if err := syscall.Mkfifo(hookwire.SpoolPath(p.socket), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
	}
	for _, tt := range tests {
		for _, m := range modes() {
			t.Run(tt.name+"/"+m.String(), func(t *testing.T) {
				p := newPlace(t)
				tt.set(t, &p)
				s := start{stdin: strings.NewReader(m.payload()), args: m.args(p, long)}
				if tt.wrap != nil {
					s.binary = "/bin/sh"
					s.args = append(append(append([]string{}, tt.wrap[1:]...), hookBinary), s.args...)
				}
				want, _ := m.want(t, false, textNoAnswer)
				expect(t, s.run(t), want)
			})
		}
	}
}

func TestSpoolFolderIsMade(t *testing.T) {
	p := newPlace(t)
	p.socket = filepath.Join(p.dir, "state", hookwire.SocketName)
	m := mode{"codex", "PreToolUse", "fail-open"}
	expect(t, start{stdin: strings.NewReader(m.payload()), args: m.args(p, long)}.run(t), result{})
	st, err := os.Stat(filepath.Dir(p.socket))
	if err != nil || st.Mode().Perm() != 0o700 {
		t.Fatalf("folder: %v, %v", st, err)
	}
	if st, err = os.Stat(hookwire.SpoolPath(p.socket)); err != nil || st.Mode().Perm() != 0o600 || st.Size() != hookwire.SpoolLineBytes {
		t.Fatalf("spool: %v, %v", st, err)
	}
	p.expectNote(t, m, hookwire.CauseSocketMissing, hookwire.OutcomeOpened)
}

// TestWhereTheAgentStands holds which event counts when the command line has none
// or another one.
func TestWhereTheAgentStands(t *testing.T) {
	tests := []struct {
		name    string
		event   string // on the command line
		payload string
		at      string // the event in whose form is answered; "" for the form without one
	}{
		{"payload alone", "", `{"tool_input":{"hook_event_name":"Stop"},"hook_event_name":"PreToolUse"}`, "PreToolUse"},
		{"payload alone, Stop", "", `{"hook_event_name":"Stop"}`, "Stop"},
		{"neither", "", `{}`, ""},
		{"garbage", "", `hello`, ""},
		{"named twice", "", `{"hook_event_name":"Stop","hook_event_name":"PreToolUse"}`, ""},
		{"nothing", "", ``, ""},
		{"installed for the wrong event", "PreToolUse", `{"hook_event_name":"Stop"}`, "Stop"},
		{"installed for the wrong event, the other way", "Stop", `{"hook_event_name":"PreToolUse"}`, "PreToolUse"},
		{"an event under a new name", "PreToolUse", `{"hook_event_name":"ToolAboutToRun"}`, "PreToolUse"},
		{"garbage for a hook at PreToolUse", "PreToolUse", `hello`, "PreToolUse"},
		{"garbage for a hook at Stop", "Stop", `hello`, "Stop"},
		{"mistyped on the command line", "pretooluse", `{"hook_event_name":"PreToolUse"}`, "PreToolUse"},
	}
	for _, tt := range tests {
		for _, agent := range []string{"claude-code", "codex"} {
			for _, policy := range []string{"fail-closed", "fail-open"} {
				t.Run(tt.name+"/"+agent+"/"+policy, func(t *testing.T) {
					p := newPlace(t)
					args := []string{"--failure-policy=" + policy, "--socket=" + p.socket, agent}
					if tt.event != "" {
						args = append(args, tt.event)
					}
					got := start{stdin: strings.NewReader(tt.payload), args: args}.run(t)
					want := result{}
					switch {
					case policy == "fail-open" || tt.at == "Stop":
					case tt.at == "":
						want = result{"", textNoAnswer, 2}
					default:
						want = recordedRefusal(t, agent, tt.at, textNoAnswer)
					}
					expect(t, got, want)
				})
			}
		}
	}
}

func TestUsageErrors(t *testing.T) {
	const prefix = "The policy hook is not configured correctly, so this operation was refused: "
	tests := []struct {
		name    string
		args    []string // in front of "--socket PATH AGENT EVENT"
		problem string
	}{
		{"no failure policy", nil, "--failure-policy is missing."},
		{"unknown failure policy", []string{"--failure-policy", "maybe"}, "--failure-policy is fail-closed or fail-open, once."},
		{"failure policy twice", []string{"--failure-policy", "fail-open", "--failure-policy", "fail-open"}, "--failure-policy is fail-closed or fail-open, once."},
		{"unknown option", []string{"--failure-policy", "fail-open", "--verbose"}, "unknown option."},
		{"bad timeout", []string{"--failure-policy", "fail-open", "--timeout", "soon"}, "--timeout is a duration from 10ms to 10m, once."},
		{"no time", []string{"--failure-policy", "fail-open", "--timeout", "0s"}, "--timeout is a duration from 10ms to 10m, once."},
		{"too much time", []string{"--failure-policy", "fail-open", "--timeout", "11m"}, "--timeout is a duration from 10ms to 10m, once."},
		{"relative fallback", []string{"--failure-policy", "fail-open", "--fallback-exec", "holdpoint"}, "--fallback-exec is an absolute path, once."},
		{"help among others", []string{"--failure-policy", "fail-open", "--help"}, "unknown option."},
	}
	for _, tt := range tests {
		for _, m := range modes() {
			if m.policy == "fail-open" {
				continue // the policy is in the arguments
			}
			t.Run(tt.name+"/"+m.agent+"/"+m.event, func(t *testing.T) {
				p := newPlace(t)
				p.serve(t, answering(&hookwire.Answer{Status: hookwire.StatusAnswer})) // would let it go on
				args := append(append([]string{}, tt.args...), "--socket", p.socket, m.agent, m.event)
				got := start{stdin: strings.NewReader(m.payload()), args: args}.run(t)
				want := result{}
				if m.refusable() {
					want = recordedRefusal(t, m.agent, m.event, prefix+tt.problem)
				}
				expect(t, got, want)
				lines := p.spool(t)
				if len(lines) != 1 || lines[0].Cause != hookwire.CauseUsage || lines[0].Event != m.event {
					t.Errorf("spool says %+v", lines)
				}
			})
		}
	}
	more := []struct {
		name   string
		args   []string
		stdin  string
		stderr string // "" for exit code 0
	}{
		{"nothing at all, at a tool", nil, `{"hook_event_name":"PreToolUse"}`, "--failure-policy is missing."},
		{"nothing at all, at Stop", nil, `{"hook_event_name":"Stop"}`, ""},
		{"nothing at all", nil, ``, "--failure-policy is missing."},
		{"unknown agent", []string{"--failure-policy", "fail-open", "gemini", "PreToolUse"}, `{}`, "expected claude-code or codex and an event."},
		{"unknown agent at Stop", []string{"--failure-policy", "fail-closed", "gemini", "Stop"}, `{}`, ""},
		{"too many words", []string{"--failure-policy", "fail-open", "codex", "PreToolUse", "x"}, `{`, "expected claude-code or codex and an event."},
		{"value missing", []string{"codex", "PreToolUse", "--failure-policy"}, `{`, "--failure-policy needs a value."},
	}
	for _, tt := range more {
		t.Run(tt.name, func(t *testing.T) {
			p := newPlace(t)
			got := start{stdin: strings.NewReader(tt.stdin), args: append([]string{"--socket", p.socket}, tt.args...)}.run(t)
			if tt.stderr == "" {
				expect(t, got, result{})
				return
			}
			if got.code != 2 || got.stderr != prefix+tt.stderr {
				t.Errorf("got %+v, want %q and exit code 2", got, tt.stderr)
			}
		})
	}
}

func TestHelpAndVersion(t *testing.T) {
	got := start{args: []string{"--version"}}.run(t)
	expect(t, got, result{"holdpoint-hook 1.2.3\n", "", 0})
	got = start{args: []string{"--help"}}.run(t)
	if got.code != 0 || got.stderr != "" {
		t.Errorf("got %+v", got)
	}
	for _, part := range []string{"--failure-policy", "--socket", "--timeout", "--fallback-exec", "exit codes", "AGENT [EVENT]", "hook.spool"} {
		if !strings.Contains(got.stdout, part) {
			t.Errorf("the help does not speak of %s", part)
		}
	}
}

// TestPanics: closed whatever the policy, and never a second text on stdout.
func TestPanics(t *testing.T) {
	for _, stages := range []string{"parsed", "read", "sent", "asked", "delivering", "read,fault", "delivering,fault"} {
		for _, m := range modes() {
			t.Run(stages+"/"+m.String(), func(t *testing.T) {
				p := newPlace(t)
				p.serve(t, answering(deny))
				got := start{
					binary: panicBinary, env: []string{"HOLDPOINT_TEST_PANIC=" + stages},
					stdin: strings.NewReader(m.payload()), args: m.args(p, long),
				}.run(t)
				want, outcome := m.want(t, true, textFault)
				switch {
				case strings.HasSuffix(stages, "fault"): // nothing is left but the exit code
					want = result{code: want.code}
					if m.refusable() {
						want.code = 2
					}
					expect(t, got, want)
					return
				case stages == "delivering" && m.refusable() && m.event != "PreToolUse":
					want = result{"", textFault, 2}
				case stages == "delivering":
					want.stdout = ""
				}
				expect(t, got, want)
				p.expectNote(t, m, hookwire.CausePanic, outcome)
			})
		}
	}
}

// TestFallback: another program takes over, with the whole payload.
func TestFallback(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "fallback")
	const text = "#!/bin/sh\necho \"$@ $HOLDPOINT_HOOK_POLICY\"\ntest -d \"${HOLDPOINT_HOOK_SOCKET%/hook.sock}\" || echo no socket\ntest \"$HOLDPOINT_HOOK_BUDGET_MS\" -gt 0 || echo no budget\ncat\necho err >&2\nexit 7\n"
	if err := os.WriteFile(script, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(m mode, p place, fallback, timeout, payload string) start {
		args := append([]string{"--fallback-exec", fallback}, m.args(p, timeout)...)
		return start{stdin: strings.NewReader(payload), args: args, env: []string{"PATH=" + os.Getenv("PATH"), "HOLDPOINT_HOOK_POLICY=fail-open", "HOLDPOINT_HOOK_BUDGET_MS=-1", "HOLDPOINT_HOOK_SOCKET=/elsewhere"}}
	}
	for _, m := range modes() {
		want := result{fmt.Sprintf("hook %s %s %s\n%s", m.agent, m.event, m.policy, m.payload()), "err\n", 7}
		t.Run("down/"+m.String(), func(t *testing.T) {
			p := newPlace(t)
			expect(t, run(m, p, script, long, m.payload()).run(t), want)
			p.expectSilence(t)
		})
		t.Run("up/"+m.String(), func(t *testing.T) {
			p := newPlace(t)
			p.serve(t, answering(deny))
			expect(t, run(m, p, script, long, m.payload()).run(t), result{string(deny.Stdout), "", 0})
			p.expectSilence(t)
		})
		t.Run("cannot be started/"+m.String(), func(t *testing.T) {
			p := newPlace(t)
			got := run(m, p, filepath.Join(dir, "none"), long, m.payload()).run(t)
			want, outcome := m.want(t, false, textNoAnswer)
			expect(t, got, want)
			p.expectNote(t, m, hookwire.CauseFallbackFailed, outcome)
		})
	}
	m := mode{"claude-code", "PreToolUse", "fail-closed"}
	t.Run("hung", func(t *testing.T) {
		p := newPlace(t)
		p.serve(t, forever)
		got := run(m, p, script, "8s", m.payload()).run(t)
		expect(t, got, result{fmt.Sprintf("hook %s %s %s\n%s", m.agent, m.event, m.policy, m.payload()), "err\n", 7})
	})
	t.Run("large payload", func(t *testing.T) {
		payload := bytes.Repeat([]byte("0123456789abcde\n"), hookwire.MaxPayloadBytes/16)
		got := run(m, newPlace(t), script, long, string(payload)).run(t)
		if want := "hook claude-code PreToolUse fail-closed\n" + string(payload); got.stdout != want || got.code != 7 {
			t.Errorf("%d bytes and exit code %d, want %d", len(got.stdout), got.code, len(want))
		}
	})
	t.Run("not for what is too large", func(t *testing.T) {
		p := newPlace(t)
		got := run(m, p, script, long, strings.Repeat("x", hookwire.MaxPayloadBytes+1)).run(t)
		want, outcome := m.want(t, true, textTooLarge)
		expect(t, got, want)
		p.expectNote(t, m, hookwire.CausePayloadTooLarge, outcome)
	})
}
