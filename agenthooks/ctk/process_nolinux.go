//go:build unix && !linux

package ctk

import "os/exec"

// reap waits for the child to end, and ends what it left behind in its group.
// As long as the group has a member its number is not given to another.
func reap(cmd *exec.Cmd) error {
	err := cmd.Wait()
	killGroup(cmd)
	return err
}
