//go:build linux || darwin

package peercred_test

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdpoint/holdpoint/internal/peercred"
)

func TestUIDIsTheCallersOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for name, conn := range map[string]net.Conn{"client": c, "server": s} {
		got, err := peercred.UID(conn.(*net.UnixConn))
		if err != nil || got != os.Getuid() {
			t.Errorf("%s: UID = %d, %v; want %d", name, got, err, os.Getuid())
		}
	}
}

func TestUIDOfAClosedConnectionIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if uid, err := peercred.UID(c.(*net.UnixConn)); err == nil || uid != -1 {
		t.Errorf("UID = %d, %v; want -1 and an error", uid, err)
	}
}
