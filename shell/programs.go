package shell

import (
	"maps"
	"slices"
	"strings"
)

// Programs is what [Analyze] knows of programs beyond its own table. It is
// immutable and safe for concurrent use.
type Programs struct {
	entries []*tableEntry
	text    string

	whole map[string]*spec   // instead of what the table says
	gains map[string][]*spec // beside it
}

// ParsePrograms reads text in the grammar of the program table (docs/policy.md),
// as the user's own word:
//
//   - `prog NAME…` teaches a program that neither the table nor code knows.
//   - `prog NAME…` for a known program adds to it: options that it has, what it
//     does with them, and what becomes of its operands. All that was known before
//     still holds. Such an entry has no dry, quiet, out, pass, wrap, dynamic or
//     routine, and its operands have the roles delete, deltree, exec, host, meta,
//     none, read, readtree, secret, upload, url, wipe, write, wtree.
//   - `replace NAME…` forgets what the table says of a program. Programs that are
//     judged by code, such as git or rm, cannot be replaced.
//
// name is used in errors. The error is a *[ProgramsError] with every fault. The
// text has at most [MaxProgramsBytes] bytes.
func ParsePrograms(name string, text []byte) (*Programs, error) {
	return parsePrograms(name, text, useTeach)
}

// ParseTightening reads text as [ParsePrograms] does, as the word of somebody who
// may only tighten, such as a project: every entry adds, whether the program is
// known or not. What [Analyze] finds with such entries is what it finds without
// them, in the same order, and then what they add.
func ParseTightening(name string, text []byte) (*Programs, error) {
	return parsePrograms(name, text, useTighten)
}

func parsePrograms(name string, text []byte, use tableUse) (*Programs, error) {
	p := &tableParser{file: name, use: use}
	p.parse(string(text))
	if len(p.problems) > 0 {
		return nil, programsError(p.problems)
	}
	head := "# teach\n"
	if use == useTighten {
		head = "# tighten\n"
	}
	out := &Programs{entries: p.entries, text: head + p.canon.String()}
	return out, out.compile()
}

func programsError(problems []*ProgramProblem) error {
	slices.SortStableFunc(problems, func(a, b *ProgramProblem) int { return a.Line - b.Line })
	return &ProgramsError{Problems: problems}
}

// maxGains bounds how many entries add to one program.
const maxGains = 64

// JoinPrograms makes one of several. Nil ones are passed over; no one left gives
// nil. Two entries that teach or replace the same program are an error, of the
// type *[ProgramsError].
func JoinPrograms(list ...*Programs) (*Programs, error) {
	list = slices.DeleteFunc(slices.Clone(list), func(p *Programs) bool { return p == nil })
	if len(list) < 2 {
		if len(list) == 0 {
			return nil, nil
		}
		return list[0], nil
	}
	out := &Programs{}
	var text strings.Builder
	for _, p := range list {
		out.entries = append(out.entries, p.entries...)
		text.WriteString(p.text)
	}
	out.text = text.String()
	if err := out.compile(); err != nil {
		return nil, err
	}
	return out, nil
}

// Text returns the entries in order, in one layout and without comments: equal
// texts teach the same.
func (p *Programs) Text() string {
	if p == nil {
		return ""
	}
	return p.text
}

// Names lists the programs that have an entry, sorted.
func (p *Programs) Names() []string {
	if p == nil {
		return nil
	}
	all := map[string]bool{}
	for _, e := range p.entries {
		for _, n := range e.spec.names {
			all[n] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// compile builds what is looked up while a text is judged.
func (p *Programs) compile() error {
	p.whole, p.gains = map[string]*spec{}, map[string][]*spec{}
	var problems []*ProgramProblem
	fail := func(e *tableEntry, found, expected string) {
		if len(problems) < maxTableProblems {
			problems = append(problems, &ProgramProblem{File: e.file, Line: e.line, Column: e.col, Found: found, Expected: expected})
		}
	}
	owner := map[string]*tableEntry{}
	for _, e := range p.entries {
		if e.gain {
			continue
		}
		for _, n := range e.spec.names {
			if first := owner[n]; first != nil {
				fail(e, shown(n)+", which has an entry at "+place(first), "one entry for each program")
				continue
			}
			owner[n] = e
			p.each(n, func(n string) { p.whole[n] = e.spec })
		}
	}
	grammar := func(n string) *spec {
		if s := p.whole[n]; s != nil {
			return s
		}
		return specFor(n)
	}
	for _, e := range p.entries {
		if !e.gain {
			continue
		}
		for _, n := range e.spec.names {
			if len(p.gains[n]) == maxGains {
				fail(e, "more than "+shown(n)+" can take", "at most 64 entries that add to one program")
				continue
			}
			own := grammar(n).bare()
			own.gain(e.spec)
			p.each(n, func(n string) { p.gains[n] = append(p.gains[n], own) })
		}
	}
	if len(problems) > 0 {
		return programsError(problems)
	}
	return nil
}

func place(e *tableEntry) string {
	return (&ProgramProblem{File: e.file, Line: e.line, Column: e.col}).at()
}

// each calls set for a name, and for its lower-case form, which is what systems
// that do not tell case apart look up.
func (p *Programs) each(name string, set func(string)) {
	set(name)
	if low := strings.ToLower(name); low != name {
		set(low)
	}
}

// bare copies the grammar of s, without what it does: options, subcommands and
// style, without roles. Nil gives an empty one.
func (s *spec) bare() *spec {
	if s == nil {
		return &spec{}
	}
	return s.bareOf(map[*spec]*spec{})
}

func (s *spec) bareOf(done map[*spec]*spec) *spec {
	if c := done[s]; c != nil {
		return c
	}
	c := &spec{names: s.names, posix: s.posix, single: s.single, kv: s.kv, nocase: s.nocase, long: slices.Clone(s.long)}
	done[s] = c
	if s.flags != nil {
		c.flags = make(map[string]*flagSpec, len(s.flags))
		for n, fs := range s.flags {
			f := *fs
			f.role = ""
			c.flags[n] = &f
		}
	}
	if s.subs != nil {
		c.subs = make(map[string]*spec, len(s.subs))
		for n, sub := range s.subs {
			c.subs[n] = sub.bareOf(done)
		}
	}
	return c
}

// gain adds to s, which is a copy of its own, what e says.
func (s *spec) gain(e *spec) {
	for n, fs := range e.flags {
		if s.flags == nil {
			s.flags = map[string]*flagSpec{}
		}
		if s.flags[n] == nil && strings.HasPrefix(n, "--") {
			s.long = append(s.long, n)
		}
		s.flags[n] = fs
	}
	slices.Sort(s.long)
	s.args = append(s.args, e.args...)
	s.acts = append(s.acts, e.acts...)
	s.opaque = append(s.opaque, e.opaque...)
	s.posix, s.single, s.kv, s.nocase = s.posix || e.posix, s.single || e.single, s.kv || e.kv, s.nocase || e.nocase
	for n, sub := range e.subs {
		if s.subs == nil {
			s.subs = map[string]*spec{}
		}
		// Subcommands of one line share one spec; here each gets its own, since
		// the entry may name only one of them.
		own := s.subs[n].bare()
		own.gain(sub)
		s.subs[n] = own
	}
}

// specFor gives what is known of a program, or nil.
func (m *machine) specFor(name string) *spec {
	if p := m.opts.Programs; p != nil {
		if s := p.whole[name]; s != nil {
			return s
		}
	}
	return specFor(name)
}

// knows reports whether the table, or who extends it, knows a program.
func (m *machine) knows(name string) bool {
	if p := m.opts.Programs; p != nil && p.whole[name] != nil {
		return true
	}
	return inTable(name)
}

// gainRoles are the roles of entries that add to a program. They say what becomes
// of an operand and change nothing else: what is known of files, folders and
// values stays as it was, so that such an entry cannot hide what comes later.
var gainRoles = map[string]bool{
	"none": true, "read": true, "readtree": true, "write": true, "wtree": true, "delete": true, "deltree": true, "wipe": true,
	"meta": true, "exec": true, "url": true, "upload": true, "host": true, "secret": true,
}

// maxAdded bounds what entries add to one text.
const maxAdded = 20_000

// added gathers what entries add, if any does. It is put behind all else at the end, so that
// nothing that is judged later can see it.
type added struct {
	actions   []Action
	undecided []Undecided
	full      bool
}

// gain judges x by the entries that add to its program.
func (x *inv) gain() {
	m := x.f.m
	for _, s := range m.opts.Programs.gains[x.name] {
		if m.added == nil {
			m.added = &added{}
		}
		y := &gainInv{inv: inv{f: x.f, args: x.args, name: x.name, env: x.env, span: x.span, cmd: x.cmd, spec: s, p: s.parse(m.s, x.args[1:]), dry: x.dry}}
		if !y.helps() {
			y.run()
		}
	}
}

type gainInv struct{ inv }

func (x *gainInv) run() {
	leaf := x.p.leaf()
	for i := range x.p.flags {
		if fl := &x.p.flags[i]; fl.role != "" && fl.has && fl.name != "" {
			x.role(fl.role, fl.val)
		}
	}
	for i := range leaf.args {
		if r := &leaf.args[i]; x.holds(r.cond) {
			eachRole(r.roles, x.p.pos, x.role)
			break
		}
	}
	for _, s := range x.p.specs {
		for i := range s.acts {
			a := &s.acts[i]
			if s != leaf && !onFlag(a.cond) || !x.holds(a.cond) {
				continue
			}
			act := Action{Kind: a.kind, Detail: a.detail}
			if a.at > 0 && a.at <= len(x.p.pos) {
				act.Name = plain(x.p.pos[a.at-1].s)
			}
			x.add(act)
		}
		for i := range s.opaque {
			if o := &s.opaque[i]; !x.dry && (s == leaf || onFlag(o.cond)) && x.holds(o.cond) {
				x.undecided(TargetOpaque, x.name+" "+o.detail, x.span)
			}
		}
	}
}

// add records an action.
func (x *gainInv) add(a Action) {
	m := x.f.m
	if len(m.added.actions) >= maxAdded {
		m.added.full = true
		return
	}
	a.Command, a.Dry, a.Added = x.cmd+1, x.dry, true
	x.f.complete(&a)
	m.added.actions = append(m.added.actions, a)
}

func (x *gainInv) undecided(r Reason, detail string, at Span) {
	m := x.f.m
	if len(m.added.undecided) >= maxAdded {
		m.added.full = true
		return
	}
	if x.f.nested {
		at = x.f.base
	}
	m.added.undecided = append(m.added.undecided, Undecided{Reason: r, Detail: plain(detail), Material: true, Command: x.cmd, Span: at})
}

// role records what becomes of an operand.
func (x *gainInv) role(role string, v value) {
	f := x.f
	if i := strings.LastIndexByte(v.s, 0); i >= 0 {
		v.s = v.s[:i]
	}
	if v.s == "" || v.s == "-" && role != "upload" {
		return
	}
	at := func(k Kind, p Path) Action { return Action{Kind: k, Path: p, Span: v.span} }
	switch role {
	case "read", "readtree":
		x.add(at(FileRead, f.resolve(v)))
	case "write", "wtree":
		x.add(at(FileWrite, f.resolve(v)))
	case "delete", "deltree":
		a := at(FileDelete, f.resolveEntry(v))
		a.Recursive = role == "deltree"
		x.add(a)
		if a.Path.Unresolved && a.Recursive && !x.dry {
			x.undecided(PathUnresolved, v.s, v.span)
		}
	case "wipe":
		x.add(at(FileWipe, f.resolve(v)))
	case "meta":
		x.add(at(FileMeta, f.resolve(v)))
	case "exec":
		x.add(at(FileExec, f.resolve(v)))
		if !x.dry {
			x.undecided(ScriptUnknown, v.s, x.span)
		}
	case "url":
		x.add(Action{Kind: NetFetch, URL: plain(v.s), Host: plain(hostOf(v.s)), Span: v.span})
	case "upload":
		if v.s != "-" {
			x.add(at(FileRead, f.resolve(v)))
		}
		x.add(Action{Kind: NetUpload, Span: v.span})
	case "host":
		x.add(Action{Kind: NetConnect, Host: plain(v.s), Span: v.span})
	case "secret":
		if looksSecret(v.s) {
			x.add(Action{Kind: SecretLiteral, Span: v.span})
		}
	}
}

// finishAdded puts what entries add behind all else.
func (m *machine) finishAdded() {
	if m.added == nil {
		return
	}
	if m.added.full {
		m.breach("nodes", Span{})
	}
	m.res.Actions = append(m.res.Actions, m.added.actions...)
	m.res.Undecided = append(m.res.Undecided, m.added.undecided...)
}
