package main

import (
	"syscall"
	"time"
	"unsafe"
)

// readable waits until fd, a small number, can be read, and reports false when
// the deadline comes first.
func readable(fd int, deadline time.Time) bool { return poll(fd, deadline, false) }

func writable(fd int, deadline time.Time) bool { return poll(fd, deadline, true) }

func poll(fd int, deadline time.Time, forWrite bool) bool {
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		tv := syscall.NsecToTimeval(left.Nanoseconds())
		var set syscall.FdSet
		set.Bits[0] = 1 << fd
		r, w := &set, (*syscall.FdSet)(nil)
		if forWrite {
			r, w = nil, &set
		}
		err := syscall.Select(fd+1, r, w, nil, &tv)
		if err == nil && set.Bits[0] != 0 {
			return true
		}
		if err != nil && err != syscall.EINTR {
			return true // let the call itself say what is wrong
		}
	}
}

// processStart returns when a process started, in microseconds since 1970, or 0.
func processStart(pid int) int64 {
	mib := [4]int32{1, 14, 1, int32(pid)} // CTL_KERN, KERN_PROC, KERN_PROC_PID
	// struct kinfo_proc starts with the start time, and is 648 bytes long.
	var info [648]byte
	size := uintptr(len(info))
	_, _, errno := syscall.Syscall6(syscall.SYS___SYSCTL, uintptr(unsafe.Pointer(&mib[0])), uintptr(len(mib)),
		uintptr(unsafe.Pointer(&info[0])), uintptr(unsafe.Pointer(&size)), 0, 0)
	if errno != 0 || size < 16 {
		return 0
	}
	tv := (*syscall.Timeval)(unsafe.Pointer(&info[0]))
	return tv.Sec*1e6 + int64(tv.Usec)
}

func dup(from, to int) error { return syscall.Dup2(from, to) }

func memFile([]byte) (int, bool) { return -1, false }
