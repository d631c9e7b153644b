package gateway

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

func TestTrimProgramGivesPagesBack(t *testing.T) {
	bringIn(t) // else there is nothing to give back when the test before has done so
	before := rssFileKB(t)
	trimProgram()
	if after := rssFileKB(t); after >= before {
		t.Errorf("file pages in memory: %d kB before, %d kB after", before, after)
	}
}

// bringIn reads all of the program's pages where they are mapped.
func bringIn(t *testing.T) {
	t.Helper()
	exe, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	smaps, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Fatal(err)
	}
	defer smaps.Close()
	mem, err := os.Open("/proc/self/mem")
	if err != nil {
		t.Fatal(err)
	}
	defer mem.Close()
	for _, m := range trimmable(smaps, exe) {
		if _, err := io.Copy(io.Discard, io.NewSectionReader(mem, int64(m.from), int64(m.to-m.from))); err != nil {
			t.Fatal(err)
		}
	}
}

func rssFileKB(t *testing.T) int {
	t.Helper()
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if v, ok := strings.CutPrefix(line, "RssFile:"); ok {
			n, err := strconv.Atoi(strings.Fields(v)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Skip("this kernel does not tell RssFile")
	return 0
}

// Pages that were written are in no file: a loader does that to a PIE program, whose
// pages are read-only afterwards, and to lose them is to lose the program.
func TestTrimProgramLeavesPagesThatWereWritten(t *testing.T) {
	page := os.Getpagesize()
	file := filepath.Join(t.TempDir(), "program")
	if err := os.WriteFile(file, make([]byte, page), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	list := func() []mapping {
		smaps, err := os.Open("/proc/self/smaps")
		if err != nil {
			t.Skip("this kernel has no smaps")
		}
		defer smaps.Close()
		return trimmable(smaps, file)
	}
	mem, err := unix.Mmap(int(f.Fd()), 0, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mem) }()
	at := uintptr(unsafe.Pointer(&mem[0]))
	if got := list(); len(got) != 0 {
		t.Errorf("%v: a mapping that can be written", got)
	}
	if err := unix.Mprotect(mem, unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	if got := list(); len(got) != 1 || got[0] != (mapping{at, at + uintptr(page)}) {
		t.Errorf("%v, want the mapping at %x as long as it is the file", got, at)
	}
	if err := unix.Mprotect(mem, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		t.Fatal(err)
	}
	mem[0] = 'x'
	if err := unix.Mprotect(mem, unix.PROT_READ); err != nil {
		t.Fatal(err)
	}
	if got := list(); len(got) != 0 {
		t.Errorf("%v: a page that was written would be dropped", got)
	}
}
