package policy

import (
	"slices"

	"github.com/holdpoint/holdpoint/ahp"
)

// A Rule is one loaded rule, with every override applied.
type Rule struct {
	Name     string   `json:"name"`
	When     string   `json:"when"`
	Effect   Effect   `json:"effect"`
	Mode     Mode     `json:"mode"`
	Enabled  bool     `json:"enabled"`
	Reason   string   `json:"reason"`
	Hint     string   `json:"hint,omitempty"`
	Code     string   `json:"code,omitempty"`
	Severity Severity `json:"severity"`
	Allow    Allow    `json:"allow,omitzero"`
	Origin   Origin   `json:"origin"`

	// On lists the types of events that the rule is for; empty means tool.before.
	On []ahp.EventType `json:"on,omitempty"`

	// Merge or Replace makes the object of a modify rule, an expression over the
	// same names as When.
	Merge   string `json:"merge,omitempty"`
	Replace string `json:"replace,omitempty"`
	// Text is what a message or inject rule says; TextFrom is an expression that
	// makes it.
	Text     string `json:"text,omitempty"`
	TextFrom string `json:"textFrom,omitempty"`
	// DeliverAt says when the model gets the text of an inject rule.
	DeliverAt ahp.Delivery `json:"deliverAt,omitempty"`
}

// hears reports whether the rule is for events of that type. Facts that say no type
// are those of a call about to run.
func (r *Rule) hears(t ahp.EventType) bool {
	if t == "" {
		t = ahp.ToolBefore
	}
	if len(r.On) == 0 {
		return t == ahp.ToolBefore
	}
	return slices.Contains(r.On, t)
}

// can reports whether an effect exists at events of type t (AHP draft section 7.1).
func (e Effect) can(t ahp.EventType) bool {
	c := ahp.Bounds(t)
	switch e {
	case EffectModify:
		return c.AllowsModify(ahp.TargetInput, ahp.OpMerge)
	case EffectDeny, EffectAsk, EffectMessage, EffectInject:
		return c.Allows(ahp.EffectType(e))
	case EffectFlag, EffectNone:
	}
	return true
}

// value returns the rule's value expression, its key in the file, and what it must
// make; all are empty where it has none.
func (r *Rule) value() (text, key string, want ValueType) {
	switch {
	case r.Merge != "":
		return r.Merge, "merge", ValueObject
	case r.Replace != "":
		return r.Replace, "replace", ValueObject
	case r.TextFrom != "":
		return r.TextFrom, "textFrom", ValueText
	}
	return "", "", ""
}

// Origin says where a rule was written.
type Origin struct {
	Layer  string `json:"layer"` // pack:NAME, user or project
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// Allow lists what a rule does not see, so that it stays on for everything
// else.
type Allow struct {
	Paths    []string `json:"paths,omitempty"`    // path patterns
	Hosts    []string `json:"hosts,omitempty"`    // host patterns
	Commands []string `json:"commands,omitempty"` // command shapes
}
