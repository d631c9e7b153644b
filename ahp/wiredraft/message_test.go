package wiredraft_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
)

// TestTooLarge looks for the id of a message of which only a beginning is there.
func TestTooLarge(t *testing.T) {
	for beginning, want := range map[string]struct {
		id           string
		notification bool
	}{
		`{"jsonrpc":"2.0","id":"e","method":"hooks/intercept","params":{"ev`: {`"e"`, false}, `{"id":7,"method":"m","p`: {`7`, false},
		`{"method":"hooks/observe","params":{"event":{`: {"", true}, `{"jsonrpc":"2.0","params":{"event":{`: {"", false}, `{"id":{},"method":"m","x":`: {"", true}, `[`: {"", false}, ``: {"", false},
	} {
		e := wiredraft.TooLarge([]byte(beginning), wiredraft.Limits{MaxBytes: 10})
		if string(e.ID) != want.id || e.Notification != want.notification || e.Code != ahp.CodeInvalidRequest || e.Class != ahp.FailMalformed || e.Found != "more than 10 bytes" {
			t.Errorf("%s: %+v", beginning, e)
		}
	}
	_, err := wiredraft.DecodeRequest([]byte(validRequest), wiredraft.Limits{MaxBytes: 100})
	if err == nil || string(err.ID) != `"e-1"` || err.Code != ahp.CodeInvalidRequest {
		t.Errorf("%+v", err)
	}
	_, err = wiredraft.DecodeRequest([]byte(edit(t, validRequest, `"n":1.50`, `"n":[[[[]]]]`)), wiredraft.Limits{MaxDepth: 7})
	if err == nil || string(err.ID) != `"e-1"` || err.Pointer != "/params/event/tool/input" {
		t.Errorf("%+v", err)
	}
}

// TestLimits holds each limit in each direction.
func TestLimits(t *testing.T) {
	for name, l := range map[string]wiredraft.Limits{"bytes": {MaxBytes: 50}, "depth": {MaxDepth: 2}, "members": {MaxMembers: 2}} {
		if _, err := wiredraft.DecodeRequest([]byte(validRequest), l); err == nil || err.Class != ahp.FailMalformed {
			t.Errorf("%s: %v", name, err)
		}
		if _, f := wiredraft.DecodeResponse([]byte(result(`{"type":"deny","reason":"r"}`)), "e-1", ahp.ToolBefore, nil, l); f == nil || f.Class != ahp.FailMalformed {
			t.Errorf("%s: %v", name, f)
		}
	}
	if _, f := wiredraft.DecodeResponse([]byte(result(`{"type":"allow"},{"type":"allow"}`)), "e-1", ahp.ToolBefore, nil, wiredraft.Limits{MaxItems: 1}); f == nil {
		t.Error("items")
	}
	if _, err := wiredraft.Decode([]byte(edit(t, validRequest, `"params"`, "\n\"params\"")), wiredraft.Limits{SingleLine: true}); err == nil {
		t.Error("two lines")
	}
	ev := wantEvent(t, ahp.ToolBefore, toolBits)
	ev.Tool.Input = ahp.Raw(`{"a":"` + strings.Repeat("x", wiredraft.DefaultMaxBytes) + `"}`)
	if out, err := wiredraft.AppendObserve([]byte("kept"), ev); err == nil || string(out) != "kept" || !isClass(err, ahp.FailEvent) {
		t.Errorf("%v", err)
	}
}

// TestSharedText holds what a message says of its memory, and that it shares none with
// the frame.
func TestSharedText(t *testing.T) {
	frame := []byte(validRequest)
	m := wantRequest(t, string(frame))
	if text, held := m.SharedText(); text != validEvent || held != len(frame) || string(m.EventText) != validEvent {
		t.Errorf("%d bytes held for %s", held, text)
	}
	big := wantRequest(t, string(sized(t, validRequest, 20<<10)))
	if text, held := big.SharedText(); text != "" || held != 0 {
		t.Errorf("%d bytes held", held)
	}
	m, err := wiredraft.DecodeRequest(frame, wiredraft.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range frame {
		frame[i] = 'x'
	}
	if m.Event.ID != "e-1" || m.Event.Tool.Name != "run_command" || string(m.Event.Tool.Input) != `{"cmd":"ls","n":1.50}` || m.Event.Session.Agent.Type != "reviewer" {
		t.Errorf("%+v", m.Event)
	}
}

// TestManifestBesideOffer holds that the lists of a request's own memory are used once:
// a session.start has offers in its manifest and one of its own.
func TestManifestBesideOffer(t *testing.T) {
	m := wantRequest(t, intercept(event(ahp.SessionStart, events[ahp.SessionStart]), `{"effects":["message"]}`))
	b := m.Event.Body.(*ahp.SessionStartBody)
	if got := b.Manifest.Events[0].Capabilities.Effects; len(got) != 1 || got[0] != ahp.EffectDeny || m.Capabilities.Effects[0] != ahp.EffectMessage {
		t.Errorf("%v %v", got, m.Capabilities.Effects)
	}
	if len(b.Manifest.ToolPaths) != 1 || b.Manifest.ToolPaths[0] != "native" || b.Manifest.Correlation[0] != "id" || b.Manifest.ContentCategories[0] != "text" {
		t.Errorf("%+v", b.Manifest)
	}
}

// TestAllocations holds what a tool.before costs.
func TestAllocations(t *testing.T) {
	frame := sized(t, validRequest, 1<<10)
	m := wantRequest(t, string(frame))
	caps := all(ahp.ToolBefore)
	deny := []ahp.Effect{&ahp.Deny{Reason: "no"}}
	answer := []byte(result(`{"type":"deny","reason":"no"}`))
	var dst []byte
	for _, x := range []struct {
		name string
		most float64
		f    func()
	}{
		{"DecodeRequest", 6, func() { _, _ = wiredraft.DecodeRequest(frame, wiredraft.Limits{}) }},
		{"AppendIntercept", 0, func() { dst, _ = wiredraft.AppendIntercept(dst[:0], m.Event, &m.Capabilities, nil, nil) }},
		{"AppendResult", 0, func() { dst, _ = wiredraft.AppendResult(dst[:0], m.ID, ahp.ToolBefore, caps, deny, nil) }},
		{"DecodeResponse", 4, func() { _, _ = wiredraft.DecodeResponse(answer, "e-1", ahp.ToolBefore, caps, wiredraft.Limits{}) }},
	} {
		x.f() // fills pools
		if raceEnabled {
			continue
		}
		if n := testing.AllocsPerRun(200, x.f); n > x.most {
			t.Errorf("%s allocates %.1f times, at most %.0f", x.name, n, x.most)
		}
	}
	if !bytes.HasPrefix(dst, []byte(`{"jsonrpc"`)) {
		t.Errorf("%s", dst)
	}
}

// TestErrorTexts holds what errors of all sorts say.
func TestErrorTexts(t *testing.T) {
	_, err := wiredraft.DecodeRequest([]byte(edit(t, validRequest, `"draft"`, `"0.1"`)), wiredraft.Limits{})
	if got, want := err.Error(), `/params/protocolVersion: found another version, expected the string "draft"`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if f := err.Failure(); f.Class != ahp.FailUnsupported || f.Pointer != "/params/protocolVersion" || f.Err == nil {
		t.Errorf("%+v", f)
	}
	p, _ := wiredraft.Lint("f.jsonl", []byte("{}\n\n"+validRequest), wiredraft.KindMessage, wiredraft.LintOptions{})
	if len(p) != 4 || p[0].Error() != `f.jsonl:1:1: /jsonrpc: found nothing, expected the string "2.0"` || p[3].Error() != "f.jsonl:2:1: found an empty line, expected one document on each line" {
		t.Errorf("%v", p)
	}
	p, _ = wiredraft.Lint("f.json", []byte(validRequest), "", wiredraft.LintOptions{Request: []byte("{}")})
	if len(p) != 1 || !strings.Contains(p[0].Found, "a request with a fault of its own") {
		t.Errorf("%v", p)
	}
	for _, bad := range []func() error{
		func() error { _, err := wiredraft.AppendIntercept(nil, nil, nil, nil, nil); return err },
		func() error { _, err := wiredraft.AppendObserve(nil, nil); return err },
		func() error { _, err := wiredraft.AppendEvent(nil, nil); return err },
		func() error { _, err := wiredraft.AppendEffect(nil, nil); return err },
		func() error { _, err := wiredraft.AppendEffect(nil, (*ahp.Deny)(nil)); return err },
		func() error { _, err := wiredraft.AppendEffect(nil, &ahp.Deny{}); return err },
		func() error { _, err := wiredraft.AppendCapabilitiesResult(nil, nil, nil); return err },
		func() error {
			_, err := wiredraft.AppendCapabilitiesResult(nil, nil, &ahp.Manifest{Transports: []string{"x"}})
			return err
		},
		func() error { _, err := wiredraft.AppendCapabilitiesRequest(nil, nil); return err },
		func() error { _, err := wiredraft.AppendError(nil, ahp.Raw(`{}`), 1, "m", nil); return err },
		func() error { _, err := wiredraft.AppendError(nil, nil, 1, "\xff", nil); return err },
		func() error { _, err := wiredraft.AppendError(nil, nil, 1, "m", ahp.Raw(`1 2`)); return err },
	} {
		if err := bad(); err == nil || err.Error() == "" {
			t.Errorf("%v", err)
		}
	}
}
