package ahp

// EffectType names an effect on the wire.
type EffectType string

// The effects. Revision 0.1 has deny alone (AHP 0.1 section 6); draft has all (AHP
// draft section 8).
const (
	EffectDeny    EffectType = "deny"
	EffectAllow   EffectType = "allow"
	EffectAsk     EffectType = "ask"
	EffectModify  EffectType = "modify"
	EffectMessage EffectType = "message"
	EffectReturn  EffectType = "return"
	EffectFlow    EffectType = "flow"
	EffectInject  EffectType = "inject"
)

// Core reports whether t is one of the eight effects of revision draft.
func (t EffectType) Core() bool { return t.bit() != 0 }

// bit is a bit of t's own, or 0 if t is not one of the eight.
func (t EffectType) bit() uint8 {
	switch t {
	case EffectDeny:
		return 1 << 0
	case EffectAllow:
		return 1 << 1
	case EffectAsk:
		return 1 << 2
	case EffectModify:
		return 1 << 3
	case EffectMessage:
		return 1 << 4
	case EffectReturn:
		return 1 << 5
	case EffectFlow:
		return 1 << 6
	case EffectInject:
		return 1 << 7
	}
	return 0
}

// An Effect is an instruction that an interceptor returns. The set is closed:
// what is not one of the types of this package is an invalid effect. Revision 0.1
// knows [*Deny] only (V-DEC-2). Each is one closed object on the draft's wire
// (D-ENV-8).
//
//sumtype:decl
type Effect interface {
	// Type is the name of the effect on the wire.
	Type() EffectType
	effect()
}

// IsEffect reports whether e is one of the types of this package, and not nil.
func IsEffect(e Effect) bool {
	switch e := e.(type) {
	case *Deny:
		return e != nil
	case *Allow:
		return e != nil
	case *Ask:
		return e != nil
	case *Notify:
		return e != nil
	case *Stop:
		return e != nil
	case *Continue:
		return e != nil
	case *Inject:
		return e != nil
	case *Modify:
		return e != nil
	case *Return:
		return e != nil
	}
	return false
}

// Deny refuses the operation (AHP-DEC-002). It holds under fail-open as under
// fail-closed (V-DEC-1).
type Deny struct {
	// Reason is text for the user or the agent. It must not be empty, and must
	// hold no secret, stack trace or policy internals (V-DEC-3).
	Reason string
	// Code is a reverse-DNS name for machines, or empty.
	Code string

	Extensions    Members // reverse-DNS names
	HasExtensions bool
	Unknown       Members // revision 0.1 only
}

// Type returns [EffectDeny].
func (*Deny) Type() EffectType { return EffectDeny }

func (*Deny) effect() {}

// Allow says that no ordinary prompt is needed. It overrides no denial, no ask, no
// managed policy, no access check and no sandbox (D-EFF-2).
type Allow struct{}

// Ask says that an approval is needed before the operation runs. It stays in force
// whatever allow comes before or after it (D-EFF-3).
type Ask struct{}

// Target names what a modify effect changes; where that is in an event depends on
// the event's type ([Target.At]).
type Target string

// The targets of modify (AHP draft section 8).
const (
	TargetInput        Target = "input"
	TargetOutput       Target = "output"
	TargetPrompt       Target = "prompt"
	TargetRequest      Target = "request"
	TargetResponse     Target = "response"
	TargetContent      Target = "content"
	TargetInstructions Target = "instructions"
	TargetSummary      Target = "summary"
	TargetWorkspace    Target = "workspace"
)

// Known reports whether t is one of the nine targets.
func (t Target) Known() bool {
	switch t {
	case TargetInput, TargetOutput, TargetPrompt, TargetRequest, TargetResponse, TargetContent,
		TargetInstructions, TargetSummary, TargetWorkspace:
		return true
	}
	return false
}

// ValueKind says of which sort a target's value is.
type ValueKind string

// The sorts of values of targets and supplied results.
const (
	ValueObject   ValueKind = "object"   // a JSON object; merge is shallow
	ValueMessages ValueKind = "messages" // a list of canonical messages; merge appends
	ValueParts    ValueKind = "parts"    // a list of text parts; merge appends
	ValueAny      ValueKind = "any"      // any JSON value; return at tool.before only
)

// At returns of which sort the target's value is at events of type e, or "" where
// the target does not exist (AHP draft section 9).
func (t Target) At(e EventType) ValueKind {
	b := bounds[e]
	if b == nil || b.target != t || t == "" {
		return ""
	}
	return b.value
}

// ReturnAt returns of which sort a supplied result is at events of type e, or ""
// where none can be supplied (AHP draft section 14).
func ReturnAt(e EventType) ValueKind { return returns[e] }

// RoleAt returns the one role that all messages of events of type e have, in the event
// and in values for it, or "" where they may have any (D-TGT-3).
func RoleAt(e EventType) Role {
	switch e {
	case MessageInbound:
		return RoleUser
	case MessageOutbound:
		return RoleAssistant
	default:
		return ""
	}
}

var returns = map[EventType]ValueKind{
	ToolBefore: ValueAny, ModelRequestBefore: ValueMessages, CompactBefore: ValueParts, ElicitationRequest: ValueObject,
}

// Operation says how a value changes its target.
type Operation string

// The operations of modify.
const (
	OpReplace Operation = "replace"
	OpMerge   Operation = "merge"
)

// A Value is the value of a modify or return effect. Which field holds it follows
// from the [ValueKind] at the boundary; exactly one is set.
type Value struct {
	JSON     Raw       // ValueObject and ValueAny
	Messages []Message // ValueMessages; not nil
	Parts    []Part    // ValueParts; not nil
}

// Modify changes the effective value of a target (AHP-EDIT-001).
type Modify struct {
	Target    Target
	Operation Operation
	Value     Value
}

// Return supplies the result; the original work is skipped, controls after it are
// not (D-RET-3). JSON null, false, 0 and "" are values like any other (D-EFF-4).
type Return struct{ Value Value }

// Notify is the message effect: text for the user, shown in order after acceptance.
// It is no context (D-MSG-1).
type Notify struct{ Text string }

// Delivery says when injected messages enter the context.
type Delivery string

// The deliveries of inject.
const (
	DeliverNow      Delivery = "now"
	DeliverNextTurn Delivery = "next_turn"
)

// Inject appends canonical messages to the context (D-INJ-1). Their ids are new.
type Inject struct {
	DeliverAt Delivery
	Messages  []Message // not nil
}

// Stop ends pending execution and further model work. It is no rollback, no end of
// the session and no cancel of background work (D-FLOW-2).
type Stop struct{ Reason string } // not empty

// Continue asks for one more step (D-FLOW-3).
type Continue struct{ Instruction string } // empty when absent

// Type returns [EffectAllow].
func (*Allow) Type() EffectType { return EffectAllow }

// Type returns [EffectAsk].
func (*Ask) Type() EffectType { return EffectAsk }

// Type returns [EffectModify].
func (*Modify) Type() EffectType { return EffectModify }

// Type returns [EffectReturn].
func (*Return) Type() EffectType { return EffectReturn }

// Type returns [EffectMessage].
func (*Notify) Type() EffectType { return EffectMessage }

// Type returns [EffectInject].
func (*Inject) Type() EffectType { return EffectInject }

// Type returns [EffectFlow].
func (*Stop) Type() EffectType { return EffectFlow }

// Type returns [EffectFlow].
func (*Continue) Type() EffectType { return EffectFlow }

func (*Allow) effect()    {}
func (*Ask) effect()      {}
func (*Modify) effect()   {}
func (*Return) effect()   {}
func (*Notify) effect()   {}
func (*Inject) effect()   {}
func (*Stop) effect()     {}
func (*Continue) effect() {}
