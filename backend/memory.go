package backend

import (
	"context"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/jcs"
)

// key is what makes two requests one (V-RETRY-5).
type key struct{ principal, source, id string }

// memory remembers answers, and joins equal requests that run at the same time.
type memory struct {
	maxEntries, maxBytes int
	ttl                  time.Duration

	mu      sync.Mutex
	entries map[key]*entry
	oldest  *entry // of the answered entries, in the order of their answers
	newest  *entry
	count   int // answered entries
	bytes   int // of the answered entries

	principal string // the last one, so that the entries of one share its memory
}

// entry is one event: under way until it is answered or has failed.
type entry struct {
	key   key
	text  string       // of the event; empty if it is large, then large is set
	large *largeDigest // in place of the text
	held  int          // bytes of memory that text keeps

	// Guarded by the memory's mutex until ended, and constant from then on.
	ended  bool
	ok     bool          // there is an answer
	tail   string        // of the answer
	waiter chan struct{} // closed with ended; made by the first who waits
	size   int
	expire time.Time
	newer  *entry
}

// largeDigest stands for the text of a large event.
type largeDigest struct {
	sum   [sha256.Size]byte
	canon string // digest of its canonical form, if it has one
}

// largeText is the size from which an entry keeps digests in place of the text.
const largeText = 32 << 10

// entryBytes is what an entry takes beside its texts: itself and its place in the
// map.
const entryBytes = 512

var errConflict = errors.New("an earlier event with this id has other content")

func (m *memory) init(entries, bytes int, ttl time.Duration) {
	m.maxEntries, m.maxBytes, m.ttl = entries, bytes, ttl
	m.entries = map[key]*entry{}
}

// begin returns the tail of the answer to the event under k, if it is remembered
// or another call that is under way gives it. Otherwise the entry is the caller's,
// who answers the event and says how it went with [memory.end]. Whoever waits for
// a call that fails tries in its turn. Waiting ends with ctx.
//
// The text may be changed once begin has returned; shared is the same text as a
// piece of a string of held bytes, to which the strings of k belong, too, and which
// an entry may keep; or empty, and then the entry makes copies.
func (m *memory) begin(ctx context.Context, k key, text []byte, shared string, held int) (mine *entry, tail string, err error) {
	var large *largeDigest
	if len(text) > largeText {
		large = &largeDigest{sum: sha256.Sum256(text), canon: canonical(text)}
	}
	for {
		e, wait, fresh := m.claim(k, text, shared, held, large)
		if fresh {
			return e, "", nil
		}
		if !e.same(text, large) {
			return nil, "", errConflict
		}
		if wait != nil {
			select {
			case <-wait:
			case <-ctx.Done():
				return nil, "", context.Cause(ctx)
			}
		}
		if e.ok {
			return nil, e.tail, nil
		}
	}
}

// claim returns the entry under k and, unless it has ended, a channel that is
// closed when it does; or it takes in a fresh one, which is the caller's.
func (m *memory) claim(k key, text []byte, shared string, held int, large *largeDigest) (e *entry, wait chan struct{}, fresh bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(time.Now())
	if e := m.entries[k]; e != nil {
		if !e.ended && e.waiter == nil {
			e.waiter = make(chan struct{})
		}
		return e, e.waiter, false
	}
	if k.principal != m.principal {
		m.principal = strings.Clone(k.principal) // it may be a piece of a header
	}
	e = &entry{key: key{m.principal, k.source, k.id}, text: shared, held: held, large: large}
	if shared == "" {
		// Each is a piece of the whole message, which it would keep.
		e.key.source, e.key.id = strings.Clone(k.source), strings.Clone(k.id)
		if large == nil {
			e.text = string(text)
		}
		e.held = len(e.text) + len(k.source) + len(k.id)
	}
	m.entries[e.key] = e
	return e, nil, true
}

// end takes the answer to e, or with ok false forgets it.
func (m *memory) end(e *entry, tail string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.ended {
		return
	}
	e.ended, e.ok, e.tail = true, ok, tail
	if ok {
		e.size = e.held + len(tail) + entryBytes
		now := time.Now()
		e.expire = now.Add(m.ttl)
		if m.newest == nil {
			m.oldest = e
		} else {
			m.newest.newer = e
		}
		m.newest = e
		m.count++
		m.bytes += e.size
		m.forget(now)
	} else {
		delete(m.entries, e.key)
	}
	if e.waiter != nil {
		close(e.waiter)
	}
}

// forget drops what is too old or too much.
func (m *memory) forget(now time.Time) {
	for e := m.oldest; e != nil; e = m.oldest {
		if m.count <= m.maxEntries && m.bytes <= m.maxBytes && now.Before(e.expire) {
			return
		}
		m.oldest = e.newer
		if m.oldest == nil {
			m.newest = nil
		}
		e.newer = nil
		m.count--
		m.bytes -= e.size
		delete(m.entries, e.key)
	}
}

// same reports whether the text is of an equal event: the same bytes, or the same
// canonical form. Text without a canonical form has only its bytes.
func (e *entry) same(text []byte, large *largeDigest) bool {
	var was, is string
	switch {
	case e.large == nil && e.text == string(text):
		return true
	case e.large != nil && large != nil && e.large.sum == large.sum:
		return true
	case e.large != nil:
		was = e.large.canon
	default:
		was = canonical([]byte(e.text))
	}
	if large != nil {
		is = large.canon
	} else {
		is = canonical(text)
	}
	return was != "" && was == is
}

func canonical(text []byte) string {
	d, err := jcs.Digest(text)
	if err != nil {
		return ""
	}
	return d
}
