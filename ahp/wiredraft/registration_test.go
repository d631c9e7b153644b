package wiredraft_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
)

const (
	decides  = `{"id":"writes","events":["tool.before"],"mode":"intercept","timeoutMs":900,"failurePolicy":"fail-closed","content":{"default":"omit","text":"body","mine":"metadata"}}`
	watches  = `{"events":["turn.*","hook.failure"],"mode":"observe","content":{"default":"metadata"}}`
	portable = `{"protocolVersion":"draft","hooks":[{"id":"net.acme.guard","transport":{"type":"http","url":"https://guard.acme.example/ahp"},` +
		`"authentication":{"type":"bearer","tokenEnv":"TOK"},"subscriptions":[` + decides + `,` + watches + `]}]}`
	overStdio = `{"protocolVersion":"draft","hooks":[{"id":"net.acme.guard","transport":{"type":"stdio","command":"g","args":["-x",""],"lifecycle":"per_event","cwd":"/"},"subscriptions":[` + decides + `]}]}`
	oauth     = `{"type":"oauth","issuer":"https://id.acme.example","resource":"https://guard.acme.example/ahp","clientId":"agent-7","flow":"client_credentials","scopes":["hooks.decide"],"clientSecretRef":"vault/agent-7"}`
	upload    = `{"endpoint":"https://blobs.acme.example/put?tenant=9","timeoutMs":4000,"maxBytes":0,"auth":{"type":"bearer","tokenRef":"vault/blob-writer"}}`
)

func wantReg(t *testing.T, doc string, o wiredraft.RegOptions) (*ahp.Registration, []wiredraft.Problem) {
	t.Helper()
	reg, warnings, err := wiredraft.ParseRegistration("r.json", []byte(doc), o)
	if err != nil {
		t.Fatalf("%v\n%s", err, doc)
	}
	return reg, warnings
}

// badReg parses a document that must be refused with exactly these pointers.
func badReg(t *testing.T, doc string, o wiredraft.RegOptions, pointers ...string) string {
	t.Helper()
	_, _, err := wiredraft.ParseRegistration("r.json", []byte(doc), o)
	if err == nil {
		t.Fatalf("accepted: %s", doc)
	}
	var got []string
	for _, e := range err.(interface{ Unwrap() []error }).Unwrap() {
		var p wiredraft.Problem
		if !errors.As(e, &p) {
			t.Fatalf("%T: %v", e, e)
		}
		got = append(got, p.Pointer)
		if p.Line != 1 || p.Column < 1 || p.File != "r.json" || p.Found == "" || p.Expected == "" {
			t.Errorf("%+v", p)
		}
	}
	if strings.Join(got, " ") != strings.Join(pointers, " ") {
		t.Errorf("problems at %v, want %v\n%v", got, pointers, err)
	}
	return err.Error()
}

func TestRegistrationRules(t *testing.T) {
	var none wiredraft.RegOptions
	const (
		backend = "/hooks/0"
		first   = backend + "/subscriptions/0"
	)
	t.Run("AHP-REG-001", func(t *testing.T) {
		reg, _ := wantReg(t, portable, none)
		if reg.Version != ahp.VersionDraft || len(reg.Hooks) != 1 || len(reg.Hooks[0].Subscriptions) != 2 {
			t.Errorf("%+v", reg)
		}
		s := reg.Hooks[0].Subscriptions[0]
		if s.ID != "writes" || s.Mode != ahp.ModeIntercept || s.Timeout != 900*time.Millisecond || s.FailurePolicy != ahp.FailClosed || s.Content.Default != ahp.SelectOmit || len(s.Content.Categories) != 2 {
			t.Errorf("%+v", s)
		}
		badReg(t, edit(t, portable, `"protocolVersion":"draft",`, ``), none, "/protocolVersion")
		badReg(t, `{"protocolVersion":"draft","hooks":[]}`, none, "/hooks")
		badReg(t, `{"protocolVersion":"draft"}`, none, "/hooks")
		badReg(t, `[]`, none, "")
	})
	t.Run("D-REG-1", func(t *testing.T) {
		// All problems are reported, in the order of the text.
		doc := edit(t, edit(t, edit(t, portable, `"timeoutMs":900`, `"timeoutMs":0`), `"observe"`, `"watch"`), `"net.acme.guard"`, `"guard"`)
		badReg(t, doc, none, "/hooks/0/id", first+"/timeoutMs", "/hooks/0/subscriptions/1/mode")
	})
	t.Run("D-REG-2", func(t *testing.T) {
		_, w := wantReg(t, strings.ReplaceAll(edit(t, portable, `"mode":"intercept"`, `"shadow":true,"mode":"intercept"`), `"hooks":`, `"note":"n","hooks":`), none)
		if len(w) != 2 || w[0].Pointer != "/note" || w[1].Pointer != first+"/shadow" || w[0].Severity != wiredraft.SeverityWarning {
			t.Errorf("%v", w)
		}
	})
	t.Run("D-REG-3", func(t *testing.T) {
		one := portable[strings.Index(portable, `[{"id":"net`)+1 : len(portable)-2]
		badReg(t, edit(t, portable, one, one+","+edit(t, one, `"id":"writes",`, ``)), none, "/hooks/1/id")
		wantReg(t, edit(t, portable, decides, decides+","+edit(t, decides, `"id":"writes",`, ``)+","+edit(t, decides, `"id":"writes",`, ``)), none)
		badReg(t, edit(t, portable, decides, decides+","+decides), none, "/hooks/0/subscriptions/1/id")
	})
	m := &ahp.Manifest{
		Events: []ahp.ManifestEvent{
			{Event: ahp.ToolBefore, Modes: []ahp.Mode{ahp.ModeObserve}}, {Event: ahp.TurnStart, Modes: []ahp.Mode{ahp.ModeIntercept, ahp.ModeObserve}},
		},
		ManagedPolicy: ahp.ManagedPolicy{Scopes: []ahp.Scope{ahp.ScopeUser}},
	}
	t.Run("D-REG-4", func(t *testing.T) {
		badReg(t, edit(t, portable, `"tool.before"`, `"model.error"`), none, first+"/events/0")
		badReg(t, edit(t, portable, `"hook.failure"`, `"hook.success"`), none, "/hooks/0/subscriptions/1/events/1")
		// Against what a harness covers, both modes.
		badReg(t, portable, wiredraft.RegOptions{Manifest: m}, first+"/events/0", "/hooks/0/subscriptions/1/events/1")
		wantReg(t, edit(t, edit(t, portable, `"tool.before"`, `"turn.start"`), `,"hook.failure"`, `,"tool.before"`), wiredraft.RegOptions{Manifest: m})
	})
	t.Run("D-REG-5", func(t *testing.T) {
		const auth = `"tokenEnv":"TOK"`
		for _, name := range []string{"token", "bearerToken", "value"} {
			for _, where := range []string{auth, `"tokenRef":"vault/blob-writer"`} {
				doc := edit(t, portable, watches, edit(t, watches, `"mode"`, `"upload":`+upload+`,"mode"`))
				pointer := "/hooks/0/authentication/" + name
				if where != auth {
					pointer = "/hooks/0/subscriptions/1/upload/auth/" + name
				}
				text := badReg(t, edit(t, doc, where, where+`,"`+name+`":"hunter2"`), none, pointer)
				if strings.Contains(text, "hunter2") {
					t.Errorf("the secret is in %s", text)
				}
			}
		}
		badReg(t, edit(t, portable, `"mode":"intercept"`, `"vendor":[{"api_key":"hunter2"}],"mode":"intercept"`), none, first+"/vendor/0/api_key")
		badReg(t, edit(t, portable, `"type":"http"`, `"type":"http","password":"hunter2"`), none, "/hooks/0/transport/password")
		badReg(t, edit(t, portable, `https://guard`, `https://u:hunter2@guard`), none, "/hooks/0/transport/url")
		badReg(t, edit(t, portable, `{"type":"bearer",`, `{"type":"custom","token":"hunter2",`), none, "/hooks/0/authentication/type", "/hooks/0/authentication/token")
	})
	t.Run("D-AMB-26", func(t *testing.T) {
		if _, w := wantReg(t, edit(t, portable, `"tokenEnv":"TOK"`, `"tokenEnv":"TOK","realm":"r"`), none); len(w) != 1 || w[0].Pointer != "/hooks/0/authentication/realm" {
			t.Errorf("%v", w)
		}
		badReg(t, edit(t, portable, `"tokenEnv":"TOK"`, `"tokenEnv":"TOK","value":null`), none, "/hooks/0/authentication/value")
	})
	t.Run("D-REG-6", func(t *testing.T) {
		badReg(t, edit(t, portable, `"subscriptions"`, `"contentReceiver":{"url":"https://h/"},"subscriptions"`), none, "/hooks/0/contentReceiver")
	})
	t.Run("D-IO-7", func(t *testing.T) {
		reg, _ := wantReg(t, overStdio, none)
		if s := reg.Hooks[0].Transport.(*ahp.StdioTransport); s.Command != "g" || len(s.Args) != 2 || s.Lifecycle != ahp.PerEvent || s.CWD != "/" {
			t.Errorf("%+v", s)
		}
		badReg(t, edit(t, overStdio, `"subscriptions"`, `"authentication":{"type":"bearer","tokenEnv":"T"},"subscriptions"`), none, "/hooks/0/authentication")
		badReg(t, edit(t, overStdio, `"command":"g"`, `"command":""`), none, "/hooks/0/transport/command")
		badReg(t, edit(t, overStdio, `per_event`, `daemon`), none, "/hooks/0/transport/lifecycle")
		badReg(t, edit(t, overStdio, `"type":"stdio"`, `"type":"pipe"`), none, "/hooks/0/transport/type")
	})
	t.Run("D-HTTP-7", func(t *testing.T) {
		for url, ok := range map[string]bool{
			"http://127.0.0.1:8080/x": true, "http://localhost/": true, "http://[::1]:9/": true, "http://h.example/": false, "ftp://h/": false, "https:///x": false, "x": false, "https://h:0/": false, "https://h/#f": false, "HTTPS://h/": false,
		} {
			doc := edit(t, portable, `https://guard.acme.example/ahp`, url)
			if ok {
				wantReg(t, doc, none)
			} else {
				badReg(t, doc, none, "/hooks/0/transport/url")
			}
		}
		wantReg(t, edit(t, portable, `https://guard`, `http://guard`), wiredraft.RegOptions{AllowPlainHTTP: true})
	})
	t.Run("AHP-FAIL-001", func(t *testing.T) {
		badReg(t, edit(t, portable, `"failurePolicy":"fail-closed",`, ``), none, first+"/failurePolicy")
		badReg(t, edit(t, portable, `fail-closed`, `fail-safe`), none, first+"/failurePolicy")
	})
	t.Run("D-FAIL-2", func(t *testing.T) {
		badReg(t, edit(t, portable, watches, edit(t, watches, `"mode"`, `"timeoutMs":5,"failurePolicy":"fail-open","mode"`)), none, "/hooks/0/subscriptions/1/timeoutMs", "/hooks/0/subscriptions/1/failurePolicy")
	})
	t.Run("D-FAIL-6", func(t *testing.T) {
		for _, n := range []string{`0`, `-1`, `1.5`, `"5"`, `1e30`, `9223372036854775807`} {
			badReg(t, edit(t, portable, `"timeoutMs":900`, `"timeoutMs":`+n), none, first+"/timeoutMs")
		}
		badReg(t, edit(t, portable, `"timeoutMs":900,`, ``), none, first+"/timeoutMs")
		wantReg(t, edit(t, portable, `"timeoutMs":900`, `"timeoutMs":1e2`), none)
	})
	t.Run("D-SEL-1", func(t *testing.T) {
		badReg(t, edit(t, portable, `"default":"omit",`, ``), none, first+"/content/default")
		badReg(t, edit(t, portable, `,"content":{"default":"metadata"}`, ``), none, "/hooks/0/subscriptions/1/content")
		badReg(t, edit(t, portable, `"text":"body"`, `"text":"some"`), none, first+"/content/text")
	})
	t.Run("D-SEL-2", func(t *testing.T) {
		reg, _ := wantReg(t, portable, none)
		c := reg.Hooks[0].Subscriptions[0].Content
		for category, want := range map[string]ahp.Selection{"text": ahp.SelectBody, "mine": ahp.SelectMetadata, "reasoning": ahp.SelectOmit, "unheard-of": ahp.SelectOmit} {
			if got := c.Of(&ahp.Part{Kind: ahp.PartText, MediaType: ahp.TextPlain, Category: category}); got != want {
				t.Errorf("%s: %s, want %s", category, got, want)
			}
		}
	})
	t.Run("D-SUB-1", func(t *testing.T) {
		for _, s := range []string{`*`, `tool.*`, `context.*`, `task.*`} {
			wantReg(t, edit(t, portable, `"tool.before"`, `"`+s+`"`), none)
		}
		for _, s := range []string{`tool.permission.*`, `*.before`, `tool*`, `tool.`, `.*`, `Tool.*`, `to ol.*`, `**`, ``, `1.*`} {
			badReg(t, edit(t, portable, `"tool.before"`, `"`+s+`"`), none, first+"/events/0")
		}
		badReg(t, edit(t, portable, `["tool.before"]`, `["tool.*","tool.*"]`), none, first+"/events/1")
		badReg(t, edit(t, portable, `["tool.before"]`, `[]`), none, first+"/events")
		badReg(t, edit(t, portable, `["tool.before"]`, `[7]`), none, first+"/events/0")
	})
	t.Run("D-SUB-2", func(t *testing.T) {
		reg, _ := wantReg(t, edit(t, portable, `"tool.before"`, `"model.*"`), none)
		var got []ahp.EventType
		for _, e := range ahp.DraftEvents() {
			if reg.Hooks[0].Subscriptions[0].Covers(e) {
				got = append(got, e)
			}
		}
		if len(got) != 3 || got[0] != ahp.ModelRequestBefore || got[1] != ahp.ModelResponseAfter || got[2] != ahp.ModelSwitchBefore {
			t.Errorf("%v", got)
		}
	})
	t.Run("D-SUB-3", func(t *testing.T) {
		wantReg(t, edit(t, portable, `["tool.before"]`, `["tool.*","tool.before"]`), none)
	})
	t.Run("D-SUB-4", func(t *testing.T) {
		reg, _ := wantReg(t, edit(t, portable, `"mode":"intercept"`, `"filters":{"toolKinds":["shell","quantum"],"paths":["native"]},"mode":"intercept"`), none)
		if f := reg.Hooks[0].Subscriptions[0].Filters; len(f.ToolKinds) != 2 || len(f.Paths) != 1 {
			t.Errorf("%+v", f)
		}
		badReg(t, edit(t, portable, `"mode":"intercept"`, `"filters":{"toolKinds":["a","a"]},"mode":"intercept"`), none, first+"/filters/toolKinds/1")
		badReg(t, edit(t, portable, `"mode":"intercept"`, `"filters":{"paths":[""]},"mode":"intercept"`), none, first+"/filters/paths/0")
	})
	t.Run("D-SUB-5", func(t *testing.T) {
		managed := func(s string) string { return edit(t, portable, `"mode":"intercept"`, s+`,"mode":"intercept"`) }
		wantReg(t, managed(`"scope":"managed","disableable":false`), none)
		badReg(t, managed(`"scope":"managed"`), none, first+"/disableable")
		badReg(t, managed(`"scope":"managed","disableable":true`), none, first+"/disableable")
		badReg(t, managed(`"scope":"team"`), none, first+"/scope")
		all := &ahp.Manifest{ManagedPolicy: ahp.ManagedPolicy{Scopes: []ahp.Scope{ahp.ScopeUser}}}
		for _, e := range ahp.DraftEvents() {
			modes := []ahp.Mode{ahp.ModeObserve}
			if e.Interceptable(ahp.VersionDraft) {
				modes = append(modes, ahp.ModeIntercept)
			}
			all.Events = append(all.Events, ahp.ManifestEvent{Event: e, Modes: modes})
		}
		badReg(t, managed(`"scope":"managed","disableable":false`), wiredraft.RegOptions{Manifest: all}, first+"/scope")
		wantReg(t, managed(`"scope":"user"`), wiredraft.RegOptions{Manifest: all})
	})
	t.Run("D-SUB-7", func(t *testing.T) {
		badReg(t, edit(t, portable, `"tool.before"`, `"file.*"`), none, first+"/events/0")
		badReg(t, edit(t, portable, `"tool.before"`, `"files.*"`), none, first+"/events/0")
		badReg(t, edit(t, edit(t, portable, `"tool.before"`, `"tool.*"`), `"hook.failure"`, `"tool.before"`), wiredraft.RegOptions{Manifest: m}, first+"/events/0")
		badReg(t, edit(t, portable, `"hook.failure"`, `"model.*"`), wiredraft.RegOptions{Manifest: m}, first+"/events/0", "/hooks/0/subscriptions/1/events/1")
	})
	t.Run("D-SUB-9", func(t *testing.T) {
		env := func(name string) (string, bool) { return "", name == "EMPTY" }
		if _, w := wantReg(t, portable, wiredraft.RegOptions{LookupEnv: env}); len(w) != 1 || w[0].Pointer != "/hooks/0/authentication/tokenEnv" {
			t.Errorf("%v", w)
		}
		badReg(t, portable, wiredraft.RegOptions{LookupEnv: env, StrictSecrets: true}, "/hooks/0/authentication/tokenEnv")
		badReg(t, portable, wiredraft.RegOptions{StrictSecrets: true}, "/hooks/0/authentication/tokenEnv")
		if _, w := wantReg(t, portable, wiredraft.RegOptions{LookupEnv: func(string) (string, bool) { return "x", true }, StrictSecrets: true}); len(w) != 0 {
			t.Errorf("%v", w)
		}
		byRef := edit(t, portable, `"tokenEnv":"TOK"`, `"tokenRef":"vault/x"`)
		has := func(ref string) bool { return ref == "vault/x" }
		wantReg(t, byRef, wiredraft.RegOptions{LookupSecret: has, StrictSecrets: true})
		badReg(t, byRef, wiredraft.RegOptions{LookupSecret: func(string) bool { return false }, StrictSecrets: true}, "/hooks/0/authentication/tokenRef")
	})
	t.Run("section 22.4", func(t *testing.T) {
		reg, _ := wantReg(t, edit(t, portable, `{"type":"bearer","tokenEnv":"TOK"}`, oauth), none)
		if a := reg.Hooks[0].OAuth; a == nil || reg.Hooks[0].Auth != nil || a.Flow != "client_credentials" || a.Scopes[0] != "hooks.decide" || a.ClientSecretRef != "vault/agent-7" {
			t.Errorf("%+v", a)
		}
		for _, s := range []string{`"issuer":"https://id.acme.example",`, `"clientId":"agent-7",`, `"flow":"client_credentials",`, `"resource":"https://guard.acme.example/ahp",`} {
			badReg(t, edit(t, portable, `{"type":"bearer","tokenEnv":"TOK"}`, edit(t, oauth, s, ``)), none, "/hooks/0/authentication/"+strings.Split(s, `"`)[1])
		}
		for old, now := range map[string]string{`https://id`: `http://id`, `client_credentials`: `device`, `["hooks.decide"]`: `["a","a"]`, `"vault/agent-7"`: `""`, `"agent-7"`: `""`} {
			if _, _, err := wiredraft.ParseRegistration("r", []byte(edit(t, portable, `{"type":"bearer","tokenEnv":"TOK"}`, edit(t, oauth, old, now))), none); err == nil {
				t.Errorf("%s accepted", now)
			}
		}
		for _, s := range []string{`{"type":"bearer"}`, `{"type":"bearer","tokenEnv":"A","tokenRef":"b"}`, `{"type":"bearer","tokenEnv":"1A"}`, `{"type":"bearer","tokenRef":""}`, `{}`, `"bearer"`} {
			if _, _, err := wiredraft.ParseRegistration("r", []byte(edit(t, portable, `{"type":"bearer","tokenEnv":"TOK"}`, s)), none); err == nil {
				t.Errorf("%s accepted", s)
			}
		}
	})
	t.Run("section 22.3", func(t *testing.T) {
		with := func(u string) string {
			return edit(t, portable, `"mode":"intercept"`, `"upload":`+u+`,"mode":"intercept"`)
		}
		reg, _ := wantReg(t, with(upload), none)
		if u := reg.Hooks[0].Subscriptions[0].Upload; u.Timeout != 4*time.Second || u.MaxBytes != 0 || u.Auth.TokenRef != "vault/blob-writer" || u.OAuth != nil {
			t.Errorf("%+v", u)
		}
		for host, ok := range map[string]bool{"http://localhost:9/p": true, "http://127.1.2.3/p": true, "http://[::1]:9/p": true, "http://blobs.acme.example/p": false, "http://[::ffff:127.0.0.1]/p": false, "http://LOCALHOST/p": false, "ftp://h/": false} {
			doc := with(edit(t, upload, `https://blobs.acme.example/put?tenant=9`, host))
			if ok {
				wantReg(t, doc, none)
			} else {
				badReg(t, doc, none, first+"/upload/endpoint")
			}
		}
		for _, s := range []string{`"timeoutMs":4000,`, `"maxBytes":0,`} {
			badReg(t, with(edit(t, upload, s, ``)), none, first+"/upload/"+strings.Split(s, `"`)[1])
		}
	})
	t.Run("limits", func(t *testing.T) {
		badReg(t, portable, wiredraft.RegOptions{Limits: wiredraft.Limits{MaxBytes: 10}}, "")
		if _, _, err := wiredraft.ParseRegistration("r", []byte(strings.Repeat("[", 500)), none); err == nil {
			t.Error("accepted")
		}
	})
}
