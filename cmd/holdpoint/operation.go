package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/shell"
)

// An operation says what a command without a daemon decides on: one of several
// sources, and where it happens.
type operation struct {
	at       place
	command  string
	event    string
	revision string
	agent    string
}

func (o *operation) register(cmd *cobra.Command) {
	o.at.register(cmd)
	f := cmd.Flags()
	f.StringVarP(&o.command, "command", "c", "", "decide on this command `text`")
	f.StringVar(&o.event, "event", "", "decide on the AHP event in this `file`")
	f.StringVar(&o.revision, "revision", "", "protocol revision of --event: 0.1, draft (default: what a message says, else 0.1)")
	f.StringVar(&o.agent, "agent", "", "decide on a payload of this `agent` on stdin: claude-code, codex")
}

// complete checks that exactly one source was given, of these or of the further
// ones that the command has, and completes the place.
func (o *operation) complete(cmd *cobra.Command, args []string, further ...bool) error {
	given := 0
	for _, set := range append(further, len(args) > 0, cmd.Flags().Changed("command"), o.event != "", o.agent != "") {
		if set {
			given++
		}
	}
	if given != 1 {
		list := "-- COMMAND, -c TEXT, --event FILE, --agent AGENT"
		if len(further) > 0 {
			list += ", --batch FILE"
		}
		return usagef("give one of: %s", list)
	}
	if len(args) > 0 && cmd.ArgsLenAtDash() != 0 {
		return usagef("put -- before the command: %s -- %s", cmd.CommandPath(), strings.Join(args, " "))
	}
	if err := checkRevision(o.revision); err != nil {
		return err
	}
	return o.at.complete()
}

// read returns the event to decide on; nil when an agent's payload stands for no
// operation.
func (o *operation) read(ctx context.Context, a *app, args []string) (*ahp.Event, error) {
	switch {
	case len(args) > 0:
		text, err := quoteArgv(args, shell.Dialect(o.at.dialect))
		if err != nil {
			return nil, usagef("%w", err)
		}
		return o.at.event("check", text), nil
	case o.event != "":
		ev, _, err := a.readEvent(ctx, o.event, ahp.Version(o.revision))
		return ev, err
	case o.agent != "":
		return a.readPayload(ctx, o.agent, &o.at)
	}
	return o.at.event("check", o.command), nil
}

// checkRevision checks a --revision, which may be empty.
func checkRevision(s string) error {
	if s == "" {
		return nil
	}
	return oneOf("revision", ahp.Version(s), ahp.Version01, ahp.VersionDraft)
}
