package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
)

// OverlayFile is where a project keeps its overlay, below the workspace root.
const OverlayFile = ".holdpoint/policy.yaml"

// The bounds on overlays. They come from repositories: none may make decisions
// slow, or the failure policy would decide instead.
const (
	// MaxOverlays bounds the workspace roots of one event whose overlays are heard.
	MaxOverlays = 4
	// maxOverlaysKept bounds the overlays that stay in memory.
	maxOverlaysKept = 64
)

// overlayTime bounds all that the overlays of one event take. Tests have more, or a
// machine that stands still for a moment would leave overlays out.
var overlayTime = 500 * time.Millisecond

// The reasons for which an overlay is left out. They are shown and recorded.
var (
	errOverlayDisk   = errors.New("the file could not be read in time, or is no regular file in the workspace")
	errOverlayBroken = errors.New("it has problems; holdpoint lint " + OverlayFile + " shows them")
	errOverlayTime   = errors.New("it took too long")
	errOverlayRule   = errors.New("a rule of it could not be evaluated")
	errOverlayMany   = errors.New("the session has more workspace roots than overlays are heard")
)

// An OverlayReport says what became of the overlay of one project when it was read.
type OverlayReport struct {
	Root   string // the workspace root
	Digest string // of the policy with the overlay; "" when it was left out
	Rules  int    // of the overlay and of the policy
	Err    error  // why it was left out: problems of the file, with places and lines of it
}

// overlays are the overlays of projects over one policy in force.
type overlays struct {
	set    *policy.Set
	report func(OverlayReport)

	mu     sync.Mutex
	byRoot map[string]*overlay
}

// overlay is one file as it was read.
type overlay struct {
	id   fileID
	done chan struct{} // closed when the rest is set
	set  *policy.Set
	err  error // one of those above
}

func newOverlays(set *policy.Set, report func(OverlayReport)) *overlays {
	return &overlays{set: set, report: report, byRoot: map[string]*overlay{}}
}

// of returns the policy with the overlay of a root: nil and no error when it has
// none.
func (o *overlays) of(ctx context.Context, root string) (*policy.Set, error) {
	file, err := readOverlay(ctx, root, o.known(root))
	if err != nil {
		return nil, err
	}
	if !file.there {
		return nil, nil
	}
	o.mu.Lock()
	e := o.byRoot[root]
	if e != nil && (file.data == nil || e.id == file.id) {
		o.mu.Unlock()
		select {
		case <-e.done:
			return e.set, e.err
		case <-ctx.Done():
			return nil, errOverlayTime
		}
	}
	if file.data == nil { // forgotten meanwhile
		o.mu.Unlock()
		return nil, errOverlayDisk
	}
	if len(o.byRoot) >= maxOverlaysKept {
		clear(o.byRoot)
	}
	e = &overlay{id: file.id, done: make(chan struct{})}
	o.byRoot[root] = e
	o.mu.Unlock()

	rep := OverlayReport{Root: root}
	e.set, rep.Err = o.join(file.data)
	if rep.Err != nil {
		e.err = errOverlayBroken
	} else {
		rep.Digest, rep.Rules = e.set.Digest(), len(e.set.Rules())
	}
	close(e.done)
	if o.report != nil {
		o.report(rep)
	}
	return e.set, e.err
}

// join adds the text of an overlay to the policy. Whatever a repository writes, its
// worst is to be left out.
func (o *overlays) join(data []byte) (set *policy.Set, err error) {
	defer func() {
		if recover() != nil {
			set, err = nil, errOverlayPanic
		}
	}()
	return o.set.WithOverlay(OverlayFile, data)
}

// errOverlayPanic is in the log only.
var errOverlayPanic = errors.New("the overlay could not be read for a fault of this program")

// known returns the identity of the file that was read for a root.
func (o *overlays) known(root string) fileID {
	o.mu.Lock()
	defer o.mu.Unlock()
	if e := o.byRoot[root]; e != nil {
		return e.id
	}
	return fileID{}
}

// fileID is one state of a file.
type fileID struct {
	dev, ino uint64
	size     int64
	modified time.Time
	changed  int64 // ns since 1970; 0 where the system does not say
	once     uint64
}

// fileClock is more than the step of any file system's clock. A file that was
// written within it may be written again without a trace in its times, so that its
// identity is of no use yet.
const fileClock = 2 * time.Second

var onceMore atomic.Uint64

// overlayData is a look at the file of an overlay.
type overlayData struct {
	there bool
	id    fileID
	data  []byte // nil when the identity is the known one
}

// readOverlay looks at the file of a root. The file must lie in the root, whatever
// links say, and be a regular one: a pipe would hold whoever opens it. Like each
// look at a disk that may be dead it has a goroutine, of which [maxStuck] may hang.
func readOverlay(ctx context.Context, root string, known fileID) (overlayData, error) {
	type result struct {
		overlayData
		err error
	}
	limit := time.NewTimer(diskLimit)
	defer limit.Stop()
	select {
	case looks <- struct{}{}:
	case <-limit.C:
		return overlayData{}, errOverlayDisk
	case <-ctx.Done():
		return overlayData{}, errOverlayTime
	}
	done := make(chan result, 1)
	go func() { // ends with the look; at most maxStuck are under way
		defer func() { <-looks }()
		d, err := openOverlay(root, known)
		done <- result{d, err}
	}()
	var r result
	var late error
	select {
	case r = <-done:
	case <-limit.C:
		late = errOverlayDisk
	case <-ctx.Done():
		late = errOverlayTime
	}
	if late != nil {
		select {
		case r = <-done: // both at once: what was read counts
		default:
			return overlayData{}, late
		}
	}
	if r.err != nil {
		return overlayData{}, errOverlayDisk
	}
	return r.overlayData, nil
}

func openOverlay(root string, known fileID) (d overlayData, err error) {
	if !filepath.IsAbs(root) {
		return d, nil
	}
	dir, err := os.OpenRoot(root)
	if errors.Is(err, os.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	defer func() { _ = dir.Close() }() // it was only read from
	f, err := dir.OpenFile(filepath.FromSlash(OverlayFile), os.O_RDONLY|openNonblock, 0)
	if errors.Is(err, os.ErrNotExist) {
		return d, nil
	}
	if err != nil {
		return d, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return d, err
	}
	if !st.Mode().IsRegular() {
		return d, errOverlayDisk
	}
	d.there = true
	if d.id, err = identify(f, st); err != nil {
		return d, err
	}
	if time.Since(d.id.modified) < fileClock {
		d.id.once = onceMore.Add(1)
	}
	if d.id == known {
		return d, nil
	}
	d.data, err = io.ReadAll(io.LimitReader(f, policy.MaxOverlayBytes+1))
	if err == nil && d.data == nil {
		d.data = []byte{}
	}
	return d, err
}

// tighten lets the overlays of the event's workspace roots be heard on top of what
// the policy itself says: the stricter counts. What goes wrong with one leaves it
// out and leaves a flag, so that no repository opens the gate or locks it.
func (now *inForce) tighten(ctx context.Context, ev *ahp.Event, o facts.Options, dec policy.Decision, f *facts.Facts, failed error) (policy.Decision, error) {
	if now.overlays == nil || f == nil {
		return dec, failed
	}
	if failed == nil && dec.Denied() {
		return dec, nil
	}
	limit := overlayTime
	if at, ok := ctx.Deadline(); ok {
		// The policy's answer is there; no overlay may make it come too late.
		limit = min(limit, time.Until(at)/4)
	}
	short, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for i, root := range f.Session.Roots {
		if i == MaxOverlays {
			if failed == nil {
				dec = dec.WithoutOverlay(errOverlayMany.Error())
			}
			break
		}
		set, err := now.overlays.of(short, root)
		var with policy.Decision
		switch {
		case err != nil:
		case set == nil:
			continue
		default:
			if with, err = now.hear(short, set, ev, o, dec, f, failed); err != nil {
				err = errOverlayRule
				if short.Err() != nil {
					err = errOverlayTime
				}
			}
		}
		switch {
		case err == nil && failed == nil:
			dec = dec.Stricter(with)
		case err == nil && with.Denied():
			// A rule that fails does not undo what another one refuses.
			return policy.Decision{Effect: policy.EffectNone, Digest: now.set.Digest()}.Stricter(with), nil
		case failed == nil:
			dec = dec.WithoutOverlay(err.Error())
		}
		if failed == nil && dec.Denied() {
			break
		}
	}
	return dec, failed
}

// hear decides by the policy with an overlay.
func (now *inForce) hear(ctx context.Context, set *policy.Set, ev *ahp.Event, o facts.Options, dec policy.Decision, f *facts.Facts, failed error) (_ policy.Decision, err error) {
	defer func() {
		if recover() != nil { // what the policy said stays
			err = errOverlayRule
		}
	}()
	if failed == nil && len(dec.Changes) == 0 && now.set.SameFacts(set) {
		with, err := set.Decide(ctx, f)
		if !errors.Is(err, policy.ErrRewritten) {
			return with, err
		}
	}
	if set.NeedsSecrets() {
		o.Secrets = now.secrets
	}
	with, _, err := set.Judge(ctx, ev, o)
	return with, err
}

// overlayRead writes down what became of an overlay. What the file says is not
// logged: it comes from a repository, and may be anything.
func (g *Gateway) overlayRead(r OverlayReport) {
	if r.Err == nil {
		g.log.LogAttrs(context.Background(), slog.LevelInfo, "project overlay heard",
			slog.String("root", r.Root), slog.String("digest", r.Digest), slog.Int("rules", r.Rules))
		return
	}
	attrs := []slog.Attr{slog.String("root", r.Root), slog.Int("problems", countProblems(r.Err))}
	if p, ok := errors.AsType[*policy.Problem](r.Err); ok {
		attrs = append(attrs, slog.Int("line", p.Line), slog.Int("column", p.Column))
	}
	g.log.LogAttrs(context.Background(), slog.LevelWarn, "project overlay left out", attrs...)
}

// OverlayRules explains the rules of the overlays that are heard for ev, with the
// facts as each overlay sees them; f are those of the policy alone. Not nil when
// any overlay was looked for and found, also when it was left out.
func (d *Decider) OverlayRules(ctx context.Context, ev *ahp.Event, at At, f *facts.Facts) []policy.ExplainedRule {
	now := d.set.Load()
	if now.overlays == nil || at.Elsewhere {
		return nil
	}
	var out []policy.ExplainedRule
	leftOut := policy.ExplainedRule{
		Rule: policy.RuleOverlay, Effect: policy.EffectFlag, Origin: policy.Origin{Layer: policy.LayerProject, File: OverlayFile}, Outcome: policy.OutcomeFlagged,
	}
	for i, root := range f.Session.Roots {
		if i == MaxOverlays { // of those behind it none is looked for, as in tighten
			out = append(out, leftOut)
			break
		}
		set, err := now.overlays.of(ctx, root)
		if err != nil {
			out = append(out, leftOut)
			continue
		}
		if set == nil {
			continue
		}
		seen := f
		if !now.set.SameFacts(set) {
			o := now.optionsAt(at)
			o.Programs, o.Secrets = set.Programs(), now.secrets
			if g, err := facts.Extract(ctx, ev, o); err == nil {
				seen = g
			}
		}
		e, _ := set.Explain(ctx, seen) // each rule has its own outcome
		for _, r := range e.Rules {
			if r.Origin.Layer == policy.LayerProject {
				out = append(out, r)
			}
		}
	}
	return out
}

// String names the file of the report.
func (r OverlayReport) String() string {
	name := filepath.Join(r.Root, filepath.FromSlash(OverlayFile))
	if r.Err != nil {
		return fmt.Sprintf("%s: left out: %v", name, r.Err)
	}
	return fmt.Sprintf("%s: heard, %s", name, r.Digest)
}
