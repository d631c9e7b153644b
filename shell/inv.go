package shell

import (
	"slices"
	"strings"
)

// inv is one program start.
type inv struct {
	f    *frame
	args []value // the program first
	name string
	env  []Assignment
	in   value
	span Span
	cmd  int // index in Result.Commands
	spec *spec
	p    *parsed
	dry  bool
	// reads gathers the content of the files that operands name.
	reads   []value
	quieted bool
	// noFunc is set when functions and aliases are passed over, as sudo and
	// env do.
	noFunc bool
}

// baseName is the program name without folders and the suffix of Windows.
func baseName(s string) string {
	if i := strings.LastIndexAny(s, "/"); i >= 0 {
		s = s[i+1:]
	}
	return strings.TrimSuffix(s, ".exe")
}

const maxCommands = 50_000

// dispatch runs the program that args name and gives what it would print.
func (x *inv) dispatch() value {
	f, m := x.f, x.f.m
	if !m.step(x.span) || len(x.args) == 0 {
		return value{}
	}
	if f.depth > m.lim.Depth {
		m.breach("depth", x.span)
		return value{}
	}
	if len(m.res.Commands) >= maxCommands {
		m.breach("nodes", x.span)
		return value{}
	}
	m.nodes += len(x.args) / 8
	v := x.args[0]
	if f.nested {
		x.span = f.base
	}
	x.cmd = len(m.res.Commands)
	if v.has(tDecoded) || v.has(tSubst) && v.known() && v.t&(tInit|tNet|tPeer) == 0 {
		f.disguise(x.span, "a command name made by a substitution", -1)
	}
	if v.has(tGlued) && v.has(tVar) && v.known() {
		f.disguise(x.span, "a command name put together from pieces", -1)
	}
	if v.t&tAnsi != 0 || f.disguised(x.args) {
		f.disguise(x.span, "escapes or look-alike characters", x.cmd)
	}
	x.name = baseName(v.s)
	if m.opts.CaseInsensitive {
		x.name = strings.ToLower(x.name)
	}
	m.res.Commands = append(m.res.Commands, Command{})
	c := &m.res.Commands[x.cmd]
	c.Program, c.Wrappers, c.Via, c.Env, c.Host, c.Span = x.name, f.wrappers, f.via, x.env, f.host, x.span
	c.Disguised = v.t&tAnsi != 0
	if strings.IndexByte(v.s, '/') >= 0 {
		c.Path = plain(v.s)
	}
	if len(x.args) > 1 {
		args := m.s.args.room(len(x.args) - 1)
		for i := range x.args[1:] {
			args = append(args, toArg(&x.args[1+i]))
		}
		c.Args = args
	}
	if !v.known() && !(strings.IndexByte(x.name, markUnknown) < 0 && x.name != "") {
		c.Program, c.Dynamic = "", true
		return x.dynamic()
	}
	if v.glob() {
		c.Program, c.Disguised = plain(x.name), true
		return x.globbed()
	}
	slashed := c.Path != "" // c moves when commands are added
	for _, e := range x.env {
		if guardVar(e.Name) || watchedEnv(e.Name) {
			f.emit(Action{Kind: EnvSet, Name: e.Name, Detail: e.Value.Value, Span: x.span, Command: x.cmd + 1})
		}
	}
	switch x.name {
	case "claude", "codex", "gemini", "cursor-agent", "opencode", "qwen", "copilot":
		for i := range x.env {
			if x.env[i].Name == "HOME" || x.env[i].Name == "XDG_CONFIG_HOME" {
				f.emit(Action{Kind: AgentStart, Detail: "an agent with the settings of another folder", Span: x.span, Command: x.cmd + 1})
			}
		}
	}
	x.envPrograms()
	x.envPeers()
	x.in = f.in
	if !x.noFunc && !slashed {
		if d, ok := f.funcs[x.name]; ok {
			return f.callFunction(x, d)
		}
	}
	if f.hasIn && x.in.s != "" && x.in.known() {
		x.stdinSecret()
	}
	first := len(m.res.Actions)
	out := x.run()
	if m.binds && f.host == "" {
		x.binds(first)
	}
	if m.opts.Programs != nil {
		x.gain()
	}
	if out.from == 0 {
		out.from = x.cmd + 1
	}
	return out
}

// onFlag reports whether a condition asks for an option that was given.
func onFlag(cond []term) bool {
	for i := range cond {
		if cond[i].kind == 'f' && !cond[i].neg {
			return true
		}
	}
	return false
}

// envPrograms runs what variables in front of a command name as programs.
func (x *inv) envPrograms() {
	for i := range x.env {
		e := &x.env[i]
		if !e.Value.Known || e.Value.Value == "" {
			continue
		}
		code := value{s: e.Value.Value, span: x.span}
		switch e.Name {
		case "PAGER", "EDITOR", "VISUAL", "MANPAGER", "BROWSER", "SYSTEMD_PAGER", "SUDO_EDITOR", "FCEDIT", "PROMPT_COMMAND", "RSYNC_RSH", "CVS_RSH", "SUDO_ASKPASS", "SSH_ASKPASS", "LESSOPEN", "LESSCLOSE":
			code.s = strings.TrimLeft(code.s, "|- ")
			x.f.run(code, ViaConfig, func(g *frame) { g.in, g.hasIn = value{}, false })
		case "BASH_ENV", "ENV":
			if isShellName(x.name) {
				x.execFile(code)
			}
		}
	}
}

func (x *inv) command() *Command { return &x.f.m.res.Commands[x.cmd] }

// run finds what knows the program: a script made in the text, Go code, the table.
func (x *inv) run() value {
	v := x.args[0]
	if strings.IndexByte(v.s, '/') >= 0 {
		if out, ok := x.scriptFile(v, x.args[1:]); ok {
			return out
		}
		if tool := x.linkedTool(v); tool != "" {
			y := &inv{f: x.f, args: append([]value{lit(tool)}, x.args[1:]...), span: x.span, noFunc: true}
			return y.dispatch()
		}
		if x.ownProgram(v) || strings.HasPrefix(v.s, "/etc/init.d/") {
			return x.localProgram(v)
		}
	}
	if x.name == "cargo" && len(x.args) > 1 && strings.HasPrefix(x.args[1].s, "+") {
		x.args = append([]value{x.args[0]}, x.args[2:]...)
	}
	if f := x.f; v.s == f.arg0.s && f.depth > 0 && len(f.calls) > 0 && strings.HasPrefix(f.calls[len(f.calls)-1], "file ") {
		if t := strings.Join(strings.Fields(f.text), ""); strings.Contains(t, "$0&") || strings.Contains(t, "$0|") {
			f.emit(Action{Kind: Exhaust, Detail: "a script that starts itself", Span: x.span, Command: x.cmd + 1})
		}
		return value{}
	}
	// Git Bash and WSL start the programs of Windows. Some have the names of others
	// here; the suffix tells them apart.
	if strings.HasSuffix(v.s, ".exe") && windowsProgram(x.name) {
		return x.windows()
	}
	if h := handler(x.name); h != nil {
		x.spec = x.f.m.specFor(x.name)
		if x.spec != nil {
			x.parse(x.spec)
		}
		if x.helps() {
			return value{s: unknownText}
		}
		return h(x)
	}
	if s := x.f.m.specFor(x.name); s != nil {
		x.parse(s)
		return x.runSpec()
	}
	if strings.IndexByte(v.s, '/') >= 0 && !systemBin(v.s) {
		return x.localProgram(v)
	}
	if windowsProgram(x.name) {
		return x.windows()
	}
	return x.unknownProgram()
}

// compiles notes the program that a compiler makes of the project's sources: to run
// it is as routine as to run its tests. With sources from the same text it is not.
func (x *inv) compiles() {
	switch x.name {
	case "go", "gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "swiftc", "ghc", "nim", "zig":
	default:
		return
	}
	m, o := x.f.m, x.p.flag("-o")
	if o == nil || !o.has || len(m.files) > 1 || len(m.netDirs) > 0 {
		return
	}
	p := x.f.resolve(o.val)
	if _, own := m.files[p.Abs]; len(m.files) == 1 && !own || p.Place != PlaceWorkspace || p.Unresolved || p.Glob {
		return
	}
	if m.built == nil {
		m.built = map[string]bool{}
	}
	m.built[p.Abs] = true
	delete(m.files, p.Abs)
}

func systemBin(s string) bool {
	for _, d := range []string{"/bin/", "/usr/bin/", "/sbin/", "/usr/sbin/", "/usr/local/bin/", "/opt/homebrew/bin/"} {
		if strings.HasPrefix(s, d) {
			return true
		}
	}
	return false
}

func (x *inv) parse(s *spec) {
	x.spec = s
	mem := x.f.m.s
	x.p = s.parse(mem, x.args[1:])
	c := x.command()
	c.Sub = x.p.sub
	names := c.Flags
	if names == nil {
		names = mem.words.room(len(x.p.flags))
	}
	for i := range x.p.flags {
		if n := x.p.flags[i].name; n != "" {
			names = append(names, n)
		}
	}
	c.Flags = names
}

// helps reports whether the command only prints its help.
func (x *inv) helps() bool {
	for _, a := range x.args[1:] {
		switch a.s {
		case "-help", "-h":
			if x.spec != nil && x.spec.single && len(a.s) > 1 {
				return true
			}
		case "--help", "--version":
			if x.p == nil {
				// Of builtins only those that take no command are asked.
				return len(x.args) == 2
			}
			if x.spec.posix {
				return len(x.p.pos) == 0
			}
			for i := range x.p.flags {
				if fl := &x.p.flags[i]; (fl.raw == a.s) && !fl.has {
					return true
				}
			}
			return false
		case "--":
			return false
		}
	}
	return false
}

// under gives a frame whose commands run through the wrapper name.
func (f *frame) under(name string) *frame {
	g := f.fork()
	g.wrappers = append(slices.Clip(g.wrappers), name)
	g.depth++
	return g
}

func (f *frame) disguise(at Span, detail string, cmd int) {
	if cmd >= 0 && cmd < len(f.m.res.Commands) {
		f.m.res.Commands[cmd].Disguised = true
	}
	f.emit(Action{Kind: Disguise, Detail: detail, Span: at, Command: cmd + 1})
}
