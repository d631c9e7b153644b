package backend

import (
	"os"

	"golang.org/x/sys/windows"
)

// takeStdio keeps the standard handles to itself and puts the null device and
// stderr in their places, for this process and for children that inherit them.
func takeStdio() (in, out *os.File, err error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	in, out = os.Stdin, os.Stdout
	if err := windows.SetStdHandle(windows.STD_INPUT_HANDLE, windows.Handle(null.Fd())); err != nil {
		return nil, nil, os.NewSyscallError("SetStdHandle", err)
	}
	if err := windows.SetStdHandle(windows.STD_OUTPUT_HANDLE, windows.Handle(os.Stderr.Fd())); err != nil {
		return nil, nil, os.NewSyscallError("SetStdHandle", err)
	}
	os.Stdin, os.Stdout = null, os.Stderr
	return in, out, nil
}
