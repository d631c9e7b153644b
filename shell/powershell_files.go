package shell

import "strings"

// children is Get-ChildItem: its output is the files of a folder.
func (c *psCall) children() psv {
	r, x := c.r, c.x
	f := r.f
	paths := c.args["path"]
	exact := false
	if v, ok := c.args["literalpath"]; ok {
		paths, exact = v, true
	}
	if paths.empty() && c.hasIn && !c.in.empty() {
		paths = c.in
	}
	if paths.empty() {
		paths = psText(".")
	}
	out := psv{arr: true, typ: "files"}
	names := []string{string(rune(markStar))}
	if v, ok := c.args["filter"]; ok {
		names = []string{activate(v.text())}
	} else if v, ok := c.args["include"]; ok {
		names = nil
		for _, it := range v.items {
			names = append(names, activate(it.s))
		}
	}
	for _, it := range paths.items {
		if kind, rest := provider(it.s); kind != "" {
			if kind == "env" {
				return c.envItems(rest)
			}
			return psv{items: []value{{s: unknownText, t: tNames}}}
		}
		p := it
		if !p.glob() {
			p = r.pathValue(it, exact)
		}
		if p.glob() && len(names) == 1 && names[0] == string(rune(markStar)) {
			out.items = append(out.items, p)
			continue
		}
		p.s = strings.TrimSuffix(strings.TrimSuffix(p.s, string(rune(markStar))), "/")
		p.s = strings.TrimSuffix(p.s, `\`)
		if p.s == "" {
			p.s = "."
		}
		for _, n := range names {
			q := p
			q.s += "/" + n
			q.t |= tNames
			out.items = append(out.items, q)
		}
	}
	if c.given["exclude"] {
		for i := range out.items {
			if strings.HasSuffix(out.items[i].s, string(rune(markStar))) {
				out.items[i].s += "matching"
			}
		}
	}
	_ = f
	_ = x
	return out
}

// envItems is the environment, or what a pattern picks from it.
func (c *psCall) envItems(rest string) psv {
	r, x := c.r, c.x
	f := r.f
	name := strings.TrimLeft(rest, `\/`)
	switch {
	case name == "" || name == "*":
		return psv{items: []value{{s: unknownText, t: tEnv, span: x.span}}, typ: "env"}
	case strings.ContainsAny(name, "*?["):
		i := f.emit(Action{Kind: EnvFilter, Name: plain(name), Span: x.span, Command: x.cmd + 1})
		return psv{items: []value{{s: unknownText, t: tEnv, src: []int{i}, span: x.span}}, typ: "env"}
	}
	return r.variable(&psVar{scope: "env", name: name, span: x.span})
}

func (c *psCall) item() psv {
	v := c.args["path"]
	exact := false
	if l, ok := c.args["literalpath"]; ok {
		v, exact = l, true
	}
	if v.empty() {
		v = c.in
	}
	out := psv{typ: "files"}
	for _, it := range v.items {
		kind, rest := provider(it.s)
		switch kind {
		case "env":
			return c.envItems(rest)
		case "":
			out.items = append(out.items, c.r.pathValue(it, exact))
		default:
			out.items = append(out.items, unknownVal(tNames))
		}
	}
	return out
}

// getContent is Get-Content, which reads variables as well as files.
func (c *psCall) getContent() psv {
	for _, n := range []string{"path", "literalpath"} {
		if v, ok := c.args[n]; ok {
			if kind, rest := provider(v.text()); kind == "env" {
				return c.envItems(rest)
			} else if kind != "" {
				return psUnknown(0)
			}
		}
	}
	return c.fileOut()
}

func (c *psCall) selectString() psv {
	f, m := c.r.f, c.r.m
	pat := c.val("pattern")
	if c.hasIn && c.in.taint()&tEnv != 0 {
		f.emit(Action{Kind: EnvFilter, Name: plain(pat.s), Span: c.x.span, Command: c.x.cmd + 1})
	}
	if c.given["quiet"] || c.given["list"] {
		for _, v := range c.x.reads {
			m.quiet(v)
		}
		for _, it := range c.in.items {
			m.quiet(it)
		}
		return psUnknown(tNames)
	}
	out := c.fileOut()
	if len(c.x.reads) == 0 {
		out = c.in
	}
	v := out.one()
	v.s = unknownText
	return psOf(v)
}

// copyMove is Copy-Item, Move-Item and Rename-Item.
func (c *psCall) copyMove() psv {
	r, x := c.r, c.x
	f, m := r.f, r.m
	at := x.cmd + 1
	src, ok := c.args["path"]
	exact := false
	if !ok {
		src, exact = c.args["literalpath"], true
	}
	dst := c.val("destination")
	isDir := len(src.items) > 1 || strings.HasSuffix(dst.s, `\`) || strings.HasSuffix(dst.s, "/") || dst.s == "." || dst.s == ".."
	if c.given["fromsession"] {
		f.writeTo(r.pathValue(dst, true), value{s: unknownText, t: tNet}, false, x.cmd, x.span)
		return psv{}
	}
	for _, it := range src.items {
		if k, rest := provider(it.s); k != "" {
			if k == "registry" {
				x.registry(rest, "", false)
			}
			continue
		}
		p := it
		if !p.glob() {
			p = r.pathValue(it, exact)
		}
		if p.span == (Span{}) {
			p.span = x.span
		}
		content := value{s: unknownText, t: tFile}
		if x.dry {
			content = value{}
		} else if c.spec.name == "copy-item" {
			content = f.readFile(p, x.cmd, false)
		}
		if c.spec.name != "copy-item" {
			pth := f.resolve(p)
			f.emit(Action{Kind: FileDelete, Path: pth, Detail: "move", Dry: x.dry, Span: p.span, Command: at})
			if v, ok := m.files[pth.Abs]; ok {
				content = v
				if !x.dry {
					delete(m.files, pth.Abs)
				}
			}
		}
		if c.given["tosession"] {
			f.emit(Action{Kind: NetUpload, Dry: x.dry, Span: x.span, Command: at})
			continue
		}
		t := dst
		if c.spec.name == "rename-item" {
			s := strings.ReplaceAll(p.s, `\`, "/")
			t = c.val("newname")
			if i := strings.LastIndexByte(s, '/'); i >= 0 && !strings.ContainsAny(t.s, `/\`) {
				t.s = s[:i+1] + t.s
			}
		}
		if t.s == "" {
			if !c.given["destination"] {
				t.s = "."
				isDir = true
			} else {
				continue
			}
		}
		t = r.pathValue(t, true)
		place := f.resolve(t)
		if isDir || place.Place == PlaceRoot || place.Place == PlaceAbove || place.Place == PlaceTempRoot || knownWinDir(place.Abs) {
			s := strings.ReplaceAll(strings.TrimRight(p.s, `\/`), `\`, "/")
			t.s = strings.TrimRight(t.s, `\/`) + "/" + s[strings.LastIndexByte(s, '/')+1:]
		}
		if x.dry {
			f.emit(Action{Kind: FileWrite, Path: f.resolve(t), Dry: true, Span: x.span, Command: at})
			continue
		}
		f.writeTo(t, content, false, x.cmd, x.span)
	}
	return psv{}
}

func knownWinDir(abs string) bool {
	low := strings.ToLower(abs)
	return strings.HasSuffix(low, "/startup") || strings.HasSuffix(low, "/windows/system32") || strings.HasSuffix(low, "/.ssh") || strings.HasSuffix(low, "/hooks")
}

func (c *psCall) location() psv {
	if !c.given["path"] && !c.given["literalpath"] && c.spec.name == "set-location" && c.r.m.opts.Home != "" && len(c.rest) == 0 && !c.hasIn {
		c.r.f.chdir(lit(literal(c.r.m.opts.Home)))
	}
	return psv{}
}

func (c *psCall) joinPath() psv {
	out := c.val("path")
	sep := `\`
	if !c.r.m.win {
		sep = "/"
	}
	for _, n := range []string{"childpath", "additionalchildpath"} {
		for _, it := range c.args[n].items {
			out.s = strings.TrimRight(out.s, `/\`) + sep
			out.add(it.with(strings.TrimLeft(it.s, `/\`)))
		}
	}
	for _, v := range c.rest {
		out.s += sep
		out.add(v.one())
	}
	out.t &^= tGlued
	return psOf(out)
}

func (c *psCall) splitPath() psv {
	v := c.val("path", "literalpath")
	if v.s == "" {
		v = c.in.one()
	}
	i := strings.LastIndexAny(strings.TrimRight(v.s, `/\`), `/\`)
	if i < 0 {
		return psOf(v)
	}
	if c.given["leaf"] {
		return psOf(v.with(v.s[i+1:]))
	}
	return psOf(v.with(v.s[:i]))
}

func (c *psCall) recycle() psv {
	c.r.f.emit(Action{
		Kind: FileDelete, Path: Path{Raw: "the recycle bin", Abs: "C:/$Recycle.Bin", Place: PlaceOutside}, Recursive: true, Dry: c.x.dry, Span: c.x.span, Command: c.x.cmd + 1,
	})
	return psv{}
}

func (c *psCall) setItem() psv {
	for _, it := range c.args["path"].items {
		if kind, rest := provider(it.s); kind == "env" {
			c.r.setEnv(strings.TrimLeft(rest, `\/`), c.args["value"], c.x.span)
		}
	}
	return psv{}
}
