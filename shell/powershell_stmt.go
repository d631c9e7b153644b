package shell

import "strings"

func (p *psParser) statement(b *psBlock) psStmt {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	if p.peek() == ':' && isLetter(p.at(1)) { // a label
		p.i++
		p.i += len(p.word())
		p.space(true)
	}
	w := p.word()
	next := byte(0)
	if p.i+len(w) < len(p.s) {
		next = p.s[p.i+len(w)]
	}
	if w != "" && (next == 0 || strings.IndexByte(" \t\r\n({;}", next) >= 0) {
		start := p.i
		switch strings.ToLower(w) {
		case "if":
			p.i += 2
			s := &psIf{}
			for {
				s.conds = append(s.conds, p.paren())
				s.blocks = append(s.blocks, p.block())
				save := p.i
				p.space(true)
				e := strings.ToLower(p.word())
				if e == "elseif" {
					p.i += len(e)
					continue
				}
				if e == "else" {
					p.i += len(e)
					s.blocks = append(s.blocks, p.block())
					return s
				}
				p.i = save
				return s
			}
		case "while", "until":
			p.i += len(w)
			l := &psLoop{kind: "while", cond: p.paren()}
			l.body = p.block()
			l.span = Span{start, p.i}
			return l
		case "do":
			p.space(true)
			p.i += 2
			l := &psLoop{kind: "do", body: p.block()}
			p.space(true)
			if e := strings.ToLower(p.word()); e == "while" || e == "until" {
				p.i += len(e)
				l.cond = p.paren()
			}
			l.span = Span{start, p.i}
			return l
		case "for":
			p.i += 3
			p.space(true)
			l := &psLoop{kind: "for"}
			if p.peek() == '(' {
				p.i++
				l.init = p.clause()
				l.cond = p.clause()
				l.iter = p.clause()
				if p.peek() == ')' {
					p.i++
				}
			}
			l.body = p.block()
			l.span = Span{start, p.i}
			return l
		case "foreach":
			save := p.i
			p.i += len(w)
			p.space(true)
			if p.peek() == '-' { // foreach -parallel
				p.i++
				p.i += len(p.word())
				p.space(true)
			}
			if p.peek() == '(' {
				p.i++
				p.space(true)
				l := &psLoop{kind: "foreach"}
				if v, ok := p.variable().(*psVar); ok {
					l.name = v.name
				}
				p.space(true)
				if strings.EqualFold(p.word(), "in") {
					p.i += 2
				}
				l.list = p.clause()
				p.space(true)
				if p.peek() == ')' {
					p.i++
				}
				l.body = p.block()
				l.span = Span{start, p.i}
				return l
			}
			p.i = save
		case "switch":
			p.i += len(w)
			s := &psParts{}
			p.space(true)
			for p.peek() == '-' {
				p.i++
				p.i += len(p.word())
				p.space(true)
			}
			if p.peek() == '(' {
				s.head = p.paren()
			}
			p.space(true)
			if p.peek() == '{' {
				p.i++
				for p.bad < 0 {
					p.space(true)
					if p.peek() == ';' {
						p.i++
						continue
					}
					if p.peek() == '}' || p.i >= len(p.s) {
						break
					}
					if p.peek() == '{' { // a condition
						s.blocks = append(s.blocks, p.block())
					} else if p.argument() == nil {
						p.fail("a clause without a pattern")
						break
					}
					s.blocks = append(s.blocks, p.block())
				}
				if p.peek() == '}' {
					p.i++
				}
			}
			return s
		case "try", "catch", "finally", "begin", "process", "end", "clean", "dynamicparam", "trap", "data", "parallel", "sequence", "inlinescript":
			save := p.i
			p.i += len(w)
			p.space(true)
			for p.peek() == '[' {
				p.bracket('[', ']')
				p.space(true)
				if p.peek() == ',' {
					p.i++
					p.space(true)
				}
			}
			if p.peek() == '{' {
				return &psParts{blocks: []*psBlock{p.block()}}
			}
			p.i = save
		case "function", "filter", "workflow", "configuration":
			p.i += len(w)
			p.space(true)
			j := p.i
			for j < len(p.s) && strings.IndexByte(" \t\r\n({", p.s[j]) < 0 {
				j++
			}
			name := strings.ToLower(p.s[p.i:j])
			if k := strings.IndexByte(name, ':'); k >= 0 {
				name = name[k+1:]
			}
			p.i = j
			p.space(true)
			var params []string
			if p.peek() == '(' {
				params = p.params()
			}
			f := &psFunc{name: name, body: p.block()}
			if params != nil {
				f.body.params = params
			}
			return f
		case "class", "enum":
			p.i += len(w)
			for p.i < len(p.s) && p.s[p.i] != '{' {
				p.i++
			}
			p.bracket('{', '}')
			return &psParts{}
		case "using", "break", "continue":
			for !isPSEnd(p.peek()) {
				p.i++
			}
			return &psParts{}
		case "return", "throw", "exit":
			p.i += len(w)
			p.space(false)
			if isPSEnd(p.peek()) {
				return &psReturn{}
			}
			return &psReturn{value: p.statement(b)}
		case "param":
			p.i += len(w)
			p.space(true)
			if p.peek() == '(' {
				b.params = p.params()
				return &psParts{}
			}
			p.i = start
		}
	}
	return p.chain()
}

// paren reads ( … ) and gives what is in it.
func (p *psParser) paren() psStmt {
	p.space(true)
	if p.peek() != '(' {
		p.fail("expected (")
		return nil
	}
	p.i++
	b := &psBlock{}
	p.enclosed(b, ')', "a bracket without an end")
	return &psParts{blocks: []*psBlock{b}}
}

// clause reads one part of for (…; …; …).
func (p *psParser) clause() psStmt {
	p.space(true)
	if p.peek() == ';' {
		p.i++
		return nil
	}
	if p.peek() == ')' || p.i >= len(p.s) {
		return nil
	}
	s := p.statement(&psBlock{})
	p.space(true)
	if p.peek() == ';' {
		p.i++
	}
	return s
}

// chain reads pipelines joined by && and ||.
func (p *psParser) chain() psStmt {
	c := &psChain{}
	for {
		first := p.i
		pipe, assign := p.pipeline()
		if assign != nil && len(c.pipes) == 0 {
			return assign
		}
		if pipe == nil || len(pipe.elems) == 0 {
			if p.i == first {
				break
			}
		} else {
			c.pipes = append(c.pipes, pipe)
		}
		p.space(false)
		if p.has("&&") || p.has("||") {
			c.ops = append(c.ops, p.s[p.i:p.i+2])
			p.i += 2
			p.space(true)
			continue
		}
		break
	}
	p.space(false)
	if p.peek() == '&' { // a background job
		p.i++
	}
	if len(c.pipes) == 0 {
		return nil
	}
	return c
}

func (p *psParser) pipeline() (*psPipe, *psAssign) {
	pipe := &psPipe{}
	start := p.i
	for {
		p.space(len(pipe.elems) > 0)
		e := psElem{}
		from := p.i
		switch p.mode() {
		case 'e':
			e.expr = p.expr(0)
			if e.expr == nil {
				return pipe, nil
			}
			p.space(false)
			if len(pipe.elems) == 0 {
				if op := p.assignOp(); op != "" {
					p.i += len(op)
					p.space(true)
					a := &psAssign{target: e.expr, op: op}
					a.value = p.statement(&psBlock{})
					a.span = Span{start, p.i}
					return nil, a
				}
			}
			p.redirs(&e)
		case 'c':
			e.cmd = p.command(&e)
			if e.cmd == nil {
				return pipe, nil
			}
		default:
			return pipe, nil
		}
		e.span = Span{from, p.i}
		pipe.elems = append(pipe.elems, e)
		p.space(false)
		if p.peek() == '|' && p.at(1) != '|' {
			p.i++
			p.space(true)
			continue
		}
		// A pipe may begin the next line.
		save := p.i
		p.space(true)
		if p.peek() == '|' && p.at(1) != '|' {
			p.i++
			continue
		}
		p.i = save
		break
	}
	pipe.span = Span{start, p.i}
	return pipe, nil
}

func (p *psParser) assignOp() string {
	for _, op := range [...]string{"??=", "+=", "-=", "*=", "/=", "%="} {
		if p.has(op) {
			return op
		}
	}
	if p.peek() == '=' && p.at(1) != '=' {
		return "="
	}
	return ""
}

// mode tells whether an expression or a command begins here.
func (p *psParser) mode() byte {
	c := p.peek()
	switch {
	case c == 0 || isPSEnd(c) || c == '|':
		return 0
	case c == '$' || c == '@' || c == '(' || c == '"' || c == '\'' || c == '[' || c == '{' || c == '!' || c == ',':
		return 'e'
	case c >= '0' && c <= '9' || (c == '+' || c == '-') && (p.at(1) >= '0' && p.at(1) <= '9' || p.at(1) == '$' || p.at(1) == '('):
		// A number, unless it is a program such as 7z.
		j := p.i
		for j < len(p.s) && strings.IndexByte(" \t\r\n|;&)}", p.s[j]) < 0 {
			j++
		}
		if strings.TrimLeft(p.s[p.i:j], "0123456789.xabcdefABCDEFkKmMgGtTpPlL+-*/%(),$") == "" {
			return 'e'
		}
		return 'c'
	case c == '-' && isLetter(p.at(1)):
		switch strings.ToLower(p.s[p.i+1 : p.i+1+len(wordAt(p.s, p.i+1))]) {
		case "not", "bnot", "join", "split", "csplit", "isplit":
			return 'e'
		}
		return 'c'
	case psQuote(p.s[p.i:]) != 0:
		return 'e'
	}
	return 'c'
}

func wordAt(s string, i int) string {
	j := i
	for j < len(s) && isLetter(s[j]) {
		j++
	}
	return s[i:j]
}
