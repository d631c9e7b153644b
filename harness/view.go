package harness

import (
	"slices"

	"github.com/holdpoint/holdpoint/ahp"
)

// A lens is how one subscription sees events: what it selects, what the host lets it
// see, and which optional fields leave the process.
type lens struct {
	// key is equal for lenses that show the same of every event, so that their views
	// are made and encoded once.
	key     int
	content ahp.ContentSelection
	native  bool // selected, and allowed by local policy (D-NAT-1)
	minimal bool // the least session (D-EVT-9)
	// may is the host's permission for one part (D-SEL-7); nil shows text only.
	may func(*ahp.Part) bool
}

// A view is what a subscription is shown of an event. Several may share one.
type view struct {
	ev *ahp.Event
	// missing: a body that was asked for is not there (D-SEL-6).
	missing bool
	// hidden: some part is shown without its body, whatever the reason.
	hidden bool
	// blind: what the event is about holds a copy of hidden text, and lacks it here.
	blind bool
	// secret are the texts that it keeps back, which state must not bring in again.
	secret hiddenTexts
}

// The reasons in gaps. They say nothing of the content.
const (
	gapPermission = "the receiver may not see it"
	gapUpload     = "attachments are not uploaded"
	gapAbsent     = "the host does not have it"
	gapCopy       = "it may hold a copy of content that was not selected"
)

// view shows ev through the lens. What stays the same is shared with ev.
func (l *lens) view(ev *ahp.Event) view {
	v := view{ev: ev}
	var secret hiddenTexts
	out := mapParts(ev, func(p *ahp.Part) (ahp.Part, bool) {
		shown, changed := l.part(p)
		if shown.Hidden() {
			v.hidden = true
			v.missing = v.missing || shown.Selection == ahp.SelectBody
			if p.Text != nil {
				secret.add(*p.Text, &shown)
			}
		}
		return shown, changed
	})
	if len(secret.list) > 0 {
		out = l.copies(ev, out, &secret, &v)
	}
	v.secret = secret
	drop := !l.native || len(secret.list) > 0 // D-NAT-3
	if l.minimal && (ev.Session.CWD != "" || ev.Session.WorkspaceRoots != nil || ev.Session.Model != "" ||
		ev.Session.Agent != nil || len(ev.Session.Unknown) > 0) {
		out = owned(ev, out)
		out.Session = ahp.Session{ID: ev.Session.ID, Synthesized: ev.Session.Synthesized}
	}
	if drop && (ev.Native != nil || ev.NativeOther != nil) {
		out = owned(ev, out)
		out.Native, out.NativeOther = nil, nil
		if l.native {
			out.Gaps = append(slices.Clip(out.Gaps), ahp.Gap{Path: "native", Reason: gapCopy})
		}
	}
	v.ev = out
	return v
}

// owned returns a copy of ev that may be changed, unless out is one already.
func owned(ev, out *ahp.Event) *ahp.Event {
	if out != ev {
		return out
	}
	c := *ev
	return &c
}

// part shows one part, and reports whether that differs from it.
func (l *lens) part(p *ahp.Part) (ahp.Part, bool) {
	switch l.content.Of(p) {
	case ahp.SelectBody:
		switch {
		case p.Gap != nil:
			return *p, false
		case p.Hidden():
			return gap(p, absent(p)), true
		case l.may != nil && !l.may(p), l.may == nil && p.Ref != "":
			return gap(p, gapPermission), true
		}
		return *p, false
	case ahp.SelectMetadata:
		return reduced(p, ahp.SelectMetadata), p.Selection != ahp.SelectMetadata
	case ahp.SelectOmit:
	}
	// The slot stays, so that a receiver can see that something is there (D-SEL-8).
	return reduced(p, ahp.SelectOmit), p.Selection != ahp.SelectOmit || p.Size != nil || p.SHA256 != ""
}

func absent(p *ahp.Part) string {
	if p.Kind == ahp.PartAttachment && p.Selection == ahp.SelectBody {
		return gapUpload
	}
	return gapAbsent
}

func gap(p *ahp.Part, reason string) ahp.Part {
	g := reduced(p, ahp.SelectBody)
	g.Gap = &ahp.Gap{Reason: reason}
	return g
}

// reduced is p without its body (D-SEL-4). Size and hash stay where the host has put
// them (D-SEL-9), but not in an omitted part.
func reduced(p *ahp.Part, s ahp.Selection) ahp.Part {
	r := ahp.Part{ID: p.ID, Kind: p.Kind, MediaType: p.MediaType, Selection: s, Category: p.Category, Synthesized: p.Synthesized}
	if s != ahp.SelectOmit {
		r.Size, r.SHA256 = p.Size, p.SHA256
	}
	return r
}

// state returns what shows the values that stand in a request's state beside a view.
// State is no second road to what the view keeps back, nor one value to another's.
func (l *lens) state(v *view) func(ahp.Value) (ahp.Value, bool) {
	secret := v.secret.clone()
	hide := func(p *ahp.Part) (ahp.Part, bool) {
		shown, changed := l.part(p)
		if shown.Hidden() && p.Text != nil {
			secret.add(*p.Text, &shown)
		}
		return shown, changed
	}
	show := func(p *ahp.Part) (ahp.Part, bool) {
		if p.Text != nil && secret.in(*p.Text) {
			return gap(p, gapCopy), true
		}
		return *p, false
	}
	return func(x ahp.Value) (ahp.Value, bool) {
		switch {
		case x.Messages != nil:
			x.Messages, _ = mapMessages(x.Messages, hide)
			x.Messages, _ = mapMessages(x.Messages, show)
		case x.Parts != nil:
			x.Parts, _ = mapList(x.Parts, hide)
			x.Parts, _ = mapList(x.Parts, show)
		default:
			// A tool's result is text for whoever reads it later (D-RET-6).
			p := ahp.TextPart("result", string(x.JSON))
			if shown, _ := l.part(&p); shown.Hidden() {
				return x, false
			}
			_, found := secret.scrub(x.JSON)
			return x, !found
		}
		return x, true
	}
}

// mapParts returns ev with every part that it holds, wherever parts stand, replaced
// by what f makes of it. f reports whether that differs; ev itself comes back when
// nothing does.
func mapParts(ev *ahp.Event, f func(*ahp.Part) (ahp.Part, bool)) *ahp.Event {
	out := ev
	if m, ok := mapMessages(ev.Messages, f); ok {
		out = owned(ev, out)
		out.Messages = m
	}
	if p, ok := mapList(ev.Parts, f); ok {
		out = owned(ev, out)
		out.Parts = p
	}
	if ev.Body == nil {
		return out
	}
	if b, ok := mapBody(ev.Body, f); ok {
		out = owned(ev, out)
		out.Body = b
	}
	return out
}

func mapBody(body ahp.Body, f func(*ahp.Part) (ahp.Part, bool)) (ahp.Body, bool) {
	one := func(p *ahp.Part) (*ahp.Part, bool) {
		if p == nil {
			return nil, false
		}
		n, ok := f(p)
		if !ok {
			return p, false
		}
		return &n, true
	}
	switch b := body.(type) {
	case *ahp.TurnProgressBody:
		if p, ok := mapList(b.Delta.Parts, f); ok {
			c := *b
			c.Delta.Parts = p
			return &c, true
		}
	case *ahp.ToolProgressBody:
		if p, ok := mapList(b.PartialOutput.Parts, f); ok {
			c := *b
			c.PartialOutput.Parts = p
			return &c, true
		}
	case *ahp.ToolAfterBody:
		var files []ahp.ChangedFile
		for i := range b.FileChanges {
			before, ok1 := one(b.FileChanges[i].Before)
			after, ok2 := one(b.FileChanges[i].After)
			if !ok1 && !ok2 {
				continue
			}
			if files == nil {
				files = slices.Clone(b.FileChanges)
			}
			files[i].Before, files[i].After = before, after
		}
		if files != nil {
			c := *b
			c.FileChanges = files
			return &c, true
		}
	case *ahp.FileChangedBody:
		var files []ahp.FileChange
		for i := range b.Changes {
			before, ok1 := one(b.Changes[i].Before)
			after, ok2 := one(b.Changes[i].After)
			if !ok1 && !ok2 {
				continue
			}
			if files == nil {
				files = slices.Clone(b.Changes)
			}
			files[i].Before, files[i].After = before, after
		}
		if files != nil {
			return &ahp.FileChangedBody{Changes: files}, true
		}
	case *ahp.CompactBeforeBody:
		if p, ok := mapList(b.Instructions, f); ok {
			c := *b
			c.Instructions = p
			return &c, true
		}
	case *ahp.CompactAfterBody:
		if p, ok := mapList(b.Summary, f); ok {
			c := *b
			c.Summary = p
			return &c, true
		}
	case *ahp.AttentionBody:
		message, ok1 := mapList(b.Message, f)
		title, ok2 := mapList(b.Title, f)
		if ok1 || ok2 {
			c := *b
			c.Message, c.Title = message, title
			return &c, true
		}
	case *ahp.ElicitationBody:
		if p, ok := one(b.Content); ok {
			c := *b
			c.Content = p
			return &c, true
		}
	case *ahp.SessionStartBody, *ahp.SessionEndBody, *ahp.TurnStartBody, *ahp.TurnFinishBody, *ahp.ModelRequestBody,
		*ahp.ModelResponseBody, *ahp.ModelErrorBody, *ahp.ModelSwitchBody, *ahp.PermissionRequestBody,
		*ahp.PermissionResolvedBody, *ahp.BatchBody, *ahp.ConfigChangeBody, *ahp.TaskChangeBody, *ahp.WorkspaceChangeBody,
		*ahp.UserMessageBody, *ahp.HookFailureBody:
		// No parts beside the event's own.
	}
	return body, false
}

// mapMessages and mapList copy a list when its first entry changes.
func mapMessages(in []ahp.Message, f func(*ahp.Part) (ahp.Part, bool)) ([]ahp.Message, bool) {
	var out []ahp.Message
	for i := range in {
		parts, ok := mapList(in[i].Parts, f)
		if !ok {
			continue
		}
		if out == nil {
			out = slices.Clone(in)
		}
		out[i].Parts = parts
	}
	if out == nil {
		return in, false
	}
	return out, true
}

func mapList(in []ahp.Part, f func(*ahp.Part) (ahp.Part, bool)) ([]ahp.Part, bool) {
	var out []ahp.Part
	for i := range in {
		p, ok := f(&in[i])
		if !ok {
			continue
		}
		if out == nil {
			out = slices.Clone(in)
		}
		out[i] = p
	}
	if out == nil {
		return in, false
	}
	return out, true
}
