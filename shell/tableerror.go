package shell

import (
	"fmt"
	"strconv"
	"strings"
)

// A ProgramProblem is one fault of a text in the grammar of the program table.
type ProgramProblem struct {
	File     string // the name that was given with the text
	Line     int    // 1-based; 0 when the fault has no place
	Column   int    // 1-based, in characters
	Found    string
	Expected string
}

// Message says what was found and what was expected, without the place.
func (p *ProgramProblem) Message() string { return "found " + p.Found + ", expected " + p.Expected }

// Error returns "file:line:column: found …, expected …".
func (p *ProgramProblem) Error() string { return p.at() + ": " + p.Message() }

func (p *ProgramProblem) at() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// A ProgramsError lists every fault of the texts that teach programs, in the
// order of their places.
type ProgramsError struct{ Problems []*ProgramProblem }

// Error lists the problems, one a line.
func (e *ProgramsError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// shown quotes what was found, cut to a length that fits a line.
func shown(s string) string {
	if len(s) > 60 {
		s = s[:60] + "…"
	}
	return strconv.Quote(s)
}
