// Package sqlite keeps an audit log in one SQLite file, through a driver in
// pure Go.
//
// A log is a folder of its owner's (mode 0700) with three files, each of mode
// 0600: audit.db (in WAL mode, so with -wal and -shm beside it while it is
// open), audit.key with the signing key, and audit.lock. One process writes;
// any number of others may read meanwhile with [OpenReadOnly].
//
// One goroutine writes. Entries that wait at the same time share one
// transaction and one flush. An append costs a row, two tree nodes on average
// (at most 1 + log2 of the size), and with audit.Always one flush of the WAL.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/holdpoint/holdpoint/audit"
)

const (
	dbFile   = "audit.db"
	keyFile  = "audit.key"
	lockFile = "audit.lock"
)

// Options configures [Open].
type Options struct {
	// Dir is the folder of the log; required. It is made, with mode 0700, if it
	// is not there. A folder of another owner, or one that others can enter,
	// is refused.
	Dir string
	// Sync says when an append is done; required.
	Sync audit.Sync
	// MaxBytes bounds the database file; an append past it gives
	// audit.ErrFull. 0 means no bound. The WAL comes on top: some 4 MiB, more
	// while a verification runs.
	MaxBytes int64
}

func (o *Options) complete() error {
	var errs []error
	if o.Dir == "" {
		errs = append(errs, errors.New("dir: required"))
	}
	if o.Sync != audit.Always && o.Sync != audit.Batch {
		errs = append(errs, fmt.Errorf("sync: %q, want %q or %q", o.Sync, audit.Always, audit.Batch))
	}
	if o.MaxBytes < 0 {
		errs = append(errs, fmt.Errorf("max bytes: %d is negative", o.MaxBytes))
	}
	return errors.Join(errs...)
}

// A Log is an audit.Log in a file. Close it.
type Log struct {
	*reader
	w         *writer
	lock      *fileLock
	retaining sync.Mutex
}

var (
	_ audit.Log    = (*Log)(nil)
	_ audit.Reader = (*ReadOnly)(nil)
)

// Open opens the log in o.Dir for writing, and makes it if there is none. Errors:
// a *audit.LockedError while another process has it open for writing,
// audit.ErrCorrupt, audit.ErrNewer, audit.ErrKey, audit.ErrFull, and others
// from the file system.
func Open(ctx context.Context, o Options) (*Log, error) {
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("audit log: %w", err)
	}
	l, err := open(ctx, dir, o)
	if err != nil {
		return nil, fmt.Errorf("open audit log: %w", mapError(err))
	}
	return l, nil
}

func open(ctx context.Context, dir string, o Options) (_ *Log, err error) {
	if err := makeDir(dir); err != nil {
		return nil, err
	}
	if err := checkFiles(dir); err != nil {
		return nil, err
	}
	lock, err := takeLock(filepath.Join(dir, lockFile))
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, lock.release())
		}
	}()
	w, err := openWriter(dir, o)
	if err != nil {
		return nil, err
	}
	db, err := openPool(dir)
	if err == nil {
		err = db.PingContext(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, w.abandon())
	}
	l := &Log{reader: newReader(db, w.key.Verifier()), w: w, lock: lock}
	w.start(l.wake)
	return l, nil
}

// Close writes what is queued, signs a last head, closes the file and releases
// the log. It returns an error if queued entries could not be written. Readers
// under way end with audit.ErrClosed.
func (l *Log) Close() error {
	if !l.shut() {
		return nil
	}
	// Readers first: the last connection to close takes the WAL in, and only
	// the writer's may.
	return errors.Join(l.finish(), l.w.close(), l.lock.release())
}

// Append implements audit.Log.
func (l *Log) Append(ctx context.Context, e audit.Entry) (audit.ID, error) {
	if err := ctx.Err(); err != nil {
		return 0, context.Cause(ctx)
	}
	if e.Kind == audit.Retention {
		return 0, fmt.Errorf("%w: kind: %q is for the log itself", audit.ErrInvalid, e.Kind)
	}
	if err := e.Validate(); err != nil {
		return 0, err
	}
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	return l.w.append(ctx, e)
}

// Checkpoint implements audit.Reader: it signs the present head.
func (l *Log) Checkpoint(ctx context.Context) (audit.Checkpoint, error) {
	var c audit.Checkpoint
	err := l.w.do(ctx, func() (err error) {
		c, err = l.w.sign(time.Now())
		return err
	})
	if err != nil {
		return audit.Checkpoint{}, err
	}
	return c, nil
}

// SetMaxBytes changes the bound of the database file, see Options.MaxBytes. A
// bound below the present size keeps the file from growing.
func (l *Log) SetMaxBytes(ctx context.Context, n int64) error {
	if n < 0 {
		return fmt.Errorf("%w: max bytes: %d is negative", audit.ErrInvalid, n)
	}
	return l.w.do(ctx, func() error { return l.w.limit(n) })
}

// A ReadOnly is a log that was opened for reading.
type ReadOnly struct {
	*reader
}

// OpenReadOnly opens the log in dir for reading, also while another process
// writes it. It changes nothing in the database, and needs no key.
func OpenReadOnly(ctx context.Context, dir string) (*ReadOnly, error) {
	r, err := openReadOnly(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("open audit log for reading: %w", mapError(err))
	}
	return r, nil
}

func openReadOnly(ctx context.Context, dir string) (*ReadOnly, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := checkDir(dir); err != nil {
		return nil, err
	}
	if err := checkFiles(dir); err != nil {
		return nil, err
	}
	db, err := openPool(dir)
	if err != nil {
		return nil, err
	}
	verifier, err := readMeta(ctx, db)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	r := &ReadOnly{newReader(db, verifier)}
	r.poll = pollEvery
	return r, nil
}

// Close implements audit.Reader.
func (r *ReadOnly) Close() error {
	if !r.shut() {
		return nil
	}
	return r.finish()
}

// Checkpoint implements audit.Reader: it returns the newest head that the
// writer signed.
func (r *ReadOnly) Checkpoint(ctx context.Context) (audit.Checkpoint, error) {
	return r.newestHead(ctx)
}

// dsn names the database file. A path may hold characters that mean something
// in a URI, so it is escaped.
func dsn(dir, query string) string {
	path := filepath.ToSlash(filepath.Join(dir, dbFile))
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a Windows drive
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: query}
	return u.String()
}

// openPool opens connections for reading. Each sees one snapshot per
// statement, and never holds up the writer.
func openPool(dir string) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn(dir, "mode=ro&_pragma=busy_timeout(5000)&_pragma=query_only(1)"))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(4)
	return db, nil
}

var useFdatasync = sync.OnceFunc(func() {
	// A WAL commit needs its data and the file's size, not its times. Where the
	// call is not available SQLite goes on with fsync.
	_, _ = sqlite.Fdatasync(true)
})

// mapError adds the condition that callers test for to an error of the driver.
func mapError(err error) error {
	var e *sqlite.Error
	if !errors.As(err, &e) {
		return err
	}
	switch code := e.Code(); {
	case code&0xff == sqlite3.SQLITE_FULL, code == sqlite3.SQLITE_IOERR_SHMSIZE:
		return fmt.Errorf("%w: %w", audit.ErrFull, err)
	case code&0xff == sqlite3.SQLITE_CORRUPT, code&0xff == sqlite3.SQLITE_NOTADB,
		code == sqlite3.SQLITE_IOERR_SHORT_READ:
		return fmt.Errorf("%w: %w", audit.ErrCorrupt, err)
	}
	return err
}
