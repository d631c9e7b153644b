package audit_test

import (
	"encoding/binary"
	"testing"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/holdpoint/holdpoint/audit"
)

// The tree gives the same nodes and roots as tlog does from the leaves, can be
// loaded at every size, and its nodes prove what they should.
func TestTree(t *testing.T) {
	const n = 300
	var tree audit.Tree
	var nodes []audit.Hash
	reader := tlog.HashReaderFunc(func(at []int64) ([]tlog.Hash, error) {
		var out []tlog.Hash
		for _, i := range at {
			out = append(out, nodes[i])
		}
		return out, nil
	})
	var roots []audit.Hash
	for i := range int64(n) {
		roots = append(roots, tree.Root())
		leaf := binary.BigEndian.AppendUint64(nil, uint64(i))
		want, err := tlog.StoredHashes(i, leaf, reader)
		if err != nil {
			t.Fatal(err)
		}
		before := len(nodes)
		nodes = tree.Append(audit.LeafHash(leaf), nodes)
		if got := nodes[before:]; len(got) != len(want) || got[len(got)-1] != want[len(want)-1] {
			t.Fatalf("leaf %d: got %v, want %v", i, got, want)
		}
		root, err := tlog.TreeHash(i+1, reader)
		if err != nil || root != tree.Root() {
			t.Fatalf("size %d: root %v, want %v", i+1, tree.Root(), root)
		}
		loaded, err := audit.LoadTree(i+1, reader)
		if err != nil || loaded != tree {
			t.Fatalf("size %d: loading gives another tree", i+1)
		}
		if size, ok := audit.TreeSize(int64(len(nodes))); !ok || size != i+1 {
			t.Fatalf("size %d of %d nodes: %d, %t", i+1, len(nodes), size, ok)
		}
	}
	sizes := 0
	for count := range int64(len(nodes)) + 1 {
		if _, ok := audit.TreeSize(count); ok {
			sizes++
		}
	}
	if sizes != n+1 {
		t.Errorf("%d counts are sizes, want %d", sizes, n+1)
	}
	for older := int64(1); older < n; older += 7 {
		proof, err := tlog.ProveTree(n, older, reader)
		if err != nil {
			t.Fatal(err)
		}
		if err := tlog.CheckTree(proof, n, tree.Root(), older, roots[older]); err != nil {
			t.Errorf("from %d to %d: %v", older, n, err)
		}
	}
}

// The root of no leaves is the hash of nothing (RFC 6962 §2.1).
func TestEmptyTree(t *testing.T) {
	var tree audit.Tree
	if got := tree.Root().String(); got != "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=" {
		t.Errorf("got %s", got)
	}
}
