package shell

import (
	"strings"
)

// psCall is one run of a command that the table knows.
type psCall struct {
	r     *psRun
	x     *inv
	spec  *psSpec
	args  map[string]psv
	given map[string]bool
	rest  []psv
	in    psv
	hasIn bool
}

// bind gives each argument its parameter.
func (c *psCall) bind(args []psBound) {
	c.args, c.given = map[string]psv{}, map[string]bool{}
	var pos []psBound
	var flags []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.param == "" {
			pos = append(pos, a)
			continue
		}
		name, sw, known := c.spec.find(a.param)
		if !known && strings.Trim(strings.ToLower(a.param), "rf") == "" && c.spec.name == "remove-item" {
			// -rf, as people write it by habit.
			c.given["recurse"] = true
			flags = append(flags, "-recurse")
			continue
		}
		flags = append(flags, "-"+name)
		switch {
		case sw:
			on := !a.has || a.value.text() != "false" && a.value.text() != "0"
			c.given[name] = on
			if a.has {
				c.args[name] = a.value
			}
		case a.has:
			c.given[name] = true
			c.args[name] = a.value
		case i+1 < len(args) && args[i+1].param == "":
			i++
			c.given[name] = true
			c.args[name] = args[i].value
		default:
			c.given[name] = true
		}
	}
	if cmd := c.x.command(); cmd != nil {
		cmd.Flags = flags
	}
	for n := 1; len(pos) > 0; n++ {
		slot := ""
		for i := range c.spec.params {
			p := &c.spec.params[i]
			if p.pos == n {
				slot = p.name
			}
			if p.pos == -1 {
				var all psv
				for _, a := range pos {
					all.append(a.value)
				}
				c.args[p.name], c.given[p.name] = all, true
				return
			}
		}
		if slot == "" {
			if n > 4 {
				break
			}
			continue
		}
		if c.given[slot] {
			continue
		}
		// The switches of cmd, by habit.
		if len(pos) > 0 && pos[0].bare && c.r.m.win && len(pos[0].value.text()) == 2 && pos[0].value.text()[0] == '/' {
			if pos[0].value.text() == "/s" {
				c.given["recurse"] = true
			}
			pos = pos[1:]
			n--
			continue
		}
		c.args[slot], c.given[slot] = pos[0].value, true
		pos = pos[1:]
	}
	for _, a := range pos {
		c.rest = append(c.rest, a.value)
	}
}

func (c *psCall) val(names ...string) value {
	for _, n := range names {
		if v, ok := c.args[n]; ok {
			return v.one()
		}
	}
	return value{}
}

func (c *psCall) run() psv {
	r, x := c.r, c.x
	f, m := r.f, r.m
	if c.given["whatif"] {
		x.dry = true
	}
	if c.given["?"] {
		return psUnknown(0)
	}
	at := x.cmd + 1
	// Values that come through the pipe stand where the first role is.
	for i := range c.spec.params {
		p := &c.spec.params[i]
		v, ok := c.args[p.name]
		if p.role == "" || !ok {
			continue
		}
		c.role(p.role, p.name, v)
	}
	if c.hasIn && !c.in.empty() {
		c.piped()
	}
	for i := range c.spec.acts {
		a := &c.spec.acts[i]
		if a.param != "" && !c.holds(a) {
			continue
		}
		f.emit(Action{Kind: a.kind, Detail: a.detail, Name: a.detail, Dry: x.dry, Span: x.span, Command: at})
		if a.kind == Persist && c.spec.name == "register-scheduledtask" && c.args["action"].hash != nil {
			f.cmdLine(c.args["action"].hash["line"].one(), x.span)
		}
	}
	if h := psHandlers[c.spec.name]; h != nil {
		return h(c)
	}
	switch {
	case c.spec.quiet:
		for _, it := range c.in.items {
			m.quiet(it)
		}
		return psv{}
	case c.spec.pass:
		return c.passed()
	}
	switch c.spec.out {
	case "file":
		return c.fileOut()
	case "names":
		for _, it := range c.in.items {
			m.quiet(it)
		}
		return psUnknown(tNames | tCmd)
	}
	return psUnknown(tCmd)
}

func (c *psCall) holds(a *psAct) bool {
	for name, v := range c.args {
		if name != a.param && !(strings.HasSuffix(a.param, "*") && globMatch(a.param, name)) {
			continue
		}
		if a.pats == nil || matchAny(a.pats, strings.ToLower(v.text())) {
			return true
		}
	}
	return a.pats == nil && c.given[a.param]
}

// passed gives what comes in, or the values given, to whatever is next.
func (c *psCall) passed() psv {
	out := c.in
	for _, n := range []string{"inputobject", "object", "message"} {
		if v, ok := c.args[n]; ok {
			out.append(v)
		}
	}
	if c.spec.name == "write-host" || c.spec.name == "out-host" || c.spec.name == "write-error" {
		c.r.show(out)
		return psv{}
	}
	if c.spec.name == "write-output" {
		for i := range out.items {
			out.items[i].t &^= tGlued
		}
	}
	return out
}

// fileOut gives the content of the files that were read.
func (c *psCall) fileOut() psv {
	if len(c.x.reads) == 0 {
		out := unknownVal(tFile)
		return psOf(out)
	}
	out := psv{}
	for _, v := range c.x.reads {
		out.append(psOf(v))
	}
	if !c.given["raw"] {
		// Lines, as many as there are.
		var lines psv
		for _, v := range out.items {
			if v.known() && strings.Contains(v.s, "\n") {
				for l := range strings.SplitSeq(strings.TrimSuffix(v.s, "\n"), "\n") {
					lines.append(psOf(v.with(l)))
				}
			} else {
				lines.append(psOf(v))
			}
		}
		return lines
	}
	return out
}

// pathValue makes a text a path: separators, the home, wildcards.
func (r *psRun) pathValue(v value, exact bool) value {
	s := v.s
	if len(s) > 6 && strings.EqualFold(s[:5], "file:") {
		s = strings.TrimPrefix(s[5:], "//")
	}
	if !r.m.win {
		s = strings.ReplaceAll(s, `\`, "/")
	}
	if (s == "~" || strings.HasPrefix(s, "~/") || strings.HasPrefix(s, `~\`)) && r.m.opts.Home != "" {
		s = literal(r.m.opts.Home) + s[1:]
	}
	if !exact {
		s = activate(s)
	}
	return v.with(s)
}

// provider splits off a drive that is no folder: env:, hklm: and their like.
func provider(s string) (kind, rest string) {
	if i := strings.Index(s, "::"); i > 0 {
		k := strings.ToLower(s[:i])
		if j := strings.LastIndexByte(k, '\\'); j >= 0 {
			k = k[j+1:]
		}
		switch k {
		case "registry":
			return "registry", s[i+2:]
		case "environment":
			return "env", s[i+2:]
		}
		return "", s
	}
	i := strings.IndexByte(s, ':')
	if i < 2 {
		if strings.HasPrefix(strings.ToUpper(s), "HKEY_") {
			return "registry", s
		}
		return "", s
	}
	rest = strings.TrimLeft(s[i+1:], `\/`)
	switch k := strings.ToLower(s[:i]); k {
	case "env", "function", "variable", "alias", "cert", "wsman":
		return k, rest
	case "hklm", "hkcu", "hkcr", "hku", "hkcc":
		return "registry", strings.ToUpper(k) + `\` + rest
	}
	return "", s
}

func (c *psCall) role(role, param string, v psv) {
	r, x := c.r, c.x
	f, m := r.f, r.m
	at := x.cmd + 1
	exact := param == "literalpath"
	switch role {
	case "service":
		for _, it := range v.items {
			f.emit(Action{Kind: ServiceStop, Name: plain(it.s), Dry: x.dry, Span: x.span, Command: at})
		}
		return
	case "secret":
		x.literalSecret("secret", v.one())
		return
	case "content":
		return
	}
	for _, it := range v.items {
		if it.s == "" && len(it.vars) == 0 {
			continue
		}
		if it.span == (Span{}) {
			it.span = x.span
		}
		kind, rest := provider(it.s)
		if kind != "" {
			c.other(kind, rest, role, it)
			continue
		}
		p := r.pathValue(it, exact)
		if c.given["name"] && role == "new" {
			p.s += "/" + c.val("name").s
		}
		switch role {
		case "delete":
			c.remove(p, it.has(tNames))
		case "write", "append", "new":
			content := c.content()
			if role == "new" && strings.EqualFold(c.val("itemtype").s, "directory") {
				content = value{}
			}
			add := role == "append" || c.given["append"]
			if x.dry {
				f.emit(Action{Kind: FileWrite, Path: f.resolve(p), Dry: true, Span: it.span, Command: at})
				continue
			}
			switch t := strings.ToLower(c.val("itemtype").s); {
			case role == "new" && (t == "symboliclink" || t == "junction" || t == "hardlink"):
				x.makeLink(r.pathValue(c.val("value"), true), p)
			default:
				f.writeTo(p, content, add, x.cmd, it.span)
			}
		case "wtree":
			f.writeTo(p, value{s: unknownText, t: tFile}, false, x.cmd, it.span)
			for _, rd := range x.reads {
				if rd.t&tNet != 0 {
					m.netDirs = append(m.netDirs, f.resolve(p).Abs)
				}
			}
		case "read", "upload":
			x.reads = append(x.reads, f.readFile(p, x.cmd, false))
			if role == "upload" {
				f.emit(Action{Kind: NetUpload, Dry: x.dry, Span: x.span, Command: at})
			}
		case "meta", "item", "list":
			f.emit(Action{Kind: FileMeta, Path: f.resolve(p), Span: it.span, Command: at})
		case "dir":
			f.chdir(p)
		case "acl":
			mode := ""
			if rule, ok := c.args["aclobject"]; ok {
				low := strings.ToLower(rule.hash["rule"].text())
				if everyone(low) && strings.Contains(low, "allow") && !strings.Contains(low, "read") {
					mode = "a+w"
				}
			}
			f.emit(Action{Kind: FileMode, Path: f.resolve(p), Mode: mode, Dry: x.dry, Span: it.span, Command: at})
		}
	}
}

// content is what a command writes.
func (c *psCall) content() value {
	for i := range c.spec.params {
		if p := &c.spec.params[i]; p.role == "content" {
			if v, ok := c.args[p.name]; ok {
				return joinItems(v, "\n")
			}
		}
	}
	if c.hasIn {
		v := joinItems(c.in, "\n")
		v.t &^= tGlued
		return v
	}
	return value{s: unknownText}
}

// other acts on drives that are no folders.
func (c *psCall) other(kind, rest, role string, it value) {
	r, x := c.r, c.x
	f := r.f
	at := x.cmd + 1
	switch kind {
	case "env":
		name := strings.ToUpper(strings.TrimLeft(rest, `\/`))
		switch role {
		case "delete", "write", "new", "append":
			v := c.args["value"]
			if role == "delete" {
				v = psText("")
			}
			if !x.dry {
				r.setEnv(name, v, x.span)
			}
		case "read", "item", "list":
			// What comes out is told by the handlers.
		}
	case "registry":
		switch role {
		case "delete", "regdelete":
			if c.given["recurse"] && !x.dry {
				x.registry(rest, c.val("name").s, true)
			}
		case "write", "new", "append", "regwrite":
			if !x.dry {
				x.registry(rest, c.val("name").s, false)
			}
		}
	case "function", "alias", "variable":
	case "cert":
		if role == "delete" {
			f.emit(Action{Kind: FileDelete, Path: Path{Raw: plain(it.s), Abs: "Cert:/" + plain(rest), Place: PlaceOutside}, Dry: x.dry, Span: it.span, Command: at})
		}
	}
}

// remove deletes one path.
func (c *psCall) remove(p value, filtered bool) {
	x := c.x
	tree := c.given["recurse"]
	if inc, ok := c.args["include"]; ok {
		// Only what the names match: as if they were part of the path.
		if p.glob() {
			p.s = strings.TrimSuffix(p.s, string(rune(markStar)))
		} else {
			p.s += "/"
		}
		for _, it := range inc.items {
			x.deletes(p.with(p.s+activate(it.s)), tree)
		}
		return
	}
	if fl, ok := c.args["filter"]; ok {
		p.s = strings.TrimSuffix(p.s, "/"+string(rune(markStar))) + "/" + activate(fl.text())
	}
	x.deletes(p, tree)
}

// piped gives what comes through the pipe to the commands that act on it.
func (c *psCall) piped() {
	r, x := c.r, c.x
	f := r.f
	switch c.spec.name {
	case "remove-item", "clear-content", "get-content", "select-string", "import-csv", "move-item", "copy-item", "rename-item", "invoke-item", "set-acl", "set-itemproperty":
	case "out-file", "set-content", "add-content", "export-csv", "export-clixml", "tee-object", "invoke-webrequest", "invoke-restmethod":
		for _, it := range c.in.items {
			for _, n := range it.vars {
				f.emit(Action{Kind: EnvPrint, Name: n, Span: x.span, Command: x.cmd + 1})
			}
		}
		return
	default:
		return
	}
	if c.spec.name == "select-string" && !c.given["path"] && c.in.typ != "files" {
		return
	}
	if c.given["path"] && c.spec.name == "remove-item" || c.given["literalpath"] {
		return
	}
	for _, it := range c.in.items {
		if it.s == "" {
			continue
		}
		p := it
		if it.opaque() {
			p.s = unknownText
		}
		if kind, rest := provider(p.s); kind != "" {
			c.other(kind, rest, "delete", p)
			continue
		}
		if !p.glob() {
			p = r.pathValue(p, c.in.typ == "files")
		}
		if p.span == (Span{}) {
			p.span = x.span
		}
		switch c.spec.name {
		case "remove-item":
			c.remove(p, false)
		case "clear-content":
			f.writeTo(p, value{}, false, x.cmd, x.span)
		case "get-content", "select-string", "import-csv":
			if p.opaque() {
				continue
			}
			x.reads = append(x.reads, f.readFile(p, x.cmd, false))
		case "move-item", "copy-item", "rename-item":
			c.args["path"] = psOf(p)
		}
	}
}

// everyone reports whether an account is everybody, or so many as to be that.
func everyone(s string) bool {
	s = strings.ToLower(s)
	for _, w := range [...]string{"everyone", "s-1-1-0", "authenticated users", "s-1-5-11", `builtin\users`, "s-1-5-32-545", "users:", "guests", "worldsid", "jeder", "tout le monde", "todos"} {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
