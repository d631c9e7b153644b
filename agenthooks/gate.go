package agenthooks

import "strconv"

// locate finds the values that the gate checks and an identity covers, from
// the members that index found.
func (c *Context) locate() {
	if v := c.top[topPoint]; v.ok() {
		name, _ := text(v.of(c.text))
		c.spec = Point(name).spec()
	}
	c.field[fSpec], c.field[fPoint], c.field[fTimestamp] = c.top[topSpec], c.top[topPoint], c.top[topTimestamp]
	c.field[fSequence], c.field[fTarget] = c.top[topSequence], c.top[topTarget]
	c.field[fAgentID] = member(c.text, c.top[topAgent], "id")
	c.field[fFramework] = member(c.text, c.top[topAgent], "framework")
	c.field[fSessionID] = member(c.text, c.top[topSession], "id")
	if c.spec == nil {
		return
	}
	next := fCond
	for i := range c.spec.conds {
		cond := &c.spec.conds[i]
		if s := c.top[cond.top]; cond.fields == nil {
			c.field[next] = s
		} else if s.ok() && c.text[s.from] == '{' {
			c.subfields(cond, s, next)
		}
		next += field(max(len(cond.fields), 1))
	}
}

// gate runs the envelope gate (AH-4.7-1, AH-4.7-2): presence and JSON type of
// the required core and of what the point needs, in the contract's order. It
// returns the first failure.
func (c *Context) gate() *ContextError {
	if len(c.text) == 0 || c.text[0] != '{' {
		return &ContextError{Path: "$", Rule: "expected an object"}
	}
	g := gateRun{c: c}
	if !specPattern(g.str(fSpec)) {
		g.fail(c.fieldPath(fSpec, topNone), "expected agent-hooks/<major>.<minor>")
	}
	if g.str(fPoint); c.spec == nil {
		g.fail("$.interception_point", "not one of the eight points")
	}
	g.str(fTimestamp)
	if s := c.top[topSequence]; !s.ok() {
		g.fail("$.sequence", "missing")
	} else if n, err := strconv.ParseInt(string(s.of(c.text)), 10, 64); err != nil || n < 0 {
		g.fail("$.sequence", "expected an integer from 0")
	}
	g.object(topAgent)
	if g.str(fAgentID) == "" {
		g.fail("$.agent.id", "must not be empty")
	}
	if !frameworkPattern(g.str(fFramework)) {
		g.fail("$.agent.framework", "expected only a-z, 0-9, _ and -")
	}
	g.object(topSession)
	if g.str(fSessionID) == "" {
		g.fail("$.session.id", "must not be empty")
	}
	if !c.top[topTarget].ok() {
		g.fail("$.target", "missing")
	}
	if g.err == nil {
		g.conditionals()
	}
	return g.err
}

type gateRun struct {
	c   *Context
	err *ContextError
}

func (g *gateRun) fail(path, rule string) {
	if g.err == nil {
		g.err = &ContextError{Path: path, Rule: rule}
	}
}

func (g *gateRun) str(f field) string {
	s := g.c.field[f]
	if !s.ok() {
		g.fail(g.c.fieldPath(f, topNone), "missing")
		return ""
	}
	v, ok := text(s.of(g.c.text))
	if !ok {
		g.fail(g.c.fieldPath(f, topNone), "expected a string")
	}
	return v
}

func (g *gateRun) object(t topMember) {
	if s := g.c.top[t]; !s.ok() {
		g.fail("$."+topNames[t], "missing")
	} else if g.c.text[s.from] != '{' {
		g.fail("$."+topNames[t], "expected an object")
	}
}

// conditionals checks what the point needs.
func (g *gateRun) conditionals() {
	c := g.c
	next := fCond
	for i := range c.spec.conds {
		cond := &c.spec.conds[i]
		switch s := c.top[cond.top]; {
		case !s.ok():
			g.fail("$."+topNames[cond.top], "missing")
		case typeOf(s.of(c.text)) != cond.typ:
			g.fail("$."+topNames[cond.top], "expected type "+cond.typ.String())
		}
		for j := range cond.fields {
			f := next + field(j)
			switch v := c.field[f]; {
			case !v.ok():
				g.fail(c.fieldPath(f, topNone), "missing")
			case cond.fields[j].typ != anyJSON && typeOf(v.of(c.text)) != cond.fields[j].typ:
				g.fail(c.fieldPath(f, topNone), "expected type "+cond.fields[j].typ.String())
			}
		}
		next += field(max(len(cond.fields), 1))
	}
}

// subfields finds the required members of one conditional object in one walk.
func (c *Context) subfields(cond *conditional, s span, first field) {
	count := 0
	w := walk(c.text, s.from)
	for {
		name, v, ok := w.next()
		if !ok {
			break
		}
		count++
		for i, f := range cond.fields {
			if string(name) == f.name {
				c.field[first+field(i)] = v
			}
		}
	}
	if count == len(cond.fields) {
		c.pure |= 1 << cond.top
	}
}

// specPattern is ^agent-hooks/\d+\.\d+$ with ASCII digits.
func specPattern(s string) bool {
	const prefix = "agent-hooks/"
	if len(s) < len(prefix) || s[:len(prefix)] != prefix {
		return false
	}
	s = s[len(prefix):]
	for part := range 2 {
		n := 0
		for n < len(s) && '0' <= s[n] && s[n] <= '9' {
			n++
		}
		if n == 0 {
			return false
		}
		s = s[n:]
		if part == 0 {
			if s == "" || s[0] != '.' {
				return false
			}
			s = s[1:]
		}
	}
	return s == ""
}

func frameworkPattern(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			return false
		}
	}
	return s != ""
}
