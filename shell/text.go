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
		if n := len(p.pos); n > 0 && (p.pos[n-1].s == "inf" || p.pos[n-1].s == "infinity") {
			out.t |= tEndless
		}
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
