package settle

import (
	"bytes"
	"errors"
	"slices"

	"github.com/holdpoint/holdpoint/ahp"
)

var (
	errHiddenTarget = errors.New("replace of a target of which the backend was not shown everything")
	errNoTarget     = errors.New("the event does not hold the target")
)

// A target is the private copy of what a response changes (AHP draft section 9). A
// boundary has one target at most.
type target struct {
	kind  ahp.ValueKind // empty until the first change
	apply bool          // false where it is only asked whether the changes may be

	msgs []ahp.Message
	ps   []ahp.Part
	obj  object

	hidden *bool // what hides says of the target, once it was asked

	base  object // obj as it was
	outer object // the ElicitResult around obj

	cut *object // of the tool input that was made, if it is long
}

// longInput is the length, in bytes, from which it pays to keep the cut of an input
// that was changed, whether or not another change comes.
const longInput = 2 << 10

// open copies the target of the event: slices are cut to their length, so that an
// append leaves the event alone.
func (t *target) open(a *accepted, kind ahp.ValueKind) error {
	t.kind = kind
	ev := a.ev
	switch kind {
	case ahp.ValueMessages:
		t.msgs = slices.Clip(ev.Messages)
		return nil
	case ahp.ValueParts:
		ps := bodyParts(ev)
		t.ps = slices.Clip(ps)
		return nil
	case ahp.ValueObject, ahp.ValueAny:
	}
	switch {
	case a.input != nil:
		t.base = *a.input
	case t.idle(ev):
		return nil
	default:
		text, err := t.objectText(ev)
		if err != nil {
			return err
		}
		if t.base, err = cutObject(text); err != nil {
			return err
		}
	}
	t.obj = t.base.clone()
	return nil
}

// idle reports whether a change is checked and not made: nothing is asked of the input
// that it would lead to, which may be long.
func (t *target) idle(ev *ahp.Event) bool { return !t.apply && ev.Tool != nil && ev.Type.HasTool() }

// objectText is the text of the object target.
func (t *target) objectText(ev *ahp.Event) ([]byte, error) {
	switch ev.Type {
	case ahp.ToolBefore, ahp.ToolPermissionRequest:
		if ev.Tool != nil {
			return ev.Tool.Input, nil
		}
	case ahp.WorkspaceChangeBefore:
		if b, ok := ev.Body.(*ahp.WorkspaceChangeBody); ok {
			return workspaceObject(&b.Change), nil
		}
	case ahp.ElicitationResult:
		b, ok := ev.Body.(*ahp.ElicitationBody)
		if !ok || b.Content == nil || b.Content.Text == nil {
			return nil, errNoTarget
		}
		var err error
		if t.outer, err = parseObject([]byte(*b.Content.Text)); err != nil {
			return nil, err
		}
		if content := t.outer.value("content"); content != nil {
			return content, nil
		}
		return []byte("{}"), nil
	default:
	}
	return nil, errNoTarget
}

// change applies one modify to the private copy. What it takes over is cut to its
// length, as in open.
func (t *target) change(m *ahp.Modify, ev, view *ahp.Event) error {
	if m.Operation == ahp.OpReplace {
		if t.hidden == nil {
			t.hidden = new(hides(ev, view, t.kind))
		}
		if *t.hidden {
			return errHiddenTarget
		}
	}
	switch t.kind {
	case ahp.ValueMessages:
		if m.Operation == ahp.OpReplace {
			t.msgs = slices.Clip(m.Value.Messages)
		} else {
			t.msgs = append(t.msgs, m.Value.Messages...)
		}
	case ahp.ValueParts:
		if m.Operation == ahp.OpReplace {
			t.ps = slices.Clip(m.Value.Parts)
		} else {
			t.ps = append(t.ps, m.Value.Parts...)
		}
	case ahp.ValueObject, ahp.ValueAny:
		v, err := parseObject(m.Value.JSON)
		if err != nil {
			return err
		}
		if m.Operation == ahp.OpReplace {
			t.obj = v
		} else if !t.obj.merge(&v) {
			return errDuplicate
		}
	}
	return nil
}

// finish returns the event with the changed target, or ev itself where the value is
// equal to what it was (D-APP-7).
func (t *target) finish(ev *ahp.Event) (*ahp.Event, error) {
	switch t.kind {
	case ahp.ValueMessages:
		if equalMessages(t.msgs, ev.Messages) {
			return ev, nil
		}
		next := *ev
		next.Messages = t.msgs
		return &next, nil
	case ahp.ValueParts:
		return t.finishParts(ev)
	case ahp.ValueObject:
		return t.finishObject(ev)
	case ahp.ValueAny:
	}
	return ev, nil
}

func (t *target) finishParts(ev *ahp.Event) (*ahp.Event, error) {
	if equalParts(t.ps, bodyParts(ev)) {
		return ev, nil
	}
	next := *ev
	switch b := ev.Body.(type) {
	case *ahp.CompactBeforeBody:
		body := *b
		body.Instructions, next.Body = t.ps, &body
	case *ahp.CompactAfterBody:
		body := *b
		body.Summary, next.Body = t.ps, &body
	default:
		return nil, errNoTarget
	}
	return &next, nil
}

func (t *target) finishObject(ev *ahp.Event) (*ahp.Event, error) {
	if t.idle(ev) || t.obj.equal(&t.base, 0) {
		return ev, nil
	}
	next := *ev
	switch b := ev.Body.(type) {
	case *ahp.WorkspaceChangeBody:
		state, err := workspaceState(&t.obj)
		if err != nil {
			return nil, err
		}
		body := *b
		body.Change, next.Body = state, &body
	case *ahp.ElicitationBody:
		t.outer.set(member{key: []byte(`"content"`), name: []byte("content"), val: t.obj.text()})
		text := string(t.outer.text())
		body, part := *b, *b.Content
		part.Text = &text
		body.Content, next.Body = &part, &body
	default:
		tool := *ev.Tool
		tool.Input = t.obj.text()
		next.Tool = &tool
		if len(tool.Input) >= longInput {
			t.obj.at(tool.Input)
			t.cut = &object{members: t.obj.members}
		}
	}
	return &next, nil
}

// hides reports whether the target holds something that the backend was not shown:
// what it leaves out of a replace would be lost unseen (D-CAP-6, D-TGT-9). A hidden
// attachment does not count: to leave it out is to remove it (D-TGT-2).
func hides(ev, view *ahp.Event, kind ahp.ValueKind) bool {
	switch kind {
	case ahp.ValueMessages:
		return hidesMessages(ev.Messages, view.Messages)
	case ahp.ValueParts:
		return hidesParts(bodyParts(ev), bodyParts(view))
	case ahp.ValueObject, ahp.ValueAny:
	}
	if view == ev {
		return false
	}
	switch b := ev.Body.(type) {
	case *ahp.ElicitationBody:
		v, ok := view.Body.(*ahp.ElicitationBody)
		return !ok || v.Content == nil || !same(v.Content.Text, b.Content.Text)
	case *ahp.WorkspaceChangeBody:
		v, ok := view.Body.(*ahp.WorkspaceChangeBody)
		return !ok || !bytes.Equal(workspaceObject(&v.Change), workspaceObject(&b.Change))
	default:
		return view.Tool == nil || !bytes.Equal(view.Tool.Input, ev.Tool.Input)
	}
}

// hidesMessages walks both lists in order: a view may leave messages and parts out,
// and changes no order (D-CONT-1, D-SEL-8).
func hidesMessages(all, view []ahp.Message) bool {
	j := 0
	for i := range all {
		if !holdsText(all[i].Parts) {
			continue
		}
		for j < len(view) && view[j].ID != all[i].ID {
			j++
		}
		if j == len(view) || hidesParts(all[i].Parts, view[j].Parts) {
			return true
		}
		j++
	}
	return false
}

func holdsText(ps []ahp.Part) bool {
	for i := range ps {
		if ps[i].Kind == ahp.PartText {
			return true
		}
	}
	return false
}

func hidesParts(all, view []ahp.Part) bool {
	j := 0
	for i := range all {
		p := &all[i]
		if p.Kind != ahp.PartText {
			continue
		}
		if p.Text == nil {
			return true
		}
		for j < len(view) && (view[j].ID != p.ID || view[j].Kind != ahp.PartText) {
			j++
		}
		if j == len(view) || !same(view[j].Text, p.Text) {
			return true
		}
		j++
	}
	return false
}
