//go:build !linux && !darwin

package transport

import (
	"io"
	"os"
	"os/exec"
)

// Without process groups the child alone is ended; what it started is not.

func setGroup(*exec.Cmd) {}

// There is no TERM: closing stdin was the polite way.
func terminate(*process) {}

func kill(p *process) { _ = p.cmd.Process.Kill() }

func awaitExit(p *process) {
	_ = p.cmd.Wait() // an exit status is no error to us
	p.state = p.cmd.ProcessState
}

// reap has nothing left to do; awaitExit's end was waited for.
func reap(*process) {}

// copyRest has nothing to do: pipes have no deadlines here that could end a copy.
func copyRest(io.Writer, *os.File) error { return nil }
