package policy

import (
	"context"
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/facts"
)

// An Engine compiles conditions. policy/cel has the first;
// the gateway and the command line name the one they use. Engines must be safe
// for concurrent use.
type Engine interface {
	// Name identifies the engine and its revision; it is part of the digest.
	Name() string
	// Compiler returns a compiler for conditions that may use the named lists.
	Compiler(lists map[string][]string) (Compiler, error)
}

// A Compiler compiles the conditions of one policy.
type Compiler interface {
	// Compile checks the text of one `when` and makes it ready. A bad condition
	// gives a *CompileError.
	Compile(text string) (Program, error)
	// CompileValue checks the text of a value expression, as the merge of a rule
	// is, and makes it ready. A bad one, or one whose type can never be want,
	// gives a *CompileError.
	CompileValue(text string, want ValueType) (ValueProgram, error)
}

// A Program is a compiled condition. It is immutable and safe for concurrent
// use.
type Program interface {
	// Eval reports whether the condition holds. An error means that it could
	// not be told, and is never read as false: *EvalError.
	Eval(ctx context.Context, in *Input) (bool, error)
	// Needs says what the condition reads, from its text alone.
	Needs() Needs
}

// Needs is what a condition reads.
type Needs struct {
	// Facts names the facts that it reads (`hazards`, `tool.kind`), sorted.
	Facts []string

	// Any, when not nil, lists keys of which at least one must hold for the
	// condition to be true and before it can fail. Nil means that nothing is
	// known: the condition is evaluated for every event.
	Any []Key
}

// A Key is a fact that can be looked up without evaluating anything. The forms
// are the constants below, each with a value where one is named.
type Key struct {
	Kind  KeyKind
	Value string
}

// KeyKind is the class of a [Key].
type KeyKind string

// The kinds of keys.
const (
	KeyHazard    KeyKind = "hazard"     // Value is a code that is present
	KeyPresent   KeyKind = "present"    // Value is a root list that is not empty, or tool.undecidable when that is true
	KeyFileOp    KeyKind = "file op"    // Value is an operation that some file has
	KeyTouch     KeyKind = "touches"    // Value is an operation or "any", a space, and a path pattern that names such a file
	KeyToolName  KeyKind = "tool.name"  // Value is the tool's name
	KeyToolKind  KeyKind = "tool.kind"  // Value is the tool's kind
	KeyEventType KeyKind = "event.type" // Value is the event's type
	KeyProgram   KeyKind = "program"    // Value is a program in the command line
	KeyMCPServer KeyKind = "mcp.server" // Value is the MCP server
)

// An Input is what a condition is evaluated over. It is made by [NewInput] once
// per event and allow-list, and must not be used by two goroutines at once.
type Input struct {
	Facts *facts.Facts

	// Cache belongs to the engine: what it derived from Facts, so that the next
	// condition need not derive it again.
	Cache any
}

// NewInput returns an input over f.
func NewInput(f *facts.Facts) *Input { return &Input{Facts: f} }

// A CompileError lists what is wrong with a condition.
type CompileError struct {
	Problems []CompileProblem
}

// A CompileProblem is one fault in a condition.
type CompileProblem struct {
	Line    int // 1-based line in the condition's text
	Column  int // 1-based column, in characters
	Message string
}

// Error lists the problems, one a line.
func (e *CompileError) Error() string {
	var b strings.Builder
	for i, p := range e.Problems {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%d:%d: %s", p.Line, p.Column, p.Message)
	}
	return b.String()
}

// EvalCause says why a condition could not be evaluated.
type EvalCause string

// The causes.
const (
	CauseCost        EvalCause = "cost"        // the bound on work was reached
	CauseInterrupted EvalCause = "interrupted" // the context ended
	CauseError       EvalCause = "error"       // a missing map key, an index out of range, …
)

// An EvalError means that a rule failed while it ran. The decision is then
// unknown, and the backend has failed: it is never "no match" (design, decision
// 10). Its text names the rule and no fact value.
type EvalError struct {
	Rule  string
	Cause EvalCause
	Err   error // for our log only; may quote facts
}

// Error names the rule and the cause.
func (e *EvalError) Error() string {
	return fmt.Sprintf("rule %s: evaluation failed (%s)", e.Rule, e.Cause)
}

// Unwrap returns the engine's own error.
func (e *EvalError) Unwrap() error { return e.Err }
