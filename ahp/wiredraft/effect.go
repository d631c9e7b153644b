package wiredraft

import (
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// effects reads an ordered list of effects (AHP-DEC-001).
func (d *decoder) effects(m *Message, o offer) {
	if _, ok := d.array("an array of effects"); !ok {
		return
	}
	m.Effects = []ahp.Effect{}
	for d.More() {
		if e := d.effect(o); e != nil {
			m.Effects = append(m.Effects, e)
		}
	}
}

// The members of effects, as bits.
const (
	eType = 1 << iota
	eReason
	eCode
	eExtensions
	eTarget
	eOperation
	eDeliverAt
	eText
	eInstruction
	eValue
)

var effectMembers = [...]struct{ name, expected string }{
	{"type", "the name of an effect"},
	{"reason", nonEmpty},
	{"code", "a reverse-DNS name such as com.example.policy.rule"},
	{"extensions", "an object"},
	{"target", "a target"},
	{"operation", "an operation"},
	{"deliverAt", "now or next_turn"},
	{"text", "a string"},
	{"instruction", nonEmpty},
	{"value", "a value"},
}

// effectShape says which members an effect has.
func effectShape(t ahp.EffectType, continues bool) (required, optional int) {
	switch t {
	case ahp.EffectDeny:
		return eType | eReason, eCode | eExtensions
	case ahp.EffectAllow, ahp.EffectAsk:
		return eType, 0
	case ahp.EffectModify:
		return eType | eTarget | eOperation | eValue, 0
	case ahp.EffectReturn:
		return eType | eValue, 0
	case ahp.EffectMessage:
		return eType | eText, 0
	case ahp.EffectInject:
		return eType | eTarget | eOperation | eDeliverAt | eValue, 0
	case ahp.EffectFlow:
		if continues {
			return eType | eOperation, eInstruction
		}
		return eType | eOperation | eReason, 0
	}
	return eType, ^0
}

// effect reads one effect: its closed shape, whether it was offered, and its value
// (AHP draft section 10, steps 3 to 5).
func (d *decoder) effect(o offer) ahp.Effect {
	start, ok := d.object("an object: an effect")
	if !ok {
		return nil
	}
	var (
		seen                         int
		at                           [len(effectMembers)]int // offsets of names
		typ, reason, code, text      walk.Val
		tgt, operation, deliver, ins walk.Val
		ext                          ahp.Members
		hasExt                       bool
		value                        walk.Val
		revisit                      walk.Later
		read                         ahp.Value
		kind                         ahp.ValueKind // of a value that was read at once
	)
	for d.More() {
		name := d.Name()
		bit := 0
		for i := range effectMembers {
			if string(name) == effectMembers[i].name {
				bit = i + 1
			}
		}
		if bit == 0 {
			d.closed()
			continue
		}
		seen |= 1 << (bit - 1)
		at[bit-1] = d.NameVal().Start
		switch 1 << (bit - 1) {
		case eType:
			typ = d.Skip()
		case eReason:
			reason = d.Skip()
		case eCode:
			code = d.Skip()
		case eExtensions:
			d.extensions(&ext, &hasExt)
		case eTarget:
			tgt = d.Skip()
		case eOperation:
			operation = d.Skip()
		case eDeliverAt:
			deliver = d.Skip()
		case eText:
			text = d.Skip()
		case eInstruction:
			ins = d.Skip()
		case eValue:
			if kind = d.valueKind(o.at, typ, tgt); kind == ahp.ValueMessages || kind == ahp.ValueParts {
				read = d.value(kind, o.at) // a list that need not be passed twice
				continue
			}
			kind = ""
			revisit = d.Later()
			value = d.Skip()
		}
	}
	if d.Dead() {
		return nil
	}
	if seen&eType == 0 {
		d.lacks(start, "type", "the name of an effect")
		return nil
	}
	if typ.Kind != '"' {
		d.extra(typ.Start, "type", walk.Describe(typ), "the name of an effect")
		return nil
	}
	t := coreEffect(d.Content(typ))
	if t == "" {
		d.extra(typ.Start, "type", "another effect", "an effect of revision draft")
		return nil
	}
	continues := t == ahp.EffectFlow && d.Is(operation, "continue")
	required, optional := effectShape(t, continues)
	if wrong := seen &^ (required | optional); wrong != 0 {
		for i := range effectMembers {
			if wrong&(1<<i) != 0 {
				d.extra(at[i], effectMembers[i].name, "a member", "nothing: "+string(t)+" does not have it")
			}
		}
		return nil
	}
	if lacking := required &^ seen; lacking != 0 {
		for i := range effectMembers {
			if lacking&(1<<i) != 0 {
				d.lacks(start, effectMembers[i].name, effectMembers[i].expected)
			}
		}
		return nil
	}
	if o.caps != nil && !o.caps.Allows(t) || o.caps == nil && o.at != "" && !boundsAllow(o.at, t) {
		d.extra(typ.Start, "type", "an effect that was not offered", "an effect of the request's capabilities")
	}
	named := func(v walk.Val, name string) string {
		if v.Kind != '"' || v.Empty() {
			d.extra(v.Start, name, walk.Describe(v), nonEmpty)
			return ""
		}
		return d.Str(v)
	}
	var e ahp.Effect
	switch t {
	case ahp.EffectDeny:
		x := &ahp.Deny{Reason: named(reason, "reason"), Extensions: ext, HasExtensions: hasExt}
		if code.Kind != 0 {
			if code.Kind != '"' || !reverseDNS(d.Content(code)) {
				d.extra(code.Start, "code", walk.Describe(code), effectMembers[2].expected)
			} else {
				x.Code = d.Str(code)
			}
		}
		e = x
	case ahp.EffectAllow:
		e = new(ahp.Allow)
	case ahp.EffectAsk:
		e = new(ahp.Ask)
	case ahp.EffectMessage:
		if text.Kind != '"' {
			d.extra(text.Start, "text", walk.Describe(text), "a string")
		} else {
			e = &ahp.Notify{Text: d.Str(text)}
		}
	case ahp.EffectFlow:
		e = d.flow(o, operation, reason, ins, named)
	case ahp.EffectInject:
		e = d.inject(o, tgt, operation, deliver)
	case ahp.EffectModify:
		e = d.modify(o, tgt, operation)
	case ahp.EffectReturn:
		if o.at != "" && ahp.ReturnAt(o.at) == "" {
			d.extra(typ.Start, "type", "a supplied result", "none: nothing can be supplied at "+string(o.at))
			return nil
		}
		e = new(ahp.Return)
	}
	if e == nil || seen&eValue == 0 {
		return e
	}
	want := d.valueKind(o.at, typ, tgt)
	if want == "" {
		return nil // reported by now
	}
	if kind == "" {
		d.Revisit(revisit, func() {
			if want == ahp.ValueAny && t == ahp.EffectModify {
				read = d.contentSomewhere()
				return
			}
			read = d.value(want, o.at)
		})
	}
	switch x := e.(type) {
	case *ahp.Modify:
		x.Value = read
		if value.Kind == '{' {
			d.objectTarget(o.at, x, revisit)
		}
	case *ahp.Return:
		x.Value = read
		if o.at == ahp.ElicitationRequest && value.Kind == '{' {
			d.Revisit(revisit, func() { d.mcpResult() })
		}
	case *ahp.Inject:
		x.Messages = read.Messages
	default: // no value
	}
	return e
}

func boundsAllow(at ahp.EventType, t ahp.EffectType) bool {
	return ahp.Bounds(at).Allows(t)
}

// valueKind says of which sort the value of an effect is, as far as its type, target
// and boundary are known; "" where there is none or it is not known yet. At an unknown
// boundary content may be a list or an object.
func (d *decoder) valueKind(at ahp.EventType, typ, tgt walk.Val) ahp.ValueKind {
	if typ.Kind != '"' {
		return ""
	}
	switch coreEffect(d.Content(typ)) {
	case ahp.EffectInject:
		return ahp.ValueMessages
	case ahp.EffectDeny, ahp.EffectAllow, ahp.EffectAsk, ahp.EffectMessage, ahp.EffectFlow:
	case ahp.EffectReturn:
		if at == "" {
			return ahp.ValueAny
		}
		return ahp.ReturnAt(at)
	case ahp.EffectModify:
		if tgt.Kind != '"' {
			return ""
		}
		t := target(d.Content(tgt))
		if at != "" {
			return t.At(at)
		}
		return kindSomewhere(t)
	}
	return ""
}

// kindSomewhere is the value kind of a target at an unknown boundary; ValueAny where
// it depends on that.
func kindSomewhere(t ahp.Target) ahp.ValueKind {
	switch t {
	case ahp.TargetInput, ahp.TargetWorkspace:
		return ahp.ValueObject
	case ahp.TargetOutput, ahp.TargetPrompt, ahp.TargetRequest, ahp.TargetResponse:
		return ahp.ValueMessages
	case ahp.TargetInstructions, ahp.TargetSummary:
		return ahp.ValueParts
	case ahp.TargetContent:
		return ahp.ValueAny
	}
	return ""
}

// value reads a value of a sort.
func (d *decoder) value(kind ahp.ValueKind, at ahp.EventType) (v ahp.Value) {
	switch kind {
	case ahp.ValueMessages:
		v.Messages = d.messages(ahp.RoleAt(at))
	case ahp.ValueParts:
		v.Parts = d.parts(true)
	case ahp.ValueObject:
		v.JSON = d.rawObject("an object")
	default:
		v.JSON = d.Raw(d.Skip())
	}
	return v
}

func (d *decoder) flow(o offer, operation, reason, ins walk.Val, named func(walk.Val, string) string) ahp.Effect {
	switch {
	case d.Is(operation, "stop"):
		if o.caps != nil && !o.caps.AllowsStop() {
			d.extra(operation.Start, "operation", "stop, which was not offered", "an operation of the request's capabilities")
		}
		return &ahp.Stop{Reason: named(reason, "reason")}
	case d.Is(operation, "continue"):
		if o.caps != nil && !o.caps.AllowsContinue() {
			d.extra(operation.Start, "operation", "continue, which was not offered or is used up", "an operation of the request's capabilities")
		} else if f := ahp.Bounds(o.at).Flow; o.at != "" && (f == nil || !f.Continue) {
			d.extra(operation.Start, "operation", "continue", "nothing: it does not exist at "+string(o.at))
		}
		c := new(ahp.Continue)
		if ins.Kind != 0 {
			c.Instruction = named(ins, "instruction")
		}
		return c
	}
	d.extra(operation.Start, "operation", walk.Describe(operation), "stop or continue")
	return nil
}

func (d *decoder) inject(o offer, tgt, operation, deliver walk.Val) ahp.Effect {
	if !d.Is(tgt, "context") {
		d.extra(tgt.Start, "target", walk.Describe(tgt), "context")
	}
	if !d.Is(operation, "append") {
		d.extra(operation.Start, "operation", walk.Describe(operation), "append")
	}
	x := new(ahp.Inject)
	switch {
	case d.Is(deliver, string(ahp.DeliverNow)):
		x.DeliverAt = ahp.DeliverNow
	case d.Is(deliver, string(ahp.DeliverNextTurn)):
		x.DeliverAt = ahp.DeliverNextTurn
	default:
		d.extra(deliver.Start, "deliverAt", walk.Describe(deliver), "now or next_turn")
		return x
	}
	if o.caps != nil && !o.caps.AllowsInject(x.DeliverAt) {
		d.extra(deliver.Start, "deliverAt", "a delivery that was not offered", "a delivery of the request's capabilities")
	}
	return x
}

func (d *decoder) modify(o offer, tgt, operation walk.Val) ahp.Effect {
	x := new(ahp.Modify)
	switch {
	case d.Is(operation, string(ahp.OpReplace)):
		x.Operation = ahp.OpReplace
	case d.Is(operation, string(ahp.OpMerge)):
		x.Operation = ahp.OpMerge
	default:
		d.extra(operation.Start, "operation", walk.Describe(operation), "replace or merge")
	}
	if tgt.Kind == '"' {
		x.Target = target(d.Content(tgt))
	}
	switch {
	case x.Target == "":
		d.extra(tgt.Start, "target", walk.Describe(tgt), "a target of revision draft")
		return nil
	case o.at != "" && x.Target.At(o.at) == "":
		d.extra(tgt.Start, "target", "a target that the boundary does not have", "the target of "+string(o.at))
		return nil
	case o.caps != nil && x.Operation != "" && !o.caps.AllowsModify(x.Target, x.Operation):
		d.extra(operation.Start, "operation", "an operation that was not offered for the target", "an operation of the request's capabilities")
	}
	return x
}

// objectTarget checks the value of an object target as far as the boundary alone
// tells.
func (d *decoder) objectTarget(at ahp.EventType, x *ahp.Modify, value walk.Later) {
	switch {
	case x.Target == ahp.TargetContent && at == ahp.ElicitationResult:
		d.Revisit(value, func() { d.mcpContent() })
	case x.Target == ahp.TargetWorkspace:
		d.Revisit(value, func() {
			least := 0 // an empty merge leaves what is there
			if x.Operation == ahp.OpReplace {
				least = 1
			}
			d.workspaceState(least)
		})
	}
}

// contentSomewhere reads the value of the target content at an unknown boundary: a
// list of messages for the outside, or an object of answers.
func (d *decoder) contentSomewhere() (v ahp.Value) {
	if d.Kind() == '[' {
		v.Messages = d.messages("")
		return v
	}
	v.JSON = d.rawObject("an array of canonical messages or an object")
	return v
}
