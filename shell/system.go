package shell

import (
	"strings"
)

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
		out := value{s: unknownText, t: tKillList | tNames}
		if len(x.args) > 1 && bsdWord(x.args[1].s) && strings.Contains(x.args[1].s, "e") {
			// The environment stands behind each command.
			out.t |= tEnv
			out.src = []int{f.emit(Action{Kind: EnvPrint, Quiet: true, Span: x.span, Command: at})}
		}
		return out
	case "lsof":
		return value{s: unknownText, t: x.owners() | tNames}
	case "fuser":
		if p != nil && p.given("-k") && p.given("-m") {
			f.emit(Action{Kind: ProcKill, Broad: true, Span: x.span, Command: at})
		}
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
			group := v
			group.s = strings.TrimPrefix(v.s, "-")
			if len(v.vars) > 0 && group.openEnded() && (group.s != v.s || !v.nameHas("PID", "SERVER", "JOB", "CHILD", "PROC")) {
				x.undecidedOperand(v, OptionUnknown) // one, a group, or all
			}
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
		if rest, ok := withoutSignal(x.args[1:]); ok && x.spec != nil {
			p = x.spec.parse(f.m.s, rest)
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

// bsdWord reports whether s is options without a dash, as ps takes them.
func bsdWord(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzAZ") == ""
}

// owners tells what the ids that lsof prints were found by: one port or file, or a
// name, a user, a folder or every connection.
func (x *inv) owners() taint {
	broad := false
	for i, a := range x.args[1:] {
		s := a.s
		switch {
		case strings.ContainsAny(s, ":") && strings.ContainsAny(s, "0123456789\x01"):
			return tOwnPid
		case s == "-p", s == "+D", s == "+d":
			broad = s != "-p"
		case strings.HasPrefix(s, "-") && (strings.Contains(s, "c") || strings.Contains(s, "u") || strings.HasSuffix(s, "i")):
			broad = true
		case strings.EqualFold(s, "tcp"), strings.EqualFold(s, "udp"):
			broad = broad || i > 0
		}
	}
	if broad {
		return tKillList
	}
	return tOwnPid
}

// withoutSignal takes away a signal that is written like a cluster of options.
func withoutSignal(args []value) ([]value, bool) {
	for i, a := range args {
		if len(a.s) > 2 && a.s[0] == '-' && signalName(strings.TrimPrefix(a.s[1:], "SIG")) {
			return append(append([]value{}, args[:i]...), args[i+1:]...), true
		}
	}
	return nil, false
}

func signalName(s string) bool {
	switch s {
	case "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "IOT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "POLL", "PWR", "SYS", "INFO", "EMT":
		return true
	}
	return false
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
		if f.hasIn && x.in.s != "" && x.in.known() {
			x.crontabText(x.in)
		}
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

// crontabText judges the commands of a table for cron.
func (x *inv) crontabText(text value) {
	lines := 0
	for l := range strings.Lines(text.s) {
		l = strings.TrimSpace(l)
		if l == "" || l[0] == '#' {
			continue
		}
		if lines++; lines > 256 {
			x.f.m.breach("nodes", x.span)
			return
		}
		fields := 5
		if l[0] == '@' {
			fields = 1
		}
		for range fields {
			i := strings.IndexAny(l, " \t")
			if i < 0 {
				l = ""
				break
			}
			l = strings.TrimLeft(l[i:], " \t")
		}
		if l != "" {
			x.f.run(text.with(l), ViaLater, func(g *frame) { g.in, g.hasIn = value{}, false })
		}
	}
}

// system is systemctl and other programs that rule services, and whatever the
// table says of it alone.
func (x *inv) system() value {
	if x.spec == nil {
		return x.unknownProgram()
	}
	first := len(x.f.m.res.Actions)
	out := x.runSpec()
	if x.name == "loginctl" {
		// All processes of a user or a session end.
		for i := first; i < len(x.f.m.res.Actions); i++ {
			if a := &x.f.m.res.Actions[i]; a.Kind == ProcKill {
				a.Broad = true
			}
		}
	}
	return out
}
