package loop

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// runTools makes the tool calls of one answer and returns their messages in
// the order of the calls. Each call has its own two points, and no tool starts
// before its own verdict (AH-12.2-1).
func (t *turn) runTools(ctx context.Context, r *reply) ([]message, error) {
	out := make([]message, len(r.ToolCalls))
	data := make([]string, len(r.ToolCalls))
	for i := range data {
		data[i] = fmt.Sprintf("%s/%d", t.sources[len(t.sources)-1], i)
	}
	t.made = append(t.made, data...)
	seen := map[string]bool{}
	var grp errgroup.Group
	grp.SetLimit(max(1, t.a.o.Parallel))
	var stopped atomic.Bool
	for i, raw := range r.ToolCalls {
		var c agenthooks.ToolCall
		fault := ""
		if r.given != nil {
			c = r.given[i]
		} else if err := json.Unmarshal(raw, &c); err != nil {
			fault = "not a tool call"
		}
		if fault == "" && seen[c.ID] {
			fault = "id: repeated in one response"
		}
		seen[c.ID] = true
		grp.Go(func() error {
			if stopped.Load() {
				return nil
			}
			var err error
			if out[i], err = t.runTool(ctx, &c, data[i], i, fault); err != nil {
				stopped.Store(true)
			}
			return err
		})
	}
	if err := grp.Wait(); err != nil {
		return nil, err
	}
	for _, d := range data {
		t.keep(d)
	}
	return out, nil
}

// runTool makes one call with its two points. An error ends the turn.
func (t *turn) runTool(ctx context.Context, c *agenthooks.ToolCall, data string, i int, fault string) (message, error) {
	if fault != "" { // no context can be built for this call (AH-10.3-7)
		_, err := t.s.hooks.RecordHostFailure(agenthooks.PreToolCall, fmt.Sprintf("$.response.tool_calls[%d]: %s", i, fault))
		if err == nil { // evaluate_only, but there is nothing to run
			return t.a.result(c.ID, quote("blocked: "+agenthooks.ReasonContextInvalid)), nil
		}
		return t.blocked(ctx, c.ID, err)
	}
	e := agenthooks.BeforeTool(c.ID, c.Name, orObject(c.Args))
	e.Data = data
	em, err := t.emit(ctx, e)
	if err != nil {
		return t.blocked(ctx, c.ID, err)
	}
	args := em.Target()
	if args == nil {
		args = orObject(c.Args)
	}

	start := time.Now()
	res := t.invoke(ctx, c.Name, args)
	t.calls.Add(1)
	if res.IsError {
		t.errs.Add(1)
	}

	e = agenthooks.AfterTool(c.ID, c.Name, args, orNull(res.Value), res.IsError)
	e.Data = data
	e.Optional.ToolDuration = time.Since(start)
	em, err = t.emit(ctx, e)
	if err != nil { // the result is dropped; the action is not run again (AH-6.1-1)
		return t.blocked(ctx, c.ID, err)
	}
	value := em.Target()
	if value == nil {
		value = orNull(res.Value)
	}
	return t.a.result(c.ID, value), nil
}

// blocked shows the model a tool error that names the reason (AH-6.2-2), or
// ends the turn.
func (t *turn) blocked(ctx context.Context, id string, err error) (message, error) {
	var b *agenthooks.BlockedError
	if !errors.As(err, &b) || ctx.Err() != nil {
		return nil, err
	}
	if t.a.o.OnHostError == Terminate && strings.HasPrefix(b.Reason(), "host_error:") {
		return nil, err
	}
	return t.a.result(id, quote("blocked: "+b.Reason())), nil
}

// invoke runs a tool and turns whatever goes wrong into an error result.
func (t *turn) invoke(ctx context.Context, name string, args jsontext.Value) (out Result) {
	defer func() {
		if p := recover(); p != nil {
			out = Result{Value: quote(fmt.Sprintf("the tool panicked: %T", p)), IsError: true}
		}
	}()
	tool, ok := t.a.tools[name]
	if !ok {
		return Result{Value: quote("there is no such tool"), IsError: true}
	}
	out, err := tool.Call(ctx, args)
	if err != nil {
		return Result{Value: quote(err.Error()), IsError: true}
	}
	return out
}
