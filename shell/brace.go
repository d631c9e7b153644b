package shell

import (
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func hasBrace(w *syntax.Word) bool {
	for _, p := range w.Parts {
		if l, ok := p.(*syntax.Lit); ok && strings.IndexByte(l.Value, '{') >= 0 {
			return true
		}
	}
	return false
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
