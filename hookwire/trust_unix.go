//go:build linux || darwin

package hookwire

import (
	"errors"
	"syscall"
)

// CheckSocket reports whether the socket at path can be trusted as uid's own
// (design decision 12): the path is clean, absolute and short; the socket is a
// socket, not a symbolic link, owned by uid and not writable by others; its
// folder is a folder, not a symbolic link, owned by uid and closed to everyone
// else; and no folder above lets a third user replace what is below it. The
// error wraps [ErrSocketPath], [ErrSocketMissing] (something is not there) or
// [ErrSocketUntrusted]. The peer's uid is checked apart, after the connection
// ([PeerUID]): between this check and the connection nothing is held.
func CheckSocket(path string, uid int) error {
	if len(path) > MaxSocketPathBytes {
		return ErrSocketPath
	}
	if err := CheckDir(path, uid); err != nil {
		return err
	}
	var st syscall.Stat_t
	if err := lstat(path, &st); err != nil {
		return err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFSOCK || int(st.Uid) != uid || st.Mode&0o022 != 0 {
		return ErrSocketUntrusted
	}
	return nil
}

// CheckDir is the part of [CheckSocket] that concerns the folder of path and
// those above it. A gateway calls it before it listens at path; the length of
// path is not checked.
func CheckDir(path string, uid int) error {
	if err := checkPath(path); err != nil {
		return err
	}
	var st syscall.Stat_t
	// From the root down, so that the first fault is the one that matters.
	if err := stat("/", &st); err != nil {
		return err
	}
	if !ancestor(&st, uid) {
		return ErrSocketUntrusted
	}
	last := 0
	for i := 1; i < len(path); i++ {
		if path[i] == '/' {
			last = i
		}
	}
	for i := 1; i < last; i++ {
		if path[i] != '/' {
			continue
		}
		if err := stat(path[:i], &st); err != nil {
			return err
		}
		if !ancestor(&st, uid) {
			return ErrSocketUntrusted
		}
	}
	if err := lstat(path[:last], &st); err != nil {
		return err
	}
	if st.Mode&syscall.S_IFMT != syscall.S_IFDIR || int(st.Uid) != uid || st.Mode&0o077 != 0 {
		return ErrSocketUntrusted
	}
	return nil
}

// ancestor accepts a folder in which nobody but root and uid can rename an entry
// that belongs to uid.
func ancestor(st *syscall.Stat_t, uid int) bool {
	mode := st.Mode
	if mode&syscall.S_IFMT != syscall.S_IFDIR || st.Uid != 0 && int(st.Uid) != uid {
		return false
	}
	return mode&0o022 == 0 || mode&syscall.S_ISVTX != 0
}

func lstat(path string, st *syscall.Stat_t) error { return statError(syscall.Lstat(path, st)) }

func stat(path string, st *syscall.Stat_t) error { return statError(syscall.Stat(path, st)) }

func statError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.ENOTDIR):
		return errors.Join(ErrSocketMissing, err)
	}
	return errors.Join(ErrSocketUntrusted, err)
}
