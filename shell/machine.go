package shell

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// machine is the state of one Analyze.
type machine struct {
	s     *scratch
	ctx   context.Context
	opts  Options
	lim   Limits
	res   *Result
	roots []string
	nodes int
	stop  bool
	runs  int

	files      map[string]value  // content written in the text, by absolute name
	links      map[string]string // links made in the text
	netDirs    []string          // folders filled from the network in the text
	mktemps    int
	pending    []pendingSink
	scripts    map[string]value // package scripts set in the text
	hidden     map[string]bool  // aliases whose text was decoded
	fifos      map[string]bool  // named pipes made in the text
	gitAliases map[string]string
	gitRemotes map[string]bool
	moved      []moved         // files and folders moved in the text
	built      map[string]bool // programs that a compiler made in the text from the project
	fifoWaits  []int           // holes in Result.Undecided that are scripts from named pipes
	binds      bool            // an address of all interfaces stands in the text
	refs       bool            // some variables are other names of others
	renamed    bool            // true, false or : may mean something else
	win        bool            // paths are those of Windows
	given      givenOptions
	added      *added // by entries that extend the table
}

// givenOptions are those that a machine for Windows changes, as the caller gave them.
type givenOptions struct {
	roots, tempDirs []string
	caseInsensitive bool
}

// frame is the state of one shell: what a subshell would copy.
type frame struct {
	m        *machine
	vars     varSet
	shared   bool // vars must be copied before a write
	funcs    map[string]*fn
	aliases  map[string]string
	cwd      string
	oldpwd   string
	params   []value
	arg0     value
	fds      map[string]value // descriptors bound to peers or known text
	via      []Via
	wrappers []string
	host     string
	mounts   []mount
	depth    int
	calls    []string // functions being run
	in       value
	hasIn    bool
	text     string // the text being run
	base     Span   // where a nested text stands in the outer one
	nested   bool
	loops    int  // enclosing endless loops
	bounded  bool // below timeout, head and the like
	env      []Assignment
	returned bool
	exported map[string]bool
	weak     bool // may not be reached or may have other values
	dialect  Dialect
}

type fn struct {
	body *syntax.Stmt
	text string
	base Span
	nest bool
}

func (f *frame) fork() *frame {
	g := f.m.s.frames.one()
	f.shared = true
	*g = *f
	return g
}

func (f *frame) setVar(name string, v *variable) {
	if f.shared || f.vars == nil {
		n := make(varSet, len(f.vars)+1)
		maps.Copy(n, f.vars)
		f.vars, f.shared = n, false
	}
	f.vars[name] = v
}

func (f *frame) set(name string, v value) {
	if len(v.s) > maxWord {
		f.m.breach("expansion", f.base)
		v.s = unknownText
	}
	f.setVar(name, &variable{v: v})
}

func (m *machine) breach(bound string, at Span) {
	m.stop = true
	for _, b := range m.res.Breaches {
		if b.Bound == bound {
			return
		}
	}
	m.res.Breaches = append(m.res.Breaches, Breach{Bound: bound, Span: at})
}

// step counts one unit of work and reports whether the run may go on.
func (m *machine) step(at Span) bool {
	if m.stop {
		return false
	}
	m.nodes++
	if m.nodes > m.lim.Nodes {
		m.breach("nodes", at)
		return false
	}
	if m.nodes&63 == 0 && m.ctx.Err() != nil {
		m.breach("time", at)
		return false
	}
	return true
}

// grows counts the work of adding to a text that is n bytes long, and reports whether
// that may go on: a short program can name a long text very often.
func (m *machine) grows(n int, at Span) bool {
	if n > m.lim.Bytes {
		m.breach("bytes", at)
		return false
	}
	m.nodes += n >> 10
	return m.step(at)
}

func (f *frame) span(n syntax.Node) Span {
	if f.nested {
		return f.base
	}
	return Span{int(n.Pos().Offset()), int(n.End().Offset())}
}

func (m *machine) undecided(r Reason, detail string, material bool, cmd int, at Span) {
	for i := range m.res.Undecided {
		u := &m.res.Undecided[i]
		if u.Reason == r && u.Detail == detail && u.Command == cmd {
			u.Material = u.Material || material
			return
		}
	}
	if len(m.res.Undecided) > 1000 {
		return
	}
	m.res.Undecided = append(m.res.Undecided, Undecided{Reason: r, Detail: plain(detail), Material: material, Command: cmd, Span: at})
}

func newFrame(m *machine) *frame {
	f := m.s.frames.one()
	f.m, f.cwd, f.arg0 = m, unknownText, lit("bash")
	if m.opts.CWD != "" {
		f.cwd = path.Clean(literal(m.opts.CWD))
		if m.win {
			f.cwd = winAbs(unknownText, literal(m.opts.CWD), true)
		}
	}
	return f
}

// runPOSIX judges text of the sh family.
func (m *machine) runPOSIX(text string) {
	f := newFrame(m)
	f.runText(text)
}

// maxRuns bounds the scripts inside one text.
const maxRuns = 4096

// mayRun counts a script in any language, and reports whether it is within bounds.
func (f *frame) mayRun(text string) bool {
	m := f.m
	m.runs++
	m.binds = m.binds || strings.Contains(text, "0.0.0.0") || strings.Contains(text, "[::]") || strings.Contains(text, "*:")
	bound := ""
	switch {
	case len(text) > m.lim.Bytes:
		bound = "bytes"
	case f.depth > m.lim.Depth:
		bound = "depth"
	case m.runs > maxRuns:
		bound = "nodes"
	default:
		return true
	}
	m.breach(bound, f.base)
	return false
}

// here runs a script in this very frame, as eval and source do.
func (f *frame) here(text string, via Via, at Span) value {
	nested, base, before := f.nested, f.base, f.via
	if !nested {
		f.nested, f.base = true, at
	}
	f.via = append(slices.Clip(f.via), via)
	f.depth++
	out := f.runText(text)
	f.depth--
	f.nested, f.base, f.via = nested, base, before
	return out
}

// runText parses and runs a script in the current frame. What is complete before
// a syntax error is run, since the shell does that too.
func (f *frame) runText(text string) value {
	m := f.m
	if !f.mayRun(text) {
		return value{}
	}
	// Hosts pass CRLF text on with plain line ends.
	if strings.Contains(text, "\r\n") {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	m.renamed = m.renamed || mayRename(text)
	if !nestingOK(text) {
		m.breach("depth", f.base)
		return value{}
	}
	saved := f.text
	f.text = text
	defer func() { f.text = saved }()

	pool := parsers
	if m.opts.Dialect == Zsh {
		pool = zshParsers
	}
	stmts, err := parseWith(pool, text)
	if err != nil {
		// What bash rejects, zsh may take, and the other way round.
		other := zshParsers
		if pool == other {
			other = parsers
		}
		if alt, e := parseWith(other, text); e == nil {
			stmts, err = alt, nil
		} else if len(alt) > len(stmts) {
			stmts = alt
		}
	}
	var out value
	for _, s := range stmts {
		if m.stop {
			break
		}
		out = concat(out, f.stmt(s))
	}
	if err != nil {
		off := len(text)
		msg := "the text cannot be read as a script"
		if pe, ok := errors.AsType[syntax.ParseError](err); ok {
			off = int(pe.Pos.Offset())
			msg = pe.Text
		}
		at := f.base
		if !f.nested {
			at = Span{min(off, len(text)), len(text)}
			if m.res.Malformed == nil {
				m.res.Malformed = &Malformed{Offset: off, Message: msg}
			}
		}
		f.salvage(text, stmts)
		m.undecided(TextMalformed, "", len(stmts) == 0, -1, at)
	}
	return out
}

// salvage looks at lines that come before the error but were not read because
// they belong to a statement that never ends, such as `if` without `fi`.
func (f *frame) salvage(text string, done []*syntax.Stmt) {
	start := 0
	if n := len(done); n > 0 {
		start = int(done[n-1].End().Offset())
	}
	if start > len(text) {
		return
	}
	lines := strings.Split(text[start:], "\n")
	if len(lines) > maxIterations {
		f.m.breach("nodes", f.base)
		lines = lines[:maxIterations]
	}
	for _, line := range lines {
		line = strings.TrimSpace(line)
		for _, kw := range []string{"then ", "do ", "else ", "{ ", "( ", "&& ", "; "} {
			line = strings.TrimPrefix(line, kw)
		}
		if line == "" {
			continue
		}
		stmts, err := parseWith(parsers, line)
		if err != nil && len(stmts) == 0 {
			continue
		}
		g := f.fork()
		g.text = line
		g.nested, g.base = true, Span{0, len(text)}
		if f.nested {
			g.base = f.base
		}
		for _, s := range stmts {
			g.stmt(s)
		}
	}
}

const (
	maxNesting = 400
	maxBlocks  = 4000
)

// nestingOK refuses text that nests deeper than any script does, before the
// recursive parser sees it. Quotes are not looked at: it counts too much rather
// than too little.
func nestingOK(text string) bool {
	depth, blocks := 0, 0
	word := 0
	for i := 0; i <= len(text); i++ {
		var c byte = ' '
		if i < len(text) {
			c = text[i]
		}
		switch c {
		case '(', '{':
			if depth++; depth > maxNesting {
				return false
			}
		case ')', '}':
			depth = max(depth-1, 0)
		}
		if c >= 'a' && c <= 'z' || c == '!' || c == '-' || c == '~' {
			continue
		}
		if i > word {
			switch text[word:i] {
			case "if", "while", "until", "case", "for", "select", "time", "coproc", "function", "!", "-", "~":
				if blocks++; blocks > maxBlocks {
					return false
				}
			case "fi", "done", "esac":
				blocks = max(blocks-1, 0)
			}
		}
		word = i + 1
	}
	return true
}

func concat(a, b value) value {
	if a.s == "" && a.t == 0 && a.src == nil {
		return b
	}
	if b.s == "" && b.t == 0 && b.src == nil {
		return a
	}
	const limit = 1 << 16
	if len(a.s)+len(b.s) > limit {
		a.s = unknownText
		b.s = ""
	}
	a.add(b)
	return a
}

// run judges text as a script of its own, started from here.
func (f *frame) run(v value, via Via, prepare func(*frame)) value {
	g := f.fork()
	g.depth++
	g.via = append(slices.Clip(g.via), via)
	if !g.nested {
		g.nested, g.base = true, v.span
	}
	if prepare != nil {
		prepare(g)
	}
	return g.runText(v.text())
}
