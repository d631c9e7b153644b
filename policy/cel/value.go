package cel

import (
	"context"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"

	celgo "cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/holdpoint/holdpoint/policy"
)

// CompileValue checks a value expression: its type must be one that can be want.
// What is not typed, such as tool.input, is checked when it is evaluated.
func (c *compiler) CompileValue(text string, want policy.ValueType) (policy.ValueProgram, error) {
	env, err := c.valueEnv()
	if err != nil {
		return nil, err
	}
	checked, err := c.check(env, text)
	if err != nil {
		return nil, err
	}
	t := checked.OutputType()
	fits := t.Kind() == types.DynKind
	switch want {
	case policy.ValueText:
		fits = fits || t.IsExactType(celgo.StringType)
	case policy.ValueObject:
		if t.Kind() == types.MapKind {
			key := t.Parameters()[0].Kind()
			fits = key == types.StringKind || key == types.DynKind || key == types.TypeParamKind
		}
	}
	if !fits {
		expected := "a string"
		if want == policy.ValueObject {
			expected = "a map with string keys"
		}
		return nil, &policy.CompileError{Problems: []policy.CompileProblem{{
			Line: 1, Column: 1, Message: fmt.Sprintf("the value is of type %s, want %s", celgo.FormatCELType(t), expected),
		}}}
	}
	a := &analysis{ast: checked.NativeRep()}
	if probs := a.literals(); len(probs) > 0 {
		return nil, &policy.CompileError{Problems: probs}
	}
	// Values are rare beside conditions, so each is metered.
	prog, err := env.Program(checked, celgo.EvalOptions(celgo.OptOptimize),
		celgo.CostLimit(c.engine.opts.CostLimit), celgo.InterruptCheckFrequency(64))
	if err != nil {
		return nil, &policy.CompileError{Problems: []policy.CompileProblem{{Line: 1, Column: 1, Message: err.Error()}}}
	}
	n := a.needs()
	n.Any = nil
	return &valueProgram{prog: prog, needs: n, lists: c.lists, want: want}, nil
}

// valueEnv is the environment of values. Unlike conditions they may have maps and
// lists of mixed types, as JSON has.
func (c *compiler) valueEnv() (*celgo.Env, error) {
	if c.values != nil {
		return c.values, nil
	}
	env, err := celgo.NewEnv(envOptions(c.engine.prov)...)
	if err == nil && c.lists != nil {
		env, err = extend(env, c.prov)
	}
	if err != nil {
		return nil, fmt.Errorf("cel: %w", err)
	}
	c.values = env
	return env, nil
}

type valueProgram struct {
	prog  celgo.Program
	needs policy.Needs
	lists *listsValue
	want  policy.ValueType
}

// Needs says what the expression reads.
func (p *valueProgram) Needs() policy.Needs { return p.needs }

// EvalValue makes the value.
func (p *valueProgram) EvalValue(ctx context.Context, in *policy.Input) (any, error) {
	act, ok := in.Cache.(*activation)
	if !ok {
		act = &activation{facts: in.Facts}
		in.Cache = act
	}
	act.lists = p.lists
	if ctx.Err() != nil {
		return nil, &policy.EvalError{Cause: policy.CauseInterrupted, Err: context.Cause(ctx)}
	}
	out, _, err := p.prog.ContextEval(ctx, act)
	if err != nil {
		return nil, evalError(ctx, err)
	}
	m := maker{left: policy.MaxValueBytes}
	v, err := m.value(out, policy.MaxValueDepth)
	if err == nil {
		switch v.(type) {
		case string:
			if p.want == policy.ValueText {
				return v, nil
			}
		case map[string]any:
			if p.want == policy.ValueObject {
				return v, nil
			}
		}
		err = fmt.Errorf("the value is %s", out.Type().TypeName())
	}
	return nil, &policy.EvalError{Cause: policy.CauseError, Err: err}
}

// A maker turns CEL values into what JSON decodes to, within a size that no value
// within the bound on its text exceeds.
type maker struct{ left int }

var (
	errLarge   = errors.New("the value is too large")
	errDeep    = errors.New("the value is nested too deep")
	errInexact = errors.New("a number of the value is not exact")
)

// maxExact is the largest integer up to which every one is a float64 of its own.
const maxExact = 1 << 53

func (m *maker) spend(n int) error {
	if m.left -= n; m.left < 0 {
		return errLarge
	}
	return nil
}

func (m *maker) value(v ref.Val, depth int) (any, error) {
	if err := m.spend(1); err != nil {
		return nil, err
	}
	switch v := v.(type) {
	case types.String:
		if !utf8.ValidString(string(v)) {
			return nil, errors.New("a text of the value is not UTF-8")
		}
		return string(v), m.spend(len(v))
	case types.Bool:
		return bool(v), nil
	case types.Null:
		return nil, nil
	case types.Int:
		if v <= -maxExact || v >= maxExact {
			return nil, errInexact
		}
		return float64(v), nil
	case types.Uint:
		if v >= maxExact {
			return nil, errInexact
		}
		return float64(v), nil
	case types.Double:
		f := float64(v)
		// An integer beyond 2^53 may have been rounded when the input was read, and
		// would change unseen.
		if math.IsNaN(f) || math.IsInf(f, 0) || math.Trunc(f) == f && math.Abs(f) >= maxExact {
			return nil, errInexact
		}
		return f, nil
	case *object, *listsValue, *factList:
		return nil, fmt.Errorf("a fact of type %s cannot be part of a value; name the fields", v.Type().TypeName())
	case traits.Mapper:
		if depth == 0 {
			return nil, errDeep
		}
		out := map[string]any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			k := it.Next()
			name, ok := k.(types.String)
			if !ok || !utf8.ValidString(string(name)) {
				return nil, errors.New("a key of the value is no text")
			}
			if err := m.spend(len(name)); err != nil {
				return nil, err
			}
			e, err := m.value(v.Get(k), depth-1)
			if err != nil {
				return nil, err
			}
			out[string(name)] = e
		}
		return out, nil
	case traits.Lister:
		if depth == 0 {
			return nil, errDeep
		}
		out := []any{}
		for it := v.Iterator(); it.HasNext() == types.True; {
			e, err := m.value(it.Next(), depth-1)
			if err != nil {
				return nil, err
			}
			out = append(out, e)
		}
		return out, nil
	}
	return nil, fmt.Errorf("a %s cannot be part of a value", v.Type().TypeName())
}
