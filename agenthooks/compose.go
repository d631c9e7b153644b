package agenthooks

import (
	"context"
)

// start begins the call of slot i on c. Nothing is copied: c cannot change.
func (r *run) start(i int, c *Context) *call[Verdict] {
	reg := &r.h.regs[i]
	return begin(&r.h.calls, r.ctx, reg.timeout, &reg.abandoned, func(ctx context.Context, into *Verdict) (err error) {
		*into, err = reg.Interceptor.Intercept(ctx, c)
		return err
	})
}

// collect waits for slot i and turns what came into a verdict: a good one, or
// the deny that takes the slot of a failure (AH 6.3). It notes the verdict for
// the record and the unions.
func (r *run) collect(i int, k *call[Verdict]) Verdict {
	a := k.wait()
	var v Verdict
	switch a.how {
	case endAnswered:
		v, _ = a.value.gate(true)
	case endTimeout:
		v = hostDeny(ReasonInterceptorTimeout, "timeout")
	case endCancelled:
		r.cancelled()
		v = hostDeny(ReasonInterceptorFailed, "cancelled")
	default:
		v = hostDeny(ReasonInterceptorFailed, a.what)
	}
	r.summaries = append(r.summaries, VerdictSummary{Index: i, Decision: v.Decision, Reason: v.Reason, Name: r.h.regs[i].Name})
	r.returned(&v, i)
	return v
}

// returned takes a verdict into the unions; slot -1 is nobody's.
func (r *run) returned(v *Verdict, slot int) {
	r.union.add(v)
	if v.Decision == DecisionAllow && r.evidence == nil {
		r.evidence = v.Evidence
	}
	if !v.permit() || len(v.ResultLabels) == 0 {
		return
	}
	if slot >= 0 {
		r.labels = r.labels.add(r.h.regs[slot].Namespace, v.ResultLabels)
		return
	}
	// An answer to a deny of the host's own: no namespace is nearer than
	// another, and losing a label would be worse than repeating it.
	for i := range r.h.regs {
		r.labels = r.labels.add(r.h.regs[i].Namespace, v.ResultLabels)
	}
}

func (r *run) cancelled() {
	r.stopped = true
	r.cause = context.Cause(r.ctx)
}

// end settles the emission.
func (r *run) end(v Verdict, by int) {
	r.combined = v
	r.decidedBy = by
}

// endAllow is a combination of allows: bare, with the first evidence
// (AH-7.3-4).
func (r *run) endAllow(by int) {
	r.end(Verdict{Decision: DecisionAllow, Evidence: r.evidence}, by)
}

// apply applies a transform to the live context; in evaluate_only it only
// checks it against the untransformed one (AH 7.4, fold rule).
func (r *run) apply(v *Verdict) *PathError {
	if r.mode == EvaluateOnly {
		_, err := r.first.resolve(v.Transform.path)
		return err
	}
	next, err := r.live.apply(v.Transform.path, v.Transform.Value)
	if err == nil {
		r.live, r.applied = next, true
	}
	return err
}

// applyResolution applies an approved transform. Its path was not parsed by
// the gate; a bad one is an application failure too (AH-9-8).
func (r *run) applyResolution(v *Verdict) *PathError {
	if v.Decision != DecisionTransform {
		return nil
	}
	if !r.live.spec.transformable { // before parsing (AH-5.2-8)
		_, err := r.live.resolve(nil)
		return err
	}
	p, err := parsePath(v.Transform.Path)
	if err != nil {
		return err
	}
	v.Transform.path = p
	return r.apply(v)
}

// sequential is both fold profiles (AH 7.4).
func (r *run) sequential() {
	firstDeny := r.h.o.Composition.Profile == FirstDeny
	resume := r.h.o.Composition.OnApproval == Resume
	n := len(r.h.regs)
	var verdicts []Verdict
	if !firstDeny {
		verdicts = make([]Verdict, 0, n)
	}
	var last Verdict // the last transform that counts, under first_deny
	lastBy, lifted := -1, -1
	r.truncated = 0
	for i := range n {
		if i == n-1 {
			r.truncated = 0
		} else {
			r.truncated = 1
		}
		var v Verdict
		if r.ctx.Err() != nil {
			r.cancelled()
			v = hostDeny(ReasonInterceptorFailed, "cancelled")
			r.truncated = 1 // this slot was never called
		} else {
			v = r.collect(i, r.start(i, r.live))
		}
		if r.stopped {
			r.end(v, i)
			return
		}
		if v.Decision == DecisionTransform {
			if err := r.apply(&v); err != nil { // F4, R3
				s := &r.summaries[len(r.summaries)-1]
				s.Decision, s.Reason = DecisionDeny, err.Reason // O16
				r.end(hostDeny(err.Reason, err.Rule), -1)
				return
			}
			last, lastBy = v, i
		}
		if !firstDeny {
			verdicts = append(verdicts, v)
			continue
		}
		if v.Decision != DecisionDeny { // F2, F3
			continue
		}
		if !r.consultable(&v) { // F1, F5
			r.end(v, i)
			return
		}
		answer, ok := r.consult(&v, i)
		if !ok || r.stopped { // F6
			r.end(answer, i)
			return
		}
		if err := r.applyResolution(&answer); err != nil { // F9
			r.end(hostDeny(err.Reason, err.Rule), -1)
			return
		}
		if !resume { // F7, F8
			r.end(answer, i)
			return
		}
		lifted = i
		if answer.Decision == DecisionTransform {
			last, lastBy = answer, i
		}
	}
	r.truncated = 0
	switch {
	case !firstDeny:
		r.aggregate(verdicts)
	case lastBy >= 0: // F10
		r.end(last, lastBy)
	default:
		r.endAllow(lifted) // AH-7.4-3
	}
}

// aggregate is R4 to R7.
func (r *run) aggregate(verdicts []Verdict) {
	switch win, severity := winner(verdicts); severity {
	case severityAllow:
		r.endAllow(-1)
	case severityTransform: // the last one wins in a fold
		for i := range verdicts {
			if verdicts[i].Decision == DecisionTransform {
				win = i
			}
		}
		r.end(verdicts[win], win)
	case severityLiftable:
		r.settleLiftable(verdicts[win], win)
	default:
		r.end(verdicts[win], win)
	}
}

// winner returns the lowest index of the highest severity (AH-7.3-1).
func winner(verdicts []Verdict) (index, severity int) {
	severity = -1
	for i := range verdicts {
		if s := verdicts[i].severity(); s > severity {
			index, severity = i, s
		}
	}
	return index, severity
}

// settleLiftable consults about a liftable deny where that is due, and ends the
// emission with what comes of it. by is -1 for a deny that the host made.
func (r *run) settleLiftable(v Verdict, by int) {
	if !r.consultable(&v) {
		r.end(v, by)
		return
	}
	answer, ok := r.consult(&v, by)
	if ok && !r.stopped {
		if err := r.applyResolution(&answer); err != nil {
			r.end(hostDeny(err.Reason, err.Rule), -1)
			return
		}
	}
	r.end(answer, by)
}

// parallel is both snapshot profiles (AH 7.5). The calls really run side by
// side; the slots are read in order, so that it does not show (AH-7.2-2).
func (r *run) parallel() {
	n := len(r.h.regs)
	if r.ctx.Err() != nil {
		r.cancelled()
		r.end(hostDeny(ReasonInterceptorFailed, "cancelled"), 0)
		return
	}
	calls := make([]*call[Verdict], n)
	for i := range n {
		calls[i] = r.start(i, r.first)
	}
	verdicts := make([]Verdict, n)
	inFlight := -1
	for i := range n {
		before := r.stopped
		verdicts[i] = r.collect(i, calls[i])
		if r.stopped && !before {
			inFlight = i
		}
	}
	if r.stopped {
		r.end(verdicts[inFlight], inFlight)
		return
	}
	if r.h.o.Composition.Profile == Unanimous {
		for i := range verdicts {
			if verdicts[i].Decision != DecisionAllow { // U2
				r.made(ReasonCompositionDisagreement, r.h.o.Composition.OnDisagreement)
				return
			}
		}
		r.endAllow(-1) // U1
		return
	}
	switch win, severity := winner(verdicts); severity {
	case severityAllow: // S5
		r.endAllow(-1)
	case severityTransform:
		count := 0
		for i := range verdicts {
			if verdicts[i].Decision == DecisionTransform {
				count++
			}
		}
		if count > 1 { // S4
			r.made(ReasonTransformConflict, r.h.o.Composition.OnTransformConflict)
			return
		}
		v := verdicts[win]
		if err := r.apply(&v); err != nil { // S3
			s := &r.summaries[win]
			s.Decision, s.Reason = DecisionDeny, err.Reason
			r.end(hostDeny(err.Reason, err.Rule), -1)
			return
		}
		r.end(v, win)
	case severityLiftable: // S2
		r.settleLiftable(verdicts[win], win)
	default: // S1
		r.end(verdicts[win], win)
	}
}

// made is a deny of the host's own about how the slots relate.
func (r *run) made(reason string, knob Knob) {
	v := hostDeny(reason, "")
	if knob != Consult {
		r.end(v, -1)
		return
	}
	v.Approval = []byte("{}")
	r.settleLiftable(v, -1)
}

// consultable is AH-9-1.
func (r *run) consultable(v *Verdict) bool {
	return v.Liftable() && r.mode == Enforce && r.first.spec.point != AgentShutdown && r.h.o.Resolver != nil
}

// consult asks the resolver about v, which slot by returned (AH 9). It returns
// what takes v's place, and whether that is a permit.
func (r *run) consult(v *Verdict, by int) (Verdict, bool) {
	h := r.h
	r.resolvedBy = ResolvedRejection
	presented := r.live
	if live := r.live; h.o.Redactor != nil {
		a := begin(&h.calls, r.ctx, h.o.Timeout, &h.resolver, func(ctx context.Context, into **Context) (err error) {
			*into, err = h.o.Redactor(ctx, live)
			return err
		}).wait()
		if a.how == endAnswered && a.value == nil {
			a = answer[*Context]{what: "no context"}
		}
		if a.how != endAnswered {
			return r.seamFailed(a.how, a.what), false
		}
		presented = a.value
	}
	id := r.inputID
	if presented != r.first {
		var err *ContextError
		if err = presented.verify(h.bounds); err == nil || h.o.Identity.none {
			id, err = h.identify(presented)
		}
		if err != nil {
			return hostDeny(ReasonContextInvalid, err.Error()), false
		}
	}
	request := &ApprovalRequest{Point: r.first.spec.point, Verdict: v.forResolver(), Context: presented}
	if id != nil {
		own := *id
		request.ContextIdentity = &own
	}
	a := begin(&h.calls, r.ctx, h.o.Timeout, &h.resolver, func(ctx context.Context, into *Resolution) (err error) {
		*into, err = h.o.Resolver.Resolve(ctx, request)
		return err
	}).wait()
	if a.how != endAnswered {
		return r.seamFailed(a.how, a.what), false
	}
	verdict, lifted, pooled := a.value.check(id)
	if pooled {
		r.returned(&verdict, by)
	}
	if lifted {
		r.resolvedBy = ResolvedApproval
	}
	return verdict, lifted
}

// seamFailed is a redactor or a resolver that gave no answer.
func (r *run) seamFailed(how ending, what string) Verdict {
	switch how {
	case endCancelled:
		r.cancelled()
		what = "cancelled"
	case endTimeout:
		what = "timeout"
	case endFailed, endAnswered:
	}
	return hostDeny(ReasonApprovalResolverFailed, what)
}
