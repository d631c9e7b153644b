package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/settle"
)

// An auditRecord is one line of the --json output of audit tail and audit query;
// docs/schemas/audit-record.schema.json describes it.
type auditRecord struct {
	ID        audit.ID        `json:"id"`
	Kind      audit.Kind      `json:"kind"`
	Version   int             `json:"version"` // of data, for this kind
	Time      string          `json:"time"`
	Session   string          `json:"session,omitempty"`
	Agent     string          `json:"agent,omitempty"`
	Event     string          `json:"event,omitempty"`
	Tool      string          `json:"tool,omitempty"`
	Operation string          `json:"operation,omitempty"`
	Decision  string          `json:"decision,omitempty"`
	Rules     []string        `json:"rules"`
	Hazards   []string        `json:"hazards"`
	Flags     []string        `json:"flags"`
	Data      json.RawMessage `json:"data,omitempty"`       // the entry, where it is JSON
	DataBytes []byte          `json:"dataBase64,omitempty"` // the entry, where it is not
}

// record writes one record, for people or as a line of JSON.
func (a *app) record(r *audit.Record, asJSON bool) error {
	var p page
	if !asJSON {
		p.line("%s", a.recordLine(r))
		return a.emit(&p)
	}
	out := auditRecord{
		ID: r.ID, Kind: r.Kind, Version: r.Version, Time: r.Time.UTC().Format(time.RFC3339Nano),
		Session: r.Session, Agent: r.Agent, Event: r.Event, Tool: r.Tool, Operation: r.Operation, Decision: r.Decision,
		Rules: orEmpty(r.Rules), Hazards: orEmpty(r.Hazards), Flags: orEmpty(r.Flags),
	}
	if json.Valid(r.Data) {
		out.Data = r.Data
	} else {
		out.DataBytes = r.Data
	}
	if err := p.jsonLine(out); err != nil {
		return fmt.Errorf("entry %d: %w", r.ID, err)
	}
	return a.emit(&p)
}

// recordLine is number, time, agent, tool, outcome, duration, and by whom and why.
func (a *app) recordLine(r *audit.Record) string {
	outcome, st, took, why := describe(r)
	who := cmp.Or(r.Agent, "-")
	what := r.Tool
	switch {
	case what != "":
	case r.Event != "" && (r.Kind == audit.Settlement || r.Kind == gateway.KindAnswer):
		what = r.Event // the outcome says that it is one
	default:
		what = strings.TrimSpace(string(r.Kind) + " " + r.Event)
	}
	line := fmt.Sprintf("%6d  %s  %-11s  %-20s  %s  %8s", r.ID, r.Time.Local().Format("2006-01-02 15:04:05.000"),
		printable(cut(who, 24)), printable(cut(what, 40)), a.paint(st, fmt.Sprintf("%-9s", printable(outcome))), took)
	if why != "" {
		line += "  " + printable(cut(why, 400))
	}
	return strings.TrimRight(line, " ")
}

// describe puts an entry of a known kind and version into words.
func describe(r *audit.Record) (outcome string, st style, took, why string) {
	switch r.Kind {
	case audit.Settlement, gateway.KindAnswer:
		rec, err := settle.ParseRecord(r.Data)
		if err != nil {
			break
		}
		took = millis(time.Duration(rec.ElapsedNs))
		switch rec.Outcome {
		case settle.Proceed:
		case settle.Ask, settle.Supplied:
			return string(rec.Outcome), yellow, took, deniedWhy(&rec)
		case settle.Denied, settle.Stopped, settle.Interrupted:
			return string(rec.Outcome), red, took, deniedWhy(&rec)
		}
		if rec.FailedOpen {
			return "proceed", yellow, took, "FAILED OPEN: " + failures(&rec)
		}
		return "proceed", green, took, marks(r.Flags)
	case audit.Fallback:
		var d struct {
			Cause     string `json:"cause"`
			Policy    string `json:"policy"`
			ElapsedUs int64  `json:"elapsedUs"`
		}
		if json.Unmarshal(r.Data, &d) != nil {
			break
		}
		st = yellow
		if r.Decision == string(hookwire.OutcomeRefused) {
			st = red
		}
		return r.Decision, st, millis(time.Duration(d.ElapsedUs) * time.Microsecond),
			strings.TrimSuffix(fmt.Sprintf("by the hook client alone: %s, %s", d.Cause, d.Policy), ", ")
	case audit.Reload:
		var d struct {
			Trigger  string `json:"trigger"`
			Digest   string `json:"digest"`
			Rules    int    `json:"rules"`
			Problems int    `json:"problems"`
		}
		if json.Unmarshal(r.Data, &d) != nil {
			break
		}
		if d.Problems > 0 {
			return r.Decision, red, "", fmt.Sprintf("policy with %s (%s); in force stays %s", plural(d.Problems, "problem"), d.Trigger, d.Digest)
		}
		return r.Decision, green, "", fmt.Sprintf("policy with %s (%s), %s", plural(d.Rules, "rule"), d.Trigger, d.Digest)
	case audit.Start, audit.Stop:
		var d struct {
			Program string `json:"program"`
			PID     int    `json:"pid"`
		}
		if json.Unmarshal(r.Data, &d) != nil {
			break
		}
		return "", "", "", fmt.Sprintf("gateway %s, process %d", d.Program, d.PID)
	case gateway.KindUnrecorded:
		var d struct {
			Decisions int64  `json:"decisions"`
			Denied    int64  `json:"denied"`
			From      string `json:"from"`
			To        string `json:"to"`
		}
		if json.Unmarshal(r.Data, &d) != nil {
			break
		}
		return r.Decision, red, "", fmt.Sprintf("%d decisions have no record, %d of them denied: the log could not be written from %s to %s", d.Decisions, d.Denied, d.From, d.To)
	case gateway.KindRejected:
		var d struct {
			Messages int64 `json:"messages"`
			Counts   []struct {
				Code     ahp.ErrorCode `json:"code"`
				Status   int           `json:"status"`
				Messages int64         `json:"messages"`
			} `json:"counts"`
		}
		if json.Unmarshal(r.Data, &d) != nil {
			break
		}
		var by []string
		for _, c := range d.Counts {
			if c.Status != 0 {
				by = append(by, fmt.Sprintf("%d × HTTP %d", c.Messages, c.Status))
				continue
			}
			by = append(by, fmt.Sprintf("%d × %s (%d)", c.Messages, c.Code.Name(), c.Code))
		}
		return r.Decision, yellow, "", plural(int(d.Messages), "message") + " to the AHP endpoint that the policy was not asked about: " + strings.Join(by, ", ")
	case audit.AgentHooks, audit.Retention:
	}
	return r.Decision, dim, "", strings.Join(r.Flags, ", ")
}

// deniedWhy says by whom and why an operation was refused.
func deniedWhy(rec *settle.Record) string {
	if rec.Decision == settle.DecisionSynthetic {
		class := cmp.Or(string(rec.Class), "unknown")
		if rec.By == "" {
			return "by the gateway itself: " + class
		}
		return fmt.Sprintf("no usable answer from %s: %s", rec.By, class)
	}
	why := "by " + cmp.Or(rec.By, "nobody")
	switch {
	case len(rec.Rules) > 0:
		why += " (" + rec.Rules[0] + ")"
	case rec.Code != "":
		why += " (" + rec.Code + ")"
	}
	if rec.Reason != "" {
		why += ": " + rec.Reason
	}
	return why
}

// failures lists the backends that gave no usable answer.
func failures(rec *settle.Record) string {
	var list []string
	for i := range rec.Hops {
		if h := &rec.Hops[i]; h.Answer == settle.AnswerFailure {
			list = append(list, fmt.Sprintf("%s %s", h.Backend, h.Class))
		}
	}
	return strings.Join(list, ", ")
}

// marks are flags and shadowed denials of rules.
func marks(flags []string) string {
	var list []string
	for _, f := range flags {
		if rule, ok := strings.CutPrefix(f, "flag:"); ok {
			list = append(list, "flagged "+rule)
		} else if rule, ok := strings.CutPrefix(f, "shadow:"); ok {
			list = append(list, "shadow "+rule)
		} else {
			list = append(list, f)
		}
	}
	return strings.Join(list, ", ")
}

func millis(d time.Duration) string {
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
