package harness_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

// fullManifest covers every event with all that the revision allows.
func fullManifest() *ahp.Manifest {
	m := &ahp.Manifest{
		Transports: []string{"http", "stdio", "in_process"}, Authentication: []string{"bearer"},
		ToolPaths: []string{"native", "mcp"}, ContentCategories: []string{"text", "reasoning"},
		Limits:        ahp.ManifestLimits{MaxContinuations: new(int64(2))},
		Gaps:          []ahp.Gap{{Path: "limits.maxUploadBytes", Reason: "attachments are not uploaded"}},
		ManagedPolicy: ahp.ManagedPolicy{Scopes: []ahp.Scope{ahp.ScopeManaged, ahp.ScopeUser, ahp.ScopeProject}},
		Correlation:   []string{"session.id"},
	}
	for _, t := range ahp.DraftEvents() {
		e := ahp.ManifestEvent{Event: t, Modes: []ahp.Mode{ahp.ModeObserve}}
		if t.Interceptable(ahp.VersionDraft) {
			e.Modes = append(e.Modes, ahp.ModeIntercept)
			c := ahp.Bounds(t)
			if c.Flow != nil && c.Flow.Continue {
				c.Flow.Remaining, c.Flow.Count = new(int64(1)), new(int64(0))
			}
			e.Capabilities = &c
		}
		m.Events = append(m.Events, e)
	}
	return m
}

func draftOptions(rec harness.Recorder) harness.Options {
	return harness.Options{
		Source: "urn:example:test", Recorder: rec, Manifest: fullManifest(),
		Transport: transport.Options{Grace: 200 * time.Millisecond, MaxAnswerBytes: 256 << 10},
	}
}

// openDraft makes a harness of revision draft over backends and closes it with the
// test.
func openDraft(t testing.TB, edit func(*harness.Options), backends ...ahp.Backend) *rig {
	t.Helper()
	r := &rig{rec: &memory{}, log: &lockedBuffer{}}
	o := draftOptions(r.rec)
	o.Logger = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	if edit != nil {
		edit(&o)
	}
	h, err := harness.New(&ahp.Registration{Version: ahp.VersionDraft, Hooks: backends}, o)
	if err != nil {
		t.Fatal(err)
	}
	r.Harness = h
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := h.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

// sub makes a subscription that sees everything.
func sub(mode ahp.Mode, policy ahp.FailurePolicy, events ...ahp.EventType) ahp.Subscription {
	s := ahp.Subscription{Mode: mode, Events: events, Content: ahp.ContentSelection{Default: ahp.SelectBody}}
	if mode == ahp.ModeIntercept {
		s.Timeout, s.FailurePolicy = long, policy
	}
	return s
}

func asks(policy ahp.FailurePolicy, events ...ahp.EventType) ahp.Subscription {
	return sub(ahp.ModeIntercept, policy, events...)
}

func watches(events ...ahp.EventType) ahp.Subscription {
	return sub(ahp.ModeObserve, "", events...)
}

func backendOf(id string, tr ahp.Transport, subs ...ahp.Subscription) ahp.Backend {
	return ahp.Backend{ID: id, Transport: tr, Subscriptions: subs}
}

// A message is what a local backend got, as far as tests look at it.
type message struct {
	ID     *string `json:"id"`
	Method string  `json:"method"`
	Params struct {
		ProtocolVersion string                     `json:"protocolVersion"`
		Event           map[string]json.RawMessage `json:"event"`
		Capabilities    json.RawMessage            `json:"capabilities"`
		State           *struct {
			Permission string          `json:"permission"`
			Candidate  json.RawMessage `json:"candidate"`
			Flow       string          `json:"flow"`
			Injections []any           `json:"injections"`
		} `json:"state"`
	} `json:"params"`
	raw string
}

// A peer is a local backend that answers with effects, and keeps what it got.
type peer struct {
	mu   sync.Mutex
	got  []message
	says func(m message) string // the effects array, or a whole answer; nil says []
}

func says(effects string) *peer { return &peer{says: func(message) string { return effects }} }

func (p *peer) local(_ context.Context, frame []byte) ([]byte, error) {
	var m message
	if err := json.Unmarshal(frame, &m); err != nil {
		return nil, err
	}
	m.raw = string(frame)
	p.mu.Lock()
	p.got = append(p.got, m)
	p.mu.Unlock()
	if m.ID == nil {
		return nil, nil
	}
	effects := "[]"
	if p.says != nil {
		effects = p.says(m)
	}
	if strings.HasPrefix(effects, "{") {
		return []byte(effects), nil
	}
	return []byte(draftAnswer(*m.ID, effects)), nil
}

func draftAnswer(id, effects string) string {
	return `{"jsonrpc":"2.0","id":"` + id + `","result":{"protocolVersion":"draft","effects":` + effects + `}}`
}

// all returns what the peer got so far; asked and told only one kind.
func (p *peer) all() []message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.got)
}

func (p *peer) asked() []message {
	return slices.DeleteFunc(p.all(), func(m message) bool { return m.ID == nil })
}

func (p *peer) told() []message {
	return slices.DeleteFunc(p.all(), func(m message) bool { return m.ID != nil })
}

// A cast is peers by backend id, in the order of the registration.
type cast struct {
	backends []ahp.Backend
	local    map[string]transport.Local
}

func (c *cast) add(id string, p *peer, subs ...ahp.Subscription) *peer {
	if c.local == nil {
		c.local = map[string]transport.Local{}
	}
	c.local[id] = p.local
	c.backends = append(c.backends, backendOf(id, &ahp.LocalTransport{}, subs...))
	return p
}

func (c *cast) open(t testing.TB, edit func(*harness.Options)) *rig {
	t.Helper()
	return openDraft(t, func(o *harness.Options) {
		o.Local = c.local
		if edit != nil {
			edit(o)
		}
	}, c.backends...)
}

func draftTool() *ahp.Event {
	return &ahp.Event{
		Type:    ahp.ToolBefore,
		Session: ahp.Session{ID: "s-88", CWD: "/srv/app", WorkspaceRoots: []string{"/srv/app"}, Model: "m-1"},
		Turn:    &ahp.Turn{ID: "turn-1"},
		Tool: &ahp.Tool{
			CallID: "tc-9001", Name: "run_command", Kind: ahp.KindShell, Origin: ahp.OriginNative, Path: "native",
			Input: ahp.Raw(`{"cmd":"terraform destroy","timeoutSec":60}`),
		},
	}
}

func textMessage(id string, role ahp.Role, texts ...string) ahp.Message {
	m := ahp.Message{ID: id, Role: role, Parts: []ahp.Part{}}
	for i, text := range texts {
		m.Parts = append(m.Parts, ahp.TextPart(id+"/"+string(rune('a'+i)), text))
	}
	return m
}

// everyEvent is one event of each of the 32 types.
func everyEvent(t testing.TB, typ ahp.EventType) *ahp.Event {
	t.Helper()
	ev := &ahp.Event{Type: typ, Session: ahp.Session{ID: "s-1"}, Turn: &ahp.Turn{ID: "turn-1"}}
	msgs := func(role ahp.Role) []ahp.Message {
		return []ahp.Message{textMessage("m-1", role, "first text of the event")}
	}
	text := []ahp.Part{ahp.TextPart("p-1", "first text of the event")}
	model := ahp.Model{ID: "m", Provider: "p"}
	attempt := ahp.Attempt{ID: "a-1", Number: 1}
	if typ.HasTool() {
		ev.Tool = &ahp.Tool{CallID: "c-1", Name: "run", Origin: ahp.OriginNative, Path: "native", Input: ahp.Raw(`{"cmd":"ls"}`)}
	}
	switch typ {
	case ahp.SessionStart:
		ev.Messages = msgs(ahp.RoleDeveloper)
		ev.Body = &ahp.SessionStartBody{
			Trigger: "startup", Harness: ahp.Product{Name: "test", Version: "1"}, PermissionMode: "ask", Manifest: *fullManifest(),
		}
	case ahp.SessionEnd:
		ev.Outcome = ahp.OutcomeCompleted
		ev.Body = &ahp.SessionEndBody{Reason: "done"}
	case ahp.TurnStart:
		ev.Messages, ev.Body = msgs(ahp.RoleUser), &ahp.TurnStartBody{Trigger: "user"}
	case ahp.TurnFinishBefore, ahp.TurnEnd:
		ev.Messages, ev.Body = msgs(ahp.RoleAssistant), &ahp.TurnFinishBody{Outcome: ahp.TurnCompleted}
	case ahp.TurnProgress:
		ev.Body = &ahp.TurnProgressBody{Item: ahp.Ref{ID: "m-1"}, Delta: msgs(ahp.RoleAssistant)[0]}
	case ahp.ModelRequestBefore:
		ev.Messages, ev.Body = msgs(ahp.RoleUser), &ahp.ModelRequestBody{Model: model, Attempt: attempt, Params: ahp.Raw(`{"temperature":1}`)}
	case ahp.ModelResponseAfter:
		ev.Messages, ev.Body = msgs(ahp.RoleAssistant), &ahp.ModelResponseBody{Model: model, Attempt: attempt, FinishReason: "stop"}
	case ahp.ModelError:
		ev.Body = &ahp.ModelErrorBody{Model: model, Attempt: attempt, Error: ahp.EventError{Class: "busy", Message: "try later"}}
	case ahp.ModelSwitchBefore:
		ev.Body = &ahp.ModelSwitchBody{Current: model, Proposed: &ahp.Model{ID: "n", Provider: "p"}, Reason: "cost"}
	case ahp.ModelSwitchAfter:
		ev.Body = &ahp.ModelSwitchBody{Previous: &model, Current: ahp.Model{ID: "n", Provider: "p"}, Reason: "cost"}
	case ahp.ToolBefore:
	case ahp.ToolPermissionRequest:
		ev.Body = &ahp.PermissionRequestBody{Suggestions: []ahp.Raw{}}
	case ahp.ToolPermissionResolved:
		ev.Body = &ahp.PermissionResolvedBody{Decision: "allow", DecidedBy: "user"}
	case ahp.ToolProgress:
		ev.Body = &ahp.ToolProgressBody{PartialOutput: msgs(ahp.RoleTool)[0]}
	case ahp.ToolAfter:
		ev.Messages, ev.Body = msgs(ahp.RoleTool), &ahp.ToolAfterBody{Outcome: ahp.ToolOK}
	case ahp.ToolBatchAfter:
		ev.Body = &ahp.BatchBody{Batch: ahp.Batch{ID: "b-1"}, Calls: []ahp.BatchCall{{
			Tool:    ahp.Tool{CallID: "c-1", Name: "run", Origin: ahp.OriginNative, Path: "native", Input: ahp.Raw(`{}`)},
			Outcome: ahp.ToolOK,
		}}}
	case ahp.CompactBefore:
		ev.Messages, ev.Body = msgs(ahp.RoleUser), &ahp.CompactBeforeBody{Trigger: "auto", Instructions: text}
	case ahp.CompactAfter:
		ev.Body = &ahp.CompactAfterBody{Summary: text, Removed: []string{"m-0"}}
	case ahp.ConfigChangeBefore, ahp.ConfigChangeAfter:
		ev.Body = &ahp.ConfigChangeBody{Source: "file", Scope: "user", Summary: "theme", Settings: []string{"theme"}}
	case ahp.TaskChangeBefore, ahp.TaskChangeAfter:
		ev.Body = &ahp.TaskChangeBody{ID: "t-1", Operation: "update", Change: ahp.Raw(`{"status":"done"}`)}
	case ahp.WorkspaceChangeBefore, ahp.WorkspaceChangeAfter:
		ev.Body = &ahp.WorkspaceChangeBody{Kind: "cwd", Change: ahp.WorkspaceState{CWD: "/srv/b"}}
	case ahp.FileChanged:
		ev.Body = &ahp.FileChangedBody{Changes: []ahp.FileChange{{Path: "a.md", Operation: "create", AgentCaused: true, After: &text[0]}}}
	case ahp.UserAttention:
		ev.Body = &ahp.AttentionBody{Kind: "idle", Message: text, Title: []ahp.Part{}}
	case ahp.ElicitationRequest:
		p := ahp.TextPart("p-1", `{"message":"Which day?","requestedSchema":{"type":"object","properties":{"day":{"type":"string"}}}}`)
		ev.Body = &ahp.ElicitationBody{Server: "calendar", Mode: "form", Content: &p}
	case ahp.ElicitationResult:
		p := ahp.TextPart("p-1", `{"action":"accept","content":{"day":"monday"}}`)
		ev.Body = &ahp.ElicitationBody{Server: "calendar", Mode: "form", Action: "accept", Content: &p}
	case ahp.MessageInbound:
		ev.Messages, ev.Body = msgs(ahp.RoleUser), &ahp.UserMessageBody{Channel: "chat", Sender: "anna"}
	case ahp.MessageOutbound:
		ev.Messages, ev.Body = msgs(ahp.RoleAssistant), &ahp.UserMessageBody{Channel: "chat"}
	case ahp.HookFailure:
		ev.Parent = "ev-0"
		ev.Body = &ahp.HookFailureBody{BackendID: "net.acme.other", Reason: "deadline exceeded", Policy: ahp.FailOpen}
	default:
		t.Fatalf("no sample of %s", typ)
	}
	return ev
}

// Every event of the revision goes through one engine: the interceptable ones ask,
// and all of them tell.
func TestEveryEvent(t *testing.T) {
	n := 0
	for _, typ := range ahp.DraftEvents() {
		t.Run(string(typ), func(t *testing.T) {
			n++
			var c cast
			asked := c.add("net.acme.a", says("[]"), asks(ahp.FailClosed, "*"))
			told := c.add("net.acme.b", &peer{}, watches("*"))
			h := c.open(t, nil)
			s, err := settleOne(t, h, everyEvent(t, typ))
			if err != nil || s.State != settle.Proceed {
				t.Errorf("settled %s by %s (%s), %v: %s", s.State, s.By, s.Class, err, h.log.String())
			}
			want := 0
			if typ.Interceptable(ahp.VersionDraft) {
				want = 1
			}
			if got := len(asked.all()); got != want {
				t.Errorf("the interceptor got %d messages, want %d", got, want)
			}
			if got := told.told(); len(got) != 1 || got[0].Method != "hooks/observe" {
				t.Errorf("the observer got %d notifications, want 1: %s", len(got), h.log.String())
			}
		})
	}
	if n != 32 {
		t.Errorf("%d events, want 32", n)
	}
}

// What a request's state holds is content too: a subscription sees of it what it
// selects (AHP-CONTENT-002).
func TestStateFollowsSelection(t *testing.T) {
	supplies := `{"type":"return","value":[{"id":"m-s","role":"assistant","parts":[{"id":"p-s","kind":"text","mediaType":"text/plain","selection":"body","text":"SUPPLIED"}]}]}`
	injects := `{"type":"inject","target":"context","operation":"append","deliverAt":"now","value":[{"id":"m-i","role":"developer","parts":[{"id":"p-i","kind":"text","mediaType":"text/plain","selection":"body","text":"INJECTED"}]}]}`
	for _, tt := range []struct {
		ev      *ahp.Event
		effects string
		secret  []string
		hidden  []string // stands there in place of it
	}{
		{everyEvent(t, ahp.ModelRequestBefore), list(supplies, injects), []string{"SUPPLIED", "INJECTED"}, []string{`"m-s"`, `"m-i"`, `"selection":"omit"`}},
		{draftTool(), list(`{"type":"return","value":{"x":"SUPPLIED"}}`, injects), []string{"SUPPLIED", "INJECTED"}, []string{`"value":null`, `"withheld":true`, `"m-i"`}},
		{everyEvent(t, ahp.TurnFinishBefore), `[{"type":"flow","operation":"continue","instruction":"INSTRUCTED"}]`, []string{"INSTRUCTED"}, []string{`"flow":"continue"`, `"instructions":[]`}},
	} {
		var k cast
		k.add("net.acme.first", says(tt.effects), asks(ahp.FailClosed, "*"))
		all := k.add("net.acme.all", says("[]"), asks(ahp.FailClosed, "*"))
		none := k.add("net.acme.none", says("[]"), selecting(asks(ahp.FailClosed, "*"), selection(ahp.SelectOmit)))
		h := k.open(t, nil)
		if _, err := settleOne(t, h, tt.ev); err != nil {
			t.Fatalf("%v: %s", err, h.log.String())
		}
		wantIn(t, all.asked()[0], tt.secret, "withheld")
		wantIn(t, none.asked()[0], tt.hidden, tt.secret...)
	}
}

// A tellCarrier is a caller's own carrier whose Tell does as it likes.
type tellCarrier struct {
	peerCarrier
	tell func(frame []byte)
}

func (c *tellCarrier) Tell(_ context.Context, frame []byte) *ahp.Failure { c.tell(frame); return nil }

// Nothing is begun for a call that has ended, even where the carrier would not notice
// (D-INT-3).
func TestNothingIsBegunForTheGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	told := 0
	mine := &tellCarrier{tell: func([]byte) {
		mu.Lock()
		defer mu.Unlock()
		told++
		cancel()
	}}
	h := openDraft(t, func(o *harness.Options) {
		o.Carriers = map[string]transport.Carrier{"net.acme.a": mine}
	}, backendOf("net.acme.a", &ahp.HTTPTransport{URL: "https://a.example"}, watches("*"), watches("tool.*"), watches("tool.before")))
	c := h.Begin(ctx, draftTool())
	if s, err := c.Settle(); !s.Proceeds() || err != nil {
		t.Fatal(s.State, err)
	}
	_ = c.Wait(t.Context())
	mu.Lock()
	defer mu.Unlock()
	if told != 1 || h.Stats().ObserveFailed != 2 {
		t.Errorf("told %d times, %+v", told, h.Stats())
	}
}

// A call that ends just before its question is sent sends none, whatever the carrier.
func TestNothingIsAskedForTheGone(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	p := says("[]")
	h := openDraft(t, func(o *harness.Options) {
		o.Carriers = carriersOf(map[string]*peer{"net.acme.a": p})
	}, backendOf("net.acme.a", &ahp.HTTPTransport{URL: "https://a.example"}, asks(ahp.FailOpen, "*")))
	harness.SetStep(h.Harness, func(step string) {
		if step == "send" {
			cancel()
		}
	})
	s, _ := h.Begin(ctx, draftTool()).Settle()
	if s.State != settle.Interrupted || len(p.all()) != 0 {
		t.Errorf("%s, %d messages", s.State, len(p.all()))
	}
}

// Answers to an elicitation are held against the form that was shown (D-EL-5).
func TestElicitationAnswersFitTheForm(t *testing.T) {
	for effects, want := range map[string]bool{
		`[{"type":"return","value":{"action":"accept","content":{"day":"friday"}}}]`: true,
		`[{"type":"return","value":{"action":"decline"}}]`:                           true,
		`[{"type":"return","value":{"action":"accept","content":{"day":5}}}]`:        false,
		`[{"type":"return","value":{"action":"decline","content":{"day":"x"}}}]`:     false,
	} {
		_, _, s, h := chainDraft(t, ahp.FailOpen, everyEvent(t, ahp.ElicitationRequest), nil, effects)
		if (s.State == settle.Supplied) != want || s.FailedOpen == want {
			t.Errorf("%s: %s (%s)", effects, s.State, h.rec.one(t).Hops[0].Class)
		}
	}
}

// A repeated text must not make an interceptor blind: what it selects and cannot be
// shown is a failure, under its policy, and no question with a hole in it (D-SEL-6).
func TestCopiesDoNotBlind(t *testing.T) {
	seen := selection(ahp.SelectBody, "reasoning", "omit", "images", "omit")
	repeated := reasoned(t)
	repeated.Messages[1].Parts[0] = ahp.TextPart("p-text", secretText)
	short := reasoned(t)
	short.Messages[0].Parts[0].Text, short.Messages[1].Parts[0].Text = new("ok"), new("ok")
	inInput := draftTool()
	inInput.Parts = []ahp.Part{ahp.TextPart("p", "terraform destroy")}
	for _, tt := range []struct {
		name string
		ev   *ahp.Event
		c    ahp.ContentSelection
		want int // times asked
	}{
		{"nothing repeated", reasoned(t), seen, 1},
		{"a short text repeated", short, seen, 1},
		{"a part repeated", repeated, seen, 0},
		{"a part in the input", inInput, selection(ahp.SelectOmit), 0},
		{"the same, seen", inInput, selection(ahp.SelectBody), 1},
	} {
		// Whatever the policy: who writes both texts must not choose who is asked.
		for _, policy := range []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed} {
			var k cast
			p := k.add("net.acme.a", says("[]"), selecting(asks(policy, "*"), tt.c))
			h := k.open(t, nil)
			s, err := settleOne(t, h, tt.ev)
			state := settle.Proceed
			if tt.want == 0 {
				state = settle.Denied
			}
			if s.State != state || err != nil || len(p.asked()) != tt.want || (h.rec.one(t).Hops[0].Class == ahp.FailEvent) != (tt.want == 0) {
				t.Errorf("%s, %s: %s, %v, asked %d times", tt.name, policy, s.State, err, len(p.asked()))
			}
		}
	}
}

// A host hears of its own fault also where only observers would have got the event.
func TestMalformedEventForObservers(t *testing.T) {
	for _, ev := range []*ahp.Event{
		{Type: ahp.TurnEnd}, // without a turn
		{Type: ahp.SessionStart, Session: ahp.Session{ID: "s"}, Body: &ahp.SessionStartBody{Trigger: "fork"}},
	} {
		var k cast
		p := k.add("net.acme.a", &peer{}, watches("*"))
		h := k.open(t, nil)
		if err := harness.Observe(t.Context(), h.Harness, ev); !errors.Is(err, harness.ErrEvent) {
			t.Errorf("%s: %v", ev.Type, err)
		}
		if len(p.told()) != 0 || h.rec.one(t).Class != ahp.FailEvent {
			t.Errorf("%s: told %d times, %+v", ev.Type, len(p.told()), h.rec.one(t))
		}
	}
}

// What is no event at all is refused.
func TestNoEvent(t *testing.T) {
	var k cast
	k.add("net.acme.a", says("[]"), asks(ahp.FailOpen, "*"))
	h := k.open(t, func(o *harness.Options) { o.HideReasons = true })
	for _, ev := range []*ahp.Event{nil, {}, {Type: "tool.error"}, {Type: ahp.ToolBefore}} {
		if s, err := h.Begin(t.Context(), ev).Settle(); s.State != settle.Denied || !errors.Is(err, harness.ErrEvent) {
			t.Errorf("%+v: %s, %v", ev, s.State, err)
		}
	}
	// Hidden reasons: of a stop as of a denial (D-EFF-6).
	for effects, want := range map[string]settle.State{list(deny): settle.Denied, list(stop): settle.Stopped} {
		_, _, s, hidden := chainDraft(t, ahp.FailOpen, draftTool(), func(o *harness.Options) { o.HideReasons = true }, effects)
		if s.State != want || s.Reason != harness.HiddenReason || hidden.rec.one(t).Reason == harness.HiddenReason {
			t.Errorf("%s: %q", s.State, s.Reason)
		}
	}
}
