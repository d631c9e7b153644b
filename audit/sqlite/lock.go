package sqlite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/audit"
)

// A fileLock keeps other processes from writing the log. The system releases
// it when the process ends, however it ends. The file stays: removing it would
// let two processes lock two files of one name.
type fileLock struct {
	f *os.File
}

// errHeld reports a lock that another process holds.
var errHeld = errors.New("held")

func takeLock(path string) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	switch err := lockFileNow(f); {
	case errors.Is(err, errHeld):
		pid := readPID(f)
		return nil, errors.Join(&audit.LockedError{PID: pid}, f.Close())
	case err != nil:
		return nil, errors.Join(fmt.Errorf("lock: %w", err), f.Close())
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		// The number is for people; a full disk must not keep the log shut.
		err = f.Truncate(0)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &fileLock{f}, nil
}

func (l *fileLock) release() error { return l.f.Close() }

// readPID returns the number in a lock file, 0 when there is none yet.
func readPID(f *os.File) int {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}
