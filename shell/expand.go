package shell

import (
	"bytes"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

const defaultIFS = " \t\n"

func (f *frame) ifs() string {
	if v, ok := f.vars["IFS"]; ok && v.v.known() {
		return v.v.s
	}
	return defaultIFS
}

// fields gathers the words that one word expands to. The text of the word at hand
// grows in a buffer: a word may have as many parts as the text has bytes.
type fields struct {
	f    *frame
	done []value
	base int   // words in done that came from elsewhere
	cur  value // without its text
	buf  []byte
	open bool // cur holds something, maybe an empty quoted string
}

// maxWord bounds one word; doubling a variable reaches it soon.
const maxWord = 1 << 20

func (x *fields) add(v value) {
	x.buf = append(x.buf, v.s...)
	v.s = ""
	x.cur.add(v)
	x.open = true
	if len(x.buf) > maxWord {
		x.f.m.breach("expansion", x.f.base)
		x.buf = x.buf[:0]
	}
}

// finish gives the word at hand.
func (x *fields) finish() value {
	v := x.cur
	v.s = string(x.buf)
	return v
}

func (x *fields) flush() {
	if x.open {
		x.done = append(x.done, x.finish())
		x.cur, x.open = value{}, false
		x.buf = x.buf[:0]
	}
}

func (x *fields) addQuoted(v value) { x.add(v) }

// addSplit adds the result of an unquoted expansion.
func (x *fields) addSplit(v value) {
	if v.opaque() || v.s == "" && v.t&tMany != 0 {
		if v.s == "" {
			return
		}
		v.t |= tMany
		x.add(v)
		return
	}
	ifs := x.f.ifs()
	if !strings.ContainsAny(v.s, ifs) {
		if v.s != "" {
			v.s = activate(v.s)
			x.add(v)
		}
		return
	}
	rest := v.s
	for rest != "" {
		i := strings.IndexAny(rest, ifs)
		if i < 0 {
			x.add(v.with(activate(rest)))
			return
		}
		if i > 0 {
			x.add(v.with(activate(rest[:i])))
		}
		x.flush()
		if len(x.done)-x.base > x.f.m.lim.Expansion {
			x.f.m.breach("expansion", x.f.base)
			return
		}
		rest = strings.TrimLeft(rest[i:], ifs)
	}
}

// words expands a word into the arguments that it gives.
func (f *frame) words(w *syntax.Word) []value { return f.appendWords(nil, w) }

// appendWords is words, put behind out.
func (f *frame) appendWords(out []value, w *syntax.Word) []value {
	if len(w.Parts) == 1 {
		switch p := w.Parts[0].(type) {
		case *syntax.Lit:
			if isPlainLit(p.Value) {
				return append(out, value{s: p.Value, span: f.span(w)})
			}
		case *syntax.SglQuoted:
			if !p.Dollar && clean(p.Value) {
				return append(out, value{s: p.Value, t: tQuoted, span: f.span(w)})
			}
		case *syntax.DblQuoted:
			if len(p.Parts) != 1 {
				break
			}
			if l, ok := p.Parts[0].(*syntax.Lit); ok && !p.Dollar && strings.IndexByte(l.Value, '\\') < 0 && clean(l.Value) {
				return append(out, value{s: l.Value, t: tQuoted, span: f.span(w)})
			}
		}
	}
	sp := f.span(w)
	first := len(out)
	n := braceCount(w, f.m.lim.Expansion)
	if n > f.m.lim.Expansion {
		f.m.breach("expansion", sp)
		return out
	}
	if n == 1 && !hasBrace(w) {
		return f.appendFields(out, w, sp)
	}
	for _, bw := range f.braces(w) {
		out = f.appendFields(out, bw, sp)
		if len(out)-first > f.m.lim.Expansion {
			f.m.breach("expansion", sp)
			return out[:first]
		}
	}
	return out
}

func (f *frame) appendFields(out []value, w *syntax.Word, sp Span) []value {
	x := fields{f: f, done: out, base: len(out)}
	f.parts(&x, w.Parts, false, true)
	x.flush()
	for i := x.base; i < len(x.done); i++ {
		x.done[i].span = sp
	}
	return x.done
}

func isPlainLit(s string) bool {
	if s != "" && s[0] == '~' {
		return false
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\', c == '*', c == '?', c == '[', c == '{', c <= markSet, c == '=':
			return false
		}
	}
	return true
}

// parts expands word parts. quoted says that they stand in double quotes.
func (f *frame) parts(x *fields, parts []syntax.WordPart, quoted, first bool) {
	for i, p := range parts {
		if f.m.stop {
			return
		}
		switch p := p.(type) {
		case *syntax.Lit:
			f.litPart(x, p.Value, quoted, first && i == 0, len(parts) == 1)
		case *syntax.SglQuoted:
			s := p.Value
			v := value{t: tQuoted}
			if p.Dollar {
				var spells bool
				s, spells = ansiC(s)
				if spells {
					v.t |= tAnsi
				}
			}
			v.s = literal(s)
			x.addQuoted(v)
		case *syntax.DblQuoted:
			x.cur.t |= tQuoted
			x.open = x.open || !isAt(p.Parts)
			f.parts(x, p.Parts, true, false)
		case *syntax.ParamExp:
			if i > 0 && isParam(parts[i-1]) && len(x.buf) > 0 && !ifsParam(p) && !ifsParam(parts[i-1].(*syntax.ParamExp)) {
				x.cur.t |= tGlued
			}
			f.paramPart(x, p, quoted)
			if i > 0 && isParam(parts[0]) && quoted && !ifsParam(p) && bytes.IndexByte(x.buf, markUnknown) < 0 {
				x.cur.t |= tGlued
			}
		case *syntax.CmdSubst:
			v := f.subst(p)
			if quoted {
				x.addQuoted(v)
			} else {
				x.addSplit(v)
			}
		case *syntax.ArithmExp:
			v := f.arithValue(p.X)
			x.addQuoted(v)
		case *syntax.ProcSubst:
			x.addQuoted(f.procSubst(p))
		case *syntax.ExtGlob:
			if alts := strings.Split(p.Pattern.Value, "|"); len(alts) == 1 && p.Op == syntax.GlobOne {
				x.addQuoted(lit(literal(p.Pattern.Value)))
			} else {
				x.addQuoted(lit(string([]byte{markStar})))
			}
		default:
			x.addQuoted(unknownVal(0))
		}
	}
}

// isAt reports whether a quoted word is "$@", which may give no word at all.
func isAt(parts []syntax.WordPart) bool {
	if len(parts) != 1 {
		return false
	}
	p, ok := parts[0].(*syntax.ParamExp)
	return ok && p.Param != nil && p.Param.Value == "@"
}

func (f *frame) litPart(x *fields, s string, quoted, first, only bool) {
	if quoted {
		x.addQuoted(lit(literal(unescapeDouble(s))))
		return
	}
	if first && s != "" && s[0] == '~' {
		name := s[1:]
		rest := ""
		if j := strings.IndexByte(name, '/'); j >= 0 {
			name, rest = name[:j], name[j:]
		}
		if only || rest != "" {
			if dir, ok := f.tilde(name); ok {
				x.addQuoted(lit(dir))
				s = rest
			}
		}
	} else if i := strings.Index(s, "=~"); first && i > 0 {
		// Bash expands NAME=~/x in arguments of some builtins; programs that
		// take NAME=VALUE options often do so themselves.
		if dir, ok := f.tilde(""); ok && (len(s) == i+2 || s[i+2] == '/') {
			s = s[:i+1] + dir + s[i+2:]
		}
	}
	if s == "" {
		return
	}
	x.addQuoted(lit(unescapeBare(s)))
}

// tilde gives the folder that ~name stands for.
func (f *frame) tilde(name string) (string, bool) {
	switch name {
	case "":
		if v, ok := f.vars["HOME"]; ok {
			return v.v.s, true
		}
		if f.m.opts.Home == "" {
			return unknownText, true
		}
		return literal(f.m.opts.Home), true
	case "+":
		return f.cwd, true
	case "-":
		if f.oldpwd == "" {
			return unknownText, true
		}
		return f.oldpwd, true
	case "root":
		return "/root", true
	}
	home := f.m.opts.Home
	for i := 0; i < len(name); i++ {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-' || c == '.') {
			return "", false
		}
	}
	if j := strings.LastIndexByte(home, '/'); j >= 0 {
		return literal(home[:j+1] + name), true
	}
	return unknownText, true
}

// one expands a word to a single value, as in assignments and redirects.
func (f *frame) one(w *syntax.Word) value {
	if w == nil {
		return value{}
	}
	if len(w.Parts) == 1 {
		if p, ok := w.Parts[0].(*syntax.Lit); ok && isPlainLit(p.Value) {
			return value{s: p.Value, span: f.span(w)}
		}
	}
	var x fields
	x.f = f
	// An assignment does not split: expansions are added as if quoted.
	f.partsOne(&x, w.Parts, true)
	v := x.finish()
	v.span = f.span(w)
	return v
}

func (f *frame) partsOne(x *fields, parts []syntax.WordPart, first bool) {
	for i, p := range parts {
		switch p := p.(type) {
		case *syntax.Lit:
			s := p.Value
			if strings.Contains(s, ":~") {
				if dir, ok := f.tilde(""); ok {
					s = strings.ReplaceAll(s, ":~", ":"+dir)
				}
			}
			f.litPart(x, s, false, first && i == 0, len(parts) == 1)
		case *syntax.ParamExp, *syntax.CmdSubst:
			f.parts(x, parts[i:i+1], true, false)
		default:
			f.parts(x, parts[i:i+1], false, false)
		}
	}
}

func isParam(p syntax.WordPart) bool { _, ok := p.(*syntax.ParamExp); return ok }

// ifsParam reports whether an expansion only stands for a space.
func ifsParam(p *syntax.ParamExp) bool { return p.Param != nil && p.Param.Value == "IFS" }
