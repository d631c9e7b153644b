package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/backend"
)

// source names the harness of every event, whichever side plays it.
const source = "urn:example:interop"

// payloads holds one payload for each event of revision draft.
//
//go:embed events.json
var payloads []byte

// A scenario is one event and what the backend answers. Its name is part of the
// event's id, so that a backend knows by it what to do.
type scenario struct {
	event ahp.EventType
	name  string
}

// none is the scenario of an empty list, and of observations.
const none = "none"

func (s scenario) id() string { return s.name + "@" + string(s.event) }

func scenarioOf(id string) scenario {
	name, event, _ := strings.Cut(id, "@")
	return scenario{event: ahp.EventType(event), name: name}
}

// scenarios lists what there is to settle at t: nothing, and each effect and
// operation that the revision has there. Of an event that cannot be intercepted
// there is the first.
func scenarios(t ahp.EventType) []scenario {
	names := []string{none}
	b := ahp.Bounds(t)
	for _, e := range b.Effects {
		switch e {
		case ahp.EffectModify:
			names = append(names, "replace", "merge")
		case ahp.EffectFlow:
			names = append(names, "stop")
			if b.Flow.Continue {
				names = append(names, "continue")
			}
		case ahp.EffectInject:
			names = append(names, "inject-now", "inject-next_turn")
		default:
			names = append(names, string(e))
		}
	}
	list := make([]scenario, len(names))
	for i, n := range names {
		list[i] = scenario{event: t, name: n}
	}
	return list
}

// scenariosOver lists what is run at t. A start of Python takes most of a second, so
// that one for each message is made for every event and for every effect of the
// event that has all, not for every effect of every event.
func scenariosOver(way direction, over carrier, t ahp.EventType) []scenario {
	list := scenarios(t)
	if way == oursToServer && over == perEvent && t != ahp.ToolBefore {
		return list[:1]
	}
	return list
}

// Texts that the effects carry and the outcomes must show.
const (
	reason   = "interop says no"
	code     = "dev.holdpoint.interop"
	added    = "added by a control"
	injected = "injected by a control"
)

// answer builds the effects of s.
func (s scenario) answer(r *backend.Request) ([]ahp.Effect, error) {
	e := r.Effects()
	switch s.name {
	case none:
	case "deny":
		e.Deny(reason, code)
	case "allow":
		e.Allow()
	case "ask":
		e.Ask()
	case "message":
		e.Notify(added)
	case "stop":
		e.Stop(reason)
	case "continue":
		e.Continue(added)
	case "inject-now":
		e.InjectText(ahp.RoleDeveloper, injected, ahp.DeliverNow)
	case "inject-next_turn":
		e.InjectText(ahp.RoleDeveloper, injected, ahp.DeliverNextTurn)
	case "return":
		e.Return(s.result())
	case "replace":
		s.modify(e, r.Event, true)
	case "merge":
		s.modify(e, r.Event, false)
	default:
		return nil, fmt.Errorf("no scenario is called %q", s.name)
	}
	return e.List()
}

func (s scenario) result() any {
	switch ahp.ReturnAt(s.event) {
	case ahp.ValueMessages:
		return []ahp.Message{ahp.TextMessage("m-new", ahp.RoleAssistant, added)}
	case ahp.ValueParts:
		return []ahp.Part{ahp.TextPart("p-new", added)}
	case ahp.ValueObject:
		return map[string]any{"action": "accept", "content": map[string]string{"day": added}}
	default:
		return map[string]any{"answer": added, "big": json.RawMessage("12345678901234567890")}
	}
}

func (s scenario) modify(e *backend.Effects, ev *ahp.Event, replace bool) {
	switch s.event {
	case ahp.ToolBefore, ahp.ToolPermissionRequest:
		v := map[string]any{"note": added, "nothing": nil}
		if replace {
			e.ReplaceInput(v)
		} else {
			e.MergeInput(v)
		}
	case ahp.WorkspaceChangeBefore:
		if replace {
			e.ReplaceWorkspace(map[string]any{"workspaceRoots": []string{"/" + added}})
		} else {
			e.MergeWorkspace(map[string]any{"workspaceRoots": []string{"/" + added}})
		}
	case ahp.ElicitationResult:
		if replace {
			e.ReplaceAnswer(map[string]any{"day": added})
		} else {
			e.MergeAnswer(map[string]any{"day": added})
		}
	case ahp.CompactBefore, ahp.CompactAfter:
		if replace {
			e.ReplaceParts(ahp.TextPart("", added))
		} else {
			e.AppendParts(ahp.TextPart("", added))
		}
	default:
		m := ahp.TextMessage("m-new", ev.Messages[0].Role, added)
		if replace {
			e.ReplaceMessages(m)
		} else {
			e.AppendMessages(m)
		}
	}
}

// place is where the target of a change is in an event's JSON.
func place(t ahp.EventType) []string {
	switch t {
	case ahp.ToolBefore, ahp.ToolPermissionRequest:
		return []string{"tool", "input"}
	case ahp.WorkspaceChangeBefore:
		return []string{"workspace", "change"}
	case ahp.ElicitationResult:
		return []string{"elicitation", "result", "text"}
	case ahp.CompactBefore:
		return []string{"instructions"}
	case ahp.CompactAfter:
		return []string{"summary"}
	case ahp.MessageInbound, ahp.MessageOutbound:
		return []string{"message", "messages"}
	default:
		return []string{"items"}
	}
}

// An outcome is how a harness of either side settled an event.
type outcome struct {
	Permission   string            `json:"permission"`
	Flow         *string           `json:"flow"`
	Instructions []string          `json:"instructions"`
	Candidate    json.RawMessage   `json:"candidate"` // null, or an object with value
	Messages     []string          `json:"messages"`
	Injections   []json.RawMessage `json:"injections"`
	Event        json.RawMessage   `json:"event"` // effective
}

// check says in what the outcome of s differs from what the contract says.
func (s scenario) check(o *outcome) error {
	want := map[string]bool{s.name: true}
	flow := "none"
	if o.Flow != nil {
		flow = *o.Flow
	}
	permission := "none"
	if want["deny"] || want["allow"] || want["ask"] {
		permission = s.name
	}
	wantFlow := "none"
	if want["stop"] || want["continue"] {
		wantFlow = s.name
	}
	candidate := len(o.Candidate) > 0 && string(o.Candidate) != "null"
	inject := strings.HasPrefix(s.name, "inject-")
	switch {
	case o.Permission != permission:
		return fmt.Errorf("permission %s, want %s", o.Permission, permission)
	case flow != wantFlow:
		return fmt.Errorf("flow %s, want %s", flow, wantFlow)
	case want["continue"] != (len(o.Instructions) == 1 && o.Instructions[0] == added):
		return fmt.Errorf("instructions %q", o.Instructions)
	case want["message"] != (len(o.Messages) == 1 && o.Messages[0] == added):
		return fmt.Errorf("messages %q", o.Messages)
	case inject != (len(o.Injections) == 1):
		return fmt.Errorf("%d injections", len(o.Injections))
	case inject && (!bytes.Contains(o.Injections[0], []byte(injected)) ||
		!bytes.Contains(o.Injections[0], []byte(strings.TrimPrefix(s.name, "inject-")))):
		return fmt.Errorf("injected %s", o.Injections[0])
	case want["return"] != candidate:
		return fmt.Errorf("candidate %s", o.Candidate)
	case candidate && !bytes.Contains(o.Candidate, []byte(added)):
		return fmt.Errorf("candidate %s", o.Candidate)
	}
	return s.effective(o.Event)
}

// effective says in what an event that was settled, or told to an observer, is not
// the effective one.
func (s scenario) effective(event json.RawMessage) error {
	if !s.changes() {
		if bytes.Contains(event, []byte(added)) {
			return fmt.Errorf("the event holds what no change put there")
		}
		return nil
	}
	at := place(s.event)
	value := event
	for _, name := range at {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(value, &members); err != nil {
			return fmt.Errorf("the event has no %s", strings.Join(at, "/"))
		}
		value = members[name]
	}
	kept := bytes.Contains(value, []byte(originals[s.event]))
	switch {
	case !bytes.Contains(value, []byte(added)):
		return fmt.Errorf("%s was not changed: %s", strings.Join(at, "/"), value)
	case s.name == "replace" && kept:
		return fmt.Errorf("%s was not replaced: %s", strings.Join(at, "/"), value)
	case s.name == "merge" && !kept && s.event != ahp.ElicitationResult: // whose form has one field
		return fmt.Errorf("%s was not merged: %s", strings.Join(at, "/"), value)
	}
	return nil
}

func (s scenario) changes() bool { return s.name == "replace" || s.name == "merge" }

// originals are texts that the targets hold before a change.
var originals = map[ahp.EventType]string{
	ahp.ToolBefore: `"ls"`, ahp.ToolPermissionRequest: `"hi"`, ahp.WorkspaceChangeBefore: `"/w/a"`, ahp.ElicitationResult: "monday",
	ahp.TurnStart: "List the files.", ahp.TurnFinishBefore: "Two files.", ahp.ModelRequestBefore: "List the files.",
	ahp.ModelResponseAfter: "Two files.", ahp.ToolAfter: "written", ahp.CompactBefore: "Keep the plan.",
	ahp.CompactAfter: "The files were listed.", ahp.MessageInbound: "Hello.", ahp.MessageOutbound: "Hello, too.",
}
