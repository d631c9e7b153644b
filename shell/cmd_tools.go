package shell

import (
	"slices"
	"strings"
)

// windows runs a program of Windows.
func (x *inv) windows() value {
	if x.p == nil || x.cmd >= len(x.f.m.res.Commands) {
		x.record()
	}
	f, m := x.f, x.f.m
	at := x.cmd + 1
	do := func(a Action) int {
		a.Dry, a.Span, a.Command = a.Dry || x.dry, x.span, at
		return f.emit(a)
	}
	if x.has("?") || len(x.args) > 1 && (x.args[1].s == "--help" || x.args[1].s == "-h") {
		return value{s: unknownText}
	}
	names := value{s: unknownText, t: tNames | tCmd}
	rest := x.args[1:]
	switch x.name {
	case "taskkill":
		for i, a := range rest {
			if slash(a.s, "im") && i+1 < len(rest) {
				do(Action{Kind: ProcKill, Name: plain(rest[i+1].s), Broad: true})
			}
			if slash(a.s, "fi") && i+1 < len(rest) {
				if l := strings.ToLower(rest[i+1].s); !strings.Contains(l, "pid eq") {
					do(Action{Kind: ProcKill, Name: plain(l), Broad: true})
				}
			}
			if slash(a.s, "pid") && i+1 < len(rest) {
				do(Action{Kind: ProcKill, Name: plain(rest[i+1].s), Broad: rest[i+1].has(tKillList)})
			}
		}
	case "tskill", "pskill":
		if v := x.operand(1); v.s != "" {
			_, isPid := atoi(v.s)
			do(Action{Kind: ProcKill, Name: plain(v.s), Broad: !isPid && v.known()})
		}
	case "reg":
		key := x.operand(2).s
		v, _ := x.option("v")
		switch x.word(1) {
		case "add", "copy":
			if x.word(1) == "copy" {
				key = x.operand(3).s
			}
			x.registry(key, v.s, false)
			if d, ok := x.option("d"); ok && secretVar(v.s) && looksSecret(d.s) {
				do(Action{Kind: SecretLiteral})
			}
		case "delete":
			x.registry(key, v.s, true)
		case "import", "restore", "load":
			m.undecided(ScriptUnknown, "a registry file", true, x.cmd, x.span)
		case "save", "export":
			low := strings.ToLower(strings.ReplaceAll(key, "/", `\`))
			if strings.HasSuffix(low, `\sam`) || strings.HasSuffix(low, `\security`) || strings.HasSuffix(low, `\system`) && x.word(1) == "save" {
				do(Action{Kind: SecretReveal, Name: "the account database"})
			}
			if t := x.operand(3); t.s != "" {
				f.writeTo(t, value{s: unknownText, t: tCmd}, false, x.cmd, x.span)
			}
		}
	case "regedit":
		if v := x.operand(1); v.s != "" && !x.has("e") {
			m.undecided(ScriptUnknown, "a registry file", true, x.cmd, x.span)
		}
	case "schtasks", "at":
		switch {
		case x.name == "at" && len(rest) > 1, x.has("create"), x.has("change") && !x.has("disable"):
			do(Action{Kind: Persist, Name: "a scheduled task"})
			if ru, ok := x.option("ru"); ok && strings.Contains(strings.ToLower(ru.s), "system") {
				do(Action{Kind: PrivElevate})
			}
			if rl, ok := x.option("rl"); ok && strings.EqualFold(rl.s, "highest") {
				do(Action{Kind: PrivElevate})
			}
			if tr, ok := x.option("tr"); ok {
				g := f.fork()
				g.via = append(slices.Clip(g.via), ViaLater)
				g.cmdLine(tr, x.span)
			}
		case x.has("delete", "end", "change"):
			if n, ok := x.option("tn"); ok && strings.Contains(strings.ToLower(n.s), "holdpoint") {
				do(Action{Kind: ServiceStop, Name: "holdpoint"})
			}
		}
	case "sc":
		i := 1
		if strings.HasPrefix(x.operand(1).s, `\\`) {
			i = 2
		}
		name := plain(x.operand(i + 1).s)
		switch x.word(i) {
		case "stop", "pause", "delete":
			do(Action{Kind: ServiceStop, Name: name})
		case "create":
			do(Action{Kind: Persist, Name: "a service"})
		case "config", "failure":
			for j, a := range rest {
				l := strings.ToLower(a.s)
				if strings.HasPrefix(l, "start=") && (strings.HasSuffix(l, "disabled") || j+1 < len(rest) && strings.EqualFold(rest[j+1].s, "disabled")) {
					do(Action{Kind: ServiceStop, Name: name})
				}
				if strings.HasPrefix(l, "binpath=") || strings.HasPrefix(l, "command=") || strings.HasPrefix(l, "start=") && (strings.HasSuffix(l, "auto") || j+1 < len(rest) && strings.EqualFold(rest[j+1].s, "auto")) {
					do(Action{Kind: Persist, Name: "a service"})
				}
			}
		}
	case "net", "net1":
		x.netProgram(do)
	case "netsh":
		line := strings.ToLower(joinMarked(rest, ' '))
		switch {
		case strings.Contains(line, "advfirewall set") && strings.Contains(line, "state off"), strings.Contains(line, "advfirewall reset"), strings.Contains(line, "firewall set opmode") && strings.Contains(line, "disable"),
			strings.Contains(line, "firewall delete rule"), strings.Contains(line, "advfirewall set") && strings.Contains(line, "allowinbound"):
			do(Action{Kind: FirewallOpen})
		case strings.Contains(line, "firewall add rule") && strings.Contains(line, "action=allow") && !strings.Contains(line, "dir=out"):
			do(Action{Kind: FirewallOpen})
		case strings.Contains(line, "portproxy add"):
			if !strings.Contains(line, "listenaddress=127.") {
				do(Action{Kind: NetListen})
			}
		case strings.Contains(line, "key=clear"):
			do(Action{Kind: SecretReveal, Name: "a wireless key"})
		case strings.Contains(line, "winsock reset"), strings.Contains(line, "interface set") && strings.Contains(line, "disable"):
			do(Action{Kind: ServiceStop, Name: "the network"})
		}
	case "icacls", "cacls", "xcacls":
		x.acls()
	case "takeown":
		if v, ok := x.option("f"); ok {
			f.emit(Action{Kind: FileOwner, Path: f.resolve(v), Recursive: x.has("r"), Span: x.span, Command: at})
		}
	case "attrib":
		var flags []string
		for _, a := range rest {
			if strings.HasPrefix(a.s, "+") || strings.HasPrefix(a.s, "-") {
				flags = append(flags, a.s)
			} else if !strings.HasPrefix(a.s, "/") {
				p := f.resolve(a.with(activate(a.s)))
				f.emit(Action{Kind: FileMeta, Path: p, Span: x.span, Command: at})
			}
		}
		_ = flags
		return names
	case "bitsadmin":
		line := strings.ToLower(joinMarked(rest, ' '))
		switch {
		case strings.Contains(line, "/setnotifycmdline"):
			do(Action{Kind: Persist, Name: "a transfer that starts a program"})
		case strings.Contains(line, "/transfer") || strings.Contains(line, "/addfile"):
			var url, file value
			for _, a := range rest {
				switch {
				case strings.Contains(a.s, "://"):
					url = a
				case url.s != "" && !strings.HasPrefix(a.s, "/"):
					file = a
				}
			}
			if strings.Contains(line, "/upload") {
				f.readFile(file, x.cmd, false)
				x.psUpload(url, value{s: unknownText, t: tFile})
				return value{}
			}
			out := x.psFetch(url)
			if file.s != "" {
				f.writeTo(file, value{s: unknownText, t: out.t}, false, x.cmd, x.span)
			}
		}
	case "certutil", "certreq":
		return x.certutil()
	case "cipher":
		for _, a := range rest {
			if slash(a.s, "w") {
				do(Action{Kind: FileWipe, Name: plain(a.s)})
			}
		}
	case "sdelete", "sdelete64":
		do(Action{Kind: FileWipe})
	case "format":
		for _, a := range rest {
			if len(a.s) >= 2 && a.s[1] == ':' || strings.HasPrefix(a.s, `\\`) {
				do(Action{Kind: FileWipe, Name: plain(a.s)})
			}
		}
	case "diskpart":
		if v, ok := x.option("s"); ok {
			p := f.resolve(v)
			if c, has := m.files[p.Abs]; has && c.known() {
				if diskCommands(c.s) {
					do(Action{Kind: FileWipe})
				}
				return value{}
			}
			m.undecided(ScriptUnknown, "a diskpart script", true, x.cmd, x.span)
		} else if f.hasIn && (!x.in.known() || diskCommands(x.in.s)) {
			do(Action{Kind: FileWipe})
		}
	case "diskshadow", "vssadmin":
		if l := strings.ToLower(joinMarked(rest, ' ')); strings.Contains(l, "delete shadows") || strings.Contains(l, "resize shadowstorage") {
			do(Action{Kind: FileWipe, Detail: "recovery points are deleted"})
		}
	case "wbadmin":
		if x.word(1) == "delete" {
			do(Action{Kind: FileWipe, Detail: "backups are deleted"})
		}
	case "manage-bde":
		if l := strings.ToLower(joinMarked(rest, ' ')); strings.Contains(l, "-protectors -get") {
			do(Action{Kind: SecretReveal, Name: "a recovery key"})
		}
	case "bcdedit":
		if x.has("set", "delete", "deletevalue") {
			do(Action{Kind: ServiceStop, Name: "the boot configuration"})
		}
	case "shutdown":
		if x.has("a") || x.has("?") {
			return value{}
		}
		if x.has("s", "r", "p", "h", "g", "sg", "hybrid", "l", "o", "i") || len(rest) > 0 && (rest[0].s == "now" || strings.HasPrefix(rest[0].s, "+")) {
			do(Action{Kind: MachineStop})
		}
	case "logoff":
		do(Action{Kind: MachineStop})
	case "wmic":
		x.wmic(do)
	case "robocopy":
		x.robocopy()
	case "xcopy":
		x.dosCopy(false)
	case "fsutil":
		l := strings.ToLower(joinMarked(rest, ' '))
		switch {
		case strings.HasPrefix(l, "file createnew"):
			f.writeTo(x.operand(3), value{}, false, x.cmd, x.span)
			if len(x.operand(4).s) > 10 {
				do(Action{Kind: Exhaust, Detail: "a huge file"})
			}
		case strings.HasPrefix(l, "file setzerodata"), strings.HasPrefix(l, "usn deletejournal"):
			do(Action{Kind: FileWipe})
		case strings.HasPrefix(l, "hardlink create"):
			x.makeLink(x.operand(4), x.operand(3))
		}
	case "runas":
		do(Action{Kind: PrivElevate})
		var line value
		for _, a := range rest {
			if !strings.HasPrefix(a.s, "/") {
				line = a
			}
		}
		f.under("runas").cmdLine(line, x.span)
	case "psexec", "psexec64":
		if x.has("s", "i", "h", "u") {
			do(Action{Kind: PrivElevate})
		}
		host := ""
		for i := 0; i < len(rest); i++ {
			a := rest[i]
			switch {
			case strings.HasPrefix(a.s, `\\`):
				host = strings.Trim(a.s, `\`)
			case slash(a.s, "u") || slash(a.s, "p") || slash(a.s, "w"):
				if slash(a.s, "p") && i+1 < len(rest) {
					x.literalSecret("secret", rest[i+1])
				}
				i++
			case strings.HasPrefix(a.s, "-") || strings.HasPrefix(a.s, "/"):
			default:
				g := f.under("psexec")
				if host != "" {
					g.host = plain(host)
				}
				g.program(rest[i:], nil, x.span)
				return unknownVal(tCmd)
			}
		}
	case "mshta", "regsvr32", "rundll32", "msiexec", "cscript", "wscript", "installutil", "regasm":
		x.binary()
	case "cmdkey":
		if v, ok := x.option("pass", "p"); ok && looksSecret(v.s) {
			do(Action{Kind: SecretLiteral})
		}
	case "vaultcmd":
		if x.has("listcreds") {
			do(Action{Kind: SecretReveal, Name: "the credential vault"})
		}
	case "setx":
		name, val := strings.ToUpper(x.operand(1).s), x.operand(2)
		do(Action{Kind: EnvSet, Name: name, Detail: plain(val.s)})
		if secretVar(name) && looksSecret(val.s) && len(val.s) > 7 {
			do(Action{Kind: SecretLiteral})
		}
	case "findstr", "find":
		return x.findstr()
	case "more", "sort":
		for _, a := range rest {
			if !strings.HasPrefix(a.s, "/") && !strings.HasPrefix(a.s, "+") {
				x.reads = append(x.reads, f.readFile(a.with(activate(a.s)), x.cmd, false))
			}
		}
		if o, ok := x.option("o"); ok && x.name == "sort" {
			f.writeTo(o, value{s: unknownText, t: tFile}, false, x.cmd, x.span)
		}
		if len(x.reads) > 0 {
			return x.reads[0]
		}
		return x.in
	case "clip":
		return value{}
	case "forfiles":
		if c, ok := x.option("c"); ok {
			g := f.fork()
			if p, ok := x.option("p"); ok {
				g.chdir(p)
			}
			mask := string(rune(markStar))
			if mk, ok := x.option("m"); ok {
				mask = activate(mk.s)
			} else if x.has("d") {
				mask += "matching"
			}
			line := c.s
			for _, v := range [...]string{"@path", "@file", "@relpath", "@fname", "@PATH", "@FILE"} {
				line = strings.ReplaceAll(line, v, mask)
			}
			line = strings.ReplaceAll(line, `\"`, `"`)
			g.depth++
			if !g.nested {
				g.nested, g.base = true, x.span
			}
			var all []value
			for _, w := range winSplit(line) {
				all = append(all, value{s: w, span: c.span})
			}
			if len(all) > 0 {
				g.program(all, nil, x.span)
			}
		}
	case "powercfg", "chkdsk", "sfc", "dism", "gpupdate", "defrag":
	case "fltmc":
		if x.word(1) == "unload" {
			do(Action{Kind: ServiceStop, Name: plain(x.operand(2).s)})
		}
	case "wevtutil":
		if w := x.word(1); w == "cl" || w == "clear-log" {
			do(Action{Kind: ServiceStop, Name: "an event log is cleared"})
		}
	case "sqlcmd":
		for i, a := range rest {
			switch a.s {
			case "-Q", "-q":
				if i+1 < len(rest) {
					x.sql(rest[i+1])
				}
			case "-i":
				if i+1 < len(rest) {
					f.readFile(rest[i+1], x.cmd, false)
					m.undecided(ScriptUnknown, "a SQL file", true, x.cmd, x.span)
				}
			case "-P":
				if i+1 < len(rest) {
					x.literalSecret("secret", rest[i+1])
				}
			default:
				if strings.HasPrefix(a.s, "-Q") && len(a.s) > 2 {
					x.sql(a.with(a.s[2:]))
				}
			}
		}
	case "winrm":
		if w := x.word(1); w == "quickconfig" || w == "qc" {
			do(Action{Kind: NetListen})
		}
	case "esentutl":
		if x.has("y") {
			v, _ := x.option("y")
			f.readFile(v, x.cmd, false)
			if d, ok := x.option("d"); ok {
				f.writeTo(d, value{s: unknownText, t: tFile}, false, x.cmd, x.span)
			}
		}
	case "expand", "makecab":
		f.readFile(x.operand(1), x.cmd, false)
		if d := x.operand(2); d.s != "" {
			f.writeTo(d, value{s: unknownText, t: tFile}, false, x.cmd, x.span)
		}
	case "reagentc":
		if x.has("disable") {
			do(Action{Kind: ServiceStop, Name: "the recovery environment"})
		}
	case "tasklist":
		return value{s: unknownText, t: tNames | tKillList}
	case "netstat":
		return value{s: unknownText, t: tNames | tOwnPid}
	}
	return names
}

// findstr is findstr and find.
func (x *inv) findstr() value {
	f, m := x.f, x.f.m
	var pos []value
	quiet := false
	pattern := ""
	for _, a := range x.args[1:] {
		if strings.HasPrefix(a.s, "/") && !strings.HasPrefix(a.s, "//") {
			low := strings.ToLower(a.s)
			quiet = quiet || low == "/m" || x.name == "find" && low == "/c"
			if strings.HasPrefix(low, "/c:") && x.name == "findstr" {
				pattern = a.s[3:]
			}
			continue
		}
		pos = append(pos, a)
	}
	if pattern == "" && len(pos) > 0 && !x.has("g") {
		pattern, pos = pos[0].s, pos[1:]
	}
	if x.in.has(tEnv) && f.hasIn {
		f.emit(Action{Kind: EnvFilter, Name: plain(pattern), Span: x.span, Command: x.cmd + 1})
	}
	out := value{s: unknownText, t: tCmd | x.in.t, src: x.in.src}
	for _, p := range pos {
		v := f.readFile(p.with(activate(p.s)), x.cmd, quiet)
		out.src = append(out.src, v.src...)
		out.t |= v.t
	}
	if quiet {
		m.quiet(x.in)
	}
	return out
}

// robocopy copies trees; with /MIR or /PURGE it deletes what the source lacks.
func (x *inv) robocopy() {
	f := x.f
	at := x.cmd + 1
	src, dst := x.operand(1), x.operand(2)
	if x.has("l") {
		x.dry = true
	}
	if dst.s == "" {
		return
	}
	f.emit(Action{Kind: FileMeta, Path: f.resolve(src), Span: x.span, Command: at})
	if x.has("mir", "purge") {
		f.emit(Action{Kind: FileDelete, Path: f.resolve(dst), Recursive: true, Dry: x.dry, Span: x.span, Command: at})
	}
	if x.has("mov", "move") {
		f.emit(Action{Kind: FileDelete, Path: f.resolve(src), Detail: "move", Recursive: true, Dry: x.dry, Span: x.span, Command: at})
	}
	x.writes(dst, value{s: unknownText, t: tFile})
}
