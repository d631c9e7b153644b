package settle_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

func deny(reason, code string) []ahp.Effect {
	return []ahp.Effect{&ahp.Deny{Reason: reason, Code: code}}
}

func failure(c ahp.FailureClass) *ahp.Failure {
	return &ahp.Failure{Class: c, Err: errors.New("a cause with MARKER in it")}
}

func TestZeroValuesRefuse(t *testing.T) {
	var s settle.Settlement
	if s.Proceeds() {
		t.Error("the zero Settlement proceeds")
	}
	var c settle.Chain
	if !c.Done() {
		t.Error("the zero Chain would go on")
	}
	if got := c.Settlement(); got.Proceeds() || !got.Synthetic || got.Reason != ahp.GenericDenial {
		t.Errorf("the zero Chain settles as %+v", got)
	}
	if next, v := c.Apply(settle.Step{Backend: "net.acme.a"}); next.Settlement().Proceeds() || v.Answer != settle.AnswerFailure {
		t.Errorf("an answer opened the zero Chain: %+v", v)
	}
}

// One step after Start: what a single answer or failure comes to.
func TestApply(t *testing.T) {
	tests := []struct {
		name    string
		step    settle.Step
		caps    []ahp.EffectType // nil means deny
		proceed bool
		answer  settle.Answer
		class   ahp.FailureClass // of the failure that counted
		policy  ahp.FailurePolicy
	}{
		{name: "no effects", step: settle.Step{Policy: ahp.FailClosed}, proceed: true, answer: settle.AnswerNone},
		{name: "empty list", step: settle.Step{Policy: ahp.FailClosed, Effects: []ahp.Effect{}}, proceed: true, answer: settle.AnswerNone},
		{name: "deny, fail-closed", step: settle.Step{Policy: ahp.FailClosed, Effects: deny("no", "")}, answer: settle.AnswerDeny},
		{name: "deny, fail-open", step: settle.Step{Policy: ahp.FailOpen, Effects: deny("no", "net.acme.x")}, answer: settle.AnswerDeny},
		{name: "two denies, fail-open", step: settle.Step{Policy: ahp.FailOpen, Effects: append(deny("a", ""), deny("b", "")...)}, proceed: true, answer: settle.AnswerFailure, class: ahp.FailInvalidEffect, policy: ahp.FailOpen},
		{name: "two denies, fail-closed", step: settle.Step{Policy: ahp.FailClosed, Effects: append(deny("a", ""), deny("b", "")...)}, answer: settle.AnswerFailure, class: ahp.FailInvalidEffect, policy: ahp.FailClosed},
		{name: "deny without reason", step: settle.Step{Policy: ahp.FailClosed, Effects: deny("", "")}, answer: settle.AnswerFailure, class: ahp.FailInvalidEffect, policy: ahp.FailClosed},
		{name: "deny with bad code", step: settle.Step{Policy: ahp.FailClosed, Effects: deny("no", "bad")}, answer: settle.AnswerFailure, class: ahp.FailInvalidEffect, policy: ahp.FailClosed},
		{name: "nil effect", step: settle.Step{Policy: ahp.FailClosed, Effects: []ahp.Effect{nil}}, answer: settle.AnswerFailure, class: ahp.FailInvalidEffect, policy: ahp.FailClosed},
		{name: "nil deny", step: settle.Step{Policy: ahp.FailClosed, Effects: []ahp.Effect{(*ahp.Deny)(nil)}}, answer: settle.AnswerFailure, class: ahp.FailInvalidEffect, policy: ahp.FailClosed},
		{name: "deny was not advertised", caps: []ahp.EffectType{"net.acme.x"}, step: settle.Step{Policy: ahp.FailClosed, Effects: deny("no", "")}, answer: settle.AnswerFailure, class: ahp.FailInvalidEffect, policy: ahp.FailClosed},
		{name: "no policy", step: settle.Step{Failure: failure(ahp.FailDeadline)}, answer: settle.AnswerFailure, class: ahp.FailDeadline, policy: ahp.FailClosed},
		{name: "unknown policy", step: settle.Step{Policy: "open", Failure: failure(ahp.FailDeadline)}, answer: settle.AnswerFailure, class: ahp.FailDeadline, policy: ahp.FailClosed},
		{name: "effects beside a failure", step: settle.Step{Policy: ahp.FailClosed, Effects: []ahp.Effect{}, Failure: failure(ahp.FailLate)}, answer: settle.AnswerFailure, class: ahp.FailLate, policy: ahp.FailClosed},
		{name: "event by policy", step: settle.Step{Policy: ahp.FailOpen, EventByPolicy: true, Failure: failure(ahp.FailEvent)}, proceed: true, answer: settle.AnswerFailure, class: ahp.FailEvent, policy: ahp.FailOpen},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			caps := ahp.DenyOnly()
			if tt.caps != nil {
				caps.Effects = tt.caps
			}
			tt.step.Backend = "net.acme.a"
			c, v := settle.Start(caps).Apply(tt.step)
			s := c.Settlement()
			if s.Proceeds() != tt.proceed || c.Done() == tt.proceed {
				t.Errorf("proceeds %v, done %v; want proceeds %v", s.Proceeds(), c.Done(), tt.proceed)
			}
			if v.Answer != tt.answer || v.Policy != tt.policy {
				t.Errorf("verdict %q by %q, want %q by %q", v.Answer, v.Policy, tt.answer, tt.policy)
			}
			var class ahp.FailureClass
			if v.Failure != nil {
				class = v.Failure.Class
			}
			if class != tt.class {
				t.Errorf("class %q, want %q", class, tt.class)
			}
			if s.Synthetic != (s.State == settle.Denied && tt.answer != settle.AnswerDeny) {
				t.Errorf("synthetic: %v", s.Synthetic)
			}
			if s.Synthetic && (s.Reason != ahp.GenericDenial || s.Class != tt.class) {
				t.Errorf("reason %q, class %q", s.Reason, s.Class)
			}
			if !s.Proceeds() && s.By != "net.acme.a" {
				t.Errorf("decided by %q", s.By)
			}
		})
	}
}

// Every class under both policies (V-FAIL-1): the only table in the project that
// says what a failure comes to.
func TestEveryClassUnderBothPolicies(t *testing.T) {
	for _, class := range ahp.FailureClasses() {
		for _, policy := range []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed} {
			t.Run(string(class)+"/"+string(policy), func(t *testing.T) {
				c, v := settle.Start(ahp.DenyOnly()).Apply(settle.Step{Backend: "net.acme.a", Policy: policy, Failure: failure(class)})
				s := c.Settlement()
				open := policy == ahp.FailOpen && class != ahp.FailEvent
				if s.Proceeds() != open || s.FailedOpen != open {
					t.Errorf("proceeds %v, failed open %v; want %v", s.Proceeds(), s.FailedOpen, open)
				}
				want := policy
				if class == ahp.FailEvent {
					want = "" // no policy decides about what the event causes
				}
				if v.Policy != want {
					t.Errorf("policy %q, want %q", v.Policy, want)
				}
				if strings.Contains(s.Reason, "MARKER") {
					t.Error("the cause got into the reason")
				}
			})
		}
	}
}

func TestRefuse(t *testing.T) {
	c := settle.Start(ahp.DenyOnly()).Refuse("", ahp.FailShutdown)
	if s := c.Settlement(); s.Proceeds() || !s.Synthetic || s.Class != ahp.FailShutdown || s.By != "" {
		t.Errorf("%+v", s)
	}
	// An explicit denial stays explicit.
	c, _ = settle.Start(ahp.DenyOnly()).Apply(settle.Step{Backend: "net.acme.a", Effects: deny("no", "")})
	if s := c.Refuse("net.acme.b", ahp.FailShutdown).Settlement(); s.Synthetic || s.By != "net.acme.a" || s.Reason != "no" {
		t.Errorf("%+v", s)
	}
	// The first refusal stays.
	c = settle.Start(ahp.DenyOnly()).Refuse("net.acme.a", ahp.FailDeadline).Refuse("net.acme.b", ahp.FailShutdown)
	if s := c.Settlement(); s.Class != ahp.FailDeadline || s.By != "net.acme.a" {
		t.Errorf("%+v", s)
	}
}

// genStep draws any answer: valid ones, invalid ones, failures.
func genStep(t *rapid.T) settle.Step {
	s := settle.Step{
		Backend:       rapid.SampledFrom([]string{"net.acme.a", "net.acme.b", ""}).Draw(t, "backend"),
		Policy:        rapid.SampledFrom([]ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed, ""}).Draw(t, "policy"),
		EventByPolicy: rapid.Bool().Draw(t, "eventByPolicy"),
	}
	if rapid.Bool().Draw(t, "failed") {
		s.Failure = failure(rapid.SampledFrom(ahp.FailureClasses()).Draw(t, "class"))
	}
	for range rapid.IntRange(0, 3).Draw(t, "effects") {
		d := &ahp.Deny{Reason: rapid.SampledFrom([]string{"", "no", "x\ny"}).Draw(t, "reason"), Code: rapid.SampledFrom([]string{"", "net.acme.x", "bad"}).Draw(t, "code")}
		s.Effects = append(s.Effects, rapid.SampledFrom([]ahp.Effect{d, nil, (*ahp.Deny)(nil)}).Draw(t, "effect"))
	}
	return s
}

// reference says what a chain must come to, written as differently as possible:
// the first step that stops it decides.
func reference(steps []settle.Step) (proceed, explicit bool) {
	for _, s := range steps {
		if s.Failure == nil {
			if len(s.Effects) == 0 {
				continue
			}
			if d, ok := s.Effects[0].(*ahp.Deny); len(s.Effects) == 1 && ok && d != nil && d.Reason != "" && (d.Code == "" || ahp.ReverseDNS(d.Code)) {
				return false, true
			}
			if s.Policy != ahp.FailOpen {
				return false, false
			}
			continue
		}
		if s.Policy != ahp.FailOpen || s.Failure.Class == ahp.FailEvent && !s.EventByPolicy {
			return false, false
		}
	}
	return true, false
}

func TestPropertiesOfChains(t *testing.T) { rapid.Check(t, properties) }

func FuzzChain(f *testing.F) { f.Fuzz(rapid.MakeFuzz(properties)) }

func properties(t *rapid.T) {
	steps := rapid.SliceOfN(rapid.Custom(genStep), 0, 8).Draw(t, "steps")
	run := func() (settle.Settlement, bool) {
		c := settle.Start(ahp.DenyOnly())
		stopped := false
		for _, s := range steps {
			before := c.Settlement()
			done := c.Done()
			next, v := c.Apply(s)
			after := next.Settlement()
			if done && !reflect.DeepEqual(before, after) {
				t.Fatalf("a settled chain changed: %+v, then %+v", before, after)
			}
			if !before.Proceeds() && after.Proceeds() {
				t.Fatal("a refusal became a permission")
			}
			if v.Answer == settle.AnswerFailure && s.Failure == nil && after.Proceeds() && after.Reason != "" {
				t.Fatal("something of a rejected answer is visible")
			}
			if !done && s.Failure != nil && s.Failure.Class == ahp.FailEvent && !s.EventByPolicy && after.Proceeds() {
				t.Fatal("padding opened the gate")
			}
			if !done && s.Failure != nil && s.Policy == ahp.FailClosed && after.Proceeds() {
				t.Fatal("a failure under fail-closed proceeds")
			}
			c, stopped = next, stopped || next.Done()
		}
		return c.Settlement(), stopped
	}
	got, stopped := run()
	again, _ := run()
	if !reflect.DeepEqual(got, again) {
		t.Fatal("two runs differ")
	}
	proceed, explicit := reference(steps)
	if got.Proceeds() != proceed || got.Proceeds() == stopped {
		t.Fatalf("proceeds %v, want %v", got.Proceeds(), proceed)
	}
	if !proceed && got.Synthetic == explicit {
		t.Fatalf("synthetic %v, want %v", got.Synthetic, !explicit)
	}
	if got.Synthetic && (got.Reason != ahp.GenericDenial || got.Code != "" || got.Class == "") {
		t.Fatalf("synthetic refusal %+v", got)
	}
}

func BenchmarkSettle(b *testing.B) {
	caps := ahp.DenyOnly()
	for _, n := range []int{1, 4, 16} {
		b.Run(map[int]string{1: "1", 4: "4", 16: "16"}[n], func(b *testing.B) {
			step := settle.Step{Backend: "net.acme.a", Policy: ahp.FailClosed}
			b.ReportAllocs()
			for b.Loop() {
				c := settle.Start(caps)
				for range n {
					c, _ = c.Apply(step)
				}
				if s := c.Settlement(); !s.Proceeds() {
					b.Fatal("refused")
				}
			}
		})
	}
}
