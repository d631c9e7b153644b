package gateway

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/internal/privdir"
	"github.com/holdpoint/holdpoint/native"
	"github.com/holdpoint/holdpoint/settle"
)

// CauseFallbackExec and OutcomeProceed are what [Once] writes into the spool
// besides the words of the hook client: it is a decision by policy, made without
// the daemon.
const (
	CauseFallbackExec hookwire.Cause   = "fallback_exec"
	OutcomeProceed    hookwire.Outcome = "proceed"
)

// Once decides one hook event in this process, for when no daemon can: the same
// chain, policy and answers as [Gateway.Run], and no sockets. Its record goes
// into the spool beside o.Socket, from which the daemon takes it later; o.Audit is
// not used. An error means that there is no chain, and no answer.
func Once(ctx context.Context, o Options, req *hookwire.Request) (_ *hookwire.Answer, err error) {
	if o.Audit != nil {
		return nil, errors.New("once: the audit log is the daemon's")
	}
	began := time.Now()
	spool := &spoolRecorder{path: hookwire.SpoolPath(o.Socket), req: req, began: began}
	o.Audit = noLog{}
	o.Reload = ReloadManual
	if o, err = o.complete(); err != nil {
		return nil, err
	}
	if err := privdir.Make(filepath.Dir(o.Socket)); err != nil {
		return nil, fmt.Errorf("state folder: %w", err)
	}
	g := &Gateway{opts: o, log: o.Logger, metrics: newMetrics(), sessions: newSessions(o.Policy.Home), began: began, source: "urn:holdpoint:hook", recorder: spool}
	g.audit = newAuditor(o.Audit, o.OnAuditFailure, o.Logger, g.metrics)
	defer func() { err = errors.Join(err, g.Close()) }()
	if g.decider, err = NewDecider(o.Policy); err != nil {
		return nil, err
	}
	if err := g.openChain(); err != nil {
		return nil, err
	}
	a, wait := g.decide(ctx, req, began)
	if wait != nil {
		wait()
	}
	return a, nil
}

// A spoolRecorder writes the record of one settlement into the spool.
type spoolRecorder struct {
	path  string
	req   *hookwire.Request
	began time.Time
}

func (s *spoolRecorder) Record(_ context.Context, r *settle.Record) error {
	if r.EventType != ahp.ToolBefore { // the spool has one line for each call
		return nil
	}
	f := hookwire.Fallback{
		Time: s.began, Agent: s.req.Header.Agent, Event: s.req.Header.Event, Cause: CauseFallbackExec, Outcome: OutcomeProceed,
		PID: os.Getpid(), ParentPID: s.req.Header.ParentPID, PayloadBytes: int64(len(s.req.Payload)), Elapsed: time.Duration(r.ElapsedNs),
	}
	switch {
	case r.Outcome != settle.Proceed:
		f.Outcome = hookwire.OutcomeRefused
	case r.FailedOpen:
		f.Outcome = hookwire.OutcomeOpened
	}
	return hookwire.AppendSpool(s.path, &f)
}

// DecodePayload turns the payload of an agent's hook into the event that a policy
// decides on, with its workspace roots. The event is nil when the payload stands
// for no operation. The error says what is wrong with the payload.
func DecodePayload(agent string, call *native.Call, home string) (*ahp.Event, error) {
	d, ok := dialects[agent]
	if !ok {
		return nil, fmt.Errorf("agent %q is not known", agent)
	}
	dec, err := d.decode(call, native.Options{
		ID: harness.NewID(), Source: "urn:holdpoint:check", Time: time.Now().UTC().Format(time.RFC3339Nano),
	})
	if err != nil {
		return nil, err
	}
	if dec.Disposition != native.Decide || dec.Event == nil {
		return nil, nil
	}
	ev := dec.Event
	cwd := ev.Session.CWD
	if cwd == "" {
		cwd = call.CWD
	}
	ev.Session.WorkspaceRoots, _ = native.FindRoots(dec.NamedRoots, cwd, home, native.OS{})
	return ev, nil
}

// Agents lists the agents that the gateway serves.
func Agents() []string { return []string{hookwire.AgentClaudeCode, hookwire.AgentCodex} }
