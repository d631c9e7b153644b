package policy

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v4"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/jcs"
)

// Options configures [Load] and the Lint functions.
type Options struct {
	// Engine compiles conditions; required.
	Engine Engine

	// Packs are the packs to use when no file names any, for example
	// [DefaultPack]. Nil uses none.
	Packs []string

	// Overlays are project folders. Their rules are added, and their overrides
	// can only tighten (design, decision 11).
	Overlays []string

	// Overlayable keeps in memory what [Set.WithOverlay] needs.
	Overlayable bool

	// Roots are workspace roots. A policy folder inside one is refused.
	Roots []string

	// SkipFolderCheck leaves out [CheckFolder]. For tests and for looking at a
	// policy, never for one that decides.
	SkipFolderCheck bool
}

// Load reads the policy in dir, and checks it whole: the error joins every
// problem ([Problem]) of every file. An empty dir means no files, only
// [Options.Packs]. Files are those that end in .yaml or .yml and not in _test.yaml,
// ordered by name; sub-folders are not read.
//
// Rules are ordered: the user's, those of overlays, those of packs, each in the
// order of files and of their place in the file.
func Load(dir string, o Options) (*Set, error) {
	if o.Engine == nil {
		return nil, errors.New("policy: engine: required")
	}
	files, err := readLayers(dir, o)
	if err != nil {
		return nil, err
	}
	set, problems := join(files, o)
	if len(problems) > 0 {
		return nil, joinProblems(problems)
	}
	return set, nil
}

func joinProblems(problems []*Problem) error {
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

// readLayers reads and parses all files that o and dir name.
func readLayers(dir string, o Options) ([]*file, error) {
	var files []*file
	var errs []error
	read := func(dir, layer string) {
		if dir == "" {
			return
		}
		if !o.SkipFolderCheck && layer == LayerUser {
			if err := CheckFolder(dir, o.Roots); err != nil {
				errs = append(errs, err)
				return
			}
		}
		got, err := readFolder(dir, layer)
		if err != nil {
			errs = append(errs, err)
			return
		}
		files = append(files, got...)
	}
	read(dir, LayerUser)
	for _, d := range o.Overlays {
		read(d, LayerProject)
	}
	return files, errors.Join(errs...)
}

func readFolder(dir, layer string) ([]*file, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	var files []*file
	for _, e := range entries {
		if !policyFile(e.Name()) {
			continue
		}
		if len(files) == MaxFiles {
			return nil, fmt.Errorf("policy: %s: more than %d files", dir, MaxFiles)
		}
		name := filepath.Join(dir, e.Name())
		data, err := readBounded(name)
		if err != nil {
			return nil, fmt.Errorf("policy: %w", err)
		}
		files = append(files, parseFile(name, layer, data))
	}
	return files, nil
}

// readBounded reads a regular file up to one byte over the limit, which the
// parser then reports.
func readBounded(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: name, Err: errors.New("not a regular file")}
	}
	return io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
}

// join makes one set of all files, and finds what is wrong between them.
func join(files []*file, o Options) (*Set, []*Problem) {
	own := files
	files = append(slices.Clone(files), chosenPacks(files, o)...)
	set := &Set{engine: o.Engine.Name()}
	lists := map[string][]string{}
	byName := map[string]*ruleNode{}
	owner := map[string]*file{}

	for _, f := range files {
		for _, l := range f.lists {
			if _, dup := lists[l.name]; dup {
				f.doc.fail(l.at, l.ptr, "list %q is already defined", l.name)
				continue
			}
			lists[l.name] = l.items
		}
	}

	// User, overlays, packs: the order in which rules are evaluated.
	rank := func(f *file) int {
		switch f.layer {
		case LayerUser:
			return 0
		case LayerProject:
			return 1
		}
		return 2
	}
	ordered := slices.Clone(files)
	slices.SortStableFunc(ordered, func(a, b *file) int { return rank(a) - rank(b) })

	var nodes []*ruleNode
	for _, f := range ordered {
		for _, r := range f.rules {
			if first, dup := byName[r.rule.Name]; dup {
				f.doc.fail(r.at, r.ptr, "rule %q is already defined in %s:%d", r.rule.Name, first.rule.Origin.File, first.rule.Origin.Line)
				continue
			}
			c := *r // overrides change the copy, never a shared pack
			byName[r.rule.Name], owner[r.rule.Name] = &c, f
			nodes = append(nodes, &c)
		}
	}
	if len(nodes) > MaxRules {
		files[0].doc.failAt(0, 0, "/rules", "the policy has %d rules, want at most %d", len(nodes), MaxRules)
		nodes = nodes[:MaxRules]
	}

	// The user's overrides first, so that a project can only tighten the result.
	for _, layer := range []string{LayerUser, LayerProject} {
		for _, f := range files {
			if f.layer != layer {
				continue
			}
			set.allow = joinAllow(set.allow, f.allow)
			for _, ov := range f.overrides {
				r, ok := byName[ov.rule]
				if !ok {
					all := make([]string, 0, len(byName))
					for n := range byName {
						all = append(all, n)
					}
					slices.Sort(all)
					hint := ""
					if n := Nearest(ov.rule, all); n != "" {
						hint = fmt.Sprintf("; did you mean %q?", n)
					}
					f.doc.fail(ov.at, ov.ptr, "no rule %q%s", ov.rule, hint)
					continue
				}
				if layer == LayerUser && r.rule.Origin.Layer == LayerProject {
					f.doc.fail(ov.at, ov.ptr, "rule %q belongs to a project", ov.rule)
					continue
				}
				ov.apply(&r.rule)
			}
		}
	}

	set.programs = joinPrograms(files)

	compiler, err := o.Engine.Compiler(lists)
	if err != nil {
		p := &Problem{Message: err.Error()}
		return nil, []*Problem{p}
	}
	for _, n := range nodes {
		prog, err := compiler.Compile(n.rule.When)
		if err != nil {
			owner[n.rule.Name].expressionError(n.when, n.ptr+"/when", n.rule.When, err)
			continue
		}
		var value ValueProgram
		if text, key, want := n.rule.value(); text != "" {
			if value, err = compiler.CompileValue(text, want); err != nil {
				owner[n.rule.Name].expressionError(n.value, n.ptr+"/"+key, text, err)
				continue
			}
		}
		r := n.rule
		allow := r.Allow
		if r.Origin.Layer != LayerProject {
			allow = joinAllow(set.allow, allow)
		}
		set.add(&r, prog, value, allow)
	}

	var problems []*Problem
	for _, f := range files {
		problems = append(problems, f.doc.problems...)
	}
	if len(problems) > 0 {
		return nil, problems
	}
	set.index()
	if o.Overlayable {
		set.made = &setFiles{files: own, opts: o}
	}
	set.digest, err = digest(set, lists)
	if err != nil {
		return nil, []*Problem{{Message: err.Error()}}
	}
	return set, nil
}

// chosenPacks returns the files of the packs that the user's files name, or of
// the default ones.
func chosenPacks(files []*file, o Options) []*file {
	var refs []packRef
	said := false
	for _, f := range files {
		said = said || f.packsSaid
		for _, ref := range f.packs {
			if !slices.Contains(packNames(), ref.name) {
				hint := ""
				if n := Nearest(ref.name, packNames()); n != "" {
					hint = fmt.Sprintf("; did you mean %q?", n)
				}
				f.doc.fail(ref.at, ref.ptr, "no pack %q, want one of %s%s", ref.name, strings.Join(packNames(), ", "), hint)
				continue
			}
			if slices.ContainsFunc(refs, func(r packRef) bool { return r.name == ref.name }) {
				f.doc.fail(ref.at, ref.ptr, "pack %q is already chosen", ref.name)
				continue
			}
			refs = append(refs, ref)
		}
	}
	if !said {
		for _, name := range o.Packs {
			refs = append(refs, packRef{name: name, mode: ModeEnforce})
		}
	}
	var out []*file
	for _, ref := range refs {
		if !slices.Contains(packNames(), ref.name) {
			d := &document{file: "packs"}
			d.failAt(0, 0, "", "no pack %q, want one of %s", ref.name, strings.Join(packNames(), ", "))
			out = append(out, &file{doc: d, layer: layerPack + ref.name})
			continue
		}
		for _, f := range packFiles(ref.name) {
			c := *f
			c.doc = &document{file: f.doc.file, lines: f.doc.lines, problems: slices.Clone(f.doc.problems), faults: f.doc.faults}
			if ref.mode == ModeShadow {
				c.rules = nil
				for _, r := range f.rules {
					rc := *r
					rc.rule.Mode = ModeShadow
					c.rules = append(c.rules, &rc)
				}
			}
			out = append(out, &c)
		}
	}
	return out
}

func (ov *override) apply(r *Rule) {
	if ov.enabled != nil {
		r.Enabled = *ov.enabled
	}
	if ov.effect != nil {
		r.Effect = *ov.effect
		r.Merge, r.Replace, r.Text, r.TextFrom, r.DeliverAt = "", "", "", "", ""
	}
	if ov.mode != nil {
		r.Mode = *ov.mode
	}
	if ov.severity != nil {
		r.Severity = *ov.severity
	}
	if ov.reason != nil {
		r.Reason, r.Hint = *ov.reason, ""
	}
	if ov.hint != nil {
		r.Hint = *ov.hint
	}
	if ov.allow != nil {
		r.Allow = joinAllow(r.Allow, *ov.allow)
	}
}

func joinAllow(a, b Allow) Allow {
	return Allow{
		Paths:    slices.Concat(a.Paths, b.Paths),
		Hosts:    slices.Concat(a.Hosts, b.Hosts),
		Commands: slices.Concat(a.Commands, b.Commands),
	}
}

// expressionError reports the faults of the expression that stands at n, at their
// place in the file, or at its start with the expression's own line below.
func (f *file) expressionError(n *yaml.Node, ptr, text string, err error) {
	d := f.doc
	var ce *CompileError
	if !errors.As(err, &ce) {
		d.fail(n, ptr, "%s", err)
		return
	}
	for _, p := range ce.Problems {
		line, col, exact := d.inScalar(n, p.Line, p.Column)
		d.failAt(line, col, ptr, "%s", p.Message)
		if exact {
			continue
		}
		if lines := strings.Split(text, "\n"); p.Line <= len(lines) {
			d.show(lines[p.Line-1], p.Column)
		}
	}
}

// digest names the content of a set: engine, rules in order, lists, what it
// teaches of programs. Where a rule was written is left out.
func digest(s *Set, lists map[string][]string) (string, error) {
	type rule struct {
		Name     string   `json:"name"`
		When     string   `json:"when"`
		Effect   Effect   `json:"effect"`
		Mode     Mode     `json:"mode"`
		Enabled  bool     `json:"enabled"`
		Reason   string   `json:"reason"`
		Hint     string   `json:"hint"`
		Code     string   `json:"code"`
		Severity Severity `json:"severity"`
		Allow    Allow    `json:"allow"`

		Merge     string          `json:"merge,omitzero"`
		Replace   string          `json:"replace,omitzero"`
		Text      string          `json:"text,omitzero"`
		TextFrom  string          `json:"textFrom,omitzero"`
		DeliverAt ahp.Delivery    `json:"deliverAt,omitzero"`
		On        []ahp.EventType `json:"on,omitzero"`
	}
	content := struct {
		Format   int                 `json:"format"`
		Engine   string              `json:"engine"`
		Lists    map[string][]string `json:"lists"`
		Programs string              `json:"programs,omitzero"`
		Rules    []rule              `json:"rules"`
	}{Format: 1, Engine: s.engine, Lists: lists, Programs: s.programs.Text()}
	for _, r := range s.rules {
		content.Rules = append(content.Rules, rule{
			r.Name, r.When, r.Effect, r.Mode, r.Enabled, r.Reason, r.Hint, r.Code, r.Severity, r.allow,
			r.Merge, r.Replace, r.Text, r.TextFrom, r.DeliverAt, r.On,
		})
	}
	b, err := json.Marshal(content)
	if err != nil {
		return "", fmt.Errorf("policy: digest: %w", err)
	}
	return jcs.Digest(b)
}

// Parse makes a set of one file's text, with the packs that it names or those of
// o. It looks at no folder: overlays and folder checks do not apply.
func Parse(name string, data []byte, o Options) (*Set, error) {
	if o.Engine == nil {
		return nil, errors.New("policy: engine: required")
	}
	set, problems := join([]*file{parseFile(name, LayerUser, data)}, o)
	if len(problems) > 0 {
		return nil, joinProblems(problems)
	}
	return set, nil
}
