package harness_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/internal/badbackend/badtest"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

func errIs(err, target error) bool { return errors.Is(err, target) }

func stdio(t testing.TB, l ahp.Lifecycle, args ...string) *ahp.StdioTransport {
	return badtest.Stdio(t, l, args...)
}

// logged returns the lines of a bad backend's log.
func logged(t testing.TB, path string) []string {
	t.Helper()
	b, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// chainOf makes a harness over local interceptors, in order.
func chainOf(t *testing.T, policies []ahp.FailurePolicy, fs ...transport.Local) *rig {
	t.Helper()
	local := map[string]transport.Local{}
	var backends []ahp.Backend
	for i, f := range fs {
		id := "net.acme.b" + string(rune('0'+i))
		local[id] = f
		backends = append(backends, intercept(id, &ahp.LocalTransport{}, long, policies[i]))
	}
	return open(t, func(o *harness.Options) { o.Local = local }, backends...)
}

var bothClosed = []ahp.FailurePolicy{ahp.FailClosed, ahp.FailClosed, ahp.FailClosed}

func broken(context.Context, []byte) ([]byte, error) { return nil, errors.New("broken") }

var chainRules = []rule{
	{"V-TI-1", func(t *testing.T) {
		rs := &respond{}
		r := open(t, func(o *harness.Options) { o.Local = map[string]transport.Local{backendID: rs.local} },
			observe(backendID, &ahp.LocalTransport{}, ahp.SessionStart))
		s, err := settleOne(t, r, toolBefore())
		if !s.Proceeds() || err != nil || len(rs.seen()) > 0 {
			t.Errorf("%+v, %v, sent %v", s, err, rs.seen())
		}
	}},
	{"AHP-CAP-001", func(t *testing.T) {
		fails(t, effect, func(id string) string { return answer(id, `[{"type":"net.acme.pause"}]`) })
		// A host that cannot deny makes no harness at all.
		o := options(harness.Discard)
		o.Capabilities = ahp.Capabilities{Effects: []ahp.EffectType{"net.acme.pause"}}
		reg := &ahp.Registration{Version: ahp.Version01, Hooks: []ahp.Backend{intercept(backendID, stdio(t, ahp.PerEvent), long, ahp.FailOpen)}}
		if _, err := harness.New(reg, o); err == nil {
			t.Error("a host that cannot deny was accepted")
		}
		o.Capabilities = ahp.Capabilities{}
		if _, err := harness.New(reg, o); err == nil {
			t.Error("an empty offer was accepted")
		}
	}},
	{"V-AMB-18", func(t *testing.T) {
		o := options(harness.Discard)
		o.Capabilities.Effects = []ahp.EffectType{}
		if _, err := harness.New(&ahp.Registration{}, o); err == nil || !strings.Contains(err.Error(), "capabilities: required") {
			t.Errorf("error %v", err)
		}
	}},
	{"V-CAP-2", func(t *testing.T) {
		fails(t, effect, func(id string) string { return answer(id, `[{"type":"ask","reason":"x"}]`) })
	}},
	{"V-CAP-4", func(t *testing.T) {
		fails(t, effect, func(id string) string { return answer(id, `[{"type":"net.acme.unlisted"}]`) })
		o := options(harness.Discard)
		o.Capabilities.Effects = append(o.Capabilities.Effects, "pause")
		if _, err := harness.New(&ahp.Registration{}, o); err == nil || !strings.Contains(err.Error(), "reverse-DNS") {
			t.Errorf("error %v", err)
		}
	}},
	{"AHP-DEC-001", func(t *testing.T) {
		for _, effects := range []string{`[{"type":"deny","reason":"a"},{"type":"deny","reason":"b"}]`, `{}`, `"deny"`, `[[]]`, `[null]`, `[1]`} {
			fails(t, effect, func(id string) string { return answer(id, effects) })
		}
		fails(t, missing, func(id string) string { return strings.Replace(none(id), `,"effects":[]`, "", 1) })
	}},
	{"AHP-DEC-002", func(t *testing.T) {
		s, rec := decide(t, ahp.FailClosed, func(id string) string {
			return answer(id, `[{"type":"deny","reason":"Use a ticket.","code":"net.acme.no_ticket"}]`)
		})
		if s.Proceeds() || s.Synthetic || s.Reason != "Use a ticket." || s.Code != "net.acme.no_ticket" || s.By != backendID {
			t.Errorf("%+v", s)
		}
		if rec.Decision != settle.DecisionExplicit || rec.Code != s.Code {
			t.Errorf("%+v", rec)
		}
	}},
	{"AHP-DEC-003", func(t *testing.T) {
		// "No effects" is said as what it is: nobody objected. There is no state
		// that could be read as a grant.
		s, rec := decide(t, ahp.FailClosed, none)
		if s.State != settle.Proceed || rec.Decision != settle.DecisionNone || rec.By != "" {
			t.Errorf("%+v", rec)
		}
	}},
	{"AHP-SEC-001", func(t *testing.T) {
		// A host that refuses by itself needs no settlement's leave, and gets none
		// that speaks against it.
		s, _ := decide(t, ahp.FailClosed, none)
		if s.Reason != "" || s.Code != "" {
			t.Errorf("%+v", s)
		}
	}},
	{"V-DEC-1", func(t *testing.T) {
		for _, p := range []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed} {
			if s, rec := decide(t, p, denial); s.Proceeds() || rec.Decision != settle.DecisionExplicit {
				t.Errorf("%s: %+v", p, rec)
			}
		}
	}},
	{"V-DEC-2", func(t *testing.T) {
		fails(t, effect, func(id string) string { return answer(id, `[{"type":"allow"}]`) })
		// An earlier backend cannot skip a later one.
		r := chainOf(t, bothClosed, (&respond{}).local, (&respond{result: denial}).local)
		if s, _ := settleOne(t, r, toolBefore()); s.Proceeds() || s.By != "net.acme.b1" {
			t.Errorf("%+v", s)
		}
	}},
	{"AHP-COMP-001", func(t *testing.T) {
		var order []string
		say := func(name string, then transport.Local) transport.Local {
			return func(ctx context.Context, f []byte) ([]byte, error) {
				order = append(order, name) // serial by the rule; -race holds it to that
				return then(ctx, f)
			}
		}
		r := chainOf(t, bothClosed, say("a", (&respond{}).local), say("b", (&respond{result: denial}).local), say("c", (&respond{}).local))
		if s, _ := settleOne(t, r, toolBefore()); s.Proceeds() || !slices.Equal(order, []string{"a", "b"}) {
			t.Errorf("after a denial: %v", order)
		}
		order = nil
		r = chainOf(t, bothClosed, say("a", (&respond{}).local), say("b", broken), say("c", (&respond{}).local))
		if s, _ := settleOne(t, r, toolBefore()); s.Proceeds() || !slices.Equal(order, []string{"a", "b"}) {
			t.Errorf("after a fail-closed failure: %v", order)
		}
	}},
	{"V-COMP-1", func(t *testing.T) {
		var now, most atomic.Int32
		f := func(_ context.Context, frame []byte) ([]byte, error) {
			most.Store(max(most.Load(), now.Add(1)))
			defer now.Add(-1)
			id, _ := frameID(frame)
			return []byte(none(id)), nil
		}
		if s, _ := settleOne(t, chainOf(t, bothClosed, f, f, f), toolBefore()); !s.Proceeds() || most.Load() != 1 {
			t.Errorf("%d at once", most.Load())
		}
	}},
	{"V-COMP-2", func(t *testing.T) {
		last := &respond{}
		r := chainOf(t, []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed}, broken, last.local)
		s, _ := settleOne(t, r, toolBefore())
		if !s.Proceeds() || !s.FailedOpen || len(last.seen()) != 1 {
			t.Errorf("%+v, asked %d", s, len(last.seen()))
		}
		if rec := r.rec.one(t); !rec.FailedOpen || rec.Hops[0].Policy != ahp.FailOpen {
			t.Errorf("%+v", rec)
		}
	}},
	{"V-COMP-3", func(t *testing.T) {
		// The observer never answers and never reads; decisions come all the same,
		// and what does not fit its queue is dropped and counted.
		release := make(chan struct{})
		hang := func(ctx context.Context, _ []byte) ([]byte, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return nil, nil
		}
		r := open(t, func(o *harness.Options) {
			o.Local = map[string]transport.Local{backendID: (&respond{}).local, "net.acme.watch": hang}
			o.ObserveQueue, o.ObserveTimeout = 2, long
		}, observe("net.acme.watch", &ahp.LocalTransport{}, ahp.ToolBefore), intercept(backendID, &ahp.LocalTransport{}, long, ahp.FailClosed))
		var calls []*harness.Call
		for range 10 {
			c := r.Begin(t.Context(), toolBefore())
			if s, err := c.Settle(); !s.Proceeds() || err != nil {
				t.Fatalf("%+v, %v", s, err)
			}
			calls = append(calls, c)
		}
		close(release)
		for _, c := range calls {
			if err := c.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		}
		st := r.Stats()
		if st.Observed+st.ObserveFailed+st.ObserveDropped != 10 || st.ObserveDropped < 7 {
			t.Errorf("%+v", st)
		}
		// The same with a real process that hangs on its first notification.
		r = open(t, func(o *harness.Options) {
			o.Local = map[string]transport.Local{backendID: (&respond{}).local}
			o.ObserveTimeout = long
		}, observe("net.acme.watch", stdio(t, ahp.PerEvent, "-fault", "observehang"), ahp.ToolBefore), intercept(backendID, &ahp.LocalTransport{}, long, ahp.FailClosed))
		c := r.Begin(t.Context(), toolBefore())
		if s, err := c.Settle(); !s.Proceeds() || err != nil {
			t.Fatalf("%+v, %v", s, err)
		}
		gone, cancel := context.WithCancelCause(t.Context())
		cancel(errTest)
		if err := c.Wait(gone); !errors.Is(err, errTest) {
			t.Errorf("wait: %v", err)
		}
	}},
	{"V-COMP-5", func(t *testing.T) {
		b := intercept(backendID, stdio(t, ahp.PerEvent), long, ahp.FailOpen)
		b.Subscriptions = append(b.Subscriptions, b.Subscriptions[0])
		refusedRegistration(t, "already", b)
	}},
	{"V-COMP-7", func(t *testing.T) {
		run := func() []settle.Record {
			n := 0
			f := func(_ context.Context, frame []byte) ([]byte, error) {
				n++
				id, _ := frameID(frame)
				switch n % 4 {
				case 0:
					return nil, errors.New("down")
				case 1:
					return []byte(none(id)), nil
				case 2:
					return []byte("garbage"), nil
				}
				return []byte(denial(id)), nil
			}
			r := chainOf(t, []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed}, f, f)
			for range 12 {
				if _, err := settleOne(t, r, toolBefore()); err != nil {
					t.Fatal(err)
				}
			}
			recs := r.rec.all()
			for i := range recs { // what may differ: ids and times
				recs[i].ID, recs[i].Time, recs[i].EventID, recs[i].ElapsedNs = "", "", "", 0
				for j := range recs[i].Hops {
					recs[i].Hops[j].StartNs, recs[i].Hops[j].TookNs = 0, 0
				}
			}
			return recs
		}
		if a, b := run(), run(); !reflect.DeepEqual(a, b) {
			t.Errorf("two runs differ:\n%+v\n%+v", a, b)
		}
	}},
	{"V-AMB-1", func(t *testing.T) {
		first, second := &respond{}, &respond{}
		r := chainOf(t, bothClosed, first.local, second.local)
		if _, err := settleOne(t, r, toolBefore()); err != nil || len(first.seen()) != 1 || len(second.seen()) != 1 {
			t.Errorf("%v, asked %d and %d", err, len(first.seen()), len(second.seen()))
		}
	}},
	{"V-AMB-13", func(t *testing.T) {
		rs := &respond{}
		if _, err := settleOne(t, withLocal(t, ahp.FailClosed, long, rs.local), toolBefore()); err != nil {
			t.Fatal(err)
		}
		if f := rs.seen(); len(f) != 1 || !strings.Contains(f[0], "hooks/intercept") {
			t.Errorf("sent %v", f)
		}
	}},
	{"V-LIFE-3", func(t *testing.T) {
		// All backends silent: the settlement says only that nobody objected.
		s, _ := decide(t, ahp.FailOpen, none)
		if s.State != settle.Proceed {
			t.Errorf("%+v", s)
		}
	}},
}

var errTest = errors.New("the test gave up")

var failureRules = []rule{
	{"AHP-FAIL-001", func(t *testing.T) {
		b := intercept(backendID, stdio(t, ahp.PerEvent), long, "")
		refusedRegistration(t, "failurePolicy", b)
	}},
	{"V-FAIL-1", func(t *testing.T) {
		fails(t, malformed, func(string) string { return "x" })
	}},
	{"V-FAIL-2", func(t *testing.T) {
		b := observe(backendID, stdio(t, ahp.PerEvent), ahp.ToolAfter)
		b.Subscriptions[0].Timeout = time.Second
		refusedRegistration(t, "timeoutMs", b)
		b = observe(backendID, stdio(t, ahp.PerEvent), ahp.ToolAfter)
		b.Subscriptions[0].FailurePolicy = ahp.FailOpen
		refusedRegistration(t, "failurePolicy", b)
	}},
	{"V-FAIL-3", func(t *testing.T) {
		s, _ := decide(t, ahp.FailClosed, func(string) string { return "x" })
		if s.Reason != ahp.GenericDenial {
			t.Errorf("reason %q", s.Reason)
		}
	}},
	{"V-FAIL-4", func(t *testing.T) {
		r := withLocal(t, ahp.FailClosed, long, func(context.Context, []byte) ([]byte, error) {
			return nil, errors.New("dial 10.0.0.1: " + badtest.Marker)
		})
		s, _ := settleOne(t, r, toolBefore())
		rec := r.rec.one(t)
		for where, text := range map[string]string{"reason": s.Reason, "record": string(rec.MarshalAppend(nil)), "log": r.log.String()} {
			if strings.Contains(text, badtest.Marker) {
				t.Errorf("the cause is in the %s: %s", where, text)
			}
		}
	}},
	{"V-FAIL-5", func(t *testing.T) {
		_, explicit := decide(t, ahp.FailClosed, denial)
		_, synthetic := decide(t, ahp.FailClosed, func(string) string { return "x" })
		if explicit.Decision != settle.DecisionExplicit || synthetic.Decision != settle.DecisionSynthetic {
			t.Errorf("explicit %s, synthetic %s", explicit.Decision, synthetic.Decision)
		}
	}},
	{"V-FAIL-6", func(t *testing.T) {
		_, rec := decide(t, ahp.FailOpen, func(string) string { return "x" })
		if !rec.FailedOpen || rec.Hops[0].Class != malformed || rec.Hops[0].Policy != ahp.FailOpen {
			t.Errorf("%+v", rec)
		}
	}},
	{"AHP-FAIL-002", func(t *testing.T) {
		// The backend is lost again and again; the retries stay in one deadline.
		synctest.Test(t, func(t *testing.T) {
			r := withLocal(t, ahp.FailOpen, time.Second, func(context.Context, []byte) ([]byte, error) {
				time.Sleep(300 * time.Millisecond)
				return nil, &ahp.Failure{Class: connection}
			}, func(o *harness.Options) { o.Retries = 1_000_000 })
			s, _ := settleOne(t, r, toolBefore())
			if hop := r.rec.one(t).Hops[0]; !s.Proceeds() || hop.Attempts != 4 || hop.TookNs != int64(time.Second) || hop.Class != deadline {
				t.Errorf("%+v", hop)
			}
		})
	}},
	{"V-DL-1", func(t *testing.T) {
		for _, d := range []time.Duration{0, -time.Millisecond, 1500 * time.Microsecond} {
			refusedRegistration(t, "timeoutMs", intercept(backendID, stdio(t, ahp.PerEvent), d, ahp.FailOpen))
		}
	}},
	{"V-DL-2", func(t *testing.T) {
		// Set-up, sending, work and body; each on a carrier where it shows.
		for name, tr := range map[string]ahp.Transport{
			"accept": badtest.HTTP(t, "-fault", "hungaccept"),
			"work":   stdio(t, ahp.PerEvent, "-fault", "hung"),
			"body":   badtest.HTTP(t, "-fault", "trickle", "-delay", "1s"),
			"send":   stdio(t, ahp.Persistent, "-fault", "noread"),
		} {
			t.Run(name, func(t *testing.T) {
				r := open(t, nil, intercept(backendID, tr, short, ahp.FailClosed))
				ev := toolBefore()
				ev.Tool.Input = ahp.Raw(`{"cmd":"` + strings.Repeat("x", 1<<20) + `"}`) // more than a pipe holds
				s, _ := settleOne(t, r, ev)
				if rec := r.rec.one(t); s.Proceeds() || rec.Class != deadline {
					t.Errorf("%+v", rec)
				}
			})
		}
	}},
	{"V-DL-3", func(t *testing.T) {
		for _, d := range []time.Duration{100 * time.Millisecond, 30 * time.Second} {
			open(t, nil, intercept(backendID, stdio(t, ahp.PerEvent), d, ahp.FailOpen))
		}
	}},
	{"V-DL-4", func(t *testing.T) {
		for _, tt := range []struct {
			effect  string
			policy  ahp.FailurePolicy
			proceed bool
		}{{"deny", ahp.FailOpen, true}, {"none", ahp.FailClosed, false}} {
			for _, tr := range []ahp.Transport{
				stdio(t, ahp.Persistent, "-fault", "late", "-delay", "500ms", "-effect", tt.effect),
				stdio(t, ahp.PerEvent, "-fault", "late", "-delay", "500ms", "-effect", tt.effect),
				badtest.HTTP(t, "-fault", "late", "-delay", "500ms", "-effect", tt.effect),
			} {
				r := open(t, nil, intercept(backendID, tr, 100*time.Millisecond, tt.policy))
				if s, _ := settleOne(t, r, toolBefore()); s.Proceeds() != tt.proceed {
					t.Errorf("late %s under %s over %T: %+v", tt.effect, tt.policy, tr, s)
				}
			}
		}
	}},
	{"AHP-CORE-004", retries},
	{"V-RETRY-1", func(t *testing.T) {
		// With no retry there is one send; see AHP-FAIL-002 for the bound in time.
		log := t.TempDir() + "/log"
		r := open(t, func(o *harness.Options) { o.Retries = -1 },
			intercept(backendID, badtest.HTTP(t, "-fault", "reset", "-log", log), long, ahp.FailOpen))
		if _, err := settleOne(t, r, toolBefore()); err != nil {
			t.Fatal(err)
		}
		if n := len(logged(t, log)); n != 1 {
			t.Errorf("%d sends, want 1", n)
		}
	}},
	{"V-RETRY-2", retries},
	{"V-RETRY-3", func(t *testing.T) {
		for _, args := range [][]string{{"-effect", "deny"}, {"-effect", "none"}, {"-fault", "garbage"}, {"-fault", "rpcerror"}, {"-fault", "status500"}} {
			log := t.TempDir() + "/log"
			r := open(t, func(o *harness.Options) { o.Retries = 5 },
				intercept(backendID, badtest.HTTP(t, append(args, "-log", log)...), long, ahp.FailOpen))
			if _, err := settleOne(t, r, toolBefore()); err != nil {
				t.Fatal(err)
			}
			if n := len(logged(t, log)); n != 1 {
				t.Errorf("%v: %d sends, want 1", args, n)
			}
		}
	}},
	classRule("V-FC-1", deadline), classRule("V-FC-2", connection), classRule("V-FC-3", process),
	classRule("V-FC-4", status), classRule("V-FC-5", malformed), classRule("V-FC-6", ahp.FailIDMismatch),
	classRule("V-FC-7", ahp.FailRPCError), classRule("V-FC-8", ahp.FailUnsupported),
	classRule("V-FC-9", missing), classRule("V-FC-10", effect),
	{"V-FC-11", func(t *testing.T) {
		// The answer is there when the deadline has passed: both policies ignore it.
		for policy, proceed := range map[ahp.FailurePolicy]bool{ahp.FailOpen: true, ahp.FailClosed: false} {
			effects := map[bool]string{true: `[{"type":"deny","reason":"late"}]`, false: `[]`}[proceed]
			f := func(ctx context.Context, frame []byte) ([]byte, error) {
				<-ctx.Done()
				id, _ := frameID(frame)
				return []byte(answer(id, effects)), nil
			}
			r := withLocal(t, policy, 20*time.Millisecond, f)
			s, _ := settleOne(t, r, toolBefore())
			class := r.rec.one(t).Hops[0].Class
			if s.Proceeds() != proceed || class != ahp.FailLate && class != ahp.FailDeadline {
				t.Errorf("%s: proceeds %v, class %s", policy, s.Proceeds(), class)
			}
		}
	}},
	{"V-AMB-15", func(t *testing.T) {
		r := open(t, nil, intercept(backendID, badtest.HTTP(t, "-fault", "status401"), long, ahp.FailClosed))
		if s, _ := settleOne(t, r, toolBefore()); s.Proceeds() || s.Class != status || s.Hops[0].FailureCode != 401 {
			t.Errorf("%+v", s)
		}
	}},
	{"V-AMB-17", func(t *testing.T) {
		// No option turns the generic reason into another one.
		r := withLocal(t, ahp.FailClosed, long, broken, func(o *harness.Options) { o.HideReasons = true })
		if s, _ := settleOne(t, r, toolBefore()); s.Reason != ahp.GenericDenial {
			t.Errorf("reason %q", s.Reason)
		}
	}},
}

// retries shows that a second send has the same bytes.
func retries(t *testing.T) {
	log := t.TempDir() + "/log"
	r := open(t, nil, intercept(backendID, stdio(t, ahp.Persistent, "-fault", "killed", "-log", log), long, ahp.FailOpen))
	if _, err := settleOne(t, r, toolBefore()); err != nil {
		t.Fatal(err)
	}
	lines := logged(t, log)
	if len(lines) != 4 { // each message with its line feed, and one of the log's own
		t.Fatalf("%d lines: %q", len(lines), lines)
	}
	if lines[0] != lines[2] || lines[0] == "" {
		t.Errorf("first %s\nsecond %s", lines[0], lines[2])
	}
}

// classRule runs a class's cells of the matrix that are quick, one fault for each
// carrier that has it, under both policies. The whole matrix is
// TestFaultMatrix.
func classRule(id string, class ahp.FailureClass) rule {
	return rule{id, func(t *testing.T) {
		ran := 0
		for _, carrier := range carriers {
			i := slices.IndexFunc(matrix, func(r row) bool { return r.class(carrier) == class })
			if i < 0 {
				if voidClasses[carrier][class] == "" {
					t.Errorf("no fault for %s over %s", class, carrier)
				}
				continue
			}
			for _, policy := range []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed} {
				ran++
				t.Run(carrier+"/"+string(policy), func(t *testing.T) { runCell(t, matrix[i], carrier, policy, recordSchema(t)) })
			}
		}
		if ran == 0 {
			t.Error("nothing ran")
		}
	}}
}
