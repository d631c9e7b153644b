package policy

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/shell"
)

// A Set is a loaded policy. It is immutable and safe for concurrent use; a
// reload makes a new one.
type Set struct {
	rules  []*compiledRule
	allow  Allow // of the whole policy
	digest string
	engine string

	programs *shell.Programs

	secrets bool
	always  []int    // rules that are evaluated for every event
	keys    keyIndex // rules that a key makes candidates
	touches touchIndex
	filters []*filter // [0] is nil: nothing is exempt
	facts   []string  // names of facts that rules read

	heard map[ahp.EventType]bool // events that enabled rules name

	made *setFiles // for WithOverlay; nil when it is not wanted
}

// compiledRule is a rule that is ready to run.
type compiledRule struct {
	*Rule
	prog   Program
	needs  Needs
	allow  Allow // its own and the policy's
	filter int   // index in Set.filters
	reads  []int // indices in Set.facts
	fired  Fired // with the texts escaped
	short  string

	value ValueProgram  // of modify, and of message and inject with textFrom
	op    ahp.Operation // of modify
	text  string        // of message and inject with text; escaped
}

func (s *Set) add(r *Rule, prog Program, value ValueProgram, allow Allow) {
	c := &compiledRule{Rule: r, prog: prog, needs: prog.Needs(), allow: allow, value: value}
	if value != nil {
		c.needs.Facts = sorted(c.needs.Facts, value.Needs().Facts)
	}
	switch {
	case r.Merge != "":
		c.op = ahp.OpMerge
	case r.Replace != "":
		c.op = ahp.OpReplace
	case r.Text != "":
		c.text = noticeText(r.Effect, r.Text)
	}
	reason := strings.TrimSpace(r.Reason)
	full := reason
	if r.Hint != "" {
		full += " " + strings.TrimSpace(r.Hint)
	}
	c.fired = Fired{
		Rule: r.Name, Effect: r.Effect, Reason: Escape(oneLine(full), MaxReasonBytes), Code: r.Code, Severity: r.Severity,
	}
	c.short = Escape(oneLine(full), MaxMessageBytes)
	s.rules = append(s.rules, c)
}

// oneLine joins the lines of a text that was folded for the eyes of its writer.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// index prepares what Decide looks up.
func (s *Set) index() {
	s.heard = map[ahp.EventType]bool{}
	s.filters = []*filter{nil}
	filters := map[string]int{}
	names := map[string]int{}
	for _, r := range s.rules {
		for _, f := range r.needs.Facts {
			names[f] = 0
		}
	}
	s.facts = slices.Sorted(maps.Keys(names))
	for n, f := range s.facts {
		names[f] = n
	}
	for i, r := range s.rules {
		if !r.Allow.empty() || !r.allow.empty() {
			id := r.allow.key()
			n, ok := filters[id]
			if !ok {
				n = len(s.filters)
				s.filters = append(s.filters, newFilter(r.allow))
				filters[id] = n
			}
			r.filter = n
		}
		for _, f := range r.needs.Facts {
			r.reads = append(r.reads, names[f])
		}
		if !r.Enabled {
			continue
		}
		for _, t := range r.On {
			s.heard[t] = true
		}
		s.secrets = s.secrets || slices.Contains(r.needs.Facts, "secrets")
		if r.needs.Any == nil {
			s.always = append(s.always, i)
			continue
		}
		for _, k := range r.needs.Any {
			if k.Kind == KeyTouch {
				s.touches.add(k.Value, i)
				continue
			}
			if !s.keys.add(k, i) {
				s.always = append(s.always, i) // an engine of others may know more kinds
			}
		}
	}
}

// Digest identifies the loaded content: sha256: and hex. Two policies that hold
// the same rules in the same order, and teach the same of programs, have one digest, whatever their files are
// called and however they are laid out.
func (s *Set) Digest() string { return s.digest }

// Rules returns the rules in the order in which they are evaluated, disabled ones
// included.
func (s *Set) Rules() []Rule {
	out := make([]Rule, len(s.rules))
	for i, r := range s.rules {
		out[i] = *r.Rule
	}
	return out
}

// Hears reports whether some rule is for events of type t. At tool.before the policy
// is always asked: what cannot be judged is refused.
func (s *Set) Hears(t ahp.EventType) bool {
	return t == ahp.ToolBefore || s.heard[t]
}

// Programs returns what the policy teaches of programs, for
// [facts.Options.Programs]: rules must be given facts that were extracted with
// it. Nil when it teaches none.
func (s *Set) Programs() *shell.Programs { return s.programs }

// NeedsSecrets reports whether any enabled rule reads secrets. When it does
// not, [facts.Options.Secrets] can stay nil.
func (s *Set) NeedsSecrets() bool { return s.secrets }

// pass is one round over the rules.
func (s *Set) pass(ctx context.Context, f *facts.Facts) (Decision, error) {
	d := Decision{Effect: EffectNone, Digest: s.digest, Undecidable: f.Undecidable}
	d.Hazards = hazardNames(f)
	if f.Breach != "" {
		s.breached(&d, f)
		return d, nil
	}
	run := s.start(f)
	defer run.end()
	var failed error
	for i := range run.candidates() {
		r := s.rules[i]
		if !r.hears(ahp.EventType(f.Event.Type)) || d.Effect == EffectDeny && r.Effect != EffectFlag && r.Mode == ModeEnforce {
			continue // the first refusal decides
		}
		hit, err := run.eval(ctx, r)
		if hit {
			err = run.act(ctx, &d, r)
		}
		if err != nil {
			if ctx.Err() != nil {
				failed = cmp.Or(failed, err)
				break
			}
			if r.Effect == EffectFlag || r.Mode == ModeShadow {
				// It could not have refused, so the decision stands without it. That it
				// did not work is shown where its finding would be.
				d.note(r)
				continue
			}
			failed = cmp.Or(failed, err)
			continue
		}
	}
	d.FactsRead = run.read()
	if failed != nil && d.Effect != EffectDeny {
		return Decision{}, failed
	}
	d.settle()
	return d, nil
}

// ReasonNotEvaluated is the reason of a flag or shadow rule that failed while it ran.
const ReasonNotEvaluated = "This rule could not be evaluated for this event; policy explain says why."

// note records that r, a rule that cannot refuse, could not be evaluated.
func (d *Decision) note(r *compiledRule) {
	f := r.fired
	f.Reason = ReasonNotEvaluated
	if r.Effect == EffectFlag {
		d.Flags = append(d.Flags, f)
	} else {
		d.Shadow = append(d.Shadow, f)
	}
}

// breached refuses an event that was not analysed to the end (design, decision 4).
func (s *Set) breached(d *Decision, f *facts.Facts) {
	d.Breach = f.Breach
	d.refuse(RuleAnalysisBound, CodeAnalysisBound, "The call is too large or too deep to be judged ("+f.Breach+"). Split it into smaller steps.")
	d.FactsRead = []string{"breach"}
}

func hazardNames(f *facts.Facts) []string {
	if len(f.Hazards) == 0 {
		return nil
	}
	out := make([]string, 0, len(f.Hazards))
	for i := range f.Hazards {
		out = append(out, f.Hazards[i].Code)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
