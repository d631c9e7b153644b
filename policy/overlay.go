package policy

import (
	"errors"
	"slices"
	"strings"
)

// ProjectPrefix begins the names of the rules of a project overlay, and of what an
// overlay makes of other rules, in decisions and records. No rule of a user's can
// have such a name.
const ProjectPrefix = "project:"

// The bounds on the overlay of one project. It comes from a repository, so it must
// cost little to read.
const (
	MaxOverlayBytes = 32 << 10
	MaxOverlayRules = 64
)

// RuleOverlay is the name of the flag that says that the overlay of a project was
// left out.
const RuleOverlay = ProjectPrefix + "overlay"

// ErrNoOverlay is returned by [Set.WithOverlay] of a set that was loaded without
// [Options.Overlayable].
var ErrNoOverlay = errors.New("policy: the set was not loaded to take overlays")

// setFiles is what a set was made of.
type setFiles struct {
	files []*file
	opts  Options
}

// WithOverlay returns the policy with the overlay of a project joined to it; s stays
// as it is. data is one policy file, name stands for it in problems. The error joins
// every [Problem].
//
// The result must not decide alone, although an overlay can only add: a condition
// may ask for the absence of a fact. Let s decide as well, and take the stricter
// ([Decision.Stricter]).
func (s *Set) WithOverlay(name string, data []byte) (*Set, error) {
	if s.made == nil {
		return nil, ErrNoOverlay
	}
	over := parseOverlay(name, data)
	files := make([]*file, 0, len(s.made.files)+1)
	for _, f := range s.made.files {
		files = append(files, f.clean())
	}
	set, problems := join(append(files, over), s.made.opts)
	if len(problems) > 0 {
		return nil, joinProblems(problems)
	}
	return set, nil
}

// LintOverlay returns every problem of the overlay of a project, as [Set.WithOverlay]
// would report them for a user whose policy is the packs of o.
func LintOverlay(name string, data []byte, o Options) []*Problem {
	return lint([]*file{parseOverlay(name, data)}, o)
}

func parseOverlay(name string, data []byte) *file {
	if len(data) > MaxOverlayBytes {
		d := &document{file: name}
		d.failAt(0, 0, "", "file is more than %d bytes", MaxOverlayBytes)
		return &file{doc: d, layer: LayerProject}
	}
	f := parseFile(name, LayerProject, data)
	if n := len(f.rules); n > MaxOverlayRules {
		f.doc.failAt(0, 0, "/rules", "the overlay has %d rules, want at most %d", n, MaxOverlayRules)
	}
	for _, r := range f.rules {
		r.rule.Name = ProjectPrefix + r.rule.Name
	}
	return f
}

// clean is f for another join, which writes down its own problems.
func (f *file) clean() *file {
	c := *f
	c.doc = &document{file: f.doc.file, lines: f.doc.lines}
	return &c
}

// Stricter returns d as the overlay of a project leaves it: with is what the policy
// with that overlay says of the same operation. What only the overlay brings in is
// named with [ProjectPrefix]. Nothing that d refuses, asks or flags is lost, and
// what d does to an operation that may run is not changed.
func (d Decision) Stricter(with Decision) Decision {
	d.Overlays = append(slices.Clip(d.Overlays), with.Digest)
	d.Hazards = sorted(d.Hazards, with.Hazards)
	d.FactsRead = sorted(d.FactsRead, with.FactsRead)
	d.Undecidable = d.Undecidable || with.Undecidable
	d.Flags = addProject(d.Flags, with.Flags)
	d.Shadow = addProject(d.Shadow, with.Shadow)
	switch {
	case d.Denied():
	case with.Denied():
		d.take(&with)
		d.Breach = with.Breach
		d.settle()
	default:
		d.Asks = addProject(d.Asks, with.Asks)
		if d.Effect == EffectNone && with.Effect == EffectAsk {
			d.take(&with)
		}
	}
	return d
}

// take is what with decided, by the name of the project.
func (d *Decision) take(with *Decision) {
	d.Effect, d.Rule = with.Effect, projectName(with.Rule)
	d.Reason, d.Message, d.Code, d.Severity = with.Reason, with.Message, with.Code, with.Severity
}

func projectName(rule string) string {
	if rule == "" || strings.HasPrefix(rule, ProjectPrefix) {
		return rule
	}
	return ProjectPrefix + rule
}

// addProject adds to a what it lacks of b.
func addProject(a, b []Fired) []Fired {
	for _, f := range b {
		if slices.ContainsFunc(a, func(o Fired) bool { return o.Rule == f.Rule }) {
			continue
		}
		f.Rule = projectName(f.Rule)
		if !slices.ContainsFunc(a, func(o Fired) bool { return o.Rule == f.Rule }) {
			a = append(slices.Clip(a), f)
		}
	}
	return a
}

// WithoutOverlay returns d with the flag that the overlay of a project was left out,
// and why: a short text without names or content of the project.
func (d Decision) WithoutOverlay(why string) Decision {
	d.Flags = addProject(d.Flags, []Fired{{
		Rule: RuleOverlay, Effect: EffectFlag, Severity: SeverityMedium, Reason: "The overlay of the project was left out: " + why,
	}})
	return d
}

// SameFacts reports whether facts that were extracted for s serve for with, too:
// both know the same of programs, and with reads no secrets that s does not.
func (s *Set) SameFacts(with *Set) bool {
	return (s.secrets || !with.secrets) && s.programs.Text() == with.programs.Text()
}
