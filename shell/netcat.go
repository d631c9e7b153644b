package shell

import (
	"strings"
)

// netcat is nc, socat and telnet.
func (x *inv) netcat() value {
	f, p := x.f, x.p
	at := x.cmd + 1
	out := value{s: unknownText, t: tPeer | tNet | tCmd}
	if x.spec == nil {
		return out
	}
	if x.name == "socat" {
		listen, peer, shell, udpLocal := false, false, false, false
		exec := ""
		for _, v := range p.pos {
			s := v.text()
			head, rest, _ := strings.Cut(s, ":")
			u := strings.ToUpper(head)
			switch {
			case strings.Contains(u, "LISTEN") || strings.HasSuffix(u, "-L") || strings.HasSuffix(u, "RECVFROM") || strings.HasSuffix(u, "RECV"):
				if strings.HasPrefix(u, "UNIX") || strings.HasPrefix(u, "ABSTRACT") {
					continue
				}
				peer = true
				if strings.Contains(rest, "bind=127.") || strings.Contains(rest, "bind=localhost") || strings.Contains(rest, "bind=::1") {
					udpLocal = true
				} else {
					listen = true
				}
			case strings.HasPrefix(u, "TCP") || strings.HasPrefix(u, "UDP") || strings.HasPrefix(u, "OPENSSL") || strings.HasPrefix(u, "SSL") || strings.HasPrefix(u, "SOCKS") || strings.HasPrefix(u, "PROXY") || strings.HasPrefix(u, "SCTP"):
				host, _, _ := strings.Cut(rest, ":")
				f.emit(Action{Kind: NetConnect, Host: plain(host), Span: v.span, Command: at})
				if !loopback(host) {
					peer = true
				}
			case u == "EXEC" || u == "SYSTEM" || u == "SHELL":
				exec = strings.Trim(cutComma(rest), `'"`)
				w := strings.Fields(exec)
				shell = len(w) > 0 && interactiveProgram(w[0]) || u == "SHELL"
				if !shell {
					f.run(v.with(exec), ViaScript, nil)
				}
			case u == "FILE" || u == "OPEN" || u == "GOPEN" || u == "CREATE":
				name := cutComma(rest)
				if u == "CREATE" || strings.Contains(rest, "creat") || strings.Contains(rest, "append") {
					x.writes(v.with(name), value{s: unknownText, t: tNet})
				} else {
					f.readFile(v.with(name), x.cmd, false)
					if peer || strings.Contains(strings.ToUpper(joinValues(p.pos, " ").s), "TCP") {
						x.in.t |= tFile
					}
				}
			}
		}
		_ = udpLocal
		if listen {
			f.emit(Action{Kind: NetListen, Span: x.span, Command: at})
		}
		if peer && shell {
			f.emit(Action{Kind: NetShell, Span: x.span, Command: at})
		} else if peer && x.in.t&dataTaints != 0 && !listen {
			f.emit(Action{Kind: NetUpload, Span: x.span, Command: at})
		}
		return out
	}
	listen := p.given("-l", "--listen")
	host := ""
	if len(p.pos) > 0 {
		host = p.pos[0].s
	}
	exec := p.flag("-e", "-c", "--sh-exec", "--exec", "--lua-exec")
	if x.name == "telnet" {
		exec = nil
	}
	local := loopback(host) && host != "" && !(listen && (host == "0.0.0.0" || host == "0"))
	if x.in.known() && strings.Contains(strings.ToUpper(x.in.s), "FLUSH") {
		for l := range strings.SplitSeq(x.in.s, "\n") {
			x.redis(l)
		}
	}
	if s := p.flag("-s"); s != nil && listen && loopback(s.val.s) {
		local = true
	}
	if listen {
		if !local {
			f.emit(Action{Kind: NetListen, Span: x.span, Command: at})
		}
	} else {
		f.emit(Action{Kind: NetConnect, Host: plain(host), Span: x.span, Command: at})
	}
	if p.given("-z") {
		return value{}
	}
	switch {
	case exec != nil && exec.has:
		w := strings.Fields(exec.val.s)
		if len(w) > 0 && interactiveProgram(w[0]) || exec.name == "--lua-exec" {
			f.emit(Action{Kind: NetShell, Host: plain(host), Span: x.span, Command: at})
		} else {
			f.run(exec.val, ViaScript, nil)
		}
	case x.in.has(tShell):
		f.emit(Action{Kind: NetShell, Host: plain(host), Span: x.span, Command: at})
	case !listen && !local && x.in.t&dataTaints != 0 && !x.in.known():
		f.emit(Action{Kind: NetUpload, Host: plain(host), Span: x.span, Command: at})
		if x.in.has(tEnv) {
			f.emit(Action{Kind: EnvSend, Span: x.span, Command: at})
		}
	case !listen && !local && x.in.has(tFile):
		f.emit(Action{Kind: NetUpload, Host: plain(host), Span: x.span, Command: at})
	}
	if local {
		out.t = tCmd
	}
	return out
}

func cutComma(s string) string {
	head, _, _ := strings.Cut(s, ",")
	return head
}

// interactiveProgram: a shell or a read-eval loop.
func interactiveProgram(p string) bool {
	b := baseName(p)
	return isShellName(b) || b == "cmd" || codeLang(b) != "" || b == "login" || b == "busybox" || b == "script" || b == "env" || b == "su"
}

// ztcp is zsh's own: it opens a connection and puts its descriptor into REPLY.
func (x *inv) ztcp() value {
	f := x.f
	fd, host, port, listens := "12", "", "", false
	args := x.args[1:]
	for i := 0; i < len(args); i++ {
		switch s := args[i].s; {
		case s == "-d" && i+1 < len(args):
			i++
			fd = args[i].s
		case s == "-l":
			listens = true
		case strings.HasPrefix(s, "-"):
		case host == "":
			host = s
		default:
			port = s
		}
	}
	switch {
	case listens:
		f.emit(Action{Kind: NetListen, Span: x.span, Command: x.cmd + 1})
	case host != "":
		f.emit(Action{Kind: NetConnect, Host: plain(host), Span: x.span, Command: x.cmd + 1})
	default:
		return value{}
	}
	f.copyFDs()
	f.fds[fd] = value{s: "/dev/tcp/" + host + "/" + port, t: tPeer, span: x.span}
	f.set("REPLY", lit(fd))
	return value{}
}
