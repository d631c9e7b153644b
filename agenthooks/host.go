package agenthooks

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// An Interceptor answers at each point of the loop.
//
// Intercept is called concurrently, once per emission. When ctx ends the host
// has moved on: return, a late answer is dropped. An error, a panic or an
// answer that the gate refuses is a deny in this interceptor's slot; nothing
// that goes wrong opens anything (AH 6.3).
type Interceptor interface {
	Intercept(ctx context.Context, c *Context) (Verdict, error)
}

// InterceptorFunc is a function that serves as an [Interceptor].
type InterceptorFunc func(context.Context, *Context) (Verdict, error)

// Intercept calls f.
func (f InterceptorFunc) Intercept(ctx context.Context, c *Context) (Verdict, error) {
	return f(ctx, c)
}

// A Registration is an interceptor in its place. The place is its index.
type Registration struct {
	Interceptor Interceptor
	Name        string        // stands on records; free of payload, may be ""
	Namespace   string        // its labels come back as extensions.<Namespace>.source_labels; "" for never
	Timeout     time.Duration // zero means [Options.Timeout]; negative means none
}

// DefaultTimeout bounds one call of an interceptor, a redactor or the resolver
// (AH-7-3).
const DefaultTimeout = 5 * time.Second

// Options configures a [Host]. [New] copies it; later changes have no effect.
type Options struct {
	AgentID      string // names the agent's definition across sessions; required
	Framework    string // [a-z0-9_-]+; required
	AgentName    string
	AgentVersion string

	Interceptors []Registration // in order; without any, each emission is denied (AH-7-2)
	Composition  Composition    // zero means first_deny with stop
	Mode         Mode           // zero means [Enforce]
	ModeAt       map[Point]Mode // overrides Mode at single points

	Resolver Resolver         // lifts liftable denies; nil means that they stand
	Redactor Redactor         // what the resolver may see; nil shows it all
	Identity IdentityProvider // zero means jcs-sha256

	Timeout time.Duration // of one call; zero means [DefaultTimeout], negative means none

	Sink       func(*Record) // gets each record before it is buffered, from the emitting goroutine; a panic is dropped
	MaxRecords int           // records kept in memory: zero means all, negative none; the oldest go first

	MaxContextBytes int // of a context's text; zero means 5 MiB
	MaxDepth        int // of a context; zero means 128 levels

	Now func() time.Time // the clock of timestamps; nil means time.Now
}

// A Host runs the contract for one agent. It may be used concurrently.
type Host struct {
	o        Options
	frame    frame
	regs     []registration
	resolver atomic.Int64 // abandoned calls of resolver and redactor
	identity *string      // declared provider
	bounds   bounds
	calls    calls
	records  recordBuffer
}

type registration struct {
	Registration
	timeout   time.Duration
	abandoned atomic.Int64
}

// New returns a host. It refuses a configuration with all that is wrong in it.
func New(o Options) (*Host, error) {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	h := &Host{}
	if o.AgentID == "" || strings.ToValidUTF8(o.AgentID, "") != o.AgentID {
		fail("agent id: required, as UTF-8 text")
	}
	if !frameworkPattern(o.Framework) {
		fail("framework: %q must match ^[a-z0-9_-]+$", o.Framework)
	}
	if strings.ToValidUTF8(o.AgentName+o.AgentVersion, "") != o.AgentName+o.AgentVersion {
		fail("agent name, version: must be UTF-8 text")
	}
	var err error
	if o.Composition, err = o.Composition.complete(); err != nil {
		errs = append(errs, err)
	}
	if o.Mode, err = o.Mode.complete(Enforce); err != nil {
		errs = append(errs, err)
	}
	errs = append(errs, checkModes(o.ModeAt)...)
	o.ModeAt = maps.Clone(o.ModeAt)
	if err := o.Identity.validate(); err != nil {
		errs = append(errs, err)
	}
	if o.Timeout == 0 {
		o.Timeout = DefaultTimeout
	}
	h.regs = make([]registration, len(o.Interceptors))
	for i, r := range o.Interceptors {
		if r.Interceptor == nil {
			fail("interceptors[%d]: nil", i)
		}
		if r.Namespace != "" && !namespacePattern(r.Namespace) {
			fail("interceptors[%d]: namespace %q must match ^[a-z][a-z0-9_]*$", i, r.Namespace)
		}
		if strings.ToValidUTF8(r.Name, "") != r.Name {
			fail("interceptors[%d]: name must be UTF-8 text", i)
		}
		h.regs[i].Registration = r
		h.regs[i].timeout = r.Timeout
		if r.Timeout == 0 {
			h.regs[i].timeout = o.Timeout
		}
	}
	o.Interceptors = slices.Clone(o.Interceptors)
	h.bounds = bounds{o.MaxContextBytes, o.MaxDepth}
	if o.MaxContextBytes == 0 {
		h.bounds.bytes = DefaultMaxContextBytes
	}
	if o.MaxDepth == 0 {
		h.bounds.depth = DefaultMaxDepth
	}
	if h.bounds.bytes < 0 || h.bounds.depth < 0 || h.bounds.depth > maxVerdictDepth {
		fail("bounds: MaxContextBytes must not be negative, MaxDepth must be from 0 to %d", maxVerdictDepth)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if !o.Identity.none {
		name := o.Identity.Name()
		h.identity = &name
	}
	h.records.max = o.MaxRecords
	h.o = o
	h.frame.setAgent(&o)
	return h, nil
}

func (m Mode) complete(zero Mode) (Mode, error) {
	switch m {
	case "":
		return zero, nil
	case Enforce, EvaluateOnly:
		return m, nil
	}
	return zero, fmt.Errorf("mode: %q is not %q or %q", m, Enforce, EvaluateOnly)
}

func checkModes(at map[Point]Mode) (errs []error) {
	for _, p := range slices.Sorted(maps.Keys(at)) {
		if !p.Valid() {
			errs = append(errs, fmt.Errorf("mode at %q: not one of the eight points", p))
		}
		if m := at[p]; m != Enforce && m != EvaluateOnly {
			errs = append(errs, fmt.Errorf("mode at %q: %q is not %q or %q", p, m, Enforce, EvaluateOnly))
		}
	}
	return errs
}

func (f *frame) setAgent(o *Options) {
	// The strings were checked, so quoting cannot fail.
	put := func(s, name, v string) (string, span) {
		q, _ := quoted(v)
		s += `"` + name + `":`
		return s + q, span{len(s), len(s) + len(q)}
	}
	s := "{"
	s, f.agentID = put(s, "id", o.AgentID)
	s, f.framework = put(s+",", "framework", o.Framework)
	if o.AgentName != "" {
		s, _ = put(s+",", "name", o.AgentName)
	}
	if o.AgentVersion != "" {
		s, _ = put(s+",", "version", o.AgentVersion)
	}
	f.agent = s + "}"
}

// Wait returns when no interceptor, resolver or redactor runs any more: calls
// that ran out of time may still be at work after their emission. Call it
// before the program ends. It returns ctx's cause when ctx ends first.
func (h *Host) Wait(ctx context.Context) error { return h.calls.wait(ctx) }

// Records returns the buffered records, oldest first.
func (h *Host) Records() []*Record { return h.records.list(false) }

// TakeRecords returns the buffered records, oldest first, and empties the
// buffer.
func (h *Host) TakeRecords() []*Record { return h.records.list(true) }

// DroppedRecords is how many records the buffer lost to [Options].MaxRecords.
func (h *Host) DroppedRecords() uint64 { return h.records.lost() }

// deliver hands a record to the sink and then to the buffer (AH-10.3-8).
func (h *Host) deliver(r *Record) {
	if h.o.Sink != nil {
		func() {
			defer func() { _ = recover() }() // the contract: a sink changes nothing
			h.o.Sink(r)
		}()
	}
	h.records.add(r)
}
