package settle

import "github.com/holdpoint/holdpoint/ahp"

// A Denial is one of several denials in one response (D-EFF-8).
type Denial struct {
	Code   string `json:"code,omitzero"`
	Reason string `json:"reason"` // escaped, at most [MaxLineBytes]
}

// MaxDenials is how many denials of one response a record lists.
const MaxDenials = 16

func denials(in []*ahp.Deny) []Denial {
	out := make([]Denial, min(len(in), MaxDenials))
	for i := range out {
		out[i] = Denial{Code: name(in[i].Code), Reason: OneLine(in[i].Reason)}
	}
	return out
}
