package shell

import (
	"path"
	"strings"
)

// http is curl, wget and other clients.
func (x *inv) http() value {
	f, m, p := x.f, x.f.m, x.p
	at := x.cmd + 1
	if x.spec == nil {
		return x.unknownProgram()
	}
	first := len(m.res.Actions)
	out := x.runSpec()
	var urls []value
	method := ""
	data := value{}
	hasData, sends := false, false
	headerSecret := false
	for i := range p.flags {
		fl := &p.flags[i]
		switch fl.name {
		case "-X", "--method":
			method = strings.ToUpper(fl.val.s)
		case "--url":
			urls = append(urls, fl.val)
		case "-d", "--data-urlencode", "--json", "--body-data", "--post-data", "--raw", "--data-raw":
			hasData = true
			v := fl.val
			s := v.s
			if fl.name == "--data-urlencode" {
				if i := strings.IndexByte(s, '@'); i >= 0 && strings.IndexByte(s, '=') < 0 {
					s = s[i:]
				}
			}
			if rest, ok := strings.CutPrefix(s, "@"); ok && fl.name != "--data-raw" && fl.raw != "--data-raw" {
				body := x.sendFile(v.with(rest))
				sends = sends || !x.typedBody(rest, body)
				data = concat(data, body)
			} else {
				if v.t&dataTaints != 0 && v.t&tNames == 0 {
					sends = true
				}
				data = concat(data, v)
			}
		case "-F", "--form-string":
			hasData = true
			_, val, _ := strings.Cut(fl.val.s, "=")
			if fl.name == "-F" && (strings.HasPrefix(val, "@") || strings.HasPrefix(val, "<")) {
				sends = true
				name, _, _ := strings.Cut(val[1:], ";")
				data = concat(data, x.sendFile(fl.val.with(name)))
			} else if fl.val.t&dataTaints != 0 {
				sends = true
			}
		case "-T", "--post-file", "--body-file":
			body := x.sendFile(fl.val)
			hasData, sends = true, sends || !x.typedBody(fl.val.s, body)
			data = concat(data, body)
		case "-H", "-A", "-e", "-b", "--header", "--user-agent", "--referer":
			if rest, ok := strings.CutPrefix(fl.val.s, "@"); ok && fl.name == "-H" {
				f.readFile(fl.val.with(rest), x.cmd, false)
			}
			if fl.val.t&(tFile|tEnv) != 0 || fl.val.has(tCmd) && fl.val.has(tSubst) && !strings.Contains(strings.ToLower(fl.val.s), "authorization") {
				sends = sends || fl.val.has(tFile) && !strings.Contains(strings.ToLower(fl.val.s), "authorization")
			}
			l := strings.ToLower(fl.val.s)
			if i := strings.Index(l, "authorization:"); i >= 0 {
				w := strings.Fields(fl.val.s[i+14:])
				if len(w) > 0 && looksSecret(w[len(w)-1]) && len(w[len(w)-1]) >= 8 {
					headerSecret = true
				}
			} else if name, val, ok := strings.Cut(fl.val.s, ":"); ok && secretHeader(name) && looksSecret(strings.TrimSpace(val)) {
				headerSecret = true
			}
		case "-x", "--proxy":
		case "-K":
			f.readFile(fl.val, x.cmd, true)
		case "-u", "--user":
			x.literalSecret("userpass", fl.val)
		case "--password", "--http-password", "--ftp-password":
			x.literalSecret("secret", fl.val)
		}
	}
	if headerSecret {
		f.emit(Action{Kind: SecretLiteral, Span: x.span, Command: at})
	}
	pos := p.pos
	httpie := false
	switch x.name {
	case "http", "https", "xh", "httpie":
		httpie = true
		if len(pos) > 0 && strings.ToUpper(pos[0].s) == pos[0].s && strings.Trim(pos[0].s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" && pos[0].s != "" {
			method = pos[0].s
			pos = pos[1:]
		}
		if len(pos) > 0 {
			urls = append(urls, pos[0])
			for _, v := range pos[1:] {
				if i := strings.IndexByte(v.s, '@'); i > 0 && !strings.ContainsAny(v.s[:i], "=:") {
					sends = true
					x.sendFile(v.with(v.s[i+1:]))
				}
				if i := strings.Index(v.s, "=@"); i > 0 {
					sends = true
					x.sendFile(v.with(strings.TrimPrefix(v.s[i+2:], "@")))
				}
				if v.t&(tFile|tCmd) != 0 {
					sends = true
				}
			}
		}
		if f.hasIn && x.in.t&(tFile|tCmd|tEnv) != 0 {
			sends = true
			data = x.in
		}
	case "lftp":
		if fl := p.flag("-e"); fl != nil && containsWord(fl.val.s, "put", "mput", "mirror -R", "mirror --reverse") {
			sends = true
		}
		urls = append(urls, pos...)
	case "websocat", "wscat":
		urls = append(urls, pos...)
		if x.in.t&dataTaints != 0 {
			sends = true
		}
	default:
		urls = append(urls, pos...)
	}
	_ = httpie
	host := ""
	for _, u := range urls {
		if u.s == "" {
			continue
		}
		u.s = u.text()
		host = hostOf(u.s)
		x.fetch(u)
		if metadataHost(u.s) {
			out.src = append(out.src, f.emit(Action{Kind: SecretReveal, Name: "the metadata service", Span: x.span, Command: at}))
		}
		if rest, ok := strings.CutPrefix(u.s, "file://"); ok {
			i := len(m.res.Actions)
			f.readFile(u.with(rest), x.cmd, false)
			out.src = append(out.src, i)
		}
		// A URL that comes from a list as a whole says nothing of what is sent to it.
		listed := u.s[0] == markUnknown && !u.has(tEnv)
		if !listed && u.t&tNames == 0 && !x.publicData(u) {
			switch {
			case u.t&(tFile|tEnv) != 0, u.has(tCmd) && u.has(tSubst) && (strings.ContainsAny(u.s, "?") || x.tellsOwner(u)):
				sends = true
			}
		}
		x.forgeCall(method, u.s, data.s, hasData)
	}
	// A body read from a pipe was asked for with - .
	if sends && (len(urls) == 0 || !loopback(host)) {
		f.emit(Action{Kind: NetUpload, Host: plain(host), Span: x.span, Command: at})
		if data.has(tEnv) {
			f.emit(Action{Kind: EnvSend, Span: x.span, Command: at})
		}
	}
	out.t = tNet | tCmd
	out.s = unknownText
	if len(urls) > 0 && loopback(host) && strings.Contains(urls[0].s+"/", "localhost") {
		out.t = tCmd
	} else if len(urls) > 0 && loopback(host) && host != "" {
		out.t = tCmd
	}
	toFile := false
	for i := first; i < len(m.res.Actions); i++ {
		a := &m.res.Actions[i]
		if a.Kind == FileWrite && a.Command == x.cmd {
			toFile = true
			c := value{s: unknownText, t: out.t}
			m.putFile(a.Path.Abs, c)
			if a.Path.Place == PlaceNull {
				toFile = true
			}
		}
	}
	saved := func(u value) {
		name := u.s
		if i := strings.IndexAny(name, "?#"); i >= 0 {
			name = name[:i]
		}
		if i := strings.Index(name, "://"); i >= 0 {
			name = name[i+3:]
			if strings.IndexByte(name, '/') < 0 {
				name = "index.html"
			}
		}
		b := path.Base(name)
		if b == "." || b == "/" || b == "" {
			b = "index.html"
		}
		toFile = true
		g := x.f
		if d := p.flag("-P", "--output-dir"); d != nil {
			g = f.fork()
			g.chdir(d.val)
		}
		g.writeTo(u.with(b), value{s: unknownText, t: out.t}, false, x.cmd, x.span)
	}
	switch x.name {
	case "curl", "curlie":
		if p.given("-O") {
			for _, u := range urls {
				saved(u)
			}
		}
	case "wget", "wget2", "aria2c", "axel":
		if fl := p.flag("-O", "-o_"); fl == nil || x.name == "aria2c" && !p.given("-o") {
			if !p.given("--spider") && !(x.name != "wget" && p.given("-o")) {
				for _, u := range urls {
					saved(u)
				}
			}
		} else if fl.val.s == "-" || fl.val.s == "/dev/stdout" {
			toFile = false
		}
	case "lwp-download":
		if len(urls) > 0 {
			saved(urls[0])
		}
	}
	if p.given("-I", "--spider") && x.name != "wget" {
		out.t &^= tNet
	}
	if toFile {
		return value{t: 0}
	}
	return out
}

// typedBody reports whether a request's body is the input, as it stands in the text.
func (x *inv) typedBody(name string, body value) bool {
	return (name == "-" || name == "/dev/stdin") && x.f.hasIn && body.t&dataTaints == 0
}

// tellsOwner reports whether a word holds what a command says of who and where this
// is. Versions, platforms and the like, which also make up URLs, do not.
func (x *inv) tellsOwner(word value) bool {
	for i := x.cmd - 1; i >= 0; i-- {
		c := &x.f.m.res.Commands[i]
		if c.Span.Start < word.span.Start || c.Span.End > word.span.End {
			continue
		}
		switch c.Program {
		case "whoami", "hostname", "id", "hostnamectl", "ifconfig", "ip", "who", "w", "last", "ps", "ls", "history", "ss", "netstat", "logname", "groups", "pwd", "env", "printenv":
			return true
		}
	}
	return false
}

// publicData reports whether a value comes from files alone that say which version
// of what this is: from a file that holds the version, or picked out of a manifest.
// A whole manifest, or anything that was encoded first, is data that is sent.
func (x *inv) publicData(v value) bool {
	m := x.f.m
	if len(v.src) == 0 || v.has(tEnv) {
		return false
	}
	picked := false
	for i := range x.cmd {
		switch m.res.Commands[i].Program {
		case "jq", "yq", "grep", "sed", "awk", "cut", "node", "toml":
			picked = true
		case "base64", "base32", "xxd", "od", "hexdump", "gzip", "tar", "openssl", "zip", "xz", "zstd", "tr", "rev":
			return false
		}
	}
	for _, i := range v.src {
		a := &m.res.Actions[i]
		if a.Kind != FileRead || a.Path.Glob {
			return false
		}
		switch strings.ToLower(baseName(a.Path.Abs)) {
		case "version", "version.txt", ".nvmrc", ".node-version", ".python-version", ".ruby-version", ".terraform-version":
		case "package.json", "cargo.toml", "go.mod", "pyproject.toml", "composer.json", "chart.yaml", "pom.xml", "mix.exs", "build.gradle", "setup.cfg", "lerna.json", "manifest.json", ".tool-versions":
			if !picked {
				return false
			}
		default:
			return false
		}
	}
	return true
}

func containsWord(s string, words ...string) bool {
	for _, w := range words {
		if strings.HasPrefix(s, w+" ") || strings.Contains(s, " "+w+" ") || strings.Contains(s, ";"+w+" ") {
			return true
		}
	}
	return false
}

func secretHeader(name string) bool {
	l := strings.ToLower(strings.TrimSpace(name))
	return strings.Contains(l, "api-key") || strings.Contains(l, "apikey") || strings.Contains(l, "token") || strings.Contains(l, "secret") || l == "x-auth-key"
}

// sendFile is a file whose content goes into a request; - is the input.
func (x *inv) sendFile(v value) value {
	if v.s == "-" || v.s == "." || v.s == "/dev/stdin" {
		in := x.in
		if in.known() && in.t&dataTaints == 0 {
			return in
		}
		in.t |= tFile
		return in
	}
	r := x.f.readFile(v, x.cmd, false)
	r.t |= tFile
	return r
}

// transfer is scp, rsync and other copiers between machines.
func (x *inv) transfer() value {
	f, m, p := x.f, x.f.m, x.p
	at := x.cmd + 1
	if x.spec == nil {
		return x.unknownProgram()
	}
	out := x.runSpec()
	up := func(host string) {
		if host != "" && loopback(host) {
			return
		}
		f.emit(Action{Kind: NetUpload, Host: plain(host), Span: x.span, Command: at, Dry: x.dry})
	}
	switch x.name {
	case "scp", "rsync", "rcp", "pscp":
		pos := p.pos
		if e := p.flag("-e", "--rsh", "-S", "-o", "--rsync-path"); e != nil && (e.name == "-e" || e.name == "-S") {
			w := e.val
			w.s = w.text()
			if !strings.HasPrefix(strings.TrimSpace(w.s), "ssh") {
				f.run(w, ViaConfig, nil)
			} else if strings.Contains(w.s, "ProxyCommand") {
				f.run(w.with(w.s+" host true"), ViaConfig, nil)
			}
		}
		if x.name == "rsync" && p.given("--dry-run", "-n", "--list-only") {
			x.dry = true
		}
		if len(pos) == 0 {
			return out
		}
		dst := pos[len(pos)-1]
		srcs := pos[:len(pos)-1]
		dh, remote := remoteName(dst.s)
		if dst.openEnded() && !x.dry {
			x.undecidedOperand(dst, PathUnresolved) // a folder, or another host
		}
		for _, s := range srcs {
			h, r := remoteName(s.s)
			if r {
				f.emit(Action{Kind: NetFetch, Host: plain(h), URL: plain(s.s), Span: s.span, Command: at})
			} else {
				f.readFile(s, x.cmd, x.dry)
				if p.given("--remove-source-files") {
					x.role("move", s)
				}
			}
		}
		if remote {
			local := false
			for _, s := range srcs {
				if _, r := remoteName(s.s); !r {
					local = true
				}
			}
			if local && !x.dry {
				up(dh)
			}
			if x.name == "rsync" && p.given("--delete") && !x.dry {
				_, dir, _ := strings.Cut(dst.s, ":")
				if dir != "" {
					g := f.fork()
					g.cwd, _ = f.tilde("")
					f.emit(Action{Kind: FileDelete, Path: g.resolve(dst.with(expandTilde(f, dir))), Recursive: true, Span: dst.span, Command: at})
				}
			}
			return out
		}
		if len(srcs) > 0 {
			if p.given("--delete") {
				f.emit(Action{Kind: FileDelete, Path: f.resolve(dst), Recursive: true, Dry: x.dry, Span: dst.span, Command: at})
				if q := f.resolve(dst); q.Unresolved {
					m.undecided(PathUnresolved, dst.s, true, x.cmd, x.span)
				}
			}
			c := value{s: unknownText, t: tFile}
			for _, s := range srcs {
				if _, r := remoteName(s.s); r {
					c.t |= tNet
				}
			}
			x.writes(dst, c)
		}
	case "sftp", "psftp", "ftp", "tftp", "lftpput", "smbclient":
		text := x.in
		if fl := p.flag("-b"); fl != nil && fl.val.s != "-" {
			text = f.readFile(fl.val, x.cmd, true)
		}
		if fl := p.flag("-c"); fl != nil && x.name != "sftp" {
			text = fl.val
		}
		host := ""
		if len(p.pos) > 0 {
			host = hostOf(p.pos[0].s)
		}
		if text.known() {
			for _, l := range strings.FieldsFunc(text.s, func(r rune) bool { return r == '\n' || r == ';' }) {
				w := strings.Fields(l)
				if len(w) == 0 {
					continue
				}
				switch strings.TrimPrefix(strings.ToLower(w[0]), "-") {
				case "put", "mput", "reput", "send", "append":
					for _, a := range w[1:] {
						if !strings.HasPrefix(a, "-") {
							f.readFile(text.with(a), x.cmd, false)
							break
						}
					}
					up(host)
				case "get", "mget", "recv":
					if len(w) > 2 {
						x.writes(text.with(w[len(w)-1]), value{s: unknownText, t: tNet})
					}
				case "!":
					f.run(text.with(strings.TrimPrefix(strings.TrimSpace(l), "!")), ViaScript, nil)
				case "rm":
				}
				if strings.HasPrefix(w[0], "!") && len(w[0]) > 1 {
					f.run(text.with(strings.TrimPrefix(strings.TrimSpace(l), "!")), ViaScript, nil)
				}
			}
		} else if text.s != "" && text.t&tFile != 0 {
			m.undecided(ScriptUnknown, x.name, true, x.cmd, x.span)
		}
	case "rclone", "s3cmd", "mc", "s5cmd", "gsutil", "azcopy", "b2":
		x.cloudCopy(up)
	case "croc", "wormhole", "magic-wormhole":
		if len(p.sub) > 0 {
			for _, v := range p.pos {
				f.readFile(v, x.cmd, false)
			}
		}
	}
	return out
}

func expandTilde(f *frame, s string) string {
	if strings.HasPrefix(s, "~") {
		h, _ := f.tilde("")
		return h + strings.TrimPrefix(s, "~")
	}
	return s
}

// remoteName takes host:path apart.
func remoteName(s string) (host string, ok bool) {
	if strings.HasPrefix(s, "scp://") || strings.HasPrefix(s, "rsync://") || strings.HasPrefix(s, "sftp://") {
		return hostOf(s), true
	}
	i := strings.IndexByte(s, ':')
	if i <= 0 || strings.IndexByte(s[:i], '/') >= 0 {
		return "", false
	}
	return hostOf(s[:i]), true
}

// cloudCopy judges copies to and from object stores.
func (x *inv) cloudCopy(up func(string)) {
	f, p := x.f, x.p
	sub := strings.Join(p.sub, " ")
	if x.dry {
		return
	}
	isStore := func(s string) bool {
		return strings.Contains(s, "://") && !strings.HasPrefix(s, "file://") || x.name == "rclone" && func() bool { _, ok := remoteName(s); return ok }() ||
			x.name == "mc" && strings.IndexByte(s, '/') > 0 && !strings.HasPrefix(s, ".") && !strings.HasPrefix(s, "/")
	}
	switch sub {
	case "cp", "copy", "sync", "mv", "move", "put", "copyto", "moveto", "rsync", "mirror", "pipe", "rcat", "upload-file", "bisync":
		if len(p.pos) == 0 {
			return
		}
		dst := p.pos[len(p.pos)-1]
		if isStore(dst.s) {
			local := false
			for _, v := range p.pos[:len(p.pos)-1] {
				if !isStore(v.s) {
					local = true
					if v.s != "-" {
						f.readFile(v, x.cmd, false)
					}
				}
			}
			if local || sub == "pipe" || sub == "rcat" || len(p.pos) == 1 {
				up("")
			}
		} else if len(p.pos) > 1 {
			x.writes(dst, value{s: unknownText, t: tNet})
		}
	}
}

// carrier is a program whose queries can carry data away: dig, nslookup, ping.
func (x *inv) carrier() value {
	f := x.f
	at := x.cmd + 1
	for _, a := range x.args[1:] {
		if a.t&(tFile|tEnv) != 0 || a.has(tCmd) && a.has(tSubst) && (x.name == "dig" || x.name == "nslookup" || x.name == "host" || x.name == "ping" || x.name == "drill" || x.name == "dog") && strings.ContainsRune(a.s, '.') {
			f.emit(Action{Kind: NetUpload, Detail: "a name that carries data", Span: x.span, Command: at})
			break
		}
		if a.has(tVar) && !a.known() && len(a.vars) == 0 && strings.Contains(a.s, unknownText+".") {
			f.emit(Action{Kind: NetUpload, Detail: "a name that carries data", Span: x.span, Command: at})
			break
		}
		for _, n := range a.vars {
			if secretVar(n) {
				f.emit(Action{Kind: NetUpload, Detail: "a name that carries a secret", Span: x.span, Command: at})
				f.emit(Action{Kind: EnvPrint, Name: n, Span: x.span, Command: at})
			}
		}
	}
	if x.spec != nil {
		return x.runSpec()
	}
	return value{s: unknownText, t: tCmd | tNames}
}
