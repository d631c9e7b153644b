package settle_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/settle"
)

// What a request's state holds of effects has the form that the codec gives them.
func TestStateHasTheCodecsForm(t *testing.T) {
	ev := boundary(ahp.ModelRequestBefore)
	ev.Messages[0].Parts = append(ev.Messages[0].Parts, picture("p-1", "blob-1"))
	p := text("p-9", "a\"\\\u2028\x00ä\U0001f600")
	p.Category, p.Synthesized = "mood", new(false)
	ms := []ahp.Message{
		{ID: "m-8", Role: ahp.RoleAssistant, Parts: []ahp.Part{p, picture("p-10", "blob-1")}, Synthesized: new(true)},
		{ID: "m-9", Role: ahp.RoleTool, Parts: []ahp.Part{}},
	}
	i, r := inject(ahp.DeliverNextTurn, ms...), supplyMessages(ms...)
	s := accept(t, settle.Open(ev, everything(ev.Type, 0), settle.BoundaryOptions{}), i, r).State()
	for got, e := range map[string]ahp.Effect{
		string(s.Injections[0]): i,
		`{"type":"return","value":` + string(s.Candidate.Value) + `}`: r,
	} {
		want, err := wiredraft.AppendEffect(nil, e)
		if err != nil {
			t.Fatal(err)
		}
		x, ok := meaning(got)
		y, fine := meaning(string(want))
		if !ok || !fine || encode(x) != encode(y) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}
