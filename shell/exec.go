package shell

import (
	"maps"

	"mvdan.cc/sh/v3/syntax"
)

// stmt runs one statement and gives what it would print.
func (f *frame) stmt(s *syntax.Stmt) value {
	m := f.m
	if !m.step(f.base) || f.returned {
		return value{}
	}
	if s.Background || s.Coprocess || s.Disown {
		f = f.fork()
	}
	if len(s.Redirs) == 0 {
		return f.command(s.Cmd)
	}
	savedIn, savedHas := f.in, f.hasIn
	savedFDs := f.fds
	persist := isExec(s.Cmd)
	var outs []output
	for _, r := range s.Redirs {
		f.redirect(r, &outs, persist)
	}
	peerOut := false
	for _, o := range outs {
		if o.target.has(tPeer) {
			peerOut = true
		}
	}
	if peerOut || f.in.has(tPeer) {
		f.peerIO(s.Cmd, peerOut)
	}
	var out value
	if s.Cmd != nil {
		out = f.command(s.Cmd)
	}
	last := len(m.res.Commands) - 1
	for i, o := range outs {
		content := out
		if o.fd == "2" {
			content = value{}
		}
		if s.Cmd == nil && len(s.Redirs) > 1 {
			content = f.in // zsh copies, bash truncates
		}
		f.writeTo(o.target, content, o.add, last, f.span(s))
		if o.fd != "2" && i == len(outs)-1 {
			out = value{}
		}
	}
	if !persist {
		f.in, f.hasIn = savedIn, savedHas
		f.fds = savedFDs
	}
	return out
}

func isExec(c syntax.Command) bool {
	call, ok := c.(*syntax.CallExpr)
	return ok && len(call.Args) == 1 && call.Args[0].Lit() == "exec"
}

// emit records an action.
func (f *frame) emit(a Action) int {
	m := f.m
	if len(m.res.Actions) >= 100_000 {
		m.breach("nodes", a.Span)
		return len(m.res.Actions) - 1
	}
	f.complete(&a)
	m.res.Actions = append(m.res.Actions, a)
	if a.Kind == NetShell && len(m.fifoWaits) > 0 {
		m.fifoFilled()
	}
	return len(m.res.Actions) - 1
}

// complete fills in what the frame knows of an action.
func (f *frame) complete(a *Action) {
	m := f.m
	if a.Command == 0 {
		a.Command = len(m.res.Commands) - 1
	} else {
		a.Command-- // callers give 1 + index
	}
	if f.nested {
		a.Span = f.base
	} else if a.Span == (Span{}) && a.Command >= 0 {
		a.Span = m.res.Commands[a.Command].Span
	}
	if a.Certainty == Possible && !f.weak && !a.Path.Unresolved {
		a.Certainty = Certain
	}
}

func (f *frame) block(stmts []*syntax.Stmt) value {
	var out value
	for _, s := range stmts {
		if f.m.stop {
			break
		}
		out = concat(out, f.stmt(s))
	}
	return out
}

// command runs any command but redirects.
func (f *frame) command(c syntax.Command) value {
	switch c := c.(type) {
	case nil:
		return value{}
	case *syntax.CallExpr:
		return f.call(c)
	case *syntax.BinaryCmd:
		return f.binaryCmd(c)
	case *syntax.Block:
		return f.block(c.Stmts)
	case *syntax.Subshell:
		return f.fork().block(c.Stmts)
	case *syntax.IfClause:
		return f.ifClause(c)
	case *syntax.WhileClause:
		return f.whileClause(c)
	case *syntax.ForClause:
		return f.forClause(c)
	case *syntax.CaseClause:
		return f.caseClause(c)
	case *syntax.FuncDecl:
		n := make(map[string]*fn, len(f.funcs)+1)
		maps.Copy(n, f.funcs)
		names := c.Names
		if c.Name != nil {
			names = append(names, c.Name)
		}
		for _, nm := range names {
			f.rename(nm.Value, f.span(c), forks(c.Body, nm.Value))
			n[nm.Value] = &fn{body: c.Body, text: f.text, base: f.base, nest: f.nested}
		}
		f.funcs = n
		if len(names) == 0 { // zsh's anonymous function runs at once
			return f.stmt(c.Body)
		}
	case *syntax.DeclClause:
		return f.decl(c)
	case *syntax.TestClause:
		f.testExpr(c.X)
	case *syntax.ArithmCmd:
		f.arith(c.X)
	case *syntax.LetClause:
		for _, e := range c.Exprs {
			f.arith(e)
		}
	case *syntax.TimeClause:
		if c.Stmt != nil {
			return f.stmt(c.Stmt)
		}
	case *syntax.CoprocClause:
		if c.Stmt != nil {
			return f.fork().stmt(c.Stmt)
		}
	case *syntax.TestDecl:
		return f.stmt(c.Body)
	}
	return value{}
}

// spine gives the statements of a chain of one kind without recursion, since a
// chain may be as long as the text.
func spine(c *syntax.BinaryCmd, pipe bool, stmts []*syntax.Stmt, ops []syntax.BinCmdOperator) ([]*syntax.Stmt, []syntax.BinCmdOperator) {
	isPipe := func(op syntax.BinCmdOperator) bool { return op == syntax.Pipe || op == syntax.PipeAll }
	type item struct {
		s  *syntax.Stmt
		op syntax.BinCmdOperator // in front of it; 0 for the first
	}
	var buf [8]item
	stack := append(buf[:0], item{c.Y, c.Op}, item{c.X, 0})
	for len(stack) > 0 {
		it := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if b, ok := it.s.Cmd.(*syntax.BinaryCmd); ok && isPipe(b.Op) == pipe && len(it.s.Redirs) == 0 && !it.s.Background && !it.s.Negated {
			stack = append(stack, item{b.Y, b.Op}, item{b.X, it.op})
			continue
		}
		stmts, ops = append(stmts, it.s), append(ops, it.op)
	}
	return stmts, ops
}

func (f *frame) binaryCmd(c *syntax.BinaryCmd) value {
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll {
		var buf [8]*syntax.Stmt
		stmts, _ := spine(c, true, buf[:0], nil)
		return f.pipeline(stmts)
	}
	var buf [8]*syntax.Stmt
	var opBuf [8]syntax.BinCmdOperator
	stmts, ops := spine(c, false, buf[:0], opBuf[:0])
	var out value
	holds, known := false, false // the status of the chain so far
	for i, s := range stmts {
		if f.m.stop {
			break
		}
		if i == 0 {
			out = concat(out, f.stmt(s))
			holds, known = f.constant(s)
			continue
		}
		if known && holds == (ops[i] == syntax.OrStmt) {
			continue // never reached; what decided still does
		}
		before := f.vars
		f.shared = true
		out = concat(out, f.stmt(s))
		f.merge(before, nil)
		if known {
			holds, known = f.constant(s)
		}
	}
	return out
}

func (f *frame) pipeline(stmts []*syntax.Stmt) value {
	m := f.m
	in, has := f.in, f.hasIn
	var out value
	for i, s := range stmts {
		if m.stop {
			break
		}
		g := f.fork()
		g.in, g.hasIn = in, has
		first := len(m.res.Commands)
		out = g.stmt(s)
		if i > 0 && len(m.res.Commands) > first && len(m.res.Pipes) < 10_000 {
			p := Pipe{From: in.from - 1, To: first, What: in.kind(), Span: f.span(s)}
			m.res.Pipes = append(m.res.Pipes, p)
		}
		if out.from == 0 && len(m.res.Commands) > first {
			out.from = first + 1
		}
		in, has = out, true
	}
	return out
}

func (v value) kind() string {
	switch {
	case v.t&(tNet|tPeer) != 0:
		return "network"
	case v.has(tDecoded):
		return "decoded"
	case v.has(tFile):
		return "file"
	case v.known():
		return "literal"
	}
	return "command"
}
