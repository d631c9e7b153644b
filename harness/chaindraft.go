package harness

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/settle"
)

// draftCall is the part of a [Call] that revision draft needs. Only the goroutine
// that settles uses it, except for what tellDraft hands over.
type draftCall struct {
	route *route
	b     settle.Boundary
	check func(*ahp.Event) error // the typed caller's own check; nil for none

	host   *ahp.Capabilities // what the host can enforce at this event
	asks   []*sub
	called int // how many of asks have been asked: their deliveries were begun (D-OBS-5)
	failed []failedHop

	offer *ahp.Capabilities // of the hop under way
	shown *ahp.Event        // the same
	views []shownView
	first [1]shownView // memory of views
	dirty bool         // a carrier may still be reading the frame
	buf   *[]byte      // memory of frames
}

// A shownView is the view that one kind of lens has of one effective event, and its
// text, which is encoded once however many subscriptions get it.
type shownView struct {
	key  int
	from *ahp.Event
	view
	text []byte  // nil before the first need
	pool *[]byte // where the text's memory came from; nil when it is not to be used again
}

// A callDraft is a call of revision draft and its part in one piece of memory.
type callDraft struct {
	Call
	d draftCall
}

// A failedHop is a failure that hook.failure tells about.
type failedHop struct {
	backend string
	class   ahp.FailureClass
	policy  ahp.FailurePolicy
}

var (
	errNoBody     = errors.New("content that the subscription selects is not there")
	errCopy       = errors.New("content that the subscription does not select stands elsewhere in the event too")
	errAuthorize  = errors.New("the host does not authorize the change")
	errNoOffer    = errors.New("the offer is beyond what the event allows")
	errAfterwards = errors.New("the deadline ended while the answer was taken")
)

// open begins the settlement. Whatever is wrong with the event, the boundary refuses.
func (d *draftCall) open(c *Call) {
	o := c.h.opts.Boundary
	if d.check != nil {
		first, second := d.check, o.CheckInput
		o.CheckInput = func(ev *ahp.Event) error {
			if err := first(ev); err != nil || second == nil {
				return err
			}
			return second(ev)
		}
	}
	if d.route != nil && d.route.intercept && c.refusal == "" {
		d.host = c.h.hostOffer(d.route, &c.ev)
		d.asks = d.route.match(d.route.asks, &c.ev)
	}
	d.b = settle.Open(&c.ev, d.host, o)
}

// chainDraft asks the interceptors one after another, in match order, each about the
// effective event (AHP-COMP-001, D-CHAIN-2), until one ends it.
func (c *Call) chainDraft() {
	d := c.d
	if len(d.asks) > 0 && d.b.Done() {
		c.fault = errors.Join(c.fault, fmt.Errorf("%w: %w", ErrInternal, errNoOffer))
		return
	}
	if len(d.asks) == 0 && d.route != nil && !d.b.Done() {
		// Nobody's question shows what is wrong with the event, so its notice does.
		if watch := d.route.match(d.route.watch, &c.ev); len(watch) > 0 {
			if err := c.encode(d.view(watch[0])); err != nil {
				c.fault = errors.Join(c.fault, fmt.Errorf("%w: %w", ErrEvent, err))
				d.b = d.b.Refuse("", ahp.FailEvent)
			}
		}
	}
	for i, s := range d.asks {
		c.h.at("ask")
		if class := c.over(timeNow()); class != "" {
			c.giveUp("", class)
			return
		}
		d.called = i + 1
		c.askDraft(s)
		if d.b.Done() {
			return
		}
	}
	c.h.at("asked")
	// The last answer may have come together with the end of the call (D-INT-5).
	if class := c.over(timeNow()); class != "" && d.route.intercept {
		c.giveUp("", class)
	}
}

// askDraft asks one interceptor and takes its answer whole or not at all (AHP draft
// section 10).
func (c *Call) askDraft(s *sub) {
	h, d := c.h, c.d
	start := timeNow()
	deadline := start.Add(s.Timeout) // absolute: everything below spends it (D-FAIL-6)
	if c.budgetEnd.Before(deadline) {
		deadline = c.budgetEnd
	}
	c.hops = append(c.hops, settle.Hop{Backend: s.b.id, Mode: ahp.ModeIntercept, StartNs: int64(start.Sub(c.began))})
	hop := &c.hops[len(c.hops)-1]

	c.effects = nil
	x := d.view(s)
	v := x.view
	d.shown, d.offer = v.ev, offerFor(d.host, v)
	h.at("viewed")
	var f *ahp.Failure
	var frame []byte
	var unsayable error
	switch {
	case v.blind: // the event's doing, not an outage
		f = &ahp.Failure{Class: ahp.FailEvent, Err: errCopy}
	case v.missing:
		f = &ahp.Failure{Class: ahp.FailContent, Err: errNoBody} // D-SEL-6
	default:
		frame, unsayable = c.questionDraft(s, x)
	}
	if unsayable != nil {
		f = &ahp.Failure{Class: ahp.FailEvent, Err: unsayable}
	}
	h.at("send")
	if class := c.over(timeNow()); class != "" { // nothing new is sent (D-INT-3, D-BUD-4)
		c.interrupted(s, hop, class, nil, int64(timeNow().Sub(start)))
		return
	}
	if f == nil {
		parent := c.ctx
		if s.b.local {
			if c.inner == nil {
				c.inner = settle.WithNotes(c.ctx, &c.notes)
			}
			parent = c.inner
		}
		ctx, cancel := context.WithDeadline(parent, deadline)
		hop.Attempts, f = c.send(ctx, s.b.carrier, frame)
		cancel()
		d.dirty = d.dirty || f != nil
		h.at("sent")
	}
	now := timeNow()
	if f == nil && now.After(deadline) {
		f = &ahp.Failure{Class: ahp.FailLate} // D-FC-12
	}
	if class := c.over(now); class != "" { // D-STAGE-8, D-INT-1
		c.interrupted(s, hop, class, f, int64(now.Sub(start)))
		return
	}
	if f != nil {
		f.Backend, c.effects = s.b.id, nil
	}
	before := d.b
	step := settle.Step{
		Backend: s.b.id, Policy: s.FailurePolicy, Effects: c.effects, Failure: f,
		EventByPolicy: h.opts.EventByPolicy, Caps: d.offer, View: v.ev,
	}
	next, verdict := before.Apply(step)
	if verdict.Changed && h.opts.Authorize != nil {
		ctx, cancel := context.WithDeadline(c.ctx, deadline)
		err := h.opts.Authorize(ctx, s.to, before.Event(), next.Event())
		cancel()
		if err != nil {
			step.Failure = &ahp.Failure{Class: ahp.FailInvalidEffect, Backend: s.b.id, Err: errAuthorize}
			next, verdict = before.Apply(step)
		}
	}
	h.at("staged")
	// Step 10: what was staged is published only if there is still time (D-INT-7).
	now = timeNow()
	hop.TookNs = int64(now.Sub(start))
	if class := c.over(now); class != "" {
		c.interrupted(s, hop, class, verdict.Failure, hop.TookNs)
		return
	}
	if verdict.Failure == nil && now.After(deadline) {
		step.Failure = &ahp.Failure{Class: ahp.FailLate, Backend: s.b.id, Err: errAfterwards}
		next, verdict = before.Apply(step)
	}
	d.b = next
	verdict.Into(hop)
	h.at("published")
	if unsayable != nil && next.Done() {
		c.fault = fmt.Errorf("%w: %w", ErrEvent, unsayable)
	}
	if verdict.Failure != nil {
		policy := verdict.Policy
		if policy == "" {
			policy = ahp.FailClosed // no policy may excuse it, which closes
		}
		d.failed = append(d.failed, failedHop{s.b.id, verdict.Failure.Class, policy})
		h.opts.Logger.Warn("interceptor gave no usable answer", failureArgs(s.b, verdict.Failure, verdict.Policy)...)
	}
}

// interrupted ends the call in the middle of a hop. Whatever the hop brought is
// dropped.
func (c *Call) interrupted(s *sub, hop *settle.Hop, class ahp.FailureClass, f *ahp.Failure, took int64) {
	hop.TookNs, hop.Answer, hop.Class = took, settle.AnswerFailure, class
	if f != nil {
		hop.Class, hop.FailureCode = f.Class, f.Code
	}
	c.giveUp(s.b.id, class)
}

// past reports whether nothing new may be started for the call: it was interrupted, or
// its budget has ended (D-BUD-4, D-INT-3). Unlike over it may be asked by deliveries.
func (c *Call) past(now time.Time) bool { return c.ctx.Err() != nil || !now.Before(c.budgetEnd) }

// view is what s is shown of the effective event. Subscriptions with equal lenses
// share it. The pointer holds until the next view is made.
func (d *draftCall) view(s *sub) *shownView {
	ev := d.b.Event()
	if x := d.seen(s.lens.key, ev); x != nil {
		return x
	}
	if d.views == nil {
		d.views = d.first[:0]
	}
	d.views = append(d.views, shownView{key: s.lens.key, from: ev, view: s.lens.view(ev)})
	return &d.views[len(d.views)-1]
}

func (d *draftCall) seen(key int, ev *ahp.Event) *shownView {
	for i := range d.views {
		if x := &d.views[i]; x.key == key && x.from == ev {
			return x
		}
	}
	return nil
}

// encode makes the view's text, unless it is there.
func (c *Call) encode(x *shownView) error {
	if x.text != nil {
		return nil
	}
	c.h.at("encode")
	x.pool = framePool.Get().(*[]byte)
	b, err := wiredraft.AppendEventText((*x.pool)[:0], x.ev)
	if err != nil {
		return err
	}
	*x.pool, x.text = b, b
	return nil
}

// acceptDraft reads an answer, which is untrusted whoever sent it (D-SEC-1).
func (c *Call) acceptDraft(answer []byte) *ahp.Failure {
	c.h.at("accept")
	effects, f := wiredraft.DecodeResponse(answer, c.ev.ID, c.ev.Type, c.d.offer,
		wiredraft.Limits{MaxBytes: c.h.opts.Transport.MaxAnswerBytes})
	if f != nil {
		return f
	}
	c.effects = effects
	return nil
}

// questionDraft returns the request frame for one interceptor: its view, its offer,
// and from the second one on what the chain has accepted so far (D-STATE-3).
func (c *Call) questionDraft(s *sub, x *shownView) ([]byte, error) {
	d := c.d
	// One receiver in all: its event is encoded into the frame, not beside it.
	alone := len(d.asks) == 1 && len(d.route.watch) == 0
	if !alone {
		if err := c.encode(x); err != nil {
			return nil, err
		}
	}
	var state *ahp.State
	if d.called > 1 {
		state = d.b.StateAs(s.lens.state(&x.view))
	}
	var dst []byte
	if c.h.pooled && !d.dirty {
		if d.buf == nil {
			d.buf = framePool.Get().(*[]byte)
		}
		dst = (*d.buf)[:0]
	} else if !alone {
		dst = make([]byte, 0, len(x.text)+512)
	}
	var b []byte
	var err error
	if alone {
		b, err = wiredraft.AppendIntercept(dst, d.shown, d.offer, state, nil)
	} else {
		b, err = wiredraft.AppendInterceptText(dst, c.ev.ID, c.ev.Type, x.text, d.offer, state)
	}
	if err != nil {
		return nil, err
	}
	if len(b) > c.h.opts.MaxEventBytes {
		return nil, fmt.Errorf("the encoded event has %d bytes, at most %d are allowed", len(b), c.h.opts.MaxEventBytes)
	}
	b = append(b, '\n') // behind the frame, where a stdio carrier finds it
	if c.h.pooled && !d.dirty {
		*d.buf = b
	}
	return b[:len(b)-1], nil
}

// recycleDraft gives memory back that nobody can still be reading: after a failure a
// carrier might, and notices keep the texts that they need.
func (d *draftCall) recycleDraft() {
	if d.buf != nil && !d.dirty {
		recycleFrame(d.buf)
	}
	d.buf = nil
	for i := range d.views {
		if x := &d.views[i]; x.pool != nil {
			recycleFrame(x.pool)
			x.pool, x.text = nil, nil
		}
	}
}

func recycleFrame(b *[]byte) {
	if cap(*b) <= 64<<10 {
		framePool.Put(b)
	}
}
