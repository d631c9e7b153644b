package shell

import (
	"slices"
	"strings"
)

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
	if (x.in.t&(tFile|tEnv) != 0 || x.in.has(tCmd) && !x.in.known()) && !remoteShellText(v.s) && (host == "" || !loopback(host)) {
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
		case "-p":
			if strings.HasPrefix(fl.val.s, "0.0.0.0:") || strings.HasPrefix(fl.val.s, "[::]:") {
				f.emit(Action{Kind: NetListen, Name: "a port of a container", Span: x.span, Command: x.cmd + 1})
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
	case "stop", "container stop", "pause", "container pause":
		x.stopsGate(pos)
	case "rm", "rmi", "container rm", "image rm", "kill", "container kill":
		x.stopsGate(pos)
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
			if len(pos) == 1 && pos[0].openEnded() && len(g.mounts) > len(f.mounts) {
				x.undecidedOperand(pos[0], CommandDynamic) // which image, with a folder of ours
			}
			if ep := p.flag("--entrypoint"); ep != nil && len(pos) == 1 {
				return x.inContainer("a container", []value{ep.val}, g)
			}
			return out
		}
		args := pos[1:]
		if ep := p.flag("--entrypoint"); ep != nil && ep.val.s != "" {
			args = append([]value{ep.val}, args...)
		} else if sub == "run" || sub == "container run" || sub == "create" || sub == "container create" {
			return x.image(pos[0], args, g)
		}
		return x.inContainer(pos[0].s, args, g)
	}
	return out
}

// stopsGate notes a container that has the gate's name.
func (x *inv) stopsGate(names []value) {
	for _, v := range names {
		if strings.HasPrefix(v.s, "holdpoint") {
			x.f.emit(Action{Kind: ServiceStop, Name: plain(v.s), Span: v.span, Command: x.cmd + 1})
		}
	}
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
			if fl := p.flag("-o"); fl != nil && namesOnly(fl.val.text()) {
				x.revealsNothing()
			}
		case "delete":
			if len(p.pos) > 0 && p.pos[0].openEnded() && !x.dry {
				x.undecidedOperand(p.pos[0], OptionUnknown) // a pod, or a namespace
			}
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

// namesOnly reports whether an output format of kubectl shows which objects there
// are, and nothing of what is in them.
func namesOnly(format string) bool {
	kind, fields, _ := strings.Cut(format, "=")
	switch kind {
	case "name", "wide":
		return true
	case "jsonpath", "custom-columns", "go-template":
	default:
		return false
	}
	shown := false
	parts := strings.FieldsFunc(fields, func(r rune) bool { return r == '{' || r == '}' || r == ',' || r == '\'' || r == '"' })
	for _, part := range parts {
		if _, path, ok := strings.Cut(part, ":"); ok && kind == "custom-columns" {
			part = path
		}
		switch part = strings.TrimSpace(part); {
		case part == "" || part == "end" || strings.HasPrefix(part, "range ") || strings.Trim(part, `\nt `) == "":
		case strings.HasSuffix(part, "metadata.name"), strings.HasSuffix(part, "metadata.namespace"), strings.HasSuffix(part, ".type"), strings.HasSuffix(part, "creationTimestamp"):
			shown = true
		default:
			return false
		}
	}
	return shown
}

// revealsNothing takes back what the table says of secrets in the output.
func (x *inv) revealsNothing() {
	acts := x.f.m.res.Actions
	for i := range acts {
		if acts[i].Kind == SecretReveal && acts[i].Command == x.cmd {
			acts[i].Quiet = true
		}
	}
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

// devShell is nix and guix: behind a marker stands a command for the shell that
// they make.
func (x *inv) devShell() value {
	out := x.runSpec()
	if len(x.args) < 2 {
		return out
	}
	switch x.args[1].s {
	case "shell", "develop", "environment":
	default:
		return out
	}
	for i, a := range x.args {
		switch a.s {
		case "-c", "--command", "--":
			if i+1 < len(x.args) {
				y := &inv{f: x.f.under(x.name), args: x.args[i+1:], span: x.span, noFunc: true}
				return y.dispatch()
			}
		}
	}
	return out
}
