package shell

import (
	"bytes"
	"slices"
	"strconv"
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

func hasBrace(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok && strings.IndexByte(l.Value, '{') >= 0 {
			return true
		}
	}
	return false
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

// braces expands {a,b} and {1..9}; the size was checked before.
func (f *frame) braces(w *syntax.Word) []*syntax.Word {
	if !hasBrace(w) || f.m.opts.Dialect == Sh {
		return []*syntax.Word{w}
	}
	cp := *w
	cp.Parts = append([]syntax.WordPart(nil), w.Parts...)
	syntax.SplitBraces(&cp)
	return expandBraces(&cp, f.m.lim.Expansion)
}

func expandBraces(w *syntax.Word, limit int) []*syntax.Word {
	for i, p := range w.Parts {
		be, ok := p.(*syntax.BraceExp)
		if !ok {
			continue
		}
		var out []*syntax.Word
		for _, e := range braceElems(be, limit) {
			nw := *w
			nw.Parts = append([]syntax.WordPart(nil), w.Parts[:i]...)
			nw.Parts = append(nw.Parts, e...)
			nw.Parts = append(nw.Parts, w.Parts[i+1:]...)
			out = append(out, expandBraces(&nw, limit)...)
			if len(out) > limit {
				return out
			}
		}
		return out
	}
	return []*syntax.Word{w}
}

func braceElems(be *syntax.BraceExp, limit int) [][]syntax.WordPart {
	if !be.Sequence {
		out := make([][]syntax.WordPart, 0, len(be.Elems))
		for _, e := range be.Elems {
			out = append(out, e.Parts)
		}
		return out
	}
	from, to := be.Elems[0].Lit(), be.Elems[1].Lit()
	step := 1
	if len(be.Elems) > 2 {
		step, _ = strconv.Atoi(be.Elems[2].Lit())
		if step < 0 {
			step = -step
		}
		step = max(step, 1)
	}
	lo, err1 := strconv.Atoi(from)
	hi, err2 := strconv.Atoi(to)
	chars := err1 != nil || err2 != nil
	if chars && len(from) > 0 && len(to) > 0 {
		lo, hi = int(from[0]), int(to[0])
	}
	var out [][]syntax.WordPart
	add := func(i int) {
		s := strconv.Itoa(i)
		if chars {
			s = string(rune(i))
		}
		out = append(out, []syntax.WordPart{&syntax.Lit{Value: s}})
	}
	if lo <= hi {
		for i := lo; i <= hi && len(out) <= limit; i += step {
			add(i)
		}
	} else {
		for i := lo; i >= hi && len(out) <= limit; i -= step {
			add(i)
		}
	}
	return out
}

// braceCount bounds the words that brace expansion would give, from above and
// without making them.
func braceCount(w *syntax.Word, limit int) int {
	n := 1
	depth := 0
	commas := 0
	for _, p := range w.Parts {
		l, ok := p.(*syntax.Lit)
		if !ok {
			continue
		}
		for i := 0; i < len(l.Value); i++ {
			switch l.Value[i] {
			case '{':
				depth++
			case '}':
				if depth > 0 {
					if depth--; depth == 0 {
						n *= commas + 1
						commas = 0
					}
				}
			case ',':
				if depth > 0 {
					commas++
				}
			}
			if n > limit {
				return n
			}
		}
	}
	return n
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

// unescapeBare undoes backslashes of unquoted text and marks globs.
func unescapeBare(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return activate(literal(s))
	}
	var b strings.Builder
	start := 0
	flush := func(end int) {
		if end > start {
			b.WriteString(activate(literal(s[start:end])))
		}
	}
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' {
			continue
		}
		flush(i)
		i++
		switch {
		case i >= len(s): // the text ends there
			b.WriteByte('\\')
		case s[i] != '\n':
			b.WriteString(literal(s[i : i+1]))
		}
		start = i + 1
	}
	flush(len(s))
	return b.String()
}

// unescapeDouble undoes the few escapes that double quotes have.
func unescapeDouble(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			switch s[i+1] {
			case '$', '`', '"', '\\':
				i++
			case '\n':
				i++
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ansiC decodes the inside of $'…'. spells is set when an escape stands for a
// plain printable character, which nobody needs.
func ansiC(s string) (out string, spells bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c != '\\' || i+1 >= len(s) {
			b.WriteByte(c)
			continue
		}
		i++
		num := func(base, most int) (int, int) {
			j := i + 1
			n := 0
			for j < len(s) && j-i-1 < most {
				d := digit(s[j])
				if d < 0 || d >= base {
					break
				}
				n = n*base + d
				j++
			}
			return n, j
		}
		put := func(n int, asRune bool) {
			if n > 0x20 && n < 0x7f {
				spells = true
			}
			if asRune {
				b.WriteRune(rune(n))
			} else {
				b.WriteByte(byte(n))
			}
		}
		switch e := s[i]; e {
		case 'n':
			b.WriteByte('\n')
		case 't':
			b.WriteByte('\t')
		case 'r':
			b.WriteByte('\r')
		case 'a':
			b.WriteByte(7)
		case 'b':
			b.WriteByte(8)
		case 'e', 'E':
			b.WriteByte(27)
		case 'f':
			b.WriteByte(12)
		case 'v':
			b.WriteByte(11)
		case 'x':
			n, j := num(16, 2)
			if j == i+1 {
				b.WriteString(`\x`)
				continue
			}
			put(n, false)
			i = j - 1
		case 'u', 'U':
			most := 4
			if e == 'U' {
				most = 8
			}
			n, j := num(16, most)
			put(n, true)
			i = j - 1
		case 'c':
			if i+1 < len(s) {
				i++
				b.WriteByte(s[i] & 0x1f)
			}
		case '0', '1', '2', '3', '4', '5', '6', '7':
			i--
			n, j := num(8, 3)
			put(n, false)
			i = j - 1
		case '\\', '\'', '"', '?':
			b.WriteByte(e)
		default:
			b.WriteByte('\\')
			b.WriteByte(e)
		}
	}
	return b.String(), spells
}

func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
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

// doc expands the body of a here-document.
func (f *frame) doc(w *syntax.Word, quoted bool) value {
	if w == nil {
		return value{}
	}
	if quoted {
		var b strings.Builder
		for _, p := range w.Parts {
			if l, ok := p.(*syntax.Lit); ok {
				b.WriteString(l.Value)
			}
		}
		return value{s: literal(b.String()), span: f.span(w)}
	}
	x := fields{f: f}
	f.parts(&x, w.Parts, true, false)
	v := x.finish()
	v.span = f.span(w)
	return v
}

// subst runs a command substitution.
func (f *frame) subst(p *syntax.CmdSubst) value {
	g := f.fork()
	g.via = append(slices.Clip(g.via), ViaSubst)
	var out value
	// $(<file) reads the file.
	if len(p.Stmts) == 1 && p.Stmts[0].Cmd == nil && len(p.Stmts[0].Redirs) == 1 && p.Stmts[0].Redirs[0].Op == syntax.RdrIn {
		out = g.readFile(g.one(p.Stmts[0].Redirs[0].Word), -1, false)
	} else {
		for _, s := range p.Stmts {
			if f.m.stop {
				break
			}
			out = concat(out, g.stmt(s))
		}
	}
	if out.has(tEndless) && !f.bounded {
		f.emit(Action{Kind: Exhaust, Detail: "memory without bound", Span: f.span(p)})
		out.t &^= tEndless
	}
	out.s = strings.TrimRight(out.s, "\n")
	out.t |= tSubst
	out.span = f.span(p)
	return out
}

func (f *frame) procSubst(p *syntax.ProcSubst) value {
	g := f.fork()
	g.via = append(slices.Clip(g.via), ViaProcSubst)
	f.m.mktemps++
	name := "/dev/fd/proc" + strconv.Itoa(f.m.mktemps)
	if p.Op == syntax.CmdOut {
		// >(…): what is written to the name goes to the command's input. It
		// runs once the writer is known, see writeTo.
		f.m.pending = append(f.m.pending, pendingSink{name: name, g: g, stmts: p.Stmts})
		return value{s: name, span: f.span(p)}
	}
	var out value
	for _, s := range p.Stmts {
		if f.m.stop {
			break
		}
		out = concat(out, g.stmt(s))
	}
	out.t |= tSubst
	f.m.putFile(name, out)
	return value{s: name, t: out.t & (tNet | tPeer), span: f.span(p)}
}

// pendingSink is a >(…) that waits for its input.
type pendingSink struct {
	name  string
	g     *frame
	stmts []*syntax.Stmt
}

// drain runs the commands of all waiting >(…) with what their writers gave, or
// with nothing known.
func (m *machine) drain(name string, in value) bool {
	for i, s := range m.pending {
		if s.name != name && name != "" {
			continue
		}
		m.pending = append(m.pending[:i], m.pending[i+1:]...)
		s.g.in, s.g.hasIn = in, true
		for _, st := range s.stmts {
			s.g.stmt(st)
		}
		return true
	}
	return false
}

func (m *machine) putFile(abs string, v value) {
	if m.files == nil {
		m.files = map[string]value{}
	}
	if len(m.files) > 1024 {
		return
	}
	m.files[abs] = v
	delete(m.built, abs)
}

func isParam(p syntax.WordPart) bool { _, ok := p.(*syntax.ParamExp); return ok }

// ifsParam reports whether an expansion only stands for a space.
func ifsParam(p *syntax.ParamExp) bool { return p.Param != nil && p.Param.Value == "IFS" }

// drainAll runs each >(…) that no writer was seen for.
func (m *machine) drainAll() {
	for range 64 {
		if len(m.pending) == 0 || !m.drain("", unknownVal(tCmd)) {
			return
		}
	}
}
