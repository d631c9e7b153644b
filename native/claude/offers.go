package claude

import (
	"maps"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/native"
)

// offers is what Claude Code does at each of its events. A source without a mark of
// its own is a recording of version 2.1.332; what is documented only says so. What
// the agent was not seen and is not documented to do is not offered, so that a
// control which needs it refuses, or does without, knowingly.
var offers = map[string]native.Offer{
	"PreToolUse": {
		Event: ahp.ToolBefore,
		Capabilities: ahp.Capabilities{
			Effects: []ahp.EffectType{
				ahp.EffectDeny, ahp.EffectAllow, ahp.EffectAsk, ahp.EffectModify, ahp.EffectFlow, ahp.EffectInject, ahp.EffectMessage,
			},
			Modify: []ahp.ModifyCapability{{Target: ahp.TargetInput, Replace: true, Merge: true}},
			Flow:   &ahp.FlowCapability{Stop: true},
			Inject: []ahp.Delivery{ahp.DeliverNow},
		},
		Source: "deny: deny-robust; allow: norule-allow, denyrule-allow; ask: tui-ask-yes, tui-ask-no, norule-ask, bypass-ask " +
			"(print mode refuses); modify: rewrite-noverdict, which grants nothing; flow stop: a refusal and, documented, " +
			"continue false (NA-CC-22; alone it stops nothing: stop); inject: context (NA-CC-20); message: deny-sysmsg (NA-CC-22)",
	},
	"PostToolUse": {
		Event: ahp.ToolAfter,
		Capabilities: ahp.Capabilities{
			Effects: []ahp.EffectType{ahp.EffectInject, ahp.EffectMessage},
			Inject:  []ahp.Delivery{ahp.DeliverNow},
		},
		Source: "inject: post-context; message: documented (NA-CC-22); the result cannot be withheld: post-block",
	},
	"PostToolUseFailure": {
		Event: ahp.ToolAfter,
		Capabilities: ahp.Capabilities{
			Effects: []ahp.EffectType{ahp.EffectInject, ahp.EffectMessage},
			Inject:  []ahp.Delivery{ahp.DeliverNow},
		},
		Source: "inject: documented (NA-CC-10); message: documented (NA-CC-22)",
	},
	"UserPromptSubmit": {
		Event: ahp.TurnStart,
		Capabilities: ahp.Capabilities{
			Effects: []ahp.EffectType{ahp.EffectDeny, ahp.EffectInject, ahp.EffectMessage},
			Inject:  []ahp.Delivery{ahp.DeliverNow},
		},
		Source: "deny: prompt-block; inject: documented (NA-CC-10); message: documented (NA-CC-22)",
	},
	"PermissionRequest": {
		Event:        ahp.ToolPermissionRequest,
		Capabilities: ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectDeny, ahp.EffectAllow, ahp.EffectMessage}},
		Source:       "deny: permreq-deny; allow: permreq-allow; message: documented (NA-CC-22)",
	},
	"Stop":         {Event: ahp.TurnFinishBefore, Capabilities: finish, Source: finishSource},
	"SubagentStop": {Event: ahp.TurnFinishBefore, Capabilities: finish, Source: finishSource},
	"PreCompact": {
		Event:        ahp.CompactBefore,
		Capabilities: ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectDeny, ahp.EffectMessage}},
		Source:       "deny: documented (NA-CC-10); message: documented (NA-CC-22)",
	},
	"SessionStart": {
		Event: ahp.SessionStart,
		Capabilities: ahp.Capabilities{
			Effects: []ahp.EffectType{ahp.EffectInject, ahp.EffectMessage},
			Inject:  []ahp.Delivery{ahp.DeliverNow},
		},
		Source: "inject: session-context; message: documented (NA-CC-22)",
	},
	"SessionEnd":       {Event: ahp.SessionEnd, Source: "observed only"},
	"PermissionDenied": {Event: ahp.ToolPermissionResolved, Source: "observed only"},
	"Notification":     {Event: ahp.UserAttention, Source: "observed only"},
}

var finish = ahp.Capabilities{
	Effects: []ahp.EffectType{ahp.EffectFlow, ahp.EffectMessage},
	Flow:    &ahp.FlowCapability{Continue: true},
}

const finishSource = "flow continue: documented (NA-CC-10, NA-CC-34), once in a turn; message: documented (NA-CC-22)"

// Offers returns, for each native event, the event of revision draft that it becomes
// and what Claude Code does there.
func Offers() map[string]native.Offer { return maps.Clone(offers) }
