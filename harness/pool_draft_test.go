package harness_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/internal/badbackend/badtest"
	"github.com/holdpoint/holdpoint/settle"
)

// Many calls at once on one harness share memory for frames and views: what one call
// says is in no other's messages, whatever fails beside it.
func TestCallsDoNotMix(t *testing.T) {
	var k cast
	var bad atomic.Int32
	check := func(m message) {
		// The id says which text belongs to the event.
		id := strings.Trim(string(m.Params.Event["id"]), `"`)
		if strings.Count(m.raw, "call<") != strings.Count(m.raw, "call<"+id+">") || !strings.Contains(m.raw, "call<"+id+">") {
			bad.Add(1)
		}
	}
	k.add("net.acme.first", &peer{says: func(m message) string {
		check(m)
		id := strings.Trim(string(m.Params.Event["id"]), `"`)
		if strings.HasSuffix(id, "3") {
			return list(notify, unknown) // a failure: memory may still be read
		}
		return modify("input", "merge", `{"more":"call<`+id+`> again"}`)
	}}, asks(ahp.FailOpen, "*"))
	second := k.add("net.acme.second", &peer{says: func(m message) string { check(m); return "[]" }}, asks(ahp.FailOpen, "*"),
		selecting(asks(ahp.FailOpen, "*"), selection(ahp.SelectMetadata)))
	watch := k.add("net.acme.watch", &peer{}, watches("tool.*"))
	h := k.open(t, func(o *harness.Options) { o.ObserveQueue = 1000 })
	const workers, each = 16, 25
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range each {
				ev := draftTool()
				ev.ID = fmt.Sprintf("ev-%d-%d", w, i)
				ev.Tool.Input = ahp.Raw(`{"cmd":"call<` + ev.ID + `>","pad":"` + strings.Repeat("x", (w*37+i*91)%3000) + `"}`)
				c := h.Begin(t.Context(), ev)
				s, err := c.Settle()
				if !s.Proceeds() || err != nil || strings.Count(string(s.Event.Tool.Input), "call<"+ev.ID+">") == 0 {
					t.Errorf("%s: %s, %v", ev.ID, s.State, err)
				}
				if err := c.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	for _, m := range append(watch.told(), second.all()...) {
		check(m)
	}
	if bad.Load() != 0 || len(watch.told()) != workers*each {
		t.Errorf("%d messages with another call's content, %d notifications", bad.Load(), len(watch.told()))
	}
}

// The same over a real process: one at a time, each answer to its question.
func TestCallsDoNotMixOverStdio(t *testing.T) {
	h := openDraft(t, nil, backendOf("net.acme.a", badtest.Stdio(t, ahp.Persistent, "-revision", "draft"), asks(ahp.FailClosed, "*"), watches("*")))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if s, err := settleOne(t, h, draftTool()); !s.Proceeds() || err != nil {
					t.Errorf("%s by %s, %v", s.State, s.Class, err)
				}
			}
		})
	}
	wg.Wait()
}

// A hook of the host's that panics refuses, and says nothing of what it panicked with.
func TestHooksThatPanic(t *testing.T) {
	for name, edit := range map[string]func(*harness.Options){
		"offer": func(o *harness.Options) {
			o.Offer = func(*ahp.Event, ahp.Capabilities) ahp.Capabilities { panic(secretText) }
		},
		"may show": func(o *harness.Options) { o.MayShow = func(harness.Receiver, *ahp.Part) bool { panic(secretText) } },
		"authorize": func(o *harness.Options) {
			o.Authorize = func(context.Context, harness.Receiver, *ahp.Event, *ahp.Event) error { panic(secretText) }
		},
		"check": func(o *harness.Options) { o.Boundary.CheckInput = func(*ahp.Event) error { panic(secretText) } },
	} {
		t.Run(name, func(t *testing.T) {
			var k cast
			k.add("net.acme.a", says(modify("input", "merge", `{"x":1}`)), asks(ahp.FailOpen, "*"))
			k.add("net.acme.watch", &peer{}, watches("*"))
			h := k.open(t, edit)
			ev := draftTool()
			ev.Parts = []ahp.Part{ahp.TextPart("p", "text")}
			s, err := settleOne(t, h, ev)
			if s.State != settle.Denied || !errors.Is(err, harness.ErrInternal) || h.rec.one(t).Class != ahp.FailInternal {
				t.Errorf("%s (%s), %v", s.State, s.Class, err)
			}
			if text := h.log.String() + s.Reason + err.Error(); strings.Contains(text, secretText) {
				t.Errorf("the panic's value is in %s", text)
			}
		})
	}
}
