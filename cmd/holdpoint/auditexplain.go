package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/spf13/cobra"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/settle"
)

// An auditExplanation is the --json output of audit explain;
// docs/schemas/audit-explain.schema.json describes it.
type auditExplanation struct {
	Entry     audit.ID               `json:"entry"`
	Kind      audit.Kind             `json:"kind"`
	Time      string                 `json:"time"`
	Record    string                 `json:"record"` // id of the settlement's record
	Event     explainedEvent         `json:"event"`
	Operation string                 `json:"operation,omitzero"` // that was proposed
	Effective string                 `json:"effectiveOperation,omitzero"`
	Hops      []explainedHop         `json:"hops"`
	Outcome   explainedOutcome       `json:"outcome"`
	Policy    explainedPolicy        `json:"policy"`
	Facts     []policy.ExplainedFact `json:"facts,omitzero"` // with --audit-facts redacted
	FactsLeft int                    `json:"factsLeftOut,omitzero"`
	Flags     []string               `json:"flags"`
	ElapsedMs float64                `json:"elapsedMs"`
}

type explainedEvent struct {
	ID      string        `json:"id"`
	Type    ahp.EventType `json:"type"`
	Source  string        `json:"source,omitzero"`
	Session string        `json:"session,omitzero"`
	Agent   string        `json:"agent,omitzero"` // of the hook client, or ahp
	Call    string        `json:"call,omitzero"`
	Tool    string        `json:"tool,omitzero"`
	Roots   string        `json:"rootSource,omitzero"`
	Client  string        `json:"client,omitzero"`
}

type explainedHop struct {
	Backend  string            `json:"backend"`
	Answer   settle.Answer     `json:"answer"`
	Effects  []ahp.EffectType  `json:"effects,omitzero"`
	Changed  bool              `json:"changed,omitzero"`
	Class    ahp.FailureClass  `json:"class,omitzero"`
	Code     int               `json:"failureCode,omitzero"`
	Policy   ahp.FailurePolicy `json:"failurePolicy,omitzero"` // that decided
	StartMs  float64           `json:"startMs"`
	TookMs   float64           `json:"tookMs"`
	Attempts int               `json:"attempts"`
	Why      string            `json:"why"`
}

type explainedOutcome struct {
	State    settle.State     `json:"state"`
	Decision settle.Decision  `json:"decision"`
	By       string           `json:"by,omitzero"`
	Reason   string           `json:"reason,omitzero"`
	Code     string           `json:"code,omitzero"`
	Class    ahp.FailureClass `json:"class,omitzero"`
	Why      string           `json:"why"`
}

type explainedPolicy struct {
	Digest  string   `json:"digest,omitzero"`
	Rules   []string `json:"rules"`
	Hazards []string `json:"hazards"`
	Facts   []string `json:"factsRead"`
}

func newAuditExplain(a *app, dir *string) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain ID",
		Short: "Show one decision hop by hop: who was asked, what came of it, and why",
		Long: `Explain shows one decision of the log: who was asked in which order, what each
answered, which failure policy decided where none did, the effects by name, the
rules and facts of the policy, the times, and what it came to. ID is the number of
the entry, as tail and query show it, or the id of the decision's record or
event; of several records about one event the newest is shown.

What the facts said is there only when serve runs with --audit-facts redacted.`,
		Example: `  holdpoint audit explain 1234
  holdpoint audit explain 019ad2f0-7c11-7b11-8c0d-1f0e5e2a4411 --json`,
		Args: oneArg("the ID of a decision"),
		RunE: work(func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			return withLog(ctx, *dir, func(log audit.Reader) error {
				r, err := findEntry(ctx, log, args[0])
				if err != nil {
					return err
				}
				x, err := explainEntry(r)
				if err != nil {
					return err
				}
				if asJSON {
					return a.json(x)
				}
				return a.printAuditExplanation(x)
			})
		}),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write JSON")
	return cmd
}

// findEntry finds an entry by its number, or a decision by the id of its record or
// event.
func findEntry(ctx context.Context, log audit.Reader, id string) (*audit.Record, error) {
	if n, err := strconv.ParseInt(id, 10, 64); err == nil && n >= 0 {
		for r, err := range log.Query(ctx, audit.Filter{From: audit.ID(n), To: audit.ID(n + 1), Limit: 1}) {
			if err != nil {
				return nil, err
			}
			return &r, nil
		}
		return nil, fmt.Errorf("there is no entry %d", n)
	}
	if len(id) > settle.MaxNameBytes || strings.TrimSpace(id) == "" {
		return nil, usagef("%q is no id", cut(id, 64))
	}
	f := audit.Filter{Kinds: []audit.Kind{audit.Settlement, gateway.KindAnswer}, Newest: true, Limit: audit.MaxLimit}
	for {
		seen := 0
		for r, err := range log.Query(ctx, f) {
			if err != nil {
				return nil, err
			}
			seen++
			f.To = r.ID
			if !strings.Contains(string(r.Data), id) {
				continue
			}
			if rec, err := settle.ParseRecord(r.Data); err == nil && (rec.ID == id || rec.EventID == id) {
				return &r, nil
			}
		}
		if seen < f.Limit || f.To == 0 {
			return nil, fmt.Errorf("no decision has the id %q", printable(id))
		}
	}
}

// explainEntry puts an entry about a decision into an explanation.
func explainEntry(r *audit.Record) (*auditExplanation, error) {
	if r.Kind != audit.Settlement && r.Kind != gateway.KindAnswer {
		return nil, fmt.Errorf("entry %d is of kind %s and no decision; audit query shows it", r.ID, r.Kind)
	}
	rec, err := settle.ParseRecord(r.Data)
	if err != nil {
		return nil, fmt.Errorf("entry %d: %w", r.ID, err)
	}
	x := &auditExplanation{
		Entry: r.ID, Kind: r.Kind, Time: rec.Time, Record: rec.ID,
		Event: explainedEvent{
			ID: rec.EventID, Type: rec.EventType, Source: rec.Source, Session: rec.SessionID, Agent: r.Agent, Call: rec.CallID, Tool: rec.Tool,
			Roots: rec.RootSource, Client: rec.Client,
		},
		Operation: rec.Operation, Effective: rec.Effective, Hops: []explainedHop{}, Flags: orEmpty(r.Flags),
		Policy:    explainedPolicy{Digest: rec.PolicyDigest, Rules: orEmpty(rec.Rules), Hazards: orEmpty(rec.Hazards), Facts: orEmpty(rec.Facts)},
		ElapsedMs: msOf(rec.ElapsedNs),
	}
	for i := range rec.Hops {
		h := &rec.Hops[i]
		x.Hops = append(x.Hops, explainedHop{
			Backend: h.Backend, Answer: h.Answer, Effects: h.Effects, Changed: h.Changed, Class: h.Class, Code: h.FailureCode, Policy: h.Policy,
			StartMs: msOf(h.StartNs), TookMs: msOf(h.TookNs), Attempts: h.Attempts, Why: hopWhy(h, rec.Outcome),
		})
	}
	x.Outcome = explainedOutcome{
		State: rec.Outcome, Decision: rec.Decision, By: rec.By, Reason: rec.Reason, Code: rec.Code, Class: rec.Class, Why: outcomeWhy(&rec),
	}
	var more struct {
		Values []policy.ExplainedFact `json:"factValues"`
		Left   int                    `json:"factValuesLeftOut"`
	}
	if err := json.Unmarshal(r.Data, &more); err != nil {
		return nil, fmt.Errorf("entry %d: what it says of facts cannot be read", r.ID)
	}
	x.Facts, x.FactsLeft = more.Values, more.Left
	return x, nil
}

func msOf(ns int64) float64 { return float64(ns/1000) / 1000 }

// hopWhy says what one backend's part in the outcome was.
func hopWhy(h *settle.Hop, outcome settle.State) string {
	switch h.Answer {
	case settle.AnswerNone:
		return "had nothing against it"
	case settle.AnswerDeny:
		return "refused, and ended the chain"
	case settle.AnswerEffects:
		if slices.Contains(h.Effects, ahp.EffectFlow) && outcome == settle.Stopped {
			return "stopped the turn, and ended the chain"
		}
		if h.Changed {
			return "its answer was taken whole, and changed what would run"
		}
		return "its answer was taken whole"
	case settle.AnswerFailure:
		what := "gave no usable answer"
		switch h.Policy {
		case ahp.FailOpen:
			return what + "; fail-open let the chain go on without it"
		case ahp.FailClosed:
			return what + "; fail-closed refused"
		}
		return what + "; no failure policy excuses that"
	}
	return "did not end"
}

// outcomeWhy says in one sentence what decided.
func outcomeWhy(r *settle.Record) string {
	by := cmp.Or(r.By, "nobody")
	switch r.Outcome {
	case settle.Proceed:
		why := "nobody objected; the agent's own permissions follow"
		switch {
		case r.Approved:
			why = "it was approved"
		case r.Permission == ahp.PermissionAllow:
			why = "a control allowed it without the ordinary prompt"
		}
		if r.FailedOpen {
			why += "; a control that failed did not decide (failed open)"
		}
		return why
	case settle.Ask:
		return by + " asks for an approval: it does not run before"
	case settle.Supplied:
		return by + " supplied the result: it does not run"
	case settle.Stopped:
		return by + " stopped the turn: it does not run"
	case settle.Interrupted:
		return "the call ended before all were asked, which is no permission: " + string(r.Class)
	case settle.Denied:
	}
	if r.Decision == settle.DecisionSynthetic {
		if r.By == "" {
			return "refused by the gateway itself: " + string(r.Class)
		}
		return by + " gave no usable answer (" + string(r.Class) + "), and that refuses"
	}
	return "refused by " + by
}

func (a *app) printAuditExplanation(x *auditExplanation) error {
	var p page
	at := x.Time
	if t, err := time.Parse(time.RFC3339Nano, x.Time); err == nil {
		at = t.Local().Format("2006-01-02 15:04:05.000")
	}
	p.line("entry     %d, %s, %s", x.Entry, x.Kind, at)
	ev := &x.Event
	parts := []string{string(ev.Type) + " " + ev.ID}
	for _, part := range []struct{ name, v string }{{"tool", ev.Tool}, {"call", ev.Call}, {"session", ev.Session}, {"agent", ev.Agent}} {
		if part.v != "" {
			parts = append(parts, part.name+" "+part.v)
		}
	}
	p.line("event     %s", printable(strings.Join(parts, ", ")))
	if x.Operation != "" {
		p.line("operation %s", printable(x.Operation))
	}
	if x.Effective != "" {
		p.line("          changed to %s", printable(x.Effective))
	}
	p.line("asked")
	if len(x.Hops) == 0 {
		p.line("  nobody")
	}
	for i := range x.Hops {
		h := &x.Hops[i]
		what, st := string(h.Answer), green
		switch h.Answer {
		case settle.AnswerDeny:
			st = red
		case settle.AnswerFailure:
			st, what = yellow, string(h.Class)
			if h.Code != 0 {
				what += " " + strconv.Itoa(h.Code)
			}
		case settle.AnswerEffects:
			st, what = yellow, effectList(h.Effects)
		case settle.AnswerNone:
		}
		p.line("  %d  %s  %s, %.1f ms after %.1f ms%s", i+1, printable(h.Backend), a.paint(st, printable(what)), h.TookMs, h.StartMs, attempts(h.Attempts))
		p.line("     %s", h.Why)
	}
	if x.Policy.Digest != "" {
		p.line("policy    %s", printable(x.Policy.Digest))
	}
	for _, l := range []struct {
		name string
		list []string
	}{{"rules", x.Policy.Rules}, {"hazards", x.Policy.Hazards}, {"read", x.Policy.Facts}, {"flags", x.Flags}} {
		if len(l.list) > 0 {
			p.line("%-9s %s", l.name, printable(strings.Join(l.list, ", ")))
		}
	}
	if len(x.Facts) > 0 || x.FactsLeft > 0 {
		p.line("facts")
	}
	for _, f := range x.Facts {
		p.line("  %-9s %s", printable(f.Kind), printable(f.Text))
	}
	if x.FactsLeft > 0 {
		p.line("  and %d more", x.FactsLeft)
	}
	st := red
	switch x.Outcome.State {
	case settle.Proceed:
		st = green
	case settle.Ask, settle.Supplied:
		st = yellow
	case settle.Denied, settle.Stopped, settle.Interrupted:
	}
	p.line("outcome   %s after %.1f ms: %s", a.paint(st, string(x.Outcome.State)), x.ElapsedMs, printable(x.Outcome.Why))
	if x.Outcome.Reason != "" {
		for _, l := range wrap(printable(x.Outcome.Reason), textWidth-8) {
			p.line("          %s", l)
		}
	}
	return a.emit(&p)
}

func effectList(effects []ahp.EffectType) string {
	names := make([]string, len(effects))
	for i, e := range effects {
		names[i] = string(e)
	}
	return strings.Join(names, ", ")
}

func attempts(n int) string {
	if n > 1 {
		return fmt.Sprintf(", %d tries", n)
	}
	return ""
}
