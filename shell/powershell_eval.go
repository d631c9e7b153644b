package shell

import (
	"encoding/base64"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// maxText bounds a text that the analysis puts together.
const maxText = 1 << 16

// psConcat puts two texts together and remembers that they were.
func psConcat(a, b value) value {
	out := concat(a, b)
	if a.s != "" && b.s != "" && a.known() && b.known() {
		out.t |= tGlued
	}
	return out
}

// eval gives the value of an expression, as far as it is known.
func (r *psRun) eval(e psExpr) psv {
	m := r.m
	if !m.step(r.f.base) {
		return psUnknown(0)
	}
	switch e := e.(type) {
	case nil:
		return psv{}
	case *psLit:
		v := value{s: e.s, span: e.span}
		if e.quoted {
			v.t |= tQuoted
		}
		return psOf(v)
	case *psWord:
		var out value
		if e.quoted {
			out.t |= tQuoted
		}
		known := 0
		for _, p := range e.parts {
			v := r.eval(p).one()
			if _, isVar := p.(*psVar); isVar && v.known() && v.s != "" {
				known++
			}
			v.t &^= tQuoted
			out.add(v)
			if len(out.s) > 1<<16 {
				return psUnknown(out.t)
			}
		}
		r.m.nodes += len(out.s) >> 6
		if known > 1 {
			out.t |= tGlued
		}
		out.span = e.span
		return psOf(out)
	case *psVar:
		return r.variable(e)
	case *psSub:
		v := r.block(e.block)
		if e.list {
			v.arr = true
		}
		for i := range v.items {
			if v.items[i].t&(tNet|tCmd|tFile) != 0 {
				v.items[i].t |= tSubst
			}
		}
		return v
	case *psList:
		out := psv{}
		for _, x := range e.items {
			out.append(r.eval(x))
		}
		out.arr = true
		return out
	case *psHash:
		out := psv{hash: map[string]psv{}}
		for i, k := range e.keys {
			name := strings.ToLower(r.eval(k).text())
			v := r.stmt(e.vals[i])
			out.hash[name] = v
			if secretVar(name) && !strings.HasPrefix(name, "password") || name == "authorization" {
				r.literalValue(v, r.span(Span{}))
			}
		}
		return out
	case *psFn:
		return psv{fn: e.block}
	case *psType:
		return psv{typ: "[" + e.name}
	case *psCast:
		return r.cast(e)
	case *psUnary:
		v := r.eval(e.x)
		switch e.op {
		case "-join":
			return psOf(joinItems(v, ""))
		case "-":
			if v.one().known() {
				return psText("-" + v.text())
			}
		case "!", "-not":
			switch v.text() {
			case "true", "1":
				return psText("false")
			case "false", "0":
				return psText("true")
			}
		}
		return psUnknown(v.taint())
	case *psBin:
		return r.binary(e)
	case *psIndex:
		return r.index(e)
	case *psMember:
		return r.member(e)
	case *psConst:
		return e.v
	}
	return psv{}
}

func joinItems(v psv, sep string) value {
	if len(v.items) == 0 {
		return v.one()
	}
	out := v.items[0]
	for _, x := range v.items[1:] {
		out.s += sep
		out.add(x)
		if len(out.s) > 1<<16 {
			return unknownVal(out.t)
		}
	}
	if len(v.items) > 1 && out.known() {
		out.t |= tGlued
	}
	return out
}

func (r *psRun) variable(e *psVar) psv {
	m := r.m
	name := strings.ToLower(e.name)
	if e.scope == "env" {
		if v, ok := r.vars["env:"+name]; ok {
			return v
		}
		if s, ok := m.winEnv(e.name); ok {
			return psOf(value{s: s, t: tVar, span: e.span})
		}
		return psOf(value{s: unknownText, vars: []string{strings.ToUpper(e.name)}, span: e.span})
	}
	if v, ok := r.vars[name]; ok {
		for i := range v.items {
			if v.items[i].s != "" && v.items[i].t&tVar == 0 {
				items := append([]value(nil), v.items...)
				for j := range items {
					items[j].t |= tVar
				}
				v.items = items
				break
			}
		}
		return v
	}
	switch name {
	case "home":
		if m.opts.Home != "" {
			return psText(literal(m.opts.Home))
		}
	case "pwd":
		return psText(winShow(r.f.cwd))
	case "psscriptroot":
		return psText(winShow(r.f.cwd))
	case "null":
		return psv{items: []value{{s: ""}}}
	case "true", "false":
		return psText(name)
	case "profile":
		h := literal(m.opts.Home)
		if m.win {
			return psText(h + `\Documents\PowerShell\Microsoft.PowerShell_profile.ps1`)
		}
		return psText(h + "/.config/powershell/Microsoft.PowerShell_profile.ps1")
	case "pshome":
		return psText(`C:\Program Files\PowerShell\7`)
	case "iswindows":
		return psText(strconv.FormatBool(m.win))
	case "shellid":
		return psText("Microsoft.PowerShell")
	case "_", "psitem", "input", "args":
		return psOf(value{s: unknownText, span: e.span})
	}
	return psOf(value{s: unknownText, span: e.span})
}

func (r *psRun) cast(e *psCast) psv {
	v := r.eval(e.x)
	switch e.typ {
	case "char":
		if n, err := strconv.ParseInt(v.text(), 0, 32); err == nil && n > 4 && n < 0x110000 {
			return psOf(value{s: string(rune(n)), t: tDecoded})
		}
	case "char[]":
		out := psv{arr: true}
		if len(v.items) > 1 {
			for _, it := range v.items {
				n, err := strconv.ParseInt(it.s, 0, 32)
				if err != nil || n < 5 || n > 0x10ffff {
					return psUnknown(tDecoded)
				}
				out.items = append(out.items, value{s: string(rune(n)), t: tDecoded})
			}
			return out
		}
		return psv{items: v.items, typ: "char[]"}
	case "scriptblock":
		if v.fn != nil {
			return v
		}
		v.typ = "scriptblock"
		return v
	case "pscustomobject", "ordered", "hashtable":
		return v
	case "string":
		return psOf(v.one())
	case "int", "int32", "long", "bool", "switch", "byte":
		return v
	}
	return v
}

func (r *psRun) binary(e *psBin) psv {
	switch e.op {
	case "-and", "-or", "-xor":
		r.eval(e.l)
		r.eval(e.r)
		return psUnknown(0)
	case "?":
		a, b := r.eval(e.l), r.eval(e.r)
		a.append(b)
		return a
	case "??":
		a := r.eval(e.l)
		if a.empty() || a.one().s == unknownText {
			b := r.eval(e.r)
			if a.empty() {
				return b
			}
			a.append(b)
		}
		return a
	}
	l, rv := r.eval(e.l), r.eval(e.r)
	lv := l.one()
	rt := rv.one()
	r.m.nodes += (len(lv.s) + len(rt.s)) >> 6
	switch e.op {
	case "+":
		if l.arr {
			l.append(rv)
			return l
		}
		if a, err := strconv.Atoi(lv.s); err == nil && lv.t&tQuoted == 0 {
			if b, err := strconv.Atoi(rt.s); err == nil {
				return psText(strconv.Itoa(a + b))
			}
		}
		return psOf(psConcat(lv, rt))
	case "-", "/", "%":
		a, e1 := strconv.Atoi(lv.s)
		b, e2 := strconv.Atoi(rt.s)
		if e1 == nil && e2 == nil {
			switch {
			case e.op == "-":
				return psText(strconv.Itoa(a - b))
			case b != 0 && e.op == "/":
				return psText(strconv.Itoa(a / b))
			case b != 0:
				return psText(strconv.Itoa(a % b))
			}
		}
		return psUnknown(0)
	case "*":
		n, err := strconv.ParseInt(strings.ToLower(rt.s), 0, 64)
		if err != nil {
			n = psSize(rt.s)
		}
		if a, err := strconv.Atoi(lv.s); err == nil && lv.t&tQuoted == 0 {
			return psText(strconv.FormatInt(int64(a)*n, 10))
		}
		if n >= 1<<30 && lv.s != "" {
			r.f.emit(Action{Kind: Exhaust, Detail: "a huge allocation"})
			return psUnknown(0)
		}
		if lv.known() && n > 0 && n < 1024 && int(n)*len(lv.s) < 1<<14 {
			lv.s = strings.Repeat(lv.s, int(n))
			return psOf(lv)
		}
		return psUnknown(lv.t)
	case "-f":
		s := lv.s
		out := lv
		for i, it := range rv.items {
			k := "{" + strconv.Itoa(i)
			for {
				j := strings.Index(s, k)
				if j < 0 {
					break
				}
				end := strings.IndexByte(s[j:], '}')
				if end < 0 {
					break
				}
				if c := s[j+len(k)]; c != '}' && c != ':' && c != ',' {
					break
				}
				s = s[:j] + it.s + s[j+end+1:]
				if len(s) > 1<<15 {
					return psUnknown(0)
				}
			}
			out.t |= it.t
			out.vars = append(out.vars, it.vars...)
		}
		if len(rv.items) > 1 {
			out.t |= tGlued
		}
		out.s = s
		return psOf(out)
	case "-join":
		return psOf(joinItems(l, rt.s))
	case "-split":
		return splitItems(lv, rt.s, true)
	case "-replace":
		from := rt
		to := ""
		if len(rv.items) > 0 {
			from = rv.items[0]
		}
		if len(rv.items) > 1 {
			to = rv.items[1].s
		}
		if !from.known() || !lv.known() {
			if lv.known() {
				return psUnknown(lv.t)
			}
			// An unknown part of a text stays one.
			return psOf(lv)
		}
		re, err := regexp.Compile("(?i)" + from.s)
		if err != nil {
			return psUnknown(lv.t)
		}
		r.m.nodes += len(lv.s) >> 2
		out := lv
		if (len(lv.s)+1)*(len(to)+1) > maxText*16 || len(from.s) > 1024 {
			return psUnknown(lv.t)
		}
		out.s = re.ReplaceAllString(lv.s, strings.ReplaceAll(to, "$", "$$"))
		if len(out.s) > maxText {
			return psUnknown(lv.t)
		}
		if out.s != lv.s {
			out.t |= tGlued
		}
		return psOf(out)
	case "..":
		a, e1 := strconv.Atoi(lv.s)
		b, e2 := strconv.Atoi(rt.s)
		if e1 != nil || e2 != nil {
			return psv{items: []value{lv, rt}, arr: true, typ: "range"}
		}
		out := psv{arr: true}
		step := 1
		if b < a {
			step = -1
		}
		for i := a; len(out.items) < psMaxItems; i += step {
			out.items = append(out.items, lit(strconv.Itoa(i)))
			if i == b {
				break
			}
		}
		return out
	case "-match", "-like", "-contains", "-in", "-notmatch", "-notlike":
		// A search of the environment for names.
		if l.taint()&tEnv != 0 {
			r.f.emit(Action{Kind: EnvFilter, Name: plain(rt.s)})
		}
	}
	return psUnknown(0)
}

// psSize reads 1gb and its like.
func psSize(s string) int64 {
	s = strings.ToLower(s)
	for suf, n := range map[string]int64{"kb": 1 << 10, "mb": 1 << 20, "gb": 1 << 30, "tb": 1 << 40, "pb": 1 << 50} {
		if t, ok := strings.CutSuffix(s, suf); ok {
			if f, err := strconv.ParseFloat(t, 64); err == nil && f < 1e6 {
				return int64(f * float64(n))
			}
		}
	}
	return 0
}

func splitItems(v value, sep string, re bool) psv {
	if !v.known() || sep == "" {
		return psOf(v)
	}
	var parts []string
	if re {
		x, err := regexp.Compile("(?i)" + sep)
		if err != nil {
			return psUnknown(v.t)
		}
		parts = x.Split(v.s, 256)
	} else {
		parts = strings.SplitN(v.s, sep, 256)
	}
	out := psv{arr: true}
	for _, p := range parts {
		out.items = append(out.items, v.with(p))
	}
	return out
}

func (r *psRun) index(e *psIndex) psv {
	v := r.eval(e.obj)
	idx := r.eval(e.idx)
	if v.hash != nil {
		if x, ok := v.hash[strings.ToLower(idx.text())]; ok {
			return x
		}
		return psUnknown(v.taint())
	}
	n, err := strconv.Atoi(idx.text())
	if err == nil && len(idx.items) == 1 {
		if v.arr || v.typ == "char[]" || len(v.items) > 1 {
			if n < 0 {
				n += len(v.items)
			}
			if n >= 0 && n < len(v.items) {
				return psOf(v.items[n])
			}
			return psUnknown(v.taint())
		}
		// The first of an unknown list, or a character of a text.
		s := v.one()
		if s.known() && v.typ == "" && len(s.s) > 0 {
			if n < 0 {
				n += len(s.s)
			}
			if n >= 0 && n < len(s.s) {
				s.s = s.s[n : n+1]
				s.t |= tGlued
				return psOf(s)
			}
		}
		for _, i := range s.src {
			if n == 0 && r.m.res.Actions[i].Kind == FileRead && s.has(tNames) {
				r.m.res.Actions[i].Quiet = true
			}
		}
		return v
	}
	if s := v.one(); s.known() && len(idx.items) > 1 && s.s != "" {
		// Characters picked from a text, or the text turned around.
		if len(v.items) > 1 {
			out := psv{arr: true}
			for _, it := range idx.items {
				k, err := strconv.Atoi(it.s)
				if err != nil {
					return reversed(v)
				}
				if k < 0 {
					k += len(v.items)
				}
				if k >= 0 && k < len(v.items) {
					out.items = append(out.items, v.items[k])
				}
			}
			return out
		}
		out := psv{arr: true}
		for _, it := range idx.items {
			k, err := strconv.Atoi(it.s)
			if err != nil {
				return psOf(value{s: reverse(s.s), t: s.t | tDecoded, span: s.span})
			}
			if k < 0 {
				k += len(s.s)
			}
			if k >= 0 && k < len(s.s) {
				out.items = append(out.items, value{s: s.s[k : k+1], t: tDecoded})
			}
		}
		return out
	}
	return psUnknown(v.taint())
}

func reversed(v psv) psv {
	out := psv{arr: true}
	for _, it := range slices.Backward(v.items) {
		it.t |= tDecoded
		out.items = append(out.items, it)
	}
	return out
}

// decodeUTF16 reads little-endian UTF-16.
func decodeUTF16(b string) string {
	u := make([]uint16, 0, len(b)/2)
	for i := 0; i+1 < len(b); i += 2 {
		u = append(u, uint16(b[i])|uint16(b[i+1])<<8)
	}
	return string(utf16.Decode(u))
}

// decodeCommand reads the argument of -EncodedCommand.
func decodeCommand(s string) (string, bool) {
	s = strings.TrimSpace(s)
	s = strings.TrimRight(s, "=")
	b, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil || len(b) == 0 {
		return "", false
	}
	return decodeUTF16(string(b)), true
}
