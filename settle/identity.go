package settle

import (
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/jcs"
)

// Identity is the identity of the operation that ev stands for: "sha256:" over
// the canonical JSON (RFC 8785) of {cwd, input, kind, name, roots}, so that the
// same call in the same place has the same identity however it was spelled. In
// revision draft a call to an MCP server has its exact destination in it too, as a
// member mcp (D-APP-1, D-MCP-3).
// Where the input has no canonical form, or one that other inputs have too (numbers
// with more digits than a double tells apart), it is "raw-sha256:" over the bytes, so
// that two different inputs never share one (design decision 8). It is empty for an
// event without a tool.
func Identity(ev *ahp.Event) string {
	if ev.Tool == nil {
		return ""
	}
	t := ev.Tool
	buf := identities.Get().(*[]byte)
	b := append((*buf)[:0], `{"cwd":`...)
	b = quote(b, ev.Session.CWD)
	b = append(b, `,"input":`...)
	if len(t.Input) == 0 {
		b = append(b, "null"...)
	} else {
		b = append(b, t.Input...)
	}
	b = append(b, `,"kind":`...)
	b = quote(b, string(t.Kind))
	if t.Server != nil {
		b = appendServer(append(b, `,"mcp":`...), t.Server)
	}
	b = append(b, `,"name":`...)
	b = quote(b, t.Name)
	b = append(b, `,"roots":`...)
	b = quoteAll(b, ev.Session.WorkspaceRoots) // unknown roots are not the same as no roots
	b = append(b, '}')
	if cap(b) <= keptIdentity {
		*buf = b
	}
	defer identities.Put(buf)
	if !jcs.Rounds(t.Input) {
		if d, err := jcs.Digest(b); err == nil {
			return d
		}
	}
	return jcs.RawDigest(b)
}

// identities holds memory for the texts that identities are made of.
var identities = sync.Pool{New: func() any { return new([]byte) }}

// keptIdentity is the largest memory that is kept for the next text.
const keptIdentity = 64 << 10

// appendServer writes who is called and how it is reached, in a fixed order. Gaps
// stay out: they say why something is not known, not what is called.
func appendServer(b []byte, s *ahp.MCPServer) []byte {
	c := &s.Connection
	b = append(b, '[')
	for _, text := range [...]string{
		s.ID, s.ToolName, c.Transport, c.URL, c.Command, c.CWD, c.AddressForm, c.Address,
	} {
		b = append(quote(b, text), ',')
	}
	return append(quoteAll(b, c.Args), ']')
}

// quoteAll appends a list of texts, and null for nil.
func quoteAll(b []byte, texts []string) []byte {
	if texts == nil {
		return append(b, "null"...)
	}
	b = append(b, '[')
	for i, s := range texts {
		if i > 0 {
			b = append(b, ',')
		}
		b = quote(b, s)
	}
	return append(b, ']')
}

// quote appends s as a JSON string. Bytes that are not UTF-8 have no JSON form:
// they are kept apart by their Go escapes (\xff), which are no JSON, so that the
// text has no canonical form and gets a raw digest.
func quote(b []byte, s string) []byte {
	n := len(b)
	b, err := jsontext.AppendQuote(b, s)
	if err != nil {
		return strconv.AppendQuote(b[:n], s)
	}
	return b
}
