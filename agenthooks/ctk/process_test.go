package ctk_test

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/agenthooks/ctk"
)

// TestProtocol runs every vector over the line protocol, both ends of it ours,
// with a real process between.
func TestProtocol(t *testing.T) {
	vs := append(public(t), ctk.Builtin()...)
	h := process(t, "reference")
	r := conform(t, h, vs)
	for _, v := range r.Results {
		want(t, &v, ctk.Pass)
	}
	if err := h.Close(); err != nil {
		t.Errorf("the host ends with %v", err)
	}
}

// TestPythonExample takes the program out of the document and runs it: it has
// to pass every public vector that it claims to.
func TestPythonExample(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "conform-host.md"))
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(doc)
	if m == nil {
		t.Fatal("the document has no program")
	}
	name := filepath.Join(t.TempDir(), "host.py")
	if err := os.WriteFile(name, m[1], 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := ctk.Process(ctk.ProcessOptions{Command: []string{python, name}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close() })
	r := conform(t, h, public(t))
	passed := 0
	for _, v := range r.Results {
		if v.Status == ctk.Fail {
			t.Errorf("%s: %q", v.ID, v.Failures)
		}
		if v.Status == ctk.Pass {
			passed++
		}
	}
	if passed < 25 {
		t.Errorf("only %d vectors pass", passed)
	}
	if err := h.Close(); err != nil {
		t.Errorf("the program ends with %v", err)
	}
}

// small is a vector that any host can be asked to run.
func small(t testing.TB) []*ctk.Vector {
	t.Helper()
	v, err := ctk.ParseVector("small.json", []byte(smallest))
	if err != nil {
		t.Fatal(err)
	}
	return []*ctk.Vector{v}
}

// TestHostileProcess: whatever a host process does, the vector fails with a
// message that says what, in bounded time and memory, and nothing stays behind.
func TestHostileProcess(t *testing.T) {
	const result = `{"type":"result","outcome":"completed","final_output":null,"tool_invocations":[],"identities":[],"records":[]}`
	ready := `{"type":"ready"}`
	tests := []struct{ name, how, want string }{
		{"says nothing at all", "silent", "did not declare itself: no answer in time"},
		{"hangs in setup", "hang", "setup: no answer in time"},
		{"ends at once", "exit", "did not declare itself: the host ended its output"},
		{"crashes", "crash", "setup: the host ended its output (exit status 3); stderr ends with: out of cheese"},
		{"writes no JSON", "garbage", "did not declare itself: a line is no message"},
		{"writes a line without an end", "endless", "a line is longer than"},
		{"calls without end", "flood", "run: more than"},
		{"calls with more than the kit will keep", "vast", "run: more than 67108864 bytes"},
		{"calls without end and reads nothing", "deaf", "run: no answer in time"},
		{"answers out of order", "{\"type\":\"done\"}", `setup: found a message of type "done", expected ready`},
		{"has no type", "{}", "found an object without type"},
		{"reports an error in setup", `{"type":"error","message":"no such\u001b[2J profile"}` + "\n" + `{"type":"done"}`, "setup: the host reports: no such [2J profile"},
		{"reports an error in run", ready + "\n" + `{"type":"error","message":"oops"}` + "\n" + `{"type":"done"}`, "run: the host reports: oops"},
		{"misspells a member", ready + "\n" + strings.Replace(result, `"records"`, `"recrods"`, 1), "/recrods: unknown member"},
		{"has another outcome", ready + "\n" + strings.Replace(result, `completed`, `fine`, 1), "/outcome: expected one of"},
		{"calls an interceptor that is not there", ready + "\n" + `{"type":"intercept","call":1,"interceptor":7,"context":{}}`, "interceptor 7 is not registered"},
		{"calls with a negative index", ready + "\n" + `{"type":"intercept","call":1,"interceptor":-1,"context":{}}`, "interceptor -1 is not registered"},
		{"calls a resolver that is not there", ready + "\n" + `{"type":"resolve","call":1,"request":{}}`, "no resolver is registered"},
		{"calls without a context", ready + "\n" + `{"type":"intercept","call":1,"interceptor":0}`, "context: found nothing"},
		{"fails in teardown", ready + "\n" + result + "\n" + `{"type":"error","message":"stuck"}`, "teardown: the host reports: stuck"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := process(t, tt.how)
			timeout := 5 * time.Minute // only a broken kit waits as long
			switch tt.how {
			case "silent":
				timeout = 300 * time.Millisecond
			case "hang", "deaf":
				timeout = 5 * time.Second
				// The start of the host takes a busy machine a while.
				if _, err := h.Declare(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			r, err := ctk.Conform(t.Context(), h, small(t), ctk.Options{Timeout: timeout})
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				got = r.Results[0].Detail
				want(t, &r.Results[0], ctk.Fail)
			}
			if !strings.Contains(got, tt.want) || strings.ContainsRune(got, '\x1b') {
				t.Errorf("found %q, want %q", got, tt.want)
			}
		})
	}
}

// TestNothingStays: a child of a host that has ended by itself goes with it.
func TestNothingStays(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no process groups")
	}
	h := process(t, "leaves")
	s, err := h.Declare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(s.ExposureBound)
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	for began := time.Now(); alive(t, pid); {
		if time.Since(began) > time.Minute {
			t.Error("the child lives on")
			if p, err := os.FindProcess(pid); err == nil {
				_ = p.Kill()
			}
			return
		}
	}
}

// alive reports whether a process runs. Nobody may have reaped it yet, so it may be
// there, but dead.
func alive(t *testing.T, pid int) bool {
	t.Helper()
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err == nil {
		state := stat[bytes.LastIndexByte(stat, ')')+2]
		return state != 'Z' && state != 'X'
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil {
		return false
	}
	out, err := exec.CommandContext(t.Context(), "ps", "-ax", "-o", "pid=,stat=").Output()
	if err != nil {
		t.Fatal(err)
	}
	state := regexp.MustCompile(`(?m)^ *` + strconv.Itoa(pid) + ` +(.)`).FindSubmatch(out)
	return state != nil && state[1][0] != 'Z'
}

// TestRecovery: a process that is lost costs its vector; the next vector gets a
// new process, but not for ever.
func TestRecovery(t *testing.T) {
	var vs []*ctk.Vector
	for range 6 {
		vs = append(vs, small(t)...)
	}
	r, err := ctk.Conform(t.Context(), process(t, "crash"), vs, ctk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	gaveUp := 0
	for _, v := range r.Results {
		want(t, &v, ctk.Fail)
		if strings.Contains(v.Detail, "not started again") {
			gaveUp++
		}
	}
	if gaveUp != 3 {
		t.Errorf("%d vectors were not tried, want 3", gaveUp)
	}
}

func TestProcessOptions(t *testing.T) {
	if _, err := ctk.Process(ctk.ProcessOptions{}); err == nil {
		t.Error("no command was taken")
	}
	h, err := ctk.Process(ctk.ProcessOptions{Command: []string{filepath.Join(t.TempDir(), "nosuch")}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ctk.Conform(t.Context(), h, small(t), ctk.Options{}); err == nil || !strings.Contains(err.Error(), "start the host") {
		t.Errorf("%v", err)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

// TestServeRefuses: a kit that breaks the protocol ends Serve with an error; a
// kit that asks for what is not there gets one and may go on.
func TestServeRefuses(t *testing.T) {
	setup := `{"type":"setup","vector":"x","mode":"enforce","composition":{"profile":"sequential/first_deny"},"identity_provider":null,"interceptors":0,"resolver":false,"redact_for_approval":[],"scenario":{"input":{"content":"x","role":"user"}}}`
	for _, tt := range []struct{ in, out, err string }{
		{"", "", ""},
		{"nonsense", "", "no message"},
		{`{"type":"dance"}`, "", `type "dance"`},
		{`{"type":"hello","protocol":9,"spec":"agent-hooks/0.1"}`, "protocol 9 is not spoken", ""},
		{`{"type":"run"}`, "", "expected setup first"},
		{`{"type":"setup"}`, `member \"vector\" is missing`, ""},
		{strings.Replace(setup, `"mode":"enforce"`, `"mode":"x"`, 1), "setup: /mode", ""},
		{strings.Replace(setup, `"interceptors":0`, `"interceptors":100`, 1), "setup: /interceptors", ""},
		{strings.Replace(setup, `"interceptors":0`, `"interceptors":-1`, 1), "setup: /interceptors", ""},
		{setup + "\n" + setup, "ready", "was not torn down"},
		{setup + "\n" + `{"type":"run"}` + "\n" + `{"type":"teardown"}`, `"outcome":"blocked"`, ""},
		{setup + "\n" + `{"type":"run"}` + "\n" + `{"type":"run"}`, `"outcome":"blocked"`, "expected setup first"},
		{strings.Replace(setup, `"interceptors":0`, `"interceptors":1`, 1) + "\n" + `{"type":"run"}` + "\n" + `{"type":"verdict","call":99,"verdict":{}}`, "intercept", "call 99 is not open"},
		{strings.Replace(setup, `"interceptors":0`, `"interceptors":1`, 1) + "\n" + `{"type":"run"}` + "\n" + `{"type":"verdict","call":1}`, "intercept", "neither an answer nor a fault"},
		{strings.Replace(setup, `"interceptors":0`, `"interceptors":1`, 1) + "\n" + `{"type":"run"}`, "intercept", "while a vector runs: EOF"},
	} {
		var out bytes.Buffer
		err := ctk.Serve(t.Context(), ctk.Reference(), strings.NewReader(tt.in), &out)
		if !strings.Contains(out.String(), tt.out) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s\n%s%v\nwant %q and %q", tt.in, out.String(), err, tt.out, tt.err)
		}
	}
}

// FuzzServe feeds the host's end whatever a kit may write.
func FuzzServe(f *testing.F) {
	f.Add([]byte(`{"type":"hello","protocol":1,"spec":"agent-hooks/0.1"}`))
	f.Add([]byte(`{"type":"setup","vector":"x","mode":"enforce","composition":{"profile":"sequential/first_deny"},"identity_provider":null,"interceptors":1,"resolver":false,"scenario":{"input":{"content":"x","role":"user"}}}` +
		"\n" + `{"type":"run"}` + "\n" + `{"type":"verdict","call":1,"verdict":{"decision":"deny"}}` + "\n" + `{"type":"verdict","call":2,"fault":"raise"}` + "\n" + `{"type":"teardown"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		_ = ctk.Serve(t.Context(), ctk.Reference(), bytes.NewReader(in), io.Discard)
	})
}

// FuzzHost feeds the kit's end whatever a host may write.
func FuzzHost(f *testing.F) {
	f.Add([]byte(`{"type":"surface","framework":"x","capabilities":[],"buffered_output":true}` + "\n" + `{"type":"ready"}` + "\n" +
		`{"type":"intercept","call":1,"interceptor":0,"context":{"interception_point":"input","sequence":1}}` + "\n" +
		`{"type":"result","outcome":"completed","final_output":1,"tool_invocations":[],"identities":[],"records":[{}],"persisted":[]}` + "\n" + `{"type":"done"}`))
	f.Add([]byte(`{"type":"error","message":"x"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		r, err := ctk.Conform(t.Context(), ctk.OverLines(bytes.NewReader(in), io.Discard), small(t), ctk.Options{})
		if err == nil && len(r.Results) != 1 {
			t.Errorf("%d results", len(r.Results))
		}
	})
}
