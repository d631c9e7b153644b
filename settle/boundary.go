package settle

import (
	"errors"

	"github.com/holdpoint/holdpoint/ahp"
)

var errBounds = errors.New("event or capabilities that revision draft does not have")

// BoundaryOptions is what a host adds to the checks of one boundary. The functions
// are called while a response is staged: they must be quick, change nothing, and
// give equal answers to equal questions. The zero value adds nothing and allows
// nothing beyond the contract.
type BoundaryOptions struct {
	// CheckInput is the host's own check of the effective value that a response would
	// lead to. An error rejects the whole response (D-STAGE-10); its text is dropped,
	// because it may quote the value. Nil means none.
	CheckInput func(ev *ahp.Event) error
	// CheckResult is the host's own check of a supplied result, ev being the event that
	// it would be bound to. Nil means none.
	CheckResult func(ev *ahp.Event, v ahp.Value) error
	// AllowRef admits attachment references in effects beside those that the backend
	// was shown (D-TGT-8). Nil admits no others.
	AllowRef func(ref string) bool
	// AllowPart says whether a part may be written, by its category for example
	// (D-TGT-10, D-TGT-12). Nil allows all.
	AllowPart func(p *ahp.Part) bool
	// SystemInject allows injected messages with role system (D-INJ-4).
	SystemInject bool
}

// A Boundary is the accepted state of one settlement in revision draft: a value,
// never changed in place, that may be copied and used by several goroutines. The
// zero Boundary was not opened and refuses.
type Boundary struct{ a *accepted }

// accepted is immutable once a Boundary points to it.
type accepted struct {
	original, ev *ahp.Event
	input        *object // ev's tool input, if it was changed and is long: cut for the next change
	caps         ahp.Capabilities
	opts         BoundaryOptions

	phase      phase
	failedOpen bool
	by         string // who ended the chain
	class      ahp.FailureClass
	denies     []*ahp.Deny // of the response that ended the chain
	stop       string      // the reason of the first stop

	permission ahp.Permission
	asker      string
	candidate  *ahp.Value
	supplier   string
	flow       ahp.Flow

	instructions []string
	injections   []*ahp.Inject
	messages     []string
}

// The phases of a Boundary beside those of a [Chain].
const (
	stopped     phase = iota + 16 // an explicit stop was accepted
	interrupted                   // the interception is incomplete
)

// Open returns the boundary of ev before anybody has been asked. caps is what the
// host can enforce there (AHP-CAP-001), the continuation allowance included; nil is
// nothing, and what is beyond [ahp.Bounds] is a fault of the program, which refuses
// (D-CAP-8). An event of a type that revision draft does not know is refused. ev
// must not be changed any more.
func Open(ev *ahp.Event, caps *ahp.Capabilities, o BoundaryOptions) Boundary {
	a := begin(ev, caps, o)
	return Boundary{&a}
}

func begin(ev *ahp.Event, caps *ahp.Capabilities, o BoundaryOptions) accepted {
	a := accepted{original: ev, ev: ev, opts: o, phase: open, permission: ahp.PermissionNone, flow: ahp.FlowNone}
	switch {
	case !ev.Type.In(ahp.VersionDraft):
		a.phase, a.class = refused, ahp.FailEvent
	case caps == nil:
	case len(caps.Effects) > 0 && caps.Within(ev.Type) != nil:
		a.phase, a.class = refused, ahp.FailInternal
	default:
		a.caps = *caps
	}
	return a
}

// Check says why a boundary that was just opened would not take effects as an answer, or
// returns nil: what [Boundary.Apply] checks, for whoever is about to send them
// (AHP-CAP-001, AHP draft sections 7 to 10). ev and caps are what the sender was shown and
// offered. The host may still refuse: by checks of its own, and for what it did not show,
// such as an id that is in use (D-INJ-2) or a text under another category (D-TGT-9).
func Check(ev *ahp.Event, caps *ahp.Capabilities, effects []ahp.Effect, o BoundaryOptions) *ahp.Failure {
	a := begin(ev, caps, o)
	if a.phase != open {
		return &ahp.Failure{Class: a.class, Err: errBounds}
	}
	var next accepted
	return next.stage(&a, &Step{Effects: effects}, o.CheckInput != nil)
}

// Apply takes one backend's answer or failure and returns the boundary after it. A
// response is taken whole or not at all (AHP draft section 10, steps 3 to 8 and 11):
// what is wrong with it is a failure like any other, to which the failure policy of
// the subscription is applied once (D-STAGE-4), and which leaves nothing behind
// (D-STAGE-1, D-STAGE-2). The caller keeps time: it checks cancellation and deadline
// before it calls Apply, and takes the result only if they still hold (steps 1 and
// 10). After the chain has ended nothing changes any more (AHP-COMP-001).
//
// The boundary keeps the messages and texts of the effects, not their raw JSON.
func (b Boundary) Apply(s Step) (Boundary, Verdict) {
	if b.Done() {
		return b, Verdict{Answer: AnswerFailure, Failure: &ahp.Failure{
			Class: ahp.FailInternal, Backend: s.Backend, Err: errSettled,
		}}
	}
	f := s.Failure
	if f == nil {
		if len(s.Effects) == 0 {
			return b, Verdict{Answer: AnswerNone}
		}
		next := new(accepted)
		if f = next.stage(b.a, &s, true); f == nil {
			v := Verdict{Answer: AnswerEffects, Effects: effectNames(s.Effects), Changed: next.ev != b.a.ev}
			if next.phase == denied {
				v.Answer = AnswerDeny
			}
			return Boundary{next}, v
		}
		f.Backend = s.Backend
	}
	v := Verdict{Answer: AnswerFailure, Failure: f}
	if !f.Class.PolicyApplies() && !s.EventByPolicy {
		return b.Refuse(s.Backend, f.Class), v
	}
	v.Policy = s.Policy
	if s.Policy != ahp.FailOpen {
		v.Policy = ahp.FailClosed
		return b.Refuse(s.Backend, f.Class), v
	}
	if b.a.failedOpen {
		return b, v
	}
	next := *b.a
	next.failedOpen = true
	return Boundary{&next}, v
}

// Refuse ends the chain with a refusal that no backend asked for and that no policy
// can excuse. What ended the chain before stays. What was accepted before stays too,
// but for a candidate (D-PREC-2).
func (b Boundary) Refuse(backend string, class ahp.FailureClass) Boundary {
	return b.end(refused, backend, class)
}

// Interrupt ends the chain because the call cannot be completed: the caller left, the
// call budget ended, the harness closes (D-INT-1, D-BUD-6). It overrides fail-open and
// an accepted allow; what ended the chain before stays, and so do accepted changes
// (D-INT-4).
func (b Boundary) Interrupt(class ahp.FailureClass) Boundary {
	return b.end(interrupted, "", class)
}

func (b Boundary) end(p phase, backend string, class ahp.FailureClass) Boundary {
	if b.a == nil {
		return Boundary{&accepted{phase: p, by: backend, class: class}}
	}
	if b.Done() {
		return b
	}
	next := *b.a
	next.phase, next.by, next.class, next.candidate = p, backend, class, nil
	return Boundary{&next}
}

// Done reports whether the outcome is final, so that nobody else is asked (D-PREC-5):
// after a denial, a stop, a refusal or an interruption, and for the zero Boundary.
func (b Boundary) Done() bool { return b.a == nil || b.a.phase != open }

// Event returns the effective event: what the next backend is shown a view of
// (D-CHAIN-2), and what observers get after the settlement. It shares with the event
// that was opened what did not change. It is nil for the zero Boundary.
func (b Boundary) Event() *ahp.Event {
	if b.a == nil {
		return nil
	}
	return b.a.ev
}

// State returns what the next request says of the chain so far (D-STATE-2). The zero
// Boundary says deny. The result is the caller's.
func (b Boundary) State() *ahp.State {
	if b.a == nil {
		return &ahp.State{Permission: ahp.PermissionDeny}
	}
	return b.StateAs(nil)
}

// settledPermission is the permission as the outcome shows it: a refusal denies
// whoever it came from, and an interruption leaves nothing of an allow.
func (a *accepted) settledPermission() ahp.Permission {
	switch {
	case a.phase == refused || a.phase == unstarted:
		return ahp.PermissionDeny
	case a.phase == interrupted && a.permission == ahp.PermissionAllow, a.permission == "":
		return ahp.PermissionNone
	}
	return a.permission
}

// Settlement returns the outcome as it stands: deny before stop before ask before a
// supplied result (D-PREC-1, D-PREC-2, AHP draft section 11.3).
func (b Boundary) Settlement() Settlement {
	a := b.a
	if a == nil {
		a = &accepted{}
	}
	s := Settlement{
		FailedOpen: a.failedOpen, Event: a.ev, Permission: a.settledPermission(), Flow: a.flow,
		Instructions: a.instructions, Injections: a.injections, Messages: a.messages, changed: a.ev != a.original,
	}
	if s.changed && a.ev.Tool != nil && a.ev.Tool != a.original.Tool {
		s.Operation = Identity(a.ev)
	}
	switch a.phase {
	case open:
		switch {
		case a.permission == ahp.PermissionAsk:
			s.State, s.By, s.pending = Ask, a.asker, a.candidate
			if s.Operation == "" {
				s.Operation = Identity(a.ev)
			}
		case a.candidate != nil:
			s.State, s.By, s.Candidate = Supplied, a.supplier, a.candidate
		default:
			s.State = Proceed
		}
		return s
	case denied:
		first := a.denies[0]
		s.State, s.By, s.Code = Denied, a.by, first.Code
		s.Reason, s.full = OneLine(first.Reason), first.Reason
		if len(a.denies) > 1 {
			s.denials = denials(a.denies)
		}
		return s
	case stopped:
		s.State, s.By, s.Reason, s.full = Stopped, a.by, OneLine(a.stop), a.stop
		return s
	case interrupted:
		s.State = Interrupted
	case unstarted, refused:
		s.State = Denied
	}
	if s.Flow == ahp.FlowContinue {
		s.Flow = ahp.FlowNone // a refusal asks for no more work
	}
	s.Reason, s.By, s.Synthetic, s.Class = ahp.GenericDenial, a.by, true, a.class
	if s.Class == "" {
		s.Class = ahp.FailInternal
	}
	return s
}

func effectNames(effects []ahp.Effect) []ahp.EffectType {
	names := make([]ahp.EffectType, min(len(effects), MaxNames))
	for i := range names {
		names[i] = effects[i].Type()
	}
	return names
}
