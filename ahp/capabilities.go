package ahp

import (
	"errors"
	"fmt"
	"slices"
)

// Capabilities is what a harness can enforce for one interception (AHP-CAP-001).
type Capabilities struct {
	// Effects lists the effects that the backend may return. In revision 0.1 it
	// holds "deny", and beside it only reverse-DNS names (V-CAP-4).
	Effects []EffectType

	// The members up to Elicitation belong to revision draft (AHP draft section 7).

	Modify      []ModifyCapability // not empty exactly when Effects has modify
	Flow        *FlowCapability    // exactly when Effects has flow
	Inject      []Delivery         // not empty exactly when Effects has inject
	Elicitation *ElicitationCapability

	Unknown Members
}

// A ModifyCapability offers changes of one target; at least one of the operations.
type ModifyCapability struct {
	Target         Target
	Replace, Merge bool
}

// A FlowCapability offers stop, continue or both. With Continue, Remaining and Count
// are required: the harness really runs that many more steps (D-CAP-7).
type FlowCapability struct {
	Stop, Continue        bool
	Remaining, Count, Max *int64 // from 0; nil when absent
	Unknown               Members
}

// An ElicitationCapability opts in to modes of MCP elicitation. Nil grants none; the
// values are objects.
type ElicitationCapability struct {
	Form, URL Raw
	Unknown   Members
}

// Allows reports whether the harness advertised effects of type t.
func (c Capabilities) Allows(t EffectType) bool {
	return slices.Contains(c.Effects, t)
}

// AllowsModify reports whether the harness advertised this operation on this target
// (D-CAP-5).
func (c Capabilities) AllowsModify(t Target, op Operation) bool {
	if !c.Allows(EffectModify) {
		return false
	}
	for _, m := range c.Modify {
		if m.Target == t {
			return op == OpReplace && m.Replace || op == OpMerge && m.Merge
		}
	}
	return false
}

// AllowsInject reports whether the harness advertised injection at that time.
func (c Capabilities) AllowsInject(d Delivery) bool {
	return c.Allows(EffectInject) && slices.Contains(c.Inject, d)
}

// AllowsStop reports whether the harness advertised flow stop.
func (c Capabilities) AllowsStop() bool {
	return c.Allows(EffectFlow) && c.Flow != nil && c.Flow.Stop
}

// AllowsContinue reports whether the harness advertised flow continue with at least
// one step left (D-FLOW-4).
func (c Capabilities) AllowsContinue() bool {
	return c.Allows(EffectFlow) && c.Flow != nil && c.Flow.Continue && c.Flow.Remaining != nil && *c.Flow.Remaining > 0
}

// Offers reports whether the harness advertised this effect, with its target, operation
// and time, and for a continue a step that is left (AHP-CAP-001). e is not nil.
func (c *Capabilities) Offers(e Effect) bool {
	switch e := e.(type) {
	case *Modify:
		return c.AllowsModify(e.Target, e.Operation)
	case *Inject:
		return c.AllowsInject(e.DeliverAt)
	case *Stop:
		return c.AllowsStop()
	case *Continue:
		return c.AllowsContinue()
	default:
		return c.Allows(e.Type())
	}
}

// DenyOnly returns the capabilities of every revision 0.1 interception.
func DenyOnly() Capabilities { return Capabilities{Effects: []EffectType{EffectDeny}} }

// bound is one row of the table of AHP draft section 7.1, and the value kind of its
// target (section 9).
type bound struct {
	effects []EffectType
	target  Target
	value   ValueKind
	cont    bool // flow may continue too
}

var bounds = map[EventType]*bound{
	SessionStart: {effects: []EffectType{EffectInject, EffectMessage}},
	TurnStart: {
		effects: []EffectType{EffectDeny, EffectModify, EffectFlow, EffectInject, EffectMessage},
		target:  TargetPrompt, value: ValueMessages,
	},
	TurnFinishBefore: {
		effects: []EffectType{EffectModify, EffectFlow, EffectMessage},
		target:  TargetResponse, value: ValueMessages, cont: true,
	},
	ModelRequestBefore: {
		effects: []EffectType{EffectDeny, EffectModify, EffectReturn, EffectFlow, EffectInject, EffectMessage},
		target:  TargetRequest, value: ValueMessages,
	},
	ModelResponseAfter: {
		effects: []EffectType{EffectModify, EffectFlow, EffectMessage},
		target:  TargetResponse, value: ValueMessages,
	},
	ModelSwitchBefore: {effects: []EffectType{EffectDeny, EffectFlow, EffectMessage}},
	ToolBefore: {
		effects: []EffectType{
			EffectDeny, EffectAllow, EffectAsk, EffectModify, EffectReturn, EffectFlow, EffectInject, EffectMessage,
		},
		target: TargetInput, value: ValueObject,
	},
	ToolPermissionRequest: {
		effects: []EffectType{EffectDeny, EffectAllow, EffectModify, EffectFlow, EffectMessage},
		target:  TargetInput, value: ValueObject,
	},
	ToolAfter: {
		effects: []EffectType{EffectModify, EffectFlow, EffectInject, EffectMessage},
		target:  TargetOutput, value: ValueMessages, cont: true,
	},
	ToolBatchAfter: {effects: []EffectType{EffectFlow, EffectInject, EffectMessage}},
	CompactBefore: {
		effects: []EffectType{EffectDeny, EffectModify, EffectReturn, EffectInject, EffectMessage},
		target:  TargetInstructions, value: ValueParts,
	},
	CompactAfter: {
		effects: []EffectType{EffectModify, EffectInject, EffectMessage},
		target:  TargetSummary, value: ValueParts,
	},
	ConfigChangeBefore: {effects: []EffectType{EffectDeny, EffectMessage}},
	TaskChangeBefore:   {effects: []EffectType{EffectDeny, EffectMessage}},
	WorkspaceChangeBefore: {
		effects: []EffectType{EffectDeny, EffectModify, EffectMessage},
		target:  TargetWorkspace, value: ValueObject,
	},
	ElicitationRequest: {effects: []EffectType{EffectDeny, EffectReturn, EffectMessage}},
	ElicitationResult: {
		effects: []EffectType{EffectModify, EffectMessage},
		target:  TargetContent, value: ValueObject,
	},
	MessageInbound: {
		effects: []EffectType{EffectDeny, EffectModify, EffectMessage},
		target:  TargetPrompt, value: ValueMessages,
	},
	MessageOutbound: {
		effects: []EffectType{EffectDeny, EffectModify, EffectMessage},
		target:  TargetContent, value: ValueMessages,
	},
}

// Bounds returns the most that revision draft lets a harness advertise at events of
// type t (AHP draft section 7.1), with no counts; without Effects where the type
// cannot be intercepted. The result is the caller's.
func Bounds(t EventType) Capabilities {
	b := bounds[t]
	if b == nil {
		return Capabilities{}
	}
	c := Capabilities{Effects: slices.Clone(b.effects)}
	if b.target != "" {
		c.Modify = []ModifyCapability{{Target: b.target, Replace: true, Merge: true}}
	}
	if c.Allows(EffectFlow) {
		c.Flow = &FlowCapability{Stop: true, Continue: b.cont}
	}
	if c.Allows(EffectInject) {
		c.Inject = []Delivery{DeliverNow, DeliverNextTurn}
	}
	if t == ElicitationRequest || t == ElicitationResult {
		c.Elicitation = &ElicitationCapability{Form: Raw("{}"), URL: Raw("{}")}
	}
	return c
}

// Within says what in c revision draft does not let a harness advertise at events of
// type t (D-CAP-8), or what in c does not fit together, as one error with a line for
// each; nil when all is well. The texts hold names of the protocol only.
func (c *Capabilities) Within(t EventType) error {
	b := bounds[t]
	if b == nil {
		return errors.New("the event type cannot be intercepted")
	}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	var row, seen uint8
	for _, e := range b.effects {
		row |= e.bit()
	}
	for i, e := range c.Effects {
		switch bit := e.bit(); {
		case bit == 0:
			bad("effects/%d is no effect of this revision", i)
		case row&bit == 0:
			bad("effects/%d: %s does not exist at %s", i, e, t)
		case seen&bit != 0:
			bad("effects/%d: %s stands twice", i, e)
		}
		seen |= e.bit()
	}
	if (seen&EffectModify.bit() != 0) != (len(c.Modify) > 0) {
		bad("modify goes with the modify effect")
	}
	for _, m := range c.Modify {
		switch {
		case !m.Target.Known():
			bad("modify holds an unknown target")
		case m.Target != b.target:
			bad("modify/%s does not exist at %s", m.Target, t)
		case !m.Replace && !m.Merge:
			bad("modify/%s offers no operation", m.Target)
		}
	}
	if (seen&EffectFlow.bit() != 0) != (c.Flow != nil) {
		bad("flow goes with the flow effect")
	}
	if f := c.Flow; f != nil {
		switch {
		case !f.Stop && !f.Continue:
			bad("flow/operations is empty")
		case f.Continue && !b.cont:
			bad("flow/operations: continue does not exist at %s", t)
		case f.Continue && (f.Remaining == nil || f.Count == nil):
			bad("flow: continue needs remainingContinuations and continuationCount")
		}
	}
	if (seen&EffectInject.bit() != 0) != (len(c.Inject) > 0) {
		bad("inject goes with the inject effect")
	}
	return errors.Join(errs...)
}
