package dialect

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
)

const mcpPrefix = "mcp__"

// mcpNames returns the server and the tool of an MCP tool, with an empty provenance
// for another tool. Only the agent's own marks make one: the prefix of the name, or
// the runtime's mcp_server object. The provenance says which: "runtime" when the
// agent named the server, "inferred" when the name was split. A split is a guess
// where a server's name holds "__" itself; the server is empty when there is none.
func mcpNames(name string, runtime jsontext.Value) (server, tool, provenance string, err error) {
	rest, marked := strings.CutPrefix(name, mcpPrefix)
	if runtime != nil && runtime.Kind() != 'n' {
		if server, err = serverName(runtime); err != nil {
			return "", "", "", err
		}
		tool = rest
		if after, ok := strings.CutPrefix(rest, cleaned(server)+"__"); ok {
			tool = after
		} else if _, after, ok := strings.Cut(rest, "__"); ok && marked {
			tool = after
		}
		return server, tool, "runtime", nil
	}
	if !marked {
		return "", "", "", nil
	}
	server, tool, ok := strings.Cut(rest, "__")
	if !ok || server == "" || tool == "" {
		return "", rest, "inferred", nil
	}
	return server, tool, "inferred", nil
}

// mcpOf returns the facts on server and tool of an MCP tool, nil for another tool.
func mcpOf(name string, runtime jsontext.Value) (ahp.Raw, error) {
	server, tool, provenance, err := mcpNames(name, runtime)
	if err != nil || provenance == "" {
		return nil, err
	}
	return facts(server, tool, provenance), nil
}

func serverName(v jsontext.Value) (string, error) {
	if v.Kind() != '{' {
		return "", expected("/mcp_server", v, "an object")
	}
	dec := jsontext.NewDecoder(strings.NewReader(string(v)))
	if _, err := dec.ReadToken(); err != nil {
		return "", fail("/mcp_server", "malformed")
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return "", fail("/mcp_server", "malformed")
		}
		if name.String() != "name" {
			if err := dec.SkipValue(); err != nil {
				return "", fail("/mcp_server", "malformed")
			}
			continue
		}
		value, err := dec.ReadValue()
		if err != nil {
			return "", fail("/mcp_server", "malformed")
		}
		return required("/mcp_server/name", value, maxNameBytes)
	}
	return "", fail("/mcp_server/name", "found nothing, expected a string")
}

// cleaned writes a server's name as it appears in tool names.
func cleaned(server string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, server)
}

func facts(server, tool, provenance string) ahp.Raw {
	var out ahp.Raw
	out = append(out, '{')
	if server != "" {
		out = append(out, `"server":`...)
		out = quote(out, server)
		out = append(out, ',')
	}
	out = append(out, `"tool":`...)
	out = quote(out, tool)
	return append(out, `,"provenance":"`+provenance+`"}`...)
}

func quote(dst ahp.Raw, s string) ahp.Raw {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil { // s came out of a strict decoder, so it is UTF-8
		panic(err)
	}
	return out
}
