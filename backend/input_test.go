package backend_test

import (
	"errors"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/backend"
)

type shellInput struct {
	Command string   `json:"command"`
	Paths   []string `json:"paths"`
}

func TestInput(t *testing.T) {
	tests := []struct{ in, err string }{
		{`{"command":"ls","paths":["a"]}`, ""},
		{`{"command":"ls"}`, ""},
		{`{}`, ""},
		{`{"command":"ls","s3cret":1}`, "the tool's input has a member that backend_test.shellInput does not know"},
		{`{"Command":"ls"}`, "the tool's input has a member that backend_test.shellInput does not know"},
		{`{"command":7}`, `the tool's input does not fit backend_test.shellInput: "command" is no string`},
		{`{"paths":[{"s3cret":1}]}`, `the tool's input does not fit backend_test.shellInput: "paths" is no string`},
		{`[]`, `the tool's input does not fit backend_test.shellInput: "" is no backend_test.shellInput`},
		{`{"command":"a","command":"s3cret"}`, "the tool's input is no JSON for backend_test.shellInput"},
	}
	for _, tt := range tests {
		r := &backend.Request{Event: &ahp.Event{Tool: &ahp.Tool{Input: ahp.Raw(tt.in)}}}
		got, err := backend.Input[shellInput](r)
		if (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("%s: error %v, want %q", tt.in, err, tt.err)
		}
		if tt.in == tests[0].in && (got.Command != "ls" || len(got.Paths) != 1) {
			t.Errorf("%+v", got)
		}
	}
	if _, err := backend.Input[shellInput](&backend.Request{Event: &ahp.Event{}}); !errors.Is(err, backend.ErrNoInput) {
		t.Errorf("error %v", err)
	}
}
