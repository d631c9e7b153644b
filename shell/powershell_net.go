package shell

import (
	"maps"
	"strings"
)

// member is a property, a method or a static member of .NET.
func (r *psRun) member(e *psMember) psv {
	f, m := r.f, r.m
	name := strings.ToLower(r.eval(e.name).text())
	obj := r.eval(e.obj)
	at := r.span(e.span)
	var args []psv
	for _, a := range e.args {
		args = append(args, r.eval(a))
	}
	arg := func(i int) value {
		if i < len(args) {
			return args[i].one()
		}
		return value{}
	}
	if strings.HasPrefix(obj.typ, "[") {
		return r.static(obj.typ[1:], name, args, at, e.call)
	}
	if obj.fn != nil && e.call {
		return r.invoke(obj.fn, nil, psv{})
	}
	if obj.hash != nil && !e.call {
		if v, ok := obj.hash[name]; ok {
			return v
		}
		switch name {
		case "keys", "count", "length":
			return psUnknown(tNames)
		}
		if len(obj.items) == 0 && obj.typ == "" {
			return psUnknown(obj.taint())
		}
	}
	v := obj.one()
	if e.call {
		return r.method(obj, v, name, args, arg, at)
	}
	switch name {
	case "fullname", "pspath", "path", "providerpath", "content", "rawcontent", "value", "out", "result":
		return obj
	case "name", "key", "keys":
		if v.has(tEnv) {
			v.src = nil
			v.vars = nil
			v.t |= tNames
			return psOf(v)
		}
		if !v.known() && !v.glob() {
			return psOf(v)
		}
		out := psv{arr: obj.arr}
		for _, it := range obj.items {
			if i := strings.LastIndexAny(it.s, `/\`); i >= 0 {
				it.s = it.s[i+1:]
			}
			out.items = append(out.items, it)
		}
		return out
	case "length", "count", "exists", "lastwritetime", "creationtime", "extension", "exitcode", "statuscode", "mode", "attributes", "isreadonly", "psiscontainer", "hash":
		if name == "length" && v.known() && v.s != "" && len(obj.items) == 1 {
			return psText("…length")
		}
		for _, i := range v.src {
			if m.res.Actions[i].Kind == FileRead {
				m.res.Actions[i].Quiet = true
			}
		}
		return psUnknown(0)
	case "basename", "parent", "directory", "directoryname":
		if v.known() && strings.Contains(v.s, "parent") {
			return psOf(v)
		}
		if i := strings.LastIndexAny(v.s, `/\`); i > 0 && name != "basename" {
			return psOf(v.with(v.s[:i]))
		}
		return psUnknown(v.t)
	case "owningprocess":
		return psUnknown(tOwnPid)
	case "id", "processid":
		return psOf(v)
	case "foregroundcolor", "backgroundcolor", "windowtitle":
		return psUnknown(0)
	}
	_ = f
	if v.opaque() || v.t&(tNet|tPeer|tFile|tEnv|tKillList) != 0 {
		return psOf(v.with(unknownText))
	}
	return psUnknown(0)
}

func (r *psRun) memberSet(obj psv, name string, v psv, at Span) {
	switch name {
	case "currentdirectory":
		r.f.chdir(v.one())
	}
}

// method is a method of an object.
func (r *psRun) method(obj psv, v value, name string, args []psv, arg func(int) value, at Span) psv {
	f, m := r.f, r.m
	cmd := len(m.res.Commands)
	net := func(u value) psv {
		x := r.inv(name, nil, at)
		return psOf(x.psFetch(u))
	}
	switch name {
	case "downloadstring", "downloaddata", "openread", "getstringasync", "getasync", "getbytearrayasync", "getstreamasync", "downloadstringtaskasync", "downloaddatatask":
		if strings.Contains(obj.typ, "tcp") {
			return psUnknown(tPeer)
		}
		return net(arg(0))
	case "downloadfile", "downloadfileasync", "downloadfiletaskasync":
		x := r.inv(name, nil, at)
		out := x.psFetch(arg(0))
		f.writeTo(r.pathValue(arg(1), true), value{s: unknownText, t: out.t}, false, x.cmd, at)
		return psv{}
	case "uploadfile", "uploadfileasync":
		x := r.inv(name, nil, at)
		p := arg(len(args) - 1)
		f.readFile(r.pathValue(p, true), x.cmd, false)
		x.psUpload(arg(0), value{s: unknownText, t: tFile})
		return psUnknown(tCmd)
	case "uploadstring", "uploaddata", "uploadvalues", "postasync", "putasync":
		x := r.inv(name, nil, at)
		x.psUpload(arg(0), arg(len(args)-1))
		return psUnknown(tCmd)
	case "open":
		if strings.Contains(obj.typ, "xmlhttp") || strings.Contains(obj.typ, "winhttp") {
			obj.hash["url"] = psOf(arg(1))
			return psv{}
		}
	case "send":
		if u, ok := obj.hash["url"]; ok {
			out := net(u.one())
			obj.hash["responsetext"], obj.hash["responsebody"] = out, out
			return psv{}
		}
	case "connect", "connectasync", "beginconnect":
		if strings.Contains(obj.typ, "client") || strings.Contains(obj.typ, "socket") {
			r.peer(arg(0), at)
			return psv{}
		}
	case "getstream", "accepttcpclient", "readline", "readtoend", "read":
		if strings.Contains(obj.typ, "tcp") || strings.Contains(obj.typ, "stream") || v.has(tPeer) {
			return psOf(value{s: unknownText, t: tPeer | v.t})
		}
		return psOf(v)
	case "start":
		if strings.Contains(obj.typ, "listener") {
			return psv{}
		}
		if strings.Contains(obj.typ, "process") {
			r.startInfo(obj, at)
			return psv{}
		}
	case "run", "exec", "shellexecute", "create", "createprocess":
		if strings.Contains(obj.typ, "shell") || strings.Contains(obj.typ, "wmi") || strings.Contains(obj.typ, "process") {
			if name == "shellexecute" && strings.EqualFold(arg(3).s, "runas") {
				f.emit(Action{Kind: PrivElevate, Span: at, Command: cmd})
			}
			line := arg(0)
			if name == "shellexecute" && arg(1).s != "" {
				line = concat(line, lit(" "))
				line = concat(line, arg(1))
			}
			f.cmdLine(line, at)
			return psv{}
		}
	case "regwrite":
		x := r.inv(name, nil, at)
		x.registry(arg(0).s, "", false)
		return psv{}
	case "createshortcut":
		return psv{items: []value{arg(0)}, typ: "shortcut", hash: map[string]psv{}}
	case "save":
		if obj.typ == "shortcut" {
			x := r.inv(name, nil, at)
			f.writeTo(r.pathValue(v, true), value{s: unknownText}, false, x.cmd, at)
			return psv{}
		}
	case "addaccessrule", "setaccessrule":
		obj.hash["rule"] = args0(args)
		return psv{}
	case "kill", "terminate", "stop", "closemainwindow":
		if v.t&tKillList != 0 || strings.Contains(obj.typ, "process") {
			x := r.inv(name, nil, at)
			f.emit(Action{Kind: ProcKill, Name: plain(v.s), Broad: v.has(tKillList), Span: at, Command: x.cmd + 1})
		}
		return psv{}
	case "delete":
		if !v.opaque() && v.s != "" {
			x := r.inv("remove-item", nil, at)
			p := f.resolve(r.pathValue(v, false))
			f.emit(Action{Kind: FileDelete, Path: p, Recursive: arg(0).s == "true", Span: at, Command: x.cmd + 1})
			return psv{}
		}
	case "moveto", "copyto":
		x := r.inv(name, nil, at)
		if name == "moveto" {
			f.emit(Action{Kind: FileDelete, Path: f.resolve(r.pathValue(v, false)), Detail: "move", Span: at, Command: x.cmd + 1})
		}
		f.writeTo(r.pathValue(arg(0), true), value{s: unknownText, t: tFile}, false, x.cmd, at)
		return psv{}
	case "getstring":
		if len(args) > 0 {
			b := arg(0)
			if *r.connected && len(args) > 1 {
				// A buffer that the peer filled.
				return psUnknown(tPeer)
			}
			if b.known() {
				if strings.Contains(obj.typ, "unicode") || strings.Contains(obj.typ, "utf16") {
					b.s = literal(decodeUTF16(b.s))
				}
				return psOf(b)
			}
			if *r.connected {
				b.t |= tPeer
			}
			return psOf(b)
		}
	case "getbytes":
		return psOf(arg(0))
	case "invoke", "invokereturnasis", "invokescript", "begininvoke":
		x := r.inv("invoke", nil, at)
		switch {
		case obj.typ == "scriptblock" || strings.Contains(obj.typ, "powershell"):
			return r.runText(x, v)
		case len(args) > 0 && strings.Contains(name, "script"):
			return r.runText(x, arg(0))
		case v.t&(tNet|tPeer|tDecoded) != 0:
			x.origin(v)
		}
		return psUnknown(tCmd)
	case "addscript", "addcommand":
		return psv{items: []value{arg(0)}, typ: "powershell"}
	case "tostring", "trim", "trimend", "trimstart", "normalize", "clone", "getawaiter", "getresult", "tochararray", "getenumerator", "toarray", "readasstringasync", "getnetworkcredential":
		if name == "getnetworkcredential" {
			return psUnknown(0)
		}
		if name == "tochararray" && v.known() {
			out := psv{arr: true}
			for _, c := range v.s {
				if len(out.items) >= psMaxItems {
					break
				}
				out.items = append(out.items, v.with(string(c)))
			}
			return out
		}
		return obj
	case "toupper", "toupperinvariant":
		if v.known() {
			v.s = strings.ToUpper(v.s)
		}
		return psOf(v)
	case "tolower", "tolowerinvariant":
		if v.known() {
			v.s = strings.ToLower(v.s)
		}
		return psOf(v)
	case "replace":
		if v.known() && arg(0).known() && arg(1).known() && arg(0).s != "" {
			if strings.Count(v.s, arg(0).s)*len(arg(1).s) > maxText {
				return psUnknown(v.t)
			}
			m.nodes += len(v.s) >> 6
			v.s = strings.ReplaceAll(v.s, arg(0).s, arg(1).s)
			v.t |= tGlued
		}
		return psOf(v)
	case "split":
		return splitItems(v, arg(0).s, false)
	case "substring", "insert", "remove", "padleft", "padright":
		if name == "substring" && v.known() {
			if s, ok := substring(v.s, arg(0).s, arg(1).s, len(args) > 1); ok {
				v.s = s
				v.t |= tGlued
				return psOf(v)
			}
		}
		return psUnknown(v.t)
	case "add", "append", "appendline":
		if obj.hash != nil && strings.Contains(obj.typ, "prefix") {
			r.prefix(arg(0), at)
		}
		if strings.HasPrefix(arg(0).s, "http://") && strings.Contains(arg(0).s, ":") {
			r.prefix(arg(0), at)
		}
		return psv{}
	case "addprefix":
		r.prefix(arg(0), at)
		return psv{}
	case "write", "writeline", "writeasync":
		if v.has(tPeer) && arg(0).t&dataTaints != 0 {
			f.emit(Action{Kind: NetUpload, Span: at})
		}
		return psv{}
	case "foreach", "where":
		if len(args) > 0 && args[0].fn != nil {
			saved := r.vars["_"]
			r.vars["_"] = obj
			out := r.block(args[0].fn)
			r.vars["_"] = saved
			if name == "where" {
				return obj
			}
			return out
		}
	}
	out := unknownVal(v.t & (tNet | tPeer | tFile | tEnv | tDecoded | tKillList))
	out.src = v.src
	return psOf(out)
}

func args0(args []psv) psv {
	if len(args) > 0 {
		return args[0]
	}
	return psv{}
}

func substring(s, from, n string, two bool) (string, bool) {
	a, ok := atoi(from)
	if !ok || a > len(s) {
		return "", false
	}
	if !two {
		return s[a:], true
	}
	l, ok := atoi(n)
	if !ok || a+l > len(s) {
		return "", false
	}
	return s[a : a+l], true
}

func atoi(s string) (int, bool) {
	if s == "" || len(s) > 6 {
		return 0, false
	}
	n := 0
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

// prefix judges what an HTTP listener is bound to.
func (r *psRun) prefix(v value, at Span) {
	if h := hostOf(v.s); !loopback(h) || h == "0.0.0.0" {
		r.f.emit(Action{Kind: NetListen, Host: plain(h), Span: at})
	}
}

// peer records a connection to a host.
func (r *psRun) peer(host value, at Span) {
	r.f.emit(Action{Kind: NetConnect, Host: plain(host.s), Span: at})
	if !host.known() || !loopback(host.s) {
		*r.connected = true
	}
}

// startInfo starts the process that a ProcessStartInfo describes.
func (r *psRun) startInfo(obj psv, at Span) {
	info := obj
	if s, ok := obj.hash["startinfo"]; ok {
		info = s
	}
	file := info.hash["filename"].one()
	line := concat(file, lit(" "))
	line = concat(line, info.hash["arguments"].one())
	if strings.EqualFold(info.hash["verb"].text(), "runas") {
		r.f.emit(Action{Kind: PrivElevate, Span: at})
	}
	if _, piped := info.hash["redirectstandardinput"]; piped && *r.connected {
		r.f.emit(Action{Kind: NetShell, Span: at})
	}
	if file.s != "" {
		r.f.cmdLine(line, at)
	}
}

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

// psFetch records a download and gives what comes.
func (x *inv) psFetch(u value) value {
	f := x.f
	x.fetch(u)
	out := value{s: unknownText, t: tNet | tCmd, span: x.span}
	if metadataHost(u.s) {
		out.src = append(out.src, f.emit(Action{Kind: SecretReveal, Name: "the metadata service", Span: x.span, Command: x.cmd + 1}))
	}
	if rest, ok := strings.CutPrefix(strings.ToLower(u.s), "file:///"); ok {
		return f.readFile(u.with(rest), x.cmd, false)
	}
	if h := hostOf(u.s); u.known() && loopback(h) {
		out.t = tCmd
	}
	if u.t&(tFile|tEnv) != 0 {
		f.emit(Action{Kind: NetUpload, Host: plain(hostOf(u.s)), Span: x.span, Command: x.cmd + 1})
	}
	return out
}

// psUpload records that data goes to a URL.
func (x *inv) psUpload(u, data value) {
	f := x.f
	x.fetch(u)
	host := hostOf(u.s)
	if data.t&(tFile|tEnv) == 0 && !(data.has(tCmd) && data.t&(tNet|tNames) == 0) {
		return
	}
	if u.known() && loopback(host) {
		return
	}
	f.emit(Action{Kind: NetUpload, Host: plain(host), Dry: x.dry, Span: x.span, Command: x.cmd + 1})
	if data.has(tEnv) {
		f.emit(Action{Kind: EnvSend, Span: x.span, Command: x.cmd + 1})
	}
}
