package gateway

import (
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
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

// drainSpool moves what hook clients decided alone into the audit log. A line
// stays in the spool until its entry is written; the key keeps a line that is
// read twice from being entered twice.
func (g *Gateway) drainSpool(ctx context.Context) {
	n := 0
	bad, err := hookwire.DrainSpool(hookwire.SpoolPath(g.opts.Socket), func(f hookwire.Fallback) error {
		data, err := json.Marshal(fallbackRecord{
			fallbackVersion, f.Agent, f.Event, f.Cause, f.Policy, f.Outcome, f.PID, f.ParentPID, f.PayloadBytes, f.Elapsed.Microseconds(),
		})
		if err != nil {
			return err
		}
		e := audit.Entry{
			Version: fallbackVersion, Kind: audit.Fallback, Time: f.Time, Agent: f.Agent, Event: f.Event, Decision: string(f.Outcome),
			Key:  "fallback:" + f.Time.UTC().Format(time.RFC3339Nano) + ":" + strconv.Itoa(f.PID),
			Data: data,
		}
		if f.Outcome == hookwire.OutcomeOpened {
			e.Flags = []string{"failed-open"}
		}
		if err := g.audit.append(ctx, e); err != nil {
			return err
		}
		n++
		agent := knownAgent(f.Agent)
		g.metrics.fallbacks.WithLabelValues(agent, knownOutcome(f.Outcome)).Inc()
		if f.Outcome == hookwire.OutcomeOpened {
			g.metrics.failedOpen.WithLabelValues(agent).Inc()
		}
		return nil
	})
	if err != nil {
		g.log.LogAttrs(ctx, slog.LevelError, "spool of the hook clients could not be read", slog.String("error", err.Error()))
	}
	if n > 0 || bad > 0 {
		g.log.LogAttrs(ctx, slog.LevelInfo, "decisions of hook clients recorded", slog.Int("fallbacks", n), slog.Int("damaged", bad))
	}
}

func (g *Gateway) spoolLoop(ctx context.Context) error {
	for sleep(ctx, spoolEvery) {
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
	case hookwire.OutcomeRefused, hookwire.OutcomeOpened, hookwire.OutcomePassed:
		return string(o)
	}
	return "unknown"
}
