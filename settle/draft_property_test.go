package settle_test

import (
	stdjson "encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

// The reference is a second reading of the contract, written for one boundary at a
// time as a fold over plain maps and lists. It is slow, copies everything, and shares
// no code with the package.

type refState struct {
	object       map[string]any // tool.before
	list, origin []string       // tool.after: "id role text", now and at first
	perm         string
	candidate    string // "" is none
	flow         string
	instructions []string
	injected     []string // ids
	messages     []string
	end          string // "", deny, stop, closed
	reason       string
	open         bool // something failed open
}

func (r refState) copy() refState {
	r.object = decode(encode(r.object))
	r.list, r.instructions = slices.Clone(r.list), slices.Clone(r.instructions)
	r.injected, r.messages = slices.Clone(r.injected), slices.Clone(r.messages)
	return r
}

func decode(s string) map[string]any {
	var m map[string]any
	d := stdjson.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	if d.Decode(&m) != nil {
		return nil
	}
	return m
}

func encode(v any) string {
	b, err := stdjson.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

var strength = map[string]int{"none": 0, "allow": 1, "ask": 2, "deny": 3}

func stronger(a, b string) string {
	if strength[b] > strength[a] {
		return b
	}
	return a
}

// answer is one response as the generator drew it: the effects, and for each what it
// is in the words of the reference.
type answer struct {
	step  settle.Step
	items []item
}

type item struct {
	effect ahp.Effect
	kind   string // deny, allow, ask, merge, replace, return, message, inject, stop, continue, bad
	text   string // reason, value, id
	object map[string]any
	list   []string
}

// fold is one response of the reference; ok is false when it is rejected.
func fold(r refState, a answer, left int) (next refState, ok bool) {
	next = r.copy()
	result := ""
	before := encode([]any{r.object, r.list})
	perm := "none"
	denied, stopped := false, false
	for _, it := range a.items {
		switch it.kind {
		case "bad":
			return r, false
		case "deny":
			denied = true
			perm = stronger(perm, "deny")
		case "allow", "ask":
			perm = stronger(perm, it.kind)
		case "merge":
			if it.object != nil {
				maps.Copy(next.object, it.object)
			}
			next.list = append(next.list, it.list...)
		case "replace":
			if it.object != nil {
				next.object = it.object
			} else {
				next.list = slices.Clone(it.list)
			}
		case "return":
			result = it.text
		case "message":
			next.messages = append(next.messages, it.text)
		case "inject":
			known := slices.ContainsFunc(slices.Concat(r.list, r.origin), func(m string) bool { return strings.HasPrefix(m, it.text+" ") })
			if known || slices.Contains(next.injected, it.text) {
				return r, false
			}
			next.injected = append(next.injected, it.text)
		case "stop":
			stopped = true
		case "continue":
			if left == 0 {
				return r, false
			}
			if it.text != "" {
				next.instructions = append(next.instructions, it.text)
			}
			if next.flow == "none" {
				next.flow = "continue"
			}
		}
	}
	for _, id := range next.injected[len(r.injected):] {
		if slices.ContainsFunc(next.list, func(m string) bool { return strings.HasPrefix(m, id+" ") }) {
			return r, false
		}
	}
	changed := before != encode([]any{next.object, next.list})
	if changed {
		next.candidate = ""
		if next.perm == "allow" {
			next.perm = "none"
		}
	}
	if result != "" {
		next.candidate = result
	}
	next.perm = stronger(next.perm, perm)
	if stopped {
		next.flow, next.end, next.candidate = "stop", "stop", ""
	}
	if denied {
		next.end, next.candidate = "deny", ""
		next.reason = first(a.items, "deny")
	} else if stopped {
		next.reason = first(a.items, "stop")
	}
	return next, true
}

func first(items []item, kind string) string {
	for _, it := range items {
		if it.kind == kind {
			return it.text
		}
	}
	return ""
}

// refFold folds a whole chain.
func refFold(r refState, answers []answer, left int) refState {
	for _, a := range answers {
		if r.end != "" {
			return r
		}
		next, ok := r, false
		class := ahp.FailureClass("")
		if a.step.Failure != nil {
			class = a.step.Failure.Class
		} else if next, ok = fold(r, a, left); !ok {
			class = ahp.FailInvalidEffect
		}
		switch {
		case class == "":
			r = next
		case a.step.Policy == ahp.FailOpen && (class != ahp.FailEvent || a.step.EventByPolicy):
			r.open = true
		default:
			r.end, r.candidate, r.perm = "closed", "", "deny"
		}
	}
	return r
}

func (r refState) outcome() settle.State {
	switch {
	case r.end == "deny" || r.end == "closed":
		return settle.Denied
	case r.end == "stop":
		return settle.Stopped
	case r.perm == "ask":
		return settle.Ask
	case r.candidate != "":
		return settle.Supplied
	}
	return settle.Proceed
}

var recordSchema = sync.OnceValue(func() *jsonschema.Schema {
	s, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "docs", "schemas", "settlement-record.schema.json"))
	if err != nil {
		panic(err)
	}
	return s
})

// genAnswer draws a response or a failure for a boundary.
func genAnswer(at ahp.EventType, inject bool) *rapid.Generator[answer] {
	return rapid.Custom(func(t *rapid.T) answer {
		a := answer{step: settle.Step{
			Backend:       rapid.SampledFrom([]string{guard, second}).Draw(t, "backend"),
			Policy:        rapid.SampledFrom([]ahp.FailurePolicy{ahp.FailOpen, ahp.FailOpen, ahp.FailClosed, ""}).Draw(t, "policy"),
			EventByPolicy: rapid.Bool().Draw(t, "eventByPolicy"),
		}}
		if rapid.IntRange(0, 5).Draw(t, "failed") == 0 {
			a.step.Failure = failure(rapid.SampledFrom(ahp.FailureClasses()).Draw(t, "class"))
			return a
		}
		for range rapid.IntRange(0, 4).Draw(t, "effects") {
			it := genItem(t, at, inject)
			a.items = append(a.items, it)
			a.step.Effects = append(a.step.Effects, it.effect)
		}
		return a
	})
}

var values = []string{`1`, `1`, `2`, `"x"`, `null`, `{"k":1}`, `{"k":[1,2]}`, `[]`, `[{}]`, `9007199254740993`, `9007199254740992`, `1.5`}

func genItem(t *rapid.T, at ahp.EventType, withInject bool) item {
	kinds := []string{"message", "merge", "merge", "replace", "stop", "bad"}
	if at == ahp.ToolBefore {
		kinds = append(kinds, "deny", "allow", "allow", "ask", "return", "return", "merge")
	} else {
		kinds = append(kinds, "continue", "continue")
	}
	if withInject {
		kinds = append(kinds, "inject", "inject")
	}
	it := item{kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
	word := rapid.SampledFrom([]string{"a", "b", "c\u202e"})
	switch it.kind {
	case "deny":
		it.text = word.Draw(t, "reason")
		it.effect = &ahp.Deny{Reason: it.text}
	case "allow":
		it.effect = &ahp.Allow{}
	case "ask":
		it.effect = &ahp.Ask{}
	case "message":
		it.text = word.Draw(t, "text")
		it.effect = tell(it.text)
	case "stop":
		it.text = word.Draw(t, "reason")
		it.effect = stop(it.text)
	case "continue":
		it.text = rapid.SampledFrom([]string{"", "go", "on"}).Draw(t, "instruction")
		it.effect = more(it.text)
	case "return":
		it.text = rapid.SampledFrom(values).Draw(t, "value")
		it.effect = supply(it.text)
	case "inject":
		it.text = rapid.SampledFrom([]string{"m-1", "m-5", "m-7", "m-8", "m-9"}).Draw(t, "id")
		it.effect = inject(ahp.DeliverNow, message(it.text, ahp.RoleUser, "x"))
	case "merge", "replace":
		if at == ahp.ToolBefore {
			it.object = map[string]any{}
			var b strings.Builder
			for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d"}), 0, 3, rapid.ID[string]).Draw(t, "names") {
				v := rapid.SampledFrom(values).Draw(t, "value")
				it.object[k] = decode(`{"v":` + v + `}`)["v"]
				// Spellings that mean the same.
				name := rapid.SampledFrom([]string{`"` + k + `"`, fmt.Sprintf(`"\u%04x"`, k[0])}).Draw(t, "spelling")
				if b.Len() > 0 {
					b.WriteString(rapid.SampledFrom([]string{",", " ,\n"}).Draw(t, "comma"))
				}
				b.WriteString(name + rapid.SampledFrom([]string{":", " : "}).Draw(t, "colon") + v)
			}
			it.effect = object(ahp.TargetInput, ahp.Operation(it.kind), "{"+b.String()+"}")
			break
		}
		var ms []ahp.Message
		for range rapid.IntRange(0, 2).Draw(t, "messages") {
			id := rapid.SampledFrom([]string{"m-1", "m-2", "m-5"}).Draw(t, "id")
			s := rapid.SampledFrom([]string{"one", "two", "x"}).Draw(t, "text")
			ms = append(ms, message(id, ahp.RoleTool, s))
			it.list = append(it.list, id+" tool "+s)
		}
		it.effect = list(ahp.TargetOutput, ahp.Operation(it.kind), ms...)
	case "bad":
		it.effect = rapid.SampledFrom([]ahp.Effect{
			nil, (*ahp.Ask)(nil), &ahp.Deny{}, merge(`[]`), merge(`{"a":1,"a":2}`), &ahp.Return{}, stop(""),
			list(ahp.TargetPrompt, ahp.OpMerge), &ahp.Inject{}, object(ahp.TargetInput, "append", `{}`),
		}).Draw(t, "effect")
	}
	return it
}

func TestDraftProperties(t *testing.T) {
	t.Run("object", rapid.MakeCheck(func(t *rapid.T) { draftProperties(t, ahp.ToolBefore) }))
	t.Run("list", rapid.MakeCheck(func(t *rapid.T) { draftProperties(t, ahp.ToolAfter) }))
}

func FuzzBoundary(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		draftProperties(t, rapid.SampledFrom([]ahp.EventType{ahp.ToolBefore, ahp.ToolAfter}).Draw(t, "at"))
	}))
}

func draftProperties(t *rapid.T, at ahp.EventType) {
	left := rapid.IntRange(0, 1).Draw(t, "left")
	answers := rapid.SliceOfN(genAnswer(at, rapid.Bool().Draw(t, "inject")), 0, 6).Draw(t, "answers")
	ref := refState{object: map[string]any{}, perm: "none", flow: "none"}
	ev := boundary(at)
	if at == ahp.ToolBefore {
		ev.Tool.Input = ahp.Raw(`{"a":1,"b":{"k":1}}`)
		ref.object = decode(string(ev.Tool.Input))
	} else {
		ref.list = []string{"m-1 tool one", "m-2 tool two"}
		ref.origin = ref.list
	}
	frozen := encode(ev)
	caps := everything(at, int64(left))

	run := func() (settle.Settlement, []settle.Hop) {
		b := settle.Open(ev, caps, settle.BoundaryOptions{})
		var hops []settle.Hop
		refused := false
		for _, a := range answers {
			before, done := b.Settlement(), b.Done()
			next, v := b.Apply(a.step)
			if !reflect.DeepEqual(before, b.Settlement()) {
				t.Fatal("Apply changed its receiver")
			}
			after := next.Settlement()
			rejected := v.Answer == settle.AnswerFailure
			// (1) Nothing of a rejected response is visible.
			if rejected {
				same := after.Event == before.Event && slices.Equal(after.Instructions, before.Instructions) &&
					slices.Equal(after.Injections, before.Injections) && slices.Equal(after.Messages, before.Messages)
				if !next.Done() {
					x := before
					x.FailedOpen = true
					same = same && reflect.DeepEqual(x, after)
				}
				if !same || v.Effects != nil || v.Changed {
					t.Fatalf("a rejected response left something:\n%+v\n%+v", before, after)
				}
				if !next.Done() && !reflect.DeepEqual(next.State(), b.State()) {
					t.Fatal("a rejected response is in the state")
				}
			}
			// (3) No sequence turns a refusal into something else.
			if refused && !reflect.DeepEqual(before, after) {
				t.Fatalf("an ended chain changed: %+v, then %+v", before, after)
			}
			refused = refused || next.Done()
			if next.Done() && after.Proceeds() {
				t.Fatalf("an ended chain proceeds: %+v", after)
			}
			if !done {
				h := settle.Hop{Backend: a.step.Backend, Mode: ahp.ModeIntercept, Attempts: 1}
				v.Into(&h)
				hops = append(hops, h)
			}
			b = next
		}
		return b.Settlement(), hops
	}
	got, hops := run()
	again, _ := run()
	if !reflect.DeepEqual(got, again) { // (5)
		t.Fatal("two runs differ")
	}
	if encode(ev) != frozen {
		t.Fatal("the event was changed")
	}

	// (2) The reference agrees.
	want := refFold(ref, answers, left)
	if got.State != want.outcome() || string(got.Permission) != want.perm || got.FailedOpen != want.open {
		t.Fatalf("%s %s %v, want %s %s %v", got.State, got.Permission, got.FailedOpen, want.outcome(), want.perm, want.open)
	}
	if at == ahp.ToolBefore {
		if v := decode(string(got.Event.Tool.Input)); !reflect.DeepEqual(v, want.object) {
			t.Fatalf("effective %s, want %s", got.Event.Tool.Input, encode(want.object))
		}
	} else {
		var have []string
		for _, m := range got.Event.Messages {
			have = append(have, m.ID+" "+string(m.Role)+" "+*m.Parts[0].Text)
		}
		if !slices.Equal(have, want.list) {
			t.Fatalf("effective %q, want %q", have, want.list)
		}
	}
	if want.flow == "continue" && want.end != "" && want.end != "stop" {
		want.flow = "none"
	}
	if string(got.Flow) != want.flow || !slices.Equal(got.Instructions, want.instructions) || !slices.Equal(got.Messages, want.messages) {
		t.Fatalf("%s %q %q, want %s %q %q", got.Flow, got.Instructions, got.Messages, want.flow, want.instructions, want.messages)
	}
	var injected []string
	for _, i := range got.Injections {
		injected = append(injected, i.Messages[0].ID)
	}
	if !slices.Equal(injected, want.injected) {
		t.Fatalf("injected %q, want %q", injected, want.injected)
	}
	candidate := want.candidate
	if got.State == settle.Ask {
		if got.Candidate != nil {
			t.Fatal("a candidate before its approval")
		}
		if got = got.Approve(got.Operation); got.State != map[bool]settle.State{true: settle.Supplied, false: settle.Proceed}[candidate != ""] {
			t.Fatalf("approved: %s", got.State)
		}
	}
	if (got.Candidate == nil) != (candidate == "") || got.Candidate != nil && string(got.Candidate.JSON) != candidate {
		t.Fatalf("candidate %+v, want %q", got.Candidate, candidate)
	}
	if !got.Synthetic && (got.State == settle.Denied || got.State == settle.Stopped) && got.Reason != settle.OneLine(want.reason) {
		t.Fatalf("reason %q, want %q", got.Reason, want.reason)
	}

	got.Hops = hops
	r := got.Record(ev, recordID, began, time.Second, settle.Identity(ev), settle.Details{})
	line := r.MarshalAppend(nil)
	validate(t, recordSchema(), line)
	type plain settle.Record // the tags describe the same form as the code
	tagged, err := stdjson.Marshal((*plain)(&r))
	if err != nil {
		t.Fatal(err)
	}
	var byHand, byTags map[string]any
	if stdjson.Unmarshal(line, &byHand) != nil || stdjson.Unmarshal(tagged, &byTags) != nil {
		t.Fatalf("not JSON: %s %s", line, tagged)
	}
	if byTags["hops"] == nil {
		byTags["hops"] = []any{}
	}
	if !reflect.DeepEqual(byHand, byTags) {
		t.Fatalf("by hand %s\nby tags %s", line, tagged)
	}
	back, err := settle.ParseRecord(line)
	if err != nil || string(back.MarshalAppend(nil)) != string(line) {
		t.Fatalf("%v: %s", err, line)
	}
}
