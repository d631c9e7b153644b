package shell

import (
	"slices"
	"strings"
)

// shell is sh, bash and their kin.
func (x *inv) shell() value {
	f, m := x.f, x.f.m
	args := x.args[1:]
	code, stdin, inter := false, false, false
	i := 0
	for ; i < len(args); i++ {
		s := args[i].text()
		if s == "--" || s == "-" {
			i++
			break
		}
		if len(s) < 2 || (s[0] != '-' && s[0] != '+') {
			break
		}
		if strings.HasPrefix(s, "--") {
			switch {
			case s == "--rcfile" || s == "--init-file":
				if i+1 < len(args) {
					i++
					x.execFile(args[i])
				}
			case strings.HasPrefix(s, "--command"):
				code = true
			case s == "--help" || s == "--version":
				return unknownVal(0)
			}
			continue
		}
		for _, c := range s[1:] {
			switch c {
			case 'c':
				code = true
			case 's':
				stdin = true
			case 'i':
				inter = true
			case 'n':
				if !code {
					return value{} // only checks the syntax
				}
			case 'o', 'O':
				if i+1 < len(args) {
					i++
				}
			}
		}
	}
	_ = inter
	args = args[min(i, len(args)):]
	env := func(g *frame) {
		g.funcs, g.aliases = exportedFuncs(f), nil
		g.calls = nil
		g.params = []value{}
		// Variables that are not exported are not seen by the child.
		g.vars = nil
		for k, v := range f.vars {
			if f.exported[k] || k == "HOME" || len(x.f.exported) > 0 && f.exported[k] {
				g.setVar(k, v)
			}
		}
	}
	if code {
		if len(args) == 0 {
			return value{}
		}
		v := args[0]
		v.s = v.text()
		return x.evalText(v, false, func(c value) value {
			c.span = x.span
			return f.run(c, ViaScript, func(g *frame) {
				env(g)
				if len(args) > 1 {
					g.arg0, g.params = args[1], args[2:]
				}
			})
		})
	}
	if len(args) > 0 && !stdin {
		v := args[0]
		if strings.HasPrefix(v.s, "/dev/fd/proc") {
			return x.runContent(m.files[v.s])
		}
		if out, ok := x.scriptFile(v, args[1:]); ok {
			return out
		}
		p := f.resolve(v)
		if p.Abs == "/dev/stdin" || p.Abs == "/dev/fd/0" || p.Abs == "/proc/self/fd/0" {
			return x.runContent(x.in)
		}
		x.execFile(v)
		return unknownVal(tCmd)
	}
	out := unknownVal(tCmd)
	if f.hasIn {
		c := x.in
		if c.has(tShell) || c.has(tPeer) {
			out.t |= tPeer
		}
		if c.has(tFile) && c.opaque() && c.t&(tNet|tPeer|tDecoded) == 0 {
			m.undecided(ScriptUnknown, "", true, x.cmd, x.span)
			if m.fromFifo(c) {
				m.fifoWaits = append(m.fifoWaits, x.cmd)
			}
			out.t |= tShell
			return out
		}
		x.f = f.fork()
		env(x.f)
		x.f.vars = f.vars
		out = x.runContent(c)
		x.f = f
		if !c.known() {
			out.t |= tShell | c.t&tPeer
		}
		return out
	}
	out.t |= tShell
	return out
}

func exportedFuncs(f *frame) map[string]*fn {
	var n map[string]*fn
	for k, v := range f.funcs {
		if f.exported[k] {
			if n == nil {
				n = map[string]*fn{}
			}
			n[k] = v
		}
	}
	return n
}

// isAssign reports whether a word is NAME=value.
func isAssign(s string) bool {
	i := strings.IndexByte(s, '=')
	if i <= 0 {
		return false
	}
	for j := range i {
		c := s[j]
		if !(c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || j > 0 && c >= '0' && c <= '9') {
			return false
		}
	}
	return true
}

// wrapped starts the command that a wrapper carries in its operands.
func (x *inv) wrapped(leaf *spec) value {
	f := x.f
	p := x.p
	g := f.under(x.name)
	g.via = append(slices.Clip(g.via), ViaWrapper)
	var env []Assignment
	elevates := leaf.wrap == "elevate"
	for i := range p.flags {
		fl := &p.flags[i]
		switch x.name {
		case "env":
			switch fl.name {
			case "-u":
				g.emit(Action{Kind: EnvSet, Name: plain(fl.val.s), Span: x.span, Command: x.cmd + 1})
			case "-S":
				return g.run(fl.val.with(fl.val.text()+" "+quoteAll(p.pos)), ViaScript, nil)
			}
		case "systemd-run":
			if fl.name == "--on-calendar" || fl.name == "--on-active" || fl.name == "--on-boot" || fl.name == "--on-unit-active" || fl.name == "--on-startup" || fl.name == "--timer-property" {
				f.emit(Action{Kind: Persist, Name: "a timer", Span: x.span, Command: x.cmd + 1})
			}
		}
	}
	// An elevating program without a command (sudo -l, sudo -k) gains nothing.
	if elevates && !(len(p.pos) == 0 && p.given("-l", "-k", "-K", "-v", "-V")) {
		f.emit(Action{Kind: PrivElevate, Name: x.name, Span: x.span, Command: x.cmd + 1})
	}
	pos := p.pos
	if leaf.skip < 0 {
		return unknownVal(tCmd)
	}
	if len(pos) < leaf.skip {
		return unknownVal(tCmd)
	}
	skipped := pos[:leaf.skip]
	pos = pos[leaf.skip:]
	if len(pos) > 0 && pos[0].s == "--" {
		pos = pos[1:]
	}
	switch x.name {
	case "setarch":
		for len(pos) > 0 && strings.HasPrefix(pos[0].s, "-") {
			pos = pos[1:]
		}
	case "bwrap", "proot":
		for len(pos) > 0 && !x.f.m.commandLike(pos[0].s) {
			pos = pos[1:]
		}
	}
	if x.name == "flock" && len(pos) > 1 && (pos[0].s == "-c" || pos[0].s == "--command") {
		return g.run(pos[1], ViaScript, nil)
	}
	if x.name == "chroot" && len(skipped) > 0 {
		root := f.resolve(skipped[0])
		_ = root
	}
	for len(pos) > 0 && isAssign(pos[0].s) && (x.name == "env" || elevates || leaf.wrap == "args" && (x.name == "cross-env" || x.name == "dotenv")) {
		name, val, _ := strings.Cut(pos[0].s, "=")
		v := pos[0].with(val)
		env = append(env, Assignment{Name: name, Value: toArg(&v)})
		g.set(name, v)
		g.export(name)
		pos = pos[1:]
	}
	if len(pos) == 0 {
		if x.name == "env" {
			if len(env) > 0 {
				for _, e := range env {
					if guardVar(e.Name) {
						f.emit(Action{Kind: EnvSet, Name: e.Name, Detail: e.Value.Value, Span: x.span, Command: x.cmd + 1})
					}
				}
			}
			i := f.emit(Action{Kind: EnvPrint, Quiet: true, Span: x.span, Command: x.cmd + 1})
			return value{s: unknownText, t: tEnv, src: []int{i}}
		}
		return value{s: unknownText, t: tCmd | x.in.t, src: x.in.src}
	}
	switch leaf.wrap {
	case "joined":
		v := joinValues(pos, " ")
		return g.run(v, ViaScript, nil)
	case "each":
		var out value
		for _, v := range pos {
			v.s = v.text()
			out = concat(out, g.run(v, ViaScript, nil))
		}
		return out
	case "later":
		g.via = append(g.via, ViaLater)
	case "bounded":
		g.bounded = true
		g.loops = 0
	}
	y := &inv{f: g, args: pos, env: env, span: x.span, noFunc: true}
	return y.dispatch()
}

// quoteAll makes words into text that the shell reads back as the same words.
func quoteAll(vs []value) string {
	var b strings.Builder
	for i, v := range vs {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteByte('\'')
		b.WriteString(strings.ReplaceAll(v.text(), "'", `'\''`))
		b.WriteByte('\'')
	}
	return b.String()
}

// xargs is xargs and GNU parallel: the command gets words from the input.
func (x *inv) xargs() value {
	f, p := x.f, x.p
	in := x.in
	pos := p.pos
	if fl := p.flag("-a"); fl != nil {
		in = f.readFile(fl.val, x.cmd, true)
	}
	if x.name == "parallel" {
		// parallel CMD ::: ARG…
		for i, v := range pos {
			if strings.HasPrefix(v.s, ":::") {
				args := pos[i+1:]
				if v.s == "::::" && len(args) > 0 {
					in = f.readFile(args[0], x.cmd, true)
				} else {
					in = joinValues(args, "\n")
				}
				pos = pos[:i]
				break
			}
		}
	}
	repl := ""
	if fl := p.flag("-I"); fl != nil {
		repl = fl.val.text()
		if repl == "" {
			repl = "{}"
		}
	}
	if x.name == "parallel" {
		repl = "{}"
	}
	if fl := p.flag("-i"); fl != nil {
		repl = "{}"
	}
	g := f.under(x.name)
	g.via = append(slices.Clip(g.via), ViaXargs)
	g.hasIn, g.in = false, value{}
	if len(pos) == 0 {
		if x.name == "parallel" {
			return x.runContent(in)
		}
		return value{s: in.s, t: in.t, src: in.src}
	}
	lines := []value{}
	if in.known() && len(in.s) < 1<<14 && f.hasIn || in.known() && in.s != "" {
		sep := " \t\n"
		if repl != "" || p.given("-L", "-d") {
			sep = "\n"
		}
		if p.given("-0") {
			sep = "\x00\n"
		}
		for _, w := range wordSplit(in.s, sep) {
			if len(lines) >= maxIterations {
				break
			}
			lines = append(lines, in.with(strings.TrimSpace(w)))
		}
	} else {
		v := in
		v.s = unknownText
		v.t |= tMany
		if prefix, ok := commonDir(in); ok {
			v.s = prefix
		}
		lines = append(lines, v)
	}
	if x.name == "parallel" && len(pos) == 1 && strings.ContainsAny(pos[0].s, " ;|") {
		// The command is one shell text.
		var out value
		for _, l := range lines {
			text := pos[0].text()
			if strings.Contains(text, "{}") {
				text = strings.ReplaceAll(text, "{}", l.s)
			} else {
				text += " " + l.s
			}
			out = concat(out, g.run(pos[0].with(text), ViaScript, nil))
		}
		return out
	}
	var out value
	if repl != "" {
		for _, l := range lines {
			args := make([]value, 0, len(pos)+1)
			used := false
			for _, a := range pos {
				if strings.Contains(a.s, repl) {
					used = true
					n := l
					n.s = strings.ReplaceAll(a.s, repl, l.s)
					n.span = a.span
					n.t |= a.t
					if a.s == repl {
						n.t &^= tMany
					}
					a = n
				}
				args = append(args, a)
			}
			if !used && x.name == "parallel" {
				args = append(args, l)
			}
			y := &inv{f: g, args: args, span: x.span, noFunc: true}
			out = concat(out, y.dispatch())
			if f.m.stop {
				break
			}
		}
		return out
	}
	args := append(append([]value{}, pos...), lines...)
	y := &inv{f: g, args: args, span: x.span, noFunc: true}
	return y.dispatch()
}

// commonDir gives a pattern that covers all lines of a listing that is not
// known itself but whose folder is.
func commonDir(v value) (string, bool) {
	if v.s != unknownText && strings.HasPrefix(v.s, "/") {
		return v.s, true
	}
	return "", false
}

// ssh runs text on another machine.
func (x *inv) ssh() value {
	f, p := x.f, x.p
	host := ""
	pos := p.pos
	for i := range p.flags {
		fl := &p.flags[i]
		switch fl.name {
		case "-R":
			if fl.has {
				f.emit(Action{Kind: NetListen, Name: "a remote tunnel", Span: x.span, Command: x.cmd + 1})
			}
		case "-L", "-D":
			if fl.val.s != "" && (strings.HasPrefix(fl.val.s, "0.0.0.0:") || strings.HasPrefix(fl.val.s, "*:") || strings.HasPrefix(fl.val.s, "\x02:") || p.given("-g")) {
				f.emit(Action{Kind: NetListen, Name: "a tunnel", Span: x.span, Command: x.cmd + 1})
			}
		case "-o":
			key, val, _ := strings.Cut(fl.val.text(), "=")
			if strings.EqualFold(key, "ProxyCommand") || strings.EqualFold(key, "LocalCommand") || strings.EqualFold(key, "KnownHostsCommand") {
				f.run(fl.val.with(val), ViaConfig, nil)
			}
			if strings.EqualFold(key, "RemoteForward") {
				f.emit(Action{Kind: NetListen, Name: "a remote tunnel", Span: x.span, Command: x.cmd + 1})
			}
		}
	}
	if len(pos) > 0 {
		host = plain(hostOf(pos[0].s))
		pos = pos[1:]
	}
	f.emit(Action{Kind: NetConnect, Host: host, Span: x.span, Command: x.cmd + 1})
	g := f.under(x.name)
	g.host = host
	g.via = append(slices.Clip(g.via), ViaRemote)
	g.cwd, _ = f.tilde("")
	g.vars, g.funcs, g.aliases = nil, nil, nil
	g.mounts = nil
	if len(pos) > 0 && pos[0].s == "--" {
		pos = pos[1:]
	}
	if len(pos) == 0 {
		if f.hasIn && x.in.s != "" {
			// The text on the input is run by the shell over there.
			y := *x
			y.f = g
			if x.in.opaque() && x.in.t&(tNet|tPeer|tDecoded) == 0 {
				f.m.undecided(ScriptUnknown, "", true, x.cmd, x.span)
				if x.in.t&(tFile|tCmd) != 0 {
					f.emit(Action{Kind: NetUpload, Host: host, Span: x.span, Command: x.cmd + 1})
				}
				return unknownVal(tCmd)
			}
			return y.runContent(x.in)
		}
		return unknownVal(tCmd)
	}
	v := joinValues(pos, " ")
	if v.opaque() {
		f.m.undecided(CommandDynamic, v.s, true, x.cmd, x.span)
		return unknownVal(tCmd)
	}
	if x.in.t&(tFile|tEnv) != 0 && !remoteShellText(v.s) {
		f.emit(Action{Kind: NetUpload, Host: host, Span: x.span, Command: x.cmd + 1})
	}
	out := g.run(v, ViaRemote, nil)
	out.t |= tCmd | tNet // from another machine
	out.t &^= tFile
	return out
}

// remoteShellText reports whether the remote command reads a script from its
// input.
func remoteShellText(s string) bool {
	w := strings.Fields(s)
	for len(w) > 0 && (w[0] == "sudo" || strings.HasPrefix(w[0], "-") || isAssign(w[0])) {
		w = w[1:]
	}
	return len(w) > 0 && (isShellName(baseName(w[0])) || strings.HasPrefix(w[0], "python"))
}

// inContainer runs the words of docker exec and its kin.
func (x *inv) inContainer(host string, args []value, g *frame) value {
	f := x.f
	if len(args) > 0 && args[0].s == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		return unknownVal(tCmd)
	}
	g.host = plain(host)
	g.via = append(slices.Clip(g.via), ViaRemote)
	g.funcs, g.aliases = nil, nil
	g.depth++
	g.hasIn, g.in = f.hasIn, f.in
	y := &inv{f: g, args: args, span: x.span, noFunc: true}
	return y.dispatch()
}

// docker is docker, podman and compose.
func (x *inv) docker() value {
	f, p := x.f, x.p
	out := x.runSpec()
	sub := strings.Join(p.sub, " ")
	if p.unknown {
		return out
	}
	g := f.fork()
	g.wrappers = append(slices.Clip(g.wrappers), x.name)
	privileged, hostRoot := false, false
	for i := range p.flags {
		fl := &p.flags[i]
		switch fl.name {
		case "-v", "--mount":
			src, dst := mountOf(fl.name, fl.val.s)
			if src == "" {
				continue
			}
			if src == "/" || strings.HasPrefix(src, "/var/run/docker.sock") || strings.HasPrefix(src, "/run/docker.sock") {
				hostRoot = true
			}
			if strings.HasPrefix(src, "/") || strings.HasPrefix(src, ".") || strings.HasPrefix(src, "~") || src[0] == markUnknown {
				if dst != "" {
					g.mounts = append([]mount{{strings.TrimSuffix(dst, "/"), join(f.cwd, src)}}, g.mounts...)
				}
			}
		case "--privileged":
			privileged = true
		case "--pid", "--userns", "--ipc":
			if fl.val.s == "host" && fl.name == "--pid" {
				privileged = true
			}
		case "-w":
			if strings.HasPrefix(fl.val.s, "/") {
				g.cwd = fl.val.s
			}
		case "-u":
			// a user inside a container
		case "--entrypoint":
		}
	}
	if (hostRoot || privileged) && (sub == "run" || sub == "create" || strings.HasSuffix(sub, "run") || strings.HasSuffix(sub, "exec") && privileged) {
		f.emit(Action{Kind: PrivElevate, Name: "a container with the host's power", Span: x.span, Command: x.cmd + 1})
	}
	pos := p.pos
	switch sub {
	case "ps", "images", "container ls", "container list", "image ls", "volume ls", "network ls":
		if p.given("-q", "--format") && !p.given("--filter") {
			out.t |= tAll
		}
	case "rm", "rmi", "container rm", "image rm", "kill", "container kill":
		if sub == "kill" || sub == "container kill" {
			break
		}
		for _, v := range pos {
			if v.has(tAll) {
				f.emit(Action{Kind: InfraDestroy, Name: "all containers or images", Span: x.span, Command: x.cmd + 1})
				break
			}
		}
	}
	switch sub {
	case "exec", "container exec", "compose exec", "run", "container run", "compose run", "create", "container create":
		if len(pos) < 2 {
			if ep := p.flag("--entrypoint"); ep != nil && len(pos) == 1 {
				return x.inContainer("a container", []value{ep.val}, g)
			}
			return out
		}
		args := pos[1:]
		if ep := p.flag("--entrypoint"); ep != nil && ep.val.s != "" {
			args = append([]value{ep.val}, args...)
		}
		return x.inContainer(pos[0].s, args, g)
	}
	return out
}

func mountOf(flag, s string) (src, dst string) {
	if flag == "--mount" {
		for kv := range strings.SplitSeq(s, ",") {
			k, v, _ := strings.Cut(kv, "=")
			switch k {
			case "src", "source":
				src = v
			case "dst", "target", "destination":
				dst = v
			}
		}
		return src, dst
	}
	src, rest, ok := strings.Cut(s, ":")
	if !ok {
		return "", ""
	}
	dst, _, _ = strings.Cut(rest, ":")
	return src, dst
}

// kubectl is kubectl and oc.
func (x *inv) kubectl() value {
	p := x.p
	if x.name == "k3s" || x.name == "microk8s" {
		if len(x.args) > 1 && (x.args[1].s == "kubectl" || x.args[1].s == "crictl" || x.args[1].s == "ctr") {
			y := &inv{f: x.f.under(x.name), args: x.args[1:], span: x.span, noFunc: true}
			return y.dispatch()
		}
	}
	out := x.runSpec()
	if len(p.sub) > 0 {
		switch p.sub[0] {
		case "get":
			if !p.given("-l") {
				out.t |= tAll
			}
		case "delete":
			for _, v := range p.pos {
				if v.has(tAll) && !x.dry {
					x.f.emit(Action{Kind: InfraDestroy, Name: "all objects", Span: x.span, Command: x.cmd + 1})
					break
				}
			}
		}
	}
	if len(p.sub) > 0 && (p.sub[0] == "exec" || p.sub[0] == "run" || p.sub[0] == "debug" || p.sub[0] == "rsh" || p.sub[0] == "ssh") {
		g := x.f.fork()
		g.wrappers = append(slices.Clip(g.wrappers), x.name)
		if p.dash >= 0 && p.dash < len(p.pos) {
			host := ""
			if p.dash > 0 {
				host = p.pos[0].s
			}
			return x.inContainer(host, p.pos[p.dash:], g)
		}
		if len(p.pos) > 1 {
			return x.inContainer(p.pos[0].s, p.pos[1:], g)
		}
	}
	return out
}

// vagrant runs text in a machine of its own with ssh -c.
func (x *inv) vagrant() value {
	out := x.runSpec()
	if len(x.p.sub) > 0 && x.p.sub[0] == "ssh" {
		if fl := x.p.flag("-c"); fl != nil {
			return x.f.run(fl.val, ViaRemote, nil)
		}
	}
	return out
}

// find runs commands on the files it finds.
func (x *inv) find() value {
	f := x.f
	fd := x.name == "fd" || x.name == "fdfind"
	args := x.args[1:]
	var starts []value
	i := 0
	if fd {
		return x.fd()
	}
	for ; i < len(args); i++ {
		s := args[i].text()
		switch s {
		case "-L", "-H", "-P", "-E", "-X", "-d", "-s", "-x":
			continue
		case "-f":
			if i+1 < len(args) {
				i++
				starts = append(starts, args[i])
			}
			continue
		}
		if strings.HasPrefix(s, "-O") || s == "-D" {
			continue
		}
		if s != "" && (s[0] == '-' || s == "(" || s == "!" || s == ")") {
			break
		}
		starts = append(starts, args[i])
	}
	if len(starts) == 0 {
		starts = []value{{s: ".", span: x.span}}
	}
	// What the files found look like, for the commands run on them.
	pattern := ""
	maxdepth0, typeFile, filtered, dotgit := false, false, false, false
	var first string
	for j := i; j < len(args); j++ {
		s := args[j].text()
		next := func() string {
			if j+1 < len(args) {
				return args[j+1].text()
			}
			return ""
		}
		switch s {
		case "-name", "-iname":
			if j == i || args[j-1].s != "!" && args[j-1].s != "-not" {
				if pattern == "" {
					pattern = next()
				}
				filtered = true
			}
		case "-path", "-wholename", "-ipath", "-regex", "-newer", "-mtime", "-size", "-user", "-mmin", "-atime", "-ctime", "-perm", "-empty":
			if args[max(j-1, 0)].s != "!" && args[max(j-1, 0)].s != "-not" {
				filtered = true
			}
		case "-type":
			typeFile = next() == "f"
			if next() != "d" {
				filtered = filtered || next() == "l"
			}
		case "-maxdepth":
			maxdepth0 = next() == "0"
		}
		if first == "" {
			first = s
		}
	}
	_ = first
	_ = typeFile
	if strings.Contains(pattern, ".git") && !strings.HasPrefix(pattern, "*.git") && pattern != ".gitignore" && pattern != ".gitkeep" && pattern != ".gitattributes" && pattern != ".github" {
		dotgit = true
	}
	out := value{s: unknownText, t: tNames}
	if len(starts) == 1 {
		p := f.resolve(starts[0])
		if !p.Unresolved && !p.Glob && p.Abs != "" && p.Abs[0] == '/' {
			out.s = p.Abs + "/" + string([]byte{markStar})
			if pattern != "" {
				out.s = p.Abs + "/" + string([]byte{markStar}) + "/" + activate(literal(pattern))
			} else if filtered {
				out.s += "/" + unknownText
			}
		}
	}
	if len(starts) > 1 {
		var names []value
		for _, st := range starts {
			names = append(names, st.with(strings.TrimSuffix(st.s, "/")+"/"+string([]byte{markStar})))
		}
		out.s = joinMarked(names)
	}
	found := func(st value) value {
		v := st
		if maxdepth0 {
			v.t |= tNames
			return v // the start alone
		}
		base := strings.TrimSuffix(st.s, "/")
		switch {
		case pattern != "" && !hasGlob(activate(pattern)):
			v.s = base + "/" + string([]byte{markStar}) + "/" + literal(pattern)
			v.t |= tNames
		case pattern != "":
			v.s = base + "/" + string([]byte{markStar}) + "/" + activate(literal(pattern))
			v.t |= tNames
		case filtered:
			v.s = base + "/" + string([]byte{markStar}) + "/" + unknownText
			v.t |= tNames
		default:
			v.s = base + "/" + string([]byte{markStar})
		}
		return v
	}
	for j := i; j < len(args); j++ {
		s := args[j].text()
		switch s {
		case "-delete":
			for _, st := range starts {
				p := f.resolve(st)
				if (filtered || maxdepth0) && !dotgit && (p.Place == PlaceRoot || p.Place == PlaceWorkspace) {
					// Some files of the workspace, by name.
					f.emit(Action{Kind: FileDelete, Path: p, Detail: "some", Broad: true, Span: x.span, Command: x.cmd + 1})
					continue
				}
				f.emit(Action{Kind: FileDelete, Path: p, Recursive: true, Broad: filtered, Span: x.span, Command: x.cmd + 1})
				if p.Unresolved {
					f.m.undecided(PathUnresolved, st.s, true, x.cmd, x.span)
				}
			}
		case "-fprint", "-fls", "-fprint0", "-fprintf":
			if j+1 < len(args) {
				j++
				x.writes(args[j], value{s: unknownText, t: tCmd})
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			end := j + 1
			for end < len(args) && args[end].s != ";" && args[end].s != "+" {
				end++
			}
			cmd := args[j+1 : end]
			j = end
			if len(cmd) == 0 {
				continue
			}
			for _, st := range starts {
				g := f.under(x.name)
				g.via = append(slices.Clip(g.via), ViaFind)
				g.hasIn, g.in = false, value{}
				target := found(st)
				if s == "-execdir" || s == "-okdir" {
					if d := f.resolve(st); !d.Unresolved && strings.HasPrefix(d.Abs, "/") {
						target.s = strings.Replace(target.s, st.s, d.Abs, 1)
					}
				}
				list := make([]value, 0, len(cmd))
				for _, a := range cmd {
					if strings.Contains(a.s, "{}") {
						n := target
						n.s = strings.ReplaceAll(a.s, "{}", target.s)
						if baseName(list0(cmd)) == "sh" || baseName(list0(cmd)) == "bash" {
							n.t = a.t
						}
						n.span = a.span
						list = append(list, n)
						continue
					}
					list = append(list, a)
				}
				y := &inv{f: g, args: list, span: x.span, noFunc: true}
				r := y.dispatch()
				out.t |= r.t & (tFile | tCmd | tNet | tDecoded)
				out.src = append(out.src, r.src...)
			}
		}
	}
	return out
}

func list0(v []value) string {
	if len(v) == 0 {
		return ""
	}
	return v[0].s
}

// fd is the find of others: fd PATTERN DIR -x CMD.
func (x *inv) fd() value {
	f := x.f
	args := x.args[1:]
	start := lit(".")
	pos := 0
	all, narrowed := true, false
	for i := 0; i < len(args); i++ {
		s := args[i].s
		switch s {
		case "-x", "--exec", "-X", "--exec-batch":
			cmd := args[i+1:]
			for k, a := range cmd {
				if a.s == ";" {
					cmd = cmd[:k]
					break
				}
			}
			if len(cmd) == 0 {
				return value{}
			}
			g := f.under(x.name)
			g.via = append(slices.Clip(g.via), ViaFind)
			target := start.with(strings.TrimSuffix(start.s, "/") + "/" + string([]byte{markStar}) + "/" + unknownText)
			if all && !narrowed {
				target.s = strings.TrimSuffix(start.s, "/") + "/" + string([]byte{markStar})
			}
			target.t |= tNames
			list := []value{}
			used := false
			for _, a := range cmd {
				if strings.Contains(a.s, "{}") {
					used = true
					a = target.with(strings.ReplaceAll(a.s, "{}", target.s))
				}
				list = append(list, a)
			}
			if !used {
				list = append(list, target)
			}
			y := &inv{f: g, args: list, span: x.span, noFunc: true}
			return y.dispatch()
		case "-e", "-t", "-d", "-E", "--extension", "--type", "--max-depth", "--exclude", "-S", "--size":
			narrowed = true
			i++
			continue
		case "--base-directory", "--search-path":
			if i+1 < len(args) {
				i++
				start = args[i]
			}
			continue
		}
		if strings.HasPrefix(s, "-") {
			continue
		}
		pos++
		if pos == 1 {
			all = s == "." || s == "" || s == ".*"
		}
		if pos == 2 {
			start = args[i]
		}
	}
	return value{s: unknownText, t: tNames}
}
