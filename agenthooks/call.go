package agenthooks

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// maxAbandoned bounds the calls of one callee that ran out of time and still
// run. Beyond it the callee is not called any more and its slot is a timeout:
// otherwise a hung interceptor would cost one goroutine per emission.
const maxAbandoned = 256

// calls counts what runs on behalf of a host, so that somebody can wait.
type calls struct {
	running atomic.Int64
	mu      sync.Mutex
	waiting []chan struct{}
}

func (c *calls) done() {
	if c.running.Add(-1) > 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.waiting {
		close(w)
	}
	c.waiting = nil
}

func (c *calls) wait(ctx context.Context) error {
	for {
		c.mu.Lock()
		if c.running.Load() == 0 {
			c.mu.Unlock()
			return nil
		}
		w := make(chan struct{})
		c.waiting = append(c.waiting, w)
		c.mu.Unlock()
		select {
		case <-w:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// ending says how a call ended.
type ending int

const (
	endFailed    ending = iota // an error, a panic, or runtime.Goexit
	endAnswered                // an answer in time
	endTimeout                 // too late
	endCancelled               // the host's caller gave up
)

// A call runs one callee in a goroutine of its own, so that a callee that
// hangs or panics cannot take the emission with it. It is also the callee's
// context: the caller's, ended by the time limit, by the caller, or when the
// call is over. That spares what context.WithTimeout allocates on each call.
type call[T any] struct {
	parent    context.Context
	limit     time.Time // zero for none
	timer     *time.Timer
	abandoned *atomic.Int64
	refused   bool
	look      chan struct{} // wakes the waiter; room for the answer and the timer

	mu       sync.Mutex
	done     chan struct{} // made when the callee asks for it
	err      error
	left     bool // the waiter went away without an answer
	answered bool
	answer   answer[T] // the callee's goroutine writes it; to be read when answered
}

type answer[T any] struct {
	value T
	how   ending
	what  string // type name of the error or the panic
}

var _ context.Context = (*call[Verdict])(nil)

// Deadline, Done, Err and Value make the call a context for its callee.
func (k *call[T]) Deadline() (time.Time, bool) {
	at, ok := k.parent.Deadline()
	if !k.limit.IsZero() && (!ok || k.limit.Before(at)) {
		return k.limit, true
	}
	return at, ok
}

func (k *call[T]) Done() <-chan struct{} {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.done == nil {
		k.done = make(chan struct{})
		if k.err != nil {
			close(k.done)
		}
	}
	return k.done
}

func (k *call[T]) Err() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.err
}

func (k *call[T]) Value(key any) any { return k.parent.Value(key) }

// end makes err the context's error, unless it has one. The lock is held.
func (k *call[T]) end(err error) {
	if k.err != nil {
		return
	}
	k.err = err
	if k.done != nil {
		close(k.done)
	}
}

func (k *call[T]) expire() {
	k.mu.Lock()
	k.end(context.DeadlineExceeded)
	k.mu.Unlock()
	k.look <- struct{}{}
}

// begin starts f, which writes its answer in place: a verdict that is handed
// from frame to frame makes the small stack of a new goroutine grow. A timeout
// of 0 or less means none.
func begin[T any](c *calls, ctx context.Context, timeout time.Duration, abandoned *atomic.Int64, f func(ctx context.Context, into *T) error) *call[T] {
	k := &call[T]{parent: ctx, abandoned: abandoned}
	if abandoned.Load() >= maxAbandoned {
		k.refused = true
		return k
	}
	k.look = make(chan struct{}, 2)
	if timeout > 0 {
		k.limit = time.Now().Add(timeout)
		k.timer = time.AfterFunc(timeout, k.expire)
	}
	c.running.Add(1)
	go k.run(c, f)
	return k
}

func (k *call[T]) run(c *calls, f func(context.Context, *T) error) {
	defer c.done()
	k.answer.what = "runtime.Goexit" // until something else is known
	defer k.finish()
	if err := f(k, &k.answer.value); err != nil {
		k.answer.what = fmt.Sprintf("%T", err)
		return
	}
	k.answer.how = endAnswered
}

// finish publishes the answer. It is deferred itself, so that it can recover.
func (k *call[T]) finish() {
	if r := recover(); r != nil {
		k.answer.what = fmt.Sprintf("%T", r)
	}
	k.mu.Lock()
	// Lateness is decided here, when the answer is there: the host may look at
	// it only after it waited for others.
	switch {
	case k.parent.Err() != nil:
		k.answer.how = endCancelled
	case k.err != nil:
		k.answer.how = endTimeout
	}
	k.answered = true
	if k.left {
		k.abandoned.Add(-1)
	}
	k.mu.Unlock()
	k.look <- struct{}{}
}

// wait returns the answer, or that there is none when time is up. The caller's
// end reaches the callee from here: somebody waits for each call until it is
// over, and the waits of calls side by side return one after the other as soon
// as the caller has given up.
func (k *call[T]) wait() answer[T] {
	if k.refused {
		return answer[T]{how: endTimeout}
	}
	select {
	case <-k.look:
	case <-k.parent.Done():
	}
	if k.timer != nil {
		k.timer.Stop()
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var a answer[T]
	if k.answered {
		a = k.answer
	} else {
		k.left = true
		k.abandoned.Add(1)
		a.how = endTimeout
		if k.parent.Err() != nil {
			a.how = endCancelled
		}
	}
	if err := k.parent.Err(); err != nil {
		k.end(err)
	}
	k.end(context.Canceled)
	return a
}
