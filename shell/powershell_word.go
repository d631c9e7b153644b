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
	return p.commas(v, p.argument)
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
