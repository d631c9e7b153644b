package audit

import (
	"fmt"
	"math/bits"

	"golang.org/x/mod/sumdb/tlog"
)

// A Hash is a leaf, a node or a root of the tree (RFC 6962 §2.1, SHA-256).
type Hash = tlog.Hash

// LeafHash returns the hash of a leaf's bytes.
func LeafHash(leaf []byte) Hash { return tlog.RecordHash(leaf) }

// A Tree is the right edge of a Merkle tree: enough to append leaves and to
// compute the root, in log2(size) hashes. It is a value: a copy is a snapshot.
// The zero Tree is empty. It is not safe for concurrent use.
type Tree struct {
	size  int64
	peaks [63]Hash // peaks[i] is set where bit i of size is
}

// LoadTree rebuilds the right edge of a tree of the given size from stored
// nodes; see [Tree.Append] for their numbers.
func LoadTree(size int64, r tlog.HashReader) (Tree, error) {
	t := Tree{size: size}
	var at []int64
	var level []int
	for i := 62; i >= 0; i-- {
		if size>>i&1 == 1 {
			at = append(at, tlog.StoredHashIndex(i, size>>i-1))
			level = append(level, i)
		}
	}
	hashes, err := r.ReadHashes(at)
	if err != nil {
		return Tree{}, err
	}
	if len(hashes) != len(at) {
		return Tree{}, fmt.Errorf("%d of %d tree nodes", len(hashes), len(at))
	}
	for i, h := range hashes {
		t.peaks[level[i]] = h
	}
	return t, nil
}

// Size returns the number of leaves.
func (t *Tree) Size() int64 { return t.size }

// Append adds a leaf by its hash and appends to nodes the hashes that a store
// must keep for it: the leaf's own, then those of the subtrees that it
// completes. They are numbered on from tlog.StoredHashCount(size before).
func (t *Tree) Append(leaf Hash, nodes []Hash) []Hash {
	nodes = append(nodes, leaf)
	h := leaf
	done := bits.TrailingZeros64(^uint64(t.size)) // subtrees that end here
	for i := range done {
		h = tlog.NodeHash(t.peaks[i], h)
		nodes = append(nodes, h)
		t.peaks[i] = Hash{} // equal trees are equal values
	}
	t.peaks[done] = h
	t.size++
	return nodes
}

// Root returns the root hash. That of the empty tree is the hash of nothing.
func (t *Tree) Root() Hash {
	root, err := tlog.TreeHash(t.size, tlog.HashReaderFunc(func(at []int64) ([]Hash, error) {
		hashes := make([]Hash, len(at))
		for i, index := range at {
			level, _ := tlog.SplitStoredHashIndex(index)
			hashes[i] = t.peaks[level]
		}
		return hashes, nil
	}))
	if err != nil {
		panic("audit: " + err.Error()) // the reader above never fails
	}
	return root
}

// TreeSize returns the size of the tree whose stored nodes number count, and
// whether there is one.
func TreeSize(count int64) (int64, bool) {
	if count < 0 {
		return 0, false
	}
	if count == 0 {
		return 0, true
	}
	level, n := tlog.SplitStoredHashIndex(count - 1)
	size := (n + 1) << level
	return size, tlog.StoredHashCount(size) == count
}
