package wiredraft

import (
	"github.com/holdpoint/holdpoint/ahp"
)

// configChange reads the change object of a config event.
func (d *decoder) configChange(b *ahp.ConfigChangeBody, after bool) {
	start, ok := d.object("an object that describes the change")
	if !ok {
		return
	}
	var source, scope, settings, summary bool
	for d.More() {
		name := d.Name()
		switch {
		case string(name) == "source":
			source = true
			b.Source = d.name()
		case string(name) == "scope":
			scope = true
			b.Scope = d.name()
		case string(name) == "settings":
			settings = true
			b.Settings = d.names("an array of strings that are not empty", 1, false)
		case string(name) == "summary":
			summary = true
			b.Summary = d.name()
		case string(name) == "path":
			b.Path = d.name()
		case string(name) == "mcpServers" && after:
			b.MCPServers = d.objects("an array of objects")
		default:
			d.closed()
		}
	}
	if !source {
		d.lacks(start, "source", nonEmpty)
	}
	if !scope {
		d.lacks(start, "scope", nonEmpty)
	}
	if !settings {
		d.lacks(start, "settings", "an array of strings that are not empty")
	}
	if !summary {
		d.lacks(start, "summary", nonEmpty)
	}
}

const changeOperations = "create, update or remove"

func (d *decoder) changeOperation() string {
	return d.one(changeOperations, "create", "update", "remove")
}

func (d *decoder) task(b *ahp.TaskChangeBody) {
	start, ok := d.object("an object that describes the task")
	if !ok {
		return
	}
	var id, operation, change bool
	for d.More() {
		switch string(d.Name()) {
		case "id":
			id = true
			b.ID = d.name()
		case "operation":
			operation = true
			b.Operation = d.changeOperation()
		case "change":
			change = true
			b.Change = d.rawObject("an object")
		case "prior":
			b.Prior = d.rawObject("an object")
		case "description":
			b.Description = d.strPtr()
		case "synthesized":
			b.Synthesized = d.marker()
		default:
			d.closed()
		}
	}
	if !id {
		d.lacks(start, "id", nonEmpty)
	}
	if !operation {
		d.lacks(start, "operation", changeOperations)
	}
	if !change {
		d.lacks(start, "change", "an object")
	}
}

func (d *decoder) workspace(b *ahp.WorkspaceChangeBody) {
	start, ok := d.object("an object that describes the change")
	if !ok {
		return
	}
	var kind, change bool
	for d.More() {
		switch string(d.Name()) {
		case "kind":
			kind = true
			b.Kind = d.one("cwd, roots or switch", "cwd", "roots", "switch")
		case "change":
			change = true
			b.Change = d.workspaceState(1)
		case "prior":
			s := d.workspaceState(1)
			b.Prior = &s
		case "reason":
			b.Reason = d.strPtr()
		default:
			d.closed()
		}
	}
	if !kind {
		d.lacks(start, "kind", "cwd, roots or switch")
	}
	if !change {
		d.lacks(start, "change", workspaceMembers)
	}
}

const workspaceMembers = "an object with cwd, workspaceRoots or both"

// workspaceState reads a workspace's state with at least so many members.
func (d *decoder) workspaceState(least int) (s ahp.WorkspaceState) {
	start, ok := d.object(workspaceMembers)
	if !ok {
		return s
	}
	n := 0
	for d.More() {
		n++
		switch string(d.Name()) {
		case "cwd":
			s.CWD = d.name()
		case "workspaceRoots":
			s.WorkspaceRoots = d.names("an array of strings that are not empty, each once", 1, true)
		default:
			d.closed()
		}
	}
	if n < least {
		d.badAs(start, "an empty object", workspaceMembers)
	}
	return s
}

func (d *decoder) fileChanges(b *ahp.FileChangedBody) {
	off, ok := d.array("an array of file changes")
	if !ok {
		return
	}
	b.Changes = []ahp.FileChange{}
	for d.More() {
		b.Changes = append(b.Changes, d.fileChange())
	}
	if len(b.Changes) == 0 {
		d.badAs(off, "an empty array", "at least one change")
	}
}

func (d *decoder) fileChange() (c ahp.FileChange) {
	start, ok := d.object("an object with path, operation and agentCaused")
	if !ok {
		return c
	}
	var path, operation, agentCaused bool
	for d.More() {
		switch string(d.Name()) {
		case "path":
			path = true
			c.Path = d.name()
		case "operation":
			operation = true
			c.Operation = d.changeOperation()
		case "agentCaused":
			agentCaused = true
			c.AgentCaused = d.boolean()
		case "before":
			c.Before = d.partPtr(false)
		case "after":
			c.After = d.partPtr(false)
		default:
			d.closed()
		}
	}
	if !path {
		d.lacks(start, "path", nonEmpty)
	}
	if !operation {
		d.lacks(start, "operation", changeOperations)
	}
	if !agentCaused {
		d.lacks(start, "agentCaused", "true or false")
	}
	return c
}

func (d *decoder) attention(b *ahp.AttentionBody) {
	start, ok := d.object("an object with kind, message and title")
	if !ok {
		return
	}
	var kind, message, title bool
	for d.More() {
		switch string(d.Name()) {
		case "kind":
			kind = true
			b.Kind = d.name()
		case "message":
			message = true
			b.Message = d.parts(true)
		case "title":
			title = true
			b.Title = d.parts(true)
		default:
			d.closed()
		}
	}
	if !kind {
		d.lacks(start, "kind", nonEmpty)
	}
	if !message {
		d.lacks(start, "message", "an array of text parts")
	}
	if !title {
		d.lacks(start, "title", "an array of text parts")
	}
}

// userMessage reads a message from or to the outside (AHP draft section 6.5).
func (d *decoder) userMessage(b *ahp.UserMessageBody, inbound bool) (list []ahp.Message) {
	start, ok := d.object("an object with channel and messages")
	if !ok {
		return nil
	}
	role := ahp.RoleAssistant
	if inbound {
		role = ahp.RoleUser
	}
	var channel, sender, messages bool
	for d.More() {
		name := d.Name()
		switch {
		case string(name) == "channel":
			channel = true
			b.Channel = d.name()
		case string(name) == "sender" && inbound:
			sender = true
			b.Sender = d.name()
		case string(name) == "messages":
			messages = true
			list = d.messages(role)
		default:
			d.closed()
		}
	}
	if !channel {
		d.lacks(start, "channel", nonEmpty)
	}
	if inbound && !sender {
		d.lacks(start, "sender", nonEmpty)
	}
	if !messages {
		d.lacks(start, "messages", "an array of canonical messages")
	}
	return list
}

func (d *decoder) hookFailure(b *ahp.HookFailureBody) {
	start, ok := d.object("an object with backendId, reason and policy")
	if !ok {
		return
	}
	var backend, reason, policy bool
	for d.More() {
		switch string(d.Name()) {
		case "backendId":
			backend = true
			b.BackendID = d.name()
		case "reason":
			reason = true
			b.Reason = d.name()
		case "policy":
			policy = true
			b.Policy = ahp.FailurePolicy(d.one("fail-open or fail-closed", string(ahp.FailOpen), string(ahp.FailClosed)))
		default:
			d.closed()
		}
	}
	if !backend {
		d.lacks(start, "backendId", nonEmpty)
	}
	if !reason {
		d.lacks(start, "reason", nonEmpty)
	}
	if !policy {
		d.lacks(start, "policy", "fail-open or fail-closed")
	}
}

// elicitationObject reads the elicitation object; what its text holds is checked
// after the event.
func (d *decoder) elicitationObject(b *ahp.ElicitationBody, result bool) {
	start, ok := d.object("an object with server and mode")
	if !ok {
		return
	}
	content := "request"
	if result {
		content = "result"
	}
	var server, mode, action bool
	for d.More() {
		name := d.Name()
		switch {
		case string(name) == "server":
			server = true
			b.Server = d.name()
		case string(name) == "mode":
			mode = true
			b.Mode = d.one("form or url", "form", "url")
		case string(name) == "action" && result:
			action = true
			b.Action = d.one("accept, decline or cancel", "accept", "decline", "cancel")
		case string(name) == content:
			b.Content = d.partPtr(true)
		default:
			d.closed()
		}
	}
	if !server {
		d.lacks(start, "server", nonEmpty)
	}
	if !mode {
		d.lacks(start, "mode", "form or url")
	}
	if result && !action {
		d.lacks(start, "action", "accept, decline or cancel")
	}
}
