package backend

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/ahp/wire01"
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
// SetReadDeadline or Close, whichever in has. The principal is that of
// [WithPrincipal]. Nobody else may read in or write out meanwhile.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() { interrupt(in) })
	defer stop()
	p := &stdio{
		s: s, ctx: ctx, cancel: cancel, principal: principalOf(ctx),
		in: bufio.NewReaderSize(in, 64<<10), out: out,
	}
	p.hire()
	p.wg.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(p.err, io.EOF) {
		return nil
	}
	return p.err
}

// interrupt makes a read under way return.
func interrupt(in io.Reader) {
	if d, ok := in.(interface{ SetReadDeadline(time.Time) error }); ok && d.SetReadDeadline(time.Unix(1, 0)) == nil {
		return
	}
	if c, ok := in.(io.Closer); ok {
		_ = c.Close() // the reader reports what comes of it
	}
}

// stdio serves one pair of streams. Whoever of its crew holds the reader reads
// one line, lets the next one read, and handles the line himself: a message is
// handled by the goroutine that read it, without a hand-over.
type stdio struct {
	s         *Server
	ctx       context.Context
	cancel    context.CancelCauseFunc
	principal string
	wg        sync.WaitGroup

	mu  sync.Mutex // held by who reads
	in  *bufio.Reader
	any bool  // a line was read
	err error // why reading ended

	crew atomic.Int32 // goroutines
	free atomic.Int32 // those that read or wait to read

	outMu sync.Mutex
	out   io.Writer
}

func (p *stdio) hire() {
	p.crew.Add(1)
	p.free.Add(1)
	p.wg.Go(p.work)
}

// spare is how many of the crew wait for work; with one open request at a time,
// as harnesses have, the same two take turns.
const spare = 2

func (p *stdio) work() {
	defer p.crew.Add(-1)
	line := make([]byte, 0, 4<<10)
	for {
		p.mu.Lock()
		var large, ok bool
		line, large, ok = p.next(line[:0])
		// One more than can be under way, so that somebody says so to the next.
		if free := p.free.Add(-1); ok && free == 0 && int(p.crew.Load()) <= p.s.opts.MaxConcurrent {
			p.hire()
		}
		p.mu.Unlock()
		if !ok {
			return
		}
		p.handle(line, large)
		if cap(line) > 64<<10 {
			line = make([]byte, 0, 4<<10)
		}
		if p.free.Add(1) > spare {
			p.free.Add(-1)
			return
		}
	}
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
		if !whole || !large && len(bytes.TrimSpace(buf)) == 0 {
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
		out, _ = p.s.reject(line, wire01.TooLarge(line, p.s.opts.Limits))
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
