package backend

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
)

// The texts of these errors hold names of the protocol only.
var (
	errNotOffered = errors.New("not offered")
	errHiddenList = errors.New("the list holds text that is hidden here, so it can only be appended to")
	errForeignRef = errors.New("an attachment that the event does not have")
	errKnownID    = errors.New("new content with an id that is in use")
	errHiddenPart = errors.New("a part without its body")
	errNoObject   = errors.New("the value is no JSON object")
)

// acceptable says why a harness would reject f as answer to ev with what it
// offered, or nil (AHP-CAP-001, AHP draft sections 7 to 10). The codec checks the
// shapes of what is sent once more; what depends on the content of the event is
// checked here alone.
func acceptable(v ahp.Version, ev *ahp.Event, caps *ahp.Capabilities, f ahp.Effect) error {
	if v != ahp.VersionDraft {
		d, ok := f.(*ahp.Deny)
		if !ok || d == nil || !caps.Allows(ahp.EffectDeny) {
			return errNotOffered
		}
		return denial(d)
	}
	switch f := f.(type) {
	case *ahp.Deny:
		if f == nil || !caps.Allows(ahp.EffectDeny) {
			return errNotOffered
		}
		return denial(f)
	case *ahp.Allow:
		return known(f != nil && caps.Allows(ahp.EffectAllow))
	case *ahp.Ask:
		return known(f != nil && caps.Allows(ahp.EffectAsk))
	case *ahp.Notify:
		if f == nil || !caps.Allows(ahp.EffectMessage) {
			return errNotOffered
		}
		return text("the text", f.Text, true)
	case *ahp.Stop:
		if f == nil || !caps.AllowsStop() {
			return errNotOffered
		}
		return text("the reason", f.Reason, false)
	case *ahp.Continue:
		if f == nil || !caps.AllowsContinue() {
			return errNotOffered
		}
		return text("the instruction", f.Instruction, true)
	case *ahp.Inject:
		if f == nil || !caps.AllowsInject(f.DeliverAt) {
			return errNotOffered
		}
		return injected(ev, f)
	case *ahp.Modify:
		if f == nil || !caps.AllowsModify(f.Target, f.Operation) {
			return errNotOffered
		}
		return modified(ev, f)
	case *ahp.Return:
		if f == nil || !caps.Allows(ahp.EffectReturn) {
			return errNotOffered
		}
		return supplied(ev, f)
	}
	return errNotOffered // nil
}

func known(offered bool) error {
	if !offered {
		return errNotOffered
	}
	return nil
}

func denial(d *ahp.Deny) error {
	if d.Code != "" && !ahp.ReverseDNS(d.Code) {
		return errors.New("the code is no reverse-DNS name")
	}
	return text("the reason", d.Reason, false)
}

func text(what, s string, empty bool) error {
	switch {
	case s == "" && !empty:
		return fmt.Errorf("%s is empty", what)
	case !utf8.ValidString(s):
		return fmt.Errorf("%s is not UTF-8", what)
	}
	return nil
}

// modified checks a change against its target (AHP draft section 9).
func modified(ev *ahp.Event, m *ahp.Modify) error {
	v := &m.Value
	switch m.Target.At(ev.Type) {
	case ahp.ValueObject:
		if v.Messages != nil || v.Parts != nil || !object(v.JSON) {
			return errNoObject
		}
		return objectAt(ev, m)
	case ahp.ValueMessages:
		if v.JSON != nil || v.Parts != nil || v.Messages == nil {
			return errors.New("the value is no list of messages") // D-TGT-5
		}
		if m.Operation == ahp.OpReplace && slices.ContainsFunc(ev.Messages, hidesText) {
			return errHiddenList // D-CAP-6
		}
		return messages(ev, v.Messages, roleAt(ev.Type), m.Operation == ahp.OpReplace)
	case ahp.ValueParts:
		if v.JSON != nil || v.Messages != nil || v.Parts == nil {
			return errors.New("the value is no list of parts")
		}
		if m.Operation == ahp.OpReplace && slices.ContainsFunc(targetParts(ev), hiddenText) {
			return errHiddenList
		}
		return texts(v.Parts)
	case ahp.ValueAny:
	}
	return errNotOffered
}

// objectAt checks what a change of an object leads to, as far as that has a shape.
func objectAt(ev *ahp.Event, m *ahp.Modify) error {
	switch m.Target {
	case ahp.TargetWorkspace:
		return workspace(m)
	case ahp.TargetContent:
		return cmp.Or(answers(m.Value.JSON), elicited(ev, m))
	default: // an input has the shape that its tool wants
		return nil
	}
}

func workspace(m *ahp.Modify) error {
	var members map[string]jsontext.Value
	if json.Unmarshal(m.Value.JSON, &members) != nil {
		return errNoObject
	}
	if m.Operation == ahp.OpReplace && len(members) == 0 {
		return errors.New("neither cwd nor workspaceRoots is left")
	}
	for name, v := range members {
		switch name {
		case "cwd":
			if v.Kind() != '"' || string(v) == `""` {
				return errors.New("cwd is no path")
			}
		case "workspaceRoots":
			var roots []string
			if v.Kind() != '[' || json.Unmarshal(v, &roots) != nil {
				return errors.New("workspaceRoots is no list of paths")
			}
			slices.Sort(roots)
			if slices.Contains(roots, "") || len(slices.Compact(roots)) != len(roots) {
				return errors.New("workspaceRoots holds an empty or repeated path")
			}
		default:
			return errors.New("a workspace is cwd and workspaceRoots")
		}
	}
	return nil
}

// elicited checks what has to fit a question or an answer of MCP.
func elicited(ev *ahp.Event, f ahp.Effect) error {
	if no := wiredraft.CheckEffects(ev, []ahp.Effect{f}); no != nil {
		return no.Err
	}
	return nil
}

// answers checks the fields of a form: strings, numbers, booleans and lists of
// strings. Whether they fit the form, its asker knows.
func answers(raw ahp.Raw) error {
	var fields map[string]jsontext.Value
	if json.Unmarshal(raw, &fields) != nil {
		return errNoObject
	}
	for _, v := range fields {
		var list []any
		switch v.Kind() {
		case '"', '0', 't', 'f':
			continue
		case '[':
			if json.Unmarshal(v, &list) == nil && !slices.ContainsFunc(list, func(x any) bool { _, ok := x.(string); return !ok }) {
				continue
			}
		default:
		}
		return errors.New("an answer is a string, a number, a boolean or a list of strings")
	}
	return nil
}

// supplied checks a supplied result against the boundary (D-RET-1).
func supplied(ev *ahp.Event, f *ahp.Return) error {
	v := &f.Value
	switch ahp.ReturnAt(ev.Type) {
	case ahp.ValueAny:
		if v.Messages != nil || v.Parts != nil || !jsontext.Value(v.JSON).IsValid() {
			return errors.New("the value is no JSON value")
		}
		return nil
	case ahp.ValueMessages:
		if v.JSON != nil || v.Parts != nil || v.Messages == nil {
			return errors.New("the value is no list of messages")
		}
		return messages(ev, v.Messages, "", false)
	case ahp.ValueParts:
		if v.JSON != nil || v.Messages != nil || v.Parts == nil {
			return errors.New("the value is no list of parts")
		}
		return texts(v.Parts)
	case ahp.ValueObject:
		if v.Messages != nil || v.Parts != nil || !object(v.JSON) {
			return errNoObject
		}
		return elicited(ev, f)
	}
	return errNotOffered
}

// injected checks context messages (AHP draft section 16).
func injected(ev *ahp.Event, f *ahp.Inject) error {
	if f.Messages == nil {
		return errors.New("the value is no list of messages")
	}
	return messages(ev, f.Messages, "", false)
}

// fresh checks the ids of new content over a whole list: what is injected (D-INJ-2),
// and a supplied summary (D-CMP-6). None is in use in the event, in what the list puts
// into it, or elsewhere in the new content.
func fresh(ev *ahp.Event, effects []ahp.Effect) error {
	isNew := func(f ahp.Effect) (m []ahp.Message, p []ahp.Part) {
		if i, ok := f.(*ahp.Inject); ok {
			return i.Messages, nil
		}
		if r, ok := f.(*ahp.Return); ok {
			return nil, r.Value.Parts
		}
		return nil, nil
	}
	if !slices.ContainsFunc(effects, func(f ahp.Effect) bool { m, p := isNew(f); return len(m)+len(p) > 0 }) {
		return nil
	}
	messages, parts := map[string]bool{}, map[string]bool{}
	take := func(ms []ahp.Message, ps []ahp.Part) (ok bool) {
		ok = true
		each := func(ids map[string]bool, id string) {
			ok = ok && !ids[id]
			ids[id] = true
		}
		for i := range ms {
			each(messages, ms[i].ID)
			for j := range ms[i].Parts {
				each(parts, ms[i].Parts[j].ID)
			}
		}
		for i := range ps {
			each(parts, ps[i].ID)
		}
		return ok
	}
	take(ev.Messages, ev.Parts)
	take(nil, targetParts(ev))
	if b, ok := ev.Body.(*ahp.ToolAfterBody); ok {
		for _, c := range b.FileChanges {
			for _, p := range []*ahp.Part{c.Before, c.After} {
				if p != nil {
					take(nil, []ahp.Part{*p})
				}
			}
		}
	}
	for _, f := range effects {
		if m, ok := f.(*ahp.Modify); ok {
			take(m.Value.Messages, m.Value.Parts)
		}
	}
	for _, f := range effects {
		if !take(isNew(f)) {
			return errKnownID
		}
	}
	return nil
}

// messages checks canonical messages that the backend writes. Of those in the place
// of the event's own list, attachments may come back as they were shown.
func messages(ev *ahp.Event, list []ahp.Message, role ahp.Role, shown bool) error {
	for i := range list {
		m := &list[i]
		switch {
		case m.ID == "":
			return errors.New("a message has no id")
		case !m.Role.Known() || role != "" && m.Role != role:
			return errors.New("a message has a role that does not exist here") // D-TGT-3
		}
		for j := range m.Parts {
			p := &m.Parts[j]
			switch {
			case p.ID == "":
				return errors.New("a part has no id")
			case p.Kind == ahp.PartText && p.Text == nil:
				return errHiddenPart // D-TGT-9
			case p.Kind == ahp.PartText:
			case !has(ev, p):
				return errForeignRef // D-TGT-8
			case p.Ref == "" && !shown:
				return errHiddenPart
			}
		}
	}
	return nil
}

// texts checks parts that the backend writes where there is text only (D-TGT-7).
func texts(list []ahp.Part) error {
	for i := range list {
		switch p := &list[i]; {
		case p.ID == "":
			return errors.New("a part has no id")
		case p.Kind != ahp.PartText:
			return errors.New("an attachment where there is text only")
		case p.Text == nil:
			return errHiddenPart
		}
	}
	return nil
}

// has reports whether the event has this attachment.
func has(ev *ahp.Event, p *ahp.Part) bool {
	same := func(x ahp.Part) bool {
		return x.Kind == p.Kind && x.Ref == p.Ref && (p.Ref != "" || x.ID == p.ID && x.Selection == p.Selection)
	}
	return slices.ContainsFunc(ev.Parts, same) ||
		slices.ContainsFunc(ev.Messages, func(m ahp.Message) bool { return slices.ContainsFunc(m.Parts, same) })
}

func hidesText(m ahp.Message) bool { return slices.ContainsFunc(m.Parts, hiddenText) }

func hiddenText(p ahp.Part) bool { return p.Kind == ahp.PartText && p.Hidden() }

// targetParts returns the text parts that a change at ev replaces.
func targetParts(ev *ahp.Event) []ahp.Part {
	if b, ok := ev.Body.(*ahp.CompactBeforeBody); ok {
		return b.Instructions
	}
	if b, ok := ev.Body.(*ahp.CompactAfterBody); ok {
		return b.Summary
	}
	return nil
}

// roleAt returns the role that all messages of the event have, or "".
func roleAt(t ahp.EventType) ahp.Role {
	switch t {
	case ahp.MessageInbound:
		return ahp.RoleUser
	case ahp.MessageOutbound:
		return ahp.RoleAssistant
	default:
		return ""
	}
}

func object(raw ahp.Raw) bool {
	return jsontext.Value(raw).IsValid() && jsontext.Value(raw).Kind() == '{'
}
