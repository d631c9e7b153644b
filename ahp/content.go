package ahp

import "strings"

// Role says who a canonical message is from (AHP draft section 5.1). It stands on
// the message, never on a part.
type Role string

// The roles of a canonical message. Vendor names are normalized to these.
const (
	RoleSystem    Role = "system"
	RoleDeveloper Role = "developer"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Known reports whether r is one of the five roles.
func (r Role) Known() bool {
	switch r {
	case RoleSystem, RoleDeveloper, RoleUser, RoleAssistant, RoleTool:
		return true
	}
	return false
}

// A Message is one canonical message: model-visible content with its role
// (AHP-CONTENT-001). The object is closed.
type Message struct {
	ID          string // not empty; the same in all views of the item (D-CONT-8)
	Role        Role
	Parts       []Part // in order; may be empty, and is then an empty list on the wire
	Synthesized *bool  // nil when absent (D-EVT-5)
}

// PartKind tells inline text from media.
type PartKind string

// The kinds of part. There is no JSON part (AHP-CONTENT-001).
const (
	PartText       PartKind = "text"       // media type text/plain, inline
	PartAttachment PartKind = "attachment" // immutable media behind a reference
)

// Inline reports whether content of this media type is text or JSON, in any letter case
// and with any parameters: it stands inline, and no attachment has the type (AHP draft
// section 5.2).
func Inline(mediaType string) bool {
	major, minor, ok := strings.Cut(mediaType, "/")
	if !ok || major == "" {
		return false
	}
	minor, _, _ = strings.Cut(minor, ";")
	const json = "json"
	n := len(minor) - len(json)
	return strings.EqualFold(major, "text") || n >= 0 && strings.EqualFold(minor[n:], json) && (n == 0 || n >= 2 && minor[n-1] == '+')
}

// Selection says how much of a content category a receiver gets (AHP draft
// section 5.3). The zero value is invalid: there is no hidden default (D-SEL-1).
type Selection string

// The selections.
const (
	SelectBody     Selection = "body"     // the content itself, or a gap that says why not
	SelectMetadata Selection = "metadata" // that it exists, of which size and hash
	SelectOmit     Selection = "omit"     // nothing
)

// Known reports whether s is one of the three selections.
func (s Selection) Known() bool {
	return s == SelectBody || s == SelectMetadata || s == SelectOmit
}

// TextPlain is the media type of every text part.
const TextPlain = "text/plain"

// CategoryReasoning is the category of a model's reasoning (D-CONT-7).
const CategoryReasoning = "reasoning"

// A Part is one piece of content in one of the eight forms of AHP draft section
// 5.2. The object is closed.
type Part struct {
	ID        string // not empty
	Kind      PartKind
	MediaType string // [TextPlain] for text
	Selection Selection
	Category  string // empty when absent; wins over the media type (D-SEL-3)

	// Text is the content of a text part with Selection body and no Gap, and nil
	// in every other form. It may point to an empty string.
	Text *string
	// Ref names the bytes of an attachment with Selection body and no Gap: opaque,
	// given by the receiver of the upload, and no right to anything (D-CONT-4).
	Ref string
	// Gap stands in the place of a body that was asked for and is not there
	// (D-SEL-5). It needs Selection body.
	Gap *Gap

	Size        *int64 // bytes; metadata, omit and gap forms only
	SHA256      string // 64 lower-case hex digits; metadata, omit and gap forms only
	Synthesized *bool
}

// Hidden reports whether the part's body is not in it: a metadata or omit view, or
// a gap. Lists that hold hidden text are not replaced (D-CAP-6).
func (p *Part) Hidden() bool { return p.Text == nil && p.Ref == "" }

// TextPart returns a text part with its body.
func TextPart(id, text string) Part {
	return Part{ID: id, Kind: PartText, MediaType: TextPlain, Selection: SelectBody, Text: &text}
}

// TextMessage returns a message of one text part, whose id is the message's with
// "/0" behind it. With an empty id neither has one, for whoever names new content.
func TextMessage(id string, role Role, text string) Message {
	part := ""
	if id != "" {
		part = id + "/0"
	}
	return Message{ID: id, Role: role, Parts: []Part{TextPart(part, text)}}
}

// A Gap says openly what is missing and why. Reason is not empty. In an event's
// gaps list Path is required and other members may be there; as part of content
// the object is closed and Path is optional.
type Gap struct {
	Path    string
	Reason  string
	Unknown Members // events only
}

// ContentSelection says how much of each content category a subscription gets
// (AHP draft section 5.3).
type ContentSelection struct {
	Default    Selection // required (D-SEL-1)
	Categories []CategorySelection
}

// A CategorySelection is the selection of one category: text, reasoning, images,
// audio, video, files, or a name of the harness's own.
type CategorySelection struct {
	Category  string
	Selection Selection
}

// Of returns the selection of a part: by its category where it has one, else by
// what its media type suggests (D-SEL-3, D-SEL-10), else the default (D-SEL-2).
func (c *ContentSelection) Of(p *Part) Selection {
	category := p.Category
	if category == "" {
		category = mediaCategory(p.MediaType)
	}
	for _, x := range c.Categories {
		if x.Category == category {
			return x.Selection
		}
	}
	return c.Default
}

func mediaCategory(mediaType string) string {
	major := mediaType
	for i := range len(mediaType) {
		if mediaType[i] == '/' {
			major = mediaType[:i]
			break
		}
	}
	switch lower(major) {
	case "text":
		return "text"
	case "image":
		return "images"
	case "audio":
		return "audio"
	case "video":
		return "video"
	}
	return "files"
}

// lower is ASCII lower case, which is all that media types know.
func lower(s string) string {
	for i := range len(s) {
		if c := s[i]; 'A' <= c && c <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if 'A' <= b[j] && b[j] <= 'Z' {
					b[j] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}
