package shell

import (
	"slices"
	"strings"
)

// handler gives the Go code behind a program or builtin, or nil. A switch rather
// than a map: it costs nothing at start-up.
func handler(name string) func(*inv) value {
	switch name {
	case ":", "true", "false", "shopt", "ulimit", "hash", "type", "bind", "complete", "compgen", "jobs", "fg", "bg", "disown", "wait", "times", "logout", "suspend", "dirs", "enable", "help", "history", "fc", "caller", "setopt", "unsetopt", "autoload", "zmodload", "zstyle", "getopts":
		return nop
	case "umask":
		return (*inv).umask
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
	case "nix", "nix-shell", "guix":
		return (*inv).devShell
	case "ztcp":
		return (*inv).ztcp
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
	case "make", "gmake", "just", "task", "rake", "npm", "pnpm", "yarn", "npx", "pnpx", "bunx", "yarnpkg", "corepack", "uvx", "pipx", "uv", "poetry", "pipenv", "pdm", "hatch", "rye", "bundle", "bundler", "composer", "nox", "tox", "invoke", "inv", "fab", "gulp", "grunt", "ninja", "bazel", "mage", "earthly", "dagger", "act", "lerna", "nx", "turbo", "go", "cargo", "mvn", "gradle", "gradlew", "mvnw", "ant", "sbt", "lein", "mix", "dotnet", "swift-build", "rails", "django-admin", "artisan", "npm-check", "pipx-run", "jake", "doit", "scons", "waf", "cmake", "ctest", "moon", "wireit", "melos", "flutter", "dart", "deployer", "cap", "mina", "ansible", "ansible-playbook", "ansible-console", "puppet", "chef-client", "knife", "serverless", "sls", "pre-commit", "husky", "lefthook", "overcommit", "manage.py", "symfony", "wp", "drush", "heroku", "fly", "flyctl", "nomad", "ember", "ng", "vite", "next", "forge", "hardhat", "truffle", "xcodebuild", "pod", "fastlane", "tsx-run", "bin/rails", "bin/console", "flask", "zig":
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

// umask with nothing masked makes all that is made later writable for everyone.
func (x *inv) umask() value {
	for _, a := range x.args[1:] {
		if a.s != "" && strings.Trim(a.s, "0") == "" {
			x.f.emit(Action{Kind: FileMode, Path: x.f.resolve(lit(".")), Mode: "777", Span: x.span, Command: x.cmd + 1})
		}
	}
	return value{}
}

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
			if len(args) == 1 && strings.HasPrefix(args[0].s, "holdpoint") && args[0].known() {
				return lit("/usr/local/bin/" + args[0].s + "\n") // wherever it is, it is the gate
			}
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
