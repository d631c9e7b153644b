package shell

import (
	"slices"
	"strings"
)

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
	x.bindsAll()
	fetched := f.m.fromNet(p.Abs)
	hook := strings.Contains(p.Abs, "/.git/hooks/") || strings.Contains(p.Abs, "/.husky/") // run by each commit anyway
	f.m.undecided(ScriptUnknown, baseName(v.s), !fetched && !hook && !f.m.built[p.Abs], x.cmd, x.span)
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
