package wiredraft

import (
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
	"github.com/holdpoint/holdpoint/internal/uri"
)

// tool reads a tool object (AHP draft section 4.1).
func (d *decoder) tool(t *ahp.Tool) {
	start, ok := d.object("an object with name, origin and input")
	if !ok {
		return
	}
	var name, input, origin bool
	mcp := 0
	for d.More() {
		switch string(d.Name()) {
		case "name":
			name = true
			t.Name = d.name()
		case "input":
			input = true
			t.Input = d.rawObject("an object: the parsed input of the tool")
		case "origin":
			origin = true
			t.Origin = ahp.ToolOrigin(d.one("native or mcp", string(ahp.OriginNative), string(ahp.OriginMCP)))
		case "kind":
			t.Kind = ahp.ToolKind(d.name())
		case "mcp":
			mcp = d.Pos()
			t.Server = d.mcpServer()
		default:
			d.closed()
		}
	}
	if !name {
		d.lacks(start, "name", nonEmpty)
	}
	if !input {
		d.lacks(start, "input", "an object: the parsed input of the tool")
	}
	if !origin {
		d.lacks(start, "origin", "native or mcp")
	}
	switch {
	case t.Origin == ahp.OriginMCP && mcp == 0:
		d.lacks(start, "mcp", "an object that describes the server")
	case t.Origin == ahp.OriginNative && mcp > 0:
		d.extra(mcp, "mcp", "a member", "nothing: the tool is native")
	}
}

// mcpServer reads an MCP descriptor (AHP draft section 4.2).
func (d *decoder) mcpServer() *ahp.MCPServer {
	start, ok := d.object("an object that describes the server")
	if !ok {
		return nil
	}
	s := new(ahp.MCPServer)
	var server, toolName, provenance, connection bool
	for d.More() {
		switch string(d.Name()) {
		case "server":
			server = true
			off, ok := d.object("an object with the server's id")
			if !ok {
				continue
			}
			id := false
			for d.More() {
				switch string(d.Name()) {
				case "id":
					id = true
					s.ID = d.name()
				case "name":
					s.Name = d.name()
				default:
					d.closed()
				}
			}
			if !id {
				d.lacks(off, "id", nonEmpty)
			}
		case "toolName":
			toolName = true
			s.ToolName = d.name()
		case "provenance":
			provenance = true
			s.Provenance = d.one("runtime or inferred", "runtime", "inferred")
		case "connection":
			connection = true
			d.mcpConnection(&s.Connection)
		default:
			d.closed()
		}
	}
	if !server {
		d.lacks(start, "server", "an object with the server's id")
	}
	if !toolName {
		d.lacks(start, "toolName", nonEmpty)
	}
	if !provenance {
		d.lacks(start, "provenance", "runtime or inferred")
	}
	if !connection {
		d.lacks(start, "connection", "an object with transport")
	}
	return s
}

const mcpTransports = "http, sse, stdio, or _ and a name"

// mcpConnection reads a connection. Which location members it has follows from its
// transport, which may come after them.
func (d *decoder) mcpConnection(c *ahp.MCPConnection) {
	start, ok := d.object("an object with transport")
	if !ok {
		return
	}
	type at struct{ name, value int }
	var transport bool
	var url, command, args, cwd, form, address at
	here := func() at { return at{d.NameVal().Start, d.Pos()} }
	for d.More() {
		switch string(d.Name()) {
		case "transport":
			transport = true
			v := d.Skip()
			switch {
			case d.Is(v, "http"):
				c.Transport = "http"
			case d.Is(v, "sse"):
				c.Transport = "sse"
			case d.Is(v, "stdio"):
				c.Transport = "stdio"
			case v.Kind == '"' && d.otherTransport(v):
				c.Transport = d.Str(v)
			default:
				d.bad(v, mcpTransports)
			}
		case "url":
			url = here()
			v := d.Skip()
			if v.Kind != '"' || !httpURI(string(d.Content(v))) {
				d.bad(v, "an http or https URL")
				continue
			}
			c.URL = d.Str(v)
			if userinfo(c.URL) {
				d.badAs(v.Start, "a URL with user info", "a URL without, or a gap")
			}
		case "command":
			command = here()
			c.Command = d.name()
		case "args":
			args = here()
			c.Args = d.names("an array of strings", 0, false)
		case "cwd":
			cwd = here()
			c.CWD = d.name()
		case "addressForm":
			form = here()
			c.AddressForm = d.name()
		case "address":
			address = here()
			c.Address = d.name()
		case "gaps":
			off, ok := d.array("an array of gaps")
			if !ok {
				continue
			}
			c.Gaps = []ahp.Gap{}
			for d.More() {
				c.Gaps = append(c.Gaps, d.gap(true, false))
			}
			if len(c.Gaps) == 0 {
				d.badAs(off, "an empty array", "at least one gap, or no member")
			}
		default:
			d.closed()
		}
	}
	if d.Dead() {
		return
	}
	if !transport {
		d.lacks(start, "transport", mcpTransports)
	}
	if c.Transport == "" {
		return
	}
	need := func(p at, name string, wanted bool) {
		switch {
		case wanted && p.name == 0 && !gapFor(c.Gaps, name):
			d.lacks(start, name, "a value, or a gap with this path")
		case !wanted && p.name > 0:
			d.extra(p.name, name, "a member", "nothing: the transport does not have it")
		}
	}
	web := c.Transport == "http" || c.Transport == "sse"
	stdio := c.Transport == "stdio"
	need(url, "url", web)
	need(command, "command", stdio)
	need(args, "args", stdio)
	need(cwd, "cwd", stdio)
	need(form, "addressForm", !web && !stdio)
	need(address, "address", !web && !stdio)
}

func (d *decoder) otherTransport(v walk.Val) bool { return otherTransport(string(d.Content(v))) }

// otherTransport reports whether s is "_" and at least one more character, which is
// no line break.
func otherTransport(s string) bool {
	return len(s) > 1 && s[0] == '_' && !strings.HasPrefix(s[1:], "\n")
}

func gapFor(gaps []ahp.Gap, path string) bool {
	for i := range gaps {
		if gaps[i].Path == path {
			return true
		}
	}
	return false
}

// httpURI reports whether s is a URI with one of the two schemes, in lower case.
func httpURI(s string) bool {
	return (strings.HasPrefix(s, "http://") || strings.HasPrefix(s, "https://")) && uri.Valid(s)
}

// userinfo reports whether a URI has a user name or password, which no descriptor
// holds (D-MCP-1).
func userinfo(s string) bool {
	_, rest, ok := strings.Cut(s, "://")
	if !ok {
		return false
	}
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		rest = rest[:i]
	}
	return strings.Contains(rest, "@")
}

// execution reads whether work ran (AHP draft section 4.3).
func (d *decoder) execution() (e ahp.Execution) {
	start, ok := d.object("an object with status")
	if !ok {
		return e
	}
	var status string
	var has bool
	var reason, detail int
	for d.More() {
		switch string(d.Name()) {
		case "status":
			has = true
			status = d.one("executed or skipped", "executed", "skipped")
		case "reason":
			reason = d.NameVal().Start
			e.Skipped = ahp.SkipReason(d.one("supplied_result, policy, cancelled, timeout or other", string(ahp.SkipSupplied),
				string(ahp.SkipPolicy), string(ahp.SkipCancelled), string(ahp.SkipTimeout), string(ahp.SkipOther)))
		case "detail":
			detail = d.NameVal().Start
			e.Detail = d.name()
		default:
			d.closed()
		}
	}
	if !has {
		d.lacks(start, "status", "executed or skipped")
	}
	switch status {
	case "executed":
		if reason > 0 {
			d.extra(reason, "reason", "a member", "nothing: it was executed")
			e.Skipped = ""
		}
		if detail > 0 {
			d.extra(detail, "detail", "a member", "nothing: it was executed")
		}
	case "skipped":
		if reason == 0 {
			d.lacks(start, "reason", "why it was skipped")
		}
		if detail > 0 && e.Skipped == ahp.SkipSupplied {
			d.extra(detail, "detail", "a member", "nothing: the result was supplied")
		}
	}
	return e
}
