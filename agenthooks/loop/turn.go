package loop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// ErrNoAnswer reports a turn that used up its model calls without an answer.
// Nothing was blocked and nothing passed output.
var ErrNoAnswer = errors.New("the model gave no final answer")

// ErrClosed reports a turn after the session's end.
var ErrClosed = errors.New("session is closed")

// An Answer is what a turn gave.
type Answer struct {
	Content    jsontext.Value // null when the model answered with no content
	ModelCalls int
	ToolCalls  int // calls that were really made
}

// turn is one request on its way to its answer. Only a turn that is completed
// becomes history: what was denied must not live on (AH-6.1-1).
type turn struct {
	s        *Session
	a        *Agent
	messages []message
	sources  []string     // names of the data that messages derives from
	made     []string     // names of all data that this turn has asked about
	released string       // what left of the current model response
	calls    atomic.Int64 // tool calls made
	errs     atomic.Int64
}

// Turn answers one request. The error is a [*agenthooks.BlockedError] when a
// verdict ended the turn, [ErrNoAnswer], or what a model call, the caller's
// Release or ctx gave. A turn that ended in an error leaves nothing in the
// conversation; the next one may go on.
func (s *Session) Turn(ctx context.Context, in Message) (*Answer, error) {
	if s.closed {
		return nil, ErrClosed
	}
	t := &turn{s: s, a: s.a, messages: slices.Clone(s.history), sources: slices.Clone(s.sources)}
	s.turns++
	ans, err := t.run(ctx, in)
	s.calls += t.calls.Load()
	s.errs += t.errs.Load()
	s.failed = err
	if errors.Is(err, ErrNoAnswer) {
		s.failed = nil
	}
	if err != nil {
		for _, data := range t.made {
			s.hooks.Forget(data)
		}
		return nil, err
	}
	s.history, s.sources = t.messages, t.sources
	ans.ToolCalls = int(t.calls.Load())
	return ans, nil
}

// History is the conversation so far, an array of messages: all that the loop
// keeps between turns.
func (s *Session) History() jsontext.Value { return array(s.history) }

func (t *turn) run(ctx context.Context, in Message) (*Answer, error) {
	e := agenthooks.External(in.Role, orNull(in.Content))
	e.Data = numbered("input", t.s.turns)
	t.made = append(t.made, e.Data)
	em, err := t.emit(ctx, e)
	if err != nil {
		return nil, err
	}
	var input struct {
		Role    string         `json:"role"`
		Content jsontext.Value `json:"content"`
	}
	input.Role, input.Content = in.Role, in.Content
	if err := decode(em, &input); err != nil {
		return nil, err
	}
	t.keep(e.Data)
	t.messages = append(t.messages, simple(input.Role, input.Content))

	for n := 1; n <= t.a.o.MaxModelCalls; n++ {
		r, err := t.respond(ctx, numbered(numbered("response", t.s.turns), n))
		if err != nil {
			return nil, err
		}
		if len(r.ToolCalls) == 0 {
			content, err := t.finish(ctx, r.Content)
			return &Answer{Content: content, ModelCalls: n}, err
		}
		results, err := t.runTools(ctx, r)
		if err != nil {
			return nil, err
		}
		if asked := t.a.asked(r.Content, r.ToolCalls); t.a.o.Plain {
			t.messages = append(append(t.messages, results...), asked)
		} else {
			t.messages = append(append(t.messages, asked), results...)
		}
	}
	return nil, ErrNoAnswer
}

// emit asks about e, whose target derives from everything so far.
func (t *turn) emit(ctx context.Context, e agenthooks.Event) (*agenthooks.Emission, error) {
	e.From = t.sources
	return t.s.hooks.Emit(ctx, e)
}

// keep notes that later data derives from the named data.
func (t *turn) keep(data string) {
	t.sources = append(slices.Clip(t.sources), data)
}

// decode takes the value to proceed with. Where evaluate_only goes on with a
// context that could not be built, that is v itself. It decodes into fresh
// memory: what v holds may be the caller's.
func decode[T any](em *agenthooks.Emission, v *T) error {
	target := em.Target()
	if target == nil {
		return nil
	}
	var fresh T
	if err := json.Unmarshal(target, &fresh); err != nil {
		return fmt.Errorf("the target has not the shape of its point: %T", err)
	}
	*v = fresh
	return nil
}

// reply is a response whose tool calls are read one by one, because nothing
// checks their shape before the tool points do.
type reply struct {
	Content   jsontext.Value   `json:"content"`
	ToolCalls []jsontext.Value `json:"tool_calls"`

	given []agenthooks.ToolCall // instead, where evaluate_only goes on with what no context can hold
}

// respond makes one model call with its two points.
func (t *turn) respond(ctx context.Context, data string) (*reply, error) {
	t.released = ""
	t.made = append(t.made, data)
	e := agenthooks.BeforeModel(t.a.o.ModelID, array(t.messages))
	e.Optional.RequestID, e.Optional.Tools = data, t.a.specs
	em, err := t.emit(ctx, e)
	if err != nil {
		return nil, err
	}
	if target := em.Target(); target != nil {
		if t.messages, err = split(target); err != nil {
			return nil, fmt.Errorf("messages: %w", err)
		}
	}
	em, got, err := t.call(ctx, data)
	if err != nil {
		return nil, err
	}
	r := &reply{}
	if em.Target() == nil {
		r.Content, r.given = got.Content, got.ToolCalls
		for i := range got.ToolCalls {
			r.ToolCalls = append(r.ToolCalls, asText(&got.ToolCalls[i]))
		}
	}
	if err := decode(em, r); err != nil {
		return nil, err
	}
	t.keep(data)
	return r, nil
}

// call asks the model and passes post_model_call, as often as streaming needs.
func (t *turn) call(ctx context.Context, data string) (*agenthooks.Emission, *Reply, error) {
	var (
		stream *agenthooks.Stream
		sent   strings.Builder
		stop   error
	)
	opt := agenthooks.Optional{RequestID: data}
	open := func() {
		if stream == nil {
			stream = t.s.hooks.Stream(agenthooks.StreamOptions{
				Model: t.a.o.ModelID, Optional: opt, Data: data, From: t.sources,
				Incremental: t.a.o.Incremental, Release: t.a.o.Release,
			})
		}
	}
	req := &Request{ID: data, Messages: array(t.messages), Tools: t.a.specs}
	req.Piece = func(text string) error {
		if stop != nil {
			return stop
		}
		first := stream == nil
		open()
		if first && text == "" {
			return nil
		}
		sent.WriteString(text)
		stop = stream.Chunk(ctx, text)
		return stop
	}
	got, err := ask(ctx, t.a.o.Model, req)
	var broken *BrokenStreamError
	switch {
	case stop != nil:
		return nil, nil, stop
	case errors.As(err, &broken):
		open()
		return nil, nil, stream.Fail(ctx, broken.Piece)
	case err != nil && sent.Len() > 0:
		return nil, nil, errors.Join(stream.Fail(ctx, ""), err)
	case err != nil: // an errored action: no point reports it (AH-12.1-3)
		return nil, nil, fmt.Errorf("model call: %w", err)
	}
	if stream == nil {
		e := agenthooks.AfterModel(t.a.o.ModelID, got.Response)
		e.Optional, e.Data = opt, data
		e.Optional.Usage = got.Usage
		em, err := t.emit(ctx, e)
		return em, got, err
	}
	rest, ok := remainder(got.Content, sent.String())
	if !ok {
		return nil, nil, stream.Fail(ctx, "") // the pieces were of something else
	}
	em, err := stream.Finish(ctx, rest, got.Response)
	if err == nil && t.a.o.Incremental {
		t.released = stream.Released()
	}
	return em, got, err
}

// remainder is the text of content behind what was sent; absent content adds
// nothing.
func remainder(content jsontext.Value, sent string) (rest string, ok bool) {
	if isNull(content) {
		return "", true
	}
	var whole string
	if json.Unmarshal(content, &whole) != nil {
		return "", sent == ""
	}
	return strings.CutPrefix(whole, sent)
}

// ask contains a panic of the model: other sessions share the process.
func ask(ctx context.Context, m Model, r *Request) (out *Reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			out, err = nil, fmt.Errorf("panic: %T", p)
		}
	}()
	if out, err = m.Respond(ctx, r); out == nil && err == nil {
		err = errors.New("no reply")
	}
	return out, err
}

// finish passes output and hands the answer over.
func (t *turn) finish(ctx context.Context, content jsontext.Value) (jsontext.Value, error) {
	if isNull(content) {
		return orNull(nil), nil
	}
	e := agenthooks.Final(content)
	e.Data = numbered("output", t.s.turns)
	t.made = append(t.made, e.Data)
	em, err := t.emit(ctx, e)
	if err != nil {
		return nil, err
	}
	out := struct {
		Content jsontext.Value `json:"content"`
	}{content}
	if err := decode(em, &out); err != nil {
		return nil, err
	}
	var text string
	if t.a.o.Release != nil && json.Unmarshal(out.Content, &text) == nil {
		// What has left cannot be taken back; only what follows it may go.
		if rest, ok := strings.CutPrefix(text, t.released); ok && rest != "" {
			if err := t.a.o.Release(rest); err != nil {
				return nil, err
			}
		}
	}
	t.keep(e.Data)
	t.messages = append(t.messages, simple("assistant", out.Content))
	return out.Content, nil
}
