package agenthooks

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/jcs"
)

// timestampLayout is RFC 3339 in UTC with milliseconds.
const timestampLayout = "2006-01-02T15:04:05.000Z"

// builder writes the text of a context and notes where the values are that the
// gate and the identity need, so that nothing is searched for afterwards.
type builder struct {
	c   *Context
	b   []byte
	lim bounds
	err *ContextError // the first
}

// frame is what a session puts into each of its contexts.
type frame struct {
	agent     string // the members of agent: framework, id, name, version
	framework span   // inside agent
	agentID   span
	session   string // session.id quoted, with the members behind it
	sessionID int    // length of the quoted id
}

func quoted(s string) (string, error) {
	b, err := encode(nil, s)
	return string(b), err
}

// build makes the context of e. A context that only fails the gate comes with
// the error; of one that is not representable there is nothing.
func (f *frame) build(e *Event, seq int64, timestamp string, turn int64, labels []sourceLabels, lim bounds) (c *Context, err *ContextError) {
	defer func() { // a MarshalJSON of the host's values
		if r := recover(); r != nil { // the memo is left to the collector
			c, err = nil, &ContextError{Path: "$", Rule: fmt.Sprintf("building the context panicked: %T", r)}
		}
	}()
	spec := e.point.spec()
	if spec == nil {
		return nil, &ContextError{Path: "$.interception_point", Rule: "not one of the eight points"}
	}
	b := &builder{c: &Context{spec: spec, ok: true, memo: memos.Get().(*memo)}, b: make([]byte, 0, 512+2*e.size()), lim: lim}
	b.lit(`{"spec":`)
	b.mark(topSpec, fSpec, `"`+SpecVersion+`"`)
	b.lit(`,"interception_point":"`)
	b.b = append(append(b.b, e.point...), '"')
	b.c.top[topPoint] = span{len(b.b) - len(e.point) - 2, len(b.b)}
	b.c.field[fPoint] = b.c.top[topPoint]
	b.lit(`,"timestamp":"`)
	from := len(b.b)
	b.lit(timestamp)
	b.lit(`"`)
	b.c.top[topTimestamp] = span{from - 1, len(b.b)}
	b.c.field[fTimestamp] = b.c.top[topTimestamp]
	b.lit(`,"sequence":`)
	from = len(b.b)
	b.b = strconv.AppendInt(b.b, seq, 10)
	b.c.top[topSequence] = span{from, len(b.b)}
	b.c.field[fSequence] = b.c.top[topSequence]

	b.lit(`,"agent":`)
	from = len(b.b)
	b.lit(f.agent)
	b.c.top[topAgent] = span{from, len(b.b)}
	b.c.field[fFramework] = span{from + f.framework.from, from + f.framework.to}
	b.c.field[fAgentID] = span{from + f.agentID.from, from + f.agentID.to}
	b.lit(`,"session":`)
	from = len(b.b)
	b.lit(`{"id":`)
	b.c.field[fSessionID] = span{len(b.b), len(b.b) + f.sessionID}
	b.lit(f.session)
	if turn >= 0 {
		b.lit(`,"turn":`)
		b.b = strconv.AppendInt(b.b, turn, 10)
	}
	b.lit("}")
	b.c.top[topSession] = span{from, len(b.b)}

	b.conditionals(e)
	b.target()
	b.optional(e, labels)
	b.lit("}")
	c = b.c
	c.text = b.b
	if len(c.text) > lim.bytes {
		b.fail("$", fmt.Sprintf("larger than %d bytes", lim.bytes), nil)
	}
	if b.err != nil {
		c.dropMemo()
		return nil, b.err
	}
	g := gateRun{c: c}
	g.conditionals()
	return c, g.err
}

func (b *builder) fail(path, rule string, detail error) {
	if b.err == nil {
		b.err = &ContextError{Path: path, Rule: rule, Detail: detail}
	}
}

func (b *builder) lit(s string) { b.b = append(b.b, s...) }

func (b *builder) mark(t topMember, f field, text string) {
	s := span{len(b.b), len(b.b) + len(text)}
	b.b = append(b.b, text...)
	b.c.top[t], b.c.field[f] = s, s
}

// value writes v, checked, where it will sit at level. The check makes the
// canonical form, and the memo keeps it.
func (b *builder) value(v any, path string, level int) span {
	if text, ok := v.(string); ok {
		if b.lim.depth < level {
			b.fail(path, "nesting too deep", nil)
		}
		return b.str(text, path)
	}
	from := len(b.b)
	out, err := encode(b.b, v)
	if err != nil {
		b.fail(path, fmt.Sprintf("not representable as JSON: %T", err), err)
		b.b = append(b.b[:from], "null"...)
		return span{from, len(b.b)}
	}
	b.b = out
	s := span{from, len(b.b)}
	m := b.c.memo
	start := len(m.buf)
	m.buf, err = jcs.Canonicalize(m.buf, s.of(b.b), b.lim.at(level))
	if err == nil {
		m.add(memoEntry{value: s, form: span{start, len(m.buf)}})
		return s
	}
	// Big integers are no fault as long as nobody canonicalises them.
	if err = jcs.Check(s.of(b.b), b.lim.at(level)); err != nil {
		b.fail(path, valueError(path, err).Rule, err)
	}
	return s
}

// str writes a string. Its quoted form is canonical already.
func (b *builder) str(v, path string) span {
	from := len(b.b)
	out, err := jsontext.AppendQuote(b.b, v)
	if err != nil {
		b.fail(path, "not valid UTF-8", err)
		out = append(b.b[:from], `""`...)
	}
	b.b = out
	s := span{from, len(b.b)}
	b.c.memo.add(memoEntry{value: s, verbatim: true})
	return s
}

// size guesses how much text the event's values make.
func (e *Event) size() int {
	n := len(e.response.Content)
	for _, v := range [2]any{e.value, e.args} {
		switch v := v.(type) {
		case jsontext.Value:
			n += len(v)
		case string:
			n += len(v)
		}
	}
	return n
}

// conditionals writes the members that the point needs.
func (b *builder) conditionals(e *Event) {
	o := &e.Optional
	f := &b.c.field
	switch e.point {
	case AgentStartup:
		from := b.open(topAgentInit)
		b.lit(`"tools_registered":`)
		start := len(b.b)
		b.lit("[")
		for i, t := range e.tools {
			if i > 0 {
				b.lit(",")
			}
			b.str(t, "$.agent_init.tools_registered")
		}
		b.lit("]")
		f[fCond] = span{start, len(b.b)}
		b.close(topAgentInit, from, true)
	case Input:
		from := b.open(topInput)
		b.lit(`"content":`)
		f[fCond] = b.value(e.value, "$.input.content", 3)
		b.lit(`,"role":`)
		f[fCond+1] = b.str(e.name, "$.input.role")
		b.close(topInput, from, true)
	case PreModelCall:
		b.model(e, fCond+1)
		b.lit(`,"messages":`)
		b.c.top[topMessages] = b.value(e.value, "$.messages", 2)
		f[fCond] = b.c.top[topMessages]
	case PostModelCall:
		b.model(e, fCond)
		b.response(&e.response)
	case PreToolCall, PostToolCall:
		from := b.open(topToolCall)
		b.lit(`"id":`)
		f[fCond+1] = b.str(e.id, "$.tool_call.id")
		b.lit(`,"name":`)
		f[fCond+2] = b.str(e.name, "$.tool_call.name")
		b.lit(`,"args":`)
		f[fCond] = b.value(e.args, "$.tool_call.args", 3)
		hashed := e.point == PreToolCall && o.ContentHash != ""
		if hashed {
			b.lit(`,"content_hash":`)
			b.str(o.ContentHash, "$.tool_call.content_hash")
		}
		b.close(topToolCall, from, !hashed)
		if e.point == PreToolCall {
			return
		}
		from = b.open(topToolResult)
		b.lit(`"value":`)
		f[fCond+4] = b.value(e.value, "$.tool_result.value", 3)
		b.lit(`,"is_error":`)
		f[fCond+3] = b.value(e.isError, "$.tool_result.is_error", 3)
		if o.ToolDuration > 0 {
			b.lit(`,"duration_ms":`)
			b.b = strconv.AppendInt(b.b, o.ToolDuration.Milliseconds(), 10)
		}
		b.close(topToolResult, from, o.ToolDuration <= 0)
	case Output:
		from := b.open(topOutput)
		b.lit(`"content":`)
		f[fCond] = b.value(e.value, "$.output.content", 3)
		b.close(topOutput, from, true)
	case AgentShutdown:
		from := b.open(topSummary)
		b.lit(`"reason":`)
		f[fCond] = b.str(e.name, "$.summary.reason")
		if s := o.Summary; s != nil {
			b.lit(`,"tool_calls":`)
			b.b = strconv.AppendInt(b.b, s.ToolCalls, 10)
			b.lit(`,"errors":`)
			b.b = strconv.AppendInt(b.b, s.Errors, 10)
			b.lit(`,"duration_seconds":`)
			b.value(s.Duration.Seconds(), "$.summary.duration_seconds", 3)
		}
		b.close(topSummary, from, o.Summary == nil)
	}
}

// open starts a conditional object behind the members before it.
func (b *builder) open(t topMember) int {
	b.lit(`,"`)
	b.lit(topNames[t])
	b.lit(`":{`)
	return len(b.b) - 1
}

func (b *builder) close(t topMember, from int, pure bool) {
	b.lit("}")
	b.c.top[t] = span{from, len(b.b)}
	if pure {
		b.c.pure |= 1 << t
	}
}

func (b *builder) model(e *Event, f field) {
	o := &e.Optional
	from := b.open(topModel)
	b.lit(`"id":`)
	b.c.field[f] = b.str(e.name, "$.model.id")
	if o.ModelVendor != "" {
		b.lit(`,"vendor":`)
		b.str(o.ModelVendor, "$.model.vendor")
	}
	if o.ModelParams != nil {
		b.lit(`,"params":`)
		b.value(o.ModelParams, "$.model.params", 3)
	}
	b.close(topModel, from, o.ModelVendor == "" && o.ModelParams == nil)
}

func (b *builder) response(r *Response) {
	from := b.open(topResponse)
	b.lit(`"content":`)
	b.c.field[fCond+1] = b.value(r.Content, "$.response.content", 3)
	b.lit(`,"tool_calls":`)
	start := len(b.b)
	b.lit("[")
	for i := range r.ToolCalls {
		t := &r.ToolCalls[i]
		if i > 0 {
			b.lit(",")
		}
		b.lit(`{"id":`)
		b.str(t.ID, "$.response.tool_calls")
		b.lit(`,"name":`)
		b.str(t.Name, "$.response.tool_calls")
		b.lit(`,"args":`)
		if t.Args == nil {
			b.lit("{}")
		} else {
			b.value(t.Args, "$.response.tool_calls", 5)
		}
		b.lit("}")
	}
	b.lit("]")
	b.c.field[fCond+3] = span{start, len(b.b)}
	b.lit(`,"finish_reason":`)
	b.c.field[fCond+2] = b.str(r.FinishReason, "$.response.finish_reason")
	b.close(topResponse, from, true)
}

// target writes the target from the very bytes that it mirrors (AH-4.3-4).
func (b *builder) target() {
	s := b.c.top[b.c.spec.aliasTop]
	switch b.c.spec.point {
	case PreToolCall:
		s = b.c.field[fCond]
	case PostToolCall:
		s = b.c.field[fCond+4]
	case AgentStartup, Input, PreModelCall, PostModelCall, Output, AgentShutdown:
	}
	b.lit(`,"target":`)
	from := len(b.b)
	b.b = append(b.b, b.b[s.from:s.to]...)
	t := span{from, len(b.b)}
	b.c.top[topTarget], b.c.field[fTarget] = t, t
	m := b.c.memo
	for i := range m.n {
		if e := m.entries[i]; e.value == s {
			e.value = t
			m.add(e)
			return
		}
	}
}

// optional writes the well-known optional members and the extensions.
func (b *builder) optional(e *Event, labels []sourceLabels) {
	o := &e.Optional
	put := func(name string, v any, level int) {
		b.lit(`,"`)
		b.lit(name)
		b.lit(`":`)
		b.value(v, "$."+name, level)
	}
	if o.RequestID != "" && (e.point == PreModelCall || e.point == PostModelCall) {
		put("request_id", o.RequestID, 2)
	}
	if o.Tools != nil && e.point == PreModelCall {
		put("tools", o.Tools, 2)
	}
	if o.Usage != nil && e.point == PostModelCall {
		put("usage", o.Usage, 2)
	}
	if o.Messages != nil && e.point != PreModelCall {
		put("messages", o.Messages, 2)
	}
	if o.Trace != (Trace{}) {
		b.lit(`,"trace":`)
		b.c.top[topTrace] = b.value(o.Trace, "$.trace", 2)
	}
	if o.Tenant != (Tenant{}) {
		put("tenant", o.Tenant, 2)
	}
	if o.Actor != (Actor{}) {
		put("actor", o.Actor, 2)
	}
	if o.Budgets != nil {
		put("budgets", o.Budgets, 2)
	}
	if len(o.Extensions) > 0 || len(labels) > 0 {
		b.extensions(o, labels)
	}
}

// extensions hands the host's extensions on (AH-4.6-1) and adds the labels
// that the target's sources carry.
func (b *builder) extensions(o *Optional, labels []sourceLabels) {
	b.lit(`,"extensions":{`)
	sep := ""
	for _, ns := range slices.Sorted(maps.Keys(o.Extensions)) {
		if !namespacePattern(ns) {
			b.fail("$.extensions", "a namespace must match ^[a-z][a-z0-9_]*$", nil)
			continue
		}
		if ns == "acs" || ns == "ctk" || ns == "agent_hooks" {
			b.fail("$.extensions", "a namespace is reserved", nil)
			continue
		}
		b.lit(sep + `"` + ns + `":`)
		sep = ","
		s := b.value(o.Extensions[ns], "$.extensions", 3)
		for _, l := range labels {
			if l.namespace != ns || b.err != nil {
				continue
			}
			switch {
			case b.b[s.from] != '{':
				b.fail("$.extensions", "a namespace that carries labels must be an object", nil)
			case member(b.b, s, "source_labels").ok():
				b.fail("$.extensions", "source_labels is set by the session", nil)
			default:
				w := walk(b.b, s.from)
				_, _, some := w.next()
				b.b = b.b[:s.to-1]
				if some {
					b.lit(",")
				}
				b.lit(`"source_labels":`)
				b.value(l.labels, "$.extensions", 4)
				b.lit("}")
			}
		}
	}
	for _, l := range labels {
		if _, done := o.Extensions[l.namespace]; done {
			continue
		}
		b.lit(sep + `"` + l.namespace + `":{"source_labels":`)
		b.value(l.labels, "$.extensions", 4)
		b.lit("}")
		sep = ","
	}
	b.lit("}")
}

func namespacePattern(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z', i > 0 && ('0' <= c && c <= '9' || c == '_'):
		default:
			return false
		}
	}
	return s != ""
}
