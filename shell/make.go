package shell

import (
	"slices"
	"strings"
)

// makefile is the text of a makefile, as far as the recipes of its targets go.
type makefile struct {
	text  value
	vars  map[string]string
	given map[string]bool // set by the command line, which wins
	rules []makeRule
}

type makeRule struct {
	names, needs []string
	recipe       []string
}

const maxMakeDepth = 16

// make runs the makefile that the same text holds, and reports whether it did.
func (x *inv) make() bool {
	f, m, p := x.f, x.f.m, x.p
	var text value
	names := []string{"GNUmakefile", "makefile", "Makefile"}
	if fl := p.flag("-f"); fl != nil {
		switch s := fl.val.s; {
		case s == "-" || s == "/dev/stdin":
			text = x.in
		case strings.HasPrefix(s, "/dev/fd/proc"):
			text = m.files[s]
		}
		names = []string{fl.val.s}
	}
	for i := 0; i < len(names) && text.s == ""; i++ {
		text = m.files[join(f.cwd, names[i])]
	}
	if text.s == "" {
		return false
	}
	if text.opaque() {
		x.origin(text)
		return false
	}
	text.span = x.span
	var want []string
	mk := &makefile{text: text, vars: map[string]string{}, given: map[string]bool{}}
	for _, v := range p.pos {
		if k, val, ok := strings.Cut(v.s, "="); ok && isAssign(v.s) {
			mk.vars[k], mk.given[k] = val, true
		} else {
			want = append(want, v.s)
		}
	}
	mk.read(x)
	if len(want) == 0 {
		for i := range mk.rules {
			if n := mk.rules[i].names[0]; n[0] != '.' {
				want = []string{n}
				break
			}
		}
	}
	done := map[string]bool{}
	for _, w := range want {
		mk.build(x, w, done, 0)
	}
	return true
}

// read takes the text apart. What is computed while it is read runs at once.
func (mk *makefile) read(x *inv) {
	var rule *makeRule
	text := strings.ReplaceAll(mk.text.s, "\\\n", " ")
	for l := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(l, "\t") || strings.HasPrefix(l, "    ") {
			if rule != nil {
				rule.recipe = append(rule.recipe, strings.TrimSpace(l))
			}
			continue
		}
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' {
			continue
		}
		if name, val, ok := strings.Cut(l, "="); ok && !strings.ContainsAny(strings.TrimRight(name, ":+?! \t"), ": \t") {
			name = strings.TrimRight(name, ":+?! \t")
			if !mk.given[name] {
				mk.vars[name] = strings.TrimSpace(val)
			}
			mk.expand(x, val, 0)
			continue
		}
		mk.expand(x, l, 0)
		names, rest, ok := strings.Cut(l, ":")
		targets := strings.Fields(names)
		if !ok || len(targets) == 0 {
			continue
		}
		needs, recipe, inline := strings.Cut(strings.TrimPrefix(rest, ":"), ";")
		mk.rules = append(mk.rules, makeRule{names: targets, needs: strings.Fields(needs)})
		rule = &mk.rules[len(mk.rules)-1]
		if inline {
			rule.recipe = append(rule.recipe, strings.TrimSpace(recipe))
		}
	}
}

// build runs the recipe of a target, after what it needs.
func (mk *makefile) build(x *inv, name string, done map[string]bool, depth int) {
	if done[name] || depth > maxMakeDepth || x.f.m.stop {
		return
	}
	done[name] = true
	for i := range mk.rules {
		r := &mk.rules[i]
		if !slices.ContainsFunc(r.names, func(n string) bool { return n == name || mk.matches(n, name) }) {
			continue
		}
		for _, n := range r.needs {
			mk.build(x, n, done, depth+1)
		}
		for _, line := range r.recipe {
			line = strings.TrimLeft(mk.expand(x, line, 0), "@-+ ")
			// make started by make reads the same file.
			if rest, ok := strings.CutPrefix(line, "make "); ok && !strings.ContainsAny(rest, "-=;&|/") {
				for w := range strings.FieldsSeq(rest) {
					mk.build(x, w, done, depth+1)
				}
				continue
			}
			x.f.run(mk.text.with(line), ViaFile, nil)
		}
	}
}

// matches reports whether a pattern such as %.o stands for name.
func (mk *makefile) matches(pattern, name string) bool {
	head, tail, ok := strings.Cut(pattern, "%")
	return ok && len(name) >= len(head)+len(tail) && strings.HasPrefix(name, head) && strings.HasSuffix(name, tail)
}

// expand replaces make's variables; those that it does not set are the shell's.
func (mk *makefile) expand(x *inv, s string, depth int) string {
	if depth > maxMakeDepth || !strings.Contains(s, "$") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case '$':
			b.WriteByte('$')
		case '(', '{':
			body, end := balanced(s, i)
			if end <= i {
				b.WriteByte('$')
				b.WriteByte(c)
				continue
			}
			i = end - 1
			b.WriteString(mk.variable(x, body, depth))
		default:
			b.WriteString(unknownText) // $@, $< and their kin
		}
		if b.Len() > maxText {
			return unknownText
		}
	}
	return b.String()
}

func (mk *makefile) variable(x *inv, body string, depth int) string {
	if !x.f.m.step(x.span) {
		return unknownText // variables of variables multiply
	}
	name := strings.TrimSpace(body)
	if cmd, ok := strings.CutPrefix(name, "shell "); ok {
		x.f.run(mk.text.with(mk.expand(x, cmd, depth+1)), ViaFile, nil)
		return unknownText
	}
	if v, ok := mk.vars[name]; ok {
		return mk.expand(x, v, depth+1)
	}
	switch {
	case name == "MAKE":
		return "make"
	case name == "CURDIR":
		return x.f.cwd
	case name == "RM":
		return "rm -f"
	case name != "" && isAssign(name+"="):
		return "${" + name + "}"
	}
	return unknownText
}
