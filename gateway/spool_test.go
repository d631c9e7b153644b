//go:build linux || darwin

package gateway_test

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/hookwire"
)

// Clients append while the spool is taken again and again: every line gets into the
// log, and once.
func TestTheSpoolLosesNothingWhileItIsTaken(t *testing.T) {
	log := memoryLog(t)
	path := hookwire.SpoolPath(shortDir(t) + "/hook.sock")
	const writers, each = 8, 100
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				f := hookwire.Fallback{
					Time: time.Now(), Agent: hookwire.AgentCodex, Event: "PreToolUse", Cause: hookwire.CauseSocketMissing,
					Policy: "fail-closed", Outcome: hookwire.OutcomeRefused, PID: w*each + i + 1,
				}
				if err := hookwire.AppendSpool(path, &f); err != nil {
					t.Errorf("append: %v", err)
				}
			}
		})
	}
	ended := make(chan struct{})
	go func() { wg.Wait(); close(ended) }()
	take := func() {
		t.Helper()
		_, err := audit.IngestSpool(t.Context(), log, path, audit.SpoolOptions{
			Entry: func(l audit.SpoolLine) audit.Entry {
				f, err := hookwire.ParseSpoolLine(l.Data)
				if err != nil || l.Torn {
					t.Errorf("line %q: torn %v, %v", l.Data, l.Torn, err)
				}
				return audit.Entry{Version: 1, Kind: audit.Fallback, Time: f.Time, Data: []byte(strconv.Itoa(f.PID))}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for running := true; running; {
		select {
		case <-ended:
			running = false
		default:
		}
		take()
	}
	take() // what is written late lies in a file that stays for a while, and is read again
	seen := map[string]int{}
	for r, err := range log.Query(t.Context(), audit.Filter{Kinds: []audit.Kind{audit.Fallback}, Limit: audit.MaxLimit}) {
		if err != nil {
			t.Fatal(err)
		}
		seen[string(r.Data)]++
	}
	for pid := range writers * each {
		if n := seen[strconv.Itoa(pid+1)]; n != 1 {
			t.Fatalf("line %d is in the log %d times", pid+1, n)
		}
	}
}
