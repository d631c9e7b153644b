package main

import (
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/settle"
)

// spoken is one revision's way to ask about one event.
type spoken struct {
	draft bool
	ev    *ahp.Event
	caps  ahp.Capabilities
}

// revisionOf offers deny in 0.1, and in draft all that the event can have, so that
// whatever the backend means to do can be seen.
func revisionOf(v ahp.Version, ev *ahp.Event) *spoken {
	w := &spoken{draft: v == ahp.VersionDraft, ev: ev, caps: ahp.DenyOnly()}
	if w.draft {
		w.caps = ahp.Bounds(ev.Type)
		if f := w.caps.Flow; f != nil && f.Continue {
			one, none := int64(1), int64(0)
			f.Remaining, f.Count, f.Max = &one, &none, &one
		}
	}
	return w
}

func (w *spoken) observe() ([]byte, error) {
	if w.draft {
		return wiredraft.AppendObserve(nil, w.ev)
	}
	return wire01.AppendObserve(nil, w.ev)
}

func (w *spoken) intercept() ([]byte, error) {
	if w.draft {
		return wiredraft.AppendIntercept(nil, w.ev, &w.caps, nil, nil)
	}
	return wire01.AppendIntercept(nil, w.ev, w.caps, nil)
}

func (w *spoken) response(answer []byte) ([]ahp.Effect, *ahp.Failure) {
	if w.draft {
		return wiredraft.DecodeResponse(answer, w.ev.ID, w.ev.Type, &w.caps, wiredraft.Limits{})
	}
	return wire01.DecodeResponse(answer, w.ev.ID, w.caps, wire01.Limits{})
}

// settle is what a harness would make of the answer, and why it would reject it
// although the codec takes it.
func (w *spoken) settle(s settle.Step) (settle.Settlement, *ahp.Failure) {
	if w.draft {
		s.Caps = &w.caps
		b, v := settle.Open(w.ev, &w.caps, settle.BoundaryOptions{}).Apply(s)
		return b.Settlement(), v.Failure
	}
	c, v := settle.Start(ahp.DenyOnly()).Apply(s)
	return c.Settlement(), v.Failure
}
