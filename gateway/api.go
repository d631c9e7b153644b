package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/backend"
	"github.com/holdpoint/holdpoint/facts"
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
	j := g.judge(ctx, m.Event, m.Capabilities)
	if j.err != nil {
		return nil, j.err
	}
	settle.NotesFrom(ctx).Add(details(&j.decision))
	if info := callInfoFrom(ctx); info != nil {
		info.decided(j)
	}
	return wire01.AppendResult(nil, m.ID, j.effects, nil)
}

// A judgement is a decision and what is said of it to whoever asks.
type judgement struct {
	decision policy.Decision
	facts    *facts.Facts // nil when there are none
	effects  []ahp.Effect
	left     []string // rules whose effect the harness does not offer
	err      error    // a failure of ours
}

func (g *Gateway) judge(ctx context.Context, ev *ahp.Event, caps ahp.Capabilities) *judgement {
	return judge(ctx, g.decider, ev, caps)
}

// judge decides on ev within what the harness offers. What the event itself causes is
// an explicit denial, so that no failure policy turns padding into a permission; what
// is left of the errors is a failure of ours.
func judge(ctx context.Context, d *Decider, ev *ahp.Event, caps ahp.Capabilities) *judgement {
	j := &judgement{}
	j.decision, j.facts, j.err = d.Decide(ctx, ev)
	var eval *policy.EvalError
	var fail *ahp.Failure
	switch {
	case j.err == nil:
		j.effects, j.left, j.err = j.decision.EffectsFor(ev.Type, ev.ID, caps)
	case errors.As(j.err, &eval) && eval.Cause == policy.CauseCost:
		j.effects, _, j.err = policy.Decision{Message: reasonEvent, Code: policy.CodeAnalysisBound}.EffectsFor(ev.Type, ev.ID, caps)
	case errors.As(j.err, &fail) && fail.Class == ahp.FailEvent:
		j.effects, _, j.err = policy.Decision{Message: reasonEvent, Code: CodeEvent}.EffectsFor(ev.Type, ev.ID, caps)
	}
	return j
}

// PolicyHandler is a policy as an AHP backend: it decides and keeps no record. It
// answers both revisions ([Revisions]).
func PolicyHandler(d *Decider) backend.Handler {
	return backend.HandlerFunc(func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
		if !d.Set().Hears(r.Event.Type) {
			return nil, nil
		}
		j := judge(ctx, d, r.Event, r.Capabilities)
		return j.effects, j.err
	})
}

// Revisions lists the revisions of AHP that the policy answers as a backend.
func Revisions() []ahp.Version { return []ahp.Version{ahp.Version01, ahp.VersionDraft} }

// BackendManifest says what the policy can do as a backend of other harnesses, for
// hooks/capabilities (AHP draft section 20): every event that a rule can be for, with
// the effects that rules have.
func BackendManifest() *ahp.Manifest {
	m := &ahp.Manifest{
		Gaps: []ahp.Gap{
			{Path: "limits.maxUploadBytes", Reason: "the policy reads no attachments"},
			{Path: "limits.maxContinuations", Reason: "the policy continues no turn"},
			{Path: "limits.minTimeoutMs", Reason: "a matter of the harness"},
			{Path: "limits.maxTimeoutMs", Reason: "a matter of the harness"},
		},
		Transports: []string{"http", "stdio"}, Authentication: []string{"bearer"},
		ToolPaths: []string{}, ContentCategories: []string{"text"},
		ManagedPolicy: ahp.ManagedPolicy{Scopes: []ahp.Scope{ahp.ScopeManaged, ahp.ScopeProject, ahp.ScopeUser}},
		Correlation:   []string{"session.id", "call.id"},
	}
	for _, t := range ahp.DraftEvents() {
		if !t.Interceptable(ahp.VersionDraft) {
			continue
		}
		c := ahp.Bounds(t)
		c.Flow, c.Elicitation = nil, nil
		c.Effects = slices.DeleteFunc(c.Effects, func(e ahp.EffectType) bool {
			return e == ahp.EffectAllow || e == ahp.EffectReturn || e == ahp.EffectFlow
		})
		if !c.AllowsModify(ahp.TargetInput, ahp.OpMerge) { // rules change inputs only
			c.Modify = nil
			c.Effects = slices.DeleteFunc(c.Effects, func(e ahp.EffectType) bool { return e == ahp.EffectModify })
		}
		if len(c.Effects) > 0 {
			m.Events = append(m.Events, ahp.ManifestEvent{Event: t, Modes: []ahp.Mode{ahp.ModeIntercept}, Capabilities: &c})
		}
	}
	return m
}

var errPanicked = errors.New("the policy panicked")

// answerHarness is the policy as the backend of harnesses elsewhere, with a
// record of each answer, of one that could not be given too.
func (g *Gateway) answerHarness(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
	if !g.decider.Set().Hears(r.Event.Type) {
		return nil, nil
	}
	began := time.Now()
	defer func() {
		if p := recover(); p != nil { // the server answers; the record is ours
			_, _ = g.recordAnswer(ctx, r, &judgement{err: errPanicked}, began)
			panic(p)
		}
	}()
	j := g.judge(ctx, r.Event, r.Capabilities)
	return g.recordAnswer(ctx, r, j, began)
}

func details(d *policy.Decision) settle.Details {
	rules := d.RuleNames()
	for _, f := range d.Shadow {
		rules = append(rules, f.Rule)
	}
	return settle.Details{PolicyDigest: d.Digest, Rules: rules, Hazards: d.Hazards, Facts: d.FactsRead}
}

// agentAHP stands in the agent's place where a harness elsewhere asks.
const agentAHP = "ahp"

// recordAnswer leaves the record of an answer to a harness elsewhere, before the
// answer is given: as it would be settled if nobody else was asked.
func (g *Gateway) recordAnswer(ctx context.Context, req *backend.Request, j *judgement, began time.Time) ([]ahp.Effect, error) {
	const agent = agentAHP
	ev := req.Event
	step := settle.Step{Backend: PolicyID, Policy: ahp.FailClosed, Effects: j.effects}
	if j.err != nil {
		// What the harness makes of it is its own policy's; ours could not say.
		step.Failure = &ahp.Failure{Class: ahp.FailInternal, Err: j.err}
	}
	var s settle.Settlement
	var v settle.Verdict
	if req.Version == ahp.VersionDraft {
		step.Caps = &req.Capabilities
		var b settle.Boundary
		b, v = settle.Open(ev, &req.Capabilities, settle.BoundaryOptions{}).Apply(step)
		s = b.Settlement()
	} else {
		var c settle.Chain
		c, v = settle.Start(ahp.DenyOnly()).Apply(step)
		s = c.Settlement()
	}
	took := time.Since(began)
	s.Hops = []settle.Hop{{
		Backend: PolicyID, Mode: ahp.ModeIntercept, Answer: v.Answer, Effects: v.Effects, Changed: v.Changed, TookNs: took.Nanoseconds(), Attempts: 1,
	}}
	if v.Failure != nil {
		s.Hops[0].Class = v.Failure.Class
	}
	r := s.Record(ev, harness.NewID(), began, took, settle.Identity(ev), details(&j.decision))
	g.count(agent, &r)
	g.metrics.seconds.WithLabelValues(agent).Observe(took.Seconds())
	err := g.appendRecord(ctx, KindAnswer, agent, &r, j)
	if err != nil && j.err == nil && g.opts.OnAuditFailure == harness.RecordDeny && s.Proceeds() && req.Capabilities.Allows(ahp.EffectDeny) {
		return []ahp.Effect{&ahp.Deny{Reason: reasonUncounted, Code: CodeUnrecorded}}, nil
	}
	return j.effects, j.err
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
		list = append(list, g.newServer(g.tcpLn, "token", newGuard(t.Token, hosts, t.TLS != nil, mux, func(status int) {
			g.rejected(backend.Rejection{Principal: "token", Status: status})
		})))
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
