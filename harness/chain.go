package harness

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

// settle runs once. Whatever happens in it ends in a settlement and a record.
func (c *Call) settle() {
	h := c.h
	registered := c.refusal == ""
	if c.d == nil {
		c.state = settle.Start(h.opts.Capabilities)
	}
	c.fault = c.err
	c.guard(func() {
		if c.d != nil {
			c.d.open(c)
		}
		switch {
		case !registered && c.refusal == ahp.FailShutdown:
			c.giveUp("", c.refusal)
		case !registered:
			c.refuse("", c.refusal)
		case c.d != nil:
			c.chainDraft()
		default:
			c.chain()
		}
	})
	s := c.record()
	c.result = s
	if h.opts.HideReasons && (s.State == settle.Denied && !s.Synthetic || s.State == settle.Stopped) {
		c.result.Reason = HiddenReason
	}
	if registered {
		c.recycle()
		if c.d == nil {
			c.tellObservers()
		} else {
			c.tellDraft(s)
		}
		h.mu.Lock()
		delete(h.calls, c.ev.ID)
		h.mu.Unlock()
		h.active.Done()
	}
	c.release()
}

// guard turns a panic into a refusal. The value of the panic goes nowhere: it
// may quote the event.
func (c *Call) guard(f func()) {
	defer func() {
		if recover() != nil {
			c.h.opts.Logger.Error("a panic was caught; the operation is refused", "event", c.ev.ID)
			backend := ""
			if n := len(c.hops); n > 0 && c.hops[n-1].Answer == "" { // the hop under way
				hop := &c.hops[n-1]
				backend = hop.Backend
				hop.Answer, hop.Class = settle.AnswerFailure, ahp.FailInternal
			}
			c.refuse(backend, ahp.FailInternal)
			c.fault = errors.Join(c.fault, ErrInternal)
		}
	}()
	f()
}

// refuse ends the chain of either revision.
func (c *Call) refuse(backend string, class ahp.FailureClass) {
	if c.d != nil {
		c.d.b = c.d.b.Refuse(backend, class)
		return
	}
	c.state = c.state.Refuse(backend, class)
}

// giveUp ends a chain that cannot be completed: revision draft has a state for it
// (D-INT-5).
func (c *Call) giveUp(backend string, class ahp.FailureClass) {
	if c.d != nil {
		c.d.b = c.d.b.Interrupt(class)
		return
	}
	c.state = c.state.Refuse(backend, class)
}

// chain asks the interceptors one after another, in the order of the
// registration, until one stops it (AHP-COMP-001, V-COMP-1).
func (c *Call) chain() {
	h := c.h
	if c.ev.Type != ahp.ToolBefore {
		if !c.ev.Type.Known() {
			c.fault = ErrEvent
			c.state = c.state.Refuse("", ahp.FailEvent)
		}
		return
	}
	c.hops = make([]settle.Hop, 0, len(h.asks))
	for i := range h.asks {
		if class := c.over(timeNow()); class != "" {
			c.state = c.state.Refuse("", class)
			return
		}
		c.ask(&h.asks[i])
		if c.state.Done() {
			return
		}
	}
	// The last answer may have come together with the end of the call.
	if class := c.over(timeNow()); class != "" && len(h.asks) > 0 {
		c.state = c.state.Refuse("", class)
	}
}

// over says why the call as a whole may not go on, or "". This is no failure of
// a backend, and no failure policy turns it into a permission.
func (c *Call) over(now time.Time) ahp.FailureClass {
	if c.ctx.Err() != nil {
		if why := c.stopped.Load(); why != nil && c.fault == nil {
			c.fault = *why
		}
		if errors.Is(context.Cause(c.ctx), context.DeadlineExceeded) {
			return ahp.FailDeadline // the caller's own budget, not a caller who left
		}
		return ahp.FailShutdown
	}
	if !now.Before(c.budgetEnd) {
		return ahp.FailDeadline
	}
	return ""
}

// ask asks one interceptor and takes its answer into the state.
func (c *Call) ask(a *ask) {
	h := c.h
	start := timeNow()
	deadline := start.Add(a.sub.Timeout) // absolute: everything below spends it (V-DL-2)
	if c.budgetEnd.Before(deadline) {
		deadline = c.budgetEnd
	}
	c.hops = append(c.hops, settle.Hop{
		Backend: a.b.id, Mode: ahp.ModeIntercept, StartNs: int64(start.Sub(c.began)),
	})
	hop := &c.hops[len(c.hops)-1]

	c.effects = nil
	frame, err := c.question(a)
	var f *ahp.Failure
	if err != nil {
		f = &ahp.Failure{Class: ahp.FailEvent, Err: err}
	} else {
		parent := c.ctx
		if a.b.local {
			if c.inner == nil {
				c.inner = settle.WithNotes(c.ctx, &c.notes)
			}
			parent = c.inner
		}
		ctx, cancel := context.WithDeadline(parent, deadline)
		hop.Attempts, f = c.send(ctx, a.b.carrier, frame)
		cancel()
	}
	now := timeNow()
	hop.TookNs = int64(now.Sub(start))
	if f == nil && now.After(deadline) {
		f = &ahp.Failure{Class: ahp.FailLate} // V-DL-4, V-FC-11
	}
	step := settle.Step{
		Backend: a.b.id, Policy: a.sub.FailurePolicy, Effects: c.effects, Failure: f,
		EventByPolicy: h.opts.EventByPolicy,
	}
	if f != nil {
		f.Backend, step.Effects = a.b.id, nil
		if class := c.over(now); class != "" {
			hop.Answer, hop.Class, hop.FailureCode = settle.AnswerFailure, f.Class, f.Code
			c.state = c.state.Refuse(a.b.id, class)
			return
		}
	}
	var v settle.Verdict
	c.state, v = c.state.Apply(step)
	if err != nil && c.state.Done() {
		c.fault = fmt.Errorf("%w: %w", ErrEvent, err)
	}
	hop.Answer, hop.Policy = v.Answer, v.Policy
	if v.Failure != nil {
		hop.Class, hop.FailureCode = v.Failure.Class, v.Failure.Code
		h.opts.Logger.Warn("interceptor gave no usable answer", failureArgs(a.b, v.Failure, v.Policy)...)
	}
}

// send sends the question, again only after a lost connection and only inside
// the first deadline, with the same bytes (V-RETRY-1, V-RETRY-2); an answer that
// was accepted ends it (V-RETRY-3).
func (c *Call) send(ctx context.Context, to transport.Carrier, frame []byte) (attempts int, f *ahp.Failure) {
	if c.x.Accept == nil {
		c.x = transport.Exchange{ID: c.ev.ID, Accept: c.accept}
		if c.d != nil {
			c.x.Accept = c.acceptDraft
		}
	}
	c.x.Frame = frame
	for attempts = 1; ; attempts++ {
		f = to.Ask(ctx, &c.x)
		if f == nil || f.Class != ahp.FailConnection || attempts > c.h.opts.Retries || ctx.Err() != nil {
			return attempts, f
		}
	}
}

// accept reads an answer, which is untrusted whoever sent it (V-ROLE-2).
func (c *Call) accept(answer []byte) *ahp.Failure {
	effects, f := wire01.DecodeResponse(answer, c.ev.ID, c.h.opts.Capabilities,
		wire01.Limits{MaxBytes: c.h.opts.Transport.MaxAnswerBytes})
	if f != nil {
		return f
	}
	c.effects = effects
	return nil
}

var framePool = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// form numbers the forms of an event: with the native payload or without it,
// and whole or with the least session.
func (c *Call) form(native, local bool) int {
	i := 0
	if native && c.ev.Native != nil {
		i |= 1
	}
	if c.h.opts.MinimalSession && !local {
		i |= 2
	}
	return i
}

// outward is the event in one of its forms. Native data leaves only where the
// subscription asks for it (V-NAT-1).
func (c *Call) outward(form int) *ahp.Event {
	if form == 1 || form == 0 && c.ev.Native == nil {
		return &c.ev
	}
	ev := c.ev
	if form&1 == 0 {
		ev.Native = nil
	}
	if form&2 != 0 {
		ev.Session = ahp.Session{ID: ev.Session.ID} // V-EVT-3
	}
	return &ev
}

// question returns the request frame for one interceptor. All that get the same
// form get the same bytes.
func (c *Call) question(a *ask) ([]byte, error) {
	i := c.form(a.sub.IncludeNative, a.b.local)
	if c.frame[i] != nil {
		return c.frame[i], nil
	}
	var dst []byte
	if c.h.pooled {
		c.pool[i] = framePool.Get().(*[]byte)
		dst = (*c.pool[i])[:0]
	}
	b, err := wire01.AppendIntercept(dst, c.outward(i), c.h.opts.Capabilities, nil)
	if err != nil {
		return nil, err
	}
	if len(b) > c.h.opts.MaxEventBytes {
		return nil, fmt.Errorf("the encoded event has %d bytes, at most %d are allowed", len(b), c.h.opts.MaxEventBytes)
	}
	b = append(b, '\n') // behind the frame, where a stdio carrier finds it
	c.frame[i] = b[:len(b)-1]
	return c.frame[i], nil
}

// recycle gives frames back that nobody can still be reading: after a failure a
// carrier or a local function might.
func (c *Call) recycle() {
	if !c.h.pooled {
		return
	}
	for i := range c.hops {
		if a := c.hops[i].Answer; a != settle.AnswerNone && a != settle.AnswerDeny {
			return
		}
	}
	for i, p := range c.pool {
		if b := c.frame[i]; p != nil && b != nil && cap(b) <= 64<<10 {
			*p = b
			c.frame[i], c.pool[i] = nil, nil
			framePool.Put(p)
		}
	}
}

// tellObservers queues the notifications of the event. After the settlement, so
// that they cannot delay it; an interceptor is no observer (V-AMB-13).
func (c *Call) tellObservers() {
	h := c.h
	watchers := h.watchers[c.ev.Type]
	if len(watchers) == 0 {
		return
	}
	if c.ctx.Err() != nil {
		h.stats.failed.Add(uint64(len(watchers)))
		return
	}
	c.observed = new(frames)
	all := make([]delivery, len(watchers))
	// All of them count before the first can end.
	c.wg.Add(len(watchers))
	c.pending.Add(int32(len(watchers)))
	c.deliveries = make([]*delivery, len(watchers))
	for i := range watchers {
		all[i].call, all[i].native = c, watchers[i].native
		c.deliveries[i] = &all[i]
	}
	for i, w := range watchers {
		d := c.deliveries[i]
		if !w.b.queue.put(d) && !d.taken.Swap(true) {
			h.stats.dropped.Add(1)
			d.end()
		}
	}
}

// failureArgs gives a log class, code and cause. A cause from this process's own
// backends stays out: it may quote the event.
func failureArgs(b *backend, f *ahp.Failure, policy ahp.FailurePolicy) []any {
	args := make([]any, 0, 12)
	args = append(args, "backend", b.id, "class", string(f.Class))
	if policy != "" {
		args = append(args, "policy", string(policy))
	}
	if f.Code != 0 {
		args = append(args, "code", f.Code)
	}
	if f.Pointer != "" {
		args = append(args, "pointer", f.Pointer)
	}
	if f.Err != nil && !b.local {
		args = append(args, "cause", f.Err.Error())
	}
	return args
}
