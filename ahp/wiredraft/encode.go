package wiredraft

import (
	"bytes"
	"strconv"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

func appendInt(b []byte, n int64) []byte { return strconv.AppendInt(b, n, 10) }

// AppendIntercept appends a hooks/intercept request for the event to dst: one
// line, without its line feed. The request's id is the event's (D-ENV-2). A nil state
// is left out. With exts not nil, params has an extensions object, which may be empty.
//
// The event must be valid and interceptable, and the capabilities within its bounds
// (AHP-CAP-002, D-CAP-8). On an error dst comes back as it was, and the error is an
// [*Error] of class [ahp.FailEvent].
func AppendIntercept(dst []byte, ev *ahp.Event, caps *ahp.Capabilities, state *ahp.State, exts ahp.Members) ([]byte, error) {
	e := newEncoder(dst)
	defer e.free()
	if ev == nil || caps == nil {
		return dst, &Error{Class: ahp.FailEvent, Code: ahp.CodeInternal, Found: "no event or no capabilities", Expected: "both"}
	}
	e.text(`{"jsonrpc":"2.0","id":`)
	e.quote(ev.ID)
	e.text(`,"method":"hooks/intercept","params":{"protocolVersion":"draft","event":`)
	e.depth = 2
	if !ev.Type.Interceptable(ahp.VersionDraft) {
		e.bad("an event type that can only be observed", "one that can be intercepted")
	}
	e.event(ev)
	e.key("capabilities")
	e.capabilities(caps)
	if caps.Within(ev.Type) != nil {
		e.bad("an offer out of bounds", "an offer within the bounds of the event")
	}
	if state != nil {
		e.key("state")
		e.state(state)
	}
	if exts != nil {
		e.extensions(exts)
	}
	e.text("}}")
	return e.finish(ahp.FailEvent, func(d *decoder) { d.request(new(Message)) })
}

// AppendObserve appends a hooks/observe notification for the event to dst: one
// line, without its line feed, and without an id (D-ENV-4). Errors are those of
// [AppendIntercept]; any event type of the revision will do.
func AppendObserve(dst []byte, ev *ahp.Event) ([]byte, error) {
	e := newEncoder(dst)
	defer e.free()
	if ev == nil {
		return dst, noEvent()
	}
	e.text(`{"jsonrpc":"2.0","method":"hooks/observe","params":{"protocolVersion":"draft","event":`)
	e.depth = 2
	e.event(ev)
	e.text("}}")
	return e.finish(ahp.FailEvent, func(d *decoder) { d.request(new(Message)) })
}

// AppendEvent appends the event alone to dst, as one line. Errors are those of
// [AppendIntercept]; any event type of the revision will do.
func AppendEvent(dst []byte, ev *ahp.Event) ([]byte, error) {
	e := newEncoder(dst)
	defer e.free()
	if ev == nil {
		return dst, noEvent()
	}
	e.event(ev)
	return e.finish(ahp.FailEvent, func(d *decoder) { d.event(new(ahp.Event), anyEvent) })
}

func noEvent() *Error {
	return &Error{Class: ahp.FailEvent, Code: ahp.CodeInternal, Found: "no event", Expected: "an event"}
}

// AppendResult appends a successful answer to the hooks/intercept request with this
// id to dst: one line, without its line feed. The id is the request's, token for
// token. The effects are checked as [DecodeResponse] checks them, for an event of
// type at and the capabilities that the request offered. No effects mean no objection
// (AHP-DEC-003). With exts not nil, result has an extensions object, which may be
// empty. On an error dst comes back as it was, and the error is an [*Error].
func AppendResult(dst []byte, id ahp.Raw, at ahp.EventType, caps *ahp.Capabilities, effects []ahp.Effect, exts ahp.Members) ([]byte, error) {
	e := newEncoder(dst)
	defer e.free()
	e.text(`{"jsonrpc":"2.0"`)
	e.id(id, true)
	e.text(`,"result":{"protocolVersion":"draft","effects":`)
	e.depth = 2
	e.list(len(effects))
	o := offer{at, caps}
	for i, x := range effects {
		e.next(i)
		e.effect(x, o)
	}
	e.shutList()
	if exts != nil {
		e.extensions(exts)
	}
	e.text("}}")
	return e.finish("", func(d *decoder) {
		d.response(new(Message), answerTo{method: ahp.MethodIntercept, offer: o})
	})
}

// AppendError appends an error answer to dst: one line, without its line feed. A
// nil id is null: the answer to what could not be read. A nil data is left out.
// The message goes to the peer: no cause, path or payload belongs in it (D-ERR-2).
// On an error dst comes back as it was, and the error is an [*Error].
func AppendError(dst []byte, id ahp.Raw, code ahp.ErrorCode, message string, data ahp.Raw) ([]byte, error) {
	e := newEncoder(dst)
	defer e.free()
	e.text(`{"jsonrpc":"2.0"`)
	e.id(id, true)
	e.text(`,"error":{"code":`)
	e.depth = 2
	e.b = appendInt(e.b, int64(code))
	e.key("message")
	e.quote(message)
	e.member("data", data, 0)
	e.text("}}")
	return e.finish("", func(d *decoder) { d.response(new(Message), answerTo{}) })
}

// AppendCapabilitiesRequest appends a hooks/capabilities request to dst: one line,
// without its line feed. The id is a string that is not empty or an integer, as JSON.
// On an error dst comes back as it was, and the error is an [*Error].
func AppendCapabilitiesRequest(dst []byte, id ahp.Raw) ([]byte, error) {
	e := newEncoder(dst)
	defer e.free()
	e.text(`{"jsonrpc":"2.0"`)
	e.id(id, false)
	e.text(`,"method":"hooks/capabilities","params":{"protocolVersion":"draft"}}`)
	return e.finish("", func(d *decoder) { d.request(new(Message)) })
}

// AppendCapabilitiesResult appends the answer to the hooks/capabilities request with
// this id to dst: one line, without its line feed. On an error dst comes back as it
// was, and the error is an [*Error].
func AppendCapabilitiesResult(dst []byte, id ahp.Raw, m *ahp.Manifest) ([]byte, error) {
	e := newEncoder(dst)
	defer e.free()
	if m == nil {
		return dst, &Error{Class: ahp.FailInternal, Code: ahp.CodeInternal, Found: "no manifest", Expected: "a manifest"}
	}
	e.text(`{"jsonrpc":"2.0"`)
	e.id(id, true)
	e.text(`,"result":{"protocolVersion":"draft","manifest":`)
	e.depth = 2
	e.manifest(m)
	e.text("}}")
	return e.finish("", func(d *decoder) { d.response(new(Message), answerTo{method: ahp.MethodCapabilities}) })
}

// AppendEffect appends one effect as it stands in a response to dst, for
// [ahp.State.Injections]. It is checked for its shape alone: no event, no offer. On an
// error dst comes back as it was, and the error is an [*Error].
func AppendEffect(dst []byte, x ahp.Effect) ([]byte, error) {
	e := newEncoder(dst)
	defer e.free()
	e.effect(x, offer{})
	return e.finish("", func(d *decoder) {
		d.place = inEffects
		d.effect(offer{})
	})
}

// id writes an id; in an answer, nil is null.
func (e *encoder) id(id ahp.Raw, answer bool) {
	e.text(`,"id":`)
	id = bytes.TrimSpace(id)
	switch {
	case len(id) == 0 && answer, answer && string(id) == "null":
		e.text("null")
	case !walk.UsableID(id):
		e.bad("another id", "a string that is not empty or an integer")
		e.text("false")
	case plainID(id):
		e.b = append(e.b, id...)
	default:
		e.raw(id, 0)
	}
}

// plainID reports whether an id that can be used is a string without escapes or an
// integer without a sign: what nearly all are, and what needs no reading.
func plainID(id ahp.Raw) bool {
	n := len(id)
	if id[0] == '"' {
		return id[n-1] == '"' && plainText(id[1:n-1])
	}
	if n > 18 || id[0] == '0' && n > 1 {
		return false
	}
	for _, c := range id {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// effect writes one effect, and checks it as [decoder.effect] does.
func (e *encoder) effect(x ahp.Effect, o offer) {
	if !ahp.IsEffect(x) {
		e.class = ahp.FailInvalidEffect
		e.bad("no effect", "an effect")
		e.text("{}")
		return
	}
	if e.class = ahp.FailInvalidEffect; !o.allows(x) {
		e.bad("an effect that was not offered", "an effect of the request's capabilities")
	}
	e.open()
	e.key("type")
	e.quote(string(x.Type()))
	switch x := x.(type) {
	case *ahp.Deny:
		e.name("reason", x.Reason)
		e.optional("code", x.Code)
		if x.Code != "" && !ahp.ReverseDNS(x.Code) {
			e.bad("another code", "a reverse-DNS name such as com.example.policy.rule")
		}
		if x.HasExtensions || len(x.Extensions) > 0 {
			e.extensions(x.Extensions)
		}
		if len(x.Unknown) > 0 {
			e.bad("unknown members in an effect", "none: the object is closed")
		}
	case *ahp.Allow, *ahp.Ask:
	case *ahp.Notify:
		e.key("text")
		e.quote(x.Text)
	case *ahp.Stop:
		e.text(`,"operation":"stop"`)
		e.name("reason", x.Reason)
	case *ahp.Continue:
		e.text(`,"operation":"continue"`)
		e.optional("instruction", x.Instruction)
	case *ahp.Inject:
		e.text(`,"target":"context","operation":"append"`)
		e.one("deliverAt", string(x.DeliverAt), string(ahp.DeliverNow), string(ahp.DeliverNextTurn))
		e.key("value")
		e.messages(x.Messages, "")
	case *ahp.Modify:
		e.name("target", string(x.Target))
		e.one("operation", string(x.Operation), string(ahp.OpReplace), string(ahp.OpMerge))
		kind := x.Target.At(o.at)
		if o.at == "" {
			kind = kindSomewhere(x.Target)
		}
		if kind == "" {
			e.bad("a target that the boundary does not have", "a target of the boundary")
		}
		e.value(&x.Value, kind, o.at)
		if kind == ahp.ValueObject && (x.Target == ahp.TargetWorkspace || x.Target == ahp.TargetContent) {
			e.objectTarget(x, o.at)
		}
	case *ahp.Return:
		kind := ahp.ReturnAt(o.at)
		if o.at == "" {
			kind = ""
		}
		e.value(&x.Value, kind, o.at)
		if o.at == ahp.ElicitationRequest {
			e.reads(x.Value.JSON, func(d *decoder) { d.mcpResult() })
		}
	}
	e.shut()
}

// allows reports whether the offer has the effect.
func (o offer) allows(x ahp.Effect) bool {
	c := o.caps
	if c == nil {
		if o.at == "" {
			return true
		}
		b := ahp.Bounds(o.at)
		if f := b.Flow; f != nil && f.Continue {
			one := int64(1)
			f.Remaining = &one
		}
		c = &b
	}
	if o.at != "" { // whatever was offered there
		switch x := x.(type) {
		case *ahp.Modify:
			if x.Target.At(o.at) == "" {
				return false
			}
		case *ahp.Continue:
			if f := ahp.Bounds(o.at).Flow; f == nil || !f.Continue {
				return false
			}
		case *ahp.Return:
			if ahp.ReturnAt(o.at) == "" {
				return false
			}
		default: // it hangs on nothing but the offer
		}
	}
	return c.Offers(x)
}

// value writes the value of an effect, of a sort; at an unknown boundary of the sort
// that it has.
func (e *encoder) value(v *ahp.Value, kind ahp.ValueKind, at ahp.EventType) {
	sorts := 0
	for _, has := range [...]bool{v.JSON != nil, v.Messages != nil, v.Parts != nil} {
		if has {
			sorts++
		}
	}
	if sorts != 1 {
		e.bad("a value of no sort or of several", "one")
	}
	if kind == "" && at == "" || kind == ahp.ValueAny {
		switch {
		case v.Messages != nil && (at == "" || kind == ""):
			kind = ahp.ValueMessages
		case v.Parts != nil && at == "" && kind == "":
			kind = ahp.ValueParts
		case kind == ahp.ValueAny && at == "":
			kind = ahp.ValueObject // content: messages or an object
		default:
			kind = ahp.ValueAny
		}
	}
	switch kind {
	case ahp.ValueMessages:
		if v.Messages == nil {
			e.lacks("messages")
		}
		e.key("value")
		e.messages(v.Messages, ahp.RoleAt(at))
	case ahp.ValueParts:
		if v.Parts == nil {
			e.lacks("parts")
		}
		e.key("value")
		e.parts(v.Parts, true)
	case ahp.ValueObject:
		e.needs("value", v.JSON, '{')
	case ahp.ValueAny:
		e.needs("value", v.JSON, 0)
	default:
		e.bad("a value that does not exist at the boundary", "none")
	}
}

// objectTarget checks what [decoder.objectTarget] does.
func (e *encoder) objectTarget(x *ahp.Modify, at ahp.EventType) {
	switch {
	case x.Target == ahp.TargetContent && at == ahp.ElicitationResult:
		e.reads(x.Value.JSON, func(d *decoder) { d.mcpContent() })
	case x.Target == ahp.TargetWorkspace:
		e.reads(x.Value.JSON, func(d *decoder) {
			least := 0
			if x.Operation == ahp.OpReplace {
				least = 1
			}
			d.workspaceState(least)
		})
	}
}

// reads notes a fault if a raw value does not read without one.
func (e *encoder) reads(r ahp.Raw, read func(*decoder)) {
	d := newDecoder(r, Limits{}.complete())
	defer d.free()
	if d.Start() {
		read(d)
		d.End()
	}
	if list := d.Problems(); len(list) > 0 {
		e.bad(list[0].Found, list[0].Expected)
	}
}
