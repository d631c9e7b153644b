package loop

import (
	"context"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// A Model answers model requests.
//
// A model that streams hands over each piece but the last with [Request].Piece
// as it comes, and returns the whole content at the end: what no piece had is
// the last piece. When a stream dies it returns a [*BrokenStreamError].
type Model interface {
	Respond(ctx context.Context, r *Request) (*Reply, error)
}

// ModelFunc is a function that serves as a [Model].
type ModelFunc func(context.Context, *Request) (*Reply, error)

// Respond calls f.
func (f ModelFunc) Respond(ctx context.Context, r *Request) (*Reply, error) { return f(ctx, r) }

// A Request is one model call, as the interceptors let it through.
type Request struct {
	ID       string            // the request_id of both points of the call
	Messages jsontext.Value    // an array of {role, content, ...}
	Tools    []agenthooks.Tool // what the model may call

	// Piece takes the next piece of a streamed answer. An error means that
	// nothing more is wanted; return it. An empty first piece only says that
	// the answer is streamed, which matters for an answer of one piece; a later
	// one is a segment like any other, so leave it out where it means nothing.
	Piece func(text string) error
}

// A Reply is what a model answered.
type Reply struct {
	agenthooks.Response
	Usage *agenthooks.Usage // nil when unknown
}

// A BrokenStreamError says that a model's stream died (AH-12.1-2). No verdict
// will be asked for Piece, and it reaches nobody.
type BrokenStreamError struct {
	Piece string // what came of the piece that was cut off
	Err   error  // cause; may be nil
}

// Error says that the stream died, without its content.
func (e *BrokenStreamError) Error() string {
	if e.Err == nil {
		return "the model's stream broke off"
	}
	return fmt.Sprintf("the model's stream broke off: %v", e.Err)
}

// Unwrap returns Err.
func (e *BrokenStreamError) Unwrap() error { return e.Err }

// A Tool is something that the model can call. It is called concurrently where
// [Options].Parallel says so.
type Tool interface {
	// Spec is the tool as the model sees it. The name must not change.
	Spec() agenthooks.Tool

	// Call runs the tool with args, a JSON object that the interceptors let
	// through. An error becomes an error result with its text, which the
	// model sees like any other result.
	Call(ctx context.Context, args jsontext.Value) (Result, error)
}

// A Result is what a tool call gave.
type Result struct {
	Value   jsontext.Value // nil is null
	IsError bool
}

// ToolFunc makes a [Tool] of a function.
func ToolFunc(spec agenthooks.Tool, call func(context.Context, jsontext.Value) (Result, error)) Tool {
	return toolFunc{spec, call}
}

type toolFunc struct {
	spec agenthooks.Tool
	call func(context.Context, jsontext.Value) (Result, error)
}

func (t toolFunc) Spec() agenthooks.Tool { return t.spec }

func (t toolFunc) Call(ctx context.Context, args jsontext.Value) (Result, error) {
	return t.call(ctx, args)
}
