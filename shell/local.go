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

// binds records that a program which nothing else is said of is told, by an option or
// a variable whose name says so, to listen for everyone. first is the first action
// of the command.
func (x *inv) binds(first int) {
	if len(x.args) < 2 && len(x.env) == 0 || callsOut(x.name) || x.dry || len(x.f.m.res.Commands) > x.cmd+1 {
		return // with more commands behind it, one of those is the server
	}
	acts := x.f.m.res.Actions
	for i := min(first, len(acts)); i < len(acts); i++ {
		if acts[i].Kind == NetListen {
			return
		}
	}
	yes := false
	for i := 1; i < len(x.args) && !yes; i++ {
		name, val, has := strings.Cut(x.args[i].s, "=")
		if len(name) < 2 || name[0] != '-' {
			continue
		}
		if !has && i+1 < len(x.args) {
			val = x.args[i+1].text()
		}
		yes = bindOption(strings.ToLower(strings.TrimLeft(name, "-")), name[1] == '-') && allInterfaces(val)
	}
	for i := range x.env {
		n := x.env[i].Name
		for _, end := range [...]string{"HOST", "_BIND", "_ADDR", "_ADDRESS", "_URLS", "_LISTEN"} {
			yes = yes || strings.HasSuffix(n, end) && allInterfaces(x.env[i].Value.Value)
		}
	}
	if yes {
		x.f.emit(Action{Kind: NetListen, Span: x.span, Command: x.cmd + 1})
	}
}

// bindOption reports whether an option names what a server listens on.
func bindOption(name string, long bool) bool {
	if !long && len(name) == 1 {
		return strings.Contains("abhil", name)
	}
	if strings.Contains(name, "allow") || strings.Contains(name, "trust") || strings.Contains(name, "add-host") || strings.Contains(name, "proxy") {
		return false
	}
	for _, w := range [...]string{"host", "bind", "listen", "addr", "urls", "interface"} {
		if strings.Contains(name, w) {
			return true
		}
	}
	return name == "ip" || name == "client" || strings.HasSuffix(name, "-ip") || strings.HasSuffix(name, ".ip")
}

// allInterfaces reports whether s is the address of all interfaces, perhaps in a URL.
func allInterfaces(s string) bool {
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	for _, a := range [...]string{"0.0.0.0", "[::]", "*"} {
		if rest, ok := strings.CutPrefix(s, a); ok && (rest == "" && a != "*" || rest != "" && (rest[0] == ':' || rest[0] == ';')) {
			return true
		}
	}
	return false
}

// callsOut reports programs for which an address is a peer, a rule or plain text.
func callsOut(name string) bool {
	switch name {
	case "curl", "wget", "http", "https", "xh", "nc", "ncat", "netcat", "socat", "telnet", "ping", "ssh", "scp", "rsync", "sftp", "nmap", "dig", "nslookup", "host",
		"docker", "podman", "docker-compose", "kubectl", "helm", "terraform", "tofu", "aws", "gcloud", "az", "iptables", "ip6tables", "nft", "ufw", "ip", "route", "ss", "netstat", "lsof", "tcpdump",
		"grep", "egrep", "rg", "ag", "echo", "printf", "sed", "awk", "jq", "yq", "cat", "git", "gh", "test", "[", "psql", "mysql", "mariadb", "redis-cli", "mongosh", "mongo",
		"wait-on", "wait-for-it", "dockerize", "k6", "ab", "wrk", "hey", "vegeta", "locust", "find", "make", "export", "set", "env", "sudo", "timeout", "xargs", "sh", "bash", "zsh", "npm", "pnpm", "yarn", "npx", "bun":
		return true
	}
	return false
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
