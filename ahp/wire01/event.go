package wire01

import (
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
	"github.com/holdpoint/holdpoint/internal/uri"
)

// eventTypes says which events a message may carry.
type eventTypes uint8

const (
	anyEvent       eventTypes = iota
	onlyToolBefore            // hooks/intercept (V-LIFE-7)
)

// event reads the event at the current position into ev (AHP 0.1 section 3).
func (d *decoder) event(ev *ahp.Event, tool *ahp.Tool, allowed eventTypes) {
	start := d.Here()
	if start.Kind != '{' {
		d.bad(d.Skip(), "an object that describes the event")
		return
	}
	var (
		id, source, typ, tm, session, hasTool bool
		typeKnown                             bool
		toolOff                               int
		seen                                  toolSeen
		outcome                               walk.Val
		outcomeAt                             int // its place among the unknown members
	)
	d.Open()
	for d.More() {
		switch string(d.Name()) {
		case "id":
			id = true
			d.eventID = d.field(&ev.ID, "id", true, &ev.Unknown)
		case "source":
			source = true
			v := d.Skip()
			switch {
			case v.Kind != '"' || !uri.Valid(d.Content(v)):
				d.bad(v, "a URI with a scheme")
			default:
				ev.Source = d.Str(v)
				d.spelling(&ev.Unknown, "source", v, false)
			}
		case "type":
			typ = true
			v := d.Skip()
			if v.Kind != '"' {
				d.bad(v, "a string that names an event type")
				break
			}
			ev.Type = knownEvent(d.Content(v))
			typeKnown = ev.Type != ""
			if !typeKnown || allowed == onlyToolBefore && ev.Type != ahp.ToolBefore {
				d.unsupportedEvent(v, allowed)
			}
			d.spelling(&ev.Unknown, "type", v, false)
		case "time":
			tm = true
			v := d.Skip()
			switch {
			case v.Kind != '"' || !walk.DateTime(d.Content(v)):
				d.bad(v, "an RFC 3339 date-time")
			default:
				ev.Time = d.Str(v)
				d.spelling(&ev.Unknown, "time", v, false)
			}
		case "session":
			session = true
			d.session(&ev.Session)
		case "tool":
			hasTool, toolOff = true, d.Pos()
			if d.Build {
				ev.Tool = tool
			}
			seen = d.tool(tool)
		case "outcome":
			// What it means depends on the type, which may follow.
			outcome, outcomeAt = d.Skip(), len(ev.Unknown)
		case "native":
			d.native(ev)
		case "extensions":
			d.extensions(&ev.Extensions, &ev.HasExtensions)
		default:
			d.Keep(&ev.Unknown, d.Skip())
		}
	}
	if d.Dead() {
		return
	}
	if !id {
		d.missing(walk.StageBody, start.Start, "id", "a string that is not empty")
	}
	if !source {
		d.missing(walk.StageBody, start.Start, "source", "a URI with a scheme")
	}
	if !typ {
		d.missing(walk.StageBody, start.Start, "type", "an event type")
	}
	if !tm {
		d.missing(walk.StageBody, start.Start, "time", "an RFC 3339 date-time")
	}
	if !session {
		d.missing(walk.StageBody, start.Start, "session", "an object")
	}
	if !typeKnown {
		return // nobody knows what belongs to it
	}
	d.toolRules(ev.Type, start.Start, hasTool, toolOff, seen)
	if outcome.Kind != 0 {
		d.outcome(ev, outcome, outcomeAt)
	}
}

// toolSeen holds the offsets of a tool object and of those of its members that
// the event's type may forbid; 0 is absent.
type toolSeen struct {
	off, output, err int
}

func (d *decoder) toolRules(t ahp.EventType, off int, hasTool bool, toolOff int, seen toolSeen) {
	switch {
	case t.HasTool() && !hasTool:
		d.missing(walk.StageBody, off, "tool", "an object: "+string(t)+" is about a tool call")
	case !t.HasTool() && hasTool:
		d.extra(toolOff, "tool", "a member", "nothing: "+string(t)+" is about no tool call")
	}
	if !t.HasTool() || seen.off == 0 {
		return
	}
	if seen.output > 0 && t != ahp.ToolAfter {
		d.extra(seen.output, "tool/output", "a member", "nothing: only tool.after has an output")
	}
	switch {
	case seen.err > 0 && t != ahp.ToolError:
		d.extra(seen.err, "tool/error", "a member", "nothing: only tool.error has an error")
	case seen.err == 0 && t == ahp.ToolError:
		d.missing(walk.StageBody, seen.off, "tool/error", "an object that describes the error")
	}
}

func (d *decoder) outcome(ev *ahp.Event, v walk.Val, at int) {
	switch ev.Type {
	case ahp.SessionEnd:
		if v.Kind == '"' {
			ev.Outcome = knownOutcome(d.Content(v))
		}
		if ev.Outcome == "" {
			d.extra(v.Start, "outcome", walk.Describe(v), "completed, cancelled, error or unknown")
			return
		}
		d.spelling(&ev.Unknown, "outcome", v, false)
	case ahp.SessionStart:
		d.extra(v.Start, "outcome", walk.Describe(v), "nothing: only session.end has an outcome")
	default: // on a tool event it is a member like any that the protocol does not define
		if d.Build {
			ev.Unknown = slices.Insert(ev.Unknown, at, ahp.Member{Name: "outcome", Value: d.Raw(v)})
		}
	}
}

func (d *decoder) unsupportedEvent(v walk.Val, allowed eventTypes) {
	expected := "an event type of revision 0.1"
	if allowed == onlyToolBefore {
		expected = "tool.before"
	}
	d.Fail(walk.StageType, ahp.FailUnsupported, ahp.CodeUnsupportedEvent, v.Start, "another event type", expected)
}

// field reads a string. With required it may not be empty.
func (d *decoder) field(dst *string, name string, required bool, unknown *ahp.Members) walk.Val {
	v := d.Skip()
	switch {
	case v.Kind != '"' && required:
		d.bad(v, "a string that is not empty")
	case v.Kind != '"':
		d.bad(v, "a string")
	case required && v.Empty():
		d.bad(v, "a string that is not empty")
	default:
		*dst = d.Str(v)
		d.spelling(unknown, name, v, !required)
	}
	return v
}

// spelling keeps the text of a known string that the model cannot reproduce (see
// the package comment).
func (d *decoder) spelling(unknown *ahp.Members, name string, v walk.Val, optional bool) {
	if !d.Build || d.Dead() {
		return
	}
	if optional && v.Empty() || !d.plain(v) {
		*unknown = append(*unknown, ahp.Member{Name: name, Value: d.Raw(v)})
	}
}

func (d *decoder) session(s *ahp.Session) {
	start := d.Here()
	if start.Kind != '{' {
		d.bad(d.Skip(), "an object")
		return
	}
	id := false
	d.Open()
	for d.More() {
		switch string(d.Name()) {
		case "id":
			id = true
			d.field(&s.ID, "id", true, &s.Unknown)
		case "cwd":
			d.field(&s.CWD, "cwd", false, &s.Unknown)
		case "workspaceRoots":
			d.roots(s)
		case "model":
			d.field(&s.Model, "model", false, &s.Unknown)
		case "agent":
			d.agent(s)
		default:
			d.Keep(&s.Unknown, d.Skip())
		}
	}
	if !id {
		d.missing(walk.StageBody, start.Start, "id", "a string that is not empty")
	}
}

func (d *decoder) roots(s *ahp.Session) {
	start := d.Here()
	if start.Kind != '[' {
		d.bad(d.Skip(), "an array of strings")
		return
	}
	plain := true
	if d.Build {
		s.WorkspaceRoots = d.spared().roots[:0]
	}
	d.Open()
	for d.More() {
		v := d.Skip()
		if v.Kind != '"' {
			d.bad(v, "a string")
			continue
		}
		if d.Build {
			s.WorkspaceRoots = append(s.WorkspaceRoots, d.Str(v))
			plain = plain && d.plain(v)
		}
	}
	if !plain && !d.Dead() {
		s.Unknown = append(s.Unknown, ahp.Member{Name: "workspaceRoots", Value: d.Raw(walk.Val{Kind: '[', Start: start.Start, End: d.Pos()})})
	}
}

func (d *decoder) agent(s *ahp.Session) {
	start := d.Here()
	if start.Kind != '{' {
		d.bad(d.Skip(), "an object")
		return
	}
	a := &d.spared().agent
	id := false
	d.Open()
	for d.More() {
		switch string(d.Name()) {
		case "id":
			id = true
			d.field(&a.ID, "id", true, &a.Unknown)
		case "type":
			d.field(&a.Type, "type", false, &a.Unknown)
		default:
			d.Keep(&a.Unknown, d.Skip())
		}
	}
	if !id {
		d.missing(walk.StageBody, start.Start, "id", "a string that is not empty")
	}
	s.Agent = a
}

func (d *decoder) tool(t *ahp.Tool) (seen toolSeen) {
	start := d.Here()
	if start.Kind != '{' {
		d.bad(d.Skip(), "an object that describes the tool call")
		return seen
	}
	seen.off = start.Start
	var callID, name, kind, input bool
	d.Open()
	for d.More() {
		switch string(d.Name()) {
		case "callId":
			callID = true
			d.field(&t.CallID, "callId", true, &t.Unknown)
		case "name":
			name = true
			d.field(&t.Name, "name", true, &t.Unknown)
		case "kind":
			kind = true
			v := d.Skip()
			if v.Kind == '"' {
				t.Kind = knownKind(d.Content(v))
			}
			if t.Kind == "" {
				d.bad(v, "a tool kind of revision 0.1")
				break
			}
			d.spelling(&t.Unknown, "kind", v, false)
		case "input":
			input = true
			t.Input = d.object("an object: the parsed input of the tool")
		case "output":
			seen.output = d.Pos()
			t.Output = d.Raw(d.Skip())
		case "error":
			seen.err = d.Pos()
			d.toolError(t)
		case "mcp":
			t.MCP = d.object("an object")
		default:
			d.Keep(&t.Unknown, d.Skip())
		}
	}
	if !callID {
		d.missing(walk.StageBody, start.Start, "callId", "a string that is not empty")
	}
	if !name {
		d.missing(walk.StageBody, start.Start, "name", "a string that is not empty")
	}
	if !kind {
		d.missing(walk.StageBody, start.Start, "kind", "a tool kind of revision 0.1")
	}
	if !input {
		d.missing(walk.StageBody, start.Start, "input", "an object: the parsed input of the tool")
	}
	return seen
}

// object passes a value that must be an object and is kept as it is.
func (d *decoder) object(expected string) ahp.Raw {
	v := d.Skip()
	if v.Kind != '{' {
		d.bad(v, expected)
		return nil
	}
	return d.Raw(v)
}

// toolError checks the error of a tool.error event: an object with a message of
// any type (V-AMB-7).
func (d *decoder) toolError(t *ahp.Tool) {
	start := d.Here()
	if start.Kind != '{' {
		v := d.Skip()
		d.bad(v, "an object that describes the error")
		return
	}
	message := false
	d.Open()
	for d.More() {
		if string(d.Name()) == "message" {
			message = true
		}
		d.Skip()
	}
	if d.Dead() {
		return
	}
	if !message {
		d.missing(walk.StageBody, start.Start, "message", "what went wrong")
	}
	t.Error = d.Raw(walk.Val{Kind: '{', Start: start.Start, End: d.Pos()})
}

func (d *decoder) native(ev *ahp.Event) {
	start := d.Here()
	if start.Kind != '{' {
		d.bad(d.Skip(), "an object")
		return
	}
	n := new(ahp.Native)
	var provider, eventName, payload bool
	d.Open()
	for d.More() {
		switch string(d.Name()) {
		case "provider":
			provider = true
			d.field(&n.Provider, "provider", true, &n.Unknown)
		case "eventName":
			eventName = true
			d.field(&n.EventName, "eventName", true, &n.Unknown)
		case "payload":
			payload = true
			n.Payload = d.object("an object")
		default:
			d.Keep(&n.Unknown, d.Skip())
		}
	}
	if !provider {
		d.missing(walk.StageBody, start.Start, "provider", "a string that is not empty")
	}
	if !eventName {
		d.missing(walk.StageBody, start.Start, "eventName", "a string that is not empty")
	}
	if !payload {
		d.missing(walk.StageBody, start.Start, "payload", "an object")
	}
	ev.Native = n
}

// extensions reads an object with reverse-DNS names and any values (AHP-EXT-001).
func (d *decoder) extensions(dst *ahp.Members, has *bool) {
	if d.Here().Kind != '{' {
		d.bad(d.Skip(), "an object")
		return
	}
	*has = true
	d.Open()
	for d.More() {
		if !reverseDNS(d.Name()) {
			d.Fail(walk.StageBody, ahp.FailMalformed, ahp.CodeInvalidParams, d.NameVal().Start, "a member name that is not reverse-DNS", "a reverse-DNS name such as com.example.trace")
		}
		d.Keep(dst, d.Skip())
	}
}

// capabilities reads what the harness can enforce (AHP 0.1 section 5, V-AMB-18).
func (d *decoder) capabilities(c *ahp.Capabilities) {
	start := d.Here()
	if start.Kind != '{' {
		d.bad(d.Skip(), "an object")
		return
	}
	effects := false
	d.Open()
	for d.More() {
		if string(d.Name()) != "effects" {
			d.Keep(&c.Unknown, d.Skip())
			continue
		}
		effects = true
		d.offered(c)
	}
	if !effects {
		d.missing(walk.StageBody, start.Start, "effects", "an array with deny")
	}
}

func (d *decoder) offered(c *ahp.Capabilities) {
	list := d.Here()
	if list.Kind != '[' {
		d.bad(d.Skip(), "an array of strings")
		return
	}
	deny := false
	c.Effects = d.spared().effects[:0]
	d.Open()
	for d.More() {
		v := d.Skip()
		if v.Kind != '"' {
			d.bad(v, "a string")
			continue
		}
		name := d.Content(v)
		switch {
		case string(name) == string(ahp.EffectDeny):
			if deny {
				d.bad(v, "each effect once")
			}
			deny = true
			if d.Build {
				c.Effects = append(c.Effects, ahp.EffectDeny)
			}
			continue
		case !reverseDNS(name):
			d.bad(v, "deny or a reverse-DNS name")
			continue
		}
		if len(c.Effects) >= maxEffects {
			d.Limit("too many effects", "at most "+strconv.Itoa(maxEffects))
			return
		}
		e := ahp.EffectType(name)
		if c.Allows(e) {
			d.bad(v, "each effect once")
			continue
		}
		c.Effects = append(c.Effects, e)
	}
	if !deny && !d.Dead() {
		d.Fail(walk.StageBody, ahp.FailMalformed, ahp.CodeInvalidParams, list.Start, "a list without deny", "an array with deny")
	}
}

// maxEffects bounds the effects that a harness may offer.
const maxEffects = 256

// knownEvent returns the event type of that name, or "".
func knownEvent(b []byte) ahp.EventType {
	for _, t := range [...]ahp.EventType{ahp.ToolBefore, ahp.ToolAfter, ahp.ToolError, ahp.SessionStart, ahp.SessionEnd} {
		if string(b) == string(t) {
			return t
		}
	}
	return ""
}

// knownKind returns the tool kind of that name, or "".
func knownKind(b []byte) ahp.ToolKind {
	for _, k := range [...]ahp.ToolKind{
		ahp.KindShell, ahp.KindFileRead, ahp.KindFileWrite, ahp.KindFileEdit, ahp.KindSearch,
		ahp.KindFetch, ahp.KindTask, ahp.KindMCP, ahp.KindOther,
	} {
		if string(b) == string(k) {
			return k
		}
	}
	return ""
}

// knownOutcome returns the outcome of that name, or "".
func knownOutcome(b []byte) ahp.Outcome {
	for _, o := range [...]ahp.Outcome{ahp.OutcomeCompleted, ahp.OutcomeCancelled, ahp.OutcomeError, ahp.OutcomeUnknown} {
		if string(b) == string(o) {
			return o
		}
	}
	return ""
}

func reverseDNS(b []byte) bool {
	return ahp.ReverseDNS(string(b)) // short ones stay on the stack
}
