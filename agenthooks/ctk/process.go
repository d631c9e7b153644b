package ctk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// ProcessOptions configures [Process].
type ProcessOptions struct {
	Command []string      // program and arguments; no shell reads them
	Dir     string        // working folder; "" means the current one
	Env     []string      // as in [exec.Cmd]; nil means this process's
	Grace   time.Duration // between closing stdin, a signal and a kill; zero means 2 s
}

// ErrLost reports a host process that failed too often in a row: what is left
// is not tried, so that a host that hangs cannot hold the kit for hours.
var ErrLost = errors.New("the host process failed three times in a row and is not started again")

const maxLosses = 3

// A ProcessHost is a host behind the line protocol of docs/conform-host.md. It
// plays one vector at a time in one process, and starts a new process when the
// old one breaks the protocol, hangs or ends.
type ProcessHost struct {
	o ProcessOptions

	mu     sync.Mutex
	p      *process
	losses int
}

// Process returns a host that runs as o says. Nothing is started yet;
// [ProcessHost.Close] ends what runs.
func Process(o ProcessOptions) (*ProcessHost, error) {
	if len(o.Command) == 0 || o.Command[0] == "" {
		return nil, errors.New("command: empty")
	}
	o.Grace = cmp.Or(o.Grace, 2*time.Second)
	return &ProcessHost{o: o}, nil
}

// Close ends the process: its stdin closes, then it gets a signal, then it is
// killed with all that it started.
func (h *ProcessHost) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.p == nil {
		return nil
	}
	err := h.p.end(h.o.Grace)
	h.p = nil
	return err
}

// Declare starts the process if need be and asks for its surface.
func (h *ProcessHost) Declare(ctx context.Context) (*Surface, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var s *Surface
	err := h.with(ctx, func(c *client) (err error) {
		s, err = c.declare()
		return err
	})
	return s, err
}

// Open sets the process up for one vector.
func (h *ProcessHost) Open(ctx context.Context, s *Setup) (Run, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.p == nil { // a new process has to say hello again
		if err := h.with(ctx, func(c *client) error { _, err := c.declare(); return err }); err != nil {
			return nil, err
		}
	}
	if err := h.with(ctx, func(c *client) error { return c.setup(s) }); err != nil {
		if _, ok := errors.AsType[*HostError](err); ok { // it is still there
			return nil, errors.Join(err, h.with(ctx, (*client).teardown))
		}
		return nil, err
	}
	return &processRun{h: h, setup: s, ctx: ctx}, nil
}

// with runs f on the process. The end of ctx kills the process, which ends
// every read and write on it; anything but an error that the host reported
// itself loses the process.
func (h *ProcessHost) with(ctx context.Context, f func(*client) error) error {
	if h.losses >= maxLosses {
		return ErrLost
	}
	if h.p == nil {
		p, err := start(h.o)
		if err != nil {
			h.losses++
			return err
		}
		h.p = p
	}
	p := h.p
	stop := context.AfterFunc(ctx, p.kill)
	err := f(&p.client)
	if !stop() && err != nil {
		err = fmt.Errorf("no answer in time: %w", context.Cause(ctx))
	}
	var said *HostError
	if err == nil || errors.As(err, &said) {
		return err
	}
	h.losses++
	h.p = nil
	p.kill()
	ended := p.end(h.o.Grace)
	if ended != nil && errors.Is(err, errGone) {
		err = fmt.Errorf("%w (%w)", err, ended)
	}
	if tail := p.stderr.String(); tail != "" {
		err = fmt.Errorf("%w; stderr ends with: %s", err, tail)
	}
	return err
}

type processRun struct {
	h     *ProcessHost
	setup *Setup
	ctx   context.Context // of the vector; it bounds the teardown too
}

func (r *processRun) Run(ctx context.Context) (rec *RunRecord, err error) {
	r.h.mu.Lock()
	defer r.h.mu.Unlock()
	if r.h.p == nil {
		return nil, errGone
	}
	err = r.h.with(ctx, func(c *client) (err error) {
		rec, err = c.run(ctx, r.setup.Script)
		return err
	})
	return rec, err
}

func (r *processRun) Close() error {
	r.h.mu.Lock()
	defer r.h.mu.Unlock()
	if r.h.p == nil {
		return nil // lost, and with it all that it had
	}
	err := r.h.with(r.ctx, (*client).teardown)
	if err == nil {
		r.h.losses = 0
	}
	return err
}

// process is a running host.
type process struct {
	client
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *tail
	ended  chan struct{} // closed when the process was waited for
	err    error         // of waiting
}

func start(o ProcessOptions) (*process, error) {
	cmd := exec.Command(o.Command[0], o.Command[1:]...) //nolint:noctx // its end is ours to time: see end
	cmd.Dir, cmd.Env = o.Dir, o.Env
	cmd.WaitDelay = o.Grace
	p := &process{cmd: cmd, stderr: &tail{}, ended: make(chan struct{})}
	cmd.Stderr = p.stderr
	setGroup(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// Our own pipe: Wait may run while the output is read.
	r, w := io.Pipe()
	cmd.Stdout = w
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the host: %w", err)
	}
	p.stdin = in
	p.peer = newLines(r, in)
	go func() {
		defer close(p.ended)
		p.err = reap(cmd)
		_ = w.Close() // a pipe in memory
	}()
	return p, nil
}

// kill ends the process with all that it started, and with it every read and
// write on it.
func (p *process) kill() {
	select {
	case <-p.ended: // its number may be another's by now
	default:
		killGroup(p.cmd)
	}
	p.stdin.Close()
}

// end waits for the process to end, with more and more force.
func (p *process) end(grace time.Duration) error {
	p.stdin.Close()
	var drain sync.WaitGroup
	defer drain.Wait()
	drain.Go(func() { _, _ = io.Copy(io.Discard, p.peer.r) }) // ends with the process
	for _, force := range []func(*exec.Cmd){terminateGroup, killGroup} {
		select {
		case <-p.ended:
			return p.err
		case <-time.After(grace):
			force(p.cmd)
		}
	}
	<-p.ended
	return p.err
}

// tail keeps the end of what a process writes on stderr. It is for a person:
// nothing reads it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const maxTail = 2 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(b)
	if len(b) > maxTail {
		b = b[len(b)-maxTail:]
	}
	t.buf = append(t.buf, b...)
	if over := len(t.buf) - maxTail; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return n, nil
}

// String is the last lines, on one line.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(plain(strings.ToValidUTF8(string(t.buf), "")))
}
