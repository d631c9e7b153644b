package agenthooks

import "slices"

// A Point is an interception point: a place in an agent's loop where the host
// asks its interceptors (AH 3). The set is closed; the zero value is none of it.
type Point string

// The eight interception points, in the order in which a session meets them.
const (
	AgentStartup  Point = "agent_startup"   // once, before the first input
	Input         Point = "input"           // each external request
	PreModelCall  Point = "pre_model_call"  // just before each model request
	PostModelCall Point = "post_model_call" // just after each model response
	PreToolCall   Point = "pre_tool_call"   // just before each tool invocation
	PostToolCall  Point = "post_tool_call"  // just after each tool invocation, success or error
	Output        Point = "output"          // just before the final response leaves
	AgentShutdown Point = "agent_shutdown"  // once, at the end, also an abnormal one
)

// SpecVersion is the value of the context member spec that this package sends.
const SpecVersion = "agent-hooks/0.1"

// Valid reports whether p is one of the eight (AH-3-1).
func (p Point) Valid() bool { return p.spec() != nil }

// Transformable reports whether a verdict may rewrite the target at p
// (AH-4.3-2).
func (p Point) Transformable() bool {
	s := p.spec()
	return s != nil && s.transformable
}

func (p Point) spec() *pointSpec {
	if i := p.index(); i >= 0 {
		return &pointSpecs[i]
	}
	return nil
}

// pointOrder is the order of pointSpecs.
var pointOrder = [...]Point{AgentStartup, Input, PreModelCall, PostModelCall, PreToolCall, PostToolCall, Output, AgentShutdown}

// index is the place of p in pointOrder, -1 for an unknown point.
func (p Point) index() int {
	for i := range pointOrder {
		if pointOrder[i] == p {
			return i
		}
	}
	return -1
}

// jsonType is what the gate asks of a member (AH-4.7-2).
type jsonType byte

const (
	anyJSON    jsonType = 0
	stringJSON jsonType = '"'
	objectJSON jsonType = '{'
	arrayJSON  jsonType = '['
	boolJSON   jsonType = 't'
)

func (t jsonType) String() string {
	switch t {
	case stringJSON:
		return "string"
	case objectJSON:
		return "object"
	case arrayJSON:
		return "array"
	case boolJSON:
		return "boolean"
	case anyJSON:
	}
	return "value"
}

// subfield is one required member of a conditional object.
type subfield struct {
	name string
	typ  jsonType
}

// conditional is one member that a point requires (AH 4.2). Without subfields
// the member counts whole.
type conditional struct {
	top    topMember
	typ    jsonType
	fields []subfield // sorted by name, which is the canonical order
}

// pointSpec says what a point requires and where its target lives.
type pointSpec struct {
	point         Point
	transformable bool
	conds         []conditional // sorted by name
	aliasTop      topMember     // the member that the target equals…
	aliasField    string        // …or the member inside it
	program       []op          // writes the canonical projection (AH-10.2-1)
}

var toolCallFields = []subfield{{"args", objectJSON}, {"id", stringJSON}, {"name", stringJSON}}

var modelCond = conditional{top: topModel, typ: objectJSON, fields: []subfield{{"id", stringJSON}}}

var pointSpecs = buildSpecs([]pointSpec{
	{point: AgentStartup, aliasTop: topAgentInit, conds: []conditional{
		{topAgentInit, objectJSON, []subfield{{"tools_registered", arrayJSON}}},
	}},
	{point: Input, aliasTop: topInput, transformable: true, conds: []conditional{
		{topInput, objectJSON, []subfield{{"content", anyJSON}, {"role", stringJSON}}},
	}},
	{point: PreModelCall, aliasTop: topMessages, transformable: true, conds: []conditional{
		{topMessages, arrayJSON, nil}, modelCond,
	}},
	{point: PostModelCall, aliasTop: topResponse, transformable: true, conds: []conditional{
		modelCond,
		{topResponse, objectJSON, []subfield{{"content", anyJSON}, {"finish_reason", stringJSON}, {"tool_calls", arrayJSON}}},
	}},
	{point: PreToolCall, aliasTop: topToolCall, aliasField: "args", transformable: true, conds: []conditional{
		{topToolCall, objectJSON, toolCallFields},
	}},
	{point: PostToolCall, aliasTop: topToolResult, aliasField: "value", transformable: true, conds: []conditional{
		{topToolCall, objectJSON, toolCallFields},
		{topToolResult, objectJSON, []subfield{{"is_error", boolJSON}, {"value", anyJSON}}},
	}},
	{point: Output, aliasTop: topOutput, transformable: true, conds: []conditional{
		{topOutput, objectJSON, []subfield{{"content", anyJSON}}},
	}},
	{point: AgentShutdown, aliasTop: topSummary, conds: []conditional{
		{topSummary, objectJSON, []subfield{{"reason", stringJSON}}},
	}},
})

// aliasLevel is the nesting level of the member that equals the target. The
// context itself is level 1.
func (s *pointSpec) aliasLevel() int {
	if s.aliasField != "" {
		return 3
	}
	return 2
}

// An op writes a literal and then one value of the context in canonical form.
type op struct {
	lit   string
	field field     // value to write; fNone for none
	whole topMember // instead of field: the whole member, when it holds nothing beyond its subfields…
	skip  int       // …and then this many ops are skipped
	level int
}

// buildSpecs compiles the canonical projection of each point, so that an
// identity is one pass over fixed literals.
func buildSpecs(specs []pointSpec) []pointSpec {
	type member struct {
		name   string
		fields []subfield // of an object; nil for a plain value
		first  field
		top    topMember
	}
	for i := range specs {
		s := &specs[i]
		members := []member{
			{name: "agent", fields: []subfield{{name: "framework"}, {name: "id"}}, first: fFramework},
			{name: "interception_point", first: fPoint},
			{name: "sequence", first: fSequence},
			{name: "session", fields: []subfield{{name: "id"}}, first: fSessionID},
			{name: "spec", first: fSpec},
			{name: "target", first: fTarget},
			{name: "timestamp", first: fTimestamp},
		}
		next := fCond
		for _, c := range s.conds {
			members = append(members, member{topNames[c.top], c.fields, next, c.top})
			next += field(max(len(c.fields), 1))
		}
		slices.SortFunc(members, func(a, b member) int {
			if a.name < b.name {
				return -1
			}
			return 1
		})
		lit := "{"
		for _, m := range members {
			lit += `"` + m.name + `":`
			if m.fields == nil {
				level := 2
				if m.first == fTarget {
					level = s.aliasLevel()
				}
				s.program = append(s.program, op{lit: lit, field: m.first, level: level})
				lit = ","
				continue
			}
			if m.top != topNone {
				s.program = append(s.program, op{lit: lit, whole: m.top, skip: len(m.fields) + 1, level: 2})
				lit = ""
			}
			sep := "{"
			for j, f := range m.fields {
				s.program = append(s.program, op{lit: lit + sep + `"` + f.name + `":`, field: m.first + field(j), level: 3})
				lit, sep = "", ","
			}
			lit = "}"
			if m.top != topNone { // the close belongs to what a whole member skips
				s.program = append(s.program, op{lit: lit})
				lit = ""
			}
			lit += ","
		}
		s.program = append(s.program, op{lit: lit[:len(lit)-1] + "}"})
	}
	return specs
}
