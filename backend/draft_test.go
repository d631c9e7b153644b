package backend_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/backend"
)

const (
	toolPart = `"call":{"id":"c"},"path":"native","tool":{"name":"run","origin":"native","input":{"cmd":"ls"}}`
	turnPart = `"turn":{"id":"t"},"trigger":"user","items":[{"id":"m","role":"user","parts":[{"id":"p","kind":"text","mediaType":"text/plain","selection":"body","text":"hi"}]}]`
	denyCaps = `{"effects":["deny"]}`
	allCaps  = `{"effects":["deny","allow","ask","modify","return","message","inject","flow"],` +
		`"modify":{"input":{"replace":true,"merge":true}},"flow":{"operations":["stop"]},` +
		`"inject":{"context":{"append":true,"deliverAt":["now","next_turn"]}}}`
)

// draftEvent returns an event with these members beside the base ones.
func draftEvent(id string, typ ahp.EventType, members string) string {
	return `{"id":"` + id + `","source":"urn:example:h","type":"` + string(typ) + `","time":"2027-02-03T04:05:06Z",` + members + `}`
}

// draftRequest returns a hooks/intercept request; more stands behind capabilities in
// params.
func draftRequest(id, event, caps, more string) string {
	return `{"jsonrpc":"2.0","id":"` + id + `","method":"hooks/intercept","params":{"protocolVersion":"draft","event":` + event +
		`,"capabilities":` + caps + more + `}}`
}

func draftCall(id, caps string) string {
	return draftRequest(id, draftEvent(id, ahp.ToolBefore, toolPart), caps, "")
}

func draftNote(event string) string {
	return `{"jsonrpc":"2.0","method":"hooks/observe","params":{"protocolVersion":"draft","event":` + event + `}}`
}

const capabilitiesRequest = `{"jsonrpc":"2.0","id":7,"method":"hooks/capabilities","params":{"protocolVersion":"draft"}}`

// draftOptions are those of a server that speaks the draft alone.
func draftOptions(edit ...func(*backend.Options)) backend.Options {
	o := backend.Options{Versions: []ahp.Version{ahp.VersionDraft}}
	for _, e := range edit {
		e(&o)
	}
	return o
}

// returning is a handler that answers always the same.
func returning(effects ...ahp.Effect) backend.HandlerFunc {
	return func(context.Context, *backend.Request) ([]ahp.Effect, error) { return effects, nil }
}

// told sends one frame and returns the answer: the effects or the manifest as they
// stand there, the error's code, or none.
func told(t testing.TB, s *backend.Server, frame string) string {
	t.Helper()
	b, err := s.Local(t.Context(), []byte(frame))
	if err != nil {
		return "failed: " + err.Error()
	}
	return gist(t, b)
}

func gist(t testing.TB, b []byte) string {
	t.Helper()
	if len(b) == 0 {
		return "none"
	}
	var m struct {
		JSONRPC string `json:"jsonrpc"`
		Result  *struct {
			Version  string          `json:"protocolVersion"`
			Effects  json.RawMessage `json:"effects"`
			Manifest json.RawMessage `json:"manifest"`
		} `json:"result"`
		Error *struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	if err := json.Unmarshal(b, &m); err != nil || m.JSONRPC != "2.0" || (m.Result == nil) == (m.Error == nil) {
		t.Fatalf("%v in the answer %s", err, b)
	}
	if m.Error != nil {
		return fmt.Sprint(m.Error.Code)
	}
	return string(m.Result.Effects) + string(m.Result.Manifest)
}

func manifest(events ...ahp.ManifestEvent) *ahp.Manifest {
	return &ahp.Manifest{
		Events: events, Transports: []string{"http"}, ManagedPolicy: ahp.ManagedPolicy{Scopes: []ahp.Scope{ahp.ScopeUser}},
		Gaps: []ahp.Gap{
			{Path: "limits.maxUploadBytes", Reason: "no attachments"},
			{Path: "limits.maxContinuations", Reason: "not offered"},
			{Path: "limits.minTimeoutMs", Reason: "unknown"},
			{Path: "limits.maxTimeoutMs", Reason: "unknown"},
		},
	}
}

func intercepting(t ahp.EventType) ahp.ManifestEvent {
	only := ahp.DenyOnly()
	return ahp.ManifestEvent{Event: t, Modes: []ahp.Mode{ahp.ModeIntercept}, Capabilities: &only}
}

// TestDraftRules runs one subtest for each rule of the draft that shows on a backend.
// Their names feed docs/conformance.
func TestDraftRules(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range slices.Concat(draftMessageRules, draftOfferRules, draftRepeatRules, draftCarrierRules) {
		if seen[r.id] {
			t.Errorf("%s stands there twice", r.id)
		}
		seen[r.id] = true
		t.Run(r.id, r.test)
	}
}

type draftRule struct {
	id   string
	test func(t *testing.T)
}

// answers checks what a draft server with this handler says to each frame.
func answers(t *testing.T, h backend.HandlerFunc, o backend.Options, want ...[2]string) {
	t.Helper()
	s := newServer(t, h, o)
	for _, w := range want {
		if got := told(t, s, w[0]); got != w[1] {
			t.Errorf("got %s, want %s, for %s", got, w[1], w[0])
		}
	}
}

const denial = `[{"type":"deny","reason":"no"}]`

var draftMessageRules = []draftRule{
	{"D-VER-1", func(t *testing.T) {
		for _, v := range []string{"0.1", "2027-01-01", "Draft", "draft ", "DRAFT", ""} {
			answers(t, allow, draftOptions(), [2]string{strings.Replace(draftCall("a", denyCaps), `"draft"`, `"`+v+`"`, 1), "-32001"})
		}
		answers(t, allow, backend.Options{}, [2]string{draftCall("a", denyCaps), "-32001"})
	}},
	{"D-VER-2", func(t *testing.T) {
		for _, tt := range []struct {
			versions []ahp.Version
			want     string
		}{
			{[]ahp.Version{ahp.VersionDraft}, `"data":{"supported":["draft"]}`},
			{[]ahp.Version{ahp.Version01, ahp.VersionDraft}, `"data":{"supported":["0.1","draft"]}`},
			{nil, `"data":{"supported":["0.1"]}`},
		} {
			s := newServer(t, allow, backend.Options{Versions: tt.versions})
			b, err := s.Local(t.Context(), []byte(strings.Replace(draftCall("a", denyCaps), `"draft"`, `"7"`, 1)))
			if err != nil || !strings.Contains(string(b), tt.want) {
				t.Errorf("%s, %v; want %s", b, err, tt.want)
			}
		}
	}},
	{"D-VER-3", func(t *testing.T) {
		answers(t, returning(&ahp.Deny{Reason: "no"}), draftOptions(), [2]string{draftCall("first", denyCaps), denial})
	}},
	{"D-VER-4", func(t *testing.T) {
		var versions []ahp.Version
		h := func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
			versions = append(versions, r.Version)
			return nil, nil
		}
		both := backend.Options{Versions: []ahp.Version{ahp.Version01, ahp.VersionDraft}}
		odd := strings.Replace(request("o", "ls"), `"protocolVersion":"0.1"`, `"protocol\u0056ersion":"0\u002e1"`, 1)
		decoy := strings.Replace(draftCall("d", denyCaps), `"cmd":"ls"`, `"protocolVersion":"0.1"`, 1)
		decoy = strings.Replace(decoy, `"protocolVersion":"draft",`, "", 1)
		decoy = strings.Replace(decoy, `,"capabilities"`, `,"protocolVersion":"draft","capabilities"`, 1)
		answers(t, h, both, [2]string{request("a", "ls"), "[]"}, [2]string{draftCall("a", denyCaps), "[]"}, [2]string{odd, "[]"}, [2]string{decoy, "[]"})
		if want := []ahp.Version{ahp.Version01, ahp.VersionDraft, ahp.Version01, ahp.VersionDraft}; !slices.Equal(versions, want) {
			t.Errorf("the handler saw %v, want %v", versions, want)
		}
		// Neither takes the other's shape.
		answers(t, h, both,
			[2]string{strings.Replace(request("b", "ls"), "0.1", "draft", 1), "-32602"},
			[2]string{strings.Replace(draftCall("b", denyCaps), `"draft"`, `"0.1"`, 1), "-32602"},
			[2]string{strings.Replace(capabilitiesRequest, "draft", "0.1", 1), "-32601"})
	}},
	{"AHP-VER-001", func(t *testing.T) {
		s := newServer(t, returning(&ahp.Deny{Reason: "no"}), draftOptions(func(o *backend.Options) { o.Manifest = manifest(intercepting(ahp.ToolBefore)) }))
		for _, frame := range []string{draftCall("a", denyCaps), capabilitiesRequest} {
			if b, err := s.Local(t.Context(), []byte(frame)); err != nil || !bytes.Contains(b, []byte(`"result":{"protocolVersion":"draft",`)) {
				t.Errorf("%s, %v", b, err)
			}
		}
		answers(t, allow, draftOptions(), [2]string{strings.Replace(draftCall("a", denyCaps), `"protocolVersion":"draft",`, "", 1), "-32602"})
	}},
	{"AHP-RPC-001", func(t *testing.T) {
		ok := draftCall("a", denyCaps)
		answers(t, allow, draftOptions(),
			[2]string{"x", "-32700"}, [2]string{strings.Replace(ok, "ls", "l\xff", 1), "-32700"}, [2]string{ok + "x", "-32700"},
			[2]string{strings.Replace(ok, `"cmd"`, `"cmd":1,"cmd"`, 1), "-32700"},
			[2]string{strings.Replace(ok, "2.0", "1.0", 1), "-32600"}, [2]string{"7", "-32600"})
	}},
	{"AHP-RPC-002", func(t *testing.T) {
		var told atomic.Int32
		o := draftOptions(func(o *backend.Options) { o.Observe = func(context.Context, *backend.Request) { told.Add(1) } })
		asked := 0
		h := func(context.Context, *backend.Request) ([]ahp.Effect, error) { asked++; return nil, nil }
		answers(t, h, o, [2]string{draftCall("a", denyCaps), "[]"}, [2]string{draftNote(draftEvent("b", ahp.ToolBefore, toolPart)), "none"})
		if asked != 1 || told.Load() != 1 {
			t.Errorf("asked %d times, told %d times", asked, told.Load())
		}
		// The other kind of message is not one of the method.
		answers(t, h, o, [2]string{strings.Replace(draftCall("a", denyCaps), `"id":"a",`, "", 1), "none"},
			[2]string{strings.Replace(draftNote(draftEvent("b", ahp.ToolBefore, toolPart)), `"method"`, `"id":"b","method"`, 1), "-32601"},
			[2]string{strings.Replace(draftCall("a", denyCaps), "hooks/intercept", "hooks/configuration", 1), "-32601"})
		if asked != 1 {
			t.Error("a request without id was asked")
		}
	}},
	{"D-ENV-1", func(t *testing.T) {
		answers(t, allow, draftOptions(), [2]string{"[" + draftCall("a", denyCaps) + "]", "-32600"}, [2]string{"[]", "-32600"})
	}},
	{"D-ENV-2", func(t *testing.T) {
		other := draftRequest("b", draftEvent("a", ahp.ToolBefore, toolPart), denyCaps, "")
		answers(t, allow, draftOptions(), [2]string{other, "-32602"})
	}},
	{"D-ENV-3", func(t *testing.T) {
		s := newServer(t, allow, draftOptions())
		b, err := s.Local(t.Context(), []byte(strings.Replace(draftCall("a", denyCaps), `"id":"a"`, `"id":"\u0061"`, 1)))
		if want := `{"jsonrpc":"2.0","id":"\u0061","result":{"protocolVersion":"draft","effects":[]}}`; err != nil || string(b) != want {
			t.Errorf("%s, %v; want %s", b, err, want)
		}
	}},
	{"D-ENV-4", func(t *testing.T) {
		ok := draftNote(draftEvent("b", ahp.TurnEnd, `"turn":{"id":"t"},"outcome":"completed","continuationCount":0,"items":[]`))
		answers(t, allow, draftOptions(), [2]string{ok, "none"}, [2]string{strings.Replace(ok, "draft", "7", 1), "none"},
			[2]string{strings.Replace(ok, "turn.end", "turn.never", 1), "none"}, [2]string{strings.Replace(ok, `"outcome"`, `"x"`, 1), "none"},
			[2]string{strings.Replace(ok, "hooks/observe", "hooks/else", 1), "none"},
			[2]string{strings.Replace(capabilitiesRequest, `"id":7,`, "", 1), "none"})
	}},
	{"D-ENV-5", func(t *testing.T) {
		s := newServer(t, allow, draftOptions(func(o *backend.Options) { o.Manifest = manifest(intercepting(ahp.ToolBefore)) }))
		a, _ := s.Local(t.Context(), []byte(draftCall("a", denyCaps)))
		b, _ := s.Local(t.Context(), []byte(capabilitiesRequest))
		if bytes.Contains(a, []byte("manifest")) || !bytes.Contains(b, []byte("manifest")) || bytes.Contains(b, []byte(`},"effects"`)) {
			t.Errorf("%s\n%s", a, b)
		}
	}},
	{"D-ENV-7", func(t *testing.T) {
		h := func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
			if r.Principal != "" {
				t.Errorf("the principal is %q", r.Principal)
			}
			return nil, nil
		}
		forged := draftRequest("admin", draftEvent("admin", ahp.ToolBefore, toolPart+`,"extensions":{"com.example.principal":"root"}`), denyCaps,
			`,"extensions":{"com.example.principal":"root"}`)
		answers(t, h, draftOptions(), [2]string{forged, "[]"})
	}},
	{"AHP-CORE-003", func(t *testing.T) {
		open := strings.NewReplacer(`"jsonrpc"`, `"more":1,"jsonrpc"`, `"protocolVersion"`, `"more":1,"protocolVersion"`,
			`"source"`, `"harness":{"name":"x"},"source"`, `"effects"`, `"more":{},"effects"`).Replace(
			draftRequest("a", draftEvent("a", ahp.ToolBefore, toolPart+`,"session":{"id":"s","more":1}`), denyCaps,
				`,"state":{"permission":"none","candidate":null,"more":[]}`))
		answers(t, returning(&ahp.Deny{Reason: "no"}), draftOptions(), [2]string{open, denial})
	}},
	{"D-ENV-8", func(t *testing.T) {
		for _, place := range []string{`"call":{`, `"tool":{`} {
			answers(t, allow, draftOptions(), [2]string{strings.Replace(draftCall("a", denyCaps), place, place+`"more":1,`, 1), "-32602"})
		}
	}},
	{"D-ENV-9", func(t *testing.T) {
		answers(t, allow, draftOptions(),
			[2]string{strings.Replace(draftCall("a", denyCaps), "tool.before", "tool.error", 1), "-32002"},
			[2]string{strings.Replace(draftCall("a", denyCaps), "tool.before", "tool.progress", 1), "-32002"},
			[2]string{draftCall("a", `{"effects":["deny","forgive"]}`), "-32602"},
			[2]string{strings.Replace(draftCall("a", denyCaps), `"native","input"`, `"vendor","input"`, 1), "-32602"})
	}},
	{"D-ENV-10", func(t *testing.T) {
		answers(t, allow, draftOptions(), [2]string{strings.Replace(draftCall("a", denyCaps), `{"cmd":"ls"}`, `"{}"`, 1), "-32602"})
	}},
	{"D-ENV-11", func(t *testing.T) {
		answers(t, allow, draftOptions(),
			[2]string{strings.Replace(draftCall("a", denyCaps), `"id":"a"`, `"id":null`, 1), "-32600"},
			[2]string{strings.Replace(draftCall("a", denyCaps), `"id":"a"`, `"id":1.5`, 1), "-32600"},
			[2]string{strings.Replace(draftCall("a", denyCaps), `"id":"a"`, `"id":""`, 1), "-32600"},
			[2]string{strings.Replace(draftCall("a", denyCaps), `"id":"a"`, `"id":1`, 1), "-32602"}) // D-ENV-2
	}},
	{"D-EVT-6", func(t *testing.T) {
		end := draftEvent("a", ahp.TurnEnd, `"turn":{"id":"t"},"outcome":"completed","continuationCount":0,"items":[]`)
		answers(t, allow, draftOptions(), [2]string{draftRequest("a", end, denyCaps, ""), "-32002"}, [2]string{draftNote(end), "none"})
	}},
	{"D-STATE-1", func(t *testing.T) {
		var states []*ahp.State
		h := func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
			states = append(states, r.State)
			return nil, nil
		}
		answers(t, h, draftOptions(), [2]string{draftCall("a", denyCaps), "[]"}, [2]string{
			draftRequest("a", draftEvent("a", ahp.ToolBefore, toolPart), denyCaps, `,"state":{"permission":"ask","candidate":{"value":null},"flow":"none"}`), "[]",
		})
		if len(states) != 2 || states[0] != nil || states[1] == nil || states[1].Permission != ahp.PermissionAsk || string(states[1].Candidate.Value) != "null" {
			t.Errorf("states %+v", states)
		}
	}},
	{"D-APP-5", func(t *testing.T) {
		forged := draftRequest("a", draftEvent("a", ahp.ToolBefore, toolPart), denyCaps, `,"state":{"permission":"allow","candidate":null}`)
		answers(t, returning(&ahp.Deny{Reason: "no"}), draftOptions(), [2]string{forged, denial})
	}},
	{"D-ERR-1", func(t *testing.T) {
		for _, tt := range []struct {
			err  error
			code string
		}{{backend.ErrUnavailable, "-32003"}, {errors.New("x"), "-32004"}} {
			answers(t, func(context.Context, *backend.Request) ([]ahp.Effect, error) { return nil, tt.err }, draftOptions(),
				[2]string{draftCall("a", denyCaps), tt.code})
		}
	}},
	{"D-ERR-2", func(t *testing.T) {
		s := newServer(t, func(context.Context, *backend.Request) ([]ahp.Effect, error) { return nil, errors.New("s3cret") }, draftOptions())
		for _, frame := range []string{
			draftCall("a", denyCaps), strings.Replace(draftCall("a", denyCaps), `"ls"}`, `"s3cret"},"s3cret":1`, 1),
			strings.Replace(draftCall("a", denyCaps), `"draft"`, `"s3cret"`, 1), strings.Replace(draftCall("a", denyCaps), `tool.before`, `s3cret`, 1),
		} {
			b, err := s.Local(t.Context(), []byte(frame))
			if err != nil || !bytes.Contains(b, []byte(`"error"`)) || bytes.Contains(b, []byte("s3cret")) {
				t.Errorf("%s, %v", b, err)
			}
		}
	}},
	{"D-ERR-3", func(t *testing.T) {
		// Each frame has every fault from its own on.
		faults := []struct{ from, to, code string }{
			{`{"cmd":"ls"}`, `"ls"`, "-32602"},                           // event fields
			{`"effects":["deny"]`, `"effects":"deny"`, "-32602"},         // capabilities
			{`"type":"tool.before"`, `"type":"tool.never"`, "-32002"},    // event type
			{`"protocolVersion":"draft"`, `"protocolVersion":7`, "-326"}, // version, of the wrong sort
			{`"protocolVersion":7`, `"protocolVersion":"7"`, "-32001"},   // version
			{`hooks/intercept`, `hooks/never`, "-32601"},                 // method
			{`"jsonrpc":"2.0"`, `"jsonrpc":"2"`, "-32600"},               // shape
			{`"jsonrpc":"2"`, `"jsonrpc":2"`, "-32700"},                  // parse
		}
		s := newServer(t, allow, draftOptions())
		frame := draftCall("a", denyCaps)
		for _, f := range faults {
			frame = strings.Replace(frame, f.from, f.to, 1)
			if got := told(t, s, frame); !strings.HasPrefix(got, f.code) {
				t.Errorf("got %s, want %s for %s", got, f.code, frame)
			}
		}
		// What a server does not support comes where the order puts it, too.
		covered := draftOptions(func(o *backend.Options) { o.Manifest = manifest(intercepting(ahp.TurnStart)) })
		answers(t, allow, covered, [2]string{draftCall("a", `{"effects":"deny"}`), "-32002"})
		answers(t, allow, draftOptions(), [2]string{strings.Replace(capabilitiesRequest, "draft", "7", 1), "-32601"})
		answers(t, allow, covered, [2]string{strings.Replace(capabilitiesRequest, "draft", "7", 1), "-32001"})
	}},
	{"D-DISC-1", func(t *testing.T) {
		asked := false
		h := func(context.Context, *backend.Request) ([]ahp.Effect, error) { asked = true; return nil, nil }
		o := draftOptions(func(o *backend.Options) { o.Manifest = manifest(intercepting(ahp.ToolBefore)) })
		s := newServer(t, h, o)
		got := told(t, s, capabilitiesRequest)
		if !strings.HasPrefix(got, `{"events":[{"event":"tool.before","modes":["intercept"],"capabilities":{"effects":["deny"]}}]`) || asked {
			t.Errorf("%s, asked %v", got, asked)
		}
		b, err := s.Local(t.Context(), []byte(strings.Replace(capabilitiesRequest, `"id":7`, `"id":"x"`, 1)))
		if err != nil || !bytes.HasPrefix(b, []byte(`{"jsonrpc":"2.0","id":"x","result":`)) {
			t.Errorf("%s, %v", b, err)
		}
	}},
	{"D-DISC-4", func(t *testing.T) {
		m := manifest()
		m.Unknown = ahp.Members{{Name: "identity", Value: ahp.Raw("{}")}}
		_, err := backend.New(backend.HandlerFunc(allow), draftOptions(func(o *backend.Options) { o.Manifest = m }))
		if err == nil || !strings.Contains(err.Error(), "manifest") {
			t.Errorf("error %v", err)
		}
	}},
}

var draftRepeatRules = []draftRule{
	{"D-RETRY-4", func(t *testing.T) {
		state := func(p string) string {
			return draftRequest("a", draftEvent("a", ahp.ToolBefore, toolPart), allCaps, `,"state":{"permission":"`+p+`","candidate":null}`)
		}
		asked := 0
		s := newServer(t, func(context.Context, *backend.Request) ([]ahp.Effect, error) {
			asked++
			return []ahp.Effect{&ahp.Deny{Reason: fmt.Sprint(asked)}}, nil
		}, draftOptions())
		respelled := strings.NewReplacer(`"permission":"none","candidate":null`, `"candidate" : null, "permission":"n\u006fne"`).Replace(state("none"))
		envelope := strings.Replace(state("none"), `"jsonrpc"`, `"more":1,"jsonrpc"`, 1)
		for _, tt := range []struct {
			frame string
			want  string
		}{
			{state("none"), "1"},
			{state("none"), "1"},
			{state("ask"), "2"},
			{state("none"), "1"},
			{respelled, "1"},
			{envelope, "1"},
			{draftCall("a", allCaps), "3"},
			{draftCall("a", denyCaps), "4"},
			{state("ask"), "2"},
			{draftCall("a", denyCaps), "4"},
			{strings.Replace(state("none"), `"ls"`, `"ps"`, 1), "5"},
			{strings.Replace(state("none"), "urn:example:h", "urn:example:i", 1), "6"},
			{draftRequest("a", draftEvent("a", ahp.ToolBefore, toolPart), allCaps, `,"extensions":{}`), "7"},
		} {
			if got := told(t, s, tt.frame); got != `[{"type":"deny","reason":"`+tt.want+`"}]` {
				t.Errorf("got %s, want %s for %s", got, tt.want, tt.frame)
			}
		}
	}},
	{"D-RETRY-3", func(t *testing.T) { // two subscriptions, equal deliveries at the same time: one evaluation, two answers
		synctest.Test(t, func(t *testing.T) {
			var asked atomic.Int32
			release := make(chan struct{})
			s := newServer(t, func(context.Context, *backend.Request) ([]ahp.Effect, error) {
				asked.Add(1)
				<-release
				return []ahp.Effect{&ahp.Deny{Reason: "no"}}, nil
			}, draftOptions())
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					if got := told(t, s, draftCall("a", denyCaps)); got != denial {
						t.Errorf("got %s", got)
					}
				})
			}
			synctest.Wait()
			close(release)
			wg.Wait()
			if n := asked.Load(); n != 1 {
				t.Errorf("asked %d times", n)
			}
		})
	}},
	{"AHP-CORE-004", func(t *testing.T) {
		large := strings.Repeat("x", 140<<10)
		frame := strings.Replace(draftCall("a", denyCaps), `"ls"`, `"`+large+`"`, 1)
		asked := 0
		s := newServer(t, func(context.Context, *backend.Request) ([]ahp.Effect, error) {
			asked++
			return []ahp.Effect{&ahp.Deny{Reason: fmt.Sprint(asked)}}, nil
		}, draftOptions())
		for _, f := range []string{frame, frame, strings.Replace(frame, `"cmd":`, `"cmd" : `, 1)} {
			if got := told(t, s, f); got != `[{"type":"deny","reason":"1"}]` {
				t.Error(got)
			}
		}
		if got := told(t, s, strings.Replace(frame, "xx", "xy", 1)); got != `[{"type":"deny","reason":"2"}]` {
			t.Error(got)
		}
	}},
}

var draftCarrierRules = []draftRule{
	{"AHP-STDIO-001", func(t *testing.T) {
		s := newServer(t, returning(&ahp.Deny{Reason: "two\nlines"}), draftOptions())
		in, send, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		receive, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.ServeStdio(t.Context(), in, out) }()
		answers := bufio.NewScanner(receive)
		for i := range 3 {
			fmt.Fprintln(send, draftNote(draftEvent("n", ahp.ToolBefore, toolPart)))
			fmt.Fprintln(send, draftCall(fmt.Sprint("a", i), denyCaps))
			if !answers.Scan() || gist(t, answers.Bytes()) != `[{"type":"deny","reason":"two\nlines"}]` {
				t.Errorf("got %q", answers.Text())
			}
		}
		send.Close()
		if err := <-served; err != nil {
			t.Error(err)
		}
		out.Close()
		if answers.Scan() {
			t.Errorf("one line too many: %q", answers.Text())
		}
		in.Close()
		receive.Close()
	}},
	{"D-IO-1", func(t *testing.T) {
		got := gists(t, newServer(t, allow, draftOptions()), strings.ReplaceAll(draftCall("a", denyCaps), `,"method"`, ",\n\"method\"")+"\n")
		if !slices.Equal(got, []string{"-32700", "-32700"}) {
			t.Error(got)
		}
	}},
	{"D-IO-4", func(t *testing.T) {
		for _, end := range []string{"\n", ""} {
			if got := gists(t, newServer(t, returning(&ahp.Deny{Reason: "no"}), draftOptions()), draftCall("a", denyCaps)+end); !slices.Equal(got, []string{denial}) {
				t.Error(got)
			}
		}
	}},
	{"D-IO-8", func(t *testing.T) {
		s := newServer(t, allow, draftOptions(func(o *backend.Options) { o.Manifest = manifest() }))
		if got := gists(t, s, capabilitiesRequest+"\n"); len(got) != 1 || !strings.HasPrefix(got[0], `{"events":[]`) {
			t.Error(got)
		}
	}},
	{"AHP-HTTP-001", func(t *testing.T) {
		draftPosts(t, post{body: draftCall("a", denyCaps), status: 200, want: denial},
			post{body: draftCall("a", denyCaps) + draftCall("b", denyCaps), status: 200, want: "-32700"},
			post{body: "[" + draftCall("a", denyCaps) + "]", status: 200, want: "-32600"})
	}},
	{"D-HTTP-1", func(t *testing.T) {
		draftPosts(t, post{body: draftCall("a", denyCaps), header: [2]string{"Content-Type", "text/json"}, status: 415, want: typeHelp},
			post{body: draftCall("a", denyCaps), header: [2]string{"Content-Type", ""}, status: 415, want: typeHelp},
			post{body: draftCall("a", denyCaps), header: [2]string{"Content-Type", "application/json; charset=utf-8"}, status: 200, want: denial})
	}},
	{"D-HTTP-2", func(t *testing.T) {
		draftPosts(t, post{body: draftCall("a", denyCaps), status: 200, want: denial}, post{body: capabilitiesRequest, status: 200, prefix: `{"events":[`},
			post{body: draftCall("a", `{}`), status: 200, want: "-32602"})
	}},
	{"D-HTTP-3", func(t *testing.T) {
		draftPosts(t, post{body: draftNote(draftEvent("a", ahp.ToolBefore, toolPart)), status: 204, want: "none"},
			post{body: draftNote(draftEvent("a", ahp.HookFailure, `"parentEventId":"x","failure":{"backendId":"a.b","reason":"r","policy":"fail-open"}`)), status: 204, want: "none"},
			post{body: draftNote(draftEvent("a", "tool.never", toolPart)), status: 400, want: "none"})
	}},
	{"D-HTTP-6", func(t *testing.T) {
		for _, m := range []string{"GET", "HEAD", "PUT", "DELETE", "OPTIONS"} {
			want := methodHelp
			if m == "HEAD" {
				want = "none"
			}
			draftPosts(t, post{method: m, body: draftCall("a", denyCaps), status: 405, want: want})
		}
	}},
	{"D-HTTP-9", func(t *testing.T) {
		var open sync.WaitGroup
		open.Add(2)
		s := newServer(t, func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
			open.Done()
			open.Wait() // neither is answered before both are open
			return []ahp.Effect{&ahp.Deny{Reason: r.Event.ID}}, nil
		}, draftOptions())
		srv := httptest.NewServer(s)
		defer srv.Close()
		var wg sync.WaitGroup
		for _, id := range []string{"a", "b"} {
			wg.Go(func() {
				if _, got := draftPost(t, srv, post{body: draftCall(id, denyCaps)}); got != `[{"type":"deny","reason":"`+id+`"}]` {
					t.Errorf("%s: %s", id, got)
				}
			})
		}
		wg.Wait()
	}},
	{"D-AUTH-8", func(t *testing.T) {
		h := func(context.Context, *backend.Request) ([]ahp.Effect, error) { t.Error("asked"); return nil, nil }
		o := draftOptions(func(o *backend.Options) {
			o.Authenticate = backend.BearerToken("t0ken", "agent")
			o.Authorize = func(r *http.Request, principal string) bool {
				if principal != "agent" {
					t.Errorf("authorizes %q", principal)
				}
				return r.Header.Get("X-Tenant") == "9"
			}
			o.Observe = func(context.Context, *backend.Request) { t.Error("told") }
			o.Manifest = manifest(intercepting(ahp.ToolBefore))
		})
		srv := httptest.NewServer(newServer(t, h, o))
		defer srv.Close()
		for _, body := range []string{draftCall("a", denyCaps), draftNote(draftEvent("a", ahp.ToolBefore, toolPart)), capabilitiesRequest, "x"} {
			if status, got := draftPost(t, srv, post{body: body}); status != 401 || got != "none" {
				t.Errorf("%d %s", status, got)
			}
			if status, got := draftPost(t, srv, post{body: body, header: [2]string{"Authorization", "Bearer t0ken"}}); status != 403 || got != "none" {
				t.Errorf("%d %s", status, got)
			}
		}
	}},
	{"D-DISC-3", func(t *testing.T) {
		o := draftOptions(func(o *backend.Options) {
			o.Authenticate = backend.BearerToken("t0ken", "agent")
			o.Manifest = manifest()
		})
		srv := httptest.NewServer(newServer(t, allow, o))
		defer srv.Close()
		if status, _ := draftPost(t, srv, post{body: capabilitiesRequest}); status != 401 {
			t.Error(status)
		}
		if status, _ := draftPost(t, srv, post{body: capabilitiesRequest, header: [2]string{"Authorization", "Bearer t0ken"}}); status != 200 {
			t.Error(status)
		}
	}},
}

// TestWhatABackendCovers holds the reading D-AMB-9: without a manifest the method is
// unknown, and with one its events are all there is. Params may hold more (D-AMB-10).
func TestWhatABackendCovers(t *testing.T) {
	answers(t, allow, draftOptions(), [2]string{capabilitiesRequest, "-32601"})
	answers(t, allow, backend.Options{}, [2]string{capabilitiesRequest, "-32601"})
	covered := draftOptions(func(o *backend.Options) { o.Manifest = manifest(intercepting(ahp.TurnStart)) })
	answers(t, allow, covered, [2]string{draftCall("a", denyCaps), "-32002"},
		[2]string{draftRequest("b", draftEvent("b", ahp.TurnStart, turnPart), denyCaps, ""), "[]"},
		[2]string{draftNote(draftEvent("c", ahp.ToolBefore, toolPart)), "none"})
	s := newServer(t, allow, covered)
	if got := told(t, s, strings.Replace(capabilitiesRequest, `"params":{`, `"params":{"more":1,`, 1)); !strings.HasPrefix(got, `{"events":[{"event":"turn.start"`) {
		t.Error(got)
	}
}

// gists runs all of in through a server and returns the gists of the answers, sorted.
func gists(t *testing.T, s *backend.Server, in string) []string {
	t.Helper()
	var out bytes.Buffer
	if err := s.ServeStdio(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range bytes.Lines(out.Bytes()) {
		got = append(got, gist(t, line))
	}
	slices.Sort(got)
	return got
}

type post struct {
	method string // POST when empty
	body   string
	header [2]string
	status int
	want   string
	prefix string // in the place of want
}

// draftPosts sends each to a real server that denies everything.
func draftPosts(t *testing.T, posts ...post) {
	t.Helper()
	srv := httptest.NewServer(newServer(t, returning(&ahp.Deny{Reason: "no"}), draftOptions(func(o *backend.Options) {
		o.Observe = func(context.Context, *backend.Request) {}
		o.Manifest = manifest(intercepting(ahp.ToolBefore))
		o.Limits = wire01.Limits{MaxBytes: 4000}
	})))
	defer srv.Close()
	for _, p := range posts {
		status, got := draftPost(t, srv, p)
		if status != p.status || got != p.want && (p.prefix == "" || !strings.HasPrefix(got, p.prefix)) {
			t.Errorf("%d %s, want %d %s for %s", status, got, p.status, p.want+p.prefix, p.body)
		}
	}
}

func draftPost(t *testing.T, srv *httptest.Server, p post) (status int, answer string) {
	t.Helper()
	method := p.method
	if method == "" {
		method = http.MethodPost
	}
	req, err := http.NewRequestWithContext(t.Context(), method, srv.URL, strings.NewReader(p.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if p.header[0] != "" {
		req.Header.Set(p.header[0], p.header[1])
	}
	resp, err := srv.Client().Do(req)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Error(err)
	}
	if len(b) > 0 && resp.Header.Get("Content-Type") != "application/json" {
		t.Errorf("content type %q", resp.Header.Get("Content-Type"))
	}
	if resp.StatusCode != http.StatusOK && len(b) > 0 {
		return resp.StatusCode, string(b)
	}
	return resp.StatusCode, gist(t, b)
}
