package wiredraft

import (
	"bytes"
	"slices"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// body writes the members that only events of this type have.
func (e *encoder) body(ev *ahp.Event) {
	t := ev.Type
	in := func(types ...ahp.EventType) bool { return slices.Contains(types, t) }
	var mine bool
	switch b := ev.Body.(type) {
	case nil:
		mine = newBody(t) == nil
	case *ahp.SessionStartBody:
		if mine = in(ahp.SessionStart) && b != nil; mine {
			e.sessionStart(b)
		}
	case *ahp.SessionEndBody:
		if mine = in(ahp.SessionEnd) && b != nil; mine {
			e.sessionEnd(ev, b)
		}
	case *ahp.TurnStartBody:
		if mine = in(ahp.TurnStart) && b != nil; mine {
			e.one("trigger", b.Trigger, "user", "continuation", "hook", "external")
			e.optional("expandedFrom", b.ExpandedFrom)
		}
	case *ahp.TurnFinishBody:
		if mine = in(ahp.TurnFinishBefore, ahp.TurnEnd) && b != nil; mine {
			e.turnFinish(ev, b)
		}
	case *ahp.TurnProgressBody:
		if mine = in(ahp.TurnProgress) && b != nil; mine {
			e.ref("item", b.Item.ID, b.Item.Synthesized)
			e.key("delta")
			e.message(&b.Delta, "")
			e.boolean("final", b.Final)
		}
	case *ahp.ModelRequestBody:
		if mine = in(ahp.ModelRequestBefore) && b != nil; mine {
			e.model("model", &b.Model)
			e.attempt(&b.Attempt)
			e.needs("params", b.Params, '{')
		}
	case *ahp.ModelResponseBody:
		if mine = in(ahp.ModelResponseAfter) && b != nil; mine {
			e.modelResponse(b)
		}
	case *ahp.ModelErrorBody:
		if mine = in(ahp.ModelError) && b != nil; mine {
			e.modelError(b)
		}
	case *ahp.ModelSwitchBody:
		if mine = in(ahp.ModelSwitchBefore, ahp.ModelSwitchAfter) && b != nil; mine {
			e.modelSwitch(b, t == ahp.ModelSwitchBefore)
		}
	case *ahp.PermissionRequestBody:
		if mine = in(ahp.ToolPermissionRequest) && b != nil; mine {
			e.objects("suggestions", b.Suggestions)
			e.boolean("sandboxBypass", b.SandboxBypass)
		}
	case *ahp.PermissionResolvedBody:
		if mine = in(ahp.ToolPermissionResolved) && b != nil; mine {
			e.one("decision", b.Decision, "allow", "deny")
			e.one("decidedBy", b.DecidedBy, "user", "policy", "hook", "auto", "classifier")
		}
	case *ahp.ToolProgressBody:
		if mine = in(ahp.ToolProgress) && b != nil; mine {
			e.key("partialOutput")
			e.message(&b.PartialOutput, "")
			e.boolean("backgrounded", b.Backgrounded)
		}
	case *ahp.ToolAfterBody:
		if mine = in(ahp.ToolAfter) && b != nil; mine {
			e.toolAfter(b)
		}
	case *ahp.BatchBody:
		if mine = in(ahp.ToolBatchAfter) && b != nil; mine {
			e.batchBody(b)
		}
	case *ahp.CompactBeforeBody:
		if mine = in(ahp.CompactBefore) && b != nil; mine {
			e.compactBefore(b)
		}
	case *ahp.CompactAfterBody:
		if mine = in(ahp.CompactAfter) && b != nil; mine {
			e.compactAfter(b)
		}
	case *ahp.ConfigChangeBody:
		if mine = in(ahp.ConfigChangeBefore, ahp.ConfigChangeAfter) && b != nil; mine {
			e.configChange(b, t == ahp.ConfigChangeAfter)
		}
	case *ahp.TaskChangeBody:
		if mine = in(ahp.TaskChangeBefore, ahp.TaskChangeAfter) && b != nil; mine {
			e.task(b)
		}
	case *ahp.WorkspaceChangeBody:
		if mine = in(ahp.WorkspaceChangeBefore, ahp.WorkspaceChangeAfter) && b != nil; mine {
			e.workspace(b)
		}
	case *ahp.FileChangedBody:
		if mine = in(ahp.FileChanged) && b != nil; mine {
			e.fileChanges(b)
		}
	case *ahp.AttentionBody:
		if mine = in(ahp.UserAttention) && b != nil; mine {
			e.key("attention")
			e.open()
			e.name("kind", b.Kind)
			e.key("message")
			e.parts(b.Message, true)
			e.key("title")
			e.parts(b.Title, true)
			e.shut()
		}
	case *ahp.ElicitationBody:
		if mine = in(ahp.ElicitationRequest, ahp.ElicitationResult) && b != nil; mine {
			e.elicitation(t, b)
		}
	case *ahp.UserMessageBody:
		if mine = in(ahp.MessageInbound, ahp.MessageOutbound) && b != nil; mine {
			e.userMessage(ev, b)
		}
	case *ahp.HookFailureBody:
		if mine = in(ahp.HookFailure) && b != nil; mine {
			e.key("failure")
			e.open()
			e.name("backendId", b.BackendID)
			e.name("reason", b.Reason)
			e.one("policy", string(b.Policy), string(ahp.FailOpen), string(ahp.FailClosed))
			e.shut()
		}
	}
	if !mine {
		e.bad("another body", "the body of "+string(t))
	}
}

func (e *encoder) sessionStart(b *ahp.SessionStartBody) {
	e.one("trigger", b.Trigger, "startup", "resume", "clear", "compact", "fork")
	if r := b.ResumedFrom; r != nil {
		e.ref("resumedFrom", r.ID, r.Synthesized)
	} else if b.Trigger == "clear" || b.Trigger == "fork" {
		e.lacks("resumedFrom")
	}
	e.key("harness")
	e.open()
	e.name("name", b.Harness.Name)
	e.name("version", b.Harness.Version)
	e.shut()
	e.name("permissionMode", b.PermissionMode)
	e.key("manifest")
	e.manifest(&b.Manifest)
}

func (e *encoder) sessionEnd(ev *ahp.Event, b *ahp.SessionEndBody) {
	e.name("outcome", string(ev.Outcome))
	if !ev.Outcome.Known() {
		e.bad("another outcome", "completed, cancelled, error or unknown")
	}
	e.name("reason", b.Reason)
	if b.Counters == nil {
		return
	}
	if len(b.Counters) > DefaultMaxMembers {
		e.bad("too many counters", "fewer")
	}
	e.key("counters")
	e.open()
	names := make([]string, len(b.Counters))
	for i, c := range b.Counters {
		names[i] = c.Name
		e.next(i)
		e.quote(c.Name)
		if c.Count < 0 {
			e.bad("a negative counter", "an integer from 0")
		}
		e.b = appendInt(append(e.b, ':'), c.Count)
	}
	e.shut()
	if repeats(names) {
		e.bad("a counter twice", "each name once")
	}
}

func (e *encoder) turnFinish(ev *ahp.Event, b *ahp.TurnFinishBody) {
	e.name("outcome", string(b.Outcome))
	if !b.Outcome.Known() {
		e.bad("another outcome", "completed, failed, cancelled or max_iterations")
	}
	e.count("continuationCount", b.ContinuationCount, 0)
	if r := b.LastAssistantItem; r != nil {
		e.ref("lastAssistantItem", r.ID, r.Synthesized)
	}
	e.usage(b.Usage, false)
	if b.Error != nil {
		if ev.Type != ahp.TurnEnd || b.Outcome == ahp.TurnCompleted {
			e.bad("an error", "none")
		}
		e.eventError(b.Error)
	}
}

func (e *encoder) model(key string, m *ahp.Model) {
	e.key(key)
	e.open()
	e.name("id", m.ID)
	e.name("provider", m.Provider)
	e.shut()
}

func (e *encoder) attempt(a *ahp.Attempt) {
	e.key("attempt")
	e.open()
	e.name("id", a.ID)
	e.count("number", a.Number, 1)
	e.marker(a.Synthesized)
	e.shut()
}

func (e *encoder) execution(x ahp.Execution) {
	e.key("execution")
	e.open()
	if x.Skipped == "" {
		e.text(`"status":"executed"`)
		if x.Detail != "" {
			e.bad("a detail", "none: it was executed")
		}
	} else {
		e.text(`"status":"skipped"`)
		e.name("reason", string(x.Skipped))
		e.optional("detail", x.Detail)
		if !x.Skipped.Known() || x.Skipped == ahp.SkipSupplied && x.Detail != "" {
			e.bad("another reason or a detail", "one of the forms of an execution")
		}
	}
	e.shut()
}

func (e *encoder) modelResponse(b *ahp.ModelResponseBody) {
	e.model("model", &b.Model)
	e.attempt(&b.Attempt)
	e.execution(b.Execution)
	if b.Execution.Skipped != "" && (b.Execution.Skipped != ahp.SkipSupplied || b.Usage != nil || b.LatencyMs != nil) {
		e.bad("a skipped execution with another reason, usage or latency", "a supplied result without")
	}
	e.name("finishReason", b.FinishReason)
	e.usage(b.Usage, true)
	e.number("latencyMs", b.LatencyMs)
}

func (e *encoder) modelError(b *ahp.ModelErrorBody) {
	e.model("model", &b.Model)
	e.attempt(&b.Attempt)
	e.execution(b.Execution)
	if b.Execution.Skipped != "" {
		e.bad("a skipped execution", "executed")
	}
	e.eventError(&b.Error)
	e.usage(b.Usage, true)
	e.number("latencyMs", b.LatencyMs)
	e.optional("recovery", b.Recovery)
}

func (e *encoder) modelSwitch(b *ahp.ModelSwitchBody, before bool) {
	if b.Previous != nil {
		e.model("previous", b.Previous)
	}
	e.model("current", &b.Current)
	if b.Proposed != nil {
		e.model("proposed", b.Proposed)
	}
	if before != (b.Proposed != nil) || before == (b.Previous != nil) {
		e.bad("the models of the other event", "current and proposed before, previous and current after")
	}
	e.name("reason", b.Reason)
	if p := b.Pricing; p != nil {
		if !before {
			e.bad("pricing", "none: only model.switch.before has it")
		}
		e.key("pricing")
		e.open()
		e.currency(p.Currency)
		e.number("inputPerMillionTokens", p.InputPerMillionTokens)
		e.number("outputPerMillionTokens", p.OutputPerMillionTokens)
		e.shut()
	}
}

func (e *encoder) currency(s string) {
	e.name("currency", s)
	if !isCurrency(s) {
		e.bad("another currency", currencyCode)
	}
}

func (e *encoder) usage(u *ahp.Usage, attempt bool) {
	if u == nil {
		return
	}
	e.key("usage")
	e.open()
	if attempt {
		e.one("kind", u.Kind, "amount")
		e.one("scope", u.Scope, "attempt")
	} else {
		e.one("kind", u.Kind, "total")
		e.one("scope", u.Scope, "turn")
	}
	e.one("completeness", u.Completeness, "complete", "partial", "unknown")
	e.one("provenance", u.Provenance, "provider", "estimate", "mixed")
	if attempt && u.Provenance == "mixed" {
		e.bad("mixed", "provider or estimate")
	}
	e.countPtr("inputTokens", u.InputTokens)
	e.countPtr("outputTokens", u.OutputTokens)
	e.countPtr("cacheReadTokens", u.CacheReadTokens)
	e.countPtr("cacheWriteTokens", u.CacheWriteTokens)
	if c := u.Cost; c != nil {
		e.key("cost")
		e.open()
		if c.Amount == nil {
			e.lacks("amount")
		}
		e.number("amount", c.Amount)
		e.currency(c.Currency)
		e.one("basis", c.Basis, "billed", "reported", "estimated")
		e.shut()
	}
	e.shut()
}

func (e *encoder) eventError(x *ahp.EventError) {
	e.key("error")
	e.open()
	e.name("class", x.Class)
	e.name("message", x.Message)
	e.optional("code", x.Code)
	e.member("status", x.Status, 0)
	if x.Status != nil && !walk.UsableID(bytes.TrimSpace(x.Status)) {
		e.bad("another status", "a string that is not empty or an integer")
	}
	e.member("native", x.Native, 0)
	e.shut()
}

func (e *encoder) toolAfter(b *ahp.ToolAfterBody) {
	e.toolOutcome(b.Outcome, b.Execution)
	if (b.Outcome == ahp.ToolFailed) != (b.Error != nil) {
		e.bad("an outcome and an error that do not go together", "an error exactly with the outcome error")
	}
	if b.Execution.Skipped != "" && (b.DurationMs != nil || b.FileChanges != nil) {
		e.bad("a duration or file changes of skipped work", "neither")
	}
	if b.Error != nil {
		e.eventError(b.Error)
	}
	e.number("durationMs", b.DurationMs)
	if b.FileChanges == nil {
		return
	}
	e.key("fileChanges")
	e.list(len(b.FileChanges))
	for i := range b.FileChanges {
		c := &b.FileChanges[i]
		e.next(i)
		e.open()
		e.name("path", c.Path)
		e.one("change", c.Change, "created", "modified", "deleted", "moved")
		e.optional("previousPath", c.PreviousPath)
		e.partPtr("before", c.Before, false)
		e.partPtr("after", c.After, false)
		if c.Change == "moved" && c.PreviousPath == "" || c.Change == "created" && c.Before != nil || c.Change == "deleted" && c.After != nil {
			e.bad("members that do not go with the change", "those that do")
		}
		e.shut()
	}
	e.shutList()
}

func (e *encoder) toolOutcome(o ahp.ToolOutcome, x ahp.Execution) {
	e.name("outcome", string(o))
	if !o.Known() {
		e.bad("another outcome", "ok, error, denied, cancelled or timeout")
	}
	e.execution(x)
	if o == ahp.ToolDenied && x.Skipped != ahp.SkipPolicy {
		e.bad("another execution of a denied call", "skipped for policy")
	}
}

func (e *encoder) batchBody(b *ahp.BatchBody) {
	e.key("batch")
	e.batch(&b.Batch, false)
	if len(b.Calls) == 0 {
		e.lacks("calls")
	}
	e.key("calls")
	e.list(len(b.Calls))
	for i := range b.Calls {
		c := &b.Calls[i]
		e.next(i)
		e.open()
		e.call(&c.Tool, true)
		e.toolOutcome(c.Outcome, c.Execution)
		e.shut()
	}
	e.shutList()
}

func (e *encoder) tokenCounts(c *ahp.TokenCounts) {
	if c == nil {
		return
	}
	e.key("tokenCounts")
	e.open()
	e.countPtr("before", c.Before)
	e.countPtr("after", c.After)
	e.shut()
}

func (e *encoder) compactBefore(b *ahp.CompactBeforeBody) {
	e.one("trigger", b.Trigger, "auto", "manual", "hook")
	if b.Instructions != nil {
		e.key("instructions")
		e.parts(b.Instructions, true)
	}
	e.tokenCounts(b.TokenCounts)
	if b.TokenCounts != nil && b.TokenCounts.After != nil {
		e.bad("a count after compaction", "none: nothing is compacted yet")
	}
}

func (e *encoder) compactAfter(b *ahp.CompactAfterBody) {
	e.key("summary")
	e.parts(b.Summary, true)
	e.key("removed")
	e.list(len(b.Removed))
	for i, id := range b.Removed {
		e.next(i)
		e.open()
		e.name("id", id)
		e.shut()
	}
	e.shutList()
	e.execution(b.Execution)
	if b.Execution.Skipped != "" && b.Execution.Skipped != ahp.SkipSupplied {
		e.bad("another reason", "supplied_result")
	}
	e.tokenCounts(b.TokenCounts)
}

func (e *encoder) objects(key string, list []ahp.Raw) {
	e.key(key)
	e.list(len(list))
	for i, r := range list {
		e.next(i)
		if r == nil {
			e.lacks(key)
			continue
		}
		e.raw(r, '{')
	}
	e.shutList()
}

func (e *encoder) configChange(b *ahp.ConfigChangeBody, after bool) {
	e.key("change")
	e.open()
	e.name("source", b.Source)
	e.name("scope", b.Scope)
	e.names("settings", b.Settings, 1, false)
	e.name("summary", b.Summary)
	e.optional("path", b.Path)
	if b.MCPServers != nil {
		if !after {
			e.bad("MCP servers", "none: only config.change.after has them")
		}
		e.objects("mcpServers", b.MCPServers)
	}
	e.shut()
}

func (e *encoder) task(b *ahp.TaskChangeBody) {
	e.key("task")
	e.open()
	e.name("id", b.ID)
	e.one("operation", b.Operation, "create", "update", "remove")
	e.needs("change", b.Change, '{')
	e.member("prior", b.Prior, '{')
	e.pointer("description", b.Description)
	e.marker(b.Synthesized)
	e.shut()
}

func (e *encoder) workspace(b *ahp.WorkspaceChangeBody) {
	e.key("workspace")
	e.open()
	e.one("kind", b.Kind, "cwd", "roots", "switch")
	e.workspaceState("change", &b.Change)
	if b.Prior != nil {
		e.workspaceState("prior", b.Prior)
	}
	e.pointer("reason", b.Reason)
	e.shut()
}

func (e *encoder) workspaceState(key string, s *ahp.WorkspaceState) {
	if s.CWD == "" && s.WorkspaceRoots == nil {
		e.lacks(key)
	}
	e.key(key)
	e.open()
	e.optional("cwd", s.CWD)
	if s.WorkspaceRoots != nil {
		e.names("workspaceRoots", s.WorkspaceRoots, 1, true)
	}
	e.shut()
}

func (e *encoder) fileChanges(b *ahp.FileChangedBody) {
	if len(b.Changes) == 0 {
		e.lacks("changes")
	}
	e.key("changes")
	e.list(len(b.Changes))
	for i := range b.Changes {
		c := &b.Changes[i]
		e.next(i)
		e.open()
		e.name("path", c.Path)
		e.one("operation", c.Operation, "create", "update", "remove")
		e.boolean("agentCaused", c.AgentCaused)
		e.partPtr("before", c.Before, false)
		e.partPtr("after", c.After, false)
		e.shut()
	}
	e.shutList()
}

func (e *encoder) elicitation(t ahp.EventType, b *ahp.ElicitationBody) {
	e.key("elicitation")
	e.open()
	e.name("server", b.Server)
	e.one("mode", b.Mode, "form", "url")
	content := "request"
	if t == ahp.ElicitationResult {
		content = "result"
		e.one("action", b.Action, "accept", "decline", "cancel")
	} else if b.Action != "" {
		e.bad("an action", "none: only a result has one")
	}
	e.partPtr(content, b.Content, true)
	e.shut()
	if found, expected := elicitationFault(t, b); found != "" {
		e.bad(found, expected)
	}
}

func (e *encoder) userMessage(ev *ahp.Event, b *ahp.UserMessageBody) {
	e.key("message")
	e.open()
	e.name("channel", b.Channel)
	if ev.Type == ahp.MessageInbound {
		e.name("sender", b.Sender)
	} else if b.Sender != "" {
		e.bad("a sender", "none: only an inbound message has one")
	}
	e.key("messages")
	e.messages(ev.Messages, ahp.RoleAt(ev.Type))
	e.shut()
}
