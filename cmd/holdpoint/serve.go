package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/sqlite"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/internal/folders"
)

// serveFlags are the flags of serve as they were given.
type serveFlags struct {
	demo, stay bool

	socket, ahpSocket    string
	listen               string
	tokenEnv, tokenFile  string
	tlsCert, tlsKey      string
	hosts                []string
	hooks                []string
	policy, reload       string
	policyTimeout        time.Duration
	failurePolicy        string
	auditDir             string
	auditSync            string
	auditOnFailure       string
	auditKeep            time.Duration
	auditMaxBytes        int64
	oversize             string
	maxPayload           int
	drain                time.Duration
	projectOverlays      bool
	logFormat, logLevel  string
	includeNativePayload bool
	rewriteAllows        bool
	secretsDir           string
	auditFacts           string
}

// Bounds below which an audit log cannot do its work: an empty one takes some tens
// of kilobytes, and one that forgets within a minute shows nothing to anybody.
const (
	minAuditBytes = 1 << 20
	minAuditKeep  = time.Minute
)

// The values of --audit-facts.
const (
	factsNames    = "names"
	factsRedacted = "redacted"
)

func newServe(a *app) *cobra.Command {
	f := &serveFlags{}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the gateway: decide for agents' hooks, and serve the policy as an AHP backend",
		Long: `Serve decides for every agent that is set up with holdpoint-hook, and answers AHP
harnesses on a socket of its own. It keeps an audit log, and reads the policy
again when it changes.

  serve --demo     plays a recorded session with a temporary log and exits
  serve --policy-timeout 2s --failure-policy fail-closed

The policy folder is --policy, else policy in your configuration folder if it is
there, else the default pack decides. SIGHUP reads it again. TERM and INT stop:
what is under way gets --drain to end.`,
		Args: noArgs,
		RunE: work(func(cmd *cobra.Command, _ []string) error {
			if f.demo {
				return a.demo(cmd.Context(), f.stay)
			}
			if f.stay {
				return usagef("--stay goes with --demo")
			}
			return a.serve(cmd, f)
		}),
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.demo, "demo", false, "play a recorded session in a temporary folder, show the decisions, and exit")
	fl.BoolVar(&f.stay, "stay", false, "with --demo: go on serving afterwards")
	fl.StringVar(&f.socket, "socket", "", "`path` of the hook socket (default: in your state folder)")
	fl.StringVar(&f.ahpSocket, "ahp-socket", "", "`path` of the AHP socket (default: ahp.sock beside the hook socket)")
	fl.StringVar(&f.listen, "listen", "", "serve AHP, health and metrics on this TCP `address` as well; needs a token")
	fl.StringVar(&f.tokenEnv, "token-env", "HOLDPOINT_TOKEN", "environment `variable` that holds the token for --listen")
	fl.StringVar(&f.tokenFile, "token-file", "", "`file` that holds the token for --listen")
	fl.StringVar(&f.tlsCert, "tls-cert", "", "certificate `file` for --listen; required beyond loopback")
	fl.StringVar(&f.tlsKey, "tls-key", "", "key `file` for --listen")
	fl.StringArrayVar(&f.hosts, "host", nil, "further host `name` under which --listen may be asked for; may be repeated")
	fl.StringArrayVar(&f.hooks, "hooks", nil, "registration `file` whose backends are asked behind the policy; may be repeated")
	fl.StringVar(&f.secretsDir, "secrets-dir", "", "`folder` of the files that a tokenRef of --hooks names, each readable by you alone")
	fl.BoolVar(&f.rewriteAllows, "rewrite-allows", false, "let a rule that changes an input also allow the call, past the user's own prompt, for agents that take no change without (codex)")
	fl.StringVar(&f.policy, "policy", "", "policy `folder`")
	fl.BoolVar(&f.projectOverlays, "project-overlays", false, "let the overlay of each workspace root, "+gateway.OverlayFile+", make decisions stricter")
	fl.StringVar(&f.reload, "reload", string(gateway.ReloadAuto), "when the policy is read again: auto, manual (SIGHUP only)")
	fl.DurationVar(&f.policyTimeout, "policy-timeout", 0, "time for the policy to decide; required")
	fl.StringVar(&f.failurePolicy, "failure-policy", "", "what a failure of the policy comes to: fail-open, fail-closed; required")
	fl.StringVar(&f.auditDir, "audit-dir", "", "`folder` of the audit log (default: audit in your state folder)")
	fl.StringVar(&f.auditSync, "audit-sync", string(audit.Batch), "when a decision's record must be on disk: always (before the answer), batch (within a second)")
	fl.StringVar(&f.auditOnFailure, "audit-on-failure", string(harness.RecordDeny), "what a decision that cannot be recorded comes to: deny, proceed")
	fl.DurationVar(&f.auditKeep, "audit-keep", 90*24*time.Hour, "how long records are kept; 0 keeps them for ever")
	fl.Int64Var(&f.auditMaxBytes, "audit-max-bytes", 1<<30, "most `bytes` of the audit log; the oldest records go first; 0 is no limit")
	fl.StringVar(&f.auditFacts, "audit-facts", factsNames, "what a record holds of the facts: names, redacted (short values, secrets replaced)")
	fl.StringVar(&f.oversize, "oversize", string(gateway.OversizeRefuse), "what a payload above --max-payload comes to: refuse, policy (the hook client's failure policy)")
	fl.IntVar(&f.maxPayload, "max-payload", 0, "most `bytes` of a hook's payload (default 8 MiB)")
	fl.DurationVar(&f.drain, "drain", gateway.DefaultDrain, "how long a stop waits for what is under way")
	fl.StringVar(&f.logFormat, "log-format", "text", "text, json")
	fl.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn, error")
	fl.BoolVar(&f.includeNativePayload, "include-native", false, "offer the agent's own payload to backends whose registration asks for it")
	return cmd
}

// serve runs the gateway until ctx ends.
func (a *app) serve(cmd *cobra.Command, f *serveFlags) (err error) {
	ctx := cmd.Context()
	if missing := f.missing(); missing != nil {
		return usagef("serve needs %s; there is no default, since either choice can hurt: see serve --help, or try serve --demo", strings.Join(missing, " and "))
	}
	log, err := newLogger(a.err, f.logFormat, f.logLevel)
	if err != nil {
		return err
	}
	o, set, err := f.options(log)
	if err != nil {
		return err
	}
	o.Logger = log
	dir := f.auditDir
	if dir == "" {
		state, err := folders.State()
		if err != nil {
			return err
		}
		dir = filepath.Join(state, "audit")
	}
	store, err := sqlite.Open(ctx, sqlite.Options{Dir: dir, Sync: audit.Sync(f.auditSync), MaxBytes: f.auditMaxBytes})
	if locked := (*audit.LockedError)(nil); errors.As(err, &locked) {
		return fmt.Errorf("%w; another daemon beside it needs its own --socket and --audit-dir", err)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	o.Audit = store
	o.Policy.Guard = append(o.Policy.Guard, dir)
	g, err := gateway.Open(ctx, o)
	if err != nil {
		return err
	}
	if err := set.write(o.Socket); err != nil {
		return errors.Join(err, g.Close())
	}
	if addr := g.TCPAddr(); addr != nil {
		log.Info("listening", "address", addr.String(), "tls", o.TCP.TLS != nil)
	}
	stop := onHangup(g.Reload)
	defer stop()
	return g.Run(ctx)
}

func (f *serveFlags) missing() []string {
	var missing []string
	if f.policyTimeout == 0 {
		missing = append(missing, "--policy-timeout")
	}
	if f.failurePolicy == "" {
		missing = append(missing, "--failure-policy")
	}
	return missing
}

// options turns flags into the gateway's options and reports all that is wrong.
func (f *serveFlags) options(log *slog.Logger) (gateway.Options, *settings, error) {
	var errs []error
	one := func(flag, v string, of ...string) {
		if !slices.Contains(of, v) {
			errs = append(errs, fmt.Errorf("--%s: %q is not one of %s", flag, v, strings.Join(of, ", ")))
		}
	}
	one("failure-policy", f.failurePolicy, string(ahp.FailOpen), string(ahp.FailClosed))
	one("reload", f.reload, string(gateway.ReloadAuto), string(gateway.ReloadManual))
	one("audit-sync", f.auditSync, string(audit.Always), string(audit.Batch))
	one("audit-on-failure", f.auditOnFailure, string(harness.RecordDeny), string(harness.RecordProceed))
	one("audit-facts", f.auditFacts, factsNames, factsRedacted)
	one("oversize", f.oversize, string(gateway.OversizeRefuse), string(gateway.OversizePolicy))
	if f.policyTimeout <= 0 || f.policyTimeout%time.Millisecond != 0 || f.policyTimeout > gateway.MaxBudget {
		errs = append(errs, fmt.Errorf("--policy-timeout: %v, expected whole milliseconds, at most %v", f.policyTimeout, gateway.MaxBudget))
	}
	if f.auditMaxBytes != 0 && f.auditMaxBytes < minAuditBytes {
		errs = append(errs, fmt.Errorf("--audit-max-bytes: %d, expected 0 (no limit) or at least %d", f.auditMaxBytes, minAuditBytes))
	}
	if f.auditKeep != 0 && f.auditKeep < minAuditKeep {
		errs = append(errs, fmt.Errorf("--audit-keep: %v, expected 0 (for ever) or at least %v", f.auditKeep, minAuditKeep))
	}
	if f.maxPayload < 0 {
		errs = append(errs, fmt.Errorf("--max-payload: %d, expected a number of bytes", f.maxPayload))
	}
	if f.drain < 0 {
		errs = append(errs, fmt.Errorf("--drain: %v, expected a time", f.drain))
	}
	if (f.tlsCert == "") != (f.tlsKey == "") {
		errs = append(errs, errors.New("--tls-cert and --tls-key go together"))
	}
	if f.listen == "" && (f.tlsCert != "" || f.tokenFile != "" || f.hosts != nil) {
		errs = append(errs, errors.New("--tls-cert, --token-file and --host go with --listen"))
	}
	if errs != nil {
		return gateway.Options{}, nil, &exitError{exitUsage, errors.Join(errs...)}
	}
	o := gateway.Options{
		Daemon:          true,
		Policy:          gateway.PolicySource{Home: gateway.UserHome(), Disk: true, Secrets: secretDetector, ProjectOverlays: f.projectOverlays},
		PolicyTimeout:   f.policyTimeout,
		FailurePolicy:   ahp.FailurePolicy(f.failurePolicy),
		Reload:          gateway.ReloadMode(f.reload),
		OnAuditFailure:  harness.RecordFailure(f.auditOnFailure),
		KeepFor:         f.auditKeep,
		KeepBytes:       f.auditMaxBytes / 10 * 8, // room to go on while it is pruned
		Oversize:        gateway.Oversize(f.oversize),
		MaxPayloadBytes: f.maxPayload,
		Drain:           f.drain,
		Native:          f.includeNativePayload,
		RewriteAllows:   f.rewriteAllows,
		FactValues:      f.auditFacts == factsRedacted,
		Version:         version(),
	}
	var err error
	if o.Socket, err = socketPath(f.socket); err != nil {
		errs = append(errs, err)
	}
	if f.ahpSocket != "" {
		if o.AHPSocket, err = filepath.Abs(f.ahpSocket); err != nil {
			errs = append(errs, err)
		}
	}
	if o.Policy.Dir, err = policyFolder(f.policy); err != nil {
		errs = append(errs, err)
	}
	reader := registrationReader{rewriteAllows: f.rewriteAllows, secrets: f.secretsDir, warn: func(p error) {
		log.Warn("registration", "problem", p.Error())
	}}
	if o.Hooks, o.Revision, err = reader.readAll(f.hooks); err != nil {
		errs = append(errs, err)
	}
	if f.secretsDir != "" {
		if o.Secrets, err = filepath.Abs(f.secretsDir); err != nil {
			errs = append(errs, err)
		}
	}
	set := &settings{
		Version: settingsVersion, Policy: o.Policy.Dir, Hooks: []string{},
		PolicyTimeout: f.policyTimeout.String(), FailurePolicy: f.failurePolicy, ProjectOverlays: f.projectOverlays,
		RewriteAllows: f.rewriteAllows, Secrets: o.Secrets,
	}
	for _, name := range f.hooks {
		abs, err := filepath.Abs(name)
		if err != nil {
			errs = append(errs, err)
		}
		set.Hooks = append(set.Hooks, abs)
		o.Policy.Guard = append(o.Policy.Guard, abs)
	}
	if f.listen != "" {
		tcp, err := f.tcp()
		if err != nil {
			errs = append(errs, err)
		}
		o.TCP = tcp
	}
	return o, set, errors.Join(errs...)
}

func (f *serveFlags) tcp() (*gateway.TCP, error) {
	t := &gateway.TCP{Addr: f.listen, Hosts: f.hosts, Token: os.Getenv(f.tokenEnv)}
	if f.tokenFile != "" {
		b, err := os.ReadFile(f.tokenFile)
		if err != nil {
			return nil, fmt.Errorf("--token-file: %w", err)
		}
		t.Token = strings.TrimSpace(string(b))
	}
	if f.tlsCert != "" {
		cert, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
		}
		t.TLS = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{cert}}
	}
	return t, nil
}

// policyFolder completes --policy: the folder in the user's configuration counts
// when nothing is named and it is there.
func policyFolder(dir string) (string, error) {
	if dir != "" {
		return filepath.Abs(dir)
	}
	config, err := folders.Config()
	if err != nil {
		return "", nil // no home, no configuration: the default pack
	}
	dir = filepath.Join(config, "policy")
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return dir, nil
}

// newLogger logs to w. Messages are constant; attributes name things and hold no
// payload.
func newLogger(w io.Writer, format, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, usagef("--log-level: %q is not one of debug, info, warn, error", level)
	}
	o := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, o)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), nil
	}
	return nil, usagef("--log-format: %q is not one of text, json", format)
}

// waitDone blocks until ctx ends.
func waitDone(ctx context.Context) { <-ctx.Done() }
