package wiredraft

import (
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
	"github.com/holdpoint/holdpoint/internal/uri"
)

// eventTypes says which events a message may carry.
type eventTypes uint8

const (
	anyEvent      eventTypes = iota
	interceptable            // hooks/intercept (D-EVT-6)
)

// event reads the event at the current position into ev (AHP draft section 3).
func (d *decoder) event(ev *ahp.Event, allowed eventTypes) {
	start, ok := d.object("an object that describes the event")
	if !ok {
		return
	}
	var (
		sh                     *shape
		id, source, typ, tm    bool
		seen                   field
		early                  []walk.Later // members before the type, which says what they are
		earlyMem               [8]walk.Later
		elicitation, execution int // offsets
	)
	early = earlyMem[:0]
	member := func(f field) {
		seen |= f
		switch f {
		case fElicitation:
			elicitation = d.Pos()
		case fExecution:
			execution = d.Pos()
		}
		d.eventField(ev, sh, f)
	}
	for d.More() {
		name := d.Name()
		switch string(name) {
		case "id":
			id = true
			v := d.Skip()
			if v.Kind != '"' || v.Empty() {
				d.bad(v, nonEmpty)
				continue
			}
			d.eventID = v
			ev.ID = d.Str(v)
			continue
		case "source":
			source = true
			v := d.Skip()
			if v.Kind != '"' || !uri.Valid(d.Content(v)) {
				d.bad(v, "a URI with a scheme")
				continue
			}
			ev.Source = d.Str(v)
			continue
		case "type":
			typ = true
			v := d.Skip()
			if v.Kind != '"' {
				d.bad(v, "a string that names an event type")
				continue
			}
			sh = shapes[string(d.Content(v))]
			if sh == nil {
				d.Fail(walk.StageType, ahp.FailUnsupported, ahp.CodeUnsupportedEvent, v.Start, "another event type", "an event type of revision draft")
				continue
			}
			ev.Type = sh.typ
			if allowed == interceptable && !sh.typ.Interceptable(ahp.VersionDraft) {
				d.Fail(walk.StageType, ahp.FailUnsupported, ahp.CodeUnsupportedEvent, v.Start, "an event type that can only be observed", "one that can be intercepted")
			}
			ev.Body = newBody(sh.typ)
			continue
		case "time":
			tm = true
			v := d.Skip()
			if v.Kind != '"' || !walk.DateTime(d.Content(v)) {
				d.bad(v, "an RFC 3339 date-time")
				continue
			}
			ev.Time = d.Str(v)
			continue
		}
		f := fieldOf(name)
		switch {
		case f != 0 && sh == nil:
			early = append(early, d.Later())
			d.Skip()
		case f == 0 || !sh.defines(f):
			if f != 0 && sh.forbidden&f != 0 {
				d.badAs(d.NameVal().Start, "a member", "nothing: "+string(sh.typ)+" does not have it")
			}
			d.Keep(&ev.Unknown, d.Skip())
		default:
			member(f)
		}
	}
	if d.Dead() {
		return
	}
	if !id {
		d.lacks(start, "id", nonEmpty)
	}
	if !source {
		d.lacks(start, "source", "a URI with a scheme")
	}
	if !typ {
		d.lacks(start, "type", "an event type")
	}
	if !tm {
		d.lacks(start, "time", "an RFC 3339 date-time")
	}
	if sh == nil {
		return // nobody knows what belongs to it
	}
	for _, l := range early {
		d.Revisit(l, func() {
			f := fieldOf(d.Name())
			if sh.defines(f) {
				member(f)
				return
			}
			if sh.forbidden&f != 0 {
				d.badAs(d.NameVal().Start, "a member", "nothing: "+string(sh.typ)+" does not have it")
			}
			d.Keep(&ev.Unknown, d.Skip())
		})
	}
	if lacking := sh.required &^ seen; lacking != 0 {
		for i := range fieldInfo {
			if lacking&(1<<i) != 0 {
				d.lacks(start, fieldInfo[i].name, fieldInfo[i].expected)
			}
		}
		return
	}
	d.eventRules(ev, start, seen, elicitation, execution)
}

// eventRules checks what members of one event mean for each other.
func (d *decoder) eventRules(ev *ahp.Event, start int, seen field, elicitation, execution int) {
	not := func(f field, why string) {
		if seen&f != 0 {
			for i := range fieldInfo {
				if f == 1<<i {
					d.extra(start, fieldInfo[i].name, "a member", "nothing: "+why)
				}
			}
		}
	}
	switch b := ev.Body.(type) {
	case *ahp.SessionStartBody:
		if b.ResumedFrom == nil && (b.Trigger == "clear" || b.Trigger == "fork") && seen&fResumedFrom == 0 {
			d.lacks(start, "resumedFrom", "an object with the id of the earlier session")
		}
	case *ahp.TurnFinishBody:
		if b.Outcome == ahp.TurnCompleted {
			not(fError, "a completed turn has none")
		}
	case *ahp.ModelResponseBody:
		if b.Execution.Skipped != "" {
			if b.Execution.Skipped != ahp.SkipSupplied {
				d.extra(execution, "execution/reason", "another reason", "supplied_result")
			}
			not(fUsage, "skipped work has no usage")
			not(fLatencyMs, "skipped work has no latency")
		}
	case *ahp.ModelErrorBody:
		if b.Execution.Skipped != "" {
			d.extra(execution, "execution/status", "skipped", "executed")
		}
	case *ahp.ToolAfterBody:
		switch {
		case b.Outcome == "":
		case b.Outcome != ahp.ToolFailed:
			not(fError, "only the outcome error has one")
		case seen&fError == 0:
			d.lacks(start, "error", "an object with class and message")
		}
		if b.Outcome == ahp.ToolDenied && b.Execution.Skipped != ahp.SkipPolicy {
			d.extra(execution, "execution", "another execution", "skipped for policy: the call was denied")
		}
		if b.Execution.Skipped != "" {
			not(fDurationMs, "skipped work has no duration")
			not(fFileChanges, "skipped work changes no files")
		}
	case *ahp.CompactBeforeBody:
		if b.TokenCounts != nil && b.TokenCounts.After != nil {
			d.extra(start, "tokenCounts/after", "a member", "nothing: nothing is compacted yet")
		}
	case *ahp.CompactAfterBody:
		if b.Execution.Skipped != "" && b.Execution.Skipped != ahp.SkipSupplied {
			d.extra(execution, "execution/reason", "another reason", "supplied_result")
		}
	case *ahp.ElicitationBody:
		if b.Content != nil && b.Content.Text != nil {
			d.elicitation(ev.Type, b, elicitation)
		}
	default: // their members mean nothing for each other
	}
}

// eventField reads the value of a member that events of this type define.
func (d *decoder) eventField(ev *ahp.Event, sh *shape, f field) {
	switch f {
	case fSession:
		d.session(&ev.Session)
	case fTurn:
		t := &ahp.Turn{}
		if d.mem != nil {
			t = &d.mem.turn
		}
		d.turn(t, sh.turnOpen)
		ev.Turn = t
	case fParent:
		ev.Parent = d.name()
	case fItems:
		if sh.messages {
			ev.Messages = d.messages("")
		} else {
			ev.Parts = d.parts(false)
		}
	case fGaps:
		ev.Gaps = d.eventGaps()
	case fNative:
		d.native(ev)
	case fExtensions:
		d.extensions(&ev.Extensions, &ev.HasExtensions)
	case fSynthesized:
		ev.Synthesized = d.marker()
	case fCall, fTool, fPath, fBatch:
		if b, ok := ev.Body.(*ahp.BatchBody); ok {
			b.Batch = d.batch(false)
			return
		}
		if ev.Tool == nil {
			ev.Tool = new(ahp.Tool)
			if d.mem != nil {
				ev.Tool = &d.mem.tool
			}
		}
		d.toolField(ev.Tool, f)
	default:
		d.payload(ev, f)
	}
}

// toolField reads one of the members that describe a tool call.
func (d *decoder) toolField(t *ahp.Tool, f field) {
	switch f {
	case fCall:
		r := d.ref("an object with the call's id")
		t.CallID, t.CallSynthesized = r.ID, r.Synthesized
	case fTool:
		d.tool(t)
	case fPath:
		t.Path = d.name()
	case fBatch:
		b := d.batch(true)
		t.Batch = &b
	}
}

func (d *decoder) session(s *ahp.Session) {
	start, ok := d.object("an object with the session's id")
	if !ok {
		return
	}
	// An empty string that is allowed is kept as an unknown member, since in the model
	// it is an absent one.
	optional := func(dst *string, unknown *ahp.Members, name string) {
		v := d.Skip()
		switch {
		case v.Kind != '"':
			d.bad(v, "a string")
		case v.Empty():
			*unknown = append(*unknown, ahp.Member{Name: name, Value: ahp.Raw(`""`)})
		default:
			*dst = d.Str(v)
		}
	}
	id := false
	for d.More() {
		switch string(d.Name()) {
		case "id":
			id = true
			s.ID = d.name()
		case "cwd":
			optional(&s.CWD, &s.Unknown, "cwd")
		case "workspaceRoots":
			s.WorkspaceRoots = d.names("an array of strings", 0, false)
		case "model":
			optional(&s.Model, &s.Unknown, "model")
		case "agent":
			off, ok := d.object("an object with the agent's id")
			if !ok {
				continue
			}
			a := new(ahp.Agent)
			if d.mem != nil {
				a = &d.mem.agent
			}
			has := false
			for d.More() {
				switch string(d.Name()) {
				case "id":
					has = true
					a.ID = d.name()
				case "type":
					optional(&a.Type, &a.Unknown, "type")
				default:
					d.Keep(&a.Unknown, d.Skip())
				}
			}
			if !has {
				d.lacks(off, "id", nonEmpty)
			}
			s.Agent = a
		case "synthesized":
			s.Synthesized = d.marker()
		default:
			d.Keep(&s.Unknown, d.Skip())
		}
	}
	if !id {
		d.lacks(start, "id", nonEmpty)
	}
}

func (d *decoder) turn(t *ahp.Turn, open bool) {
	start, ok := d.object("an object with the turn's id")
	if !ok {
		return
	}
	id := false
	for d.More() {
		switch string(d.Name()) {
		case "id":
			id = true
			t.ID = d.name()
		case "synthesized":
			t.Synthesized = d.marker()
		default:
			if !open {
				d.closed()
				continue
			}
			d.Keep(&t.Unknown, d.Skip())
		}
	}
	if !id {
		d.lacks(start, "id", nonEmpty)
	}
}

// batch reads a batch object, with the ids of its calls or without.
func (d *decoder) batch(callIDs bool) (b ahp.Batch) {
	start, ok := d.object("an object with the batch's id")
	if !ok {
		return b
	}
	var id, calls bool
	for d.More() {
		name := d.Name()
		switch {
		case string(name) == "id":
			id = true
			b.ID = d.name()
		case string(name) == "callIds" && callIDs:
			calls = true
			off := d.Pos()
			const expected = "an array of call ids, each once"
			if b.CallIDs = d.names(expected, 1, true); b.CallIDs != nil && len(b.CallIDs) == 0 {
				d.badAs(off, "an empty array", expected)
			}
		case string(name) == "synthesized":
			b.Synthesized = d.marker()
		default:
			d.closed()
		}
	}
	if !id {
		d.lacks(start, "id", nonEmpty)
	}
	if callIDs && !calls {
		d.lacks(start, "callIds", "an array of call ids, each once")
	}
	return b
}

// eventGaps reads the gaps of an event or a manifest: open entries, maybe none.
func (d *decoder) eventGaps() []ahp.Gap {
	if _, ok := d.array("an array of gaps"); !ok {
		return nil
	}
	list := []ahp.Gap{}
	for d.More() {
		list = append(list, d.gap(true, true))
	}
	return list
}

// gap reads what is missing and why.
func (d *decoder) gap(needPath, open bool) (g ahp.Gap) {
	start, ok := d.object("an object with path and reason")
	if !ok {
		return g
	}
	var path, reason bool
	for d.More() {
		switch string(d.Name()) {
		case "path":
			path = true
			g.Path = d.name()
		case "reason":
			reason = true
			g.Reason = d.name()
		default:
			if !open {
				d.closed()
				continue
			}
			d.Keep(&g.Unknown, d.Skip())
		}
	}
	if needPath && !path {
		d.lacks(start, "path", nonEmpty)
	}
	if !reason {
		d.lacks(start, "reason", nonEmpty)
	}
	return g
}

// native reads any JSON; an object of the three-field shape as such (D-AMB-2).
func (d *decoder) native(ev *ahp.Event) {
	start := d.Pos()
	if d.Kind() != '{' {
		ev.NativeOther = d.Raw(d.Skip())
		return
	}
	n := new(ahp.Native)
	var provider, eventName, payload bool
	d.Open()
	for d.More() {
		name := d.Name()
		switch {
		case string(name) == "provider" && d.Kind() == '"':
			v := d.Skip()
			provider, n.Provider = !v.Empty() && !v.Esc, d.Str(v)
		case string(name) == "eventName" && d.Kind() == '"':
			v := d.Skip()
			eventName, n.EventName = !v.Empty() && !v.Esc, d.Str(v)
		case string(name) == "payload" && d.Kind() == '{':
			payload, n.Payload = true, d.Raw(d.Skip())
		default:
			d.Keep(&n.Unknown, d.Skip())
		}
	}
	if provider && eventName && payload {
		ev.Native = n
		return
	}
	ev.NativeOther = d.Raw(walk.Val{Kind: '{', Start: start, End: d.Pos()})
}
