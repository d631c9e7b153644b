package backend

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/internal/deep"
)

// ServeStdio answers one message for each line of in on out, until in ends
// (AHP 0.1 section 11). It serves both lifecycles: a harness that wants one
// answer closes its end after one line. Messages are handled concurrently and
// answers may overtake each other; each is one write of one line. A line that
// in's end cuts off is dropped, unless it is the only one and whole (V-AMB-9).
//
// It returns nil after in has ended and every answer is written, and otherwise
// the first error of in or out. When ctx ends, what is under way is canceled and
// ServeStdio returns ctx's cause once reading has ended; it ends reading with
// SetReadDeadline or Close, whichever in has. A file that the system reads
// without either, as an inherited stdin often is, is left behind: one goroutine
// stays with it until something comes or it ends, which is then dropped. The
// principal is that of [WithPrincipal]. Nobody else may read in or write out
// meanwhile.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := &stdio{
		s: s, ctx: ctx, cancel: cancel, principal: principalOf(ctx),
		in: bufio.NewReaderSize(in, 64<<10), out: out,
	}
	p.timer = time.AfterFunc(time.Hour, p.overdue)
	p.mu.Lock()
	p.hire()
	p.mu.Unlock()
	done := make(chan struct{})
	go func() { p.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		if interrupt(in) {
			<-done
		}
	}
	p.timer.Stop() // one that runs now finds nobody of the crew
	if ctx.Err() != nil {
		p.outMu.Lock() // whoever writes now ends first, and nobody begins
		defer p.outMu.Unlock()
		return context.Cause(ctx)
	}
	if errors.Is(p.err, io.EOF) {
		return nil
	}
	return p.err
}

// interrupt makes a read under way return, and reports whether it could.
func interrupt(in io.Reader) bool {
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok && d.SetReadDeadline(time.Unix(1, 0)) == nil {
		return true
	}
	if _, ok := in.(*os.File); ok {
		return false // to close it ends no read that waits in the system
	}
	if c, ok := in.(io.Closer); ok {
		_ = c.Close() // the reader reports what comes of it
	}
	return true
}

// stdio serves one pair of streams. Whoever of its crew reads a line also handles
// it, and reads on: as long as answers are quick, one goroutine does everything,
// and no thread is woken for a message. Somebody else takes over the reading when
// the next message is there already, or when a line takes longer than patience.
type stdio struct {
	s         *Server
	ctx       context.Context
	cancel    context.CancelCauseFunc
	principal string
	wg        sync.WaitGroup
	timer     *time.Timer // calls overdue

	mu      sync.Mutex
	crew    int       // goroutines
	reading bool      // one of them reads, or is about to
	ended   bool      // there is nothing more to read
	began   time.Time // when the last line was read
	armed   bool      // timer will call

	// Of the one who reads.
	in  *bufio.Reader
	any bool  // a line was read
	err error // why reading ended

	outMu sync.Mutex
	out   io.Writer
}

// patience is how long a line may be handled before somebody else reads the next.
// It is well above what a policy takes, and below what a peer would notice.
const patience = time.Millisecond

// hire lets one more read, if that is not too many. It is called under mu, by one
// of the crew or while there is one.
func (p *stdio) hire() {
	// One more than can be under way, so that somebody says so to the next.
	if p.crew > p.s.opts.MaxConcurrent {
		return
	}
	p.crew++
	p.reading = true
	p.wg.Go(p.work)
}

func (p *stdio) work() {
	deep.Stack()
	buf := bodies.Get().(*[]byte)
	line := *buf
	defer func() {
		if cap(line) <= keptBody {
			*buf = line
			bodies.Put(buf)
		}
	}()
	for {
		var large, ok bool
		line, large, ok = p.next(line[:0])
		p.mu.Lock()
		p.reading = false
		if !ok || p.ctx.Err() != nil {
			p.ended = true
			p.crew--
			p.mu.Unlock()
			return
		}
		p.began = time.Now()
		if p.in.Buffered() > 0 {
			p.hire()
		} else if !p.armed {
			p.armed = true
			p.timer.Reset(patience)
		}
		p.mu.Unlock()

		p.handle(line, large)
		if cap(line) > keptBody {
			line = make([]byte, 0, 4<<10)
		}

		p.mu.Lock()
		if p.reading || p.ended {
			p.crew--
			p.mu.Unlock()
			return
		}
		p.reading = true
		p.mu.Unlock()
	}
}

// overdue lets somebody read when all have been handling lines for a while. The
// timer is set again at most once in patience, not once for each line.
func (p *stdio) overdue() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = false
	if p.reading || p.ended || p.crew == 0 {
		return
	}
	if left := patience - time.Since(p.began); left > 0 {
		p.armed = true
		p.timer.Reset(left)
		return
	}
	p.hire()
}

// next reads one line behind buf; large means that it is over the limit, and then
// only its beginning is there. Lines of white space ask nothing and are skipped.
func (p *stdio) next(buf []byte) (line []byte, large, ok bool) {
	limit := p.s.opts.Limits.MaxBytes
	for p.err == nil {
		part, err := p.in.ReadSlice('\n')
		switch {
		case large:
		case len(buf)+len(bytes.TrimSuffix(part, []byte("\n"))) > limit:
			buf, large = append(buf, part[:limit-len(buf)]...), true
		default:
			buf = append(buf, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		whole := err == nil
		if !whole {
			p.err = err
			// The only line of a stream may lack its end, a later one is cut off.
			whole = errors.Is(err, io.EOF) && !p.any
		}
		if !whole || !large && len(bytes.Trim(buf, " \t\r\n")) == 0 {
			buf, large = buf[:0], false
			continue
		}
		p.any = true
		return buf, large, true
	}
	return buf, false, false
}

func (p *stdio) handle(line []byte, large bool) {
	n := len(line)
	var out []byte
	if large {
		out, _ = p.s.reject(line, p.s.tooLarge(line), p.principal)
	} else {
		out, _ = p.s.answer(p.ctx, line, line, p.principal)
	}
	if len(out) == n {
		return
	}
	out = append(out, '\n')
	p.outMu.Lock()
	defer p.outMu.Unlock()
	if p.ctx.Err() != nil {
		return // nothing follows half a line
	}
	if _, err := p.out.Write(out[n:]); err != nil {
		p.cancel(fmt.Errorf("writing an answer: %w", err))
	}
}
