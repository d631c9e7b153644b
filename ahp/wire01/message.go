package wire01

import (
	"bytes"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
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
	w := newWalker(frame, l.complete())
	defer w.free()
	w.build = true
	m := new(Message)
	id := w.message(m)
	if err := w.err(id); err != nil {
		return nil, err
	}
	return m, nil
}

// DecodeEvent reads an event without its message, of any type of the revision.
// The error, if any, is an [*Error].
func DecodeEvent(data []byte, l Limits) (*ahp.Event, error) {
	w := newWalker(data, l.complete())
	defer w.free()
	w.build = true
	ev := new(ahp.Event)
	if w.onepass() {
		w.event(ev, new(ahp.Tool), anyEvent)
		if w.whole() {
			return ev, nil
		}
		ev = new(ahp.Event)
	}
	if w.valid() {
		w.start()
		w.event(ev, new(ahp.Tool), anyEvent)
	}
	if len(w.probs) > 0 {
		p := w.probs[0]
		return nil, &Error{Class: p.class, Code: p.code, Pointer: p.pointer, Offset: p.off, Found: p.found, Expected: p.expected}
	}
	return ev, nil
}

// DecodeRequest reads what a harness sent to a backend: an intercept request or
// an observe notification. Of several faults the one that the check order puts
// first decides the code (V-ERR-4): parse, JSON-RPC shape, method, version,
// event type, remaining fields.
func DecodeRequest(frame []byte, l Limits) (*Message, *Error) {
	w := newWalker(frame, l.complete())
	defer w.free()
	return w.decodeRequest(new(requestMemory))
}

// A RequestReader reads requests into memory that the next one uses again. The zero
// value is ready. It must not be used by two goroutines at once.
type RequestReader struct{ all requestMemory }

// Read is [DecodeRequest], except that the raw values of the message, or of the
// error, are pieces of frame, and that the message and all it points to hold until
// the next Read. Strings may be kept for ever.
func (r *RequestReader) Read(frame []byte, l Limits) (*Message, *Error) {
	r.all = requestMemory{}
	w := newWalker(frame, l.complete())
	defer w.free()
	w.own = frame
	return w.decodeRequest(&r.all)
}

func (w *walker) decodeRequest(all *requestMemory) (*Message, *Error) {
	w.build = true
	w.spare = &all.spare
	if w.onepass() {
		w.request(&all.message, &all.event, &all.tool)
		if w.whole() {
			return &all.message, nil
		}
		*all = requestMemory{}
	}
	var id idSeen
	if w.valid() {
		w.start()
		id = w.request(&all.message, &all.event, &all.tool)
	}
	if err := w.err(id); err != nil {
		return nil, err
	}
	return &all.message, nil
}

// TooLarge is what [DecodeRequest] says about a message over the size limit, of
// which only a beginning was kept. The id of the answer is looked for there; where
// the method comes before the cut and no id does, nothing is answered, since it
// might be a notification.
func TooLarge(beginning []byte, l Limits) *Error {
	e := tooLarge(l.complete())
	var method bool
	e.ID, method = sniff(beginning)
	e.Notification = method && e.ID == nil
	return e
}

func tooLarge(l Limits) *Error {
	return &Error{
		Class: ahp.FailMalformed, Code: ahp.CodeInvalidRequest, Offset: l.MaxBytes,
		Found: "more than " + strconv.Itoa(l.MaxBytes) + " bytes", Expected: "a text within the limit",
	}
}

// requestMemory is the parts of a request that always exist, in one allocation.
type requestMemory struct {
	message Message
	event   ahp.Event
	tool    ahp.Tool
	spare   spare
}

// spare is memory for what most messages have once.
type spare struct {
	agent   ahp.Agent
	roots   [1]string
	effects [1]ahp.EffectType
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
	w := newWalker(frame, l.complete())
	defer w.free()
	w.build = true
	var m Message
	read := false
	if w.onepass() {
		w.response(&m, &id, caps)
		if read = w.whole(); !read {
			m = Message{}
		}
	}
	if !read && w.valid() {
		w.start()
		w.response(&m, &id, caps)
	}
	if err := w.err(idSeen{}); err != nil {
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
func (w *walker) err(id idSeen) *Error {
	if len(w.probs) == 0 {
		return nil
	}
	p := w.probs[0]
	e := &Error{Class: p.class, Code: p.code, Pointer: p.pointer, Offset: p.off, Found: p.found, Expected: p.expected}
	switch {
	case w.dead || len(w.b) > w.lim.MaxBytes:
		// Not read to the end. Whoever sent it should still hear the answer, and a
		// notification should not get one.
		var method bool
		e.ID, method = sniff(w.b)
		e.Notification = method && e.ID == nil
	default:
		e.ID, e.Notification = id.raw, id.notification
	}
	return e
}

// start moves to the outermost value.
func (w *walker) start() {
	w.pos = 0
	w.space()
}

// idSeen is what a request tells about its answer, whatever else is wrong.
type idSeen struct {
	raw          ahp.Raw
	notification bool
}

func (w *walker) shape(off int, found, expected string) {
	w.fail(stageShape, ahp.FailMalformed, ahp.CodeInvalidRequest, off, found, expected)
}

// message checks the text and reads one message of either direction.
func (w *walker) message(m *Message) idSeen {
	if !w.valid() {
		return idSeen{}
	}
	return w.anyMessage(m)
}

func (w *walker) anyMessage(m *Message) (id idSeen) {
	w.start()
	if w.kind() == '{' {
		method, _ := w.find("method")
		if w.dead {
			return id
		}
		if !method {
			w.start()
			w.response(m, nil, ahp.DenyOnly())
			return id
		}
	}
	w.start()
	return w.request(m, new(ahp.Event), new(ahp.Tool))
}

// find reports whether the object at the current position has a member of that
// name, and the offset of its value.
func (w *walker) find(name string) (ok bool, off int) {
	for w.open(); w.more(); w.skip() {
		if string(w.name()) == name {
			ok, off = true, w.pos
		}
	}
	return ok, off
}

// request reads an intercept request or an observe notification.
func (w *walker) request(m *Message, ev *ahp.Event, tool *ahp.Tool) (seen idSeen) {
	start := w.here()
	if start.kind != '{' {
		w.shape(start.start, w.describe(start), "one JSON-RPC object")
		return seen
	}
	var (
		version, idOK, methodOK bool
		id, method, params      val
		answer                  val // a result or an error
		paramsAt                seg
		decoded                 bool
	)
	w.open()
	for w.more() {
		switch string(w.name()) {
		case "jsonrpc":
			version = true
			if v := w.skip(); !w.is(v, "2.0") {
				w.shape(v.start, w.describe(v), `the string "2.0"`)
			}
		case "id":
			id = w.skip()
			if idOK = w.usableID(id); idOK {
				m.ID = w.raw(id)
				seen.raw = m.ID
			} else {
				w.shape(id.start, w.describe(id), "a string that is not empty or an integer")
			}
		case "method":
			method = w.skip()
			if methodOK = method.kind == '"' && method.end-method.start > 2; !methodOK {
				w.shape(method.start, w.describe(method), "a string that is not empty")
				break
			}
			switch {
			case w.is(method, string(ahp.MethodIntercept)):
				m.Method = ahp.MethodIntercept
			case w.is(method, string(ahp.MethodObserve)):
				m.Method = ahp.MethodObserve
			}
		case "params":
			params, paramsAt = w.here(), w.path[0]
			switch {
			case params.kind != '{' && params.kind != '[':
				w.shape(params.start, w.describe(w.skip()), "an object")
			case m.Method == "": // not known yet, or not ours
				w.skip()
				continue
			default:
				w.params(m, ev, tool)
			}
			decoded = true
		case "result", "error":
			answer = w.skip()
		default:
			w.keep(&m.Unknown, w.skip())
		}
	}
	if w.dead {
		return seen
	}
	m.Kind = Request
	if id.kind == 0 {
		m.Kind = Notification
		seen.notification = methodOK
	}
	if !version {
		w.at(stageShape, ahp.FailMalformed, ahp.CodeInvalidRequest, start.start, "jsonrpc", "nothing", `the string "2.0"`)
	}
	if method.kind == 0 {
		w.at(stageShape, ahp.FailMalformed, ahp.CodeInvalidRequest, start.start, "method", "nothing", "a string that is not empty")
	}
	if method.kind != 0 && answer.kind != 0 {
		w.shape(answer.start, "a method beside a result or an error", "a request or a response")
	}
	switch {
	case !methodOK:
		return seen
	case m.Kind == Request && m.Method != ahp.MethodIntercept:
		w.at(stageMethod, ahp.FailMalformed, ahp.CodeMethodNotFound, method.start, "method", "a request with another method", "hooks/intercept")
	case m.Kind == Notification && m.Method != ahp.MethodObserve:
		w.at(stageMethod, ahp.FailMalformed, ahp.CodeMethodNotFound, method.start, "method", "a notification with another method", "hooks/observe")
	}
	if m.Method == "" {
		return seen
	}
	switch {
	case params.kind == 0:
		w.missing(stageBody, start.start, "params", "an object")
	case !decoded:
		// The method came after the params: go back for them.
		w.path = append(w.path, paramsAt)
		end := w.pos
		w.pos = params.start
		w.params(m, ev, tool)
		if w.dead {
			return seen
		}
		w.path, w.pos = w.path[:0], end
	}
	if m.Method == ahp.MethodIntercept && idOK && w.eventID.kind == '"' && !w.sameString(id, w.eventID) {
		w.at(stageBody, ahp.FailMalformed, ahp.CodeInvalidParams, id.start, "id", "an id that is not the event's", "the id of params.event")
	}
	return seen
}

// usableID reports whether v can be the id of a request.
func (w *walker) usableID(v val) bool {
	switch v.kind {
	case '"':
		return v.end-v.start > 2
	case '0':
		_, _, ok := walk.Integer(w.b[v.start:v.end])
		return ok
	}
	return false
}

func (w *walker) sameString(a, b val) bool {
	if a.kind != '"' || b.kind != '"' {
		return false
	}
	if !a.esc && !b.esc {
		return bytes.Equal(w.b[a.start:a.end], w.b[b.start:b.end])
	}
	x := string(w.content(a)) // content has room for one
	return x == string(w.content(b))
}

// params reads the params of a message whose method is known.
func (w *walker) params(m *Message, ev *ahp.Event, tool *ahp.Tool) {
	start := w.here()
	if start.kind != '{' {
		w.bad(w.skip(), "an object")
		return
	}
	intercept := m.Method == ahp.MethodIntercept
	allowed := anyEvent
	if intercept {
		allowed = onlyToolBefore
	}
	var version, event, capabilities bool
	w.open()
	for w.more() {
		switch name := w.name(); {
		case string(name) == "protocolVersion":
			version = true
			w.version(m)
		case string(name) == "event":
			event = true
			off := w.pos
			w.event(ev, tool, allowed)
			if w.build && !w.dead {
				m.Event, m.EventText = ev, w.raw(val{kind: '{', start: off, end: w.pos})
				m.shared, m.eventSpan = w.text, span{off, w.pos}
			}
		case string(name) == "capabilities" && intercept:
			capabilities = true
			w.capabilities(&m.Capabilities)
		case string(name) == "extensions" && intercept:
			w.extensions(&m.Extensions, &m.HasExtensions)
		default:
			w.keep(&m.BodyUnknown, w.skip())
		}
	}
	if !version {
		w.missing(stageVersion, start.start, "protocolVersion", `the string "0.1"`)
	}
	if !event {
		w.missing(stageBody, start.start, "event", "an object that describes the event")
	}
	if intercept && !capabilities {
		w.missing(stageBody, start.start, "capabilities", "an object")
	}
}

// version reads protocolVersion, which is exactly 0.1 (AHP-VER-001).
func (w *walker) version(m *Message) {
	v := w.skip()
	switch {
	case w.is(v, string(ahp.Version01)):
		m.Version = ahp.Version01
	case v.kind == '"':
		w.fail(stageVersion, ahp.FailUnsupported, ahp.CodeUnsupportedVersion, v.start, "another version", `the string "0.1"`)
	default:
		w.fail(stageVersion, ahp.FailMalformed, ahp.CodeInvalidParams, v.start, w.describe(v), `the string "0.1"`)
	}
}

// sniff looks for the id and the method of a message that was cut off, or not
// read to its end.
func sniff(frame []byte) (id ahp.Raw, method bool) {
	d := jsontext.NewDecoder(bytes.NewReader(frame))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, false
	}
	for {
		t, err := d.ReadToken()
		if err != nil || t.Kind() != '"' {
			return id, method
		}
		name := t.String()
		v, err := d.ReadValue()
		if err != nil {
			return id, method
		}
		switch name {
		case "id":
			w := walker{b: v}
			if w.usableID(w.skip()) {
				id = ahp.Raw(bytes.Clone(v))
			}
		case "method":
			method = v.Kind() == '"'
		}
	}
}
