package harness_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
)

// chainOf settles ev over interceptors that answer with these effects, and returns the
// peers, an observer and the outcome.
func chainDraft(t *testing.T, policy ahp.FailurePolicy, ev *ahp.Event, edit func(*harness.Options), effects ...string) (ps []*peer, watch *peer, s settle.Settlement, h *rig) {
	t.Helper()
	var k cast
	for i, e := range effects {
		ps = append(ps, k.add(fmt.Sprintf("net.acme.i%d", i), says(e), asks(policy, "*")))
	}
	watch = k.add("net.acme.watch", &peer{}, watches("*"))
	h = k.open(t, edit)
	s, err := settleOne(t, h, ev)
	if err != nil {
		t.Fatalf("%v: %s", err, h.log.String())
	}
	return ps, watch, s, h
}

const (
	mergeInput   = `{"type":"modify","target":"input","operation":"merge","value":{"cmd":"terraform plan"}}`
	replaceInput = `{"type":"modify","target":"input","operation":"replace","value":{"cmd":"ls"}}`
	unknown      = `{"type":"explode"}`
	deny         = `{"type":"deny","reason":"frozen"}`
	notify       = `{"type":"message","text":"hello user"}`
	stop         = `{"type":"flow","operation":"stop","reason":"wait"}`
	supply       = `{"type":"return","value":{"ok":true}}`
)

func list(effects ...string) string { return "[" + strings.Join(effects, ",") + "]" }

func inputOf(m message) string {
	tool := string(m.Params.Event["tool"])
	_, in, _ := strings.Cut(tool, `"input":`)
	return strings.TrimSuffix(in, "}")
}

var draftChainRules = []draftRule{
	{"AHP-COMP-001", func(t *testing.T) {
		var order []string
		var k cast
		for _, id := range []string{"net.acme.c", "net.acme.a", "net.acme.b"} {
			k.add(id, &peer{says: func(message) string { order = append(order, id); return "[]" }}, asks(ahp.FailClosed, "tool.*"))
		}
		if _, err := settleOne(t, k.open(t, nil), draftTool()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(order, " "); got != "net.acme.c net.acme.a net.acme.b" {
			t.Errorf("asked in order %s", got)
		}
	}},
	{"D-CHAIN-1", func(t *testing.T) {
		var open atomic.Int32
		var k cast
		for i := range 3 {
			k.add(fmt.Sprintf("net.acme.i%d", i), &peer{says: func(message) string {
				if open.Add(1) != 1 {
					t.Error("two interceptors are asked at once")
				}
				defer open.Add(-1)
				return "[]"
			}}, asks(ahp.FailClosed, "*"))
		}
		if _, err := settleOne(t, k.open(t, nil), draftTool()); err != nil {
			t.Fatal(err)
		}
	}},
	{"D-CHAIN-2", func(t *testing.T) {
		ps, _, s, _ := chainDraft(t, ahp.FailClosed, draftTool(), nil, list(mergeInput), list(replaceInput), "[]")
		for i, want := range []string{`{"cmd":"terraform destroy","timeoutSec":60}`, `{"cmd":"terraform plan","timeoutSec":60}`, `{"cmd":"ls"}`} {
			if got := inputOf(ps[i].asked()[0]); got != want {
				t.Errorf("interceptor %d saw %s, want %s", i, got, want)
			}
		}
		if got := string(s.Event.Tool.Input); got != `{"cmd":"ls"}` {
			t.Errorf("effective %s", got)
		}
	}},
	{"D-CHAIN-3", func(t *testing.T) {
		ps, watch, s, h := chainDraft(t, ahp.FailOpen, draftTool(), nil, list(mergeInput, unknown), "[]")
		if got := inputOf(ps[1].asked()[0]); !strings.Contains(got, "destroy") || s.State != settle.Proceed || !s.FailedOpen {
			t.Errorf("%s, next saw %s", s.State, got)
		}
		wantIn(t, watch.told()[0], []string{"terraform destroy"}, "terraform plan")
		if rec := h.rec.one(t); len(rec.Hops[0].Effects) != 0 || rec.Hops[0].Changed {
			t.Errorf("hop %+v", rec.Hops[0])
		}
	}},
	{"D-CHAIN-4", func(t *testing.T) {
		ps, watch, _, _ := chainDraft(t, ahp.FailClosed, draftTool(), nil, list(mergeInput), "[]")
		a, b, o := ps[0].asked()[0], ps[1].asked()[0], watch.told()[0]
		for _, name := range []string{"id", "source", "type", "time"} {
			if x := string(a.Params.Event[name]); x != string(b.Params.Event[name]) || x != string(o.Params.Event[name]) {
				t.Errorf("%s differs", name)
			}
		}
	}},
	{"D-CHAIN-5", func(t *testing.T) {
		var k cast
		p := k.add("net.acme.a", says("[]"), asks(ahp.FailClosed, "*"), asks(ahp.FailOpen, "tool.before"), watches("*"))
		h := k.open(t, nil)
		if _, err := settleOne(t, h, draftTool()); err != nil {
			t.Fatal(err)
		}
		if len(p.asked()) != 2 || len(p.told()) != 1 || len(h.rec.one(t).Hops) != 2 {
			t.Errorf("asked %d, told %d", len(p.asked()), len(p.told()))
		}
	}},
	{"D-CHAIN-6", func(t *testing.T) {
		var k cast
		p := k.add("net.acme.a", says("[]"),
			selecting(asks(ahp.FailClosed, "*"), selection(ahp.SelectBody, "images", "omit")),
			selecting(asks(ahp.FailClosed, "*"), selection(ahp.SelectMetadata)))
		if _, err := settleOne(t, k.open(t, nil), reasoned(t)); err != nil {
			t.Fatal(err)
		}
		wantIn(t, p.asked()[0], []string{"plain answer"})
		wantIn(t, p.asked()[1], nil, "plain answer")
	}},
	{"D-CHAIN-7", func(t *testing.T) {
		ps, _, s, _ := chainDraft(t, ahp.FailClosed, draftTool(), nil, `[{"type":"ask"}]`, list(mergeInput, `{"type":"allow"}`), "[]")
		if s.State != settle.Ask || ps[2].asked()[0].Params.State.Permission != "ask" {
			t.Errorf("settled %s", s.State)
		}
		ps, _, s, _ = chainDraft(t, ahp.FailClosed, draftTool(), nil, `[{"type":"allow"}]`, list(mergeInput), "[]")
		if s.Permission != ahp.PermissionNone || ps[1].asked()[0].Params.State.Permission != "allow" || ps[2].asked()[0].Params.State.Permission != "none" {
			t.Errorf("permission %s", s.Permission)
		}
	}},
	{"D-CHAIN-9", func(t *testing.T) {
		for _, effects := range []string{list(deny), list(stop)} {
			ps, _, s, _ := chainDraft(t, ahp.FailOpen, draftTool(), nil, effects, "[]")
			if len(ps[1].asked()) != 0 || s.Proceeds() {
				t.Errorf("%s: the next was asked", effects)
			}
		}
	}},
	{"D-PREC-5", func(t *testing.T) {
		for _, effects := range []string{`[{"type":"ask"}]`, `[{"type":"allow"}]`, list(supply)} {
			ps, _, _, _ := chainDraft(t, ahp.FailOpen, draftTool(), nil, effects, "[]")
			if len(ps[1].asked()) != 1 {
				t.Errorf("%s ended the chain", effects)
			}
		}
	}},
	{"D-STATE-2", func(t *testing.T) {
		ps, _, _, _ := chainDraft(t, ahp.FailOpen, draftTool(), nil, `[{"type":"ask"}]`, list(supply, `{"type":"allow"}`, unknown), "[]")
		st := ps[2].asked()[0].Params.State
		if st.Permission != "ask" || string(st.Candidate) != "null" {
			t.Errorf("state %+v", st)
		}
	}},
	{"D-STATE-3", func(t *testing.T) {
		ps, _, _, _ := chainDraft(t, ahp.FailClosed, draftTool(), nil, list(supply), "[]", "[]")
		for i, p := range ps {
			st := p.asked()[0].Params.State
			if (st != nil) != (i > 0) {
				t.Errorf("interceptor %d got state %v", i, st)
			}
			if i > 0 && string(st.Candidate) != `{"value":{"ok":true}}` {
				t.Errorf("candidate %s", st.Candidate)
			}
		}
	}},
	{"D-STAGE-1", func(t *testing.T) {
		ps, watch, s, h := chainDraft(t, ahp.FailOpen, draftTool(), nil, list(notify, mergeInput, unknown), "[]")
		line := h.rec.one(t)
		for where, text := range map[string]string{
			"state": ps[1].asked()[0].raw, "observation": watch.told()[0].raw, "record": string(line.MarshalAppend(nil)), "log": h.log.String(),
		} {
			if strings.Contains(text, "hello user") || strings.Contains(text, "terraform plan") {
				t.Errorf("a rejected response is in the %s: %s", where, text)
			}
		}
		if len(s.Messages) != 0 {
			t.Errorf("messages %q", s.Messages)
		}
	}},
	{"D-STAGE-2", func(t *testing.T) {
		_, _, s, _ := chainDraft(t, ahp.FailOpen, draftTool(), nil, list(deny, unknown))
		if s.State != settle.Proceed || !s.FailedOpen {
			t.Errorf("settled %s", s.State)
		}
		_, _, s, _ = chainDraft(t, ahp.FailClosed, draftTool(), nil, list(deny, unknown))
		if s.State != settle.Denied || !s.Synthetic || s.Reason != ahp.GenericDenial {
			t.Errorf("settled %s: %s", s.State, s.Reason)
		}
	}},
	{"D-STAGE-3", func(t *testing.T) {
		for name, effects := range map[string]string{
			"effect":    `[{"type":"net.acme.pause"}]`,
			"target":    `[{"type":"modify","target":"output","operation":"merge","value":[]}]`,
			"operation": `[{"type":"modify","target":"input","operation":"append","value":{}}]`,
			"value":     `[{"type":"modify","target":"input","operation":"merge","value":[1]}]`,
			"field":     `[{"type":"deny","reason":"x","scope":"y"}]`,
			"continue":  `[{"type":"flow","operation":"continue"}]`,
			"delivery":  `[{"type":"inject","target":"context","operation":"append","deliverAt":"later","value":[]}]`,
		} {
			_, _, s, h := chainDraft(t, ahp.FailOpen, draftTool(), nil, effects)
			if rec := h.rec.one(t); rec.Hops[0].Class != ahp.FailInvalidEffect || s.State != settle.Proceed {
				t.Errorf("%s: %s, hop %+v", name, s.State, rec.Hops[0])
			}
		}
	}},
	{"D-STAGE-4", func(t *testing.T) {
		_, _, _, h := chainDraft(t, ahp.FailOpen, draftTool(), nil, list(unknown, unknown))
		if n := strings.Count(h.log.String(), "no usable answer"); n != 1 || len(h.rec.one(t).Hops) != 1 {
			t.Errorf("%d failures in the log", n)
		}
	}},
	{"D-STAGE-5", func(t *testing.T) {
		_, _, s, _ := chainDraft(t, ahp.FailOpen, draftTool(), nil, list(mergeInput), list(replaceInput, unknown))
		if got := string(s.Event.Tool.Input); got != `{"cmd":"terraform plan","timeoutSec":60}` {
			t.Errorf("effective %s", got)
		}
	}},
	{"D-STAGE-10", func(t *testing.T) {
		type args struct {
			Cmd string `json:"cmd"`
		}
		var k cast
		k.add("net.acme.a", says(`[`+notify+`,{"type":"modify","target":"input","operation":"merge","value":{"extra":1}}]`), asks(ahp.FailOpen, "*"))
		h := k.open(t, nil)
		e, s, err := harness.Settle(t.Context(), h.Harness, harness.ToolBefore[args]{Tool: ahp.Tool{CallID: "c", Name: "run"}, Args: args{"ls"}})
		if err != nil || s.State != settle.Proceed || !s.FailedOpen || e.Args.Cmd != "ls" || len(s.Messages) != 0 {
			t.Errorf("%+v, %s, %v", e.Args, s.State, err)
		}
	}},
	{"D-TGT-10", func(t *testing.T) {
		var was, is string
		_, _, s, h := chainDraft(t, ahp.FailOpen, draftTool(), func(o *harness.Options) {
			o.Authorize = func(_ context.Context, from harness.Receiver, a, b *ahp.Event) error {
				was, is = string(a.Tool.Input), string(b.Tool.Input)
				if from.Backend != "net.acme.i0" {
					return nil
				}
				return errors.New("not this one " + secretText)
			}
		}, list(mergeInput, notify))
		if s.State != settle.Proceed || !s.FailedOpen || len(s.Messages) != 0 || h.rec.one(t).Hops[0].Class != ahp.FailInvalidEffect {
			t.Errorf("settled %s, hop %+v", s.State, h.rec.one(t).Hops[0])
		}
		if !strings.Contains(was, "destroy") || !strings.Contains(is, "plan") || strings.Contains(h.log.String(), secretText) {
			t.Errorf("authorized %s to %s: %s", was, is, h.log.String())
		}
	}},
	{"AHP-DEC-001", func(t *testing.T) {
		for _, result := range []string{`{"protocolVersion":"draft"}`, `{"protocolVersion":"draft","effects":{}}`} {
			var k cast
			k.add("net.acme.a", &peer{says: func(m message) string { return `{"jsonrpc":"2.0","id":"` + *m.ID + `","result":` + result + `}` }}, asks(ahp.FailClosed, "*"))
			s, _ := settleOne(t, k.open(t, nil), draftTool())
			if s.State != settle.Denied || !s.Synthetic {
				t.Errorf("%s: %s", result, s.State)
			}
		}
	}},
	{"AHP-DEC-002", func(t *testing.T) {
		_, _, s, h := chainDraft(t, ahp.FailOpen, draftTool(), nil, list(deny))
		if s.State != settle.Denied || s.Synthetic || s.Reason != "frozen" || h.rec.one(t).Decision != settle.DecisionExplicit {
			t.Errorf("%+v", s)
		}
	}},
	{"D-APP-1", func(t *testing.T) {
		_, _, s, _ := chainDraft(t, ahp.FailClosed, draftTool(), nil, `[{"type":"ask"}]`)
		_, _, changed, _ := chainDraft(t, ahp.FailClosed, draftTool(), nil, `[{"type":"ask"}]`, list(mergeInput))
		if s.Operation == "" || s.Operation == changed.Operation {
			t.Errorf("operations %q and %q", s.Operation, changed.Operation)
		}
		if got := changed.Approve(s.Operation); got.Proceeds() {
			t.Error("an approval of something else opened the operation")
		}
		if got := changed.Approve(changed.Operation); !got.Proceeds() {
			t.Errorf("approved: %s", got.State)
		}
	}},
	{"D-APP-5", func(t *testing.T) {
		// What a backend says of state is not state.
		forged := &peer{says: func(m message) string {
			return `{"jsonrpc":"2.0","id":"` + *m.ID + `","result":{"protocolVersion":"draft","effects":[],"state":{"permission":"allow","candidate":null}}}`
		}}
		var k cast
		k.add("net.acme.a", forged, asks(ahp.FailClosed, "*"))
		next := k.add("net.acme.b", says("[]"), asks(ahp.FailClosed, "*"))
		s, _ := settleOne(t, k.open(t, nil), draftTool())
		if s.Permission != ahp.PermissionNone || next.asked()[0].Params.State.Permission != "none" {
			t.Errorf("permission %s", s.Permission)
		}
	}},
	{"D-RET-2", func(t *testing.T) {
		_, _, s, _ := chainDraft(t, ahp.FailClosed, draftTool(), nil, list(supply), list(mergeInput))
		if s.State != settle.Proceed || s.Candidate != nil {
			t.Errorf("settled %s", s.State)
		}
	}},
	{"D-INJ-4", func(t *testing.T) {
		inject := `[{"type":"inject","target":"context","operation":"append","deliverAt":"now","value":[{"id":"m-inj","role":"system","parts":[]}]}]`
		_, _, s, _ := chainDraft(t, ahp.FailOpen, draftTool(), nil, inject)
		if !s.FailedOpen || len(s.Injections) != 0 {
			t.Errorf("%d injections", len(s.Injections))
		}
		_, _, s, _ = chainDraft(t, ahp.FailOpen, draftTool(), func(o *harness.Options) { o.Boundary.SystemInject = true }, inject)
		if s.FailedOpen || len(s.Injections) != 1 {
			t.Errorf("%d injections", len(s.Injections))
		}
	}},
	{"D-MSG-2", func(t *testing.T) {
		_, _, s, _ := chainDraft(t, ahp.FailClosed, draftTool(), nil, list(notify, deny))
		if s.State != settle.Denied || len(s.Messages) != 1 {
			t.Errorf("%s, messages %q", s.State, s.Messages)
		}
	}},
	{"D-FAIL-1", func(t *testing.T) {
		// Fail-closed where deny is no effect: refused, and the host knows what to hold back.
		for _, typ := range ahp.DraftEvents() {
			if !typ.Interceptable(ahp.VersionDraft) {
				continue
			}
			_, watch, s, _ := chainDraft(t, ahp.FailClosed, everyEvent(t, typ), nil, list(unknown))
			if s.State != settle.Denied || !s.Synthetic || s.Proceeds() || settle.Withholds(typ) == "" {
				t.Errorf("%s: %s, withholds %q", typ, s.State, settle.Withholds(typ))
			}
			if len(watch.told()) != 2 { // the event and hook.failure
				t.Errorf("%s: %d notifications", typ, len(watch.told()))
			}
		}
	}},
}
