package loop

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// A message is one entry of a conversation, as JSON text.
type message = jsontext.Value

// A Message is a request that enters a session.
type Message struct {
	Role    string         // "user", "system" or "external"
	Content jsontext.Value // a string or an object
}

// Text is a user's message.
func Text(s string) Message { return Message{Role: "user", Content: quote(s)} }

func quote(s string) jsontext.Value {
	q, err := jsontext.AppendQuote(nil, s)
	if err != nil { // invalid UTF-8 arrives as it is: the gate has to see it and refuse
		return append(append(jsontext.Value{'"'}, s...), '"')
	}
	return q
}

func orNull(v jsontext.Value) jsontext.Value {
	if len(v) == 0 {
		return jsontext.Value("null")
	}
	return v
}

func isNull(v jsontext.Value) bool { return len(v) == 0 || v[0] == 'n' }

// simple is {role, content}.
func simple(role string, content jsontext.Value) message {
	b := append(message(`{"role":`), quote(role)...)
	b = append(b, `,"content":`...)
	b = append(b, orNull(content)...)
	return append(b, '}')
}

// extend adds one member to a message.
func extend(m message, name string, value jsontext.Value) message {
	m = append(m[:len(m)-1:len(m)-1], ',', '"')
	m = append(append(m, name...), '"', ':')
	return append(append(m, value...), '}')
}

// asked is the assistant's message that holds tool calls.
func (a *Agent) asked(content jsontext.Value, calls []jsontext.Value) message {
	m := simple("assistant", content)
	if a.o.Plain {
		return m
	}
	return extend(m, "tool_calls", array(calls))
}

// asText is a tool call as contexts and messages have it. It checks nothing.
func asText(c *agenthooks.ToolCall) jsontext.Value {
	m := append(jsontext.Value(`{"id":`), quote(c.ID)...)
	m = append(m, '}')
	return extend(extend(m, "name", quote(c.Name)), "args", orObject(c.Args))
}

func orObject(v jsontext.Value) jsontext.Value {
	if len(v) == 0 {
		return jsontext.Value("{}")
	}
	return v
}

// result is the message that shows a tool call's result, or its error, to the
// model.
func (a *Agent) result(id string, content jsontext.Value) message {
	m := simple("tool", content)
	if a.o.Plain {
		return m
	}
	return extend(m, "tool_call_id", quote(id))
}

// array is the messages as one JSON array.
func array(parts ...[]message) jsontext.Value {
	b := jsontext.Value{'['}
	for _, m := range slices.Concat(parts...) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = append(b, m...)
	}
	return append(b, ']')
}

// split is the opposite of array.
func split(v jsontext.Value) ([]message, error) {
	var raw []json.RawMessage
	if err := json.Unmarshal(v, &raw); err != nil {
		return nil, err
	}
	out := make([]message, len(raw))
	for i, r := range raw {
		out[i] = message(r)
	}
	return out, nil
}

func numbered(prefix string, n int) string { return prefix + "/" + strconv.Itoa(n) }
