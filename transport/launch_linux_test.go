package transport_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdpoint/holdpoint/ahp"
)

// The deadline covers the start of a process (V-DL-2), also when the program
// comes from a disk that does not answer. A lease on its file is such a disk: the
// kernel holds whoever wants to run it until the lease is given back.
func TestLaunchThatHangs(t *testing.T) {
	cat, err := exec.LookPath("cat")
	if err != nil {
		t.Skip(err)
	}
	program, err := os.ReadFile(cat)
	if err != nil {
		t.Fatal(err)
	}
	// A thread that waits for a program keeps its P, and a collection would wait for it
	// until the kernel takes the lease away: no failure, but most of a minute.
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))))
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	runtime.GC() // nor is one under way
	for _, life := range []ahp.Lifecycle{ahp.Persistent, ahp.PerEvent} {
		for _, tt := range []struct {
			name string
			mode int // a program that is open for writing cannot start at all
		}{{"never starts", os.O_RDWR}, {"starts late", os.O_RDONLY}} {
			t.Run(string(life)+" "+tt.name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "program")
				if err := os.WriteFile(path, program, 0o700); err != nil {
					t.Fatal(err)
				}
				file, err := os.OpenFile(path, tt.mode, 0)
				if err != nil {
					t.Fatal(err)
				}
				defer file.Close()
				if _, err := unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
					t.Skipf("no leases here: %v", err)
				}
				c := carry(t, &ahp.StdioTransport{Command: path, Lifecycle: life})
				// Without the deadline this lasts until the kernel takes the lease away,
				// and the first of the two then fails to start.
				_, f := ask(within(t, 50*time.Millisecond), c, "1")
				if f == nil || f.Class != ahp.FailDeadline {
					t.Errorf("got %v, want %s", f, ahp.FailDeadline)
				}
				if _, err := unix.FcntlInt(file.Fd(), unix.F_SETLEASE, unix.F_UNLCK); err != nil {
					t.Fatal(err)
				}
				// What starts now is ended: the carrier closes without an error, and
				// TestMain finds nobody who still waits for it.
			})
		}
	}
}
