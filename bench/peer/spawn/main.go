//go:build unix

// Command spawn runs a program and prints the peak of its resident memory in
// KiB. The peak that the system reports for a process includes the memory of
// whatever called exec, so a large parent hides a small child: this one is as
// small as a Go program gets, and its own size is the least it can report.
package main

import (
	"fmt"
	"os"
	"runtime"
	"syscall"
)

func main() {
	pid, err := syscall.ForkExec(os.Args[1], os.Args[1:], &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{0, 2, 2}, // stdout is for the figure
	})
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	var usage syscall.Rusage
	for {
		if _, err = syscall.Wait4(pid, nil, 0, &usage); err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
	kib := int64(usage.Maxrss)
	if runtime.GOOS == "darwin" {
		kib /= 1024
	}
	fmt.Println(kib)
}
