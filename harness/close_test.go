package harness_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/internal/badbackend/badtest"
	"github.com/holdpoint/holdpoint/transport"
)

func badHTTP(t testing.TB, args ...string) *ahp.HTTPTransport { return badtest.HTTP(t, args...) }

// started waits until the bad backend has logged a message.
func started(t *testing.T, log string) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for len(logged(t, log)) == 0 {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the backend got no message")
		}
	}
}

// Close while a question is under way: refused and recorded under both policies,
// on every carrier, and nothing is left.
func TestCloseDuringCall(t *testing.T) {
	for _, carrier := range append(carriers, "local") {
		for _, policy := range []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed} {
			t.Run(carrier+"/"+string(policy), func(t *testing.T) {
				log := filepath.Join(t.TempDir(), "log")
				args := []string{"-fault", "hung", "-log", log}
				under := make(chan struct{})
				var tr ahp.Transport = &ahp.LocalTransport{}
				switch carrier {
				case "http":
					tr = badHTTP(t, args...)
				case "persistent":
					tr = stdio(t, ahp.Persistent, args...)
				case "per_event":
					tr = stdio(t, ahp.PerEvent, args...)
				}
				r := open(t, func(o *harness.Options) {
					o.Local = map[string]transport.Local{backendID: func(ctx context.Context, _ []byte) ([]byte, error) {
						close(under)
						<-ctx.Done()
						return nil, ctx.Err()
					}}
				}, intercept(backendID, tr, long, policy))
				settled := make(chan error, 1)
				c := r.Begin(t.Context(), toolBefore())
				go func() {
					s, err := c.Settle()
					if s.Proceeds() {
						err = errTest
					}
					settled <- err
				}()
				if carrier == "local" {
					<-under
				} else {
					started(t, log)
				}
				if err := r.Close(t.Context()); err != nil {
					t.Errorf("close: %v", err)
				}
				if err := <-settled; !errors.Is(err, harness.ErrClosed) {
					t.Errorf("error %v", err)
				}
				rec := r.rec.one(t)
				if rec.Class != ahp.FailShutdown || rec.Hops[0].Policy != "" {
					t.Errorf("%+v", rec)
				}
				if err := r.Close(t.Context()); err != nil {
					t.Errorf("closed again: %v", err)
				}
				if carrier == "persistent" || carrier == "per_event" {
					if left := processes(t, log); len(left) > 0 {
						t.Errorf("processes left: %q", left)
					}
				}
			})
		}
	}
}

// A call that nobody settles is refused and recorded by Close, and by Wait.
func TestUnsettledCallsAreRecorded(t *testing.T) {
	rs := &respond{}
	r := withLocal(t, ahp.FailOpen, long, rs.local)
	if err := r.Begin(t.Context(), toolBefore()).Wait(t.Context()); err != nil {
		t.Error(err)
	}
	forgotten := r.Begin(t.Context(), toolBefore())
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if s, err := forgotten.Settle(); s.Proceeds() || !errors.Is(err, harness.ErrClosed) {
		t.Errorf("%+v, %v", s, err)
	}
	recs := r.rec.all()
	if len(recs) != 2 || recs[0].Class != ahp.FailShutdown || recs[1].Class != ahp.FailShutdown {
		t.Errorf("%+v", recs)
	}
	if len(rs.seen()) > 0 {
		t.Error("a backend was asked")
	}
}

// The worst children: they ignore TERM and EOF, leave others behind, never read.
// Close ends and reaps them within its bound.
func TestCloseEndsEveryProcess(t *testing.T) {
	for _, fault := range []string{"ignoreterm", "grandchild", "daemon", "noread", "hung", "stdoutflood", "closestdout", "none"} {
		for _, l := range []ahp.Lifecycle{ahp.Persistent, ahp.PerEvent} {
			for _, bound := range []time.Duration{0, time.Minute} {
				t.Run(fault+"/"+string(l)+"/"+bound.String(), func(t *testing.T) {
					t.Parallel()
					log := filepath.Join(t.TempDir(), "log")
					r := open(t, nil, intercept(backendID, stdio(t, l, "-fault", fault, "-log", log), short, ahp.FailOpen))
					if _, err := settleOne(t, r, toolBefore()); err != nil {
						t.Fatal(err)
					}
					ctx, cancel := context.WithTimeout(context.Background(), bound)
					defer cancel()
					if err := r.Close(ctx); err != nil {
						t.Errorf("close: %v", err)
					}
					gone := processes
					if fault == "grandchild" {
						gone = remaining // it is killed, and nobody of ours reaps it
					}
					if left := gone(t, log); len(left) > 0 {
						t.Errorf("processes left: %q", left)
					}
				})
			}
		}
	}
}

// A child gets EOF first, then TERM, each with a grace, before it is killed.
func TestEndingIsPolite(t *testing.T) {
	for fault, last := range map[string]string{"bye": "bye", "byeterm": "term"} {
		log := filepath.Join(t.TempDir(), "log")
		r := open(t, func(o *harness.Options) {
			o.Transport.Grace = map[string]time.Duration{"bye": long, "byeterm": time.Second}[fault]
		},
			intercept(backendID, stdio(t, ahp.Persistent, "-fault", fault, "-log", log), long, ahp.FailClosed))
		if s, _ := settleOne(t, r, toolBefore()); !s.Proceeds() {
			t.Fatalf("%+v", s)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		lines := logged(t, log)
		if got := lines[len(lines)-1]; !strings.HasSuffix(got, last) {
			t.Errorf("%s: the last line is %q", fault, got)
		}
	}
}

// A grandchild in the child's group does not outlive the exchange or the owner.
func TestGrandchildIsEnded(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("needs /proc")
	}
	for _, l := range []ahp.Lifecycle{ahp.Persistent, ahp.PerEvent} {
		log := filepath.Join(t.TempDir(), "log")
		r := open(t, nil, intercept(backendID, stdio(t, l, "-fault", "grandchild", "-log", log), long, ahp.FailClosed))
		if s, _ := settleOne(t, r, toolBefore()); !s.Proceeds() {
			t.Fatalf("%+v", s)
		}
		if n := len(processes(t, log)); l == ahp.Persistent && n != 2 {
			t.Errorf("%d processes, want the child and its own", n)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := remaining(t, log); len(left) > 0 {
			t.Errorf("%s: %q", l, left)
		}
	}
}

// A persistent process that ended is started again, at once the first time; one
// that keeps ending has to wait, and the question fails within its deadline.
func TestRestart(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	r := open(t, nil, intercept(backendID, stdio(t, ahp.Persistent, "-fault", "exitidle", "-exit", "0", "-log", log), long, ahp.FailClosed))
	for range 5 { // answers well each time, then ends
		if s, _ := settleOne(t, r, toolBefore()); !s.Proceeds() {
			t.Fatalf("%+v", s)
		}
	}
	r = open(t, func(o *harness.Options) { o.Transport.Grace = long }, // it ends by itself
		intercept(backendID, stdio(t, ahp.Persistent, "-fault", "exit"), 100*time.Millisecond, ahp.FailOpen))
	for range 8 {
		if s, _ := settleOne(t, r, toolBefore()); !s.FailedOpen {
			t.Fatalf("%+v", s)
		}
	}
	var withheld int
	for _, rec := range r.rec.all() {
		if rec.Hops[0].Class != ahp.FailProcess && rec.Hops[0].Class != ahp.FailDeadline {
			t.Errorf("class %s", rec.Hops[0].Class)
		}
	}
	if withheld = strings.Count(r.log.String(), "keeps ending"); withheld == 0 {
		t.Errorf("no start was withheld: %s", r.log.String())
	}
}

// A process that answers nothing any more is given up after some questions, and
// its successor answers.
func TestHungProcessIsReplaced(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	r := open(t, nil, intercept(backendID, stdio(t, ahp.Persistent, "-fault", "hung", "-log", log), 100*time.Millisecond, ahp.FailOpen))
	for range 10 {
		if _, err := settleOne(t, r, toolBefore()); err != nil {
			t.Fatal(err)
		}
	}
	// A hung process reads one question only, so each logged message is one
	// process: the first one, and its successor.
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for len(logged(t, log)) < 4 {
		select {
		case <-tick.C:
			if _, err := settleOne(t, r, toolBefore()); err != nil {
				t.Fatal(err)
			}
		case <-t.Context().Done():
			t.Fatal("no successor was started")
		}
	}
}

// Children end when we are killed: their stdin is held by us alone.
func TestChildrenEndWhenWeAreKilled(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "-test.run=^$")
	cmd.Env = append(os.Environ(), "HELPER_LOG="+log, "HELPER_BACKEND="+badtest.Path(t))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	// The second backend is started when the first has answered; both stay.
	for n := 0; n != 2; {
		select {
		case err := <-ended:
			t.Fatalf("it ended before both backends ran: %v", err)
		case <-tick.C:
		}
		if n = len(processes(t, log)); n > 2 {
			t.Fatalf("%d processes, want two backends: %q", n, processes(t, log))
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
	if left := remaining(t, log); len(left) > 0 {
		t.Fatalf("children live on: %q", left)
	}
}

// ask is the process that the test above kills: it asks two children until it ends.
func ask(log, program string) error {
	tr := func(args ...string) *ahp.StdioTransport {
		return &ahp.StdioTransport{Command: program, Args: append(args, "-log", log), Lifecycle: ahp.Persistent}
	}
	h, err := harness.New(&ahp.Registration{Version: ahp.Version01, Hooks: []ahp.Backend{
		intercept("net.acme.first", tr(), long, ahp.FailClosed),
		intercept("net.acme.second", tr("-fault", "slow", "-delay", "100ms"), long, ahp.FailClosed),
	}}, harness.Options{Source: "urn:example:test", Capabilities: ahp.DenyOnly(), Recorder: harness.Discard})
	if err != nil {
		return err
	}
	for {
		c := h.Begin(context.Background(), toolBefore())
		if _, err := c.Settle(); err != nil {
			return err
		}
		if err := c.Wait(context.Background()); err != nil {
			return err
		}
	}
}

// Observers belong to their call: Wait ends what is queued behind a hanging one.
func TestWaitGivesUp(t *testing.T) {
	hang := func(ctx context.Context, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }
	r := open(t, func(o *harness.Options) {
		o.Local = map[string]transport.Local{backendID: hang}
		o.ObserveTimeout = time.Hour
		o.Budget = time.Hour
	}, observe(backendID, &ahp.LocalTransport{}, ahp.ToolBefore))
	first, second := r.Begin(t.Context(), toolBefore()), r.Begin(t.Context(), toolBefore())
	for _, c := range []*harness.Call{first, second} {
		if s, err := c.Settle(); !s.Proceeds() || err != nil {
			t.Fatal(s, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errTest)
	if err := second.Wait(ctx); !errors.Is(err, errTest) { // still queued
		t.Errorf("second: %v", err)
	}
	if err := first.Wait(ctx); !errors.Is(err, errTest) { // under way
		t.Errorf("first: %v", err)
	}
	if st := r.Stats(); st.ObserveFailed != 2 {
		t.Errorf("%+v", st)
	}
}

func TestOptionsAreRefusedWhole(t *testing.T) {
	_, err := harness.New(nil, harness.Options{
		Budget: -1, RecordTimeout: -1, ObserveTimeout: -1, ObserveQueue: -1, RecordFailure: "maybe",
		Capabilities: ahp.Capabilities{Effects: []ahp.EffectType{"deny", "deny"}},
	})
	for _, want := range []string{"source", "twice", "recorder", "record failure", "budget", "record timeout", "observe timeout", "bound", "registration"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in: %v", want, err)
		}
	}
}
