package agenthooks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

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
	if blocked, ok := errors.AsType[*agenthooks.BlockedError](err); ok {
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

// An approver lifts a deny for one context: its answer names that context.
func ExampleResolver() {
	ask := func(_ context.Context, c *agenthooks.Context) (agenthooks.Verdict, error) {
		if c.Point() == agenthooks.PreToolCall {
			return agenthooks.Escalate("policy:payment", "a person has to agree"), nil
		}
		return agenthooks.Allow(), nil
	}
	boss := func(_ context.Context, r *agenthooks.ApprovalRequest) (agenthooks.Resolution, error) {
		fmt.Println("asked about", string(r.Context.Target()))
		return r.Approve(agenthooks.Rewrite("$target.amount", 10)), nil
	}
	h, err := agenthooks.New(agenthooks.Options{
		AgentID: "payer", Framework: "example",
		Interceptors: []agenthooks.Registration{{Interceptor: agenthooks.InterceptorFunc(ask)}},
		Resolver:     agenthooks.ResolverFunc(boss),
		Redactor:     agenthooks.RedactPaths("[redacted]", "$target.card"),
	})
	if err != nil {
		panic(err)
	}
	s, err := h.NewSession(agenthooks.SessionOptions{})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	if _, err := s.Emit(ctx, agenthooks.Startup("pay")); err != nil {
		panic(err)
	}
	e, err := s.Emit(ctx, agenthooks.BeforeTool("tc-1", "pay", jsontext.Value(`{"amount":99,"card":"4111"}`)))
	if err != nil {
		panic(err)
	}
	fmt.Println("pay with", string(e.Target()), "by", e.Record.ResolvedBy)
	// Output:
	// asked about {"amount":99,"card":"[redacted]"}
	// pay with {"amount":10,"card":"4111"} by approval
}

// A stream releases text when, and only when, a verdict covers it.
func ExampleSession_Stream() {
	filter := func(_ context.Context, c *agenthooks.Context) (agenthooks.Verdict, error) {
		if strings.Contains(c.Text("response.content"), "password") {
			return agenthooks.Deny("dlp:secret", ""), nil
		}
		return agenthooks.Allow(), nil
	}
	h, err := agenthooks.New(agenthooks.Options{
		AgentID: "chat", Framework: "example",
		Interceptors: []agenthooks.Registration{{Interceptor: agenthooks.InterceptorFunc(filter)}},
	})
	if err != nil {
		panic(err)
	}
	s, err := h.NewSession(agenthooks.SessionOptions{})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	if _, err := s.Emit(ctx, agenthooks.Startup()); err != nil {
		panic(err)
	}
	stream := s.Stream(agenthooks.StreamOptions{Model: "m", Incremental: true, Release: func(text string) error {
		fmt.Printf("out: %q\n", text)
		return nil
	}})
	for _, piece := range []string{"Hello. ", "The pass", "word is "} {
		if err := stream.Chunk(ctx, piece); err != nil {
			fmt.Println(err)
			break
		}
	}
	fmt.Printf("may be stored: %q\n", stream.Released())
	// Output:
	// out: "Hello. "
	// out: "The pass"
	// post_model_call blocked: dlp:secret
	// may be stored: "Hello. The pass"
}
