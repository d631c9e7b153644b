package wiredraft

import "github.com/holdpoint/holdpoint/ahp"

// AppendEventText appends the event as it stands inside a message to dst, for
// [AppendInterceptText] and [AppendObserveText]: whoever shows one event to several
// receivers encodes it once. Errors are those of [AppendIntercept].
func AppendEventText(dst []byte, ev *ahp.Event) ([]byte, error) {
	e := newEncoder(dst)
	defer e.free()
	if ev == nil {
		return dst, noEvent()
	}
	e.depth = 2
	e.event(ev)
	return e.finish(ahp.FailEvent, func(d *decoder) { d.event(new(ahp.Event), anyEvent) })
}

// AppendInterceptText is [AppendIntercept] for an event of this id and type whose text
// is there already: text is what [AppendEventText] appended for that very event, and
// is not read again.
func AppendInterceptText(dst []byte, id string, at ahp.EventType, text ahp.Raw, caps *ahp.Capabilities, state *ahp.State) ([]byte, error) {
	e := newEncoder(dst)
	defer e.free()
	if caps == nil {
		return dst, &Error{Class: ahp.FailEvent, Code: ahp.CodeInternal, Found: "no capabilities", Expected: "an offer"}
	}
	e.text(`{"jsonrpc":"2.0","id":`)
	e.quote(id)
	e.text(`,"method":"hooks/intercept","params":{"protocolVersion":"draft","event":`)
	e.depth = 2
	e.b = append(e.b, text...)
	e.key("capabilities")
	e.capabilities(caps)
	if !at.Interceptable(ahp.VersionDraft) || caps.Within(at) != nil {
		e.bad("an offer out of bounds", "an offer within the bounds of the event")
	}
	if state != nil {
		e.key("state")
		e.state(state)
	}
	e.text("}}")
	return e.finish(ahp.FailEvent, func(d *decoder) { d.request(new(Message)) })
}

// AppendObserveText is [AppendObserve] for an event whose text is there already, as
// with [AppendInterceptText].
func AppendObserveText(dst []byte, text ahp.Raw) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","method":"hooks/observe","params":{"protocolVersion":"draft","event":`...)
	dst = append(dst, text...)
	return append(dst, "}}"...)
}
