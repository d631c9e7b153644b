package sqlite_test

import (
	"bufio"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/sqlite"
)

// A process that appends under load is killed again and again. No entry whose
// ID it printed may be missing, and the log must verify, against every
// checkpoint that was taken on the way.
func TestKill(t *testing.T) {
	kills := 50
	if testing.Short() {
		kills = 5
	}
	dir := stateDir(t)
	seed := uint64(os.Getpid())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var held []string
	acked := map[audit.ID]string{}
	checked := audit.ID(0)
	for round := range kills {
		// From before the first answer to some hundred answers.
		killLoad(t, dir, acked, int(random.ExpFloat64()*40), time.Duration(random.IntN(3000))*time.Microsecond)

		log, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Sync: audit.Always})
		if err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		stat, err := log.Stat(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for checked < audit.ID(stat.Size) {
			for r, err := range log.Query(t.Context(), audit.Filter{From: checked, Limit: audit.MaxLimit}) {
				if err != nil {
					t.Fatal(err)
				}
				if want, ok := acked[r.ID]; ok && !strings.HasPrefix(string(r.Data), want) {
					t.Errorf("entry %d: got %.40q, acknowledged was %q", r.ID, r.Data, want)
				}
				delete(acked, r.ID)
				checked = r.ID + 1
			}
		}
		if len(acked) != 0 {
			t.Fatalf("round %d: %d acknowledged entries are missing", round, len(acked))
		}
		c, err := log.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, c.Note)
		report, err := log.Verify(t.Context(), audit.Trust{Checkpoints: held})
		if err != nil || !report.OK() || report.KnownTo != audit.ID(c.Size) {
			t.Fatalf("round %d: %+v, %v", round, report, err)
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d kills, %d entries", kills, checked)
	if checked < audit.ID(kills) {
		t.Errorf("only %d entries in %d rounds: the load was none", checked, kills)
	}
}

// killLoad runs a loading child, kills it some time after a number of answers,
// and adds what it acknowledged to acked.
func killLoad(t *testing.T, dir string, acked map[audit.ID]string, answers int, after time.Duration) {
	t.Helper()
	c := startChild(t, "load", dir)
	enough := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		lines, n := bufio.NewReader(c.stdout), 0
		if answers == 0 {
			close(enough)
		}
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				// A line without an end was not acknowledged.
				if n < answers {
					t.Errorf("the child ended by itself: %s", c.stderr)
					close(enough)
				}
				return
			}
			number, what, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			id, err := strconv.ParseInt(number, 10, 64)
			if err != nil {
				t.Errorf("child said %q", line)
			}
			if _, twice := acked[audit.ID(id)]; twice {
				t.Errorf("entry %d was acknowledged twice", id)
			}
			acked[audit.ID(id)] = what
			if n++; n == answers {
				close(enough)
			}
		}
	})
	<-enough
	timer := time.NewTimer(after) // not to wait for anything: to vary the point
	<-timer.C
	if err := c.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	wg.Wait()
	if err := c.cmd.Wait(); err == nil {
		t.Error("the child ended in order")
	}
}
