package harness

import (
	"slices"

	"github.com/holdpoint/holdpoint/ahp"
)

// hostOffer is what the host can enforce at ev: what the manifest says, with the
// steps that are left, narrowed by the host (D-CAP-1, D-CAP-7).
func (h *Harness) hostOffer(r *route, ev *ahp.Event) *ahp.Capabilities {
	c := &r.caps
	if f := c.Flow; f != nil && f.Continue {
		n := *c
		n.Flow = h.allowance(f, ev)
		c = &n
	}
	if h.opts.Offer == nil {
		return c
	}
	n := intersect(*c, h.opts.Offer(ev, cloneCaps(*c)))
	if ev.Type == ahp.ToolBefore && !n.Allows(ahp.EffectDeny) && c.Allows(ahp.EffectDeny) {
		n.Effects = append(n.Effects, ahp.EffectDeny) // there is no interception without it (AHP-CAP-002)
	}
	return &n
}

// allowance counts the continuation steps that are left at ev.
func (h *Harness) allowance(f *ahp.FlowCapability, ev *ahp.Event) *ahp.FlowCapability {
	b, ok := ev.Body.(*ahp.TurnFinishBody)
	if !ok {
		return f
	}
	n := *f
	count := b.ContinuationCount
	n.Count = &count
	limit := f.Max
	if limit == nil {
		limit = h.opts.Manifest.Limits.MaxContinuations
	}
	if limit != nil {
		left := max(*limit-count, 0)
		n.Remaining, n.Max = &left, limit
	}
	return &n
}

// offerFor is what one subscription is offered: what the host can enforce, less what
// its view does not let it edit. It returns host itself where there is no difference.
func offerFor(host *ahp.Capabilities, v view) *ahp.Capabilities {
	elicitation, isElicitation := v.ev.Body.(*ahp.ElicitationBody)
	if !v.hidden && !isElicitation {
		return host
	}
	c := *host
	target := ahp.Target("")
	if len(c.Modify) > 0 {
		target = c.Modify[0].Target // each boundary has one
	}
	switch {
	case isElicitation:
		// A view without the body is no executable request (D-EL-13), and only an
		// accepted form of a mode that the host supports can be edited (D-EL-11).
		whole := elicitation.Content != nil && !elicitation.Content.Hidden()
		if !whole || !elicitationMode(host, elicitation.Mode) ||
			v.ev.Type == ahp.ElicitationResult && (elicitation.Mode != "form" || elicitation.Action != "accept") {
			c = without(c, ahp.EffectModify)
			if !whole || !elicitationMode(host, elicitation.Mode) {
				c = without(c, ahp.EffectReturn)
			}
		}
	case target != "" && targetHidden(v.ev, target): // D-CAP-6, D-TGT-12
		m := c.Modify[0]
		if m.Replace = false; m.Merge {
			c.Modify = []ahp.ModifyCapability{m}
		} else {
			c = without(c, ahp.EffectModify)
		}
	default:
		return host
	}
	return &c
}

func elicitationMode(c *ahp.Capabilities, mode string) bool {
	e := c.Elicitation
	return e != nil && (mode == "form" && e.Form != nil || mode == "url" && e.URL != nil)
}

// targetHidden reports whether the list at the target holds a part without its body.
func targetHidden(ev *ahp.Event, t ahp.Target) bool {
	hidden := func(ps []ahp.Part) bool {
		return slices.ContainsFunc(ps, func(p ahp.Part) bool { return p.Hidden() })
	}
	switch b := ev.Body.(type) {
	case *ahp.CompactBeforeBody:
		return hidden(b.Instructions)
	case *ahp.CompactAfterBody:
		return hidden(b.Summary)
	case *ahp.SessionStartBody, *ahp.SessionEndBody, *ahp.TurnStartBody, *ahp.TurnFinishBody, *ahp.TurnProgressBody,
		*ahp.ModelRequestBody, *ahp.ModelResponseBody, *ahp.ModelErrorBody, *ahp.ModelSwitchBody,
		*ahp.PermissionRequestBody, *ahp.PermissionResolvedBody, *ahp.ToolProgressBody, *ahp.ToolAfterBody, *ahp.BatchBody,
		*ahp.ConfigChangeBody, *ahp.TaskChangeBody, *ahp.WorkspaceChangeBody, *ahp.FileChangedBody, *ahp.AttentionBody,
		*ahp.ElicitationBody, *ahp.UserMessageBody, *ahp.HookFailureBody:
	}
	if t.At(ev.Type) != ahp.ValueMessages {
		return false
	}
	return slices.ContainsFunc(ev.Messages, func(m ahp.Message) bool { return hidden(m.Parts) })
}

// without is c without an effect and what goes with it.
func without(c ahp.Capabilities, e ahp.EffectType) ahp.Capabilities {
	c.Effects = slices.DeleteFunc(slices.Clone(c.Effects), func(x ahp.EffectType) bool { return x == e })
	switch e {
	case ahp.EffectModify:
		c.Modify = nil
	case ahp.EffectFlow:
		c.Flow = nil
	case ahp.EffectInject:
		c.Inject = nil
	case ahp.EffectDeny, ahp.EffectAllow, ahp.EffectAsk, ahp.EffectMessage, ahp.EffectReturn:
	}
	return c
}

// intersect is what both a and b offer, in the order of a.
func intersect(a, b ahp.Capabilities) ahp.Capabilities {
	c := ahp.Capabilities{}
	for _, m := range a.Modify {
		m.Replace = m.Replace && b.AllowsModify(m.Target, ahp.OpReplace)
		m.Merge = m.Merge && b.AllowsModify(m.Target, ahp.OpMerge)
		if m.Replace || m.Merge {
			c.Modify = append(c.Modify, m)
		}
	}
	if a.Flow != nil && b.Flow != nil {
		f := *a.Flow
		f.Stop = f.Stop && b.Flow.Stop
		f.Continue = f.Continue && b.Flow.Continue
		if f.Remaining != nil && b.Flow.Remaining != nil {
			left := max(min(*f.Remaining, *b.Flow.Remaining), 0)
			f.Remaining = &left
		}
		if b.Flow.Count != nil {
			f.Count = b.Flow.Count
		}
		if !f.Continue {
			f.Remaining, f.Count, f.Max = nil, nil, nil
		}
		if f.Stop || f.Continue {
			c.Flow = &f
		}
	}
	for _, d := range a.Inject {
		if slices.Contains(b.Inject, d) {
			c.Inject = append(c.Inject, d)
		}
	}
	if a.Elicitation != nil && b.Elicitation != nil {
		e := ahp.ElicitationCapability{}
		if b.Elicitation.Form != nil {
			e.Form = a.Elicitation.Form
		}
		if b.Elicitation.URL != nil {
			e.URL = a.Elicitation.URL
		}
		c.Elicitation = &e
	}
	for _, e := range a.Effects {
		if !b.Allows(e) || e == ahp.EffectModify && c.Modify == nil || e == ahp.EffectFlow && c.Flow == nil ||
			e == ahp.EffectInject && c.Inject == nil {
			continue
		}
		c.Effects = append(c.Effects, e)
	}
	if !c.Allows(ahp.EffectModify) {
		c.Modify = nil
	}
	if !c.Allows(ahp.EffectFlow) {
		c.Flow = nil
	}
	if !c.Allows(ahp.EffectInject) {
		c.Inject = nil
	}
	return c
}

// cloneCaps is a copy that a hook may change.
func cloneCaps(c ahp.Capabilities) ahp.Capabilities {
	c.Effects, c.Modify, c.Inject = slices.Clone(c.Effects), slices.Clone(c.Modify), slices.Clone(c.Inject)
	if c.Flow != nil {
		f := *c.Flow
		c.Flow = &f
	}
	if c.Elicitation != nil {
		e := *c.Elicitation
		c.Elicitation = &e
	}
	return c
}
