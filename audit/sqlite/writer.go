package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/holdpoint/holdpoint/audit"
)

const (
	// maxGroup bounds one transaction: enough that the flush is cheap for each
	// entry, few enough that nobody waits long for the others.
	maxGroup = 512
	// maxQueueBytes bounds the entries that wait without anybody waiting for
	// them (audit.Batch). Past it Append waits.
	maxQueueBytes = 4 << 20
	// gather is how long an entry that nobody waits for lies in the queue for others
	// to join its transaction, which costs as much for many; whoever wants an answer
	// from us meanwhile has the processor. gatherBytes of them do not wait.
	gather      = 10 * time.Millisecond
	gatherBytes = 256 << 10
)

// A request is work for the writer: an entry, or a function to run between
// transactions.
type request struct {
	entry  audit.Entry
	run    func() error
	result chan result // nil when nobody waits; one slot, so an answer never blocks
}

type result struct {
	id  audit.ID
	err error
}

func (r *request) answer(id audit.ID, err error) {
	if r.result != nil {
		r.result <- result{id, err}
	}
}

// bytes is about what a queued entry holds in memory.
func (r *request) bytes() int { return 512 + len(r.entry.Data) }

// The writer owns the connection that writes. Everything below the queue
// belongs to its goroutine.
type writer struct {
	sync  audit.Sync
	key   *audit.Key
	group int // entries in one transaction

	mu      sync.Mutex
	queue   []*request
	queued  int  // bytes of entries in queue that nobody waits for
	failing bool // the last transaction failed
	closed  bool // no more requests
	kick    chan struct{}
	later   *time.Timer // kicks
	done    chan struct{}
	wake    func() // tells followers that there is more
	lastErr error  // of the last write on close

	c        *conn
	tree     audit.Tree
	leaf     []byte           // of the entry that is being inserted
	nodes    []audit.Hash     // that it adds
	grown    []byte           // all nodes that the transaction adds, one after another
	head     audit.Checkpoint // the newest stored head
	nextSign time.Time        // no head on our own account before
}

func openWriter(dir string, o Options) (_ *writer, err error) {
	useFdatasync()
	path := filepath.Join(dir, dbFile)
	if err := makeFile(path); err != nil {
		return nil, err
	}
	c, err := openConn(dsn(dir, "mode=rw"))
	if err != nil {
		return nil, err
	}
	w := &writer{
		sync: o.Sync, group: maxGroup,
		kick: make(chan struct{}, 1), done: make(chan struct{}),
		c: c,
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.abandon())
		}
	}()
	if err := w.prepare(dir); err != nil {
		return nil, err
	}
	if err := w.load(); err != nil {
		return nil, err
	}
	return w, w.limit(o.MaxBytes)
}

// prepare sets the connection up, and makes the tables of a new log.
func (w *writer) prepare(dir string) error {
	// auto_vacuum and the page size hold from the first table on, and cannot
	// be changed in WAL mode.
	for _, pragma := range []string{
		"busy_timeout = 5000", "auto_vacuum = INCREMENTAL", "journal_mode = WAL",
		"fullfsync = 1", "checkpoint_fullfsync = 1", "journal_size_limit = 8388608",
		"trusted_schema = 0", "cell_size_check = 1", "cache_size = -512", // kB; entries are added at the end
	} {
		if err := w.c.script("PRAGMA " + pragma); err != nil {
			return err
		}
	}
	if err := w.flush(w.sync == audit.Always); err != nil {
		return err
	}
	tables, err := w.c.mustNumber("SELECT count(*) FROM sqlite_schema")
	if err != nil {
		return err
	}
	if tables == 0 {
		return w.create(dir)
	}
	application, err := w.c.mustNumber("PRAGMA application_id")
	if err != nil {
		return err
	}
	version, err := w.c.mustNumber("PRAGMA user_version")
	if err != nil {
		return err
	}
	if err := checkVersion(application, version); err != nil {
		return err
	}
	var defined []string
	err = w.c.query(func(row []driver.Value) {
		text, _ := row[0].(string)
		defined = append(defined, text)
	}, definitions)
	if err != nil {
		return err
	}
	if err := checkDefinitions(defined); err != nil {
		return err
	}
	if w.key, err = loadKey(dir, false); err != nil {
		return err
	}
	verifier, err := w.c.text("SELECT value FROM meta WHERE name = 'verifier'")
	if err != nil {
		return err
	}
	if verifier != w.key.Verifier() {
		return fmt.Errorf("%w: %s is not the key that this log was begun with", audit.ErrKey, keyFile)
	}
	return nil
}

func (w *writer) create(dir string) (err error) {
	if w.key, err = loadKey(dir, true); err != nil {
		return err
	}
	err = w.c.transact(func() error {
		if err := w.c.script(schema); err != nil {
			return err
		}
		if err := w.c.exec("INSERT INTO meta (name, value) VALUES ('verifier', ?)", w.key.Verifier()); err != nil {
			return err
		}
		return w.c.script(fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, schemaVersion))
	})
	if err != nil {
		return err
	}
	return syncDir(dir)
}

// load reads the right edge of the tree, and compares what it reads with the
// newest signed head. It costs log2 of the size; Verify does the rest.
func (w *writer) load() error {
	last, _, err := w.c.number("SELECT max(id) FROM node")
	if err != nil {
		return err
	}
	count, err := w.c.mustNumber("SELECT ifnull(max(id) + 1, 0) FROM node")
	if err != nil {
		return err
	}
	size, ok := audit.TreeSize(count)
	if !ok {
		return fmt.Errorf("%w: the tree ends in the middle of an entry, at node %d", audit.ErrCorrupt, last)
	}
	if w.tree, err = audit.LoadTree(size, w); err != nil {
		return err
	}
	rows, err := w.c.mustNumber("SELECT ifnull(max(id) + 1, 0) FROM entry")
	if err != nil {
		return err
	}
	if rows != size {
		return fmt.Errorf("%w: the tree holds %d entries, the newest entry is %d", audit.ErrCorrupt, size, rows-1)
	}
	text, err := w.c.text("SELECT note FROM head ORDER BY bucket DESC LIMIT 1")
	if err != nil || text == "" {
		return err
	}
	head, err := audit.ParseCheckpoint(text, w.key.Verifier())
	if err != nil {
		return fmt.Errorf("%w: stored head: %w", audit.ErrCorrupt, err)
	}
	if head.Size > size {
		return fmt.Errorf("%w: it holds %d entries, its signed head %d", audit.ErrCorrupt, size, head.Size)
	}
	then, err := audit.LoadTree(head.Size, w)
	if err != nil {
		return err
	}
	if then.Root() != head.Root {
		return fmt.Errorf("%w: it does not give its signed head of size %d", audit.ErrCorrupt, head.Size)
	}
	w.head = head
	return nil
}

// ReadHashes reads tree nodes; the writer is a tlog.HashReader.
func (w *writer) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, 0, len(indexes))
	for _, at := range indexes {
		n := len(hashes)
		err := w.c.query(func(row []driver.Value) {
			if b, ok := row[0].([]byte); ok && len(b) == tlog.HashSize {
				hashes = append(hashes, tlog.Hash(b))
			}
		}, "SELECT hash FROM node WHERE id = ?", at)
		if err != nil {
			return nil, err
		}
		if len(hashes) != n+1 {
			return nil, fmt.Errorf("%w: tree node %d is missing", audit.ErrCorrupt, at)
		}
	}
	return hashes, nil
}

// flush says whether commits from now on wait for stable storage.
func (w *writer) flush(on bool) error {
	if on {
		return w.c.script("PRAGMA synchronous = FULL")
	}
	return w.c.script("PRAGMA synchronous = NORMAL")
}

// limit bounds the database file.
func (w *writer) limit(bytes int64) error {
	size, err := w.c.mustNumber("PRAGMA page_size")
	if err != nil {
		return err
	}
	pages := int64(0xfffffffe) // SQLite's own
	if bytes > 0 {
		pages = min(pages, max(1, bytes/size))
	}
	return w.c.script(fmt.Sprintf("PRAGMA max_page_count = %d", pages))
}

func (w *writer) start(wake func()) {
	w.wake = wake
	w.later = time.AfterFunc(time.Hour, w.signal)
	go w.run()
}

// append queues e, and waits for it unless the log's setting says otherwise.
func (w *writer) append(ctx context.Context, e audit.Entry) (audit.ID, error) {
	if w.sync == audit.Batch || ctx.Done() != nil {
		// The caller may be gone, and use its slices again, before they are
		// written.
		e = clone(e)
	}
	r := &request{entry: e}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return 0, audit.ErrClosed
	}
	if w.sync == audit.Always || w.failing || e.Key != "" || w.queued+r.bytes() > maxQueueBytes {
		r.result = make(chan result, 1)
	} else {
		w.queued += r.bytes()
	}
	urgent := r.result != nil || w.queued >= gatherBytes
	if !urgent && len(w.queue) == 0 {
		w.later.Reset(gather)
	}
	w.queue = append(w.queue, r)
	w.mu.Unlock()
	if urgent {
		w.signal()
	}
	if r.result == nil {
		return audit.Pending, nil
	}
	return r.wait(ctx)
}

func clone(e audit.Entry) audit.Entry {
	e.Rules = append([]string(nil), e.Rules...)
	e.Hazards = append([]string(nil), e.Hazards...)
	e.Flags = append([]string(nil), e.Flags...)
	e.Data = append([]byte(nil), e.Data...)
	return e
}

// do runs f on the writer's goroutine, after everything that was queued before,
// and not at all once ctx has ended: wait alone would report whichever of the
// two it saw first, and f would run for nobody. When do returns the cause of
// ctx, f may still be running, so what f writes is not the caller's to read.
func (w *writer) do(ctx context.Context, f func() error) error {
	run := func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return f()
	}
	r := &request{run: run, result: make(chan result, 1)}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return audit.ErrClosed
	}
	w.queue = append(w.queue, r)
	w.mu.Unlock()
	w.signal()
	_, err := r.wait(ctx)
	return err
}

func (r *request) wait(ctx context.Context) (audit.ID, error) {
	select {
	case res := <-r.result:
		return res.id, res.err
	case <-ctx.Done():
	}
	select {
	case res := <-r.result: // it was in time after all
		return res.id, res.err
	default:
		return 0, context.Cause(ctx)
	}
}

func (w *writer) signal() {
	select {
	case w.kick <- struct{}{}:
	default: // it is coming anyway
	}
}

// run is the writer's goroutine. It ends when close was called and the queue is
// empty.
func (w *writer) run() {
	defer close(w.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	defer w.later.Stop()
	for {
		timer.Reset(w.idle())
		select {
		case <-w.kick:
		case <-timer.C:
		}
		for w.step() {
		}
		w.signIfDue()
		if w.ending() {
			// Nothing is queued from here on, so this empties the queue.
			for w.step() {
			}
			w.lastErr = w.end()
			return
		}
	}
}

// idle is how long the writer may sleep when nobody calls.
func (w *writer) idle() time.Duration {
	w.mu.Lock()
	waiting := len(w.queue) > 0
	w.mu.Unlock()
	if waiting || w.tree.Size() != w.head.Size {
		return max(time.Until(w.nextSign), time.Millisecond)
	}
	return time.Hour
}

func (w *writer) ending() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// step does one piece of work and reports whether there may be more to do now.
func (w *writer) step() bool {
	w.mu.Lock()
	queue := w.queue
	if len(queue) == 0 {
		w.mu.Unlock()
		return false
	}
	n := 1
	if queue[0].run == nil {
		for n < len(queue) && n < w.group && queue[n].run == nil {
			n++
		}
	}
	work := queue[:n:n]
	w.queue = queue[n:]
	w.mu.Unlock()

	if r := work[0]; r.run != nil {
		r.answer(0, mapError(r.run()))
		return true
	}
	return w.write(work)
}

// write commits a group of entries and answers those who wait.
func (w *writer) write(work []*request) bool {
	ids, err := w.commit(work)
	err = mapError(err)

	w.mu.Lock()
	w.failing = err != nil
	var failed []*request
	more := true
	if err == nil {
		for _, r := range work {
			if r.result == nil {
				w.queued -= r.bytes()
			}
		}
	} else {
		failed, more = w.setAside(work)
	}
	w.mu.Unlock()

	for _, r := range failed {
		r.answer(0, err)
	}
	if err != nil {
		return more
	}
	for i, r := range work {
		r.answer(ids[i], nil)
	}
	w.wake()
	return true
}

// setAside sorts the queue after work could not be written. Entries that were
// accepted without anybody waiting are not given up: they stay at the end, and
// are tried again with the next entry, or when the clock says so. Those who
// wait are told, also the ones further back if entries before them stay, for
// they would only meet the same failure. Functions stay first in line: they may
// be what makes room.
func (w *writer) setAside(work []*request) (failed []*request, more bool) {
	var keep, rest []*request
	for _, r := range work {
		if r.result == nil {
			keep = append(keep, r)
		} else {
			failed = append(failed, r)
		}
	}
	if keep == nil {
		return failed, len(w.queue) > 0
	}
	for _, r := range w.queue {
		switch {
		case r.run != nil:
			rest = append(rest, r)
		case r.result == nil:
			keep = append(keep, r)
		default:
			failed = append(failed, r)
		}
	}
	w.queue = append(rest, keep...)
	w.nextSign = time.Now().Add(audit.SignEvery)
	return failed, len(rest) > 0
}

// close ends the writer after everything that was queued.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.signal()
	<-w.done
	return w.lastErr
}

// end is the last thing that the writer's goroutine does.
func (w *writer) end() error {
	var errs []error
	w.mu.Lock()
	lost := len(w.queue)
	w.mu.Unlock()
	if lost > 0 {
		errs = append(errs, fmt.Errorf("%d queued entries could not be written", lost))
	}
	if w.tree.Size() != w.head.Size {
		_, err := w.sign(time.Now())
		errs = append(errs, err)
	}
	// Leaves one file behind. A reader may be in the way; the next opening
	// takes the WAL in.
	_ = w.c.script("PRAGMA wal_checkpoint(TRUNCATE)")
	return mapError(errors.Join(append(errs, w.c.close())...))
}

// abandon closes a writer that was never started.
func (w *writer) abandon() error { return w.c.close() }
