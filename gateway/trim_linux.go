package gateway

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// trimProgram gives back the pages of the program file: what its start needed
// (tables and initialisers of every library), and what was brought in around pages
// that were. They are clean pages of a file: what is needed again comes back from
// the page cache. Failures do not matter: it stays as large as it was.
func trimProgram() {
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	f, err := os.Open("/proc/self/maps")
	if err != nil {
		return
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 6 || fields[5] != exe || fields[1] != "r-xp" && fields[1] != "r--p" {
			continue
		}
		from, to, _ := strings.Cut(fields[0], "-")
		a, err1 := strconv.ParseUint(from, 16, 64)
		b, err2 := strconv.ParseUint(to, 16, 64)
		if err1 != nil || err2 != nil || b <= a {
			continue
		}
		for _, advice := range []int{unix.MADV_RANDOM, unix.MADV_DONTNEED} {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, uintptr(a), uintptr(b-a), uintptr(advice))
		}
	}
}
