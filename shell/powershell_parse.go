package shell

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// The tree of a PowerShell script: as much of the language as is needed to tell
// which commands run with which arguments.

type psBlock struct {
	params []string
	stmts  []psStmt
	text   string
}

type psStmt any

type (
	// psChain is pipelines joined by && and ||.
	psChain struct {
		pipes []*psPipe
		ops   []string
	}
	psPipe struct {
		elems []psElem
		span  Span
	}
	psElem struct {
		expr   psExpr // or
		cmd    *psCmd
		redirs []psRedir
		span   Span
	}
	psRedir struct {
		fd   string
		add  bool
		to   *psWord
		span Span
	}
	psCmd struct {
		name psExpr
		dot  bool // . rather than &
		call bool // & or .
		args []psArg
		span Span
	}
	// psArg is one argument. param is a parameter's name, and value what a colon
	// ties to it.
	psArg struct {
		param string
		raw   string // the text of a parameter, as a native program gets it
		value psExpr
		splat string
		span  Span
	}
	psAssign struct {
		target psExpr
		op     string
		value  psStmt
		span   Span
	}
	psIf struct {
		conds  []psStmt
		blocks []*psBlock
	}
	psLoop struct {
		kind string // foreach, for, while, do
		name string
		list psStmt
		init psStmt
		cond psStmt
		iter psStmt
		body *psBlock
		span Span
	}
	psParts struct { // try, switch and other statements whose blocks all count
		head   psStmt
		blocks []*psBlock
	}
	psFunc struct {
		name string
		body *psBlock
	}
	psReturn struct{ value psStmt }
)

type psExpr any

type (
	psLit struct {
		s      string
		quoted bool
		ticks  bool // backticks that were not needed
		span   Span
	}
	// psWord is text put together from pieces: an expandable string or a word of
	// a command.
	psWord struct {
		parts  []psExpr
		quoted bool
		ticks  bool
		span   Span
	}
	psVar struct {
		scope, name string
		span        Span
	}
	psSub struct {
		block *psBlock
		list  bool
		span  Span
	}
	psList struct{ items []psExpr }
	psHash struct {
		keys []psExpr
		vals []psStmt
	}
	psFn     struct{ block *psBlock }
	psType   struct{ name string }
	psMember struct {
		obj    psExpr
		name   psExpr
		static bool
		call   bool
		args   []psExpr
		span   Span
	}
	psIndex struct{ obj, idx psExpr }
	psBin   struct {
		op   string
		l, r psExpr
	}
	psUnary struct {
		op string
		x  psExpr
	}
	psCast struct {
		typ string
		x   psExpr
	}
)

const psDepth = 120

type psParser struct {
	s     string
	i     int
	depth int
	bad   int // offset of the first error, or -1
	msg   string
	nodes int
}

// parsePS reads a script. It never fails: what it cannot read ends the script,
// and bad says where.
func parsePS(s string) (*psBlock, *psParser) {
	p := &psParser{s: s, bad: -1}
	b := &psBlock{text: s}
	for {
		p.body(b, 0)
		if p.i >= len(p.s) || p.bad >= 0 {
			return b, p
		}
		// A closing brace too many: what follows may still be run by parts of it.
		p.fail("a closing bracket without an opening one")
		p.i++
	}
}

func (p *psParser) fail(msg string) {
	if p.bad < 0 {
		p.bad, p.msg = p.i, msg
	}
}

func (p *psParser) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

func (p *psParser) at(n int) byte {
	if p.i+n < len(p.s) {
		return p.s[p.i+n]
	}
	return 0
}

func (p *psParser) has(s string) bool { return strings.HasPrefix(p.s[p.i:], s) }

// enter bounds the recursion.
func (p *psParser) enter() bool {
	p.nodes++
	if p.depth++; p.depth > psDepth || p.bad >= 0 {
		if p.bad < 0 {
			p.fail("nested too deep")
		}
		p.i = len(p.s)
		return false
	}
	return true
}

func (p *psParser) leave() { p.depth-- }

// space skips blanks, comments and continued lines; lines too when nl is set.
func (p *psParser) space(nl bool) {
	for p.i < len(p.s) {
		c := p.s[p.i]
		switch {
		case c == ' ' || c == '\t' || c == '\f' || c == '\v':
			p.i++
		case c == '\r' || c == '\n':
			if !nl {
				return
			}
			p.i++
		case c == '`' && (p.at(1) == '\n' || p.at(1) == '\r' && p.at(2) == '\n'):
			p.i += 2
			if p.s[p.i-1] == '\r' {
				p.i++
			}
		case c == '#':
			for p.i < len(p.s) && p.s[p.i] != '\n' {
				p.i++
			}
		case c == '<' && p.at(1) == '#':
			if j := strings.Index(p.s[p.i:], "#>"); j >= 0 {
				p.i += j + 2
			} else {
				p.fail("a comment without an end")
				p.i = len(p.s)
			}
		case c >= utf8.RuneSelf:
			r, n := utf8.DecodeRuneInString(p.s[p.i:])
			if !unicode.IsSpace(r) {
				return
			}
			p.i += n
		default:
			return
		}
	}
}

// body reads statements up to end, which is not taken.
func (p *psParser) body(b *psBlock, end byte) {
	if !p.enter() {
		return
	}
	defer p.leave()
	for {
		p.space(true)
		for p.peek() == ';' || p.peek() == '&' && p.at(1) != ' ' && p.at(1) != '&' && len(b.stmts) > 0 && isPSEnd(p.at(1)) {
			p.i++
			p.space(true)
		}
		c := p.peek()
		if p.i >= len(p.s) || p.bad >= 0 {
			return
		}
		if c == '}' || c == ')' {
			return
		}
		start := p.i
		if s := p.statement(b); s != nil {
			b.stmts = append(b.stmts, s)
		}
		if p.i == start {
			p.fail("this is no statement")
			return
		}
	}
}

func isPSEnd(c byte) bool {
	return c == 0 || c == '\n' || c == '\r' || c == ';' || c == '}' || c == ')'
}

func (p *psParser) word() string {
	j := p.i
	for j < len(p.s) && (isLetter(p.s[j]) || j > p.i && (p.s[j] >= '0' && p.s[j] <= '9' || p.s[j] == '_')) {
		j++
	}
	return p.s[p.i:j]
}

// block reads { … }.
func (p *psParser) block() *psBlock {
	b := &psBlock{}
	p.space(true)
	if p.peek() != '{' {
		p.fail("expected {")
		return b
	}
	p.i++
	p.enclosed(b, '}', "a block without an end")
	return b
}

// enclosed reads a body and the bracket that ends it; msg says that there is none.
func (p *psParser) enclosed(b *psBlock, end byte, msg string) {
	start := p.i
	if end == '}' {
		p.paramList(b)
	}
	p.body(b, end)
	b.text = p.s[start:min(p.i, len(p.s))]
	if p.peek() != end {
		p.fail(msg)
		return
	}
	p.i++
}

// paramList reads param(…) at the start of a block.
func (p *psParser) paramList(b *psBlock) {
	for {
		save := p.i
		p.space(true)
		if p.peek() == '[' && strings.HasPrefix(strings.ToLower(p.s[p.i:]), "[cmdletbinding") {
			p.bracket('[', ']')
			continue
		}
		if w := strings.ToLower(p.word()); w == "param" {
			p.i += 5
			p.space(true)
			if p.peek() == '(' {
				b.params = p.params()
				return
			}
		}
		p.i = save
		return
	}
}

// params reads (…) with parameter names.
func (p *psParser) params() []string {
	start := p.i
	p.bracket('(', ')')
	text := p.s[start:p.i]
	var out []string
	depth := 0
	for j := 0; j < len(text); j++ {
		switch text[j] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '$':
			if depth == 1 {
				k := j + 1
				for k < len(text) && (isLetter(text[k]) || text[k] == '_' || text[k] >= '0' && text[k] <= '9') {
					k++
				}
				// A default may name other variables; the first after a comma counts.
				before := strings.TrimRight(text[1:j], " \t\r\n")
				if before == "" || before[len(before)-1] == ',' || before[len(before)-1] == ']' {
					out = append(out, strings.ToLower(text[j+1:k]))
				}
				j = k - 1
			}
		}
	}
	return out
}

// bracket skips to the end of a bracket, past strings.
func (p *psParser) bracket(open, end byte) {
	depth := 0
	for p.i < len(p.s) {
		switch p.s[p.i] {
		case '`':
			p.i++
		case '\'':
			for p.i++; p.i < len(p.s) && p.s[p.i] != '\''; {
				p.i++
			}
		case open:
			depth++
		case end:
			if depth--; depth == 0 {
				p.i++
				return
			}
		}
		p.i++
	}
	p.i = min(p.i, len(p.s))
	p.fail("a bracket without an end")
}
