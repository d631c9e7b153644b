package agenthooks

import (
	"errors"
	"fmt"
)

// A Profile says how verdicts are combined (AH 7.2). The set is closed.
type Profile string

// The four profiles. The zero value of a setting means [FirstDeny].
const (
	FirstDeny Profile = "sequential/first_deny" // in order, each sees earlier transforms; the first deny ends
	RunAll    Profile = "sequential/run_all"    // in order, all run; the severest verdict wins
	Strictest Profile = "parallel/strictest"    // all see one snapshot; the severest verdict wins
	Unanimous Profile = "parallel/unanimous"    // all see one snapshot and all must allow
)

func (p Profile) sequential() bool { return p == FirstDeny || p == RunAll }

// A Knob is the setting of the one choice that a profile leaves open.
type Knob string

// The knob values. The zero value means [Stop] or [DenyIt].
const (
	Stop    Knob = "stop"     // OnApproval: an approved deny ends the emission
	Resume  Knob = "resume"   // OnApproval: later interceptors still run
	DenyIt  Knob = "deny"     // the other two: a plain deny
	Consult Knob = "approval" // the other two: ask the resolver
)

// A Composition is a profile with its knobs. It is fixed before anything runs
// and stands on every record; the zero value is [FirstDeny] with [Stop].
type Composition struct {
	Profile             Profile `json:"profile"`
	OnApproval          Knob    `json:"on_approval,omitzero"`           // [FirstDeny]: [Stop] or [Resume]
	OnDisagreement      Knob    `json:"on_disagreement,omitzero"`       // [Unanimous]: [DenyIt] or [Consult]
	OnTransformConflict Knob    `json:"on_transform_conflict,omitzero"` // [Strictest]: [DenyIt] or [Consult]
}

// complete fills the defaults, keeps the knob that the profile consults, and
// refuses everything that is not in the closed sets (AH-7.2-1).
func (c Composition) complete() (Composition, error) {
	if c.Profile == "" {
		c.Profile = FirstDeny
	}
	var errs []error
	knob := func(name string, k, zero, other Knob) Knob {
		if k == "" {
			return zero
		}
		if k == zero || k == other {
			return k
		}
		errs = append(errs, fmt.Errorf("composition.%s: %q is not %q or %q", name, k, zero, other))
		return zero
	}
	out := Composition{Profile: c.Profile}
	onApproval := knob("on_approval", c.OnApproval, Stop, Resume)
	onDisagreement := knob("on_disagreement", c.OnDisagreement, DenyIt, Consult)
	onConflict := knob("on_transform_conflict", c.OnTransformConflict, DenyIt, Consult)
	switch c.Profile {
	case FirstDeny:
		out.OnApproval = onApproval
	case RunAll:
	case Strictest:
		out.OnTransformConflict = onConflict
	case Unanimous:
		out.OnDisagreement = onDisagreement
	default:
		errs = append(errs, fmt.Errorf("composition.profile: %q is not one of the four", c.Profile))
	}
	return out, errors.Join(errs...)
}
