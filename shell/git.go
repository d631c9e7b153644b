package shell

import (
	"maps"
	"slices"
	"strings"
)

// git judges git by the table, and follows what it starts: aliases, hooks,
// commands of bisect, submodule foreach and the like.
func (x *inv) git() value {
	f, m, p := x.f, x.f.m, x.p
	if x.name != "git" && x.spec == nil {
		x.parse(specFor("git"))
		p = x.p
	}
	at := x.cmd + 1
	aliases := map[string]string{}
	maps.Copy(aliases, m.gitAliases)
	for i := range p.flags {
		fl := &p.flags[i]
		if fl.name != "-c" && fl.name != "--config-env" || fl.level != x.spec {
			continue
		}
		key, val, _ := strings.Cut(fl.val.text(), "=")
		x.gitConfig(key, val, fl.val, aliases, false)
	}
	for _, e := range x.env {
		switch {
		case strings.HasPrefix(e.Name, "GIT_CONFIG_KEY_"):
			val := ""
			for _, o := range x.env {
				if o.Name == "GIT_CONFIG_VALUE_"+strings.TrimPrefix(e.Name, "GIT_CONFIG_KEY_") {
					val = o.Value.Value
				}
			}
			x.gitConfig(e.Value.Value, val, lit(val), aliases, false)
		case e.Name == "GIT_CONFIG_PARAMETERS":
			key, val, _ := strings.Cut(strings.Trim(e.Value.Value, "'"), "=")
			x.gitConfig(key, strings.Trim(val, "'"), lit(val), aliases, false)
		case e.Name == "GIT_SSH_COMMAND" || e.Name == "GIT_EDITOR" || e.Name == "GIT_SEQUENCE_EDITOR" || e.Name == "GIT_PAGER" || e.Name == "GIT_EXTERNAL_DIFF" || e.Name == "GIT_ASKPASS" || e.Name == "GIT_SSH":
			if e.Value.Known {
				f.run(value{s: e.Value.Value, span: x.span}, ViaConfig, nil)
			}
		}
	}
	if len(p.sub) == 0 && len(p.pos) > 0 && p.pos[0].known() {
		name := p.pos[0].text()
		if text, ok := aliases[name]; ok {
			return x.gitAlias(text, p.pos[1:])
		}
		if len(x.args) > 1 {
			if gitExternal(name) {
				m.undecided(TargetOpaque, "git "+name, false, x.cmd, x.span)
			} else {
				m.undecided(TargetOpaque, "git "+name, !x.command().Disguised && ascii(name), x.cmd, x.span)
			}
		}
		return unknownVal(tCmd)
	}
	if len(p.sub) == 0 {
		if p.unknown {
			m.undecided(OptionUnknown, "git", true, x.cmd, x.span)
		}
		return unknownVal(tCmd)
	}
	// With an alias of the same name git takes its own command.
	out := x.runSpec()
	sub := strings.Join(p.sub, " ")
	switch sub {
	case "rev-parse":
		if p.given("--show-toplevel") || len(p.pos) > 0 && p.pos[0].s == "--show-toplevel" {
			for _, r := range m.roots {
				if _, ok := below(f.cwd, r); ok {
					return lit(r + "\n")
				}
			}
			return lit(f.cwd + "\n")
		}
		out.t |= tNames
	case "ls-files":
		if len(p.pos) == 0 && !p.given("-o", "-d", "-i", "-u", "-m", "-s", "--stage") {
			out.s = string([]byte{markStar}) // all that is tracked
		}
	case "describe", "symbolic-ref", "rev-list", "branch":
		out.t |= tNames
	case "update-ref":
		if p.given("--stdin") && (strings.HasPrefix(x.in.s, "delete ") || strings.Contains(x.in.s, "\ndelete ")) {
			f.emit(Action{Kind: HistoryRewrite, Name: "references", Span: x.span, Command: at})
		}
	case "apply":
		if p.given("-R") && !p.given("--check", "--stat", "--numstat", "--summary", "--cached") && x.fromDiff() {
			f.emit(Action{Kind: WorkDiscard, Detail: "the changes are taken back", Span: x.span, Command: at})
		}
	case "bundle create", "format-patch":
		if len(p.pos) > 0 && p.pos[0].s == "-" || p.given("--stdout") {
			out.t |= tFile // the repository itself comes out
		}
	case "config", "config set", "config unset":
		x.gitConfigCommand(sub, aliases)
	case "push":
		for i, v := range p.pos {
			if i > 0 && v.openEnded() && !x.dry && !v.nameHas("BRANCH", "TAG", "VERSION", "HEAD", "SHA", "COMMIT") {
				x.undecidedOperand(v, OptionUnknown) // with a + or : in front it forces or deletes
			}
		}
		if len(p.pos) > 0 && remoteURL(p.pos[0].s) {
			forced := slices.ContainsFunc(m.res.Actions, func(a Action) bool { return a.Kind == PushForce && a.Command == x.cmd })
			if !forced { // the more specific hazard says it
				f.emit(Action{Kind: NetUpload, Host: plain(hostOf(p.pos[0].s)), Name: "a remote that is not configured", Span: x.span, Command: at, Dry: x.dry})
			}
		}
		if len(p.pos) > 0 && m.gitRemotes[p.pos[0].s] || m.gitRemotes["*"] && len(p.pos) == 0 {
			f.emit(Action{Kind: NetUpload, Name: p.pos[0].s, Span: x.span, Command: at, Dry: x.dry})
		}
	case "reset":
		if len(p.pos) > 0 && p.pos[0].openEnded() && p.pos[0].t&tQuoted == 0 && p.pos[0].nameHas("MODE", "OPT", "FLAG", "ARG", "HOW") {
			x.undecidedOperand(p.pos[0], OptionUnknown)
		}
	case "remote add", "remote set-url":
		if len(p.pos) > 1 {
			if m.gitRemotes == nil {
				m.gitRemotes = map[string]bool{}
			}
			m.gitRemotes[p.pos[0].s] = !loopback(hostOf(p.pos[1].s)) && !strings.HasPrefix(p.pos[1].s, "/")
		}
	case "show", "cat-file", "archive", "diff", "log", "blame", "annotate", "grep", "whatchanged":
		if sub == "archive" && !p.given("-o") {
			out.t |= tFile
		}
		for i, v := range p.pos {
			_, file, ok := strings.Cut(v.s, ":")
			switch {
			case ok && file != "" && !strings.Contains(v.s, "://"):
				quiet := sub == "cat-file" && (p.given("-e") || p.given("-t") || p.given("-s"))
				f.readFile(v.with(file), x.cmd, quiet)
			case sub == "blame" || sub == "annotate" || (sub == "diff" || sub == "log" || sub == "show") && (p.dash >= 0 && i >= p.dash || strings.HasPrefix(baseName(v.s), ".env")):
				if sub == "log" && !p.given("-p", "-u", "--patch", "-L") {
					continue
				}
				quiet := p.given("--stat", "--name-only", "--name-status", "--quiet", "--exit-code", "--shortstat", "--numstat")
				f.readFile(v, x.cmd, quiet)
			case sub == "grep" && p.dash >= 0 && i >= p.dash:
				f.readFile(v, x.cmd, p.given("-l", "-c", "-q"))
			}
		}
	case "checkout":
		if x.checkoutDiscards() {
			f.emit(Action{Kind: WorkDiscard, Detail: "checkout", Span: x.span, Command: at})
		}
		from := p.dash
		if from < 0 && len(p.pos) > 1 {
			from = 1
		}
		if from >= 0 && !p.given("-b", "-B", "--orphan", "-t") {
			for _, v := range p.pos[from:] {
				f.emit(Action{Kind: FileWrite, Path: f.resolve(v), Detail: "git", Span: v.span, Command: at})
			}
		}
	case "restore":
		for _, v := range p.pos {
			if !p.given("-S") || p.given("-W") {
				f.emit(Action{Kind: FileWrite, Path: f.resolve(v), Detail: "git", Span: v.span, Command: at})
			}
		}
	case "bisect run":
		y := &inv{f: f.under("git"), args: p.pos, span: x.span, noFunc: true}
		if len(p.pos) > 0 {
			y.dispatch()
		}
	case "submodule foreach":
		pos := p.pos
		if len(pos) > 0 && pos[0].s == "--recursive" {
			pos = pos[1:]
		}
		f.run(joinValues(pos, " "), ViaScript, nil)
	case "for-each-repo":
		y := &inv{f: f.under("git"), args: append([]value{lit("git")}, p.pos...), span: x.span, noFunc: true}
		y.dispatch()
	case "clone":
		dir := ""
		if len(p.pos) > 1 {
			dir = p.pos[1].s
			x.writes(p.pos[1], value{s: unknownText, t: tNet})
		} else if len(p.pos) == 1 {
			dir = strings.TrimSuffix(baseName(strings.TrimSuffix(p.pos[0].s, "/")), ".git")
			if i := strings.LastIndexByte(dir, ':'); i >= 0 {
				dir = dir[i+1:]
			}
			if dir != "" {
				x.writes(lit(dir), value{s: unknownText, t: tNet})
			}
		}
		if dir != "" && len(p.pos) > 0 && !strings.HasPrefix(p.pos[0].s, ".") && !strings.HasPrefix(p.pos[0].s, "/") {
			pth := f.resolve(lit(dir))
			delete(m.files, pth.Abs)
			m.netDirs = append(m.netDirs, pth.Abs)
		}
	case "rm":
		if !p.given("--cached") && !p.given("-n") {
			for _, v := range p.pos {
				x.deletes(v, p.given("-r"))
			}
		}
	case "credential fill", "credential-store get", "credential-cache get", "credential-osxkeychain get", "credential-manager get":
		f.emit(Action{Kind: SecretReveal, Name: "git credentials", Span: x.span, Command: at})
	}
	if sub == "submodule" && len(p.pos) > 0 && p.pos[0].s == "foreach" {
		f.run(joinValues(p.pos[1:], " "), ViaScript, nil)
	}
	return out
}

// gitExternal: commands that are commonly installed beside git and change
// nothing that cannot be seen.
func gitExternal(name string) bool {
	switch name {
	case "lfs", "flow", "absorb", "secret", "crypt", "svn", "town", "extras", "open", "recent", "summary", "standup", "undo", "delta", "machete", "spice", "branchless", "sl", "smartlog":
		return true
	}
	return false
}

// remoteURL reports whether a remote is given by its address instead of by the name
// that the configuration has for it.
func remoteURL(s string) bool {
	if !clean(s) {
		return false
	}
	if scheme, _, ok := strings.Cut(s, "://"); ok {
		return scheme != "file" && !loopback(hostOf(s))
	}
	user, rest, ok := strings.Cut(s, "@")
	return ok && user != "" && strings.Contains(rest, ":") && !loopback(hostOf(s))
}

// fromDiff reports whether the input is what git diff says of the work tree.
func (x *inv) fromDiff() bool {
	i := x.in.from - 1
	if i < 0 || i >= len(x.f.m.res.Commands) {
		return false
	}
	c := &x.f.m.res.Commands[i]
	return c.Program == "git" && len(c.Sub) > 0 && c.Sub[0] == "diff"
}

func (x *inv) gitAlias(text string, rest []value) value {
	f := x.f
	key := "git alias " + text
	if slices.Contains(f.calls, key) {
		return value{}
	}
	g := f.fork()
	g.calls = append(slices.Clip(g.calls), key)
	v := lit(text)
	v.span = x.span
	if code, ok := strings.CutPrefix(text, "!"); ok {
		v.s = code
		if len(rest) > 0 {
			v.s += " " + quoteAll(rest)
		}
		return g.run(v, ViaConfig, nil)
	}
	v.s = "git " + text + " " + quoteAll(rest)
	return g.run(v, ViaConfig, nil)
}

// gitConfig judges one setting, given for one run or stored.
func (x *inv) gitConfig(key, val string, v value, aliases map[string]string, stored bool) {
	f := x.f
	at := x.cmd + 1
	k := strings.ToLower(key)
	f.emit(Action{Kind: ConfigSet, Name: k, Detail: plain(val), Span: x.span, Command: at})
	switch {
	case strings.HasPrefix(k, "alias."):
		aliases[key[len("alias."):]] = val
	case k == "core.hookspath":
		if stored && x.p.given("--global", "--system") {
			f.emit(Action{Kind: Persist, Name: "a global hooks path", Span: x.span, Command: at})
			return
		}
		if stored && hooksFolder(val) {
			return // what installers of hooks do
		}
		f.emit(Action{Kind: HookBypass, Detail: "core.hooksPath", Name: val, Span: x.span, Command: at})
	case k == "init.templatedir" && stored && x.p.given("--global", "--system"):
		f.emit(Action{Kind: Persist, Name: "a template with hooks for each new repository", Span: x.span, Command: at})
	case strings.HasPrefix(k, "remote.") && strings.HasSuffix(k, ".push") && strings.HasPrefix(val, "+"),
		strings.HasPrefix(k, "remote.") && strings.HasSuffix(k, ".mirror") && val != "false":
		f.emit(Action{Kind: PushForce, Detail: "a forced refspec in the configuration", Span: x.span, Command: at})
	case k == "core.fsmonitor" && val != "true" && val != "false" && val != "":
		f.emit(Action{Kind: Persist, Name: "core.fsmonitor", Span: x.span, Command: at})
	case k == "core.sshcommand", k == "core.pager", k == "core.editor", k == "sequence.editor", k == "diff.external", k == "core.askpass", k == "credential.helper" && strings.HasPrefix(val, "!"),
		strings.HasPrefix(k, "filter.") && !strings.HasSuffix(k, ".required"), strings.HasPrefix(k, "difftool.") && strings.HasSuffix(k, ".cmd"), strings.HasPrefix(k, "mergetool.") && strings.HasSuffix(k, ".cmd"), k == "gpg.program", k == "core.gitproxy", strings.HasPrefix(k, "pager."):
		if val != "" && v.known() {
			code := value{s: strings.TrimPrefix(val, "!"), span: x.span}
			f.run(code, ViaConfig, nil)
		}
	}
}

// hooksFolder reports whether a folder of the project is one in which projects keep
// their hooks.
func hooksFolder(dir string) bool {
	switch strings.TrimSuffix(strings.TrimPrefix(dir, "./"), "/") {
	case ".githooks", ".husky", ".husky/_", ".git-hooks", "githooks", "git-hooks", "hooks", ".hooks", "scripts/hooks", "scripts/githooks", "scripts/git-hooks", "tools/hooks", "tools/githooks", "tools/git-hooks", "etc/hooks", "dev/hooks", ".github/hooks", ".config/hooks", ".git/hooks":
		return true
	}
	return false
}

func (x *inv) gitConfigCommand(sub string, aliases map[string]string) {
	f, m, p := x.f, x.f.m, x.p
	pos := p.pos
	if p.given("--get", "--get-all", "--get-regexp", "--list", "-l", "--get-urlmatch", "-e", "--edit") {
		for _, v := range pos {
			if strings.HasPrefix(strings.ToLower(v.s), "credential") {
				return
			}
		}
		return
	}
	if p.given("--unset", "--unset-all", "--remove-section") || sub == "config unset" {
		for _, v := range pos {
			if strings.EqualFold(v.s, "core.hooksPath") || strings.EqualFold(v.s, "core") && p.given("--remove-section") {
				f.emit(Action{Kind: HookBypass, Detail: "core.hooksPath", Span: x.span, Command: x.cmd + 1})
			}
		}
		return
	}
	if len(pos) < 2 {
		return
	}
	key, val := pos[0].text(), pos[1].text()
	stored := map[string]string{}
	x.gitConfig(key, val, pos[1], stored, true)
	for k, v := range stored {
		if m.gitAliases == nil {
			m.gitAliases = map[string]string{}
		}
		m.gitAliases[k] = v
	}
	_ = aliases
}

// checkoutDiscards reports whether a checkout replaces files of the work tree.
func (x *inv) checkoutDiscards() bool {
	p := x.p
	if p.given("-f") {
		return true
	}
	if p.given("-b", "-B", "--orphan", "-t", "--detach", "-d") {
		return false
	}
	if p.dash >= 0 {
		return p.dash < len(p.pos)
	}
	if p.given("--ours", "--theirs", "--pathspec-from-file") {
		return true
	}
	if len(p.pos) >= 2 {
		return true
	}
	if len(p.pos) == 1 {
		s := p.pos[0].text()
		if s == "." || s == "*" || strings.HasPrefix(s, "./") || strings.HasPrefix(s, ":/") || strings.HasPrefix(s, ":(") || p.pos[0].glob() || strings.HasSuffix(s, "/") {
			return true
		}
		return fileLike(s)
	}
	return false
}

// fileLike reports whether a word looks like a file rather than a branch: it has
// a suffix of a file and is no version.
func fileLike(s string) bool {
	b := baseName(s)
	i := strings.LastIndexByte(b, '.')
	if i <= 0 || i == len(b)-1 {
		return false
	}
	ext := b[i+1:]
	switch ext {
	case "js", "ts", "jsx", "tsx", "go", "py", "rb", "rs", "java", "kt", "c", "h", "cc", "cpp", "hpp", "cs", "php", "swift", "md", "txt", "json", "yaml", "yml", "toml", "xml", "html", "css", "scss", "vue", "svelte", "sh", "sql", "lock", "mod", "sum", "cfg", "ini", "conf", "env", "lua", "pl", "ex", "exs", "scala", "tf", "gradle", "mjs", "cjs":
		return true
	}
	return false
}
