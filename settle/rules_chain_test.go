package settle_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

var stageRules = []rule{
	{"D-STAGE-1", func(t *testing.T) { // reject checks that nothing is left
		for _, first := range []ahp.Effect{
			tell("x"), &ahp.Allow{}, &ahp.Ask{}, merge(`{"b":1}`), supply(`1`), stop("x"), no("x"),
			inject(ahp.DeliverNow, message("m", ahp.RoleUser, "x")),
		} {
			if f := reject(t, opened(ahp.ToolBefore), first, nil); f.Pointer != "/result/effects/1" {
				t.Error(f.Pointer)
			}
			reject(t, opened(ahp.ToolBefore), nil, first)
			reject(t, opened(ahp.ToolBefore), first, more("")) // not offered there
		}
	}},
	{"D-STAGE-2", func(t *testing.T) {
		b, v := opened(ahp.ToolBefore).Apply(settle.Step{Backend: guard, Policy: ahp.FailOpen, Effects: []ahp.Effect{no("x"), nil}})
		if s := b.Settlement(); s.State != settle.Proceed || !s.FailedOpen || v.Policy != ahp.FailOpen {
			t.Errorf("%+v", s)
		}
	}},
	{"D-STAGE-3", func(t *testing.T) {
		reject(t, opened(ahp.ToolBefore), more("x"))                                                                       // effect
		reject(t, opened(ahp.ToolBefore), list(ahp.TargetOutput, ahp.OpMerge))                                             // target
		reject(t, opened(ahp.ToolBefore), object(ahp.TargetInput, "append", `{}`))                                         // operation
		reject(t, opened(ahp.ToolBefore), merge(`[]`))                                                                     // value
		reject(t, settle.Open(boundary(ahp.ToolAfter), everything(ahp.ToolAfter, 0), settle.BoundaryOptions{}), more("x")) // allowance
		reject(t, opened(ahp.ToolBefore), merge(`{"b":1}`), replace(`[]`))                                                 // late
	}},
	{"D-STAGE-4", func(t *testing.T) {
		b, v := opened(ahp.ToolBefore).Apply(settle.Step{Backend: guard, Policy: ahp.FailOpen, Effects: []ahp.Effect{nil, nil, nil}})
		var h settle.Hop
		v.Into(&h)
		if h.Answer != settle.AnswerFailure || h.Class != ahp.FailInvalidEffect || h.Policy != ahp.FailOpen || b.Done() {
			t.Errorf("%+v", h)
		}
	}},
	{"D-STAGE-5", func(t *testing.T) {
		b := accept(t, opened(ahp.ToolBefore), merge(`{"b":1}`), tell("first"))
		b, _ = b.Apply(settle.Step{Backend: second, Policy: ahp.FailOpen, Effects: []ahp.Effect{merge(`{"c":1}`), tell("second"), nil}})
		if got := input(b); got != `{"a":{"x":1,"y":2},"n":1,"b":1}` || !slices.Equal(b.Settlement().Messages, []string{"first"}) {
			t.Error(got)
		}
	}},
	{"D-STAGE-8", func(t *testing.T) { // what the caller does not take has not happened
		b := accept(t, opened(ahp.ToolBefore), &ahp.Allow{}, tell("one"))
		before := b.Settlement()
		accept(t, b, tell("two"), merge(`{"b":1}`), supply(`1`), inject(ahp.DeliverNow, message("m", ahp.RoleUser, "x")))
		accept(t, b, tell("three"), no("x"))
		if !reflect.DeepEqual(before, b.Settlement()) {
			t.Errorf("%+v", b.Settlement())
		}
		state(t, b.Interrupt(ahp.FailShutdown), settle.Interrupted, ahp.PermissionNone)
	}},
}

var orderRules = []rule{
	{"D-PREC-1", func(t *testing.T) {
		for _, r := range permissions {
			for _, in := range r.orders() {
				state(t, accept(t, opened(ahp.ToolBefore), in...), r.want, r.perm)
			}
		}
	}},
	{"D-PREC-2", func(t *testing.T) {
		for _, end := range []func(settle.Boundary) settle.Boundary{
			func(b settle.Boundary) settle.Boundary { return accept(t, b, no("x")) },
			func(b settle.Boundary) settle.Boundary { return accept(t, b, stop("x")) },
			func(b settle.Boundary) settle.Boundary { return b.Refuse(second, ahp.FailDeadline) },
			func(b settle.Boundary) settle.Boundary { return b.Interrupt(ahp.FailDeadline) },
		} {
			b := end(accept(t, opened(ahp.ToolBefore), supply(`1`)))
			if s := b.Settlement(); s.Proceeds() || s.Candidate != nil || s.State == settle.Supplied || b.State().Candidate != nil {
				t.Errorf("%+v", s)
			}
		}
	}},
	{"D-PREC-3", func(t *testing.T) {
		for _, in := range [][]ahp.Effect{{stop("x"), more("y")}, {more("y"), stop("x")}} {
			b := accept(t, opened(ahp.ToolAfter), in...)
			if s := state(t, b, settle.Stopped, ahp.PermissionNone); s.Flow != ahp.FlowStop || s.Reason != "x" {
				t.Errorf("%+v", s)
			}
		}
	}},
	{"D-PREC-4", func(t *testing.T) {
		s := state(t, accept(t, opened(ahp.ToolBefore), &ahp.Allow{}), settle.Proceed, ahp.PermissionAllow)
		if s.By != "" || s.Approved {
			t.Errorf("%+v", s)
		}
	}},
	{"D-PREC-5", func(t *testing.T) {
		for _, on := range []ahp.Effect{&ahp.Ask{}, &ahp.Allow{}, supply(`1`), tell("x"), merge(`{"b":1}`)} {
			if accept(t, opened(ahp.ToolBefore), on).Done() {
				t.Errorf("%T ended the chain", on)
			}
		}
		if accept(t, opened(ahp.ToolAfter), more("")).Done() {
			t.Error("a continue ended the chain")
		}
		for _, off := range []ahp.Effect{no("x"), stop("x")} {
			if !accept(t, opened(ahp.ToolBefore), off).Done() {
				t.Errorf("%T did not end the chain", off)
			}
		}
	}},
	{"AHP-COMP-001", func(t *testing.T) {
		fail := func(p ahp.FailurePolicy) settle.Boundary {
			b, _ := opened(ahp.ToolBefore).Apply(settle.Step{Backend: guard, Policy: p, Failure: failure(ahp.FailDeadline)})
			return b
		}
		for name, b := range map[string]settle.Boundary{
			"deny": accept(t, opened(ahp.ToolBefore), no("x")), "stop": accept(t, opened(ahp.ToolBefore), stop("x")),
			"interrupted": opened(ahp.ToolBefore).Interrupt(ahp.FailShutdown), "fail-closed": fail(ahp.FailClosed), "zero": {},
		} {
			if !b.Done() {
				t.Errorf("%s does not end the chain", name)
			}
			before := b.Settlement()
			for _, s := range []settle.Step{
				{Effects: []ahp.Effect{&ahp.Allow{}, tell("late"), merge(`{"b":1}`)}}, {}, {Policy: ahp.FailOpen, Failure: failure(ahp.FailDeadline)},
			} {
				next, v := b.Apply(s)
				if v.Answer != settle.AnswerFailure || !reflect.DeepEqual(next.Settlement(), before) {
					t.Errorf("%s: %+v", name, v)
				}
			}
			for _, next := range []settle.Boundary{b.Refuse("x", ahp.FailEvent), b.Interrupt(ahp.FailEvent)} {
				if name != "zero" && !reflect.DeepEqual(next.Settlement(), before) || next.Settlement().Proceeds() {
					t.Errorf("%s: %+v", name, next.Settlement())
				}
			}
		}
		if fail(ahp.FailOpen).Done() {
			t.Error("fail-open ends the chain")
		}
	}},
	{"D-CHAIN-2", func(t *testing.T) {
		b := accept(t, opened(ahp.ToolBefore), merge(`{"n":2}`), supply(`"candidate"`))
		if got := input(b); got != `{"a":{"x":1,"y":2},"n":2}` {
			t.Error(got)
		}
		if got := input(accept(t, b, merge(`{"n":3}`))); got != `{"a":{"x":1,"y":2},"n":3}` {
			t.Error(got)
		}
	}},
	{"D-CHAIN-3", func(t *testing.T) {
		b := opened(ahp.ToolBefore)
		ev := b.Event()
		b, _ = b.Apply(settle.Step{Backend: guard, Policy: ahp.FailOpen, Effects: []ahp.Effect{merge(`{"n":2}`), nil}})
		if b.Event() != ev {
			t.Errorf("%s", input(b))
		}
	}},
	{"D-CHAIN-4", func(t *testing.T) {
		b := accept(t, opened(ahp.ToolAfter), list(ahp.TargetOutput, ahp.OpMerge, message("m-3", ahp.RoleTool, "x")))
		ev := b.Event()
		if ev.ID != "ev-1" || ev.Source != "urn:example:test" || ev.Tool.CallID != "c-1" || ids(ev.Messages) != "m-1 m-2 m-3" {
			t.Errorf("%+v", ev)
		}
	}},
	{"D-CHAIN-7", func(t *testing.T) {
		b := accept(t, opened(ahp.ToolBefore), &ahp.Ask{})
		b = accept(t, b, merge(`{"n":2}`), &ahp.Allow{})
		if got := b.State().Permission; got != ahp.PermissionAsk {
			t.Error(got)
		}
		b = accept(t, accept(t, opened(ahp.ToolBefore), &ahp.Allow{}), merge(`{"n":2}`))
		if got := b.State().Permission; got != ahp.PermissionNone {
			t.Error(got)
		}
	}},
	{"D-CHAIN-8", func(t *testing.T) {
		for _, first := range []ahp.Effect{stop("x"), no("x")} {
			b := accept(t, opened(ahp.ToolBefore), first)
			want := b.Settlement().State
			b, _ = say(b, &ahp.Allow{})
			if s := b.Settlement(); s.State != want || s.Proceeds() {
				t.Errorf("%+v", s)
			}
		}
	}},
	{"D-CHAIN-9", func(t *testing.T) {
		b, v := opened(ahp.ToolBefore).Apply(settle.Step{Backend: guard, Policy: ahp.FailOpen, Failure: failure(ahp.FailConnection)})
		if b.Done() || v.Failure.Class != ahp.FailConnection {
			t.Errorf("%+v", v)
		}
		b, _ = b.Apply(settle.Step{Backend: second, Policy: ahp.FailClosed, Failure: failure(ahp.FailConnection)})
		if s := b.Settlement(); s.State != settle.Denied || !s.Synthetic || !s.FailedOpen || s.By != second || s.Permission != ahp.PermissionDeny {
			t.Errorf("%+v", s)
		}
	}},
	{"D-STATE-2", func(t *testing.T) {
		b := opened(ahp.ToolBefore)
		if got := b.State(); !reflect.DeepEqual(got, &ahp.State{Permission: ahp.PermissionNone, Flow: ahp.FlowNone}) {
			t.Errorf("%+v", got)
		}
		b = accept(t, b, &ahp.Ask{}, supply(`{"b": 1}`), inject(ahp.DeliverNow, message("m-9", ahp.RoleDeveloper, "x")))
		b, _ = b.Apply(settle.Step{Policy: ahp.FailOpen, Effects: []ahp.Effect{no("x"), supply(`2`), nil}})
		got := b.State()
		if got.Permission != ahp.PermissionAsk || string(got.Candidate.Value) != `{"b": 1}` || got.Candidate.Provenance != nil || len(got.Injections) != 1 {
			t.Errorf("%+v", got)
		}
		want := `{"type":"inject","target":"context","operation":"append","deliverAt":"now","value":[{"id":"m-9","role":"developer","parts":[{"id":"m-9/0","kind":"text","mediaType":"text/plain","selection":"body","text":"x"}]}]}`
		if string(got.Injections[0]) != want {
			t.Errorf("%s", got.Injections[0])
		}
		got.Candidate.Value[0] = '['
		if again := b.State(); string(again.Candidate.Value) != `{"b": 1}` {
			t.Error("the state is not the caller's own")
		}
		after := accept(t, opened(ahp.ToolAfter), more("go on")).State()
		if after.Flow != ahp.FlowContinue || !slices.Equal(after.Instructions, []string{"go on"}) {
			t.Errorf("%+v", after)
		}
	}},
	{"AHP-CONTENT-002", func(t *testing.T) { // the state is no second road around a selection
		b := accept(t, opened(ahp.CompactBefore), supplyParts(text("s-1", "MARKER")), inject(ahp.DeliverNow, message("m-9", ahp.RoleUser, "MARKER")))
		asked := 0
		got := b.StateAs(func(ahp.Value) (ahp.Value, bool) { asked++; return ahp.Value{}, false })
		if asked != 2 || got.Candidate == nil || string(got.Candidate.Value) != "null" || got.Injections != nil {
			t.Errorf("asked %d times: %+v", asked, got)
		}
		got = b.StateAs(func(v ahp.Value) (ahp.Value, bool) {
			if v.Parts != nil {
				p := hiddenText("s-1")
				return ahp.Value{Parts: []ahp.Part{p}}, true
			}
			p := hiddenText("m-9/0")
			p.Selection, p.Gap = ahp.SelectBody, &ahp.Gap{Reason: "held back", Path: "x"}
			return ahp.Value{Messages: []ahp.Message{{ID: "m-9", Role: ahp.RoleUser, Parts: []ahp.Part{p}}}}, true
		})
		if c, i := string(got.Candidate.Value), string(got.Injections[0]); c != `[{"id":"s-1","kind":"text","mediaType":"text/plain","selection":"metadata"}]` ||
			!strings.Contains(i, `"selection":"body","gap":{"reason":"held back","path":"x"}}]`) {
			t.Errorf("%s\n%s", c, i)
		}
		b = accept(t, opened(ahp.ToolAfter), more("MARKER"), more("go"))
		got = b.StateAs(func(v ahp.Value) (ahp.Value, bool) { return v, *v.Parts[0].Text != "MARKER" })
		if !slices.Equal(got.Instructions, []string{"go"}) || !slices.Equal(b.State().Instructions, []string{"MARKER", "go"}) {
			t.Errorf("%q", got.Instructions)
		}
		if got := (settle.Boundary{}).StateAs(nil); got.Permission != ahp.PermissionDeny {
			t.Errorf("%+v", got)
		}
	}},
	{"D-OBS-2", func(t *testing.T) {
		b := accept(t, opened(ahp.ToolBefore), merge(`{"n":2}`), no("x"))
		if got := b.Settlement().Event; string(got.Tool.Input) != `{"a":{"x":1,"y":2},"n":2}` {
			t.Errorf("%s", got.Tool.Input)
		}
	}},
}

// permissions are the rows of AHP draft section 11.2.
var permissions = []row{
	{nil, settle.Proceed, ahp.PermissionNone},
	{[]ahp.Effect{&ahp.Allow{}}, settle.Proceed, ahp.PermissionAllow},
	{[]ahp.Effect{&ahp.Ask{}}, settle.Ask, ahp.PermissionAsk},
	{[]ahp.Effect{&ahp.Ask{}, &ahp.Allow{}}, settle.Ask, ahp.PermissionAsk},
	{[]ahp.Effect{no("x"), &ahp.Allow{}}, settle.Denied, ahp.PermissionDeny},
	{[]ahp.Effect{no("x"), &ahp.Ask{}}, settle.Denied, ahp.PermissionDeny},
	{[]ahp.Effect{supply(`1`)}, settle.Supplied, ahp.PermissionNone},
	{[]ahp.Effect{supply(`1`), &ahp.Allow{}}, settle.Supplied, ahp.PermissionAllow},
	{[]ahp.Effect{supply(`1`), &ahp.Ask{}}, settle.Ask, ahp.PermissionAsk},
	{[]ahp.Effect{supply(`1`), no("x")}, settle.Denied, ahp.PermissionDeny},
	{[]ahp.Effect{merge(`{"n":2}`), supply(`1`)}, settle.Supplied, ahp.PermissionNone},
	{[]ahp.Effect{stop("x")}, settle.Stopped, ahp.PermissionNone},
	{[]ahp.Effect{stop("x"), supply(`1`)}, settle.Stopped, ahp.PermissionNone},
	{[]ahp.Effect{stop("x"), &ahp.Allow{}}, settle.Stopped, ahp.PermissionAllow},
	{[]ahp.Effect{stop("x"), &ahp.Ask{}}, settle.Stopped, ahp.PermissionAsk},
	{[]ahp.Effect{stop("x"), no("x")}, settle.Denied, ahp.PermissionDeny},
	{[]ahp.Effect{&ahp.Allow{}, &ahp.Ask{}, supply(`1`)}, settle.Ask, ahp.PermissionAsk},
	{[]ahp.Effect{&ahp.Allow{}, supply(`1`), tell("x"), merge(`{"n":2}`), &ahp.Ask{}, no("x")}, settle.Denied, ahp.PermissionDeny},
}

type row struct {
	effects []ahp.Effect
	want    settle.State
	perm    ahp.Permission
}

// orders are all orders of the effects.
func (r row) orders() [][]ahp.Effect {
	var out [][]ahp.Effect
	var walk func(done, left []ahp.Effect)
	walk = func(done, left []ahp.Effect) {
		if len(left) == 0 {
			out = append(out, slices.Clone(done))
		}
		for i := range left {
			walk(append(slices.Clip(done), left[i]), slices.Concat(left[:i:i], left[i+1:]))
		}
	}
	walk(nil, r.effects)
	return out
}

var approvalRules = []rule{
	{"D-APP-1", func(t *testing.T) {
		s := accept(t, opened(ahp.ToolBefore), &ahp.Ask{}).Settlement()
		changed := accept(t, opened(ahp.ToolBefore), &ahp.Ask{}, merge(`{"n":2}`)).Settlement()
		if s.Operation == "" || s.Operation == changed.Operation || s.Operation != settle.Identity(boundary(ahp.ToolBefore)) {
			t.Errorf("%s and %s", s.Operation, changed.Operation)
		}
		if got := changed.Approve(s.Operation); got.State != settle.Ask || got.Proceeds() || got.Approved {
			t.Errorf("an approval of another operation counted: %+v", got)
		}
		if got := changed.Approve(changed.Operation); !got.Proceeds() || !got.Approved {
			t.Errorf("%+v", got)
		}
		if r := s.Record(boundary(ahp.ToolBefore), recordID, began, 1, "", settle.Details{}); r.Operation != s.Operation || r.Effective != "" {
			t.Errorf("%+v", r)
		}
		if got := s.Approve("c-1"); got.State != settle.Ask {
			t.Error("the call id is enough")
		}
	}},
	{"D-MCP-3", func(t *testing.T) { // the destination is part of the operation
		ev := boundary(ahp.ToolBefore)
		ev.Tool.Origin = ahp.OriginMCP
		base := settle.Identity(ev)
		seen := map[string]string{base: "no server"}
		for name, s := range map[string]ahp.MCPServer{
			"id":       {ID: "b", ToolName: "t", Connection: ahp.MCPConnection{Transport: "http", URL: "https://a.example"}},
			"base":     {ID: "a", ToolName: "t", Connection: ahp.MCPConnection{Transport: "http", URL: "https://a.example"}},
			"tool":     {ID: "a", ToolName: "u", Connection: ahp.MCPConnection{Transport: "http", URL: "https://a.example"}},
			"url":      {ID: "a", ToolName: "t", Connection: ahp.MCPConnection{Transport: "http", URL: "https://b.example"}},
			"sse":      {ID: "a", ToolName: "t", Connection: ahp.MCPConnection{Transport: "sse", URL: "https://a.example"}},
			"command":  {ID: "a", ToolName: "t", Connection: ahp.MCPConnection{Transport: "stdio", Command: "x"}},
			"args":     {ID: "a", ToolName: "t", Connection: ahp.MCPConnection{Transport: "stdio", Command: "x", Args: []string{}}},
			"args y":   {ID: "a", ToolName: "t", Connection: ahp.MCPConnection{Transport: "stdio", Command: "x", Args: []string{"y"}}},
			"cwd":      {ID: "a", ToolName: "t", Connection: ahp.MCPConnection{Transport: "stdio", Command: "x", CWD: "y"}},
			"address":  {ID: "a", ToolName: "t", Connection: ahp.MCPConnection{Transport: "_x", AddressForm: "f", Address: "y"}},
			"form":     {ID: "a", ToolName: "t", Connection: ahp.MCPConnection{Transport: "_x", AddressForm: "g", Address: "y"}},
			"anything": {},
		} {
			ev.Tool.Server = &s
			id := settle.Identity(ev)
			if other, old := seen[id]; old {
				t.Errorf("%s and %s are one operation", name, other)
			}
			seen[id] = name
		}
		ev.Tool.Server = &ahp.MCPServer{ID: "a", Name: "shown", ToolName: "t", Provenance: "inferred", Connection: ahp.MCPConnection{Transport: "http", URL: "https://a.example", Gaps: []ahp.Gap{{Path: "x", Reason: "y"}}}}
		if seen[settle.Identity(ev)] != "base" {
			t.Error("a display name changes the operation")
		}
	}},
	{"D-APP-2", func(t *testing.T) {
		b := accept(t, opened(ahp.ToolBefore), &ahp.Allow{})
		state(t, b, settle.Proceed, ahp.PermissionAllow)
		state(t, accept(t, b, merge(`{"n":2}`)), settle.Proceed, ahp.PermissionNone)
		state(t, accept(t, b, tell("x")), settle.Proceed, ahp.PermissionAllow)
	}},
	{"D-APP-4", func(t *testing.T) { // the supplied result waits for the approval too
		b := accept(t, opened(ahp.ToolBefore), &ahp.Ask{}, supply(`"secret"`))
		s := state(t, b, settle.Ask, ahp.PermissionAsk)
		if s.Candidate != nil {
			t.Error("the candidate of an open ask can be used")
		}
		s = s.Approve(s.Operation)
		if s.State != settle.Supplied || string(s.Candidate.JSON) != `"secret"` || s.Proceeds() {
			t.Errorf("%+v", s)
		}
	}},
	{"D-APP-6", func(t *testing.T) {
		s := accept(t, opened(ahp.ToolBefore), &ahp.Ask{}).Settlement()
		for _, other := range []string{"", "x", strings.ToUpper(s.Operation)} {
			if got := s.Approve(other); got.Proceeds() || got.State != settle.Ask {
				t.Errorf("%q approved", other)
			}
		}
		// There is nothing to approve in any other outcome.
		for _, change := range []*ahp.Modify{merge(`{}`), merge(`{"n":2}`)} {
			for _, b := range []settle.Boundary{
				accept(t, opened(ahp.ToolBefore), &ahp.Ask{}, change, no("x")), accept(t, opened(ahp.ToolBefore), &ahp.Ask{}, change, stop("x")),
				accept(t, opened(ahp.ToolBefore), &ahp.Ask{}, change).Interrupt(ahp.FailDeadline),
				accept(t, opened(ahp.ToolBefore), &ahp.Ask{}, change).Refuse("", ahp.FailEvent),
				{},
			} {
				got := b.Settlement()
				for _, operation := range []string{s.Operation, got.Operation} {
					if after := got.Approve(operation); after.Proceeds() || after.State != got.State || after.State == settle.Ask || after.Approved {
						t.Errorf("%+v", after)
					}
				}
			}
		}
		var zero settle.Settlement
		if zero.Approve("").Proceeds() || zero.Approve("x").Proceeds() {
			t.Error("the zero settlement was approved")
		}
	}},
	{"D-APP-7", func(t *testing.T) {
		base := `{"a":{"x":1,"y":[1,2.50,"\u00e4"]},"n":1,"big":9007199254740993,"z":0,"t":true,"s":"x"}`
		for _, tt := range []struct {
			effect *ahp.Modify
			same   bool
		}{
			{merge(`{}`), true},
			{merge(`{"n":1}`), true},
			{merge(`{"n":1.0,"z":-0.0e9}`), true},
			{merge(`{"n":10e-1}`), true},
			{merge(`{"n":0.1E+1}`), true},
			{merge(`{"a":{"y":[1.0,25e-1,"ä"],"x":1}}`), true},
			{replace(`{"s":"\u0078","t":true,"z":0,"big":9007199254740993,"n":1,"a":{"y":[1,2.5,"ä"],"x":1}}`), true},
			{merge(`{"big":9007199254740993.0}`), true},
			{merge(`{"big":9007199254740992}`), false}, // equal as doubles
			{merge(`{"n":1.0000000000000000001}`), false},
			{merge(`{"z":1e-99999999999999}`), false},
			{merge(`{"z":0e99999999999999}`), true},
			{merge(`{"z":0e99999999999999999999999999}`), true},
			{merge(`{"n":10}`), false},
			{merge(`{"n":0.1}`), false},
			{merge(`{"n":1e99999999999999999999999999}`), false},
			{merge(`{"n":-1}`), false},
			{merge(`{"n":"1"}`), false},
			{merge(`{"n":null}`), false},
			{merge(`{"n":true}`), false},
			{merge(`{"t":false}`), false},
			{merge(`{"s":"y"}`), false},
			{merge(`{"a":{"x":1,"y":[1,2.5]}}`), false},
			{merge(`{"a":{"x":1,"y":[2.5,1,"ä"]}}`), false},
			{merge(`{"a":{"x":1}}`), false},
			{merge(`{"a":[]}`), false},
			{merge(`{"b":null}`), false}, // null is not absent
			{replace(`{}`), false},
		} {
			ev := boundary(ahp.ToolBefore)
			ev.Tool.Input = ahp.Raw(base)
			b := accept(t, settle.Open(ev, everything(ahp.ToolBefore, 0), settle.BoundaryOptions{}), &ahp.Allow{}, supply(`1`))
			b, v := say(b, tt.effect)
			s := b.Settlement()
			kept := s.Permission == ahp.PermissionAllow && s.State == settle.Supplied && s.Event == ev && !v.Changed && s.Operation == ""
			lost := s.Permission == ahp.PermissionNone && s.State == settle.Proceed && s.Event != ev && v.Changed && s.Operation != ""
			if kept != tt.same || lost == tt.same {
				t.Errorf("%s %s: same %v, kept %v, lost %v", tt.effect.Operation, tt.effect.Value.JSON, tt.same, kept, lost)
			}
		}
		// Half a character is no character, and equal to none.
		ev := boundary(ahp.ToolBefore)
		ev.Tool.Input = ahp.Raw(`{"n":"\ud800"}`)
		if b := settle.Open(ev, everything(ahp.ToolBefore, 0), settle.BoundaryOptions{}); accept(t, b, merge(`{"n":"\ufffd"}`)).Event() == ev {
			t.Error("half a character was taken for another")
		}
		// Back and forth in one response is no change.
		b := accept(t, accept(t, opened(ahp.ToolBefore), &ahp.Allow{}), merge(`{"n":7}`), merge(`{"n":1}`))
		state(t, b, settle.Proceed, ahp.PermissionAllow)
		// A list that ends as it was keeps its candidate; another one does not.
		for _, l := range lists[3:4] {
			b := opened(l.at)
			b = accept(t, b, &ahp.Return{Value: ahp.Value{Messages: []ahp.Message{message("m-9", ahp.RoleAssistant, "x")}}})
			state(t, accept(t, b, list(l.target, ahp.OpReplace, boundary(l.at).Messages...)), settle.Supplied, ahp.PermissionNone)
			for name, edit := range map[string]func(m *ahp.Message){
				"id": func(m *ahp.Message) { m.ID = "x" }, "role": func(m *ahp.Message) { m.Role = ahp.RoleSystem },
				"mark": func(m *ahp.Message) { m.Synthesized = new(true) }, "text": func(m *ahp.Message) { m.Parts = []ahp.Part{text("m-1/0", "x")} },
				"part": func(m *ahp.Message) { m.Parts = nil },
			} {
				ms := boundary(l.at).Messages
				edit(&ms[0])
				if s := accept(t, b, list(l.target, ahp.OpReplace, ms...)).Settlement(); s.State != settle.Proceed {
					t.Errorf("another %s keeps the candidate", name)
				}
			}
		}
	}},
	{"D-APP-8", func(t *testing.T) {
		for _, in := range [][]ahp.Effect{{merge(`{"n":2}`), &ahp.Allow{}}, {&ahp.Allow{}, merge(`{"n":2}`)}} {
			state(t, accept(t, opened(ahp.ToolBefore), in...), settle.Proceed, ahp.PermissionAllow)
			state(t, accept(t, accept(t, opened(ahp.ToolBefore), &ahp.Allow{}), in...), settle.Proceed, ahp.PermissionAllow)
		}
	}},
	{"D-APP-9", func(t *testing.T) {
		if s := accept(t, opened(ahp.ToolBefore), &ahp.Ask{}).Settlement(); s.Proceeds() {
			t.Error("an open ask proceeds")
		}
	}},
}
