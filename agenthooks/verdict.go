package agenthooks

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Decision is what a verdict says. The zero value is none of the three, and
// the gate turns a verdict that holds it into a deny.
type Decision string

// The three decisions (AH 5.1).
const (
	DecisionAllow     Decision = "allow"     // proceed with the target as it is
	DecisionDeny      Decision = "deny"      // do not proceed; an approval member makes it liftable
	DecisionTransform Decision = "transform" // proceed with a rewritten target
)

// A Verdict is an interceptor's or a resolver's answer (AH 5). Make one with
// [Allow], [Deny], [Escalate], [Warn], [Rewrite] or [RawVerdict]. The zero
// Verdict is refused as host_error:verdict_invalid: an answer that was
// forgotten never opens anything.
//
// A host copies what it needs when the callee returns.
type Verdict struct {
	Decision     Decision
	Reason       string         // a machine id; must not start with "host_error:"
	Message      string         // text for people
	Warnings     []Warning      // block nothing, go on the record
	Approval     jsontext.Value // on a deny only: an object, {} too, makes it liftable
	Transform    *Transform     // if and only if Decision is transform
	Evidence     *Evidence      // opaque to the host; at most 10240 bytes of canonical JSON
	ResultLabels []string       // tags for what the action produces

	raw jsontext.Value // gated instead of the fields when not nil
}

// A Warning is a remark that blocks nothing (AH-5.1-1).
type Warning struct {
	Reason  string `json:"reason,omitzero"`
	Message string `json:"message,omitzero"`
}

// A Transform replaces one existing value in the target (AH 5.2).
type Transform struct {
	Path  string         `json:"path"`  // such as $target.to or $target.rows[0]["id"]
	Value jsontext.Value `json:"value"` // any JSON; nil is null

	path path // set by the gate
}

// Evidence points at why a verdict came out as it did. The host hands it to
// the record and never follows the pointers (AH-5.3-1).
type Evidence struct {
	Artefact             string            `json:"artefact,omitzero"`
	VerificationPointers map[string]string `json:"verification_pointers,omitempty"`
}

// Allow lets the action proceed.
func Allow() Verdict { return Verdict{Decision: DecisionAllow} }

// Deny stops the action. Reason is a machine id such as "policy:egress".
func Deny(reason, message string) Verdict {
	return Verdict{Decision: DecisionDeny, Reason: reason, Message: message}
}

// Escalate stops the action unless an approver lifts the deny (AH-1.3-4).
func Escalate(reason, message string) Verdict {
	return Verdict{Decision: DecisionDeny, Reason: reason, Message: message, Approval: jsontext.Value("{}")}
}

// Warn lets the action proceed and leaves one warning on the record.
func Warn(reason, message string) Verdict {
	return Verdict{Decision: DecisionAllow, Warnings: []Warning{{reason, message}}}
}

// Rewrite lets the action proceed with the value at path replaced. Value is
// anything that JSON can say; what it cannot say makes the verdict invalid,
// which denies.
func Rewrite(path string, value any) Verdict {
	raw, err := encode(nil, value)
	if err != nil {
		return Verdict{} // the gate refuses it
	}
	return Verdict{Decision: DecisionTransform, Transform: &Transform{Path: path, Value: raw}}
}

// RawVerdict is a verdict as JSON text, for interceptors that talk to another
// process. Nothing is checked here; the gate reads it by the contract's rules
// (AH 5.0), which a struct cannot express in full.
func RawVerdict(text []byte) Verdict {
	if text == nil {
		text = []byte{}
	}
	return Verdict{raw: text}
}

// Liftable reports whether v is a deny that an approver may lift.
func (v *Verdict) Liftable() bool {
	return v.Decision == DecisionDeny && v.Approval != nil
}

// permit reports whether v lets the action proceed. It is written so that only
// the two permits do.
func (v *Verdict) permit() bool {
	return v.Decision == DecisionAllow || v.Decision == DecisionTransform
}

// Severities, in the fixed order of AH-5.1-3.
const (
	severityAllow = iota
	severityTransform
	severityLiftable
	severityDeny
)

// severity of a gated verdict.
func (v *Verdict) severity() int {
	switch {
	case v.Decision == DecisionAllow:
		return severityAllow
	case v.Decision == DecisionTransform:
		return severityTransform
	case v.Liftable():
		return severityLiftable
	}
	return severityDeny
}

// MarshalJSON writes the wire form, without members that are empty. A verdict
// from [RawVerdict] comes back as the text it was made of.
func (v Verdict) MarshalJSON() ([]byte, error) {
	if v.raw != nil {
		return v.raw, nil
	}
	return json.Marshal(wireVerdict{
		Decision: v.Decision, Reason: v.Reason, Message: v.Message, Warnings: v.Warnings, Approval: v.Approval,
		Transform: v.Transform, Evidence: v.Evidence, ResultLabels: v.ResultLabels,
	})
}

type wireVerdict struct {
	Decision     Decision       `json:"decision"`
	Reason       string         `json:"reason,omitzero"`
	Message      string         `json:"message,omitzero"`
	Warnings     []Warning      `json:"warnings,omitempty"`
	Approval     jsontext.Value `json:"approval,omitzero"`
	Transform    *Transform     `json:"transform,omitzero"`
	Evidence     *Evidence      `json:"evidence,omitzero"`
	ResultLabels []string       `json:"result_labels,omitempty"`
}
