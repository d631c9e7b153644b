package settle

import "github.com/holdpoint/holdpoint/ahp"

// State says what a settlement comes to. The zero value, and every value that
// is not known to the reader, refuses.
type State string

// The states of a settlement. Later revisions add ask, supplied, stopped and
// interrupted.
const (
	// Proceed means that no control objected. It grants nothing: the host's own
	// permissions, prompts and sandbox still decide (AHP-DEC-003, AHP-SEC-001).
	Proceed State = "proceed"
	// Denied means that the operation must not run (AHP-DEC-002).
	Denied State = "denied"
)

// Settlement is the one outcome of a call. The zero value is a refusal: ask
// [Settlement.Proceeds] and nothing else before running an operation.
type Settlement struct {
	State State

	// Reason is one short line for the user or the agent, with control and
	// bidirectional characters escaped ([OneLine], at most [MaxLineBytes]).
	// Empty when the operation proceeds.
	Reason string
	// Code is the reverse-DNS code of an explicit denial; it may be empty.
	Code string
	// By is the id of the backend that decided; empty when none did.
	By string
	// Synthetic tells a refusal that a failure led to from one that a backend
	// asked for (V-FAIL-5).
	Synthetic bool
	// Class is the failure behind a synthetic refusal.
	Class ahp.FailureClass
	// FailedOpen means that at least one backend failed and its fail-open policy
	// let the chain go on (V-FAIL-6).
	FailedOpen bool

	// Hops has one entry per backend that was asked, in order. The record shares
	// it: read only.
	Hops []Hop

	full string // the whole reason of an explicit denial, for the record only
}

// Proceeds reports whether no control objected to the operation.
func (s Settlement) Proceeds() bool { return s.State == Proceed }

// Answer says what came of asking one backend.
type Answer string

// The answers of a hop. The zero value means that the hop did not end.
const (
	AnswerNone    Answer = "none"    // no effects: no objection
	AnswerDeny    Answer = "deny"    // an explicit denial
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
	// StartNs is when the hop began, in nanoseconds after the call began, and
	// TookNs is how long it took; both on the monotonic clock.
	StartNs int64 `json:"startNs"`
	TookNs  int64 `json:"tookNs"`
	// Attempts counts the tries to ask; 0 when the event itself could not be sent.
	Attempts int `json:"attempts"`
}
