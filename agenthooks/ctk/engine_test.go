package ctk_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
	"github.com/holdpoint/holdpoint/agenthooks/ctk"
)

// A puppet is a host that does as it is told: it shows these contexts to the
// first interceptor and reports this record. It tests the engine alone.
type puppet struct {
	surface  ctk.Surface
	contexts []string
	request  string
	record   ctk.RunRecord
	err      error // of Run
	closed   *int
	answers  *[]ctk.Answer
}

func (p puppet) Declare(context.Context) (*ctk.Surface, error) { return &p.surface, nil }

func (p puppet) Open(_ context.Context, s *ctk.Setup) (ctk.Run, error) {
	if p.err != nil && p.closed == nil {
		return nil, p.err
	}
	return puppetRun{p, s}, nil
}

type puppetRun struct {
	p puppet
	s *ctk.Setup
}

func (r puppetRun) Run(ctx context.Context) (*ctk.RunRecord, error) {
	for _, c := range r.p.contexts {
		a, err := r.s.Script.Intercept(ctx, 0, jsontext.Value(c))
		if err != nil {
			return nil, err
		}
		if r.p.answers != nil {
			*r.p.answers = append(*r.p.answers, a)
		}
	}
	if r.p.request != "" {
		a, err := r.s.Script.Resolve(ctx, jsontext.Value(r.p.request))
		if err != nil {
			return nil, err
		}
		*r.p.answers = append(*r.p.answers, a)
	}
	if r.p.err != nil {
		return nil, r.p.err
	}
	rec := r.p.record
	return &rec, nil
}

func (r puppetRun) Close() error {
	if r.p.closed != nil {
		*r.p.closed++
	}
	return nil
}

func ctxJSON(seq int, point, rest string) string {
	return fmt.Sprintf(`{"spec":"agent-hooks/0.1","interception_point":"%s","timestamp":"t","sequence":%d,"agent":{"id":"a","framework":"f"},"session":{"id":"s"}%s}`, point, seq, rest)
}

func inputJSON(seq int, content string) string {
	return ctxJSON(seq, "input", `,"input":{"content":`+content+`,"role":"user"},"target":{"content":`+content+`,"role":"user"}`)
}

func vector(t *testing.T, text string) []*ctk.Vector {
	t.Helper()
	v, err := ctk.ParseVector("v.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return []*ctk.Vector{v}
}

// expecting is the smallest vector with these expectations.
func expecting(e string) string {
	return strings.Replace(smallest, `"interceptions":[],"sequence_strict":false,"run_outcome":"completed"`, e, 1)
}

// TestAssertions pins each assertion kind from both sides.
func TestAssertions(t *testing.T) {
	const loose = `"sequence_strict":false,"run_outcome":"completed"`
	done := ctk.RunRecord{Outcome: ctk.Completed}
	str := func(s string) *string { return &s }
	rec := func(texts ...string) ctk.RunRecord {
		r := done
		for _, s := range texts {
			r.Records = append(r.Records, jsontext.Value(s))
		}
		return r
	}
	ids := func(pairs ...*string) ctk.RunRecord {
		r := done
		for i := 0; i < len(pairs); i += 2 {
			r.Identities = append(r.Identities, ctk.IdentityPair{Input: pairs[i], Enforced: pairs[i+1]})
		}
		return r
	}
	tools := func(names ...string) ctk.RunRecord {
		r := done
		for _, n := range names {
			r.ToolInvocations = append(r.ToolInvocations, ctk.Invocation{Name: n, Args: jsontext.Value(`{"n":1}`)})
		}
		return r
	}
	hi := inputJSON(1, `"hi"`)
	tests := []struct {
		rule, name, expect string
		contexts           []string
		record             ctk.RunRecord
		fails              string // part of the failure; "" passes
	}{
		{"AH-13.2-10", "increasing", `"interceptions":[],` + loose, []string{inputJSON(0, `1`), inputJSON(7, `1`)}, done, ""},
		{"AH-13.2-10", "equal", `"interceptions":[],` + loose, []string{inputJSON(7, `1`), inputJSON(7, `1`)}, done, "sequence: 7 at recorded context 1"},
		{"AH-13.2-10", "not an integer", `"interceptions":[],` + loose, []string{strings.Replace(hi, `"sequence":1`, `"sequence":1.0`, 1)}, done, "has no integer"},
		{"AH-13.2-10", "beyond 64 bits", `"interceptions":[],` + loose, []string{strings.Replace(hi, `"sequence":1`, `"sequence":18446744073709551616`, 1), strings.Replace(hi, `"sequence":1`, `"sequence":18446744073709551617`, 1)}, done, ""},
		{"AH-13.2-6", "valid", `"interceptions":[{"interception_point":"input"}],` + loose, []string{hi}, done, ""},
		{"AH-13.2-6", "no target", `"interceptions":[{"interception_point":"input"}],` + loose, []string{strings.Replace(hi, `"target"`, `"tarjet"`, 1)}, done, "$.target: missing"},
		{"AH-13.2-6", "waived", `"interceptions":[{"interception_point":"input","context_must_validate":false}],` + loose, []string{strings.Replace(hi, `"target"`, `"tarjet"`, 1)}, done, ""},
		{"AH-13.2-7", "equal", `"interceptions":[{"interception_point":"input","context":{"input.content":"hi","..input..role":"user"}}],` + loose, []string{hi}, done, ""},
		{"AH-13.2-7", "differs", `"interceptions":[{"interception_point":"input","context":{"input.content":"ho"}}],` + loose, []string{hi}, done, `input.content is "hi", expected "ho"`},
		{"AH-13.2-5", "index", `"interceptions":[{"interception_point":"input","context":{"input.content[1][0].x":null}}],` + loose, []string{inputJSON(1, `[0,[{"x":null}]]`)}, done, ""},
		{"AH-13.2-5", "index on an object", `"interceptions":[{"interception_point":"input","context":{"input[0]":null}}],` + loose, []string{hi}, done, "input[0] is not there"},
		{"AH-13.2-5", "name on an array", `"interceptions":[{"interception_point":"input","context":{"input.content.0":0}}],` + loose, []string{inputJSON(1, `[0]`)}, done, "is not there"},
		{"AH-13.2-5", "past the end", `"interceptions":[{"interception_point":"input","context":{"input.content[1]":0}}],` + loose, []string{inputJSON(1, `[0]`)}, done, "is not there"},
		{"AH-13.2-8", "contains", `"interceptions":[{"interception_point":"input","context_must_contain":["<é&>","\"content\":"],"context_must_not_contain":["zz"]}],` + loose, []string{inputJSON(1, `"\u003c\u00e9&>"`)}, done, ""},
		{"AH-13.2-8", "does not contain", `"interceptions":[{"interception_point":"input","context_must_contain":["zz"]}],` + loose, []string{hi}, done, `"zz" is nowhere`},
		{"AH-13.2-8", "contains what it must not", `"interceptions":[{"interception_point":"input","context_must_not_contain":["secret"]}],` + loose, []string{inputJSON(1, `"se\u0063ret"`)}, done, `"secret" is in the context`},
		{"AH-13.2-9", "exact integers", `"interceptions":[{"interception_point":"input","context":{"input.content":9007199254740993}}],` + loose, []string{inputJSON(1, `9007199254740992`)}, done, "expected 9007199254740993"},
		{"AH-13.2-9", "the same integer", `"interceptions":[{"interception_point":"input","context":{"input.content":-18446744073709551617}}],` + loose, []string{inputJSON(1, `-18446744073709551617`)}, done, ""},
		{"AH-13.2-9", "one double", `"interceptions":[{"interception_point":"input","context":{"input.content":[1.0,1e2,-0,0.1]}}],` + loose, []string{inputJSON(1, `[1,100,0,1e-1]`)}, done, ""},
		{"AH-13.2-9", "order of members", `"interceptions":[{"interception_point":"input","context":{"input.content":{"a":1,"b":[true,null]}}}],` + loose, []string{inputJSON(1, `{"b":[true,null],"a":1}`)}, done, ""},
		{"AH-13.2-9", "order of elements", `"interceptions":[{"interception_point":"input","context":{"input.content":[1,2]}}],` + loose, []string{inputJSON(1, `[2,1]`)}, done, "expected [1,2]"},
		{"AH-13.2-9", "another type", `"interceptions":[{"interception_point":"input","context":{"input.content":[false,"1",null]}}],` + loose, []string{inputJSON(1, `[0,1,0]`)}, done, "expected [false"},
		{"AH-13.2-9", "more members", `"interceptions":[{"interception_point":"input","context":{"input.content":{}}}],` + loose, []string{inputJSON(1, `{"a":1}`)}, done, "expected {}"},
		{"AH-13.2-4", "strict list", `"interceptions":[{"interception_point":"input"},{"interception_point":"input"}],"run_outcome":"completed"`, []string{hi, inputJSON(2, `1`)}, done, ""},
		{"AH-13.2-4", "strict list is too short", `"interceptions":[{"interception_point":"input"}],"run_outcome":"completed"`, []string{hi, inputJSON(2, `1`)}, done, "found [input input], expected exactly [input]"},
		{"AH-13.2-4", "scan takes each once", `"interceptions":[{"interception_point":"input"},{"interception_point":"input"}],` + loose, []string{hi}, done, "interceptions[1]: input was not emitted"},
		{"AH-13.2-4", "scan takes the next, whatever is in it", `"interceptions":[{"interception_point":"input","context":{"input.content":2}}],` + loose, []string{inputJSON(1, `1`), inputJSON(2, `2`)}, done, "input.content is 1"},
		{"AH-13.2-4", "absent", `"interceptions":[],"interceptions_absent":["input"],` + loose, []string{hi}, done, "interceptions_absent: input"},
		{"AH-13.2-11", "outcome", `"interceptions":[],"sequence_strict":false,"run_outcome":"blocked"`, nil, done, `run_outcome: found "completed", expected blocked`},
		{"AH-13.2-11", "error outcome", `"interceptions":[],"sequence_strict":false,"run_outcome":"error"`, nil, ctk.RunRecord{Outcome: ctk.Errored, Error: "x"}, ""},
		{"AH-13.2-11", "final output", `"interceptions":[],"final_output":{"a":1},` + loose, nil, ctk.RunRecord{Outcome: ctk.Completed, FinalOutput: jsontext.Value(`{"a":1.0}`)}, ""},
		{"AH-13.2-11", "final output null", `"interceptions":[],"final_output":null,` + loose, nil, done, ""},
		{"AH-13.2-11", "final output is no JSON", `"interceptions":[],"final_output":null,` + loose, nil, ctk.RunRecord{Outcome: ctk.Completed, FinalOutput: jsontext.Value(`{`)}, "final_output: the host reported no JSON"},
		{"AH-13.2-11", "tools", `"interceptions":[],"tool_invocations":[{"name":"a","args":{"n":1}}],` + loose, nil, tools("a"), ""},
		{"AH-13.2-11", "tool order", `"interceptions":[],"tool_invocations":[{"name":"a","args":{"n":1}},{"name":"b","args":{"n":1}}],` + loose, nil, tools("b", "a"), "tool_invocations[0].name"},
		{"AH-13.2-11", "tool count", `"interceptions":[],"tool_invocations":[],` + loose, nil, tools("a"), "found 1, expected 0"},
		{"AH-13.2-11", "tool args", `"interceptions":[],"tool_invocations":[{"name":"a","args":{"n":2}}],` + loose, nil, tools("a"), "tool_invocations[0].args"},
		{"AH-13.2-11", "tool called", `"interceptions":[],"tool_not_invoked":["a"],` + loose, nil, tools("a"), "tool_not_invoked: a"},
		{"AH-13.2-11", "identities equal", `"interceptions":[],"identities_equal":true,` + loose, nil, ids(nil, nil, str("a"), str("a")), ""},
		{"AH-13.2-11", "null differs", `"interceptions":[],"identities_equal":true,` + loose, nil, ids(str("a"), nil), "emission 0 has two"},
		{"AH-13.2-11", "none differs", `"interceptions":[],"identities_equal":false,` + loose, nil, ids(str("a"), str("a")), "no emission has two"},
		{"AH-13.2-11", "no identities", `"interceptions":[],"identities_equal":false,` + loose, nil, done, "reported no identities"},
		{
			"AH-13.2-11", "records in order", `"interceptions":[],"records":[{"interception_point":"input","assert":{"a":1},"present":["a"],"absent":["b"]},{"interception_point":"output"}],` + loose, nil,
			rec(`{"interception_point":"input","a":1}`, `{"interception_point":"input"}`, `{"interception_point":"output"}`), "",
		},
		{"AH-13.2-11", "record used twice", `"interceptions":[],"records":[{"interception_point":"input"},{"interception_point":"input"}],` + loose, nil, rec(`{"interception_point":"input"}`), "records[1] input: there is no such record"},
		{"AH-13.2-11", "record value", `"interceptions":[],"records":[{"interception_point":"input","assert":{"a":1}}],` + loose, nil, rec(`{"interception_point":"input","a":2}`), "a is 2, expected 1"},
		{"AH-13.2-11", "record absent", `"interceptions":[],"records":[{"interception_point":"input","absent":["a"]}],` + loose, nil, rec(`{"interception_point":"input","a":null}`), "a is there"},
		{"AH-13.2-11", "record present", `"interceptions":[],"records":[{"interception_point":"input","present":["a"]}],` + loose, nil, rec(`{"interception_point":"input"}`), "a is not there"},
		{"AH-13.2-11", "no records", `"interceptions":[],"records":[{"interception_point":"input"}],` + loose, nil, done, "reported none"},
		{"AH-13.2-11", "record is no JSON", `"interceptions":[],"records":[{"interception_point":"input"}],` + loose, nil, rec(`{"a":1,"a":2}`), "no JSON"},
		{"AH-13.2-11", "released", `"interceptions":[],"released_output":"aa",` + loose, nil, ctk.RunRecord{Outcome: ctk.Completed, ReleasedOutput: str("aa")}, ""},
		{"AH-13.2-11", "released too much", `"interceptions":[],"released_output":"aa",` + loose, nil, ctk.RunRecord{Outcome: ctk.Completed, ReleasedOutput: str("aab")}, "released_output: found"},
		{"AH-13.2-11", "released unreported", `"interceptions":[],"released_output":"",` + loose, nil, done, "did not report"},
		{"AH-13.2-11", "persisted nothing", `"interceptions":[],"persisted_must_not_contain":["x"],` + loose, nil, done, ""},
		{"AH-13.2-11", "persisted", `"interceptions":[],"persisted_must_not_contain":["x"],` + loose, nil, ctk.RunRecord{Outcome: ctk.Completed, Persisted: jsontext.Value(`{"\u0078":1}`)}, "was persisted"},
	}
	for _, tt := range tests {
		t.Run(tt.rule+"/"+tt.name, func(t *testing.T) {
			r := conform(t, puppet{contexts: tt.contexts, record: tt.record}, vector(t, expecting(tt.expect)))
			got := strings.Join(r.Results[0].Failures, "\n")
			if (got == "") != (tt.fails == "") || !strings.Contains(got, tt.fails) || (r.Results[0].Status == ctk.Pass) != (tt.fails == "") {
				t.Errorf("found %q, want %q", got, tt.fails)
			}
		})
	}
}

// TestScripts pins the scripted interceptor and resolver.
func TestScripts(t *testing.T) {
	script := func(rules string) string {
		return strings.Replace(smallest, `"interceptor_script":[]`, `"interceptor_script":[`+rules+`]`, 1)
	}
	deny := `{"decision":"deny","reason":"a"}`
	for _, tt := range []struct{ rule, name, rules, want string }{
		{"AH-13.2-1", "no rule", ``, `{"decision":"allow"} {"decision":"allow"}`},
		{"AH-13.2-1", "the first that fits, never used up", `{"at":"output","return":{"decision":"deny"}},{"at":"input","return":` + deny + `},{"at":"input","return":{"decision":"allow","reason":"b"}}`, deny + ` ` + deny},
		{"AH-13.2-2", "all of match", `{"at":"input","match":{"input.content":"hi","sequence":1},"return":` + deny + `}`, deny + ` {"decision":"allow"}`},
		{"AH-13.2-2", "unresolved does not match null", `{"at":"input","match":{"nothing":null},"return":` + deny + `}`, `{"decision":"allow"} {"decision":"allow"}`},
		{"AH-13.2-2", "a present null matches", `{"at":"input","match":{"trace":null},"return":` + deny + `}`, deny + ` ` + deny},
		{"AH-13.2-3", "raise", `{"at":"input","fault":"raise"}`, `raise raise`},
		{"AH-13.2-3", "malformed", `{"at":"input","fault":"malformed_verdict"}`, `{"decision":"transform"} {"decision":"transform"}`},
		{"AH-13.2-3", "mutate", `{"at":"input","fault":"mutate"}`, `{"decision":"allow","reason":"ctk:mutated"}! {"decision":"allow","reason":"ctk:mutated"}!`},
	} {
		t.Run(tt.rule+"/"+tt.name, func(t *testing.T) {
			var answers []ctk.Answer
			with := func(s string) string { return strings.Replace(s, `"session"`, `"trace":null,"session"`, 1) }
			conform(t, puppet{contexts: []string{with(inputJSON(1, `"hi"`)), with(inputJSON(2, `"hi"`))}, record: ctk.RunRecord{Outcome: ctk.Completed}, answers: &answers}, vector(t, script(tt.rules)))
			var got []string
			for _, a := range answers {
				switch {
				case a.Raise:
					got = append(got, "raise")
				case a.Mutate:
					got = append(got, string(a.JSON)+"!")
				default:
					got = append(got, string(a.JSON))
				}
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("found %s, want %s", s, tt.want)
			}
		})
	}
	id, err := identity(inputJSON(1, `"hi"`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, rules, identity, want string }{
		{"no rule fits", `{"match":{"input.content":"ho"},"resolve":{"outcome":"approve"}}`, `"x"`, `{"context_identity":"x","outcome":"unresolved"}`},
		{"as it is", `{"resolve":{"outcome":"approve"}}`, `"x"`, `{"context_identity":"x","outcome":"approve"}`},
		{"null echoes null", `{"resolve":{"outcome":"unresolved","verdict":{"decision":"allow"}}}`, `null`, `{"context_identity":null,"outcome":"unresolved","verdict":{"decision":"allow"}}`},
		{"override", `{"resolve":{"outcome":"approve","identity_override":"y"}}`, `"x"`, `{"context_identity":"y","outcome":"approve"}`},
		{"recomputed wins", `{"resolve":{"outcome":"approve","identity_override":"y","echo_recomputed":true}}`, `"x"`, `{"context_identity":"` + id + `","outcome":"approve"}`},
		{"raise", `{"resolve":{"fault":"raise"}}`, `"x"`, ``},
	} {
		t.Run("resolver/"+tt.name, func(t *testing.T) {
			var answers []ctk.Answer
			text := strings.Replace(smallest, `"expect"`, `"approval_script":[`+tt.rules+`],"expect"`, 1)
			conform(t, puppet{
				request: `{"context_identity":` + tt.identity + `,"interception_point":"input","verdict":{"decision":"deny"},"context":` + inputJSON(1, `"hi"`) + `}`,
				record:  ctk.RunRecord{Outcome: ctk.Completed}, answers: &answers,
			}, vector(t, text))
			if len(answers) != 1 || string(answers[0].JSON) != tt.want || answers[0].Raise != (tt.want == "") {
				t.Errorf("found %+v, want %s", answers, tt.want)
			}
		})
	}
}

func identity(text string) (string, error) {
	c, err := agenthooks.ParseContext([]byte(text))
	if err != nil {
		return "", err
	}
	return agenthooks.Identity(c)
}

// TestDriving: teardown always follows, errors are failures, and what is not
// declared is skipped with a reason.
func TestDriving(t *testing.T) {
	oops := errors.New("oops")
	closed := 0
	r := conform(t, puppet{err: oops, closed: &closed}, vector(t, smallest))
	want(t, &r.Results[0], ctk.Fail)
	if closed != 1 || r.Results[0].Detail != "run: oops" {
		t.Errorf("closed %d times, %q", closed, r.Results[0].Detail)
	}
	r = conform(t, puppet{err: oops}, vector(t, smallest))
	if r.Results[0].Detail != "setup: oops" {
		t.Errorf("%q", r.Results[0].Detail)
	}
	needs := strings.Replace(smallest, `"title"`, `"capabilities":["tool_calls","int64_json"],"composition":{"profile":"parallel/strictest"},"title"`, 1)
	for _, tt := range []struct {
		surface ctk.Surface
		status  ctk.Status
		detail  string
	}{
		{ctk.Surface{}, ctk.Skip, "not declared: tool_calls, int64_json"},
		{ctk.Surface{Capabilities: []ctk.Capability{ctk.ToolCalls}}, ctk.Skip, "not declared: int64_json"},
		{ctk.Surface{Capabilities: []ctk.Capability{ctk.ToolCalls, ctk.Int64JSON}}, ctk.Pass, ""},
		{ctk.Surface{Capabilities: []ctk.Capability{ctk.ToolCalls, ctk.Int64JSON}, Profiles: []agenthooks.Composition{{Profile: agenthooks.RunAll}}}, ctk.Skip, "parallel/strictest"},
		{ctk.Surface{Capabilities: []ctk.Capability{ctk.ToolCalls, ctk.Int64JSON}, Profiles: []agenthooks.Composition{{Profile: agenthooks.Strictest, OnTransformConflict: agenthooks.Consult}}}, ctk.Skip, "with this knob"},
		{ctk.Surface{Capabilities: []ctk.Capability{ctk.ToolCalls, ctk.Int64JSON}, Profiles: []agenthooks.Composition{{Profile: agenthooks.Strictest, OnTransformConflict: agenthooks.DenyIt}}}, ctk.Pass, ""},
	} {
		r := conform(t, puppet{surface: tt.surface, record: ctk.RunRecord{Outcome: ctk.Completed}}, vector(t, needs))
		want(t, &r.Results[0], tt.status)
		if !strings.Contains(r.Results[0].Detail, tt.detail) {
			t.Errorf("%q, want %q", r.Results[0].Detail, tt.detail)
		}
	}
	for want, s := range map[string]ctk.Surface{
		`/capabilities/1: "tool_cals"`:            {Capabilities: []ctk.Capability{ctk.ModelCalls, "tool_cals"}},
		"incremental_output goes with":            {Capabilities: []ctk.Capability{ctk.IncrementalOutput}, BufferedOutput: true},
		`/profiles/0/profile: "parallel/first"`:   {Profiles: []agenthooks.Composition{{Profile: "parallel/first"}}},
		`/profiles/0/profile: ""`:                 {Profiles: []agenthooks.Composition{{}}},
		`/profiles/1/on_approval: "deny"`:         {Profiles: []agenthooks.Composition{{Profile: agenthooks.RunAll}, {Profile: agenthooks.FirstDeny, OnApproval: "deny"}}},
		`/profiles/0/on_disagreement: "stop"`:     {Profiles: []agenthooks.Composition{{Profile: agenthooks.Unanimous, OnDisagreement: "stop"}}},
		`/profiles/0/on_transform_conflict: "no"`: {Profiles: []agenthooks.Composition{{Profile: agenthooks.Strictest, OnTransformConflict: "no"}}},
	} {
		_, err := ctk.Conform(t.Context(), puppet{surface: s, record: ctk.RunRecord{Outcome: ctk.Completed}}, vector(t, smallest), ctk.Options{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	unknown := puppet{surface: ctk.Surface{Postures: map[string]string{ctk.PostureToolSeam: "explode"}}, record: ctk.RunRecord{Outcome: ctk.Completed}}
	byPosture := expecting(`"interceptions":[],"sequence_strict":false,"run_outcome":"completed","run_outcome_by_posture":{"posture":"tool_seam_host_error","outcomes":{"continue":"completed","terminate":"blocked"}}`)
	r = conform(t, unknown, vector(t, byPosture))
	want(t, &r.Results[0], ctk.Fail)
	for posture, outcome := range map[string]ctk.Outcome{"continue": ctk.Completed, "terminate": ctk.Blocked, "": ctk.Completed} {
		r := conform(t, puppet{surface: ctk.Surface{Postures: map[string]string{ctk.PostureToolSeam: posture}}, record: ctk.RunRecord{Outcome: outcome}}, vector(t, byPosture))
		want(t, &r.Results[0], ctk.Pass)
	}
}

// TestReport: results by part, in three forms, with the claim.
func TestReport(t *testing.T) {
	custom := "hmac-sha256-k1"
	surface := ctk.Surface{
		Framework: "x|y\x1b[2J", AdapterVersion: "1", Language: "go", SDKVersion: "2", IdentityProvider: &custom,
		Capabilities: []ctk.Capability{ctk.ModelCalls, ctk.IncrementalOutput}, ExposureBound: "none",
		Postures: map[string]string{ctk.PostureToolSeam: "terminate"},
	}
	vs := slices.Concat(
		vector(t, smallest),
		vector(t, strings.Replace(strings.Replace(smallest, "AH-CTK-001", "AH-CTK-002", 1), `"title"`, `"part":"a/b","title"`, 1)),
		vector(t, strings.Replace(strings.Replace(smallest, "AH-CTK-001", "AH-CTK-003", 1), `"title"`, `"part":"a/b","capabilities":["tool_calls"],"title"`, 1)),
		vector(t, strings.Replace(strings.Replace(smallest, "AH-CTK-001", "AH-CTK-004", 1), `"run_outcome":"completed"`, `"run_outcome":"blocked"`, 1)))
	r := conform(t, puppet{surface: surface, record: ctk.RunRecord{Outcome: ctk.Completed}}, vs)

	if got, want := fmt.Sprint(r.Parts()), "[{a/b 1 0 1} {unspecified 1 1 0}]"; got != want {
		t.Errorf("parts %s, want %s", got, want)
	}
	var text, md strings.Builder
	if err := errors.Join(r.WriteText(&text), r.WriteMarkdown(&md)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"a/b: 1 passed, 0 failed, 1 skipped", "skip AH-CTK-003: not declared: tool_calls", "fail AH-CTK-004", `run_outcome: found "completed", expected blocked`,
		"posture tool_seam_host_error: terminate, which is not the default", "hmac-sha256-k1 is not derived from the content",
		"a deny at output cannot take back", `exposure bound "none"`, "no statement about security",
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the text lacks %q", want)
		}
	}
	for _, want := range []string{"| Part | Passed | Failed | Skipped |", "| a/b | 1 | 0 | 1 |", "| total | 2 | 1 | 1 |", `x\|y [2J`, "| AH-CTK-003 | a/b | skip | not declared: tool_calls |", "- identity provider: hmac-sha256-k1"} {
		if !strings.Contains(md.String(), want) {
			t.Errorf("the Markdown lacks %q:\n%s", want, md.String())
		}
	}
	if strings.ContainsRune(text.String()+md.String(), '\x1b') {
		t.Error("a control character of the host reaches the terminal")
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Spec        string
		CorpusCount int `json:"corpus_count"`
		Surface     map[string]any
		Claim       struct {
			Conformant bool
			Statements []string
		}
		Parts   []map[string]any
		Results []map[string]any
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	if got.Spec != "agent-hooks/0.1" || got.CorpusCount != 4 || len(got.Parts) != 2 || len(got.Results) != 4 || got.Claim.Conformant || len(got.Claim.Statements) != 5 {
		t.Errorf("%s", raw)
	}
	for _, member := range []string{"capabilities", "profiles", "identity_provider", "postures", "buffered_output", "exposure_bound"} {
		if _, ok := got.Surface[member]; !ok {
			t.Errorf("surface lacks %s: %s", member, raw)
		}
	}
	for _, member := range []string{"id", "title", "part", "status", "detail", "failures"} {
		if _, ok := got.Results[0][member]; !ok {
			t.Errorf("results lack %s: %s", member, raw)
		}
	}
	surface = ctk.Surface{BufferedOutput: true}
	r = conform(t, puppet{surface: surface, record: ctk.RunRecord{Outcome: ctk.Completed}}, vector(t, smallest))
	if c := r.Claim(); !c.Conformant || !slices.ContainsFunc(c.Statements, func(s string) bool { return strings.Contains(s, "not bound to contexts") }) {
		t.Errorf("claim without a provider: %+v", c)
	}
	surface = ctk.Surface{Framework: "a\u202eb\u2066c\u2028d", Capabilities: []ctk.Capability{ctk.IncrementalOutput}}
	r = conform(t, puppet{surface: surface, record: ctk.RunRecord{Outcome: ctk.Completed}}, vector(t, smallest))
	text.Reset()
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "no exposure bound is declared") || !strings.Contains(text.String(), "a b c d") {
		t.Errorf("%s %v", &text, err)
	}
	r = conform(t, puppet{record: ctk.RunRecord{Outcome: ctk.Completed}}, vector(t, strings.Replace(smallest, `"title"`, `"capabilities":["tool_calls"],"title"`, 1)))
	if r.Claim().Conformant {
		t.Error("a host that skips everything claims conformance")
	}
}

// TestReferenceSurface is what the reference host declares.
func TestReferenceSurface(t *testing.T) {
	s, err := ctk.Reference().Declare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []ctk.Capability{ctk.ModelCalls, ctk.ToolCalls, ctk.Int64JSON, ctk.BigIntJSON, ctk.IncrementalOutput} {
		if !slices.Contains(s.Capabilities, c) {
			t.Errorf("%s is not declared", c)
		}
	}
	if s.BufferedOutput || s.ExposureBound != "none" || *s.IdentityProvider != "jcs-sha256" || s.Postures[ctk.PostureToolSeam] != "continue" || len(s.Profiles) != 7 {
		t.Errorf("%+v", s)
	}
}

// TestKitRules names the tests of what the contract asks of a kit.
func TestKitRules(t *testing.T) {
	for id, test := range map[string]func(*testing.T){
		"AH-13.1-1":  TestDriving,
		"AH-13.1-2":  TestPostures,
		"AH-13.1-3":  TestReferenceSurface,
		"AH-13.4-1":  TestReport,
		"AH-13.4-2":  TestReport,
		"AH-13.4-3":  TestReport,
		"AH-13.4-4":  TestReport,
		"AH-12.1a-3": TestReport,
		"AH-1.4-2":   TestReport,
	} {
		t.Run(id, test)
	}
}
