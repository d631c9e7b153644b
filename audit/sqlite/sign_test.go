package sqlite_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/sqlite"
)

// A log signs at most once a second by itself, and does so for the last entry
// too, without another one coming; a checkpoint that is asked for comes at once.
func TestSignEvery(t *testing.T) {
	for _, mode := range []audit.Sync{audit.Always, audit.Batch} {
		t.Run(string(mode), func(t *testing.T) {
			dir := stateDir(t)
			synctest.Test(t, func(t *testing.T) {
				log := openWith(t, sqlite.Options{Dir: dir, Sync: mode})
				signed := func(want int64) {
					t.Helper()
					synctest.Wait()
					if stat, err := log.Stat(t.Context()); err != nil || stat.Signed != want {
						t.Errorf("%+v, %v, want signed %d", stat, err, want)
					}
				}
				add := func() {
					t.Helper()
					if _, err := log.Append(t.Context(), numbered(0)); err != nil {
						t.Fatal(err)
					}
				}
				// What nobody waits for may wait for more of its kind.
				var gathers time.Duration
				if mode == audit.Batch {
					gathers = 10 * time.Millisecond
				}
				add()
				time.Sleep(gathers)
				signed(1)
				add()
				add()
				time.Sleep(gathers)
				signed(1)
				time.Sleep(audit.SignEvery - 2*gathers - time.Millisecond)
				signed(1)
				time.Sleep(gathers + 2*time.Millisecond)
				signed(3)
				add()
				time.Sleep(gathers)
				signed(3)
				if c, err := log.Checkpoint(t.Context()); err != nil || c.Size != 4 {
					t.Errorf("%+v, %v", c, err)
				}
				signed(4)
				time.Sleep(time.Hour)
				signed(4)
				if err := log.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
