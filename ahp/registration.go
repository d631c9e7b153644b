package ahp

import (
	"slices"
	"time"
)

// Mode says what a subscription asks of its backend.
type Mode string

// The modes of a subscription.
const (
	ModeIntercept Mode = "intercept" // the harness waits for the answer
	ModeObserve   Mode = "observe"   // the harness waits for nothing
)

// FailurePolicy says what an operational failure of a backend leads to. There is
// no default (AHP-FAIL-001, V-FAIL-1); the zero value is invalid.
type FailurePolicy string

// The failure policies.
const (
	FailOpen   FailurePolicy = "fail-open"   // go on unchanged, record the failure
	FailClosed FailurePolicy = "fail-closed" // deny
)

// Known reports whether p is one of the two policies.
func (p FailurePolicy) Known() bool { return p == FailOpen || p == FailClosed }

// Lifecycle says how long a stdio backend's process lives.
type Lifecycle string

// The lifecycles of a stdio backend (AHP 0.1 section 11).
const (
	Persistent Lifecycle = "persistent" // one process for many messages
	PerEvent   Lifecycle = "per_event"  // one message, EOF, at most one answer
)

// A Registration is the document that tells a harness whom to ask, in which
// order and how (AHP 0.1 section 13, AHP-REG-001). One that came out of a codec
// is valid; the order of Hooks is the order of evaluation.
type Registration struct {
	Version Version
	Hooks   []Backend
	Unknown Members // ignored with a warning (V-REG-4)
}

// A Backend is one entry of a registration.
type Backend struct {
	ID            string    // reverse-DNS, unique in the document
	Transport     Transport // exactly one form
	Auth          *Bearer   // HTTP only; nil when absent
	Subscriptions []Subscription
	Unknown       Members
}

// A Transport says how a backend is reached: [*StdioTransport] or
// [*HTTPTransport] in a document, or [*LocalTransport] where a program puts a
// function first in its own chain.
//
//sumtype:decl
type Transport interface{ transport() }

// StdioTransport runs a program and speaks over its stdin and stdout. Command
// and arguments are run directly, never by a shell (V-IO-4).
type StdioTransport struct {
	Command   string // path or name; not empty
	Args      []string
	Lifecycle Lifecycle
	CWD       string // the child's working directory; empty means the harness's
	Unknown   Members
}

// HTTPTransport posts messages to a URL: https, or http on loopback only
// (V-TLS-1, V-TLS-2).
type HTTPTransport struct {
	URL     string
	Unknown Members
}

// LocalTransport names a backend in the harness's own process. No document can
// hold one: the program that builds the chain provides the function under the
// backend's id.
type LocalTransport struct{}

func (*StdioTransport) transport() {}
func (*HTTPTransport) transport()  {}
func (*LocalTransport) transport() {}

// Bearer says where the bearer token comes from (V-AUTH-1). The token itself is
// never part of a registration (V-AUTH-2, V-REG-3).
type Bearer struct {
	TokenEnv string // name of an environment variable, read when a message is sent
	Unknown  Members
}

// A Subscription says which events a backend gets, and what for.
type Subscription struct {
	Events        []EventType // not empty, no repeats
	Mode          Mode
	Timeout       time.Duration // intercept only; whole milliseconds, positive (V-DL-1)
	FailurePolicy FailurePolicy // intercept only (AHP-FAIL-001)
	IncludeNative bool
	Unknown       Members
}

// Covers reports whether the subscription holds exactly this event type (V-REG-2).
func (s *Subscription) Covers(t EventType) bool {
	return slices.Contains(s.Events, t)
}
