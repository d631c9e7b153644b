package shell

import (
	"slices"
	"strings"
)

func joinValues(args []value, sep string) value {
	var out value
	for i, a := range args {
		if i > 0 {
			out.s += sep
		}
		a.s = a.text()
		out.add(a)
		if i == 0 {
			out.span = a.span
		} else {
			out.span.End = max(out.span.End, a.span.End)
		}
	}
	return out
}

// joinMarked is the text of joinValues alone; it still tells which globs are active.
func joinMarked(args []value, sep byte) string {
	var b strings.Builder
	for i, v := range args {
		if i > 0 {
			b.WriteByte(sep)
		}
		b.WriteString(v.s)
	}
	return b.String()
}

// printed records what printing a value shows: secret variables.
func (x *inv) printed(v value) value {
	f := x.f
	for _, n := range v.vars {
		i := f.emit(Action{Kind: EnvPrint, Name: n, Span: v.span, Command: x.cmd + 1})
		v.src = append(slices.Clip(v.src), i)
	}
	v.vars = nil
	return v
}

func (x *inv) echo() value {
	args := x.args[1:]
	esc, nl := x.f.m.opts.Dialect == Sh, true
	for len(args) > 0 && len(args[0].s) > 1 && args[0].s[0] == '-' && strings.Trim(args[0].s[1:], "neEr") == "" {
		esc = esc || strings.Contains(args[0].s, "e")
		nl = nl && !strings.Contains(args[0].s, "n")
		args = args[1:]
	}
	out := x.printed(joinValues(args, " "))
	if esc && strings.IndexByte(out.s, '\\') >= 0 {
		s, spells := ansiC(strings.ReplaceAll(out.s, `\0`, `\`))
		out.s = literalKeep(s)
		if spells {
			out.t |= tDecoded
		}
	}
	if nl {
		out.s += "\n"
	}
	return out
}

// literalKeep leaves the unknown marks that were there.
func literalKeep(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c > markUnknown && c <= markSet {
			b[i] = markUnknown
		}
	}
	return string(b)
}

func (x *inv) printf() value {
	args := x.args[1:]
	name := ""
	if len(args) > 1 && args[0].s == "-v" {
		name, args = args[1].s, args[2:]
	}
	if len(args) > 0 && args[0].s == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return value{}
	}
	out := formatted(args)
	if name == "" {
		out = x.printed(out)
	} else {
		out.t |= tGlued
		x.f.set(name, out)
		return value{}
	}
	return out
}

// formatted does what printf does with its format and operands.
func formatted(args []value) value {
	format := args[0]
	out := value{t: format.t, vars: format.vars, src: format.src, span: format.span}
	s := format.text()
	rest := args[1:]
	used := 0
	var b strings.Builder
	esc := func(s string) string {
		d, spells := ansiC(s)
		if spells {
			out.t |= tDecoded
		}
		return literalKeep(d)
	}
	for round := 0; round == 0 || len(rest) > used && used > 0 && round < 256; round++ {
		rest = rest[used:]
		used = 0
		i := 0
		for i < len(s) {
			j := strings.IndexByte(s[i:], '%')
			if j < 0 {
				b.WriteString(esc(s[i:]))
				break
			}
			b.WriteString(esc(s[i : i+j]))
			i += j + 1
			for i < len(s) && strings.IndexByte("-+ #0123456789.*", s[i]) >= 0 {
				i++
			}
			if i >= len(s) {
				break
			}
			c := s[i]
			i++
			if c == '%' {
				b.WriteByte('%')
				continue
			}
			var v value
			if used < len(rest) {
				v = rest[used]
			}
			used++
			out.t |= v.t
			out.vars = append(out.vars, v.vars...)
			out.src = append(out.src, v.src...)
			if v.s != "" {
				out.t |= tGlued
			}
			switch c {
			case 'b':
				b.WriteString(esc(strings.ReplaceAll(v.text(), `\0`, `\`)))
			case 'c':
				if v.s != "" {
					b.WriteString(v.text()[:1])
				}
			default:
				b.WriteString(v.text())
			}
		}
		if b.Len() > 1<<16 {
			break
		}
	}
	out.s = b.String()
	return out
}
