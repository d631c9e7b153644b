package harness_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

// A peerCarrier is a caller's own carrier: it hands frames to a peer.
type peerCarrier struct {
	p      *peer
	closed atomic.Int32
	asked  chan struct{} // gets one for each question; nil for none
	hang   bool          // questions hang until their context ends
	lost   atomic.Int32  // how many messages are lost with their connection
}

func carriersOf(ps map[string]*peer) map[string]transport.Carrier {
	m := map[string]transport.Carrier{}
	for id, p := range ps {
		m[id] = &peerCarrier{p: p}
	}
	return m
}

func (c *peerCarrier) lose() *ahp.Failure {
	if c.lost.Add(-1) >= 0 {
		return &ahp.Failure{Class: ahp.FailConnection}
	}
	return nil
}

func (c *peerCarrier) Ask(ctx context.Context, x *transport.Exchange) *ahp.Failure {
	if c.asked != nil {
		c.asked <- struct{}{}
	}
	if c.hang {
		<-ctx.Done()
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return &ahp.Failure{Class: ahp.FailDeadline}
		}
		return &ahp.Failure{Class: ahp.FailShutdown}
	}
	answer, err := c.p.local(ctx, x.Frame)
	if err != nil {
		return &ahp.Failure{Class: ahp.FailInternal, Err: err}
	}
	if f := c.lose(); f != nil {
		return f
	}
	return x.Accept(answer)
}

func (c *peerCarrier) Tell(ctx context.Context, frame []byte) *ahp.Failure {
	if c.hang {
		<-ctx.Done()
		return &ahp.Failure{Class: ahp.FailShutdown}
	}
	_, _ = c.p.local(ctx, frame)
	return c.lose()
}

func (c *peerCarrier) Close(context.Context) error { c.closed.Add(1); return nil }

// order notes in which order things happen.
type order struct {
	mu  sync.Mutex
	all []string
}

func (o *order) note(s string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all = append(o.all, s)
}

func (o *order) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.Join(o.all, " ")
}

var tellRules = []draftRule{
	{"AHP-REG-002", func(t *testing.T) {
		var k cast
		no := k.add("net.acme.no", says("[]"), asks(ahp.FailClosed, "turn.*", "model.request.before"), watches("session.*", "tool.after"))
		yes := k.add("net.acme.yes", says("[]"), asks(ahp.FailClosed, "tool.*"))
		if _, err := settleOne(t, k.open(t, nil), draftTool()); err != nil {
			t.Fatal(err)
		}
		if len(no.all()) != 0 || len(yes.all()) != 1 {
			t.Errorf("%d and %d messages", len(no.all()), len(yes.all()))
		}
	}},
	{"D-OBS-1", func(t *testing.T) {
		var o order
		var k cast
		k.add("net.acme.watch", &peer{says: func(message) string { return "[]" }}, watches("*"))
		k.add("net.acme.a", &peer{says: func(message) string { o.note("asked"); return "[]" }}, asks(ahp.FailClosed, "*"))
		w := k.local["net.acme.watch"]
		k.local["net.acme.watch"] = func(ctx context.Context, f []byte) ([]byte, error) { o.note("told"); return w(ctx, f) }
		h := k.open(t, func(opts *harness.Options) {
			opts.Recorder = noting(func(*settle.Record) { o.note("settled") })
		})
		if _, err := settleOne(t, h, draftTool()); err != nil {
			t.Fatal(err)
		}
		if o.String() != "asked settled told" {
			t.Errorf("order: %s", o.String())
		}
	}},
	{"D-OBS-2", func(t *testing.T) {
		_, watch, s, _ := chainDraft(t, ahp.FailOpen, draftTool(), nil, list(mergeInput, deny))
		wantIn(t, watch.told()[0], []string{"terraform plan"}, "destroy")
		if s.State != settle.Denied {
			t.Errorf("settled %s", s.State)
		}
		_, watch, _, _ = chainDraft(t, ahp.FailOpen, draftTool(), nil, list(supply, unknown))
		wantIn(t, watch.told()[0], []string{"destroy"}, `"ok":true`)
	}},
	{"D-OBS-3", func(t *testing.T) {
		for _, end := range []string{list(deny), list(stop), list(deny, stop), list(unknown)} {
			ps, _, _, _ := chainDraft(t, ahp.FailClosed, draftTool(), nil, "[]", end, "[]", "[]")
			for i, want := range []int{0, 0, 1, 1} {
				if got := len(ps[i].told()); got != want {
					t.Errorf("%s: interceptor %d was told %d times, want %d", end, i, got, want)
				}
			}
		}
	}},
	{"D-OBS-4", func(t *testing.T) {
		var k cast
		k.add("net.acme.a", says(`[{"type":"flow","operation":"stop","reason":"x"}]`), selecting(asks(ahp.FailClosed, "*"), selection(ahp.SelectOmit)))
		p := k.add("net.acme.b", says("[]"), selecting(asks(ahp.FailClosed, "*"), selection(ahp.SelectMetadata)))
		if _, err := settleOne(t, k.open(t, nil), reasoned(t)); err != nil {
			t.Fatal(err)
		}
		if len(p.asked()) != 0 || len(p.told()) != 1 {
			t.Fatalf("asked %d, told %d", len(p.asked()), len(p.told()))
		}
		wantIn(t, p.told()[0], []string{`"selection":"metadata"`}, "plain answer", secretText)
	}},
	{"D-OBS-5", func(t *testing.T) {
		// Called means that its delivery was begun, whatever came of it.
		for _, effects := range []string{"[]", list(deny), list(unknown)} {
			ps, _, _, _ := chainDraft(t, ahp.FailOpen, draftTool(), nil, effects)
			if len(ps[0].all()) != 1 {
				t.Errorf("%s: %d messages", effects, len(ps[0].all()))
			}
		}
		var k cast
		p := k.add("net.acme.a", says("[]"), selecting(asks(ahp.FailOpen, "*"), selection(ahp.SelectBody)))
		if _, err := settleOne(t, k.open(t, nil), reasoned(t)); err != nil { // a body is missing
			t.Fatal(err)
		}
		if len(p.all()) != 0 {
			t.Errorf("%d messages", len(p.all()))
		}
	}},
	{"D-OBS-6", func(t *testing.T) {
		var k cast
		p := k.add("net.acme.a", says(list(mergeInput)), asks(ahp.FailClosed, "*"), watches("*"))
		if _, err := settleOne(t, k.open(t, nil), draftTool()); err != nil {
			t.Fatal(err)
		}
		if len(p.asked()) != 1 || len(p.told()) != 1 {
			t.Fatalf("asked %d, told %d", len(p.asked()), len(p.told()))
		}
		wantIn(t, p.told()[0], []string{"terraform plan"})
	}},
	{"D-OBS-7", func(t *testing.T) {
		ps, _, _, _ := chainDraft(t, ahp.FailClosed, draftTool(), nil, list(deny), "[]")
		if got := ps[1].told()[0].raw; !strings.HasPrefix(got, `{"jsonrpc":"2.0","method":"hooks/observe","params":{"protocolVersion":"draft","event":{`) || !strings.HasSuffix(got, "}}}") {
			t.Errorf("notification %s", got)
		}
		wantIn(t, ps[1].told()[0], nil, "disposition", "downgrade", "receipt", "decision", "frozen", "state")
	}},
	{"D-OBS-8", func(t *testing.T) {
		var k cast
		p := k.add("net.acme.watch", &peer{}, watches("*"))
		k.local["net.acme.watch"] = func(ctx context.Context, f []byte) ([]byte, error) {
			_, _ = p.local(ctx, f)
			return []byte(draftAnswer("x", list(deny))), nil
		}
		s, err := settleOne(t, k.open(t, nil), draftTool())
		if s.State != settle.Proceed || err != nil {
			t.Errorf("settled %s, %v", s.State, err)
		}
	}},
	{"D-OBS-13", func(t *testing.T) {
		p := &peer{}
		carrier := &peerCarrier{p: p}
		carrier.lost.Store(1)
		h := openDraft(t, func(o *harness.Options) {
			o.Carriers = map[string]transport.Carrier{"net.acme.watch": carrier}
		}, backendOf("net.acme.watch", &ahp.HTTPTransport{URL: "https://a.example"}, watches("*")))
		if _, err := settleOne(t, h, draftTool()); err != nil {
			t.Fatal(err)
		}
		if told := p.told(); len(told) != 2 || told[0].raw != told[1].raw {
			t.Errorf("%d notifications", len(told))
		}
	}},
	{"D-ENV-6", func(t *testing.T) {
		var k cast
		one, two := asks(ahp.FailClosed, "*"), watches("*")
		one.ID, two.ID = "my-local-name", "my-other-name"
		p := k.add("net.acme.a", says("[]"), one, two)
		if _, err := settleOne(t, k.open(t, nil), draftTool()); err != nil {
			t.Fatal(err)
		}
		for _, m := range p.all() {
			wantIn(t, m, nil, "my-local-name", "my-other-name", "net.acme.a")
		}
	}},
	{"D-PAY-4", func(t *testing.T) {
		// Others hear of a failure; the one that failed does not (D-PAY-5).
		var k cast
		bad := k.add("net.acme.bad", says(list(unknown)), asks(ahp.FailOpen, "tool.*"), watches("*"))
		other := k.add("net.acme.other", &peer{}, watches("hook.failure"))
		ev := draftTool()
		ev.ID = "ev-1"
		if _, err := settleOne(t, k.open(t, nil), ev); err != nil {
			t.Fatal(err)
		}
		told := other.told()
		if len(told) != 1 || len(bad.told()) != 1 {
			t.Fatalf("other told %d, bad told %d", len(told), len(bad.told()))
		}
		wantIn(t, told[0], []string{`"type":"hook.failure"`, `"parentEventId":"ev-1"`, `"backendId":"net.acme.bad"`, `"policy":"fail-open"`, `"reason":"invalid effect"`}, "explode")
		wantIn(t, bad.told()[0], []string{`"type":"tool.before"`})
	}},
	{"D-PAY-5", func(t *testing.T) {
		// A failure while hook.failure is delivered makes no new one.
		var k cast
		var tries atomic.Int32
		k.add("net.acme.bad", says(list(unknown)), asks(ahp.FailOpen, "tool.*"))
		k.add("net.acme.down", &peer{}, watches("hook.failure"))
		k.local["net.acme.down"] = func(context.Context, []byte) ([]byte, error) { tries.Add(1); return nil, errTest }
		h := k.open(t, nil)
		if _, err := settleOne(t, h, draftTool()); err != nil {
			t.Fatal(err)
		}
		if n := tries.Load(); n != 1 || h.Stats().ObserveFailed != 1 {
			t.Errorf("%d tries, stats %+v", n, h.Stats())
		}
	}},
	{"D-FAIL-2", func(t *testing.T) {
		var k cast
		k.add("net.acme.down", &peer{}, watches("*"))
		k.local["net.acme.down"] = func(context.Context, []byte) ([]byte, error) { return nil, errTest }
		if s, err := settleOne(t, k.open(t, nil), draftTool()); s.State != settle.Proceed || err != nil {
			t.Errorf("settled %s, %v", s.State, err)
		}
		s := watches("*")
		s.Timeout, s.FailurePolicy = long, ahp.FailOpen
		refused(t, draftOptions(harness.Discard), "timeoutMs: not allowed", backendOf("net.acme.a", &ahp.HTTPTransport{URL: "https://a.example"}, s))
	}},
}

type noting func(*settle.Record)

func (f noting) Record(_ context.Context, r *settle.Record) error { f(r); return nil }

// refused checks that no harness comes of the backends, and that the error says why.
func refused(t *testing.T, o harness.Options, want string, backends ...ahp.Backend) {
	t.Helper()
	h, err := harness.New(&ahp.Registration{Version: ahp.VersionDraft, Hooks: backends}, o)
	if err == nil {
		_ = h.Close(t.Context())
		t.Errorf("accepted, want an error about %q", want)
		return
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("error %q, want %q", err, want)
	}
}
