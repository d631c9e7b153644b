package shell

import (
	_ "embed"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// calls.txt says what calls in script languages do, one a line:
//
//	LANG NAME[,NAME…] EFFECT [ARG]
//
// LANG is python, js, ruby, perl, php or * for all. NAME is dotted, after imports
// are resolved; `.name` is a method of any object. ARG is the index of the
// operand that the effect is about (default 0; `r` is the receiver, `*` every
// operand). Effects are listed in [callEffects].
//
//go:embed calls.txt
var callsText string

// callEffects are the effects that calls.txt may name.
var callEffects = map[string]bool{
	"read": true, "write": true, "open": true, "delete": true, "deltree": true, "rmopt": true, "mode": true, "owner": true,
	"move": true, "copy": true, "link": true, "sh": true, "argv": true, "spawn": true, "code": true, "fetch": true, "post": true,
	"connect": true, "listen": true, "kill": true, "print": true, "send": true, "shell": true, "dup": true, "fork": true, "mkdir": true, "chdir": true, "exit": true, "copyin": true, "elevate": true, "publish": true, "wipe": true, "sql": true, "dropdb": true, "infra": true, "reveal": true, "upload": true, "sdkdelete": true, "forced": true, "emptyonly": true, "readfd": true,
}

type callRule struct {
	effect string
	arg    string
}

var callTable struct {
	once  sync.Once
	rules map[string]callRule
	err   error
}

func callRules() map[string]callRule {
	callTable.once.Do(func() {
		callTable.rules = make(map[string]callRule, 512)
		for n, line := range strings.Split(callsText, "\n") {
			w := strings.Fields(line)
			if len(w) == 0 || w[0][0] == '#' {
				continue
			}
			if len(w) < 3 || !callEffects[w[2]] {
				callTable.err = fmt.Errorf("calls.txt:%d: %q", n+1, line)
				continue
			}
			r := callRule{effect: w[2], arg: "0"}
			if len(w) > 3 {
				r.arg = w[3]
			}
			for name := range strings.SplitSeq(w[1], ",") {
				callTable.rules[w[0]+" "+name] = r
			}
		}
	})
	return callTable.rules
}

// cval is a value of a script.
type cval struct {
	v     value
	name  string // the dotted name of a module, function or object kind
	list  []cval
	isLst bool
	keys  map[string]cval
	ok    bool // v holds text
	isNum bool
}

func text(s string) cval { return cval{v: lit(literalKeep(s)), ok: true} }

var noVal = cval{v: value{s: unknownText}}

func named(s string) cval { return cval{v: value{s: unknownText}, name: s} }

// key is the value as the name of a pair.
func (c cval) key() string {
	if c.ok {
		return c.v.s
	}
	return c.name
}

func (c cval) taints() taint {
	t := c.v.t
	for _, e := range c.list {
		t |= e.taints()
	}
	for _, e := range c.keys {
		t |= e.taints()
	}
	return t
}

func (c cval) sources() []int {
	s := c.v.src
	for _, e := range c.list {
		s = append(slices.Clip(s), e.sources()...)
	}
	for _, e := range c.keys {
		s = append(slices.Clip(s), e.sources()...)
	}
	return s
}

type coder struct {
	x     *inv
	lang  string
	toks  []token
	i     int
	depth int
	env   map[string]cval

	connected, listened, shelled, looped, forked bool
	stdout                                       *value // what is printed, as far as it is known
}

// codeLang gives the language that a program runs.
func codeLang(prog string) string {
	switch {
	case strings.HasPrefix(prog, "python"), strings.HasPrefix(prog, "pypy"), prog == "ipython", prog == "jython":
		return "python"
	}
	switch prog {
	case "node", "nodejs", "deno", "bun", "tsx", "ts-node", "qjs", "d8", "mongosh", "mongo", "js":
		return "js"
	case "perl", "raku":
		return "perl"
	case "ruby", "irb", "rails", "crystal":
		return "ruby"
	case "php", "artisan":
		return "php"
	case "lua", "luajit":
		return "lua"
	case "Rscript", "R", "julia", "elixir", "groovy", "scala", "erl", "iex", "swift", "ghci":
		return "other"
	}
	return ""
}

// inline judges a program text in another language.
func (x *inv) inline(prog string, code value) value {
	f, m := x.f, x.f.m
	if isShellName(prog) {
		return x.runContent(code)
	}
	x.origin(code)
	lang := codeLang(prog)
	if code.opaque() {
		if code.t&(tNet|tPeer|tDecoded) == 0 {
			m.undecided(ScriptUnknown, prog, true, x.cmd, x.span)
		}
		return unknownVal(tCmd)
	}
	if lang == "" {
		m.undecided(CodeInline, prog, true, x.cmd, x.span)
		return unknownVal(tCmd)
	}
	if len(code.s) > 1<<18 {
		m.breach("bytes", x.span)
		return unknownVal(tCmd)
	}
	if f.depth > m.lim.Depth {
		m.breach("depth", x.span)
		return unknownVal(tCmd)
	}
	c := &coder{x: x, lang: lang, env: map[string]cval{}}
	c.toks = tokenize(lang, code.text())
	m.nodes += len(c.toks)
	via := f.via
	f.via = append(slices.Clip(f.via), ViaCode)
	defer func() { f.via = via }()
	before := len(m.res.Actions)
	out := c.program()
	if lang == "other" && len(m.res.Actions) == before {
		// Only its calls into the system are known.
		m.undecided(CodeInline, prog, true, x.cmd, x.span)
	}
	if (c.connected || c.listened) && c.shelled {
		f.emit(Action{Kind: NetShell, Span: x.span, Command: x.cmd + 1})
	}
	if growsForEver(c.toks) {
		f.emit(Action{Kind: Exhaust, Detail: "memory without bound", Span: x.span, Command: x.cmd + 1})
	}
	if c.forked && c.looped {
		f.emit(Action{Kind: Exhaust, Detail: "processes without bound", Span: x.span, Command: x.cmd + 1})
	}
	return out
}

// growsForEver reports a loop that always goes on, only to make something larger:
// nothing in the program leaves it or waits.
func growsForEver(toks []token) bool {
	endless, grows := false, false
	for i, t := range toks {
		if t.kind != tokIdent {
			grows = grows || t.kind == tokOp && (t.s == "+=" || t.s == "<<" || t.s == "*=")
			continue
		}
		switch t.s {
		case "while", "until", "loop":
			j := i + 1
			for j < len(toks) && toks[j].s == "(" {
				j++
			}
			if j < len(toks) {
				switch s := toks[j].s; {
				case t.s == "while" && (s == "True" || s == "true" || s == "1"), t.s == "until" && s == "false", t.s == "loop" && (s == "do" || s == "{"):
					endless = true
				}
			}
		case "append", "push", "extend", "concat", "unshift", "alloc", "bytearray", "malloc":
			grows = true
		case "break", "return", "exit", "quit", "sleep", "input", "raw_input", "gets", "recv", "read", "readline", "readlines", "accept", "wait", "await", "poll", "select", "get", "next", "last", "die", "raise", "throw", "process", "yield":
			return false
		}
	}
	return endless && grows
}

func (c *coder) peek() token {
	if c.i < len(c.toks) {
		return c.toks[c.i]
	}
	return token{}
}

func (c *coder) at(n int) token {
	if c.i+n < len(c.toks) && c.i+n >= 0 {
		return c.toks[c.i+n]
	}
	return token{}
}

func (c *coder) op(s string) bool {
	t := c.peek()
	return t.kind == tokOp && t.s == s
}

func (c *coder) accept(s string) bool {
	if c.op(s) {
		c.i++
		return true
	}
	return false
}

// program reads all statements; what it cannot read it steps over.
func (c *coder) program() value {
	out := value{s: unknownText, t: tCmd}
	var printed value
	c.stdout = &value{}
	for c.i < len(c.toks) && !c.x.f.m.stop {
		start := c.i
		t := c.peek()
		if t.kind == tokIdent {
			switch t.s {
			case "import", "from":
				if c.lang == "python" && c.pyImport() || c.lang == "js" && c.jsImport() {
					continue
				}
			case "const", "let", "var":
				if c.lang == "js" && c.jsDecl() {
					continue
				}
			case "my", "our", "local", "use", "require_once", "async", "await", "return", "else", "try", "do", "begin", "then", "puts_", "new":
				if t.s != "use" && t.s != "new" {
					c.i++
					continue
				}
			case "while", "until", "loop":
				c.looped = true
				c.i++
				continue
			case "for", "foreach":
				c.looped = c.looped || c.lang == "js" && c.at(1).s == "(" && c.at(2).s == ";"
				if c.forEach() {
					continue
				}
				c.i++
				continue
			case "with":
				if c.lang == "python" {
					c.i++
					continue
				}
			}
		}
		v := c.expr(0)
		printed = concat(printed, v.v.with("").keepTaint())
		c.assignTo(start, v)
		if c.i == start {
			c.i++
		}
	}
	out.t |= printed.t & (tFile | tNet | tEnv | tDecoded)
	out.src = append(out.src, printed.src...)
	if c.stdout.s != "" && c.stdout.known() {
		out.s = c.stdout.s
		out.t |= c.stdout.t & (tDecoded | tGlued)
	}
	return out
}

func (v value) keepTaint() value { v.s = ""; return v }

// assignTo binds a name when the expression just read is the left side of an
// assignment.
func (c *coder) assignTo(start int, left cval) {
	if !(c.op("=") || c.op(":=") || c.op("+=") || c.op(".=")) {
		if t := c.peek(); t.kind == tokIdent && t.s == "as" && c.lang == "python" && c.at(1).kind == tokIdent {
			c.env[c.at(1).s] = left
			c.i += 2
		}
		return
	}
	add := c.peek().s
	end := c.i
	c.i++
	v := c.expr(0)
	if end-start == 1 {
		name := c.toks[start].s
		if add == "+=" || add == ".=" {
			old := c.env[name]
			v = c.concat(old, v)
		}
		c.env[name] = v
		// a = b = value
		return
	}
	if end-start == 3 && c.toks[start].s == "(" {
		c.env[c.toks[start+1].s] = v
	}
}

func (c *coder) dotted() string {
	var b strings.Builder
	for c.peek().kind == tokIdent {
		b.WriteString(c.peek().s)
		c.i++
		if c.op(".") {
			b.WriteByte('.')
			c.i++
			continue
		}
		break
	}
	return b.String()
}

func (c *coder) pyImport() bool {
	if c.peek().s == "import" {
		c.i++
		for {
			name := c.dotted()
			if name == "" {
				return true
			}
			if c.peek().s == "as" {
				c.i++
				c.env[c.peek().s] = named(name)
				c.i++
			}
			if !c.accept(",") {
				return true
			}
		}
	}
	c.i++ // from
	mod := c.dotted()
	if c.peek().s != "import" {
		return true
	}
	c.i++
	c.accept("(")
	for c.peek().kind == tokIdent {
		name := c.peek().s
		as := name
		c.i++
		if c.peek().s == "as" {
			c.i++
			as = c.peek().s
			c.i++
		}
		c.env[as] = named(mod + "." + name)
		if !c.accept(",") {
			break
		}
	}
	c.accept(")")
	return true
}

func moduleName(s string) string {
	s = strings.TrimPrefix(s, "node:")
	s = strings.TrimPrefix(s, "bun:")
	return strings.ReplaceAll(s, "/", ".")
}

// jsImport reads `import fs from 'fs'`, `import {a as b} from 'c'`.
func (c *coder) jsImport() bool {
	if c.at(1).s == "(" {
		return false
	}
	c.i++
	var names [][2]string
	def := ""
	for c.i < len(c.toks) {
		t := c.peek()
		switch {
		case t.kind == tokStr:
			mod := moduleName(t.s)
			c.i++
			if def != "" {
				c.env[def] = named(mod)
			}
			for _, n := range names {
				c.env[n[1]] = named(mod + "." + n[0])
			}
			return true
		case t.kind == tokIdent && t.s != "from" && t.s != "as":
			if c.at(1).s == "as" {
				names = append(names, [2]string{t.s, c.at(2).s})
				c.i += 3
				continue
			}
			if c.at(-1).s == "as" || c.at(-1).s == "import" || c.at(-1).s == "," && len(names) == 0 && def == "" {
				def = t.s
			} else {
				names = append(names, [2]string{t.s, t.s})
			}
		case t.nl:
			return true
		}
		c.i++
	}
	return true
}

// jsDecl reads const x = …, const {a, b: c} = ….
func (c *coder) jsDecl() bool {
	c.i++
	if c.op("{") {
		var names [][2]string
		c.i++
		for c.i < len(c.toks) && !c.op("}") {
			t := c.peek()
			if t.kind == tokIdent {
				if c.at(1).s == ":" && c.at(2).kind == tokIdent {
					names = append(names, [2]string{t.s, c.at(2).s})
					c.i += 3
					continue
				}
				names = append(names, [2]string{t.s, t.s})
			}
			c.i++
		}
		c.accept("}")
		if c.accept("=") {
			v := c.expr(0)
			for _, n := range names {
				c.env[n[1]] = c.member(v, n[0])
			}
		}
		return true
	}
	start := c.i
	for c.i < len(c.toks) {
		if c.peek().kind != tokIdent {
			return c.i > start
		}
		name := c.peek().s
		c.i++
		if c.accept("=") {
			c.env[name] = c.expr(0)
		}
		if !c.accept(",") {
			return true
		}
	}
	return true
}

// forEach binds the loop variable of `for x in list` to what it may be.
func (c *coder) forEach() bool {
	save := c.i
	c.i++
	c.accept("(")
	for c.peek().s == "const" || c.peek().s == "let" || c.peek().s == "var" || c.peek().s == "my" {
		c.i++
	}
	t := c.peek()
	if t.kind != tokIdent && t.kind != tokVar {
		c.i = save
		return false
	}
	name := t.s
	c.i++
	switch {
	case c.peek().s == "in" || c.peek().s == "of":
		c.i++
	case c.lang == "perl" && c.op("("):
	default:
		c.i = save
		return false
	}
	v := c.expr(0)
	body := c.i
	if v.isLst && len(v.list) > 0 && len(v.list) <= 16 {
		// The body is read once for each element but the last; the main loop
		// reads it for that one.
		for _, e := range v.list[:len(v.list)-1] {
			c.env[name] = e
			c.i = body
			c.accept(")")
			c.accept(":")
			for c.i < len(c.toks) && (c.i == body || !c.peek().nl) && !c.x.f.m.stop {
				at := c.i
				r := c.expr(0)
				c.assignTo(at, r)
				if c.i == at {
					c.i++
				}
			}
		}
		c.i = body
		c.env[name] = v.list[len(v.list)-1]
		return true
	}
	v.isLst, v.list = false, nil
	c.env[name] = v
	return true
}

func (c *coder) concat(a, b cval) cval {
	r := cval{ok: a.ok || b.ok}
	x := a.v
	if !a.ok && x.s == "" {
		x.s = unknownText
	}
	y := b.v
	if !b.ok && y.s == "" {
		y.s = unknownText
	}
	if len(x.s)+len(y.s) > 1<<16 {
		return noVal
	}
	x.vars = append([]string(nil), x.vars...)
	x.src = append([]int(nil), x.src...)
	x.add(y)
	if a.ok && b.ok && a.v.s != "" && b.v.s != "" {
		x.t |= tGlued
	}
	r.v = x
	if a.isLst || b.isLst {
		r.isLst, r.list = true, append(append([]cval(nil), a.list...), b.list...)
	}
	if a.name != "" && (a.name == "Path" || b.name == "Path") {
		r.name = "Path"
	}
	return r
}

const maxCodeDepth = 120

// expr reads an expression; min is the least binding that it may join by.
func (c *coder) expr(min int) cval {
	c.depth++
	defer func() { c.depth-- }()
	if c.depth > maxCodeDepth {
		c.i++
		return noVal
	}
	left := c.postfix(c.primary())
	for c.i < len(c.toks) {
		t := c.peek()
		if t.kind == tokIdent {
			switch t.s {
			case "or", "and", "x", "in", "is", "not", "if", "unless", "while", "until", "else", "instanceof", "rescue", "for":
				if min > 0 {
					return left
				}
				if t.nl {
					return left
				}
				if t.s == "while" || t.s == "until" {
					c.looped = true
				}
				if t.s == "x" && c.lang == "perl" {
					c.i++
					n := c.expr(2)
					c.huge(left, n)
					left = noVal
					continue
				}
				if t.s == "or" || t.s == "and" {
					c.i++
					r := c.expr(1)
					if !left.ok {
						left = r
					}
					continue
				}
				return left
			}
			return left
		}
		if t.kind != tokOp {
			return left
		}
		switch t.s {
		case "+":
			c.i++
			left = c.concat(left, c.expr(2))
		case ".":
			if c.lang == "perl" || c.lang == "php" {
				c.i++
				left = c.concat(left, c.expr(2))
				continue
			}
			return left
		case "..":
			c.i++
			left = c.concat(left, c.expr(2))
		case "/":
			c.i++
			r := c.expr(2)
			if left.name == "Path" || r.name == "Path" {
				left = cval{v: c.joinPath(left.v, r.v), name: "Path", ok: true}
			} else {
				left = noVal
			}
		case "%":
			c.i++
			r := c.expr(2)
			if left.ok && c.lang != "perl" && c.lang != "js" {
				args := r.list
				if !r.isLst {
					args = []cval{r}
				}
				vals := []value{left.v}
				for _, a := range args {
					vals = append(vals, a.v)
				}
				left = cval{v: formatted(vals), ok: true}
			}
		case "*", "**":
			c.i++
			r := c.expr(2)
			c.huge(left, r)
			left = c.times(t.s, left, r)
		case "||", "??", "&&", "==", "===", "!=", "!==", "<", ">", "<=", ">=", "-", "&", "|", "<<", ">>", "//", "<=>", "^":
			if min > 1 {
				return left
			}
			c.i++
			r := c.expr(1)
			if (t.s == "||" || t.s == "??" || t.s == "//") && !left.ok {
				if left.v.vars != nil && r.v.vars == nil {
					r.v.vars = left.v.vars
				}
				left = r
			} else if t.s == "<<" && left.ok {
				left = c.concat(left, r)
			}
		case "?":
			if min > 0 {
				return left
			}
			c.i++
			a := c.expr(0)
			c.accept(":")
			b := c.expr(0)
			if a.ok {
				left = a
			} else {
				left = b
			}
		case "=>":
			// An arrow function's body, or a pair of a hash.
			if c.lang == "js" {
				c.i++
				return left
			}
			return left
		default:
			return left
		}
	}
	return left
}

func (c *coder) number(v cval) (float64, bool) {
	if !v.isNum {
		return 0, false
	}
	s := strings.ReplaceAll(v.v.s, "_", "")
	if n, err := strconv.ParseFloat(s, 64); err == nil {
		return n, true
	}
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return float64(n), true
	}
	return 0, false
}

func (c *coder) times(op string, a, b cval) cval {
	x, ok1 := c.number(a)
	y, ok2 := c.number(b)
	if !ok1 || !ok2 {
		return noVal
	}
	r := x * y
	if op == "**" {
		r = 1
		for i := 0; i < int(y) && i < 400; i++ {
			r *= x
		}
	}
	return cval{v: lit(strconv.FormatFloat(r, 'g', -1, 64)), ok: true, isNum: true}
}

// huge notices text or memory of gigabytes.
func (c *coder) huge(a, b cval) {
	for _, p := range [][2]cval{{a, b}, {b, a}} {
		if n, ok := c.number(p[1]); ok && n >= 4e9 && !p[0].isNum {
			c.emit(Action{Kind: Exhaust, Detail: "memory without bound"})
		}
	}
}

func (c *coder) emit(a Action) int {
	a.Span, a.Command = c.x.span, c.x.cmd+1
	return c.x.f.emit(a)
}

// primary reads a literal, a name, a list or a group.
func (c *coder) primary() cval {
	t := c.peek()
	switch t.kind {
	case tokStr:
		c.i++
		if t.words {
			l := cval{isLst: true}
			for w := range strings.FieldsSeq(t.s) {
				l.list = append(l.list, text(w))
			}
			return l
		}
		v := c.interpolate(t)
		if t.spells {
			v.v.t |= tDecoded
		}
		// Strings that stand side by side are one, in Python.
		for c.lang == "python" && c.peek().kind == tokStr && !c.peek().nl {
			n := c.peek()
			c.i++
			v = c.concat(v, c.interpolate(n))
		}
		return v
	case tokNum:
		c.i++
		return cval{v: lit(t.s), ok: true, isNum: true}
	case tokRegex:
		c.i++
		return text(t.s)
	case tokShell:
		c.i++
		v := c.interpolate(t)
		return c.shellRun(v)
	case tokVar:
		c.i++
		if c.lang == "perl" && t.s == "$ENV" && c.op("{") {
			c.i++
			k := c.expr(0)
			if k.name != "" && !k.ok {
				k = text(k.name)
			}
			c.accept("}")
			return c.envVar(k.v.s)
		}
		if c.lang == "php" && (t.s == "$_ENV" || t.s == "$_SERVER") && c.op("[") {
			c.i++
			k := c.expr(0)
			c.accept("]")
			return c.envVar(k.v.s)
		}
		if v, ok := c.env[t.s]; ok {
			return v
		}
		if len(t.s) > 1 {
			// @list of $list[0] and the like
			for _, sig := range []string{"@", "$", "%"} {
				if v, ok := c.env[sig+t.s[1:]]; ok {
					return v
				}
			}
		}
		return cval{v: value{s: unknownText}, name: t.s}
	case tokIdent:
		return c.name()
	case tokEOF, tokOp:
	}
	switch t.s {
	case "(", "[":
		c.i++
		return c.items(closer(t.s[0]))
	case "{":
		c.i++
		return c.object()
	case "-", "+", "!", "~", "\\", "&", "*", "@", "...", "<", "%":
		c.i++
		if t.s == "<" && c.lang == "perl" {
			return noVal
		}
		if t.s == "%" && c.peek().s == "ENV" {
			c.i++
			return cval{v: value{s: unknownText, t: tEnv}, name: "ENV"}
		}
		v := c.postfix(c.primary())
		if t.s == "-" && v.ok {
			v.v.s = "-" + v.v.s
		}
		return v
	}
	return noVal
}

// comprehension looks ahead for `for NAME in LIST` before the closing bracket and
// binds NAME, so that what stands in front of it is read with its value.
func (c *coder) comprehension(end string) {
	if c.lang != "python" {
		return
	}
	depth := 0
	for i := c.i; i < len(c.toks) && i < c.i+400; i++ {
		t := c.toks[i]
		if t.kind == tokOp {
			switch t.s {
			case "(", "[", "{":
				depth++
			case ")", "]", "}":
				if depth == 0 {
					return
				}
				depth--
			}
			continue
		}
		if depth == 0 && t.kind == tokIdent && t.s == "for" && i+2 < len(c.toks) && c.toks[i+2].s == "in" {
			save := c.i
			c.i = i + 3
			v := c.expr(0)
			if v.isLst && len(v.list) > 0 {
				first := v.list[0]
				for _, e := range v.list[1:] {
					first.v.t |= e.v.t
				}
				v = first
			}
			v.isLst = false
			c.env[c.toks[i+1].s] = v
			c.i = save
			return
		}
	}
}

func (c *coder) items(end byte) cval {
	l := cval{isLst: true}
	c.comprehension(string(end))
	for c.i < len(c.toks) && !c.op(string(end)) {
		at := c.i
		v := c.expr(0)
		if c.accept("=>") {
			k := v
			v = c.expr(0)
			if l.keys == nil {
				l.keys = map[string]cval{}
			}
			l.keys[k.key()] = v
		} else {
			c.assignTo(at, v)
		}
		l.list = append(l.list, v)
		if !c.accept(",") && c.i == at {
			c.i++
		}
		if t := c.peek(); t.kind == tokIdent && (t.s == "for" || t.s == "if") {
			// A comprehension: its elements are not followed.
			for c.i < len(c.toks) && !c.op(string(end)) {
				at := c.i
				c.expr(0)
				if c.i == at {
					c.i++
				}
			}
		}
		if len(l.list) > 4096 {
			break
		}
	}
	c.accept(string(end))
	if end == ')' && len(l.list) == 1 && l.keys == nil && c.at(-2).s != "," {
		return l.list[0]
	}
	return l
}

func (c *coder) object() cval {
	o := cval{keys: map[string]cval{}}
	for c.i < len(c.toks) && !c.op("}") {
		at := c.i
		t := c.peek()
		key := ""
		if (t.kind == tokIdent || t.kind == tokStr) && (c.at(1).s == ":" || c.at(1).s == "=>") {
			key = t.s
			c.i += 2
			o.keys[key] = c.expr(0)
		} else {
			start := c.i
			v := c.expr(0)
			c.assignTo(start, v)
			if c.accept("=>") {
				o.keys[v.key()] = c.expr(0)
			}
		}
		c.accept(",")
		if c.i == at {
			c.i++
		}
	}
	c.accept("}")
	return o
}

// interpolate fills in the variables of a string.
func (c *coder) interpolate(t token) cval {
	if !t.interp {
		return text(t.s)
	}
	s := t.s
	out := cval{ok: true}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		ch := s[i]
		var inner string
		switch {
		case t.fstr && c.lang == "python" && ch == '{':
			if i+1 < len(s) && s[i+1] == '{' {
				b.WriteByte('{')
				i++
				continue
			}
			var end int
			inner, end = balanced(s, i)
			i = end - 1
			if k := strings.IndexByte(inner, '!'); k > 0 {
				inner = inner[:k]
			}
		case (c.lang == "js" && ch == '$' || c.lang == "ruby" && ch == '#') && i+1 < len(s) && s[i+1] == '{':
			var end int
			inner, end = balanced(s, i+1)
			i = end - 1
		case (c.lang == "perl" || c.lang == "php") && ch == '$' && i+1 < len(s) && (identStart(s[i+1]) || s[i+1] == '{'):
			j := i + 1
			if s[j] == '{' {
				var end int
				inner, end = balanced(s, j)
				inner = "$" + strings.TrimPrefix(inner, "$")
				i = end - 1
				break
			}
			for j < len(s) && identChar(s[j]) {
				j++
			}
			inner = s[i:j]
			if j < len(s) && (s[j] == '{' || s[j] == '[') {
				var end int
				_, end = balanced(s, j)
				inner = s[i:end]
				j = end
			}
			i = j - 1
		default:
			b.WriteByte(ch)
			continue
		}
		sub := &coder{x: c.x, lang: c.lang, env: c.env, depth: c.depth + 1}
		if sub.depth > maxCodeDepth {
			return noVal
		}
		sub.toks = tokenize(c.lang, inner)
		v := sub.expr(0)
		if v.v.s == "" && !v.ok {
			v.v.s = unknownText
		}
		b.WriteString(v.v.s)
		out.v.t |= v.v.t
		out.v.vars = append(out.v.vars, v.v.vars...)
		out.v.src = append(out.v.src, v.v.src...)
	}
	out.v.s = b.String()
	return out
}

func (c *coder) envVar(name string) cval {
	v, _ := c.x.f.lookup(name)
	r := cval{v: v, ok: v.known(), name: "env." + name}
	if !v.known() {
		r.v.vars = []string{name}
	}
	return r
}

// name reads an identifier and what it stands for.
func (c *coder) name() cval {
	t := c.peek()
	c.i++
	switch t.s {
	case "new", "await", "return", "yield", "not", "typeof", "void", "throw", "delete", "lambda", "raise", "print_", "my", "our", "local", "and", "or", "if", "elif", "else", "do", "then", "unless", "const", "let", "var", "assert", "case", "when":
		if t.s == "lambda" {
			for c.i < len(c.toks) && !c.op(":") && !c.op(",") && !c.op(")") {
				c.i++
			}
			c.accept(":")
		}
		return c.postfix(c.primary())
	case "function", "def", "class", "sub", "fn":
		return noVal
	case "True", "true", "TRUE", "FALSE", "False", "false", "None", "null", "nil", "undefined":
		return cval{v: value{s: unknownText}, name: strings.ToLower(t.s)}
	case "__import__":
		if c.accept("(") {
			v := c.items(')')
			return named(v.v.s)
		}
	case "require":
		if c.lang == "js" && c.op("(") {
			c.i++
			v := c.items(')')
			return named(moduleName(v.v.s))
		}
		if c.lang == "ruby" || c.lang == "perl" || c.lang == "php" {
			if c.peek().kind == tokStr {
				c.i++
			}
			return noVal
		}
	case "use":
		for c.i < len(c.toks) && !c.op(";") {
			c.i++
		}
		return noVal
	}
	if t.s == "fork" && (c.lang == "perl" || c.lang == "ruby") {
		c.forked = true
	}
	if v, ok := c.env[t.s]; ok {
		return v
	}
	name := t.s
	if c.lang == "js" && name == "import" && c.op("(") {
		c.i++
		v := c.items(')')
		return named(moduleName(v.v.s))
	}
	return named(name)
}

// member is a.name.
func (c *coder) member(a cval, name string) cval {
	if k, ok := a.keys[name]; ok {
		return k
	}
	if a.name == "process.env" || a.name == "Deno.env" || a.name == "Bun.env" || a.name == "import.meta.env" {
		return c.envVar(name)
	}
	full := name
	if a.name != "" {
		full = a.name + "." + name
	}
	r := cval{v: a.v, name: full}
	switch {
	case a.ok && a.name == "":
		r.name = "." + name // a method of plain text
	case a.name == "Path" && (name == "parent" || name == "parents"):
		return cval{v: a.v.with(path.Dir(a.v.s)), name: "Path", ok: a.ok}
	}
	r.list, r.isLst = a.list, a.isLst
	return r
}

// postfix reads calls, members and indexes after a value.
func (c *coder) postfix(v cval) cval {
	for c.i < len(c.toks) {
		t := c.peek()
		if t.kind == tokOp {
			switch t.s {
			case ".", "?.", "->", "::":
				if t.s == "." && (c.lang == "perl" || c.lang == "php") {
					return v
				}
				nx := c.at(1)
				if nx.kind != tokIdent && nx.kind != tokVar {
					if t.s == "->" && (nx.s == "[" || nx.s == "{" || nx.s == "(") {
						c.i++
						continue
					}
					if t.s == "?." && nx.s == "[" {
						c.i++
						continue
					}
					return v
				}
				c.i += 2
				if t.s == "::" && c.lang == "ruby" {
					v = named(v.name + "::" + nx.s)
					continue
				}
				if t.s == "::" && (c.lang == "perl") {
					v = named(v.name + "::" + nx.s)
					continue
				}
				recv := v
				v = c.member(v, strings.TrimPrefix(nx.s, "$"))
				if c.op("(") && !c.peek().nl {
					c.i++
					if recv.isLst && len(recv.list) > 0 && c.lang == "js" {
						// The parameter of an arrow function is an element.
						j := 0
						if c.at(0).s == "(" {
							j = 1
						}
						if c.at(j).kind == tokIdent && (c.at(j+1).s == "=>" || c.at(j+2).s == "=>") {
							c.env[c.at(j).s] = recv.list[0]
						}
					}
					args := c.args(')')
					v = c.call(v, &recv, args)
					continue
				}
				if c.bareCall(v) {
					v = c.call(v, &recv, c.bareArgs())
					continue
				}
				if c.lang == "ruby" && (v.name == "Dir.home" || v.name == "Dir.pwd" || v.name == "Dir.tmpdir") {
					v, _ = c.pure(v, &recv, nil)
				}
				if (c.lang == "ruby") && c.noArgCall(v, recv) {
					v = c.call(v, &recv, nil)
				}
				continue
			case "(":
				if t.nl && c.lang != "perl" {
					return v
				}
				c.i++
				args := c.args(')')
				v = c.call(v, nil, args)
				continue
			case "[":
				if t.nl || c.lang == "ruby" && t.space && v.name != "" && !v.isLst {
					return v
				}
				c.i++
				v = c.index(v, c.slice())
				continue
			case "{":
				if c.lang == "perl" && v.name == "$ENV" {
					c.i++
					k := c.expr(0)
					c.accept("}")
					v = c.envVar(or(k.name, k.v.s))
					continue
				}
				return v
			}
			return v
		}
		if v.name != "" && c.bareCall(v) {
			v = c.call(v, nil, c.bareArgs())
			continue
		}
		return v
	}
	if v.name != "" && c.lang == "ruby" && c.noArgCall(v, cval{}) {
		return c.call(v, nil, nil)
	}
	return v
}

// noArgCall reports whether a Ruby name without operands is a call that matters.
func (c *coder) noArgCall(v, recv cval) bool {
	if recv.name == "" && !recv.ok {
		return false
	}
	t := c.peek()
	if t.kind == tokOp && t.s == "(" {
		return false
	}
	_, ok := c.rule(v, &recv)
	return ok
}

// bareCall reports whether a name is called without parentheses here.
func (c *coder) bareCall(v cval) bool {
	if c.lang != "perl" && c.lang != "ruby" && c.lang != "php" && c.lang != "lua" && !(c.lang == "python" && (v.name == "print" || v.name == "exec")) {
		return false
	}
	t := c.peek()
	if t.nl {
		return false
	}
	switch t.kind {
	case tokStr, tokShell:
	case tokVar:
	case tokIdent:
		switch t.s {
		case "if", "unless", "and", "or", "while", "do", "for", "foreach", "x", "eq", "ne", "rescue", "then", "end", "until", "cmp", "lt", "gt", "else":
			return false
		}
	case tokNum:
	case tokOp:
		if t.s != "[" && t.s != "-" || c.lang == "ruby" && !t.space {
			return false
		}
		if t.s == "-" && c.at(1).kind == tokOp {
			return false
		}
	default:
		return false
	}
	_, ok := c.rule(v, nil)
	if c.lang == "perl" {
		switch v.name {
		case "reverse", "scalar", "join", "sprintf", "lc", "uc", "decode_base64", "pack", "unpack":
			return true
		}
	}
	return ok || v.name == "print" || v.name == "puts" || v.name == "p" || v.name == "echo" || v.name == "say" || v.name == "open" || v.name == "exec"
}

func (c *coder) bareArgs() []cval {
	var args []cval
	for c.i < len(c.toks) {
		at := c.i
		v := c.expr(0)
		if c.accept("=>") || (c.lang == "ruby" && c.op(":")) {
			c.accept(":")
			key := v.key()
			e := c.expr(0)
			args = append(args, cval{keys: map[string]cval{key: e}})
		} else {
			args = append(args, v)
		}
		if !c.accept(",") || c.i == at {
			break
		}
	}
	return args
}

// args reads the operands of a call; keyword operands become keys.
func (c *coder) args(end byte) []cval {
	var args []cval
	c.comprehension(string(end))
	for c.i < len(c.toks) && !c.op(string(end)) {
		at := c.i
		t := c.peek()
		if t.kind == tokIdent && (c.at(1).s == "=" && (c.lang == "python" || c.lang == "other") || c.at(1).s == ":" && (c.lang == "ruby" || c.lang == "php") && c.at(2).s != ":") {
			c.i += 2
			v := c.expr(0)
			args = append(args, cval{keys: map[string]cval{t.s: v}})
		} else {
			v := c.expr(0)
			start := at
			c.assignTo(start, v)
			if c.accept("=>") {
				e := c.expr(0)
				v = cval{keys: map[string]cval{v.key(): e}}
			}
			args = append(args, v)
		}
		if c.peek().kind == tokIdent && c.peek().s == "for" {
			for c.i < len(c.toks) && !c.op(string(end)) {
				k := c.i
				c.expr(0)
				if c.i == k {
					c.i++
				}
			}
		}
		c.accept(",")
		if c.i == at {
			c.i++
		}
		if len(args) > 4096 {
			break
		}
	}
	c.accept(string(end))
	return args
}

type sliceExpr struct {
	key     cval
	reverse bool
	slice   bool
	lo, hi  cval
}

func (c *coder) slice() sliceExpr {
	var s sliceExpr
	colons := 0
	for c.i < len(c.toks) && !c.op("]") {
		at := c.i
		if c.accept(":") {
			colons++
			s.slice = true
			continue
		}
		if c.accept("::") {
			colons += 2
			s.slice = true
			continue
		}
		v := c.expr(0)
		switch colons {
		case 0:
			s.key, s.lo = v, v
		case 1:
			s.hi = v
		case 2:
			s.reverse = v.v.s == "-1"
		}
		c.accept(",")
		if c.i == at {
			c.i++
		}
	}
	c.accept("]")
	return s
}

func (c *coder) index(v cval, s sliceExpr) cval {
	if v.name == "os.environ" || v.name == "process.env" || v.name == "ENV" || v.name == "environ" {
		return c.envVar(s.key.v.s)
	}
	if s.slice {
		if v.ok && s.reverse {
			v.v.s = reverse(v.v.s)
			v.v.t |= tDecoded
			return v
		}
		if v.isLst {
			return v
		}
		return cval{v: v.v.with(unknownText)}
	}
	if n, ok := c.number(s.key); ok && v.isLst {
		i := int(n)
		if i >= 0 && i < len(v.list) {
			return v.list[i]
		}
	}
	if s.key.ok && !s.key.isNum {
		if e, ok := v.keys[s.key.v.s]; ok {
			return e
		}
		if v.name != "" {
			return c.member(v, s.key.v.s)
		}
	}
	return cval{v: v.v.with(unknownText), name: ""}
}

func reverse(s string) string {
	r := []rune(s)
	for i, j := 0, len(r)-1; i < j; i, j = i+1, j-1 {
		r[i], r[j] = r[j], r[i]
	}
	return string(r)
}

func (c *coder) joinPath(a, b value) value {
	r := a
	r.vars = append(append([]string(nil), a.vars...), b.vars...)
	if strings.HasPrefix(b.s, "/") {
		r.s = b.s
		return r
	}
	if r.s == "" {
		r.s = b.s
	} else {
		r.s = strings.TrimSuffix(a.s, "/") + "/" + b.s
	}
	return r
}

// rule finds what calls.txt says of a call.
func (c *coder) rule(v cval, recv *cval) (callRule, bool) {
	rules := callRules()
	name := strings.TrimPrefix(v.name, "promises.")
	for _, lang := range []string{c.lang, "*"} {
		if r, ok := rules[lang+" "+name]; ok {
			return r, true
		}
	}
	if recv == nil {
		return callRule{}, false
	}
	m := v.name
	if i := strings.LastIndexByte(m, '.'); i >= 0 {
		m = m[i:]
	} else {
		m = "." + m
	}
	if recv.name == "Path" {
		if r, ok := rules[c.lang+" Path"+m]; ok {
			return r, true
		}
	}
	for _, lang := range []string{c.lang, "*"} {
		if r, ok := rules[lang+" "+m]; ok {
			return r, true
		}
	}
	return callRule{}, false
}

func decode64(s string) (string, bool) {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == ' ' || r == '\r' || r == '\t' {
			return -1
		}
		return r
	}, s)
	for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if b, err := e.DecodeString(s); err == nil {
			return string(b), true
		}
	}
	return "", false
}

func decodeHex(s string) (string, bool) {
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == ' ' || r == ':' {
			return -1
		}
		return r
	}, s)
	b, err := hex.DecodeString(s)
	return string(b), err == nil
}
