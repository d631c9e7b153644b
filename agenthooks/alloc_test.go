//go:build !race

package agenthooks_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// TestAllocations holds the budget of an allow emission: a fixed number of
// allocations, a fixed number more for each further interceptor, and none of it
// depends on the size of the context.
func TestAllocations(t *testing.T) {
	measure := func(p agenthooks.Profile, n, size int) float64 {
		_, s := opened(t, agenthooks.Options{Interceptors: allows(n), MaxRecords: -1, Composition: agenthooks.Composition{Profile: p}})
		e := agenthooks.BeforeTool("tc-1", "write", args(size))
		return testing.AllocsPerRun(200, func() {
			if _, err := s.Emit(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		})
	}
	for _, p := range profiles {
		one, large := measure(p, 1, 1<<10), measure(p, 1, 20<<10)
		if one > 18 {
			t.Errorf("%s: %v allocations with one interceptor", p, one)
		}
		if large > one+1 { // a pool may be emptied under way
			t.Errorf("%s: %v allocations at 1 KB, %v at 20 KB", p, one, large)
		}
		if more := (measure(p, 17, 1<<10) - one) / 16; more > 6.2 {
			t.Errorf("%s: %v allocations per further interceptor", p, more)
		}
	}
	_, s := opened(t, agenthooks.Options{Interceptors: allows(1), MaxRecords: -1})
	out, err := s.Emit(t.Context(), agenthooks.BeforeTool("tc-1", "write", args(1<<10)))
	if err != nil {
		t.Fatal(err)
	}
	c := out.Context()
	if n := testing.AllocsPerRun(200, func() { _, _ = agenthooks.Identity(c) }); n > 1 { // the string
		t.Errorf("Identity: %v allocations", n)
	}
}
