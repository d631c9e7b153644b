//go:build linux || darwin

package hookwire_test

import (
	"errors"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/hookwire"
)

// place makes a folder of mode 0700 with a listening socket in it.
func place(t *testing.T) (dir, socket string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir, err = os.MkdirTemp(filepath.Dir(filepath.Dir(base)), "hp") //nolint:usetesting // the path of a socket has little room
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket = filepath.Join(dir, hookwire.SocketName)
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	if err := os.Chmod(socket, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, socket
}

func TestCheckSocket(t *testing.T) {
	tests := []struct {
		name string
		edit func(t *testing.T, dir, socket string) string // returns the path to check
		want error
	}{
		{"as it should be", func(_ *testing.T, _, s string) string { return s }, nil},
		{"folder open to the group", func(t *testing.T, d, s string) string { chmod(t, d, 0o750); return s }, hookwire.ErrSocketUntrusted},
		{"folder open to all", func(t *testing.T, d, s string) string { chmod(t, d, 0o701); return s }, hookwire.ErrSocketUntrusted},
		{"socket writable by others", func(t *testing.T, _, s string) string { chmod(t, s, 0o602); return s }, hookwire.ErrSocketUntrusted},
		{"socket is a symlink", func(t *testing.T, d, s string) string { return symlink(t, s, filepath.Join(d, "l.sock")) }, hookwire.ErrSocketUntrusted},
		{"folder is a symlink", func(t *testing.T, d, _ string) string {
			l := symlink(t, d, d+".l")
			t.Cleanup(func() { os.Remove(l) })
			return filepath.Join(l, hookwire.SocketName)
		}, hookwire.ErrSocketUntrusted},
		{"a file", func(t *testing.T, d, _ string) string {
			p := filepath.Join(d, "f")
			if err := os.WriteFile(p, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			return p
		}, hookwire.ErrSocketUntrusted},
		{"missing", func(_ *testing.T, d, _ string) string { return filepath.Join(d, "none") }, hookwire.ErrSocketMissing},
		{"missing folder", func(_ *testing.T, d, _ string) string { return d + ".none/hook.sock" }, hookwire.ErrSocketMissing},
		{"relative", func(_ *testing.T, _, s string) string { return s[1:] }, hookwire.ErrSocketPath},
		{"with dots", func(_ *testing.T, d, _ string) string { return d + "/../" + filepath.Base(d) + "/hook.sock" }, hookwire.ErrSocketPath},
		{"with two slashes", func(_ *testing.T, d, _ string) string { return d + "//hook.sock" }, hookwire.ErrSocketPath},
		{"in the root folder", func(*testing.T, string, string) string { return "/hook.sock" }, hookwire.ErrSocketPath},
		{"too long", func(_ *testing.T, d, _ string) string { return d + "/" + strings.Repeat("x", 100) }, hookwire.ErrSocketPath},
		{"empty", func(*testing.T, string, string) string { return "" }, hookwire.ErrSocketPath},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir, socket := place(t)
			err := hookwire.CheckSocket(tt.edit(t, dir, socket), os.Geteuid())
			if !errors.Is(err, tt.want) || tt.want == nil && err != nil {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		})
	}
	t.Run("another user's", func(t *testing.T) {
		_, socket := place(t)
		if err := hookwire.CheckSocket(socket, os.Geteuid()+1); !errors.Is(err, hookwire.ErrSocketUntrusted) {
			t.Errorf("got %v, want ErrSocketUntrusted", err)
		}
	})
	t.Run("below a folder that others can write", func(t *testing.T) {
		dir, _ := place(t)
		inner := filepath.Join(dir, "a", "b")
		if err := os.MkdirAll(inner, 0o700); err != nil {
			t.Fatal(err)
		}
		chmod(t, filepath.Join(dir, "a"), 0o777)
		if err := hookwire.CheckDir(filepath.Join(inner, "s"), os.Geteuid()); !errors.Is(err, hookwire.ErrSocketUntrusted) {
			t.Errorf("got %v, want ErrSocketUntrusted", err)
		}
		chmod(t, filepath.Join(dir, "a"), 0o777|os.ModeSticky)
		if err := hookwire.CheckDir(filepath.Join(inner, "s"), os.Geteuid()); err != nil {
			t.Errorf("sticky: got %v", err)
		}
	})
}

func chmod(t *testing.T, path string, mode os.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func symlink(t *testing.T, to, at string) string {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
	return at
}

func TestPeerUID(t *testing.T) {
	_, socket := place(t)
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	f, err := c.(*net.UnixConn).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if uid, err := hookwire.PeerUID(f.Fd()); err != nil || uid != os.Geteuid() {
		t.Errorf("got %d, %v, want %d", uid, err, os.Geteuid())
	}
	if _, err := hookwire.PeerUID(^uintptr(0) >> 1); err == nil {
		t.Error("a file descriptor that is none has a peer")
	}
}

func TestDefaultSocketIgnoresTheEnvironment(t *testing.T) {
	before, err := hookwire.DefaultSocket()
	if err != nil {
		t.Skipf("this user has no entry in the user database: %v", err)
	}
	for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "USER", "LOGNAME"} {
		t.Setenv(name, "/elsewhere")
	}
	after, err := hookwire.DefaultSocket()
	if err != nil || after != before {
		t.Errorf("got %q, %v, want %q", after, err, before)
	}
	u, err := user.LookupId(strconv.Itoa(os.Geteuid()))
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(u.HomeDir, ".local/state/holdpoint/hook.sock"); before != want {
		t.Errorf("got %q, want %q", before, want)
	}
	if got := hookwire.SpoolPath(before); !strings.HasSuffix(got, "/.local/state/holdpoint/hook.spool") {
		t.Errorf("spool %q", got)
	}
}
