package harness_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
)

// followed settles a tool call that is answered with effects, then tells its follow-up,
// and returns what an observer of tool.after got.
func followed(t *testing.T, effects string) message {
	t.Helper()
	var k cast
	k.add("net.acme.a", says(effects), asks(ahp.FailClosed, "tool.before"))
	watch := k.add("net.acme.watch", &peer{}, watches("tool.after"))
	h := k.open(t, nil)
	ev := draftTool()
	ev.ID = "ev-before"
	s, err := settleOne(t, h, ev)
	if err != nil {
		t.Fatal(err)
	}
	after, err := harness.ResolveTool(s)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := harness.Settle(t.Context(), h.Harness, after); err != nil {
		t.Fatal(err)
	}
	if len(watch.told()) != 1 {
		t.Fatalf("%d notifications: %s", len(watch.told()), h.log.String())
	}
	return watch.told()[0]
}

func rpc(id, method string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":{"protocolVersion":"draft"}}`
}

var followRules = []draftRule{
	{"D-TE-2", func(t *testing.T) {
		wantIn(t, followed(t, list(mergeInput, deny)), []string{
			`"outcome":"denied"`, `"execution":{"status":"skipped","reason":"policy"}`, `"parentEventId":"ev-before"`,
			`"call":{"id":"tc-9001"}`, "terraform plan", `"session":{"id":"s-88"`, `"turn":{"id":"turn-1"}`,
		}, "destroy", "net.acme.a", "frozen")
		// A stopped call is cancelled (D-AMB-23).
		wantIn(t, followed(t, list(stop)), []string{`"outcome":"cancelled"`, `"reason":"cancelled"`, `"detail":"`})
	}},
	{"D-TE-3", func(t *testing.T) {
		wantIn(t, followed(t, list(supply)), []string{`"outcome":"ok"`, `"execution":{"status":"skipped","reason":"supplied_result"}`}, "durationMs", "net.acme.a")
	}},
	{"D-RET-6", func(t *testing.T) {
		for value, want := range map[string]string{
			`"two\nlines"`: `"text":"two\nlines"`, `{ "a" : [1, 2.50] }`: `"text":"{\"a\":[1,2.50]}"`, `null`: `"text":"null"`, `""`: `"text":""`, `false`: `"text":"false"`,
		} {
			wantIn(t, followed(t, `[{"type":"return","value":`+value+`}]`), []string{want, `"role":"tool"`})
		}
	}},
	{"D-APP-6", func(t *testing.T) {
		// An approval that nobody gives is a denial.
		wantIn(t, followed(t, `[{"type":"ask"}]`), []string{`"outcome":"denied"`, `"reason":"policy"`})
	}},
	{"D-RET-3", func(t *testing.T) {
		// Controls after a supplied result are asked about it.
		var k cast
		p := k.add("net.acme.a", &peer{says: func(m message) string {
			if strings.Contains(m.raw, `"tool.before"`) {
				return list(supply)
			}
			return `[{"type":"modify","target":"output","operation":"replace","value":[{"id":"m-new","role":"tool","parts":[{"id":"p-new","kind":"text","mediaType":"text/plain","selection":"body","text":"redacted"}]}]}]`
		}}, asks(ahp.FailClosed, "tool.*"))
		h := k.open(t, nil)
		s, _ := settleOne(t, h, draftTool())
		after, err := harness.ResolveTool(s)
		if err != nil || s.State != settle.Supplied {
			t.Fatalf("%s, %v", s.State, err)
		}
		out, _, err := harness.Settle(t.Context(), h.Harness, after)
		if err != nil || len(p.asked()) != 2 || len(out.Messages) != 1 || *out.Messages[0].Parts[0].Text != "redacted" {
			t.Errorf("%v, asked %d, result %+v", err, len(p.asked()), out.Messages)
		}
	}},
	{"D-CMP-3", func(t *testing.T) {
		var k cast
		p := k.add("net.acme.a", &peer{says: func(m message) string {
			if strings.Contains(m.raw, `"context.compact.before"`) {
				return `[{"type":"return","value":[{"id":"p-sum","kind":"text","mediaType":"text/plain","selection":"body","text":"supplied summary"}]}]`
			}
			return "[]"
		}}, asks(ahp.FailClosed, "context.*"))
		h := k.open(t, nil)
		s, err := settleOne(t, h, everyEvent(t, ahp.CompactBefore))
		if err != nil {
			t.Fatal(err)
		}
		after, err := harness.Compacted(s, []ahp.Part{ahp.TextPart("g", "generated")}, []string{"m-1"})
		if err != nil {
			t.Fatal(err)
		}
		out, s, err := harness.Settle(t.Context(), h.Harness, after)
		if err != nil || !s.Proceeds() || *out.Summary[0].Text != "supplied summary" {
			t.Errorf("%s, %v", s.State, err)
		}
		wantIn(t, p.asked()[1], []string{"supplied summary", `"reason":"supplied_result"`, `"removed":[{"id":"m-1"}]`}, "generated")
	}},
	{"D-CMP-2", func(t *testing.T) {
		ps, _, s, _ := chainDraft(t, ahp.FailClosed, everyEvent(t, ahp.CompactBefore), nil,
			`[{"type":"modify","target":"instructions","operation":"merge","value":[{"id":"p-more","kind":"text","mediaType":"text/plain","selection":"body","text":"keep names"}]}]`, "[]")
		wantIn(t, ps[1].asked()[0], []string{"keep names", "first text of the event"})
		after, err := harness.Compacted(s, nil, nil)
		if body := s.Event.Body.(*ahp.CompactBeforeBody); err != nil || len(body.Instructions) != 2 || after.Parent != s.Event.ID {
			t.Errorf("%v, instructions %+v", err, body.Instructions)
		}
	}},
	{"D-CMP-5", func(t *testing.T) {
		_, _, s, _ := chainDraft(t, ahp.FailClosed, everyEvent(t, ahp.CompactAfter), nil, list(unknown))
		if s.State != settle.Denied || settle.Withholds(ahp.CompactAfter) != settle.WithholdSummary {
			t.Errorf("%s", s.State)
		}
		_, _, s, _ = chainDraft(t, ahp.FailClosed, everyEvent(t, ahp.CompactBefore), nil, list(deny))
		if _, err := harness.Compacted(s, []ahp.Part{}, nil); !errors.Is(err, harness.ErrNoFollowUp) {
			t.Errorf("a denied compaction has a summary: %v", err)
		}
	}},
	{"D-TASK-1", func(t *testing.T) {
		var k cast
		watch := k.add("net.acme.watch", &peer{}, watches("task.*", "workspace.*", "config.*"))
		h := k.open(t, nil)
		before := everyEvent(t, ahp.TaskChangeBefore)
		before.ID = "ev-task"
		if _, err := settleOne(t, h, before); err != nil {
			t.Fatal(err)
		}
		after, ok := harness.TaskChanged(before, ahp.TaskChangeBody{ID: "t-1", Operation: "update", Change: ahp.Raw(`{"status":"half done"}`)})
		if !ok {
			t.Fatal("a real change is not told")
		}
		if err := harness.Observe(t.Context(), h.Harness, after); err != nil {
			t.Fatal(err)
		}
		wantIn(t, watch.told()[1], []string{`"parentEventId":"ev-task"`, "half done", `"task.change.after"`})
		for _, ev := range []*ahp.Event{
			harness.WorkspaceChanged(nil, ahp.WorkspaceChangeBody{Kind: "cwd", Change: ahp.WorkspaceState{CWD: "/x"}}),
			harness.ConfigChanged(nil, ahp.ConfigChangeBody{Source: "file", Scope: "user", Summary: "x", Settings: []string{}}),
		} {
			if err := harness.Observe(t.Context(), h.Harness, ev); err != nil {
				t.Fatal(err)
			}
		}
		if len(watch.told()) != 4 {
			t.Errorf("%d notifications", len(watch.told()))
		}
	}},
	{"D-TASK-5", func(t *testing.T) {
		if _, ok := harness.TaskChanged(nil, ahp.TaskChangeBody{ID: "t", Operation: "update", Change: ahp.Raw(`{"a":1,"b":2}`), Prior: ahp.Raw(`{"b":2.0,"a":1}`)}); ok {
			t.Error("an update that changes nothing is told")
		}
	}},
	{"D-LIN-1", func(t *testing.T) {
		var k cast
		k.add("net.acme.watch", &peer{}, watches("*"))
		h := k.open(t, nil)
		send := func(id, parent string) error {
			ev := draftTool()
			ev.ID, ev.Parent = id, parent
			_, err := h.Begin(t.Context(), ev).Settle()
			return err
		}
		for _, x := range []struct {
			id, parent string
			ok         bool
		}{{"a", "never-seen", true}, {"b", "a", true}, {"c", "b", true}, {"a2", "c", true}, {"never-seen", "c", false}, {"x", "x", false}, {"a", "c", false}} {
			if err := send(x.id, x.parent); (err == nil) != x.ok || err != nil && !errors.Is(err, harness.ErrEvent) {
				t.Errorf("%s under %s: %v", x.id, x.parent, err)
			}
		}
	}},
	{"D-LIN-4", func(t *testing.T) {
		before, after := everyEvent(t, ahp.ToolBefore), &ahp.Event{Type: ahp.FileChanged}
		before.ID, before.Source = "ev-1", "urn:x"
		harness.Link(after, before)
		if after.Parent != "ev-1" || after.Source != "urn:x" || after.Session.ID != "s-1" || after.Turn.ID != "turn-1" {
			t.Errorf("linked %+v", after)
		}
	}},
	{"D-LIN-5", func(t *testing.T) {
		var k cast
		k.add("net.acme.watch", &peer{}, watches("*"))
		h := k.open(t, nil)
		before := everyEvent(t, ahp.TaskChangeBefore)
		before.ID = "ev-task"
		if _, err := settleOne(t, h, before); err != nil {
			t.Fatal(err)
		}
		other, _ := harness.TaskChanged(before, ahp.TaskChangeBody{ID: "t-2", Operation: "update", Change: ahp.Raw(`{}`)})
		if err := harness.Observe(t.Context(), h.Harness, other); !errors.Is(err, harness.ErrEvent) {
			t.Errorf("another task's change under this proposal: %v", err)
		}
	}},
	{"D-DISC-1", func(t *testing.T) {
		d, err := harness.NewDiscovery(fullManifest(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		in := rpc("7", "hooks/capabilities") + "\n" + rpc(`"x"`, "hooks/intercept") + "\nnot json\n" + `{"jsonrpc":"2.0","method":"hooks/observe"}` + "\n"
		if err := d.ServeStdio(t.Context(), strings.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(out.String()), "\n")
		if len(lines) != 3 {
			t.Fatalf("%d answers: %s", len(lines), out.String())
		}
		for i, want := range []string{`{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":"draft","manifest":{"events":[`, `"error":{"code":-3260`, `"code":-32700`} {
			if !strings.Contains(lines[i], want) {
				t.Errorf("answer %d: %.300s", i, lines[i])
			}
		}
	}},
	{"D-DISC-3", func(t *testing.T) {
		d, err := harness.NewDiscovery(fullManifest(), func(r *http.Request) bool { return r.Header.Get("Authorization") == "Bearer yes" })
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			method, token, media string
			want                 int
		}{
			{http.MethodPost, "", "application/json", 401},
			{http.MethodPost, "Bearer yes", "application/json", 200},
			{http.MethodGet, "Bearer yes", "application/json", 405},
			{http.MethodPost, "Bearer yes", "text/plain", 415},
		} {
			r := httptest.NewRequest(tt.method, "/", strings.NewReader(rpc("7", "hooks/capabilities")))
			r.Header.Set("Authorization", tt.token)
			r.Header.Set("Content-Type", tt.media)
			w := httptest.NewRecorder()
			d.ServeHTTP(w, r)
			if w.Code != tt.want || (w.Code == 200) != strings.Contains(w.Body.String(), `"manifest"`) {
				t.Errorf("%+v: %d", tt, w.Code)
			}
		}
	}},
	{"D-CAP-8", func(t *testing.T) {
		m := fullManifest()
		m.Event(ahp.TaskChangeBefore).Capabilities.Effects = append(m.Event(ahp.TaskChangeBefore).Capabilities.Effects, ahp.EffectReturn)
		if _, err := harness.NewDiscovery(m, nil); err == nil {
			t.Error("return at task.change.before is accepted")
		}
		o := draftOptions(harness.Discard)
		o.Manifest = m
		refused(t, o, "return does not exist at task.change.before", remote(watches("*")))
	}},
}
