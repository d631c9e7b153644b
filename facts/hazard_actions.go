package facts

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/shell"
)

// plainCodes are the kinds of actions that are a hazard by themselves.
var plainCodes = map[shell.Kind]struct{ code, detail string }{
	shell.PushForce:      {GitForcePush, "a push that overwrites without a check"},
	shell.RefDelete:      {GitRemoteDelete, "a branch or tag of the remote is deleted"},
	shell.HistoryRewrite: {GitHistoryRewrite, "history is rewritten or cannot be restored"},
	shell.WorkDiscard:    {GitDiscardWork, "local work is thrown away"},
	shell.PkgPublish:     {PkgPublishCode, "something that others install is published or withdrawn"},
	shell.DataDestroy:    {DBDestructive, "data is dropped or emptied"},
	shell.InfraDestroy:   {InfraDestructive, "infrastructure is deleted"},
	shell.MachineStop:    {SysDisrupt, "the machine is stopped"},
	shell.FirewallOpen:   {SysDisrupt, "a firewall is opened"},
	shell.Persist:        {PersistenceCode, "something runs later or on its own"},
	shell.Exhaust:        {ResourceExhaust, "a resource is used without bound"},
	shell.AgentStart:     {GuardTamper, "an agent is started without its guard"},
	shell.SecretLiteral:  {SecretsLiteral, "a credential in the text"},
	shell.Disguise:       {ObfuscationCode, "hidden code is run"},
	shell.NetUpload:      {NetUploadCode, "local data is sent away"},
	shell.NetListen:      {NetListenCode, "a port or tunnel is opened"},
	shell.NetShell:       {NetReverseShell, "a shell is tied to a network peer"},
	shell.NetRun:         {NetPipeToShell, "code from the network is run"},
	shell.PrivElevate:    {PrivEscalate, "another user's power is used"},
	shell.EnvSend:        {SecretsRead, "the environment is sent away"},
}

// action judges what is not about a file.
func (h *hazardFinder) action(a *shell.Action) {
	if c, ok := plainCodes[a.Kind]; ok {
		detail := c.detail
		if a.Detail != "" {
			detail = a.Detail
		} else if a.Name != "" && a.Kind != shell.SecretLiteral {
			detail += ": " + a.Name
		}
		h.add(c.code, detail, a)
		return
	}
	switch a.Kind {
	case shell.PushLease:
		// Plain force beside a lease switches the check off.
		for i := range h.r.Actions {
			if b := &h.r.Actions[i]; b.Kind == shell.PushForce && b.Command == a.Command && !b.Added {
				return
			}
		}
		h.add(GitForcePushLease, "a push that overwrites what was seen last", a)
	case shell.HookBypass:
		h.add(GitHookBypass, "checks of git hooks are skipped", a)
	case shell.EnvPrint:
		if !a.Quiet && a.Name != "" && shell.SecretVariable(a.Name) {
			h.add(SecretsRead, "a secret variable is printed", a)
		}
	case shell.EnvFilter:
		if !a.Quiet && envPattern(a.Name) {
			h.add(SecretsRead, "the environment is searched for secrets", a)
		}
	case shell.SecretReveal:
		if !a.Quiet {
			h.add(SecretsRead, "a secret is read: "+a.Name, a)
		}
	case shell.EnvSet:
		h.envSet(a)
	case shell.ConfigSet:
	case shell.ProcKill:
		name := strings.ToLower(a.Name)
		switch {
		case strings.Contains(name, "holdpoint"), a.Path.Abs != "" && h.guardFile(&a.Path):
			h.add(GuardTamper, "the gate is stopped", a)
			if a.Broad && !strings.Contains(name, "holdpoint") {
				h.add(ProcKillBroad, "processes are killed by name or for all", a)
			}
		case a.Broad:
			gate, others := h.listed()
			if gate {
				h.add(GuardTamper, "the gate is stopped", a)
				if !others {
					return
				}
			}
			h.add(ProcKillBroad, "processes are killed by name or for all", a)
		}
	case shell.ServiceStop:
		if strings.Contains(strings.ToLower(a.Name), "holdpoint") {
			h.add(GuardTamper, "the gate is stopped", a)
			return
		}
		h.add(SysDisrupt, "a service is stopped: "+a.Name, a)
	}
}

// listed reports whether searches for processes in the same text name the gate,
// and whether one of them names others.
func (h *hazardFinder) listed() (gate, others bool) {
	for i := range h.r.Commands {
		c := &h.r.Commands[i]
		named := slices.ContainsFunc(c.Args, func(a shell.Arg) bool {
			// [h]oldpoint is how one looks for it without finding the search itself.
			return strings.Contains(strings.ToLower(strings.NewReplacer("[", "", "]", "").Replace(a.Value)), "holdpoint")
		})
		switch c.Program {
		case "pgrep", "pidof":
			gate, others = gate || named, others || !named
		case "grep", "awk":
			// What they leave out, or print of each line, names nobody.
			pattern := slices.ContainsFunc(c.Args, func(a shell.Arg) bool {
				return !strings.HasPrefix(a.Value, "-") && (c.Program == "grep" || strings.Contains(a.Value, "/"))
			})
			gate, others = gate || named, others || pattern && !named && !slices.Contains(c.Flags, "-v")
		}
	}
	return gate, others
}

func (h *hazardFinder) envSet(a *shell.Action) {
	switch {
	case strings.HasPrefix(a.Name, "HOLDPOINT_"):
		h.add(GuardTamper, "the gate's environment is changed", a)
		return
	case a.Name == "CLAUDE_CONFIG_DIR", a.Name == "CODEX_HOME", a.Name == "GEMINI_CLI_SYSTEM_SETTINGS_PATH":
		h.add(GuardTamper, "another settings folder is used", a)
		return
	}
	off := a.Detail == "0" || strings.EqualFold(a.Detail, "false") || a.Detail == "no" || a.Detail == "off"
	on := a.Detail != "" && !off
	switch a.Name {
	case "HUSKY", "LEFTHOOK":
		if off {
			h.add(GitHookBypass, "hooks are switched off", a)
		}
	case "HUSKY_SKIP_HOOKS", "OVERCOMMIT_DISABLE", "SKIP_SIMPLE_GIT_HOOKS", "LEFTHOOK_EXCLUDE":
		if on {
			h.add(GitHookBypass, "hooks are switched off", a)
		}
	case "SKIP":
		if on && h.usesGit(a) {
			h.add(GitHookBypass, "hooks are skipped", a)
		}
	}
}

// usesGit reports whether SKIP is set for a command that runs hooks: the name is
// too common to be judged alone.
func (h *hazardFinder) usesGit(a *shell.Action) bool {
	for i := range h.r.Commands {
		switch h.r.Commands[i].Program {
		case "git", "pre-commit":
			return true
		}
	}
	return false
}
