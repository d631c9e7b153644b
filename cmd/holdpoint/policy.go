package main

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/facts/secret"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/policy/cel"
)

func newPolicy(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "policy",
		Short: "Test policies, explain what they decide, list the built-in packs",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPolicyTest(a), newPolicyExplain(a), newPolicyPacks(a))
	return cmd
}

// A policyTestReport is the --json output of policy test;
// docs/schemas/policy-test.schema.json describes it.
type policyTestReport struct {
	OK       bool                `json:"ok"`
	Passed   int                 `json:"passed"`
	Failed   int                 `json:"failed"`
	Problems []*policy.Problem   `json:"problems"` // of the policy, else of the files of cases
	Results  []policy.TestResult `json:"results"`
}

func newPolicyTest(a *app) *cobra.Command {
	var asJSON, verbose bool
	cmd := &cobra.Command{
		Use:   "test FOLDER",
		Short: "Run the cases beside a policy",
		Long: `Test loads the policy of a folder and runs the cases of its *_test.yaml files
against it. A case gives a command, or a tool with its input, and what must come
of it. Nothing is executed.

Exit codes: 0 all cases passed, 1 a case failed, there is none, or the policy or
a file of cases has problems, 2 wrong usage.`,
		Example: `  holdpoint policy test ~/.config/holdpoint/policy`,
		Args:    oneArg("the FOLDER of a policy"),
		RunE: work(func(cmd *cobra.Command, args []string) error {
			r, err := testPolicy(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				err = a.json(r)
			} else {
				err = a.printPolicyTest(r, args[0], verbose)
			}
			if err == nil && !r.OK {
				err = errSaid(exitFailed)
			}
			return err
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "list the cases that passed as well")
	return cmd
}

func testPolicy(ctx context.Context, dir string) (*policyTestReport, error) {
	engine, err := cel.New(cel.Options{})
	if err != nil {
		return nil, fmt.Errorf("policy engine: %w", err)
	}
	o := policy.Options{Engine: engine, Packs: []string{policy.DefaultPack}, SkipFolderCheck: true}
	problems, err := policy.LintDir(dir, o)
	if err != nil {
		return nil, err
	}
	r := &policyTestReport{Problems: orEmpty(problems), Results: []policy.TestResult{}}
	if len(problems) > 0 {
		return r, nil
	}
	set, err := policy.Load(dir, o)
	if err != nil {
		return nil, err
	}
	var base facts.Options
	if set.NeedsSecrets() {
		base.Secrets = secretFinder()
	}
	rep, err := policy.Test(ctx, dir, set, base)
	if err != nil {
		return nil, err
	}
	r.OK, r.Passed, r.Failed = rep.OK(), rep.Passed, rep.Failed
	r.Problems, r.Results = orEmpty(rep.Problems), orEmpty(rep.Results)
	return r, nil
}

func (a *app) printPolicyTest(r *policyTestReport, dir string, verbose bool) error {
	var p page
	for _, x := range r.Problems {
		place := printable(x.File)
		if x.Line > 0 {
			place = fmt.Sprintf("%s:%d:%d", place, x.Line, max(x.Column, 1))
		}
		p.line("%s: %s: %s", place, a.paint(red, "error"), printable(x.Message))
		if x.Snippet != "" {
			a.caretLines(&p, x.Snippet)
		}
	}
	for i := range r.Results {
		t := &r.Results[i]
		switch {
		case !t.OK:
			p.line("%s %s:%d: %s", a.paint(red, "FAIL"), printable(t.File), t.Line, printable(t.Name))
			for _, d := range t.Diff {
				p.line("     %s", printable(d))
			}
		case verbose:
			p.line("%s   %s:%d: %s", a.paint(green, "ok"), printable(t.File), t.Line, printable(t.Name))
		}
	}
	switch {
	case len(r.Problems) > 0 && len(r.Results) == 0:
		p.line("%s, no case was run", plural(len(r.Problems), "problem"))
	case len(r.Results) == 0:
		p.line("no cases: they are in *_test.yaml files of %s", printable(dir))
	default:
		p.line("%d passed, %d failed", r.Passed, r.Failed)
	}
	return a.emit(&p)
}

// An explainReport is the --json output of policy explain;
// docs/schemas/policy-explain.schema.json describes it.
type explainReport struct {
	checkResult
	FactsRead []string               `json:"factsRead"` // names of the facts that rules read
	Error     string                 `json:"error,omitempty"`
	Facts     []policy.ExplainedFact `json:"facts"`
	Rules     []policy.ExplainedRule `json:"rules"`
}

func newPolicyExplain(a *app) *cobra.Command {
	var (
		op     operation
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "explain [flags] -- COMMAND [ARG...]",
		Short: "Show the facts of one operation, the rules, and the decision",
		Long: `Explain decides on one operation as check does, and shows how: the facts that it
yields with the text that they were read from, what became of each rule, and the
decision. It takes the operation from the same places as check (see check
--help), and runs nothing. Values of secrets are replaced.

Exit codes: 0 explained, whatever the decision, 1 no decision could be made, 2
wrong usage.`,
		Example: `  holdpoint policy explain -- git push --force
  holdpoint policy explain -c 'curl -s https://example.com/install.sh | sh'
  holdpoint policy explain --agent claude-code < payload.json`,
		RunE: work(func(cmd *cobra.Command, args []string) error {
			if err := op.complete(cmd, args); err != nil {
				return err
			}
			op.at.warn = a.warn
			d, err := op.at.decider()
			if err != nil {
				return err
			}
			ev, err := op.read(cmd.Context(), a, args)
			if err != nil {
				return err
			}
			if ev == nil {
				return a.notExplained(d, asJSON)
			}
			return a.explain(cmd.Context(), d, ev, asJSON)
		}),
	}
	op.register(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

func (a *app) explain(ctx context.Context, d *gateway.Decider, ev *ahp.Event, asJSON bool) error {
	at := gateway.At{Elsewhere: ev.Session.CWD != "" && elsewhere(ev.Session.CWD)}
	dec, f, failure := d.DecideAt(ctx, ev, at)
	if f == nil {
		return fmt.Errorf("no decision could be made: %w", failure)
	}
	f, err := hideSecrets(ctx, f)
	if err != nil {
		return err
	}
	e := d.Set().ExplainDecision(ctx, f, dec)
	e.Rules = append(e.Rules, d.OverlayRules(ctx, ev, at, f)...)
	if err := maskNamed(ctx, e); err != nil {
		return err
	}
	switch {
	case asJSON:
		r := explainReport{
			checkResult: resultOf(ev, &e.Decision), FactsRead: orEmpty(e.Decision.FactsRead),
			Facts: orEmpty(e.Facts), Rules: orEmpty(e.Rules),
		}
		r.Policy = d.Digest()
		if failure != nil {
			r.Error = printable(failure.Error())
		}
		err = a.json(r)
	default:
		err = a.printExplanation(e)
	}
	if err == nil && failure != nil {
		err = fmt.Errorf("no decision could be made: %w", failure)
	}
	return err
}

// notExplained answers for a payload that stands for no operation.
func (a *app) notExplained(d *gateway.Decider, asJSON bool) error {
	if !asJSON {
		return a.notDecided(false)
	}
	return a.json(explainReport{
		checkResult: checkResult{Decision: "none", Flags: []policy.Fired{}, Shadow: []policy.Fired{}, Hazards: []string{}, Policy: d.Digest()},
		FactsRead:   []string{}, Facts: []policy.ExplainedFact{}, Rules: []policy.ExplainedRule{},
	})
}

// hideSecrets returns f with the secrets of its input, so that whoever shows text
// of it knows what to replace. Where no rule reads secrets nobody has looked for
// them yet, and the rules do not see the difference.
func hideSecrets(ctx context.Context, f *facts.Facts) (*facts.Facts, error) {
	if f.Tool == nil || len(f.Secrets) > 0 {
		return f, nil
	}
	find := secretFinder()
	with := *f
	var walk func(v any, pointer string) error
	walk = func(v any, pointer string) error {
		switch v := v.(type) {
		case string:
			found, err := find(ctx, v)
			if err != nil {
				return fmt.Errorf("the input could not be searched for secrets: %w", err)
			}
			for _, m := range found {
				with.Secrets = append(with.Secrets, facts.Secret{
					Kind: m.Kind, Redacted: facts.RedactSecret(v[m.Start:m.End]),
					Span: facts.Span{Pointer: pointer, Start: m.Start, End: m.End},
				})
			}
		case []any:
			for i, e := range v {
				if err := walk(e, fmt.Sprintf("%s/%d", pointer, i)); err != nil {
					return err
				}
			}
		case map[string]any:
			for k, e := range v {
				if err := walk(e, pointer+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(k)); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(f.Tool.Input, ""); err != nil {
		return nil, err
	}
	return &with, nil
}

// namedSecret is a value that its name calls a secret, whatever it looks like.
var namedSecret = regexp.MustCompile(`(?i)(?:(?:password|passwd|passphrase|token|secret|api[-_]?key|access[-_]?key)[\w-]*["']?\s*[=:]\s*|-[\w-]*(?:password|passwd|passphrase|token|secret|key)\s+)("[^"]*"|'[^']*'|[^\s"';|&]+)`)

// maskNamed replaces in e what the detector of credentials does not count as one,
// but a reader would: random-looking values, and those behind a telling name.
// Stars keep the length, so that carets stay where they are.
func maskNamed(ctx context.Context, e *policy.Explanation) error {
	find := secret.New(secret.Options{Generic: true}).Find
	for i := range e.Facts {
		for _, text := range []*string{&e.Facts[i].Text, &e.Facts[i].Source} {
			b := []byte(*text)
			found, err := find(ctx, *text)
			if err != nil {
				return fmt.Errorf("the input could not be searched for secrets: %w", err)
			}
			for _, m := range found {
				stars(b, m.Start, m.End)
			}
			for _, m := range namedSecret.FindAllSubmatchIndex(b, -1) {
				stars(b, m[2], m[3])
			}
			*text = string(b)
		}
	}
	return nil
}

// stars overwrites bytes: a character that is not ASCII becomes several stars.
func stars(b []byte, start, end int) {
	for i := start; i < end; i++ {
		b[i] = '*'
	}
}

// secretFinder finds values that are credentials by their form.
func secretFinder() facts.SecretFinder { return secret.New(secret.Options{}).Find }

// secretDetector is [secretFinder] for policies that read secrets.
func secretDetector() (facts.SecretFinder, error) { return secretFinder(), nil }

var (
	caretLine   = regexp.MustCompile(`^ +\| *\^+$`)
	outcomeLine = regexp.MustCompile(`^  (denied|would deny|flagged|asked|modified|sent|dropped|shadow|exempt|error|deny|ask) `)
)

// printExplanation writes e, with colour where somebody sees it.
func (a *app) printExplanation(e *policy.Explanation) error {
	var text bytes.Buffer
	if err := e.WriteText(&text); err != nil {
		return err
	}
	var p page
	for line := range strings.SplitSeq(strings.TrimRight(text.String(), "\n"), "\n") {
		line = printable(line)
		switch m := outcomeLine.FindStringSubmatchIndex(line); {
		case !strings.HasPrefix(line, " "):
			line = a.paint(bold, line)
		case caretLine.MatchString(line):
			line = a.paint(red, line)
		case m != nil:
			st := yellow
			if word := line[m[2]:m[3]]; word == policy.OutcomeDenied || word == policy.OutcomeError || word == string(policy.EffectDeny) {
				st = red
			}
			line = line[:m[2]] + a.paint(st, line[m[2]:m[3]]) + line[m[3]:]
		}
		p.line("%s", line)
	}
	return a.emit(&p)
}

func newPolicyPacks(a *app) *cobra.Command {
	var (
		asJSON bool
		show   string
	)
	cmd := &cobra.Command{
		Use:   "packs",
		Short: "List the packs that are part of this program, and their rules",
		Long: `Packs lists the policies that are part of this program. A policy folder without
a list of packs uses the pack "default"; rules of a pack are changed by overrides
in your own files. --show writes the rules of a pack, to start from.`,
		Args: noArgs,
		RunE: work(func(*cobra.Command, []string) error {
			if show != "" {
				if asJSON {
					return usagef("--show and --json do not go together")
				}
				return a.showPack(show)
			}
			packs := policy.Packs()
			if asJSON {
				return a.json(struct {
					Packs []policy.Pack `json:"packs"`
				}{packs})
			}
			return a.printPacks(packs)
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	cmd.Flags().StringVar(&show, "show", "", "write the rules of this `pack`")
	return cmd
}

func (a *app) printPacks(packs []policy.Pack) error {
	var p page
	for _, pack := range packs {
		p.line("%s", a.paint(bold, pack.Name))
		for _, line := range wrap(pack.Description, textWidth-2) {
			p.line("  %s", line)
		}
		width := 0
		for _, r := range pack.Rules {
			width = max(width, len(r.Name))
		}
		for _, r := range pack.Rules {
			effect := string(r.Effect)
			st := yellow
			switch {
			case !r.Enabled:
				effect, st = "off", dim
			case r.Effect == policy.EffectDeny:
				st = red
			}
			p.line("  %s  %-*s  %s", a.paint(st, fmt.Sprintf("%-4s", effect)), width, r.Name, printable(r.Reason))
		}
	}
	return a.emit(&p)
}

// showPack writes the rules of a pack.
func (a *app) showPack(name string) error {
	fsys, err := policy.PackFiles(name)
	if err != nil {
		return usagef("--show: %w", err)
	}
	files, err := fs.Glob(fsys, "*.yaml")
	if err != nil {
		return err
	}
	var p page
	p.line("# The built-in pack %s. In a file of your own it needs the line `packs: []`,", name)
	p.line("# or its rules would be there twice.")
	for _, file := range files {
		if caseFile(file) {
			continue
		}
		text, err := fs.ReadFile(fsys, file)
		if err != nil {
			return err
		}
		p.Write(text)
	}
	return a.emit(&p)
}
