package backend

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/internal/deep"
)

// A Server answers AHP messages with a [Handler]. One server may serve any
// number of HTTP listeners, stdio streams and local callers at the same time;
// they share its limits and its memory of answers. It starts nothing by itself;
// [Server.Shutdown] ends it.
type Server struct {
	handler Handler
	opts    Options
	memory  memory

	v01, draft bool    // the revisions that it speaks
	supported  ahp.Raw // data of -32001
	manifest   string  // the tail of each answer to hooks/capabilities, or empty

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
	s := &Server{
		handler: h, opts: o, idle: make(chan struct{}), supported: supported(o.Versions),
		v01: slices.Contains(o.Versions, ahp.Version01), draft: slices.Contains(o.Versions, ahp.VersionDraft),
	}
	if s.manifest, err = manifestTail(o.Manifest); err != nil {
		return nil, err
	}
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

// An exchange is one message under way. It is one unit of MaxConcurrent. The request
// and the call of the handler each hold it, so that a handler that does not return
// keeps it.
type exchange struct {
	s    *Server
	refs atomic.Int32
	req  Request

	// Of a prompt handler, after which nobody uses the exchange any more.
	readers *readers
}

// exchanges holds those of prompt handlers.
var exchanges = sync.Pool{New: func() any { return &exchange{readers: new(readers)} }}

func (s *Server) exchange() *exchange {
	if !s.opts.Prompt {
		return &exchange{s: s}
	}
	x := exchanges.Get().(*exchange)
	x.s = s
	return x
}

// free gives the memory of an exchange back that has ended or never began.
func (x *exchange) free() {
	if x.readers != nil {
		x.s, x.req = nil, Request{}
		exchanges.Put(x)
	}
}

var (
	errDraining   = errors.New("shutting down")
	errOverloaded = errors.New("too many requests under way")
)

// begin takes the place of one message, for x.end to give back.
func (s *Server) begin(x *exchange) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.draining:
		return errDraining
	case s.active >= s.opts.MaxConcurrent:
		return errOverloaded
	}
	s.active++
	x.refs.Store(1)
	return nil
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
	x := s.exchange()
	defer x.free()
	var m message
	if no := s.decode(&m, frame, x.readers); no != nil {
		return s.reject(dst, no, principal)
	}
	if s.begin(x) != nil {
		s.rejected(principal, ahp.CodeUnavailable, m.method == ahp.MethodObserve)
		if m.method == ahp.MethodObserve {
			return dst, dropped
		}
		return s.fail(dst, m.id, ahp.CodeUnavailable), answered
	}
	defer x.end()
	if m.method == ahp.MethodCapabilities {
		return append(append(append(dst, answerHead...), m.id...), s.manifest...), answered
	}
	x.req = Request{
		Version: m.version, Event: m.event, EventText: m.text, Principal: principal,
		Capabilities: m.caps, State: m.state, Extensions: m.exts, HasExtensions: m.hasExts,
	}
	if m.method == ahp.MethodObserve {
		if s.opts.Observe != nil {
			_, _ = s.call(ctx, x, true)
		}
		return dst, accepted
	}
	return s.intercept(ctx, dst, x, &m)
}

// reject answers what is no valid request. The text of the error holds nothing of
// the message. An error answer is the same in all revisions.
func (s *Server) reject(dst []byte, no *refusal, principal string) ([]byte, outcome) {
	s.rejected(principal, no.code, no.notification)
	s.opts.Logger.Debug("message refused", "code", int(no.code), "pointer", no.pointer, "expected", no.expected)
	if no.notification {
		return dst, refused
	}
	var data ahp.Raw
	if no.code == ahp.CodeUnsupportedVersion {
		data = s.supported
	}
	out, err := wire01.AppendError(dst, no.id, no.code, no.code.Name()+": "+no.text, data)
	if err != nil { // an id that cannot be echoed; the others cannot fail
		out, _ = wire01.AppendError(dst, nil, no.code, no.code.Name(), data)
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

func (s *Server) intercept(ctx context.Context, dst []byte, x *exchange, m *message) ([]byte, outcome) {
	k := key{version: m.version, principal: x.req.Principal, source: m.event.Source, id: m.event.ID}
	mine, tail, err := s.memory.begin(ctx, k, m.repeat, m.shared, m.held)
	var out []byte
	switch {
	case err != nil:
	case mine == nil: // the answer of the first, behind this one's own spelling of the id
		out = append(append(append(dst, answerHead...), m.id...), tail...)
	default:
		out, err = s.decide(ctx, dst, x, mine, m)
	}
	switch {
	case err == nil:
		return out, answered
	case errors.Is(err, errConflict):
		s.rejected(x.req.Principal, ahp.CodeInvalidParams, false)
		out, err := wire01.AppendError(dst, m.id, ahp.CodeInvalidParams, ahp.CodeInvalidParams.Name()+": the id of an earlier event with other content", nil)
		if err != nil {
			return s.fail(dst, m.id, ahp.CodeInvalidParams), answered
		}
		return out, answered
	case ctx.Err() != nil:
		return dst, gone
	case errors.Is(err, ErrUnavailable) || errors.Is(err, errTimeout):
		s.opts.Logger.Warn("handler unavailable", "error", err)
		return s.fail(dst, m.id, ahp.CodeUnavailable), answered
	}
	s.opts.Logger.Error("handler failed", "error", err)
	return s.fail(dst, m.id, ahp.CodeInternal), answered
}

var (
	errEffects = errors.New("the handler returned an effect that is not acceptable")
	errPanic   = errors.New("the handler panicked")
	errTimeout = errors.New("the handler did not return in time")
)

// answerHead is how every answer begins; the id and the tail follow.
const answerHead = `{"jsonrpc":"2.0","id":`

// These end every answer without effects, so that the memory keeps one of each.
const (
	noEffectsTail      = `,"result":{"protocolVersion":"0.1","effects":[]}}`
	noEffectsTailDraft = `,"result":{"protocolVersion":"draft","effects":[]}}`
)

// decide asks the handler and appends the answer to dst. The memory hears of it,
// whatever becomes of the call.
func (s *Server) decide(ctx context.Context, dst []byte, x *exchange, e *entry, m *message) (out []byte, err error) {
	var tail string
	defer func() { s.memory.end(e, tail, err == nil && tail != "") }()
	effects, err := s.call(ctx, x, false)
	if err != nil {
		return dst, err
	}
	if len(effects) == 0 {
		tail = noEffectsTail
		if m.version == ahp.VersionDraft {
			tail = noEffectsTailDraft
		}
		return append(append(append(dst, answerHead...), m.id...), tail...), nil
	}
	if err := acceptable(m.version, m.event, m.caps, effects); err != nil {
		return dst, fmt.Errorf("%w: %w", errEffects, err)
	}
	if m.version == ahp.VersionDraft {
		caps := m.caps // m is no allocation for messages without effects
		out, err = wiredraft.AppendResult(dst, m.id, m.event.Type, &caps, effects, nil)
	} else {
		out, err = wire01.AppendResult(dst, m.id, effects, nil)
	}
	if err != nil {
		return dst, fmt.Errorf("the handler's effects: %w", err)
	}
	tail = string(out[len(dst)+len(answerHead)+len(m.id):])
	return out, nil
}

// manifestTail returns how each answer to hooks/capabilities ends.
func manifestTail(m *ahp.Manifest) (string, error) {
	if m == nil {
		return "", nil
	}
	id := ahp.Raw("0")
	out, err := wiredraft.AppendCapabilitiesResult(nil, id, m)
	if err != nil {
		return "", fmt.Errorf("manifest: %w", err)
	}
	return string(out[len(answerHead)+len(id):]), nil
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
		c := newCallContext(ctx, s)
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
		deep.Stack()
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
