package shell

import (
	"slices"
	"strconv"
	"strings"
)

// awk follows system(), pipes and output files of the program text.
func (x *inv) awk() value {
	f, p := x.f, x.p
	pos := p.pos
	var prog value
	if fl := p.flag("-f"); fl != nil {
		prog = f.readFile(fl.val, x.cmd, true)
		if !prog.known() {
			f.m.undecided(ScriptUnknown, "awk", true, x.cmd, x.span)
		}
	} else if fl := p.flag("-e"); fl != nil {
		prog = fl.val
	} else if len(pos) > 0 {
		prog, pos = pos[0], pos[1:]
	}
	src := prog.text()
	names := firstFieldOnly(src) && (p.flag("-F") != nil && strings.ContainsAny(p.flag("-F").val.s, "=:"))
	out := value{s: unknownText, t: tCmd}
	base := x.readAll(slices.DeleteFunc(slices.Clone(pos), func(v value) bool { return isAssign(v.s) }), names)
	out.t |= base.t
	if names {
		f.m.quiet(base)
	} else {
		out.src = base.src
	}
	if loop := strings.ReplaceAll(src, " ", ""); strings.Contains(src, "print") && !strings.Contains(src, "exit") && !strings.Contains(src, "break") &&
		(strings.Contains(loop, "while(1)") || strings.Contains(loop, "for(;;)")) {
		out.t |= tEndless
	}
	if x.in.has(tKillList) && strings.Contains(src, "kill") && strings.Contains(src, "system") {
		f.emit(Action{Kind: ProcKill, Broad: true, Span: x.span, Command: x.cmd + 1})
	}
	if strings.Contains(src, "ENVIRON") {
		name := ""
		if _, after, ok := strings.Cut(src, `ENVIRON["`); ok {
			name, _, _ = strings.Cut(after, `"`)
		}
		i := f.emit(Action{Kind: EnvPrint, Name: name, Quiet: name == "", Span: x.span, Command: x.cmd + 1})
		out.src = append(out.src, i)
	}
	if strings.Contains(src, "/inet/tcp/") || strings.Contains(src, "/inet/udp/") {
		f.emit(Action{Kind: NetConnect, Span: x.span, Command: x.cmd + 1})
		if strings.Contains(src, "|&") && (strings.Contains(src, "getline") || strings.Contains(src, "system")) {
			f.emit(Action{Kind: NetShell, Span: x.span, Command: x.cmd + 1})
		}
		return out
	}
	toks := tokenize("awk", src)
	if x.in.has(tEnv) && !names {
		f.emit(Action{Kind: EnvFilter, Name: src, Span: x.span, Command: x.cmd + 1})
	}
	vars := map[string]string{}
	for i := 0; i+2 < len(toks); i++ {
		if toks[i].kind == tokIdent && toks[i+1].s == "=" && toks[i+2].kind == tokStr {
			vars[toks[i].s] = toks[i+2].s
		}
	}
	str := func(i int) (value, bool, int) {
		v := value{span: x.span}
		ok := false
		for i < len(toks) && f.m.grows(len(v.s)+len(x.in.s), x.span) {
			t := toks[i]
			if t.kind == tokStr {
				v.s += literalKeep(t.s)
				ok = true
			} else if t.kind == tokIdent || t.kind == tokNum || t.kind == tokOp && t.s == "$" {
				if t.kind == tokOp && i+1 < len(toks) {
					i++
				}
				if known, has := vars[t.s]; has && t.kind == tokIdent {
					v.s += literalKeep(known)
				} else if f.hasIn && x.in.known() && t.s == "$" && toks[i].s == "0" {
					v.s += strings.TrimSpace(x.in.s)
				} else if n, err := strconv.Atoi(toks[i].s); err == nil && f.hasIn && x.in.known() && t.s == "$" && n > 0 && n <= len(strings.Fields(x.in.s)) && p.flag("-F") == nil && !strings.Contains(strings.TrimSpace(x.in.s), "\n") {
					v.s += literalKeep(strings.Fields(x.in.s)[n-1])
				} else {
					v.s += unknownText
				}
				ok = true
			} else {
				break
			}
			i++
		}
		return v, ok, i
	}
	for i := range toks {
		t := toks[i]
		switch {
		case t.kind == tokIdent && t.s == "system" && i+1 < len(toks) && toks[i+1].s == "(":
			if v, ok, _ := str(i + 2); ok {
				f.run(v, ViaScript, func(g *frame) { g.in, g.hasIn = value{}, false })
			} else {
				f.m.undecided(CommandDynamic, "awk", true, x.cmd, x.span)
			}
		case t.kind == tokStr && i+1 < len(toks) && toks[i+1].s == "|":
			f.run(value{s: t.s, span: x.span}, ViaScript, nil)
		case t.kind == tokOp && t.s == "|" && i+1 < len(toks) && toks[i+1].kind == tokStr:
			c := value{s: toks[i+1].s, span: x.span}
			in := base
			if in.opaque() || in.s == "" {
				in = unknownVal(tCmd)
			}
			// What is printed into the pipe, if it is plain text.
			for j := i - 1; j >= 0 && i-j < 6; j-- {
				if toks[j].kind == tokStr {
					in = lit(toks[j].s + "\n")
					break
				}
			}
			f.run(c, ViaScript, func(g *frame) { g.in, g.hasIn = in, true })
		case t.kind == tokOp && (t.s == ">" || t.s == ">>") && i+1 < len(toks) && toks[i+1].kind == tokStr && printsBefore(toks, i):
			x.writes(value{s: literal(toks[i+1].s), span: x.span}, value{s: unknownText, t: tFile})
		}
	}
	if s, ok := awkPrint(src, base); ok {
		out.s = s
		if base.s != s && base.known() {
			out.t |= tDecoded
		}
	}
	return out
}

// awkPrint carries out BEGIN{print "…"} and {print $N} on known text.
func awkPrint(src string, base value) (string, bool) {
	s := strings.TrimSpace(src)
	if rest, ok := strings.CutPrefix(s, "BEGIN"); ok {
		rest = strings.Trim(strings.TrimSpace(rest), "{} ")
		for _, verb := range []string{"printf ", "print "} {
			if t, ok := strings.CutPrefix(rest, verb); ok {
				t = strings.TrimSuffix(strings.TrimSpace(t), ";")
				if len(t) > 1 && t[0] == '"' && t[len(t)-1] == '"' && strings.Count(t, `"`) == 2 {
					d, _ := ansiC(t[1 : len(t)-1])
					return d + "\n", true
				}
				if toks := tokenize("awk", t); verb == "printf " && len(toks) > 2 && toks[0].kind == tokStr && strings.Contains(toks[0].s, "%c") {
					vals := []value{lit(toks[0].s)}
					for _, k := range toks[1:] {
						if n, err := strconv.Atoi(k.s); err == nil && k.kind == tokNum {
							vals = append(vals, lit(string(rune(n))))
						}
					}
					return formatted(vals).s + "\n", true
				}
			}
		}
		return "", false
	}
	if s == "{print}" || s == "{print $0}" || s == "1" {
		return base.s, base.known()
	}
	if n, ok := strings.CutPrefix(strings.ReplaceAll(s, " ", ""), "{print$"); ok && base.known() {
		n = strings.TrimSuffix(n, "}")
		if k, err := strconv.Atoi(n); err == nil && k > 0 {
			var b strings.Builder
			for l := range strings.SplitSeq(strings.TrimSuffix(base.s, "\n"), "\n") {
				if w := strings.Fields(l); k <= len(w) {
					b.WriteString(w[k-1])
				}
				b.WriteByte('\n')
			}
			return b.String(), true
		}
	}
	return "", false
}

func printsBefore(toks []token, i int) bool {
	for j := i - 1; j >= 0; j-- {
		switch toks[j].s {
		case "print", "printf":
			return true
		case ";", "{", "}":
			return false
		}
		if toks[j].nl && j < i-1 {
			break
		}
	}
	return false
}

func firstFieldOnly(src string) bool {
	s := strings.Join(strings.Fields(src), "")
	return s == "{print$1}" || s == "{print($1)}"
}
