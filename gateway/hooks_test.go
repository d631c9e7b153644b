package gateway_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/gateway"
)

// everywhere is a backend with much that the gateway does not carry out.
func everywhere(id string) ahp.Backend {
	return ahp.Backend{
		ID: id, Transport: &ahp.HTTPTransport{URL: "https://hooks.example/"}, OAuth: &ahp.OAuth{},
		Subscriptions: []ahp.Subscription{
			{
				Events: []ahp.EventType{ahp.ToolBefore}, Mode: ahp.ModeIntercept, Timeout: time.Second, FailurePolicy: ahp.FailClosed,
				Content: ahp.ContentSelection{Default: ahp.SelectBody},
			},
			{
				Events: []ahp.EventType{"tool.*"}, Mode: ahp.ModeIntercept, Timeout: time.Second, FailurePolicy: ahp.FailClosed,
				Content: ahp.ContentSelection{Default: ahp.SelectBody}, Upload: &ahp.Upload{},
			},
			{Events: []ahp.EventType{"*"}, Mode: ahp.ModeObserve, Content: ahp.ContentSelection{Default: ahp.SelectBody}},
		},
	}
}

func TestHookProblems(t *testing.T) {
	secret := everywhere("net.acme.b")
	secret.OAuth, secret.Auth, secret.Subscriptions = nil, &ahp.Bearer{TokenRef: "x"}, secret.Subscriptions[:1]
	hooks := []ahp.Backend{secret, everywhere(gateway.PolicyID)}
	for _, tt := range []struct {
		name string
		o    gateway.Options
		want string
	}{
		{"draft", gateway.Options{Hooks: hooks, Revision: ahp.VersionDraft}, "/hooks/0/authentication/tokenRef /hooks/1/id /hooks/1/authentication/type /hooks/1/subscriptions/1/upload /hooks/1/subscriptions/1/failurePolicy"},
		{"with secrets", gateway.Options{Hooks: hooks[:1], Revision: ahp.VersionDraft, Secrets: "/s"}, ""},
		{"0.1", gateway.Options{Hooks: hooks[1:]}, "/hooks/0/id /hooks/0/authentication/type"},
		{"none", gateway.Options{}, ""},
	} {
		var at []string
		for _, p := range tt.o.HookProblems() {
			at = append(at, p.At())
		}
		if got := strings.Join(at, " "); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// The policy goes first in the chain, and stands in no document: places are those of
// the caller's backends, whoever finds the fault.
func TestProblemsOfHooksHaveTheirOwnPlaces(t *testing.T) {
	good, bad := everywhere("net.acme.good"), everywhere("net.acme.bad")
	good.OAuth, good.Subscriptions = nil, good.Subscriptions[:1]
	bad.OAuth, bad.Subscriptions = nil, []ahp.Subscription{{Mode: ahp.ModeIntercept}}
	for _, v := range []ahp.Version{ahp.Version01, ahp.VersionDraft} {
		o := options(t)
		o.Revision, o.Hooks = v, []ahp.Backend{good, bad}
		g, err := gateway.Open(t.Context(), o)
		if err == nil {
			t.Fatal(g.Close())
		}
		if !strings.Contains(err.Error(), `/hooks/1 ("net.acme.bad")`) || strings.Contains(err.Error(), "/hooks/2") {
			t.Errorf("%s: %v", v, err)
		}
	}
}
