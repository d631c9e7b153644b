package settle_test

import (
	stdjson "encoding/json"
	"fmt"
	"maps"
	"math/big"
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

// The reference is a second reading of the contract, written as a fold over plain maps
// and lists. It is slow, copies everything, and shares no code with the package.

// A place is what the contract says of one boundary (AHP draft sections 7.1, 9 and 14).
type place struct {
	effects string // beside message, which stands everywhere
	target  ahp.Target
	form    string   // of the target: object, messages, parts
	role    ahp.Role // of its messages
	names   []string // of its members, with values that they may have
	values  []string
	returns string // form of a supplied result: json, messages, parts, answer
}

var anyName = []string{"a", "b", "c", "d"}

var places = map[ahp.EventType]place{
	ahp.SessionStart:          {effects: "inject"},
	ahp.TurnStart:             {effects: "deny modify stop inject", target: ahp.TargetPrompt, form: "messages", role: ahp.RoleUser},
	ahp.TurnFinishBefore:      {effects: "modify stop continue", target: ahp.TargetResponse, form: "messages", role: ahp.RoleAssistant},
	ahp.ModelRequestBefore:    {effects: "deny modify return stop inject", target: ahp.TargetRequest, form: "messages", role: ahp.RoleUser, returns: "messages"},
	ahp.ModelResponseAfter:    {effects: "modify stop", target: ahp.TargetResponse, form: "messages", role: ahp.RoleAssistant},
	ahp.ModelSwitchBefore:     {effects: "deny stop"},
	ahp.ToolBefore:            {effects: "deny allow ask modify return stop inject", target: ahp.TargetInput, form: "object", names: anyName, values: values, returns: "json"},
	ahp.ToolPermissionRequest: {effects: "deny allow modify stop", target: ahp.TargetInput, form: "object", names: anyName, values: values},
	ahp.ToolAfter:             {effects: "modify stop continue inject", target: ahp.TargetOutput, form: "messages", role: ahp.RoleTool},
	ahp.ToolBatchAfter:        {effects: "stop inject"},
	ahp.CompactBefore:         {effects: "deny modify return inject", target: ahp.TargetInstructions, form: "parts", returns: "parts"},
	ahp.CompactAfter:          {effects: "modify inject", target: ahp.TargetSummary, form: "parts"},
	ahp.ConfigChangeBefore:    {effects: "deny"},
	ahp.TaskChangeBefore:      {effects: "deny"},
	ahp.WorkspaceChangeBefore: {effects: "deny modify", target: ahp.TargetWorkspace, form: "object", names: []string{"workspaceRoots"}, values: []string{`["/srv"]`, `[]`, `["/a","/b"]`, `["\u002fa"]`}},
	ahp.ElicitationRequest:    {effects: "deny return", returns: "answer"},
	ahp.ElicitationResult:     {effects: "modify", target: ahp.TargetContent, form: "object", names: []string{"day", "n", "c"}, values: []string{`1`, `1.0`, `2`, `"x"`, `"\u0078"`, `true`, `["k"]`, `9007199254740993`}},
	ahp.MessageInbound:        {effects: "deny modify", target: ahp.TargetPrompt, form: "messages", role: ahp.RoleUser},
	ahp.MessageOutbound:       {effects: "deny modify", target: ahp.TargetContent, form: "messages", role: ahp.RoleAssistant},
}

func (p place) offers(effect string) bool { return slices.Contains(strings.Fields(p.effects), effect) }

// effective is the target as the reference keeps it: an object, or a line for each
// entry.
func (p place) effective(ev *ahp.Event) (object map[string]any, list []string) {
	switch p.form {
	case "messages":
		return nil, lines(ev.Messages)
	case "parts":
		switch b := ev.Body.(type) {
		case *ahp.CompactBeforeBody:
			return nil, partLines(b.Instructions)
		case *ahp.CompactAfterBody:
			return nil, partLines(b.Summary)
		default:
			return nil, nil
		}
	case "object":
		switch b := ev.Body.(type) {
		case *ahp.WorkspaceChangeBody:
			object = map[string]any{}
			if b.Change.CWD != "" {
				object["cwd"] = b.Change.CWD
			}
			if b.Change.WorkspaceRoots != nil {
				object["workspaceRoots"] = decode(encode(map[string]any{"v": b.Change.WorkspaceRoots}))["v"]
			}
			return object, nil
		case *ahp.ElicitationBody:
			object, _ = decode(*b.Content.Text)["content"].(map[string]any)
			return object, nil
		default:
			return decode(string(ev.Tool.Input)), nil
		}
	}
	return nil, nil
}

func lines(ms []ahp.Message) (all []string) {
	for _, m := range ms {
		all = append(all, m.ID+" "+string(m.Role)+" "+*m.Parts[0].Text)
	}
	return all
}

func partLines(ps []ahp.Part) (all []string) {
	for _, p := range ps {
		all = append(all, p.ID+" "+*p.Text)
	}
	return all
}

// spelled is a supplied result as the reference keeps it.
func spelled(v *ahp.Value) string {
	switch {
	case v == nil:
		return ""
	case v.Messages != nil:
		return strings.Join(lines(v.Messages), "\n")
	case v.Parts != nil:
		return strings.Join(partLines(v.Parts), "\n")
	}
	return string(v.JSON)
}

type refState struct {
	object       map[string]any
	list, origin []string // a line for each entry, now; the event's messages at first
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
	whole(m)
	return m
}

// whole gives whole numbers in v one spelling, since they are compared as values
// (D-APP-7).
func whole(v any) any {
	switch v := v.(type) {
	case stdjson.Number:
		if r, ok := new(big.Rat).SetString(string(v)); ok && r.IsInt() {
			return stdjson.Number(r.Num().String())
		}
	case map[string]any:
		for k := range v {
			v[k] = whole(v[k])
		}
	case []any:
		for i := range v {
			v[i] = whole(v[i])
		}
	}
	return v
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

var values = []string{`1`, `1`, `1.0`, `10e-1`, `2`, `"x"`, `null`, `{"k":1}`, `{"k":[1,2]}`, `[]`, `[{}]`, `9007199254740993`, `9007199254740992`, `1.5`}

func genItem(t *rapid.T, at ahp.EventType, withInject bool) item {
	p := places[at]
	kinds := []string{"message", "bad"}
	for effect := range strings.FieldsSeq(p.effects) {
		switch effect {
		case "modify":
			kinds = append(kinds, "merge", "merge", "merge", "replace")
		case "inject":
			if withInject {
				kinds = append(kinds, "inject", "inject")
			}
		case "deny", "ask", "stop":
			kinds = append(kinds, effect)
		default:
			kinds = append(kinds, effect, effect)
		}
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
		r := supply(rapid.SampledFrom(values).Draw(t, "value"))
		switch s := word.Draw(t, "text"); p.returns {
		case "messages":
			r.Value = ahp.Value{Messages: []ahp.Message{message("m-6", ahp.RoleAssistant, s)}}
		case "parts":
			r.Value = ahp.Value{Parts: []ahp.Part{text("p-6", s)}}
		case "answer":
			r = supply(rapid.SampledFrom([]string{`{"action":"decline"}`, `{"action":"cancel"}`}).Draw(t, "answer"))
		}
		it.text, it.effect = spelled(&r.Value), r
	case "inject":
		it.text = rapid.SampledFrom([]string{"m-1", "m-7", "m-8", "m-9"}).Draw(t, "id")
		it.effect = inject(ahp.DeliverNow, message(it.text, ahp.RoleUser, "x"))
	case "merge", "replace":
		switch p.form {
		case "object":
			it.object, it.effect = genObject(t, p, ahp.Operation(it.kind))
		case "messages":
			var ms []ahp.Message
			for range rapid.IntRange(0, 2).Draw(t, "messages") {
				ms = append(ms, message(rapid.SampledFrom([]string{"m-1", "m-2", "m-5"}).Draw(t, "id"), p.role,
					rapid.SampledFrom([]string{"one", "two", "x"}).Draw(t, "text")))
			}
			it.list, it.effect = lines(ms), list(p.target, ahp.Operation(it.kind), ms...)
		case "parts":
			var ps []ahp.Part
			for range rapid.IntRange(0, 2).Draw(t, "parts") {
				ps = append(ps, text(rapid.SampledFrom([]string{"i-1", "s-1", "p-5"}).Draw(t, "id"),
					rapid.SampledFrom([]string{"keep names", "a summary", "x"}).Draw(t, "text")))
			}
			it.list, it.effect = partLines(ps), parts(p.target, ahp.Operation(it.kind), ps...)
		}
	case "bad":
		it.effect = rapid.SampledFrom(bad(at)).Draw(t, "effect")
	}
	return it
}

// genObject draws an object for a target, with the spellings that mean the same.
func genObject(t *rapid.T, p place, op ahp.Operation) (map[string]any, ahp.Effect) {
	o := map[string]any{}
	least := 0
	if op == ahp.OpReplace && p.target == ahp.TargetWorkspace {
		least = 1 // a workspace without a member is none
	}
	var b strings.Builder
	for _, k := range rapid.SliceOfNDistinct(rapid.SampledFrom(p.names), least, min(3, len(p.names)), rapid.ID[string]).Draw(t, "names") {
		v := rapid.SampledFrom(p.values).Draw(t, "value")
		o[k] = decode(`{"v":` + v + `}`)["v"]
		name := rapid.SampledFrom([]string{`"` + k + `"`, fmt.Sprintf(`"\u%04x%s"`, k[0], k[1:])}).Draw(t, "spelling")
		if b.Len() > 0 {
			b.WriteString(rapid.SampledFrom([]string{",", " ,\n"}).Draw(t, "comma"))
		}
		b.WriteString(name + rapid.SampledFrom([]string{":", " : "}).Draw(t, "colon") + v)
	}
	return o, object(p.target, op, "{"+b.String()+"}")
}

// bad lists effects that no response at a boundary may hold: what has no place there,
// and what is wrong everywhere.
func bad(at ahp.EventType) []ahp.Effect {
	p := places[at]
	all := []ahp.Effect{
		nil, (*ahp.Ask)(nil), &ahp.Deny{}, merge(`[]`), merge(`{"a":1,"a":2}`), &ahp.Return{}, stop(""),
		&ahp.Inject{}, object(ahp.TargetInput, "append", `{}`), list(ahp.TargetWorkspace, ahp.OpMerge),
		list(ahp.TargetContent, ahp.OpMerge, message("m-5", ahp.RoleTool, "x")), // no place has tool messages as content
	}
	for effect, e := range map[string]ahp.Effect{
		"deny": no("x"), "allow": &ahp.Allow{}, "ask": &ahp.Ask{}, "stop": stop("x"), "continue": more(""),
		"inject": inject(ahp.DeliverNow, message("m-9", ahp.RoleUser, "x")), "return": supply(`{}`),
	} {
		if !p.offers(effect) {
			all = append(all, e)
		}
	}
	for _, target := range []ahp.Target{
		ahp.TargetInput, ahp.TargetOutput, ahp.TargetPrompt, ahp.TargetRequest, ahp.TargetResponse,
		ahp.TargetContent, ahp.TargetInstructions, ahp.TargetSummary, ahp.TargetWorkspace,
	} {
		if target != p.target || p.form != "object" {
			all = append(all, object(target, ahp.OpMerge, `{}`), object(target, ahp.OpReplace, `{"a":1}`))
		}
		if target != p.target || p.form != "messages" {
			all = append(all, list(target, ahp.OpMerge, message("m-5", ahp.RoleUser, "x")))
		}
		if target != p.target || p.form != "parts" {
			all = append(all, parts(target, ahp.OpReplace, text("p-5", "x")))
		}
	}
	return all
}

func TestDraftProperties(t *testing.T) {
	for _, at := range slices.Sorted(maps.Keys(places)) {
		t.Run(string(at), rapid.MakeCheck(func(t *rapid.T) { draftProperties(t, at) }))
	}
	if len(places) != len(interceptable()) {
		t.Errorf("%d places, %d events can be intercepted", len(places), len(interceptable()))
	}
}

func FuzzBoundary(f *testing.F) {
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		draftProperties(t, rapid.SampledFrom(slices.Sorted(maps.Keys(places))).Draw(t, "at"))
	}))
}

func draftProperties(t *rapid.T, at ahp.EventType) {
	left := rapid.IntRange(0, 1).Draw(t, "left")
	answers := rapid.SliceOfN(genAnswer(at, rapid.Bool().Draw(t, "inject")), 0, 6).Draw(t, "answers")
	ref := refState{perm: "none", flow: "none"}
	ev, p := boundary(at), places[at]
	if p.target == ahp.TargetInput {
		ev.Tool.Input = ahp.Raw(`{"a":1,"b":{"k":1}}`)
	}
	ref.origin = lines(ev.Messages)
	ref.object, ref.list = p.effective(ev)
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
	if object, list := p.effective(got.Event); !reflect.DeepEqual(object, want.object) || !slices.Equal(list, want.list) {
		t.Fatalf("effective %s %q, want %s %q", encode(object), list, encode(want.object), want.list)
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
	if spelled(got.Candidate) != candidate {
		t.Fatalf("candidate %q, want %q", spelled(got.Candidate), candidate)
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
