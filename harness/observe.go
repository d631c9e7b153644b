package harness

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
)

// A delivery is one notification to one backend. It belongs to a call, which
// waits for it; whoever takes it out of the waiting state ends it.
type delivery struct {
	call   *Call
	native bool
	msg    *notice // revision draft only
	taken  atomic.Bool
}

// end is called exactly once, by whoever set taken.
func (d *delivery) end() {
	d.call.wg.Done()
	d.call.release()
}

// A queue holds the notifications for one backend and delivers them one after
// another, in the order of their settlements. Putting one in never waits
// (V-COMP-3).
type queue struct {
	h    *Harness
	b    *backend
	ch   chan *delivery
	quit chan struct{}

	mu      sync.Mutex
	started bool
	stopped bool
	wg      sync.WaitGroup
}

func newQueue(h *Harness, b *backend) *queue {
	return &queue{h: h, b: b, ch: make(chan *delivery, h.opts.ObserveQueue), quit: make(chan struct{})}
}

// put reports whether d was queued.
func (q *queue) put(d *delivery) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopped {
		return false
	}
	if !q.started {
		q.started = true
		q.wg.Go(q.run)
	}
	select {
	case q.ch <- d:
		return true
	default:
		return false
	}
}

func (q *queue) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.stopped {
		q.stopped = true
		close(q.quit)
	}
}

func (q *queue) wait() { q.wg.Wait() }

func (q *queue) run() {
	for {
		select {
		case <-q.quit:
			for {
				select {
				case d := <-q.ch:
					if !d.taken.Swap(true) {
						q.h.stats.failed.Add(1)
						d.end()
					}
				default:
					return
				}
			}
		case d := <-q.ch:
			if d.taken.Swap(true) {
				continue // its call has given it up
			}
			q.deliver(d)
			d.end()
		}
	}
}

func (q *queue) deliver(d *delivery) {
	if d.msg != nil {
		q.deliverDraft(d)
		return
	}
	frame, err := d.call.observation(d.native, q.b.local)
	var f *ahp.Failure
	if err != nil {
		f = &ahp.Failure{Class: ahp.FailEvent, Err: err}
	} else {
		deadline := timeNow().Add(q.h.opts.ObserveTimeout)
		if d.call.budgetEnd.Before(deadline) {
			deadline = d.call.budgetEnd
		}
		ctx, cancel := context.WithDeadline(d.call.ctx, deadline)
		f = q.tell(ctx, frame)
		cancel()
	}
	if f == nil {
		q.h.stats.observed.Add(1)
		return
	}
	q.h.stats.failed.Add(1)
	q.h.opts.Logger.Warn("observation was not delivered", failureArgs(q.b, f, "")...)
}

func (q *queue) tell(ctx context.Context, frame []byte) (f *ahp.Failure) {
	defer func() {
		if recover() != nil {
			f = &ahp.Failure{Class: ahp.FailInternal, Err: errPanic}
		}
	}()
	return q.b.carrier.Tell(ctx, frame)
}

// frames holds the notifications of one event. They are encoded when the first
// delivery needs them, off the decision's path.
type frames struct {
	once  [4]sync.Once
	frame [4][]byte
	err   [4]error
}

// observation returns the notification of the call's event. Each form is made
// once, so that all observers get the same bytes.
func (c *Call) observation(native, local bool) ([]byte, error) {
	i := c.form(native, local)
	o := c.observed
	o.once[i].Do(func() {
		b, err := wire01.AppendObserve(nil, c.outward(i))
		if err == nil && len(b) > c.h.opts.MaxEventBytes {
			err = ErrEvent
		}
		// No spare capacity: two carriers may hold the frame at once.
		o.frame[i], o.err[i] = slices.Clip(b), err
	})
	return o.frame[i], o.err[i]
}
