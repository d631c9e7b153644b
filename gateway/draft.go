package gateway

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/native"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

// withheld are the events of agents at which a refusal is carried out. At the others
// what happened stays: a hook there can add, and hold nothing back.
var withheld = []ahp.EventType{ahp.ToolBefore, ahp.TurnStart, ahp.ToolPermissionRequest, ahp.CompactBefore}

// openDraft makes the chain of revision draft: the policy first, then what is
// registered. The policy is asked about every event that agents have; what it has no
// rules for costs nothing (policy.Set.Hears).
func (g *Gateway) openDraft() error {
	g.manifest = AgentManifest(g.opts.RewriteAllows)
	g.offers = map[string]map[string]*ahp.Capabilities{}
	for agent, d := range dialects {
		g.offers[agent] = map[string]*ahp.Capabilities{}
		for event, o := range d.offers(g.opts.RewriteAllows) {
			g.offers[agent][event] = &o.Capabilities
		}
	}
	var refusable, others []ahp.EventType
	for i := range g.manifest.Events {
		e := &g.manifest.Events[i]
		switch {
		case e.Capabilities == nil:
		case slices.Contains(withheld, e.Event):
			refusable = append(refusable, e.Event)
		default:
			others = append(others, e.Event)
		}
	}
	own := ahp.Backend{ID: PolicyID, Transport: &ahp.LocalTransport{}}
	for _, s := range []ahp.Subscription{
		{ID: "refusable", Events: refusable, FailurePolicy: g.opts.FailurePolicy},
		{ID: "others", Events: others, FailurePolicy: ahp.FailOpen},
	} {
		s.Mode, s.Timeout, s.Content = ahp.ModeIntercept, g.opts.PolicyTimeout, ahp.ContentSelection{Default: ahp.SelectBody}
		own.Subscriptions = append(own.Subscriptions, s)
	}
	g.hooksOfDraft()
	reg := &ahp.Registration{Version: ahp.VersionDraft, Hooks: append([]ahp.Backend{own}, g.opts.Hooks...)}
	o := g.harnessOptions()
	o.Local = map[string]transport.Local{PolicyID: g.askPolicyDraft}
	o.Manifest, o.Offer = g.manifest, g.offer
	o.ShowNative, o.Authorize = g.opts.Native, g.authorize
	if g.opts.Secrets != "" {
		o.Secret = harness.SecretDir(g.opts.Secrets)
	}
	return g.openHarness(reg, o)
}

// hooksOfDraft notes which events somebody registered for.
func (g *Gateway) hooksOfDraft() {
	g.observed, g.asked = map[ahp.EventType]bool{}, map[ahp.EventType]bool{}
	for i := range g.opts.Hooks {
		b := &g.opts.Hooks[i]
		for j := range b.Subscriptions {
			s := &b.Subscriptions[j]
			for k := range g.manifest.Events {
				t := g.manifest.Events[k].Event
				switch {
				case !s.Covers(t):
				case s.Mode == ahp.ModeObserve:
					g.observed[t] = true
				default:
					g.asked[t] = true
				}
			}
		}
	}
}

// AgentManifest says what the gateway covers for the agents behind the hook client
// (AHP draft section 20): for each event all that any of them does there. A request
// offers what its own agent does (D-CAP-1). The result is the caller's.
func AgentManifest(rewriteAllows bool) *ahp.Manifest {
	m := &ahp.Manifest{
		Gaps: []ahp.Gap{
			{Path: "limits.maxUploadBytes", Reason: "attachments are not produced"},
			{Path: "limits.minTimeoutMs", Reason: "the agent's own timeout bounds a hook"},
			{Path: "limits.maxTimeoutMs", Reason: "the agent's own timeout bounds a hook"},
			{Path: "toolPaths", Reason: "what an agent does not show to its hooks is not covered; docs/agents.md has the list"},
		},
		Transports: []string{"http", "stdio", "in_process"}, Authentication: []string{"bearer"},
		ToolPaths: []string{"native", "mcp"}, ContentCategories: []string{"text"},
		ManagedPolicy: ahp.ManagedPolicy{Scopes: []ahp.Scope{ahp.ScopeManaged, ahp.ScopeUser}},
		Correlation:   []string{"session.id", "turn.id", "call.id"},
	}
	most := int64(native.MaxContinuations)
	m.Limits.MaxContinuations = &most
	all := map[ahp.EventType]*ahp.Capabilities{}
	for _, d := range dialects {
		for _, o := range d.offers(rewriteAllows) {
			if all[o.Event] == nil {
				all[o.Event] = &ahp.Capabilities{}
			}
			widen(all[o.Event], &o.Capabilities)
		}
	}
	for _, t := range ahp.DraftEvents() {
		c := all[t]
		if c == nil {
			continue
		}
		e := ahp.ManifestEvent{Event: t, Modes: []ahp.Mode{ahp.ModeObserve}}
		if len(c.Effects) > 0 {
			if c.Flow != nil && c.Flow.Continue {
				countSteps(c, 0)
			}
			e.Modes, e.Capabilities = append(e.Modes, ahp.ModeIntercept), c
		}
		m.Events = append(m.Events, e)
	}
	return m
}

// widen adds to c what more has, in the order of the protocol.
func widen(c, more *ahp.Capabilities) {
	var effects []ahp.EffectType
	for _, e := range []ahp.EffectType{
		ahp.EffectDeny, ahp.EffectAllow, ahp.EffectAsk, ahp.EffectModify, ahp.EffectReturn, ahp.EffectMessage, ahp.EffectInject, ahp.EffectFlow,
	} {
		if c.Allows(e) || more.Allows(e) {
			effects = append(effects, e)
		}
	}
	c.Effects = effects
	if c.Modify == nil { // the agents change one target, and in both ways
		c.Modify = slices.Clone(more.Modify)
	}
	if f := more.Flow; f != nil {
		if c.Flow == nil {
			c.Flow = &ahp.FlowCapability{}
		}
		c.Flow.Stop, c.Flow.Continue = c.Flow.Stop || f.Stop, c.Flow.Continue || f.Continue
	}
	for _, d := range more.Inject {
		if !slices.Contains(c.Inject, d) {
			c.Inject = append(c.Inject, d)
		}
	}
}

// countSteps says how many more steps a turn can get after done (D-CAP-7).
func countSteps(c *ahp.Capabilities, done int64) {
	most := int64(native.MaxContinuations)
	left := max(most-done, 0)
	f := *c.Flow
	f.Remaining, f.Count, f.Max = &left, &done, &most
	c.Flow = &f
}

// offer is what the agent behind a call does at its event ([harness.Options.Offer]).
func (g *Gateway) offer(ev *ahp.Event, host ahp.Capabilities) ahp.Capabilities {
	if c, ok := g.offered.Load(ev.ID); ok {
		return *c.(*ahp.Capabilities)
	}
	return host // of an event that no agent sent
}

// concerns reports whether anybody would be asked, or told, about events of type t.
func (g *Gateway) concerns(t ahp.EventType) bool {
	return g.asked[t] || g.observed[t] || g.decider.Set().Hears(t)
}

// capabilitiesAt is the offer of an agent at one event of a turn that was kept going
// so many times. It must not be changed.
func (g *Gateway) capabilitiesAt(agent, event string, done int64) *ahp.Capabilities {
	offer := g.offers[agent][event]
	switch {
	case offer == nil:
		return &ahp.Capabilities{}
	case offer.Flow == nil || !offer.Flow.Continue:
		return offer
	}
	c := *offer
	countSteps(&c, done)
	return &c
}

// offerAt is [Gateway.capabilitiesAt] for one event. A prompt for what a control asked
// about is the user's to answer: there no backend is offered to allow it (D-EFF-3).
func (g *Gateway) offerAt(h *hookwire.Header, dec *native.Decoded, done int64) *ahp.Capabilities {
	c := g.capabilitiesAt(h.Agent, dec.EventName, done)
	if ev := dec.Event; ev.Type != ahp.ToolPermissionRequest || !c.Allows(ahp.EffectAllow) || !g.sessions.asked(sessionKey(h.Agent, ev), callKey(ev)) {
		return c
	}
	n := *c
	n.Effects = slices.DeleteFunc(slices.Clone(c.Effects), func(e ahp.EffectType) bool { return e == ahp.EffectAllow })
	return &n
}

// callKey identifies what a call does, whatever else its event says.
func callKey(ev *ahp.Event) string { return settle.Identity(&ahp.Event{Tool: ev.Tool}) }

// askPolicyDraft is the policy as the first backend of a draft chain.
func (g *Gateway) askPolicyDraft(ctx context.Context, frame []byte) ([]byte, error) {
	m, bad := wiredraft.DecodeRequest(frame, wiredraft.Limits{MaxBytes: len(frame)})
	if bad != nil {
		return nil, &ahp.Failure{Class: ahp.FailEvent, Pointer: bad.Pointer, Err: bad}
	}
	if m.Kind == wiredraft.Notification {
		return nil, nil
	}
	var effects []ahp.Effect
	if g.decider.Set().Hears(m.Event.Type) {
		j := g.judge(ctx, m.Event, m.Capabilities)
		if j.err != nil {
			return nil, j.err
		}
		settle.NotesFrom(ctx).Add(details(&j.decision))
		if info := callInfoFrom(ctx); info != nil {
			info.decided(j)
		}
		effects = j.effects
	}
	return wiredraft.AppendResult(nil, m.ID, m.Event.Type, &m.Capabilities, effects, nil)
}

// errRewrite is why a change of a backend behind the policy is not taken.
var errRewrite = errors.New("the policy does not let the changed input run as it is")

// authorize judges an input that another backend has changed: the policy stands
// first in the chain, and no rewrite may get past it ([harness.Options.Authorize]).
// What needs an approval passes when the policy has asked for the same one already:
// the user is told why of what was asked, and nothing of another rule.
func (g *Gateway) authorize(ctx context.Context, from harness.Receiver, was, is *ahp.Event) error {
	if from.Backend == PolicyID || is.Tool == nil || was.Tool == nil || bytes.Equal(was.Tool.Input, is.Tool.Input) || !g.decider.Set().Hears(is.Type) {
		return nil
	}
	d, _, err := g.decider.Decide(ctx, is)
	if err != nil {
		return err
	}
	var asked []policy.Fired
	if info := callInfoFrom(ctx); info != nil {
		if before := info.policyDecision(); before != nil && before.Effect == policy.EffectAsk {
			asked = before.Asks
		}
	}
	if d.Denied() || len(d.Changes) > 0 {
		return errRewrite
	}
	for _, a := range d.Asks {
		if !slices.ContainsFunc(asked, func(b policy.Fired) bool { return a.Rule == b.Rule }) {
			return errRewrite
		}
	}
	return nil
}

// The texts of what has none of its own.
const (
	reasonAsk      = "A control asks for your approval of this call."
	reasonContinue = "A control asks for one more step."
)

// verdict is what the agent is told of a settlement.
func (g *Gateway) verdict(s *settle.Settlement, ev *ahp.Event, info *callInfo) native.Verdict {
	v := native.Verdict{Decision: native.Denied, Reason: s.Reason, Messages: s.Messages, RewriteAllows: g.opts.RewriteAllows}
	switch s.State {
	case settle.Proceed:
		switch {
		case s.Flow == ahp.FlowContinue:
			v.Decision, v.Reason = native.Continued, cmp.Or(strings.Join(s.Instructions, " "), reasonContinue)
		case s.Permission == ahp.PermissionAllow:
			v.Decision = native.Allowed
		default:
			v.Decision = native.Proceed
		}
	case settle.Ask:
		v.Decision, v.Reason = native.Ask, reasonAsk
		if s.By == PolicyID {
			if d := info.policyDecision(); d != nil && len(d.Asks) > 0 {
				v.Reason = d.Asks[0].Reason
			}
		}
	case settle.Stopped:
		v.Decision = native.Stopped
	case settle.Denied, settle.Supplied, settle.Interrupted: // no agent takes a result; it was not offered
	}
	for _, i := range s.Injections {
		for _, m := range i.Messages {
			for _, p := range m.Parts {
				if p.Text != nil {
					v.Context = append(v.Context, *p.Text)
				}
			}
		}
	}
	if e := s.Event; e != nil && e.Tool != nil && ev.Tool != nil && !bytes.Equal(e.Tool.Input, ev.Tool.Input) {
		v.Input = e.Tool.Input
	}
	return v
}

// stepsDone is how often the turn of a decoded event was kept going: by our count, or
// once when another hook did (NA-CC-36). The event says so, too.
func (g *Gateway) stepsDone(h *hookwire.Header, dec *native.Decoded) int64 {
	body, ok := dec.Event.Body.(*ahp.TurnFinishBody)
	if !ok {
		return 0
	}
	body.ContinuationCount = max(body.ContinuationCount, g.sessions.steps(sessionKey(h.Agent, dec.Event), dec.Turn))
	return body.ContinuationCount
}

// tellRefused tells of a call that was refused; see [Gateway.refusedCall].
func (g *Gateway) tellRefused(ctx context.Context, s *settle.Settlement, ev *ahp.Event) {
	after := g.refusedCall(s, ev)
	if after == nil {
		return
	}
	g.offered.Store(after.ID, &ahp.Capabilities{}) // nobody is told what comes of it
	defer g.offered.Delete(after.ID)
	c := g.harness.Begin(ctx, after)
	if _, err := c.Settle(); err == nil {
		_ = c.Wait(ctx) // how deliveries end is counted by the harness
	}
}

// refusedCall is the event behind a call that was refused: agents send no event behind
// it, and one tool.after is owed for each call (D-TE-2). It returns nil when nobody is
// told.
func (g *Gateway) refusedCall(s *settle.Settlement, ev *ahp.Event) *ahp.Event {
	if ev.Type != ahp.ToolBefore || !g.asked[ahp.ToolAfter] && !g.observed[ahp.ToolAfter] {
		return nil
	}
	body := &ahp.ToolAfterBody{Outcome: ahp.ToolDenied, Execution: ahp.Execution{Skipped: ahp.SkipPolicy}}
	switch s.State {
	case settle.Denied, settle.Supplied:
	case settle.Stopped, settle.Interrupted:
		body.Outcome, body.Execution = ahp.ToolCancelled, ahp.Execution{Skipped: ahp.SkipCancelled}
	case settle.Proceed, settle.Ask:
		return nil
	}
	e := *ev
	if s.Event != nil {
		e = *s.Event
	}
	e.ID, e.Type, e.Parent = harness.NewID(), ahp.ToolAfter, ev.ID
	e.Time = time.Now().UTC().Format(time.RFC3339Nano)
	e.Parts, e.Native, e.Messages, e.Body = nil, nil, []ahp.Message{}, body
	return &e
}
