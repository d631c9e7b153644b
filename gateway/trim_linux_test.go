package gateway

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestTrimProgramGivesPagesBack(t *testing.T) {
	before := rssFileKB(t)
	trimProgram()
	if after := rssFileKB(t); after >= before {
		t.Errorf("file pages in memory: %d kB before, %d kB after", before, after)
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
