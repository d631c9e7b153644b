package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/settle"
)

// auditTimeout bounds one append.
const auditTimeout = 5 * time.Second

// KindAnswer is the kind of an audit entry about an answer of the AHP endpoint:
// the asking harness settles, and this is our part of it.
const KindAnswer audit.Kind = "answer"

// auditor writes entries and keeps the state of the log in sight.
type auditor struct {
	log     audit.Log
	then    harness.RecordFailure
	logger  *slog.Logger
	metrics *metrics
	broken  atomic.Bool
	full    chan struct{} // a token while the log has no room; capacity 1

	mu   sync.Mutex
	lost unrecorded // since the last entry that told of it
}

// KindUnrecorded is the kind of an audit entry about decisions that the log could
// not be told of at the time.
const KindUnrecorded audit.Kind = "unrecorded"

// unrecordedVersion is the version of [unrecorded] in the audit log.
const unrecordedVersion = 1

// unrecorded is what an outage of the log leaves behind: how many decisions have no
// entry.
type unrecorded struct {
	Version   int                   `json:"version"`
	Decisions int64                 `json:"decisions"`        // settlements and answers
	Denied    int64                 `json:"denied"`           // of them, by the policy or for want of a record
	Others    int64                 `json:"others,omitempty"` // entries of other kinds
	From      time.Time             `json:"from"`             // the first
	To        time.Time             `json:"to"`               // the last
	Then      harness.RecordFailure `json:"onFailure"`        // what became of decisions
}

// lose counts an entry that was not written.
func (a *auditor) lose(e *audit.Entry) {
	now := time.Now()
	a.mu.Lock()
	defer a.mu.Unlock()
	u := &a.lost
	if u.From.IsZero() {
		u.From = now
	}
	u.To = now
	switch {
	case e.Kind != audit.Settlement && e.Kind != KindAnswer:
		u.Others++
	default:
		u.Decisions++
		if a.then == harness.RecordDeny || e.Decision != string(settle.Proceed) {
			u.Denied++
		}
	}
}

// tellLost writes the entry about what was lost, if anything was. It is called when
// the log works again.
func (a *auditor) tellLost(ctx context.Context) {
	a.mu.Lock()
	u := a.lost
	a.lost = unrecorded{}
	a.mu.Unlock()
	if u.Decisions+u.Others == 0 {
		return
	}
	u.Version, u.Then = unrecordedVersion, a.then
	data, err := json.Marshal(u)
	if err == nil {
		_, err = a.log.Append(ctx, audit.Entry{Version: unrecordedVersion, Kind: KindUnrecorded, Time: time.Now(), Decision: string(a.then), Data: data})
	}
	if err != nil { // the next one tells of both
		a.mu.Lock()
		a.lost.Decisions, a.lost.Denied, a.lost.Others = a.lost.Decisions+u.Decisions, a.lost.Denied+u.Denied, a.lost.Others+u.Others
		a.lost.From = u.From
		if a.lost.To.IsZero() {
			a.lost.To = u.To
		}
		a.mu.Unlock()
		a.broken.Store(true)
		return
	}
	a.logger.LogAttrs(ctx, slog.LevelWarn, "decisions went unrecorded", slog.Int64("decisions", u.Decisions), slog.Int64("denied", u.Denied))
}

// retry writes what waits for the log to work again.
func (a *auditor) retry(ctx context.Context) {
	if !a.broken.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), auditTimeout)
	defer cancel()
	if a.broken.CompareAndSwap(true, false) {
		a.recovered(ctx)
	}
}

// recovered tells of the end of an outage, unless it goes on.
func (a *auditor) recovered(ctx context.Context) {
	if a.tellLost(ctx); a.broken.Load() {
		return
	}
	a.metrics.auditPending.Set(0)
	a.logger.LogAttrs(ctx, slog.LevelInfo, "audit log can be written again")
}

func newAuditor(log audit.Log, then harness.RecordFailure, logger *slog.Logger, m *metrics) *auditor {
	return &auditor{log: log, then: then, logger: logger, metrics: m, full: make(chan struct{}, 1)}
}

// append writes e under a context that the caller cannot cancel: the entry must
// survive whoever caused it. It tells about the first failure and the recovery.
func (a *auditor) append(ctx context.Context, e audit.Entry) error {
	bound := &lateContext{Context: context.WithoutCancel(ctx), deadline: time.Now().Add(auditTimeout)}
	defer bound.end()
	ctx = bound
	_, err := a.log.Append(ctx, e.Fit())
	if err != nil {
		a.lose(&e)
		a.metrics.auditFailures.Inc()
		if errors.Is(err, audit.ErrFull) {
			select {
			case a.full <- struct{}{}:
			default:
			}
		}
		if !a.broken.Swap(true) {
			a.metrics.auditPending.Set(1)
			a.logger.LogAttrs(ctx, slog.LevelError, "audit log cannot be written", slog.String("error", err.Error()))
		}
		return err
	}
	if a.broken.Load() && a.broken.CompareAndSwap(true, false) {
		a.recovered(ctx)
	}
	return nil
}

// A lateContext ends at its deadline. It sets a timer only for who waits for that,
// which a log that queues does not do. It may be used concurrently.
type lateContext struct {
	context.Context // gives the values, and never ends
	deadline        time.Time

	once   sync.Once // makes timed and cancel
	timed  context.Context
	cancel context.CancelFunc
	ended  atomic.Bool
}

func (c *lateContext) Deadline() (time.Time, bool) { return c.deadline, true }

func (c *lateContext) Done() <-chan struct{} {
	c.once.Do(func() { c.timed, c.cancel = context.WithDeadline(c.Context, c.deadline) })
	return c.timed.Done()
}

func (c *lateContext) Err() error {
	switch {
	case c.ended.Load():
		return context.Canceled
	case !time.Now().Before(c.deadline):
		return context.DeadlineExceeded
	}
	return nil
}

// end gives the timer back, if there is one. The context has an error before its
// channel closes: package context panics where one that a log made from it sees the
// second without the first.
func (c *lateContext) end() {
	c.ended.Store(true)
	if c.once.Do(func() { c.timed = over }); c.cancel != nil {
		c.cancel()
	}
}

// over has ended.
var over = func() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}()

// A callInfo follows one hook call through the chain, beside the protocol: the
// policy and the recorder meet in it.
type callInfo struct {
	agent string

	mu     sync.Mutex
	judged *judgement
}

func (i *callInfo) decided(j *judgement) {
	i.mu.Lock()
	i.judged = j
	i.mu.Unlock()
}

func (i *callInfo) judgement() *judgement {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.judged
}

// policyDecision is what the policy said; nil while it has said nothing.
func (i *callInfo) policyDecision() *policy.Decision {
	if j := i.judgement(); j != nil {
		return &j.decision
	}
	return nil
}

type callInfoKey struct{}

func withCallInfo(ctx context.Context, i *callInfo) context.Context {
	return context.WithValue(ctx, callInfoKey{}, i)
}

func callInfoFrom(ctx context.Context) *callInfo {
	i, _ := ctx.Value(callInfoKey{}).(*callInfo)
	return i
}

// Record implements [harness.Recorder]. Only events that can be intercepted are
// settlements; observations have no record.
func (g *Gateway) Record(ctx context.Context, r *settle.Record) error {
	if !r.EventType.Interceptable(g.opts.Revision) {
		return nil
	}
	info := callInfoFrom(ctx)
	if info == nil {
		info = &callInfo{}
	}
	g.count(info.agent, r)
	return g.appendRecord(ctx, audit.Settlement, info.agent, r, info.judgement())
}

// records holds memory for encoded records, which a log copies.
var records = sync.Pool{New: func() any { b := make([]byte, 0, 1<<10); return &b }}

// keptRecord is the largest memory that is kept for the next record.
const keptRecord = 4 << 10

// appendRecord writes a settlement, or an answer, to the audit log.
func (g *Gateway) appendRecord(ctx context.Context, kind audit.Kind, agent string, r *settle.Record, j *judgement) error {
	buf := records.Get().(*[]byte)
	e := g.settlementEntry((*buf)[:0], kind, agent, r, j)
	if cap(e.Data) <= keptRecord {
		*buf = e.Data
	}
	defer records.Put(buf)
	return g.audit.append(ctx, e)
}

// count keeps the figures of a settlement.
func (g *Gateway) count(agent string, r *settle.Record) {
	m := g.metrics
	m.decisions.WithLabelValues(agent, string(r.Outcome)).Inc()
	if r.Outcome != settle.Proceed && r.Outcome != settle.Ask {
		m.denials.WithLabelValues(agent, string(r.Decision)).Inc()
	}
	if r.FailedOpen {
		m.failedOpen.WithLabelValues(agent).Inc()
	}
}

// settlementEntry puts what people search by into columns. The record itself is
// written behind buf.
func (g *Gateway) settlementEntry(buf []byte, kind audit.Kind, agent string, r *settle.Record, j *judgement) audit.Entry {
	at, err := time.Parse(time.RFC3339Nano, r.Time)
	if err != nil {
		at = time.Time{} // the log fills in the present
	}
	e := audit.Entry{
		Version: settle.RecordVersion, Kind: kind, Time: at,
		Session: r.SessionID, Agent: agent, Event: string(r.EventType), Tool: r.Tool, Operation: r.Operation,
		Decision: string(r.Outcome), Rules: r.Rules, Hazards: r.Hazards,
	}
	if r.Decision == settle.DecisionSynthetic {
		e.Flags = append(e.Flags, "synthetic")
	}
	if r.FailedOpen {
		e.Flags = append(e.Flags, "failed-open")
	}
	if j != nil {
		d := &j.decision
		for _, name := range j.left {
			e.Flags = append(e.Flags, "left-out:"+name)
		}
		for _, o := range d.Overlays {
			e.Flags = append(e.Flags, "overlay:"+o)
		}
		for _, f := range d.Flags {
			e.Flags = append(e.Flags, "flag:"+f.Rule)
		}
		for _, f := range d.Shadow {
			e.Flags = append(e.Flags, "shadow:"+f.Rule)
		}
	}
	e.Data = r.MarshalAppend(buf)
	if len(e.Data) > audit.MaxDataBytes {
		// The lists of names are the long part, and the columns hold their start.
		short := *r
		short.Facts, short.Rules, short.Hazards = nil, nil, nil
		short.Hops = short.Hops[:min(len(short.Hops), audit.MaxCodes)]
		e.Data = short.MarshalAppend(buf)
		e.Flags = append(e.Flags, "shortened")
	}
	if g.opts.FactValues && j != nil && j.facts != nil {
		e.Data = g.withFactValues(e.Data, j.facts)
	}
	return e
}

// maxFactValues bounds the facts in one record.
const maxFactValues = 32

// factValueTime bounds the look for secrets in them.
const factValueTime = time.Second

// withFactValues adds the facts to a record, one short line each, with what the
// detector takes for secrets replaced. A record that would be too long goes without.
func (g *Gateway) withFactValues(data []byte, f *facts.Facts) []byte {
	ctx, cancel := context.WithTimeout(context.Background(), factValueTime)
	defer cancel()
	list, more := policy.FactTexts(ctx, f, maxFactValues, g.decider.set.Load().opts.Secrets)
	b, err := json.Marshal(struct {
		Values []policy.ExplainedFact `json:"factValues"`
		More   int                    `json:"factValuesLeftOut,omitempty"`
	}{list, more})
	if err != nil || len(data) < 2 || len(data)+len(b) > audit.MaxDataBytes {
		return data
	}
	out := append(slices.Clone(data[:len(data)-1]), ',')
	return append(out, b[1:]...)
}
