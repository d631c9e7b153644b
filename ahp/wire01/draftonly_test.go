package wire01_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
)

// What only revision draft can say is refused by name, on the short way and on the
// long one, and dst comes back as it was.
func TestDraftMembersAreNotLeftOut(t *testing.T) {
	yes := true
	for name, set := range map[string]func(*ahp.Event){
		"Event.Turn":                 func(e *ahp.Event) { e.Turn = &ahp.Turn{ID: "t"} },
		"Event.Messages":             func(e *ahp.Event) { e.Messages = []ahp.Message{} },
		"Event.Body":                 func(e *ahp.Event) { e.Body = &ahp.TurnStartBody{Trigger: "user"} },
		"Event.NativeOther":          func(e *ahp.Event) { e.NativeOther = ahp.Raw("1") },
		"Event.Session.Synthesized":  func(e *ahp.Event) { e.Session.Synthesized = &yes },
		"Event.Tool.Origin":          func(e *ahp.Event) { e.Tool.Origin = ahp.OriginNative },
		"Event.Tool.CallSynthesized": func(e *ahp.Event) { e.Tool.CallSynthesized = &yes },
	} {
		for _, in := range []string{validRequest, oddRequest} {
			m := wantRequest(t, in)
			set(m.Event)
			wantDraftRefused(t, name, "/params/event", func(dst []byte) ([]byte, error) {
				return wire01.AppendIntercept(dst, m.Event, m.Capabilities, nil)
			})
			wantDraftRefused(t, name, "/params/event", func(dst []byte) ([]byte, error) { return wire01.AppendObserve(dst, m.Event) })
			wantDraftRefused(t, name, "", func(dst []byte) ([]byte, error) { return wire01.AppendEvent(dst, m.Event) })
		}
	}
	m := wantRequest(t, validRequest)
	caps := ahp.DenyOnly()
	caps.Inject = []ahp.Delivery{ahp.DeliverNow}
	wantDraftRefused(t, "Capabilities.Inject", "/params/capabilities", func(dst []byte) ([]byte, error) {
		return wire01.AppendIntercept(dst, m.Event, caps, nil)
	})
}

func wantDraftRefused(t *testing.T, name, pointer string, write func([]byte) ([]byte, error)) {
	t.Helper()
	out, err := write([]byte("before "))
	var e *wire01.Error
	if !errors.As(err, &e) || e.Class != ahp.FailEvent || e.Pointer != pointer || !strings.Contains(e.Found, name+",") {
		t.Errorf("%s: %v, want it named at %q", name, err, pointer)
	}
	if string(out) != "before " {
		t.Errorf("%s: dst came back as %q", name, out)
	}
}
