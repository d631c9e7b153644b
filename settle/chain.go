package settle

import (
	"errors"

	"github.com/holdpoint/holdpoint/ahp"
)

// A Chain is the accepted state of one operation's settlement: a value, never
// changed in place. The zero Chain was not started and refuses.
type Chain struct {
	phase      phase
	caps       ahp.Capabilities
	deny       *ahp.Deny
	by         string
	class      ahp.FailureClass
	failedOpen bool
}

type phase uint8

const (
	unstarted phase = iota
	open            // nobody has objected so far
	denied          // an explicit denial was accepted
	refused         // a failure refuses
)

// Start returns the state of a chain in which nobody has been asked yet. caps is
// what the harness can enforce for this operation and advertises to every
// backend (AHP-CAP-001).
func Start(caps ahp.Capabilities) Chain { return Chain{phase: open, caps: caps} }

// A Step is what one backend said: effects, or a failure.
type Step struct {
	Backend string
	// Policy is the failure policy of the subscription (AHP-FAIL-001). Anything
	// but the two policies counts as fail-closed.
	Policy  ahp.FailurePolicy
	Effects []ahp.Effect // as decoded; looked at only when Failure is nil
	Failure *ahp.Failure // nil when the backend answered
	// EventByPolicy lets Policy decide also about failures that the event itself
	// causes ([ahp.FailEvent]); by default they refuse (design: padding must not
	// open the gate).
	EventByPolicy bool

	// Caps and View belong to revision draft; a [Chain] ignores them.

	// Caps is what this backend was offered: the boundary's capabilities or less
	// (D-CAP-1). Nil means the boundary's.
	Caps *ahp.Capabilities
	// View is the event as this backend was shown it. A list of which it was not
	// shown every text is not replaced (D-CAP-6). Nil means the whole event.
	View *ahp.Event
}

// A Verdict is what came of a [Step], for the hop's part of the record.
type Verdict struct {
	Answer  Answer
	Failure *ahp.Failure      // what counted as the failure; nil when there was none
	Policy  ahp.FailurePolicy // the policy that decided; empty when none did

	Effects []ahp.EffectType // draft: the names of the accepted effects, in order
	Changed bool             // draft: they changed the effective value
}

// Into writes the verdict into the hop that it is about.
func (v *Verdict) Into(h *Hop) {
	h.Answer, h.Policy, h.Effects, h.Changed = v.Answer, v.Policy, v.Effects, v.Changed
	if v.Failure != nil {
		h.Class, h.FailureCode = v.Failure.Class, v.Failure.Code
	}
}

var (
	errSettled     = errors.New("the chain had ended before this answer")
	errEffectCount = errors.New("more than one effect")
	errNotOffered  = errors.New("effect was not advertised")
	errNotKnown    = errors.New("effect is not known")
	errNoReason    = errors.New("deny without a reason")
	errBadCode     = errors.New("deny code is not a reverse-DNS name")
)

// Apply checks one backend's answer whole and returns the state after it. It is
// the only place where a failure policy decides (V-FAIL-1, AHP-FAIL-001): an
// unacceptable list of effects is a failure like any other (V-CAP-2), and
// leaves nothing behind. After a denial or a refusal the state does not change
// any more (AHP-COMP-001, V-DEC-2).
func (c Chain) Apply(s Step) (Chain, Verdict) {
	if c.phase != open {
		return c, Verdict{Answer: AnswerFailure, Failure: &ahp.Failure{
			Class: ahp.FailInternal, Backend: s.Backend, Err: errSettled,
		}}
	}
	f := s.Failure
	if f == nil {
		deny, bad := accept(c.caps, s.Effects)
		if bad == nil {
			if deny == nil {
				return c, Verdict{Answer: AnswerNone}
			}
			// Under fail-open as under fail-closed (V-DEC-1).
			c.phase, c.deny, c.by = denied, deny, s.Backend
			return c, Verdict{Answer: AnswerDeny}
		}
		bad.Backend = s.Backend
		f = bad
	}
	v := Verdict{Answer: AnswerFailure, Failure: f}
	if !f.Class.PolicyApplies() && !s.EventByPolicy {
		return c.Refuse(s.Backend, f.Class), v
	}
	v.Policy = s.Policy
	if s.Policy == ahp.FailOpen {
		c.failedOpen = true
		return c, v
	}
	v.Policy = ahp.FailClosed
	return c.Refuse(s.Backend, f.Class), v
}

// Refuse ends the chain with a refusal that no backend asked for and that no
// policy can excuse: the caller gave up, the budget ended, the harness closed,
// the event cannot be judged. An earlier denial or refusal stays as it is.
func (c Chain) Refuse(backend string, class ahp.FailureClass) Chain {
	if c.phase == denied || c.phase == refused {
		return c
	}
	c.phase, c.by, c.class = refused, backend, class
	return c
}

// Done reports whether the outcome is final, so that nobody else is asked
// (V-COMP-2).
func (c Chain) Done() bool { return c.phase != open }

// Settlement returns the outcome of the chain as it stands.
func (c Chain) Settlement() Settlement {
	switch c.phase {
	case open:
		return Settlement{State: Proceed, FailedOpen: c.failedOpen}
	case denied:
		return Settlement{
			State: Denied, Reason: OneLine(c.deny.Reason), Code: c.deny.Code,
			By: c.by, FailedOpen: c.failedOpen, full: c.deny.Reason,
		}
	case unstarted, refused, stopped, interrupted: // the last two are a Boundary's only
	}
	class := c.class
	if class == "" {
		class = ahp.FailInternal
	}
	return Settlement{
		State: Denied, Reason: ahp.GenericDenial, By: c.by, Synthetic: true,
		Class: class, FailedOpen: c.failedOpen,
	}
}

// accept checks a list of effects whole (AHP-DEC-001): empty, or exactly one
// valid deny that was advertised (AHP-CAP-001).
func accept(caps ahp.Capabilities, effects []ahp.Effect) (*ahp.Deny, *ahp.Failure) {
	switch len(effects) {
	case 0:
		return nil, nil
	case 1:
	default:
		return nil, invalid("/result/effects", errEffectCount)
	}
	d, ok := effects[0].(*ahp.Deny)
	switch {
	case !ok || d == nil:
		return nil, invalid("/result/effects/0", errNotKnown)
	case !caps.Allows(ahp.EffectDeny):
		return nil, invalid("/result/effects/0/type", errNotOffered)
	}
	if at, err := shape(d); err != nil {
		return nil, fault(0, at, err)
	}
	return d, nil
}

func invalid(pointer string, err error) *ahp.Failure {
	return &ahp.Failure{Class: ahp.FailInvalidEffect, Pointer: pointer, Err: err}
}
