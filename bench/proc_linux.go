package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the CPU time that all threads of a process have used, to the
// nanosecond: the process's own CPU clock, see clock_getcpuclockid(3).
func cpuTime(pid int) (time.Duration, error) {
	const cpuclockSched = 2
	var ts unix.Timespec
	if err := unix.ClockGettime(int32(^pid)<<3|cpuclockSched, &ts); err != nil {
		return 0, fmt.Errorf("CPU clock of process %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// pin ties the calling goroutine and the children that it starts to one CPU, and
// returns what ends that. Between two CPUs a round trip over a pipe takes 7 or 70
// us, as the scheduler places the two processes; on one it is what they do.
func pin() (func(), error) {
	var all, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return nil, err
	}
	for cpu := range 1024 {
		if all.IsSet(cpu) {
			one.Zero()
			one.Set(cpu) // the last one: the first has the interrupts
		}
	}
	runtime.LockOSThread()
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		runtime.UnlockOSThread()
		return nil, err
	}
	return func() {
		if unix.SchedSetaffinity(0, &all) == nil {
			runtime.UnlockOSThread() // else the thread ends with its goroutine
		}
	}, nil
}

// resident is a line of /proc/PID/status in bytes: VmRSS, or VmHWM for its peak.
func resident(pid int, key string) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, key+":"); ok {
			n, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(v), " kB"))
			return float64(n) * 1024, err
		}
	}
	return 0, fmt.Errorf("no %s for process %d", key, pid)
}
