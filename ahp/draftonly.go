package ahp

// DraftOnly returns the name in Go of the first member of e that is set and that
// revision 0.1 has no place for, such as "Turn" or "Tool.Origin", or "" where there is
// none. A codec of 0.1 refuses such an event: what it left out would be lost without
// a word. Members that 0.1 has, but with other values, are not looked at.
func (e *Event) DraftOnly() string {
	switch {
	case e.Turn != nil:
		return "Turn"
	case e.Parent != "":
		return "Parent"
	case e.Messages != nil:
		return "Messages"
	case e.Parts != nil:
		return "Parts"
	case e.Gaps != nil:
		return "Gaps"
	case e.Synthesized != nil:
		return "Synthesized"
	case e.Body != nil:
		return "Body"
	case e.NativeOther != nil:
		return "NativeOther"
	case e.Session.Synthesized != nil:
		return "Session.Synthesized"
	case e.Tool != nil:
		return e.Tool.draftOnly()
	}
	return ""
}

func (t *Tool) draftOnly() string {
	switch {
	case t.Origin != "":
		return "Tool.Origin"
	case t.Server != nil:
		return "Tool.Server"
	case t.CallSynthesized != nil:
		return "Tool.CallSynthesized"
	case t.Path != "":
		return "Tool.Path"
	case t.Batch != nil:
		return "Tool.Batch"
	}
	return ""
}

// DraftOnly returns the name in Go of the first member of c that is set and that
// revision 0.1 has no place for, or "". See [Event.DraftOnly].
func (c *Capabilities) DraftOnly() string {
	switch {
	case c.Modify != nil:
		return "Modify"
	case c.Flow != nil:
		return "Flow"
	case c.Inject != nil:
		return "Inject"
	case c.Elicitation != nil:
		return "Elicitation"
	}
	return ""
}
