package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/hookwire"
)

// spoolEvery is how often the spool is read while the gateway runs: a client
// that gave up on a slow answer writes there too.
const spoolEvery = 10 * time.Second

// fallbackVersion is the version of [fallbackRecord] in the audit log.
const fallbackVersion = 1

// A fallbackRecord is the audit entry of one decision that a hook client took alone.
type fallbackRecord struct {
	Version      int              `json:"version"`
	Agent        string           `json:"agent"`
	Event        string           `json:"event,omitempty"`
	Cause        hookwire.Cause   `json:"cause"`
	Policy       string           `json:"policy,omitempty"`
	Outcome      hookwire.Outcome `json:"outcome"`
	PID          int              `json:"pid"`
	ParentPID    int              `json:"parentPid"`
	PayloadBytes int64            `json:"payloadBytes"`
	ElapsedUs    int64            `json:"elapsedUs"`
}

// drainSpool moves what hook clients decided alone into the audit log. It must
// not run twice at the same time.
func (g *Gateway) drainSpool(ctx context.Context) {
	if g.spooled == nil {
		g.spooled = map[string]bool{}
	}
	n := 0
	done, err := audit.IngestSpool(ctx, g.opts.Audit, hookwire.SpoolPath(g.opts.Socket), audit.SpoolOptions{
		Entry: func(line audit.SpoolLine) audit.Entry {
			f, err := hookwire.ParseSpoolLine(line.Data)
			if line.Torn || err != nil {
				return audit.Entry{} // kept as it is, marked unreadable
			}
			// A spool that was taken is read again for a while; the log knows its
			// lines, and the figures must count them once too.
			if key := string(line.Data); !g.spooled[key] {
				g.spooled[key] = true
				n++
				g.countFallback(&f)
			}
			return fallbackEntry(&f)
		},
	})
	if err != nil {
		g.metrics.auditFailures.Inc()
		g.log.LogAttrs(ctx, slog.LevelError, "decisions of hook clients could not be recorded; they stay in the spool", slog.String("error", err.Error()))
	} else if done.Kept == 0 {
		clear(g.spooled)
	}
	if n > 0 {
		g.log.LogAttrs(ctx, slog.LevelWarn, "hook clients decided alone", slog.Int("fallbacks", n), slog.Int("damaged", done.Torn))
	}
}

func (g *Gateway) countFallback(f *hookwire.Fallback) {
	agent := knownAgent(f.Agent)
	g.metrics.fallbacks.WithLabelValues(agent, knownOutcome(f.Outcome)).Inc()
	if f.Outcome == hookwire.OutcomeOpened {
		g.metrics.failedOpen.WithLabelValues(agent).Inc()
	}
}

func fallbackEntry(f *hookwire.Fallback) audit.Entry {
	e := audit.Entry{
		Version: fallbackVersion, Kind: audit.Fallback, Time: f.Time, Agent: f.Agent, Event: f.Event, Decision: string(f.Outcome),
	}
	if f.Outcome == hookwire.OutcomeOpened {
		e.Flags = []string{"failed-open"}
	}
	// A struct of strings and numbers always has a JSON form.
	e.Data, _ = json.Marshal(fallbackRecord{
		fallbackVersion, f.Agent, f.Event, f.Cause, f.Policy, f.Outcome, f.PID, f.ParentPID, f.PayloadBytes, f.Elapsed.Microseconds(),
	})
	return e
}

func (g *Gateway) spoolLoop(ctx context.Context) error {
	for sleep(ctx, spoolEvery) {
		g.audit.retry(ctx)
		g.drainSpool(ctx)
	}
	return nil
}

// knownAgent keeps labels of metrics few, whatever a line says.
func knownAgent(name string) string {
	if _, ok := dialects[name]; ok {
		return name
	}
	return "unknown"
}

func knownOutcome(o hookwire.Outcome) string {
	switch o {
	case hookwire.OutcomeRefused, hookwire.OutcomeOpened, hookwire.OutcomePassed, OutcomeProceed:
		return string(o)
	}
	return "unknown"
}
