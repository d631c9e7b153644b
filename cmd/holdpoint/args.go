package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// noArgs refuses every argument: of a group of commands it is a command that there is
// not.
func noArgs(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasAvailableSubCommands():
		return unknownCommand(cmd, args[0])
	}
	return fmt.Errorf("found the argument %q, and %s takes none", args[0], cmd.CommandPath())
}

// oneArg wants exactly one argument.
func oneArg(name string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch len(args) {
		case 1:
			return nil
		case 0:
			return errors.New("give " + name)
		}
		return fmt.Errorf("give %s, and no more: found %d arguments", name, len(args))
	}
}

// unknownCommand names the commands that may have been meant.
func unknownCommand(group *cobra.Command, name string) error {
	text := fmt.Sprintf("unknown command %q for %q", name, group.CommandPath())
	group.SuggestionsMinimumDistance = 2 // the library's own, which it sets too late for us
	if near := group.SuggestionsFor(name); len(near) > 0 {
		text += ", did you mean " + strings.Join(near, " or ") + "?"
	}
	return errors.New(text)
}

// wrongCommand is the error for args when they begin with a command that there is not,
// whose flags the parser would take for those of the group; otherwise it is err.
func wrongCommand(group *cobra.Command, args []string, err error) error {
	if !group.HasAvailableSubCommands() {
		return err
	}
	names := strings.Fields(group.CommandPath())[1:]
	if len(args) <= len(names) {
		return err
	}
	for i, name := range names {
		if args[i] != name { // flags stand before or between them
			return err
		}
	}
	if name := args[len(names)]; name != "--" && !strings.HasPrefix(name, "-") {
		return unknownCommand(group, name)
	}
	return err
}
