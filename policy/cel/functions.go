package cel

import (
	"sync"

	celgo "cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/interpreter"

	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
)

type interpreterActivation = interpreter.Activation

// A Function is one function that conditions have beside those of the language.
type Function struct {
	Name      string
	Signature string
	Doc       string
	Example   string // a condition that compiles
}

// Functions lists the functions, in the order of the documentation.
func Functions() []Function { return functionDocs }

var functionDocs = []Function{
	{"hazard", "hazard(code string) bool", "A hazard of that code was found. A code that is not in the taxonomy is an error when the policy is loaded; `fs.*` stands for every code of a group.", `hazard("git.force_push")`},
	{"certain", "certain(code string) bool", "Like `hazard`, but only for a hazard that does not depend on anything that the input leaves open.", `certain("fs.*")`},
	{"touches", "touches(op string, pattern string | list(string)) bool", "A file that the pattern names is touched in that way, by whatever tool. `op` is one of the file operations, or `any`. For a path that is a pattern itself, and for whole trees, it is enough that the two can meet.", `touches("write", "~/.ssh/**")`},
	{"runs", "runs(shape string | list(string)) bool", "A program of that shape would start, however it is wrapped or nested. Options may come in any order; `*` stands for one word, a final `...` for anything more.", `runs("terraform apply ...")`},
	{"connects", "connects(host string | list(string)) bool", "A network address on such a host is talked to: `example.com`, `*.example.com`, `.example.com` for both, `10.0.0.0/8`, each with an optional `:port`.", `connects("*.internal.example.com")`},
	{"glob", "File.glob(pattern string | list(string)) bool", "The pattern names the file. See touches.", `files.exists(f, f.op == "read" && f.glob("**/.env"))`},
	{"hostMatch", "string.hostMatch(pattern string | list(string)) bool", "The text is a host that the pattern names.", `urls.exists(u, u.host.hostMatch([".example.com", "10.0.0.0/8"]))`},
}

// Macros turn the short forms into calls on the facts that they read, so that
// the static analysis sees these.
const internalPrefix = "__"

func macros() []celgo.Macro {
	var out []celgo.Macro
	for name, root := range map[string]string{"hazard": "hazards", "certain": "hazards", "runs": "shell", "connects": "urls"} {
		out = append(out, celgo.GlobalMacro(name, 1, func(h celgo.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
			return h.NewMemberCall(internalPrefix+name, h.NewIdent(root), args...), nil
		}))
	}
	return append(out, celgo.GlobalMacro("touches", 2, func(h celgo.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
		return h.NewMemberCall(internalPrefix+"touches", h.NewIdent("files"), args...), nil
	}))
}

func functions() []celgo.EnvOption {
	obj := func(name string) *celgo.Type { return celgo.ObjectType(name) }
	strs := celgo.ListType(celgo.StringType)
	member := func(id string, args []*celgo.Type, f func(args ...ref.Val) ref.Val) celgo.FunctionOpt {
		return celgo.MemberOverload(id, args, celgo.BoolType, celgo.FunctionBinding(f))
	}
	both := func(name string, recv *celgo.Type, before []*celgo.Type, f func(args ...ref.Val) ref.Val) celgo.EnvOption {
		one := append(append([]*celgo.Type{recv}, before...), celgo.StringType)
		many := append(append([]*celgo.Type{recv}, before...), strs)
		return celgo.Function(name, member("holdpoint_"+name+"_one", one, f), member("holdpoint_"+name+"_many", many, f))
	}
	hazards := celgo.ListType(obj("Hazard"))
	return []celgo.EnvOption{
		celgo.Function(internalPrefix+"hazard", member("holdpoint_hazard", []*celgo.Type{hazards, celgo.StringType}, hazardCall(false))),
		celgo.Function(internalPrefix+"certain", member("holdpoint_certain", []*celgo.Type{hazards, celgo.StringType}, hazardCall(true))),
		both(internalPrefix+"touches", celgo.ListType(obj("File")), []*celgo.Type{celgo.StringType}, touches),
		both(internalPrefix+"runs", obj("Shell"), nil, runs),
		both(internalPrefix+"connects", celgo.ListType(obj("URL")), nil, connects),
		both("glob", obj("File"), nil, glob),
		both("hostMatch", celgo.StringType, nil, hostMatch),
	}
}

func hazardCall(certain bool) func(args ...ref.Val) ref.Val {
	return func(args ...ref.Val) ref.Val {
		list, ok := args[0].(*factList)
		code, ok2 := args[1].(types.String)
		if !ok || !ok2 {
			return types.NoSuchOverloadErr()
		}
		for i := range list.items.Len() {
			h := list.items.At(i).(*facts.Hazard)
			if (!certain || h.Certainty == facts.Certain) && policy.HazardMatch(string(code), h.Code) {
				return types.True
			}
		}
		return types.False
	}
}

func touches(args ...ref.Val) ref.Val {
	list, ok := args[0].(*factList)
	op, ok2 := args[1].(types.String)
	if !ok || !ok2 {
		return types.NoSuchOverloadErr()
	}
	if list.items.Len() == 0 {
		return types.False
	}
	return eachText(args[2], func(text string) (bool, error) {
		p, err := paths.get(text)
		if err != nil {
			return false, err
		}
		for i := range list.items.Len() {
			f := list.items.At(i).(*facts.File)
			if (op == "any" || facts.FileOp(op) == f.Op) && p.Match(f, list.facts) {
				return true, nil
			}
		}
		return false, nil
	})
}

func glob(args ...ref.Val) ref.Val {
	o, ok := args[0].(*object)
	if !ok {
		return types.NoSuchOverloadErr()
	}
	f, ok := o.v.(*facts.File)
	if !ok {
		return types.NoSuchOverloadErr()
	}
	return eachText(args[1], func(text string) (bool, error) {
		p, err := paths.get(text)
		if err != nil {
			return false, err
		}
		return p.Match(f, o.facts), nil
	})
}

func runs(args ...ref.Val) ref.Val {
	o, ok := args[0].(*object)
	if !ok {
		return types.NoSuchOverloadErr()
	}
	sh, ok := o.v.(*facts.Shell)
	if !ok {
		return types.NoSuchOverloadErr()
	}
	return eachText(args[1], func(text string) (bool, error) {
		s, err := shapes.get(text)
		if err != nil {
			return false, err
		}
		for i := range sh.Result.Commands {
			if s.Match(&sh.Result.Commands[i]) {
				return true, nil
			}
		}
		return false, nil
	})
}

func connects(args ...ref.Val) ref.Val {
	list, ok := args[0].(*factList)
	if !ok {
		return types.NoSuchOverloadErr()
	}
	return eachText(args[1], func(text string) (bool, error) {
		p, err := hosts.get(text)
		if err != nil {
			return false, err
		}
		for i := range list.items.Len() {
			u := list.items.At(i).(*facts.URL)
			if p.Match(u.Host, u.Port) {
				return true, nil
			}
		}
		return false, nil
	})
}

func hostMatch(args ...ref.Val) ref.Val {
	host, ok := args[0].(types.String)
	if !ok {
		return types.NoSuchOverloadErr()
	}
	return eachText(args[1], func(text string) (bool, error) {
		p, err := hosts.get(text)
		if err != nil {
			return false, err
		}
		return p.Match(string(host), 0), nil
	})
}

// eachText calls f with a text or with each text of a list, until one holds.
func eachText(v ref.Val, f func(string) (bool, error)) ref.Val {
	if s, ok := v.(types.String); ok {
		hit, err := f(string(s))
		if err != nil {
			return types.WrapErr(err)
		}
		return types.Bool(hit)
	}
	list, ok := v.(traits.Lister)
	if !ok {
		return types.MaybeNoSuchOverloadErr(v)
	}
	n, _ := list.Size().(types.Int)
	for i := range n {
		s, ok := list.Get(i).(types.String)
		if !ok {
			return types.NoSuchOverloadErr()
		}
		hit, err := f(string(s))
		if err != nil {
			return types.WrapErr(err)
		}
		if hit {
			return types.True
		}
	}
	return types.False
}

// patternCache keeps compiled patterns. Those of a policy's own text are few; a
// pattern that is put together while a rule runs is kept only while there is
// room.
type patternCache[T any] struct {
	compile func(string) (T, error)
	mu      sync.RWMutex
	m       map[string]T
}

const maxCachedPatterns = 4096

var (
	paths  = &patternCache[*policy.PathPattern]{compile: policy.CompilePath}
	hosts  = &patternCache[*policy.HostPattern]{compile: policy.CompileHost}
	shapes = &patternCache[*policy.Shape]{compile: policy.CompileShape}
)

func (c *patternCache[T]) get(text string) (T, error) {
	c.mu.RLock()
	p, ok := c.m[text]
	c.mu.RUnlock()
	if ok {
		return p, nil
	}
	p, err := c.compile(text)
	if err != nil {
		return p, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= maxCachedPatterns {
		c.m = map[string]T{}
	}
	c.m[text] = p
	return p, nil
}
