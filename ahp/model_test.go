package ahp_test

import (
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
)

func TestEventTypesOfTheRevisions(t *testing.T) {
	events := ahp.DraftEvents()
	n := 0
	for _, e := range events {
		if !e.In(ahp.VersionDraft) {
			t.Errorf("%s is not in its own revision", e)
		}
		if e.Interceptable(ahp.VersionDraft) {
			n++
		}
		if e.Interceptable(ahp.Version01) != (e == ahp.ToolBefore) {
			t.Errorf("%s interceptable in 0.1: %v", e, e.Interceptable(ahp.Version01))
		}
	}
	if len(events) != 32 || n != 19 {
		t.Errorf("%d events, %d of them interceptable; want 32 and 19", len(events), n)
	}
	for _, gone := range []ahp.EventType{
		"tool.error", "prompt.submitted", "agent.stop", "notification", "permission.request", "compact.pre",
		"compact.post", "file.edited", "other", "",
	} {
		if gone.In(ahp.VersionDraft) || gone.Interceptable(ahp.VersionDraft) {
			t.Errorf("%q counts as an event of the draft", gone) // D-CAT-1
		}
	}
}

func TestBoundsAreWithinThemselves(t *testing.T) {
	zero := int64(0)
	for _, e := range ahp.DraftEvents() {
		b := ahp.Bounds(e)
		if !e.Interceptable(ahp.VersionDraft) {
			if len(b.Effects) != 0 || b.Within(e) == nil {
				t.Errorf("%s: %+v", e, b)
			}
			continue
		}
		if b.Flow != nil && b.Flow.Continue {
			b.Flow.Remaining, b.Flow.Count = &zero, &zero
		}
		if err := b.Within(e); err != nil {
			t.Errorf("%s: %v", e, err)
		}
	}
}

func TestCapabilitiesOutsideTheirRow(t *testing.T) {
	one := int64(1)
	for name, tc := range map[string]struct {
		event ahp.EventType
		caps  ahp.Capabilities
		want  string
	}{
		"return at a task": {
			ahp.TaskChangeBefore,
			ahp.Capabilities{Effects: []ahp.EffectType{"deny", "return"}},
			"return does not exist at task.change.before",
		},
		"continue before a tool": {
			ahp.ToolBefore,
			ahp.Capabilities{
				Effects: []ahp.EffectType{"flow"},
				Flow:    &ahp.FlowCapability{Continue: true, Remaining: &one, Count: &one},
			},
			"continue does not exist at tool.before",
		},
		"another target": {
			ahp.ToolAfter,
			ahp.Capabilities{
				Effects: []ahp.EffectType{"modify"}, Modify: []ahp.ModifyCapability{{Target: "input", Merge: true}},
			},
			"modify/input does not exist at tool.after",
		},
		"a target without an operation": {
			ahp.ToolAfter,
			ahp.Capabilities{Effects: []ahp.EffectType{"modify"}, Modify: []ahp.ModifyCapability{{Target: "output"}}},
			"modify/output offers no operation",
		},
		"modify alone": {
			ahp.ToolAfter, ahp.Capabilities{Effects: []ahp.EffectType{"modify"}}, "modify goes with the modify effect",
		},
		"continue without counts": {
			ahp.ToolAfter,
			ahp.Capabilities{Effects: []ahp.EffectType{"flow"}, Flow: &ahp.FlowCapability{Continue: true}},
			"continue needs remainingContinuations and continuationCount",
		},
		"a name of somebody's own": {
			ahp.ToolAfter, ahp.Capabilities{Effects: []ahp.EffectType{"com.example.x"}}, "effects/0 is no effect",
		},
		"observe only": {ahp.TurnEnd, ahp.Capabilities{}, "cannot be intercepted"},
	} {
		err := tc.caps.Within(tc.event)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v; want %q", name, err, tc.want)
		}
	}
}

// D-SUB-1, D-SUB-2, D-SUB-3.
func TestWildcards(t *testing.T) {
	s := ahp.Subscription{Mode: ahp.ModeIntercept, Events: []ahp.EventType{"model.*"}}
	for e, want := range map[ahp.EventType]bool{
		ahp.ModelRequestBefore: true, ahp.ModelResponseAfter: true, ahp.ModelSwitchBefore: true,
		ahp.ModelError: false, ahp.ModelSwitchAfter: false, ahp.ToolBefore: false,
	} {
		if s.Covers(e) != want {
			t.Errorf("intercept model.* covers %s: %v", e, !want)
		}
	}
	s.Mode = ahp.ModeObserve
	if !s.Covers(ahp.ModelError) || s.Covers(ahp.ToolBefore) {
		t.Error("observe model.* covers the family, and nothing else")
	}
	s.Events = []ahp.EventType{"*"}
	for _, e := range ahp.DraftEvents() {
		if !s.Covers(e) {
			t.Errorf("* does not cover %s", e)
		}
	}
}

// D-SEL-2, D-SEL-3, D-SEL-10.
func TestSelectionOfAPart(t *testing.T) {
	c := ahp.ContentSelection{Default: ahp.SelectOmit, Categories: []ahp.CategorySelection{
		{Category: "text", Selection: ahp.SelectBody},
		{Category: "reasoning", Selection: ahp.SelectMetadata},
		{Category: "images", Selection: ahp.SelectBody},
	}}
	for _, tc := range []struct {
		mediaType, category string
		want                ahp.Selection
	}{
		{ahp.TextPlain, "", ahp.SelectBody},
		{ahp.TextPlain, "reasoning", ahp.SelectMetadata},
		{ahp.TextPlain, "mood", ahp.SelectOmit},
		{"IMAGE/png", "", ahp.SelectBody},
		{"video/mp4", "", ahp.SelectOmit},
		{"application/zip", "", ahp.SelectOmit},
		{"application/zip", "images", ahp.SelectBody},
	} {
		if got := c.Of(&ahp.Part{MediaType: tc.mediaType, Category: tc.category}); got != tc.want {
			t.Errorf("%s %q: %s, want %s", tc.mediaType, tc.category, got, tc.want)
		}
	}
}

// Two messages without ids would otherwise have parts of one id.
func TestTextMessageWithoutAnID(t *testing.T) {
	if m := ahp.TextMessage("", ahp.RoleUser, "x"); m.ID != "" || m.Parts[0].ID != "" {
		t.Errorf("message %q with part %q", m.ID, m.Parts[0].ID)
	}
	if m := ahp.TextMessage("m", ahp.RoleUser, "x"); m.ID != "m" || m.Parts[0].ID != "m/0" || *m.Parts[0].Text != "x" {
		t.Errorf("message %q with part %q", m.ID, m.Parts[0].ID)
	}
}
