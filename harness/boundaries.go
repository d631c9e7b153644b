package harness

import "github.com/holdpoint/holdpoint/ahp"

// SessionStart is a session that begins. Messages are its startup instructions (D-SES-1).
type SessionStart struct {
	Base
	Messages []ahp.Message
	ahp.SessionStartBody
}

// Event implements [Boundary].
func (e SessionStart) Event() (*ahp.Event, error) {
	return e.event(ahp.SessionStart, e.Messages, &e.SessionStartBody), nil
}

// Effective implements [Boundary].
func (e SessionStart) Effective(ev *ahp.Event) (SessionStart, error) {
	e.effective(ev)
	e.Messages = ev.Messages
	return e, nil
}

// TurnStart is a turn that begins; its prompt can be changed.
type TurnStart struct {
	Base
	Messages []ahp.Message
	ahp.TurnStartBody
}

// Event implements [Boundary].
func (e TurnStart) Event() (*ahp.Event, error) {
	return e.event(ahp.TurnStart, e.Messages, &e.TurnStartBody), nil
}

// Effective implements [Boundary].
func (e TurnStart) Effective(ev *ahp.Event) (TurnStart, error) {
	e.effective(ev)
	e.Messages = ev.Messages
	return e, nil
}

// TurnFinish is a turn that is about to end, with the response so far (D-TURN-1). ContinuationCount
// counts the steps that settlements have already asked for (D-FLOW-7).
type TurnFinish struct {
	Base
	Messages []ahp.Message
	ahp.TurnFinishBody
}

// Event implements [Boundary].
func (e TurnFinish) Event() (*ahp.Event, error) {
	return e.event(ahp.TurnFinishBefore, e.Messages, &e.TurnFinishBody), nil
}

// Effective implements [Boundary].
func (e TurnFinish) Effective(ev *ahp.Event) (TurnFinish, error) {
	e.effective(ev)
	e.Messages = ev.Messages
	return e, nil
}

// ModelRequest is a request to a model before it is sent.
type ModelRequest struct {
	Base
	Messages []ahp.Message
	ahp.ModelRequestBody
}

// Event implements [Boundary].
func (e ModelRequest) Event() (*ahp.Event, error) {
	return e.event(ahp.ModelRequestBefore, e.Messages, &e.ModelRequestBody), nil
}

// Effective implements [Boundary].
func (e ModelRequest) Effective(ev *ahp.Event) (ModelRequest, error) {
	e.effective(ev)
	e.Messages = ev.Messages
	return e, nil
}

// ModelResponse is a model's response before it is used.
type ModelResponse struct {
	Base
	Messages []ahp.Message
	ahp.ModelResponseBody
}

// Event implements [Boundary].
func (e ModelResponse) Event() (*ahp.Event, error) {
	return e.event(ahp.ModelResponseAfter, e.Messages, &e.ModelResponseBody), nil
}

// Effective implements [Boundary].
func (e ModelResponse) Effective(ev *ahp.Event) (ModelResponse, error) {
	e.effective(ev)
	e.Messages = ev.Messages
	return e, nil
}

// ModelSwitch is a change of the selected model (D-MOD-2).
type ModelSwitch struct {
	Base
	ahp.ModelSwitchBody
}

// Event implements [Boundary].
func (e ModelSwitch) Event() (*ahp.Event, error) {
	return e.event(ahp.ModelSwitchBefore, nil, &e.ModelSwitchBody), nil
}

// Effective implements [Boundary].
func (e ModelSwitch) Effective(ev *ahp.Event) (ModelSwitch, error) {
	e.effective(ev)
	return e, nil
}

// ToolBatch is a batch of which all calls are resolved (D-TE-5).
type ToolBatch struct {
	Base
	ahp.BatchBody
}

// Event implements [Boundary].
func (e ToolBatch) Event() (*ahp.Event, error) {
	return e.event(ahp.ToolBatchAfter, nil, &e.BatchBody), nil
}

// Effective implements [Boundary].
func (e ToolBatch) Effective(ev *ahp.Event) (ToolBatch, error) {
	e.effective(ev)
	return e, nil
}

// CompactBefore is a compaction before the summary is made; its instructions can be
// changed, and the summary supplied (D-CMP-1, D-CMP-3).
type CompactBefore struct {
	Base
	Messages []ahp.Message
	ahp.CompactBeforeBody
}

// Event implements [Boundary].
func (e CompactBefore) Event() (*ahp.Event, error) {
	return e.event(ahp.CompactBefore, e.Messages, &e.CompactBeforeBody), nil
}

// Effective implements [Boundary].
func (e CompactBefore) Effective(ev *ahp.Event) (CompactBefore, error) {
	e.effective(ev)
	e.Messages = ev.Messages
	if b, ok := ev.Body.(*ahp.CompactBeforeBody); ok {
		e.CompactBeforeBody = *b
	}
	return e, nil
}

// CompactAfter is a summary before it is installed (D-CMP-4).
type CompactAfter struct {
	Base
	Messages []ahp.Message
	ahp.CompactAfterBody
}

// Event implements [Boundary].
func (e CompactAfter) Event() (*ahp.Event, error) {
	return e.event(ahp.CompactAfter, e.Messages, &e.CompactAfterBody), nil
}

// Effective implements [Boundary].
func (e CompactAfter) Effective(ev *ahp.Event) (CompactAfter, error) {
	e.effective(ev)
	e.Messages = ev.Messages
	if b, ok := ev.Body.(*ahp.CompactAfterBody); ok {
		e.CompactAfterBody = *b
	}
	return e, nil
}

// ConfigChange is a proposed change of the configuration.
type ConfigChange struct {
	Base
	ahp.ConfigChangeBody
}

// Event implements [Boundary].
func (e ConfigChange) Event() (*ahp.Event, error) {
	return e.event(ahp.ConfigChangeBefore, nil, &e.ConfigChangeBody), nil
}

// Effective implements [Boundary].
func (e ConfigChange) Effective(ev *ahp.Event) (ConfigChange, error) {
	e.effective(ev)
	return e, nil
}

// TaskChange is a proposed change of one task, built after the enclosing interception
// (D-TASK-4).
type TaskChange struct {
	Base
	ahp.TaskChangeBody
}

// Event implements [Boundary].
func (e TaskChange) Event() (*ahp.Event, error) {
	return e.event(ahp.TaskChangeBefore, nil, &e.TaskChangeBody), nil
}

// Effective implements [Boundary].
func (e TaskChange) Effective(ev *ahp.Event) (TaskChange, error) {
	e.effective(ev)
	return e, nil
}

// WorkspaceChange is a proposed change of the workspace; what is proposed can be
// changed (D-AMB-7).
type WorkspaceChange struct {
	Base
	ahp.WorkspaceChangeBody
}

// Event implements [Boundary].
func (e WorkspaceChange) Event() (*ahp.Event, error) {
	return e.event(ahp.WorkspaceChangeBefore, nil, &e.WorkspaceChangeBody), nil
}

// Effective implements [Boundary].
func (e WorkspaceChange) Effective(ev *ahp.Event) (WorkspaceChange, error) {
	e.effective(ev)
	if b, ok := ev.Body.(*ahp.WorkspaceChangeBody); ok {
		e.WorkspaceChangeBody = *b
	}
	return e, nil
}

// ElicitationRequest is an MCP server's question to the user (AHP draft section 26).
type ElicitationRequest struct {
	Base
	ahp.ElicitationBody
}

// Event implements [Boundary].
func (e ElicitationRequest) Event() (*ahp.Event, error) {
	return e.event(ahp.ElicitationRequest, nil, &e.ElicitationBody), nil
}

// Effective implements [Boundary].
func (e ElicitationRequest) Effective(ev *ahp.Event) (ElicitationRequest, error) {
	e.effective(ev)
	return e, nil
}

// ElicitationResult is the answer before it is handed on; Parent names the request
// (D-EL-7).
type ElicitationResult struct {
	Base
	ahp.ElicitationBody
}

// Event implements [Boundary].
func (e ElicitationResult) Event() (*ahp.Event, error) {
	return e.event(ahp.ElicitationResult, nil, &e.ElicitationBody), nil
}

// Effective implements [Boundary].
func (e ElicitationResult) Effective(ev *ahp.Event) (ElicitationResult, error) {
	e.effective(ev)
	if b, ok := ev.Body.(*ahp.ElicitationBody); ok {
		e.ElicitationBody = *b
	}
	return e, nil
}

// MessageInbound is a message from outside before it is taken in. All messages have role
// user, which claims no human (D-PAY-2).
type MessageInbound struct {
	Base
	Messages []ahp.Message
	ahp.UserMessageBody
}

// Event implements [Boundary].
func (e MessageInbound) Event() (*ahp.Event, error) {
	return e.event(ahp.MessageInbound, e.Messages, &e.UserMessageBody), nil
}

// Effective implements [Boundary].
func (e MessageInbound) Effective(ev *ahp.Event) (MessageInbound, error) {
	e.effective(ev)
	e.Messages = ev.Messages
	return e, nil
}

// MessageOutbound is a message to the outside before it is sent. All messages have role
// assistant.
type MessageOutbound struct {
	Base
	Messages []ahp.Message
	ahp.UserMessageBody
}

// Event implements [Boundary].
func (e MessageOutbound) Event() (*ahp.Event, error) {
	return e.event(ahp.MessageOutbound, e.Messages, &e.UserMessageBody), nil
}

// Effective implements [Boundary].
func (e MessageOutbound) Effective(ev *ahp.Event) (MessageOutbound, error) {
	e.effective(ev)
	e.Messages = ev.Messages
	return e, nil
}
