package loop_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
	"github.com/holdpoint/holdpoint/agenthooks/loop"
)

// An agent with one tool and one rule: no payment above 100.
func Example() {
	limit := agenthooks.InterceptorFunc(func(_ context.Context, c *agenthooks.Context) (agenthooks.Verdict, error) {
		var args struct{ Amount int }
		if c.Point() == agenthooks.PreToolCall && c.DecodeTarget(&args) == nil && args.Amount > 100 {
			return agenthooks.Deny("policy:limit", "too much"), nil
		}
		return agenthooks.Allow(), nil
	})
	host, err := agenthooks.New(agenthooks.Options{
		AgentID: "payer", Framework: "example",
		Interceptors: []agenthooks.Registration{{Interceptor: limit}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	pay := loop.ToolFunc(agenthooks.Tool{Name: "pay"}, func(_ context.Context, args jsontext.Value) (loop.Result, error) {
		fmt.Println("paid", args)
		return loop.Result{Value: jsontext.Value(`"ok"`)}, nil
	})
	// A real model looks at r.Messages; this one asks for two payments, then ends.
	asked := false
	model := loop.ModelFunc(func(_ context.Context, r *loop.Request) (*loop.Reply, error) {
		if asked {
			return &loop.Reply{Response: agenthooks.Response{Content: jsontext.Value(`"done"`), FinishReason: "stop"}}, nil
		}
		asked = true
		return &loop.Reply{Response: agenthooks.Response{FinishReason: "tool_calls", ToolCalls: []agenthooks.ToolCall{
			{ID: "1", Name: "pay", Args: jsontext.Value(`{"Amount":50}`)},
			{ID: "2", Name: "pay", Args: jsontext.Value(`{"Amount":5000}`)},
		}}}, nil
	})

	agent, err := loop.New(loop.Options{Host: host, Model: model, Tools: []loop.Tool{pay}})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	session, err := agent.Open(ctx, agenthooks.SessionOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := session.Turn(ctx, loop.Text("pay both"))
	err = errors.Join(err, session.Close(ctx), host.Wait(ctx))
	fmt.Printf("%s %v, %d call made\n", answer.Content, err, answer.ToolCalls)
	// Output:
	// paid {"Amount":50}
	// "done" <nil>, 1 call made
}
