package cel

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	celgo "cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
)

// celType turns a type name of the fact declarations into a CEL type.
func celType(name string) *celgo.Type {
	switch name {
	case "string":
		return celgo.StringType
	case "bool":
		return celgo.BoolType
	case "int":
		return celgo.IntType
	case "dyn":
		return celgo.DynType
	}
	if elem, ok := strings.CutPrefix(name, "list("); ok {
		return celgo.ListType(celType(strings.TrimSuffix(elem, ")")))
	}
	return celgo.ObjectType(name)
}

// factType is a declared type, ready for look-ups.
type factType struct {
	name   string
	typ    *types.Type
	fields map[string]*factField
	names  []string
}

type factField struct {
	policy.FactField
	typ  *types.Type
	elem *factType // of lists and of single objects
}

// provider gives CEL the declared types, and its values. It is immutable.
type provider struct {
	*types.Registry
	types map[string]*factType
	lists *listsValue
}

func newProvider() (*provider, error) {
	reg, err := types.NewRegistry()
	if err != nil {
		return nil, fmt.Errorf("cel: %w", err)
	}
	return &provider{Registry: reg, types: declaredTypes}, nil
}

// declaredTypes is built once: every engine has the same types.
var declaredTypes = func() map[string]*factType {
	m := map[string]*factType{}
	for _, t := range policy.FactTypes() {
		m[t.Name] = &factType{name: t.Name, typ: types.NewObjectType(t.Name, traits.IndexerType|traits.FieldTesterType), fields: map[string]*factField{}}
	}
	for _, t := range policy.FactTypes() {
		for _, f := range t.Fields {
			name := strings.TrimSuffix(strings.TrimPrefix(f.Type, "list("), ")")
			m[t.Name].fields[f.Name] = &factField{FactField: f, typ: celType(f.Type), elem: m[name]}
			m[t.Name].names = append(m[t.Name].names, f.Name)
		}
	}
	return m
}()

func (p *provider) withLists(lists map[string][]string) *provider {
	q := *p
	v := &listsValue{vals: map[string]ref.Val{}}
	for name, items := range lists {
		v.names = append(v.names, name)
		v.vals[name] = stringList(items)
	}
	slices.Sort(v.names)
	q.lists = v
	return &q
}

// FindStructType finds the declared types.
func (p *provider) FindStructType(name string) (*types.Type, bool) {
	if t, ok := p.types[name]; ok {
		return types.NewTypeTypeWithParam(t.typ), true
	}
	if name == "Lists" && p.lists != nil {
		return types.NewTypeTypeWithParam(listsType), true
	}
	return nil, false
}

// FindStructFieldNames lists the fields of a declared type.
func (p *provider) FindStructFieldNames(name string) ([]string, bool) {
	if t, ok := p.types[name]; ok {
		return t.names, true
	}
	if name == "Lists" && p.lists != nil {
		return p.lists.names, true
	}
	return nil, false
}

// FindStructFieldType finds a field of a declared type.
func (p *provider) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	if name == "Lists" && p.lists != nil {
		if _, ok := p.lists.vals[field]; ok {
			return &types.FieldType{Type: celgo.ListType(celgo.StringType)}, true
		}
		return nil, false
	}
	t, ok := p.types[name]
	if !ok {
		return nil, false
	}
	f, ok := t.fields[field]
	if !ok {
		return nil, false
	}
	return &types.FieldType{Type: f.typ}, true
}

// NewValue refuses: conditions read facts, they make none.
func (p *provider) NewValue(name string, _ map[string]ref.Val) ref.Val {
	return types.NewErr("values of type %s cannot be made in a condition", name)
}

// NativeToValue passes fact values through and leaves the rest to the library.
func (p *provider) NativeToValue(v any) ref.Val {
	if r, ok := v.(ref.Val); ok {
		return r
	}
	return p.Registry.NativeToValue(v)
}

// activation gives a condition its variables. Each is made when it is first
// read, once per event.
type activation struct {
	facts *facts.Facts
	roots [16]ref.Val
	lists *listsValue
}

var rootTypes = func() []*factType {
	var out []*factType
	for _, r := range policy.FactRoots() {
		out = append(out, declaredTypes[strings.TrimSuffix(strings.TrimPrefix(r.Type, "list("), ")")])
	}
	return out
}()

// ResolveName finds a variable.
func (a *activation) ResolveName(name string) (any, bool) {
	for i, r := range policy.FactRoots() {
		if r.Name != name {
			continue
		}
		if a.roots[i] == nil {
			a.roots[i] = wrap(a.facts, rootTypes[i], r.Get(a.facts))
		}
		return a.roots[i], true
	}
	if name == "lists" && a.lists != nil {
		return a.lists, true
	}
	return nil, false
}

// Parent returns nil: there is no outer scope.
func (a *activation) Parent() interpreterActivation { return nil }

// wrap turns what a getter gave into a CEL value.
func wrap(f *facts.Facts, elem *factType, v any) ref.Val {
	switch v := v.(type) {
	case string:
		return types.String(v)
	case bool:
		return types.Bool(v)
	case int:
		return types.Int(v)
	case []string:
		return stringList(v)
	case policy.FactList:
		return newFactList(f, elem, v)
	}
	if elem != nil {
		return &object{facts: f, typ: elem, v: v}
	}
	return types.DefaultTypeAdapter.NativeToValue(v)
}

func stringList(v []string) ref.Val {
	return types.NewStringList(types.DefaultTypeAdapter, v)
}

// object is one fact.
type object struct {
	facts *facts.Facts
	typ   *factType
	v     any
}

var (
	_ traits.Indexer     = (*object)(nil)
	_ traits.FieldTester = (*object)(nil)
)

// Get returns a field.
func (o *object) Get(index ref.Val) ref.Val {
	name, ok := index.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(index)
	}
	f, ok := o.typ.fields[string(name)]
	if !ok {
		return types.NewErr("no such field '%s'", string(name))
	}
	return wrap(o.facts, f.elem, f.Get(o.v))
}

// IsSet reports whether a field is not empty.
func (o *object) IsSet(index ref.Val) ref.Val {
	v := o.Get(index)
	if types.IsError(v) {
		return v
	}
	switch v := v.(type) {
	case types.String:
		return types.Bool(v != "")
	case types.Bool:
		return v
	case types.Int:
		return types.Bool(v != 0)
	case traits.Lister:
		return types.Bool(v.Size().(types.Int) > 0)
	case types.Null:
		return types.False
	}
	return types.True
}

// ConvertToNative is not possible.
func (o *object) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("%s cannot become %v", o.typ.name, t)
}

// ConvertToType only knows its own type.
func (o *object) ConvertToType(t ref.Type) ref.Val {
	if t == types.TypeType {
		return o.typ.typ
	}
	return types.NewErr("%s cannot become %s", o.typ.name, t.TypeName())
}

// Equal reports whether other is the same fact.
func (o *object) Equal(other ref.Val) ref.Val {
	p, ok := other.(*object)
	return types.Bool(ok && p.typ == o.typ && p.v == o.v)
}

// Type returns the declared type.
func (o *object) Type() ref.Type { return o.typ.typ }

// Value returns the Go value.
func (o *object) Value() any { return o.v }

// factList is a list of facts. It keeps the Go list beside the CEL one, so that
// functions over lists need not go through values.
type factList struct {
	traits.Lister
	facts *facts.Facts
	items policy.FactList
}

func newFactList(f *facts.Facts, elem *factType, items policy.FactList) ref.Val {
	vals := make([]ref.Val, items.Len())
	objs := make([]object, items.Len())
	for i := range vals {
		objs[i] = object{facts: f, typ: elem, v: items.At(i)}
		vals[i] = &objs[i]
	}
	return &factList{Lister: types.NewRefValList(types.DefaultTypeAdapter, vals), facts: f, items: items}
}

// listsValue holds the named lists of a policy.
type listsValue struct {
	names []string
	vals  map[string]ref.Val
}

var listsType = types.NewObjectType("Lists", traits.IndexerType|traits.FieldTesterType)

// Get returns a list.
func (l *listsValue) Get(index ref.Val) ref.Val {
	name, ok := index.(types.String)
	if !ok {
		return types.MaybeNoSuchOverloadErr(index)
	}
	if v, ok := l.vals[string(name)]; ok {
		return v
	}
	return types.NewErr("no such list '%s'", string(name))
}

// IsSet reports whether there is such a list.
func (l *listsValue) IsSet(index ref.Val) ref.Val {
	return types.Bool(!types.IsError(l.Get(index)))
}

// ConvertToNative is not possible.
func (l *listsValue) ConvertToNative(t reflect.Type) (any, error) {
	return nil, fmt.Errorf("lists cannot become %v", t)
}

// ConvertToType only knows its own type.
func (l *listsValue) ConvertToType(t ref.Type) ref.Val {
	return types.NewErr("lists cannot become %s", t.TypeName())
}

// Equal compares by identity.
func (l *listsValue) Equal(other ref.Val) ref.Val { return types.Bool(other == ref.Val(l)) }

// Type returns the type of lists.
func (l *listsValue) Type() ref.Type { return listsType }

// Value returns the lists.
func (l *listsValue) Value() any { return l.vals }
