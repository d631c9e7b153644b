package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
)

// ValueType says what a value expression makes.
type ValueType string

// The types of values.
const (
	ValueText   ValueType = "text"   // a string
	ValueObject ValueType = "object" // a map with string keys
)

// A ValueProgram is a compiled value expression. It is immutable and safe for
// concurrent use.
type ValueProgram interface {
	// EvalValue makes the value over the facts: a string for [ValueText], and for
	// [ValueObject] what JSON decodes to, map[string]any, []any, string, float64,
	// bool and nil. An error means that there is no value: *EvalError.
	EvalValue(ctx context.Context, in *Input) (any, error)
	// Needs says what the expression reads; Any is nil.
	Needs() Needs
}

// The bounds on the values that rules make. What is beyond them cannot be made,
// which is a failure of the rule.
const (
	MaxValueBytes = 1 << 20 // of an object, as JSON
	MaxValueDepth = 64      // of an object

	// Texts are cut at these bounds, with an ellipsis.
	MaxNoticeBytes    = 2 << 10  // a message to the user
	MaxInjectionBytes = 16 << 10 // a text for the model
)

var (
	errValueBytes = fmt.Errorf("the value is larger than %d bytes", MaxValueBytes)
	errValueDepth = fmt.Errorf("the value is nested deeper than %d", MaxValueDepth)
	errNoInput    = errors.New("the event has no tool input that could be changed")
)

// EncodeValue writes a value of a [ValueProgram] as JSON, the members of objects
// sorted by name. The error says which bound it breaks.
func EncodeValue(v any) (ahp.Raw, error) {
	if !withinDepth(v, MaxValueDepth) {
		return nil, errValueDepth
	}
	b, err := json.Marshal(v, json.Deterministic(true))
	switch {
	case err != nil:
		return nil, errors.New("the value cannot be written as JSON")
	case len(b) > MaxValueBytes:
		return nil, errValueBytes
	}
	return b, nil
}

func withinDepth(v any, depth int) bool {
	switch x := v.(type) {
	case map[string]any:
		if depth == 0 {
			return false
		}
		for _, e := range x {
			if !withinDepth(e, depth-1) {
				return false
			}
		}
	case []any:
		return depth > 0 && !slices.ContainsFunc(x, func(e any) bool { return !withinDepth(e, depth-1) })
	}
	return true
}

// changed returns the members of a merge that differ from what is there.
func changed(now, value map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range value {
		if old, ok := now[k]; !ok || !reflect.DeepEqual(old, v) {
			out[k] = v
		}
	}
	return out
}

// mergeInput puts the members of value into the object raw, shallowly
// (AHP-EDIT-001). Members that stay keep their bytes and their place; new ones
// follow, sorted by name.
func mergeInput(raw ahp.Raw, value map[string]any) (ahp.Raw, error) {
	d := jsontext.NewDecoder(bytes.NewReader(raw))
	out := make([]byte, 0, len(raw)+64)
	member := func(name string, v []byte) error {
		if len(out) > 0 {
			out = append(out, ',')
		} else {
			out = append(out, '{')
		}
		var err error
		if out, err = jsontext.AppendQuote(out, name); err != nil {
			return errors.New("a member's name is not UTF-8")
		}
		out = append(append(out, ':'), v...)
		return nil
	}
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, errNoInput
	}
	left := maps.Clone(value)
	for d.PeekKind() == '"' {
		t, err := d.ReadToken()
		if err != nil {
			return nil, errNoInput
		}
		name := t.String()
		old, err := d.ReadValue()
		if err != nil {
			return nil, errNoInput
		}
		v := []byte(old)
		if n, ok := left[name]; ok {
			if v, err = EncodeValue(n); err != nil {
				return nil, err
			}
			delete(left, name)
		}
		if err := member(name, v); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		v, err := EncodeValue(left[name])
		if err == nil {
			err = member(name, v)
		}
		if err != nil {
			return nil, err
		}
	}
	if len(out) == 0 {
		out = append(out, '{')
	}
	return append(out, '}'), nil
}
