package agenthooks_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

func FuzzContext(f *testing.F) {
	for _, p := range []string{"agent_startup", "input", "pre_model_call", "post_model_call", "pre_tool_call", "post_tool_call", "output", "agent_shutdown"} {
		f.Add([]byte(object(base(p))))
	}
	for _, s := range []string{``, `{`, `{"spec":"agent-hooks/0.1","target":`, `{"sequence":9007199254740993}`, "{\"session\":{\"id\":\"\xff\"}}", `{"trace":{"trace_id":1}}`, `{"\u0073pec":1}`} {
		f.Add([]byte(s))
	}
	h, err := agenthooks.New(agenthooks.Options{AgentID: "a", Framework: "f", Interceptors: allows(1), MaxRecords: -1})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := h.EmitJSONUnchecked(context.Background(), in)
		if (err == nil) != out.Proceeds || out.Proceeds && out.Record.InputIdentity == nil {
			t.Fatalf("proceeds %v, %v", out.Proceeds, err)
		}
		raw, merr := json.Marshal(out.Record)
		if merr != nil || !json.Valid(raw) {
			t.Fatalf("record %s: %v", raw, merr)
		}
		c, perr := agenthooks.ParseContext(in)
		if out.Proceeds && perr != nil {
			t.Fatalf("passed, but %v", perr)
		}
		if perr != nil {
			return
		}
		if !bytes.Equal(c.JSON(), bytes.TrimSpace(in)) {
			t.Fatal("text changed")
		}
		text, err := c.Canonical()
		if (err == nil) != out.Proceeds {
			t.Fatalf("identity %v, proceeds %v", err, out.Proceeds)
		}
		if err == nil && !json.Valid(text) {
			t.Fatalf("canonical %s", text)
		}
	})
}

func FuzzVerdict(f *testing.F) {
	for _, s := range []string{
		`{"decision":"allow","warnings":[{"reason":"w","message":null}],"result_labels":["l"]}`, `{"decision":"deny","approval":{},"reason":"x"}`,
		`{"decision":"transform","transform":{"path":"$target.a","value":{"b":1.0}}}`, `{"decision":"allow","evidence":{"artefact":"a","verification_pointers":{"k":"v"}}}`,
		`{}`, `null`, `{"decision":"transform"}`, `{"decision":"deny","reason":"host_error:x"}`, "{\"decision\":\"\xff\"}", `{"decision":"allow","a":`,
	} {
		f.Add([]byte(s))
	}
	var raw []byte
	h, err := agenthooks.New(agenthooks.Options{AgentID: "a", Framework: "f", MaxRecords: -1, Timeout: -1, Interceptors: []agenthooks.Registration{
		at2(func() (verdict, error) { return agenthooks.RawVerdict(raw), nil }),
	}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		raw = in
		out, _ := h.EmitJSONUnchecked(context.Background(), jsontext.Value(contextWith(`{"a":{"b":[1,2]},"s":"x"}`)))
		rec, err := json.Marshal(out.Record)
		if err != nil || !json.Valid(rec) {
			t.Fatalf("record %s: %v", rec, err)
		}
		var v struct {
			Decision any `json:"decision"`
		}
		if json.Unmarshal(in, &v) != nil && out.Proceeds {
			t.Fatal("no JSON, and it proceeds")
		}
		if v.Decision != "allow" && v.Decision != "transform" && out.Proceeds {
			t.Fatalf("decision %v, and it proceeds", v.Decision)
		}
		if out.Proceeds && !json.Valid(out.Context().JSON()) {
			t.Fatalf("context %s", out.Context().JSON())
		}
	})
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{`$target`, `$target.a.b[1]`, `$policy_target["a"]`, `$target[00]`, `$target..`, `$targets`, ``, `$target["`, `$target[1`, `$target.ä`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		c, err := agenthooks.ParseContext([]byte(contextWith(`{"a":{"b":[1,2]},"x-1":"y"}`)))
		if err != nil {
			t.Fatal(err)
		}
		gerr := agenthooks.CheckPath(p)
		next, err := c.Set(p, "new")
		if err == nil {
			if gerr != nil || !json.Valid(next.JSON()) || !strings.Contains(string(next.Target()), "new") {
				t.Fatalf("%q: %v %s", p, gerr, next.JSON())
			}
			a, _ := next.Lookup("tool_call.args")
			if !bytes.Equal(a, next.Target()) {
				t.Fatalf("%q: alias %s, target %s", p, a, next.Target())
			}
		}
		if rooted := strings.HasPrefix(p, "$target") || strings.HasPrefix(p, "$policy_target"); gerr == nil && !rooted {
			t.Fatalf("%q has no root", p)
		}
		if !bytes.Equal(c.JSON(), []byte(contextWith(`{"a":{"b":[1,2]},"x-1":"y"}`))) {
			t.Fatal("the context changed")
		}
	})
}

func FuzzResolution(f *testing.F) {
	for _, s := range []string{`{"outcome":"approve","context_identity":"x","verdict":{"decision":"allow"}}`, `{"outcome":"unresolved","context_identity":null}`, `{`, `[]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := agenthooks.ParseResolution(in)
		if err == nil && !json.Valid(in) {
			t.Fatalf("%q was read as %+v", in, r)
		}
	})
}
