package agenthooks_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// A host guards one tool call: one interceptor refuses a command and rewrites
// an address.
func Example() {
	guard := func(_ context.Context, c *agenthooks.Context) (agenthooks.Verdict, error) {
		switch {
		case c.Text("tool_call.name") == "shell":
			return agenthooks.Deny("policy:no_shell", "this agent has no shell"), nil
		case c.Point() == agenthooks.PreToolCall && c.Text("tool_call.args.to") != "":
			return agenthooks.Rewrite("$target.to", "audit@example.com"), nil
		}
		return agenthooks.Allow(), nil
	}
	h, err := agenthooks.New(agenthooks.Options{
		AgentID:      "mailer",
		Framework:    "example",
		Interceptors: []agenthooks.Registration{{Name: "guard", Interceptor: agenthooks.InterceptorFunc(guard)}},
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	s, err := h.NewSession(agenthooks.SessionOptions{})
	if err != nil {
		panic(err)
	}
	if _, err := s.Emit(ctx, agenthooks.Startup("send_mail", "shell")); err != nil {
		panic(err)
	}

	call := agenthooks.BeforeTool("tc-1", "send_mail", map[string]string{"to": "a@example.com"})
	if e, err := s.Emit(ctx, call); err == nil {
		fmt.Println("send with", e.Target())
	}
	_, err = s.Emit(ctx, agenthooks.BeforeTool("tc-2", "shell", jsontext.Value(`{"cmd":"id"}`)))
	var blocked *agenthooks.BlockedError
	if errors.As(err, &blocked) {
		fmt.Println("tell the model:", blocked.Reason())
	}
	for _, r := range h.TakeRecords() {
		fmt.Println(r.Sequence, r.Point, r.Verdict.Decision)
	}
	// Output:
	// send with {"to":"audit@example.com"}
	// tell the model: policy:no_shell
	// 0 agent_startup allow
	// 1 pre_tool_call transform
	// 2 pre_tool_call deny
}
