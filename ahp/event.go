package ahp

import "slices"

// EventType names what is about to happen or has happened (AHP 0.1 section 3.5).
type EventType string

// The event types of revision 0.1, where only [ToolBefore] can be intercepted. All
// but [ToolError] are types of revision draft too.
const (
	ToolBefore   EventType = "tool.before"
	ToolAfter    EventType = "tool.after"
	ToolError    EventType = "tool.error"
	SessionStart EventType = "session.start"
	SessionEnd   EventType = "session.end"
)

// The other event types of revision draft (AHP draft section 6).
const (
	TurnStart              EventType = "turn.start"
	TurnFinishBefore       EventType = "turn.finish.before"
	TurnEnd                EventType = "turn.end"
	TurnProgress           EventType = "turn.progress"
	ModelRequestBefore     EventType = "model.request.before"
	ModelResponseAfter     EventType = "model.response.after"
	ModelError             EventType = "model.error"
	ModelSwitchBefore      EventType = "model.switch.before"
	ModelSwitchAfter       EventType = "model.switch.after"
	ToolPermissionRequest  EventType = "tool.permission.request"
	ToolPermissionResolved EventType = "tool.permission.resolved"
	ToolProgress           EventType = "tool.progress"
	ToolBatchAfter         EventType = "tool.batch.after"
	CompactBefore          EventType = "context.compact.before"
	CompactAfter           EventType = "context.compact.after"
	ConfigChangeBefore     EventType = "config.change.before"
	ConfigChangeAfter      EventType = "config.change.after"
	TaskChangeBefore       EventType = "task.change.before"
	TaskChangeAfter        EventType = "task.change.after"
	WorkspaceChangeBefore  EventType = "workspace.change.before"
	WorkspaceChangeAfter   EventType = "workspace.change.after"
	FileChanged            EventType = "file.changed"
	UserAttention          EventType = "user.attention"
	ElicitationRequest     EventType = "user.elicitation.request"
	ElicitationResult      EventType = "user.elicitation.result"
	MessageInbound         EventType = "user.message.inbound"
	MessageOutbound        EventType = "user.message.outbound"
	HookFailure            EventType = "hook.failure"
)

var draftEvents = [...]EventType{
	SessionStart, SessionEnd, TurnStart, TurnFinishBefore, TurnEnd, TurnProgress, ModelRequestBefore,
	ModelResponseAfter, ModelError, ModelSwitchBefore, ModelSwitchAfter, ToolBefore, ToolPermissionRequest,
	ToolPermissionResolved, ToolProgress, ToolAfter, ToolBatchAfter, CompactBefore, CompactAfter,
	ConfigChangeBefore, ConfigChangeAfter, TaskChangeBefore, TaskChangeAfter, WorkspaceChangeBefore,
	WorkspaceChangeAfter, FileChanged, UserAttention, ElicitationRequest, ElicitationResult, MessageInbound,
	MessageOutbound, HookFailure,
}

// DraftEvents returns the 32 event types of revision draft in the order of its
// catalogue.
func DraftEvents() []EventType { return slices.Clone(draftEvents[:]) }

// In reports whether t is an event type of revision v.
func (t EventType) In(v Version) bool {
	if v == VersionDraft {
		return slices.Contains(draftEvents[:], t)
	}
	return v == Version01 && t.Known()
}

// Interceptable reports whether events of type t can be intercepted in revision v:
// tool.before in 0.1, 19 types in draft (D-EVT-6).
func (t EventType) Interceptable(v Version) bool {
	if v == Version01 {
		return t == ToolBefore
	}
	return v == VersionDraft && bounds[t] != nil
}

// Known reports whether t is an event type of revision 0.1.
func (t EventType) Known() bool {
	return t == ToolBefore || t == ToolAfter || t == ToolError || t == SessionStart || t == SessionEnd
}

// HasTool reports whether events of this type carry a [Tool].
func (t EventType) HasTool() bool {
	return t == ToolBefore || t == ToolAfter || t == ToolError ||
		t == ToolPermissionRequest || t == ToolPermissionResolved || t == ToolProgress
}

// ToolKind is the coarse class of a tool (AHP 0.1 section 3.4). A tool that fits
// none is [KindOther].
type ToolKind string

// The tool kinds of revision 0.1. The set is closed (V-AMB-8).
const (
	KindShell     ToolKind = "shell"
	KindFileRead  ToolKind = "file_read"
	KindFileWrite ToolKind = "file_write"
	KindFileEdit  ToolKind = "file_edit"
	KindSearch    ToolKind = "search"
	KindFetch     ToolKind = "fetch"
	KindTask      ToolKind = "task"
	KindMCP       ToolKind = "mcp"
	KindOther     ToolKind = "other"
)

// Known reports whether k is a tool kind of revision 0.1.
func (k ToolKind) Known() bool {
	switch k {
	case KindShell, KindFileRead, KindFileWrite, KindFileEdit, KindSearch,
		KindFetch, KindTask, KindMCP, KindOther:
		return true
	}
	return false
}

// Outcome says how a session ended, where the harness knows.
type Outcome string

// The outcomes of a session.end event.
const (
	OutcomeCompleted Outcome = "completed"
	OutcomeCancelled Outcome = "cancelled"
	OutcomeError     Outcome = "error"
	OutcomeUnknown   Outcome = "unknown"
)

// Known reports whether o is an outcome of revision 0.1.
func (o Outcome) Known() bool {
	switch o {
	case OutcomeCompleted, OutcomeCancelled, OutcomeError, OutcomeUnknown:
		return true
	}
	return false
}

// An Event describes an operation or a moment in an agent's life (AHP 0.1
// section 3, AHP draft section 3). An Event that came out of a codec is valid for
// its revision; one that a program builds is checked when it is encoded. What its
// revision cannot say must be absent then.
type Event struct {
	ID      string    // globally unique, equal on every retry (V-EVT-1)
	Source  string    // URI of the harness installation or instance
	Type    EventType //
	Time    string    // RFC 3339, as sent; when the harness created the event
	Session Session   // without an ID there is none, which only draft allows (D-EVT-4)
	Tool    *Tool     // present exactly on events of a type that [EventType.HasTool]
	Outcome Outcome   // session.end only; empty when absent

	// The members up to Body belong to revision draft.

	Turn   *Turn
	Parent string // parentEventId: an event of the same source (D-LIN-1); empty when absent
	// Messages are the canonical messages of the event: its items, or those in its
	// message object. Nil when absent; an empty list is not nil.
	Messages []Message
	// Parts are the event's items on types whose items are plain parts. Nil when
	// absent.
	Parts       []Part
	Gaps        []Gap // nil when absent
	Synthesized *bool // the event's id was made up by an adapter (D-EVT-5)
	// Body holds what only this type of event has. It is nil on tool.before, and in
	// revision 0.1.
	Body Body

	// Native is the vendor's own payload; nil unless local policy turned it on
	// (V-NAT-1, D-NAT-1). No core effect depends on it.
	Native *Native
	// NativeOther is a native member of revision draft that has another shape
	// (D-AMB-2): any JSON. Nil when absent, and when Native is not nil.
	NativeOther Raw

	// Extensions holds the members of the extensions object: reverse-DNS names
	// (AHP-EXT-001). HasExtensions tells an empty object from an absent one.
	Extensions    Members
	HasExtensions bool

	Unknown Members // members outside the protocol, kept token for token
}

// Session says in which agent session an event happened. All but ID is optional;
// an administrator can have every optional field dropped (V-EVT-3, D-EVT-9).
type Session struct {
	ID             string
	CWD            string   // working directory when the event was made
	WorkspaceRoots []string // nil when absent
	Model          string
	Agent          *Agent // the current subagent, nil in the main one
	Synthesized    *bool  // draft only
	Unknown        Members
}

// Agent names a subagent.
type Agent struct {
	ID      string
	Type    string // vendor-defined; may be empty
	Unknown Members
}

// ToolOrigin says where a tool comes from (AHP draft section 4.1).
type ToolOrigin string

// The origins of a tool.
const (
	OriginNative ToolOrigin = "native" // the harness's own
	OriginMCP    ToolOrigin = "mcp"    // an MCP server's; Server is required
)

// Tool is one tool call (AHP 0.1 section 3.3; AHP draft section 4.1 and the call,
// path and batch members beside tool).
type Tool struct {
	CallID string   // the same in all events of one invocation (V-TOOL-1, D-TE-4)
	Name   string   // exactly as the harness shows it
	Kind   ToolKind // 0.1: required, one of the known ones; draft: any, empty when absent
	Input  Raw      // a JSON object, never a string of JSON (V-TOOL-3)
	Output Raw      // tool.after only; any JSON; nil when absent or redacted away
	Error  Raw      // tool.error only; an object with a message member (V-AMB-7)
	MCP    Raw      // 0.1 only: an object with facts on server and tool; nil when absent

	// The members up to Batch belong to revision draft.

	Origin          ToolOrigin
	Server          *MCPServer // exactly with OriginMCP
	CallSynthesized *bool
	Path            string // the covered tool path, "native" for example (D-TOOL-2)
	Batch           *Batch

	Unknown Members // revision 0.1 only: the object is closed in draft
}

// MCPServer says which tool of which MCP server is called (AHP draft section 4.2).
// It holds no credentials, user info, headers or secret arguments (D-MCP-1). The
// object and all in it are closed.
type MCPServer struct {
	ID, Name   string // exact identity; Name is empty when absent
	ToolName   string // at the server
	Provenance string // runtime, inferred
	Connection MCPConnection
}

// MCPConnection is how the harness reaches an MCP server. A location that is not
// known, or that was held back, is absent and has a gap with its name as Path
// (D-MCP-2).
type MCPConnection struct {
	Transport string // http, sse, stdio, or "_" and more

	URL         string   // http and sse
	Command     string   // stdio
	Args        []string // stdio; nil when absent
	CWD         string   // stdio
	AddressForm string   // others
	Address     string   // others

	Gaps []Gap // nil when absent
}

// Native is a vendor's own payload. All three fields are required.
type Native struct {
	Provider  string
	EventName string
	Payload   Raw // a JSON object
	Unknown   Members
}
