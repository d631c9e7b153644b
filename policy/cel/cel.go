// Package cel is the policy engine for conditions in the Common Expression
// Language.
//
// Conditions are checked against the fact types that package policy declares: a
// field or a hazard code that does not exist is an error when the policy is
// loaded. Beside the standard operators, macros and string functions they have
// the functions of [Functions].
package cel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	celgo "cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/ext"
	"cel.dev/cel-go/interpreter"

	"github.com/holdpoint/holdpoint/policy"
)

// Options configures an [Engine]. The zero value is usable.
type Options struct {
	// CostLimit bounds the work of one evaluation, in CEL cost units: about one
	// for each operator and each element that a loop visits. Zero means
	// [DefaultCostLimit].
	CostLimit uint64
}

// DefaultCostLimit allows some tens of milliseconds of work.
const DefaultCostLimit = 1_000_000

// The bounds on the text of one condition.
const (
	maxConditionBytes = 32 << 10
	maxConditionDepth = 200
)

// Engine compiles CEL conditions. It is safe for concurrent use.
type Engine struct {
	opts Options
	env  *celgo.Env
	prov *provider

	// compiled keeps conditions that use no lists: a reload, and every policy with
	// the same pack, finds them ready. Programs are immutable.
	mu       sync.Mutex
	compiled map[string]*program

	indirect bool // in tests: nothing is a condition
}

// maxCompiled bounds the conditions that an engine keeps.
const maxCompiled = 4096

var _ policy.Engine = (*Engine)(nil)

// New returns an engine.
func New(o Options) (*Engine, error) {
	if o.CostLimit == 0 {
		o.CostLimit = DefaultCostLimit
	}
	prov, err := newProvider()
	if err != nil {
		return nil, err
	}
	env, err := celgo.NewEnv(append(envOptions(prov), celgo.HomogeneousAggregateLiterals())...)
	if err != nil {
		return nil, fmt.Errorf("cel: %w", err)
	}
	return &Engine{opts: o, env: env, prov: prov}, nil
}

// envOptions is what every environment has.
func envOptions(prov *provider) []celgo.EnvOption {
	opts := []celgo.EnvOption{
		celgo.CustomTypeAdapter(prov),
		celgo.CustomTypeProvider(prov),
		celgo.ParserExpressionSizeLimit(maxConditionBytes),
		celgo.ParserRecursionLimit(maxConditionDepth),
		ext.Strings(),
		celgo.Macros(macros()...),
	}
	for _, r := range policy.FactRoots() {
		opts = append(opts, celgo.Variable(r.Name, celType(r.Type)))
	}
	return append(opts, functions()...)
}

// extend adds the lists of prov.
func extend(env *celgo.Env, prov *provider) (*celgo.Env, error) {
	return env.Extend(
		celgo.CustomTypeAdapter(prov),
		celgo.CustomTypeProvider(prov),
		celgo.Variable("lists", celgo.ObjectType("Lists")),
	)
}

// Name returns the engine's name and the revision of its fact types.
func (e *Engine) Name() string { return "cel/1" }

// Compiler returns a compiler for conditions that may use lists.
func (e *Engine) Compiler(lists map[string][]string) (policy.Compiler, error) {
	if len(lists) == 0 {
		return &compiler{engine: e, env: e.env}, nil
	}
	prov := e.prov.withLists(lists)
	env, err := extend(e.env, prov)
	if err != nil {
		return nil, fmt.Errorf("cel: %w", err)
	}
	return &compiler{engine: e, env: env, prov: prov, lists: prov.lists}, nil
}

type compiler struct {
	engine *Engine
	env    *celgo.Env
	values *celgo.Env // of value expressions; made when the first is compiled
	prov   *provider  // with lists; nil without
	lists  *listsValue
}

// Compile checks a condition and makes it ready.
func (c *compiler) Compile(text string) (policy.Program, error) {
	shared := c.lists == nil || !strings.Contains(text, "lists")
	if shared {
		if p := c.engine.cached(text); p != nil {
			return p, nil
		}
	}
	p, err := c.compile(text)
	if err != nil {
		return nil, err
	}
	if shared {
		p.lists = nil
		c.engine.keep(text, p)
	}
	return p, nil
}

func (e *Engine) cached(text string) *program {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.compiled[text]
}

func (e *Engine) keep(text string, p *program) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.compiled == nil || len(e.compiled) >= maxCompiled {
		e.compiled = map[string]*program{}
	}
	e.compiled[text] = p
}

// check parses and type-checks an expression.
func (c *compiler) check(env *celgo.Env, text string) (*celgo.Ast, error) {
	if strings.TrimSpace(text) == "" {
		return nil, &policy.CompileError{Problems: []policy.CompileProblem{{Line: 1, Column: 1, Message: "the expression is empty"}}}
	}
	checked, iss := env.Compile(text)
	if iss != nil && iss.Err() != nil {
		ce := &policy.CompileError{}
		for _, e := range iss.Errors() {
			p := policy.CompileProblem{Line: 1, Column: 1, Message: plainMessage(e.Message)}
			if e.Location != nil && e.Location.Line() > 0 {
				p.Line, p.Column = e.Location.Line(), e.Location.Column()+1
			}
			p.Message = c.suggest(p.Message)
			ce.Problems = append(ce.Problems, p)
		}
		return nil, ce
	}
	return checked, nil
}

func (c *compiler) compile(text string) (*program, error) {
	checked, err := c.check(c.env, text)
	if err != nil {
		return nil, err
	}
	if t := checked.OutputType(); !t.IsExactType(celgo.BoolType) {
		return nil, &policy.CompileError{Problems: []policy.CompileProblem{{
			Line: 1, Column: 1, Message: fmt.Sprintf("the condition is of type %s, want bool", t),
		}}}
	}
	native := checked.NativeRep()
	a := &analysis{ast: native}
	if probs := a.literals(); len(probs) > 0 {
		return nil, &policy.CompileError{Problems: probs}
	}
	opts := []celgo.ProgramOption{celgo.EvalOptions(celgo.OptOptimize)}
	cheap := a.cheap()
	if cheap && !c.engine.indirect {
		if cond := a.direct(native.Expr()); cond != nil {
			return &program{direct: cond, needs: a.needs()}, nil
		}
	}
	if !cheap {
		opts = append(opts, celgo.CostLimit(c.engine.opts.CostLimit), celgo.InterruptCheckFrequency(64))
	}
	prog, err := c.env.Program(checked, opts...)
	if err != nil {
		return nil, &policy.CompileError{Problems: []policy.CompileProblem{{Line: 1, Column: 1, Message: err.Error()}}}
	}
	return &program{prog: prog, needs: a.needs(), lists: c.lists, cheap: cheap}, nil
}

type program struct {
	direct condition // in place of prog

	prog  celgo.Program
	needs policy.Needs
	lists *listsValue
	cheap bool // needs neither meter nor interruption
}

// Needs says what the condition reads.
func (p *program) Needs() policy.Needs { return p.needs }

// Eval reports whether the condition holds.
func (p *program) Eval(ctx context.Context, in *policy.Input) (bool, error) {
	if ctx.Err() != nil {
		return false, &policy.EvalError{Cause: policy.CauseInterrupted, Err: context.Cause(ctx)}
	}
	if p.direct != nil {
		return p.direct(in.Facts), nil
	}
	act, ok := in.Cache.(*activation)
	if !ok {
		act = &activation{facts: in.Facts}
		in.Cache = act
	}
	act.lists = p.lists
	var out ref.Val
	var err error
	if p.cheap {
		out, _, err = p.prog.Eval(act)
	} else {
		out, _, err = p.prog.ContextEval(ctx, act)
	}
	if err != nil {
		return false, evalError(ctx, err)
	}
	b, ok := out.(types.Bool)
	if !ok {
		return false, &policy.EvalError{Cause: policy.CauseError, Err: fmt.Errorf("result is %s, want bool", out.Type().TypeName())}
	}
	return bool(b), nil
}

func evalError(ctx context.Context, err error) error {
	cause := policy.CauseError
	var cancelled interpreter.EvalCancelledError
	switch {
	case errors.As(err, &cancelled) && cancelled.Cause == interpreter.CostLimitExceeded:
		cause = policy.CauseCost
	case ctx.Err() != nil, errors.Is(err, interpreter.InterruptError{}):
		cause = policy.CauseInterrupted
	}
	return &policy.EvalError{Cause: cause, Err: err}
}

// plainMessage drops what only readers of the library know.
func plainMessage(m string) string {
	m = strings.TrimSuffix(m, " (in container '')")
	return strings.ReplaceAll(m, internalPrefix, "")
}

// suggest adds the nearest name to a message about a name that does not exist.
func (c *compiler) suggest(m string) string {
	if rest, ok := strings.CutPrefix(m, "undefined field '"); ok {
		name := strings.TrimSuffix(rest, "'")
		if c.lists != nil {
			if s := policy.Nearest(name, c.lists.names); s != "" {
				return m + "; did you mean " + s + "?"
			}
		}
		var all []string
		for _, t := range policy.FactTypes() {
			for _, f := range t.Fields {
				all = append(all, f.Name)
			}
		}
		if s := policy.Nearest(name, all); s != "" {
			return m + "; did you mean " + s + "?"
		}
	}
	if rest, ok := strings.CutPrefix(m, "undeclared reference to '"); ok && !strings.Contains(m, "did you mean") {
		name, _, _ := strings.Cut(rest, "'")
		all := []string{"lists"}
		for _, r := range policy.FactRoots() {
			all = append(all, r.Name)
		}
		for _, f := range Functions() {
			all = append(all, f.Name)
		}
		if name == "lists" {
			return m + "; the policy has no lists"
		}
		if s := policy.Nearest(name, all); s != "" {
			return m + "; did you mean " + s + "?"
		}
	}
	return m
}
