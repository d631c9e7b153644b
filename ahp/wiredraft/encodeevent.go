package wiredraft

import (
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
	"github.com/holdpoint/holdpoint/internal/uri"
)

// event writes an event as [decoder.event] reads it.
func (e *encoder) event(ev *ahp.Event) {
	sh := shapes[string(ev.Type)]
	if sh == nil {
		e.class = ahp.FailUnsupported
		e.bad("another event type", "an event type of revision draft")
		sh = &shape{}
	}
	e.open()
	e.name("id", ev.ID)
	e.key("source")
	e.quote(ev.Source)
	if !uri.Valid(ev.Source) {
		e.bad("a source that is no URI", "a URI with a scheme")
	}
	e.key("type")
	e.quote(string(ev.Type))
	e.key("time")
	e.quote(ev.Time)
	if !walk.DateTime(ev.Time) {
		e.bad("a time that is none", "an RFC 3339 date-time")
	}
	switch {
	case hasSession(&ev.Session):
		e.key("session")
		e.session(&ev.Session)
	case sh.required&fSession != 0:
		e.lacks("session")
	}
	if ev.Turn != nil {
		e.key("turn")
		e.turn(ev.Turn, sh.turnOpen)
	} else if sh.required&fTurn != 0 {
		e.lacks("turn")
	}
	if ev.Parent != "" {
		e.name("parentEventId", ev.Parent)
	} else if sh.required&fParent != 0 {
		e.lacks("parentEventId")
	}
	hasTool := sh.required&fTool != 0
	switch {
	case hasTool && ev.Tool == nil:
		e.lacks("tool")
	case hasTool:
		e.call(ev.Tool, sh.optional&fBatch != 0)
	case ev.Tool != nil:
		e.bad("a tool", "none: the event is about no tool call")
	}
	if ev.Outcome != "" && ev.Type != ahp.SessionEnd {
		e.bad("a session's outcome", "none: only session.end has one")
	}
	e.body(ev)
	e.items(ev, sh)
	if ev.Gaps != nil {
		e.key("gaps")
		e.gaps(ev.Gaps)
	}
	e.marker(ev.Synthesized)
	e.native(ev)
	if ev.HasExtensions || len(ev.Extensions) > 0 {
		e.extensions(ev.Extensions)
	}
	if len(ev.Unknown) > 0 {
		e.unknown(ev.Unknown, func(name string) bool {
			switch name {
			case "id", "source", "type", "time":
				return true
			}
			f := fieldOf([]byte(name))
			return sh.defines(f) || sh.forbidden&f != 0
		})
	}
	e.shut()
}

func hasSession(s *ahp.Session) bool {
	return s.ID != "" || s.CWD != "" || s.WorkspaceRoots != nil || s.Model != "" || s.Agent != nil || s.Synthesized != nil || s.Unknown != nil
}

func (e *encoder) items(ev *ahp.Event, sh *shape) {
	if _, user := ev.Body.(*ahp.UserMessageBody); sh.messages {
		if ev.Messages != nil || sh.required&fItems != 0 {
			e.key("items")
			e.messages(ev.Messages, "")
		}
		if ev.Parts != nil {
			e.bad("parts", "messages: the items of the event are messages")
		}
		return
	} else if ev.Messages != nil && !user {
		e.bad("messages", "parts: the items of the event are parts")
	}
	if ev.Parts != nil {
		e.key("items")
		e.parts(ev.Parts, false)
	}
}

func (e *encoder) native(ev *ahp.Event) {
	n := ev.Native
	if n == nil {
		e.member("native", ev.NativeOther, 0)
		return
	}
	if ev.NativeOther != nil {
		e.bad("native data twice", "one of the two")
	}
	e.key("native")
	e.open()
	e.name("provider", n.Provider)
	e.name("eventName", n.EventName)
	e.needs("payload", n.Payload, '{')
	e.unknown(n.Unknown, among("provider", "eventName", "payload"))
	e.shut()
}

func (e *encoder) session(s *ahp.Session) {
	e.open()
	e.name("id", s.ID)
	e.optional("cwd", s.CWD)
	if s.WorkspaceRoots != nil {
		e.names("workspaceRoots", s.WorkspaceRoots, 0, false)
	}
	e.optional("model", s.Model)
	if a := s.Agent; a != nil {
		e.key("agent")
		e.open()
		e.name("id", a.ID)
		e.optional("type", a.Type)
		e.unknown(a.Unknown, func(name string) bool { return name == "id" || name == "type" && !spelled(a.Unknown, name, a.Type) })
		e.shut()
	}
	e.marker(s.Synthesized)
	if len(s.Unknown) > 0 {
		e.unknown(s.Unknown, func(name string) bool {
			switch name {
			case "cwd":
				return !spelled(s.Unknown, name, s.CWD)
			case "model":
				return !spelled(s.Unknown, name, s.Model)
			case "id", "workspaceRoots", "agent", "synthesized":
				return true
			}
			return false
		})
	}
	e.shut()
}

// spelled reports whether an unknown member is the empty string that stands for a
// field of the model.
func spelled(m ahp.Members, name, field string) bool {
	r, _ := m.Lookup(name)
	return field == "" && string(r) == `""`
}

func (e *encoder) turn(t *ahp.Turn, open bool) {
	e.open()
	e.name("id", t.ID)
	e.marker(t.Synthesized)
	if len(t.Unknown) > 0 {
		if !open {
			e.bad("unknown members in a turn", "none: the object is closed")
		}
		e.unknown(t.Unknown, among("id", "synthesized"))
	}
	e.shut()
}

func (e *encoder) gaps(list []ahp.Gap) {
	e.list(len(list))
	for i := range list {
		e.next(i)
		e.open()
		e.name("path", list[i].Path)
		e.name("reason", list[i].Reason)
		e.unknown(list[i].Unknown, among("path", "reason"))
		e.shut()
	}
	e.shutList()
}

func (e *encoder) ref(key, id string, synthesized *bool) {
	e.key(key)
	e.open()
	e.name("id", id)
	e.marker(synthesized)
	e.shut()
}

// call writes the members that describe a tool call.
func (e *encoder) call(t *ahp.Tool, batch bool) {
	e.ref("call", t.CallID, t.CallSynthesized)
	e.key("tool")
	e.tool(t)
	e.name("path", t.Path)
	if t.Batch != nil {
		e.key("batch")
		e.batch(t.Batch, true)
		if !batch {
			e.bad("a batch", "none")
		}
	}
}

func (e *encoder) tool(t *ahp.Tool) {
	if t.Output != nil || t.Error != nil || t.MCP != nil || len(t.Unknown) > 0 {
		e.bad("members of revision 0.1 in a tool", "those of revision draft")
	}
	e.open()
	e.name("name", t.Name)
	e.optional("kind", string(t.Kind))
	e.one("origin", string(t.Origin), string(ahp.OriginNative), string(ahp.OriginMCP))
	if s := t.Server; s != nil {
		if t.Origin != ahp.OriginMCP {
			e.bad("an MCP server", "none: the tool is native")
		}
		e.key("mcp")
		e.open()
		e.key("server")
		e.open()
		e.name("id", s.ID)
		e.optional("name", s.Name)
		e.shut()
		e.name("toolName", s.ToolName)
		e.one("provenance", s.Provenance, "runtime", "inferred")
		e.key("connection")
		e.connection(&s.Connection)
		e.shut()
	} else if t.Origin == ahp.OriginMCP {
		e.lacks("mcp")
	}
	e.needs("input", t.Input, '{')
	e.shut()
}

func (e *encoder) connection(c *ahp.MCPConnection) {
	e.open()
	e.name("transport", c.Transport)
	web, stdio := c.Transport == "http" || c.Transport == "sse", c.Transport == "stdio"
	if !web && !stdio && !otherTransport(c.Transport) {
		e.bad("another transport", mcpTransports)
	}
	place := func(key, s string, mine bool) {
		e.optional(key, s)
		switch {
		case mine && s == "" && !gapFor(c.Gaps, key):
			e.lacks(key)
		case !mine && s != "":
			e.bad(key, "nothing: the transport does not have it")
		}
	}
	place("url", c.URL, web)
	if c.URL != "" && (!httpURI(c.URL) || userinfo(c.URL)) {
		e.bad("another URL", "an http or https URL without user info")
	}
	place("command", c.Command, stdio)
	if c.Args != nil {
		e.names("args", c.Args, 0, false)
	}
	if stdio != (c.Args != nil) && (!stdio || !gapFor(c.Gaps, "args")) {
		e.bad("args", "args or a gap exactly with stdio")
	}
	place("cwd", c.CWD, stdio)
	place("addressForm", c.AddressForm, !web && !stdio)
	place("address", c.Address, !web && !stdio)
	if c.Gaps != nil {
		e.key("gaps")
		e.closedGaps(c.Gaps)
		if len(c.Gaps) == 0 {
			e.bad("an empty array of gaps", "at least one gap")
		}
	}
	e.shut()
}

func (e *encoder) closedGaps(list []ahp.Gap) {
	for i := range list {
		if len(list[i].Unknown) > 0 {
			e.bad("unknown members in a gap", "none: the object is closed")
		}
	}
	e.gaps(list)
}

func (e *encoder) batch(b *ahp.Batch, callIDs bool) {
	e.open()
	e.name("id", b.ID)
	if callIDs {
		if len(b.CallIDs) == 0 {
			e.lacks("callIds")
		}
		e.names("callIds", b.CallIDs, 1, true)
	} else if b.CallIDs != nil {
		e.bad("call ids", "none")
	}
	e.marker(b.Synthesized)
	e.shut()
}

// messages writes a list of canonical messages, all of one role if that is not empty.
func (e *encoder) messages(list []ahp.Message, role ahp.Role) {
	e.list(len(list))
	for i := range list {
		e.next(i)
		e.message(&list[i], role)
	}
	e.shutList()
}

func (e *encoder) message(m *ahp.Message, role ahp.Role) {
	e.open()
	e.name("id", m.ID)
	if !m.Role.Known() || role != "" && m.Role != role {
		e.bad("another role", "a role that belongs there")
	}
	e.key("role")
	e.quote(string(m.Role))
	e.key("parts")
	e.parts(m.Parts, false)
	e.marker(m.Synthesized)
	e.shut()
}

func (e *encoder) parts(list []ahp.Part, textOnly bool) {
	e.list(len(list))
	for i := range list {
		e.next(i)
		e.part(&list[i], textOnly)
	}
	e.shutList()
}

func (e *encoder) partPtr(key string, p *ahp.Part, textOnly bool) {
	if p != nil {
		e.key(key)
		e.part(p, textOnly)
	}
}

// part writes a part in one of its eight forms.
func (e *encoder) part(p *ahp.Part, textOnly bool) {
	e.open()
	e.name("id", p.ID)
	e.name("kind", string(p.Kind))
	e.name("mediaType", p.MediaType)
	e.name("selection", string(p.Selection))
	isText := p.Kind == ahp.PartText
	switch {
	case !isText && p.Kind != ahp.PartAttachment:
		e.bad("another kind of part", "text or attachment")
	case textOnly && !isText:
		e.bad("an attachment", "text: no attachment belongs here")
	case isText && p.MediaType != ahp.TextPlain:
		e.bad("another media type of text", "text/plain")
	case !isText && ahp.Inline(p.MediaType):
		e.bad("a media type of text or JSON", "one of other media")
	case !p.Selection.Known():
		e.bad("another selection", "body, metadata or omit")
	case p.Selection != ahp.SelectBody && (p.Text != nil || p.Ref != "" || p.Gap != nil),
		p.Gap != nil && (p.Text != nil || p.Ref != ""),
		isText && p.Ref != "", !isText && p.Text != nil:
		e.bad("content that the part's form does not have", "one of the eight forms")
	case p.Selection == ahp.SelectBody && p.Gap == nil && p.Hidden():
		e.lacks("the body of a part")
	case p.Selection == ahp.SelectBody && p.Gap == nil && (p.Size != nil || p.SHA256 != ""):
		e.bad("a size or a hash beside a body", "neither")
	}
	e.optional("category", p.Category)
	e.pointer("text", p.Text)
	if p.Ref != "" {
		e.key("body")
		e.open()
		e.name("ref", p.Ref)
		e.shut()
	}
	if g := p.Gap; g != nil {
		e.key("gap")
		e.open()
		e.name("reason", g.Reason)
		e.optional("path", g.Path)
		e.shut()
		if len(g.Unknown) > 0 {
			e.bad("unknown members in a gap", "none: the object is closed")
		}
	}
	e.countPtr("size", p.Size)
	e.optional("sha256", p.SHA256)
	if p.SHA256 != "" && !sha256Hex(p.SHA256) {
		e.bad("another hash", "64 lower-case hexadecimal digits")
	}
	e.marker(p.Synthesized)
	e.shut()
}
