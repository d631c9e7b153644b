package native_test

import (
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/native"
)

// TestDraftRules runs one subtest for each rule of the AHP draft contract that shows
// on an adapter. Their names feed docs/conformance.
func TestDraftRules(t *testing.T) {
	all := samples(t, native.Options{Revision: ahp.VersionDraft, ID: "e", Source: "urn:x", Time: "2026-11-30T05:00:00Z"})
	events := func(t *testing.T, each func(s *sample, e *ahp.Event)) {
		n := 0
		for i := range all {
			if e := all[i].decoded.Event; e != nil {
				n++
				each(&all[i], e)
			}
		}
		if n < 40 {
			t.Fatalf("only %d events", n)
		}
	}
	// What an offer says is what the answer carries, and what it does not say is
	// refused where something can be.
	t.Run("D-AD-1", func(t *testing.T) {
		const text = "marker text"
		for name, table := range offers {
			for event, o := range table {
				c := o.Capabilities
				for _, x := range []struct {
					offered bool
					v       native.Verdict
					want    string
				}{
					{c.Allows(ahp.EffectAsk), native.Verdict{Decision: native.Ask, Reason: text}, `"permissionDecision": "ask"`},
					{c.Allows(ahp.EffectAllow), native.Verdict{Decision: native.Allowed}, `"allow"`},
					{c.AllowsModify(ahp.TargetInput, ahp.OpReplace), native.Verdict{Decision: native.Proceed, Input: ahp.Raw(`{"marker":1}`)}, `{"marker":1}`},
					{c.Allows(ahp.EffectMessage), native.Verdict{Decision: native.Proceed, Messages: []string{text}}, `"systemMessage": "` + text},
					{c.AllowsInject(ahp.DeliverNow), native.Verdict{Decision: native.Proceed, Context: []string{text}}, `"additionalContext": "` + text},
					{c.AllowsStop(), native.Verdict{Decision: native.Stopped, Reason: text}, `"stopReason": "` + text},
					{c.Flow != nil && c.Flow.Continue, native.Verdict{Decision: native.Continued, Reason: text}, `"decision": "block"`},
					{c.Allows(ahp.EffectDeny), native.Verdict{Reason: text}, text},
				} {
					got := string(adapters[name].encode(event, x.v).Stdout)
					// A refusable event answers what is not offered with its refusal, whose form
					// continue shares.
					if carried := strings.Contains(got, x.want); carried != x.offered && !(x.v.Decision == native.Continued && c.Allows(ahp.EffectDeny)) {
						t.Errorf("%s at %s: %+v is offered: %v, answered with %s", name, event, x.v, x.offered, got)
					}
				}
			}
		}
	})
	t.Run("D-AD-2", func(t *testing.T) {
		events(t, func(s *sample, e *ahp.Event) {
			for _, m := range e.Messages {
				if !m.Role.Known() || m.ID == "" || m.Synthesized == nil || !*m.Synthesized {
					t.Errorf("%s: message %+v", s.name, m)
				}
			}
		})
	})
	t.Run("D-AD-3", func(t *testing.T) {
		for name, table := range offers {
			for event, o := range table {
				if !o.Event.Interceptable(ahp.VersionDraft) && len(o.Capabilities.Effects) > 0 {
					t.Errorf("%s at %s: effects at an event that is only observed", name, event)
				}
			}
		}
	})
	t.Run("AHP-CONTENT-001", func(t *testing.T) {
		events(t, func(s *sample, e *ahp.Event) {
			for _, m := range e.Messages {
				for _, p := range m.Parts {
					if p.Kind != ahp.PartText || p.MediaType != ahp.TextPlain || p.Text == nil {
						t.Errorf("%s: part %+v", s.name, p)
					}
				}
			}
		})
	})
	// Startup instructions belong to session.start, the prompt to turn.start: an agent
	// shows its hooks the prompt alone, and the other has a gap.
	t.Run("D-SES-1", func(t *testing.T) {
		prompts := 0
		events(t, func(s *sample, e *ahp.Event) {
			switch {
			case e.Type == ahp.SessionStart && (len(e.Messages) != 0 || len(e.Gaps) != 1 || e.Gaps[0].Path != "items"):
				t.Errorf("%s: messages %+v, gaps %+v", s.name, e.Messages, e.Gaps)
			case e.Type == ahp.TurnStart:
				prompts++
				if len(e.Messages) != 1 || e.Messages[0].Role != ahp.RoleUser || *e.Messages[0].Parts[0].Text == "" {
					t.Errorf("%s: messages %+v", s.name, e.Messages)
				}
			}
		})
		if prompts == 0 {
			t.Error("no prompt")
		}
	})
	// A resumed session keeps its id; one that was cleared or forked says that it came
	// from another, whose id no agent tells.
	t.Run("D-EVT-10", func(t *testing.T) {
		for name, a := range adapters {
			for source, from := range map[string]bool{"startup": false, "resume": false, "clear": true, "fork": true} {
				p := `{"session_id":"s-1","hook_event_name":"SessionStart","source":"` + source + `"}`
				d, err := a.decode(&native.Call{Payload: []byte(p)}, native.Options{Revision: ahp.VersionDraft})
				if err != nil {
					t.Fatal(err)
				}
				b := d.Event.Body.(*ahp.SessionStartBody)
				if d.Event.Session.ID != "s-1" || b.Trigger != source || (b.ResumedFrom != nil) != from {
					t.Errorf("%s, %s: session %q, %+v", name, source, d.Event.Session.ID, b)
				}
				if r := b.ResumedFrom; r != nil && (r.ID == "s-1" || r.Synthesized == nil || !*r.Synthesized) {
					t.Errorf("%s, %s: from %+v", name, source, r)
				}
			}
		}
	})
	t.Run("D-EVT-11", func(t *testing.T) {
		ids := map[string]bool{}
		for _, call := range []string{"toolu_1", "toolu_2"} {
			p := `{"session_id":"s","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"` + call + `"}`
			for _, a := range adapters {
				d, err := a.decode(&native.Call{Payload: []byte(p)}, native.Options{Revision: ahp.VersionDraft})
				if err != nil {
					t.Fatal(err)
				}
				ids[d.Event.Tool.CallID] = true
			}
		}
		if len(ids) != 2 {
			t.Errorf("two equal calls have the ids %v", ids)
		}
	})
	t.Run("D-TE-7", func(t *testing.T) {
		events(t, func(s *sample, e *ahp.Event) {
			if e.Tool != nil && (e.Tool.Output != nil || e.Tool.Error != nil || len(e.Tool.Unknown) > 0) {
				t.Errorf("%s: tool %+v", s.name, e.Tool)
			}
		})
	})
	t.Run("D-MCP-2", func(t *testing.T) {
		n := 0
		events(t, func(s *sample, e *ahp.Event) {
			if e.Tool == nil || e.Tool.Server == nil {
				return
			}
			n++
			if c := e.Tool.Server.Connection; c.URL+c.Command+c.CWD+c.AddressForm+c.Address != "" || c.Args != nil || len(c.Gaps) != 2 {
				t.Errorf("%s: a location that no agent told: %+v", s.name, c)
			}
		})
		if n == 0 {
			t.Error("no call of an MCP tool")
		}
	})
	t.Run("D-NAT-1", func(t *testing.T) {
		events(t, func(s *sample, e *ahp.Event) {
			if e.Native != nil || e.NativeOther != nil {
				t.Errorf("%s: the native payload is there unasked", s.name)
			}
		})
	})
	t.Run("D-ACC-3", func(t *testing.T) {
		events(t, func(s *sample, e *ahp.Event) {
			switch b := e.Body.(type) {
			case *ahp.TurnFinishBody:
				if b.Usage != nil {
					t.Errorf("%s: usage that no agent told", s.name)
				}
			case *ahp.ToolAfterBody:
				if b.FileChanges != nil {
					t.Errorf("%s: file changes that no agent told", s.name)
				}
			default:
			}
		})
	})
}
