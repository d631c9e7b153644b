package shell

import (
	"maps"
	"slices"
	"strings"
)

// handler gives the Go code behind a program or builtin, or nil. A switch rather
// than a map: it costs nothing at start-up.
func handler(name string) func(*inv) value {
	switch name {
	case ":", "true", "false", "shopt", "umask", "ulimit", "hash", "type", "bind", "complete", "compgen", "jobs", "fg", "bg", "disown", "wait", "times", "logout", "suspend", "dirs", "enable", "help", "history", "fc", "caller", "setopt", "unsetopt", "autoload", "zmodload", "zstyle", "getopts":
		return nop
	case "exit", "return":
		return (*inv).exit
	case "cd", "chdir", "pushd":
		return (*inv).cd
	case "popd":
		return (*inv).popd
	case "echo", "print":
		return (*inv).echo
	case "printf":
		return (*inv).printf
	case "eval":
		return (*inv).eval
	case "source", ".":
		return (*inv).source
	case "trap":
		return (*inv).trap
	case "alias":
		return (*inv).alias
	case "unalias":
		return (*inv).unalias
	case "set":
		return (*inv).set
	case "shift":
		return (*inv).shift
	case "unset":
		return (*inv).unset
	case "read", "mapfile", "readarray":
		return (*inv).read
	case "export", "declare", "typeset", "local", "readonly":
		return (*inv).exportCall
	case "test", "[":
		return nop
	case "pwd":
		return func(x *inv) value { return lit(x.f.cwd + "\n") }
	case "command", "builtin", "exec", "noglob", "nocorrect", "-", "time":
		return (*inv).prefixBuiltin
	case "sh", "bash", "zsh", "dash", "ksh", "ash", "mksh", "rbash", "fish", "csh", "tcsh", "yash", "lksh":
		return (*inv).shell
	case "xargs", "parallel":
		return (*inv).xargs
	case "find", "gfind", "fd", "fdfind", "bfs":
		return (*inv).find
	case "ssh", "autossh", "mosh", "slogin", "dbclient":
		return (*inv).ssh
	case "docker", "podman", "nerdctl", "docker-compose", "podman-compose", "buildah", "lxc", "incus", "ctr", "crictl":
		return (*inv).docker
	case "kubectl", "oc", "k", "kubectl.exe", "k3s", "microk8s", "minikube":
		return (*inv).kubectl
	case "vagrant":
		return (*inv).vagrant
	case "git", "hub", "yadm", "dotfiles":
		return (*inv).git
	case "python", "python2", "python3", "pypy", "pypy3", "node", "nodejs", "deno", "bun", "perl", "ruby", "php", "lua", "luajit", "tsx", "ts-node", "ipython", "irb", "Rscript", "R", "julia", "osascript", "groovy", "scala", "elixir", "swift", "tclsh", "expect", "guile", "racket", "ghci", "jshell", "raku", "jython", "python3.8", "python3.9", "python3.10", "python3.11", "python3.12", "python3.13", "python3.14", "pwsh", "powershell", "cmd", "java", "emacs", "nvim", "vim", "vi", "ex", "ed", "octave", "erl", "sbcl", "clojure", "bb", "crystal", "nim", "jq", "yq", "wish", "janet", "fennel", "qjs", "d8":
		return (*inv).interpreter
	case "awk", "gawk", "mawk", "nawk", "goawk":
		return (*inv).awk
	case "sed", "gsed":
		return (*inv).sed
	case "cat", "tac", "bat", "batcat", "nl", "pv", "less", "more", "most", "head", "tail", "sort", "uniq", "tee", "sponge", "tr", "rev", "base64", "gbase64", "base32", "xxd", "od", "hexdump", "cut", "grep", "egrep", "fgrep", "rg", "ag", "ack", "zcat", "gunzip", "gzip", "bunzip2", "bzcat", "xz", "xzcat", "unxz", "zstd", "zstdcat", "lz4", "fold", "fmt", "expand", "unexpand", "paste", "column", "dos2unix", "iconv", "uudecode", "basenc", "envsubst", "ts", "ascii2uni", "wc", "sha256sum", "sha1sum", "md5sum", "sha512sum", "shasum", "b2sum", "cksum", "md5", "strings", "openssl", "gpg", "gpg2", "age", "sops", "bzip2", "brotli", "shuf", "yes", "seq", "jot", "qrencode", "pbcopy", "xclip", "xsel", "wl-copy", "clip", "clip.exe", "unix2dos", "tail-f", "tailf", "moar", "view", "highlight", "pygmentize", "look", "comm", "join", "diff", "colordiff", "delta", "cmp", "pr", "mail", "mailx", "sendmail", "mutt", "recode", "uniq-c", "b64decode", "crunch", "ansible-vault", "rot13", "caesar", "vim-cat", "zgrep", "zless", "bzgrep", "xzgrep", "xzless", "sdiff", "vimdiff", "icdiff", "difft", "base58", "lolcat", "pbpaste":
		return (*inv).filter
	case "curl", "wget", "http", "https", "xh", "aria2c", "axel", "fetch", "lwp-request", "GET", "POST", "httpie", "wget2", "curlie", "lynx", "links", "w3m", "elinks", "lftp", "lwp-download", "hurl", "grpcurl", "websocat", "wscat":
		return (*inv).http
	case "nc", "ncat", "netcat", "socat", "telnet", "nc.openbsd", "nc.traditional", "cryptcat", "pwncat", "sbd":
		return (*inv).netcat
	case "scp", "rsync", "sftp", "ftp", "rclone", "tftp", "rcp", "pscp", "psftp", "croc", "wormhole", "magic-wormhole", "magic-wormhole-send", "transfer.sh", "s3cmd", "mc", "s5cmd", "gsutil", "azcopy", "b2", "lftpput", "ncftpput", "smbclient", "restic", "borg", "duplicity", "swift-cli":
		return (*inv).transfer
	case "dig", "nslookup", "host", "ping", "ping6", "drill", "traceroute", "hping3", "logger", "dog", "doggo", "kdig", "resolvectl", "getent":
		return (*inv).carrier
	case "rm", "unlink", "rmdir", "mv", "cp", "install", "ln", "dd", "chmod", "chown", "chgrp", "tar", "bsdtar", "gtar", "unzip", "zip", "7z", "7za", "cpio", "ar", "jar", "rename", "link", "mktemp", "tempfile", "realpath", "readlink", "dirname", "basename", "setfacl", "fallocate", "truncate", "patch", "mkfifo", "trash", "trash-put", "trash-empty", "gio", "rimraf", "del-cli", "shx", "gmv", "gcp", "grm", "srm", "mkdir", "split", "csplit", "touch", "gtouch", "mknod", "pax", "ditto", "mount":
		return (*inv).files
	case "kill", "pkill", "killall", "killall5", "skill", "pgrep", "pidof", "ps", "fuser", "lsof", "xkill", "slay", "fkill", "kill-port", "snice":
		return (*inv).kill
	case "printenv":
		return (*inv).printenv
	case "crontab", "at", "batch":
		return (*inv).later
	case "make", "gmake", "just", "task", "rake", "npm", "pnpm", "yarn", "npx", "pnpx", "bunx", "yarnpkg", "corepack", "uvx", "pipx", "uv", "poetry", "pipenv", "pdm", "hatch", "rye", "bundle", "bundler", "composer", "nox", "tox", "invoke", "inv", "fab", "gulp", "grunt", "ninja", "bazel", "mage", "earthly", "dagger", "act", "lerna", "nx", "turbo", "go", "cargo", "mvn", "gradle", "gradlew", "mvnw", "ant", "sbt", "lein", "mix", "dotnet", "swift-build", "rails", "django-admin", "artisan", "npm-check", "pipx-run", "jake", "doit", "scons", "waf", "cmake", "ctest", "moon", "wireit", "melos", "flutter", "dart", "deployer", "cap", "mina", "ansible", "ansible-playbook", "ansible-console", "salt", "puppet", "chef-client", "knife", "serverless", "sls", "pre-commit", "husky", "lefthook", "overcommit", "manage.py", "symfony", "wp", "drush", "heroku", "fly", "flyctl", "nomad", "ember", "ng", "vite", "next", "forge", "hardhat", "truffle", "xcodebuild", "pod", "fastlane", "tsx-run", "bin/rails", "bin/console":
		return (*inv).project
	case "psql", "mysql", "mariadb", "sqlite3", "sqlite", "mongosh", "mongo", "redis-cli", "valkey-cli", "keydb-cli", "duckdb", "clickhouse-client", "clickhouse", "cqlsh", "sqlcmd", "bq", "snowsql", "cockroach", "usql", "pgcli", "mycli", "litecli", "sqlplus", "influx", "trino", "presto", "hive", "beeline", "spark-sql", "tsql", "isql", "sqlline", "dolt", "turso", "d1", "libsql", "psql-run", "iredis", "neo4j-admin", "cypher-shell", "snow", "impala-shell", "osqueryi", "mssql-cli", "surreal":
		return (*inv).database
	case "gh", "glab", "tea", "hub-api":
		return (*inv).forge
	case "launchctl", "systemctl", "service", "rc-service", "rc-update", "init", "telinit", "sysctl", "iptables", "ip6tables", "nft", "ufw", "firewall-cmd", "initctl", "sv", "s6-svc", "svcadm", "update-rc.d", "chkconfig", "loginctl", "pfctl", "invoke-rc.d", "brew":
		return (*inv).system
	}
	if len(name) > 7 && (strings.HasPrefix(name, "python3.") || strings.HasPrefix(name, "python2.")) {
		return (*inv).interpreter
	}
	if strings.HasPrefix(name, "mkfs.") {
		return (*inv).mkfs
	}
	return nil
}

func nop(x *inv) value { return value{} }

func (x *inv) mkfs() value {
	x.p = specFor("mkfs").parse(x.f.m.s, x.args[1:])
	x.spec = specFor("mkfs")
	return x.runSpec()
}

func (x *inv) exit() value {
	// Text after an unconditional exit may still be meant to run by whoever
	// reads it, so nothing is skipped.
	return value{}
}

func (x *inv) cd() value {
	f := x.f
	args := x.args[1:]
	for len(args) > 0 && len(args[0].s) > 1 && args[0].s[0] == '-' && args[0].s != "--" {
		if args[0].s == "-n" {
			return value{}
		}
		args = args[1:]
	}
	if len(args) > 0 && args[0].s == "--" {
		args = args[1:]
	}
	switch {
	case len(args) == 0:
		dir, _ := f.tilde("")
		f.chdir(lit(dir))
	case args[0].s == "-":
		old := f.oldpwd
		if old == "" {
			old = unknownText
		}
		f.cwd, f.oldpwd = old, f.cwd
	default:
		v := args[0]
		if v.glob() {
			v.s = strings.Map(func(r rune) rune {
				if r == markStar || r == markAny || r == markSet {
					return markUnknown
				}
				return r
			}, v.s)
		}
		f.chdir(v)
	}
	return value{}
}

func (x *inv) popd() value {
	f := x.f
	if f.oldpwd != "" {
		f.cwd, f.oldpwd = f.oldpwd, f.cwd
	} else {
		f.cwd = unknownText
	}
	return value{}
}

func joinValues(args []value, sep string) value {
	var out value
	for i, a := range args {
		if i > 0 {
			out.s += sep
		}
		a.s = a.text()
		out.add(a)
		if i == 0 {
			out.span = a.span
		} else {
			out.span.End = max(out.span.End, a.span.End)
		}
	}
	return out
}

// printed records what printing a value shows: secret variables.
func (x *inv) printed(v value) value {
	f := x.f
	for _, n := range v.vars {
		i := f.emit(Action{Kind: EnvPrint, Name: n, Span: v.span, Command: x.cmd + 1})
		v.src = append(slices.Clip(v.src), i)
	}
	v.vars = nil
	return v
}

func (x *inv) echo() value {
	args := x.args[1:]
	esc, nl := x.f.m.opts.Dialect == Sh, true
	for len(args) > 0 && len(args[0].s) > 1 && args[0].s[0] == '-' && strings.Trim(args[0].s[1:], "neEr") == "" {
		esc = esc || strings.Contains(args[0].s, "e")
		nl = nl && !strings.Contains(args[0].s, "n")
		args = args[1:]
	}
	out := x.printed(joinValues(args, " "))
	if esc && strings.IndexByte(out.s, '\\') >= 0 {
		s, spells := ansiC(strings.ReplaceAll(out.s, `\0`, `\`))
		out.s = literalKeep(s)
		if spells {
			out.t |= tDecoded
		}
	}
	if nl {
		out.s += "\n"
	}
	return out
}

// literalKeep leaves the unknown marks that were there.
func literalKeep(s string) string {
	b := []byte(s)
	for i, c := range b {
		if c > markUnknown && c <= markSet {
			b[i] = markUnknown
		}
	}
	return string(b)
}

func (x *inv) printf() value {
	args := x.args[1:]
	name := ""
	if len(args) > 1 && args[0].s == "-v" {
		name, args = args[1].s, args[2:]
	}
	if len(args) > 0 && args[0].s == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return value{}
	}
	out := formatted(args)
	if name == "" {
		out = x.printed(out)
	} else {
		out.t |= tGlued
		x.f.set(name, out)
		return value{}
	}
	return out
}

// formatted does what printf does with its format and operands.
func formatted(args []value) value {
	format := args[0]
	out := value{t: format.t, vars: format.vars, src: format.src, span: format.span}
	s := format.text()
	rest := args[1:]
	used := 0
	var b strings.Builder
	esc := func(s string) string {
		d, spells := ansiC(s)
		if spells {
			out.t |= tDecoded
		}
		return literalKeep(d)
	}
	for round := 0; round == 0 || len(rest) > used && used > 0 && round < 256; round++ {
		rest = rest[used:]
		used = 0
		i := 0
		for i < len(s) {
			j := strings.IndexByte(s[i:], '%')
			if j < 0 {
				b.WriteString(esc(s[i:]))
				break
			}
			b.WriteString(esc(s[i : i+j]))
			i += j + 1
			for i < len(s) && strings.IndexByte("-+ #0123456789.*", s[i]) >= 0 {
				i++
			}
			if i >= len(s) {
				break
			}
			c := s[i]
			i++
			if c == '%' {
				b.WriteByte('%')
				continue
			}
			var v value
			if used < len(rest) {
				v = rest[used]
			}
			used++
			out.t |= v.t
			out.vars = append(out.vars, v.vars...)
			out.src = append(out.src, v.src...)
			if v.s != "" {
				out.t |= tGlued
			}
			switch c {
			case 'b':
				b.WriteString(esc(strings.ReplaceAll(v.text(), `\0`, `\`)))
			case 'c':
				if v.s != "" {
					b.WriteString(v.text()[:1])
				}
			default:
				b.WriteString(v.text())
			}
		}
		if b.Len() > 1<<16 {
			break
		}
	}
	out.s = b.String()
	return out
}

func (x *inv) eval() value {
	f := x.f
	args := x.args[1:]
	if len(args) > 0 && args[0].s == "--" {
		args = args[1:]
	}
	v := joinValues(args, " ")
	return x.evalText(v, len(args) > 1, func(c value) value {
		// eval runs in this shell.
		nested, base, via := f.nested, f.base, f.via
		if !f.nested {
			f.nested, f.base = true, x.span
		}
		f.via = append(slices.Clip(f.via), ViaEval)
		f.depth++
		out := f.runText(c.text())
		f.depth--
		f.nested, f.base, f.via = nested, base, via
		return out
	})
}

// evalText judges text that is run as code after the shell put it together.
func (x *inv) evalText(v value, many bool, run func(value) value) value {
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
		case v.has(tGlued) && v.t&tSubst == 0, v.has(tVar) && manyPieces(v):
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

func manyPieces(v value) bool { return false }

func (x *inv) source() value {
	f := x.f
	if len(x.args) < 2 {
		return value{}
	}
	v := x.args[1]
	if v.s == "--" && len(x.args) > 2 {
		v = x.args[2]
	}
	here := func(c value) value {
		nested, base, via := f.nested, f.base, f.via
		if !f.nested {
			f.nested, f.base = true, x.span
		}
		f.via = append(slices.Clip(f.via), ViaFile)
		f.depth++
		out := f.runText(c.text())
		f.depth--
		f.nested, f.base, f.via = nested, base, via
		return out
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
		return here(c)
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
	return x2.evalText(args[0], false, func(c value) value {
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

func (x *inv) set() value {
	f := x.f
	args := x.args[1:]
	if len(args) == 0 {
		i := f.emit(Action{Kind: EnvPrint, Quiet: true, Span: x.span, Command: x.cmd + 1})
		return value{s: unknownText, t: tEnv, src: []int{i}}
	}
	for len(args) > 0 && len(args[0].s) > 0 && (args[0].s[0] == '-' || args[0].s[0] == '+') {
		s := args[0].s
		if s == "--" || s == "-" {
			f.params = append([]value{}, args[1:]...)
			return value{}
		}
		if (s == "-o" || s == "+o") && len(args) > 1 {
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) > 0 {
		f.params = append([]value{}, args...)
	}
	return value{}
}

func (x *inv) shift() value {
	n := 1
	if len(x.args) > 1 && len(x.args[1].s) == 1 {
		n = int(x.args[1].s[0] - '0')
	}
	if n >= 0 && n <= len(x.f.params) {
		x.f.params = x.f.params[n:]
	}
	return value{}
}

func (x *inv) unset() value {
	f := x.f
	for _, a := range x.args[1:] {
		if strings.HasPrefix(a.s, "-") {
			continue
		}
		if guardVar(a.s) {
			f.emit(Action{Kind: EnvSet, Name: a.s, Span: a.span, Command: x.cmd + 1})
		}
		f.setVar(a.s, &variable{unset: true})
	}
	return value{}
}

func (x *inv) read() value {
	f := x.f
	var names []string
	array := x.name != "read"
	skip := false
	delim := "\n"
	in := f.in
	args := x.args[1:]
	for i, a := range args {
		if skip {
			skip = false
			continue
		}
		if strings.HasPrefix(a.s, "-") && len(a.s) > 1 {
			last := a.s[len(a.s)-1]
			switch {
			case x.name == "read" && strings.IndexByte("dinNptu", last) >= 0, x.name != "read" && strings.IndexByte("dnOsuCc", last) >= 0:
				skip = true
				if i+1 < len(args) {
					switch last {
					case 'u':
						in = f.fds[args[i+1].s]
					case 'd':
						delim = args[i+1].s
					}
				}
			case x.name == "read" && strings.Contains(a.s, "a"):
				array = true
			}
			continue
		}
		names = append(names, a.s)
	}
	if len(names) == 0 {
		names = []string{"REPLY"}
		if array {
			names = []string{"MAPFILE"}
		}
	}
	line := in
	if in.known() {
		s := in.s
		if x.name == "read" && delim == "\n" {
			s, _, _ = strings.Cut(s, "\n")
		}
		line.s = strings.TrimSpace(s)
		if !f.hasIn {
			line = unknownVal(0)
		}
	} else {
		line.s = unknownText
	}
	line.t |= tVar
	if array {
		vr := &variable{array: true}
		sep := "\n"
		if x.name == "read" {
			sep = f.ifs()
		}
		if line.known() {
			for _, w := range wordSplit(line.s, sep) {
				vr.list = append(vr.list, line.with(w))
				if len(vr.list) >= f.m.lim.Expansion {
					break
				}
			}
		} else {
			line.t |= tMany
			vr.list = []value{line}
		}
		f.setVar(names[0], vr)
		return value{}
	}
	if line.known() && len(names) > 1 {
		w := wordSplit(line.s, f.ifs())
		for i, n := range names {
			v := line.with("")
			switch {
			case i < len(w) && i == len(names)-1:
				v.s = strings.Join(w[i:], " ")
			case i < len(w):
				v.s = w[i]
			}
			f.set(n, v)
		}
		return value{}
	}
	for _, n := range names {
		f.set(n, line)
	}
	return value{}
}

func (x *inv) exportCall() value {
	for _, a := range x.args[1:] {
		name, val, ok := strings.Cut(a.s, "=")
		if !ok {
			continue
		}
		x.f.set(name, a.with(val))
		x.f.export(name)
		x.f.emit(Action{Kind: EnvSet, Name: name, Detail: plain(val), Span: a.span, Command: x.cmd + 1})
	}
	return value{}
}

// prefixBuiltin is command, builtin, exec and the like.
func (x *inv) prefixBuiltin() value {
	f := x.f
	args := x.args[1:]
	for len(args) > 0 && strings.HasPrefix(args[0].s, "-") {
		s := args[0].s
		args = args[1:]
		if x.name == "command" && (s == "-v" || s == "-V") {
			return value{s: joinValues(args, " ").s, t: tInit}
		}
		if s == "--" {
			break
		}
		if x.name == "exec" && strings.HasSuffix(s, "a") && len(args) > 0 {
			args = args[1:]
		}
		if x.name == "time" && (s == "-o" || s == "-f") && len(args) > 0 {
			if s == "-o" {
				x.writes(args[0], value{})
			}
			args = args[1:]
		}
	}
	if len(args) == 0 {
		return value{}
	}
	saved := f.wrappers
	f.wrappers = append(slices.Clip(f.wrappers), x.name)
	y := &inv{f: f, args: args, span: x.span, env: x.env, noFunc: x.name != "noglob" && x.name != "time"}
	f.depth++
	out := y.dispatch()
	f.depth--
	f.wrappers = saved
	return out
}
