package transport

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
)

// Diagnostics is implemented by carriers of stdio backends.
type Diagnostics interface {
	// Stderr returns the end of what the newest process wrote on stderr, at most
	// [Options.StderrBytes]. It is for a person who debugs the backend:
	// untrusted bytes that nothing parses, and that reach no model.
	Stderr() []byte
}

// childEnv names the variables that every child gets (V-IO-5). None of them
// usually holds a secret.
var childEnv = []string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ",
	"LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES",
}

// childEnvWindows names what programs on Windows do not run without.
var childEnvWindows = []string{
	"SystemRoot", "SystemDrive", "TEMP", "TMP", "USERPROFILE", "APPDATA",
	"LOCALAPPDATA", "ProgramData", "PATHEXT", "ComSpec",
}

// program is what a stdio backend runs.
type program struct {
	transport *ahp.StdioTransport
	opts      Options
}

func newStdio(b *ahp.Backend, t *ahp.StdioTransport, o Options) (Carrier, error) {
	if t.Command == "" {
		return nil, fmt.Errorf("%s: command: empty", b.ID)
	}
	p := program{transport: t, opts: o}
	switch t.Lifecycle {
	case ahp.Persistent:
		return newPersistent(p), nil
	case ahp.PerEvent:
		return newPerEvent(p), nil
	}
	return nil, fmt.Errorf("%s: lifecycle: neither persistent nor per_event", b.ID)
}

func (p program) environ() []string {
	env := []string{} // not nil, which would mean everything
	add := func(names []string) {
		for _, name := range names {
			if v, ok := p.opts.LookupEnv(name); ok {
				env = append(env, name+"="+v)
			}
		}
	}
	add(childEnv)
	if runtime.GOOS == "windows" {
		add(childEnvWindows)
	}
	add(p.opts.Env)
	return env
}

// start runs the program in a process group of its own, with pipes that only the
// two of us hold, so that it sees EOF on stdin when we die.
func (p program) start() (*process, error) {
	// Command and arguments as they are: no shell (V-IO-4).
	cmd := exec.Command(p.transport.Command, p.transport.Args...) //nolint:noctx // its owner ends the whole group; a context would kill the leader only
	cmd.Dir = p.transport.CWD
	cmd.Env = p.environ()
	setGroup(cmd)
	var files []*os.File
	closeAll := func() {
		for _, f := range files {
			f.Close()
		}
	}
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			files = append(files, r, w)
		}
		return r, w, err
	}
	inR, inW, err := pipe()
	if err != nil {
		return nil, err
	}
	outR, outW, err := pipe()
	if err != nil {
		closeAll()
		return nil, err
	}
	errR, errW, err := pipe()
	if err != nil {
		closeAll()
		return nil, err
	}
	// Files, not writers: package exec then starts no goroutines that would
	// outlive the process while a grandchild holds its output.
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	if err := cmd.Start(); err != nil {
		closeAll()
		return nil, err
	}
	inR.Close()
	outW.Close()
	errW.Close()
	q := &process{
		cmd: cmd, stdin: inW, stdout: outR, stderrPipe: errR,
		grace: p.opts.Grace, stderr: newRing(p.opts.StderrBytes),
		exited: make(chan struct{}), ended: make(chan struct{}), drained: make(chan struct{}),
	}
	go func() { awaitExit(q); close(q.exited) }()
	go func() { _ = copyOutput(q.stderr, errR); close(q.drained) }()
	return q, nil
}

// launch is start within the time of the message: to start a program is to read
// it from a disk that may not answer, and the deadline covers that too (V-DL-2) as
// far as the runtime lets it: the thread that starts a program keeps its P until the
// program has been read, so a collection that begins meanwhile waits as long.
// It returns a process, or a failure. After a failure it calls done, now or once
// nothing is left of a process that starts too late; stuck means that it gave up
// waiting for that, some time after own has ended.
func (p program) launch(ctx, own context.Context, done func(stuck bool)) (*process, *ahp.Failure) {
	type result struct {
		p   *process
		err error
	}
	started := make(chan result, 1)
	go func() {
		q, err := p.start()
		started <- result{q, err}
	}()
	select {
	case r := <-started:
		if r.err != nil {
			done(false)
			if ctx.Err() != nil || own.Err() != nil {
				return nil, closedBy(ctx, own) // whichever of the two was seen first
			}
			return nil, launchFailure(r.err)
		}
		return r.p, nil
	case <-ctx.Done():
	case <-own.Done():
	}
	go func() {
		gone := make(chan bool, 1)
		go func() {
			r := <-started
			if r.p != nil {
				now, cancel := context.WithCancel(context.Background())
				cancel() // it has been told nothing: no graces
				r.p.end(now)
			}
			gone <- r.p != nil && r.p.stuck
		}()
		select {
		case stuck := <-gone:
			done(stuck)
			return
		case <-own.Done():
		}
		last := time.NewTimer(2 * killWait) // for the start, and for the end
		defer last.Stop()
		select {
		case stuck := <-gone:
			done(stuck)
		case <-last.C:
			done(true)
		}
	}()
	return nil, closedBy(ctx, own)
}

var (
	errNotStarted = errors.New("the program could not be started")
	errBackoff    = errors.New("the program keeps ending; the next start has to wait")
	errLost       = errors.New("the process ended or closed its stdout without an answer")
	errPartial    = errors.New("the request could not be written whole")
)

// launchFailure says why a program did not start. The operating system's own
// words only: the path stays out.
func launchFailure(err error) *ahp.Failure {
	f := &ahp.Failure{Class: ahp.FailProcess, Err: errNotStarted}
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		f.Err = fmt.Errorf("%w: %w", errNotStarted, errno)
	case errors.Is(err, exec.ErrNotFound):
		f.Err = fmt.Errorf("%w: %w", errNotStarted, exec.ErrNotFound)
	case errors.Is(err, exec.ErrDot):
		f.Err = fmt.Errorf("%w: %w", errNotStarted, exec.ErrDot)
	}
	return f
}

func shut() *ahp.Failure { return &ahp.Failure{Class: ahp.FailShutdown, Err: errClosed} }

// withLF returns frame as one line: in place when the line feed stands behind it
// already, so that the frame itself is never written to, else as a copy.
func withLF(frame []byte) []byte {
	if n := len(frame); cap(frame) > n && frame[:n+1][n] == '\n' {
		return frame[:n+1]
	}
	line := make([]byte, 0, len(frame)+1)
	return append(append(line, frame...), '\n')
}

// closedBy tells the end of the carrier from the end of the question.
func closedBy(ctx, own context.Context) *ahp.Failure {
	if own.Err() != nil {
		return shut()
	}
	return ended(ctx)
}
