package main

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/internal/schematest"
)

// doctorOn runs doctor over a socket and returns its report.
func doctorOn(t *testing.T, socket string) doctorReport {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("PATH", programs)
	var out, errs strings.Builder
	code := run(t.Context(), []string{"doctor", "--json", "--agent", "codex", "--cwd", home, "--socket", socket}, strings.NewReader(""), &out, &errs)
	if code != exitFailed {
		t.Errorf("exit code %d, want %d: %s%s", code, exitFailed, out.String(), errs.String())
	}
	schematest.Validate(t, "doctor", []byte(out.String()))
	var rep doctorReport
	if err := json.Unmarshal([]byte(out.String()), &rep); err != nil {
		t.Fatal(err)
	}
	return rep
}

// privateDir is a folder of mode 0700 with a short path.
func privateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hp-doc-") //nolint:usetesting // the path of a socket has little room
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// listener answers each connection with talk, and ends with the test.
func listener(t *testing.T, path string, talk func(net.Conn)) {
	t.Helper()
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			wg.Go(func() {
				defer c.Close()
				talk(c)
			})
		}
	})
	t.Cleanup(func() {
		ln.Close()
		wg.Wait()
	})
}

// What stands at the socket is told apart, fault by fault.
func TestDoctorSocket(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no hook socket on this system")
	}
	answer := func(a *hookwire.Answer, server byte) func(net.Conn) {
		return func(c net.Conn) {
			if _, err := hookwire.ReadRequest(c, 0); err != nil {
				return
			}
			b, err := hookwire.AppendAnswer(nil, a)
			if err != nil {
				return
			}
			b[6] = server
			_, _ = c.Write(b)
		}
	}
	tests := []struct {
		name  string
		make  func(t *testing.T, dir string) (socket string)
		check string // name of the check that fails
		want  string // part of its detail
	}{
		{"folder open to others", func(t *testing.T, dir string) string {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(dir, "hook.sock")
		}, "folder", "has mode 0755, expected 0700"},
		{"folder is a link", func(t *testing.T, dir string) string {
			if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			return filepath.Join(dir, "link", "hook.sock")
		}, "folder", "symbolic link"},
		{"folder above is open", func(t *testing.T, dir string) string {
			if err := os.Mkdir(filepath.Join(dir, "run"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(dir, 0o777); err != nil { //nolint:gosec // that is the case
				t.Fatal(err)
			}
			return filepath.Join(dir, "run", "hook.sock")
		}, "folder", "can be changed by another user"},
		{"no socket but a file", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "hook.sock")
			if err := os.WriteFile(path, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, "socket", "is no socket"},
		{"socket behind a link", func(t *testing.T, dir string) string {
			listener(t, filepath.Join(dir, "real.sock"), func(net.Conn) {})
			path := filepath.Join(dir, "hook.sock")
			if err := os.Symlink("real.sock", path); err != nil {
				t.Fatal(err)
			}
			return path
		}, "socket", "symbolic link"},
		{"socket that others can write", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "hook.sock")
			listener(t, path, func(net.Conn) {})
			if err := os.Chmod(path, 0o666); err != nil {
				t.Fatal(err)
			}
			return path
		}, "socket", "has mode 0666, expected 0600"},
		{"stale socket", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "hook.sock")
			ln, err := net.Listen("unix", path)
			if err != nil {
				t.Fatal(err)
			}
			ln.(*net.UnixListener).SetUnlinkOnClose(false)
			ln.Close()
			if err := os.Chmod(path, 0o600); err != nil {
				t.Fatal(err)
			}
			return path
		}, "gateway", "nobody listens"},
		{"hangs", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "hook.sock")
			listener(t, path, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
			return path
		}, "gateway", "it hangs"},
		{"hangs up", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "hook.sock")
			listener(t, path, func(net.Conn) {})
			return path
		}, "gateway", "what listens is no gateway"},
		{"something else", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "hook.sock")
			listener(t, path, func(c net.Conn) { _, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\nhello there\r\n") })
			return path
		}, "gateway", "what listens is no gateway"},
		{"another layout", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "hook.sock")
			listener(t, path, func(c net.Conn) { _, _ = c.Write([]byte("HPH9\x02\x00\x09\x00\x00\x00\x00\x00\x00\x00\x00\x00")) })
			return path
		}, "frame", "another frame"},
		{"a version that is too new", func(t *testing.T, dir string) string {
			path := filepath.Join(dir, "hook.sock")
			listener(t, path, answer(&hookwire.Answer{Status: hookwire.StatusVersion}, 9))
			return path
		}, "frame", "speaks frame version 9"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := privateDir(t)
			rep := doctorOn(t, tt.make(t, dir))
			for _, c := range rep.Checks {
				if c.Agent == "" && c.Status == checkFail {
					if c.Name != tt.check || !strings.Contains(c.Detail, tt.want) {
						t.Errorf("fails with %q: %s, want %q: %s", c.Name, c.Detail, tt.check, tt.want)
					}
					return
				}
			}
			t.Errorf("no check of the gateway fails: %+v", rep.Checks)
		})
	}
}

// The next version is understood, and said.
func TestDoctorNeighbour(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no hook socket on this system")
	}
	path := filepath.Join(privateDir(t), "hook.sock")
	listener(t, path, func(c net.Conn) {
		if _, err := hookwire.ReadRequest(c, 0); err == nil {
			_, _ = c.Write([]byte("HPH1\x01\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
		}
	})
	for _, c := range doctorOn(t, path).Checks {
		if c.Name == "frame" {
			if c.Status != checkWarn || !strings.Contains(c.Detail, "speaks frame version 2") {
				t.Errorf("%+v", c)
			}
			return
		}
	}
	t.Error("no check of the frame")
}

// The guard is recognised by what it does, not by how it looks.
func TestInstallParse(t *testing.T) {
	const call = "/usr/local/bin/holdpoint-hook --failure-policy fail-closed codex PreToolUse"
	tests := []struct {
		name, text     string
		found, guarded bool
	}{
		{"bare", call, true, false},
		{"exec", "exec " + call, true, false},
		{"guard", call + " || { [ $? -eq 2 ] || echo no >&2; exit 2; }", true, true},
		{"short guard", call + " || exit 2", true, true},
		{"in a shell", "exec /bin/sh -c '" + call + " || exit 2'", true, true},
		{"in a shell without exec", "sh -c '" + call + " || exit 2'", true, true},
		{"bare in a shell", "exec /bin/sh -c '" + call + "'", true, false},
		{"guard undone by the shell around it", "sh -c '" + call + " || exit 2' || true", true, false},
		{"guard undone behind it", call + " || exit 2; true", true, false},
		{"guard undone before it", "! " + call + " || exit 2", true, false},
		{"in the background", call + " || exit 2 &", true, false},
		{"another code", call + " || exit 1", true, false},
		{"a code that is not known", call + ` || exit "$X"`, true, false},
		{"guard and then more", call + " || { exit 2; true; }", true, false},
		{"and", call + " && exit 2", true, false},
		{"pipe", call + " | cat", true, false},
		{"variable", `$BIN --failure-policy fail-closed codex PreToolUse || exit 2`, false, false},
		{"quoted", `"/opt/hold point/holdpoint-hook" --failure-policy=fail-closed codex PreToolUse || exit 2`, true, true},
		{"other program", "/usr/bin/true || exit 2", false, false},
		{"not shell", call + " || {", true, false},
		{"named only", "echo holdpoint-hook", false, false},
		{"empty", "", false, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var in install
			if found := in.parse(tt.text, 0); found != tt.found || in.guarded != tt.guarded {
				t.Errorf("found %v, guarded %v; want %v, %v", found, in.guarded, tt.found, tt.guarded)
			}
			if tt.guarded {
				if agent, event := in.words(); agent != "codex" || event != "PreToolUse" || in.option("--failure-policy") != "fail-closed" {
					t.Errorf("reads agent %q, event %q, policy %q", agent, event, in.option("--failure-policy"))
				}
			}
		})
	}
}

// The configuration that the documentation gives to paste is installed and
// guarded, in the eyes of doctor.
func TestDocumentedInstalls(t *testing.T) {
	for _, agent := range []string{hookwire.AgentClaudeCode, hookwire.AgentCodex} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "agents", agent+".md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, lang := range []string{"json", "toml"} {
			_, block, ok := strings.Cut(string(text), "```"+lang+"\n")
			if !ok {
				continue
			}
			block, _, _ = strings.Cut(block, "```")
			path := filepath.Join(t.TempDir(), "settings."+lang)
			if err := os.WriteFile(path, []byte(block), 0o600); err != nil {
				t.Fatal(err)
			}
			f := agentFile{path, scopeUser}
			s, err := f.read()
			if err != nil {
				t.Fatal(err)
			}
			list, err := f.installs(s)
			if err != nil || len(list) == 0 {
				t.Errorf("%s %s: %d places, %v", agent, lang, len(list), err)
			}
			d := doctor{socket: "/home/you/.local/state/holdpoint/hook.sock", uid: os.Geteuid()}
			decided := false
			for i := range list {
				decided = d.checkInstall(agent, &list[i]) || decided
			}
			for _, c := range d.report.Checks {
				if c.Status != checkOK && c.Name != "trust" {
					t.Errorf("%s %s: %+v", agent, lang, c)
				}
			}
			if !decided {
				t.Errorf("%s %s: nothing decides", agent, lang)
			}
		}
	}
}

// Whatever a settings file holds, reading it ends without a panic, and what it
// says of a guard is about the client.
func FuzzInstallParse(f *testing.F) {
	f.Add("/bin/holdpoint-hook --failure-policy fail-closed codex PreToolUse || { [ $? -eq 2 ] || echo no >&2; exit 2; }")
	f.Add("exec /bin/sh -c 'holdpoint-hook codex || exit 2'")
	f.Add("sh -c 'sh -c \"sh -c holdpoint-hook\"'")
	f.Add("holdpoint-hook <<E || exit 2\n$(x)\nE")
	f.Fuzz(func(t *testing.T, text string) {
		var in install
		found := in.parse(text, 0)
		if in.guarded && (!found || !strings.Contains(text, "exit")) {
			t.Errorf("guarded %q", text)
		}
		in.words()
		in.option("--socket")
	})
}
