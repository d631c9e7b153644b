package harness

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

// HiddenReason is what the agent is shown under [Options.HideReasons].
const HiddenReason = "A policy refused this operation."

var errPanic = errors.New("a panic was caught")

func lookupEnv(name string) (string, bool) { return os.LookupEnv(name) }

func timeNow() time.Time { return time.Now() }

// A Call is one event on its way through the chain. It owns every delivery that
// it starts.
type Call struct {
	h         *Harness
	ev        ahp.Event // own copy; what its slices point to is the caller's
	began     time.Time
	budgetEnd time.Time
	ctx       context.Context
	cancel    context.CancelFunc
	notes     settle.Notes
	refusal   ahp.FailureClass // why no backend is asked at all; empty when they are
	err       error            // goes with refusal
	stopped   atomic.Pointer[error]

	once   sync.Once
	result settle.Settlement
	fault  error

	// The settlement under way; only the goroutine that settles uses these.
	state   settle.Chain
	d       *draftCall // in place of state in revision draft
	hops    []settle.Hop
	x       transport.Exchange
	effects []ahp.Effect // what the answer of the hop under way holds
	frame   [4][]byte    // the question by form, made when first needed
	pool    [4]*[]byte   // where a frame's memory came from
	inner   context.Context

	wg         sync.WaitGroup // deliveries
	pending    atomic.Int32   // deliveries and the settlement; the last one ends ctx
	deliveries []*delivery
	observed   *frames // nil without deliveries
}

// Begin starts a call about ev: its budget runs from now. It asks nobody yet;
// [Call.Settle] does. An empty ID, Source or Time of ev is filled in. What ev
// points to must not change until [Call.Wait] has returned. ctx bounds the whole
// call, deliveries to observers included: when it ends before the settlement,
// the settlement is a refusal. Every call must be settled or waited for.
func (h *Harness) Begin(ctx context.Context, ev *ahp.Event) *Call { return h.begin(ctx, ev, nil) }

// begin begins a call whose caller checks the effective event as well.
func (h *Harness) begin(ctx context.Context, ev *ahp.Event, check func(*ahp.Event) error) *Call {
	now := timeNow()
	var c *Call
	if h.draft != nil {
		x := &callDraft{d: draftCall{check: check}}
		c = &x.Call
		c.d = &x.d
	} else {
		c = new(Call)
	}
	c.h, c.began, c.budgetEnd = h, now, now.Add(h.opts.Budget)
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.pending.Store(1)
	if ev == nil {
		c.refusal, c.err = ahp.FailEvent, ErrEvent
		c.complete()
		return c
	}
	c.ev = *ev
	c.complete()
	if c.d != nil {
		if c.refusal, c.err = h.draft.admit(c); c.refusal != "" {
			return c
		}
	}

	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		c.refusal, c.err = ahp.FailShutdown, ErrClosed
	case h.calls[c.ev.ID] != nil:
		c.refusal, c.err = ahp.FailEvent, ErrDuplicate
	default:
		h.calls[c.ev.ID] = c
		h.active.Add(1)
	}
	return c
}

func (c *Call) complete() {
	if c.ev.ID == "" {
		c.ev.ID = NewID()
	}
	if c.ev.Source == "" {
		c.ev.Source = c.h.opts.Source
	}
	if c.ev.Time == "" {
		c.ev.Time = c.began.UTC().Format(time.RFC3339Nano)
	}
}

// ID is the id of the call's event.
func (c *Call) ID() string { return c.ev.ID }

// Note adds details to the call's record: names and digests that an adapter
// knows. After the settlement it has no effect. It may be called concurrently.
func (c *Call) Note(d settle.Details) { c.notes.Add(d) }

// Settle asks the interceptors and returns the settlement; it blocks until then,
// at most until the budget or the context given to Begin ends. Events that
// cannot be intercepted settle at once. The record is kept before Settle
// returns, and observers are told afterwards. Whatever the error, the settlement
// holds: it refuses with [ErrClosed], [ErrDuplicate], [ErrEvent], [ErrInternal]
// and, under [RecordDeny], [ErrRecord]. Settling again returns the same.
func (c *Call) Settle() (settle.Settlement, error) {
	c.once.Do(c.settle)
	return c.result, c.fault
}

// Wait returns when every delivery to an observer has ended or was given up. If
// ctx or the budget ends first it gives up the rest, still waits for those under
// way to end, and returns ctx's cause when that was the reason. A call that was
// not settled is refused and recorded by it.
func (c *Call) Wait(ctx context.Context) error {
	stop := context.AfterFunc(ctx, c.cancel)
	c.once.Do(func() { c.cancel(); c.settle() })
	if len(c.deliveries) > 0 {
		drop := context.AfterFunc(c.ctx, c.dropQueued)
		budget := time.AfterFunc(time.Until(c.budgetEnd), c.cancel)
		c.wg.Wait()
		budget.Stop()
		drop()
	}
	if !stop() {
		return context.Cause(ctx)
	}
	return nil
}

// dropQueued gives up the deliveries that still wait for their turn.
func (c *Call) dropQueued() {
	for _, d := range c.deliveries {
		if !d.taken.Swap(true) {
			c.h.stats.failed.Add(1)
			d.end()
		}
	}
}

// stop ends the call from outside.
func (c *Call) stop(why error) {
	c.stopped.CompareAndSwap(nil, &why)
	c.cancel()
}

func (c *Call) release() {
	if c.pending.Add(-1) == 0 {
		c.cancel()
	}
}
