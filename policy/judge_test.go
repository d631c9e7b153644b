package policy_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
)

// call is a tool call in a repository.
func call(tool, input string) *ahp.Event {
	return &ahp.Event{
		ID: "e-1", Source: "urn:example:test", Type: ahp.ToolBefore, Time: "2026-01-01T00:00:00Z",
		Session: ahp.Session{ID: "s", CWD: "/home/dev/repo", WorkspaceRoots: []string{"/home/dev/repo"}},
		Tool:    &ahp.Tool{Name: tool, Kind: facts.KindOf(tool), CallID: "c", Input: ahp.Raw(input)},
	}
}

func parse(t testing.TB, text string) *policy.Set {
	t.Helper()
	s, err := policy.Parse("p.yaml", []byte(rules(text)), policy.Options{Engine: engine()})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func value(name, when, effect, key, expr string) string {
	return rule(name, when, effect) + "    " + key + ": '" + strings.ReplaceAll(expr, "'", "''") + "'\n"
}

var home = facts.Options{Home: "/home/dev"}

func TestJudge(t *testing.T) {
	tests := []struct {
		name, rules, tool, input string
		effect                   policy.Effect
		rule                     string
		effective                string // "" means unchanged
		names                    []string
	}{
		{
			name:  "nothing fires",
			rules: value("m", `tool.name == "Other"`, "modify", "merge", `{"a": 1}`),
			input: `{"command":"ls"}`, effect: "none",
		},
		{
			name:  "merge keeps the bytes of the rest",
			rules: value("m", `tool.name == "Bash"`, "modify", "merge", `{"timeout": 5, "z": null, "a": {"x": [1, "y", true]}}`),
			input: `{"big": 12345678901234567890, "timeout":  1e3, "command":"ls" }`, effect: "none",
			effective: `{"big":12345678901234567890,"timeout":5,"command":"ls","a":{"x":[1,"y",true]},"z":null}`, names: []string{"m"},
		},
		{
			name:  "replace",
			rules: value("m", `tool.name == "Bash"`, "modify", "replace", `{"command": tool.input.command.replace("rm", "ls")}`),
			input: `{"command":"rm x","timeout":1}`, effect: "none", effective: `{"command":"ls x"}`, names: []string{"m"},
		},
		{
			name: "changes chain in order over the effective input",
			rules: value("one", `tool.input.command == "a"`, "modify", "merge", `{"command": tool.input.command + "b"}`) +
				value("two", `tool.input.command == "a"`, "modify", "merge", `{"command": tool.input.command + "c"}`),
			input: `{"command":"a"}`, effect: "none", effective: `{"command":"abc"}`, names: []string{"one", "two"},
		},
		{
			name:  "an equal value is no change",
			rules: value("m", "true", "modify", "merge", `{"timeout": 1000}`),
			input: `{"timeout":1e3}`, effect: "none",
		},
		{
			name: "a rewrite does not slip past a denial",
			rules: rule("no-rm", `runs("rm ...")`, "deny") +
				value("m", `tool.input.command == "ls"`, "modify", "merge", `{"command": "rm -rf /"}`),
			input: `{"command":"ls"}`, effect: "deny", rule: "no-rm", names: []string{"no-rm"},
		},
		{
			name: "a denial of the input as it came holds",
			rules: value("m", "true", "modify", "merge", `{"command": "ls"}`) +
				rule("no-rm", `runs("rm ...")`, "deny"),
			input: `{"command":"rm x"}`, effect: "deny", rule: "no-rm", names: []string{"no-rm"},
		},
		{
			name: "an approval of the changed input is asked for",
			rules: rule("ask", `tool.input.command == "b"`, "ask") +
				value("m", `tool.input.command == "a"`, "modify", "merge", `{"command": "b"}`),
			input: `{"command":"a"}`, effect: "ask", rule: "ask", effective: `{"command":"b"}`, names: []string{"ask", "m"},
		},
		{
			name:  "rewrites that do not come to rest",
			rules: value("m", "true", "modify", "merge", `{"command": tool.input.command + "x"}`),
			input: `{"command":"a"}`, effect: "deny", rule: policy.RuleRewriteBound, names: []string{policy.RuleRewriteBound},
		},
		{
			name: "two rewrites that undo each other",
			rules: value("a", `tool.input.command == "a"`, "modify", "merge", `{"command": "b"}`) +
				value("b", `tool.input.command == "b"`, "modify", "merge", `{"command": "a"}`),
			input: `{"command":"a"}`, effect: "deny", rule: policy.RuleRewriteBound, names: []string{policy.RuleRewriteBound},
		},
		{
			name: "deny wins over all, whatever the order",
			rules: rule("ask", "true", "ask") + value("msg", "true", "message", "text", "hello") +
				value("m", `tool.input.command == "a"`, "modify", "merge", `{"command": "b"}`) + rule("no", "true", "deny") + rule("flag", "true", "flag"),
			input: `{"command":"a"}`, effect: "deny", rule: "no", names: []string{"no", "flag"},
		},
		{
			name: "shadow rules have no effect",
			rules: value("m", "true", "modify", "merge", `{"command": "b"}`) + "    mode: shadow\n" +
				rule("ask", "true", "ask") + "    mode: shadow\n" + value("msg", "true", "message", "text", "hello") + "    mode: shadow\n",
			input: `{"command":"a"}`, effect: "none",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := parse(t, tt.rules)
			d, f, err := s.Judge(t.Context(), call("Bash", tt.input), home)
			if err != nil {
				t.Fatal(err)
			}
			if d.Effect != tt.effect || d.Rule != tt.rule || string(d.Input) != tt.effective || !slices.Equal(d.RuleNames(), tt.names) {
				t.Errorf("got %s by %q, input %s, rules %v, want %s by %q, input %s, rules %v",
					d.Effect, d.Rule, d.Input, d.RuleNames(), tt.effect, tt.rule, tt.effective, tt.names)
			}
			if f == nil || f.Tool == nil {
				t.Error("no facts of the event as it came")
			}
			if d.Denied() && (d.Asks != nil || d.Changes != nil || d.Notices != nil || d.Input != nil) {
				t.Errorf("a denial brings more: %+v", d)
			}
		})
	}
}

// The shadow rules of a policy are in the decision, with the effect that they
// would have had.
func TestShadowEffects(t *testing.T) {
	s := parse(t, value("m", "true", "modify", "merge", `{"command": "b"}`)+"    mode: shadow\n"+rule("ask", "true", "ask")+"    mode: shadow\n")
	d, _, err := s.Judge(t.Context(), call("Bash", `{"command":"a"}`), home)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range d.Shadow {
		got = append(got, f.Rule+" "+string(f.Effect))
	}
	if want := []string{"m modify", "ask ask"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A value that cannot be made is a failure, never "no change".
func TestValueFailures(t *testing.T) {
	deep := strings.Repeat("[", 70) + "1" + strings.Repeat("]", 70)
	tests := []struct{ name, rule, input string }{
		{"a member that is not there", value("m", "true", "modify", "merge", `{"a": tool.input.nope}`), `{}`},
		{"no object", value("m", "true", "modify", "replace", `tool.input.command`), `{"command":"a"}`},
		{"a number that was rounded", value("m", "true", "modify", "replace", `{"n": tool.input.n}`), `{"n":9007199254740993}`},
		{"an integer beyond 2^53", value("m", "true", "modify", "merge", `{"n": 9007199254740993}`), `{}`},
		{"no number", value("m", "true", "modify", "merge", `{"n": 0.0 / 0.0}`), `{}`},
		{"a fact", value("m", "true", "modify", "merge", `{"n": session}`), `{}`},
		{"a list of facts", value("m", "true", "modify", "merge", `{"n": hazards}`), `{}`},
		{"bytes", value("m", "true", "modify", "merge", `{"n": b"abc"}`), `{}`},
		{"too deep", value("m", "true", "modify", "merge", `{"n": tool.input.d}`), `{"d":` + deep + `}`},
		{"too large", value("m", "true", "modify", "merge", `{"n": tool.input.d + tool.input.d}`), `{"d":"` + strings.Repeat("x", 600_000) + `"}`},
		{"a text that is none", value("m", "true", "message", "textFrom", `tool.input.n`), `{"n":1}`},
		{"a key that is no text", value("m", "true", "modify", "merge", `tool.input.n == 1 ? {dyn(1): 2} : {dyn("a"): 2}`), `{"n":1}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, _, err := parse(t, tt.rule).Judge(t.Context(), call("Tool", tt.input), home)
			ee, ok := errors.AsType[*policy.EvalError](err)
			if !ok || ee.Rule != "m" {
				t.Fatalf("got %v, want a failure of rule m", err)
			}
			if !d.Denied() {
				t.Error("the decision beside a failure does not refuse")
			}
			// A denial holds beside it, in either order.
			for _, text := range []string{tt.rule + rule("no", "true", "deny"), rule("no", "true", "deny") + tt.rule} {
				d, _, err := parse(t, text).Judge(t.Context(), call("Tool", tt.input), home)
				if err != nil || d.Rule != "no" {
					t.Errorf("with a denial: got %v, %v", d.Rule, err)
				}
			}
		})
	}
}

// Facts alone cannot be judged again, so Decide never gives a change.
func TestDecideRefusesChanges(t *testing.T) {
	d, err := parse(t, value("m", "true", "modify", "merge", `{"a": 1}`)).Decide(t.Context(), pushFacts())
	if !errors.Is(err, policy.ErrRewritten) || !d.Denied() {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestNotices(t *testing.T) {
	s := parse(t, value("say", "true", "message", "text", "Two\x20words.")+
		value("from", "true", "message", "textFrom", `"Runs " + tool.input.command`)+
		value("empty", "true", "message", "textFrom", `""`)+
		value("tell", "true", "inject", "textFrom", `"one\n  two " + tool.input.command`)+"    deliverAt: next_turn\n"+
		value("now", "true", "inject", "text", "at once")+"    deliverAt: now\n"+
		value("long", "true", "inject", "textFrom", `tool.input.long`)+"    deliverAt: now\n")
	in, err := json.Marshal(map[string]any{"command": "a\x1b[1m\u202e\nb", "long": strings.Repeat("ä", policy.MaxInjectionBytes)})
	if err != nil {
		t.Fatal(err)
	}
	d, _, err := s.Judge(t.Context(), call("Tool", string(in)), home)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range d.Notices[:4] {
		got = append(got, fmt.Sprintf("%s %s %s %q", n.Rule, n.Effect, n.DeliverAt, n.Text))
	}
	want := []string{
		`say message  "Two words."`,
		`from message  "Runs a\\u001b[1m\\u202e b"`,
		`tell inject next_turn "one\n  two a\\u001b[1m\\u202e\nb"`,
		`now inject now "at once"`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := d.Notices[4]; len(n.Text) > policy.MaxInjectionBytes || !strings.HasSuffix(n.Text, "ä…") {
		t.Errorf("a long text has %d bytes and ends in %q", len(n.Text), n.Text[len(n.Text)-8:])
	}
}

// names lists effects in the order of the response.
func names(effects []ahp.Effect) []string {
	var out []string
	for _, e := range effects {
		s := string(e.Type())
		switch e := e.(type) {
		case *ahp.Deny:
			s += " " + e.Code
		case *ahp.Modify:
			s += " " + string(e.Operation) + " " + string(e.Value.JSON)
		case *ahp.Inject:
			s += " " + string(e.DeliverAt) + " " + string(e.Messages[0].Role)
		case *ahp.Allow, *ahp.Ask, *ahp.Return, *ahp.Notify, *ahp.Stop, *ahp.Continue:
		}
		out = append(out, s)
	}
	return out
}

func TestEffectsFor(t *testing.T) {
	var (
		ask     = rule("ask", "true", "ask")
		merge   = value("merge", "true", "modify", "merge", `{"a": 1}`)
		replace = value("replace", "true", "modify", "replace", `{"b": 1}`)
		message = value("message", "true", "message", "text", "hi")
		inject  = value("inject", "true", "inject", "text", "hi") + "    deliverAt: next_turn\n"
		deny    = rule("deny", "true", "deny")
	)
	all := ahp.Bounds(ahp.ToolBefore)
	only := func(ops ...ahp.ModifyCapability) ahp.Capabilities {
		return ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectDeny, ahp.EffectModify}, Modify: ops}
	}
	tests := []struct {
		name, rules string
		at          ahp.EventType
		caps        ahp.Capabilities
		want        []string
		left        []string
		err         error
	}{
		{"deny", deny, ahp.ToolBefore, all, []string{"deny dev.holdpoint.denied"}, nil, nil},
		{"everything", merge + ask + message + inject, ahp.ToolBefore, all, []string{`modify merge {"a":1}`, "ask", "message", "inject next_turn developer"}, nil, nil},
		{"0.1 asks", ask, ahp.ToolBefore, ahp.DenyOnly(), []string{"deny " + policy.CodeCannotAsk}, nil, nil},
		{"0.1 changes", merge, ahp.ToolBefore, ahp.DenyOnly(), []string{"deny " + policy.CodeCannotChange}, nil, nil},
		{"0.1 sends", message + inject, ahp.ToolBefore, ahp.DenyOnly(), nil, []string{"message", "inject"}, nil},
		{"merge where merge is offered", merge, ahp.ToolBefore, only(ahp.ModifyCapability{Target: "input", Merge: true}), []string{`modify merge {"a":1}`}, nil, nil},
		{"merge where replace is offered", merge, ahp.ToolBefore, only(ahp.ModifyCapability{Target: "input", Replace: true}), []string{`modify replace {"c":0,"a":1}`}, nil, nil},
		{"replace where merge is offered", replace, ahp.ToolBefore, only(ahp.ModifyCapability{Target: "input", Merge: true}), []string{"deny " + policy.CodeCannotChange}, nil, nil},
		{"another target", merge, ahp.ToolBefore, only(ahp.ModifyCapability{Target: "output", Merge: true}), []string{"deny " + policy.CodeCannotChange}, nil, nil},
		{"another delivery", inject, ahp.ToolBefore, ahp.Capabilities{Effects: []ahp.EffectType{"deny", "inject"}, Inject: []ahp.Delivery{"now"}}, nil, []string{"inject"}, nil},
		{"deny is not offered", deny, ahp.ToolBefore, ahp.Capabilities{Effects: []ahp.EffectType{"message"}}, nil, nil, policy.ErrNotOffered},
		{"nothing to refuse", deny, ahp.ToolAfter, ahp.Bounds(ahp.ToolAfter), nil, []string{"deny"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d, _, err := parse(t, tt.rules).Judge(t.Context(), call("Tool", `{"c":0}`), home)
			if err != nil {
				t.Fatal(err)
			}
			got, left, err := d.EffectsFor(tt.at, "e-1", tt.caps)
			if !slices.Equal(names(got), tt.want) || !slices.Equal(left, tt.left) || !errors.Is(err, tt.err) {
				t.Errorf("got %q, left %q, %v, want %q, left %q, %v", names(got), left, err, tt.want, tt.left, tt.err)
			}
		})
	}
}

// Whatever is offered: no effect is returned that is not, and what the policy does
// not let run as it is never comes back without a denial, an approval or its change.
func TestEffectsForProperty(t *testing.T) {
	sets := []*policy.Set{}
	for _, text := range []string{
		rule("x", "true", "deny"), rule("x", "true", "ask"), value("x", "true", "modify", "merge", `{"a": 1}`),
		value("x", "true", "modify", "replace", `{"b": 1}`) + rule("y", "true", "ask"),
		value("x", "true", "message", "text", "hi") + value("y", "true", "inject", "text", "hi") + "    deliverAt: now\n",
	} {
		sets = append(sets, parse(t, text))
	}
	var decisions []policy.Decision
	for _, s := range sets {
		d, _, err := s.Judge(t.Context(), call("Tool", `{"c":0}`), home)
		if err != nil {
			t.Fatal(err)
		}
		decisions = append(decisions, d)
	}
	rapid.Check(t, func(t *rapid.T) {
		d := decisions[rapid.IntRange(0, len(decisions)-1).Draw(t, "decision")]
		c := ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectDeny}}
		for _, e := range []ahp.EffectType{ahp.EffectAsk, ahp.EffectModify, ahp.EffectMessage, ahp.EffectInject} {
			if rapid.Bool().Draw(t, string(e)) {
				c.Effects = append(c.Effects, e)
			}
		}
		if c.Allows(ahp.EffectModify) {
			r, m := rapid.Bool().Draw(t, "replace"), rapid.Bool().Draw(t, "merge")
			c.Modify = []ahp.ModifyCapability{{Target: ahp.TargetInput, Replace: r, Merge: m || !r}}
		}
		if c.Allows(ahp.EffectInject) {
			c.Inject = rapid.SampledFrom([][]ahp.Delivery{{"now"}, {"next_turn"}, {"now", "next_turn"}}).Draw(t, "deliver")
		}
		effects, _, err := d.EffectsFor(ahp.ToolBefore, "e", c)
		if err != nil {
			t.Fatal(err)
		}
		has := map[ahp.EffectType]bool{}
		for _, e := range effects {
			has[e.Type()] = true
			switch e := e.(type) {
			case *ahp.Modify:
				if !c.AllowsModify(e.Target, e.Operation) {
					t.Fatalf("%s of %s is not offered", e.Operation, e.Target)
				}
			case *ahp.Inject:
				if !c.AllowsInject(e.DeliverAt) {
					t.Fatalf("injection %s is not offered", e.DeliverAt)
				}
			default:
				if !c.Allows(e.Type()) {
					t.Fatalf("%s is not offered", e.Type())
				}
			}
		}
		if d.Denied() && !has[ahp.EffectDeny] || d.Effect == policy.EffectAsk && !has[ahp.EffectAsk] && !has[ahp.EffectDeny] ||
			len(d.Changes) > 0 && !has[ahp.EffectModify] && !has[ahp.EffectDeny] {
			t.Fatalf("decision %s with %d changes came out as %v", d.Effect, len(d.Changes), names(effects))
		}
	})
}

// A merge of the encoded change gives the effective input, so that whoever applies
// the effects gets what was judged.
func TestChangesMakeTheEffectiveInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		member := rapid.SampledFrom([]string{"a", "b", "c", "d"})
		input := rapid.MapOfN(member, rapid.IntRange(0, 3), 0, 4).Draw(t, "input")
		merge := rapid.MapOfN(member, rapid.IntRange(0, 3), 0, 4).Draw(t, "merge")
		want := map[string]any{}
		raw, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		var parts []string
		for k, v := range input {
			want[k] = float64(v)
		}
		for k, v := range merge {
			parts = append(parts, fmt.Sprintf("%q: %d", k, v))
			want[k] = float64(v)
		}
		s, err := policy.Parse("p.yaml", []byte(rules(value("m", "true", "modify", "merge", "{"+strings.Join(parts, ", ")+"}"))), policy.Options{Engine: engine()})
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := s.Judge(t.Context(), call("Tool", string(raw)), home)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]any{}
		effective := d.Input
		if effective == nil {
			effective = raw
		}
		if err := json.Unmarshal(effective, &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

// A rule is for the events that it names, and for tool.before when it names none.
func TestOn(t *testing.T) {
	s := parse(t, rule("plain", "true", "deny")+rule("prompt", "true", "flag")+"    on: [turn.start]\n"+
		value("start", "true", "inject", "text", "House rules.")+"    deliverAt: now\n    on: [session.start, tool.before]\n")
	for typ, want := range map[ahp.EventType]string{
		ahp.ToolBefore: "none plain", ahp.TurnStart: "none prompt", ahp.SessionStart: "none start", ahp.ToolAfter: "none",
	} {
		ev := call("Bash", `{"command":"ls"}`)
		if ev.Type = typ; !typ.HasTool() {
			ev.Tool = nil
		}
		d, _, err := s.Judge(t.Context(), ev, home)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(append([]string{"none"}, d.RuleNames()...), " "); got != want {
			t.Errorf("%s: got %s, want %s", typ, got, want)
		}
		if got, want := s.Hears(typ), typ != ahp.ToolAfter; got != want {
			t.Errorf("hears %s: %v", typ, got)
		}
	}
}

// What is wrong with a rule's value is found when the policy is loaded.
func TestEffectProblems(t *testing.T) {
	tests := []struct{ name, rules, want string }{
		{"unknown name", value("m", "true", "modify", "merge", `{"a": tool.inptu}`), "p.yaml:7:23: undefined field 'inptu'; did you mean input?\n    merge: '{\"a\": tool.inptu}'\n                      ^"},
		{"no map", value("m", "true", "modify", "merge", `"x" + "y"`), "7:13: the value is of type string, want a map with string keys\n"},
		{"keys are numbers", value("m", "true", "modify", "replace", `{1: "x"}`), "7:15: the value is of type map(int, string), want a map with string keys\n"},
		{"no text", value("m", "true", "message", "textFrom", `size(tool.name)`), "the value is of type int, want a string"},
		{"syntax", value("m", "true", "modify", "merge", `{"a": `), "Syntax error"},
		{"hazard", value("m", "true", "modify", "merge", `{"a": hazard("git.nope")}`), "git.nope"},
		{"ask later", rule("m", "true", "ask") + "    on: [tool.after]\n", "7:9: effect ask does not exist at tool.after"},
		{"deny what has happened", rule("m", "true", "deny") + "    on: [tool.before, turn.finish.before]\n", "effect deny does not exist at turn.finish.before"},
		{"modify a prompt", value("m", "true", "modify", "merge", `{}`) + "    on: [turn.start]\n", "effect modify does not exist at turn.start"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := policy.Parse("p.yaml", []byte(rules(tt.rules)), policy.Options{Engine: engine()})
			wantErr(t, err, tt.want)
		})
	}
}

// The overlay of a project can ask, and can neither change an input nor speak.
func TestOverlayEffects(t *testing.T) {
	for effect, want := range map[string]string{
		rule("x", "true", "ask"):                                            "",
		value("x", "true", "modify", "merge", "{}"):                         "a project overlay may only tighten: its rules deny, ask or flag",
		value("x", "true", "message", "text", "hi"):                         "a project overlay may only tighten",
		value("x", "true", "inject", "text", "hi") + "    deliverAt: now\n": "a project overlay may only tighten",
	} {
		_, err := tryLoad("", policy.Options{Overlays: []string{folder(t, "o.yaml", rules(effect))}})
		if want == "" {
			if err != nil {
				t.Error(err)
			}
			continue
		}
		wantErr(t, err, want)
	}
}

// The digest names what a rule does, and is what it was for policies without.
func TestDigestOfEffects(t *testing.T) {
	seen := map[string]string{}
	for _, text := range []string{
		rule("x", "true", "ask"), value("x", "true", "modify", "merge", "{}"), value("x", "true", "modify", "replace", "{}"),
		value("x", "true", "message", "text", "a"), value("x", "true", "message", "textFrom", `"a"`), value("x", "true", "message", "text", "b"),
		value("x", "true", "inject", "text", "a") + "    deliverAt: now\n", value("x", "true", "inject", "text", "a") + "    deliverAt: next_turn\n",
		rule("x", "true", "flag"), rule("x", "true", "flag") + "    on: [tool.after]\n",
	} {
		d := parse(t, text).Digest()
		if other, ok := seen[d]; ok {
			t.Errorf("one digest for\n%sand\n%s", other, text)
		}
		seen[d] = text
	}
	const before = "sha256:"
	if d := parse(t, rule("x", "true", "deny")).Digest(); !strings.HasPrefix(d, before) {
		t.Errorf("digest %s", d)
	}
}

func TestExplainEffects(t *testing.T) {
	s := parse(t, rule("asks", "true", "ask")+value("moves", `tool.input.command == "a"`, "modify", "merge", `{"command": "b"}`)+
		value("stays", "true", "modify", "merge", `{}`)+rule("later", `tool.input.command == "b"`, "flag")+value("says", "true", "message", "text", "hi")+
		rule("elsewhere", "true", "flag")+"    on: [tool.after]\n")
	d, f, err := s.Judge(t.Context(), call("Tool", `{"command":"a"}`), home)
	if err != nil {
		t.Fatal(err)
	}
	e := s.ExplainDecision(t.Context(), f, d)
	want := []string{"asks asked", "moves modified", "stays unchanged", "later flagged for the changed input", "says sent", "elsewhere not considered is not for tool.before"}
	var got []string
	for _, r := range e.Rules {
		got = append(got, strings.TrimSpace(r.Rule+" "+r.Outcome+" "+r.Detail))
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	var out strings.Builder
	if err := e.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	if tail := "decision\n  ask by asks\n  because of asks\n  the input is changed by moves (merge of command)\n  message to the user by says\n"; !strings.HasSuffix(out.String(), tail) {
		t.Errorf("got\n%s\nwant it to end in\n%s", out.String(), tail)
	}
}

func TestCasesOfEffects(t *testing.T) {
	s := parse(t, rule("ask", `tool.name == "Push"`, "ask")+value("m", `tool.name == "Edit"`, "modify", "merge", `{"n": 2}`)+
		value("msg", `tool.name == "Edit"`, "message", "text", "changed")+value("inj", `tool.name == "Edit"`, "inject", "text", "told")+"    deliverAt: now\n")
	run := func(cases string) *policy.TestReport {
		t.Helper()
		dir := folder(t, "a_test.yaml", "version: 1\ncases:\n"+cases)
		rep, err := policy.Test(t.Context(), dir, s, home)
		if err != nil {
			t.Fatal(err)
		}
		return rep
	}
	if rep := run(`  - {name: a, tool: Push, want: ask}
  - {name: b, tool: Edit, input: {n: 1, o: x}, want: {decision: none, effects: [modify, message, inject], input: {o: x, n: 2}, messages: [changed], injections: [told], rules: [m, msg, inj]}}
  - {name: c, tool: Edit, input: {n: 2}, want: {effects: [message, inject], input: {n: 2}}}
`); !rep.OK() || rep.Passed != 3 {
		t.Errorf("%+v", rep)
	}
	rep := run("  - {name: a, tool: Edit, input: {n: 1}, want: {decision: ask, effects: [ask], input: {n: 1}, messages: [], injections: [x]}}\n")
	want := []string{
		"decision: got none, want ask", "effects: got [inject message modify], want [ask]", `input: got {"n":2}, want {"n":1}`,
		`messages: got ["changed"], want []`, `injections: got ["told"], want ["x"]`,
	}
	if rep.Failed != 1 || !slices.Equal(rep.Results[0].Diff, want) {
		t.Errorf("got %q, want %q", rep.Results[0].Diff, want)
	}
	if rep := run("  - {name: a, tool: Edit, want: {effects: [flag]}}\n  - {name: b, tool: Edit, want: {input: 1}}\n"); len(rep.Problems) != 2 {
		t.Errorf("problems: %v", rep.Problems)
	}
}

// FuzzValue looks for a value expression that the engine does not survive, that breaks
// a bound, or whose result is not at rest although the decision lets it run.
func FuzzValue(f *testing.F) {
	for _, s := range []string{
		`{"a": 1}`, `{"command": tool.input.command + "x"}`, `{"a": tool.input, "b": [tool.input]}`, `tool.input`, `{"a": {"b": null}}`, `{}`,
		`{"command": tool.input.command.replace("a", "b")}`, `{"n": 1u, "d": 1.5, "t": true, "s": "\u202e"}`, `{"x": hazards.map(h, h.code)}`,
		`{"x": session}`, `{"b": b"x"}`, `has(tool.input.zz) ? {"a": 1} : {"b": dyn("x")}`, `{"t": timestamp("2026-01-01T00:00:00Z")}`,
	} {
		f.Add(s, `{"command":"a b","n":[1,2]}`, true)
		f.Add(s, `{"big":123456789012345678901234567890,"command":"a"}`, false)
	}
	f.Fuzz(func(t *testing.T, expr, input string, merge bool) {
		if len(expr) > 512 || len(input) > 4096 || strings.ContainsAny(expr, "\r\n\t") || strings.TrimSpace(expr) != expr {
			return
		}
		key := "replace"
		if merge {
			key = "merge"
		}
		s, err := policy.Parse("p.yaml", []byte(rules(value("m", "true", "modify", key, expr))), policy.Options{Engine: engine()})
		if err != nil {
			return
		}
		d, _, err := s.Judge(t.Context(), call("Tool", input), home)
		if err != nil {
			if !d.Denied() {
				t.Fatalf("%v, and the decision is %s", err, d.Effect)
			}
			return
		}
		if d.Denied() || d.Input == nil {
			return
		}
		if len(d.Input) > len(input)+policy.MaxRounds*policy.MaxValueBytes {
			t.Fatalf("an input of %d bytes", len(d.Input))
		}
		again, _, err := s.Judge(t.Context(), call("Tool", string(d.Input)), home)
		if err != nil || again.Denied() || len(again.Changes) > 0 {
			t.Fatalf("%s of %s: the result %s is not at rest: %v, %v", key, expr, d.Input, again.Changes, err)
		}
		// Whoever applies the effects gets the same.
		effects, _, err := d.EffectsFor(ahp.ToolBefore, "e", ahp.Bounds(ahp.ToolBefore))
		if err != nil || len(effects) != len(d.Changes) {
			t.Fatalf("effects %v, %v", effects, err)
		}
	})
}
