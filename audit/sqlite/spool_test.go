package sqlite_test

import (
	"bufio"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/audit"
)

// A process that takes a spool in is killed again and again while lines come.
// In the end every line is in the log once, in order.
func TestSpoolKill(t *testing.T) {
	kills := 12
	if testing.Short() {
		kills = 3
	}
	dir := stateDir(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "spool")
	lines := 0
	slow := map[int]bool{} // lines that took about as long as a spool is kept, and may be lost
	write := func() {
		began := time.Now()
		f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintf(f, "%-*d\n", audit.SpoolLineBytes-1, lines); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		slow[lines] = time.Since(began) > spoolGrace/2
		lines++
	}
	for range kills {
		c := startChild(t, "ingest", dir)
		in := bufio.NewScanner(c.stdout)
		if !in.Scan() || in.Text() != "ready" {
			t.Fatalf("child said %q\n%s", in.Text(), c.stderr)
		}
		for range rand.IntN(200) {
			write()
		}
		timer := time.NewTimer(time.Duration(rand.IntN(300)) * time.Millisecond) // to vary the point
		<-timer.C
		if err := c.cmd.Process.Kill(); err != nil {
			t.Error(err)
		}
		if err := c.cmd.Wait(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Fatalf("child: %v\n%s", err, c.stderr)
		}
	}
	log := open(t, dir)
	if got, err := audit.IngestSpool(t.Context(), log, path, audit.SpoolOptions{Grace: time.Nanosecond}); err != nil || got.Torn != 0 || got.Kept != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if left, err := filepath.Glob(path + "*"); err != nil || len(left) != 0 {
		t.Errorf("left: %v, %v", left, err)
	}
	seen := map[string]int{}
	for r, err := range log.Query(t.Context(), audit.Filter{Limit: audit.MaxLimit}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[strings.TrimSpace(string(r.Data))]++
	}
	for i := range lines {
		if n := seen[fmt.Sprint(i)]; n != 1 && (n != 0 || !slow[i]) {
			t.Errorf("line %d is there %d times", i, n)
		}
		delete(seen, fmt.Sprint(i))
	}
	if len(seen) != 0 {
		t.Errorf("entries of no line: %v", seen)
	}
}
