package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/shell"
)

// closedFlags lists the values of flags that take one of a few, by name. The
// command lines of several commands share them; where a name means two things,
// the command's own list in closedFlagsOf counts.
var closedFlags = map[string][]string{
	"agent":            gateway.Agents(),
	"audit-facts":      {factsNames, factsRedacted},
	"audit-on-failure": words(harness.RecordDeny, harness.RecordProceed),
	"audit-sync":       words(audit.Always, audit.Batch),
	"failure-policy":   words(ahp.FailOpen, ahp.FailClosed),
	"hazard":           policy.HazardCodes(),
	"log-format":       {"text", "json"},
	"log-level":        {"debug", "info", "warn", "error"},
	"method":           words(ahp.ModeIntercept, ahp.ModeObserve),
	"oversize":         words(gateway.OversizeRefuse, gateway.OversizePolicy),
	"reload":           words(gateway.ReloadAuto, gateway.ReloadManual),
	"revision":         words(ahp.Version01, ahp.VersionDraft),
	"shell":            words(shell.Bash, shell.Sh, shell.Zsh, shell.PowerShell, shell.Cmd),
}

// auditDecisions are the decisions in the audit log: of settlements, of hook clients
// that decided alone, of reloads, and of messages that the policy was not asked about.
var auditDecisions = append(words(settle.Proceed, settle.Denied, settle.Ask, settle.Supplied, settle.Stopped, settle.Interrupted),
	"refused", "opened", "passed", "loaded", "unchanged", "rejected")

var closedFlagsOf = map[string]map[string][]string{
	"holdpoint lint":         {"kind": words(lintKinds...)},
	"holdpoint policy packs": {"show": packNames()},
	"holdpoint audit tail":   {"kind": words(auditKinds...), "decision": auditDecisions},
	"holdpoint audit query":  {"kind": words(auditKinds...), "decision": auditDecisions},
}

// folderFlags take a folder.
var folderFlags = []string{"audit-dir", "cwd", "home", "policy", "root", "secrets-dir", "vectors"}

// closedArgs are the first arguments of commands that take one of a few.
var closedArgs = map[string][]string{"holdpoint hook": gateway.Agents()}

func words[T ~string](of ...T) []string {
	list := make([]string, len(of))
	for i, x := range of {
		list[i] = string(x)
	}
	return list
}

func packNames() []string {
	var names []string
	for _, p := range policy.Packs() {
		names = append(names, p.Name)
	}
	return names
}

// completeValues teaches the shells' completion the values that flags take.
func completeValues(cmd *cobra.Command) error {
	var err error
	path := cmd.CommandPath()
	add := func(f *pflag.Flag) {
		values, ok := closedFlagsOf[path][f.Name]
		if !ok {
			values, ok = closedFlags[f.Name]
		}
		switch {
		case err != nil:
		case ok:
			err = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(slices.Clone(values), cobra.ShellCompDirectiveNoFileComp))
		case slices.Contains(folderFlags, f.Name):
			err = cmd.MarkFlagDirname(f.Name)
		}
	}
	cmd.LocalNonPersistentFlags().VisitAll(add)
	if cmd.PersistentFlags().Lookup("audit-dir") != nil {
		err = cmd.MarkPersistentFlagDirname("audit-dir")
	}
	if values, ok := closedArgs[path]; ok {
		cmd.ValidArgs = values
	}
	for _, sub := range cmd.Commands() {
		if err == nil {
			err = completeValues(sub)
		}
	}
	return err
}
