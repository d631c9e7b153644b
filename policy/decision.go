package policy

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
)

// Effect says what a rule, or a whole decision, does to the operation. The zero
// value is treated as [EffectDeny], so a decision that nobody made refuses.
type Effect string

// The effects. There is none that permits: a policy that has nothing against an
// operation says so with [EffectNone], and others still decide.
const (
	EffectDeny    Effect = "deny"    // the operation is refused
	EffectAsk     Effect = "ask"     // it needs an approval first
	EffectModify  Effect = "modify"  // its input is changed; only a rule has it
	EffectMessage Effect = "message" // a text for the user; only a rule has it
	EffectInject  Effect = "inject"  // a text for the model; only a rule has it
	EffectFlag    Effect = "flag"    // recorded and shown; decides nothing
	EffectNone    Effect = "none"    // nothing against it; only a decision has it
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
	ModeShadow  Mode = "shadow" // what a rule would do is recorded and has no effect
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
	Effect Effect // deny, ask or none

	// The rule that denied, or the first that asks; empty for none. With a breach,
	// Rule is [RuleAnalysisBound].
	Rule     string
	Reason   string // at most [MaxReasonBytes]
	Message  string // one short line for the model, at most [MaxMessageBytes]
	Code     string // reverse-DNS name for machines, or empty
	Severity Severity

	Flags  []Fired // rules with effect flag that held, in rule order
	Shadow []Fired // rules that shadow mode took the effect from, in rule order

	// What else the rules do to an operation that is not denied, in order. A denial
	// has none of it: a change that nobody makes must not be told of.
	Asks    []Fired
	Changes []Change
	Notices []Notice
	Input   ahp.Raw `json:",omitempty"` // the effective input, when Changes is not empty

	Hazards     []string // codes, sorted, once each
	FactsRead   []string // names of the facts that the evaluated rules read, sorted
	Undecidable bool     // part of what would run is not in the input
	Breach      string   // the analysis bound that was reached, or empty
	Digest      string   // of the policy that decided
	Overlays    []string `json:",omitempty"` // digests of the policy with each overlay of a project that was heard
}

// The names and codes of decisions that no rule in a file makes.
const (
	RuleAnalysisBound = "holdpoint.analysis-bound"
	CodeAnalysisBound = "dev.holdpoint.analysis_bound"
	CodeDenied        = "dev.holdpoint.denied" // for rules without a code

	// RuleRewriteBound refuses an operation whose input the policy's own rules
	// rewrite over and over (see [MaxRounds]).
	RuleRewriteBound = "holdpoint.rewrite-bound"
	CodeRewriteBound = "dev.holdpoint.rewrite_bound"

	// CodeCannotAsk and CodeCannotChange refuse what needs an approval, or another
	// input, where the harness offers none.
	CodeCannotAsk    = "dev.holdpoint.approval_unavailable"
	CodeCannotChange = "dev.holdpoint.change_unavailable"
)

// Denied reports whether the operation is refused. The zero Decision is.
func (d Decision) Denied() bool { return d.Effect != EffectNone && d.Effect != EffectAsk }

// RuleNames returns the names of the rules that had an effect or flagged, once
// each, in order.
func (d Decision) RuleNames() []string {
	var out []string
	add := func(name string) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	if d.Denied() && d.Rule != "" {
		add(d.Rule)
	}
	for _, f := range d.Asks {
		add(f.Rule)
	}
	for _, c := range d.Changes {
		add(c.Rule)
	}
	for _, n := range d.Notices {
		add(n.Rule)
	}
	for _, f := range d.Flags {
		add(f.Rule)
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
