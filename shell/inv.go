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
	x.envPrograms()
	x.envPeers()
	x.in = f.in
	if !x.noFunc && !slashed {
		if d, ok := f.funcs[x.name]; ok {
			return f.callFunction(x, d)
		}
	}
	out := x.run()
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

// dynamic handles a program name that is not known.
func (x *inv) dynamic() value {
	f := x.f
	v := x.args[0]
	f.m.undecided(CommandDynamic, v.s, v.t&(tNet|tPeer|tDecoded) == 0, x.cmd, x.span)
	// An unknown word in front of a known command is most often a prefix that
	// may be empty, such as $SUDO.
	if len(x.args) > 1 && x.args[1].known() && f.m.commandLike(x.args[1].s) {
		y := &inv{f: f.under("…"), args: x.args[1:], span: x.span}
		y.f.weak = true
		return y.dispatch()
	}
	out := unknownVal(tCmd)
	if v.t&(tNet|tPeer) != 0 && v.t&tInit == 0 {
		f.emit(Action{Kind: NetRun, Span: x.span, Command: x.cmd + 1})
		if v.has(tPeer) {
			f.emit(Action{Kind: NetShell, Span: x.span, Command: x.cmd + 1})
		}
		out.t |= tShell
	}
	if v.has(tDecoded) {
		f.disguise(x.span, "decoded text is run", x.cmd)
	}
	return out
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

// globbed handles a program name that is a pattern: whatever it may match is run.
func (x *inv) globbed() value {
	f := x.f
	f.disguise(x.span, "a command name spelled as a pattern", x.cmd)
	out := unknownVal(tCmd)
	for _, n := range globTargets {
		if matchMarks(x.name, n) {
			y := &inv{f: f, args: append([]value{lit(n)}, x.args[1:]...), span: x.span, noFunc: true}
			out = y.dispatch()
		}
	}
	return out
}

// globTargets are the programs worth spelling as a pattern.
var globTargets = []string{
	"rm", "cat", "sh", "bash", "dd", "mv", "cp", "nc", "curl", "wget", "git", "sudo", "chmod", "chown", "kill", "shred", "head", "tail", "find", "python3", "perl", "env", "tee", "base64", "killall", "pkill", "tar", "scp", "ssh", "reboot", "shutdown", "mkfs", "printenv",
}

// commandLike reports whether name is a program that the table or code knows.
func (m *machine) commandLike(name string) bool {
	n := baseName(name)
	return n != "" && (handler(n) != nil || m.knows(n))
}

// unknownProgram looks for a known command among the arguments of a program
// that nobody knows: it may be a wrapper.
func (x *inv) unknownProgram() value {
	f := x.f
	for i := 1; i < len(x.args) && i < 12; i++ {
		a := x.args[i]
		if !a.known() || a.glob() || a.has(tQuoted) && strings.ContainsRune(a.s, ' ') {
			continue
		}
		if x.name == "man" || x.name == "which" {
			break
		}
		if dangerousWord(a.s) && i+1 < len(x.args) && !strings.HasPrefix(x.args[i-1].s, "-") {
			g := f.under(x.name)
			g.weak = true
			y := &inv{f: g, args: x.args[i:], span: x.span, noFunc: true}
			return y.dispatch()
		}
	}
	for _, a := range x.args[1:] {
		if a.has(tSubst) && a.has(tNet) {
			break
		}
	}
	if x.in.t&dataTaints != 0 || x.in.s != "" {
		return value{s: unknownText, t: x.in.t | tCmd, src: x.in.src}
	}
	if x.printsShellCode() {
		return unknownVal(tCmd | tInit)
	}
	return unknownVal(tCmd)
}

// printsShellCode reports whether a program is asked, by the usual words, for
// code that sets up the shell.
func (x *inv) printsShellCode() bool {
	for i, a := range x.args[1:] {
		if i > 3 {
			break
		}
		switch a.s {
		case "init", "hook", "env", "shellenv", "activate", "docker-env", "completion", "completions", "export", "shell-init", "shellinit", "--alias", "alias", "shell.bash", "--eval", "shell", "podman-env", "-shell", "shell-integration", "sh-env", "bash", "zsh":
			return true
		}
	}
	switch x.name {
	case "dircolors", "lesspipe", "keychain", "ssh-agent", "gpg-agent", "resize", "thefuck", "lesspipe.sh", "tset":
		return true
	}
	return false
}

// dangerousWord says which words, among the arguments of an unknown program, are
// taken for a command that it starts.
func dangerousWord(s string) bool {
	switch baseName(s) {
	case "rm", "git", "dd", "sudo", "chmod", "chown", "mkfs", "shred", "curl", "wget", "bash", "sh", "zsh", "dash", "kubectl", "terraform",
		"npm", "docker", "psql", "mysql", "redis-cli", "kill", "pkill", "killall", "find", "mv", "cp", "cat", "python", "python3", "node", "perl", "ruby", "ssh", "scp", "rsync", "env", "xargs", "tee", "truncate", "aws", "gcloud", "helm", "shutdown", "reboot", "systemctl", "printenv", "nc":
		return true
	}
	return false
}

// localProgram is a program of the project, given by path.
func (x *inv) localProgram(v value) value {
	f := x.f
	p := f.resolve(v)
	f.emit(Action{Kind: FileExec, Path: p, Span: v.span, Command: x.cmd + 1})
	if svc, ok := strings.CutPrefix(p.Abs, "/etc/init.d/"); ok {
		for _, a := range x.args[1:] {
			if a.s == "stop" || a.s == "force-stop" {
				f.emit(Action{Kind: ServiceStop, Name: svc, Span: x.span, Command: x.cmd + 1})
			}
		}
		return unknownVal(tCmd)
	}
	if isRoutineBin(p.Abs) {
		if h := baseName(p.Abs); handler(h) != nil || f.m.knows(h) {
			y := &inv{f: f, args: append([]value{lit(h)}, x.args[1:]...), span: x.span, noFunc: true}
			return y.dispatch()
		}
		f.m.undecided(TargetOpaque, baseName(v.s), false, x.cmd, x.span)
		return unknownVal(tCmd)
	}
	fetched := f.m.fromNet(p.Abs)
	f.m.undecided(ScriptUnknown, baseName(v.s), !fetched && !f.m.built[p.Abs], x.cmd, x.span)
	if fetched {
		f.emit(Action{Kind: NetRun, Path: p, Span: x.span, Command: x.cmd + 1})
	}
	return unknownVal(tCmd)
}

// isRoutineBin: tools that a project installs for itself.
func isRoutineBin(abs string) bool {
	for _, part := range []string{"/node_modules/.bin/", "/venv/bin/", "/.venv/bin/", "/vendor/bin/", "/env/bin/"} {
		if strings.Contains(abs, part) {
			return true
		}
	}
	switch baseName(abs) {
	case "gradlew", "mvnw", "configure":
		return true
	}
	return false
}

// scriptFile runs a script that the same text wrote or fetched.
func (x *inv) scriptFile(v value, args []value) (value, bool) {
	f, m := x.f, x.f.m
	p := f.resolve(v)
	content, ok := m.files[p.Abs]
	if !ok || p.Unresolved || p.Glob {
		return value{}, false
	}
	f.emit(Action{Kind: FileExec, Path: p, Span: v.span, Command: x.cmd + 1})
	key := "file " + p.Abs
	if slices.Contains(f.calls, key) {
		if slices.Contains(f.via, ViaFile) {
			f.emit(Action{Kind: Exhaust, Detail: "a script that starts itself", Span: x.span, Command: x.cmd + 1})
		}
		return value{}, true
	}
	if content.t&(tNet|tPeer) != 0 {
		f.emit(Action{Kind: NetRun, Path: p, Span: x.span, Command: x.cmd + 1})
	}
	if content.has(tDecoded) {
		f.disguise(x.span, "decoded text is run", x.cmd)
	}
	if !content.known() {
		if content.t&(tNet|tPeer|tDecoded) == 0 {
			m.undecided(ScriptUnknown, p.Raw, true, x.cmd, x.span)
		}
		if content.opaque() {
			return unknownVal(tCmd), true
		}
	}
	content.span = x.span
	lang := shebang(content.s)
	if lang != "" && !isShellName(lang) {
		return x.inline(lang, content), true
	}
	return f.run(content, ViaFile, func(g *frame) {
		g.params, g.arg0 = args, v
		if g.params == nil {
			g.params = []value{}
		}
		g.calls = append(slices.Clip(g.calls), key)
		g.funcs, g.aliases = nil, nil
	}), true
}

// shebang names the interpreter of a script, or "".
func shebang(s string) string {
	if !strings.HasPrefix(s, "#!") {
		return ""
	}
	line, _, _ := strings.Cut(s[2:], "\n")
	w := strings.Fields(line)
	if len(w) == 0 {
		return ""
	}
	name := baseName(w[0])
	if name == "env" {
		for _, a := range w[1:] {
			if !strings.HasPrefix(a, "-") && !strings.Contains(a, "=") {
				return baseName(a)
			}
		}
	}
	return name
}

func isShellName(s string) bool {
	switch s {
	case "sh", "bash", "zsh", "dash", "ksh", "ash", "mksh", "rbash", "fish", "csh", "tcsh", "busybox-sh", "lksh", "yash", "rsh-shell", "pwsh", "powershell":
		return true
	}
	return false
}

// runSpec runs a program by what the table says alone.
func (x *inv) runSpec() value {
	f, m, p := x.f, x.f.m, x.p
	if x.helps() {
		return unknownVal(0)
	}
	for _, s := range p.specs {
		for _, d := range s.dry {
			for i := range p.flags {
				fl := &p.flags[i]
				name, pat, has := strings.Cut(d, ":")
				if fl.name == name && fl.val.s != "false" && fl.val.s != "none" && (!has || matchAny(strings.Split(pat, "|"), fl.val.s)) {
					x.dry = true
				}
			}
		}
	}
	if p.unknown && len(p.pos) > 0 {
		m.undecided(OptionUnknown, p.pos[0].s, true, x.cmd, x.span)
	}
	leaf := p.leaf()
	dynamic := false
	for _, s := range p.specs {
		dynamic = dynamic || s.dynamic
	}
	if dynamic {
		for _, a := range x.args[1:] {
			if a.opaque() && a.t&tQuoted == 0 && optionVar(a) {
				m.undecided(OptionUnknown, a.s, true, x.cmd, a.span)
			}
		}
	}
	quiet := false
	for _, s := range p.specs {
		for _, q := range s.quiet {
			if x.holds(q.cond) {
				quiet = true
			}
		}
	}
	first := len(m.res.Actions)
	for i := range p.flags {
		fl := &p.flags[i]
		if fl.role != "" && fl.has && fl.name != "" {
			x.role(fl.role, fl.val)
		}
	}
	x.operands()
	for _, s := range p.specs {
		for i := range s.acts {
			a := &s.acts[i]
			if s != leaf && !onFlag(a.cond) {
				// What a program does by itself is not what its subcommands do.
				continue
			}
			if !x.holds(a.cond) {
				continue
			}
			act := Action{Kind: a.kind, Detail: a.detail, Dry: x.dry, Span: x.span, Command: x.cmd + 1}
			if a.at > 0 && a.at <= len(p.pos) {
				act.Name = plain(p.pos[a.at-1].s)
			}
			f.emit(act)
		}
		for i := range s.opaque {
			if !x.dry && (s == leaf || onFlag(s.opaque[i].cond)) && x.holds(s.opaque[i].cond) {
				m.undecided(TargetOpaque, x.name+" "+s.opaque[i].detail, true, x.cmd, x.span)
			}
		}
		for i := range s.routine {
			if x.holds(s.routine[i].cond) {
				m.undecided(TargetOpaque, x.name+" "+s.routine[i].detail, s.routine[i].detail == "migrations" && !x.dry && x.namesProduction(), x.cmd, x.span)
			}
		}
	}
	if leaf.wrap != "" && (leaf.out == "" || len(p.pos) > 0) {
		return x.wrapped(leaf)
	}
	if x.name == "script" && !p.given("-c") && len(p.pos) > 1 {
		// BSD's form: the log, then the command with its own options.
		for i, arg := range x.args {
			if i > 0 && arg.s == p.pos[0].s && i+1 < len(x.args) {
				y := &inv{f: f.under(x.name), args: x.args[i+1:], span: x.span, noFunc: true}
				return y.dispatch()
			}
		}
	}
	if x.name == "runuser" && p.given("-u") && len(p.pos) > 0 {
		y := &inv{f: f.under(x.name), args: p.pos, span: x.span, noFunc: true}
		return y.dispatch()
	}
	x.compiles()
	out := value{s: unknownText, t: tCmd}
	switch {
	case x.name == "date" || x.name == "uuidgen" || x.name == "seq":
		out.t = 0 // says nothing of this machine
	case x.printsShellCode():
		out.t |= tInit
	}
	kind := ""
	for _, s := range p.specs {
		if s.out != "" {
			kind = s.out
		}
	}
	for i := first; i < len(m.res.Actions); i++ {
		a := &m.res.Actions[i]
		switch a.Kind {
		case FileRead, SecretReveal, EnvPrint:
			if quiet {
				a.Quiet = true
			}
			out.src = append(out.src, i)
			if a.Kind == FileRead {
				out.t |= tFile
				if m.fromNet(a.Path.Abs) {
					out.t |= tNet
				}
				if c, ok := m.files[a.Path.Abs]; ok {
					out.t |= c.t & (tNet | tPeer | tDecoded)
				}
			}
		}
	}
	if leaf.pass || p.specs[0].pass {
		if x.usesStdin() {
			out.t |= x.in.t
			out.src = append(out.src, x.in.src...)
			out.vars = x.in.vars
		}
	}
	if quiet {
		x.quieted = true
		m.quiet(x.in)
		out.src = nil
	}
	if x.name == "ls" && len(p.pos) == 0 {
		out.s = string([]byte{markStar})
	}
	if x.name == "ls" && len(p.pos) > 0 {
		// Names of what the operands match, when they are patterns or -d is given.
		names := joinMarked(p.pos)
		if hasGlob(names) || p.given("-d") {
			out.s = names
		}
	}
	switch kind {
	case "net":
		out.t |= tNet
	case "names":
		for i := first; i < len(m.res.Actions); i++ {
			if m.res.Actions[i].Kind == FileRead {
				m.res.Actions[i].Quiet = true
			}
		}
		x.quieted = true
		m.quiet(x.in)
		out.t |= tNames
		out.src = nil
	case "decoded":
		out.t |= tDecoded
	case "init":
		out.t |= tInit
	case "none":
		out = value{}
	}
	return out
}

// usesStdin reports whether the program reads its input: no file was given.
func (x *inv) usesStdin() bool {
	if !x.f.hasIn {
		return false
	}
	reads := 0
	for i := len(x.f.m.res.Actions) - 1; i >= 0; i-- {
		a := &x.f.m.res.Actions[i]
		if a.Command != x.cmd {
			break
		}
		if a.Kind == FileRead {
			reads++
		}
	}
	return reads == 0
}

// optionVar reports whether an unknown word stands where an option may: it is
// not quoted and named for options, or it may be several words.
func optionVar(a value) bool {
	if a.has(tMany) {
		for _, n := range a.vars {
			u := strings.ToUpper(n)
			for _, part := range []string{"OPT", "ARG", "FLAG", "PARAM", "FORCE", "EXTRA"} {
				if strings.Contains(u, part) {
					return true
				}
			}
			if n == "@" || n == "*" {
				return true
			}
		}
	}
	return false
}

// operands gives each operand its role.
func (x *inv) operands() {
	leaf := x.p.leaf()
	rules := leaf.args
	if rules == nil && len(x.p.specs) == 1 {
		return
	}
	for i := range rules {
		if !x.holds(rules[i].cond) {
			continue
		}
		x.applyRoles(rules[i].roles, x.p.pos)
		return
	}
}

func (x *inv) applyRoles(roles []string, pos []value) { eachRole(roles, pos, x.role) }

// eachRole calls do for each operand that has a role.
func eachRole(roles []string, pos []value, do func(string, value)) {
	star := -1
	for i, r := range roles {
		if strings.HasSuffix(r, "*") {
			star = i
		}
	}
	for i, v := range pos {
		role := ""
		switch {
		case star < 0:
			if i < len(roles) {
				role = roles[i]
			}
		case i < star:
			role = roles[i]
		case len(pos)-i <= len(roles)-1-star:
			role = roles[len(roles)-(len(pos)-i)]
		default:
			role = strings.TrimSuffix(roles[star], "*")
		}
		if role != "" && role != "none" {
			do(role, v)
		}
	}
}

// joinMarked joins words without losing which globs are active.
func joinMarked(vs []value) string {
	var b strings.Builder
	for i, v := range vs {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(v.s)
	}
	return b.String()
}
