package backend

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
)

// A Server answers AHP 0.1 messages with a [Handler]. One server may serve any
// number of HTTP listeners, stdio streams and local callers at the same time;
// they share its limits and its memory of answers. It starts nothing by itself;
// [Server.Shutdown] ends it.
type Server struct {
	handler Handler
	opts    Options
	memory  memory

	ctx    context.Context // ends when Shutdown gives up on what is under way
	cancel context.CancelFunc

	mu       sync.Mutex
	active   int           // slots in use
	draining bool          //
	idle     chan struct{} // closed when draining and nothing is active
}

// New returns a server. The error names everything that is wrong with the options.
func New(h Handler, o Options) (*Server, error) {
	o, err := o.complete()
	if h == nil {
		err = errors.Join(errors.New("handler: required"), err)
	}
	if err != nil {
		return nil, err
	}
	s := &Server{handler: h, opts: o, idle: make(chan struct{})}
	s.memory.init(o.MemoryEntries, o.MemoryBytes, o.MemoryTTL)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s, nil
}

// Shutdown stops the server: from now on requests are answered with -32003 and
// observations are dropped. It waits for the calls that are under way. If ctx
// ends first it cancels theirs, waits for those that heed it up to one second
// more, and returns ctx's cause. Carriers are not closed; end them afterwards.
// It may be called again.
func (s *Server) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	if !s.draining {
		s.draining = true
		if s.active == 0 {
			close(s.idle)
		}
	}
	s.mu.Unlock()
	defer s.cancel()
	select {
	case <-s.idle:
		return nil // whatever became of ctx: there was nothing to wait for
	default:
	}
	select {
	case <-s.idle:
		return nil
	case <-ctx.Done():
	}
	s.cancel()
	last := time.NewTimer(time.Second)
	defer last.Stop()
	select {
	case <-s.idle:
	case <-last.C:
	}
	return context.Cause(ctx)
}

// An exchange is one message under way, in one allocation. It is one unit of
// MaxConcurrent. The request and the call of the handler each hold it, so that a
// handler that does not return keeps it.
type exchange struct {
	s    *Server
	refs atomic.Int32
	req  Request
	ctx  callContext // of a prompt handler
}

var (
	errDraining   = errors.New("shutting down")
	errOverloaded = errors.New("too many requests under way")
)

func (s *Server) begin() (*exchange, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.draining:
		return nil, errDraining
	case s.active >= s.opts.MaxConcurrent:
		return nil, errOverloaded
	}
	s.active++
	x := &exchange{s: s}
	x.refs.Store(1)
	return x, nil
}

func (x *exchange) end() {
	if x.refs.Add(-1) > 0 {
		return
	}
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.active--; s.active == 0 && s.draining {
		close(s.idle)
	}
}

// outcome is what became of a message, for carriers that say more than the answer.
type outcome uint8

const (
	answered outcome = iota // there is an answer
	accepted                // a notification that was handed on
	refused                 // a notification that is none of ours
	dropped                 // a notification that there is no room for
	gone                    // the caller's context ended: nobody reads the answer
)

// answer handles one message and appends the answer to dst, if it gets one.
func (s *Server) answer(ctx context.Context, dst, frame []byte, principal string) ([]byte, outcome) {
	m, bad := wire01.DecodeRequest(frame, s.opts.Limits)
	if bad != nil {
		return s.reject(dst, bad)
	}
	x, err := s.begin()
	if err != nil {
		if m.Kind == wire01.Notification {
			return dst, dropped
		}
		return s.fail(dst, m.ID, ahp.CodeUnavailable), answered
	}
	defer x.end()
	x.req = Request{
		Event: m.Event, EventText: m.EventText, Principal: principal,
		Capabilities: m.Capabilities, Extensions: m.Extensions, HasExtensions: m.HasExtensions,
	}
	if m.Kind == wire01.Notification {
		if s.opts.Observe != nil {
			_, _ = s.call(ctx, x, true)
		}
		return dst, accepted
	}
	return s.intercept(ctx, dst, x, m)
}

// reject answers what is no valid request. The text of the error holds nothing of
// the message.
func (s *Server) reject(dst []byte, bad *wire01.Error) ([]byte, outcome) {
	s.opts.Logger.Debug("message refused", "code", int(bad.Code), "pointer", bad.Pointer, "expected", bad.Expected)
	if bad.Notification {
		return dst, refused
	}
	var data ahp.Raw
	if bad.Code == ahp.CodeUnsupportedVersion {
		data = ahp.Raw(`{"supported":["0.1"]}`)
	}
	out, err := wire01.AppendError(dst, bad.ID, bad.Code, bad.Code.Name()+": "+bad.Error(), data)
	if err != nil { // an id that cannot be echoed; the others cannot fail
		out, _ = wire01.AppendError(dst, nil, bad.Code, bad.Code.Name(), data)
	}
	return out, answered
}

func (s *Server) fail(dst []byte, id ahp.Raw, code ahp.ErrorCode) []byte {
	out, err := wire01.AppendError(dst, id, code, code.Name(), nil)
	if err != nil {
		panic(fmt.Sprintf("backend: id of a valid request: %v", err))
	}
	return out
}

func (s *Server) intercept(ctx context.Context, dst []byte, x *exchange, m *wire01.Message) ([]byte, outcome) {
	k := key{principal: x.req.Principal, source: m.Event.Source, id: m.Event.ID}
	shared, held := m.SharedText()
	mine, tail, err := s.memory.begin(ctx, k, m.EventText, shared, held)
	var out []byte
	switch {
	case err != nil:
	case mine == nil: // the answer of the first, behind this one's own spelling of the id
		out = append(append(append(dst, answerHead...), m.ID...), tail...)
	default:
		out, err = s.decide(ctx, dst, x, mine, m.ID)
	}
	switch {
	case err == nil:
		return out, answered
	case errors.Is(err, errConflict):
		out, err := wire01.AppendError(dst, m.ID, ahp.CodeInvalidParams, ahp.CodeInvalidParams.Name()+": the id of an earlier event with other content", nil)
		if err != nil {
			return s.fail(dst, m.ID, ahp.CodeInvalidParams), answered
		}
		return out, answered
	case ctx.Err() != nil:
		return dst, gone
	case errors.Is(err, ErrUnavailable) || errors.Is(err, errTimeout):
		s.opts.Logger.Warn("handler unavailable", "error", err)
		return s.fail(dst, m.ID, ahp.CodeUnavailable), answered
	}
	s.opts.Logger.Error("handler failed", "error", err)
	return s.fail(dst, m.ID, ahp.CodeInternal), answered
}

var (
	errEffects = errors.New("the handler returned an effect that was not offered")
	errPanic   = errors.New("the handler panicked")
	errTimeout = errors.New("the handler did not return in time")
)

// answerHead is how every answer begins; the id and the tail follow.
const answerHead = `{"jsonrpc":"2.0","id":`

// noEffectsTail ends every answer without effects, so that the memory keeps one.
const noEffectsTail = `,"result":{"protocolVersion":"0.1","effects":[]}}`

// decide asks the handler and appends the answer to dst. The memory hears of it,
// whatever becomes of the call.
func (s *Server) decide(ctx context.Context, dst []byte, x *exchange, e *entry, id ahp.Raw) (out []byte, err error) {
	var tail string
	defer func() { s.memory.end(e, tail, err == nil && tail != "") }()
	caps := x.req.Capabilities // the handler may do what it likes with the request
	effects, err := s.call(ctx, x, false)
	if err != nil {
		return dst, err
	}
	if len(effects) == 0 {
		tail = noEffectsTail
		return append(append(append(dst, answerHead...), id...), tail...), nil
	}
	for _, f := range effects {
		if d, ok := f.(*ahp.Deny); !ok || d == nil || !caps.Allows(ahp.EffectDeny) {
			return dst, errEffects
		}
	}
	out, err = wire01.AppendResult(dst, id, effects, nil)
	if err != nil {
		return dst, fmt.Errorf("the handler's effects: %w", err)
	}
	tail = string(out[len(dst)+len(answerHead)+len(id):])
	return out, nil
}

type called struct {
	effects []ahp.Effect
	err     error
}

// call asks the handler, or tells Observe, and returns what came of it, or as soon
// as ctx or the time for it has ended. The call keeps its place until the handler
// has returned.
func (s *Server) call(ctx context.Context, x *exchange, observe bool) ([]ahp.Effect, error) {
	if s.opts.Prompt {
		c := &x.ctx
		c.start(ctx, s)
		defer c.end()
		x.req.Deadline = c.deadline
		done := s.guarded(c, &x.req, observe)
		if why := c.why(); why != nil {
			return nil, why // late is no answer
		}
		return done.effects, done.err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.opts.Timeout, errTimeout)
	defer cancel()
	stop := context.AfterFunc(s.ctx, cancel)
	defer stop()
	x.req.Deadline, _ = ctx.Deadline()
	done := make(chan called, 1)
	x.refs.Add(1)
	go func() {
		defer x.end()
		c := called{err: errPanic} // stands if the handler ends the goroutine instead of returning
		defer func() { done <- c }()
		c = s.guarded(ctx, &x.req, observe)
	}()
	var c called
	select {
	case c = <-done:
	case <-ctx.Done():
		select {
		case c = <-done: // what came in the same moment counts
		default:
			return nil, s.ended(ctx)
		}
	}
	if c.err != nil && ctx.Err() != nil && errors.Is(c.err, ctx.Err()) {
		return nil, s.ended(ctx)
	}
	return c.effects, c.err
}

// guarded calls the handler, or Observe; a panic of it is an error.
func (s *Server) guarded(ctx context.Context, r *Request, observe bool) (c called) {
	defer func() {
		if p := recover(); p != nil {
			// Neither the value nor its text: both may hold what the event held.
			s.opts.Logger.Error("handler panicked", "type", fmt.Sprintf("%T", p), "stack", string(debug.Stack()))
			c = called{err: errPanic}
		}
	}()
	if observe {
		s.opts.Observe(ctx, r)
		return called{}
	}
	c.effects, c.err = s.handler.Intercept(ctx, r)
	return c
}

// ended says why a call's context ended.
func (s *Server) ended(ctx context.Context) error {
	if s.ctx.Err() != nil {
		return ErrUnavailable
	}
	return context.Cause(ctx)
}

// Local answers one message in this process: nil for a notification. It has the
// shape of a local backend's function for a harness. The principal is that of
// [WithPrincipal]. It returns soon after ctx ends, with ctx's cause; nothing else
// is an error. The frame is not kept.
func (s *Server) Local(ctx context.Context, frame []byte) ([]byte, error) {
	out, o := s.answer(ctx, nil, frame, principalOf(ctx))
	if o == gone {
		return nil, context.Cause(ctx)
	}
	return out, nil
}
