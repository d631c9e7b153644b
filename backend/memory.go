package backend

import (
	"bytes"
	"container/list"
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
	order   *list.List // answered entries, oldest answer first
	bytes   int        // of the answered entries
}

// entry is one event: under way until done is closed.
type entry struct {
	key    key
	sum    [sha256.Size]byte // of the event's text
	text   []byte            // of the event; nil if it is large, then canon is set
	canon  string            // digest of its canonical form
	done   chan struct{}
	ok     bool // written before done is closed
	tail   []byte
	size   int
	expire time.Time
}

// largeText is the size from which an entry keeps a digest in place of the text.
const largeText = 32 << 10

var errConflict = errors.New("an earlier event with this id has other content")

func (m *memory) init(entries, bytes int, ttl time.Duration) {
	m.maxEntries, m.maxBytes, m.ttl = entries, bytes, ttl
	m.entries = map[key]*entry{}
	m.order = list.New()
}

// do returns the answer to the event under k: the remembered one, or that of the
// call under way, or that of run. A run that fails is forgotten, and whoever
// waits for it tries in its turn. It gives up waiting when ctx ends.
func (m *memory) do(ctx context.Context, k key, text []byte, run func() ([]byte, error)) ([]byte, error) {
	fresh := &entry{key: k, sum: sha256.Sum256(text)}
	if len(text) > largeText {
		fresh.canon = canonical(text)
	}
	for {
		e, mine := m.claim(fresh, text)
		if mine {
			return m.run(e, run)
		}
		if !e.same(fresh, text) {
			return nil, errConflict
		}
		select {
		case <-e.done:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if e.ok {
			return e.tail, nil
		}
	}
}

// claim returns the entry under the fresh one's key, or takes the fresh one in:
// then it is the caller's to run.
func (m *memory) claim(fresh *entry, text []byte) (e *entry, mine bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forget(time.Now())
	if e := m.entries[fresh.key]; e != nil {
		return e, false
	}
	fresh.done = make(chan struct{})
	// Each is a piece of a copy of the whole message, which it would keep.
	fresh.key = key{strings.Clone(fresh.key.principal), strings.Clone(fresh.key.source), strings.Clone(fresh.key.id)}
	if len(text) <= largeText {
		fresh.text = bytes.Clone(text) // it may be a part of something larger
	}
	m.entries[fresh.key] = fresh
	return fresh, true
}

func (m *memory) run(e *entry, run func() ([]byte, error)) (tail []byte, err error) {
	defer func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if e.ok = err == nil && tail != nil; e.ok {
			e.tail = tail
			e.size = len(e.text) + len(e.canon) + len(tail) + len(e.key.principal) + len(e.key.source) + len(e.key.id) + 512
			now := time.Now()
			e.expire = now.Add(m.ttl)
			m.order.PushBack(e)
			m.bytes += e.size
			m.forget(now)
		} else {
			delete(m.entries, e.key)
		}
		close(e.done)
	}()
	return run()
}

// forget drops what is too old or too much.
func (m *memory) forget(now time.Time) {
	for f := m.order.Front(); f != nil; f = m.order.Front() {
		e := f.Value.(*entry)
		if m.order.Len() <= m.maxEntries && m.bytes <= m.maxBytes && now.Before(e.expire) {
			return
		}
		m.order.Remove(f)
		m.bytes -= e.size
		delete(m.entries, e.key)
	}
}

// same reports whether the text is of an equal event: the same bytes, or the same
// canonical form. Text without a canonical form has only its bytes.
func (e *entry) same(fresh *entry, text []byte) bool {
	if fresh.sum == e.sum {
		return true
	}
	was, is := e.canon, fresh.canon
	if was == "" && e.text != nil {
		was = canonical(e.text)
	}
	if is == "" {
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
