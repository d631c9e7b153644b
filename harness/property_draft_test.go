package harness_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

// An act is what one interceptor of a random chain says. Whatever it says holds the
// mark of the act, so that a trace of it can be found anywhere.
type act struct {
	effects string
	valid   bool // acceptable in itself
	drops   bool // no answer at all
	policy  ahp.FailurePolicy
	see     ahp.ContentSelection
	delay   time.Duration
}

func mark(i int) string { return fmt.Sprintf("MARK%02dX", i) }

// pieces are effects for act number i: the good ones, then the bad ones.
func pieces(i int) (good, bad []string) {
	m := mark(i)
	message := func(id, role string) string {
		return `{"id":"` + id + `","role":"` + role + `","parts":[{"id":"` + id + `p","kind":"text","mediaType":"text/plain","selection":"body","text":"` + m + `"}]}`
	}
	good = []string{
		`{"type":"message","text":"` + m + `"}`,
		`{"type":"modify","target":"request","operation":"merge","value":[` + message("new"+m, "user") + `]}`,
		`{"type":"modify","target":"request","operation":"replace","value":[` + message("re"+m, "user") + `]}`,
		`{"type":"return","value":[` + message("ret"+m, "assistant") + `]}`,
		`{"type":"inject","target":"context","operation":"append","deliverAt":"now","value":[` + message("inj"+m, "developer") + `]}`,
		`{"type":"deny","reason":"` + m + `"}`,
		`{"type":"flow","operation":"stop","reason":"` + m + `"}`,
	}
	bad = []string{
		`{"type":"explode","note":"` + m + `"}`,
		`{"type":"allow"}`, // not at this boundary
		`{"type":"modify","target":"input","operation":"merge","value":{"x":"` + m + `"}}`,
		`{"type":"modify","target":"request","operation":"replace","value":[{"id":"x","role":"robot","parts":[]}]}`,
		`{"type":"message","text":"` + m + `","level":1}`,
		`{"type":"flow","operation":"continue"}`,
		`{"type":"deny","reason":""}`,
	}
	return good, bad
}

func drawAct(t *rapid.T, i int) act {
	good, bad := pieces(i)
	a := act{
		valid:  true,
		policy: rapid.SampledFrom([]ahp.FailurePolicy{ahp.FailOpen, ahp.FailOpen, ahp.FailClosed}).Draw(t, "policy"),
		see:    drawSelection(t),
		delay:  time.Duration(rapid.IntRange(0, 900).Draw(t, "delay")) * time.Millisecond,
		drops:  rapid.IntRange(0, 9).Draw(t, "drops") == 0,
	}
	// Denials and stops are rare, or no chain would be long.
	usual := good[:5]
	if rapid.IntRange(0, 5).Draw(t, "ends") == 0 {
		usual = good
	}
	list := rapid.SliceOfNDistinct(rapid.SampledFrom(usual), 0, 3, rapid.ID[string]).Draw(t, "effects") // an id is new once
	if rapid.IntRange(0, 2).Draw(t, "bad") == 0 {
		a.valid = false
		at := rapid.IntRange(0, len(list)).Draw(t, "at")
		list = slices.Insert(slices.Clone(list), at, rapid.SampledFrom(bad).Draw(t, "what"))
	}
	a.effects = "[" + strings.Join(list, ",") + "]"
	return a
}

func drawSelection(t *rapid.T) ahp.ContentSelection {
	return selection(ahp.SelectBody, "reasoning", rapid.SampledFrom([]string{"body", "body", "metadata", "omit"}).Draw(t, "reasoning"))
}

// drawn is a chain and two observers.
type drawn struct {
	acts     []act
	watchers []ahp.ContentSelection
}

func drawChain(t *rapid.T) drawn {
	d := drawn{}
	for i := range rapid.IntRange(1, 5).Draw(t, "acts") {
		d.acts = append(d.acts, drawAct(t, i))
	}
	for range 2 {
		d.watchers = append(d.watchers, drawSelection(t))
	}
	return d
}

// outcome is what came of a chain, without times and made-up ids.
type outcome struct {
	s    settle.Settlement
	rec  settle.Record
	wire [][]string // by interceptor, then by observer: what each got
}

// run settles a request with one reasoning part through the chain, in a bubble.
func (d drawn) run(t *testing.T, delays bool) outcome {
	var o outcome
	synctest.Test(t, func(t *testing.T) {
		var k cast
		var mu sync.Mutex
		var peers []*peer
		for i, a := range d.acts {
			id := fmt.Sprintf("net.acme.i%d", i)
			s := selecting(asks(a.policy, "*"), a.see)
			s.Timeout = time.Second
			p := k.add(id, &peer{says: func(message) string {
				if delays {
					time.Sleep(a.delay)
				}
				if a.drops {
					return `{"not":"an answer"}`
				}
				return a.effects
			}}, s)
			peers = append(peers, p)
		}
		for i, c := range d.watchers {
			id := fmt.Sprintf("net.acme.w%d", i)
			p := k.add(id, &peer{}, selecting(watches("model.*"), c))
			if delays {
				k.local[id] = slow(p, 0, time.Duration(i*300)*time.Millisecond)
			}
			peers = append(peers, p)
		}
		h, rec := quick(t, &k, nil)
		thought := ahp.TextPart("p-think", secretText)
		thought.Category = ahp.CategoryReasoning
		ev := everyEvent(t, ahp.ModelRequestBefore)
		ev.ID, ev.Time = "ev-1", "2027-05-01T10:11:12Z"
		ev.Messages = append(ev.Messages, ahp.Message{ID: "m-think", Role: ahp.RoleAssistant, Parts: []ahp.Part{thought}})
		c := h.Begin(t.Context(), ev)
		o.s, _ = c.Settle()
		_ = c.Wait(t.Context())
		closeNow(t, h)
		o.rec = rec.one(t)
		mu.Lock()
		defer mu.Unlock()
		for _, p := range peers {
			var got []string
			for _, m := range p.all() {
				got = append(got, m.raw)
			}
			o.wire = append(o.wire, got)
		}
	})
	return o
}

// accepted says which acts' responses were accepted, by the record.
func (o *outcome) accepted(i int) bool {
	return i < len(o.rec.Hops) && o.rec.Hops[i].Answer != settle.AnswerFailure
}

// TestDraftProperties holds random chains of good and bad responses against what must
// be so whatever happens (issue 5: properties 1, 3, 4 and 5).
func TestDraftProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := drawChain(rt)
		o := d.run(t, false)
		d.nothingOfRejected(rt, &o)
		d.observersSee(rt, &o)
		ends := false
		for i, a := range d.acts {
			if o.accepted(i) && strings.Contains(a.effects, `"deny"`) || i < len(o.rec.Hops) && !o.accepted(i) && a.policy == ahp.FailClosed {
				ends = true
			}
			if o.accepted(i) != (a.valid && !a.drops) && i < len(o.rec.Hops) {
				// A replace that the view does not allow is bad by its place (D-CAP-6).
				if !strings.Contains(a.effects, `"replace"`) || a.see.Categories[0].Selection == ahp.SelectBody {
					rt.Fatalf("act %d (%s, valid %v): accepted %v", i, a.effects, a.valid, o.accepted(i))
				}
			}
		}
		if ends && (o.s.State != settle.Denied || o.s.Proceeds()) {
			rt.Fatalf("refused, and settled %s", o.s.State)
		}
		// With delays under every deadline the outcome is the same (property 5).
		again := d.run(t, true)
		if again.s.State != o.s.State || again.s.By != o.s.By || !slices.Equal(again.s.Messages, o.s.Messages) || len(again.rec.Hops) != len(o.rec.Hops) {
			rt.Fatalf("settled %s by %s, with delays %s by %s", o.s.State, o.s.By, again.s.State, again.s.By)
		}
		for i := range o.wire {
			if !slices.Equal(o.wire[i], again.wire[i]) {
				rt.Fatalf("receiver %d got\n%v\nand with delays\n%v", i, o.wire[i], again.wire[i])
			}
		}
	})
}

// nothingOfRejected: no trace of a rejected response on the wire (state and
// observations included), in the settlement or in the record.
func (d drawn) nothingOfRejected(t *rapid.T, o *outcome) {
	texts := []string{fmt.Sprint(o.s.Messages, o.s.Reason, o.s.Instructions), string(o.rec.MarshalAppend(nil))}
	for _, m := range o.s.Event.Messages {
		texts = append(texts, m.ID, fmt.Sprint(m.Parts))
		for _, p := range m.Parts {
			if p.Text != nil {
				texts = append(texts, *p.Text)
			}
		}
	}
	for _, inj := range o.s.Injections {
		for _, m := range inj.Messages {
			texts = append(texts, m.ID)
		}
	}
	if o.s.Candidate != nil {
		for _, m := range o.s.Candidate.Messages {
			texts = append(texts, m.ID)
		}
	}
	for _, w := range o.wire {
		texts = append(texts, w...)
	}
	for i := range d.acts {
		if o.accepted(i) {
			continue
		}
		for _, text := range texts {
			if strings.Contains(text, mark(i)) {
				t.Fatalf("act %d was rejected (%s), and is in %s", i, d.acts[i].effects, text)
			}
		}
	}
}

// observersSee: each receiver sees its own view of the effective content, and nothing
// else; nobody who was asked is told again.
func (d drawn) observersSee(t *rapid.T, o *outcome) {
	var effective []string
	thinks := false
	for _, m := range o.s.Event.Messages {
		effective = append(effective, m.ID)
		thinks = thinks || m.ID == "m-think"
	}
	all := slices.Clone(d.watchers)
	first := len(d.acts)
	for i := len(o.rec.Hops); i < len(d.acts); i++ {
		all = append(all, d.acts[i].see)
	}
	for n, see := range all {
		at := first + n
		if n >= len(d.watchers) {
			at = len(o.rec.Hops) + n - len(d.watchers) // downgraded
		}
		got := o.wire[at]
		if len(got) != 1 || !strings.Contains(got[0], `"hooks/observe"`) {
			t.Fatalf("receiver %d got %d messages", at, len(got))
		}
		var m struct {
			Params struct {
				Event struct {
					Items []struct {
						ID string `json:"id"`
					} `json:"items"`
				} `json:"event"`
			} `json:"params"`
		}
		if err := json.Unmarshal([]byte(got[0]), &m); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, x := range m.Params.Event.Items {
			ids = append(ids, x.ID)
		}
		if !slices.Equal(ids, effective) {
			t.Fatalf("receiver %d saw %v, effective is %v", at, ids, effective)
		}
		wants := thinks && see.Categories[0].Selection == ahp.SelectBody
		if strings.Contains(got[0], secretText) != wants {
			t.Fatalf("receiver %d with %v: sees the reasoning: %v", at, see, !wants)
		}
	}
	for i := range o.rec.Hops {
		if len(o.wire[i]) != 1 || !strings.Contains(o.wire[i][0], `"hooks/intercept"`) {
			t.Fatalf("interceptor %d got %d messages", i, len(o.wire[i]))
		}
		if d.acts[i].see.Categories[0].Selection != ahp.SelectBody && strings.Contains(o.wire[i][0], secretText) {
			t.Fatalf("interceptor %d sees what it does not select", i)
		}
	}
}

// A view is encoded once for each effective value, however many get it.
func TestEncodedOnce(t *testing.T) {
	for _, tt := range []struct {
		effects []string
		want    int
	}{
		{[]string{"[]", "[]", "[]", "[]"}, 1},
		{[]string{"[]", list(mergeInput), "[]", "[]"}, 2},
		{[]string{list(mergeInput), list(replaceInput), "[]"}, 3},
		{[]string{"[]", list(deny), "[]"}, 1},
	} {
		var k cast
		var mu sync.Mutex
		n := 0
		for i, e := range tt.effects {
			k.add(fmt.Sprintf("net.acme.i%d", i), says(e), asks(ahp.FailClosed, "*"), watches("*"))
		}
		k.add("net.acme.other", says("[]"), selecting(watches("*"), selection(ahp.SelectBody, "text", "body")))
		h := k.open(t, nil)
		harness.SetStep(h.Harness, func(step string) {
			mu.Lock()
			defer mu.Unlock()
			if step == "encode" {
				n++
			}
		})
		if _, err := settleOne(t, h, draftTool()); err != nil {
			t.Fatal(err)
		}
		mu.Lock()
		if n != tt.want {
			t.Errorf("%v: encoded %d times, want %d", tt.effects, n, tt.want)
		}
		mu.Unlock()
	}
}

var _ transport.Local = (&peer{}).local
