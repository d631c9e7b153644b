package gateway

import (
	"bufio"
	"io"
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
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return
	}
	defer f.Close()
	for _, m := range trimmable(f, exe) {
		for _, advice := range []int{unix.MADV_RANDOM, unix.MADV_DONTNEED} {
			_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.to-m.from, uintptr(advice))
		}
	}
}

// A mapping is a range of addresses.
type mapping struct{ from, to uintptr }

// trimmable reads smaps and returns the mappings of exe that nobody can write and that
// hold nothing but the file. Of a program that may lie anywhere (PIE), and of one that
// a C linker made, the loader writes addresses into pages that are read-only
// afterwards: those pages are in no file, and without them the program is lost.
func trimmable(smaps io.Reader, exe string) (out []mapping) {
	var m mapping
	var candidate bool
	var known int // what counts was said of the mapping, and is nothing
	lines := bufio.NewScanner(smaps)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 2 {
			continue
		}
		if !strings.HasSuffix(fields[0], ":") { // a mapping begins
			candidate, known = false, 0
			from, to, ok := strings.Cut(fields[0], "-")
			a, err1 := strconv.ParseUint(from, 16, 64)
			b, err2 := strconv.ParseUint(to, 16, 64)
			if ok && err1 == nil && err2 == nil && b > a && len(fields) == 6 && fields[5] == exe {
				candidate = fields[1] == "r-xp" || fields[1] == "r--p"
				m = mapping{uintptr(a), uintptr(b)}
			}
			continue
		}
		switch fields[0] {
		case "Anonymous:", "Swap:":
			if candidate = candidate && fields[1] == "0"; !candidate {
				continue
			}
			if known++; known == 2 {
				out = append(out, m)
			}
		}
	}
	return out
}
