package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/facts/secret"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

// inspectBackend is what the backend is called; no registration names it.
const inspectBackend = "dev.holdpoint.inspected"

type inspectFlags struct {
	stdio, perEvent bool
	url, tokenEnv   string
	env             []string
	event, command  string
	revision        string
	method          string
	timeout         time.Duration
	failurePolicy   string
	asJSON          bool
}

// An inspectReport is the --json output of inspect;
// docs/schemas/inspect.schema.json describes it.
type inspectReport struct {
	Backend   inspectedBackend     `json:"backend"`
	Revision  ahp.Version          `json:"revision"`
	Method    ahp.Method           `json:"method"`
	EventID   string               `json:"eventId"`
	EventType ahp.EventType        `json:"eventType"`
	TimeoutMs int64                `json:"timeoutMs"`
	Sent      inspectText          `json:"sent"`
	Received  *inspectText         `json:"received,omitempty"` // absent when no answer got as far as the checks
	Answer    string               `json:"answer"`             // none, deny, effects, failure, delivered
	Deny      *inspectDeny         `json:"deny,omitempty"`
	Effects   []ahp.EffectType     `json:"effects,omitempty"` // draft: the effects of a valid answer, in order
	Failure   *inspectFailure      `json:"failure,omitempty"`
	ElapsedMs float64              `json:"elapsedMs"`
	Status    int                  `json:"httpStatus,omitempty"`
	Exit      string               `json:"exit,omitempty"` // how the process ended, when that is what failed
	Stderr    *inspectText         `json:"stderr,omitempty"`
	Policies  []inspectConsequence `json:"consequences"`

	outcome settle.State // of a usable answer
}

type inspectedBackend struct {
	Transport string   `json:"transport"` // stdio or http
	Lifecycle string   `json:"lifecycle,omitempty"`
	Command   []string `json:"command,omitempty"`
	URL       string   `json:"url,omitempty"`
	TokenEnv  string   `json:"tokenEnv,omitempty"`
}

// An inspectText is bytes as they may be shown: secrets replaced, control
// characters escaped, cut at a length.
type inspectText struct {
	Text  string `json:"text"`
	Bytes int    `json:"bytes"` // of the whole, as it was sent or received
	Cut   bool   `json:"cut"`
}

type inspectDeny struct {
	Reason string `json:"reason"`
	Code   string `json:"code,omitempty"`
}

type inspectFailure struct {
	Class   ahp.FailureClass `json:"class"`
	Pointer string           `json:"pointer,omitempty"`
	Code    int              `json:"code,omitempty"`
	Detail  string           `json:"detail,omitempty"`
}

// An inspectConsequence is what a harness would do under a failure policy.
type inspectConsequence struct {
	Policy     ahp.FailurePolicy `json:"failurePolicy"`
	Outcome    settle.State      `json:"outcome"`
	Synthetic  bool              `json:"synthetic"`
	FailedOpen bool              `json:"failedOpen"`
	Reason     string            `json:"reason,omitempty"` // what the agent is shown
}

func newInspect(a *app) *cobra.Command {
	f := &inspectFlags{}
	cmd := &cobra.Command{
		Use:   "inspect (--stdio [--per-event] -- COMMAND [ARG...] | --url URL)",
		Short: "Send one event to one backend and show the exchange",
		Long: `Inspect asks one AHP backend about one event, as a harness does, and shows
what was sent and received, how the answer is classified, how long it took, and
what a harness would do under each failure policy. Nothing is decided or
recorded.

The event is --event (an AHP event, or a message that holds one), -c (a shell
command), or a built-in sample. Secrets are replaced and control characters
escaped in what is shown. The text on stderr is the backend's own.

With --revision draft everything is offered that the event can have (AHP draft,
section 7.1), so that each effect of the answer can be seen.

Exit codes: 0 no objection (or an observation was delivered), 10 denied or
stopped, 11 needs an approval, 1 no usable answer, 2 wrong usage.`,
		Example: `  holdpoint inspect --stdio -- ./my-backend --strict
  holdpoint inspect --url https://policy.example/ahp --token-env POLICY_TOKEN -c 'git push --force'`,
		RunE: work(func(cmd *cobra.Command, args []string) error {
			b, err := f.backend(cmd, args)
			if err != nil {
				return err
			}
			ev, v, err := f.readEvent(cmd.Context(), a)
			if err != nil {
				return err
			}
			r, err := f.ask(cmd.Context(), b, ev, v)
			if err != nil {
				return err
			}
			if f.asJSON {
				err = a.json(r)
			} else {
				err = a.printInspect(r)
			}
			switch {
			case err != nil:
				return err
			case r.Failure != nil:
				return errSaid(exitFailed)
			case r.Deny != nil, r.outcome == settle.Denied, r.outcome == settle.Stopped:
				return errSaid(exitDenied)
			case r.outcome == settle.Ask:
				return errSaid(exitAsk)
			}
			return nil
		}),
	}
	fl := cmd.Flags()
	fl.BoolVar(&f.stdio, "stdio", false, "the backend is the command behind --, over its stdin and stdout")
	fl.BoolVar(&f.perEvent, "per-event", false, "with --stdio: one process for each event (default: persistent)")
	fl.StringVar(&f.url, "url", "", "the backend is at this `URL`: https, or http on loopback")
	fl.StringVar(&f.tokenEnv, "token-env", "", "with --url: environment `variable` that holds the bearer token")
	fl.StringArrayVar(&f.env, "env", nil, "with --stdio: further `variable` that the process gets; may be repeated")
	fl.StringVar(&f.event, "event", "", "AHP event, or message with one, in this `file` (- is stdin)")
	fl.StringVarP(&f.command, "command", "c", "", "an event about this command `text`")
	fl.StringVar(&f.revision, "revision", "", "protocol revision that is spoken: 0.1, draft (default: what --event says, else 0.1)")
	fl.StringVar(&f.method, "method", string(ahp.ModeIntercept), "what is asked: intercept, observe")
	fl.DurationVar(&f.timeout, "timeout", 5*time.Second, "time for the answer, set-up included")
	fl.StringVar(&f.failurePolicy, "failure-policy", "", "show what follows under this policy only: fail-open, fail-closed (default: both)")
	fl.BoolVar(&f.asJSON, "json", false, "write JSON")
	return cmd
}

// backend checks the flags and makes the backend of them.
func (f *inspectFlags) backend(cmd *cobra.Command, args []string) (*ahp.Backend, error) {
	var errs []error
	bad := func(format string, a ...any) { errs = append(errs, fmt.Errorf(format, a...)) }
	if err := oneOf("method", ahp.Mode(f.method), ahp.ModeIntercept, ahp.ModeObserve); err != nil {
		errs = append(errs, err)
	}
	if f.failurePolicy != "" {
		if err := oneOf("failure-policy", ahp.FailurePolicy(f.failurePolicy), ahp.FailOpen, ahp.FailClosed); err != nil {
			errs = append(errs, err)
		}
	}
	if err := checkRevision(f.revision); err != nil {
		errs = append(errs, err)
	}
	if f.timeout < time.Millisecond {
		bad("--timeout: %v, expected at least 1ms", f.timeout)
	}
	if f.event != "" && f.command != "" {
		bad("give --event or -c, not both")
	}
	b := &ahp.Backend{ID: inspectBackend}
	switch {
	case (len(args) > 0) == (f.url != ""):
		bad("give one of: --stdio -- COMMAND, --url URL")
	case f.url != "":
		if f.stdio || f.perEvent || f.env != nil {
			bad("--stdio, --per-event and --env do not go with --url")
		}
		if _, err := transport.CheckURL(f.url); err != nil {
			bad("--%w", err)
		}
		b.Transport = &ahp.HTTPTransport{URL: f.url}
	default:
		if cmd.ArgsLenAtDash() != 0 {
			bad("put -- before the command")
		}
		if f.tokenEnv != "" {
			bad("--token-env goes with --url")
		}
		t := &ahp.StdioTransport{Command: args[0], Args: args[1:], Lifecycle: ahp.Persistent}
		if f.perEvent {
			t.Lifecycle = ahp.PerEvent
		}
		b.Transport = t
	}
	if f.tokenEnv != "" {
		b.Auth = &ahp.Bearer{TokenEnv: f.tokenEnv}
	}
	if errs != nil {
		return nil, &exitError{exitUsage, errors.Join(errs...)}
	}
	return b, nil
}

// readEvent makes the event, and says in which revision it is told.
func (f *inspectFlags) readEvent(ctx context.Context, a *app) (*ahp.Event, ahp.Version, error) {
	v := ahp.Version(f.revision)
	if f.event != "" {
		ev, v, err := a.readEvent(ctx, f.event, v)
		if err == nil && ahp.Mode(f.method) == ahp.ModeIntercept && !ev.Type.Interceptable(v) {
			err = usagef("an event of type %s can only be observed: add --method observe", ev.Type)
		}
		return ev, v, err
	}
	v = cmp.Or(v, ahp.Version01)
	command := f.command
	if command == "" {
		command = "git status"
	}
	wd, err := os.Getwd()
	if err != nil {
		wd = "/"
	}
	ev := commandEvent(harness.NewID(), command, wd, []string{wd})
	ev.Source, ev.Time = "urn:holdpoint:inspect", time.Now().UTC().Format(time.RFC3339Nano)
	ev.Session.ID, ev.Tool.CallID = "holdpoint-inspect", ev.ID
	if v == ahp.VersionDraft {
		ev.Tool.Origin, ev.Tool.Path = ahp.OriginNative, "native"
	}
	return ev, v, nil
}

// ask sends the event and puts what came of it together.
func (f *inspectFlags) ask(ctx context.Context, b *ahp.Backend, ev *ahp.Event, v ahp.Version) (*inspectReport, error) {
	w := revisionOf(v, ev)
	r := &inspectReport{
		Revision: v, Method: ahp.MethodIntercept, EventID: printable(ev.ID), EventType: ev.Type,
		TimeoutMs: f.timeout.Milliseconds(), Policies: []inspectConsequence{},
	}
	var frame []byte
	var err error
	if ahp.Mode(f.method) == ahp.ModeObserve {
		r.Method = ahp.MethodObserve
		frame, err = w.observe()
	} else {
		frame, err = w.intercept()
	}
	if err != nil {
		return nil, fmt.Errorf("the event cannot be sent: %w", err)
	}
	show := newShower(f.tokenEnv)
	r.Sent = show.text(ctx, frame)
	r.Backend = f.shown(ctx, b, show)

	carrier, err := transport.New(b, transport.Options{Env: f.env, Revision: v})
	if err != nil {
		return nil, err
	}
	var effects []ahp.Effect
	var failure *ahp.Failure
	call, cancel := context.WithTimeout(ctx, f.timeout)
	began := time.Now()
	if r.Method == ahp.MethodObserve {
		failure = carrier.Tell(call, frame)
	} else {
		failure = carrier.Ask(call, &transport.Exchange{ID: ev.ID, Frame: frame, Accept: func(answer []byte) *ahp.Failure {
			text := show.text(ctx, answer)
			r.Received = &text
			var f *ahp.Failure
			effects, f = w.response(answer)
			return f
		}})
	}
	elapsed := time.Since(began)
	cancel()
	// The process ends before its stderr is read, so that its last words are in.
	closing, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	closeErr := carrier.Close(closing)
	if d, ok := carrier.(transport.Diagnostics); ok {
		if tail := d.Stderr(); len(tail) > 0 {
			text := show.text(ctx, tail)
			r.Stderr = &text
		}
	}
	r.ElapsedMs = float64(elapsed.Microseconds()) / 1000
	f.classify(r, b, w, effects, failure)
	if closeErr != nil {
		return r, fmt.Errorf("the backend could not be ended: %w", closeErr)
	}
	return r, nil
}

// classify says what the answer is and what a harness would make of it.
func (f *inspectFlags) classify(r *inspectReport, b *ahp.Backend, w *spoken, effects []ahp.Effect, failure *ahp.Failure) {
	_, overHTTP := b.Transport.(*ahp.HTTPTransport)
	switch {
	case failure != nil:
		r.Answer = string(settle.AnswerFailure)
		x := &inspectFailure{Class: failure.Class, Pointer: printable(failure.Pointer), Code: failure.Code}
		if failure.Err != nil {
			x.Detail = strings.TrimPrefix(printable(failure.Err.Error()), x.Pointer+": ")
		}
		r.Failure = x
		if failure.Class == ahp.FailProcess {
			r.Exit = x.Detail
		}
		if overHTTP && (failure.Class == ahp.FailHTTPStatus || failure.Class == ahp.FailEvent) {
			r.Status = failure.Code
		} else if overHTTP && r.Received != nil {
			r.Status = 200
		}
	case r.Method == ahp.MethodObserve:
		r.Answer = "delivered"
	default:
		r.Answer = string(settle.AnswerNone)
		if overHTTP {
			r.Status = 200
		}
		for _, e := range effects {
			if r.Revision == ahp.VersionDraft {
				r.Effects = append(r.Effects, e.Type())
			}
			if d, ok := e.(*ahp.Deny); ok && r.Deny == nil { // the first is the one that is shown (D-EFF-8)
				r.Deny = &inspectDeny{Reason: settle.Escape(d.Reason, settle.MaxReasonBytes), Code: printable(d.Code)}
			}
		}
		switch {
		case r.Deny != nil:
			r.Answer = string(settle.AnswerDeny)
		case len(effects) > 0:
			r.Answer = string(settle.AnswerEffects)
		}
	}
	if r.Method == ahp.MethodObserve {
		return // an observation decides nothing
	}
	for _, p := range []ahp.FailurePolicy{ahp.FailClosed, ahp.FailOpen} {
		if f.failurePolicy != "" && f.failurePolicy != string(p) {
			continue
		}
		s, rejected := w.settle(settle.Step{Backend: b.ID, Policy: p, Effects: effects, Failure: failure})
		if rejected != nil && r.Failure == nil {
			// What only shows when the effects are put together: an input that does not
			// take the change, an id that is there already.
			r.Answer, r.Deny, r.Effects = string(settle.AnswerFailure), nil, nil
			r.Failure = &inspectFailure{Class: rejected.Class, Pointer: printable(rejected.Pointer)}
			if rejected.Err != nil {
				r.Failure.Detail = printable(rejected.Err.Error())
			}
		}
		r.outcome = s.State
		r.Policies = append(r.Policies, inspectConsequence{Policy: p, Outcome: s.State, Synthetic: s.Synthetic, FailedOpen: s.FailedOpen, Reason: s.Reason})
	}
}

func (f *inspectFlags) shown(ctx context.Context, b *ahp.Backend, show *shower) inspectedBackend {
	if t, ok := b.Transport.(*ahp.StdioTransport); ok {
		x := inspectedBackend{Transport: "stdio", Lifecycle: string(t.Lifecycle)}
		for _, arg := range append([]string{t.Command}, t.Args...) {
			x.Command = append(x.Command, show.text(ctx, []byte(arg)).Text)
		}
		return x
	}
	return inspectedBackend{Transport: "http", URL: printable(facts.RedactURL(f.url)), TokenEnv: f.tokenEnv}
}

// A shower makes bytes of a peer fit to be shown.
type shower struct {
	find  facts.SecretFinder
	token string
}

func newShower(tokenEnv string) *shower {
	s := &shower{find: secret.New(secret.Options{Generic: true}).Find}
	if tokenEnv != "" {
		s.token = os.Getenv(tokenEnv)
	}
	return s
}

// maxShownBytes bounds what is shown of one text; what is searched for secrets is
// longer, so that none is cut into something that is not recognised.
const (
	maxShownBytes    = 4 << 10
	maxSearchedBytes = 64 << 10
)

func (s *shower) text(ctx context.Context, b []byte) inspectText {
	t := inspectText{Bytes: len(b)}
	b = bytes.TrimSuffix(b, []byte("\n"))
	if len(b) > maxSearchedBytes {
		b, t.Cut = b[:maxSearchedBytes], true
	}
	text := string(b)
	if s.token != "" {
		text = strings.ReplaceAll(text, s.token, "***")
		text = strings.ReplaceAll(text, url.QueryEscape(s.token), "***")
	}
	found, err := s.find(ctx, text)
	if err != nil {
		t.Text, t.Cut = "(not shown: it could not be searched for secrets)", true
		return t
	}
	var out strings.Builder
	last := 0
	for _, m := range found {
		out.WriteString(text[last:m.Start])
		out.WriteString("***")
		last = m.End
	}
	out.WriteString(text[last:])
	text = out.String()
	if len(text) > maxShownBytes {
		text, t.Cut = strings.ToValidUTF8(text[:maxShownBytes], ""), true
	}
	t.Text = printable(text)
	return t
}

func (a *app) printInspect(r *inspectReport) error {
	var p page
	if r.Backend.Transport == "http" {
		p.line("backend     http %s", r.Backend.URL)
		if r.Backend.TokenEnv != "" {
			p.line("token       *** from %s", printable(r.Backend.TokenEnv))
		}
	} else {
		p.line("backend     stdio %s: %s", r.Backend.Lifecycle, strings.Join(r.Backend.Command, " "))
	}
	p.line("method      %s of revision %s, %s, within %s", r.Method, r.Revision, r.EventType, time.Duration(r.TimeoutMs)*time.Millisecond)
	p.line("sent        %s", a.shownText(&r.Sent))
	if r.Received != nil {
		p.line("received    %s", a.shownText(r.Received))
	} else if r.Method == ahp.MethodIntercept {
		p.line("received    %s", a.paint(dim, "nothing that is an answer"))
	}
	switch {
	case r.Failure != nil:
		line := a.paint(red, "no usable answer") + ": " + string(r.Failure.Class)
		if r.Failure.Pointer != "" {
			line += " at " + r.Failure.Pointer
		}
		if r.Failure.Code != 0 {
			line += fmt.Sprintf(" (%d)", r.Failure.Code)
		}
		if r.Failure.Detail != "" {
			line += ": " + r.Failure.Detail
		}
		p.line("answer      %s", line)
	case r.Deny != nil:
		line := a.paint(red, "deny") + ": " + r.Deny.Reason
		if r.Deny.Code != "" {
			line += " (" + r.Deny.Code + ")"
		}
		p.line("answer      %s", line)
	case r.Answer == "delivered":
		p.line("answer      %s, and none is expected", a.paint(green, "delivered"))
	case len(r.Effects) > 0:
		names := make([]string, len(r.Effects))
		for i, e := range r.Effects {
			names[i] = string(e)
		}
		p.line("answer      %s: %s", a.paint(yellow, "effects"), strings.Join(names, ", "))
	default:
		p.line("answer      %s", a.paint(green, "no objection"))
	}
	if r.Status != 0 {
		p.line("status      HTTP %d", r.Status)
	}
	p.line("time        %.1f ms", r.ElapsedMs)
	if r.Stderr != nil {
		p.line("stderr      %s", a.shownText(r.Stderr))
	}
	for _, c := range r.Policies {
		what := a.paint(green, "the operation proceeds")
		switch {
		case c.Outcome == settle.Ask:
			what = a.paint(yellow, "the operation waits for an approval")
		case c.Outcome == settle.Supplied:
			what = a.paint(yellow, "the operation is skipped, its result is the one supplied")
		case c.Outcome == settle.Stopped:
			what = a.paint(red, "the operation and the turn are stopped") + ": " + c.Reason
		case c.Outcome != settle.Proceed:
			what = a.paint(red, "the operation is denied") + ": " + c.Reason
		case c.FailedOpen:
			what = a.paint(yellow, "the operation proceeds without a check (failed open)")
		}
		p.line("%-11s %s", c.Policy, what)
	}
	return a.emit(&p)
}

func (a *app) shownText(t *inspectText) string {
	if t.Cut {
		return fmt.Sprintf("%s%s", t.Text, a.paint(dim, fmt.Sprintf("… (%d bytes in all)", t.Bytes)))
	}
	return t.Text
}
