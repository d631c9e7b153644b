package shell

import (
	"strconv"
	"strings"
)

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
			c.shelled = true
		}
		if c.shelled && (c.connected || c.listened) {
			// By whoever is at the other end: that is said once the program is read.
			return cval{v: value{s: unknownText, t: tCmd}}
		}
		if s.t&(tNet|tPeer) != 0 {
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
