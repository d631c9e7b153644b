package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/backend"
)

// KindRejected is the kind of an audit entry about messages to the AHP endpoint that
// were answered with an error, or dropped, before the policy was asked.
const KindRejected audit.Kind = "rejected"

const (
	// rejectedVersion is the version of [rejectedRecord] in the audit log.
	rejectedVersion = 1
	// rejectedPause is the least time between two such entries: who sends nothing but
	// rubbish must not fill the log.
	rejectedPause = time.Minute
)

// A rejectedRecord counts messages that had no other record.
type rejectedRecord struct {
	Version  int             `json:"version"`
	Messages int64           `json:"messages"` // of all counts
	From     time.Time       `json:"from"`     // the first
	To       time.Time       `json:"to"`       // the last
	Counts   []rejectedCount `json:"counts"`
}

type rejectedCount struct {
	rejectedKind
	Messages int64 `json:"messages"`
}

// A rejectedKind is what messages are counted by. Principals are the listeners' and
// codes the protocol's, so that there are few.
type rejectedKind struct {
	Principal   string        `json:"principal"`
	Code        ahp.ErrorCode `json:"code"`
	Status      int           `json:"status,omitempty"`
	Observation bool          `json:"observation,omitempty"`
}

// rejections counts what there is no entry of yet.
type rejections struct {
	wake chan struct{} // a token while there is something; capacity 1

	mu       sync.Mutex
	counts   map[rejectedKind]int64
	from, to time.Time
}

func newRejections() *rejections {
	return &rejections{wake: make(chan struct{}, 1), counts: map[rejectedKind]int64{}}
}

func (r *rejections) add(x backend.Rejection) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.counts) == 0 {
		r.from = now
	}
	r.to = now
	r.counts[rejectedKind(x)]++
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// take returns the record of what was counted, and begins anew.
func (r *rejections) take() (rec rejectedRecord, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.counts) == 0 {
		return rec, false
	}
	rec = rejectedRecord{Version: rejectedVersion, From: r.from, To: r.to}
	for k, n := range r.counts {
		rec.Messages += n
		rec.Counts = append(rec.Counts, rejectedCount{k, n})
	}
	clear(r.counts)
	slices.SortFunc(rec.Counts, func(a, b rejectedCount) int {
		// An observation of a kind stands behind the request.
		return cmp.Or(cmp.Compare(a.Principal, b.Principal), cmp.Compare(a.Code, b.Code), cmp.Compare(a.Status, b.Status), cmp.Compare(strconv.FormatBool(a.Observation), strconv.FormatBool(b.Observation)))
	})
	return rec, true
}

// rejected hears of a message that the endpoint did not ask the policy about.
func (g *Gateway) rejected(x backend.Rejection) {
	code := strconv.Itoa(int(x.Code))
	if x.Status != 0 {
		code = "http_" + strconv.Itoa(x.Status)
	}
	g.metrics.rejected.WithLabelValues(code).Inc()
	g.rejections.add(x)
}

// rejectedLoop writes the entries about rejections: the first at once, then at most
// one in rejectedPause.
func (g *Gateway) rejectedLoop(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-g.rejections.wake:
		}
		g.writeRejected(ctx)
		if !sleep(ctx, rejectedPause) {
			return nil
		}
	}
}

// writeRejected writes the entry about what was rejected since the last one, if
// anything was.
func (g *Gateway) writeRejected(ctx context.Context) {
	rec, ok := g.rejections.take()
	if !ok {
		return
	}
	data, err := json.Marshal(rec)
	if err == nil {
		err = g.audit.append(ctx, audit.Entry{Version: rejectedVersion, Kind: KindRejected, Time: rec.To, Agent: agentAHP, Decision: "rejected", Data: data})
	}
	if err != nil {
		g.log.LogAttrs(ctx, slog.LevelError, "audit entry was not written", slog.String("kind", string(KindRejected)), slog.String("error", err.Error()))
	}
}
