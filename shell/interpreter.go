package shell

import (
	"slices"
	"strings"
)

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
	x.bindsAll()
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

// knownJar reports whether a program that comes as a jar has this name: of any
// other jar the name says nothing.
func knownJar(name string) bool {
	switch name {
	case "bfg", "flyway", "liquibase", "jenkins-cli", "openapi-generator-cli", "google-java-format", "ktlint", "checkstyle", "sqlline", "trino":
		return inTable(name) || handler(name) != nil
	}
	return false
}

// editorScript reports whether an option of an editor names a file of commands.
func editorScript(editor, opt string) bool {
	switch opt {
	case "-S", "-s":
		return editor == "vim" || editor == "nvim" || editor == "ex" && opt == "-S" || editor == "vi"
	case "-l", "--script", "-script", "--load", "-load", "-x":
		return editor == "emacs" || editor == "nvim" && opt == "-l"
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
		if len(args) > 0 && strings.IndexByte(args[0].s, '-') != 0 {
			x.execFile(args[0])
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
			case editorScript(x.name, s) && i+1 < len(args):
				i++
				x.execFile(args[i])
				continue
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
		if !inline && x.fromFile() && x.name != "vim" && x.name != "nvim" && x.name != "emacs" {
			m.undecided(ScriptUnknown, x.name, true, x.cmd, x.span)
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
				if knownJar(name) {
					y := &inv{f: f.under("java"), args: append([]value{lit(name)}, args[i+2:]...), span: x.span, noFunc: true}
					return y.dispatch()
				}
				x.execFile(args[i+1])
				return unknownVal(tCmd)
			}
		}
		return unknownVal(tCmd)
	case "jq", "yq":
		x.jqEnv()
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
