package wiredraft

import (
	"github.com/holdpoint/holdpoint/ahp"
)

// manifest reads a capability manifest (AHP draft section 20).
func (d *decoder) manifest(m *ahp.Manifest) {
	start, ok := d.object("a capability manifest")
	if !ok {
		return
	}
	required := [...]struct{ name, expected string }{
		{"events", "an array of covered events"},
		{"gaps", "an array of gaps"},
		{"transports", "an array of transports"},
		{"authentication", "an array of authentication types"},
		{"toolPaths", "an array of tool paths"},
		{"contentCategories", "an array of categories"},
		{"limits", "an object of integers from 0"},
		{"managedPolicy", "an object with scopes and disableable"},
		{"correlationIdentityFields", "an array of field paths"},
	}
	var seen uint16
	for d.More() {
		name := d.Name()
		for i := range required {
			if string(name) == required[i].name {
				seen |= 1 << i
			}
		}
		switch string(name) {
		case "events":
			if _, ok := d.array("an array of covered events"); !ok {
				continue
			}
			m.Events = []ahp.ManifestEvent{}
			for d.More() {
				m.Events = append(m.Events, d.manifestEvent())
			}
		case "gaps":
			m.Gaps = d.eventGaps()
		case "transports":
			m.Transports = d.oneOfEach("http, stdio or in_process", "http", "stdio", "in_process")
		case "authentication":
			m.Authentication = d.oneOfEach("bearer or oauth", "bearer", "oauth")
		case "toolPaths":
			m.ToolPaths = d.names("an array of strings that are not empty, each once", 1, true)
		case "contentCategories":
			m.ContentCategories = d.names("an array of strings that are not empty, each once", 1, true)
		case "limits":
			d.manifestLimits(&m.Limits)
		case "managedPolicy":
			d.managedPolicy(&m.ManagedPolicy)
		case "correlationIdentityFields":
			m.Correlation = d.names("an array of strings that are not empty, each once", 1, true)
		case "identity": // D-DISC-4
			d.badAs(d.NameVal().Start, "a member", "nothing: a manifest proves no identity")
			d.Skip()
		default:
			d.Keep(&m.Unknown, d.Skip())
		}
	}
	for i := range required {
		if seen&(1<<i) == 0 {
			d.lacks(start, required[i].name, required[i].expected)
		}
	}
}

// oneOfEach reads an array of some of the names, each once.
func (d *decoder) oneOfEach(expected string, names ...string) []string {
	if _, ok := d.array("an array of " + expected); !ok {
		return nil
	}
	list := []string{}
	for d.More() {
		off := d.Pos()
		s := d.one(expected, names...)
		if s == "" {
			continue
		}
		for _, x := range list {
			if x == s {
				d.badAs(off, "a string that the array already has", "each string once")
			}
		}
		list = append(list, s)
	}
	return list
}

func (d *decoder) manifestEvent() (e ahp.ManifestEvent) {
	start, ok := d.object("an object with event and modes")
	if !ok {
		return e
	}
	var event, modes bool
	var capabilities int
	for d.More() {
		switch string(d.Name()) {
		case "event":
			event = true
			v := d.Skip()
			if v.Kind == '"' {
				if sh := shapes[string(d.Content(v))]; sh != nil {
					e.Event = sh.typ
					continue
				}
			}
			d.bad(v, "an event type of revision draft")
		case "modes":
			modes = true
			off := d.Pos()
			for _, s := range d.oneOfEach("observe or intercept", string(ahp.ModeObserve), string(ahp.ModeIntercept)) {
				e.Modes = append(e.Modes, ahp.Mode(s))
			}
			if len(e.Modes) == 0 {
				d.badAs(off, "no mode", "observe, intercept or both")
			}
		case "capabilities":
			capabilities = d.Pos()
			e.Capabilities = new(ahp.Capabilities)
			d.capabilities(e.Capabilities)
		default:
			d.Keep(&e.Unknown, d.Skip())
		}
	}
	if !event {
		d.lacks(start, "event", "an event type of revision draft")
	}
	if !modes {
		d.lacks(start, "modes", "observe, intercept or both")
	}
	if e.Event == "" || len(e.Modes) == 0 || d.Dead() {
		return e
	}
	intercept := false
	for _, m := range e.Modes {
		intercept = intercept || m == ahp.ModeIntercept
	}
	switch {
	case intercept && !e.Event.Interceptable(ahp.VersionDraft):
		d.extra(start, "modes", "intercept", "observe: the event cannot be intercepted")
	case intercept && capabilities == 0:
		d.lacks(start, "capabilities", "an object with effects: the event can be intercepted")
	case intercept:
		d.within(e.Capabilities, e.Event, capabilities, "capabilities")
	case capabilities > 0 && len(e.Capabilities.Effects) > 0:
		d.extra(capabilities, "capabilities/effects", "effects", "an empty array: the event can only be observed")
	case capabilities > 0 && (len(e.Capabilities.Modify) > 0 || e.Capabilities.Flow != nil || len(e.Capabilities.Inject) > 0):
		d.extra(capabilities, "capabilities", "an offer without its effect", "none")
	}
	return e
}

func (d *decoder) manifestLimits(l *ahp.ManifestLimits) {
	if _, ok := d.object("an object of integers from 0"); !ok {
		return
	}
	for d.More() {
		switch string(d.Name()) {
		case "maxUploadBytes":
			l.MaxUploadBytes = d.countPtr()
		case "maxContinuations":
			l.MaxContinuations = d.countPtr()
		case "minTimeoutMs":
			l.MinTimeoutMs = d.countPtr()
		case "maxTimeoutMs":
			l.MaxTimeoutMs = d.countPtr()
		default:
			d.Keep(&l.Unknown, d.Skip())
		}
	}
}

func (d *decoder) managedPolicy(p *ahp.ManagedPolicy) {
	start, ok := d.object("an object with scopes and disableable")
	if !ok {
		return
	}
	var scopes, disableable, managed bool
	for d.More() {
		switch string(d.Name()) {
		case "scopes":
			scopes = true
			p.Scopes = []ahp.Scope{}
			for _, s := range d.oneOfEach("user, project or managed", string(ahp.ScopeUser), string(ahp.ScopeProject), string(ahp.ScopeManaged)) {
				p.Scopes = append(p.Scopes, ahp.Scope(s))
				managed = managed || ahp.Scope(s) == ahp.ScopeManaged
			}
		case "disableable":
			disableable = true
			p.Disableable = d.boolean()
		default:
			d.Keep(&p.Unknown, d.Skip())
		}
	}
	if !scopes {
		d.lacks(start, "scopes", "an array of user, project or managed")
	}
	if !disableable {
		d.lacks(start, "disableable", "true or false")
	}
	if managed && p.Disableable {
		d.extra(start, "disableable", "true", "false: the managed scope is honored")
	}
}
