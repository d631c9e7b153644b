package ahp_test

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/ahp"
)

// TestOffers holds each effect against an offer of just what it needs, and of all but
// that.
func TestOffers(t *testing.T) {
	merge := ahp.ModifyCapability{Target: ahp.TargetInput, Merge: true}
	one, zero := int64(1), int64(0)
	flow := func(f ahp.FlowCapability) ahp.Capabilities {
		return ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectFlow}, Flow: &f}
	}
	plain := func(e ahp.EffectType) ahp.Capabilities { return ahp.Capabilities{Effects: []ahp.EffectType{e}} }
	tests := []struct {
		name    string
		effect  ahp.Effect
		yes, no ahp.Capabilities
	}{
		{"deny", &ahp.Deny{}, plain(ahp.EffectDeny), plain(ahp.EffectAllow)},
		{"allow", &ahp.Allow{}, plain(ahp.EffectAllow), plain(ahp.EffectAsk)},
		{"ask", &ahp.Ask{}, plain(ahp.EffectAsk), plain(ahp.EffectDeny)},
		{"message", &ahp.Notify{}, plain(ahp.EffectMessage), ahp.Capabilities{}},
		{"return", &ahp.Return{}, plain(ahp.EffectReturn), plain(ahp.EffectModify)},
		{
			"modify", &ahp.Modify{Target: ahp.TargetInput, Operation: ahp.OpMerge},
			ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectModify}, Modify: []ahp.ModifyCapability{merge}},
			ahp.Capabilities{Modify: []ahp.ModifyCapability{merge}},
		},
		{
			"another operation", &ahp.Modify{Target: ahp.TargetInput, Operation: ahp.OpMerge},
			ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectModify}, Modify: []ahp.ModifyCapability{{Target: ahp.TargetInput, Replace: true, Merge: true}}},
			ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectModify}, Modify: []ahp.ModifyCapability{{Target: ahp.TargetInput, Replace: true}}},
		},
		{
			"another target", &ahp.Modify{Target: ahp.TargetInput, Operation: ahp.OpMerge},
			ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectModify}, Modify: []ahp.ModifyCapability{merge}},
			ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectModify}, Modify: []ahp.ModifyCapability{{Target: ahp.TargetOutput, Merge: true}}},
		},
		{
			"inject", &ahp.Inject{DeliverAt: ahp.DeliverNow},
			ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectInject}, Inject: []ahp.Delivery{ahp.DeliverNow}},
			ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectInject}, Inject: []ahp.Delivery{ahp.DeliverNextTurn}},
		},
		{"stop", &ahp.Stop{}, flow(ahp.FlowCapability{Stop: true}), flow(ahp.FlowCapability{Continue: true, Remaining: &one})},
		{"continue", &ahp.Continue{}, flow(ahp.FlowCapability{Continue: true, Remaining: &one}), flow(ahp.FlowCapability{Stop: true, Remaining: &one})},
		{"no step left", &ahp.Continue{}, flow(ahp.FlowCapability{Continue: true, Remaining: &one}), flow(ahp.FlowCapability{Continue: true, Remaining: &zero})},
		{"steps not counted", &ahp.Continue{}, flow(ahp.FlowCapability{Continue: true, Remaining: &one}), flow(ahp.FlowCapability{Continue: true})},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if !tt.yes.Offers(tt.effect) || tt.no.Offers(tt.effect) {
				t.Errorf("%v and %v, want true and false", tt.yes.Offers(tt.effect), tt.no.Offers(tt.effect))
			}
		})
	}
}

// The set is closed, also for who embeds one of its types.
func TestIsEffect(t *testing.T) {
	type disguised struct{ *ahp.Deny }
	for _, e := range []ahp.Effect{
		nil, (*ahp.Deny)(nil), (*ahp.Allow)(nil), (*ahp.Ask)(nil), (*ahp.Modify)(nil), (*ahp.Return)(nil), (*ahp.Notify)(nil),
		(*ahp.Inject)(nil), (*ahp.Stop)(nil), (*ahp.Continue)(nil),
		disguised{&ahp.Deny{Reason: "x"}},
	} {
		if ahp.IsEffect(e) {
			t.Errorf("%T counts as an effect", e)
		}
	}
	for _, e := range []ahp.Effect{
		&ahp.Deny{}, &ahp.Allow{}, &ahp.Ask{}, &ahp.Modify{}, &ahp.Return{}, &ahp.Notify{}, &ahp.Inject{}, &ahp.Stop{}, &ahp.Continue{},
	} {
		if !ahp.IsEffect(e) {
			t.Errorf("%T is none", e)
		}
	}
}

// Only messages from and to the outside have one role (AHP draft section 9).
func TestRoleAt(t *testing.T) {
	want := map[ahp.EventType]ahp.Role{ahp.MessageInbound: ahp.RoleUser, ahp.MessageOutbound: ahp.RoleAssistant}
	for _, at := range append(ahp.DraftEvents(), "other") {
		if got := ahp.RoleAt(at); got != want[at] {
			t.Errorf("%s: %q, want %q", at, got, want[at])
		}
	}
}

// TestInline is a property: what stands inline is what the public schema of a part keeps
// from attachments.
func TestInline(t *testing.T) {
	schema := regexp.MustCompile(`^(?:[Tt][Ee][Xx][Tt]/|[^/]+/(?:[^;]+\+)?[Jj][Ss][Oo][Nn](?:;|$))`)
	for s, want := range map[string]bool{
		"text/plain": true, "TEXT/csv; charset=utf-8": true, "application/json": true, "application/Problem+JSON;a=b": true, "a/json": true,
		"": false, "text": false, "image/png": false, "application/jsonl": false, "application/x-json": false, "/json": false, "a/+json": false, "context/plain": false,
	} {
		if ahp.Inline(s) != want || schema.MatchString(s) != want {
			t.Errorf("%q: %v, the schema says %v, want %v", s, ahp.Inline(s), schema.MatchString(s), want)
		}
	}
	piece := rapid.SampledFrom([]string{"text", "TeXt", "json", "JSON", "image", "/", "/", "+", ";", " ", "x", "\n", "ä"})
	rapid.Check(t, func(t *rapid.T) {
		s := ""
		for range rapid.IntRange(0, 6).Draw(t, "pieces") {
			s += piece.Draw(t, "piece")
		}
		if got, want := ahp.Inline(s), schema.MatchString(s); got != want {
			t.Fatalf("%q: %v, the schema says %v", s, got, want)
		}
	})
}
