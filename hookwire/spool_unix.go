//go:build linux || darwin

package hookwire

import (
	"errors"
	"io/fs"
	"os"
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

// appendLocked reports in its first result that the file has been moved away by
// [DrainSpool] in the meantime.
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

// DrainSpool hands every good line of the spool at path to each and removes what
// was handed over. It returns how many lines were not good. The file is moved
// aside first, so that clients go on meanwhile; when each fails, or the process
// dies, the next call hands over the same lines again, so each must know a line
// that it has seen (time and PID tell two lines apart). Only one process may
// drain a spool: the holder of the gateway's lock.
func DrainSpool(path string, each func(Fallback) error) (bad int, err error) {
	aside := path + ".draining"
	for range 2 { // what a former process left behind, then the spool itself
		n, err := drainFile(aside, each)
		bad += n
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return bad, err
		}
		if err := os.Rename(path, aside); err != nil {
			if errors.Is(err, fs.ErrNotExist) {
				return bad, nil
			}
			return bad, err
		}
	}
	n, err := drainFile(aside, each)
	return bad + n, err
}

func drainFile(path string, each func(Fallback) error) (int, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	if err := ownSpool(int(f.Fd())); err != nil {
		return 0, err
	}
	// Waits for a client that is just writing: microseconds.
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err == nil {
			break
		}
		if err != syscall.EINTR {
			return 0, err
		}
	}
	bad, err := ReadSpool(f, each)
	if err != nil {
		return bad, err
	}
	return bad, os.Remove(path)
}
