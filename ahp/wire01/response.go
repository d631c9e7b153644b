package wire01

import (
	"math"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// response reads a result or an error. With want, its id must be that string.
func (w *walker) response(m *Message, want *string, caps ahp.Capabilities) {
	start := w.here()
	if start.kind != '{' {
		w.shape(start.start, w.describe(start), "one JSON-RPC object")
		return
	}
	var (
		version, hasResult, hasError bool
		id, errorVal                 val
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
			if !w.usableID(id) && id.kind != 'n' {
				w.shape(id.start, w.describe(id), "a string that is not empty, an integer or null")
				break
			}
			m.ID = w.raw(id)
		case "method":
			w.shape(w.pos, "a response with a method", "a request or a response")
			w.skip()
		case "result":
			hasResult = true
			w.result(m, caps)
		case "error":
			hasError, errorVal = true, w.here()
			w.rpcError(m)
		default:
			w.keep(&m.Unknown, w.skip())
		}
	}
	if !version {
		w.at(stageShape, ahp.FailMalformed, ahp.CodeInvalidRequest, start.start, "jsonrpc", "nothing", `the string "2.0"`)
	}
	switch {
	case id.kind == 0:
		w.at(stageShape, ahp.FailMalformed, ahp.CodeInvalidRequest, start.start, "id", "nothing", "the id of the request")
	case want != nil && !w.is(id, *want):
		w.at(stageMethod, ahp.FailIDMismatch, ahp.CodeInvalidRequest, id.start, "id", "another id", "the id of the request")
	}
	m.Kind = Response
	switch {
	case hasResult && hasError:
		w.at(stageType, ahp.FailMalformed, ahp.CodeInvalidRequest, errorVal.start, "error", "an error beside a result", "exactly one of result and error")
	case hasError:
		m.Kind = ErrorResponse
	case !hasResult:
		w.at(stageType, ahp.FailMalformed, ahp.CodeInvalidRequest, start.start, "result", "neither a result nor an error", "exactly one of result and error")
	}
}

// result reads the result of hooks/intercept (AHP 0.1 section 2.2).
func (w *walker) result(m *Message, caps ahp.Capabilities) {
	start := w.here()
	if start.kind != '{' {
		w.fail(stageType, ahp.FailMalformed, ahp.CodeInvalidRequest, start.start, w.describe(w.skip()), "an object")
		return
	}
	var version, effects bool
	w.open()
	for w.more() {
		switch string(w.name()) {
		case "protocolVersion":
			version = true
			w.version(m)
		case "effects":
			effects = true
			w.effects(m, caps)
		case "extensions":
			w.extensions(&m.Extensions, &m.HasExtensions)
		default:
			w.keep(&m.BodyUnknown, w.skip())
		}
	}
	if !version {
		w.missing(stageVersion, start.start, "protocolVersion", `the string "0.1"`)
	}
	if !effects {
		w.missing(stageBody, start.start, "effects", "an array, empty or with one deny")
	}
}

func (w *walker) invalidEffect(off int, name, found, expected string) {
	w.at(stageBody, ahp.FailInvalidEffect, ahp.CodeInternal, off, name, found, expected)
}

// effects reads an empty array or one with exactly one valid deny (AHP-DEC-001).
func (w *walker) effects(m *Message, caps ahp.Capabilities) {
	if list := w.here(); list.kind != '[' {
		w.invalidEffect(list.start, "", w.describe(w.skip()), "an array, empty or with one deny")
		return
	}
	if w.build {
		m.Effects = []ahp.Effect{}
	}
	n := 0
	w.open()
	for w.more() {
		if n++; n == 2 {
			w.invalidEffect(w.pos, "", "a second effect", "an array, empty or with one deny")
		}
		d := w.deny(caps)
		if n == 1 && w.build && d != nil {
			m.Effects = append(m.Effects, d)
		}
	}
}

// deny reads one effect. There is no other but deny (V-DEC-2).
func (w *walker) deny(caps ahp.Capabilities) *ahp.Deny {
	start := w.here()
	if start.kind != '{' {
		w.invalidEffect(start.start, "", w.describe(w.skip()), "an object")
		return nil
	}
	d := new(ahp.Deny)
	var typ, reason, known bool
	var ext val
	w.open()
	for w.more() {
		switch string(w.name()) {
		case "type":
			typ = true
			v := w.skip()
			known = w.is(v, string(ahp.EffectDeny))
			switch {
			case v.kind != '"':
				w.invalidEffect(v.start, "", w.describe(v), "deny")
			case !known:
				w.invalidEffect(v.start, "", "another effect", "deny")
			case !caps.Allows(ahp.EffectDeny):
				w.invalidEffect(v.start, "", "an effect that was not offered", "an effect of the request's capabilities")
			}
			w.spelling(&d.Unknown, "type", v, false)
		case "reason":
			reason = true
			v := w.skip()
			if v.kind != '"' || v.end-v.start == 2 {
				w.invalidEffect(v.start, "", w.describe(v), "a string that is not empty")
				break
			}
			d.Reason = w.str(v)
			w.spelling(&d.Unknown, "reason", v, false)
		case "code":
			v := w.skip()
			if v.kind != '"' || !reverseDNS(w.content(v)) {
				w.invalidEffect(v.start, "", w.describe(v), "a reverse-DNS name such as com.example.policy.rule")
				break
			}
			d.Code = w.str(v)
			w.spelling(&d.Unknown, "code", v, false)
		case "extensions":
			ext = w.here()
			if ext.kind != '{' {
				w.invalidEffect(ext.start, "", w.describe(w.skip()), "an object")
				break
			}
			d.HasExtensions = true
			w.open()
			for w.more() {
				if !reverseDNS(w.name()) {
					w.invalidEffect(w.pos, "", "a member name that is not reverse-DNS", "a reverse-DNS name such as com.example.trace")
				}
				w.keep(&d.Extensions, w.skip())
			}
		default:
			w.keep(&d.Unknown, w.skip())
		}
	}
	if !typ {
		w.invalidEffect(start.start, "type", "nothing", "deny")
	}
	if !reason && (known || !typ) {
		w.invalidEffect(start.start, "reason", "nothing", "a string that is not empty")
	}
	return d
}

// rpcError reads the error object of an error response (AHP 0.1 section 2.4).
func (w *walker) rpcError(m *Message) {
	wrong := func(off int, name, found, expected string) {
		w.at(stageType, ahp.FailMalformed, ahp.CodeInvalidRequest, off, name, found, expected)
	}
	start := w.here()
	if start.kind != '{' {
		wrong(start.start, "", w.describe(w.skip()), "an object")
		return
	}
	e := new(RPCError)
	var code, message bool
	w.open()
	for w.more() {
		switch string(w.name()) {
		case "code":
			code = true
			v := w.skip()
			var n int64
			fits, ok := false, false
			if v.kind == '0' {
				n, fits, ok = walk.Integer(w.b[v.start:v.end])
			}
			if !ok {
				wrong(v.start, "", w.describe(v), "an integer")
			}
			if fits && math.MinInt32 <= n && n <= math.MaxInt32 {
				e.Code = ahp.ErrorCode(n)
			}
		case "message":
			message = true
			v := w.skip()
			if v.kind != '"' {
				wrong(v.start, "", w.describe(v), "a string")
				break
			}
			e.Message = w.str(v)
		case "data":
			e.Data = w.raw(w.skip())
		default:
			w.keep(&m.BodyUnknown, w.skip())
		}
	}
	if !code {
		wrong(start.start, "code", "nothing", "an integer")
	}
	if !message {
		wrong(start.start, "message", "nothing", "a string")
	}
	m.RPCError = e
}
