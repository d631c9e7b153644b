package cel

import (
	"fmt"
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/holdpoint/holdpoint/policy"
)

// analysis reads a checked condition without evaluating it.
type analysis struct {
	ast *ast.AST
}

// literals checks the literal arguments of our functions, so that a pattern with
// a typing error is found when the policy is loaded.
func (a *analysis) literals() []policy.CompileProblem {
	var out []policy.CompileProblem
	check := func(e ast.Expr, f func(string) error) {
		for _, lit := range literalStrings(e) {
			if err := f(lit.text); err != nil {
				p := policy.CompileProblem{Line: 1, Column: 1, Message: err.Error()}
				if loc := a.ast.SourceInfo().GetStartLocation(lit.id); loc.Line() > 0 {
					p.Line, p.Column = loc.Line(), loc.Column()+1
				}
				out = append(out, p)
			}
		}
	}
	path := func(s string) error { _, err := paths.get(s); return err }
	host := func(s string) error { _, err := hosts.get(s); return err }
	shape := func(s string) error { _, err := shapes.get(s); return err }
	walk(a.ast.Expr(), func(e ast.Expr) {
		if e.Kind() != ast.CallKind {
			return
		}
		c := e.AsCall()
		args := c.Args()
		switch c.FunctionName() {
		case internalPrefix + "hazard", internalPrefix + "certain":
			check(args[0], policy.CheckHazardCode)
		case internalPrefix + "touches":
			check(args[0], checkOp)
			check(args[1], path)
		case "glob":
			check(args[0], path)
		case internalPrefix + "runs":
			check(args[0], shape)
		case internalPrefix + "connects", "hostMatch":
			check(args[0], host)
		case operators.Equals, operators.NotEquals, operators.In:
			a.enums(c, check)
		}
	})
	return out
}

// enums checks comparisons of fields with a closed set of values: a misspelt
// value would make a rule that never fires.
func (a *analysis) enums(c ast.CallExpr, check func(ast.Expr, func(string) error)) {
	l, r := c.Args()[0], c.Args()[1]
	for _, pair := range [2][2]ast.Expr{{l, r}, {r, l}} {
		sel := pair[0]
		if sel.Kind() != ast.SelectKind {
			continue
		}
		s := sel.AsSelect()
		t := a.ast.GetType(s.Operand().ID())
		values := policy.FactValues(t.TypeName(), s.FieldName())
		if values == nil {
			continue
		}
		check(pair[1], func(text string) error {
			if slices.Contains(values, text) || text == "" {
				return nil
			}
			hint := ""
			if n := policy.Nearest(text, values); n != "" {
				hint = fmt.Sprintf("; did you mean %q?", n)
			}
			return fmt.Errorf("%q is no value of %s.%s%s", text, t.TypeName(), s.FieldName(), hint)
		})
	}
}

func checkOp(s string) error {
	ops := append(policy.FactValues("File", "op"), "any")
	if slices.Contains(ops, s) {
		return nil
	}
	return fmt.Errorf("%q is no file operation, want one of %s", s, strings.Join(ops, ", "))
}

type literal struct {
	id   int64
	text string
}

func literalStrings(e ast.Expr) []literal {
	switch e.Kind() {
	case ast.LiteralKind:
		if s, ok := e.AsLiteral().(types.String); ok {
			return []literal{{e.ID(), string(s)}}
		}
	case ast.ListKind:
		var out []literal
		for _, x := range e.AsList().Elements() {
			out = append(out, literalStrings(x)...)
		}
		return out
	default:
	}
	return nil
}

func walk(e ast.Expr, f func(ast.Expr)) {
	ast.PreOrderVisit(e, ast.NewExprVisitor(f))
}

// needs finds the facts that a condition reads and the keys without which it is
// false.
func (a *analysis) needs() policy.Needs {
	roots := map[string]bool{}
	for _, r := range policy.FactRoots() {
		roots[r.Name] = strings.HasPrefix(r.Type, "list(")
	}
	read := map[string]bool{}
	inSelect := map[int64]bool{}
	walk(a.ast.Expr(), func(e ast.Expr) {
		switch e.Kind() {
		case ast.SelectKind:
			op := e.AsSelect().Operand()
			if op.Kind() != ast.IdentKind {
				return
			}
			if list, ok := roots[op.AsIdent()]; ok && !list {
				read[op.AsIdent()+"."+e.AsSelect().FieldName()] = true
				inSelect[op.ID()] = true
			}
		case ast.IdentKind:
			if _, ok := roots[e.AsIdent()]; ok && !inSelect[e.ID()] {
				name := e.AsIdent()
				if name == "shell" {
					name = "shell.commands" // runs()
				}
				read[name] = true
			}
		default:
		}
	})
	n := policy.Needs{}
	for k := range read {
		n.Facts = append(n.Facts, k)
	}
	slices.Sort(n.Facts)
	if g := a.guard(a.ast.Expr(), nil); len(g) > 0 {
		n.Any = g
	}
	return n
}

// binding says what a loop variable stands for.
type binding struct {
	name string
	root string // hazards, files, urls, secrets, shell.commands
}

// guard returns keys of which at least one must hold for e to be true; without
// any of them e is false, and cannot fail. Nil means that nothing is known.
// `a && b` is false when a is, even if b fails, so that the better guard of the
// two holds; for `a || b` both must have one.
func (a *analysis) guard(e ast.Expr, scope []binding) []policy.Key {
	switch e.Kind() {
	case ast.CallKind:
		c := e.AsCall()
		switch c.FunctionName() {
		case operators.LogicalAnd:
			var best []policy.Key
			for _, arg := range c.Args() {
				if g := a.guard(arg, scope); g != nil && (best == nil || weight(g) < weight(best)) {
					best = g
				}
			}
			return best
		case operators.LogicalOr:
			var all []policy.Key
			for _, arg := range c.Args() {
				g := a.guard(arg, scope)
				if g == nil {
					return nil
				}
				all = append(all, g...)
			}
			return all
		case operators.Equals:
			return a.equality(c.Args()[0], c.Args()[1], scope)
		case operators.In:
			if lits := literalStrings(c.Args()[1]); len(lits) > 0 && c.Args()[1].Kind() == ast.ListKind && len(lits) == c.Args()[1].AsList().Size() {
				return a.keys(c.Args()[0], lits, scope)
			}
		case internalPrefix + "hazard", internalPrefix + "certain":
			// The receiver is `hazards` by the macro; a literal is needed.
			if lits := literalStrings(c.Args()[0]); len(lits) == 1 {
				return hazardKeys(lits[0].text)
			}
			return present("hazards")
		case internalPrefix + "touches":
			return touchKeys(c.Args()[0], c.Args()[1])
		case operators.Greater:
			return a.sized(c.Args()[0], c.Args()[1])
		case operators.Less:
			return a.sized(c.Args()[1], c.Args()[0])
		case internalPrefix + "connects":
			return present("urls")
		case internalPrefix + "runs":
			arg := c.Args()[0]
			lits := literalStrings(arg)
			if len(lits) == 0 || arg.Kind() == ast.ListKind && len(lits) != arg.AsList().Size() {
				return nil
			}
			var out []policy.Key
			for _, l := range lits {
				s, err := shapes.get(l.text)
				if err != nil {
					return nil
				}
				out = append(out, policy.Key{Kind: policy.KeyProgram, Value: s.Program()})
			}
			return out
		}
	case ast.ComprehensionKind:
		return a.exists(e.AsComprehension(), scope)
	case ast.SelectKind:
		s := e.AsSelect()
		if !s.IsTestOnly() && s.FieldName() == "undecidable" && s.Operand().Kind() == ast.IdentKind &&
			s.Operand().AsIdent() == "tool" && !slices.ContainsFunc(scope, func(b binding) bool { return b.name == "tool" }) {
			return present("tool.undecidable")
		}
	default:
	}
	return nil
}

// touchKeys reads touches(op, patterns).
func touchKeys(op, patterns ast.Expr) []policy.Key {
	ops := literalStrings(op)
	if len(ops) != 1 || op.Kind() != ast.LiteralKind {
		return present("files")
	}
	lits := literalStrings(patterns)
	if len(lits) == 0 || patterns.Kind() == ast.ListKind && len(lits) != patterns.AsList().Size() {
		if ops[0].text == "any" {
			return present("files")
		}
		return []policy.Key{{Kind: policy.KeyFileOp, Value: ops[0].text}}
	}
	var out []policy.Key
	for _, l := range lits {
		out = append(out, policy.Key{Kind: policy.KeyTouch, Value: ops[0].text + " " + l.text})
	}
	return out
}

// sized reads size(list) > 0.
func (a *analysis) sized(big, small ast.Expr) []policy.Key {
	if small.Kind() != ast.LiteralKind || small.AsLiteral() != types.Int(0) || big.Kind() != ast.CallKind {
		return nil
	}
	c := big.AsCall()
	if c.FunctionName() != "size" {
		return nil
	}
	arg := c.Target()
	if !c.IsMemberFunction() {
		arg = c.Args()[0]
	}
	if arg.Kind() == ast.IdentKind {
		switch arg.AsIdent() {
		case "hazards", "files", "urls", "secrets":
			return present(arg.AsIdent())
		}
	}
	return nil
}

// cheap reports whether the condition does a small, fixed amount of work: no
// loop, nothing that builds or searches long texts, few parts. Such a one needs no
// meter, which costs more than the work itself.
func (a *analysis) cheap() bool {
	parts, ok := 0, true
	walk(a.ast.Expr(), func(e ast.Expr) {
		parts++
		switch e.Kind() {
		case ast.ComprehensionKind, ast.MapKind, ast.StructKind:
			ok = false
		case ast.CallKind:
			switch e.AsCall().FunctionName() {
			case operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Equals, operators.NotEquals,
				operators.In, operators.Greater, operators.GreaterEquals, operators.Less, operators.LessEquals,
				operators.Conditional, operators.Index, "size", "startsWith", "endsWith", "contains", "glob", "hostMatch":
			default:
				if !strings.HasPrefix(e.AsCall().FunctionName(), internalPrefix) {
					ok = false
				}
			}
		default:
		}
	})
	return ok && parts <= 64
}

// exists reads the loop that `exists` becomes: over an empty list it is false,
// and with a guarded predicate it is false when no element can satisfy that.
func (a *analysis) exists(c ast.ComprehensionExpr, scope []binding) []policy.Key {
	init := c.AccuInit()
	if init.Kind() != ast.LiteralKind || init.AsLiteral() != types.False || c.HasIterVar2() {
		return nil
	}
	step := c.LoopStep()
	if step.Kind() != ast.CallKind || step.AsCall().FunctionName() != operators.LogicalOr || len(step.AsCall().Args()) != 2 {
		return nil
	}
	accu, pred := step.AsCall().Args()[0], step.AsCall().Args()[1]
	if accu.Kind() != ast.IdentKind || accu.AsIdent() != c.AccuVar() ||
		c.Result().Kind() != ast.IdentKind || c.Result().AsIdent() != c.AccuVar() {
		return nil
	}
	root := ""
	switch r := c.IterRange(); r.Kind() {
	case ast.IdentKind:
		switch r.AsIdent() {
		case "hazards", "files", "urls", "secrets":
			root = r.AsIdent()
		}
	case ast.SelectKind:
		s := r.AsSelect()
		if s.Operand().Kind() == ast.IdentKind && s.Operand().AsIdent() == "shell" && s.FieldName() == "commands" {
			root = "shell.commands"
		}
	default:
	}
	inner := append(slices.Clone(scope), binding{c.IterVar(), root})
	g := a.guard(pred, inner)
	if g != nil {
		return g
	}
	if root != "" && root != "shell.commands" {
		return present(root)
	}
	return nil
}

func (a *analysis) equality(l, r ast.Expr, scope []binding) []policy.Key {
	if lits := literalStrings(r); len(lits) == 1 && r.Kind() == ast.LiteralKind {
		return a.keys(l, lits, scope)
	}
	if lits := literalStrings(l); len(lits) == 1 && l.Kind() == ast.LiteralKind {
		return a.keys(r, lits, scope)
	}
	return nil
}

// keys returns the keys for "field is one of these values".
func (a *analysis) keys(e ast.Expr, lits []literal, scope []binding) []policy.Key {
	if e.Kind() != ast.SelectKind || e.AsSelect().IsTestOnly() {
		return nil
	}
	s := e.AsSelect()
	if s.Operand().Kind() != ast.IdentKind {
		return nil
	}
	name, field := s.Operand().AsIdent(), s.FieldName()
	root := name
	bound := false
	for _, b := range slices.Backward(scope) {
		if b.name == name {
			root, bound = b.root, true
			break
		}
	}
	kind := policy.KeyKind("")
	switch root + "." + field {
	case "tool.name":
		kind = policy.KeyToolName
	case "tool.kind":
		kind = policy.KeyToolKind
	case "event.type":
		kind = policy.KeyEventType
	case "mcp.server":
		kind = policy.KeyMCPServer
	case "hazards.code":
		kind = policy.KeyHazard
	case "shell.commands.program":
		kind = policy.KeyProgram
	}
	// A root's name may be a loop variable of something else.
	if wantBound := kind == policy.KeyHazard || kind == policy.KeyProgram; kind == "" || bound != wantBound {
		return nil
	}
	var out []policy.Key
	for _, l := range lits {
		if l.text == "" {
			return nil // "" is what an absent fact is equal to
		}
		out = append(out, policy.Key{Kind: kind, Value: l.text})
	}
	return out
}

func present(root string) []policy.Key {
	return []policy.Key{{Kind: policy.KeyPresent, Value: root}}
}

// hazardKeys turns a code, or a group of codes, into keys.
func hazardKeys(code string) []policy.Key {
	var out []policy.Key
	for _, c := range policy.HazardCodes() {
		if policy.HazardMatch(code, c) {
			out = append(out, policy.Key{Kind: policy.KeyHazard, Value: c})
		}
	}
	if out == nil {
		return present("hazards")
	}
	return out
}

// weight guesses how often a guard lets a rule be evaluated.
func weight(keys []policy.Key) int {
	n := 0
	for _, k := range keys {
		switch k.Kind {
		case policy.KeyPresent, policy.KeyToolKind, policy.KeyFileOp:
			n += 100
		case policy.KeyTouch:
			n += 2
		case policy.KeyEventType:
			n += 1000
		default:
			n++
		}
	}
	return n
}
