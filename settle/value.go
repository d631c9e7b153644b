package settle

import (
	"bytes"
	"errors"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
)

var (
	errKind        = errors.New("value is not of the sort that the boundary takes")
	errMessage     = errors.New("message without an id or with an unknown role")
	errRole        = errors.New("message with a role that the boundary does not take")
	errPart        = errors.New("part is in none of the forms that a value may have")
	errHidden      = errors.New("part without its body")
	errAttachment  = errors.New("attachment where only text may stand")
	errRef         = errors.New("attachment reference that the backend was not shown")
	errPartRefused = errors.New("part that the host does not let be written")
	errReasoning   = errors.New("reasoning outside an assistant message of its own")
	errCategory    = errors.New("content of one category under another")
	errOldID       = errors.New("new content with an id that is in use")
	errSystem      = errors.New("injected message with role system")
	errWorkspace   = errors.New("value is not a workspace state")
)

// A checker checks values against the boundary: AHP draft section 10, step 5.
type checker struct {
	a    *accepted
	view *ahp.Event

	// Made when first needed, because a backend decides how often they are asked.
	messageIDs, partIDs map[string]struct{} // in use
	marked              *marked             // what is in a category that is not plain text
	media               map[medium]struct{} // attachments that the backend was shown
}

// A medium is what an unchanged attachment has in common with the one it was.
type medium struct{ ref, mediaType, category string }

// only checks that v holds what a value of this kind holds, and nothing else.
func only(v *ahp.Value, kind ahp.ValueKind) error {
	ok := false
	switch kind {
	case ahp.ValueMessages:
		ok = v.Messages != nil && v.Parts == nil && v.JSON == nil
	case ahp.ValueParts:
		ok = v.Parts != nil && v.Messages == nil && v.JSON == nil
	case ahp.ValueObject, ahp.ValueAny:
		ok = v.Messages == nil && v.Parts == nil && jsontext.Value(v.JSON).IsValid()
		if ok && kind == ahp.ValueObject {
			i := skipSpace(v.JSON, 0)
			ok = v.JSON[i] == '{'
		}
	}
	if !ok {
		return errKind
	}
	return nil
}

// messages checks a list of messages. The text is the JSON pointer below value to
// what is wrong.
func (c *checker) messages(ms []ahp.Message, role ahp.Role) (string, error) {
	for i := range ms {
		m := &ms[i]
		at := func() string { return "/" + strconv.Itoa(i) }
		if m.ID == "" || !m.Role.Known() {
			return at(), errMessage
		}
		if role != "" && m.Role != role {
			return at() + "/role", errRole
		}
		reasons := 0
		for j := range m.Parts {
			if err := c.part(&m.Parts[j], false); err != nil {
				return at() + "/parts/" + strconv.Itoa(j), err
			}
			if m.Parts[j].Category == ahp.CategoryReasoning {
				reasons++
			}
		}
		// D-CONT-7: reasoning does not stand among other content.
		if reasons > 0 && (reasons < len(m.Parts) || m.Role != ahp.RoleAssistant) {
			return at(), errReasoning
		}
	}
	return "", nil
}

func (c *checker) parts(ps []ahp.Part) (string, error) {
	for i := range ps {
		if err := c.part(&ps[i], true); err != nil {
			return "/" + strconv.Itoa(i), err
		}
	}
	return "", nil
}

// part admits text with its body, and attachments that the backend was shown. A part
// without its body would put nothing in the place of something, or claim text that
// its sender never saw (D-TGT-7, D-TGT-8, D-TGT-9).
func (c *checker) part(p *ahp.Part, textOnly bool) error {
	switch {
	case p.ID == "" || p.Gap != nil && p.Gap.Reason == "":
		return errPart
	case p.Kind == ahp.PartText:
		switch {
		case p.MediaType != ahp.TextPlain || p.Ref != "" || !p.Selection.Known():
			return errPart
		case p.Text == nil || p.Gap != nil || p.Selection != ahp.SelectBody:
			return errHidden
		}
	case p.Kind == ahp.PartAttachment:
		switch {
		case textOnly:
			return errAttachment
		case p.Text != nil || p.MediaType == "" || ahp.Inline(p.MediaType) || !p.Selection.Known():
			return errPart
		case p.Ref == "" || p.Gap != nil || p.Selection != ahp.SelectBody:
			return errHidden
		case !c.shown(p) && (c.a.opts.AllowRef == nil || !c.a.opts.AllowRef(p.Ref)):
			return errRef
		}
	default:
		return errPart
	}
	if p.Size != nil || p.SHA256 != "" {
		return errPart
	}
	if !c.keepsCategory(p) {
		return errCategory
	}
	if c.a.opts.AllowPart != nil && !c.a.opts.AllowPart(p) {
		return errPartRefused
	}
	return nil
}

// shown reports whether the backend was shown this attachment: same bytes, same type,
// same category.
func (c *checker) shown(p *ahp.Part) bool {
	if c.media == nil {
		c.media = map[medium]struct{}{}
		eachPart(c.view, func(q *ahp.Part) {
			if q.Kind == ahp.PartAttachment && q.Ref != "" {
				c.media[medium{q.Ref, q.MediaType, q.Category}] = struct{}{}
			}
		})
	}
	_, ok := c.media[medium{p.Ref, p.MediaType, p.Category}]
	return ok
}

// marked are the parts that have a category other than plain text: the categories by
// id, and by text. Empty stands for content that is plain text as well.
type marked struct{ ids, texts map[string][]string }

// MinCopy is the length, in bytes, from which an equal text counts as the same content,
// here as in what a harness shows: "ok" is in too many places to say anything.
const MinCopy = 8

// keepsCategory reports whether p, which has the id or the text of a part that is
// marked, has its category. Selections go by categories, so that a new one, or a new id
// under another, would show the content to who does not select it (D-CONT-7, D-TGT-9).
func (c *checker) keepsCategory(p *ahp.Part) bool {
	if c.marked == nil {
		c.marked = markedIn(c.a.original, c.a.ev)
	}
	category := categoryOf(p)
	if in, ok := c.marked.ids[p.ID]; ok && !slices.Contains(in, category) {
		return false
	}
	if p.Text == nil || len(c.marked.texts) == 0 {
		return true
	}
	in, ok := c.marked.texts[*p.Text]
	return !ok || slices.Contains(in, category)
}

func markedIn(original, effective *ahp.Event) *marked {
	m := new(marked)
	each := func(f func(*ahp.Part)) {
		if eachPart(original, f); effective != original {
			eachPart(effective, f)
		}
	}
	each(func(p *ahp.Part) {
		if categoryOf(p) == "" {
			return
		}
		if m.ids == nil {
			m.ids, m.texts = map[string][]string{}, map[string][]string{}
		}
		m.ids[p.ID] = nil
		if p.Text != nil && len(*p.Text) >= MinCopy {
			m.texts[*p.Text] = nil
		}
	})
	if m.ids == nil {
		return m
	}
	each(func(p *ahp.Part) {
		category := categoryOf(p)
		if in, ok := m.ids[p.ID]; ok && !slices.Contains(in, category) {
			m.ids[p.ID] = append(in, category)
		}
		if p.Text == nil {
			return
		}
		if in, ok := m.texts[*p.Text]; ok && !slices.Contains(in, category) {
			m.texts[*p.Text] = append(in, category)
		}
	})
	return m
}

// categoryOf is the category that a part names; empty is plain text, however it says so.
func categoryOf(p *ahp.Part) string {
	if p.Category == "text" {
		return ""
	}
	return p.Category
}

// eachPart calls f for every part of content in ev.
func eachPart(ev *ahp.Event, f func(*ahp.Part)) {
	each := func(ps []ahp.Part) {
		for i := range ps {
			f(&ps[i])
		}
	}
	for i := range ev.Messages {
		each(ev.Messages[i].Parts)
	}
	each(ev.Parts)
	each(bodyParts(ev))
	if b, ok := ev.Body.(*ahp.ToolAfterBody); ok {
		for i := range b.FileChanges {
			for _, p := range [...]*ahp.Part{b.FileChanges[i].Before, b.FileChanges[i].After} {
				if p != nil {
					f(p)
				}
			}
		}
	}
}

// bodyParts are the text parts that the instructions and summary targets stand for.
func bodyParts(ev *ahp.Event) []ahp.Part {
	switch b := ev.Body.(type) {
	case *ahp.CompactBeforeBody:
		return b.Instructions
	case *ahp.CompactAfterBody:
		return b.Summary
	default:
		return nil
	}
}

// fresh takes the ids of new content, and refuses one that is in use in the event, as it
// came, as it was or as the response leaves it, in what was injected, or in the summary
// that stands (D-INJ-2, D-CMP-6).
func (c *checker) fresh(e ahp.Effect, next *accepted) (string, error) {
	var ms []ahp.Message
	var ps []ahp.Part
	switch e := e.(type) {
	case *ahp.Inject:
		ms = e.Messages
	case *ahp.Return:
		ps = e.Value.Parts // a new summary
	default: // it is no new content
	}
	if len(ms)+len(ps) == 0 {
		return "", nil
	}
	if c.messageIDs == nil {
		c.messageIDs, c.partIDs = map[string]struct{}{}, map[string]struct{}{}
		for _, ev := range [...]*ahp.Event{c.a.original, c.a.ev, next.ev} {
			for i := range ev.Messages {
				c.messageIDs[ev.Messages[i].ID] = struct{}{}
			}
			eachPart(ev, func(p *ahp.Part) { c.partIDs[p.ID] = struct{}{} })
		}
		for _, inj := range c.a.injections {
			_, _ = c.take(inj.Messages, nil)
		}
		if next.candidate != nil {
			_, _ = c.take(nil, next.candidate.Parts)
		}
	}
	return c.take(ms, ps)
}

func (c *checker) take(ms []ahp.Message, ps []ahp.Part) (string, error) {
	for i := range ms {
		if !put(c.messageIDs, ms[i].ID) {
			return "/" + strconv.Itoa(i) + "/id", errOldID
		}
		for j := range ms[i].Parts {
			if !put(c.partIDs, ms[i].Parts[j].ID) {
				return "/" + strconv.Itoa(i) + "/parts/" + strconv.Itoa(j) + "/id", errOldID
			}
		}
	}
	for i := range ps {
		if !put(c.partIDs, ps[i].ID) {
			return "/" + strconv.Itoa(i) + "/id", errOldID
		}
	}
	return "", nil
}

func put(m map[string]struct{}, id string) bool {
	if _, old := m[id]; old {
		return false
	}
	m[id] = struct{}{}
	return true
}

// inject checks one injection.
func (c *checker) inject(e *ahp.Inject) (string, error) {
	if at, err := c.messages(e.Messages, ""); err != nil {
		return at, err
	}
	if !c.a.opts.SystemInject {
		for i := range e.Messages {
			if e.Messages[i].Role == ahp.RoleSystem {
				return "/" + strconv.Itoa(i) + "/role", errSystem // D-INJ-4
			}
		}
	}
	return "", nil
}

// result checks a supplied result (D-RET-1).
func (c *checker) result(e *ahp.Return) (string, error) {
	kind := ahp.ReturnAt(c.a.ev.Type)
	if err := only(&e.Value, kind); err != nil {
		return "", err
	}
	switch kind {
	case ahp.ValueMessages:
		return c.messages(e.Value.Messages, "")
	case ahp.ValueParts:
		return c.parts(e.Value.Parts)
	case ahp.ValueObject, ahp.ValueAny:
	}
	return "", wiredraft.CheckEffect(c.view, e)
}

// workspaceObject is a workspace state as the object that effects change.
func workspaceObject(w *ahp.WorkspaceState) []byte {
	var b []byte
	if w.CWD != "" {
		b = str(b, "cwd", w.CWD, true)
	}
	if w.WorkspaceRoots != nil {
		b = append(key(b, "workspaceRoots"), '[')
		for i, r := range w.WorkspaceRoots {
			if i > 0 {
				b = append(b, ',')
			}
			b, _ = jsontext.AppendQuote(b, r)
		}
		b = append(b, ']')
	}
	return append(append([]byte("{"), bytes.TrimPrefix(b, []byte(","))...), '}')
}

// workspaceState reads back what workspaceObject writes: closed, with at least one
// member, and no null (AHP draft section 6.5).
func workspaceState(o *object) (ahp.WorkspaceState, error) {
	var w ahp.WorkspaceState
	for i := range o.members {
		m := &o.members[i]
		switch string(m.name) {
		case "cwd":
			if m.val[0] != '"' {
				return w, errWorkspace
			}
			if w.CWD = string(unquote(m.val)); w.CWD == "" {
				return w, errWorkspace
			}
		case "workspaceRoots":
			if m.val[0] != '[' {
				return w, errWorkspace
			}
			w.WorkspaceRoots = []string{}
			seen := map[string]struct{}{}
			if !elements(m.val, func(v []byte) bool {
				if v[0] != '"' || len(v) == 2 || !put(seen, string(unquote(v))) {
					return false
				}
				w.WorkspaceRoots = append(w.WorkspaceRoots, string(unquote(v)))
				return true
			}) {
				return w, errWorkspace
			}
		default:
			return w, errWorkspace
		}
	}
	if w.CWD == "" && w.WorkspaceRoots == nil {
		return w, errWorkspace
	}
	return w, nil
}
