//go:build linux || darwin

package transport

import (
	"os/exec"
	"syscall"
)

// setGroup puts the child into a process group of its own, named by its pid.
func setGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// terminate and kill signal the whole group. They are called through
// process.signal: while the child is not reaped the number cannot belong to
// anybody else.
func terminate(p *process) { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM) }

func kill(p *process) { _ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) }

func awaitExit(p *process) { waitNoReap(p.cmd.Process.Pid) }

func reap(p *process) {
	_ = p.cmd.Wait() // an exit status is no error to us
	p.state = p.cmd.ProcessState
}
