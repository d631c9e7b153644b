//go:build !race

package jcs_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/jcs"
)

// The race detector makes sync.Pool drop items at random, so allocations are
// counted without it.
func TestAllocations(t *testing.T) {
	in := sample(4 << 10)
	dst := make([]byte, 0, 2*len(in))
	if n := testing.AllocsPerRun(200, func() {
		if _, err := jcs.Canonicalize(dst, in, jcs.Options{}); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("Canonicalize allocates %v times", n)
	}
	if n := testing.AllocsPerRun(200, func() { jcs.Check(in, jcs.Options{}) }); n > 0 {
		t.Errorf("Check allocates %v times", n)
	}
	if n := testing.AllocsPerRun(200, func() { jcs.Digest(in) }); n > 1 { // the returned string
		t.Errorf("Digest allocates %v times", n)
	}
}
