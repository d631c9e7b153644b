package backend

import (
	"testing"
	"time"
)

// Keys with one hash are told apart, whichever of them is forgotten first.
func TestMemoryHashCollision(t *testing.T) {
	keys := []key{{source: "a", id: "1"}, {source: "b", id: "1"}, {source: "a", id: "2"}}
	for gone := range keys {
		var m memory
		m.init(len(keys), 1<<20, time.Hour)
		ask := func(i int) (*entry, bool) {
			c := claim{key: keys[i], hash: 7, text: []byte("{}"), shared: "{}", held: 2}
			e, others := m.claim(&c)
			if len(others) > 0 {
				t.Fatalf("key %d is taken for another one", i)
			}
			return e, c.fresh
		}
		entries := make([]*entry, len(keys))
		for i := range keys {
			e, fresh := ask(i)
			if !fresh {
				t.Fatalf("key %d is known before it came", i)
			}
			entries[i] = e
		}
		for i, e := range entries {
			m.end(e, keys[i].source+keys[i].id, i != gone)
		}
		for i := range keys {
			e, fresh := ask(i)
			if fresh != (i == gone) || !fresh && (e != entries[i] || e.tail != keys[i].source+keys[i].id) {
				t.Errorf("without key %d, key %d: fresh %t, tail %q", gone, i, fresh, e.tail)
			}
		}
		m.forget(time.Now().Add(2 * time.Hour))
		if m.count != 0 || m.bytes != 0 {
			t.Errorf("%d entries of %d bytes are left", m.count, m.bytes)
		}
	}
}
