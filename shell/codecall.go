package shell

import (
	"slices"
	"strconv"
	"strings"
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

// mentions reports whether a word or a text of the program holds s.
func (c *coder) mentions(s string) bool {
	return slices.ContainsFunc(c.toks, func(t token) bool { return strings.Contains(t.s, s) })
}

// call judges one call and gives its result.
func (c *coder) call(v cval, recv *cval, args []cval) cval {
	m := c.x.f.m
	if !m.step(c.x.span) {
		return noVal
	}
	c.allocates(v.name, args)
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
	case "readname":
		// An object that takes the name of the file to read, as configparser has.
		if a := c.arg(args, recv, "0"); len(args) > 0 && a.ok && !a.isNum && strings.ContainsAny(a.v.s, "/.~") {
			res.v = f.readFile(c.file(a), x.cmd, false)
			if recv != nil {
				recv.v = concat(recv.v, res.v)
			}
		}
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
					if !c.x.f.m.grows(len(all.s), c.x.span) {
						break
					}
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
	case "fetch", "httpdelete":
		u := c.file(target)
		if target.keys != nil {
			if k, ok := keyword(args, "url", "hostname", "host"); ok {
				u = c.file(k)
			}
		}
		x.fetch(u)
		c.upload(u, args)
		if r.effect == "httpdelete" {
			x.forgeCall("DELETE", u.s, "", false)
		} else if k, ok := keyword(args, "method"); ok && k.ok {
			x.forgeCall(strings.ToUpper(k.v.s), u.s, "", false)
		}
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
	case "killobj":
		// A process that was found among all of them; else it is one's own child.
		if c.mentions("process_iter") {
			c.emit(Action{Kind: ProcKill, Broad: true})
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
				if !c.x.f.m.grows(len(c.stdout.s), c.x.span) {
					break
				}
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
		if target.ok && !(c.mentions(":memory:") && !c.mentions("ATTACH") && !c.mentions("attach")) {
			x.sql(target.v)
		}
	case "infra":
		if strings.HasSuffix(v.name, "terminate") && !c.mentions("boto3") && !c.mentions("ec2") {
			return res // one's own process or pool
		}
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
