package policy

import "fmt"

// A Problem is one fault of a policy file.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`              // 1-based; 0 when the fault has no place
	Column  int    `json:"column"`            // 1-based, in characters
	Pointer string `json:"pointer"`           // JSON pointer into the file
	Message string `json:"message"`           // what was found and what was expected
	Snippet string `json:"snippet,omitempty"` // the line and a caret under the place
}

// Error returns "file:line:column: message", and the snippet below it.
func (p *Problem) Error() string {
	s := fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
	if p.Snippet != "" {
		s += "\n" + p.Snippet
	}
	return s
}

// Lint returns every problem of one policy file, as [Load] would report them.
// name is used in the problems. Overrides of rules in packs are checked against
// the packs that the file names.
func Lint(name string, data []byte, o Options) []*Problem { return nil }

// LintDir returns every problem of a policy folder.
func LintDir(dir string, o Options) []*Problem { return nil }
