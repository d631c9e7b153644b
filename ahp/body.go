package ahp

// A Body holds what events of one type carry beside the members that several types
// share (AHP draft section 6). Revision 0.1 has none. The set is closed; which
// type an event type has is said at each.
//
//sumtype:decl
type Body interface{ body() }

// A Ref names something by an id that is stable for the thing's life. The object
// is closed.
type Ref struct {
	ID          string // not empty
	Synthesized *bool  // true when an adapter made the id up (D-EVT-5)
}

// A Turn names the turn that an event belongs to (AHP draft section 3.1).
type Turn struct {
	ID          string
	Synthesized *bool
	Unknown     Members // empty where the object is closed
}

// A Batch names the batch that a tool call belongs to. The object is closed.
type Batch struct {
	ID          string
	CallIDs     []string // not empty, no repeats; nil on tool.batch.after
	Synthesized *bool
}

// A Model names a model at its provider. The object is closed.
type Model struct {
	ID       string
	Provider string
}

// An Attempt is one try at a provider; a new try has a new id (D-MOD-1). The
// object is closed.
type Attempt struct {
	ID          string
	Number      int64 // from 1
	Synthesized *bool
}

// SkipReason says why something did not run.
type SkipReason string

// The reasons for which work is skipped.
const (
	SkipSupplied  SkipReason = "supplied_result" // a return effect gave the result
	SkipPolicy    SkipReason = "policy"
	SkipCancelled SkipReason = "cancelled"
	SkipTimeout   SkipReason = "timeout"
	SkipOther     SkipReason = "other"
)

// Known reports whether r is one of the five reasons.
func (r SkipReason) Known() bool {
	switch r {
	case SkipSupplied, SkipPolicy, SkipCancelled, SkipTimeout, SkipOther:
		return true
	}
	return false
}

// An Execution says whether work ran (AHP draft section 4.3). With an empty Skipped
// it was executed.
type Execution struct {
	Skipped SkipReason
	Detail  string // only with a Skipped other than supplied_result
}

// ToolOutcome says how a tool call ended.
type ToolOutcome string

// The outcomes of a tool call.
const (
	ToolOK        ToolOutcome = "ok"
	ToolFailed    ToolOutcome = "error"
	ToolDenied    ToolOutcome = "denied"
	ToolCancelled ToolOutcome = "cancelled"
	ToolTimeout   ToolOutcome = "timeout"
)

// Known reports whether o is one of the five outcomes.
func (o ToolOutcome) Known() bool {
	switch o {
	case ToolOK, ToolFailed, ToolDenied, ToolCancelled, ToolTimeout:
		return true
	}
	return false
}

// TurnOutcome says how a turn ends.
type TurnOutcome string

// The outcomes of a turn.
const (
	TurnCompleted     TurnOutcome = "completed"
	TurnFailed        TurnOutcome = "failed"
	TurnCancelled     TurnOutcome = "cancelled"
	TurnMaxIterations TurnOutcome = "max_iterations"
)

// Known reports whether o is one of the four outcomes.
func (o TurnOutcome) Known() bool {
	switch o {
	case TurnCompleted, TurnFailed, TurnCancelled, TurnMaxIterations:
		return true
	}
	return false
}

// An EventError is an error that an event tells about (AHP draft section 4.4). The
// object is closed.
type EventError struct {
	Class   string // not empty
	Message string // not empty
	Code    string // empty when absent
	Status  Raw    // a non-empty string or an integer; nil when absent
	Native  Raw    // any JSON; nil when absent
}

// Usage is an account of tokens and cost (AHP draft section 4.4). A count that is
// nil is unknown, not zero (D-ACC-1). The object is closed.
type Usage struct {
	Kind         string // amount (of an attempt) or total (of a turn)
	Scope        string // attempt or turn
	Completeness string // complete, partial, unknown
	Provenance   string // provider, estimate, mixed

	InputTokens, OutputTokens, CacheReadTokens, CacheWriteTokens *int64

	Cost *Cost
}

// Cost is an amount of money. All three are required; the object is closed.
type Cost struct {
	Amount   Raw    // a number from 0, token for token
	Currency string // three upper-case letters
	Basis    string // billed, reported, estimated
}

// Pricing is what a model costs; it is no bill (D-ACC-5). The object is closed.
type Pricing struct {
	Currency               string // three upper-case letters
	InputPerMillionTokens  Raw    // a number from 0; nil when absent
	OutputPerMillionTokens Raw
}

// TokenCounts are sizes of a context. The object is closed.
type TokenCounts struct{ Before, After *int64 }

// A ChangedFile is one file that a tool call changed (AHP draft section 4.4). The
// object is closed.
type ChangedFile struct {
	Path         string
	Change       string // created, modified, deleted, moved
	PreviousPath string // required for moved
	Before       *Part  // not with created
	After        *Part  // not with deleted
}

// SessionStartBody belongs to session.start. The event's Messages are its items.
type SessionStartBody struct {
	Trigger        string // startup, resume, clear, compact, fork
	ResumedFrom    *Ref   // required for clear and fork
	Harness        Product
	PermissionMode string // not empty, harness-defined
	Manifest       Manifest
}

// A Product is a program and its version. The object is closed.
type Product struct{ Name, Version string }

// SessionEndBody belongs to session.end. The event's Outcome is required there.
type SessionEndBody struct {
	Reason   string
	Counters []Counter // nil when absent
}

// A Counter is a named count from 0.
type Counter struct {
	Name  string
	Count int64
}

// TurnStartBody belongs to turn.start.
type TurnStartBody struct {
	Trigger      string // user, continuation, hook, external
	ExpandedFrom string // empty when absent
}

// TurnFinishBody belongs to turn.finish.before and turn.end.
type TurnFinishBody struct {
	Outcome           TurnOutcome
	ContinuationCount int64
	LastAssistantItem *Ref
	Usage             *Usage      // of the turn
	Error             *EventError // turn.end only; not with outcome completed
}

// TurnProgressBody belongs to turn.progress.
type TurnProgressBody struct {
	Item  Ref
	Delta Message
	Final bool
}

// ModelRequestBody belongs to model.request.before.
type ModelRequestBody struct {
	Model   Model
	Attempt Attempt
	Params  Raw // an object in the provider's own form
}

// ModelResponseBody belongs to model.response.after.
type ModelResponseBody struct {
	Model        Model
	Attempt      Attempt
	Execution    Execution // skipped only as supplied_result
	FinishReason string
	Usage        *Usage // of the attempt; not when skipped (D-ACC-3)
	LatencyMs    Raw    // a number from 0; nil when absent or skipped
}

// ModelErrorBody belongs to model.error.
type ModelErrorBody struct {
	Model     Model
	Attempt   Attempt
	Execution Execution // executed
	Error     EventError
	Usage     *Usage
	LatencyMs Raw
	Recovery  string
}

// ModelSwitchBody belongs to model.switch.before (Current, Proposed, Pricing) and
// model.switch.after (Previous, Current).
type ModelSwitchBody struct {
	Previous *Model
	Current  Model
	Proposed *Model
	Reason   string
	Pricing  *Pricing
}

// PermissionRequestBody belongs to tool.permission.request.
type PermissionRequestBody struct {
	Suggestions   []Raw // objects, opaque; may be empty
	SandboxBypass bool
}

// PermissionResolvedBody belongs to tool.permission.resolved.
type PermissionResolvedBody struct {
	Decision  string // allow, deny
	DecidedBy string // user, policy, hook, auto, classifier
}

// ToolProgressBody belongs to tool.progress.
type ToolProgressBody struct {
	PartialOutput Message
	Backgrounded  bool
}

// ToolAfterBody belongs to tool.after in revision draft; revision 0.1 has
// [Tool.Output] instead. The event's Messages are its items.
type ToolAfterBody struct {
	Outcome     ToolOutcome
	Execution   Execution
	Error       *EventError   // exactly with outcome error
	DurationMs  Raw           // a number from 0; nil when absent or skipped
	FileChanges []ChangedFile // nil when absent or skipped
}

// BatchBody belongs to tool.batch.after.
type BatchBody struct {
	Batch Batch // without CallIDs
	Calls []BatchCall
}

// A BatchCall is one resolved call of a batch. The object is closed.
type BatchCall struct {
	Tool      Tool // call, tool, path and batch
	Outcome   ToolOutcome
	Execution Execution
}

// CompactBeforeBody belongs to context.compact.before.
type CompactBeforeBody struct {
	Trigger      string // auto, manual, hook
	Instructions []Part // text; nil when absent
	TokenCounts  *TokenCounts
}

// CompactAfterBody belongs to context.compact.after.
type CompactAfterBody struct {
	Summary     []Part    // text
	Removed     []string  // ids of items; a proposal (D-CMP-4)
	Execution   Execution // skipped only as supplied_result
	TokenCounts *TokenCounts
}

// ConfigChangeBody belongs to config.change.before and config.change.after. The
// object is closed.
type ConfigChangeBody struct {
	Source, Scope, Summary string
	Settings               []string
	Path                   string
	MCPServers             []Raw // config.change.after only; objects; nil when absent
}

// TaskChangeBody belongs to task.change.before and task.change.after.
type TaskChangeBody struct {
	ID          string
	Operation   string // create, update, remove
	Change      Raw    // an object
	Prior       Raw    // an object; nil when absent
	Description *string
	Synthesized *bool
}

// WorkspaceChangeBody belongs to workspace.change.before and
// workspace.change.after.
type WorkspaceChangeBody struct {
	Kind   string // cwd, roots, switch
	Change WorkspaceState
	Prior  *WorkspaceState
	Reason *string
}

// A WorkspaceState has at least one of its members. The object is closed.
type WorkspaceState struct {
	CWD            string   // empty when absent
	WorkspaceRoots []string // nil when absent; empty means that all were removed
}

// FileChangedBody belongs to file.changed. It has at least one entry.
type FileChangedBody struct{ Changes []FileChange }

// A FileChange is one real change of a file. The object is closed.
type FileChange struct {
	Path          string
	Operation     string // create, update, remove
	AgentCaused   bool
	Before, After *Part
}

// AttentionBody belongs to user.attention: a notice, no approval (D-PAY-3).
type AttentionBody struct {
	Kind           string
	Message, Title []Part // text; may be empty
}

// ElicitationBody belongs to user.elicitation.request and user.elicitation.result.
type ElicitationBody struct {
	Server string // the asking server, never the answering user (D-EL-6)
	Mode   string // form, url
	Action string // result only: accept, decline, cancel
	// Content is the one text part of the request or the result; nil when absent.
	// Its text is JSON of MCP.
	Content *Part
}

// UserMessageBody belongs to user.message.inbound and user.message.outbound. Its
// messages are the event's Messages.
type UserMessageBody struct {
	Channel string
	Sender  string // inbound only, required there
}

// HookFailureBody belongs to hook.failure.
type HookFailureBody struct {
	BackendID string
	Reason    string
	Policy    FailurePolicy
}

func (*SessionStartBody) body()       {}
func (*SessionEndBody) body()         {}
func (*TurnStartBody) body()          {}
func (*TurnFinishBody) body()         {}
func (*TurnProgressBody) body()       {}
func (*ModelRequestBody) body()       {}
func (*ModelResponseBody) body()      {}
func (*ModelErrorBody) body()         {}
func (*ModelSwitchBody) body()        {}
func (*PermissionRequestBody) body()  {}
func (*PermissionResolvedBody) body() {}
func (*ToolProgressBody) body()       {}
func (*ToolAfterBody) body()          {}
func (*BatchBody) body()              {}
func (*CompactBeforeBody) body()      {}
func (*CompactAfterBody) body()       {}
func (*ConfigChangeBody) body()       {}
func (*TaskChangeBody) body()         {}
func (*WorkspaceChangeBody) body()    {}
func (*FileChangedBody) body()        {}
func (*AttentionBody) body()          {}
func (*ElicitationBody) body()        {}
func (*UserMessageBody) body()        {}
func (*HookFailureBody) body()        {}
