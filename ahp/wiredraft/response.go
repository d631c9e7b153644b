package wiredraft

import (
	"math"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// An answerTo is the request that a response answers. Its zero value is any.
type answerTo struct {
	id     ahp.Raw    // token for token; nil is any
	idText *string    // instead of id: the value of a string
	method ahp.Method // hooks/intercept or hooks/capabilities; empty is either
	offer
}

// An offer is what effects may be.
type offer struct {
	at   ahp.EventType     // empty is any event
	caps *ahp.Capabilities // nil is all that the event's bounds allow
}

// DecodeResponse reads a backend's answer to the hooks/intercept request with this
// id, for an event of type at, with these capabilities. The checks run in this order,
// each with its class: JSON and JSON-RPC (D-FC-6), echo of the id (D-FC-7), version
// (D-FC-9, D-FC-10), exactly one of result and error (D-FC-6, D-FC-8), then the
// effects (D-FC-10, D-FC-11): shape, offer, value at this boundary (section 10, steps
// 2 to 5). The codes -32001 and -32002 are class unsupported, every other one
// rpc_error.
//
// It returns the effects in their order and no failure, or no effects and a failure
// that names no backend yet. An empty at is any event, and nil caps are all that the
// event's bounds allow.
func DecodeResponse(frame []byte, id string, at ahp.EventType, caps *ahp.Capabilities, l Limits) ([]ahp.Effect, *ahp.Failure) {
	var m Message
	if f := decodeResponse(&m, frame, answerTo{idText: &id, method: ahp.MethodIntercept, offer: offer{at, caps}}, l); f != nil {
		return nil, f
	}
	return m.Effects, nil
}

// DecodeCapabilitiesResponse reads the answer to the hooks/capabilities request with
// this id, token for token as it was sent. Checks and classes are those of
// [DecodeResponse].
func DecodeCapabilitiesResponse(frame []byte, id ahp.Raw, l Limits) (*ahp.Manifest, *ahp.Failure) {
	var m Message
	if f := decodeResponse(&m, frame, answerTo{id: id, method: ahp.MethodCapabilities}, l); f != nil {
		return nil, f
	}
	return m.Manifest, nil
}

func decodeResponse(m *Message, frame []byte, to answerTo, l Limits) *ahp.Failure {
	d := newDecoder(frame, l.complete())
	defer d.free()
	if d.Start() {
		d.response(m, to)
		d.End()
	}
	if err := d.err(idSeen{}); err != nil {
		return err.Failure()
	}
	if m.RPCError == nil {
		return nil
	}
	f := &ahp.Failure{Class: ahp.FailRPCError, Code: int(m.RPCError.Code), Pointer: "/error"}
	if c := m.RPCError.Code; c == ahp.CodeUnsupportedVersion || c == ahp.CodeUnsupportedEvent {
		f.Class = ahp.FailUnsupported
	}
	return f
}

// answers reports whether id is that of the request.
func (d *decoder) answers(to answerTo, id walk.Val) bool {
	switch {
	case to.idText != nil:
		return d.Is(id, *to.idText)
	case to.id == nil:
		return true
	case to.id[0] == '"':
		var w walk.Walker
		w.Reset(to.id, Limits{}.complete())
		return d.Is(id, string(w.Content(w.Skip())))
	case id.Kind != '0':
		return false
	}
	a, aFits, _ := walk.Integer(to.id)
	b, bFits, _ := walk.Integer(d.Text(id))
	if aFits && bFits {
		return a == b
	}
	return string(to.id) == string(d.Text(id))
}

// response reads a result or an error.
func (d *decoder) response(m *Message, to answerTo) {
	start := d.Here()
	if start.Kind != '{' {
		d.shape(start.Start, walk.Describe(d.Skip()), "one JSON-RPC object")
		return
	}
	var (
		version, hasResult, hasError bool
		id, errorVal                 walk.Val
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
			if !d.integerOrName(id) && id.Kind != 'n' {
				d.shape(id.Start, walk.Describe(id), "a string that is not empty, an integer or null")
				continue
			}
			if to.idText == nil { // otherwise it is known, or wrong
				m.ID = d.Raw(id)
			}
		case "method":
			d.shape(d.Pos(), "a response with a method", "a request or a response")
			d.Skip()
		case "result":
			hasResult = true
			d.result(m, to)
		case "error":
			hasError, errorVal = true, d.Here()
			d.rpcError(m)
		default:
			d.Keep(&m.Unknown, d.Skip())
		}
	}
	if d.Dead() {
		return
	}
	if !version {
		d.shapeLacks(start.Start, "jsonrpc", `the string "2.0"`)
	}
	switch {
	case id.Kind == 0:
		d.shapeLacks(start.Start, "id", "the id of the request")
	case !d.answers(to, id):
		d.At(walk.StageMethod, ahp.FailIDMismatch, ahp.CodeInvalidRequest, id.Start, "id", "another id", "the id of the request")
	}
	m.Kind = Response
	switch {
	case hasResult && hasError:
		d.At(walk.StageType, ahp.FailMalformed, ahp.CodeInvalidRequest, errorVal.Start, "error", "an error beside a result", "exactly one of result and error")
	case hasError:
		m.Kind = ErrorResponse
	case !hasResult:
		d.At(walk.StageType, ahp.FailMalformed, ahp.CodeInvalidRequest, start.Start, "result", "neither a result nor an error", "exactly one of result and error")
	}
}

// result reads the result of hooks/intercept or hooks/capabilities: which of the two
// follows from the request, or without one from its members (D-ENV-5).
func (d *decoder) result(m *Message, to answerTo) {
	start := d.Here()
	if start.Kind != '{' {
		d.Fail(walk.StageType, ahp.FailMalformed, ahp.CodeInvalidRequest, start.Start, walk.Describe(d.Skip()), "an object")
		return
	}
	var version bool
	var effects, manifest int
	d.Open()
	for d.More() {
		switch string(d.Name()) {
		case "protocolVersion":
			version = true
			d.version(m)
		case "effects":
			effects = d.NameVal().Start
			if to.method == ahp.MethodCapabilities {
				d.Skip()
				continue
			}
			d.place = inEffects
			d.effects(m, to.offer)
			d.place = inBody
		case "manifest":
			manifest = d.NameVal().Start
			if to.method == ahp.MethodIntercept {
				d.Skip()
				continue
			}
			m.Manifest = new(ahp.Manifest)
			d.manifest(m.Manifest)
		case "extensions":
			d.extensions(&m.Extensions, &m.HasExtensions)
		default:
			d.Keep(&m.BodyUnknown, d.Skip())
		}
	}
	if !version {
		d.At(walk.StageVersion, ahp.FailMissingField, ahp.CodeInvalidParams, start.Start, "protocolVersion", "nothing", `the string "draft"`)
	}
	switch {
	case effects > 0 && manifest > 0:
		d.extra(max(effects, manifest), "manifest", "a manifest beside effects", "one of the two")
	case to.method == ahp.MethodCapabilities && manifest == 0:
		d.lacks(start.Start, "manifest", "a capability manifest")
	case manifest == 0 && effects == 0:
		d.lacks(start.Start, "effects", "an array of effects")
	case to.method == ahp.MethodIntercept && effects == 0:
		d.lacks(start.Start, "effects", "an array of effects")
	}
}

// rpcError reads the error object of an error response (D-ENV-11).
func (d *decoder) rpcError(m *Message) {
	wrong := func(off int, name, found, expected string) {
		d.At(walk.StageType, ahp.FailMalformed, ahp.CodeInvalidRequest, off, name, found, expected)
	}
	start := d.Here()
	if start.Kind != '{' {
		wrong(start.Start, "", walk.Describe(d.Skip()), "an object")
		return
	}
	e := new(RPCError)
	var code, message bool
	d.Open()
	for d.More() {
		switch string(d.Name()) {
		case "code":
			code = true
			v := d.Skip()
			var n int64
			fits, ok := false, false
			if v.Kind == '0' {
				n, fits, ok = walk.Integer(d.Text(v))
			}
			if !ok {
				wrong(v.Start, "", walk.Describe(v), "an integer")
			}
			if fits && math.MinInt32 <= n && n <= math.MaxInt32 {
				e.Code = ahp.ErrorCode(n)
			}
		case "message":
			message = true
			v := d.Skip()
			if v.Kind != '"' {
				wrong(v.Start, "", walk.Describe(v), "a string")
				continue
			}
			e.Message = d.Str(v)
		case "data":
			e.Data = d.Raw(d.Skip())
		default:
			d.Keep(&m.BodyUnknown, d.Skip())
		}
	}
	if !code {
		wrong(start.Start, "code", "nothing", "an integer")
	}
	if !message {
		wrong(start.Start, "message", "nothing", "a string")
	}
	m.RPCError = e
}
