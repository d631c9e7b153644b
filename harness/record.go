package harness

import (
	"context"
	"errors"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

// record hands the record of the outcome to the recorder and returns the
// settlement that holds after that.
func (c *Call) record() settle.Settlement {
	h := c.h
	outcome := func() settle.Settlement {
		s := c.state.Settlement()
		if c.d != nil {
			s = c.d.b.Settlement()
		}
		s.Hops = c.hops
		return s
	}
	details := c.notes.Seal()
	if h.opts.Recorder == Discard {
		return outcome()
	}
	operation := ""
	c.guard(func() { operation = settle.Identity(&c.ev) })
	s := outcome()
	r := s.Record(&c.ev, NewID(), c.began, timeNow().Sub(c.began), operation, details)
	err := c.keep(&r)
	if err == nil {
		return s
	}
	h.stats.records.Add(1)
	h.opts.Logger.Error("a record was not kept", "event", c.ev.ID, "then", string(h.opts.RecordFailure))
	if h.opts.RecordFailure == RecordProceed {
		return s
	}
	c.fault = errors.Join(c.fault, ErrRecord, err)
	c.refuse("", ahp.FailInternal)
	return outcome()
}

// keep calls the recorder under a context that the caller cannot end: a record
// must survive whoever gives up on the call.
func (c *Call) keep(r *settle.Record) (err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), c.h.opts.RecordTimeout)
	defer cancel()
	defer func() {
		if recover() != nil {
			err = errPanic
		}
	}()
	return c.h.opts.Recorder.Record(ctx, r)
}
