//go:build unix

package backend

import (
	"os"

	"golang.org/x/sys/unix"
)

// takeStdio moves stdin and stdout to descriptors of their own, which children do
// not inherit, and puts the null device and stderr in their places.
func takeStdio() (in, out *os.File, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = null.Close() }()
	in, err = move(0, int(null.Fd()), "stdin")
	if err != nil {
		return nil, nil, err
	}
	out, err = move(1, 2, "stdout")
	if err != nil {
		_ = in.Close()
		return nil, nil, err
	}
	os.Stdout = os.Stderr
	return in, out, nil
}

// move copies descriptor fd away and replaces it with a copy of with.
func move(fd, with int, name string) (*os.File, error) {
	c, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, os.NewSyscallError("fcntl", err)
	}
	if err := dup2(with, fd); err != nil {
		_ = unix.Close(c)
		return nil, os.NewSyscallError("dup", err)
	}
	if fd == 0 {
		// So that a read can be interrupted. A terminal is shared with others, who
		// would be surprised; a file never blocks.
		var st unix.Stat_t
		if err := unix.Fstat(c, &st); err == nil && (st.Mode&unix.S_IFMT == unix.S_IFIFO || st.Mode&unix.S_IFMT == unix.S_IFSOCK) {
			_ = unix.SetNonblock(c, true) // what refuses is read without
		}
	}
	return os.NewFile(uintptr(c), name), nil
}
