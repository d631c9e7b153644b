package shell

import (
	"bytes"
	"compress/gzip"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"io"
	"strconv"
	"strings"
)

// filter is a program that reads text and prints it, changed or not. Where the
// text is known, the common ones are carried out, so that what they feed to a
// shell is known too.
func (x *inv) filter() value {
	f, p := x.f, x.p
	if x.spec == nil {
		return x.unknownProgram()
	}
	x.reads = nil
	out := x.runSpec()
	base := x.in
	if len(x.reads) > 0 {
		base = value{}
		for _, r := range x.reads {
			base = concat(base, r)
		}
		out.t |= base.t
	} else if !f.hasIn {
		base = value{}
	} else if x.name != "yes" && x.name != "seq" && x.name != "wc" {
		out.t |= base.t
		if !x.quieted {
			out.src = append(out.src, base.src...)
		}
		out.vars = base.vars
	}
	out.t &^= tSubst | tMany
	if x.in.has(tEnv) {
		x.envFilter(&out)
	}
	switch {
	case x.name == "openssl" && len(p.sub) > 0 && p.sub[0] == "s_client":
		return x.peer(p.flag("-connect"))
	case base.has(tEndless) && !f.bounded && (x.name == "tail" && !p.given("-f", "-F") || x.name == "sort" || x.name == "tac"):
		f.emit(Action{Kind: Exhaust, Detail: "memory without bound", Span: x.span, Command: x.cmd + 1})
	}
	if len(base.vars) > 0 && !x.quieted && x.p.leaf().pass {
		out.vars = base.vars
		out = x.printed(out)
	}
	for _, a := range x.args[1:] {
		if code, ok := strings.CutPrefix(a.s, "+!"); ok {
			f.run(a.with(code), ViaCode, nil)
		}
	}
	s, ok := x.emulate(base, &out)
	if ok {
		out.s = s
	} else {
		out.s = unknownText
	}
	_ = p
	return out
}

// peer is a client that ties its input and output to a host.
func (x *inv) peer(to *flagUse) value {
	f := x.f
	host := ""
	if to != nil {
		host = hostOf(to.val.s)
	}
	if !loopback(host) || host == "" {
		switch {
		case x.in.has(tShell):
			f.emit(Action{Kind: NetShell, Host: plain(host), Span: x.span, Command: x.cmd + 1})
		case x.in.t&dataTaints != 0 && (!x.in.known() || x.in.has(tFile)):
			f.emit(Action{Kind: NetUpload, Host: plain(host), Span: x.span, Command: x.cmd + 1})
		}
	}
	return value{s: unknownText, t: tPeer | tNet | tCmd}
}

// envFilter judges what a filter does with the environment on its input.
func (x *inv) envFilter(out *value) {
	f, p := x.f, x.p
	switch x.name {
	case "grep", "egrep", "fgrep", "rg", "ag", "ack":
		pat := ""
		if fl := p.flag("-e"); fl != nil {
			pat = fl.val.text()
		} else if len(p.pos) > 0 {
			pat = p.pos[0].text()
		}
		if p.given("-v") || p.given("-q") || p.given("-c") {
			return
		}
		f.emit(Action{Kind: EnvFilter, Name: pat, Span: x.span, Command: x.cmd + 1})
	case "base64", "xxd", "gzip", "openssl", "cat", "tee", "sort", "head", "tail", "tr", "sed", "awk", "rev", "od":
		out.t |= tEnv
	}
}

const maxEmulated = 1 << 16

// emulate carries out the program on known text.
func (x *inv) emulate(base value, out *value) (string, bool) {
	p := x.p
	s := base.s
	known := base.known() && len(s) <= maxEmulated
	switch x.name {
	case "yes":
		out.t |= tEndless
		w := joinValues(p.pos, " ")
		if len(p.pos) == 0 {
			w = lit("y")
		}
		if !w.known() {
			return "", false
		}
		return strings.Repeat(w.s+"\n", 2), true
	case "head":
		out.t &^= tEndless
		n := 10
		if fl := p.flag("-n"); fl != nil {
			n, _ = strconv.Atoi(strings.TrimLeft(fl.val.s, "+-"))
		}
		if fl := p.flag("-c"); fl != nil {
			if huge := sizeOf(fl.val.s); huge >= 10<<30 {
				out.t |= tEndless
			}
			if k, err := strconv.Atoi(fl.val.s); err == nil && known {
				return s[:min(max(k, 0), len(s))], true
			}
			return "", false
		}
		if !known {
			return "", false
		}
		lines := strings.SplitAfter(s, "\n")
		return strings.Join(lines[:min(max(n, 0), len(lines))], ""), true
	case "tail":
		if !known || p.given("-c", "-f", "-F") {
			return "", false
		}
		n := 10
		from := false
		if fl := p.flag("-n"); fl != nil {
			n, _ = strconv.Atoi(strings.TrimLeft(fl.val.s, "+-"))
			from = strings.HasPrefix(fl.val.s, "+")
		}
		lines := strings.SplitAfter(strings.TrimSuffix(s, "\n"), "\n")
		if from {
			return strings.Join(lines[min(max(n-1, 0), len(lines)):], ""), true
		}
		return strings.Join(lines[max(0, len(lines)-n):], ""), true
	case "cat", "tee", "pv", "bat", "batcat", "less", "more", "sponge", "dos2unix", "ts", "iconv", "column", "expand", "unexpand", "fold", "fmt", "pee":
		return s, known
	case "sort", "uniq", "shuf":
		return s, known && strings.Count(s, "\n") <= 1
	case "tac":
		if !known {
			return "", false
		}
		lines := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
		for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
			lines[i], lines[j] = lines[j], lines[i]
		}
		if len(lines) > 1 {
			out.t |= tDecoded
		}
		return strings.Join(lines, "\n") + "\n", true
	case "rot13", "caesar":
		out.t |= tDecoded
		return rot13(s), known
	case "rev":
		out.t |= tDecoded
		if !known {
			return "", false
		}
		lines := strings.Split(s, "\n")
		for i := range lines {
			lines[i] = reverse(lines[i])
		}
		return strings.Join(lines, "\n"), true
	case "tr":
		if len(p.pos) == 0 {
			return "", false
		}
		if !p.given("-d") && !(p.given("-s") && len(p.pos) == 1) || p.given("-d") && p.pos[0].text() != `\r` && p.pos[0].text() != `\n` && p.pos[0].text() != `\r\n` {
			if !caseClass(p.pos) {
				out.t |= tDecoded
			}
		}
		if !known {
			return "", false
		}
		if p.given("-d") {
			set := trSet(p.pos[0].text())
			comp := p.given("-c")
			return strings.Map(func(r rune) rune {
				if strings.ContainsRune(set, r) != comp {
					return -1
				}
				return r
			}, s), true
		}
		if len(p.pos) < 2 {
			return s, true
		}
		return translate(s, p.pos[0].text(), p.pos[1].text(), p.given("-c")), true
	case "base64", "gbase64", "basenc", "b64decode":
		if !p.given("-d") && x.name != "b64decode" {
			if !known {
				return "", false
			}
			return base64.StdEncoding.EncodeToString([]byte(s)) + "\n", true
		}
		out.t |= tDecoded
		if known {
			if d, ok := decode64(s); ok {
				return literal(d), true
			}
		}
		return "", false
	case "base32":
		if p.given("-d") {
			out.t |= tDecoded
			if known {
				if d, err := base32.StdEncoding.DecodeString(strings.TrimSpace(s)); err == nil {
					return literal(string(d)), true
				}
			}
		}
		return "", false
	case "xxd":
		if !p.given("-r") {
			if known && p.given("-p") {
				return hex.EncodeToString([]byte(s)) + "\n", true
			}
			return "", false
		}
		out.t |= tDecoded
		if known && p.given("-p") {
			if d, ok := decodeHex(s); ok {
				return literal(d), true
			}
		}
		return "", false
	case "openssl":
		sub := strings.Join(p.sub, " ")
		if (sub == "enc" || sub == "base64") && p.given("-d") {
			out.t |= tDecoded
			if known && (p.given("-base64", "-a") || sub == "base64") {
				if d, ok := decode64(s); ok {
					return literal(d), true
				}
			}
		}
		return "", false
	case "gunzip", "zcat", "gzip", "xzcat", "xz", "unxz", "bunzip2", "bzcat", "zstd", "zstdcat", "lz4", "uudecode", "gpg", "gpg2", "age", "brotli", "bzip2":
		if x.name == "gzip" && !p.given("-d") || (x.name == "xz" || x.name == "zstd" || x.name == "lz4" || x.name == "bzip2" || x.name == "brotli") && !p.given("-d") {
			return "", false
		}
		if (x.name == "gpg" || x.name == "gpg2" || x.name == "age") && !p.given("-d", "--decrypt") {
			return "", false
		}
		if x.in.t&tNet == 0 || x.name == "uudecode" || strings.HasPrefix(x.name, "gpg") || x.name == "age" {
			out.t |= tDecoded // else packed for the way, which is no disguise
		}
		if known {
			if zr, err := gzip.NewReader(bytes.NewReader([]byte(s))); err == nil {
				if d, err := io.ReadAll(io.LimitReader(zr, maxEmulated)); err == nil {
					return literal(string(d)), true
				}
			}
		}
		return "", false
	case "grep", "egrep", "fgrep", "rg":
		if known && len(p.pos) > 0 && !p.given("-o", "-c", "-q", "-l", "-v", "-r") {
			pat := p.pos[0].text()
			var keep []string
			for _, l := range strings.SplitAfter(s, "\n") {
				if strings.Contains(l, strings.Trim(pat, "^$")) {
					keep = append(keep, l)
				}
			}
			if len(keep) > 0 {
				return strings.Join(keep, ""), true
			}
		}
		return "", false
	case "cut":
		if !known {
			return "", false
		}
		return x.cut(s, out)
	case "envsubst":
		if known {
			return x.f.expandText(s), true
		}
		return "", false
	case "seq":
		return "", false
	case "nl":
		return "", false
	case "strings":
		return s, known
	}
	return "", false
}

func (x *inv) cut(s string, out *value) (string, bool) {
	p := x.p
	fl := p.flag("-f")
	d := "\t"
	if df := p.flag("-d"); df != nil {
		d = df.val.text()
	}
	if fl == nil || d == "" {
		if c := p.flag("-c"); c != nil {
			from, to, ok := strings.Cut(c.val.s, "-")
			a, err := strconv.Atoi(from)
			if err != nil || a < 1 {
				return "", false
			}
			var b strings.Builder
			for l := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
				end := a
				if ok {
					end = len(l)
					if n, err := strconv.Atoi(to); err == nil {
						end = n
					}
				}
				if a-1 < len(l) {
					b.WriteString(l[a-1 : min(max(end, a-1), len(l))])
				}
				b.WriteByte('\n')
			}
			out.t |= tDecoded
			return b.String(), true
		}
		return "", false
	}
	n, err := strconv.Atoi(strings.TrimSuffix(fl.val.s, "-"))
	if err != nil || n < 1 {
		return "", false
	}
	var b strings.Builder
	for l := range strings.SplitSeq(strings.TrimSuffix(s, "\n"), "\n") {
		parts := strings.Split(l, d)
		switch {
		case strings.HasSuffix(fl.val.s, "-") && n-1 < len(parts):
			b.WriteString(strings.Join(parts[n-1:], d))
		case n-1 < len(parts):
			b.WriteString(parts[n-1])
		}
		b.WriteByte('\n')
	}
	return b.String(), true
}

// caseClass reports whether tr only changes case or ends of lines, or blanks.
func caseClass(pos []value) bool {
	for _, v := range pos {
		switch v.text() {
		case "[:upper:]", "[:lower:]", "A-Z", "a-z", `\n`, " ", `\t`, ":", ",", "[:space:]", `\0`, "_", "-", "[:blank:]", ".", "/":
		default:
			return false
		}
	}
	return true
}

// trSet spells out a set of tr.
func trSet(s string) string {
	s, _ = ansiC(s)
	for class, chars := range map[string]string{"[:upper:]": "A-Z", "[:lower:]": "a-z", "[:digit:]": "0-9", "[:space:]": " \t\n\r", "[:alpha:]": "A-Za-z", "[:alnum:]": "A-Za-z0-9", "[:blank:]": " \t"} {
		s = strings.ReplaceAll(s, class, chars)
	}
	r := []rune(s)
	var b strings.Builder
	for i := 0; i < len(r); i++ {
		if i+2 < len(r) && r[i+1] == '-' && r[i] <= r[i+2] && r[i+2]-r[i] < 256 {
			for c := r[i]; c <= r[i+2]; c++ {
				b.WriteRune(c)
			}
			i += 2
			continue
		}
		b.WriteRune(r[i])
	}
	return b.String()
}

func translate(s, from, to string, comp bool) string {
	a, b := []rune(trSet(from)), []rune(trSet(to))
	if len(b) == 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		for i, c := range a {
			if c == r && !comp {
				return b[min(i, len(b)-1)]
			}
		}
		return r
	}, s)
}

// sizeOf reads 10G and the like.
func sizeOf(s string) int64 {
	s = strings.TrimLeft(s, "+-=")
	i := 0
	for i < len(s) && (s[i] >= '0' && s[i] <= '9' || s[i] == '.') {
		i++
	}
	n, err := strconv.ParseFloat(s[:i], 64)
	if err != nil {
		return 0
	}
	switch strings.ToUpper(strings.TrimSuffix(strings.TrimSuffix(s[i:], "B"), "i")) {
	case "K":
		n *= 1 << 10
	case "M":
		n *= 1 << 20
	case "G":
		n *= 1 << 30
	case "T":
		n *= 1 << 40
	case "P":
		n *= 1 << 50
	}
	if n > 1<<62 {
		return 1 << 62
	}
	return int64(n)
}

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
					f.m.undecided(CodeInline, "sed script", false, x.cmd, x.span)
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
	base := x.in
	names := false
	for _, s := range scripts {
		t := s.text()
		if strings.HasPrefix(t, "s/=.*/") || strings.HasPrefix(t, "s/=.*$/") || strings.HasPrefix(t, "s|=.*|") || strings.HasPrefix(t, "s/\\(.*\\)=.*/") || strings.HasPrefix(t, "s/=[^") {
			names = true
		}
	}
	for i, v := range pos {
		if inplace {
			x.writes(v, value{s: unknownText, t: tFile})
			if backup != "" {
				name := v.s + backup
				if strings.Contains(backup, "*") {
					name = strings.ReplaceAll(backup, "*", baseName(v.s))
				}
				x.writes(v.with(name), value{s: unknownText, t: tFile})
			}
			continue
		}
		r := f.readFile(v, x.cmd, names)
		if i == 0 {
			base = r
		} else {
			base = concat(base, r)
		}
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
	base := x.in
	for i, v := range pos {
		if isAssign(v.s) {
			continue
		}
		r := f.readFile(v, x.cmd, names)
		if i == 0 {
			base = r
		} else {
			base = concat(base, r)
		}
	}
	out.t |= base.t
	if names {
		f.m.quiet(base)
	} else {
		out.src = base.src
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
		for i < len(toks) {
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
