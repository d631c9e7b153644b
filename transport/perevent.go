package transport

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
)

// perEvent runs one process for each message: the message, EOF, at most one
// answer, exit (V-IO-10).
type perEvent struct {
	prog   program
	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	mu     sync.Mutex
	closed bool
	last   *ring // stderr of the newest process
	wg     sync.WaitGroup

	killCtx context.Context // ends when processes must end at once
	killNow context.CancelFunc
	stuck   bool
}

func newPerEvent(p program) *perEvent {
	c := &perEvent{prog: p}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.killCtx, c.killNow = context.WithCancel(context.Background())
	return c
}

func (c *perEvent) Ask(ctx context.Context, x *Exchange) *ahp.Failure {
	buf := buffers.Get().(*bytes.Buffer)
	f, unused := c.run(ctx, x.Frame, &limited{buf: buf, left: c.prog.opts.MaxAnswerBytes})
	if unused {
		defer putBuffer(buf)
	}
	if f != nil {
		return f
	}
	out := buf.Bytes()
	// One line, with or without its line feed (V-AMB-9), and nothing after it
	// (V-AMB-11).
	if i := bytes.IndexByte(out, '\n'); i >= 0 {
		if i != len(out)-1 {
			return &ahp.Failure{Class: ahp.FailMalformed, Err: errExtra}
		}
		out = out[:i]
	}
	if ctx.Err() != nil {
		return late(ctx)
	}
	return x.Accept(out)
}

// Tell waits for the process to end, so that it has an owner; what it prints and
// how it ends has no meaning (V-IO-12), the status is only reported.
func (c *perEvent) Tell(ctx context.Context, frame []byte) *ahp.Failure {
	f, _ := c.run(ctx, frame, io.Discard)
	return f
}

var errExtra = errors.New("more output follows the answer")

// limited takes a number of bytes and then fails.
type limited struct {
	buf  *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if len(p) > l.left {
		return 0, errTooLong
	}
	l.left -= len(p)
	return l.buf.Write(p)
}

// run runs the program over one frame and copies its stdout to out until it has
// ended. idle reports that nobody uses out any more.
func (c *perEvent) run(ctx context.Context, frame []byte, out io.Writer) (f *ahp.Failure, idle bool) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return shut(), true
	}
	c.wg.Add(1)
	c.mu.Unlock()
	if ctx.Err() != nil {
		c.wg.Done()
		return ended(ctx), true
	}
	p, f := c.prog.launch(ctx, c.ctx, c.finished)
	if f != nil {
		return f, true
	}
	c.mu.Lock()
	c.last = p.stderr
	c.mu.Unlock()

	written := make(chan struct{})
	line := withLF(frame)
	go func() {
		// A child may answer without having read all: only its answer counts.
		_, _ = p.stdin.Write(line)
		p.stdin.Close()
		close(written)
	}()
	read := make(chan error, 1)
	go func(read chan<- error) { read <- copyOutput(out, p.stdout) }(read)
	// finish ends the process and everything that belongs to it.
	finish := func(grace context.Context) {
		p.end(grace)
		<-written
		c.finished(p.stuck)
	}
	abandon := func(f *ahp.Failure) (*ahp.Failure, bool) {
		// The decision does not wait for a child that does not end; Close does.
		go func() {
			p.stdin.Close()
			finish(c.killCtx)
		}()
		return f, false
	}

	var readErr error
	open := true // stdout has not ended
	for exited := false; !exited; {
		select {
		case readErr = <-read:
			open, read = false, nil
			if errors.Is(readErr, errTooLong) {
				return abandon(&ahp.Failure{Class: ahp.FailMalformed, Err: errTooLong})
			}
		case <-p.exited:
			exited = true
		case <-ctx.Done():
			return abandon(closedBy(ctx, c.ctx))
		case <-c.ctx.Done():
			return abandon(shut())
		}
	}
	// The child has ended and is not reaped: whatever it left behind in its
	// group goes now, or it would hold stdout open.
	p.signal(kill)
	if open {
		drain := time.NewTimer(settleWait)
		defer drain.Stop()
		select {
		case readErr = <-read:
		case <-drain.C:
			cutOff(p.stdout) // somebody outside the group holds it
			readErr = <-read
		case <-ctx.Done():
			return abandon(closedBy(ctx, c.ctx))
		}
	}
	finish(c.killCtx)
	if errors.Is(readErr, errTooLong) {
		return &ahp.Failure{Class: ahp.FailMalformed, Err: errTooLong}, true
	}
	// Only exit status 0 makes the answer count, a denial too (V-IO-11).
	return p.exitFailure(), true
}

// finished takes note that nothing of a process is left, or that it is stuck.
func (c *perEvent) finished(stuck bool) {
	c.mu.Lock()
	c.stuck = c.stuck || stuck
	c.mu.Unlock()
	c.wg.Done()
}

func (c *perEvent) Stderr() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return nil
	}
	return c.last.Bytes()
}

func (c *perEvent) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	stop := context.AfterFunc(ctx, c.killNow)
	c.wg.Wait() // every process ends within two graces and killWait
	stop()
	c.killNow()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stuck {
		return errStuck
	}
	return nil
}
