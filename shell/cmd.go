package shell

import (
	"slices"
	"strconv"
	"strings"
)

// cmdNode is one command of cmd.exe, or several.
type cmdNode struct {
	kind  byte // s simple, g group, p pipe, q sequence, i if, f for
	raw   string
	kids  []*cmdNode
	redir []cmdRedir
	// for
	opts, name, set string
	span            Span
}

type cmdRedir struct {
	fd  string
	op  string // > >> <
	raw string
}

type cmdParser struct {
	s     string
	i     int
	depth int
	bad   bool
	deep  bool // nested deeper than is read
}

const cmdDepth = 100

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
	if len(text) > m.lim.Bytes {
		m.breach("bytes", f.base)
		return value{}
	}
	if f.depth > m.lim.Depth {
		m.breach("depth", f.base)
		return value{}
	}
	if m.runs++; m.runs > 4096 {
		m.breach("nodes", f.base)
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

func (p *cmdParser) blanks() {
	for p.i < len(p.s) {
		c := p.s[p.i]
		if c == '^' && p.i+1 < len(p.s) && p.s[p.i+1] == '\n' {
			p.i += 2
			continue
		}
		if c != ' ' && c != '\t' && c != ',' && c != ';' && c != '=' && c != '@' {
			return
		}
		p.i++
	}
}

// seq reads commands joined by newline, &, && and ||, up to a bracket's end.
func (p *cmdParser) seq(level int) *cmdNode {
	if p.depth++; p.depth > cmdDepth {
		p.i, p.deep = len(p.s), true
		return nil
	}
	out := &cmdNode{kind: 'q', span: Span{p.i, p.i}}
	for p.i < len(p.s) {
		p.blanks()
		if p.i >= len(p.s) {
			break
		}
		switch p.s[p.i] {
		case '\n', '&':
			p.i++
			continue
		case '|':
			p.i++
			continue
		case ')':
			if level > 0 {
				out.span.End = p.i
				p.depth--
				return out
			}
			p.i++
			continue
		}
		n := p.pipe(level)
		if n == nil {
			break
		}
		out.kids = append(out.kids, n)
	}
	out.span.End = p.i
	p.depth--
	if len(out.kids) == 0 {
		return nil
	}
	return out
}

func (p *cmdParser) pipe(level int) *cmdNode {
	first := p.command(level)
	if first == nil {
		return nil
	}
	n := &cmdNode{kind: 'p', kids: []*cmdNode{first}, span: first.span}
	for p.i < len(p.s) && p.s[p.i] == '|' && (p.i+1 >= len(p.s) || p.s[p.i+1] != '|') {
		p.i++
		p.blanks()
		k := p.command(level)
		if k == nil {
			break
		}
		n.kids = append(n.kids, k)
		n.span.End = p.i
	}
	if len(n.kids) == 1 {
		return first
	}
	return n
}

func (p *cmdParser) keyword(w string) bool {
	if len(p.s)-p.i < len(w) || !strings.EqualFold(p.s[p.i:p.i+len(w)], w) {
		return false
	}
	return p.i+len(w) == len(p.s) || strings.IndexByte(" \t\n(/=,;\"", p.s[p.i+len(w)]) >= 0
}

func (p *cmdParser) command(level int) *cmdNode {
	if p.depth++; p.depth > cmdDepth {
		p.i, p.deep = len(p.s), true
		return nil
	}
	defer func() { p.depth-- }()
	p.blanks()
	if p.i >= len(p.s) {
		return nil
	}
	from := p.i
	switch {
	case p.s[p.i] == '(':
		p.i++
		n := &cmdNode{kind: 'g'}
		if k := p.seq(level + 1); k != nil {
			n.kids = []*cmdNode{k}
		}
		if p.i < len(p.s) && p.s[p.i] == ')' {
			p.i++
		} else {
			p.bad = true
		}
		p.redirs(n)
		n.span = Span{from, p.i}
		return n
	case p.s[p.i] == ':':
		p.line()
		return &cmdNode{kind: 'q'}
	case p.keyword("rem"):
		p.line()
		return &cmdNode{kind: 'q'}
	case p.keyword("if"):
		return p.ifNode(level)
	case p.keyword("for"):
		return p.forNode(level)
	}
	n := &cmdNode{kind: 's'}
	var b strings.Builder
	quoted := false
	for p.i < len(p.s) {
		c := p.s[p.i]
		if c == '\n' {
			break
		}
		if quoted {
			if c == '"' {
				quoted = false
			}
			b.WriteByte(c)
			p.i++
			continue
		}
		switch {
		case c == '^':
			if p.i+1 < len(p.s) {
				if p.s[p.i+1] == '\n' {
					p.i += 2
					continue
				}
				b.WriteByte(p.s[p.i+1])
				p.i += 2
				continue
			}
			p.i++
			continue
		case c == '"':
			quoted = true
		case c == '&' || c == '|':
			goto done
		case c == ')' && level > 0:
			goto done
		case c == '>' || c == '<':
			// A digit in front of it belongs to it.
			fd := ""
			if s := b.String(); s != "" && s[len(s)-1] >= '0' && s[len(s)-1] <= '9' && (len(s) == 1 || s[len(s)-2] == ' ' || s[len(s)-2] == '\t' || s[len(s)-2] == ')') {
				fd = s[len(s)-1:]
				b.Reset()
				b.WriteString(s[:len(s)-1])
			}
			p.redir(n, fd)
			continue
		}
		b.WriteByte(c)
		p.i++
	}
done:
	n.raw, n.span = b.String(), Span{from, p.i}
	return n
}

func (p *cmdParser) line() {
	for p.i < len(p.s) && p.s[p.i] != '\n' {
		p.i++
	}
}

func (p *cmdParser) redirs(n *cmdNode) {
	for {
		save := p.i
		p.blanks()
		fd := ""
		if p.i+1 < len(p.s) && p.s[p.i] >= '0' && p.s[p.i] <= '9' && (p.s[p.i+1] == '>' || p.s[p.i+1] == '<') {
			fd = p.s[p.i : p.i+1]
			p.i++
		}
		if p.i < len(p.s) && (p.s[p.i] == '>' || p.s[p.i] == '<') {
			p.redir(n, fd)
			continue
		}
		p.i = save
		return
	}
}

// redir reads one redirect, at its arrow.
func (p *cmdParser) redir(n *cmdNode, fd string) {
	r := cmdRedir{fd: fd, op: p.s[p.i : p.i+1]}
	p.i++
	if p.i < len(p.s) && p.s[p.i] == '>' {
		r.op = ">>"
		p.i++
	}
	if p.i < len(p.s) && p.s[p.i] == '&' {
		p.i = min(p.i+2, len(p.s))
		return
	}
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\t') {
		p.i++
	}
	var b strings.Builder
	quoted := false
	for p.i < len(p.s) {
		c := p.s[p.i]
		if c == '"' {
			quoted = !quoted
			p.i++
			continue
		}
		if !quoted && strings.IndexByte(" \t\n&|<>()", c) >= 0 {
			break
		}
		if c == '^' && !quoted && p.i+1 < len(p.s) {
			p.i++
			c = p.s[p.i]
		}
		b.WriteByte(c)
		p.i++
	}
	r.raw = b.String()
	n.redir = append(n.redir, r)
}

// token reads one word of a condition, quotes kept.
func (p *cmdParser) token() string {
	p.blanks()
	from := p.i
	quoted := false
	for p.i < len(p.s) {
		c := p.s[p.i]
		if c == '"' {
			quoted = !quoted
		}
		if !quoted && strings.IndexByte(" \t\n&|()=", c) >= 0 {
			break
		}
		p.i++
	}
	return p.s[from:p.i]
}

func (p *cmdParser) ifNode(level int) *cmdNode {
	from := p.i
	p.i += 2
	n := &cmdNode{kind: 'i'}
	t := strings.ToLower(p.token())
	for t == "/i" || t == "not" {
		t = strings.ToLower(p.token())
	}
	switch t {
	case "exist", "defined", "errorlevel", "cmdextversion":
		n.name, n.raw = t, p.token()
	default:
		p.blanks()
		save := p.i
		switch op := strings.ToLower(p.token()); op {
		case "equ", "neq", "lss", "leq", "gtr", "geq":
			p.token()
		default:
			p.i = save
			for p.i < len(p.s) && p.s[p.i] == '=' {
				p.i++
			}
			p.token()
		}
	}
	if k := p.pipe(level); k != nil {
		n.kids = append(n.kids, k)
		// "else" of a plain command is part of its text only after a bracket.
		p.spaces()
		if p.keyword("else") {
			p.i += 4
			if e := p.pipe(level); e != nil {
				n.kids = append(n.kids, e)
			}
		}
	}
	n.span = Span{from, p.i}
	return n
}

func (p *cmdParser) spaces() {
	for p.i < len(p.s) && (p.s[p.i] == ' ' || p.s[p.i] == '\t') {
		p.i++
	}
}

func (p *cmdParser) forNode(level int) *cmdNode {
	from := p.i
	p.i += 3
	n := &cmdNode{kind: 'f'}
	for p.i < len(p.s) {
		p.blanks()
		if p.i >= len(p.s) || p.s[p.i] == '%' {
			break
		}
		t := p.token()
		if t == "" {
			break
		}
		n.opts += " " + t
	}
	v := p.token()
	n.name = strings.TrimLeft(v, "%")
	if t := p.token(); !strings.EqualFold(t, "in") {
		p.bad = true
	}
	p.blanks()
	if p.i < len(p.s) && p.s[p.i] == '(' {
		depth, start := 0, p.i+1
		quote := byte(0)
		for p.i < len(p.s) {
			c := p.s[p.i]
			switch {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '"' || c == '\'' && strings.Contains(strings.ToLower(n.opts), "/f"):
				quote = c
			case c == '(':
				depth++
			case c == ')':
				depth--
			}
			p.i++
			if depth == 0 {
				break
			}
		}
		n.set = strings.TrimSuffix(p.s[start:max(start, p.i)], ")")
	}
	p.spaces()
	if p.keyword("do") {
		p.i += 2
		if k := p.pipe(level); k != nil {
			n.kids = append(n.kids, k)
		}
	} else {
		p.bad = true
	}
	n.span = Span{from, p.i}
	return n
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

// expand replaces variables.
func (c *cmdRun) expand(s string) value {
	v := value{}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		ch := s[i]
		if ch != '%' && ch != '!' {
			b.WriteByte(ch)
			continue
		}
		if ch == '%' {
			// Loop variables and arguments.
			j := i + 1
			if j < len(s) && s[j] == '%' {
				j++
			}
			mods := j
			if j < len(s) && s[j] == '~' {
				for j++; j < len(s) && strings.IndexByte("fdpnxsatz", s[j]|0x20) >= 0 && j+1 < len(s) && (isLetter(s[j+1]) || s[j+1] >= '0' && s[j+1] <= '9'); j++ {
				}
			}
			if j < len(s) {
				if lv, ok := c.vars["%"+s[j:j+1]]; ok && isLetter(s[j]) && !c.named(s, i) {
					if strings.Contains(s[mods:j], "~") {
						lv.s = strings.Trim(lv.s, `"`)
					}
					b.WriteString(lv.s)
					v.t |= lv.t
					v.vars = append(v.vars, lv.vars...)
					v.src = append(v.src, lv.src...)
					i = j
					continue
				}
				if s[j] >= '0' && s[j] <= '9' || s[j] == '*' {
					if s[j] == '0' && strings.Contains(s[mods:j], "d") {
						b.WriteString(winShow(c.f.cwd) + `\`)
					} else if s[j] != '0' || mods == j {
						b.WriteString(unknownText)
					}
					i = j
					continue
				}
			}
			if i+1 < len(s) && s[i+1] == '%' {
				b.WriteByte('%')
				i++
				continue
			}
		}
		end := strings.IndexByte(s[i+1:], ch)
		if end <= 0 || strings.ContainsAny(s[i+1:i+1+end], "\n\"&|") {
			b.WriteByte(ch)
			continue
		}
		body := s[i+1 : i+1+end]
		if ch == '!' && strings.ContainsAny(body, " \t") {
			b.WriteByte(ch)
			continue
		}
		name, edit, _ := strings.Cut(body, ":")
		x := c.lookup(name)
		if edit != "" {
			x = cmdEdit(x, edit)
		}
		b.WriteString(x.s)
		v.t |= x.t
		v.vars = append(v.vars, x.vars...)
		v.src = append(v.src, x.src...)
		i += 1 + end
		if b.Len() > 1<<16 {
			return unknownVal(v.t)
		}
	}
	v.s = b.String()
	return v
}

// named reports whether a percent sign begins a variable in two signs rather than
// one of a loop.
func (c *cmdRun) named(s string, i int) bool {
	end := strings.IndexByte(s[i+1:], '%')
	if end <= 0 {
		return false
	}
	name, _, _ := strings.Cut(s[i+1:i+1+end], ":")
	if len(name) < 2 || strings.ContainsAny(name, " \\/.\"") {
		return false
	}
	_, set := c.vars[strings.ToLower(name)]
	if !set {
		_, set = c.m.winEnv(name)
	}
	return set
}

func (c *cmdRun) lookup(name string) value {
	if v, ok := c.vars[strings.ToLower(name)]; ok {
		v.t |= tVar
		return v
	}
	switch strings.ToUpper(name) {
	case "CD":
		return lit(winShow(c.f.cwd))
	case "RANDOM", "DATE", "TIME", "ERRORLEVEL", "CMDCMDLINE", "NUMBER_OF_PROCESSORS":
		return value{s: "0"}
	}
	if s, ok := c.m.winEnv(name); ok {
		return value{s: s, t: tVar}
	}
	return value{s: unknownText, vars: []string{strings.ToUpper(name)}}
}

// cmdEdit is %NAME:~a,b% and %NAME:x=y%.
func cmdEdit(v value, edit string) value {
	if !v.known() {
		return v
	}
	if rest, ok := strings.CutPrefix(edit, "~"); ok {
		a, b, two := strings.Cut(rest, ",")
		from, err := strconv.Atoi(a)
		if err != nil {
			return unknownVal(v.t)
		}
		n := len(v.s)
		if from < 0 {
			from += n
		}
		from = max(0, min(from, n))
		end := n
		if two {
			k, err := strconv.Atoi(b)
			if err != nil {
				return unknownVal(v.t)
			}
			end = from + k
			if k < 0 {
				end = n + k
			}
			end = max(from, min(end, n))
		}
		v.s = v.s[from:end]
		v.t |= tGlued
		return v
	}
	if from, to, ok := strings.Cut(edit, "="); ok && from != "" {
		if strings.Count(v.s, from)*len(to) > maxText {
			return unknownVal(v.t)
		}
		v.s = strings.ReplaceAll(v.s, from, to)
	}
	return v
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
