package wiredraft

import (
	"bytes"

	"github.com/holdpoint/holdpoint/ahp"
)

// WriteEvent returns what the encoder writes for an event, and whether it notes a
// fault: the two sides that a property compares.
func WriteEvent(ev *ahp.Event) (text []byte, fault bool) {
	e := newEncoder(nil)
	defer e.free()
	e.event(ev)
	return bytes.Clone(e.b), e.fault
}

// WriteEffect is WriteEvent for an effect at a boundary.
func WriteEffect(x ahp.Effect, at ahp.EventType, caps *ahp.Capabilities) (text []byte, fault bool) {
	e := newEncoder(nil)
	defer e.free()
	e.depth = 3 // as in a response
	e.effect(x, offer{at, caps})
	return bytes.Clone(e.b), e.fault
}
