package sqlite

import (
	"errors"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/holdpoint/holdpoint/audit"
)

const insertEntry = `INSERT INTO entry (` + entryColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

// commit writes entries in one transaction, with a new head if it is time for
// one. On error nothing was written.
func (w *writer) commit(work []*request) ([]audit.ID, error) {
	ids := make([]audit.ID, len(work))
	now := time.Now()
	due := !now.Before(w.nextSign)
	err := w.update(due, now, func(tree *audit.Tree) error {
		for i, r := range work {
			var err error
			if ids[i], err = w.insert(tree, &r.entry); err != nil {
				return err
			}
		}
		return nil
	})
	return ids, err
}

// update runs one transaction that may grow the tree, and signs its head in the
// same transaction if sign is set. A head is on stable storage before anybody
// can read it: it may be kept elsewhere, and must not outlive its entries.
func (w *writer) update(sign bool, now time.Time, grow func(*audit.Tree) error) error {
	tree, head := w.tree, w.head
	lift := sign && w.sync == audit.Batch
	if lift {
		if err := w.flush(true); err != nil {
			return err
		}
	}
	first := tlog.StoredHashCount(tree.Size())
	w.grown = w.grown[:0]
	err := w.c.transact(func() error {
		if err := grow(&tree); err != nil {
			return err
		}
		if err := w.addNodes(first); err != nil {
			return err
		}
		if !sign || (head.Note != "" && tree.Size() == head.Size) {
			return nil
		}
		var err error
		if head, err = w.key.Sign(&tree, now); err != nil {
			return err
		}
		return w.c.exec("INSERT OR REPLACE INTO head (bucket, size, note) VALUES (?, ?, ?)",
			head.Size/headBucket, head.Size, head.Note)
	})
	if lift {
		err = errors.Join(err, w.flush(false))
	}
	if err != nil {
		return err
	}
	if sign {
		w.nextSign = now.Add(audit.SignEvery)
	}
	w.tree, w.head = tree, head
	return nil
}

// addNodes stores the nodes that the transaction adds, from the place first on: one
// statement for all, since each costs more than a row.
func (w *writer) addNodes(first int64) error {
	n := len(w.grown) / tlog.HashSize
	if n == 0 {
		return nil
	}
	return w.c.exec(`INSERT INTO node (id, hash)
		WITH RECURSIVE at (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM at WHERE i + 1 < ?)
		SELECT ? + i, substr(?, 32 * i + 1, 32) FROM at`, int64(n), first, w.grown)
}

// insert adds e to tree and to the table of entries, within a transaction; its nodes
// follow with [writer.addNodes].
func (w *writer) insert(tree *audit.Tree, e *audit.Entry) (audit.ID, error) {
	if e.Key != "" {
		id, found, err := w.c.number("SELECT id FROM entry WHERE key = ? AND key <> ''", e.Key)
		if err != nil || found {
			return audit.ID(id), err
		}
	}
	id := tree.Size()
	data := e.Data
	if data == nil {
		data = []byte{} // nil would be NULL
	}
	err := w.c.exec(insertEntry, id, e.Time.UnixNano(), int64(e.Version), string(e.Kind), e.Key,
		e.Session, e.Agent, e.Event, e.Tool, e.Operation, e.Decision,
		joinCodes(e.Rules), joinCodes(e.Hazards), joinCodes(e.Flags), data)
	if err != nil {
		return 0, err
	}
	w.leaf = e.AppendLeaf(w.leaf[:0])
	w.nodes = tree.Append(audit.LeafHash(w.leaf), w.nodes[:0])
	for i := range w.nodes {
		w.grown = append(w.grown, w.nodes[i][:]...)
	}
	return audit.ID(id), nil
}

// sign returns a signed head of the present tree, which is on stable storage.
func (w *writer) sign(now time.Time) (audit.Checkpoint, error) {
	if w.head.Note == "" || w.head.Size != w.tree.Size() {
		if err := w.update(true, now, func(*audit.Tree) error { return nil }); err != nil {
			return audit.Checkpoint{}, err
		}
	}
	return w.head, nil
}

// signIfDue signs a head for entries that came too soon after the last one. A
// failure shows at the next append; here it only means to try again later.
func (w *writer) signIfDue() {
	now := time.Now()
	if w.tree.Size() == w.head.Size || now.Before(w.nextSign) {
		return
	}
	if _, err := w.sign(now); err != nil {
		w.nextSign = now.Add(audit.SignEvery)
	}
}
