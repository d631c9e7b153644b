package shell

import "strings"

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
