package agenthooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

type (
	ahContext = agenthooks.Context
	verdict   = agenthooks.Verdict
	request   = agenthooks.ApprovalRequest
	answer    = agenthooks.Resolution
)

func resolve(f func(*request) (answer, error)) agenthooks.Resolver {
	return agenthooks.ResolverFunc(func(_ context.Context, r *request) (answer, error) { return f(r) })
}

func approveAll() agenthooks.Resolver {
	return resolve(func(r *request) (answer, error) { return r.Approve(agenthooks.Allow()), nil })
}

// emitTool runs one pre_tool_call with the target {"qty":5,"q":"orig"}.
func emitTool(t *testing.T, o agenthooks.Options) (*agenthooks.Emission, *agenthooks.Host) {
	t.Helper()
	h, s := opened(t, o)
	e, err := s.EmitUnchecked(t.Context(), agenthooks.BeforeTool("1", "n", jsontext.Value(`{"qty":5,"q":"orig"}`)))
	if err != nil {
		t.Fatal(err)
	}
	validate(t, "interception-record.schema.json", e.Record)
	return e, h
}

func tool(v verdict) agenthooks.Registration { return fixed(agenthooks.PreToolCall, v) }

// wantRecord compares members of the record with JSON texts; "" means absent.
func wantRecord(t *testing.T, r *agenthooks.Record, want map[string]string) {
	t.Helper()
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]json.RawMessage
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	var v map[string]json.RawMessage
	if err := json.Unmarshal(m["verdict"], &v); err != nil {
		t.Fatal(err)
	}
	for k, w := range want {
		got := string(m[k])
		if name, ok := strings.CutPrefix(k, "verdict."); ok {
			got = string(v[name])
		}
		if got != w {
			t.Errorf("%s = %s, want %s", k, got, w)
		}
	}
}

// TestWorkedExampleA is the contract's example of first_deny (AH 7.4).
func TestWorkedExampleA(t *testing.T) {
	slots := []agenthooks.Registration{
		tool(verdict{Decision: agenthooks.DecisionAllow, ResultLabels: []string{"src:crm"}}),
		tool(agenthooks.Escalate("x:ask", "")),
		tool(agenthooks.Rewrite("$target.qty", 1)),
		tool(agenthooks.Warn("w:late", "")),
	}
	e, _ := emitTool(t, agenthooks.Options{Interceptors: slots, Resolver: approveAll(), Composition: agenthooks.Composition{OnApproval: agenthooks.Resume}})
	wantRecord(t, e.Record, map[string]string{
		"verdict.decision": `"transform"`, "verdict.transform": `{"path":"$target.qty"}`, "decided_by": `2`, "resolved_by": `"approval"`, "fold_truncated": `false`,
		"verdict.result_labels": `["src:crm"]`, "verdict.warnings": `[{"reason":"w:late"}]`,
		"composition": `{"profile":"sequential/first_deny","on_approval":"resume"}`,
	})
	if *e.Record.InputIdentity == *e.Record.EnforcedIdentity || len(e.Record.Verdicts) != 4 {
		t.Errorf("%+v", e.Record)
	}
	e, _ = emitTool(t, agenthooks.Options{Interceptors: slots, Resolver: approveAll()})
	wantRecord(t, e.Record, map[string]string{
		"verdict.decision": `"allow"`, "decided_by": `1`, "fold_truncated": `true`, "resolved_by": `"approval"`,
		"verdicts":    `[{"index":0,"decision":"allow"},{"index":1,"decision":"deny","reason":"x:ask"}]`,
		"composition": `{"profile":"sequential/first_deny","on_approval":"stop"}`,
	})
}

// TestWorkedExampleB is the contract's example of run_all (AH 7.4).
func TestWorkedExampleB(t *testing.T) {
	var seen []string
	var asked []*request
	look := func(v verdict) agenthooks.Registration {
		return at(agenthooks.PreToolCall, func(_ context.Context, c *ahContext) (verdict, error) {
			seen = append(seen, c.Text("target.q"))
			return v, nil
		})
	}
	all := []agenthooks.Registration{
		look(agenthooks.Rewrite("$target.q", "s")), look(agenthooks.Escalate("a", "")), look(agenthooks.Deny("hard", "")), look(agenthooks.Escalate("c", "")),
	}
	o := agenthooks.Options{Interceptors: all, Composition: agenthooks.Composition{Profile: agenthooks.RunAll}, Resolver: resolve(func(r *request) (answer, error) {
		asked = append(asked, r)
		return r.Approve(agenthooks.Allow()), nil
	})}
	e, _ := emitTool(t, o)
	wantRecord(t, e.Record, map[string]string{"verdict.reason": `"hard"`, "decided_by": `2`, "resolved_by": ``, "fold_truncated": `false`, "composition": `{"profile":"sequential/run_all"}`})
	if fmt.Sprint(seen) != "[orig s s s]" || len(asked) != 0 || len(e.Record.Verdicts) != 4 || *e.Record.InputIdentity == *e.Record.EnforcedIdentity {
		t.Errorf("seen %v, asked %d, %+v", seen, len(asked), e.Record)
	}
	o.Interceptors = []agenthooks.Registration{all[0], all[1], all[3]}
	e, _ = emitTool(t, o)
	wantRecord(t, e.Record, map[string]string{"verdict.decision": `"allow"`, "decided_by": `1`, "resolved_by": `"approval"`})
	if len(asked) != 1 || asked[0].Verdict.Reason != "a" || asked[0].Context.Text("target.q") != "s" || *asked[0].ContextIdentity != *e.Record.EnforcedIdentity {
		t.Errorf("asked %+v", asked)
	}
	if string(e.Target()) != `{"qty":5,"q":"s"}` {
		t.Errorf("target %s", e.Target())
	}
}

// TestWorkedExampleC is the contract's example of strictest (AH 7.5).
func TestWorkedExampleC(t *testing.T) {
	slots := []agenthooks.Registration{
		tool(agenthooks.Rewrite("$target.q", "a")), tool(agenthooks.Warn("w", "")), {}, tool(verdict{Decision: agenthooks.DecisionAllow, ResultLabels: []string{"L3"}}),
	}
	b := agenthooks.Rewrite("$target.q", "b")
	b.ResultLabels = []string{"L2"}
	slots[2] = tool(b)
	var got *request
	var reply func(r *request) answer
	o := agenthooks.Options{
		Interceptors: slots, Composition: agenthooks.Composition{Profile: agenthooks.Strictest, OnTransformConflict: agenthooks.Consult},
		Resolver: resolve(func(r *request) (answer, error) {
			got = r
			return reply(r), nil
		}),
	}
	reply = func(r *request) answer { return r.Approve(agenthooks.Rewrite("$target.q", "z")) }
	e, _ := emitTool(t, o)
	wantRecord(t, e.Record, map[string]string{
		"verdict.decision": `"transform"`, "verdict.warnings": `[{"reason":"w"}]`, "verdict.result_labels": `["L2","L3"]`, "resolved_by": `"approval"`,
		"decided_by": `null`, "fold_truncated": ``, "composition": `{"profile":"parallel/strictest","on_transform_conflict":"approval"}`,
	})
	if string(e.Target()) != `{"qty":5,"q":"z"}` || got.Context.Text("target.q") != "orig" || string(got.Verdict.Approval) != "{}" || got.Verdict.Reason != agenthooks.ReasonTransformConflict {
		t.Errorf("target %s, request %+v", e.Target(), got)
	}
	reply = func(r *request) answer { return r.Reject("no", "") }
	e, _ = emitTool(t, o)
	wantRecord(t, e.Record, map[string]string{
		"verdict.decision": `"deny"`, "verdict.reason": `"no"`, "verdict.warnings": `[{"reason":"w"}]`, "verdict.result_labels": ``, "resolved_by": `"rejection"`,
	})
	// AH-7.5-2: no resolver, the made deny stands and keeps its approval.
	o.Resolver = nil
	e, _ = emitTool(t, o)
	wantRecord(t, e.Record, map[string]string{"verdict.reason": `"host_error:transform_conflict"`, "verdict.approval": `{}`, "resolved_by": ``, "decided_by": `null`})
}

// TestWorkedExampleD is the contract's example of unanimous (AH 7.5).
func TestWorkedExampleD(t *testing.T) {
	e, _ := emitTool(t, agenthooks.Options{Composition: agenthooks.Composition{Profile: agenthooks.Unanimous}, Interceptors: []agenthooks.Registration{
		tool(agenthooks.Allow()),
		at(agenthooks.PreToolCall, func(context.Context, *ahContext) (verdict, error) { panic(errors.New("secret")) }),
	}})
	wantRecord(t, e.Record, map[string]string{
		"verdict.reason": `"host_error:composition_disagreement"`, "decided_by": `null`,
		"verdicts": `[{"index":0,"decision":"allow"},{"index":1,"decision":"deny","reason":"host_error:interceptor_failed"}]`,
	})
}

// TestFailureSlots is AH 6.3: every failure takes its slot, with a type name
// and nothing else.
//
// Rules: AH-1.3-3, AH-6.1-1.
func TestFailureSlots(t *testing.T) {
	for name, f := range map[string]func(context.Context, *ahContext) (verdict, error){
		"*errors.errorString": func(context.Context, *ahContext) (verdict, error) { return agenthooks.Allow(), errors.New("secret") },
		"string":              func(context.Context, *ahContext) (verdict, error) { panic("secret") },
		"runtime.Goexit":      func(context.Context, *ahContext) (verdict, error) { runtime.Goexit(); return agenthooks.Allow(), nil },
		"*runtime.TypeAssertionError": func(context.Context, *ahContext) (verdict, error) {
			var x any = "secret"
			_ = x.(int)
			return agenthooks.Allow(), nil
		},
	} {
		e, _ := emitTool(t, agenthooks.Options{Interceptors: []agenthooks.Registration{tool(agenthooks.Allow()), at(agenthooks.PreToolCall, f), tool(agenthooks.Allow())}})
		wantRecord(t, e.Record, map[string]string{
			"verdict.decision": `"deny"`, "verdict.reason": `"host_error:interceptor_failed"`, "verdict.message": `"` + name + `"`, "decided_by": `1`, "fold_truncated": `true`,
		})
		if e.Proceeds || e.Context() != nil || e.Labels() != nil || e.Target() != nil || e.DecodeTarget(new(any)) == nil {
			t.Errorf("%s: a blocked emission gives something out", name)
		}
	}
}

// TestTimeout is AH-7-3 and Go trap 9: each interceptor has its own limit, a
// late answer is dropped, and a callee that hangs is waited for by Wait.
func TestTimeout(t *testing.T) {
	for _, profile := range []agenthooks.Profile{agenthooks.FirstDeny, agenthooks.RunAll, agenthooks.Strictest, agenthooks.Unanimous} {
		synctest.Test(t, func(t *testing.T) {
			late := make(chan struct{})
			slow := at(agenthooks.PreToolCall, func(ctx context.Context, c *ahContext) (verdict, error) {
				<-ctx.Done()
				<-late
				if c.Text("target.q") != "orig" { // still its own
					t.Error("the context changed")
				}
				return agenthooks.Allow(), nil
			})
			slow.Timeout = time.Minute
			prompt := at(agenthooks.PreToolCall, func(ctx context.Context, c *ahContext) (verdict, error) {
				time.Sleep(4 * time.Second)
				return agenthooks.Allow(), nil
			})
			obeys := at(agenthooks.PreToolCall, func(ctx context.Context, c *ahContext) (verdict, error) {
				<-ctx.Done()
				return agenthooks.Allow(), ctx.Err()
			})
			h, s := opened(t, agenthooks.Options{Interceptors: []agenthooks.Registration{prompt, slow, obeys}, Composition: agenthooks.Composition{Profile: profile}})
			start := time.Now()
			e, err := s.EmitUnchecked(t.Context(), agenthooks.BeforeTool("1", "n", jsontext.Value(`{"q":"orig"}`)))
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(start)
			v := e.Record.Verdicts
			if e.Proceeds || v[0].Decision != "allow" || v[1].Reason != agenthooks.ReasonInterceptorTimeout {
				t.Errorf("%s: %+v", profile, v)
			}
			want := map[agenthooks.Profile]time.Duration{
				agenthooks.FirstDeny: 64 * time.Second, agenthooks.RunAll: 69 * time.Second, agenthooks.Strictest: time.Minute, agenthooks.Unanimous: time.Minute,
			}[profile]
			if took != want {
				t.Errorf("%s: took %v, want %v", profile, took, want)
			}
			if profile != agenthooks.FirstDeny && v[2].Reason != agenthooks.ReasonInterceptorTimeout {
				t.Errorf("%s: an answer after the limit: %+v", profile, v[2])
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if err := h.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s: Wait did not see the straggler: %v", profile, err)
			}
			close(late)
			if err := h.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestAbandonedCallsAreBounded: a callee that hangs for good costs a bounded
// number of goroutines, and denies.
func TestAbandonedCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stop := make(chan struct{})
		var calls atomic.Int64
		hang := at(agenthooks.Output, func(context.Context, *ahContext) (verdict, error) {
			calls.Add(1)
			<-stop
			return agenthooks.Allow(), nil
		})
		h, s := opened(t, agenthooks.Options{Interceptors: []agenthooks.Registration{hang}, Timeout: time.Second})
		for range 300 {
			e, err := s.EmitUnchecked(t.Context(), agenthooks.Final("x"))
			if err != nil || e.Proceeds || e.Record.Verdict.Reason != agenthooks.ReasonInterceptorTimeout {
				t.Fatalf("%+v %v", e, err)
			}
		}
		if n := calls.Load(); n != 256 {
			t.Errorf("%d calls hang", n)
		}
		close(stop)
		if err := h.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		e, _ := s.EmitUnchecked(t.Context(), agenthooks.Final("x"))
		if !e.Proceeds {
			t.Error("it does not recover when the calls have ended")
		}
	})
}

// TestNoTimeout is the last clause of AH-7-3.
func TestNoTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, s := opened(t, agenthooks.Options{Timeout: -1, Interceptors: []agenthooks.Registration{at(agenthooks.Output, func(context.Context, *ahContext) (verdict, error) {
			time.Sleep(24 * time.Hour)
			return agenthooks.Allow(), nil
		})}})
		if _, err := s.Emit(t.Context(), agenthooks.Final("x")); err != nil {
			t.Error(err)
		}
	})
}

// TestParallelIsConcurrent: each callee waits for the others.
func TestParallelIsConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		meet := make(chan struct{})
		var arrived atomic.Int32
		wait := at(agenthooks.Output, func(ctx context.Context, _ *ahContext) (verdict, error) {
			if arrived.Add(1) == 3 {
				close(meet)
			}
			select {
			case <-meet:
				return agenthooks.Allow(), nil
			case <-ctx.Done():
				return verdict{}, ctx.Err()
			}
		})
		_, s := opened(t, agenthooks.Options{Interceptors: []agenthooks.Registration{wait, wait, wait}, Composition: agenthooks.Composition{Profile: agenthooks.Unanimous}})
		if _, err := s.Emit(t.Context(), agenthooks.Final("x")); err != nil {
			t.Error(err)
		}
	})
}

// TestCancellation is the last rule of AH 15: a record, a deny, no gap, in
// every profile, for interceptors, redactor and resolver.
func TestCancellation(t *testing.T) {
	reason := errors.New("user left")
	for _, profile := range []agenthooks.Profile{agenthooks.FirstDeny, agenthooks.RunAll, agenthooks.Strictest, agenthooks.Unanimous} {
		for _, mode := range []agenthooks.Mode{agenthooks.Enforce, agenthooks.EvaluateOnly} {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				h, s := opened(t, agenthooks.Options{Mode: mode, Composition: agenthooks.Composition{Profile: profile}, Interceptors: []agenthooks.Registration{
					{Interceptor: allow},
					at(agenthooks.Output, func(c context.Context, _ *ahContext) (verdict, error) {
						cancel(reason)
						<-c.Done()
						return agenthooks.Allow(), nil
					}),
					{Interceptor: allow},
				}})
				_, err := s.Emit(ctx, agenthooks.Final("x"))
				var b *agenthooks.BlockedError
				if !errors.Is(err, reason) || !errors.As(err, &b) {
					t.Fatalf("%s %s: %v", profile, mode, err)
				}
				r := b.Record
				if r.Verdict.Reason != agenthooks.ReasonInterceptorFailed || r.DecidedBy == nil || *r.DecidedBy > 2 || r.Sequence != 1 {
					t.Errorf("%s: %+v", profile, r)
				}
				if profile == agenthooks.FirstDeny && (*r.DecidedBy != 1 || !*r.FoldTruncated) {
					t.Errorf("%s: %+v", profile, r)
				}
				// Already cancelled: nobody is called, and there is a record.
				_, err = s.Emit(ctx, agenthooks.Final("x"))
				if !errors.Is(err, reason) {
					t.Error(err)
				}
				list := h.TakeRecords()
				if len(list) != 2 || list[1].Sequence != 2 || len(list[1].Verdicts) != 0 || list[1].Verdict.Decision != "deny" {
					t.Errorf("records %+v", list)
				}
				if err := h.Wait(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, s := opened(t, agenthooks.Options{Interceptors: allows(1)})
	var b *agenthooks.BlockedError
	if _, err := s.Emit(ctx, agenthooks.Final("x")); !errors.As(err, &b) || !*b.Record.FoldTruncated || *b.Record.DecidedBy != 0 || len(b.Record.Verdicts) != 0 {
		t.Errorf("the only slot was never called: %v", err)
	}
	for _, where := range []string{"resolver", "redactor"} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			o := agenthooks.Options{Interceptors: []agenthooks.Registration{fixed(agenthooks.Output, agenthooks.Escalate("ask", ""))}, Resolver: approveAll()}
			if where == "redactor" {
				o.Redactor = func(_ context.Context, c *ahContext) (*ahContext, error) { cancel(reason); return c, nil }
			} else {
				o.Resolver = resolve(func(r *request) (answer, error) { cancel(reason); return r.Approve(agenthooks.Allow()), nil })
			}
			_, s := opened(t, o)
			_, err := s.Emit(ctx, agenthooks.Final("x"))
			var b *agenthooks.BlockedError
			if !errors.Is(err, reason) || !errors.As(err, &b) || b.Reason() != agenthooks.ReasonApprovalResolverFailed || *b.Record.DecidedBy != 0 {
				t.Errorf("%s: %v", where, err)
			}
		})
	}
}

// TestConfiguration is AH-7.2-1, AH-8-1 and the rest of what New refuses.
//
// Rules: AH-7.1-1, AH-7.2-3.
func TestConfiguration(t *testing.T) {
	good := agenthooks.Options{AgentID: "a", Framework: "f", Interceptors: allows(1)}
	for want, edit := range map[string]func(*agenthooks.Options){
		"":                            func(*agenthooks.Options) {},
		"agent id":                    func(o *agenthooks.Options) { o.AgentID = "" },
		"framework":                   func(o *agenthooks.Options) { o.Framework = "My Framework" },
		"agent name":                  func(o *agenthooks.Options) { o.AgentName = "\xff" },
		"composition.profile":         func(o *agenthooks.Options) { o.Composition.Profile = "parallel/quorum" },
		"composition.on_approval":     func(o *agenthooks.Options) { o.Composition.OnApproval = "approval" },
		"composition.on_disagreement": func(o *agenthooks.Options) { o.Composition.OnDisagreement = "stop" },
		"composition.on_transform":    func(o *agenthooks.Options) { o.Composition.OnTransformConflict = "last" },
		`mode: "observe"`:             func(o *agenthooks.Options) { o.Mode = "observe" },
		`mode at "nowhere"`: func(o *agenthooks.Options) {
			o.ModeAt = map[agenthooks.Point]agenthooks.Mode{"nowhere": agenthooks.Enforce}
		},
		`mode at "input": "x"`: func(o *agenthooks.Options) { o.ModeAt = map[agenthooks.Point]agenthooks.Mode{agenthooks.Input: "x"} },
		"interceptors[1]: nil": func(o *agenthooks.Options) { o.Interceptors = append(allows(1), agenthooks.Registration{}) },
		"interceptors[0]: namespace": func(o *agenthooks.Options) {
			o.Interceptors = []agenthooks.Registration{{Interceptor: allow, Namespace: "A"}}
		},
		"interceptors[0]: name must be": func(o *agenthooks.Options) {
			o.Interceptors = []agenthooks.Registration{{Interceptor: allow, Name: "\xff"}}
		},
		"bounds": func(o *agenthooks.Options) { o.MaxDepth = -1 },
	} {
		o := good
		edit(&o)
		_, err := agenthooks.New(o)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
	bad := agenthooks.Options{Composition: agenthooks.Composition{Profile: "x", OnApproval: "y"}, Mode: "z"}
	if _, err := agenthooks.New(bad); err == nil || strings.Count(err.Error(), "\n") < 4 {
		t.Errorf("not all that is wrong: %v", err)
	}
}

// TestModes is AH 8: per session and per point.
func TestModes(t *testing.T) {
	var asked int
	h, err := agenthooks.New(agenthooks.Options{
		AgentID: "a", Framework: "f", ModeAt: map[agenthooks.Point]agenthooks.Mode{agenthooks.Output: agenthooks.EvaluateOnly},
		Interceptors: []agenthooks.Registration{{Interceptor: agenthooks.InterceptorFunc(func(_ context.Context, c *ahContext) (verdict, error) {
			switch c.Point() {
			case agenthooks.Output, agenthooks.Input:
				return agenthooks.Escalate("ask", ""), nil
			case agenthooks.PreModelCall:
				return agenthooks.Rewrite("$target", []string{}), nil
			}
			return agenthooks.Allow(), nil
		})}},
		Resolver: resolve(func(r *request) (answer, error) { asked++; return r.Unresolved(), nil }),
	})
	if err != nil {
		t.Fatal(err)
	}
	try := func(o agenthooks.SessionOptions, e agenthooks.Event) *agenthooks.Emission {
		s, err := h.NewSession(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Emit(t.Context(), agenthooks.Startup()); err != nil {
			t.Fatal(err)
		}
		out, err := s.EmitUnchecked(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		validate(t, "interception-record.schema.json", out.Record)
		return out
	}
	if e := try(agenthooks.SessionOptions{}, agenthooks.Final("x")); !e.Proceeds || e.Record.Mode != agenthooks.EvaluateOnly || e.Record.Verdict.Decision != "deny" || asked != 0 {
		t.Errorf("host, per point: %+v, asked %d", e.Record, asked)
	}
	if e := try(agenthooks.SessionOptions{}, agenthooks.External("user", "x")); e.Proceeds || asked != 1 || e.Record.Verdict.Reason != agenthooks.ReasonApprovalUnresolved {
		t.Errorf("enforce: %+v", e.Record)
	}
	if e := try(agenthooks.SessionOptions{Mode: agenthooks.Enforce}, agenthooks.Final("x")); e.Proceeds {
		t.Errorf("the session's mode does not win: %+v", e.Record)
	}
	e := try(agenthooks.SessionOptions{Mode: agenthooks.EvaluateOnly}, agenthooks.BeforeModel("m", jsontext.Value(`[1]`)))
	if string(e.Target()) != `[1]` || *e.Record.InputIdentity != *e.Record.EnforcedIdentity || e.Record.Verdict.Decision != "transform" {
		t.Errorf("AH-8-3: %+v", e.Record)
	}
	e = try(agenthooks.SessionOptions{ModeAt: map[agenthooks.Point]agenthooks.Mode{agenthooks.Input: agenthooks.EvaluateOnly}}, agenthooks.External("user", "x"))
	if !e.Proceeds {
		t.Errorf("per point of the session: %+v", e.Record)
	}
	if _, err := h.NewSession(agenthooks.SessionOptions{Mode: "x", ID: "\xff", ModeAt: map[agenthooks.Point]agenthooks.Mode{"y": "z"}}); err == nil || strings.Count(err.Error(), "\n") != 3 {
		t.Errorf("NewSession: %v", err)
	}
}

// TestZeroInterceptors is AH-7-2.
func TestZeroInterceptors(t *testing.T) {
	for _, profile := range []agenthooks.Profile{agenthooks.FirstDeny, agenthooks.RunAll, agenthooks.Strictest, agenthooks.Unanimous} {
		for _, mode := range []agenthooks.Mode{agenthooks.Enforce, agenthooks.EvaluateOnly} {
			h, s := opened(t, agenthooks.Options{Mode: mode, Composition: agenthooks.Composition{Profile: profile}, Resolver: approveAll()})
			p := agenthooks.Shutdown("error")
			e, err := s.EmitUnchecked(t.Context(), p)
			if err != nil {
				t.Fatal(err)
			}
			if e.Proceeds != (mode == agenthooks.EvaluateOnly) || *e.Record.InputIdentity != *e.Record.EnforcedIdentity {
				t.Errorf("%+v", e)
			}
			wantRecord(t, e.Record, map[string]string{
				"verdict.reason": `"host_error:no_interceptor"`, "decided_by": `null`, "verdicts": `[]`, "fold_truncated": ``, "interceptors_registered": `0`,
			})
			validate(t, "interception-record.schema.json", e.Record)
			_ = h
		}
	}
}
