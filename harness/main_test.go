package harness_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/internal/badbackend/badtest"
	"github.com/holdpoint/holdpoint/internal/leak"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

func TestMain(m *testing.M) {
	if log := os.Getenv("HELPER_LOG"); log != "" {
		os.Stderr.WriteString(ask(log, os.Getenv("HELPER_BACKEND")).Error())
		os.Exit(1)
	}
	code := badtest.Main(m)
	if code == 0 {
		if err := leak.Find(); err != nil {
			os.Stderr.WriteString(err.Error())
			code = 1
		}
	}
	os.Exit(code)
}

// long is a deadline that no good answer misses, also on a machine that is busy
// elsewhere; short is one for answers that do not come.
const (
	long  = 20 * time.Second
	short = 300 * time.Millisecond
)

// memory is a recorder that keeps everything.
type memory struct {
	mu   sync.Mutex
	recs []settle.Record
	err  error
}

func (m *memory) Record(ctx context.Context, r *settle.Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	m.recs = append(m.recs, *r)
	return m.err
}

func (m *memory) all() []settle.Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]settle.Record(nil), m.recs...)
}

// one returns the only record there is.
func (m *memory) one(t testing.TB) settle.Record {
	t.Helper()
	all := m.all()
	if len(all) != 1 {
		t.Fatalf("%d records, want 1", len(all))
	}
	return all[0]
}

// lockedBuffer is a log that several goroutines write.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// rig is a harness with everything that a test looks at.
type rig struct {
	*harness.Harness
	rec *memory
	log *lockedBuffer
}

func options(rec harness.Recorder) harness.Options {
	return harness.Options{
		Source:       "urn:example:test",
		Capabilities: ahp.DenyOnly(),
		Recorder:     rec,
		Transport:    transport.Options{Grace: 200 * time.Millisecond, MaxAnswerBytes: 256 << 10},
	}
}

// open makes a harness over backends and closes it with the test.
func open(t testing.TB, edit func(*harness.Options), backends ...ahp.Backend) *rig {
	t.Helper()
	r := &rig{rec: &memory{}, log: &lockedBuffer{}}
	o := options(r.rec)
	o.Logger = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if edit != nil {
		edit(&o)
	}
	h, err := harness.New(&ahp.Registration{Version: ahp.Version01, Hooks: backends}, o)
	if err != nil {
		t.Fatal(err)
	}
	r.Harness = h
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

func intercept(id string, tr ahp.Transport, timeout time.Duration, policy ahp.FailurePolicy) ahp.Backend {
	return ahp.Backend{ID: id, Transport: tr, Subscriptions: []ahp.Subscription{{
		Events: []ahp.EventType{ahp.ToolBefore}, Mode: ahp.ModeIntercept, Timeout: timeout, FailurePolicy: policy,
	}}}
}

func observe(id string, tr ahp.Transport, events ...ahp.EventType) ahp.Backend {
	return ahp.Backend{ID: id, Transport: tr, Subscriptions: []ahp.Subscription{{Events: events, Mode: ahp.ModeObserve}}}
}

func toolBefore() *ahp.Event {
	return &ahp.Event{
		Type:    ahp.ToolBefore,
		Session: ahp.Session{ID: "s-88", CWD: "/srv/app", WorkspaceRoots: []string{"/srv/app"}, Model: "m-1", Agent: &ahp.Agent{ID: "sub-2"}},
		Tool:    &ahp.Tool{CallID: "tc-9001", Name: "run_command", Kind: ahp.KindShell, Input: ahp.Raw(`{"cmd":"terraform destroy","timeoutSec":60}`)},
	}
}

// settleOne begins and settles a call and waits for its deliveries.
func settleOne(t testing.TB, r *rig, ev *ahp.Event) (settle.Settlement, error) {
	t.Helper()
	c := r.Begin(t.Context(), ev)
	s, err := c.Settle()
	if werr := c.Wait(t.Context()); werr != nil {
		t.Errorf("wait: %v", werr)
	}
	return s, err
}

// respond is a local backend that answers every question with effects, and
// counts the questions.
type respond struct {
	mu     sync.Mutex
	frames []string
	// result builds the answer for the event id; nil answers with no effects.
	result func(id string) string
}

func (r *respond) local(_ context.Context, frame []byte) ([]byte, error) {
	r.mu.Lock()
	r.frames = append(r.frames, string(frame))
	r.mu.Unlock()
	id, ok := frameID(frame)
	if !ok { // a notification
		return nil, nil
	}
	if r.result != nil {
		return []byte(r.result(id)), nil
	}
	return []byte(none(id)), nil
}

func (r *respond) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.frames...)
}

func none(id string) string { return answer(id, `[]`) }

func denial(id string) string { return answer(id, `[{"type":"deny","reason":"no"}]`) }

func answer(id, effects string) string {
	return `{"jsonrpc":"2.0","id":"` + id + `","result":{"protocolVersion":"0.1","effects":` + effects + `}}`
}

// remaining waits until nothing runs any more with needle in its command line, and lists
// what still does after a long time: what is killed ends when the system gets to it.
func remaining(t testing.TB, needle string) []string {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for began := time.Now(); ; <-tick.C {
		if found := processes(t, needle); len(found) == 0 || time.Since(began) > long {
			return found
		}
	}
}

// processes lists what runs with needle in its command line: its pid and the
// command line.
func processes(t testing.TB, needle string) []string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	dirs, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, d := range dirs {
		b, err := os.ReadFile(d)
		if err == nil && strings.Contains(string(b), needle) {
			found = append(found, filepath.Base(filepath.Dir(d))+" "+strings.ReplaceAll(string(b), "\x00", " "))
		}
	}
	return found
}
