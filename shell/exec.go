package shell

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// output is one redirect of a command's output.
type output struct {
	fd     string
	target value
	add    bool
}

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

// peerIO looks at a command whose input or output is a live connection: a shell
// there is a remote shell.
func (f *frame) peerIO(c syntax.Command, out bool) {
	call, ok := c.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	for _, w := range call.Args {
		name := w.Lit()
		if i := strings.LastIndexByte(name, '/'); i >= 0 {
			name = name[i+1:]
		}
		if isShellName(name) {
			if out {
				f.emit(Action{Kind: NetShell, Detail: name, Span: f.span(w)})
			}
			return
		}
	}
}

func (f *frame) copyFDs() {
	n := make(map[string]value, len(f.fds)+1)
	maps.Copy(n, f.fds)
	f.fds = n
}

func (f *frame) redirect(r *syntax.Redirect, outs *[]output, persist bool) {
	fd := ""
	if r.N != nil {
		fd = r.N.Value
	}
	word := func() value {
		if r.Word == nil {
			return value{}
		}
		ws := f.words(r.Word)
		if len(ws) == 0 {
			return value{span: f.span(r)}
		}
		return ws[0]
	}
	isOut := false
	var target value
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		quoted := false
		for _, p := range r.Word.Parts {
			if l, ok := p.(*syntax.Lit); !ok || strings.IndexByte(l.Value, '\\') >= 0 {
				quoted = true
			}
		}
		v := f.doc(r.Hdoc, quoted)
		if r.Op == syntax.DashHdoc {
			lines := strings.Split(v.s, "\n")
			for i := range lines {
				lines[i] = strings.TrimLeft(lines[i], "\t")
			}
			v.s = strings.Join(lines, "\n")
		}
		f.input(fd, v)
		return
	case syntax.WordHdoc:
		v := f.one(r.Word)
		v.s += "\n"
		f.input(fd, v)
		return
	case syntax.RdrIn:
		f.input(fd, f.readFile(word(), -1, false))
		return
	case syntax.RdrInOut:
		w := word()
		v := f.readFile(w, -1, false)
		if v.has(tPeer) {
			v.s = w.s
		} else {
			v.s = w.s
			v.t &^= tFile
		}
		f.input(fd, v)
		return
	case syntax.DplIn:
		w := word()
		if v, ok := f.fds[w.s]; ok {
			if v.has(tPeer) {
				v.s = unknownText
			}
			f.input(fd, v)
		}
		return
	case syntax.DplOut:
		w := word()
		if w.s == "-" {
			return
		}
		if _, err := strconv.Atoi(strings.TrimSuffix(w.s, "-")); err == nil {
			v, ok := f.fds[strings.TrimSuffix(w.s, "-")]
			if ok {
				*outs = append(*outs, output{fd: or(fd, "1"), target: v, add: true})
				return
			}
			if fd == "0" || fd == "" && w.s == "0" {
				// 0>&1: the input is whatever the output is.
				for _, o := range *outs {
					if o.target.has(tPeer) {
						f.input("0", o.target.with(unknownText))
					}
				}
			}
			if w.s == "1" && fd == "2" || w.s == "2" && fd == "1" || fd == "" {
				return
			}
			return
		}
		if w.opaque() && len(w.vars) > 0 && w.has(tQuoted) {
			if v, ok := f.fds[w.vars[0]]; ok {
				*outs = append(*outs, output{fd: or(fd, "1"), target: v, add: true})
				return
			}
		}
		target, isOut = w, true
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.AppClob, syntax.RdrAll, syntax.AppAll, syntax.RdrAllClob, syntax.AppAllClob:
		target, isOut = word(), true
	}
	if !isOut {
		return
	}
	add := r.Op == syntax.AppOut || r.Op == syntax.AppAll || r.Op == syntax.AppClob || r.Op == syntax.AppAllClob
	if isNetPath(target.s) {
		target.t |= tPeer
	}
	if persist {
		f.copyFDs()
		key := or(fd, "1")
		f.fds[strings.Trim(key, "{}")] = target
		f.writeTo(target, value{}, add, -1, f.span(r))
		return
	}
	*outs = append(*outs, output{fd: or(fd, "1"), target: target, add: add})
}

// fromFifo reports whether a value was read from a named pipe made in the text.
func (m *machine) fromFifo(v value) bool {
	return slices.ContainsFunc(v.src, func(i int) bool { return m.fifos[m.res.Actions[i].Path.Abs] })
}

// fifoFilled says that what shells read from named pipes is a peer's orders: that
// is known, and no hole.
func (m *machine) fifoFilled() {
	for i := range m.res.Undecided {
		u := &m.res.Undecided[i]
		if u.Reason == ScriptUnknown && slices.Contains(m.fifoWaits, u.Command) {
			u.Material = false
		}
	}
}

// sources is a list of one action.
func (m *machine) sources(i int) []int { return append(m.s.indices.room(1), i) }

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// input binds a descriptor for reading.
func (f *frame) input(fd string, v value) {
	if fd == "" || fd == "0" {
		f.in, f.hasIn = v, true
		return
	}
	f.copyFDs()
	f.fds[strings.Trim(fd, "{}")] = v
}

func isNetPath(s string) bool {
	return strings.HasPrefix(s, "/dev/tcp/") || strings.HasPrefix(s, "/dev/udp/")
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

// readFile reads a file: records it and gives what is known of the content.
func (f *frame) readFile(v value, cmd int, quiet bool) value {
	m := f.m
	if isNetPath(v.s) {
		f.connect(v)
		return value{s: unknownText, t: tPeer, span: v.span}
	}
	if strings.HasPrefix(v.s, "/dev/fd/proc") {
		if c, ok := m.files[v.s]; ok {
			return c
		}
		return unknownVal(0)
	}
	p := f.resolve(v)
	switch p.Abs {
	case "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
		if f.hasIn {
			return f.in
		}
	case "/dev/zero", "/dev/urandom", "/dev/random", "/dev/full":
		return value{s: unknownText, t: tEndless, span: v.span}
	}
	if p.Place == PlaceNull {
		return value{}
	}
	i := f.emit(Action{Kind: FileRead, Path: p, Quiet: quiet, Span: v.span, Command: cmd + 1})
	if c, ok := m.files[p.Abs]; ok && !p.Glob {
		c.src = append(append([]int(nil), c.src...), i)
		return c
	}
	if m.fromNet(p.Abs) {
		return value{s: unknownText, t: tFile | tNet, src: m.sources(i), span: v.span}
	}
	return value{s: unknownText, t: tFile, src: m.sources(i), span: v.span}
}

// fromNet reports whether abs lies in a folder that was filled from the network
// in this text.
func (m *machine) fromNet(abs string) bool {
	for _, d := range m.netDirs {
		if _, ok := below(abs, d); ok {
			return true
		}
	}
	return false
}

func (f *frame) connect(v value) {
	rest := v.s[len("/dev/tcp/"):]
	host, _, _ := strings.Cut(rest, "/")
	f.emit(Action{Kind: NetConnect, Host: plain(host), Span: v.span})
}

const dataTaints = tFile | tCmd | tEnv

// writeTo records that content goes to a file.
func (f *frame) writeTo(target, content value, add bool, cmd int, at Span) {
	m := f.m
	if target.has(tPeer) {
		if isNetPath(target.s) {
			f.connect(target)
		}
		host := ""
		if isNetPath(target.s) {
			host, _, _ = strings.Cut(target.s[len("/dev/tcp/"):], "/")
		}
		switch {
		case content.has(tShell) && (content.has(tPeer) || f.in.has(tPeer) || content.from > 0):
			f.emit(Action{Kind: NetShell, Host: plain(host), Span: target.span, Command: cmd + 1})
		case content.t&dataTaints != 0:
			f.emit(Action{Kind: NetUpload, Host: plain(host), Span: target.span, Command: cmd + 1})
		}
		return
	}
	if target.s == "" {
		return
	}
	if strings.HasPrefix(target.s, "/dev/fd/proc") {
		m.drain(target.s, content)
		return
	}
	p := f.resolve(target)
	if content.has(tShell) && content.has(tPeer) && m.fifos[p.Abs] {
		f.emit(Action{Kind: NetShell, Span: target.span, Command: cmd + 1})
	}
	if p.Place == PlaceNull {
		if p.Abs == "/dev/null" {
			m.quiet(content)
		}
		return
	}
	f.emit(Action{Kind: FileWrite, Path: p, Span: target.span, Command: cmd + 1, Detail: detailIf(add, "append")})
	if p.Unresolved {
		m.undecided(PathUnresolved, target.s, false, cmd, target.span)
	}
	if (content.has(tEndless) || f.loops > 0) && !f.bounded && p.Place != PlaceDevice {
		f.emit(Action{Kind: Exhaust, Detail: "endless output to a file", Path: p, Span: target.span, Command: cmd + 1})
	}
	if !p.Unresolved && !p.Glob {
		if old, ok := m.files[p.Abs]; ok && add {
			content = concat(old, content)
		} else if add {
			content = concat(unknownVal(tFile), content)
			content.s = strings.TrimPrefix(content.s, unknownText)
		}
		m.putFile(p.Abs, content)
	}
}

func detailIf(cond bool, s string) string {
	if cond {
		return s
	}
	return ""
}

// quiet marks what v carries as not shown.
func (m *machine) quiet(v value) {
	for _, i := range v.src {
		m.res.Actions[i].Quiet = true
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

func (f *frame) whileClause(c *syntax.WhileClause) value {
	endless := len(c.Cond) == 1 && constCond(c.Cond[0], c.Until)
	var out value
	before := f.vars
	f.shared = true
	g := f
	if endless && !hasBrake(c.Do) {
		for _, s := range c.Do {
			if s.Background {
				f.emit(Action{Kind: Exhaust, Detail: "processes without bound", Span: f.span(s)})
				break
			}
		}
		f.loops++
		defer func() { f.loops-- }()
	}
	// A loop that reads known lines runs once for each.
	if f.hasIn && f.in.known() && f.in.s != "" && readsLine(c.Cond) {
		lines := strings.Split(strings.TrimSuffix(f.in.s, "\n"), "\n")
		if len(lines) <= maxIterations {
			in := f.in
			for _, l := range lines {
				f.in = in.with(l + "\n")
				out = concat(out, g.block(c.Cond))
				out = concat(out, g.block(c.Do))
				if f.m.stop {
					break
				}
			}
			f.in = value{}
			f.returned = false
			return out
		}
	}
	out = concat(out, g.block(c.Cond))
	if holds, known := f.alwaysOf(c.Cond); known && holds == c.Until {
		return out
	}
	out = concat(out, g.block(c.Do))
	if endless && len(out.s) > 0 {
		out.t |= tEndless
		if hasBrake(c.Do) {
			out.t &^= tEndless
		}
	}
	f.merge(before, nil)
	return out
}

func readsLine(cond []*syntax.Stmt) bool {
	if len(cond) == 0 {
		return false
	}
	for _, s := range cond {
		found := false
		syntax.Walk(s, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 && c.Args[0].Lit() == "read" {
				found = true
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// constCond reports whether a loop's condition always holds.
func constCond(s *syntax.Stmt, until bool) bool {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Args) == 0 {
			return false
		}
		switch c.Args[0].Lit() {
		case "true", ":", "/bin/true":
			return until == s.Negated
		case "false":
			return until != s.Negated
		case "[", "test":
			if len(c.Args) >= 2 && len(c.Args) <= 3 && !until {
				a := c.Args[1].Lit()
				return a != "" && a != "]"
			}
		}
	case *syntax.ArithmCmd:
		if w, ok := c.X.(*syntax.Word); ok {
			return w.Lit() != "0" && w.Lit() != "" && !until
		}
	case *syntax.TestClause:
		if u, ok := c.X.(*syntax.Word); ok {
			return u.Lit() != "" && !until
		}
	}
	return false
}

// hasBrake reports whether a loop body waits or leaves by itself.
func hasBrake(body []*syntax.Stmt) bool {
	for _, s := range body {
		if s.Background {
			continue
		}
		brake := false
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Stmt:
				if n.Background {
					return false
				}
			case *syntax.FuncDecl, *syntax.CmdSubst:
				return false
			case *syntax.CallExpr:
				if len(n.Args) > 0 {
					switch n.Args[0].Lit() {
					case "break", "exit", "return", "sleep", "wait", "read", "inotifywait", "timeout", "exec":
						brake = true
					}
				}
			}
			return !brake
		})
		if brake {
			return true
		}
	}
	return false
}

// maxIterations bounds the words that a loop is run for. Past it the text is
// refused: a loop that is judged in part would let padding hide its last word.
const maxIterations = 1024

// maxCounted bounds the runs of a loop over numbers, of which a few show what all do.
const maxCounted = 64

// sampleNumbers keeps the first and the last of many plain numbers: {1..500} says
// how often a loop runs, and hides nothing in the middle. Where one item is
// anything else, all are kept.
func sampleNumbers(items []value) []value {
	if len(items) <= maxCounted {
		return items
	}
	for _, it := range items {
		if len(it.s) > 18 || strings.Trim(it.s, "0123456789") != "" {
			return items
		}
	}
	return append(slices.Clip(items[:maxCounted/2]), items[len(items)-maxCounted/2:]...)
}

func (f *frame) forClause(c *syntax.ForClause) value {
	var out value
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		var items []value
		if l.InPos.IsValid() {
			for _, w := range l.Items {
				items = append(items, f.words(w)...)
			}
		} else {
			items = f.params
		}
		before := f.vars
		f.shared = true
		items = sampleNumbers(items)
		if len(items) > maxIterations {
			f.m.res.Breaches = append(f.m.res.Breaches, Breach{Bound: "expansion", Span: f.span(c)})
			items = items[:maxIterations]
		}
		for _, it := range items {
			if f.m.stop {
				break
			}
			it.t |= tVar
			f.set(l.Name.Value, it)
			out = concat(out, f.block(c.Do))
		}
		if len(items) == 0 {
			f.m.step(f.base)
		}
		f.merge(before, nil)
	case *syntax.CStyleLoop:
		endless := l.Cond == nil
		if l.Init != nil {
			f.arith(l.Init)
		}
		if endless && !hasBrake(c.Do) {
			for _, s := range c.Do {
				if s.Background {
					f.emit(Action{Kind: Exhaust, Detail: "processes without bound", Span: f.span(s)})
					break
				}
			}
			f.loops++
			out = f.block(c.Do)
			f.loops--
			return out
		}
		for range maxCounted {
			if l.Cond != nil {
				if n, ok := f.arith(l.Cond); ok && n == 0 {
					break
				} else if !ok {
					out = concat(out, f.block(c.Do))
					break
				}
			}
			out = concat(out, f.block(c.Do))
			if f.m.stop || l.Post == nil {
				break
			}
			f.arith(l.Post)
		}
	}
	return out
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

func (f *frame) decl(c *syntax.DeclClause) value {
	variant := c.Variant.Value
	prints := len(c.Args) == 0
	for _, a := range c.Args {
		if a.Naked && a.Name == nil && a.Value != nil {
			opt := a.Value.Lit()
			if strings.HasPrefix(opt, "-") && strings.Contains(opt, "p") {
				prints = true
			}
			continue
		}
		if a.Name == nil {
			continue
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
	if prints {
		i := f.emit(Action{Kind: EnvPrint, Span: f.span(c), Quiet: true})
		return value{s: unknownText, t: tEnv, src: []int{i}}
	}
	return value{}
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
