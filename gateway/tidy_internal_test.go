package gateway

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestTidier holds when memory is given back: once after the start, and once after
// each burst, when it is over.
func TestTidier(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var allocated uint64
		tidied := 0
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- tidier{allocated: func() uint64 { return allocated }, tidy: func() { tidied++ }}.run(ctx)
		}()
		for _, step := range []struct {
			name string
			work uint64
			want int
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
			allocated += step.work
			time.Sleep(tidyEvery)
			synctest.Wait()
			if tidied != step.want {
				t.Errorf("%s: tidied %d times, expected %d", step.name, tidied, step.want)
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
