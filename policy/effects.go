package policy

import (
	"errors"

	"github.com/holdpoint/holdpoint/ahp"
)

// A Change is what one rule did to the input of a tool call.
type Change struct {
	Rule      string
	Operation ahp.Operation
	Value     ahp.Raw // an object; of a merge only the members that differ

	value map[string]any // Value, decoded
}

// A Notice is a text that a rule sends along with an operation.
type Notice struct {
	Rule      string
	Effect    Effect       // message or inject
	DeliverAt ahp.Delivery // of inject
	Text      string       // escaped, except for the line breaks of inject
}

// ErrNotOffered reports that the harness offers no way to refuse, at a boundary
// that can be refused (AHP-CAP-002).
var ErrNotOffered = errors.New("policy: the harness does not offer deny")

// EffectsFor returns the decision as AHP effects within what the harness offers at
// events of type at. Revision 0.1 offers deny alone ([ahp.DenyOnly]).
//
// A denial is one deny effect with the short message; policy internals stay in
// the record (V-DEC-3, D-EFF-5). An approval or a change of the input that is not
// offered becomes a denial that says so: to run without it is not what the policy
// says. A message or an injection that is not offered is left out, and left names
// its rule. At a boundary that nothing can refuse (AHP draft section 7.1) a denial
// is left out, too: what it is about has happened. [ErrNotOffered] means that a
// denial cannot be said where it must be.
//
// eventID makes the ids of injected messages; they are the same for a repeated
// event (D-INJ-2, AHP-CORE-004).
func (d Decision) EffectsFor(at ahp.EventType, eventID string, caps ahp.Capabilities) (effects []ahp.Effect, left []string, err error) {
	if d.Denied() {
		reason, code := d.Message, d.Code
		if reason == "" {
			reason = "Refused by policy."
		}
		if code == "" {
			code = CodeDenied
		}
		return deny(at, caps, reason, code, d.Rule)
	}
	if d.Effect == EffectAsk && !caps.Allows(ahp.EffectAsk) {
		return deny(at, caps, Escape("This needs an approval, which this agent cannot ask for here: "+d.Message, MaxMessageBytes), CodeCannotAsk, d.Rule)
	}
	if effects = d.changes(caps); effects == nil && len(d.Changes) > 0 {
		return deny(at, caps, "The policy changes the input of this call, which this agent cannot do here.", CodeCannotChange, d.Changes[0].Rule)
	}
	if d.Effect == EffectAsk {
		effects = append(effects, &ahp.Ask{})
	}
	for _, n := range d.Notices {
		switch {
		case n.Effect == EffectMessage && caps.Allows(ahp.EffectMessage):
			effects = append(effects, &ahp.Notify{Text: n.Text})
		case n.Effect == EffectInject && caps.AllowsInject(n.DeliverAt):
			effects = append(effects, &ahp.Inject{DeliverAt: n.DeliverAt, Messages: []ahp.Message{
				ahp.TextMessage("policy/"+n.Rule+"/"+eventID, ahp.RoleDeveloper, n.Text),
			}})
		default:
			left = append(left, n.Rule)
		}
	}
	return effects, left, nil
}

func deny(at ahp.EventType, caps ahp.Capabilities, reason, code, rule string) ([]ahp.Effect, []string, error) {
	if caps.Allows(ahp.EffectDeny) {
		one := &struct { // in one allocation
			deny ahp.Deny
			list [1]ahp.Effect
		}{deny: ahp.Deny{Reason: reason, Code: code}}
		one.list[0] = &one.deny
		return one.list[:], nil, nil
	}
	if ahp.Bounds(at).Allows(ahp.EffectDeny) {
		return nil, nil, ErrNotOffered
	}
	return nil, []string{rule}, nil
}

// changes returns the changes as effects, or nil when the harness does not offer
// what they need. The whole effective input is as good as the merges that made it;
// a merge is no replacement, for it takes no member away.
func (d Decision) changes(caps ahp.Capabilities) []ahp.Effect {
	each := true
	for _, c := range d.Changes {
		each = each && caps.AllowsModify(ahp.TargetInput, c.Operation)
	}
	var out []ahp.Effect
	switch {
	case len(d.Changes) == 0:
	case each:
		for _, c := range d.Changes {
			out = append(out, &ahp.Modify{Target: ahp.TargetInput, Operation: c.Operation, Value: ahp.Value{JSON: c.Value}})
		}
	case caps.AllowsModify(ahp.TargetInput, ahp.OpReplace):
		out = append(out, &ahp.Modify{Target: ahp.TargetInput, Operation: ahp.OpReplace, Value: ahp.Value{JSON: d.Input}})
	}
	return out
}

// Effects returns the decision as effects of AHP 0.1: one deny, or none. Approvals
// and changes are denials there; see [Decision.EffectsFor].
func (d Decision) Effects() []ahp.Effect {
	// Deny is offered, so nothing can go wrong.
	effects, _, _ := d.EffectsFor(ahp.ToolBefore, "", ahp.DenyOnly())
	return effects
}
