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
	start := p.i
	p.paramList(b)
	p.body(b, '}')
	b.text = p.s[start:min(p.i, len(p.s))]
	if p.peek() == '}' {
		p.i++
	} else {
		p.fail("a block without an end")
	}
	return b
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
	p.body(b, ')')
	if p.peek() == ')' {
		p.i++
	} else {
		p.fail("a bracket without an end")
	}
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
