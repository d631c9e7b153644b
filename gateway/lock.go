package gateway

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// A RunningError reports that another daemon serves the same socket.
type RunningError struct {
	Socket string
	PID    int // of the other daemon; 0 when it is not known
}

// Error names the socket and the other daemon.
func (e *RunningError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("another daemon serves %s", e.Socket)
	}
	return fmt.Sprintf("another daemon (process %d) serves %s", e.PID, e.Socket)
}

// errLocked is what tryLock returns for a lock that somebody else holds.
var errLocked = errors.New("locked")

// A lockFile is held by one process at a time and freed by the system when that
// process ends, however it ends. The file itself stays: removing it would let
// two processes hold locks on two files of one name.
type lockFile struct{ f *os.File }

// lockSocket takes the lock that goes with a socket, and writes our process id
// into it for whoever comes second.
func lockSocket(socket string) (*lockFile, error) {
	f, err := openLock(socket + ".lock")
	if err != nil {
		return nil, fmt.Errorf("lock of %s: %w", socket, err)
	}
	if err := tryLock(f); err != nil {
		defer f.Close()
		if errors.Is(err, errLocked) {
			return nil, &RunningError{Socket: socket, PID: readPID(f)}
		}
		return nil, fmt.Errorf("lock of %s: %w", socket, err)
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("lock of %s: %w", socket, err), f.Close())
	}
	return &lockFile{f}, nil
}

// release frees the lock by closing its file.
func (l *lockFile) release() error { return l.f.Close() }

func readPID(f *os.File) int {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid <= 0 {
		return 0
	}
	return pid
}
