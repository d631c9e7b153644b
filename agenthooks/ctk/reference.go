package ctk

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
	"github.com/holdpoint/holdpoint/agenthooks/loop"
)

// Reference returns the host of this project: package agenthooks under the loop
// of package loop (AH 13.2d). It may run several vectors at once.
func Reference() Host { return reference{} }

type reference struct {
	posture loop.Posture
}

// Declare is AH-13.1-3, with what the kit's own vectors need besides.
func (h reference) Declare(context.Context) (*Surface, error) {
	provider := agenthooks.DefaultIdentity
	version := "dev"
	if bi, ok := debug.ReadBuildInfo(); ok && bi.Main.Version != "" && bi.Main.Version != "(devel)" {
		version = bi.Main.Version
	}
	posture := loop.Continue
	if h.posture != "" {
		posture = h.posture
	}
	return &Surface{
		Framework: "holdpoint", AdapterVersion: version, Language: "go", SDKVersion: version,
		Capabilities: []Capability{
			ModelCalls, ToolCalls, ParallelToolCalls, Streaming, MultiTurn, Int64JSON, BigIntJSON, IncrementalOutput,
		},
		Profiles: []agenthooks.Composition{
			{Profile: agenthooks.FirstDeny, OnApproval: agenthooks.Stop},
			{Profile: agenthooks.FirstDeny, OnApproval: agenthooks.Resume},
			{Profile: agenthooks.RunAll},
			{Profile: agenthooks.Strictest, OnTransformConflict: agenthooks.DenyIt},
			{Profile: agenthooks.Strictest, OnTransformConflict: agenthooks.Consult},
			{Profile: agenthooks.Unanimous, OnDisagreement: agenthooks.DenyIt},
			{Profile: agenthooks.Unanimous, OnDisagreement: agenthooks.Consult},
		},
		IdentityProvider: &provider, ContentDerived: true,
		Postures:      map[string]string{PostureToolSeam: string(posture)},
		ExposureBound: "none",
	}, nil
}

// referenceRun is the world of one vector with a real host in it.
type referenceRun struct {
	setup *Setup
	host  *agenthooks.Host
	agent *loop.Agent

	mu       sync.Mutex
	calls    int // model calls
	log      []Invocation
	fault    error // of the vector, not of the host
	released strings.Builder
}

func (h reference) Open(_ context.Context, s *Setup) (Run, error) {
	r := &referenceRun{setup: s}
	o := agenthooks.Options{
		AgentID: "ctk-agent", Framework: "holdpoint",
		Composition: s.Composition, Mode: s.Mode,
	}
	ext := s.Extension
	if ext == nil {
		ext = &Extension{}
	}
	for i := range s.Interceptors {
		reg := agenthooks.Registration{Interceptor: scripted{s.Script, i}}
		if i < len(ext.Namespaces) {
			reg.Namespace = ext.Namespaces[i]
		}
		o.Interceptors = append(o.Interceptors, reg)
	}
	if s.Resolver {
		o.Resolver = scriptedResolver{s.Script}
	}
	if len(s.Redact) > 0 {
		o.Redactor = agenthooks.RedactPaths("[redacted]", s.Redact...)
	}
	switch {
	case s.Identity == nil:
		o.Identity = agenthooks.NoIdentity()
	case *s.Identity != agenthooks.DefaultIdentity:
		o.Identity = agenthooks.CustomIdentity(*s.Identity, func(*agenthooks.Context) (string, error) {
			return "", errors.New("scripted failure")
		})
	}
	var err error
	if r.host, err = agenthooks.New(o); err != nil {
		return nil, err
	}
	lo := loop.Options{
		Host: r.host, Model: loop.ModelFunc(r.respond), ModelID: "mock", MaxModelCalls: len(s.Scenario.Model),
		OnHostError: h.posture, Incremental: !ext.Buffered, Plain: true, Parallel: ext.Parallel,
		Release: func(text string) error { r.released.WriteString(text); return nil },
	}
	if lo.MaxModelCalls == 0 {
		lo.MaxModelCalls = -1
	}
	for i := range s.Scenario.Tools {
		t := &s.Scenario.Tools[i]
		lo.Tools = append(lo.Tools, loop.ToolFunc(agenthooks.Tool{Name: t.Name, Schema: t.Schema},
			func(_ context.Context, args jsontext.Value) (loop.Result, error) { return r.invoke(t, args) }))
	}
	if r.agent, err = loop.New(lo); err != nil {
		return nil, err
	}
	return r, nil
}

// Run plays all turns and reports. The first turn that does not complete ends
// the run.
func (r *referenceRun) Run(ctx context.Context) (*RunRecord, error) {
	out := &RunRecord{Outcome: Completed}
	session, err := r.agent.Open(ctx, agenthooks.SessionOptions{})
	if err == nil {
		turns := []Input{r.setup.Scenario.Input}
		if r.setup.Extension != nil {
			turns = append(turns, r.setup.Extension.Turns...)
		}
		for _, in := range turns {
			var ans *loop.Answer
			if ans, err = session.Turn(ctx, loop.Message{Role: in.Role, Content: in.Content}); err != nil {
				out.FinalOutput = nil
				break
			}
			out.FinalOutput = ans.Content
		}
		err = errors.Join(err, session.Close(ctx))
		out.Persisted = session.History()
	}
	var blocked *agenthooks.BlockedError
	switch {
	case err == nil, errors.Is(err, loop.ErrNoAnswer):
	case errors.As(err, &blocked):
		out.Outcome = Blocked
	default:
		out.Outcome, out.Error = Errored, err.Error()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault != nil {
		return nil, r.fault
	}
	out.ToolInvocations = r.log
	released := r.released.String()
	out.ReleasedOutput = &released
	for _, rec := range r.host.Records() {
		text, err := json.Marshal(rec)
		if err != nil {
			return nil, err
		}
		out.Records = append(out.Records, text)
		out.Identities = append(out.Identities, IdentityPair{rec.InputIdentity, rec.EnforcedIdentity})
	}
	return out, nil
}

// Close waits for callbacks that ran out of time.
func (r *referenceRun) Close() error { return r.host.Wait(context.Background()) }

// respond is the mock model.
func (r *referenceRun) respond(_ context.Context, req *loop.Request) (*loop.Reply, error) {
	r.mu.Lock()
	n := r.calls
	r.calls++
	r.mu.Unlock()
	if n >= len(r.setup.Scenario.Model) {
		return nil, r.broken(fmt.Errorf("model call %d has no entry in model_script", n))
	}
	m := &r.setup.Scenario.Model[n]
	reply := &loop.Reply{Response: agenthooks.Response{Content: m.Content, ToolCalls: m.ToolCalls, FinishReason: m.FinishReason}}
	if m.Stream == nil {
		return reply, nil
	}
	last := len(m.Stream) - 1
	for _, piece := range append([]string{""}, m.Stream[:last]...) {
		if err := req.Piece(piece); err != nil {
			return nil, err
		}
	}
	if m.Truncated {
		return nil, &loop.BrokenStreamError{Piece: m.Stream[last]}
	}
	return reply, nil
}

// invoke is a mock tool.
func (r *referenceRun) invoke(t *ToolSpec, args jsontext.Value) (loop.Result, error) {
	r.mu.Lock()
	r.log = append(r.log, Invocation{t.Name, args.Clone()})
	r.mu.Unlock()
	b, ok := t.Find(args)
	if !ok {
		return loop.Result{}, r.broken(fmt.Errorf("tool %q: no behavior for these args", t.Name))
	}
	return loop.Result{Value: b.Return, IsError: b.IsError}, nil
}

// broken notes a fault of the vector: the run has no result.
func (r *referenceRun) broken(err error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault == nil {
		r.fault = err
	}
	return err
}

// scripted is a scripted interceptor as the host knows interceptors.
type scripted struct {
	script Callbacks
	index  int
}

var errScripted = errors.New("scripted failure")

func (s scripted) Intercept(ctx context.Context, c *agenthooks.Context) (agenthooks.Verdict, error) {
	a, err := s.script.Intercept(ctx, s.index, c.JSON())
	if err != nil {
		return agenthooks.Verdict{}, err
	}
	if a.Raise {
		return agenthooks.Verdict{}, errScripted
	}
	if a.Mutate { // a Context has nothing to write to but the copies that it hands out
		for _, text := range []jsontext.Value{c.JSON(), c.Target()} {
			copy(text, strings.Repeat("TAMPERED", len(text)/8+1))
		}
	}
	return agenthooks.RawVerdict(a.JSON), nil
}

type scriptedResolver struct{ script Callbacks }

func (s scriptedResolver) Resolve(ctx context.Context, req *agenthooks.ApprovalRequest) (agenthooks.Resolution, error) {
	text, err := json.Marshal(req)
	if err != nil {
		return agenthooks.Resolution{}, err
	}
	a, err := s.script.Resolve(ctx, text)
	if err != nil {
		return agenthooks.Resolution{}, err
	}
	if a.Raise {
		return agenthooks.Resolution{}, errScripted
	}
	return agenthooks.ParseResolution(a.JSON)
}
