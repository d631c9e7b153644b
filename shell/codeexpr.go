package shell

import (
	"encoding/base64"
	"encoding/hex"
	"path"
	"strconv"
	"strings"
)

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
	if len(x.s)+len(y.s) > 1<<16 || !c.x.f.m.grows(len(x.s)+len(y.s), c.x.span) {
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
			} else if n, ok := c.number(left); ok && t.s == "<<" {
				if by, ok := c.number(r); ok && by >= 0 && by < 63 {
					left = cval{v: lit(strconv.FormatFloat(n*float64(uint64(1)<<uint(by)), 'f', -1, 64)), isNum: true, ok: true}
				} else {
					left = noVal
				}
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
		if !c.x.f.m.grows(b.Len()+len(v.v.s), c.x.span) {
			return noVal
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
