package facts

import "github.com/holdpoint/holdpoint/ahp"

// InputUnreadable is the hazard of a call whose input is there but not in the form
// that its tool takes, in the one member that says what the call does: a command
// that is a number, a path that is an object. The tool may refuse it, or make
// something of it that nobody has judged. The taxonomy of commands lacks it, since
// no command line has it.
const InputUnreadable = "input.unreadable"

// A misfit is a member that could not be read.
type misfit struct {
	pointer string
	value   any
	set     bool
}

// note keeps the first value that holds too little to hide anything: a number, a
// boolean or null. It counts only when nothing else says what the call does, for
// agents fill members that they do not use with null.
func (m *misfit) note(pointer string, value any) {
	if !m.set {
		*m = misfit{pointer: pointer, value: value, set: true}
	}
}

// unreadable says that the member at pointer holds something else than want. The
// inputs of an agent's own tools have a known form. A server of MCP sets its own,
// so there the call is only not decided.
func (x *extractor) unreadable(pointer string, value any, want string) {
	x.f.Undecidable = true
	if x.f.MCP == nil {
		x.malformed(pointer, value, want)
	}
}

// malformed is unreadable for input whose form is known whatever the tool.
func (x *extractor) malformed(pointer string, value any, want string) {
	x.f.Undecidable = true
	h := Hazard{Code: InputUnreadable, Certainty: Certain, Detail: "found " + jsonKind(value) + ", want " + want, Span: Span{Pointer: pointer}}
	if len(x.f.Hazards) < maxHazards {
		x.f.Hazards = append(x.f.Hazards, h)
	}
}

// surePathKeys are the members that hold a path in every tool of the agents. The
// other names of pathKeys are switches or objects in some.
var surePathKeys = keySet("filepath", "path", "notebookpath", "absolutepath", "filename", "targetfile", "relativeworkspacepath",
	"paths", "filepaths", "directorypath", "targetnotebook", "relativepath", "pathname", "imagepath", "dirpath")

// sureURLKeys are that for addresses.
var sureURLKeys = keySet("url", "urls", "targeturl", "pageurl")

// fileKind reports the kinds of tools whose paths are read as what they are.
func fileKind(k ahp.ToolKind) bool {
	switch k {
	case ahp.KindFileRead, ahp.KindFileWrite, ahp.KindFileEdit, ahp.KindSearch:
		return true
	default:
		return false
	}
}
