package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/backend"
)

// An exchange is one more thing that both sides do, apart from events and effects.
type exchange struct {
	name string
	rule string // that says how it has to end
	run  func(ctx context.Context, k *kitRun) error
}

func exchanges() []exchange {
	return []exchange{
		{"Their harness sends the bearer token that an environment variable holds; our backend lets it in.", "D-AUTH-5", bearer("right", true)},
		{"It sends another token: 401, our handler is not asked, and the failure policy applies.", "D-AUTH-8", bearer("wrong", false)},
		{"Our handler fails: `-32004`, which their harness takes for a failure.", "D-ERR-1", ourFailure},
		{"Their handler fails: an error, which our harness takes for a failure.", "D-FC-8", theirFailure},
		{"Our backend is asked for `hooks/configuration`: `-32601`, and their harness leaves it out.", "D-ERR-3", configuration},
		{"Their backend gets an event without `harness`: `-32602`, a failure for our harness.", "D-FC-8", withoutHarness},
		{"Their backend gets a message of revision 0.1: `-32001` with what it supports.", "D-VER-2", theirVersions},
		{"Their backend answers `hooks/capabilities` with a manifest that our codec reads.", "D-AMB-9", theirManifest},
	}
}

// exchange runs all of them; what goes wrong is a fault.
func (k *kitRun) exchange(ctx context.Context) {
	for _, e := range exchanges() {
		if err := e.run(ctx, k); err != nil {
			k.faults = append(k.faults, fmt.Errorf("%s: %w", e.name, err))
			continue
		}
		k.exchanged++
	}
}

// tokenVariable holds the token for the package's harness.
const tokenVariable = "HOLDPOINT_INTEROP_TOKEN"

func bearer(token string, ok bool) func(ctx context.Context, k *kitRun) error {
	return func(ctx context.Context, k *kitRun) error {
		var asked atomic.Int32
		h := func(context.Context, *backend.Request) ([]ahp.Effect, error) {
			asked.Add(1)
			return []ahp.Effect{&ahp.Allow{}}, nil
		}
		url, stop, err := listen(ctx, h, backend.Options{Authenticate: backend.BearerToken("right", "them")})
		if err != nil {
			return err
		}
		defer stop()
		line, err := k.one(ctx, scenario{ahp.ToolBefore, "allow"}, map[string]any{
			"transport":      map[string]any{"type": "http", "url": url},
			"authentication": map[string]any{"type": "bearer", "tokenEnv": tokenVariable},
		}, tokenVariable+"="+token)
		if err != nil {
			return err
		}
		if !ok {
			return errors.Join(refusedByPolicy(line), expect(asked.Load() == 0, "our handler was asked"))
		}
		return errors.Join(judge(line, scenario{ahp.ToolBefore, "allow"}), expect(asked.Load() == 1, "our handler was not asked"))
	}
}

func ourFailure(ctx context.Context, k *kitRun) error {
	h := func(context.Context, *backend.Request) ([]ahp.Effect, error) { return nil, errors.New("a secret") }
	url, stop, err := listen(ctx, h, backend.Options{})
	if err != nil {
		return err
	}
	defer stop()
	line, err := k.one(ctx, scenario{ahp.ToolBefore, none}, map[string]any{"transport": map[string]any{"type": "http", "url": url}})
	return errors.Join(err, refusedByPolicy(line), expect(!bytes.Contains(line, []byte("secret")), "the error's text was told"))
}

func configuration(ctx context.Context, k *kitRun) error {
	url, stop, err := listen(ctx, scenarioHandler, backend.Options{})
	if err != nil {
		return err
	}
	defer stop()
	outcomes, err := k.client(ctx, map[string]any{
		"source": source, "steps": []step{},
		"registration": map[string]any{
			"protocolVersion": ahp.VersionDraft,
			"hooks":           []any{map[string]any{"id": "dev.holdpoint.interop", "transport": map[string]any{"type": "http", "url": url}}},
		},
	})
	if err != nil {
		return err
	}
	return expect(bytes.Contains(outcomes["configuration"], []byte("configuration_unavailable")), "the backend was not left out")
}

func theirFailure(ctx context.Context, k *kitRun) error {
	return k.failsOver(ctx, scenario{ahp.ToolBefore, "raise"}, func(*ahp.Event) {})
}

func withoutHarness(ctx context.Context, k *kitRun) error {
	return k.failsOver(ctx, scenario{ahp.ToolBefore, none}, func(ev *ahp.Event) {
		ev.Unknown = slices.DeleteFunc(ev.Unknown, func(m ahp.Member) bool { return m.Name == "harness" })
	})
}

// failsOver settles one event with the package's backend, which answers with an
// error.
func (k *kitRun) failsOver(ctx context.Context, s scenario, edit func(*ahp.Event)) (err error) {
	url, stop, err := k.scripted(ctx)
	if err != nil {
		return err
	}
	defer stop()
	h, err := newHarness(map[string]any{"type": "http", "url": url})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(ctx)) }()
	all, err := samples()
	if err != nil {
		return err
	}
	ev, err := wiredraft.DecodeEvent(all.event(s.event, s.id()), wiredraft.Limits{})
	if err != nil {
		return err
	}
	edit(ev)
	c := h.Begin(ctx, ev)
	got, err := c.Settle()
	if err := errors.Join(err, c.Wait(ctx)); err != nil {
		return err
	}
	if got.Proceeds() || !got.Synthetic || got.Class != ahp.FailRPCError || got.Reason != ahp.GenericDenial {
		return fmt.Errorf("settled as %s, %s: %s", got.State, got.Class, got.Reason)
	}
	return nil
}

func theirVersions(ctx context.Context, k *kitRun) error {
	answer, err := k.post(ctx, `{"jsonrpc":"2.0","id":"a","method":"hooks/intercept","params":{"protocolVersion":"0.1"}}`)
	if err != nil {
		return err
	}
	_, f := wiredraft.DecodeResponse(answer, "a", ahp.ToolBefore, nil, wiredraft.Limits{})
	if f == nil || f.Class != ahp.FailUnsupported || f.Code != int(ahp.CodeUnsupportedVersion) {
		return fmt.Errorf("answered with %s", answer)
	}
	return expect(bytes.Contains(answer, []byte(`"supported":["draft"]`)), "it does not say what it supports")
}

func theirManifest(ctx context.Context, k *kitRun) error {
	id := ahp.Raw(`"d-1"`)
	q, err := wiredraft.AppendCapabilitiesRequest(nil, id)
	if err != nil {
		return err
	}
	answer, err := k.post(ctx, string(q))
	if err != nil {
		return err
	}
	m, f := wiredraft.DecodeCapabilitiesResponse(answer, id, wiredraft.Limits{})
	if f != nil {
		return f
	}
	return expect(m.Covers(ahp.ToolBefore, ahp.ModeIntercept) && !m.Covers(ahp.ToolAfter, ahp.ModeIntercept), "another manifest")
}

// theirManifestText is the manifest that the package's backend is given.
const theirManifestText = `{"events":[{"event":"tool.before","modes":["observe","intercept"],"capabilities":{"effects":["deny","modify"],` +
	`"modify":{"input":{"replace":true,"merge":true}}}}],"gaps":[{"path":"limits","reason":"not measured"}],"transports":["http"],` +
	`"authentication":["bearer"],"toolPaths":["native"],"contentCategories":["text"],"limits":{},` +
	`"managedPolicy":{"scopes":[],"disableable":true},"correlationIdentityFields":["session.id"]}`

// scripted starts the package's HTTP backend with a handler that fails, and a
// manifest.
func (k *kitRun) scripted(ctx context.Context) (url string, stop func(), err error) {
	script := filepath.Join(k.dir, "exchange.json")
	text := `{"` + scenario{ahp.ToolBefore, "raise"}.id() + `":"raise","manifest":` + theirManifestText + `}`
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		return "", nil, err
	}
	return k.startServer(ctx, []string{filepath.Join(k.scripts, "ahp_server.py"), "http", script, filepath.Join(k.dir, "exchange.jsonl")})
}

// post sends one message to the package's backend and returns the answer.
func (k *kitRun) post(ctx context.Context, message string) ([]byte, error) {
	url, stop, err := k.scripted(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(message))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	_, err = b.ReadFrom(resp.Body)
	return b.Bytes(), errors.Join(err, expect(resp.StatusCode == http.StatusOK, resp.Status))
}

// one has the package's harness dispatch one event to a backend that is asked about
// it, and returns what it says.
func (k *kitRun) one(ctx context.Context, s scenario, hook map[string]any, env ...string) (json.RawMessage, error) {
	all, err := samples()
	if err != nil {
		return nil, err
	}
	hook["id"] = "dev.holdpoint.interop"
	hook["subscriptions"] = []any{map[string]any{
		"events": []ahp.EventType{s.event}, "mode": "intercept", "timeoutMs": 30000, "failurePolicy": "fail-closed",
		"content": map[string]string{"default": "body"},
	}}
	outcomes, err := k.client(ctx, map[string]any{
		"source": source, "steps": []step{{Event: s.event, ID: s.id(), Input: all.payload(s.event)}},
		"registration": map[string]any{"protocolVersion": ahp.VersionDraft, "hooks": []any{hook}},
	}, env...)
	return outcomes[s.id()], err
}

// refusedByPolicy checks that the package's harness refused because it got no answer.
func refusedByPolicy(line json.RawMessage) error {
	var o struct {
		outcome
		Diagnostics []json.RawMessage `json:"diagnostics"`
	}
	if err := json.Unmarshal(line, &o); err != nil {
		return err
	}
	return expect(o.Permission == "deny" && len(o.Diagnostics) == 1, fmt.Sprintf("settled as %s", line))
}

func expect(ok bool, otherwise string) error {
	if !ok {
		return errors.New(otherwise)
	}
	return nil
}

// listen serves a handler over HTTP and returns its URL.
func listen(ctx context.Context, h backend.HandlerFunc, o backend.Options) (url string, stop func(), err error) {
	o.Versions = []ahp.Version{ahp.Version01, ahp.VersionDraft}
	s, err := backend.New(h, o)
	if err != nil {
		return "", nil, err
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(ln) // until it is closed
	}()
	return "http://" + ln.Addr().String() + "/", func() {
		_ = srv.Close()
		<-done
	}, nil
}

// scenarioHandler answers by the event's id.
func scenarioHandler(_ context.Context, q *backend.Request) ([]ahp.Effect, error) {
	return scenarioOf(q.Event.ID).answer(q)
}
