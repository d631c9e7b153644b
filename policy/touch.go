package policy

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/facts"
)

// touchIndex finds the rules whose path patterns can name a file, by the literal
// segments that the patterns start with. It may give a rule too many, never one
// too few.
type touchIndex struct {
	ops map[string]*touchTrees // by operation, or "any"
}

// touchTrees hold the patterns of one operation, by what they are relative to.
type touchTrees struct {
	absolute, home, roots touchNode
	all                   []int // every rule in the trees
}

type touchNode struct {
	children map[string]*touchNode
	rules    []int
}

// add puts a rule under a key. A key that is not of the form is under its
// operation's root, where every file finds it.
func (t *touchIndex) add(value string, rule int) {
	op, pattern, _ := strings.Cut(value, " ")
	if t.ops == nil {
		t.ops = map[string]*touchTrees{}
	}
	trees := t.ops[op]
	if trees == nil {
		trees = &touchTrees{}
		t.ops[op] = trees
	}
	trees.all = append(trees.all, rule)
	p, err := CompilePath(pattern)
	if err != nil {
		trees.absolute.rules = append(trees.absolute.rules, rule)
		return
	}
	root := &trees.absolute
	switch p.base {
	case baseHome:
		root = &trees.home
	case baseRoots:
		root = &trees.roots
	case baseAbsolute:
	}
	for _, alt := range p.alts {
		n := root
		for _, seg := range alt {
			if strings.ContainsAny(seg, `*?[\`) {
				break
			}
			if n.children == nil {
				n.children = map[string]*touchNode{}
			}
			next := n.children[seg]
			if next == nil {
				next = &touchNode{}
				n.children[seg] = next
			}
			n = next
		}
		n.rules = append(n.rules, rule)
	}
}

// find calls give with the rules that can name a file of f.
func (t *touchIndex) find(f *facts.Facts, give func([]int)) {
	if len(t.ops) == 0 {
		return
	}
	for i := range f.Files {
		x := &f.Files[i]
		for _, op := range [2]string{string(x.Op), "any"} {
			if trees := t.ops[op]; trees != nil {
				trees.find(x, f, give)
			}
		}
	}
}

func (t *touchTrees) find(x *facts.File, f *facts.Facts, give func([]int)) {
	if x.Glob || f.FoldCase {
		give(t.all)
		return
	}
	segs := pathSegments(x.Path, false)
	t.absolute.find(segs, x.Recursive, give)
	if f.Session.Home != "" {
		t.home.below(f.Session.Home, segs, x.Recursive, give)
	} else {
		t.home.subtree(give) // every home is meant
	}
	for _, r := range f.Session.Roots {
		t.roots.below(r, segs, x.Recursive, give)
	}
}

// below finds with a path relative to base.
func (n *touchNode) below(base string, segs []string, tree bool, give func([]int)) {
	if n.children == nil && n.rules == nil {
		return
	}
	prefix := pathSegments(base, false)
	switch {
	case len(segs) >= len(prefix) && slices.Equal(segs[:len(prefix)], prefix):
		n.find(segs[len(prefix):], tree, give)
	case tree && len(segs) < len(prefix) && slices.Equal(prefix[:len(segs)], segs):
		n.subtree(give)
	}
}

func (n *touchNode) find(segs []string, tree bool, give func([]int)) {
	give(n.rules)
	for _, s := range segs {
		if n = n.children[s]; n == nil {
			return
		}
		give(n.rules)
	}
	if tree {
		for _, c := range n.children {
			c.subtree(give)
		}
	}
}

func (n *touchNode) subtree(give func([]int)) {
	give(n.rules)
	for _, c := range n.children {
		c.subtree(give)
	}
}
