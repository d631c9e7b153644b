package hookwire_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/holdpoint/holdpoint/hookwire"
)

// FuzzReadRequest holds that what is accepted is written back to something that
// reads the same, and that no more memory comes of a frame than the frame is long.
func FuzzReadRequest(f *testing.F) {
	b, _ := hookwire.AppendRequest(nil, request())
	f.Add(b)
	f.Add(raw(`{"version":2,"new":[{"a":1e9}],"env":{"CLAUDE_PROJECT_DIR":"/x"},"agent":"claude-code","cut":true}`, "{}"))
	f.Add(raw(`{"cwd":"\ud83d\ude00\u007f"}`, ""))
	f.Add(append([]byte("HPH2"), b[4:]...))
	f.Fuzz(func(t *testing.T, in []byte) {
		r := bytes.NewReader(in)
		got, err := hookwire.ReadRequest(r, 1<<16)
		if err != nil {
			if s := hookwire.StatusOf(err); s == hookwire.StatusInternal || s == hookwire.StatusAnswer {
				t.Fatalf("status %d for %v", s, err)
			}
			return
		}
		used := len(in) - r.Len()
		header := in[8 : used-len(got.Payload)-4]
		if !json.Valid(header) {
			t.Fatalf("accepted a header that is no JSON: %q", header)
		}
		h := got.Header
		h.Version = hookwire.Version
		out, err := hookwire.AppendRequest(nil, &hookwire.Request{Header: h, Payload: got.Payload})
		if err != nil {
			return // escaped anew it may be too long
		}
		again, err := hookwire.ReadRequest(bytes.NewReader(out), 1<<16)
		if err != nil {
			t.Fatalf("own frame not read: %v", err)
		}
		if !again.Header.Cut || h.Cut {
			equalHeader(t, again.Header, h)
		}
		if !bytes.Equal(again.Payload, got.Payload) {
			t.Fatal("payload changed")
		}
	})
}

// FuzzHeader holds the hand-written encoder against encoding/json.
func FuzzHeader(f *testing.F) {
	f.Add("claude-code", "PreToolUse", "/home/dev", "/x\"\\\x00\x1f\x7f\u2028😀", int64(5))
	f.Add("codex", "\xff", "é", "", int64(-1))
	f.Fuzz(func(t *testing.T, agent, event, cwd, dir string, budget int64) {
		h := hookwire.Header{Agent: agent, Event: event, CWD: cwd, Env: map[string]string{"CLAUDE_PROJECT_DIR": dir}, BudgetMs: budget & (1<<53 - 1)}
		b, err := hookwire.AppendPrefix(nil, &h, 0)
		if err != nil {
			return
		}
		if len(b) > hookwire.PrefixBytes {
			t.Fatalf("prefix of %d bytes", len(b))
		}
		var m struct {
			Agent, Event, CWD string
			Env               map[string]string
		}
		if err := json.Unmarshal(b[8:len(b)-4], &m); err != nil {
			t.Fatalf("%v: %q", err, b)
		}
		got, err := hookwire.ReadRequest(bytes.NewReader(b), 0)
		if err != nil {
			t.Fatalf("%v: %q", err, b)
		}
		if got.Header.Agent != m.Agent || got.Header.Event != m.Event || got.Header.CWD != m.CWD || got.Header.Env["CLAUDE_PROJECT_DIR"] != m.Env["CLAUDE_PROJECT_DIR"] {
			t.Fatalf("read %+v, encoding/json reads %+v", got.Header, m)
		}
	})
}

// FuzzReadAnswer holds that an accepted answer keeps its limits and reads the
// same when written again.
func FuzzReadAnswer(f *testing.F) {
	b, _ := hookwire.AppendAnswer(nil, &hookwire.Answer{Status: hookwire.StatusAnswer, ExitCode: 2, Stdout: []byte("{}"), Stderr: []byte("no")})
	f.Add(b)
	f.Add(b[:10])
	f.Add([]byte("HPH2\x02\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, in []byte) {
		a, err := hookwire.ReadAnswer(bytes.NewReader(in))
		if err != nil {
			return
		}
		if a.Status != hookwire.StatusAnswer && (len(a.Stdout) > 0 || len(a.Stderr) > 0 || a.ExitCode != 0) {
			t.Fatalf("output with status %d", a.Status)
		}
		if !a.Status.Known() {
			return
		}
		out, err := hookwire.AppendAnswer(nil, a)
		if err != nil {
			t.Fatal(err)
		}
		out[6], out[7] = in[6], in[7] // the reader does not judge these two
		if !bytes.Equal(out, in[:len(out)]) {
			t.Fatalf("wrote %q, read %q", out, in)
		}
	})
}

// FuzzEventName holds the scanner against encoding/json: a name that it finds is
// the one that encoding/json finds.
func FuzzEventName(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}],"hook_event_name":"PreToolUse"}`))
	f.Add([]byte(`{"hook_event_name":"\ud83d\ude00"}`))
	f.Fuzz(func(t *testing.T, in []byte) {
		name, ok := hookwire.EventName(in)
		if !ok {
			return
		}
		var m map[string]any
		if err := json.Unmarshal(in, &m); err != nil {
			t.Fatalf("found %q in %q: %v", name, in, err)
		}
		if m["hook_event_name"] != name {
			t.Fatalf("found %q, encoding/json %q", name, m["hook_event_name"])
		}
	})
}

// FuzzSpoolLine holds that a line is always whole and readable, and that no line
// that is read changes when it is written again.
func FuzzSpoolLine(f *testing.F) {
	f.Add(string(hookwire.AppendSpoolLine(nil, &hookwire.Fallback{Agent: "codex"})), "a b")
	f.Fuzz(func(t *testing.T, in, value string) {
		line := hookwire.AppendSpoolLine(nil, &hookwire.Fallback{Agent: value, Event: value, Cause: hookwire.Cause(value), Policy: value})
		if len(line) != hookwire.SpoolLineBytes || bytes.Count(line, []byte("\n")) != 1 {
			t.Fatalf("line %q", line)
		}
		if _, err := hookwire.ParseSpoolLine(line); err != nil {
			t.Fatalf("own line %q not read", line)
		}
		if got, err := hookwire.ParseSpoolLine([]byte(in)); err == nil {
			again, err := hookwire.ParseSpoolLine(hookwire.AppendSpoolLine(nil, &got))
			if err != nil {
				t.Fatalf("%q was read, but not what it says", in)
			}
			_ = again
		}
	})
}
