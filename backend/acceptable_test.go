package backend_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/settle"
)

// TestSentIsWhatIsAccepted is a property of the three places where an answer is judged,
// at every boundary, for any list of effects: a handler's effects are sent exactly if
// settlement accepts them for the event as it was shown and the codec can say them. What
// was sent reads as an answer to the request and is accepted by the host that holds the
// whole event. There is one exception, of which a backend cannot know: text that was
// hidden from it may stand under another category (D-TGT-9).
func TestSentIsWhatIsAccepted(t *testing.T) {
	for _, at := range interceptable() {
		t.Run(string(at), rapid.MakeCheck(func(t *rapid.T) { sentIsWhatIsAccepted(t, at) }))
	}
}

func FuzzSentIsWhatIsAccepted(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) { sentIsWhatIsAccepted(t, rapid.SampledFrom(interceptable()).Draw(t, "event")) }))
}

func sentIsWhatIsAccepted(t *rapid.T, at ahp.EventType) {
	caps := all(at, 1)
	if rapid.Bool().Draw(t, "narrowed") {
		caps = narrowed(t, at)
	}
	whole := drawEvent(t, at)
	frame, err := wiredraft.AppendIntercept(nil, shownOf(t, whole), &caps, nil, nil)
	if err != nil {
		t.Fatalf("the generator: %v", err)
	}
	m, bad := wiredraft.DecodeRequest(frame, wiredraft.Limits{})
	if bad != nil {
		t.Fatalf("the generator: %v\n%s", bad, frame)
	}
	shown := m.Event
	var list []ahp.Effect
	for range rapid.IntRange(1, 3).Draw(t, "effects") {
		list = append(list, drawEffect(t, whole))
	}

	host := settle.BoundaryOptions{SystemInject: true}
	apply := func(ev *ahp.Event, effects []ahp.Effect) *ahp.Failure {
		_, v := settle.Open(ev, &caps, host).Apply(settle.Step{Policy: ahp.FailClosed, Effects: effects, Caps: &caps, View: shown})
		return v.Failure
	}
	refused := apply(shown, list)
	if check := settle.Check(shown, &caps, list, host); (check == nil) != (refused == nil) || check != nil && check.Error() != refused.Error() {
		t.Fatalf("checked: %v, applied: %v", check, refused)
	}
	_, unsayable := wiredraft.AppendResult(nil, m.ID, at, &caps, list, nil)
	answer, err := newServer(quiet{}, returning(list...), draftOptions()).Local(t.Context(), frame)
	if err != nil {
		t.Fatal(err)
	}
	sent := strings.Contains(string(answer), `"effects":[`)
	if sent != (refused == nil && unsayable == nil) {
		t.Fatalf("sent %v, settlement says %v, the codec %v\n%s\n%s", sent, refused, unsayable, frame, answer)
	}
	if !sent {
		return
	}
	got, f := wiredraft.DecodeResponse(answer, shown.ID, at, &caps, wiredraft.Limits{})
	if f != nil || len(got) != len(list) {
		t.Fatalf("%v: %s", f, answer)
	}
	if f := apply(shown, got); f != nil {
		t.Fatalf("%v: %s", f, answer)
	}
	if f := apply(whole, got); f != nil && !strings.Contains(f.Error(), "content of one category under another") {
		t.Fatalf("%v: %s\n%s", f, answer, frame)
	}
}

// quiet is a test of which nothing is asked.
type quiet struct{ testing.TB }

func (quiet) Helper() {}

// eventParts holds what events of each type have beside their content.
var eventParts = map[ahp.EventType]string{
	ahp.SessionStart: `"session":{"id":"s"},"trigger":"startup","harness":{"name":"h","version":"1"},"permissionMode":"ask","items":[],"manifest":` +
		`{"events":[{"event":"tool.before","modes":["observe","intercept"],"capabilities":{"effects":["deny"]}}],"gaps":[],"transports":["http"],` +
		`"authentication":["bearer"],"toolPaths":["native"],"contentCategories":["text"],"limits":{},"managedPolicy":{"scopes":[],"disableable":true},"correlationIdentityFields":["id"]}`,
	ahp.TurnStart:             `"turn":{"id":"t"},"trigger":"user","items":[]`,
	ahp.TurnFinishBefore:      `"turn":{"id":"t"},"outcome":"completed","continuationCount":0,"items":[]`,
	ahp.ModelRequestBefore:    `"turn":{"id":"t"},"request":{"id":"r"},"attempt":{"id":"a","number":1},"model":{"id":"a","provider":"p"},"params":{},"items":[]`,
	ahp.ModelResponseAfter:    `"turn":{"id":"t"},"request":{"id":"r"},"attempt":{"id":"a","number":1},"model":{"id":"a","provider":"p"},"execution":{"status":"executed"},"items":[],"finishReason":"stop","latencyMs":1`,
	ahp.ModelSwitchBefore:     `"current":{"id":"a","provider":"p"},"proposed":{"id":"b","provider":"p"},"reason":"r"`,
	ahp.ToolBefore:            toolPart,
	ahp.ToolPermissionRequest: toolPart + `,"suggestions":[],"sandboxBypass":false`,
	ahp.ToolAfter:             toolPart + `,"outcome":"ok","execution":{"status":"executed"},"items":[]`,
	ahp.ToolBatchAfter:        `"batch":{"id":"b"},"calls":[{` + toolPart + `,"outcome":"ok","execution":{"status":"executed"}}]`,
	ahp.CompactBefore:         `"trigger":"auto","items":[]`,
	ahp.CompactAfter:          `"summary":[],"removed":[{"id":"x"}],"execution":{"status":"executed"}`,
	ahp.ConfigChangeBefore:    `"change":{"source":"s","scope":"p","settings":["x"],"summary":"y"}`,
	ahp.TaskChangeBefore:      `"task":{"id":"k","operation":"remove","change":{}}`,
	ahp.WorkspaceChangeBefore: `"workspace":{"kind":"switch","change":{"cwd":"/srv","workspaceRoots":["/srv"]}}`,
	ahp.ElicitationRequest:    `"elicitation":{"server":"s","mode":"form"}`,
	ahp.ElicitationResult:     `"elicitation":{"server":"s","mode":"form","action":"accept"}`,
	ahp.MessageInbound:        `"message":{"channel":"c","sender":"u","messages":[]}`,
	ahp.MessageOutbound:       `"message":{"channel":"c","messages":[]}`,
}

const longText = "long enough to be the same content"

// drawEvent draws an event with all its content.
func drawEvent(t *rapid.T, at ahp.EventType) *ahp.Event {
	ev, err := wiredraft.DecodeEvent([]byte(draftEvent("a", at, eventParts[at])), wiredraft.Limits{})
	if err != nil {
		t.Fatalf("the generator at %s: %v", at, err)
	}
	if ev.Messages != nil {
		ev.Messages = drawMessages(t, ahp.RoleAt(at), "m", "p", true)
	}
	switch b := ev.Body.(type) {
	case *ahp.CompactBeforeBody:
		b.Instructions = drawParts(t, "i", true, true)
	case *ahp.CompactAfterBody:
		b.Summary = drawParts(t, "i", true, true)
	case *ahp.ElicitationBody:
		text := `{"action":"accept","content":{"day":"monday"}}`
		switch url := rapid.Bool().Draw(t, "url"); {
		case at == ahp.ElicitationRequest && url:
			b.Mode, text = "url", `{"mode":"url","message":"?","url":"https://example.org/","elicitationId":"e"}`
		case at == ahp.ElicitationRequest:
			text = `{"message":"?","requestedSchema":{"type":"object","properties":{"day":{"type":"string","enum":["monday","friday"]}},"required":["day"]}}`
		case url:
			b.Mode, text = "url", `{"action":"accept"}`
		case rapid.Bool().Draw(t, "declined"):
			b.Action, text = "decline", `{"action":"decline"}`
		}
		p := ahp.TextPart("e", text)
		b.Content = &p
	default: // no content that an effect changes
	}
	return ev
}

// drawMessages draws messages with these names, each once in an event and often in an
// effect, and with nothing wrong in them, or anything.
func drawMessages(t *rapid.T, role ahp.Role, name, part string, good bool) []ahp.Message {
	list := []ahp.Message{}
	for i := range rapid.IntRange(0, 2).Draw(t, "messages") {
		m := ahp.Message{ID: name + string(rune('0'+i)), Role: role, Parts: drawParts(t, part+string(rune('0'+i)), false, good)}
		if role == "" || !good && often(t, "another role") {
			m.Role = rapid.SampledFrom([]ahp.Role{ahp.RoleSystem, ahp.RoleDeveloper, ahp.RoleUser, ahp.RoleAssistant, ahp.RoleTool}).Draw(t, "role")
		}
		switch rapid.IntRange(0, 15).Draw(t, "of a message") {
		case 0: // reasoning, alone as it must be or not
			if len(m.Parts) == 0 || good && m.Role != ahp.RoleAssistant {
				break
			}
			if m.Parts[0].Category = ahp.CategoryReasoning; good || rapid.Bool().Draw(t, "alone") {
				m.Parts = m.Parts[:1]
				m.Parts[0].Kind, m.Parts[0].MediaType, m.Parts[0].Ref, m.Parts[0].Text = ahp.PartText, ahp.TextPlain, "", new(longText)
			}
		case 1:
			if !good {
				m.ID = ""
			}
		case 2:
			if !good {
				m.Role = "root"
			}
		}
		list = append(list, m)
	}
	return list
}

func often(t *rapid.T, what string) bool { return rapid.IntRange(0, 7).Draw(t, what) == 0 }

func drawParts(t *rapid.T, name string, textOnly, good bool) []ahp.Part {
	list := []ahp.Part{}
	for i := range rapid.IntRange(0, 2).Draw(t, "parts") {
		p := ahp.TextPart(name+string(rune('0'+i)), rapid.SampledFrom([]string{"hi", longText, ""}).Draw(t, "text"))
		if (!textOnly || !good) && rapid.IntRange(0, 2).Draw(t, "attachment") == 0 {
			p = attachment("known")
			p.ID = name + string(rune('0'+i))
		}
		if often(t, "category") {
			p.Category = "notes"
		}
		if !good {
			spoil(t, &p)
		}
		list = append(list, p)
	}
	return list
}

// spoil makes a part one that may be wrong, mostly not.
func spoil(t *rapid.T, p *ahp.Part) {
	size := int64(1)
	switch rapid.IntRange(0, 30).Draw(t, "of a part") {
	case 0:
		p.ID = ""
	case 1:
		p.Kind = "json"
	case 2:
		p.MediaType = rapid.SampledFrom([]string{"", "text/html", "application/json", "image/png"}).Draw(t, "media type")
	case 3:
		p.Selection = rapid.SampledFrom([]ahp.Selection{"", "all", ahp.SelectMetadata, ahp.SelectOmit}).Draw(t, "selection")
	case 4:
		hidePart(p, ahp.SelectMetadata)
	case 5:
		p.Text, p.Ref, p.Gap = nil, "", &ahp.Gap{Reason: "gone"}
	case 6:
		p.Ref = "foreign"
	case 7:
		p.Size = &size
	case 8:
		p.Text = new("\xff")
	case 9:
		p.Category = ahp.CategoryReasoning
	case 10:
		p.Synthesized = new(true)
	}
}

func hidePart(p *ahp.Part, s ahp.Selection) { p.Text, p.Ref, p.Selection = nil, "", s }

// shownOf returns what a backend is shown of an event: all of it, or some without their
// bodies.
func shownOf(t *rapid.T, ev *ahp.Event) *ahp.Event {
	if rapid.Bool().Draw(t, "all is shown") {
		return ev
	}
	view := *ev
	hide := func(p *ahp.Part) {
		switch rapid.IntRange(0, 5).Draw(t, "hidden") {
		case 0:
			hidePart(p, ahp.SelectMetadata)
		case 1:
			hidePart(p, ahp.SelectBody)
			p.Gap = &ahp.Gap{Reason: "gone"}
		}
	}
	parts := func(list []ahp.Part) []ahp.Part {
		list = slices.Clone(list)
		for i := range list {
			hide(&list[i])
		}
		return list
	}
	view.Messages = slices.Clone(view.Messages)
	for i := range view.Messages {
		view.Messages[i].Parts = parts(view.Messages[i].Parts)
	}
	switch b := view.Body.(type) {
	case *ahp.CompactBeforeBody:
		body := *b
		body.Instructions, view.Body = parts(b.Instructions), &body
	case *ahp.CompactAfterBody:
		body := *b
		body.Summary, view.Body = parts(b.Summary), &body
	case *ahp.ElicitationBody:
		body, content := *b, *b.Content
		hide(&content)
		body.Content, view.Body = &content, &body
	default: // nothing is hidden
	}
	return &view
}

// drawEffect draws an effect for an event: of any type, right or wrong.
func drawEffect(t *rapid.T, ev *ahp.Event) ahp.Effect {
	text := func() string {
		return rapid.SampledFrom([]string{"text", "text", "text", "text", "text", "text", "", "\xff"}).Draw(t, "text")
	}
	names := ahp.Bounds(ev.Type).Effects
	if often(t, "any effect") {
		names = []ahp.EffectType{
			"", "nil", ahp.EffectDeny, ahp.EffectAllow, ahp.EffectAsk, ahp.EffectModify, ahp.EffectMessage, ahp.EffectReturn, ahp.EffectFlow, ahp.EffectInject,
		}
	}
	switch rapid.SampledFrom(names).Draw(t, "effect") {
	case ahp.EffectDeny:
		return &ahp.Deny{Reason: text(), Code: rapid.SampledFrom([]string{"", "", "com.example.no", "com.example.no", "friday"}).Draw(t, "code")}
	case ahp.EffectAllow:
		return &ahp.Allow{}
	case ahp.EffectAsk:
		return &ahp.Ask{}
	case ahp.EffectMessage:
		return &ahp.Notify{Text: text()}
	case ahp.EffectFlow:
		if rapid.Bool().Draw(t, "stop") {
			return &ahp.Stop{Reason: text()}
		}
		return &ahp.Continue{Instruction: text()}
	case ahp.EffectInject:
		i := &ahp.Inject{DeliverAt: rapid.SampledFrom([]ahp.Delivery{ahp.DeliverNow, ahp.DeliverNow, ahp.DeliverNow, ahp.DeliverNextTurn, ahp.DeliverNextTurn, "later"}).Draw(t, "time")}
		if !often(t, "no messages") {
			i.Messages = drawNew(t, "")
		}
		return i
	case ahp.EffectModify:
		m := &ahp.Modify{Operation: rapid.SampledFrom([]ahp.Operation{ahp.OpMerge, ahp.OpReplace, ahp.OpMerge, ahp.OpReplace, ahp.OpMerge, ahp.OpReplace, "append"}).Draw(t, "operation")}
		if b := ahp.Bounds(ev.Type).Modify; len(b) > 0 && !often(t, "any target") {
			m.Target = b[0].Target
		} else {
			m.Target = rapid.SampledFrom([]ahp.Target{
				"", ahp.TargetInput, ahp.TargetOutput, ahp.TargetPrompt, ahp.TargetRequest, ahp.TargetResponse, ahp.TargetContent,
				ahp.TargetInstructions, ahp.TargetSummary, ahp.TargetWorkspace,
			}).Draw(t, "target")
		}
		m.Value = drawValue(t, ev, m.Target.At(ev.Type))
		return m
	case ahp.EffectReturn:
		return &ahp.Return{Value: drawValue(t, ev, ahp.ReturnAt(ev.Type))}
	case "nil":
		return (*ahp.Ask)(nil)
	}
	return nil
}

// drawNew draws messages of an effect: under new names, or under those of the event.
func drawNew(t *rapid.T, role ahp.Role) []ahp.Message {
	name := rapid.SampledFrom([]string{"n", "n", "m"}).Draw(t, "names")
	part := rapid.SampledFrom([]string{"q", "q", "q", "p", "i"}).Draw(t, "names of parts")
	return drawMessages(t, role, name, part, rapid.Bool().Draw(t, "good"))
}

// drawValue draws a value of a sort, or of another.
func drawValue(t *rapid.T, ev *ahp.Event, kind ahp.ValueKind) ahp.Value {
	if kind == "" || often(t, "another sort") {
		kind = rapid.SampledFrom([]ahp.ValueKind{"", ahp.ValueMessages, ahp.ValueParts, ahp.ValueObject}).Draw(t, "sort")
	}
	switch kind {
	case ahp.ValueMessages:
		list := drawNew(t, ahp.RoleAt(ev.Type))
		if len(ev.Messages) > 0 && rapid.Bool().Draw(t, "with one of the event's") {
			list = append(list, ev.Messages[0])
		}
		return ahp.Value{Messages: list}
	case ahp.ValueParts:
		return ahp.Value{Parts: drawParts(t, rapid.SampledFrom([]string{"q", "q", "q", "i"}).Draw(t, "names of parts"), true, rapid.Bool().Draw(t, "good"))}
	case ahp.ValueObject, ahp.ValueAny:
		own := map[ahp.EventType][]string{
			ahp.WorkspaceChangeBefore: {
				`{"cwd":"/a"}`, `{"cwd":"/srv"}`, `{"workspaceRoots":[]}`, `{"cwd":"/a","workspaceRoots":["/a","/b"]}`, `{"cwd":""}`, `{"cwd":null}`,
				`{"workspaceRoots":["/a","/a"]}`, `{"workspaceRoots":[""]}`, `{"env":"x"}`,
			},
			ahp.ElicitationRequest: {
				`{"action":"accept","content":{"day":"friday"}}`, `{"action":"accept"}`, `{"action":"decline"}`, `{"action":"cancel","_meta":{}}`,
				`{"action":"accept","content":{"day":"sunday"}}`, `{"action":"accept","content":{}}`, `{"action":"decline","content":{}}`, `{"action":7}`, `{"action":"accept","_meta":1}`,
			},
			ahp.ElicitationResult: {`{"day":"friday"}`, `{"day":["a","b"],"n":1.5,"yes":true}`, `{"day":{}}`, `{"day":null}`, `{"day":[1]}`},
			ahp.ToolBefore:        {`null`, `{"cmd":"id"}`, `{"cmd":null}`}, ahp.ToolPermissionRequest: {`{"cmd":"id"}`, `{"\u0063md":7}`},
		}[ev.Type]
		if len(own) == 0 || often(t, "any JSON") {
			own = []string{`{}`, `[]`, `1`, `"{}"`, `{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{"a":`, `{} {}`, ``, `{"a":"` + "\xff" + `"}`, `{"a":"\ud800"}`}
		}
		v := ahp.Value{JSON: ahp.Raw(rapid.SampledFrom(own).Draw(t, "JSON"))}
		if often(t, "of two sorts") {
			v.Parts = []ahp.Part{}
		}
		return v
	}
	return ahp.Value{}
}
