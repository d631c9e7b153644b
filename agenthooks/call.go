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
// hangs or panics cannot take the emission with it.
type call[T any] struct {
	ctx       context.Context // the callee's: the caller's with the timeout
	parent    context.Context
	cancel    context.CancelFunc
	result    chan answer[T]
	over      atomic.Bool // set by whoever comes first: the end or the abandonment
	abandoned *atomic.Int64
	refused   bool
}

type answer[T any] struct {
	value T
	how   ending
	what  string // type name of the error or the panic
}

// begin starts f. A timeout of 0 or less means none.
func begin[T any](c *calls, ctx context.Context, timeout time.Duration, abandoned *atomic.Int64, f func(context.Context) (T, error)) *call[T] {
	k := &call[T]{parent: ctx, abandoned: abandoned}
	if abandoned.Load() >= maxAbandoned {
		k.refused = true
		return k
	}
	if timeout > 0 {
		k.ctx, k.cancel = context.WithTimeout(ctx, timeout)
	} else {
		k.ctx, k.cancel = context.WithCancel(ctx)
	}
	k.result = make(chan answer[T], 1)
	c.running.Add(1)
	go k.run(c, f)
	return k
}

func (k *call[T]) run(c *calls, f func(context.Context) (T, error)) {
	defer c.done()
	a := answer[T]{what: "runtime.Goexit"}
	defer func() {
		if r := recover(); r != nil {
			a = answer[T]{what: fmt.Sprintf("%T", r)}
		}
		// Lateness is decided here, when the answer is there: the host may
		// look at it only after it waited for others.
		switch {
		case k.parent.Err() != nil:
			a.how = endCancelled
		case k.ctx.Err() != nil:
			a.how = endTimeout
		}
		k.result <- a
		if !k.over.CompareAndSwap(false, true) {
			k.abandoned.Add(-1)
		}
	}()
	v, err := f(k.ctx)
	if err != nil {
		a.what = fmt.Sprintf("%T", err)
		return
	}
	a = answer[T]{value: v, how: endAnswered}
}

// wait returns the answer, or that there is none when time is up.
func (k *call[T]) wait() answer[T] {
	if k.refused {
		return answer[T]{how: endTimeout}
	}
	defer k.cancel()
	select {
	case a := <-k.result:
		return a
	case <-k.ctx.Done():
	}
	select {
	case a := <-k.result: // it came in time and waited for us
		return a
	default:
	}
	if k.over.CompareAndSwap(false, true) {
		k.abandoned.Add(1)
	}
	if k.parent.Err() != nil {
		return answer[T]{how: endCancelled}
	}
	return answer[T]{how: endTimeout}
}
