package policy

import (
	"context"
	"iter"
	"math/bits"
	"slices"
	"sync"

	"github.com/holdpoint/holdpoint/facts"
)

// keyIndex finds the rules that a key makes candidates, in their order.
type keyIndex struct {
	hazards, present, fileOps, toolNames, toolKinds, eventTypes, programs, mcpServers map[string][]int
}

// add reports whether it knows such keys.
func (x *keyIndex) add(k Key, rule int) bool {
	m := x.of(k.Kind)
	if m == nil {
		return false
	}
	if *m == nil {
		*m = map[string][]int{}
	}
	if l := (*m)[k.Value]; len(l) == 0 || l[len(l)-1] != rule {
		(*m)[k.Value] = append(l, rule)
	}
	return true
}

func (x *keyIndex) of(kind KeyKind) *map[string][]int {
	switch kind {
	case KeyHazard:
		return &x.hazards
	case KeyPresent:
		return &x.present
	case KeyFileOp:
		return &x.fileOps
	case KeyToolName:
		return &x.toolNames
	case KeyToolKind:
		return &x.toolKinds
	case KeyEventType:
		return &x.eventTypes
	case KeyProgram:
		return &x.programs
	case KeyMCPServer:
		return &x.mcpServers
	case KeyTouch: // has an index of its own
	}
	return nil
}

// A run is the evaluation of one event. Its memory is used again after end, unless
// the run was left to the garbage collector.
type run struct {
	set    *Set
	facts  *facts.Facts
	marked []uint64 // candidates, a bit for each rule
	inputs []*Input // one for each filter, made on first need
	names  []bool   // facts that were read
	only   *compiledRule
	rules  int // that were evaluated; only is the last of them

	effective map[string]any // the input that modify rules have left; nil before the first
}

var runs = sync.Pool{New: func() any { return new(run) }}

func (s *Set) start(f *facts.Facts) *run {
	r := runs.Get().(*run)
	r.set, r.facts = s, f
	r.marked = resized(r.marked, (len(s.rules)+63)/64)
	r.inputs = resized(r.inputs, len(s.filters))
	r.names = resized(r.names, len(s.facts))
	return r
}

// resized returns n zero values.
func resized[T any](list []T, n int) []T {
	if cap(list) < n {
		return make([]T, n)
	}
	list = list[:n]
	clear(list)
	return list
}

// end gives the run's memory back.
func (r *run) end() {
	clear(r.inputs)
	*r = run{marked: r.marked, inputs: r.inputs, names: r.names}
	runs.Put(r)
}

// mark makes rules candidates. Many files can name one rule many times, so the rules
// are marked, not listed.
func (r *run) mark(rules []int) {
	for _, i := range rules {
		r.marked[i/64] |= 1 << (i % 64)
	}
}

// candidates yields the rules that can hold for the facts, in order.
func (r *run) candidates() iter.Seq[int] {
	r.find()
	return func(yield func(int) bool) {
		for w, word := range r.marked {
			for ; word != 0; word &= word - 1 {
				if !yield(w*64 + bits.TrailingZeros64(word)) {
					return
				}
			}
		}
	}
}

func (r *run) find() {
	f, s := r.facts, r.set
	x := &s.keys
	r.mark(s.always)
	if x.eventTypes != nil {
		r.mark(x.eventTypes[f.Event.Type])
	}
	if f.Tool != nil {
		r.mark(x.toolNames[f.Tool.Name])
		r.mark(x.toolKinds[f.Tool.Kind])
		if f.Undecidable {
			r.mark(x.present["tool.undecidable"])
		}
	}
	if f.MCP != nil {
		r.mark(x.mcpServers[f.MCP.Server])
	}
	if len(f.Hazards) > 0 {
		r.mark(x.present["hazards"])
		for i := range f.Hazards {
			if i == 0 || f.Hazards[i].Code != f.Hazards[i-1].Code {
				r.mark(x.hazards[f.Hazards[i].Code])
			}
		}
	}
	if len(f.Files) > 0 {
		r.mark(x.present["files"])
		s.touches.find(f, r.mark)
		if x.fileOps != nil {
			var seen [8]facts.FileOp
			n := 0
			for i := range f.Files {
				if op := f.Files[i].Op; n < len(seen) && !slices.Contains(seen[:n], op) {
					seen[n] = op
					n++
					r.mark(x.fileOps[string(op)])
				}
			}
		}
	}
	if len(f.URLs) > 0 {
		r.mark(x.present["urls"])
	}
	if len(f.Secrets) > 0 {
		r.mark(x.present["secrets"])
	}
	if x.programs != nil && f.Shell != nil && f.Shell.Result != nil {
		for i := range f.Shell.Result.Commands {
			r.mark(x.programs[f.Shell.Result.Commands[i].Program])
		}
	}
}

// candidates lists the rules that can hold for f, in order.
func (s *Set) candidates(f *facts.Facts) []int {
	r := s.start(f)
	defer r.end()
	return slices.Collect(r.candidates())
}

func (r *run) eval(ctx context.Context, rule *compiledRule) (bool, error) {
	in := r.inputs[rule.filter]
	if in == nil {
		f := r.facts
		if flt := r.set.filters[rule.filter]; flt != nil {
			f = flt.apply(f)
		}
		in = NewInput(f)
		r.inputs[rule.filter] = in
	}
	r.only = rule
	r.rules++
	for _, n := range rule.reads {
		r.names[n] = true
	}
	hit, err := rule.prog.Eval(ctx, in)
	if err != nil {
		return false, evalFailure(rule, err)
	}
	return hit, nil
}

// read lists the facts that the rules which were evaluated read, sorted.
func (r *run) read() []string {
	switch r.rules {
	case 0:
		return nil
	case 1: // which is the usual case
		return slices.Clip(r.only.needs.Facts)
	}
	var out []string
	for i, b := range r.names {
		if b {
			out = append(out, r.set.facts[i])
		}
	}
	return out
}
