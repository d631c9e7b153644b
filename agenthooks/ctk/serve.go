package ctk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// Serve puts h at the host's end of the line protocol of docs/conform-host.md:
// it answers messages from r on w until r ends. It returns nil at the end of r
// between two messages, and an error for a kit that breaks the protocol. ctx
// bounds what h does; reading ends with r alone, which the caller closes.
func Serve(ctx context.Context, h Host, r io.Reader, w io.Writer) error {
	s := &server{h: h, peer: newLines(r, w)}
	for {
		line, err := s.peer.read()
		if errors.Is(err, io.EOF) {
			return s.close()
		}
		if err == nil {
			err = s.handle(ctx, line)
		}
		if err != nil {
			return errors.Join(err, s.close())
		}
	}
}

type server struct {
	h       Host
	peer    *lines
	run     Run // nil when nothing is set up
	calls   *caller
	started bool
}

func (s *server) close() error {
	if s.run == nil {
		return nil
	}
	r := s.run
	s.run = nil
	return r.Close()
}

// complain reports an error that leaves the host usable.
func (s *server) complain(err error) error {
	return s.peer.write(errorMessage{typeError, err.Error()})
}

func (s *server) handle(ctx context.Context, line []byte) error {
	typ, err := typeOf(line)
	if err != nil {
		return fmt.Errorf("a line is no message: %w", err)
	}
	switch typ {
	case typeHello:
		var m helloMessage
		if err := decodeMessage(line, &m); err != nil {
			return fmt.Errorf("hello: %w", err)
		}
		if m.Protocol != ProtocolVersion {
			return s.complain(fmt.Errorf("protocol %d is not spoken here, only %d", m.Protocol, ProtocolVersion))
		}
		surface, err := s.h.Declare(ctx)
		if err != nil {
			return s.complain(err)
		}
		return s.peer.write(surfaceMessage{typeSurface, *surface})
	case typeSetup:
		if s.run != nil {
			return errors.New("setup: the one before was not torn down")
		}
		setup, err := readSetup(line)
		if err != nil {
			return s.complain(err)
		}
		calls := &caller{peer: s.peer, open: map[int64]chan Answer{}}
		setup.Script = calls
		run, err := s.h.Open(ctx, setup)
		if err != nil {
			return s.complain(err)
		}
		s.run, s.calls, s.started = run, calls, false
		return s.peer.write(plainMessage{typeReady})
	case typeRun:
		if s.run == nil || s.started {
			return errors.New("run: expected setup first")
		}
		s.started = true
		return s.play(ctx)
	case typeTeardown:
		if err := s.close(); err != nil {
			return s.complain(err)
		}
		return s.peer.write(plainMessage{typeDone})
	}
	return fmt.Errorf("found a message of type %q, expected hello, setup, run or teardown", escape(typ))
}

// play runs the vector in one goroutine and reads answers in this one, until
// the result is sent.
func (s *server) play(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		grp  sync.WaitGroup
		sent = make(chan error, 1)
	)
	grp.Go(func() {
		rec, err := s.run.Run(ctx)
		// No answer is awaited any more: the reader below may be told to stop
		// by the kit's next message, which comes after this one.
		if !s.calls.finish() {
			sent <- nil // the kit is gone
			return
		}
		if err != nil {
			sent <- s.complain(err)
			return
		}
		sent <- s.peer.write(resultOf(rec))
	})
	defer grp.Wait()
	for {
		// The kit says nothing before the result but answers to what we asked.
		if !s.calls.await() {
			return <-sent
		}
		line, err := s.peer.read()
		if err == nil {
			err = s.calls.deliver(line)
		}
		if err != nil {
			cancel(err)
			s.calls.abort(err)
			grp.Wait()
			return fmt.Errorf("while a vector runs: %w", err)
		}
	}
}

// caller turns callbacks into messages and answers into returns.
type caller struct {
	peer *lines

	mu       sync.Mutex
	changed  sync.Cond
	next     int64
	open     map[int64]chan Answer
	finished bool
	err      error
}

func (c *caller) cond() *sync.Cond {
	c.changed.L = &c.mu
	return &c.changed
}

// await blocks until an answer is due, and reports false when the run is over.
// Callbacks that nobody waits for any more still get their answers read.
func (c *caller) await() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.open) == 0 && !c.finished {
		c.cond().Wait()
	}
	return len(c.open) > 0
}

// finish ends the run, and reports whether anybody waits for its result.
func (c *caller) finish() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finished = true
	c.cond().Broadcast()
	return c.err == nil
}

func (c *caller) abort(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err, c.finished = err, true
	for call, ch := range c.open {
		close(ch)
		delete(c.open, call)
	}
}

func (c *caller) call(ctx context.Context, make1 func(call int64) any) (Answer, error) {
	ch := make(chan Answer, 1)
	c.mu.Lock()
	if c.finished {
		c.mu.Unlock()
		return Answer{}, errors.New("the run is over")
	}
	c.next++
	call := c.next
	c.open[call] = ch
	c.cond().Broadcast()
	c.mu.Unlock()
	if err := c.peer.write(make1(call)); err != nil {
		c.mu.Lock()
		delete(c.open, call)
		c.cond().Broadcast()
		c.mu.Unlock()
		return Answer{}, err
	}
	select {
	case a, ok := <-ch:
		if !ok {
			return Answer{}, c.err
		}
		return a, nil
	case <-ctx.Done():
		return Answer{}, context.Cause(ctx)
	}
}

// Intercept asks the kit.
func (c *caller) Intercept(ctx context.Context, index int, text jsontext.Value) (Answer, error) {
	return c.call(ctx, func(call int64) any {
		return interceptMessage{Type: typeIntercept, Call: call, Interceptor: index, Context: text}
	})
}

// Resolve asks the kit.
func (c *caller) Resolve(ctx context.Context, request jsontext.Value) (Answer, error) {
	return c.call(ctx, func(call int64) any {
		return resolveMessage{Type: typeResolve, Call: call, Request: request}
	})
}

func (c *caller) deliver(line []byte) error {
	typ, err := typeOf(line)
	if err != nil {
		return err
	}
	if typ != typeVerdict && typ != typeResolution {
		return fmt.Errorf("found a message of type %q, expected verdict or resolution", escape(typ))
	}
	var m answerMessage
	if err := decodeMessage(line, &m); err != nil {
		return fmt.Errorf("%s: %w", typ, err)
	}
	a := Answer{JSON: m.Verdict, Raise: m.Fault == raise, Mutate: m.Fault == mutate}
	if typ == typeResolution {
		a.JSON = m.Resolution
	}
	if a.JSON == nil && !a.Raise {
		return fmt.Errorf("%s: found neither an answer nor a fault", typ)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	ch, ok := c.open[m.Call]
	if !ok {
		return fmt.Errorf("%s: call %d is not open", typ, m.Call)
	}
	delete(c.open, m.Call)
	ch <- a
	return nil
}

// readSetup reads a setup message by the grammar of vectors.
func readSetup(line []byte) (*Setup, error) {
	tree, err := parse(line)
	if err != nil {
		return nil, fmt.Errorf("setup: %w", err)
	}
	s := &Setup{}
	r := &reader{file: "setup"}
	r.object(tree, "", map[string]field{
		"type":        func(any, string) {},
		"vector":      func(x any, ptr string) { s.Vector = r.str(x, ptr) },
		"mode":        func(x any, ptr string) { s.Mode = one(r, x, ptr, agenthooks.Enforce, agenthooks.EvaluateOnly) },
		"composition": func(x any, ptr string) { s.Composition = r.composition(x, ptr) },
		"identity_provider": func(x any, ptr string) {
			if x != nil {
				name := r.str(x, ptr)
				s.Identity = &name
			}
		},
		"interceptors": func(x any, ptr string) {
			n, ok := x.(number)
			if !ok || !n.integer() || len(n) > 2 || n[0] == '-' {
				r.fail(ptr, "found %s, expected a number from 0 to 99", kind(x))
				return
			}
			_, _ = fmt.Sscan(string(n), &s.Interceptors)
		},
		"resolver":            func(x any, ptr string) { s.Resolver = r.boolean(x, ptr) },
		"redact_for_approval": func(x any, ptr string) { s.Redact = r.strings(x, ptr) },
		"scenario":            func(x any, ptr string) { s.Scenario = r.scenario(x, ptr) },
		"extension":           func(x any, ptr string) { s.Extension = r.extension(x, ptr) },
	}, "vector", "mode", "composition", "identity_provider", "interceptors", "resolver", "scenario")
	return s, r.err()
}
