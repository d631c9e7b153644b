package shell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds on a text in the grammar of the program table.
const (
	// MaxProgramsBytes bounds the text.
	MaxProgramsBytes = 256 << 10

	maxTableLine     = 4096
	maxTableEntries  = 2000
	maxTableNesting  = 8
	maxTableItems    = 512 // lines of one entry, and names of its options
	maxTableName     = 128
	maxTableNumber   = 1000
	maxTableProblems = 100 // more help nobody
)

// tableUse says what a text may say.
type tableUse int

const (
	useEmbedded tableUse = iota // our own: all
	useTeach                    // the user's: new programs whole, known ones may gain
	useTighten                  // a project's: programs may gain
)

var wrapModes = map[string]bool{"args": true, "joined": true, "each": true, "later": true, "bounded": true, "elevate": true}

var outWords = map[string]bool{"net": true, "cmd": true, "names": true, "decoded": true, "init": true, "none": true}

var roleNames = map[string]bool{
	"none": true, "read": true, "write": true, "delete": true, "deltree": true, "wipe": true, "meta": true,
	"exec": true, "dir": true, "url": true, "upload": true, "body": true, "host": true, "sh": true, "sql": true,
	"secret": true, "mode": true, "owner": true, "name": true, "move": true, "wtree": true, "pat": true,
	"userpass": true, "bind": true, "form": true, "readtree": true, "rsc": true, "config": true, "data": true, "envfile": true, "keyfile": true, "shlist": true, "format": true, "gdb": true, "pack": true, "splitin": true, "sqlfile": true, "modepath": true, "ownpath": true, "chtree": true,
}

var tableKinds = map[Kind]bool{
	PushForce: true, PushLease: true, Push: true, RefDelete: true, HistoryRewrite: true, WorkDiscard: true, HookBypass: true,
	PkgPublish: true, DataDestroy: true, InfraDestroy: true, Deploy: true, ServiceStop: true, MachineStop: true, FirewallOpen: true,
	Persist: true, Exhaust: true, AgentStart: true, SecretReveal: true, NetUpload: true, NetListen: true, NetShell: true, NetConnect: true, NetFetch: true,
	PrivElevate: true, ProcKill: true, FileWipe: true, EnvPrint: true,
}

// gainItems are the items of an entry that adds to what is known of a program.
var gainItems = []string{"sub", "flags", "args", "act", "opaque", "style"}

// tableEntry is one prog or replace block.
type tableEntry struct {
	spec      *spec
	file      string
	line, col int
	replace   bool
	gain      bool // adds to what is known of the program, and changes nothing of it
}

// tableWord is a word with its offset in its line.
type tableWord struct {
	text string
	off  int
}

// tableParser reads a text in the grammar that table.go describes.
type tableParser struct {
	file     string
	use      tableUse
	problems []*ProgramProblem
	entries  []*tableEntry

	no    int    // current line, 1-based
	line  string // and its text
	stack []tableLevel
	refs  []flagRef // of the current entry
	items int       // of the current entry
	canon strings.Builder
}

type tableLevel struct {
	indent int
	s      *spec
}

// parseBlock reads one block of our own table.
func parseBlock(block string) *spec {
	p := &tableParser{file: "programs.txt"}
	p.parse(block)
	if len(p.problems) > 0 {
		panic("shell: " + p.problems[0].Error()) // a mistake in our own table; its test finds it
	}
	return p.entries[0].spec
}

func (p *tableParser) fail(off int, found, expected string) {
	if len(p.problems) < maxTableProblems {
		p.problems = append(p.problems, &ProgramProblem{
			File: p.file, Line: p.no, Column: utf8.RuneCountInString(p.line[:off]) + 1, Found: found, Expected: expected,
		})
	}
}

func (p *tableParser) failAt(line, col int, found, expected string) {
	if len(p.problems) < maxTableProblems {
		p.problems = append(p.problems, &ProgramProblem{File: p.file, Line: line, Column: col, Found: found, Expected: expected})
	}
}

func (p *tableParser) parse(text string) {
	switch {
	case len(text) > MaxProgramsBytes && p.use != useEmbedded:
		p.failAt(0, 0, strconv.Itoa(len(text))+" bytes", "at most "+strconv.Itoa(MaxProgramsBytes))
		return
	case !utf8.ValidString(text):
		p.failAt(0, 0, "text that is not UTF-8", "UTF-8")
		return
	}
	for line := range strings.Lines(text) {
		p.no++
		p.line = strings.TrimRight(line, " \r\n")
		p.oneLine()
	}
	p.finish()
}

func (p *tableParser) oneLine() {
	if len(p.line) > maxTableLine {
		p.fail(0, strconv.Itoa(len(p.line))+" bytes", "a line of at most "+strconv.Itoa(maxTableLine))
		return
	}
	if i := strings.IndexFunc(p.line, func(r rune) bool { return r < ' ' || r == 0x7f }); i >= 0 {
		if strings.TrimSpace(p.line) != "" {
			p.fail(i, shown(p.line[i:i+1]), "spaces and visible characters")
		}
		return
	}
	if i := strings.Index(p.line, " # "); i >= 0 {
		p.line = strings.TrimRight(p.line[:i], " ")
	}
	indent := len(p.line) - len(strings.TrimLeft(p.line, " "))
	if indent == len(p.line) || p.line[indent] == '#' {
		return
	}
	toks := p.fields(indent)
	word, args := toks[0], toks[1:]
	for len(p.stack) > 0 && p.stack[len(p.stack)-1].indent >= indent {
		p.stack = p.stack[:len(p.stack)-1]
	}
	switch word.text {
	case "prog", "replace":
		p.begin(word, args, indent)
		return
	}
	if len(p.stack) == 0 {
		p.fail(word.off, shown(word.text), "prog NAME, or an item indented below one")
		return
	}
	if p.items++; p.items > maxTableItems {
		if p.items == maxTableItems+1 {
			p.fail(word.off, "more than "+strconv.Itoa(maxTableItems)+" lines below one program", "fewer")
		}
		return
	}
	p.write(toks)
	if e := p.entries[len(p.entries)-1]; e.gain && !slices.Contains(gainItems, word.text) && knownItem(word.text) {
		p.fail(word.off, shown(word.text), "one of "+strings.Join(gainItems, ", ")+": this entry adds to what is known of "+e.spec.names[0])
		return
	}
	if word.text == "sub" {
		p.sub(word, args, indent)
		return
	}
	p.item(p.stack[len(p.stack)-1].s, word, args)
}

// write keeps the line in the one layout of [Programs.Text].
func (p *tableParser) write(toks []tableWord) {
	for range p.stack {
		p.canon.WriteString("  ")
	}
	for i, t := range toks {
		if i > 0 {
			p.canon.WriteByte(' ')
		}
		p.canon.WriteString(t.text)
	}
	p.canon.WriteByte('\n')
}

// fields splits the line from off on.
func (p *tableParser) fields(off int) []tableWord {
	var out []tableWord
	for off < len(p.line) {
		if p.line[off] == ' ' {
			off++
			continue
		}
		end := strings.IndexByte(p.line[off:], ' ')
		if end < 0 {
			end = len(p.line) - off
		}
		out = append(out, tableWord{p.line[off : off+end], off})
		off += end
	}
	return out
}

// begin starts an entry.
func (p *tableParser) begin(word tableWord, args []tableWord, indent int) {
	p.finish()
	p.stack, p.items = p.stack[:0], 0
	e := &tableEntry{file: p.file, line: p.no, col: word.off + 1, replace: word.text == "replace", spec: &spec{}}
	for _, t := range args {
		e.spec.names = append(e.spec.names, t.text)
	}
	if indent > 0 {
		p.fail(word.off, "an indented "+word.text, word.text+" at the start of the line")
	}
	p.names(word, args)
	if len(args) == 0 {
		e.spec.names = []string{"…"} // for what is said of its items
	}
	if p.use != useEmbedded {
		p.entryMode(e, word, args)
	}
	if len(p.entries) == maxTableEntries && p.use != useEmbedded {
		p.fail(word.off, "more than "+strconv.Itoa(maxTableEntries)+" programs", "fewer")
	}
	if len(p.entries) < maxTableEntries {
		p.entries = append(p.entries, e)
	}
	p.write(append([]tableWord{word}, args...))
	p.stack = append(p.stack, tableLevel{indent, e.spec})
}

// names checks the names of programs or subcommands.
func (p *tableParser) names(word tableWord, args []tableWord) {
	if len(args) == 0 {
		p.fail(word.off, word.text+" without a name", word.text+" NAME…")
	}
	for _, t := range args {
		switch {
		case len(t.text) > maxTableName:
			p.fail(t.off, "a name of "+strconv.Itoa(len(t.text))+" bytes", "at most "+strconv.Itoa(maxTableName))
		case word.text == "sub" && strings.HasPrefix(t.text, "-"):
			p.fail(t.off, shown(t.text), "the name of a subcommand; options belong to flags")
		case word.text != "sub" && p.use != useEmbedded && (strings.ContainsAny(t.text, `/\`) || strings.HasPrefix(t.text, "-") || strings.HasSuffix(t.text, ".exe")):
			p.fail(t.off, shown(t.text), "the bare name of a program, without folders and .exe")
		}
	}
}

// entryMode decides whether an entry is new, adds to a known program, or
// replaces one.
func (p *tableParser) entryMode(e *tableEntry, word tableWord, args []tableWord) {
	if p.use == useTighten {
		e.gain = true
		if e.replace {
			p.fail(word.off, `"replace"`, "prog: a project may only add to what is known of a program")
		}
		return
	}
	for i, t := range args {
		coded, known := handler(t.text) != nil, inTable(t.text)
		switch {
		case e.replace && coded:
			p.fail(t.off, shown(t.text)+", which is judged by code", "prog, which adds to what is known of it")
		case e.replace && !known:
			p.fail(t.off, shown(t.text)+", which nobody knows", "prog, which teaches a new program")
		case e.replace:
		case i == 0:
			e.gain = coded || known
		case e.gain != (coded || known):
			p.fail(t.off, shown(t.text)+" beside "+args[0].text, "names that are all known already or all new")
		}
	}
}

func (p *tableParser) sub(word tableWord, args []tableWord, indent int) {
	p.names(word, args)
	if len(p.stack) > maxTableNesting {
		p.fail(word.off, "subcommands nested deeper than "+strconv.Itoa(maxTableNesting), "fewer levels")
		return
	}
	up := p.stack[len(p.stack)-1].s
	s := &spec{}
	if up.subs == nil {
		up.subs = map[string]*spec{}
	}
	for _, t := range args {
		s.names = append(s.names, t.text)
		if up.subs[t.text] != nil {
			p.fail(t.off, shown(t.text)+" again", "each subcommand once")
		}
		up.subs[t.text] = s
	}
	p.stack = append(p.stack, tableLevel{indent, s})
}

var tableItems = []string{"prog", "sub", "flags", "args", "act", "dry", "style", "out", "pass", "quiet", "wrap", "dynamic", "opaque", "routine"}

func knownItem(word string) bool { return slices.Contains(tableItems, word) }

// item reads what one line says of s.
func (p *tableParser) item(s *spec, word tableWord, args []tableWord) {
	body, cond := args, []term(nil)
	for i, t := range args {
		if t.text == "if" && word.text != "flags" {
			body, cond = args[:i], p.cond(t, args[i+1:])
			switch word.text {
			case "args", "act", "opaque", "routine", "quiet":
			default:
				p.fail(t.off, "a condition", "none: "+word.text+" always holds")
			}
			break
		}
	}
	switch word.text {
	case "flags":
		for _, t := range body {
			p.flag(s, t)
		}
	case "args":
		p.args(s, word, body, cond)
	case "act":
		p.act(s, word, body, cond)
	case "opaque":
		s.opaque = append(s.opaque, actRule{detail: p.text(body), cond: cond})
	case "routine":
		s.routine = append(s.routine, actRule{detail: p.text(body), cond: cond})
	case "dry":
		for _, t := range body {
			s.dry = append(s.dry, t.text)
		}
	case "style":
		p.style(s, body)
	case "out":
		if len(body) != 1 || !outWords[body[0].text] {
			p.fail(word.off, shown(p.text(append([]tableWord{word}, body...))), "out and one of net, cmd, names, decoded, init, none")
			return
		}
		s.out = body[0].text
	case "wrap":
		p.wrap(s, word, body)
	case "pass", "quiet", "dynamic":
		if len(body) > 0 {
			p.fail(body[0].off, shown(body[0].text), "nothing behind "+word.text)
		}
		switch word.text {
		case "pass":
			s.pass = true
		case "quiet":
			s.quiet = append(s.quiet, argRule{cond: cond})
		default:
			s.dynamic = true
		}
	default:
		p.fail(word.off, shown(word.text), "one of "+strings.Join(tableItems, ", "))
	}
}

// text gives words as the line has them, joined by single spaces.
func (p *tableParser) text(toks []tableWord) string {
	words := make([]string, len(toks))
	for i, t := range toks {
		words[i] = t.text
	}
	return strings.Join(words, " ")
}

// gains reports whether the current entry only adds.
func (p *tableParser) gains() bool { return len(p.entries) > 0 && p.entries[len(p.entries)-1].gain }

func (p *tableParser) role(t tableWord, role string) {
	switch {
	case !roleNames[role]:
		p.fail(t.off, "the role "+shown(role), "one of "+roleList(roleNames))
	case p.gains() && !gainRoles[role]:
		p.fail(t.off, "the role "+shown(role), "one of "+roleList(gainRoles)+": this entry adds to what is known of the program")
	}
}

func roleList(m map[string]bool) string {
	var all []string
	for r := range m {
		all = append(all, r)
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func (p *tableParser) args(s *spec, word tableWord, body []tableWord, cond []term) {
	if len(body) == 0 {
		p.fail(word.off, "args without a role", "args ROLE…")
		return
	}
	r := argRule{cond: cond}
	star := false
	for _, t := range body {
		role, many := strings.CutSuffix(t.text, "*")
		p.role(t, role)
		if many && star {
			p.fail(t.off, "a second role that repeats", "at most one *")
		}
		star = star || many
		r.roles = append(r.roles, t.text)
	}
	s.args = append(s.args, r)
}

func (p *tableParser) act(s *spec, word tableWord, body []tableWord, cond []term) {
	if len(body) == 0 {
		p.fail(word.off, "act without a kind", "act KIND")
		return
	}
	kind, at, has := strings.Cut(body[0].text, "@")
	a := actRule{kind: Kind(kind), detail: p.text(body[1:]), cond: cond}
	if has {
		a.at = p.number(body[0], at, 1)
	}
	if !tableKinds[a.kind] {
		all := make([]string, 0, len(tableKinds))
		for k := range tableKinds {
			all = append(all, string(k))
		}
		slices.Sort(all)
		p.fail(body[0].off, "the kind "+shown(kind), "one of "+strings.Join(all, ", "))
	}
	s.acts = append(s.acts, a)
}

func (p *tableParser) number(t tableWord, text string, least int) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < least || n > maxTableNumber {
		p.fail(t.off, shown(text), fmt.Sprintf("a number from %d to %d", least, maxTableNumber))
		return least
	}
	return n
}

func (p *tableParser) style(s *spec, body []tableWord) {
	for _, t := range body {
		switch t.text {
		case "posix":
			s.posix = true
		case "single":
			s.single = true
		case "kv":
			s.kv = true
		case "nocase":
			s.nocase = true
		default:
			p.fail(t.off, "the style "+shown(t.text), "one of posix, single, kv, nocase")
		}
	}
}

func (p *tableParser) wrap(s *spec, word tableWord, body []tableWord) {
	if len(body) == 0 || len(body) > 2 || !wrapModes[body[0].text] {
		p.fail(word.off, shown(p.text(append([]tableWord{word}, body...))), "wrap, one of args, joined, each, later, bounded, elevate, and a number or nothing")
		return
	}
	s.wrap = body[0].text
	if len(body) > 1 {
		s.skip = p.number(body[1], body[1].text, 0)
	}
}

func (p *tableParser) flag(s *spec, t tableWord) {
	names, role, takes := strings.Cut(t.text, "=")
	fs := &flagSpec{takes: takes, role: role}
	if rest, ok := strings.CutPrefix(role, "?"); ok {
		fs.takes, fs.maybe, fs.role = false, true, rest
	}
	if fs.role != "" {
		p.role(t, fs.role)
	}
	if s.flags == nil {
		s.flags = map[string]*flagSpec{}
	}
	for i, n := range strings.Split(names, ",") {
		if len(n) < 2 || n[0] != '-' {
			p.fail(t.off, "the option "+shown(n), "a name that begins with a dash, such as -x or --long")
		}
		if i == 0 {
			fs.name = n
		}
		if len(s.flags) >= maxTableItems {
			p.fail(t.off, "more than "+strconv.Itoa(maxTableItems)+" names of options", "fewer")
			return
		}
		s.flags[n] = fs
		if strings.HasPrefix(n, "--") {
			s.long = append(s.long, n)
		}
	}
}
