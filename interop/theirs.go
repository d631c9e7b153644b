package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/backend"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
)

// askTheirs has our harness settle every scenario of every event with a backend of
// the package, and checks the settlements and what the backend was given.
func (k *kitRun) askTheirs(ctx context.Context, over carrier) (err error) {
	n := slices.Index(carriers(), over)
	log, script := filepath.Join(k.dir, fmt.Sprintf("theirs-%d.jsonl", n)), filepath.Join(k.dir, "script.json")
	all, err := samples()
	if err != nil {
		return err
	}
	events, err := all.decoded(oursToServer, over)
	if err != nil {
		return err
	}
	if err := writeScript(script, events); err != nil {
		return err
	}
	server := []string{filepath.Join(k.scripts, "ahp_server.py")}
	transport := map[string]any{"type": "stdio", "command": k.python, "lifecycle": ahp.Persistent}
	switch over {
	case overHTTP:
		url, stop, err := k.startServer(ctx, append(server, "http", script, log))
		if err != nil {
			return err
		}
		defer stop()
		transport = map[string]any{"type": "http", "url": url}
	case perEvent:
		transport["lifecycle"] = ahp.PerEvent
		fallthrough
	case persistent:
		transport["args"] = append(server, "stdio", script, log)
	}
	h, err := newHarness(transport)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, h.Close(ctx)) }()
	// A process for each event is mostly the start of Python: some at a time.
	some := make(chan struct{}, 1)
	if over == perEvent {
		some = make(chan struct{}, 4)
	}
	ends := make([]error, len(events))
	var wg sync.WaitGroup
	for i, e := range events {
		some <- struct{}{}
		wg.Go(func() {
			ends[i] = settleTheirs(ctx, h, e)
			<-some
		})
	}
	wg.Wait()
	for i, e := range events {
		k.result(oursToServer, over, e.s, ends[i])
	}
	// The last observation has been read when a request behind it is answered.
	last := *events[slices.IndexFunc(events, func(e event) bool { return e.s == scenario{ahp.ToolBefore, none} })].ev
	last.ID += "/last"
	c := h.Begin(ctx, &last)
	if _, err := c.Settle(); err != nil {
		return err
	}
	if err := c.Wait(ctx); err != nil {
		return err
	}
	return k.told(oursToServer, over, log)
}

// An event is one scenario with its event.
type event struct {
	s  scenario
	ev *ahp.Event
}

// decoded returns an event for each scenario, read by the codec.
func (s sampleSet) decoded(way direction, over carrier) ([]event, error) {
	var list []event
	for _, t := range ahp.DraftEvents() {
		for _, sc := range scenariosOver(way, over, t) {
			ev, err := wiredraft.DecodeEvent(s.event(t, sc.id()), wiredraft.Limits{})
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t, err)
			}
			list = append(list, event{sc, ev})
		}
	}
	return list, nil
}

// writeScript writes what the package's backend is to answer, by event id.
func writeScript(file string, events []event) error {
	answers := map[string][]json.RawMessage{}
	for _, e := range events {
		effects, err := e.s.answer(&backend.Request{Version: ahp.VersionDraft, Event: e.ev, Capabilities: full(e.s.event)})
		if err != nil {
			return fmt.Errorf("%s: %w", e.s.id(), err)
		}
		for _, f := range effects {
			b, err := wiredraft.AppendEffect(nil, f)
			if err != nil {
				return fmt.Errorf("%s: %w", e.s.id(), err)
			}
			answers[e.s.id()] = append(answers[e.s.id()], b)
		}
	}
	b, err := json.Marshal(answers)
	if err != nil {
		return err
	}
	return os.WriteFile(file, b, 0o600)
}

// full returns all that can be offered at t, with two more steps.
func full(t ahp.EventType) ahp.Capabilities {
	c := ahp.Bounds(t)
	if c.Flow != nil && c.Flow.Continue {
		left, count := int64(2), int64(0)
		c.Flow.Remaining, c.Flow.Count = &left, &count
	}
	return c
}

// newHarness returns a harness over one backend that is asked about everything and
// told of everything.
func newHarness(transport map[string]any) (*harness.Harness, error) {
	var intercepted []ahp.EventType
	m := &ahp.Manifest{
		Transports: []string{"http", "stdio"}, ToolPaths: []string{"native", "mcp"}, ContentCategories: []string{"text"},
		ManagedPolicy: ahp.ManagedPolicy{Scopes: []ahp.Scope{ahp.ScopeUser}, Disableable: true},
		Gaps: []ahp.Gap{
			{Path: "limits.maxUploadBytes", Reason: "no attachments"},
			{Path: "limits.maxContinuations", Reason: "each event says"},
			{Path: "limits.minTimeoutMs", Reason: "none"},
			{Path: "limits.maxTimeoutMs", Reason: "none"},
		},
	}
	for _, t := range ahp.DraftEvents() {
		e := ahp.ManifestEvent{Event: t, Modes: []ahp.Mode{ahp.ModeObserve}}
		if t.Interceptable(ahp.VersionDraft) {
			c := full(t)
			e.Modes, e.Capabilities = append(e.Modes, ahp.ModeIntercept), &c
			intercepted = append(intercepted, t)
		}
		m.Events = append(m.Events, e)
	}
	body := map[string]string{"default": "body"}
	doc, err := json.Marshal(map[string]any{
		"protocolVersion": ahp.VersionDraft,
		"hooks": []any{map[string]any{
			"id": "org.agenthooksprotocol.interop", "transport": transport,
			"subscriptions": []any{
				map[string]any{"events": intercepted, "mode": "intercept", "timeoutMs": 30000, "failurePolicy": "fail-closed", "content": body},
				map[string]any{"events": []string{"*"}, "mode": "observe", "content": body},
			},
		}},
	})
	if err != nil {
		return nil, err
	}
	reg, _, err := wiredraft.ParseRegistration("hooks.json", doc, wiredraft.RegOptions{Manifest: m})
	if err != nil {
		return nil, err
	}
	return harness.New(reg, harness.Options{
		Source: source, Manifest: m, Recorder: harness.Discard, ObserveTimeout: 30 * time.Second, Budget: 2 * time.Minute,
	})
}

// settleTheirs settles one event and says in what the outcome is not the right one.
func settleTheirs(ctx context.Context, h *harness.Harness, e event) error {
	if !e.s.event.Interceptable(ahp.VersionDraft) {
		return harness.Observe(ctx, h, e.ev)
	}
	c := h.Begin(ctx, e.ev)
	s, err := c.Settle()
	if err := errors.Join(err, c.Wait(ctx)); err != nil {
		return err
	}
	if s.Synthetic || s.FailedOpen || len(s.Hops) != 1 {
		return fmt.Errorf("not the backend's own answer: %s %s", s.State, s.Class)
	}
	o, err := outcomeOf(&s, e.s.event)
	if err != nil {
		return err
	}
	return e.s.check(o)
}

// outcomeOf returns one of our settlements in the words that both sides share.
func outcomeOf(s *settle.Settlement, t ahp.EventType) (*outcome, error) {
	o := &outcome{Permission: string(s.Permission), Instructions: s.Instructions, Messages: s.Messages}
	if s.Flow != "" {
		flow := string(s.Flow)
		o.Flow = &flow
	}
	var err error
	if s.Candidate != nil {
		// Its value as the effect that supplied it.
		if o.Candidate, err = wiredraft.AppendEffect(nil, &ahp.Return{Value: *s.Candidate}); err != nil {
			return nil, fmt.Errorf("candidate at %s: %w", t, err)
		}
	}
	for _, i := range s.Injections {
		b, err := wiredraft.AppendEffect(nil, i)
		if err != nil {
			return nil, err
		}
		o.Injections = append(o.Injections, b)
	}
	o.Event, err = wiredraft.AppendEvent(nil, s.Event)
	return o, err
}

// startServer starts the package's HTTP backend and returns its URL.
func (k *kitRun) startServer(ctx context.Context, args []string) (url string, stop func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	cmd := exec.CommandContext(ctx, k.python, args...)
	cmd.Stderr = k.stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		cancel()
		return "", nil, err
	}
	port, err := bufio.NewReader(out).ReadString('\n')
	stop = func() {
		cancel() // which kills it: there is nothing that it could lose
		_ = cmd.Wait()
	}
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("ahp_server.py: %w", err)
	}
	return "http://127.0.0.1:" + strings.TrimSpace(port) + "/", stop, nil
}
