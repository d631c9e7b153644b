package main

import (
	"runtime"
	"syscall"
	"unsafe"
)

// memFile returns an open file in memory that holds b, read from its start.
func memFile(b []byte) (int, bool) {
	var number uintptr // memfd_create, which package syscall is too old to name
	switch runtime.GOARCH {
	case "amd64":
		number = 319
	case "arm64", "riscv64", "loong64":
		number = 279
	case "386":
		number = 356
	case "arm":
		number = 385
	case "ppc64le", "ppc64":
		number = 360
	case "s390x":
		number = 350
	default:
		return -1, false
	}
	name := [...]byte{'h', 'o', 'o', 'k', 0}
	fd, _, errno := syscall.Syscall(number, uintptr(unsafe.Pointer(&name[0])), 0, 0)
	if errno != 0 {
		return -1, false
	}
	return int(fd), fill(int(fd), b)
}
