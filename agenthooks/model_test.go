package agenthooks_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

// randomVerdict makes a verdict and what is known about it.
func randomVerdict(r *rand.Rand, resolver bool) refVerdict {
	v := refVerdict{decision: pick(r, "allow", "allow", "allow", "transform", "transform", "deny", "deny")}
	if r.IntN(12) == 0 && !resolver {
		return refVerdict{fault: pick(r, "error", "panic")}
	}
	v.reason = pick(r, "", "p:a", "p:b")
	v.message = pick(r, "", "", "text")
	for range r.IntN(3) {
		v.warnings = append(v.warnings, agenthooks.Warning{Reason: pick(r, "", "w:1", "w:2"), Message: pick(r, "", "m")})
	}
	for range r.IntN(3) {
		v.labels = append(v.labels, pick(r, "l1", "l2", "l3"))
	}
	v.evidence = pick(r, "", "", "ev1", "ev2")
	switch v.decision {
	case "deny":
		v.approval = r.IntN(3) > 0
	case "transform":
		type p struct {
			text     string
			segments []any
			bad      string
		}
		path := pick(r,
			p{"$target", nil, ""}, p{"$target.a", []any{"a"}, ""}, p{"$policy_target[\"b\"]", []any{"b"}, ""}, p{"$target.b.c[1]", []any{"b", "c", 1}, ""},
			p{"$target.content", []any{"content"}, ""}, p{"$target[0]", []any{0}, ""}, p{"$target.b.c", []any{"b", "c"}, ""}, p{"$target.a", []any{"a"}, ""},
			p{"$target.none", []any{"none"}, ""}, p{"$target.b.c[9]", []any{"b", "c", 9}, ""}, p{"$target.a.x", []any{"a", "x"}, ""},
			p{"$target..a", nil, "host_error:transform_invalid"}, p{"$snapshot", nil, "host_error:transform_target_forbidden"})
		v.path, v.segments, v.pathBad = path.text, path.segments, path.bad
		v.value = pick(r, `1`, `2`, `"s"`, `null`, `{"a":7,"b":{"c":[5,6]},"content":"z","reason":"completed"}`, `[{"role":"user"}]`, `{"content":1}`, `9007199254740993`, `2.50`, `[]`)
	}
	if r.IntN(15) == 0 {
		v.gate = "host_error:verdict_invalid"
		v.text = pick(r, `null`, `[]`, `{}`, `{"decision":"warn"}`, `{"decision":"transform"}`, `{"decision":"allow","approval":{}}`, `{"decision":"deny","reason":"host_error:no_interceptor"}`)
	}
	return v
}

// wire is the verdict as an interceptor returns it: by constructor fields or
// as text, at random.
func (v *refVerdict) wire(r *rand.Rand) agenthooks.Verdict {
	out := agenthooks.Verdict{
		Decision: agenthooks.Decision(v.decision), Reason: v.reason, Message: v.message, Warnings: v.warnings, ResultLabels: v.labels,
	}
	if v.gate != "" {
		return agenthooks.RawVerdict([]byte(v.text))
	}
	if v.approval {
		out.Approval = jsontext.Value(`{"who":"x"}`)
	}
	if v.evidence != "" {
		out.Evidence = &agenthooks.Evidence{Artefact: v.evidence}
	}
	if v.decision == "transform" {
		out.Transform = &agenthooks.Transform{Path: v.path, Value: jsontext.Value(v.value)}
	}
	if r.IntN(2) == 0 {
		text, err := out.MarshalJSON()
		if err != nil {
			panic(err)
		}
		return agenthooks.RawVerdict(text)
	}
	return out
}

func randomSetup(r *rand.Rand) refSetup {
	s := refSetup{
		point:    pick(r, "pre_tool_call", "pre_tool_call", "output", "pre_model_call", "agent_shutdown"),
		profile:  pick(r, "sequential/first_deny", "sequential/first_deny", "sequential/run_all", "parallel/strictest", "parallel/unanimous"),
		evaluate: r.IntN(6) == 0,
	}
	switch s.profile {
	case "sequential/first_deny":
		s.knob = pick(r, "stop", "resume")
	case "parallel/strictest", "parallel/unanimous":
		s.knob = pick(r, "deny", "approval")
	}
	s.target = map[string]string{
		"pre_tool_call": `{"a":1,"b":{"c":[1,2]},"content":"x"}`, "output": `{"content":{"a":1}}`,
		"pre_model_call": `[{"role":"user","content":"hi"}]`, "agent_shutdown": `{"reason":"completed"}`,
	}[s.point]
	for range r.IntN(6) {
		s.slots = append(s.slots, randomVerdict(r, false))
	}
	if r.IntN(4) > 0 {
		for range 1 + r.IntN(3) {
			a := refAnswer{outcome: pick(r, "approve", "approve", "approve", "reject", "unresolved", "maybe"), echo: r.IntN(10) > 0}
			if r.IntN(12) == 0 {
				a.fault = pick(r, "error", "panic")
			}
			if a.outcome != "unresolved" || r.IntN(10) == 0 {
				v := randomVerdict(r, true)
				if want := a.outcome == "reject"; (v.decision == "deny") != want && r.IntN(6) > 0 {
					v = refVerdict{decision: "allow", warnings: v.warnings, labels: v.labels, evidence: v.evidence}
					if want {
						v = refVerdict{decision: "deny", reason: "no", warnings: v.warnings}
					}
				}
				a.verdict = &v
			}
			if r.IntN(20) == 0 {
				a.verdict = nil
			}
			s.answers = append(s.answers, a)
		}
	}
	return s
}

// real runs the setup through a host and puts the outcome in the model's terms.
func real(t *testing.T, s refSetup, r *rand.Rand) (refResult, *agenthooks.Record) {
	o := agenthooks.Options{AgentID: "a", Framework: "f", MaxRecords: -1, Composition: agenthooks.Composition{Profile: agenthooks.Profile(s.profile)}}
	switch s.profile {
	case "sequential/first_deny":
		o.Composition.OnApproval = agenthooks.Knob(s.knob)
	case "parallel/strictest":
		o.Composition.OnTransformConflict = agenthooks.Knob(s.knob)
	case "parallel/unanimous":
		o.Composition.OnDisagreement = agenthooks.Knob(s.knob)
	}
	if s.evaluate {
		o.Mode = agenthooks.EvaluateOnly
	}
	var mu sync.Mutex
	seen := make([]string, len(s.slots))
	called := 0
	for i := range s.slots {
		answer := s.slots[i].wire(r)
		fault := s.slots[i].fault
		yields := r.IntN(3)
		o.Interceptors = append(o.Interceptors, agenthooks.Registration{Interceptor: agenthooks.InterceptorFunc(
			func(_ context.Context, c *agenthooks.Context) (agenthooks.Verdict, error) {
				for range yields { // shuffles the order of completion
					runtime.Gosched()
				}
				mu.Lock()
				seen[i] = encodeAny(decode(string(c.Target())))
				called = max(called, i+1)
				mu.Unlock()
				switch fault {
				case "error":
					return answer, errors.New("payload")
				case "panic":
					panic("payload")
				}
				return answer, nil
			})})
	}
	asked := 0
	if s.answers != nil {
		o.Resolver = agenthooks.ResolverFunc(func(_ context.Context, q *agenthooks.ApprovalRequest) (agenthooks.Resolution, error) {
			a := s.answers[asked%len(s.answers)]
			asked++
			if q.ContextIdentity == nil || q.Verdict.Decision != "deny" || q.Verdict.Approval == nil {
				t.Errorf("bad request %+v", q)
			}
			if id, err := agenthooks.Identity(q.Context); err != nil || id != *q.ContextIdentity {
				t.Errorf("AH-9-2: identity %v is not that of the presented context: %v", *q.ContextIdentity, err)
			}
			switch a.fault {
			case "error":
				return agenthooks.Resolution{}, errors.New("payload")
			case "panic":
				panic("payload")
			}
			out := agenthooks.Resolution{Outcome: agenthooks.Outcome(a.outcome), ContextIdentity: q.ContextIdentity}
			if !a.echo {
				wrong := *q.ContextIdentity + " "
				out.ContextIdentity = pick(r, nil, &wrong)
			}
			if a.verdict != nil {
				v := a.verdict.wire(r)
				out.Verdict = &v
			}
			return out, nil
		})
	}
	h, err := agenthooks.New(o)
	if err != nil {
		t.Fatal(err)
	}
	m := base(s.point)
	m["target"] = s.target
	switch s.point {
	case "pre_tool_call":
		m["tool_call"] = `{"id":"1","name":"n","args":` + s.target + `}`
	case "output":
		m["output"] = s.target
	case "pre_model_call":
		m["messages"] = s.target
	case "agent_shutdown":
		m["summary"] = s.target
	}
	e, err := h.EmitJSONUnchecked(context.Background(), jsontext.Value(object(m)))
	rec := e.Record
	if (err == nil) != e.Proceeds {
		t.Errorf("proceeds %v, error %v", e.Proceeds, err)
	}
	out := refResult{
		decision: string(rec.Verdict.Decision), reason: rec.Verdict.Reason, message: rec.Verdict.Message, warnings: rec.Verdict.Warnings,
		labels: rec.Verdict.ResultLabels, approval: rec.Verdict.Approval != nil, decidedBy: -1, resolvedBy: string(rec.ResolvedBy), asked: asked,
		seen: append([]string(nil), seen[:called]...),
	}
	if strings.HasPrefix(out.reason, "host_error:") {
		out.message = ""
		if strings.Contains(rec.Verdict.Message, "payload") {
			t.Errorf("AH-6.3-3: message %q", rec.Verdict.Message)
		}
	}
	if rec.Verdict.Evidence != nil {
		out.evidence = rec.Verdict.Evidence.Artefact
	}
	if rec.Verdict.Transform != nil {
		out.path = rec.Verdict.Transform.Path
	}
	if rec.DecidedBy != nil {
		out.decidedBy = *rec.DecidedBy
	}
	for _, v := range rec.Verdicts {
		out.summaries = append(out.summaries, fmt.Sprint(v.Index, " ", v.Decision, " ", v.Reason))
	}
	if rec.FoldTruncated != nil {
		out.truncated = strconv.FormatBool(*rec.FoldTruncated)
	}
	switch {
	case rec.EnforcedIdentity == nil:
		out.enforced = "null"
	case *rec.EnforcedIdentity == *rec.InputIdentity:
		out.enforced = "same"
	default:
		out.enforced = "other"
	}
	if e.Proceeds {
		out.target = encodeAny(decode(string(e.Target())))
	} else if e.Target() != nil {
		t.Error("a blocked emission gives out its target")
	}
	return out, rec
}

// TestAgainstReference compares the host with the reference model on random
// interceptor scripts: 100,000 of them, fewer with -short or under the race
// detector. HOLDPOINT_MODEL_RUNS overrides the number.
//
// Rules: AH-1.3-4, AH-5.2-7, AH-5.2-8, AH-6.3-1, AH-7.3-2, AH-7.3-3, AH-7.3-4, AH-7.3-5, AH-7.4-1, AH-7.4-2,
// AH-7.4-3, AH-7.4-4, AH-7.5-1, AH-7.6-1, AH-8-2, AH-8-4, AH-8-5, AH-9-7, AH-10.3-4, AH-10.3-6.
func TestAgainstReference(t *testing.T) {
	runs := 100_000
	if testing.Short() || raceEnabled {
		runs = 10_000
	}
	if n, err := strconv.Atoi(os.Getenv("HOLDPOINT_MODEL_RUNS")); err == nil {
		runs = n
	}
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 7))
	counts := map[string]int{}
	for i := range runs {
		s := randomSetup(r)
		want := reference(s)
		got, rec := real(t, s, r)
		if len(s.slots) == 0 {
			want.enforced = "same"
		}
		if !reflect.DeepEqual(got, want) || t.Failed() {
			t.Fatalf("seed %d, script %d\nsetup %+v\ngot  %+v\nwant %+v", seed, i, s, got, want)
		}
		counts[want.decision+" "+want.reason]++
		counts["resolved "+want.resolvedBy]++
		if i%1000 == 0 {
			validate(t, "interception-record.schema.json", rec)
		}
	}
	// The scripts must reach every ending, or the comparison says little.
	for _, must := range []string{
		"allow ", "transform ", "deny p:a", "resolved approval", "resolved rejection",
		"deny " + agenthooks.ReasonContextInvalid, "deny " + agenthooks.ReasonInterceptorFailed, "deny " + agenthooks.ReasonVerdictInvalid,
		"deny " + agenthooks.ReasonTransformInvalid, "deny " + agenthooks.ReasonTransformTargetForbidden, "deny " + agenthooks.ReasonTransformConflict,
		"deny " + agenthooks.ReasonCompositionDisagreement, "deny " + agenthooks.ReasonApprovalResolverFailed, "deny " + agenthooks.ReasonApprovalUnresolved,
		"deny " + agenthooks.ReasonApprovalIdentityMismatch, "deny " + agenthooks.ReasonNoInterceptor,
	} {
		if counts[must] < runs/2000 {
			t.Errorf("%q came up %d times in %d", must, counts[must], runs)
		}
	}
}
