package harness

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

// hiddenTexts are the texts that a view keeps back. A text that stands somewhere else
// as well, in opaque JSON or in a part of another category, would be a second road to
// it (AHP-CONTENT-002, D-NAT-3).
type hiddenTexts struct {
	list []hiddenText
	// Of many, made when first needed: where each stands, and which begin alike.
	at     map[string]int
	starts map[string][]int
}

type hiddenText struct {
	text string
	as   ahp.Part // how the part is shown that holds it
}

// minCopy is the length, in bytes, from which another text counts as a copy.
const minCopy = settle.MinCopy

func (h *hiddenTexts) add(text string, as *ahp.Part) {
	if len(text) < minCopy {
		return
	}
	if i := h.find(text); i >= 0 {
		if strength(as) > strength(&h.list[i].as) {
			h.list[i].as = *as
		}
		return
	}
	h.list = append(h.list, hiddenText{text, *as})
	if h.starts = nil; h.at != nil {
		h.at[text] = len(h.list) - 1
	}
}

// fewTexts is how many are searched one by one.
const fewTexts = 16

// find returns the position of the text, or -1.
func (h *hiddenTexts) find(text string) int {
	if len(h.list) <= fewTexts {
		return slices.IndexFunc(h.list, func(x hiddenText) bool { return x.text == text })
	}
	if h.at == nil {
		h.at = make(map[string]int, len(h.list))
		for i := range h.list {
			h.at[h.list[i].text] = i
		}
	}
	if i, ok := h.at[text]; ok {
		return i
	}
	return -1
}

// clone returns a copy that may be added to.
func (h *hiddenTexts) clone() hiddenTexts { return hiddenTexts{list: slices.Clone(h.list)} }

// strength orders the ways of hiding, so that the strictest holds for all copies.
func strength(p *ahp.Part) int {
	switch p.Selection {
	case ahp.SelectMetadata:
		return 1
	case ahp.SelectOmit:
		return 2
	case ahp.SelectBody:
	}
	return 3 // a gap
}

// in reports whether s is or holds one of the texts.
func (h *hiddenTexts) in(s string) bool {
	if len(h.list) <= fewTexts {
		return slices.ContainsFunc(h.list, func(x hiddenText) bool { return strings.Contains(s, x.text) })
	}
	if h.starts == nil {
		h.starts = make(map[string][]int, len(h.list))
		for i := range h.list {
			head := h.list[i].text[:minCopy]
			h.starts[head] = append(h.starts[head], i)
		}
	}
	for i := range max(0, len(s)-minCopy+1) {
		for _, k := range h.starts[s[i:i+minCopy]] {
			if strings.HasPrefix(s[i:], h.list[k].text) {
				return true
			}
		}
	}
	return false
}

// copies takes copies of hidden texts out of a view: from other parts, which are then
// shown as the hidden one is, and from opaque JSON. What is taken out was selected, or
// is what the event is about, and who repeats a text may be who is to be controlled: an
// interceptor that could be made blind by it would be none. So an interceptor is not
// asked about such a view, and the event is refused whatever the failure policy says.
func (l *lens) copies(ev, out *ahp.Event, secret *hiddenTexts, v *view) *ahp.Event {
	shown := mapParts(out, func(p *ahp.Part) (ahp.Part, bool) {
		if p.Text == nil {
			return *p, false
		}
		i := secret.find(*p.Text)
		if i < 0 {
			return *p, false
		}
		v.hidden, v.blind = true, true
		as := &secret.list[i].as
		if as.Gap != nil {
			return gap(p, as.Gap.Reason), true
		}
		return reduced(p, as.Selection), true
	})
	if shown != out {
		// mapParts copied the event; what was ours before is not ev either way.
		out = shown
	}
	var gaps []ahp.Gap
	scrub := func(path string, r ahp.Raw) ahp.Raw {
		s, ok := secret.scrub(r)
		if ok {
			gaps = append(gaps, ahp.Gap{Path: path, Reason: gapCopy})
		}
		return s
	}
	members := func(path string, ms ahp.Members) ahp.Members {
		for i := range ms {
			if s := scrub(path, ms[i].Value); !bytes.Equal(s, ms[i].Value) {
				ms = slices.Clone(ms)
				ms[i].Value = s
			}
		}
		return ms
	}
	if t := out.Tool; t != nil {
		if in := scrub("tool.input", t.Input); !bytes.Equal(in, t.Input) {
			c := *t
			c.Input = in
			out = owned(ev, out)
			out.Tool = &c
		}
	}
	if b := l.scrubBody(out.Body, scrub); b != out.Body {
		out = owned(ev, out)
		out.Body = b
	}
	v.blind = v.blind || len(gaps) > 0
	if b := secret.scrubTexts(out.Body, func(path string) { gaps = append(gaps, ahp.Gap{Path: path, Reason: gapCopy}) }); b != out.Body {
		out = owned(ev, out)
		out.Body = b
	}
	if len(out.Extensions) > 0 || len(out.Unknown) > 0 {
		out = owned(ev, out)
		out.Extensions, out.Unknown = members("extensions", out.Extensions), members("", out.Unknown)
	}
	for i := range gaps {
		if gaps[i].Path == "" {
			gaps[i].Path = "event"
		}
	}
	if len(gaps) > 0 {
		out = owned(ev, out)
		out.Gaps = append(slices.Clip(out.Gaps), gaps...)
	}
	return out
}

// scrubBody takes copies out of the opaque JSON of a body.
func (l *lens) scrubBody(body ahp.Body, scrub func(string, ahp.Raw) ahp.Raw) ahp.Body {
	list := func(path string, in []ahp.Raw) []ahp.Raw {
		out := in
		for i := range in {
			if s := scrub(path, in[i]); !bytes.Equal(s, in[i]) {
				if &out[0] == &in[0] {
					out = slices.Clone(in)
				}
				out[i] = s
			}
		}
		return out
	}
	switch b := body.(type) {
	case *ahp.ModelRequestBody:
		c := *b
		c.Params = scrub("params", b.Params)
		return &c
	case *ahp.PermissionRequestBody:
		c := *b
		c.Suggestions = list("suggestions", b.Suggestions)
		return &c
	case *ahp.TaskChangeBody:
		c := *b
		c.Change, c.Prior = scrub("task.change", b.Change), scrub("task.prior", b.Prior)
		return &c
	case *ahp.ConfigChangeBody:
		c := *b
		c.MCPServers = list("change.mcpServers", b.MCPServers)
		return &c
	case *ahp.ToolAfterBody:
		if b.Error == nil {
			return b
		}
		c, e := *b, *b.Error
		e.Native = scrub("error.native", e.Native)
		c.Error = &e
		return &c
	case *ahp.TurnFinishBody:
		if b.Error == nil {
			return b
		}
		c, e := *b, *b.Error
		e.Native = scrub("error.native", e.Native)
		c.Error = &e
		return &c
	case *ahp.ModelErrorBody:
		c := *b
		c.Error.Native = scrub("error.native", b.Error.Native)
		return &c
	case *ahp.BatchBody:
		c := *b
		c.Calls = slices.Clone(b.Calls)
		for i := range c.Calls {
			c.Calls[i].Tool.Input = scrub("calls.tool.input", c.Calls[i].Tool.Input)
		}
		return &c
	case *ahp.SessionStartBody, *ahp.SessionEndBody, *ahp.TurnStartBody, *ahp.TurnProgressBody, *ahp.ModelResponseBody,
		*ahp.ModelSwitchBody, *ahp.PermissionResolvedBody, *ahp.ToolProgressBody, *ahp.CompactBeforeBody,
		*ahp.CompactAfterBody, *ahp.WorkspaceChangeBody, *ahp.FileChangedBody, *ahp.AttentionBody, *ahp.ElicitationBody,
		*ahp.UserMessageBody, *ahp.HookFailureBody:
		// No opaque JSON.
	}
	return body
}

// quotes reports whether s, which may have been cut or trimmed for a place like an
// error's message, holds one of the texts or is a piece of one.
func (h *hiddenTexts) quotes(s string) bool {
	if h.in(s) {
		return true
	}
	piece := strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(s), "…"))
	for i := range h.list {
		text := strings.TrimSpace(h.list[i].text)
		if len(piece) >= minCopy && strings.Contains(text, piece) || len(text) >= minCopy && strings.Contains(piece, text) {
			return true
		}
	}
	return false
}

// withheldText stands for a required text that holds a copy.
const withheldText = "withheld"

// scrubTexts takes copies out of the plain texts of a body that quote content: what an
// error says, above all. No event is about them, so a view without them is not blind.
func (h *hiddenTexts) scrubTexts(body ahp.Body, gap func(path string)) ahp.Body {
	switch b := body.(type) {
	case *ahp.ToolAfterBody:
		if b.Error != nil && h.quotes(b.Error.Message) {
			c, e := *b, *b.Error
			e.Message, c.Error = withheldText, &e
			gap("error.message")
			return &c
		}
	case *ahp.TurnFinishBody:
		if b.Error != nil && h.quotes(b.Error.Message) {
			c, e := *b, *b.Error
			e.Message, c.Error = withheldText, &e
			gap("error.message")
			return &c
		}
	case *ahp.ModelErrorBody:
		if h.quotes(b.Error.Message) {
			c := *b
			c.Error.Message = withheldText
			gap("error.message")
			return &c
		}
	case *ahp.TurnStartBody:
		if h.quotes(b.ExpandedFrom) {
			c := *b
			c.ExpandedFrom = ""
			gap("expandedFrom")
			return &c
		}
	case *ahp.TaskChangeBody:
		if b.Description != nil && h.quotes(*b.Description) {
			c := *b
			c.Description = nil
			gap("task.description")
			return &c
		}
	case *ahp.SessionStartBody, *ahp.SessionEndBody, *ahp.TurnProgressBody, *ahp.ModelRequestBody, *ahp.ModelResponseBody,
		*ahp.ModelSwitchBody, *ahp.PermissionRequestBody, *ahp.PermissionResolvedBody, *ahp.ToolProgressBody, *ahp.BatchBody,
		*ahp.CompactBeforeBody, *ahp.CompactAfterBody, *ahp.ConfigChangeBody, *ahp.WorkspaceChangeBody, *ahp.FileChangedBody,
		*ahp.AttentionBody, *ahp.ElicitationBody, *ahp.UserMessageBody, *ahp.HookFailureBody:
		// None that quotes content.
	}
	return body
}

// scrub returns r with every string that is or holds a hidden text emptied, and
// whether there was one. Names of members stay: they are no content.
func (h *hiddenTexts) scrub(r ahp.Raw) (ahp.Raw, bool) {
	if len(r) == 0 {
		return r, false
	}
	found := false
	d := jsontext.NewDecoder(bytes.NewReader(r))
	for {
		t, err := d.ReadToken()
		if err != nil {
			break // the end, or what the encoder will refuse
		}
		if t.Kind() == '"' && !isName(d) && h.in(t.String()) {
			found = true
			break
		}
	}
	if !found {
		return r, false
	}
	var out bytes.Buffer
	e := jsontext.NewEncoder(&out)
	d = jsontext.NewDecoder(bytes.NewReader(r))
	for {
		t, err := d.ReadToken()
		if err != nil {
			break
		}
		if t.Kind() == '"' && !isName(d) && h.in(t.String()) {
			t = jsontext.String("")
		}
		if e.WriteToken(t) != nil {
			break
		}
	}
	return ahp.Raw(bytes.TrimSuffix(out.Bytes(), []byte("\n"))), true
}

// isName reports whether the token just read is the name of a member.
func isName(d *jsontext.Decoder) bool {
	kind, n := d.StackIndex(d.StackDepth())
	return kind == '{' && n%2 == 1
}
