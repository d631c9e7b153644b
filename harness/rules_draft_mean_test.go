package harness_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
)

// meaningRules are rules about what the members of events mean: what a host says
// with the typed events stands where the contract wants it, and what it cannot mean
// is refused.
var meaningRules = []draftRule{
	{"D-SES-1", func(t *testing.T) {
		// Startup instructions go with the session, prompts with the turn.
		var k cast
		p := k.add("net.acme.watch", &peer{}, watches("session.*", "turn.*"))
		h := k.open(t, nil)
		session := harness.SessionStart{
			Base:             harness.Base{Session: ahp.Session{ID: "s-1"}},
			Messages:         []ahp.Message{ahp.TextMessage("m-start", ahp.RoleDeveloper, "be brief")},
			SessionStartBody: *everyEvent(t, ahp.SessionStart).Body.(*ahp.SessionStartBody),
		}
		if _, _, err := harness.Settle(t.Context(), h.Harness, session); err != nil {
			t.Fatal(err)
		}
		turn := harness.TurnStart{
			Base:          harness.Base{Session: ahp.Session{ID: "s-1"}, Turn: &ahp.Turn{ID: "t-1"}},
			Messages:      []ahp.Message{ahp.TextMessage("m-prompt", ahp.RoleUser, "fix the test")},
			TurnStartBody: *everyEvent(t, ahp.TurnStart).Body.(*ahp.TurnStartBody),
		}
		if _, _, err := harness.Settle(t.Context(), h.Harness, turn); err != nil {
			t.Fatal(err)
		}
		told := p.told()
		if len(told) != 2 {
			t.Fatalf("told %s", typesOf(p))
		}
		for i, want := range []string{"be brief", "fix the test"} {
			if items := string(told[i].Params.Event["items"]); !strings.Contains(items, want) || strings.Count(told[i].raw, want) != 1 {
				t.Errorf("%q is not in the items, once: %s", want, told[i].raw)
			}
		}
	}},
	{"D-EVT-10", func(t *testing.T) {
		// A fork or a clear without its origin is no event; a resumed session is itself.
		for _, tt := range []struct {
			trigger string
			origin  *ahp.Ref
			ok      bool
		}{
			{"resume", nil, true},
			{"fork", &ahp.Ref{ID: "s-0"}, true},
			{"clear", &ahp.Ref{ID: "s-0"}, true},
			{"fork", nil, false},
			{"clear", nil, false},
		} {
			var k cast
			p := k.add("net.acme.watch", &peer{}, watches("session.*"))
			k.add("net.acme.ask", says("[]"), asks(ahp.FailOpen, ahp.SessionStart))
			h := k.open(t, nil)
			ev := everyEvent(t, ahp.SessionStart)
			ev.Session.ID = "s-1"
			body := ev.Body.(*ahp.SessionStartBody)
			body.Trigger, body.ResumedFrom = tt.trigger, tt.origin
			_, err := settleOne(t, h, ev)
			if (err == nil) != tt.ok || !tt.ok && !errors.Is(err, harness.ErrEvent) {
				t.Errorf("%s with origin %v: %v", tt.trigger, tt.origin, err)
			}
			told := p.told()
			if (len(told) == 1) != tt.ok {
				t.Errorf("%s with origin %v: told %s", tt.trigger, tt.origin, typesOf(p))
				continue
			}
			if !tt.ok {
				continue
			}
			var session struct{ ID string }
			if err := json.Unmarshal(told[0].Params.Event["session"], &session); err != nil || session.ID != "s-1" {
				t.Errorf("session %s, %v", told[0].Params.Event["session"], err)
			}
			if tt.origin != nil && !strings.Contains(told[0].raw, `"resumedFrom":{"id":"s-0"}`) {
				t.Errorf("no origin in %s", told[0].raw)
			}
		}
	}},
}
