package wire01

import (
	"bytes"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
	"github.com/holdpoint/holdpoint/internal/uri"
)

// This file writes the messages that are sent most, whose parts are known to be
// good one by one, so that the whole need not be read again. What is not as plain
// as that is left to the encoder and its check; a fuzz target and a property hold
// that both write the same.

// maxPlain bounds a plain message, far below every limit on size.
const maxPlain = 1 << 20

// plainResult is AppendResult for an answer with at most one deny that holds a
// reason and perhaps a code.
func plainResult(dst []byte, id ahp.Raw, effects []ahp.Effect) ([]byte, bool) {
	if len(effects) > 1 || !plainID(id) {
		return dst, false
	}
	b := append(append(append(dst, `{"jsonrpc":"2.0","id":`...), id...), `,"result":{"protocolVersion":"0.1","effects":[`...)
	if len(effects) == 1 {
		d, ok := effects[0].(*ahp.Deny)
		if !ok || d == nil || d.Reason == "" || !plainText(d.Reason) || d.HasExtensions || len(d.Extensions) > 0 || len(d.Unknown) > 0 ||
			d.Code != "" && !ahp.ReverseDNS(d.Code) {
			return dst, false
		}
		b = append(append(append(b, `{"type":"deny","reason":"`...), d.Reason...), '"')
		if d.Code != "" {
			b = append(append(append(b, `,"code":"`...), d.Code...), '"')
		}
		b = append(b, '}')
	}
	return append(b, "]}}"...), len(b)-len(dst) < maxPlain
}

// plainID reports whether id is a string without escapes that is not empty, or an
// integer without a sign.
func plainID(id ahp.Raw) bool {
	n := len(id)
	if n > 2 && id[0] == '"' && id[n-1] == '"' {
		return plainText(id[1 : n-1])
	}
	if n == 0 || n > 18 || id[0] == '0' && n > 1 {
		return false
	}
	for _, c := range id {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// plainText reports whether s is ASCII that a JSON string holds as it is.
func plainText[T ~string | ~[]byte](s T) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// plainIntercept writes a request about an event that holds nothing but the fields
// of the protocol, and no native data.
func (e *encoder) plainIntercept(ev *ahp.Event, caps *ahp.Capabilities) bool {
	if len(caps.Effects) != 1 || caps.Effects[0] != ahp.EffectDeny || len(caps.Unknown) > 0 || caps.DraftOnly() != "" || !plainEvent(ev) {
		return false
	}
	e.text(`{"jsonrpc":"2.0","id":`)
	e.quote(ev.ID)
	e.text(`,"method":"hooks/intercept","params":{"protocolVersion":"0.1","event":{"id":`)
	e.quote(ev.ID)
	e.text(`,"source":`)
	e.quote(ev.Source)
	e.text(`,"type":"tool.before","time":`)
	e.quote(ev.Time)
	e.text(`,"session":`)
	e.session(&ev.Session)
	e.text(`,"tool":{"callId":`)
	e.quote(ev.Tool.CallID)
	e.text(`,"name":`)
	e.quote(ev.Tool.Name)
	e.text(`,"kind":`)
	e.quote(string(ev.Tool.Kind))
	e.text(`,"input":`)
	e.b = append(e.b, ev.Tool.Input...)
	if ev.Tool.MCP != nil {
		e.text(`,"mcp":`)
		e.b = append(e.b, ev.Tool.MCP...)
	}
	e.text(`}},"capabilities":{"effects":["deny"]}}}`)
	return !e.utf8 && len(e.b)-e.start < maxPlain
}

func plainEvent(ev *ahp.Event) bool {
	t, s := ev.Tool, &ev.Session
	return ev.ID != "" && ev.Type == ahp.ToolBefore && ev.Outcome == "" && ev.Native == nil && ev.DraftOnly() == "" &&
		!ev.HasExtensions && len(ev.Extensions) == 0 && len(ev.Unknown) == 0 &&
		s.ID != "" && len(s.Unknown) == 0 && (s.Agent == nil || s.Agent.ID != "" && len(s.Agent.Unknown) == 0) &&
		t != nil && t.CallID != "" && t.Name != "" && t.Kind.Known() && t.Output == nil && t.Error == nil && len(t.Unknown) == 0 &&
		len(s.WorkspaceRoots) <= DefaultMaxItems && uri.Valid(ev.Source) && walk.DateTime(ev.Time) &&
		plainObject(t.Input) && (t.MCP == nil || plainObject(t.MCP))
}

// plainObject reports whether r is an object, on one line and within the limits, that
// can stand in the tool of a request.
func plainObject(r ahp.Raw) bool {
	if len(r) > maxPlain || bytes.IndexByte(r, '\n') >= 0 || bytes.IndexByte(r, '\r') >= 0 {
		return false
	}
	l := Limits{}.complete()
	kind, ok := walk.Check(r, l, l.MaxDepth-4) // the message, its params, the event, the tool
	return ok && kind == '{'
}
