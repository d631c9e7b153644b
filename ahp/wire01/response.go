package wire01

import (
	"math"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// response reads a result or an error. With want, its id must be that string.
func (d *decoder) response(m *Message, want *string, caps ahp.Capabilities) {
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
			if !walk.UsableID(d.Text(id)) && id.Kind != 'n' {
				d.shape(id.Start, walk.Describe(id), "a string that is not empty, an integer or null")
				break
			}
			m.ID = d.Raw(id)
		case "method":
			d.shape(d.Pos(), "a response with a method", "a request or a response")
			d.Skip()
		case "result":
			hasResult = true
			d.result(m, caps)
		case "error":
			hasError, errorVal = true, d.Here()
			d.rpcError(m)
		default:
			d.Keep(&m.Unknown, d.Skip())
		}
	}
	if !version {
		d.At(walk.StageShape, ahp.FailMalformed, ahp.CodeInvalidRequest, start.Start, "jsonrpc", "nothing", `the string "2.0"`)
	}
	switch {
	case id.Kind == 0:
		d.At(walk.StageShape, ahp.FailMalformed, ahp.CodeInvalidRequest, start.Start, "id", "nothing", "the id of the request")
	case want != nil && !d.Is(id, *want):
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

// result reads the result of hooks/intercept (AHP 0.1 section 2.2).
func (d *decoder) result(m *Message, caps ahp.Capabilities) {
	start := d.Here()
	if start.Kind != '{' {
		d.Fail(walk.StageType, ahp.FailMalformed, ahp.CodeInvalidRequest, start.Start, walk.Describe(d.Skip()), "an object")
		return
	}
	var version, effects bool
	d.Open()
	for d.More() {
		switch string(d.Name()) {
		case "protocolVersion":
			version = true
			d.version(m)
		case "effects":
			effects = true
			d.effects(m, caps)
		case "extensions":
			d.extensions(&m.Extensions, &m.HasExtensions)
		default:
			d.Keep(&m.BodyUnknown, d.Skip())
		}
	}
	if !version {
		d.missing(walk.StageVersion, start.Start, "protocolVersion", `the string "0.1"`)
	}
	if !effects {
		d.missing(walk.StageBody, start.Start, "effects", "an array, empty or with one deny")
	}
}

func (d *decoder) invalidEffect(off int, name, found, expected string) {
	d.At(walk.StageBody, ahp.FailInvalidEffect, ahp.CodeInternal, off, name, found, expected)
}

// effects reads an empty array or one with exactly one valid deny (AHP-DEC-001).
func (d *decoder) effects(m *Message, caps ahp.Capabilities) {
	if list := d.Here(); list.Kind != '[' {
		d.invalidEffect(list.Start, "", walk.Describe(d.Skip()), "an array, empty or with one deny")
		return
	}
	if d.Build {
		m.Effects = []ahp.Effect{}
	}
	n := 0
	d.Open()
	for d.More() {
		if n++; n == 2 {
			d.invalidEffect(d.Pos(), "", "a second effect", "an array, empty or with one deny")
		}
		x := d.deny(caps)
		if n == 1 && d.Build && x != nil {
			m.Effects = append(m.Effects, x)
		}
	}
}

// deny reads one effect. There is no other but deny (V-DEC-2).
func (d *decoder) deny(caps ahp.Capabilities) *ahp.Deny {
	start := d.Here()
	if start.Kind != '{' {
		d.invalidEffect(start.Start, "", walk.Describe(d.Skip()), "an object")
		return nil
	}
	x := new(ahp.Deny)
	var typ, reason, known bool
	var ext walk.Val
	d.Open()
	for d.More() {
		switch string(d.Name()) {
		case "type":
			typ = true
			v := d.Skip()
			known = d.Is(v, string(ahp.EffectDeny))
			switch {
			case v.Kind != '"':
				d.invalidEffect(v.Start, "", walk.Describe(v), "deny")
			case !known:
				d.invalidEffect(v.Start, "", "another effect", "deny")
			case !caps.Allows(ahp.EffectDeny):
				d.invalidEffect(v.Start, "", "an effect that was not offered", "an effect of the request's capabilities")
			}
			d.spelling(&x.Unknown, "type", v, false)
		case "reason":
			reason = true
			v := d.Skip()
			if v.Kind != '"' || v.Empty() {
				d.invalidEffect(v.Start, "", walk.Describe(v), "a string that is not empty")
				break
			}
			x.Reason = d.Str(v)
			d.spelling(&x.Unknown, "reason", v, false)
		case "code":
			v := d.Skip()
			if v.Kind != '"' || !reverseDNS(d.Content(v)) {
				d.invalidEffect(v.Start, "", walk.Describe(v), "a reverse-DNS name such as com.example.policy.rule")
				break
			}
			x.Code = d.Str(v)
			d.spelling(&x.Unknown, "code", v, false)
		case "extensions":
			ext = d.Here()
			if ext.Kind != '{' {
				d.invalidEffect(ext.Start, "", walk.Describe(d.Skip()), "an object")
				break
			}
			x.HasExtensions = true
			d.Open()
			for d.More() {
				if !reverseDNS(d.Name()) {
					d.invalidEffect(d.Pos(), "", "a member name that is not reverse-DNS", "a reverse-DNS name such as com.example.trace")
				}
				d.Keep(&x.Extensions, d.Skip())
			}
		default:
			d.Keep(&x.Unknown, d.Skip())
		}
	}
	if !typ {
		d.invalidEffect(start.Start, "type", "nothing", "deny")
	}
	if !reason && (known || !typ) {
		d.invalidEffect(start.Start, "reason", "nothing", "a string that is not empty")
	}
	return x
}

// rpcError reads the error object of an error response (AHP 0.1 section 2.4).
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
				break
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
