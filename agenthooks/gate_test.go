package agenthooks_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// base are complete contexts, one per point, as lists of members.
func base(point string) map[string]string {
	m := map[string]string{
		"spec": `"agent-hooks/0.1"`, "interception_point": `"` + point + `"`, "timestamp": `"2026-01-01T00:00:00.000Z"`, "sequence": `4`,
		"agent": `{"id":"a","framework":"f"}`, "session": `{"id":"s"}`, "target": `null`,
	}
	maps.Copy(m, map[string]map[string]string{
		"agent_startup":   {"agent_init": `{"tools_registered":["x"]}`},
		"input":           {"input": `{"content":"hi","role":"user"}`},
		"pre_model_call":  {"model": `{"id":"m"}`, "messages": `[{"role":"user","content":"hi"}]`},
		"post_model_call": {"model": `{"id":"m"}`, "response": `{"content":null,"tool_calls":[],"finish_reason":"stop"}`},
		"pre_tool_call":   {"tool_call": `{"id":"1","name":"n","args":{}}`},
		"post_tool_call":  {"tool_call": `{"id":"1","name":"n","args":{}}`, "tool_result": `{"value":null,"is_error":false}`},
		"output":          {"output": `{"content":"bye"}`},
		"agent_shutdown":  {"summary": `{"reason":"completed"}`},
	}[point])
	return m
}

func object(m map[string]string) string {
	var parts []string
	for k, v := range m {
		if v != "" {
			parts = append(parts, fmt.Sprintf("%q:%s", k, v))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// TestEnvelopeGate is AH-4.7-1, AH-4.7-2 and AH-4.7-3.
//
// Rules: AH-1.3-2, AH-3-1, AH-4-1, AH-4.2-1, AH-6.3-2.
func TestEnvelopeGate(t *testing.T) {
	tests := []struct{ point, member, value, path string }{
		{"input", "spec", ``, "$.spec: missing"},
		{"input", "spec", `"agent-hooks/0.1.2"`, "$.spec"},
		{"input", "spec", `"agent-hooks/x.1"`, "$.spec"},
		{"input", "spec", `"agent-hooks/0."`, "$.spec"},
		{"input", "spec", `1`, "$.spec: expected a string"},
		{"input", "interception_point", ``, "$.interception_point"},
		{"input", "interception_point", `"Input"`, "$.interception_point"},
		{"input", "interception_point", `"observe"`, "$.interception_point"},
		{"input", "timestamp", ``, "$.timestamp"},
		{"input", "timestamp", `5`, "$.timestamp"},
		{"input", "sequence", ``, "$.sequence"},
		{"input", "sequence", `-1`, "$.sequence"},
		{"input", "sequence", `1.0`, "$.sequence"},
		{"input", "sequence", `"1"`, "$.sequence"},
		{"input", "agent", ``, "$.agent: missing"},
		{"input", "agent", `"a"`, "$.agent: expected an object"},
		{"input", "agent", `{"framework":"f"}`, "$.agent.id: missing"},
		{"input", "agent", `{"id":"","framework":"f"}`, "$.agent.id"},
		{"input", "agent", `{"id":"a"}`, "$.agent.framework"},
		{"input", "agent", `{"id":"a","framework":"F"}`, "$.agent.framework"},
		{"input", "agent", `{"id":"a","framework":""}`, "$.agent.framework"},
		{"input", "session", `[]`, "$.session"},
		{"input", "session", `{"id":""}`, "$.session.id"},
		{"input", "target", ``, "$.target: missing"},
		{"agent_startup", "agent_init", ``, "$.agent_init: missing"},
		{"agent_startup", "agent_init", `{"tools_registered":"x"}`, "$.agent_init.tools_registered"},
		{"input", "input", `"hi"`, "$.input: expected"},
		{"input", "input", `{"role":"user"}`, "$.input.content: missing"},
		{"input", "input", `{"content":"x","role":null}`, "$.input.role"},
		{"pre_model_call", "model", `{}`, "$.model.id: missing"},
		{"pre_model_call", "messages", ``, "$.messages: missing"},
		{"pre_model_call", "messages", `{}`, "$.messages: expected"},
		{"post_model_call", "response", `{"content":null,"finish_reason":"stop"}`, "$.response.tool_calls: missing"},
		{"post_model_call", "response", `{"content":null,"tool_calls":{},"finish_reason":"stop"}`, "$.response.tool_calls"},
		{"post_model_call", "response", `{"content":null,"tool_calls":[],"finish_reason":1}`, "$.response.finish_reason"},
		{"pre_tool_call", "tool_call", `{"id":"1","args":{}}`, "$.tool_call.name: missing"},
		{"pre_tool_call", "tool_call", `{"id":1,"name":"n","args":{}}`, "$.tool_call.id"},
		{"pre_tool_call", "tool_call", `{"id":"1","name":"n","args":[]}`, "$.tool_call.args"},
		{"post_tool_call", "tool_result", `{"value":1}`, "$.tool_result.is_error"},
		{"post_tool_call", "tool_result", `{"value":1,"is_error":"no"}`, "$.tool_result.is_error"},
		{"post_tool_call", "tool_result", `{"is_error":true}`, "$.tool_result.value: missing"},
		{"output", "output", `{}`, "$.output.content"},
		{"agent_shutdown", "summary", `{"reason":1}`, "$.summary.reason"},
	}
	h, _ := opened(t, agenthooks.Options{Interceptors: allows(1)})
	h.TakeRecords()
	for _, tt := range tests {
		t.Run(tt.point+" "+tt.member+" "+tt.value, func(t *testing.T) {
			m := base(tt.point)
			m[tt.member] = tt.value
			_, err := agenthooks.ParseContext([]byte(object(m)))
			var ce *agenthooks.ContextError
			if !errors.As(err, &ce) || !strings.HasPrefix(err.Error(), tt.path) {
				t.Fatalf("got %v, want %s", err, tt.path)
			}
			out, err := h.EmitJSONUnchecked(t.Context(), jsontext.Value(object(m)))
			if err == nil || out.Proceeds || out.Record.Verdict.Reason != agenthooks.ReasonContextInvalid || len(out.Record.Verdicts) != 0 {
				t.Errorf("record %+v, %v", out.Record, err)
			}
			if n := len(h.TakeRecords()); n != 1 {
				t.Errorf("%d records", n)
			}
			validate(t, "interception-record.schema.json", out.Record)
		})
	}
}

// TestGateLetsPass holds what the gate does not look at (AH-4.2-0, AH-4.3-4,
// AH-4.7-2, AH 4.5).
func TestGateLetsPass(t *testing.T) {
	tests := []struct{ point, member, value string }{
		{"input", "input", `{"content":7,"role":"nobody","more":1}`},
		{"input", "target", `"not the input"`},
		{"input", "sequence", `0`},
		{"input", "timestamp", `"yesterday"`},
		{"input", "spec", `"agent-hooks/12.34"`},
		{"input", "unknown", `[1,2]`},
		{"pre_model_call", "messages", `[1]`},
		{"post_model_call", "response", `{"content":{},"tool_calls":[3],"finish_reason":"?"}`},
		{"agent_shutdown", "summary", `{"reason":"whatever"}`},
		{"agent_startup", "agent_init", `{"tools_registered":[1]}`},
	}
	for _, tt := range tests {
		m := base(tt.point)
		m[tt.member] = tt.value
		if _, err := agenthooks.ParseContext([]byte(object(m))); err != nil {
			t.Errorf("%s %s %s: %v", tt.point, tt.member, tt.value, err)
		}
	}
	m := base("input")
	text := strings.Replace(object(m), `"spec"`, `"\u0073pec"`, 1)
	if _, err := agenthooks.ParseContext([]byte(" " + text + "\n")); err != nil {
		t.Errorf("escaped name and white space: %v", err)
	}
}

// TestNotAContext covers one part of the contract.
//
// Rules: AH-1.3-2, AH-10.3-10.
func TestNotAContext(t *testing.T) {
	h, _ := opened(t, agenthooks.Options{Interceptors: allows(1)})
	for _, in := range []string{``, `null`, `[]`, `"x"`, `{`, `{"spec":`, `nonsense`, `{} {}`, "\xff", `{"a":1,"a":2}`} {
		out, err := h.EmitJSONUnchecked(t.Context(), jsontext.Value(in))
		if err == nil || out.Record.Verdict.Reason != agenthooks.ReasonContextInvalid || out.Record.Sequence != -1 ||
			out.Record.SessionID != "" || out.Record.Point != agenthooks.AgentStartup {
			t.Errorf("%q: %+v, %v", in, out.Record, err)
		}
		validate(t, "interception-record.schema.json", out.Record)
	}
}

// TestVerdictGate is AH 5.0, row by row, with AH-5-2, AH-5-3 and AH-5-4.
//
// Rules: AH-5-1, AH-5.1-4, AH-5.3-2, AH-6.3-4, AH-11-1.
func TestVerdictGate(t *testing.T) {
	invalid, forbidden, broken := agenthooks.ReasonVerdictInvalid, agenthooks.ReasonTransformTargetForbidden, agenthooks.ReasonTransformInvalid
	evidence := func(n int) string {
		return `{"decision":"allow","evidence":{"artefact":"` + strings.Repeat("x", n) + `"}}`
	}
	tests := []struct{ row, verdict, reason string }{
		{"G1", `"allow"`, invalid},
		{"G1", `[]`, invalid},
		{"G1", `null`, invalid},
		{"G1", `3`, invalid},
		{"G1", ``, invalid},
		{"G1", `{`, invalid},
		{"G1", `{"decision":"allow"} {}`, invalid},
		{"G2", `{}`, invalid},
		{"G2", `{"decision":null}`, invalid},
		{"G2", `{"decision":1}`, invalid},
		{"G2", `{"decision":"warn"}`, invalid},
		{"G2", `{"decision":"escalate"}`, invalid},
		{"G2", `{"decision":"Allow"}`, invalid},
		{"G2", `{"decision":"allow "}`, invalid},
		{"G3", `{"decision":"allow","reason":1}`, invalid},
		{"G3", `{"decision":"deny","reason":"host_error:x"}`, invalid},
		{"G3", `{"decision":"allow","reason":null}`, ""},
		{"G3", `{"decision":"allow","reason":"x:host_error:y"}`, ""},
		{"G4", `{"decision":"allow","message":{}}`, invalid},
		{"G4", `{"decision":"allow","message":null}`, ""},
		{"G5", `{"decision":"allow","warnings":{}}`, invalid},
		{"G5", `{"decision":"allow","warnings":["w"]}`, invalid},
		{"G5", `{"decision":"allow","warnings":[{"reason":1}]}`, invalid},
		{"G5", `{"decision":"allow","warnings":[{"reason":"host_error:a"}]}`, invalid},
		{"G5", `{"decision":"allow","warnings":[{"message":[]}]}`, invalid},
		{"G5", `{"decision":"allow","warnings":[{"reason":null,"message":null},{}]}`, ""},
		{"G5", `{"decision":"allow","warnings":null}`, ""},
		{"G5", `{"decision":"allow","warnings":[null]}`, invalid},
		{"G6", `{"decision":"allow","approval":{}}`, invalid},
		{"G6", `{"decision":"deny","reason":"r","approval":[]}`, invalid},
		{"G6", `{"decision":"deny","reason":"r","approval":true}`, invalid},
		{"G6", `{"decision":"allow","approval":null}`, ""},
		{"G6", `{"decision":"transform","transform":{"path":"$target"},"approval":{}}`, invalid},
		{"G7", `{"decision":"transform"}`, invalid},
		{"G7", `{"decision":"transform","transform":null}`, invalid},
		{"G7", `{"decision":"transform","transform":"x"}`, invalid},
		{"G7", `{"decision":"transform","transform":{}}`, invalid},
		{"G7", `{"decision":"transform","transform":{"path":null}}`, invalid},
		{"G7", `{"decision":"transform","transform":{"path":7,"value":1}}`, invalid},
		{"G7", `{"decision":"allow","transform":{"path":"$target","value":1}}`, invalid},
		{"G7", `{"decision":"deny","transform":{"path":"$target","value":1}}`, invalid},
		{"G7", `{"decision":"allow","transform":null}`, ""},
		{"G8", `{"decision":"allow","evidence":"e"}`, invalid},
		{"G8", `{"decision":"allow","evidence":{"artefact":1}}`, invalid},
		{"G8", `{"decision":"allow","evidence":{"verification_pointers":[]}}`, invalid},
		{"G8", `{"decision":"allow","evidence":{"verification_pointers":{"a":1}}}`, invalid},
		{"G8", `{"decision":"allow","evidence":{"verification_pointers":{"a":"b"},"artefact":null}}`, ""},
		{"G9", evidence(10225), ""},
		{"G9", evidence(10226), invalid},
		{"G9", `{"decision":"allow","evidence":{"more":"` + strings.Repeat("x", 10300) + `"}}`, invalid},
		{"G9", `{"decision":"allow","evidence":{"artefact":"` + strings.Repeat(`\u0041`, 10225) + `"}}`, ""},
		{"G9", `{"decision":"allow","evidence":{"more":18446744073709551616}}`, ""},
		{"G10", `{"decision":"allow","result_labels":"x"}`, invalid},
		{"G10", `{"decision":"allow","result_labels":[1]}`, invalid},
		{"G10", `{"decision":"allow","result_labels":[null]}`, invalid},
		{"G10", `{"decision":"allow","result_labels":null}`, ""},
		{"G11", `{"decision":"transform","transform":{"path":"$snapshot.x"}}`, forbidden},
		{"G11", `{"decision":"transform","transform":{"path":"target.x"}}`, forbidden},
		{"G11", `{"decision":"transform","transform":{"path":""}}`, forbidden},
		{"G12", `{"decision":"transform","transform":{"path":"$target["}}`, broken},
		{"G12", `{"decision":"transform","transform":{"path":"$targets.x"}}`, broken},
		{"AH-5-3", `{"decision":"allow","transform":{"path":"nowhere"}}`, invalid},
		{"G13", `{"decision":"allow","message":"\ud800"}`, invalid},
		{"G13", "{\"decision\":\"allow\",\"message\":\"\xff\"}", invalid},
		{"G13", `{"decision":"allow","unknown":1e999}`, invalid},
		{"G13", `{"decision":"transform","transform":{"path":"$target.content","value":1e999}}`, invalid},
		{"O13", `{"decision":"deny","decision":"allow"}`, invalid},
		{"AH-5-2", `{"decision":"allow","unknown":{"a":[1,2,3]},"big":18446744073709551616}`, ""},
		{"depth", `{"decision":"allow","unknown":` + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + `}`, invalid},
		{"ok", ` {"decision":"deny","reason":"p:x","approval":{"who":"boss"}} `, "p:x"},
		{"ok", `{"decision":"transform","transform":{"path":"$target.content"}}`, ""},
	}
	for _, tt := range tests {
		name := tt.row + " " + tt.verdict[:min(len(tt.verdict), 60)]
		t.Run(name, func(t *testing.T) {
			h, s := opened(t, agenthooks.Options{Interceptors: []agenthooks.Registration{fixed(agenthooks.Output, agenthooks.RawVerdict([]byte(tt.verdict)))}})
			h.TakeRecords()
			out, err := s.EmitUnchecked(t.Context(), agenthooks.Final("x"))
			if err != nil {
				t.Fatal(err)
			}
			r := out.Record
			if r.Verdict.Reason != tt.reason || out.Proceeds != (tt.reason == "") {
				t.Errorf("got %+v, want reason %q", r.Verdict, tt.reason)
			}
			if strings.HasPrefix(tt.reason, "host_error:") && (r.DecidedBy == nil || *r.DecidedBy != 0 || r.Verdicts[0].Decision != "deny" || r.Verdicts[0].Reason != tt.reason) {
				t.Errorf("AH-6.3-1: %+v", r)
			}
			validate(t, "interception-record.schema.json", r)
		})
	}
}

// TestTypedVerdictGate is the same gate for verdicts made in Go.
//
// Rules: AH-5-5, AH-5.1-1.
func TestTypedVerdictGate(t *testing.T) {
	type V = agenthooks.Verdict
	allow := agenthooks.DecisionAllow
	for name, tt := range map[string]struct {
		v  V
		ok bool
	}{
		"zero":              {V{}, false},
		"allow":             {agenthooks.Allow(), true},
		"warn":              {agenthooks.Warn("w", "m"), true},
		"unknown decision":  {V{Decision: "warn"}, false},
		"reserved reason":   {V{Decision: allow, Reason: "host_error:x"}, false},
		"reserved warning":  {agenthooks.Warn("host_error:x", ""), false},
		"bad reason":        {V{Decision: allow, Reason: "\xff"}, false},
		"bad message":       {V{Decision: allow, Message: "\xff"}, false},
		"bad warning":       {agenthooks.Warn("w", "\xff"), false},
		"bad label":         {V{Decision: allow, ResultLabels: []string{"\xff"}}, false},
		"approval on allow": {V{Decision: allow, Approval: jsontext.Value(`{}`)}, false},
		"null approval":     {V{Decision: allow, Approval: jsontext.Value(`null`)}, true},
		"no JSON approval":  {V{Decision: allow, Approval: jsontext.Value(`{`)}, false},
		"empty approval":    {V{Decision: allow, Approval: jsontext.Value(``)}, false},
		"transform missing": {V{Decision: agenthooks.DecisionTransform}, false},
		"transform extra":   {V{Decision: allow, Transform: &agenthooks.Transform{Path: "$target"}}, false},
		"transform path":    {V{Decision: agenthooks.DecisionTransform, Transform: &agenthooks.Transform{Path: "\xff"}}, false},
		"transform value":   {V{Decision: agenthooks.DecisionTransform, Transform: &agenthooks.Transform{Path: "$target.content", Value: jsontext.Value("{")}}, false},
		"unmarshalable":     {agenthooks.Rewrite("$target.content", make(chan int)), false},
		"rewrite":           {agenthooks.Rewrite("$target.content", 1), true},
		"big evidence":      {V{Decision: allow, Evidence: &agenthooks.Evidence{Artefact: strings.Repeat("x", 10226)}}, false},
		"full evidence":     {V{Decision: allow, Evidence: &agenthooks.Evidence{Artefact: strings.Repeat("x", 10225)}}, true},
		"bad evidence":      {V{Decision: allow, Evidence: &agenthooks.Evidence{Artefact: "\xff"}}, false},
		"nil raw":           {agenthooks.RawVerdict(nil), false},
	} {
		_, s := opened(t, agenthooks.Options{Interceptors: []agenthooks.Registration{fixed(agenthooks.Output, tt.v)}})
		out, err := s.EmitUnchecked(t.Context(), agenthooks.Final("x"))
		if err != nil || out.Proceeds != tt.ok {
			t.Errorf("%s: proceeds %v, want %v: %+v", name, out.Proceeds, tt.ok, out.Record.Verdict)
		}
		if !tt.ok && out.Record.Verdict.Reason != agenthooks.ReasonVerdictInvalid {
			t.Errorf("%s: reason %s", name, out.Record.Verdict.Reason)
		}
	}
}

// TestPaths is AH 5.2: AH-5.2-1 to AH-5.2-6.
//
// Rules: AH-5.2-2, AH-5.2-3, AH-5.2-4, AH-5.2-5, AH-5.2-7.
func TestPaths(t *testing.T) {
	const target = `{"to":"a@x","opts":{"cc":["b@y","c@z"],"bcc":null},"n-1_X":[[1,2]]}`
	tests := []struct{ path, value, want string }{
		{`$target`, `[]`, "envelope"},
		{`$target`, `{"q":1}`, `{"q":1}`},
		{`$policy_target.to`, `1`, `{"to":1,"opts":{"cc":["b@y","c@z"],"bcc":null},"n-1_X":[[1,2]]}`},
		{`$target.opts.cc[1]`, `"-"`, `{"to":"a@x","opts":{"cc":["b@y","-"],"bcc":null},"n-1_X":[[1,2]]}`},
		{`$target["opts"].bcc`, `{}`, `{"to":"a@x","opts":{"cc":["b@y","c@z"],"bcc":{}},"n-1_X":[[1,2]]}`},
		{`$target.n-1_X[00][01]`, `1.0`, `{"to":"a@x","opts":{"cc":["b@y","c@z"],"bcc":null},"n-1_X":[[1,1.0]]}`},
		{`$target.opts.cc[2]`, `1`, "invalid"},
		{`$target.subject`, `1`, "invalid"},
		{`$target.to.x`, `1`, "invalid"},
		{`$target.opts.bcc.x`, `1`, "invalid"},
		{`$target[0]`, `1`, "invalid"},
		{`$target.opts.cc.0`, `1`, "invalid"},
		{`$target.opts[0]`, `1`, "invalid"},
		{`$targets.x`, `1`, "invalid"},
		{`$targetfoo`, `1`, "invalid"},
		{`$target.`, `1`, "invalid"},
		{`$target[`, `1`, "invalid"},
		{`$target[-1]`, `1`, "invalid"},
		{`$target[1`, `1`, "invalid"},
		{`$target..a`, `1`, "invalid"},
		{`$target["a b"]`, `1`, "invalid"},
		{`$target['a']`, `1`, "invalid"},
		{`$target[*]`, `1`, "invalid"},
		{`$target .a`, `1`, "invalid"},
		{`$policy_targetx`, `1`, "invalid"},
		{`$target[""]`, `1`, "invalid"},
		{`$target["a`, `1`, "invalid"},
		{`$target["a"`, `1`, "invalid"},
		{`$target[]`, `1`, "invalid"},
		{`$target[99999999999999999999]`, `1`, "invalid"},
		{`$target.ä`, `1`, "invalid"},
		{`$target["to"`, `1`, "invalid"},
		{`$snapshot.x`, `1`, "forbidden"},
		{`target.x`, `1`, "forbidden"},
		{``, `1`, "forbidden"},
		{`$`, `1`, "forbidden"},
		{` $target`, `1`, "forbidden"},
		{`$Target`, `1`, "forbidden"},
	}
	for _, tt := range tests {
		t.Run(tt.path, func(t *testing.T) {
			v := agenthooks.Rewrite(tt.path, jsontext.Value(tt.value))
			_, s := opened(t, agenthooks.Options{Interceptors: []agenthooks.Registration{fixed(agenthooks.PreToolCall, v)}})
			out, err := s.EmitUnchecked(t.Context(), agenthooks.BeforeTool("1", "n", jsontext.Value(target)))
			if err != nil {
				t.Fatal(err)
			}
			switch tt.want {
			case "invalid", "forbidden", "envelope":
				want := map[string]string{"invalid": agenthooks.ReasonTransformInvalid, "forbidden": agenthooks.ReasonTransformTargetForbidden, "envelope": agenthooks.ReasonContextInvalid}[tt.want]
				if out.Proceeds || out.Record.Verdict.Reason != want {
					t.Errorf("got %+v, want %s", out.Record.Verdict, want)
				}
				return
			}
			if !out.Proceeds || string(out.Target()) != tt.want {
				t.Errorf("target %s (%+v)\nwant %s", out.Target(), out.Record.Verdict, tt.want)
			}
			if alias, ok := out.Context().Lookup("tool_call.args"); !ok || string(alias) != tt.want {
				t.Errorf("AH-4.3-1: args %s", alias)
			}
			if err := agenthooks.CheckPath(tt.path); err != nil {
				t.Errorf("CheckPath: %v", err)
			}
		})
	}
}

// TestWriteBack is AH-4.3-1, AH-4.3-2 and AH-4.3-3 at every point.
func TestWriteBack(t *testing.T) {
	tests := []struct {
		event agenthooks.Event
		alias string
		value string
	}{
		{agenthooks.External("user", "x"), "input", `{"content":"y","role":"user"}`},
		{agenthooks.BeforeModel("m", jsontext.Value(`[{"role":"user","content":"x"}]`)), "messages", `[]`},
		{agenthooks.AfterModel("m", agenthooks.Response{FinishReason: "stop"}), "response", `{"content":"y","tool_calls":[],"finish_reason":"stop"}`},
		{agenthooks.BeforeTool("1", "n", jsontext.Value(`{"a":1}`)), "tool_call.args", `{"b":2}`},
		{agenthooks.AfterTool("1", "n", jsontext.Value(`{"a":1}`), "r", false), "tool_result.value", `{"c":3}`},
		{agenthooks.Final("x"), "output", `{"content":"y"}`},
		{agenthooks.Startup("x"), "", `{"tools_registered":[]}`},
		{agenthooks.Shutdown("completed"), "", `{"reason":"error"}`},
	}
	for _, tt := range tests {
		t.Run(string(tt.event.Point()), func(t *testing.T) {
			var seen *agenthooks.Context
			h, err := agenthooks.New(agenthooks.Options{AgentID: "a", Framework: "f", Interceptors: []agenthooks.Registration{
				fixed(tt.event.Point(), agenthooks.Rewrite("$target", jsontext.Value(tt.value))),
			}, Sink: func(*agenthooks.Record) {}})
			if err != nil {
				t.Fatal(err)
			}
			s, _ := h.NewSession(agenthooks.SessionOptions{ID: "s"})
			if tt.event.Point() != agenthooks.AgentStartup {
				if _, err := s.Emit(t.Context(), agenthooks.Startup()); err != nil {
					t.Fatal(err)
				}
			}
			out, err := s.EmitUnchecked(t.Context(), tt.event)
			if err != nil {
				t.Fatal(err)
			}
			if tt.alias == "" {
				if r := out.Record; out.Proceeds || r.Verdict.Reason != agenthooks.ReasonTransformTargetForbidden || r.DecidedBy != nil ||
					r.Verdicts[0].Decision != "deny" || *r.InputIdentity != *r.EnforcedIdentity {
					t.Errorf("%+v", r)
				}
				return
			}
			seen = out.Context()
			alias, _ := seen.Lookup(tt.alias)
			if string(seen.Target()) != tt.value || string(alias) != tt.value {
				t.Errorf("target %s, alias %s, want %s", seen.Target(), alias, tt.value)
			}
			if *out.Record.InputIdentity == *out.Record.EnforcedIdentity {
				t.Error("identities do not differ")
			}
			plain, err := s.EmitUnchecked(t.Context(), agenthooks.Shutdown("completed"))
			if err != nil || plain.Record.Sequence != out.Record.Sequence+1 {
				t.Errorf("shutdown: %v", err)
			}
		})
	}
}

// TestCheckPath: the grammar alone decides, whether or not a place exists.
func TestCheckPath(t *testing.T) {
	for _, p := range []string{`$target`, `$policy_target`, `$target.a`, `$target["a"]`, `$target[0]`, `$target[007].a-b_C["d"]`, `$target[9223372036854775807]`} {
		if err := agenthooks.CheckPath(p); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	for _, p := range []string{`$target[""]`, `$target.`, `$target[`, `$target[]`, `$target["a]`, `$target["a"`, `$target[1`, `$target a`, `$target[9223372036854775808]`, `$target[+1]`, `$target["a"x]`} {
		var pe *agenthooks.PathError
		if err := agenthooks.CheckPath(p); !errors.As(err, &pe) || pe.Reason != agenthooks.ReasonTransformInvalid {
			t.Errorf("%s: %v", p, err)
		}
	}
}
