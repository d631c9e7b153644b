package settle_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

func TestZeroBoundaryRefuses(t *testing.T) {
	var b settle.Boundary
	if !b.Done() || b.Event() != nil {
		t.Error("the zero boundary would go on")
	}
	if s := b.State(); s.Permission != ahp.PermissionDeny {
		t.Errorf("%+v", s)
	}
	for _, b := range []settle.Boundary{b, b.Refuse("", ""), b.Interrupt(""), accept2(b)} {
		s := b.Settlement()
		if s.Proceeds() || !s.Synthetic || s.Class != ahp.FailInternal || s.Reason != ahp.GenericDenial || s.Event != nil {
			t.Errorf("%+v", s)
		}
	}
}

func accept2(b settle.Boundary) settle.Boundary { b, _ = say(b, &ahp.Allow{}); return b }

// Every pair of deny, ask, allow and return in both orders, in one response and over
// two, with each permission that the chain may have before (section 33 of the contract).
func TestPermissionPairs(t *testing.T) {
	effects := map[string]ahp.Effect{"deny": no("x"), "ask": &ahp.Ask{}, "allow": &ahp.Allow{}, "return": supply(`1`)}
	rank := map[string]int{"deny": 3, "ask": 2, "allow": 1}
	perms := []ahp.Permission{ahp.PermissionNone, ahp.PermissionAllow, ahp.PermissionAsk, ahp.PermissionDeny}
	cases := 0
	for before, first := range map[int][]ahp.Effect{0: {}, 1: {&ahp.Allow{}}, 2: {&ahp.Ask{}}} {
		for x, ex := range effects {
			for y, ey := range effects {
				cases++
				perm := perms[max(before, rank[x], rank[y])]
				want := settle.Proceed
				switch {
				case perm == ahp.PermissionDeny:
					want = settle.Denied
				case perm == ahp.PermissionAsk:
					want = settle.Ask
				case x == "return" || y == "return":
					want = settle.Supplied
				}
				b, _ := say(opened(ahp.ToolBefore), first...)
				if b.State().Permission != perms[before] {
					t.Fatalf("the request says %s", b.State().Permission)
				}
				one := accept(t, b, ex, ey)
				state(t, one, want, perm)
				two := accept(t, b, ex)
				if !two.Done() {
					two = accept(t, two, ey)
				}
				state(t, two, want, perm)
				if one.Done() != (want == settle.Denied) || two.Done() != one.Done() {
					t.Errorf("%s, %s: done %v", x, y, one.Done())
				}
			}
		}
	}
	if cases != 48 {
		t.Errorf("%d cases", cases)
	}
}

// Many goroutines build on one boundary: none sees what another accepted.
func TestBoundariesShareNothing(t *testing.T) {
	b := accept(t, opened(ahp.ToolBefore), merge(`{"n":2}`))
	for i := range 3 { // lists with room behind their end
		b = accept(t, b, tell("base"), inject(ahp.DeliverNow, message("base-"+strconv.Itoa(i), ahp.RoleUser, "x")))
	}
	before := b.Settlement()
	var wg sync.WaitGroup
	for i := range 32 {
		wg.Go(func() {
			id := fmt.Sprintf("m-%d", i+1)
			next, _ := say(b, tell(id), inject(ahp.DeliverNow, message(id, ahp.RoleUser, id)), merge(`{"id":"`+id+`"}`), supply(`"`+id+`"`))
			s := next.Settlement()
			if s.Messages[3] != id || s.Injections[3].Messages[0].ID != id || !strings.Contains(string(s.Event.Tool.Input), `"`+id+`"`) || string(s.Candidate.JSON) != `"`+id+`"` {
				t.Errorf("%s: %+v", id, s)
			}
			next.State()
		})
	}
	wg.Wait()
	if !reflect.DeepEqual(before, b.Settlement()) {
		t.Error("the base changed")
	}
	// The host's list may have room behind its end, and a backend's too.
	ev := boundary(ahp.ToolAfter)
	ev.Messages = append(make([]ahp.Message, 0, 8), ev.Messages...)
	h := settle.Open(ev, everything(ahp.ToolAfter, 0), settle.BoundaryOptions{})
	first := accept(t, h, list(ahp.TargetOutput, ahp.OpMerge, message("first", ahp.RoleTool, "x")))
	accept(t, h, list(ahp.TargetOutput, ahp.OpMerge, message("next", ahp.RoleTool, "x")))
	if got := ids(first.Event().Messages); got != "m-1 m-2 first" || ev.Messages[:3][2].ID != "" {
		t.Error(got)
	}
	room := append(make([]ahp.Message, 0, 8), message("m-5", ahp.RoleTool, "x"))
	l := accept(t, opened(ahp.ToolAfter), list(ahp.TargetOutput, ahp.OpReplace, room...))
	one := accept(t, l, list(ahp.TargetOutput, ahp.OpMerge, message("one", ahp.RoleTool, "x")))
	two := accept(t, l, list(ahp.TargetOutput, ahp.OpReplace, room...), list(ahp.TargetOutput, ahp.OpMerge, message("two", ahp.RoleTool, "x")))
	if got := ids(one.Event().Messages) + ", " + ids(two.Event().Messages) + ", " + room[:2][1].ID; got != "m-5 one, m-5 two, " {
		t.Error(got)
	}
}

// What did not change is the same memory, and nothing else of an event is touched.
func TestEffectiveEventShares(t *testing.T) {
	for at := range interceptable() {
		ev := boundary(at)
		b := settle.Open(ev, everything(at, 1), settle.BoundaryOptions{})
		if b.Event() != ev || accept(t, b, tell("x")).Event() != ev {
			t.Errorf("%s: an event without a change was copied", at)
		}
	}
	ev := boundary(ahp.ToolBefore)
	next := accept(t, settle.Open(ev, everything(ahp.ToolBefore, 1), settle.BoundaryOptions{}), merge(`{"n":2}`)).Event()
	want := *ev
	want.Tool = new(*ev.Tool)
	want.Tool.Input = ahp.Raw(`{"a":{"x":1,"y":2},"n":2}`)
	if !reflect.DeepEqual(*next, want) || string(ev.Tool.Input) != `{"a":{"x":1,"y":2},"n":1}` {
		t.Errorf("%+v", next)
	}
}

func TestDraftRecordGolden(t *testing.T) {
	policy := func(p ahp.FailurePolicy, f *ahp.Failure, effects ...ahp.Effect) settle.Step {
		return settle.Step{Backend: guard, Policy: p, Failure: f, Effects: effects}
	}
	for _, tt := range []struct {
		name    string
		steps   []settle.Step
		end     func(settle.Boundary) settle.Boundary
		approve bool
	}{
		{name: "ask", steps: []settle.Step{policy(ahp.FailClosed, nil, merge(`{"n":"MARKER"}`), &ahp.Ask{}, tell("MARKER"))}},
		{name: "approved", steps: []settle.Step{policy(ahp.FailClosed, nil, &ahp.Ask{})}, approve: true},
		{name: "supplied", steps: []settle.Step{
			policy(ahp.FailOpen, nil, supply(`"MARKER"`), nil), policy(ahp.FailClosed, nil, supply(`"MARKER"`), inject(ahp.DeliverNow, message("m-9", ahp.RoleUser, "MARKER"))),
		}},
		{name: "stopped", steps: []settle.Step{policy(ahp.FailClosed, nil, &ahp.Allow{}), policy(ahp.FailOpen, nil, stop("Wait.\nThe owner \u202ecomes."))}},
		{name: "denials", steps: []settle.Step{policy(ahp.FailOpen, nil, &ahp.Deny{Reason: "one", Code: "net.acme.one"}, &ahp.Allow{}, stop("x"), &ahp.Deny{Reason: "two"})}},
		{name: "interrupted", steps: []settle.Step{policy(ahp.FailClosed, nil, &ahp.Allow{})}, end: func(b settle.Boundary) settle.Boundary { return b.Interrupt(ahp.FailDeadline) }},
		{name: "rejected", steps: []settle.Step{policy(ahp.FailClosed, nil, merge(`{"n":2}`)), policy(ahp.FailClosed, nil, tell("MARKER"), nil)}},
		{name: "auth", steps: []settle.Step{policy(ahp.FailOpen, &ahp.Failure{Class: ahp.FailAuth, Code: 401})}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := boundary(ahp.ToolBefore)
			b := settle.Open(ev, everything(ahp.ToolBefore, 0), settle.BoundaryOptions{})
			var hops []settle.Hop
			for i, s := range tt.steps {
				var v settle.Verdict
				b, v = b.Apply(s)
				h := settle.Hop{Backend: s.Backend, Mode: ahp.ModeIntercept, StartNs: int64(i), TookNs: 7, Attempts: 1}
				v.Into(&h)
				hops = append(hops, h)
			}
			if tt.end != nil {
				b = tt.end(b)
			}
			s := b.Settlement()
			if tt.approve {
				s = s.Approve(s.Operation)
			}
			s.Hops = hops
			r := s.Record(ev, recordID, began, 1500*time.Microsecond, settle.Identity(ev), settle.Details{})
			got := string(r.MarshalAppend(nil)) + "\n"
			path := filepath.Join("testdata", "record-draft-"+tt.name+".json")
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("got  %swant %s", got, want)
			}
			validate(t, schema(t), []byte(got))
			if strings.Contains(got, "MARKER") {
				t.Error("payload is in the record")
			}
		})
	}
}

func TestDraftRecordIsBounded(t *testing.T) {
	big := strings.Repeat("ä", 10_000)
	var effects []ahp.Effect
	for range 1000 {
		effects = append(effects, &ahp.Deny{Reason: big, Code: "a." + strings.Repeat("b", 10_000)}, tell(big), &ahp.Ask{})
	}
	b, v := say(opened(ahp.ToolBefore), effects...)
	if len(v.Effects) != settle.MaxNames {
		t.Errorf("%d names", len(v.Effects))
	}
	s := b.Settlement()
	s.Hops = make([]settle.Hop, 1)
	v.Into(&s.Hops[0])
	s.Hops[0].Mode = ahp.ModeIntercept
	r := record(&s)
	line := r.MarshalAppend(nil)
	validate(t, schema(t), line)
	if len(r.Denials) != settle.MaxDenials || r.Messages != 1000 || len(line) > settle.MaxReasonBytes+settle.MaxDenials*(settle.MaxLineBytes+settle.MaxNameBytes+32)+settle.MaxNames*16+4096 {
		t.Errorf("%d denials, %d messages, %d bytes", len(r.Denials), r.Messages, len(line))
	}
}

// An object with many members is merged in time that grows with its size.
func TestManyMembers(t *testing.T) {
	var base, value strings.Builder
	const n = 20_000
	for i := range n {
		fmt.Fprintf(&base, `,"k%d":%d`, i, i)
		fmt.Fprintf(&value, `,"k%d":%d`, n/2+i, i)
	}
	ev := boundary(ahp.ToolBefore)
	ev.Tool.Input = ahp.Raw("{" + base.String()[1:] + "}")
	b := accept(t, settle.Open(ev, everything(ahp.ToolBefore, 0), settle.BoundaryOptions{}), merge("{"+value.String()[1:]+"}"))
	got := decode(input(b))
	if len(got) != n+n/2 || got["k0"] != decode(`{"v":0}`)["v"] || fmt.Sprint(got[fmt.Sprintf("k%d", n/2)]) != "0" {
		t.Errorf("%d members", len(got))
	}
	// The same members the other way round are the same value.
	var back strings.Builder
	for i := n - 1; i >= 0; i-- {
		fmt.Fprintf(&back, `,"k%d":%d.0`, i, i)
	}
	b = settle.Open(ev, everything(ahp.ToolBefore, 0), settle.BoundaryOptions{})
	if same := accept(t, b, replace("{"+back.String()[1:]+"}")); same.Event() != ev {
		t.Error("an equal value counts as changed")
	}
	// Nor do many parts and many replacements make it a matter of squares.
	ev = boundary(ahp.TurnStart)
	var ps []ahp.Part
	for i := range n {
		ps = append(ps, text("p-"+strconv.Itoa(i), "x"), picture("a-"+strconv.Itoa(i), "blob-"+strconv.Itoa(i)))
	}
	ev.Messages[0].Parts = ps
	all := make([]ahp.Effect, 200)
	for i := range all {
		all[i] = list(ahp.TargetPrompt, ahp.OpReplace)
	}
	all = append(all, list(ahp.TargetPrompt, ahp.OpReplace, ev.Messages...))
	if same := accept(t, settle.Open(ev, everything(ahp.TurnStart, 0), settle.BoundaryOptions{}), all...); same.Event() != ev {
		t.Error("an equal list counts as changed")
	}
}

// What is nested too deep to compare counts as changed, and an approval with it.
func TestDeepValues(t *testing.T) {
	nested := func(levels int, open string) string {
		return `{"deep":` + strings.Repeat(open, levels) + "1" + strings.Repeat("}", levels) + `}`
	}
	for levels, same := range map[int]bool{100: true, 5000: false} {
		b := accept(t, opened(ahp.ToolBefore), merge(nested(levels, `{"a":`)), &ahp.Allow{})
		state(t, accept(t, b, merge(nested(levels, `{"a":`))), settle.Proceed, ahp.PermissionAllow)
		want := ahp.PermissionNone
		if same {
			want = ahp.PermissionAllow
		}
		state(t, accept(t, b, merge(nested(levels, `{ "a":`))), settle.Proceed, want)
	}
	reject(t, opened(ahp.ToolBefore), merge(nested(20_000, `{"a":`)))
}
