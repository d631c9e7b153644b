package shell

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// programs.txt says what programs do. Its grammar, one item a line, indented
// below its program or subcommand:
//
//	prog NAME…          a program; also names the handler when Go code has to help
//	sub NAME…           a subcommand
//	flags SPEC…         options: names joined by commas, the first is the one that
//	                    conditions use; then nothing (a switch), `=` (takes a value),
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

var wrapModes = map[string]bool{"args": true, "joined": true, "each": true, "later": true, "bounded": true, "elevate": true}

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
	s, err := parseSpec(block)
	if err != nil {
		panic("shell: programs.txt: " + err.Error()) // a mistake in our own table; its test finds it
	}
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

func parseSpec(block string) (*spec, error) {
	type level struct {
		indent int
		s      *spec
	}
	var stack []level
	var root *spec
	for n, line := range strings.Split(block, "\n") {
		if i := strings.Index(line, " # "); i >= 0 {
			line = line[:i]
		}
		trim := strings.TrimSpace(line)
		if trim == "" || trim[0] == '#' {
			continue
		}
		indent := len(line) - len(strings.TrimLeft(line, " "))
		for len(stack) > 0 && stack[len(stack)-1].indent >= indent {
			stack = stack[:len(stack)-1]
		}
		word, rest, _ := strings.Cut(trim, " ")
		if word == "prog" || word == "sub" {
			s := &spec{names: strings.Fields(rest)}
			if word == "prog" {
				root = s
			} else {
				if len(stack) == 0 {
					return nil, fmt.Errorf("line %d of %q: sub without prog", n+1, block[:min(len(block), 30)])
				}
				up := stack[len(stack)-1].s
				if up.subs == nil {
					up.subs = map[string]*spec{}
				}
				for _, name := range s.names {
					up.subs[name] = s
				}
			}
			stack = append(stack, level{indent, s})
			continue
		}
		if len(stack) == 0 {
			return nil, fmt.Errorf("line %d: %q stands outside of a program", n+1, trim)
		}
		if err := stack[len(stack)-1].s.item(word, rest); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", root.names[0], trim, err)
		}
	}
	return root, nil
}

var roleNames = map[string]bool{
	"none": true, "read": true, "write": true, "delete": true, "deltree": true, "wipe": true, "meta": true,
	"exec": true, "dir": true, "url": true, "upload": true, "body": true, "host": true, "sh": true, "sql": true,
	"secret": true, "mode": true, "owner": true, "name": true, "move": true, "wtree": true, "pat": true,
	"userpass": true, "bind": true, "form": true, "readtree": true, "rsc": true, "config": true, "data": true, "envfile": true, "keyfile": true, "gdb": true, "pack": true, "splitin": true, "sqlfile": true, "modepath": true, "ownpath": true, "chtree": true,
}

func (s *spec) item(word, rest string) error {
	body, condText, hasCond := strings.Cut(rest, " if ")
	if strings.HasPrefix(rest, "if ") {
		body, condText, hasCond = "", rest[3:], true
	}
	var cond []term
	if hasCond {
		var err error
		if cond, err = parseCond(condText); err != nil {
			return err
		}
	}
	switch word {
	case "flags":
		for tok := range strings.FieldsSeq(rest) {
			s.flag(tok)
		}
	case "args":
		roles := strings.Fields(body)
		for _, r := range roles {
			if !roleNames[strings.TrimSuffix(r, "*")] {
				return fmt.Errorf("unknown role %q", r)
			}
		}
		s.args = append(s.args, argRule{roles, cond})
	case "act", "opaque", "routine":
		a := actRule{cond: cond}
		if word == "act" {
			head, detail, _ := strings.Cut(body, " ")
			kind, at, has := strings.Cut(head, "@")
			a.kind, a.detail = Kind(kind), detail
			if has {
				n, err := strconv.Atoi(at)
				if err != nil {
					return err
				}
				a.at = n
			}
			if !tableKinds[a.kind] {
				return fmt.Errorf("unknown kind %q", a.kind)
			}
			s.acts = append(s.acts, a)
			return nil
		}
		a.detail = body
		if word == "opaque" {
			s.opaque = append(s.opaque, a)
		} else {
			s.routine = append(s.routine, a)
		}
	case "dry":
		s.dry = append(s.dry, strings.Fields(rest)...)
	case "style":
		for w := range strings.FieldsSeq(rest) {
			switch w {
			case "posix":
				s.posix = true
			case "single":
				s.single = true
			case "kv":
				s.kv = true
			case "nocase":
				s.nocase = true
			default:
				return fmt.Errorf("unknown style %q", w)
			}
		}
	case "out":
		s.out = rest
	case "pass":
		s.pass = true
	case "wrap":
		w := strings.Fields(body)
		if len(w) == 0 || !wrapModes[w[0]] {
			return fmt.Errorf("unknown wrap %q", body)
		}
		s.wrap = w[0]
		if len(w) > 1 {
			n, err := strconv.Atoi(w[1])
			if err != nil {
				return err
			}
			s.skip = n
		}
	case "quiet":
		s.quiet = append(s.quiet, argRule{cond: cond})
	case "dynamic":
		s.dynamic = true
	default:
		return fmt.Errorf("unknown item %q", word)
	}
	return nil
}

var tableKinds = map[Kind]bool{
	PushForce: true, PushLease: true, Push: true, RefDelete: true, HistoryRewrite: true, WorkDiscard: true, HookBypass: true,
	PkgPublish: true, DataDestroy: true, InfraDestroy: true, Deploy: true, ServiceStop: true, MachineStop: true, FirewallOpen: true,
	Persist: true, Exhaust: true, AgentStart: true, SecretReveal: true, NetUpload: true, NetListen: true, NetConnect: true, NetFetch: true,
	PrivElevate: true, ProcKill: true, FileWipe: true, EnvPrint: true,
}

func (s *spec) flag(tok string) {
	names, role, takes := strings.Cut(tok, "=")
	fs := &flagSpec{takes: takes, role: role}
	if rest, ok := strings.CutPrefix(role, "?"); ok {
		fs.takes, fs.maybe, fs.role = false, true, rest
	}
	for i, n := range strings.Split(names, ",") {
		if i == 0 {
			fs.name = n
		}
		if s.flags == nil {
			s.flags = map[string]*flagSpec{}
		}
		s.flags[n] = fs
		if strings.HasPrefix(n, "--") {
			s.long = append(s.long, n)
		}
	}
}

func parseCond(text string) ([]term, error) {
	var out []term
	for part := range strings.SplitSeq(text, " and ") {
		part = strings.TrimSpace(part)
		t := term{}
		if strings.HasPrefix(part, "!") {
			t.neg, part = true, part[1:]
		}
		switch {
		case strings.HasPrefix(part, "-") || strings.HasPrefix(part, "+"):
			t.kind = 'f'
			names, pats, has := strings.Cut(part, ":")
			t.names = strings.Split(names, "|")
			if has {
				t.pats = strings.Split(pats, "|")
			}
		case strings.HasPrefix(part, "arg"):
			t.kind = 'a'
			head, pats, has := strings.Cut(part[3:], ":")
			if !has {
				return nil, fmt.Errorf("condition %q lacks a pattern", part)
			}
			if before, ok := strings.CutSuffix(head, "+"); ok {
				t.plus, head = true, before
			}
			if head != "" {
				n, err := strconv.Atoi(head)
				if err != nil {
					return nil, err
				}
				t.n = n
			}
			t.pats = strings.Split(pats, "|")
		case strings.HasPrefix(part, "n"):
			t.kind = 'n'
			t.op = part[1]
			n, err := strconv.Atoi(part[2:])
			if err != nil {
				return nil, err
			}
			t.n = n
		case strings.HasPrefix(part, "env:"):
			t.kind = 'e'
			name, pat, _ := strings.Cut(part[4:], "=")
			t.names, t.pats = []string{name}, strings.Split(pat, "|")
		default:
			return nil, fmt.Errorf("unknown condition %q", part)
		}
		out = append(out, t)
	}
	return out, nil
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
func (s *spec) parse(args []value) *parsed {
	p := &parsed{specs: []*spec{s}, dash: -1}
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
	return p
}

// cluster takes -abc apart.
func (p *parsed) cluster(t string, a value, args []value, i *int) bool {
	for j := 1; j < len(t); j++ {
		name := "-" + t[j:j+1]
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
