package dialect

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/native"
)

// The paths of tools that hooks see (D-TOOL-2).
const (
	pathNative = "native"
	pathMCP    = "mcp"
)

// maxErrorBytes bounds the message of a failed call.
const maxErrorBytes = 4 << 10

var (
	made   = true // marks ids that an adapter made up (D-EVT-5)
	notSee = []ahp.Gap{{Path: "items", Reason: "the agent does not show it to hooks"}}
)

// draft gives e what events of revision draft have beside those of 0.1. What the
// agent does not tell is left out, or has a gap where the protocol wants one.
func (d *Dialect) draft(e *ahp.Event, f *fields, out *native.Decoded, o native.Options) error {
	if out.Turn != "" {
		e.Turn = &ahp.Turn{ID: out.Turn}
	}
	if e.Type.HasTool() {
		t, err := d.draftTool(e.Type, f, out.Turn)
		if err != nil {
			return err
		}
		e.Tool = t
	}
	switch e.Type {
	case ahp.SessionStart:
		return d.sessionStart(e, f, o)
	case ahp.SessionEnd:
		reason, err := optional("/reason", f.reason, maxNameBytes)
		e.Body = &ahp.SessionEndBody{Reason: cmp.Or(reason, "unknown")}
		return err
	case ahp.TurnStart:
		turnOf(e)
		e.Body = &ahp.TurnStartBody{Trigger: "user"}
		m, err := message("/prompt", f.prompt, "prompt/"+e.Turn.ID, ahp.RoleUser)
		e.Messages = m
		return err
	case ahp.TurnFinishBefore:
		turnOf(e)
		body := &ahp.TurnFinishBody{Outcome: ahp.TurnCompleted}
		if out.Continued {
			body.ContinuationCount = 1
		}
		m, err := message("/last_assistant_message", f.last, "last/"+e.Turn.ID, ahp.RoleAssistant)
		if len(m) > 0 {
			body.LastAssistantItem = &ahp.Ref{ID: m[0].ID, Synthesized: &made}
		}
		e.Messages, e.Body = m, body
		return err
	case ahp.ToolAfter:
		return afterBody(e, f)
	case ahp.ToolPermissionRequest:
		e.Body = &ahp.PermissionRequestBody{Suggestions: objects(f.suggestions)}
	case ahp.ToolPermissionResolved:
		e.Body = &ahp.PermissionResolvedBody{Decision: "deny", DecidedBy: "auto"}
	case ahp.CompactBefore:
		trigger, err := optional("/trigger", f.trigger, maxNameBytes)
		if err != nil {
			return err
		}
		if trigger != "manual" {
			trigger = "auto"
		}
		body := &ahp.CompactBeforeBody{Trigger: trigger}
		if body.Instructions, err = parts("/custom_instructions", f.custom, "instructions"); err != nil {
			return err
		}
		e.Messages, e.Gaps, e.Body = []ahp.Message{}, notSee, body
	case ahp.UserAttention:
		kind, err := optional("/notification_type", f.notification, maxNameBytes)
		body := &ahp.AttentionBody{Kind: cmp.Or(kind, "notification"), Message: []ahp.Part{}, Title: []ahp.Part{}}
		for _, p := range []struct {
			ptr, id string
			v       jsontext.Value
			to      *[]ahp.Part
		}{{"/message", "message", f.message, &body.Message}, {"/title", "title", f.title, &body.Title}} {
			if err != nil {
				return err
			}
			var list []ahp.Part
			if list, err = parts(p.ptr, p.v, p.id); list != nil {
				*p.to = list
			}
		}
		e.Body = body
		return err
	default: // tool.before has nothing more
	}
	return nil
}

// turnOf gives an event of a turn one: of an agent that names none, the turn of the
// whole session.
func turnOf(e *ahp.Event) {
	if e.Turn == nil {
		e.Turn = &ahp.Turn{ID: "session/" + e.Session.ID, Synthesized: &made}
	}
}

func (d *Dialect) sessionStart(e *ahp.Event, f *fields, o native.Options) error {
	source, err := optional("/source", f.source, maxNameBytes)
	if err != nil {
		return err
	}
	mode, err := optional("/permission_mode", f.mode, maxNameBytes)
	if err != nil {
		return err
	}
	body := &ahp.SessionStartBody{
		Trigger: "startup", PermissionMode: cmp.Or(mode, "unknown"),
		// Hooks are not told the version (contract 12.2).
		Harness: ahp.Product{Name: d.Agent, Version: "unknown"},
	}
	switch source {
	case "resume", "compact":
		body.Trigger = source
	case "clear", "fork":
		// Nor which session it came from.
		body.Trigger, body.ResumedFrom = source, &ahp.Ref{ID: "before/" + e.Session.ID, Synthesized: &made}
	}
	if o.Manifest != nil {
		body.Manifest = *o.Manifest
	}
	e.Messages, e.Gaps, e.Body = []ahp.Message{}, notSee, body
	return nil
}

func (d *Dialect) draftTool(typ ahp.EventType, f *fields, turn string) (*ahp.Tool, error) {
	t := &ahp.Tool{Origin: ahp.OriginNative, Path: pathNative}
	if err := toolName(t, f); err != nil {
		return nil, err
	}
	if typ == ahp.ToolPermissionRequest && (f.callID == nil || f.callID.Kind() == 'n') {
		t.CallID, t.CallSynthesized = callID(turn, f), &made
	} else {
		var err error
		if t.CallID, err = required("/tool_use_id", f.callID, maxNameBytes); err != nil {
			return nil, err
		}
	}
	server, tool, provenance, err := mcpNames(t.Name, f.mcp)
	switch {
	case err != nil:
		return nil, err
	case provenance != "":
		// What the tool does is not known, so it has no kind (contract 12.1).
		t.Origin, t.Path = ahp.OriginMCP, pathMCP
		t.Server = &ahp.MCPServer{
			ID: cmp.Or(server, "unknown"), Name: server, ToolName: cmp.Or(tool, t.Name), Provenance: provenance,
			// Hooks are not told how the server is reached (D-MCP-2).
			Connection: ahp.MCPConnection{Transport: "_undisclosed", Gaps: []ahp.Gap{
				{Path: "addressForm", Reason: "the agent does not show it to hooks"},
				{Path: "address", Reason: "the agent does not show it to hooks"},
			}},
		}
	default:
		t.Kind = d.Kinds[t.Name] // empty where it is not known
	}
	return t, nil
}

// callID makes an id for a call that the agent names none of: the same for the same
// call in a turn (D-EVT-5).
func callID(turn string, f *fields) string {
	h := sha256.New()
	for _, b := range [][]byte{[]byte(turn), f.session, f.name, f.input} {
		h.Write(b)
		h.Write([]byte{0})
	}
	return "call/" + hex.EncodeToString(h.Sum(nil)[:16])
}

// afterBody says how a call ended. The result is text, whatever the agent's form of
// it (AHP-CONTENT-001).
func afterBody(e *ahp.Event, f *fields) error {
	body := &ahp.ToolAfterBody{Outcome: ahp.ToolOK}
	if f.err != nil && f.err.Kind() != 'n' {
		body.Outcome = ahp.ToolFailed
		if f.interrupt.Kind() == 't' {
			body.Outcome = ahp.ToolCancelled
		} else {
			body.Error = &ahp.EventError{Class: "tool_error", Message: cmp.Or(cut(plainText(f.err), maxErrorBytes), "the tool failed")}
		}
	}
	if f.duration.Kind() == '0' && f.duration[0] != '-' {
		body.DurationMs = ahp.Raw(f.duration)
	}
	e.Messages = []ahp.Message{}
	result := f.response
	if result == nil {
		result = f.err
	}
	if result != nil && result.Kind() != 'n' {
		m := ahp.TextMessage("result/"+e.Tool.CallID, ahp.RoleTool, plainText(result))
		m.Synthesized = &made
		e.Messages = append(e.Messages, m)
	}
	e.Body = body
	return nil
}

// plainText is a string's text, or the compact JSON of anything else. The value came
// out of a strict reader.
func plainText(v jsontext.Value) string {
	if v.Kind() == '"' {
		if b, err := jsontext.AppendUnquote(nil, v); err == nil {
			return string(b)
		}
	}
	c := jsontext.Value(bytes.Clone(v))
	if c.Compact() != nil {
		return ""
	}
	return string(c)
}

func cut(s string, limit int) string {
	s = strings.TrimSpace(s)
	if len(s) <= limit {
		return s
	}
	for !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// message makes the one canonical message of a text; none where the text is absent.
func message(ptr string, v jsontext.Value, id string, role ahp.Role) ([]ahp.Message, error) {
	if v == nil || v.Kind() == 'n' {
		return []ahp.Message{}, nil
	}
	if v.Kind() != '"' {
		return nil, expected(ptr, v, "a string")
	}
	m := ahp.TextMessage(id, role, plainText(v))
	m.Synthesized = &made
	return []ahp.Message{m}, nil
}

// parts makes the one text part of a text; nil where it is absent or empty.
func parts(ptr string, v jsontext.Value, id string) ([]ahp.Part, error) {
	if v == nil || v.Kind() == 'n' {
		return nil, nil
	}
	if v.Kind() != '"' {
		return nil, expected(ptr, v, "a string")
	}
	text := plainText(v)
	if text == "" {
		return nil, nil
	}
	p := ahp.TextPart(id, text)
	p.Synthesized = &made
	return []ahp.Part{p}, nil
}

// maxSuggestions bounds the native rules that an event shows.
const maxSuggestions = 64

// objects returns the objects of an array; what else it holds is left out.
func objects(v jsontext.Value) []ahp.Raw {
	out := []ahp.Raw{}
	if v.Kind() != '[' {
		return out
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	if _, err := dec.ReadToken(); err != nil {
		return out
	}
	for dec.PeekKind() != ']' && len(out) < maxSuggestions {
		e, err := dec.ReadValue()
		if err != nil {
			return out
		}
		if e.Kind() == '{' {
			out = append(out, ahp.Raw(e.Clone()))
		}
	}
	return out
}
