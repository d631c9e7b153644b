package ctk

import "github.com/holdpoint/holdpoint/agenthooks"

// expect holds the assertions of a vector.
type expect struct {
	interceptions     []wantContext
	strict            bool
	absent            []agenthooks.Point
	invocations       []Invocation // nil when not asserted
	notInvoked        []string
	finalOutput       *any // nil when not asserted
	outcome           Outcome
	byPosture         *postureOutcomes
	identitiesEqual   *bool
	records           []wantRecord
	releasedOutput    *any
	persistedContains []string // that must not be there
}

type wantContext struct {
	point    agenthooks.Point
	context  []predicate
	validate bool
	contain  []string
	lack     []string
}

type wantRecord struct {
	point   agenthooks.Point
	assert  []predicate
	absent  []predicate
	present []predicate
}

type postureOutcomes struct {
	posture  string
	outcomes map[string]Outcome
}

func (r *reader) expect(v any, ptr string) expect {
	e := expect{strict: true}
	outcome := func(x any, ptr string) Outcome { return one(r, x, ptr, Completed, Blocked, Errored) }
	r.object(v, ptr, map[string]field{
		"interceptions": func(x any, ptr string) {
			r.array(x, ptr, func(x any, ptr string) { e.interceptions = append(e.interceptions, r.wantContext(x, ptr)) })
		},
		"sequence_strict": func(x any, ptr string) { e.strict = r.boolean(x, ptr) },
		"interceptions_absent": func(x any, ptr string) {
			r.array(x, ptr, func(x any, ptr string) { e.absent = append(e.absent, one(r, x, ptr, points...)) })
		},
		"tool_invocations": func(x any, ptr string) {
			e.invocations = []Invocation{}
			r.array(x, ptr, func(x any, ptr string) {
				var i Invocation
				r.object(x, ptr, map[string]field{
					"name": func(x any, ptr string) { i.Name = r.str(x, ptr) },
					"args": func(x any, ptr string) { i.Args = r.opaque(x, ptr) },
				}, "name", "args")
				e.invocations = append(e.invocations, i)
			})
		},
		"tool_not_invoked": func(x any, ptr string) { e.notInvoked = r.strings(x, ptr) },
		"final_output":     func(x any, _ string) { e.finalOutput = &x },
		"run_outcome":      func(x any, ptr string) { e.outcome = outcome(x, ptr) },
		"run_outcome_by_posture": func(x any, ptr string) {
			e.byPosture = &postureOutcomes{outcomes: map[string]Outcome{}}
			r.object(x, ptr, map[string]field{
				"posture": func(x any, ptr string) { e.byPosture.posture = one(r, x, ptr, PostureToolSeam) },
				"outcomes": func(x any, ptr string) {
					r.object(x, ptr, map[string]field{
						"continue":  func(x any, ptr string) { e.byPosture.outcomes["continue"] = outcome(x, ptr) },
						"terminate": func(x any, ptr string) { e.byPosture.outcomes["terminate"] = outcome(x, ptr) },
					}, "continue", "terminate")
				},
			}, "posture", "outcomes")
		},
		"identities_equal": func(x any, ptr string) { b := r.boolean(x, ptr); e.identitiesEqual = &b },
		"records": func(x any, ptr string) {
			r.array(x, ptr, func(x any, ptr string) {
				var w wantRecord
				r.object(x, ptr, map[string]field{
					"interception_point": func(x any, ptr string) { w.point = one(r, x, ptr, points...) },
					"assert":             func(x any, ptr string) { w.assert = r.predicates(x, ptr) },
					"absent":             func(x any, ptr string) { w.absent = r.paths(x, ptr) },
					"present":            func(x any, ptr string) { w.present = r.paths(x, ptr) },
				}, "interception_point")
				e.records = append(e.records, w)
			})
		},
		"released_output":            func(x any, _ string) { e.releasedOutput = &x },
		"persisted_must_not_contain": func(x any, ptr string) { e.persistedContains = r.strings(x, ptr) },
	}, "interceptions", "run_outcome")
	if e.byPosture != nil && len(r.errs) == 0 && e.byPosture.outcomes["continue"] != e.outcome {
		r.fail(ptr+"/run_outcome_by_posture/outcomes/continue", "differs from run_outcome, expected the same")
	}
	return e
}

func (r *reader) wantContext(v any, ptr string) wantContext {
	w := wantContext{validate: true}
	r.object(v, ptr, map[string]field{
		"interception_point":       func(x any, ptr string) { w.point = one(r, x, ptr, points...) },
		"context":                  func(x any, ptr string) { w.context = r.predicates(x, ptr) },
		"context_must_validate":    func(x any, ptr string) { w.validate = r.boolean(x, ptr) },
		"context_must_contain":     func(x any, ptr string) { w.contain = r.strings(x, ptr) },
		"context_must_not_contain": func(x any, ptr string) { w.lack = r.strings(x, ptr) },
	}, "interception_point")
	return w
}
