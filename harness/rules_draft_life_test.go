package harness_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
)

// tells settles events one after the other and returns all that a peer was told.
func tells(t *testing.T, events ...*ahp.Event) (*peer, []message) {
	t.Helper()
	var k cast
	p := k.add("net.acme.watch", &peer{}, watches("*"))
	h := k.open(t, nil)
	for _, ev := range events {
		if _, err := settleOne(t, h, ev); err != nil {
			t.Fatalf("%s: %v: %s", ev.Type, err, h.log.String())
		}
	}
	return p, p.told()
}

// lifeRules are rules about what happens over several events: that the engine makes
// none of its own, adds nothing up, and looks nothing up.
var lifeRules = []draftRule{
	{"D-EVT-2", func(t *testing.T) {
		o := draftOptions(harness.Discard)
		o.Source = "https://me:s3cret@host.example/h"
		refused(t, o, "holds user information", remote(watches("*")))
	}},
	{"D-ACC-2", func(t *testing.T) {
		// Two views of one response have one event id and one attempt, so that who adds
		// up can tell; the turn's total is the host's, and no amount is added to it.
		count := int64(40)
		usage := &ahp.Usage{Kind: "amount", Scope: "attempt", Completeness: "complete", Provenance: "provider", OutputTokens: &count}
		response := everyEvent(t, ahp.ModelResponseAfter)
		response.Body.(*ahp.ModelResponseBody).Usage = usage
		total := *usage
		total.Kind, total.Scope = "total", "turn"
		end := everyEvent(t, ahp.TurnEnd)
		end.Body.(*ahp.TurnFinishBody).Usage = &total

		var k cast
		p := k.add("net.acme.watch", &peer{}, watches("*"), watches("*"))
		h := k.open(t, nil)
		for _, ev := range []*ahp.Event{response, end} {
			if _, err := settleOne(t, h, ev); err != nil {
				t.Fatal(err)
			}
		}
		ids := map[string]int{}
		for _, m := range p.told() {
			ids[string(m.Params.Event["id"])]++
			wantIn(t, m, []string{`"outputTokens":40`})
			if strings.Contains(m.raw, "attempt") {
				wantIn(t, m, []string{`"attempt":{"id":"a-1","number":1}`})
			}
		}
		if len(ids) != 2 {
			t.Errorf("told %v, want two events", ids)
		}
		for id, n := range ids {
			if n != 2 {
				t.Errorf("%s was told %d times, want once for each subscription", id, n)
			}
		}
	}},
	{"D-CONT-9", func(t *testing.T) {
		// The file is there, and nobody reads it for a snapshot that the host does not have.
		path := filepath.Join(t.TempDir(), "notes.md")
		if err := os.WriteFile(path, []byte(secretText), 0o600); err != nil {
			t.Fatal(err)
		}
		ev := everyEvent(t, ahp.FileChanged)
		ev.Body = &ahp.FileChangedBody{Changes: []ahp.FileChange{{Path: path, Operation: "update"}}}
		wantIn(t, seesOf(t, selection(ahp.SelectBody), nil, ev), []string{"notes.md"}, secretText, `"before"`, `"after"`)
	}},
	{"D-EFF-9", func(t *testing.T) {
		// Nothing that an effect names is fetched.
		var asked atomic.Int64
		srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
		defer srv.Close()
		var k cast
		k.add("net.acme.a", says(list(`{"type":"return","value":{"$ref":"`+srv.URL+`/value","url":"`+srv.URL+`"}}`)), asks(ahp.FailClosed, "tool.before"))
		s, err := settleOne(t, k.open(t, nil), draftTool())
		if err != nil || s.State != settle.Supplied || !strings.Contains(string(s.Candidate.JSON), srv.URL+"/value") {
			t.Errorf("%s, %v", s.State, err)
		}
		if n := asked.Load(); n != 0 {
			t.Errorf("%d requests for what an effect holds", n)
		}
	}},
	{"D-MOD-2", func(t *testing.T) {
		// Another model for one call is no switch; a refused switch has no after event.
		other := everyEvent(t, ahp.ModelRequestBefore)
		other.Body.(*ahp.ModelRequestBody).Model.ID = "another"
		var k cast
		k.add("net.acme.a", says(list(deny)), asks(ahp.FailClosed, ahp.ModelSwitchBefore))
		watch := k.add("net.acme.watch", &peer{}, watches("model.*"))
		h := k.open(t, nil)
		for _, ev := range []*ahp.Event{everyEvent(t, ahp.ModelRequestBefore), other} {
			if s, err := settleOne(t, h, ev); err != nil || !s.Proceeds() {
				t.Fatal(s.State, err)
			}
		}
		s, err := settleOne(t, h, everyEvent(t, ahp.ModelSwitchBefore))
		if err != nil || s.State != settle.Denied {
			t.Errorf("%s, %v", s.State, err)
		}
		if got := typesOf(watch); got != "model.request.before model.request.before model.switch.before" {
			t.Errorf("told %s", got)
		}
	}},
	{"D-REG-7", func(t *testing.T) {
		// A registration that is built is the same as one that is read.
		reg, _, err := wiredraft.ParseRegistration("r.json", []byte(`{"protocolVersion":"draft","hooks":[{"id":"net.acme.a",
			"transport":{"type":"http","url":"https://a.example"},"authentication":{"type":"bearer","tokenEnv":"TOKEN"},
			"subscriptions":[{"events":["tool.*"],"mode":"intercept","timeoutMs":250,"failurePolicy":"fail-closed",
				"content":{"default":"body","reasoning":"omit"}}]}]}`), wiredraft.RegOptions{})
		if err != nil {
			t.Fatal(err)
		}
		b := remote(ahp.Subscription{
			Events: []ahp.EventType{"tool.*"}, Mode: ahp.ModeIntercept, Timeout: 250 * time.Millisecond, FailurePolicy: ahp.FailClosed,
			Content: selection(ahp.SelectBody, "reasoning", "omit"),
		})
		b.Auth = &ahp.Bearer{TokenEnv: "TOKEN"}
		if want := (&ahp.Registration{Version: ahp.VersionDraft, Hooks: []ahp.Backend{b}}); !reflect.DeepEqual(reg, want) {
			t.Errorf("read %+v\nbuilt %+v", reg, want)
		}
	}},
	{"D-SUB-8", func(t *testing.T) {
		least, most := int64(100), int64(1000)
		o := draftOptions(harness.Discard)
		o.Manifest.Limits.MinTimeoutMs, o.Manifest.Limits.MaxTimeoutMs = &least, &most
		quick, slow, upload := asks(ahp.FailOpen, "tool.before"), asks(ahp.FailOpen, "tool.before"), watches("*")
		quick.Timeout, slow.Timeout, upload.Upload = 99*time.Millisecond, 1001*time.Millisecond, &ahp.Upload{Endpoint: "https://a.example", Timeout: time.Second, MaxBytes: 1}
		refused(t, o, "/subscriptions/0/timeoutMs: 99, the manifest's least is 100", remote(quick))
		refused(t, o, "/subscriptions/0/timeoutMs: 1001, the manifest's most is 1000", remote(slow))
		refused(t, o, "/subscriptions/0/upload: uploads are not supported yet", remote(upload))
	}},
	{"D-TE-5", func(t *testing.T) {
		// The batch is told once, behind its calls, as the host settled them.
		call := func(id string) *ahp.Event {
			ev := everyEvent(t, ahp.ToolAfter)
			ev.Tool.CallID, ev.Tool.Batch = id, &ahp.Batch{ID: "b-1", CallIDs: []string{"c-1", "c-2"}}
			return ev
		}
		p, _ := tells(t, call("c-1"), call("c-2"), everyEvent(t, ahp.ToolBatchAfter))
		if got := typesOf(p); got != "tool.after tool.after tool.batch.after" {
			t.Errorf("told %s", got)
		}
	}},
	{"D-TE-6", func(t *testing.T) {
		// Launched is not ended: nothing makes an end of it but the host.
		launch := everyEvent(t, ahp.ToolProgress)
		launch.Body.(*ahp.ToolProgressBody).Backgrounded = true
		p, told := tells(t, launch)
		if got := typesOf(p); got != "tool.progress" {
			t.Fatalf("told %s", got)
		}
		wantIn(t, told[0], []string{`"backgrounded":true`}, `"outcome"`, `"execution"`)
		p, told = tells(t, launch, everyEvent(t, ahp.ToolAfter))
		if got := typesOf(p); got != "tool.progress tool.after" {
			t.Fatalf("told %s", got)
		}
		wantIn(t, told[1], []string{`"outcome":"ok"`}, "backgrounded")
	}},
	{"D-TURN-2", func(t *testing.T) {
		// The new turn's parent is the finish that asked for it, and its id is its own.
		var k cast
		k.add("net.acme.a", says(`[{"type":"flow","operation":"continue","instruction":"go on"}]`), asks(ahp.FailClosed, ahp.TurnFinishBefore))
		watch := k.add("net.acme.watch", &peer{}, watches(ahp.TurnStart))
		h := k.open(t, nil)
		s, err := settleOne(t, h, everyEvent(t, ahp.TurnFinishBefore))
		if err != nil || s.Flow != ahp.FlowContinue {
			t.Fatal(s.Flow, err)
		}
		next := everyEvent(t, ahp.TurnStart)
		next.Turn, next.Body = &ahp.Turn{ID: "turn-2"}, &ahp.TurnStartBody{Trigger: "continuation"}
		harness.Link(next, s.Event)
		if _, err := settleOne(t, h, next); err != nil {
			t.Fatal(err)
		}
		wantIn(t, watch.told()[0], []string{`"parentEventId":"` + s.Event.ID + `"`, `"turn":{"id":"turn-2"}`, `"trigger":"continuation"`}, "turn-1")
	}},
}
