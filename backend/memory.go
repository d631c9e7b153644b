package backend

import (
	"context"
	"crypto/sha256"
	"errors"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/jcs"
)

// key is what makes two requests one (V-RETRY-5). In revision draft it is not enough:
// equal ones have equal params (D-RETRY-4).
type key struct {
	version               ahp.Version
	principal, source, id string
}

// memory remembers answers, and joins equal requests that run at the same time.
type memory struct {
	maxEntries, maxBytes int
	ttl                  time.Duration

	seed maphash.Seed

	mu      sync.Mutex
	entries map[uint64]*entry // by the hash of the key, so that it is made once
	oldest  *entry            // of the answered entries, in the order of their answers
	newest  *entry
	count   int // answered entries
	bytes   int // of the answered entries

	principal string // the last one, so that the entries of one share its memory
}

// entry is one request: under way until it is answered or has failed.
type entry struct {
	key   key
	hash  uint64       // of key
	text  string       // of the event, in draft of the message; empty if it is large, then large is set
	large *largeDigest // in place of the text
	held  int          // bytes of memory that text keeps

	once  sync.Once // makes canon
	canon string    // digest of the canonical form; empty if there is none

	other *entry // under the same hash: in draft another request of the key; guarded by the memory's mutex
	alone bool   // there were too many: nobody is given its answer

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

// largeText is the size from which an entry keeps digests in place of the text. Both
// are made of every such event, in case it comes again; a kept text costs a copy, and
// its canonical form is made only when another spelling comes.
const largeText = 128 << 10

// entryBytes is what an entry takes beside its texts: itself and its place in the
// map.
const entryBytes = 512

var errConflict = errors.New("an earlier event with this id has other content")

func (m *memory) init(entries, bytes int, ttl time.Duration) {
	m.maxEntries, m.maxBytes, m.ttl = entries, bytes, ttl
	m.entries, m.seed = map[uint64]*entry{}, maphash.MakeSeed()
}

// begin returns the tail of the answer to the request under k, if it is remembered
// or another call that is under way gives it. Otherwise the entry is the caller's,
// who answers the request and says how it went with [memory.end]. Whoever waits for
// a call that fails tries in its turn. Waiting ends with ctx.
//
// The text is of the event, and in revision draft of the whole message. It may be
// changed once begin has returned; shared is the same text as a piece of a string of
// held bytes, to which the strings of k belong, too, and which an entry may keep; or
// empty, and then the entry makes copies.
func (m *memory) begin(ctx context.Context, k key, text []byte, shared string, held int) (mine *entry, tail string, err error) {
	c := claim{key: k, hash: maphash.Comparable(m.seed, k), text: text, shared: shared, held: held}
	if len(text) > largeText {
		c.large = &largeDigest{sum: sha256.Sum256(text), canon: canonical(k.version, text)}
	}
	for {
		e, others := m.claim(&c)
		if e == nil {
			if e = c.among(others); e == nil {
				if k.version != ahp.VersionDraft {
					return nil, "", errConflict
				}
				c.different = append(c.different, others...)
				continue
			}
		} else if c.fresh {
			return e, "", nil
		}
		if wait := m.waiter(e); wait != nil {
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

// claim is what a request wants of the memory.
type claim struct {
	key       key
	hash      uint64
	text      []byte
	shared    string
	held      int
	large     *largeDigest
	canon     string   // digest of the text's canonical form, once it was needed
	different []*entry // under the same key, of other requests
	fresh     bool     // the entry is the caller's
}

// maxVariants bounds the requests that are remembered under one key of revision
// draft: subscriptions of one backend, and states of a chain. What is more is asked
// anew each time.
const maxVariants = 16

// claim returns the entry of the same bytes, or a fresh one, which is the caller's;
// or no entry and those of which it takes more to tell whether they are equal.
func (m *memory) claim(c *claim) (e *entry, others []*entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(time.Now())
	n := 0
	for e := m.entries[c.hash]; e != nil; e = e.other {
		if e.key != c.key {
			continue
		}
		n++
		if slices.Contains(c.different, e) {
			continue
		}
		if e.identical(c) {
			return e, nil
		}
		others = append(others, e)
	}
	if len(others) > 0 {
		return nil, others
	}
	c.fresh = true
	if c.key.principal != m.principal {
		m.principal = strings.Clone(c.key.principal) // it may be a piece of a header
	}
	k := c.key
	k.principal = m.principal
	e = &entry{key: k, hash: c.hash, text: c.shared, held: c.held, large: c.large}
	if c.shared == "" {
		// Each is a piece of the whole message, which it would keep.
		e.key.source, e.key.id = strings.Clone(k.source), strings.Clone(k.id)
		if c.large == nil {
			e.text = string(c.text)
		}
		e.held = len(e.text) + len(k.source) + len(k.id)
	}
	if n >= maxVariants {
		e.alone = true
	} else {
		e.other = m.entries[e.hash]
		m.entries[e.hash] = e
	}
	return e, nil
}

// among returns the entry of an equal request that is written another way, or nil.
func (c *claim) among(others []*entry) *entry {
	if c.canon == "" {
		if c.large != nil {
			c.canon = c.large.canon
		} else {
			c.canon = canonical(c.key.version, c.text)
		}
		if c.canon == "" {
			return nil // it has only its bytes
		}
	}
	for _, e := range others {
		if e.canonical() == c.canon {
			return e
		}
	}
	return nil
}

// waiter returns a channel that is closed when e has ended, or nil when it has.
func (m *memory) waiter(e *entry) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.ended {
		return nil
	}
	if e.waiter == nil {
		e.waiter = make(chan struct{})
	}
	return e.waiter
}

// end takes the answer to e, or with ok false forgets it.
func (m *memory) end(e *entry, tail string, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.ended {
		return
	}
	e.ended, e.ok, e.tail = true, ok, tail
	if e.alone {
		return
	}
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
		m.remove(e)
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
		m.remove(e)
	}
}

// remove takes e out of those that requests are compared with, if it is there.
func (m *memory) remove(e *entry) {
	first := m.entries[e.hash]
	if first == e {
		if e.other == nil {
			delete(m.entries, e.hash)
		} else {
			m.entries[e.hash] = e.other
		}
		return
	}
	for x := first; x != nil; x = x.other {
		if x.other == e {
			x.other = e.other
			return
		}
	}
}

// identical reports whether c has the same bytes.
func (e *entry) identical(c *claim) bool {
	if e.large != nil {
		return c.large != nil && e.large.sum == c.large.sum
	}
	return c.large == nil && e.text == string(c.text)
}

// canonical returns the digest of the request's canonical form, or "": a text
// without one has only its bytes. It is made when it is first asked for.
func (e *entry) canonical() string {
	if e.large != nil {
		return e.large.canon
	}
	e.once.Do(func() { e.canon = canonical(e.key.version, []byte(e.text)) })
	return e.canon
}

// canonical returns the digest of what has to be equal: the event, or all of params.
func canonical(v ahp.Version, text []byte) string {
	if v == ahp.VersionDraft {
		var m struct {
			Params jsontext.Value `json:"params"`
		}
		if json.Unmarshal(text, &m) != nil {
			return ""
		}
		text = m.Params
	}
	if jcs.Rounds(text) {
		return "" // other requests have this form, too
	}
	d, err := jcs.Digest(text)
	if err != nil {
		return ""
	}
	return d
}
