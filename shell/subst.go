package shell

import (
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// doc expands the body of a here-document.
func (f *frame) doc(w *syntax.Word, quoted bool) value {
	if w == nil {
		return value{}
	}
	if quoted {
		var b strings.Builder
		for _, p := range w.Parts {
			if l, ok := p.(*syntax.Lit); ok {
				b.WriteString(l.Value)
			}
		}
		return value{s: literal(b.String()), span: f.span(w)}
	}
	x := fields{f: f}
	f.parts(&x, w.Parts, true, false)
	v := x.finish()
	v.span = f.span(w)
	return v
}

// subst runs a command substitution.
func (f *frame) subst(p *syntax.CmdSubst) value {
	g := f.fork()
	g.via = append(slices.Clip(g.via), ViaSubst)
	var out value
	// $(<file) reads the file.
	if len(p.Stmts) == 1 && p.Stmts[0].Cmd == nil && len(p.Stmts[0].Redirs) == 1 && p.Stmts[0].Redirs[0].Op == syntax.RdrIn {
		out = g.readFile(g.one(p.Stmts[0].Redirs[0].Word), -1, false)
	} else {
		for _, s := range p.Stmts {
			if f.m.stop {
				break
			}
			out = concat(out, g.stmt(s))
		}
	}
	if out.has(tEndless) && !f.bounded {
		f.emit(Action{Kind: Exhaust, Detail: "memory without bound", Span: f.span(p)})
		out.t &^= tEndless
	}
	out.s = strings.TrimRight(out.s, "\n")
	out.t |= tSubst
	out.span = f.span(p)
	return out
}

func (f *frame) procSubst(p *syntax.ProcSubst) value {
	g := f.fork()
	g.via = append(slices.Clip(g.via), ViaProcSubst)
	f.m.mktemps++
	name := "/dev/fd/proc" + strconv.Itoa(f.m.mktemps)
	if p.Op == syntax.CmdOut {
		// >(…): what is written to the name goes to the command's input. It
		// runs once the writer is known, see writeTo.
		f.m.pending = append(f.m.pending, pendingSink{name: name, g: g, stmts: p.Stmts})
		return value{s: name, span: f.span(p)}
	}
	var out value
	for _, s := range p.Stmts {
		if f.m.stop {
			break
		}
		out = concat(out, g.stmt(s))
	}
	out.t |= tSubst
	f.m.putFile(name, out)
	return value{s: name, t: out.t & (tNet | tPeer), span: f.span(p)}
}

// pendingSink is a >(…) that waits for its input.
type pendingSink struct {
	name  string
	g     *frame
	stmts []*syntax.Stmt
}

// drain runs the commands of all waiting >(…) with what their writers gave, or
// with nothing known.
func (m *machine) drain(name string, in value) bool {
	for i, s := range m.pending {
		if s.name != name && name != "" {
			continue
		}
		m.pending = append(m.pending[:i], m.pending[i+1:]...)
		s.g.in, s.g.hasIn = in, true
		for _, st := range s.stmts {
			s.g.stmt(st)
		}
		return true
	}
	return false
}

// drainAll runs each >(…) that no writer was seen for.
func (m *machine) drainAll() {
	for range 64 {
		if len(m.pending) == 0 || !m.drain("", unknownVal(tCmd)) {
			return
		}
	}
}
