package storetest

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/audit"
)

func testCheckpoint(t *testing.T, log audit.Log) {
	empty := checkpoint(t, log)
	if empty.Size != 0 {
		t.Errorf("empty log: %+v", empty)
	}
	fill(t, log, 5)
	c := checkpoint(t, log)
	if c.Size != 5 || c.Origin == "" || c.Origin != empty.Origin || c.Root == empty.Root || !strings.HasSuffix(c.Note, "\n") {
		t.Errorf("got %+v", c)
	}
	// The root is the one of RFC 6962 over these leaves.
	var tree audit.Tree
	for _, r := range collect(t, log.Query(t.Context(), audit.Filter{})) {
		tree.Append(audit.LeafHash(r.Leaf()), nil)
	}
	if tree.Root() != c.Root {
		t.Errorf("root %v, want %v", c.Root, tree.Root())
	}
	if again := checkpoint(t, log); again.Note != c.Note {
		t.Errorf("nothing was added, and the checkpoint changed")
	}
}

func testVerifyAlone(t *testing.T, log audit.Log) {
	if r := verify(t, log, audit.Trust{}); !r.OK() || r.Size != 0 {
		t.Errorf("empty: %+v", r)
	}
	fill(t, log, 9)
	r := verify(t, log, audit.Trust{})
	if !r.OK() || r.Size != 9 || r.KnownTo != 0 || r.PrunedBy != -1 {
		t.Errorf("got %+v", r)
	}
}

func testVerify(t *testing.T, log audit.Log) {
	var held []string
	for i := range 40 {
		if i%7 == 0 {
			held = append(held, checkpoint(t, log).Note)
		}
		if _, err := log.Append(t.Context(), entry(i)); err != nil {
			t.Fatal(err)
		}
	}
	slices.Reverse(held) // any order will do
	r := verify(t, log, audit.Trust{Checkpoints: held})
	if !r.OK() || r.Size != 40 || r.KnownTo != 35 || len(r.Checkpoints) != len(held) {
		t.Errorf("got %+v", r)
	}
}

func testVerifyForeign(t *testing.T, log audit.Log) {
	fill(t, log, 3)
	other, err := audit.NewMemory(0)
	if err != nil {
		t.Fatal(err)
	}
	fill(t, other, 3)
	r := verify(t, log, audit.Trust{Checkpoints: []string{checkpoint(t, other).Note}})
	wantProblem(t, r, audit.Untrusted)
	if r.KnownTo != 0 {
		t.Errorf("known to %d", r.KnownTo)
	}
}

func testVerifyForged(t *testing.T, log audit.Log) {
	fill(t, log, 12)
	note := checkpoint(t, log).Note
	for name, text := range map[string]string{
		"another size": strings.Replace(note, "\n12\n", "\n11\n", 1),
		"cut":          note[:len(note)-10],
		"empty":        "",
		"garbage":      "\x00\xff",
		"huge":         strings.Repeat("x", audit.MaxCheckpointBytes+1),
		"no signature": note[:strings.Index(note, "\n\n")+1],
	} {
		if text == note {
			t.Fatal("the forgery changed nothing")
		}
		r := verify(t, log, audit.Trust{Checkpoints: []string{text}})
		wantProblem(t, r, audit.Untrusted)
		if r.KnownTo != 0 {
			t.Errorf("%s: known to %d", name, r.KnownTo)
		}
	}
}

func testVerifyKey(t *testing.T, log audit.Log) {
	fill(t, log, 3)
	key, err := audit.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	r := verify(t, log, audit.Trust{Keys: []string{key.Verifier()}, Checkpoints: []string{checkpoint(t, log).Note}})
	wantProblem(t, r, audit.Untrusted)
	if r.KnownTo != 0 {
		t.Errorf("known to %d", r.KnownTo)
	}
}

func testRetainAge(t *testing.T, log audit.Log) {
	fill(t, log, 600)
	before := checkpoint(t, log)
	cut := t0.Add(500 * time.Second)
	got, err := log.Retain(t.Context(), audit.Policy{Before: cut})
	if err != nil || got.Entries != 500 || got.To != 500 {
		t.Fatalf("retain: %+v, %v", got, err)
	}
	left := collect(t, log.Query(t.Context(), audit.Filter{Limit: audit.MaxLimit}))
	if len(left) != 101 || left[0].ID != 500 || left[100].Kind != audit.Retention || left[100].ID != 600 {
		t.Errorf("%d left, %v to %v", len(left), left[0].ID, left[len(left)-1])
	}
	after := checkpoint(t, log)
	r := verify(t, log, audit.Trust{Checkpoints: []string{before.Note, after.Note}})
	if !r.OK() || r.PrunedTo != 500 || r.PrunedBy != 600 || r.KnownTo != 601 {
		t.Errorf("verify: %+v", r)
	}
	if stat, err := log.Stat(t.Context()); err != nil || stat.Kept != 500 || stat.Size != 601 {
		t.Errorf("stat: %+v, %v", stat, err)
	}
	// Once more does nothing, and says nothing.
	again, err := log.Retain(t.Context(), audit.Policy{Before: cut})
	if err != nil || again.Entries != 0 || again.To != 500 {
		t.Errorf("again: %+v, %v", again, err)
	}
	if id, err := log.Append(t.Context(), entry(0)); err != nil || id != 601 {
		t.Errorf("append: %d, %v", id, err)
	}
}

func testRetainSize(t *testing.T, log audit.Log) {
	for i := range 400 {
		e := entry(i)
		e.Data = make([]byte, 2000)
		if _, err := log.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	before, err := log.Stat(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	limit := before.Bytes / 2
	got, err := log.Retain(t.Context(), audit.Policy{MaxBytes: limit})
	if err != nil || got.Entries == 0 || got.Bytes > limit {
		t.Errorf("retain to %d: %+v, %v", limit, got, err)
	}
	if got.Bytes < limit/2 {
		t.Errorf("retain to %d left only %d", limit, got.Bytes)
	}
	// A limit that cannot be reached removes all there is, and then stops.
	for range 3 {
		if got, err = log.Retain(t.Context(), audit.Policy{MaxBytes: 1}); err != nil {
			t.Fatal(err)
		}
	}
	if got.Entries != 0 {
		t.Errorf("the third time: %+v", got)
	}
	left := collect(t, log.Query(t.Context(), audit.Filter{}))
	for _, r := range left {
		if r.Kind != audit.Retention {
			t.Errorf("left: %d, %s", r.ID, r.Kind)
		}
	}
	if r := verify(t, log, audit.Trust{Checkpoints: []string{checkpoint(t, log).Note}}); !r.OK() || r.PrunedTo < 400 || r.PrunedBy < 0 {
		t.Errorf("verify: %+v", r)
	}
}

func testRetainNothing(t *testing.T, log audit.Log) {
	fill(t, log, 3)
	for _, p := range []audit.Policy{{}, {Before: t0}, {MaxBytes: 1 << 40}} {
		if got, err := log.Retain(t.Context(), p); err != nil || got.Entries != 0 {
			t.Errorf("%+v: %+v, %v", p, got, err)
		}
	}
	if n := len(collect(t, log.Query(t.Context(), audit.Filter{}))); n != 3 {
		t.Errorf("%d entries", n)
	}
}
