package shell

import (
	"strings"
)

// psHandlers are the commands that need more than the table says.
var psHandlers map[string]func(*psCall) psv

func init() {
	psHandlers = map[string]func(*psCall) psv{
		"invoke-webrequest": (*psCall).web, "invoke-restmethod": (*psCall).web, "start-bitstransfer": (*psCall).bits,
		"invoke-expression": (*psCall).expression, "invoke-command": (*psCall).scriptCall, "start-job": (*psCall).scriptCall, "start-threadjob": (*psCall).scriptCall,
		"measure-command": (*psCall).scriptCall, "new-module": (*psCall).scriptCall,
		"foreach-object": (*psCall).forEach, "where-object": (*psCall).where,
		"start-process": (*psCall).startProcess, "invoke-item": (*psCall).invokeItem,
		"stop-process": (*psCall).stopProcess, "get-process": (*psCall).getProcess,
		"get-childitem": (*psCall).children, "get-item": (*psCall).item, "resolve-path": (*psCall).item, "convert-path": (*psCall).item,
		"get-content": (*psCall).getContent, "select-string": (*psCall).selectString, "get-nettcpconnection": func(*psCall) psv { return psUnknown(tOwnPid | tNames) },
		"copy-item": (*psCall).copyMove, "move-item": (*psCall).copyMove, "rename-item": (*psCall).copyMove,
		"push-location": (*psCall).location, "set-location": (*psCall).location,
		"join-path": (*psCall).joinPath, "split-path": (*psCall).splitPath, "get-location": func(c *psCall) psv { return psText(winShow(c.r.f.cwd)) },
		"new-object": (*psCall).newObject, "get-variable": (*psCall).getVariable, "set-variable": (*psCall).setVariable, "set-alias": (*psCall).setAlias,
		"get-command":   func(c *psCall) psv { return psOf(c.val("name").with(activate(c.val("name").s))) },
		"import-module": (*psCall).importModule, "install-module": (*psCall).install,
		"convertto-securestring": (*psCall).secureString, "invoke-sqlcmd": (*psCall).sqlcmd, "read-host": func(*psCall) psv { return psUnknown(0) },
		"get-date": func(*psCall) psv { return psUnknown(0) }, "tee-object": func(c *psCall) psv { return c.in }, "get-clipboard": func(*psCall) psv { return psUnknown(0) },
		"set-service": (*psCall).setService, "register-scheduledtask": func(*psCall) psv { return psv{} },
		"invoke-wmimethod": (*psCall).wmi, "invoke-cimmethod": (*psCall).wmi, "new-scheduledtaskaction": (*psCall).taskAction,
		"add-type": (*psCall).addType, "clear-recyclebin": (*psCall).recycle, "measure-object": (*psCall).measured,
		"set-item": (*psCall).setItem, "new-scheduledtask": func(c *psCall) psv { return psUnknown(0) }, "get-secret": (*psCall).revealed,
	}
}

func (c *psCall) revealed() psv { return psUnknown(tCmd) }

func (c *psCall) measured() psv {
	for _, it := range c.in.items {
		c.r.m.quiet(it)
	}
	return psUnknown(tNames)
}

// web is Invoke-WebRequest and Invoke-RestMethod.
func (c *psCall) web() psv {
	r, x := c.r, c.x
	f, m := r.f, r.m
	at := x.cmd + 1
	u := c.val("uri")
	out := x.psFetch(u)
	data := c.val("body")
	data.t |= c.args["body"].taint()
	if form, ok := c.args["form"]; ok {
		data.t |= form.taint()
		for _, v := range form.hash {
			if v.typ == "files" {
				data.t |= tFile
				for _, it := range v.items {
					f.readFile(it, x.cmd, false)
				}
			}
		}
	}
	if c.given["infile"] {
		data.t |= tFile
	}
	if c.hasIn && !c.given["body"] {
		data.t |= c.in.taint() & dataTaints
	}
	if data.t&(tFile|tEnv) != 0 || data.has(tCmd) && data.t&(tNet|tNames) == 0 {
		if !(u.known() && loopback(hostOf(u.s))) {
			f.emit(Action{Kind: NetUpload, Host: plain(hostOf(u.s)), Dry: x.dry, Span: x.span, Command: at})
			if data.has(tEnv) {
				f.emit(Action{Kind: EnvSend, Span: x.span, Command: at})
			}
		}
	}
	method := strings.ToUpper(c.val("method").s)
	if h := c.args["headers"].hash; h != nil {
		for k, v := range h {
			if secretHeader(k) {
				s := v.text()
				for _, p := range []string{"Bearer ", "token ", "Basic "} {
					s = strings.TrimPrefix(s, p)
				}
				r.literalValue(psText(s), x.span)
			}
		}
	}
	x.forgeCall(method, u.s, data.s, c.given["body"])
	if method == "HEAD" {
		out.t &^= tNet
	}
	if c.given["outfile"] {
		t := r.pathValue(c.val("outfile"), true)
		f.writeTo(t, value{s: unknownText, t: out.t}, false, x.cmd, x.span)
		if !c.given["passthru"] {
			return psv{}
		}
	}
	_ = m
	return psOf(out)
}

func (c *psCall) bits() psv {
	r, x := c.r, c.x
	if strings.EqualFold(c.val("transfertype").s, "upload") || strings.EqualFold(c.val("transfertype").s, "uploadreply") {
		r.f.readFile(r.pathValue(c.val("source"), true), x.cmd, false)
		x.psUpload(c.val("destination"), value{s: unknownText, t: tFile})
		return psv{}
	}
	out := x.psFetch(c.val("source"))
	if c.given["destination"] {
		r.f.writeTo(r.pathValue(c.val("destination"), true), value{s: unknownText, t: out.t}, false, x.cmd, x.span)
	}
	return psv{}
}

// expression is Invoke-Expression.
func (c *psCall) expression() psv {
	v := c.args["command"]
	if c.hasIn {
		v.append(c.in)
	}
	code := joinItems(v, "\n")
	if len(v.items) > 1 {
		code.t &^= tGlued
		for _, it := range v.items {
			code.t |= it.t & tGlued
		}
	}
	return c.r.runText(c.x, code)
}

// scriptCall runs a script block, here or elsewhere.
func (c *psCall) scriptCall() psv {
	r, x := c.r, c.x
	f := r.f
	var b psv
	for _, n := range []string{"scriptblock", "expression"} {
		if v, ok := c.args[n]; ok {
			b = v
		}
	}
	host := ""
	for _, n := range []string{"computername", "hostname", "session", "vmname", "containerid"} {
		if c.given[n] {
			host = plain(c.val(n).s)
			if host == "" {
				host = "…"
			}
		}
	}
	saved := f.host
	if host != "" {
		f.host = host
	}
	defer func() { f.host = saved }()
	if c.given["filepath"] {
		r.scriptFile(x, c.val("filepath"), nil)
	}
	var args []psBound
	for _, it := range c.args["argumentlist"].items {
		args = append(args, psBound{value: psOf(it), has: true})
	}
	switch {
	case b.fn != nil:
		return r.invoke(b.fn, args, c.in)
	case b.typ == "scriptblock":
		return r.runText(x, b.one())
	case !b.empty():
		r.m.undecided(ScriptUnknown, "", true, x.cmd, x.span)
	}
	return psUnknown(tCmd)
}

// forEach is ForEach-Object.
func (c *psCall) forEach() psv {
	r := c.r
	var out psv
	for _, n := range []string{"begin", "process", "parallel", "end", "membername"} {
		v, ok := c.args[n]
		if !ok {
			continue
		}
		if v.fn == nil {
			name := v.text()
			if name != "" {
				var args []psExpr
				for _, a := range c.args["argumentlist"].items {
					args = append(args, &psConst{psOf(a)})
				}
				call := strings.EqualFold(name, "delete") || strings.EqualFold(name, "kill") || len(args) > 0
				out.append(r.member(&psMember{obj: &psConst{c.in}, name: &psConst{psText(name)}, call: call, args: args}))
			}
			continue
		}
		items := c.in.items
		if len(items) == 0 {
			items = []value{unknownVal(0)}
		}
		for i, it := range items {
			if i >= 32 || r.m.stop {
				break
			}
			saved := r.vars["_"]
			one := psOf(it)
			one.typ = c.in.typ
			r.vars["_"] = one
			r.vars["psitem"] = one
			o := r.block(v.fn)
			r.m.nodes += len(o.items)/4 + 1
			out.append(o)
			r.vars["_"] = saved
			delete(r.vars, "psitem")
		}
	}
	for _, rest := range c.rest {
		if rest.fn != nil {
			out.append(r.block(rest.fn))
		}
	}
	return out
}

// where is Where-Object: it lets some of what comes in through.
func (c *psCall) where() psv {
	r, x := c.r, c.x
	f := r.f
	in := c.in
	if fn := c.args["filterscript"].fn; fn != nil {
		saved := r.vars["_"]
		r.vars["_"] = in
		r.block(fn)
		r.vars["_"] = saved
	} else {
		var pattern strings.Builder
		for _, n := range []string{"value", "match", "like", "eq", "contains"} {
			pattern.WriteString(c.val(n).s)
		}
		for _, v := range c.rest {
			pattern.WriteString(" " + v.text())
		}
		if in.taint()&tEnv != 0 {
			f.emit(Action{Kind: EnvFilter, Name: plain(pattern.String()), Span: x.span, Command: x.cmd + 1})
		}
	}
	out := psv{typ: in.typ, arr: in.arr, hash: in.hash}
	for _, it := range in.items {
		// Some of the files: a pattern that is not all of them.
		if it.glob() && strings.HasSuffix(it.s, string(rune(markStar))) {
			it.s += "matching"
		}
		out.items = append(out.items, it)
	}
	return out
}

// startProcess is Start-Process.
func (c *psCall) startProcess() psv {
	r, x := c.r, c.x
	f := r.f
	at := x.cmd + 1
	if strings.EqualFold(c.val("verb").s, "runas") {
		f.emit(Action{Kind: PrivElevate, Detail: "", Dry: x.dry, Span: x.span, Command: at})
	}
	if c.given["credential"] {
		f.emit(Action{Kind: PrivElevate, Detail: "runs as another user", Dry: x.dry, Span: x.span, Command: at})
	}
	if x.dry {
		return psv{}
	}
	file := c.val("filepath")
	if file.s == "" {
		return psv{}
	}
	if strings.Contains(file.s, "://") {
		return psv{}
	}
	if d, ok := c.args["workingdirectory"]; ok {
		f = f.fork()
		f.chdir(r.pathValue(d.one(), true))
	}
	all := []value{file}
	for _, it := range c.args["argumentlist"].items {
		if it.known() && strings.ContainsAny(it.s, " ") && len(c.args["argumentlist"].items) == 1 {
			for _, w := range winSplit(it.s) {
				all = append(all, it.with(w))
			}
			continue
		}
		// The list is put together with blanks, without quotes.
		all = append(all, it)
	}
	for _, v := range c.rest {
		all = append(all, v.items...)
	}
	g := f.under("start-process")
	if strings.HasSuffix(winBase(file.s), ".ps1") {
		return r.scriptFile(x, file, nil)
	}
	g.program(all, r.env(), x.span)
	return psv{}
}

// invokeItem opens a file with what is set up for it: programs and scripts run.
func (c *psCall) invokeItem() psv {
	v := c.val("path", "literalpath")
	if v.s == "" || strings.HasSuffix(v.s, ".") {
		return psv{}
	}
	switch low := strings.ToLower(v.s); {
	case strings.HasSuffix(low, ".exe"), strings.HasSuffix(low, ".bat"), strings.HasSuffix(low, ".cmd"), strings.HasSuffix(low, ".msi"), strings.HasSuffix(low, ".vbs"), strings.HasSuffix(low, ".js"):
		c.r.f.program([]value{c.r.pathValue(v, true)}, nil, c.x.span)
	}
	return psv{}
}

func (c *psCall) stopProcess() psv {
	x, f := c.x, c.r.f
	at := x.cmd + 1
	if c.given["name"] {
		for _, it := range c.args["name"].items {
			f.emit(Action{Kind: ProcKill, Name: plain(it.s), Broad: true, Dry: x.dry, Span: x.span, Command: at})
		}
		return psv{}
	}
	ids := c.args["id"]
	for _, n := range []string{"inputobject"} {
		ids.append(c.args[n])
	}
	if c.hasIn {
		ids.append(c.in)
	}
	for _, v := range c.rest {
		ids.append(v)
	}
	for _, it := range ids.items {
		if strings.HasPrefix(it.s, "-") {
			continue
		}
		broad := it.has(tKillList)
		if !it.glob() && it.known() && it.s != "" {
			if _, ok := atoi(it.s); !ok {
				broad = true
			}
		}
		f.emit(Action{Kind: ProcKill, Name: plain(it.s), Broad: broad, Dry: x.dry, Span: x.span, Command: at})
	}
	return psv{}
}

func (c *psCall) getProcess() psv {
	if c.given["id"] {
		return psv{items: []value{{s: unknownText, t: tNames}}, typ: "process"}
	}
	v := c.val("name")
	s := unknownText
	if v.s != "" {
		s = "process:" + v.s
	}
	return psv{items: []value{{s: s, t: tKillList | tNames}}, typ: "process"}
}

func (c *psCall) newObject() psv {
	if c.given["comobject"] {
		return psv{typ: "com." + strings.ToLower(c.val("comobject").s), hash: map[string]psv{}}
	}
	var args []psv
	if v, ok := c.args["argumentlist"]; ok {
		for _, it := range v.items {
			args = append(args, psOf(it))
		}
		if v.hash != nil || v.fn != nil {
			args = append(args, v)
		}
	}
	typ := c.val("typename").s
	if i := strings.IndexByte(typ, '('); i > 0 {
		typ = typ[:i]
	}
	return c.r.newObject(typ, args, c.args["property"], c.x.span)
}

func (c *psCall) getVariable() psv {
	return c.r.variable(&psVar{name: c.val("name").s, span: c.x.span})
}

func (c *psCall) setVariable() psv {
	if n := c.val("name").s; n != "" {
		v := c.args["value"]
		if v.empty() && c.hasIn {
			v = c.in
		}
		c.r.setVar(n, v)
	}
	return psv{}
}

func (c *psCall) setAlias() psv {
	n, v := strings.ToLower(c.val("name").s), c.val("value").s
	if n != "" && v != "" && clean(v) {
		c.r.alias[n] = v
	}
	return psv{}
}

func (c *psCall) importModule() psv {
	v := c.val("name")
	if low := strings.ToLower(v.s); strings.HasSuffix(low, ".psm1") || strings.HasSuffix(low, ".ps1") || strings.HasSuffix(low, ".psd1") || strings.HasSuffix(low, ".dll") {
		c.r.scriptFile(c.x, v, nil)
	}
	return psv{}
}

func (c *psCall) install() psv { return psv{} }

func (c *psCall) secureString() psv {
	if c.given["asplaintext"] {
		v := c.args["string"]
		if s := v.one(); s.known() && s.t&tVar == 0 && looksSecret(s.s) {
			c.r.f.emit(Action{Kind: SecretLiteral, Span: c.x.span, Command: c.x.cmd + 1})
		}
	}
	return psUnknown(0)
}

func (c *psCall) sqlcmd() psv {
	if v, ok := c.args["query"]; ok {
		c.x.sql(v.one())
	}
	return psUnknown(tCmd)
}

func (c *psCall) setService() psv {
	st := strings.ToLower(c.val("startuptype").s)
	if st == "disabled" || strings.EqualFold(c.val("status").s, "stopped") {
		c.r.f.emit(Action{Kind: ServiceStop, Name: plain(c.val("name").s), Dry: c.x.dry, Span: c.x.span, Command: c.x.cmd + 1})
	}
	return psv{}
}

func (c *psCall) wmi() psv {
	x, f := c.x, c.r.f
	class, method := strings.ToLower(c.val("class", "classname").s), strings.ToLower(c.val("name", "methodname").s)
	switch {
	case method == "create" && strings.Contains(class, "process"):
		v := c.args["arguments"]
		line := v.one()
		if v.hash != nil {
			line = v.hash["commandline"].one()
		}
		if al, ok := c.args["argumentlist"]; ok {
			line = al.one()
		}
		f.cmdLine(line, x.span)
	case method == "win32shutdown" || method == "reboot" || method == "shutdown":
		f.emit(Action{Kind: MachineStop, Dry: x.dry, Span: x.span, Command: x.cmd + 1})
	case method == "terminate":
		f.emit(Action{Kind: ProcKill, Broad: true, Name: plain(c.val("query").s), Dry: x.dry, Span: x.span, Command: x.cmd + 1})
	case method == "stopservice":
		f.emit(Action{Kind: ServiceStop, Name: "a service", Dry: x.dry, Span: x.span, Command: x.cmd + 1})
	}
	return psUnknown(tCmd)
}

func (c *psCall) taskAction() psv {
	line := c.val("execute")
	if a := c.val("argument"); a.s != "" {
		line = concat(line, lit(" "))
		line = concat(line, a)
	}
	return psv{hash: map[string]psv{"line": psOf(line)}}
}

func (c *psCall) addType() psv {
	if c.given["typedefinition"] || c.given["memberdefinition"] {
		c.r.m.undecided(CodeInline, "C#", true, c.x.cmd, c.x.span)
	}
	return psv{}
}
