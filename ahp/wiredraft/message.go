package wiredraft

import (
	"strconv"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// MessageKind is the JSON-RPC kind of a message.
type MessageKind string

// The kinds of message.
const (
	Request       MessageKind = "request"
	Notification  MessageKind = "notification"
	Response      MessageKind = "response"
	ErrorResponse MessageKind = "errorResponse"
)

// A Message is one decoded JSON-RPC message of revision draft.
type Message struct {
	Kind MessageKind
	ID   ahp.Raw // string, integer or, in a response, null, token for token; nil in a notification

	Method       ahp.Method       // requests and notifications
	Version      ahp.Version      // all but error responses
	Event        *ahp.Event       // hooks/intercept and hooks/observe
	EventText    ahp.Raw          // the event as it was sent
	Capabilities ahp.Capabilities // hooks/intercept: what the harness can enforce now
	State        *ahp.State       // hooks/intercept; nil when absent (D-STATE-1)
	Effects      []ahp.Effect     // responses to hooks/intercept
	Manifest     *ahp.Manifest    // responses to hooks/capabilities
	RPCError     *RPCError        // error responses

	Extensions    ahp.Members // of params or result
	HasExtensions bool        // tells an empty extensions object from an absent one

	BodyUnknown ahp.Members // members of params, result or error outside the protocol
	Unknown     ahp.Members // members of the envelope outside the protocol

	shared    string // copy of the message, of which the strings are pieces; empty if it is large
	eventSpan span   // of the event in it
}

type span struct{ start, end int }

// RPCError is the error object of an error response.
type RPCError struct {
	Code    ahp.ErrorCode // zero if it does not fit 32 bits
	Message string        // the peer's text: not fit for a model, a log or a third party
	Data    ahp.Raw       // nil when absent
}

// SharedText returns the event as it was sent, as a piece of the one string of held
// bytes to which the strings of the event belong, too: who keeps some of them keeps
// them all. Of a message over 8 KB, whose strings have memory of their own, and of
// one without an event it returns nothing.
func (m *Message) SharedText() (event string, held int) {
	if m.shared == "" || m.eventSpan.end > len(m.shared) {
		return "", 0
	}
	return m.shared[m.eventSpan.start:m.eventSpan.end], len(m.shared)
}

// SharedMessage returns the whole message as it was sent, where [Message.SharedText]
// returns a piece of it; otherwise "".
func (m *Message) SharedMessage() string { return m.shared }

// Decode reads one message of any kind. What has a method is a request or a
// notification, and all else a response. A response is judged without its
// request: any id, and all that the revision lets some harness offer at some event.
//
// The error, if any, is an [*Error].
func Decode(frame []byte, l Limits) (*Message, error) {
	d := newDecoder(frame, l.complete())
	defer d.free()
	m := new(Message)
	var id idSeen
	if d.Start() {
		id = d.anyMessage(m, answerTo{})
		d.End()
	}
	if err := d.err(id); err != nil {
		return nil, err
	}
	return m, nil
}

// DecodeEvent reads an event without its message, of any type of the revision.
// The error, if any, is an [*Error].
func DecodeEvent(data []byte, l Limits) (*ahp.Event, error) {
	d := newDecoder(data, l.complete())
	defer d.free()
	ev := new(ahp.Event)
	if d.Start() {
		d.event(ev, anyEvent)
		d.End()
	}
	if p := d.Problems(); len(p) > 0 {
		return nil, newError(&p[0])
	}
	return ev, nil
}

// DecodeRequest reads what a harness sends to a backend: a hooks/intercept or
// hooks/capabilities request, or a hooks/observe notification. Of several faults the
// one that the check order puts first decides the code (D-ERR-3): parse, JSON-RPC
// shape, method, version, event type, capabilities, remaining fields.
func DecodeRequest(frame []byte, l Limits) (*Message, *Error) {
	d := newDecoder(frame, l.complete())
	defer d.free()
	return d.decodeRequest(new(requestMemory), l)
}

// A RequestReader reads requests into memory that the next one uses again. The zero
// value is ready; it is for one goroutine at a time.
type RequestReader struct{ all requestMemory }

// Read is [DecodeRequest], except that the raw values of the message, or of the
// error, are pieces of frame, and that the message and all it points to hold until
// the next Read. Strings may be kept for ever.
func (r *RequestReader) Read(frame []byte, l Limits) (*Message, *Error) {
	r.all = requestMemory{}
	d := newDecoder(frame, l.complete())
	defer d.free()
	d.Borrow()
	return d.decodeRequest(&r.all, l)
}

func (d *decoder) decodeRequest(all *requestMemory, l Limits) (*Message, *Error) {
	d.mem = all
	m := &all.message
	var id idSeen
	if d.Start() {
		id = d.request(m)
		d.End()
	}
	if err := d.err(id); err != nil {
		return nil, err
	}
	return m, nil
}

// TooLarge is what [DecodeRequest] says about a message over the size limit, of
// which only a beginning was kept. The id of the answer is looked for there; where
// the method comes before the cut and no id does, nothing is answered, since it
// might be a notification.
func TooLarge(beginning []byte, l Limits) *Error {
	most := l.complete().MaxBytes
	e := &Error{
		Class: ahp.FailMalformed, Code: ahp.CodeInvalidRequest, Offset: most,
		Found: "more than " + strconv.Itoa(most) + " bytes", Expected: "a text within the limit",
	}
	var method bool
	e.ID, method = walk.Sniff(beginning)
	e.Notification = method && e.ID == nil
	return e
}

// err returns the deciding problem.
func (d *decoder) err(id idSeen) *Error {
	list := d.Problems()
	if len(list) == 0 {
		return nil
	}
	e := newError(&list[0])
	switch {
	case e.Code == ahp.CodeParse && list[0].Stage == walk.StageParse:
		// What stands in a text that is not JSON is nobody's word.
	case d.Dead():
		// Not read to the end. Whoever sent it should still hear the answer, and a
		// notification should not get one.
		var method bool
		e.ID, method = walk.Sniff(d.Bytes())
		e.Notification = method && e.ID == nil
	default:
		e.ID, e.Notification = id.raw, id.notification
	}
	return e
}

// idSeen is what a request tells about its answer, whatever else is wrong.
type idSeen struct {
	raw          ahp.Raw
	notification bool
}

func (d *decoder) shape(off int, found, expected string) {
	d.Fail(walk.StageShape, ahp.FailMalformed, ahp.CodeInvalidRequest, off, found, expected)
}

func (d *decoder) shapeLacks(off int, name, expected string) {
	d.At(walk.StageShape, ahp.FailMalformed, ahp.CodeInvalidRequest, off, name, "nothing", expected)
}

// anyMessage reads one message of either direction.
func (d *decoder) anyMessage(m *Message, to answerTo) (id idSeen) {
	if d.Kind() == '{' {
		_, method := d.Ahead("method")
		if d.Dead() {
			return id
		}
		if !method {
			d.response(m, to)
			return id
		}
	}
	return d.request(m)
}

// method returns the method that a string names, or "".
func (d *decoder) method(v walk.Val) ahp.Method {
	for _, x := range [...]ahp.Method{ahp.MethodIntercept, ahp.MethodObserve, ahp.MethodCapabilities} {
		if d.Is(v, string(x)) {
			return x
		}
	}
	return ""
}

// request reads a request or a notification.
func (d *decoder) request(m *Message) (seen idSeen) {
	start := d.Here()
	if start.Kind != '{' {
		d.shape(start.Start, walk.Describe(d.Skip()), "one JSON-RPC object")
		return seen
	}
	var (
		version, idOK, methodOK bool
		id, method              walk.Val
		answer                  walk.Val // a result or an error
		params                  walk.Later
		hasParams, decoded      bool
	)
	d.Open()
	for d.More() {
		switch string(d.Name()) {
		case "jsonrpc":
			version = true
			if v := d.Skip(); !d.Is(v, "2.0") {
				d.shape(v.Start, walk.Describe(v), `the string "2.0"`)
			}
		case "id":
			id = d.Skip()
			if idOK = d.integerOrName(id); idOK {
				m.ID = d.Raw(id)
				seen.raw = m.ID
			} else {
				d.shape(id.Start, walk.Describe(id), "a string that is not empty or an integer")
			}
		case "method":
			method = d.Skip()
			if methodOK = method.Kind == '"' && !method.Empty(); !methodOK {
				d.shape(method.Start, walk.Describe(method), nonEmpty)
				continue
			}
			m.Method = d.method(method)
		case "params":
			hasParams = true
			switch k := d.Kind(); {
			case k != '{' && k != '[':
				decoded = true
				v := d.Skip()
				d.shape(v.Start, walk.Describe(v), "an object")
			case m.Method == "": // not known yet, or not ours
				params = d.Later()
				d.Skip()
			default:
				decoded = true
				d.params(m)
			}
		case "result", "error":
			answer = d.Skip()
		default:
			d.Keep(&m.Unknown, d.Skip())
		}
	}
	if d.Dead() {
		return seen
	}
	m.Kind = Request
	if id.Kind == 0 {
		m.Kind = Notification
		seen.notification = methodOK
	}
	if !version {
		d.shapeLacks(start.Start, "jsonrpc", `the string "2.0"`)
	}
	if method.Kind == 0 {
		d.shapeLacks(start.Start, "method", nonEmpty)
	}
	if method.Kind != 0 && answer.Kind != 0 {
		d.shape(answer.Start, "a method beside a result or an error", "a request or a response")
	}
	switch {
	case !methodOK:
		return seen
	case m.Kind == Request && m.Method != ahp.MethodIntercept && m.Method != ahp.MethodCapabilities:
		d.At(walk.StageMethod, ahp.FailMalformed, ahp.CodeMethodNotFound, method.Start, "method",
			"a request with another method", "hooks/intercept or hooks/capabilities")
	case m.Kind == Notification && m.Method != ahp.MethodObserve:
		d.At(walk.StageMethod, ahp.FailMalformed, ahp.CodeMethodNotFound, method.Start, "method",
			"a notification with another method", "hooks/observe")
	}
	if m.Method == "" {
		return seen
	}
	switch {
	case !hasParams:
		d.lacks(start.Start, "params", "an object")
	case !decoded: // the method came after the params
		d.Revisit(params, func() { d.params(m) })
	}
	if m.Method == ahp.MethodIntercept && idOK && d.eventID.Kind == '"' && !d.Same(id, d.eventID) {
		d.extra(id.Start, "id", "an id that is not the event's", "the id of params.event")
	}
	return seen
}

// params reads the params of a message whose method is known.
func (d *decoder) params(m *Message) {
	start, ok := d.object("an object")
	if !ok {
		return
	}
	intercept := m.Method == ahp.MethodIntercept
	allowed := anyEvent
	if intercept {
		allowed = interceptable
	}
	var version, event bool
	capabilities := 0
	for d.More() {
		switch name := d.Name(); {
		case string(name) == "protocolVersion":
			version = true
			d.version(m)
		case string(name) == "event" && m.Method != ahp.MethodCapabilities:
			event = true
			off := d.Pos()
			ev := new(ahp.Event)
			if d.mem != nil {
				ev = &d.mem.event
			}
			d.event(ev, allowed)
			if !d.Dead() {
				m.Event, m.EventText = ev, d.Raw(walk.Val{Kind: '{', Start: off, End: d.Pos()})
				m.shared, m.eventSpan = d.Shared(), span{off, d.Pos()}
			}
		case string(name) == "capabilities" && intercept:
			capabilities = d.Pos()
			d.place = inOffer
			d.capabilities(&m.Capabilities)
			d.place = inBody
		case string(name) == "state" && intercept:
			m.State = d.state()
		case string(name) == "extensions" && intercept:
			d.extensions(&m.Extensions, &m.HasExtensions)
		default:
			d.Keep(&m.BodyUnknown, d.Skip())
		}
	}
	if !version {
		d.At(walk.StageVersion, ahp.FailMissingField, ahp.CodeInvalidParams, start, "protocolVersion", "nothing", `the string "draft"`)
	}
	if m.Method == ahp.MethodCapabilities {
		return
	}
	if !event {
		d.lacks(start, "event", "an object that describes the event")
	}
	if !intercept || d.Dead() {
		return
	}
	d.place = inOffer
	switch {
	case capabilities == 0:
		d.lacks(start, "capabilities", "an object with effects")
	case m.Event != nil && m.Event.Type.Interceptable(ahp.VersionDraft):
		d.within(&m.Capabilities, m.Event.Type, capabilities, "capabilities")
	}
	d.place = inBody
}

// version reads protocolVersion, which is exactly draft (AHP-VER-001, D-VER-1).
func (d *decoder) version(m *Message) {
	v := d.Skip()
	switch {
	case d.Is(v, string(ahp.VersionDraft)):
		m.Version = ahp.VersionDraft
	case v.Kind == '"':
		d.Fail(walk.StageVersion, ahp.FailUnsupported, ahp.CodeUnsupportedVersion, v.Start, "another version", `the string "draft"`)
	default:
		d.Fail(walk.StageVersion, ahp.FailMalformed, ahp.CodeInvalidParams, v.Start, walk.Describe(v), `the string "draft"`)
	}
}
