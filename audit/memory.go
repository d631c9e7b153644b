package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"
)

// Memory is a [Log] that lives as long as its process: for demonstrations and
// tests. Use [NewMemory].
type Memory struct {
	key      *Key
	maxBytes int64

	mu      sync.Mutex
	more    chan struct{} // closed and replaced when an entry is added or the log closes
	closed  bool
	tree    Tree
	nodes   []Hash
	leaves  [][]byte // by ID; nil once pruned
	kept    ID
	bytes   int64
	keys    map[string]ID
	signed  Checkpoint
	signing time.Time // when the last head was signed
}

var _ Log = (*Memory)(nil)

// NewMemory returns an empty log that holds at most maxBytes of entries; 0
// means no limit.
func NewMemory(maxBytes int64) (*Memory, error) {
	key, err := NewKey()
	if err != nil {
		return nil, err
	}
	return &Memory{key: key, maxBytes: maxBytes, more: make(chan struct{}), keys: map[string]ID{}}, nil
}

// Append implements [Log]. It never waits.
func (m *Memory) Append(ctx context.Context, e Entry) (ID, error) {
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	if e.Kind == Retention {
		return 0, fmt.Errorf("%w: kind: %q is for the log itself", ErrInvalid, e.Kind)
	}
	if err := e.Validate(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return 0, ErrClosed
	}
	return m.append(e)
}

func (m *Memory) append(e Entry) (ID, error) {
	if id, ok := m.keys[e.Key]; ok {
		return id, nil
	}
	now := time.Now()
	if e.Time.IsZero() {
		e.Time = now
	}
	leaf := e.Leaf()
	if m.maxBytes > 0 && m.bytes+int64(len(leaf)) > m.maxBytes {
		return 0, ErrFull
	}
	id := ID(m.tree.Size())
	m.nodes = m.tree.Append(LeafHash(leaf), m.nodes)
	m.leaves = append(m.leaves, leaf)
	m.bytes += int64(len(leaf))
	if e.Key != "" {
		m.keys[e.Key] = id
	}
	if now.Sub(m.signing) >= SignEvery {
		if err := m.sign(now); err != nil {
			return 0, err
		}
	}
	m.wake()
	return id, nil
}

func (m *Memory) wake() {
	close(m.more)
	m.more = make(chan struct{})
}

func (m *Memory) sign(now time.Time) error {
	c, err := m.key.Sign(&m.tree, now)
	if err != nil {
		return err
	}
	m.signed, m.signing = c, now
	return nil
}

// Query implements [Reader].
func (m *Memory) Query(ctx context.Context, f Filter) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := f.Validate(); err != nil {
			yield(Record{}, err)
			return
		}
		left := f.Limit
		if left == 0 {
			left = DefaultLimit
		}
		m.mu.Lock()
		from, to := max(f.From, m.kept), ID(m.tree.Size())
		m.mu.Unlock()
		if f.To != 0 {
			to = min(to, f.To)
		}
		for i := from; i < to && left > 0; i++ {
			id := i
			if f.Newest {
				id = to - 1 - (i - from)
			}
			r, ok, err := m.read(ctx, id)
			if err != nil {
				yield(Record{}, err)
				return
			}
			if !ok || !f.Match(&r) {
				continue
			}
			left--
			if !yield(r, nil) {
				return
			}
		}
	}
}

// read returns one entry, and whether it is there.
func (m *Memory) read(ctx context.Context, id ID) (Record, bool, error) {
	if ctx.Err() != nil {
		return Record{}, false, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return Record{}, false, ErrClosed
	}
	leaf := m.leaves[id]
	if leaf == nil {
		return Record{}, false, nil
	}
	e, err := ParseLeaf(leaf)
	if err != nil {
		return Record{}, false, errors.Join(ErrCorrupt, err)
	}
	return Record{id, e}, true, nil
}

// Follow implements [Reader].
func (m *Memory) Follow(ctx context.Context, f Filter) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := f.ValidateFollow(); err != nil {
			yield(Record{}, err)
			return
		}
		next, sent := f.From, 0
		for {
			m.mu.Lock()
			more, closed, size := m.more, m.closed, ID(m.tree.Size())
			m.mu.Unlock()
			if closed {
				return
			}
			for ; next < size; next++ {
				r, ok, err := m.read(ctx, next)
				switch {
				case ctx.Err() != nil || errors.Is(err, ErrClosed):
					return
				case err != nil:
					yield(Record{}, err)
					return
				case !ok || !f.Match(&r):
					continue
				}
				if sent++; !yield(r, nil) || sent == f.Limit {
					return
				}
			}
			select {
			case <-more:
			case <-ctx.Done():
				return
			}
		}
	}
}

// Checkpoint implements [Reader].
func (m *Memory) Checkpoint(ctx context.Context) (Checkpoint, error) {
	if err := ctx.Err(); err != nil {
		return Checkpoint{}, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return Checkpoint{}, ErrClosed
	}
	if m.signed.Note == "" || m.signed.Size != m.tree.Size() {
		if err := m.sign(time.Now()); err != nil {
			return Checkpoint{}, err
		}
	}
	return m.signed, nil
}

// Verify implements [Reader].
func (m *Memory) Verify(ctx context.Context, trust Trust) (Report, error) {
	m.mu.Lock()
	if m.closed {
		m.mu.Unlock()
		return Report{}, ErrClosed
	}
	// Leaves and nodes are never changed in place, so these are a snapshot;
	// Retain replaces the slice of leaves that it prunes.
	s := memorySnapshot{m.tree.Size(), m.leaves, m.nodes, m.signed, m.key.Verifier()}
	m.mu.Unlock()
	return Check(ctx, s, trust)
}

// Verifier implements [Reader].
func (m *Memory) Verifier() string { return m.key.Verifier() }

// Stat implements [Reader].
func (m *Memory) Stat(context.Context) (Stat, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return Stat{}, ErrClosed
	}
	return Stat{Size: m.tree.Size(), Kept: m.kept, Bytes: m.bytes, Signed: m.signed.Size}, nil
}

// Retain implements [Log].
func (m *Memory) Retain(ctx context.Context, p Policy) (Pruned, error) {
	if err := ctx.Err(); err != nil {
		return Pruned{}, context.Cause(ctx)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return Pruned{}, ErrClosed
	}
	to, reason, err := m.boundary(p)
	if err != nil || to == m.kept {
		return Pruned{To: m.kept, Bytes: m.bytes}, err
	}
	pruned := Pruned{Entries: int64(to - m.kept), To: to}
	leaves := slices.Clone(m.leaves) // snapshots keep the old one
	for id := m.kept; id < to; id++ {
		m.bytes -= int64(len(leaves[id]))
		leaves[id] = nil
	}
	maps.DeleteFunc(m.keys, func(_ string, id ID) bool { return id < to })
	m.leaves, m.kept = leaves, to
	if _, err := m.append(PruningEntry(to, reason)); err != nil {
		return Pruned{}, err
	}
	pruned.Bytes = m.bytes
	return pruned, nil
}

// boundary returns the ID before which p wants entries to go, and why. Entries
// about pruning are no reason to prune, or every call would replace the last.
func (m *Memory) boundary(p Policy) (to ID, reason string, err error) {
	bytes, others := m.bytes+256, 0 // the entry about it needs room too
	for to = m.kept; to < ID(len(m.leaves)); to++ {
		e, err := ParseLeaf(m.leaves[to])
		if err != nil {
			return m.kept, "", errors.Join(ErrCorrupt, err)
		}
		if !p.Before.IsZero() && e.Time.Before(p.Before) {
			reason = "age"
		} else if p.MaxBytes > 0 && bytes > p.MaxBytes {
			reason = "size"
		} else {
			break
		}
		bytes -= int64(len(m.leaves[to]))
		if e.Kind != Retention {
			others++
		}
	}
	if others == 0 {
		return m.kept, "", nil
	}
	return to, reason, nil
}

// Close implements [Reader].
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.closed = true
		m.wake()
	}
	return nil
}

type memorySnapshot struct {
	size     int64
	leaves   [][]byte
	nodes    []Hash
	head     Checkpoint
	verifier string
}

func (s memorySnapshot) Size() int64      { return s.size }
func (s memorySnapshot) Verifier() string { return s.verifier }

func (s memorySnapshot) Rows(_ context.Context, from, to ID) ([]Row, error) {
	var rows []Row
	for id := from; id < to; id++ {
		if s.leaves[id] != nil {
			e, err := ParseLeaf(s.leaves[id])
			rows = append(rows, Row{Record{id, e}, err})
		}
	}
	return rows, nil
}

func (s memorySnapshot) Nodes(_ context.Context, from, to int64) ([]Node, error) {
	var nodes []Node
	for i := from; i < min(to, tlog.StoredHashCount(s.size)); i++ {
		nodes = append(nodes, Node{i, s.nodes[i]})
	}
	return nodes, nil
}

func (s memorySnapshot) Strays(context.Context, int) ([]ID, error) { return nil, nil }

func (s memorySnapshot) Heads(context.Context) ([]string, error) {
	if s.head.Note == "" {
		return nil, nil
	}
	return []string{s.head.Note}, nil
}
