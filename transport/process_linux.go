package transport

import "golang.org/x/sys/unix"

// waitNoReap returns when the child has ended, and leaves it to be reaped.
func waitNoReap(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return
		}
	}
}
