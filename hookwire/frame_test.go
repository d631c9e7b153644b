package hookwire_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/holdpoint/holdpoint/hookwire"
)

func request() *hookwire.Request {
	return &hookwire.Request{
		Header: hookwire.Header{
			Version: hookwire.Version, Client: "1.2.3", Agent: hookwire.AgentClaudeCode, Event: "PreToolUse", BudgetMs: 3990,
			CWD: "/home/dev/re po\"\\\n\x7fé", Env: map[string]string{"CLAUDE_PROJECT_DIR": "/home/dev/repo"},
			ParentPID: 4711, ParentStart: 99,
		},
		Payload: []byte(`{"hook_event_name":"PreToolUse"}`),
	}
}

// raw builds a request from a header's text.
func raw(header, payload string) []byte {
	b := []byte("HPH1")
	for _, part := range []string{header, payload} {
		n := len(part)
		b = append(b, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
		b = append(b, part...)
	}
	return b
}

func TestRequestRoundTrip(t *testing.T) {
	want := request()
	b, err := hookwire.AppendRequest(nil, want)
	if err != nil {
		t.Fatal(err)
	}
	rest := strings.NewReader("rest")
	got, err := hookwire.ReadRequest(io.MultiReader(iotest.OneByteReader(bytes.NewReader(b)), rest), 0)
	if err != nil {
		t.Fatal(err)
	}
	equalHeader(t, got.Header, want.Header)
	if !bytes.Equal(got.Payload, want.Payload) {
		t.Errorf("payload %q, want %q", got.Payload, want.Payload)
	}
	if rest.Len() != 4 {
		t.Error("bytes behind the frame were read")
	}
}

func equalHeader(t *testing.T, got, want hookwire.Header) {
	t.Helper()
	gotEnv, wantEnv := got.Env["CLAUDE_PROJECT_DIR"], want.Env["CLAUDE_PROJECT_DIR"]
	if gotEnv != wantEnv || len(got.Env) != len(want.Env) {
		t.Errorf("env %v, want %v", got.Env, want.Env)
	}
	a, b := got, want
	a.Env, b.Env = nil, nil
	if a.Version != b.Version || a.Client != b.Client || a.Agent != b.Agent || a.Event != b.Event || a.CWD != b.CWD ||
		a.BudgetMs != b.BudgetMs || a.ParentPID != b.ParentPID || a.ParentStart != b.ParentStart || a.Cut != b.Cut {
		t.Errorf("header %+v, want %+v", a, b)
	}
}

func TestHeaderThatDoesNotFit(t *testing.T) {
	long := strings.Repeat("\n", 3000) // six bytes each in JSON
	tests := []struct {
		name    string
		edit    func(*hookwire.Header)
		wantCWD bool
		wantEnv bool
		wantErr bool
	}{
		{"fits", func(*hookwire.Header) {}, true, true, false},
		{"long cwd", func(h *hookwire.Header) { h.CWD = long }, false, true, false},
		{"long variable", func(h *hookwire.Header) { h.Env["CLAUDE_PROJECT_DIR"] = long }, false, false, false},
		{"long event", func(h *hookwire.Header) { h.Event = long }, false, false, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := request()
			tt.edit(&r.Header)
			b, err := hookwire.AppendRequest(nil, r)
			var large *hookwire.TooLargeError
			if tt.wantErr {
				if !errors.As(err, &large) || large.Part != "header" || len(b) != 0 {
					t.Fatalf("got %d bytes and %v, want a header that is too large", len(b), err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got, err := hookwire.ReadRequest(bytes.NewReader(b), 0)
			if err != nil {
				t.Fatal(err)
			}
			h := got.Header
			if (h.CWD != "") != tt.wantCWD || (h.Env != nil) != tt.wantEnv || h.Cut == (tt.wantCWD && tt.wantEnv) {
				t.Errorf("got %+v", h)
			}
			if h.Event != "PreToolUse" {
				t.Errorf("event %q is gone", h.Event)
			}
		})
	}
}

func TestHeaderLeavesOut(t *testing.T) {
	r := request()
	r.Header.CWD = "/bad\xff"
	r.Header.Env["SECRET"] = "hunter2"
	b, err := hookwire.AppendRequest(nil, r)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(b, []byte("hunter2")) {
		t.Error("a variable that is not on the list was sent")
	}
	got, err := hookwire.ReadRequest(bytes.NewReader(b), 0)
	if err != nil || got.Header.CWD != "" {
		t.Errorf("cwd %q, err %v", got.Header.CWD, err)
	}
	r.Header.Agent = hookwire.AgentCodex
	if b, _ = hookwire.AppendRequest(nil, r); bytes.Contains(b, []byte("CLAUDE")) {
		t.Error("another agent's variable was sent for codex")
	}
}

func TestReadRequest(t *testing.T) {
	const ok = `{"version":1,"agent":"codex"}`
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	tests := []struct {
		name string
		in   []byte
		want hookwire.Status // 0: accepted
	}{
		{"plain", raw(ok, "x"), 0},
		{"empty payload", raw(ok, ""), 0},
		{"one version older", raw(`{"version":0,"agent":"codex"}`, ""), 0},
		{"the form without a version", raw(`{"agent":"codex"}`, ""), 0},
		{"one version newer, with new members", raw(`{"version":2,"agent":"codex","new":{"a":[1,-2.5e3,true,null,"\ud83d\ude00"]},"n":0}`, ""), 0},
		{"two versions newer", raw(`{"version":3}`, ""), hookwire.StatusVersion},
		{"a newer layout", append([]byte("HPH2"), raw(ok, "")[4:]...), hookwire.StatusVersion},
		{"an older layout", append([]byte("HPH0"), raw(ok, "")[4:]...), hookwire.StatusVersion},
		{"another protocol", []byte("GET / HTTP/1.1\r\n\r\n"), hookwire.StatusMalformed},
		{"nothing", nil, hookwire.StatusMalformed},
		{"cut in the magic", []byte("HP"), hookwire.StatusMalformed},
		{"cut in the header", raw(ok, "x")[:20], hookwire.StatusMalformed},
		{"cut in the payload", raw(ok, "xyz")[:len(raw(ok, "xyz"))-1], hookwire.StatusMalformed},
		{"header above 4 KiB", raw(`{"cwd":"`+strings.Repeat("x", 4090)+`"}`, ""), hookwire.StatusMalformed},
		{"payload above the limit", raw(ok, strings.Repeat("x", 65)), hookwire.StatusTooLarge},
		{"payload of 4 GiB, announced only", append(raw(ok, "")[:8+len(ok)], 0xff, 0xff, 0xff, 0xff), hookwire.StatusTooLarge},
		{"payload at the limit", raw(ok, strings.Repeat("x", 64)), 0},
		{"not an object", raw(`[1]`, ""), hookwire.StatusMalformed},
		{"empty header", raw(``, ""), hookwire.StatusMalformed},
		{"trailing data", raw(ok+`{}`, ""), hookwire.StatusMalformed},
		{"trailing comma", raw(`{"agent":"codex",}`, ""), hookwire.StatusMalformed},
		{"duplicate member", raw(`{"agent":"codex","agent":"claude-code"}`, ""), hookwire.StatusMalformed},
		{"duplicate member, escaped", raw(`{"agent":"codex","\u0061gent":"claude-code"}`, ""), hookwire.StatusMalformed},
		{"duplicate unknown member", raw(`{"x":1,"x":2}`, ""), hookwire.StatusMalformed},
		{"null member", raw(`{"agent":null}`, ""), hookwire.StatusMalformed},
		{"negative budget", raw(`{"budgetMs":-1}`, ""), hookwire.StatusMalformed},
		{"fractional budget", raw(`{"budgetMs":1.5}`, ""), hookwire.StatusMalformed},
		{"leading zero", raw(`{"budgetMs":01}`, ""), hookwire.StatusMalformed},
		{"budget beyond 2^53", raw(`{"budgetMs":9007199254740993}`, ""), hookwire.StatusMalformed},
		{"process number beyond 2^31", raw(`{"parentPid":2147483648}`, ""), hookwire.StatusMalformed},
		{"invalid UTF-8", raw("{\"cwd\":\"\xff\"}", ""), hookwire.StatusMalformed},
		{"lone surrogate", raw(`{"cwd":"\ud800"}`, ""), hookwire.StatusMalformed},
		{"control character", raw("{\"cwd\":\"\n\"}", ""), hookwire.StatusMalformed},
		{"unknown escape", raw(`{"cwd":"\x41"}`, ""), hookwire.StatusMalformed},
		{"half an escape", raw(`{"cwd":"\`, ""), hookwire.StatusMalformed},
		{"too deep", raw(`{"x":`+deep+`}`, ""), hookwire.StatusMalformed},
		{"byte order mark", raw("\ufeff"+ok, ""), hookwire.StatusMalformed},
		{"boolean as text", raw(`{"cut":"true"}`, ""), hookwire.StatusMalformed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := hookwire.ReadRequest(bytes.NewReader(tt.in), 64)
			if tt.want == 0 {
				if err != nil || got == nil {
					t.Fatalf("got %v, want it accepted", err)
				}
				return
			}
			if err == nil {
				t.Fatalf("accepted as %+v, want status %d", got, tt.want)
			}
			if s := hookwire.StatusOf(err); s != tt.want {
				t.Errorf("status %d (%v), want %d", s, err, tt.want)
			}
		})
	}
}

func TestTooManyMembers(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"agent":"codex"`)
	for i := range 64 {
		b.WriteString(`,"x` + string(rune('0'+i/10)) + string(rune('0'+i%10)) + `":0`)
	}
	b.WriteString("}")
	if _, err := hookwire.ReadRequest(bytes.NewReader(raw(b.String(), "")), 0); !errors.Is(err, hookwire.ErrMalformed) {
		t.Errorf("got %v, want ErrMalformed", err)
	}
}

func TestReadErrorsPassThrough(t *testing.T) {
	broken := errors.New("broken")
	b := raw(`{}`, "xyz")
	for n := range b {
		r := io.MultiReader(bytes.NewReader(b[:n]), iotest.ErrReader(broken))
		if _, err := hookwire.ReadRequest(r, 0); !errors.Is(err, broken) {
			t.Fatalf("after %d bytes: got %v, want the reader's error", n, err)
		}
	}
	if hookwire.StatusOf(broken) != hookwire.StatusInternal {
		t.Error("another error must not be blamed on the client")
	}
}

func TestAnswerRoundTrip(t *testing.T) {
	want := &hookwire.Answer{Status: hookwire.StatusAnswer, ExitCode: 2, Stdout: []byte(`{"a":1}`), Stderr: bytes.Repeat([]byte("e"), hookwire.MaxStderrBytes)}
	b, err := hookwire.AppendAnswer([]byte("kept"), want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := hookwire.ReadAnswer(iotest.HalfReader(bytes.NewReader(b[4:])))
	if err != nil {
		t.Fatal(err)
	}
	if got.Status != want.Status || got.ExitCode != 2 || got.Server != hookwire.Version ||
		!bytes.Equal(got.Stdout, want.Stdout) || !bytes.Equal(got.Stderr, want.Stderr) {
		t.Errorf("got %+v", got)
	}
	for n := range len(b) - 4 {
		if n > 100 && n < len(b)-100 {
			continue
		}
		if a, err := hookwire.ReadAnswer(bytes.NewReader(b[4 : 4+n])); !errors.Is(err, hookwire.ErrMalformed) {
			t.Fatalf("cut at %d: got %v, %v", n, a, err)
		}
	}
}

func TestAnswerLimits(t *testing.T) {
	head := func(status, code byte, out, errs uint32) []byte {
		return []byte{
			'H', 'P', 'H', '1', status, code, 1, 0, byte(out >> 24), byte(out >> 16), byte(out >> 8), byte(out),
			byte(errs >> 24), byte(errs >> 16), byte(errs >> 8), byte(errs),
		}
	}
	tests := []struct {
		name string
		in   []byte
		want string // "large", "malformed", "version", "" for accepted
	}{
		{"stdout too large", head(1, 0, hookwire.MaxStdoutBytes+1, 0), "large"},
		{"stderr too large", head(1, 0, 0, hookwire.MaxStderrBytes+1), "large"},
		{"no status", head(0, 0, 0, 0), "malformed"},
		{"output with another status", append(head(3, 0, 1, 0), 'x'), "malformed"},
		{"exit code with another status", head(3, 2, 0, 0), "malformed"},
		{"unknown status", head(200, 0, 0, 0), ""},
		{"busy", head(3, 0, 0, 0), ""},
		{"newer layout", append([]byte("HPH2"), head(2, 0, 0, 0)[4:]...), "version"},
		{"garbage", bytes.Repeat([]byte("x"), 64), "malformed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := hookwire.ReadAnswer(bytes.NewReader(tt.in))
			var large *hookwire.TooLargeError
			var version *hookwire.VersionError
			got := ""
			switch {
			case errors.As(err, &large):
				got = "large"
			case errors.As(err, &version):
				got = "version"
			case errors.Is(err, hookwire.ErrMalformed):
				got = "malformed"
			case err != nil:
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	for _, a := range []hookwire.Answer{
		{},
		{Status: 99},
		{Status: hookwire.StatusBusy, ExitCode: 2},
		{Status: hookwire.StatusAnswer, Stderr: make([]byte, hookwire.MaxStderrBytes+1)},
		{Status: hookwire.StatusAnswer, Stdout: make([]byte, hookwire.MaxStdoutBytes+1)},
	} {
		if b, err := hookwire.AppendAnswer(nil, &a); err == nil || len(b) != 0 {
			t.Errorf("status %d, %d/%d bytes: was written", a.Status, len(a.Stdout), len(a.Stderr))
		}
	}
}

func TestEventName(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	tests := []struct {
		in, want string
	}{
		{`{"session_id":"x","hook_event_name":"Stop","tool_input":{"hook_event_name":"PreToolUse"}}`, "Stop"},
		{` { "hook\u005fevent_name" : "Pre\u0054oolUse" } `, "PreToolUse"},
		{`{"tool_input":{"hook_event_name":"Stop"}}`, ""},
		{`{"hook_event_name":"Stop","hook_event_name":"PreToolUse"}`, ""},
		{`{"hook_event_name":"Stop"} {}`, ""},
		{`{"hook_event_name":"Stop"`, ""},
		{`{"hook_event_name":null}`, ""},
		{`{"hook_event_name":""}`, ""},
		{`{"x":` + deep + `,"hook_event_name":"Stop"}`, ""},
		{`"hook_event_name"`, ""},
		{``, ""},
	}
	for _, tt := range tests {
		got, ok := hookwire.EventName([]byte(tt.in))
		if got != tt.want || ok != (tt.want != "") {
			t.Errorf("%.60s: got %q %v, want %q", tt.in, got, ok, tt.want)
		}
	}
}
