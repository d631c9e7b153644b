package wiredraft_test

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
)

var fuzzLimits = wiredraft.Limits{MaxBytes: 1 << 16, MaxDepth: 20, MaxMembers: 50, MaxItems: 50}

// seed adds the valid texts of this package's tests; broken ones are in
// testdata/fuzz.
func seed(f *testing.F) {
	f.Helper()
	f.Add([]byte(validRequest))
	f.Add([]byte(capabilitiesResult))
	f.Add([]byte(`{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"m"}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"method":"hooks/capabilities","params":{"protocolVersion":"draft"}}`))
	f.Add([]byte(intercept(event(ahp.ToolBefore, mcpBits), `{"effects":["modify","flow","inject"],"modify":{"input":{"replace":true,"merge":false}},"flow":{"operations":["stop"]},"inject":{"context":{"append":true,"deliverAt":["now"]}}}`)))
	for _, typ := range ahp.DraftEvents() {
		f.Add([]byte(observe(event(typ, events[typ]))))
	}
	for _, x := range effectTexts {
		f.Add([]byte(result(x)))
	}
}

// FuzzDecode holds: what is accepted is written back as one line, reads as the same
// and is then stable; what is refused says where, within the text.
func FuzzDecode(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		_, err := wiredraft.Decode(data, fuzzLimits)
		if err != nil {
			var e *wiredraft.Error
			if !errors.As(err, &e) || e.Class == "" || e.Code == 0 || e.Found == "" || e.Expected == "" || e.Offset < 0 || e.Offset > max(len(data), fuzzLimits.MaxBytes) {
				t.Errorf("incomplete: %+v", e)
			}
			return
		}
		roundTrip(t, data)
	})
}

// FuzzDecodeRequest holds: DecodeRequest takes what Decode takes of the messages of a
// harness, and a refusal of a text with an id is answered with it.
func FuzzDecodeRequest(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		m, bad := wiredraft.DecodeRequest(data, fuzzLimits)
		var r wiredraft.RequestReader
		for range 2 { // the second time in used memory
			again, err := r.Read(data, fuzzLimits)
			if (err == nil) != (bad == nil) || err != nil && (err.Error() != bad.Error() || string(err.ID) != string(bad.ID) || err.Notification != bad.Notification) {
				t.Fatalf("a reader says %v, DecodeRequest %v", err, bad)
			}
			if err == nil && rawless(judged(again)) != rawless(judged(m)) {
				t.Fatalf("a reader reads\n%+v, DecodeRequest\n%+v", again, m)
			}
		}
		any, err := wiredraft.Decode(data, fuzzLimits)
		ours := err == nil && (any.Kind == wiredraft.Request || any.Kind == wiredraft.Notification)
		if (bad == nil) != ours {
			t.Errorf("DecodeRequest says %v, Decode %v", bad, err)
		}
		switch {
		case bad == nil && m.Kind == wiredraft.Request && m.ID == nil:
			t.Error("a request without an id")
		case bad != nil && bad.Notification && bad.ID != nil:
			t.Errorf("%+v", bad)
		case bad != nil && strings.Contains(bad.Error(), "hunter2"):
			t.Errorf("%v", bad)
		}
	})
}

// FuzzDecodeResponse holds: with an offer nothing gets through that is not offered,
// and what gets through can be written for the same offer.
func FuzzDecodeResponse(f *testing.F) {
	types := ahp.DraftEvents()
	for i, x := range effectTexts {
		f.Add([]byte(result(x)), byte(i))
		f.Add([]byte(result(x)), byte(11))
	}
	f.Fuzz(func(t *testing.T, data []byte, n byte) {
		at := types[int(n)%len(types)]
		caps := all(at)
		list, failure := wiredraft.DecodeResponse(data, "e-1", at, caps, fuzzLimits)
		if failure != nil {
			if list != nil || failure.Class == "" {
				t.Errorf("%v with %v", list, failure)
			}
			return
		}
		for _, x := range list {
			if !caps.Allows(x.Type()) {
				t.Errorf("at %s: %s was not offered", at, x.Type())
			}
		}
		out, err := wiredraft.AppendResult(nil, ahp.Raw(`"e-1"`), at, caps, list, nil)
		if err != nil {
			t.Fatalf("accepted and not written back: %v\n%s", err, data)
		}
		if again, f := wiredraft.DecodeResponse(out, "e-1", at, caps, wiredraft.Limits{}); f != nil || len(again) != len(list) {
			t.Errorf("%v, %v\n%s\n%s", again, f, data, out)
		}
		for _, x := range list { // one by one, as the state of a request has them
			if _, err := wiredraft.AppendEffect(nil, x); err != nil {
				t.Errorf("%v", err)
			}
		}
	})
}

// FuzzDecodeCapabilities does the same for manifests.
func FuzzDecodeCapabilities(f *testing.F) {
	f.Add([]byte(capabilitiesResult))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, failure := wiredraft.DecodeCapabilitiesResponse(data, ahp.Raw(`7`), fuzzLimits)
		if failure != nil {
			return
		}
		out, err := wiredraft.AppendCapabilitiesResult(nil, ahp.Raw(`7`), m)
		if err != nil {
			t.Fatalf("accepted and not written back: %v\n%s", err, data)
		}
		again, failure := wiredraft.DecodeCapabilitiesResponse(out, ahp.Raw(`7`), wiredraft.Limits{})
		if failure != nil {
			t.Fatalf("%v\n%s", failure, out)
		}
		twice, err := wiredraft.AppendCapabilitiesResult(nil, ahp.Raw(`7`), again)
		if err != nil || !bytes.Equal(out, twice) {
			t.Errorf("%v\n%s\n%s", err, out, twice)
		}
	})
}

// FuzzDecodeEvent holds: an event alone is judged as in its message.
func FuzzDecodeEvent(f *testing.F) {
	for _, typ := range ahp.DraftEvents() {
		f.Add([]byte(event(typ, events[typ])))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		ev, err := wiredraft.DecodeEvent(data, fuzzLimits)
		if err != nil {
			return
		}
		if _, err := wiredraft.Decode([]byte(observe(string(data))), wiredraft.Limits{}); err != nil {
			t.Errorf("in a message: %v\n%s", err, data)
		}
		out, err := wiredraft.AppendEvent(nil, ev)
		if err != nil {
			t.Fatalf("accepted and not written back: %v\n%s", err, data)
		}
		again, err := wiredraft.DecodeEvent(out, wiredraft.Limits{})
		if err != nil || rawless(ev) != rawless(again) {
			t.Errorf("%v\n%s\n%s", err, data, out)
		}
	})
}

// FuzzRegistration holds: a document is refused exactly when a problem of it is an
// error, each has a place in it, and no text repeats a long string of it.
func FuzzRegistration(f *testing.F) {
	f.Add([]byte(portable))
	f.Add([]byte(overStdio))
	f.Add([]byte(edit(f, edit(f, portable, `{"type":"bearer","tokenEnv":"TOK"}`, oauth), `"mode":"intercept"`, `"upload":`+upload+`,"filters":{"toolKinds":["shell"]},"scope":"managed","disableable":false,"mode":"intercept"`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		reg, warnings, err := wiredraft.ParseRegistration("r", data, wiredraft.RegOptions{Limits: fuzzLimits})
		if (err == nil) != (reg != nil) {
			t.Errorf("%v with %v", reg, err)
		}
		problems, _ := wiredraft.Lint("r", data, wiredraft.KindRegistration, wiredraft.LintOptions{})
		lines := bytes.Count(data, []byte("\n")) + 1
		errs := 0
		for _, p := range append(problems, warnings...) {
			if p.Line < 1 || p.Line > lines || p.Column < 1 || p.Found == "" || p.Expected == "" {
				t.Errorf("%+v", p)
			}
		}
		for _, p := range problems {
			if p.Severity == wiredraft.SeverityError {
				errs++
			}
		}
		if reg != nil && errs > 0 && !bytes.Contains(data, []byte("\n")) {
			t.Errorf("loaded, and lint says %v", problems)
		}
		if reg == nil {
			return
		}
		for _, b := range reg.Hooks {
			if b.ID == "" || b.Transport == nil || len(b.Subscriptions) == 0 {
				t.Errorf("%+v", b)
			}
			for _, s := range b.Subscriptions {
				if len(s.Events) == 0 || s.Content.Default == "" || (s.Mode == ahp.ModeIntercept) != (s.Timeout > 0 && s.FailurePolicy.Known()) {
					t.Errorf("%+v", s)
				}
			}
		}
	})
}

// FuzzLint holds: a message, an event and a manifest have a problem exactly when the
// decoder refuses them, and every problem has a place.
func FuzzLint(f *testing.F) {
	seed(f)
	f.Add([]byte(plainManifest))
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(data, []byte("\n")) {
			return // several documents
		}
		_, err := wiredraft.Decode(data, wiredraft.Limits{})
		problems, _ := wiredraft.Lint("m.json", data, wiredraft.KindMessage, wiredraft.LintOptions{})
		if (err == nil) != (len(problems) == 0) {
			t.Errorf("lint says %v, decoding %v", problems, err)
		}
		_, err = wiredraft.DecodeEvent(data, wiredraft.Limits{})
		events, _ := wiredraft.Lint("m.json", data, wiredraft.KindEvent, wiredraft.LintOptions{})
		if (err == nil) != (len(events) == 0) {
			t.Errorf("lint says %v, decoding %v", events, err)
		}
		answers, _ := wiredraft.Lint("m.json", data, wiredraft.KindMessage, wiredraft.LintOptions{Request: []byte(validRequest)})
		caps := ahp.DenyOnly()
		_, failure := wiredraft.DecodeResponse(data, "e-1", ahp.ToolBefore, &caps, wiredraft.Limits{})
		isError := failure != nil && (failure.Class == ahp.FailRPCError || failure.Class == ahp.FailUnsupported && failure.Code != 0)
		if (failure == nil || isError) != (len(answers) == 0) {
			t.Errorf("lint says %v, decoding %v", answers, failure)
		}
		for _, p := range slices.Concat(problems, events, answers) {
			if p.Line < 1 || p.Column < 1 || p.Found == "" || p.Expected == "" {
				t.Errorf("%+v", p)
			}
		}
		wiredraft.Revision(data)
	})
}
