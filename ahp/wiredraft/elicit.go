package wiredraft

import (
	"errors"

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

// CheckEffect says what in an effect does not fit the elicitation event that it answers,
// or returns nil: a result against the request's mode and form (D-EL-2, D-EL-5), a change
// of what is no accepted form, or of what the backend was not shown (D-EL-11 to D-EL-13).
// The event is valid, as the backend was shown it; at others there is nothing to check.
// The error quotes neither.
func CheckEffect(ev *ahp.Event, e ahp.Effect) error {
	if found, expected := effectFault(ev, e); found != "" {
		return errors.New("found " + found + ", expected " + expected)
	}
	return nil
}

func effectFault(ev *ahp.Event, e ahp.Effect) (found, expected string) {
	b, ok := ev.Body.(*ahp.ElicitationBody)
	if !ok {
		return "", ""
	}
	hidden := b.Content == nil || b.Content.Text == nil
	switch x := e.(type) {
	case *ahp.Modify:
		switch {
		case b.Mode != "form" || b.Action != "accept":
			return "a change of a result that is no accepted form", "none"
		case hidden:
			return "a change of a result that was not shown", "none"
		}
		if _, ok := readAlone(x.Value.JSON, (*decoder).mcpContent); !ok {
			return "a value that is no object of answers", "strings, numbers, booleans and arrays of strings"
		}
	case *ahp.Return:
		if hidden {
			return "a result for a request that was not shown", "none"
		}
		return answersRequest(b.Mode, *b.Content.Text, x.Value.JSON)
	default: // they have nothing of an elicitation
	}
	return "", ""
}

// readAlone reads a text of its own, and reports whether it is without fault.
func readAlone[T any](text []byte, read func(*decoder) T) (v T, ok bool) {
	d := newDecoder(text, Limits{}.complete())
	defer d.free()
	if d.Start() {
		v = read(d)
		d.End()
	}
	return v, len(d.Problems()) == 0
}

// answersRequest says what in a supplied ElicitResult does not fit the request.
func answersRequest(mode, request string, result ahp.Raw) (found, expected string) {
	req, ok := readAlone([]byte(request), (*decoder).mcpRequest)
	if !ok {
		return "a result for a request that is not MCP's", "none"
	}
	ans, ok := readAlone(result, (*decoder).mcpResult)
	switch {
	case !ok:
		return "a result that is not MCP's", "an ElicitResult"
	case ans.action != "accept":
		return "", ""
	case ans.hasContent && (req.url || mode != "form"):
		return "content in the result of a URL request", "none"
	case !req.url:
		if why := req.form.unfit(ans.content); why != "" {
			return why, "answers that fit the requested form"
		}
	}
	return "", ""
}
