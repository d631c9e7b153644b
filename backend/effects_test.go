package backend_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/backend"
	"github.com/holdpoint/holdpoint/settle"
)

// A call is one call of a builder.
type call struct {
	name string
	do   func(e *backend.Effects)
}

// calls are calls of every method; which of them are right hangs on the event and on
// what is offered.
func calls() []call {
	m := func(role ahp.Role) ahp.Message { return ahp.TextMessage("", role, "text") }
	user := m(ahp.RoleUser)
	return []call{
		{"Deny", func(e *backend.Effects) { e.Deny("no", "com.example.no") }},
		{"Allow", func(e *backend.Effects) { e.Allow() }},
		{"Ask", func(e *backend.Effects) { e.Ask() }},
		{"Notify", func(e *backend.Effects) { e.Notify("text") }},
		{"Stop", func(e *backend.Effects) { e.Stop("enough") }},
		{"Continue", func(e *backend.Effects) { e.Continue("more") }},
		{"Continue plainly", func(e *backend.Effects) { e.Continue("") }},
		{"MergeInput", func(e *backend.Effects) { e.MergeInput(map[string]any{"a": nil}) }},
		{"ReplaceInput", func(e *backend.Effects) { e.ReplaceInput(ahp.Raw(`{"a":1.0}`)) }},
		{"MergeWorkspace", func(e *backend.Effects) { e.MergeWorkspace(map[string]any{"cwd": "/a"}) }},
		{"ReplaceWorkspace", func(e *backend.Effects) { e.ReplaceWorkspace(map[string]any{"workspaceRoots": []string{}}) }},
		{"MergeAnswer", func(e *backend.Effects) { e.MergeAnswer(map[string]any{"day": "friday"}) }},
		{"ReplaceAnswer", func(e *backend.Effects) { e.ReplaceAnswer(map[string]any{"day": "friday"}) }},
		{"AppendMessages", func(e *backend.Effects) { e.AppendMessages(user) }},
		{"AppendMessages of an assistant", func(e *backend.Effects) { e.AppendMessages(m(ahp.RoleAssistant)) }},
		{"AppendMessages of nothing", func(e *backend.Effects) { e.AppendMessages() }},
		{"ReplaceMessages", func(e *backend.Effects) { e.ReplaceMessages(user, user) }},
		{"ReplaceMessages by nothing", func(e *backend.Effects) { e.ReplaceMessages() }},
		{"AppendParts", func(e *backend.Effects) { e.AppendParts(ahp.TextPart("", "text")) }},
		{"ReplaceParts", func(e *backend.Effects) { e.ReplaceParts() }},
		{"Return a value", func(e *backend.Effects) { e.Return(map[string]any{"a": 1}) }},
		{"Return null", func(e *backend.Effects) { e.Return(nil) }},
		{"Return messages", func(e *backend.Effects) { e.Return([]ahp.Message{user}) }},
		{"Return parts", func(e *backend.Effects) { e.Return([]ahp.Part{ahp.TextPart("", "text")}) }},
		{"Return a decline", func(e *backend.Effects) { e.Return(map[string]any{"action": "decline"}) }},
		{"Return an answer", func(e *backend.Effects) {
			e.Return(map[string]any{"action": "accept", "content": map[string]any{"day": "friday"}})
		}},
		{"InjectText now", func(e *backend.Effects) { e.InjectText(ahp.RoleUser, "text", ahp.DeliverNow) }},
		{"Inject next turn", func(e *backend.Effects) { e.Inject(ahp.DeliverNextTurn, user, m(ahp.RoleDeveloper)) }},
		// Never right.
		{"Deny without a reason", func(e *backend.Effects) { e.Deny("", "") }},
		{"Deny with a bad code", func(e *backend.Effects) { e.Deny("no", "friday") }},
		{"Stop without a reason", func(e *backend.Effects) { e.Stop("") }},
		{"Notify of bytes", func(e *backend.Effects) { e.Notify("\xff") }},
		{"MergeInput of a list", func(e *backend.Effects) { e.MergeInput([]int{1}) }},
		{"MergeInput of a function", func(e *backend.Effects) { e.MergeInput(map[string]any{"f": func() {}}) }},
		{"ReplaceInput by half a text", func(e *backend.Effects) { e.ReplaceInput(ahp.Raw(`{"a":`)) }},
		{"MergeWorkspace of null", func(e *backend.Effects) { e.MergeWorkspace(map[string]any{"cwd": nil}) }},
		{"ReplaceWorkspace by nothing", func(e *backend.Effects) { e.ReplaceWorkspace(struct{}{}) }},
		{"MergeWorkspace of more", func(e *backend.Effects) { e.MergeWorkspace(map[string]any{"env": "x"}) }},
		{"MergeAnswer of an object", func(e *backend.Effects) { e.MergeAnswer(map[string]any{"day": map[string]any{}}) }},
		{"Return a wrong action", func(e *backend.Effects) { e.Return(map[string]any{"action": 7, "content": 1}) }},
		{"AppendMessages of no role", func(e *backend.Effects) { e.AppendMessages(m("root")) }},
		{"AppendMessages of hidden text", func(e *backend.Effects) {
			e.AppendMessages(ahp.Message{Role: ahp.RoleUser, Parts: []ahp.Part{{Kind: ahp.PartText, MediaType: ahp.TextPlain, Selection: ahp.SelectOmit}}})
		}},
		{"AppendMessages of a foreign attachment", func(e *backend.Effects) {
			e.AppendMessages(ahp.Message{Role: ahp.RoleUser, Parts: []ahp.Part{attachment("foreign")}})
		}},
		{"AppendParts of an attachment", func(e *backend.Effects) { e.AppendParts(attachment("known")) }},
		{"Inject at some time", func(e *backend.Effects) { e.InjectText(ahp.RoleUser, "text", "later") }},
		{"Inject nobody", func(e *backend.Effects) { e.InjectText("", "text", ahp.DeliverNow) }},
	}
}

func attachment(ref string) ahp.Part {
	return ahp.Part{ID: "p-" + ref, Kind: ahp.PartAttachment, MediaType: "image/png", Selection: ahp.SelectBody, Ref: ref}
}

// eventAt returns an event of each type that can be intercepted.
func eventAt(t ahp.EventType) *ahp.Event {
	text := func(s string) *ahp.Part {
		p := ahp.TextPart("p", s)
		return &p
	}
	ev := &ahp.Event{ID: "a", Source: "urn:example:h", Type: t, Time: "2027-02-03T04:05:06Z"}
	switch role := ahp.RoleUser; t {
	case ahp.TurnStart, ahp.TurnFinishBefore, ahp.ModelRequestBefore, ahp.ModelResponseAfter, ahp.ToolAfter, ahp.MessageInbound, ahp.MessageOutbound:
		if t == ahp.MessageOutbound {
			role = ahp.RoleAssistant
		}
		m := ahp.TextMessage("m", role, "hi")
		m.Parts = append(m.Parts, attachment("known"))
		ev.Messages = []ahp.Message{m}
	case ahp.CompactBefore:
		ev.Body = &ahp.CompactBeforeBody{Trigger: "auto", Instructions: []ahp.Part{*text("keep")}}
	case ahp.CompactAfter:
		ev.Body = &ahp.CompactAfterBody{Summary: []ahp.Part{*text("short")}}
	case ahp.WorkspaceChangeBefore:
		ev.Body = &ahp.WorkspaceChangeBody{Kind: "cwd", Change: ahp.WorkspaceState{CWD: "/"}}
	case ahp.ElicitationRequest:
		ev.Body = &ahp.ElicitationBody{Server: "s", Mode: "form", Content: text(
			`{"message":"?","requestedSchema":{"type":"object","properties":{"day":{"type":"string"}}}}`)}
	case ahp.ElicitationResult:
		ev.Body = &ahp.ElicitationBody{Server: "s", Mode: "form", Action: "accept", Content: text(`{"action":"accept","content":{"day":"monday"}}`)}
	case ahp.ToolBefore, ahp.ToolPermissionRequest:
		ev.Tool = &ahp.Tool{CallID: "c", Name: "run", Origin: ahp.OriginNative, Path: "native", Input: ahp.Raw(`{}`)}
	}
	return ev
}

// all returns the most that can be offered at events of type t, with steps left.
func all(t ahp.EventType, left int64) ahp.Capabilities {
	c := ahp.Bounds(t)
	if c.Flow != nil && c.Flow.Continue {
		var count int64
		c.Flow.Remaining, c.Flow.Count = &left, &count
	}
	return c
}

func interceptable() []ahp.EventType {
	return slices.DeleteFunc(ahp.DraftEvents(), func(t ahp.EventType) bool { return !t.Interceptable(ahp.VersionDraft) })
}

// asked returns a request that was decoded, as a handler sees it.
func asked(v ahp.Version, ev *ahp.Event, c ahp.Capabilities) *backend.Request {
	return &backend.Request{Version: v, Event: ev, Capabilities: c}
}

// TestEffectsAtEveryBoundary holds: with everything offered, each call succeeds at
// exactly the events of the table of bounds.
func TestEffectsAtEveryBoundary(t *testing.T) {
	right := map[string]string{}
	for _, at := range interceptable() {
		var ok []string
		for _, c := range calls() {
			e := asked(ahp.VersionDraft, eventAt(at), all(at, 1)).Effects()
			c.do(e)
			list, err := e.List()
			if (err == nil) != (len(list) == 1) {
				t.Errorf("%s at %s: %d effects, %v", c.name, at, len(list), err)
			}
			if err == nil {
				ok = append(ok, c.name)
				caps := all(at, 1)
				if _, err := wiredraft.AppendResult(nil, ahp.Raw(`"a"`), at, &caps, list, nil); err != nil {
					t.Errorf("%s at %s is not accepted by the codec: %v", c.name, at, err)
				}
			}
		}
		right[string(at)] = strings.Join(ok, ", ")
	}
	const (
		user       = "AppendMessages"
		replace    = "ReplaceMessages"
		nothing    = "AppendMessages of nothing"
		byNothing  = "ReplaceMessages by nothing"
		assistant  = "AppendMessages of an assistant"
		anyMessage = user + ", " + assistant + ", " + nothing + ", " + replace + ", " + byNothing
		inject     = "InjectText now, Inject next turn"
	)
	want := map[ahp.EventType]string{
		ahp.SessionStart:          "Notify, " + inject,
		ahp.TurnStart:             "Deny, Notify, Stop, " + anyMessage + ", " + inject,
		ahp.TurnFinishBefore:      "Notify, Stop, Continue, Continue plainly, " + anyMessage,
		ahp.ModelRequestBefore:    "Deny, Notify, Stop, " + anyMessage + ", Return messages, " + inject,
		ahp.ModelResponseAfter:    "Notify, Stop, " + anyMessage,
		ahp.ModelSwitchBefore:     "Deny, Notify, Stop",
		ahp.ToolBefore:            "Deny, Allow, Ask, Notify, Stop, MergeInput, ReplaceInput, Return a value, Return null, Return messages, Return parts, Return a decline, Return an answer, InjectText now, Inject next turn, Return a wrong action",
		ahp.ToolPermissionRequest: "Deny, Allow, Notify, Stop, MergeInput, ReplaceInput",
		ahp.ToolAfter:             "Notify, Stop, Continue, Continue plainly, " + anyMessage + ", " + inject,
		ahp.ToolBatchAfter:        "Notify, Stop, " + inject,
		ahp.CompactBefore:         "Deny, Notify, AppendParts, ReplaceParts, Return parts, " + inject,
		ahp.CompactAfter:          "Notify, AppendParts, ReplaceParts, " + inject,
		ahp.ConfigChangeBefore:    "Deny, Notify",
		ahp.TaskChangeBefore:      "Deny, Notify",
		ahp.WorkspaceChangeBefore: "Deny, Notify, MergeWorkspace, ReplaceWorkspace",
		ahp.ElicitationRequest:    "Deny, Notify, Return a decline, Return an answer",
		ahp.ElicitationResult:     "Notify, MergeAnswer, ReplaceAnswer",
		ahp.MessageInbound:        "Deny, Notify, " + user + ", " + nothing + ", " + replace + ", " + byNothing,
		ahp.MessageOutbound:       "Deny, Notify, " + assistant + ", " + nothing + ", " + byNothing,
	}
	for _, at := range interceptable() {
		if right[string(at)] != want[at] {
			t.Errorf("%s: %s\nwant %s", at, right[string(at)], want[at])
		}
	}
}

// TestEffectsHoldTheOffer is a property: what a builder gives, the codec accepts as
// an answer to just this offer, and what it refuses is named.
func TestEffectsHoldTheOffer(t *testing.T) {
	every := calls()
	rapid.Check(t, func(t *rapid.T) {
		at := rapid.SampledFrom(interceptable()).Draw(t, "event")
		caps := narrowed(t, at)
		if err := caps.Within(at); err != nil {
			t.Fatal(err)
		}
		e := asked(ahp.VersionDraft, eventAt(at), caps).Effects()
		var made []string
		for range rapid.IntRange(0, 4).Draw(t, "calls") {
			c := rapid.SampledFrom(every).Draw(t, "call")
			c.do(e)
			made = append(made, c.name)
		}
		list, err := e.List()
		if err != nil {
			if list != nil || !strings.Contains(err.Error(), "offered: ") {
				t.Fatalf("%v: %d effects beside %v", made, len(list), err)
			}
			return
		}
		if len(list) != len(made) {
			t.Fatalf("%d effects of %v", len(list), made)
		}
		if _, err := wiredraft.AppendResult(nil, ahp.Raw(`"a"`), at, &caps, list, nil); err != nil {
			t.Fatalf("%v at %s: %v", made, at, err)
		}
		// Nor has our own harness anything against it.
		ev := eventAt(at)
		_, v := settle.Open(ev, &caps, settle.BoundaryOptions{}).Apply(settle.Step{
			Backend: "com.example.b", Policy: ahp.FailClosed, Effects: list, Caps: &caps, View: ev,
		})
		if v.Failure != nil {
			t.Fatalf("%v at %s: %v", made, at, v.Failure)
		}
	})
}

// narrowed draws a part of what can be offered at events of type t.
func narrowed(t *rapid.T, at ahp.EventType) ahp.Capabilities {
	c := all(at, rapid.Int64Range(0, 1).Draw(t, "left"))
	yes := func(what string) bool { return rapid.Bool().Draw(t, what) }
	c.Effects = slices.DeleteFunc(c.Effects, func(e ahp.EffectType) bool { return yes(string(e)) })
	if len(c.Modify) > 0 {
		switch m := &c.Modify[0]; rapid.IntRange(0, 2).Draw(t, "operations") {
		case 0:
			m.Merge = false
		case 1:
			m.Replace = false
		}
	}
	if !c.Allows(ahp.EffectModify) {
		c.Modify = nil
	}
	if c.Flow != nil && c.Flow.Continue && yes("one operation") {
		if c.Flow.Stop = yes("stop"); c.Flow.Stop {
			c.Flow.Continue = false
		}
	}
	if !c.Allows(ahp.EffectFlow) {
		c.Flow = nil
	}
	if len(c.Inject) > 1 && yes("one delivery") {
		c.Inject = c.Inject[:1]
	}
	if !c.Allows(ahp.EffectInject) {
		c.Inject = nil
	}
	return c
}

// TestEffectsSayWhatIsWrong holds the text of the error: each refused call, and what
// was offered.
func TestEffectsSayWhatIsWrong(t *testing.T) {
	c := all(ahp.TurnFinishBefore, 0)
	c.Modify[0].Replace = false
	e := asked(ahp.VersionDraft, eventAt(ahp.TurnFinishBefore), c).Effects()
	e.Deny("s3cret", "")
	e.Notify("fine")
	e.Continue("s3cret")
	e.ReplaceMessages()
	e.AppendMessages(ahp.TextMessage("", "nobody", "s3cret"))
	_, err := e.List()
	const offered = " (offered: modify response merge; flow stop; flow continue, 0 left; message)"
	want := "effects at turn.finish.before: Deny: effect was not advertised" + offered + "\nContinue: effect was not advertised" + offered +
		"\nReplaceMessages: effect was not advertised" + offered + "\nAppendMessages: message without an id or with an unknown role" + offered
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if _, err := asked(ahp.VersionDraft, eventAt(ahp.ToolBefore), ahp.Capabilities{}).Effects().List(); err != nil {
		t.Errorf("nothing called, and still %v", err)
	}
}

func TestEffectsOfRevision01(t *testing.T) {
	e := asked(ahp.Version01, eventAt(ahp.ToolBefore), ahp.DenyOnly()).Effects()
	e.Deny("no", "")
	if list, err := e.List(); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	e.Deny("again", "")
	e.Ask()
	if _, err := e.List(); err == nil || !strings.Contains(err.Error(), "one effect") || !strings.Contains(err.Error(), "Ask: more than one effect (offered: deny)") {
		t.Errorf("error %v", err)
	}
}

// TestEffectsNameWhatIsNew holds that fresh ids are unique, and that ids that were
// given stay (D-CONT-8).
func TestEffectsNameWhatIsNew(t *testing.T) {
	e := asked(ahp.VersionDraft, eventAt(ahp.TurnStart), all(ahp.TurnStart, 0)).Effects()
	given := []ahp.Message{ahp.TextMessage("", ahp.RoleUser, "a"), ahp.TextMessage("mine", ahp.RoleUser, "b")}
	given[0].Parts = append(given[0].Parts, ahp.TextPart("", "c"))
	for range 3 {
		e.AppendMessages(given...)
		e.Inject(ahp.DeliverNow, given[0])
	}
	list, err := e.List()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, f := range list {
		var messages []ahp.Message
		if m, ok := f.(*ahp.Modify); ok {
			if messages = m.Value.Messages; messages[1].ID != "mine" || messages[1].Parts[0].ID != "mine/0" {
				t.Errorf("a given id became %q", messages[1].ID)
			}
		} else {
			messages = f.(*ahp.Inject).Messages
		}
		seen[messages[0].ID] = true
		seen[messages[0].Parts[0].ID] = messages[0].Parts[0].ID == messages[0].ID+"/0"
		seen[messages[0].Parts[1].ID] = true
	}
	for id, ok := range seen {
		if !ok || id == "" || id[0] == '/' {
			t.Errorf("a part is called %q", id)
		}
	}
	if len(seen) != 18 {
		t.Errorf("%d ids: %v", len(seen), seen)
	}
	if given[0].ID != "" || given[0].Parts[0].ID != "" || given[0].Parts[1].ID != "" {
		t.Error("the caller's messages were changed")
	}
}

// sent checks what a draft server answers to a handler of these effects.
func sent(t *testing.T, frame, want string, effects ...ahp.Effect) {
	t.Helper()
	answers(t, returning(effects...), draftOptions(), [2]string{frame, want})
}

func turnWith(parts string) string {
	return draftRequest("a", draftEvent("a", ahp.TurnStart, `"turn":{"id":"t"},"trigger":"user","items":[{"id":"m","role":"user","parts":[`+parts+`]}]`),
		`{"effects":["modify","inject"],"modify":{"prompt":{"replace":true,"merge":true}},"inject":{"context":{"append":true,"deliverAt":["now"]}}}`, "")
}

const (
	shownText  = `{"id":"p","kind":"text","mediaType":"text/plain","selection":"body","text":"hi"}`
	hiddenText = `{"id":"q","kind":"text","mediaType":"text/plain","selection":"metadata","size":2}`
	shownMedia = `{"id":"r","kind":"attachment","mediaType":"image/png","selection":"body","body":{"ref":"known"}}`
)

func prompt(op ahp.Operation, m ...ahp.Message) *ahp.Modify {
	return &ahp.Modify{Target: ahp.TargetPrompt, Operation: op, Value: ahp.Value{Messages: m}}
}

var draftOfferRules = []draftRule{
	{"AHP-CAP-001", func(t *testing.T) {
		for _, f := range []ahp.Effect{
			&ahp.Allow{}, &ahp.Ask{}, &ahp.Notify{Text: "x"}, &ahp.Stop{Reason: "x"}, &ahp.Continue{}, &ahp.Return{Value: ahp.Value{JSON: ahp.Raw("1")}},
			&ahp.Modify{Target: ahp.TargetInput, Operation: ahp.OpMerge, Value: ahp.Value{JSON: ahp.Raw("{}")}},
			&ahp.Inject{DeliverAt: ahp.DeliverNow, Messages: []ahp.Message{}}, (*ahp.Deny)(nil), nil,
		} {
			// The whole list, with what is offered in it.
			sent(t, draftCall("a", denyCaps), "-32004", &ahp.Deny{Reason: "no"}, f)
		}
		sent(t, draftCall("a", allCaps), "-32004", &ahp.Continue{}) // D-FLOW-6
		sent(t, draftCall("a", `{"effects":[]}`), "-32004", &ahp.Deny{Reason: "no"})
		sent(t, draftCall("a", `{"effects":[]}`), "[]")
	}},
	{"AHP-CAP-002", func(t *testing.T) {
		answers(t, allow, draftOptions(), [2]string{draftCall("a", `{}`), "-32602"},
			[2]string{strings.Replace(draftCall("a", denyCaps), `,"capabilities":`+denyCaps, "", 1), "-32602"})
	}},
	{"D-CAP-4", func(t *testing.T) {
		saw := ""
		h := func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
			saw = fmt.Sprint(r.Capabilities.Effects, r.Capabilities.Modify, r.Capabilities.Inject)
			return nil, nil
		}
		answers(t, h, draftOptions(), [2]string{draftCall("a", `{"effects":["deny","modify"],"modify":{"input":{"replace":false,"merge":true}}}`), "[]"})
		if want := "[deny modify] [{input false true}] []"; saw != want {
			t.Errorf("the handler sees %s, want %s", saw, want)
		}
	}},
	{"D-CAP-5", func(t *testing.T) {
		merge := `{"effects":["modify"],"modify":{"input":{"replace":false,"merge":true}},"rewrite":{"input":true}}`
		value := ahp.Value{JSON: ahp.Raw(`{"cmd":"id"}`)}
		sent(t, draftCall("a", merge), `[{"type":"modify","target":"input","operation":"merge","value":{"cmd":"id"}}]`,
			&ahp.Modify{Target: ahp.TargetInput, Operation: ahp.OpMerge, Value: value})
		sent(t, draftCall("a", merge), "-32004", &ahp.Modify{Target: ahp.TargetInput, Operation: ahp.OpReplace, Value: value})
		sent(t, draftCall("a", merge), "-32004", &ahp.Modify{Target: ahp.TargetWorkspace, Operation: ahp.OpMerge, Value: value})
	}},
	{"D-CAP-6", func(t *testing.T) {
		m := ahp.TextMessage("n", ahp.RoleUser, "new")
		const ok = `[{"type":"modify","target":"prompt","operation":"merge","value":[{"id":"n","role":"user","parts":[{"id":"n/0","kind":"text","mediaType":"text/plain","selection":"body","text":"new"}]}]}]`
		sent(t, turnWith(hiddenText), "-32004", prompt(ahp.OpReplace, m))
		sent(t, turnWith(hiddenText), ok, prompt(ahp.OpMerge, m))
		sent(t, turnWith(shownText), strings.Replace(ok, "merge", "replace", 1), prompt(ahp.OpReplace, m))
	}},
	{"D-CAP-8", func(t *testing.T) {
		answers(t, allow, draftOptions(),
			[2]string{draftCall("a", `{"effects":["flow"],"flow":{"operations":["continue"],"remainingContinuations":1,"continuationCount":0}}`), "-32602"},
			[2]string{draftRequest("a", draftEvent("a", ahp.TaskChangeBefore, `"task":{"id":"k","operation":"remove","change":{}}`), `{"effects":["return"]}`, ""), "-32602"})
	}},
	{"D-CAP-9", func(t *testing.T) {
		for _, caps := range []string{
			`{"effects":["deny","deny"]}`, `{"effects":["modify"]}`, `{"effects":["deny"],"modify":{"input":{"replace":true,"merge":true}}}`,
			`{"effects":["modify"],"modify":{"prompt":{"replace":true,"merge":true}}}`, `{"effects":["modify"],"modify":{"input":{"replace":false,"merge":false}}}`,
			`{"effects":["flow"],"flow":{"operations":[]}}`, `{"effects":["inject"],"inject":{"context":{"append":true,"deliverAt":["later"]}}}`,
		} {
			answers(t, allow, draftOptions(), [2]string{draftCall("a", caps), "-32602"})
		}
	}},
	{"AHP-DEC-001", func(t *testing.T) {
		sent(t, draftCall("a", allCaps), `[{"type":"message","text":"1"},{"type":"ask"},{"type":"message","text":"2"}]`,
			&ahp.Notify{Text: "1"}, &ahp.Ask{}, &ahp.Notify{Text: "2"})
		sent(t, draftCall("a", allCaps), `[]`)
	}},
	{"D-EFF-4", func(t *testing.T) {
		for _, v := range []string{`null`, `false`, `0`, `""`, `{"n":12345678901234567890.10}`} {
			sent(t, draftCall("a", allCaps), `[{"type":"return","value":`+v+`}]`, &ahp.Return{Value: ahp.Value{JSON: ahp.Raw(v)}})
		}
		sent(t, draftCall("a", allCaps), "-32004", &ahp.Return{})
	}},
	{"D-EFF-5", func(t *testing.T) {
		h := func(context.Context, *backend.Request) ([]ahp.Effect, error) { panic("s3cret of " + t.Name()) }
		b, err := newServer(t, h, draftOptions()).Local(t.Context(), []byte(draftCall("a", denyCaps)))
		if err != nil || !strings.Contains(string(b), "-32004") || strings.Contains(string(b), "s3cret") || strings.Contains(string(b), ".go") {
			t.Errorf("%s, %v", b, err)
		}
	}},
	{"D-EFF-8", func(t *testing.T) {
		sent(t, draftCall("a", denyCaps), `[{"type":"deny","reason":"one"},{"type":"deny","reason":"two","code":"com.example.two"}]`,
			&ahp.Deny{Reason: "one"}, &ahp.Deny{Reason: "two", Code: "com.example.two"})
	}},
	{"D-FLOW-1", func(t *testing.T) {
		sent(t, draftCall("a", allCaps), "-32004", &ahp.Stop{})
		sent(t, draftCall("a", allCaps), `[{"type":"flow","operation":"stop","reason":"enough"}]`, &ahp.Stop{Reason: "enough"})
	}},
	{"D-TGT-8", func(t *testing.T) {
		known, foreign := attachment("known"), attachment("foreign")
		renamed, retyped := known, known
		renamed.Category, retyped.MediaType = "notes", "image/gif"
		for _, p := range []ahp.Part{foreign, renamed, retyped} {
			sent(t, turnWith(shownMedia), "-32004", prompt(ahp.OpMerge, ahp.Message{ID: "n", Role: ahp.RoleUser, Parts: []ahp.Part{p}}))
		}
		// What is behind a reference that was not shown cannot come back: a list without it drops it.
		hidden := ahp.Part{ID: "r", Kind: ahp.PartAttachment, MediaType: "image/png", Selection: ahp.SelectMetadata}
		sent(t, turnWith(`{"id":"r","kind":"attachment","mediaType":"image/png","selection":"metadata"}`), "-32004",
			prompt(ahp.OpReplace, ahp.Message{ID: "m", Role: ahp.RoleUser, Parts: []ahp.Part{hidden}}))
		sent(t, turnWith(shownMedia), `[{"type":"modify","target":"prompt","operation":"replace","value":[{"id":"n","role":"user","parts":[`+
			`{"id":"p-known","kind":"attachment","mediaType":"image/png","selection":"body","body":{"ref":"known"}}]}]}]`,
			prompt(ahp.OpReplace, ahp.Message{ID: "n", Role: ahp.RoleUser, Parts: []ahp.Part{known}}))
	}},
	{"D-CONT-7", func(t *testing.T) {
		const marked = `{"id":"p","kind":"text","mediaType":"text/plain","selection":"body","category":"notes","text":"for few eyes"}`
		put := func(id, category string, more ...ahp.Part) *ahp.Modify {
			p := ahp.TextPart(id, "for few eyes")
			p.Category = category
			return prompt(ahp.OpMerge, ahp.Message{ID: "n", Role: ahp.RoleAssistant, Parts: append([]ahp.Part{p}, more...)})
		}
		for f, ok := range map[*ahp.Modify]bool{
			put("n/0", "notes"): true, put("p", "notes"): true, put("n/0", ""): false, put("p", ""): false, // renamed: shown to who selects no notes
			put("n/0", ahp.CategoryReasoning, ahp.TextPart("n/1", "x")): false, // reasoning beside other content
		} {
			want := "-32004"
			if p := f.Value.Messages[0].Parts[0]; ok {
				want = `[{"type":"modify","target":"prompt","operation":"merge","value":[{"id":"n","role":"assistant","parts":[` + strings.Replace(marked, `"id":"p"`, `"id":"`+p.ID+`"`, 1) + `]}]}]`
			}
			sent(t, turnWith(marked), want, f)
		}
	}},
	{"D-TGT-9", func(t *testing.T) {
		hidden := ahp.Part{ID: "new", Kind: ahp.PartText, MediaType: ahp.TextPlain, Selection: ahp.SelectMetadata}
		sent(t, turnWith(hiddenText), "-32004", prompt(ahp.OpMerge, ahp.Message{ID: "n", Role: ahp.RoleUser, Parts: []ahp.Part{hidden}}))
	}},
	{"D-INJ-2", func(t *testing.T) {
		inject := func(id string) *ahp.Inject {
			return &ahp.Inject{DeliverAt: ahp.DeliverNow, Messages: []ahp.Message{ahp.TextMessage(id, ahp.RoleUser, "x")}}
		}
		sent(t, turnWith(shownText), "-32004", inject("n"), inject("n"))
		sent(t, turnWith(shownText), "-32004", prompt(ahp.OpMerge, ahp.TextMessage("n", ahp.RoleUser, "y")), inject("n"))
		sent(t, turnWith(shownText), "-32004", &ahp.Inject{DeliverAt: ahp.DeliverNow, Messages: []ahp.Message{{ID: "n", Role: ahp.RoleUser, Parts: []ahp.Part{ahp.TextPart("p", "x")}}}})
		sent(t, turnWith(shownText), "-32004", &ahp.Inject{DeliverAt: ahp.DeliverNow, Messages: []ahp.Message{ahp.TextMessage("m", ahp.RoleUser, "x")}})
	}},
}
