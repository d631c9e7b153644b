package main

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"
	"mvdan.cc/sh/v3/shell"

	"github.com/holdpoint/holdpoint/agenthooks/ctk"
	"github.com/holdpoint/holdpoint/internal/atomicfile"
)

// conformRun holds the flags of conform host.
type conformRun struct {
	vectors string
	golden  string
	harness string
	report  string
	own     bool
	asJSON  bool
	timeout time.Duration
}

func newConform(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "conform",
		Short: "Run conformance vectors against a host of Agent Hooks",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConformHost(a), newConformServe(a))
	return cmd
}

func newConformHost(a *app) *cobra.Command {
	var c conformRun
	cmd := &cobra.Command{
		Use:   "host",
		Short: "Judge a host by AGENT-HOOKS-0.1 vectors",
		Long: `Host runs AGENT-HOOKS-0.1 conformance vectors and says which of them hold.
Without --harness it judges the host that is built into holdpoint. With it, CMD
is started and spoken to over its stdin and stdout, one JSON message per line;
docs/conform-host.md has the messages and an example in Python.

Without --vectors the vectors that holdpoint brings along are run. Exit codes:
0 all that apply pass and there is one, 1 one failed, none was run or the corpus
is not usable, 2 wrong usage.
A result is no statement about the security of a host.`,
		Example: `  holdpoint conform host --vectors vectors/ --golden golden/identity.json
  holdpoint conform host --vectors vectors/ --harness 'python3 host.py' --report report.md`,
		Args: noArgs,
		RunE: work(func(cmd *cobra.Command, _ []string) error {
			// An unset variable of a script must not judge another host, or nothing.
			for _, name := range []string{"vectors", "golden", "harness", "report"} {
				if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
					return usagef("--%s: empty", name)
				}
			}
			if c.timeout <= 0 {
				return usagef("--timeout: %v is not more than zero", c.timeout)
			}
			return a.conformHost(cmd.Context(), &c)
		}),
	}
	f := cmd.Flags()
	f.StringVar(&c.vectors, "vectors", "", "`folder` with AH-CTK-*.json")
	f.StringVar(&c.golden, "golden", "", "golden identity `file`, checked against holdpoint's own identities")
	f.StringVar(&c.harness, "harness", "", "`command` of the host to judge, split like a shell line but run without a shell")
	f.StringVar(&c.report, "report", "", "write a report to this `file`: .md is Markdown, .json is JSON, else text")
	f.BoolVar(&c.own, "own", false, "also run the vectors that holdpoint brings along")
	f.BoolVar(&c.asJSON, "json", false, "write the report as JSON")
	f.DurationVar(&c.timeout, "timeout", ctk.DefaultTimeout, "bound of one vector")
	return cmd
}

func newConformServe(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Put holdpoint's own host at the host's end of the line protocol",
		Long: `Serve speaks the protocol of docs/conform-host.md on stdin and stdout, as the
host. It is for kits in other languages that want to judge holdpoint's host.`,
		Args: noArgs,
		RunE: work(func(cmd *cobra.Command, _ []string) error {
			return ctk.Serve(cmd.Context(), ctk.Reference(), a.in, a.out)
		}),
	}
}

func (a *app) conformHost(ctx context.Context, c *conformRun) error {
	var vectors []*ctk.Vector
	if c.vectors != "" {
		var err error
		if vectors, err = ctk.Load(c.vectors); err != nil {
			return fmt.Errorf("%s: %w", c.vectors, err)
		}
	}
	if c.own || c.vectors == "" {
		vectors = append(vectors, ctk.Builtin()...)
	}
	var golden []ctk.VectorResult
	if c.golden != "" {
		text, err := a.readInput(ctx, c.golden)
		if err != nil {
			return err
		}
		if golden, err = ctk.Golden(filepath.Base(c.golden), text); err != nil {
			return err
		}
	}
	host := ctk.Reference()
	if c.harness != "" {
		command, err := shell.Fields(c.harness, func(string) string { return "" })
		if err != nil || len(command) == 0 {
			return usagef("--harness: %q is no command", c.harness)
		}
		p, err := ctk.Process(ctk.ProcessOptions{Command: command})
		if err != nil {
			return usagef("--harness: %w", err)
		}
		defer func() { _ = p.Close() }() // the report is written; how it ends is its own affair
		host = p
	}
	report, err := ctk.Conform(ctx, host, vectors, ctk.Options{Timeout: c.timeout})
	if err != nil {
		return err
	}
	report.Golden = golden
	if err := a.writeConform(report, c); err != nil {
		return err
	}
	t := report.Total()
	if t.Failed > 0 {
		return &exitError{exitFailed, nil}
	}
	if t.Passed == 0 {
		return fmt.Errorf("no vector was run: all %d were skipped, which shows nothing", t.Skipped)
	}
	return nil
}

func (a *app) writeConform(r *ctk.Report, c *conformRun) error {
	if c.report != "" {
		var b bytes.Buffer
		var err error
		switch strings.ToLower(filepath.Ext(c.report)) {
		case ".md":
			err = r.WriteMarkdown(&b)
		case ".json":
			err = json.MarshalWrite(&b, r)
		default:
			err = r.WriteText(&b)
		}
		if err == nil {
			err = atomicfile.Write(c.report, b.Bytes(), 0o644)
		}
		if err != nil {
			return fmt.Errorf("--report: %w", err)
		}
	}
	t := r.Total()
	closing := fmt.Sprintf("%d passed, %d failed, %d skipped\n", t.Passed, t.Failed, t.Skipped)
	if c.asJSON { // stdout is for the program that reads it
		fmt.Fprint(a.err, closing)
		return a.json(r)
	}
	if err := r.WriteText(a.out); err != nil {
		return err
	}
	_, err := fmt.Fprint(a.out, "\n", closing)
	return err
}
