package ahp

import "slices"

// EffectType names an effect on the wire.
type EffectType string

// EffectDeny is the only effect of revision 0.1 (AHP 0.1 section 6).
const EffectDeny EffectType = "deny"

// An Effect is an instruction that an interceptor returns. The set is closed:
// what is not one of the types of this package is an invalid effect (V-DEC-2:
// there is no allow).
//
//sumtype:decl
type Effect interface {
	// Type is the name of the effect on the wire.
	Type() EffectType
	effect()
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
	Unknown       Members
}

// Type returns [EffectDeny].
func (*Deny) Type() EffectType { return EffectDeny }

func (*Deny) effect() {}

// Capabilities is what a harness can enforce for one interception (AHP-CAP-001).
type Capabilities struct {
	// Effects lists the effects that the backend may return. In revision 0.1 it
	// holds "deny", and beside it only reverse-DNS names (V-CAP-4).
	Effects []EffectType
	Unknown Members
}

// Allows reports whether the harness advertised effects of type t.
func (c Capabilities) Allows(t EffectType) bool {
	return slices.Contains(c.Effects, t)
}

// DenyOnly returns the capabilities of every revision 0.1 interception.
func DenyOnly() Capabilities { return Capabilities{Effects: []EffectType{EffectDeny}} }
