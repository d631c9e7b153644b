package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/native"
)

// readEvent reads an AHP event, or the event of a whole message, of the given
// revision or of the one that a message says. All problems of the file are reported
// at once.
func (a *app) readEvent(ctx context.Context, name string, v ahp.Version) (*ahp.Event, ahp.Version, error) {
	data, err := a.readInput(ctx, name)
	if err != nil {
		return nil, v, err
	}
	shown := name
	if name == "-" {
		shown = "stdin"
	}
	if v == "" {
		v = statedRevision(data)
	}
	kind, err := eventKind(data)
	if err != nil {
		return nil, v, fmt.Errorf("%s: %w", shown, err)
	}
	var ev *ahp.Event
	if v == ahp.VersionDraft {
		ev, err = draftEvent(shown, data, wiredraft.Kind(kind))
	} else {
		ev, err = event01(shown, data, wire01.Kind(kind))
	}
	return ev, v, err
}

// eventKind tells an event from a message by the names of its outermost members. It is
// empty where they do not say: the codec guesses then, and judges what is no JSON.
func eventKind(data []byte) (lintKind, error) {
	const want = "an AHP event, or a hooks/intercept message with one"
	var value any
	if json.Unmarshal(data, &value) != nil {
		return "", nil
	}
	doc, ok := value.(map[string]any)
	if !ok {
		return "", errors.New("found a JSON value that is no object, expected " + want)
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(n string) bool { _, ok := doc[n]; return ok })
	}
	switch {
	case has("jsonrpc", "result", "error") && !has("method"):
		return "", errors.New("found a message without a method, expected " + want)
	case has("jsonrpc", "method", "params", "hooks", "events", "managedPolicy"):
		return "", nil
	case has("hook_event_name", "tool_name", "tool_input") && !has("type", "source"):
		return "", fmt.Errorf("found the payload of an agent's hook, expected %s; such payloads are read with --agent, from stdin", want)
	}
	return lintEvent, nil
}

func event01(shown string, data []byte, kind wire01.Kind) (*ahp.Event, error) {
	problems, kind := wire01.Lint(shown, data, kind)
	if kind != wire01.KindMessage && kind != wire01.KindEvent {
		return nil, fmt.Errorf("%s: neither an event nor a message, but a %s", shown, kind)
	}
	var errs []error
	for _, p := range problems {
		if p.Severity == wire01.SeverityError {
			errs = append(errs, p)
		}
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	if kind == wire01.KindEvent {
		// As an observation: that form takes every type of event.
		data = slices.Concat([]byte(`{"jsonrpc":"2.0","method":"hooks/observe","params":{"protocolVersion":"0.1","event":`), data, []byte(`}}`))
	}
	m, err := wire01.Decode(data, wire01.Limits{MaxBytes: maxInputBytes + 1024})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	if m.Event == nil {
		return nil, fmt.Errorf("%s: a %s holds no event", shown, m.Kind)
	}
	return m.Event, nil
}

func draftEvent(shown string, data []byte, kind wiredraft.Kind) (*ahp.Event, error) {
	problems, kind := wiredraft.Lint(shown, data, kind, wiredraft.LintOptions{})
	if kind != wiredraft.KindMessage && kind != wiredraft.KindEvent {
		return nil, fmt.Errorf("%s: neither an event nor a message, but a %s", shown, kind)
	}
	var errs []error
	for _, p := range problems {
		if p.Severity == wiredraft.SeverityError {
			errs = append(errs, p)
		}
	}
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	limits := wiredraft.Limits{MaxBytes: maxInputBytes + 1024}
	if kind == wiredraft.KindEvent {
		ev, err := wiredraft.DecodeEvent(data, limits)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", shown, err)
		}
		return ev, nil
	}
	m, err := wiredraft.Decode(data, limits)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", shown, err)
	}
	if m.Event == nil {
		return nil, fmt.Errorf("%s: a %s holds no event", shown, m.Kind)
	}
	return m.Event, nil
}

// readPayload reads the payload of an agent's hook from stdin. The event is nil
// when it stands for no operation.
func (a *app) readPayload(ctx context.Context, agent string, at *place) (*ahp.Event, error) {
	if !slices.Contains(gateway.Agents(), agent) {
		return nil, usagef("--agent: %q is not one of %s", agent, strings.Join(gateway.Agents(), ", "))
	}
	data, err := a.readInput(ctx, "-")
	if err != nil {
		return nil, err
	}
	call := &native.Call{CWD: at.cwd, Payload: data, Env: map[string]string{}}
	for _, name := range hookwire.ProjectVariables(agent) {
		if v, ok := os.LookupEnv(name); ok {
			call.Env[name] = v
		}
	}
	ev, err := gateway.DecodePayload(agent, call, at.home)
	if err != nil {
		return nil, fmt.Errorf("payload of %s: %s", agent, cmp.Or(native.Fault(err), err.Error()))
	}
	if ev != nil && at.rootsGiven {
		ev.Session.WorkspaceRoots = at.roots
	}
	return ev, nil
}

// homeOf is the home folder that dir lies in, by the usual places of home folders.
func homeOf(dir string) string {
	parts := strings.Split(strings.ReplaceAll(dir, `\`, "/"), "/")
	if len(parts) < 3 || parts[2] == "" {
		return ""
	}
	switch {
	case parts[0] == "" && (parts[1] == "home" || parts[1] == "Users"):
		return "/" + parts[1] + "/" + parts[2]
	case len(parts[0]) == 2 && parts[0][1] == ':' && strings.EqualFold(parts[1], "Users"):
		return parts[0] + `\` + parts[1] + `\` + parts[2]
	}
	return ""
}
