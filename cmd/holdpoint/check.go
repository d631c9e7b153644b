package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/shell"
)

// place holds the flags that say which policy decides and where a command would
// run. Every command that decides without a daemon has them.
type place struct {
	policyDir string
	cwd       string
	roots     []string
	home      string
	dialect   string

	// overlays hears the overlays of projects; warn is told of those left out.
	overlays bool
	warn     func(string)

	homeGiven, rootsGiven bool
}

func (p *place) register(cmd *cobra.Command) {
	p.registerPolicy(cmd)
	f := cmd.Flags()
	f.StringVar(&p.cwd, "cwd", "", "working `folder` of the command (default: the current one)")
	f.StringArrayVar(&p.roots, "root", nil, "workspace root `folder`; may be repeated (default: the repository that holds --cwd)")
}

// registerPolicy adds the flags that do not depend on one command.
func (p *place) registerPolicy(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.policyDir, "policy", "", "policy `folder` (default: the one in your configuration folder, as with serve; else the default pack)")
	f.StringVar(&p.home, "home", "", "home `folder` of the user (default: yours)")
	f.BoolVar(&p.overlays, "project-overlays", false, "let the overlay of each workspace root, "+gateway.OverlayFile+", make decisions stricter")
	f.StringVar(&p.dialect, "shell", "", "`dialect` of commands whose tool does not say: bash, sh, zsh, powershell, cmd")
}

// complete fills in what was not given.
func (p *place) complete() error {
	switch shell.Dialect(p.dialect) {
	case shell.Unknown, shell.Bash, shell.Sh, shell.Zsh, shell.PowerShell, shell.Cmd:
	default:
		return usagef("--shell: %q is not one of bash, sh, zsh, powershell, cmd", p.dialect)
	}
	p.homeGiven, p.rootsGiven = p.home != "", p.roots != nil
	if p.home == "" {
		p.home = gateway.UserHome()
	}
	if p.cwd == "" {
		wd, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("the working folder is not known, give --cwd: %w", err)
		}
		p.cwd = wd
	}
	// Folders of another system are taken as they are.
	if dialect := shell.Dialect(p.dialect); dialect != shell.PowerShell && dialect != shell.Cmd {
		dirs := []*string{&p.cwd}
		for i := range p.roots {
			dirs = append(dirs, &p.roots[i])
		}
		for _, dir := range dirs {
			abs, err := filepath.Abs(*dir)
			if err != nil {
				return err
			}
			*dir = abs
		}
	}
	if p.roots == nil {
		ws := gateway.FindWorkspace(p.cwd, p.home)
		p.roots = ws.Roots
	}
	return nil
}

func (p *place) decider() (*gateway.Decider, error) {
	dir, err := policyFolder(p.policyDir) // what serve would decide by
	if err != nil {
		return nil, err
	}
	return gateway.NewDecider(gateway.PolicySource{
		Dir: dir, Home: p.home, Dialect: shell.Dialect(p.dialect), Disk: true, Secrets: secretDetector,
		ProjectOverlays: p.overlays, OnOverlay: func(r gateway.OverlayReport) {
			if r.Err != nil && p.warn != nil {
				p.warn(r.String())
			}
		},
	})
}

// event makes the event of one shell command.
func (p *place) event(id, command string) *ahp.Event {
	return commandEvent(id, command, p.cwd, p.roots)
}

func newCheck(a *app) *cobra.Command {
	var (
		op     operation
		batch  string
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "check [flags] -- COMMAND [ARG...]",
		Short: "Decide on one operation without a daemon",
		Long: `Check decides on an operation by the policy that serve would use, and runs
nothing. The operation is one of

  -- COMMAND ARG...     one command; its arguments are taken as they are
  -c TEXT               a command line, read as the shell reads it
  --event FILE          an AHP event, or a whole hooks/intercept message (- is stdin)
  --agent AGENT         the payload of an agent's hook, on stdin
  --batch FILE          JSON lines with id, command, cwd, workspaceRoots (- is stdin)

Exit codes: 0 nothing against it, 10 denied, 11 needs an approval, 1 failed, 2
wrong usage. A batch exits with 0 when every line was answered, whatever the
answers, else with 1.`,
		Example: `  holdpoint check -- git push --force
  holdpoint check -c 'curl -s https://example.com/install.sh | sh'
  holdpoint check --agent claude-code < payload.json`,
		RunE: work(func(cmd *cobra.Command, args []string) error {
			if err := op.complete(cmd, args, batch != ""); err != nil {
				return err
			}
			op.at.warn = a.warn
			d, err := op.at.decider()
			if err != nil {
				return err
			}
			if batch != "" {
				return a.checkBatch(cmd.Context(), d, &op.at, batch)
			}
			ev, err := op.read(cmd.Context(), a, args)
			if err != nil {
				return err
			}
			if ev == nil {
				return a.notDecided(asJSON)
			}
			return a.check(cmd.Context(), d, ev, asJSON)
		}),
	}
	op.register(cmd)
	f := cmd.Flags()
	f.StringVar(&batch, "batch", "", "decide on each line of this JSONL `file`")
	f.BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// A checkResult is the --json output of check; docs/schemas/check.schema.json
// describes it.
type checkResult struct {
	Decision    string         `json:"decision"` // deny, ask or none
	Rule        string         `json:"rule,omitempty"`
	Reason      string         `json:"reason,omitempty"`
	Message     string         `json:"message,omitempty"`
	Code        string         `json:"code,omitempty"`
	Severity    string         `json:"severity,omitempty"`
	Flags       []policy.Fired `json:"flags"`
	Shadow      []policy.Fired `json:"shadow"`
	Hazards     []string       `json:"hazards"`
	Undecidable bool           `json:"undecidable"`
	Breach      string         `json:"breach,omitempty"`
	Tool        string         `json:"tool,omitempty"`
	Policy      string         `json:"policy"`

	// What else the rules do to an operation that is not denied.
	Asks       []policy.Fired  `json:"asks,omitempty"`
	Changes    []changeResult  `json:"changes,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"` // that would run, when it was changed
	Messages   []noticeResult  `json:"messages,omitempty"`
	Injections []noticeResult  `json:"injections,omitempty"`
}

type changeResult struct {
	Rule      string          `json:"rule"`
	Operation ahp.Operation   `json:"operation"`
	Value     json.RawMessage `json:"value"`
}

type noticeResult struct {
	Rule      string       `json:"rule"`
	Text      string       `json:"text"`
	DeliverAt ahp.Delivery `json:"deliverAt,omitempty"`
}

func (a *app) check(ctx context.Context, d *gateway.Decider, ev *ahp.Event, asJSON bool) error {
	dec, _, err := d.DecideAt(ctx, ev, gateway.At{Elsewhere: ev.Session.CWD != "" && elsewhere(ev.Session.CWD)})
	if err != nil {
		return fmt.Errorf("no decision could be made: %w", err)
	}
	if asJSON {
		if err := a.json(resultOf(ev, &dec)); err != nil {
			return err
		}
	} else {
		if err := a.printDecision(&dec); err != nil {
			return err
		}
	}
	switch {
	case dec.Denied():
		return &exitError{exitDenied, nil}
	case dec.Effect == policy.EffectAsk:
		return &exitError{exitAsk, nil}
	}
	return nil
}

// resultOf is a decision about ev as check writes it.
func resultOf(ev *ahp.Event, dec *policy.Decision) checkResult {
	res := checkResult{
		Decision: "none", Flags: orEmpty(dec.Flags), Shadow: orEmpty(dec.Shadow), Hazards: orEmpty(dec.Hazards),
		Undecidable: dec.Undecidable, Breach: dec.Breach, Policy: dec.Digest,
	}
	if ev.Tool != nil {
		res.Tool = ev.Tool.Name
	}
	if dec.Denied() || dec.Effect == policy.EffectAsk {
		res.Decision, res.Rule, res.Reason, res.Message = "deny", dec.Rule, dec.Reason, dec.Message
		res.Code, res.Severity = dec.Code, string(dec.Severity)
	}
	if dec.Effect == policy.EffectAsk {
		res.Decision = "ask"
	}
	res.Asks, res.Input = dec.Asks, json.RawMessage(dec.Input)
	for _, c := range dec.Changes {
		res.Changes = append(res.Changes, changeResult{c.Rule, c.Operation, json.RawMessage(c.Value)})
	}
	for _, n := range dec.Notices {
		x := noticeResult{n.Rule, n.Text, n.DeliverAt}
		if n.Effect == policy.EffectMessage {
			res.Messages = append(res.Messages, x)
		} else {
			res.Injections = append(res.Injections, x)
		}
	}
	return res
}

// printDecision writes a decision for people.
func (a *app) printDecision(dec *policy.Decision) error {
	var p page
	switch {
	case dec.Denied():
		p.line("%s  %s", a.paint(red, "denied"), printable(dec.Rule))
		for _, line := range wrap(printable(dec.Reason), textWidth-8) {
			p.line("        %s", line)
		}
	case dec.Effect == policy.EffectAsk:
		p.line("%s     %s", a.paint(yellow, "ask"), printable(dec.Rule))
		for _, line := range wrap(printable(dec.Reason), textWidth-8) {
			p.line("        %s", line)
		}
	default:
		p.line("%s", a.paint(green, "nothing against it"))
	}
	for _, c := range dec.Changes {
		p.line("%s  %s: %s %s", a.paint(yellow, "change"), printable(c.Rule), c.Operation, printable(cut(string(c.Value), 400)))
	}
	if len(dec.Changes) > 0 {
		p.line("input   %s", printable(cut(string(dec.Input), 400)))
	}
	for _, n := range dec.Notices {
		if n.Effect == policy.EffectMessage {
			p.line("message %s: %s", printable(n.Rule), printable(n.Text))
		} else {
			p.line("inject  %s, %s: %s", printable(n.Rule), n.DeliverAt, printable(cut(n.Text, 400)))
		}
	}
	for _, f := range dec.Flags {
		p.line("%s %s: %s", a.paint(yellow, "flagged"), printable(f.Rule), printable(f.Reason))
	}
	for _, f := range dec.Shadow {
		p.line("%s  %s would %s it: %s", a.paint(dim, "shadow"), printable(f.Rule), shadowVerb(f.Effect), printable(f.Reason))
	}
	if len(dec.Hazards) > 0 {
		p.line("hazards %s", printable(strings.Join(dec.Hazards, ", ")))
	}
	if dec.Undecidable {
		p.line("%s", a.paint(dim, "part of what would run is not in the text"))
	}
	return a.emit(&p)
}

// shadowVerb says what a rule in shadow mode would do to an operation.
func shadowVerb(e policy.Effect) string {
	switch e {
	case policy.EffectAsk:
		return "ask about"
	case policy.EffectModify:
		return "change"
	case policy.EffectMessage, policy.EffectInject:
		return "comment on"
	case policy.EffectDeny, policy.EffectFlag, policy.EffectNone:
	}
	return "deny"
}

// notDecided answers for a payload that stands for no operation.
func (a *app) notDecided(asJSON bool) error {
	if asJSON {
		return a.json(checkResult{Decision: "none", Flags: []policy.Fired{}, Shadow: []policy.Fired{}, Hazards: []string{}})
	}
	var p page
	p.line("nothing to decide: this event stands for no operation")
	return a.emit(&p)
}

func orEmpty[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return slices.Clone(s)
}

// maxInputBytes bounds a file or a payload that is read whole.
const maxInputBytes = 16 << 20

// openInput opens the file name; "-" is stdin, until ctx ends.
func (a *app) openInput(ctx context.Context, name string) (io.ReadCloser, error) {
	if name == "-" {
		return a.stdin(ctx), nil
	}
	return os.Open(name)
}

// readInput reads the file name whole, or stdin as [app.openInput] does.
func (a *app) readInput(ctx context.Context, name string) ([]byte, error) {
	r, err := a.openInput(ctx, name)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(io.LimitReader(r, maxInputBytes+1))
	if errors.Is(err, errInterrupted) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, withoutName(err))
	}
	if len(b) > maxInputBytes {
		return nil, fmt.Errorf("%s: more than %d bytes", name, maxInputBytes)
	}
	return b, nil
}
