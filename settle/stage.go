package settle

import (
	"errors"
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
)

var (
	errNoStopReason = errors.New("stop without a reason")
	errBadTarget    = errors.New("modify with an unknown target or operation")
	errBadDelivery  = errors.New("inject without messages or with an unknown delivery")
	errHostCheck    = errors.New("the host's own check refuses the value")
)

// stage checks one response whole, and makes next the state that it leads to from a, or
// nothing of use (AHP draft section 10, steps 3 to 8). a is not changed. Without apply it
// is only asked whether it may be.
func (next *accepted) stage(a *accepted, s *Step, apply bool) *ahp.Failure {
	for i, e := range s.Effects { // step 3
		if at, err := shape(e); err != nil {
			return fault(i, at, err)
		}
	}
	for i, e := range s.Effects { // step 4
		if !a.caps.Offers(e) || s.Caps != nil && !s.Caps.Offers(e) {
			return fault(i, "", errNotOffered)
		}
	}
	view := s.View
	if view == nil {
		view = a.ev
	}
	*next = *a
	// Cut once, so that what is appended leaves a alone, and grows like any list.
	next.denies, next.injections = slices.Clip(a.denies), slices.Clip(a.injections)
	next.messages, next.instructions = slices.Clip(a.messages), slices.Clip(a.instructions)
	ended, f := next.values(a, view, s, apply) // steps 5 to 7
	if f != nil {
		return f
	}
	next.combine(a, s) // step 8
	switch {
	case len(next.denies) > 0:
		next.phase, next.by, next.candidate = denied, s.Backend, nil
	case ended:
		next.phase, next.by, next.candidate = stopped, s.Backend, nil
	}
	return nil
}

// shape checks the closed shape of an effect (step 3). The text is the JSON pointer below
// it to what is wrong.
func shape(e ahp.Effect) (string, error) {
	if !ahp.IsEffect(e) {
		return "", errNotKnown
	}
	switch e := e.(type) {
	case *ahp.Deny:
		if e.Reason == "" {
			return "/reason", errNoReason
		}
		if e.Code != "" && !ahp.ReverseDNS(e.Code) {
			return "/code", errBadCode
		}
	case *ahp.Stop:
		if e.Reason == "" {
			return "/reason", errNoStopReason
		}
	case *ahp.Modify:
		if !e.Target.Known() || e.Operation != ahp.OpReplace && e.Operation != ahp.OpMerge {
			return "", errBadTarget
		}
	case *ahp.Inject:
		if e.Messages == nil || e.DeliverAt != ahp.DeliverNow && e.DeliverAt != ahp.DeliverNextTurn {
			return "", errBadDelivery
		}
	case *ahp.Allow, *ahp.Ask, *ahp.Return, *ahp.Notify, *ahp.Continue:
	}
	return "", nil
}

// values checks what the effects carry and applies the changes to a private copy. It
// sets the event, the candidate and what only adds up, and reports whether the chain
// stops.
func (a *accepted) values(before *accepted, view *ahp.Event, s *Step, apply bool) (ended bool, f *ahp.Failure) {
	c := checker{a: before, view: view}
	t := target{apply: apply}
	var result *ahp.Value
	resultAt := 0
	for i, e := range s.Effects {
		var at string
		var err error
		switch e := e.(type) {
		case *ahp.Deny:
			a.denies = append(a.denies, e)
		case *ahp.Modify:
			if at, err = c.modify(e); err == nil && t.kind == "" {
				err = t.open(before, e.Target.At(before.ev.Type))
			}
			if err == nil {
				err = t.change(e, before.ev, view)
			}
		case *ahp.Return:
			if at, err = c.result(e); err == nil {
				result, resultAt = &e.Value, i // D-RET-2: the last one counts
			}
		case *ahp.Inject:
			if at, err = c.inject(e); err == nil {
				a.injections = append(a.injections, e)
			}
		case *ahp.Notify:
			a.messages = append(a.messages, e.Text)
		case *ahp.Stop:
			if !ended && a.stop == "" {
				a.stop = e.Reason
			}
			ended = true
		case *ahp.Continue:
			if e.Instruction != "" {
				a.instructions = append(a.instructions, e.Instruction)
			}
		case *ahp.Allow, *ahp.Ask: // combined later
		}
		if err != nil {
			return false, fault(i, "/value"+at, err)
		}
	}
	if t.kind != "" {
		next, err := t.finish(before.ev)
		if err != nil {
			return false, invalid("/result/effects", err)
		}
		if next != before.ev && a.opts.CheckInput != nil && a.opts.CheckInput(next) != nil {
			return false, invalid("/result/effects", errHostCheck) // D-STAGE-10
		}
		if a.ev = next; next != before.ev {
			a.candidate, a.supplier = nil, "" // D-RET-2: it was bound to another operation
			a.input = t.cut
		}
	}
	if result != nil {
		a.candidate = nil // its ids are free again
	}
	for i, e := range s.Effects {
		if r, ok := e.(*ahp.Return); ok && &r.Value != result {
			continue // a later one stands in its place
		}
		if at, err := c.fresh(e, a); err != nil {
			return false, fault(i, "/value"+at, err)
		}
	}
	if result != nil {
		if a.opts.CheckResult != nil && a.opts.CheckResult(a.ev, *result) != nil {
			return false, fault(resultAt, "/value", errHostCheck)
		}
		v := *result
		v.JSON = v.JSON.Clone()
		a.candidate, a.supplier = &v, s.Backend
	}
	return ended, nil
}

// modify checks the value of a change against the target (step 5).
func (c *checker) modify(e *ahp.Modify) (string, error) {
	at := c.a.ev.Type
	kind := e.Target.At(at)
	if kind == "" {
		return "", errBadTarget
	}
	if err := only(&e.Value, kind); err != nil {
		return "", err
	}
	switch kind {
	case ahp.ValueMessages:
		return c.messages(e.Value.Messages, ahp.RoleAt(at))
	case ahp.ValueParts:
		return c.parts(e.Value.Parts)
	case ahp.ValueObject, ahp.ValueAny:
	}
	return "", wiredraft.CheckEffect(c.view, e)
}

// combine takes permission and flow of the response (step 8): deny over ask over
// allow over none (D-PREC-1), stop over continue (D-PREC-3). An allow from before does
// not cover what this response changed (D-APP-2); one in it does, wherever it stands
// (D-APP-8).
func (a *accepted) combine(before *accepted, s *Step) {
	if a.ev != before.ev && a.permission == ahp.PermissionAllow {
		a.permission = ahp.PermissionNone
	}
	for _, e := range s.Effects {
		switch e.(type) {
		case *ahp.Deny:
			a.permission = ahp.PermissionDeny
		case *ahp.Ask:
			if a.permission != ahp.PermissionDeny && a.permission != ahp.PermissionAsk {
				a.permission, a.asker = ahp.PermissionAsk, s.Backend
			}
		case *ahp.Allow:
			if a.permission == ahp.PermissionNone {
				a.permission = ahp.PermissionAllow
			}
		case *ahp.Stop:
			a.flow = ahp.FlowStop
		case *ahp.Continue:
			if a.flow != ahp.FlowStop {
				a.flow = ahp.FlowContinue // once, however many ask (D-FLOW-3)
			}
		case *ahp.Modify, *ahp.Return, *ahp.Notify, *ahp.Inject:
		}
	}
}

func fault(i int, below string, err error) *ahp.Failure {
	return invalid("/result/effects/"+strconv.Itoa(i)+below, err)
}
