package ctk

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// reap waits for the child to end, and ends what it left behind in its group:
// until the child is reaped the group's number cannot be another's.
func reap(cmd *exec.Cmd) error {
	for unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
	killGroup(cmd)
	return cmd.Wait()
}
