package shell

import (
	"strings"
)

var psPrec = map[string]int{
	"-and": 1, "-or": 1, "-xor": 1, "??": 1, "-band": 2, "-bor": 2, "-bxor": 2, "-shl": 2, "-shr": 2, "+": 4, "-": 4, "*": 5, "/": 5, "%": 5, "-f": 6, "..": 7,
}

func init() {
	for _, op := range []string{"eq", "ne", "gt", "ge", "lt", "le", "like", "notlike", "match", "notmatch", "contains", "notcontains", "in", "notin", "replace", "split", "join", "is", "isnot", "as"} {
		psPrec["-"+op], psPrec["-c"+op], psPrec["-i"+op] = 3, 3, 3
	}
}

func (p *psParser) binOp() (string, int) {
	c := p.peek()
	switch {
	case c == '-' && isLetter(p.at(1)):
		w := "-" + strings.ToLower(wordAt(p.s, p.i+1))
		if _, ok := psPrec[w]; ok {
			return w, len(w)
		}
		return "", 0
	case p.has(".."):
		return "..", 2
	case p.has("??") && p.at(2) != '=':
		return "??", 2
	case (c == '+' || c == '-' || c == '*' || c == '/' || c == '%') && p.at(1) != '=' && !(c == '+' && p.at(1) == '+') && !(c == '-' && p.at(1) == '-'):
		return string(c), 1
	}
	return "", 0
}

// expr reads an expression whose operators bind at least as tight as least.
func (p *psParser) expr(least int) psExpr {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	l := p.unary()
	if l == nil {
		return nil
	}
	// Lists bind tighter than any operator.
	l = p.commas(l, p.unary)
	for p.bad < 0 {
		save := p.i
		p.space(false)
		op, n := p.binOp()
		if op == "" || psPrec[op] < least {
			if op == "" && p.peek() == '?' && p.at(1) != '?' && p.at(1) != '.' {
				// c ? a : b
				p.i++
				p.space(true)
				a := p.expr(0)
				p.space(true)
				if p.peek() == ':' {
					p.i++
					p.space(true)
					b := p.expr(0)
					return &psBin{op: "?", l: a, r: b}
				}
			}
			p.i = save
			return l
		}
		p.i += n
		p.space(true)
		r := p.expr(psPrec[op] + 1)
		if r == nil {
			p.i = save
			return l
		}
		p.nodes++
		// -creplace and -ireplace are -replace with another case rule.
		if len(op) > 2 && op[0] == '-' {
			if _, ok := psPrec["-"+op[2:]]; ok {
				op = "-" + op[2:]
			}
		}
		l = &psBin{op: op, l: l, r: r}
	}
	return l
}

// commas reads the rest of a list that begins with l; each item is read by next.
func (p *psParser) commas(l psExpr, next func() psExpr) psExpr {
	var list *psList
	for p.bad < 0 {
		save := p.i
		p.space(false)
		if p.peek() != ',' {
			p.i = save
			break
		}
		p.i++
		p.space(true)
		n := next()
		if n == nil {
			p.i = save
			break
		}
		if list == nil {
			list = &psList{items: []psExpr{l}}
		}
		list.items = append(list.items, n)
	}
	if list != nil {
		return list
	}
	return l
}

func (p *psParser) unary() psExpr {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	c := p.peek()
	switch {
	case c == '!' || c == ',':
		p.i++
		p.space(true)
		x := p.unary()
		if c == ',' {
			return &psList{items: []psExpr{x}}
		}
		return &psUnary{op: "!", x: x}
	case c == '+' && p.at(1) == '+', c == '-' && p.at(1) == '-':
		p.i += 2
		return p.unary()
	case c == '-' && isLetter(p.at(1)):
		w := strings.ToLower(wordAt(p.s, p.i+1))
		switch w {
		case "not", "bnot", "join", "split", "csplit", "isplit":
			p.i += 1 + len(w)
			p.space(true)
			return &psUnary{op: "-" + w, x: p.unary()}
		}
		return nil
	case c == '-' || c == '+':
		p.i++
		return &psUnary{op: string(c), x: p.unary()}
	}
	x := p.primary()
	if x == nil {
		return nil
	}
	x = p.postfix(x)
	if t, ok := x.(*psType); ok {
		// A cast.
		save := p.i
		p.space(false)
		if c := p.peek(); c == '$' || c == '(' || c == '@' || c == '"' || c == '\'' || c == '[' || c == '{' || c >= '0' && c <= '9' {
			if y := p.unary(); y != nil {
				return &psCast{typ: t.name, x: y}
			}
		}
		p.i = save
	}
	if p.has("++") || p.has("--") {
		p.i += 2
	}
	return x
}

func (p *psParser) primary() psExpr {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	from := p.i
	c := p.peek()
	switch {
	case psQuote(p.s[p.i:]) != 0:
		return p.quoted()
	case c == '$':
		return p.variable()
	case c == '@':
		switch p.at(1) {
		case '"', '\'':
			return p.hereString()
		case '(':
			p.i += 2
			b := &psBlock{}
			p.enclosed(b, ')', "a bracket without an end")
			return &psSub{block: b, list: true, span: Span{from, p.i}}
		case '{':
			p.i += 2
			return p.hash()
		}
		p.i++
		return &psVar{name: p.ident(), span: Span{from, p.i}}
	case c == '(':
		s := p.paren()
		b := &psBlock{}
		if ps, ok := s.(*psParts); ok && len(ps.blocks) == 1 {
			b = ps.blocks[0]
		}
		return &psSub{block: b, span: Span{from, p.i}}
	case c == '{':
		return &psFn{block: p.block()}
	case c == '[':
		p.bracket('[', ']')
		t := p.s[from+1 : max(p.i-1, from+1)]
		return &psType{name: strings.ToLower(strings.TrimPrefix(strings.ReplaceAll(t, " ", ""), "System."))}
	case c >= '0' && c <= '9' || c == '.' && p.at(1) >= '0' && p.at(1) <= '9':
		j := p.i
		for j < len(p.s) && (isLetter(p.s[j]) || p.s[j] >= '0' && p.s[j] <= '9' || p.s[j] == '.' && j+1 < len(p.s) && p.s[j+1] >= '0' && p.s[j+1] <= '9') {
			j++
		}
		p.i = j
		return &psLit{s: p.s[from:j], span: Span{from, j}}
	case isLetter(c) || c == '_':
		// A bare word where a value is expected: a command in an argument list.
		w := p.rest(from, nil)
		return w
	}
	return nil
}

func (p *psParser) hash() psExpr {
	h := &psHash{}
	for p.bad < 0 {
		p.space(true)
		if p.peek() == ';' {
			p.i++
			continue
		}
		if p.peek() == '}' {
			p.i++
			return h
		}
		var k psExpr
		from := p.i
		if isLetter(p.peek()) || p.peek() == '_' {
			j := p.i
			for j < len(p.s) && (isLetter(p.s[j]) || p.s[j] == '_' || p.s[j] == '-' || p.s[j] >= '0' && p.s[j] <= '9') {
				j++
			}
			k = &psLit{s: p.s[from:j]}
			p.i = j
		} else {
			k = p.postfix(p.primary())
		}
		if k == nil {
			p.fail("a table without a key")
			return h
		}
		p.space(true)
		if p.peek() != '=' {
			p.fail("a key without a value")
			return h
		}
		p.i++
		p.space(true)
		h.keys = append(h.keys, k)
		h.vals = append(h.vals, p.statement(&psBlock{}))
	}
	return h
}

// postfix reads members, calls and indexes after an expression.
func (p *psParser) postfix(x psExpr) psExpr {
	for x != nil && p.bad < 0 {
		from := p.i
		static := p.has("::")
		switch {
		case static || p.peek() == '.' && p.at(1) != '.' && (isLetter(p.at(1)) || p.at(1) == '_' || p.at(1) == '$' || psQuote(p.s[p.i+1:]) != 0) || p.has("?."):
			p.i++
			if static || p.s[p.i-1] == '?' {
				p.i++
			}
			m := &psMember{obj: x, static: static}
			switch {
			case p.peek() == '$':
				m.name = p.variable()
			case psQuote(p.s[p.i:]) != 0:
				m.name = p.quoted()
			default:
				w := p.ident()
				if w == "" {
					p.i = from
					return x
				}
				m.name = &psLit{s: w}
			}
			if p.peek() == '(' {
				m.call = true
				p.i++
				for p.bad < 0 {
					p.space(true)
					if p.peek() == ')' {
						p.i++
						break
					}
					if p.peek() == ',' {
						p.i++
						continue
					}
					a := p.argExpr()
					if a == nil {
						p.fail("an argument list without an end")
						break
					}
					m.args = append(m.args, a)
				}
			}
			m.span = Span{from, p.i}
			x = m
		case p.peek() == '[' && !isPSType(x):
			p.i++
			p.space(true)
			idx := p.expr(0)
			p.space(true)
			if p.peek() != ']' {
				p.i = from
				return x
			}
			p.i++
			x = &psIndex{obj: x, idx: idx}
		default:
			return x
		}
		p.nodes++
	}
	return x
}

func isPSType(x psExpr) bool { _, ok := x.(*psType); return ok }

// argExpr reads one argument of a method: an expression without a list.
func (p *psParser) argExpr() psExpr {
	l := p.unary()
	if l == nil {
		return nil
	}
	for p.bad < 0 {
		save := p.i
		p.space(true)
		op, n := p.binOp()
		if op == "" {
			p.i = save
			return l
		}
		p.i += n
		p.space(true)
		r := p.unary()
		if r == nil {
			p.i = save
			return l
		}
		l = &psBin{op: op, l: l, r: r}
	}
	return l
}
