package wire01

import (
	"bytes"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// A decoder reads one text.
type decoder struct {
	walk.Walker

	eventID walk.Val // the id of the event that was read
	spare   *spare   // see spared
}

// spare is memory for what most messages have once.
type spare struct {
	agent   ahp.Agent
	roots   [1]string
	effects [1]ahp.EffectType
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

func newDecoder(b []byte, l walk.Limits) *decoder {
	d := decoders.Get().(*decoder)
	d.Reset(b, l)
	d.Build, d.Known = true, protocolName
	d.eventID = walk.Val{}
	return d
}

func (d *decoder) free() {
	d.Release()
	d.spare = nil
	decoders.Put(d)
}

// spared is memory for what most messages have once. Whoever reads a message has it
// in one allocation with the rest.
func (d *decoder) spared() *spare {
	if d.spare == nil {
		d.spare = new(spare)
	}
	return d.spare
}

// protocolName reports whether the protocol defines a name, so that pointers in
// errors may hold it.
func protocolName(s string) bool {
	switch s {
	case "jsonrpc", "id", "method", "params", "result", "error", "protocolVersion", "event", "capabilities", "effects",
		"extensions", "source", "type", "time", "session", "tool", "outcome", "native", "cwd", "workspaceRoots", "model",
		"agent", "callId", "name", "kind", "input", "output", "mcp", "provider", "eventName", "payload", "reason", "code",
		"message", "data":
		return true
	}
	return false
}

// bad reports a value of the message's body.
func (d *decoder) bad(v walk.Val, expected string) {
	d.Fail(walk.StageBody, ahp.FailMalformed, ahp.CodeInvalidParams, v.Start, walk.Describe(v), expected)
}

// missing reports an absent member of the object that was just read, which
// begins at off.
func (d *decoder) missing(s walk.Stage, off int, name, expected string) {
	d.At(s, ahp.FailMissingField, ahp.CodeInvalidParams, off, name, "nothing", expected)
}

// extra reports a member that may not be there, after the object was read.
func (d *decoder) extra(off int, name, found, expected string) {
	d.At(walk.StageBody, ahp.FailMalformed, ahp.CodeInvalidParams, off, name, found, expected)
}

// plain reports whether the string v is written as the encoder would write it.
func (d *decoder) plain(v walk.Val) bool {
	if !v.Esc {
		return true // all that needs an escape has one
	}
	q, err := jsontext.AppendQuote(nil, d.Content(v))
	return err == nil && bytes.Equal(q, d.Text(v))
}
