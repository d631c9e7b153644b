package agenthooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// TestResolutionOrder is AH-9-5: A1 to A5, the first failure decides. Each row
// breaks its own step and every later one.
func TestResolutionOrder(t *testing.T) {
	bad := verdict{} // breaks A4
	tests := []struct {
		name   string
		make   func(*request) answer
		reason string
	}{
		{"A1 other", func(*request) answer { return answer{Outcome: "?", ContextIdentity: new("sha256:0"), Verdict: &bad} }, agenthooks.ReasonApprovalIdentityMismatch},
		{"A1 null", func(*request) answer { return answer{Outcome: agenthooks.Approved, Verdict: &bad} }, agenthooks.ReasonApprovalIdentityMismatch},
		{"A1 before unresolved", func(*request) answer { return answer{Outcome: agenthooks.Unresolved, ContextIdentity: new("")} }, agenthooks.ReasonApprovalIdentityMismatch},
		{"A2 outcome", func(r *request) answer {
			return answer{Outcome: "APPROVE", ContextIdentity: r.ContextIdentity, Verdict: &bad}
		}, agenthooks.ReasonApprovalResolverFailed},
		{"A2 empty", func(r *request) answer { return answer{ContextIdentity: r.ContextIdentity} }, agenthooks.ReasonApprovalResolverFailed},
		{"A2 approve without", func(r *request) answer {
			return answer{Outcome: agenthooks.Approved, ContextIdentity: r.ContextIdentity}
		}, agenthooks.ReasonApprovalResolverFailed},
		{"A2 unresolved with", func(r *request) answer {
			return answer{Outcome: agenthooks.Unresolved, ContextIdentity: r.ContextIdentity, Verdict: &bad}
		}, agenthooks.ReasonApprovalResolverFailed},
		{"A3", func(r *request) answer { return r.Unresolved() }, agenthooks.ReasonApprovalUnresolved},
		{"A4", func(r *request) answer { return r.Approve(bad) }, agenthooks.ReasonVerdictInvalid},
		{"A4 reserved", func(r *request) answer { return r.Reject("host_error:x", "") }, agenthooks.ReasonVerdictInvalid},
		{"A5 approve deny", func(r *request) answer { return r.Approve(agenthooks.Deny("d", "")) }, agenthooks.ReasonVerdictInvalid},
		{"A5 reject allow", func(r *request) answer {
			v := agenthooks.Allow()
			return answer{Outcome: agenthooks.Rejected, ContextIdentity: r.ContextIdentity, Verdict: &v}
		}, agenthooks.ReasonVerdictInvalid},
		{"reject", func(r *request) answer { return r.Reject("boss:no", "") }, "boss:no"},
		{"approve", func(r *request) answer { return r.Approve(agenthooks.Allow()) }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, _ := emitTool(t, agenthooks.Options{
				Interceptors: []agenthooks.Registration{tool(agenthooks.Allow()), tool(agenthooks.Escalate("ask", ""))},
				Resolver:     resolve(func(r *request) (answer, error) { return tt.make(r), nil }),
			})
			by := `"rejection"`
			if tt.reason == "" {
				by = `"approval"`
			}
			if e.Proceeds != (tt.reason == "") || e.Record.Verdict.Reason != tt.reason {
				t.Errorf("%+v, want %s", e.Record.Verdict, tt.reason)
			}
			wantRecord(t, e.Record, map[string]string{"decided_by": `1`, "resolved_by": by}) // AH-9-6, AH-9-12
		})
	}
}

// TestResolutionAsText is the seam for resolvers in another process.
func TestResolutionAsText(t *testing.T) {
	tests := []struct{ text, reason string }{
		{`{"outcome":"approve","context_identity":ID,"verdict":{"decision":"allow"}}`, ""},
		{`{"outcome":"approve","context_identity":ID,"verdict":{"decision":"transform","transform":{"path":"$target.q","value":"w"}}}`, ""},
		{`{"outcome":"approve","context_identity":ID,"verdict":{"decision":"transform","transform":{"path":"$target.none","value":"w"}}}`, agenthooks.ReasonTransformInvalid},
		{`{"outcome":"approve","context_identity":ID,"verdict":{"decision":"transform","transform":{"path":"$target..","value":"w"}}}`, agenthooks.ReasonTransformInvalid},
		{`{"outcome":"approve","context_identity":ID,"verdict":{"decision":"transform","transform":{"path":"q","value":"w"}}}`, agenthooks.ReasonTransformTargetForbidden},
		{`{"outcome":"approve","context_identity":ID,"verdict":"allow"}`, agenthooks.ReasonVerdictInvalid},
		{`{"outcome":"approve","context_identity":ID,"verdict":null}`, agenthooks.ReasonApprovalResolverFailed},
		{`{"outcome":7,"context_identity":ID,"verdict":{"decision":"allow"}}`, agenthooks.ReasonApprovalResolverFailed},
		{`{"outcome":"unresolved","context_identity":ID}`, agenthooks.ReasonApprovalUnresolved},
		{`{"outcome":"approve","context_identity":7,"verdict":{"decision":"allow"}}`, agenthooks.ReasonApprovalIdentityMismatch},
		{`{"outcome":"approve","verdict":{"decision":"allow"}}`, agenthooks.ReasonApprovalIdentityMismatch},
		{`{"outcome":"approve","context_identity":ID,"context_identity":ID,"verdict":{"decision":"allow"}}`, agenthooks.ReasonApprovalResolverFailed},
		{`[]`, agenthooks.ReasonApprovalResolverFailed},
		{`{`, agenthooks.ReasonApprovalResolverFailed},
		{``, agenthooks.ReasonApprovalResolverFailed},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			e, _ := emitTool(t, agenthooks.Options{
				Interceptors: []agenthooks.Registration{tool(agenthooks.Escalate("ask", ""))},
				Resolver: resolve(func(r *request) (answer, error) {
					wire, err := json.Marshal(r)
					if err != nil {
						t.Error(err)
					}
					var q struct {
						ID json.RawMessage `json:"context_identity"`
					}
					if err := json.Unmarshal(wire, &q); err != nil {
						t.Error(err)
					}
					return agenthooks.ParseResolution([]byte(strings.ReplaceAll(tt.text, "ID", string(q.ID))))
				}),
			})
			if e.Proceeds != (tt.reason == "") || e.Record.Verdict.Reason != tt.reason {
				t.Errorf("%+v, want %s", e.Record.Verdict, tt.reason)
			}
			if strings.Contains(tt.text, "$target.none") {
				wantRecord(t, e.Record, map[string]string{"resolved_by": `"approval"`, "decided_by": `null`}) // AH-9-8
			}
		})
	}
}

// TestSeamFailures is AH-9-3 and AH-9-4.
func TestSeamFailures(t *testing.T) {
	type redact = agenthooks.Redactor
	good := redact(func(_ context.Context, c *ahContext) (*ahContext, error) { return c, nil })
	for name, tt := range map[string]struct {
		redactor redact
		resolver agenthooks.Resolver
		reason   string
		message  string
	}{
		"resolver error":   {good, resolve(func(*request) (answer, error) { return answer{}, errors.New("secret") }), agenthooks.ReasonApprovalResolverFailed, "*errors.errorString"},
		"resolver panic":   {good, resolve(func(*request) (answer, error) { panic("secret") }), agenthooks.ReasonApprovalResolverFailed, "string"},
		"resolver timeout": {nil, resolve(func(r *request) (answer, error) { time.Sleep(time.Hour); return r.Approve(agenthooks.Allow()), nil }), agenthooks.ReasonApprovalResolverFailed, "timeout"},
		"redactor error":   {func(context.Context, *ahContext) (*ahContext, error) { return nil, errors.New("secret") }, approveAll(), agenthooks.ReasonApprovalResolverFailed, "*errors.errorString"},
		"redactor panic":   {func(context.Context, *ahContext) (*ahContext, error) { panic("secret") }, approveAll(), agenthooks.ReasonApprovalResolverFailed, "string"},
		"redactor nil":     {func(context.Context, *ahContext) (*ahContext, error) { return nil, nil }, approveAll(), agenthooks.ReasonApprovalResolverFailed, "no context"},
		"redactor timeout": {func(_ context.Context, c *ahContext) (*ahContext, error) { time.Sleep(time.Hour); return c, nil }, approveAll(), agenthooks.ReasonApprovalResolverFailed, "timeout"},
		"presented without identity": {func(_ context.Context, c *ahContext) (*ahContext, error) {
			return c.Set("$target.q", jsontext.Value(`9007199254740993`))
		}, approveAll(), agenthooks.ReasonContextInvalid, ""},
		"presented without envelope": {func(_ context.Context, c *ahContext) (*ahContext, error) { return c.Set("$target", "[redacted]") }, approveAll(), agenthooks.ReasonContextInvalid, ""},
	} {
		synctest.Test(t, func(t *testing.T) {
			h, s := opened(t, agenthooks.Options{Interceptors: []agenthooks.Registration{tool(agenthooks.Escalate("ask", ""))}, Redactor: tt.redactor, Resolver: tt.resolver})
			e, err := s.EmitUnchecked(t.Context(), agenthooks.BeforeTool("1", "n", jsontext.Value(`{"q":1}`)))
			if err != nil {
				t.Fatal(err)
			}
			v := e.Record.Verdict
			if e.Proceeds || v.Reason != tt.reason || tt.message != "" && v.Message != tt.message || e.Record.ResolvedBy != agenthooks.ResolvedRejection || *e.Record.DecidedBy != 0 {
				t.Errorf("%s: %+v", name, e.Record)
			}
			if strings.Contains(v.Message, "secret") {
				t.Errorf("%s: AH-6.3-3: %q", name, v.Message)
			}
			if err := h.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestRedaction is AH-9-2, AH-9-9 and duty H6.
func TestRedaction(t *testing.T) {
	var got *request
	o := agenthooks.Options{
		Interceptors: []agenthooks.Registration{tool(agenthooks.Escalate("ask", ""))},
		Redactor:     agenthooks.RedactPaths("[redacted]", "$target.q", "$target.none", "nonsense"),
		Resolver: resolve(func(r *request) (answer, error) {
			got = r
			return r.Approve(agenthooks.Allow()), nil
		}),
	}
	e, _ := emitTool(t, o)
	if got.Context.Text("target.q") != "[redacted]" || got.Context.Text("tool_call.args.q") != "[redacted]" {
		t.Errorf("presented %s", got.Context.JSON())
	}
	if id, err := agenthooks.Identity(got.Context); err != nil || id != *got.ContextIdentity || id == *e.Record.InputIdentity {
		t.Errorf("the identity asked about is not that of the presented context: %v", err)
	}
	if *e.Record.InputIdentity != *e.Record.EnforcedIdentity || string(e.Target()) != `{"qty":5,"q":"orig"}` {
		t.Errorf("AH-9-9: %+v, target %s", e.Record, e.Target())
	}
	o.Identity = agenthooks.NoIdentity() // AH-9-13
	e, _ = emitTool(t, o)
	if got.ContextIdentity != nil || !e.Proceeds {
		t.Errorf("null provider: %v, %+v", got.ContextIdentity, e.Record)
	}
	o.Resolver = resolve(func(*request) (answer, error) {
		return agenthooks.ParseResolution([]byte(`{"outcome":"approve","context_identity":null,"verdict":{"decision":"allow"}}`))
	})
	if e, _ = emitTool(t, o); !e.Proceeds {
		t.Errorf("null as text: %+v", e.Record.Verdict)
	}
	o.Resolver = resolve(func(*request) (answer, error) {
		return agenthooks.ParseResolution([]byte(`{"outcome":"approve","verdict":{"decision":"allow"}}`))
	})
	if e, _ = emitTool(t, o); e.Proceeds {
		t.Error("an absent identity is not a null one")
	}
	o.Resolver = resolve(func(r *request) (answer, error) {
		a := r.Approve(agenthooks.Allow())
		a.ContextIdentity = new("")
		return a, nil
	})
	if e, _ = emitTool(t, o); e.Proceeds || e.Record.Verdict.Reason != agenthooks.ReasonApprovalIdentityMismatch {
		t.Errorf("null equals only null: %+v", e.Record.Verdict)
	}
}

// TestResolverCannotReachIn is AH-9-11: whatever it changes is its own.
func TestResolverCannotReachIn(t *testing.T) {
	v := agenthooks.Escalate("ask", "")
	v.Warnings = []agenthooks.Warning{{Reason: "w"}}
	v.Evidence = &agenthooks.Evidence{Artefact: "a", VerificationPointers: map[string]string{"k": "v"}}
	e, _ := emitTool(t, agenthooks.Options{
		Interceptors: []agenthooks.Registration{tool(v)},
		Resolver: resolve(func(r *request) (answer, error) {
			*r.ContextIdentity = "sha256:mine"
			r.Verdict.Warnings[0].Reason = "changed"
			r.Verdict.Evidence.VerificationPointers["k"] = "changed"
			r.Verdict.Approval[0] = 'x'
			r.Context.JSON()[0] = 'x'
			r.Context.Target()[0] = 'x'
			return r.Approve(agenthooks.Allow()), nil // echoes its own change
		}),
	})
	if e.Record.Verdict.Reason != agenthooks.ReasonApprovalIdentityMismatch || e.Record.Verdict.Warnings[0].Reason != "w" {
		t.Errorf("%+v", e.Record.Verdict)
	}
	if v.Warnings[0].Reason != "w" || v.Evidence.VerificationPointers["k"] != "v" || string(v.Approval) != "{}" {
		t.Errorf("the interceptor's verdict changed: %+v", v)
	}
}

// TestNoConsultation is AH-9-1, AH-6.1a-2 and AH-5.1-2.
func TestNoConsultation(t *testing.T) {
	asked := 0
	o := agenthooks.Options{
		Interceptors: []agenthooks.Registration{fixed(agenthooks.AgentShutdown, agenthooks.Escalate("ask", ""))},
		Resolver:     resolve(func(r *request) (answer, error) { asked++; return r.Approve(agenthooks.Allow()), nil }),
	}
	for _, p := range []agenthooks.Profile{agenthooks.FirstDeny, agenthooks.RunAll, agenthooks.Strictest, agenthooks.Unanimous} {
		o.Composition = agenthooks.Composition{Profile: p, OnDisagreement: agenthooks.Consult, OnTransformConflict: agenthooks.Consult}
		_, s := opened(t, o)
		e, err := s.EmitUnchecked(t.Context(), agenthooks.Shutdown("completed"))
		if err != nil || e.Proceeds || asked != 0 || e.Record.ResolvedBy != "" || e.Record.Verdict.Approval == nil {
			t.Errorf("%s: asked %d, %+v", p, asked, e.Record)
		}
	}
}
