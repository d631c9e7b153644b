package agenthooks

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrStreamEnded reports a call on a [Stream] that was finished, failed or
// denied before.
var ErrStreamEnded = errors.New("stream has ended")

// Finish reasons that a host writes itself while a response is streaming.
const (
	FinishIncremental = "incremental"       // more is to come
	FinishIncomplete  = "stream_incomplete" // the stream died
)

// StreamOptions configures a [Stream].
type StreamOptions struct {
	Model    string
	Optional Optional
	Data     string   // as in [Event]
	From     []string // as in [Event]

	// Incremental asks at each chunk and releases what a verdict covers. The
	// host then has to declare buffered_output: false, with exposure bound
	// "none": nothing leaves ahead of its verdict, but a deny at output cannot
	// take back what has left. Without it a stream only collects, one
	// post_model_call covers the whole response, and nothing is released.
	Incremental bool

	// Release gets text that a permit covers, in order and once. Text may be
	// stored when, and only when, it was released. An error ends the stream.
	Release func(text string) error
}

// A Stream is one streamed model response on its way to a verdict (AH 12.1).
// Call Chunk for each piece but the last, then Finish with the last piece of a
// complete response, or Fail when the stream died. Any error ends it. One
// goroutine at a time may use it.
type Stream struct {
	s        *Session
	o        StreamOptions
	text     string // assembled, with the transforms that verdicts made
	tail     string // the start of a code point that a chunk cut in two
	released int    // bytes of text
	ended    bool
}

// Stream returns a stream for one model response.
func (s *Session) Stream(o StreamOptions) *Stream { return &Stream{s: s, o: o} }

// Released is the text that has left so far. After an end by deny or failure
// it is all that may be stored.
func (t *Stream) Released() string { return t.text[:t.released] }

// Chunk takes a piece that is not the last. A nil error means: go on. Each piece
// is a segment with an emission of its own, an empty one too (AH-12.1-4); only
// one that ends before the first whole code point waits for the next.
func (t *Stream) Chunk(ctx context.Context, piece string) error {
	if err := t.take(ctx, piece); err != nil {
		return err
	}
	if !t.o.Incremental || piece != "" && len(t.text) == t.released {
		return nil
	}
	_, err := t.ask(ctx, Response{FinishReason: FinishIncremental})
	return err
}

// Finish takes the last piece of a complete response, "" if it came before,
// with the response's tool calls and finish reason. Content of r counts only
// when no text came at all. The emission's target is the response to use.
func (t *Stream) Finish(ctx context.Context, piece string, r Response) (*Emission, error) {
	if err := t.take(ctx, piece); err != nil {
		return nil, err
	}
	t.text, t.tail = t.text+t.tail, "" // cut short: the context is refused for it
	out, err := t.ask(ctx, r)
	t.ended = true
	return out, err
}

// Fail ends a stream that died in the middle, with the piece that was cut off.
// No verdict is asked for: what none covers fails closed, in every mode
// (AH-12.1-2, AH 12.1 item 3). The error is always a [*BlockedError] or
// [ErrStreamEnded].
func (t *Stream) Fail(ctx context.Context, piece string) error {
	if err := t.take(ctx, piece); err != nil {
		return err
	}
	content, _ := jsontext.AppendQuote(nil, strings.ToValidUTF8(t.text, "\uFFFD"))
	return t.refuse(ctx, content)
}

// take appends a piece. Whole code points only: a piece may end within one.
func (t *Stream) take(ctx context.Context, piece string) error {
	if t.ended {
		return ErrStreamEnded
	}
	if len(t.text)+len(t.tail)+len(piece) > t.s.h.bounds.bytes {
		return t.refuse(ctx, nil) // it cannot be assembled
	}
	piece = t.tail + piece
	n := len(piece)
	for back := 1; back <= min(utf8.UTFMax-1, len(piece)); back++ {
		i := len(piece) - back
		if utf8.RuneStart(piece[i]) {
			if !utf8.FullRuneInString(piece[i:]) {
				n = i
			}
			break
		}
	}
	t.text, t.tail = t.text+piece[:n], piece[n:]
	return nil
}

func (t *Stream) event(r Response) Event {
	return Event{point: PostModelCall, name: t.o.Model, response: r, Optional: t.o.Optional, Data: t.o.Data, From: t.o.From}
}

// ask emits over all text so far and releases what the verdict covers.
func (t *Stream) ask(ctx context.Context, r Response) (*Emission, error) {
	if t.text != "" || r.Content == nil && r.FinishReason == FinishIncremental {
		q, err := jsontext.AppendQuote(nil, t.text)
		if err != nil { // invalid UTF-8: the builder has to see it and refuse
			q = append(append([]byte{'"'}, t.text...), '"')
		}
		r.Content = q
	}
	e := t.event(r)
	var veto func(*Context) string
	if t.o.Incremental {
		veto = t.veto
	}
	out, err := t.s.emit(ctx, &e, veto)
	if err != nil {
		t.ended = true
		return nil, err
	}
	if !t.o.Incremental {
		return out, nil
	}
	if out.context != nil { // else evaluate_only goes on without one
		if next, ok := out.context.content(); ok && strings.HasPrefix(next, t.Released()) {
			t.text = next
		}
	}
	rest := t.text[t.released:]
	t.released = len(t.text)
	if rest != "" && t.o.Release != nil {
		if err := t.o.Release(rest); err != nil {
			t.ended = true
			return nil, err
		}
	}
	return out, nil
}

// content is the target's text content, and whether it is text.
func (c *Context) content() (string, bool) {
	v := member(c.text, c.top[topTarget], "content").of(c.text)
	return text(v)
}

// veto denies a transform that would rewrite what has left already
// (AH-12.1-6).
func (t *Stream) veto(c *Context) string {
	next, ok := c.content()
	if !ok && t.text == "" {
		return "" // a response without text
	}
	if !ok || !strings.HasPrefix(next, t.Released()) {
		return ReasonStreamingUnsupported
	}
	return ""
}

// refuse writes the record of content that no verdict covers (AH-12.1-5) and
// ends the stream.
func (t *Stream) refuse(ctx context.Context, content jsontext.Value) error {
	t.ended = true
	e := t.event(Response{Content: content, FinishReason: FinishIncomplete})
	return t.s.refuse(&e, ReasonStreamingUnsupported)
}

// refuse is an emission that the host denies itself, without asking anybody.
func (s *Session) refuse(e *Event, reason string) error {
	seq, turn, err := s.number(e.point)
	if err != nil {
		return err
	}
	f := s.facts(e, seq)
	r := &run{h: s.h, mode: f.mode, decidedBy: -1, truncated: -1}
	c, refused := s.frame.build(e, seq, f.timestamp, turn, s.data.union(e.From).sources(), s.h.bounds)
	if refused == nil {
		r.inputID, refused = s.h.identify(c)
		r.enforcedID = r.inputID
	}
	if refused != nil {
		r.cause = refused
	}
	r.deny(reason, "")
	out, err := r.close(f)
	if err == nil { // evaluate_only enforces nothing, but nothing is there to go on with
		err = &BlockedError{Record: out.Record}
	}
	return err
}
