//go:build unix

package main

import (
	"os"
	"os/exec"
	"syscall"
)

// leaveBehind starts a process that keeps our stdout and stderr open and outlives
// us: ourselves again, with the name of our log, by which a test finds it. As a
// daemon it also leaves our process group, where no signal to the group finds it; it
// then ends by itself soon.
func leaveBehind(o options) {
	exe, err := os.Executable()
	if err != nil {
		fatal(err)
	}
	cmd := exec.Command(exe, "-sleep", "10m", "-log", o.log)
	if o.fault == "daemon" {
		cmd = exec.Command("sleep", "3")
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		fatal(err)
	}
}
