package agenthooks

import "sync"

// recordBuffer keeps the last records: all with max 0, none with max below 0.
type recordBuffer struct {
	mu      sync.Mutex
	max     int
	ring    []*Record
	start   int // of the oldest, once the ring is full
	dropped uint64
}

func (b *recordBuffer) add(r *Record) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.max < 0:
		b.dropped++
	case b.max == 0 || len(b.ring) < b.max:
		b.ring = append(b.ring, r)
	default:
		b.ring[b.start] = r
		b.start = (b.start + 1) % b.max
		b.dropped++
	}
}

func (b *recordBuffer) list(take bool) []*Record {
	b.mu.Lock()
	defer b.mu.Unlock()
	out := make([]*Record, 0, len(b.ring))
	out = append(out, b.ring[b.start:]...)
	out = append(out, b.ring[:b.start]...)
	if take {
		b.ring, b.start = nil, 0
	}
	return out
}

func (b *recordBuffer) lost() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.dropped
}
