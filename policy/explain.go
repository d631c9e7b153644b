package policy

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/shell"
)

// An Explanation says how a policy came to its decision on one event.
type Explanation struct {
	Decision Decision        `json:"decision"`
	Facts    []ExplainedFact `json:"facts"`
	Rules    []ExplainedRule `json:"rules"`
}

// An ExplainedFact is one fact with the text that it was read from. Values of
// secrets are replaced.
type ExplainedFact struct {
	Kind      string          `json:"kind"` // breach, hazard, secret, file, url, command, undecided
	Text      string          `json:"text"` // one line for people
	Certainty facts.Certainty `json:"certainty,omitempty"`
	Pointer   string          `json:"pointer,omitempty"`
	Source    string          `json:"source,omitempty"` // the line that it was read from
	Caret     string          `json:"caret,omitempty"`  // spaces and carets under Source
}

// The outcomes of a rule in an [Explanation].
const (
	OutcomeDenied        = "denied"         // it decided
	OutcomeWouldDeny     = "would deny"     // it held too, behind the rule that decided
	OutcomeFlagged       = "flagged"        //
	OutcomeAsked         = "asked"          // it asks for an approval
	OutcomeModified      = "modified"       // it changed the input
	OutcomeUnchanged     = "unchanged"      // it held, and its change makes no difference
	OutcomeSent          = "sent"           // its message or injection goes along
	OutcomeDropped       = "dropped"        // it held, and the denial leaves nothing of it
	OutcomeShadow        = "shadow"         // it would have had its effect, were it enforced
	OutcomeNoMatch       = "no match"       // it was evaluated and did not hold
	OutcomeNotConsidered = "not considered" // the facts that it needs are absent
	OutcomeDisabled      = "disabled"       //
	OutcomeExempt        = "exempt"         // it would hold, were it not for an allow-list
	OutcomeError         = "error"          // it could not be evaluated
)

// An ExplainedRule says what became of one rule.
type ExplainedRule struct {
	Rule    string `json:"rule"`
	Effect  Effect `json:"effect"`
	Outcome string `json:"outcome"`
	Detail  string `json:"detail,omitempty"`
	Origin  Origin `json:"origin"`
}

// Explain decides f and says why. Unlike [Set.Decide] it evaluates every
// candidate, those behind the deciding rule too. The error is that of Decide;
// the explanation is complete also then.
func (s *Set) Explain(ctx context.Context, f *facts.Facts) (*Explanation, error) {
	d, failed := s.Decide(ctx, f)
	return s.ExplainDecision(ctx, f, d), failed
}

// ExplainDecision says how d came about, which [Set.Judge] made of the event with
// the facts f. Facts and rules are shown for the event as it came; what a rule did
// in a later round, after the input was changed, is shown with the rule.
func (s *Set) ExplainDecision(ctx context.Context, f *facts.Facts, d Decision) *Explanation {
	e := &Explanation{Decision: d, Facts: explainFacts(f)}
	candidates := s.candidates(f)
	run := s.start(f)
	for i, r := range s.rules {
		x := ExplainedRule{Rule: r.Name, Effect: r.Effect, Origin: r.Origin}
		hit := false
		switch {
		case !r.Enabled:
			x.Outcome = OutcomeDisabled
		case !r.hears(ahp.EventType(f.Event.Type)):
			x.Outcome, x.Detail = OutcomeNotConsidered, "is not for "+f.Event.Type
		case f.Breach != "":
			x.Outcome, x.Detail = OutcomeNotConsidered, "the analysis reached a bound"
		case !slices.Contains(candidates, i):
			x.Outcome = OutcomeNotConsidered
			x.Detail = "needs " + needText(r.needs.Any)
		default:
			var err error
			hit, err = run.eval(ctx, r)
			switch {
			case err != nil:
				x.Outcome, x.Detail = OutcomeError, err.Error()
			case hit:
				x.Outcome = d.outcome(r)
			default:
				x.Outcome = OutcomeNoMatch
				if r.filter != 0 {
					if bare, err := r.prog.Eval(ctx, NewInput(f)); err == nil && bare {
						x.Outcome, x.Detail = OutcomeExempt, "an allow-list covers what it is about"
					}
				}
			}
		}
		if !hit && d.fired(r.Name) {
			x.Outcome, x.Detail = d.outcome(r), "for the changed input"
		}
		e.Rules = append(e.Rules, x)
	}
	return e
}

// fired reports whether the decision has something of the rule.
func (d *Decision) fired(rule string) bool {
	is := func(f Fired) bool { return f.Rule == rule }
	return d.Denied() && d.Rule == rule || slices.ContainsFunc(d.Asks, is) || slices.ContainsFunc(d.Flags, is) || slices.ContainsFunc(d.Shadow, is) ||
		slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Rule == rule }) ||
		slices.ContainsFunc(d.Notices, func(n Notice) bool { return n.Rule == rule })
}

// outcome says what became of a rule that holds.
func (d *Decision) outcome(r *compiledRule) string {
	if r.Effect == EffectFlag {
		return OutcomeFlagged
	}
	if r.Mode == ModeShadow {
		return OutcomeShadow
	}
	if r.Effect != EffectDeny && d.Denied() {
		return OutcomeDropped
	}
	switch r.Effect {
	case EffectAsk:
		return OutcomeAsked
	case EffectModify:
		if !slices.ContainsFunc(d.Changes, func(c Change) bool { return c.Rule == r.Name }) {
			return OutcomeUnchanged
		}
		return OutcomeModified
	case EffectMessage, EffectInject:
		return OutcomeSent
	case EffectDeny, EffectFlag, EffectNone:
	}
	if r.Name == d.Rule {
		return OutcomeDenied
	}
	return OutcomeWouldDeny
}

func needText(keys []Key) string {
	words := make([]string, 0, 4)
	for i, k := range keys {
		if i == 3 {
			words = append(words, fmt.Sprintf("… (%d more)", len(keys)-3))
			break
		}
		if k.Kind == KeyPresent {
			words = append(words, k.Value)
			continue
		}
		words = append(words, string(k.Kind)+" "+k.Value)
	}
	return strings.Join(words, " or ")
}

// source knows the texts that spans point into, and what must not be shown.
type source struct {
	f      *facts.Facts
	cache  map[string]string
	values []string // of secrets
}

func newSource(f *facts.Facts) *source {
	s := &source{f: f, cache: map[string]string{}}
	if f.Tool == nil {
		return s
	}
	for _, sec := range f.Secrets {
		t, _ := lookup(f.Tool.Input, sec.Span.Pointer).(string)
		if sec.Span.Start >= 0 && sec.Span.Start < sec.Span.End && sec.Span.End <= len(t) {
			s.values = append(s.values, t[sec.Span.Start:sec.Span.End])
		}
	}
	return s
}

// clean replaces the values of secrets, wherever they turn up: in a path, in an
// address, in a line that was put together.
func (s *source) clean(text string) string {
	for _, v := range s.values {
		text = strings.ReplaceAll(text, v, strings.Repeat("*", min(len(v), 12)))
	}
	return text
}

// text returns the string that a span points into, secrets replaced by stars of
// the same length so that offsets hold.
func (s *source) text(ptr string) string {
	if t, ok := s.cache[ptr]; ok {
		return t
	}
	t := ""
	if ptr == "" && s.f.Shell != nil {
		t = s.f.Shell.Text
	} else if s.f.Tool != nil {
		t, _ = lookup(s.f.Tool.Input, ptr).(string)
	}
	b := []byte(t)
	mask := func(start, end int) {
		for i := max(start, 0); i < end && i < len(b); i++ {
			b[i] = '*'
		}
	}
	for _, v := range s.values {
		for at := 0; ; {
			i := strings.Index(t[at:], v)
			if i < 0 {
				break
			}
			mask(at+i, at+i+len(v))
			at += i + len(v)
		}
	}
	credentials(t, mask)
	if sh := s.f.Shell; sh != nil && sh.Result != nil && t == sh.Text {
		for i := range sh.Result.Actions {
			if a := &sh.Result.Actions[i]; a.Kind == shell.SecretLiteral {
				mask(a.Span.Start, a.Span.End)
			}
		}
	}
	s.cache[ptr] = string(b)
	return s.cache[ptr]
}

// credentials masks what stands before the @ of an address.
func credentials(t string, mask func(start, end int)) {
	for at := 0; ; {
		i := strings.Index(t[at:], "://")
		if i < 0 {
			return
		}
		at += i + len("://")
		end := strings.IndexAny(t[at:], " \t\r\n\"'<>`/?#")
		if end < 0 {
			end = len(t) - at
		}
		if user := strings.LastIndexByte(t[at:at+end], '@'); user > 0 {
			mask(at, at+user)
		}
	}
}

// lookup follows a JSON pointer.
func lookup(v any, ptr string) any {
	for part := range strings.SplitSeq(strings.TrimPrefix(ptr, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch x := v.(type) {
		case map[string]any:
			v = x[part]
		case []any:
			n := 0
			for _, c := range part {
				if c < '0' || c > '9' || n > len(x) {
					return nil
				}
				n = n*10 + int(c-'0')
			}
			if part == "" || n >= len(x) {
				return nil
			}
			v = x[n]
		default:
			return nil
		}
	}
	return v
}

const maxSourceRunes = 96

// underline returns the line of text that holds the start of a span, escaped and
// cut to a width, and the carets below it.
func underline(text string, start, end int) (line, caret string) {
	if start < 0 || end <= start || end > len(text) {
		return "", ""
	}
	from := strings.LastIndexByte(text[:start], '\n') + 1
	to := len(text)
	if i := strings.IndexByte(text[start:], '\n'); i >= 0 {
		to = start + i
	}
	end = min(end, to)
	if end <= start {
		return "", ""
	}
	// Long lines are cut around the span.
	for utf8.RuneCountInString(text[from:start]) > maxSourceRunes/2 {
		_, n := utf8.DecodeRuneInString(text[from:])
		from += n
	}
	for to > start && utf8.RuneCountInString(text[from:to]) > maxSourceRunes {
		_, n := utf8.DecodeLastRuneInString(text[:to])
		to -= n
	}
	end = min(end, to)
	pre, mid, post := Escape(text[from:start], 0), Escape(text[start:end], 0), Escape(text[end:to], 0)
	return pre + mid + post, strings.Repeat(" ", utf8.RuneCountInString(pre)) + strings.Repeat("^", max(1, utf8.RuneCountInString(mid)))
}

// FactTexts says in short lines what the facts are, at most limit of them, and how
// many more there are. Nothing is quoted but values of facts. What the secret finder
// found in the input is replaced, and what find finds in the lines: a value that the
// input spells in pieces is whole in a fact. Without a finder facts may hold secrets.
// When it fails there are no lines.
func FactTexts(ctx context.Context, f *facts.Facts, limit int, find facts.SecretFinder) (list []ExplainedFact, more int) {
	all := explainFacts(f)
	list = all[:min(len(all), limit)]
	for i := range list {
		x := &list[i]
		if find != nil {
			found, err := find(ctx, x.Text)
			if err != nil {
				return nil, len(all)
			}
			x.Text = starred(x.Text, found)
		}
		x.Text, x.Source, x.Caret = Escape(x.Text, 200), "", ""
	}
	return list, len(all) - len(list)
}

// starred replaces what was found in text.
func starred(text string, found []facts.SecretMatch) string {
	if len(found) == 0 {
		return text
	}
	b := []byte(text)
	for _, m := range found {
		for i := max(m.Start, 0); i < min(m.End, len(b)); i++ {
			b[i] = '*'
		}
	}
	return string(b)
}

func explainFacts(f *facts.Facts) []ExplainedFact {
	src := newSource(f)
	var out []ExplainedFact
	add := func(kind, text string, c facts.Certainty, span facts.Span) {
		x := ExplainedFact{Kind: kind, Text: Escape(src.clean(text), 400), Certainty: c, Pointer: span.Pointer}
		x.Source, x.Caret = underline(src.text(span.Pointer), span.Start, span.End)
		out = append(out, x)
	}
	if f.Breach != "" {
		add("breach", "the analysis reached the bound "+f.Breach, "", facts.Span{})
	}
	for _, h := range f.Hazards {
		add("hazard", strings.TrimSuffix(h.Code+": "+h.Detail, ": "), h.Certainty, h.Span)
	}
	for _, s := range f.Secrets {
		add("secret", s.Kind+" "+s.Redacted, "", s.Span)
	}
	for _, x := range f.Files {
		t := fmt.Sprintf("%s %s (%s", x.Op, x.Path, x.Zone)
		if x.Recursive {
			t += ", whole tree"
		}
		if x.Program != "" {
			t += ", by " + x.Program
		}
		add("file", t+", "+x.Via+")", x.Certainty, x.Span)
	}
	for _, u := range f.URLs {
		add("url", fmt.Sprintf("%s %s (%s)", u.Use, cmp.Or(u.Raw, u.Host), u.Class), u.Certainty, u.Span)
	}
	if f.Shell != nil && f.Shell.Result != nil {
		at := func(sp shell.Span) facts.Span { return facts.Span{Start: sp.Start, End: sp.End} }
		for i := range f.Shell.Result.Commands {
			c := &f.Shell.Result.Commands[i]
			text := strings.Join(append([]string{cmp.Or(c.Program, "(not known)")}, c.Sub...), " ")
			if len(c.Flags) > 0 {
				text += " with " + strings.Join(c.Flags, " ")
			}
			if len(c.Wrappers) > 0 {
				text += ", through " + strings.Join(c.Wrappers, ", ")
			}
			add("command", text, "", at(c.Span))
		}
		for _, u := range f.Shell.Result.Undecided {
			add("undecided", strings.TrimSuffix(string(u.Reason)+": "+u.Detail, ": "), "", at(u.Span))
		}
	}
	return out
}

func memberList(m map[string]any) string {
	if len(m) == 0 {
		return "nothing"
	}
	return Escape(strings.Join(slices.Sorted(maps.Keys(m)), ", "), 200)
}

// WriteText writes e for people: the facts with the text that they were read
// from underlined, the rules that were considered, the decision.
func (e *Explanation) WriteText(w io.Writer) error {
	var b strings.Builder
	b.WriteString("facts\n")
	if len(e.Facts) == 0 {
		b.WriteString("  none\n")
	}
	lastSource := ""
	for _, f := range e.Facts {
		fmt.Fprintf(&b, "  %-9s %s", f.Kind, f.Text)
		if f.Certainty == facts.Possible {
			b.WriteString(" [possible]")
		}
		b.WriteByte('\n')
		if f.Source != "" {
			if f.Source+f.Caret != lastSource {
				fmt.Fprintf(&b, "            | %s\n            | %s\n", f.Source, f.Caret)
			}
			lastSource = f.Source + f.Caret
		}
	}
	b.WriteString("rules\n")
	quiet := map[string]int{}
	for _, r := range e.Rules {
		if r.Outcome == OutcomeNotConsidered || r.Outcome == OutcomeNoMatch {
			quiet[r.Outcome]++
			continue
		}
		fmt.Fprintf(&b, "  %-14s %s", r.Outcome, r.Rule)
		if r.Detail != "" {
			fmt.Fprintf(&b, " (%s)", r.Detail)
		}
		fmt.Fprintf(&b, "  %s", r.Origin.Layer)
		if r.Origin.Line > 0 {
			fmt.Fprintf(&b, " %s:%d", r.Origin.File, r.Origin.Line)
		}
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "  %d evaluated without a match, %d not considered since their facts are absent\n", quiet[OutcomeNoMatch], quiet[OutcomeNotConsidered])
	b.WriteString("decision\n")
	d := &e.Decision
	switch {
	case d.Denied():
		fmt.Fprintf(&b, "  deny by %s\n  %s\n", orNone(d.Rule), d.Reason)
	case d.Effect == EffectAsk:
		fmt.Fprintf(&b, "  ask by %s\n  %s\n", orNone(d.Rule), d.Reason)
	default:
		b.WriteString("  none: nothing against it\n")
	}
	for _, c := range d.Changes {
		fmt.Fprintf(&b, "  the input is changed by %s (%s of %s)\n", c.Rule, c.Operation, memberList(c.value))
	}
	for _, n := range d.Notices {
		to := "message to the user"
		if n.Effect == EffectInject {
			to = "text for the model"
		}
		fmt.Fprintf(&b, "  %s by %s\n", to, n.Rule)
	}
	if d.Undecidable {
		b.WriteString("  part of what would run is not in the input\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}
