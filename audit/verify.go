package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// Trust is what a verifier holds from elsewhere.
type Trust struct {
	// Checkpoints are notes that were kept outside the log.
	Checkpoints []string
	// Keys are verifier keys of the log. None means the key that the log
	// itself states, which a forger could have changed; a checkpoint from
	// elsewhere finds that out.
	Keys []string
}

// A ProblemKind says what is wrong with a part of a log.
type ProblemKind string

// The kinds of problems.
const (
	Changed   ProblemKind = "changed"     // an entry is not what was appended
	Missing   ProblemKind = "missing"     // an entry is gone and was not pruned
	Inserted  ProblemKind = "inserted"    // there is an entry that was never appended
	Lost      ProblemKind = "lost"        // the log ends before a checkpoint: cut off or rolled back
	Forked    ProblemKind = "forked"      // the entries do not give a checkpoint's root hash
	BadNode   ProblemKind = "bad-node"    // a stored tree node is wrong or missing
	BadHead   ProblemKind = "bad-head"    // a head that the log stored is not validly signed
	Untrusted ProblemKind = "untrusted"   // a held checkpoint or key is not this log's
	BadStore  ProblemKind = "bad-store"   // the store reports damage of its own
	BadPrune  ProblemKind = "bad-pruning" // an entry about pruning cannot be right
)

// A Problem is one finding. The entries in question are From <= ID < To; when a
// checkpoint does not fit, the change is somewhere in that range.
type Problem struct {
	Kind     ProblemKind
	From, To ID
	Detail   string // for people; holds no contents
}

// String returns one line.
func (p Problem) String() string {
	return fmt.Sprintf("%s: entries %d to %d: %s", p.Kind, p.From, max(p.From, p.To-1), p.Detail)
}

// MaxProblems bounds the findings in a [Report].
const MaxProblems = 100

// A Report is the result of Verify.
type Report struct {
	Size int64 // entries in the log

	// KnownTo is the size of the newest held checkpoint that fits. Apart from
	// Problems, every entry before it is the one that was there when that
	// checkpoint was made. From KnownTo on nobody can know: those entries are
	// consistent among themselves, and that is all.
	KnownTo ID

	// PrunedTo says that retention removed the entries before it (some may
	// still be there). PrunedBy is the entry that says so, -1 when there is
	// none. Unless PrunedBy is before KnownTo, a forger could have written it.
	PrunedTo ID
	PrunedBy ID

	Checkpoints []Checkpoint // the held ones that fit, by size
	Problems    []Problem    // at most MaxProblems, in order of From
	More        bool         // there were more problems
}

// OK reports whether nothing was found wrong.
func (r *Report) OK() bool { return len(r.Problems) == 0 }

// A Source is one unchanging snapshot of a stored log, as [Check] reads it.
// Drivers implement it; users of a log do not need it.
type Source interface {
	// Size is the number of leaves in the tree.
	Size() int64
	// Rows returns the stored entries with from <= ID < to, in order. A row
	// that cannot be read has Err.
	Rows(ctx context.Context, from, to ID) ([]Row, error)
	// Nodes returns the stored tree nodes with from <= index < to, in order.
	Nodes(ctx context.Context, from, to int64) ([]Node, error)
	// Strays returns IDs of stored entries that are outside the tree, at most
	// limit.
	Strays(ctx context.Context, limit int) ([]ID, error)
	// Heads returns the signed heads that the log stored, at most one for
	// every thousand entries or so.
	Heads(ctx context.Context) ([]string, error)
	// Verifier is the public key that the log states.
	Verifier() string
}

// A Row is one stored entry.
type Row struct {
	Record
	Err error
}

// A Node is one stored hash of the tree, numbered as tlog.StoredHashIndex does.
type Node struct {
	Index int64
	Hash  Hash
}

// checkChunk is how many entries Check reads at a time: enough to make queries
// cheap, few enough to hold them all at the size limit.
const checkChunk = 256

// Check verifies a snapshot. It recomputes every leaf from its entry and every
// node from the leaves, in one pass in constant memory, and compares the root
// at the size of each checkpoint; since all those roots come from one sequence
// of leaves, checkpoints that fit are consistent with each other.
func Check(ctx context.Context, s Source, trust Trust) (Report, error) {
	c := checker{source: s, report: Report{Size: s.Size(), PrunedBy: -1}}
	if err := c.collect(ctx, trust); err != nil {
		return Report{}, err
	}
	for from := ID(0); from < ID(s.Size()); from += checkChunk {
		if err := ctx.Err(); err != nil {
			return Report{}, context.Cause(ctx)
		}
		if err := c.chunk(ctx, from, min(from+checkChunk, ID(s.Size()))); err != nil {
			return Report{}, err
		}
	}
	if err := c.finish(ctx); err != nil {
		return Report{}, err
	}
	return c.report, nil
}

type checker struct {
	source  Source
	report  Report
	tree    Tree
	marks   []mark // by size
	next    int    // the first mark not compared yet
	fits    ID     // size of the newest mark that fits
	gaps    []gap  // entries without a row, before we know what was pruned
	scratch []Hash
}

type mark struct {
	Checkpoint
	held bool
}

type gap struct{ from, to ID }

func (c *checker) problem(kind ProblemKind, from, to ID, format string, args ...any) {
	p := Problem{kind, from, to, fmt.Sprintf(format, args...)}
	// A run of neighbours with the same fault is one finding.
	if n := len(c.report.Problems); n > 0 {
		if last := &c.report.Problems[n-1]; last.Kind == kind && last.To == from && last.Detail == p.Detail {
			last.To = to
			return
		}
	}
	if len(c.report.Problems) >= MaxProblems {
		c.report.More = true
		return
	}
	c.report.Problems = append(c.report.Problems, p)
}

// collect reads what the log and the verifier say about roots.
func (c *checker) collect(ctx context.Context, trust Trust) error {
	size := ID(c.source.Size())
	keys := trust.Keys
	if len(keys) == 0 {
		keys = []string{c.source.Verifier()}
	} else if !slices.Contains(keys, c.source.Verifier()) {
		c.problem(Untrusted, 0, size, "the log states a key that is not among the trusted ones")
	}
	for i, text := range trust.Checkpoints {
		cp, err := ParseCheckpoint(text, keys...)
		if err != nil {
			c.problem(Untrusted, 0, size, "held checkpoint %d: %v", i+1, err)
			continue
		}
		c.marks = append(c.marks, mark{cp, true})
	}
	heads, err := c.source.Heads(ctx)
	if err != nil {
		return err
	}
	for _, text := range heads {
		cp, err := ParseCheckpoint(text, keys...)
		if err != nil {
			c.problem(BadHead, 0, size, "stored head: %v", err)
			continue
		}
		c.marks = append(c.marks, mark{cp, false})
	}
	slices.SortStableFunc(c.marks, func(a, b mark) int {
		return int(min(1, max(-1, a.Size-b.Size)))
	})
	c.compare() // those of the empty tree
	return nil
}

// chunk checks the entries from <= ID < to, and the nodes that they completed.
func (c *checker) chunk(ctx context.Context, from, to ID) error {
	rows, err := c.source.Rows(ctx, from, to)
	if err != nil {
		return err
	}
	nodes, err := c.source.Nodes(ctx, tlog.StoredHashCount(int64(from)), tlog.StoredHashCount(int64(to)))
	if err != nil {
		return err
	}
	for id := from; id < to; id++ {
		first := tlog.StoredHashCount(int64(id))
		stored := map[int64]Hash{}
		for len(nodes) > 0 && nodes[0].Index < tlog.StoredHashCount(int64(id)+1) {
			stored[nodes[0].Index] = nodes[0].Hash
			nodes = nodes[1:]
		}
		leaf, haveLeaf := stored[first]
		if len(rows) > 0 && rows[0].ID == id {
			leaf = c.row(&rows[0], leaf, haveLeaf)
			rows = rows[1:]
		} else {
			c.gap(id)
		}
		if !haveLeaf {
			c.problem(BadNode, id, id+1, "the leaf hash is missing")
		}
		c.scratch = c.tree.Append(leaf, c.scratch[:0])
		for i, want := range c.scratch[1:] {
			if got, ok := stored[first+1+int64(i)]; !ok || got != want {
				level := i + 1
				c.problem(BadNode, (id+1)>>level<<level-1<<level, id+1, "a node of level %d is wrong or missing", level)
			}
		}
		c.compare()
	}
	return nil
}

// row checks one entry and returns the leaf hash to go on with: the stored one,
// as long as there is one, so that a single changed entry does not put every
// later root in doubt.
func (c *checker) row(r *Row, stored Hash, haveLeaf bool) Hash {
	if r.Err != nil {
		c.problem(Changed, r.ID, r.ID+1, "the entry cannot be read")
		return stored
	}
	leaf := LeafHash(r.Leaf())
	if haveLeaf && leaf != stored {
		c.problem(Changed, r.ID, r.ID+1, "the entry does not give its leaf hash")
		return stored
	}
	if r.Kind == Retention {
		c.pruning(r)
	}
	return leaf
}

// pruning notes what an entry of kind Retention says.
func (c *checker) pruning(r *Row) {
	to, err := parsePruning(r.Data)
	if err != nil || to > r.ID || to < c.report.PrunedTo {
		c.problem(BadPrune, r.ID, r.ID+1, "the entry about pruning cannot be right")
		return
	}
	c.report.PrunedTo, c.report.PrunedBy = to, r.ID
}

func (c *checker) gap(id ID) {
	if n := len(c.gaps); n > 0 && (c.gaps[n-1].to == id || n > MaxProblems) {
		c.gaps[n-1].to = id + 1
		return
	}
	c.gaps = append(c.gaps, gap{id, id + 1})
}

// compare compares the roots of the checkpoints at the tree's present size.
func (c *checker) compare() {
	var root Hash
	for first := true; c.next < len(c.marks) && c.marks[c.next].Size == c.tree.Size(); c.next++ {
		if first {
			root, first = c.tree.Root(), false
		}
		m := c.marks[c.next]
		switch {
		case m.Root != root:
			c.problem(Forked, c.fits, ID(m.Size), "they do not give the root hash of the %s of size %d", m.name(), m.Size)
			continue
		case m.held:
			c.report.KnownTo = ID(m.Size)
			c.report.Checkpoints = append(c.report.Checkpoints, m.Checkpoint)
		}
		c.fits = ID(m.Size)
	}
}

func (m *mark) name() string {
	if m.held {
		return "held checkpoint"
	}
	return "stored head"
}

func (c *checker) finish(ctx context.Context) error {
	size := ID(c.source.Size())
	for _, m := range c.marks[c.next:] {
		c.problem(Lost, size, ID(m.Size), "the log ends before the %s of size %d", m.name(), m.Size)
	}
	for _, g := range c.gaps {
		if from := max(g.from, c.report.PrunedTo); from < g.to {
			c.problem(Missing, from, g.to, "there is no entry, and it was not pruned")
		}
	}
	strays, err := c.source.Strays(ctx, MaxProblems)
	if err != nil {
		return err
	}
	for _, id := range strays {
		c.problem(Inserted, id, id+1, "the entry has no place in the tree")
	}
	slices.SortStableFunc(c.report.Problems, func(a, b Problem) int {
		return int(min(1, max(-1, a.From-b.From)))
	})
	return nil
}

// pruning is the data of an entry of kind Retention, version 1.
type pruning struct {
	To     ID     `json:"to"`
	Reason string `json:"reason"` // "age", "size" or both
}

// PruningEntry returns the entry that a driver appends, in the transaction
// that starts the pruning, before entries with ID < to go.
func PruningEntry(to ID, reason string) Entry {
	data, err := json.Marshal(pruning{to, reason})
	if err != nil {
		panic("audit: " + err.Error()) // a number and a string always encode
	}
	return Entry{Version: 1, Kind: Retention, Data: data}
}

func parsePruning(data []byte) (ID, error) {
	var p pruning
	if err := json.Unmarshal(data, &p); err != nil || p.To < 0 {
		return 0, errors.New("malformed")
	}
	return p.To, nil
}
