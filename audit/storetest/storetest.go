// Package storetest holds the suite that every audit log must pass.
package storetest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/audit"
)

// Run runs the suite. open returns a new and empty log, in which an append is
// done when it returns, and which the suite closes.
func Run(t *testing.T, open func(t *testing.T) audit.Log) {
	for _, tt := range []struct {
		name string
		test func(*testing.T, audit.Log)
	}{
		{"append and query", testAppend},
		{"every field is kept", testFields},
		{"slices are the caller's again", testSlices},
		{"entries are checked", testLimits},
		{"the limits themselves are allowed", testAtLimits},
		{"pruning entries are for the log itself", testReserved},
		{"keys make appends idempotent", testKeys},
		{"equal keys at the same time", testKeysAtOnce},
		{"filters", testFilters},
		{"filters are checked", testFilterLimits},
		{"long results", testPages},
		{"stop early", testStop},
		{"concurrent appends", testConcurrent},
		{"follow", testFollow},
		{"follow ends with the log", testFollowClose},
		{"checkpoint", testCheckpoint},
		{"verify without a checkpoint", testVerifyAlone},
		{"verify with checkpoints", testVerify},
		{"verify with a foreign checkpoint", testVerifyForeign},
		{"verify with a forged checkpoint", testVerifyForged},
		{"verify with another key", testVerifyKey},
		{"retain by age", testRetainAge},
		{"retain by size", testRetainSize},
		{"retain nothing", testRetainNothing},
		{"ended context", testContext},
		{"closed", testClosed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := open(t)
			tt.test(t, log)
			if err := log.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
}

var t0 = time.Date(2026, 3, 14, 15, 9, 26, 535897932, time.UTC)

// entry returns the i-th of a row of different entries.
func entry(i int) audit.Entry {
	return audit.Entry{
		Version: 1, Kind: audit.Settlement, Time: t0.Add(time.Duration(i) * time.Second),
		Session: fmt.Sprintf("session-%d", i%3), Agent: "claude-code", Tool: "Bash",
		Decision: []string{"none", "deny"}[i%2],
		Data:     fmt.Appendf(nil, "entry %d", i),
	}
}

func fill(t *testing.T, log audit.Log, n int) {
	t.Helper()
	for i := range n {
		id, err := log.Append(t.Context(), entry(i))
		if err != nil {
			t.Fatalf("append %d: %v", i, err)
		}
		if id != audit.ID(i) {
			t.Fatalf("append %d: got ID %d", i, id)
		}
	}
}

func collect(t *testing.T, seq iter.Seq2[audit.Record, error]) []audit.Record {
	t.Helper()
	var out []audit.Record
	for r, err := range seq {
		if err != nil {
			t.Fatalf("query: %v", err)
		}
		out = append(out, r)
	}
	return out
}

func ids(records []audit.Record) []audit.ID {
	var out []audit.ID
	for _, r := range records {
		out = append(out, r.ID)
	}
	return out
}

func firstError(seq iter.Seq2[audit.Record, error]) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

func verify(t *testing.T, log audit.Log, trust audit.Trust) audit.Report {
	t.Helper()
	r, err := log.Verify(t.Context(), trust)
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	return r
}

func checkpoint(t *testing.T, log audit.Log) audit.Checkpoint {
	t.Helper()
	c, err := log.Checkpoint(t.Context())
	if err != nil {
		t.Fatalf("checkpoint: %v", err)
	}
	return c
}

func wantProblem(t *testing.T, r audit.Report, kind audit.ProblemKind) {
	t.Helper()
	if !slices.ContainsFunc(r.Problems, func(p audit.Problem) bool { return p.Kind == kind }) {
		t.Errorf("no problem of kind %q in %v", kind, r.Problems)
	}
}

func testAppend(t *testing.T, log audit.Log) {
	if got := collect(t, log.Query(t.Context(), audit.Filter{})); len(got) != 0 {
		t.Errorf("a new log has entries: %v", got)
	}
	fill(t, log, 10)
	got := collect(t, log.Query(t.Context(), audit.Filter{}))
	if len(got) != 10 {
		t.Fatalf("got %d records, want 10", len(got))
	}
	for i, r := range got {
		if r.ID != audit.ID(i) || string(r.Data) != fmt.Sprintf("entry %d", i) {
			t.Errorf("record %d: got ID %d, data %q", i, r.ID, r.Data)
		}
	}
	stat, err := log.Stat(t.Context())
	if err != nil || stat.Size != 10 || stat.Kept != 0 || stat.Bytes <= 0 {
		t.Errorf("stat: %+v, %v", stat, err)
	}
}

func testFields(t *testing.T, log audit.Log) {
	full := audit.Entry{
		Version: 7, Kind: audit.AgentHooks, Time: t0, Key: "spool:1:2",
		Session: "s", Agent: "a", Event: "e", Tool: "t ü 漢", Operation: "sha256:00", Decision: "deny",
		Rules: []string{"no-force-push", "b"}, Hazards: []string{"git.force-push"}, Flags: []string{"failed-open"},
		Data: []byte("\x00\x01\xff\n"),
	}
	before := time.Now()
	for _, e := range []audit.Entry{full, {Version: 1, Kind: "x"}} {
		if _, err := log.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	got := collect(t, log.Query(t.Context(), audit.Filter{}))
	if len(got) != 2 {
		t.Fatalf("got %d records", len(got))
	}
	if g, w := string(got[0].Leaf()), string(full.Leaf()); g != w {
		t.Errorf("got  %q\nwant %q", g, w)
	}
	// Round a wall clock can give the same instant twice.
	if at := got[1].Time; at.Before(before.Add(-time.Minute)) || at.After(time.Now().Add(time.Minute)) {
		t.Errorf("the zero time became %v", at)
	}
	if got[1].Rules != nil || len(got[1].Data) != 0 {
		t.Errorf("an empty entry came back as %+v", got[1])
	}
}

func testSlices(t *testing.T, log audit.Log) {
	e := entry(0)
	e.Rules, e.Hazards, e.Flags = []string{"rule"}, []string{"hazard"}, []string{"flag"}
	want := string(e.Leaf())
	if _, err := log.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	clear(e.Rules)
	clear(e.Hazards)
	clear(e.Flags)
	clear(e.Data)
	got := collect(t, log.Query(t.Context(), audit.Filter{}))
	if len(got) != 1 || string(got[0].Leaf()) != want {
		t.Errorf("got  %+v\nwant %q", got, want)
	}
}

func testLimits(t *testing.T, log audit.Log) {
	long := strings.Repeat("x", audit.MaxColumnBytes+1)
	for _, tt := range []struct {
		name string
		edit func(*audit.Entry)
		want string
	}{
		{"no version", func(e *audit.Entry) { e.Version = 0 }, "version: 0"},
		{"big version", func(e *audit.Entry) { e.Version = audit.MaxVersion + 1 }, "version: 65536"},
		{"no kind", func(e *audit.Entry) { e.Kind = "" }, "kind:"},
		{"odd kind", func(e *audit.Entry) { e.Kind = "Settle ment" }, "kind:"},
		{"long session", func(e *audit.Entry) { e.Session = long }, "session: 257 bytes, at most 256"},
		{"long key", func(e *audit.Entry) { e.Key = long }, "key: 257 bytes"},
		{"newline in tool", func(e *audit.Entry) { e.Tool = "a\nb" }, "tool: holds a control character"},
		{"C1 control in agent", func(e *audit.Entry) { e.Agent = "a\u0085" }, "agent: holds a control character"},
		{"bad UTF-8", func(e *audit.Entry) { e.Decision = "\xff" }, "decision: not valid UTF-8"},
		{"many rules", func(e *audit.Entry) { e.Rules = make([]string, audit.MaxCodes+1) }, "rules: 65 codes, at most 64"},
		{"empty hazard", func(e *audit.Entry) { e.Hazards = []string{"a", ""} }, "hazards[1]: empty"},
		{"long flag", func(e *audit.Entry) { e.Flags = []string{long} }, "flags[0]: 257 bytes, at most 128"},
		{"long data", func(e *audit.Entry) { e.Data = make([]byte, audit.MaxDataBytes+1) }, "data: 65537 bytes, at most 65536"},
		{"far time", func(e *audit.Entry) { e.Time = time.Date(3000, 1, 1, 0, 0, 0, 0, time.UTC) }, "time: outside"},
	} {
		e := entry(0)
		tt.edit(&e)
		_, err := log.Append(t.Context(), e)
		if !errors.Is(err, audit.ErrInvalid) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
		if _, err := log.Append(t.Context(), e.Fit()); strings.Contains(tt.name, "long data") == (err == nil) &&
			!strings.Contains(tt.name, "version") && !strings.Contains(tt.name, "kind") && !strings.Contains(tt.name, "time") {
			t.Errorf("%s: after Fit: %v", tt.name, err)
		}
	}
}

func testAtLimits(t *testing.T, log audit.Log) {
	e := entry(0)
	e.Data = make([]byte, audit.MaxDataBytes)
	e.Session = strings.Repeat("s", audit.MaxColumnBytes)
	for i := range audit.MaxCodes {
		e.Rules = append(e.Rules, fmt.Sprintf("%0*d", audit.MaxCodeBytes, i))
	}
	if _, err := log.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	got := collect(t, log.Query(t.Context(), audit.Filter{Session: e.Session, Rule: e.Rules[63]}))
	if len(got) != 1 || string(got[0].Leaf()) != string(e.Leaf()) {
		t.Errorf("got %d records, or another entry", len(got))
	}
}

func testReserved(t *testing.T, log audit.Log) {
	e := entry(0)
	e.Kind = audit.Retention
	if _, err := log.Append(t.Context(), e); !errors.Is(err, audit.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}

func testKeys(t *testing.T, log audit.Log) {
	e := entry(0)
	e.Key = "k"
	first, err := log.Append(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.Append(t.Context(), entry(1)); err != nil {
		t.Fatal(err)
	}
	e.Data = []byte("other")
	again, err := log.Append(t.Context(), e)
	if err != nil || again != first {
		t.Errorf("got %d, %v, want %d", again, err, first)
	}
	if n := len(collect(t, log.Query(t.Context(), audit.Filter{}))); n != 2 {
		t.Errorf("%d entries, want 2", n)
	}
}

func testKeysAtOnce(t *testing.T, log audit.Log) {
	const n = 16
	got := make([]audit.ID, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			e := entry(i)
			e.Key = "same"
			id, err := log.Append(t.Context(), e)
			if err != nil {
				t.Error(err)
			}
			got[i] = id
		})
	}
	wg.Wait()
	for _, id := range got {
		if id != got[0] {
			t.Errorf("got %v", got)
			break
		}
	}
	if n := len(collect(t, log.Query(t.Context(), audit.Filter{}))); n != 1 {
		t.Errorf("%d entries, want 1", n)
	}
}

func testFilters(t *testing.T, log audit.Log) {
	for i, e := range []audit.Entry{
		{Kind: audit.Start},
		{Kind: audit.Settlement, Session: "a", Agent: "codex", Tool: "Bash", Decision: "deny", Rules: []string{"r1", "r2"}, Hazards: []string{"h1"}},
		{Kind: audit.Settlement, Session: "b", Agent: "claude-code", Tool: "Read", Decision: "none", Event: "e1", Operation: "o1"},
		{Kind: audit.Settlement, Session: "a", Agent: "codex", Tool: "Bash", Decision: "none", Flags: []string{"failed-open"}},
		{Kind: audit.Fallback, Session: "a", Decision: "deny", Rules: []string{"r", "2"}},
		{Kind: audit.Stop},
	} {
		e.Version, e.Time = 1, t0.Add(time.Duration(i)*time.Hour)
		if _, err := log.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		name string
		f    audit.Filter
		want []audit.ID
	}{
		{"all", audit.Filter{}, []audit.ID{0, 1, 2, 3, 4, 5}},
		{"newest first", audit.Filter{Newest: true}, []audit.ID{5, 4, 3, 2, 1, 0}},
		{"limit", audit.Filter{Limit: 2}, []audit.ID{0, 1}},
		{"newest two", audit.Filter{Limit: 2, Newest: true}, []audit.ID{5, 4}},
		{"from and to", audit.Filter{From: 1, To: 3}, []audit.ID{1, 2}},
		{"newest in a range", audit.Filter{From: 1, To: 4, Newest: true, Limit: 1}, []audit.ID{3}},
		{"from beyond", audit.Filter{From: 9}, nil},
		{"kind", audit.Filter{Kinds: []audit.Kind{audit.Settlement}}, []audit.ID{1, 2, 3}},
		{"two kinds", audit.Filter{Kinds: []audit.Kind{audit.Start, audit.Stop}}, []audit.ID{0, 5}},
		{"unknown kind", audit.Filter{Kinds: []audit.Kind{"nothing"}}, nil},
		{"session", audit.Filter{Session: "a"}, []audit.ID{1, 3, 4}},
		{"session, newest", audit.Filter{Session: "a", Newest: true, Limit: 2}, []audit.ID{4, 3}},
		{"agent", audit.Filter{Agent: "codex"}, []audit.ID{1, 3}},
		{"tool", audit.Filter{Tool: "Read"}, []audit.ID{2}},
		{"event", audit.Filter{Event: "e1"}, []audit.ID{2}},
		{"operation", audit.Filter{Operation: "o1"}, []audit.ID{2}},
		{"decision", audit.Filter{Decision: "deny"}, []audit.ID{1, 4}},
		{"rule", audit.Filter{Rule: "r2"}, []audit.ID{1}},
		{"a rule is matched whole", audit.Filter{Rule: "r"}, []audit.ID{4}},
		{"hazard", audit.Filter{Hazard: "h1"}, []audit.ID{1}},
		{"flag", audit.Filter{Flag: "failed-open"}, []audit.ID{3}},
		{"since", audit.Filter{Since: t0.Add(4 * time.Hour)}, []audit.ID{4, 5}},
		{"until is not included", audit.Filter{Until: t0.Add(time.Hour)}, []audit.ID{0}},
		{"all of it", audit.Filter{Session: "a", Decision: "none", Agent: "codex", Since: t0, Until: t0.Add(time.Hour * 9)}, []audit.ID{3}},
		{"no wildcard", audit.Filter{Session: "%"}, nil},
		{"no injection", audit.Filter{Session: "' OR 1=1 --"}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := ids(collect(t, log.Query(t.Context(), tt.f))); !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func testFilterLimits(t *testing.T, log audit.Log) {
	for _, f := range []audit.Filter{
		{Limit: -1},
		{Limit: audit.MaxLimit + 1},
		{From: -1},
		{To: -1},
		{Session: strings.Repeat("x", audit.MaxColumnBytes+1)},
		{Rule: "a\nb"},
		{Kinds: make([]audit.Kind, audit.MaxCodes+1)},
	} {
		if err := firstError(log.Query(t.Context(), f)); !errors.Is(err, audit.ErrInvalid) {
			t.Errorf("query %+v: got %v", f, err)
		}
		if err := firstError(log.Follow(t.Context(), f)); !errors.Is(err, audit.ErrInvalid) {
			t.Errorf("follow %+v: got %v", f, err)
		}
	}
	for _, f := range []audit.Filter{{Newest: true}, {To: 1}} {
		if err := firstError(log.Follow(t.Context(), f)); !errors.Is(err, audit.ErrInvalid) {
			t.Errorf("follow %+v: got %v", f, err)
		}
	}
}

func testPages(t *testing.T, log audit.Log) {
	const n = 700
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for i := range n / 10 {
				if _, err := log.Append(t.Context(), entry(i)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	up := ids(collect(t, log.Query(t.Context(), audit.Filter{Limit: audit.MaxLimit})))
	down := ids(collect(t, log.Query(t.Context(), audit.Filter{Limit: audit.MaxLimit, Newest: true})))
	slices.Reverse(down)
	if len(up) != n || !slices.Equal(up, down) || !slices.IsSorted(up) {
		t.Errorf("%d up, %d down, want %d in order", len(up), len(down), n)
	}
	if got := len(collect(t, log.Query(t.Context(), audit.Filter{}))); got != audit.DefaultLimit {
		t.Errorf("without a limit: %d, want %d", got, audit.DefaultLimit)
	}
	if got := len(collect(t, log.Query(t.Context(), audit.Filter{Limit: 300}))); got != 300 {
		t.Errorf("limit 300: %d", got)
	}
}

func testStop(t *testing.T, log audit.Log) {
	fill(t, log, 5)
	for _, seq := range []iter.Seq2[audit.Record, error]{
		log.Query(t.Context(), audit.Filter{}), log.Follow(t.Context(), audit.Filter{}),
	} {
		n := 0
		for _, err := range seq {
			if err != nil {
				t.Fatal(err)
			}
			if n++; n == 2 {
				break
			}
		}
		if n != 2 {
			t.Errorf("got %d", n)
		}
	}
	// Nothing is held: the log still takes entries.
	if _, err := log.Append(t.Context(), entry(5)); err != nil {
		t.Error(err)
	}
}

func testConcurrent(t *testing.T, log audit.Log) {
	const producers, each = 16, 25
	var mu sync.Mutex
	sent := map[audit.ID]string{}
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			last := audit.ID(-1)
			for i := range each {
				e := entry(i)
				e.Data = fmt.Appendf(nil, "%d/%d", p, i)
				id, err := log.Append(t.Context(), e)
				if err != nil {
					t.Error(err)
					return
				}
				if id <= last {
					t.Errorf("producer %d: ID %d after %d", p, id, last)
				}
				last = id
				mu.Lock()
				sent[id] = string(e.Data)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	got := collect(t, log.Query(t.Context(), audit.Filter{Limit: audit.MaxLimit}))
	if len(got) != producers*each || len(sent) != producers*each {
		t.Fatalf("%d entries, %d IDs, want %d", len(got), len(sent), producers*each)
	}
	for _, r := range got {
		if sent[r.ID] != string(r.Data) {
			t.Errorf("entry %d: got %q, want %q", r.ID, r.Data, sent[r.ID])
		}
	}
	if r := verify(t, log, audit.Trust{}); !r.OK() {
		t.Errorf("verify: %v", r.Problems)
	}
}

func testFollow(t *testing.T, log audit.Log) {
	fill(t, log, 4)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	got := make(chan audit.Record)
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(got)
		for r, err := range log.Follow(ctx, audit.Filter{From: 1, Decision: "deny"}) {
			if err != nil {
				t.Error(err)
				return
			}
			got <- r
		}
	})
	for _, want := range []audit.ID{1, 3} {
		if r := <-got; r.ID != want {
			t.Errorf("got %d, want %d", r.ID, want)
		}
	}
	for i := 4; i < 8; i++ {
		if _, err := log.Append(t.Context(), entry(i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []audit.ID{5, 7} {
		if r := <-got; r.ID != want {
			t.Errorf("got %d, want %d", r.ID, want)
		}
	}
	cancel()
	for r := range got {
		t.Errorf("after the end: %d", r.ID)
	}
	wg.Wait()
	if got := ids(collect(t, log.Follow(t.Context(), audit.Filter{Limit: 3}))); !slices.Equal(got, []audit.ID{0, 1, 2}) {
		t.Errorf("with a limit: %v", got)
	}
}

func testFollowClose(t *testing.T, log audit.Log) {
	fill(t, log, 1)
	started := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for _, err := range log.Follow(t.Context(), audit.Filter{}) {
			if err != nil {
				t.Error(err)
			}
			close(started)
		}
	})
	<-started
	if err := log.Close(); err != nil {
		t.Error(err)
	}
	wg.Wait()
}

func testContext(t *testing.T, log audit.Log) {
	fill(t, log, 1)
	cause := errors.New("the reason")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for range 200 { // what is right only when the log is slower than its caller shows up in many
		_, errAppend := log.Append(ctx, entry(1))
		_, errCheckpoint := log.Checkpoint(ctx)
		_, errVerify := log.Verify(ctx, audit.Trust{})
		_, errRetain := log.Retain(ctx, audit.Policy{MaxBytes: 1})
		for name, err := range map[string]error{
			"append": errAppend, "checkpoint": errCheckpoint, "verify": errVerify, "retain": errRetain,
			"query": firstError(log.Query(ctx, audit.Filter{})),
		} {
			if !errors.Is(err, cause) {
				t.Fatalf("%s: got %v", name, err)
			}
		}
	}
	if err := firstError(log.Follow(ctx, audit.Filter{})); err != nil {
		t.Errorf("follow: %v", err)
	}
}

func testClosed(t *testing.T, log audit.Log) {
	fill(t, log, 1)
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	_, errAppend := log.Append(t.Context(), entry(1))
	_, errCheckpoint := log.Checkpoint(t.Context())
	_, errVerify := log.Verify(t.Context(), audit.Trust{})
	_, errRetain := log.Retain(t.Context(), audit.Policy{MaxBytes: 1})
	_, errStat := log.Stat(t.Context())
	for name, err := range map[string]error{
		"append": errAppend, "checkpoint": errCheckpoint, "verify": errVerify, "retain": errRetain, "stat": errStat,
		"query": firstError(log.Query(t.Context(), audit.Filter{})),
	} {
		if !errors.Is(err, audit.ErrClosed) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
