package main

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/holdpoint/holdpoint/ahp"
)

// sampleTime is when every event was made.
const sampleTime = "2027-05-01T10:11:12Z"

// sampleSet holds the payloads of events.json.
type sampleSet map[ahp.EventType]json.RawMessage

func samples() (sampleSet, error) {
	set := sampleSet{}
	if err := json.Unmarshal(payloads, &set); err != nil {
		return nil, err
	}
	for _, t := range ahp.DraftEvents() {
		if set[t] == nil {
			return nil, fmt.Errorf("events.json has no %s", t)
		}
	}
	return set, nil
}

// payload returns the payload for an event of type t. An event that has a parent
// names that of the scenario without effects.
func (s sampleSet) payload(t ahp.EventType) json.RawMessage {
	parent := scenario{ahp.ToolBefore, none}
	if t == ahp.ElicitationResult {
		parent.event = ahp.ElicitationRequest
	}
	return bytes.ReplaceAll(s[t], []byte("PARENT"), []byte(parent.id()))
}

// event returns a whole event. Harness says which product made it: the package wants
// that in every event, where this project's contract has it in session.start only
// and lets receivers ignore it elsewhere.
func (s sampleSet) event(t ahp.EventType, id string) json.RawMessage {
	members := map[string]json.RawMessage{}
	if err := json.Unmarshal(s.payload(t), &members); err != nil {
		panic(err) // events.json was read before
	}
	set := func(name string, v any) { members[name], _ = json.Marshal(v) } // strings and maps of them
	set("id", id)
	set("source", source)
	set("type", t)
	set("time", sampleTime)
	set("harness", map[string]string{"name": "interop", "version": "1"})
	if t == ahp.SessionStart {
		members["manifest"] = json.RawMessage(emptyManifest)
	}
	b, _ := json.Marshal(members)
	return b
}

// request returns a hooks/intercept request about the scenario without effects.
func (s sampleSet) request(t ahp.EventType) any {
	id := scenario{t, none}.id()
	return map[string]any{
		"jsonrpc": "2.0", "id": id, "method": ahp.MethodIntercept,
		"params": map[string]any{
			"protocolVersion": ahp.VersionDraft, "event": s.event(t, id),
			"capabilities": map[string]any{
				"effects": []string{"deny", "return"}, "elicitation": map[string]any{"form": struct{}{}, "url": struct{}{}},
			},
		},
	}
}

const emptyManifest = `{"events":[],"gaps":[],"transports":[],"authentication":[],"toolPaths":[],"contentCategories":[],` +
	`"limits":{},"managedPolicy":{"scopes":[],"disableable":true},"correlationIdentityFields":[]}`
