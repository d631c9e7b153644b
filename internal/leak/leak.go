// Package leak looks for goroutines that tests leave behind.
package leak

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// patience is how long what ends gets to end. Only what never ends takes it all:
// on a busy machine the half second that goleak waits by itself is soon over.
const patience = time.Minute

// Find waits until there are no goroutines but those that o takes out, for up to a
// minute, and returns an error that names those that stay.
func Find(o ...goleak.Option) error {
	var err error
	for began := time.Now(); time.Since(began) < patience; {
		if err = goleak.Find(o...); err == nil {
			return nil
		}
	}
	return err
}

// Main runs the tests of m and returns the exit code, which is not zero either when
// [Find] does find something. A package's TestMain calls it.
func Main(m *testing.M, o ...goleak.Option) int {
	code := m.Run()
	if code != 0 {
		return code
	}
	if err := Find(o...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}
