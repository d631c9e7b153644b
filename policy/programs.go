package policy

import (
	"errors"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/holdpoint/holdpoint/shell"
)

const programsPtr = "/programs"

// parsePrograms reads what a file teaches of programs: the user's whole, a
// project's only as far as it tightens.
func (f *file) parsePrograms(n *yaml.Node, ptr string) {
	d := f.doc
	parse := shell.ParsePrograms
	switch f.layer {
	case LayerUser:
	case LayerProject:
		parse = shell.ParseTightening
	default:
		d.fail(n, ptr, "a pack cannot teach programs")
		return
	}
	text, ok := d.text(n, ptr, shell.MaxProgramsBytes)
	if !ok {
		return
	}
	f.programsAt = n
	programs, err := parse(d.file, []byte(text))
	f.programs = programs
	f.programsError(err)
}

// programsError reports faults in the text of programs at their place in the file.
func (f *file) programsError(err error) {
	if err == nil {
		return
	}
	d := f.doc
	pe, ok := errors.AsType[*shell.ProgramsError](err)
	if !ok {
		d.fail(f.programsAt, programsPtr, "%s", err)
		return
	}
	for _, p := range pe.Problems {
		line, col, exact := f.programsPlace(p)
		d.failAt(line, col, programsPtr, "%s", p.Message())
		if exact || p.Line == 0 {
			continue
		}
		if lines := strings.Split(f.programsAt.Value, "\n"); p.Line <= len(lines) {
			d.show(lines[p.Line-1], p.Column)
		}
	}
}

func (f *file) programsPlace(p *shell.ProgramProblem) (line, col int, exact bool) {
	if p.Line == 0 {
		return f.programsAt.Line, f.programsAt.Column, false
	}
	return f.doc.inScalar(f.programsAt, p.Line, p.Column)
}

// joinPrograms makes one of what the files teach, the user's first.
func joinPrograms(files []*file) *shell.Programs {
	var list []*shell.Programs
	for _, layer := range []string{LayerUser, LayerProject} {
		for _, f := range files {
			if f.layer == layer && f.programs != nil {
				list = append(list, f.programs)
			}
		}
	}
	all, err := shell.JoinPrograms(list...)
	if pe, ok := errors.AsType[*shell.ProgramsError](err); ok {
		for _, p := range pe.Problems {
			i := slices.IndexFunc(files, func(f *file) bool { return f.doc.file == p.File && f.programsAt != nil })
			files[max(i, 0)].programsError(&shell.ProgramsError{Problems: []*shell.ProgramProblem{p}})
		}
	}
	return all
}
