package transport

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
)

const (
	// maxMalformed is how many bad lines in a row a process may write before it
	// is ended (V-IO-9).
	maxMalformed = 3
	// maxUnanswered is how many questions a process may leave unanswered before
	// it is ended. It also bounds the ids that late answers are matched against.
	maxUnanswered = 8
	// maxAnswered is how many answered ids are remembered, so that a second
	// answer to one of them does not count as one to the open question.
	maxAnswered = 16

	// longID is the length from which an id is looked for without parsing.
	longID = 16

	firstBackoff = 100 * time.Millisecond
	maxBackoff   = 5 * time.Second
)

// persistent keeps one process for many messages (V-IO-7), with at most one
// open question (V-AMB-3). A process that ends is started again when the next
// message needs it; one that keeps ending has to wait before it is.
type persistent struct {
	prog   program
	sem    chan struct{}   // holds the one who talks to the process
	ctx    context.Context // ends with Close
	cancel context.CancelFunc

	killCtx context.Context // ends when processes must end at once
	killNow context.CancelFunc

	// Of the one who holds sem.
	cur       *conn
	failures  int // starts and processes in a row that came to nothing
	notBefore time.Time

	mu     sync.Mutex
	closed bool
	live   *conn // cur, for Close, which cannot wait for whoever holds sem
	last   *ring
	stuck  bool
	wg     sync.WaitGroup
}

func newPersistent(p program) *persistent {
	c := &persistent{prog: p, sem: make(chan struct{}, 1)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.killCtx, c.killNow = context.WithCancel(context.Background())
	return c
}

func (c *persistent) acquire(ctx context.Context) *ahp.Failure {
	if ctx.Err() != nil {
		return ended(ctx)
	}
	select {
	case c.sem <- struct{}{}:
	default:
		select {
		case c.sem <- struct{}{}:
		case <-ctx.Done():
			return ended(ctx)
		case <-c.ctx.Done():
			return shut()
		}
	}
	if c.ctx.Err() != nil {
		c.release()
		return shut()
	}
	return nil
}

func (c *persistent) release() { <-c.sem }

func (c *persistent) Ask(ctx context.Context, x *Exchange) *ahp.Failure {
	if f := c.acquire(ctx); f != nil {
		return f
	}
	defer c.release()
	k, f := c.running(ctx)
	if f != nil {
		return f
	}
	f, usable := k.ask(ctx, c.ctx, x)
	if k.good {
		c.failures = 0
	}
	if !usable {
		c.drop(k)
	}
	return f
}

func (c *persistent) Tell(ctx context.Context, frame []byte) *ahp.Failure {
	if f := c.acquire(ctx); f != nil {
		return f
	}
	defer c.release()
	k, f := c.running(ctx)
	if f != nil {
		return f
	}
	if f = k.write(ctx, c.ctx, frame); f != nil {
		c.drop(k)
	}
	return f
}

// running returns the process, started if need be.
func (c *persistent) running(ctx context.Context) (*conn, *ahp.Failure) {
	if c.cur != nil {
		if !c.cur.dead() {
			return c.cur, nil
		}
		c.drop(c.cur)
	}
	if wait := time.Until(c.notBefore); wait > 0 {
		if d, ok := ctx.Deadline(); ok && d.Before(c.notBefore) {
			return nil, &ahp.Failure{Class: ahp.FailProcess, Err: errBackoff}
		}
		t := time.NewTimer(wait)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return nil, ended(ctx)
		case <-c.ctx.Done():
			return nil, shut()
		}
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil, shut()
	}
	c.wg.Add(1)
	c.mu.Unlock()
	p, f := c.prog.launch(ctx, c.ctx, c.finished)
	if f != nil {
		c.failed()
		return nil, f
	}
	k := newConn(p, c.prog.opts)
	c.mu.Lock()
	c.last, c.live = p.stderr, k
	c.mu.Unlock()
	c.cur = k
	go func() {
		k.serve(c.killCtx)
		c.finished(p.stuck)
	}()
	return k, nil
}

// finished takes note that nothing of a process is left, or that it is stuck.
func (c *persistent) finished(stuck bool) {
	c.mu.Lock()
	c.stuck = c.stuck || stuck
	c.mu.Unlock()
	c.wg.Done()
}

// failed counts a process that came to nothing. The first restart is at once.
func (c *persistent) failed() {
	c.failures++
	if c.failures > 1 {
		d := min(firstBackoff<<min(c.failures-2, 10), maxBackoff)
		c.notBefore = time.Now().Add(d)
	}
}

// drop lets go of a process, which then ends and is reaped without anybody
// waiting for it but Close.
func (c *persistent) drop(k *conn) {
	if c.cur == k {
		c.cur = nil
	}
	k.retire()
	c.failed()
}

func (c *persistent) Stderr() []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return nil
	}
	return c.last.Bytes()
}

func (c *persistent) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	live := c.live
	c.mu.Unlock()
	c.cancel()
	if live != nil {
		live.retire() // ends a write that waits for a child that does not read
	}
	stop := context.AfterFunc(ctx, c.killNow)
	c.sem <- struct{}{} // whoever talks to the process sees the end of c.ctx
	if c.cur != nil {
		c.cur.retire()
	}
	<-c.sem
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

// A conn is one running process and what is open with it. One goroutine, serve,
// reads its stdout from start to end, so that whatever it says unasked is taken
// off the pipe when it comes, and is over before the next question (V-ROLE-3).
type conn struct {
	p    *process
	max  int
	opts *Options
	quit chan struct{} // closed by retire
	once sync.Once
	done chan struct{} // one signal when the open question is answered or lost

	// Of whoever talks to the process.
	good   bool // it has answered well since the last bad line
	unread int  // bytes written since the last answer; an honest child has read the rest

	mu         sync.Mutex
	open       string       // id of the open question; empty when none is open
	openBytes  []byte       // the same
	answer     []byte       // to the question that was open
	gone       bool         // stdout has ended; the process is of no use any more
	lost       *ahp.Failure // how it ended; set after gone
	bad        int
	unanswered []string // ids that were given up, oldest first
	answered   [maxAnswered]string
	nextSlot   int
}

func newConn(p *process, o Options) *conn {
	return &conn{p: p, max: o.MaxAnswerBytes, opts: &o, quit: make(chan struct{}), done: make(chan struct{}, 1)}
}

// retire makes serve end the process.
func (k *conn) retire() { k.once.Do(func() { close(k.quit) }) }

func (k *conn) dead() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.gone
}

// ask sends one question and waits for its answer. usable is false when the
// process must not be used any more.
func (k *conn) ask(ctx, own context.Context, x *Exchange) (f *ahp.Failure, usable bool) {
	k.mu.Lock()
	if k.gone { // it ended just now, and has seen nothing of this question
		k.mu.Unlock()
		if own.Err() != nil {
			return shut(), false
		}
		return &ahp.Failure{Class: ahp.FailConnection, Err: errLost}, false
	}
	k.open = x.ID
	k.openBytes = append(k.openBytes[:0], x.ID...)
	select {
	case <-k.done: // a signal that nobody waited for
	default:
	}
	k.mu.Unlock()

	if f := k.write(ctx, own, x.Frame); f != nil {
		// The process has not got the whole question, so however it ended, this
		// is a lost connection, and asking its successor is safe.
		k.mu.Lock()
		k.open = ""
		k.mu.Unlock()
		return f, false
	}
	select {
	case <-k.done:
	case <-ctx.Done():
		return k.giveUp(x.ID, ended(ctx))
	case <-own.Done():
		return k.giveUp(x.ID, shut())
	}
	k.mu.Lock()
	if k.open != "" { // no answer: the process is gone
		k.open = ""
		defer k.mu.Unlock()
		if own.Err() != nil {
			return shut(), false // we ended it
		}
		return copyFailure(k.lost), false
	}
	answer := k.answer
	k.mu.Unlock()
	k.unread = 0
	// Nobody writes to answer while no question is open, and we hold the process.
	if ctx.Err() != nil {
		return late(ctx), true
	}
	f = x.Accept(answer)
	k.mu.Lock()
	defer k.mu.Unlock()
	if f != nil && f.Class == ahp.FailMalformed {
		k.bad++
		k.good = false
		return f, k.bad < maxMalformed
	}
	k.bad, k.good = 0, true
	if cap(k.answer) > 64<<10 {
		k.answer = nil // one huge answer must not stay
	}
	return f, true
}

// giveUp takes back the open question. Its answer is dropped when it comes
// (V-DL-4, V-AMB-4).
func (k *conn) giveUp(id string, f *ahp.Failure) (*ahp.Failure, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.open == "" {
		return f, true // it came just now
	}
	k.open = ""
	k.unanswered = append(k.unanswered, id)
	return f, len(k.unanswered) < maxUnanswered
}

// write sends one line. After any failure the stream may hold half a line, and
// the process cannot be used any more.
func (k *conn) write(ctx, own context.Context, frame []byte) *ahp.Failure {
	line := withLF(frame)
	deadline, _ := ctx.Deadline()
	err := k.p.stdin.SetWriteDeadline(deadline)
	k.unread += len(line)
	if err != nil || k.unread > 4<<10 {
		// This write may have to wait for the reader.
		defer k.unblockBy(ctx)()
		defer k.unblockBy(own)()
	}
	if _, err = k.p.stdin.Write(line); err == nil {
		return nil
	}
	switch {
	case own.Err() != nil:
		return shut()
	case ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded):
		f := ended(ctx)
		if ctx.Err() == nil { // the pipe's clock was ahead of the context's
			f = &ahp.Failure{Class: ahp.FailDeadline}
		}
		f.Err = errPartial
		return f
	}
	return &ahp.Failure{Class: ahp.FailConnection, Err: errPartial}
}

// unblockBy ends the write under way when ctx ends. What it returns takes that
// back, and waits where it has begun: it would end the next question's write.
func (k *conn) unblockBy(ctx context.Context) (takeBack func()) {
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(done)
		if k.p.stdin.SetWriteDeadline(time.Unix(1, 0)) != nil {
			// Without deadlines only the end of the process ends it.
			k.retire()
			k.p.signal(kill)
		}
	})
	return func() {
		if !stop() {
			<-done
		}
	}
}

// serve reads stdout until the process ends or is retired, then ends and reaps
// it. It returns when nothing of the process is left.
func (k *conn) serve(killCtx context.Context) {
	ending := make(chan struct{})
	stop := make(chan struct{})
	go func() {
		defer close(ending)
		select {
		case <-k.quit:
			k.p.end(killCtx)
		case <-stop:
		}
	}()
	f := k.read()
	k.mu.Lock()
	k.gone = true
	k.mu.Unlock()
	// The child may be about to end by itself: give it the time to say how. On a
	// busy machine that takes longer than to close its stdout.
	if f == nil {
		k.p.stdin.Close()
		k.p.waitExit(killCtx, k.p.grace)
	}
	select {
	case <-k.quit:
	default:
		close(stop)
	}
	<-ending
	now, cancel := context.WithCancel(killCtx)
	cancel() // it has closed its stdout or flooded it: no graces
	if f == nil && exited(k.p) {
		k.p.end(now)
		f = k.p.exitFailure()
		if f == nil || k.p.signaled() {
			// A process that was killed is a lost connection (V-FC-2).
			cause := errLost
			if f != nil {
				cause = f.Err
			}
			f = &ahp.Failure{Class: ahp.FailConnection, Err: cause}
		}
	} else if f == nil {
		f = &ahp.Failure{Class: ahp.FailConnection, Err: errLost}
	}
	k.mu.Lock()
	k.lost = f
	k.mu.Unlock()
	select {
	case k.done <- struct{}{}:
	default:
	}
	k.p.end(now)
}

func exited(p *process) bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// read handles lines until stdout ends (nil) or the process breaks the rules.
func (k *conn) read() *ahp.Failure {
	in := bufio.NewReaderSize(k.p.stdout, 16<<10)
	var long []byte // the beginning of a line that does not fit the buffer
	for {
		part, err := in.ReadSlice('\n')
		if err == nil || errors.Is(err, bufio.ErrBufferFull) {
			if len(long)+len(part)-1 > k.max {
				return &ahp.Failure{Class: ahp.FailMalformed, Err: errTooLong}
			}
			if err != nil {
				long = append(long, part...)
				continue
			}
			line := part
			if long != nil {
				line = append(long, part...)
				long = nil
			}
			if !k.line(line[:len(line)-1]) {
				return &ahp.Failure{Class: ahp.FailMalformed, Err: errUnasked}
			}
			continue
		}
		// A last line without its line feed is incomplete here (V-AMB-9).
		return nil
	}
}

var errUnasked = errors.New("the process keeps writing lines that answer nothing")

// line takes one line and reports whether the process may go on.
func (k *conn) line(line []byte) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.opts.Revision == ahp.VersionDraft {
		return k.lineDraft(line)
	}
	if len(k.open) >= longID && bytes.Contains(line, k.openBytes) {
		// A long id stands in a line by no accident: this is meant for the open
		// question, and the codec checks the id.
		k.deliver(line)
		return true
	}
	if id, ok := answerID(line); ok {
		for i, u := range k.unanswered {
			if u == id { // late: dropped, and the open question stays open
				k.unanswered = append(k.unanswered[:i], k.unanswered[i+1:]...)
				k.remember(id)
				return true
			}
		}
		for _, a := range k.answered {
			if a == id && id != "" && id != k.open {
				k.bad++ // a second answer
				return k.bad < maxMalformed
			}
		}
	}
	if k.open == "" { // unasked: no effect, but not for ever
		k.bad++
		return k.bad < maxMalformed
	}
	k.deliver(line)
	return true
}

func (k *conn) deliver(line []byte) {
	k.answer = append(k.answer[:0], line...)
	k.remember(k.open)
	k.open = ""
	select {
	case k.done <- struct{}{}:
	default:
	}
}

func (k *conn) remember(id string) {
	k.answered[k.nextSlot] = id
	k.nextSlot = (k.nextSlot + 1) % maxAnswered
}

// answerID finds the id of a response, if it is a string.
func answerID(line []byte) (string, bool) {
	d := jsontext.NewDecoder(bytes.NewReader(line))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return "", false
	}
	for {
		name, err := d.ReadToken()
		if err != nil || name.Kind() != '"' {
			return "", false
		}
		if name.String() == "id" {
			v, err := d.ReadToken()
			if err != nil || v.Kind() != '"' {
				return "", false
			}
			return v.String(), true
		}
		if d.SkipValue() != nil {
			return "", false
		}
	}
}

// copyFailure keeps what several callers get apart: each fills in its backend.
func copyFailure(f *ahp.Failure) *ahp.Failure {
	c := *f
	return &c
}
