package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (f *frame) decl(c *syntax.DeclClause) value {
	variant := c.Variant.Value
	prints := len(c.Args) == 0
	names := false // the values are names of other variables
	bare := true   // only options, so it prints
	for _, a := range c.Args {
		if a.Naked && a.Name == nil && a.Value != nil {
			opt := a.Value.Lit()
			if opt == "" {
				bare = false
				f.declareWords(f.words(a.Value), variant)
				continue
			}
			if strings.HasPrefix(opt, "-") && strings.Contains(opt, "p") {
				prints = true
			}
			names = names || strings.HasPrefix(opt, "-") && strings.Contains(opt, "n") && variant != "export"
			bare = bare && strings.Trim(opt, "-xpgr") == ""
			continue
		}
		bare = false
		if a.Name == nil {
			continue
		}
		if names && a.Value != nil {
			if v := f.one(a.Value); v.known() && v.s != a.Name.Value {
				f.m.refs = true
				f.setVar(a.Name.Value, &variable{ref: v.s})
				continue
			}
		}
		f.assign(a)
		if a.Naked {
			if variant == "export" || variant == "declare" {
				f.export(a.Name.Value)
			}
			if prints {
				if v, ok := f.lookup(a.Name.Value); !ok {
					i := f.emit(Action{Kind: EnvPrint, Name: a.Name.Value, Span: f.span(c)})
					return value{s: unknownText, t: tEnv, vars: v.vars, src: []int{i}}
				}
			}
			continue
		}
		if variant == "export" || variant == "declare" || variant == "typeset" {
			f.export(a.Name.Value)
			v, _ := f.lookup(a.Name.Value)
			f.emit(Action{Kind: EnvSet, Name: a.Name.Value, Detail: plain(v.s), Span: f.span(a)})
		}
	}
	if prints || bare {
		i := f.emit(Action{Kind: EnvPrint, Span: f.span(c), Quiet: true})
		return value{s: unknownText, t: tEnv, src: []int{i}}
	}
	return value{}
}

// declareWords declares what words say that are only known now: export $(cat x).
func (f *frame) declareWords(ws []value, variant string) {
	for _, w := range ws {
		name, val, ok := strings.Cut(w.s, "=")
		if !ok || !isAssign(w.s) {
			continue
		}
		f.set(f.deref(name), w.with(val))
		if variant != "local" {
			f.export(name)
			f.emit(Action{Kind: EnvSet, Name: name, Detail: plain(val), Span: w.span})
		}
	}
}

func (f *frame) export(name string) {
	if f.exported[name] {
		return
	}
	n := map[string]bool{name: true}
	for k := range f.exported {
		n[k] = true
	}
	f.exported = n
}

// call runs a simple command.
func (f *frame) call(c *syntax.CallExpr) value {
	if len(c.Args) == 0 {
		before := len(f.m.res.Actions)
		for _, a := range c.Assigns {
			f.assign(a)
			if a.Name != nil && guardVar(a.Name.Value) {
				v, _ := f.lookup(a.Name.Value)
				f.emit(Action{Kind: EnvSet, Name: a.Name.Value, Detail: plain(v.s), Span: f.span(a)})
			}
		}
		_ = before
		return value{}
	}
	if out, done := f.alternatives(c); done {
		return out
	}
	// An alias stands for text, so the rest of the line is read again.
	if len(f.aliases) > 0 {
		if name := c.Args[0].Lit(); name != "" {
			if text, ok := f.aliases[name]; ok && !slices.Contains(f.calls, "alias "+name) {
				return f.runAlias(name, text, c)
			}
		}
	}
	x := f.m.s.invs.one()
	x.f, x.span, x.in = f, f.span(c), f.in
	g := f
	for _, a := range c.Assigns {
		if a.Name == nil {
			continue
		}
		v := f.one(a.Value)
		as := Assignment{Name: a.Name.Value, Value: toArg(&v)}
		x.env = append(x.env, as)
		if g == f {
			g = f.fork()
		}
		g.set(a.Name.Value, v)
		g.export(a.Name.Value)
	}
	x.args = f.m.s.values.room(len(c.Args))
	for _, w := range c.Args {
		x.args = f.appendWords(x.args, w)
		if f.m.stop {
			return value{}
		}
	}
	if len(x.args) == 0 {
		// $(…) alone that prints nothing, or an empty variable.
		return value{}
	}
	if len(x.env) > 0 {
		// Assignments in front of a command are seen by it, not by the words.
		cwd := f.cwd
		x.f = g
		out := x.dispatch()
		if g.cwd != cwd {
			f.cwd, f.oldpwd = g.cwd, g.oldpwd
		}
		return out
	}
	return x.dispatch()
}

// alternatives runs a command once for each value that a branch may have left
// in a variable that it uses.
func (f *frame) alternatives(c *syntax.CallExpr) (value, bool) {
	any := false
	for _, v := range f.vars {
		if len(v.alts) > 0 {
			any = true
			break
		}
	}
	if !any {
		return value{}, false
	}
	name := ""
	for _, w := range c.Args {
		syntax.Walk(w, func(n syntax.Node) bool {
			if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil {
				if v, ok := f.vars[p.Param.Value]; ok && len(v.alts) > 0 {
					name = p.Param.Value
				}
			}
			return name == ""
		})
	}
	if name == "" {
		return value{}, false
	}
	v := f.vars[name]
	out := value{}
	for i := -1; i < len(v.alts); i++ {
		g := f.fork()
		one := *v
		one.alts = nil
		if i >= 0 {
			one.v = v.alts[i]
		}
		g.setVar(name, &one)
		out = g.call(c)
		if f.m.stop {
			break
		}
		if g.cwd != f.cwd {
			f.cwd, f.oldpwd = g.cwd, g.oldpwd
		}
	}
	return out, true
}

func (f *frame) runAlias(name, text string, c *syntax.CallExpr) value {
	if f.m.hidden[name] {
		f.disguise(f.span(c), "decoded text is run", -1)
	}
	var b strings.Builder
	for _, a := range c.Assigns {
		b.WriteString(f.slice(a))
		b.WriteByte(' ')
	}
	b.WriteString(text)
	for _, w := range c.Args[1:] {
		b.WriteByte(' ')
		b.WriteString(f.slice(w))
	}
	savedCalls, savedVia := f.calls, f.via
	f.calls = append(slices.Clip(f.calls), "alias "+name)
	f.via = append(slices.Clip(f.via), ViaFunction)
	nested, base := f.nested, f.base
	if !f.nested {
		f.nested, f.base = true, f.span(c)
	}
	f.depth++
	out := f.runText(b.String())
	f.depth--
	f.nested, f.base = nested, base
	f.calls, f.via = savedCalls, savedVia
	return out
}

// slice is a node as it stands in the text.
func (f *frame) slice(n syntax.Node) string {
	s, e := int(n.Pos().Offset()), int(n.End().Offset())
	if s < 0 || e > len(f.text) || s > e {
		return ""
	}
	return f.text[s:e]
}

func toArg(v *value) Arg {
	return Arg{Value: plain(v.s), Known: v.known() && !v.glob(), Glob: v.glob(), Vars: v.vars, Span: v.span}
}

func argOf(v value) Arg { return toArg(&v) }

func (f *frame) callFunction(x *inv, d *fn) value {
	name := x.args[0].s
	if slices.Contains(f.calls, name) {
		return value{}
	}
	if forks(d.body, name) {
		f.emit(Action{Kind: Exhaust, Detail: "a function that starts itself", Span: x.span})
	}
	savedParams, savedCalls, savedVia, savedText := f.params, f.calls, f.via, f.text
	nested, base := f.nested, f.base
	f.params = x.args[1:]
	if f.params == nil {
		f.params = []value{}
	}
	f.calls = append(slices.Clip(f.calls), name)
	f.via = append(slices.Clip(f.via), ViaFunction)
	f.text = d.text
	if !f.nested && d.nest {
		f.nested, f.base = true, d.base
	}
	f.depth++
	var out value
	if f.depth > f.m.lim.Depth {
		f.m.breach("depth", x.span)
	} else {
		out = f.stmt(d.body)
	}
	f.depth--
	f.returned = false
	f.params, f.calls, f.via, f.text = savedParams, savedCalls, savedVia, savedText
	f.nested, f.base = nested, base
	return out
}

// forks reports whether a function body starts the function itself in a pipe or
// in the background.
func forks(body *syntax.Stmt, name string) bool {
	found := false
	callsSelf := func(n syntax.Node) bool {
		self := false
		syntax.Walk(n, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 && c.Args[0].Lit() == name {
				self = true
			}
			return !self
		})
		return self
	}
	syntax.Walk(body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			if n.Background && n.Cmd != nil && callsSelf(n.Cmd) {
				found = true
			}
		case *syntax.BinaryCmd:
			if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && callsSelf(n) {
				found = true
			}
		}
		return !found
	})
	return found
}
