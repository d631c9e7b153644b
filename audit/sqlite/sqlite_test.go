package sqlite_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/sqlite"
	"github.com/holdpoint/holdpoint/audit/storetest"
)

func open(t testing.TB, dir string) *sqlite.Log {
	t.Helper()
	log, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Sync: audit.Always})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return log
}

func TestLog(t *testing.T) {
	storetest.Run(t, func(t *testing.T) audit.Log { return open(t, stateDir(t)) })
}
