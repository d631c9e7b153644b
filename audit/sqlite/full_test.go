package sqlite_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/sqlite"
)

const limitBytes = 256 << 10

func openWith(t testing.TB, o sqlite.Options) *sqlite.Log {
	t.Helper()
	log, err := sqlite.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func big(i int) audit.Entry {
	e := numbered(i)
	e.Data = make([]byte, 4000)
	return e
}

// A log at its limit says so, keeps what it has, and goes on without being
// opened again once there is room.
func TestFull(t *testing.T) {
	log := openWith(t, sqlite.Options{Dir: stateDir(t), Sync: audit.Always, MaxBytes: limitBytes})
	written := 0
	var err error
	for ; err == nil; written++ {
		var id audit.ID
		if id, err = log.Append(t.Context(), big(written)); err == nil && id != audit.ID(written) {
			t.Fatalf("entry %d got ID %d", written, id)
		}
		if written > 1000 {
			t.Fatal("the limit does not hold")
		}
	}
	written--
	if !errors.Is(err, audit.ErrFull) {
		t.Fatalf("got %v", err)
	}
	// Many at a time meet the same end, each of them.
	var wg sync.WaitGroup
	for i := range 40 {
		wg.Go(func() {
			if _, err := log.Append(t.Context(), big(i)); !errors.Is(err, audit.ErrFull) {
				t.Errorf("got %v", err)
			}
		})
	}
	wg.Wait()
	if stat, err := log.Stat(t.Context()); err != nil || stat.Size != int64(written) {
		t.Errorf("%+v, %v, want size %d", stat, err, written)
	}
	if err := log.SetMaxBytes(t.Context(), 10*limitBytes); err != nil {
		t.Fatal(err)
	}
	if id, err := log.Append(t.Context(), big(written)); err != nil || id != audit.ID(written) {
		t.Errorf("with room again: %d, %v", id, err)
	}
	sound(t, log, written+1)
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// Retention makes room in a full log, also at its limit.
func TestFullRetain(t *testing.T) {
	log := openWith(t, sqlite.Options{Dir: stateDir(t), Sync: audit.Always, MaxBytes: limitBytes})
	var err error
	n := 0
	for ; err == nil; n++ {
		_, err = log.Append(t.Context(), big(n))
	}
	pruned, err := log.Retain(t.Context(), audit.Policy{MaxBytes: limitBytes / 2})
	if err != nil || pruned.Entries == 0 {
		t.Fatalf("%+v, %v", pruned, err)
	}
	if _, err := log.Append(t.Context(), big(n)); err != nil {
		t.Error(err)
	}
	if r, err := log.Verify(t.Context(), audit.Trust{}); err != nil || !r.OK() {
		t.Errorf("%+v, %v", r, err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// With Batch an entry that was accepted is not given up when the disk is full;
// later ones are told.
func TestFullBatch(t *testing.T) {
	log := openWith(t, sqlite.Options{Dir: stateDir(t), Sync: audit.Batch, MaxBytes: limitBytes})
	accepted := 0
	for {
		id, err := log.Append(t.Context(), big(accepted))
		if errors.Is(err, audit.ErrFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if id != audit.Pending && id != audit.ID(accepted) {
			t.Fatalf("entry %d got ID %d", accepted, id)
		}
		if accepted++; accepted > 100_000 {
			t.Fatal("the limit does not hold")
		}
	}
	for range 10 { // and it stays so
		if _, err := log.Append(t.Context(), big(0)); !errors.Is(err, audit.ErrFull) {
			t.Errorf("got %v", err)
		}
	}
	if err := log.SetMaxBytes(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	// Whether it waits for its place depends on whether the writer has tried again.
	id, err := log.Append(t.Context(), big(accepted))
	if err != nil || id != audit.Pending && id != audit.ID(accepted) {
		t.Errorf("with room again: %d, %v, want %d or pending", id, err, accepted)
	}
	if c, err := log.Checkpoint(t.Context()); err != nil || c.Size != int64(accepted)+1 {
		t.Errorf("%+v, %v, want %d entries", c, err, accepted+1)
	}
	sound(t, log, accepted+1)
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

// What could not be written by the end is not lost in silence.
func TestFullClose(t *testing.T) {
	log := openWith(t, sqlite.Options{Dir: stateDir(t), Sync: audit.Batch, MaxBytes: limitBytes})
	var err error
	for err == nil {
		_, err = log.Append(t.Context(), big(0))
	}
	if err := log.Close(); err == nil {
		t.Error("close said nothing")
	}
}

// sound checks that log holds exactly n entries in their order.
func sound(t *testing.T, log audit.Reader, n int) {
	t.Helper()
	next := 0
	for r, err := range log.Query(t.Context(), audit.Filter{Limit: audit.MaxLimit}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.ID != audit.ID(next) || r.Time.Unix() != numbered(next).Time.Unix() {
			t.Fatalf("record %d: ID %d, time %v", next, r.ID, r.Time)
		}
		next++
	}
	if next != n {
		t.Errorf("%d entries, want %d", next, n)
	}
	if r, err := log.Verify(context.WithoutCancel(t.Context()), audit.Trust{}); err != nil || !r.OK() {
		t.Errorf("verify: %v, %v", r.Problems, err)
	}
}
