package gateway

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestTidier holds when memory is given back: once after the start, and once after
// each burst, when it is over.
func TestTidier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var allocated, tidied atomic.Uint64
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- tidier{allocated: func() uint64 { return allocated.Load() }, tidy: func() { tidied.Add(1) }}.run(ctx)
		}()
		for _, step := range []struct {
			name string
			work uint64
			want uint64
		}{
			{"after the start", 0, 1},
			{"nothing happens", 0, 1},
			{"a little work", quiet - 1, 1},
			{"a burst", burst, 1},
			{"which goes on", burst, 1},
			{"it is over", quiet - 1, 2},
			{"nothing happens", 0, 2},
			{"work that adds up", burst, 2},
			{"and is over", 0, 3},
		} {
			allocated.Add(step.work)
			time.Sleep(tidyEvery)
			synctest.Wait()
			if got := tidied.Load(); got != step.want {
				t.Errorf("%s: tidied %d times, expected %d", step.name, got, step.want)
			}
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestTidierCountsWhatIsAllocated(t *testing.T) {
	r := newTidier()
	before := r.allocated()
	keep = make([]byte, 1<<20)
	if n := r.allocated() - before; before == 0 || n < 1<<20 {
		t.Errorf("%d bytes after %d", n, before)
	}
	r.tidy()
}

var keep []byte
