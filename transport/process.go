package transport

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
)

// killWait is how long a killed process gets to disappear. Only one that hangs
// in the kernel takes longer.
const killWait = 5 * time.Second

// settleWait is how long we wait for the end of the output of a child that has
// ended: others may hold its pipes.
const settleWait = 100 * time.Millisecond

// process is a child with its group. end must be called, once or more.
type process struct {
	cmd        *exec.Cmd
	stdin      *os.File // ours to write
	stdout     *os.File // ours to read
	stderrPipe *os.File
	stderr     *ring
	grace      time.Duration

	exited  chan struct{} // closed when the child has ended, reaped or not
	drained chan struct{} // closed when stderr has ended

	mu     sync.Mutex
	reaped bool // the pid, and the group's number with it, may be somebody else's

	endOnce sync.Once
	ended   chan struct{} // closed when the child is reaped or given up
	state   *os.ProcessState
	stuck   bool // it did not even end when it was killed; valid once ended
}

var errStuck = errors.New("a process did not end although it was killed")

// end ends the child and its whole group, and reaps the child: stdin is closed,
// the child gets a grace, then TERM, another grace, then KILL. When ctx ends the
// graces end at once. The group is killed in any case, before the child is
// reaped: afterwards the number of the group may belong to somebody else. It
// returns when all is done; concurrent calls wait for the first one.
func (p *process) end(ctx context.Context) {
	p.endOnce.Do(func() {
		p.stdin.Close()
		if !p.waitExit(ctx, p.grace) {
			p.signal(terminate)
			p.waitExit(ctx, p.grace)
		}
		p.signal(kill)
		if !p.waitExit(context.Background(), killWait) {
			p.stuck = true
		} else {
			p.mu.Lock()
			p.reaped = true
			p.mu.Unlock()
			reap(p)
		}
		// A process that left the group may still hold our pipes.
		select {
		case <-p.drained:
		case <-time.After(settleWait):
			cutOff(p.stderrPipe)
			<-p.drained
		}
		p.stderrPipe.Close()
		p.stdout.Close()
		close(p.ended)
	})
	<-p.ended
}

// signal calls how, terminate or kill, unless the child has been reaped.
func (p *process) signal(how func(*process)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.reaped {
		how(p)
	}
}

func (p *process) waitExit(ctx context.Context, d time.Duration) bool {
	select {
	case <-p.exited:
		return true
	default:
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// cutOff ends copyOutput on a pipe that others than the child may hold for ever.
// What the child wrote is in the pipe, and is still copied: on a busy machine the
// one who copies may not have begun.
func cutOff(pipe *os.File) {
	if pipe.SetReadDeadline(time.Unix(1, 0)) != nil {
		pipe.Close() // without deadlines there is no other way
	}
}

// copyOutput copies what a child writes to a pipe until the pipe ends, or until it
// is cut off.
func copyOutput(to io.Writer, pipe *os.File) error {
	_, err := io.Copy(to, pipe)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return copyRest(to, pipe)
	}
	return err
}

// exitFailure is the failure of a child that ended by itself with a status other
// than 0 (V-FC-3), or nil.
func (p *process) exitFailure() *ahp.Failure {
	if p.state == nil || p.state.Success() {
		return nil
	}
	// "exit status 3" or "signal: killed".
	return &ahp.Failure{Class: ahp.FailProcess, Err: errors.New(p.state.String())}
}

// signaled reports whether a signal ended the child.
func (p *process) signaled() bool { return p.state != nil && !p.state.Exited() }
