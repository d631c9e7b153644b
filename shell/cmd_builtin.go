package shell

import (
	"strings"
)

var cmdInternal = map[string]bool{
	"del": true, "erase": true, "rd": true, "rmdir": true, "md": true, "mkdir": true, "copy": true, "move": true, "ren": true, "rename": true, "type": true, "echo": true, "cd": true, "chdir": true, "pushd": true, "popd": true,
	"set": true, "setlocal": true, "endlocal": true, "call": true, "start": true, "exit": true, "goto": true, "shift": true, "title": true, "cls": true, "color": true, "ver": true, "vol": true, "date": true, "time": true, "path": true, "prompt": true, "pause": true,
	"mklink": true, "assoc": true, "ftype": true, "dir": true, "verify": true, "break": true, "dpath": true, "keys": true,
}

// simple runs one command of cmd.exe.
func (c *cmdRun) simple(n *cmdNode) value {
	f, m := c.f, c.m
	v := c.expand(n.raw)
	raw := strings.TrimLeft(v.s, " \t,;=@")
	if raw == "" {
		return value{}
	}
	// A variable may bring in several commands.
	if v.has(tVar) && strings.ContainsAny(raw, "&|") && !strings.ContainsAny(n.raw, "&|") && f.depth < m.lim.Depth {
		f.depth++
		defer func() { f.depth-- }()
		return c.text(raw)
	}
	name, rest := "", ""
	if raw[0] == '"' {
		j := strings.IndexByte(raw[1:], '"')
		if j < 0 {
			name = raw[1:]
		} else {
			name, rest = raw[1:1+j], raw[2+j:]
		}
	} else {
		j := 0
		for j < len(raw) && strings.IndexByte(" \t,;=", raw[j]) < 0 {
			if raw[j] == '"' && j > 0 {
				// d"e"l is del
				k := strings.IndexByte(raw[j+1:], '"')
				if k < 0 {
					break
				}
				j += k + 2
				continue
			}
			if j <= 12 && (raw[j] == '/' || raw[j] == '.' || raw[j] == ':' || raw[j] == '(' || raw[j] == '+' || raw[j] == '\\') && cmdInternal[strings.ToLower(strings.ReplaceAll(raw[:j], `"`, ""))] {
				break
			}
			j++
		}
		name, rest = strings.ReplaceAll(raw[:j], `"`, ""), raw[j:]
	}
	low := strings.ToLower(name)
	at := c.span(n)
	if cmdInternal[low] {
		x := &inv{f: f, name: low, span: at, args: []value{lit(low)}}
		if low != "echo" && low != "set" && low != "call" && low != "start" {
			for _, w := range cmdWords(rest) {
				x.args = append(x.args, v.with(w))
			}
		} else {
			x.args = append(x.args, v.with(strings.TrimSpace(rest)))
		}
		x.record()
		return c.internal(x, v.with(rest), n)
	}
	all := []value{v.with(name)}
	all[0].span = n.span
	for _, w := range winSplit(rest) {
		all = append(all, value{s: w, t: v.t, vars: varsIn(v, w), src: v.src, span: n.span})
	}
	var env []Assignment
	for k, val := range c.vars {
		if k[0] != '%' && watchedEnv(strings.ToUpper(k)) {
			env = append(env, Assignment{Name: strings.ToUpper(k), Value: toArg(&val)})
		}
	}
	saved := f.env
	out := f.program(all, env, at)
	f.env = saved
	return out
}

func varsIn(v value, w string) []string {
	if strings.IndexByte(w, markUnknown) >= 0 {
		return v.vars
	}
	return nil
}

// cmdWords splits the arguments of a command that cmd has built in.
func cmdWords(s string) []string {
	var out []string
	var b strings.Builder
	quoted, has := false, false
	flush := func() {
		if has {
			out = append(out, b.String())
			b.Reset()
			has = false
		}
	}
	for i := 0; i < len(s); i++ {
		ch := s[i]
		switch {
		case ch == '"':
			quoted = !quoted
			has = true
		case !quoted && (ch == ' ' || ch == '\t' || ch == ',' || ch == ';' || ch == '='):
			flush()
		case !quoted && ch == '/' && (!has || strings.HasPrefix(b.String(), "/")):
			flush()
			b.WriteByte(ch)
			has = true
		case !quoted && ch == '/' && i+2 <= len(s) && i+1 < len(s) && isLetter(s[i+1]) && (i+2 == len(s) || s[i+2] == ' ' || s[i+2] == '/'):
			// del x/q
			flush()
			b.WriteByte(ch)
			has = true
		default:
			b.WriteByte(ch)
			has = true
		}
	}
	flush()
	return out
}

func isSwitch(s string) bool {
	return len(s) > 1 && s[0] == '/' && (len(s) == 2 || s[2] == ':' || s[1] == '-' || len(s) < 5)
}

// operands gives the arguments that are no switches.
func (x *inv) dosOperands() []value {
	var out []value
	for _, a := range x.args[1:] {
		if !isSwitch(a.s) && a.s != "" {
			a.vars = varsIn(a, a.s)
			if a.span == (Span{}) {
				a.span = x.span
			}
			out = append(out, a.with(activate(a.s)))
		}
	}
	return out
}

func (x *inv) sw(c string) bool {
	for _, a := range x.args[1:] {
		if strings.EqualFold(a.s, "/"+c) || len(a.s) > 2 && a.s[2] == ':' && strings.EqualFold(a.s[:2], "/"+c) {
			return true
		}
	}
	return false
}

func (c *cmdRun) internal(x *inv, rest value, n *cmdNode) value {
	f, m := c.f, c.m
	at := x.cmd + 1
	if x.sw("?") {
		return value{}
	}
	ops := x.dosOperands()
	switch x.name {
	case "del", "erase":
		for _, p := range ops {
			tree := x.sw("s")
			if tree && !p.glob() {
				// A name is looked for in all folders below; a folder is emptied.
				if i := strings.LastIndexAny(p.s, `\/`); i >= 0 && strings.Contains(p.s[i+1:], ".") && strings.IndexByte(p.s[i+1:], '.') > 0 {
					x.deletes(p, false)
					continue
				}
			}
			if tree && p.glob() {
				if i := strings.LastIndexAny(p.s, `\/`); !allFiles(p.s[i+1:]) && !outside(f.resolve(p)) {
					x.deletes(p, false)
					continue
				}
			}
			// Without a pattern a folder's files are deleted; a name that cannot be
			// told from one is taken for a file.
			if p.s == "." || strings.HasSuffix(p.s, `\`) || p.s == ".." {
				p.s = strings.TrimSuffix(p.s, `\`) + `\` + string(rune(markStar))
			}
			x.deletes(p, tree)
		}
	case "rd", "rmdir":
		for _, p := range ops {
			x.deletes(p, x.sw("s"))
		}
	case "md", "mkdir":
		for _, p := range ops {
			x.writes(p, value{})
		}
	case "copy":
		x.dosCopy(false)
	case "move":
		x.dosCopy(true)
	case "ren", "rename":
		if len(ops) > 1 {
			src := f.resolve(ops[0])
			f.emit(Action{Kind: FileDelete, Path: src, Detail: "move", Span: x.span, Command: at})
			dst := ops[1]
			if i := strings.LastIndexAny(ops[0].s, `\/`); i >= 0 {
				dst.s = ops[0].s[:i+1] + dst.s
			}
			content, ok := m.files[src.Abs]
			if !ok {
				content = value{s: unknownText, t: tFile}
			}
			f.writeTo(dst, content, false, x.cmd, x.span)
		}
	case "type":
		var out value
		for _, p := range ops {
			out = concat(out, f.readFile(p, x.cmd, false))
		}
		return out
	case "echo":
		s := strings.TrimLeft(rest.s, ".:,;=/\\+([")
		s = strings.TrimPrefix(s, " ")
		switch strings.ToLower(strings.TrimSpace(s)) {
		case "on", "off", "":
			return value{}
		}
		out := x.printed(rest.with(s + "\n"))
		out.t &^= tVar | tGlued
		return out
	case "cd", "chdir", "pushd":
		for _, p := range ops {
			if m.win && len(p.s) == 2 && p.s[1] == ':' {
				continue
			}
			f.chdir(p)
		}
		if len(ops) == 0 {
			return lit(winShow(f.cwd) + "\n")
		}
	case "popd":
		if f.oldpwd != "" {
			f.cwd, f.oldpwd = f.oldpwd, f.cwd
		}
	case "set":
		return c.set(x, rest)
	case "call":
		s := strings.TrimSpace(rest.s)
		if s == "" || s[0] == ':' {
			return value{}
		}
		f.depth++
		out := c.simple(&cmdNode{kind: 's', raw: s, span: n.span})
		f.depth--
		return out
	case "start":
		words := winSplit(rest.s)
		i := 0
		t := strings.TrimSpace(rest.s)
		if strings.HasPrefix(t, `"`) {
			i = 1 // a title
		}
		for i < len(words) && strings.HasPrefix(words[i], "/") {
			if l := strings.ToLower(words[i]); l == "/d" || l == "/affinity" || l == "/node" {
				i++
			}
			i++
		}
		if i < len(words) && !strings.Contains(words[i], "://") {
			if c.loops {
				f.emit(Action{Kind: Exhaust, Detail: "processes without bound", Span: x.span, Command: at})
			}
			var all []value
			for _, w := range words[i:] {
				all = append(all, value{s: w, t: rest.t, span: n.span})
			}
			if winBase(all[0].s) == "%0" || all[0].s == "" {
				return value{}
			}
			return f.under("start").program(all, nil, x.span)
		}
		if i >= len(words) && c.loops {
			f.emit(Action{Kind: Exhaust, Detail: "processes without bound", Span: x.span, Command: at})
		}
	case "mklink":
		if len(ops) > 1 {
			x.makeLink(ops[1], ops[0])
		}
	case "dir":
		names := value{s: unknownText, t: tNames}
		for _, p := range ops {
			f.emit(Action{Kind: FileMeta, Path: f.resolve(p), Span: x.span, Command: at})
		}
		return names
	case "ftype", "assoc":
		if strings.Contains(rest.s, "=") {
			f.emit(Action{Kind: Persist, Name: "what opens a kind of file", Span: x.span, Command: at})
		}
	}
	return value{}
}

// allFiles reports patterns that match every file.
func allFiles(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c != markStar && c != '.' && c != markAny {
			return false
		}
	}
	return s != ""
}

func outside(p Path) bool { return p.Place != PlaceWorkspace && p.Place != PlaceTemp }

// set is the set of cmd.
func (c *cmdRun) set(x *inv, rest value) value {
	f := c.f
	s := strings.TrimSpace(rest.s)
	at := x.cmd + 1
	switch {
	case s == "":
		return value{s: unknownText, t: tEnv | tCmd}
	case strings.HasPrefix(strings.ToLower(s), "/a"):
		return value{}
	case strings.HasPrefix(strings.ToLower(s), "/p"):
		if name, _, ok := strings.Cut(strings.TrimSpace(s[2:]), "="); ok {
			c.vars[strings.ToLower(strings.Trim(name, `"`))] = unknownVal(0)
		}
		return value{}
	}
	if s[0] == '"' {
		s = s[1:]
		if j := strings.LastIndexByte(s, '"'); j >= 0 {
			s = s[:j]
		}
	}
	name, val, ok := strings.Cut(s, "=")
	if !ok {
		i := f.emit(Action{Kind: EnvFilter, Name: plain(s), Span: x.span, Command: at})
		return value{s: unknownText, t: tEnv, src: []int{i}}
	}
	up := strings.ToUpper(name)
	v := value{s: val, t: rest.t, vars: varsIn(rest, val), src: rest.src, span: x.span}
	c.vars[strings.ToLower(name)] = v
	if guardVar(up) || watchedEnv(up) || up == "CLAUDE_CONFIG_DIR" || up == "CODEX_HOME" || up == "GEMINI_CLI_SYSTEM_SETTINGS_PATH" {
		f.emit(Action{Kind: EnvSet, Name: up, Detail: plain(val), Span: x.span, Command: at})
	}
	return value{}
}

// dosCopy is copy, xcopy and move.
func (x *inv) dosCopy(move bool) {
	f, m := x.f, x.f.m
	at := x.cmd + 1
	var ops []value
	for _, a := range x.dosOperands() {
		for part := range strings.SplitSeq(a.s, "+") {
			if part != "" {
				ops = append(ops, a.with(part))
			}
		}
	}
	if len(ops) == 0 {
		return
	}
	dst := lit(".")
	src := ops
	if len(ops) > 1 {
		dst, src = ops[len(ops)-1], ops[:len(ops)-1]
	}
	place := f.resolve(dst)
	dir := strings.HasSuffix(dst.s, `\`) || dst.s == "." || place.Place == PlaceRoot || place.Place == PlaceAbove || place.Place == PlaceTempRoot || knownWinDir(place.Abs)
	for _, s := range src {
		if strings.EqualFold(s.s, "nul") || strings.EqualFold(s.s, "con") {
			f.writeTo(dst, value{}, false, x.cmd, x.span)
			continue
		}
		p := f.resolve(s)
		content := value{s: unknownText, t: tFile}
		if move {
			f.emit(Action{Kind: FileDelete, Path: p, Detail: "move", Span: x.span, Command: at})
			if v, ok := m.files[p.Abs]; ok {
				content = v
				delete(m.files, p.Abs)
			}
		} else {
			content = f.readFile(s, x.cmd, false)
		}
		t := dst
		if dir {
			n := strings.ReplaceAll(s.s, `\`, "/")
			t.s = strings.TrimRight(t.s, `\/`) + "/" + n[strings.LastIndexByte(n, '/')+1:]
		}
		f.writeTo(t, content, false, x.cmd, x.span)
	}
}
