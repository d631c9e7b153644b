package backend_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/backend"
)

// FuzzServeStdio holds: whatever comes in, each line that goes out is one valid
// answer, there are no more of them than lines that came in, and the handler saw
// each event that got effects.
func FuzzServeStdio(f *testing.F) {
	f.Add([]byte(request("a", "ls") + "\n" + request("b", "deny") + "\n"))
	f.Add([]byte(request("a", "panic") + "\n" + observation("b", "ls") + "\n" + request("a", "panic")))
	f.Add([]byte(request("a", "error") + "\n[]\n{}\nnull\n\n \n" + request("a", "ls") + "\r\n"))
	f.Add([]byte("\xff\xfe\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n"))
	f.Add([]byte(request("long", strings.Repeat("x", 3000)) + "\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		s := newServer(t, func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
			if r.Event.Type != ahp.ToolBefore || r.Event.Tool == nil || r.Event.ID == "" {
				t.Errorf("the handler sees %+v", r.Event)
			}
			return decide(ctx, r)
		}, backend.Options{Limits: wire01.Limits{MaxBytes: 2000}, Observe: func(context.Context, *backend.Request) {}})
		var out bytes.Buffer
		if err := s.ServeStdio(t.Context(), bytes.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(out.Bytes(), []byte("\n")); n > bytes.Count(in, []byte("\n"))+1 {
			t.Errorf("%d answers to %q", n, in)
		}
		if b := out.Bytes(); len(b) > 0 && b[len(b)-1] != '\n' {
			t.Errorf("no end: %q", b)
		}
		for line := range bytes.Lines(out.Bytes()) {
			m, err := wire01.Decode(line, wire01.Limits{SingleLine: true})
			if err != nil || m.Kind != wire01.Response && m.Kind != wire01.ErrorResponse {
				t.Errorf("%v in %q", err, line)
			}
			if bytes.Contains(line, []byte("SECRET")) && !bytes.Contains(in, []byte("SECRET")) {
				t.Errorf("leaks: %s", line)
			}
		}
	})
}

// FuzzLocal holds, for a server of both revisions: a message gets one valid answer
// of the revision that it came in, or none if it is an observation; what the handler
// sees is an event of that revision; what it returns is sent as it is or not at all.
func FuzzLocal(f *testing.F) {
	for _, frame := range []string{
		request("a", "deny"), observation("a", "ls"), capabilitiesRequest, draftCall("a", allCaps), draftCall("deny", denyCaps),
		draftRequest("a", draftEvent("a", ahp.TurnStart, turnPart), `{"effects":["modify"],"modify":{"prompt":{"replace":true,"merge":false}}}`, ""),
		draftNote(draftEvent("a", ahp.HookFailure, `"parentEventId":"x","failure":{"backendId":"a.b","reason":"r","policy":"fail-open"}`)),
		draftRequest("a", draftEvent("a", ahp.ToolBefore, toolPart), allCaps, `,"state":{"permission":"deny","candidate":{"value":1},"injections":[{}]},"extensions":{"a.b":1}`),
		turnWith(shownText + "," + hiddenText + "," + shownMedia), "[]", `{"jsonrpc":"2.0","id":1,"method":"hooks/intercept","params":{"protocolVersion":"0.1"}}`,
	} {
		f.Add([]byte(frame))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		// Everything that is offered comes back at once, where it can be built.
		h := func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
			if !r.Event.Type.Interceptable(r.Version) || r.Event.ID == "" {
				t.Errorf("the handler sees %+v in %s", r.Event, r.Version)
			}
			if r.Event.ID == "deny" {
				return []ahp.Effect{&ahp.Deny{Reason: "no"}}, nil
			}
			var list []ahp.Effect
			for _, c := range calls() {
				e := r.Effects()
				c.do(e)
				if made, err := e.List(); err == nil && (r.Version == ahp.VersionDraft || len(list) == 0) {
					list = append(list, made...)
				}
			}
			return list, nil
		}
		o := backend.Options{
			Versions: []ahp.Version{ahp.Version01, ahp.VersionDraft}, Manifest: manifest(), Limits: wire01.Limits{MaxBytes: 4000},
			Observe: func(_ context.Context, r *backend.Request) {
				if !r.Event.Type.In(r.Version) || len(r.Capabilities.Effects) > 0 {
					t.Errorf("told of %+v in %s", r.Event, r.Version)
				}
			},
		}
		o.Manifest.Events = nil
		for _, at := range interceptable() {
			o.Manifest.Events = append(o.Manifest.Events, listening(at))
		}
		s := newServer(t, h, o)
		out, err := s.Local(t.Context(), frame)
		if err != nil {
			t.Fatal(err)
		}
		if len(out) == 0 {
			return
		}
		draft, bad := wiredraft.Decode(out, wiredraft.Limits{SingleLine: true})
		old, bad01 := wire01.Decode(out, wire01.Limits{SingleLine: true})
		switch {
		case bad != nil && bad01 != nil:
			t.Errorf("%v and %v in %s", bad, bad01, out)
		case bad == nil && draft.Kind == wiredraft.ErrorResponse && draft.RPCError.Code == ahp.CodeInternal:
			t.Errorf("what a builder gave was not sent: %s for %s", out, frame)
		case bad01 == nil && old.Kind == wire01.Request:
			t.Errorf("a question: %s", out)
		}
		again, err := s.Local(t.Context(), frame)
		if err != nil || !bytes.Equal(again, out) {
			t.Errorf("%s, and again %s, %v", out, again, err)
		}
	})
}

func listening(t ahp.EventType) ahp.ManifestEvent {
	c := ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectMessage}}
	return ahp.ManifestEvent{Event: t, Modes: []ahp.Mode{ahp.ModeIntercept}, Capabilities: &c}
}
