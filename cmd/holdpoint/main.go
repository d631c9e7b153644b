// Command holdpoint decides what a coding agent's tool calls may do: as a
// daemon behind the agent's hooks (serve), or once from the command line (check).
package main

import (
	"context"
	"errors"
	"io"
	"log"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The first signal asks; a second one ends the process, also where it waits for
	// input that never comes.
	context.AfterFunc(ctx, stop)
	// A reader that has gone is an error of the write, not the end of the process:
	// what was begun is still cleaned up. Notify rather than Ignore, which child
	// processes would inherit.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	// The HTTP library writes to the standard logger when a peer talks out of turn,
	// and quotes it. What peers send is in no log of ours.
	log.SetOutput(io.Discard)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the program without its process: it runs args until it is done or ctx
// ends, and returns the exit code ([exitOK] and its neighbours).
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{in: stdin, out: stdout, err: stderr, colour: colourFor(stdout, os.Getenv)}
	root := newRoot(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	var known *exitError
	if err != nil && !errors.As(err, &known) {
		err = wrongCommand(cmd, args, err)
	}
	return a.report(err, cmd.CommandPath())
}
