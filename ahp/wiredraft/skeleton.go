package wiredraft

import (
	"github.com/holdpoint/holdpoint/ahp"
)

// MessageKind is the JSON-RPC kind of a message.
type MessageKind string

// The kinds of message.
const (
	Request       MessageKind = "request"
	Notification  MessageKind = "notification"
	Response      MessageKind = "response"
	ErrorResponse MessageKind = "errorResponse"
)

// A Message is one decoded JSON-RPC message of revision draft.
type Message struct {
	Kind MessageKind
	ID   ahp.Raw // string, integer or, in a response, null, token for token; nil in a notification

	Method       ahp.Method       // requests and notifications
	Version      ahp.Version      // all but error responses
	Event        *ahp.Event       // hooks/intercept and hooks/observe
	EventText    ahp.Raw          // the event as it was sent
	Capabilities ahp.Capabilities // hooks/intercept: what the harness can enforce now
	State        *ahp.State       // hooks/intercept; nil when absent (D-STATE-1)
	Effects      []ahp.Effect     // responses to hooks/intercept
	Manifest     *ahp.Manifest    // responses to hooks/capabilities
	RPCError     *RPCError        // error responses

	Extensions    ahp.Members // of params or result
	HasExtensions bool        // tells an empty extensions object from an absent one

	BodyUnknown ahp.Members // members of params, result or error outside the protocol
	Unknown     ahp.Members // members of the envelope outside the protocol
}

// RPCError is the error object of an error response.
type RPCError struct {
	Code    ahp.ErrorCode // zero if it does not fit 32 bits
	Message string        // the peer's text: not fit for a model, a log or a third party
	Data    ahp.Raw       // nil when absent
}

// SharedText returns the event as it was sent, as a piece of the one string of held
// bytes to which the strings of the event belong, too: who keeps some of them keeps
// them all. Of a message over 8 KB, whose strings have memory of their own, and of
// one without an event it returns nothing.
func (m *Message) SharedText() (event string, held int) { return "", 0 }

func later() *Error {
	return &Error{Class: ahp.FailInternal, Code: ahp.CodeInternal, Found: "a codec that is being written", Expected: "patience"}
}

// Decode reads one message of any kind. What has a method is a request or a
// notification, and all else a response. A response is judged without its
// request: any id, and all that the revision lets some harness offer at some event.
//
// The error, if any, is an [*Error].
func Decode(frame []byte, l Limits) (*Message, error) { return nil, later() }

// DecodeEvent reads an event without its message, of any type of the revision.
// The error, if any, is an [*Error].
func DecodeEvent(data []byte, l Limits) (*ahp.Event, error) { return nil, later() }

// DecodeRequest reads what a harness sends to a backend: a hooks/intercept or
// hooks/capabilities request, or a hooks/observe notification. Of several faults the
// one that the check order puts first decides the code (D-ERR-3): parse, JSON-RPC
// shape, method, version, event type, capabilities, remaining fields.
func DecodeRequest(frame []byte, l Limits) (*Message, *Error) { return nil, later() }

// TooLarge is what [DecodeRequest] says about a message over the size limit, of
// which only a beginning was kept. The id of the answer is looked for there; where
// the method comes before the cut and no id does, nothing is answered, since it
// might be a notification.
func TooLarge(beginning []byte, l Limits) *Error { return later() }

// DecodeResponse reads a backend's answer to the hooks/intercept request with this
// id, for an event of type at, with these capabilities. The checks run in this order,
// each with its class: JSON and JSON-RPC (D-FC-6), echo of the id (D-FC-7), version
// (D-FC-9, D-FC-10), exactly one of result and error (D-FC-6, D-FC-8), then the
// effects (D-FC-10, D-FC-11): shape, offer, value at this boundary (section 10, steps
// 2 to 5). The codes -32001 and -32002 are class unsupported, every other one
// rpc_error.
//
// It returns the effects in their order and no failure, or no effects and a failure
// that names no backend yet. An empty at is any event, and nil caps are all that the
// event's bounds allow.
func DecodeResponse(frame []byte, id string, at ahp.EventType, caps *ahp.Capabilities, l Limits) ([]ahp.Effect, *ahp.Failure) {
	return nil, later().Failure()
}

// DecodeCapabilitiesResponse reads the answer to the hooks/capabilities request with
// this id, token for token as it was sent. Checks and classes are those of
// [DecodeResponse].
func DecodeCapabilitiesResponse(frame []byte, id ahp.Raw, l Limits) (*ahp.Manifest, *ahp.Failure) {
	return nil, later().Failure()
}

// CheckEffects says what in effects does not fit the event that they answer, beside
// what [DecodeResponse] checks with the event's type alone: elicitation results
// against the request's mode and form (D-EL-5, D-EL-11 to D-EL-13). The failure is of
// class invalid_effect and names no backend.
func CheckEffects(ev *ahp.Event, effects []ahp.Effect) *ahp.Failure { return nil }

// AppendIntercept appends a hooks/intercept request for the event to dst: one
// line, without its line feed. The request's id is the event's (D-ENV-2). A nil state
// is left out. With exts not nil, params has an extensions object, which may be empty.
//
// The event must be valid and interceptable, and the capabilities within its bounds.
// On an error dst comes back as it was, and the error is an [*Error] of class
// [ahp.FailEvent].
func AppendIntercept(dst []byte, ev *ahp.Event, caps *ahp.Capabilities, state *ahp.State, exts ahp.Members) ([]byte, error) {
	return dst, later()
}

// AppendObserve appends a hooks/observe notification for the event to dst: one
// line, without its line feed, and without an id (D-ENV-4). Errors are those of
// [AppendIntercept]; any event type of the revision will do.
func AppendObserve(dst []byte, ev *ahp.Event) ([]byte, error) { return dst, later() }

// AppendEvent appends the event alone to dst, as one line. Errors are those of
// [AppendIntercept]; any event type of the revision will do.
func AppendEvent(dst []byte, ev *ahp.Event) ([]byte, error) { return dst, later() }

// AppendResult appends a successful answer to the hooks/intercept request with this
// id to dst: one line, without its line feed. The id is the request's, token for
// token. The effects are checked as [DecodeResponse] checks them, for an event of
// type at and the capabilities that the request offered. No effects mean no objection
// (AHP-DEC-003). With exts not nil, result has an extensions object, which may be
// empty. On an error dst comes back as it was, and the error is an [*Error].
func AppendResult(dst []byte, id ahp.Raw, at ahp.EventType, caps *ahp.Capabilities, effects []ahp.Effect, exts ahp.Members) ([]byte, error) {
	return dst, later()
}

// AppendError appends an error answer to dst: one line, without its line feed. A
// nil id is null: the answer to what could not be read. A nil data is left out.
// The message goes to the peer: no cause, path or payload belongs in it (D-ERR-2).
// On an error dst comes back as it was, and the error is an [*Error].
func AppendError(dst []byte, id ahp.Raw, code ahp.ErrorCode, message string, data ahp.Raw) ([]byte, error) {
	return dst, later()
}

// AppendCapabilitiesRequest appends a hooks/capabilities request to dst: one line,
// without its line feed. The id is a string that is not empty or an integer, as JSON.
func AppendCapabilitiesRequest(dst []byte, id ahp.Raw) ([]byte, error) { return dst, later() }

// AppendCapabilitiesResult appends the answer to the hooks/capabilities request with
// this id to dst: one line, without its line feed.
func AppendCapabilitiesResult(dst []byte, id ahp.Raw, m *ahp.Manifest) ([]byte, error) {
	return dst, later()
}

// AppendEffect appends one effect as it stands in a response to dst, for
// [ahp.State.Injections]. It is checked for its shape alone: no event, no offer.
func AppendEffect(dst []byte, e ahp.Effect) ([]byte, error) { return dst, later() }

// RegOptions configures [ParseRegistration]. The zero value is the strict one.
type RegOptions struct {
	// LookupEnv answers whether the variable of a tokenEnv is set now, as
	// [os.LookupEnv] does. A missing or empty one is a warning, or an error with
	// StrictSecrets; the value is not kept. Nil skips the question.
	LookupEnv func(name string) (value string, ok bool)

	// LookupSecret answers whether the host has a secret of that name, for a tokenRef
	// or a clientSecretRef. Nil skips the question.
	LookupSecret func(ref string) bool

	// StrictSecrets makes a reference that does not resolve an error (D-SUB-9). With
	// a nil lookup of its kind, no reference resolves then.
	StrictSecrets bool

	// Manifest is what the harness advertises: selectors are held against it
	// (D-REG-4, D-SUB-7), and scopes (D-SUB-5). Nil is the whole catalogue and every
	// scope.
	Manifest *ahp.Manifest

	// AllowPlainHTTP accepts http URLs to hosts other than loopback, for local
	// development only (D-HTTP-7).
	AllowPlainHTTP bool

	Limits Limits // bounds the document; SingleLine is ignored
}

// ParseRegistration reads a registration document (AHP draft section 22). It
// reports all problems, not the first only: err joins them, each a [Problem]
// with file, position, found and expected, and one is enough for the whole
// document to be refused (D-REG-1). Warnings are reported beside a usable
// registration as well: members that nothing reads (D-REG-2), and references that
// do not resolve. Name is the file's name in problems. No text quotes a token, a
// URL or an argument.
func ParseRegistration(name string, data []byte, o RegOptions) (*ahp.Registration, []Problem, error) {
	return nil, nil, later()
}

// Kind says what a file holds.
type Kind string

// The kinds of file that [Lint] knows.
const (
	KindMessage      Kind = "message"      // one JSON-RPC message of any kind
	KindEvent        Kind = "event"        // an event without its message
	KindRegistration Kind = "registration" // a registration document
	KindManifest     Kind = "manifest"     // a capability manifest without its message
)

// LintOptions configures [Lint].
type LintOptions struct {
	// Request is the request that the message answers: its id, event and
	// capabilities then bind the response. Nil means that there is none.
	Request []byte
}

// Lint checks a file and returns every problem of it, in the order of the text,
// and the kind that it was checked as; an empty kind is guessed from the names
// of the outermost members.
func Lint(name string, data []byte, kind Kind, o LintOptions) ([]Problem, Kind) {
	return nil, kind
}
