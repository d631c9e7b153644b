package shell

import "strings"

func diskCommands(s string) bool {
	for l := range strings.SplitSeq(strings.ToLower(s), "\n") {
		w := strings.Fields(l)
		if len(w) == 0 {
			continue
		}
		switch w[0] {
		case "clean", "format", "delete", "convert", "create", "shrink":
			return true
		}
	}
	return false
}

// netProgram is net: services, users and shares.
func (x *inv) netProgram(do func(Action) int) {
	name := plain(x.operand(2).s)
	switch x.word(1) {
	case "stop", "pause":
		if name != "" {
			do(Action{Kind: ServiceStop, Name: name})
		}
	case "localgroup", "group":
		if x.has("add") && strings.Contains(strings.ToLower(name), "admin") {
			do(Action{Kind: PrivElevate})
		}
	case "user":
		if x.has("add", "active") {
			do(Action{Kind: ConfigSet, Name: "accounts"})
		}
		if p := x.operand(3); looksSecret(p.s) && p.s != "*" {
			do(Action{Kind: SecretLiteral})
		}
	case "use":
		for i, a := range x.args[1:] {
			if i > 1 && !strings.HasPrefix(a.s, "/") && !strings.HasPrefix(a.s, `\\`) && !strings.HasSuffix(a.s, ":") && looksSecret(a.s) && x.has("user") {
				do(Action{Kind: SecretLiteral})
			}
		}
	case "share":
		if strings.Contains(name, "=") {
			do(Action{Kind: NetListen})
		}
	}
}

// acls is icacls and cacls.
func (x *inv) acls() {
	f := x.f
	at := x.cmd + 1
	rest := x.args[1:]
	if len(rest) == 0 {
		return
	}
	p := f.resolve(rest[0].with(activate(rest[0].s)))
	tree := x.has("t")
	mode := ""
	change := false
	for i := 1; i < len(rest); i++ {
		s := strings.ToLower(rest[i].s)
		switch {
		case slash(s, "grant"), s == "/g", s == "/e", s == "/p", slash(s, "grant:r"):
			change = change || s != "/e"
			for j := i + 1; j < len(rest) && !strings.HasPrefix(rest[j].s, "/"); j++ {
				if who, rights, ok := strings.Cut(rest[j].s, ":"); ok && everyone(who+":") && strings.ContainsAny(strings.ToUpper(strings.NewReplacer("(OI)", "", "(CI)", "", "(IO)", "", "(NP)", "", "(I)", "").Replace(strings.ToUpper(rights))), "FMWC") {
					mode = "a+w"
				}
			}
		case slash(s, "deny"):
			change = true
			for j := i + 1; j < len(rest) && !strings.HasPrefix(rest[j].s, "/"); j++ {
				if who, rights, ok := strings.Cut(rest[j].s, ":"); ok && everyone(who+":") && strings.ContainsAny(strings.ToUpper(rights), "F") {
					mode = "000"
				}
			}
		case slash(s, "reset"), slash(s, "remove"), slash(s, "inheritance"), slash(s, "setowner"), slash(s, "restore"):
			change = true
		case slash(s, "save"):
			if i+1 < len(rest) {
				f.writeTo(rest[i+1], value{s: unknownText}, false, x.cmd, x.span)
			}
		}
	}
	if change {
		kind := FileMode
		f.emit(Action{Kind: kind, Path: p, Mode: mode, Recursive: tree, Span: x.span, Command: at})
	}
}

// certutil loads, decodes and encodes.
func (x *inv) certutil() value {
	f := x.f
	var pos []value
	for _, a := range x.args[1:] {
		if len(a.s) > 1 && (a.s[0] == '-' || a.s[0] == '/') {
			continue
		}
		pos = append(pos, a)
	}
	at := func(i int) value {
		if i < len(pos) {
			return pos[i]
		}
		return value{}
	}
	switch {
	case x.has("urlcache", "verifyctl", "ping") || x.name == "certreq" && x.has("post"):
		var url value
		for i, a := range pos {
			if strings.Contains(a.s, "://") {
				url = a
				pos = pos[i:]
				break
			}
		}
		if url.s == "" {
			return value{}
		}
		if x.name == "certreq" {
			x.psUpload(url, value{s: unknownText, t: tFile})
			return value{}
		}
		out := x.psFetch(url)
		t := at(1)
		if t.s == "" {
			t = url.with(url.s[strings.LastIndexByte(url.s, '/')+1:])
		}
		f.writeTo(t, value{s: unknownText, t: out.t}, false, x.cmd, x.span)
	case x.has("decode", "decodehex"):
		c := f.readFile(at(0), x.cmd, false)
		out := value{s: unknownText, t: c.t | tDecoded}
		if s, ok := decode64(strings.Join(strings.Fields(c.s), "")); ok && c.known() {
			out.s = literal(s)
		}
		f.writeTo(at(1), out, false, x.cmd, x.span)
	case x.has("encode", "encodehex"):
		f.readFile(at(0), x.cmd, false)
		f.writeTo(at(1), value{s: unknownText, t: tFile}, false, x.cmd, x.span)
	case x.has("hashfile"):
		f.readFile(at(0), x.cmd, true)
	case x.has("exportpfx"):
		f.emit(Action{Kind: SecretReveal, Name: "a private key", Span: x.span, Command: x.cmd + 1})
	case x.has("addstore"):
		f.emit(Action{Kind: ConfigSet, Name: "a root certificate", Span: x.span, Command: x.cmd + 1})
	}
	return value{s: unknownText, t: tCmd}
}

// wmic starts, ends and asks.
func (x *inv) wmic(do func(Action) int) {
	f := x.f
	line := joinMarked(x.args[1:], ' ')
	low := strings.ToLower(line)
	switch {
	case strings.Contains(low, "call create"):
		i := strings.Index(low, "call create")
		f.cmdLine(lit(strings.Trim(strings.TrimSpace(line[i+len("call create"):]), `"'`)), x.span)
	case strings.HasPrefix(low, "process") && (strings.HasSuffix(low, "delete") || strings.Contains(low, "terminate")):
		do(Action{Kind: ProcKill, Name: plain(line), Broad: !strings.Contains(low, "processid=")})
	case strings.Contains(low, "service") && strings.Contains(low, "stopservice"):
		do(Action{Kind: ServiceStop, Name: plain(line)})
	case strings.Contains(low, "shadowcopy") && strings.Contains(low, "delete"):
		do(Action{Kind: FileWipe, Detail: "recovery points are deleted"})
	case strings.HasPrefix(low, "os") && (strings.Contains(low, "reboot") || strings.Contains(low, "shutdown")):
		do(Action{Kind: MachineStop})
	case strings.Contains(low, "uninstall"):
	}
}

// binary is a program of the system that runs code from elsewhere.
func (x *inv) binary() {
	f, m := x.f, x.f.m
	for _, a := range x.args[1:] {
		s := a.s
		low := strings.ToLower(s)
		if i := strings.Index(low, "http"); i >= 0 && strings.Contains(low[i:], "://") {
			x.fetch(a.with(s[i:]))
			if x.name == "msiexec" && !x.has("i", "package") {
				continue
			}
			f.emit(Action{Kind: NetRun, Span: x.span, Command: x.cmd + 1})
			return
		}
		if strings.HasPrefix(low, "vbscript:") || strings.HasPrefix(low, "javascript:") {
			m.undecided(CodeInline, x.name, true, x.cmd, x.span)
			if i := strings.Index(low, ".run"); i >= 0 {
				body := s[i+4:]
				if j := strings.IndexAny(body, `"'`); j >= 0 {
					body = body[j+1:]
					if k := strings.IndexAny(body, `"'`); k > 0 {
						f.cmdLine(a.with(body[:k]), x.span)
					}
				}
			}
			return
		}
	}
	switch x.name {
	case "cscript", "wscript", "regsvr32", "mshta", "installutil", "regasm":
		if v := x.operand(1); v.s != "" {
			x.execFile(v)
		}
	}
}
