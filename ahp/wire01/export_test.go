package wire01

import "github.com/holdpoint/holdpoint/ahp"

// DecodeRequestInTwoPasses is DecodeRequest without the reading in one pass.
func DecodeRequestInTwoPasses(frame []byte, l Limits) (*Message, *Error) {
	w := newWalker(frame, l.complete())
	defer w.free()
	w.build = true
	m := new(Message)
	var id idSeen
	if w.valid() {
		w.start()
		id = w.request(m, new(ahp.Event), new(ahp.Tool))
	}
	if err := w.err(id); err != nil {
		return nil, err
	}
	return m, nil
}

// DecodeResponseInTwoPasses is DecodeResponse without the reading in one pass.
func DecodeResponseInTwoPasses(frame []byte, id string, caps ahp.Capabilities, l Limits) ([]ahp.Effect, *Error) {
	w := newWalker(frame, l.complete())
	defer w.free()
	w.build = true
	var m Message
	if w.valid() {
		w.start()
		w.response(&m, &id, caps)
	}
	return m.Effects, w.err(idSeen{})
}

// InOnePass reports whether a reading in one pass takes data for one JSON value,
// whatever it says.
func InOnePass(data []byte) bool {
	w := newWalker(data, Limits{}.complete())
	defer w.free()
	if !w.onepass() {
		return false
	}
	w.skip()
	return w.whole()
}
