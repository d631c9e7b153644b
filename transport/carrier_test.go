package transport_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/internal/badbackend/badtest"
	"github.com/holdpoint/holdpoint/transport"
)

const long = 20 * time.Second

func carry(t testing.TB, tr ahp.Transport, edit ...func(*transport.Options)) transport.Carrier {
	t.Helper()
	o := transport.Options{Grace: 200 * time.Millisecond, MaxAnswerBytes: 64 << 10}
	for _, e := range edit {
		e(&o)
	}
	c, err := transport.New(&ahp.Backend{ID: "net.acme.x", Transport: tr}, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

func question(id string) []byte {
	return []byte(`{"jsonrpc":"2.0","id":"` + id + `","method":"hooks/intercept","params":{}}`)
}

// ask asks once and returns the answer.
func ask(ctx context.Context, c transport.Carrier, id string) (string, *ahp.Failure) {
	var got string
	f := c.Ask(ctx, &transport.Exchange{ID: id, Frame: question(id), Accept: func(b []byte) *ahp.Failure {
		got = string(b)
		return nil
	}})
	return got, f
}

func within(t testing.TB, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// One suite for every carrier.
func TestCarriers(t *testing.T) {
	local := func(_ context.Context, frame []byte) ([]byte, error) {
		return []byte(strings.Replace(string(frame), "hooks/intercept", "answer", 1)), nil
	}
	hang := func(ctx context.Context, _ []byte) ([]byte, error) { <-ctx.Done(); return nil, ctx.Err() }
	makers := map[string]func(t *testing.T, fault string) transport.Carrier{
		"http": func(t *testing.T, f string) transport.Carrier { return carry(t, badtest.HTTP(t, "-fault", f)) },
		"persistent": func(t *testing.T, f string) transport.Carrier {
			return carry(t, badtest.Stdio(t, ahp.Persistent, "-fault", f))
		},
		"per_event": func(t *testing.T, f string) transport.Carrier {
			return carry(t, badtest.Stdio(t, ahp.PerEvent, "-fault", f))
		},
		"local": func(t *testing.T, f string) transport.Carrier {
			return carry(t, &ahp.LocalTransport{}, func(o *transport.Options) {
				o.Local = map[string]transport.Local{"net.acme.x": map[bool]transport.Local{true: hang, false: local}[f == "hung"]}
			})
		},
	}
	for name, open := range makers {
		t.Run(name, func(t *testing.T) {
			t.Run("answers and accept's word", func(t *testing.T) {
				c := open(t, "none")
				for i := range 5 {
					id := fmt.Sprintf("0192f3aa-77c1-7d10-9a51-%012d", i)
					got, f := ask(within(t, long), c, id)
					if f != nil || !strings.Contains(got, id) || strings.HasSuffix(got, "\n") {
						t.Errorf("%q, %v", got, f)
					}
				}
				want := &ahp.Failure{Class: ahp.FailMissingField}
				f := c.Ask(within(t, long), &transport.Exchange{ID: "a", Frame: question("a"), Accept: func([]byte) *ahp.Failure { return want }})
				if f != want {
					t.Errorf("%v", f)
				}
			})
			t.Run("deadline and caller", func(t *testing.T) {
				c := open(t, "hung")
				if _, f := ask(within(t, 50*time.Millisecond), c, "a"); f == nil || f.Class != ahp.FailDeadline {
					t.Errorf("deadline: %v", f)
				}
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(20*time.Millisecond, cancel)
				if _, f := ask(ctx, c, "b"); f == nil || f.Class != ahp.FailShutdown {
					t.Errorf("caller: %v", f)
				}
				if _, f := ask(ctx, c, "c"); f == nil || f.Class != ahp.FailShutdown {
					t.Errorf("ended before: %v", f)
				}
			})
			t.Run("close", func(t *testing.T) {
				c := open(t, "hung")
				under := make(chan *ahp.Failure, 1)
				go func() {
					_, f := ask(within(t, long), c, "a")
					under <- f
				}()
				time.AfterFunc(30*time.Millisecond, func() { _ = c.Close(context.Background()) })
				if f := <-under; f == nil || f.Class != ahp.FailShutdown {
					t.Errorf("under way: %v", f)
				}
				for range 2 {
					if err := c.Close(t.Context()); err != nil {
						t.Errorf("close: %v", err)
					}
				}
				if _, f := ask(within(t, long), c, "b"); f == nil || f.Class != ahp.FailShutdown {
					t.Errorf("after: %v", f)
				}
				if f := c.Tell(within(t, long), question("x")); f == nil || f.Class != ahp.FailShutdown {
					t.Errorf("told after: %v", f)
				}
			})
			t.Run("unused", func(t *testing.T) {
				if err := open(t, "none").Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestNewRefuses(t *testing.T) {
	for _, b := range []ahp.Backend{
		{ID: "a.b"},
		{ID: "a.b", Transport: &ahp.LocalTransport{}},
		{ID: "a.b", Transport: &ahp.StdioTransport{Lifecycle: ahp.PerEvent}},
		{ID: "a.b", Transport: &ahp.StdioTransport{Command: "x", Lifecycle: "sometimes"}},
		{ID: "a.b", Transport: &ahp.HTTPTransport{URL: "http://example.org"}},
	} {
		if _, err := transport.New(&b, transport.Options{}); err == nil || !strings.Contains(err.Error(), "a.b") {
			t.Errorf("%+v: %v", b, err)
		}
	}
}

// What may be sent to is a rule of its own, with a table of its own: here it is asked.
func TestCheckURL(t *testing.T) {
	if u, err := transport.CheckURL("http://[::1]:8080/v1/hook?x=1"); err != nil || u.Host != "[::1]:8080" {
		t.Errorf("%v, %v", u, err)
	}
	_, err := transport.CheckURL("https://user:MARKER@example.org/")
	if want := "url: found a URL with a user name or password, expected a URL without: a token comes from authentication.tokenEnv"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// Proxies are used when configured, and only then (the environment is ignored).
func TestProxyOnlyWhenConfigured(t *testing.T) {
	var through []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through = append(through, r.URL.String())
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{}`))
	}))
	defer proxy.Close()
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("http_proxy", proxy.URL)
	target := badtest.HTTP(t)
	if got, f := ask(within(t, long), carry(t, target), "a"); f != nil || !strings.Contains(got, "0.1") || len(through) > 0 {
		t.Errorf("%q, %v, through the proxy: %q", got, f, through)
	}
	u, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	c := carry(t, target, func(o *transport.Options) { o.Proxy = u })
	if _, f := ask(within(t, long), c, "a"); f != nil || len(through) != 1 || through[0] != target.URL {
		t.Errorf("%v, through the proxy: %q", f, through)
	}
}

// Connections are used again.
func TestConnectionReuse(t *testing.T) {
	conns := map[string]bool{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conns[r.RemoteAddr] = true
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{}`))
	}))
	defer s.Close()
	c := carry(t, &ahp.HTTPTransport{URL: s.URL})
	for range 20 {
		if _, f := ask(within(t, long), c, "a"); f != nil {
			t.Fatal(f)
		}
	}
	// The library gives up one whose last write it has not seen the end of in 50 ms.
	if len(conns) > 10 {
		t.Errorf("%d connections for 20 questions", len(conns))
	}
}

// A name server cannot lead plain text away from loopback.
func TestPlainTextStaysOnLoopback(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:80": true, "[::1]:80": true, "[::ffff:127.0.0.1]:80": true,
		"10.0.0.1:80": false, "[2001:db8::1]:80": false, "0.0.0.0:80": false, "nonsense": false,
	} {
		if err := transport.OnlyLoopback(t.Context(), "tcp", address, nil); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestPlainTextCarrierDialsLoopbackOnly(t *testing.T) {
	c := carry(t, badtest.HTTP(t))
	// An address for documentation: nobody has it.
	if err := transport.Dial(within(t, long), c, "192.0.2.1:80"); err == nil || !strings.Contains(err.Error(), "not loopback") {
		t.Errorf("%v", err)
	}
}

// endsMeanwhile is a context whose deadline passes while an answer is made, and
// that nobody is told of in time: what a slow machine does to any deadline.
type endsMeanwhile struct {
	context.Context
	passed atomic.Bool
}

func (e *endsMeanwhile) Done() <-chan struct{} { return nil }

func (e *endsMeanwhile) Err() error {
	if e.passed.Load() {
		return context.DeadlineExceeded
	}
	return nil
}

// An answer that is there after the deadline is late, and is not looked at.
func TestLateAnswer(t *testing.T) {
	late := func(t *testing.T, ctx context.Context, c transport.Carrier) {
		f := c.Ask(ctx, &transport.Exchange{ID: "a", Frame: question("a"), Accept: func([]byte) *ahp.Failure {
			t.Error("the answer was looked at")
			return nil
		}})
		if f == nil || f.Class != ahp.FailLate {
			t.Errorf("%v", f)
		}
	}
	t.Run("local", func(t *testing.T) {
		ctx := &endsMeanwhile{Context: t.Context()}
		late(t, ctx, carry(t, &ahp.LocalTransport{}, func(o *transport.Options) {
			o.Local = map[string]transport.Local{"net.acme.x": func(context.Context, []byte) ([]byte, error) {
				ctx.passed.Store(true)
				return []byte(`{}`), nil
			}}
		}))
	})
	t.Run("http", func(t *testing.T) {
		ctx := &endsMeanwhile{Context: t.Context()}
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			ctx.passed.Store(true)
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{}`))
		}))
		defer s.Close()
		late(t, ctx, carry(t, &ahp.HTTPTransport{URL: s.URL}))
	})
}

// A child that never reads: the write that fills its pipe ends with the caller,
// with the deadline, and with Close.
func TestFullPipe(t *testing.T) {
	frame := []byte(`{"jsonrpc":"2.0","method":"hooks/observe","pad":"` + strings.Repeat("x", 3000) + `"}`)
	fill := func(ctx context.Context, c transport.Carrier) *ahp.Failure {
		for range 1000 {
			if f := c.Tell(ctx, frame); f != nil {
				return f
			}
		}
		return nil
	}
	t.Run("deadline", func(t *testing.T) {
		c := carry(t, badtest.Stdio(t, ahp.Persistent, "-fault", "noread"))
		if f := fill(within(t, 200*time.Millisecond), c); f == nil || f.Class != ahp.FailDeadline {
			t.Errorf("%v", f)
		}
	})
	t.Run("caller", func(t *testing.T) {
		c := carry(t, badtest.Stdio(t, ahp.Persistent, "-fault", "noread"))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(100*time.Millisecond, cancel)
		if f := fill(ctx, c); f == nil || f.Class != ahp.FailShutdown {
			t.Errorf("%v", f)
		}
	})
	t.Run("close", func(t *testing.T) {
		c := carry(t, badtest.Stdio(t, ahp.Persistent, "-fault", "noread"))
		time.AfterFunc(100*time.Millisecond, func() { _ = c.Close(context.Background()) })
		if f := fill(t.Context(), c); f == nil || f.Class != ahp.FailShutdown {
			t.Errorf("%v", f)
		}
	})
}

// The ring keeps the end of stderr, bounded, and nothing of it decides.
func TestStderr(t *testing.T) {
	for _, l := range []ahp.Lifecycle{ahp.Persistent, ahp.PerEvent} {
		c := carry(t, badtest.Stdio(t, l, "-fault", "stderrflood"), func(o *transport.Options) { o.StderrBytes = 1000 })
		d, ok := c.(transport.Diagnostics)
		if !ok {
			t.Fatal("no diagnostics")
		}
		if len(d.Stderr()) != 0 {
			t.Error("stderr of no process")
		}
		if _, f := ask(within(t, long), c, "a"); f != nil {
			t.Fatal(f)
		}
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if got := string(d.Stderr()); len(got) != 1000 || !strings.HasSuffix(got, badtest.Marker+" \n") {
			t.Errorf("%d bytes: %.60q", len(got), got)
		}
	}
}

// A frame larger than a pipe goes through whole, whatever the child does first.
func TestLargeFrame(t *testing.T) {
	for _, l := range []ahp.Lifecycle{ahp.Persistent, ahp.PerEvent} {
		log := filepath.Join(t.TempDir(), "log")
		c := carry(t, badtest.Stdio(t, l, "-log", log))
		frame := []byte(`{"jsonrpc":"2.0","id":"a","pad":"` + strings.Repeat("x", 3<<20) + `"}`)
		f := c.Ask(within(t, long), &transport.Exchange{ID: "a", Frame: frame, Accept: func([]byte) *ahp.Failure { return nil }})
		if f != nil {
			t.Fatal(l, f)
		}
		if b, err := os.ReadFile(log); err != nil || !strings.Contains(string(b), string(frame)) {
			t.Errorf("%s: the frame arrived changed (%v)", l, err)
		}
	}
}

// A frame is never written to: its capacity may hold somebody else's bytes.
func TestFrameIsNotTouched(t *testing.T) {
	backing := append(question("a"), "XYZ"...)
	frame := backing[:len(backing)-3]
	c := carry(t, badtest.Stdio(t, ahp.Persistent))
	f := c.Ask(within(t, long), &transport.Exchange{ID: "a", Frame: frame, Accept: func([]byte) *ahp.Failure { return nil }})
	if f != nil || !strings.HasSuffix(string(backing), "XYZ") {
		t.Errorf("%v, %q", f, backing[len(backing)-3:])
	}
}

func TestLocalErrors(t *testing.T) {
	tests := []struct {
		name  string
		f     transport.Local
		class ahp.FailureClass
	}{
		{"error", func(context.Context, []byte) ([]byte, error) { return nil, errors.New("MARKER") }, ahp.FailInternal},
		{"typed", func(context.Context, []byte) ([]byte, error) {
			return nil, fmt.Errorf("MARKER: %w", &ahp.Failure{Class: ahp.FailEvent})
		}, ahp.FailEvent},
		{"panic", func(context.Context, []byte) ([]byte, error) { panic("MARKER") }, ahp.FailInternal},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := carry(t, &ahp.LocalTransport{}, func(o *transport.Options) { o.Local = map[string]transport.Local{"net.acme.x": tt.f} })
			if _, f := ask(within(t, long), c, "a"); f == nil || f.Class != tt.class || strings.Contains(f.Error(), "MARKER") {
				t.Errorf("%v", f)
			}
		})
	}
	// A function that does not return holds nobody up, and Close says so.
	release := make(chan struct{})
	c, err := transport.New(&ahp.Backend{ID: "net.acme.x", Transport: &ahp.LocalTransport{}}, transport.Options{
		Local: map[string]transport.Local{"net.acme.x": func(context.Context, []byte) ([]byte, error) { <-release; return nil, nil }},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, f := ask(within(t, 20*time.Millisecond), c, "a"); f == nil || f.Class != ahp.FailDeadline {
		t.Errorf("%v", f)
	}
	if err := c.Close(within(t, 20*time.Millisecond)); err == nil {
		t.Error("Close claims that the function has returned")
	}
	close(release)
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
