package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/audit"
)

const (
	// page is how many records are read at once. Between pages no transaction
	// is open, so that a slow consumer does not keep the WAL from being taken
	// in.
	page = 128
	// pollEvery is how often a follower in another process looks for more.
	pollEvery = 200 * time.Millisecond
)

// reader is what Log and ReadOnly share.
type reader struct {
	db       *sql.DB
	verifier string
	poll     time.Duration // 0 when wake is called instead

	life  context.Context // ends with Close
	end   context.CancelCauseFunc
	calls sync.WaitGroup

	mu     sync.Mutex
	closed bool
	more   chan struct{} // closed and replaced when there are more entries
}

func newReader(db *sql.DB, verifier string) *reader {
	r := &reader{db: db, verifier: verifier, more: make(chan struct{})}
	r.life, r.end = context.WithCancelCause(context.Background())
	return r
}

// shut lets nobody in any more and reports whether it was open.
func (r *reader) shut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := !r.closed
	r.closed = true
	r.end(audit.ErrClosed)
	return was
}

// finish waits for the calls under way and closes the connections.
func (r *reader) finish() error {
	r.calls.Wait()
	return r.db.Close()
}

// enter begins a call that ends early when the log is closed. The caller calls
// leave.
func (r *reader) enter(ctx context.Context) (_ context.Context, leave func(), err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil, nil, audit.ErrClosed
	}
	r.calls.Add(1)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.life, func() { cancel(audit.ErrClosed) })
	return ctx, func() { stop(); cancel(nil); r.calls.Done() }, nil
}

// failed makes of an error what a caller may test for: the reason why ctx
// ended, if it did.
func failed(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return mapError(err)
}

func (r *reader) wake() {
	r.mu.Lock()
	defer r.mu.Unlock()
	close(r.more)
	r.more = make(chan struct{})
}

// size returns the number of entries as the newest one tells it.
func (r *reader) size(ctx context.Context) (n audit.ID, err error) {
	err = r.db.QueryRowContext(ctx, "SELECT ifnull(max(id) + 1, 0) FROM entry").Scan(&n)
	return n, err
}

// Query implements audit.Reader.
func (r *reader) Query(ctx context.Context, f audit.Filter) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		if err := f.Validate(); err != nil {
			yield(audit.Record{}, err)
			return
		}
		left := f.Limit
		if left == 0 {
			left = audit.DefaultLimit
		}
		for left > 0 {
			records, err := r.page(ctx, f, min(left, page))
			if err != nil {
				yield(audit.Record{}, err)
				return
			}
			for i := range records {
				if !yield(records[i], nil) {
					return
				}
			}
			if len(records) < min(left, page) {
				return
			}
			left -= len(records)
			if last := records[len(records)-1].ID; !f.Newest {
				f.From = last + 1
			} else if f.To = last; last == 0 {
				return // a To of 0 would be no bound
			}
		}
	}
}

// page reads at most n records that f selects.
func (r *reader) page(ctx context.Context, f audit.Filter, n int) ([]audit.Record, error) {
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	query, args := selectEntries(&f, n)
	records, err := r.read(ctx, query, args)
	return records, failed(ctx, err)
}

func (r *reader) read(ctx context.Context, query string, args []any) (_ []audit.Record, err error) {
	rows, err := r.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var records []audit.Record
	for rows.Next() {
		rec, bad, err := scanEntry(rows)
		if err != nil {
			return nil, err
		}
		if bad != nil {
			return nil, fmt.Errorf("%w: entry %d cannot be read", audit.ErrCorrupt, rec.ID)
		}
		records = append(records, rec)
	}
	return records, rows.Err()
}

// selectEntries puts a filter into SQL. Values are always arguments.
func selectEntries(f *audit.Filter, n int) (string, []any) {
	var where []string
	var args []any
	add := func(cond string, arg any) {
		where = append(where, cond)
		args = append(args, arg)
	}
	add("id >= ?", int64(f.From))
	if f.To != 0 {
		add("id < ?", int64(f.To))
	}
	if !f.Since.IsZero() {
		add("time >= ?", f.Since.UnixNano())
	}
	if !f.Until.IsZero() {
		add("time < ?", f.Until.UnixNano())
	}
	if len(f.Kinds) > 0 {
		for _, k := range f.Kinds {
			args = append(args, string(k))
		}
		where = append(where, "kind IN (?"+strings.Repeat(", ?", len(f.Kinds)-1)+")")
	}
	if f.Session != "" {
		// The second half is what lets SQLite use the partial index.
		add("session = ? AND session <> ''", f.Session)
	}
	for _, c := range []struct{ name, text string }{
		{"agent", f.Agent},
		{"event", f.Event},
		{"tool", f.Tool},
		{"operation", f.Operation},
		{"decision", f.Decision},
	} {
		if c.text != "" {
			add(c.name+" = ?", c.text)
		}
	}
	for _, c := range []struct{ name, text string }{
		{"rules", f.Rule}, {"hazards", f.Hazard}, {"flags", f.Flag},
	} {
		if c.text != "" {
			add("instr("+c.name+", ?) > 0", "\n"+c.text+"\n")
		}
	}
	order := "id"
	if f.Newest {
		order = "id DESC"
	}
	return fmt.Sprintf("SELECT %s FROM entry WHERE %s ORDER BY %s LIMIT %d",
		entryColumns, strings.Join(where, " AND "), order, n), args
}

// Follow implements audit.Reader.
func (r *reader) Follow(ctx context.Context, f audit.Filter) iter.Seq2[audit.Record, error] {
	return func(yield func(audit.Record, error) bool) {
		if err := f.ValidateFollow(); err != nil {
			yield(audit.Record{}, err)
			return
		}
		for sent := 0; ; {
			r.mu.Lock()
			more := r.more
			r.mu.Unlock()
			records, whole, err := r.next(ctx, &f)
			switch {
			case ctx.Err() != nil || errors.Is(err, audit.ErrClosed):
				return
			case err != nil:
				yield(audit.Record{}, err)
				return
			}
			for i := range records {
				if sent++; !yield(records[i], nil) || sent == f.Limit {
					return
				}
			}
			if whole && !r.await(ctx, more) {
				return
			}
		}
	}
}

// next reads a page of what f selects, moves f.From behind what was looked at,
// and reports whether that was all.
func (r *reader) next(ctx context.Context, f *audit.Filter) (_ []audit.Record, whole bool, err error) {
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return nil, false, err
	}
	defer leave()
	// The size first: entries that come in between are left for later.
	size, err := r.size(ctx)
	if err != nil {
		return nil, false, failed(ctx, err)
	}
	if size <= f.From {
		return nil, true, nil
	}
	bounded := *f
	bounded.To = size
	query, args := selectEntries(&bounded, page)
	records, err := r.read(ctx, query, args)
	if err != nil {
		return nil, false, failed(ctx, err)
	}
	if len(records) < page {
		f.From = size
		return records, true, nil
	}
	f.From = records[len(records)-1].ID + 1
	return records, false, nil
}

// await waits until there may be more entries, and reports false at the end of
// ctx or of the log.
func (r *reader) await(ctx context.Context, more <-chan struct{}) bool {
	var tick <-chan time.Time
	if r.poll > 0 {
		timer := time.NewTimer(r.poll)
		defer timer.Stop()
		tick = timer.C
	}
	select {
	case <-more:
		return true
	case <-tick:
		return true
	case <-ctx.Done():
		return false
	case <-r.life.Done():
		return false
	}
}

// newestHead returns the newest head that was stored.
func (r *reader) newestHead(ctx context.Context) (audit.Checkpoint, error) {
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return audit.Checkpoint{}, err
	}
	defer leave()
	var text string
	err = r.db.QueryRowContext(ctx, "SELECT note FROM head ORDER BY bucket DESC LIMIT 1").Scan(&text)
	if errors.Is(err, sql.ErrNoRows) {
		return audit.Checkpoint{}, audit.ErrNoCheckpoint
	}
	if err != nil {
		return audit.Checkpoint{}, failed(ctx, err)
	}
	c, err := audit.ParseCheckpoint(text, r.verifier)
	if err != nil {
		return audit.Checkpoint{}, fmt.Errorf("%w: stored head: %w", audit.ErrCorrupt, err)
	}
	return c, nil
}

// Stat implements audit.Reader.
func (r *reader) Stat(ctx context.Context) (audit.Stat, error) {
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return audit.Stat{}, err
	}
	defer leave()
	var s audit.Stat
	err = r.db.QueryRowContext(ctx, `SELECT
		(SELECT ifnull(max(id) + 1, 0) FROM entry),
		(SELECT ifnull(min(id), 0) FROM entry),
		(SELECT ifnull(max(size), 0) FROM head)`).Scan(&s.Size, &s.Kept, &s.Signed)
	if err == nil {
		s.Bytes, err = r.bytes(ctx)
	}
	return s, failed(ctx, err)
}

// bytes returns how much of the file is in use.
func (r *reader) bytes(ctx context.Context) (n int64, err error) {
	err = r.db.QueryRowContext(ctx, `SELECT (p.page_count - f.freelist_count) * s.page_size
		FROM pragma_page_count p, pragma_freelist_count f, pragma_page_size s`).Scan(&n)
	return n, err
}

// Verifier implements audit.Reader.
func (r *reader) Verifier() string { return r.verifier }
