package shell

import (
	"slices"
	"strings"
)

// shell is sh, bash and their kin.
func (x *inv) shell() value {
	f, m := x.f, x.f.m
	args := x.args[1:]
	code, stdin, inter := false, false, false
	i := 0
	for ; i < len(args); i++ {
		s := args[i].text()
		if s == "--" || s == "-" {
			i++
			break
		}
		if len(s) < 2 || (s[0] != '-' && s[0] != '+') {
			break
		}
		if strings.HasPrefix(s, "--") {
			switch {
			case s == "--rcfile" || s == "--init-file":
				if i+1 < len(args) {
					i++
					x.execFile(args[i])
				}
			case strings.HasPrefix(s, "--command"):
				code = true
			case s == "--help" || s == "--version":
				return unknownVal(0)
			}
			continue
		}
		for _, c := range s[1:] {
			switch c {
			case 'c':
				code = true
			case 's':
				stdin = true
			case 'i':
				inter = true
			case 'n':
				if !code {
					return value{} // only checks the syntax
				}
			case 'o', 'O':
				if i+1 < len(args) {
					i++
				}
			}
		}
	}
	_ = inter
	args = args[min(i, len(args)):]
	env := func(g *frame) {
		g.funcs, g.aliases = exportedFuncs(f), nil
		g.calls = nil
		g.params = []value{}
		// Variables that are not exported are not seen by the child.
		g.vars = nil
		for k, v := range f.vars {
			if f.exported[k] || k == "HOME" || len(x.f.exported) > 0 && f.exported[k] {
				g.setVar(k, v)
			}
		}
	}
	if code {
		if len(args) == 0 {
			return value{}
		}
		v := args[0]
		v.s = v.text()
		return x.evalText(v, func(c value) value {
			c.span = x.span
			return f.run(c, ViaScript, func(g *frame) {
				env(g)
				if len(args) > 1 {
					g.arg0, g.params = args[1], args[2:]
				}
			})
		})
	}
	if len(args) > 0 && !stdin {
		v := args[0]
		if strings.HasPrefix(v.s, "/dev/fd/proc") {
			return x.runContent(m.files[v.s])
		}
		if out, ok := x.scriptFile(v, args[1:]); ok {
			return out
		}
		p := f.resolve(v)
		if p.Abs == "/dev/stdin" || p.Abs == "/dev/fd/0" || p.Abs == "/proc/self/fd/0" {
			return x.runContent(x.in)
		}
		x.execFile(v)
		return unknownVal(tCmd)
	}
	out := unknownVal(tCmd)
	if f.hasIn {
		c := x.in
		if c.has(tShell) || c.has(tPeer) {
			out.t |= tPeer
		}
		if c.has(tFile) && c.opaque() && c.t&(tNet|tPeer|tDecoded) == 0 {
			m.undecided(ScriptUnknown, "", true, x.cmd, x.span)
			if m.fromFifo(c) {
				m.fifoWaits = append(m.fifoWaits, x.cmd)
			}
			out.t |= tShell
			return out
		}
		x.f = f.fork()
		env(x.f)
		x.f.vars = f.vars
		out = x.runContent(c)
		x.f = f
		if !c.known() {
			out.t |= tShell | c.t&tPeer
		}
		return out
	}
	out.t |= tShell
	return out
}

func exportedFuncs(f *frame) map[string]*fn {
	var n map[string]*fn
	for k, v := range f.funcs {
		if f.exported[k] {
			if n == nil {
				n = map[string]*fn{}
			}
			n[k] = v
		}
	}
	return n
}

// isAssign reports whether a word is NAME=value.
func isAssign(s string) bool {
	i := strings.IndexByte(s, '=')
	if i <= 0 {
		return false
	}
	for j := range i {
		c := s[j]
		if !(c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || j > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return true
}

// wrapped starts the command that a wrapper carries in its operands.
func (x *inv) wrapped(leaf *spec) value {
	f := x.f
	p := x.p
	g := f.under(x.name)
	g.via = append(slices.Clip(g.via), ViaWrapper)
	var env []Assignment
	elevates := leaf.wrap == "elevate"
	for i := range p.flags {
		fl := &p.flags[i]
		switch x.name {
		case "env":
			switch fl.name {
			case "-u":
				g.emit(Action{Kind: EnvSet, Name: plain(fl.val.s), Span: x.span, Command: x.cmd + 1})
			case "-S":
				return g.run(fl.val.with(fl.val.text()+" "+quoteAll(p.pos)), ViaScript, nil)
			}
		case "systemd-run":
			if fl.name == "--on-calendar" || fl.name == "--on-active" || fl.name == "--on-boot" || fl.name == "--on-unit-active" || fl.name == "--on-startup" || fl.name == "--timer-property" {
				f.emit(Action{Kind: Persist, Name: "a timer", Span: x.span, Command: x.cmd + 1})
			}
		}
	}
	pos := p.pos
	if x.name == "please" && len(p.pos) > 1 && strings.HasPrefix(p.pos[1].s, "//") {
		return unknownVal(tCmd) // a build tool of that name, with a label
	}
	// An elevating program without a command (sudo -l, sudo -k) gains nothing.
	if elevates && !(len(p.pos) == 0 && p.given("-l", "-k", "-K", "-v", "-V")) {
		f.emit(Action{Kind: PrivElevate, Name: x.name, Span: x.span, Command: x.cmd + 1})
	}
	if leaf.skip < 0 {
		return unknownVal(tCmd)
	}
	if len(pos) < leaf.skip {
		return unknownVal(tCmd)
	}
	skipped := pos[:leaf.skip]
	pos = pos[leaf.skip:]
	if len(pos) > 0 && pos[0].s == "--" {
		pos = pos[1:]
	}
	switch x.name {
	case "setarch":
		for len(pos) > 0 && strings.HasPrefix(pos[0].s, "-") {
			pos = pos[1:]
		}
	case "bwrap", "proot":
		for len(pos) > 0 && !x.f.m.commandLike(pos[0].s) {
			pos = pos[1:]
		}
	}
	if x.name == "flock" && len(pos) > 1 && (pos[0].s == "-c" || pos[0].s == "--command") {
		return g.run(pos[1], ViaScript, nil)
	}
	if x.name == "chroot" && len(skipped) > 0 {
		root := f.resolve(skipped[0])
		_ = root
	}
	for len(pos) > 0 && isAssign(pos[0].s) && (x.name == "env" || elevates || leaf.wrap == "args" && (x.name == "cross-env" || x.name == "dotenv")) {
		name, val, _ := strings.Cut(pos[0].s, "=")
		v := pos[0].with(val)
		env = append(env, Assignment{Name: name, Value: toArg(&v)})
		g.set(name, v)
		g.export(name)
		pos = pos[1:]
	}
	if len(pos) == 0 {
		if x.name == "env" {
			if len(env) > 0 {
				for _, e := range env {
					if guardVar(e.Name) {
						f.emit(Action{Kind: EnvSet, Name: e.Name, Detail: e.Value.Value, Span: x.span, Command: x.cmd + 1})
					}
				}
			}
			i := f.emit(Action{Kind: EnvPrint, Quiet: true, Span: x.span, Command: x.cmd + 1})
			return value{s: unknownText, t: tEnv, src: []int{i}}
		}
		return value{s: unknownText, t: tCmd | x.in.t, src: x.in.src}
	}
	switch leaf.wrap {
	case "joined":
		v := joinValues(pos, " ")
		return g.run(v, ViaScript, nil)
	case "each":
		var out value
		for _, v := range pos {
			v.s = v.text()
			out = concat(out, g.run(v, ViaScript, nil))
		}
		return out
	case "later":
		g.via = append(g.via, ViaLater)
	case "bounded":
		g.bounded = true
		g.loops = 0
	}
	y := &inv{f: g, args: pos, env: env, span: x.span, noFunc: true}
	return y.dispatch()
}

// quoteAll makes words into text that the shell reads back as the same words.
func quoteAll(vs []value) string {
	var b strings.Builder
	for i, v := range vs {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('\'')
		b.WriteString(strings.ReplaceAll(v.text(), "'", `'\''`))
		b.WriteByte('\'')
	}
	return b.String()
}

// xargs is xargs and GNU parallel: the command gets words from the input.
func (x *inv) xargs() value {
	f, p := x.f, x.p
	in := x.in
	pos := p.pos
	if fl := p.flag("-a"); fl != nil {
		in = f.readFile(fl.val, x.cmd, len(pos) > 0) // without a command it prints
	}
	if x.name == "parallel" {
		// parallel CMD ::: ARG…
		for i, v := range pos {
			if strings.HasPrefix(v.s, ":::") {
				args := pos[i+1:]
				if v.s == "::::" && len(args) > 0 {
					in = f.readFile(args[0], x.cmd, true)
				} else {
					in = joinValues(args, "\n")
				}
				pos = pos[:i]
				break
			}
		}
	}
	repl := ""
	if fl := p.flag("-I"); fl != nil {
		repl = fl.val.text()
		if repl == "" {
			repl = "{}"
		}
	}
	if x.name == "parallel" {
		repl = "{}"
	}
	if fl := p.flag("-i"); fl != nil {
		repl = "{}"
	}
	g := f.under(x.name)
	g.via = append(slices.Clip(g.via), ViaXargs)
	g.hasIn, g.in = false, value{}
	if len(pos) == 0 {
		if x.name == "parallel" {
			return x.runContent(in)
		}
		return value{s: in.s, t: in.t, src: in.src}
	}
	lines := []value{}
	if in.known() && len(in.s) < 1<<14 && f.hasIn || in.known() && in.s != "" {
		sep := " \t\n"
		if repl != "" || p.given("-L", "-d") {
			sep = "\n"
		}
		if p.given("-0") {
			sep = "\x00\n"
		}
		for _, w := range wordSplit(in.s, sep) {
			if len(lines) >= maxIterations {
				break
			}
			lines = append(lines, in.with(strings.TrimSpace(w)))
		}
	} else {
		v := in
		v.s = unknownText
		v.t |= tMany
		if prefix, ok := commonDir(in); ok {
			v.s = prefix
		}
		lines = append(lines, v)
	}
	if x.name == "parallel" && len(pos) == 1 && strings.ContainsAny(pos[0].s, " ;|") {
		// The command is one shell text.
		var out value
		for _, l := range lines {
			text := pos[0].text()
			if strings.Contains(text, "{}") {
				text = strings.ReplaceAll(text, "{}", l.s)
			} else {
				text += " " + l.s
			}
			out = concat(out, g.run(pos[0].with(text), ViaScript, nil))
		}
		return out
	}
	var out value
	if repl != "" {
		for _, l := range lines {
			args := make([]value, 0, len(pos)+1)
			used := false
			for _, a := range pos {
				if strings.Contains(a.s, repl) {
					used = true
					n := l
					n.s = strings.ReplaceAll(a.s, repl, l.s)
					n.span = a.span
					n.t |= a.t
					if a.s == repl {
						n.t &^= tMany
					}
					a = n
				}
				args = append(args, a)
			}
			if !used && x.name == "parallel" {
				args = append(args, l)
			}
			y := &inv{f: g, args: args, span: x.span, noFunc: true}
			out = concat(out, y.dispatch())
			if f.m.stop {
				break
			}
		}
		return out
	}
	args := append(append([]value{}, pos...), lines...)
	y := &inv{f: g, args: args, span: x.span, noFunc: true}
	return y.dispatch()
}

// commonDir gives a pattern that covers all lines of a listing that is not
// known itself but whose folder is.
func commonDir(v value) (string, bool) {
	if v.s != unknownText && strings.HasPrefix(v.s, "/") {
		return v.s, true
	}
	return "", false
}
