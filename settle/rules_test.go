package settle_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

// A rule is a test that carries the id of a rule of the AHP draft contract.
type rule struct {
	id   string
	test func(t *testing.T)
}

// TestRules runs one subtest for each rule of the contract that shows on settlement
// alone. Their names feed docs/conformance.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range slices.Concat(effectRules, targetRules, stageRules, orderRules, approvalRules, resultRules, flowRules, failureRules) {
		if seen[r.id] {
			t.Errorf("%s stands there twice", r.id)
		}
		seen[r.id] = true
		t.Run(r.id, r.test)
	}
	if len(seen) < 75 {
		t.Errorf("%d rules", len(seen))
	}
}

var effectRules = []rule{
	{"D-CAP-2", func(t *testing.T) {
		c := everything(ahp.ToolBefore, 0)
		c.Modify[0].Replace = false
		b := settle.Open(boundary(ahp.ToolBefore), c, settle.BoundaryOptions{})
		reject(t, b, replace(`{}`))
		accept(t, b, merge(`{}`))
	}},
	{"D-CAP-5", func(t *testing.T) {
		reject(t, settle.Open(boundary(ahp.ToolBefore), nil, settle.BoundaryOptions{}), no("x"))
		// What this hop was offered is less than what the host can do.
		for _, e := range []ahp.Effect{
			&ahp.Allow{}, &ahp.Ask{}, merge(`{}`), supply(`1`), tell("x"), stop("x"),
			inject(ahp.DeliverNow, message("m", ahp.RoleUser, "x")),
		} {
			only := ahp.DenyOnly()
			rejectStep(t, opened(ahp.ToolBefore), settle.Step{Caps: &only, Effects: []ahp.Effect{e}})
			accept(t, opened(ahp.ToolBefore), e)
		}
	}},
	{"D-CAP-6", func(t *testing.T) {
		for name, edit := range map[string]func(ev *ahp.Event){
			"metadata":     func(ev *ahp.Event) { ev.Messages[1].Parts[0] = hiddenText("m-2/0") },
			"dropped part": func(ev *ahp.Event) { ev.Messages[0].Parts = []ahp.Part{} },
			"dropped item": func(ev *ahp.Event) { ev.Messages = ev.Messages[:1] },
			"dropped all":  func(ev *ahp.Event) { ev.Messages = nil },
			"another id":   func(ev *ahp.Event) { ev.Messages[1].Parts[0].ID = "m-9/0" },
			"another text": func(ev *ahp.Event) { ev.Messages[1].Parts[0] = text("m-2/0", "twi") },
			"gap":          func(ev *ahp.Event) { p := &ev.Messages[1].Parts[0]; p.Text, p.Gap = nil, &ahp.Gap{Reason: "x"} },
		} {
			view := boundary(ahp.TurnStart)
			edit(view)
			e := list(ahp.TargetPrompt, ahp.OpReplace, message("m-1", ahp.RoleUser, "new"))
			if f := rejectStep(t, opened(ahp.TurnStart), settle.Step{View: view, Effects: []ahp.Effect{e}}); f.Pointer != "/result/effects/0/value" {
				t.Errorf("%s: %s", name, f.Pointer)
			}
			add := list(ahp.TargetPrompt, ahp.OpMerge, message("m-3", ahp.RoleUser, "new"))
			b, v := opened(ahp.TurnStart).Apply(settle.Step{View: view, Effects: []ahp.Effect{add}})
			if v.Failure != nil || len(b.Event().Messages) != 3 || *b.Event().Messages[1].Parts[0].Text != "two" {
				t.Errorf("%s: a merge lost or refused something: %v", name, v.Failure)
			}
		}
		// A gap in the event itself is hidden from everybody.
		ev := boundary(ahp.CompactAfter)
		ev.Body = &ahp.CompactAfterBody{Summary: []ahp.Part{text("s-1", "x"), {ID: "s-2", Kind: ahp.PartText, MediaType: ahp.TextPlain, Selection: ahp.SelectBody, Gap: &ahp.Gap{Reason: "gone"}}}}
		reject(t, settle.Open(ev, everything(ahp.CompactAfter, 0), settle.BoundaryOptions{}), parts(ahp.TargetSummary, ahp.OpReplace, text("s-1", "y")))
		// The same message twice, of which the view shows one.
		twice := boundary(ahp.TurnStart)
		twice.Messages[1] = twice.Messages[0]
		view := boundary(ahp.TurnStart)
		view.Messages = view.Messages[:1]
		rejectStep(t, settle.Open(twice, everything(ahp.TurnStart, 0), settle.BoundaryOptions{}), settle.Step{View: view, Effects: []ahp.Effect{list(ahp.TargetPrompt, ahp.OpReplace)}})
		// An input that was shown in part is merged into, never replaced.
		part := boundary(ahp.ToolBefore)
		part.Tool.Input = ahp.Raw(`{"n":1}`)
		rejectStep(t, opened(ahp.ToolBefore), settle.Step{View: part, Effects: []ahp.Effect{replace(`{"n":2}`)}})
		b, _ := opened(ahp.ToolBefore).Apply(settle.Step{View: part, Effects: []ahp.Effect{merge(`{"n":2}`)}})
		if got := input(b); got != `{"a":{"x":1,"y":2},"n":2}` {
			t.Error(got)
		}
	}},
	{"D-CAP-8", func(t *testing.T) {
		c := ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectReturn}}
		b := settle.Open(boundary(ahp.TaskChangeBefore), &c, settle.BoundaryOptions{})
		if s := b.Settlement(); s.State != settle.Denied || s.Class != ahp.FailInternal || !b.Done() {
			t.Errorf("%+v", s)
		}
	}},
	{"AHP-CAP-001", func(t *testing.T) { // what was not offered is not taken, whatever stands beside it
		for at := range interceptable() {
			for _, e := range []ahp.Effect{
				no("x"), &ahp.Allow{}, &ahp.Ask{}, tell("x"), stop("x"), more(""), supply(`{"action":"cancel"}`),
				inject(ahp.DeliverNextTurn, message("m-9", ahp.RoleUser, "x")), merge(`{"z":1}`),
			} {
				b := opened(at)
				_, v := say(b, e)
				in := slices.Contains(ahp.Bounds(at).Effects, e.Type())
				_, isModify := e.(*ahp.Modify)
				_, isReturn := e.(*ahp.Return)
				_, isMore := e.(*ahp.Continue)
				switch {
				case isModify:
					in = ahp.TargetInput.At(at) != ""
				case isReturn:
					in = at == ahp.ToolBefore || at == ahp.ElicitationRequest
				case isMore:
					in = at == ahp.TurnFinishBefore || at == ahp.ToolAfter
				}
				if taken := v.Answer != settle.AnswerFailure; taken != in {
					t.Errorf("%s at %s: taken %v, want %v (%v)", e.Type(), at, taken, in, v.Failure)
				}
			}
		}
	}},
	{"AHP-DEC-001", func(t *testing.T) { // every member is valid and advertised
		for _, bad := range []ahp.Effect{
			nil, (*ahp.Deny)(nil), (*ahp.Allow)(nil), (*ahp.Ask)(nil), (*ahp.Modify)(nil), (*ahp.Return)(nil),
			(*ahp.Notify)(nil), (*ahp.Inject)(nil), (*ahp.Stop)(nil), (*ahp.Continue)(nil), &ahp.Deny{}, &ahp.Stop{},
			&ahp.Deny{Reason: "x", Code: "bad"}, &ahp.Modify{}, &ahp.Return{}, &ahp.Inject{},
			&ahp.Inject{DeliverAt: "later", Messages: []ahp.Message{}}, &ahp.Inject{DeliverAt: ahp.DeliverNow},
			&ahp.Modify{Target: ahp.TargetInput, Operation: "patch", Value: ahp.Value{JSON: ahp.Raw(`{}`)}},
			&ahp.Modify{Target: "all", Operation: ahp.OpMerge, Value: ahp.Value{JSON: ahp.Raw(`{}`)}},
		} {
			reject(t, opened(ahp.ToolBefore), bad)
			if f := reject(t, opened(ahp.ToolBefore), &ahp.Allow{}, bad); !strings.HasPrefix(f.Pointer, "/result/effects/1") {
				t.Errorf("%T: %s", bad, f.Pointer)
			}
		}
	}},
	{"AHP-DEC-002", func(t *testing.T) {
		s := state(t, accept(t, opened(ahp.ToolBefore), &ahp.Deny{Reason: "no\nway", Code: "net.acme.x"}), settle.Denied, ahp.PermissionDeny)
		if s.Reason != `no\nway` || s.Code != "net.acme.x" || s.By != guard || s.Synthetic || s.Proceeds() {
			t.Errorf("%+v", s)
		}
	}},
	{"AHP-DEC-003", func(t *testing.T) { // an empty list grants nothing
		b := accept(t, opened(ahp.ToolBefore), &ahp.Ask{})
		for _, empty := range [][]ahp.Effect{nil, {}} {
			next, v := say(b, empty...)
			if v.Answer != settle.AnswerNone || next != b {
				t.Errorf("%+v", v)
			}
			state(t, next, settle.Ask, ahp.PermissionAsk)
			next, _ = say(opened(ahp.ToolBefore), empty...)
			state(t, next, settle.Proceed, ahp.PermissionNone)
		}
	}},
	{"D-EFF-1", func(t *testing.T) {
		for _, p := range []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed} {
			b, v := opened(ahp.ToolBefore).Apply(settle.Step{Backend: guard, Policy: p, Effects: []ahp.Effect{no("x")}})
			if s := b.Settlement(); s.State != settle.Denied || s.Synthetic || v.Answer != settle.AnswerDeny || v.Policy != "" {
				t.Errorf("%s: %+v %+v", p, s, v)
			}
		}
	}},
	{"D-EFF-2", func(t *testing.T) {
		state(t, accept(t, opened(ahp.ToolBefore), no("x"), &ahp.Allow{}), settle.Denied, ahp.PermissionDeny)
		state(t, accept(t, accept(t, opened(ahp.ToolBefore), &ahp.Ask{}), &ahp.Allow{}), settle.Ask, ahp.PermissionAsk)
	}},
	{"D-EFF-3", func(t *testing.T) {
		state(t, accept(t, opened(ahp.ToolBefore), &ahp.Allow{}, &ahp.Ask{}), settle.Ask, ahp.PermissionAsk)
		state(t, accept(t, opened(ahp.ToolBefore), &ahp.Ask{}, &ahp.Allow{}), settle.Ask, ahp.PermissionAsk)
		state(t, accept(t, accept(t, opened(ahp.ToolBefore), &ahp.Allow{}), &ahp.Ask{}), settle.Ask, ahp.PermissionAsk)
	}},
	{"D-EFF-4", func(t *testing.T) {
		for _, v := range []string{`null`, `false`, `0`, `""`, `{"written":2}`} {
			s := state(t, accept(t, opened(ahp.ToolBefore), supply(v)), settle.Supplied, ahp.PermissionNone)
			if s.Candidate == nil || string(s.Candidate.JSON) != v {
				t.Errorf("%s came back as %+v", v, s.Candidate)
			}
		}
		reject(t, opened(ahp.ToolBefore), &ahp.Return{})
	}},
	{"D-EFF-7", func(t *testing.T) {
		c := ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectDeny, "net.acme.x"}}
		if b := settle.Open(boundary(ahp.ToolBefore), &c, settle.BoundaryOptions{}); !b.Done() {
			t.Error("an experimental effect was let in")
		}
	}},
	{"D-EFF-8", func(t *testing.T) {
		b, v := say(opened(ahp.ToolBefore), &ahp.Deny{Reason: "first", Code: "net.acme.one"}, &ahp.Deny{Reason: "other", Code: "net.acme.two"})
		s := state(t, b, settle.Denied, ahp.PermissionDeny)
		if v.Answer != settle.AnswerDeny || v.Failure != nil || s.Reason != "first" || s.Code != "net.acme.one" {
			t.Errorf("%+v %+v", v, s)
		}
		r := record(&s)
		if len(r.Denials) != 2 || r.Denials[0] != (settle.Denial{Code: "net.acme.one", Reason: "first"}) || r.Denials[1].Code != "net.acme.two" {
			t.Errorf("%+v", r.Denials)
		}
	}},
}

func interceptable() map[ahp.EventType]bool {
	out := map[ahp.EventType]bool{}
	for _, e := range ahp.DraftEvents() {
		if e.Interceptable(ahp.VersionDraft) {
			out[e] = true
		}
	}
	return out
}

func record(s *settle.Settlement) settle.Record {
	return s.Record(boundary(ahp.ToolBefore), recordID, began, 1, settle.Identity(boundary(ahp.ToolBefore)), settle.Details{})
}
