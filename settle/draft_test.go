package settle_test

import (
	"fmt"
	"reflect"
	"runtime"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

// Builders that the tests of revision draft share.

const guard, second = "net.acme.guard", "net.acme.second"

func text(id, s string) ahp.Part { return ahp.TextPart(id, s) }

func message(id string, role ahp.Role, s string) ahp.Message { return ahp.TextMessage(id, role, s) }

func picture(id, ref string) ahp.Part {
	return ahp.Part{ID: id, Kind: ahp.PartAttachment, MediaType: "image/png", Selection: ahp.SelectBody, Ref: ref}
}

// hiddenText is a part of which a backend sees only that it exists.
func hiddenText(id string) ahp.Part {
	return ahp.Part{ID: id, Kind: ahp.PartText, MediaType: ahp.TextPlain, Selection: ahp.SelectMetadata}
}

// boundary returns an event of an interceptable type, with something in its target.
func boundary(at ahp.EventType) *ahp.Event {
	ev := &ahp.Event{
		ID: "ev-1", Source: "urn:example:test", Type: at, Time: "2027-02-03T04:05:06Z",
		Session: ahp.Session{ID: "s-1", CWD: "/srv/app", WorkspaceRoots: []string{"/srv/app"}},
	}
	if at.HasTool() {
		ev.Tool = &ahp.Tool{
			CallID: "c-1", Name: "write_note", Kind: ahp.KindFileWrite, Input: ahp.Raw(`{"a":{"x":1,"y":2},"n":1}`),
			Origin: ahp.OriginNative, Path: "native",
		}
	}
	list := func(role ahp.Role) []ahp.Message {
		return []ahp.Message{message("m-1", role, "one"), message("m-2", role, "two")}
	}
	switch at {
	case ahp.TurnStart, ahp.SessionStart, ahp.CompactBefore:
		ev.Messages = list(ahp.RoleUser)
	case ahp.TurnFinishBefore, ahp.ModelResponseAfter, ahp.MessageOutbound:
		ev.Messages = list(ahp.RoleAssistant)
	case ahp.ModelRequestBefore, ahp.MessageInbound:
		ev.Messages = list(ahp.RoleUser)
	case ahp.ToolAfter:
		ev.Messages = list(ahp.RoleTool)
	}
	switch at {
	case ahp.CompactBefore:
		ev.Body = &ahp.CompactBeforeBody{Trigger: "auto", Instructions: []ahp.Part{text("i-1", "keep names")}}
	case ahp.CompactAfter:
		ev.Body = &ahp.CompactAfterBody{Summary: []ahp.Part{text("s-1", "a summary")}}
	case ahp.WorkspaceChangeBefore:
		ev.Body = &ahp.WorkspaceChangeBody{Kind: "cwd", Change: ahp.WorkspaceState{CWD: "/srv/lib", WorkspaceRoots: []string{"/srv"}}}
	case ahp.ElicitationRequest:
		p := text("q-1", `{"message":"Which day?","requestedSchema":{"type":"object","properties":{"day":{"type":"string"}}}}`)
		ev.Body = &ahp.ElicitationBody{Server: "calendar", Mode: "form", Content: &p}
	case ahp.ElicitationResult:
		p := text("r-1", `{ "action":"accept", "_meta":{"k":1.50}, "content":{"day":"2027-05-09","n":1} }`)
		ev.Body = &ahp.ElicitationBody{Server: "calendar", Mode: "form", Action: "accept", Content: &p}
	case ahp.ToolPermissionRequest:
		ev.Body = &ahp.PermissionRequestBody{}
	case ahp.ToolAfter:
		ev.Body = &ahp.ToolAfterBody{Outcome: ahp.ToolOK}
	case ahp.ToolBatchAfter:
		ev.Body = &ahp.BatchBody{Batch: ahp.Batch{ID: "b-1"}}
	}
	return ev
}

// everything is all that may be offered there, with this many continuations left.
func everything(at ahp.EventType, left int64) *ahp.Capabilities {
	c := ahp.Bounds(at)
	if c.Flow != nil && c.Flow.Continue {
		zero := int64(0)
		c.Flow.Remaining, c.Flow.Count = &left, &zero
	}
	return &c
}

func opened(at ahp.EventType) settle.Boundary {
	return settle.Open(boundary(at), everything(at, 1), settle.BoundaryOptions{})
}

// say applies one response under fail-closed.
func say(b settle.Boundary, effects ...ahp.Effect) (settle.Boundary, settle.Verdict) {
	return b.Apply(settle.Step{Backend: guard, Policy: ahp.FailClosed, Effects: effects})
}

// accept applies one response, which must be taken.
func accept(t testing.TB, b settle.Boundary, effects ...ahp.Effect) settle.Boundary {
	t.Helper()
	next, v := say(b, effects...)
	if v.Answer == settle.AnswerFailure {
		t.Fatalf("%s was rejected: %v", names(effects), v.Failure)
	}
	return next
}

// reject applies one response under fail-open, which must leave everything as it was
// but for the mark of the failure.
func reject(t testing.TB, b settle.Boundary, effects ...ahp.Effect) *ahp.Failure {
	t.Helper()
	return rejectStep(t, b, settle.Step{Effects: effects})
}

func rejectStep(t testing.TB, b settle.Boundary, s settle.Step) *ahp.Failure {
	t.Helper()
	s.Backend, s.Policy = guard, ahp.FailOpen
	before, ev, state := b.Settlement(), b.Event(), b.State()
	next, v := b.Apply(s)
	if v.Answer != settle.AnswerFailure || v.Failure == nil || v.Failure.Class != ahp.FailInvalidEffect || v.Effects != nil || v.Changed {
		t.Fatalf("%s: %+v; want invalid_effect", names(s.Effects), v)
	}
	if v.Policy != ahp.FailOpen || v.Failure.Backend != guard || v.Failure.Pointer == "" {
		t.Errorf("%s: %+v, %+v", names(s.Effects), v, v.Failure)
	}
	after := next.Settlement()
	after.FailedOpen = before.FailedOpen
	if next.Event() != ev || !reflect.DeepEqual(before, after) || !reflect.DeepEqual(state, next.State()) {
		t.Errorf("%s was rejected and left something:\n%+v\n%+v", names(s.Effects), before, after)
	}
	s.Policy = ahp.FailClosed
	closed, _ := b.Apply(s)
	if got := closed.Settlement(); got.State != settle.Denied || !got.Synthetic || got.Class != ahp.FailInvalidEffect || got.Reason != ahp.GenericDenial {
		t.Errorf("%s under fail-closed: %+v", names(s.Effects), got)
	}
	return v.Failure
}

func names(effects []ahp.Effect) string {
	s := ""
	for _, e := range effects {
		s += fmt.Sprintf("%T%+v ", e, e)
	}
	return s
}

func no(reason string) *ahp.Deny { return &ahp.Deny{Reason: reason} }

func object(target ahp.Target, op ahp.Operation, value string) *ahp.Modify {
	return &ahp.Modify{Target: target, Operation: op, Value: ahp.Value{JSON: ahp.Raw(value)}}
}

func list(target ahp.Target, op ahp.Operation, ms ...ahp.Message) *ahp.Modify {
	if ms == nil {
		ms = []ahp.Message{}
	}
	return &ahp.Modify{Target: target, Operation: op, Value: ahp.Value{Messages: ms}}
}

func parts(target ahp.Target, op ahp.Operation, ps ...ahp.Part) *ahp.Modify {
	if ps == nil {
		ps = []ahp.Part{}
	}
	return &ahp.Modify{Target: target, Operation: op, Value: ahp.Value{Parts: ps}}
}

func merge(value string) *ahp.Modify   { return object(ahp.TargetInput, ahp.OpMerge, value) }
func replace(value string) *ahp.Modify { return object(ahp.TargetInput, ahp.OpReplace, value) }

func supply(value string) *ahp.Return { return &ahp.Return{Value: ahp.Value{JSON: ahp.Raw(value)}} }

func inject(at ahp.Delivery, ms ...ahp.Message) *ahp.Inject {
	return &ahp.Inject{DeliverAt: at, Messages: ms}
}

func tell(s string) *ahp.Notify { return &ahp.Notify{Text: s} }

func stop(reason string) *ahp.Stop { return &ahp.Stop{Reason: reason} }

func more(instruction string) *ahp.Continue { return &ahp.Continue{Instruction: instruction} }

func input(b settle.Boundary) string { return string(b.Event().Tool.Input) }

// state checks the outcome as far as the contract's table goes.
func state(t testing.TB, b settle.Boundary, want settle.State, perm ahp.Permission) settle.Settlement {
	t.Helper()
	s := b.Settlement()
	if s.State != want || s.Permission != perm {
		t.Errorf("%s with permission %s, want %s with %s", s.State, s.Permission, want, perm)
	}
	return s
}

// What one response says many times over costs memory as its length does.
func TestManyEffectsGrowLikeAList(t *testing.T) {
	const n = 20_000
	many := func(e ahp.Effect) []ahp.Effect {
		list := make([]ahp.Effect, n)
		for i := range list {
			list[i] = e
		}
		return list
	}
	for _, effects := range [][]ahp.Effect{
		many(&ahp.Notify{Text: "x"}), many(&ahp.Deny{Reason: "x"}), many(&ahp.Inject{DeliverAt: ahp.DeliverNow, Messages: []ahp.Message{}}),
	} {
		b := settle.Open(boundary(ahp.ToolBefore), everything(ahp.ToolBefore, 0), settle.BoundaryOptions{})
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		next, v := b.Apply(settle.Step{Backend: "a", Effects: effects})
		runtime.ReadMemStats(&after)
		if v.Failure != nil || len(v.Effects) == 0 {
			t.Fatal(v.Failure)
		}
		if got := after.TotalAlloc - before.TotalAlloc; got > n*200 {
			t.Errorf("%s: %d bytes for %d effects", v.Effects[0], got, n)
		}
		// And the state before is left alone.
		if s := b.Settlement(); s.State != settle.Proceed || len(s.Messages)+len(s.Injections) > 0 || next.Settlement().State == "" {
			t.Errorf("%s: before %+v", v.Effects[0], s.State)
		}
	}
}
