package shell

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// scratch is the memory that one [Analyze] works in and gives back. Nothing of it
// is reachable from a [Result]: what the caller gets is copied out, in the size
// that it has. It is a matter of speed alone, so whatever does not fit is taken
// from the heap, and what a large text made it grow to is not kept.
type scratch struct {
	m       machine
	res     Result
	frames  arena[frame]
	invs    arena[inv]
	parsed  arena[parsed]
	values  arena[value]
	flags   arena[flagUse]
	specs   arena[*spec]
	words   arena[string]
	args    arena[Arg]
	indices arena[int]
	roots   [4]string
}

// The sizes are those of a line that an agent types: a few commands with a few
// words each. A larger line pays for what is more.
const (
	scratchFrames  = 8
	scratchInvs    = 8
	scratchValues  = 64
	scratchFlags   = 16
	scratchWords   = 48
	scratchArgs    = 48
	scratchResults = 32
	shortWords     = 4
)

var scratches = sync.Pool{New: func() any {
	s := &scratch{
		frames: newArena[frame](scratchFrames), invs: newArena[inv](scratchInvs), parsed: newArena[parsed](scratchInvs),
		values: newArena[value](scratchValues), flags: newArena[flagUse](scratchFlags), specs: newArena[*spec](scratchInvs * 2),
		words: newArena[string](scratchWords), args: newArena[Arg](scratchArgs), indices: newArena[int](scratchValues),
	}
	return s
}}

// begin takes memory for one run. [scratch.end] gives it back.
func begin(ctx context.Context, opts *Options) *machine {
	s := scratches.Get().(*scratch)
	m := &s.m
	m.s, m.ctx, m.opts, m.lim, m.res = s, ctx, *opts, opts.Limits.complete(), &s.res
	m.given = givenOptions{opts.Roots, opts.TempDirs, opts.CaseInsensitive}
	m.res.Dialect = opts.Dialect
	m.roots = s.roots[:0]
	for _, r := range opts.Roots {
		r = path.Clean(strings.ReplaceAll(r, `\`, "/"))
		if opts.CaseInsensitive {
			r = strings.ToLower(r)
		}
		m.roots = append(m.roots, r)
	}
	if windowsOptions(&m.opts) {
		m.setWindows()
	}
	return m
}

// end forgets all that the run held. It must be the last use of the machine.
func (m *machine) end() {
	s := m.s
	s.m = machine{}
	s.res = Result{
		Commands: emptied(s.res.Commands), Actions: emptied(s.res.Actions), Pipes: emptied(s.res.Pipes), Undecided: emptied(s.res.Undecided),
	}
	s.frames.reset()
	s.invs.reset()
	s.parsed.reset()
	s.values.reset()
	s.flags.reset()
	s.specs.reset()
	s.words.reset()
	s.args.reset()
	s.indices.reset()
	clear(s.roots[:])
	scratches.Put(s)
}

// emptied gives a list back for the next run, or nil when it grew large.
func emptied[T any](list []T) []T {
	if cap(list) > scratchResults {
		return nil
	}
	clear(list)
	return list[:0]
}

// shortResult is the result of a line with one command of a few words, in one
// piece of memory.
type shortResult struct {
	r        Result
	commands [1]Command
	args     [shortWords]Arg
	words    [shortWords]string
}

// finish copies what was found out of the scratch memory.
func (m *machine) finish() *Result {
	found := m.res
	nargs, nwords := 0, 0
	for i := range found.Commands {
		c := &found.Commands[i]
		nargs += len(c.Args)
		nwords += len(c.Flags) + len(c.Sub)
	}
	var r *Result
	var args []Arg
	var words []string
	if len(found.Commands) == 1 && nargs <= shortWords && nwords <= shortWords {
		short := &shortResult{r: *found, commands: [1]Command(found.Commands)}
		r, args, words = &short.r, short.args[:0], short.words[:0]
		r.Commands = short.commands[:]
	} else {
		r = &Result{}
		*r = *found
		r.Commands = exact(r.Commands)
		args, words = make([]Arg, 0, nargs), make([]string, 0, nwords)
	}
	r.Actions, r.Pipes, r.Undecided = exact(r.Actions), exact(r.Pipes), exact(r.Undecided)
	for i := range r.Commands {
		c := &r.Commands[i]
		c.Args = carve(&args, c.Args)
		c.Flags = carve(&words, c.Flags)
		c.Sub = carve(&words, c.Sub)
	}
	return r
}

// exact is a copy without room to spare, nil when it is empty.
func exact[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	out := make([]T, len(list))
	copy(out, list)
	return out
}

// carve puts list behind what block holds, and gives it as it stands there.
func carve[T any](block *[]T, list []T) []T {
	if len(list) == 0 {
		return nil
	}
	n := len(*block)
	*block = append(*block, list...)
	return (*block)[n:len(*block):len(*block)]
}

// An arena hands out pieces of one array. What does not fit any more is made anew.
type arena[T any] struct{ buf []T }

func newArena[T any](size int) arena[T] { return arena[T]{make([]T, 0, size)} }

// one gives a zero value that stays where it is until the run ends.
func (a *arena[T]) one() *T {
	n := len(a.buf)
	if n == cap(a.buf) {
		return new(T)
	}
	a.buf = a.buf[:n+1]
	return &a.buf[n]
}

// room gives an empty list with room for n.
func (a *arena[T]) room(n int) []T {
	have := len(a.buf)
	if n > cap(a.buf)-have {
		return make([]T, 0, n)
	}
	a.buf = a.buf[:have+n]
	return a.buf[have : have : have+n]
}

// open gives an empty list with all the room that is left. Until [arena.keep] gets
// it back, nothing else may be taken.
func (a *arena[T]) open() []T {
	n := len(a.buf)
	return a.buf[n:n:cap(a.buf)]
}

// keep takes the room that an opened list used, and gives the list.
func (a *arena[T]) keep(list []T) []T {
	n := len(a.buf)
	if len(list) == 0 {
		return nil
	}
	if n+len(list) > cap(a.buf) || &a.buf[:n+1][n] != &list[0] {
		clear(a.buf[n:cap(a.buf)]) // it outgrew the array
		return list
	}
	a.buf = a.buf[:n+len(list)]
	return slices.Clip(list)
}

func (a *arena[T]) reset() {
	clear(a.buf)
	a.buf = a.buf[:0]
}

// reader is a parser with the text that it reads.
type reader struct {
	text   strings.Reader
	parser *syntax.Parser
}

func readers(lang syntax.LangVariant) *sync.Pool {
	return &sync.Pool{New: func() any { return &reader{parser: syntax.NewParser(syntax.Variant(lang))} }}
}

var (
	parsers    = readers(syntax.LangBash)
	zshParsers = readers(syntax.LangZsh)
)

// parseWith reads text as statements. With an error it gives those that were
// complete before it.
func parseWith(pool *sync.Pool, text string) ([]*syntax.Stmt, error) {
	// A parser that panics is not put back.
	p := pool.Get().(*reader)
	p.text.Reset(text)
	f, err := p.parser.Parse(&p.text, "")
	if err == nil {
		p.text.Reset("")
		pool.Put(p)
		return f.Stmts, nil
	}
	// Parse counts the broken statement too; read once more for those before it.
	var stmts []*syntax.Stmt
	var first error
	p.text.Reset(text)
	// The iterator must not be left early: the parser may go on after an error.
	for s, err := range p.parser.StmtsSeq(&p.text) {
		switch {
		case first != nil:
		case err != nil:
			first = err
		default:
			stmts = append(stmts, s)
		}
	}
	p.text.Reset("")
	pool.Put(p)
	return stmts, first
}
