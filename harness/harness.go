package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/transport"
)

// Errors that Settle may return beside a refusal.
var (
	// ErrClosed reports a call that was begun after Close, or ended by it.
	ErrClosed = errors.New("harness is closed")
	// ErrDuplicate reports an event whose id is under way already (V-EVT-1).
	ErrDuplicate = errors.New("an event with this id is under way")
	// ErrRecord reports that the record was not kept.
	ErrRecord = errors.New("the settlement's record was not kept")
	// ErrEvent reports an event that revision 0.1 cannot carry, or that is too
	// large.
	ErrEvent = errors.New("the event cannot be sent")
	// ErrInternal reports a fault of the harness itself.
	ErrInternal = errors.New("internal fault")
)

// A Harness asks the backends of one registration. Its methods may be called
// concurrently.
type Harness struct {
	opts     Options
	backends []*backend
	asks     []ask // interceptors of tool.before, in order
	watchers map[ahp.EventType][]watch
	pooled   bool // frames may be reused: no carrier of an interceptor keeps reading them

	mu     sync.Mutex
	closed bool
	calls  map[string]*Call // by event id, from Begin to the settlement
	active sync.WaitGroup   // settlements under way

	closeOnce sync.Once
	closeDone chan struct{}
	closeErr  error

	stats stats
}

type backend struct {
	id      string
	local   bool
	carrier transport.Carrier
	queue   *queue // nil unless it observes
}

type ask struct {
	b   *backend
	sub ahp.Subscription
}

type watch struct {
	b      *backend
	native bool
}

// New checks the registration and the options and returns a harness for them, or
// everything that is wrong with either (V-REG-1). It starts nothing: processes,
// connections and deliveries begin with the first event that needs them, and end
// with [Harness.Close].
func New(reg *ahp.Registration, o Options) (*Harness, error) {
	o, err := o.complete()
	if err := errors.Join(err, check(reg, o)); err != nil {
		return nil, err
	}
	h := &Harness{
		opts: o, pooled: true,
		watchers: map[ahp.EventType][]watch{},
		calls:    map[string]*Call{}, closeDone: make(chan struct{}),
	}
	h.opts.Capabilities.Effects = slices.Clone(o.Capabilities.Effects)
	for i := range reg.Hooks {
		rb := &reg.Hooks[i]
		c, err := transport.New(rb, o.Transport)
		if err != nil {
			return nil, fmt.Errorf("registration: /hooks/%d: %w", i, err)
		}
		b := &backend{id: rb.ID, carrier: c}
		h.backends = append(h.backends, b)
		switch rb.Transport.(type) {
		case *ahp.LocalTransport:
			b.local = true
		case *ahp.HTTPTransport:
			// The HTTP library may read a request's body after it has answered.
			h.pooled = false
		case *ahp.StdioTransport:
		}
		if rb.Auth != nil {
			lookup := o.Transport.LookupEnv
			if lookup == nil {
				lookup = lookupEnv
			}
			if v, _ := lookup(rb.Auth.TokenEnv); v == "" { // V-AMB-14
				o.Logger.Warn("bearer token is not set; messages will not be sent", "backend", b.id, "variable", rb.Auth.TokenEnv)
			}
		}
		for j := range rb.Subscriptions {
			s := rb.Subscriptions[j]
			s.Events = slices.Clone(s.Events)
			if s.Mode == ahp.ModeIntercept {
				h.asks = append(h.asks, ask{b: b, sub: s})
				continue
			}
			if b.queue == nil {
				b.queue = newQueue(h, b)
			}
			for _, e := range s.Events {
				h.watchers[e] = append(h.watchers[e], watch{b: b, native: s.IncludeNative})
			}
		}
	}
	return h, nil
}

// Close admits nothing new, refuses and records every call that is under way,
// drops queued observations, ends all I/O, and ends and reaps every process,
// within a bound: at once when ctx ends. It returns when all of this is done, or
// an error that says what could not be ended. Closing again is safe and gives
// the same result.
func (h *Harness) Close(ctx context.Context) error {
	h.closeOnce.Do(func() { h.closeErr = h.close(ctx); close(h.closeDone) })
	<-h.closeDone
	return h.closeErr
}

func (h *Harness) close(ctx context.Context) error {
	h.mu.Lock()
	h.closed = true
	under := make([]*Call, 0, len(h.calls))
	for _, c := range h.calls {
		under = append(under, c)
	}
	h.mu.Unlock()
	for _, c := range under {
		c.stop(ErrClosed)
	}
	var wg sync.WaitGroup
	errs := make([]error, len(h.backends))
	for i, b := range h.backends {
		wg.Go(func() {
			if b.queue != nil {
				b.queue.stop()
			}
			if err := b.carrier.Close(ctx); err != nil {
				errs[i] = fmt.Errorf("%s: %w", b.id, err)
			}
			if b.queue != nil {
				b.queue.wait()
			}
		})
	}
	wg.Wait()
	// A call that nobody settles leaves its record here. One that its owner is
	// settling ends by itself, because its context has ended.
	for _, c := range under {
		_, _ = c.Settle()
	}
	h.active.Wait()
	return errors.Join(errs...)
}

// Stats counts what happened beside the settlements.
type Stats struct {
	Observed       uint64 // notifications delivered
	ObserveFailed  uint64 // notifications that failed or were given up
	ObserveDropped uint64 // notifications that found a full queue
	RecordFailures uint64 // records that were not kept
}

type stats struct{ observed, failed, dropped, records atomic.Uint64 }

// Stats returns the counts so far.
func (h *Harness) Stats() Stats {
	return Stats{
		Observed:       h.stats.observed.Load(),
		ObserveFailed:  h.stats.failed.Load(),
		ObserveDropped: h.stats.dropped.Load(),
		RecordFailures: h.stats.records.Load(),
	}
}
