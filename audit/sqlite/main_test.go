package sqlite_test

import (
	"path/filepath"
	"testing"
)

// stateDir is a folder that is not there yet.
func stateDir(t testing.TB) string { return filepath.Join(t.TempDir(), "state") }

// steps is how many entries a child appends while its system calls are watched.
const steps = 40
