package policy

import (
	"fmt"
	"slices"
)

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
	s := p.Message
	switch {
	case p.Line > 0:
		s = fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, max(p.Column, 1), p.Message)
	case p.File != "":
		s = p.File + ": " + p.Message
	}
	if p.Snippet != "" {
		s += "\n" + p.Snippet
	}
	return s
}

// Lint returns every problem of one policy file, as [Load] would report them, in
// the order of their place. name is used in the problems. Overrides are checked
// against the rules of the file and of the packs that it uses.
func Lint(name string, data []byte, o Options) []*Problem {
	return lint([]*file{parseFile(name, LayerUser, data)}, o)
}

// LintDir returns every problem of a policy folder. The error says why the folder
// could not be read, or must not be used.
func LintDir(dir string, o Options) ([]*Problem, error) {
	files, err := readLayers(dir, o)
	return lint(files, o), err
}

func lint(files []*file, o Options) []*Problem {
	_, problems := join(files, o)
	slices.SortStableFunc(problems, func(a, b *Problem) int {
		if a.File != b.File {
			return 0
		}
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return problems
}
