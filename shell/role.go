package shell

import (
	"path"
	"slices"
	"strings"
)

// role does what the table says of an operand or option value.
func (x *inv) role(role string, v value) {
	f, m := x.f, x.f.m
	at := x.cmd + 1
	if i := strings.LastIndexByte(v.s, 0); i >= 0 {
		v.s = v.s[:i]
	}
	switch role {
	case "read", "readtree":
		if v.s == "-" || v.s == "" {
			return
		}
		x.reads = append(x.reads, f.readFile(v, x.cmd, false))
	case "envfile":
		if v.s != "" {
			f.readFile(v, x.cmd, false)
		}
	case "data":
		if rest, ok := strings.CutPrefix(v.s, "@"); ok && rest != "" {
			f.readFile(v.with(rest), x.cmd, false)
		} else if rest, ok := strings.CutPrefix(v.s, "fileb://"); ok {
			f.readFile(v.with(rest), x.cmd, false)
		} else if rest, ok := strings.CutPrefix(v.s, "file://"); ok {
			f.readFile(v.with(rest), x.cmd, false)
		}
	case "write", "wtree":
		if v.s == "-" {
			return
		}
		if x.name == "tee" || x.name == "sponge" {
			f.writeTo(v, x.in, x.p.given("-a"), x.cmd, v.span)
			return
		}
		x.writes(v, value{s: unknownText, t: tCmd})
	case "pack":
		x.packs(v)
	case "gdb":
		code := strings.TrimSpace(v.text())
		for _, p := range []string{"shell ", "!", "pipe "} {
			if rest, ok := strings.CutPrefix(code, p); ok {
				f.run(v.with(strings.TrimSpace(rest)), ViaCode, nil)
				return
			}
		}
		if strings.HasPrefix(code, "python ") {
			x.inline("python", v.with(code[7:]))
		}
	case "keyfile":
		switch {
		case x.p.given("-l", "-F", "-B", "-R", "-H", "-E_"):
			f.emit(Action{Kind: FileMeta, Path: f.resolve(v), Span: v.span, Command: at})
		case x.p.given("-y", "-e", "-i", "-p"):
			f.readFile(v, x.cmd, x.p.given("-y"))
		default:
			x.writes(v, value{s: unknownText, t: tCmd})
		}
	case "delete":
		x.deletes(v, false)
	case "deltree":
		x.deletes(v, true)
	case "move":
		p := f.resolveEntry(v)
		f.emit(Action{Kind: FileDelete, Path: p, Detail: "move", Dry: x.dry, Span: v.span, Command: at})
	case "wipe":
		f.emit(Action{Kind: FileWipe, Path: f.resolve(v), Dry: x.dry, Span: v.span, Command: at})
	case "format":
		// An image in a regular file is a file like any other.
		if p := f.resolve(v); p.Unresolved || p.Place == PlaceDevice || p.Place == PlaceUnknown {
			f.emit(Action{Kind: FileWipe, Path: p, Dry: x.dry, Span: v.span, Command: at})
		} else if !x.dry {
			x.writes(v, value{s: unknownText, t: tCmd})
		}
	case "meta":
		f.emit(Action{Kind: FileMeta, Path: f.resolve(v), Span: v.span, Command: at})
	case "modepath", "chtree":
		f.emit(Action{Kind: FileMode, Path: f.resolve(v), Recursive: role == "chtree", Dry: x.dry, Span: v.span, Command: at})
	case "ownpath":
		f.emit(Action{Kind: FileOwner, Path: f.resolve(v), Dry: x.dry, Span: v.span, Command: at})
	case "exec":
		x.execFile(v)
	case "dir":
		f.emit(Action{Kind: FileMeta, Path: f.resolve(v), Span: v.span, Command: at})
		x.f = f.fork()
		x.f.chdir(v)
	case "url":
		x.fetch(v)
	case "upload":
		if v.s == "-" {
			f.emit(Action{Kind: NetUpload, Span: v.span, Command: at, Dry: x.dry})
			return
		}
		f.readFile(v, x.cmd, false)
		f.emit(Action{Kind: NetUpload, Span: v.span, Command: at, Dry: x.dry})
	case "host":
		f.emit(Action{Kind: NetConnect, Host: plain(v.s), Span: v.span, Command: at})
	case "sh":
		f.run(v, ViaScript, nil)
	case "shlist":
		for _, c := range listed(v.text()) {
			f.run(v.with(c), ViaRemote, nil)
		}
	case "sql":
		x.sql(v)
	case "sqlfile":
		x.sqlFile(v)
	case "secret", "userpass":
		x.literalSecret(role, v)
	case "config":
		// handled by Go code
	}
	_ = m
}

// listed takes the texts out of a list as cloud programs read it: JSON, or words
// behind a name, commands=["…","…"] or commands=….
func listed(s string) []string {
	_, rest, ok := strings.Cut(s, "commands")
	if !ok {
		return nil
	}
	rest = strings.TrimLeft(rest, `"=: `)
	if !strings.HasPrefix(rest, "[") {
		return []string{rest}
	}
	var out []string
	for range maxIterations {
		var ok bool
		if _, rest, ok = strings.Cut(rest, `"`); !ok {
			break
		}
		end := 0
		for end < len(rest) && rest[end] != '"' {
			if rest[end] == '\\' {
				end++
			}
			end++
		}
		end = min(end, len(rest))
		out = append(out, strings.ReplaceAll(strings.ReplaceAll(rest[:end], `\"`, `"`), `\n`, "\n"))
		rest = rest[min(end+1, len(rest)):]
	}
	return out
}

// packs is gzip and its kin: a file is replaced by its packed or unpacked form.
func (x *inv) packs(v value) {
	f, p := x.f, x.p
	if v.s == "-" {
		return
	}
	suffix := map[byte]string{'g': ".gz", 'x': ".xz", 'b': ".bz2", 'z': ".zst", 'l': ".lz4"}[x.name[0]]
	unpack := p.given("-d")
	switch x.name {
	case "gunzip":
		suffix, unpack = ".gz", true
	case "bunzip2":
		suffix, unpack = ".bz2", true
	case "unxz":
		suffix, unpack = ".xz", true
	case "brotli":
		suffix = ".br"
	case "lzma":
		suffix = ".lzma"
	}
	if p.given("-r") && !x.dry {
		f.emit(Action{Kind: FileWrite, Path: f.resolve(v), Recursive: true, Span: v.span, Command: x.cmd + 1})
		return
	}
	x.reads = append(x.reads, f.readFile(v, x.cmd, true))
	out := v.with(v.s + suffix)
	if unpack {
		out.s = strings.TrimSuffix(v.s, suffix)
	}
	if !p.given("-o") {
		x.writes(out, value{s: unknownText, t: tFile})
	}
	keeps := p.given("-k") || (x.name == "zstd" || x.name == "lz4" || x.name == "brotli") && !p.given("--rm")
	if !keeps {
		x.role("move", v)
	}
}

func (x *inv) writes(v, content value) {
	f := x.f
	if x.dry {
		f.emit(Action{Kind: FileWrite, Path: f.resolve(v), Dry: true, Span: v.span, Command: x.cmd + 1})
		return
	}
	f.writeTo(v, content, false, x.cmd, v.span)
}

func (x *inv) deletes(v value, tree bool) {
	f := x.f
	p := f.resolveEntry(v)
	cert := Certain
	if p.Unresolved || f.weak {
		cert = Possible
	}
	f.emit(Action{Kind: FileDelete, Path: p, Recursive: tree, Dry: x.dry, Certainty: cert, Span: v.span, Command: x.cmd + 1})
	if x.dry {
		return
	}
	x.deletesMoved(p, tree, v.span)
	if p.Unresolved {
		// Where the known part of the name lies outside it is a hazard already.
		f.m.undecided(PathUnresolved, v.s, tree && p.Place != PlaceOutside && p.Place != PlaceAbove && !(p.Place == PlaceTemp && v.has(tNames)), x.cmd, v.span)
	} else if tree && p.Slash && p.Place == PlaceWorkspace && !p.Glob && f.m.opts.FS == nil && symlinkName(p.Rel) {
		// With a slash at the end a link is followed, and nobody looked whether
		// this one is a link.
		f.m.undecided(PathUnresolved, v.s, true, x.cmd, v.span)
	}
	delete(f.m.files, p.Abs)
}

// symlinkName reports whether a folder's name is one that deployments give to
// links.
func symlinkName(rel string) bool {
	switch path.Base(strings.TrimSuffix(rel, "/")) {
	case "current", "latest", "live", "active", "release", "shared", "default", "stable", "link", "previous":
		return true
	}
	return false
}

// fetch records a download or a request.
func (x *inv) fetch(v value) int {
	return x.f.emit(Action{Kind: NetFetch, URL: plain(v.s), Host: plain(hostOf(v.s)), Span: v.span, Command: x.cmd + 1})
}

// hostOf gives the host of a URL or of user@host:path, lower case.
func hostOf(s string) string {
	if i := strings.Index(s, "://"); i >= 0 {
		s = s[i+3:]
	}
	if i := strings.IndexAny(s, "/?#"); i >= 0 {
		s = s[:i]
	}
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		s = s[i+1:]
	}
	if strings.HasPrefix(s, "[") {
		if i := strings.IndexByte(s, ']'); i > 0 {
			return strings.ToLower(s[1:i])
		}
	}
	if i := strings.IndexByte(s, ':'); i >= 0 && strings.Count(s, ":") == 1 {
		s = s[:i]
	}
	return strings.ToLower(s)
}

// loopback reports whether host is this machine.
func loopback(host string) bool {
	h := strings.ToLower(strings.Trim(host, "[]"))
	switch h {
	case "localhost", "::1", "0.0.0.0", "ip6-localhost", "0", "":
		return true
	}
	return strings.HasPrefix(h, "127.") || strings.HasSuffix(h, ".localhost")
}

// execFile runs a script file given as an operand.
func (x *inv) execFile(v value) {
	f := x.f
	if v.s == "-" || v.s == "" {
		return
	}
	if strings.HasPrefix(v.s, "/dev/fd/proc") || v.has(tNet) && strings.HasPrefix(v.s, "/dev/fd/") {
		x.runContent(f.m.files[v.s])
		return
	}
	if _, ok := x.scriptFile(v, nil); ok {
		return
	}
	p := f.resolve(v)
	f.emit(Action{Kind: FileExec, Path: p, Span: v.span, Command: x.cmd + 1})
	if p.Abs == "/dev/stdin" {
		x.runContent(x.in)
		return
	}
	fetched := f.m.fromNet(p.Abs)
	if fetched {
		f.emit(Action{Kind: NetRun, Path: p, Span: x.span, Command: x.cmd + 1})
	}
	f.m.undecided(ScriptUnknown, v.s, !fetched, x.cmd, x.span)
}

// runContent runs text that came through a pipe, a file or a substitution, in
// the shell.
func (x *inv) runContent(c value) value {
	f, m := x.f, x.f.m
	if c.span == (Span{}) {
		c.span = x.span
	}
	x.origin(c)
	if strings.Trim(c.s, unknownText+" \t\n") == "" && (!c.known() || c.s == "" && c.t != 0) {
		if c.t&(tNet|tPeer|tDecoded|tInit) == 0 {
			m.undecided(ScriptUnknown, "", true, x.cmd, x.span)
		}
		t := tCmd
		return value{s: unknownText, t: t}
	}
	if !c.known() {
		m.undecided(ScriptUnknown, "", c.t&(tNet|tPeer|tDecoded) == 0 && !mostlyKnown(c.s), x.cmd, x.span)
	}
	// The text was the input: its commands find nothing more there.
	return f.run(c, ViaStdin, func(g *frame) { g.in, g.hasIn = value{}, false })
}

// mostlyKnown reports whether only operands of a script are unknown, not its
// commands.
func mostlyKnown(s string) bool {
	for line := range strings.SplitSeq(s, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), unknownText) {
			return false
		}
	}
	return true
}

// origin records where text that is about to be run comes from.
func (x *inv) origin(c value) {
	f := x.f
	if c.t&(tNet|tPeer) != 0 && c.t&tInit == 0 {
		f.emit(Action{Kind: NetRun, Span: x.span, Command: x.cmd + 1})
	}
	if c.has(tDecoded) || c.has(tAnsi) {
		f.disguise(x.span, "decoded text is run", x.cmd)
	}
}

// chdir changes the folder of the frame.
func (f *frame) chdir(v value) {
	if v.s == "" {
		return
	}
	old := f.cwd
	p := join(f.cwd, v.s)
	if f.m.win {
		p = winAbs(f.cwd, v.s, f.posix())
	}
	f.cwd, _ = f.m.follow(p, true)
	f.oldpwd = old
}

// literalSecret records a credential given as plain text.
func (x *inv) literalSecret(role string, v value) {
	s := v.s
	if role == "userpass" {
		_, pass, ok := strings.Cut(s, ":")
		if !ok {
			return
		}
		s = pass
	}
	if !looksSecret(s) {
		return
	}
	x.f.emit(Action{Kind: SecretLiteral, Span: v.span, Command: x.cmd + 1})
}

// looksSecret reports whether a text, standing where a credential goes, is one:
// known, no placeholder, no file or variable.
func looksSecret(s string) bool {
	if len(s) < 4 || !clean(s) {
		return false
	}
	l := strings.ToLower(s)
	for _, p := range []string{"<", "$", "{", "%", "xxx", "your", "example", "changeme", "change_me", "placeholder", "dummy", "redacted", "***", "...", "todo", "none", "null", "true", "false", "process.env", "secrets.", "env:", "pass:", "file:", "insert", "replace", "test", "sample", "fake", "stdin", "prompt"} {
		if strings.Contains(l, p) {
			return false
		}
	}
	return !slices.Contains([]string{"postgres", "password", "secret", "root", "admin", "mysql", "guest", "minio", "minioadmin", "token", "user", "localdev", "develop"}, l)
}

// guardVar reports whether a variable belongs to the gate.
func guardVar(name string) bool { return strings.HasPrefix(name, "HOLDPOINT_") }

// watchedEnv lists variables whose setting in front of a command changes what it
// does in a way that rules ask about.
func watchedEnv(name string) bool {
	switch name {
	case "HUSKY", "HUSKY_SKIP_HOOKS", "SKIP", "LEFTHOOK", "LEFTHOOK_EXCLUDE", "PRE_COMMIT_ALLOW_NO_CONFIG", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS",
		"CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_SYSTEM_SETTINGS_PATH", "LD_PRELOAD", "BASH_ENV", "ENV", "PROMPT_COMMAND", "OVERCOMMIT_DISABLE", "SIMPLE_GIT_HOOKS", "SKIP_SIMPLE_GIT_HOOKS", "HUSKY_SKIP_INSTALL":
		return true
	}
	return secretVar(name) || strings.HasPrefix(name, "GIT_CONFIG_") || strings.HasPrefix(name, "OVERCOMMIT_")
}

// SecretVariable reports whether a variable's name says that it holds a secret.
func SecretVariable(name string) bool { return secretVar(name) }

func secretVar(name string) bool {
	u := strings.ToUpper(name)
	for _, p := range []string{"TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "APIKEY", "API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "CREDENTIAL", "ENCRYPTION_KEY", "SIGNING_KEY", "AUTH_KEY", "SSH_KEY", "DEPLOY_KEY", "MASTER_KEY", "LICENSE_KEY", "SERVICE_KEY"} {
		if strings.Contains(u, p) {
			return !strings.HasSuffix(u, "_FILE") && !strings.HasSuffix(u, "_PATH") && !strings.HasSuffix(u, "_NAME") && !strings.HasSuffix(u, "_URL") && !strings.HasSuffix(u, "_ID") && u != "SSH_AUTH_SOCK" && !strings.HasSuffix(u, "_COUNT") && !strings.HasPrefix(u, "MAX_")
		}
	}
	return strings.HasSuffix(u, "_PASS") || u == "PGPASS" || u == "PASS" || strings.HasSuffix(u, "_PAT") || strings.HasSuffix(u, "_PWD") && u != "OLD_PWD"
}
