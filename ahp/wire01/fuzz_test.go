package wire01_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
)

// seed adds the valid texts of this package's tests; broken ones are in
// testdata/fuzz.
func seed(f *testing.F) {
	f.Helper()
	for _, s := range []string{validRequest, oddRequest, validObserve, noEffects, denied, validReg, stdioReg, validEvent, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`} {
		f.Add([]byte(s))
	}
}

var fuzzLimits = wire01.Limits{MaxBytes: 1 << 16, MaxDepth: 20, MaxMembers: 50, MaxItems: 50}

// FuzzDecode holds: what is accepted is written back without a changed token, and
// that is accepted again and stable; what is refused says where, within the text.
func FuzzDecode(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := wire01.Decode(data, fuzzLimits)
		if err != nil {
			var e *wire01.Error
			if !errors.As(err, &e) || e.Class == "" || e.Code == 0 || e.Found == "" || e.Expected == "" || e.Offset < 0 || e.Offset > len(data) {
				t.Errorf("incomplete: %+v", e)
			}
			return
		}
		var out []byte
		switch m.Kind {
		case wire01.Request:
			exts := m.Extensions
			if m.HasExtensions && exts == nil {
				exts = ahp.Members{}
			}
			out, err = wire01.AppendIntercept(nil, m.Event, m.Capabilities, exts)
		case wire01.Notification:
			out, err = wire01.AppendObserve(nil, m.Event)
		case wire01.Response:
			exts := m.Extensions
			if m.HasExtensions && exts == nil {
				exts = ahp.Members{}
			}
			out, err = wire01.AppendResult(nil, m.ID, m.Effects, exts)
		case wire01.ErrorResponse:
			out, err = wire01.AppendError(nil, m.ID, m.RPCError.Code, m.RPCError.Message, m.RPCError.Data)
		}
		if err != nil {
			t.Fatalf("accepted and not written back: %v\n%s", err, data)
		}
		if strings.ContainsAny(string(out), "\n\r") {
			t.Errorf("more than one line: %q", out)
		}
		m2, err := wire01.Decode(out, wire01.Limits{})
		if err != nil {
			t.Fatalf("written and not accepted: %v\n%s", err, out)
		}
		if m.Event != nil {
			in, _ := tokens(t, string(compactLines(data))).(map[string]any)
			re, _ := tokens(t, string(out)).(map[string]any)
			if a, b := in["params"].(map[string]any)["event"], re["params"].(map[string]any)["event"]; !reflect.DeepEqual(a, b) {
				t.Errorf("a token changed\n%s\n%s", data, out)
			}
		}
		if m.Kind != m2.Kind || len(m.Effects) != len(m2.Effects) || string(m.ID) != string(m2.ID) && m.Kind != wire01.Request {
			t.Errorf("%+v became %+v", m, m2)
		}
	})
}

// compactLines drops line breaks, as the encoder does.
func compactLines(b []byte) []byte {
	return []byte(strings.NewReplacer("\n", "", "\r", "").Replace(string(b)))
}

// FuzzDecodeResponse holds: there is an answer or a failure of a class that the
// policy decides about, never both, and only a valid deny denies.
func FuzzDecodeResponse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		effects, fail := wire01.DecodeResponse(data, "e-1", ahp.DenyOnly(), fuzzLimits)
		if fail != nil {
			if effects != nil || fail.Class == "" || !fail.Class.PolicyApplies() {
				t.Errorf("%v with %v", effects, fail)
			}
			return
		}
		if effects == nil || len(effects) > 1 {
			t.Fatalf("%v", effects)
		}
		m, err := wire01.Decode(data, fuzzLimits)
		if err != nil || m.Kind != wire01.Response || m.Version != ahp.Version01 {
			t.Fatalf("%+v, %v", m, err)
		}
		for _, e := range effects {
			if d := e.(*ahp.Deny); d.Reason == "" || d.Code != "" && !ahp.ReverseDNS(d.Code) {
				t.Errorf("%+v", d)
			}
		}
		if _, fail := wire01.DecodeResponse(data, "e-2", ahp.DenyOnly(), fuzzLimits); fail == nil || fail.Class != ahp.FailIDMismatch {
			t.Errorf("accepted for another id: %v", fail)
		}
	})
}

// FuzzDecodeRequest holds: a refusal has one of the defined codes, and an id that
// can be echoed.
func FuzzDecodeRequest(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, bad := wire01.DecodeRequest(data, fuzzLimits)
		if bad == nil {
			if m.Event == nil || m.Version != ahp.Version01 || (m.Kind == wire01.Request) != (m.ID != nil) {
				t.Errorf("%+v", m)
			}
			return
		}
		if bad.Code.Name() == "" || bad.Notification && bad.ID != nil {
			t.Errorf("%+v", bad)
		}
		if _, err := wire01.AppendError(nil, bad.ID, bad.Code, bad.Error(), nil); err != nil {
			t.Errorf("%v: %v", bad, err)
		}
	})
}

// FuzzParseRegistration holds: a document is accepted exactly if lint finds no
// error in it, and then it can be run.
func FuzzParseRegistration(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		reg, _, err := wire01.ParseRegistration("r.json", data, wire01.RegOptions{})
		probs, _ := wire01.Lint("r.json", data, wire01.KindRegistration)
		clean := true
		for _, p := range probs {
			clean = clean && p.Severity != wire01.SeverityError
			if p.Line < 1 || p.Column < 1 || p.Found == "" || p.Expected == "" {
				t.Errorf("%+v", p)
			}
		}
		if clean != (err == nil) || (reg == nil) != (err != nil) {
			t.Fatalf("parsed: %v, linted: %v", err, probs)
		}
		if reg == nil {
			return
		}
		ids := map[string]bool{}
		for _, h := range reg.Hooks {
			if !ahp.ReverseDNS(h.ID) || ids[h.ID] || h.Transport == nil || len(h.Subscriptions) == 0 {
				t.Errorf("%+v", h)
			}
			ids[h.ID] = true
			for _, s := range h.Subscriptions {
				intercepts := s.Mode == ahp.ModeIntercept
				if intercepts != s.FailurePolicy.Known() || intercepts != (s.Timeout > 0) || len(s.Events) == 0 {
					t.Errorf("%+v", s)
				}
			}
		}
		if len(reg.Hooks) == 0 {
			t.Error("no hooks")
		}
	})
}

// FuzzLint holds: a message that lint finds nothing in is one that the codec
// accepts, and the reverse; places lie within the text and are in order.
func FuzzLint(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		wire01.Lint("x", data, "")
		wire01.Lint("x.jsonl", data, wire01.KindEvent)
		probs, _ := wire01.Lint("x.json", data, wire01.KindMessage)
		_, err := wire01.Decode(data, wire01.Limits{})
		if (len(probs) == 0) != (err == nil) {
			t.Errorf("decoded: %v, linted: %v\n%s", err, probs, data)
		}
		lines := strings.Split(string(data), "\n")
		line, col := 1, 0
		for _, p := range probs {
			if p.Line < line || p.Line == line && p.Column < col || p.Line > len(lines) || p.Column > len(lines[p.Line-1])+1 {
				t.Errorf("place %d:%d after %d:%d in %q", p.Line, p.Column, line, col, data)
			}
			line, col = p.Line, p.Column
		}
	})
}

// FuzzDecodeEvent holds: an accepted event is written back without a changed
// token, and the text that is written is stable.
func FuzzDecodeEvent(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		ev, err := wire01.DecodeEvent(data, fuzzLimits)
		if err != nil {
			return
		}
		out, err := wire01.AppendEvent(nil, ev)
		if err != nil {
			t.Fatalf("accepted and not written back: %v\n%s", err, data)
		}
		if !reflect.DeepEqual(tokens(t, string(compactLines(data))), tokens(t, string(out))) {
			t.Errorf("a token changed\n%s\n%s", data, out)
		}
		ev, err = wire01.DecodeEvent(out, wire01.Limits{})
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if again, err := wire01.AppendEvent(nil, ev); err != nil || string(again) != string(out) {
			t.Errorf("not stable: %v\n%s\n%s", err, out, again)
		}
	})
}
