package harness_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
)

// withThought puts a message of reasoning before those of an event.
func withThought(t *testing.T, typ ahp.EventType) *ahp.Event {
	ev := everyEvent(t, typ)
	thought := ahp.TextPart("p-think", secretText)
	thought.Category = ahp.CategoryReasoning
	ev.Messages = append([]ahp.Message{{ID: "m-think", Role: ahp.RoleAssistant, Parts: []ahp.Part{thought}}}, ev.Messages...)
	return ev
}

func oneMessage(id, part, text string) string {
	return `[{"id":"` + id + `","role":"assistant","parts":[{"id":"` + part + `","kind":"text","mediaType":"text/plain","selection":"body","text":"` + text + `"}]}]`
}

// One subscription cannot hand to another, through the chain's state, a text that the
// other's view keeps back (AHP-CONTENT-002).
func TestStateBringsNoCopy(t *testing.T) {
	about := draftTool()
	thought := ahp.TextPart("p-think", secretText)
	thought.Category = ahp.CategoryReasoning
	about.Parts = []ahp.Part{thought}
	inject := func(at string) string {
		return `{"type":"inject","target":"context","operation":"append","deliverAt":"` + at + `","value":`
	}
	for name, tt := range map[string]struct {
		ev      *ahp.Event
		effects string
		there   string // what stands there all the same
	}{
		"a supplied response": {withThought(t, ahp.ModelRequestBefore), `[{"type":"return","value":` + oneMessage("m-9", "p-9", "I thought: "+secretText) + `}]`, `"m-9"`},
		"an injection":        {draftToolWith(about), `[` + inject("now") + oneMessage("m-9", "p-9", "I thought: "+secretText) + `}]`, `"m-9"`},
		"a tool's result":     {draftToolWith(about), `[{"type":"return","value":{"x":["` + secretText + `"]}}]`, `"withheld":true`},
		"an instruction":      {withThought(t, ahp.TurnFinishBefore), `[{"type":"flow","operation":"continue","instruction":"` + secretText + `"}]`, `"instructions":[]`},
	} {
		t.Run(name, func(t *testing.T) {
			var k cast
			k.add("net.acme.a", says(tt.effects), asks(ahp.FailClosed, "*"))
			all := k.add("net.acme.all", says("[]"), asks(ahp.FailClosed, "*"))
			some := k.add("net.acme.some", says("[]"), selecting(asks(ahp.FailClosed, "*"), selection(ahp.SelectBody, "reasoning", "omit")))
			h := k.open(t, nil)
			if _, err := settleOne(t, h, tt.ev); err != nil {
				t.Fatal(err, h.log.String())
			}
			if len(all.asked()) != 1 || len(some.asked()) != 1 {
				t.Fatalf("%d and %d questions: %s", len(all.asked()), len(some.asked()), h.log.String())
			}
			wantIn(t, all.asked()[0], []string{secretText}, "withheld")
			wantIn(t, some.asked()[0], []string{tt.there}, secretText)
		})
	}
}

func draftToolWith(ev *ahp.Event) *ahp.Event { e := *ev; return &e }

// Plain texts that quote content are no second road to it either. They are not what an
// event is about, so that an interceptor is asked all the same.
func TestQuotingTextsAreWithheld(t *testing.T) {
	failed := &ahp.EventError{Class: "io", Message: "failed: " + secretText}
	cut := &ahp.EventError{Class: "io", Message: secretText[:15] + "…"}
	with := func(typ ahp.EventType, edit func(ev *ahp.Event)) *ahp.Event {
		ev := everyEvent(t, typ)
		if len(ev.Messages) > 0 {
			ev.Messages[0].Parts[0].Text = new(secretText)
		} else {
			ev.Parts = []ahp.Part{ahp.TextPart("p-1", secretText)}
		}
		edit(ev)
		return ev
	}
	for _, ev := range []*ahp.Event{
		with(ahp.ToolAfter, func(ev *ahp.Event) { ev.Body = &ahp.ToolAfterBody{Outcome: ahp.ToolFailed, Error: failed} }),
		with(ahp.ToolAfter, func(ev *ahp.Event) {
			ev.Messages[0].Parts[0].Text = new("  " + secretText + "\n")
			ev.Body = &ahp.ToolAfterBody{Outcome: ahp.ToolFailed, Error: cut}
		}),
		with(ahp.TurnEnd, func(ev *ahp.Event) { ev.Body = &ahp.TurnFinishBody{Outcome: ahp.TurnFailed, Error: failed} }),
		with(ahp.ModelError, func(ev *ahp.Event) { ev.Body.(*ahp.ModelErrorBody).Error = *failed }),
		with(ahp.TurnStart, func(ev *ahp.Event) { ev.Body = &ahp.TurnStartBody{Trigger: "user", ExpandedFrom: secretText} }),
		with(ahp.TaskChangeBefore, func(ev *ahp.Event) { ev.Body.(*ahp.TaskChangeBody).Description = new(secretText) }),
	} {
		t.Run(string(ev.Type), func(t *testing.T) {
			var k cast
			all := k.add("net.acme.all", says("[]"), watches("*"))
			none := k.add("net.acme.none", says("[]"), selecting(watches("*"), selection(ahp.SelectOmit)))
			asked := k.add("net.acme.asked", says("[]"), selecting(asks(ahp.FailClosed, "*"), selection(ahp.SelectMetadata)))
			h := k.open(t, nil)
			s, err := settleOne(t, h, ev)
			if err != nil || !s.Proceeds() {
				t.Fatal(s.State, s.Class, err, h.log.String())
			}
			wantIn(t, all.told()[0], []string{secretText}, "withheld", gapOfCopy)
			wantIn(t, none.told()[0], []string{gapOfCopy}, secretText[:15])
			for _, m := range asked.asked() {
				wantIn(t, m, []string{gapOfCopy}, secretText[:15])
			}
		})
	}
}

const gapOfCopy = "it may hold a copy of content that was not selected"

// A text does not get past a selection under a new id or another category (D-CONT-7).
func TestRenamedContentIsRefused(t *testing.T) {
	for name, value := range map[string]string{
		"the part anew":    oneMessage("m-1", "p-new", secretText),
		"the message anew": oneMessage("m-new", "p-new", secretText),
	} {
		t.Run(name, func(t *testing.T) {
			ev := reasoned(t)
			ev.Messages[1].Parts = ev.Messages[1].Parts[:1]
			var k cast
			k.add("net.acme.a", says(`[{"type":"modify","target":"response","operation":"replace","value":`+value+`}]`), asks(ahp.FailOpen, "*"))
			b := k.add("net.acme.b", says("[]"), selecting(asks(ahp.FailClosed, "*"), selection(ahp.SelectBody, "reasoning", "omit")))
			h := k.open(t, nil)
			s, err := settleOne(t, h, ev)
			if err != nil || !s.FailedOpen || len(b.asked()) != 1 {
				t.Fatal(s.State, s.FailedOpen, err, h.log.String())
			}
			wantIn(t, b.asked()[0], []string{"plain answer"}, secretText)
		})
	}
}

// Many hidden texts are looked for another way than few, and found alike.
func TestManyHiddenTexts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("abß ")), 0, 12, -1)
		texts := rapid.SliceOfN(text, 0, 60).Draw(t, "texts")
		s := text.Draw(t, "before") + text.Draw(t, "middle") + text.Draw(t, "after")
		if len(texts) > 0 && rapid.Bool().Draw(t, "a copy") {
			s += rapid.SampledFrom(texts).Draw(t, "of")
		}
		want := slices.ContainsFunc(texts, func(x string) bool { return len(x) >= 8 && strings.Contains(s, x) })
		if got := harness.HoldsCopy(texts, s); got != want {
			t.Fatalf("%q in %q: %v", texts, s, got)
		}
	})
}
