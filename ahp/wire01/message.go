package wire01

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

// A Message is one decoded JSON-RPC message of revision 0.1.
type Message struct {
	Kind MessageKind
	ID   ahp.Raw // string, integer or, in a response, null, token for token; nil in a notification

	Method       ahp.Method       // requests and notifications
	Version      ahp.Version      // all but error responses
	Event        *ahp.Event       // requests and notifications
	EventText    ahp.Raw          // the event as it was sent
	Capabilities ahp.Capabilities // requests
	Effects      []ahp.Effect     // responses; empty or one [*ahp.Deny]
	RPCError     *RPCError        // error responses

	Extensions    ahp.Members // of params or result
	HasExtensions bool        // tells an empty extensions object from an absent one

	BodyUnknown ahp.Members // members of params, result or error outside the protocol
	Unknown     ahp.Members // members of the envelope outside the protocol

	shared    string // copy of the message, of which the strings are pieces; empty if it is large
	eventSpan span   // of the event in it
}

// SharedText returns the event as it was sent, as a piece of the one string of held
// bytes to which the strings of the event belong, too: who keeps some of them keeps
// them all. Of a message over 8 KB, whose strings have memory of their own, and of
// one without an event it returns nothing.
func (m *Message) SharedText() (event string, held int) {
	if m.eventSpan.end > len(m.shared) {
		return "", 0
	}
	return m.shared[m.eventSpan.start:m.eventSpan.end], len(m.shared)
}

// RPCError is the error object of an error response.
type RPCError struct {
	Code    ahp.ErrorCode // zero if it does not fit 32 bits
	Message string        // the peer's text: not fit for a model, a log or a third party
	Data    ahp.Raw       // nil when absent
}

// Decode reads one message of any kind. What has a method is a request or a
// notification, and all else a response. A response is judged without its
// request: any id, and [ahp.DenyOnly] as what was offered.
//
// The error, if any, is an [*Error].
func Decode(frame []byte, l Limits) (*Message, error) {
	d := newDecoder(frame, l.complete())
	defer d.free()
	m := new(Message)
	var id idSeen
	if d.Start() {
		id = d.anyMessage(m)
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
		d.event(ev, new(ahp.Tool), anyEvent)
		d.End()
	}
	if p := d.Problems(); len(p) > 0 {
		return nil, newError(&p[0])
	}
	return ev, nil
}

// DecodeRequest reads what a harness sent to a backend: an intercept request or
// an observe notification. Of several faults the one that the check order puts
// first decides the code (V-ERR-4): parse, JSON-RPC shape, method, version,
// event type, remaining fields.
func DecodeRequest(frame []byte, l Limits) (*Message, *Error) {
	d := newDecoder(frame, l.complete())
	defer d.free()
	return d.decodeRequest(new(requestMemory))
}

// A RequestReader reads requests into memory that the next one uses again. The zero
// value is ready. It must not be used by two goroutines at once.
type RequestReader struct{ all requestMemory }

// Read is [DecodeRequest], except that the raw values of the message, or of the
// error, are pieces of frame, and that the message and all it points to hold until
// the next Read. Strings may be kept for ever.
func (r *RequestReader) Read(frame []byte, l Limits) (*Message, *Error) {
	r.all = requestMemory{}
	d := newDecoder(frame, l.complete())
	defer d.free()
	d.Borrow()
	return d.decodeRequest(&r.all)
}

func (d *decoder) decodeRequest(all *requestMemory) (*Message, *Error) {
	d.spare = &all.spare
	var id idSeen
	if d.Start() {
		id = d.request(&all.message, &all.event, &all.tool)
		d.End()
	}
	if err := d.err(id); err != nil {
		return nil, err
	}
	return &all.message, nil
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

// requestMemory is the parts of a request that always exist, in one allocation.
type requestMemory struct {
	message Message
	event   ahp.Event
	tool    ahp.Tool
	spare   spare
}

// DecodeResponse reads a backend's answer to the request with this id and these
// capabilities. The checks run in this order, each with its class: JSON and
// JSON-RPC (V-FC-5), echo of the id (V-FC-6), version (V-FC-8, V-FC-9), exactly
// one of result and error (V-FC-5, V-FC-7), then the effects (V-FC-9, V-FC-10).
// The codes -32001 and -32002 are class unsupported, every other one rpc_error.
//
// It returns either no failure and at most one effect, a [*ahp.Deny], or a
// failure that names no backend yet.
func DecodeResponse(frame []byte, id string, caps ahp.Capabilities, l Limits) ([]ahp.Effect, *ahp.Failure) {
	d := newDecoder(frame, l.complete())
	defer d.free()
	var m Message
	if d.Start() {
		d.response(&m, &id, caps)
		d.End()
	}
	if err := d.err(idSeen{}); err != nil {
		return nil, err.Failure()
	}
	if m.RPCError == nil {
		return m.Effects, nil
	}
	f := &ahp.Failure{Class: ahp.FailRPCError, Code: int(m.RPCError.Code), Pointer: "/error"}
	if c := m.RPCError.Code; c == ahp.CodeUnsupportedVersion || c == ahp.CodeUnsupportedEvent {
		f.Class = ahp.FailUnsupported
	}
	return nil, f
}

// err returns the deciding problem.
func (d *decoder) err(id idSeen) *Error {
	list := d.Problems()
	if len(list) == 0 {
		return nil
	}
	e := newError(&list[0])
	switch {
	case e.Code == ahp.CodeParse:
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

// anyMessage reads one message of either direction.
func (d *decoder) anyMessage(m *Message) (id idSeen) {
	if d.Kind() == '{' {
		_, method := d.Ahead("method")
		if d.Dead() {
			return id
		}
		if !method {
			d.response(m, nil, ahp.DenyOnly())
			return id
		}
	}
	return d.request(m, new(ahp.Event), new(ahp.Tool))
}

// request reads an intercept request or an observe notification.
func (d *decoder) request(m *Message, ev *ahp.Event, tool *ahp.Tool) (seen idSeen) {
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
			if idOK = walk.UsableID(d.Text(id)); idOK {
				m.ID = d.Raw(id)
				seen.raw = m.ID
			} else {
				d.shape(id.Start, walk.Describe(id), "a string that is not empty or an integer")
			}
		case "method":
			method = d.Skip()
			if methodOK = method.Kind == '"' && !method.Empty(); !methodOK {
				d.shape(method.Start, walk.Describe(method), "a string that is not empty")
				break
			}
			switch {
			case d.Is(method, string(ahp.MethodIntercept)):
				m.Method = ahp.MethodIntercept
			case d.Is(method, string(ahp.MethodObserve)):
				m.Method = ahp.MethodObserve
			}
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
				d.params(m, ev, tool)
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
		d.At(walk.StageShape, ahp.FailMalformed, ahp.CodeInvalidRequest, start.Start, "jsonrpc", "nothing", `the string "2.0"`)
	}
	if method.Kind == 0 {
		d.At(walk.StageShape, ahp.FailMalformed, ahp.CodeInvalidRequest, start.Start, "method", "nothing", "a string that is not empty")
	}
	if method.Kind != 0 && answer.Kind != 0 {
		d.shape(answer.Start, "a method beside a result or an error", "a request or a response")
	}
	switch {
	case !methodOK:
		return seen
	case m.Kind == Request && m.Method != ahp.MethodIntercept:
		d.At(walk.StageMethod, ahp.FailMalformed, ahp.CodeMethodNotFound, method.Start, "method", "a request with another method", "hooks/intercept")
	case m.Kind == Notification && m.Method != ahp.MethodObserve:
		d.At(walk.StageMethod, ahp.FailMalformed, ahp.CodeMethodNotFound, method.Start, "method", "a notification with another method", "hooks/observe")
	}
	if m.Method == "" {
		return seen
	}
	switch {
	case !hasParams:
		d.missing(walk.StageBody, start.Start, "params", "an object")
	case !decoded: // the method came after the params
		d.Revisit(params, func() { d.params(m, ev, tool) })
	}
	if m.Method == ahp.MethodIntercept && idOK && d.eventID.Kind == '"' && !d.Same(id, d.eventID) {
		d.At(walk.StageBody, ahp.FailMalformed, ahp.CodeInvalidParams, id.Start, "id", "an id that is not the event's", "the id of params.event")
	}
	return seen
}

// params reads the params of a message whose method is known.
func (d *decoder) params(m *Message, ev *ahp.Event, tool *ahp.Tool) {
	start := d.Here()
	if start.Kind != '{' {
		d.bad(d.Skip(), "an object")
		return
	}
	intercept := m.Method == ahp.MethodIntercept
	allowed := anyEvent
	if intercept {
		allowed = onlyToolBefore
	}
	var version, event, capabilities bool
	d.Open()
	for d.More() {
		switch name := d.Name(); {
		case string(name) == "protocolVersion":
			version = true
			d.version(m)
		case string(name) == "event":
			event = true
			off := d.Pos()
			d.event(ev, tool, allowed)
			if d.Build && !d.Dead() {
				m.Event, m.EventText = ev, d.Raw(walk.Val{Kind: '{', Start: off, End: d.Pos()})
				m.shared, m.eventSpan = d.Shared(), span{off, d.Pos()}
			}
		case string(name) == "capabilities" && intercept:
			capabilities = true
			d.capabilities(&m.Capabilities)
		case string(name) == "extensions" && intercept:
			d.extensions(&m.Extensions, &m.HasExtensions)
		default:
			d.Keep(&m.BodyUnknown, d.Skip())
		}
	}
	if !version {
		d.missing(walk.StageVersion, start.Start, "protocolVersion", `the string "0.1"`)
	}
	if !event {
		d.missing(walk.StageBody, start.Start, "event", "an object that describes the event")
	}
	if intercept && !capabilities {
		d.missing(walk.StageBody, start.Start, "capabilities", "an object")
	}
}

// version reads protocolVersion, which is exactly 0.1 (AHP-VER-001).
func (d *decoder) version(m *Message) {
	v := d.Skip()
	switch {
	case d.Is(v, string(ahp.Version01)):
		m.Version = ahp.Version01
	case v.Kind == '"':
		d.Fail(walk.StageVersion, ahp.FailUnsupported, ahp.CodeUnsupportedVersion, v.Start, "another version", `the string "0.1"`)
	default:
		d.Fail(walk.StageVersion, ahp.FailMalformed, ahp.CodeInvalidParams, v.Start, walk.Describe(v), `the string "0.1"`)
	}
}
