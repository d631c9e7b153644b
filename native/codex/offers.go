package codex

import (
	"maps"
	"slices"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/native"
)

// offers is what Codex does at each of its events. A source without a mark of its
// own is a recording of version 0.171.0; (C) is the program's source. An ask is not
// among it: Codex takes it for a broken hook and runs the command (recorded: ask).
var offers = map[string]native.Offer{
	"PreToolUse": {
		Event:        ahp.ToolBefore,
		Capabilities: ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectDeny, ahp.EffectMessage}},
		Source: "deny: deny-robust; message: deny-sysmsg; no ask: ask; no stop: stop; no inject: context did not reach the model; " +
			"modify only with a permission: rewrite, rewrite-noverdict",
	},
	"PostToolUse": {
		Event: ahp.ToolAfter,
		Capabilities: ahp.Capabilities{
			Effects: []ahp.EffectType{ahp.EffectInject},
			Inject:  []ahp.Delivery{ahp.DeliverNow},
		},
		Source: "inject: post-context",
	},
	"UserPromptSubmit": {
		Event:        ahp.TurnStart,
		Capabilities: ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectDeny}},
		Source:       "deny: prompt-block",
	},
	"PermissionRequest": {
		Event:        ahp.ToolPermissionRequest,
		Capabilities: ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectDeny, ahp.EffectAllow}},
		Source:       "deny, allow: NA-CX-25 (C)",
	},
	"Stop":         {Event: ahp.TurnFinishBefore, Capabilities: finish, Source: finishSource},
	"SubagentStop": {Event: ahp.TurnFinishBefore, Capabilities: finish, Source: finishSource},
	"SessionStart": {
		Event: ahp.SessionStart,
		Capabilities: ahp.Capabilities{
			Effects: []ahp.EffectType{ahp.EffectInject},
			Inject:  []ahp.Delivery{ahp.DeliverNow},
		},
		Source: "inject: session-context",
	},
	"SessionEnd": {Event: ahp.SessionEnd, Source: "observed only"},
}

var finish = ahp.Capabilities{
	Effects: []ahp.EffectType{ahp.EffectFlow},
	Flow:    &ahp.FlowCapability{Continue: true},
}

const finishSource = "flow continue: NA-CX-26 (C), once in a turn"

// Offers returns, for each native event, the event of revision draft that it becomes
// and what Codex does there. Codex changes an input only when it is told to allow the
// call at once, past the user's own prompt: changes are offered only where the
// operator lets a rewrite do so ([native.Verdict.RewriteAllows]).
func Offers(rewriteAllows bool) map[string]native.Offer {
	out := maps.Clone(offers)
	if rewriteAllows {
		pre := out["PreToolUse"]
		pre.Capabilities.Effects = append(slices.Clone(pre.Capabilities.Effects), ahp.EffectModify)
		pre.Capabilities.Modify = []ahp.ModifyCapability{{Target: ahp.TargetInput, Replace: true, Merge: true}}
		out["PreToolUse"] = pre
	}
	return out
}
