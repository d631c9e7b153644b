package main

import (
	"io"

	"github.com/spf13/cobra"
)

// An app holds what every subcommand uses: its streams and how to write on them.
type app struct {
	in     io.Reader
	out    io.Writer
	err    io.Writer
	colour bool // out is a terminal that wants colour
}

// commands lists the constructors of all subcommands, one file each.
var commands = []func(*app) *cobra.Command{
	newServe,
	newCheck,
	newHook,
	newBackend,
	newConform,
	newPolicy,
	newAudit,
	newInspect,
	newDoctor,
	newLint,
	newVersion,
}

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "holdpoint",
		Short: "Decides what a coding agent's tool calls may do, before they run",
		Long: `Holdpoint looks at each tool call of a coding agent before it runs, and denies
what your policy denies. Start with:

  holdpoint serve --demo
  holdpoint check -- git push --force

Exit codes: 0 done (check: nothing against it), 1 failed, 2 wrong usage,
10 denied and 11 needs an approval (check and inspect only).`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.CompletionOptions.HiddenDefaultCmd = false
	for _, construct := range commands {
		root.AddCommand(construct(a))
	}
	root.Version = versionLine()
	root.SetVersionTemplate("{{.Version}}")
	root.InitDefaultCompletionCmd()
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "completion":
			cmd.Short = "Write the completion script of a shell"
			cmd.Args = noArgs
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		case "help":
			cmd.Run, cmd.RunE, cmd.Args = nil, showHelp, cobra.ArbitraryArgs
		}
	}
	if err := completeValues(root); err != nil {
		panic(err) // a flag has two lists of values
	}
	return root
}

// showHelp is the command help: of another command, or of the program.
func showHelp(cmd *cobra.Command, args []string) error {
	at := cmd.Root()
	for _, name := range args {
		sub, _, err := at.Find([]string{name})
		if err != nil || sub == at {
			return unknownCommand(at, name)
		}
		at = sub
	}
	at.InitDefaultHelpFlag()
	return at.Help()
}

// work adapts the body of a subcommand: its errors are failures unless it made
// them usage errors, while errors of flags and arguments, which cobra reports
// before the body runs, stay usage errors.
func work(body func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error { return failed(body(cmd, args)) }
}
