package wiredraft

import (
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
)

// maxEffects bounds the effects that a harness may name.
const maxEffects = 256

// capabilities reads what a harness can enforce (AHP draft section 7), without the
// bounds of the event type.
func (d *decoder) capabilities(c *ahp.Capabilities) {
	start, ok := d.object("an object with effects")
	if !ok {
		return
	}
	effects := false
	for d.More() {
		switch string(d.Name()) {
		case "effects":
			effects = true
			d.offeredEffects(c)
		case "modify":
			d.offeredTargets(c)
		case "flow":
			c.Flow = d.offeredFlow()
		case "inject":
			c.Inject = d.offeredInject()
		case "elicitation":
			c.Elicitation = d.offeredElicitation()
		default:
			d.Keep(&c.Unknown, d.Skip())
		}
	}
	if !effects {
		d.lacks(start, "effects", "an array of effects")
	}
}

func (d *decoder) offeredEffects(c *ahp.Capabilities) {
	if _, ok := d.array("an array of effects"); !ok {
		return
	}
	c.Effects = []ahp.EffectType{}
	if d.mem != nil && d.stage == inOffer.stage { // there is one such offer, but many in a manifest
		c.Effects = d.mem.effects[:0:len(d.mem.effects)]
	}
	for d.More() {
		v := d.Skip()
		if v.Kind != '"' {
			d.bad(v, "the name of an effect")
			continue
		}
		e := coreEffect(d.Content(v))
		if e == "" {
			e = ahp.EffectType(d.Str(v))
			if !ahp.ReverseDNS(string(e)) {
				d.badAs(v.Start, "another string", "the name of an effect")
				continue
			}
		}
		switch {
		case c.Allows(e):
			d.badAs(v.Start, "an effect that the array already has", "each effect once")
		case len(c.Effects) >= maxEffects:
			d.Limit("too many effects", "at most 256")
		default:
			c.Effects = append(c.Effects, e)
		}
	}
}

// coreEffect returns the effect of that name, or "".
func coreEffect(b []byte) ahp.EffectType {
	switch string(b) {
	case "deny":
		return ahp.EffectDeny
	case "allow":
		return ahp.EffectAllow
	case "ask":
		return ahp.EffectAsk
	case "modify":
		return ahp.EffectModify
	case "message":
		return ahp.EffectMessage
	case "return":
		return ahp.EffectReturn
	case "flow":
		return ahp.EffectFlow
	case "inject":
		return ahp.EffectInject
	}
	return ""
}

// target returns the target of that name, or "".
func target(b []byte) ahp.Target {
	switch string(b) {
	case "input":
		return ahp.TargetInput
	case "output":
		return ahp.TargetOutput
	case "prompt":
		return ahp.TargetPrompt
	case "request":
		return ahp.TargetRequest
	case "response":
		return ahp.TargetResponse
	case "content":
		return ahp.TargetContent
	case "instructions":
		return ahp.TargetInstructions
	case "summary":
		return ahp.TargetSummary
	case "workspace":
		return ahp.TargetWorkspace
	}
	return ""
}

func (d *decoder) offeredTargets(c *ahp.Capabilities) {
	off, ok := d.object("an object of targets")
	if !ok {
		return
	}
	n := 0
	for d.More() {
		n++
		t := target(d.Name())
		if t == "" {
			d.badAs(d.NameVal().Start, "another target", "a target of revision draft")
		}
		start, ok := d.object("an object with replace and merge")
		if !ok {
			continue
		}
		m := ahp.ModifyCapability{Target: t}
		var replace, merge bool
		for d.More() {
			switch string(d.Name()) {
			case "replace":
				replace = true
				m.Replace = d.boolean()
			case "merge":
				merge = true
				m.Merge = d.boolean()
			default: // it grants nothing (D-CAP-5)
				d.Skip()
			}
		}
		if !replace {
			d.lacks(start, "replace", "true or false")
		}
		if !merge {
			d.lacks(start, "merge", "true or false")
		}
		if replace && merge && !m.Replace && !m.Merge {
			d.badAs(start, "a target without an operation", "replace, merge or both")
		}
		if t != "" {
			c.Modify = append(c.Modify, m)
		}
	}
	if n == 0 {
		d.badAs(off, "an empty object", "at least one target")
	}
}

func (d *decoder) offeredFlow() *ahp.FlowCapability {
	start, ok := d.object("an object with operations")
	if !ok {
		return nil
	}
	f := new(ahp.FlowCapability)
	operations := false
	for d.More() {
		switch string(d.Name()) {
		case "operations":
			operations = true
			off, ok := d.array("an array with stop, continue or both")
			if !ok {
				continue
			}
			n := 0
			for d.More() {
				n++
				at := d.Pos()
				switch op := d.one("stop or continue", "stop", "continue"); {
				case op == "stop" && f.Stop || op == "continue" && f.Continue:
					d.badAs(at, "an operation that the array already has", "each once")
				case op == "stop":
					f.Stop = true
				case op == "continue":
					f.Continue = true
				}
			}
			if n == 0 {
				d.badAs(off, "an empty array", "stop, continue or both")
			}
		case "remainingContinuations":
			f.Remaining = d.countPtr()
		case "continuationCount":
			f.Count = d.countPtr()
		case "maxContinuations":
			f.Max = d.countPtr()
		default:
			d.Keep(&f.Unknown, d.Skip())
		}
	}
	if !operations {
		d.lacks(start, "operations", "an array with stop, continue or both")
	}
	if f.Continue && f.Remaining == nil {
		d.lacks(start, "remainingContinuations", "an integer from 0: continue is offered")
	}
	if f.Continue && f.Count == nil {
		d.lacks(start, "continuationCount", "an integer from 0: continue is offered")
	}
	return f
}

func (d *decoder) offeredInject() (list []ahp.Delivery) {
	start, ok := d.object("an object with context")
	if !ok {
		return nil
	}
	has := false
	for d.More() {
		if string(d.Name()) != "context" {
			d.Skip() // it grants nothing (D-CAP-5)
			continue
		}
		has = true
		list = d.offeredContext()
	}
	if !has {
		d.lacks(start, "context", "an object with append and deliverAt")
	}
	return list
}

func (d *decoder) offeredContext() (list []ahp.Delivery) {
	start, ok := d.object("an object with append and deliverAt")
	if !ok {
		return nil
	}
	var app, deliver bool
	for d.More() {
		switch string(d.Name()) {
		case "append":
			app = true
			if v := d.Skip(); v.Kind != 't' {
				d.bad(v, "true")
			}
		case "deliverAt":
			deliver = true
			off, ok := d.array("an array with now, next_turn or both")
			if !ok {
				continue
			}
			n := 0
			for d.More() {
				n++
				at := d.Pos()
				x := ahp.Delivery(d.one("now or next_turn", string(ahp.DeliverNow), string(ahp.DeliverNextTurn)))
				if x == "" {
					continue
				}
				if len(list) > 0 && (list[0] == x || len(list) > 1) {
					d.badAs(at, "a delivery that the array already has", "each once")
					continue
				}
				list = append(list, x)
			}
			if n == 0 {
				d.badAs(off, "an empty array", "now, next_turn or both")
			}
		default:
			d.Skip() // it grants nothing (D-CAP-5)
		}
	}
	if !app {
		d.lacks(start, "append", "true")
	}
	if !deliver {
		d.lacks(start, "deliverAt", "an array with now, next_turn or both")
	}
	return list
}

func (d *decoder) offeredElicitation() *ahp.ElicitationCapability {
	if _, ok := d.object("an object"); !ok {
		return nil
	}
	e := new(ahp.ElicitationCapability)
	for d.More() {
		switch string(d.Name()) {
		case "form":
			e.Form = d.rawObject("an object")
		case "url":
			e.URL = d.rawObject("an object")
		default:
			d.Keep(&e.Unknown, d.Skip())
		}
	}
	return e
}

// within reports what the event type does not let a harness offer (D-CAP-8), and what
// of an offer does not fit together. The offer was read as the current member, or as
// the member called name of the object that was just read.
func (d *decoder) within(c *ahp.Capabilities, t ahp.EventType, off int, name string) {
	err := c.Within(t)
	if err == nil || !d.Wants(d.stage) {
		return
	}
	found, _, _ := strings.Cut(err.Error(), "\n")
	d.At(d.stage, d.wrong, d.code, off, name, found, "an offer within the bounds of "+string(t))
}

// state reads what a chain has accepted so far (AHP draft section 2.1).
func (d *decoder) state() *ahp.State {
	start, ok := d.object("an object with permission and candidate")
	if !ok {
		return nil
	}
	s := new(ahp.State)
	var permission, candidate bool
	for d.More() {
		switch string(d.Name()) {
		case "permission":
			permission = true
			s.Permission = ahp.Permission(d.one("none, allow, ask or deny", string(ahp.PermissionNone),
				string(ahp.PermissionAllow), string(ahp.PermissionAsk), string(ahp.PermissionDeny)))
		case "candidate":
			candidate = true
			if d.Kind() == 'n' {
				d.Skip()
				continue
			}
			s.Candidate = d.candidate()
		case "flow":
			s.Flow = ahp.Flow(d.one("none, stop or continue", string(ahp.FlowNone), string(ahp.FlowStop), string(ahp.FlowContinue)))
		case "instructions":
			s.Instructions = d.names("an array of strings that are not empty", 1, false)
		case "injections":
			if _, ok := d.array("an array"); !ok {
				continue
			}
			s.Injections = []ahp.Raw{}
			for d.More() {
				s.Injections = append(s.Injections, d.Raw(d.Skip()))
			}
		default:
			d.Keep(&s.Unknown, d.Skip())
		}
	}
	if !permission {
		d.lacks(start, "permission", "none, allow, ask or deny")
	}
	if !candidate {
		d.lacks(start, "candidate", "null or an object with value")
	}
	return s
}

func (d *decoder) candidate() *ahp.Candidate {
	start, ok := d.object("null or an object with value")
	if !ok {
		return nil
	}
	c := new(ahp.Candidate)
	has := false
	for d.More() {
		switch string(d.Name()) {
		case "value":
			has = true
			c.Value = d.Raw(d.Skip())
		case "provenance":
			c.Provenance = d.rawObject("an object")
		default:
			d.Keep(&c.Unknown, d.Skip())
		}
	}
	if !has {
		d.lacks(start, "value", "any JSON")
	}
	return c
}
