package sqlite_test

import (
	"path/filepath"
	"testing"
)

// stateDir is a folder that is not there yet.
func stateDir(t testing.TB) string { return filepath.Join(t.TempDir(), "state") }
