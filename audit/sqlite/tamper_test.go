package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/sqlite"
)

// A scene is a closed log of 60 entries, with what a verifier kept elsewhere.
type scene struct {
	dir  string
	held []string // at 20 and 40 entries
	key  string
}

func newScene(t *testing.T) scene {
	t.Helper()
	dir := stateDir(t)
	log, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Sync: audit.Batch})
	if err != nil {
		t.Fatal(err)
	}
	s := scene{dir: dir, key: log.Verifier()}
	for i := range 60 {
		if i == 20 || i == 40 {
			c, err := log.Checkpoint(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			s.held = append(s.held, c.Note)
		}
		if _, err := log.Append(t.Context(), numbered(i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

func numbered(i int) audit.Entry {
	return audit.Entry{
		Version: 1, Kind: audit.Settlement, Time: time.Unix(1_700_000_000+int64(i), 0),
		Session: "s", Decision: "deny", Rules: []string{"r"}, Data: fmt.Appendf(nil, "entry %d", i),
	}
}

func (s scene) db(t *testing.T) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "audit.db"))
	if err != nil {
		t.Fatal(err)
	}
	return db
}

// edit runs statements on the file as somebody else would.
func (s scene) edit(t *testing.T, statements ...string) {
	t.Helper()
	db := s.db(t)
	for _, q := range statements {
		res, err := db.ExecContext(t.Context(), q)
		if err != nil {
			t.Fatalf("%s: %v", q, err)
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			t.Fatalf("%s: changed nothing (%v)", q, err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func (s scene) verify(t *testing.T, trust audit.Trust) audit.Report {
	t.Helper()
	log, err := sqlite.OpenReadOnly(t.Context(), s.dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := log.Verify(t.Context(), trust)
	if err := errors.Join(err, log.Close()); err != nil {
		t.Fatal(err)
	}
	return r
}

// rebuild computes the whole tree anew from the entries, as a forger would who
// knows how the log works, and signs it if he has the key.
func (s scene) rebuild(t *testing.T, sign bool) {
	t.Helper()
	log, err := sqlite.OpenReadOnly(t.Context(), s.dir)
	if err != nil {
		t.Fatal(err)
	}
	var tree audit.Tree
	var nodes []audit.Hash
	for r, err := range log.Query(t.Context(), audit.Filter{Limit: audit.MaxLimit}) {
		if err != nil {
			t.Fatal(err)
		}
		nodes = tree.Append(audit.LeafHash(r.Leaf()), nodes)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	db := s.db(t)
	run := func(q string, args ...any) {
		if _, err := db.ExecContext(t.Context(), q, args...); err != nil {
			t.Fatal(err)
		}
	}
	run("DELETE FROM node")
	for i, h := range nodes {
		run("INSERT INTO node (id, hash) VALUES (?, ?)", i, h[:])
	}
	run("DELETE FROM head")
	if sign {
		text, err := os.ReadFile(filepath.Join(s.dir, "audit.key"))
		if err != nil {
			t.Fatal(err)
		}
		key, err := audit.ParseKey(string(text))
		if err != nil {
			t.Fatal(err)
		}
		c, err := key.Sign(&tree, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		run("INSERT INTO head (bucket, size, note) VALUES (0, ?, ?)", c.Size, c.Note)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestUntouched(t *testing.T) {
	s := newScene(t)
	r := s.verify(t, audit.Trust{Checkpoints: s.held, Keys: []string{s.key}})
	if !r.OK() || r.Size != 60 || r.KnownTo != 40 || len(r.Checkpoints) != 2 {
		t.Errorf("got %+v", r)
	}
}

// A forger who edits the file and leaves the tree as it is is found at once,
// and his edit to the entry, also after the newest checkpoint.
func TestEdited(t *testing.T) {
	for _, tt := range []struct {
		name  string
		edits []string
		want  audit.Problem // Detail is not compared
	}{
		{"data", []string{"UPDATE entry SET data = CAST('entry x' AS BLOB) WHERE id = 7"}, audit.Problem{Kind: audit.Changed, From: 7, To: 8}},
		{"in the tail", []string{"UPDATE entry SET data = CAST('entry x' AS BLOB) WHERE id = 55"}, audit.Problem{Kind: audit.Changed, From: 55, To: 56}},
		{"time", []string{"UPDATE entry SET time = time + 1 WHERE id = 7"}, audit.Problem{Kind: audit.Changed, From: 7, To: 8}},
		{"version", []string{"UPDATE entry SET version = 2 WHERE id = 7"}, audit.Problem{Kind: audit.Changed, From: 7, To: 8}},
		{"kind", []string{"UPDATE entry SET kind = 'reload' WHERE id = 7"}, audit.Problem{Kind: audit.Changed, From: 7, To: 8}},
		{"key", []string{"UPDATE entry SET key = 'k' WHERE id = 7"}, audit.Problem{Kind: audit.Changed, From: 7, To: 8}},
		{"session", []string{"UPDATE entry SET session = 'other' WHERE id = 7"}, audit.Problem{Kind: audit.Changed, From: 7, To: 8}},
		{"agent", []string{"UPDATE entry SET agent = 'x' WHERE id = 7"}, audit.Problem{Kind: audit.Changed, From: 7, To: 8}},
		{"event", []string{"UPDATE entry SET event = 'x' WHERE id = 7"}, audit.Problem{Kind: audit.Changed, From: 7, To: 8}},
		{"tool", []string{"UPDATE entry SET tool = 'x' WHERE id = 7"}, audit.Problem{Kind: audit.Changed, From: 7, To: 8}},
		{"operation", []string{"UPDATE entry SET operation = 'x' WHERE id = 7"}, audit.Problem{Kind: audit.Changed, From: 7, To: 8}},
		{"decision", []string{"UPDATE entry SET decision = 'none' WHERE id = 7"}, audit.Problem{Kind: audit.Changed, From: 7, To: 8}},
		{"rules", []string{"UPDATE entry SET rules = '' WHERE id = 7"}, audit.Problem{Kind: audit.Changed, From: 7, To: 8}},
		{"rules, malformed", []string{"UPDATE entry SET rules = 'r' WHERE id = 7"}, audit.Problem{Kind: audit.Changed, From: 7, To: 8}},
		{"hazards", []string{"UPDATE entry SET hazards = char(10)||'h'||char(10) WHERE id = 7"}, audit.Problem{Kind: audit.Changed, From: 7, To: 8}},
		{"flags", []string{"UPDATE entry SET flags = char(10)||'f'||char(10) WHERE id = 7"}, audit.Problem{Kind: audit.Changed, From: 7, To: 8}},
		{"removed", []string{"DELETE FROM entry WHERE id = 7"}, audit.Problem{Kind: audit.Missing, From: 7, To: 8}},
		{"several removed", []string{"DELETE FROM entry WHERE id BETWEEN 7 AND 30"}, audit.Problem{Kind: audit.Missing, From: 7, To: 31}},
		{"the first removed", []string{"DELETE FROM entry WHERE id < 3"}, audit.Problem{Kind: audit.Missing, From: 0, To: 3}},
		{"swapped", []string{
			"UPDATE entry SET id = -1 WHERE id = 7", "UPDATE entry SET id = 7 WHERE id = 8", "UPDATE entry SET id = 8 WHERE id = -1",
		}, audit.Problem{Kind: audit.Changed, From: 7, To: 9}},
		{
			"inserted at the end",
			[]string{"INSERT INTO entry SELECT 60, time, version, kind, key, session, agent, event, tool, operation, decision, rules, hazards, flags, data FROM entry WHERE id = 7"},
			audit.Problem{Kind: audit.Inserted, From: 60, To: 61},
		},
		{
			"inserted before the start",
			[]string{"INSERT INTO entry SELECT -5, time, version, kind, key, session, agent, event, tool, operation, decision, rules, hazards, flags, data FROM entry WHERE id = 7"},
			audit.Problem{Kind: audit.Inserted, From: -5, To: -4},
		},
		{"a leaf hash", []string{"UPDATE node SET hash = zeroblob(32) WHERE id = " + node(0, 7)}, audit.Problem{Kind: audit.Changed, From: 7, To: 8}},
		{"a leaf hash removed", []string{"DELETE FROM node WHERE id = " + node(0, 7)}, audit.Problem{Kind: audit.BadNode, From: 7, To: 8}},
		{"an inner node", []string{"UPDATE node SET hash = zeroblob(32) WHERE id = " + node(2, 1)}, audit.Problem{Kind: audit.BadNode, From: 4, To: 8}},
		{"a short node", []string{"UPDATE node SET hash = zeroblob(31) WHERE id = " + node(2, 1)}, audit.Problem{Kind: audit.BadNode, From: 4, To: 8}},
		{"a node at the end", []string{"INSERT INTO node (id, hash) VALUES (100000, zeroblob(32))"}, audit.Problem{Kind: audit.BadNode, From: 60, To: -1}},
		{"a stored head", []string{"UPDATE head SET note = replace(note, char(10)||'60'||char(10), char(10)||'61'||char(10))"}, audit.Problem{Kind: audit.BadHead, From: 0, To: 60}},
		{"cut off", []string{
			"DELETE FROM entry WHERE id >= 30", "DELETE FROM node WHERE id >= " + fmt.Sprint(tlog.StoredHashCount(30)), "DELETE FROM head",
		}, audit.Problem{Kind: audit.Lost, From: 30, To: 40}},
		{"emptied", []string{"DELETE FROM entry", "DELETE FROM node", "DELETE FROM head"}, audit.Problem{Kind: audit.Lost, From: 0, To: 20}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			s.edit(t, tt.edits...)
			r := s.verify(t, audit.Trust{Checkpoints: s.held})
			if !slices.ContainsFunc(r.Problems, func(p audit.Problem) bool {
				return p.Kind == tt.want.Kind && p.From == tt.want.From && (p.To == tt.want.To || tt.want.To == -1)
			}) {
				t.Errorf("got %v, want %v", r.Problems, tt.want)
			}
		})
	}
}

func node(level int, n int64) string { return fmt.Sprint(tlog.StoredHashIndex(level, n)) }

// A forger who computes the tree anew, and even signs it with the log's own
// key, is found by the checkpoints that were kept elsewhere, and the change lies
// between the last that fits and the first that does not.
func TestForged(t *testing.T) {
	for _, tt := range []struct {
		name     string
		edit     string
		from, to audit.ID
		knownTo  audit.ID
	}{
		{"before the first checkpoint", "UPDATE entry SET decision = 'none' WHERE id = 7", 0, 20, 0},
		{"between two checkpoints", "UPDATE entry SET decision = 'none' WHERE id = 27", 20, 40, 20},
		{"removed and closed up", "DELETE FROM entry WHERE id = 59", -1, -1, 40},
		{"in the tail, which nobody can know", "UPDATE entry SET decision = 'none' WHERE id = 47", -1, -1, 40},
	} {
		for _, sign := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, signed %t", tt.name, sign), func(t *testing.T) {
				s := newScene(t)
				s.edit(t, tt.edit)
				s.rebuild(t, sign)
				r := s.verify(t, audit.Trust{Checkpoints: s.held})
				if r.KnownTo != tt.knownTo {
					t.Errorf("known to %d, want %d", r.KnownTo, tt.knownTo)
				}
				found := slices.ContainsFunc(r.Problems, func(p audit.Problem) bool {
					return p.Kind == audit.Forked && p.From == tt.from && p.To == tt.to
				})
				if found != (tt.from >= 0) {
					t.Errorf("got %v", r.Problems)
				}
			})
		}
	}
}

// A log that was begun anew with another key under the old name.
func TestAnotherKey(t *testing.T) {
	s := newScene(t)
	key, err := audit.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(s.dir, "audit.key"), []byte(key.Secret()), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Dir: s.dir, Sync: audit.Always}); !errors.Is(err, audit.ErrKey) {
		t.Errorf("open: %v", err)
	}
	// With the stated key changed too, opening has nothing to compare with but
	// the stored head; the verifier has.
	s.edit(t, "UPDATE meta SET value = '"+key.Verifier()+"' WHERE name = 'verifier'")
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Dir: s.dir, Sync: audit.Always}); !errors.Is(err, audit.ErrCorrupt) {
		t.Errorf("open: %v", err)
	}
	s.rebuild(t, true)
	for name, trust := range map[string]audit.Trust{
		"held checkpoint": {Checkpoints: s.held},
		"held key":        {Keys: []string{s.key}},
	} {
		r := s.verify(t, trust)
		if !slices.ContainsFunc(r.Problems, func(p audit.Problem) bool { return p.Kind == audit.Untrusted }) {
			t.Errorf("%s: got %v", name, r.Problems)
		}
		if r.KnownTo != 0 {
			t.Errorf("%s: known to %d", name, r.KnownTo)
		}
	}
}

func TestKeyMissing(t *testing.T) {
	s := newScene(t)
	if err := os.Remove(filepath.Join(s.dir, "audit.key")); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Dir: s.dir, Sync: audit.Always}); !errors.Is(err, audit.ErrKey) {
		t.Errorf("open: %v", err)
	}
	if r := s.verify(t, audit.Trust{Checkpoints: s.held}); !r.OK() {
		t.Errorf("reading needs no key: %v", r.Problems)
	}
}

// An old copy of the files is whole in itself; only a newer checkpoint tells.
func TestRolledBack(t *testing.T) {
	dir := stateDir(t)
	path := filepath.Join(dir, "audit.db")
	var old []byte
	for round := range 2 {
		log := open(t, dir)
		for i := range 30 {
			if _, err := log.Append(t.Context(), numbered(round*30+i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			var err error
			if old, err = os.ReadFile(path); err != nil {
				t.Fatal(err)
			}
		}
	}
	s := scene{dir: dir}
	log, err := sqlite.OpenReadOnly(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	newest, err := log.Checkpoint(t.Context())
	if err := errors.Join(err, log.Close()); err != nil || newest.Size != 60 {
		t.Fatalf("%+v, %v", newest, err)
	}
	if err := os.WriteFile(path, old, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := s.verify(t, audit.Trust{}); !r.OK() || r.KnownTo != 0 {
		t.Errorf("nothing held: %+v", r)
	}
	r := s.verify(t, audit.Trust{Checkpoints: []string{newest.Note}})
	if len(r.Problems) != 1 || r.Problems[0].Kind != audit.Lost || r.Problems[0].From != 30 || r.Problems[0].To != 60 {
		t.Errorf("got %v", r.Problems)
	}
}

// A file that was cut off at any page is refused, or found damaged.
func TestTruncated(t *testing.T) {
	s := newScene(t)
	path := filepath.Join(s.dir, "audit.db")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for size := len(whole) - 1; size > 0; size -= 4096 {
		if err := os.WriteFile(path, whole[:size], 0o600); err != nil {
			t.Fatal(err)
		}
		log, err := sqlite.OpenReadOnly(t.Context(), s.dir)
		if err != nil {
			if !errors.Is(err, audit.ErrCorrupt) {
				t.Errorf("%d of %d bytes: open: %v", size, len(whole), err)
			}
			continue
		}
		r, err := log.Verify(t.Context(), audit.Trust{Checkpoints: s.held})
		if err == nil && r.OK() || err != nil && !errors.Is(err, audit.ErrCorrupt) {
			t.Errorf("%d of %d bytes: verify: %v, %v", size, len(whole), r.Problems, err)
		}
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Opening for writing compares the right edge of the tree with the signed head:
// a log is not continued upon damage.
func TestOpenDamaged(t *testing.T) {
	last := fmt.Sprint(tlog.StoredHashCount(60) - 1)
	for _, edit := range [][]string{
		{"DELETE FROM node WHERE id = " + last},
		{"UPDATE node SET hash = zeroblob(32) WHERE id = " + last},
		{"DELETE FROM entry WHERE id = 59"},
		{"DELETE FROM entry WHERE id >= 50", "DELETE FROM node WHERE id >= " + fmt.Sprint(tlog.StoredHashCount(50))},
		{"UPDATE head SET note = 'x'"},
		{"DELETE FROM node", "DELETE FROM entry"},
	} {
		s := newScene(t)
		s.edit(t, edit...)
		log, err := sqlite.Open(t.Context(), sqlite.Options{Dir: s.dir, Sync: audit.Always})
		if !errors.Is(err, audit.ErrCorrupt) {
			t.Errorf("%v: got %v", edit, err)
		}
		if err == nil {
			_ = log.Close()
		}
	}
}

// Whoever changes how the tables work can hide rows from queries, or lose new
// ones.
func TestSchemaChanged(t *testing.T) {
	for _, tt := range []struct {
		name, edit string
		opens      bool // opening looks at the definitions only
	}{
		{"an index that covers less", "UPDATE sqlite_schema SET sql = replace(sql, 'session <> ''''', 'session <> ''s''') WHERE name = 'entry_session'", false},
		{"an index of other columns", "UPDATE sqlite_schema SET rootpage = (SELECT sum(rootpage) FROM sqlite_schema WHERE name IN ('entry_session', 'entry_time')) - rootpage WHERE name IN ('entry_session', 'entry_time')", true},
		{"a trigger", "CREATE TRIGGER drop_it BEFORE INSERT ON entry BEGIN SELECT RAISE(IGNORE); END", false},
		{"another table", "CREATE TABLE other (a)", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t)
			db := s.db(t)
			db.SetMaxOpenConns(1)
			for _, q := range []string{"PRAGMA writable_schema = ON", tt.edit, "PRAGMA writable_schema = OFF"} {
				if _, err := db.ExecContext(t.Context(), q); err != nil {
					t.Fatal(err)
				}
			}
			if err := db.Close(); err != nil {
				t.Fatal(err)
			}
			r := s.verify(t, audit.Trust{Checkpoints: s.held})
			if !slices.ContainsFunc(r.Problems, func(p audit.Problem) bool { return p.Kind == audit.BadStore }) {
				t.Errorf("got %v", r.Problems)
			}
			log, err := sqlite.Open(t.Context(), sqlite.Options{Dir: s.dir, Sync: audit.Always})
			if err == nil {
				err = log.Close()
			}
			if !tt.opens && !errors.Is(err, audit.ErrCorrupt) {
				t.Errorf("open: %v", err)
			}
		})
	}
}

// Pruned entries may be missing because an entry of the log says so; a false
// one that says more is worth what its place is worth.
func TestPrunedProof(t *testing.T) {
	dir := stateDir(t)
	log := open(t, dir)
	for i := range 40 {
		if _, err := log.Append(t.Context(), numbered(i)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := log.Retain(t.Context(), audit.Policy{Before: numbered(10).Time}); err != nil {
		t.Fatal(err)
	}
	c, err := log.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	s := scene{dir: dir}
	s.edit(t, "DELETE FROM entry WHERE id = 10")
	r := s.verify(t, audit.Trust{Checkpoints: []string{c.Note}})
	if len(r.Problems) != 1 || r.Problems[0].Kind != audit.Missing || r.Problems[0].From != 10 || r.PrunedTo != 10 || r.PrunedBy >= r.KnownTo {
		t.Errorf("got %+v", r)
	}
	s.edit(t, `UPDATE entry SET data = CAST('{"to":11,"reason":"age"}' AS BLOB) WHERE kind = 'retention'`)
	r = s.verify(t, audit.Trust{Checkpoints: []string{c.Note}})
	if len(r.Problems) < 2 || r.PrunedBy != -1 {
		t.Errorf("a false entry was believed: %+v", r)
	}
}
