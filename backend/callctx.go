package backend

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A callContext is the context of one call of a prompt handler. It ends with the
// message's own context, with the server, when its time is over, and when the call
// has returned. Unlike the contexts of the standard library it looks at the clock
// when it is asked and sets a timer only for who waits for its end, which a policy
// does not do. It may be used concurrently, and after the call.
type callContext struct {
	parent   context.Context
	server   context.Context
	deadline time.Time

	real atomic.Pointer[realContext] // made by Done

	mu       sync.Mutex
	returned bool // the call has
}

// realContext is a context with a channel and what ends it.
type realContext struct {
	context.Context
	cancel context.CancelFunc
	stop   func() bool
}

var _ context.Context = (*callContext)(nil)

func newCallContext(parent context.Context, s *Server) *callContext {
	c := &callContext{parent: parent, server: s.ctx, deadline: time.Now().Add(s.opts.Timeout)}
	if d, ok := parent.Deadline(); ok && d.Before(c.deadline) {
		c.deadline = d
	}
	return c
}

// end is called when the call has returned.
func (c *callContext) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.returned = true
	if r := c.real.Load(); r != nil {
		r.stop()
		r.cancel()
	}
}

// why says why the context has ended before the call returned, or nil.
func (c *callContext) why() error {
	switch {
	case c.Err() == nil:
		return nil
	case c.server.Err() != nil:
		return ErrUnavailable
	case c.parent.Err() != nil:
		return context.Cause(c.parent)
	}
	return errTimeout
}

// Deadline is the message's own or that of the server's Timeout.
func (c *callContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Err says whether the context has ended.
func (c *callContext) Err() error {
	if r := c.real.Load(); r != nil {
		return r.Err()
	}
	if err := c.parent.Err(); err != nil {
		return err
	}
	if c.server.Err() != nil {
		return context.Canceled
	}
	if !time.Now().Before(c.deadline) {
		return context.DeadlineExceeded
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.returned {
		return context.Canceled
	}
	return nil
}

// Done is closed when the context ends.
func (c *callContext) Done() <-chan struct{} {
	if r := c.real.Load(); r != nil {
		return r.Done()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.real.Load(); r != nil {
		return r.Done()
	}
	r := new(realContext)
	r.Context, r.cancel = context.WithDeadlineCause(c.parent, c.deadline, errTimeout)
	r.stop = context.AfterFunc(c.server, r.cancel)
	if c.returned || c.server.Err() != nil {
		r.stop()
		r.cancel() // now, not some time later
	}
	c.real.Store(r)
	return r.Done()
}

// Value is that of the message's own context. Once there is a channel, the context
// behind it answers, so that the standard library finds what derived contexts hang
// on.
func (c *callContext) Value(k any) any {
	if r := c.real.Load(); r != nil {
		return r.Value(k)
	}
	return c.parent.Value(k)
}
