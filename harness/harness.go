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
	pooled   bool   // frames may be reused: no carrier of an interceptor keeps reading them
	draft    *draft // revision draft only; asks and watchers are those of 0.1

	mu     sync.Mutex
	closed bool
	calls  map[string]*Call // by event id, from Begin to the settlement
	active sync.WaitGroup   // settlements under way

	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	closeOnce sync.Once
	closeDone chan struct{}
	closeErr  error

	stats stats
	step  func(string) // what a test does between the steps of a call; nil outside tests
}

// at names the step of a call that is reached.
func (h *Harness) at(step string) {
	if h.step != nil {
		h.step(step)
	}
}

type backend struct {
	id      string
	local   bool
	foreign bool // the carrier is the caller's
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
	version := ahp.Version01
	if reg != nil && reg.Version == ahp.VersionDraft {
		version = ahp.VersionDraft
	}
	o, err := o.complete(version)
	if version == ahp.VersionDraft {
		err = errors.Join(err, checkDraft(reg, o))
	} else {
		err = errors.Join(err, check(reg, o))
	}
	if err != nil {
		return nil, err
	}
	h := &Harness{
		opts: o, pooled: true,
		watchers: map[ahp.EventType][]watch{},
		calls:    map[string]*Call{}, closeDone: make(chan struct{}),
	}
	h.opts.Capabilities.Effects = slices.Clone(o.Capabilities.Effects)
	h.opts.Transport.Stray = func() { h.stats.strays.Add(1) }
	h.ctx, h.cancel = context.WithCancel(context.Background())
	if version == ahp.VersionDraft {
		h.draft = newDraft()
	}
	for i := range reg.Hooks {
		rb := &reg.Hooks[i]
		b := &backend{id: rb.ID, carrier: o.Carriers[rb.ID]}
		if b.foreign = b.carrier != nil; !b.foreign {
			if b.carrier, err = transport.New(rb, h.opts.Transport); err != nil {
				return nil, fmt.Errorf("registration: /hooks/%d: %w", i, err)
			}
		}
		h.backends = append(h.backends, b)
		switch rb.Transport.(type) {
		case *ahp.LocalTransport:
			b.local = true
		case *ahp.HTTPTransport:
			// The HTTP library may read a request's body after it has answered.
			h.pooled = false
		case *ahp.StdioTransport:
		}
		if b.foreign {
			h.pooled = false // who knows what it keeps
		}
		if rb.Auth != nil && rb.Auth.TokenEnv != "" {
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
			if h.draft != nil {
				h.draft.add(h, b, s, j)
				if b.queue == nil { // interceptors are told, too, when they are not asked
					b.queue = newQueue(h, b)
				}
				continue
			}
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
	if h.draft != nil {
		h.draft.route(h)
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
	h.cancel()
	var wg sync.WaitGroup
	errs := make([]error, len(h.backends))
	for i, b := range h.backends {
		wg.Go(func() {
			if b.queue != nil {
				b.queue.stop()
			}
			if b.foreign {
				if b.queue != nil {
					b.queue.wait() // its deliveries end with h.ctx
				}
				return
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
	Strays         uint64 // answers of persistent processes to no open question, dropped (draft)
}

type stats struct{ observed, failed, dropped, records, strays atomic.Uint64 }

// Stats returns the counts so far.
func (h *Harness) Stats() Stats {
	return Stats{
		Observed:       h.stats.observed.Load(),
		ObserveFailed:  h.stats.failed.Load(),
		ObserveDropped: h.stats.dropped.Load(),
		RecordFailures: h.stats.records.Load(),
		Strays:         h.stats.strays.Load(),
	}
}
