package harness_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

// recorderFunc is a recorder that is one function.
type recorderFunc func(ctx context.Context, r *settle.Record) error

func (f recorderFunc) Record(ctx context.Context, r *settle.Record) error { return f(ctx, r) }

// Every way out of a settlement: what it comes to, and that there is exactly one
// record of it.
func TestNoWayOutWithoutRecord(t *testing.T) {
	tests := []struct {
		name    string
		edit    func(*harness.Options)
		ctx     func(context.Context) context.Context
		event   func(*ahp.Event)
		local   transport.Local
		before  func(t *testing.T, r *rig)
		proceed bool
		class   ahp.FailureClass
		err     error
	}{
		{name: "no objection", proceed: true},
		{name: "caller gave up before", ctx: cancelled, class: ahp.FailShutdown},
		{name: "caller's deadline passed", ctx: expired, class: ahp.FailDeadline},
		{
			name: "caller gives up meanwhile", class: ahp.FailShutdown,
			ctx: func(ctx context.Context) context.Context {
				ctx, cancel := context.WithCancel(ctx)
				time.AfterFunc(20*time.Millisecond, cancel)
				return ctx
			},
			local: func(ctx context.Context, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() },
		},
		{name: "local backend panics", local: func(context.Context, []byte) ([]byte, error) { panic("MARKER") }, proceed: true},
		{name: "harness is closed", before: func(t *testing.T, r *rig) {
			if err := r.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
		}, class: ahp.FailShutdown, err: harness.ErrClosed},
		{name: "event cannot be said", event: func(e *ahp.Event) { e.Tool.Kind = "quantum" }, class: ahp.FailEvent, err: harness.ErrEvent},
		{name: "event type is unknown", event: func(e *ahp.Event) { e.Type = "tool.maybe" }, class: ahp.FailEvent, err: harness.ErrEvent},
		{name: "event is too large", edit: func(o *harness.Options) { o.MaxEventBytes = 100 }, class: ahp.FailEvent, err: harness.ErrEvent},
		{name: "too large, left to the policy", edit: func(o *harness.Options) { o.MaxEventBytes, o.EventByPolicy = 100, true }, proceed: true},
		{name: "too large for a backend here", local: func(context.Context, []byte) ([]byte, error) {
			return nil, &ahp.Failure{Class: ahp.FailEvent}
		}, class: ahp.FailEvent},
		{
			name: "budget ends", edit: func(o *harness.Options) { o.Budget = 30 * time.Millisecond }, class: ahp.FailDeadline,
			local: func(ctx context.Context, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() },
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := tt.local
			if f == nil {
				f = (&respond{}).local
			}
			// Under fail-open, so that a refusal is never the policy's.
			r := withLocal(t, ahp.FailOpen, long, f, func(o *harness.Options) {
				if tt.edit != nil {
					tt.edit(o)
				}
			})
			if tt.before != nil {
				tt.before(t, r)
			}
			ctx := t.Context()
			if tt.ctx != nil {
				ctx = tt.ctx(ctx)
			}
			ev := toolBefore()
			if tt.event != nil {
				tt.event(ev)
			}
			c := r.Begin(ctx, ev)
			s, err := c.Settle()
			if s.Proceeds() != tt.proceed || s.Class != tt.class || !errors.Is(err, tt.err) || tt.err == nil && err != nil {
				t.Errorf("proceeds %v, class %q, error %v", s.Proceeds(), s.Class, err)
			}
			if again, err2 := c.Settle(); again.State != s.State || !errors.Is(err2, tt.err) {
				t.Errorf("settled again: %+v, %v", again, err2)
			}
			if err := c.Wait(t.Context()); err != nil {
				t.Errorf("wait: %v", err)
			}
			rec := r.rec.one(t)
			if (rec.Outcome == settle.Proceed) != tt.proceed || rec.Class != tt.class || rec.EventID == "" {
				t.Errorf("%+v", rec)
			}
			if line := string(rec.MarshalAppend(nil)); strings.Contains(line+r.log.String(), "MARKER") {
				t.Errorf("a panic's value leaked: %s", line)
			}
		})
	}
}

func cancelled(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx
}

func expired(ctx context.Context) context.Context {
	ctx, cancel := context.WithDeadline(ctx, time.Unix(1, 0))
	_ = cancel // it has ended already
	return ctx
}

func TestNilEventIsRefusedAndRecorded(t *testing.T) {
	r := withLocal(t, ahp.FailOpen, long, (&respond{}).local)
	s, err := r.Begin(t.Context(), nil).Settle()
	if s.Proceeds() || !errors.Is(err, harness.ErrEvent) {
		t.Errorf("%+v, %v", s, err)
	}
	if rec := r.rec.one(t); rec.Class != ahp.FailEvent {
		t.Errorf("%+v", rec)
	}
}

func TestRecorderFailure(t *testing.T) {
	failing := map[string]recorderFunc{
		"error": func(context.Context, *settle.Record) error { return errTest },
		"panic": func(context.Context, *settle.Record) error { panic("MARKER") },
		"hang":  func(ctx context.Context, _ *settle.Record) error { <-ctx.Done(); return ctx.Err() },
	}
	for name, f := range failing {
		for _, then := range []harness.RecordFailure{"", harness.RecordDeny, harness.RecordProceed} {
			for what, result := range map[string]func(string) string{"no effects": none, "deny": denial} {
				t.Run(name+"/"+string(then)+"/"+what, func(t *testing.T) {
					r := withLocal(t, ahp.FailOpen, long, (&respond{result: result}).local, func(o *harness.Options) {
						o.Recorder, o.RecordFailure, o.RecordTimeout = f, then, 20*time.Millisecond
					})
					s, err := settleOne(t, r, toolBefore())
					proceed := what == "no effects" && then == harness.RecordProceed
					if s.Proceeds() != proceed {
						t.Errorf("proceeds %v", s.Proceeds())
					}
					if (err == nil) != (then == harness.RecordProceed) || err != nil && !errors.Is(err, harness.ErrRecord) {
						t.Errorf("error %v", err)
					}
					if what == "deny" && (s.Synthetic || s.Reason != "no") {
						t.Errorf("the explicit denial got lost: %+v", s)
					}
					if len(s.Hops) != 1 {
						t.Errorf("%d hops", len(s.Hops))
					}
					if r.Stats().RecordFailures != 1 {
						t.Errorf("%+v", r.Stats())
					}
					if strings.Contains(r.log.String(), "MARKER") {
						t.Error("the panic's value is in the log")
					}
				})
			}
		}
	}
}

// The record is kept under a context that the caller cannot end, with the
// caller's values.
func TestRecordSurvivesTheCaller(t *testing.T) {
	type key struct{}
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	var got error
	var value any
	r := withLocal(t, ahp.FailClosed, long, func(context.Context, []byte) ([]byte, error) {
		cancel()
		return nil, errTest
	}, func(o *harness.Options) {
		o.Recorder = recorderFunc(func(ctx context.Context, _ *settle.Record) error {
			got, value = ctx.Err(), ctx.Value(key{})
			return nil
		})
	})
	if s, _ := r.Begin(ctx, toolBefore()).Settle(); s.Proceeds() {
		t.Error("proceeds")
	}
	if got != nil || value != "value" {
		t.Errorf("the recorder's context: %v, value %v", got, value)
	}
}

func TestDuplicateInFlight(t *testing.T) {
	release := make(chan struct{})
	r := withLocal(t, ahp.FailOpen, long, func(_ context.Context, frame []byte) ([]byte, error) {
		<-release
		id, _ := frameID(frame)
		return []byte(none(id)), nil
	})
	ev := toolBefore()
	ev.ID = "same"
	first := r.Begin(t.Context(), ev)
	second := r.Begin(t.Context(), ev)
	if s, err := second.Settle(); s.Proceeds() || !errors.Is(err, harness.ErrDuplicate) {
		t.Errorf("the second: %+v, %v", s, err)
	}
	close(release)
	if s, err := first.Settle(); !s.Proceeds() || err != nil {
		t.Errorf("the first: %+v, %v", s, err)
	}
	// Once settled the id is free: a replay asks again.
	if s, err := settleOne(t, r, ev); !s.Proceeds() || err != nil {
		t.Errorf("the third: %+v, %v", s, err)
	}
	if n := len(r.rec.all()); n != 3 {
		t.Errorf("%d records, want 3", n)
	}
}

// A budget that ends is never a permission, even where all policies are open and
// even when it cuts the hop's own timeout short.
func TestBudgetIsNeverAPermission(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(ctx context.Context, frame []byte) ([]byte, error) {
			select {
			case <-time.After(400 * time.Millisecond):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			id, _ := frameID(frame)
			return []byte(none(id)), nil
		}
		for budget, proceed := range map[time.Duration]bool{
			time.Second: false, 1300 * time.Millisecond: true, 300 * time.Millisecond: false, 800 * time.Millisecond: false,
		} {
			rec := &memory{}
			o := options(rec)
			o.Budget = budget
			o.Local = map[string]transport.Local{"a.a": slow, "a.b": slow, "a.c": slow}
			var hooks []ahp.Backend
			for _, id := range []string{"a.a", "a.b", "a.c"} {
				hooks = append(hooks, intercept(id, &ahp.LocalTransport{}, time.Second, ahp.FailOpen))
			}
			h, err := harness.New(&ahp.Registration{Version: ahp.Version01, Hooks: hooks}, o)
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			s, _ := h.Begin(t.Context(), toolBefore()).Settle()
			if s.Proceeds() != proceed || time.Since(began) > budget {
				t.Errorf("budget %v: proceeds %v after %v", budget, s.Proceeds(), time.Since(began))
			}
			if !proceed && (s.Class != ahp.FailDeadline || !s.Synthetic) {
				t.Errorf("budget %v: %+v", budget, s)
			}
			if err := h.Close(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// Deadlines are absolute and per hop; the failure of one leaves the next its own.
func TestDeadlinePerHop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }
		rec := &memory{}
		o := options(rec)
		o.Local = map[string]transport.Local{"a.a": hang, "a.b": hang, "a.c": (&respond{}).local}
		h, err := harness.New(&ahp.Registration{Version: ahp.Version01, Hooks: []ahp.Backend{
			intercept("a.a", &ahp.LocalTransport{}, 250*time.Millisecond, ahp.FailOpen),
			intercept("a.b", &ahp.LocalTransport{}, 500*time.Millisecond, ahp.FailOpen),
			intercept("a.c", &ahp.LocalTransport{}, time.Second, ahp.FailClosed),
		}}, o)
		if err != nil {
			t.Fatal(err)
		}
		s, _ := h.Begin(t.Context(), toolBefore()).Settle()
		hops := rec.one(t).Hops
		if !s.Proceeds() || len(hops) != 3 || hops[0].TookNs != int64(250*time.Millisecond) ||
			hops[1].TookNs != int64(500*time.Millisecond) || hops[2].StartNs != int64(750*time.Millisecond) {
			t.Errorf("%+v", hops)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// What an in-process backend notes gets into the record beside the protocol, and
// changes nothing else.
func TestNotesReachTheRecord(t *testing.T) {
	r := withLocal(t, ahp.FailClosed, long, func(ctx context.Context, frame []byte) ([]byte, error) {
		settle.NotesFrom(ctx).Add(settle.Details{PolicyDigest: "sha256:ab", Rules: []string{"git.force"}, Facts: []string{"shell.commands"}, Hazards: []string{"git-force-push"}})
		id, _ := frameID(frame)
		return []byte(none(id)), nil
	})
	c := r.Begin(t.Context(), toolBefore())
	c.Note(settle.Details{RootSource: "agent", Client: "holdpoint-hook 0.1", Adapter: "codex"})
	if s, err := c.Settle(); !s.Proceeds() || err != nil {
		t.Fatal(s, err)
	}
	c.Note(settle.Details{Rules: []string{"late"}})
	rec := r.rec.one(t)
	if rec.PolicyDigest != "sha256:ab" || len(rec.Rules) != 1 || rec.RootSource != "agent" || rec.Adapter != "codex" || rec.Client == "" || len(rec.Facts) != 1 || len(rec.Hazards) != 1 {
		t.Errorf("%+v", rec)
	}
	if rec.Operation == "" || rec.Tool != "run_command" || rec.SessionID != "s-88" || rec.AgentID != "sub-2" {
		t.Errorf("%+v", rec)
	}
}

// Many calls at once, with the race detector looking on.
func TestConcurrentCalls(t *testing.T) {
	r := open(t, func(o *harness.Options) {
		o.Local = map[string]transport.Local{"net.acme.a": (&respond{}).local, "net.acme.w": (&respond{}).local}
	},
		intercept("net.acme.a", &ahp.LocalTransport{}, long, ahp.FailClosed),
		intercept("net.acme.p", stdio(t, ahp.Persistent), long, ahp.FailClosed),
		intercept("net.acme.h", badHTTP(t), long, ahp.FailClosed),
		observe("net.acme.w", &ahp.LocalTransport{}, ahp.ToolBefore),
	)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 25 {
				if s, err := settleOne(t, r, toolBefore()); !s.Proceeds() || err != nil {
					t.Errorf("%+v, %v", s, err)
				}
			}
		})
	}
	wg.Wait()
	if n := len(r.rec.all()); n != 200 {
		t.Errorf("%d records, want 200", n)
	}
	if st := r.Stats(); st.Observed+st.ObserveDropped+st.ObserveFailed != 200 {
		t.Errorf("%+v", st)
	}
}
