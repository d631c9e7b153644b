// Package policy holds rules over facts and what they decide.
//
// A policy is a folder of YAML files, read by [Load] into an immutable [Set].
// [Set.Decide] takes the facts of one event and gives a [Decision]. Conditions
// are compiled by an [Engine] (policy/cel) against typed facts, so that a wrong
// name is an error with file, line and column when the policy is loaded, not a
// rule that never fires.
//
// Rules refuse, ask for an approval, change the input of a call, tell the user or the
// model, or flag; none permits. The first rule that refuses decides; a changed input
// is judged again ([Set.Judge]); a rule in shadow mode is recorded and has no effect. Nothing in a
// workspace can loosen a gate: project overlays only add, and a folder that
// others can write is refused.
package policy
