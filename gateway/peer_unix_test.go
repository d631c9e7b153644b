//go:build unix

package gateway_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Another user gets nothing, not even where the folder's mode would let him in.
func TestPeersOfOtherUsersAreRefused(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	o := options(t)
	r := start(t, o)
	if err := os.Chmod(filepath.Dir(o.Socket), 0o755); err != nil {
		t.Fatal(err)
	}
	ahpSocket := filepath.Join(filepath.Dir(o.Socket), "ahp.sock")
	for _, s := range []string{o.Socket, ahpSocket} {
		if err := os.Chmod(s, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	dir := shortDir(t)
	program := filepath.Join(dir, "dial")
	if err := os.WriteFile(program, self, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, socket := range []string{o.Socket, ahpSocket} {
		cmd := exec.Command(program)
		cmd.Env = []string{"HOLDPOINT_TEST_DIAL=" + socket}
		cmd.Dir = "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		err := cmd.Run()
		if err != nil || out.String() != "connected, 0 bytes\n" {
			t.Errorf("%s: %q, %v", socket, out.String(), err)
		}
		r.until("it is counted", func() bool {
			return strings.Contains(r.metric("holdpoint_refused_peers_total"), " "+strconv.Itoa(i+1))
		})
	}
	if n := len(r.settlements()); n != 0 {
		t.Errorf("%d settlements", n)
	}
}
