package shell

import (
	"maps"
	"slices"
	"strings"
)

func (x *inv) eval() value {
	f := x.f
	args := x.args[1:]
	if len(args) > 0 && args[0].s == "--" {
		args = args[1:]
	}
	v := joinValues(args, " ")
	return x.evalText(v, func(c value) value { return f.here(c.text(), ViaEval, x.span) })
}

// evalText judges text that is run as code after the shell put it together.
func (x *inv) evalText(v value, run func(value) value) value {
	f, m := x.f, x.f.m
	if v.s == "" && v.t == 0 {
		return value{}
	}
	x.origin(v)
	if v.has(tPeer) {
		f.emit(Action{Kind: NetShell, Span: x.span, Command: x.cmd + 1})
	}
	if v.t&tDecoded == 0 && v.t&tNet == 0 {
		switch {
		case v.has(tSubst) && v.t&tInit == 0 && v.known():
			f.disguise(x.span, "text made by a substitution is run", x.cmd)
		case v.has(tGlued) && v.t&tSubst == 0:
			f.disguise(x.span, "text put together from pieces is run", x.cmd)
		}
	}
	if v.opaque() || strings.HasPrefix(strings.TrimSpace(v.s), unknownText) {
		if v.t&(tNet|tPeer|tDecoded|tInit) == 0 {
			m.undecided(CommandDynamic, "", true, x.cmd, x.span)
		}
		m.renamed = true // whatever it defines
		if v.opaque() {
			return unknownVal(tCmd)
		}
	}
	return run(v)
}

func (x *inv) source() value {
	f := x.f
	if len(x.args) < 2 {
		return value{}
	}
	v := x.args[1]
	if v.s == "--" && len(x.args) > 2 {
		v = x.args[2]
	}
	run := func(c value) value {
		x.origin(c)
		if c.opaque() || c.s == "" {
			if c.t&(tNet|tPeer|tDecoded|tInit) == 0 && c.t != 0 {
				f.m.undecided(ScriptUnknown, "", c.t&tCmd == 0, x.cmd, x.span)
			}
			f.m.renamed = true // whatever it defines
			return value{}
		}
		return f.here(c.text(), ViaFile, x.span)
	}
	if strings.HasPrefix(v.s, "/dev/fd/proc") {
		c := f.m.files[v.s]
		if c.t&(tNet|tPeer|tDecoded) == 0 && c.known() && c.has(tSubst) {
			f.disguise(x.span, "text made by a substitution is run", x.cmd)
		}
		return run(c)
	}
	p := f.resolve(v)
	if p.Abs == "/dev/stdin" {
		return run(f.in)
	}
	f.emit(Action{Kind: FileExec, Path: p, Span: v.span, Command: x.cmd + 1})
	f.emit(Action{Kind: FileRead, Path: p, Detail: "source", Span: v.span, Command: x.cmd + 1})
	key := "file " + p.Abs
	if c, ok := f.m.files[p.Abs]; ok && !slices.Contains(f.calls, key) {
		calls := f.calls
		f.calls = append(slices.Clip(f.calls), key)
		out := run(c)
		f.calls = calls
		return out
	}
	if f.m.fromNet(p.Abs) {
		f.emit(Action{Kind: NetRun, Path: p, Span: x.span, Command: x.cmd + 1})
	}
	f.m.renamed = true // whatever it defines
	f.m.undecided(ScriptUnknown, v.s, !venv(p.Abs), x.cmd, x.span)
	return value{}
}

// venv reports whether a sourced file is the activation of a tool that projects
// install for themselves.
func venv(abs string) bool {
	return strings.HasSuffix(abs, "/bin/activate") || strings.HasSuffix(abs, "/bin/activate.fish") || strings.HasPrefix(baseName(abs), ".env") || strings.HasPrefix(abs, "/etc/profile") || abs == "/etc/os-release"
}

func (x *inv) trap() value {
	f := x.f
	args := x.args[1:]
	for len(args) > 0 && (args[0].s == "-p" || args[0].s == "-l" || args[0].s == "--") {
		if args[0].s != "--" {
			return value{}
		}
		args = args[1:]
	}
	if len(args) < 2 || args[0].s == "-" || args[0].s == "" {
		return value{}
	}
	g := f.fork()
	x2 := *x
	x2.f = g
	return x2.evalText(args[0], func(c value) value {
		c.span = x.span
		g.run(c, ViaTrap, nil)
		return value{}
	})
}

func (x *inv) alias() value {
	f := x.f
	for _, a := range x.args[1:] {
		name, text, ok := strings.Cut(a.text(), "=")
		if !ok || name == "" {
			continue
		}
		n := map[string]string{}
		maps.Copy(n, f.aliases)
		n[name] = text
		f.rename(name, x.span, false)
		f.aliases = n
		if a.has(tDecoded) {
			if f.m.hidden == nil {
				f.m.hidden = map[string]bool{}
			}
			f.m.hidden[name] = true
		}
	}
	return value{}
}

func (x *inv) unalias() value {
	n := map[string]string{}
	maps.Copy(n, x.f.aliases)
	for _, a := range x.args[1:] {
		if a.s == "-a" {
			n = nil
			break
		}
		delete(n, a.s)
	}
	x.f.aliases = n
	return value{}
}
