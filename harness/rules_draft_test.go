package harness_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
)

// TestDraftRules runs one subtest for each rule of AHP draft that shows on a harness.
func TestDraftRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range slices.Concat(viewRules, draftChainRules, tellRules, ownRules, draftRegRules, followRules, carrierRules, hostRules, lifeRules, meaningRules) {
		if seen[r.id] {
			t.Errorf("%s stands there twice", r.id)
		}
		seen[r.id] = true
		t.Run(r.id, r.test)
	}
}

type draftRule struct {
	id   string
	test func(t *testing.T)
}

// select makes a selection: the default, then category and selection in turn.
func selection(def ahp.Selection, pairs ...string) ahp.ContentSelection {
	c := ahp.ContentSelection{Default: def}
	for i := 0; i < len(pairs); i += 2 {
		c.Categories = append(c.Categories, ahp.CategorySelection{Category: pairs[i], Selection: ahp.Selection(pairs[i+1])})
	}
	return c
}

func selecting(s ahp.Subscription, c ahp.ContentSelection) ahp.Subscription {
	s.Content = c
	return s
}

const secretText = "the quick secret of the event"

// reasoned is a response with reasoning, a text and an image.
func reasoned(t testing.TB) *ahp.Event {
	ev := everyEvent(t, ahp.ModelResponseAfter)
	thought := ahp.TextPart("p-think", secretText)
	thought.Category = ahp.CategoryReasoning
	size := int64(7)
	ev.Messages = []ahp.Message{
		{ID: "m-1", Role: ahp.RoleAssistant, Parts: []ahp.Part{thought}},
		{ID: "m-2", Role: ahp.RoleAssistant, Parts: []ahp.Part{
			ahp.TextPart("p-text", "plain answer"),
			{ID: "p-image", Kind: ahp.PartAttachment, MediaType: "image/png", Selection: ahp.SelectMetadata, Size: &size},
		}},
	}
	return ev
}

// seesOf returns the one notification that an observer with this selection gets of ev.
func seesOf(t *testing.T, c ahp.ContentSelection, edit func(*harness.Options), ev *ahp.Event) message {
	t.Helper()
	var k cast
	p := k.add("net.acme.a", &peer{}, selecting(watches("*"), c))
	h := k.open(t, edit)
	if _, err := settleOne(t, h, ev); err != nil {
		t.Fatalf("%v: %s", err, h.log.String())
	}
	told := p.told()
	if len(told) != 1 {
		t.Fatalf("%d notifications, want 1: %s", len(told), h.log.String())
	}
	return told[0]
}

func wantIn(t *testing.T, m message, yes []string, no ...string) {
	t.Helper()
	for _, s := range yes {
		if !strings.Contains(m.raw, s) {
			t.Errorf("%q is not in %s", s, m.raw)
		}
	}
	for _, s := range no {
		if strings.Contains(m.raw, s) {
			t.Errorf("%q is in %s", s, m.raw)
		}
	}
}

var viewRules = []draftRule{
	{"D-EVT-4", func(t *testing.T) {
		ev := draftTool()
		ev.Session, ev.Turn = ahp.Session{}, nil
		wantIn(t, seesOf(t, selection(ahp.SelectBody), nil, ev), nil, `"session"`, `"turn"`)
	}},
	{"D-EVT-9", func(t *testing.T) {
		// Local backends see all; a carrier that is not local does not.
		var k cast
		p := &peer{}
		k.backends = append(k.backends, backendOf("net.acme.a", &ahp.HTTPTransport{URL: "https://a.example"}, watches("*")))
		h := k.open(t, func(o *harness.Options) {
			o.MinimalSession = true
			o.Carriers = carriersOf(map[string]*peer{"net.acme.a": p})
		})
		if _, err := settleOne(t, h, draftTool()); err != nil {
			t.Fatal(err)
		}
		if got := string(p.told()[0].Params.Event["session"]); got != `{"id":"s-88"}` {
			t.Errorf("session %s", got)
		}
	}},
	{"D-NAT-1", func(t *testing.T) {
		for _, tt := range []struct{ include, policy, want bool }{{false, false, false}, {true, false, false}, {false, true, false}, {true, true, true}} {
			ev := draftTool()
			ev.Native = &ahp.Native{Provider: "acme", EventName: "PreTool", Payload: ahp.Raw(`{"x":"native-data"}`)}
			var k cast
			s := asks(ahp.FailClosed, ahp.ToolBefore)
			s.IncludeNative = tt.include
			p := k.add("net.acme.a", says("[]"), s)
			h := k.open(t, func(o *harness.Options) { o.ShowNative = tt.policy })
			if _, err := settleOne(t, h, ev); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(p.asked()[0].raw, "native-data"); got != tt.want {
				t.Errorf("include %v, policy %v: native shown %v", tt.include, tt.policy, got)
			}
		}
	}},
	{"D-NAT-3", func(t *testing.T) {
		// Hidden text is on no other road: native, the opaque input, a second part.
		ev := draftTool()
		ev.Native = &ahp.Native{Provider: "acme", EventName: "PreTool", Payload: ahp.Raw(`{"x":"` + secretText + `"}`)}
		ev.Tool.Input = ahp.Raw(`{"cmd":"write","body":"before ` + secretText + ` after","n":1}`)
		other := ahp.TextPart("p-2", secretText)
		other.Category = "renamed"
		ev.Parts = []ahp.Part{ahp.TextPart("p-1", secretText), other}
		ev.Extensions, ev.HasExtensions = ahp.Members{{Name: "net.acme.x", Value: ahp.Raw(`["` + secretText + `"]`)}}, true
		for _, how := range []string{"omit", "metadata"} {
			var k cast
			s := selecting(watches("*"), selection(ahp.SelectBody, "text", how))
			s.IncludeNative = true
			p := k.add("net.acme.a", &peer{}, s)
			h := k.open(t, func(o *harness.Options) { o.ShowNative = true })
			if _, err := settleOne(t, h, ev); err != nil {
				t.Fatal(err)
			}
			wantIn(t, p.told()[0], []string{`"n":1`, `"path":"tool.input"`, `"path":"native"`, `"p-2"`}, secretText)
		}
	}},
	{"AHP-CONTENT-002", func(t *testing.T) {
		// Wherever parts stand, a selection holds for them.
		for _, typ := range ahp.DraftEvents() {
			ev := everyEvent(t, typ)
			m := seesOf(t, selection(ahp.SelectOmit), nil, ev)
			wantIn(t, m, nil, "first text of the event", "Which day?", "monday")
		}
	}},
	{"D-CONT-1", func(t *testing.T) {
		m := seesOf(t, selection(ahp.SelectBody, "reasoning", "omit"), nil, reasoned(t))
		last := -1
		for _, id := range []string{`"m-1"`, `"p-think"`, `"m-2"`, `"p-text"`, `"p-image"`} {
			at := strings.Index(m.raw, id)
			if at <= last {
				t.Errorf("%s is out of order in %s", id, m.raw)
			}
			last = at
		}
	}},
	{"D-CONT-7", func(t *testing.T) {
		m := seesOf(t, selection(ahp.SelectBody), nil, reasoned(t))
		wantIn(t, m, []string{`"category":"reasoning"`, secretText})
	}},
	{"D-CONT-8", func(t *testing.T) {
		a := seesOf(t, selection(ahp.SelectBody), nil, reasoned(t))
		b := seesOf(t, selection(ahp.SelectMetadata), nil, reasoned(t))
		for _, id := range []string{`"m-1"`, `"p-think"`, `"m-2"`, `"p-text"`, `"p-image"`} {
			wantIn(t, a, []string{id})
			wantIn(t, b, []string{id})
		}
	}},
	{"D-SEL-2", func(t *testing.T) {
		ev := reasoned(t)
		ev.Messages[1].Parts[0].Category = "unheard-of"
		wantIn(t, seesOf(t, selection(ahp.SelectOmit, "text", "body"), nil, ev), nil, "plain answer")
		wantIn(t, seesOf(t, selection(ahp.SelectBody, "text", "omit"), nil, ev), []string{"plain answer"})
	}},
	{"D-SEL-3", func(t *testing.T) {
		m := seesOf(t, selection(ahp.SelectBody, "text", "body", "reasoning", "metadata"), nil, reasoned(t))
		wantIn(t, m, []string{"plain answer", `"selection":"metadata"`}, secretText)
	}},
	{"D-SEL-4", func(t *testing.T) {
		// A view without bodies does not ask the host for them.
		for _, s := range []ahp.Selection{ahp.SelectMetadata, ahp.SelectOmit} {
			asked := 0
			m := seesOf(t, selection(s), func(o *harness.Options) {
				o.MayShow = func(harness.Receiver, *ahp.Part) bool { asked++; return true }
			}, reasoned(t))
			wantIn(t, m, nil, secretText, "plain answer", `"text":"`, `"body":{`)
			if asked != 0 {
				t.Errorf("%s: the host was asked %d times", s, asked)
			}
		}
	}},
	{"D-SEL-5", func(t *testing.T) {
		m := seesOf(t, selection(ahp.SelectBody), func(o *harness.Options) {
			o.MayShow = func(_ harness.Receiver, p *ahp.Part) bool { return p.Category != ahp.CategoryReasoning }
		}, reasoned(t))
		wantIn(t, m, []string{`"gap":{`, "plain answer"}, secretText)
	}},
	{"D-SEL-6", func(t *testing.T) {
		for _, tt := range []struct {
			policy ahp.FailurePolicy
			c      ahp.ContentSelection
			want   settle.State
			asked  int
		}{
			{ahp.FailClosed, selection(ahp.SelectBody), settle.Denied, 0},
			{ahp.FailOpen, selection(ahp.SelectBody), settle.Proceed, 0},
			{ahp.FailClosed, selection(ahp.SelectBody, "images", "metadata"), settle.Proceed, 1},
			{ahp.FailClosed, selection(ahp.SelectBody, "images", "omit"), settle.Proceed, 1},
		} {
			var k cast
			p := k.add("net.acme.a", says("[]"), selecting(asks(tt.policy, ahp.ModelResponseAfter), tt.c))
			h := k.open(t, nil)
			s, err := settleOne(t, h, reasoned(t))
			if s.State != tt.want || err != nil || len(p.asked()) != tt.asked {
				t.Errorf("%s %v: %s, %v, asked %d times", tt.policy, tt.c, s.State, err, len(p.asked()))
			}
			rec := h.rec.one(t)
			if failed := tt.asked == 0; failed != (rec.Hops[0].Class == ahp.FailContent) || rec.FailedOpen != (failed && tt.policy == ahp.FailOpen) {
				t.Errorf("hop %+v, failed open %v", rec.Hops[0], rec.FailedOpen)
			}
		}
	}},
	{"D-SEL-7", func(t *testing.T) {
		var got []harness.Receiver
		m := seesOf(t, selection(ahp.SelectBody), func(o *harness.Options) {
			o.MayShow = func(r harness.Receiver, _ *ahp.Part) bool { got = append(got, r); return false }
		}, reasoned(t))
		wantIn(t, m, []string{`"gap":{`}, secretText, "plain answer")
		if len(got) == 0 || got[0] != (harness.Receiver{Backend: "net.acme.a", Subscription: "net.acme.a/0", Mode: ahp.ModeObserve}) {
			t.Errorf("the host was asked for %v", got)
		}
	}},
	{"D-SEL-8", func(t *testing.T) {
		m := seesOf(t, selection(ahp.SelectOmit), nil, reasoned(t))
		wantIn(t, m, []string{`"selection":"omit"`}, secretText, `"size"`)
	}},
	{"D-SEL-10", func(t *testing.T) {
		for media, category := range map[string]string{
			"image/png": "images", "audio/ogg": "audio", "video/mp4": "video", "application/pdf": "files", "IMAGE/PNG": "images",
		} {
			ev := everyEvent(t, ahp.ModelResponseAfter)
			ev.Messages[0].Parts = []ahp.Part{{ID: "p", Kind: ahp.PartAttachment, MediaType: media, Selection: ahp.SelectBody, Ref: "blob-1"}}
			show := func(o *harness.Options) { o.MayShow = func(harness.Receiver, *ahp.Part) bool { return true } }
			wantIn(t, seesOf(t, selection(ahp.SelectOmit, category, "body"), show, ev), []string{"blob-1"})
			wantIn(t, seesOf(t, selection(ahp.SelectBody, category, "omit"), show, ev), nil, "blob-1")
		}
	}},
	{"D-UP-18", func(t *testing.T) {
		// A reference goes to nobody whom the host does not name.
		ev := everyEvent(t, ahp.ModelResponseAfter)
		ev.Messages[0].Parts = []ahp.Part{{ID: "p", Kind: ahp.PartAttachment, MediaType: "image/png", Selection: ahp.SelectBody, Ref: "blob-1"}}
		wantIn(t, seesOf(t, selection(ahp.SelectBody), nil, ev), []string{`"gap":{`}, "blob-1")
	}},
	{"D-CAP-1", func(t *testing.T) {
		var k cast
		p := k.add("net.acme.a", says("[]"), asks(ahp.FailClosed, ahp.ToolBefore))
		h := k.open(t, func(o *harness.Options) {
			o.Manifest.Event(ahp.ToolBefore).Capabilities.Effects = []ahp.EffectType{ahp.EffectDeny, ahp.EffectAsk, ahp.EffectMessage}
			c := o.Manifest.Event(ahp.ToolBefore).Capabilities
			c.Modify, c.Flow, c.Inject = nil, nil, nil
			o.Offer = func(_ *ahp.Event, host ahp.Capabilities) ahp.Capabilities {
				host.Effects = []ahp.EffectType{ahp.EffectMessage, ahp.EffectAllow} // narrower, and one that is not there
				return host
			}
		})
		if _, err := settleOne(t, h, draftTool()); err != nil {
			t.Fatal(err)
		}
		if got := string(p.asked()[0].Params.Capabilities); got != `{"effects":["message","deny"]}` {
			t.Errorf("offered %s", got)
		}
	}},
	{"AHP-CAP-002", func(t *testing.T) {
		var k cast
		p := k.add("net.acme.a", says("[]"), asks(ahp.FailClosed, ahp.ToolBefore))
		h := k.open(t, nil)
		if _, err := settleOne(t, h, draftTool()); err != nil {
			t.Fatal(err)
		}
		wantIn(t, p.asked()[0], []string{`"capabilities":{"effects":["deny",`})
		o := draftOptions(harness.Discard)
		o.Manifest.Event(ahp.ToolBefore).Capabilities.Effects = []ahp.EffectType{ahp.EffectMessage}
		refused(t, o, "cannot deny", backendOf("net.acme.a", &ahp.HTTPTransport{URL: "https://a.example"}, watches("*")))
	}},
	{"D-CAP-6", func(t *testing.T) {
		// Hidden text in the list: no replace is offered, and one that comes is refused.
		var k cast
		replace := `[{"type":"modify","target":"response","operation":"replace","value":[]}]`
		merge := `[{"type":"modify","target":"response","operation":"merge","value":[{"id":"m-new","role":"assistant","parts":[]}]}]`
		part := k.add("net.acme.a", says(replace), selecting(asks(ahp.FailOpen, ahp.ModelResponseAfter), selection(ahp.SelectBody, "reasoning", "omit", "images", "omit")))
		whole := k.add("net.acme.b", says(merge), selecting(asks(ahp.FailClosed, ahp.ModelResponseAfter), selection(ahp.SelectMetadata)))
		h := k.open(t, nil)
		s, err := settleOne(t, h, reasoned(t))
		if err != nil || s.State != settle.Proceed || len(s.Event.Messages) != 3 {
			t.Errorf("%s, %v, %d messages", s.State, err, len(s.Event.Messages))
		}
		for _, p := range []*peer{part, whole} {
			wantIn(t, p.asked()[0], []string{`"modify":{"response":{"replace":false,"merge":true}}`})
		}
		if rec := h.rec.one(t); rec.Hops[0].Class != ahp.FailInvalidEffect || !rec.FailedOpen {
			t.Errorf("hop %+v", rec.Hops[0])
		}
	}},
	{"D-CAP-7", func(t *testing.T) {
		for count, want := range []string{`"remainingContinuations":2,"continuationCount":0`, `"remainingContinuations":1,"continuationCount":1`, `"remainingContinuations":0,"continuationCount":2`, `"remainingContinuations":0,"continuationCount":3`} {
			var k cast
			p := k.add("net.acme.a", says(`[{"type":"flow","operation":"continue"}]`), asks(ahp.FailOpen, ahp.TurnFinishBefore))
			h := k.open(t, nil)
			ev := everyEvent(t, ahp.TurnFinishBefore)
			ev.Body = &ahp.TurnFinishBody{Outcome: ahp.TurnCompleted, ContinuationCount: int64(count)}
			s, _ := settleOne(t, h, ev)
			wantIn(t, p.asked()[0], []string{want})
			if (s.Flow == ahp.FlowContinue) != (count < 2) { // D-FLOW-4
				t.Errorf("count %d: flow %s", count, s.Flow)
			}
		}
	}},
	{"D-EL-13", func(t *testing.T) {
		var k cast
		p := k.add("net.acme.a", says(`[{"type":"return","value":{"action":"decline"}}]`), selecting(asks(ahp.FailOpen, ahp.ElicitationRequest), selection(ahp.SelectMetadata)))
		h := k.open(t, nil)
		s, err := settleOne(t, h, everyEvent(t, ahp.ElicitationRequest))
		if err != nil || s.State != settle.Proceed || !s.FailedOpen {
			t.Errorf("%s, %v", s.State, err)
		}
		wantIn(t, p.asked()[0], []string{`"effects":["deny","message"]`})
	}},
}
