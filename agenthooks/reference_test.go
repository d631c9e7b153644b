package agenthooks_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// The reference model: composition by the contract's step tables, over plain
// Go values, one decision after the other, no sharing, no concurrency. It uses
// nothing of the package but the wire constants. Slow and obvious on purpose.

// refVerdict is a verdict with everything about it known to its maker.
type refVerdict struct {
	fault    string // "error" or "panic": no verdict at all
	gate     string // the reason with which the gate refuses it, "" for none
	decision string
	reason   string
	message  string
	warnings []agenthooks.Warning
	labels   []string
	evidence string // artefact
	approval bool
	path     string
	segments []any  // of path: string or int; nil with pathBad
	pathBad  string // reason for which path cannot be used at all
	value    string // JSON text
	text     string // the verdict as JSON, where it is given raw
}

// refAnswer is what a resolver does.
type refAnswer struct {
	fault   string // "error", "panic"
	outcome string
	echo    bool // return the identity that was asked about
	verdict *refVerdict
}

type refSetup struct {
	point    string
	profile  string
	knob     string
	evaluate bool
	target   string
	slots    []refVerdict
	answers  []refAnswer // nil: no resolver; used in turn
}

type refResult struct {
	decision, reason, message string
	warnings                  []agenthooks.Warning
	labels                    []string
	evidence                  string
	approval                  bool
	path                      string
	decidedBy                 int // -1 is null
	summaries                 []string
	truncated                 string // "", "true", "false"
	resolvedBy                string
	enforced                  string // "same", "other" or "null"
	target                    string // to proceed with; "" when blocked
	seen                      []string
	asked                     int
}

type refState struct {
	refSetup
	live     any
	applied  bool
	pool     []*refVerdict
	res      refResult
	answered int
}

func decode(s string) any {
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		panic(s)
	}
	return v
}

func encodeAny(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// refSet replaces what is at the path in a copy; false when nothing is there.
func refSet(v any, segments []any, value any) (any, bool) {
	if len(segments) == 0 {
		return value, true
	}
	switch s := segments[0].(type) {
	case string:
		m, ok := v.(map[string]any)
		if !ok {
			return nil, false
		}
		old, ok := m[s]
		if !ok {
			return nil, false
		}
		next, ok := refSet(old, segments[1:], value)
		out := map[string]any{}
		maps.Copy(out, m)
		out[s] = next
		return out, ok
	case int:
		a, ok := v.([]any)
		if !ok || s >= len(a) {
			return nil, false
		}
		next, ok := refSet(a[s], segments[1:], value)
		out := append([]any{}, a...)
		out[s] = next
		return out, ok
	}
	panic("segment")
}

// refValid says whether a context with this target has an identity.
func refValid(point string, target any) bool {
	m, isObject := target.(map[string]any)
	switch point {
	case "pre_tool_call":
		if !isObject {
			return false
		}
	case "pre_model_call":
		if _, ok := target.([]any); !ok {
			return false
		}
	case "output":
		if _, ok := m["content"]; !isObject || !ok {
			return false
		}
	case "agent_shutdown":
		if _, ok := m["reason"].(string); !isObject || !ok {
			return false
		}
	}
	return refExact(target)
}

func refExact(v any) bool {
	switch v := v.(type) {
	case json.Number:
		f, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return false
		}
		return !(f > 1<<53-1 || f < -(1<<53-1)) || f != float64(int64(f))
	case []any:
		for _, e := range v {
			if !refExact(e) {
				return false
			}
		}
	case map[string]any:
		for _, e := range v {
			if !refExact(e) {
				return false
			}
		}
	}
	return true
}

func reference(s refSetup) refResult {
	r := &refState{refSetup: s, live: decode(s.target)}
	r.res.decidedBy = -1
	if len(s.slots) == 0 {
		r.finish(&refVerdict{decision: "deny", reason: "host_error:no_interceptor"}, -1, "")
		return r.res
	}
	switch s.profile {
	case "sequential/first_deny":
		r.firstDeny()
	case "sequential/run_all":
		r.runAll()
	case "parallel/strictest":
		r.strictest()
	case "parallel/unanimous":
		r.unanimous()
	}
	return r.res
}

// call is one slot: what it says after faults and the gate.
func (r *refState) call(i int) *refVerdict {
	v := r.slots[i]
	r.res.seen = append(r.res.seen, encodeAny(r.live))
	switch {
	case v.fault != "":
		v = refVerdict{decision: "deny", reason: "host_error:interceptor_failed"}
	case v.gate != "":
		v = refVerdict{decision: "deny", reason: v.gate}
	case v.decision == "transform" && v.pathBad != "":
		v = refVerdict{decision: "deny", reason: v.pathBad}
	}
	r.pool = append(r.pool, &v)
	r.res.summaries = append(r.res.summaries, fmt.Sprint(i, " ", v.decision, " ", v.reason))
	return &v
}

// apply returns the reason of a failure, "" when it went well.
func (r *refState) apply(v *refVerdict) string {
	if r.point == "agent_shutdown" {
		return "host_error:transform_target_forbidden"
	}
	if v.pathBad != "" {
		return v.pathBad
	}
	base := r.live
	if r.evaluate {
		base = decode(r.target)
	}
	next, ok := refSet(base, v.segments, decode(v.value))
	if !ok {
		return "host_error:transform_invalid"
	}
	if !r.evaluate {
		r.live, r.applied = next, true
	}
	return ""
}

func (r *refState) consulted(v *refVerdict) bool {
	return v.decision == "deny" && v.approval && !r.evaluate && r.point != "agent_shutdown" && r.answers != nil
}

// ask returns what takes v's place and whether it lifts it.
func (r *refState) ask() (*refVerdict, bool) {
	r.res.resolvedBy = "rejection"
	if !refValid(r.point, r.live) {
		return &refVerdict{decision: "deny", reason: "host_error:context_invalid"}, false
	}
	a := r.answers[r.answered%len(r.answers)]
	r.answered++
	deny := func(reason string) (*refVerdict, bool) {
		return &refVerdict{decision: "deny", reason: "host_error:" + reason}, false
	}
	if a.fault != "" {
		return deny("approval_resolver_failed")
	}
	if !a.echo {
		return deny("approval_identity_mismatch")
	}
	if a.outcome != "approve" && a.outcome != "reject" && a.outcome != "unresolved" {
		return deny("approval_resolver_failed")
	}
	if (a.outcome == "unresolved") != (a.verdict == nil) {
		return deny("approval_resolver_failed")
	}
	if a.outcome == "unresolved" {
		return deny("approval_unresolved")
	}
	if a.verdict.gate != "" {
		return deny("verdict_invalid")
	}
	if (a.outcome == "approve") != (a.verdict.decision != "deny") {
		return deny("verdict_invalid")
	}
	v := *a.verdict
	r.pool = append(r.pool, &v)
	if a.outcome == "approve" {
		r.res.resolvedBy = "approval"
		return &v, true
	}
	return &v, false
}

func (r *refState) trunc(i int) string { return strconv.FormatBool(i < len(r.slots)-1) }

func (r *refState) failApply(i int, reason string) {
	r.res.summaries[len(r.res.summaries)-1] = fmt.Sprint(i, " deny ", reason)
	r.finish(&refVerdict{decision: "deny", reason: reason}, -1, r.trunc(i))
}

func (r *refState) bareAllow() *refVerdict {
	out := &refVerdict{decision: "allow"}
	for _, v := range r.pool {
		if v.decision == "allow" && v.evidence != "" {
			out.evidence = v.evidence
			break
		}
	}
	return out
}

func (r *refState) firstDeny() {
	var last *refVerdict
	lastBy, lifted := -1, -1
	for i := range r.slots {
		v := r.call(i)
		switch {
		case v.decision == "allow":
		case v.decision == "transform":
			if reason := r.apply(v); reason != "" {
				r.failApply(i, reason)
				return
			}
			last, lastBy = v, i
		case !r.consulted(v):
			r.finish(v, i, r.trunc(i))
			return
		default:
			answer, ok := r.ask()
			if !ok {
				r.finish(answer, i, r.trunc(i))
				return
			}
			if answer.decision == "transform" {
				if reason := r.apply(answer); reason != "" {
					r.finish(&refVerdict{decision: "deny", reason: reason}, -1, r.trunc(i))
					return
				}
			}
			if r.knob != "resume" {
				r.finish(answer, i, r.trunc(i))
				return
			}
			lifted = i
			if answer.decision == "transform" {
				last, lastBy = answer, i
			}
		}
	}
	if last != nil {
		r.finish(last, lastBy, "false")
		return
	}
	r.finish(r.bareAllow(), lifted, "false")
}

func (r *refState) runAll() {
	var all []*refVerdict
	for i := range r.slots {
		v := r.call(i)
		if v.decision == "transform" {
			if reason := r.apply(v); reason != "" {
				r.failApply(i, reason)
				return
			}
		}
		all = append(all, v)
	}
	r.severest(all, "false")
}

// severest is R4 to R7 and S1, S2, S5.
func (r *refState) severest(all []*refVerdict, truncated string) {
	for i, v := range all {
		if v.decision == "deny" && !v.approval {
			r.finish(v, i, truncated)
			return
		}
	}
	for i, v := range all {
		if v.decision == "deny" {
			r.liftable(v, i, truncated)
			return
		}
	}
	for i, a := range slices.Backward(all) {
		if a.decision == "transform" {
			r.finish(a, i, truncated)
			return
		}
	}
	r.finish(r.bareAllow(), -1, truncated)
}

func (r *refState) liftable(v *refVerdict, by int, truncated string) {
	if !r.consulted(v) {
		r.finish(v, by, truncated)
		return
	}
	answer, ok := r.ask()
	if ok && answer.decision == "transform" {
		if reason := r.apply(answer); reason != "" {
			r.finish(&refVerdict{decision: "deny", reason: reason}, -1, truncated)
			return
		}
	}
	r.finish(answer, by, truncated)
}

func (r *refState) made(reason string) {
	v := &refVerdict{decision: "deny", reason: reason, approval: r.knob == "approval"}
	r.liftable(v, -1, "")
}

func (r *refState) strictest() {
	var all []*refVerdict
	transforms, denies := 0, 0
	at := -1
	for i := range r.slots {
		v := r.call(i)
		all = append(all, v)
		switch v.decision {
		case "transform":
			transforms++
			at = i
		case "deny":
			denies++
		}
	}
	switch {
	case denies == 0 && transforms > 1:
		r.made("host_error:transform_conflict")
	case denies == 0 && transforms == 1:
		if reason := r.apply(all[at]); reason != "" {
			r.res.summaries[at] = fmt.Sprint(at, " deny ", reason)
			r.finish(&refVerdict{decision: "deny", reason: reason}, -1, "")
			return
		}
		r.finish(all[at], at, "")
	default:
		r.severest(all, "")
	}
}

func (r *refState) unanimous() {
	ok := true
	for i := range r.slots {
		ok = r.call(i).decision == "allow" && ok
	}
	if !ok {
		r.made("host_error:composition_disagreement")
		return
	}
	r.finish(r.bareAllow(), -1, "")
}

// finish puts the unions on, computes what the identities look like, rejects
// what a transform broke, and notes the result.
func (r *refState) finish(v *refVerdict, by int, truncated string) {
	res := &r.res
	res.truncated = truncated
	res.enforced = "same"
	if r.applied {
		res.enforced = "other"
		if !refValid(r.point, r.live) {
			res.enforced = "null"
			if v.decision != "deny" {
				v, by = &refVerdict{decision: "deny", reason: "host_error:context_invalid"}, -1
			}
		} else if reflect.DeepEqual(decode(encodeAny(r.live)), decode(r.target)) {
			res.enforced = "same"
		}
	}
	res.decision, res.reason, res.message, res.evidence, res.approval, res.path = v.decision, v.reason, v.message, v.evidence, v.approval, ""
	if v.decision == "transform" {
		res.path = v.path
	}
	res.decidedBy = by
	for _, p := range r.pool {
		for _, w := range p.warnings {
			dup := false
			for _, have := range res.warnings {
				dup = dup || have == w
			}
			if !dup {
				res.warnings = append(res.warnings, w)
			}
		}
		if p.decision == "deny" || v.decision == "deny" {
			continue
		}
		for _, l := range p.labels {
			dup := false
			for _, have := range res.labels {
				dup = dup || have == l
			}
			if !dup {
				res.labels = append(res.labels, l)
			}
		}
	}
	res.asked = r.answered
	switch {
	case r.evaluate:
		res.target = encodeAny(decode(r.target))
	case v.decision != "deny":
		res.target = encodeAny(r.live)
	}
}
