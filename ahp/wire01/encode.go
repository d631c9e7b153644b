package wire01

import (
	"bytes"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// AppendIntercept appends a hooks/intercept request for the event to dst: one
// line, without its line feed. The request's id is the event's (V-ENV-1). With
// exts not nil, params has an extensions object, which may be empty.
//
// The event must be a valid tool.before event and the capabilities must offer
// deny. Members that only revision draft has must be absent ([ahp.Event.DraftOnly]):
// they are refused, never left out. All that is written is checked as
// [DecodeRequest] checks it, within the default limits. On an error dst comes back as
// it was, and the error is an [*Error] of class [ahp.FailEvent].
func AppendIntercept(dst []byte, ev *ahp.Event, caps ahp.Capabilities, exts ahp.Members) ([]byte, error) {
	e := newEncoder(dst)
	defer e.free()
	if ev == nil {
		return e.refuse(ahp.FailEvent, "", "no event", "an event")
	}
	if exts == nil && e.plainIntercept(ev, &caps) {
		return e.b, nil
	}
	e.restart()
	e.at = "/params/event"
	e.text(`{"jsonrpc":"2.0","id":`)
	e.string("id", ev.ID, ev.Unknown)
	e.text(`,"method":"hooks/intercept","params":{"protocolVersion":"0.1","event":`)
	e.event(ev)
	if name := caps.DraftOnly(); name != "" {
		e.draft, e.draftAt = "Capabilities."+name, "/params/capabilities"
	}
	e.text(`,"capabilities":{"effects":[`)
	for i, t := range caps.Effects {
		if i > 0 {
			e.text(",")
		}
		e.quote(string(t))
	}
	e.text("]")
	e.unknown(caps.Unknown, "effects")
	e.text("}")
	if exts != nil {
		e.extensions(exts)
	}
	e.text("}}")
	return e.checked(ahp.FailEvent, func(d *decoder) { d.request(new(Message), new(ahp.Event), new(ahp.Tool)) })
}

// AppendObserve appends a hooks/observe notification for the event to dst: one
// line, without its line feed, and without an id (V-ENV-4). Checks and errors are
// those of [AppendIntercept]; any event type of the revision will do.
func AppendObserve(dst []byte, ev *ahp.Event) ([]byte, error) {
	e := newEncoder(dst)
	defer e.free()
	if ev == nil {
		return e.refuse(ahp.FailEvent, "", "no event", "an event")
	}
	e.at = "/params/event"
	e.text(`{"jsonrpc":"2.0","method":"hooks/observe","params":{"protocolVersion":"0.1","event":`)
	e.event(ev)
	e.text("}}")
	return e.checked(ahp.FailEvent, func(d *decoder) { d.request(new(Message), new(ahp.Event), new(ahp.Tool)) })
}

// AppendEvent appends the event alone to dst, as one line. The event may be of
// any type of the revision; checks and errors are those of [AppendIntercept].
func AppendEvent(dst []byte, ev *ahp.Event) ([]byte, error) {
	e := newEncoder(dst)
	defer e.free()
	if ev == nil {
		return e.refuse(ahp.FailEvent, "", "no event", "an event")
	}
	e.event(ev)
	return e.checked(ahp.FailEvent, func(d *decoder) { d.event(new(ahp.Event), new(ahp.Tool), anyEvent) })
}

// AppendResult appends a successful answer to the request with this id to dst:
// one line, without its line feed. The id is the request's, token for token. No
// effects mean no objection; otherwise there is exactly one valid
// [*ahp.Deny] (AHP-DEC-001). With exts not nil, result has an extensions object,
// which may be empty. On an error dst comes back as it was, and the error is an
// [*Error].
func AppendResult(dst []byte, id ahp.Raw, effects []ahp.Effect, exts ahp.Members) ([]byte, error) {
	if exts == nil {
		if b, ok := plainResult(dst, id, effects); ok {
			return b, nil
		}
	}
	e := newEncoder(dst)
	defer e.free()
	e.text(`{"jsonrpc":"2.0","id":`)
	e.rawOr(id, "null")
	e.text(`,"result":{"protocolVersion":"0.1","effects":[`)
	for i, x := range effects {
		if i > 0 {
			e.text(",")
		}
		d, ok := x.(*ahp.Deny)
		if !ok || d == nil {
			return e.refuse(ahp.FailInvalidEffect, "/result/effects/"+strconv.Itoa(i), "another effect", "deny")
		}
		e.deny(d)
	}
	e.text("]")
	if exts != nil {
		e.extensions(exts)
	}
	e.text("}}")
	return e.checked("", func(d *decoder) { d.response(new(Message), nil, ahp.DenyOnly()) })
}

// AppendError appends an error answer to dst: one line, without its line feed. A
// nil id is null: the answer to what could not be read. A nil data is left out.
// The message goes to the peer: no cause, path or payload belongs in it (V-ERR-2).
// On an error dst comes back as it was, and the error is an [*Error].
func AppendError(dst []byte, id ahp.Raw, code ahp.ErrorCode, message string, data ahp.Raw) ([]byte, error) {
	e := newEncoder(dst)
	defer e.free()
	e.text(`{"jsonrpc":"2.0","id":`)
	e.rawOr(id, "null")
	e.text(`,"error":{"code":`)
	e.b = strconv.AppendInt(e.b, int64(code), 10)
	e.text(`,"message":`)
	e.quote(message)
	if data != nil {
		e.text(`,"data":`)
		e.raw(data)
	}
	e.text("}}")
	return e.checked("", func(d *decoder) { d.response(new(Message), nil, ahp.DenyOnly()) })
}

// encoder writes one message behind what dst holds. What it writes is checked as
// a whole at the end; the raw values are also checked to be one value each, since
// two broken ones could make a whole together.
type encoder struct {
	b     []byte
	start int
	raws  []span

	utf8    bool   // a model string was not UTF-8
	outcome bool   // an event other than session.end had one, where it would mean nothing
	draft   string // member of the event or the capabilities that only revision draft has,
	draftAt string // and the pointer of what it belongs to
	at      string // pointer of the event
}

type span struct{ start, end int }

var encoders = sync.Pool{New: func() any { return new(encoder) }}

func newEncoder(dst []byte) *encoder {
	e := encoders.Get().(*encoder)
	*e = encoder{b: dst, start: len(dst), raws: e.raws[:0]}
	return e
}

// restart drops what was written.
func (e *encoder) restart() {
	e.b, e.raws, e.utf8 = e.b[:e.start], e.raws[:0], false
}

func (e *encoder) free() {
	e.b = nil
	encoders.Put(e)
}

func (e *encoder) refuse(c ahp.FailureClass, pointer, found, expected string) ([]byte, error) {
	return e.b[:e.start], &Error{Class: c, Code: ahp.CodeInternal, Pointer: pointer, Found: found, Expected: expected}
}

func (e *encoder) checked(c ahp.FailureClass, check func(*decoder)) ([]byte, error) {
	d := newDecoder(e.b[e.start:], Limits{}.complete())
	defer d.free()
	d.Build = false
	if e.utf8 {
		d.Add(walk.Problem{Stage: walk.StageParse, Class: ahp.FailMalformed, Code: ahp.CodeParse, Found: "a string that is not UTF-8", Expected: "UTF-8"})
	} else if e.draft != "" {
		d.Add(walk.Problem{Stage: walk.StageBody, Class: ahp.FailMalformed, Code: ahp.CodeInvalidParams, Pointer: e.draftAt, Found: e.draft + ", a member of revision draft", Expected: "none: revision 0.1 cannot say it"})
	} else if e.outcome {
		d.Add(walk.Problem{Stage: walk.StageBody, Class: ahp.FailMalformed, Code: ahp.CodeInvalidParams, Pointer: e.at + "/outcome", Found: "an outcome", Expected: "none: only session.end has one"})
	} else if d.Start() {
		check(d)
		d.End()
		for _, s := range e.raws {
			if len(d.Problems()) > 0 {
				break
			}
			if !oneValue(e.b[s.start:s.end]) {
				d.Add(walk.Problem{Stage: walk.StageParse, Class: ahp.FailMalformed, Code: ahp.CodeParse, Off: s.start - e.start, Found: "a raw value that is not one JSON value", Expected: "one JSON value"})
			}
		}
	}
	if len(d.Problems()) == 0 {
		return e.b, nil
	}
	err := newError(&d.Problems()[0])
	if c != "" {
		err.Class = c
	}
	return e.b[:e.start], err
}

// oneValue reports whether raw is one value: a piece of a text that is JSON, in which
// it begins where a value does.
func oneValue(raw []byte) bool {
	some, depth := false, 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case ' ', '\t', '\r', '\n':
			continue
		case '"':
			for i++; i < len(raw) && raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
			if i >= len(raw) {
				return false
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return false
			}
		case ',', ':':
			if depth == 0 {
				return false
			}
		}
		some = true
	}
	return some && depth == 0
}

func (e *encoder) text(s string) { e.b = append(e.b, s...) }

func (e *encoder) quote(s string) {
	if plainText(s) {
		e.b = append(append(append(e.b, '"'), s...), '"')
		return
	}
	b, err := jsontext.AppendQuote(e.b, s)
	if err != nil {
		e.utf8 = true
	}
	e.b = b
}

// raw copies a value. A message is one line, and in JSON a line break can only
// stand between tokens.
func (e *encoder) raw(r ahp.Raw) {
	start := len(e.b)
	if bytes.ContainsAny(r, "\n\r") {
		if jsontext.Value(r).IsValid() { // otherwise it stays broken, and is found to be
			for _, c := range r {
				if c != '\n' && c != '\r' {
					e.b = append(e.b, c)
				}
			}
			e.raws = append(e.raws, span{start, len(e.b)})
			return
		}
		e.text("!")
	}
	e.b = append(e.b, r...)
	e.raws = append(e.raws, span{start, len(e.b)})
}

func (e *encoder) rawOr(r ahp.Raw, absent string) {
	if r == nil {
		e.text(absent)
		return
	}
	e.raw(r)
}

// name writes a comma if one is due, and the name.
func (e *encoder) name(s string) {
	if e.b[len(e.b)-1] != '{' {
		e.text(",")
	}
	e.quote(s)
	e.text(":")
}

// string writes the value of a known string: in the spelling that the decoder
// kept, as long as that still has the value.
func (e *encoder) string(name, s string, unknown ahp.Members) {
	if raw, ok := unknown.Lookup(name); ok {
		if v, err := jsontext.AppendUnquote(nil, raw); err == nil && string(v) == s {
			e.raw(raw)
			return
		}
	}
	e.quote(s)
}

func (e *encoder) required(name, s string, unknown ahp.Members) {
	e.name(name)
	e.string(name, s, unknown)
}

func (e *encoder) optional(name, s string, unknown ahp.Members) {
	if s == "" {
		if raw, ok := unknown.Lookup(name); !ok || string(raw) != `""` {
			return
		}
	}
	e.required(name, s, unknown)
}

// member writes a raw value under a name, if there is one.
func (e *encoder) member(name string, r ahp.Raw) {
	if r != nil {
		e.name(name)
		e.raw(r)
	}
}

// unknown writes the members outside the protocol. Those under a known name are
// spellings, and were written with their field or are stale.
func (e *encoder) unknown(m ahp.Members, known ...string) {
next:
	for _, x := range m {
		for _, k := range known {
			if x.Name == k {
				continue next
			}
		}
		e.name(x.Name)
		e.rawOr(x.Value, "!")
	}
}

func (e *encoder) extensions(m ahp.Members) {
	e.name("extensions")
	e.text("{")
	e.unknown(m)
	e.text("}")
}

func (e *encoder) event(ev *ahp.Event) {
	if name := ev.DraftOnly(); name != "" {
		e.draft, e.draftAt = "Event."+name, e.at
	}
	e.text("{")
	e.required("id", ev.ID, ev.Unknown)
	e.required("source", ev.Source, ev.Unknown)
	e.required("type", string(ev.Type), ev.Unknown)
	e.required("time", ev.Time, ev.Unknown)
	e.name("session")
	e.session(&ev.Session)
	if ev.Tool != nil {
		e.name("tool")
		e.tool(ev.Tool)
	}
	if ev.Outcome != "" {
		e.outcome = ev.Type != ahp.SessionEnd
		e.required("outcome", string(ev.Outcome), ev.Unknown)
	}
	if ev.Native != nil {
		e.name("native")
		e.text("{")
		e.required("provider", ev.Native.Provider, ev.Native.Unknown)
		e.required("eventName", ev.Native.EventName, ev.Native.Unknown)
		e.member("payload", ev.Native.Payload)
		e.unknown(ev.Native.Unknown, "provider", "eventName", "payload")
		e.text("}")
	}
	if ev.HasExtensions || len(ev.Extensions) > 0 {
		e.extensions(ev.Extensions)
	}
	known := [...]string{"id", "source", "type", "time", "session", "tool", "native", "extensions", "outcome"}
	if ev.Outcome == "" && ev.Type.HasTool() {
		e.unknown(ev.Unknown, known[:8]...) // where an outcome is no member of the protocol
	} else {
		e.unknown(ev.Unknown, known[:]...)
	}
	e.text("}")
}

func (e *encoder) session(s *ahp.Session) {
	e.text("{")
	e.required("id", s.ID, s.Unknown)
	e.optional("cwd", s.CWD, s.Unknown)
	e.roots(s)
	e.optional("model", s.Model, s.Unknown)
	if a := s.Agent; a != nil {
		e.name("agent")
		e.text("{")
		e.required("id", a.ID, a.Unknown)
		e.optional("type", a.Type, a.Unknown)
		e.unknown(a.Unknown, "id", "type")
		e.text("}")
	}
	e.unknown(s.Unknown, "id", "cwd", "workspaceRoots", "model", "agent")
	e.text("}")
}

func (e *encoder) roots(s *ahp.Session) {
	if s.WorkspaceRoots == nil {
		return
	}
	e.name("workspaceRoots")
	if raw, ok := s.Unknown.Lookup("workspaceRoots"); ok && sameStrings(raw, s.WorkspaceRoots) {
		e.raw(raw)
		return
	}
	e.text("[")
	for i, r := range s.WorkspaceRoots {
		if i > 0 {
			e.text(",")
		}
		e.quote(r)
	}
	e.text("]")
}

// sameStrings reports whether raw is an array of exactly these strings.
func sameStrings(raw ahp.Raw, list []string) bool {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '[' {
		return false
	}
	for _, s := range list {
		if t, err := d.ReadToken(); err != nil || t.Kind() != '"' || t.String() != s {
			return false
		}
	}
	t, err := d.ReadToken()
	return err == nil && t.Kind() == ']'
}

func (e *encoder) tool(t *ahp.Tool) {
	e.text("{")
	e.required("callId", t.CallID, t.Unknown)
	e.required("name", t.Name, t.Unknown)
	e.required("kind", string(t.Kind), t.Unknown)
	e.member("input", t.Input)
	e.member("output", t.Output)
	e.member("error", t.Error)
	e.member("mcp", t.MCP)
	e.unknown(t.Unknown, "callId", "name", "kind", "input", "output", "error", "mcp")
	e.text("}")
}

func (e *encoder) deny(d *ahp.Deny) {
	e.text("{")
	e.required("type", string(ahp.EffectDeny), d.Unknown)
	e.required("reason", d.Reason, d.Unknown)
	if d.Code != "" {
		e.required("code", d.Code, d.Unknown)
	}
	if d.HasExtensions || len(d.Extensions) > 0 {
		e.extensions(d.Extensions)
	}
	e.unknown(d.Unknown, "type", "reason", "code", "extensions")
	e.text("}")
}
