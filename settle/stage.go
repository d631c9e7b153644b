package settle

import "github.com/holdpoint/holdpoint/ahp"

func (a *accepted) stage(s *Step) (*accepted, *ahp.Failure) {
	return nil, invalid("/result/effects", errNotKnown)
}

func appendValue(dst []byte, v *ahp.Value) []byte   { return dst }
func appendInject(dst []byte, i *ahp.Inject) []byte { return dst }
