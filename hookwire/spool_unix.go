//go:build linux || darwin

package hookwire

import (
	"errors"
	"syscall"
)

// ErrSpool reports a spool that is not the user's own regular file, or cannot be
// held.
var ErrSpool = errors.New("hookwire: the spool is not the user's own file")

const spoolTries = 16

// AppendSpool appends one line to the spool at path with a single write, and
// makes the file (mode 0600) when it is not there. It never waits. Its failure
// must not change a decision.
func AppendSpool(path string, f *Fallback) error {
	var buf [SpoolLineBytes]byte
	line := AppendSpoolLine(buf[:0], f)
	for range spoolTries {
		fd, err := syscall.Open(path, syscall.O_WRONLY|syscall.O_APPEND|syscall.O_CREAT|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		again, err := appendLocked(fd, path, line)
		if closeErr := syscall.Close(fd); err == nil {
			err = closeErr // some file systems report a lost write only here
		}
		if !again {
			return err
		}
	}
	return ErrSpool
}

// appendLocked reports in its first result that the file has been moved away by its
// reader in the meantime (audit.IngestSpool).
func appendLocked(fd int, path string, line []byte) (bool, error) {
	if err := ownSpool(fd); err != nil {
		return false, err
	}
	// Shared among writers; the reader takes the file for itself.
	if err := syscall.Flock(fd, syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		return err == syscall.EWOULDBLOCK || err == syscall.EINTR, err
	}
	var open, named syscall.Stat_t
	if err := syscall.Fstat(fd, &open); err != nil {
		return false, err
	}
	if err := syscall.Lstat(path, &named); err != nil || open.Ino != named.Ino || open.Dev != named.Dev {
		return true, err
	}
	n, err := syscall.Write(fd, line)
	if err == nil && n != len(line) {
		err = syscall.ENOSPC
	}
	return false, err
}

func ownSpool(fd int) error {
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFREG || int(st.Uid) != syscall.Geteuid() || st.Mode&0o077 != 0 {
		return ErrSpool
	}
	return nil
}
