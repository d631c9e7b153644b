package shell

import (
	"strings"
	"unicode/utf8"
)

// command reads a command and its redirects.
func (p *psParser) command(e *psElem) *psCmd {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	c := &psCmd{}
	start := p.i
	if (p.peek() == '&' || p.peek() == '.') && (p.at(1) == ' ' || p.at(1) == '\t' || p.at(1) == '$' || p.at(1) == '(' || p.at(1) == '{' || p.at(1) == '"' || p.at(1) == '\'') {
		c.call, c.dot = true, p.peek() == '.'
		p.i++
		p.space(false)
	}
	c.name = p.argument()
	if c.name == nil {
		return nil
	}
	verbatim := false
	for p.bad < 0 {
		p.space(false)
		ch := p.peek()
		if isPSEnd(ch) || ch == '|' || ch == '&' {
			break
		}
		if verbatim {
			j := p.i
			for j < len(p.s) && strings.IndexByte("\r\n|", p.s[j]) < 0 {
				j++
			}
			for w := range strings.FieldsSeq(p.s[p.i:j]) {
				c.args = append(c.args, psArg{value: &psLit{s: strings.Trim(w, `"`), span: Span{p.i, j}}, span: Span{p.i, j}})
			}
			p.i = j
			break
		}
		if p.redir(e) {
			continue
		}
		from := p.i
		if p.has("--%") {
			p.i += 3
			verbatim = true
			continue
		}
		if p.peek() == '@' && (isLetter(p.at(1)) || p.at(1) == '_') {
			p.i++
			w := p.ident()
			c.args = append(c.args, psArg{splat: strings.ToLower(w), span: Span{from, p.i}})
			continue
		}
		if n := dashLen(p.s[p.i:]); n > 0 && p.i+n < len(p.s) && (isLetter(p.s[p.i+n]) || p.s[p.i+n] == '_' || p.s[p.i+n] == '?') {
			if a, ok := p.param(n); ok {
				a.span = Span{from, p.i}
				c.args = append(c.args, a)
				continue
			}
			p.i = from
		}
		v := p.argList()
		if v == nil {
			if p.i == from {
				p.fail("this is no argument")
			}
			break
		}
		c.args = append(c.args, psArg{value: v, span: Span{from, p.i}})
	}
	c.span = Span{start, p.i}
	return c
}

func dashLen(s string) int {
	if s == "" {
		return 0
	}
	if s[0] == '-' {
		return 1
	}
	if s[0] < utf8.RuneSelf {
		return 0
	}
	switch r, n := utf8.DecodeRuneInString(s); r {
	case 0x2013, 0x2014, 0x2015:
		return n
	}
	return 0
}

// param reads -Name or -Name:value.
func (p *psParser) param(dash int) (psArg, bool) {
	from := p.i
	p.i += dash
	var b strings.Builder
	for p.i < len(p.s) {
		c := p.s[p.i]
		if c == '`' && p.i+1 < len(p.s) && p.s[p.i+1] != '\n' && p.s[p.i+1] != '\r' {
			b.WriteByte(p.s[p.i+1])
			p.i += 2
			continue
		}
		if strings.IndexByte(" \t\r\n|;&(){},:'\"$<>`", c) >= 0 {
			break
		}
		b.WriteByte(c)
		p.i++
	}
	name := b.String()
	if strings.ContainsAny(name, "=/\\.") && p.peek() != ':' {
		return psArg{}, false
	}
	a := psArg{param: name, raw: "-" + name}
	switch p.peek() {
	case ':':
		p.i++
		raw := p.i
		a.raw += ":"
		if c := p.peek(); c == ' ' {
			p.space(false)
		}
		a.value = p.argList()
		_ = raw
	case '"', '\'', '$', '(', '{':
		// Text glued to it: a native program's option.
		p.i = from
		return psArg{}, false
	}
	return a, true
}

// redirs reads redirects after an expression.
func (p *psParser) redirs(e *psElem) {
	for {
		p.space(false)
		if !p.redir(e) {
			return
		}
	}
}

func (p *psParser) redir(e *psElem) bool {
	j := p.i
	fd := "1"
	if j < len(p.s) && (p.s[j] >= '1' && p.s[j] <= '6' || p.s[j] == '*') && j+1 < len(p.s) && p.s[j+1] == '>' {
		fd = p.s[j : j+1]
		j++
	}
	if j >= len(p.s) || p.s[j] != '>' {
		if j < len(p.s) && p.s[j] == '<' {
			// Reserved: PowerShell refuses it.
			p.fail("the < redirect is not supported")
		}
		return false
	}
	from := p.i
	j++
	r := psRedir{fd: fd}
	if j < len(p.s) && p.s[j] == '>' {
		r.add = true
		j++
	}
	p.i = j
	if p.peek() == '&' {
		p.i += 2
		return true
	}
	p.space(false)
	v := p.argument()
	w, ok := v.(*psWord)
	if !ok {
		if v == nil {
			return true
		}
		w = &psWord{parts: []psExpr{v}}
	}
	r.to, r.span = w, Span{from, p.i}
	e.redirs = append(e.redirs, r)
	return true
}

// argList reads one argument, which may be a list with commas.
func (p *psParser) argList() psExpr {
	v := p.argument()
	if v == nil {
		return nil
	}
	var list *psList
	for {
		save := p.i
		p.space(false)
		if p.peek() != ',' {
			p.i = save
			break
		}
		p.i++
		p.space(true)
		n := p.argument()
		if n == nil {
			p.i = save
			break
		}
		if list == nil {
			list = &psList{items: []psExpr{v}}
		}
		list.items = append(list.items, n)
	}
	if list != nil {
		return list
	}
	return v
}

// argument reads one word of a command.
func (p *psParser) argument() psExpr {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	from := p.i
	switch c := p.peek(); {
	case c == '(' || c == '{' || c == '@' && (p.at(1) == '(' || p.at(1) == '{' || p.at(1) == '"' || p.at(1) == '\''):
		return p.postfix(p.primary())
	case c == '[' && isLetter(p.at(1)) && strings.Contains(p.s[p.i:min(len(p.s), p.i+80)], "]::"):
		return p.postfix(p.primary())
	case c == '$' && p.at(1) != '(':
		v := p.postfix(p.variable())
		if p.wordEnd() {
			return v
		}
		return p.rest(from, []psExpr{v})
	}
	if q := psQuote(p.s[p.i:]); q != 0 {
		v := p.quoted()
		if p.wordEnd() {
			return v
		}
		if p.peek() == '.' && isLetter(p.at(1)) || p.peek() == '[' {
			if w := p.postfix(v); w != v && p.wordEnd() {
				return w
			}
		}
		return p.rest(from, []psExpr{v})
	}
	return p.rest(from, nil)
}

func (p *psParser) wordEnd() bool {
	c := p.peek()
	return p.i >= len(p.s) || strings.IndexByte(" \t\r\n|;&(){},<>", c) >= 0
}

// rest reads what is left of a word that began with parts.
func (p *psParser) rest(from int, parts []psExpr) psExpr {
	var b strings.Builder
	ticks := false
	litFrom := p.i
	flush := func() {
		if b.Len() > 0 {
			parts = append(parts, &psLit{s: b.String(), ticks: ticks, span: Span{litFrom, p.i}})
			b.Reset()
		}
	}
	for p.i < len(p.s) {
		c := p.s[p.i]
		if c == '`' {
			if p.i+1 >= len(p.s) {
				p.i++
				break
			}
			if n := p.s[p.i+1]; n == '\n' || n == '\r' {
				break
			}
			r, n := psEscape(p.s[p.i+1:])
			b.WriteString(r)
			ticks = true
			p.i += 1 + n
			continue
		}
		if q := psQuote(p.s[p.i:]); q != 0 {
			flush()
			parts = append(parts, p.quoted())
			litFrom = p.i
			continue
		}
		if c == '$' && (isLetter(p.at(1)) || strings.IndexByte("{(_?^:", p.at(1)) >= 0 && p.i+1 < len(p.s) || p.at(1) == '$') {
			flush()
			parts = append(parts, p.variable())
			litFrom = p.i
			continue
		}
		if strings.IndexByte(" \t\r\n|;&(){},", c) >= 0 {
			break
		}
		if (c == '>' || c == '<') && b.Len() == 0 && len(parts) > 0 || c == '>' {
			break
		}
		b.WriteByte(c)
		p.i++
	}
	flush()
	if len(parts) == 0 {
		return nil
	}
	if len(parts) == 1 {
		if l, ok := parts[0].(*psLit); ok && !l.quoted {
			return l
		}
	}
	return &psWord{parts: parts, ticks: ticks, span: Span{from, p.i}}
}

// psEscape gives what a backtick and the text after it mean, and its length.
func psEscape(s string) (string, int) {
	switch s[0] {
	case 'n':
		return "\n", 1
	case 't':
		return "\t", 1
	case 'r':
		return "\r", 1
	case '0':
		return "", 1
	case 'u':
		if len(s) > 2 && s[1] == '{' {
			if j := strings.IndexByte(s, '}'); j > 2 && j < 9 {
				n := 0
				for _, c := range s[2:j] {
					d := strings.IndexRune("0123456789abcdef", c|0x20)
					if c >= '0' && c <= '9' {
						d = int(c - '0')
					}
					if d < 0 {
						return "u", 1
					}
					n = n*16 + d
				}
				return literal(string(rune(n))), j + 1
			}
		}
	}
	_, n := utf8.DecodeRuneInString(s)
	return literal(s[:n]), n
}

func (p *psParser) ident() string {
	j := p.i
	for j < len(p.s) && (isLetter(p.s[j]) || p.s[j] == '_' || p.s[j] >= '0' && p.s[j] <= '9') {
		j++
	}
	w := p.s[p.i:j]
	p.i = j
	return w
}

// variable reads $name, ${name}, $scope:name or $( … ).
func (p *psParser) variable() psExpr {
	from := p.i
	if p.peek() != '$' {
		return nil
	}
	p.i++
	switch c := p.peek(); {
	case c == '(':
		p.i++
		b := &psBlock{}
		start := p.i
		p.body(b, ')')
		b.text = p.s[start:min(p.i, len(p.s))]
		if p.peek() == ')' {
			p.i++
		} else {
			p.fail("a bracket without an end")
		}
		return &psSub{block: b, span: Span{from, p.i}}
	case c == '{':
		j := strings.IndexByte(p.s[p.i:], '}')
		if j < 0 {
			p.fail("a variable without an end")
			p.i = len(p.s)
			return &psVar{}
		}
		name := strings.ReplaceAll(p.s[p.i+1:p.i+j], "`", "")
		p.i += j + 1
		v := &psVar{span: Span{from, p.i}}
		if s, n, ok := strings.Cut(name, ":"); ok {
			v.scope, name = strings.ToLower(s), n
		}
		v.name = name
		return v
	case c == '_' && !isLetter(p.at(1)), c == '$', c == '?', c == '^':
		p.i++
		return &psVar{name: string(c), span: Span{from, p.i}}
	}
	name := p.ident()
	v := &psVar{name: name}
	if p.peek() == ':' && p.at(1) != ':' && (isLetter(p.at(1)) || p.at(1) == '_') && name != "" {
		p.i++
		v.scope, v.name = strings.ToLower(name), p.ident()
	}
	v.span = Span{from, p.i}
	return v
}

// quoted reads a string in quotes of any kind.
func (p *psParser) quoted() psExpr {
	from := p.i
	q := psQuote(p.s[p.i:])
	_, n := utf8.DecodeRuneInString(p.s[p.i:])
	p.i += n
	if q == '\'' {
		var b strings.Builder
		for p.i < len(p.s) {
			if psQuote(p.s[p.i:]) == '\'' {
				_, n := utf8.DecodeRuneInString(p.s[p.i:])
				p.i += n
				if psQuote(p.s[p.i:]) == '\'' {
					_, n := utf8.DecodeRuneInString(p.s[p.i:])
					b.WriteByte('\'')
					p.i += n
					continue
				}
				return &psLit{s: literal(b.String()), quoted: true, span: Span{from, p.i}}
			}
			b.WriteByte(p.s[p.i])
			p.i++
		}
		p.fail("a string without an end")
		return &psLit{s: literal(b.String()), quoted: true, span: Span{from, p.i}}
	}
	parts := p.expandable(func() int {
		if psQuote(p.s[p.i:]) != '"' {
			return 0
		}
		_, n := utf8.DecodeRuneInString(p.s[p.i:])
		return n
	}, true)
	return psString(parts, Span{from, p.i})
}

func psString(parts []psExpr, at Span) psExpr {
	if len(parts) == 0 {
		return &psLit{quoted: true, span: at}
	}
	if len(parts) == 1 {
		if l, ok := parts[0].(*psLit); ok {
			l.quoted, l.span = true, at
			return l
		}
	}
	return &psWord{parts: parts, quoted: true, span: at}
}

// expandable reads text with variables up to where end gives a length.
func (p *psParser) expandable(end func() int, doubled bool) []psExpr {
	var parts []psExpr
	var b strings.Builder
	flush := func() {
		if b.Len() > 0 {
			parts = append(parts, &psLit{s: literal(b.String())})
			b.Reset()
		}
	}
	for p.i < len(p.s) {
		if n := end(); n > 0 {
			p.i += n
			if doubled && end() > 0 {
				p.i += end()
				b.WriteByte('"')
				continue
			}
			flush()
			return parts
		}
		c := p.s[p.i]
		switch {
		case c == '`' && p.i+1 < len(p.s):
			if p.s[p.i+1] == '\n' {
				p.i += 2
				continue
			}
			r, n := psEscape(p.s[p.i+1:])
			b.WriteString(r)
			p.i += 1 + n
		case c == '$' && (isLetter(p.at(1)) || strings.IndexByte("{(_?^", p.at(1)) >= 0 && p.i+1 < len(p.s)):
			flush()
			parts = append(parts, p.variable())
			if p.bad >= 0 {
				return parts
			}
		default:
			b.WriteByte(c)
			p.i++
		}
	}
	flush()
	p.fail("a string without an end")
	return parts
}

// hereString reads @' … '@ or @" … "@.
func (p *psParser) hereString() psExpr {
	from := p.i
	q := p.at(1)
	p.i += 2
	for p.i < len(p.s) && p.s[p.i] != '\n' {
		p.i++
	}
	p.i = min(p.i+1, len(p.s))
	stop := "\n" + string(q) + "@"
	if strings.HasPrefix(p.s[p.i:], stop[1:]) {
		p.i += 2
		return &psLit{quoted: true, span: Span{from, p.i}}
	}
	if q == '\'' {
		j := strings.Index(p.s[p.i:], stop)
		if j < 0 {
			p.fail("a here-string without an end")
			j = len(p.s) - p.i
		}
		body := strings.TrimSuffix(p.s[p.i:p.i+j], "\r")
		p.i = min(p.i+j+3, len(p.s))
		return &psLit{s: literal(body), quoted: true, span: Span{from, p.i}}
	}
	parts := p.expandable(func() int {
		if p.has(stop) {
			return 3
		}
		if p.has("\r" + stop) {
			return 4
		}
		return 0
	}, false)
	return psString(parts, Span{from, p.i})
}

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
	l = p.commas(l)
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

func (p *psParser) commas(l psExpr) psExpr {
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
		n := p.unary()
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
			p.body(b, ')')
			if p.peek() == ')' {
				p.i++
			} else {
				p.fail("a bracket without an end")
			}
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
