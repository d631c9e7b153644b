package harness

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

// ErrNoFollowUp means that no after event is owed, or that this program cannot make it.
var ErrNoFollowUp = errors.New("there is no event to follow up with")

// Link makes after a child of before: its parent, and where after has none its source,
// session and turn (D-LIN-4). Use it for after events whose before was settled, and
// for a proposal inside a tool call.
func Link(after, before *ahp.Event) {
	after.Parent = before.ID
	if after.Source == "" {
		after.Source = before.Source
	}
	if after.Session.ID == "" {
		after.Session = before.Session
	}
	if after.Turn == nil {
		after.Turn = before.Turn
	}
}

// ResolveTool makes the tool.after of a call that did not run (D-TE-2): denied or not
// approved, stopped (D-AMB-23), or with a supplied result, whose text stands in one
// tool message (D-TE-3, D-RET-6). It is about the settlement's effective event, and
// nothing in it says which subscription decided (D-RET-5). For a call that may run,
// and for one that was interrupted, where the host knows what became of it, it returns
// [ErrNoFollowUp]; [ToolDone] makes the former.
func ResolveTool(s settle.Settlement) (ToolAfter, error) {
	before := s.Event
	if before == nil || before.Type != ahp.ToolBefore || before.Tool == nil {
		return ToolAfter{}, ErrNoFollowUp
	}
	a := toolAfter(before)
	switch s.State {
	case settle.Denied, settle.Ask:
		a.Outcome, a.Execution = ahp.ToolDenied, ahp.Execution{Skipped: ahp.SkipPolicy}
		a.Messages = []ahp.Message{}
	case settle.Stopped:
		a.Outcome = ahp.ToolCancelled
		a.Execution = ahp.Execution{Skipped: ahp.SkipCancelled, Detail: "a control stopped the run"}
		a.Messages = []ahp.Message{}
	case settle.Supplied:
		if s.Candidate == nil {
			return ToolAfter{}, ErrNoFollowUp
		}
		a.Outcome, a.Execution = ahp.ToolOK, ahp.Execution{Skipped: ahp.SkipSupplied}
		a.Messages = []ahp.Message{ahp.TextMessage(NewID(), ahp.RoleTool, resultText(s.Candidate.JSON))}
	case settle.Proceed, settle.Interrupted:
		return ToolAfter{}, ErrNoFollowUp
	default:
		return ToolAfter{}, ErrNoFollowUp
	}
	return a, nil
}

// ToolDone makes the tool.after of a call that ran, with what came of it. before is
// the effective event, as the settlement has it. An outcome of error needs failed; all
// others have none.
func ToolDone(before *ahp.Event, outcome ahp.ToolOutcome, failed *ahp.EventError, result ...ahp.Message) ToolAfter {
	a := toolAfter(before)
	a.Outcome, a.Error = outcome, failed
	if a.Messages = result; result == nil {
		a.Messages = []ahp.Message{}
	}
	return a
}

func toolAfter(before *ahp.Event) ToolAfter {
	a := ToolAfter{Base: Base{Parent: before.ID, Session: before.Session, Turn: before.Turn}}
	if before.Tool != nil {
		a.Tool = *before.Tool
	}
	return a
}

// resultText is a supplied result as a model reads it: a string as it is, anything
// else as compact JSON (D-RET-6).
func resultText(r ahp.Raw) string {
	if len(r) > 0 && r[0] == '"' {
		if s, err := jsontext.AppendUnquote(nil, r); err == nil {
			return string(s)
		}
	}
	v := jsontext.Value(bytes.Clone(r))
	if v.Compact() != nil {
		return string(r)
	}
	return string(v)
}

// TaskChanged makes the task.change.after of what was really applied, which may differ
// from the proposal (D-TASK-1). An update that changed nothing is not told
// (D-TASK-5): ok is false.
func TaskChanged(proposal *ahp.Event, applied ahp.TaskChangeBody) (ev *ahp.Event, ok bool) {
	if applied.Operation == "update" && applied.Prior != nil && sameJSON(applied.Change, applied.Prior) {
		return nil, false
	}
	ev = &ahp.Event{Type: ahp.TaskChangeAfter, Body: &applied}
	if proposal != nil {
		Link(ev, proposal)
	}
	return ev, true
}

// WorkspaceChanged makes the workspace.change.after of what was really applied.
func WorkspaceChanged(proposal *ahp.Event, applied ahp.WorkspaceChangeBody) *ahp.Event {
	ev := &ahp.Event{Type: ahp.WorkspaceChangeAfter, Body: &applied}
	if proposal != nil {
		Link(ev, proposal)
	}
	return ev
}

// ConfigChanged makes the config.change.after of what took effect (D-PAY-1).
func ConfigChanged(proposal *ahp.Event, applied ahp.ConfigChangeBody) *ahp.Event {
	ev := &ahp.Event{Type: ahp.ConfigChangeAfter, Body: &applied}
	if proposal != nil {
		Link(ev, proposal)
	}
	return ev
}

// Compacted makes the boundary after a compaction, before its summary is installed:
// with the supplied summary where the settlement has one, which skips generation only
// (D-CMP-3), else with the generated one. [ErrNoFollowUp] means that the settlement
// allows no summary.
func Compacted(s settle.Settlement, generated []ahp.Part, removed []string) (CompactAfter, error) {
	before := s.Event
	if before == nil || before.Type != ahp.CompactBefore {
		return CompactAfter{}, ErrNoFollowUp
	}
	a := CompactAfter{Base: Base{Parent: before.ID, Session: before.Session, Turn: before.Turn}}
	a.Removed = removed
	if removed == nil {
		a.Removed = []string{}
	}
	switch {
	case s.State == settle.Supplied && s.Candidate != nil:
		a.Summary, a.Execution = s.Candidate.Parts, ahp.Execution{Skipped: ahp.SkipSupplied}
	case s.State == settle.Proceed:
		a.Summary = generated
	default:
		return CompactAfter{}, ErrNoFollowUp
	}
	if a.Summary == nil {
		a.Summary = []ahp.Part{}
	}
	return a, nil
}

// sameJSON reports whether two JSON texts have the same value.
func sameJSON(a, b ahp.Raw) bool {
	x, y := jsontext.Value(bytes.Clone(a)), jsontext.Value(bytes.Clone(b))
	return x.Canonicalize() == nil && y.Canonicalize() == nil && bytes.Equal(x, y)
}
