package backend_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/backend"
	"github.com/holdpoint/holdpoint/internal/leak"
)

const childEnv = "HOLDPOINT_BACKEND_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(childEnv); mode != "" {
		os.Exit(child(mode))
	}
	os.Exit(leak.Main(m))
}

// child is a stdio backend that makes all the noise it can.
func child(mode string) int {
	s, err := backend.New(backend.HandlerFunc(func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
		if mode == "noisy" {
			fmt.Println("a print of the handler")
			fmt.Fprintln(os.NewFile(1, "fd 1"), "a write to descriptor 1")
			cmd := exec.CommandContext(ctx, "sh", "-c", "echo noise of a child; cat")
			cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
			if err := cmd.Run(); err != nil {
				return nil, err
			}
		}
		return decide(ctx, r)
	}), backend.Options{Observe: func(context.Context, *backend.Request) { fmt.Println("observed") }})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	switch mode {
	case "canceled":
		cancel()
	case "signal":
		ctx, cancel = signal.NotifyContext(ctx, syscall.SIGTERM)
		defer cancel()
	}
	if err := backend.StdioMain(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println("a print after the end")
	return 0
}

// decide denies what says so in its input.
func decide(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
	switch in := string(r.Event.Tool.Input); {
	case strings.Contains(in, "deny"):
		return []ahp.Effect{&ahp.Deny{Reason: "Not on a Friday.", Code: "com.example.friday"}}, nil
	case strings.Contains(in, "panic"):
		panic("SECRET " + in)
	case strings.Contains(in, "unavailable"):
		return nil, fmt.Errorf("SECRET: %w", backend.ErrUnavailable)
	case strings.Contains(in, "error"):
		return nil, errors.New("SECRET")
	}
	return nil, nil
}

func event(id, cmd string) string {
	return `{"id":"` + id + `","source":"urn:example:h","type":"tool.before","time":"2027-02-03T04:05:06Z","session":{"id":"s"},` +
		`"tool":{"callId":"c","name":"run","kind":"shell","input":{"cmd":"` + cmd + `"}}}`
}

func request(id, cmd string) string {
	return `{"jsonrpc":"2.0","id":"` + id + `","method":"hooks/intercept","params":{"protocolVersion":"0.1","event":` + event(id, cmd) +
		`,"capabilities":{"effects":["deny"]}}}`
}

func observation(id, cmd string) string {
	return `{"jsonrpc":"2.0","method":"hooks/observe","params":{"protocolVersion":"0.1","event":` + event(id, cmd) + `}}`
}

func newServer(t testing.TB, h backend.HandlerFunc, o backend.Options) *backend.Server {
	t.Helper()
	s, err := backend.New(h, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// say sends one frame and describes the answer: none, allow, the denial's reason,
// or the error's code.
func say(t testing.TB, s *backend.Server, frame string) string {
	t.Helper()
	b, err := s.Local(context.Background(), []byte(frame))
	if err != nil {
		return "failed: " + err.Error()
	}
	return describe(t, b)
}

func describe(t testing.TB, b []byte) string {
	t.Helper()
	if len(b) == 0 {
		return "none"
	}
	m, err := wire01.Decode(b, wire01.Limits{SingleLine: true})
	switch {
	case err != nil:
		t.Fatalf("%v in %s", err, b)
		return ""
	case m.RPCError != nil:
		return fmt.Sprint(int(m.RPCError.Code))
	case len(m.Effects) == 1:
		return m.Effects[0].(*ahp.Deny).Reason
	}
	return "allow"
}

func TestNewOptions(t *testing.T) {
	_, err := backend.New(nil, backend.Options{MaxConcurrent: -1, Timeout: -1, MemoryBytes: -1, MemoryEntries: -1, MemoryTTL: -1})
	for _, want := range []string{"handler: required", "max concurrent", "timeout", "memory bytes", "memory entries", "memory time"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestRules(t *testing.T) {
	s := newServer(t, decide, backend.Options{})
	edit := func(s, old, new string) string {
		t.Helper()
		if !strings.Contains(s, old) {
			t.Fatalf("%q is not in %s", old, s)
		}
		return strings.Replace(s, old, new, 1)
	}
	ok := request("r-1", "ls")
	tests := []struct{ id, name, frame, want string }{
		{"AHP-DEC-001", "no objection", ok, "allow"},
		{"AHP-DEC-001", "a denial", request("r-2", "deny"), "Not on a Friday."},
		{"V-RPC-1", "a batch", "[" + ok + "]", "-32600"},
		{"V-VER-1", "another version", edit(ok, `"0.1"`, `"9.9"`), "-32001"},
		{"AHP-VER-001", "no version", edit(ok, `"protocolVersion":"0.1",`, ``), "-32602"},
		{"V-LIFE-7", "another event", edit(ok, "tool.before", "session.start"), "-32002"},
		{"V-UNK-1", "an unknown event", edit(ok, "tool.before", "tool.x"), "-32002"},
		{"V-UNK-1", "an unknown kind", edit(ok, `"shell"`, `"x"`), "-32602"},
		{"AHP-CORE-003", "unknown members", strings.ReplaceAll(request("r-3", "deny"), "{", `{"x":1,`), "Not on a Friday."},
		{"V-JSON-1", "input as text", edit(ok, `{"cmd":"ls"}`, `"{}"`), "-32602"},
		{"V-ENV-1", "another id", edit(ok, `"id":"r-1","method"`, `"id":"r-0","method"`), "-32602"},
		{"V-ENV-4", "an observation", observation("o-1", "ls"), "none"},
		{"V-ENV-4", "an invalid observation", edit(observation("o-1", "ls"), `"callId":"c",`, ``), "none"},
		{"V-ENV-4", "an unknown notification", edit(observation("o-1", "ls"), `hooks/observe`, `x`), "none"},
		{"V-ENV-4", "an intercept without id", edit(ok, `"id":"r-1","method"`, `"method"`), "none"},
		{"V-ERR-3", "an unknown method", edit(ok, `hooks/intercept`, `hooks/x`), "-32601"},
		{"V-ERR-3", "an observation as a request", edit(observation("o-1", "ls"), `"method"`, `"id":1,"method"`), "-32601"},
		{"V-ERR-3", "no JSON", "{", "-32700"},
		{"V-ERR-3", "nothing", "", "-32700"},
		{"V-ERR-3", "not an object", "3", "-32600"},
		{"V-AMB-18", "no effects offered", edit(ok, `["deny"]`, `[]`), "-32602"},
		{"V-AMB-20", "a name twice", edit(ok, `"cmd"`, `"cmd":1,"cmd"`), "-32700"},
		{"V-ERR-2", "a panic", request("r-4", "panic"), "-32004"},
		{"V-ERR-2", "an error", request("r-5", "error"), "-32004"},
		{"V-ERR-2", "unavailable", request("r-6", "unavailable"), "-32003"},
	}
	for i, tt := range tests {
		if i > 0 && tests[i-1].id == tt.id {
			continue
		}
		t.Run(tt.id, func(t *testing.T) {
			for _, c := range tests {
				if c.id != tt.id {
					continue
				}
				b, err := s.Local(t.Context(), []byte(c.frame))
				if err != nil {
					t.Fatal(err)
				}
				if got := describe(t, b); got != c.want {
					t.Errorf("%s: got %s, want %s\n%s", c.name, got, c.want, b)
				}
				if bytes.Contains(b, []byte("SECRET")) {
					t.Errorf("%s: leaks: %s", c.name, b)
				}
			}
		})
	}
	t.Run("V-ERR-4", func(t *testing.T) {
		b, err := s.Local(t.Context(), []byte(edit(ok, `"0.1"`, `"9.9"`)))
		if err != nil || !bytes.Contains(b, []byte(`"data":{"supported":["0.1"]}`)) {
			t.Errorf("%s, %v", b, err)
		}
	})
	t.Run("V-ENV-2", func(t *testing.T) {
		for _, id := range []string{`"r\u002d7"`, `"r-7"`} { // the second is a repeat, and still echoed as sent
			b, err := s.Local(t.Context(), []byte(edit(request("r-7", "deny"), `"id":"r-7","method"`, `"id":`+id+`,"method"`)))
			if err != nil || !bytes.HasPrefix(b, []byte(`{"jsonrpc":"2.0","id":`+id+`,"result"`)) {
				t.Errorf("%s, %v", b, err)
			}
		}
	})
	for _, id := range []string{"V-NAT-2", "V-EXT-2"} {
		t.Run(id, func(t *testing.T) { sameWithout(t, s) })
	}
}

// sameWithout: native data and extensions decide nothing.
func sameWithout(t *testing.T, s *backend.Server) {
	for _, cmd := range []string{"ls", "deny"} {
		id := t.Name() + cmd
		with := strings.Replace(request(id+"+", cmd), `"tool":{`, `"native":{"provider":"p","eventName":"e","payload":{"deny":1}},"extensions":{"com.x":"deny"},"tool":{`, 1)
		if got, want := say(t, s, with), say(t, s, request(id, cmd)); got != want || want == "-32602" {
			t.Errorf("%s: %s with native data, %s without", cmd, got, want)
		}
	}
}

func TestInvalidEffectsAreAnInternalError(t *testing.T) {
	for name, effects := range map[string][]ahp.Effect{
		"two":            {&ahp.Deny{Reason: "a"}, &ahp.Deny{Reason: "b"}},
		"no reason":      {&ahp.Deny{}},
		"nil":            {nil},
		"nil deny":       {(*ahp.Deny)(nil)},
		"bad code":       {&ahp.Deny{Reason: "a", Code: "x"}},
		"bad extension":  {&ahp.Deny{Reason: "a", Extensions: ahp.Members{{Name: "x", Value: ahp.Raw("1")}}}},
		"not UTF-8":      {&ahp.Deny{Reason: "\xff"}},
		"broken unknown": {&ahp.Deny{Reason: "a", Unknown: ahp.Members{{Name: "x", Value: ahp.Raw("}")}}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, func(context.Context, *backend.Request) ([]ahp.Effect, error) { return effects, nil }, backend.Options{})
			if got := say(t, s, request("r", "ls")); got != "-32004" {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestRequestHoldsWhatWasSent(t *testing.T) {
	for _, prompt := range []bool{false, true} {
		requestHoldsWhatWasSent(t, backend.Options{Prompt: prompt})
	}
}

func requestHoldsWhatWasSent(t *testing.T, o backend.Options) {
	var wrong string
	s := newServer(t, func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
		ext, _ := r.Extensions.Lookup("com.x")
		if r.Principal != "me" || string(r.EventText) != event(r.Event.ID, "ls") || string(ext) != "[1.0]" || !r.HasExtensions ||
			!r.Capabilities.Allows(ahp.EffectDeny) || r.Deadline.IsZero() || r.Event.Tool.Name != "run" {
			wrong = fmt.Sprintf("%+v", r)
		}
		return nil, nil
	}, o)
	for _, id := range []string{"r", "s"} {
		frame := strings.Replace(request(id, "ls"), `"capabilities"`, `"extensions":{"com.x":[1.0]},"capabilities"`, 1)
		if got, err := s.Local(backend.WithPrincipal(t.Context(), "me"), []byte(frame)); err != nil || describe(t, got) != "allow" || wrong != "" {
			t.Errorf("%s, %v: %s", got, err, wrong)
		}
	}
}

// TestPanicIsLoggedWithoutItsValue: the value may hold what the event held.
func TestPanicIsLoggedWithoutItsValue(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, decide, backend.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if got := say(t, s, request("r", "panic")); got != "-32004" {
		t.Errorf("got %s", got)
	}
	if err := s.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := log.String(); !strings.Contains(text, "handler panicked") || strings.Contains(text, "SECRET") {
		t.Errorf("log: %s", text)
	}
}

func TestDuplicates(t *testing.T) {
	t.Run("AHP-CORE-004", func(t *testing.T) {
		for _, prompt := range []bool{false, true} {
			sequentialDuplicates(t, backend.Options{Prompt: prompt})
		}
	})
	t.Run("V-RETRY-4", func(t *testing.T) { synctest.Test(t, concurrentDuplicates) })
	t.Run("V-RETRY-5", func(t *testing.T) { synctest.Test(t, failedFirst) })
}

func sequentialDuplicates(t *testing.T, o backend.Options) {
	var calls atomic.Int32
	s := newServer(t, func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
		return []ahp.Effect{&ahp.Deny{Reason: fmt.Sprint("call ", calls.Add(1))}}, nil
	}, o)
	ask := func(principal, frame string) string {
		t.Helper()
		b, err := s.Local(backend.WithPrincipal(t.Context(), principal), []byte(frame))
		if err != nil {
			t.Fatal(err)
		}
		return describe(t, b)
	}
	first := request("r", "ls")
	other := strings.Replace(strings.Replace(first, `"session":{"id":"s"},`, "", 1), `}}},"cap`, `}}, "session": {"id":"\u0073"}},"cap`, 1)
	big := func(id, n string) string { return strings.Replace(request(id, "ls"), `{"cmd":"ls"}`, `{"n":`+n+`}`, 1) }
	pad := strings.Repeat("x", 64<<10)
	for _, step := range []struct{ name, principal, frame, want string }{
		{"the first", "a", first, "call 1"},
		{"the same again", "a", first, "call 1"},
		{"the same in other words", "a", other, "call 1"},
		{"other content", "a", request("r", "rm"), "-32602"},
		{"the first once more", "a", first, "call 1"},
		{"another principal", "b", request("r", "rm"), "call 2"},
		{"another source", "a", strings.Replace(first, "urn:example:h", "urn:example:i", 1), "call 3"},
		{"a big integer", "a", big("n", "9007199254740993"), "call 4"},
		{"a big integer that a double takes for the same", "a", big("n", "9007199254740992"), "-32602"},
		{"a big integer again", "a", big("n", "9007199254740993"), "call 4"},
		{"a large event", "a", request("l", pad), "call 5"},
		{"a large event again", "a", strings.Replace(request("l", pad), `"name":"run","kind":"shell"`, `"kind":"shell","name":"run"`, 1), "call 5"},
		{"another large event", "a", request("l", pad+"y"), "-32602"},
		{"a huge event", "a", request("h", pad+pad+pad), "call 6"},
		{"a huge event again", "a", strings.Replace(request("h", pad+pad+pad), `"name":"run","kind":"shell"`, `"kind":"shell","name":"run"`, 1), "call 6"},
		{"another huge event", "a", request("h", pad+pad+pad+"y"), "-32602"},
	} {
		if got := ask(step.principal, step.frame); got != step.want {
			t.Errorf("%s: got %s, want %s", step.name, got, step.want)
		}
	}
}

// concurrentDuplicates: one call answers all that ask while it runs.
func concurrentDuplicates(t *testing.T) {
	var calls atomic.Int32
	s := newServer(t, func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
		time.Sleep(time.Second)
		return []ahp.Effect{&ahp.Deny{Reason: fmt.Sprint("call ", calls.Add(1))}}, nil
	}, backend.Options{})
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond)
			if got := say(t, s, request("r", "ls")); got != "call 1" {
				t.Errorf("got %s", got)
			}
		})
	}
	wg.Go(func() {
		time.Sleep(time.Millisecond / 2)
		if got := say(t, s, request("r", "rm")); got != "-32602" {
			t.Errorf("other content meanwhile: %s", got)
		}
	})
	wg.Go(func() { // a waiter leaves when its own time is over
		time.Sleep(time.Millisecond / 2)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		if _, err := s.Local(ctx, []byte(request("r", "ls"))); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 100*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
	wg.Wait()
}

// failedFirst: an answer has one side effect, and a call that is canceled or fails
// is none: the next one tries again.
func failedFirst(t *testing.T) {
	var calls atomic.Int32
	s := newServer(t, func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
		n := calls.Add(1)
		if n == 2 {
			return nil, errors.New("broken")
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Second):
			return []ahp.Effect{&ahp.Deny{Reason: fmt.Sprint("call ", n)}}, nil
		}
	}, backend.Options{})
	var wg sync.WaitGroup
	results := make([]string, 4)
	for i := range results {
		wg.Go(func() {
			time.Sleep(time.Duration(i) * time.Millisecond)
			ctx := t.Context()
			if i == 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 10*time.Millisecond)
				defer cancel()
			}
			b, err := s.Local(ctx, []byte(request("r", "ls")))
			if err != nil {
				results[i] = "gone"
				return
			}
			results[i] = describe(t, b)
		})
	}
	wg.Wait()
	// The first is canceled, one of the others fails in its place, the rest get
	// the answer of the third call.
	count := map[string]int{}
	for _, r := range results {
		count[r]++
	}
	if results[0] != "gone" || count["-32004"] != 1 || count["call 3"] != 2 || calls.Load() != 3 {
		t.Errorf("%v with %d calls", results, calls.Load())
	}
}

func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		h := func(context.Context, *backend.Request) ([]ahp.Effect, error) { calls.Add(1); return nil, nil }
		again := func(s *backend.Server, id string) bool {
			t.Helper()
			n := calls.Load()
			if got := say(t, s, request(id, "ls")); got != "allow" {
				t.Fatalf("got %s", got)
			}
			return calls.Load() > n
		}
		s := newServer(t, h, backend.Options{MemoryEntries: 2, MemoryTTL: time.Minute})
		for _, id := range []string{"a", "b", "c"} {
			if !again(s, id) {
				t.Errorf("%s is new", id)
			}
		}
		if again(s, "b") || again(s, "c") || !again(s, "a") {
			t.Error("two entries are kept, the oldest answer goes first")
		}
		time.Sleep(59 * time.Second)
		if again(s, "a") {
			t.Error("forgotten before its time")
		}
		time.Sleep(time.Second)
		if !again(s, "a") {
			t.Error("kept beyond its time")
		}
		s = newServer(t, h, backend.Options{MemoryBytes: 2000})
		again(s, "a")
		if again(s, "a") {
			t.Error("one entry is within the bytes")
		}
		again(s, "b")
		again(s, "c")
		if !again(s, "a") {
			t.Error("kept beyond the bytes")
		}
	})
}

func TestTooManyAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newServer(t, func(context.Context, *backend.Request) ([]ahp.Effect, error) { <-release; return nil, nil },
			backend.Options{MaxConcurrent: 2, Timeout: time.Minute})
		var wg sync.WaitGroup
		for _, id := range []string{"a", "b"} {
			wg.Go(func() {
				if got := say(t, s, request(id, "ls")); got != "-32003" {
					t.Errorf("a handler that does not return: %s", got)
				}
			})
		}
		synctest.Wait()
		if got := say(t, s, request("c", "ls")); got != "-32003" {
			t.Errorf("one too many: %s", got)
		}
		wg.Wait() // the time is over, and the handlers still hold their places
		if got := say(t, s, request("d", "ls")); got != "-32003" {
			t.Errorf("beside handlers that do not return: %s", got)
		}
		close(release)
		synctest.Wait()
		if got := say(t, s, request("e", "ls")); got != "allow" {
			t.Errorf("afterwards: %s", got)
		}
	})
}

func TestShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observed := 0
		s := newServer(t, func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
			select {
			case <-time.After(time.Second):
				return decide(ctx, r)
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}, backend.Options{Observe: func(context.Context, *backend.Request) { observed++ }})
		var wg sync.WaitGroup
		wg.Go(func() {
			if got := say(t, s, request("a", "deny")); got != "Not on a Friday." {
				t.Errorf("under way: %s", got)
			}
		})
		synctest.Wait()
		wg.Go(func() {
			if err := s.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		if got := say(t, s, request("b", "ls")); got != "-32003" {
			t.Errorf("meanwhile: %s", got)
		}
		if got := say(t, s, observation("c", "ls")); got != "none" || observed != 0 {
			t.Errorf("an observation meanwhile: %s", got)
		}
		if got := say(t, s, "{"); got != "-32700" {
			t.Errorf("no JSON meanwhile: %s", got)
		}
		wg.Wait()
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func TestShutdownCancelsWhatTakesTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		s := newServer(t, func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
			<-ctx.Done()
			if r.Event.ID == "deaf" {
				<-release
			}
			return nil, ctx.Err()
		}, backend.Options{})
		var wg sync.WaitGroup
		for _, id := range []string{"a", "deaf"} {
			wg.Go(func() {
				if got := say(t, s, request(id, "ls")); got != "-32003" {
					t.Errorf("%s: %s", id, got)
				}
			})
		}
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		began := time.Now()
		if err := s.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 6*time.Second {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		wg.Wait()
		close(release)
	})
}

func TestObserve(t *testing.T) {
	var got []string
	s := newServer(t, decide, backend.Options{Observe: func(_ context.Context, r *backend.Request) {
		got = append(got, string(r.Event.Type)+" "+r.Event.ID)
		if r.Event.ID == "p" {
			panic("SECRET")
		}
	}})
	for _, id := range []string{"a", "a", "p"} {
		if a := say(t, s, observation(id, "ls")); a != "none" {
			t.Errorf("answered: %s", a)
		}
	}
	if a := say(t, s, request("a", "deny")); a != "Not on a Friday." { // the same event, asked about
		t.Errorf("got %s", a)
	}
	if want := "[tool.before a tool.before a tool.before p]"; fmt.Sprint(got) != want {
		t.Errorf("got %v, want %s", got, want)
	}
}
