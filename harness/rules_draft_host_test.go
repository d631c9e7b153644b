package harness_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/internal/badbackend/badtest"
	"github.com/holdpoint/holdpoint/settle"
)

// typesOf lists the event types that a peer was told, in order.
func typesOf(p *peer) string {
	var all []string
	for _, m := range p.told() {
		var s string
		_ = json.Unmarshal(m.Params.Event["type"], &s)
		all = append(all, s)
	}
	return strings.Join(all, " ")
}

// hostRules are rules about what a host does with the engine: the tests are small
// hosts.
var hostRules = []draftRule{
	{"D-TE-1", func(t *testing.T) {
		// The tool runs when the last interceptor has answered, and not before.
		var o order
		var k cast
		for _, id := range []string{"net.acme.a", "net.acme.b"} {
			k.add(id, &peer{says: func(message) string { o.note("asked"); return "[]" }}, asks(ahp.FailClosed, "tool.before"))
		}
		h := k.open(t, nil)
		_, s, err := harness.Settle(t.Context(), h.Harness, harness.ToolBefore[struct{}]{Tool: ahp.Tool{CallID: "c", Name: "run"}})
		if s.Proceeds() {
			o.note("ran")
		}
		if o.String() != "asked asked ran" || err != nil {
			t.Errorf("%s, %v", o.String(), err)
		}
	}},
	{"D-TE-4", func(t *testing.T) {
		var k cast
		p := k.add("net.acme.watch", &peer{}, watches("tool.*"))
		h := k.open(t, nil)
		tool := ahp.Tool{CallID: "call-7", Name: "run"}
		_, s, err := harness.Settle(t.Context(), h.Harness, harness.ToolBefore[struct{}]{Tool: tool})
		if err != nil {
			t.Fatal(err)
		}
		ask := harness.PermissionRequest[struct{}]{Tool: tool, PermissionRequestBody: ahp.PermissionRequestBody{Suggestions: []ahp.Raw{}}}
		if _, _, err := harness.Settle(t.Context(), h.Harness, ask); err != nil {
			t.Fatal(err)
		}
		if _, _, err := harness.Settle(t.Context(), h.Harness, harness.ToolDone(s.Event, ahp.ToolOK, nil)); err != nil {
			t.Fatal(err)
		}
		for _, m := range p.told() {
			if got := string(m.Params.Event["call"]); got != `{"id":"call-7"}` {
				t.Errorf("call %s in %s", got, m.raw)
			}
		}
		if typesOf(p) != "tool.before tool.permission.request tool.after" {
			t.Errorf("told %s", typesOf(p))
		}
	}},
	{"D-RET-4", func(t *testing.T) {
		m := followed(t, list(supply))
		wantIn(t, m, nil, "durationMs", "fileChanges", "usage")
	}},
	{"D-FLOW-7", func(t *testing.T) {
		// A turn that a control keeps going, until its allowance of two is used.
		var k cast
		p := k.add("net.acme.a", &peer{says: func(m message) string {
			if strings.Contains(m.raw, `"remainingContinuations":0`) {
				return "[]"
			}
			return `[{"type":"flow","operation":"continue","instruction":"go on"}]`
		}}, asks(ahp.FailClosed, ahp.TurnFinishBefore))
		watch := k.add("net.acme.watch", &peer{}, watches("turn.*"))
		h := k.open(t, nil)
		turn := harness.Base{Turn: &ahp.Turn{ID: "t-1"}}
		body := ahp.TurnFinishBody{Outcome: ahp.TurnCompleted}
		for {
			_, s, err := harness.Settle(t.Context(), h.Harness, harness.TurnFinish{Base: turn, Messages: []ahp.Message{}, TurnFinishBody: body})
			if err != nil {
				t.Fatal(err)
			}
			if s.Flow != ahp.FlowContinue {
				break
			}
			body.ContinuationCount++ // one more step runs here
		}
		end := everyEvent(t, ahp.TurnEnd)
		if err := harness.Observe(t.Context(), h.Harness, end); err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{`"remainingContinuations":2,"continuationCount":0`, `"remainingContinuations":1,"continuationCount":1`, `"remainingContinuations":0,"continuationCount":2`} {
			wantIn(t, p.asked()[i], []string{want, `"maxContinuations":2`})
		}
		// The turn ends when it is really over, once (D-TURN-1).
		if got := typesOf(watch); got != "turn.finish.before turn.finish.before turn.finish.before turn.end" {
			t.Errorf("told %s", got)
		}
	}},
	{"D-TURN-1", func(t *testing.T) {
		var k cast
		watch := k.add("net.acme.watch", &peer{}, watches("turn.*"))
		h := k.open(t, nil)
		for _, typ := range []ahp.EventType{ahp.TurnStart, ahp.TurnFinishBefore, ahp.TurnEnd} {
			if _, err := settleOne(t, h, everyEvent(t, typ)); err != nil {
				t.Fatal(err)
			}
		}
		if got := typesOf(watch); got != "turn.start turn.finish.before turn.end" {
			t.Errorf("told %s", got) // in the order of their settlements, from one backend's queue
		}
	}},
	{"D-TASK-3", func(t *testing.T) {
		var k cast
		k.add("net.acme.a", says(list(deny)), asks(ahp.FailClosed, "task.*"))
		watch := k.add("net.acme.watch", &peer{}, watches("task.*"))
		h := k.open(t, nil)
		_, s, err := harness.Settle(t.Context(), h.Harness, harness.TaskChange{TaskChangeBody: *everyEvent(t, ahp.TaskChangeBefore).Body.(*ahp.TaskChangeBody)})
		if s.State != settle.Denied || err != nil || typesOf(watch) != "task.change.before" {
			t.Errorf("%s, %v, told %s", s.State, err, typesOf(watch))
		}
	}},
	{"D-TASK-4", func(t *testing.T) {
		// The proposal is made of the rewritten input.
		type args struct {
			Task string `json:"task"`
		}
		var k cast
		k.add("net.acme.a", says(modify("input", "merge", `{"task":"t-safe"}`)), asks(ahp.FailClosed, "tool.before"))
		watch := k.add("net.acme.watch", &peer{}, watches("task.*"))
		h := k.open(t, nil)
		call, s, err := harness.Settle(t.Context(), h.Harness, harness.ToolBefore[args]{Tool: ahp.Tool{CallID: "c", Name: "task"}, Args: args{"t-1"}})
		if err != nil || !s.Proceeds() {
			t.Fatal(s.State, err)
		}
		change := harness.TaskChange{TaskChangeBody: ahp.TaskChangeBody{ID: call.Args.Task, Operation: "create", Change: ahp.Raw(`{}`)}}
		change.Parent = s.Event.ID // D-LIN-4
		if _, _, err := harness.Settle(t.Context(), h.Harness, change); err != nil {
			t.Fatal(err)
		}
		wantIn(t, watch.told()[0], []string{`"id":"t-safe"`, `"parentEventId":"` + s.Event.ID + `"`}, `"t-1"`)
	}},
	{"D-PAY-1", func(t *testing.T) {
		var k cast
		k.add("net.acme.a", says(list(deny)), asks(ahp.FailClosed, "config.*"))
		watch := k.add("net.acme.watch", &peer{}, watches("config.*"))
		h := k.open(t, nil)
		_, s, err := harness.Settle(t.Context(), h.Harness, harness.ConfigChange{ConfigChangeBody: *everyEvent(t, ahp.ConfigChangeBefore).Body.(*ahp.ConfigChangeBody)})
		if s.State != settle.Denied || err != nil || typesOf(watch) != "config.change.before" {
			t.Errorf("%s, %v, told %s", s.State, err, typesOf(watch))
		}
	}},
	{"D-WS-1", func(t *testing.T) {
		// An empty list of roots says that all were removed.
		ev := everyEvent(t, ahp.WorkspaceChangeBefore)
		ev.Body = &ahp.WorkspaceChangeBody{Kind: "roots", Change: ahp.WorkspaceState{WorkspaceRoots: []string{}}}
		wantIn(t, seesOf(t, selection(ahp.SelectBody), nil, ev), []string{`"change":{"workspaceRoots":[]}`})
	}},
	{"D-FILE-1", func(t *testing.T) {
		// A snapshot follows the selection; one that is missing is not an empty file.
		ev := everyEvent(t, ahp.FileChanged)
		wantIn(t, seesOf(t, selection(ahp.SelectBody), nil, ev), []string{`"text":"first text of the event"`}, `"before"`)
		wantIn(t, seesOf(t, selection(ahp.SelectMetadata), nil, ev), []string{`"after":{`, `"selection":"metadata"`}, "first text", `"text":""`)
	}},
	{"D-FILE-2", func(t *testing.T) {
		refused(t, draftOptions(harness.Discard), "/events/0", remote(watches("file.read")))
		refused(t, draftOptions(harness.Discard), "cannot be intercepted", remote(asks(ahp.FailOpen, ahp.FileChanged)))
	}},
	{"D-LIN-2", func(t *testing.T) {
		wantIn(t, seesOf(t, selection(ahp.SelectBody), nil, draftTool()), nil, "parentEventId")
	}},
	{"D-LIN-3", func(t *testing.T) {
		// A parent that nobody here has seen is taken.
		ev := draftTool()
		ev.Parent = "ev-of-long-ago"
		wantIn(t, seesOf(t, selection(ahp.SelectBody), nil, ev), []string{`"parentEventId":"ev-of-long-ago"`})
	}},
	{"D-CMP-4", func(t *testing.T) {
		// The summary is installed after the settlement, as it was left.
		var o order
		var k cast
		k.add("net.acme.a", &peer{says: func(message) string {
			o.note("asked")
			return modify("summary", "replace", `[{"id":"p-s","kind":"text","mediaType":"text/plain","selection":"body","text":"edited"}]`)
		}}, asks(ahp.FailClosed, ahp.CompactAfter))
		h := k.open(t, nil)
		after, s, err := harness.Settle(t.Context(), h.Harness, harness.CompactAfter{CompactAfterBody: *everyEvent(t, ahp.CompactAfter).Body.(*ahp.CompactAfterBody)})
		if s.Proceeds() {
			o.note("installed " + *after.Summary[0].Text)
		}
		if o.String() != "asked installed edited" || err != nil {
			t.Errorf("%s, %v", o.String(), err)
		}
	}},
	{"D-EVT-11", func(t *testing.T) {
		// Equal calls are two calls: two events, each with its own id.
		var k cast
		p := k.add("net.acme.a", says("[]"), asks(ahp.FailClosed, "*"))
		h := k.open(t, nil)
		for _, id := range []string{"c-1", "c-2"} {
			ev := draftTool()
			ev.Tool.CallID = id
			if _, err := settleOne(t, h, ev); err != nil {
				t.Fatal(err)
			}
		}
		a, b := p.asked()[0], p.asked()[1]
		if *a.ID == *b.ID || string(a.Params.Event["call"]) == string(b.Params.Event["call"]) {
			t.Error("two calls share an id")
		}
	}},
	{"D-ENV-2", func(t *testing.T) {
		var k cast
		p := k.add("net.acme.a", says("[]"), asks(ahp.FailClosed, "*"))
		if _, err := settleOne(t, k.open(t, nil), draftTool()); err != nil {
			t.Fatal(err)
		}
		m := p.asked()[0]
		if string(m.Params.Event["id"]) != `"`+*m.ID+`"` || m.Params.ProtocolVersion != "draft" {
			t.Errorf("id %s, event %s", *m.ID, m.Params.Event["id"])
		}
	}},
	{"D-SEC-2", func(t *testing.T) {
		// Native data, extensions and forged ids open nothing.
		ev := draftTool()
		ev.ID = "net.acme.admin"
		ev.Native = &ahp.Native{Provider: "acme", EventName: "x", Payload: ahp.Raw(`{"permission":"allow"}`)}
		ev.Extensions, ev.HasExtensions = ahp.Members{{Name: "net.acme.grant", Value: ahp.Raw(`{"permission":"allow"}`)}}, true
		_, _, s, _ := chainDraft(t, ahp.FailClosed, ev, func(o *harness.Options) { o.ShowNative = true }, list(deny))
		if s.State != settle.Denied || s.Permission != ahp.PermissionDeny {
			t.Errorf("%s, %s", s.State, s.Permission)
		}
	}},
	{"D-SEC-3", func(t *testing.T) {
		// What is too large is refused, under either policy, and reaches nobody.
		for _, policy := range []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed} {
			var k cast
			p := k.add("net.acme.a", says("[]"), asks(policy, "*"), watches("*"))
			h := k.open(t, func(o *harness.Options) { o.MaxEventBytes = 1 << 10 })
			ev := draftTool()
			ev.Tool.Input = ahp.Raw(`{"cmd":"` + strings.Repeat("x", 2<<10) + `"}`)
			s, err := settleOne(t, h, ev)
			if s.State != settle.Denied || s.Class != ahp.FailEvent || err == nil || len(p.all()) != 0 {
				t.Errorf("%s: %s (%s), %v, %d messages", policy, s.State, s.Class, err, len(p.all()))
			}
		}
	}},
	{"D-SEC-5", func(t *testing.T) {
		ev := draftTool()
		ev.Parts = []ahp.Part{ahp.TextPart("p", "terraform destroy")}
		m := seesOf(t, selection(ahp.SelectBody, "text", "omit"), nil, ev)
		wantIn(t, m, []string{`"timeoutSec":60`}, "terraform destroy")
		// Wherever an event has opaque JSON.
		secret := ahp.Raw(`{"kept":7,"body":["` + secretText + `"]}`)
		for _, typ := range []ahp.EventType{
			ahp.ToolBatchAfter, ahp.TaskChangeBefore, ahp.ConfigChangeAfter, ahp.ModelRequestBefore, ahp.ToolAfter, ahp.TurnEnd, ahp.ModelError,
		} {
			ev := everyEvent(t, typ)
			failed := ahp.EventError{Class: "x", Message: "y", Native: secret}
			ev.Parts = []ahp.Part{ahp.TextPart("p", secretText)}
			switch b := ev.Body.(type) { //nolint:gochecksumtype // those of the list above
			case *ahp.BatchBody:
				b.Calls[0].Tool.Input = secret
			case *ahp.TaskChangeBody:
				b.Change, b.Prior = secret, secret
			case *ahp.ConfigChangeBody:
				b.MCPServers = []ahp.Raw{ahp.Raw(`{"kept":7}`), secret}
			case *ahp.ModelRequestBody:
				b.Params = secret
			case *ahp.ToolAfterBody:
				b.Outcome, b.Error = ahp.ToolFailed, &failed
			case *ahp.TurnFinishBody:
				b.Outcome, b.Error = ahp.TurnFailed, &failed
			case *ahp.ModelErrorBody:
				b.Error = failed
			}
			if ev.Messages != nil { // its items are messages
				ev.Parts, ev.Messages = nil, []ahp.Message{textMessage("m", ev.Messages[0].Role, secretText)}
			}
			wantIn(t, seesOf(t, selection(ahp.SelectBody, "text", "omit"), nil, ev), []string{`"kept":7`, `"gaps":[`}, secretText)
		}
	}},
	{"D-AD-1", func(t *testing.T) {
		// What the manifest does not list cannot be asked about by mistake.
		var k cast
		p := k.add("net.acme.a", says("[]"), asks(ahp.FailOpen, "*"), watches("*"))
		h := k.open(t, func(o *harness.Options) { o.Manifest.Events = o.Manifest.Events[:3] })
		s, err := settleOne(t, h, draftTool())
		if s.Proceeds() || err == nil || len(p.all()) != 0 {
			t.Errorf("%s, %v, %d messages", s.State, err, len(p.all()))
		}
	}},
	{"D-AD-3", func(t *testing.T) {
		// Observed only: no interceptor is asked, and the event is told.
		var k cast
		p := k.add("net.acme.a", says(list(deny)), asks(ahp.FailClosed, "*"), watches("*"))
		h := k.open(t, func(o *harness.Options) {
			e := o.Manifest.Event(ahp.ToolBefore)
			e.Modes, e.Capabilities = []ahp.Mode{ahp.ModeObserve}, nil
		})
		s, err := settleOne(t, h, draftTool())
		if !s.Proceeds() || err != nil || len(p.asked()) != 0 || len(p.told()) != 1 {
			t.Errorf("%s, %v, asked %d, told %d", s.State, err, len(p.asked()), len(p.told()))
		}
	}},
	{"D-OWN-2", bubble(func(t *testing.T) {
		// A bubble that ends with a goroutine in it fails: nothing is detached.
		var k cast
		for _, id := range []string{"net.acme.a", "net.acme.b", "net.acme.c"} {
			p := k.add(id, says("[]"), asks(ahp.FailOpen, "*"), watches("*"))
			k.local[id] = slow(p, time.Millisecond, time.Second)
		}
		h, _ := quick(t, &k, nil)
		if err := harness.Observe(t.Context(), h, everyEvent(t, ahp.FileChanged)); err != nil {
			t.Fatal(err)
		}
		if h.Stats().Observed != 3 {
			t.Errorf("%+v", h.Stats())
		}
		closeNow(t, h)
	})},
	{"D-OWN-3", bubble(func(t *testing.T) {
		var k cast
		p := k.add("net.acme.watch", &peer{}, watches("*"))
		k.local["net.acme.watch"] = slow(p, 0, time.Second)
		h, rec := quick(t, &k, nil)
		c := h.Begin(t.Context(), draftTool())
		began := time.Now()
		_, _ = c.Settle()
		if time.Since(began) != 0 || len(rec.all()) != 1 {
			t.Errorf("an observer delayed the settlement by %v", time.Since(began))
		}
		_ = c.Wait(t.Context())
		if time.Since(began) != time.Second {
			t.Errorf("the call returned after %v", time.Since(began))
		}
		closeNow(t, h)
	})},
	{"D-BUD-5", bubble(func(t *testing.T) {
		// Clean-up after the deadline is no permission to go on: the second observer of
		// this backend waits behind the first, and is not told any more.
		var k cast
		p := k.add("net.acme.watch", &peer{}, watches("*"), watches("tool.*"))
		k.local["net.acme.watch"] = slow(p, 0, 800*time.Millisecond)
		h, _ := quick(t, &k, func(o *harness.Options) { o.Budget = time.Second })
		c := h.Begin(t.Context(), draftTool())
		_, _ = c.Settle()
		_ = c.Wait(t.Context())
		time.Sleep(time.Minute)
		if len(p.told()) != 1 || h.Stats().ObserveFailed != 1 {
			t.Errorf("told %d, %+v", len(p.told()), h.Stats())
		}
		closeNow(t, h)
	})},
	{"D-AUTH-10", bubble(func(t *testing.T) {
		// The provider may take as long as it likes; the interceptor's deadline ends it.
		b := remote()
		s := asks(ahp.FailClosed, "*")
		s.Timeout = time.Second
		b.Subscriptions = []ahp.Subscription{s}
		b.Auth = &ahp.Bearer{TokenRef: "slow"}
		o := draftOptions(harness.Discard)
		o.Secret = func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		h, err := harness.New(&ahp.Registration{Version: ahp.VersionDraft, Hooks: []ahp.Backend{b}}, o)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		got, _ := h.Begin(t.Context(), draftTool()).Settle()
		if got.Class != ahp.FailDeadline || time.Since(began) != time.Second {
			t.Errorf("%s after %v", got.Class, time.Since(began))
		}
		closeNow(t, h)
	})},
	{"D-DISC-2", func(t *testing.T) {
		// Discovery runs nothing: it has neither harness nor backends.
		d, err := harness.NewDiscovery(fullManifest(), nil)
		if err != nil {
			t.Fatal(err)
		}
		a, b := d.Answer(nil, []byte(rpc("1", "hooks/capabilities"))), d.Answer(nil, []byte(rpc("1", "hooks/capabilities")))
		if string(a) != string(b) || strings.Contains(string(a), "identity\"") { // D-DISC-4
			t.Errorf("%.200s", a)
		}
	}},
	{"D-CAT-2", func(t *testing.T) {
		// Before and after are covered each for itself.
		o := draftOptions(harness.Discard)
		o.Manifest.Events = []ahp.ManifestEvent{{Event: ahp.TaskChangeAfter, Modes: []ahp.Mode{ahp.ModeObserve}}}
		refused(t, o, "not covered", remote(watches(ahp.TaskChangeBefore)))
		h, err := harness.New(&ahp.Registration{Version: ahp.VersionDraft, Hooks: []ahp.Backend{remote(watches(ahp.TaskChangeAfter))}}, o)
		if err != nil {
			t.Fatal(err)
		}
		closeNow(t, h)
	}},
	{"D-NAT-2", func(t *testing.T) {
		for _, native := range []*ahp.Native{nil, {Provider: "acme", EventName: "x", Payload: ahp.Raw(`{}`)}} {
			ev := draftTool()
			ev.Native = native
			_, _, s, _ := chainDraft(t, ahp.FailClosed, ev, nil, list(deny))
			if s.State != settle.Denied {
				t.Errorf("settled %s", s.State)
			}
		}
	}},
	{"D-AUTH-2", func(t *testing.T) {
		var k cast
		p := k.add("net.acme.watch", &peer{}, watches("*"))
		b := remote(asks(ahp.FailOpen, "tool.*"))
		b.Auth = &ahp.Bearer{TokenRef: "vault"}
		k.backends = append(k.backends, b)
		h := k.open(t, func(o *harness.Options) {
			o.Secret = func(context.Context, string) (string, error) { return "bad " + secretText, nil } // no header may hold it
		})
		s, _ := settleOne(t, h, draftTool())
		rec := h.rec.one(t)
		text := h.log.String() + string(rec.MarshalAppend(nil)) + s.Reason
		for _, m := range p.all() {
			text += m.raw
		}
		if strings.Contains(text, secretText) || rec.Hops[0].Class != ahp.FailCredential {
			t.Errorf("%s: %s", rec.Hops[0].Class, text)
		}
	}},
	{"D-APP-3", func(t *testing.T) {
		// An allow opens no way past another control.
		for _, effects := range [][]string{{`[{"type":"allow"}]`, list(deny)}, {list(deny, `{"type":"allow"}`)}} {
			_, _, s, _ := chainDraft(t, ahp.FailOpen, draftTool(), nil, effects...)
			if s.State != settle.Denied || s.Proceeds() {
				t.Errorf("%v: %s", effects, s.State)
			}
		}
	}},
	{"D-DISC-5", func(t *testing.T) {
		d, err := harness.NewDiscovery(fullManifest(), nil)
		if err != nil {
			t.Fatal(err)
		}
		got := string(d.Answer(nil, []byte(rpc("1", "hooks/capabilities"))))
		if !strings.Contains(got, `"limits":{"maxContinuations":2}`) || !strings.Contains(got, `"path":"limits.maxUploadBytes"`) {
			t.Errorf("a limit that is not known is not absent, or has no gap: %s", got[max(len(got)-700, 0):])
		}
	}},
	{"D-EL-10", func(t *testing.T) {
		for _, tt := range []struct {
			modes *ahp.ElicitationCapability
			want  bool
		}{
			{nil, false},
			{&ahp.ElicitationCapability{}, false},
			{&ahp.ElicitationCapability{URL: ahp.Raw("{}")}, false},
			{&ahp.ElicitationCapability{Form: ahp.Raw("{}")}, true},
		} {
			var k cast
			p := k.add("net.acme.a", says("[]"), asks(ahp.FailClosed, "*"))
			h := k.open(t, func(o *harness.Options) {
				o.Manifest.Event(ahp.ElicitationRequest).Capabilities.Elicitation = tt.modes
			})
			if _, err := settleOne(t, h, everyEvent(t, ahp.ElicitationRequest)); err != nil {
				t.Fatal(err)
			}
			if got := strings.Contains(string(p.asked()[0].Params.Capabilities), `"return"`); got != tt.want {
				t.Errorf("%+v: return offered %v", tt.modes, got)
			}
		}
	}},
	{"D-PROV-2", func(t *testing.T) {
		// Nothing is cached: the provider is asked for each message, and only for its own
		// backend (D-PROV-1).
		var refs []string
		srv := answering(t, func(w http.ResponseWriter, id string) { _, _ = io.WriteString(w, draftAnswer(id, "[]")) })
		a := backendOf("net.acme.a", &ahp.HTTPTransport{URL: srv.URL}, asks(ahp.FailClosed, "*"), watches("*"))
		a.Auth = &ahp.Bearer{TokenRef: "a"}
		b := backendOf("net.acme.b", &ahp.HTTPTransport{URL: srv.URL}, asks(ahp.FailClosed, "*"))
		h := openDraft(t, func(o *harness.Options) {
			o.Secret = func(_ context.Context, ref string) (string, error) { refs = append(refs, ref); return "t", nil }
		}, a, b)
		for range 2 {
			if s, err := settleOne(t, h, draftTool()); !s.Proceeds() || err != nil {
				t.Errorf("%s, %v", s.State, err)
			}
		}
		if got := strings.Join(refs, " "); got != "a a a a" {
			t.Errorf("asked for %q", got)
		}
	}},
	{"D-PROV-1", func(t *testing.T) {
		// Whoever gets the token, its use stays the client's: one header, nothing else.
		var seen []string
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			seen = append(seen, strings.Join(r.Header.Values("Authorization"), ",")+" "+fmt.Sprint(strings.Contains(r.RequestURI+string(b), "tok-1")))
			w.WriteHeader(http.StatusNoContent)
		}))
		defer srv.Close()
		a := backendOf("net.acme.a", &ahp.HTTPTransport{URL: srv.URL}, watches("*"))
		a.Auth = &ahp.Bearer{TokenRef: "a"}
		h := openDraft(t, func(o *harness.Options) {
			o.Secret = func(context.Context, string) (string, error) { return "tok-1", nil }
		}, a)
		if _, err := settleOne(t, h, draftTool()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(seen, "; "); got != "Bearer tok-1 false" {
			t.Errorf("the server saw %q", got)
		}
	}},
	{"D-IO-6", func(t *testing.T) {
		t.Setenv("HOLDPOINT_TEST_SECRET", secretText)
		h := openDraft(t, nil, backendOf("net.acme.a", badtest.Stdio(t, ahp.PerEvent, "-revision", "draft", "-fault", "env"), asks(ahp.FailClosed, "*")))
		s, _ := settleOne(t, h, draftTool())
		if s.State != settle.Denied || s.Synthetic || strings.Contains(s.Reason, "HOLDPOINT_TEST_SECRET") {
			t.Errorf("%s: %s", s.State, s.Reason)
		}
		h = openDraft(t, nil, backendOf("net.acme.a", badtest.Stdio(t, ahp.PerEvent, "-revision", "draft", "-fault", "argv", "-effect", "$(touch x); *"), asks(ahp.FailClosed, "*")))
		if s, _ := settleOne(t, h, draftTool()); !strings.Contains(s.Reason, "$(touch x); *") {
			t.Errorf("a shell has seen the arguments: %s", s.Reason)
		}
	}},
}
