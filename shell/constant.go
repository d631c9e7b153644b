package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A condition that is nothing but true, false or : decides what runs. Text behind
// one that never holds is no danger, as long as these words mean what they say: a
// text that could give them another meaning is judged as if all of it ran.

// constant tells whether a statement always succeeds, or always fails, by its
// words alone.
func (f *frame) constant(s *syntax.Stmt) (holds, known bool) {
	if s == nil || s.Background || s.Coprocess || s.Disown || len(s.Redirs) > 0 || len(f.aliases) > 0 || f.m.renamed {
		return false, false
	}
	call, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) != 1 {
		return false, false
	}
	switch call.Args[0].Lit() {
	case "true", ":":
		return !s.Negated, true
	case "false":
		return s.Negated, true
	}
	return false, false
}

// alwaysOf is constant for the condition of an if or a loop.
func (f *frame) alwaysOf(cond []*syntax.Stmt) (holds, known bool) {
	if len(cond) != 1 {
		return false, false
	}
	return f.constant(cond[0])
}

// constantWord reports the words whose meaning conditions rest on.
func constantWord(name string) bool { return name == "true" || name == "false" || name == ":" }

// rename notes that one of these words may mean something else from here on: a
// function or an alias has its name, or code that is not known was read by the
// shell itself. bomb is set for a function that starts itself without end: that is
// another danger.
func (f *frame) rename(name string, at Span, bomb bool) {
	if !constantWord(name) {
		return
	}
	f.m.renamed = true
	if bomb {
		return
	}
	// Nobody does that but to make a reader, or a gate, misread what follows, maybe
	// in the next text that the same shell runs.
	f.disguise(at, "a word of the shell is given another meaning", -1)
}

// mayRename reports text that can give words another meaning by ways that are not
// followed: functions in the environment, builtins that are switched off, a new
// command path kept for a name.
func mayRename(text string) bool {
	return strings.Contains(text, "BASH_FUNC_") || strings.Contains(text, "enable") || strings.Contains(text, "hash ")
}
