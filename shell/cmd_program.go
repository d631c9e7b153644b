package shell

import (
	"slices"
	"strings"
)

// program starts a program from PowerShell or cmd. all holds its name and its
// arguments.
func (f *frame) program(all []value, env []Assignment, at Span) value {
	m := f.m
	if f.depth > m.lim.Depth {
		m.breach("depth", at)
		return value{}
	}
	name := all[0]
	if name.s == "" {
		return value{}
	}
	base := winBase(name.s)
	x := &inv{f: f, args: all, env: env, span: at, name: base}
	if !name.known() && strings.IndexByte(base, markUnknown) >= 0 {
		return x.dispatch()
	}
	switch base {
	case "powershell", "pwsh", "powershell_ise", "cmd", "command":
		return x.windowsShell()
	}
	if windowsProgram(base) {
		return x.windows()
	}
	all = append([]value(nil), all...)
	g := f
	switch base {
	case "bash", "sh", "wsl", "zsh", "dash":
		// What it runs is text of another shell.
		g = f.fork()
		g.dialect = Bash
		if base == "wsl" {
			all = wslArgs(all)
			if all == nil {
				return value{}
			}
			if b := winBase(all[0].s); b != "bash" && b != "sh" && len(all) > 1 {
				g = g.under("wsl")
			}
			base = winBase(all[0].s)
		}
		all[0] = all[0].with(base)
	default:
		s := strings.ReplaceAll(name.s, `\`, "/")
		known := m.commandLike(base)
		switch low := strings.ToLower(s); {
		case strings.HasSuffix(low, ".bat") || strings.HasSuffix(low, ".cmd"):
			if known && !strings.Contains(s, "/") {
				s = base
			} else if x := (&inv{f: f, args: all, span: at, name: base}); x.batchFile(name) {
				return unknownVal(tCmd)
			}
		case known && (strings.Contains(low, "/program files") || strings.Contains(low, "/windows/") || strings.Contains(low, "/scoop/") || !strings.Contains(low, "/")):
			s = base
		case !strings.Contains(s, "/") && (strings.HasSuffix(low, ".exe") || strings.HasSuffix(low, ".msi")):
			// A program in the current folder, if the text put one there.
			if p := f.resolve(name); m.files[p.Abs].t != 0 {
				s = "./" + s
			}
		}
		all[0] = name.with(s)
	}
	y := &inv{f: g, args: all, env: env, span: at, noFunc: true}
	return y.dispatch()
}

// wslArgs gives the command that wsl runs.
func wslArgs(all []value) []value {
	for i := 1; i < len(all); i++ {
		switch s := strings.ToLower(all[i].s); s {
		case "-d", "--distribution", "-u", "--user", "--cd":
			i++
		case "-e", "--exec", "--":
			if i+1 < len(all) {
				return append([]value(nil), all[i+1:]...)
			}
			return nil
		case "--unregister":
			return append([]value{all[i].with("wsl")}, all[i:]...)
		default:
			if strings.HasPrefix(s, "-") || s == "~" {
				continue
			}
			// The line is run by the shell of the other system.
			var words []string
			for _, a := range all[i:] {
				words = append(words, a.s)
			}
			line := all[i].with(strings.Join(words, " "))
			return []value{lit("bash"), lit("-c"), line}
		}
	}
	return nil
}

// batchFile runs a batch file that the text wrote, or says that it is not known.
func (x *inv) batchFile(v value) bool {
	f, m := x.f, x.f.m
	p := f.resolve(v)
	content, ok := m.files[p.Abs]
	if !ok {
		return false
	}
	x.record()
	f.emit(Action{Kind: FileExec, Path: p, Span: x.span, Command: x.cmd + 1})
	x.origin(content)
	if content.opaque() {
		return true
	}
	key := "file " + p.Abs
	if slices.Contains(f.calls, key) {
		f.emit(Action{Kind: Exhaust, Detail: "a script that starts itself", Span: x.span, Command: x.cmd + 1})
		return true
	}
	g := f.fork()
	g.calls = append(slices.Clip(g.calls), key)
	content.span = x.span
	g.runCmd(content, ViaFile)
	return true
}

// record adds the command to the result.
func (x *inv) record() {
	m := x.f.m
	x.cmd = len(m.res.Commands)
	c := Command{Program: x.name, Wrappers: x.f.wrappers, Via: x.f.via, Env: x.env, Host: x.f.host, Span: x.span}
	for _, a := range x.args[1:] {
		c.Args = append(c.Args, toArg(&a))
	}
	m.res.Commands = append(m.res.Commands, c)
	if len(m.res.Commands) > maxCommands {
		m.breach("nodes", x.span)
	}
	x.p, x.spec = &parsed{}, &spec{}
	x.in = x.f.in
}

// cmdLine runs a whole command line as CreateProcess would: a program and its
// arguments, without a shell.
func (f *frame) cmdLine(line value, at Span) {
	if line.s == "" {
		return
	}
	if line.span == (Span{}) {
		line.span = at
	}
	if !f.m.step(at) {
		return
	}
	var all []value
	for _, w := range winSplit(line.s) {
		all = append(all, line.with(w))
	}
	if len(all) == 0 {
		return
	}
	g := f.fork()
	g.depth++
	if !g.nested {
		g.nested, g.base = true, at
	}
	g.program(all, nil, at)
}

// winSplit splits a command line by the rules that Windows programs share.
func winSplit(s string) []string {
	var out []string
	var b strings.Builder
	in, has := false, false
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\' && i+1 < len(s) && s[i+1] == '"':
			b.WriteByte('"')
			has = true
			i++
		case c == '"':
			in = !in
			has = true
		case (c == ' ' || c == '\t') && !in:
			if has {
				out = append(out, b.String())
				b.Reset()
				has = false
			}
		default:
			b.WriteByte(c)
			has = true
		}
	}
	if has {
		out = append(out, b.String())
	}
	return out
}

// windowsShell is powershell, pwsh and cmd, started from any shell.
func (x *inv) windowsShell() value {
	if x.p == nil {
		// Started by cmd or PowerShell: nobody has recorded it yet.
		if x.cmd == 0 || x.cmd >= len(x.f.m.res.Commands) || x.f.m.res.Commands[x.cmd].Program != x.name {
			x.record()
		}
	}
	if x.name == "cmd" || x.name == "command" {
		return x.cmdShell()
	}
	return x.powershellShell()
}

// cmdShell is cmd /c.
func (x *inv) cmdShell() value {
	args := x.args[1:]
	for i, a := range args {
		s := strings.ToLower(a.s)
		s = strings.TrimPrefix(s, "/") // Git Bash wants two slashes
		if !strings.HasPrefix(s, "/") {
			s = "/" + s
		}
		if !strings.HasPrefix(a.s, "/") {
			break
		}
		if s[1] == 'c' || s[1] == 'k' || s[1] == 'r' {
			rest := a.s[strings.IndexAny(strings.ToLower(a.s), "ckr")+1:]
			line := value{s: rest, span: a.span}
			// Two quotes in a word of its own keep it whole; other words are put
			// together as they were.
			for _, w := range args[i+1:] {
				if line.s != "" {
					line.s += " "
				}
				t := w
				if len(args[i+1:]) > 1 && strings.ContainsAny(w.s, " \t") {
					t.s = `"` + t.s + `"`
				}
				sp := line.span
				line.add(t)
				if sp != (Span{}) {
					line.span = sp
				} else {
					line.span = w.span
				}
			}
			line.t &^= tQuoted
			x.origin(line)
			g := x.f.fork()
			return g.runCmd(line, ViaScript)
		}
	}
	if x.f.hasIn && x.f.in.s != "" {
		g := x.f.fork()
		v := x.f.in
		x.origin(v)
		if v.opaque() {
			x.f.m.undecided(ScriptUnknown, "", v.t&(tNet|tPeer|tDecoded) == 0, x.cmd, x.span)
			return unknownVal(tCmd | tShell)
		}
		return g.runCmd(v, ViaStdin)
	}
	return unknownVal(tCmd | tShell)
}

// powershellShell is powershell with its options.
func (x *inv) powershellShell() value {
	f, m := x.f, x.f.m
	args := x.args[1:]
	run := func(v value, via Via) value {
		g := f.fork()
		r := newPS(g)
		for _, e := range x.env {
			r.vars["env:"+strings.ToLower(e.Name)] = psText(literal(e.Value.Value))
		}
		if v.span == (Span{}) {
			v.span = x.span
		}
		out := r.nest(v, via, true)
		r.f = g
		r.show(out)
		return out.one()
	}
	join := func(vs []value) value {
		out := value{}
		for i, v := range vs {
			if i > 0 {
				out.s += " "
			}
			sp := out.span
			out.add(v)
			if i == 0 {
				out.span = v.span
			} else {
				out.span = sp
			}
		}
		return out
	}
	for i := 0; i < len(args); i++ {
		s := strings.ToLower(args[i].s)
		if s == "" || s[0] != '-' && (s[0] != '/' || f.posix()) {
			if strings.HasSuffix(s, ".ps1") {
				return x.psFile(args[i], args[i+1:])
			}
			return run(join(args[i:]), ViaScript)
		}
		o := strings.TrimLeft(s, "-/")
		if o == "" { // the script comes through the pipe
			break
		}
		is := func(full string, least int) bool { return len(o) >= least && strings.HasPrefix(full, o) }
		switch {
		case o == "?" || o == "h" || o == "help":
			return value{}
		case is("command", 1) || o == "commandwithargs" || o == "cwa":
			rest := args[i+1:]
			if len(rest) == 1 && rest[0].s == "-" || len(rest) == 0 {
				break
			}
			v := join(rest)
			x.origin(v)
			if !v.known() && v.opaque() {
				if v.t&(tNet|tPeer|tDecoded) == 0 {
					m.undecided(ScriptUnknown, "", true, x.cmd, x.span)
				}
				return unknownVal(tCmd)
			}
			return run(v, ViaScript)
		case is("encodedcommand", 1) || o == "ec" || o == "enc":
			if i+1 < len(args) {
				v := args[i+1]
				f.disguise(x.span, "an encoded command", x.cmd)
				text, ok := decodeCommand(v.s)
				if !ok {
					m.undecided(ScriptUnknown, "an encoded command", true, x.cmd, x.span)
					return unknownVal(tCmd)
				}
				return run(v.with(literal(text)), ViaScript)
			}
		case is("file", 1):
			if i+1 < len(args) {
				if args[i+1].s == "-" {
					break
				}
				return x.psFile(args[i+1], args[i+2:])
			}
		case is("executionpolicy", 2) || o == "ep", is("windowstyle", 1), is("version", 1), is("inputformat", 2), is("outputformat", 1), is("configurationname", 6), is("workingdirectory", 2) || o == "wd", is("settingsfile", 3), is("custompipename", 3), is("psconsolefile", 2), is("encodedarguments", 8):
			if i+1 < len(args) && !(is("version", 1) && len(args) == 1) {
				i++
			}
		}
	}
	if f.hasIn && (x.in.s != "" || x.in.t != 0) {
		x.origin(x.in)
		if x.in.opaque() || x.in.s == "" {
			m.undecided(ScriptUnknown, "", x.in.t&(tNet|tPeer|tDecoded) == 0, x.cmd, x.span)
			return unknownVal(tCmd | tShell)
		}
		return run(x.in, ViaStdin)
	}
	return unknownVal(tCmd | tShell)
}

// psFile runs a script file with PowerShell.
func (x *inv) psFile(v value, args []value) value {
	g := x.f.fork()
	r := newPS(g)
	if content, ok := x.f.m.files[g.resolve(v).Abs]; ok && !content.known() {
		x.origin(content)
	}
	var bound []psBound
	for _, a := range args {
		bound = append(bound, psBound{value: psOf(a), has: true})
	}
	out := r.scriptFile(x, v, bound)
	return out.one()
}

// windowsProgram reports programs of Windows whose options begin with a slash.
func windowsProgram(base string) bool {
	switch base {
	case "taskkill", "tskill", "reg", "regedit", "schtasks", "sc", "net", "net1", "netsh", "icacls", "cacls", "xcacls", "takeown", "attrib", "bitsadmin", "certutil", "certreq", "cipher", "format", "diskpart",
		"vssadmin", "wbadmin", "bcdedit", "shutdown", "logoff", "wmic", "robocopy", "xcopy", "fsutil", "runas", "mshta", "rundll32", "regsvr32", "msiexec", "cmdkey", "vaultcmd", "setx", "findstr", "where", "tasklist",
		"systeminfo", "ipconfig", "whoami", "netstat", "ver", "sdelete", "sdelete64", "psexec", "psexec64", "pskill", "choco", "winget", "scoop", "cscript", "wscript", "forfiles", "powercfg", "chkdsk", "sfc", "dism", "fltmc", "gpupdate", "nbtstat", "tree", "comp", "sqlcmd", "wevtutil", "explorer", "at", "label", "subst", "expand", "makecab", "timeout", "clip", "more", "sort", "find", "manage-bde", "defrag", "shrpubw", "diskshadow", "reagentc", "hostname", "quser", "installutil", "msbuild", "regasm", "wsmanhttpconfig", "winrm", "nltest", "esentutl", "curl_", "tftp_", "notepad", "code", "start-bitstransfer_", "rd_", "sigverif", "netdom":
		return base != "msbuild" && base != "code"
	}
	return false
}

// slash reports whether an argument is the option name, with a slash or a dash,
// perhaps with a value after a colon.
func slash(s, name string) bool {
	s = strings.ToLower(s)
	if strings.HasPrefix(s, "//") {
		s = s[1:] // Git Bash
	}
	if len(s) < 2 || s[0] != '/' && s[0] != '-' {
		return false
	}
	s = s[1:]
	return s == name || strings.HasPrefix(s, name+":")
}

func (x *inv) option(names ...string) (value, bool) {
	for i, a := range x.args[1:] {
		for _, n := range names {
			if !slash(a.s, n) {
				continue
			}
			if _, v, ok := strings.Cut(a.s, ":"); ok {
				return a.with(v), true
			}
			if i+2 < len(x.args) {
				return x.args[i+2], true
			}
			return value{}, true
		}
	}
	return value{}, false
}

func (x *inv) has(names ...string) bool {
	_, ok := x.option(names...)
	return ok
}

// word gives the Nth argument that is no option, lower case.
func (x *inv) word(n int) string { return strings.ToLower(x.operand(n).s) }

func (x *inv) operand(n int) value {
	for _, a := range x.args[1:] {
		if len(a.s) > 1 && a.s[0] == '/' || a.s == "" {
			continue
		}
		if n--; n == 0 {
			return a
		}
	}
	return value{}
}

// registry judges a change of a key or value.
func (x *inv) registry(key, name string, del bool) {
	f := x.f
	at := x.cmd + 1
	low := strings.ToLower(strings.ReplaceAll(key, "/", `\`))
	low = strings.TrimSuffix(low, `\`)
	name = strings.ToLower(name)
	act := Action{Dry: x.dry, Span: x.span, Command: at}
	if strings.Contains(low, "holdpoint") || strings.Contains(low, "claudecode") {
		act.Kind, act.Name = ServiceStop, "holdpoint policy"
		f.emit(act)
		return
	}
	if del {
		return
	}
	act.Kind = Persist
	for _, p := range [...]string{`\currentversion\run`, `\currentversion\runonce`, `\currentversion\runservices`, `\currentversion\policies\explorer\run`, `\winlogon`, `\image file execution options`, `\currentcontrolset\services\`, `\currentversion\windows\load`, `\active setup\installed components`, `\silentprocessexit`, `\command processor`, `\appcertdlls`, `\userinit`, `\shell\open\command`} {
		if !strings.Contains(low+`\`, p+`\`) && !strings.HasSuffix(low, p) && !(strings.HasSuffix(p, `\`) && strings.Contains(low, p)) {
			continue
		}
		act.Name = "a registry key that starts programs"
		f.emit(act)
		return
	}
	if name == "userinitmprlogonscript" || name == "appinit_dlls" || name == "autorun" {
		act.Name = "a registry value that starts programs"
		f.emit(act)
		return
	}
	if strings.Contains(low, `\windows defender`) && strings.HasPrefix(name, "disable") || name == "enablelua" || name == "enablefirewall" || strings.Contains(low, `firewallpolicy`) {
		act.Kind, act.Name = ServiceStop, "a protection of the system"
		f.emit(act)
	}
}
