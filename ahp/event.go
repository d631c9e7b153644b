package ahp

// EventType names what is about to happen or has happened (AHP 0.1 section 3.5).
type EventType string

// The event types of revision 0.1. Only [ToolBefore] can be intercepted.
const (
	ToolBefore   EventType = "tool.before"
	ToolAfter    EventType = "tool.after"
	ToolError    EventType = "tool.error"
	SessionStart EventType = "session.start"
	SessionEnd   EventType = "session.end"
)

// Known reports whether t is an event type of revision 0.1.
func (t EventType) Known() bool {
	switch t {
	case ToolBefore, ToolAfter, ToolError, SessionStart, SessionEnd:
		return true
	}
	return false
}

// HasTool reports whether events of this type carry a [Tool].
func (t EventType) HasTool() bool {
	return t == ToolBefore || t == ToolAfter || t == ToolError
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
// section 3). An Event that came out of a codec is valid for its revision; one
// that a program builds is checked when it is encoded.
type Event struct {
	ID      string    // globally unique, equal on every retry (V-EVT-1)
	Source  string    // URI of the harness installation or instance
	Type    EventType //
	Time    string    // RFC 3339, as sent; when the harness created the event
	Session Session   //
	Tool    *Tool     // present exactly on tool events
	Outcome Outcome   // session.end only; empty when absent

	// Native is the vendor's own payload; nil unless local policy turned it on
	// (V-NAT-1). No core effect depends on it.
	Native *Native

	// Extensions holds the members of the extensions object: reverse-DNS names
	// (AHP-EXT-001). HasExtensions tells an empty object from an absent one.
	Extensions    Members
	HasExtensions bool

	Unknown Members // members outside the protocol, kept token for token
}

// Session says in which agent session an event happened. All but ID is optional;
// an administrator can have every optional field dropped (V-EVT-3).
type Session struct {
	ID             string
	CWD            string   // working directory when the event was made
	WorkspaceRoots []string // nil when absent
	Model          string
	Agent          *Agent // the current subagent, nil in the main one
	Unknown        Members
}

// Agent names a subagent.
type Agent struct {
	ID      string
	Type    string // vendor-defined; may be empty
	Unknown Members
}

// Tool is one tool call (AHP 0.1 section 3.3).
type Tool struct {
	CallID string   // the same in all events of one invocation (V-TOOL-1)
	Name   string   // exactly as the harness shows it
	Kind   ToolKind //
	Input  Raw      // a JSON object, never a string of JSON (V-TOOL-3)
	Output Raw      // tool.after only; any JSON; nil when absent or redacted away
	Error  Raw      // tool.error only; an object with a message member (V-AMB-7)
	MCP    Raw      // an object with facts on server and tool; nil when absent

	Unknown Members
}

// Native is a vendor's own payload. All three fields are required.
type Native struct {
	Provider  string
	EventName string
	Payload   Raw // a JSON object
	Unknown   Members
}
