package harness_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
)

func remote(subs ...ahp.Subscription) ahp.Backend {
	return backendOf("net.acme.a", &ahp.HTTPTransport{URL: "https://a.example"}, subs...)
}

var draftRegRules = []draftRule{
	{"AHP-REG-001", func(t *testing.T) { refused(t, draftOptions(harness.Discard), "/hooks: empty") }},
	{"D-REG-1", func(t *testing.T) {
		// Everything that is wrong, each with its place.
		o := draftOptions(harness.Discard)
		o.Manifest.Events = append(o.Manifest.Events, ahp.ManifestEvent{Event: "tool.error", Modes: []ahp.Mode{ahp.ModeObserve}})
		b := remote(ahp.Subscription{Mode: "watch"}, ahp.Subscription{Mode: ahp.ModeIntercept, Events: []ahp.EventType{"model.error", "x.*"}})
		for _, want := range []string{
			"manifest: /events/32", "/subscriptions/0/events: empty", "/subscriptions/0/mode", "/subscriptions/0/content/default",
			`/subscriptions/1/events/0: "model.error" cannot be intercepted`, `/subscriptions/1/events/1: "x.*" names no family`,
			"/subscriptions/1/timeoutMs", "/subscriptions/1/failurePolicy",
		} {
			refused(t, o, want, b)
		}
		o.Manifest = nil
		refused(t, o, "manifest: required", b)
	}},
	{"D-REG-3", func(t *testing.T) {
		refused(t, draftOptions(harness.Discard), "stands at /hooks/0 already", remote(watches("*")), remote(watches("*")))
		openDraft(t, nil, remote(watches("*"), watches("*"), asks(ahp.FailOpen, "*"), asks(ahp.FailOpen, "*")))
	}},
	{"D-REG-4", func(t *testing.T) {
		o := draftOptions(harness.Discard)
		refused(t, o, "cannot be intercepted", remote(asks(ahp.FailOpen, ahp.ModelError)))
		o.Manifest.Events = o.Manifest.Events[:3]
		refused(t, o, "not covered with mode observe", remote(watches(ahp.FileChanged)))
		refused(t, o, "not covered with mode intercept", remote(asks(ahp.FailOpen, ahp.ToolBefore)))
	}},
	{"D-SUB-1", func(t *testing.T) {
		for _, bad := range []ahp.EventType{"tool.permission.*", "*.before", "tool*", "tool.", "**", ".*", "tool.b*"} {
			refused(t, draftOptions(harness.Discard), "/events/0", remote(watches(bad)))
		}
	}},
	{"D-SUB-2", func(t *testing.T) {
		var k cast
		p := k.add("net.acme.a", says("[]"), asks(ahp.FailClosed, "model.*"))
		h := k.open(t, nil)
		for _, typ := range ahp.DraftEvents() {
			if strings.HasPrefix(string(typ), "model.") {
				if _, err := settleOne(t, h, everyEvent(t, typ)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if got := len(p.all()); got != 3 {
			t.Errorf("%d messages, want 3: request, response, switch.before", got)
		}
	}},
	{"D-SUB-3", func(t *testing.T) {
		var k cast
		p := k.add("net.acme.a", says("[]"), asks(ahp.FailClosed, "tool.*", "tool.before", "*"))
		if _, err := settleOne(t, k.open(t, nil), draftTool()); err != nil {
			t.Fatal(err)
		}
		if len(p.all()) != 1 {
			t.Errorf("%d messages", len(p.all()))
		}
	}},
	{"D-SUB-4", func(t *testing.T) {
		for kind, want := range map[ahp.ToolKind]int{"": 2, "quantum": 2, ahp.KindOther: 2, ahp.KindMCP: 2, ahp.KindShell: 2, ahp.KindFetch: 0} {
			var k cast
			s, w := asks(ahp.FailClosed, "*"), watches("*")
			s.Filters = &ahp.Filters{ToolKinds: []ahp.ToolKind{ahp.KindShell}, Paths: []string{"elsewhere"}}
			w.Filters = s.Filters
			p := k.add("net.acme.a", says("[]"), s, w)
			ev := draftTool()
			ev.Tool.Kind = kind
			if _, err := settleOne(t, k.open(t, nil), ev); err != nil {
				t.Fatal(err)
			}
			if got := len(p.all()); got != want {
				t.Errorf("kind %q: %d messages, want %d", kind, got, want)
			}
		}
	}},
	{"D-TOOL-1", func(t *testing.T) {
		var k cast
		p := k.add("net.acme.a", says(list(deny)), asks(ahp.FailClosed, "*"))
		ev := draftTool()
		ev.Tool.Kind = "quantum"
		s, _ := settleOne(t, k.open(t, nil), ev)
		wantIn(t, p.asked()[0], []string{`"kind":"quantum"`})
		if s.State != settle.Denied {
			t.Errorf("settled %s", s.State)
		}
	}},
	{"D-SUB-5", func(t *testing.T) {
		s := asks(ahp.FailClosed, "*")
		s.Scope, s.Disableable = ahp.ScopeManaged, new(false)
		o := draftOptions(harness.Discard)
		o.Scopes = []ahp.Scope{ahp.ScopeUser}
		refused(t, o, "/subscriptions/0/scope: managed is not honored", remote(s))
		openDraft(t, nil, remote(s))
		s.Disableable = nil
		refused(t, draftOptions(harness.Discard), "/subscriptions/0/disableable: required, and false", remote(s))
	}},
	{"D-SUB-6", func(t *testing.T) {
		s := asks(ahp.FailClosed, "*")
		s.ID, s.Disableable = "writes", new(false)
		o := draftOptions(harness.Discard)
		o.Disabled = []string{"writes"}
		refused(t, o, "/subscriptions/0/disableable: configuration turned it off", remote(s))
		o.Disabled = []string{"reads"}
		refused(t, o, `disabled: "reads" names no subscription`, remote(s))
		// One that is disableable is off, and the rest is not.
		var k cast
		p := k.add("net.acme.a", says(list(deny)), asks(ahp.FailClosed, "*"), watches("*"))
		got, _ := settleOne(t, k.open(t, func(o *harness.Options) { o.Disabled = []string{"net.acme.a/0"} }), draftTool())
		if !got.Proceeds() || len(p.asked()) != 0 || len(p.told()) != 1 {
			t.Errorf("%s, asked %d, told %d", got.State, len(p.asked()), len(p.told()))
		}
	}},
	{"D-SUB-7", func(t *testing.T) {
		refused(t, draftOptions(harness.Discard), "selects nothing", remote(asks(ahp.FailOpen, "file.*")))
	}},
	{"D-SEL-1", func(t *testing.T) {
		for _, s := range []ahp.Subscription{asks(ahp.FailOpen, "*"), watches("*")} {
			s.Content = ahp.ContentSelection{}
			refused(t, draftOptions(harness.Discard), "/content/default: required", remote(s))
		}
	}},
	{"AHP-FAIL-001", func(t *testing.T) {
		refused(t, draftOptions(harness.Discard), "there is no default", remote(asks("", "*")))
	}},
	{"AHP-AUTH-001", func(t *testing.T) {
		b := remote(watches("*"))
		b.OAuth = &ahp.OAuth{Issuer: "https://id.example", Resource: "r", ClientID: "c", Flow: "client_credentials"}
		refused(t, draftOptions(harness.Discard), "/authentication: oauth is not supported yet", b)
		s := watches("*")
		s.Upload = &ahp.Upload{Endpoint: "https://up.example", Timeout: time.Second}
		refused(t, draftOptions(harness.Discard), "/subscriptions/0/upload: uploads are not supported yet", remote(s))
	}},
	{"D-FAIL-7", func(t *testing.T) {
		o := draftOptions(harness.Discard)
		o.Manifest.Limits.MinTimeoutMs, o.Manifest.Limits.MaxTimeoutMs = new(int64(100)), new(int64(30000))
		for ms, want := range map[int]string{99: "least is 100", 30001: "most is 30000"} {
			s := asks(ahp.FailOpen, "*")
			s.Timeout = time.Duration(ms) * time.Millisecond
			refused(t, o, want, remote(s))
		}
		for _, ms := range []int{100, 30000} {
			s := asks(ahp.FailOpen, "*")
			s.Timeout = time.Duration(ms) * time.Millisecond
			h, err := harness.New(&ahp.Registration{Version: ahp.VersionDraft, Hooks: []ahp.Backend{remote(s)}}, o)
			if err != nil {
				t.Fatal(err)
			}
			closeNow(t, h)
		}
	}},
	{"D-SUB-9", func(t *testing.T) {
		b := remote(asks(ahp.FailClosed, "*"))
		b.Auth = &ahp.Bearer{TokenRef: "vault/x"}
		o := draftOptions(harness.Discard)
		refused(t, o, "/authentication/tokenRef: the options have nothing", b)
		o.Secret = harness.SecretDir(t.TempDir())
		o.StrictSecrets = true
		refused(t, o, "the token does not resolve", b)
		// Not strict: a failure at each message, and nothing is sent.
		h := openDraft(t, func(o *harness.Options) { o.Secret = harness.SecretDir(t.TempDir()) }, b)
		s, _ := settleOne(t, h, draftTool())
		if rec := h.rec.one(t); s.State != settle.Denied || rec.Class != ahp.FailCredential {
			t.Errorf("%s, %s", s.State, rec.Class)
		}
	}},
	{"D-AUTH-4", func(t *testing.T) {
		for _, policy := range []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed} {
			var got atomic.Int32
			srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got.Add(1) }))
			b := backendOf("net.acme.a", &ahp.HTTPTransport{URL: srv.URL}, asks(policy, "tool.*"), watches("*"))
			b.Auth = &ahp.Bearer{TokenRef: "none"}
			h := openDraft(t, func(o *harness.Options) { o.Secret = harness.SecretDir(t.TempDir()) }, b)
			s, err := settleOne(t, h, draftTool())
			srv.Close()
			if got.Load() != 0 || s.Proceeds() != (policy == ahp.FailOpen) || err != nil { // D-FAIL-3
				t.Errorf("%s: %s, %v, the server got %d requests", policy, s.State, err, got.Load())
			}
		}
	}},
	{"D-AUTH-5", func(t *testing.T) {
		dir := t.TempDir()
		writeSecret(t, filepath.Join(dir, "guard"), "token-one\n")
		var headers atomic.Pointer[[]string]
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			h := r.Header.Values("Authorization")
			headers.Store(&h)
			w.WriteHeader(http.StatusUnauthorized)
		}))
		defer srv.Close()
		b := backendOf("net.acme.a", &ahp.HTTPTransport{URL: srv.URL}, asks(ahp.FailClosed, "*"))
		b.Auth = &ahp.Bearer{TokenRef: "guard"}
		h := openDraft(t, func(o *harness.Options) { o.Secret = harness.SecretDir(dir) }, b)
		for _, token := range []string{"token-one", "token-two"} {
			writeSecret(t, filepath.Join(dir, "guard"), token) // read again at each use
			s, _ := settleOne(t, h, draftTool())
			if got := *headers.Load(); len(got) != 1 || got[0] != "Bearer "+token || s.Class != ahp.FailAuth {
				t.Errorf("headers %q, class %s", got, s.Class)
			}
		}
		rec := h.rec.all()[0]
		if text := h.log.String() + string(rec.MarshalAppend(nil)); strings.Contains(text, "token-") {
			t.Errorf("the token is in %s", text) // D-AUTH-2
		}
	}},
	{"D-FAIL-6", func(t *testing.T) {
		// Getting the credential uses up the deadline.
		b := remote()
		s := asks(ahp.FailClosed, "*")
		s.Timeout = short
		b.Subscriptions = []ahp.Subscription{s}
		b.Auth = &ahp.Bearer{TokenRef: "slow"}
		h := openDraft(t, func(o *harness.Options) {
			o.Secret = func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "late", nil }
		}, b)
		if got, _ := settleOne(t, h, draftTool()); got.Class != ahp.FailDeadline {
			t.Errorf("class %s", got.Class)
		}
	}},
	{"AHP-FAIL-002", func(t *testing.T) {
		// However often the peer can be asked again, the first deadline holds for all of it.
		var asked atomic.Int32
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked.Add(1) == 1 {
				panic(http.ErrAbortHandler) // a lost connection
			}
			w.Header().Set("Content-Type", "application/json")
			w.(http.Flusher).Flush() // and then an answer that never ends
			<-r.Context().Done()
		}))
		defer srv.Close()
		s := asks(ahp.FailClosed, "*")
		s.Timeout = short
		h := openDraft(t, nil, backendOf("net.acme.a", &ahp.HTTPTransport{URL: srv.URL}, s))
		got, _ := settleOne(t, h, draftTool())
		rec := h.rec.one(t)
		if got.Class != ahp.FailDeadline || got.State != settle.Denied || rec.Hops[0].Attempts != 2 || asked.Load() != 2 {
			t.Errorf("%s, class %s, %d attempts", got.State, got.Class, rec.Hops[0].Attempts)
		}
	}},
	{"AHP-SEC-001", func(t *testing.T) {
		// Silence, and even an allow, leave the host's own refusal and check in force.
		for _, effects := range []string{`[]`, `[{"type":"allow"}]`, `[{"type":"return","value":1},{"type":"allow"}]`} {
			var k cast
			k.add("net.acme.a", says(effects), asks(ahp.FailOpen, "*"))
			h := k.open(t, func(o *harness.Options) {
				m := fullManifest()
				m.Event(ahp.ToolBefore).Capabilities.Effects = []ahp.EffectType{ahp.EffectDeny}
				m.Event(ahp.ToolBefore).Capabilities.Modify = nil
				m.Event(ahp.ToolBefore).Capabilities.Flow, m.Event(ahp.ToolBefore).Capabilities.Inject = nil, nil
				o.Manifest = m
			})
			s, err := settleOne(t, h, draftTool())
			if err != nil || s.Permission == ahp.PermissionAllow || s.Candidate != nil || s.State == settle.Supplied {
				t.Errorf("%s: %s, permission %s, %v", effects, s.State, s.Permission, err)
			}
		}
	}},
	{"D-DEP-3", func(t *testing.T) {
		// What a deployment does for itself is no binding that a manifest claims.
		for _, way := range []string{"mtls", "workload"} {
			o := draftOptions(harness.Discard)
			o.Manifest.Authentication = []string{way}
			refused(t, o, "/manifest/authentication/0", remote(asks(ahp.FailClosed, "*")))
		}
	}},
	{"D-INT-6", func(t *testing.T) {
		// One caller leaves while both wait for a credential.
		wait, release := make(chan struct{}, 2), make(chan struct{})
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
		defer srv.Close()
		b := backendOf("net.acme.a", &ahp.HTTPTransport{URL: srv.URL}, asks(ahp.FailOpen, "*"))
		b.Auth = &ahp.Bearer{TokenRef: "shared"}
		h := openDraft(t, func(o *harness.Options) {
			o.Secret = func(ctx context.Context, _ string) (string, error) {
				wait <- struct{}{}
				select {
				case <-release:
					return "token", nil
				case <-ctx.Done():
					return "", ctx.Err()
				}
			}
		}, b)
		ctx, cancel := context.WithCancel(t.Context())
		one, two := h.Begin(ctx, draftTool()), h.Begin(t.Context(), draftTool())
		got := make(chan settle.Settlement, 2)
		go func() { s, _ := one.Settle(); got <- s }()
		other := make(chan settle.Settlement, 1)
		go func() { s, _ := two.Settle(); other <- s }()
		<-wait
		<-wait
		cancel()
		if s := <-got; s.State != settle.Interrupted {
			t.Errorf("the one who left: %s", s.State)
		}
		close(release)
		if s := <-other; s.State != settle.Proceed || !s.FailedOpen { // 401 under fail-open
			t.Errorf("the other: %s", s.State)
		}
	}},
}

func writeSecret(t *testing.T, path, value string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(value), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What a secret directory gives, and what it refuses.
func TestSecretDir(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	writeSecret(t, outside, "foreign")
	writeSecret(t, filepath.Join(dir, "good"), "value\r\n")
	writeSecret(t, filepath.Join(dir, "empty"), "\n")
	writeSecret(t, filepath.Join(dir, "long"), strings.Repeat("x", harness.MaxSecretBytes+1))
	writeSecret(t, filepath.Join(dir, "open"), "value")
	if err := os.Chmod(filepath.Join(dir, "open"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "vault", "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	writeSecret(t, filepath.Join(dir, "vault", "deep"), "deep value")
	for name, to := range map[string]string{"out": outside, "in": "good"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	secret := harness.SecretDir(dir)
	for ref, want := range map[string]string{
		"good": "value", "vault/deep": "deep value", "in": "value",
		"empty": "", "long": "", "open": "", "out": "", "none": "", "": "", ".": "", "vault": "", "vault/a": "",
		"../outside": "", "/etc/passwd": "", "vault/../good": "", outside: "", "vault//deep": "",
	} {
		got, err := secret(t.Context(), ref)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", ref, got, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "value")) {
			t.Errorf("%q: the error says too much: %v", ref, err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := secret(gone, "good"); err == nil {
		t.Error("a secret was read for a caller who had left")
	}
}
