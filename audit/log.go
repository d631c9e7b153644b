package audit

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"
)

// Conditions that callers test for with errors.Is. Every log returns these and
// no driver's own.
var (
	// ErrInvalid reports an entry or a filter outside the limits.
	ErrInvalid = errors.New("invalid audit entry")
	// ErrFull reports that there was no room: a full disk or the log's own
	// size limit. The log stays open, and works again once there is room.
	ErrFull = errors.New("audit log is full")
	// ErrClosed reports a log that was closed.
	ErrClosed = errors.New("audit log is closed")
	// ErrCorrupt reports a store that cannot be read or that contradicts its
	// own signed head.
	ErrCorrupt = errors.New("audit log is damaged")
	// ErrReadOnly reports a write to a log that was opened for reading.
	ErrReadOnly = errors.New("audit log is open for reading only")
	// ErrNewer reports a store that was made by a newer version.
	ErrNewer = errors.New("audit log was made by a newer version")
	// ErrKey reports a signing key that is missing or not this log's.
	ErrKey = errors.New("audit signing key")
	// ErrNoCheckpoint reports a log that has not signed a head yet.
	ErrNoCheckpoint = errors.New("audit log has no checkpoint yet")
)

// A LockedError reports a log that another process writes.
type LockedError struct {
	PID int // of the other process; 0 when it is not known
}

// Error names the other process.
func (e *LockedError) Error() string {
	if e.PID == 0 {
		return "audit log is in use by another process"
	}
	return fmt.Sprintf("audit log is in use by process %d", e.PID)
}

// Sync says when an append is done. It has no default.
type Sync string

const (
	// Always means that Append returns when the entry is on stable storage.
	// Appends that wait at the same time share one flush.
	Always Sync = "always"
	// Batch means that Append returns [Pending] when the entry is queued; a
	// flush follows at most a second later. A process that is killed can lose
	// what is queued, a machine that loses power about the last second. While
	// the last write failed, or the queue is full, or the entry has a Key,
	// Append waits for the write and returns its result, so that a log that
	// cannot write says so.
	Batch Sync = "batch"
)

// SignEvery is the least time between two tree heads that a log signs on its
// own account. A request for a checkpoint and the end of the log sign at once.
const SignEvery = time.Second

// A Reader looks into a log. All methods may be called concurrently.
type Reader interface {
	// Query yields the records that f selects, in order of ID, or from the
	// newest on if f.Newest. It ends after f.Limit records. An error is yielded
	// once, last. The consumer may take its time: no lock is held meanwhile.
	Query(ctx context.Context, f Filter) iter.Seq2[Record, error]

	// Follow yields the records that f selects, in order of ID, and then each
	// new one, until ctx ends, the log is closed or f.Limit (if not zero) is
	// reached. The end of ctx is not an error. A filter with Newest or To is
	// refused.
	Follow(ctx context.Context, f Filter) iter.Seq2[Record, error]

	// Checkpoint returns the head of the tree, signed. A log that is open for
	// writing signs its present head, once every entry in it is on stable
	// storage. A log that is open for reading returns the newest head that was
	// signed, which is about a second old at most while its writer runs, or
	// [ErrNoCheckpoint].
	Checkpoint(ctx context.Context) (Checkpoint, error)

	// Verify checks the whole log against itself and against what the caller
	// trusts. What is wrong with the log is in the report; an error means that
	// it could not be checked.
	Verify(ctx context.Context, trust Trust) (Report, error)

	// Verifier returns the public key that the log states, as text (a note
	// verifier key). It may be given to anyone; keep it beside a checkpoint.
	Verifier() string

	// Stat returns figures for operators.
	Stat(ctx context.Context) (Stat, error)

	// Close waits for calls under way. Later calls return [ErrClosed].
	Close() error
}

// A Log is an append-only log of entries. All methods may be called
// concurrently.
type Log interface {
	Reader

	// Append adds e and returns its place. When that is depends on the log's
	// [Sync]. If ctx ends first, Append returns its cause, and the entry may or
	// may not be written: give it a context that the caller's caller cannot
	// cancel. Errors: [ErrInvalid], [ErrFull], [ErrClosed], [ErrCorrupt], and
	// others from the store; after any but the end of ctx the entry was not
	// written. The slices of e are the caller's again when Append returns.
	Append(ctx context.Context, e Entry) (ID, error)

	// Retain prunes the oldest entries as p says. Their leaf hashes stay, so
	// that checkpoints can still be verified, and an entry of kind [Retention]
	// says what was pruned. The newest of those entries is never pruned.
	Retain(ctx context.Context, p Policy) (Pruned, error)
}

// A Policy says which entries may go. The zero Policy keeps everything.
type Policy struct {
	// Before is the time before which entries may go. Pruning stops at the
	// first entry that is not older, so a clock that was wrong for a while
	// delays it and never prunes too much.
	Before time.Time
	// MaxBytes prunes until the store is at most this large. Leaf hashes stay
	// (about 100 bytes an entry), so a small limit may not be reached.
	MaxBytes int64
}

// Pruned says what [Log.Retain] did.
type Pruned struct {
	Entries int64 // number of entries that went
	To      ID    // every entry before To is pruned
	Bytes   int64 // size of the store afterwards
}

// Stat holds figures about a log.
type Stat struct {
	Size   int64 // entries ever appended; the next ID
	Kept   ID    // the first entry that was not pruned
	Bytes  int64 // of the store, free pages not counted
	Signed int64 // size of the newest signed head
}

// Limits of a [Filter].
const (
	DefaultLimit = 100
	MaxLimit     = 10_000
)

// A Filter selects records. Zero fields select everything.
type Filter struct {
	From, To  ID        // From <= ID < To; a zero To is no bound
	Since     time.Time // Since <= Time
	Until     time.Time // Time < Until
	Kinds     []Kind    // any of them
	Session   string
	Agent     string
	Event     string
	Tool      string
	Operation string
	Decision  string
	Rule      string // among Rules
	Hazard    string // among Hazards
	Flag      string // among Flags
	Limit     int    // 0 means DefaultLimit for Query, no limit for Follow
	Newest    bool   // newest first
}

// Fit brings the texts of f into the form that [Entry.Fit] gives to columns, so
// that a value that was cut can be found by its whole.
func (f Filter) Fit() Filter {
	for _, s := range []*string{&f.Session, &f.Agent, &f.Event, &f.Tool, &f.Operation, &f.Decision} {
		*s = fitText(*s, MaxColumnBytes)
	}
	for _, s := range []*string{&f.Rule, &f.Hazard, &f.Flag} {
		*s = fitText(*s, MaxCodeBytes)
	}
	return f
}

// Validate reports everything that is wrong with f, or nil. The error wraps
// [ErrInvalid].
func (f *Filter) Validate() error {
	var errs []error
	if f.From < 0 || f.To < 0 {
		errs = append(errs, errors.New("from, to: negative"))
	}
	if f.Limit < 0 || f.Limit > MaxLimit {
		errs = append(errs, fmt.Errorf("limit: %d is not within 0 to %d", f.Limit, MaxLimit))
	}
	if len(f.Kinds) > MaxCodes {
		errs = append(errs, fmt.Errorf("kinds: %d, at most %d", len(f.Kinds), MaxCodes))
	}
	for _, c := range []struct {
		name, text string
		limit      int
	}{
		{"session", f.Session, MaxColumnBytes},
		{"agent", f.Agent, MaxColumnBytes},
		{"event", f.Event, MaxColumnBytes},
		{"tool", f.Tool, MaxColumnBytes},
		{"operation", f.Operation, MaxColumnBytes},
		{"decision", f.Decision, MaxColumnBytes},
		{"rule", f.Rule, MaxCodeBytes},
		{"hazard", f.Hazard, MaxCodeBytes},
		{"flag", f.Flag, MaxCodeBytes},
	} {
		if err := checkText(c.text, c.limit); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.name, err))
		}
	}
	if errs == nil {
		return nil
	}
	return fmt.Errorf("%w: filter: %w", ErrInvalid, errors.Join(errs...))
}

// ValidateFollow is [Filter.Validate] with the rules of Follow.
func (f *Filter) ValidateFollow() error {
	if err := f.Validate(); err != nil {
		return err
	}
	if f.Newest || f.To != 0 {
		return fmt.Errorf("%w: filter: newest and to cannot be followed", ErrInvalid)
	}
	return nil
}

// Match reports whether f selects r. Limit and Newest play no part.
func (f *Filter) Match(r *Record) bool {
	eq := func(want, got string) bool { return want == "" || want == got }
	in := func(want string, got []string) bool { return want == "" || slices.Contains(got, want) }
	return r.ID >= f.From && (f.To == 0 || r.ID < f.To) &&
		(f.Since.IsZero() || !r.Time.Before(f.Since)) &&
		(f.Until.IsZero() || r.Time.Before(f.Until)) &&
		(len(f.Kinds) == 0 || slices.Contains(f.Kinds, r.Kind)) &&
		eq(f.Session, r.Session) && eq(f.Agent, r.Agent) && eq(f.Event, r.Event) &&
		eq(f.Tool, r.Tool) && eq(f.Operation, r.Operation) && eq(f.Decision, r.Decision) &&
		in(f.Rule, r.Rules) && in(f.Hazard, r.Hazards) && in(f.Flag, r.Flags)
}
