package facts

import (
	"path"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/shell"
)

// file judges one action on a file. The more specific code wins: what is said
// of a shell's start-up file or of the gate is not said again as a write.
func (h *hazardFinder) file(a *shell.Action) {
	p := &a.Path
	switch a.Kind {
	case shell.FileRead:
		h.read(a)
	case shell.FileWrite:
		h.write(a)
	case shell.FileDelete:
		h.remove(a)
	case shell.FileMode, shell.FileOwner:
		h.mode(a)
	case shell.FileWipe:
		if p.Place == shell.PlaceNull {
			return
		}
		h.add(FSDeviceWrite, "raw or irrecoverable overwriting", a)
	}
}

func (h *hazardFinder) write(a *shell.Action) {
	p := &a.Path
	if a.Certainty == shell.Possible && a.Detail == "edit" && p.Place != shell.PlaceOutside {
		return
	}
	switch {
	case p.Place == shell.PlaceNull:
		return
	case h.guardFile(p), h.guardFolder(p) && (a.Detail == "git" || h.copiesTree(a)):
		h.add(GuardTamper, "a file of a guard is changed", a)
		return
	case p.Abs == "/proc/sysrq-trigger":
		h.add(SysDisrupt, "sysrq", a)
		return
	case hookFile(p.Abs):
		if a.Detail != "empty" && a.Detail != "inplace" {
			h.add(PersistenceCode, "a git hook is written", a)
		}
		h.add(GitHookBypass, "a git hook is replaced", a)
		return
	case sudoersFile(p.Abs):
		h.add(PrivEscalate, "sudoers rules are written", a)
		return
	case h.persistentFile(p):
		h.add(PersistenceCode, "a file that runs later or on its own", a)
		return
	case p.Place == shell.PlaceDevice:
		if blockDevice(p.Abs) {
			h.add(FSDeviceWrite, "a device is written", a)
		}
		return
	}
	if p.Place == shell.PlaceOutside || p.Place == shell.PlaceAbove {
		if p.Abs == "/etc/passwd" || p.Abs == "/etc/group" || p.Abs == "/etc/shadow" {
			h.add(PrivEscalate, "accounts are written", a)
		}
		if !h.arrives(a) {
			h.add(FSWriteOutside, "a file outside of the workspace is written", a)
		}
	}
}

// copiesTree reports whether a write is a copy: what goes to a folder then is what it
// holds, settings among it.
func (h *hazardFinder) copiesTree(a *shell.Action) bool {
	if h.r == nil || a.Command < 0 || a.Command >= len(h.r.Commands) {
		return false
	}
	switch h.r.Commands[a.Command].Program {
	case "cp", "gcp", "ditto", "mv", "gmv", "rsync", "robocopy", "xcopy", "copy-item", "move-item":
		return true
	}
	return false
}

// arrives reports whether a write is the far end of an upload: that something lands
// in the home over there has been said by then. A place named in full is one more thing.
func (h *hazardFinder) arrives(a *shell.Action) bool {
	if h.r == nil || a.Command < 0 || a.Command >= len(h.r.Commands) || strings.HasPrefix(a.Path.Raw, "/") {
		return false
	}
	host := h.r.Commands[a.Command].Host
	return host != "" && slices.ContainsFunc(h.r.Actions, func(u shell.Action) bool { return u.Kind == shell.NetUpload && u.Host == host })
}

func (h *hazardFinder) remove(a *shell.Action) {
	p := &a.Path
	if a.Detail == "move" {
		switch {
		case h.guardFile(p) || h.guardFolder(p):
			h.add(GuardTamper, "a file of a guard is moved away", a)
		case hookFile(p.Abs) || hookFolder(p.Abs):
			h.add(GitHookBypass, "a git hook is moved away", a)
		case p.Place == shell.PlaceOutside || p.Place == shell.PlaceAbove:
			h.add(FSWriteOutside, "a file outside of the workspace is moved", a)
		}
		return
	}
	if h.guardFile(p) || (a.Recursive || a.Detail == "some") && h.guardFolder(p) {
		h.add(GuardTamper, "a file of a guard is removed", a)
		if !a.Recursive || p.Place == shell.PlaceWorkspace {
			return
		}
	}
	if hookFile(p.Abs) || hookFolder(p.Abs) {
		h.add(GitHookBypass, "git hooks are removed", a)
		return
	}
	if a.Detail == "some" {
		return
	}
	mass := a.Recursive || p.Glob && wide(p)
	switch p.Place {
	case shell.PlaceRoot, shell.PlaceAbove:
		if mass || p.Glob {
			h.add(FSDeleteRecursive, "the whole workspace is deleted", a)
		}
	case shell.PlaceWorkspace:
		if a.Recursive && gitFolder(p) {
			h.add(FSDeleteRecursive, "the repository is deleted", a)
		}
	case shell.PlaceTempRoot:
		if a.Recursive && !p.Glob {
			h.add(FSDeleteRecursive, "the scratch folder is deleted", a)
		}
	case shell.PlaceOutside:
		if mass {
			h.add(FSDeleteRecursive, "files outside of the workspace are deleted", a)
			if !a.Recursive {
				h.add(FSWriteOutside, "files outside of the workspace are removed", a)
			}
			return
		}
		h.add(FSWriteOutside, "a file outside of the workspace is removed", a)
	case shell.PlaceDevice:
		if a.Recursive {
			h.add(FSDeleteRecursive, "devices are deleted", a)
		}
	case shell.PlaceUnknown, shell.PlaceTemp, shell.PlaceNull: // said elsewhere, or harmless
	}
}

// wide reports whether a pattern may match many files.
func wide(p *shell.Path) bool { return strings.Contains(p.Abs, "*") }

// gitFolder reports whether a path of the workspace is its repository, or a part
// of it that cannot be made again.
func gitFolder(p *shell.Path) bool {
	rel := strings.TrimSuffix(p.Rel, "/")
	first, rest, _ := strings.Cut(rel, "/")
	if first == ".git" {
		switch rest {
		case "", "objects", "refs", "logs", "*":
			return true
		}
		return strings.HasPrefix(rest, "refs/") || strings.HasPrefix(rest, "objects/")
	}
	if p.Glob {
		if ok, err := path.Match(first, ".git"); err == nil && ok && strings.HasPrefix(first, ".") {
			return rest == "" || rest == "*"
		}
	}
	// Repositories in sub-folders.
	return path.Base(rel) == ".git"
}

func blockDevice(abs string) bool {
	d := strings.TrimPrefix(abs, "/dev/")
	for _, p := range [...]string{"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "dm-", "mapper/", "md", "loop", "sr", "nbd", "zvol", "mem", "kmem", "port", "mtd", "block", "fd0", "ram", "zram", "by-", "sg", "kmsg", "watchdog", "nvram", "mtdblock"} {
		if strings.HasPrefix(d, p) {
			return true
		}
	}
	return strings.ContainsAny(d, "*?")
}

func (h *hazardFinder) mode(a *shell.Action) {
	p := &a.Path
	if a.Kind == shell.FileOwner {
		if a.Recursive && outside(p) {
			h.add(FSPermissions, "owners outside of the workspace are changed", a)
		}
		return
	}
	m := parseMode(a.Mode)
	if h.guardFile(p) && (m.noExec || m.lockedOut || m.noRead) {
		h.add(GuardTamper, "a file of a guard is made useless", a)
		return
	}
	if (hookFile(p.Abs) || hookFolder(p.Abs)) && (m.noExec || m.lockedOut) {
		h.add(GitHookBypass, "a git hook is made not executable", a)
		return
	}
	if m.setuid {
		h.add(PrivEscalate, "a setuid or setgid bit", a)
	}
	if m.world || m.lockedOut || a.Recursive && outside(p) {
		h.add(FSPermissions, "permissions for everyone, for no one, or outside of the workspace", a)
	}
}

func outside(p *shell.Path) bool {
	return p.Place == shell.PlaceOutside || p.Place == shell.PlaceAbove || p.Place == shell.PlaceDevice
}

type modeFacts struct {
	world     bool // others may write
	lockedOut bool // nobody may do anything
	setuid    bool
	noExec    bool // the owner may not execute
	noRead    bool
}

// parseMode reads the mode operand of chmod.
func parseMode(s string) modeFacts {
	var m modeFacts
	if s == "" {
		return m
	}
	if s[0] >= '0' && s[0] <= '7' || (s[0] == '=' || s[0] == '+' || s[0] == '-') && len(s) > 1 && s[1] >= '0' && s[1] <= '7' {
		op := byte('=')
		if s[0] < '0' || s[0] > '7' {
			op, s = s[0], s[1:]
		}
		n := 0
		for i := 0; i < len(s); i++ {
			if s[i] < '0' || s[i] > '7' {
				return m
			}
			n = n*8 + int(s[i]-'0')
			if n > 0o7777 {
				return m
			}
		}
		if op == '-' {
			m.noExec = n&0o100 != 0
			m.lockedOut = n&0o777 == 0o777
			return m
		}
		m.world = n&0o002 != 0
		m.setuid = n&0o6000 != 0
		if op == '=' {
			m.lockedOut = n&0o777 == 0
			m.noExec = n&0o100 == 0
			m.noRead = n&0o400 == 0
		}
		return m
	}
	for clause := range strings.SplitSeq(s, ",") {
		i := 0
		for i < len(clause) && strings.IndexByte("ugoa", clause[i]) >= 0 {
			i++
		}
		who := clause[:i]
		all := who == "" || strings.Contains(who, "a")
		others := strings.Contains(who, "o") || strings.Contains(who, "a")
		for i < len(clause) {
			op := clause[i]
			i++
			from := i
			for i < len(clause) && strings.IndexByte("+-=", clause[i]) < 0 {
				i++
			}
			perms := clause[from:i]
			has := func(c string) bool { return strings.Contains(perms, c) }
			switch op {
			case '+', '=':
				// Without a class the umask holds others back from writing.
				if others && has("w") {
					m.world = true
				}
				if others && strings.ContainsAny(perms, "u") && op == '=' {
					m.world = true // o=u
				}
				if has("s") && (all || strings.ContainsAny(who, "ug")) {
					m.setuid = true
				}
				if op == '=' && perms == "" && all {
					m.lockedOut = true
				}
				if op == '=' && !has("x") && (all || strings.Contains(who, "u")) {
					m.noExec = true
				}
			case '-':
				if has("x") && (all || strings.Contains(who, "u")) {
					m.noExec = true
				}
				if has("r") && (all || strings.Contains(who, "u")) {
					m.noRead = true
				}
				if has("r") && has("w") && has("x") && (all || who == "ugo") {
					m.lockedOut = true
				}
			}
		}
	}
	return m
}
