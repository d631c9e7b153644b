//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// leaveBehind starts a process that keeps our stdout and stderr open and outlives
// us. As a daemon it also leaves our process group, where no signal to the group
// finds it; it then ends by itself soon.
func leaveBehind(daemon bool) {
	cmd := exec.Command("sleep", "30")
	if daemon {
		cmd = exec.Command("sleep", "3")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fatal(err)
	}
}
