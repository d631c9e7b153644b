package agenthooks_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/agenthooks"
)

var profiles = []agenthooks.Profile{agenthooks.FirstDeny, agenthooks.RunAll, agenthooks.Strictest, agenthooks.Unanimous}

func draw(t *rapid.T, name string) *rand.Rand {
	return rand.New(rand.NewPCG(rapid.Uint64().Draw(t, name), 3))
}

func severityOf(v verdict) int {
	switch {
	case v.Decision == agenthooks.DecisionAllow:
		return 0
	case v.Decision == agenthooks.DecisionTransform:
		return 1
	case v.Approval != nil:
		return 2
	}
	return 3
}

func emitSlots(t *rapid.T, o agenthooks.Options, slots []verdict) *agenthooks.Emission {
	o.AgentID, o.Framework = "a", "f"
	for _, v := range slots {
		o.Interceptors = append(o.Interceptors, tool(v))
	}
	h, err := agenthooks.New(o)
	if err != nil {
		t.Fatal(err)
	}
	out, _ := h.EmitJSONUnchecked(context.Background(), jsontext.Value(contextWith(`{"a":1,"b":2}`)))
	return out
}

func drawVerdict(t *rapid.T) verdict {
	label := rapid.SliceOfN(rapid.SampledFrom([]string{"l1", "l2", "l3"}), 0, 3)
	v := rapid.SampledFrom([]verdict{
		agenthooks.Allow(), agenthooks.Allow(), agenthooks.Rewrite("$target.a", 5), agenthooks.Rewrite("$target.b", "x"), agenthooks.Escalate("e", ""), agenthooks.Deny("d", ""),
	}).Draw(t, "verdict")
	v.ResultLabels = label.Draw(t, "labels")
	for _, w := range label.Draw(t, "warnings") {
		v.Warnings = append(v.Warnings, agenthooks.Warning{Reason: w})
	}
	return v
}

// TestSeverityProperty is AH-5.1-3 and AH-7.3-1: in the aggregating profiles
// the combined severity is the highest of the slots, whatever their order.
func TestSeverityProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.SliceOfN(rapid.Custom(drawVerdict), 1, 6).Draw(t, "slots")
		highest := 0
		for _, v := range slots {
			highest = max(highest, severityOf(v))
		}
		for _, p := range []agenthooks.Profile{agenthooks.RunAll, agenthooks.Strictest} {
			r := emitSlots(t, agenthooks.Options{Composition: agenthooks.Composition{Profile: p}}, slots).Record
			got := severityOf(verdict{Decision: r.Verdict.Decision})
			if r.Verdict.Approval != nil {
				got = 2
			}
			if p == agenthooks.Strictest && r.Verdict.Reason == agenthooks.ReasonTransformConflict {
				got = 1 // two transforms and no deny
			}
			if got != highest {
				t.Fatalf("%s: combined %+v of %+v", p, r.Verdict, slots)
			}
			if r.DecidedBy != nil && severityOf(slots[*r.DecidedBy]) != highest {
				t.Fatalf("%s: decided by %d", p, *r.DecidedBy)
			}
		}
		r := emitSlots(t, agenthooks.Options{Composition: agenthooks.Composition{Profile: agenthooks.Unanimous}}, slots).Record
		if (r.Verdict.Decision == agenthooks.DecisionAllow) != (highest == 0) {
			t.Fatalf("unanimous: %+v of %+v", r.Verdict, slots)
		}
	})
}

// TestFoldLaws: bare allows change nothing wherever they stand, and what comes
// after a plain deny changes nothing under first_deny.
func TestFoldLaws(t *testing.T) {
	essence := func(r *agenthooks.Record) string {
		b, err := json.Marshal([]any{r.Verdict, r.EnforcedIdentity, r.ResolvedBy})
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.SliceOfN(rapid.Custom(drawVerdict), 1, 5).Draw(t, "slots")
		at := rapid.IntRange(0, len(slots)).Draw(t, "at")
		for _, p := range profiles {
			o := agenthooks.Options{Composition: agenthooks.Composition{Profile: p, OnApproval: rapid.SampledFrom([]agenthooks.Knob{"", agenthooks.Resume}).Draw(t, "knob")}}
			if rapid.Bool().Draw(t, "resolver") {
				o.Resolver = approveAll()
			}
			plain := emitSlots(t, o, slots)
			more := emitSlots(t, o, slices.Insert(slices.Clone(slots), at, agenthooks.Allow()))
			if essence(plain.Record) != essence(more.Record) || plain.Proceeds != more.Proceeds {
				t.Fatalf("%s: an allow at %d changed %s into %s", p, at, essence(plain.Record), essence(more.Record))
			}
		}
		cut := slices.Insert(slices.Clone(slots), at, agenthooks.Deny("end", ""))
		o := agenthooks.Options{}
		if a, b := emitSlots(t, o, cut), emitSlots(t, o, cut[:at+1]); essence(a.Record) != essence(b.Record) {
			t.Fatalf("behind a deny: %s and %s", essence(a.Record), essence(b.Record))
		}
	})
}

// TestFailureNeverOpens is AH-6.3-5: put any failure in any slot of any
// configuration without a resolver, and the action does not proceed.
func TestFailureNeverOpens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t, "seed")
		s := randomSetup(r)
		s.evaluate, s.answers = false, nil
		fail := refVerdict{fault: pick(r, "error", "panic")}
		if r.IntN(2) == 0 {
			fail = refVerdict{gate: agenthooks.ReasonVerdictInvalid, text: `[]`}
		}
		at := r.IntN(len(s.slots) + 1)
		s.slots = slices.Insert(s.slots, at, fail)
		o := agenthooks.Options{AgentID: "a", Framework: "f", Composition: agenthooks.Composition{Profile: agenthooks.Profile(s.profile)}}
		switch s.knob {
		case "approval":
			o.Composition.OnDisagreement, o.Composition.OnTransformConflict = agenthooks.Consult, agenthooks.Consult
		case "resume":
			o.Composition.OnApproval = agenthooks.Resume
		}
		for i := range s.slots {
			v := s.slots[i].wire(r)
			fault := s.slots[i].fault
			o.Interceptors = append(o.Interceptors, at2(func() (verdict, error) {
				switch fault {
				case "error":
					return v, fmt.Errorf("x")
				case "panic":
					panic("x")
				}
				return v, nil
			}))
		}
		h, err := agenthooks.New(o)
		if err != nil {
			t.Fatal(err)
		}
		out, err := h.EmitJSONUnchecked(context.Background(), jsontext.Value(contextWith(`{"a":1}`)))
		if err == nil || out.Proceeds || out.Context() != nil {
			t.Fatalf("slot %d failed and the action proceeds: %+v", at, out.Record)
		}
		// AH-6.3-1: the substitute stands in its slot, unless dispatch ended before.
		for _, v := range out.Record.Verdicts {
			if v.Index == at && !strings.HasPrefix(v.Reason, "host_error:") {
				t.Fatalf("slot %d: %+v", at, v)
			}
		}
		if !strings.HasPrefix(s.profile, "sequential/first") && len(out.Record.Verdicts) != len(s.slots) && *out.Record.FoldTruncated == false {
			t.Fatalf("%d of %d slots on the record", len(out.Record.Verdicts), len(s.slots))
		}
	})
}

func at2(f func() (verdict, error)) agenthooks.Registration {
	return agenthooks.Registration{Interceptor: agenthooks.InterceptorFunc(func(context.Context, *ahContext) (verdict, error) { return f() })}
}

// TestRecordsArePayloadFree is AH-10.3-1 and AH-10.3-2: a marker in every place
// that is not listed never reaches a record, and a record has no other members.
//
// Rules: AH-5.3-1, AH-10.3-9.
func TestRecordsArePayloadFree(t *testing.T) {
	allowed := map[string]bool{}
	for _, k := range []string{
		"interception_point", "mode", "verdict", "input_identity", "enforced_identity", "identity_provider", "session_id", "sequence", "timestamp", "trace",
		"decided_by", "composition", "verdicts", "fold_truncated", "resolved_by", "interceptors_registered",
	} {
		allowed[k] = true
	}
	const mark = "SECRETMARK"
	rapid.Check(t, func(t *rapid.T) {
		r := draw(t, "seed")
		raw := pick(r,
			`{"decision":"transform","transform":{"path":"$target.a","value":"SECRETMARK","more":"SECRETMARK"},"unknown":"SECRETMARK"}`,
			`{"decision":"transform","transform":{"path":"$target.none","value":"SECRETMARK"}}`,
			`{"decision":"transform","transform":{"path":"$SECRETMARK","value":"x"}}`,
			`{"decision":"transform","transform":{"path":"$target.SECRETMARK..","value":"x"}}`,
			`{"decision":"deny","reason":"r","approval":{"who":"SECRETMARK"}}`,
			`{"decision":"deny","reason":"r","evidence":{"artefact":"a","more":"SECRETMARK"},"warnings":[{"reason":"w","more":"SECRETMARK"}]}`,
			`{"decision":"allow","reason":"r","message":"SECRETMARK","transform":null,"approval":null}`,
			`{"decision":"SECRETMARK"}`, `"SECRETMARK"`, `SECRETMARK`,
			`{"decision":"transform","transform":{"path":"$target.a","value":{"SECRETMARK":9007199254740993}}}`,
		)
		o := agenthooks.Options{AgentID: "a", Framework: "f", Composition: agenthooks.Composition{Profile: pick(r, profiles...)}, Mode: pick(r, agenthooks.Enforce, agenthooks.EvaluateOnly)}
		o.Composition.OnDisagreement, o.Composition.OnTransformConflict = agenthooks.Consult, agenthooks.Consult
		for range 1 + r.IntN(3) {
			what := r.IntN(8)
			o.Interceptors = append(o.Interceptors, at2(func() (verdict, error) {
				switch what {
				case 0:
					return verdict{}, errors.New(mark)
				case 1:
					panic(mark)
				}
				return agenthooks.RawVerdict([]byte(raw)), nil
			}))
		}
		switch r.IntN(4) {
		case 0:
			o.Resolver = resolve(func(*request) (answer, error) { panic(mark) })
		case 1:
			// The message of a resolution that stands is on the record by right.
			said := strings.Replace(raw, `"message":"SECRETMARK"`, `"message":"m"`, 1)
			o.Resolver = resolve(func(q *request) (answer, error) { return q.Approve(agenthooks.RawVerdict([]byte(said))), nil })
		case 2:
			o.Resolver = resolve(func(q *request) (answer, error) {
				return answer{Outcome: mark, ContextIdentity: q.ContextIdentity}, nil
			})
		}
		h, err := agenthooks.New(o)
		if err != nil {
			t.Fatal(err)
		}
		args := pick(r, `{"a":"SECRETMARK"}`, `{"a":1,"SECRETMARK":9007199254740993}`, `{"a":"SECRETMARK\ud800"}`, `["SECRETMARK"]`, `{"a":SECRETMARK}`)
		text := strings.Replace(contextWith(args), `"framework":"f"`, `"framework":"f","name":"SECRETMARK"`, 1)
		text = text[:len(text)-1] + `,"tenant":{"id":"SECRETMARK"},"extensions":{"x":"SECRETMARK"},"trace":{"trace_id":"t","more":"SECRETMARK"}}`
		out, _ := h.EmitJSONUnchecked(context.Background(), jsontext.Value(text))
		b, err := json.Marshal(out.Record)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), mark) {
			t.Fatalf("raw %s\nargs %s\nrecord %s", raw, args, b)
		}
		var m map[string]any
		if err := json.Unmarshal(b, &m); err != nil {
			t.Fatal(err)
		}
		for k := range m {
			if !allowed[k] {
				t.Fatalf("member %s", k)
			}
		}
	})
}

// TestIdentityIgnoresOptional is AH-10.2-1: no optional member, wherever, moves
// the identity; any member of the projection does.
func TestIdentityIgnoresOptional(t *testing.T) {
	identity := func(t *rapid.T, m map[string]string) string {
		c, err := agenthooks.ParseContext([]byte(object(m)))
		if err != nil {
			t.Fatal(err)
		}
		id, err := agenthooks.Identity(c)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	points := []string{"agent_startup", "input", "pre_model_call", "post_model_call", "pre_tool_call", "post_tool_call", "output", "agent_shutdown"}
	rapid.Check(t, func(t *rapid.T) {
		m := base(rapid.SampledFrom(points).Draw(t, "point"))
		want := identity(t, m)
		junk := rapid.SampledFrom([]string{`1`, `"x"`, `{"id":"other","deep":[{}]}`, `18446744073709551616`, `null`})
		for _, k := range rapid.SliceOf(rapid.SampledFrom([]string{"request_id", "tools", "usage", "trace", "tenant", "actor", "budgets", "extensions", "zzz", "A", "target2"})).Draw(t, "members") {
			m[k] = junk.Draw(t, "value")
		}
		for k, v := range m {
			conditional := map[string]bool{"agent": true, "session": true, "model": true, "tool_call": true, "tool_result": true, "input": true, "output": true, "summary": true, "response": true, "agent_init": true}
			if conditional[k] && strings.HasPrefix(v, "{") && rapid.Bool().Draw(t, "extra in "+k) {
				m[k] = v[:len(v)-1] + `,"extra_member":` + junk.Draw(t, "extra") + `}`
			}
		}
		if got := identity(t, m); got != want {
			t.Fatalf("identity moved: %s", object(m))
		}
		m["target"] = `"another target"`
		if identity(t, m) == want {
			t.Fatal("the target does not count")
		}
	})
}

// TestCompletionOrder: under the parallel profiles the record does not depend
// on who answers first (AH-7.2-2).
func TestCompletionOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.SliceOfN(rapid.Custom(drawVerdict), 2, 6).Draw(t, "slots")
		profile := rapid.SampledFrom(profiles[2:]).Draw(t, "profile")
		order := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := range slots {
				if !yield(i) {
					return
				}
			}
		})).Draw(t, "order")
		run := func(order []int) *agenthooks.Record {
			turn := make([]chan struct{}, len(slots)+1)
			for i := range turn {
				turn[i] = make(chan struct{})
			}
			o := agenthooks.Options{AgentID: "a", Framework: "f", Composition: agenthooks.Composition{Profile: profile}}
			for i := range slots {
				place := slices.Index(order, i)
				o.Interceptors = append(o.Interceptors, at2(func() (verdict, error) {
					if order != nil {
						<-turn[place] // the one before has answered
						defer close(turn[place+1])
					}
					return slots[i], nil
				}))
			}
			close(turn[0])
			h, err := agenthooks.New(o)
			if err != nil {
				t.Fatal(err)
			}
			out, _ := h.EmitJSONUnchecked(context.Background(), jsontext.Value(contextWith(`{"a":1,"b":2}`)))
			return out.Record
		}
		if a, b := run(nil), run(order); !reflect.DeepEqual(a, b) {
			t.Fatalf("order %v: %+v and %+v", order, a, b)
		}
	})
}

// TestBuilderIdentity: the identity that the builder makes on the way is the
// one of the text it made, whatever the values.
func TestBuilderIdentity(t *testing.T) {
	text := rapid.StringOf(rapid.RuneFrom([]rune{'a', '"', '\\', '\n', 0, 0x1f, 0x7f, 'é', 0x2028, 0xFFFD, 0x1F30D, '<', '/'}))
	raw := rapid.SampledFrom([]jsontext.Value{nil, jsontext.Value(` {"b":[1.0, 2e3],"a":"\u00e9\/"} `), jsontext.Value(`"\ud83c\udf0d"`), jsontext.Value(`[ ]`), jsontext.Value(`-0.0`)})
	object := rapid.SampledFrom([]any{map[string]any{"z": 1, "a": []any{1.5, nil}, "\U00010000": 1, "\uE000": 2}, jsontext.Value(`{"b":1.0,"a":{"d":1,"c":"\u0041"}}`), struct{}{}})
	rapid.Check(t, func(t *rapid.T) {
		var any2 any = raw.Draw(t, "raw")
		if rapid.Bool().Draw(t, "text") {
			any2 = text.Draw(t, "value")
		}
		id, name := text.Draw(t, "id"), text.Draw(t, "name")
		calls := []agenthooks.ToolCall{{ID: id, Name: name, Args: jsontext.Value(`{"b":1,"a":2}`)}, {ID: name, Name: id}}[:rapid.IntRange(0, 2).Draw(t, "calls")]
		e := rapid.SampledFrom([]agenthooks.Event{
			agenthooks.Startup(id, name), agenthooks.External(name, any2), agenthooks.BeforeModel(name, []any{any2, id}),
			agenthooks.AfterModel(id, agenthooks.Response{Content: raw.Draw(t, "content"), ToolCalls: calls, FinishReason: name}),
			agenthooks.BeforeTool(id, name, object.Draw(t, "args")), agenthooks.AfterTool(id, name, object.Draw(t, "args"), any2, rapid.Bool().Draw(t, "error")),
			agenthooks.Final(any2), agenthooks.Shutdown(name),
		}).Draw(t, "event")
		if rapid.Bool().Draw(t, "optional") {
			e.Optional = agenthooks.Optional{ContentHash: "h", ModelVendor: id, Summary: &agenthooks.Summary{}, ToolDuration: 1e9}
		}
		h, err := agenthooks.New(agenthooks.Options{AgentID: id + "x", Framework: "f", Interceptors: allows(1)})
		if err != nil {
			t.Fatal(err)
		}
		s, err := h.NewSession(agenthooks.SessionOptions{ID: name + "x"})
		if err != nil {
			t.Fatal(err)
		}
		if e.Point() != agenthooks.AgentStartup {
			if _, err := s.Emit(context.Background(), agenthooks.Startup()); err != nil {
				t.Fatal(err)
			}
		}
		out, err := s.Emit(context.Background(), e)
		if err != nil {
			t.Fatal(err)
		}
		c, err := agenthooks.ParseContext(out.Context().JSON())
		if err != nil {
			t.Fatalf("%s: %v", out.Context().JSON(), err)
		}
		again, err := agenthooks.Identity(c)
		if err != nil || again != *out.Record.InputIdentity {
			t.Fatalf("%s: %s, %v; the builder said %s", c.JSON(), again, err, *out.Record.InputIdentity)
		}
		own, err := agenthooks.Identity(out.Context())
		if err != nil || own != again {
			t.Fatalf("%s: %s, %v", c.JSON(), own, err)
		}
	})
}
