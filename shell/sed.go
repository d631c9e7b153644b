package shell

import (
	"strings"
)

// sed follows the e, w and r commands and carries out plain substitutions.
func (x *inv) sed() value {
	f, p := x.f, x.p
	at := x.cmd + 1
	var scripts []value
	pos := p.pos
	if p.given("-e", "-f") {
		for i := range p.flags {
			if p.flags[i].name == "-e" {
				scripts = append(scripts, p.flags[i].val)
			}
			if p.flags[i].name == "-f" {
				c := f.readFile(p.flags[i].val, x.cmd, true)
				if c.known() {
					scripts = append(scripts, c)
				} else {
					f.m.undecided(CodeInline, "sed script", true, x.cmd, x.span) // it may write files and run commands
				}
			}
		}
	} else if len(pos) > 0 {
		scripts, pos = pos[:1], pos[1:]
	}
	inplace := p.given("-i", "-I")
	backup := ""
	if fl := p.flag("-i"); fl != nil && fl.has {
		backup = fl.val.text()
	}
	if x.name == "sed" && inplace && len(pos) > 0 && len(scripts) > 0 && scripts[0].s == "" && !p.given("-e", "-f") {
		// BSD's sed -i '' SCRIPT FILE
		scripts, pos = pos[:1], pos[1:]
	}
	out := value{s: unknownText, t: tCmd}
	names := false
	for _, s := range scripts {
		t := s.text()
		if strings.HasPrefix(t, "s/=.*/") || strings.HasPrefix(t, "s/=.*$/") || strings.HasPrefix(t, "s|=.*|") || strings.HasPrefix(t, "s/\\(.*\\)=.*/") || strings.HasPrefix(t, "s/=[^") {
			names = true
		}
	}
	base := x.in
	if inplace {
		for _, v := range pos {
			x.editInPlace(v, backup)
		}
	} else {
		base = x.readAll(pos, names)
	}
	out.t |= base.t
	if names {
		f.m.quiet(base)
		out.t |= tNames
	} else {
		out.src = base.src
	}
	text := base.s
	known := base.known() && len(text) < maxEmulated
	for _, s := range scripts {
		if x.in.has(tEnv) {
			f.emit(Action{Kind: EnvFilter, Name: s.text(), Span: x.span, Command: x.cmd + 1})
		}
		for _, cmd := range sedCommands(s.text()) {
			switch cmd.verb {
			case 'e':
				if cmd.arg != "" {
					f.run(s.with(cmd.arg), ViaScript, nil)
				} else if known {
					f.run(base, ViaStdin, nil)
				}
			case 'w', 'W':
				x.writes(s.with(cmd.arg), value{s: unknownText, t: tFile})
			case 'r', 'R':
				r := f.readFile(s.with(cmd.arg), x.cmd, false)
				out.src = append(out.src, r.src...)
			case 's':
				if cmd.file != "" {
					x.writes(s.with(cmd.file), value{s: unknownText, t: tFile})
				}
				if known {
					n, ok := sedSubst(text, cmd)
					if ok {
						if n != text {
							out.t |= tGlued
						}
						text = n
					} else {
						known = false
					}
				}
				if cmd.exec {
					if known {
						f.run(s.with(text), ViaScript, nil)
					} else if r := strings.ReplaceAll(cmd.repl, "&", ""); strings.TrimSpace(r) != "" && !strings.Contains(r, `\1`) {
						f.run(s.with(strings.ReplaceAll(r, `\/`, "/")), ViaScript, nil)
					} else {
						f.m.undecided(CommandDynamic, "sed", true, x.cmd, x.span)
					}
				}
			case 'y':
				out.t |= tDecoded
				if known {
					text = translate(text, cmd.pat, cmd.repl, false)
				}
			default:
				known = known && (cmd.verb == 'p' || cmd.verb == 0)
			}
		}
	}
	if known {
		out.s = text
		if out.t&tGlued != 0 {
			out.t |= tDecoded
			out.t &^= tGlued
		}
	}
	_ = at
	return out
}

// editInPlace writes a file over, and its backup when there is to be one.
func (x *inv) editInPlace(v value, backup string) {
	x.writes(v, value{s: unknownText, t: tFile})
	acts := x.f.m.res.Actions
	if n := len(acts); n > 0 && acts[n-1].Kind == FileWrite {
		acts[n-1].Detail = "inplace"
	}
	if backup == "" {
		return
	}
	name := v.s + backup
	if strings.Contains(backup, "*") {
		name = strings.ReplaceAll(backup, "*", baseName(v.s))
	}
	x.writes(v.with(name), value{s: unknownText, t: tFile})
}

// readAll reads the files that are named, or what comes in when there are none.
func (x *inv) readAll(files []value, quiet bool) value {
	out := x.in
	for i, v := range files {
		r := x.f.readFile(v, x.cmd, quiet)
		if i > 0 {
			r = concat(out, r)
		}
		out = r
	}
	return out
}

type sedCmd struct {
	verb      byte
	arg       string
	pat, repl string
	all, exec bool
	file      string
}

// sedCommands takes a script apart as far as its dangerous commands need.
func sedCommands(s string) []sedCmd {
	var out []sedCmd
	i := 0
	delim := func(q byte) string {
		if i >= len(s) {
			return ""
		}
		start := i
		for i < len(s) && s[i] != q {
			if s[i] == '\\' {
				i++
			}
			i++
		}
		t := s[start:min(i, len(s))]
		i++
		return t
	}
	for i < len(s) && len(out) < 256 {
		c := s[i]
		switch {
		case c == ' ' || c == '\n' || c == ';' || c == '\t' || c == '{' || c == '}' || c == ',' || c == '!' || c == '$' || c >= '0' && c <= '9' || c == '~' || c == '+':
			i++
			continue
		case c == '/':
			i++
			delim('/')
			for i < len(s) && (s[i] == 'I' || s[i] == 'M') {
				i++
			}
			continue
		case c == '\\' && i+1 < len(s):
			q := s[i+1]
			i += 2
			delim(q)
			continue
		case c == '#':
			for i < len(s) && s[i] != '\n' {
				i++
			}
			continue
		}
		i++
		cmd := sedCmd{verb: c}
		switch c {
		case 's', 'y':
			if i >= len(s) {
				return out
			}
			q := s[i]
			i++
			cmd.pat = delim(q)
			cmd.repl = delim(q)
		flags:
			for i < len(s) && c == 's' {
				switch s[i] {
				case 'g':
					cmd.all = true
				case 'e':
					cmd.exec = true
				case 'w':
					i++
					end := strings.IndexByte(s[i:], '\n')
					if end < 0 {
						end = len(s) - i
					}
					cmd.file = strings.TrimSpace(s[i : i+end])
					i += end
					continue
				case 'p', 'i', 'I', 'm', 'M', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
				default:
					break flags
				}
				i++
			}
		case 'e', 'w', 'W', 'r', 'R', 'a', 'i', 'c', 'b', 't', 'T', ':':
			end := strings.IndexByte(s[i:], '\n')
			if end < 0 {
				end = len(s) - i
			}
			cmd.arg = strings.TrimSpace(s[i : i+end])
			if c == 'b' || c == 't' || c == 'T' || c == ':' || c == 'w' || c == 'r' {
				if k := strings.IndexByte(cmd.arg, ';'); k >= 0 && (c == 'b' || c == 't' || c == 'T') {
					end = k
				}
			}
			i += end
		}
		out = append(out, cmd)
	}
	return out
}

// sedSubst carries out a substitution whose pattern is plain text.
func sedSubst(text string, c sedCmd) (string, bool) {
	pat := strings.NewReplacer(`\/`, `/`, `\.`, `.`).Replace(c.pat)
	if strings.ContainsAny(strings.ReplaceAll(c.pat, `\.`, ""), `*[]^$\(+?|`) || strings.Contains(strings.ReplaceAll(c.pat, `\.`, ""), ".") || strings.ContainsAny(c.repl, `&\`) && !strings.Contains(c.repl, `\/`) {
		return text, false
	}
	repl := strings.ReplaceAll(c.repl, `\/`, `/`)
	if pat == "" {
		return text, false
	}
	lines := strings.Split(text, "\n")
	for i := range lines {
		n := 1
		if c.all {
			n = -1
		}
		lines[i] = strings.Replace(lines[i], pat, repl, n)
	}
	return strings.Join(lines, "\n"), true
}
