package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/policy/cel"
)

// A lintKind says what a file holds.
type lintKind string

const (
	lintMessage      = lintKind(wire01.KindMessage)
	lintEvent        = lintKind(wire01.KindEvent)
	lintRegistration = lintKind(wire01.KindRegistration)
	lintManifest     = lintKind(wiredraft.KindManifest) // revision draft only
	lintPolicy       = lintKind("policy")
)

var lintKinds = []lintKind{lintMessage, lintEvent, lintRegistration, lintManifest, lintPolicy}

// A lintRun is what the flags of lint say.
type lintRun struct {
	kind     lintKind
	revision ahp.Version
	request  []byte // nil without --request
}

// A lintReport is the --json output of lint; docs/schemas/lint.schema.json
// describes it.
type lintReport struct {
	Files    []lintFile `json:"files"`
	Errors   int        `json:"errors"` // files that could not be read count too
	Warnings int        `json:"warnings"`
}

// A lintFile is what was found in one file.
type lintFile struct {
	File     string        `json:"file"`
	Kind     lintKind      `json:"kind,omitempty"`  // absent when the file could not be read
	Error    string        `json:"error,omitempty"` // why it could not be read
	Problems []lintProblem `json:"problems"`
}

// A lintProblem is one finding. The rules of policies say what was found and
// what was expected in one message.
type lintProblem struct {
	File     string          `json:"file"`
	Pointer  string          `json:"pointer"`
	Line     int             `json:"line"`
	Column   int             `json:"column"`
	Found    string          `json:"found,omitempty"`
	Expected string          `json:"expected,omitempty"`
	Message  string          `json:"message"`
	Severity wire01.Severity `json:"severity"`
	// RefusedBy says that the document is valid, and who would refuse it all the same.
	RefusedBy string `json:"refusedBy,omitempty"`

	snippet string // the line and a caret, where it may be shown
}

func newLint(a *app) *cobra.Command {
	var (
		kind, revision, request string
		strict, asJSON          bool
	)
	cmd := &cobra.Command{
		Use:   "lint FILE...",
		Short: "Report every problem of messages, events, registrations and policies",
		Long: `Lint reads files (- is stdin) and reports every problem of each: where it is, what
was found and what belongs there. A file that ends in .jsonl has one document on
each line. A folder is a policy, and its files are judged together.

What a file holds is guessed from its name and its outermost members, unless
--kind says it. Its revision of AHP is the protocolVersion in it, and 0.1 where
there is none, unless --revision says it. Values of the file are not repeated in
problems, except for the lines of policies.

A valid registration may ask for what serve does not do, and serve refuses it then:
that is a warning, for other harnesses may do it.

With --request, each file is an answer to the request in that file, of revision
draft: its id, its event and what it offers bind the answer. Without it an answer
is judged by what any request could offer.

Exit codes: 0 no errors (there may be warnings), 1 errors or a file that cannot
be read, 2 wrong usage. With --strict warnings count as errors.`,
		Example: `  holdpoint lint hooks.json
  holdpoint lint --kind message messages.jsonl
  holdpoint lint --revision draft --request request.json response.json
  holdpoint lint ~/.config/holdpoint/policy`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("give FILE, or - for stdin")
			}
			return nil
		},
		RunE: work(func(cmd *cobra.Command, args []string) error {
			if kind != "" {
				if err := oneOf("kind", lintKind(kind), lintKinds...); err != nil {
					return err
				}
			}
			run := lintRun{kind: lintKind(kind), revision: ahp.Version(revision)}
			if revision != "" {
				if err := oneOf("revision", run.revision, ahp.Version01, ahp.VersionDraft); err != nil {
					return err
				}
			}
			if request != "" {
				if err := a.lintRequest(cmd.Context(), &run, request); err != nil {
					return err
				}
			}
			if run.kind == lintManifest {
				run.revision = cmp.Or(run.revision, ahp.VersionDraft)
				if run.revision != ahp.VersionDraft {
					return usagef("--kind manifest: revision %s has no manifests", run.revision)
				}
			}
			report, err := a.lintAll(cmd.Context(), args, &run)
			if err != nil {
				return err
			}
			if asJSON {
				err = a.json(report)
			} else {
				err = a.printLint(report)
			}
			if err == nil && (report.Errors > 0 || strict && report.Warnings > 0) {
				err = errSaid(exitFailed)
			}
			return err
		}),
	}
	cmd.Flags().StringVar(&kind, "kind", "", "what the files hold: message, event, registration, manifest, policy (default: guessed)")
	cmd.Flags().StringVar(&revision, "revision", "", "revision of AHP: 0.1, draft (default: the one that a file names, or 0.1)")
	cmd.Flags().StringVar(&request, "request", "", "`file` with the request that the files answer")
	cmd.Flags().BoolVar(&strict, "strict", false, "fail on warnings, too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// lintRequest reads the request that the files answer.
func (a *app) lintRequest(ctx context.Context, run *lintRun, name string) error {
	data, err := a.readInput(ctx, name)
	if err != nil {
		return err
	}
	run.revision = cmp.Or(run.revision, ahp.VersionDraft)
	switch {
	case run.revision != ahp.VersionDraft:
		return usagef("--request: only with --revision draft")
	case run.kind != "" && run.kind != lintMessage:
		return usagef("--request: only with messages")
	}
	run.kind, run.request = lintMessage, data
	return nil
}

func (a *app) lintAll(ctx context.Context, names []string, run *lintRun) (*lintReport, error) {
	engine, err := cel.New(cel.Options{})
	if err != nil {
		return nil, fmt.Errorf("policy engine: %w", err)
	}
	report := &lintReport{Files: []lintFile{}}
	for _, name := range names {
		f, err := a.lintFile(ctx, name, run, engine)
		if err != nil {
			f.Error = printable(err.Error())
			report.Errors++
		}
		for _, p := range f.Problems {
			if p.Severity == wire01.SeverityWarning {
				report.Warnings++
			} else {
				report.Errors++
			}
		}
		report.Files = append(report.Files, f)
	}
	return report, nil
}

// lintFile judges one file or one policy folder. The error says why it could not
// be read.
func (a *app) lintFile(ctx context.Context, name string, run *lintRun, engine policy.Engine) (lintFile, error) {
	kind := run.kind
	f := lintFile{File: name, Problems: []lintProblem{}}
	if name == "-" {
		f.File = "stdin"
	}
	o := policy.Options{Engine: engine, Packs: []string{policy.DefaultPack}, SkipFolderCheck: true}
	if fi, err := os.Stat(name); err == nil && fi.IsDir() && name != "-" {
		if kind != "" && kind != lintPolicy {
			return f, fmt.Errorf("a folder, and only a policy is one; expected a file that holds a %s", kind)
		}
		problems, err := policy.LintDir(name, o)
		if err != nil {
			return f, err
		}
		if !hasPolicyFile(name) {
			return f, errors.New("no policy file (*.yaml, *.yml) in this folder")
		}
		f.Kind = lintPolicy
		f.addPolicy(problems)
		return f, nil
	}
	data, err := a.readInput(ctx, name)
	if err != nil {
		return f, errors.New(strings.TrimPrefix(withoutName(err).Error(), name+": "))
	}
	if kind == "" && policyText(f.File, data) {
		kind = lintPolicy
	}
	if kind == lintPolicy {
		if caseFile(f.File) {
			return f, errors.New("a file of test cases, which are checked as they are run: holdpoint policy test FOLDER")
		}
		f.Kind = lintPolicy
		if strings.HasSuffix(filepath.ToSlash(name), "/"+gateway.OverlayFile) || filepath.ToSlash(name) == gateway.OverlayFile {
			f.addPolicy(policy.LintOverlay(f.File, data, o))
			return f, nil
		}
		f.addPolicy(policy.Lint(f.File, data, o))
		return f, nil
	}
	version := run.revision
	if version == "" {
		version = wiredraft.Revision(data)
	}
	if version == ahp.VersionDraft {
		problems, guessed := wiredraft.Lint(f.File, data, wiredraft.Kind(kind), wiredraft.LintOptions{Request: run.request})
		f.Kind = lintKind(guessed)
		for _, p := range problems {
			f.add(wire01.Problem{
				File: p.File, Pointer: p.Pointer, Line: p.Line, Column: p.Column, Found: p.Found, Expected: p.Expected,
				Severity: wire01.Severity(p.Severity),
			})
		}
		f.addServe(data, version)
		return f, nil
	}
	problems, guessed := wire01.Lint(f.File, data, wire01.Kind(kind))
	f.Kind = lintKind(guessed)
	for _, p := range problems {
		f.add(p)
	}
	f.addServe(data, version)
	return f, nil
}

// serveProgram is who refuses what a registration may ask of another harness.
const serveProgram = "serve"

// addServe adds what serve refuses of a registration that is valid.
func (f *lintFile) addServe(data []byte, v ahp.Version) {
	if f.Kind != lintRegistration || slices.ContainsFunc(f.Problems, func(p lintProblem) bool { return p.Severity == wire01.SeverityError }) {
		return
	}
	// The text may be several documents, which serve takes none of.
	reg, _, err := parseRegistration(f.File, data, v, nil)
	if err != nil {
		return
	}
	// Whether there is a folder of secrets depends on how serve is started.
	refused := refusedByServe(f.File, data, &gateway.Options{Hooks: reg.Hooks, Revision: v, Secrets: "any"})
	for _, p := range refused {
		p.Severity = wire01.SeverityWarning
		f.add(p)
		x := &f.Problems[len(f.Problems)-1]
		x.Message, x.RefusedBy = x.Message+"; holdpoint serve refuses it", serveProgram
	}
	slices.SortStableFunc(f.Problems, func(a, b lintProblem) int { return cmp.Or(a.Line-b.Line, a.Column-b.Column) })
}

func (f *lintFile) add(p wire01.Problem) {
	f.Problems = append(f.Problems, lintProblem{
		File: p.File, Pointer: p.Pointer, Line: p.Line, Column: p.Column, Found: p.Found, Expected: p.Expected,
		Message: "found " + p.Found + ", expected " + p.Expected, Severity: p.Severity,
	})
}

func (f *lintFile) addPolicy(problems []*policy.Problem) {
	for _, p := range problems {
		f.Problems = append(f.Problems, lintProblem{
			File: p.File, Pointer: p.Pointer, Line: p.Line, Column: p.Column, Message: p.Message,
			Severity: wire01.SeverityError, snippet: p.Snippet,
		})
	}
}

// policyText tells a policy from JSON: by its name, or because its first
// character begins no JSON value that the protocol has.
func policyText(name string, data []byte) bool {
	switch {
	case strings.HasSuffix(name, ".yaml"), strings.HasSuffix(name, ".yml"):
		return true
	case strings.HasSuffix(name, ".json"), strings.HasSuffix(name, ".jsonl"):
		return false
	}
	text := bytes.TrimSpace(bytes.TrimPrefix(data, []byte("\ufeff")))
	if len(text) == 0 || text[0] == '{' || text[0] == '[' || !utf8.Valid(text) {
		return false
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	return bytes.HasPrefix(first, []byte("#")) || bytes.HasPrefix(first, []byte("---")) || bytes.Contains(first, []byte(":"))
}

func caseFile(name string) bool {
	return strings.HasSuffix(name, "_test.yaml") || strings.HasSuffix(name, "_test.yml")
}

func hasPolicyFile(dir string) bool {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return false
	}
	for _, e := range entries {
		if n := e.Name(); !e.IsDir() && !caseFile(n) && (strings.HasSuffix(n, ".yaml") || strings.HasSuffix(n, ".yml")) {
			return true
		}
	}
	return false
}

// withoutName leaves out the file's name, which stands before the error anyway.
func withoutName(err error) error {
	if pe, ok := err.(*fs.PathError); ok { //nolint:errorlint // only the outermost error repeats the name
		return pe.Err
	}
	return err
}

func (a *app) printLint(r *lintReport) error {
	var p page
	for i := range r.Files {
		f := &r.Files[i]
		if f.Error != "" {
			p.line("%s: %s: %s", printable(f.File), a.paint(red, "error"), f.Error)
			continue
		}
		for _, x := range f.Problems {
			p.line("%s", a.lintLine(&x))
			if x.snippet != "" {
				a.caretLines(&p, x.snippet)
			}
		}
		if len(f.Problems) == 0 {
			p.line("%s: %s (%s)", printable(f.File), a.paint(green, "ok"), f.Kind)
		}
	}
	if r.Errors+r.Warnings > 0 {
		p.line("%s, %s in %s", plural(r.Errors, "error"), plural(r.Warnings, "warning"), plural(len(r.Files), "file"))
	}
	return a.emit(&p)
}

// lintLine is file:line:column: severity: pointer: message.
func (a *app) lintLine(x *lintProblem) string {
	st := red
	if x.Severity == wire01.SeverityWarning {
		st = yellow
	}
	place := printable(x.File)
	if x.Line > 0 {
		place = fmt.Sprintf("%s:%d:%d", place, x.Line, max(x.Column, 1))
	}
	pointer := x.Pointer
	if pointer != "" {
		pointer += ": "
	}
	return fmt.Sprintf("%s: %s: %s", place, a.paint(st, string(x.Severity)), printable(pointer+x.Message))
}

// caretLines adds a snippet, its carets coloured.
func (a *app) caretLines(p *page, snippet string) {
	for line := range strings.SplitSeq(strings.TrimRight(snippet, "\n"), "\n") {
		if strings.Trim(line, " ^|") == "" && strings.Contains(line, "^") {
			p.line("%s", a.paint(red, line))
		} else {
			p.line("%s", printable(line))
		}
	}
}
