package ctk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// script plays the interceptors and the resolver of one vector and keeps what
// the first interceptor saw (AH-13.2-4).
type script struct {
	v *Vector

	mu   sync.Mutex
	seen []seen
	err  error // what the host did wrong in calling; the first
}

// seen is a context as it was received.
type seen struct {
	text jsontext.Value
	tree any
}

func (v *Vector) play() *script { return &script{v: v} }

// refuse notes a call that no host may make: the run has no result, whatever
// the host makes of the error.
func (s *script) refuse(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	return err
}

func (s *script) broken() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Intercept takes the first rule that fits; there are no counters, and rules
// are never used up (AH-13.2-1).
func (s *script) Intercept(_ context.Context, index int, text jsontext.Value) (Answer, error) {
	if index < 0 || index >= len(s.v.scripts) {
		return Answer{}, s.refuse(fmt.Errorf("interceptor %d is not registered, only %d are", index, len(s.v.scripts)))
	}
	tree, err := parse(text)
	if err != nil {
		return Answer{}, s.refuse(fmt.Errorf("context: %w", err))
	}
	if index == 0 {
		s.mu.Lock()
		s.seen = append(s.seen, seen{slices.Clone(text), tree})
		s.mu.Unlock()
	}
	point, _ := lookup(tree, []step{{name: "interception_point"}})
	for _, r := range s.v.scripts[index] {
		if point != string(r.at) || !all(r.match, tree) {
			continue
		}
		switch r.fault {
		case raise:
			return Answer{Raise: true}, nil
		case malformed:
			return Answer{JSON: jsontext.Value(`{"decision":"transform"}`)}, nil
		case mutate:
			return Answer{JSON: jsontext.Value(`{"decision":"allow","reason":"ctk:mutated"}`), Mutate: true}, nil
		}
		return Answer{JSON: slices.Clone(r.ret)}, nil
	}
	return Answer{JSON: jsontext.Value(`{"decision":"allow"}`)}, nil
}

// Resolve takes the first rule whose match holds for the context as it was
// presented; none leaves the request unresolved.
func (s *script) Resolve(_ context.Context, request jsontext.Value) (Answer, error) {
	tree, err := parse(request)
	if err != nil {
		return Answer{}, s.refuse(fmt.Errorf("approval request: %w", err))
	}
	if !s.v.Setup.Resolver {
		return Answer{}, s.refuse(errors.New("no resolver is registered"))
	}
	ctx, _ := lookup(tree, []step{{name: "context"}})
	identity, _ := lookup(tree, []step{{name: "context_identity"}})
	rule := approvalRule{outcome: string(agenthooks.Unresolved)}
	for _, r := range s.v.approval {
		if all(r.match, ctx) {
			rule = r
			break
		}
	}
	if rule.outcome == "" {
		return Answer{Raise: true}, nil
	}
	switch {
	case rule.recomputed:
		identity = recompute(textOf(ctx))
	case rule.override != nil:
		identity = *rule.override
	}
	out := map[string]any{"outcome": rule.outcome, "context_identity": identity}
	if rule.verdict != nil {
		out["verdict"] = rawVerdict(rule.verdict)
	}
	return Answer{JSON: textOf(out)}, nil
}

// recompute is the default identity of a context, "" if it has none.
func recompute(text []byte) string {
	c, err := agenthooks.ParseContext(text)
	if err != nil {
		return ""
	}
	id, err := agenthooks.Identity(c)
	if err != nil {
		return ""
	}
	return id
}

func rawVerdict(text []byte) any {
	v, _ := parse(text) // it was read before
	return v
}

// recorded returns what the first interceptor saw, in the order of sequence
// numbers where calls were made in parallel.
func (s *script) recorded() []seen {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.seen)
	if e := s.v.Setup.Extension; e != nil && e.Parallel > 1 {
		slices.SortStableFunc(out, func(a, b seen) int {
			x, _ := sequence(a.tree)
			y, _ := sequence(b.tree)
			return x.Cmp(y)
		})
	}
	return out
}
