package transport

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// waitNoReap returns when the child has ended, and leaves it to be reaped.
func waitNoReap(pid int) {
	const pPID = 1      // idtype_t
	var info [16]uint64 // larger than siginfo_t
	for {
		_, _, err := unix.Syscall6(unix.SYS_WAITID, pPID, uintptr(pid),
			uintptr(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOWAIT, 0, 0)
		if err != unix.EINTR {
			return
		}
	}
}
