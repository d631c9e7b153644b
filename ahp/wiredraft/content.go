package wiredraft

import (
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// messages reads a list of canonical messages (AHP draft section 5.1), all of one
// role if that is not empty.
func (d *decoder) messages(role ahp.Role) []ahp.Message {
	if _, ok := d.array("an array of canonical messages"); !ok {
		return nil
	}
	list := []ahp.Message{}
	for d.More() {
		list = append(list, d.message(role))
	}
	return list
}

func (d *decoder) message(role ahp.Role) (m ahp.Message) {
	start, ok := d.object("a canonical message")
	if !ok {
		return m
	}
	var id, hasRole, parts bool
	for d.More() {
		switch string(d.Name()) {
		case "id":
			id = true
			m.ID = d.name()
		case "role":
			hasRole = true
			off := d.Pos()
			m.Role = ahp.Role(d.one("system, developer, user, assistant or tool",
				string(ahp.RoleSystem), string(ahp.RoleDeveloper), string(ahp.RoleUser), string(ahp.RoleAssistant), string(ahp.RoleTool)))
			if role != "" && m.Role != "" && m.Role != role {
				d.badAs(off, "another role", "the role "+string(role))
			}
		case "parts":
			parts = true
			m.Parts = d.parts(false)
		case "synthesized":
			m.Synthesized = d.marker()
		default:
			d.closed()
		}
	}
	if !id {
		d.lacks(start, "id", nonEmpty)
	}
	if !hasRole {
		d.lacks(start, "role", "system, developer, user, assistant or tool")
	}
	if !parts {
		d.lacks(start, "parts", "an array of parts")
	}
	return m
}

// parts reads a list of content parts (AHP draft section 5.2), of text parts only if
// asked.
func (d *decoder) parts(textOnly bool) []ahp.Part {
	expected := "an array of parts"
	if textOnly {
		expected = "an array of text parts"
	}
	if _, ok := d.array(expected); !ok {
		return nil
	}
	list := []ahp.Part{}
	for d.More() {
		list = append(list, d.contentPart(textOnly))
	}
	return list
}

func (d *decoder) partPtr(textOnly bool) *ahp.Part {
	p := d.contentPart(textOnly)
	return &p
}

// contentPart reads a part in one of its eight forms.
func (d *decoder) contentPart(textOnly bool) (p ahp.Part) {
	start, ok := d.object("an object: a part of content")
	if !ok {
		return p
	}
	var id, kind, mediaType, selection bool
	var text, body, gap, size, hash int // offsets of names
	var media walk.Val
	for d.More() {
		switch string(d.Name()) {
		case "id":
			id = true
			p.ID = d.name()
		case "kind":
			kind = true
			off := d.Pos()
			p.Kind = ahp.PartKind(d.one("text or attachment", string(ahp.PartText), string(ahp.PartAttachment)))
			if textOnly && p.Kind == ahp.PartAttachment {
				d.badAs(off, "an attachment", "text: no attachment belongs here")
			}
		case "mediaType":
			mediaType = true
			media = d.Skip()
			switch {
			case media.Kind != '"' || media.Empty():
				d.bad(media, nonEmpty)
				media = walk.Val{}
			case d.Is(media, ahp.TextPlain):
				p.MediaType = ahp.TextPlain
			default:
				p.MediaType = d.Str(media)
			}
		case "selection":
			selection = true
			p.Selection = ahp.Selection(d.one("body, metadata or omit", string(ahp.SelectBody), string(ahp.SelectMetadata), string(ahp.SelectOmit)))
		case "category":
			p.Category = d.name()
		case "text":
			text = d.NameVal().Start
			v := d.Skip()
			if v.Kind != '"' {
				d.bad(v, "a string")
				continue
			}
			d.part = v
			p.Text = d.textOf(v)
		case "body":
			body = d.NameVal().Start
			p.Ref = d.contentRef()
		case "gap":
			gap = d.NameVal().Start
			g := d.gap(false, false)
			p.Gap = &g
		case "size":
			size = d.NameVal().Start
			p.Size = d.countPtr()
		case "sha256":
			hash = d.NameVal().Start
			v := d.Skip()
			if v.Kind != '"' || !sha256Hex(d.Content(v)) {
				d.bad(v, "64 lower-case hexadecimal digits")
				continue
			}
			p.SHA256 = d.Str(v)
		case "synthesized":
			p.Synthesized = d.marker()
		default:
			d.closed()
		}
	}
	if d.Dead() {
		return p
	}
	if !id {
		d.lacks(start, "id", nonEmpty)
	}
	if !kind {
		d.lacks(start, "kind", "text or attachment")
	}
	if !mediaType {
		d.lacks(start, "mediaType", "a media type")
	}
	if !selection {
		d.lacks(start, "selection", "body, metadata or omit")
	}
	if p.Kind == "" || p.Selection == "" {
		return p
	}
	not := func(off int, name, why string) {
		if off > 0 {
			d.extra(off, name, "a member", "nothing: "+why)
		}
	}
	if p.Kind == ahp.PartText {
		if media.Kind != 0 && p.MediaType != ahp.TextPlain {
			d.extra(media.Start, "mediaType", "another media type", "text/plain")
		}
		not(body, "body", "text is inline")
	} else {
		if media.Kind != 0 && ahp.Inline(string(d.Content(media))) {
			d.extra(media.Start, "mediaType", "a media type of text or JSON", "one of other media")
		}
		not(text, "text", "an attachment has no text")
	}
	switch {
	case p.Selection != ahp.SelectBody:
		not(text, "text", "only the selection body shows it")
		not(body, "body", "only the selection body shows it")
		not(gap, "gap", "only the selection body can lack it")
	case gap > 0:
		not(text, "text", "it is missing")
		not(body, "body", "it is missing")
	default:
		if p.Kind == ahp.PartText && text == 0 {
			d.lacks(start, "text", "a string, or a gap")
		}
		if p.Kind == ahp.PartAttachment && body == 0 {
			d.lacks(start, "body", "an object with ref, or a gap")
		}
		not(size, "size", "the body is there")
		not(hash, "sha256", "the body is there")
	}
	return p
}

// textOf returns the value of a string, in room that several share.
func (d *decoder) textOf(v walk.Val) *string {
	if len(d.texts) == cap(d.texts) {
		d.texts = make([]string, 0, min(4+2*cap(d.texts), 64))
	}
	d.texts = append(d.texts, d.Str(v))
	return &d.texts[len(d.texts)-1]
}

// contentRef reads {ref}, closed (D-CONT-4).
func (d *decoder) contentRef() (ref string) {
	start, ok := d.object("an object with ref")
	if !ok {
		return ""
	}
	has := false
	for d.More() {
		if string(d.Name()) != "ref" {
			d.closed()
			continue
		}
		has = true
		ref = d.name()
	}
	if !has {
		d.lacks(start, "ref", nonEmpty)
	}
	return ref
}

func sha256Hex[T string | []byte](b T) bool {
	if len(b) != 64 {
		return false
	}
	for i := range len(b) {
		if c := b[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
