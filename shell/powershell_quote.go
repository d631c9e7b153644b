package shell

import (
	"strings"
	"unicode/utf8"
)

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
		p.enclosed(b, ')', "a bracket without an end")
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

// psQuote gives the plain form of a quote that a text begins with: the
// typographic ones count as well.
func psQuote(s string) byte {
	if s == "" {
		return 0
	}
	if s[0] == '"' || s[0] == '\'' {
		return s[0]
	}
	if s[0] < utf8.RuneSelf {
		return 0
	}
	switch r, _ := utf8.DecodeRuneInString(s); r {
	case 0x2018, 0x2019, 0x201A, 0x201B:
		return '\''
	case 0x201C, 0x201D, 0x201E:
		return '"'
	}
	return 0
}
