package transport

import "sync"

// ring keeps the last bytes that were written to it.
type ring struct {
	mu   sync.Mutex
	buf  []byte
	next int  // where the next byte goes
	full bool // every byte of buf holds data
	max  int
}

func newRing(n int) *ring { return &ring{max: n} }

// Write never fails and never blocks, so that a child may write as much as it
// likes (V-IO-3).
func (r *ring) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(p)
	if r.buf == nil {
		r.buf = make([]byte, r.max)
	}
	if len(p) >= r.max {
		copy(r.buf, p[len(p)-r.max:])
		r.next, r.full = 0, true
		return n, nil
	}
	k := copy(r.buf[r.next:], p)
	if k < len(p) {
		copy(r.buf, p[k:])
	}
	if r.next+len(p) >= r.max {
		r.full = true
	}
	r.next = (r.next + len(p)) % r.max
	return n, nil
}

// Bytes returns a copy of what is kept, oldest first.
func (r *ring) Bytes() []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.full {
		return append([]byte(nil), r.buf[:r.next]...)
	}
	return append(append([]byte(nil), r.buf[r.next:]...), r.buf[:r.next]...)
}
