package agenthooks

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// An Event is what a host knows at one point. Make one with the constructor of
// the point, fill Optional where data exists, and hand it to [Session.Emit].
//
// Values of type any are anything that JSON can say. Give a [jsontext.Value]
// where the exact text matters, such as for integers beyond ±(2^53-1): it goes
// through unchanged. What JSON cannot say (NaN, invalid UTF-8, a channel) makes
// the emission a deny.
type Event struct {
	Optional Optional

	// Data names the data that the target is or becomes, for labels: what the
	// verdicts say about it is kept under this name (AH-5.4-1). At the tool
	// points "" means the tool call's id; elsewhere "" keeps nothing.
	Data string
	// From names the data that the target derives from: their labels come
	// back as extensions.<namespace>.source_labels.
	From []string

	point    Point
	id       string // of the tool call
	name     string // of the tool, model id, role or reason
	tools    []string
	value    any // content, messages or the tool's result
	args     any
	response Response
	isError  bool
}

// Point returns the event's interception point.
func (e Event) Point() Point { return e.point }

// Startup opens a session; tools are the names of what is registered.
func Startup(tools ...string) Event { return Event{point: AgentStartup, tools: tools} }

// External is a request that enters the session. Role is "user", "system" or
// "external"; content is a string or an object.
func External(role string, content any) Event {
	return Event{point: Input, name: role, value: content}
}

// BeforeModel is a model request: messages is an array of {role, content}.
func BeforeModel(model string, messages any) Event {
	return Event{point: PreModelCall, name: model, value: messages}
}

// AfterModel is a whole model response. For streamed ones see [Session.Stream].
func AfterModel(model string, r Response) Event {
	return Event{point: PostModelCall, name: model, response: r}
}

// BeforeTool is a tool call that is about to run; args is an object.
func BeforeTool(id, name string, args any) Event {
	return Event{point: PreToolCall, id: id, name: name, args: args}
}

// AfterTool is a tool call that returned. Args are what the tool really
// received (AH-4.2-2).
func AfterTool(id, name string, args, result any, isError bool) Event {
	return Event{point: PostToolCall, id: id, name: name, args: args, value: result, isError: isError}
}

// Final is the response that is about to leave.
func Final(content any) Event { return Event{point: Output, value: content} }

// Shutdown closes a session. Reason is "completed", "error" or "cancelled".
func Shutdown(reason string) Event { return Event{point: AgentShutdown, name: reason} }

// A Response is a model's answer.
type Response struct {
	Content      jsontext.Value `json:"content"` // a string, an object or null; nil is null
	ToolCalls    []ToolCall     `json:"tool_calls"`
	FinishReason string         `json:"finish_reason"`
}

// A ToolCall is a call that the model asks for.
type ToolCall struct {
	ID   string         `json:"id"`
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"` // an object; nil is {}
}

// Optional are the well-known members that interceptors like to see where a
// host has them (AH 4.5). None of them changes an identity, except what
// Summary adds, because it is part of the target at shutdown. Zero values are
// left out. agent.name, agent.version, session.started_at and session.turn come
// from [Options] and the [Session].
type Optional struct {
	RequestID    string         // pairs the two points of one model call
	ModelVendor  string         // model points
	ModelParams  jsontext.Value // model points; an object
	Tools        []Tool         // before a model call
	Usage        *Usage         // after a model call
	ToolDuration time.Duration  // after a tool call
	ContentHash  string         // before a tool call: sha256:<64 hex>, private to the host
	Messages     jsontext.Value // the conversation, at other points than before a model call
	Trace        Trace
	Tenant       Tenant
	Actor        Actor
	Budgets      *Budgets
	Summary      *Summary                  // at shutdown
	Extensions   map[string]jsontext.Value // by namespace: [a-z][a-z0-9_]*, not acs, ctk or agent_hooks
}

// A Tool is a tool as the model sees it.
type Tool struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitzero"`
	Schema      jsontext.Value `json:"schema,omitzero"`
}

// Usage counts the tokens of a model call.
type Usage struct {
	PromptTokens     int64 `json:"prompt_tokens"`
	CompletionTokens int64 `json:"completion_tokens"`
}

// A Tenant is on whose behalf the agent runs.
type Tenant struct {
	ID   string `json:"id,omitzero"`
	Name string `json:"name,omitzero"`
}

// An Actor is who asked. Kind is "human", "service" or "agent".
type Actor struct {
	ID   string `json:"id,omitzero"`
	Kind string `json:"kind,omitzero"`
}

// Budgets are what is used up so far.
type Budgets struct {
	ToolCallCount  int64   `json:"tool_call_count"`
	TokenCount     int64   `json:"token_count"`
	ElapsedSeconds float64 `json:"elapsed_seconds"`
	CostUSD        float64 `json:"cost_usd"`
}

// A Summary is what a session came to.
type Summary struct {
	ToolCalls int64
	Errors    int64
	Duration  time.Duration
}
