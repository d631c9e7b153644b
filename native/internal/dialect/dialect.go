// Package dialect decodes the family of hook payloads that Claude Code began: one
// JSON object on stdin with hook_event_name, session_id, cwd and, for tools,
// tool_name, tool_input and tool_use_id. The adapters below native fill in what
// differs between agents.
package dialect

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/native"
	"github.com/holdpoint/holdpoint/native/refuse"
)

// A Dialect is what one agent's payloads have of their own.
type Dialect struct {
	Agent      string
	Turn       string // the member that names the turn
	ProjectVar string // the environment variable that names the project; may be empty
	Events     map[string]ahp.EventType
	Kinds      map[string]ahp.ToolKind // of tools that are not MCP tools; others are "other"
	Ends       map[string]ahp.Outcome  // of the member reason at the end of a session

	// Offers says for each native event which event of revision draft it is, and what
	// the agent does there.
	Offers map[string]native.Offer
	// Blocks are the events beside the refusable ones that the agent refuses when it
	// is told to, and that a hook client must not refuse by itself.
	Blocks map[string]bool
	// RewriteAllows is the event at which a changed input is only taken together with
	// a permission.
	RewriteAllows string
}

// typ returns the event type of a native event in a revision, or "".
func (d *Dialect) typ(event string, v ahp.Version) ahp.EventType {
	if v == ahp.VersionDraft {
		return d.Offers[event].Event
	}
	return d.Events[event]
}

// The limits of single members, in bytes. They bound what ends up in records and
// indexes, not what a tool may be given.
const (
	maxNameBytes = 1 << 10
	maxPathBytes = 32 << 10
)

// fields are the members that the decoder knows; an absent one is nil.
type fields struct {
	event, session, cwd, turn, model   jsontext.Value
	agentID, agentType                 jsontext.Value
	name, input, callID, response, mcp jsontext.Value
	err, interrupt, reason             jsontext.Value

	// Of revision draft only.
	prompt, last, stopActive, source, mode jsontext.Value
	duration, suggestions, trigger, custom jsontext.Value
	message, title, notification           jsontext.Value
}

func (d *Dialect) slot(f *fields, name string) *jsontext.Value {
	switch name {
	case "hook_event_name":
		return &f.event
	case "session_id":
		return &f.session
	case "cwd":
		return &f.cwd
	case d.Turn:
		return &f.turn
	case "model":
		return &f.model
	case "agent_id":
		return &f.agentID
	case "agent_type":
		return &f.agentType
	case "tool_name":
		return &f.name
	case "tool_input":
		return &f.input
	case "tool_use_id":
		return &f.callID
	case "tool_response":
		return &f.response
	case "mcp_server":
		return &f.mcp
	case "error":
		return &f.err
	case "is_interrupt":
		return &f.interrupt
	case "reason":
		return &f.reason
	case "prompt":
		return &f.prompt
	case "last_assistant_message":
		return &f.last
	case "stop_hook_active":
		return &f.stopActive
	case "source":
		return &f.source
	case "permission_mode":
		return &f.mode
	case "duration_ms":
		return &f.duration
	case "permission_suggestions":
		return &f.suggestions
	case "trigger":
		return &f.trigger
	case "custom_instructions":
		return &f.custom
	case "message":
		return &f.message
	case "title":
		return &f.title
	case "notification_type":
		return &f.notification
	}
	return nil
}

// Decode is the Decode of the adapters.
func (d *Dialect) Decode(call *native.Call, o native.Options) (*native.Decoded, error) {
	out := &native.Decoded{EventName: call.Event}
	var f fields
	err := d.read(call.Payload, o, &f)
	var name string
	if f.event != nil {
		n, nameErr := text("/hook_event_name", f.event, maxNameBytes)
		if err = cmp.Or(err, nameErr); err == nil {
			name = n
		} else if !refuse.Refusable(d.Agent, call.Event) && refuse.Refusable(d.Agent, n) {
			out.EventName = n // what a malformed payload says can add a refusal, never lift one
		}
	}
	if name != "" {
		out.EventName = refuse.Where(d.Agent, call.Event, name)
		out.Mismatch = call.Event != "" && call.Event != name
	}
	revision := cmp.Or(o.Revision, ahp.Version01)
	typ := d.typ(out.EventName, revision)
	switch {
	case typ.Interceptable(revision), out.EventName == "":
		out.Disposition = native.Decide
	case typ != "":
		out.Disposition = native.Observe
	default:
		out.Disposition = native.Ignore
	}
	switch {
	case err != nil:
		return out, err
	case out.EventName == "":
		return out, fail("/hook_event_name", "missing, and the command line names no event")
	case out.Mismatch && refuse.Refusable(d.Agent, out.EventName):
		// The agent wrote the payload, so it is right about where it stands. But
		// one of the two is not what this hook was installed for.
		return out, fail("/hook_event_name", "differs from the event on the hook's command line")
	case out.Disposition == native.Ignore:
		return out, nil
	}
	if out.Turn, err = optional("/"+d.Turn, f.turn, maxNameBytes); err != nil {
		return out, err
	}
	e, err := d.event(typ, &f, call, o)
	if err != nil {
		return out, err
	}
	if revision == ahp.VersionDraft {
		out.Continued = f.stopActive.Kind() == 't'
		if err := d.draft(e, &f, out, o); err != nil {
			return out, err
		}
	}
	if o.Native {
		e.Native = &ahp.Native{Provider: d.Agent, EventName: out.EventName, Payload: ahp.Raw(bytes.TrimSpace(call.Payload))}
	}
	if d.ProjectVar != "" {
		if dir := call.Env[d.ProjectVar]; dir != "" {
			out.NamedRoots = []string{dir}
		}
	}
	out.Event = e
	return out, nil
}

// read checks the whole payload and finds the members that the dialect knows. It
// leaves in f what it found before an error.
func (d *Dialect) read(b []byte, o native.Options, f *fields) error {
	maxBytes, maxDepth := o.MaxBytes, o.MaxDepth
	if maxBytes <= 0 {
		maxBytes = native.DefaultMaxBytes
	}
	if maxDepth <= 0 {
		maxDepth = native.DefaultMaxDepth
	}
	if len(b) > maxBytes {
		return fail("", fmt.Sprintf("payload of %d bytes, at most %d are read", len(b), maxBytes))
	}
	if at := tooDeep(b, maxDepth); at >= 0 {
		return fail("", fmt.Sprintf("byte %d: nested more than %d deep", at, maxDepth))
	}
	// A bytes.Buffer is read in place, without a copy; nothing is written to it.
	dec := jsontext.NewDecoder(bytes.NewBuffer(b))
	malformed := func() error {
		return fail("", fmt.Sprintf("byte %d: not the JSON of one object with distinct names in UTF-8", dec.InputOffset()))
	}
	tok, err := dec.ReadToken()
	if err != nil || tok.Kind() != '{' {
		return malformed()
	}
	for dec.PeekKind() != '}' {
		if tok, err = dec.ReadToken(); err != nil {
			return malformed()
		}
		slot := d.slot(f, tok.String())
		v, err := dec.ReadValue()
		if err != nil {
			return malformed()
		}
		if slot != nil {
			// The decoder may reuse v; the payload itself stays.
			end := int(dec.InputOffset())
			*slot = jsontext.Value(b[end-len(v) : end : end])
		}
	}
	if _, err = dec.ReadToken(); err != nil {
		return malformed()
	}
	if _, err = dec.ReadToken(); !errors.Is(err, io.EOF) {
		return malformed()
	}
	return nil
}

// tooDeep returns the offset at which brackets nest deeper than limit, or -1. It
// looks at brackets only; the decoder judges the rest.
func tooDeep(b []byte, limit int) int {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			if depth++; depth > limit {
				return i
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		}
	}
	return -1
}

func (d *Dialect) event(typ ahp.EventType, f *fields, call *native.Call, o native.Options) (*ahp.Event, error) {
	e := &ahp.Event{ID: o.ID, Source: o.Source, Time: o.Time, Type: typ}
	var errs [5]error
	e.Session.ID, errs[0] = required("/session_id", f.session, maxNameBytes)
	e.Session.CWD, errs[1] = optional("/cwd", f.cwd, maxPathBytes)
	e.Session.Model, errs[2] = optional("/model", f.model, maxNameBytes)
	agent := ahp.Agent{}
	agent.ID, errs[3] = optional("/agent_id", f.agentID, maxNameBytes)
	agent.Type, errs[4] = optional("/agent_type", f.agentType, maxNameBytes)
	if err := first(errs[:]); err != nil {
		return nil, err
	}
	if e.Session.CWD == "" {
		e.Session.CWD = call.CWD // the agents start hooks in the session's folder
	}
	if agent.ID != "" {
		e.Session.Agent = &agent
	}
	if typ == ahp.SessionEnd { // in both revisions
		e.Outcome = ahp.OutcomeUnknown
		if reason, err := optional("/reason", f.reason, maxNameBytes); err == nil && d.Ends[reason] != "" {
			e.Outcome = d.Ends[reason]
		}
	}
	if typ.HasTool() && o.Revision != ahp.VersionDraft {
		t, err := d.tool(typ, f)
		if err != nil {
			return nil, err
		}
		e.Tool = t
	}
	return e, nil
}

func (d *Dialect) tool(typ ahp.EventType, f *fields) (*ahp.Tool, error) {
	t := &ahp.Tool{}
	var errs [2]error
	t.Name, errs[0] = required("/tool_name", f.name, maxNameBytes)
	t.CallID, errs[1] = required("/tool_use_id", f.callID, maxNameBytes)
	if err := first(errs[:]); err != nil {
		return nil, err
	}
	if f.input.Kind() != '{' {
		return nil, expected("/tool_input", f.input, "an object")
	}
	t.Input = ahp.Raw(f.input)
	m, err := mcpOf(t.Name, f.mcp)
	if err != nil {
		return nil, err
	}
	switch kind, known := d.Kinds[t.Name]; {
	case m != nil:
		t.Kind, t.MCP = ahp.KindMCP, m
	case known:
		t.Kind = kind
	default:
		t.Kind = ahp.KindOther // never guessed from a part of the name
	}
	switch typ {
	case ahp.ToolAfter:
		t.Output = ahp.Raw(f.response)
	case ahp.ToolError:
		t.Error = toolError(f)
	default: // tool.before has neither
	}
	return t, nil
}

// toolName reads the name and the input that every tool event has.
func toolName(t *ahp.Tool, f *fields) (err error) {
	if t.Name, err = required("/tool_name", f.name, maxNameBytes); err != nil {
		return err
	}
	if f.input.Kind() != '{' {
		return expected("/tool_input", f.input, "an object")
	}
	t.Input = ahp.Raw(f.input)
	return nil
}

// toolError makes the error object of a failed call. The agent's text is its
// message; an object with a message stays as it is.
func toolError(f *fields) ahp.Raw {
	if f.err.Kind() == '{' {
		if hasMessage(f.err) {
			return ahp.Raw(f.err)
		}
		return join(`{"message":"the tool failed","detail":`, f.err, `}`)
	}
	message := f.err
	if message.Kind() != '"' {
		message = jsontext.Value(`"the tool failed"`)
	}
	if f.interrupt.Kind() == 't' {
		return join(`{"message":`, message, `,"category":"interrupted"}`)
	}
	return join(`{"message":`, message, `}`)
}

func hasMessage(object jsontext.Value) bool {
	dec := jsontext.NewDecoder(bytes.NewReader(object))
	if _, err := dec.ReadToken(); err != nil {
		return false
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil || name.String() == "message" {
			return err == nil
		}
		if dec.SkipValue() != nil {
			return false
		}
	}
	return false
}

func join(head string, v jsontext.Value, tail string) ahp.Raw {
	out := make(ahp.Raw, 0, len(head)+len(v)+len(tail))
	return append(append(append(out, head...), v...), tail...)
}

// fail makes the failure that refuses an event whatever the failure policy says.
// No text of it holds bytes of the payload.
func fail(pointer, what string) error {
	return &ahp.Failure{Class: ahp.FailEvent, Pointer: pointer, Err: errors.New(what)}
}

func expected(pointer string, v jsontext.Value, want string) error {
	return fail(pointer, "found "+describe(v)+", expected "+want)
}

func describe(v jsontext.Value) string {
	switch v.Kind() {
	case 'n':
		return "null"
	case 't', 'f':
		return "a boolean"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case '{':
		return "an object"
	case '[':
		return "an array"
	case jsontext.KindInvalid, '}', ']':
	}
	return "nothing"
}

// required reads a non-empty string.
func required(pointer string, v jsontext.Value, limit int) (string, error) {
	s, err := text(pointer, v, limit)
	if err == nil && s == "" {
		err = fail(pointer, "found an empty string, expected text")
	}
	return s, err
}

// optional reads a string that may be absent or null.
func optional(pointer string, v jsontext.Value, limit int) (string, error) {
	if v == nil || v.Kind() == 'n' {
		return "", nil
	}
	return text(pointer, v, limit)
}

func text(pointer string, v jsontext.Value, limit int) (string, error) {
	if v.Kind() != '"' {
		return "", expected(pointer, v, "a string")
	}
	if len(v) > 6*limit {
		return "", fail(pointer, "text above the limit of "+strconv.Itoa(limit)+" bytes")
	}
	b, err := jsontext.AppendUnquote(nil, v)
	if err != nil || !utf8.Valid(b) {
		return "", fail(pointer, "not a string in UTF-8")
	}
	if len(b) > limit {
		return "", fail(pointer, "text above the limit of "+strconv.Itoa(limit)+" bytes")
	}
	return string(b), nil
}

func first(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
