package shell

import (
	"strings"
)

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
