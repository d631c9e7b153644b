package deep_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/internal/deep"
)

// nest takes about 20 KB of stack.
//
//go:noinline
func nest(n int) byte {
	var b [512]byte
	b[n%len(b)] = 1
	if n == 0 {
		return b[0]
	}
	return nest(n-1) + b[1]
}

// BenchmarkStack is a new goroutine with and without it.
func BenchmarkStack(b *testing.B) {
	for name, first := range map[string]func(){"plain": func() {}, "deep": deep.Stack} {
		b.Run(name, func(b *testing.B) {
			done := make(chan byte)
			for b.Loop() {
				go func() {
					first()
					done <- nest(32)
				}()
				<-done
			}
		})
	}
}

// TestStackAllocatesNothing holds that no part of the frame is on the heap.
func TestStackAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(100, deep.Stack); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
