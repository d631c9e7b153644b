package harness_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

// A rule is a test that carries the id of a rule of the AHP 0.1 contract.
type rule struct {
	id   string
	test func(t *testing.T)
}

// TestRules runs one subtest for each rule of the contract that shows on the
// harness or its carriers. Their names feed docs/conformance.
func TestRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range slices.Concat(messageRules, eventRules, chainRules, failureRules, stdioRules, httpRules, registrationRules) {
		if seen[r.id] {
			t.Errorf("%s stands there twice", r.id)
		}
		seen[r.id] = true
		t.Run(r.id, r.test)
	}
}

const backendID = "net.acme.guard"

// withLocal makes a harness over one local interceptor.
func withLocal(t *testing.T, policy ahp.FailurePolicy, timeout time.Duration, f transport.Local, edit ...func(*harness.Options)) *rig {
	t.Helper()
	return open(t, func(o *harness.Options) {
		o.Local = map[string]transport.Local{backendID: f}
		for _, e := range edit {
			e(o)
		}
	}, intercept(backendID, &ahp.LocalTransport{}, timeout, policy))
}

// decide settles one call over a local backend that answers with what result
// builds for the id.
func decide(t *testing.T, policy ahp.FailurePolicy, result func(id string) string) (settle.Settlement, settle.Record) {
	t.Helper()
	r := withLocal(t, policy, long, (&respond{result: result}).local)
	s, err := settleOne(t, r, toolBefore())
	if err != nil {
		t.Errorf("error %v", err)
	}
	return s, r.rec.one(t)
}

// fails checks that an answer is a failure of class under both policies.
func fails(t *testing.T, class ahp.FailureClass, result func(id string) string) {
	t.Helper()
	for _, policy := range []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed} {
		s, rec := decide(t, policy, result)
		if s.Proceeds() != (policy == ahp.FailOpen) {
			t.Errorf("%s: proceeds %v", policy, s.Proceeds())
		}
		if got := rec.Hops[0]; got.Class != class || got.Policy != policy {
			t.Errorf("%s: class %q by %q, want %q", policy, got.Class, got.Policy, class)
		}
	}
}

// captured returns what one call sends: the request and the notification.
func captured(t *testing.T, ev *ahp.Event, edit ...func(*harness.Options)) (request, notification map[string]any) {
	t.Helper()
	rs := &respond{}
	b := intercept(backendID, &ahp.LocalTransport{}, long, ahp.FailClosed)
	b.Subscriptions = append(b.Subscriptions, ahp.Subscription{
		Mode:   ahp.ModeObserve,
		Events: []ahp.EventType{ahp.ToolBefore, ahp.ToolAfter, ahp.ToolError, ahp.SessionStart, ahp.SessionEnd},
	})
	r := open(t, func(o *harness.Options) {
		o.Local = map[string]transport.Local{backendID: rs.local}
		for _, e := range edit {
			e(o)
		}
	}, b)
	if _, err := settleOne(t, r, ev); err != nil {
		t.Fatal(err)
	}
	for _, frame := range rs.seen() {
		var m map[string]any
		if err := json.Unmarshal([]byte(frame), &m); err != nil {
			t.Fatalf("%v in %s", err, frame)
		}
		if m["method"] == "hooks/intercept" {
			request = m
		} else {
			notification = m
		}
	}
	return request, notification
}

// at walks m by member names.
func at(t *testing.T, m any, path ...string) any {
	t.Helper()
	for _, p := range path {
		o, ok := m.(map[string]any)
		if !ok {
			t.Fatalf("%v: no object before %q", path, p)
		}
		m = o[p]
	}
	return m
}

var messageRules = []rule{
	{"V-ROLE-1", func(t *testing.T) {
		// Late, wrong or silent: none of it makes a refused operation run.
		for _, f := range []transport.Local{
			func(ctx context.Context, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() },
			func(context.Context, []byte) ([]byte, error) { return []byte(`{"allow":true}`), nil },
			func(context.Context, []byte) ([]byte, error) { return nil, nil },
		} {
			s, _ := settleOne(t, withLocal(t, ahp.FailClosed, 50*time.Millisecond, f), toolBefore())
			if s.Proceeds() {
				t.Error("proceeds")
			}
		}
	}},
	{"V-ROLE-2", func(t *testing.T) {
		for _, hostile := range []string{
			"", "\x00", "[", strings.Repeat("[", 100_000), `{"jsonrpc":"2.0"`, "\xff\xfe",
			`{"jsonrpc":"2.0","id":"x","result":{"protocolVersion":"0.1","effects":[]}}`, `null`, `1e999999`,
			`{"jsonrpc":"2.0","id":{"a":1},"result":[]}`, strings.Repeat(" ", 1<<20),
		} {
			s, rec := decide(t, ahp.FailClosed, func(string) string { return hostile })
			if s.Proceeds() || rec.Decision != settle.DecisionSynthetic {
				t.Errorf("%.40q: %s", hostile, rec.Outcome)
			}
		}
	}},
	{"AHP-RPC-001", func(t *testing.T) {
		req, note := captured(t, toolBefore())
		if req["jsonrpc"] != "2.0" || note["jsonrpc"] != "2.0" {
			t.Errorf("request %v, notification %v", req["jsonrpc"], note["jsonrpc"])
		}
	}},
	{"AHP-RPC-002", func(t *testing.T) {
		req, note := captured(t, toolBefore())
		if req["method"] != "hooks/intercept" || note["method"] != "hooks/observe" {
			t.Errorf("request %v, notification %v", req["method"], note["method"])
		}
	}},
	{"V-RPC-1", func(t *testing.T) { fails(t, malformed, func(id string) string { return "[" + none(id) + "]" }) }},
	{"AHP-VER-001", func(t *testing.T) {
		req, note := captured(t, toolBefore())
		if at(t, req, "params", "protocolVersion") != "0.1" || at(t, note, "params", "protocolVersion") != "0.1" {
			t.Errorf("request %v, notification %v", req, note)
		}
		fails(t, ahp.FailUnsupported, func(id string) string { return strings.Replace(none(id), `"0.1"`, `"0.2"`, 1) })
		fails(t, missing, func(id string) string { return strings.Replace(none(id), `"protocolVersion":"0.1",`, "", 1) })
	}},
	{"AHP-CORE-003", func(t *testing.T) {
		s, rec := decide(t, ahp.FailClosed, func(id string) string {
			return `{"x":1,"jsonrpc":"2.0","id":"` + id + `","result":{"x":{"y":[]},"protocolVersion":"0.1","effects":[{"x":1,"type":"deny","reason":"no"}]}}`
		})
		if s.Proceeds() || rec.Decision != settle.DecisionExplicit {
			t.Errorf("%+v", rec)
		}
	}},
	{"V-UNK-1", func(t *testing.T) {
		fails(t, effect, func(id string) string { return answer(id, `[{"type":"quarantine"}]`) })
	}},
	{"V-JSON-1", func(t *testing.T) {
		ev := toolBefore()
		ev.Tool.Input = ahp.Raw(`"{\"cmd\":\"ls\"}"`)
		refusedEvent(t, ev)
	}},
	{"V-ENV-1", func(t *testing.T) {
		req, note := captured(t, toolBefore())
		if id := at(t, req, "params", "event", "id"); id == "" || req["id"] != id || at(t, note, "params", "event", "id") != id {
			t.Errorf("request %v, notification %v", req, note)
		}
	}},
	{"V-ENV-2", func(t *testing.T) {
		fails(t, ahp.FailIDMismatch, func(string) string { return none("another") })
	}},
	{"V-ENV-3", func(t *testing.T) {
		fails(t, malformed, func(id string) string {
			return strings.Replace(none(id), `"result":`, `"error":{"code":1,"message":"x"},"result":`, 1)
		})
		fails(t, malformed, func(id string) string { return `{"jsonrpc":"2.0","id":"` + id + `"}` })
	}},
	{"V-ENV-4", func(t *testing.T) {
		_, note := captured(t, toolBefore())
		if _, has := note["id"]; has {
			t.Errorf("the notification has an id: %v", note)
		}
		if _, has := at(t, note, "params").(map[string]any)["capabilities"]; has {
			t.Error("the notification has capabilities")
		}
	}},
	{"V-AMB-2", func(t *testing.T) {
		req, _ := captured(t, toolBefore())
		if _, ok := req["id"].(string); !ok {
			t.Errorf("id is %T", req["id"])
		}
		fails(t, ahp.FailIDMismatch, func(string) string { return `{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":"0.1","effects":[]}}` })
	}},
	{"V-AMB-20", func(t *testing.T) {
		fails(t, malformed, func(id string) string {
			return strings.Replace(none(id), `"effects":[]`, `"effects":[{"type":"deny","reason":"no"}],"effects":[]`, 1)
		})
	}},
	{"V-ERR-1", func(t *testing.T) {
		for _, code := range []string{"-32003", "-32004", "-32700", "-32600", "-32601", "-32602", "0", "42"} {
			fails(t, ahp.FailRPCError, func(id string) string {
				return `{"jsonrpc":"2.0","id":"` + id + `","error":{"code":` + code + `,"message":"x"}}`
			})
		}
		for _, code := range []string{"-32001", "-32002"} {
			fails(t, ahp.FailUnsupported, func(id string) string {
				return `{"jsonrpc":"2.0","id":"` + id + `","error":{"code":` + code + `,"message":"x"}}`
			})
		}
	}},
}

// refusedEvent checks that an event which cannot be sent is refused whatever the
// policy says, that nobody is asked, and that there is a record.
func refusedEvent(t *testing.T, ev *ahp.Event) {
	t.Helper()
	for _, policy := range []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed} {
		rs := &respond{}
		r := withLocal(t, policy, long, rs.local)
		s, err := settleOne(t, r, ev)
		if s.Proceeds() || !errIs(err, harness.ErrEvent) {
			t.Errorf("%s: proceeds %v, error %v", policy, s.Proceeds(), err)
		}
		if len(rs.seen()) > 0 {
			t.Errorf("%s: it was sent", policy)
		}
		if rec := r.rec.one(t); rec.Class != ahp.FailEvent {
			t.Errorf("%s: class %s", policy, rec.Class)
		}
	}
}

var eventRules = []rule{
	{"V-EVT-1", func(t *testing.T) {
		r := withLocal(t, ahp.FailClosed, long, (&respond{}).local)
		ids := map[string]bool{}
		for range 1000 {
			if _, err := settleOne(t, r, toolBefore()); err != nil {
				t.Fatal(err)
			}
		}
		for _, rec := range r.rec.all() {
			if rec.EventID == "" || ids[rec.EventID] || ids[rec.ID] {
				t.Fatalf("id %q or %q again", rec.EventID, rec.ID)
			}
			ids[rec.EventID], ids[rec.ID] = true, true
		}
	}},
	{"V-EVT-2", func(t *testing.T) {
		t.Setenv("SECRET_TOKEN", "s3cr3t-value")
		req, _ := captured(t, toolBefore())
		if got := at(t, req, "params", "event", "source"); got != "urn:example:test" {
			t.Errorf("source %v", got)
		}
		o := options(harness.Discard)
		o.Source = "https://user:s3cr3t@example.org/"
		if _, err := harness.New(&ahp.Registration{}, o); err == nil || !strings.Contains(err.Error(), "user information") || strings.Contains(err.Error(), "s3cr3t") {
			t.Errorf("error %v", err)
		}
	}},
	{"V-EVT-3", func(t *testing.T) {
		bin := t.TempDir() + "/log"
		r := open(t, func(o *harness.Options) { o.MinimalSession = true },
			intercept(backendID, stdio(t, ahp.PerEvent, "-log", bin), long, ahp.FailClosed))
		ev := toolBefore()
		ev.Session.Unknown = ahp.Members{{Name: "x", Value: ahp.Raw(`1`)}}
		if s, err := settleOne(t, r, ev); !s.Proceeds() || err != nil {
			t.Fatalf("%+v, %v", s, err)
		}
		line := logged(t, bin)[0]
		if !strings.Contains(line, `"session":{"id":"s-88"}`) {
			t.Errorf("sent %s", line)
		}
	}},
	{"V-TOOL-1", func(t *testing.T) {
		rs := &respond{}
		all := observe(backendID, &ahp.LocalTransport{}, ahp.ToolBefore, ahp.ToolAfter, ahp.ToolError)
		r := open(t, func(o *harness.Options) { o.Local = map[string]transport.Local{backendID: rs.local} }, all)
		for _, typ := range []ahp.EventType{ahp.ToolBefore, ahp.ToolAfter, ahp.ToolError} {
			ev := toolBefore()
			ev.Type = typ
			if typ == ahp.ToolError {
				ev.Tool.Error = ahp.Raw(`{"message":"x"}`)
			}
			if _, err := settleOne(t, r, ev); err != nil {
				t.Fatal(err)
			}
		}
		frames := rs.seen()
		if len(frames) != 3 {
			t.Fatalf("%d notifications", len(frames))
		}
		for _, f := range frames {
			if !strings.Contains(f, `"callId":"tc-9001"`) {
				t.Error(f)
			}
		}
	}},
	{"V-TOOL-3", func(t *testing.T) {
		for _, input := range []string{`[]`, `"x"`, `null`, ``, `{`} {
			ev := toolBefore()
			ev.Tool.Input = ahp.Raw(input)
			refusedEvent(t, ev)
		}
	}},
	{"AHP-TB-001", func(t *testing.T) {
		for name, edit := range map[string]func(*ahp.Event){
			"tool":       func(e *ahp.Event) { e.Tool = nil },
			"call id":    func(e *ahp.Event) { e.Tool.CallID = "" },
			"name":       func(e *ahp.Event) { e.Tool.Name = "" },
			"kind":       func(e *ahp.Event) { e.Tool.Kind = "" },
			"session id": func(e *ahp.Event) { e.Session.ID = "" },
			"output":     func(e *ahp.Event) { e.Tool.Output = ahp.Raw(`1`) },
		} {
			t.Run(name, func(t *testing.T) {
				ev := toolBefore()
				edit(ev)
				refusedEvent(t, ev)
			})
		}
	}},
	{"V-LIFE-4", func(t *testing.T) {
		rs := &respond{result: func(id string) string { return answer(id, `[{"type":"deny","reason":"Ask\nfor \u202ea ticket."}]`) }}
		s, _ := settleOne(t, withLocal(t, ahp.FailOpen, long, rs.local), toolBefore())
		if s.Reason != `Ask\nfor \u202ea ticket.` {
			t.Errorf("reason %q", s.Reason)
		}
		r := withLocal(t, ahp.FailOpen, long, rs.local, func(o *harness.Options) { o.HideReasons = true })
		s, _ = settleOne(t, r, toolBefore())
		if s.Reason != harness.HiddenReason || s.Proceeds() {
			t.Errorf("hidden reason %q", s.Reason)
		}
		if rec := r.rec.one(t); !strings.Contains(rec.Reason, "ticket") {
			t.Errorf("the record lost the reason: %q", rec.Reason)
		}
	}},
	{"V-LIFE-7", func(t *testing.T) {
		for _, typ := range []ahp.EventType{ahp.ToolAfter, ahp.SessionStart, ahp.SessionEnd} {
			ev := toolBefore()
			ev.Type = typ
			if !typ.HasTool() {
				ev.Tool = nil
			}
			if req, note := captured(t, ev); req != nil || note == nil {
				t.Errorf("%s: request %v, notification %v", typ, req, note)
			}
		}
	}},
	{"V-NAT-1", func(t *testing.T) {
		rs := &respond{}
		plain := intercept("net.acme.plain", &ahp.LocalTransport{}, long, ahp.FailClosed)
		native := intercept("net.acme.native", &ahp.LocalTransport{}, long, ahp.FailClosed)
		native.Subscriptions[0].IncludeNative = true
		r := open(t, func(o *harness.Options) {
			o.Local = map[string]transport.Local{"net.acme.plain": rs.local, "net.acme.native": rs.local}
		}, plain, native)
		ev := toolBefore()
		ev.Native = &ahp.Native{Provider: "p", EventName: "PreToolUse", Payload: ahp.Raw(`{"a":1}`)}
		if _, err := settleOne(t, r, ev); err != nil {
			t.Fatal(err)
		}
		frames := rs.seen()
		if strings.Contains(frames[0], `"native"`) || !strings.Contains(frames[1], `"native":{`) {
			t.Errorf("plain %s\nnative %s", frames[0], frames[1])
		}
	}},
	{"AHP-EXT-001", func(t *testing.T) {
		ev := toolBefore()
		ev.Extensions, ev.HasExtensions = ahp.Members{{Name: "foo", Value: ahp.Raw(`{}`)}}, true
		refusedEvent(t, ev)
		ev.Extensions[0].Name = "com.foo"
		if req, _ := captured(t, ev); at(t, req, "params", "event", "extensions", "com.foo") == nil {
			t.Error("the extension got lost")
		}
	}},
	{"V-EXT-2", func(t *testing.T) {
		ev := toolBefore()
		ev.Extensions, ev.HasExtensions = ahp.Members{{Name: "com.foo.approved", Value: ahp.Raw(`true`)}}, true
		r := withLocal(t, ahp.FailOpen, long, (&respond{result: denial}).local)
		if s, _ := settleOne(t, r, ev); s.Proceeds() {
			t.Error("an extension changed the decision")
		}
		s, _ := decide(t, ahp.FailClosed, func(id string) string {
			return strings.Replace(denial(id), `"effects"`, `"extensions":{"com.foo.approved":true},"effects"`, 1)
		})
		if s.Proceeds() {
			t.Error("an extension of the answer changed the decision")
		}
	}},
	{"V-AMB-12", func(t *testing.T) {
		ev := toolBefore()
		ev.Type = ahp.ToolAfter // its output was redacted away
		if _, note := captured(t, ev); at(t, note, "params", "event", "tool", "callId") != "tc-9001" {
			t.Errorf("sent %v", note)
		}
	}},
	{"V-SEC-1", func(t *testing.T) {
		// Less can be sent, shown and accepted; and the record is free of payload.
		r := withLocal(t, ahp.FailClosed, long, (&respond{result: denial}).local, func(o *harness.Options) {
			o.MinimalSession, o.HideReasons, o.MaxEventBytes = true, true, 4096
		})
		if s, _ := settleOne(t, r, toolBefore()); s.Reason != harness.HiddenReason {
			t.Errorf("reason %q", s.Reason)
		}
		rec := r.rec.one(t)
		if line := string(rec.MarshalAppend(nil)); strings.Contains(line, "terraform") || strings.Contains(line, "/srv/app") {
			t.Errorf("payload in the record: %s", line)
		}
	}},
	{"V-SEC-2", func(t *testing.T) {
		ev := toolBefore()
		ev.Native = &ahp.Native{Provider: "p", EventName: "PreToolUse", Payload: ahp.Raw(`{"a":1}`)}
		req, note := captured(t, ev)
		if at(t, req, "params", "event", "native") != nil || at(t, note, "params", "event", "native") != nil {
			t.Error("native data was sent")
		}
	}},
	{"V-CAP-1", func(t *testing.T) {
		req, _ := captured(t, toolBefore())
		if got, _ := at(t, req, "params", "capabilities", "effects").([]any); !slices.Contains(got, any("deny")) {
			t.Errorf("capabilities %v", at(t, req, "params", "capabilities"))
		}
	}},
}
