package shell

import "strings"

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
