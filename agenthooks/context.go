package agenthooks

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/jcs"
)

// topMember is a known member of a context.
type topMember int

const (
	topNone topMember = iota
	topSpec
	topPoint
	topTimestamp
	topSequence
	topAgent
	topSession
	topTarget
	topAgentInit
	topInput
	topModel
	topMessages
	topResponse
	topToolCall
	topToolResult
	topOutput
	topSummary
	topTrace
	topCount
)

var topNames = [topCount]string{
	topSpec: "spec", topPoint: "interception_point", topTimestamp: "timestamp", topSequence: "sequence", topAgent: "agent",
	topSession: "session", topTarget: "target", topAgentInit: "agent_init", topInput: "input", topModel: "model",
	topMessages: "messages", topResponse: "response", topToolCall: "tool_call", topToolResult: "tool_result",
	topOutput: "output", topSummary: "summary", topTrace: "trace",
}

func topOf(name []byte) topMember {
	for t := topSpec; t < topCount; t++ {
		if string(name) == topNames[t] {
			return t
		}
	}
	return topNone
}

// field is a value that the identity covers.
type field int

const (
	fNone field = iota
	fSpec
	fPoint
	fTimestamp
	fSequence
	fFramework
	fAgentID
	fSessionID
	fTarget
	fCond             // the conditional values of the point follow, in canonical order
	fMax  = fCond + 5 // post_tool_call has five
)

// A Context is what an interceptor sees: one JSON object (AH 4) that nothing
// can change. Every accessor returns a copy, so a callee may do to its result
// what it likes, also after its time is up (AH-7-1). Values keep the exact text
// in which they were given; numbers never pass through a float. A Context may
// be used concurrently.
type Context struct {
	text  []byte
	spec  *pointSpec // nil when the point is unknown
	top   [topCount]span
	field [fMax]span
	pure  uint32        // bit per topMember: the object holds its subfields and nothing else
	env   *ContextError // why the envelope gate refuses, nil when it does not
	ok    bool          // E1 was run on the whole text
	memo  *memo         // what the builder canonicalised already; gone before anybody sees the context
}

// A ContextError says why a context is refused: which member breaks which rule
// (AH-4.7-3). Path and Rule hold no content of the context and may go into
// records; Detail is for the host's own eyes.
type ContextError struct {
	Path   string // such as $.tool_call.name
	Rule   string // such as "missing"
	Detail error  // what a lower layer said, with a pointer that may hold member names; may be nil
}

// Error is Path and Rule.
func (e *ContextError) Error() string { return e.Path + ": " + e.Rule }

// Unwrap returns Detail.
func (e *ContextError) Unwrap() error { return e.Detail }

// Default bounds of a context (AH-12.3-1).
const (
	DefaultMaxContextBytes = 5 << 20
	DefaultMaxDepth        = 128
)

// ParseContext reads a context from JSON text, under the default bounds, and
// runs the envelope gate (AH 4.7). It keeps a copy of text. An error is always
// a [*ContextError]. The integer rule of an identity is not applied here.
func ParseContext(text []byte) (*Context, error) {
	c, err := parseContext(bytes.Clone(text), bounds{DefaultMaxContextBytes, DefaultMaxDepth})
	if err != nil {
		return nil, err
	}
	if c.env != nil {
		return nil, c.env
	}
	return c, nil
}

type bounds struct{ bytes, depth int }

// at are the options of a value that sits at a nesting level.
func (b bounds) at(level int) jcs.Options {
	depth := b.depth - level + 1
	if depth <= 0 {
		depth = -1
	}
	return jcs.Options{MaxBytes: b.bytes, MaxDepth: depth, BigIntegers: true}
}

// parseContext takes text over. It fails on what is not representable (E1);
// a broken envelope (E2) is kept in the context.
func parseContext(text []byte, b bounds) (*Context, *ContextError) {
	if err := jcs.Check(text, b.at(1)); err != nil {
		return nil, valueError("$", err)
	}
	c := index(bytes.TrimSpace(text))
	c.ok = true
	return c, nil
}

// index finds the members of a checked text and runs the envelope gate on them.
func index(text []byte) *Context {
	c := &Context{text: text}
	if len(text) > 0 && text[0] == '{' {
		w := walk(text, 0)
		for {
			name, v, ok := w.next()
			if !ok {
				break
			}
			if t := topOf(name); t != topNone {
				c.top[t] = v
			}
		}
	}
	c.locate()
	c.env = c.gate()
	return c
}

// valueError turns what jcs says into the form that a record may hold: the
// rule and the remedy, and no member names of the payload.
func valueError(path string, err error) *ContextError {
	out := &ContextError{Path: path, Rule: "not representable", Detail: err}
	if e, ok := errors.AsType[*jcs.Error](err); ok {
		out.Rule = fmt.Sprintf("%s at byte %d; %s", e.What(), e.Offset, e.Hint())
	}
	return out
}

// Point returns the interception point.
func (c *Context) Point() Point {
	if c.spec == nil {
		return ""
	}
	return c.spec.point
}

// Sequence returns the number of the emission in its session, -1 if unknown.
func (c *Context) Sequence() int64 {
	n, err := strconv.ParseInt(string(c.top[topSequence].of(c.text)), 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// SessionID returns the member session.id.
func (c *Context) SessionID() string { return c.string("session", "id") }

func (c *Context) string(top, name string) string {
	s, _ := text(member(c.text, c.top[topOf([]byte(top))], name).of(c.text))
	return s
}

// JSON returns the whole context as JSON text.
func (c *Context) JSON() jsontext.Value { return bytes.Clone(c.text) }

// Target returns the value that a transform may rewrite (AH-4.3-1).
func (c *Context) Target() jsontext.Value { return bytes.Clone(c.target()) }

func (c *Context) target() []byte { return c.top[topTarget].of(c.text) }

// Decode decodes the whole context into v by the rules of
// github.com/go-json-experiment/json. Beware that an any takes numbers as
// float64; use [Context.JSON] or [Context.Lookup] where tokens matter.
func (c *Context) Decode(v any) error { return json.Unmarshal(c.JSON(), v) }

// DecodeTarget decodes the target into v.
func (c *Context) DecodeTarget(v any) error { return json.Unmarshal(c.Target(), v) }

// Lookup returns the value at a dotted path such as
// response.tool_calls[0].name, and whether it exists. A name needs an object,
// an index an array; names that hold a dot or a bracket cannot be addressed.
func (c *Context) Lookup(path string) (jsontext.Value, bool) {
	s := lookup(c.text, path)
	if !s.ok() {
		return nil, false
	}
	return bytes.Clone(s.of(c.text)), true
}

// Text returns the string at a dotted path, "" if there is none or it is not a
// string.
func (c *Context) Text(path string) string {
	s, _ := text(lookup(c.text, path).of(c.text))
	return s
}

func lookup(b []byte, path string) span {
	at := span{0, len(b)}
	for path != "" && at.ok() {
		if path[0] == '[' {
			end := strings.IndexByte(path, ']')
			if end < 0 {
				return span{}
			}
			n, err := strconv.ParseUint(path[1:end], 10, 63)
			if err != nil {
				return span{}
			}
			at, path = element(b, at, int64(n)), path[end+1:]
			continue
		}
		end := strings.IndexAny(path, ".[")
		switch {
		case end == 0:
			path = path[1:]
		case end < 0:
			at, path = member(b, at, path), ""
		default:
			at, path = member(b, at, path[:end]), path[end:]
		}
	}
	return at
}

// Set returns a context in which the value at a transform path (AH 5.2), such
// as $target.to, is v. The member that the target mirrors changes with it
// (AH-4.3-1) and nothing else does. It is what a [Redactor] uses. The error is
// a [*PathError]; c itself never changes.
func (c *Context) Set(path string, v any) (*Context, error) {
	p, perr := parsePath(path)
	if perr != nil {
		return nil, perr
	}
	raw, err := encode(nil, v)
	if err == nil {
		err = jcs.Check(raw, jcs.Options{BigIntegers: true})
	}
	if err != nil {
		return nil, &PathError{Reason: ReasonTransformInvalid, Rule: "value is not representable as JSON"}
	}
	out, perr := c.apply(p, raw)
	if perr != nil {
		return nil, perr
	}
	return out, nil
}

// apply replaces the value at p (AH 5.2-8: point, then resolve).
func (c *Context) apply(p path, value []byte) (*Context, *PathError) {
	where, perr := c.resolve(p)
	if perr != nil {
		return nil, perr
	}
	t := c.top[topTarget]
	target := make([]byte, 0, t.to-t.from+len(value))
	target = append(target, c.text[t.from:where.from]...)
	target = append(target, value...)
	target = append(target, c.text[where.to:t.to]...)

	alias := c.top[c.spec.aliasTop]
	if alias.ok() && c.spec.aliasField != "" {
		// A member that is missing has nothing to mirror; the gate says so.
		alias = member(c.text, alias, c.spec.aliasField)
	}
	first, second := alias, t
	if !alias.ok() {
		first = t
		second = span{len(c.text), len(c.text)}
	} else if t.from < alias.from {
		first, second = t, alias
	}
	out := make([]byte, 0, len(c.text)+2*len(target))
	out = append(out, c.text[:first.from]...)
	out = append(out, target...)
	out = append(out, c.text[first.to:second.from]...)
	if second.ok() {
		out = append(out, target...)
	}
	out = append(out, c.text[second.to:]...)
	return index(out), nil
}

// resolve finds the place that p names, without changing anything.
func (c *Context) resolve(p path) (span, *PathError) {
	if c.spec == nil || !c.spec.transformable {
		return span{}, &PathError{Reason: ReasonTransformTargetForbidden, Rule: "this point forbids transforms"}
	}
	at := c.top[topTarget]
	for _, s := range p {
		if s.index < 0 {
			at = member(c.text, at, s.name)
		} else {
			at = element(c.text, at, s.index)
		}
		if !at.ok() {
			break
		}
	}
	if !at.ok() {
		return span{}, &PathError{Reason: ReasonTransformInvalid, Rule: "path does not resolve"}
	}
	return at, nil
}

// verify runs the bounds and the envelope gate on a context that a transform
// made; the value itself passed the verdict gate before.
func (c *Context) verify(b bounds) *ContextError {
	if !c.ok {
		if err := jcs.Check(c.text, b.at(1)); err != nil {
			return valueError("$", err)
		}
	}
	return c.env
}
