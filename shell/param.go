package shell

import (
	"os"
	"strconv"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"
)

// lookup gives the variable name as the frame knows it.
func (f *frame) lookup(name string) (value, bool) {
	name = f.deref(name)
	if v, ok := f.vars[name]; ok {
		if v.array && len(v.list) > 0 {
			return v.list[0], true
		}
		if v.unset {
			return value{}, false
		}
		return v.v, true
	}
	switch name {
	case "HOME":
		if f.m.opts.Home != "" {
			return lit(literal(f.m.opts.Home)), true
		}
	case "PWD":
		return lit(f.cwd), true
	case "OLDPWD":
		if f.oldpwd != "" {
			return lit(f.oldpwd), true
		}
	case "IFS":
		return lit(defaultIFS), true
	case "0":
		return f.arg0, true
	case "TMPDIR":
		return lit("/tmp"), true
	case "USER", "LOGNAME":
		if i := strings.LastIndexByte(f.m.opts.Home, '/'); i >= 0 && f.m.opts.Home != "/" {
			return lit(literal(f.m.opts.Home[i+1:])), true
		}
	case "SHELL", "BASH":
		return lit("/bin/bash"), true
	case "$", "!", "BASHPID", "PPID":
		v := unknownVal(tOwnPid)
		return v, true
	case "?", "#", "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "SRANDOM", "EPOCHSECONDS":
		if name == "#" {
			return lit(strconv.Itoa(len(f.params))), true
		}
		return unknownVal(0), true
	case "-":
		return lit("hB"), true
	case "HOSTNAME", "OSTYPE", "MACHTYPE", "HOSTTYPE":
		return unknownVal(0), true
	}
	if n, err := strconv.Atoi(name); err == nil {
		if n >= 1 && n <= len(f.params) {
			return f.params[n-1], true
		}
		return value{s: unknownText, vars: []string{name}, t: tOptional}, len(f.calls) > 0 && f.params != nil
	}
	if f.m.opts.Env != nil {
		if v, ok := f.m.opts.Env(name); ok {
			return lit(literal(v)), true
		}
	}
	return value{s: unknownText, vars: []string{name}, t: tOptional}, false
}

// deref follows names that stand for other variables, as declare -n makes them.
func (f *frame) deref(name string) string {
	if !f.m.refs {
		return name
	}
	for range maxLinks {
		v, ok := f.vars[name]
		if !ok || v.ref == "" {
			break
		}
		name = v.ref
	}
	return name
}

func (f *frame) paramPart(x *fields, p *syntax.ParamExp, quoted bool) {
	if p.Param == nil {
		x.addQuoted(unknownVal(tVar))
		return
	}
	name := f.deref(p.Param.Value)
	all := name == "@" || name == "*"
	var list []value
	isList := false
	if all {
		list, isList = f.params, true
		if len(f.params) == 0 && len(f.calls) == 0 && f.depth == 0 {
			list = []value{{s: unknownText, t: tMany | tOptional, vars: []string{name}}}
		}
	} else if w, ok := p.Index.(*syntax.Word); ok {
		if l := w.Lit(); l == "@" || l == "*" {
			isList = true
			if v, ok := f.vars[name]; ok {
				list = v.list
				if !v.array {
					list = []value{v.v}
				}
				if v.assoc != nil {
					for _, e := range v.assoc {
						list = append(list, e)
					}
				}
			} else {
				list = []value{{s: unknownText, t: tMany | tOptional, vars: []string{name}}}
			}
		}
	}
	if isList && !p.Length && !p.Excl {
		if p.Slice != nil {
			list = f.sliceList(list, p.Slice, all)
		}
		star := name == "*" && quoted
		for i, v := range list {
			if p.Exp != nil || p.Repl != nil {
				v = f.modify(v, true, p)
			}
			v.t |= tVar
			if i > 0 {
				if star {
					x.addQuoted(lit(" "))
				} else {
					x.flush()
				}
			}
			if quoted {
				x.addQuoted(v)
			} else {
				x.addSplit(v)
			}
		}
		return
	}
	v := f.param(p)
	if quoted {
		x.addQuoted(v)
	} else {
		x.addSplit(v)
	}
}

func (f *frame) sliceList(list []value, s *syntax.Slice, params bool) []value {
	off, ok := f.arith(s.Offset)
	if !ok {
		return []value{unknownVal(tMany | tVar)}
	}
	if params {
		off--
		if off < 0 {
			off = 0
		}
	}
	if off < 0 {
		off += len(list)
	}
	if off < 0 || off > len(list) {
		return nil
	}
	list = list[off:]
	if s.Length != nil {
		if n, ok := f.arith(s.Length); ok && n >= 0 && n < len(list) {
			list = list[:n]
		}
	}
	return list
}

// param gives the value of ${…} as one text.
func (f *frame) param(p *syntax.ParamExp) value {
	name := p.Param.Value
	v, set := f.lookup(name)
	if p.Index != nil {
		v, set = f.element(name, p.Index)
	}
	switch {
	case p.IsSet:
		return unknownVal(0)
	case p.Length:
		if set && v.known() && p.Index == nil {
			return lit(strconv.Itoa(len([]rune(v.s))))
		}
		return unknownVal(tNames)
	case p.Excl && p.Names != 0:
		return unknownVal(tNames | tMany)
	case p.Excl:
		if set && v.known() {
			u, ok := f.lookup(v.s)
			if ok {
				u.t |= tVar | tGlued
			}
			return u
		}
		v.t |= tVar | tGlued
		v.s = unknownText
		return v
	}
	v = f.modify(v, set, p)
	v.t |= tVar
	return v
}

func (f *frame) element(name string, idx syntax.ArithmExpr) (value, bool) {
	vr, ok := f.vars[f.deref(name)]
	if !ok {
		f.arith(idx) // a substitution in the index runs all the same
		return value{s: unknownText, vars: []string{name}}, false
	}
	if vr.assoc != nil {
		if w, ok := idx.(*syntax.Word); ok {
			if k := f.one(w); k.known() {
				if e, ok := vr.assoc[k.s]; ok {
					return e, true
				}
			}
		}
		return unknownVal(0), true
	}
	if !vr.array {
		return vr.v, true
	}
	n, ok := f.arith(idx)
	if !ok {
		return unknownVal(0), true
	}
	if n < 0 {
		n += len(vr.list)
	}
	if n < 0 || n >= len(vr.list) {
		return value{}, true
	}
	v := vr.list[n]
	if len(v.s) == 1 {
		v.t |= tGlued // letters picked one by one
	}
	return v, true
}

func (f *frame) modify(v value, set bool, p *syntax.ParamExp) value {
	name := p.Param.Value
	if e := p.Exp; e != nil {
		switch e.Op {
		case syntax.AlternateUnset, syntax.AlternateUnsetOrNull: // ${x+word}
			alt := f.one(e.Word)
			if !set && len(v.vars) > 0 {
				// Present or not: either way it is no value of the variable.
				alt.t |= tOptional
			}
			return alt
		case syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.AssignUnset, syntax.AssignUnsetOrNull:
			if set && (v.s != "" || e.Op == syntax.DefaultUnset || e.Op == syntax.AssignUnset) {
				return v
			}
			d := f.one(e.Word)
			if d.s == "" && len(v.vars) > 0 {
				// ${X:-}: still the variable, if it is set.
				d.s, d.vars, d.t = v.s, v.vars, d.t|tOptional
			}
			if secretVar(name) && len(v.vars) > 0 && len(d.vars) == 0 {
				d.vars = v.vars
			}
			if e.Op == syntax.AssignUnset || e.Op == syntax.AssignUnsetOrNull {
				f.set(name, d)
			}
			return d
		case syntax.ErrorUnset, syntax.ErrorUnsetOrNull:
			f.one(e.Word)
			v.t &^= tOptional
			return v
		}
		if e.Word == nil && e.Op != syntax.UpperFirst && e.Op != syntax.UpperAll && e.Op != syntax.LowerFirst && e.Op != syntax.LowerAll {
			return v
		}
		var pat value
		if e.Word != nil {
			pat = f.pattern(e.Word)
		}
		if !v.known() || !pat.known() {
			// A part of an unknown value is as unknown, but a suffix cut of a
			// known front part (${x%/*}) stays below it.
			return v
		}
		switch e.Op {
		case syntax.RemSmallPrefix, syntax.RemLargePrefix:
			return v.with(cutPrefix(v.s, pat.s, e.Op == syntax.RemLargePrefix))
		case syntax.RemSmallSuffix, syntax.RemLargeSuffix:
			return v.with(cutSuffix(v.s, pat.s, e.Op == syntax.RemLargeSuffix))
		case syntax.UpperFirst:
			return v.with(firstRune(v.s, unicode.ToUpper))
		case syntax.UpperAll:
			return v.with(strings.ToUpper(v.s))
		case syntax.LowerFirst:
			return v.with(firstRune(v.s, unicode.ToLower))
		case syntax.LowerAll:
			return v.with(strings.ToLower(v.s))
		case syntax.OtherParamOps:
			// ${x@E} decodes escapes.
			if e.Word.Lit() == "E" {
				s, _ := ansiC(v.s)
				v.s = literal(s)
				v.t |= tDecoded
			}
			return v
		}
		return v
	}
	if s := p.Slice; s != nil {
		if !v.known() {
			return v
		}
		r := []rune(v.s)
		off, ok := f.arith(s.Offset)
		if !ok {
			return v.with(unknownText)
		}
		if off < 0 {
			off += len(r)
		}
		if off < 0 || off > len(r) {
			return v.with("")
		}
		end := len(r)
		if s.Length != nil {
			n, ok := f.arith(s.Length)
			if !ok {
				return v.with(unknownText)
			}
			if n < 0 {
				end += n
			} else {
				end = min(off+n, end)
			}
		}
		if end < off {
			return v.with("")
		}
		v.t |= tGlued
		return v.with(string(r[off:end]))
	}
	if r := p.Repl; r != nil {
		pat := f.pattern(r.Orig)
		var with value
		if r.With != nil {
			with = f.one(r.With)
		}
		if !v.known() || !pat.known() || !with.known() {
			return v.with(unknownText)
		}
		v.t |= tGlued
		return v.with(replaceGlob(v.s, pat.s, with.s, r.All))
	}
	return v
}

// pattern expands a word whose globs stay active.
func (f *frame) pattern(w *syntax.Word) value {
	if w == nil {
		return value{}
	}
	x := fields{f: f}
	f.partsOne(&x, w.Parts, false)
	return x.finish()
}

func firstRune(s string, fn func(rune) rune) string {
	r := []rune(s)
	if len(r) > 0 {
		r[0] = fn(r[0])
	}
	return string(r)
}

const maxPattern = 4096

func cutPrefix(s, pat string, large bool) string {
	if !hasGlob(pat) {
		return strings.TrimPrefix(s, pat)
	}
	if len(s) > maxPattern {
		return unknownText
	}
	best := -1
	for i := 0; i <= len(s); i++ {
		if matchMarks(pat, s[:i]) {
			best = i
			if !large {
				break
			}
		}
	}
	if best < 0 {
		return s
	}
	return s[best:]
}

func cutSuffix(s, pat string, large bool) string {
	if !hasGlob(pat) {
		return strings.TrimSuffix(s, pat)
	}
	if len(s) > maxPattern {
		return unknownText
	}
	best := -1
	for i := len(s); i >= 0; i-- {
		if matchMarks(pat, s[i:]) {
			best = i
			if !large {
				break
			}
		}
	}
	if best < 0 {
		return s
	}
	return s[:best]
}

func replaceGlob(s, pat, with string, all bool) string {
	if pat == "" || len(s) > maxPattern {
		return s
	}
	if !hasGlob(pat) {
		n := 1
		if all {
			n = -1
		}
		return strings.Replace(s, pat, with, n)
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		end := -1
		for j := len(s); j > i; j-- {
			if matchMarks(pat, s[i:j]) {
				end = j
				break
			}
		}
		if end < 0 {
			b.WriteByte(s[i])
			i++
			continue
		}
		b.WriteString(with)
		i = end
		if !all {
			b.WriteString(s[i:])
			break
		}
	}
	return b.String()
}

// assign performs NAME=value.
func (f *frame) assign(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	name := f.deref(a.Name.Value)
	if a.Array != nil {
		vr := &variable{array: true}
		if old, ok := f.vars[name]; ok && a.Append {
			vr.list = append(vr.list, old.list...)
		}
		for _, e := range a.Array.Elems {
			if e.Value == nil {
				continue
			}
			if w, ok := e.Index.(*syntax.Word); ok && e.Index != nil {
				if vr.assoc == nil {
					vr.assoc = map[string]value{}
				}
				vr.assoc[f.one(w).s] = f.one(e.Value)
				if n, ok := f.arith(e.Index); ok && n >= len(vr.list) && n < f.m.lim.Expansion {
					for len(vr.list) < n {
						vr.list = append(vr.list, value{})
					}
					vr.list = append(vr.list, f.one(e.Value))
				}
				continue
			}
			vr.list = append(vr.list, f.words(e.Value)...)
			if len(vr.list) > f.m.lim.Expansion {
				f.m.breach("expansion", f.span(a))
				return
			}
		}
		f.setVar(name, vr)
		return
	}
	if a.Naked {
		return
	}
	v := f.one(a.Value)
	if a.Index != nil {
		vr := &variable{array: true}
		if old, ok := f.vars[name]; ok {
			cp := *old
			cp.list = append([]value(nil), old.list...)
			vr = &cp
			vr.array = true
		}
		if n, ok := f.arith(a.Index); ok && n >= 0 && n < f.m.lim.Expansion && vr.assoc == nil {
			for len(vr.list) <= n {
				vr.list = append(vr.list, value{})
			}
			vr.list[n] = v
		} else if w, ok := a.Index.(*syntax.Word); ok {
			as := map[string]value{f.one(w).s: v}
			for k, x := range vr.assoc {
				if _, dup := as[k]; !dup {
					as[k] = x
				}
			}
			vr.assoc = as
		}
		f.setVar(name, vr)
		return
	}
	if a.Append {
		old, ok := f.lookup(name)
		if vr, isVar := f.vars[name]; isVar && vr.array {
			cp := *vr
			cp.list = append(append([]value(nil), vr.list...), v)
			f.setVar(name, &cp)
			return
		}
		if ok {
			old.vars = append([]string(nil), old.vars...)
			old.src = append([]int(nil), old.src...)
			old.add(v)
			old.t |= tGlued
			v = old
			if len(v.s) > 1<<20 {
				f.m.breach("expansion", f.span(a))
				return
			}
		}
	}
	f.set(name, v)
}

// expandText expands $NAME and ${NAME} in text that another program would
// expand, such as envsubst or a template.
func (f *frame) expandText(s string) string {
	return os.Expand(s, func(n string) string {
		if v, ok := f.lookup(n); ok {
			return v.s
		}
		return unknownText
	})
}
