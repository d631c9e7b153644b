package wiredraft

import (
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// payload reads a member that only some event types have. The event's body exists,
// and the type defines the field.
func (d *decoder) payload(ev *ahp.Event, f field) {
	switch b := ev.Body.(type) {
	case *ahp.SessionStartBody:
		switch f {
		case fTrigger:
			b.Trigger = d.one("startup, resume, clear, compact or fork", "startup", "resume", "clear", "compact", "fork")
		case fResumedFrom:
			r := d.ref("an object with the id of the earlier session")
			b.ResumedFrom = &r
		case fHarness:
			d.product(&b.Harness)
		case fPermissionMode:
			b.PermissionMode = d.name()
		case fManifest:
			d.manifest(&b.Manifest)
		}
	case *ahp.SessionEndBody:
		switch f {
		case fOutcome:
			ev.Outcome = ahp.Outcome(d.one("completed, cancelled, error or unknown", string(ahp.OutcomeCompleted),
				string(ahp.OutcomeCancelled), string(ahp.OutcomeError), string(ahp.OutcomeUnknown)))
		case fReason:
			b.Reason = d.name()
		case fCounters:
			if _, ok := d.object("an object of integers from 0"); !ok {
				return
			}
			b.Counters = []ahp.Counter{}
			for d.More() {
				name := d.Str(d.NameVal())
				b.Counters = append(b.Counters, ahp.Counter{Name: name, Count: d.count(0)})
			}
		}
	case *ahp.TurnStartBody:
		switch f {
		case fTrigger:
			b.Trigger = d.one("user, continuation, hook or external", "user", "continuation", "hook", "external")
		case fExpandedFrom:
			b.ExpandedFrom = d.name()
		}
	case *ahp.TurnFinishBody:
		switch f {
		case fOutcome:
			b.Outcome = ahp.TurnOutcome(d.one("completed, failed, cancelled or max_iterations", string(ahp.TurnCompleted),
				string(ahp.TurnFailed), string(ahp.TurnCancelled), string(ahp.TurnMaxIterations)))
		case fContinuationCount:
			b.ContinuationCount = d.count(0)
		case fLastAssistantItem:
			r := d.ref("an object with the item's id")
			b.LastAssistantItem = &r
		case fUsage:
			b.Usage = d.usage(false)
		case fError:
			b.Error = d.eventError()
		}
	case *ahp.TurnProgressBody:
		switch f {
		case fItem:
			b.Item = d.ref("an object with the item's id")
		case fDelta:
			b.Delta = d.message("")
		case fFinal:
			b.Final = d.boolean()
		}
	case *ahp.ModelRequestBody:
		switch f {
		case fModel:
			b.Model = d.model()
		case fAttempt:
			b.Attempt = d.attempt()
		case fParams:
			b.Params = d.rawObject("an object: the provider's own parameters")
		}
	case *ahp.ModelResponseBody:
		switch f {
		case fModel:
			b.Model = d.model()
		case fAttempt:
			b.Attempt = d.attempt()
		case fExecution:
			b.Execution = d.execution()
		case fFinishReason:
			b.FinishReason = d.name()
		case fUsage:
			b.Usage = d.usage(true)
		case fLatencyMs:
			b.LatencyMs = d.number()
		}
	case *ahp.ModelErrorBody:
		switch f {
		case fModel:
			b.Model = d.model()
		case fAttempt:
			b.Attempt = d.attempt()
		case fExecution:
			b.Execution = d.execution()
		case fError:
			if e := d.eventError(); e != nil {
				b.Error = *e
			}
		case fUsage:
			b.Usage = d.usage(true)
		case fLatencyMs:
			b.LatencyMs = d.number()
		case fRecovery:
			b.Recovery = d.name()
		}
	case *ahp.ModelSwitchBody:
		switch f {
		case fCurrent:
			b.Current = d.model()
		case fProposed:
			m := d.model()
			b.Proposed = &m
		case fPrevious:
			m := d.model()
			b.Previous = &m
		case fReason:
			b.Reason = d.name()
		case fPricing:
			b.Pricing = d.pricing()
		}
	case *ahp.PermissionRequestBody:
		switch f {
		case fSuggestions:
			b.Suggestions = d.objects("an array of objects")
		case fSandboxBypass:
			b.SandboxBypass = d.boolean()
		}
	case *ahp.PermissionResolvedBody:
		switch f {
		case fDecision:
			b.Decision = d.one("allow or deny", "allow", "deny")
		case fDecidedBy:
			b.DecidedBy = d.one("user, policy, hook, auto or classifier", "user", "policy", "hook", "auto", "classifier")
		}
	case *ahp.ToolProgressBody:
		switch f {
		case fPartialOutput:
			b.PartialOutput = d.message("")
		case fBackgrounded:
			b.Backgrounded = d.boolean()
		}
	case *ahp.ToolAfterBody:
		switch f {
		case fOutcome:
			b.Outcome = d.toolOutcome()
		case fExecution:
			b.Execution = d.execution()
		case fError:
			b.Error = d.eventError()
		case fDurationMs:
			b.DurationMs = d.number()
		case fFileChanges:
			if _, ok := d.array("an array of file changes"); !ok {
				return
			}
			b.FileChanges = []ahp.ChangedFile{}
			for d.More() {
				b.FileChanges = append(b.FileChanges, d.changedFile())
			}
		}
	case *ahp.BatchBody:
		if f == fCalls {
			off, ok := d.array("an array of resolved calls")
			if !ok {
				return
			}
			b.Calls = []ahp.BatchCall{}
			for d.More() {
				b.Calls = append(b.Calls, d.batchCall())
			}
			if len(b.Calls) == 0 {
				d.badAs(off, "an empty array", "at least one call")
			}
		}
	case *ahp.CompactBeforeBody:
		switch f {
		case fTrigger:
			b.Trigger = d.one("auto, manual or hook", "auto", "manual", "hook")
		case fInstructions:
			b.Instructions = d.parts(true)
		case fTokenCounts:
			b.TokenCounts = d.tokenCounts()
		}
	case *ahp.CompactAfterBody:
		switch f {
		case fSummary:
			b.Summary = d.parts(true)
		case fRemoved:
			b.Removed = d.removed()
		case fExecution:
			b.Execution = d.execution()
		case fTokenCounts:
			b.TokenCounts = d.tokenCounts()
		}
	case *ahp.ConfigChangeBody:
		d.configChange(b, ev.Type == ahp.ConfigChangeAfter)
	case *ahp.TaskChangeBody:
		d.task(b)
	case *ahp.WorkspaceChangeBody:
		d.workspace(b)
	case *ahp.FileChangedBody:
		d.fileChanges(b)
	case *ahp.AttentionBody:
		d.attention(b)
	case *ahp.ElicitationBody:
		d.elicitationObject(b, ev.Type == ahp.ElicitationResult)
	case *ahp.UserMessageBody:
		ev.Messages = d.userMessage(b, ev.Type == ahp.MessageInbound)
	case *ahp.HookFailureBody:
		d.hookFailure(b)
	}
}

func (d *decoder) product(p *ahp.Product) {
	start, ok := d.object("an object with name and version")
	if !ok {
		return
	}
	var name, version bool
	for d.More() {
		switch string(d.Name()) {
		case "name":
			name = true
			p.Name = d.name()
		case "version":
			version = true
			p.Version = d.name()
		default:
			d.closed()
		}
	}
	if !name {
		d.lacks(start, "name", nonEmpty)
	}
	if !version {
		d.lacks(start, "version", nonEmpty)
	}
}

func (d *decoder) model() (m ahp.Model) {
	start, ok := d.object("an object with id and provider")
	if !ok {
		return m
	}
	var id, provider bool
	for d.More() {
		switch string(d.Name()) {
		case "id":
			id = true
			m.ID = d.name()
		case "provider":
			provider = true
			m.Provider = d.name()
		default:
			d.closed()
		}
	}
	if !id {
		d.lacks(start, "id", nonEmpty)
	}
	if !provider {
		d.lacks(start, "provider", nonEmpty)
	}
	return m
}

func (d *decoder) attempt() (a ahp.Attempt) {
	start, ok := d.object("an object with id and number")
	if !ok {
		return a
	}
	var id, number bool
	for d.More() {
		switch string(d.Name()) {
		case "id":
			id = true
			a.ID = d.name()
		case "number":
			number = true
			a.Number = d.count(1)
		case "synthesized":
			a.Synthesized = d.marker()
		default:
			d.closed()
		}
	}
	if !id {
		d.lacks(start, "id", nonEmpty)
	}
	if !number {
		d.lacks(start, "number", "an integer from 1")
	}
	return a
}

// eventError reads an error object (AHP draft section 4.4).
func (d *decoder) eventError() *ahp.EventError {
	start, ok := d.object("an object with class and message")
	if !ok {
		return nil
	}
	e := new(ahp.EventError)
	var class, message bool
	for d.More() {
		switch string(d.Name()) {
		case "class":
			class = true
			e.Class = d.name()
		case "message":
			message = true
			e.Message = d.name()
		case "code":
			e.Code = d.name()
		case "status":
			v := d.Skip()
			if !d.integerOrName(v) {
				d.bad(v, "a string that is not empty or an integer")
				continue
			}
			e.Status = d.Raw(v)
		case "native":
			e.Native = d.Raw(d.Skip())
		default:
			d.closed()
		}
	}
	if !class {
		d.lacks(start, "class", nonEmpty)
	}
	if !message {
		d.lacks(start, "message", nonEmpty)
	}
	return e
}

func (d *decoder) integerOrName(v walk.Val) bool {
	switch v.Kind {
	case '"':
		return !v.Empty()
	case '0':
		_, _, ok := walk.Integer(d.Text(v))
		return ok
	}
	return false
}

func (d *decoder) toolOutcome() ahp.ToolOutcome {
	return ahp.ToolOutcome(d.one("ok, error, denied, cancelled or timeout", string(ahp.ToolOK), string(ahp.ToolFailed),
		string(ahp.ToolDenied), string(ahp.ToolCancelled), string(ahp.ToolTimeout)))
}

func (d *decoder) objects(expected string) []ahp.Raw {
	if _, ok := d.array(expected); !ok {
		return nil
	}
	list := []ahp.Raw{}
	for d.More() {
		list = append(list, d.rawObject("an object"))
	}
	return list
}

// changedFile reads a file that a tool call changed (AHP draft section 4.4).
func (d *decoder) changedFile() (c ahp.ChangedFile) {
	start, ok := d.object("an object with path and change")
	if !ok {
		return c
	}
	var path, change, previous bool
	var before, after int
	for d.More() {
		switch string(d.Name()) {
		case "path":
			path = true
			c.Path = d.name()
		case "change":
			change = true
			c.Change = d.one("created, modified, deleted or moved", "created", "modified", "deleted", "moved")
		case "previousPath":
			previous = true
			c.PreviousPath = d.name()
		case "before":
			before = d.NameVal().Start
			c.Before = d.partPtr(false)
		case "after":
			after = d.NameVal().Start
			c.After = d.partPtr(false)
		default:
			d.closed()
		}
	}
	if !path {
		d.lacks(start, "path", nonEmpty)
	}
	if !change {
		d.lacks(start, "change", "created, modified, deleted or moved")
	}
	if c.Change == "moved" && !previous {
		d.lacks(start, "previousPath", nonEmpty)
	}
	if c.Change == "created" && before > 0 {
		d.extra(before, "before", "a member", "nothing: the file was created")
	}
	if c.Change == "deleted" && after > 0 {
		d.extra(after, "after", "a member", "nothing: the file was deleted")
	}
	return c
}

// batchCall reads one resolved call of a batch.
func (d *decoder) batchCall() (c ahp.BatchCall) {
	start, ok := d.object("an object that describes a resolved call")
	if !ok {
		return c
	}
	seen := field(0)
	execution := 0
	for d.More() {
		f := fieldOf(d.Name())
		switch f {
		case fCall, fTool, fPath, fBatch:
			d.toolField(&c.Tool, f)
		case fOutcome:
			c.Outcome = d.toolOutcome()
		case fExecution:
			execution = d.Pos()
			c.Execution = d.execution()
		default:
			d.closed()
			continue
		}
		seen |= f
	}
	lacking := (fOfTool | fOutcome | fExecution) &^ seen
	for i := range fieldInfo {
		if lacking&(1<<i) != 0 {
			d.lacks(start, fieldInfo[i].name, fieldInfo[i].expected)
		}
	}
	if lacking == 0 && c.Outcome == ahp.ToolDenied && c.Execution.Skipped != ahp.SkipPolicy {
		d.extra(execution, "execution", "another execution", "skipped for policy: the call was denied")
	}
	return c
}

func (d *decoder) removed() []string {
	if _, ok := d.array("an array of objects with an id"); !ok {
		return nil
	}
	list := []string{}
	for d.More() {
		start, ok := d.object("an object with the item's id")
		if !ok {
			continue
		}
		has := false
		for d.More() {
			if string(d.Name()) != "id" {
				d.closed()
				continue
			}
			has = true
			list = append(list, d.name())
		}
		if !has {
			d.lacks(start, "id", nonEmpty)
		}
	}
	return list
}
