package shell

import (
	"slices"
	"strings"
)

// runCmdExe judges text of cmd.exe.
func (m *machine) runCmdExe(text string) {
	f := newFrame(m)
	f.dialect = Cmd
	c := &cmdRun{f: f, m: m, vars: map[string]value{}}
	c.text(literal(text))
}

// runCmd runs text of cmd.exe inside another text.
func (f *frame) runCmd(v value, via Via) value {
	g := f.fork()
	g.depth++
	g.dialect = Cmd
	g.via = append(slices.Clip(g.via), via)
	if !g.nested {
		g.nested, g.base = true, v.span
	}
	c := &cmdRun{f: g, m: f.m, vars: map[string]value{}}
	for i := 0; i < len(f.env); i++ {
		c.vars[strings.ToLower(f.env[i].Name)] = literalValue(f.env[i].Value)
	}
	if !v.known() && v.opaque() {
		if v.t&(tNet|tPeer|tDecoded) == 0 {
			f.m.undecided(ScriptUnknown, "", true, len(f.m.res.Commands)-1, v.span)
		}
		return unknownVal(tCmd)
	}
	return c.text(v.text())
}

func literalValue(a Arg) value {
	if !a.Known {
		return unknownVal(0)
	}
	return lit(literal(a.Value))
}

// cmdRun runs one script of cmd.exe.
type cmdRun struct {
	f     *frame
	m     *machine
	vars  map[string]value
	loops bool
}

func (c *cmdRun) text(text string) value {
	f, m := c.f, c.m
	if !f.mayRun(text) {
		return value{}
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	p := &cmdParser{s: text}
	var out value
	low := strings.ToLower(text)
	// A label that is jumped back to, without an end, runs for ever.
	if i := strings.Index(low, "goto "); i >= 0 {
		name := strings.TrimLeft(strings.Fields(low[i+5:] + " x")[0], ":")
		if j := strings.Index("\n"+low, "\n:"+name); j >= 0 && j <= i && !strings.Contains(low[:i], "if ") && !strings.Contains(low[j:], "timeout") && !strings.Contains(low[j:], "exit") {
			c.loops = true
			f.loops++
			defer func() { f.loops-- }()
		}
	}
	for p.i < len(p.s) && !m.stop {
		n := p.seq(0)
		if n == nil {
			if p.i < len(p.s) {
				if p.s[p.i] == ')' {
					p.i++ // cmd passes over it
					continue
				}
				p.i++
			}
			continue
		}
		out = concat(out, c.run(n))
	}
	if p.bad {
		if !f.nested && m.res.Malformed == nil {
			m.res.Malformed = &Malformed{Offset: len(text), Message: "a bracket or quote without an end"}
		}
		m.undecided(TextMalformed, "", false, -1, f.base)
	}
	if p.deep {
		m.breach("depth", f.base)
	}
	return out
}

func (c *cmdRun) run(n *cmdNode) value {
	f, m := c.f, c.m
	if n == nil || !m.step(f.base) {
		return value{}
	}
	var out value
	switch n.kind {
	case 'q':
		for _, k := range n.kids {
			if m.stop {
				break
			}
			out = concat(out, c.run(k))
		}
		return out
	case 'p':
		in, has := f.in, f.hasIn
		for i, k := range n.kids {
			if i > 0 {
				f.in, f.hasIn = out, true
			}
			first := len(m.res.Commands)
			if i > 0 && k.kind == 's' && strings.TrimSpace(k.raw) == "%0" {
				f.emit(Action{Kind: Exhaust, Detail: "a script that starts itself", Span: c.span(n)})
			}
			next := c.run(k)
			if i > 0 && len(m.res.Commands) > first && len(m.res.Pipes) < 10_000 {
				m.res.Pipes = append(m.res.Pipes, Pipe{From: out.from - 1, To: first, What: out.kind(), Span: c.span(n)})
			}
			out = next
		}
		f.in, f.hasIn = in, has
		return out
	case 'g':
		out = c.redirected(n, func() value {
			var v value
			for _, k := range n.kids {
				v = concat(v, c.run(k))
			}
			return v
		})
		return out
	case 'i':
		if n.name == "exist" {
			v := c.expand(strings.Trim(n.raw, `"`))
			f.emit(Action{Kind: FileMeta, Path: f.resolve(v.with(activate(v.s))), Span: c.span(n)})
		}
		for _, k := range n.kids {
			out = concat(out, c.run(k))
		}
		return out
	case 'f':
		return c.forLoop(n)
	}
	return c.redirected(n, func() value { return c.simple(n) })
}

func (c *cmdRun) span(n *cmdNode) Span {
	if c.f.nested {
		return c.f.base
	}
	return n.span
}

func (c *cmdRun) redirected(n *cmdNode, run func() value) value {
	f := c.f
	in, has := f.in, f.hasIn
	for _, r := range n.redir {
		if r.op == "<" {
			v := c.expand(r.raw)
			f.in, f.hasIn = f.readFile(v, len(c.m.res.Commands)-1, false), true
		}
	}
	out := run()
	f.in, f.hasIn = in, has
	for _, r := range n.redir {
		if r.op == "<" {
			continue
		}
		v := c.expand(r.raw)
		v.span = n.span
		content := out
		if r.fd != "" && r.fd != "1" {
			content = value{}
		}
		f.writeTo(v, content, r.op == ">>", len(c.m.res.Commands)-1, c.span(n))
		if r.fd == "" || r.fd == "1" {
			out = value{}
		}
	}
	return out
}

func (c *cmdRun) forLoop(n *cmdNode) value {
	f, m := c.f, c.m
	opts := strings.ToLower(n.opts)
	key := "%" + n.name
	if len(n.name) == 0 || len(n.kids) == 0 {
		return value{}
	}
	key = key[:2]
	saved, had := c.vars[key]
	defer func() {
		delete(c.vars, key)
		if had {
			c.vars[key] = saved
		}
	}()
	var items []value
	set := strings.TrimSpace(n.set)
	switch {
	case strings.Contains(opts, "/f"):
		tokens := strings.Contains(opts, "tokens=")
		var v value
		usebackq := strings.Contains(opts, "usebackq")
		switch {
		case len(set) > 1 && (set[0] == '\'' && !usebackq || set[0] == '`' && usebackq):
			g := *c
			g.f = f.fork()
			g.f.depth++
			if !g.f.nested {
				g.f.nested, g.f.base = true, n.span
			}
			v = g.text(unquoteFor(set[1 : len(set)-1]))
			v.t |= tSubst
		case len(set) > 1 && (set[0] == '"' && !usebackq || set[0] == '\'' && usebackq):
			v = c.expand(set[1 : len(set)-1])
		default:
			e := c.expand(strings.Trim(set, `"`))
			v = f.readFile(e, len(m.res.Commands)-1, false)
		}
		if v.known() && !tokens && v.s != "" {
			for l := range strings.SplitSeq(strings.TrimSpace(v.s), "\n") {
				if w := strings.Fields(l); len(w) > 0 {
					items = append(items, v.with(w[0]))
				}
			}
		} else {
			if v.known() && tokens && v.s != "" {
				items = []value{v.with(unknownText)}
			} else {
				v.s = unknownText
				items = []value{v}
			}
			// The other tokens get the letters that follow.
			for k := byte(1); k < 6 && tokens; k++ {
				o := v
				o.s = unknownText
				c.vars["%"+string(n.name[0]+k)] = o
			}
		}
	case strings.Contains(opts, "/l"):
		items = []value{lit("1")}
	default:
		e := c.expand(set)
		dir := ""
		if strings.Contains(opts, "/r") {
			o := strings.TrimSpace(strings.TrimSpace(n.opts)[2:])
			dir = strings.TrimSuffix(strings.Trim(c.expand(o).s, `"`), `\`)
			if dir == "" {
				dir = "."
			}
		}
		for _, w := range winSplit(strings.NewReplacer(",", " ", ";", " ").Replace(e.s)) {
			it := e.with(activate(w))
			if dir != "" {
				it.s = dir + `\` + it.s
			}
			items = append(items, it)
		}
	}
	var out value
	for i, it := range items {
		if i > 64 || m.stop {
			break
		}
		c.vars[key] = it
		for _, k := range n.kids {
			out = concat(out, c.run(k))
		}
	}
	return out
}

// unquoteFor undoes the carets that a command in for /f needs.
func unquoteFor(s string) string {
	return strings.NewReplacer("^|", "|", "^&", "&", "^>", ">", "^<", "<", "^^", "^").Replace(s)
}
