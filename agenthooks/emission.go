package agenthooks

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// An Emission is the outcome of asking at one point.
type Emission struct {
	Record   *Record
	Proceeds bool // the action may proceed; in evaluate_only always true

	context *Context
	labels  Labels
}

// Context returns the context after composition, with transforms applied. It
// is nil when the action may not proceed: what was denied must not live on
// (AH-6.1-1). It is also nil where evaluate_only proceeds although no context
// could be made of the event (AH-8-5): go on with what the event was made of.
func (e *Emission) Context() *Context { return e.context }

// Target returns the value to proceed with, nil where [Emission.Context] is.
func (e *Emission) Target() jsontext.Value {
	if e.context == nil {
		return nil
	}
	return e.context.Target()
}

// DecodeTarget decodes the value to proceed with into v. It fails where
// [Emission.Context] is nil.
func (e *Emission) DecodeTarget(v any) error {
	if e.context == nil {
		return &BlockedError{Record: e.Record}
	}
	return e.context.DecodeTarget(v)
}

// Labels returns what the verdicts say about the data, by namespace. It is nil
// when the action may not proceed (AH-5.4-2).
func (e *Emission) Labels() Labels { return e.labels }

// A BlockedError says that the action must not proceed. Its text names the
// point and the reason and nothing of the payload.
type BlockedError struct {
	Record *Record
	Cause  error // a [*ContextError], the cause of a cancellation, or nil
}

// Error names the point and the reason.
func (e *BlockedError) Error() string {
	return fmt.Sprintf("%s blocked: %s", e.Record.Point, e.Reason())
}

// Reason is the reason of the combined verdict, "denied" where it gave none.
func (e *BlockedError) Reason() string {
	if e.Record.Verdict.Reason == "" {
		return "denied"
	}
	return e.Record.Verdict.Reason
}

// Unwrap returns Cause.
func (e *BlockedError) Unwrap() error { return e.Cause }

// facts are the fields of a record that are known before, or without, a
// context.
type facts struct {
	point     Point
	mode      Mode
	sessionID string
	sequence  int64
	timestamp string
	trace     *Trace
}

// run is one emission under way (AH 15).
type run struct {
	h    *Host
	ctx  context.Context
	mode Mode

	first   *Context // as emitted
	live    *Context // with the transforms so far
	applied bool     // live is no longer first

	combined   Verdict
	decidedBy  int // -1 for none
	summaries  []VerdictSummary
	truncated  int // -1 unsaid, 0 no, 1 yes
	resolvedBy Resolved
	inputID    *string
	enforcedID *string

	union    union
	evidence *Evidence // first of an allow
	labels   Labels
	cause    error // why the emission was rejected or cancelled
	stopped  bool  // the caller gave up
}

// emit is E1 to E9 for a context that was built or refused before. veto, if
// not nil, looks at a permitted context last and may still deny it with a
// reserved reason.
func (h *Host) emit(ctx context.Context, f facts, c *Context, refused *ContextError, veto func(*Context) string) (*Emission, error) {
	r := &run{h: h, ctx: ctx, mode: f.mode, first: c, live: c, decidedBy: -1, truncated: -1}
	if refused == nil && c.env != nil {
		refused = c.env
	}
	if refused == nil {
		r.inputID, refused = h.identify(c)
	}
	switch {
	case refused != nil:
		if c != nil {
			c.dropMemo()
		}
		r.deny(ReasonContextInvalid, refused.Error())
		r.cause = refused
	case len(h.regs) == 0:
		r.deny(ReasonNoInterceptor, "")
		r.enforcedID = r.inputID
	default:
		r.summaries = make([]VerdictSummary, 0, len(h.regs))
		if h.o.Composition.Profile.sequential() {
			r.sequential()
		} else {
			r.parallel()
		}
		r.finish(veto)
	}
	return r.close(f)
}

// identify returns nil without a provider.
func (h *Host) identify(c *Context) (*string, *ContextError) {
	if h.o.Identity.none {
		c.dropMemo()
		return nil, nil
	}
	id, err := h.o.Identity.identify(c, unbounded)
	if err != nil {
		return nil, err
	}
	return &id, nil
}

// deny sets a deny that the host makes and no interceptor decided.
func (r *run) deny(reason, message string) {
	r.combined = hostDeny(reason, message)
	r.decidedBy = -1
}

// finish computes the identity after composition and rejects what a transform
// made invalid (AH-10.3-5).
func (r *run) finish(veto func(*Context) string) {
	r.union.onto(&r.combined)
	var err *ContextError
	if !r.applied {
		r.enforcedID = r.inputID
	} else if err = r.live.verify(r.h.bounds); err == nil {
		r.enforcedID, err = r.h.identify(r.live)
	}
	switch {
	case !r.combined.permit():
	case err != nil:
		r.deny(ReasonContextInvalid, err.Error())
		r.union.onto(&r.combined)
		r.cause = err
	case veto != nil:
		if reason := veto(r.live); reason != "" {
			r.deny(reason, "")
			r.union.onto(&r.combined)
		}
	}
}

// close builds and delivers the record and says whether the action proceeds
// (AH-8-5).
func (r *run) close(f facts) (*Emission, error) {
	rec := &Record{
		Point: f.point, Mode: f.mode, Verdict: r.combined.project(), InputIdentity: r.inputID, EnforcedIdentity: r.enforcedID,
		IdentityProvider: r.h.identity, SessionID: f.sessionID, Sequence: f.sequence, Timestamp: f.timestamp, Trace: f.trace,
		Composition: r.h.o.Composition, Verdicts: r.summaries, ResolvedBy: r.resolvedBy, InterceptorsRegistered: len(r.h.regs),
	}
	if rec.Verdicts == nil {
		rec.Verdicts = []VerdictSummary{}
	}
	if r.decidedBy >= 0 {
		by := r.decidedBy
		rec.DecidedBy = &by
	}
	if r.truncated >= 0 {
		t := r.truncated > 0
		rec.FoldTruncated = &t
	}
	r.h.deliver(rec)
	out := &Emission{Record: rec, Proceeds: !r.stopped && (f.mode == EvaluateOnly || r.combined.permit())}
	if !out.Proceeds {
		return out, &BlockedError{Record: rec, Cause: r.cause}
	}
	out.context = r.first
	if f.mode == Enforce {
		out.context = r.live
	}
	if r.combined.permit() {
		out.labels = r.labels
	}
	return out, nil
}

// union collects warnings and labels over all that was returned (AH-7.3-2).
type union struct {
	warnings []Warning
	labels   []string
	seenW    map[Warning]struct{}
	seenL    map[string]struct{}
}

func (u *union) add(v *Verdict) {
	for _, w := range v.Warnings {
		if _, dup := u.seenW[w]; dup {
			continue
		}
		if u.seenW == nil {
			u.seenW = map[Warning]struct{}{}
		}
		u.seenW[w] = struct{}{}
		u.warnings = append(u.warnings, w)
	}
	if !v.permit() {
		return
	}
	for _, l := range v.ResultLabels {
		if _, dup := u.seenL[l]; dup {
			continue
		}
		if u.seenL == nil {
			u.seenL = map[string]struct{}{}
		}
		u.seenL[l] = struct{}{}
		u.labels = append(u.labels, l)
	}
}

// onto puts the unions on the combined verdict, also on one of the host's;
// a deny carries no labels (AH-7.3-3).
func (u *union) onto(v *Verdict) {
	v.Warnings, v.ResultLabels = u.warnings, nil
	if v.permit() {
		v.ResultLabels = u.labels
	}
}
