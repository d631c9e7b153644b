package agenthooks

import "sync"

// A memo holds the canonical forms of values that the builder canonicalised to
// check them, so that the identity need not do it again. It belongs to one
// emission and goes back to the pool before the context reaches anybody else.
type memo struct {
	buf     []byte
	entries [6]memoEntry // post_tool_call has five values and the target
	n       int
}

type memoEntry struct {
	value    span // in the context's text
	form     span // in buf…
	verbatim bool // …or the text itself
}

var memos = sync.Pool{New: func() any { return new(memo) }}

func (m *memo) add(e memoEntry) {
	if m.n < len(m.entries) {
		m.entries[m.n] = e
		m.n++
	}
}

// find returns the canonical form of the value at s, nil if it is not known.
func (m *memo) find(text []byte, s span) []byte {
	if m == nil {
		return nil
	}
	for i := range m.n {
		if e := &m.entries[i]; e.value == s {
			if e.verbatim {
				return s.of(text)
			}
			return e.form.of(m.buf)
		}
	}
	return nil
}

// dropMemo ends the memo's use.
func (c *Context) dropMemo() {
	m := c.memo
	if m == nil {
		return
	}
	c.memo = nil
	if cap(m.buf) > maxKeptPreimage {
		m.buf = nil
	}
	m.buf, m.n = m.buf[:0], 0
	memos.Put(m)
}
