// Package native is what the adapters of agents' own hook dialects share: the
// call that comes in, the decoded event and the verdict that goes out. Each
// dialect is a package of its own below this one; all of them have
//
//	Decode(call *native.Call, o native.Options) (*native.Decoded, error)
//	Encode(event string, v native.Verdict) refuse.Answer
//	Offers() map[string]native.Offer
//
// An error of Decode is an [*ahp.Failure] of class [ahp.FailEvent]; [Fault] is its text
// for users.
// An adapter keeps no state, does no I/O and may be called concurrently.
package native

import (
	"errors"

	"github.com/holdpoint/holdpoint/ahp"
)

// A Call is one start of an agent's hook, as the hook client hands it on.
type Call struct {
	Event   string            // the event's name on the hook's command line; may be empty
	CWD     string            // the client's working directory; may be empty
	Env     map[string]string // the agent's project variables, already allow-listed
	Payload []byte            // the hook's stdin; a decoded event refers to it, so it must not change
}

// Options says how to decode. The zero value is usable.
type Options struct {
	MaxBytes int // of the payload; 0 means [DefaultMaxBytes]
	MaxDepth int // of nesting; 0 means [DefaultMaxDepth]

	// Native adds the agent's own payload to the event (V-NAT-1: off by default).
	Native bool

	// ID, Source and Time are copied into the event: an adapter has no clock.
	ID, Source, Time string

	// Revision is the revision of AHP that the event is for; empty means 0.1. Draft
	// has more events, and more of them can be decided on.
	Revision ahp.Version
	// Manifest is what the host covers (AHP draft section 20); session.start carries
	// it. The event refers to it. Draft only; nil is an empty one.
	Manifest *ahp.Manifest
}

// The default limits of a payload.
const (
	DefaultMaxBytes = 8 << 20
	DefaultMaxDepth = 128
)

// Disposition says what a gateway does with a native event.
type Disposition string

// The dispositions. The zero value is none of them and is treated as [Decide].
const (
	Decide  Disposition = "decide"  // ask the policy; the agent waits
	Observe Disposition = "observe" // tell observers; the answer is empty
	Ignore  Disposition = "ignore"  // nothing in the revision fits; counted, the answer is empty
)

// Decoded is what a payload says.
type Decoded struct {
	Disposition Disposition

	// EventName is the native event at which the agent stands, the one to
	// encode the answer for: the payload's, which the agent itself wrote, or the
	// command line's where the payload has none (refuse.Where has the rule). Empty
	// when neither says.
	EventName string

	// Mismatch reports that payload and command line name different events.
	Mismatch bool

	// Event is the AHP event, with everything but the workspace roots; nil with
	// [Ignore] and with an error.
	Event *ahp.Event

	// NamedRoots are the workspace roots that the agent names, unchecked; the
	// first argument of [FindRoots].
	NamedRoots []string

	Turn string // the agent's id of the turn; empty where it gives none

	// Continued says that a hook has kept this turn going before (draft only).
	Continued bool
}

// Decision is what became of an operation.
type Decision string

// The decisions. The zero value is treated as [Denied], and so is every decision
// that the agent could not carry out where it stands.
const (
	Proceed Decision = "proceed" // no objection: the agent's own permissions go on
	Denied  Decision = "denied"

	// The others belong to revision draft.
	Allowed   Decision = "allowed"   // no ordinary prompt is needed
	Ask       Decision = "ask"       // the agent asks the user first
	Stopped   Decision = "stopped"   // it does not run, and the agent ends its turn
	Continued Decision = "continued" // the turn goes on for one more step
)

// A Verdict is what an agent is told. The zero Verdict is a refusal. All texts are
// made fit to show by the adapter.
type Verdict struct {
	Decision Decision
	Reason   string // shown to the model when denied, to the user when asked, as the instruction when continued

	// Input is the whole effective input of the call, a JSON object on one line; nil
	// when it is as the agent sent it.
	Input ahp.Raw
	// RewriteAllows says that the operator lets a changed input be allowed by an agent
	// that takes none without (NA-CX-22).
	RewriteAllows bool
	// Messages are for the user, Context for the model; in order. What the agent
	// cannot take at its event is left out: it was not offered.
	Messages, Context []string
}

// An Offer is what an agent does at one of its events (AHP-CAP-001), with where
// that is known from.
type Offer struct {
	// Event is the event of revision draft that the native one becomes.
	Event ahp.EventType
	// Capabilities is what the agent can be told there. Without effects it can only
	// be observed. The counts of continue are the caller's to fill in.
	Capabilities ahp.Capabilities
	// Source names the recordings and facts of the contract behind each effect.
	Source string
}

// MaxContinuations is how often a turn is kept going. The agents' own guards
// against endless turns come later (NA-CC-34).
const MaxContinuations = 1

// Fault says what an error of Decode found wrong with a payload: the JSON pointer of
// the member where there is one, what was found and what belongs there. The adapters
// write it without bytes of the payload, so that it may be shown to the user and to
// the model. It is empty for any other error.
func Fault(err error) string {
	f, ok := errors.AsType[*ahp.Failure](err)
	switch {
	case !ok || f.Class != ahp.FailEvent || f.Err == nil:
		return ""
	case f.Pointer == "":
		return f.Err.Error()
	}
	return f.Pointer + ": " + f.Err.Error()
}
