package wiredraft

import (
	"github.com/holdpoint/holdpoint/ahp"
)

func later() *Error {
	return &Error{Class: ahp.FailInternal, Code: ahp.CodeInternal, Found: "a codec that is being written", Expected: "patience"}
}

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
