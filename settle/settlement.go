package settle

import "github.com/holdpoint/holdpoint/ahp"

// State says what a settlement comes to. The zero value, and every value that
// is not known to the reader, refuses.
type State string

// The states of a settlement. Revision 0.1 has the first two; the others belong to
// revision draft (AHP draft section 11.3), and none of them lets the original
// operation run.
const (
	// Proceed means that no control objected. It grants nothing: the host's own
	// permissions, prompts and sandbox still decide (AHP-DEC-003, AHP-SEC-001,
	// D-PREC-4).
	Proceed State = "proceed"
	// Denied means that the operation must not run (AHP-DEC-002). Where the event
	// stands behind an operation, [Settlement.Withholds] says what is held back.
	Denied State = "denied"
	// Ask means that the operation must not run, and no supplied result be used,
	// before somebody approves it: see [Settlement.Approve].
	Ask State = "ask"
	// Supplied means that Candidate stands in for the operation, which is skipped;
	// access checks and controls after it are not (D-RET-3, D-APP-4).
	Supplied State = "supplied"
	// Stopped means that a control ended pending execution and further model work
	// (D-FLOW-2). Nothing is rolled back.
	Stopped State = "stopped"
	// Interrupted means that the interception is incomplete, which is never a
	// permission (D-INT-5): a caller who left, a budget that ended, a shutdown.
	Interrupted State = "interrupted"
)

// Settlement is the one outcome of a call. The zero value is a refusal: ask
// [Settlement.Proceeds] and nothing else before running an operation.
type Settlement struct {
	State State

	// Reason is one short line for the user or the agent, with control and
	// bidirectional characters escaped ([OneLine], at most [MaxLineBytes]): of the
	// first denial (D-EFF-8), or of the stop. Empty in the other states.
	Reason string
	// Code is the reverse-DNS code of an explicit denial; it may be empty.
	Code string
	// By is the id of the backend that decided; empty when none did.
	By string
	// Synthetic tells a refusal that a failure led to from one that a backend
	// asked for (V-FAIL-5, D-FAIL-5).
	Synthetic bool
	// Class is the failure behind a synthetic refusal.
	Class ahp.FailureClass
	// FailedOpen means that at least one backend failed and its fail-open policy
	// let the chain go on (V-FAIL-6).
	FailedOpen bool

	// The members up to Operation belong to revision draft and are empty for 0.1.

	// Event is the event as accepted responses left it (D-OBS-2); it shares with the
	// one that was opened what did not change. Read only.
	Event *ahp.Event
	// Permission is what the accepted effects come to (D-PREC-1). Allow only saves
	// the ordinary prompt (D-APP-3).
	Permission ahp.Permission
	Flow       ahp.Flow
	// Candidate is the supplied result, in state Supplied only.
	Candidate *ahp.Value
	// Instructions are those of the accepted continues, in order (D-FLOW-3). With
	// Flow continue they go with the one more step; under stop they are for the
	// record of what was asked (D-FLOW-5).
	Instructions []string
	// Injections are the accepted inject effects, in order (D-INJ-1).
	Injections []*ahp.Inject
	// Messages are texts for the user, in order, shown also when the operation is
	// refused (D-MSG-1, D-MSG-2). They are as the backends wrote them: pass them
	// through [Escape] before a terminal gets them.
	Messages []string
	// Operation is the [Identity] of the effective operation. It is set where an
	// approval is needed or the operation was changed, and empty elsewhere.
	Operation string
	// Approved means that [Settlement.Approve] lifted an ask.
	Approved bool

	// Hops has one entry per backend that was asked, in order. The record shares
	// it: read only.
	Hops []Hop

	full    string     // the whole reason of an explicit denial or stop, for the record only
	denials []Denial   // when there is more than one
	pending *ahp.Value // the candidate of state Ask
	changed bool       // Event is not the one that was opened
}

// Proceeds reports whether no control objected to the operation.
func (s Settlement) Proceeds() bool { return s.State == Proceed }

// Approve lifts an ask: the state becomes Proceed, or Supplied where a result
// waits. It does so only when operation, for which the approval was given, is that
// of the settlement (D-APP-1, D-APP-2); in every other case, and in every other
// state, the settlement stays as it is. The host's own checks still follow
// (D-APP-3, D-APP-4).
func (s Settlement) Approve(operation string) Settlement {
	if s.State != Ask || operation == "" || operation != s.Operation {
		return s
	}
	s.Approved = true
	if s.pending != nil {
		s.State, s.Candidate, s.pending = Supplied, s.pending, nil
		return s
	}
	s.State = Proceed
	return s
}

// Withheld names what a host holds back after a refusal.
type Withheld string

// What is held back. The run so far is undone in no case (AHP draft section 21.3).
const (
	// WithholdOperation: what was about to happen does not happen.
	WithholdOperation Withheld = "operation"
	// WithholdResult: the model gets a generic error in place of the result.
	WithholdResult Withheld = "result"
	// WithholdTurnOutput: the turn's output is not shown, and the turn ends as failed.
	WithholdTurnOutput Withheld = "turn_output"
	// WithholdSummary: the summary is not installed (D-CMP-5).
	WithholdSummary Withheld = "summary"
	// WithholdModelWork: no further model work comes from the batch.
	WithholdModelWork Withheld = "model_work"
	// WithholdAnswer: the result of an elicitation is not handed on; the server gets
	// cancel.
	WithholdAnswer Withheld = "answer"
	// WithholdSession: no turn starts in the session.
	WithholdSession Withheld = "session"
)

// Withholds says what the host of an event of type t holds back when a settlement
// about it is Denied or Interrupted (AHP draft section 21.3). A type that cannot be
// intercepted gives the operation, so that a mistake refuses.
func Withholds(t ahp.EventType) Withheld {
	switch t {
	case ahp.ToolAfter, ahp.ModelResponseAfter:
		return WithholdResult
	case ahp.TurnFinishBefore:
		return WithholdTurnOutput
	case ahp.CompactAfter:
		return WithholdSummary
	case ahp.ToolBatchAfter:
		return WithholdModelWork
	case ahp.ElicitationResult:
		return WithholdAnswer
	case ahp.SessionStart:
		return WithholdSession
	default:
		return WithholdOperation
	}
}

// Answer says what came of asking one backend.
type Answer string

// The answers of a hop. The zero value means that the hop did not end.
const (
	AnswerNone    Answer = "none"    // no effects: no objection
	AnswerDeny    Answer = "deny"    // an explicit denial
	AnswerEffects Answer = "effects" // draft: accepted effects without a denial among them
	AnswerFailure Answer = "failure" // no usable answer
)

// A Hop is how one backend was asked. It holds nothing of what was sent or
// answered.
type Hop struct {
	Backend string           `json:"backend"`
	Mode    ahp.Mode         `json:"mode"`
	Answer  Answer           `json:"answer"`
	Class   ahp.FailureClass `json:"class,omitzero"` // failures only
	// FailureCode is the HTTP status or JSON-RPC code of a failure that has one.
	FailureCode int `json:"failureCode,omitzero"`
	// Policy is the failure policy that decided this hop; empty when none did,
	// as with every answer and with failures that no policy may excuse.
	Policy ahp.FailurePolicy `json:"policy,omitzero"`
	// Effects names the accepted effects in order (draft; at most [MaxNames]).
	// Nothing of a rejected response is in it.
	Effects []ahp.EffectType `json:"effects,omitempty"`
	// Changed means that the accepted effects changed the effective value (draft).
	Changed bool `json:"changed,omitzero"`
	// StartNs is when the hop began, in nanoseconds after the call began, and
	// TookNs is how long it took; both on the monotonic clock.
	StartNs int64 `json:"startNs"`
	TookNs  int64 `json:"tookNs"`
	// Attempts counts the tries to ask; 0 when the event itself could not be sent.
	Attempts int `json:"attempts"`
}
