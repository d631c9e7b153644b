package agenthooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// events is one event per point, with every optional member that it can have.
func events() []agenthooks.Event {
	full := agenthooks.Optional{
		RequestID: "r1", ModelVendor: "v", ModelParams: jsontext.Value(`{"temperature":0.5}`),
		Tools: []agenthooks.Tool{{Name: "t", Description: "d", Schema: jsontext.Value(`{"type":"object"}`)}, {Name: "u"}},
		Usage: &agenthooks.Usage{PromptTokens: 1, CompletionTokens: 2}, ToolDuration: 1500 * time.Microsecond,
		ContentHash: "sha256:" + strings.Repeat("ab", 32), Messages: jsontext.Value(`[{"role":"user","content":"hi"}]`),
		Trace: agenthooks.Trace{TraceID: "tr", SpanID: "sp"}, Tenant: agenthooks.Tenant{ID: "te", Name: "n"},
		Actor: agenthooks.Actor{ID: "ac", Kind: "human"}, Budgets: &agenthooks.Budgets{ToolCallCount: 1, CostUSD: 0.25},
		Extensions: map[string]jsontext.Value{"acme": jsontext.Value(`{"k":[1]}`), "other": jsontext.Value(`7`)},
	}
	list := []agenthooks.Event{
		agenthooks.Startup("a", "b"),
		agenthooks.External("user", "héllo"),
		agenthooks.BeforeModel("m", []map[string]any{{"role": "user", "content": "hi"}}),
		agenthooks.AfterModel("m", agenthooks.Response{ToolCalls: []agenthooks.ToolCall{{ID: "1", Name: "n"}, {ID: "2", Name: "o", Args: jsontext.Value(`{"a":1.0}`)}}, FinishReason: "tool_calls"}),
		agenthooks.BeforeTool("1", "n", map[string]any{"a": 1}),
		agenthooks.AfterTool("1", "n", map[string]any{"a": 1}, []any{1, nil, "x"}, true),
		agenthooks.Final(jsontext.Value(`{"text":"bye"}`)),
		agenthooks.Shutdown("completed"),
	}
	for i := range list {
		list[i].Optional = full
	}
	return list
}

// TestContextsMatchTheSchemas validates what the builder makes, with and
// without optional members, against the closed per-point schemas (AH 4).
//
// Rules: AH-4.2-1, AH-4.3-4.
func TestContextsMatchTheSchemas(t *testing.T) {
	for _, optional := range []bool{true, false} {
		var seen []jsontext.Value
		h, err := agenthooks.New(agenthooks.Options{AgentID: "a", Framework: "f_-1", AgentName: "N", AgentVersion: "1", Interceptors: []agenthooks.Registration{
			{Interceptor: agenthooks.InterceptorFunc(func(_ context.Context, c *ahContext) (verdict, error) {
				seen = append(seen, c.JSON())
				return agenthooks.Allow(), nil
			})},
		}})
		if err != nil {
			t.Fatal(err)
		}
		s, err := h.NewSession(agenthooks.SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events() {
			if !optional {
				e.Optional = agenthooks.Optional{}
			}
			if e.Point() == agenthooks.AgentShutdown && optional {
				e.Optional.Summary = &agenthooks.Summary{ToolCalls: 1, Errors: 0, Duration: 1500 * time.Millisecond}
			}
			if _, err := s.Emit(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
		if len(seen) != 8 {
			t.Fatalf("%d contexts", len(seen))
		}
		for i, raw := range seen {
			point := string(events()[i].Point())
			t.Run(fmt.Sprint(point, " ", optional), func(t *testing.T) {
				doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{"agent-context/" + point + ".schema.json", "agent-context.schema.json"} {
					if err := schema(t, name).Validate(doc); err != nil {
						t.Errorf("%s: %v\n%s", name, err, raw)
					}
				}
			})
			c, err := agenthooks.ParseContext(raw)
			if err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			id, err := agenthooks.Identity(c)
			if err != nil || id != *h.Records()[i].InputIdentity {
				t.Errorf("%s: the builder's identity %s is not that of its text %s: %v", point, *h.Records()[i].InputIdentity, id, err)
			}
			if !json.Valid(raw) || c.Sequence() != int64(i) || c.SessionID() != s.ID() || string(c.Point()) != point {
				t.Errorf("accessors on %s", raw)
			}
		}
		for _, r := range h.TakeRecords() {
			validate(t, "interception-record.schema.json", r)
			if (r.Trace != nil) != optional {
				t.Errorf("trace %v", r.Trace)
			}
		}
	}
}

// TestVerdictsMatchTheSchema validates what the constructors write.
func TestVerdictsMatchTheSchema(t *testing.T) {
	full := agenthooks.Rewrite("$target.a", map[string]any{"x": 1})
	full.Reason, full.Message, full.ResultLabels = "r", "m", []string{"l"}
	full.Warnings = []agenthooks.Warning{{Reason: "w"}, {}}
	full.Evidence = &agenthooks.Evidence{Artefact: "a", VerificationPointers: map[string]string{"k": "v"}}
	for _, v := range []verdict{agenthooks.Allow(), agenthooks.Deny("r", "m"), agenthooks.Escalate("r", ""), agenthooks.Warn("w", "m"), full} {
		validate(t, "verdict.schema.json", v)
	}
}

// TestUnrepresentableValues is E1 for Go values: each is a deny with a record.
//
// Rules: AH-4.4-3, AH-6.3-2.
func TestUnrepresentableValues(t *testing.T) {
	for name, e := range map[string]agenthooks.Event{
		"NaN":               agenthooks.Final(math.NaN()),
		"inf":               agenthooks.BeforeTool("1", "n", map[string]any{"x": math.Inf(1)}),
		"channel":           agenthooks.Final(make(chan int)),
		"func in map":       agenthooks.Final(map[string]any{"secret": func() {}}),
		"utf8":              agenthooks.Final("secret\xff"),
		"utf8 key":          agenthooks.Final(map[string]any{"\xff": 1}),
		"utf8 id":           agenthooks.BeforeTool("\xff", "n", nil),
		"panics":            agenthooks.Final(panicker{}),
		"big float":         agenthooks.Final(float64(1 << 60)),
		"big int":           agenthooks.Final(int64(1 << 60)),
		"big uint":          agenthooks.Final(uint64(math.MaxUint64)),
		"args not object":   agenthooks.BeforeTool("1", "n", []any{}),
		"args null":         agenthooks.BeforeTool("1", "n", nil),
		"messages object":   agenthooks.BeforeModel("m", map[string]any{}),
		"broken raw":        agenthooks.Final(jsontext.Value(`{"a":`)),
		"two raw values":    agenthooks.Final(jsontext.Value(`1,"role":"x"`)),
		"smuggled member":   agenthooks.BeforeTool("1", "n", jsontext.Value(`{}},"target":{"x":1},"y":{"z":{}`)),
		"smuggled in post":  agenthooks.AfterTool("1", "n", jsontext.Value(`{},"extra":1`), 1, false),
		"smuggled content":  agenthooks.External("user", jsontext.Value(`1,"extra":2`)),
		"duplicate raw":     agenthooks.Final(jsontext.Value(`{"a":1,"a":2}`)),
		"response args":     agenthooks.AfterModel("m", agenthooks.Response{ToolCalls: []agenthooks.ToolCall{{ID: "1", Name: "n", Args: jsontext.Value(`{},"x":1`)}}}),
		"response args int": agenthooks.AfterModel("m", agenthooks.Response{ToolCalls: []agenthooks.ToolCall{{ID: "1", Name: "n", Args: jsontext.Value(`{"i":9007199254740993}`)}}}),
	} {
		t.Run(name, func(t *testing.T) {
			called := false
			h, s := opened(t, agenthooks.Options{Interceptors: []agenthooks.Registration{at(e.Point(), func(context.Context, *ahContext) (verdict, error) {
				called = true
				return agenthooks.Allow(), nil
			})}})
			out, err := s.EmitUnchecked(t.Context(), e)
			if err != nil || called || out.Proceeds {
				t.Fatalf("called %v, %+v, %v", called, out, err)
			}
			r := out.Record
			if r.Verdict.Reason != agenthooks.ReasonContextInvalid || r.SessionID != "sess-1" || r.Sequence != 1 || r.Timestamp == "" || r.Point != e.Point() ||
				r.InputIdentity != nil || strings.Contains(fmt.Sprint(r.Verdict), "secret") {
				t.Errorf("%+v", r)
			}
			validate(t, "interception-record.schema.json", r)
			if len(h.Records()) != 1 {
				t.Error("no record")
			}
		})
	}
	// 1e21 and beyond, as a float, is in the domain (AH-10.2-5).
	_, s := opened(t, agenthooks.Options{Interceptors: allows(1)})
	for _, v := range []any{1e21, 9.999999999999997e22, float64(jsMax), -float64(jsMax), 0.5, int64(jsMax)} {
		if _, err := s.Emit(t.Context(), agenthooks.Final(v)); err != nil {
			t.Errorf("%v: %v", v, err)
		}
	}
}

const jsMax = 1<<53 - 1

type panicker struct{}

func (panicker) MarshalJSON() ([]byte, error) { panic("secret") }

// TestExtensions is AH-4.6-1.
func TestExtensions(t *testing.T) {
	_, s := opened(t, agenthooks.Options{Interceptors: allows(1)})
	for ns, ok := range map[string]bool{"acme": true, "a_1": true, "A": false, "1a": false, "_a": false, "a-b": false, "": false, "acs": false, "ctk": false, "agent_hooks": false} {
		e := agenthooks.Final("x")
		e.Optional.Extensions = map[string]jsontext.Value{ns: jsontext.Value(`{"b":1.0}`)}
		out, err := s.Emit(t.Context(), e)
		if (err == nil) != ok {
			t.Errorf("%q: %v", ns, err)
		}
		if v, _ := func() (jsontext.Value, bool) {
			if out == nil {
				return nil, false
			}
			return out.Context().Lookup("extensions." + ns + ".b")
		}(); ok && string(v) != "1.0" {
			t.Errorf("%q: changed to %s", ns, v)
		}
	}
}

// TestOrder is AH-3.1-1 and AH-6.1a-1.
func TestOrder(t *testing.T) {
	h, err := agenthooks.New(agenthooks.Options{AgentID: "a", Framework: "f", Interceptors: []agenthooks.Registration{
		fixed(agenthooks.AgentStartup, agenthooks.Deny("no", "")), fixed(agenthooks.AgentShutdown, agenthooks.Deny("no", "")),
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := h.NewSession(agenthooks.SessionOptions{})
	emit := func(e agenthooks.Event) error { _, err := s.Emit(t.Context(), e); return err }
	if err := emit(agenthooks.Final("x")); !errors.Is(err, agenthooks.ErrOrder) {
		t.Errorf("before startup: %v", err)
	}
	if err := emit(agenthooks.Event{}); !errors.Is(err, agenthooks.ErrOrder) {
		t.Errorf("no point: %v", err)
	}
	var b *agenthooks.BlockedError
	if err := emit(agenthooks.Startup()); !errors.As(err, &b) || b.Error() != "agent_startup blocked: no" {
		t.Errorf("startup: %v", err)
	}
	if err := emit(agenthooks.External("user", "x")); !errors.Is(err, agenthooks.ErrOrder) {
		t.Errorf("after a denied startup: %v", err)
	}
	if err := emit(agenthooks.Startup()); !errors.Is(err, agenthooks.ErrOrder) {
		t.Errorf("second startup: %v", err)
	}
	if _, err := s.RecordHostFailure(agenthooks.Input, "x"); !errors.Is(err, agenthooks.ErrOrder) {
		t.Errorf("host failure: %v", err)
	}
	if err := emit(agenthooks.Shutdown("error")); !errors.As(err, &b) {
		t.Errorf("shutdown: %v", err)
	}
	for _, e := range []agenthooks.Event{agenthooks.Shutdown("error"), agenthooks.Startup(), agenthooks.Final("x")} {
		if err := emit(e); !errors.Is(err, agenthooks.ErrOrder) {
			t.Errorf("after shutdown: %v", err)
		}
	}
	if r := h.Records(); len(r) != 2 || r[1].Sequence != 1 {
		t.Errorf("%d records", len(r))
	}
}

// TestSecondStartup: a session starts once.
func TestSecondStartup(t *testing.T) {
	h, s := opened(t, agenthooks.Options{Interceptors: allows(1)})
	if _, err := s.Emit(t.Context(), agenthooks.Startup()); !errors.Is(err, agenthooks.ErrOrder) || len(h.Records()) != 0 {
		t.Errorf("%v, %d records", err, len(h.Records()))
	}
}

// TestLabelsInEvaluateOnly: what was denied leaves no label, though the action
// proceeds; what was allowed does.
func TestLabelsInEvaluateOnly(t *testing.T) {
	label := agenthooks.Registration{Namespace: "dlp", Interceptor: fixed(agenthooks.Output, verdict{Decision: agenthooks.DecisionAllow, ResultLabels: []string{"x"}}).Interceptor}
	for _, deny := range []bool{true, false} {
		regs := []agenthooks.Registration{label}
		if deny {
			regs = append(regs, fixed(agenthooks.Output, agenthooks.Deny("no", "")))
		}
		_, s := opened(t, agenthooks.Options{Mode: agenthooks.EvaluateOnly, Interceptors: regs})
		e, err := s.Emit(t.Context(), agenthooks.Final("x"))
		if err != nil || (e.Labels() == nil) != deny {
			t.Errorf("deny %v: %v, %v", deny, e.Labels(), err)
		}
	}
}

// TestMultiTurn is AH-3.1-5 and AH-3.1-6: one count over all turns.
func TestMultiTurn(t *testing.T) {
	var turns []string
	h, s := opened(t, agenthooks.Options{Interceptors: []agenthooks.Registration{{Interceptor: agenthooks.InterceptorFunc(func(_ context.Context, c *ahContext) (verdict, error) {
		v, _ := c.Lookup("session.turn")
		turns = append(turns, string(v))
		return agenthooks.Allow(), nil
	})}}})
	for range 3 {
		for _, e := range []agenthooks.Event{agenthooks.External("user", "x"), agenthooks.Final("y")} {
			if _, err := s.Emit(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	if fmt.Sprint(turns) != "[ 0 0 1 1 2 2]" {
		t.Errorf("turns %q", turns)
	}
	for i, r := range h.TakeRecords() {
		if r.Sequence != int64(i+1) {
			t.Errorf("record %d has sequence %d", i, r.Sequence)
		}
	}
}

// TestConcurrentEmissions is AH-12.2-3 and AH-12.2-4.
//
// Rules: AH-12.2-2.
func TestConcurrentEmissions(t *testing.T) {
	const n = 10_000
	var mu sync.Mutex
	seen := map[int64]int{}
	h, s := opened(t, agenthooks.Options{Interceptors: []agenthooks.Registration{{Interceptor: agenthooks.InterceptorFunc(func(_ context.Context, c *ahContext) (verdict, error) {
		mu.Lock()
		defer mu.Unlock()
		seen[c.Sequence()]++
		return agenthooks.Allow(), nil
	})}}, Timeout: time.Hour})
	var wg sync.WaitGroup
	for w := range 100 {
		wg.Go(func() {
			last := int64(0)
			for i := range n / 100 {
				e, err := s.Emit(t.Context(), agenthooks.BeforeTool(fmt.Sprint(w, "-", i), "n", jsontext.Value(`{}`)))
				if err != nil {
					t.Error(err)
					return
				}
				if e.Record.Sequence <= last {
					t.Errorf("%d after %d in one goroutine", e.Record.Sequence, last)
				}
				last = e.Record.Sequence
			}
		})
	}
	wg.Wait()
	var got []int64
	for _, r := range h.TakeRecords() {
		got = append(got, r.Sequence)
	}
	slices.Sort(got)
	if len(got) != n || got[0] != 1 || got[n-1] != n || len(slices.Compact(got)) != n {
		t.Errorf("%d records, from %d to %d", len(got), got[0], got[len(got)-1])
	}
	for q, c := range seen {
		if c > 1 && q > 0 {
			t.Errorf("sequence %d was seen %d times", q, c)
		}
	}
}

// TestRecordHostFailure is AH-10.3-7.
func TestRecordHostFailure(t *testing.T) {
	for _, p := range []agenthooks.Profile{agenthooks.FirstDeny, agenthooks.Unanimous} {
		var sunk []*agenthooks.Record
		h, s := opened(t, agenthooks.Options{Interceptors: allows(2), Composition: agenthooks.Composition{Profile: p}, Sink: func(r *agenthooks.Record) { sunk = append(sunk, r) }})
		sunk = nil
		_, err := s.RecordHostFailure(agenthooks.PreToolCall, strings.Repeat("x", 300))
		var b *agenthooks.BlockedError
		if !errors.As(err, &b) {
			t.Fatal(err)
		}
		wantRecord(t, b.Record, map[string]string{
			"interception_point": `"pre_tool_call"`, "verdict.reason": `"host_error:context_invalid"`, "verdict.message": `"` + strings.Repeat("x", 256) + `…"`,
			"input_identity": `null`, "enforced_identity": `null`, "identity_provider": `"jcs-sha256"`, "decided_by": `null`, "verdicts": `[]`, "resolved_by": ``,
			"fold_truncated": ``, "interceptors_registered": `2`, "session_id": `"sess-1"`, "sequence": `1`,
		})
		validate(t, "interception-record.schema.json", b.Record)
		if _, err := h.RecordHostFailure("", agenthooks.HostFailure{}); !errors.As(err, &b) {
			t.Fatal(err)
		}
		wantRecord(t, b.Record, map[string]string{"interception_point": `"agent_startup"`, "session_id": `""`, "sequence": `-1`, "timestamp": ``, "verdict.message": ``})
		validate(t, "interception-record.schema.json", b.Record)
		seq := int64(7)
		_, err = h.RecordHostFailure(agenthooks.Output, agenthooks.HostFailure{Detail: "*x.Y", SessionID: "s", Sequence: &seq, Timestamp: "t"})
		if !errors.As(err, &b) || b.Record.Sequence != 7 || b.Record.SessionID != "s" || b.Record.Timestamp != "t" || len(sunk) != 3 || len(h.Records()) != 3 {
			t.Errorf("%+v", b.Record)
		}
	}
	_, s := opened(t, agenthooks.Options{Interceptors: allows(1), Mode: agenthooks.EvaluateOnly})
	if e, err := s.RecordHostFailure(agenthooks.Input, "x"); err != nil || !e.Proceeds || e.Record.Verdict.Decision != "deny" {
		t.Errorf("evaluate_only: %v", err)
	}
}

// TestNoContext: where no context can be made of an event, evaluate_only goes
// on without one instead of with a target that is not the host's value.
func TestNoContext(t *testing.T) {
	for _, args := range []any{map[string]any{"x": math.NaN()}, jsontext.Value(`{"a":1,"a":2}`), jsontext.Value(`{"x":"` + strings.Repeat("x", 5<<20) + `"}`)} {
		_, s := opened(t, agenthooks.Options{Interceptors: allows(1), Mode: agenthooks.EvaluateOnly})
		e, err := s.Emit(t.Context(), agenthooks.BeforeTool("1", "t", args))
		if err != nil || !e.Proceeds || e.Context() != nil || e.Target() != nil || e.Record.Verdict.Reason != agenthooks.ReasonContextInvalid {
			t.Errorf("%+v, %v", e, err)
		}
	}
}

// TestDelivery is AH-10.3-8.
func TestDelivery(t *testing.T) {
	h, s := opened(t, agenthooks.Options{Interceptors: allows(1), MaxRecords: 3, Sink: func(*agenthooks.Record) { panic("sink") }})
	for range 5 {
		if _, err := s.Emit(t.Context(), agenthooks.Final("x")); err != nil {
			t.Fatal(err)
		}
	}
	seqs := func(list []*agenthooks.Record) (out []int64) {
		for _, r := range list {
			out = append(out, r.Sequence)
		}
		return out
	}
	if got := seqs(h.Records()); fmt.Sprint(got) != "[3 4 5]" || h.DroppedRecords() != 2 {
		t.Errorf("kept %v, dropped %d", got, h.DroppedRecords())
	}
	if got := seqs(h.TakeRecords()); fmt.Sprint(got) != "[3 4 5]" || len(h.Records()) != 0 {
		t.Errorf("took %v", got)
	}
	if _, err := s.Emit(t.Context(), agenthooks.Final("x")); err != nil || fmt.Sprint(seqs(h.Records())) != "[6]" {
		t.Error("after a drain")
	}
	h, s = opened(t, agenthooks.Options{Interceptors: allows(1), MaxRecords: -1})
	if _, err := s.Emit(t.Context(), agenthooks.Final("x")); err != nil || len(h.Records()) != 0 || h.DroppedRecords() != 2 {
		t.Errorf("none kept: %d", h.DroppedRecords())
	}
	var order []string
	h, s = opened(t, agenthooks.Options{Interceptors: allows(1), Sink: func(r *agenthooks.Record) { order = append(order, fmt.Sprint(r.Sequence)) }})
	if _, err := s.Emit(t.Context(), agenthooks.Final("x")); err != nil || fmt.Sprint(order) != "[0 1]" {
		t.Errorf("sink got %v", order)
	}
	_ = h
}

// TestTruncation is AH-10.3-3.
func TestTruncation(t *testing.T) {
	for in, want := range map[string]string{
		strings.Repeat("x", 256):          strings.Repeat("x", 256),
		strings.Repeat("x", 300):          strings.Repeat("x", 256) + "…",
		strings.Repeat("é", 200):          strings.Repeat("é", 128) + "…",
		"x" + strings.Repeat("é", 200):    "x" + strings.Repeat("é", 127) + "…",
		strings.Repeat("x", 253) + "🌍🌍🌍🌍": strings.Repeat("x", 253) + "…",
	} {
		v := agenthooks.Warn("w", in)
		v.Message = in
		e, _ := emitTool(t, agenthooks.Options{Interceptors: []agenthooks.Registration{tool(agenthooks.Deny("r", in)), tool(agenthooks.Allow())}})
		if got := e.Record.Verdict.Message; got != want {
			t.Errorf("message %q, want %q", got, want)
		}
		e, _ = emitTool(t, agenthooks.Options{Interceptors: []agenthooks.Registration{tool(v)}})
		if got := e.Record.Verdict.Warnings[0].Message; got != want || e.Record.Verdict.Message != "" {
			t.Errorf("warning %q, want %q; a combined allow is bare", got, want)
		}
	}
}

// TestLabels is AH 5.4.
//
// Rules: AH-5.4-1, AH-5.4-3.
func TestLabels(t *testing.T) {
	labelled := func(d agenthooks.Decision, labels ...string) verdict {
		return verdict{Decision: d, ResultLabels: labels}
	}
	var last *ahContext
	post := labelled(agenthooks.DecisionAllow, "pii", "crm", "pii")
	deny := agenthooks.Allow()
	h, err := agenthooks.New(agenthooks.Options{AgentID: "a", Framework: "f", Interceptors: []agenthooks.Registration{
		{Namespace: "dlp", Interceptor: fixed(agenthooks.PostToolCall, post).Interceptor},
		{Namespace: "acs", Interceptor: fixed(agenthooks.PostToolCall, labelled(agenthooks.DecisionAllow, "x")).Interceptor},
		{Interceptor: fixed(agenthooks.PostToolCall, labelled(agenthooks.DecisionAllow, "nowhere")).Interceptor},
		{Namespace: "gate", Interceptor: agenthooks.InterceptorFunc(func(_ context.Context, c *ahContext) (verdict, error) {
			last = c
			if c.Point() == agenthooks.PostToolCall {
				return deny, nil
			}
			return agenthooks.Allow(), nil
		})},
	}})
	if err != nil {
		t.Fatal(err)
	}
	s, _ := h.NewSession(agenthooks.SessionOptions{})
	must := func(e agenthooks.Event) *agenthooks.Emission {
		t.Helper()
		out, err := s.EmitUnchecked(t.Context(), e)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	must(agenthooks.Startup())
	out := must(agenthooks.AfterTool("tc-1", "n", map[string]any{}, "r", false))
	if got := fmt.Sprint(out.Labels()); got != "map[acs:[x] dlp:[pii crm]]" {
		t.Errorf("labels %s", got)
	}
	if got := fmt.Sprint(out.Record.Verdict.ResultLabels); got != "[pii crm x nowhere]" {
		t.Errorf("record %s", got)
	}
	deny = agenthooks.Deny("no", "")
	must(agenthooks.AfterTool("tc-2", "n", map[string]any{}, "r", false))
	if got := s.Labels("tc-2"); got != nil {
		t.Errorf("AH-5.4-2: kept %v", got)
	}
	next := agenthooks.BeforeModel("m", jsontext.Value(`[]`))
	next.From = []string{"tc-1", "tc-2", "unknown"}
	next.Optional.Extensions = map[string]jsontext.Value{"dlp": jsontext.Value(`{ }`), "other": jsontext.Value(`1`)}
	must(next)
	for path, want := range map[string]string{
		"extensions.dlp.source_labels": `["pii","crm"]`, "extensions.acs.source_labels": `["x"]`, "extensions.other": `1`, "extensions.gate": ``,
	} {
		if v, _ := last.Lookup(path); string(v) != want {
			t.Errorf("%s = %s, want %s", path, v, want)
		}
	}
	next.Optional.Extensions = map[string]jsontext.Value{"dlp": jsontext.Value(`{"k":1}`)}
	must(next)
	if v, _ := last.Lookup("extensions.dlp"); string(v) != `{"k":1,"source_labels":["pii","crm"]}` {
		t.Errorf("merged %s", v)
	}
	for _, bad := range []string{`7`, `{"source_labels":[]}`} {
		next.Optional.Extensions = map[string]jsontext.Value{"dlp": jsontext.Value(bad)}
		if out := must(next); out.Proceeds {
			t.Errorf("%s: labels were lost", bad)
		}
	}
	if err := s.SetLabels("old", agenthooks.Labels{"dlp": {"a", "pii"}}); err != nil {
		t.Error(err)
	}
	if err := s.SetLabels("old", agenthooks.Labels{"No": {"a"}}); err == nil {
		t.Error("a bad namespace passed")
	}
	if got := fmt.Sprint(s.Labels("tc-1", "old")); got != "map[acs:[x] dlp:[pii crm a]]" {
		t.Errorf("union %s", got)
	}
	s.Forget("tc-1")
	if s.Labels("tc-1") != nil {
		t.Error("not forgotten")
	}
}

// TestLabelsOfResolution: what an approver says about the data counts for the
// interceptor in whose place it stands, or for all where that is nobody.
func TestLabelsOfResolution(t *testing.T) {
	yes := resolve(func(r *request) (answer, error) {
		return r.Approve(verdict{Decision: agenthooks.DecisionAllow, ResultLabels: []string{"ok"}}), nil
	})
	regs := []agenthooks.Registration{{Namespace: "one", Interceptor: allow}, {Namespace: "two", Interceptor: tool(agenthooks.Escalate("ask", "")).Interceptor}}
	e, _ := emitTool(t, agenthooks.Options{Interceptors: regs, Resolver: yes})
	if got := fmt.Sprint(e.Labels()); got != "map[two:[ok]]" {
		t.Errorf("substituted: %s", got)
	}
	e, _ = emitTool(t, agenthooks.Options{Interceptors: regs, Resolver: yes, Composition: agenthooks.Composition{Profile: agenthooks.Unanimous, OnDisagreement: agenthooks.Consult}})
	if got := fmt.Sprint(e.Labels()); got != "map[one:[ok] two:[ok]]" {
		t.Errorf("made: %s", got)
	}
}

// TestIsolation is AH-7-1: no accessor gives out anything live, not even to a
// callee that decodes with a hostile UnmarshalJSON.
func TestIsolation(t *testing.T) {
	tamper := agenthooks.InterceptorFunc(func(_ context.Context, c *ahContext) (verdict, error) {
		for _, b := range []jsontext.Value{c.JSON(), c.Target()} {
			for i := range b {
				b[i] = 'X'
			}
		}
		if v, ok := c.Lookup("target"); ok {
			v[0] = 'X'
		}
		var s scribbler
		_ = c.Decode(&s)
		_ = c.DecodeTarget(&s)
		if next, err := c.Set("$target", map[string]any{"evil": true}); err == nil {
			next.JSON()[0] = 'X'
		}
		if t, err := c.Canonical(); err == nil {
			t[0] = 'X'
		}
		return agenthooks.Allow(), nil
	})
	for _, p := range []agenthooks.Profile{agenthooks.FirstDeny, agenthooks.RunAll, agenthooks.Strictest, agenthooks.Unanimous} {
		var got string
		e, _ := emitTool(t, agenthooks.Options{Composition: agenthooks.Composition{Profile: p}, Interceptors: []agenthooks.Registration{
			{Interceptor: tamper}, at(agenthooks.PreToolCall, func(_ context.Context, c *ahContext) (verdict, error) {
				got = string(c.Target())
				return agenthooks.Allow(), nil
			}),
		}})
		if const_ := `{"qty":5,"q":"orig"}`; string(e.Target()) != const_ || got != const_ || *e.Record.InputIdentity != *e.Record.EnforcedIdentity {
			t.Errorf("%s: target %s, seen %s", p, e.Target(), got)
		}
	}
}

type scribbler struct{}

func (*scribbler) UnmarshalJSON(b []byte) error {
	for i := range b {
		b[i] = 'X'
	}
	return nil
}

// TestLookup is the dotted path of AH-13.2-5.
func TestLookup(t *testing.T) {
	m := base("post_model_call")
	m["response"] = `{"content":{"a.b":1},"tool_calls":[{"id":"1","name":"n","args":{"x":[1,[2,3]]}}],"finish_reason":"stop"}`
	c, err := agenthooks.ParseContext([]byte(object(m)))
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		"response.tool_calls[0].name": `"n"`, "response.tool_calls[0].args.x[1][0]": `2`, "response.tool_calls[1]": ``, "response.tool_calls.name": ``,
		"response[0]": ``, "response.none": ``, "response..finish_reason": `"stop"`, "response.content.a.b": ``, "target": `null`, "sequence": `4`,
		"response.tool_calls[x]": ``, "response.tool_calls[0": ``, "response.tool_calls[-1]": ``, "response.tool_calls[99999999999999999999]": ``,
	} {
		v, ok := c.Lookup(path)
		if string(v) != want || ok != (want != "") {
			t.Errorf("%s = %s, %v; want %s", path, v, ok, want)
		}
	}
	if c.Text("response.finish_reason") != "stop" || c.Text("sequence") != "" || c.Text("none") != "" {
		t.Error("Text")
	}
	var r agenthooks.Response
	var whole struct {
		Response *agenthooks.Response `json:"response"`
	}
	whole.Response = &r
	if err := c.Decode(&whole); err != nil || string(r.ToolCalls[0].Args) != `{"x":[1,[2,3]]}` {
		t.Errorf("Decode: %v %+v", err, r)
	}
}
