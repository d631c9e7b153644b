package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/sqlite"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/internal/folders"
	"github.com/holdpoint/holdpoint/settle"
)

// auditKinds are the kinds of entries that this program writes.
var auditKinds = []audit.Kind{
	audit.Settlement, gateway.KindAnswer, gateway.KindRejected, gateway.KindUnrecorded, audit.Fallback, audit.Reload, audit.Start, audit.Stop,
	audit.Retention, audit.AgentHooks,
}

func newAudit(a *app) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Read and verify the log of decisions, also while the gateway runs",
		Long: `Audit reads the log that serve writes. It changes nothing, and does not disturb a
gateway that runs. Entries hold identities, names, codes and times, and no
payload.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&dir, "audit-dir", "", "`folder` of the audit log (default: audit in your state folder)")
	cmd.AddCommand(newAuditTail(a, &dir), newAuditQuery(a, &dir), newAuditExplain(a, &dir), newAuditVerify(a, &dir), newAuditCheckpoint(a, &dir))
	return cmd
}

// withLog hands the log to body and closes it.
func withLog(ctx context.Context, dir string, body func(audit.Reader) error) error {
	if dir == "" {
		state, err := folders.State()
		if err != nil {
			return err
		}
		dir = filepath.Join(state, "audit")
	}
	log, err := sqlite.OpenReadOnly(ctx, dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("there is no audit log in %s: serve makes one, or name another with --audit-dir", dir)
		}
		return err
	}
	return errors.Join(body(log), log.Close())
}

// A selection is the flags that choose records.
type selection struct {
	since, until                  string
	kinds                         []string
	session, agent, tool          string
	decision, code                string
	rule, hazard, flag, operation string
}

func (s *selection) register(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.since, "since", "", "records from this `time` on: 2026-01-02, 2026-01-02T15:04:05Z, or 2h and 7d for so long ago")
	f.StringArrayVar(&s.kinds, "kind", nil, "records of this `kind`: settlement, answer, rejected, unrecorded, fallback, reload, start, stop, retention, agenthooks; may be repeated")
	f.StringVar(&s.session, "session", "", "records of this session `id`")
	f.StringVar(&s.agent, "agent", "", "records of this `agent`")
	f.StringVar(&s.tool, "tool", "", "records of this tool `name`")
	f.StringVar(&s.decision, "decision", "", "records with this `decision`: proceed, denied, ask, supplied, stopped, interrupted; of fallbacks refused, opened, passed; of reloads loaded, unchanged, refused; rejected")
	f.StringVar(&s.code, "code", "", "records with this `code`, of the denial or of a hazard")
	f.StringVar(&s.rule, "rule", "", "records in which this `rule` fired")
	f.StringVar(&s.flag, "flag", "", "records with this `flag`, such as failed-open or synthetic")
	f.StringVar(&s.operation, "operation", "", "records of this operation's `identity`")
}

func (s *selection) filter() (audit.Filter, error) {
	f := audit.Filter{
		Session: s.session, Agent: s.agent, Tool: s.tool, Decision: s.decision, Rule: s.rule, Hazard: s.hazard, Flag: s.flag, Operation: s.operation,
	}
	var err, errUntil error
	f.Since, err = parseMoment("since", s.since)
	f.Until, errUntil = parseMoment("until", s.until)
	if err = errors.Join(err, errUntil); err != nil {
		return f, &exitError{exitUsage, err}
	}
	for _, k := range s.kinds {
		if err := oneOf("kind", audit.Kind(k), auditKinds...); err != nil {
			return f, err
		}
		f.Kinds = append(f.Kinds, audit.Kind(k))
	}
	if s.decision != "" {
		if err := oneOf("decision", s.decision, auditDecisions...); err != nil {
			return f, err
		}
	}
	f = f.Fit()
	if err := f.Validate(); err != nil {
		return f, &exitError{exitUsage, err}
	}
	return f, nil
}

// keep reports whether r passes what the log's own filter cannot say.
func (s *selection) keep(r *audit.Record) bool {
	return s.code == "" || slices.Contains(r.Hazards, s.code) || strings.Contains(string(r.Data), s.code) && codeOf(r) == s.code
}

// codeOf is the code of an explicit denial.
func codeOf(r *audit.Record) string {
	if r.Kind != audit.Settlement && r.Kind != gateway.KindAnswer {
		return ""
	}
	rec, err := settle.ParseRecord(r.Data)
	if err != nil {
		return ""
	}
	return rec.Code
}

// parseMoment reads a point in time, or a duration before now.
func parseMoment(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04", time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t, nil
		}
	}
	ago := s
	var days time.Duration
	if n, rest, ok := strings.Cut(s, "d"); ok {
		if _, err := fmt.Sscanf(n, "%d", &days); err == nil && days >= 0 && days <= 36_500 {
			days *= 24 * time.Hour
			ago = rest
			if ago == "" {
				ago = "0s"
			}
		}
	}
	d, err := time.ParseDuration(ago)
	if err != nil || d < 0 {
		return time.Time{}, fmt.Errorf("--%s: %q is no time such as 2026-01-02T15:04:05Z, and no duration such as 2h or 7d", flag, s)
	}
	return time.Now().Add(-d - days), nil
}

// newest returns the newest n records of the selection, oldest first.
func (s *selection) newest(ctx context.Context, log audit.Reader, f audit.Filter, n int) ([]audit.Record, error) {
	var list []audit.Record
	f.Newest, f.Limit = true, min(max(n, 1), audit.MaxLimit)
	if s.code != "" {
		f.Limit = audit.MaxLimit // most are dropped here
	}
	for len(list) < n {
		seen := 0
		for r, err := range log.Query(ctx, f) {
			if err != nil {
				return nil, err
			}
			seen++
			f.To = r.ID
			if s.keep(&r) {
				list = append(list, r)
			}
			if len(list) == n {
				break
			}
		}
		if seen < f.Limit || f.To == 0 {
			break
		}
	}
	slices.Reverse(list)
	return list, nil
}

// all hands every record of the selection to each, oldest first.
func (s *selection) all(ctx context.Context, log audit.Reader, f audit.Filter, each func(*audit.Record) error) error {
	f.Limit = audit.MaxLimit
	for {
		seen := 0
		for r, err := range log.Query(ctx, f) {
			if err != nil {
				return err
			}
			seen++
			f.From = r.ID + 1
			if s.keep(&r) {
				if err := each(&r); err != nil {
					return err
				}
			}
		}
		if seen < f.Limit {
			return nil
		}
	}
}

func newAuditTail(a *app, dir *string) *cobra.Command {
	var (
		sel    selection
		n      int
		follow bool
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "tail",
		Short: "Show the newest records, and with -f each new one",
		Args:  noArgs,
		RunE: work(func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if n < 0 || n > audit.MaxLimit {
				return usagef("-n: %d, expected 0 to %d", n, audit.MaxLimit)
			}
			f, err := sel.filter()
			if err != nil {
				return err
			}
			return withLog(ctx, *dir, func(log audit.Reader) error {
				// New records are those behind the ones that are there now.
				stat, err := log.Stat(ctx)
				if err != nil {
					return err
				}
				past := f
				past.To = audit.ID(stat.Size)
				if n > 0 && stat.Size > 0 {
					list, err := sel.newest(ctx, log, past, n)
					if err != nil {
						return err
					}
					for i := range list {
						if err := a.record(&list[i], asJSON); err != nil {
							return err
						}
					}
				}
				if !follow {
					return nil
				}
				f.From = audit.ID(stat.Size)
				for r, err := range log.Follow(ctx, f) {
					if err != nil {
						return err
					}
					if sel.keep(&r) {
						if err := a.record(&r, asJSON); err != nil {
							return err
						}
					}
				}
				return nil
			})
		}),
	}
	sel.register(cmd)
	cmd.Flags().IntVarP(&n, "lines", "n", 20, "show this `number` of records")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on with each new record until interrupted")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object a line")
	return cmd
}

func newAuditQuery(a *app, dir *string) *cobra.Command {
	var (
		sel    selection
		limit  int
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "query",
		Short: "Show the records that match, oldest first",
		Long: `Query shows the newest --limit records that match every given flag, oldest first.
With --limit 0 it shows all of them.`,
		Example: `  holdpoint audit query --decision denied --since 24h
  holdpoint audit query --code git.force_push --json --limit 0`,
		Args: noArgs,
		RunE: work(func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if limit < 0 || limit > audit.MaxLimit {
				return usagef("--limit: %d, expected 0 (all) to %d", limit, audit.MaxLimit)
			}
			f, err := sel.filter()
			if err != nil {
				return err
			}
			return withLog(ctx, *dir, func(log audit.Reader) error {
				if limit == 0 {
					return sel.all(ctx, log, f, func(r *audit.Record) error { return a.record(r, asJSON) })
				}
				list, err := sel.newest(ctx, log, f, limit)
				if err != nil {
					return err
				}
				for i := range list {
					if err := a.record(&list[i], asJSON); err != nil {
						return err
					}
				}
				return nil
			})
		}),
	}
	sel.register(cmd)
	cmd.Flags().StringVar(&sel.until, "until", "", "records before this `time`")
	cmd.Flags().StringVar(&sel.hazard, "hazard", "", "records with this hazard `code`")
	cmd.Flags().IntVar(&limit, "limit", audit.DefaultLimit, "show at most this `number` of records; 0 is all")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write one JSON object a line")
	return cmd
}

// A verifyReport is the --json output of audit verify;
// docs/schemas/audit-verify.schema.json describes it.
type verifyReport struct {
	OK      bool     `json:"ok"`
	Size    int64    `json:"size"`
	KnownTo audit.ID `json:"knownTo"`
	// PrunedTo is 0 and PrunedBy -1 when nothing was pruned.
	PrunedTo    audit.ID           `json:"prunedTo"`
	PrunedBy    audit.ID           `json:"prunedBy"`
	Checkpoints []checkpointReport `json:"checkpoints"`
	Problems    []verifyProblem    `json:"problems"`
	More        bool               `json:"more"`
}

type verifyProblem struct {
	Kind   audit.ProblemKind `json:"kind"`
	From   audit.ID          `json:"from"`
	To     audit.ID          `json:"to"`
	Detail string            `json:"detail"`
}

func newAuditVerify(a *app, dir *string) *cobra.Command {
	var (
		files, keys []string
		asJSON      bool
	)
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Find changed, lost, inserted and reordered records",
		Long: `Verify checks the whole log against itself, and against checkpoints that were kept
elsewhere (see audit checkpoint). It says from which entry on it cannot know:
whoever owns the log could have rewritten what is behind the newest checkpoint
that you hold.

--key is the log's public key (audit checkpoint --print-key) as text or as a
file. Without it the key that the log itself states is believed.

Exit codes: 0 nothing wrong was found, 1 something is wrong or the log cannot be
read, 2 wrong usage.`,
		Example: `  holdpoint audit checkpoint > /media/usb/checkpoint
  holdpoint audit verify --checkpoint /media/usb/checkpoint`,
		Args: noArgs,
		RunE: work(func(cmd *cobra.Command, _ []string) error {
			var trust audit.Trust
			for _, name := range files {
				text, err := a.readShort(cmd.Context(), name)
				if err != nil {
					return fmt.Errorf("--checkpoint: %w", err)
				}
				trust.Checkpoints = append(trust.Checkpoints, text)
			}
			for _, key := range keys {
				if _, err := os.Stat(key); err == nil || key == "-" {
					text, err := a.readShort(cmd.Context(), key)
					if err != nil {
						return fmt.Errorf("--key: %w", err)
					}
					key = strings.TrimSpace(text)
				}
				trust.Keys = append(trust.Keys, key)
			}
			return withLog(cmd.Context(), *dir, func(log audit.Reader) error {
				rep, err := log.Verify(cmd.Context(), trust)
				if err != nil {
					return err
				}
				if asJSON {
					err = a.json(verifyJSON(&rep))
				} else {
					err = a.printVerify(&rep, len(files))
				}
				if err == nil && !rep.OK() {
					err = errSaid(exitFailed)
				}
				return err
			})
		}),
	}
	cmd.Flags().StringArrayVar(&files, "checkpoint", nil, "checkpoint `file` that was kept elsewhere; may be repeated")
	cmd.Flags().StringArrayVar(&keys, "key", nil, "public `key` of the log that was kept elsewhere, or a file with it; may be repeated")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// readShort reads a small text file; "-" is stdin.
func (a *app) readShort(ctx context.Context, name string) (string, error) {
	b, err := a.readInput(ctx, name)
	if err != nil {
		return "", err
	}
	if len(b) > audit.MaxCheckpointBytes {
		return "", fmt.Errorf("%s: %d bytes, expected at most %d", name, len(b), audit.MaxCheckpointBytes)
	}
	return string(b), nil
}

func verifyJSON(r *audit.Report) verifyReport {
	v := verifyReport{
		OK: r.OK(), Size: r.Size, KnownTo: r.KnownTo, PrunedTo: r.PrunedTo, PrunedBy: r.PrunedBy,
		Checkpoints: []checkpointReport{}, Problems: []verifyProblem{}, More: r.More,
	}
	for _, c := range r.Checkpoints {
		v.Checkpoints = append(v.Checkpoints, checkpointJSON(&c, ""))
	}
	for _, p := range r.Problems {
		v.Problems = append(v.Problems, verifyProblem{p.Kind, p.From, p.To, printable(p.Detail)})
	}
	return v
}

func (a *app) printVerify(r *audit.Report, held int) error {
	var p page
	for i, x := range r.Problems {
		head := "        "
		if i == 0 {
			head = a.paint(red, "wrong") + "   "
		}
		p.line("%s%s", head, printable(x.String()))
	}
	if r.More {
		p.line("        and more")
	}
	if r.OK() {
		p.line("%s      %s, consistent among themselves", a.paint(green, "ok"), entries(r.Size))
	}
	if r.PrunedTo > 0 {
		by := "no entry says so"
		if r.PrunedBy >= 0 {
			by = fmt.Sprintf("entry %d says so", r.PrunedBy)
			if r.PrunedBy >= r.KnownTo {
				by += ", which nobody outside vouches for"
			}
		}
		p.line("pruned  the entries before %d went by retention: %s", r.PrunedTo, by)
	}
	if r.KnownTo > 0 {
		newest := r.Checkpoints[len(r.Checkpoints)-1]
		if r.OK() {
			p.line("known   every entry before %d is the one that was there at the checkpoint of %s", r.KnownTo, newest.Time.UTC().Format(time.RFC3339))
		} else {
			p.line("known   apart from that, every entry before %d is the one that was there at the checkpoint of %s", r.KnownTo, newest.Time.UTC().Format(time.RFC3339))
		}
	}
	switch {
	case r.KnownTo >= audit.ID(r.Size):
	case held == 0:
		p.line("unknown from entry 0 on: no checkpoint from elsewhere was given, and whoever owns the log could have rewritten it whole")
	default:
		p.line("unknown from entry %d on: no held checkpoint covers it", r.KnownTo)
	}
	return a.emit(&p)
}

func entries(n int64) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// A checkpointReport is the --json output of audit checkpoint;
// docs/schemas/audit-checkpoint.schema.json describes it.
type checkpointReport struct {
	Origin string `json:"origin"`
	Size   int64  `json:"size"`
	Root   string `json:"root"`
	Time   string `json:"time"`
	Note   string `json:"note"`
	Key    string `json:"key,omitempty"` // the log's public key; audit checkpoint only
}

func checkpointJSON(c *audit.Checkpoint, key string) checkpointReport {
	return checkpointReport{c.Origin, c.Size, c.Root.String(), c.Time.UTC().Format(time.RFC3339), c.Note, key}
}

func newAuditCheckpoint(a *app, dir *string) *cobra.Command {
	var asJSON, printKey bool
	cmd := &cobra.Command{
		Use:   "checkpoint",
		Short: "Print the newest signed head of the log, to be kept elsewhere",
		Long: `Checkpoint prints a short signed text: how many entries the log has, and a hash
over all of them. Keep it where whoever owns this machine cannot change it (a
mail, another machine, syslog), and give it to audit verify later.

A gateway that runs signs at most once a second, so the newest entry may not be
covered yet.`,
		Example: `  holdpoint audit checkpoint | logger -t holdpoint`,
		Args:    noArgs,
		RunE: work(func(cmd *cobra.Command, _ []string) error {
			if printKey && asJSON {
				return usagef("--print-key and --json do not go together: the JSON holds the key")
			}
			return withLog(cmd.Context(), *dir, func(log audit.Reader) error {
				var p page
				if printKey {
					p.line("%s", printable(log.Verifier()))
					return a.emit(&p)
				}
				c, err := log.Checkpoint(cmd.Context())
				if err != nil {
					return err
				}
				if asJSON {
					return a.json(checkpointJSON(&c, log.Verifier()))
				}
				p.WriteString(c.Note) // byte for byte, or its signature would not hold
				return a.emit(&p)
			})
		}),
	}
	cmd.Flags().BoolVar(&printKey, "print-key", false, "print the log's public key instead")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}
