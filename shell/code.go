package shell

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"
)

// calls.txt says what calls in script languages do, one a line:
//
//	LANG NAME[,NAME…] EFFECT [ARG]
//
// LANG is python, js, ruby, perl, php or * for all. NAME is dotted, after imports
// are resolved; `.name` is a method of any object. ARG is the index of the
// operand that the effect is about (default 0; `r` is the receiver, `*` every
// operand). Effects are listed in [callEffects].
//
//go:embed calls.txt
var callsText string

// callEffects are the effects that calls.txt may name.
var callEffects = map[string]bool{
	"read": true, "write": true, "open": true, "delete": true, "deltree": true, "rmopt": true, "mode": true, "owner": true,
	"move": true, "copy": true, "link": true, "sh": true, "argv": true, "spawn": true, "code": true, "fetch": true, "httpdelete": true, "post": true,
	"connect": true, "listen": true, "kill": true, "killobj": true, "readname": true, "print": true, "send": true, "shell": true, "dup": true, "fork": true, "mkdir": true, "chdir": true, "exit": true, "copyin": true, "elevate": true, "publish": true, "wipe": true, "sql": true, "dropdb": true, "infra": true, "reveal": true, "upload": true, "sdkdelete": true, "forced": true, "emptyonly": true, "readfd": true,
}

type callRule struct {
	effect string
	arg    string
}

var callTable struct {
	once  sync.Once
	rules map[string]callRule
	err   error
}

func callRules() map[string]callRule {
	callTable.once.Do(func() {
		callTable.rules = make(map[string]callRule, 512)
		for n, line := range strings.Split(callsText, "\n") {
			w := strings.Fields(line)
			if len(w) == 0 || w[0][0] == '#' {
				continue
			}
			if len(w) < 3 || !callEffects[w[2]] {
				callTable.err = fmt.Errorf("calls.txt:%d: %q", n+1, line)
				continue
			}
			r := callRule{effect: w[2], arg: "0"}
			if len(w) > 3 {
				r.arg = w[3]
			}
			for name := range strings.SplitSeq(w[1], ",") {
				callTable.rules[w[0]+" "+name] = r
			}
		}
	})
	return callTable.rules
}

// cval is a value of a script.
type cval struct {
	v     value
	name  string // the dotted name of a module, function or object kind
	list  []cval
	isLst bool
	keys  map[string]cval
	ok    bool // v holds text
	isNum bool
}

func text(s string) cval { return cval{v: lit(literalKeep(s)), ok: true} }

var noVal = cval{v: value{s: unknownText}}

func named(s string) cval { return cval{v: value{s: unknownText}, name: s} }

// key is the value as the name of a pair.
func (c cval) key() string {
	if c.ok {
		return c.v.s
	}
	return c.name
}

func (c cval) taints() taint {
	t := c.v.t
	for _, e := range c.list {
		t |= e.taints()
	}
	for _, e := range c.keys {
		t |= e.taints()
	}
	return t
}

func (c cval) sources() []int {
	s := c.v.src
	for _, e := range c.list {
		s = append(slices.Clip(s), e.sources()...)
	}
	for _, e := range c.keys {
		s = append(slices.Clip(s), e.sources()...)
	}
	return s
}

type coder struct {
	x     *inv
	lang  string
	toks  []token
	i     int
	depth int
	env   map[string]cval

	connected, listened, shelled, looped, forked bool
	stdout                                       *value // what is printed, as far as it is known
}

// codeLang gives the language that a program runs.
func codeLang(prog string) string {
	switch {
	case strings.HasPrefix(prog, "python"), strings.HasPrefix(prog, "pypy"), prog == "ipython", prog == "jython":
		return "python"
	}
	switch prog {
	case "node", "nodejs", "deno", "bun", "tsx", "ts-node", "qjs", "d8", "mongosh", "mongo", "js":
		return "js"
	case "perl", "raku":
		return "perl"
	case "ruby", "irb", "rails", "crystal":
		return "ruby"
	case "php", "artisan":
		return "php"
	case "lua", "luajit":
		return "lua"
	case "Rscript", "R", "julia", "elixir", "groovy", "scala", "erl", "iex", "swift", "ghci":
		return "other"
	}
	return ""
}

// inline judges a program text in another language.
func (x *inv) inline(prog string, code value) value {
	f, m := x.f, x.f.m
	if isShellName(prog) {
		return x.runContent(code)
	}
	x.origin(code)
	lang := codeLang(prog)
	if code.opaque() {
		if code.t&(tNet|tPeer|tDecoded) == 0 {
			m.undecided(ScriptUnknown, prog, true, x.cmd, x.span)
		}
		return unknownVal(tCmd)
	}
	if lang == "" {
		m.undecided(CodeInline, prog, true, x.cmd, x.span)
		return unknownVal(tCmd)
	}
	if len(code.s) > 1<<18 {
		m.breach("bytes", x.span)
		return unknownVal(tCmd)
	}
	if f.depth > m.lim.Depth {
		m.breach("depth", x.span)
		return unknownVal(tCmd)
	}
	c := &coder{x: x, lang: lang, env: map[string]cval{}}
	c.toks = tokenize(lang, code.text())
	m.nodes += len(c.toks)
	via := f.via
	f.via = append(slices.Clip(f.via), ViaCode)
	defer func() { f.via = via }()
	before := len(m.res.Actions)
	out := c.program()
	if text := code.s; strings.Contains(text, "env") || strings.Contains(text, "ENV") {
		x.envSearch(c.toks, text)
	}
	if lang == "other" && len(m.res.Actions) == before {
		// Only its calls into the system are known.
		m.undecided(CodeInline, prog, true, x.cmd, x.span)
	}
	if (c.connected || c.listened) && c.shelled {
		f.emit(Action{Kind: NetShell, Span: x.span, Command: x.cmd + 1})
	}
	if lang == "js" && evalsReply(c.toks) {
		f.emit(Action{Kind: NetRun, Span: x.span, Command: x.cmd + 1})
	}
	if growsForEver(c.toks) {
		f.emit(Action{Kind: Exhaust, Detail: "memory without bound", Span: x.span, Command: x.cmd + 1})
	}
	if printsForEver(c.toks) {
		out.t |= tEndless
	}
	if c.forked && c.looped {
		f.emit(Action{Kind: Exhaust, Detail: "processes without bound", Span: x.span, Command: x.cmd + 1})
	}
	return out
}

func (c *coder) peek() token {
	if c.i < len(c.toks) {
		return c.toks[c.i]
	}
	return token{}
}

func (c *coder) at(n int) token {
	if c.i+n < len(c.toks) && c.i+n >= 0 {
		return c.toks[c.i+n]
	}
	return token{}
}

func (c *coder) op(s string) bool {
	t := c.peek()
	return t.kind == tokOp && t.s == s
}

func (c *coder) accept(s string) bool {
	if c.op(s) {
		c.i++
		return true
	}
	return false
}

func (c *coder) emit(a Action) int {
	a.Span, a.Command = c.x.span, c.x.cmd+1
	return c.x.f.emit(a)
}
