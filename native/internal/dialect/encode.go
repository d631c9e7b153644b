package dialect

import (
	"github.com/holdpoint/holdpoint/native"
	"github.com/holdpoint/holdpoint/native/refuse"
)

// Encode is the Encode of the adapters.
func Encode(agent, event string, v native.Verdict) refuse.Answer {
	if v.Decision == native.Proceed {
		return refuse.Answer{} // never an "allow": it would skip the user's own prompt
	}
	if event == "" {
		return refuse.Bare(v.Reason)
	}
	a, _ := refuse.For(agent, event, v.Reason)
	return a
}
