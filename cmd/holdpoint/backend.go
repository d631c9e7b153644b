package main

import (
	"errors"
	"io"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/holdpoint/holdpoint/backend"
	"github.com/holdpoint/holdpoint/gateway"
)

func newBackend(a *app) *cobra.Command {
	var (
		at                  place
		logFormat, logLevel string
	)
	cmd := &cobra.Command{
		Use:   "backend",
		Short: "Answer an AHP harness on stdin and stdout with the policy",
		Long: `Backend is the policy as an AHP backend for any harness that starts it: one
JSON-RPC message a line on stdin, answers on stdout, diagnostics on stderr. It
answers the revisions 0.1 and draft, each message in its own. It serves both
lifecycles of the stdio binding, persistent and per event, and keeps no record:
that is serve's part.

  {"id": "dev.holdpoint.policy",
   "transport": {"type": "stdio", "command": "holdpoint", "args": ["backend"], "lifecycle": "persistent"},
   "subscriptions": [{"events": ["tool.before"], "mode": "intercept", "timeoutMs": 2000, "failurePolicy": "fail-closed"}]}`,
		Args: noArgs,
		RunE: work(func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			log, err := newLogger(a.err, logFormat, logLevel)
			if err != nil {
				return err
			}
			if err := at.complete(); err != nil {
				return err
			}
			at.warn = func(s string) { log.Warn("project overlay", "problem", s) }
			d, err := at.decider()
			if err != nil {
				return err
			}
			srv, err := backend.New(gateway.PolicyHandler(d), backend.Options{
				Logger: log, Prompt: true, Versions: gateway.Revisions(), Manifest: gateway.BackendManifest(),
			})
			if err != nil {
				return err
			}
			// A harness asks about one operation and waits. With a second thread at
			// hand the runtime wakes it for every message, for nothing: that costs more
			// than the decision.
			if os.Getenv("GOMAXPROCS") == "" {
				runtime.GOMAXPROCS(1)
			}
			stop := onHangup(func() {
				if err := d.Load(); err != nil {
					log.Error("policy refused, the one before stays in force", "error", err.Error())
				} else {
					log.Info("policy loaded", "digest", d.Digest())
				}
			})
			defer stop()
			if a.in == io.Reader(os.Stdin) && a.out == io.Writer(os.Stdout) {
				err = backend.StdioMain(ctx, srv) // nothing but answers gets on stdout
			} else {
				err = srv.ServeStdio(ctx, a.in, a.out)
			}
			if ctx.Err() != nil {
				err = nil // we were asked to stop
			}
			return errors.Join(err, srv.Shutdown(ctx))
		}),
	}
	at.registerPolicy(cmd)
	cmd.Flags().StringVar(&logFormat, "log-format", "text", "text, json")
	cmd.Flags().StringVar(&logLevel, "log-level", "warn", "debug, info, warn, error")
	return cmd
}
