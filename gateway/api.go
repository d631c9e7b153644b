package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/backend"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/settle"
)

// AHPPath is where the AHP endpoint lies.
const AHPPath = "/ahp"

// The codes of denials that no rule makes.
const (
	CodeEvent       = "dev.holdpoint.event_unacceptable" // the event cannot be read as an operation
	CodeUnrecorded  = "dev.holdpoint.not_recorded"       // the audit log could not be written
	reasonEvent     = "The input of this tool call cannot be read as what the tool takes, so it was refused."
	reasonUncounted = "The decision could not be recorded, so this operation was refused."
)

// askPolicy is the policy as the first backend of the chain: a frame in, a frame
// out, so that it is held to the same rules as every other backend.
func (g *Gateway) askPolicy(ctx context.Context, frame []byte) ([]byte, error) {
	m, bad := wire01.DecodeRequest(frame, wire01.Limits{MaxBytes: len(frame)})
	if bad != nil {
		// The harness encoded it: a frame that is refused here is an event that
		// is beyond a limit.
		return nil, &ahp.Failure{Class: ahp.FailEvent, Pointer: bad.Pointer, Err: bad}
	}
	d, _, err := g.decider.Decide(ctx, m.Event)
	effects, err := decided(&d, err)
	if err != nil {
		return nil, err
	}
	settle.NotesFrom(ctx).Add(details(&d))
	if info := callInfoFrom(ctx); info != nil {
		info.decided(&d)
	}
	return wire01.AppendResult(nil, m.ID, effects, nil)
}

// PolicyHandler is a policy as an AHP backend: it decides and keeps no record.
func PolicyHandler(d *Decider) backend.Handler {
	return backend.HandlerFunc(func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
		dec, _, err := d.Decide(ctx, r.Event)
		return decided(&dec, err)
	})
}

// answerHarness is the policy as the backend of harnesses elsewhere, with a
// record of each answer.
func (g *Gateway) answerHarness(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
	began := time.Now()
	d, _, err := g.decider.Decide(ctx, r.Event)
	effects, err := decided(&d, err)
	if err != nil {
		return nil, err
	}
	return g.recordAnswer(ctx, r.Event, effects, &d, began)
}

// decided turns a decision into effects. What the event itself causes is an
// explicit denial, so that no failure policy turns padding into a permission;
// what is left of the errors is a failure of ours.
func decided(d *policy.Decision, err error) ([]ahp.Effect, error) {
	if err == nil {
		return d.Effects(), nil
	}
	var eval *policy.EvalError
	var fail *ahp.Failure
	switch {
	case errors.As(err, &eval) && eval.Cause == policy.CauseCost:
		return []ahp.Effect{&ahp.Deny{Reason: reasonEvent, Code: policy.CodeAnalysisBound}}, nil
	case errors.As(err, &fail) && fail.Class == ahp.FailEvent:
		return []ahp.Effect{&ahp.Deny{Reason: reasonEvent, Code: CodeEvent}}, nil
	}
	return nil, err
}

func details(d *policy.Decision) settle.Details {
	rules := d.RuleNames()
	for _, f := range d.Shadow {
		rules = append(rules, f.Rule)
	}
	return settle.Details{PolicyDigest: d.Digest, Rules: rules, Hazards: d.Hazards, Facts: d.FactsRead}
}

// recordAnswer leaves the record of an answer to a harness elsewhere, before the
// answer is given.
func (g *Gateway) recordAnswer(ctx context.Context, ev *ahp.Event, effects []ahp.Effect, d *policy.Decision, began time.Time) ([]ahp.Effect, error) {
	const agent = "ahp"
	chain, _ := settle.Start(ahp.DenyOnly()).Apply(settle.Step{Backend: PolicyID, Policy: g.opts.FailurePolicy, Effects: effects})
	s := chain.Settlement()
	r := s.Record(ev, harness.NewID(), began, time.Since(began), settle.Identity(ev), details(d))
	g.count(agent, &r)
	g.metrics.seconds.WithLabelValues(agent).Observe(time.Since(began).Seconds())
	err := g.audit.append(ctx, settlementEntry(KindAnswer, agent, &r, d))
	if err != nil && g.opts.OnAuditFailure == harness.RecordDeny && len(effects) == 0 {
		return []ahp.Effect{&ahp.Deny{Reason: reasonUncounted, Code: CodeUnrecorded}}, nil
	}
	return effects, nil
}

// A server is one listener of the AHP endpoint.
type server struct {
	principal string
	ln        net.Listener
	srv       *http.Server
}

// servers makes the servers of all listeners but the hook socket.
func (g *Gateway) servers() []*server {
	mux := http.NewServeMux()
	mux.Handle(AHPPath, g.endpoint)
	mux.HandleFunc("GET /healthz", g.healthz)
	mux.HandleFunc("GET /readyz", g.readyz)
	mux.Handle("GET /metrics", g.metrics.handler())

	list := []*server{g.newServer(g.ahpLn, "unix", mux)}
	if t := g.opts.TCP; t != nil {
		hosts := append([]string{"localhost", "127.0.0.1", "::1"}, t.Hosts...)
		if host, _, err := net.SplitHostPort(t.Addr); err == nil {
			if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
				hosts = append(hosts, host)
			}
		}
		list = append(list, g.newServer(g.tcpLn, "token", newGuard(t.Token, hosts, t.TLS != nil, mux)))
	}
	return list
}

// newServer makes the server of one listener. Who asks through it is the principal:
// whoever may connect to the socket, or whoever holds the token.
func (g *Gateway) newServer(ln net.Listener, principal string, h http.Handler) *server {
	return &server{
		principal: principal,
		ln:        limitListener(ln, g.opts.MaxConnections),
		srv: &http.Server{
			Handler:           h,
			ReadHeaderTimeout: g.opts.FrameTimeout,
			ReadTimeout:       2 * g.opts.FrameTimeout,
			WriteTimeout:      time.Minute,
			IdleTimeout:       2 * time.Minute,
			MaxHeaderBytes:    16 << 10,
			ErrorLog:          slog.NewLogLogger(g.log.Handler(), slog.LevelDebug),
		},
	}
}

// serve serves until ctx ends, then lets requests under way go on for drain.
func (s *server) serve(ctx, work context.Context, drain time.Duration) error {
	base := backend.WithPrincipal(work, s.principal)
	s.srv.BaseContext = func(net.Listener) context.Context { return base }
	done := make(chan error, 1)
	go func() { done <- s.srv.Serve(s.ln) }() // ends with Shutdown or Close, and is waited for below
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	err := s.srv.Shutdown(bound)
	if err != nil {
		err = s.srv.Close() // what is left had its time
	}
	if end := <-done; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// healthz says that the process answers.
func (g *Gateway) healthz(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{"status": "ok", "version": g.opts.Version})
}

// A Readiness is the body of /readyz; docs/schemas/readyz.schema.json describes it.
type Readiness struct {
	Ready  bool   `json:"ready"`  // decisions are made
	Policy string `json:"policy"` // digest of the policy in force
	// PolicyBroken means that the files on disk are broken and the policy before
	// them is in force; the log says what is wrong.
	PolicyBroken   bool   `json:"policyBroken"`
	PolicyProblems int    `json:"policyProblems,omitempty"`
	AuditBroken    bool   `json:"auditBroken"` // the last record could not be written
	OnAuditFailure string `json:"onAuditFailure"`
}

// Ready says how the gateway stands.
func (g *Gateway) Ready() Readiness {
	r := Readiness{
		Ready: g.serving.Load(), Policy: g.decider.Digest(),
		AuditBroken: g.audit.broken.Load(), OnAuditFailure: string(g.opts.OnAuditFailure),
	}
	if err := g.brokenPolicy.Load(); err != nil {
		r.PolicyBroken, r.PolicyProblems = true, countProblems(*err)
	}
	// With nothing recorded and "deny", every operation is refused.
	r.Ready = r.Ready && (!r.AuditBroken || g.opts.OnAuditFailure == harness.RecordProceed)
	return r
}

func (g *Gateway) readyz(w http.ResponseWriter, _ *http.Request) {
	r := g.Ready()
	status := http.StatusOK
	if !r.Ready {
		status = http.StatusServiceUnavailable
	}
	writeJSON(w, status, r)
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A peer that has gone is no error of ours.
	_, _ = w.Write(append(b, '\n'))
}
