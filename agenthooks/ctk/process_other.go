//go:build !unix

package ctk

import "os/exec"

// Without process groups the child alone is ended; what it started is not.

func setGroup(*exec.Cmd) {}

func terminateGroup(cmd *exec.Cmd) { killGroup(cmd) }

func reap(cmd *exec.Cmd) error { return cmd.Wait() }

func killGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
