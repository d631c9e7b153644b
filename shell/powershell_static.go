package shell

import (
	"maps"
	"strings"
)

// newObject is New-Object and [Type]::new.
func (r *psRun) newObject(typ string, args []psv, props psv, at Span) psv {
	typ = strings.TrimPrefix(strings.ToLower(typ), "system.")
	out := psv{typ: typ, hash: map[string]psv{}}
	maps.Copy(out.hash, props.hash)
	arg := func(i int) value {
		var flat []value
		for _, a := range args {
			flat = append(flat, a.items...)
		}
		if i < len(flat) {
			return flat[i]
		}
		return value{}
	}
	switch {
	case strings.HasSuffix(typ, "tcpclient"), strings.HasSuffix(typ, "sockets.socket"), strings.HasSuffix(typ, "udpclient"):
		if arg(0).s != "" && strings.HasSuffix(typ, "client") {
			r.peer(arg(0), at)
		}
	case strings.HasSuffix(typ, "tcplistener"):
		if h := strings.ToLower(arg(0).s); !strings.Contains(h, "loopback") && !loopback(h) || h == "0.0.0.0" || h == "" {
			r.f.emit(Action{Kind: NetListen, Span: at})
			*r.connected = true
		}
	case strings.HasSuffix(typ, "filesystemaccessrule"):
		var flat psv
		for _, a := range args {
			flat.append(a)
		}
		out.items = []value{{s: flat.text()}}
	case strings.HasSuffix(typ, "streamreader"), strings.HasSuffix(typ, "streamwriter"), strings.HasSuffix(typ, "filestream"), strings.HasSuffix(typ, "fileinfo"), strings.HasSuffix(typ, "directoryinfo"):
		v := arg(0)
		if v.t&(tNet|tPeer) != 0 {
			out.items = []value{v}
			return out
		}
		x := r.inv("new-object", nil, at)
		switch {
		case strings.HasSuffix(typ, "info"):
			out.items = []value{v}
			out.hash = nil
		case strings.HasSuffix(typ, "writer"), strings.HasSuffix(typ, "filestream") && !strings.Contains(strings.ToLower(arg(1).s), "open"):
			r.f.writeTo(r.pathValue(v, true), value{s: unknownText}, false, x.cmd, at)
		case v.s != "" && v.known():
			out.items = []value{r.f.readFile(r.pathValue(v, true), x.cmd, false)}
			out.hash = nil
		}
	case strings.HasSuffix(typ, "memorystream"), strings.HasSuffix(typ, "gzipstream"), strings.HasSuffix(typ, "deflatestream"):
		out.items = []value{arg(0).with(unknownText)}
		out.items[0].t |= tDecoded
		out.hash = nil
	case strings.HasSuffix(typ, "processstartinfo"):
		if arg(0).s != "" {
			out.hash["filename"] = psOf(arg(0))
			out.hash["arguments"] = psOf(arg(1))
		}
	case strings.HasSuffix(typ, "pscredential"):
	case strings.HasSuffix(typ, "uri"):
		return psOf(arg(0))
	case strings.HasPrefix(typ, "byte["):
		n, ok := atoi(arg(0).s)
		if !ok && psSize(arg(0).s) >= 1<<30 || n > 1<<30 {
			r.f.emit(Action{Kind: Exhaust, Detail: "a huge allocation", Span: at})
		}
	}
	return out
}

// static is a static member of a .NET type.
func (r *psRun) static(typ, name string, args []psv, at Span, call bool) psv {
	f, m := r.f, r.m
	arg := func(i int) value {
		if i < len(args) {
			return args[i].one()
		}
		return value{}
	}
	path := func(i int) value { return r.pathValue(arg(i), true) }
	rec := func() *inv { return r.inv("["+typ+"]::"+name, nil, at) }
	switch typ {
	case "io.file", "io.fileinfo", "system.io.file":
		switch {
		case name == "delete":
			x := rec()
			f.emit(Action{Kind: FileDelete, Path: f.resolve(path(0)), Span: at, Command: x.cmd + 1})
		case strings.HasPrefix(name, "write"), strings.HasPrefix(name, "append"), name == "create", name == "createtext", name == "openwrite":
			x := rec()
			f.writeTo(path(0), arg(1), strings.HasPrefix(name, "append"), x.cmd, at)
		case name == "copy", name == "move", name == "replace":
			x := rec()
			if name == "copy" {
				f.readFile(path(0), x.cmd, false)
			} else {
				f.emit(Action{Kind: FileDelete, Path: f.resolve(path(0)), Detail: "move", Span: at, Command: x.cmd + 1})
			}
			f.writeTo(path(1), value{s: unknownText, t: tFile}, false, x.cmd, at)
		case strings.HasPrefix(name, "read"), name == "openread", name == "opentext", name == "open":
			x := rec()
			return psOf(f.readFile(path(0), x.cmd, false))
		}
		return psUnknown(0)
	case "io.directory":
		switch name {
		case "delete":
			x := rec()
			f.emit(Action{Kind: FileDelete, Path: f.resolve(path(0)), Recursive: arg(1).s != "" && arg(1).s != "false", Span: at, Command: x.cmd + 1})
		case "createdirectory":
			x := rec()
			f.writeTo(path(0), value{}, false, x.cmd, at)
		case "move":
			x := rec()
			f.emit(Action{Kind: FileDelete, Path: f.resolve(path(0)), Detail: "move", Span: at, Command: x.cmd + 1})
			f.writeTo(path(1), value{s: unknownText, t: tFile}, false, x.cmd, at)
		case "getfiles", "getdirectories", "enumeratefiles", "enumeratedirectories", "getfilesystementries":
			v := path(0)
			v.s += "/" + string(rune(markStar))
			return psOf(v)
		case "setcurrentdirectory":
			f.chdir(path(0))
		case "getcurrentdirectory":
			return psText(winShow(f.cwd))
		}
		return psUnknown(0)
	case "io.path":
		switch name {
		case "combine", "join":
			out := arg(0)
			for i := 1; i < len(args); i++ {
				out.s += `\`
				out.add(arg(i))
			}
			if len(args) == 1 {
				return psOf(joinItems(args[0], `\`))
			}
			return psOf(out)
		case "gettemppath":
			s, _ := m.winEnv("TEMP")
			return psText(s)
		case "gettempfilename":
			s, _ := m.winEnv("TEMP")
			return psText(s + "/tmp.tmp")
		case "getfullpath":
			return psOf(arg(0))
		}
		return psUnknown(0)
	case "environment":
		switch name {
		case "getenvironmentvariable":
			return r.variable(&psVar{scope: "env", name: arg(0).s, span: at})
		case "getenvironmentvariables":
			return psUnknown(tEnv)
		case "setenvironmentvariable":
			r.setEnv(arg(0).s, psOf(arg(1)), at)
		case "getfolderpath":
			h := literal(m.opts.Home)
			switch strings.ToLower(arg(0).s) {
			case "userprofile":
				return psText(h)
			case "startup":
				return psText(h + `\AppData\Roaming\Microsoft\Windows\Start Menu\Programs\Startup`)
			case "commonstartup":
				return psText(`C:\ProgramData\Microsoft\Windows\Start Menu\Programs\Startup`)
			case "applicationdata":
				return psText(h + `\AppData\Roaming`)
			case "localapplicationdata":
				return psText(h + `\AppData\Local`)
			case "desktop", "desktopdirectory":
				return psText(h + `\Desktop`)
			case "mydocuments", "personal":
				return psText(h + `\Documents`)
			case "system":
				return psText(`C:\Windows\System32`)
			case "windows":
				return psText(`C:\Windows`)
			}
		case "expandenvironmentvariables":
			return psOf(r.percent(arg(0)))
		case "newline":
			return psText("\n")
		case "currentdirectory":
			return psText(winShow(f.cwd))
		case "failfast":
		}
		return psUnknown(0)
	case "convert":
		switch name {
		case "frombase64string":
			v := arg(0)
			if s, ok := decode64(v.s); ok && v.known() {
				return psOf(value{s: literal(s), t: v.t | tDecoded, span: v.span})
			}
			v.s = unknownText
			v.t |= tDecoded
			return psOf(v)
		case "tobase64string":
			v := arg(0)
			v.s = unknownText
			return psOf(v)
		case "fromhexstring":
			if s, ok := decodeHex(arg(0).s); ok {
				return psOf(value{s: literal(s), t: tDecoded})
			}
			return psUnknown(tDecoded)
		}
		return psOf(arg(0))
	case "text.encoding", "text.utf8encoding", "text.asciiencoding", "text.unicodeencoding":
		if name == "getencoding" {
			return psv{typ: "encoding." + strings.ToLower(arg(0).s), hash: map[string]psv{}}
		}
		return psv{typ: "encoding." + name, hash: map[string]psv{}}
	case "string":
		switch name {
		case "join":
			if len(args) == 2 {
				return psOf(joinItems(args[1], arg(0).s))
			}
			v := psv{}
			for _, a := range args[min(1, len(args)):] {
				v.append(a)
			}
			return psOf(joinItems(v, arg(0).s))
		case "concat":
			v := psv{}
			for _, a := range args {
				v.append(a)
			}
			return psOf(joinItems(v, ""))
		case "format":
			v := psv{}
			for _, a := range args[min(1, len(args)):] {
				v.append(a)
			}
			return r.formatted(arg(0), v)
		}
		return psUnknown(0)
	case "char":
		if name == "convertfromutf32" {
			return psOf(value{s: unknownText, t: tDecoded})
		}
	case "array":
		if name == "reverse" && len(args) > 0 {
			// It turns its argument around; the variable is not known here.
			for k, v := range r.vars {
				if len(v.items) > 1 && len(args[0].items) == len(v.items) && v.items[0].s == args[0].items[0].s {
					r.vars[k] = reversed(v)
				}
			}
		}
		return psv{}
	case "scriptblock":
		if name == "create" {
			v := psOf(arg(0))
			v.typ = "scriptblock"
			return v
		}
	case "powershell", "management.automation.powershell", "runspacefactory":
		return psv{typ: "powershell", hash: map[string]psv{}}
	case "diagnostics.process":
		switch name {
		case "start":
			if len(args) > 0 && args[0].hash != nil {
				r.startInfo(args[0], at)
				return psv{}
			}
			line := concat(arg(0), lit(" "))
			line = concat(line, arg(1))
			f.cmdLine(line, at)
		case "getprocessesbyname", "getprocesses":
			return psv{items: []value{{s: unknownText, t: tKillList | tNames}}, typ: "process"}
		}
		return psUnknown(0)
	case "reflection.assembly", "appdomain":
		if strings.HasPrefix(name, "load") && len(args) > 0 {
			x := rec()
			v := arg(0)
			x.origin(v)
			if v.t&(tNet|tPeer|tDecoded) == 0 && strings.HasPrefix(name, "load") && v.opaque() {
				m.undecided(CodeInline, "an assembly", true, x.cmd, at)
			}
			return psUnknown(v.t & (tNet | tDecoded))
		}
	case "microsoft.win32.registry":
		if name == "setvalue" {
			x := rec()
			x.registry(arg(0).s, arg(1).s, false)
		}
		return psUnknown(0)
	case "net.dns":
		return psUnknown(tNet)
	case "guid":
		return psUnknown(0)
	case "runtime.interopservices.marshal":
		if strings.HasPrefix(name, "ptrtostring") {
			i := f.emit(Action{Kind: SecretReveal, Name: "a secure string", Span: at})
			return psOf(value{s: unknownText, src: []int{i}})
		}
	case "net.http.httpclient", "net.webclient":
		return psv{typ: typ, hash: map[string]psv{}}
	}
	if name == "new" && call {
		return r.newObject(typ, args, psv{}, at)
	}
	if strings.Contains(name, "fromurl") || typ == "microsoft.visualbasic.interaction" && name == "shell" {
		f.cmdLine(arg(0), at)
	}
	return psUnknown(0)
}

// formatted is -f.
func (r *psRun) formatted(format value, args psv) psv {
	return r.binary(&psBin{op: "-f", l: &psConst{psOf(format)}, r: &psConst{args}})
}

// psConst is a value that stands where an expression would.
type psConst struct{ v psv }

// percent expands %NAME%.
func (r *psRun) percent(v value) value {
	s := v.s
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '%')
		if i < 0 {
			break
		}
		j := strings.IndexByte(s[i+1:], '%')
		if j < 0 {
			break
		}
		b.WriteString(s[:i])
		name := s[i+1 : i+1+j]
		if val, ok := r.m.winEnv(name); ok {
			b.WriteString(val)
		} else {
			b.WriteString(unknownText)
			v.vars = append(v.vars, strings.ToUpper(name))
		}
		s = s[i+j+2:]
	}
	b.WriteString(s)
	v.s = b.String()
	return v
}
