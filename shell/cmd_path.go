package shell

import (
	"path"
	"slices"
	"strings"
)

// Paths of Windows. Inside the machine such a path is written like any other,
// with one slash in front of the drive: /C:/Users/dev. UNC names begin with
// /UNC/. So everything that judges paths by their slashes works on them too. In
// results the slash in front is gone: C:/Users/dev and //server/share.

// windowsName reports whether s begins with a drive letter or is a UNC name.
func windowsName(s string) bool {
	return len(s) >= 2 && s[1] == ':' && isLetter(s[0]) && (len(s) == 2 || s[2] == '\\' || s[2] == '/') || strings.HasPrefix(s, `\\`)
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// windowsOptions reports whether the command runs on Windows: its folders say so,
// or its dialect when they say nothing.
func windowsOptions(o *Options) bool {
	if windowsName(o.CWD) || windowsName(o.Home) {
		return true
	}
	if slices.ContainsFunc(o.Roots, windowsName) {
		return true
	}
	if strings.HasPrefix(o.CWD, "/") || strings.HasPrefix(o.Home, "/") || len(o.Roots) > 0 {
		return false
	}
	return o.Dialect == PowerShell || o.Dialect == Cmd
}

// setWindows makes the machine judge paths as Windows does.
func (m *machine) setWindows() {
	m.win = true
	m.opts.CaseInsensitive = true
	m.roots = nil
	for _, r := range m.opts.Roots {
		m.roots = append(m.roots, strings.ToLower(winAbs(unknownText, literal(r), false)))
	}
	temps := m.opts.TempDirs
	if temps == nil {
		temps = []string{`C:\Windows\Temp`}
		if m.opts.Home != "" {
			temps = append(temps, m.opts.Home+`\AppData\Local\Temp`)
		}
	}
	m.opts.TempDirs = []string{"/tmp"}
	for _, t := range temps {
		m.opts.TempDirs = append(m.opts.TempDirs, strings.ToLower(winAbs(unknownText, literal(t), false)))
	}
}

// drivePath gives the path under which a machine that is not Windows reaches a name
// with a drive: WSL has drives below /mnt, Git Bash in the root.
func drivePath(cwd, name string) string {
	s := strings.ReplaceAll(name, `\`, "/")
	if strings.HasPrefix(s, "/") {
		return s // a UNC name lies outside, whatever it is
	}
	base := "/" + strings.ToLower(s[:1])
	if !strings.HasPrefix(cwd, base+"/") {
		base = "/mnt" + base
	}
	return base + "/" + strings.TrimPrefix(s[2:], "/")
}

// winAbs gives the inner form of name below cwd, which has that form already.
// posix is set for shells that write drives as /c.
func winAbs(cwd, name string, posix bool) string {
	s := strings.ReplaceAll(name, `\`, "/")
	if i := strings.Index(s, "FileSystem::"); i >= 0 {
		s = s[i+len("FileSystem::"):]
	}
	if len(s) > 5 && (strings.HasPrefix(s, "//?/") || strings.HasPrefix(s, "//./")) {
		rest := s[4:]
		switch {
		case windowsName(rest):
			s = rest
		case len(rest) > 4 && strings.EqualFold(rest[:4], "UNC/"):
			s = "//" + rest[4:]
		default:
			return "/dev/" + strings.ToLower(rest)
		}
	}
	switch {
	case s == "":
		return cwd
	case strings.HasPrefix(s, "//"):
		host, share, _ := strings.Cut(s[2:], "/")
		// The administrative share of this machine is its drive.
		if (loopback(host) || host == ".") && len(share) >= 2 && share[1] == '$' && isLetter(share[0]) {
			return winClean("/" + strings.ToUpper(share[:1]) + ":" + share[2:])
		}
		return winClean("/UNC/" + s[2:])
	case len(s) >= 2 && s[1] == ':' && isLetter(s[0]):
		drive, rest := strings.ToUpper(s[:1])+":", s[2:]
		if rest == "" || rest[0] == '/' {
			return winClean("/" + drive + rest)
		}
		if strings.HasPrefix(cwd, "/"+drive+"/") {
			return winClean(cwd + "/" + rest)
		}
		return winClean("/" + drive + "/" + rest)
	case len(s) >= 3 && s[0] == '/' && s[2] == ':' && isLetter(s[1]):
		return winClean("/" + strings.ToUpper(s[1:2]) + s[2:])
	case s[0] == '/' && posix && name[0] != '\\':
		if len(s) >= 2 && isLetter(s[1]) && (len(s) == 2 || s[2] == '/') {
			return winClean("/" + strings.ToUpper(s[1:2]) + ":" + s[2:])
		}
		for _, p := range [...]string{"/mnt/", "/cygdrive/"} {
			if rest, ok := strings.CutPrefix(s, p); ok && rest != "" && isLetter(rest[0]) && (len(rest) == 1 || rest[1] == '/') {
				return winClean("/" + strings.ToUpper(rest[:1]) + ":" + rest[1:])
			}
		}
		return path.Clean(s)
	case s[0] == '/':
		if strings.HasPrefix(s, "/dev/") {
			return path.Clean(s)
		}
		drive := "/C:"
		if len(cwd) >= 3 && cwd[0] == '/' && cwd[2] == ':' {
			drive = cwd[:3]
		}
		return winClean(drive + s)
	case s[0] == markUnknown:
		return path.Clean(s)
	case cwd == "" || cwd == unknownText:
		return unknownText + "/" + path.Clean(s)
	}
	return winClean(cwd + "/" + s)
}

// winClean cleans an inner path and undoes what Windows ignores: dots and spaces
// at the end of a name, and the stream after a colon. Names that begin with a dot,
// and what lies below them, are lower case, so that rules find them in any case.
func winClean(s string) string {
	s = path.Clean(s)
	if strings.IndexByte(s, '.') < 0 && strings.IndexByte(s, ' ') < 0 && strings.Count(s, ":") < 2 {
		return s
	}
	parts := strings.Split(s, "/")
	dot := false
	for i, p := range parts {
		if i < 2 {
			continue
		}
		if j := strings.IndexByte(p, ':'); j > 0 {
			p = p[:j]
		}
		if t := strings.TrimRight(p, ". "); t != "" {
			p = t
		}
		dot = dot || strings.HasPrefix(p, ".")
		if dot {
			p = strings.ToLower(p)
		}
		parts[i] = p
	}
	return strings.Join(parts, "/")
}

// winNull are the names of devices that hold nothing, in every folder.
func winNull(base string) bool {
	base, _, _ = strings.Cut(strings.ToLower(base), ".")
	switch strings.TrimSuffix(base, ":") {
	case "nul", "con", "conin$", "conout$":
		return true
	}
	return false
}

// resolveWin is resolve for Windows.
func (f *frame) resolveWin(v value, whole bool) Path {
	m := f.m
	name := v.s
	if strings.HasPrefix(name, "~") && (len(name) == 1 || name[1] == '/' || name[1] == '\\') && m.opts.Home != "" && !v.has(tQuoted) {
		name = literal(m.opts.Home) + name[1:]
	}
	p := Path{Raw: plain(v.s), Slash: len(name) > 1 && strings.HasSuffix(strings.ReplaceAll(name, `\`, "/"), "/")}
	if v.has(tScratch) {
		p.Abs, p.Place = plain(name), PlaceTemp
		return p
	}
	abs := winAbs(f.cwd, name, f.posix())
	base := path.Base(abs)
	if winNull(base) {
		p.Abs, p.Place = "/dev/null", PlaceNull
		return p
	}
	abs, sure := m.follow(abs, whole || p.Slash)
	p = m.place(p, abs)
	if p.Place == PlaceOutside || p.Place == PlaceUnknown {
		// The scratch folder of whoever runs it.
		if _, rest, ok := strings.Cut(strings.ToLower(abs), "/appdata/local/temp"); ok {
			switch {
			case rest == "" || rest == "/" || wholeGlob(strings.TrimPrefix(rest, "/")):
				p.Place = PlaceTempRoot
			case rest[0] == '/':
				p.Place = PlaceTemp
			}
			p.Unresolved = false
		}
	}
	p.doubt(sure)
	p.Abs = winShow(p.Abs)
	return p
}

// winShow gives the outer form of an inner path.
func winShow(abs string) string {
	if rest, ok := strings.CutPrefix(abs, "/UNC/"); ok {
		return "//" + rest
	}
	if len(abs) >= 3 && abs[0] == '/' && abs[2] == ':' {
		if len(abs) == 3 {
			return abs[1:] + "/"
		}
		return abs[1:]
	}
	return abs
}

// posix reports whether the frame runs a shell of the sh family.
func (f *frame) posix() bool {
	d := f.dialect
	if d == Unknown {
		d = f.m.opts.Dialect
	}
	return d != PowerShell && d != Cmd
}

// winEnv gives a variable of the environment that every Windows sets, or that the
// caller knows.
func (m *machine) winEnv(name string) (string, bool) {
	up := strings.ToUpper(name)
	if m.opts.Env != nil {
		for _, n := range [...]string{name, up} {
			if s, ok := m.opts.Env(n); ok {
				return literal(s), true
			}
		}
	}
	home := literal(m.opts.Home)
	sep := `\`
	if !m.win {
		sep = "/"
	}
	if home != "" {
		switch up {
		case "USERPROFILE", "HOME":
			return home, true
		case "APPDATA":
			return home + sep + "AppData" + sep + "Roaming", true
		case "LOCALAPPDATA":
			return home + sep + "AppData" + sep + "Local", true
		case "TEMP", "TMP", "TMPDIR":
			if !m.win {
				return "/tmp", true
			}
			return home + `\AppData\Local\Temp`, true
		case "ONEDRIVE":
			return home + sep + "OneDrive", true
		case "HOMEPATH":
			if len(home) > 2 && home[1] == ':' {
				return home[2:], true
			}
		case "HOMEDRIVE":
			if len(home) > 2 && home[1] == ':' {
				return home[:2], true
			}
		case "USERNAME", "USER":
			if i := strings.LastIndexAny(home, `/\`); i >= 0 {
				return home[i+1:], true
			}
		}
	}
	switch up {
	case "SYSTEMDRIVE":
		return "C:", true
	case "SYSTEMROOT", "WINDIR":
		return `C:\Windows`, true
	case "PROGRAMFILES", "PROGRAMW6432":
		return `C:\Program Files`, true
	case "PROGRAMFILES(X86)":
		return `C:\Program Files (x86)`, true
	case "PROGRAMDATA", "ALLUSERSPROFILE":
		return `C:\ProgramData`, true
	case "PUBLIC":
		return `C:\Users\Public`, true
	case "COMSPEC":
		return `C:\Windows\System32\cmd.exe`, true
	case "OS":
		return "Windows_NT", true
	}
	return "", false
}

// winBase is the name of a program without folders and suffix, lower case.
func winBase(s string) string {
	if i := strings.LastIndexAny(s, `/\`); i >= 0 {
		s = s[i+1:]
	}
	s = strings.ToLower(s)
	for _, x := range [...]string{".exe", ".com", ".cmd", ".bat"} {
		if t := strings.TrimSuffix(s, x); t != "" && t != s {
			return t
		}
	}
	return s
}

// startsLater reports what makes Windows run a file later, or "".
func startsLater(abs string) string {
	s := strings.ToLower(abs)
	switch {
	case strings.Contains(s, "/start menu/programs/startup/"):
		return "the start-up folder"
	case strings.HasSuffix(s, "profile.ps1") && (strings.Contains(s, "powershell/") || strings.Contains(s, "/v1.0/") || strings.Contains(s, "…")):
		return "a PowerShell profile"
	case strings.HasSuffix(s, "/.ssh/authorized_keys"), strings.HasSuffix(s, "/ssh/administrators_authorized_keys"):
		return "authorized_keys"
	case strings.Contains(s, "/windows/system32/tasks/"), strings.Contains(s, "/windows/tasks/"):
		return "the task scheduler"
	case strings.Contains(s, "/grouppolicy/") && strings.Contains(s, "/scripts/"):
		return "a policy script"
	case strings.HasSuffix(s, "/.bashrc"), strings.HasSuffix(s, "/.bash_profile"), strings.HasSuffix(s, "/.profile"), strings.HasSuffix(s, "/.zshrc"):
		return "a shell's start-up file"
	}
	return ""
}

// finishWindows adds to the result what only Windows knows about files.
func (m *machine) finishWindows() {
	n := len(m.res.Actions)
	for i := range n {
		a := m.res.Actions[i]
		if a.Kind != FileWrite || a.Path.Place == PlaceWorkspace || a.Path.Place == PlaceTemp {
			continue
		}
		if what := startsLater(a.Path.Abs); what != "" {
			m.res.Actions = append(m.res.Actions, Action{
				Kind: Persist, Name: what, Dry: a.Dry, Certainty: a.Certainty, Span: a.Span, Command: a.Command,
			})
		}
	}
}
