package main

import "github.com/holdpoint/holdpoint/ahp"

// A difference is a scenario in which the package does other than the contract says.
// It must still do so: when a new version does not, the run fails, and the entry goes.
type difference struct {
	way  direction
	s    scenario
	rule string // that decides
}

// differences lists all that are known of the version that requirements.txt names;
// docs/interop.md explains them.
var differences = []difference{
	{clientToOurs, scenario{ahp.MessageInbound, "replace"}, "AHP-EDIT-001"},
	{clientToOurs, scenario{ahp.MessageInbound, "merge"}, "AHP-EDIT-001"},
	{clientToOurs, scenario{ahp.MessageOutbound, "replace"}, "AHP-EDIT-001"},
	{clientToOurs, scenario{ahp.MessageOutbound, "merge"}, "AHP-EDIT-001"},
}

// differs returns the rule that decides about a known difference, or "".
func differs(way direction, s scenario) string {
	for _, d := range differences {
		if d.way == way && d.s == s {
			return d.rule
		}
	}
	return ""
}
