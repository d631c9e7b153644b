package wiredraft

import "github.com/holdpoint/holdpoint/ahp"

// A field is one member that some event type defines, as a bit of a set, or such a
// set.
type field = uint64

// The members of events beside id, source, type and time.
const (
	fSession field = 1 << iota
	fTurn
	fParent
	fItems
	fGaps
	fNative
	fExtensions
	fSynthesized
	fTrigger
	fResumedFrom
	fHarness
	fPermissionMode
	fManifest
	fOutcome
	fReason
	fCounters
	fExpandedFrom
	fContinuationCount
	fLastAssistantItem
	fUsage
	fError
	fItem
	fDelta
	fFinal
	fModel
	fAttempt
	fParams
	fExecution
	fFinishReason
	fLatencyMs
	fRecovery
	fCurrent
	fProposed
	fPrevious
	fPricing
	fCall
	fTool
	fPath
	fBatch
	fSuggestions
	fSandboxBypass
	fDecision
	fDecidedBy
	fPartialOutput
	fBackgrounded
	fDurationMs
	fFileChanges
	fCalls
	fInstructions
	fTokenCounts
	fSummary
	fRemoved
	fChange
	fTask
	fWorkspace
	fChanges
	fAttention
	fElicitation
	fMessage
	fFailure
)

// fieldInfo names the fields, in the order of their bits, and says what belongs there.
var fieldInfo = [...]struct{ name, expected string }{
	{"session", "an object with the session's id"},
	{"turn", "an object with the turn's id"},
	{"parentEventId", nonEmpty},
	{"items", "an array"},
	{"gaps", "an array of gaps"},
	{"native", "any JSON"},
	{"extensions", "an object"},
	{"synthesized", "true or false"},
	{"trigger", "what began it"},
	{"resumedFrom", "an object with the id of the earlier session"},
	{"harness", "an object with name and version"},
	{"permissionMode", nonEmpty},
	{"manifest", "a capability manifest"},
	{"outcome", "an outcome"},
	{"reason", nonEmpty},
	{"counters", "an object of integers from 0"},
	{"expandedFrom", nonEmpty},
	{"continuationCount", "an integer from 0"},
	{"lastAssistantItem", "an object with the item's id"},
	{"usage", "an object with kind, scope, completeness and provenance"},
	{"error", "an object with class and message"},
	{"item", "an object with the item's id"},
	{"delta", "a canonical message"},
	{"final", "true or false"},
	{"model", "an object with id and provider"},
	{"attempt", "an object with id and number"},
	{"params", "an object: the provider's own parameters"},
	{"execution", "an object with status"},
	{"finishReason", nonEmpty},
	{"latencyMs", "a number from 0"},
	{"recovery", nonEmpty},
	{"current", "an object with id and provider"},
	{"proposed", "an object with id and provider"},
	{"previous", "an object with id and provider"},
	{"pricing", "an object with currency"},
	{"call", "an object with the call's id"},
	{"tool", "an object with name, origin and input"},
	{"path", nonEmpty},
	{"batch", "an object with the batch's id"},
	{"suggestions", "an array of objects"},
	{"sandboxBypass", "true or false"},
	{"decision", "allow or deny"},
	{"decidedBy", "user, policy, hook, auto or classifier"},
	{"partialOutput", "a canonical message"},
	{"backgrounded", "true or false"},
	{"durationMs", "a number from 0"},
	{"fileChanges", "an array of file changes"},
	{"calls", "an array of resolved calls"},
	{"instructions", "an array of text parts"},
	{"tokenCounts", "an object of counts"},
	{"summary", "an array of text parts"},
	{"removed", "an array of objects with an id"},
	{"change", "an object that describes the change"},
	{"task", "an object that describes the task"},
	{"workspace", "an object that describes the change"},
	{"changes", "an array of file changes"},
	{"attention", "an object with kind, message and title"},
	{"elicitation", "an object with server and mode"},
	{"message", "an object with channel and messages"},
	{"failure", "an object with backendId, reason and policy"},
}

const nonEmpty = "a string that is not empty"

func fieldOf(name []byte) field {
	switch string(name) {
	case "session":
		return fSession
	case "turn":
		return fTurn
	case "parentEventId":
		return fParent
	case "items":
		return fItems
	case "gaps":
		return fGaps
	case "native":
		return fNative
	case "extensions":
		return fExtensions
	case "synthesized":
		return fSynthesized
	case "trigger":
		return fTrigger
	case "resumedFrom":
		return fResumedFrom
	case "harness":
		return fHarness
	case "permissionMode":
		return fPermissionMode
	case "manifest":
		return fManifest
	case "outcome":
		return fOutcome
	case "reason":
		return fReason
	case "counters":
		return fCounters
	case "expandedFrom":
		return fExpandedFrom
	case "continuationCount":
		return fContinuationCount
	case "lastAssistantItem":
		return fLastAssistantItem
	case "usage":
		return fUsage
	case "error":
		return fError
	case "item":
		return fItem
	case "delta":
		return fDelta
	case "final":
		return fFinal
	case "model":
		return fModel
	case "attempt":
		return fAttempt
	case "params":
		return fParams
	case "execution":
		return fExecution
	case "finishReason":
		return fFinishReason
	case "latencyMs":
		return fLatencyMs
	case "recovery":
		return fRecovery
	case "current":
		return fCurrent
	case "proposed":
		return fProposed
	case "previous":
		return fPrevious
	case "pricing":
		return fPricing
	case "call":
		return fCall
	case "tool":
		return fTool
	case "path":
		return fPath
	case "batch":
		return fBatch
	case "suggestions":
		return fSuggestions
	case "sandboxBypass":
		return fSandboxBypass
	case "decision":
		return fDecision
	case "decidedBy":
		return fDecidedBy
	case "partialOutput":
		return fPartialOutput
	case "backgrounded":
		return fBackgrounded
	case "durationMs":
		return fDurationMs
	case "fileChanges":
		return fFileChanges
	case "calls":
		return fCalls
	case "instructions":
		return fInstructions
	case "tokenCounts":
		return fTokenCounts
	case "summary":
		return fSummary
	case "removed":
		return fRemoved
	case "change":
		return fChange
	case "task":
		return fTask
	case "workspace":
		return fWorkspace
	case "changes":
		return fChanges
	case "attention":
		return fAttention
	case "elicitation":
		return fElicitation
	case "message":
		return fMessage
	case "failure":
		return fFailure
	}
	return 0
}

// A shape is one row of the event catalogue (AHP draft section 6). Members that are in
// none of its sets are outside the protocol for events of this type.
type shape struct {
	typ       ahp.EventType
	required  field
	optional  field
	forbidden field
	messages  bool // items are canonical messages, not parts
	turnOpen  bool // the turn object is open (AHP draft section 3.1)
}

func (s *shape) defines(f field) bool { return (s.required|s.optional)&f != 0 }

const (
	fAlways = fSession | fTurn | fParent | fItems | fGaps | fNative | fExtensions | fSynthesized
	fOfTool = fCall | fTool | fPath
)

var shapes = func() map[string]*shape {
	rows := []shape{
		{
			typ: ahp.SessionStart, required: fSession | fTrigger | fHarness | fPermissionMode | fManifest | fItems,
			optional: fResumedFrom, forbidden: fTool | fOutcome, messages: true, turnOpen: true,
		},
		{
			typ: ahp.SessionEnd, required: fSession | fOutcome | fReason, optional: fCounters, forbidden: fTool,
			turnOpen: true,
		},
		{typ: ahp.TurnStart, required: fTurn | fTrigger | fItems, optional: fExpandedFrom, messages: true},
		{
			typ: ahp.TurnFinishBefore, required: fTurn | fOutcome | fContinuationCount | fItems,
			optional: fLastAssistantItem | fUsage, messages: true,
		},
		{
			typ: ahp.TurnEnd, required: fTurn | fOutcome | fContinuationCount | fItems,
			optional: fLastAssistantItem | fUsage | fError, messages: true,
		},
		{typ: ahp.TurnProgress, required: fTurn | fItem | fDelta | fFinal},
		{
			typ: ahp.ModelRequestBefore, required: fModel | fAttempt | fParams | fItems,
			forbidden: fUsage | fExecution | fFinishReason | fLatencyMs | fError, messages: true,
		},
		{
			typ: ahp.ModelResponseAfter, required: fModel | fAttempt | fExecution | fItems | fFinishReason,
			optional: fUsage | fLatencyMs, forbidden: fError, messages: true,
		},
		{
			typ: ahp.ModelError, required: fModel | fAttempt | fExecution | fError,
			optional: fUsage | fLatencyMs | fRecovery, forbidden: fFinishReason,
		},
		{
			typ: ahp.ModelSwitchBefore, required: fCurrent | fProposed | fReason, optional: fPricing,
			forbidden: fPrevious,
		},
		{typ: ahp.ModelSwitchAfter, required: fPrevious | fCurrent | fReason, forbidden: fProposed},
		{
			typ: ahp.ToolBefore, required: fOfTool, optional: fBatch,
			forbidden: fOutcome | fExecution | fDurationMs | fFileChanges, turnOpen: true,
		},
		{
			typ: ahp.ToolPermissionRequest, required: fOfTool | fSuggestions | fSandboxBypass, optional: fBatch,
			forbidden: fDecision | fDecidedBy | fOutcome | fExecution,
		},
		{typ: ahp.ToolPermissionResolved, required: fOfTool | fDecision | fDecidedBy, optional: fBatch},
		{
			typ: ahp.ToolProgress, required: fOfTool | fPartialOutput | fBackgrounded, optional: fBatch,
			forbidden: fOutcome | fExecution,
		},
		{
			typ: ahp.ToolAfter, required: fOfTool | fOutcome | fExecution | fItems,
			optional: fBatch | fError | fDurationMs | fFileChanges, messages: true, turnOpen: true,
		},
		{typ: ahp.ToolBatchAfter, required: fBatch | fCalls},
		{
			typ: ahp.CompactBefore, required: fTrigger | fItems, optional: fInstructions | fTokenCounts,
			forbidden: fSummary | fRemoved | fExecution, messages: true,
		},
		{
			typ: ahp.CompactAfter, required: fSummary | fRemoved | fExecution, optional: fTokenCounts,
			messages: true,
		},
		{typ: ahp.ConfigChangeBefore, required: fChange, turnOpen: true},
		{typ: ahp.ConfigChangeAfter, required: fChange, turnOpen: true},
		{typ: ahp.TaskChangeBefore, required: fTask, turnOpen: true},
		{typ: ahp.TaskChangeAfter, required: fTask, turnOpen: true},
		{typ: ahp.WorkspaceChangeBefore, required: fWorkspace, turnOpen: true},
		{typ: ahp.WorkspaceChangeAfter, required: fWorkspace, turnOpen: true},
		{typ: ahp.FileChanged, required: fChanges, turnOpen: true},
		{typ: ahp.UserAttention, required: fAttention, turnOpen: true},
		{typ: ahp.ElicitationRequest, required: fElicitation, turnOpen: true},
		{typ: ahp.ElicitationResult, required: fElicitation, turnOpen: true},
		{typ: ahp.MessageInbound, required: fMessage, turnOpen: true},
		{typ: ahp.MessageOutbound, required: fMessage, turnOpen: true},
		{typ: ahp.HookFailure, required: fFailure | fParent, turnOpen: true},
	}
	m := make(map[string]*shape, len(rows))
	for i := range rows {
		rows[i].optional |= fAlways &^ rows[i].required
		m[string(rows[i].typ)] = &rows[i]
	}
	return m
}()

// newBody returns an empty body for events of type t, or nil where there is none.
func newBody(t ahp.EventType) ahp.Body {
	switch t {
	case ahp.SessionStart:
		return new(ahp.SessionStartBody)
	case ahp.SessionEnd:
		return new(ahp.SessionEndBody)
	case ahp.TurnStart:
		return new(ahp.TurnStartBody)
	case ahp.TurnFinishBefore, ahp.TurnEnd:
		return new(ahp.TurnFinishBody)
	case ahp.TurnProgress:
		return new(ahp.TurnProgressBody)
	case ahp.ModelRequestBefore:
		return new(ahp.ModelRequestBody)
	case ahp.ModelResponseAfter:
		return new(ahp.ModelResponseBody)
	case ahp.ModelError:
		return new(ahp.ModelErrorBody)
	case ahp.ModelSwitchBefore, ahp.ModelSwitchAfter:
		return new(ahp.ModelSwitchBody)
	case ahp.ToolPermissionRequest:
		return new(ahp.PermissionRequestBody)
	case ahp.ToolPermissionResolved:
		return new(ahp.PermissionResolvedBody)
	case ahp.ToolProgress:
		return new(ahp.ToolProgressBody)
	case ahp.ToolAfter:
		return new(ahp.ToolAfterBody)
	case ahp.ToolBatchAfter:
		return new(ahp.BatchBody)
	case ahp.CompactBefore:
		return new(ahp.CompactBeforeBody)
	case ahp.CompactAfter:
		return new(ahp.CompactAfterBody)
	case ahp.ConfigChangeBefore, ahp.ConfigChangeAfter:
		return new(ahp.ConfigChangeBody)
	case ahp.TaskChangeBefore, ahp.TaskChangeAfter:
		return new(ahp.TaskChangeBody)
	case ahp.WorkspaceChangeBefore, ahp.WorkspaceChangeAfter:
		return new(ahp.WorkspaceChangeBody)
	case ahp.FileChanged:
		return new(ahp.FileChangedBody)
	case ahp.UserAttention:
		return new(ahp.AttentionBody)
	case ahp.ElicitationRequest, ahp.ElicitationResult:
		return new(ahp.ElicitationBody)
	case ahp.MessageInbound, ahp.MessageOutbound:
		return new(ahp.UserMessageBody)
	case ahp.HookFailure:
		return new(ahp.HookFailureBody)
	case ahp.ToolBefore, ahp.ToolError:
	}
	return nil
}
