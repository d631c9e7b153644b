package shell

import (
	"strings"
)

// Script languages are read with one small tokenizer and one expression reader.
// They need not understand a program, only its calls and what goes into them.

type tokKind byte

const (
	tokEOF tokKind = iota
	tokIdent
	tokVar // $x, @x, %x of Perl, PHP and Ruby
	tokStr
	tokNum
	tokOp
	tokShell // `…` of Perl, Ruby and PHP
	tokRegex
)

type token struct {
	kind   tokKind
	s      string
	interp bool // the string has variables or ${…} in it
	fstr   bool
	words  bool // qw(…), %w[…]
	nl     bool // stands first on its line
	spells bool // written with escapes for plain characters
	space  bool // space stands before it
}

type lexer struct {
	lang string
	src  string
	pos  int
	toks []token
	nl   bool
	sp   bool
}

const maxTokens = 20_000

func tokenize(lang, src string) []token {
	l := &lexer{lang: lang, src: src, nl: true}
	for l.next() && len(l.toks) < maxTokens {
	}
	if lang == "lua" {
		// A colon calls a method there.
		for i := 1; i+1 < len(l.toks); i++ {
			if t := &l.toks[i]; t.kind == tokOp && t.s == ":" && l.toks[i-1].kind == tokIdent && l.toks[i+1].kind == tokIdent {
				t.s = "."
			}
		}
	}
	return l.toks
}

func (l *lexer) add(t token) {
	t.nl, t.space = l.nl, l.sp
	l.nl, l.sp = false, false
	l.toks = append(l.toks, t)
}

func identStart(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

func identChar(c byte) bool { return identStart(c) || c >= '0' && c <= '9' }

// operand reports whether the last token ends a value, so that a slash after it
// divides and a percent sign is an operator.
func (l *lexer) operand() bool {
	if len(l.toks) == 0 {
		return false
	}
	t := l.toks[len(l.toks)-1]
	switch t.kind {
	case tokIdent:
		switch t.s {
		case "return", "and", "or", "not", "if", "unless", "while", "print", "puts", "in", "system", "exec", "split", "grep", "push":
			return false
		}
		return true
	case tokVar, tokStr, tokNum, tokShell, tokRegex:
		return true
	case tokEOF, tokOp:
	}
	return t.s == ")" || t.s == "]" || t.s == "}"
}

func (l *lexer) next() bool {
	s := l.src
	if l.pos >= len(s) {
		return false
	}
	c := s[l.pos]
	hash := l.lang == "python" || l.lang == "perl" || l.lang == "ruby" || l.lang == "php"
	switch {
	case c == '\n':
		l.nl = true
		l.pos++
		return true
	case c == ' ' || c == '\t' || c == '\r':
		l.pos++
		l.sp = true
		return true
	case c == '\\' && l.pos+1 < len(s) && s[l.pos+1] == '\n':
		l.pos += 2
		return true
	case c == '#' && hash && !(l.lang == "perl" && l.pos > 0 && s[l.pos-1] == '$'):
		l.line()
		return true
	case c == '/' && (l.lang == "js" || l.lang == "php") && strings.HasPrefix(s[l.pos:], "//"):
		l.line()
		return true
	case c == '/' && (l.lang == "js" || l.lang == "php") && strings.HasPrefix(s[l.pos:], "/*"):
		end := strings.Index(s[l.pos+2:], "*/")
		if end < 0 {
			l.pos = len(s)
		} else {
			l.pos += end + 4
		}
		return true
	case c == '-' && l.lang == "lua" && strings.HasPrefix(s[l.pos:], "--"):
		l.line()
		return true
	case l.lang == "python" && identStart(c):
		if end := l.pyPrefix(); end {
			return true
		}
		l.ident()
		return true
	case c == '"' || c == '\'':
		l.str(c, "")
		return true
	case c == '`':
		l.pos++
		body, end := until(s, l.pos, '`')
		l.pos = end
		if l.lang == "js" {
			l.add(token{kind: tokStr, s: unescape(body), interp: true, fstr: true})
		} else {
			l.add(token{kind: tokShell, s: body, interp: true})
		}
		return true
	case l.lang == "perl" && identStart(c):
		if l.perlQuote() {
			return true
		}
		l.ident()
		return true
	case l.lang == "ruby" && c == '%' && !l.operand():
		if l.rubyQuote() {
			return true
		}
	case l.lang == "ruby" && c == ':' && l.pos+1 < len(s) && identStart(s[l.pos+1]) && (l.pos == 0 || s[l.pos-1] != ':'):
		start := l.pos + 1
		l.pos++
		for l.pos < len(s) && identChar(s[l.pos]) {
			l.pos++
		}
		l.add(token{kind: tokStr, s: s[start:l.pos]})
		return true
	case c == '<' && strings.HasPrefix(s[l.pos:], "<<") && (l.lang == "perl" || l.lang == "ruby" || l.lang == "php"):
		if l.hereDoc() {
			return true
		}
	case (c == '$' || c == '@') && (l.lang == "perl" || l.lang == "php" || l.lang == "ruby"):
		start := l.pos
		l.pos++
		for l.pos < len(s) && (identChar(s[l.pos]) || s[l.pos] == ':' && l.lang == "perl" && l.pos+2 < len(s) && s[l.pos+1] == ':') {
			if s[l.pos] == ':' {
				l.pos++
			}
			l.pos++
		}
		if l.pos == start+1 && l.pos < len(s) && strings.IndexByte("_!@0$&;,/\\.", s[l.pos]) >= 0 {
			l.pos++
		}
		l.add(token{kind: tokVar, s: s[start:l.pos]})
		return true
	case identStart(c):
		l.ident()
		return true
	case c >= '0' && c <= '9':
		start := l.pos
		for l.pos < len(s) && (identChar(s[l.pos]) || s[l.pos] == '.' && l.pos+1 < len(s) && s[l.pos+1] >= '0' && s[l.pos+1] <= '9') {
			l.pos++
		}
		l.add(token{kind: tokNum, s: s[start:l.pos]})
		return true
	case c == '/' && (l.lang == "js" || l.lang == "perl" || l.lang == "ruby") && !l.operand():
		body, end := until(s, l.pos+1, '/')
		l.pos = end
		for l.pos < len(s) && identChar(s[l.pos]) {
			l.pos++
		}
		l.add(token{kind: tokRegex, s: body})
		return true
	}
	for _, op := range []string{"...", "===", "!==", "**=", "<=>", "->", "=>", "==", "!=", "<=", ">=", "+=", ".=", "-=", "*=", "||", "&&", "??", "::", "?.", "**", "//", "<<", ">>", ":="} {
		if strings.HasPrefix(s[l.pos:], op) {
			l.add(token{kind: tokOp, s: op})
			l.pos += len(op)
			return true
		}
	}
	l.add(token{kind: tokOp, s: s[l.pos : l.pos+1]})
	l.pos++
	return true
}

func (l *lexer) line() {
	for l.pos < len(l.src) && l.src[l.pos] != '\n' {
		l.pos++
	}
}

func (l *lexer) ident() {
	start := l.pos
	for l.pos < len(l.src) && identChar(l.src[l.pos]) {
		l.pos++
	}
	if (l.lang == "ruby") && l.pos < len(l.src) && (l.src[l.pos] == '?' || l.src[l.pos] == '!') && (l.pos+1 >= len(l.src) || l.src[l.pos+1] != '=') {
		l.pos++
	}
	l.add(token{kind: tokIdent, s: l.src[start:l.pos]})
}

// pyPrefix reads a string with a prefix such as r'…' or f"…".
func (l *lexer) pyPrefix() bool {
	i := l.pos
	for i < len(l.src) && i-l.pos < 3 && strings.IndexByte("rRbBfFuU", l.src[i]) >= 0 {
		i++
	}
	if i < len(l.src) && i > l.pos && (l.src[i] == '"' || l.src[i] == '\'') {
		pre := strings.ToLower(l.src[l.pos:i])
		l.pos = i
		l.str(l.src[i], pre)
		return true
	}
	return false
}

func (l *lexer) str(q byte, prefix string) {
	s := l.src
	triple := l.lang == "python" && strings.HasPrefix(s[l.pos:], strings.Repeat(string(q), 3))
	var body string
	if triple {
		end := strings.Index(s[l.pos+3:], strings.Repeat(string(q), 3))
		if end < 0 {
			body = s[l.pos+3:]
			l.pos = len(s)
		} else {
			body = s[l.pos+3 : l.pos+3+end]
			l.pos += end + 6
		}
	} else {
		var end int
		body, end = until(s, l.pos+1, q)
		l.pos = end
	}
	t := token{kind: tokStr}
	single := q == '\'' && (l.lang == "perl" || l.lang == "ruby" || l.lang == "php")
	switch {
	case strings.Contains(prefix, "r"):
		t.s = body
	case single:
		t.s = strings.NewReplacer(`\'`, `'`, `\\`, `\`).Replace(body)
	default:
		t.s, t.spells = ansiC(body)
	}
	t.fstr = strings.Contains(prefix, "f")
	t.interp = t.fstr || q == '"' && (l.lang == "perl" || l.lang == "ruby" || l.lang == "php")
	l.add(t)
}

func unescape(s string) string {
	out, _ := ansiC(s)
	return out
}

// until gives the text from pos up to an unescaped q, and the place after it.
func until(s string, pos int, q byte) (string, int) {
	for i := pos; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case q:
			return s[pos:i], i + 1
		}
	}
	if pos > len(s) {
		pos = len(s)
	}
	return s[pos:], len(s)
}

func closer(c byte) byte {
	switch c {
	case '(':
		return ')'
	case '{':
		return '}'
	case '[':
		return ']'
	case '<':
		return '>'
	}
	return c
}

// balanced reads from an opening delimiter at pos to its closer.
func balanced(s string, pos int) (string, int) {
	open := s[pos]
	cl := closer(open)
	if open == cl {
		return until(s, pos+1, cl)
	}
	depth := 0
	for i := pos; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case open:
			depth++
		case cl:
			if depth--; depth == 0 {
				return s[pos+1 : i], i + 1
			}
		}
	}
	return s[pos+1:], len(s)
}

func (l *lexer) perlQuote() bool {
	s := l.src
	for _, q := range []string{"qq", "qw", "qx", "qr", "q"} {
		if !strings.HasPrefix(s[l.pos:], q) {
			continue
		}
		i := l.pos + len(q)
		for i < len(s) && s[i] == ' ' {
			i++
		}
		if i >= len(s) || identChar(s[i]) || s[i] == '=' || s[i] == ',' || s[i] == ';' || s[i] == ')' {
			return false
		}
		body, end := balanced(s, i)
		l.pos = end
		switch q {
		case "qx":
			l.add(token{kind: tokShell, s: body, interp: true})
		case "qw":
			l.add(token{kind: tokStr, s: body, words: true})
		case "qr":
			l.add(token{kind: tokRegex, s: body})
		default:
			l.add(token{kind: tokStr, s: body, interp: q == "qq"})
		}
		return true
	}
	return false
}

func (l *lexer) rubyQuote() bool {
	s := l.src
	i := l.pos + 1
	kind := byte('Q')
	if i < len(s) && strings.IndexByte("wWqQxiIr", s[i]) >= 0 {
		kind = s[i]
		i++
	}
	if i >= len(s) || strings.IndexByte("({[<|!/", s[i]) < 0 {
		return false
	}
	body, end := balanced(s, i)
	l.pos = end
	switch kind {
	case 'x':
		l.add(token{kind: tokShell, s: body, interp: true})
	case 'w', 'W', 'i', 'I':
		l.add(token{kind: tokStr, s: body, words: true})
	default:
		l.add(token{kind: tokStr, s: body, interp: kind == 'Q'})
	}
	return true
}

func (l *lexer) hereDoc() bool {
	s := l.src
	i := l.pos + 2
	if i < len(s) && (s[i] == '~' || s[i] == '-') {
		i++
	}
	if i < len(s) && s[i] == '<' { // PHP's <<<
		i++
	}
	q := byte(0)
	if i < len(s) && (s[i] == '\'' || s[i] == '"') {
		q = s[i]
		i++
	}
	start := i
	for i < len(s) && identChar(s[i]) {
		i++
	}
	tag := s[start:i]
	if tag == "" || !(tag[0] >= 'A' && tag[0] <= 'Z') {
		return false
	}
	if q != 0 {
		i++
	}
	nl := strings.IndexByte(s[min(i, len(s)):], '\n')
	if nl < 0 {
		return false
	}
	lineEnd := i + nl
	body := s[lineEnd+1:]
	end := len(body)
	after := len(s)
	off := 0
	for _, line := range strings.SplitAfter(body, "\n") {
		if strings.TrimRight(strings.TrimSpace(line), ";") == tag {
			end = off
			after = lineEnd + 1 + off + len(line)
			break
		}
		off += len(line)
	}
	text := body[:end]
	// The rest of the line is read first; the body is cut out.
	l.add(token{kind: tokStr, s: text, interp: q != '\''})
	l.src = s[:i] + s[i:lineEnd] + "\n" + s[min(after, len(s)):]
	l.pos = i
	return true
}
