package policy

import (
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
)

// Effect says what a rule, or a whole decision, does to the operation. The zero
// value is treated as [EffectDeny], so a decision that nobody made refuses.
type Effect string

// The effects. There is none that permits: a policy that has nothing against an
// operation says so with [EffectNone], and others still decide.
const (
	EffectDeny Effect = "deny" // the operation is refused
	EffectFlag Effect = "flag" // recorded and shown; decides nothing
	EffectNone Effect = "none" // nothing against it; only a decision has it
)

// Severity grades a rule for people. It changes no decision.
type Severity string

// The severities.
const (
	SeverityLow      Severity = "low"
	SeverityMedium   Severity = "medium"
	SeverityHigh     Severity = "high"
	SeverityCritical Severity = "critical"
)

// Mode says whether the rules of a file take effect.
type Mode string

// The modes.
const (
	ModeEnforce Mode = "enforce"
	ModeShadow  Mode = "shadow" // a deny is recorded and has no effect
)

// The limits on texts that leave a decision.
const (
	MaxReasonBytes  = 2048 // Decision.Reason, for the log
	MaxMessageBytes = 300  // Decision.Message, for the model
)

// A Fired is one rule whose condition held.
type Fired struct {
	Rule     string   `json:"rule"`
	Effect   Effect   `json:"effect"`
	Reason   string   `json:"reason"`
	Code     string   `json:"code,omitempty"`
	Severity Severity `json:"severity"`
}

// A Decision is what a [Set] says of one event. All texts in it are escaped:
// no control or bidirectional character, no line break.
type Decision struct {
	Effect Effect // deny or none

	// The rule that denied; empty for none. With a breach, Rule is
	// [RuleAnalysisBound].
	Rule     string
	Reason   string // at most [MaxReasonBytes]
	Message  string // one short line for the model, at most [MaxMessageBytes]
	Code     string // reverse-DNS name for machines, or empty
	Severity Severity

	Flags  []Fired // rules with effect flag that held, in rule order
	Shadow []Fired // denials that shadow mode took the effect from, in rule order

	Hazards     []string // codes, sorted, once each
	FactsRead   []string // names of the facts that the evaluated rules read, sorted
	Undecidable bool     // part of what would run is not in the input
	Breach      string   // the analysis bound that was reached, or empty
	Digest      string   // of the policy that decided
}

// The names and codes of decisions that no rule in a file makes.
const (
	RuleAnalysisBound = "holdpoint.analysis-bound"
	CodeAnalysisBound = "dev.holdpoint.analysis_bound"
	CodeDenied        = "dev.holdpoint.denied" // for rules without a code
)

// Denied reports whether the operation is refused. The zero Decision is.
func (d Decision) Denied() bool { return d.Effect != EffectNone }

// Effects returns the decision as AHP effects: one deny, or none. The deny
// carries the short message; policy internals stay in the record (V-DEC-3).
func (d Decision) Effects() []ahp.Effect {
	if !d.Denied() {
		return nil
	}
	reason := d.Message
	if reason == "" {
		reason = "Refused by policy."
	}
	code := d.Code
	if code == "" {
		code = CodeDenied
	}
	return []ahp.Effect{&ahp.Deny{Reason: reason, Code: code}}
}

// RuleNames returns the names of the rules that denied or flagged, in order.
func (d Decision) RuleNames() []string {
	var out []string
	if d.Denied() && d.Rule != "" {
		out = append(out, d.Rule)
	}
	for _, f := range d.Flags {
		out = append(out, f.Rule)
	}
	return out
}

// Escape returns s as one line that is safe to show: control characters, line
// breaks and characters that change the direction or the look of what follows
// are written as \u escapes, and a text longer than maxBytes is cut at a
// character with an ellipsis. maxBytes below 4 means no bound.
func Escape(s string, maxBytes int) string {
	var b strings.Builder
	escapeTo(&b, s, maxBytes)
	return b.String()
}
