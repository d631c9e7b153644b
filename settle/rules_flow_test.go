package settle_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

func supplyMessages(ms ...ahp.Message) *ahp.Return {
	return &ahp.Return{Value: ahp.Value{Messages: append([]ahp.Message{}, ms...)}}
}

func supplyParts(ps ...ahp.Part) *ahp.Return {
	return &ahp.Return{Value: ahp.Value{Parts: append([]ahp.Part{}, ps...)}}
}

var resultRules = []rule{
	{"D-RET-1", func(t *testing.T) {
		good := map[ahp.EventType][]*ahp.Return{
			ahp.ToolBefore:         {supply(`null`), supply(`[1]`), supply(`{"a":1}`)},
			ahp.ModelRequestBefore: {supplyMessages(), supplyMessages(message("m-9", ahp.RoleAssistant, "x"))},
			ahp.CompactBefore:      {supplyParts(), supplyParts(text("s-1", "x"))},
			ahp.ElicitationRequest: {
				supply(`{"action":"accept","content":{"day":"x"}}`), supply(`{"action":"accept"}`), supply(`{"action":"decline"}`),
				supply(`{"action":"c\u0061ncel","_meta":{},"more":1}`),
			},
		}
		for at, rs := range good {
			for _, r := range rs {
				state(t, accept(t, opened(at), r), settle.Supplied, ahp.PermissionNone)
			}
		}
		for at, rs := range map[ahp.EventType][]*ahp.Return{
			ahp.ToolBefore:         {supply(`{`), supply(`tru`), supply(``), supplyMessages(), supplyParts(), {}},
			ahp.ModelRequestBefore: {supply(`{"content":"x"}`), supply(`[]`), supplyParts(), supplyMessages(message("", ahp.RoleUser, "x"))},
			ahp.CompactBefore:      {supply(`"x"`), supplyMessages(), supplyParts(picture("p", "r")), supplyParts(hiddenText("p"))},
			ahp.ElicitationRequest: {
				supply(`[]`), supply(`{}`), supply(`{"action":"yes"}`), supply(`{"action":null}`), supply(`{"action":"decline","content":{}}`),
				supply(`{"action":"cancel","content":{}}`), supply(`{"action":"accept","content":[]}`), supply(`{"action":"accept","content":{"a":null}}`),
				supply(`{"action":"accept","_meta":1}`), supply(`{"action":"accept","\u0061ction":"decline"}`), supply(`{"action":"accept","content":{"a":1,"a":2}}`),
			},
		} {
			for _, r := range rs {
				reject(t, opened(at), r)
			}
		}
		url := boundary(ahp.ElicitationRequest)
		url.Body.(*ahp.ElicitationBody).Mode = "url"
		b := settle.Open(url, everything(ahp.ElicitationRequest, 0), settle.BoundaryOptions{})
		accept(t, b, supply(`{"action":"accept"}`))
		reject(t, b, supply(`{"action":"accept","content":{}}`))
	}},
	{"D-RET-2", func(t *testing.T) {
		b := accept(t, opened(ahp.ToolBefore), supply(`1`), merge(`{"n":2}`), supply(`2`))
		if s := state(t, b, settle.Supplied, ahp.PermissionNone); string(s.Candidate.JSON) != `2` || s.By != guard {
			t.Errorf("%+v", s)
		}
		next, _ := say(b)
		state(t, next, settle.Supplied, ahp.PermissionNone) // kept by an empty list
		if s := accept(t, b, supply(`3`)).Settlement(); string(s.Candidate.JSON) != `3` {
			t.Errorf("%s", s.Candidate.JSON)
		}
		state(t, accept(t, b, merge(`{"n":3}`)), settle.Proceed, ahp.PermissionNone)
		state(t, accept(t, b, merge(`{"n":2.0}`)), settle.Supplied, ahp.PermissionNone)
		if s := accept(t, b, merge(`{"n":3}`), supply(`4`)).Settlement(); string(s.Candidate.JSON) != `4` {
			t.Errorf("%s", s.Candidate.JSON)
		}
		// The candidate is the settlement's own: the backend's memory may be used again.
		raw := ahp.Raw(`{"k":1}`)
		b = accept(t, opened(ahp.ToolBefore), &ahp.Return{Value: ahp.Value{JSON: raw}}, &ahp.Modify{Target: ahp.TargetInput, Operation: ahp.OpReplace, Value: ahp.Value{JSON: raw}})
		copy(raw, `XXXXXXX`)
		if s := b.Settlement(); string(s.Candidate.JSON) != `{"k":1}` || input(b) != `{"k":1}` {
			t.Errorf("%s %s", s.Candidate.JSON, input(b))
		}
	}},
	{"D-RET-3", func(t *testing.T) { // the chain goes on, and the operation does not
		b := accept(t, opened(ahp.ToolBefore), supply(`1`))
		if b.Done() || b.Settlement().Proceeds() {
			t.Errorf("%+v", b.Settlement())
		}
	}},
	{"D-RET-5", func(t *testing.T) {
		if c := accept(t, opened(ahp.ToolBefore), supply(`1`)).State().Candidate; c.Provenance != nil || c.Unknown != nil {
			t.Errorf("%+v", c)
		}
	}},
	{"D-CMP-3", func(t *testing.T) {
		b := accept(t, opened(ahp.CompactBefore), supplyParts(text("s-1", "x")))
		if got := string(b.State().Candidate.Value); got != `[{"id":"s-1","kind":"text","mediaType":"text/plain","selection":"body","text":"x"}]` {
			t.Error(got)
		}
		state(t, accept(t, b, parts(ahp.TargetInstructions, ahp.OpMerge, text("p", "x"))), settle.Proceed, ahp.PermissionNone)
	}},
}

var flowRules = []rule{
	{"D-FLOW-1", func(t *testing.T) {
		reject(t, opened(ahp.ToolBefore), stop(""))
		accept(t, opened(ahp.ToolAfter), more(""))
		accept(t, opened(ahp.ToolAfter), more("look again"))
	}},
	{"D-FLOW-2", func(t *testing.T) {
		s := accept(t, opened(ahp.ToolBefore), stop("wait\nfor the owner")).Settlement()
		if s.State != settle.Stopped || s.Proceeds() || s.Synthetic || s.Reason != `wait\nfor the owner` || s.By != guard {
			t.Errorf("%+v", s)
		}
	}},
	{"D-FLOW-3", func(t *testing.T) {
		for _, left := range []int64{1, 2} {
			b := settle.Open(boundary(ahp.TurnFinishBefore), everything(ahp.TurnFinishBefore, left), settle.BoundaryOptions{})
			b = accept(t, b, more("one"), more(""), more("two"))
			b = accept(t, b, more("three"))
			s := state(t, b, settle.Proceed, ahp.PermissionNone)
			if s.Flow != ahp.FlowContinue || !slices.Equal(s.Instructions, []string{"one", "two", "three"}) {
				t.Errorf("%+v", s)
			}
		}
	}},
	{"D-FLOW-4", func(t *testing.T) {
		b := settle.Open(boundary(ahp.TurnFinishBefore), everything(ahp.TurnFinishBefore, 0), settle.BoundaryOptions{})
		reject(t, b, tell("x"), more("y"))
		// What one hop was offered counts, even when the boundary has more.
		rejectStep(t, opened(ahp.TurnFinishBefore), settle.Step{Caps: everything(ahp.TurnFinishBefore, 0), Effects: []ahp.Effect{more("y")}})
	}},
	{"D-FLOW-5", func(t *testing.T) {
		b := accept(t, accept(t, opened(ahp.ToolAfter), more("one")), more("two"), stop("enough"))
		s := state(t, b, settle.Stopped, ahp.PermissionNone)
		if s.Flow != ahp.FlowStop || !slices.Equal(s.Instructions, []string{"one", "two"}) {
			t.Errorf("%+v", s)
		}
	}},
	{"D-FLOW-6", func(t *testing.T) {
		for at := range interceptable() {
			_, v := say(opened(at), more("x"))
			if taken := v.Answer != settle.AnswerFailure; taken != (at == ahp.TurnFinishBefore || at == ahp.ToolAfter) {
				t.Errorf("%s: %v", at, taken)
			}
		}
	}},
	{"D-FLOW-8", func(t *testing.T) {
		for _, in := range [][]ahp.Effect{{no("deny"), stop("stop")}, {stop("stop"), no("deny")}} {
			s := state(t, accept(t, opened(ahp.ToolBefore), in...), settle.Denied, ahp.PermissionDeny)
			if s.Flow != ahp.FlowStop || s.Reason != "deny" {
				t.Errorf("%+v", s)
			}
		}
	}},
	{"D-MSG-1", func(t *testing.T) {
		b := accept(t, accept(t, opened(ahp.ToolBefore), tell("one"), tell("")), tell("two"))
		s := b.Settlement()
		if !slices.Equal(s.Messages, []string{"one", "", "two"}) || s.Injections != nil || s.Event.Messages != nil {
			t.Errorf("%+v", s)
		}
	}},
	{"D-MSG-2", func(t *testing.T) {
		s := accept(t, opened(ahp.ToolBefore), &ahp.Allow{}, supply(`1`), tell("why"), merge(`{"n":2}`), &ahp.Ask{}, no("x")).Settlement()
		if s.State != settle.Denied || !slices.Equal(s.Messages, []string{"why"}) || string(s.Event.Tool.Input) != `{"a":{"x":1,"y":2},"n":2}` || s.Candidate != nil {
			t.Errorf("%+v", s)
		}
	}},
	{"D-INJ-1", func(t *testing.T) {
		now, later := inject(ahp.DeliverNow, message("m-8", ahp.RoleUser, "x")), inject(ahp.DeliverNextTurn, message("m-9", ahp.RoleDeveloper, "y"))
		s := accept(t, accept(t, opened(ahp.ToolBefore), later, tell("x")), now, inject(ahp.DeliverNow, []ahp.Message{}...)).Settlement()
		if len(s.Injections) != 3 || s.Injections[0] != later || s.Injections[1] != now {
			t.Errorf("%+v", s.Injections)
		}
		c := everything(ahp.ToolBefore, 0)
		c.Inject = []ahp.Delivery{ahp.DeliverNow}
		b := settle.Open(boundary(ahp.ToolBefore), c, settle.BoundaryOptions{})
		accept(t, b, now)
		reject(t, b, tell("x"), later)
	}},
	{"D-INJ-2", func(t *testing.T) {
		ev := boundary(ahp.TurnStart)
		b := settle.Open(ev, everything(ahp.TurnStart, 0), settle.BoundaryOptions{})
		if f := reject(t, b, inject(ahp.DeliverNow, message("m-9", ahp.RoleUser, "x"), message("m-1", ahp.RoleUser, "x"))); f.Pointer != "/result/effects/0/value/1/id" {
			t.Error(f.Pointer)
		}
		if f := reject(t, b, inject(ahp.DeliverNow, ahp.Message{ID: "m-9", Role: ahp.RoleUser, Parts: []ahp.Part{text("m-2/0", "x")}})); f.Pointer != "/result/effects/0/value/0/parts/0/id" {
			t.Error(f.Pointer)
		}
		reject(t, b, inject(ahp.DeliverNow, message("m-9", ahp.RoleUser, "x"), message("m-9", ahp.RoleUser, "x")))
		reject(t, b, inject(ahp.DeliverNow, message("m-9", ahp.RoleUser, "x")), inject(ahp.DeliverNow, message("m-9", ahp.RoleUser, "x")))
		// Nor is an id new that the same response puts into the list, before or behind.
		put, again := list(ahp.TargetPrompt, ahp.OpMerge, message("m-9", ahp.RoleUser, "x")), inject(ahp.DeliverNow, message("m-9", ahp.RoleUser, "x"))
		reject(t, b, put, again)
		if f := reject(t, b, again, put); f.Pointer != "/result/effects/0/value/0/id" {
			t.Error(f.Pointer)
		}
		b = accept(t, b, inject(ahp.DeliverNow, message("m-9", ahp.RoleUser, "x")))
		reject(t, b, inject(ahp.DeliverNextTurn, message("m-9", ahp.RoleUser, "x")))
		// An id that an accepted change took away was in use.
		b = accept(t, b, list(ahp.TargetPrompt, ahp.OpReplace, message("m-7", ahp.RoleUser, "x")))
		reject(t, b, inject(ahp.DeliverNow, message("m-1", ahp.RoleUser, "x")))
		reject(t, b, inject(ahp.DeliverNow, message("m-7", ahp.RoleUser, "x")))
		accept(t, b, inject(ahp.DeliverNow, message("m-6", ahp.RoleUser, "x")))
	}},
	{"D-INJ-4", func(t *testing.T) {
		e := inject(ahp.DeliverNow, message("m-9", ahp.RoleSystem, "x"))
		if f := reject(t, opened(ahp.ToolBefore), e); f.Pointer != "/result/effects/0/value/0/role" {
			t.Error(f.Pointer)
		}
		accept(t, settle.Open(boundary(ahp.ToolBefore), everything(ahp.ToolBefore, 0), settle.BoundaryOptions{SystemInject: true}), e)
		reject(t, opened(ahp.ToolBefore), inject(ahp.DeliverNow, ahp.Message{ID: "m-9", Role: ahp.RoleUser, Parts: []ahp.Part{picture("p", "blob-1")}}))
		reject(t, opened(ahp.ToolBefore), inject(ahp.DeliverNow, message("m-9", "human", "x")))
	}},
}

var failureRules = []rule{
	{"D-FAIL-1", func(t *testing.T) {
		for _, class := range ahp.FailureClasses() {
			for _, policy := range []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed, ""} {
				b, v := accept(t, opened(ahp.ToolBefore), &ahp.Allow{}).Apply(settle.Step{Backend: second, Policy: policy, Failure: failure(class)})
				open := policy == ahp.FailOpen && class != ahp.FailEvent
				s := b.Settlement()
				if s.Proceeds() != open || b.Done() == open || s.FailedOpen != open || v.Failure.Class != class {
					t.Errorf("%s %s: %+v", class, policy, s)
				}
				if open && s.Permission != ahp.PermissionAllow || !open && (s.Class != class || s.By != second || !s.Synthetic || s.Permission != ahp.PermissionDeny) {
					t.Errorf("%s %s: %+v", class, policy, s)
				}
			}
		}
		b, _ := opened(ahp.ToolBefore).Apply(settle.Step{Policy: ahp.FailOpen, EventByPolicy: true, Failure: failure(ahp.FailEvent)})
		state(t, b, settle.Proceed, ahp.PermissionNone)
	}},
	{"D-FAIL-3", func(t *testing.T) {
		for _, class := range []ahp.FailureClass{ahp.FailAuth, ahp.FailCredential} {
			b, _ := opened(ahp.ToolBefore).Apply(settle.Step{Policy: ahp.FailOpen, Failure: failure(class)})
			state(t, b, settle.Proceed, ahp.PermissionNone)
		}
	}},
	{"D-FAIL-4", func(t *testing.T) {
		b, _ := opened(ahp.ToolBefore).Apply(settle.Step{Policy: ahp.FailClosed, Failure: failure(ahp.FailMalformed)})
		s := b.Settlement()
		r := record(&s)
		if s.Reason != ahp.GenericDenial || strings.Contains(string(r.MarshalAppend(nil)), "MARKER") {
			t.Errorf("%+v", s)
		}
	}},
	{"D-FAIL-5", func(t *testing.T) {
		explicit := accept(t, opened(ahp.ToolBefore), no(ahp.GenericDenial)).Settlement()
		synthetic := opened(ahp.ToolBefore).Refuse(guard, ahp.FailDeadline).Settlement()
		if a, b := record(&explicit), record(&synthetic); a.Decision != settle.DecisionExplicit || b.Decision != settle.DecisionSynthetic {
			t.Errorf("%s and %s", a.Decision, b.Decision)
		}
	}},
	{"D-CMP-5", func(t *testing.T) { // a failed answer behind generation withholds its use
		for at, want := range map[ahp.EventType]settle.Withheld{
			ahp.ToolBefore: settle.WithholdOperation, ahp.ModelRequestBefore: settle.WithholdOperation, ahp.ToolAfter: settle.WithholdResult,
			ahp.ModelResponseAfter: settle.WithholdResult, ahp.TurnFinishBefore: settle.WithholdTurnOutput, ahp.CompactAfter: settle.WithholdSummary,
			ahp.ToolBatchAfter: settle.WithholdModelWork, ahp.ElicitationResult: settle.WithholdAnswer, ahp.SessionStart: settle.WithholdSession,
			ahp.TurnEnd: settle.WithholdOperation, "x": settle.WithholdOperation,
		} {
			if got := settle.Withholds(at); got != want {
				t.Errorf("%s withholds %s", at, got)
			}
		}
		for at := range interceptable() {
			b, _ := opened(at).Apply(settle.Step{Backend: guard, Policy: ahp.FailClosed, Failure: failure(ahp.FailDeadline)})
			if s := b.Settlement(); s.State != settle.Denied || !s.Synthetic || s.Event == nil {
				t.Errorf("%s: %+v", at, s)
			}
			if operation := slices.Contains(ahp.Bounds(at).Effects, ahp.EffectDeny); operation != (settle.Withholds(at) == settle.WithholdOperation) {
				t.Errorf("%s can be denied: %v", at, operation)
			}
		}
	}},
	{"D-INT-1", func(t *testing.T) {
		b, _ := accept(t, opened(ahp.ToolBefore), &ahp.Allow{}, supply(`1`)).Apply(settle.Step{Policy: ahp.FailOpen, Failure: failure(ahp.FailDeadline)})
		s := state(t, b.Interrupt(ahp.FailShutdown), settle.Interrupted, ahp.PermissionNone)
		if s.Proceeds() || !s.Synthetic || s.Class != ahp.FailShutdown || s.Candidate != nil || s.Reason != ahp.GenericDenial {
			t.Errorf("%+v", s)
		}
	}},
	{"D-INT-2", func(t *testing.T) {
		b, v := opened(ahp.ToolBefore).Interrupt(ahp.FailShutdown).Apply(settle.Step{Policy: ahp.FailOpen, Effects: []ahp.Effect{&ahp.Allow{}, tell("late")}})
		if s := state(t, b, settle.Interrupted, ahp.PermissionNone); s.Messages != nil || v.Answer != settle.AnswerFailure {
			t.Errorf("%+v", s)
		}
	}},
	{"D-INT-4", func(t *testing.T) {
		s := accept(t, opened(ahp.ToolBefore), merge(`{"n":2}`), tell("x"), &ahp.Ask{}).Interrupt(ahp.FailDeadline).Settlement()
		if string(s.Event.Tool.Input) != `{"a":{"x":1,"y":2},"n":2}` || len(s.Messages) != 1 || s.Permission != ahp.PermissionAsk {
			t.Errorf("%+v", s)
		}
	}},
	{"D-INT-5", func(t *testing.T) {
		for _, class := range append(ahp.FailureClasses(), "") {
			s := opened(ahp.ToolBefore).Interrupt(class).Settlement()
			if s.Proceeds() || s.Class == "" {
				t.Errorf("%+v", s)
			}
			if r := record(&s); r.Outcome != settle.Interrupted || r.Decision != settle.DecisionSynthetic {
				t.Errorf("%+v", r)
			}
		}
	}},
	{"D-BUD-6", func(t *testing.T) { // settled before the budget ended: stays
		s := accept(t, opened(ahp.ToolBefore), no("x")).Interrupt(ahp.FailDeadline).Settlement()
		if s.State != settle.Denied || s.Synthetic {
			t.Errorf("%+v", s)
		}
	}},
	{"D-VER-1", func(t *testing.T) { // an event of another revision is refused
		for _, at := range []ahp.EventType{ahp.ToolError, "prompt.submitted", ""} {
			if s := settle.Open(&ahp.Event{Type: at}, nil, settle.BoundaryOptions{}).Settlement(); s.Proceeds() || s.Class != ahp.FailEvent {
				t.Errorf("%q: %+v", at, s)
			}
		}
		// What can only be observed asks nobody and is settled.
		b := settle.Open(&ahp.Event{Type: ahp.TurnEnd}, nil, settle.BoundaryOptions{})
		state(t, b, settle.Proceed, ahp.PermissionNone)
		reject(t, b, no("x"))
	}},
}
