package shell

import (
	"slices"
	"strings"
)

// psRun runs one PowerShell script.
type psRun struct {
	f         *frame
	m         *machine
	vars      map[string]psv
	funcs     map[string]*psBlock
	alias     map[string]string
	calls     []string
	connected *bool // a socket is open
}

func newPS(f *frame) *psRun {
	return &psRun{f: f, m: f.m, vars: map[string]psv{}, funcs: map[string]*psBlock{}, alias: map[string]string{}, connected: new(bool)}
}

// runPowerShell judges a PowerShell script.
func (m *machine) runPowerShell(text string) {
	f := newFrame(m)
	f.dialect = PowerShell
	r := newPS(f)
	out := r.script(text)
	r.show(out)
}

// script parses and runs a text in the current scope.
func (r *psRun) script(text string) psv {
	f, m := r.f, r.m
	if !f.mayRun(text) {
		return psv{}
	}
	b, p := parsePS(literal(text))
	if m.nodes += p.nodes / 4; m.nodes > m.lim.Nodes {
		m.breach("nodes", f.base)
		return psv{}
	}
	saved := f.text
	f.text = text
	out := r.block(b)
	f.text = saved
	if p.bad >= 0 {
		if p.msg == "nested too deep" {
			m.breach("depth", f.base)
		}
		at := f.base
		if !f.nested {
			at = Span{min(p.bad, len(text)), len(text)}
			if m.res.Malformed == nil {
				m.res.Malformed = &Malformed{Offset: p.bad, Message: p.msg}
			}
		}
		// PowerShell runs nothing of a script that it cannot read. What was read is
		// judged all the same, since hosts feed it line by line as well.
		m.undecided(TextMalformed, "", len(b.stmts) == 0, -1, at)
	}
	return out
}

// nest runs text as a script of its own kind.
func (r *psRun) nest(v value, via Via, fresh bool) psv {
	g := r.f.fork()
	g.depth++
	g.dialect = PowerShell
	g.via = append(slices.Clip(g.via), via)
	if !g.nested {
		g.nested, g.base = true, v.span
	}
	n := *r
	n.f = g
	if fresh {
		n.vars, n.funcs, n.alias = map[string]psv{}, map[string]*psBlock{}, map[string]string{}
		for k, x := range r.vars {
			if strings.HasPrefix(k, "env:") {
				n.vars[k] = x
			}
		}
	}
	out := n.script(v.text())
	if !fresh {
		r.f.cwd = g.cwd
	}
	return out
}

func (r *psRun) span(s Span) Span {
	if r.f.nested {
		return r.f.base
	}
	return s
}

// show records what printing does.
func (r *psRun) show(v psv) {
	for _, it := range v.items {
		for _, n := range it.vars {
			r.f.emit(Action{Kind: EnvPrint, Name: n, Span: it.span})
		}
	}
}

func (r *psRun) block(b *psBlock) psv {
	var out psv
	if b == nil {
		return out
	}
	for _, s := range b.stmts {
		if r.m.stop {
			break
		}
		out.append(r.stmt(s))
	}
	return out
}

// blocks runs one block after the other: which of them runs is not known.
func (r *psRun) blocks(bs []*psBlock) psv {
	var out psv
	for _, b := range bs {
		out.append(r.block(b))
	}
	return out
}

func (r *psRun) stmt(s psStmt) psv {
	if !r.m.step(r.f.base) {
		return psv{}
	}
	switch s := s.(type) {
	case nil:
	case *psChain:
		var out psv
		for _, p := range s.pipes {
			out.append(r.pipe(p))
		}
		return out
	case *psAssign:
		return r.assign(s)
	case *psIf:
		for _, c := range s.conds {
			r.quietly(c)
		}
		return r.blocks(s.blocks)
	case *psLoop:
		return r.loop(s)
	case *psParts:
		if s.head != nil {
			v := r.stmt(s.head)
			if len(s.blocks) > 0 {
				r.vars["_"] = v
			}
		}
		return r.blocks(s.blocks)
	case *psFunc:
		r.funcs[s.name] = s.body
	case *psReturn:
		if s.value != nil {
			return r.stmt(s.value)
		}
	}
	return psv{}
}

// quietly runs a condition: its values are tested, not shown.
func (r *psRun) quietly(s psStmt) psv {
	if s == nil {
		return psv{}
	}
	return r.stmt(s)
}

func (r *psRun) loop(l *psLoop) psv {
	var out psv
	f := r.f
	switch l.kind {
	case "foreach":
		list := r.quietly(l.list)
		items := list.items
		if len(items) == 0 {
			items = []value{unknownVal(0)}
		}
		for i, it := range items {
			if i > 64 || r.m.stop {
				break
			}
			r.setVar(l.name, psOf(it))
			out.append(r.block(l.body))
		}
		return out
	case "for":
		r.quietly(l.init)
	}
	endless := l.cond == nil && l.kind == "for"
	if l.cond != nil {
		c := r.quietly(l.cond)
		endless = c.one().known() && c.text() == "true" && l.kind != "for"
	}
	stops := false
	if l.body != nil {
		low := strings.ToLower(l.body.text)
		for _, w := range [...]string{"break", "return", "exit", "start-sleep", "sleep", "readline", "read-host", "-wait", "accept"} {
			stops = stops || strings.Contains(low, w)
		}
	}
	first := len(r.m.res.Commands)
	if endless && !stops {
		f.loops++
	}
	out.append(r.block(l.body))
	if endless && !stops {
		f.loops--
		for _, c := range r.m.res.Commands[first:] {
			switch c.Program {
			case "start-process", "start-job", "start-threadjob":
				f.emit(Action{Kind: Exhaust, Detail: "processes without bound", Span: r.span(l.span)})
			}
		}
		if l.body != nil && (strings.Contains(l.body.text, "+=") || strings.Contains(strings.ToLower(l.body.text), ".add(")) {
			f.emit(Action{Kind: Exhaust, Detail: "memory without bound", Span: r.span(l.span)})
		}
	}
	r.quietly(l.iter)
	return out
}

func (r *psRun) setVar(name string, v psv) { r.vars[strings.ToLower(name)] = v }

func (r *psRun) assign(a *psAssign) psv {
	v := psv{}
	if a.value != nil {
		v = r.stmt(a.value)
	}
	target := a.target
	if c, ok := target.(*psCast); ok {
		target = c.x
	}
	switch t := target.(type) {
	case *psVar:
		if t.scope == "env" {
			r.setEnv(t.name, v, r.span(a.span))
			return psv{}
		}
		if t.name == "null" {
			r.m.quiet(v.one())
			for _, it := range v.items {
				r.m.quiet(it)
			}
			return psv{}
		}
		name := strings.ToLower(t.name)
		if secretVar(name) {
			r.literalValue(v, r.span(a.span))
		}
		if a.op != "=" {
			old := r.vars[name]
			switch {
			case a.op == "+=" && old.arr:
				old.append(v)
				v = old
			case a.op == "+=":
				v = psOf(psConcat(old.one(), v.one()))
			case a.op == "??=" && !old.empty():
				v = old
			default:
				v = psUnknown(0)
			}
		}
		r.vars[name] = v
	case *psMember:
		obj := r.eval(t.obj)
		name := strings.ToLower(r.eval(t.name).text())
		if obj.hash != nil {
			obj.hash[name] = v
		}
		if name == "verb" && strings.EqualFold(v.text(), "runas") {
			r.f.emit(Action{Kind: PrivElevate, Detail: "", Span: r.span(a.span)})
		}
		r.memberSet(obj, name, v, r.span(a.span))
	case *psList:
		for i, x := range t.items {
			if n, ok := x.(*psVar); ok && i < len(v.items) {
				r.setVar(n.name, psOf(v.items[i]))
			}
		}
	default:
		r.eval(target)
	}
	return psv{}
}

// literalValue records a credential that is given to a name which says so.
func (r *psRun) literalValue(v psv, at Span) {
	s := v.text()
	if len(s) < 8 || !clean(s) || !looksSecret(s) || v.taint()&(tVar|tCmd|tFile) != 0 || strings.ContainsAny(s, " ") {
		return
	}
	if strings.ContainsAny(s, "0123456789") && strings.ContainsAny(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz") {
		r.f.emit(Action{Kind: SecretLiteral, Span: at})
	}
}

func (r *psRun) setEnv(name string, v psv, at Span) {
	r.vars["env:"+strings.ToLower(name)] = v
	up := strings.ToUpper(name)
	if guardVar(up) || watchedEnv(up) || up == "CLAUDE_CONFIG_DIR" || up == "CODEX_HOME" || up == "GEMINI_CLI_SYSTEM_SETTINGS_PATH" {
		r.f.emit(Action{Kind: EnvSet, Name: up, Detail: plain(v.text()), Span: at})
	}
	if secretVar(up) {
		r.literalValue(v, at)
	}
}

func (r *psRun) pipe(p *psPipe) psv {
	m := r.m
	var out psv
	has := false
	for i := range p.elems {
		if m.stop {
			break
		}
		e := &p.elems[i]
		first := len(m.res.Commands)
		in := out
		if e.cmd != nil {
			out = r.command(e.cmd, in, has)
		} else {
			out = r.eval(e.expr)
		}
		if i > 0 && len(m.res.Commands) > first && len(m.res.Pipes) < 10_000 {
			iv := in.one()
			m.res.Pipes = append(m.res.Pipes, Pipe{From: iv.from - 1, To: first, What: iv.kind(), Span: r.span(e.span)})
		}
		for _, rd := range e.redirs {
			if rd.to == nil {
				continue
			}
			t := r.pathValue(r.eval(rd.to).one(), false)
			content := out.one()
			if rd.fd != "1" && rd.fd != "*" {
				content = value{}
			}
			if strings.EqualFold(plain(t.s), "") || t.s == "$null" {
				m.quiet(content)
			} else {
				for _, n := range content.vars {
					r.f.emit(Action{Kind: EnvPrint, Name: n, Span: r.span(rd.span)})
				}
				t.span = rd.span
				r.f.writeTo(t, content, rd.add, len(m.res.Commands)-1, r.span(rd.span))
			}
			if rd.fd == "1" || rd.fd == "*" {
				out = psv{}
			}
		}
		has = true
	}
	// A bare assignment of a value in brackets shows nothing: `[void](…)`.
	if len(p.elems) == 1 {
		if c, ok := p.elems[0].expr.(*psCast); ok && c.typ == "void" {
			for _, it := range out.items {
				m.quiet(it)
			}
			return psv{}
		}
	}
	return out
}
