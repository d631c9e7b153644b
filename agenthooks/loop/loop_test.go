package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
	"github.com/holdpoint/holdpoint/agenthooks/loop"
	"github.com/holdpoint/holdpoint/internal/leak"
)

func TestMain(m *testing.M) { os.Exit(leak.Main(m)) }

type (
	hookContext = agenthooks.Context
	verdict     = agenthooks.Verdict
)

// world is a loop with a scripted model and one interceptor.
type world struct {
	host     *agenthooks.Host
	released strings.Builder
	requests []string // messages of each model call
	reason   string   // of the shutdown
}

// text is an answer without tool calls.
func text(s string) *loop.Reply {
	q, _ := json.Marshal(s)
	return &loop.Reply{Response: agenthooks.Response{Content: q, FinishReason: "stop"}}
}

func calls(ids ...string) *loop.Reply {
	r := &loop.Reply{Response: agenthooks.Response{FinishReason: "tool_calls"}}
	for _, id := range ids {
		r.ToolCalls = append(r.ToolCalls, agenthooks.ToolCall{ID: id, Name: "pay", Args: jsontext.Value(`{"to":"` + id + `"}`)})
	}
	return r
}

var echo = loop.ToolFunc(agenthooks.Tool{Name: "pay"}, func(_ context.Context, args jsontext.Value) (loop.Result, error) {
	return loop.Result{Value: args}, nil
})

// start makes a session. The model gives one reply per call.
func start(t testing.TB, w *world, o loop.Options, ask func(*hookContext) verdict, replies ...*loop.Reply) *loop.Session {
	t.Helper()
	if w.host == nil {
		if ask == nil {
			ask = func(*hookContext) verdict { return agenthooks.Allow() }
		}
		w.host = host(t, agenthooks.Options{Interceptors: []agenthooks.Registration{{Interceptor: agenthooks.InterceptorFunc(
			func(_ context.Context, c *hookContext) (verdict, error) {
				if c.Point() == agenthooks.AgentShutdown {
					w.reason = c.Text("summary.reason")
				}
				return ask(c), nil
			})}}})
	}
	o.Host = w.host
	n := 0
	if o.Model == nil {
		o.Model = loop.ModelFunc(func(_ context.Context, r *loop.Request) (*loop.Reply, error) {
			w.requests = append(w.requests, string(r.Messages))
			n++
			return replies[n-1], nil
		})
	}
	if o.Tools == nil {
		o.Tools = []loop.Tool{echo}
	}
	o.Release = func(s string) error { w.released.WriteString(s); return nil }
	a, err := loop.New(o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := a.Open(t.Context(), agenthooks.SessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func host(t testing.TB, o agenthooks.Options) *agenthooks.Host {
	t.Helper()
	o.AgentID, o.Framework = "loop", "test"
	h, err := agenthooks.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// denyAt denies at one point.
func denyAt(p agenthooks.Point) func(*hookContext) verdict {
	return func(c *hookContext) verdict {
		if c.Point() == p {
			return agenthooks.Deny("policy:no", "")
		}
		return agenthooks.Allow()
	}
}

// points are the records of w in the order of their numbers.
func points(w *world) string {
	recs := slices.Clone(w.host.Records())
	slices.SortFunc(recs, func(a, b *agenthooks.Record) int { return int(a.Sequence - b.Sequence) })
	var out []string
	for _, r := range recs {
		out = append(out, string(r.Point))
	}
	return strings.Join(out, " ")
}

func blocked(t *testing.T, err error, p agenthooks.Point, reason string) {
	t.Helper()
	var b *agenthooks.BlockedError
	if !errors.As(err, &b) || b.Record.Point != p || b.Reason() != reason {
		t.Fatalf("%v, want blocked at %s: %s", err, p, reason)
	}
}

func closed(t *testing.T, w *world, s *loop.Session, reason string) {
	t.Helper()
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Turn(t.Context(), loop.Text("again")); !errors.Is(err, loop.ErrClosed) {
		t.Errorf("a turn after the end: %v", err)
	}
	if got := points(w); strings.Count(got, "agent_shutdown") != 1 || !strings.HasSuffix(got, "agent_shutdown") {
		t.Errorf("points: %s", got)
	}
	if w.reason != reason {
		t.Errorf("shutdown for %q, want %q", w.reason, reason)
	}
}

func TestRules(t *testing.T) {
	for id, test := range map[string]func(*testing.T){
		"AH-3.1-1":   testTurns,
		"AH-3.1-2":   testTurns,
		"AH-3.1-6":   testTurns,
		"AH-3.2-1":   testNoModel,
		"AH-4.2-2":   testCallersMemory,
		"AH-6.1-1":   testDeniedLeavesNothing,
		"AH-6.1a-1":  testStartupDenied,
		"AH-6.1a-2":  testShutdownDenied,
		"AH-6.2-1":   testToolDenied,
		"AH-6.2-2":   testToolDenied,
		"AH-10.3-7":  testUnusableCalls,
		"AH-12.1-2":  testBrokenStream,
		"AH-12.1-3":  testModelError,
		"AH-12.1a-1": testBufferedRelease,
		"AH-12.1a-2": testBufferedRelease,
		"AH-12.2-1":  testParallel,
		"AH-12.2-2":  testParallel,
		"AH-13.1-2":  testPosture,
	} {
		t.Run(id, test)
	}
}

func testTurns(t *testing.T) {
	w := &world{}
	s := start(t, w, loop.Options{}, nil, calls("c1"), text("one"), text("two"))
	for _, want := range []string{`"one"`, `"two"`} {
		ans, err := s.Turn(t.Context(), loop.Text("hi"))
		if err != nil || string(ans.Content) != want {
			t.Fatalf("%s, %v; want %s", ans.Content, err, want)
		}
	}
	closed(t, w, s, "completed")
	want := "agent_startup input pre_model_call post_model_call pre_tool_call post_tool_call pre_model_call post_model_call output " +
		"input pre_model_call post_model_call output agent_shutdown"
	if got := points(w); got != want {
		t.Errorf("points\n%s\nwant\n%s", got, want)
	}
	last := w.requests[2]
	want = `[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","name":"pay","args":{"to":"c1"}}]},` +
		`{"role":"tool","content":{"to":"c1"},"tool_call_id":"c1"},{"role":"assistant","content":"one"},{"role":"user","content":"hi"}]`
	if last != want {
		t.Errorf("messages\n%s\nwant\n%s", last, want)
	}
	if w.released.String() != "onetwo" {
		t.Errorf("released %q", w.released.String())
	}
}

func testNoModel(t *testing.T) {
	w := &world{}
	s := start(t, w, loop.Options{MaxModelCalls: -1}, nil)
	if _, err := s.Turn(t.Context(), loop.Text("hi")); !errors.Is(err, loop.ErrNoAnswer) {
		t.Fatal(err)
	}
	closed(t, w, s, "completed")
	if got := points(w); got != "agent_startup input agent_shutdown" {
		t.Error(got)
	}
}

// testCallersMemory: what the caller and the model gave stays as it was, and
// the tool gets what the transform made.
func testCallersMemory(t *testing.T) {
	rewrite := func(c *hookContext) verdict {
		switch c.Point() {
		case agenthooks.Input, agenthooks.Output:
			return agenthooks.Rewrite("$target.content", "XX")
		case agenthooks.PostModelCall:
			return agenthooks.Rewrite("$target.content", "YY")
		case agenthooks.PreToolCall:
			return agenthooks.Rewrite("$target.to", "ZZ")
		case agenthooks.PostToolCall:
			if c.Text("tool_call.args.to") != "ZZ" {
				return agenthooks.Deny("test:args", "")
			}
		}
		return agenthooks.Allow()
	}
	in := jsontext.Value(`"hello"`)
	first, second := calls("c1"), text("answer")
	first.Content = jsontext.Value(`"thinking"`)
	w := &world{}
	s := start(t, w, loop.Options{}, rewrite, first, second)
	ans, err := s.Turn(t.Context(), loop.Message{Role: "user", Content: in})
	if err != nil || string(ans.Content) != `"XX"` {
		t.Fatalf("%s, %v", ans.Content, err)
	}
	if string(in) != `"hello"` || string(second.Content) != `"answer"` || string(first.ToolCalls[0].Args) != `{"to":"c1"}` || string(first.Content) != `"thinking"` {
		t.Errorf("the caller's values changed: %s %s %s %s", in, first.Content, first.ToolCalls[0].Args, second.Content)
	}
	if !strings.Contains(w.requests[1], `{"to":"ZZ"}`) || strings.Contains(w.requests[1], "hello") {
		t.Errorf("messages: %s", w.requests[1])
	}
	closed(t, w, s, "completed")
}

func testDeniedLeavesNothing(t *testing.T) {
	for p, where := range map[agenthooks.Point]*loop.Reply{agenthooks.Input: nil, agenthooks.PostModelCall: text("SECRET"), agenthooks.Output: text("SECRET")} {
		w := &world{}
		deny := true
		ask := func(c *hookContext) verdict {
			if deny && c.Point() == p {
				return agenthooks.Deny("policy:no", "")
			}
			if strings.Contains(string(c.JSON()), "SECRET") && !deny {
				return agenthooks.Deny("test:leak", string(c.Point()))
			}
			return agenthooks.Allow()
		}
		replies := []*loop.Reply{where, text("fine")}
		if where == nil {
			replies = replies[1:]
		}
		s := start(t, w, loop.Options{}, ask, replies...)
		_, err := s.Turn(t.Context(), loop.Text("SECRET"))
		blocked(t, err, p, "policy:no")
		if got := string(s.History()); got != "[]" || w.released.Len() > 0 {
			t.Errorf("%s: history %s, released %q", p, got, w.released.String())
		}
		deny = false
		if _, err := s.Turn(t.Context(), loop.Text("go on")); err != nil {
			t.Errorf("%s: the next turn: %v", p, err)
		}
		closed(t, w, s, "completed")
	}
}

func testStartupDenied(t *testing.T) {
	w := &world{host: host(t, agenthooks.Options{Interceptors: []agenthooks.Registration{{Interceptor: agenthooks.InterceptorFunc(
		func(_ context.Context, c *hookContext) (verdict, error) {
			return denyAt(agenthooks.AgentStartup)(c), nil
		})}}})}
	a, err := loop.New(loop.Options{Host: w.host, MaxModelCalls: -1})
	if err != nil {
		t.Fatal(err)
	}
	_, err = a.Open(t.Context(), agenthooks.SessionOptions{})
	blocked(t, err, agenthooks.AgentStartup, "policy:no")
	if got := points(w); got != "agent_startup agent_shutdown" {
		t.Error(got)
	}
}

func testShutdownDenied(t *testing.T) {
	w := &world{}
	s := start(t, w, loop.Options{}, denyAt(agenthooks.AgentShutdown), text("ok"))
	if ans, err := s.Turn(t.Context(), loop.Text("hi")); err != nil || string(ans.Content) != `"ok"` {
		t.Fatal(err)
	}
	closed(t, w, s, "completed")
}

func testToolDenied(t *testing.T) {
	for _, p := range []agenthooks.Point{agenthooks.PreToolCall, agenthooks.PostToolCall} {
		w := &world{}
		s := start(t, w, loop.Options{}, denyAt(p), calls("SECRET"), text("ok"))
		ans, err := s.Turn(t.Context(), loop.Text("hi"))
		if err != nil {
			t.Fatal(err)
		}
		if ran := ans.ToolCalls == 1; ran != (p == agenthooks.PostToolCall) {
			t.Errorf("%s: %d tool calls", p, ans.ToolCalls)
		}
		if !strings.Contains(w.requests[1], `{"role":"tool","content":"blocked: policy:no","tool_call_id":"SECRET"}`) {
			t.Errorf("%s: %s", p, w.requests[1])
		}
		if strings.Contains(points(w), "post_tool_call") != (p == agenthooks.PostToolCall) {
			t.Errorf("%s: %s", p, points(w))
		}
		closed(t, w, s, "completed")
	}
}

// testUnusableCalls: a call that no context can be built for is denied with a
// record; the others run.
func testUnusableCalls(t *testing.T) {
	w := &world{}
	s := start(t, w, loop.Options{}, func(c *hookContext) verdict {
		if c.Point() == agenthooks.PostModelCall && c.Text("response.finish_reason") == "tool_calls" {
			return agenthooks.Rewrite("$target.tool_calls[2]", jsontext.Value(`{"id":[],"name":7}`))
		}
		return agenthooks.Allow()
	}, calls("a", "a", "b", "c"), text("ok"))
	ans, err := s.Turn(t.Context(), loop.Text("hi"))
	if err != nil || ans.ToolCalls != 2 {
		t.Fatalf("%+v, %v", ans, err)
	}
	if got := strings.Count(w.requests[1], "blocked: host_error:context_invalid"); got != 2 {
		t.Errorf("%d blocked: %s", got, w.requests[1])
	}
	var messages []string
	for _, r := range w.host.Records() {
		if r.Verdict.Reason == agenthooks.ReasonContextInvalid {
			messages = append(messages, string(r.Point)+" "+r.Verdict.Message)
		}
	}
	if want := []string{"pre_tool_call $.response.tool_calls[1]: id: repeated in one response", "pre_tool_call $.response.tool_calls[2]: not a tool call"}; !slices.Equal(messages, want) {
		t.Errorf("records %q, want %q", messages, want)
	}
	closed(t, w, s, "completed")
}

// pieces is a model that streams and then ends as end says.
func pieces(end func() (*loop.Reply, error), parts ...string) loop.Model {
	return loop.ModelFunc(func(_ context.Context, r *loop.Request) (*loop.Reply, error) {
		for _, p := range parts {
			if err := r.Piece(p); err != nil {
				return nil, err
			}
		}
		return end()
	})
}

func testBrokenStream(t *testing.T) {
	lost := errors.New("connection lost")
	for name, tt := range map[string]struct {
		model    loop.Model
		released string
	}{
		"with a rest":       {pieces(func() (*loop.Reply, error) { return nil, &loop.BrokenStreamError{Piece: "half", Err: lost} }, "aa "), "aa "},
		"between pieces":    {pieces(func() (*loop.Reply, error) { return nil, lost }, "aa "), "aa "},
		"at the start":      {pieces(func() (*loop.Reply, error) { return nil, &loop.BrokenStreamError{Piece: "half"} }), ""},
		"with another text": {pieces(func() (*loop.Reply, error) { return text("bb"), nil }, "aa "), "aa "},
	} {
		for _, incremental := range []bool{true, false} {
			w := &world{}
			s := start(t, w, loop.Options{Model: tt.model, Incremental: incremental}, nil)
			_, err := s.Turn(t.Context(), loop.Text("hi"))
			blocked(t, err, agenthooks.PostModelCall, agenthooks.ReasonStreamingUnsupported)
			want := tt.released
			if !incremental {
				want = ""
			}
			if w.released.String() != want || string(s.History()) != "[]" {
				t.Errorf("%s: released %q, want %q; history %s", name, w.released.String(), want, s.History())
			}
			closed(t, w, s, "error")
		}
	}
}

// testModelError: an errored model call is reported by no point.
func testModelError(t *testing.T) {
	lost := errors.New("connection lost")
	for name, m := range map[string]loop.Model{
		"error":    loop.ModelFunc(func(context.Context, *loop.Request) (*loop.Reply, error) { return nil, lost }),
		"nothing":  loop.ModelFunc(func(context.Context, *loop.Request) (*loop.Reply, error) { return nil, nil }),
		"panic":    loop.ModelFunc(func(context.Context, *loop.Request) (*loop.Reply, error) { panic("SECRET") }),
		"no piece": pieces(func() (*loop.Reply, error) { return nil, lost }, ""),
	} {
		w := &world{}
		s := start(t, w, loop.Options{Model: m}, nil)
		_, err := s.Turn(t.Context(), loop.Text("hi"))
		var b *agenthooks.BlockedError
		if err == nil || errors.As(err, &b) || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("%s: %v", name, err)
		}
		closed(t, w, s, "error")
		if got := points(w); got != "agent_startup input pre_model_call agent_shutdown" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func testBufferedRelease(t *testing.T) {
	w := &world{}
	var before string
	s := start(t, w, loop.Options{Model: pieces(func() (*loop.Reply, error) { return text("aa bb cc"), nil }, "aa ", "bb ")}, func(c *hookContext) verdict {
		before += w.released.String()
		if c.Point() == agenthooks.Output {
			return agenthooks.Rewrite("$target.content", "clean")
		}
		return agenthooks.Allow()
	})
	ans, err := s.Turn(t.Context(), loop.Text("hi"))
	if err != nil || string(ans.Content) != `"clean"` || w.released.String() != "clean" || before != "" {
		t.Errorf("%v, released %q, before output %q", err, w.released.String(), before)
	}
	if !strings.Contains(string(s.History()), "clean") || strings.Contains(string(s.History()), "bb") {
		t.Errorf("history %s", s.History())
	}
	closed(t, w, s, "completed")
}

// testParallel: four calls are inside their tools at once, each after its own
// verdict, and their results stand in the order of the calls.
func testParallel(t *testing.T) {
	const n = 4
	var permitted sync.Map
	var inside atomic.Int32
	all := make(chan struct{})
	tool := loop.ToolFunc(agenthooks.Tool{Name: "pay"}, func(_ context.Context, args jsontext.Value) (loop.Result, error) {
		if _, ok := permitted.Load(string(args)); !ok {
			return loop.Result{}, errors.New("started before its verdict")
		}
		if inside.Add(1) == n {
			close(all)
		}
		<-all
		return loop.Result{Value: args}, nil
	})
	w := &world{}
	s := start(t, w, loop.Options{Parallel: n, Tools: []loop.Tool{tool}}, func(c *hookContext) verdict {
		if c.Point() == agenthooks.PreToolCall {
			permitted.Store(string(c.Target()), true)
		}
		return agenthooks.Allow()
	}, calls("0", "1", "2", "3"), text("ok"))
	if _, err := s.Turn(t.Context(), loop.Text("hi")); err != nil {
		t.Fatal(err)
	}
	want := ""
	for i := range n {
		want += fmt.Sprintf(`,{"role":"tool","content":{"to":"%d"},"tool_call_id":"%d"}`, i, i)
	}
	if !strings.Contains(w.requests[1], want) {
		t.Errorf("messages %s", w.requests[1])
	}
	closed(t, w, s, "completed")
	seen := map[int64]bool{}
	for _, r := range w.host.Records() {
		if seen[r.Sequence] {
			t.Errorf("sequence %d twice", r.Sequence)
		}
		seen[r.Sequence] = true
	}
}

func testPosture(t *testing.T) {
	broken := func(p agenthooks.Point) func(*hookContext) verdict {
		return func(c *hookContext) verdict {
			if c.Point() == p {
				return verdict{} // no decision: the gate refuses it
			}
			return agenthooks.Allow()
		}
	}
	for _, p := range []agenthooks.Point{agenthooks.PreToolCall, agenthooks.PostToolCall} {
		w := &world{}
		s := start(t, w, loop.Options{OnHostError: loop.Terminate}, broken(p), calls("c1", "c2"))
		_, err := s.Turn(t.Context(), loop.Text("hi"))
		blocked(t, err, p, agenthooks.ReasonVerdictInvalid)
		closed(t, w, s, "error")

		w = &world{}
		s = start(t, w, loop.Options{OnHostError: loop.Continue}, broken(p), calls("c1", "c2"), text("ok"))
		if _, err := s.Turn(t.Context(), loop.Text("hi")); err != nil {
			t.Errorf("%s: %v", p, err)
		}
		closed(t, w, s, "completed")

		w = &world{} // an ordinary deny goes on in both postures
		s = start(t, w, loop.Options{OnHostError: loop.Terminate}, denyAt(p), calls("c1", "c2"), text("ok"))
		if _, err := s.Turn(t.Context(), loop.Text("hi")); err != nil {
			t.Errorf("%s: %v", p, err)
		}
		closed(t, w, s, "completed")
	}
}

// TestTools: whatever goes wrong in a tool is an error result with its own
// second point.
func TestTools(t *testing.T) {
	tools := []loop.Tool{
		loop.ToolFunc(agenthooks.Tool{Name: "pay"}, func(_ context.Context, args jsontext.Value) (loop.Result, error) {
			switch {
			case strings.Contains(string(args), "panic"):
				panic("SECRET")
			case strings.Contains(string(args), "error"):
				return loop.Result{}, errors.New("no money")
			}
			return loop.Result{}, nil
		}),
	}
	w := &world{}
	unknown := calls("error", "panic", "null", "unknown")
	unknown.ToolCalls[3].Name = "nosuch"
	s := start(t, w, loop.Options{Tools: tools}, nil, unknown, text("ok"))
	if _, err := s.Turn(t.Context(), loop.Text("hi")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"content":"no money"`, `"content":"the tool panicked: string"`, `"content":null,"tool_call_id":"null"`, `"content":"there is no such tool"`} {
		if !strings.Contains(w.requests[1], want) {
			t.Errorf("no %s in %s", want, w.requests[1])
		}
	}
	if got := strings.Count(points(w), "post_tool_call"); got != 4 {
		t.Errorf("%d results passed their point", got)
	}
	closed(t, w, s, "completed")
}

func TestCancellation(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	w := &world{}
	s := start(t, w, loop.Options{Tools: []loop.Tool{loop.ToolFunc(agenthooks.Tool{Name: "pay"}, func(context.Context, jsontext.Value) (loop.Result, error) {
		cancel(context.Canceled)
		return loop.Result{}, nil
	})}}, nil, calls("c1", "c2"), text("never"))
	if _, err := s.Turn(ctx, loop.Text("hi")); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	if err := s.Close(ctx); err != nil || w.reason != "cancelled" {
		t.Fatalf("%v, shutdown for %q", err, w.reason)
	}
	recs := w.host.Records()
	last := recs[len(recs)-1]
	if last.Point != agenthooks.AgentShutdown || last.Verdict.Decision != agenthooks.DecisionAllow {
		t.Errorf("the session ended with %s: %s", last.Point, last.Verdict.Decision)
	}
	if len(w.requests) != 1 {
		t.Errorf("%d model calls", len(w.requests))
	}
}

func TestEvaluateOnlyGoesOnWithoutAContext(t *testing.T) {
	w := &world{host: host(t, agenthooks.Options{Mode: agenthooks.EvaluateOnly})}
	s := start(t, w, loop.Options{}, nil, calls("c1", "c1"), text("ok"))
	ans, err := s.Turn(t.Context(), loop.Message{Role: "user", Content: jsontext.Value(`1e999`)})
	if err != nil || string(ans.Content) != `"ok"` || ans.ToolCalls != 1 {
		t.Fatalf("%+v, %v", ans, err)
	}
	closed(t, w, s, "") // nobody was asked
}

// TestBlockedTurnLeavesNoLabels: a turn that ends in a deny takes the labels of
// all its data with it, of what was half way too (AH-5.4-2).
func TestBlockedTurnLeavesNoLabels(t *testing.T) {
	label := agenthooks.Verdict{Decision: agenthooks.DecisionAllow, ResultLabels: []string{"l"}}
	for name, deny := range map[string]func(c *hookContext) bool{
		"in the middle of a stream": func(c *hookContext) bool { return c.Text("response.content") == "aa bb " },
		"at the second tool call":   func(c *hookContext) bool { return c.Text("tool_call.id") == "c2" },
		"at output":                 func(c *hookContext) bool { return c.Point() == agenthooks.Output },
	} {
		t.Run(name, func(t *testing.T) {
			h := host(t, agenthooks.Options{Interceptors: []agenthooks.Registration{{Namespace: "ns", Interceptor: agenthooks.InterceptorFunc(
				func(_ context.Context, c *hookContext) (verdict, error) {
					if deny(c) {
						return verdict{}, nil // not valid: a reserved reason ends the turn
					}
					return label, nil
				})}}})
			n := 0
			a, err := loop.New(loop.Options{
				Host: h, Incremental: true, OnHostError: loop.Terminate, Tools: []loop.Tool{echo},
				Model: loop.ModelFunc(func(_ context.Context, r *loop.Request) (*loop.Reply, error) {
					if n++; n == 1 {
						return calls("c1", "c2"), nil
					}
					for _, p := range []string{"aa ", "bb "} {
						if err := r.Piece(p); err != nil {
							return nil, err
						}
					}
					return text("aa bb cc"), nil
				}),
			})
			if err != nil {
				t.Fatal(err)
			}
			s, err := a.Open(t.Context(), agenthooks.SessionOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var b *agenthooks.BlockedError
			if _, err := s.Turn(t.Context(), loop.Text("hi")); !errors.As(err, &b) {
				t.Fatal(err)
			}
			if l := s.Hooks().Labels("input/1", "response/1/1", "response/1/1/0", "response/1/1/1", "response/1/2", "output/1"); len(l) != 0 {
				t.Errorf("left: %v", l)
			}
		})
	}
}

// TestEvaluateOnlyNeverStops: what no context can hold is recorded as a deny,
// and the action proceeds with it all the same (AH-8-2, AH-8-5).
func TestEvaluateOnlyNeverStops(t *testing.T) {
	values := map[string]string{
		"lone surrogate": `"\ud800"`, "duplicate name": `{"a":1,"a":2}`, "invalid UTF-8": "\"\xff\"",
		"too deep": strings.Repeat("[", 200) + strings.Repeat("]", 200), "overflow": `1e999`, "big integer": `9007199254740993`,
	}
	for name, value := range values {
		for _, where := range []string{"input", "content", "args", "result", "output"} {
			t.Run(name+" in "+where, func(t *testing.T) {
				put := func(here, other string) jsontext.Value {
					if where == here {
						return jsontext.Value(value)
					}
					return jsontext.Value(other)
				}
				args := jsontext.Value(`{"v":` + string(put("args", "1")) + `}`)
				var received jsontext.Value
				tool := loop.ToolFunc(agenthooks.Tool{Name: "pay"}, func(_ context.Context, args jsontext.Value) (loop.Result, error) {
					received = args.Clone()
					return loop.Result{Value: put("result", "1")}, nil
				})
				h := host(t, agenthooks.Options{Mode: agenthooks.EvaluateOnly, Interceptors: []agenthooks.Registration{{Interceptor: agenthooks.InterceptorFunc(
					func(context.Context, *hookContext) (verdict, error) { return agenthooks.Allow(), nil })}}})
				asked := 0
				a, err := loop.New(loop.Options{Host: h, Tools: []loop.Tool{tool}, Model: loop.ModelFunc(func(context.Context, *loop.Request) (*loop.Reply, error) {
					if asked++; asked == 1 {
						return &loop.Reply{Response: agenthooks.Response{
							Content: put("content", `"x"`), FinishReason: "tool_calls",
							ToolCalls: []agenthooks.ToolCall{{ID: "1", Name: "pay", Args: args}},
						}}, nil
					}
					return &loop.Reply{Response: agenthooks.Response{Content: put("output", `"done"`), FinishReason: "stop"}}, nil
				})})
				if err != nil {
					t.Fatal(err)
				}
				s, err := a.Open(t.Context(), agenthooks.SessionOptions{})
				if err != nil {
					t.Fatal(err)
				}
				ans, err := s.Turn(t.Context(), loop.Message{Role: "user", Content: put("input", `"hi"`)})
				if err != nil {
					t.Fatal(err)
				}
				if want := put("output", `"done"`); string(ans.Content) != string(want) || string(received) != string(args) {
					t.Errorf("answer %s, the tool received %s", ans.Content, received)
				}
			})
		}
	}
}

func TestReleaseFails(t *testing.T) {
	gone := errors.New("the caller is gone")
	for _, incremental := range []bool{true, false} {
		h := host(t, agenthooks.Options{Interceptors: []agenthooks.Registration{{Interceptor: agenthooks.InterceptorFunc(
			func(context.Context, *hookContext) (verdict, error) { return agenthooks.Allow(), nil })}}})
		a, err := loop.New(loop.Options{
			Host: h, Incremental: incremental, Release: func(string) error { return gone },
			Model: pieces(func() (*loop.Reply, error) { return text("aa bb"), nil }, "aa "),
		})
		if err != nil {
			t.Fatal(err)
		}
		s, err := a.Open(t.Context(), agenthooks.SessionOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Turn(t.Context(), loop.Text("hi")); !errors.Is(err, gone) || string(s.History()) != "[]" {
			t.Errorf("%v, history %s", err, s.History())
		}
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	h := host(t, agenthooks.Options{})
	good := loop.Options{Host: h, Model: pieces(nil)}
	for want, edit := range map[string]func(*loop.Options){
		"":                        func(*loop.Options) {},
		"host: required":          func(o *loop.Options) { o.Host = nil },
		"model: required":         func(o *loop.Options) { o.Model = nil },
		"parallel: -1":            func(o *loop.Options) { o.Parallel = -1 },
		"on host error":           func(o *loop.Options) { o.OnHostError = "stop" },
		"tools[0]: nil":           func(o *loop.Options) { o.Tools = []loop.Tool{nil} },
		"tools[0]: no name":       func(o *loop.Options) { o.Tools = []loop.Tool{loop.ToolFunc(agenthooks.Tool{}, nil)} },
		`tools[1]: name "pay" is`: func(o *loop.Options) { o.Tools = []loop.Tool{echo, echo} },
	} {
		o := good
		edit(&o)
		_, err := loop.New(o)
		if (want == "") != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
