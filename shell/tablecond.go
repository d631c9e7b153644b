package shell

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// flagRef is an option that a condition names, in its condition.
type flagRef struct {
	name *string
	line int
	col  int
	path []*spec
	subs []string
}

// cond reads a condition, whose words stand behind the if.
func (p *tableParser) cond(at tableWord, words []tableWord) []term {
	var out []term
	part := []tableWord(nil)
	end := func() {
		if len(part) == 0 {
			p.fail(at.off, "an empty condition", "a condition such as -x, arg1:PAT, n>0 or env:NAME=PAT")
			return
		}
		// A pattern may hold spaces, as they stand.
		last := part[len(part)-1]
		t := tableWord{p.line[part[0].off : last.off+len(last.text)], part[0].off}
		if c, ok := p.term(t); ok {
			out = append(out, c)
		}
		part = nil
	}
	for _, w := range words {
		if w.text == "and" {
			end()
			at = w
			continue
		}
		part = append(part, w)
	}
	end()
	return out
}

func (p *tableParser) term(tok tableWord) (term, bool) {
	text := tok.text
	t := term{}
	if strings.HasPrefix(text, "!") {
		t.neg, text = true, text[1:]
	}
	bad := func(expected string) (term, bool) {
		p.fail(tok.off, "the condition "+shown(tok.text), expected)
		return t, false
	}
	switch {
	case strings.HasPrefix(text, "-") || strings.HasPrefix(text, "+"):
		t.kind = 'f'
		names, pats, has := strings.Cut(text, ":")
		t.names = strings.Split(names, "|")
		if has {
			t.pats = strings.Split(pats, "|")
		}
		for i, n := range t.names {
			if len(n) < 2 || n[0] != '-' && n[0] != '+' {
				return bad("names of options, joined by |")
			}
			p.refer(tok, &t.names[i])
		}
	case strings.HasPrefix(text, "arg"):
		t.kind = 'a'
		head, pats, has := strings.Cut(text[3:], ":")
		if !has {
			return bad("a pattern behind a colon, such as arg1:PAT")
		}
		if before, ok := strings.CutSuffix(head, "+"); ok {
			t.plus, head = true, before
		}
		if head != "" {
			t.n = p.number(tok, head, 1)
		}
		t.pats = strings.Split(pats, "|")
	case len(text) > 2 && text[0] == 'n' && strings.IndexByte(":<>", text[1]) >= 0:
		t.kind, t.op = 'n', text[1]
		t.n = p.number(tok, text[2:], 0)
	case strings.HasPrefix(text, "env:"):
		t.kind = 'e'
		name, pat, has := strings.Cut(text[4:], "=")
		if !has || name == "" {
			return bad("env:NAME=PAT")
		}
		t.names, t.pats = []string{name}, strings.Split(pat, "|")
	default:
		return bad("-x, -x:PAT, argN:PAT, n>N, n:N or env:NAME=PAT")
	}
	return t, true
}

// refer notes an option of a condition, to be looked up when the entry is read.
func (p *tableParser) refer(tok tableWord, name *string) {
	if p.use == useEmbedded || strings.Contains(*name, "*") || len(p.entries) == 0 {
		return
	}
	r := flagRef{name: name, line: p.no, col: utf8.RuneCountInString(p.line[:tok.off]) + 1}
	for i, l := range p.stack {
		r.path = append(r.path, l.s)
		if i > 0 && len(l.s.names) > 0 {
			r.subs = append(r.subs, l.s.names[0])
		}
	}
	p.refs = append(p.refs, r)
}

// finish checks what an entry says as a whole: a condition on an option that no
// line declares would never hold. One by another than the first name is turned
// into that, which is the one that is compared.
func (p *tableParser) finish() {
	refs := p.refs
	p.refs = nil
	if len(p.entries) == 0 {
		return
	}
	e := p.entries[len(p.entries)-1]
	for _, r := range refs {
		fs := declared(*r.name, r.path, nil)
		if fs == nil && e.gain && len(e.spec.names) > 0 {
			fs = declared(*r.name, nil, levels(specFor(e.spec.names[0]), r.subs))
		}
		if fs == nil {
			p.failAt(r.line, r.col, "the option "+shown(*r.name), "one that a flags line of this program declares")
			continue
		}
		*r.name = fs.name
	}
}

// levels gives a program and the subcommands that subs name, as far as they go.
func levels(s *spec, subs []string) []*spec {
	var out []*spec
	for s != nil {
		out = append(out, s)
		if len(subs) == 0 {
			break
		}
		s, subs = s.subs[subs[0]], subs[1:]
	}
	return out
}

func declared(name string, own, base []*spec) *flagSpec {
	for _, list := range [][]*spec{own, base} {
		for _, s := range slices.Backward(list) {
			if fs := s.flags[name]; fs != nil {
				return fs
			}
		}
	}
	return nil
}
