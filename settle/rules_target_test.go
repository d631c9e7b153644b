package settle_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

// lists are the places whose value is a list of messages.
var lists = []struct {
	at     ahp.EventType
	target ahp.Target
	role   ahp.Role
}{
	{ahp.ToolAfter, ahp.TargetOutput, ahp.RoleTool},
	{ahp.TurnStart, ahp.TargetPrompt, ahp.RoleUser},
	{ahp.MessageInbound, ahp.TargetPrompt, ahp.RoleUser},
	{ahp.ModelRequestBefore, ahp.TargetRequest, ahp.RoleUser},
	{ahp.ModelResponseAfter, ahp.TargetResponse, ahp.RoleAssistant},
	{ahp.TurnFinishBefore, ahp.TargetResponse, ahp.RoleAssistant},
	{ahp.MessageOutbound, ahp.TargetContent, ahp.RoleAssistant},
}

// partLists are those whose value is a list of text parts.
var partLists = []struct {
	at     ahp.EventType
	target ahp.Target
	of     func(*ahp.Event) []ahp.Part
}{
	{ahp.CompactBefore, ahp.TargetInstructions, func(ev *ahp.Event) []ahp.Part { return ev.Body.(*ahp.CompactBeforeBody).Instructions }},
	{ahp.CompactAfter, ahp.TargetSummary, func(ev *ahp.Event) []ahp.Part { return ev.Body.(*ahp.CompactAfterBody).Summary }},
}

func ids(ms []ahp.Message) string {
	var s []string
	for _, m := range ms {
		s = append(s, m.ID)
	}
	return strings.Join(s, " ")
}

func elicitation(ev *ahp.Event) string { return *ev.Body.(*ahp.ElicitationBody).Content.Text }

// many is n members behind others.
func many(name string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%s%d":%d`, name, i, i)
	}
	return b.String()
}

var targetRules = []rule{
	{"AHP-EDIT-001", func(t *testing.T) { // all eleven places, both operations
		for _, l := range lists {
			add := message("m-3", l.role, "three")
			before := boundary(l.at)
			b := settle.Open(before, everything(l.at, 1), settle.BoundaryOptions{})
			merged := accept(t, b, list(l.target, ahp.OpMerge, add))
			if got := ids(merged.Event().Messages); got != "m-1 m-2 m-3" {
				t.Errorf("%s merge: %s", l.at, got)
			}
			replaced := accept(t, merged, list(l.target, ahp.OpReplace, add, add))
			if got := ids(replaced.Event().Messages); got != "m-3 m-3" {
				t.Errorf("%s replace: %s", l.at, got)
			}
			if got := ids(before.Messages) + "/" + ids(b.Event().Messages) + "/" + ids(merged.Event().Messages); got != "m-1 m-2/m-1 m-2/m-1 m-2 m-3" {
				t.Errorf("%s: a receiver was changed: %s", l.at, got)
			}
		}
		for _, l := range partLists {
			b := opened(l.at)
			merged := accept(t, b, parts(l.target, ahp.OpMerge, text("p-9", "new")))
			if got := l.of(merged.Event()); len(got) != 2 || got[1].ID != "p-9" || len(l.of(b.Event())) != 1 {
				t.Errorf("%s merge: %+v", l.at, got)
			}
			if got := l.of(accept(t, merged, parts(l.target, ahp.OpReplace, text("p-8", "new"))).Event()); len(got) != 1 || got[0].ID != "p-8" {
				t.Errorf("%s replace: %+v", l.at, got)
			}
		}
		for _, at := range []ahp.EventType{ahp.ToolBefore, ahp.ToolPermissionRequest} {
			if got := input(accept(t, opened(at), merge(`{"b":2}`))); got != `{"a":{"x":1,"y":2},"n":1,"b":2}` {
				t.Errorf("%s merge: %s", at, got)
			}
			if got := input(accept(t, opened(at), replace(`{ "b" : 2 }`))); got != `{"b":2}` {
				t.Errorf("%s replace: %s", at, got)
			}
		}
		change := func(b settle.Boundary) string {
			w := b.Event().Body.(*ahp.WorkspaceChangeBody).Change
			return fmt.Sprintf("%s %v %v", w.CWD, w.WorkspaceRoots, w.WorkspaceRoots == nil)
		}
		w := opened(ahp.WorkspaceChangeBefore)
		if got := change(accept(t, w, object(ahp.TargetWorkspace, ahp.OpMerge, `{"workspaceRoots":[]}`))); got != "/srv/lib [] false" {
			t.Error(got)
		}
		if got := change(accept(t, w, object(ahp.TargetWorkspace, ahp.OpReplace, `{"cwd":"/tmp/\u0061"}`))); got != "/tmp/a [] true" {
			t.Error(got)
		}
		e := opened(ahp.ElicitationResult)
		if got := elicitation(accept(t, e, object(ahp.TargetContent, ahp.OpMerge, `{"day":"2027-06-01","ok":true}`)).Event()); got != `{"action":"accept","_meta":{"k":1.50},"content":{"day":"2027-06-01","n":1,"ok":true}}` {
			t.Error(got)
		}
	}},
	{"D-TGT-1", func(t *testing.T) {
		for _, tt := range []struct{ base, op, value, want string }{
			{`{"a":{"x":1,"y":2}}`, "merge", `{"a":{"x":3},"b":null}`, `{"a":{"x":3},"b":null}`},
			{`{"a":1,"b":2}`, "replace", `{"b":3}`, `{"b":3}`},
			// What is not named keeps its bytes and its place; a name is a name however it is spelled.
			{`{ "big" : 12345678901234567890 , "f":1.50,"s":"\u00e4\/" }`, "merge", `{"f":2}`, `{"big":12345678901234567890,"f":2,"s":"\u00e4\/"}`},
			{`{"\u0061":1,"b":2}`, "merge", `{"a":3}`, `{"\u0061":3,"b":2}`},
			{`{"a":1}`, "merge", `{"\u0061":3}`, `{"a":3}`},
			{`{}`, "merge", `{"a":"}]\\\""}`, `{"a":"}]\\\""}`},
			{`{"":0}`, "merge", `{"":[1,{"x":"]"}],"b":{}}`, `{"":[1,{"x":"]"}],"b":{}}`},
			{`{"a":null}`, "merge", `{"a":[]}`, `{"a":[]}`},
		} {
			ev := boundary(ahp.ToolBefore)
			ev.Tool.Input = ahp.Raw(tt.base)
			b := settle.Open(ev, everything(ahp.ToolBefore, 0), settle.BoundaryOptions{})
			if got := input(accept(t, b, object(ahp.TargetInput, ahp.Operation(tt.op), tt.value))); got != tt.want {
				t.Errorf("%s %s %s: %s, want %s", tt.base, tt.op, tt.value, got, tt.want)
			}
			if string(ev.Tool.Input) != tt.base {
				t.Error("the event was changed")
			}
		}
		for _, bad := range []string{`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `[]`, `1`, `null`, `"{}"`, `{"a":tru}`, `{`, ``, `{} {}`, `{"a":"\ud800"}`} {
			reject(t, opened(ahp.ToolBefore), merge(bad))
			reject(t, opened(ahp.ToolBefore), replace(bad))
		}
		// A repeated name in the event itself would leave one of the two behind.
		ev := boundary(ahp.ToolBefore)
		ev.Tool.Input = ahp.Raw(`{"a":1,"\u0061":2}`)
		reject(t, settle.Open(ev, everything(ahp.ToolBefore, 0), settle.BoundaryOptions{}), merge(`{"a":3}`))
		ev.Tool.Input = ahp.Raw(`{"b0":1` + many("b", 20) + `}`)
		reject(t, settle.Open(ev, everything(ahp.ToolBefore, 0), settle.BoundaryOptions{}), merge(`{"z":1`+many("b", 20)+`}`))
		result := boundary(ahp.ElicitationResult)
		*result.Body.(*ahp.ElicitationBody).Content.Text = `{"action":"accept","content":{},"cont\u0065nt":{"a":1}}`
		reject(t, settle.Open(result, everything(ahp.ElicitationResult, 0), settle.BoundaryOptions{}), object(ahp.TargetContent, ahp.OpMerge, `{"a":3}`))
	}},
	{"D-TGT-2", func(t *testing.T) {
		b := opened(ahp.TurnStart)
		again := accept(t, b, list(ahp.TargetPrompt, ahp.OpMerge, boundary(ahp.TurnStart).Messages[0], message("m-2", ahp.RoleUser, "other")))
		if got := ids(again.Event().Messages); got != "m-1 m-2 m-1 m-2" || *again.Event().Messages[3].Parts[0].Text != "other" {
			t.Error(got)
		}
		ev := boundary(ahp.TurnStart)
		ev.Messages[0].Parts = append(ev.Messages[0].Parts, picture("p-1", "blob-1"))
		b = accept(t, settle.Open(ev, everything(ahp.TurnStart, 0), settle.BoundaryOptions{}), list(ahp.TargetPrompt, ahp.OpReplace, message("m-1", ahp.RoleUser, "one")))
		if got := b.Event().Messages; len(got) != 1 || len(got[0].Parts) != 1 {
			t.Errorf("%+v", got)
		}
		// An attachment that was not shown may be left out like any other; text may not.
		ev = boundary(ahp.TurnStart)
		ev.Messages = append(ev.Messages, ahp.Message{ID: "m-3", Role: ahp.RoleUser, Parts: []ahp.Part{picture("p-1", "blob-1")}})
		b, v := settle.Open(ev, everything(ahp.TurnStart, 0), settle.BoundaryOptions{}).Apply(settle.Step{
			View: boundary(ahp.TurnStart), Effects: []ahp.Effect{list(ahp.TargetPrompt, ahp.OpReplace)},
		})
		if v.Failure != nil || b.Event().Messages == nil || len(b.Event().Messages) != 0 {
			t.Errorf("%v", v.Failure)
		}
	}},
	{"D-TGT-3", func(t *testing.T) {
		reject(t, opened(ahp.MessageInbound), list(ahp.TargetPrompt, ahp.OpMerge, message("m", ahp.RoleAssistant, "x")))
		reject(t, opened(ahp.MessageOutbound), list(ahp.TargetContent, ahp.OpReplace, message("m", ahp.RoleUser, "x")))
		accept(t, opened(ahp.TurnStart), list(ahp.TargetPrompt, ahp.OpMerge, message("m", ahp.RoleDeveloper, "x")))
		bad := text("p", "x")
		size := int64(1)
		for name, edit := range map[string]func(*ahp.Message){
			"no id":              func(m *ahp.Message) { m.ID = "" },
			"role":               func(m *ahp.Message) { m.Role = "human" },
			"part id":            func(m *ahp.Message) { m.Parts[0].ID = "" },
			"kind":               func(m *ahp.Message) { m.Parts[0].Kind = "json" },
			"media type":         func(m *ahp.Message) { m.Parts[0].MediaType = "text/html" },
			"selection":          func(m *ahp.Message) { m.Parts[0].Selection = "" },
			"selection metadata": func(m *ahp.Message) { m.Parts[0].Selection = ahp.SelectMetadata },
			"text and ref":       func(m *ahp.Message) { m.Parts[0].Ref = "r" },
			"text and gap":       func(m *ahp.Message) { m.Parts[0].Gap = &ahp.Gap{Reason: "x"} },
			"size":               func(m *ahp.Message) { m.Parts[0].Size = &size },
			"hash":               func(m *ahp.Message) { m.Parts[0].SHA256 = "00" },
			"no media type":      func(m *ahp.Message) { m.Parts[0] = picture("p", "r"); m.Parts[0].MediaType = "" },
			"json attachment": func(m *ahp.Message) {
				m.Parts[0] = picture("p", "r")
				m.Parts[0].MediaType = "application/Problem+JSON; a=b"
			},
			"text attachment": func(m *ahp.Message) { m.Parts[0] = picture("p", "r"); m.Parts[0].MediaType = "Text/csv" },
			"attachment text": func(m *ahp.Message) { m.Parts[0] = picture("p", "r"); m.Parts[0].Text = bad.Text },
		} {
			m := message("m-3", ahp.RoleUser, "x")
			edit(&m)
			o := settle.BoundaryOptions{AllowRef: func(string) bool { return true }}
			f := rejectStep(t, settle.Open(boundary(ahp.TurnStart), everything(ahp.TurnStart, 0), o), settle.Step{
				Effects: []ahp.Effect{list(ahp.TargetPrompt, ahp.OpMerge, message("m", ahp.RoleUser, "x"), m)},
			})
			if !strings.HasPrefix(f.Pointer, "/result/effects/0/value/1") {
				t.Errorf("%s: %s", name, f.Pointer)
			}
		}
		for _, w := range []string{`{}`, `{"cwd":""}`, `{"cwd":null}`, `{"workspaceRoots":null}`, `{"workspaceRoots":["a","\u0061"]}`, `{"workspaceRoots":[""]}`, `{"workspaceRoots":[1]}`, `{"cwd":"/x","kind":"cwd"}`} {
			reject(t, opened(ahp.WorkspaceChangeBefore), object(ahp.TargetWorkspace, ahp.OpReplace, w))
		}
		reject(t, opened(ahp.WorkspaceChangeBefore), object(ahp.TargetWorkspace, ahp.OpMerge, `{"cwd":null}`))
	}},
	{"D-TGT-4", func(t *testing.T) {
		reject(t, opened(ahp.MessageOutbound), object(ahp.TargetContent, ahp.OpMerge, `{"text":"x"}`))
		reject(t, opened(ahp.ElicitationResult), list(ahp.TargetContent, ahp.OpMerge, message("m", ahp.RoleAssistant, "x")))
	}},
	{"D-TGT-5", func(t *testing.T) {
		for _, l := range lists {
			for _, op := range []ahp.Operation{ahp.OpMerge, ahp.OpReplace} {
				for _, v := range []ahp.Value{
					{JSON: ahp.Raw(`{"content":"x"}`)},
					{JSON: ahp.Raw(`"x"`)},
					{Parts: []ahp.Part{text("p", "x")}},
					{},
					{Messages: []ahp.Message{}, Parts: []ahp.Part{}},
				} {
					reject(t, opened(l.at), &ahp.Modify{Target: l.target, Operation: op, Value: v})
				}
			}
		}
		for _, l := range partLists {
			reject(t, opened(l.at), list(l.target, ahp.OpMerge, message("m", ahp.RoleUser, "x")))
		}
	}},
	{"D-TGT-6", func(t *testing.T) { // JSON in a text is text
		ev := boundary(ahp.ToolAfter)
		ev.Messages = []ahp.Message{message("m-1", ahp.RoleTool, `{"written":2}`)}
		reject(t, settle.Open(ev, everything(ahp.ToolAfter, 0), settle.BoundaryOptions{}), object(ahp.TargetOutput, ahp.OpMerge, `{"written":3}`))
	}},
	{"D-TGT-7", func(t *testing.T) {
		ev := boundary(ahp.TurnStart)
		ev.Messages[0].Parts = append(ev.Messages[0].Parts, picture("p-1", "blob-1"))
		b := settle.Open(ev, everything(ahp.TurnStart, 0), settle.BoundaryOptions{})
		fake := picture("p-1", "blob-1")
		fake.MediaType = "image/jpeg" // the same bytes do not become something else
		reject(t, b, list(ahp.TargetPrompt, ahp.OpMerge, ahp.Message{ID: "m-3", Role: ahp.RoleUser, Parts: []ahp.Part{fake}}))
		for _, l := range partLists {
			reject(t, opened(l.at), parts(l.target, ahp.OpMerge, picture("p-1", "blob-1")))
		}
	}},
	{"D-TGT-8", func(t *testing.T) {
		ev := boundary(ahp.TurnStart)
		ev.Messages[0].Parts = append(ev.Messages[0].Parts, picture("p-1", "blob-1"))
		carry := func(ref string) *ahp.Modify {
			return list(ahp.TargetPrompt, ahp.OpReplace, ahp.Message{ID: "m-1", Role: ahp.RoleUser, Parts: []ahp.Part{text("m-1/0", "x"), picture("p-1", ref)}})
		}
		b := settle.Open(ev, everything(ahp.TurnStart, 0), settle.BoundaryOptions{})
		accept(t, b, carry("blob-1"))
		if f := reject(t, b, carry("blob-2")); f.Pointer != "/result/effects/0/value/0/parts/1" {
			t.Error(f.Pointer)
		}
		// A reference that the backend was not shown is not its to use.
		view := boundary(ahp.TurnStart)
		hidden := picture("p-1", "")
		hidden.Selection = ahp.SelectMetadata
		view.Messages[0].Parts = append(view.Messages[0].Parts, hidden)
		rejectStep(t, b, settle.Step{View: view, Effects: []ahp.Effect{carry("blob-1")}})
		reject(t, b, list(ahp.TargetPrompt, ahp.OpReplace, ahp.Message{ID: "m-1", Role: ahp.RoleUser, Parts: []ahp.Part{hidden}}))
		asked := ""
		b = settle.Open(ev, everything(ahp.TurnStart, 0), settle.BoundaryOptions{AllowRef: func(ref string) bool { asked = ref; return ref == "blob-2" }})
		accept(t, b, carry("blob-2"))
		reject(t, b, carry("blob-3"))
		if asked != "blob-3" {
			t.Error(asked)
		}
		// The other places of an event that hold attachments.
		after := boundary(ahp.ToolAfter)
		p, q := picture("p-1", "blob-1"), picture("p-2", "blob-2")
		after.Body = &ahp.ToolAfterBody{FileChanges: []ahp.ChangedFile{{Path: "a", Change: "modified", Before: &p, After: &q}}}
		accept(t, settle.Open(after, everything(ahp.ToolAfter, 0), settle.BoundaryOptions{}), list(ahp.TargetOutput, ahp.OpMerge, ahp.Message{ID: "m", Role: ahp.RoleTool, Parts: []ahp.Part{q}}))
		before := boundary(ahp.ToolBefore)
		before.Parts = []ahp.Part{p}
		accept(t, settle.Open(before, everything(ahp.ToolBefore, 0), settle.BoundaryOptions{}),
			inject(ahp.DeliverNow, ahp.Message{ID: "m", Role: ahp.RoleUser, Parts: []ahp.Part{picture("new", "blob-1")}}))
	}},
	{"D-TGT-9", func(t *testing.T) {
		hidden := hiddenText("m-9/0")
		reject(t, opened(ahp.TurnStart), list(ahp.TargetPrompt, ahp.OpMerge, ahp.Message{ID: "m-9", Role: ahp.RoleUser, Parts: []ahp.Part{hidden}}))
		hidden.ID = "m-1/0"
		reject(t, opened(ahp.TurnStart), list(ahp.TargetPrompt, ahp.OpReplace, ahp.Message{ID: "m-1", Role: ahp.RoleUser, Parts: []ahp.Part{hidden}}))
		hidden.Selection = ahp.SelectOmit
		reject(t, opened(ahp.CompactBefore), parts(ahp.TargetInstructions, ahp.OpMerge, hidden))
	}},
	{"D-TGT-10", func(t *testing.T) {
		o := settle.BoundaryOptions{AllowPart: func(p *ahp.Part) bool { return p.Category != "secrets" }}
		b := settle.Open(boundary(ahp.TurnStart), everything(ahp.TurnStart, 0), o)
		m := message("m-3", ahp.RoleUser, "x")
		accept(t, b, list(ahp.TargetPrompt, ahp.OpMerge, m))
		m.Parts[0].Category = "secrets"
		reject(t, b, list(ahp.TargetPrompt, ahp.OpMerge, m))
		reject(t, b, inject(ahp.DeliverNow, m))
	}},
	{"D-TGT-11", func(t *testing.T) {
		reject(t, opened(ahp.SessionStart), parts(ahp.TargetInstructions, ahp.OpMerge, text("p", "x")))
		reject(t, opened(ahp.ElicitationRequest), list(ahp.TargetRequest, ahp.OpMerge, message("m", ahp.RoleUser, "x")))
		reject(t, opened(ahp.TaskChangeBefore), object(ahp.TargetWorkspace, ahp.OpMerge, `{"cwd":"/"}`))
		reject(t, opened(ahp.ConfigChangeBefore), object(ahp.TargetWorkspace, ahp.OpMerge, `{"cwd":"/"}`))
	}},
	{"D-TGT-12", func(t *testing.T) {
		view := boundary(ahp.CompactAfter)
		view.Body = &ahp.CompactAfterBody{Summary: []ahp.Part{hiddenText("s-1")}}
		rejectStep(t, opened(ahp.CompactAfter), settle.Step{View: view, Effects: []ahp.Effect{parts(ahp.TargetSummary, ahp.OpReplace, text("s-1", "x"))}})
		view = boundary(ahp.WorkspaceChangeBefore)
		view.Body = &ahp.WorkspaceChangeBody{Kind: "cwd", Change: ahp.WorkspaceState{CWD: "/hidden"}}
		rejectStep(t, opened(ahp.WorkspaceChangeBefore), settle.Step{View: view, Effects: []ahp.Effect{object(ahp.TargetWorkspace, ahp.OpReplace, `{"cwd":"/x"}`)}})
	}},
	{"D-CONT-7", func(t *testing.T) {
		thought := text("r-1", "hm")
		thought.Category = ahp.CategoryReasoning
		ev := boundary(ahp.ModelResponseAfter)
		ev.Messages = append(ev.Messages, ahp.Message{ID: "m-r", Role: ahp.RoleAssistant, Parts: []ahp.Part{thought}})
		b := settle.Open(ev, everything(ahp.ModelResponseAfter, 0), settle.BoundaryOptions{})
		accept(t, b, list(ahp.TargetResponse, ahp.OpReplace, ev.Messages...))
		renamed := text("r-1", "hm")
		reject(t, b, list(ahp.TargetResponse, ahp.OpReplace, ahp.Message{ID: "m-r", Role: ahp.RoleAssistant, Parts: []ahp.Part{renamed}}))
		thought.ID = "r-2"
		reject(t, b, list(ahp.TargetResponse, ahp.OpMerge, ahp.Message{ID: "m-x", Role: ahp.RoleAssistant, Parts: []ahp.Part{thought, text("p", "x")}}))
		// So does every other category, and a text that comes back under another id.
		note := text("n-1", "the number of a card")
		note.Category = "pii"
		ev = boundary(ahp.ModelResponseAfter)
		ev.Messages = append(ev.Messages, ahp.Message{ID: "m-n", Role: ahp.RoleAssistant, Parts: []ahp.Part{note, text("n-2", "said twice over")}})
		twice := text("n-3", "said twice over")
		twice.Category = "pii"
		ev.Messages = append(ev.Messages, ahp.Message{ID: "m-t", Role: ahp.RoleAssistant, Parts: []ahp.Part{twice}})
		b = settle.Open(ev, everything(ahp.ModelResponseAfter, 0), settle.BoundaryOptions{})
		appends := func(p ahp.Part) ahp.Effect {
			return list(ahp.TargetResponse, ahp.OpMerge, ahp.Message{ID: "m-y", Role: ahp.RoleAssistant, Parts: []ahp.Part{p}})
		}
		accept(t, b, appends(note))
		accept(t, b, appends(text("new", "said twice over")))
		accept(t, b, appends(text("new", "the number of a card, in other words")))
		reject(t, b, appends(text("n-1", "new words")))
		reject(t, b, appends(text("new", "the number of a card")))
		reject(t, b, appends(text("new", "x")), appends(text("newer", "the number of a card")))
		gone := accept(t, b, list(ahp.TargetResponse, ahp.OpReplace, ahp.Message{ID: "m-z", Role: ahp.RoleAssistant, Parts: []ahp.Part{text("z", "z")}}))
		reject(t, gone, appends(text("new", "the number of a card")))
		reject(t, b, list(ahp.TargetResponse, ahp.OpMerge, ahp.Message{ID: "m-x", Role: ahp.RoleTool, Parts: []ahp.Part{thought}}))
	}},
	{"D-STAGE-10", func(t *testing.T) {
		var seen string
		o := settle.BoundaryOptions{CheckInput: func(ev *ahp.Event) error {
			if seen = string(ev.Tool.Input); strings.Contains(seen, "bad") {
				return errors.New("the tool has no MARKER")
			}
			return nil
		}}
		b := settle.Open(boundary(ahp.ToolBefore), everything(ahp.ToolBefore, 0), o)
		if f := reject(t, b, tell("x"), merge(`{"bad":1}`)); strings.Contains(f.Error(), "MARKER") {
			t.Error(f)
		}
		// Only where the response leads to: what stands in between is nobody's business.
		accept(t, b, merge(`{"bad":1}`), replace(`{"good":1}`))
		if seen != `{"good":1}` {
			t.Error(seen)
		}
		seen = ""
		accept(t, b, merge(`{"n":1.0}`)) // no change, nothing to check
		if seen != "" {
			t.Error(seen)
		}
		o = settle.BoundaryOptions{CheckResult: func(ev *ahp.Event, v ahp.Value) error {
			if seen = string(ev.Tool.Input); string(v.JSON) == `"bad"` {
				return errors.New("no")
			}
			return nil
		}}
		b = settle.Open(boundary(ahp.ToolBefore), everything(ahp.ToolBefore, 0), o)
		if f := reject(t, b, supply(`"bad"`)); f.Pointer != "/result/effects/0/value" {
			t.Error(f.Pointer)
		}
		accept(t, b, supply(`"bad"`), supply(`1`), merge(`{"n":7}`)) // the last one counts
		if seen != `{"a":{"x":1,"y":2},"n":7}` {
			t.Error(seen)
		}
	}},
	{"D-CMP-1", func(t *testing.T) {
		reject(t, opened(ahp.CompactBefore), parts(ahp.TargetSummary, ahp.OpMerge, text("p", "x")))
		reject(t, opened(ahp.CompactAfter), parts(ahp.TargetInstructions, ahp.OpMerge, text("p", "x")))
	}},
	{"D-CMP-2", func(t *testing.T) {
		ev := boundary(ahp.CompactBefore)
		ev.Body = &ahp.CompactBeforeBody{Trigger: "manual"} // none so far
		b := settle.Open(ev, everything(ahp.CompactBefore, 0), settle.BoundaryOptions{})
		if same := accept(t, b, parts(ahp.TargetInstructions, ahp.OpMerge)); same.Event() != ev {
			t.Error("nothing was added, and something changed")
		}
		b = accept(t, b, parts(ahp.TargetInstructions, ahp.OpMerge, text("p-1", "a")))
		b = accept(t, b, parts(ahp.TargetInstructions, ahp.OpMerge, text("p-2", "b")))
		if got := partLists[0].of(b.Event()); len(got) != 2 || *got[1].Text != "b" || b.Event().Body.(*ahp.CompactBeforeBody).Trigger != "manual" {
			t.Errorf("%+v", got)
		}
	}},
	{"D-CMP-6", func(t *testing.T) {
		value := func(id string) *ahp.Return { return &ahp.Return{Value: ahp.Value{Parts: []ahp.Part{text(id, "x")}}} }
		accept(t, opened(ahp.CompactBefore), value("s-1"))
		for _, old := range []string{"i-1", "m-1/0"} {
			reject(t, opened(ahp.CompactBefore), value(old))
		}
		reject(t, opened(ahp.CompactBefore), parts(ahp.TargetInstructions, ahp.OpMerge, text("s-1", "x")), value("s-1"))
		// A summary that another one replaces, in the same response or in a later one, frees
		// its ids; the one that stands keeps them.
		standing := accept(t, opened(ahp.CompactBefore), value("s-1"), value("s-1"))
		accept(t, standing, value("s-1"))
		note := inject(ahp.DeliverNow, ahp.Message{ID: "m-9", Role: ahp.RoleUser, Parts: []ahp.Part{text("s-1", "x")}})
		if f := reject(t, standing, note); f.Pointer != "/result/effects/0/value/0/parts/0/id" {
			t.Error(f.Pointer)
		}
		accept(t, standing, value("s-2"), note)
		accept(t, standing, parts(ahp.TargetInstructions, ahp.OpReplace), note)
		b := accept(t, opened(ahp.CompactAfter), parts(ahp.TargetSummary, ahp.OpReplace, text("s-1", "edited")))
		if got := partLists[1].of(b.Event()); got[0].ID != "s-1" || *got[0].Text != "edited" {
			t.Errorf("%+v", got)
		}
	}},
	{"D-EL-5", func(t *testing.T) { // what fits the form, whoever read the answer
		ev := boundary(ahp.ElicitationRequest)
		*ev.Body.(*ahp.ElicitationBody).Content.Text = `{"message":"?","requestedSchema":{"type":"object","properties":{"day":{"type":"string","enum":["monday"]}},"required":["day"]}}`
		b := settle.Open(ev, everything(ahp.ElicitationRequest, 0), settle.BoundaryOptions{})
		accept(t, b, supply(`{"action":"accept","content":{"day":"monday","more":1}}`))
		accept(t, b, supply(`{"action":"cancel"}`))
		for _, content := range []string{`{}`, `{"day":7}`, `{"day":"friday"}`} {
			if f := reject(t, b, supply(`{"action":"accept","content":`+content+`}`)); f.Pointer != "/result/effects/0/value" {
				t.Errorf("%s: %s", content, f.Pointer)
			}
		}
	}},
	{"D-EL-11", func(t *testing.T) {
		e := object(ahp.TargetContent, ahp.OpMerge, `{"day":"x"}`)
		for name, edit := range map[string]func(*ahp.ElicitationBody){
			"declined": func(b *ahp.ElicitationBody) { b.Action = "decline" },
			"url":      func(b *ahp.ElicitationBody) { b.Mode = "url" },
			"no text":  func(b *ahp.ElicitationBody) { b.Content = nil },
			"not JSON": func(b *ahp.ElicitationBody) { *b.Content.Text = "[]" },
		} {
			ev := boundary(ahp.ElicitationResult)
			edit(ev.Body.(*ahp.ElicitationBody))
			if f := reject(t, settle.Open(ev, everything(ahp.ElicitationResult, 0), settle.BoundaryOptions{}), e); f == nil {
				t.Error(name)
			}
		}
		reject(t, opened(ahp.ElicitationResult), no("x"))
		reject(t, opened(ahp.ElicitationRequest), e)
	}},
	{"D-EL-12", func(t *testing.T) {
		b := opened(ahp.ElicitationResult)
		if got := elicitation(accept(t, b, object(ahp.TargetContent, ahp.OpReplace, `{"list":["a","b"],"n":-1.5,"t":false}`)).Event()); got != `{"action":"accept","_meta":{"k":1.50},"content":{"list":["a","b"],"n":-1.5,"t":false}}` {
			t.Error(got)
		}
		for _, bad := range []string{`{"day":null}`, `{"day":{}}`, `{"day":[1]}`, `{"day":["a",null]}`} {
			reject(t, b, object(ahp.TargetContent, ahp.OpMerge, bad))
		}
		ev := boundary(ahp.ElicitationResult)
		*ev.Body.(*ahp.ElicitationBody).Content.Text = `{"action":"accept"}`
		b = accept(t, settle.Open(ev, everything(ahp.ElicitationResult, 0), settle.BoundaryOptions{}), object(ahp.TargetContent, ahp.OpMerge, `{"a":1}`))
		if got := elicitation(b.Event()); got != `{"action":"accept","content":{"a":1}}` || elicitation(ev) != `{"action":"accept"}` {
			t.Error(got)
		}
		if body := b.Event().Body.(*ahp.ElicitationBody); body.Action != "accept" || body.Mode != "form" || body.Content.ID != "r-1" {
			t.Errorf("%+v", body)
		}
	}},
	{"D-EL-13", func(t *testing.T) {
		for name, part := range map[string]*ahp.Part{"absent": nil, "metadata": new(hiddenText("r-1"))} {
			view := boundary(ahp.ElicitationResult)
			view.Body.(*ahp.ElicitationBody).Content = part
			for _, op := range []ahp.Operation{ahp.OpMerge, ahp.OpReplace} {
				if f := rejectStep(t, opened(ahp.ElicitationResult), settle.Step{View: view, Effects: []ahp.Effect{object(ahp.TargetContent, op, `{"day":"x"}`)}}); f == nil {
					t.Error(name)
				}
			}
			view = boundary(ahp.ElicitationRequest)
			view.Body.(*ahp.ElicitationBody).Content = part
			rejectStep(t, opened(ahp.ElicitationRequest), settle.Step{View: view, Effects: []ahp.Effect{supply(`{"action":"cancel"}`)}})
		}
		view := boundary(ahp.ElicitationResult)
		*view.Body.(*ahp.ElicitationBody).Content.Text = `{"action":"accept","content":{"n":1}}`
		rejectStep(t, opened(ahp.ElicitationResult), settle.Step{View: view, Effects: []ahp.Effect{object(ahp.TargetContent, ahp.OpReplace, `{"n":2}`)}})
	}},
}
