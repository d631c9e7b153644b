package shell

import "strings"

// toolFolders hold programs of the system and of package managers. A program there
// is the one that its name says.
var toolFolders = [...]string{"/bin/", "/sbin/", "/usr/", "/opt/", "/nix/", "/snap/", "/home/linuxbrew/", "/Library/", "/System/", "/Applications/", "/run/current-system/", "/var/lib/"}

// ownProgram reports whether a program given by path belongs to the project, or to
// nobody known: its name then says nothing of what it does, whichever tool is
// called the same. What a project installs or makes to start a known tool
// (node_modules/.bin, gradlew, manage.py) stays that tool.
func (x *inv) ownProgram(v value) bool {
	if strings.IndexByte(v.s, '/') < 0 || systemBin(v.s) || !v.known() {
		return false
	}
	m := x.f.m
	p := x.f.resolve(v)
	if m.win || p.Unresolved || strings.Contains(p.Abs, "/.git/hooks/") {
		return false
	}
	if t := m.opts.Programs; t != nil && t.whole[x.name] != nil {
		return false // the user said what it does
	}
	switch x.name {
	case "rails", "rake", "manage.py", "artisan", "console", "bundle", "django-admin", "symfony", "husky", "spring":
		return false // starters that a framework puts into each project
	}
	if strings.HasPrefix(p.Abs, "/etc/init.d/") || isRoutineBin(p.Abs) {
		return false
	}
	for _, d := range toolFolders {
		if strings.HasPrefix(p.Abs, d) && p.Place != PlaceWorkspace && p.Place != PlaceTemp {
			return strings.HasPrefix(p.Abs, "/usr/src/")
		}
	}
	if p.Place == PlaceWorkspace || p.Place == PlaceTemp {
		return true
	}
	// Folders that an image gives to its application.
	for _, d := range [...]string{"/app/", "/code/", "/srv/", "/workspace/", "/workspaces/", "/src/", "/data/"} {
		if strings.HasPrefix(p.Abs, d) {
			return true
		}
	}
	// In a home folder package managers use folders with a dot.
	return v.s[0] == '.' && !strings.Contains(p.Abs, "/.")
}

// bindsAll records that a program of the project is told to listen for everyone: an
// argument or a variable in front of it is the address of all interfaces.
func (x *inv) bindsAll() {
	all := func(s string) bool {
		if i := strings.LastIndexByte(s, '='); i >= 0 {
			s = s[i+1:]
		}
		s = strings.TrimPrefix(s, "http://")
		s = strings.TrimPrefix(s, "tcp://")
		return s == "0.0.0.0" || strings.HasPrefix(s, "0.0.0.0:") || strings.HasPrefix(s, "[::]:")
	}
	yes := false
	for i := range x.args[1:] {
		yes = yes || all(x.args[1+i].s)
	}
	for i := range x.env {
		switch x.env[i].Name {
		case "HOST", "BIND", "ADDR", "ADDRESS", "LISTEN", "BIND_ADDR", "BIND_ADDRESS", "LISTEN_ADDR", "SERVER_HOST", "HTTP_HOST", "HOSTNAME", "BIND_HOST", "LISTEN_ADDRESS", "BINDING":
			yes = yes || all(x.env[i].Value.Value)
		}
	}
	if yes {
		x.f.emit(Action{Kind: NetListen, Span: x.span, Command: x.cmd + 1})
	}
}

// linkedTool gives the name of the system's program that a link made in the same
// text stands for, or "".
func (x *inv) linkedTool(v value) string {
	if len(x.f.m.links) == 0 {
		return ""
	}
	if p := x.f.resolve(v); systemBin(p.Abs) && !p.Glob && !p.Unresolved {
		return baseName(p.Abs)
	}
	return ""
}
