package shell

import (
	"slices"
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
	case "zip":
		if p.given("-m") && len(p.pos) > 1 {
			for _, v := range p.pos[1:] {
				x.role("move", v)
			}
		}
	case "mkfifo", "mknod":
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
		if len(p.pos) > 0 && (strings.Contains(p.pos[0].s, "system") || strings.Contains(p.pos[0].s, "unlink")) {
			x.inline("perl", p.pos[0])
		}
	}
	return out
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
	if from.Unresolved || to.Unresolved || from.Glob || to.Glob || len(m.moved) >= maxMoved {
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

// kill judges signals: to whom, and how that was found.
func (x *inv) kill() value {
	f, p := x.f, x.p
	at := x.cmd + 1
	switch x.name {
	case "pgrep", "pidof":
		t := tKillList | tNames
		if p != nil && p.given("-P") {
			t = tOwnPid
		}
		return value{s: unknownText, t: t}
	case "ps":
		return value{s: unknownText, t: tKillList | tNames}
	case "lsof":
		return value{s: unknownText, t: tOwnPid | tNames}
	case "fuser":
		return value{s: unknownText, t: tNames}
	case "kill":
		args := x.args[1:]
		sig := ""
		var targets []value
		for i := 0; i < len(args); i++ {
			s := args[i].text()
			if s == "--" {
				targets = append(targets, args[i+1:]...)
				break
			}
			switch {
			case s == "-l" || s == "-L" || s == "--list" || s == "--table":
				return value{s: unknownText}
			case (s == "-s" || s == "-n" || s == "--signal") && i+1 < len(args):
				i++
				sig = args[i].s
			case strings.HasPrefix(s, "--signal="):
				sig = s[9:]
			case strings.HasPrefix(s, "-") && sig == "" && len(targets) == 0 && len(s) > 1:
				sig = s[1:]
			default:
				targets = append(targets, args[i])
			}
		}
		if sig == "0" {
			return value{}
		}
		// kill -1 alone sends nothing; kill -9 -1 hits all.
		for _, v := range targets {
			broad := v.s == "-1" || v.has(tKillList)
			a := Action{Kind: ProcKill, Name: plain(v.s), Broad: broad, Span: v.span, Command: at}
			if len(v.src) > 0 {
				a.Path = f.m.res.Actions[v.src[0]].Path
			}
			f.emit(a)
		}
	case "killall", "killall5", "pkill", "skill", "snice", "slay", "fkill", "xkill":
		if p == nil {
			return value{}
		}
		if p.given("-l", "-V", "--list", "--version", "-h", "--help") && x.name != "pkill" || p.given("-0") {
			return value{}
		}
		if s := p.flag("-s", "--signal"); s != nil && s.val.s == "0" {
			return value{}
		}
		name := ""
		if len(p.pos) > 0 {
			name = plain(p.pos[0].s)
		}
		own := false
		if fl := p.flag("-P"); fl != nil && (fl.val.has(tOwnPid) || x.name == "pkill" && len(p.pos) == 0) {
			own = true
		}
		if fl := p.flag("-F"); fl != nil && x.name == "pkill" {
			own = true
		}
		f.emit(Action{Kind: ProcKill, Name: name, Broad: !own, Span: x.span, Command: at})
	}
	return value{}
}

func (x *inv) printenv() value {
	f := x.f
	var out value
	n := 0
	for _, a := range x.args[1:] {
		if strings.HasPrefix(a.s, "-") {
			continue
		}
		n++
		if v, ok := f.vars[a.s]; ok {
			out = concat(out, v.v)
			continue
		}
		i := f.emit(Action{Kind: EnvPrint, Name: plain(a.s), Span: a.span, Command: x.cmd + 1})
		out = value{s: unknownText, src: append(out.src, i), vars: nil}
	}
	if n == 0 {
		i := f.emit(Action{Kind: EnvPrint, Quiet: true, Span: x.span, Command: x.cmd + 1})
		return value{s: unknownText, t: tEnv, src: []int{i}}
	}
	return out
}

// later is crontab and at.
func (x *inv) later() value {
	f, p := x.f, x.p
	at := x.cmd + 1
	if x.name == "crontab" {
		if p.given("-l") || p.given("-V") {
			return value{s: unknownText, t: tCmd}
		}
		f.emit(Action{Kind: Persist, Name: "crontab", Span: x.span, Command: at})
		return value{}
	}
	if p.given("-l", "-c", "-V") || p.given("-r", "-d") {
		return value{s: unknownText, t: tCmd}
	}
	f.emit(Action{Kind: Persist, Name: x.name, Span: x.span, Command: at})
	if f.hasIn && x.in.s != "" {
		f.run(x.in, ViaLater, nil)
	}
	return value{}
}

// system is systemctl and other programs that rule services, and whatever the
// table says of it alone.
func (x *inv) system() value {
	if x.spec == nil {
		return x.unknownProgram()
	}
	return x.runSpec()
}

// interpreter runs a program of a script language.
func (x *inv) interpreter() value {
	f, m := x.f, x.f.m
	lang := codeLang(x.name)
	args := x.args[1:]
	var codes []value
	inplace, loop := false, false
	backup := ""
	module := ""
	i := 0
	take := func() value {
		if i+1 < len(args) {
			i++
			return args[i]
		}
		return value{}
	}
	sub := ""
scan:
	for ; i < len(args); i++ {
		s := args[i].text()
		if s == "--" {
			i++
			break
		}
		if len(s) < 2 || s[0] != '-' {
			if s == "-" {
				break
			}
			if sub == "" && (x.name == "deno" || x.name == "bun") {
				switch s {
				case "eval", "run", "repl", "test", "x", "install", "add", "build", "compile", "fmt", "lint", "check", "cache", "task", "i", "create", "pm", "publish", "remove", "upgrade", "init", "dev", "serve":
					sub = s
					if s == "eval" {
						for i+1 < len(args) && strings.HasPrefix(args[i+1].s, "-") {
							i++
						}
						codes = append(codes, take())
					}
					if s == "publish" {
						dry := false
						for _, a := range args {
							dry = dry || a.s == "--dry-run"
						}
						f.emit(Action{Kind: PkgPublish, Name: x.name, Dry: dry, Span: x.span, Command: x.cmd + 1})
						return unknownVal(tCmd)
					}
					if s != "run" && s != "eval" && s != "repl" {
						m.undecided(TargetOpaque, x.name+" "+s, s == "task" || s == "x" || s == "create", x.cmd, x.span)
						return unknownVal(tCmd)
					}
					continue
				}
			}
			break
		}
		switch lang {
		case "python":
			for j := 1; j < len(s); j++ {
				switch s[j] {
				case 'c':
					v := args[i].with(s[j+1:])
					if s[j+1:] == "" {
						v = take()
					}
					codes = append(codes, v)
					i++
					break scan
				case 'm':
					module = s[j+1:]
					if module == "" {
						module = take().s
					}
					i++
					break scan
				case 'W', 'X':
					if j == len(s)-1 {
						take()
					}
					j = len(s)
				case '-':
					j = len(s)
				}
			}
		case "js":
			name, val, has := strings.Cut(s, "=")
			switch name {
			case "-e", "--eval", "-p", "--print", "-pe", "-ep":
				if has {
					codes = append(codes, args[i].with(val))
				} else {
					codes = append(codes, take())
				}
				if name == "-p" || name == "--print" || name == "-pe" {
					inplace = true // prints the value
				}
			case "-r", "--require", "--import", "--loader":
				if !has {
					take()
				}
			case "--env-file", "--env-file-if-exists":
				v := args[i].with(val)
				if !has {
					v = take()
				}
				f.readFile(v, x.cmd, false)
			case "--inspect", "--inspect-brk":
				if strings.HasPrefix(val, "0.0.0.0") {
					f.emit(Action{Kind: NetListen, Span: x.span, Command: x.cmd + 1})
				}
			case "-c", "--check", "-v", "--version", "-h":
				if name == "-c" && (x.name == "mongo" || x.name == "mongosh") {
					continue
				}
				return value{}
			}
		case "perl", "ruby":
			for j := 1; j < len(s); j++ {
				switch s[j] {
				case 'e', 'E':
					v := args[i].with(s[j+1:])
					if s[j+1:] == "" {
						v = take()
					}
					codes = append(codes, v)
					j = len(s)
				case 'i':
					inplace = true
					if k := s[j+1:]; k != "" && strings.Trim(k, "npeE") != "" && strings.HasPrefix(k, ".") {
						backup = k
					}
					if j+1 < len(s) && s[j+1] != 'n' && s[j+1] != 'p' && s[j+1] != 'e' {
						j = len(s)
					}
				case 'n', 'p':
					loop = true
				case 'M', 'm', 'I', 'r', 'C', 'F', 'x', 'K':
					if s[j] == 'r' || s[j] == 'I' {
						if j == len(s)-1 {
							take()
						}
					}
					j = len(s)
				case 'c', 'v', 'V', 'h':
					if lang == "perl" && s[j] == 'c' || s[j] == 'v' && len(s) == 2 {
						return value{}
					}
				case 'l', '0':
					for j+1 < len(s) && s[j+1] >= '0' && s[j+1] <= '7' {
						j++
					}
				case '-':
					j = len(s)
				}
			}
		case "php":
			switch s {
			case "-r", "-B", "-R", "-E":
				codes = append(codes, take())
			case "-S":
				addr := take().s
				if !strings.HasPrefix(addr, "127.") && !strings.HasPrefix(addr, "localhost") && !strings.HasPrefix(addr, "[::1]") {
					f.emit(Action{Kind: NetListen, Host: addr, Span: x.span, Command: x.cmd + 1})
				}
				return unknownVal(tCmd)
			case "-d", "-c", "-z":
				take()
			case "-f":
				i++
				break scan
			case "-l", "-v", "-i", "-m":
				return value{}
			case "-a":
			}
		case "lua":
			switch s {
			case "-e":
				codes = append(codes, take())
			case "-l":
				take()
			case "-v":
				return value{}
			}
		case "other":
			return x.otherInterpreter(args)
		default:
			return x.otherInterpreter(args)
		}
	}
	if lang == "" || lang == "other" {
		return x.otherInterpreter(args)
	}
	rest := args[min(i, len(args)):]
	out := unknownVal(tCmd)
	if x.name == "ruby" && rubyServes(args) {
		f.emit(Action{Kind: NetListen, Span: x.span, Command: x.cmd + 1})
		return out
	}
	if len(codes) > 0 {
		code := codes[0]
		for _, c := range codes[1:] {
			code.s += "\n" + c.s
			code.t |= c.t
		}
		code.s = code.text()
		if code.has(tSubst) && code.t&(tNet|tPeer) != 0 {
			f.emit(Action{Kind: NetRun, Span: x.span, Command: x.cmd + 1})
			if code.opaque() {
				return unknownVal(tCmd) // what runs is known to be unknown
			}
			code.t &^= tNet | tPeer
		}
		if lang == "js" && inplace {
			code.s = "console.log(" + strings.TrimSuffix(strings.TrimSpace(code.s), ";") + ")"
		}
		out = x.inline(x.name, code)
		if (lang == "perl" || lang == "ruby") && inplace {
			for _, v := range rest {
				x.writes(v, value{s: unknownText, t: tFile})
				if backup != "" {
					x.writes(v.with(v.s+backup), value{s: unknownText, t: tFile})
				}
			}
		} else if loop {
			for _, v := range rest {
				r := f.readFile(v, x.cmd, false)
				out.src = append(out.src, r.src...)
			}
			if len(rest) == 0 && f.hasIn {
				out.t |= x.in.t
				out.src = append(out.src, x.in.src...)
			}
		} else if f.hasIn {
			out.t |= x.in.t & (tFile | tEnv)
			out.src = append(out.src, x.in.src...)
		}
		if s, ok := rewriting(lang, code.s, x.in); ok {
			out.s = s
			out.t |= tDecoded
		}
		return out
	}
	if module != "" {
		return x.pythonModule(module, rest)
	}
	if len(rest) == 0 || rest[0].s == "-" || rest[0].s == "/dev/stdin" {
		if f.hasIn && (x.in.s != "" || x.in.t != 0) {
			c := x.in
			if c.span == (Span{}) {
				c.span = x.span
			}
			r := x.inline(x.name, c)
			if c.has(tPeer) {
				r.t |= tShell
			}
			return r
		}
		return value{s: unknownText, t: tCmd | tShell}
	}
	v := rest[0]
	if strings.HasPrefix(v.s, "/dev/fd/proc") {
		return x.inline(x.name, m.files[v.s])
	}
	pth := f.resolve(v)
	if c, ok := m.files[pth.Abs]; ok && !pth.Unresolved {
		f.emit(Action{Kind: FileExec, Path: pth, Span: v.span, Command: x.cmd + 1})
		if c.span == (Span{}) {
			c.span = x.span
		}
		key := "file " + pth.Abs
		if slices.Contains(f.calls, key) {
			return unknownVal(tCmd)
		}
		calls := f.calls
		f.calls = append(slices.Clip(f.calls), key)
		defer func() { f.calls = calls }()
		return x.inline(x.name, c)
	}
	if strings.HasPrefix(v.s, "http://") || strings.HasPrefix(v.s, "https://") {
		x.fetch(v)
		f.emit(Action{Kind: NetRun, Span: x.span, Command: x.cmd + 1})
		return unknownVal(tCmd)
	}
	f.emit(Action{Kind: FileExec, Path: pth, Span: v.span, Command: x.cmd + 1})
	if m.fromNet(pth.Abs) {
		f.emit(Action{Kind: NetRun, Path: pth, Span: x.span, Command: x.cmd + 1})
	}
	if b := baseName(v.s); b == "git-filter-repo" || b == "git-filter-repo.py" {
		y := &inv{f: f.under(x.name), args: append([]value{lit("git-filter-repo")}, rest[1:]...), span: x.span, noFunc: true}
		return y.dispatch()
	}
	if baseName(v.s) == "manage.py" || baseName(v.s) == "artisan" || baseName(v.s) == "rails" {
		y := *x
		y.name = baseName(v.s)
		y.args = rest
		y.spec = nil
		return y.project()
	}
	m.undecided(ScriptUnknown, plain(v.s), true, x.cmd, x.span)
	return unknownVal(tCmd)
}

// rewriting carries out the one-liners that only turn their input around.
func rewriting(lang, code string, in value) (string, bool) {
	if !in.known() || in.s == "" {
		return "", false
	}
	c := strings.Join(strings.Fields(code), "")
	switch {
	case lang == "perl" && (strings.Contains(c, "printreverse") || strings.Contains(c, "scalarreverse")):
		return reverse(in.s), true
	case lang == "perl" && strings.Contains(c, "tr/a-zA-Z/n-za-mN-ZA-M/") || strings.Contains(c, "y/a-zA-Z/n-za-mN-ZA-M/"):
		return rot13(in.s), true
	case strings.Contains(c, "b64decode") || strings.Contains(c, "decode_base64"):
		return decode64(strings.TrimSpace(in.s))
	case lang == "ruby" && strings.Contains(c, ".reverse"):
		return reverse(strings.TrimSpace(in.s)), true
	}
	return "", false
}

// otherInterpreter: languages that are not read. Editors and AppleScript start
// shell commands in a way that is easy to see.
// rubyServes reports ruby -run -e httpd, a web server for a folder, where it is
// not bound to this machine.
func rubyServes(args []value) bool {
	run, serves, local := false, false, false
	for i, a := range args {
		run = run || a.s == "-run" || a.s == "-run.rb"
		serves = serves || a.s == "httpd" || a.s == "-ehttpd"
		if addr, ok := strings.CutPrefix(a.s, "--bind-address="); ok {
			local = loopback(addr) && addr != "0.0.0.0"
		} else if a.s == "-b" && i+1 < len(args) {
			local = loopback(args[i+1].s) && args[i+1].s != "0.0.0.0"
		}
	}
	return run && serves && !local
}

// buildWord reports what else than to run a script some of these programs do: to
// build and test the project.
func buildWord(prog string, args []value) bool {
	word := args[0].s
	switch prog {
	case "swift":
		return slices.Contains([]string{"build", "test", "run", "package"}, word)
	case "nim":
		return slices.Contains([]string{"c", "cpp", "cc", "js", "check", "doc", "r", "compile"}, word)
	case "R":
		return word == "CMD" && len(args) > 1 && slices.Contains([]string{"check", "build", "INSTALL", "Rd2pdf", "config"}, args[1].s)
	}
	return false
}

func (x *inv) otherInterpreter(args []value) value {
	f, m := x.f, x.f.m
	if len(args) > 0 && buildWord(x.name, args) {
		m.undecided(TargetOpaque, x.name+" "+plain(args[0].s), false, x.cmd, x.span)
		return unknownVal(tCmd)
	}
	switch x.name {
	case "osascript":
		for _, a := range args {
			s := a.text()
			for {
				i := strings.Index(s, "do shell script")
				if i < 0 {
					break
				}
				s = s[i+len("do shell script"):]
				if j := strings.IndexByte(s, '"'); j >= 0 {
					body, end := until(s, j+1, '"')
					f.run(a.with(unescape(body)), ViaCode, nil)
					if strings.Contains(s[end:], "administrator privileges") {
						f.emit(Action{Kind: PrivElevate, Name: "osascript", Span: x.span, Command: x.cmd + 1})
					}
					s = s[end:]
				}
			}
		}
		return unknownVal(tCmd)
	case "vim", "vi", "nvim", "ex", "emacs", "ed":
		inline := false
		for i := 0; i < len(args); i++ {
			s := args[i].text()
			code := ""
			switch {
			case (s == "-c" || s == "--cmd" || s == "--eval" || s == "-eval") && i+1 < len(args):
				i++
				code = args[i].text()
			case strings.HasPrefix(s, "+"):
				code = s[1:]
			case !strings.HasPrefix(s, "-"):
				if x.name != "emacs" {
					f.emit(Action{Kind: FileWrite, Path: f.resolve(args[i]), Certainty: Possible, Detail: "edit", Span: args[i].span, Command: x.cmd + 1})
				}
				continue
			}
			if code == "" {
				continue
			}
			inline = true
			code = strings.TrimPrefix(strings.TrimSpace(code), ":")
			if j := strings.IndexByte(code, '!'); j >= 0 && (j == 0 || strings.TrimLeft(code[:j], "silentr%.$0123456789, ") == "") {
				f.run(args[i].with(code[j+1:]), ViaCode, nil)
			} else if j := strings.Index(code, `shell-command "`); j >= 0 {
				body, _ := until(code, j+len(`shell-command "`), '"')
				f.run(args[i].with(unescape(body)), ViaCode, nil)
			} else if j := strings.Index(code, "system("); j >= 0 {
				body := strings.Trim(code[j+7:], `)"' `)
				f.run(args[i].with(body), ViaCode, nil)
			} else if j := strings.Index(code, `delete-directory "`); j >= 0 {
				body, _ := until(code, j+len(`delete-directory "`), '"')
				x.deletes(args[i].with(body), strings.Contains(code, " t"))
			}
		}
		if !inline && f.hasIn && x.in.known() {
			for l := range strings.SplitSeq(x.in.s, "\n") {
				if code, ok := strings.CutPrefix(strings.TrimSpace(l), "!"); ok {
					f.run(x.in.with(code), ViaCode, nil)
				}
			}
		}
		return unknownVal(tCmd)
	case "java":
		for i, a := range args {
			if a.s == "-jar" && i+1 < len(args) {
				name := strings.TrimSuffix(baseName(args[i+1].s), ".jar")
				if j := strings.IndexByte(name, '-'); j > 0 && !f.m.knows(name) {
					name = name[:j]
				}
				if f.m.knows(name) {
					y := &inv{f: f.under("java"), args: append([]value{lit(name)}, args[i+2:]...), span: x.span, noFunc: true}
					return y.dispatch()
				}
				x.execFile(args[i+1])
				return unknownVal(tCmd)
			}
		}
		return unknownVal(tCmd)
	case "jq", "yq":
		return x.specOr()
	case "cmd", "pwsh", "powershell":
		return x.windowsShell()
	}
	for i, a := range args {
		s := a.text()
		switch s {
		case "-e", "-c", "--eval", "--execute", "-E", "--expression", "-C", "-x":
			if i+1 < len(args) {
				code := args[i+1]
				x.origin(code)
				if codeLang(x.name) == "other" {
					return x.inline(x.name, code)
				}
				if y := shellishCall(code.text()); y != "" {
					f.run(code.with(y), ViaCode, nil)
					return unknownVal(tCmd)
				}
				m.undecided(CodeInline, x.name, true, x.cmd, x.span)
				return unknownVal(tCmd)
			}
		case "--version", "-v", "--help", "-h":
			return value{}
		}
	}
	for _, a := range args {
		if !strings.HasPrefix(a.s, "-") {
			x.execFile(a)
			return unknownVal(tCmd)
		}
	}
	if f.hasIn && x.in.s != "" {
		x.origin(x.in)
		if y := shellishCall(x.in.s); y != "" && x.in.known() {
			f.run(x.in.with(y), ViaCode, nil)
			return unknownVal(tCmd)
		}
		m.undecided(CodeInline, x.name, true, x.cmd, x.span)
	}
	return unknownVal(tCmd)
}

// shellishCall finds system("…") and its like in a language that is not read.
func shellishCall(code string) string {
	for _, name := range []string{"system(", "os.execute(", "run(`", "exec ", "spawn ", "shell(", "System.cmd("} {
		_, after, ok := strings.Cut(code, name)
		if !ok {
			continue
		}
		rest := after
		j := strings.IndexAny(rest, "\"'`")
		if name == "run(`" {
			body, _, _ := strings.Cut(rest, "`")
			return body
		}
		if name == "exec " || name == "spawn " {
			body, _, _ := strings.Cut(rest, ";")
			body, _, _ = strings.Cut(body, "]")
			return body
		}
		if j >= 0 && j < 3 {
			body, _ := until(rest, j+1, rest[j])
			return unescape(body)
		}
	}
	return ""
}

func (x *inv) specOr() value {
	if s := x.f.m.specFor(x.name); s != nil {
		x.parse(s)
		return x.filter()
	}
	return unknownVal(tCmd)
}

// pythonModule is python -m NAME.
func (x *inv) pythonModule(name string, rest []value) value {
	f, m := x.f, x.f.m
	at := x.cmd + 1
	text := joinValues(rest, " ").s
	switch name {
	case "http.server", "SimpleHTTPServer", "CGIHTTPServer", "pyftpdlib", "smtpd":
		bind := ""
		for i, a := range rest {
			if (a.s == "--bind" || a.s == "-b" || a.s == "-i") && i+1 < len(rest) {
				bind = rest[i+1].s
			}
			if v, ok := strings.CutPrefix(a.s, "--bind="); ok {
				bind = v
			}
		}
		if bind == "" || !loopback(bind) || bind == "0.0.0.0" {
			f.emit(Action{Kind: NetListen, Span: x.span, Command: at})
		}
		return unknownVal(tCmd)
	case "json.tool", "base64", "zipfile", "tarfile", "gzip":
		if name == "base64" && len(rest) > 0 && rest[0].s == "-d" {
			out := value{s: unknownText, t: x.in.t | tDecoded}
			if s, ok := decode64(x.in.s); ok && x.in.known() && x.in.s != "" {
				out.s = s
			}
			return out
		}
		for _, a := range rest {
			if !strings.HasPrefix(a.s, "-") {
				f.readFile(a, x.cmd, false)
			}
		}
		return value{s: unknownText, t: x.in.t | tCmd, src: x.in.src}
	case "venv", "virtualenv":
		if len(rest) > 0 {
			x.writes(rest[len(rest)-1], value{})
		}
		return value{}
	case "pip", "twine", "pytest", "build", "pipx", "poetry", "uv", "ruff", "mypy", "black", "pre_commit", "git_filter_repo", "coverage", "django", "flask", "uvicorn", "alembic", "celery", "invoke", "nox", "tox", "unittest", "pylint", "flake8", "isort", "keyring", "awscli", "gunicorn", "hatch", "pdm", "flit", "ansible", "ansible.cli.playbook", "streamlit", "jupyter", "notebook", "pipenv", "dotenv", "compileall", "ensurepip", "site", "timeit", "cProfile", "pdb", "trace", "doctest", "py_compile", "webbrowser", "sphinx", "mkdocs", "pyright", "bandit":
		prog := map[string]string{"pre_commit": "pre-commit", "git_filter_repo": "git-filter-repo", "django": "django-admin", "awscli": "aws"}[name]
		if prog == "" {
			prog = name
		}
		switch name {
		case "cProfile", "pdb", "trace", "doctest":
			for _, a := range rest {
				if !strings.HasPrefix(a.s, "-") {
					x.execFile(a)
					break
				}
			}
			return unknownVal(tCmd)
		}
		if handler(prog) != nil || f.m.knows(prog) {
			y := &inv{f: f.under(x.name), args: append([]value{lit(prog)}, rest...), span: x.span, noFunc: true}
			return y.dispatch()
		}
		m.undecided(TargetOpaque, "python -m "+name, false, x.cmd, x.span)
		return unknownVal(tCmd)
	}
	_ = text
	m.undecided(TargetOpaque, "python -m "+plain(name), !strings.HasPrefix(name, "py") && strings.ContainsAny(name, "_") && riskyTarget(name), x.cmd, x.span)
	return unknownVal(tCmd)
}
