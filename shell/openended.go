package shell

import "strings"

// openEnded reports whether nobody who reads the text can say what a word that
// decides a hazard is: it begins with the value of a variable that comes from
// elsewhere, or with the content of a file. Values whose kind is known though they
// are not are none: arguments of a script, names out of a listing, what mktemp
// made, and the variables that build systems set.
func (v value) openEnded() bool {
	if v.s == "" || v.s[0] != markUnknown || v.t&(tScratch|tNames|tOwnPid|tKillList|tNet|tPeer|tDecoded) != 0 {
		return false
	}
	if len(v.vars) > 0 {
		return v.t&dataTaints == 0 && !plainVar(v.vars[0])
	}
	return v.has(tFile) && v.has(tSubst) && !v.has(tVar)
}

// plainVar reports whether a variable that the text does not set is of a kind
// that is known: an argument, or a folder or file that its owner made for such use.
func plainVar(name string) bool {
	if name == "" || name == "@" || name == "*" || name[0] >= '0' && name[0] <= '9' {
		return true
	}
	for _, p := range [...]string{"GITHUB_", "RUNNER_", "CI_", "XDG_", "BUILDKITE_", "CIRCLE_", "JENKINS_", "TMP", "TEMP", "CONDA_", "npm_", "CARGO_", "CLAUDE_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	switch name {
	case "VIRTUAL_ENV", "GOPATH", "GOBIN", "GOROOT", "PREFIX", "DESTDIR", "WORKSPACE", "BUILD_DIR", "SRCROOT", "pkgdir", "srcdir", "out", "REPLY", "ZDOTDIR", "HISTFILE", "NULL", "DEVNULL":
		return true
	}
	return false
}

// makesFolder reports whether a command only makes a folder, which loses nothing.
func (m *machine) makesFolder(cmd int) bool {
	return cmd >= 0 && cmd < len(m.res.Commands) && m.res.Commands[cmd].Program == "mkdir"
}

// undecidedOperand notes that an operand decides what happens and is not known.
func (x *inv) undecidedOperand(v value, why Reason) {
	x.f.m.undecided(why, v.s, true, x.cmd, v.span)
}

// nameHas reports whether the variable behind a value is named for one of the
// things, in any case.
func (v value) nameHas(words ...string) bool {
	if len(v.vars) == 0 {
		return false
	}
	n := strings.ToUpper(v.vars[0])
	for _, w := range words {
		if strings.Contains(n, w) {
			return true
		}
	}
	return false
}
