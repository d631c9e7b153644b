package wire01

import (
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// An Error says why a message was refused. It holds no value of the message, and
// no member name that the protocol does not define, so its text may go to logs
// and, from a backend, to the peer.
type Error struct {
	Class ahp.FailureClass // what the refusal is on the harness's side (AHP 0.1 section 8.1)
	Code  ahp.ErrorCode    // what a backend answers (AHP 0.1 section 10)

	// ID is the id to answer with: the request's string or integer, token for
	// token, where it could be read; nil otherwise, which is null on the wire.
	ID ahp.Raw

	// Notification means that the message has a method and no id, so that it is
	// never answered, not even with this error (V-ENV-4).
	Notification bool

	Pointer  string // JSON pointer, cut at the last name that the protocol defines
	Offset   int    // bytes into the message
	Found    string // the sort of thing found
	Expected string // what belongs there
}

// Error says where, what was found and what was expected.
func (e *Error) Error() string {
	var b strings.Builder
	if e.Pointer != "" {
		b.WriteString(e.Pointer)
		b.WriteString(": ")
	}
	b.WriteString("found ")
	b.WriteString(e.Found)
	b.WriteString(", expected ")
	b.WriteString(e.Expected)
	return b.String()
}

// Failure returns the error as the harness records it.
func (e *Error) Failure() *ahp.Failure {
	return &ahp.Failure{Class: e.Class, Pointer: e.Pointer, Err: e}
}

func newError(p *walk.Problem) *Error {
	return &Error{Class: p.Class, Code: p.Code, Pointer: p.Pointer, Offset: p.Off, Found: p.Found, Expected: p.Expected}
}

// Severity grades a [Problem].
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"   // the file is not usable
	SeverityWarning Severity = "warning" // it is, but something will not do what it seems to
)

// A Problem is one finding in a file: where it is, what was found there and what
// was expected.
type Problem struct {
	File     string   `json:"file"`
	Pointer  string   `json:"pointer"` // JSON pointer (RFC 6901); empty for the whole document
	Line     int      `json:"line"`    // from 1
	Column   int      `json:"column"`  // from 1, in code points
	Found    string   `json:"found"`
	Expected string   `json:"expected"`
	Severity Severity `json:"severity"`
}

// Error is the finding on one line: file:line:column: pointer: found, expected.
func (p Problem) Error() string {
	var b strings.Builder
	if p.File != "" {
		b.WriteString(p.File)
		b.WriteByte(':')
	}
	b.WriteString(strconv.Itoa(p.Line))
	b.WriteByte(':')
	b.WriteString(strconv.Itoa(p.Column))
	b.WriteString(": ")
	if p.Severity == SeverityWarning {
		b.WriteString("warning: ")
	}
	if p.Pointer != "" {
		b.WriteString(p.Pointer)
		b.WriteString(": ")
	}
	b.WriteString("found ")
	b.WriteString(p.Found)
	b.WriteString(", expected ")
	b.WriteString(p.Expected)
	return b.String()
}
