package facts

import (
	"path"
	"strings"

	"github.com/holdpoint/holdpoint/shell"
)

// guardFolders are the folders in which agents keep their settings and hooks.
var guardFolders = [...]string{".claude", ".cursor", ".gemini", ".codex", ".holdpoint", ".windsurf", ".factory", ".copilot", ".qwen", ".kiro", ".augment", ".codeium", ".cline", ".opencode", ".config/opencode", ".config/holdpoint", ".config/amp", "claude-code", "ClaudeCode"}

// guardParts is guardFolders as they stand within a path.
var guardParts = func() []string {
	out := make([]string, len(guardFolders))
	for i, dir := range guardFolders {
		out[i] = "/" + dir + "/"
	}
	return out
}()

// guardFile reports whether p is a file that decides whether and how a gate is
// asked: hook settings, hook scripts, the gate's own files and programs.
func (h *hazardFinder) guardFile(p *shell.Path) bool {
	abs := p.Abs
	if abs == "" {
		return false
	}
	for _, g := range h.o.GuardPaths {
		if under(abs, g) {
			return true
		}
	}
	if base := path.Base(abs); base == "holdpoint" || base == "holdpoint-hook" {
		// The installed programs, not a checkout of the project.
		if strings.Contains(abs, "/bin/") {
			return true
		}
	}
	if strings.Contains(abs, "/holdpoint.service") || strings.Contains(abs, "com.holdpoint.") || strings.Contains(abs, "/etc/holdpoint/") || strings.Contains(abs, "/holdpoint/hook.sock") {
		return true
	}
	if !strings.Contains(abs, "/.") && !strings.Contains(abs, "laude") {
		return false // none of the folders
	}
	if p.Glob && guardPattern(abs) {
		return true
	}
	for k, dir := range guardFolders {
		i := strings.Index(abs, guardParts[k])
		if i < 0 {
			continue
		}
		rest := abs[i+len(dir)+2:]
		if dir == ".holdpoint" || dir == ".config/holdpoint" {
			return true
		}
		if guardName(rest, p.Glob) {
			return true
		}
	}
	return false
}

// guardPattern reports whether a pattern in a folder's name may stand for a guard's:
// .cl*/settings.json.
func guardPattern(abs string) bool {
	parts := strings.Split(abs, "/")
	for i, part := range parts[:len(parts)-1] {
		if !strings.HasPrefix(part, ".") || !strings.ContainsAny(part, "*?[") {
			continue
		}
		for _, dir := range guardFolders {
			if ok, err := path.Match(part, dir); err == nil && ok && guardName(strings.Join(parts[i+1:], "/"), true) {
				return true
			}
		}
	}
	return false
}

func guardName(rest string, glob bool) bool {
	first, _, nested := strings.Cut(rest, "/")
	switch first {
	case "hooks":
		return true
	case "settings.json", "settings.local.json", "hooks.json", "config.toml", "managed-settings.json", "config.json", "hooks.toml", "settings.jsonc", "permissions.json", "cli-config.json", "requirements.toml", "hooks.yaml", "hooks.yml", "policies", "mcp.json_", "managed-hooks.json":
		return true
	}
	if glob && !nested {
		for _, n := range [...]string{"settings.json", "hooks.json", "config.toml"} {
			if ok, err := path.Match(first, n); err == nil && ok {
				return true
			}
		}
	}
	return false
}

// guardFolder reports whether p is a folder that holds guard files.
func (h *hazardFinder) guardFolder(p *shell.Path) bool {
	abs := strings.TrimSuffix(p.Abs, "/")
	for _, dir := range guardFolders {
		if strings.HasSuffix(abs, "/"+dir) || p.Glob && strings.HasSuffix(abs, "/"+dir+"/*") {
			return true
		}
	}
	for _, g := range h.o.GuardPaths {
		if under(g, abs) {
			return true
		}
	}
	return false
}

func under(abs, dir string) bool {
	return abs == dir || strings.HasPrefix(abs, strings.TrimSuffix(dir, "/")+"/")
}

// hookFile reports whether a path is a git hook, or a file of a tool that
// manages hooks for the project.
func hookFile(abs string) bool {
	for _, dir := range [...]string{"/.git/hooks/", "/.husky/", "/.githooks/"} {
		if strings.Contains(abs, dir) {
			switch path.Ext(abs) {
			case ".sample", ".md", ".off", ".bak", ".disabled", ".orig", ".old":
				return false // git runs none of these
			}
			return true
		}
	}
	if i := strings.Index(abs, "/.git/modules/"); i >= 0 {
		return strings.Contains(abs[i:], "/hooks/")
	}
	return false
}

func hookFolder(abs string) bool {
	return strings.HasSuffix(abs, "/.git/hooks") || strings.HasSuffix(abs, "/.husky") || strings.HasSuffix(abs, "/.githooks")
}

func sudoersFile(abs string) bool {
	return abs == "/etc/sudoers" || strings.HasPrefix(abs, "/etc/sudoers.d/") || abs == "/etc/doas.conf" || strings.HasPrefix(abs, "/etc/polkit-1/")
}

// startFiles are read by shells and desktops when they start, in a home folder.
var startFiles = map[string]bool{
	".bashrc": true, ".zshrc": true, ".profile": true, ".bash_profile": true, ".bash_login": true, ".bash_logout": true, ".zprofile": true, ".zshenv": true, ".zlogin": true, ".zlogout": true,
	".kshrc": true, ".cshrc": true, ".tcshrc": true, ".login": true, ".logout": true, ".bash_aliases": true, ".zsh_aliases": true, ".xinitrc": true, ".xprofile": true, ".xsession": true, ".xsessionrc": true, ".pam_environment": true, ".forward": true, ".inputrc_": true,
	".ssh/authorized_keys": true, ".ssh/authorized_keys2": true, ".ssh/rc": true, ".ssh/environment": true, ".config/fish/config.fish": true, ".config/nushell/config.nu": true, ".config/nushell/env.nu": true, ".oh-my-zsh/oh-my-zsh.sh": true, ".config/starship_": true,
}

var startFolders = [...]string{".config/autostart/", ".config/systemd/user/", "Library/LaunchAgents/", ".config/fish/conf.d/", ".config/environment.d/", ".local/share/systemd/user/", ".oh-my-zsh/custom/", ".bashrc.d/", ".zshrc.d/", ".config/plasma-workspace/env/", ".config/git/hooks/", ".git-templates/hooks/", ".git-template/hooks/"}

var systemStart = [...]string{
	"/etc/profile", "/etc/profile.d/", "/etc/bash.bashrc", "/etc/bashrc", "/etc/zsh/", "/etc/zshrc", "/etc/zshenv", "/etc/zprofile", "/etc/cron", "/etc/anacrontab", "/var/spool/cron", "/etc/systemd/system/", "/etc/systemd/user/", "/lib/systemd/system/", "/usr/lib/systemd/", "/run/systemd/system/",
	"/Library/LaunchAgents/", "/Library/LaunchDaemons/", "/etc/xdg/autostart/", "/etc/rc.local", "/etc/rc.d/", "/etc/init.d/", "/etc/init/", "/etc/ld.so.preload", "/etc/environment", "/etc/udev/rules.d/", "/etc/modules-load.d/", "/etc/NetworkManager/dispatcher.d/", "/etc/update-motd.d/", "/etc/inittab", "/usr/share/autostart", "/etc/fish/", "/etc/csh", "/etc/pam.d/", "/etc/apt/apt.conf.d/", "/var/spool/at", "/etc/periodic/", "/etc/launchd.conf", "/etc/sv/", "/etc/tmpfiles.d/", "/etc/sysctl.d/_", "/etc/skel/", "/etc/binfmt.d/", "/etc/acpi/", "/etc/gitconfig_",
}

// persistentFile reports whether writing p makes something run later.
func (h *hazardFinder) persistentFile(p *shell.Path) bool {
	abs := p.Abs
	if p.Place == shell.PlaceWorkspace || p.Place == shell.PlaceTemp {
		return false
	}
	if strings.HasSuffix(abs, ".pth") && (strings.Contains(abs, "/site-packages/") || strings.Contains(abs, "/dist-packages/")) {
		return true // read by each start of Python
	}
	for _, s := range systemStart {
		if strings.HasPrefix(abs, s) {
			return true
		}
	}
	rest := ""
	switch {
	case h.o.Home != "" && strings.HasPrefix(abs, h.o.Home+"/"):
		rest = abs[len(h.o.Home)+1:]
	case strings.HasPrefix(abs, "/root/"):
		rest = abs[len("/root/"):]
	case strings.HasPrefix(abs, "/home/"), strings.HasPrefix(abs, "/Users/"):
		if parts := strings.SplitN(abs, "/", 4); len(parts) == 4 {
			rest = parts[3]
		}
	case strings.HasPrefix(abs, "…/"):
		rest = abs[len("…/"):]
	}
	if rest == "" {
		return false
	}
	if startFiles[rest] {
		return true
	}
	for _, s := range startFolders {
		if strings.HasPrefix(rest, s) {
			return true
		}
	}
	return false
}
