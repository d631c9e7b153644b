package settle

import (
	"slices"

	"github.com/holdpoint/holdpoint/ahp"
)

// StateAs is [Boundary.State] as one receiver may see it: state is content too, and
// no second road around a selection (AHP-CONTENT-002). show is called with the
// candidate, with the messages of each injection, and with each continue instruction
// as one text part. It returns what the receiver is shown, or false where it is shown
// nothing: then the candidate is null with a provenance that says so, and injections
// and instructions are left out. A nil show shows all.
func (b Boundary) StateAs(show func(ahp.Value) (ahp.Value, bool)) *ahp.State {
	if b.a == nil {
		return &ahp.State{Permission: ahp.PermissionDeny}
	}
	if show == nil {
		show = func(v ahp.Value) (ahp.Value, bool) { return v, true }
	}
	a := b.a
	s := &ahp.State{Permission: a.settledPermission(), Flow: a.flow, Instructions: slices.Clone(a.instructions)}
	if a.candidate != nil {
		if v, ok := show(*a.candidate); ok {
			s.Candidate = &ahp.Candidate{Value: appendValue(nil, &v)}
		} else {
			s.Candidate = &ahp.Candidate{Value: ahp.Raw("null"), Provenance: ahp.Raw(`{"withheld":true}`)}
		}
	}
	for _, i := range a.injections {
		if v, ok := show(ahp.Value{Messages: i.Messages}); ok {
			s.Injections = append(s.Injections, appendInject(nil, &ahp.Inject{DeliverAt: i.DeliverAt, Messages: v.Messages}))
		}
	}
	s.Instructions = slices.DeleteFunc(s.Instructions, func(text string) bool {
		v, ok := show(ahp.Value{Parts: []ahp.Part{ahp.TextPart("instruction", text)}})
		return !ok || len(v.Parts) != 1 || v.Parts[0].Text == nil
	})
	return s
}
