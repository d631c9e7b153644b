package shell

import (
	"strings"
)

// evalsReply reports whether what a request answers is handed to eval by name:
// fetch(…).then(eval).
func evalsReply(toks []token) bool {
	asks := false
	for i, t := range toks {
		if t.kind != tokIdent {
			continue
		}
		switch t.s {
		case "fetch", "get", "request", "axios", "got":
			asks = true
		case "then":
			if asks && i+3 < len(toks) && toks[i+1].s == "(" && (toks[i+2].s == "eval" || toks[i+2].s == "Function") && toks[i+3].s == ")" {
				return true
			}
		}
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
