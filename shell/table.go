package shell

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

// programs.txt says what programs do. Its grammar, one item a line, indented
// below its program or subcommand:
//
//	prog NAME…          a program; also names the handler when Go code has to help
//	sub NAME…           a subcommand
//	flags SPEC…         options: names joined by commas, the first is the one that
//	                    conditions of this file use; then nothing (a switch), `=` (takes a value),
//	                    `=ROLE` (takes a value of that role) or `=?` (may take one)
//	args ROLE… [if …]   roles of the operands; `*` repeats, the first line whose
//	                    condition holds counts
//	act KIND[@N] [TEXT] [if …]  an action; N is the operand that names its target
//	dry FLAG…           switches that make it a dry run
//	style WORD…         posix: options end at the first operand; single: one dash,
//	                    long names; kv: NAME=VALUE operands; nocase: names in any case
//	out WORD            what it prints: net, cmd, names, decoded, init, none
//	pass                prints what it reads
//	quiet [if …]        prints no content
//	wrap MODE [N]       starts a command after N operands: args, joined (by a shell),
//	                    each (each operand is a script), later, bounded, elevate
//	dynamic             operands that are not known may be options that matter
//	opaque [TEXT] [if …]   runs code that is not in the text: material
//	routine [TEXT] [if …]  runs project code that any project runs
//
// Conditions are joined by `and`: `-x` or `-x|-y` (given), `-x:PAT|PAT` (given with
// such a value), `argN:PAT|PAT` (operand N, from 1; `arg` is any, `argN+` from N on),
// `n:N`, `n>N` (count of operands), `env:NAME=PAT`, `!` in front negates. In
// patterns `*` is any text.
//
//go:embed programs.txt
var programsText string

type flagSpec struct {
	name  string // canonical
	takes bool
	maybe bool
	role  string
}

type term struct {
	neg   bool
	kind  byte // 'f' flag, 'a' operand, 'n' count, 'e' env
	names []string
	pats  []string
	n     int
	plus  bool
	op    byte
}

type argRule struct {
	roles []string
	cond  []term
}

type actRule struct {
	kind   Kind
	at     int
	detail string
	cond   []term
}

type spec struct {
	names   []string
	flags   map[string]*flagSpec
	long    []string
	subs    map[string]*spec
	args    []argRule
	acts    []actRule
	dry     []string
	posix   bool
	single  bool
	kv      bool
	nocase  bool
	out     string
	pass    bool
	quiet   []argRule
	dynamic bool
	opaque  []actRule
	routine []actRule
	wrap    string
	skip    int
}

var table struct {
	once  sync.Once
	index map[string]string // name → its block of text
	mu    sync.RWMutex
	specs map[string]*spec
}

func loadIndex() {
	table.index = make(map[string]string, 512)
	table.specs = make(map[string]*spec, 64)
	text := programsText
	for text != "" {
		end := strings.Index(text, "\nprog ")
		block := text
		if end >= 0 {
			block, text = text[:end+1], text[end+1:]
		} else {
			text = ""
		}
		if !strings.HasPrefix(block, "prog ") {
			continue
		}
		head, _, _ := strings.Cut(block, "\n")
		for _, n := range strings.Fields(head)[1:] {
			table.index[n] = block
		}
	}
}

// specFor gives what the table says of a program, or nil.
func specFor(name string) *spec {
	table.once.Do(loadIndex)
	block, ok := table.index[name]
	if !ok {
		return nil
	}
	table.mu.RLock()
	s, ok := table.specs[name]
	table.mu.RUnlock()
	if ok {
		return s
	}
	s = parseBlock(block)
	table.mu.Lock()
	for _, n := range s.names {
		if table.index[n] == block {
			table.specs[n] = s
		}
	}
	table.mu.Unlock()
	return s
}

// inTable reports whether the table knows a program, without reading its block.
func inTable(name string) bool {
	table.once.Do(loadIndex)
	_, ok := table.index[name]
	return ok
}

type flagUse struct {
	name  string // canonical
	raw   string
	val   value
	has   bool
	role  string
	level *spec
}

// parsed is a command's arguments, taken apart.
type parsed struct {
	flags   []flagUse
	pos     []value
	sub     []string
	specs   []*spec // the program and its subcommands, outermost first
	unknown bool    // an operand in front of the subcommand is not known
	dash    int     // index in pos of the first operand after `--`, or -1
}

func (p *parsed) flag(names ...string) *flagUse {
	for i := len(p.flags) - 1; i >= 0; i-- {
		if slices.Contains(names, p.flags[i].name) {
			return &p.flags[i]
		}
	}
	return nil
}

func (p *parsed) given(names ...string) bool { return p.flag(names...) != nil }

func (p *parsed) leaf() *spec {
	if len(p.specs) == 0 {
		return nil
	}
	return p.specs[len(p.specs)-1]
}

func (p *parsed) find(name string) *flagSpec {
	for _, v := range slices.Backward(p.specs) {
		if fs, ok := v.flags[name]; ok {
			return fs
		}
	}
	return nil
}

// abbrev finds the one long option that name begins.
func (p *parsed) abbrev(name string) *flagSpec {
	var found *flagSpec
	best := ""
	for _, v := range slices.Backward(p.specs) {
		for _, l := range v.long {
			if strings.HasPrefix(l, name) {
				fs := v.flags[l]
				// An abbreviation of several is an error to most programs. Where the
				// shortest begins all others, it is taken: that errs on the safe side.
				if found != nil && found != fs {
					if strings.HasPrefix(best, l) {
						found, best = fs, l
					} else if !strings.HasPrefix(l, best) {
						return nil
					}
					continue
				}
				found, best = fs, l
			}
		}
	}
	return found
}

// parse takes arguments (without the program) apart by the grammar s.
func (s *spec) parse(mem *scratch, args []value) *parsed {
	p := mem.parsed.one()
	p.dash = -1
	p.flags, p.pos, p.sub, p.specs = mem.flags.open(), mem.values.open(), mem.words.open(), append(mem.specs.open(), s)
	posix := s.posix
	for i := 0; i < len(args); i++ {
		a := args[i]
		t := a.text()
		if s.nocase {
			t = strings.ToLower(t)
		}
		if t == "--" && p.dash < 0 {
			p.dash = len(p.pos)
			p.pos = append(p.pos, args[i+1:]...)
			break
		}
		if len(t) < 2 || t[0] != '-' {
			leaf := p.leaf()
			if leaf.subs != nil && len(p.pos) == 0 {
				if t == unknownText || a.has(tMany) && !a.known() {
					p.unknown = true
				}
				if sub, ok := leaf.subs[t]; ok {
					p.sub = append(p.sub, t)
					p.specs = append(p.specs, sub)
					posix = sub.posix
					continue
				}
				if sub, ok := leaf.subs["*"]; ok {
					p.specs = append(p.specs, sub)
				}
			}
			p.pos = append(p.pos, a)
			if posix {
				p.pos = append(p.pos, args[i+1:]...)
				break
			}
			continue
		}
		name, val, has := t, "", false
		if j := strings.IndexByte(t, '='); j > 0 {
			name, val, has = t[:j], t[j+1:], true
		}
		if strings.HasPrefix(t, "--") || s.single {
			fs := p.find(name)
			if fs == nil && strings.HasPrefix(t, "--") {
				fs = p.abbrev(name)
			}
			if fs == nil && strings.HasPrefix(t, "--") {
				if rest, ok := strings.CutPrefix(name, "--no-"); ok && p.find(name) == nil {
					// --no-x takes --x back.
					on := p.find("--" + rest)
					if on == nil {
						on = p.abbrev("--" + rest)
					}
					if on != nil {
						for k := range p.flags {
							if p.flags[k].name == on.name {
								p.flags[k].name = ""
							}
						}
						continue
					}
				}
			}
			if fs == nil && s.single && strings.HasPrefix(name, "--") {
				fs = p.find(name[1:])
			}
			use := flagUse{name: name, raw: name, has: has, val: a.with(val), level: p.leaf()}
			if fs != nil {
				use.name, use.role = fs.name, fs.role
				if fs.takes && !has && i+1 < len(args) {
					i++
					use.val, use.has = args[i], true
				}
			} else if s.single && !strings.HasPrefix(name, "--") && len(name) > 2 {
				// Perhaps a cluster after all, such as -af.
				if !has && p.find(name[:2]) != nil && p.cluster(t, a, args, &i) {
					continue
				}
			}
			p.flags = append(p.flags, use)
			continue
		}
		p.cluster(t, a, args, &i)
	}
	p.flags, p.pos, p.sub, p.specs = mem.flags.keep(p.flags), mem.values.keep(p.pos), mem.words.keep(p.sub), mem.specs.keep(p.specs)
	return p
}

// shortOptions is all options of one plain letter, one behind the other.
var shortOptions = func() string {
	var b strings.Builder
	for c := range byte(0x80) {
		b.WriteByte('-')
		b.WriteByte(c)
	}
	return b.String()
}()

func shortOption(c byte) string {
	if c < 0x80 {
		return shortOptions[2*int(c) : 2*int(c)+2]
	}
	return "-" + string([]byte{c})
}

// cluster takes -abc apart.
func (p *parsed) cluster(t string, a value, args []value, i *int) bool {
	for j := 1; j < len(t); j++ {
		name := shortOption(t[j])
		fs := p.find(name)
		if fs == nil {
			p.flags = append(p.flags, flagUse{name: name, raw: name, level: p.leaf()})
			continue
		}
		use := flagUse{name: fs.name, raw: name, role: fs.role, level: p.leaf()}
		switch {
		case fs.takes && j+1 < len(t):
			rest := t[j+1:]
			if len(rest) > 1 {
				rest = strings.TrimPrefix(rest, "=")
			}
			use.val, use.has = a.with(rest), true
			p.flags = append(p.flags, use)
			return true
		case fs.takes && *i+1 < len(args):
			*i++
			use.val, use.has = args[*i], true
			p.flags = append(p.flags, use)
			return true
		case fs.maybe && j+1 < len(t):
			use.val, use.has = a.with(t[j+1:]), true
			p.flags = append(p.flags, use)
			return true
		}
		p.flags = append(p.flags, use)
	}
	return true
}

func matchAny(pats []string, s string) bool {
	for _, p := range pats {
		if globMatch(p, s) {
			return true
		}
	}
	return false
}

// holds reports whether all terms hold.
func (x *inv) holds(terms []term) bool {
	p := x.p
	for i := range terms {
		t := &terms[i]
		ok := false
		switch t.kind {
		case 'f':
			for j := range p.flags {
				fl := &p.flags[j]
				for _, n := range t.names {
					if fl.name == n || strings.HasSuffix(n, "*") && strings.HasPrefix(fl.raw, n[:len(n)-1]) {
						if t.pats == nil || matchAny(t.pats, strings.ToLower(fl.val.text())) || matchAny(t.pats, fl.val.text()) {
							ok = true
						}
					}
				}
			}
		case 'a':
			for j, v := range p.pos {
				if t.n == 0 || t.n == j+1 || t.plus && j+1 >= t.n {
					if s := v.text(); matchAny(t.pats, s) || x.spec.nocase && matchAny(t.pats, strings.ToLower(s)) {
						ok = true
					}
				}
			}
		case 'n':
			switch t.op {
			case ':':
				ok = len(p.pos) == t.n
			case '>':
				ok = len(p.pos) > t.n
			case '<':
				ok = len(p.pos) < t.n
			}
		case 'e':
			for _, e := range x.env {
				if e.Name == t.names[0] && matchAny(t.pats, e.Value.Value) {
					ok = true
				}
			}
		}
		if ok == t.neg {
			return false
		}
	}
	return true
}
