package wiredraft

import (
	"strconv"

	"github.com/holdpoint/holdpoint/ahp"
)

// elicitation reports what elicitationFault finds. The event was read.
func (d *decoder) elicitation(t ahp.EventType, b *ahp.ElicitationBody, off int) {
	if d.Dead() || b.Mode == "" || !d.Wants(d.stage) {
		return
	}
	name := "elicitation/request/text"
	if t == ahp.ElicitationResult {
		name = "elicitation/result/text"
	}
	if d.part.Start > 0 {
		off = d.part.Start
	}
	if found, expected := elicitationFault(t, b); found != "" {
		d.extra(off, name, found, expected)
	}
}

// elicitationFault says what in the text of an elicitation event is not MCP's, or is
// not what the event says of it (D-EL-2 to D-EL-5).
func elicitationFault(t ahp.EventType, b *ahp.ElicitationBody) (found, expected string) {
	if b.Content == nil || b.Content.Text == nil {
		return "", ""
	}
	result := t == ahp.ElicitationResult
	s := newDecoder([]byte(*b.Content.Text), Limits{}.complete())
	defer s.free()
	var (
		req mcpRequest
		ans mcpAnswers
	)
	if s.Start() {
		if result {
			ans = s.mcpResult()
		} else {
			req = s.mcpRequest()
		}
		s.End()
	}
	if list := s.Problems(); len(list) > 0 {
		p := list[0]
		found = "text with " + p.Found
		if p.Pointer != "" {
			found += " at " + p.Pointer
		}
		return found, "JSON of MCP: " + p.Expected
	}
	switch {
	case result && b.Action != "" && ans.action != b.Action:
		return "another action in the text", "the action of the event"
	case result && ans.hasContent && (ans.action != "accept" || b.Mode != "form"):
		return "content in a result that is no accepted form", "none"
	case !result && req.url != (b.Mode == "url"):
		return "another mode in the text", "the mode of the event"
	}
	return "", ""
}

// CheckEffects says what in effects does not fit the event that they answer, beside
// what [DecodeResponse] checks with the event's type alone: elicitation results
// against the request's mode and form (D-EL-5, D-EL-11 to D-EL-13). The event is
// valid, as the backend was shown it. The failure is of class invalid_effect and names
// no backend.
func CheckEffects(ev *ahp.Event, effects []ahp.Effect) *ahp.Failure {
	i, found, expected := checkEffects(ev, effects)
	if found == "" {
		return nil
	}
	e := &Error{
		Class: ahp.FailInvalidEffect, Code: ahp.CodeInternal, Pointer: "/result/effects/" + strconv.Itoa(i),
		Found: found, Expected: expected,
	}
	return e.Failure()
}

func checkEffects(ev *ahp.Event, effects []ahp.Effect) (i int, found, expected string) {
	b, ok := ev.Body.(*ahp.ElicitationBody)
	if !ok {
		return 0, "", ""
	}
	for i, e := range effects {
		switch x := e.(type) {
		case *ahp.Modify:
			switch {
			case b.Mode != "form" || b.Action != "accept":
				return i, "a change of a result that is no accepted form", "none"
			case b.Content == nil || b.Content.Text == nil:
				return i, "a change of a result that was not shown", "none"
			}
		case *ahp.Return:
			if b.Content == nil || b.Content.Text == nil {
				return i, "a result for a request that was not shown", "none"
			}
			if found, expected := answersRequest(*b.Content.Text, x.Value.JSON); found != "" {
				return i, found, expected
			}
		default: // they have nothing of an elicitation
		}
	}
	return 0, "", ""
}

// answersRequest says what in a supplied ElicitResult does not fit the request.
func answersRequest(request string, result ahp.Raw) (found, expected string) {
	d := newDecoder([]byte(request), Limits{}.complete())
	defer d.free()
	var req mcpRequest
	if d.Start() {
		req = d.mcpRequest()
		d.End()
	}
	if len(d.Problems()) > 0 {
		return "a result for a request that is not MCP's", "none"
	}
	s := newDecoder(result, Limits{}.complete())
	defer s.free()
	var ans mcpAnswers
	if s.Start() {
		ans = s.mcpResult()
		s.End()
	}
	switch {
	case len(s.Problems()) > 0:
		return "a result that is not MCP's", "an ElicitResult"
	case ans.action != "accept":
		return "", ""
	case req.url && ans.hasContent:
		return "content in the result of a URL request", "none"
	case !req.url:
		if why := req.form.unfit(ans.content); why != "" {
			return why, "answers that fit the requested form"
		}
	}
	return "", ""
}
