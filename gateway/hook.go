package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/internal/deep"
	"github.com/holdpoint/holdpoint/native"
	"github.com/holdpoint/holdpoint/native/claude"
	"github.com/holdpoint/holdpoint/native/codex"
	"github.com/holdpoint/holdpoint/native/refuse"
	"github.com/holdpoint/holdpoint/settle"
)

// A dialect is how one agent speaks to its hooks.
type dialect struct {
	decode func(*native.Call, native.Options) (*native.Decoded, error)
	encode func(event string, v native.Verdict) refuse.Answer
	offers func(rewriteAllows bool) map[string]native.Offer
}

// dialects lists the agents that the gateway serves, by the name on the hook's
// command line.
var dialects = map[string]dialect{
	claude.Agent: {claude.Decode, claude.Encode, func(bool) map[string]native.Offer { return claude.Offers() }},
	codex.Agent:  {codex.Decode, codex.Encode, codex.Offers},
}

const (
	// writeTimeout bounds the writing of an answer.
	writeTimeout = 5 * time.Second
	// lingerBytes and lingerTimeout bound what is read of a frame that was
	// answered early, so that the answer is not lost with the connection.
	lingerBytes   = 16 << 20
	lingerTimeout = time.Second
)

var frameReaders = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 8<<10) }}

// margin is what is kept of a client's budget for the way back: a tenth, at
// least 20 ms, at most half of it.
func margin(budget time.Duration) time.Duration {
	return min(max(budget/10, 20*time.Millisecond), budget/2)
}

// serveHooks accepts on the hook socket until ctx ends, and returns when every
// connection has ended. What is under way then goes on until work ends.
func (g *Gateway) serveHooks(ctx, work context.Context) error {
	stop := context.AfterFunc(ctx, func() { g.hookLn.Close() })
	defer stop()
	var conns sync.WaitGroup
	defer conns.Wait()
	slots := make(chan struct{}, g.opts.MaxConnections)
	for {
		c, err := g.hookLn.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			// Too many open files, most often: others may end meanwhile.
			g.log.LogAttrs(ctx, slog.LevelError, "hook socket cannot accept", slog.String("error", err.Error()))
			if !sleep(ctx, 50*time.Millisecond) {
				return nil
			}
			continue
		}
		select {
		case slots <- struct{}{}:
			conns.Go(func() {
				g.metrics.connections.Inc()
				defer g.metrics.connections.Dec() // after its slot is free: who sees none open finds one
				defer func() { <-slots }()
				deep.Stack()
				g.serveHook(work, c)
			})
		default:
			g.metrics.frames.WithLabelValues("busy").Inc()
			g.answer(c, &hookwire.Answer{Status: hookwire.StatusBusy}, false)
			c.Close()
		}
	}
}

// serveHook reads one frame, decides and answers.
func (g *Gateway) serveHook(ctx context.Context, c net.Conn) {
	defer c.Close()
	began := time.Now()
	if err := c.SetReadDeadline(began.Add(g.opts.FrameTimeout)); err != nil {
		return
	}
	// A frame is read in small parts, which must not be a system call each.
	in := frameReaders.Get().(*bufio.Reader)
	in.Reset(c)
	req, err := hookwire.ReadRequest(in, g.opts.MaxPayloadBytes)
	in.Reset(nil)
	frameReaders.Put(in)
	if err != nil {
		g.refuseFrame(ctx, c, req, err)
		return
	}
	a, wait := g.decide(ctx, req, began)
	g.metrics.frames.WithLabelValues(frameResult(a.Status)).Inc()
	g.answer(c, a, false)
	g.metrics.seconds.WithLabelValues(knownAgent(req.Header.Agent)).Observe(time.Since(began).Seconds())
	if wait != nil {
		// Observers are told behind the answer and without the connection; the
		// harness bounds how many wait and how long.
		c.Close()
		g.deliveries.Go(wait)
	}
}

// refuseFrame answers what is no request.
func (g *Gateway) refuseFrame(ctx context.Context, c net.Conn, req *hookwire.Request, err error) {
	status := hookwire.StatusOf(err)
	if status == hookwire.StatusInternal {
		// The connection itself failed, or its frame did not arrive in time.
		g.metrics.frames.WithLabelValues("lost").Inc()
		g.log.LogAttrs(ctx, slog.LevelDebug, "hook frame did not arrive", slog.String("error", err.Error()))
		return
	}
	g.metrics.frames.WithLabelValues(frameResult(status)).Inc()
	g.log.LogAttrs(ctx, slog.LevelWarn, "hook frame refused", slog.String("error", err.Error()))
	if status == hookwire.StatusTooLarge && req != nil {
		if g.opts.Oversize == OversizePolicy {
			// The client's failure policy decides, and the client's spool has the record:
			// a refusal noted here would contradict it.
			g.metrics.events.WithLabelValues(knownAgent(req.Header.Agent), "oversize").Inc()
			status = hookwire.StatusInternal
		} else {
			g.recordOversize(ctx, &req.Header)
		}
	}
	g.answer(c, &hookwire.Answer{Status: status}, true)
}

// recordOversize leaves a record of a payload that nobody read.
func (g *Gateway) recordOversize(ctx context.Context, h *hookwire.Header) {
	agent := knownAgent(h.Agent)
	if !refuse.Refusable(h.Agent, h.Event) && h.Event != "" {
		g.metrics.events.WithLabelValues(agent, "ignored").Inc()
		return
	}
	g.metrics.events.WithLabelValues(agent, "oversize").Inc()
	ev := &ahp.Event{ID: harness.NewID(), Source: g.source, Type: ahp.ToolBefore, Session: ahp.Session{CWD: h.CWD}}
	s := settle.Start(ahp.DenyOnly()).Refuse("", ahp.FailEvent).Settlement()
	r := s.Record(ev, harness.NewID(), time.Now(), 0, "", settle.Details{
		PolicyDigest: g.decider.Digest(), Client: h.Client, Adapter: agent,
	})
	g.count(agent, &r)
	e := g.settlementEntry(nil, audit.Settlement, agent, &r, nil)
	e.Flags = append(e.Flags, "oversize")
	if err := g.audit.append(ctx, e); err != nil {
		g.log.LogAttrs(ctx, slog.LevelError, "record of an oversized payload was not written", slog.String("error", err.Error()))
	}
}

// answer writes a and, where the frame was not read whole, reads on for a while:
// closing with unread bytes would take the answer away on some systems.
func (g *Gateway) answer(c net.Conn, a *hookwire.Answer, early bool) {
	buf, err := hookwire.AppendAnswer(nil, a)
	if err != nil {
		g.log.LogAttrs(context.Background(), slog.LevelError, "answer does not fit the frame", slog.String("error", err.Error()))
		buf, err = hookwire.AppendAnswer(nil, &hookwire.Answer{Status: hookwire.StatusInternal})
		if err != nil {
			return
		}
	}
	if err := c.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return
	}
	if _, err := c.Write(buf); err != nil {
		g.metrics.frames.WithLabelValues("answer_lost").Inc()
		return
	}
	if !early {
		return
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok && half.CloseWrite() != nil {
		return
	}
	if c.SetReadDeadline(time.Now().Add(lingerTimeout)) == nil {
		// How it ends does not matter: the answer is out.
		_, _ = io.Copy(io.Discard, io.LimitReader(c, lingerBytes))
	}
}

func frameResult(s hookwire.Status) string {
	switch s {
	case hookwire.StatusAnswer:
		return "answered"
	case hookwire.StatusVersion:
		return "version"
	case hookwire.StatusBusy:
		return "busy"
	case hookwire.StatusMalformed:
		return "malformed"
	case hookwire.StatusTooLarge:
		return "too_large"
	case hookwire.StatusInternal:
		return "internal"
	}
	return "unknown"
}

// decide is the path of one hook event from its payload to the agent's answer.
// wait, when not nil, tells observers and must be called after the answer.
func (g *Gateway) decide(ctx context.Context, req *hookwire.Request, began time.Time) (_ *hookwire.Answer, wait func()) {
	h := &req.Header
	d, ok := dialects[h.Agent]
	if !ok {
		g.metrics.events.WithLabelValues("unknown", "unknown").Inc()
		return &hookwire.Answer{Status: hookwire.StatusMalformed}, nil
	}
	dec, err := d.decode(&native.Call{Event: h.Event, CWD: h.CWD, Env: h.Env, Payload: req.Payload}, native.Options{
		MaxBytes: g.opts.MaxPayloadBytes, Native: g.opts.Native,
		ID: harness.NewID(), Source: g.source, Time: began.UTC().Format(time.RFC3339Nano),
		Revision: g.opts.Revision, Manifest: g.manifest,
	})
	if err != nil {
		return hookAnswer(d.encode(dec.EventName, g.refuseEvent(ctx, h, dec, began, err))), nil
	}
	switch dec.Disposition {
	case native.Ignore:
		g.metrics.events.WithLabelValues(h.Agent, "ignored").Inc()
		return &hookwire.Answer{Status: hookwire.StatusAnswer}, nil
	case native.Observe:
		g.metrics.events.WithLabelValues(h.Agent, "observed").Inc()
		return &hookwire.Answer{Status: hookwire.StatusAnswer}, g.observe(ctx, h, dec)
	case native.Decide:
		if g.opts.Revision == ahp.VersionDraft && !g.concerns(dec.Event.Type) {
			g.metrics.events.WithLabelValues(h.Agent, "ignored").Inc()
			return &hookwire.Answer{Status: hookwire.StatusAnswer}, nil
		}
	}
	g.metrics.events.WithLabelValues(h.Agent, "decided").Inc()

	budget := min(time.Duration(h.BudgetMs)*time.Millisecond, MaxBudget)
	if budget <= 0 {
		budget = DefaultBudget
	}
	ev, ws := g.place(h, dec)
	info := &callInfo{agent: h.Agent}
	call, cancel := context.WithCancelCause(withCallInfo(ctx, info))
	// Not a deadline of the context: what is told to observers behind the answer
	// may take longer than the client waits.
	expire := time.AfterFunc(time.Until(began.Add(budget-margin(budget))), func() { cancel(errBudget) })
	done := int64(0)
	if g.opts.Revision == ahp.VersionDraft {
		done = g.stepsDone(h, dec)
		g.offered.Store(ev.ID, g.offerAt(h, dec, done))
		defer g.offered.Delete(ev.ID)
	}
	c := g.harness.Begin(call, ev)
	c.Note(settle.Details{RootSource: string(ws.From), Client: h.Client, Adapter: h.Agent})
	s, err := c.Settle()
	expire.Stop()
	if err != nil {
		g.log.LogAttrs(ctx, slog.LevelError, "operation refused", slog.String("event", c.ID()), slog.String("error", err.Error()))
	}
	v := native.Verdict{Decision: native.Denied, Reason: s.Reason}
	switch {
	case g.opts.Revision == ahp.VersionDraft:
		if v = g.verdict(&s, ev, info); v.Decision == native.Continued {
			g.sessions.step(sessionKey(h.Agent, ev), dec.Turn, done+1)
		}
		if s.State == settle.Ask && s.Event != nil {
			g.sessions.ask(sessionKey(h.Agent, ev), callKey(s.Event))
		}
	case s.Proceeds():
		v = native.Verdict{Decision: native.Proceed}
	}
	return hookAnswer(d.encode(dec.EventName, v)), func() {
		defer cancel(nil)
		_ = c.Wait(call) // how deliveries end is counted by the harness
		if g.opts.Revision == ahp.VersionDraft {
			g.tellRefused(call, &s, ev)
		}
	}
}

var errBudget = fmt.Errorf("the client's budget ended: %w", context.DeadlineExceeded)

// observe tells observers of an event that nobody can refuse.
func (g *Gateway) observe(ctx context.Context, h *hookwire.Header, dec *native.Decoded) func() {
	if dec.Event == nil {
		return nil
	}
	ev, _ := g.place(h, dec)
	if ev.Type == ahp.SessionEnd {
		g.sessions.forget(sessionKey(h.Agent, ev))
	}
	if !g.observed[ev.Type] {
		return nil
	}
	c := g.harness.Begin(ctx, ev)
	return func() {
		if _, err := c.Settle(); err == nil {
			_ = c.Wait(ctx) // how deliveries end is counted by the harness
		}
	}
}

// place adds the workspace to an event.
func (g *Gateway) place(h *hookwire.Header, dec *native.Decoded) (*ahp.Event, Workspace) {
	ev := dec.Event
	cwd := ev.Session.CWD
	if cwd == "" {
		cwd = h.CWD
	}
	ws := g.sessions.workspace(sessionKey(h.Agent, ev), dec.NamedRoots, cwd)
	g.metrics.sessions.Set(float64(g.sessions.len()))
	ev.Session.WorkspaceRoots = ws.Roots
	g.watchRoots(ws.Roots)
	return ev, ws
}

// watchRoots says once when an agent works where the policy lies. Changing the
// policy is a hazard then as ever, but the folder should not be there.
func (g *Gateway) watchRoots(roots []string) {
	dir := g.opts.Policy.Dir
	if dir == "" || g.policyExposed.Load() {
		return
	}
	for _, root := range roots {
		if within(root, dir) && !g.policyExposed.Swap(true) {
			g.metrics.policyExposed.Set(1)
			g.log.LogAttrs(context.Background(), slog.LevelWarn, "policy folder lies in the workspace of an agent: keep it elsewhere",
				slog.String("policy", dir), slog.String("workspace", root))
		}
	}
}

func sessionKey(agent string, ev *ahp.Event) string { return agent + "\x00" + ev.Session.ID }

// refuseEvent records a payload that cannot be an event. It is refused where the
// agent can be refused, whatever the failure policy says: what is wrong with it
// was the sender's to choose.
func (g *Gateway) refuseEvent(ctx context.Context, h *hookwire.Header, dec *native.Decoded, began time.Time, cause error) native.Verdict {
	fault := native.Fault(cause)
	attrs := []slog.Attr{slog.String("agent", h.Agent), slog.String("event", h.Event), slog.String("problem", fault)}
	g.metrics.events.WithLabelValues(h.Agent, "malformed").Inc()
	g.log.LogAttrs(ctx, slog.LevelWarn, "payload of a hook is malformed", attrs...)
	if dec.EventName != "" && !refuse.Refusable(h.Agent, dec.EventName) {
		return native.Verdict{}
	}
	ev := &ahp.Event{ID: harness.NewID(), Source: g.source, Type: ahp.ToolBefore, Session: ahp.Session{CWD: h.CWD}}
	s := settle.Start(ahp.DenyOnly()).Refuse("", ahp.FailEvent).Settlement()
	r := s.Record(ev, harness.NewID(), began, time.Since(began), "", settle.Details{
		PolicyDigest: g.decider.Digest(), Client: h.Client, Adapter: h.Agent,
	})
	// A record that is lost changes nothing here: the answer is a refusal.
	if err := g.recorder.Record(withCallInfo(ctx, &callInfo{agent: h.Agent}), &r); err != nil {
		g.log.LogAttrs(ctx, slog.LevelError, "record of a refusal was not written", slog.String("error", err.Error()))
	}
	reason := "The payload of this hook cannot be read as the event that it must be"
	if fault != "" {
		reason += ": " + fault
	}
	return native.Verdict{Decision: native.Denied, Reason: reason + "."}
}

func hookAnswer(a refuse.Answer) *hookwire.Answer {
	return &hookwire.Answer{Status: hookwire.StatusAnswer, ExitCode: uint8(a.ExitCode), Stdout: a.Stdout, Stderr: a.Stderr}
}
