package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/holdpoint/holdpoint/audit"
)

// pruneChunk is how many entries one transaction removes, so that appends get
// their turn between.
const pruneChunk = 256

// Retain implements audit.Log. Entries are removed in small transactions; if it
// ends half-way, what is left of the pruned part goes with the next call.
func (l *Log) Retain(ctx context.Context, p audit.Policy) (audit.Pruned, error) {
	ctx, leave, err := l.enter(ctx)
	if err != nil {
		return audit.Pruned{}, err
	}
	defer leave()
	l.retaining.Lock() // two at once would both announce the same entries
	defer l.retaining.Unlock()
	pruned, err := l.retain(ctx, p)
	return pruned, failed(ctx, err)
}

func (l *Log) retain(ctx context.Context, p audit.Policy) (pruned audit.Pruned, err error) {
	// What an entry takes in the file is an average over all, so look again; a
	// few rounds are enough to come close.
	for range 8 {
		if pruned.Bytes, err = l.bytes(ctx); err != nil {
			return pruned, err
		}
		to, reason, err := l.boundary(ctx, p, pruned.Bytes)
		if err != nil {
			return pruned, err
		}
		pruned.To = to
		if reason == "" {
			return pruned, nil
		}
		n, err := l.prune(ctx, to, reason)
		pruned.Entries += n
		if err != nil {
			return pruned, err
		}
	}
	return pruned, nil
}

// nodeBytes is about what the two tree nodes of an entry take in the file.
const nodeBytes = 90

// boundary returns the ID before which entries may go in a file of the given
// size, and why; no reason means that nothing goes. Entries about pruning are
// no cause to prune, or every call would replace the last one's.
func (l *Log) boundary(ctx context.Context, p audit.Policy, bytes int64) (to audit.ID, reason string, err error) {
	var first, size int64
	err = l.db.QueryRowContext(ctx, "SELECT ifnull(min(id), 0), ifnull(max(id) + 1, 0) FROM entry").Scan(&first, &size)
	if err != nil || size == 0 {
		return 0, "", err
	}
	bySize := audit.ID(first)
	if p.MaxBytes > 0 && bytes > p.MaxBytes {
		each := max(256, (bytes-nodeBytes*size)/(size-first))
		bySize += audit.ID((bytes - p.MaxBytes + each - 1) / each)
	}
	rows, err := l.db.QueryContext(ctx, "SELECT id, time, kind FROM entry ORDER BY id")
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	to = audit.ID(first)
	others, why := false, ""
	for rows.Next() {
		var id audit.ID
		var nanos int64
		var kind audit.Kind
		if err := rows.Scan(&id, &nanos, &kind); err != nil {
			return 0, "", err
		}
		if !p.Before.IsZero() && time.Unix(0, nanos).Before(p.Before) {
			why = "age"
		} else if id < bySize {
			why = "size"
		} else {
			break
		}
		if others = others || kind != audit.Retention; others {
			to, reason = id+1, why
		}
	}
	return to, reason, rows.Err()
}

// prune removes the entries before to. The first transaction also says so in
// the log, and is followed by others that only remove.
func (l *Log) prune(ctx context.Context, to audit.ID, reason string) (int64, error) {
	var total int64
	for announced := false; ; announced = true {
		var n int64
		err := l.w.do(ctx, func() error {
			var err error
			n, err = l.w.prune(to, reason, !announced)
			return err
		})
		if err != nil {
			return total, err // n may still be written to
		}
		total += n
		if n < pruneChunk {
			return total, l.shrink(ctx)
		}
	}
}

// shrink gives free pages back to the file system, when there are many: a log
// at its limit needs them again at once.
func (l *Log) shrink(ctx context.Context) error {
	for {
		var free, pages int64
		err := l.db.QueryRowContext(ctx, `SELECT f.freelist_count, p.page_count
			FROM pragma_freelist_count f, pragma_page_count p`).Scan(&free, &pages)
		if err != nil || free < 64 || free*4 < pages {
			return err
		}
		if err := l.w.do(ctx, l.w.vacuum); err != nil {
			return err
		}
	}
}

func (w *writer) prune(to audit.ID, reason string, announce bool) (n int64, err error) {
	now := time.Now()
	err = w.update(false, now, func(tree *audit.Tree) error {
		// First the room, then the entry that needs some.
		if err := w.c.exec(`DELETE FROM entry WHERE id IN (SELECT id FROM entry WHERE id < ? ORDER BY id LIMIT ?)`,
			int64(to), int64(pruneChunk)); err != nil {
			return err
		}
		if n, err = w.c.mustNumber("SELECT changes()"); err != nil || !announce {
			return err
		}
		e := audit.PruningEntry(to, reason)
		e.Time = now
		_, err := w.insert(tree, &e)
		return err
	})
	if err != nil {
		return 0, err
	}
	if announce {
		w.wake()
	}
	return n, nil
}

// vacuum frees some pages at the end of the file.
func (w *writer) vacuum() error {
	return w.c.query(func([]driver.Value) {}, "PRAGMA incremental_vacuum(256)")
}
