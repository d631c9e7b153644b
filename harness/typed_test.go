package harness_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
)

// settleAs settles a typed event whose one interceptor answers with effects.
func settleAs[E harness.Boundary[E]](t *testing.T, e E, effects string) (E, settle.Settlement, error) {
	t.Helper()
	var k cast
	k.add("net.acme.a", says(effects), asks(ahp.FailClosed, "*"))
	h := k.open(t, nil)
	out, s, err := harness.Settle(t.Context(), h.Harness, e)
	if err != nil {
		t.Logf("log: %s", h.log.String())
	}
	return out, s, err
}

const newMessages = `[{"id":"m-new","role":"ROLE","parts":[]}]`

func modify(target, op, value string) string {
	return `[{"type":"modify","target":"` + target + `","operation":"` + op + `","value":` + value + `}]`
}

func messagesAs(role string) string { return strings.Replace(newMessages, "ROLE", role, 1) }

// Every interceptable event has a type, goes out as its event, and comes back with
// what was changed.
func TestTypedBoundaries(t *testing.T) {
	turn := harness.Base{Turn: &ahp.Turn{ID: "turn-1"}, Session: ahp.Session{ID: "s-1"}}
	model, attempt := ahp.Model{ID: "m", Provider: "p"}, ahp.Attempt{ID: "a", Number: 1}
	msgs := func(role ahp.Role) []ahp.Message { return []ahp.Message{textMessage("m-1", role, "text")} }
	tool := ahp.Tool{CallID: "c-1", Name: "run"}
	done := map[ahp.EventType]bool{}
	type args struct {
		Cmd string `json:"cmd"`
	}
	body := func(typ ahp.EventType) ahp.Body { return everyEvent(t, typ).Body }
	count := func(typ ahp.EventType, n int, err error, want int) {
		t.Helper()
		done[typ] = true
		if err != nil || n != want {
			t.Errorf("%s: %d entries, want %d; %v", typ, n, want, err)
		}
	}

	{
		e, _, err := settleAs(t, harness.ToolBefore[args]{Base: turn, Tool: tool, Args: args{"ls"}}, modify("input", "merge", `{"cmd":"pwd"}`))
		count(ahp.ToolBefore, len(e.Args.Cmd), err, 3)
		p, _, err := settleAs(t, harness.PermissionRequest[args]{
			Base: turn, Tool: tool, Args: args{"ls"}, PermissionRequestBody: ahp.PermissionRequestBody{Suggestions: []ahp.Raw{}},
		}, modify("input", "replace", `{"cmd":"pwd"}`))
		count(ahp.ToolPermissionRequest, len(p.Args.Cmd), err, 3)
	}
	{
		after := harness.ToolDone(everyEvent(t, ahp.ToolBefore), ahp.ToolOK, nil, msgs(ahp.RoleTool)...)
		e, _, err := settleAs(t, after, modify("output", "merge", messagesAs("tool")))
		count(ahp.ToolAfter, len(e.Messages), err, 2)
	}
	{
		start := *body(ahp.SessionStart).(*ahp.SessionStartBody)
		e, s, err := settleAs(t, harness.SessionStart{Base: turn, Messages: []ahp.Message{}, SessionStartBody: start}, `[`+notify+`]`)
		count(ahp.SessionStart, len(e.Messages)+len(s.Messages), err, 1)
	}
	{
		e, _, err := settleAs(t, harness.TurnStart{Base: turn, Messages: msgs(ahp.RoleUser), TurnStartBody: ahp.TurnStartBody{Trigger: "user"}}, modify("prompt", "merge", messagesAs("user")))
		count(ahp.TurnStart, len(e.Messages), err, 2)
		f, _, err := settleAs(t, harness.TurnFinish{Base: turn, Messages: msgs(ahp.RoleAssistant), TurnFinishBody: ahp.TurnFinishBody{Outcome: ahp.TurnCompleted}}, modify("response", "merge", messagesAs("assistant")))
		count(ahp.TurnFinishBefore, len(f.Messages), err, 2)
	}
	{
		e, _, err := settleAs(t, harness.ModelRequest{Base: turn, Messages: msgs(ahp.RoleUser), ModelRequestBody: ahp.ModelRequestBody{Model: model, Attempt: attempt, Params: ahp.Raw(`{}`)}}, modify("request", "replace", "[]"))
		count(ahp.ModelRequestBefore, len(e.Messages), err, 0)
		r, _, err := settleAs(t, harness.ModelResponse{Base: turn, Messages: msgs(ahp.RoleAssistant), ModelResponseBody: ahp.ModelResponseBody{Model: model, Attempt: attempt, FinishReason: "stop"}}, modify("response", "merge", messagesAs("assistant")))
		count(ahp.ModelResponseAfter, len(r.Messages), err, 2)
		w, s, err := settleAs(t, harness.ModelSwitch{Base: turn, ModelSwitchBody: *body(ahp.ModelSwitchBefore).(*ahp.ModelSwitchBody)}, list(deny))
		count(ahp.ModelSwitchBefore, len(w.Reason), err, 4)
		if s.State != settle.Denied {
			t.Errorf("switch: %s", s.State)
		}
	}
	{
		b, _, err := settleAs(t, harness.ToolBatch{Base: turn, BatchBody: *body(ahp.ToolBatchAfter).(*ahp.BatchBody)}, "[]")
		count(ahp.ToolBatchAfter, len(b.Calls), err, 1)
	}
	{
		part := `[{"id":"p-new","kind":"text","mediaType":"text/plain","selection":"body","text":"x"}]`
		e, _, err := settleAs(t, harness.CompactBefore{Base: turn, Messages: msgs(ahp.RoleUser), CompactBeforeBody: *body(ahp.CompactBefore).(*ahp.CompactBeforeBody)}, modify("instructions", "merge", part))
		count(ahp.CompactBefore, len(e.Instructions), err, 2)
		a, _, err := settleAs(t, harness.CompactAfter{Base: turn, CompactAfterBody: *body(ahp.CompactAfter).(*ahp.CompactAfterBody)}, modify("summary", "replace", part))
		count(ahp.CompactAfter, len(a.Summary), err, 1)
		if a.Summary[0].ID != "p-new" {
			t.Errorf("summary %+v", a.Summary)
		}
	}
	{
		c, _, err := settleAs(t, harness.ConfigChange{Base: turn, ConfigChangeBody: *body(ahp.ConfigChangeBefore).(*ahp.ConfigChangeBody)}, "[]")
		count(ahp.ConfigChangeBefore, len(c.Settings), err, 1)
		k, _, err := settleAs(t, harness.TaskChange{Base: turn, TaskChangeBody: *body(ahp.TaskChangeBefore).(*ahp.TaskChangeBody)}, "[]")
		count(ahp.TaskChangeBefore, len(k.TaskChangeBody.ID), err, 3)
		w, _, err := settleAs(t, harness.WorkspaceChange{Base: turn, WorkspaceChangeBody: *body(ahp.WorkspaceChangeBefore).(*ahp.WorkspaceChangeBody)}, modify("workspace", "merge", `{"workspaceRoots":["/a","/b"]}`))
		count(ahp.WorkspaceChangeBefore, len(w.Change.WorkspaceRoots), err, 2)
	}
	{
		q, s, err := settleAs(t, harness.ElicitationRequest{Base: turn, ElicitationBody: *body(ahp.ElicitationRequest).(*ahp.ElicitationBody)}, `[{"type":"return","value":{"action":"accept","content":{"day":"friday"}}}]`)
		count(ahp.ElicitationRequest, len(q.Server), err, 8)
		if s.State != settle.Supplied {
			t.Errorf("elicitation: %s", s.State)
		}
		a, _, err := settleAs(t, harness.ElicitationResult{Base: turn, ElicitationBody: *body(ahp.ElicitationResult).(*ahp.ElicitationBody)}, modify("content", "replace", `{"day":"friday"}`))
		count(ahp.ElicitationResult, len(*a.Content.Text), err, len(`{"action":"accept","content":{"day":"friday"}}`))
	}
	{
		e, _, err := settleAs(t, harness.MessageInbound{Base: turn, Messages: msgs(ahp.RoleUser), UserMessageBody: ahp.UserMessageBody{Channel: "chat", Sender: "anna"}}, modify("prompt", "merge", messagesAs("user")))
		count(ahp.MessageInbound, len(e.Messages), err, 2)
		o, _, err := settleAs(t, harness.MessageOutbound{Base: turn, Messages: msgs(ahp.RoleAssistant), UserMessageBody: ahp.UserMessageBody{Channel: "chat"}}, modify("content", "replace", "[]"))
		count(ahp.MessageOutbound, len(o.Messages), err, 0)
	}
	for _, typ := range ahp.DraftEvents() {
		if typ.Interceptable(ahp.VersionDraft) != done[typ] {
			t.Errorf("%s: has a typed boundary: %v", typ, done[typ])
		}
	}
}

// What is given comes back when nothing was changed, whatever is in it.
func TestTypedArgumentsComeBack(t *testing.T) {
	type args struct {
		Path  string            `json:"path"`
		Lines []int             `json:"lines"`
		Env   map[string]string `json:"env"`
		Deep  struct{ Yes bool }
	}
	in := args{Path: "a\u2028\"b", Lines: []int{1, -2}, Env: map[string]string{"A": ""}}
	in.Deep.Yes = true
	e, s, err := settleAs(t, harness.ToolBefore[args]{Tool: ahp.Tool{CallID: "c", Name: "run"}, Args: in}, "[]")
	if err != nil || !s.Proceeds() || !reflect.DeepEqual(e.Args, in) {
		t.Errorf("%+v, %s, %v", e.Args, s.State, err)
	}
}

// Arguments that no object can hold are no event, and settle as a refusal.
func TestTypedArgumentsMustFit(t *testing.T) {
	_, s, err := settleAs(t, harness.ToolBefore[func()]{Tool: ahp.Tool{CallID: "c", Name: "run"}}, "[]")
	if !errors.Is(err, harness.ErrEvent) || s.Proceeds() || s.State != settle.Denied {
		t.Errorf("a function: %s, %v", s.State, err)
	}
	_, s, err = settleAs(t, harness.ToolBefore[string]{Tool: ahp.Tool{CallID: "c", Name: "run"}, Args: "x"}, "[]")
	if !errors.Is(err, harness.ErrEvent) || s.Proceeds() {
		t.Errorf("a string: %s, %v", s.State, err)
	}
	type known struct {
		Cmd string `json:"cmd"`
	}
	for name, effects := range map[string]string{
		"unknown member": modify("input", "merge", `{"other":1}`),
		"another kind":   modify("input", "merge", `{"cmd":7}`),
		"no cmd twice":   modify("input", "replace", `{"cmd":"a","CMD":"b"}`),
	} {
		e, s, err := settleAs(t, harness.ToolBefore[known]{Tool: ahp.Tool{CallID: "c", Name: "run"}, Args: known{"ls"}}, effects)
		if err != nil || s.State != settle.Denied || !s.Synthetic || s.Class != ahp.FailInvalidEffect || e.Args.Cmd != "ls" {
			t.Errorf("%s: %+v, %s (%s), %v", name, e.Args, s.State, s.Class, err)
		}
	}
}

// Observe reports what the caller did wrong, and nothing of the deliveries.
func TestObserve(t *testing.T) {
	var k cast
	k.add("net.acme.a", &peer{}, watches("*"))
	h := k.open(t, nil)
	if err := harness.Observe(t.Context(), h.Harness, everyEvent(t, ahp.FileChanged)); err != nil {
		t.Error(err)
	}
	if err := harness.Observe(t.Context(), h.Harness, &ahp.Event{Type: "tool.error"}); !errors.Is(err, harness.ErrEvent) {
		t.Errorf("an event of another revision: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := harness.Observe(gone, h.Harness, everyEvent(t, ahp.FileChanged)); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller who had left: %v", err)
	}
	closeNow(t, h.Harness)
	if err := harness.Observe(t.Context(), h.Harness, everyEvent(t, ahp.FileChanged)); !errors.Is(err, harness.ErrClosed) {
		t.Errorf("after close: %v", err)
	}
}
