package harness_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

// slow is a peer that takes its time over questions or notifications.
func slow(p *peer, question, notification time.Duration) transport.Local {
	return func(ctx context.Context, frame []byte) ([]byte, error) {
		d := question
		if strings.Contains(string(frame), `"hooks/observe"`) {
			d = notification
		}
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		return p.local(ctx, frame)
	}
}

// bubble runs f in a bubble of its own time, over local carriers only.
func bubble(f func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, f) }
}

// quick opens a harness inside a bubble; the test closes it.
func quick(t *testing.T, k *cast, edit func(*harness.Options)) (*harness.Harness, *memory) {
	t.Helper()
	rec := &memory{}
	o := draftOptions(rec)
	o.Local = k.local
	if edit != nil {
		edit(&o)
	}
	h, err := harness.New(&ahp.Registration{Version: ahp.VersionDraft, Hooks: k.backends}, o)
	if err != nil {
		t.Fatal(err)
	}
	return h, rec
}

func closeNow(t *testing.T, h *harness.Harness) {
	t.Helper()
	if err := h.Close(t.Context()); err != nil {
		t.Errorf("close: %v", err)
	}
}

var ownRules = []draftRule{
	{"D-OWN-1", bubble(func(t *testing.T) {
		var k cast
		p := k.add("net.acme.watch", &peer{}, watches("*"))
		k.local["net.acme.watch"] = slow(p, 0, time.Second)
		h, _ := quick(t, &k, nil)
		c := h.Begin(t.Context(), draftTool())
		began := time.Now()
		if s, err := c.Settle(); !s.Proceeds() || err != nil || time.Since(began) != 0 {
			t.Errorf("settled after %v: %s, %v", time.Since(began), s.State, err) // D-OWN-3
		}
		if err := c.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(p.told()) != 1 {
			t.Error("the call returned before its observer was told")
		}
		closeNow(t, h)
	})},
	{"D-BUD-1", bubble(func(t *testing.T) {
		var k cast
		p := k.add("net.acme.watch", &peer{}, watches("*"))
		k.local["net.acme.watch"] = slow(p, 0, time.Hour)
		h, _ := quick(t, &k, func(o *harness.Options) { o.Budget = time.Second; o.ObserveTimeout = time.Hour })
		began := time.Now()
		_, s, err := harness.Settle(t.Context(), h, harness.TurnStart{
			Base: harness.Base{Turn: &ahp.Turn{ID: "t"}}, Messages: []ahp.Message{}, TurnStartBody: ahp.TurnStartBody{Trigger: "user"},
		})
		if err != nil || !s.Proceeds() || time.Since(began) != time.Second || h.Stats().ObserveFailed != 1 {
			t.Errorf("%s, %v after %v, %+v", s.State, err, time.Since(began), h.Stats())
		}
		closeNow(t, h)
	})},
	{"D-BUD-2", bubble(func(t *testing.T) {
		// Two interceptors, a retry and an observer share one budget.
		var k cast
		for i := range 3 {
			p := k.add(fmt.Sprintf("net.acme.i%d", i), says("[]"), asks(ahp.FailOpen, "*"), watches("*"))
			k.local[fmt.Sprintf("net.acme.i%d", i)] = slow(p, 400*time.Millisecond, 400*time.Millisecond)
		}
		h, rec := quick(t, &k, func(o *harness.Options) { o.Budget = time.Second })
		began := time.Now()
		c := h.Begin(t.Context(), draftTool())
		s, _ := c.Settle()
		_ = c.Wait(t.Context())
		if s.State != settle.Interrupted || time.Since(began) != time.Second {
			t.Errorf("%s after %v", s.State, time.Since(began))
		}
		if hops := rec.one(t).Hops; len(hops) != 3 || hops[0].Answer != settle.AnswerNone || hops[2].Class != ahp.FailDeadline {
			t.Errorf("hops %+v", hops) // what was settled before stays recorded (D-BUD-6)
		}
		closeNow(t, h)
	})},
	{"D-BUD-3", bubble(func(t *testing.T) {
		for _, tt := range []struct {
			timeout, budget time.Duration
			want            settle.State
			after           time.Duration
		}{
			{time.Second, time.Minute, settle.Proceed, time.Second},     // the interceptor's own deadline: its policy
			{time.Minute, time.Second, settle.Interrupted, time.Second}, // the budget: no permission
		} {
			var k cast
			s := asks(ahp.FailOpen, "*")
			s.Timeout = tt.timeout
			p := k.add("net.acme.a", says("[]"), s)
			k.local["net.acme.a"] = slow(p, time.Hour, 0)
			h, _ := quick(t, &k, func(o *harness.Options) { o.Budget = tt.budget })
			began := time.Now()
			got, _ := h.Begin(t.Context(), draftTool()).Settle()
			if got.State != tt.want || time.Since(began) != tt.after {
				t.Errorf("%+v: %s after %v", tt, got.State, time.Since(began))
			}
			closeNow(t, h)
		}
	})},
	{"D-BUD-4", bubble(func(t *testing.T) {
		// Expiry and cancellation are told apart.
		for _, cancelled := range []bool{false, true} {
			var k cast
			p := k.add("net.acme.a", says("[]"), asks(ahp.FailOpen, "*"))
			k.local["net.acme.a"] = slow(p, time.Hour, 0)
			h, rec := quick(t, &k, func(o *harness.Options) { o.Budget = time.Second })
			ctx, cancel := context.WithCancel(t.Context())
			want := ahp.FailDeadline
			if cancelled {
				want = ahp.FailShutdown
				time.AfterFunc(time.Millisecond, cancel)
			}
			s, _ := h.Begin(ctx, draftTool()).Settle()
			cancel()
			if s.State != settle.Interrupted || s.Class != want || rec.one(t).Class != want {
				t.Errorf("%s, class %s, want %s", s.State, s.Class, want)
			}
			closeNow(t, h)
		}
	})},
	{"D-BUD-6", bubble(func(t *testing.T) {
		for _, policy := range []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed} {
			var k cast
			k.add("net.acme.first", says(list(mergeInput, notify)), asks(policy, "*"))
			p := k.add("net.acme.a", says("[]"), asks(policy, "*"))
			watch := k.add("net.acme.watch", &peer{}, watches("*"))
			k.local["net.acme.a"] = slow(p, time.Hour, 0)
			h, rec := quick(t, &k, func(o *harness.Options) { o.Budget = time.Second })
			c := h.Begin(t.Context(), draftTool())
			s, _ := c.Settle()
			_ = c.Wait(t.Context())
			if s.State != settle.Interrupted || s.Proceeds() || !strings.Contains(string(s.Event.Tool.Input), "plan") || len(s.Messages) != 1 {
				t.Errorf("%s: %s, %s", policy, s.State, s.Event.Tool.Input) // what was accepted stays (D-INT-4)
			}
			if len(watch.all()) != 0 || rec.one(t).Hops[0].Answer != settle.AnswerEffects {
				t.Errorf("told %d, hops %+v", len(watch.all()), rec.one(t).Hops) // D-INT-3
			}
			closeNow(t, h)
		}
	})},
	{"D-INT-1", bubble(func(t *testing.T) {
		var k cast
		k.add("net.acme.allow", says(`[{"type":"allow"}]`), asks(ahp.FailOpen, "*"))
		p := k.add("net.acme.a", says("[]"), asks(ahp.FailOpen, "*"))
		k.local["net.acme.a"] = slow(p, time.Hour, 0)
		h, _ := quick(t, &k, nil)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		began := time.Now()
		s, _ := h.Begin(ctx, draftTool()).Settle()
		if s.State != settle.Interrupted || s.Permission == ahp.PermissionAllow || time.Since(began) != time.Second {
			t.Errorf("%s, %s after %v", s.State, s.Permission, time.Since(began))
		}
		closeNow(t, h)
	})},
	{"D-INT-2", bubble(func(t *testing.T) {
		// An answer that comes although the call has ended is nobody's.
		var k cast
		p := k.add("net.acme.a", says(list(notify, `{"type":"allow"}`)), asks(ahp.FailOpen, "*"))
		k.local["net.acme.a"] = func(ctx context.Context, frame []byte) ([]byte, error) {
			time.Sleep(2 * time.Second) // a backend that does not look at its context
			return p.local(ctx, frame)
		}
		h, _ := quick(t, &k, nil)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := h.Begin(ctx, draftTool())
		s, _ := c.Settle()
		time.Sleep(5 * time.Second)
		again, _ := c.Settle()
		if s.State != settle.Interrupted || again.State != settle.Interrupted || len(again.Messages) != 0 {
			t.Errorf("%s, then %s", s.State, again.State)
		}
		closeNow(t, h)
	})},
	{"D-INT-3", bubble(func(t *testing.T) {
		// The caller leaves while observers are told: what waits is not begun.
		var k cast
		p := k.add("net.acme.watch", &peer{}, watches("*"), watches("tool.*"), watches("tool.before"))
		k.local["net.acme.watch"] = slow(p, 0, time.Second)
		h, _ := quick(t, &k, nil)
		ctx, cancel := context.WithCancel(t.Context())
		c := h.Begin(ctx, draftTool())
		s, err := c.Settle()
		time.AfterFunc(1500*time.Millisecond, cancel)
		_ = c.Wait(t.Context())
		if !s.Proceeds() || err != nil || len(p.told()) != 1 || h.Stats().ObserveFailed != 2 {
			t.Errorf("%s, told %d, %+v", s.State, len(p.told()), h.Stats())
		}
		closeNow(t, h)
	})},
	{"D-INT-7", bubble(func(t *testing.T) {
		// The call ends while the host authorizes: nothing of the response is taken.
		for _, budget := range []bool{true, false} {
			var k cast
			k.add("net.acme.a", says(list(mergeInput, notify)), asks(ahp.FailOpen, "*"))
			ctx, cancel := context.WithCancel(t.Context())
			h, _ := quick(t, &k, func(o *harness.Options) {
				o.Budget = time.Minute
				o.Authorize = func(context.Context, harness.Receiver, *ahp.Event, *ahp.Event) error {
					if budget {
						time.Sleep(2 * time.Minute)
					} else {
						cancel()
					}
					return nil
				}
			})
			s, _ := h.Begin(ctx, draftTool()).Settle()
			cancel()
			if s.State != settle.Interrupted || len(s.Messages) != 0 || strings.Contains(string(s.Event.Tool.Input), "plan") {
				t.Errorf("%s, %q, %s", s.State, s.Messages, s.Event.Tool.Input)
			}
			closeNow(t, h)
		}
	})},
	{"D-FC-12", bubble(func(t *testing.T) {
		// The deadline ends while the host authorizes: the answer is late (D-FAIL-8).
		var k cast
		s := asks(ahp.FailOpen, "*")
		s.Timeout = time.Second
		k.add("net.acme.a", says(list(mergeInput, notify)), s)
		h, rec := quick(t, &k, func(o *harness.Options) {
			o.Authorize = func(context.Context, harness.Receiver, *ahp.Event, *ahp.Event) error {
				time.Sleep(2 * time.Second)
				return nil
			}
		})
		got, _ := h.Begin(t.Context(), draftTool()).Settle()
		if got.State != settle.Proceed || !got.FailedOpen || len(got.Messages) != 0 || rec.one(t).Hops[0].Class != ahp.FailLate {
			t.Errorf("%s, hop %+v", got.State, rec.one(t).Hops[0])
		}
		closeNow(t, h)
	})},
	{"D-SHUT-1", bubble(func(t *testing.T) {
		var k cast
		p := k.add("net.acme.a", says("[]"), asks(ahp.FailOpen, "*"))
		k.local["net.acme.a"] = slow(p, time.Hour, 0)
		h, rec := quick(t, &k, nil)
		done := make(chan settle.Settlement)
		c := h.Begin(t.Context(), draftTool())
		go func() { s, _ := c.Settle(); done <- s }()
		synctest.Wait()
		closeNow(t, h)
		closeNow(t, h)
		if s := <-done; s.State != settle.Interrupted || s.Class != ahp.FailShutdown || rec.one(t).Outcome != settle.Interrupted {
			t.Errorf("settled %s, %s", s.State, s.Class)
		}
		s, err := h.Begin(t.Context(), draftTool()).Settle()
		if s.State != settle.Interrupted || !errors.Is(err, harness.ErrClosed) {
			t.Errorf("after close: %s, %v", s.State, err)
		}
	})},
	{"D-SHUT-3", func(t *testing.T) {
		mine := &peerCarrier{p: says("[]"), hang: true, asked: make(chan struct{}, 1)}
		h := openDraft(t, func(o *harness.Options) {
			o.Carriers = map[string]transport.Carrier{"net.acme.a": mine}
		}, backendOf("net.acme.a", &ahp.HTTPTransport{URL: "https://a.example"}, asks(ahp.FailOpen, "*"), watches("*")))
		c := h.Begin(t.Context(), draftTool())
		done := make(chan settle.Settlement)
		go func() { s, _ := c.Settle(); done <- s }()
		<-mine.asked
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if s := <-done; s.State != settle.Interrupted || mine.closed.Load() != 0 {
			t.Errorf("settled %s, closed %d times", s.State, mine.closed.Load())
		}
	}},
	{"D-RETRY-1", func(t *testing.T) {
		p := says("[]")
		mine := &peerCarrier{p: p}
		mine.lost.Store(1)
		h := openDraft(t, func(o *harness.Options) {
			o.Carriers = map[string]transport.Carrier{"net.acme.a": mine}
		}, backendOf("net.acme.a", &ahp.HTTPTransport{URL: "https://a.example"}, asks(ahp.FailClosed, "*")))
		s, err := settleOne(t, h, draftTool())
		if got := p.asked(); !s.Proceeds() || err != nil || len(got) != 2 || got[0].raw != got[1].raw {
			t.Errorf("%s, %v, asked %d times", s.State, err, len(got))
		}
		if h.rec.one(t).Hops[0].Attempts != 2 {
			t.Errorf("hop %+v", h.rec.one(t).Hops[0])
		}
	}},
	{"D-RETRY-2", func(t *testing.T) {
		for _, effects := range []string{"[]", list(deny)} {
			ps, _, _, _ := chainDraft(t, ahp.FailOpen, draftTool(), nil, effects)
			if len(ps[0].asked()) != 1 {
				t.Errorf("%s: asked %d times", effects, len(ps[0].asked()))
			}
		}
	}},
	{"D-RETRY-3", func(t *testing.T) {
		var k cast
		p := k.add("net.acme.a", says("[]"), asks(ahp.FailClosed, "*"), asks(ahp.FailClosed, "*"), asks(ahp.FailClosed, "*"))
		if _, err := settleOne(t, k.open(t, nil), draftTool()); err != nil {
			t.Fatal(err)
		}
		if got := p.asked(); len(got) != 3 || got[1].raw != got[2].raw {
			t.Errorf("asked %d times", len(got))
		}
	}},
}
