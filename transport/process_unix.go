//go:build linux || darwin

package transport

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
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

// maxRest is more than a pipe holds. Whoever still writes gets no further.
const maxRest = 1 << 20

// copyRest copies what is in a pipe and does not wait for more.
func copyRest(to io.Writer, pipe *os.File) error {
	if err := pipe.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	raw, err := pipe.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	buf := make([]byte, 32<<10)
	err = raw.Read(func(fd uintptr) bool {
		for left := maxRest; left > 0 && failed == nil; {
			n, err := syscall.Read(int(fd), buf)
			if err == syscall.EINTR {
				continue
			}
			if n <= 0 { // the end, or nothing now
				break
			}
			left -= n
			_, failed = to.Write(buf[:n])
		}
		return true
	})
	if failed != nil {
		return failed
	}
	return err
}
