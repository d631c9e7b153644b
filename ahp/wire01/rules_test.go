package wire01_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
)

const (
	validEvent = `{"id":"e-1","source":"urn:uuid:c0ffee00-1111-4222-8333-444455556666","type":"tool.before","time":"2027-02-03T04:05:06Z",` +
		`"session":{"id":"s-88","cwd":"/srv/app","workspaceRoots":["/srv/app"],"model":"m","agent":{"id":"sub-2","type":"reviewer"}},` +
		`"tool":{"callId":"tc-1","name":"run_command","kind":"shell","input":{"cmd":"ls","n":1.50}}}`
	validRequest = `{"jsonrpc":"2.0","id":"e-1","method":"hooks/intercept","params":{"protocolVersion":"0.1","event":` + validEvent + `,"capabilities":{"effects":["deny"]}}}`
	validObserve = `{"jsonrpc":"2.0","method":"hooks/observe","params":{"protocolVersion":"0.1","event":` + validEvent + `}}`
	noEffects    = `{"jsonrpc":"2.0","id":"e-1","result":{"protocolVersion":"0.1","effects":[]}}`
	denied       = `{"jsonrpc":"2.0","id":"e-1","result":{"protocolVersion":"0.1","effects":[{"type":"deny","reason":"no"}]}}`
	validReg     = `{"protocolVersion":"0.1","hooks":[{"id":"net.acme.guard","transport":{"type":"http","url":"https://a.example/x"},` +
		`"authentication":{"type":"bearer","tokenEnv":"TOK"},"subscriptions":[` +
		`{"events":["tool.before"],"mode":"intercept","timeoutMs":400,"failurePolicy":"fail-closed"},{"events":["tool.after","tool.error"],"mode":"observe"}]}]}`
	stdioReg = `{"protocolVersion":"0.1","hooks":[{"id":"net.acme.guard","transport":{"type":"stdio","command":"g","lifecycle":"per_event"},` +
		`"subscriptions":[{"events":["tool.before"],"mode":"intercept","timeoutMs":400,"failurePolicy":"fail-open"}]}]}`
)

// edit replaces the first old in s, which must be there.
func edit(t testing.TB, s, old, new string) string {
	t.Helper()
	if !strings.Contains(s, old) {
		t.Fatalf("%q is not in %s", old, s)
	}
	return strings.Replace(s, old, new, 1)
}

func wantCode(t *testing.T, frame string, code ahp.ErrorCode, pointer string) *wire01.Error {
	t.Helper()
	_, err := wire01.DecodeRequest([]byte(frame), wire01.Limits{})
	if err == nil {
		t.Fatalf("accepted: %s", frame)
	}
	if err.Code != code || err.Pointer != pointer {
		t.Errorf("got %d at %q (%v), want %d at %q\n%s", err.Code, err.Pointer, err, code, pointer, frame)
	}
	return err
}

func wantRequest(t *testing.T, frame string) *wire01.Message {
	t.Helper()
	m, err := wire01.DecodeRequest([]byte(frame), wire01.Limits{})
	if err != nil {
		t.Fatalf("%v\n%s", err, frame)
	}
	return m
}

func wantClass(t *testing.T, frame string, class ahp.FailureClass, pointer string) *ahp.Failure {
	t.Helper()
	eff, f := wire01.DecodeResponse([]byte(frame), "e-1", ahp.DenyOnly(), wire01.Limits{})
	if f == nil {
		t.Fatalf("accepted: %s", frame)
	}
	if f.Class != class || f.Pointer != pointer || eff != nil {
		t.Errorf("got %s at %q (%v), want %s at %q\n%s", f.Class, f.Pointer, f, class, pointer, frame)
	}
	return f
}

func wantEffects(t *testing.T, frame string, n int) []ahp.Effect {
	t.Helper()
	eff, f := wire01.DecodeResponse([]byte(frame), "e-1", ahp.DenyOnly(), wire01.Limits{})
	if f != nil || len(eff) != n {
		t.Fatalf("got %v, %v; want %d effects\n%s", eff, f, n, frame)
	}
	return eff
}

func wantReg(t *testing.T, doc string) (*ahp.Registration, []wire01.Problem) {
	t.Helper()
	reg, warnings, err := wire01.ParseRegistration("r.json", []byte(doc), wire01.RegOptions{})
	if err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	return reg, warnings
}

// badReg parses a document that must be refused with exactly these pointers.
func badReg(t *testing.T, doc string, pointers ...string) string {
	t.Helper()
	_, _, err := wire01.ParseRegistration("r.json", []byte(doc), wire01.RegOptions{})
	if err == nil {
		t.Fatalf("accepted: %s", doc)
	}
	var got []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		var p wire01.Problem
		if !errors.As(e, &p) {
			t.Fatalf("%T: %v", e, e)
		}
		got = append(got, p.Pointer)
	}
	if strings.Join(got, " ") != strings.Join(pointers, " ") {
		t.Errorf("problems at %v, want %v\n%v", got, pointers, err)
	}
	return err.Error()
}

func TestRules(t *testing.T) {
	t.Run("V-ROLE-2", func(t *testing.T) {
		for _, s := range []string{"", "x", "{", "[]", "1", "null", `"a"`, "\x00", strings.Repeat("[", 20000), `{"jsonrpc":"2.0"}`} {
			if _, f := wire01.DecodeResponse([]byte(s), "e-1", ahp.DenyOnly(), wire01.Limits{}); f == nil || f.Class != ahp.FailMalformed {
				t.Errorf("%.20q: %v, want malformed", s, f)
			}
		}
	})
	t.Run("AHP-RPC-001", func(t *testing.T) {
		wantRequest(t, validRequest)
		wantCode(t, edit(t, validRequest, `"2.0"`, `"1.0"`), ahp.CodeInvalidRequest, "/jsonrpc")
		wantCode(t, edit(t, validRequest, `"2.0"`, `2.0`), ahp.CodeInvalidRequest, "/jsonrpc")
		wantCode(t, edit(t, validRequest, `"jsonrpc":"2.0",`, ``), ahp.CodeInvalidRequest, "/jsonrpc")
		wantCode(t, edit(t, validRequest, `ls`, "l\xff"), ahp.CodeParse, "/params/event/tool/input")
		wantClass(t, edit(t, denied, `no`, "\xfe\xff"), ahp.FailMalformed, "/result/effects/0/reason")
		wantClass(t, edit(t, denied, `no`, `\ud800`), ahp.FailMalformed, "/result/effects/0/reason")
	})
	t.Run("AHP-RPC-002", func(t *testing.T) {
		if m := wantRequest(t, validRequest); m.Kind != wire01.Request || m.Method != ahp.MethodIntercept {
			t.Errorf("%s %s", m.Kind, m.Method)
		}
		if m := wantRequest(t, validObserve); m.Kind != wire01.Notification || m.Method != ahp.MethodObserve {
			t.Errorf("%s %s", m.Kind, m.Method)
		}
		wantCode(t, edit(t, validObserve, `"method"`, `"id":"e-1","method"`), ahp.CodeMethodNotFound, "/method")
		if err := wantCode(t, edit(t, validRequest, `"id":"e-1",`, ``), ahp.CodeMethodNotFound, "/method"); !err.Notification {
			t.Error("an intercept without an id would be answered")
		}
	})
	t.Run("V-RPC-1", func(t *testing.T) {
		wantCode(t, "["+validRequest+"]", ahp.CodeInvalidRequest, "")
		wantCode(t, "[]", ahp.CodeInvalidRequest, "")
		wantClass(t, "["+noEffects+"]", ahp.FailMalformed, "")
	})
	t.Run("AHP-VER-001", func(t *testing.T) {
		wantCode(t, edit(t, validRequest, `"protocolVersion":"0.1",`, ``), ahp.CodeInvalidParams, "/params/protocolVersion")
		wantCode(t, edit(t, validRequest, `"0.1"`, `0.1`), ahp.CodeInvalidParams, "/params/protocolVersion")
		wantClass(t, edit(t, noEffects, `"0.1"`, `"0.2"`), ahp.FailUnsupported, "/result/protocolVersion")
		wantClass(t, edit(t, noEffects, `"protocolVersion":"0.1",`, ``), ahp.FailMissingField, "/result/protocolVersion")
		wantClass(t, edit(t, noEffects, `"0.1"`, `null`), ahp.FailMalformed, "/result/protocolVersion")
		b, err := wire01.AppendError(nil, ahp.Raw(`"e-1"`), ahp.CodeInternal, "m", nil)
		if err != nil || bytes.Contains(b, []byte("protocolVersion")) {
			t.Errorf("%s, %v", b, err)
		}
	})
	t.Run("V-VER-1", func(t *testing.T) {
		wantCode(t, edit(t, validRequest, `"0.1"`, `"9.9"`), ahp.CodeUnsupportedVersion, "/params/protocolVersion")
	})
	t.Run("AHP-CORE-003", func(t *testing.T) {
		with := func(s string) string { return strings.ReplaceAll(s, "{", `{"x":1.00,`) }
		m := wantRequest(t, with(validRequest))
		if v, ok := m.Event.Tool.Unknown.Lookup("x"); !ok || string(v) != "1.00" {
			t.Errorf("tool keeps %s", v)
		}
		wantEffects(t, strings.ReplaceAll(noEffects, "{", `{"x":1,`), 0)
		wantEffects(t, strings.ReplaceAll(denied, "{", `{"x":1,`), 1)
		if _, w := wantReg(t, strings.ReplaceAll(validReg, "{", `{"x":1,`)); len(w) != 6 {
			t.Errorf("%d warnings, want 6: %v", len(w), w)
		}
	})
	t.Run("V-UNK-1", func(t *testing.T) {
		wantCode(t, edit(t, validRequest, "tool.before", "tool.never"), ahp.CodeUnsupportedEvent, "/params/event/type")
		wantCode(t, edit(t, validRequest, `"kind":"shell"`, `"kind":"shelly"`), ahp.CodeInvalidParams, "/params/event/tool/kind")
		wantClass(t, edit(t, denied, `"deny"`, `"ask"`), ahp.FailInvalidEffect, "/result/effects/0/type")
		end := edit(t, edit(t, validObserve, "tool.before", "session.end"), `,"tool":{"callId":"tc-1","name":"run_command","kind":"shell","input":{"cmd":"ls","n":1.50}}`, `,"outcome":"lost"`)
		wantCode(t, end, ahp.CodeInvalidParams, "/params/event/outcome")
		if m := wantRequest(t, edit(t, end, "lost", "cancelled")); m.Event.Outcome != ahp.OutcomeCancelled {
			t.Errorf("outcome %q", m.Event.Outcome)
		}
	})
	t.Run("V-JSON-1", func(t *testing.T) {
		wantCode(t, edit(t, validRequest, `{"cmd":"ls","n":1.50}`, `"{}"`), ahp.CodeInvalidParams, "/params/event/tool/input")
		wantCode(t, edit(t, validRequest, `"capabilities":{"effects":["deny"]}`, `"capabilities":"{}"`), ahp.CodeInvalidParams, "/params/capabilities")
	})
	t.Run("V-ENV-1", func(t *testing.T) {
		wantCode(t, edit(t, validRequest, `"id":"e-1","method"`, `"id":"e-2","method"`), ahp.CodeInvalidParams, "/id")
		err := wantCode(t, edit(t, validRequest, `"id":"e-1","method"`, `"id":17,"method"`), ahp.CodeInvalidParams, "/id")
		if string(err.ID) != "17" {
			t.Errorf("answers to %s", err.ID)
		}
		ev := wantRequest(t, validRequest).Event
		b, e := wire01.AppendIntercept(nil, ev, ahp.DenyOnly(), nil)
		if e != nil || string(b) != validRequest {
			t.Errorf("%v\n%s\n%s", e, b, validRequest)
		}
	})
	t.Run("V-ENV-2", func(t *testing.T) {
		for _, id := range []string{`"e-2"`, `17`, `null`, `"E-1"`} {
			wantClass(t, edit(t, noEffects, `"e-1"`, id), ahp.FailIDMismatch, "/id")
		}
		wantEffects(t, edit(t, noEffects, `"e-1"`, `"\u0065-1"`), 0)
	})
	t.Run("V-ENV-3", func(t *testing.T) {
		wantClass(t, edit(t, noEffects, `"result"`, `"error":{"code":1,"message":"m"},"result"`), ahp.FailMalformed, "/error")
		wantClass(t, `{"jsonrpc":"2.0","id":"e-1"}`, ahp.FailMalformed, "/result")
		wantClass(t, edit(t, noEffects, `"id"`, `"method":"x","id"`), ahp.FailMalformed, "/method")
	})
	t.Run("V-ENV-4", func(t *testing.T) {
		b, err := wire01.AppendObserve(nil, wantRequest(t, validObserve).Event)
		if err != nil || bytes.Contains(b[:30], []byte(`"id"`)) || string(b) != validObserve {
			t.Errorf("%v\n%s", err, b)
		}
		for _, bad := range []string{edit(t, validObserve, "0.1", "7"), edit(t, validObserve, "hooks/observe", "x/y"), edit(t, validObserve, `"callId":"tc-1",`, "")} {
			if _, err := wire01.DecodeRequest([]byte(bad), wire01.Limits{}); err == nil || !err.Notification || err.ID != nil {
				t.Errorf("would be answered: %+v", err)
			}
		}
	})
	t.Run("V-TOOL-3", func(t *testing.T) {
		for _, v := range []string{`"x"`, `[]`, `null`, `1`, `true`} {
			wantCode(t, edit(t, validRequest, `{"cmd":"ls","n":1.50}`, v), ahp.CodeInvalidParams, "/params/event/tool/input")
		}
	})
	t.Run("AHP-TB-001", func(t *testing.T) {
		for _, m := range []struct{ cut, pointer string }{
			{`"id":"e-1","source"`, "/params/event/id"},
			{`"source":"urn:uuid:c0ffee00-1111-4222-8333-444455556666",`, "/params/event/source"},
			{`"type":"tool.before",`, "/params/event/type"},
			{`"time":"2027-02-03T04:05:06Z",`, "/params/event/time"},
			{`"callId":"tc-1",`, "/params/event/tool/callId"},
			{`"name":"run_command",`, "/params/event/tool/name"},
			{`"kind":"shell",`, "/params/event/tool/kind"},
			{`"id":"s-88",`, "/params/event/session/id"},
			{`,"input":{"cmd":"ls","n":1.50}`, "/params/event/tool/input"},
			{`,"tool":{"callId":"tc-1","name":"run_command","kind":"shell","input":{"cmd":"ls","n":1.50}}`, "/params/event/tool"},
		} {
			new := ""
			if strings.HasSuffix(m.cut, `"source"`) {
				new = `"source"`
			}
			if err := wantCode(t, edit(t, validRequest, m.cut, new), ahp.CodeInvalidParams, m.pointer); err.Class != ahp.FailMissingField {
				t.Errorf("%s: class %s", m.pointer, err.Class)
			}
		}
		for _, kind := range []string{"shell", "file_read", "file_write", "file_edit", "search", "fetch", "task", "mcp", "other"} {
			wantRequest(t, edit(t, validRequest, `"shell"`, `"`+kind+`"`))
		}
		wantCode(t, edit(t, validRequest, `"input"`, `"output":1,"input"`), ahp.CodeInvalidParams, "/params/event/tool/output")
		wantCode(t, edit(t, validRequest, `"input"`, `"error":{"message":1},"input"`), ahp.CodeInvalidParams, "/params/event/tool/error")
	})
	t.Run("V-LIFE-7", func(t *testing.T) {
		for _, e := range []string{"tool.after", "tool.error", "session.start", "session.end"} {
			wantCode(t, edit(t, validRequest, "tool.before", e), ahp.CodeUnsupportedEvent, "/params/event/type")
		}
	})
	t.Run("V-NAT-2", func(t *testing.T) {
		native := edit(t, validRequest, `"tool":{`, `"native":{"provider":"p","eventName":"e","payload":{"a":[1]}},"tool":{`)
		m := wantRequest(t, native)
		if string(m.Event.Native.Payload) != `{"a":[1]}` {
			t.Errorf("payload %s", m.Event.Native.Payload)
		}
		for _, cut := range []string{`"provider":"p",`, `"eventName":"e",`, `,"payload":{"a":[1]}`} {
			wantCode(t, edit(t, native, cut, ""), ahp.CodeInvalidParams, "/params/event/native/"+strings.Split(cut, `"`)[1])
		}
	})
	t.Run("AHP-EXT-001", func(t *testing.T) {
		with := func(k string) string {
			return edit(t, validRequest, `"tool":{`, `"extensions":{"`+k+`":null},"tool":{`)
		}
		wantRequest(t, with("com.foo"))
		wantCode(t, with("foo"), ahp.CodeInvalidParams, "/params/event/extensions")
		wantCode(t, edit(t, validRequest, `"capabilities"`, `"extensions":{"a":1},"capabilities"`), ahp.CodeInvalidParams, "/params/extensions")
		wantClass(t, edit(t, noEffects, `"effects"`, `"extensions":{"a":1},"effects"`), ahp.FailMalformed, "/result/extensions")
		wantClass(t, edit(t, denied, `"reason"`, `"extensions":{"a":1},"reason"`), ahp.FailInvalidEffect, "/result/effects/0/extensions")
	})
	t.Run("V-EXT-1", func(t *testing.T) {
		for _, x := range []string{`{}`, `{"com.foo":{"a":1.0,"b":"\u0041\/"},"org.w3c.trace_context":{"traceparent":"00"}}`} {
			in := edit(t, validRequest, `"n":1.50}}}`, `"n":1.50}},"extensions":`+x+`}`)
			b, err := wire01.AppendIntercept(nil, wantRequest(t, in).Event, ahp.DenyOnly(), nil)
			if err != nil || string(b) != in {
				t.Errorf("%v\n%s\n%s", err, b, in)
			}
		}
	})
	t.Run("AHP-CAP-001", func(t *testing.T) {
		wantCode(t, edit(t, validRequest, `["deny"]`, `[]`), ahp.CodeInvalidParams, "/params/capabilities/effects")
		wantCode(t, edit(t, validRequest, `["deny"]`, `["com.x.y"]`), ahp.CodeInvalidParams, "/params/capabilities/effects")
		_, f := wire01.DecodeResponse([]byte(denied), "e-1", ahp.Capabilities{}, wire01.Limits{})
		if f == nil || f.Class != ahp.FailInvalidEffect {
			t.Errorf("a deny that was not offered: %v", f)
		}
	})
	t.Run("V-CAP-1", func(t *testing.T) {
		wantCode(t, edit(t, validRequest, `"effects":["deny"]`, ``), ahp.CodeInvalidParams, "/params/capabilities/effects")
		wantCode(t, edit(t, validRequest, `,"capabilities":{"effects":["deny"]}`, ``), ahp.CodeInvalidParams, "/params/capabilities")
		if _, err := wire01.AppendIntercept(nil, wantRequest(t, validRequest).Event, ahp.Capabilities{}, nil); err == nil {
			t.Error("an intercept without deny was written")
		}
	})
	t.Run("V-CAP-2", func(t *testing.T) {
		wantClass(t, edit(t, denied, `"deny"`, `"com.x.ask"`), ahp.FailInvalidEffect, "/result/effects/0/type")
	})
	t.Run("V-CAP-4", func(t *testing.T) {
		m := wantRequest(t, edit(t, validRequest, `["deny"]`, `["com.x.ask","deny"]`))
		if !m.Capabilities.Allows("com.x.ask") || !m.Capabilities.Allows(ahp.EffectDeny) {
			t.Errorf("%v", m.Capabilities.Effects)
		}
		for _, bad := range []string{`["deny","ask"]`, `["deny","deny"]`, `["deny","a.b","a.b"]`, `["deny",1]`, `"deny"`, `null`} {
			if _, err := wire01.DecodeRequest([]byte(edit(t, validRequest, `["deny"]`, bad)), wire01.Limits{}); err == nil || err.Code != ahp.CodeInvalidParams {
				t.Errorf("%s: %v", bad, err)
			}
		}
	})
	t.Run("AHP-DEC-001", func(t *testing.T) {
		wantEffects(t, noEffects, 0)
		d := wantEffects(t, edit(t, denied, `"reason"`, `"code":"net.acme.x","reason"`), 1)[0].(*ahp.Deny)
		if d.Reason != "no" || d.Code != "net.acme.x" {
			t.Errorf("%+v", d)
		}
		wantClass(t, edit(t, denied, `"no"}`, `"no"},{"type":"deny","reason":"no"}`), ahp.FailInvalidEffect, "/result/effects/1")
		wantClass(t, edit(t, noEffects, `[]`, `{}`), ahp.FailInvalidEffect, "/result/effects")
		wantClass(t, edit(t, noEffects, `[]`, `null`), ahp.FailInvalidEffect, "/result/effects")
		wantClass(t, edit(t, noEffects, `,"effects":[]`, ``), ahp.FailMissingField, "/result/effects")
		wantClass(t, edit(t, noEffects, `[]`, `[null]`), ahp.FailInvalidEffect, "/result/effects/0")
		if _, err := wire01.AppendResult(nil, ahp.Raw(`"e"`), []ahp.Effect{&ahp.Deny{Reason: "a"}, &ahp.Deny{Reason: "b"}}, nil); err == nil {
			t.Error("two denials were written")
		}
		if _, err := wire01.AppendResult(nil, ahp.Raw(`"e"`), []ahp.Effect{&ahp.Deny{}}, nil); err == nil {
			t.Error("a denial without a reason was written")
		}
		if _, err := wire01.AppendResult(nil, ahp.Raw(`"e"`), []ahp.Effect{(*ahp.Deny)(nil)}, nil); err == nil {
			t.Error("a nil denial was written")
		}
	})
	t.Run("V-DEC-2", func(t *testing.T) {
		for _, e := range []string{`{"type":"allow"}`, `{"type":"allow","reason":"yes"}`, `{"type":null}`, `{}`} {
			f := wantClass(t, edit(t, noEffects, `[]`, `[`+e+`]`), ahp.FailInvalidEffect, "/result/effects/0/type")
			if !f.Class.PolicyApplies() {
				t.Error("not an operational failure")
			}
		}
	})
	fc := []struct {
		id      string
		frame   string
		class   ahp.FailureClass
		pointer string
	}{
		{"V-FC-5", "\xff\xfe", ahp.FailMalformed, ""},
		{"V-FC-5", noEffects[:20], ahp.FailMalformed, ""},
		{"V-FC-5", edit(t, noEffects, "2.0", "1.0"), ahp.FailMalformed, "/jsonrpc"},
		{"V-FC-5", "ready\n" + noEffects, ahp.FailMalformed, ""},
		{"V-FC-5", noEffects + noEffects, ahp.FailMalformed, ""},
		{"V-FC-6", edit(t, noEffects, "e-1", "e-9"), ahp.FailIDMismatch, "/id"},
		{"V-FC-7", `{"jsonrpc":"2.0","id":"e-1","error":{"code":-32004,"message":"m"}}`, ahp.FailRPCError, "/error"},
		{"V-FC-7", `{"jsonrpc":"2.0","id":"e-1","error":{"code":7,"message":"","data":[]}}`, ahp.FailRPCError, "/error"},
		{"V-FC-8", `{"jsonrpc":"2.0","id":"e-1","error":{"code":-32001,"message":"m"}}`, ahp.FailUnsupported, "/error"},
		{"V-FC-8", `{"jsonrpc":"2.0","id":"e-1","error":{"code":-32002,"message":"m"}}`, ahp.FailUnsupported, "/error"},
		{"V-FC-8", edit(t, noEffects, `"0.1"`, `"draft"`), ahp.FailUnsupported, "/result/protocolVersion"},
		{"V-FC-9", edit(t, noEffects, `,"effects":[]`, ``), ahp.FailMissingField, "/result/effects"},
		{"V-FC-9", edit(t, noEffects, `"protocolVersion":"0.1",`, ``), ahp.FailMissingField, "/result/protocolVersion"},
		{"V-FC-10", edit(t, denied, `"deny"`, `"ask"`), ahp.FailInvalidEffect, "/result/effects/0/type"},
		{"V-FC-10", edit(t, denied, `,"reason":"no"`, ``), ahp.FailInvalidEffect, "/result/effects/0/reason"},
		{"V-FC-10", edit(t, denied, `"no"`, `""`), ahp.FailInvalidEffect, "/result/effects/0/reason"},
		{"V-FC-10", edit(t, denied, `"no"`, `"no","code":"nope"`), ahp.FailInvalidEffect, "/result/effects/0/code"},
		{"V-ERR-1", `{"jsonrpc":"2.0","id":"e-1","error":{"code":-32601,"message":"m"}}`, ahp.FailRPCError, "/error"},
		{"V-ERR-1", `{"jsonrpc":"2.0","id":"e-1","error":{"code":1e99,"message":"m"}}`, ahp.FailRPCError, "/error"},
		{"V-ERR-1", `{"jsonrpc":"2.0","id":"e-1","error":{"code":1.5,"message":"m"}}`, ahp.FailMalformed, "/error/code"},
		{"V-ERR-1", `{"jsonrpc":"2.0","id":"e-1","error":{"code":1}}`, ahp.FailMalformed, "/error/message"},
		{"V-ERR-1", `{"jsonrpc":"2.0","id":"e-1","error":null}`, ahp.FailMalformed, "/error"},
	}
	for i, c := range fc {
		if i > 0 && fc[i-1].id == c.id {
			continue
		}
		t.Run(c.id, func(t *testing.T) {
			for _, c2 := range fc {
				if c2.id == c.id {
					wantClass(t, c2.frame, c2.class, c2.pointer)
				}
			}
		})
	}
	t.Run("V-ERR-3", func(t *testing.T) {
		wantCode(t, edit(t, validRequest, "hooks/intercept", "hooks/other"), ahp.CodeMethodNotFound, "/method")
		wantCode(t, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, ahp.CodeMethodNotFound, "/method")
		wantCode(t, `{"jsonrpc":"2.0","id":1}`, ahp.CodeInvalidRequest, "/method")
		wantCode(t, noEffects, ahp.CodeInvalidRequest, "/method")
	})
	t.Run("V-ERR-4", func(t *testing.T) {
		// One fault of each stage, taken away one by one.
		f := `{"jsonrpc":"1.0","id":"x","method":"nope","params":{"protocolVersion":"9","event":{"id":"y","type":"session.end","session":5}}}`
		wantCode(t, f+"}", ahp.CodeParse, "")
		wantCode(t, f, ahp.CodeInvalidRequest, "/jsonrpc")
		f = edit(t, f, "1.0", "2.0")
		wantCode(t, f, ahp.CodeMethodNotFound, "/method")
		f = edit(t, f, "nope", "hooks/intercept")
		wantCode(t, f, ahp.CodeUnsupportedVersion, "/params/protocolVersion")
		f = edit(t, f, `"9"`, `"0.1"`)
		wantCode(t, f, ahp.CodeUnsupportedEvent, "/params/event/type")
		f = edit(t, f, "session.end", "tool.before")
		wantCode(t, f, ahp.CodeInvalidParams, "/params/event/session")
		// The order of members changes nothing.
		wantRequest(t, `{"params":{"event":`+validEvent+`,"capabilities":{"effects":["deny"]},"protocolVersion":"0.1"},"method":"hooks/intercept","id":"e-1","jsonrpc":"2.0"}`)
		wantCode(t, `{"params":{"event":5,"protocolVersion":"0.1"},"method":"nope","id":"e-1","jsonrpc":"2.0"}`, ahp.CodeMethodNotFound, "/method")
		for params, code := range map[string]ahp.ErrorCode{`[]`: ahp.CodeInvalidParams, `{}`: ahp.CodeInvalidParams, `null`: ahp.CodeInvalidRequest, `"x"`: ahp.CodeInvalidRequest} {
			if _, err := wire01.DecodeRequest([]byte(`{"jsonrpc":"2.0","id":1,"method":"hooks/intercept","params":`+params+`}`), wire01.Limits{}); err.Code != code {
				t.Errorf("params %s: %d, want %d", params, err.Code, code)
			}
		}
	})
	t.Run("V-IO-1", func(t *testing.T) {
		pretty := strings.ReplaceAll(validRequest, ",", ",\n")
		wantRequest(t, pretty)
		_, err := wire01.DecodeRequest([]byte(pretty), wire01.Limits{SingleLine: true})
		if err == nil || err.Code != ahp.CodeParse {
			t.Errorf("%v", err)
		}
		b, e := wire01.AppendIntercept(nil, wantRequest(t, strings.ReplaceAll(validRequest, `{"cmd"`, "{\r\n\"x\": 1 ,\n\"cmd\"")).Event, ahp.DenyOnly(), nil)
		if e != nil || bytes.ContainsAny(b, "\r\n") {
			t.Errorf("%v %q", e, b)
		}
		if _, err := wire01.DecodeRequest([]byte(validRequest+"\r\n"), wire01.Limits{SingleLine: true}); err != nil {
			t.Errorf("a terminated line: %v", err)
		}
	})
	t.Run("V-TLS-1", func(t *testing.T) {
		badReg(t, edit(t, validReg, "https://a.example/x", "http://a.example/x"), "/hooks/0/transport/url")
		badReg(t, edit(t, validReg, "https://a.example/x", "http://127.0.0.1.example/x"), "/hooks/0/transport/url")
		badReg(t, edit(t, validReg, "https://a.example/x", "http://10.0.0.1/x"), "/hooks/0/transport/url")
	})
	t.Run("V-TLS-2", func(t *testing.T) {
		for _, u := range []string{"http://127.0.0.1", "http://127.9.9.9:80/a", "http://[::1]:9/", "http://localhost:1/x", "https://x:65535/"} {
			wantReg(t, edit(t, validReg, "https://a.example/x", u))
		}
		doc := edit(t, validReg, "https://", "http://")
		if _, _, err := wire01.ParseRegistration("r", []byte(doc), wire01.RegOptions{AllowPlainHTTP: true}); err != nil {
			t.Error(err)
		}
	})
	t.Run("V-AUTH-2", func(t *testing.T) {
		doc := edit(t, validReg, `"type":"bearer"`, `"type":"bearer","token":"s3cr3t-value"`)
		if msg := badReg(t, doc, "/hooks/0/authentication/token"); strings.Contains(msg, "s3cr3t") {
			t.Errorf("quoted: %s", msg)
		}
		doc = edit(t, validReg, "https://a", "https://me:s3cr3t@a")
		if msg := badReg(t, doc, "/hooks/0/transport/url"); strings.Contains(msg, "s3cr3t") {
			t.Errorf("quoted: %s", msg)
		}
		if msg := badReg(t, edit(t, validReg, `"TOK"`, `"s3cr3t-tok"`), "/hooks/0/authentication/tokenEnv"); strings.Contains(msg, "s3cr3t") {
			t.Errorf("quoted: %s", msg)
		}
	})
	t.Run("AHP-FAIL-001", func(t *testing.T) {
		badReg(t, edit(t, validReg, `,"failurePolicy":"fail-closed"`, ``), "/hooks/0/subscriptions/0/failurePolicy")
		badReg(t, edit(t, validReg, `fail-closed`, `fail-shut`), "/hooks/0/subscriptions/0/failurePolicy")
	})
	t.Run("V-FAIL-1", func(t *testing.T) {
		reg, _ := wantReg(t, validReg)
		if p := reg.Hooks[0].Subscriptions[0].FailurePolicy; p != ahp.FailClosed {
			t.Errorf("policy %q", p)
		}
		if p := reg.Hooks[0].Subscriptions[1].FailurePolicy; p != "" {
			t.Errorf("an observer has the policy %q", p)
		}
	})
	t.Run("V-FAIL-2", func(t *testing.T) {
		badReg(t, edit(t, validReg, `"mode":"observe"`, `"mode":"observe","failurePolicy":"fail-open","timeoutMs":5`),
			"/hooks/0/subscriptions/1/failurePolicy", "/hooks/0/subscriptions/1/timeoutMs")
	})
	t.Run("V-DL-1", func(t *testing.T) {
		for _, v := range []string{"0", "-1", "1.5", "null", `"400"`, "1e-1", "1e400", "-1e400", "9223372036854775807", "99999999999999999999"} {
			badReg(t, edit(t, validReg, `400`, v), "/hooks/0/subscriptions/0/timeoutMs")
		}
		badReg(t, edit(t, validReg, `"timeoutMs":400,`, ``), "/hooks/0/subscriptions/0/timeoutMs")
	})
	t.Run("V-DL-3", func(t *testing.T) {
		for v, want := range map[string]time.Duration{"100": 100 * time.Millisecond, "30000": 30 * time.Second, "1": time.Millisecond, "4.0e2": 400 * time.Millisecond} {
			reg, w := wantReg(t, edit(t, validReg, `400`, v))
			if got := reg.Hooks[0].Subscriptions[0].Timeout; got != want || len(w) > 0 {
				t.Errorf("%s: %v, %v", v, got, w)
			}
		}
	})
	t.Run("AHP-REG-001", func(t *testing.T) {
		badReg(t, edit(t, validReg, `"protocolVersion":"0.1",`, ``), "/protocolVersion")
		badReg(t, edit(t, validReg, `"0.1"`, `"draft"`), "/protocolVersion")
		badReg(t, `{"protocolVersion":"0.1","hooks":[]}`, "/hooks")
		badReg(t, `{"protocolVersion":"0.1"}`, "/hooks")
		badReg(t, `{"protocolVersion":"0.1","hooks":{}}`, "/hooks")
		badReg(t, `[]`, "")
	})
	t.Run("V-REG-1", func(t *testing.T) {
		for _, c := range []struct{ old, new, pointer string }{
			{`"net.acme.guard"`, `"guard"`, "/hooks/0/id"},
			{`"id":"net.acme.guard",`, ``, "/hooks/0/id"},
			{`"type":"stdio"`, `"type":"pipe"`, "/hooks/0/transport/type"},
			{`"type":"stdio",`, ``, "/hooks/0/transport/type"},
			{`"command":"g"`, `"command":""`, "/hooks/0/transport/command"},
			{`"command":"g",`, ``, "/hooks/0/transport/command"},
			{`"command":"g"`, `"command":["g"]`, "/hooks/0/transport/command"},
			{`"command":"g"`, `"command":"g","args":"-x"`, "/hooks/0/transport/args"},
			{`"command":"g"`, `"command":"g","args":[1]`, "/hooks/0/transport/args/0"},
			{`"command":"g"`, `"command":"g","cwd":1`, "/hooks/0/transport/cwd"},
			{`per_event`, `forever`, "/hooks/0/transport/lifecycle"},
			{`,"lifecycle":"per_event"`, ``, "/hooks/0/transport/lifecycle"},
			{`"subscriptions"`, `"authentication":{"type":"bearer","tokenEnv":"T"},"subscriptions"`, "/hooks/0/authentication"},
			{`["tool.before"]`, `[]`, "/hooks/0/subscriptions/0/events"},
			{`["tool.before"]`, `"tool.before"`, "/hooks/0/subscriptions/0/events"},
			{`"events":["tool.before"],`, ``, "/hooks/0/subscriptions/0/events"},
			{`["tool.before"]`, `["tool.before","tool.before"]`, "/hooks/0/subscriptions/0/events/1"},
			{`["tool.before"]`, `["tool.after"]`, "/hooks/0/subscriptions/0/events/0"},
			{`"intercept"`, `"block"`, "/hooks/0/subscriptions/0/mode"},
			{`"mode":"intercept",`, ``, "/hooks/0/subscriptions/0/mode"},
			{`"mode"`, `"includeNative":"yes","mode"`, "/hooks/0/subscriptions/0/includeNative"},
		} {
			badReg(t, edit(t, stdioReg, c.old, c.new), c.pointer)
		}
		for _, u := range []string{"ftp://a/b", "https:", "https://", "//a/b", "a/b", "https://a:0/", "https://a:99999/", "https://a/ b", "", "HTTPS://a/"} {
			badReg(t, edit(t, validReg, "https://a.example/x", u), "/hooks/0/transport/url")
		}
		// All at once, each by name.
		all := edit(t, edit(t, edit(t, stdioReg, `"net.acme.guard"`, `"guard"`), "per_event", "x"), "400", "0")
		badReg(t, all, "/hooks/0/id", "/hooks/0/transport/lifecycle", "/hooks/0/subscriptions/0/timeoutMs")
	})
	t.Run("V-REG-2", func(t *testing.T) {
		for _, e := range []string{"tool.*", "*", "tool", "Tool.After"} {
			badReg(t, edit(t, validReg, `"tool.after"`, `"`+e+`"`), "/hooks/0/subscriptions/1/events/0")
		}
	})
	t.Run("V-REG-3", func(t *testing.T) {
		for _, k := range []string{"token", "bearerToken", "value"} {
			badReg(t, edit(t, validReg, `"type":"bearer"`, `"type":"bearer","`+k+`":null`), "/hooks/0/authentication/"+k)
		}
		badReg(t, edit(t, validReg, `"type":"http"`, `"type":"http","headers":{"Authorization":"x y"}`), "/hooks/0/transport/headers/Authorization")
		badReg(t, edit(t, stdioReg, `"type":"stdio"`, `"type":"stdio","env":[{"api_key":"k"}]`), "/hooks/0/transport/env/0/api_key")
	})
	t.Run("V-REG-4", func(t *testing.T) {
		reg, w := wantReg(t, edit(t, validReg, `"id"`, `"note":[1.0],"id"`))
		if len(w) != 1 || w[0].Pointer != "/hooks/0/note" || w[0].Severity != wire01.SeverityWarning {
			t.Errorf("%v", w)
		}
		if v, _ := reg.Hooks[0].Unknown.Lookup("note"); string(v) != "[1.0]" {
			t.Errorf("kept %s", v)
		}
	})
	t.Run("V-COMP-5", func(t *testing.T) {
		twice := edit(t, validReg, `"mode":"observe"}`, `"mode":"observe"},{"events":["session.start","tool.error"],"mode":"observe"}`)
		badReg(t, twice, "/hooks/0/subscriptions/2")
		wantReg(t, edit(t, validReg, `"mode":"observe"}`, `"mode":"observe"},{"events":["session.start","tool.before"],"mode":"observe"}`))
	})
	t.Run("V-AMB-2", func(t *testing.T) {
		for _, id := range []string{`"e-1"`, `"\u0065-1"`, `17`, `-0`, `1e3`, `123456789012345678901234567890`} {
			b, err := wire01.AppendResult(nil, ahp.Raw(id), nil, nil)
			if err != nil || !bytes.HasPrefix(b, []byte(`{"jsonrpc":"2.0","id":`+id+`,`)) {
				t.Errorf("%s: %v %s", id, err, b)
			}
		}
		for _, id := range []string{`""`, `1.5`, `{}`, `true`, `1,"x":2`, ``} {
			if b, err := wire01.AppendResult([]byte("x"), ahp.Raw(id), nil, nil); err == nil || string(b) != "x" {
				t.Errorf("%q was written: %s", id, b)
			}
		}
	})
	t.Run("V-AMB-7", func(t *testing.T) {
		for _, msg := range []string{`"m"`, `null`, `{"a":1}`, `17`} {
			in := edit(t, edit(t, validObserve, "tool.before", "tool.error"), `"input"`, `"error":{"message":`+msg+`,"code":[],"x":1},"input"`)
			if got := string(wantRequest(t, in).Event.Tool.Error); !strings.Contains(got, msg) {
				t.Errorf("%s", got)
			}
		}
		in := edit(t, edit(t, validObserve, "tool.before", "tool.error"), `"input"`, `"error":{},"input"`)
		wantCode(t, in, ahp.CodeInvalidParams, "/params/event/tool/error/message")
	})
	t.Run("V-AMB-8", func(t *testing.T) {
		wantCode(t, edit(t, validRequest, `"shell"`, `"browser"`), ahp.CodeInvalidParams, "/params/event/tool/kind")
	})
	t.Run("V-AMB-10", func(t *testing.T) {
		wantEffects(t, noEffects+"\r", 0)
		wantEffects(t, "\t "+noEffects+" \r\n", 0)
	})
	t.Run("V-AMB-12", func(t *testing.T) {
		after := edit(t, validObserve, "tool.before", "tool.after")
		if m := wantRequest(t, after); m.Event.Tool.Output != nil {
			t.Error("output out of nothing")
		}
		if m := wantRequest(t, edit(t, after, `"input"`, `"output":null,"input"`)); string(m.Event.Tool.Output) != "null" {
			t.Errorf("output %q", m.Event.Tool.Output)
		}
	})
	t.Run("V-AMB-14", func(t *testing.T) {
		for _, env := range []map[string]string{{}, {"TOK": ""}} {
			_, w, err := wire01.ParseRegistration("r.json", []byte(validReg), wire01.RegOptions{LookupEnv: func(n string) (string, bool) { v, ok := env[n]; return v, ok }})
			if err != nil || len(w) != 1 || w[0].Pointer != "/hooks/0/authentication/tokenEnv" {
				t.Errorf("%v %v", w, err)
			}
		}
		_, w, err := wire01.ParseRegistration("r.json", []byte(validReg), wire01.RegOptions{LookupEnv: func(n string) (string, bool) { return "x", n == "TOK" }})
		if err != nil || len(w) != 0 {
			t.Errorf("%v %v", w, err)
		}
	})
	t.Run("V-AMB-16", func(t *testing.T) {
		wantCode(t, edit(t, validRequest, `"protocolVersion":"0.1",`, ``), ahp.CodeInvalidParams, "/params/protocolVersion")
		wantCode(t, edit(t, validRequest, `"0.1"`, `"0.2"`), ahp.CodeUnsupportedVersion, "/params/protocolVersion")
	})
	t.Run("V-AMB-18", func(t *testing.T) {
		wantCode(t, edit(t, validRequest, `["deny"]`, `[]`), ahp.CodeInvalidParams, "/params/capabilities/effects")
	})
	t.Run("V-AMB-19", func(t *testing.T) {
		one := validReg[strings.Index(validReg, `{"id"`) : len(validReg)-2]
		badReg(t, edit(t, validReg, one, one+","+one), "/hooks/1/id")
	})
	t.Run("V-AMB-20", func(t *testing.T) {
		wantCode(t, edit(t, validRequest, `{"cmd":"ls"`, `{"cmd":"ls","c\u006dd":"rm"`), ahp.CodeParse, "/params/event/tool/input")
		wantCode(t, edit(t, validRequest, `"id":"e-1"`, `"id":"e-1","id":"e-1"`), ahp.CodeParse, "/id")
		wantClass(t, edit(t, denied, `"reason"`, `"reason":"x","reason"`), ahp.FailMalformed, "/result/effects/0/reason")
		wantClass(t, edit(t, noEffects, `"effects":[]`, `"effects":[],"effects":[]`), ahp.FailMalformed, "/result/effects")
		badReg(t, edit(t, validReg, `"mode":"observe"`, `"mode":"observe","mode":"observe"`), "/hooks/0/subscriptions/1/mode")
	})
}
