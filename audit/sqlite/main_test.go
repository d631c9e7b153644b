package sqlite_test

import (
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// stateDir is a folder that is not there yet.
func stateDir(t testing.TB) string { return filepath.Join(t.TempDir(), "state") }
