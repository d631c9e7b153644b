package ctk

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// checker holds a run against what its vector expects. Messages name the
// assertion and quote at most a little of what was found.
type checker struct {
	failures []string
}

const maxFailures = 40

func (c *checker) fail(format string, args ...any) {
	if len(c.failures) < maxFailures {
		c.failures = append(c.failures, fmt.Sprintf(format, args...))
	}
}

// short is v for a message.
func short(v any) string {
	s := string(textOf(v))
	if len(s) > 120 {
		return strings.ToValidUTF8(s[:120], "") + "…"
	}
	return s
}

func (v *Vector) check(recorded []seen, run *RunRecord, surface *Surface) []string {
	c := &checker{}
	e := &v.expect
	c.sequence(recorded)
	c.interceptions(e, recorded)
	for _, p := range e.absent {
		if slices.ContainsFunc(recorded, func(s seen) bool { return pointOf(s.tree) == string(p) }) {
			c.fail("interceptions_absent: %s was emitted", p)
		}
	}
	c.tools(e, run)
	if e.finalOutput != nil {
		c.value("final_output", run.FinalOutput, *e.finalOutput)
	}
	c.outcome(e, run, surface)
	c.identities(e, run)
	c.records(e, run)
	if e.releasedOutput != nil {
		switch {
		case run.ReleasedOutput == nil:
			c.fail("released_output: the host did not report any")
		case !equal(*run.ReleasedOutput, *e.releasedOutput):
			c.fail("released_output: found %s, expected %s", short(*run.ReleasedOutput), short(*e.releasedOutput))
		}
	}
	c.persisted(e, run)
	return c.failures
}

func pointOf(tree any) string {
	p, _ := lookup(tree, []step{{name: "interception_point"}})
	s, _ := p.(string)
	return s
}

func sequence(tree any) (*big.Int, bool) {
	v, _ := lookup(tree, []step{{name: "sequence"}})
	n, ok := v.(number)
	if !ok || !n.integer() || len(n) > 40 {
		return new(big.Int), false
	}
	return new(big.Int).SetString(string(n), 10)
}

// sequence is checked always (AH-13.2-10).
func (c *checker) sequence(recorded []seen) {
	last := big.NewInt(-1)
	for i, s := range recorded {
		n, ok := sequence(s.tree)
		switch {
		case !ok:
			c.fail("sequence: recorded context %d (%s) has no integer", i, pointOf(s.tree))
			return
		case n.Cmp(last) <= 0:
			c.fail("sequence: %s at recorded context %d (%s) does not follow %s", n, i, pointOf(s.tree), last)
			return
		}
		last = n
	}
}

func (c *checker) interceptions(e *expect, recorded []seen) {
	next := 0
	if e.strict {
		var got, want []string
		for _, s := range recorded {
			got = append(got, pointOf(s.tree))
		}
		for _, w := range e.interceptions {
			want = append(want, string(w.point))
		}
		if !slices.Equal(got, want) {
			c.fail("interceptions: found [%s], expected exactly [%s]", strings.Join(got, " "), strings.Join(want, " "))
			return
		}
	}
	for i, w := range e.interceptions {
		at := next
		for at < len(recorded) && pointOf(recorded[at].tree) != string(w.point) {
			at++
		}
		if at == len(recorded) {
			c.fail("interceptions[%d]: %s was not emitted after recorded context %d", i, w.point, next-1)
			return
		}
		next = at + 1
		c.context(fmt.Sprintf("interceptions[%d] %s", i, w.point), &w, &recorded[at])
	}
}

func (c *checker) context(name string, w *wantContext, s *seen) {
	if w.validate {
		if _, err := agenthooks.ParseContext(s.text); err != nil {
			c.fail("%s: the context is not valid: %v", name, err)
		}
	}
	c.predicates(name+".context", w.context, s.tree)
	if len(w.contain)+len(w.lack) == 0 {
		return
	}
	text := string(textOf(s.tree))
	for _, needle := range w.contain {
		if !strings.Contains(text, needle) {
			c.fail("%s: %q is nowhere in the context", name, needle)
		}
	}
	for _, needle := range w.lack {
		if strings.Contains(text, needle) {
			c.fail("%s: %q is in the context", name, needle)
		}
	}
}

func (c *checker) predicates(name string, ps []predicate, tree any) {
	for _, p := range ps {
		switch got, ok := lookup(tree, p.path); {
		case !ok:
			c.fail("%s: %s is not there, expected %s", name, p.text, short(p.want))
		case !equal(got, p.want):
			c.fail("%s: %s is %s, expected %s", name, p.text, short(got), short(p.want))
		}
	}
}

// value compares JSON text with a tree.
func (c *checker) value(name string, text jsontext.Value, want any) {
	if text == nil {
		text = jsontext.Value("null")
	}
	got, err := parse(text)
	switch {
	case err != nil:
		c.fail("%s: the host reported no JSON: %v", name, err)
	case !equal(got, want):
		c.fail("%s: found %s, expected %s", name, short(got), short(want))
	}
}

func (c *checker) tools(e *expect, run *RunRecord) {
	if e.invocations != nil {
		if len(run.ToolInvocations) != len(e.invocations) {
			c.fail("tool_invocations: found %d, expected %d", len(run.ToolInvocations), len(e.invocations))
		}
		for i := range min(len(run.ToolInvocations), len(e.invocations)) {
			got, want := run.ToolInvocations[i], e.invocations[i]
			if got.Name != want.Name {
				c.fail("tool_invocations[%d].name: found %s, expected %s", i, short(got.Name), short(want.Name))
			}
			args, _ := parse(want.Args)
			c.value(fmt.Sprintf("tool_invocations[%d].args", i), got.Args, args)
		}
	}
	for _, i := range run.ToolInvocations {
		if slices.Contains(e.notInvoked, i.Name) {
			c.fail("tool_not_invoked: %s was called", i.Name)
		}
	}
}

func (c *checker) outcome(e *expect, run *RunRecord, surface *Surface) {
	want := e.outcome
	if p := e.byPosture; p != nil {
		declared := surface.posture(p.posture)
		o, ok := p.outcomes[declared]
		if !ok {
			c.fail("run_outcome_by_posture: the host declares %s: %s, which is no value of it", p.posture, short(declared))
			return
		}
		want = o
	}
	if run.Outcome != want {
		detail := ""
		if run.Error != "" {
			detail = " (" + short(run.Error) + ")"
		}
		c.fail("run_outcome: found %s%s, expected %s", short(string(run.Outcome)), detail, want)
	}
}

func (c *checker) identities(e *expect, run *RunRecord) {
	if e.identitiesEqual == nil {
		return
	}
	if len(run.Identities) == 0 {
		c.fail("identities_equal: the host reported no identities")
		return
	}
	differ := -1
	for i, p := range run.Identities {
		if (p.Input == nil) != (p.Enforced == nil) || p.Input != nil && *p.Input != *p.Enforced {
			differ = i
			break
		}
	}
	switch {
	case *e.identitiesEqual && differ >= 0:
		c.fail("identities_equal: emission %d has two identities, expected one", differ)
	case !*e.identitiesEqual && differ < 0:
		c.fail("identities_equal: no emission has two identities, expected one that does")
	}
}

func (c *checker) records(e *expect, run *RunRecord) {
	if len(e.records) == 0 {
		return
	}
	if len(run.Records) == 0 {
		c.fail("records: the host reported none")
		return
	}
	trees := make([]any, len(run.Records))
	for i, text := range run.Records {
		var err error
		if trees[i], err = parse(text); err != nil {
			c.fail("records[%d]: the host reported no JSON: %v", i, err)
			return
		}
	}
	next := 0
	for i, w := range e.records {
		for next < len(trees) && pointOf(trees[next]) != string(w.point) {
			next++
		}
		name := fmt.Sprintf("records[%d] %s", i, w.point)
		if next == len(trees) {
			c.fail("%s: there is no such record after the ones before", name)
			return
		}
		tree := trees[next]
		next++
		c.predicates(name, w.assert, tree)
		for _, p := range w.absent {
			if _, ok := lookup(tree, p.path); ok {
				c.fail("%s: %s is there, expected it to be absent", name, p.text)
			}
		}
		for _, p := range w.present {
			if _, ok := lookup(tree, p.path); !ok {
				c.fail("%s: %s is not there", name, p.text)
			}
		}
	}
}

func (c *checker) persisted(e *expect, run *RunRecord) {
	if len(e.persistedContains) == 0 || len(run.Persisted) == 0 {
		return
	}
	tree, err := parse(run.Persisted)
	if err != nil {
		c.fail("persisted: the host reported no JSON: %v", err)
		return
	}
	text := string(textOf(tree))
	for _, needle := range e.persistedContains {
		if strings.Contains(text, needle) {
			c.fail("persisted_must_not_contain: %q was persisted", needle)
		}
	}
}
