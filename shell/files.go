package shell

import (
	"strconv"
	"strings"
)

// files is rm, cp, mv, tar and other programs about files.
func (x *inv) files() value {
	f, m, p := x.f, x.f.m, x.p
	at := x.cmd + 1
	if x.spec == nil {
		return x.unknownProgram()
	}
	switch x.name {
	case "mktemp", "tempfile":
		return x.mktemp()
	case "realpath", "readlink", "dirname", "basename":
		return x.pathText()
	case "chmod":
		return x.chmod()
	case "ln", "link":
		return x.ln()
	case "dd":
		return x.dd()
	case "tar", "bsdtar", "gtar":
		return x.tar()
	case "cp", "mv", "install", "gcp", "gmv", "ditto":
		return x.copyMove()
	}
	out := x.runSpec()
	switch x.name {
	case "split", "csplit":
		prefix := lit("x")
		if x.name == "csplit" {
			prefix = lit("xx")
			if fl := p.flag("-f"); fl != nil {
				prefix = fl.val
			}
		} else if len(p.pos) > 1 {
			prefix = p.pos[1]
		}
		prefix.s += string([]byte{markStar})
		if !p.given("--filter") {
			x.writes(prefix, value{s: unknownText, t: tFile})
		}
	case "patch":
		if x.fromDiff() && p.given("-R") && !x.dry {
			f.emit(Action{Kind: WorkDiscard, Detail: "the changes are taken back", Span: x.span, Command: at})
		}
		if p.given("-d") && len(p.pos) == 0 {
			x.writes(lit("."), value{s: unknownText, t: tFile})
		}
	case "zip":
		cluster := x.clustered("-", "m", "rmqTjy9810FSeuv")
		if tree := x.clustered("-", "r", "rmqTjy9810FSeuv") || p.given("-r"); tree && (cluster || p.given("-m")) && len(p.pos) > 1 {
			for _, v := range p.pos[1:] {
				x.deletes(v, true)
			}
		} else if (cluster || p.given("-m")) && len(p.pos) > 1 {
			for _, v := range p.pos[1:] {
				x.role("move", v)
			}
		}
	case "mkdir":
		x.createdMode(p.pos)
	case "mkfifo", "mknod":
		if x.name == "mkfifo" {
			x.createdMode(p.pos)
		} else {
			x.createdMode(p.pos[:min(1, len(p.pos))])
		}
		for _, v := range p.pos {
			if m.fifos == nil {
				m.fifos = map[string]bool{}
			}
			m.fifos[f.resolve(v).Abs] = true
		}
	case "rm", "grm", "rimraf", "unlink", "rmdir", "trash", "trash-put", "srm":
		if x.in.has(tMany) {
			m.undecided(PathUnresolved, "", true, x.cmd, x.span)
		}
	case "truncate", "fallocate":
		for _, n := range []string{"-s", "-l"} {
			if fl := p.flag(n); fl != nil && sizeOf(fl.val.s) >= 100<<30 {
				f.emit(Action{Kind: Exhaust, Detail: "a huge file", Span: x.span, Command: at})
			}
		}
	case "unzip", "7z", "7za", "jar", "cpio":
		if len(p.pos) > 1 && x.hasArg("-sdel") {
			for _, v := range p.pos[1:] {
				x.deletes(v, true)
			}
		}
		dir := lit(".")
		if fl := p.flag("-d", "-D", "-C"); fl != nil && x.name != "cpio" {
			dir = fl.val
		}
		if len(p.pos) > 0 && m.files[f.resolve(p.pos[0]).Abs].t&tNet != 0 {
			m.netDirs = append(m.netDirs, f.resolve(dir).Abs)
		}
	case "chown", "chgrp":
		rec := p.given("-R")
		for i := len(m.res.Actions) - 1; i >= 0 && m.res.Actions[i].Command == x.cmd; i-- {
			m.res.Actions[i].Recursive = rec
		}
	case "setfacl":
		acl := ""
		for i := range p.flags {
			switch p.flags[i].name {
			case "-m", "--set", "--modify":
				acl = p.flags[i].val.s
			}
		}
		mode := ""
		for e := range strings.SplitSeq(acl, ",") {
			w := strings.Split(e, ":")
			if len(w) >= 3 && (w[len(w)-3] == "o" || w[len(w)-3] == "other") && strings.Contains(w[len(w)-1], "w") {
				mode = "o+w"
			}
			if len(w) == 2 && (w[0] == "o" || w[0] == "other") && strings.Contains(w[1], "w") {
				mode = "o+w"
			}
		}
		for _, v := range p.pos {
			f.emit(Action{Kind: FileMode, Path: f.resolve(v), Mode: mode, Recursive: p.given("-R"), Span: v.span, Command: at})
		}
	case "rename":
		for _, v := range p.pos[min(1, len(p.pos)):] {
			if !p.given("-n") && strings.ContainsAny(v.text(), "./") {
				x.role("move", v)
			}
		}
		if len(p.pos) > 0 && (strings.Contains(p.pos[0].s, "system") || strings.Contains(p.pos[0].s, "unlink")) {
			x.inline("perl", p.pos[0])
		}
	}
	return out
}

// hasArg reports whether a word stands among the arguments.
func (x *inv) hasArg(word string) bool {
	for _, a := range x.args[1:] {
		if a.s == word {
			return true
		}
	}
	return false
}

// clustered reports whether a letter stands in a cluster of the given letters.
func (x *inv) clustered(dash, letter, all string) bool {
	for _, a := range x.args[1:] {
		if s, ok := strings.CutPrefix(a.s, dash); ok && s != "" && strings.Trim(s, all) == "" && strings.Contains(s, letter) {
			return true
		}
	}
	return false
}

// createdMode records the mode that a program gives to what it makes.
func (x *inv) createdMode(made []value) {
	fl := x.p.flag("-m")
	if fl == nil || fl.val.s == "" {
		return
	}
	for _, v := range made {
		x.f.emit(Action{Kind: FileMode, Path: x.f.resolve(v), Mode: plain(fl.val.s), Span: v.span, Command: x.cmd + 1})
	}
}

func (x *inv) mktemp() value {
	f, m, p := x.f, x.f.m, x.p
	m.mktemps++
	name := "/tmp/tmp.mk" + strconv.Itoa(m.mktemps)
	dir := "/tmp"
	if fl := p.flag("-p", "--tmpdir"); fl != nil && fl.has && fl.val.s != "" {
		dir = join(f.cwd, fl.val.s)
		name = dir + "/tmp.mk" + strconv.Itoa(m.mktemps)
	}
	if len(p.pos) > 0 {
		t := p.pos[0].s
		if strings.HasPrefix(t, "/") {
			name = t
		} else if p.given("-t") || p.given("-p") || p.given("--tmpdir") {
			name = dir + "/" + t
		} else {
			name = join(f.cwd, t)
		}
	}
	if !p.given("-u") {
		pth := m.place(Path{Raw: name}, strings.TrimRight(name, "X")+string([]byte{markStar}))
		if pth.Place == PlaceOutside || pth.Place == PlaceWorkspace {
			f.emit(Action{Kind: FileWrite, Path: pth, Span: x.span, Command: x.cmd + 1})
		}
	}
	return value{s: name + "\n", t: tScratch}
}

func (x *inv) pathText() value {
	f, p := x.f, x.p
	if len(p.pos) == 0 {
		return unknownVal(tCmd)
	}
	v := p.pos[len(p.pos)-1]
	if !v.known() {
		v.s = unknownText
		v.t |= tNames
		return v
	}
	s := v.s
	switch x.name {
	case "dirname":
		i := strings.LastIndexByte(strings.TrimRight(s, "/"), '/')
		switch {
		case i < 0:
			s = "."
		case i == 0:
			s = "/"
		default:
			s = s[:i]
		}
	case "basename":
		s = baseName(strings.TrimRight(p.pos[0].s, "/"))
		if len(p.pos) > 1 {
			s = strings.TrimSuffix(s, p.pos[1].s)
		}
	case "realpath":
		s, _ = f.m.follow(join(f.cwd, s), true)
	case "readlink":
		if !p.given("-f", "-e", "-m") {
			if t, ok := f.m.links[join(f.cwd, s)]; ok {
				return lit(t + "\n")
			}
			return unknownVal(tNames)
		}
		s, _ = f.m.follow(join(f.cwd, s), true)
	}
	return value{s: s + "\n"}
}

func (x *inv) chmod() value {
	f := x.f
	mode := value{}
	rec := false
	var paths []value
	for i := 1; i < len(x.args); i++ {
		a := x.args[i]
		s := a.text()
		switch {
		case s == "--":
			continue
		case strings.HasPrefix(s, "--"):
			if strings.HasPrefix("--recursive", s) && len(s) > 3 {
				rec = true
			}
			if strings.HasPrefix(s, "--reference") {
				mode = lit("ref")
			}
			continue
		case mode.s == "" && strings.HasPrefix(s, "-") && strings.Trim(s[1:], "rwxXst") == "" && len(s) > 1 && !strings.Contains(s, "R"):
			mode = a
			continue
		case strings.HasPrefix(s, "-") && len(s) > 1 && strings.Trim(s[1:], "RvfcHLPh") == "":
			rec = rec || strings.Contains(s, "R")
			continue
		case mode.s == "":
			mode = a
			continue
		}
		paths = append(paths, a)
	}
	if len(paths) == 0 {
		paths = []value{x.in.with(unknownText)}
	}
	if mode.openEnded() {
		x.undecidedOperand(mode, OptionUnknown)
	}
	for _, v := range paths {
		f.emit(Action{Kind: FileMode, Path: f.resolve(v), Mode: plain(mode.s), Recursive: rec, Span: v.span, Command: x.cmd + 1})
	}
	return value{}
}

func (x *inv) makeLink(target, name value) {
	f, m := x.f, x.f.m
	p := f.resolveEntry(name)
	t := f.resolve(target)
	if !p.Unresolved {
		dst := join(f.cwd, name.s)
		tabs := target.s
		if !strings.HasPrefix(tabs, "/") {
			i := strings.LastIndexByte(dst, '/')
			tabs = join(dst[:max(i, 0)], target.s)
		}
		if m.links == nil {
			m.links = map[string]string{}
		}
		if len(m.links) < 256 && tabs != dst {
			m.links[dst] = tabs
		}
	}
	f.emit(Action{Kind: FileWrite, Path: p, Detail: "link", Name: t.Abs, Span: name.span, Command: x.cmd + 1})
	f.emit(Action{Kind: FileLink, Path: p, Name: t.Abs, Span: name.span, Command: x.cmd + 1})
}

func (x *inv) ln() value {
	p := x.p
	pos := p.pos
	if fl := p.flag("-t"); fl != nil {
		for _, v := range pos {
			x.makeLink(v, fl.val.with(strings.TrimSuffix(fl.val.s, "/")+"/"+baseName(v.s)))
		}
		return value{}
	}
	switch {
	case len(pos) == 1:
		x.makeLink(pos[0], lit(baseName(strings.TrimSuffix(pos[0].s, "/"))))
	case len(pos) >= 2:
		dst := pos[len(pos)-1]
		for _, v := range pos[:len(pos)-1] {
			d := dst
			if strings.HasSuffix(d.s, "/") || len(pos) > 2 || d.s == "." {
				d.s = strings.TrimSuffix(d.s, "/") + "/" + baseName(strings.TrimSuffix(v.s, "/"))
			}
			x.makeLink(v, d)
		}
	}
	return value{}
}

// copyMove is cp, mv and install: a target that is a folder gets the names of
// its sources.
func (x *inv) copyMove() value {
	f, m, p := x.f, x.f.m, x.p
	at := x.cmd + 1
	pos := p.pos
	if x.name == "install" && p.given("-d") {
		for _, v := range pos {
			x.writes(v, value{})
		}
		x.createdMode(pos)
		return value{}
	}
	dir := value{}
	if fl := p.flag("-t"); fl != nil {
		dir = fl.val
	} else if len(pos) >= 2 {
		dir, pos = pos[len(pos)-1], pos[:len(pos)-1]
	} else {
		for _, v := range pos {
			if !v.known() {
				m.undecided(PathUnresolved, v.s, false, x.cmd, x.span)
			}
		}
		return value{}
	}
	dst := f.resolve(dir)
	isDir := p.given("-t") || strings.HasSuffix(dir.s, "/") || dir.s == "." || dir.s == ".." || len(pos) > 1 || dst.Place == PlaceRoot || dst.Place == PlaceAbove || dst.Place == PlaceTempRoot || dst.Abs == m.opts.Home ||
		wellKnownDir(dst.Abs)
	content := value{s: unknownText, t: tFile}
	for _, v := range pos {
		var c value
		if x.name == "mv" || x.name == "gmv" {
			pth := f.resolveEntry(v)
			c = m.files[pth.Abs]
			f.emit(Action{Kind: FileDelete, Path: pth, Detail: "move", Span: v.span, Command: at})
			delete(m.files, pth.Abs)
			for i, d := range m.netDirs {
				if d == pth.Abs {
					m.netDirs[i] = dst.Abs
				}
			}
			if c.s == "" && c.t == 0 {
				c = content
			}
		} else {
			c = f.readFile(v, x.cmd, false)
		}
		t := dir
		if isDir && v.s != "" {
			t.s = strings.TrimSuffix(dir.s, "/") + "/" + baseName(strings.TrimSuffix(v.s, "/"))
			if dir.s == "/" {
				t.s = "/" + baseName(v.s)
			}
		}
		x.writes(t, c)
		if x.name == "mv" || x.name == "gmv" {
			m.moves(f.resolveEntry(v), f.resolve(t))
		}
		if p.given("-b", "-S") {
			f.emit(Action{Kind: FileWrite, Path: f.resolve(t.with(t.s + "~")), Detail: "backup", Span: t.span, Command: at})
		}
	}
	if fl := p.flag("-m"); fl != nil && x.name == "install" {
		f.emit(Action{Kind: FileMode, Path: dst, Mode: plain(fl.val.s), Span: x.span, Command: at})
	}
	return value{}
}

// moved is something that stands elsewhere now.
type moved struct {
	from Path
	to   string
}

const maxMoved = 64

// moves notes that from is called to from here on.
func (m *machine) moves(from, to Path) {
	if from.Unresolved || to.Unresolved || to.Glob || len(m.moved) >= maxMoved {
		return
	}
	for i := range m.moved {
		if m.moved[i].to == from.Abs {
			m.moved[i].to = to.Abs // on its way further
			return
		}
	}
	m.moved = append(m.moved, moved{from, to.Abs})
}

// deletesMoved adds to the deletion of p what was moved there before: it is lost
// as well, whatever it is called now.
func (x *inv) deletesMoved(p Path, tree bool, at Span) {
	m := x.f.m
	name := p.Abs
	if p.Glob {
		name = strings.TrimSuffix(name, "/*")
	}
	for _, mv := range m.moved {
		if _, ok := below(mv.to, name); ok {
			x.f.emit(Action{Kind: FileDelete, Path: mv.from, Recursive: tree || p.Glob, Span: at, Command: x.cmd + 1})
		}
	}
}

func wellKnownDir(abs string) bool {
	switch abs {
	case "/etc", "/usr/local/bin", "/usr/bin", "/bin", "/opt", "/srv", "/etc/cron.d", "/etc/systemd/system", "/etc/profile.d", "/etc/sudoers.d", "/usr/local", "/var", "/etc/cron.daily", "/etc/cron.hourly", "/etc/cron.weekly", "/etc/cron.monthly", "/etc/init.d":
		return true
	}
	for _, s := range []string{"/.ssh", "/.config", "/.config/autostart", "/LaunchAgents", "/LaunchDaemons", "/.git/hooks", "/systemd/user", "/hooks"} {
		if strings.HasSuffix(abs, s) {
			return true
		}
	}
	return false
}

func (x *inv) dd() value {
	f := x.f
	out := value{s: unknownText, t: tCmd}
	count, endless := false, false
	blocks, size := int64(0), int64(512)
	var dst value
	for _, a := range x.args[1:] {
		k, v, _ := strings.Cut(a.text(), "=")
		switch k {
		case "if":
			c := f.readFile(a.with(v), x.cmd, false)
			endless = c.has(tEndless)
			out = c
		case "of":
			dst = a.with(v)
		case "count":
			count = true
			blocks = sizeOf(v)
		case "bs", "obs", "ibs":
			size = max(size, sizeOf(v))
		}
	}
	if x.in.t != 0 || x.in.s != "" {
		if out.opaque() && out.src == nil && out.t == tCmd {
			out = x.in
			endless = x.in.has(tEndless)
		}
	}
	if count && (blocks == 0 || size < (100<<30)/blocks) {
		out.t &^= tEndless
		endless = false
	}
	_ = endless
	if dst.s != "" {
		f.writeTo(dst, out, false, x.cmd, x.span)
		return value{}
	}
	return out
}

func (x *inv) tar() value {
	f, m, p := x.f, x.f.m, x.p
	at := x.cmd + 1
	// The first word may be a cluster without its dash.
	if len(x.args) > 1 && x.args[1].known() && !strings.HasPrefix(x.args[1].s, "-") && x.args[1].s != "" && strings.Trim(x.args[1].s, "cxtruAvfzjJpPkmhlwZaCOSTX") == "" {
		args := append([]value{}, x.args...)
		args[1].s = "-" + args[1].s
		x.args = args
		x.command().Flags = nil
		x.parse(x.spec)
		p = x.p
	}
	for i := range p.flags {
		fl := &p.flags[i]
		switch fl.name {
		case "--checkpoint-action", "--to-command", "-I", "--rsh-command", "-F", "--use-compress-program", "--info-script", "--new-volume-script":
			v := fl.val
			v.s = v.text()
			if fl.name == "--checkpoint-action" {
				code, ok := strings.CutPrefix(v.s, "exec=")
				if !ok {
					continue
				}
				v.s = code
			}
			if fl.name == "-I" && !strings.ContainsAny(v.s, " ;|/") {
				continue
			}
			v.s = strings.Trim(v.s, `"'`)
			f.run(v, ViaConfig, nil)
		}
	}
	g := f
	if fl := p.flag("-C"); fl != nil {
		g = f.fork()
		g.chdir(fl.val)
		if fl.val.openEnded() && p.given("-x") && !p.given("-O") {
			x.undecidedOperand(fl.val, PathUnresolved)
		}
	}
	archive := p.flag("-f")
	out := value{s: unknownText, t: tCmd}
	create := p.given("-c", "-r", "-u", "-A")
	switch {
	case create:
		toStdout := archive == nil || archive.val.s == "-"
		out.t |= tFile
		for _, v := range p.pos {
			r := g.readFile(v, x.cmd, false)
			out.src = append(out.src, r.src...)
		}
		if !toStdout {
			if _, remote := remoteName(archive.val.s); remote {
				f.emit(Action{Kind: NetUpload, Host: hostOf(archive.val.s), Span: x.span, Command: at})
			} else {
				f.writeTo(archive.val, value{s: unknownText, t: tFile}, false, x.cmd, archive.val.span)
			}
		}
		if p.given("--remove-files") {
			for _, v := range p.pos {
				f.emit(Action{Kind: FileDelete, Path: g.resolve(v), Recursive: true, Span: v.span, Command: at})
			}
		}
	case p.given("-x"):
		in := x.in
		if archive != nil && archive.val.s != "-" {
			i := len(m.res.Actions)
			in = f.readFile(archive.val, x.cmd, false)
			if i < len(m.res.Actions) {
				m.res.Actions[i].Quiet = true
			}
		}
		if p.given("-O", "--to-stdout") {
			out.t |= in.t & (tNet | tFile)
			return out
		}
		g.writeTo(lit("."), value{s: unknownText, t: tFile}, false, x.cmd, x.span)
		if p.given("-P") {
			m.undecided(PathUnresolved, "absolute names in the archive", false, x.cmd, x.span)
		}
		dir := g.resolve(lit("."))
		delete(m.files, dir.Abs)
		if in.has(tNet) {
			m.netDirs = append(m.netDirs, dir.Abs)
		}
	}
	return out
}
