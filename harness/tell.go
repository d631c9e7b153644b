package harness

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/settle"
)

// A notice is a notification as one kind of lens shows it. It is encoded when the
// first delivery needs it, off the decision's path, and once.
type notice struct {
	h    *Harness
	ev   *ahp.Event
	lens *lens
	text []byte // of the view, where it was encoded for a question; else nil

	once  sync.Once
	frame []byte
	err   error
}

// bytes returns the notification. There is no disposition, summary or flag in it
// (D-OBS-7).
func (n *notice) bytes() ([]byte, error) {
	n.once.Do(func() {
		defer func() {
			if recover() != nil { // a hook of the host's
				n.frame, n.err = nil, errPanic
			}
		}()
		var b []byte
		var err error
		if n.text != nil {
			b = wiredraft.AppendObserveText(make([]byte, 0, len(n.text)+96), n.text)
		} else {
			b, err = wiredraft.AppendObserve(nil, n.lens.view(n.ev).ev)
		}
		if err == nil && len(b) > n.h.opts.MaxEventBytes {
			err = ErrEvent
		}
		// No spare capacity: two carriers may hold the frame at once.
		n.frame, n.err = slices.Clip(b), err
	})
	return n.frame, n.err
}

// An addressed notice is one delivery to be.
type addressed struct {
	b   *backend
	msg *notice
}

// tellDraft queues the notifications of a settled call (AHP draft sections 17 and
// 18): observers, interceptors whose turn did not come, and hook.failure. After an
// interruption nothing is started (D-INT-3).
func (c *Call) tellDraft(s settle.Settlement) {
	h, d := c.h, c.d
	defer d.recycleDraft() // what a notice needs is no longer ours by then
	if d.route == nil || s.State == settle.Interrupted {
		return
	}
	var all []addressed
	watch := d.route.match(d.route.watch, &c.ev)
	uncalled := d.asks[d.called:]
	if ev := d.b.Event(); ev != nil { // accepted effective content, and nothing else (D-OBS-2)
		all = c.address(all, ev, uncalled, "")
		all = c.address(all, ev, watch, "")
	}
	if r := h.draft.routes[ahp.HookFailure]; r != nil && len(r.watch) > 0 {
		for _, f := range d.failed {
			all = c.address(all, c.failureEvent(f), r.watch, f.backend) // D-PAY-5
		}
	}
	if len(all) == 0 {
		return
	}
	if c.past(timeNow()) {
		h.stats.failed.Add(uint64(len(all)))
		return
	}
	ds := make([]delivery, len(all))
	// All of them count before the first can end.
	c.wg.Add(len(all))
	c.pending.Add(int32(len(all))) //nolint:gosec // a few for each subscription
	c.deliveries = make([]*delivery, len(all))
	for i := range all {
		ds[i].call, ds[i].msg = c, all[i].msg
		c.deliveries[i] = &ds[i]
	}
	for i, a := range all {
		if x := c.deliveries[i]; !a.b.queue.put(x) && !x.taken.Swap(true) {
			h.stats.dropped.Add(1)
			x.end()
		}
	}
}

// address adds a notice of ev for each of subs, one for each kind of lens. A backend
// gets nothing about its own failure.
func (c *Call) address(all []addressed, ev *ahp.Event, subs []*sub, not string) []addressed {
	for _, s := range subs {
		if s.b.id == not {
			continue
		}
		var msg *notice
		for i := range all {
			if m := all[i].msg; m.ev == ev && m.lens.key == s.lens.key {
				msg = m
				break
			}
		}
		if msg == nil {
			msg = &notice{h: c.h, ev: ev, lens: &s.lens}
			if x := c.d.seen(s.lens.key, ev); x != nil && x.text != nil {
				msg.text, x.pool = x.text, nil
			}
		}
		all = append(all, addressed{s.b, msg})
	}
	return all
}

// failureEvent makes the hook.failure event of one hop. Its reason names the class,
// and nothing that a backend or the network said.
func (c *Call) failureEvent(f failedHop) *ahp.Event {
	return &ahp.Event{
		ID: NewID(), Source: c.ev.Source, Type: ahp.HookFailure, Time: timeNow().UTC().Format(time.RFC3339Nano),
		Session: c.ev.Session, Turn: c.ev.Turn, Parent: c.ev.ID,
		Body: &ahp.HookFailureBody{BackendID: f.backend, Reason: strings.ReplaceAll(string(f.class), "_", " "), Policy: f.policy},
	}
}

// deliverDraft delivers one notification inside the call's budget (D-BUD-1). It is
// sent again after a lost connection only, with the same bytes (D-OBS-13).
func (q *queue) deliverDraft(d *delivery) {
	c, h := d.call, q.h
	frame, err := d.msg.bytes()
	h.at("deliver")
	if c.past(timeNow()) || h.ctx.Err() != nil {
		h.stats.failed.Add(1)
		return
	}
	var f *ahp.Failure
	if err != nil {
		f = &ahp.Failure{Class: ahp.FailEvent, Err: err}
	} else {
		deadline := timeNow().Add(h.opts.ObserveTimeout)
		if c.budgetEnd.Before(deadline) {
			deadline = c.budgetEnd
		}
		ctx, cancel := context.WithDeadline(c.ctx, deadline)
		stop := context.AfterFunc(h.ctx, cancel)
		for try := 0; ; try++ {
			f = q.tell(ctx, frame)
			if f == nil || f.Class != ahp.FailConnection || try >= h.opts.Retries || ctx.Err() != nil {
				break
			}
		}
		stop()
		cancel()
	}
	h.at("delivered")
	if f == nil {
		h.stats.observed.Add(1)
		return
	}
	h.stats.failed.Add(1)
	h.opts.Logger.Warn("observation was not delivered", failureArgs(q.b, f, "")...)
}
