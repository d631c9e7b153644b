package backend

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/holdpoint/holdpoint/ahp"
)

// ErrNoInput reports an event without a tool.
var ErrNoInput = errors.New("the event has no tool input")

// Input decodes the input of the event's tool into a T, strictly: every member has a
// field of that exact name, and a value of its sort. A handler that knows a tool
// looks at [ahp.Tool.Name] first; for tools in general, look at [ahp.Tool.Input]. The
// text of an error holds no value of the input.
func Input[T any](r *Request) (T, error) {
	var v T
	if r.Event == nil || r.Event.Tool == nil {
		return v, ErrNoInput
	}
	err := decodeInput(r.Event.Tool.Input, &v)
	return v, err
}

func decodeInput(raw ahp.Raw, v any) error {
	err := json.Unmarshal(raw, v, json.RejectUnknownMembers(true))
	if err == nil {
		return nil
	}
	want := reflect.TypeOf(v).Elem()
	var no *json.SemanticError
	switch {
	case !errors.As(err, &no):
		return fmt.Errorf("the tool's input is no JSON for %v", want)
	case errors.Is(err, json.ErrUnknownName):
		return fmt.Errorf("the tool's input has a member that %v does not know", want)
	}
	at, _, _ := strings.Cut(strings.TrimPrefix(string(no.JSONPointer), "/"), "/")
	return fmt.Errorf("the tool's input does not fit %v: %q is no %v", want, at, no.GoType)
}
