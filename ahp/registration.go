package ahp

import (
	"strings"
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
	OAuth         *OAuth    // draft, HTTP only, instead of Auth; nil when absent
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

// Bearer says where the bearer token comes from (V-AUTH-1, AHP draft section 22.4).
// The token itself is never part of a registration (V-AUTH-2, V-REG-3, D-REG-5).
// Exactly one of the two is set; revision 0.1 has TokenEnv only.
type Bearer struct {
	TokenEnv string // name of an environment variable, read when a message is sent
	TokenRef string // draft: names a secret of the host's
	Unknown  Members
}

// OAuth says how a token is got (AHP draft section 22.4).
type OAuth struct {
	Issuer          string // https
	Resource        string
	ClientID        string
	Flow            string   // authorization_code_pkce, client_credentials
	Scopes          []string // nil when absent
	ClientSecretRef string   // empty when absent
	Unknown         Members
}

// Upload says where attachments go (AHP draft section 22.3).
type Upload struct {
	Endpoint string
	Timeout  time.Duration // whole milliseconds, positive
	MaxBytes int64
	Auth     *Bearer // nil when absent; never the event credential
	OAuth    *OAuth  // instead of Auth
	Unknown  Members
}

// Filters are hints (D-SUB-4): a call of unknown or missing kind is never dropped
// for them.
type Filters struct {
	ToolKinds []ToolKind // nil when absent
	Paths     []string   // nil when absent
	Unknown   Members
}

// A Subscription says which events a backend gets, and what for.
type Subscription struct {
	// Events is not empty and has no repeats. In revision draft an entry may also be
	// "*", or a first segment and ".*" (D-SUB-1).
	Events        []EventType
	Mode          Mode
	Timeout       time.Duration // intercept only; whole milliseconds, positive (V-DL-1)
	FailurePolicy FailurePolicy // intercept only (AHP-FAIL-001)
	IncludeNative bool

	// The members up to Disableable belong to revision draft (section 22.2).

	ID          string           // local; empty when absent
	Content     ContentSelection // required there
	Upload      *Upload
	Filters     *Filters
	Scope       Scope // empty when absent
	Disableable *bool // required and false with ScopeManaged

	Unknown Members
}

// Covers reports whether the subscription selects events of this type: by their
// exact name (V-REG-2), and in revision draft by a wildcard (D-SUB-1, D-SUB-2: of a
// wildcard, intercept subscriptions select interceptable types only).
func (s *Subscription) Covers(t EventType) bool {
	for _, e := range s.Events {
		if e == t {
			return true
		}
		family, ok := strings.CutSuffix(string(e), "*")
		if ok && strings.HasPrefix(string(t), family) && (s.Mode != ModeIntercept || t.Interceptable(VersionDraft)) {
			return true
		}
	}
	return false
}
