package transport

import (
	"context"
	"errors"
	"sync"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/internal/deep"
)

// local calls a function in this process. Each call runs in a goroutine of its
// own: a function that does not return in time must not hold the decision.
type local struct {
	f    Local
	quit chan struct{} // closed by Close

	mu     sync.Mutex
	closed bool
	calls  map[*localCall]struct{} // under way, for Close to end
	wg     sync.WaitGroup
}

type localCall struct{ cancel context.CancelFunc }

func newLocal(f Local) *local {
	return &local{f: f, quit: make(chan struct{}), calls: map[*localCall]struct{}{}}
}

type localAnswer struct {
	frame []byte
	err   error
}

var (
	errPanicked = errors.New("the local backend panicked")
	errLocal    = errors.New("the local backend returned an error")
	errClosed   = errors.New("the carrier is closed")
)

func (l *local) Ask(ctx context.Context, x *Exchange) *ahp.Failure {
	answer, f := l.call(ctx, x.Frame)
	if f != nil {
		return f
	}
	if ctx.Err() != nil {
		return late(ctx)
	}
	return x.Accept(answer)
}

func (l *local) Tell(ctx context.Context, frame []byte) *ahp.Failure {
	_, f := l.call(ctx, frame)
	return f
}

func (l *local) call(ctx context.Context, frame []byte) ([]byte, *ahp.Failure) {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, shut()
	}
	inner, cancel := context.WithCancel(ctx)
	call := &localCall{cancel: cancel}
	l.calls[call] = struct{}{}
	l.wg.Add(1)
	l.mu.Unlock()

	done := make(chan localAnswer, 1)
	go func() {
		defer l.wg.Done()
		deep.Stack()
		a := localAnswer{err: errGivenUp}
		if inner.Err() == nil { // whoever left before it began gets nothing begun
			a = l.run(inner, frame)
		}
		l.mu.Lock()
		delete(l.calls, call)
		l.mu.Unlock()
		cancel()
		done <- a
	}()
	select {
	case a := <-done:
		if a.err == nil {
			return a.frame, nil
		}
		if ctx.Err() != nil {
			return nil, ended(ctx)
		}
		select {
		case <-l.quit:
			return nil, shut()
		default:
		}
		if f, ok := errors.AsType[*ahp.Failure](a.err); ok {
			c := *f // the caller fills in the backend
			return nil, &c
		}
		return nil, &ahp.Failure{Class: ahp.FailInternal, Err: a.err}
	case <-ctx.Done():
		return nil, ended(ctx)
	case <-l.quit:
		return nil, shut()
	}
}

// run calls the function. Neither a panic's value nor an error's text goes any
// further: they may quote the event.
func (l *local) run(ctx context.Context, frame []byte) (a localAnswer) {
	defer func() {
		if recover() != nil {
			a = localAnswer{err: &ahp.Failure{Class: ahp.FailInternal, Err: errPanicked}}
		}
	}()
	frame, err := l.f(ctx, frame)
	if err != nil {
		if f, ok := errors.AsType[*ahp.Failure](err); ok {
			return localAnswer{err: f}
		}
		return localAnswer{err: errLocal}
	}
	return localAnswer{frame: frame}
}

// Close ends the contexts of the calls under way and waits for them, or for ctx. A function that does not
// return cannot be ended: Close says so with an error.
func (l *local) Close(ctx context.Context) error {
	l.mu.Lock()
	if !l.closed {
		l.closed = true
		close(l.quit)
	}
	for call := range l.calls {
		call.cancel()
	}
	l.mu.Unlock()
	return waitGroup(ctx, &l.wg, "a local backend did not return")
}
