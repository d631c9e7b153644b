package wiredraft

import (
	"slices"

	"github.com/holdpoint/holdpoint/ahp"
)

// capabilities writes an offer; whether it is within the bounds of an event is the
// caller's to check.
func (e *encoder) capabilities(c *ahp.Capabilities) {
	e.open()
	e.key("effects")
	e.list(len(c.Effects))
	for i, t := range c.Effects {
		e.next(i)
		e.quote(string(t))
	}
	e.shutList()
	if len(c.Effects) > maxEffects || repeats(c.Effects) {
		e.bad("too many effects, or one twice", "each effect once")
	}
	if len(c.Modify) > 0 {
		e.key("modify")
		e.open()
		for i, m := range c.Modify {
			e.key(string(m.Target))
			e.open()
			e.boolean("replace", m.Replace)
			e.boolean("merge", m.Merge)
			e.shut()
			if !m.Target.Known() || !m.Replace && !m.Merge ||
				slices.ContainsFunc(c.Modify[:i], func(x ahp.ModifyCapability) bool { return x.Target == m.Target }) {
				e.bad("another target, one twice or one without an operation", "each target once")
			}
		}
		e.shut()
	}
	if f := c.Flow; f != nil {
		e.flow(f)
	}
	if len(c.Inject) > 0 {
		e.text(`,"inject":{"context":{"append":true,"deliverAt":[`)
		for i, d := range c.Inject {
			e.next(i)
			e.quote(string(d))
			if d != ahp.DeliverNow && d != ahp.DeliverNextTurn {
				e.bad("another delivery", "now or next_turn")
			}
		}
		e.text(`]}}`)
		if repeats(c.Inject) {
			e.bad("a delivery twice", "each once")
		}
	}
	if x := c.Elicitation; x != nil {
		e.key("elicitation")
		e.open()
		e.member("form", x.Form, '{')
		e.member("url", x.URL, '{')
		e.unknown(x.Unknown, among("form", "url"))
		e.shut()
	}
	e.unknown(c.Unknown, among("effects", "modify", "flow", "inject", "elicitation"))
	e.shut()
}

func (e *encoder) flow(f *ahp.FlowCapability) {
	e.key("flow")
	e.open()
	switch {
	case f.Stop && f.Continue:
		e.text(`"operations":["stop","continue"]`)
	case f.Stop:
		e.text(`"operations":["stop"]`)
	case f.Continue:
		e.text(`"operations":["continue"]`)
	default:
		e.text(`"operations":[]`)
		e.bad("no operation", "stop, continue or both")
	}
	e.countPtr("remainingContinuations", f.Remaining)
	e.countPtr("continuationCount", f.Count)
	e.countPtr("maxContinuations", f.Max)
	if f.Continue && (f.Remaining == nil || f.Count == nil) {
		e.lacks("remainingContinuations and continuationCount")
	}
	e.unknown(f.Unknown, among("operations", "remainingContinuations", "continuationCount", "maxContinuations"))
	e.shut()
}

func (e *encoder) state(s *ahp.State) {
	e.open()
	permission := s.Permission
	if permission == "" {
		permission = ahp.PermissionNone
	}
	e.one("permission", string(permission), string(ahp.PermissionNone), string(ahp.PermissionAllow), string(ahp.PermissionAsk), string(ahp.PermissionDeny))
	e.key("candidate")
	if c := s.Candidate; c == nil {
		e.text("null")
	} else {
		e.open()
		e.needs("value", c.Value, 0)
		e.member("provenance", c.Provenance, '{')
		e.unknown(c.Unknown, among("value", "provenance"))
		e.shut()
	}
	if s.Flow != "" {
		e.one("flow", string(s.Flow), string(ahp.FlowNone), string(ahp.FlowStop), string(ahp.FlowContinue))
	}
	if s.Instructions != nil {
		e.names("instructions", s.Instructions, 1, false)
	}
	if s.Injections != nil {
		e.key("injections")
		e.list(len(s.Injections))
		for i, r := range s.Injections {
			e.next(i)
			if r == nil {
				e.lacks("injections")
				continue
			}
			e.raw(r, 0)
		}
		e.shutList()
	}
	e.unknown(s.Unknown, among("permission", "candidate", "flow", "instructions", "injections"))
	e.shut()
}

// manifest writes a capability manifest as [decoder.manifest] reads it.
func (e *encoder) manifest(m *ahp.Manifest) {
	e.open()
	e.key("events")
	e.list(len(m.Events))
	for i := range m.Events {
		e.next(i)
		e.manifestEvent(&m.Events[i])
	}
	e.shutList()
	e.key("gaps")
	e.gaps(m.Gaps)
	e.names("transports", m.Transports, 1, true)
	e.names("authentication", m.Authentication, 1, true)
	if !all(m.Transports, "http", "stdio", "in_process") || !all(m.Authentication, "bearer", "oauth") {
		e.bad("another transport or authentication", "those of the protocol")
	}
	e.names("toolPaths", m.ToolPaths, 1, true)
	e.names("contentCategories", m.ContentCategories, 1, true)
	e.key("limits")
	e.open()
	l := &m.Limits
	e.countPtr("maxUploadBytes", l.MaxUploadBytes)
	e.countPtr("maxContinuations", l.MaxContinuations)
	e.countPtr("minTimeoutMs", l.MinTimeoutMs)
	e.countPtr("maxTimeoutMs", l.MaxTimeoutMs)
	e.unknown(l.Unknown, among("maxUploadBytes", "maxContinuations", "minTimeoutMs", "maxTimeoutMs"))
	e.shut()
	e.key("managedPolicy")
	e.open()
	e.key("scopes")
	e.list(len(m.ManagedPolicy.Scopes))
	for i, s := range m.ManagedPolicy.Scopes {
		e.next(i)
		e.quote(string(s))
		if !s.Known() || s == ahp.ScopeManaged && m.ManagedPolicy.Disableable {
			e.bad("another scope, or a managed one that can be disabled", "user, project or managed")
		}
	}
	e.shutList()
	if repeats(m.ManagedPolicy.Scopes) {
		e.bad("a scope twice", "each once")
	}
	e.boolean("disableable", m.ManagedPolicy.Disableable)
	e.unknown(m.ManagedPolicy.Unknown, among("scopes", "disableable"))
	e.shut()
	e.names("correlationIdentityFields", m.Correlation, 1, true)
	e.unknown(m.Unknown, among("events", "gaps", "transports", "authentication", "toolPaths", "contentCategories",
		"limits", "managedPolicy", "correlationIdentityFields", "identity"))
	e.shut()
}

func all(list []string, names ...string) bool {
	for _, s := range list {
		if !slices.Contains(names, s) {
			return false
		}
	}
	return true
}

func (e *encoder) manifestEvent(x *ahp.ManifestEvent) {
	e.open()
	e.name("event", string(x.Event))
	e.key("modes")
	e.list(len(x.Modes))
	intercept := false
	for i, m := range x.Modes {
		e.next(i)
		e.quote(string(m))
		intercept = intercept || m == ahp.ModeIntercept
		if m != ahp.ModeObserve && m != ahp.ModeIntercept {
			e.bad("another mode", "observe or intercept")
		}
	}
	e.shutList()
	c := x.Capabilities
	if c != nil {
		e.key("capabilities")
		e.capabilities(c)
	}
	switch {
	case shapes[string(x.Event)] == nil, len(x.Modes) == 0, repeats(x.Modes):
		e.bad("another event, no mode or one twice", "an event type with its modes")
	case intercept && (c == nil || c.Within(x.Event) != nil):
		e.bad("no capabilities, or some out of bounds", "capabilities within the bounds of the event")
	case !intercept && c != nil && (len(c.Effects) > 0 || len(c.Modify) > 0 || c.Flow != nil || len(c.Inject) > 0):
		e.bad("effects of an event that can only be observed", "none")
	}
	e.unknown(x.Unknown, among("event", "modes", "capabilities"))
	e.shut()
}
