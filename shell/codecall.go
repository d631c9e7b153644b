package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

func (c *coder) arg(args []cval, recv *cval, which string) cval {
	if which == "r" && recv != nil {
		return *recv
	}
	n, err := strconv.Atoi(which)
	if err != nil || n >= len(args) {
		return cval{v: value{s: unknownText}}
	}
	return args[n]
}

func keyword(args []cval, names ...string) (cval, bool) {
	for _, a := range args {
		for _, n := range names {
			if v, ok := a.keys[n]; ok {
				return v, true
			}
		}
	}
	return cval{}, false
}

func truthy(v cval) bool { return v.name == "true" || v.isNum && v.v.s != "0" }

// call judges one call and gives its result.
func (c *coder) call(v cval, recv *cval, args []cval) cval {
	m := c.x.f.m
	if !m.step(c.x.span) {
		return noVal
	}
	if rule, ok := callRules()[c.lang+" "+strings.TrimPrefix(v.name, "promises.")]; ok {
		return c.effect(rule, v, recv, args)
	}
	if r, ok := c.pure(v, recv, args); ok {
		return r
	}
	rule, ok := c.rule(v, recv)
	if !ok {
		res := cval{v: value{s: unknownText}, name: v.name + "()"}
		for _, a := range args {
			res.v.t |= a.taints()
			res.v.src = append(res.v.src, a.sources()...)
		}
		if recv != nil {
			res.v.t |= recv.taints()
			res.v.src = append(res.v.src, recv.sources()...)
		}
		return res
	}
	return c.effect(rule, v, recv, args)
}

func (c *coder) file(v cval) value {
	a := v.v
	if !v.ok && a.s == "" {
		a.s = unknownText
	}
	a.span = c.x.span
	return a
}

func (c *coder) each(v cval, fn func(value)) {
	if v.isLst {
		for _, e := range v.list {
			c.each(e, fn)
		}
		return
	}
	if v.keys != nil && !v.ok {
		return
	}
	fn(c.file(v))
}

func (c *coder) effect(r callRule, v cval, recv *cval, args []cval) cval {
	x, f := c.x, c.x.f
	res := cval{v: value{s: unknownText}}
	target := c.arg(args, recv, r.arg)
	every := func(fn func(value)) {
		if r.arg == "*" {
			for _, a := range args {
				c.each(a, fn)
			}
			return
		}
		c.each(target, fn)
	}
	switch r.effect {
	case "read":
		every(func(a value) {
			res.v = concat(res.v.with(""), f.readFile(a, x.cmd, false))
		})
		res.ok = res.v.known()
	case "readfd":
		if f.hasIn {
			res.v = x.in
			res.ok = x.in.known()
		}
	case "write":
		content := value{s: unknownText, t: tCmd}
		if len(args) > 1 && args[1].ok {
			content = args[1].v
		}
		every(func(a value) { x.writes(a, content) })
	case "open":
		mode := ""
		for i, a := range args {
			if i > 0 && a.ok {
				mode = a.v.s
				break
			}
		}
		if k, ok := keyword(args, "mode"); ok {
			mode = k.v.s
		}
		if r.arg == "r" && len(args) > 0 {
			mode = args[0].v.s
		}
		file := c.file(target)
		if c.lang == "perl" {
			return c.perlOpen(args)
		}
		if strings.HasPrefix(file.s, "|") && c.lang == "ruby" {
			return c.shellRun(cval{v: file.with(file.s[1:]), ok: true})
		}
		if strings.HasPrefix(file.s, "http://") || strings.HasPrefix(file.s, "https://") {
			x.fetch(file)
			res.v.t |= tNet
			return res
		}
		if strings.ContainsAny(mode, "wax+") {
			x.writes(file, value{s: unknownText, t: tCmd})
			res.name = "file"
			return res
		}
		res.v = f.readFile(file, x.cmd, false)
		res.name = "file"
		res.ok = res.v.known() && len(res.v.s) > 0
	case "mkdir":
		every(func(a value) { x.writes(a, value{}) })
	case "delete":
		every(func(a value) { x.deletes(a, false) })
	case "deltree":
		every(func(a value) { x.deletes(a, true) })
	case "rmopt":
		tree := false
		if k, ok := keyword(args, "recursive"); ok {
			tree = truthy(k)
		}
		every(func(a value) { x.deletes(a, tree) })
	case "mode":
		mode := ""
		for i, a := range args {
			if strconv.Itoa(i) != r.arg && (a.isNum || a.ok) {
				mode = octal(a.v.s, a.isNum)
				break
			}
		}
		if r.arg == "*" && len(args) > 0 {
			mode = octal(args[0].v.s, args[0].isNum)
			args = args[1:]
		}
		every(func(a value) {
			f.emit(Action{Kind: FileMode, Path: f.resolve(a), Mode: mode, Recursive: strings.Contains(v.name, "_R") || strings.HasSuffix(v.name, "_r"), Span: x.span, Command: x.cmd + 1})
		})
	case "owner":
		every(func(a value) {
			f.emit(Action{Kind: FileOwner, Path: f.resolve(a), Recursive: strings.HasSuffix(v.name, "_R"), Span: x.span, Command: x.cmd + 1})
		})
	case "move", "copy":
		src, dst := target, c.arg(args, recv, "1")
		if r.arg == "r" {
			dst = c.arg(args, recv, "0")
		}
		c.each(src, func(a value) {
			if r.effect == "move" {
				x.role("move", a)
			} else {
				f.readFile(a, x.cmd, false)
			}
		})
		x.writes(c.file(dst), value{s: unknownText, t: tFile})
	case "link":
		src, dst := c.file(c.arg(args, recv, "0")), c.file(c.arg(args, recv, "1"))
		if r.arg == "r" {
			dst = c.file(*recv)
			src = c.file(c.arg(args, recv, "0"))
		}
		x.makeLink(src, dst)
	case "wipe":
		every(func(a value) {
			f.emit(Action{Kind: FileWipe, Path: f.resolve(a), Span: x.span, Command: x.cmd + 1})
		})
	case "chdir":
		f.chdir(c.file(target))
	case "sh":
		if len(args) > 1 && (c.lang == "perl" || c.lang == "ruby") && !args[0].isLst && args[1].ok && args[1].keys == nil {
			return c.argv(args)
		}
		if len(args) > 1 && c.lang == "js" && args[1].isLst {
			return c.argv(append([]cval{args[0]}, args[1].list...))
		}
		if target.isLst {
			return c.argv(target.list)
		}
		return c.shellRun(target)
	case "argv":
		// exec families: a program and its arguments.
		if len(args) > 1 && args[1].isLst {
			list := args[1].list
			if c.lang == "js" || c.lang == "other" {
				list = append([]cval{args[0]}, list...)
			} else if len(list) > 0 {
				list = append([]cval{args[0]}, list[1:]...)
			}
			return c.argv(list)
		}
		if target.isLst {
			return c.argv(target.list)
		}
		if strings.HasPrefix(v.name, "os.execl") && len(args) > 2 {
			return c.argv(append([]cval{args[0]}, args[2:]...))
		}
		if strings.HasPrefix(v.name, "os.spawn") && len(args) > 2 {
			if args[2].isLst && len(args[2].list) > 0 {
				return c.argv(append([]cval{args[1]}, args[2].list[1:]...))
			}
			return c.argv(append([]cval{args[1]}, args[min(3, len(args)):]...))
		}
		return c.argv(args)
	case "spawn":
		if k, ok := keyword(args, "args"); ok && len(args) > 0 && args[0].keys != nil {
			target = k
		}
		if k, ok := keyword(args, "shell"); ok && truthy(k) {
			if target.isLst && len(target.list) > 0 {
				return c.shellRun(target.list[0])
			}
			if len(args) > 1 && args[1].isLst {
				all := target.v
				for _, a := range args[1].list {
					all.s += " " + a.v.s
				}
				return c.shellRun(cval{v: all, ok: true})
			}
			return c.shellRun(target)
		}
		if target.isLst {
			return c.argv(target.list)
		}
		if len(args) > 1 && args[1].isLst {
			return c.argv(append([]cval{target}, args[1].list...))
		}
		if c.lang == "python" || c.lang == "js" {
			return c.argv([]cval{target})
		}
		return c.shellRun(target)
	case "shell":
		c.shelled = true
		if target.isLst {
			c.argv(target.list)
		} else if target.ok {
			c.argv([]cval{target})
		}
	case "code":
		code := target.v
		if !target.ok && code.s == "" {
			code.s = unknownText
		}
		if code.t&(tNet|tPeer) != 0 {
			c.emit(Action{Kind: NetRun})
		}
		if c.connected && code.opaque() {
			c.shelled = true
		}
		if code.has(tDecoded) {
			f.disguise(x.span, "decoded text is run", x.cmd)
		}
		if target.ok && !code.opaque() && c.depth < 60 {
			sub := &coder{x: x, lang: c.lang, env: c.env, depth: c.depth + 8}
			sub.toks = tokenize(c.lang, code.text())
			sub.program()
			c.connected = c.connected || sub.connected
			c.shelled = c.shelled || sub.shelled
		} else if code.t&(tNet|tPeer|tDecoded) == 0 && !c.connected {
			f.m.undecided(CodeInline, "", true, x.cmd, x.span)
		}
	case "fetch":
		u := c.file(target)
		if target.keys != nil {
			if k, ok := keyword(args, "url", "hostname", "host"); ok {
				u = c.file(k)
			}
		}
		x.fetch(u)
		c.upload(u, args)
		res.v.t |= tNet
		if loopback(hostOf(u.s)) && strings.Contains(u.s, "://") {
			res.v.t &^= tNet
		}
		if metadataHost(u.s) {
			c.emit(Action{Kind: SecretReveal, Name: "the metadata service"})
		}
	case "post":
		u := c.file(target)
		x.fetch(u)
		c.upload(u, args)
		res.v.t |= tNet
	case "connect":
		c.connected = true
		host := target
		if target.isLst && len(target.list) > 0 {
			host = target.list[0]
		}
		h := host.v.s
		if k, ok := keyword(args, "PeerAddr", "host", "PeerHost"); ok {
			h = k.v.s
		}
		if host.isNum && len(args) > 1 {
			h = args[1].v.s
		}
		if loopback(h) && h != "" {
			c.connected = false
		}
		c.emit(Action{Kind: NetConnect, Host: plain(hostOf(h))})
		if k, ok := keyword(args, "Listen"); ok {
			_ = k
			c.listened = true
			c.emit(Action{Kind: NetListen})
		}
		res.v.t |= tPeer
		res.name = "socket"
	case "listen":
		host := ""
		c.listened = true
		t := target
		if t.isLst && len(t.list) > 0 {
			t = t.list[0]
		}
		host = t.v.s
		if len(args) > 1 && args[1].ok && c.lang != "python" && !args[1].isNum {
			host = args[1].v.s
		}
		if k, ok := keyword(args, "hostname", "host", "Host", "LocalAddr"); ok {
			host = k.v.s
		}
		if strings.HasPrefix(host, "127.") || host == "localhost" || host == "::1" {
			return res
		}
		c.emit(Action{Kind: NetListen, Host: plain(host)})
		res.v.t |= tPeer
		res.name = "socket"
	case "send":
		if recv == nil || !(recv.v.has(tPeer) || c.connected || strings.Contains(recv.name, "http") || strings.Contains(recv.name, "socket") || recv.v.has(tNet) || recv.name == "s" || recv.name == "sock" || strings.Contains(recv.name, "request")) {
			return res
		}
		c.upload(value{}, args)
	case "dup":
		c.shelled = c.shelled || c.connected
	case "fork":
		c.forked = true
		if c.lang == "perl" && len(c.toks) <= 8 {
			c.looped = true
		}
	case "kill":
		pid := c.arg(args, recv, r.arg)
		if pid.ok && strings.HasPrefix(pid.v.s, "-1") || pid.v.has(tKillList) {
			sig := c.arg(args, recv, "1")
			if r.arg == "1" {
				sig = c.arg(args, recv, "0")
			}
			if !(sig.isNum && sig.v.s == "0") {
				c.emit(Action{Kind: ProcKill, Name: pid.v.s, Broad: true})
			}
		}
	case "print":
		if c.stdout != nil {
			for _, a := range args {
				if a.ok {
					c.stdout.s += a.v.s
					c.stdout.t |= a.v.t
				} else {
					c.stdout.s += unknownText
				}
			}
			if c.lang != "perl" && c.lang != "php" && v.name != "process.stdout.write" && v.name != "sys.stdout.write" {
				c.stdout.s += "\n"
			}
		}
		for _, a := range args {
			for _, n := range a.v.vars {
				i := c.emit(Action{Kind: EnvPrint, Name: n})
				res.v.src = append(res.v.src, i)
			}
			res.v.t |= a.taints()
			res.v.src = append(res.v.src, a.sources()...)
			if a.v.has(tEnv) || a.name == "os.environ" || a.name == "process.env" || a.name == "ENV" {
				i := c.emit(Action{Kind: EnvPrint, Quiet: true})
				res.v.src = append(res.v.src, i)
				res.v.t |= tEnv
			}
		}
	case "elevate":
		if target.isNum && target.v.s == "0" {
			c.emit(Action{Kind: PrivElevate, Name: v.name})
		}
	case "sql":
		if target.ok {
			x.sql(target.v)
		}
	case "infra":
		c.emit(Action{Kind: InfraDestroy, Name: v.name})
	case "reveal":
		res.v.src = append(res.v.src, c.emit(Action{Kind: SecretReveal, Name: v.name}))
	case "upload":
		every(func(a value) {
			if a.s != unknownText {
				f.readFile(a, x.cmd, false)
			}
		})
		c.emit(Action{Kind: NetUpload, Name: v.name})
	case "sdkdelete":
		// .delete() of cloud and database objects.
		if recv == nil {
			break
		}
		switch n := recv.name; {
		case strings.Contains(n, "boto3") && strings.Contains(n, "Table"):
			c.emit(Action{Kind: DataDestroy, Name: n})
		case strings.Contains(n, "boto3"), strings.Contains(n, "bucket()"), strings.Contains(n, "google.cloud"), strings.Contains(n, "storage.Client"):
			c.emit(Action{Kind: InfraDestroy, Name: n})
		case strings.HasSuffix(n, "objects.all()"), strings.HasSuffix(n, ".query()"), strings.HasSuffix(n, ".all()"):
			c.emit(Action{Kind: DataDestroy, Name: n})
		}
	case "forced":
		if k, ok := keyword(args, "force", "drop"); ok && truthy(k) {
			c.emit(Action{Kind: DataDestroy, Name: v.name})
		}
	case "emptyonly":
		empty := len(args) == 0 || args[0].keys != nil && len(args[0].keys) == 0 && !args[0].ok
		if empty {
			c.emit(Action{Kind: DataDestroy, Name: v.name})
		}
	case "dropdb":
		c.emit(Action{Kind: DataDestroy, Name: v.name})
	}
	return res
}

func metadataHost(u string) bool {
	switch hostOf(u) {
	case "169.254.169.254", "metadata.google.internal", "metadata", "100.100.100.200", "fd00:ec2::254", "169.254.170.2", "metadata.azure.com", "metadata.azure.internal":
		return true
	}
	h := hostOf(u)
	return h == "0xa9fea9fe" || h == "2852039166" || h == "[fd00:ec2::254]"
}

// upload records that local data goes into a request.
func (c *coder) upload(u value, args []cval) {
	var t taint
	for _, a := range args {
		t |= a.taints()
		if a.name == "os.environ" || a.name == "process.env" || a.name == "ENV" {
			t |= tEnv
		}
		for _, k := range a.keys {
			if k.name == "os.environ" || k.name == "process.env" || k.name == "ENV" {
				t |= tEnv
			}
		}
	}
	if t&dataTaints == 0 {
		return
	}
	host := hostOf(u.s)
	if u.s != "" && loopback(host) {
		return
	}
	c.emit(Action{Kind: NetUpload, Host: plain(host), URL: plain(u.s)})
	if t&tEnv != 0 {
		c.emit(Action{Kind: EnvSend})
	}
}

func octal(s string, num bool) string {
	s = strings.ToLower(s)
	if strings.HasPrefix(s, "0o") {
		return s[2:]
	}
	if num && !strings.HasPrefix(s, "0") {
		if n, err := strconv.Atoi(s); err == nil {
			return strconv.FormatInt(int64(n), 8)
		}
	}
	return s
}

func (c *coder) perlOpen(args []cval) cval {
	x := c.x
	res := cval{v: value{s: unknownText}, name: "file"}
	if len(args) < 2 {
		return res
	}
	mode := strings.TrimSpace(args[1].v.s)
	var file cval
	if len(args) > 2 {
		file = args[2]
	} else {
		i := 0
		for i < len(mode) && strings.IndexByte("<>+|& ", mode[i]) >= 0 {
			i++
		}
		file = cval{v: args[1].v.with(strings.TrimRight(mode[i:], " |")), ok: args[1].ok}
	}
	switch {
	case strings.Contains(mode, "&"):
		if c.connected {
			c.shelled = true
		}
	case strings.HasPrefix(mode, "|") || strings.HasSuffix(mode, "|") || mode == "-|" || mode == "|-":
		return c.shellRun(file)
	case strings.HasPrefix(mode, ">") || strings.HasPrefix(mode, "+"):
		x.writes(c.file(file), value{s: unknownText, t: tCmd})
	default:
		res.v = x.f.readFile(c.file(file), x.cmd, false)
		c.setHandle(args[0], res)
	}
	return res
}

func (c *coder) setHandle(h cval, v cval) {
	if h.name != "" {
		c.env[h.name] = v
	}
}

// shellRun runs a text through the shell.
func (c *coder) shellRun(v cval) cval {
	x, f := c.x, c.x.f
	s := v.v
	s.span = x.span
	if isShellName(baseName(s.s)) || strings.HasSuffix(strings.Fields(s.s + " x")[0], "/sh") {
		c.shelled = c.shelled || c.connected || c.listened || len(strings.Fields(s.s)) <= 2
	}
	if !v.ok || s.opaque() {
		if s.t&tPeer != 0 || c.connected {
			c.shelled = true // by whoever is at the other end
			return cval{v: value{s: unknownText, t: tCmd}}
		}
		if s.t&tNet != 0 {
			c.emit(Action{Kind: NetRun})
		}
		f.m.undecided(CommandDynamic, "", s.t&tNet == 0, x.cmd, x.span)
		return cval{v: value{s: unknownText, t: tCmd}}
	}
	x.origin(s)
	out := f.run(s, ViaScript, func(g *frame) { g.in, g.hasIn = value{}, false })
	return cval{v: out, ok: out.known()}
}

// argv starts a program with a list of words.
func (c *coder) argv(list []cval) cval {
	x, f := c.x, c.x.f
	var args []value
	var glued taint
	for _, a := range list {
		if a.keys != nil && !a.ok {
			continue
		}
		if a.isLst {
			for _, e := range a.list {
				args = append(args, c.file(e))
			}
			continue
		}
		args = append(args, c.file(a))
		glued |= a.v.t
	}
	if len(args) == 0 {
		return noVal
	}
	if isShellName(baseName(args[0].s)) {
		c.shelled = true
	}
	if args[0].has(tDecoded) {
		f.disguise(x.span, "decoded text is run", x.cmd)
	}
	g := f.fork()
	g.depth++
	g.in, g.hasIn = value{}, false
	g.nested, g.base = true, x.span
	y := &inv{f: g, args: args, span: x.span, noFunc: true}
	out := y.dispatch()
	return cval{v: out, ok: out.known()}
}

// pure knows calls that only make values.
func (c *coder) pure(v cval, recv *cval, args []cval) (cval, bool) {
	arg := func(i int) cval {
		if i < len(args) {
			return args[i]
		}
		return cval{}
	}
	home := func() cval {
		h, _ := c.x.f.tilde("")
		return cval{v: lit(h), ok: h != unknownText}
	}
	switch v.name {
	case "os.path.expanduser", "expanduser", "File.expand_path", "os.path.expandvars":
		a := arg(0)
		if v.name == "os.path.expandvars" {
			a.v.s = c.x.f.expandText(a.v.s)
		}
		if a.ok && strings.HasPrefix(a.v.s, "~") {
			name, rest, _ := strings.Cut(a.v.s[1:], "/")
			dir, ok := c.x.f.tilde(name)
			if ok {
				a.v.s = dir
				if rest != "" {
					a.v.s += "/" + rest
				}
			}
		}
		return a, true
	case "os.path.join", "path.join", "path.resolve", "File.join", "join", "path.posix.join", "os.path.normpath", "os.path.abspath", "os.path.realpath", "path.normalize", "fs.realpathSync", "File.realpath", "catfile":
		if v.name == "join" && len(args) == 0 {
			return cval{}, false
		}
		r := arg(0)
		for _, a := range args[min(1, len(args)):] {
			r = cval{v: c.joinPath(r.v, a.v), ok: r.ok || a.ok}
			if !a.ok {
				r.v.s = strings.TrimSuffix(r.v.s, "/")
			}
		}
		if r.v.s == "" {
			r.v.s = unknownText
		}
		return r, true
	case "os.homedir", "homedir", "Dir.home", "Path.home", "pathlib.Path.home":
		h := home()
		if strings.HasSuffix(v.name, "Path.home") {
			h.name = "Path"
		}
		return h, true
	case "os.getcwd", "process.cwd", "Dir.pwd", "Path.cwd", "pathlib.Path.cwd", "getcwd", "Deno.cwd", "cwd":
		r := cval{v: lit(c.x.f.cwd), ok: c.x.f.cwd != unknownText}
		if strings.HasSuffix(v.name, "Path.cwd") {
			r.name = "Path"
		}
		return r, true
	case "os.tmpdir", "tempfile.gettempdir", "Dir.tmpdir", "tempfile.mkdtemp", "Dir.mktmpdir", "fs.mkdtempSync", "tempfile.mktemp", "tempfile.mkstemp", "Deno.makeTempDir":
		if strings.Contains(v.name, "mk") || strings.Contains(v.name, "make") {
			return text("/tmp/made-by-mktemp"), true
		}
		return text("/tmp"), true
	case "Path", "pathlib.Path", "PosixPath", "PurePath", "pathlib.PurePath", "Pathname", "Pathname.new":
		r := arg(0)
		for _, a := range args[min(1, len(args)):] {
			r.v = c.joinPath(r.v, a.v)
		}
		if len(args) == 0 {
			r = text(".")
		}
		r.name = "Path"
		return r, true
	case "os.environ.get", "os.getenv", "getenv", "ENV.fetch", "Deno.env.get", "os.environ.pop", "environ.get":
		r := c.envVar(arg(0).v.s)
		if !r.ok && len(args) > 1 && args[1].ok {
			d := args[1]
			d.v.vars = r.v.vars
			return d, true
		}
		return r, true
	case "String.fromCharCode", "String.fromCodePoint":
		var b strings.Builder
		for _, a := range args {
			for _, e := range append([]cval{a}, a.list...) {
				if n, ok := c.number(e); ok {
					b.WriteRune(rune(n))
				}
			}
		}
		r := text(b.String())
		r.v.t |= tDecoded
		return r, true
	case "chr":
		if n, ok := c.number(arg(0)); ok {
			r := text(string(rune(n)))
			r.v.t |= tDecoded
			return r, true
		}
		return cval{v: value{s: unknownText, t: tDecoded}}, true
	case "base64.b64decode", "b64decode", "atob", "Base64.decode64", "Base64.strict_decode64", "decode_base64", "MIME::Base64::decode_base64", "base64_decode", "base64.standard_b64decode", "base64.urlsafe_b64decode", "base64.decodebytes", "Base64.urlsafe_decode64", "base64.b32decode", "window.atob":
		a := arg(0)
		if a.ok {
			if s, ok := decode64(a.v.s); ok {
				r := text(s)
				r.v.t |= a.v.t | tDecoded
				return r, true
			}
		}
		return cval{v: value{s: unknownText, t: a.v.t | tDecoded}}, true
	case "bytes.fromhex", "binascii.unhexlify", "unhexlify", "hex2bin", "bytearray.fromhex", "codecs.decode":
		a := arg(0)
		if v.name == "codecs.decode" && strings.Contains(arg(1).v.s, "rot") {
			r := a
			r.v.s = rot13(a.v.s)
			r.v.t |= tDecoded
			return r, true
		}
		if a.ok {
			if s, ok := decodeHex(a.v.s); ok {
				r := text(s)
				r.v.t |= a.v.t | tDecoded
				return r, true
			}
			if s, ok := decode64(a.v.s); ok && strings.Contains(arg(1).v.s, "64") {
				r := text(s)
				r.v.t |= tDecoded
				return r, true
			}
		}
		return cval{v: value{s: unknownText, t: a.v.t | tDecoded}}, true
	case "str_rot13":
		a := arg(0)
		a.v.s = rot13(a.v.s)
		a.v.t |= tDecoded
		return a, true
	case "strrev", "reverse", "scalar":
		a := arg(0)
		if a.ok {
			a.v.s = reverse(a.v.s)
			a.v.t |= tDecoded
		}
		return a, true
	case "zlib.decompress", "gzip.decompress", "gzinflate", "marshal.loads", "zlib.inflateSync", "gunzipSync", "pickle.loads":
		return cval{v: value{s: unknownText, t: arg(0).taints() | tDecoded}}, true
	case "Buffer.from", "Buffer", "unpack", "pack":
		a := arg(0)
		enc := arg(1).v.s
		if v.name == "pack" && a.ok && (strings.HasPrefix(a.v.s, "H") || strings.HasPrefix(a.v.s, "C") || strings.HasPrefix(a.v.s, "W")) {
			if s, ok := decodeHex(arg(1).v.s); ok && strings.HasPrefix(a.v.s, "H") {
				r := text(s)
				r.v.t |= tDecoded
				return r, true
			}
			return cval{v: value{s: unknownText, t: tDecoded}}, true
		}
		if a.ok {
			switch enc {
			case "base64", "base64url":
				if s, ok := decode64(a.v.s); ok {
					r := text(s)
					r.v.t |= tDecoded
					return r, true
				}
			case "hex":
				if s, ok := decodeHex(a.v.s); ok {
					r := text(s)
					r.v.t |= tDecoded
					return r, true
				}
			}
		}
		return a, true
	case "str", "String", "repr", "bytes", "JSON.stringify", "json.dumps", "list", "sorted", "shlex.split", "shlex.quote", "Array.from", "tuple", "set", "dict", "json.loads", "JSON.parse", "Object.entries", "Object.keys", "util.inspect", "util.promisify", "promisify", "TextDecoder", "urllib.parse.urlencode", "urlencode", "encodeURIComponent", "querystring.stringify", "btoa", "base64.b64encode", "Base64.encode64", "b64encode", "Base64.strict_encode64", "FormData", "Blob", "io.BytesIO", "io.StringIO", "Promise.all", "iter", "map", "filter":
		a := arg(0)
		switch v.name {
		case "shlex.split":
			if a.ok {
				l := cval{isLst: true}
				for w := range strings.FieldsSeq(a.v.s) {
					l.list = append(l.list, text(strings.Trim(w, `'"`)))
				}
				return l, true
			}
		case "Object.keys":
			return cval{v: value{s: unknownText, t: tNames}}, true
		case "promisify", "util.promisify":
			return a, true
		case "base64.b64encode", "btoa", "Base64.encode64", "b64encode", "Base64.strict_encode64", "JSON.stringify", "json.dumps", "json.loads", "JSON.parse":
			r := cval{v: value{s: unknownText, t: a.taints(), src: a.sources(), vars: a.v.vars}}
			if a.name == "process.env" || a.name == "os.environ" {
				r.v.t |= tEnv
			}
			return r, true
		case "map":
			if a.name == "chr" && arg(1).isLst {
				l := cval{isLst: true}
				for _, e := range arg(1).list {
					if n, ok := c.number(e); ok {
						ch := text(string(rune(n)))
						ch.v.t |= tDecoded
						l.list = append(l.list, ch)
					}
				}
				return l, true
			}
			if a.name == "chr" {
				return cval{v: value{s: unknownText, t: tDecoded}}, true
			}
		case "dict", "filter", "Object.entries":
			if a.name == "os.environ" || a.name == "process.env" {
				a.v.t |= tEnv
			}
		}
		return a, true
	case "glob.glob", "glob", "Dir.glob", "Dir", "glob.iglob", "fs.readdirSync", "os.listdir", "Dir.entries", "Dir.children", "fs.readdir", "os.scandir", "fs.globSync":
		a := arg(0)
		if a.ok {
			a.v.s = activate(a.v.s)
			if strings.Contains(v.name, "readdir") || strings.Contains(v.name, "listdir") || strings.Contains(v.name, "entries") || strings.Contains(v.name, "children") || strings.Contains(v.name, "scandir") {
				a.v.s = string([]byte{markStar})
			}
		}
		return a, true
	case "sys.stdin.read", "STDIN.read", "gets", "input", "sys.stdin.buffer.read", "$stdin.read", "STDIN.gets", "fs.readFileSync(0)":
		if c.x.f.hasIn {
			r := cval{v: c.x.in, ok: c.x.in.known()}
			return r, true
		}
		return noVal, true
	case "len", "length", "size", "os.path.exists", "fs.existsSync", "File.exist?", "File.file?", "os.path.isfile", "os.path.isdir", "-e", "file_exists", "File.exists?", "File.directory?", "os.stat", "fs.statSync", "os.path.getsize", "fs.accessSync", "isinstance", "type", "bool", "os.access":
		return cval{v: value{s: unknownText, t: tNames}}, true
	case "int", "parseInt", "Number", "float", "BigInt":
		a := arg(0)
		a.isNum = true
		return a, true
	case "os.getpid", "process.pid":
		return cval{v: value{s: unknownText, t: tOwnPid}}, true
	case "getattr":
		if arg(1).v.has(tGlued) || arg(1).v.has(tDecoded) {
			c.x.f.disguise(c.x.span, "a name put together from pieces", c.x.cmd)
		}
		return c.member(arg(0), arg(1).v.s), true
	case "__import__", "importlib.import_module", "import_module":
		return named(arg(0).v.s), true
	case "super", "Promise.resolve":
		return arg(0), true
	}
	if recv == nil {
		return cval{}, false
	}
	i := strings.LastIndexByte(v.name, '.')
	m := v.name[i+1:]
	r := *recv
	switch m {
	case "decode", "toString", "strip", "trim", "encode", "chomp", "to_s", "text", "strip()", "rstrip", "lstrip", "flat", "unwrap", "body", "expanduser", "resolve", "absolute", "as_posix", "decode()", "read_all", "content", "json", "arrayBuffer", "then", "catch", "toLowerCase", "lower", "upper", "squeeze", "freeze", "dup", "clone", "to_path", "getvalue", "json()", "blob", "toArray", "to_a", "items", "values", "copy", "splitlines", "readlines", "readline", "getlines", "iter_content", "to_json", "inspect", "to_h", "entries", "toUpperCase", "slice_":
		if m == "expanduser" && strings.HasPrefix(r.v.s, "~") {
			h, _ := c.x.f.tilde("")
			r.v.s = h + r.v.s[1:]
			r.ok = true
		}
		if m == "decode" && arg(0).ok && strings.Contains(arg(0).v.s, "rot") {
			r.v.s = rot13(r.v.s)
			r.v.t |= tDecoded
		}
		if r.name == "os.environ" || r.name == "process.env" || r.name == "ENV" {
			r.v.t |= tEnv
		}
		if (m == "then" || m == "catch") && len(args) > 0 {
			return cval{v: value{s: unknownText, t: r.v.t | arg(0).taints()}, name: r.name}, true
		}
		return r, true
	case "read":
		if r.v.t != 0 || r.ok {
			return r, true
		}
	case "format", "concat":
		if r.ok && m == "concat" {
			for _, a := range args {
				r = c.concat(r, a)
			}
			return r, true
		}
		if r.ok {
			s := r.v.s
			for k, a := range args {
				s = strings.Replace(s, "{}", a.v.s, 1)
				s = strings.ReplaceAll(s, "{"+strconv.Itoa(k)+"}", a.v.s)
				r.v.t |= a.v.t
				r.v.vars = append(r.v.vars, a.v.vars...)
			}
			r.v.s = s
			return r, true
		}
	case "replace", "replaceAll", "gsub", "sub", "tr":
		if r.ok && arg(0).ok && arg(1).ok {
			if m == "tr" {
				r.v.s = translate(r.v.s, arg(0).v.s, arg(1).v.s, false)
			} else {
				r.v.s = strings.ReplaceAll(r.v.s, arg(0).v.s, arg(1).v.s)
			}
			r.v.t |= tGlued
			return r, true
		}
	case "join":
		if r.name == "Path" {
			return cval{v: c.joinPath(r.v, arg(0).v), ok: true, name: "Path"}, true
		}
		sep, l := r, arg(0)
		if recv.isLst {
			sep, l = arg(0), r
		}
		if l.isLst {
			out := cval{ok: true}
			for k, e := range l.list {
				if k > 0 {
					out.v.s += sep.v.s
				}
				out = c.concat(out, cval{v: e.v, ok: true})
			}
			if len(l.list) > 1 && sep.v.s == "" {
				out.v.t |= tGlued
			}
			return out, true
		}
		return l, true
	case "split":
		if r.ok {
			sep := arg(0).v.s
			l := cval{isLst: true}
			var parts []string
			if len(args) == 0 || sep == " " {
				parts = strings.Fields(r.v.s)
			} else {
				parts = strings.Split(r.v.s, sep)
			}
			for _, p := range parts {
				e := text(p)
				e.v.t = r.v.t
				l.list = append(l.list, e)
			}
			return l, true
		}
		return r, true
	case "reverse", "reversed":
		if r.ok {
			r.v.s = reverse(r.v.s)
			r.v.t |= tDecoded
			return r, true
		}
		if r.isLst {
			l := cval{isLst: true}
			for _, e := range slices.Backward(r.list) {

				e.v.t |= tDecoded
				l.list = append(l.list, e)
			}
			return l, true
		}
	case "unpack1", "unpack":
		if r.ok && strings.HasPrefix(arg(0).v.s, "m") {
			if s, ok := decode64(r.v.s); ok {
				t := text(s)
				t.v.t |= tDecoded
				return t, true
			}
		}
	case "pack":
		if r.isLst && len(r.list) > 0 && strings.HasPrefix(arg(0).v.s, "H") {
			if s, ok := decodeHex(r.list[0].v.s); ok {
				t := text(s)
				t.v.t |= tDecoded
				return t, true
			}
		}
		return cval{v: value{s: unknownText, t: tDecoded}}, true
	case "glob", "iterdir", "rglob", "walk":
		if r.name == "Path" {
			pat := "*"
			if arg(0).ok {
				pat = arg(0).v.s
			}
			r.v.s = strings.TrimSuffix(r.v.s, "/") + "/" + activate(pat)
			return r, true
		}
	case "joinpath", "with_name", "with_suffix":
		if r.name == "Path" {
			return cval{v: c.joinPath(r.v, arg(0).v), ok: true, name: "Path"}, true
		}
	case "exists", "is_file", "is_dir", "stat", "length", "size", "startswith", "endsWith", "endswith", "includes", "match":
		return cval{v: value{s: unknownText, t: tNames}}, true
	case "get":
		if recv.name == "os.environ" || recv.name == "process.env" || recv.name == "ENV" {
			return c.envVar(arg(0).v.s), true
		}
	case "each", "forEach", "map", "each_line", "filter", "select":
		return r, true
	case "parent", "dirname":
		if r.name == "Path" {
			return cval{v: r.v.with(path.Dir(r.v.s)), name: "Path", ok: r.ok}, true
		}
	}
	_ = utf8.RuneLen
	return cval{}, false
}

func rot13(s string) string {
	b := []byte(s)
	for i, ch := range b {
		switch {
		case ch >= 'a' && ch <= 'z':
			b[i] = 'a' + (ch-'a'+13)%26
		case ch >= 'A' && ch <= 'Z':
			b[i] = 'A' + (ch-'A'+13)%26
		}
	}
	return string(b)
}
