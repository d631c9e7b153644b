package shell

import (
	"maps"
	"slices"
	"strings"
)

// psBound is one argument of a command after evaluation.
type psBound struct {
	param string // "" for one by place
	raw   string
	has   bool // value is set
	value psv
	bare  bool // not quoted
	span  Span
}

func (r *psRun) evalArgs(args []psArg) []psBound {
	out := make([]psBound, 0, len(args))
	for _, a := range args {
		b := psBound{param: a.param, raw: a.raw, span: a.span}
		switch {
		case a.splat != "":
			v := r.vars[a.splat]
			if v.hash != nil {
				keys := make([]string, 0, len(v.hash))
				for k := range v.hash {
					keys = append(keys, k)
				}
				slices.Sort(keys)
				for _, k := range keys {
					out = append(out, psBound{param: k, raw: "-" + k, value: v.hash[k], has: true, span: a.span})
				}
				continue
			}
			if v.empty() {
				out = append(out, psBound{value: psUnknown(tMany), has: true, span: a.span})
				continue
			}
			for _, it := range v.items {
				out = append(out, psBound{value: psOf(it), has: true, span: a.span})
			}
			continue
		case a.value != nil:
			b.value, b.has = r.eval(a.value), true
			l, ok := a.value.(*psLit)
			b.bare = ok && !l.quoted
			for i := range b.value.items {
				if b.value.items[i].span == (Span{}) {
					b.value.items[i].span = a.span
				}
			}
		}
		out = append(out, b)
	}
	return out
}

// command runs one command of a pipeline.
func (r *psRun) command(c *psCmd, in psv, hasIn bool) psv {
	f, m := r.f, r.m
	if !m.step(f.base) {
		return psv{}
	}
	at := r.span(c.span)
	name := r.eval(c.name)
	if c.call {
		if fn, ok := c.name.(*psFn); ok {
			return r.invoke(fn.block, r.evalArgs(c.args), in)
		}
		if name.fn != nil {
			return r.invoke(name.fn, r.evalArgs(c.args), in)
		}
		if name.typ == "scriptblock" {
			x := r.inv("invoke-expression", nil, at)
			return r.runText(x, name.one())
		}
	}
	nv := name.one()
	args := r.evalArgs(c.args)
	if c.call {
		if _, plainVar := c.name.(*psVar); !plainVar && nv.known() && nv.t&(tGlued|tDecoded) != 0 && nv.s != "" {
			f.disguise(at, "a command name put together from pieces", -1)
		}
	}
	if nv.glob() {
		// & (Get-Command rem*-item)
		for key := range cmdlets() {
			if matchMarks(strings.ToLower(nv.s), key) && strings.Contains(key, "-") {
				f.disguise(at, "a command name spelled as a pattern", -1)
				nv.s = key
				break
			}
		}
	}
	if !nv.known() || nv.s == "" {
		x := r.inv("", args, at)
		x.command().Dynamic = true
		if nv.s == "" && len(nv.vars) == 0 && !c.call {
			return psv{}
		}
		if nv.t&(tNet|tPeer) != 0 {
			x.origin(nv)
			return psUnknown(tCmd)
		}
		m.undecided(CommandDynamic, nv.s, true, x.cmd, at)
		return psUnknown(tCmd)
	}
	return r.call(nv, args, in, hasIn, at, c.dot)
}

// invoke runs a script block with arguments.
func (r *psRun) invoke(b *psBlock, args []psBound, in psv) psv {
	if b == nil {
		return psv{}
	}
	if r.f.depth > r.m.lim.Depth {
		r.m.breach("depth", r.f.base)
		return psv{}
	}
	r.f.depth++
	defer func() { r.f.depth-- }()
	saved := map[string]psv{}
	set := func(k string, v psv) {
		if _, done := saved[k]; !done {
			saved[k] = r.vars[k]
		}
		r.vars[k] = v
	}
	var rest psv
	n := 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a.param != "" {
			name := strings.ToLower(a.param)
			for _, p := range b.params {
				if strings.HasPrefix(p, name) {
					v := a.value
					if !a.has {
						if i+1 < len(args) && args[i+1].param == "" {
							i++
							v = args[i].value
						} else {
							v = psText("true")
						}
					}
					set(p, v)
					break
				}
			}
			continue
		}
		rest.append(a.value)
		for n < len(b.params) {
			p := b.params[n]
			n++
			if _, done := saved[p]; !done {
				set(p, a.value)
				break
			}
		}
	}
	rest.arr = true
	set("args", rest)
	if !in.empty() {
		set("input", in)
		set("_", in)
	}
	out := r.block(b)
	maps.Copy(r.vars, saved)
	return out
}

// inv starts the record of a command.
func (r *psRun) inv(name string, args []psBound, at Span) *inv {
	f, m := r.f, r.m
	x := &inv{f: f, name: name, span: at, cmd: len(m.res.Commands), p: &parsed{}, spec: &spec{}}
	c := Command{Program: name, Wrappers: f.wrappers, Via: f.via, Host: f.host, Span: at}
	for _, a := range args {
		if a.param != "" {
			c.Flags = append(c.Flags, "-"+a.param)
			c.Args = append(c.Args, Arg{Value: a.raw, Known: true, Span: a.span})
			continue
		}
		for _, v := range a.value.items {
			if len(c.Args) < 4096 {
				c.Args = append(c.Args, toArg(&v))
			}
		}
	}
	m.res.Commands = append(m.res.Commands, c)
	if len(m.res.Commands) > maxCommands {
		m.breach("nodes", at)
	}
	return x
}

// nativeAliases are names that are aliases on Windows and programs elsewhere.
var nativeAliases = map[string]bool{
	"cat": true, "cp": true, "ls": true, "man": true, "mv": true, "ps": true, "rm": true, "rmdir": true, "sleep": true, "sort": true, "tee": true, "clear": true, "diff": true,
	"kill": true, "mkdir": true, "curl": true, "wget": true, "start": true, "where": true, "dir": true, "sc": true,
}

// call runs the command that name stands for.
func (r *psRun) call(nv value, args []psBound, in psv, hasIn bool, at Span, dot bool) psv {
	f := r.f
	name := nv.s
	if i := strings.LastIndexByte(name, '\\'); i > 0 && strings.HasPrefix(strings.ToLower(name), "microsoft.") {
		name = name[i+1:]
	}
	low := strings.ToLower(name)
	for range 8 {
		t, ok := r.alias[low]
		if !ok {
			break
		}
		name, low = t, strings.ToLower(t)
	}
	if b, ok := r.funcs[low]; ok {
		if slices.Contains(r.calls, low) {
			if n := strings.Count(strings.ToLower(b.text), low); n > 1 && (strings.Contains(b.text, "&") || strings.Contains(strings.ToLower(b.text), "start-")) {
				f.emit(Action{Kind: Exhaust, Detail: "a function that starts itself", Span: at})
			}
			return psUnknown(0)
		}
		r.calls = append(r.calls, low)
		via := f.via
		f.via = append(slices.Clip(f.via), ViaFunction)
		out := r.invoke(b, args, in)
		f.via = via
		r.calls = r.calls[:len(r.calls)-1]
		return out
	}
	sp, ok := cmdlets()[low]
	if ok && !strings.Contains(low, "-") && len(low) > 1 {
		switch {
		case !r.m.win && nativeAliases[low]:
			ok = false
		case low == "sc":
			ok = len(args) == 0 || !scVerb(args[0].value.text()) && !strings.HasPrefix(args[0].value.text(), `\\`)
		case low == "curl" || low == "wget":
			ok = !nativeHTTP(sp, args)
		}
	}
	if ok {
		if !f.posix() && f.disguised([]value{nv}) {
			f.disguise(at, "look-alike characters", -1)
		}
		x := r.inv(sp.name, args, at)
		c := &psCall{r: r, x: x, spec: sp, in: in, hasIn: hasIn}
		c.bind(args)
		return c.run()
	}
	return r.native(nv.with(name), args, in, hasIn, at, dot)
}

func nativeHTTP(sp *psSpec, args []psBound) bool {
	for _, a := range args {
		switch {
		case a.param == "" && strings.HasPrefix(a.value.text(), "-"):
			return true
		case len(a.param) == 1:
			return true
		case a.param != "":
			if _, _, ok := sp.find(a.param); !ok {
				return true
			}
		}
	}
	return false
}

// words gives the arguments as a program of its own gets them.
func words(args []psBound) []value {
	var out []value
	for _, a := range args {
		if a.param != "" {
			v := value{s: literal(a.raw), span: a.span}
			if a.has {
				v.add(a.value.one())
			}
			out = append(out, v)
			continue
		}
		if a.value.fn != nil {
			out = append(out, value{s: a.value.fn.text, span: a.span, t: tQuoted})
			continue
		}
		for _, it := range a.value.items {
			if !a.bare {
				it.t |= tQuoted
			}
			if it.span == (Span{}) {
				it.span = a.span
			}
			out = append(out, it)
		}
	}
	return out
}

// native runs a program.
func (r *psRun) native(nv value, args []psBound, in psv, hasIn bool, at Span, dot bool) psv {
	f := r.f
	ws := words(args)
	base := winBase(nv.s)
	if strings.HasSuffix(base, ".ps1") || strings.HasSuffix(base, ".psm1") {
		x := r.inv(base, args, at)
		return r.scriptFile(x, nv, args)
	}
	if strings.Contains(base, "-") && !strings.ContainsAny(nv.s, `/\`) && isVerbNoun(base) {
		x := r.inv(base, args, at)
		return r.unknownCmdlet(x, base, args, in)
	}
	saved, savedHas := f.in, f.hasIn
	if hasIn {
		f.in, f.hasIn = in.one(), true
		if len(in.items) > 1 || in.typ != "" {
			if f.in.s == "" {
				f.in.s = unknownText
			}
		}
	}
	defer func() { f.in, f.hasIn = saved, savedHas }()
	env := r.env()
	all := append([]value{nv}, ws...)
	out := f.program(all, env, at)
	if out.s == "" && out.t == 0 && len(out.src) == 0 {
		return psv{}
	}
	return psOf(out)
}

// env gives the variables set in the text, as a program sees them.
func (r *psRun) env() []Assignment {
	var out []Assignment
	for k, v := range r.vars {
		if n, ok := strings.CutPrefix(k, "env:"); ok {
			out = append(out, Assignment{Name: strings.ToUpper(n), Value: argOf(v.one())})
		}
	}
	slices.SortFunc(out, func(a, b Assignment) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func isVerbNoun(s string) bool {
	verb, noun, ok := strings.Cut(s, "-")
	if !ok || noun == "" {
		return false
	}
	return psVerbs[verb]
}

// psVerbs are verbs of commands; true for all that exist.
var psVerbs = map[string]bool{}

// readingVerbs change nothing.
var readingVerbs = map[string]bool{}

func init() {
	for v := range strings.FieldsSeq("add clear close copy enter exit find format get hide join lock move new open optimize push pop redo remove rename reset resize search select set show skip split step switch undo unlock watch backup checkpoint compare compress convert convertfrom convertto dismount edit expand export group import initialize limit merge mount out publish restore save sync unpublish update approve assert build complete confirm deny deploy disable enable install invoke register request restart resume start stop submit suspend uninstall unregister wait connect disconnect read receive send write block grant protect revoke unblock unprotect debug measure ping repair resolve test trace use") {
		psVerbs[v] = true
	}
	for v := range strings.FieldsSeq("find format get hide join search select show split watch compare convertfrom convertto group limit measure out read resolve test trace wait write ping import use") {
		readingVerbs[v] = true
	}
}

// unknownCmdlet judges a command that the table lacks by its verb and noun.
func (r *psRun) unknownCmdlet(x *inv, name string, args []psBound, in psv) psv {
	verb, noun, _ := strings.Cut(name, "-")
	at := x.cmd + 1
	for _, a := range args {
		if p := strings.ToLower(a.param); (p == "whatif" || p == "wi") && !(a.has && a.value.text() == "false") {
			x.dry = true
		}
	}
	switch verb {
	case "remove", "uninstall":
		for _, p := range [...]string{"az", "s3", "ec2", "rds", "gce", "gcs", "ddb", "lm", "eks", "ecs", "cfn", "kube", "vm", "cluster", "gke", "sql", "docker"} {
			if strings.HasPrefix(noun, p) && (p != "az" || len(noun) > 2) {
				r.f.emit(Action{Kind: InfraDestroy, Name: noun, Dry: x.dry, Span: x.span, Command: at})
				return psUnknown(tCmd)
			}
		}
	case "stop":
		if strings.HasPrefix(noun, "ec2instance") || strings.HasPrefix(noun, "azvm") {
			return psUnknown(tCmd)
		}
	case "publish":
		if strings.HasPrefix(noun, "az") {
			r.f.emit(Action{Kind: Deploy, Name: noun, Dry: x.dry, Span: x.span, Command: at})
		}
	case "get":
		if strings.Contains(noun, "secret") || strings.Contains(noun, "storedcredential") || strings.Contains(noun, "accesskey") || strings.Contains(noun, "storageaccountkey") {
			i := r.f.emit(Action{Kind: SecretReveal, Name: noun, Span: x.span, Command: at})
			return psOf(value{s: unknownText, t: tCmd, src: []int{i}})
		}
	case "read", "write":
		// S3: the verb tells the direction.
		if verb == "write" && strings.HasPrefix(noun, "s3") {
			r.f.emit(Action{Kind: NetUpload, Dry: x.dry, Span: x.span, Command: at})
		}
	}
	if verb == "set" && strings.HasPrefix(noun, "azstorageblob") {
		r.f.emit(Action{Kind: NetUpload, Dry: x.dry, Span: x.span, Command: at})
	}
	out := unknownVal(tCmd)
	if !in.empty() {
		iv := in.one()
		out.t |= iv.t
		out.src = iv.src
	}
	if readingVerbs[verb] {
		return psOf(out)
	}
	r.m.undecided(CommandDynamic, name, false, x.cmd, x.span)
	return psOf(out)
}

// scriptFile runs a script file with PowerShell.
func (r *psRun) scriptFile(x *inv, nv value, args []psBound) psv {
	f, m := r.f, r.m
	p := f.resolve(r.pathValue(nv, true))
	f.emit(Action{Kind: FileExec, Path: p, Span: x.span, Command: x.cmd + 1})
	content, ok := m.files[p.Abs]
	if !ok || p.Unresolved {
		if m.fromNet(p.Abs) {
			f.emit(Action{Kind: NetRun, Path: p, Span: x.span, Command: x.cmd + 1})
			return psUnknown(tCmd)
		}
		if isVenv(p.Abs) {
			return psv{}
		}
		m.undecided(ScriptUnknown, winBase(nv.s), true, x.cmd, x.span)
		return psUnknown(tCmd)
	}
	key := "file " + p.Abs
	if slices.Contains(f.calls, key) {
		return psv{}
	}
	f.calls = append(slices.Clip(f.calls), key)
	content.span = x.span
	return r.runText(x, content)
}

// isVenv reports scripts that only set up an environment.
func isVenv(abs string) bool {
	low := strings.ToLower(abs)
	return strings.HasSuffix(low, "/scripts/activate.ps1") || strings.HasSuffix(low, "/bin/activate.ps1") || strings.HasSuffix(low, "/scripts/activate.bat") || strings.HasSuffix(low, "/vcvarsall.bat") || strings.HasSuffix(low, "/vsdevcmd.bat") || strings.HasSuffix(low, "/launch-vsdevshell.ps1")
}

// runText runs text that is only known at run time.
func (r *psRun) runText(x *inv, code value) psv {
	f, m := r.f, r.m
	if code.s == "" && code.t == 0 {
		return psv{}
	}
	if *r.connected {
		code.t &^= tPeer // said below
	}
	x.origin(code)
	if code.has(tGlued) && code.t&(tDecoded|tNet|tPeer|tAnsi) == 0 && code.known() {
		f.disguise(x.span, "text put together from pieces is run", x.cmd)
	}
	if code.span == (Span{}) {
		code.span = x.span
	}
	if !code.known() {
		if *r.connected {
			f.emit(Action{Kind: NetShell, Span: x.span, Command: x.cmd + 1})
		}
		if code.t&(tNet|tPeer|tDecoded|tInit) == 0 {
			m.undecided(ScriptUnknown, "", code.opaque() || !mostlyKnown(code.s), x.cmd, x.span)
		}
		if code.opaque() {
			return psUnknown(tCmd)
		}
	}
	return r.nest(code, ViaEval, false)
}

// scVerb reports the words that come after sc, the program for services; else sc
// is short for Set-Content.
func scVerb(s string) bool {
	switch strings.ToLower(s) {
	case "stop", "start", "create", "delete", "config", "query", "queryex", "qc", "failure", "pause", "continue", "description", "sdset", "sdshow":
		return true
	}
	return false
}
