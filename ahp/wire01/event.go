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
func (w *walker) event(ev *ahp.Event, tool *ahp.Tool, allowed eventTypes) {
	start := w.here()
	if start.kind != '{' {
		w.bad(w.skip(), "an object that describes the event")
		return
	}
	var (
		id, source, typ, tm, session, hasTool bool
		typeKnown                             bool
		toolOff                               int
		seen                                  toolSeen
		outcome                               val
		outcomeAt                             int // its place among the unknown members
	)
	w.open()
	for w.more() {
		switch string(w.name()) {
		case "id":
			id = true
			w.eventID = w.field(&ev.ID, "id", true, &ev.Unknown)
		case "source":
			source = true
			v := w.skip()
			switch {
			case v.kind != '"' || !uri.Valid(w.content(v)):
				w.bad(v, "a URI with a scheme")
			default:
				ev.Source = w.str(v)
				w.spelling(&ev.Unknown, "source", v, false)
			}
		case "type":
			typ = true
			v := w.skip()
			if v.kind != '"' {
				w.bad(v, "a string that names an event type")
				break
			}
			ev.Type = knownEvent(w.content(v))
			typeKnown = ev.Type != ""
			if !typeKnown || allowed == onlyToolBefore && ev.Type != ahp.ToolBefore {
				w.unsupportedEvent(v, allowed)
			}
			w.spelling(&ev.Unknown, "type", v, false)
		case "time":
			tm = true
			v := w.skip()
			switch {
			case v.kind != '"' || !walk.DateTime(w.content(v)):
				w.bad(v, "an RFC 3339 date-time")
			default:
				ev.Time = w.str(v)
				w.spelling(&ev.Unknown, "time", v, false)
			}
		case "session":
			session = true
			w.session(&ev.Session)
		case "tool":
			hasTool, toolOff = true, w.pos
			if w.build {
				ev.Tool = tool
			}
			seen = w.tool(tool)
		case "outcome":
			// What it means depends on the type, which may follow.
			outcome, outcomeAt = w.skip(), len(ev.Unknown)
		case "native":
			w.native(ev)
		case "extensions":
			w.extensions(&ev.Extensions, &ev.HasExtensions)
		default:
			w.keep(&ev.Unknown, w.skip())
		}
	}
	if w.dead {
		return
	}
	if !id {
		w.missing(stageBody, start.start, "id", "a string that is not empty")
	}
	if !source {
		w.missing(stageBody, start.start, "source", "a URI with a scheme")
	}
	if !typ {
		w.missing(stageBody, start.start, "type", "an event type")
	}
	if !tm {
		w.missing(stageBody, start.start, "time", "an RFC 3339 date-time")
	}
	if !session {
		w.missing(stageBody, start.start, "session", "an object")
	}
	if !typeKnown {
		return // nobody knows what belongs to it
	}
	w.toolRules(ev.Type, start.start, hasTool, toolOff, seen)
	if outcome.kind != 0 {
		w.outcome(ev, outcome, outcomeAt)
	}
}

// toolSeen holds the offsets of a tool object and of those of its members that
// the event's type may forbid; 0 is absent.
type toolSeen struct {
	off, output, err int
}

func (w *walker) toolRules(t ahp.EventType, off int, hasTool bool, toolOff int, seen toolSeen) {
	switch {
	case t.HasTool() && !hasTool:
		w.missing(stageBody, off, "tool", "an object: "+string(t)+" is about a tool call")
	case !t.HasTool() && hasTool:
		w.extra(toolOff, "tool", "a member", "nothing: "+string(t)+" is about no tool call")
	}
	if !t.HasTool() || seen.off == 0 {
		return
	}
	if seen.output > 0 && t != ahp.ToolAfter {
		w.extra(seen.output, "tool/output", "a member", "nothing: only tool.after has an output")
	}
	switch {
	case seen.err > 0 && t != ahp.ToolError:
		w.extra(seen.err, "tool/error", "a member", "nothing: only tool.error has an error")
	case seen.err == 0 && t == ahp.ToolError:
		w.missing(stageBody, seen.off, "tool/error", "an object that describes the error")
	}
}

func (w *walker) outcome(ev *ahp.Event, v val, at int) {
	switch ev.Type {
	case ahp.SessionEnd:
		if v.kind == '"' {
			ev.Outcome = knownOutcome(w.content(v))
		}
		if ev.Outcome == "" {
			w.extra(v.start, "outcome", w.describe(v), "completed, cancelled, error or unknown")
			return
		}
		w.spelling(&ev.Unknown, "outcome", v, false)
	case ahp.SessionStart:
		w.extra(v.start, "outcome", w.describe(v), "nothing: only session.end has an outcome")
	default: // on a tool event it is a member like any that the protocol does not define
		if w.build {
			ev.Unknown = slices.Insert(ev.Unknown, at, ahp.Member{Name: "outcome", Value: w.raw(v)})
		}
	}
}

func (w *walker) unsupportedEvent(v val, allowed eventTypes) {
	expected := "an event type of revision 0.1"
	if allowed == onlyToolBefore {
		expected = "tool.before"
	}
	w.fail(stageType, ahp.FailUnsupported, ahp.CodeUnsupportedEvent, v.start, "another event type", expected)
}

// field reads a string. With required it may not be empty.
func (w *walker) field(dst *string, name string, required bool, unknown *ahp.Members) val {
	v := w.skip()
	switch {
	case v.kind != '"' && required:
		w.bad(v, "a string that is not empty")
	case v.kind != '"':
		w.bad(v, "a string")
	case required && v.end-v.start == 2:
		w.bad(v, "a string that is not empty")
	default:
		*dst = w.str(v)
		w.spelling(unknown, name, v, !required)
	}
	return v
}

// spelling keeps the text of a known string that the model cannot reproduce (see
// the package comment).
func (w *walker) spelling(unknown *ahp.Members, name string, v val, optional bool) {
	if !w.build || w.dead {
		return
	}
	if optional && v.end-v.start == 2 || !w.plain(v) {
		*unknown = append(*unknown, ahp.Member{Name: name, Value: w.raw(v)})
	}
}

func (w *walker) session(s *ahp.Session) {
	start := w.here()
	if start.kind != '{' {
		w.bad(w.skip(), "an object")
		return
	}
	id := false
	w.open()
	for w.more() {
		switch string(w.name()) {
		case "id":
			id = true
			w.field(&s.ID, "id", true, &s.Unknown)
		case "cwd":
			w.field(&s.CWD, "cwd", false, &s.Unknown)
		case "workspaceRoots":
			w.roots(s)
		case "model":
			w.field(&s.Model, "model", false, &s.Unknown)
		case "agent":
			w.agent(s)
		default:
			w.keep(&s.Unknown, w.skip())
		}
	}
	if !id {
		w.missing(stageBody, start.start, "id", "a string that is not empty")
	}
}

func (w *walker) roots(s *ahp.Session) {
	start := w.here()
	if start.kind != '[' {
		w.bad(w.skip(), "an array of strings")
		return
	}
	plain := true
	if w.build {
		s.WorkspaceRoots = w.spared().roots[:0]
	}
	w.open()
	for w.more() {
		v := w.skip()
		if v.kind != '"' {
			w.bad(v, "a string")
			continue
		}
		if w.build {
			s.WorkspaceRoots = append(s.WorkspaceRoots, w.str(v))
			plain = plain && w.plain(v)
		}
	}
	if !plain && !w.dead {
		s.Unknown = append(s.Unknown, ahp.Member{Name: "workspaceRoots", Value: w.raw(val{kind: '[', start: start.start, end: w.pos})})
	}
}

func (w *walker) agent(s *ahp.Session) {
	start := w.here()
	if start.kind != '{' {
		w.bad(w.skip(), "an object")
		return
	}
	a := &w.spared().agent
	id := false
	w.open()
	for w.more() {
		switch string(w.name()) {
		case "id":
			id = true
			w.field(&a.ID, "id", true, &a.Unknown)
		case "type":
			w.field(&a.Type, "type", false, &a.Unknown)
		default:
			w.keep(&a.Unknown, w.skip())
		}
	}
	if !id {
		w.missing(stageBody, start.start, "id", "a string that is not empty")
	}
	s.Agent = a
}

func (w *walker) tool(t *ahp.Tool) (seen toolSeen) {
	start := w.here()
	if start.kind != '{' {
		w.bad(w.skip(), "an object that describes the tool call")
		return seen
	}
	seen.off = start.start
	var callID, name, kind, input bool
	w.open()
	for w.more() {
		switch string(w.name()) {
		case "callId":
			callID = true
			w.field(&t.CallID, "callId", true, &t.Unknown)
		case "name":
			name = true
			w.field(&t.Name, "name", true, &t.Unknown)
		case "kind":
			kind = true
			v := w.skip()
			if v.kind == '"' {
				t.Kind = knownKind(w.content(v))
			}
			if t.Kind == "" {
				w.bad(v, "a tool kind of revision 0.1")
				break
			}
			w.spelling(&t.Unknown, "kind", v, false)
		case "input":
			input = true
			t.Input = w.object("an object: the parsed input of the tool")
		case "output":
			seen.output = w.pos
			t.Output = w.raw(w.skip())
		case "error":
			seen.err = w.pos
			w.toolError(t)
		case "mcp":
			t.MCP = w.object("an object")
		default:
			w.keep(&t.Unknown, w.skip())
		}
	}
	if !callID {
		w.missing(stageBody, start.start, "callId", "a string that is not empty")
	}
	if !name {
		w.missing(stageBody, start.start, "name", "a string that is not empty")
	}
	if !kind {
		w.missing(stageBody, start.start, "kind", "a tool kind of revision 0.1")
	}
	if !input {
		w.missing(stageBody, start.start, "input", "an object: the parsed input of the tool")
	}
	return seen
}

// object passes a value that must be an object and is kept as it is.
func (w *walker) object(expected string) ahp.Raw {
	v := w.skip()
	if v.kind != '{' {
		w.bad(v, expected)
		return nil
	}
	return w.raw(v)
}

// toolError checks the error of a tool.error event: an object with a message of
// any type (V-AMB-7).
func (w *walker) toolError(t *ahp.Tool) {
	start := w.here()
	if start.kind != '{' {
		v := w.skip()
		w.bad(v, "an object that describes the error")
		return
	}
	message := false
	w.open()
	for w.more() {
		if string(w.name()) == "message" {
			message = true
		}
		w.skip()
	}
	if w.dead {
		return
	}
	if !message {
		w.missing(stageBody, start.start, "message", "what went wrong")
	}
	t.Error = w.raw(val{kind: '{', start: start.start, end: w.pos})
}

func (w *walker) native(ev *ahp.Event) {
	start := w.here()
	if start.kind != '{' {
		w.bad(w.skip(), "an object")
		return
	}
	n := new(ahp.Native)
	var provider, eventName, payload bool
	w.open()
	for w.more() {
		switch string(w.name()) {
		case "provider":
			provider = true
			w.field(&n.Provider, "provider", true, &n.Unknown)
		case "eventName":
			eventName = true
			w.field(&n.EventName, "eventName", true, &n.Unknown)
		case "payload":
			payload = true
			n.Payload = w.object("an object")
		default:
			w.keep(&n.Unknown, w.skip())
		}
	}
	if !provider {
		w.missing(stageBody, start.start, "provider", "a string that is not empty")
	}
	if !eventName {
		w.missing(stageBody, start.start, "eventName", "a string that is not empty")
	}
	if !payload {
		w.missing(stageBody, start.start, "payload", "an object")
	}
	ev.Native = n
}

// extensions reads an object with reverse-DNS names and any values (AHP-EXT-001).
func (w *walker) extensions(dst *ahp.Members, has *bool) {
	if w.here().kind != '{' {
		w.bad(w.skip(), "an object")
		return
	}
	*has = true
	w.open()
	for w.more() {
		if !reverseDNS(w.name()) {
			nameVal := val{kind: '"', start: w.path[len(w.path)-1].nameStart, end: w.path[len(w.path)-1].nameEnd}
			w.fail(stageBody, ahp.FailMalformed, ahp.CodeInvalidParams, nameVal.start, "a member name that is not reverse-DNS", "a reverse-DNS name such as com.example.trace")
		}
		w.keep(dst, w.skip())
	}
}

// capabilities reads what the harness can enforce (AHP 0.1 section 5, V-AMB-18).
func (w *walker) capabilities(c *ahp.Capabilities) {
	start := w.here()
	if start.kind != '{' {
		w.bad(w.skip(), "an object")
		return
	}
	effects := false
	w.open()
	for w.more() {
		if string(w.name()) != "effects" {
			w.keep(&c.Unknown, w.skip())
			continue
		}
		effects = true
		w.offered(c)
	}
	if !effects {
		w.missing(stageBody, start.start, "effects", "an array with deny")
	}
}

func (w *walker) offered(c *ahp.Capabilities) {
	list := w.here()
	if list.kind != '[' {
		w.bad(w.skip(), "an array of strings")
		return
	}
	deny := false
	c.Effects = w.spared().effects[:0]
	w.open()
	for w.more() {
		v := w.skip()
		if v.kind != '"' {
			w.bad(v, "a string")
			continue
		}
		name := w.content(v)
		switch {
		case string(name) == string(ahp.EffectDeny):
			if deny {
				w.bad(v, "each effect once")
			}
			deny = true
			if w.build {
				c.Effects = append(c.Effects, ahp.EffectDeny)
			}
			continue
		case !reverseDNS(name):
			w.bad(v, "deny or a reverse-DNS name")
			continue
		}
		if len(c.Effects) >= maxEffects {
			w.limit("too many effects", "at most "+strconv.Itoa(maxEffects))
			return
		}
		e := ahp.EffectType(name)
		if c.Allows(e) {
			w.bad(v, "each effect once")
			continue
		}
		c.Effects = append(c.Effects, e)
	}
	if !deny && !w.dead {
		w.fail(stageBody, ahp.FailMalformed, ahp.CodeInvalidParams, list.start, "a list without deny", "an array with deny")
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
