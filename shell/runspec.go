package shell

import (
	"strings"
)

// runSpec runs a program by what the table says alone.
func (x *inv) runSpec() value {
	f, m, p := x.f, x.f.m, x.p
	if x.helps() {
		return unknownVal(0)
	}
	for _, s := range p.specs {
		for _, d := range s.dry {
			for i := range p.flags {
				fl := &p.flags[i]
				name, pat, has := strings.Cut(d, ":")
				if fl.name == name && fl.val.s != "false" && fl.val.s != "none" && (!has || matchAny(strings.Split(pat, "|"), fl.val.s)) {
					x.dry = true
				}
			}
		}
	}
	if x.name == "aws" && x.localEndpoint() {
		x.dry = true // an emulator on this machine: nothing leaves it, nothing is lost
	}
	if p.unknown && len(p.pos) > 0 {
		m.undecided(OptionUnknown, p.pos[0].s, true, x.cmd, x.span)
	}
	leaf := p.leaf()
	dynamic := false
	for _, s := range p.specs {
		dynamic = dynamic || s.dynamic
	}
	if dynamic {
		for _, a := range x.args[1:] {
			if a.opaque() && a.t&tQuoted == 0 && optionVar(a) {
				m.undecided(OptionUnknown, a.s, true, x.cmd, a.span)
			}
		}
	}
	quiet := false
	for _, s := range p.specs {
		for _, q := range s.quiet {
			if x.holds(q.cond) {
				quiet = true
			}
		}
	}
	first := len(m.res.Actions)
	for i := range p.flags {
		fl := &p.flags[i]
		if fl.role != "" && fl.has && fl.name != "" {
			x.role(fl.role, fl.val)
		}
	}
	x.operands()
	for _, s := range p.specs {
		for i := range s.acts {
			a := &s.acts[i]
			if s != leaf && !onFlag(a.cond) {
				// What a program does by itself is not what its subcommands do.
				continue
			}
			if !x.holds(a.cond) {
				continue
			}
			act := Action{Kind: a.kind, Detail: a.detail, Dry: x.dry, Span: x.span, Command: x.cmd + 1}
			if a.at > 0 && a.at <= len(p.pos) {
				act.Name = plain(p.pos[a.at-1].s)
			}
			f.emit(act)
		}
		for i := range s.opaque {
			if !x.dry && (s == leaf || onFlag(s.opaque[i].cond)) && x.holds(s.opaque[i].cond) {
				m.undecided(TargetOpaque, x.name+" "+s.opaque[i].detail, true, x.cmd, x.span)
			}
		}
		for i := range s.routine {
			if x.holds(s.routine[i].cond) {
				m.undecided(TargetOpaque, x.name+" "+s.routine[i].detail, s.routine[i].detail == "migrations" && !x.dry && x.namesProduction(), x.cmd, x.span)
			}
		}
	}
	if leaf.wrap != "" && (leaf.out == "" || len(p.pos) > 0) {
		return x.wrapped(leaf)
	}
	if x.name == "script" && !p.given("-c") && len(p.pos) > 1 {
		// BSD's form: the log, then the command with its own options.
		for i, arg := range x.args {
			if i > 0 && arg.s == p.pos[0].s && i+1 < len(x.args) {
				y := &inv{f: f.under(x.name), args: x.args[i+1:], span: x.span, noFunc: true}
				return y.dispatch()
			}
		}
	}
	if x.name == "runuser" && p.given("-u") && len(p.pos) > 0 {
		y := &inv{f: f.under(x.name), args: p.pos, span: x.span, noFunc: true}
		return y.dispatch()
	}
	if x.name == "which" && len(p.pos) > 0 && strings.HasPrefix(p.pos[0].s, "holdpoint") && p.pos[0].known() {
		return lit("/usr/local/bin/" + p.pos[0].s + "\n") // wherever it is, it is the gate
	}
	x.compiles()
	out := value{s: unknownText, t: tCmd}
	switch {
	case x.name == "date" || x.name == "uuidgen" || x.name == "seq":
		out.t = 0 // says nothing of this machine
	case x.printsShellCode():
		out.t |= tInit
	case (x.name == "aws" || x.name == "gsutil") && len(p.pos) > 1 && p.pos[len(p.pos)-1].s == "-":
		out.t |= tNet // copied to the standard output
	}
	kind := ""
	for _, s := range p.specs {
		if s.out != "" {
			kind = s.out
		}
	}
	for i := first; i < len(m.res.Actions); i++ {
		a := &m.res.Actions[i]
		switch a.Kind {
		case FileRead, SecretReveal, EnvPrint:
			if quiet {
				a.Quiet = true
			}
			out.src = append(out.src, i)
			if a.Kind == FileRead {
				out.t |= tFile
				if m.fromNet(a.Path.Abs) {
					out.t |= tNet
				}
				if c, ok := m.files[a.Path.Abs]; ok {
					out.t |= c.t & (tNet | tPeer | tDecoded)
				}
			}
		}
	}
	if leaf.pass || p.specs[0].pass {
		if x.usesStdin() {
			out.t |= x.in.t
			out.src = append(out.src, x.in.src...)
			out.vars = x.in.vars
		}
	}
	if quiet {
		x.quieted = true
		m.quiet(x.in)
		out.src = nil
	}
	if x.name == "ls" && len(p.pos) == 0 {
		out.s = string([]byte{markStar})
	}
	if x.name == "ls" && len(p.pos) > 0 {
		// Names of what the operands match, when they are patterns or -d is given.
		names := joinMarked(p.pos, '\n')
		if hasGlob(names) || p.given("-d") {
			out.s = names
		}
	}
	switch kind {
	case "net":
		out.t |= tNet
	case "names":
		for i := first; i < len(m.res.Actions); i++ {
			if m.res.Actions[i].Kind == FileRead {
				m.res.Actions[i].Quiet = true
			}
		}
		x.quieted = true
		m.quiet(x.in)
		out.t |= tNames
		out.src = nil
	case "decoded":
		out.t |= tDecoded
	case "init":
		out.t |= tInit
	case "none":
		out = value{}
	}
	return out
}

// usesStdin reports whether the program reads its input: no file was given.
func (x *inv) usesStdin() bool {
	if !x.f.hasIn {
		return false
	}
	reads := 0
	for i := len(x.f.m.res.Actions) - 1; i >= 0; i-- {
		a := &x.f.m.res.Actions[i]
		if a.Command != x.cmd {
			break
		}
		if a.Kind == FileRead {
			reads++
		}
	}
	return reads == 0
}

// optionVar reports whether an unknown word stands where an option may: it is
// not quoted and named for options, or it may be several words.
func optionVar(a value) bool {
	if a.has(tMany) {
		for _, n := range a.vars {
			u := strings.ToUpper(n)
			for _, part := range []string{"OPT", "ARG", "FLAG", "PARAM", "FORCE", "EXTRA"} {
				if strings.Contains(u, part) {
					return true
				}
			}
			if n == "@" || n == "*" {
				return true
			}
		}
	}
	return false
}

// operands gives each operand its role.
func (x *inv) operands() {
	leaf := x.p.leaf()
	rules := leaf.args
	if rules == nil && len(x.p.specs) == 1 {
		return
	}
	for i := range rules {
		if !x.holds(rules[i].cond) {
			continue
		}
		x.applyRoles(rules[i].roles, x.p.pos)
		return
	}
}

func (x *inv) applyRoles(roles []string, pos []value) { eachRole(roles, pos, x.role) }

// eachRole calls do for each operand that has a role.
func eachRole(roles []string, pos []value, do func(string, value)) {
	star := -1
	for i, r := range roles {
		if strings.HasSuffix(r, "*") {
			star = i
		}
	}
	for i, v := range pos {
		role := ""
		switch {
		case star < 0:
			if i < len(roles) {
				role = roles[i]
			}
		case i < star:
			role = roles[i]
		case len(pos)-i <= len(roles)-1-star:
			role = roles[len(roles)-(len(pos)-i)]
		default:
			role = strings.TrimSuffix(roles[star], "*")
		}
		if role != "" && role != "none" {
			do(role, v)
		}
	}
}

// localEndpoint reports whether a cloud's program is pointed at this machine.
func (x *inv) localEndpoint() bool {
	local := func(url string) bool {
		_, rest, ok := strings.Cut(url, "://")
		return ok && clean(url) && loopback(hostOf(rest))
	}
	if fl := x.p.flag("--endpoint-url"); fl != nil {
		return local(fl.val.text())
	}
	for i := range x.env {
		if x.env[i].Name == "AWS_ENDPOINT_URL" {
			return local(x.env[i].Value.Value)
		}
	}
	return false
}
