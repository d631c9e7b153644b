package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

func (f *frame) whileClause(c *syntax.WhileClause) value {
	endless := len(c.Cond) == 1 && constCond(c.Cond[0], c.Until)
	var out value
	before := f.vars
	f.shared = true
	g := f
	if endless && !hasBrake(c.Do) {
		f.spawnsForEver(c.Do)
		f.loops++
		defer func() { f.loops-- }()
	}
	// A loop that reads known lines runs once for each.
	if f.hasIn && f.in.known() && f.in.s != "" && readsLine(c.Cond) {
		lines := strings.Split(strings.TrimSuffix(f.in.s, "\n"), "\n")
		if len(lines) <= maxIterations {
			in := f.in
			for _, l := range lines {
				f.in = in.with(l + "\n")
				out = concat(out, g.block(c.Cond))
				out = concat(out, g.block(c.Do))
				if f.m.stop {
					break
				}
			}
			f.in = value{}
			f.returned = false
			return out
		}
	}
	out = concat(out, g.block(c.Cond))
	if holds, known := f.alwaysOf(c.Cond); known && holds == c.Until {
		return out
	}
	out = concat(out, g.block(c.Do))
	if endless && len(out.s) > 0 {
		out.t |= tEndless
		if hasBrake(c.Do) {
			out.t &^= tEndless
		}
	}
	f.merge(before, nil)
	return out
}

// spawnsForEver judges the body of a loop without an end.
func (f *frame) spawnsForEver(body []*syntax.Stmt) {
	for _, s := range body {
		if s.Background {
			f.emit(Action{Kind: Exhaust, Detail: "processes without bound", Span: f.span(s)})
			return
		}
	}
}

func readsLine(cond []*syntax.Stmt) bool {
	if len(cond) == 0 {
		return false
	}
	for _, s := range cond {
		found := false
		syntax.Walk(s, func(n syntax.Node) bool {
			if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 && c.Args[0].Lit() == "read" {
				found = true
			}
			return !found
		})
		if found {
			return true
		}
	}
	return false
}

// constCond reports whether a loop's condition always holds.
func constCond(s *syntax.Stmt, until bool) bool {
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		if len(c.Args) == 0 {
			return false
		}
		switch c.Args[0].Lit() {
		case "true", ":", "/bin/true":
			return until == s.Negated
		case "false":
			return until != s.Negated
		case "[", "test":
			if len(c.Args) >= 2 && len(c.Args) <= 3 && !until {
				a := c.Args[1].Lit()
				return a != "" && a != "]"
			}
		}
	case *syntax.ArithmCmd:
		if w, ok := c.X.(*syntax.Word); ok {
			return w.Lit() != "0" && w.Lit() != "" && !until
		}
	case *syntax.TestClause:
		if u, ok := c.X.(*syntax.Word); ok {
			return u.Lit() != "" && !until
		}
	}
	return false
}

// hasBrake reports whether a loop body waits or leaves by itself.
func hasBrake(body []*syntax.Stmt) bool {
	for _, s := range body {
		if s.Background {
			continue
		}
		brake := false
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Stmt:
				if n.Background {
					return false
				}
			case *syntax.FuncDecl, *syntax.CmdSubst:
				return false
			case *syntax.CallExpr:
				if len(n.Args) > 0 {
					switch n.Args[0].Lit() {
					case "break", "exit", "return", "sleep", "wait", "read", "inotifywait", "timeout", "exec":
						brake = true
					}
				}
			}
			return !brake
		})
		if brake {
			return true
		}
	}
	return false
}

// maxIterations bounds the words that a loop is run for. Past it the text is
// refused: a loop that is judged in part would let padding hide its last word.
const maxIterations = 1024

// maxCounted bounds the runs of a loop over numbers, of which a few show what all do.
const maxCounted = 64

// sampleNumbers keeps the first and the last of many plain numbers: {1..500} says
// how often a loop runs, and hides nothing in the middle. Where one item is
// anything else, all are kept.
func sampleNumbers(items []value) []value {
	if len(items) <= maxCounted {
		return items
	}
	for _, it := range items {
		if len(it.s) > 18 || strings.Trim(it.s, "0123456789") != "" {
			return items
		}
	}
	return append(slices.Clip(items[:maxCounted/2]), items[len(items)-maxCounted/2:]...)
}

func (f *frame) forClause(c *syntax.ForClause) value {
	var out value
	switch l := c.Loop.(type) {
	case *syntax.WordIter:
		var items []value
		if l.InPos.IsValid() {
			for _, w := range l.Items {
				items = append(items, f.words(w)...)
			}
		} else {
			items = f.params
		}
		before := f.vars
		f.shared = true
		items = sampleNumbers(items)
		if len(items) > maxIterations {
			f.m.res.Breaches = append(f.m.res.Breaches, Breach{Bound: "expansion", Span: f.span(c)})
			items = items[:maxIterations]
		}
		for _, it := range items {
			if f.m.stop {
				break
			}
			it.t |= tVar
			f.set(l.Name.Value, it)
			out = concat(out, f.block(c.Do))
		}
		if len(items) == 0 {
			f.m.step(f.base)
		}
		f.merge(before, nil)
	case *syntax.CStyleLoop:
		endless := l.Cond == nil
		if l.Init != nil {
			f.arith(l.Init)
		}
		if endless && !hasBrake(c.Do) {
			f.spawnsForEver(c.Do)
			f.loops++
			out = f.block(c.Do)
			f.loops--
			return out
		}
		for range maxCounted {
			if l.Cond != nil {
				if n, ok := f.arith(l.Cond); ok && n == 0 {
					break
				} else if !ok {
					out = concat(out, f.block(c.Do))
					break
				}
			}
			out = concat(out, f.block(c.Do))
			if f.m.stop || l.Post == nil {
				break
			}
			f.arith(l.Post)
		}
	}
	return out
}
