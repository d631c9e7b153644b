package main

import (
	"strconv"
	"syscall"
	"time"
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
		n, err := syscall.Select(fd+1, r, w, nil, &tv)
		if n > 0 {
			return true
		}
		if err != nil && err != syscall.EINTR {
			return true // let the call itself say what is wrong
		}
	}
}

// processStart returns when a process started, in clock ticks since boot, or 0.
func processStart(pid int) int64 {
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer syscall.Close(fd)
	var buf [1024]byte
	n, err := syscall.Read(fd, buf[:])
	if err != nil || n <= 0 {
		return 0
	}
	return startIn(buf[:n])
}

// startIn reads field 22. The second field, a name in parentheses, may hold
// anything, so the count starts behind the last parenthesis.
func startIn(stat []byte) int64 {
	i := len(stat) - 1
	for i >= 0 && stat[i] != ')' {
		i--
	}
	if i < 0 {
		return 0
	}
	field := 2
	for i++; i < len(stat); i++ {
		if stat[i] != ' ' {
			continue
		}
		if field++; field == 22 {
			end := i + 1
			for end < len(stat) && stat[end] != ' ' {
				end++
			}
			n, err := strconv.ParseInt(string(stat[i+1:end]), 10, 64)
			if err != nil {
				return 0
			}
			return n
		}
	}
	return 0
}

func dup(from, to int) error { return syscall.Dup3(from, to, 0) }
