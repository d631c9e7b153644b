package ctk_test

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
	"github.com/holdpoint/holdpoint/agenthooks/ctk"
)

// A broken host is the reference host with one thing wrong. It gets at what the
// host is told, at what interceptors and resolver answer, at what they are
// shown, and at what the host reports.
type broken struct {
	ctk.Host
	setup     func(*ctk.Setup)
	verdict   func(point string, v object) // edits an interceptor's answer before the host has it
	raised    func(*ctk.Answer)
	context   func(object) // edits what interceptors are shown
	resolve   func(request, resolution object)
	record    func(*ctk.RunRecord)
	recordsOf func(object)
}

type object = map[string]any

func (b broken) Open(ctx context.Context, s *ctk.Setup) (ctk.Run, error) {
	c := *s
	c.Script = callbacks{c.Script, b}
	if b.setup != nil {
		b.setup(&c)
	}
	r, err := b.Host.Open(ctx, &c)
	if err != nil {
		return nil, err
	}
	return brokenRun{r, b}, nil
}

type brokenRun struct {
	inner ctk.Run
	b     broken
}

func (r brokenRun) Close() error { return r.inner.Close() }

func (r brokenRun) Run(ctx context.Context) (*ctk.RunRecord, error) {
	rec, err := r.inner.Run(ctx)
	if err != nil {
		return nil, err
	}
	if r.b.record != nil {
		r.b.record(rec)
	}
	if r.b.recordsOf != nil {
		for i, text := range rec.Records {
			o := decode(text)
			r.b.recordsOf(o)
			rec.Records[i] = encode(o)
		}
	}
	return rec, nil
}

type callbacks struct {
	ctk.Callbacks
	b broken
}

func (c callbacks) Intercept(ctx context.Context, i int, text jsontext.Value) (ctk.Answer, error) {
	if c.b.context != nil {
		o := decode(text)
		c.b.context(o)
		text = encode(o)
	}
	a, err := c.Callbacks.Intercept(ctx, i, text)
	if err == nil && c.b.raised != nil {
		c.b.raised(&a)
	}
	if err == nil && c.b.verdict != nil && a.JSON != nil {
		v := decode(a.JSON)
		c.b.verdict(decode(text)["interception_point"].(string), v)
		a.JSON = encode(v)
	}
	return a, err
}

func (c callbacks) Resolve(ctx context.Context, request jsontext.Value) (ctk.Answer, error) {
	a, err := c.Callbacks.Resolve(ctx, request)
	if err == nil && c.b.resolve != nil && a.JSON != nil {
		r := decode(a.JSON)
		c.b.resolve(decode(request), r)
		a.JSON = encode(r)
	}
	return a, err
}

// decode keeps number tokens.
func decode(text []byte) object {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	o := object{}
	if err := d.Decode(&o); err != nil {
		panic(err)
	}
	return o
}

func encode(o object) jsontext.Value {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(o); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

// become makes v another verdict.
func become(v object, decision string) {
	clear(v)
	v["decision"] = decision
}

// denyTurns is a host that takes a deny at one point for an allow.
func denyTurns(point string) func(string, object) {
	return func(p string, v object) {
		if p == point && v["decision"] == "deny" {
			become(v, "allow")
		}
	}
}

// ignores is a host on which a transform at one point has no effect.
func ignores(point string) func(string, object) {
	return func(p string, v object) {
		if p == point && v["decision"] == "transform" {
			become(v, "allow")
		}
	}
}

func drop(name string) func(object) { return func(o object) { delete(o, name) } }

func set(name string, v any) func(object) {
	return func(o object) {
		if _, ok := o[name]; ok {
			o[name] = v
		}
	}
}

// TestMutations breaks the host in one way at a time and names vectors that
// must notice. A kit that cannot fail proves nothing.
func TestMutations(t *testing.T) {
	other := "sha256:other"
	tests := []struct {
		name   string
		host   broken
		caught []string // prefixes of vector ids; each must fail
	}{
		{"a deny at input is ignored", broken{verdict: denyTurns("input")}, []string{"AH-CTK-011", "HP-CTK-007"}},
		{"a deny at startup is ignored", broken{verdict: denyTurns("agent_startup")}, []string{"AH-CTK-9??-startup-deny"}},
		{"a deny before a model call is ignored", broken{verdict: denyTurns("pre_model_call")}, []string{"AH-CTK-9??-pre-model-deny"}},
		{"a deny after a model call is ignored", broken{verdict: denyTurns("post_model_call")}, []string{"AH-CTK-111", "AH-CTK-113", "AH-CTK-9??-post-model-deny", "AH-CTK-9??-stream-worked-example"}},
		{"a deny before a tool call is ignored", broken{verdict: denyTurns("pre_tool_call")}, []string{"AH-CTK-010", "AH-CTK-9??-pairs"}},
		{"a denied tool result is used", broken{verdict: denyTurns("post_tool_call")}, []string{"AH-CTK-100"}},
		{"a deny at output is ignored", broken{verdict: denyTurns("output")}, []string{"AH-CTK-9??-whole-response-waits"}},
		{"a transform at input has no effect", broken{verdict: ignores("input")}, []string{"AH-CTK-9??-transform-every-point"}},
		{"a transform of messages has no effect", broken{verdict: ignores("pre_model_call")}, []string{"AH-CTK-9??-transform-every-point"}},
		{"a transform of a response has no effect", broken{verdict: ignores("post_model_call")}, []string{"AH-CTK-9??-transform-every-point", "AH-CTK-9??-stream-transform-extends"}},
		{"a transform of arguments has no effect", broken{verdict: ignores("pre_tool_call")}, []string{"AH-CTK-020", "AH-CTK-084"}},
		{"a transform of a result has no effect", broken{verdict: ignores("post_tool_call")}, []string{"AH-CTK-9??-transform-every-point"}},
		{"a transform of the output has no effect", broken{verdict: ignores("output")}, []string{"AH-CTK-9??-transform-every-point", "HP-CTK-004"}},
		{"a forbidden transform is passed over", broken{verdict: ignores("agent_startup")}, []string{"AH-CTK-022"}},
		{"a forbidden transform at shutdown is passed over", broken{verdict: ignores("agent_shutdown")}, []string{"AH-CTK-9??-transform-forbidden-shutdown"}},
		{"a liftable deny is plain", broken{verdict: func(_ string, v object) { delete(v, "approval") }}, []string{"AH-CTK-030", "AH-CTK-082", "AH-CTK-9??-resume-worked-example"}},
		{"every deny is liftable", broken{verdict: func(_ string, v object) {
			if v["decision"] == "deny" {
				v["approval"] = object{}
			}
		}}, []string{"AH-CTK-9??-run-all-plain-deny-wins", "AH-CTK-9??-resume-later-plain-deny"}},
		{"a failing interceptor allows", broken{raised: func(a *ctk.Answer) {
			if a.Raise {
				*a = ctk.Answer{JSON: jsontext.Value(`{"decision":"allow"}`)}
			}
		}}, []string{"AH-CTK-070", "AH-CTK-097", "AH-CTK-9??-dead-control"}},
		{"a broken verdict allows", broken{verdict: func(_ string, v object) {
			if v["decision"] == "transform" && v["transform"] == nil {
				become(v, "allow")
			}
		}}, []string{"AH-CTK-071"}},
		{"evidence is dropped before its limit", broken{verdict: func(_ string, v object) { delete(v, "evidence") }}, []string{"AH-CTK-092", "AH-CTK-9??-bare-allow", "AH-CTK-9??-evidence-limit"}},
		{"warnings are dropped", broken{verdict: func(_ string, v object) { delete(v, "warnings") }}, []string{"AH-CTK-050", "AH-CTK-9??-strictest-conflict-rejected"}},
		{"labels are dropped", broken{verdict: func(_ string, v object) { delete(v, "result_labels") }}, []string{"HP-CTK-002", "AH-CTK-9??-resume-worked-example"}},
		{"the last interceptor is not asked", broken{setup: func(s *ctk.Setup) { s.Interceptors = max(0, s.Interceptors-1) }}, []string{"AH-CTK-081", "AH-CTK-001"}},
		{"a zero-interceptor host allows", broken{setup: func(s *ctk.Setup) { s.Interceptors = max(1, s.Interceptors) }}, []string{"AH-CTK-061", "AH-CTK-101", "AH-CTK-9??-no-interceptor"}},
		{"the profile is always first_deny", broken{setup: func(s *ctk.Setup) { s.Composition = agenthooks.Composition{} }}, []string{"AH-CTK-080", "AH-CTK-081", "AH-CTK-085", "AH-CTK-087"}},
		{"the profile is always run_all", broken{setup: func(s *ctk.Setup) { s.Composition = agenthooks.Composition{Profile: agenthooks.RunAll} }}, []string{"AH-CTK-084", "AH-CTK-9??-stop-worked-example", "AH-CTK-9??-resume-worked-example"}},
		{"the approval knob is ignored", broken{setup: func(s *ctk.Setup) { s.Composition.OnApproval = "" }}, []string{"AH-CTK-080", "AH-CTK-9??-resume-all-allow"}},
		{"the conflict knob is ignored", broken{setup: func(s *ctk.Setup) { s.Composition.OnTransformConflict = "" }}, []string{"AH-CTK-9??-strictest-conflict-approval"}},
		{"the disagreement knob is ignored", broken{setup: func(s *ctk.Setup) { s.Composition.OnDisagreement = "" }}, []string{"AH-CTK-9??-unanimous-approval"}},
		{"evaluate_only enforces", broken{setup: func(s *ctk.Setup) { s.Mode = agenthooks.Enforce }}, []string{"AH-CTK-040", "AH-CTK-101", "AH-CTK-9??-evaluate-only-transform"}},
		{"enforce only evaluates", broken{setup: func(s *ctk.Setup) { s.Mode = agenthooks.EvaluateOnly }}, []string{"AH-CTK-010", "AH-CTK-011", "AH-CTK-020"}},
		{"the null provider is not null", broken{setup: func(s *ctk.Setup) { d := agenthooks.DefaultIdentity; s.Identity = &d }}, []string{"AH-CTK-089", "AH-CTK-096", "AH-CTK-9??-null-provider"}},
		{"nothing is redacted", broken{setup: func(s *ctk.Setup) { s.Redact = nil }}, []string{"AH-CTK-099", "AH-CTK-9??-redaction"}},
		{"the resolver is not registered", broken{setup: func(s *ctk.Setup) { s.Resolver = false }}, []string{"AH-CTK-030", "AH-CTK-031"}},
		{"the echo is not checked", broken{resolve: func(req, r object) { r["context_identity"] = req["context_identity"] }}, []string{"AH-CTK-9??-resolution-other-identity", "AH-CTK-9??-resolution-identity-first"}},
		{"an unresolved request is approved", broken{resolve: func(_, r object) {
			if r["outcome"] == "unresolved" {
				r["outcome"], r["verdict"] = "approve", object{"decision": "allow"}
			}
		}}, []string{"AH-CTK-9??-resolution-unresolved", "AH-CTK-9??-resolution-no-rule"}},
		{"a rejection is an approval", broken{resolve: func(_, r object) {
			if r["outcome"] == "reject" {
				r["outcome"], r["verdict"] = "approve", object{"decision": "allow"}
			}
		}}, []string{"AH-CTK-031", "AH-CTK-9??-strictest-conflict-rejected"}},
		{"an approval carries what it likes", broken{resolve: func(_, r object) {
			if v, _ := r["verdict"].(object); v["decision"] == "deny" && r["outcome"] == "approve" {
				r["verdict"] = object{"decision": "allow"}
			}
		}}, []string{"AH-CTK-098", "AH-CTK-9??-resolution-approve-deny"}},
		{"sequence is always 0", broken{context: set("sequence", 0)}, []string{"AH-CTK-001", "AH-CTK-003"}},
		{"sequence is text", broken{context: func(o object) { o["sequence"] = "7" }}, []string{"AH-CTK-001", "AH-CTK-003"}},
		{"sequence starts at 1", broken{context: func(o object) {
			n, _ := o["sequence"].(json.Number).Int64()
			o["sequence"] = n + 1
		}}, []string{"AH-CTK-003"}},
		{"a context has no timestamp", broken{context: drop("timestamp")}, []string{"AH-CTK-001"}},
		{"a context has no target", broken{context: drop("target")}, []string{"AH-CTK-001"}},
		{"target and its alias differ", broken{context: func(o object) {
			if c, ok := o["tool_call"].(object); ok && o["interception_point"] == "pre_tool_call" {
				c["args"] = object{}
			}
		}}, []string{"AH-CTK-010", "AH-CTK-9??-transform-every-point"}},
		{"a response has no tool_calls", broken{context: func(o object) {
			if r, ok := o["response"].(object); ok {
				delete(r, "tool_calls")
			}
		}}, []string{"AH-CTK-002", "AH-CTK-9??-no-tools"}},
		{"a record holds the transform's value", broken{recordsOf: func(o object) {
			if t, ok := o["verdict"].(object)["transform"].(object); ok {
				t["value"] = "https://safe"
			}
		}}, []string{"AH-CTK-093", "AH-CTK-9??-record-payload-free"}},
		{"a record holds the target", broken{recordsOf: func(o object) { o["target"] = "SECRET" }}, []string{"AH-CTK-9??-record-payload-free"}},
		{"a record holds the approval's parameters", broken{recordsOf: func(o object) {
			if a, ok := o["verdict"].(object)["approval"].(object); ok {
				a["ticket"] = "T-1"
			}
		}}, []string{"AH-CTK-9??-record-payload-free"}},
		{"messages are not cut", broken{recordsOf: func(o object) {
			if m, ok := o["verdict"].(object)["message"].(string); ok {
				o["verdict"].(object)["message"] = strings.ReplaceAll(m, "…", "y")
			}
		}}, []string{"AH-CTK-9??-truncation"}},
		{"decided_by is missing", broken{recordsOf: drop("decided_by")}, []string{"AH-CTK-094", "AH-CTK-9??-record-payload-free"}},
		{"decided_by is always 0", broken{recordsOf: set("decided_by", 0)}, []string{"AH-CTK-094", "AH-CTK-9??-resume-all-allow"}},
		{"fold_truncated is always false", broken{recordsOf: set("fold_truncated", false)}, []string{"AH-CTK-030", "AH-CTK-9??-stop-worked-example"}},
		{"resolved_by is missing", broken{recordsOf: drop("resolved_by")}, []string{"AH-CTK-030", "AH-CTK-031"}},
		{"the composition is not on the record", broken{recordsOf: drop("composition")}, []string{"AH-CTK-030", "AH-CTK-081"}},
		{"the provider is not on the record", broken{recordsOf: drop("identity_provider")}, []string{"AH-CTK-089", "AH-CTK-096"}},
		{"records have no timestamp", broken{recordsOf: drop("timestamp")}, []string{"AH-CTK-9??-record-payload-free"}},
		{"no records are reported", broken{record: func(r *ctk.RunRecord) { r.Records = nil }}, []string{"AH-CTK-050", "AH-CTK-093"}},
		{"no identities are reported", broken{record: func(r *ctk.RunRecord) { r.Identities = nil }}, []string{"AH-CTK-020", "AH-CTK-040"}},
		{"identities never change", broken{record: func(r *ctk.RunRecord) {
			for i := range r.Identities {
				r.Identities[i].Enforced = r.Identities[i].Input
			}
		}}, []string{"AH-CTK-020", "AH-CTK-093"}},
		{"identities always change", broken{record: func(r *ctk.RunRecord) {
			for i := range r.Identities {
				r.Identities[i].Enforced = &other
			}
		}}, []string{"AH-CTK-040", "AH-CTK-104"}},
		{"the whole stream is released after a deny", broken{record: func(r *ctk.RunRecord) {
			all := *r.ReleasedOutput + "SECRET-PART"
			r.ReleasedOutput = &all
		}}, []string{"AH-CTK-111", "AH-CTK-9??-stream-worked-example"}},
		{"nothing is released before the end", broken{record: func(r *ctk.RunRecord) { none := ""; r.ReleasedOutput = &none }}, []string{"AH-CTK-110", "AH-CTK-111"}},
		{"released text is not reported", broken{record: func(r *ctk.RunRecord) { r.ReleasedOutput = nil }}, []string{"AH-CTK-110", "AH-CTK-113"}},
		{"withheld text is persisted", broken{record: func(r *ctk.RunRecord) {
			r.Persisted = jsontext.Value(`{"log":["DROP-THIS-SECRET","qq ","SECRET"]}`)
		}}, []string{"AH-CTK-113", "AH-CTK-9??-stream-worked-example", "HP-CTK-007"}},
		{"escaped text is persisted", broken{record: func(r *ctk.RunRecord) {
			r.Persisted = jsontext.Value(`"DROP\u002dTHIS\u002dSECRET"`)
		}}, []string{"AH-CTK-113"}},
		{"a blocked run hands out its result", broken{record: func(r *ctk.RunRecord) { r.FinalOutput = jsontext.Value(`"leaked"`) }}, []string{"AH-CTK-096", "AH-CTK-111"}},
		{"a blocked run says that it completed", broken{record: func(r *ctk.RunRecord) { r.Outcome = ctk.Completed }}, []string{"AH-CTK-011", "AH-CTK-022", "AH-CTK-061"}},
		{"a tool call is made twice", broken{record: func(r *ctk.RunRecord) { r.ToolInvocations = append(r.ToolInvocations, r.ToolInvocations...) }}, []string{"AH-CTK-001", "AH-CTK-020"}},
		{"a blocked tool runs", broken{record: func(r *ctk.RunRecord) {
			r.ToolInvocations = []ctk.Invocation{{Name: "pay", Args: jsontext.Value(`{}`)}, {Name: "wire_transfer", Args: jsontext.Value(`{}`)}}
		}}, []string{"AH-CTK-031", "AH-CTK-9??-post-model-deny"}},
		{"numbers are rounded", broken{record: func(r *ctk.RunRecord) {
			for i := range r.ToolInvocations {
				r.ToolInvocations[i].Args = bytes.ReplaceAll(r.ToolInvocations[i].Args, []byte("9007199254740991"), []byte("9007199254740992"))
			}
		}}, []string{"AH-CTK-9??-number-fidelity"}},
	}
	vs := append(public(t), ctk.Builtin()...)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.host.Host = ctk.Reference()
			for _, prefix := range tt.caught {
				i := slices.IndexFunc(vs, func(v *ctk.Vector) bool { return like(v.ID, prefix) })
				if i < 0 {
					t.Fatalf("there is no vector %s", prefix)
				}
				r := conform(t, tt.host, vs[i:i+1])
				want(t, &r.Results[0], ctk.Fail)
				if len(r.Results[0].Failures) == 0 {
					t.Errorf("%s fails without saying why", vs[i].ID)
				}
			}
		})
	}
}

// like compares an id with a prefix in which ? is any one byte.
func like(id, prefix string) bool {
	if len(id) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if prefix[i] != '?' && prefix[i] != id[i] {
			return false
		}
	}
	return true
}
