package shell

import (
	"maps"

	"mvdan.cc/sh/v3/syntax"
)

// merge keeps the earlier values of variables that a branch changed, since the
// branch may not have run.
func (f *frame) merge(before, other varSet) {
	for k, v := range f.vars {
		for _, set := range []varSet{before, other} {
			o, ok := set[k]
			if !ok || o == v {
				continue
			}
			if o.v.s == v.v.s || o.array || v.array || len(v.alts) >= 8 {
				continue
			}
			cp := *v
			cp.alts = append(append([]value(nil), v.alts...), o.v)
			f.setVar(k, &cp)
			v = &cp
		}
	}
	for k, o := range other {
		if _, ok := f.vars[k]; !ok {
			f.setVar(k, o)
		}
	}
}

func (f *frame) ifClause(c *syntax.IfClause) value {
	out := value{}
	before := f.vars
	f.shared = true
	if c.ThenPos.IsValid() || len(c.Cond) > 0 {
		out = concat(out, f.block(c.Cond))
		if holds, known := f.alwaysOf(c.Cond); known && holds {
			return concat(out, f.block(c.Then))
		} else if known {
			if c.Else != nil {
				out = concat(out, f.ifClause(c.Else))
			}
			return out
		}
	}
	g := f.fork()
	out = concat(out, g.block(c.Then))
	h := f.fork()
	if c.Else != nil {
		out = concat(out, h.ifClause(c.Else))
	}
	f.adopt(g, h)
	f.merge(before, h.vars)
	return out
}

// adopt takes over what a branch did to the shell itself.
func (f *frame) adopt(g, h *frame) {
	cwd := f.cwd
	f.vars, f.shared = g.vars, true
	f.funcs, f.aliases, f.fds = g.funcs, g.aliases, g.fds
	if h != nil {
		for k, v := range h.funcs {
			if f.funcs[k] == nil {
				n := map[string]*fn{k: v}
				maps.Copy(n, f.funcs)
				f.funcs = n
			}
		}
	}
	if g.cwd != cwd {
		f.cwd, f.oldpwd = g.cwd, g.oldpwd
	} else if h != nil && h.cwd != cwd {
		f.cwd, f.oldpwd = h.cwd, h.oldpwd
	}
	if g.returned && h != nil && h.returned {
		f.returned = true
	}
}

func (f *frame) caseClause(c *syntax.CaseClause) value {
	w := f.one(c.Word)
	var out value
	before := f.vars
	f.shared = true
	var states []*frame
	fall := false
	for _, it := range c.Items {
		match, sure := fall, fall
		for _, p := range it.Patterns {
			pat := f.pattern(p)
			if !w.known() || !pat.known() {
				match = true
				continue
			}
			if matchMarks(pat.s, w.s) {
				match, sure = true, true
			}
		}
		if !match {
			continue
		}
		g := f.fork()
		out = concat(out, g.block(it.Stmts))
		states = append(states, g)
		fall = it.Op == syntax.Fallthrough
		if sure && w.known() && it.Op == syntax.Break {
			break
		}
	}
	for i, g := range states {
		prev := f.vars
		f.adopt(g, nil)
		if i > 0 {
			f.merge(prev, nil)
		}
	}
	if !w.known() {
		f.merge(before, nil)
	}
	return out
}

func (f *frame) testExpr(x syntax.TestExpr) {
	for {
		switch t := x.(type) {
		case *syntax.Word:
			f.one(t)
			return
		case *syntax.BinaryTest:
			f.testExpr(t.X)
			x = t.Y
		case *syntax.UnaryTest:
			x = t.X
		case *syntax.ParenTest:
			x = t.X
		default:
			return
		}
	}
}
