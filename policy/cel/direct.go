package cel

import (
	"slices"
	"strings"

	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"

	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
)

// A condition is a plain expression as a Go function: our own functions over
// literals, comparisons of a field with literals, and what joins them. None of
// these can fail, so that the order in which they are evaluated does not show, and
// none has a cost to bound.
type condition func(f *facts.Facts) bool

// direct returns e as a condition, or nil if it holds anything else.
func (a *analysis) direct(e ast.Expr) condition {
	switch e.Kind() {
	case ast.LiteralKind:
		if b, ok := e.AsLiteral().(types.Bool); ok {
			return func(*facts.Facts) bool { return bool(b) }
		}
	case ast.SelectKind:
		if get := a.fieldOf(e, types.BoolType); get != nil {
			return func(f *facts.Facts) bool { b, _ := get(f).(bool); return b }
		}
	case ast.CallKind:
		return a.directCall(e.AsCall())
	default:
	}
	return nil
}

func (a *analysis) directCall(c ast.CallExpr) condition {
	args := c.Args()
	if name, ok := strings.CutPrefix(c.FunctionName(), internalPrefix); ok {
		return directFunction(name, c)
	}
	switch c.FunctionName() {
	case operators.LogicalAnd, operators.LogicalOr:
		all := make([]condition, len(args))
		for i, arg := range args {
			if all[i] = a.direct(arg); all[i] == nil {
				return nil
			}
		}
		settles := c.FunctionName() == operators.LogicalOr
		return func(f *facts.Facts) bool {
			for _, cond := range all {
				if cond(f) == settles {
					return settles
				}
			}
			return !settles
		}
	case operators.LogicalNot:
		if cond := a.direct(args[0]); cond != nil {
			return func(f *facts.Facts) bool { return !cond(f) }
		}
	case operators.Equals, operators.NotEquals:
		differ := c.FunctionName() == operators.NotEquals
		get, texts := a.fieldOf(args[0], types.StringType), onlyTexts(args[1])
		if get == nil {
			get, texts = a.fieldOf(args[1], types.StringType), onlyTexts(args[0])
		}
		if get != nil && len(texts) == 1 && args[0].Kind() != ast.ListKind && args[1].Kind() != ast.ListKind {
			want := texts[0]
			return func(f *facts.Facts) bool { s, _ := get(f).(string); return (s == want) != differ }
		}
	case "startsWith", "endsWith", "contains":
		return a.directText(c)
	case operators.In:
		get, texts := a.fieldOf(args[0], types.StringType), onlyTexts(args[1])
		if get != nil && texts != nil && args[1].Kind() == ast.ListKind {
			return func(f *facts.Facts) bool { s, _ := get(f).(string); return slices.Contains(texts, s) }
		}
	}
	return nil
}

// directText returns a test of a field's text for a literal.
func (a *analysis) directText(c ast.CallExpr) condition {
	if !c.IsMemberFunction() || len(c.Args()) != 1 || c.Args()[0].Kind() != ast.LiteralKind {
		return nil
	}
	get, texts := a.fieldOf(c.Target(), types.StringType), onlyTexts(c.Args()[0])
	if get == nil || len(texts) != 1 {
		return nil
	}
	test := map[string]func(s, part string) bool{
		"startsWith": strings.HasPrefix, "endsWith": strings.HasSuffix, "contains": strings.Contains,
	}[c.FunctionName()]
	part := texts[0]
	return func(f *facts.Facts) bool { s, _ := get(f).(string); return test(s, part) }
}

// fieldOf returns what reads e, if e is a field of that type of a fact that there is
// one of.
func (a *analysis) fieldOf(e ast.Expr, typ *types.Type) func(f *facts.Facts) any {
	if e.Kind() != ast.SelectKind || e.AsSelect().IsTestOnly() || e.AsSelect().Operand().Kind() != ast.IdentKind {
		return nil
	}
	name := e.AsSelect().Operand().AsIdent()
	for i, r := range policy.FactRoots() {
		if r.Name != name || strings.HasPrefix(r.Type, "list(") {
			continue
		}
		if field := rootTypes[i].fields[e.AsSelect().FieldName()]; field != nil && field.typ.IsExactType(typ) {
			return func(f *facts.Facts) any { return field.Get(r.Get(f)) }
		}
	}
	return nil
}

// directFunction returns a call of one of our functions.
func directFunction(name string, c ast.CallExpr) condition {
	args := c.Args()
	root := map[string]string{"hazard": "hazards", "certain": "hazards", "runs": "shell", "connects": "urls", "touches": "files"}[name]
	if !c.IsMemberFunction() || c.Target().Kind() != ast.IdentKind || c.Target().AsIdent() != root || len(args) == 0 {
		return nil
	}
	texts := onlyTexts(args[len(args)-1])
	if texts == nil {
		return nil
	}
	switch name {
	case "hazard", "certain":
		code, certain := texts[0], name == "certain"
		return func(f *facts.Facts) bool {
			for i := range f.Hazards {
				h := &f.Hazards[i]
				if (!certain || h.Certainty == facts.Certain) && policy.HazardMatch(code, h.Code) {
					return true
				}
			}
			return false
		}
	case "runs":
		list, ok := compiled(shapes, texts)
		if !ok {
			return nil
		}
		return func(f *facts.Facts) bool {
			if f.Shell == nil || f.Shell.Result == nil {
				return false
			}
			for i := range f.Shell.Result.Commands {
				for _, s := range list {
					if s.Match(&f.Shell.Result.Commands[i]) {
						return true
					}
				}
			}
			return false
		}
	case "connects":
		list, ok := compiled(hosts, texts)
		if !ok {
			return nil
		}
		return func(f *facts.Facts) bool {
			for i := range f.URLs {
				for _, p := range list {
					if p.Match(f.URLs[i].Host, f.URLs[i].Port) {
						return true
					}
				}
			}
			return false
		}
	case "touches":
		ops := onlyTexts(args[0])
		list, ok := compiled(paths, texts)
		if !ok || len(ops) != 1 || len(args) != 2 {
			return nil
		}
		op := facts.FileOp(ops[0])
		return func(f *facts.Facts) bool {
			for i := range f.Files {
				x := &f.Files[i]
				if op != "any" && op != x.Op {
					continue
				}
				for _, p := range list {
					if p.Match(x, f) {
						return true
					}
				}
			}
			return false
		}
	}
	return nil
}

// onlyTexts returns the strings of a literal, or of a list that holds literals only
// and at least one; otherwise nil.
func onlyTexts(e ast.Expr) []string {
	lits := literalStrings(e)
	if e.Kind() == ast.ListKind && len(lits) != len(e.AsList().Elements()) {
		return nil
	}
	var out []string
	for _, l := range lits {
		out = append(out, l.text)
	}
	return out
}

func compiled[T any](c *patternCache[T], texts []string) ([]T, bool) {
	out := make([]T, len(texts))
	for i, text := range texts {
		p, err := c.get(text)
		if err != nil {
			return nil, false
		}
		out[i] = p
	}
	return out, true
}
