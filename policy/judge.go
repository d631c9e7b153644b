package policy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
)

// MaxRounds bounds how often one event is judged. A round judges the event with
// the input that the rounds before have made; the last one must change nothing.
const MaxRounds = 4

// ErrRewritten is returned by [Set.Decide] when a rule changes the input.
var ErrRewritten = errors.New("policy: a rule changes the input; the event must be judged with Judge")

// Judge extracts the facts of ev with o and decides. The policy's programs take the
// place of those of o.
//
// Rules that modify change the input in their order, each value made over what the
// ones before have left. Then the event is judged again with the new input, so that
// no change slips past a rule: until a round changes nothing. A change to an equal
// value is none. When [MaxRounds] rounds do not come to rest the event is refused.
// A denial in any round denies; what any round asks, flags, and sends along, counts
// once for each rule.
//
// The facts are those of ev as it came, nil when there are none. Errors are those of
// [facts.Extract] and [Set.Decide]; the Decision is then the zero one, a refusal.
func (s *Set) Judge(ctx context.Context, ev *ahp.Event, o facts.Options) (Decision, *facts.Facts, error) {
	o.Programs = s.programs
	f, err := facts.Extract(ctx, ev, o)
	if err != nil {
		return Decision{}, nil, err
	}
	d, err := s.pass(ctx, f)
	if err != nil || len(d.Changes) == 0 {
		return d, f, err
	}
	now, tool := *ev, *ev.Tool
	now.Tool = &tool
	fresh := d.Changes
	for round := 1; len(fresh) > 0; round++ {
		if round == MaxRounds {
			d.refuse(RuleRewriteBound, CodeRewriteBound,
				"The policy rewrites the input of this call over and over ("+ruleList(fresh)+"), so it was refused. Its rewrites must come to rest.")
			break
		}
		if tool.Input, err = applyChanges(tool.Input, fresh); err != nil {
			return Decision{}, f, &EvalError{Rule: fresh[len(fresh)-1].Rule, Cause: CauseError, Err: err}
		}
		g, err := facts.Extract(ctx, &now, o)
		if err != nil {
			return Decision{}, f, err
		}
		next, err := s.pass(ctx, g)
		if err != nil {
			return Decision{}, f, err
		}
		fresh = next.Changes
		d.join(&next)
		if d.Denied() {
			break
		}
	}
	if !d.Denied() {
		d.Input = tool.Input
	}
	return d, f, nil
}

// Decide applies the rules to f. It is bounded: by ctx, and each condition by the
// engine's own limit.
//
// An *EvalError means that a rule could not be evaluated and none refused; the
// Decision returned with it is the zero one, a refusal. A rule that refuses holds
// even when another one fails, so that a broken rule cannot open the gate.
// [ErrRewritten] means that the decision is not one on what would run: facts alone
// cannot be judged again.
func (s *Set) Decide(ctx context.Context, f *facts.Facts) (Decision, error) {
	d, err := s.pass(ctx, f)
	if err == nil && len(d.Changes) > 0 {
		return Decision{}, ErrRewritten
	}
	return d, err
}

func ruleList(changes []Change) string {
	var out []string
	for _, c := range changes {
		if !slices.Contains(out, c.Rule) {
			out = append(out, c.Rule)
		}
	}
	return strings.Join(out, ", ")
}

func applyChanges(raw ahp.Raw, changes []Change) (ahp.Raw, error) {
	var err error
	for _, c := range changes {
		if c.Operation == ahp.OpReplace {
			raw = c.Value
			continue
		}
		if raw, err = mergeInput(raw, c.value); err != nil {
			return nil, err
		}
	}
	return raw, nil
}

// join adds what a later round said.
func (d *Decision) join(next *Decision) {
	if next.Denied() {
		d.Effect = next.Effect
		d.Rule, d.Reason, d.Message, d.Code, d.Severity = next.Rule, next.Reason, next.Message, next.Code, next.Severity
		d.Breach = next.Breach
	} else if d.Effect == EffectNone && next.Effect == EffectAsk {
		d.Effect = EffectAsk
		d.Rule, d.Reason, d.Message, d.Code, d.Severity = next.Rule, next.Reason, next.Message, next.Code, next.Severity
	}
	d.Flags, d.Shadow, d.Asks = union(d.Flags, next.Flags), union(d.Shadow, next.Shadow), union(d.Asks, next.Asks)
	d.Changes = append(slices.Clip(d.Changes), next.Changes...)
	for _, n := range next.Notices {
		if !slices.ContainsFunc(d.Notices, func(o Notice) bool { return o.Rule == n.Rule }) {
			d.Notices = append(d.Notices, n)
		}
	}
	d.Hazards = sorted(d.Hazards, next.Hazards)
	d.FactsRead = sorted(d.FactsRead, next.FactsRead)
	d.Undecidable = next.Undecidable // of what would run
	d.settle()
}

// settle takes from a denial what only goes with an operation that may run.
func (d *Decision) settle() {
	if d.Denied() {
		d.Asks, d.Changes, d.Notices, d.Input = nil, nil, nil, nil
	}
}

// refuse denies with a reason of the policy engine itself.
func (d *Decision) refuse(rule, code, reason string) {
	d.Effect, d.Rule, d.Code, d.Severity = EffectDeny, rule, code, SeverityHigh
	d.Reason = Escape(reason, MaxReasonBytes)
	d.Message = Escape(reason, MaxMessageBytes)
	d.settle()
}

func union(a, b []Fired) []Fired {
	for _, f := range b {
		if !slices.ContainsFunc(a, func(o Fired) bool { return o.Rule == f.Rule }) {
			a = append(slices.Clip(a), f)
		}
	}
	return a
}

func sorted(a, b []string) []string {
	if len(b) == 0 {
		return a
	}
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}

// act does what the effect of a rule that holds is.
func (r *run) act(ctx context.Context, d *Decision, rule *compiledRule) error {
	switch {
	case rule.Effect == EffectFlag:
		d.Flags = append(d.Flags, rule.fired)
		return nil
	case rule.Mode == ModeShadow:
		d.Shadow = append(d.Shadow, rule.fired)
		return nil
	}
	switch rule.Effect {
	case EffectAsk:
		if d.Effect == EffectNone {
			d.Effect = EffectAsk
			d.Rule, d.Reason, d.Code, d.Severity, d.Message = rule.Name, rule.fired.Reason, rule.Code, rule.Severity, rule.short
		}
		d.Asks = append(d.Asks, rule.fired)
		return nil
	case EffectModify:
		return r.change(ctx, d, rule)
	case EffectMessage, EffectInject:
		text := rule.text
		if rule.value != nil {
			v, err := r.makeValue(ctx, rule)
			if err != nil {
				return err
			}
			s, _ := v.(string) // by the type that it was compiled for
			text = noticeText(rule.Effect, s)
		}
		if text != "" { // an expression that makes no text sends none
			d.Notices = append(d.Notices, Notice{Rule: rule.Name, Effect: rule.Effect, DeliverAt: rule.DeliverAt, Text: text})
		}
		return nil
	case EffectDeny, EffectFlag, EffectNone:
	}
	if d.Effect != EffectDeny {
		d.Effect = EffectDeny
		d.Rule, d.Reason, d.Code, d.Severity, d.Message = rule.Name, rule.fired.Reason, rule.Code, rule.Severity, rule.short
	}
	return nil
}

// noticeText makes a text fit to show: a message to the user is one line, the model
// gets lines.
func noticeText(e Effect, text string) string {
	if e == EffectMessage {
		return Escape(oneLine(text), MaxNoticeBytes)
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, l := range lines {
		lines[i] = Escape(strings.TrimRight(strings.ReplaceAll(l, "\t", "  "), " \r"), 0)
	}
	out := strings.Join(lines, "\n")
	if len(out) <= MaxInjectionBytes {
		return out
	}
	end := MaxInjectionBytes - len("…")
	for !utf8.RuneStart(out[end]) {
		end--
	}
	return out[:end] + "…"
}

// makeValue evaluates the value of a rule over the input that the rules before it have
// left.
func (r *run) makeValue(ctx context.Context, rule *compiledRule) (any, error) {
	in := r.inputs[rule.filter]
	if r.effective != nil {
		f := *r.facts
		t := *f.Tool
		t.Input = r.effective
		f.Tool = &t
		filtered := &f
		if flt := r.set.filters[rule.filter]; flt != nil {
			filtered = flt.apply(filtered)
		}
		in = NewInput(filtered)
	}
	v, err := rule.value.EvalValue(ctx, in)
	if err != nil {
		return nil, evalFailure(rule, err)
	}
	return v, nil
}

// change applies a modify rule.
func (r *run) change(ctx context.Context, d *Decision, rule *compiledRule) error {
	now := r.effective
	if now == nil && r.facts.Tool != nil {
		now, _ = r.facts.Tool.Input.(map[string]any)
	}
	if now == nil {
		return evalFailure(rule, errNoInput)
	}
	v, err := r.makeValue(ctx, rule)
	if err != nil {
		return err
	}
	value, ok := v.(map[string]any)
	if !ok {
		return evalFailure(rule, fmt.Errorf("the value is %T, want an object", v))
	}
	next := value
	if rule.op == ahp.OpMerge {
		if value = changed(now, value); len(value) == 0 {
			return nil
		}
		next = maps.Clone(now)
		maps.Copy(next, value)
	} else if reflect.DeepEqual(now, value) {
		return nil
	}
	if !withinDepth(next, MaxValueDepth) {
		return evalFailure(rule, errValueDepth)
	}
	raw, err := EncodeValue(value)
	if err != nil {
		return evalFailure(rule, err)
	}
	r.effective = next
	d.Changes = append(d.Changes, Change{Rule: rule.Name, Operation: rule.op, Value: raw, value: value})
	return nil
}

func evalFailure(rule *compiledRule, err error) error {
	if ee, ok := errors.AsType[*EvalError](err); ok {
		return &EvalError{Rule: rule.Name, Cause: ee.Cause, Err: ee.Err}
	}
	return &EvalError{Rule: rule.Name, Cause: CauseError, Err: err}
}
