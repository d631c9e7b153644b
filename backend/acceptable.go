package backend

import (
	"cmp"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

// acceptable says why a harness would refuse effects as the answer to ev with what it
// offered, or returns nil. The rules are those of a harness, asked before it is: none
// stands here. What a harness may allow beyond the contract is left to it, but for
// attachments of which the handler cannot know.
func acceptable(v ahp.Version, ev *ahp.Event, caps ahp.Capabilities, effects []ahp.Effect) error {
	var f *ahp.Failure
	if v == ahp.VersionDraft {
		f = settle.Check(ev, &caps, effects, settle.BoundaryOptions{SystemInject: true})
	} else {
		_, said := settle.Start(caps).Apply(settle.Step{Effects: effects})
		f = said.Failure
	}
	if f != nil {
		return cmp.Or(f.Err, error(f)) // neither holds anything of event or effects
	}
	return nil
}
