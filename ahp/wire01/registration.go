package wire01

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
	"github.com/holdpoint/holdpoint/internal/uri"
)

// RegOptions configures [ParseRegistration]. The zero value is the strict one.
type RegOptions struct {
	// LookupEnv answers whether the variable of a tokenEnv is set now, as
	// [os.LookupEnv] does. A missing or empty one is a warning (V-AMB-14); the
	// value is not kept. Nil skips the question.
	LookupEnv func(name string) (value string, ok bool)

	// AllowPlainHTTP accepts http URLs to hosts other than loopback, for local
	// development only (V-TLS-2).
	AllowPlainHTTP bool

	Limits Limits // bounds the document; SingleLine is ignored
}

// ParseRegistration reads a registration document (AHP 0.1 section 13). It
// reports all problems, not the first only: err joins them, each a [Problem]
// with file, position, found and expected, and one is enough for the whole
// document to be refused (V-REG-1). Warnings are reported beside a usable
// registration as well: members that nothing reads (V-REG-4), and variables that
// are not set. Name is the file's name in problems. No text quotes a token, a
// URL or an argument.
func ParseRegistration(name string, data []byte, o RegOptions) (*ahp.Registration, []Problem, error) {
	w := newWalker(data, o.Limits.complete())
	defer w.free()
	w.lim.SingleLine = false
	w.build, w.lint = true, true
	reg := new(ahp.Registration)
	if w.validDocument() {
		w.registration(reg, &o)
	}
	var warnings []Problem
	var errs []error
	for _, p := range problems(name, data, w.probs) {
		if p.Severity == SeverityWarning {
			warnings = append(warnings, p)
		} else {
			errs = append(errs, p)
		}
	}
	if len(errs) > 0 {
		return nil, warnings, errors.Join(errs...)
	}
	return reg, warnings, nil
}

func (w *walker) registration(reg *ahp.Registration, o *RegOptions) {
	w.start()
	start := w.here()
	if start.kind != '{' {
		w.bad(w.skip(), "an object: a registration")
		return
	}
	var version, hooks bool
	ids := map[string]bool{}
	w.open()
	for w.more() {
		switch string(w.name()) {
		case "protocolVersion":
			version = true
			v := w.skip()
			if !w.is(v, string(ahp.Version01)) {
				w.bad(v, `the string "0.1"`)
			}
			reg.Version = ahp.Version01
		case "hooks":
			hooks = true
			if w.kind() != '[' {
				w.bad(w.skip(), "an array of backends")
				break
			}
			list := w.here()
			n := 0
			w.open()
			for w.more() {
				n++
				reg.Hooks = append(reg.Hooks, w.backend(ids, o))
			}
			if n == 0 && !w.dead {
				w.fail(stageBody, ahp.FailMalformed, ahp.CodeInvalidParams, list.start, "an empty array", "at least one backend")
			}
		default:
			w.unread(&reg.Unknown, "protocolVersion and hooks", false)
		}
	}
	if !version {
		w.missing(stageBody, start.start, "protocolVersion", `the string "0.1"`)
	}
	if !hooks {
		w.missing(stageBody, start.start, "hooks", "an array of backends")
	}
}

// backend reads one entry of hooks.
func (w *walker) backend(ids map[string]bool, o *RegOptions) (b ahp.Backend) {
	start := w.here()
	if start.kind != '{' {
		w.bad(w.skip(), "an object that describes a backend")
		return b
	}
	var id, transport, subscriptions bool
	var auth val
	w.open()
	for w.more() {
		switch string(w.name()) {
		case "id":
			id = true
			v := w.skip()
			switch {
			case v.kind != '"' || !reverseDNS(w.content(v)):
				w.badName(v, "a reverse-DNS name such as com.example.policy")
			case ids[string(w.content(v))]:
				w.badName(v, "an id that no other backend has")
			default:
				b.ID = w.str(v)
				ids[b.ID] = true
			}
		case "transport":
			transport = true
			b.Transport = w.transport(o)
		case "authentication":
			auth = w.here()
			b.Auth = w.authentication(o)
		case "subscriptions":
			subscriptions = true
			b.Subscriptions = w.subscriptions()
		default:
			w.unread(&b.Unknown, "id, transport, authentication and subscriptions", true)
		}
	}
	if !id {
		w.missing(stageBody, start.start, "id", "a reverse-DNS name such as com.example.policy")
	}
	if !transport {
		w.missing(stageBody, start.start, "transport", "an object of type stdio or http")
	}
	if !subscriptions {
		w.missing(stageBody, start.start, "subscriptions", "an array of subscriptions")
	}
	if _, stdio := b.Transport.(*ahp.StdioTransport); stdio && auth.kind != 0 {
		w.extra(auth.start, "authentication", "authentication for a stdio backend", "none: only http has it")
	}
	return b
}

// ahead finds a member of the object at the current position without moving, and
// returns its value.
func (w *walker) ahead(name string) (v val, ok bool) {
	pos, depth := w.pos, len(w.path)
	w.open()
	for w.more() {
		isIt := string(w.name()) == name
		x := w.skip()
		if isIt && !ok {
			v, ok = x, true
		}
	}
	if !w.dead {
		w.pos, w.path = pos, w.path[:depth]
	}
	return v, ok && !w.dead
}

func (w *walker) transport(o *RegOptions) ahp.Transport {
	start := w.here()
	if start.kind != '{' {
		w.bad(w.skip(), "an object of type stdio or http")
		return nil
	}
	typ, ok := w.ahead("type")
	switch {
	case ok && w.is(typ, "stdio"):
		return w.stdio(start.start)
	case ok && w.is(typ, "http"):
		return w.http(start.start, o)
	}
	var none ahp.Members
	w.open()
	for w.more() {
		if string(w.name()) == "type" {
			w.badName(w.skip(), "stdio or http")
			continue
		}
		w.hunt(&none)
	}
	if !ok {
		w.missing(stageBody, start.start, "type", "stdio or http")
	}
	return nil
}

func (w *walker) stdio(off int) *ahp.StdioTransport {
	t := new(ahp.StdioTransport)
	var command, lifecycle bool
	w.open()
	for w.more() {
		switch string(w.name()) {
		case "type":
			w.skip()
		case "command":
			command = true
			v := w.skip()
			if v.kind != '"' || v.end-v.start == 2 {
				w.bad(v, "a string that is not empty: a path or a name")
				break
			}
			t.Command = w.str(v)
		case "args":
			if w.kind() != '[' {
				w.bad(w.skip(), "an array of strings")
				break
			}
			t.Args = []string{}
			w.open()
			for w.more() {
				v := w.skip()
				if v.kind != '"' {
					w.bad(v, "a string")
					continue
				}
				t.Args = append(t.Args, w.str(v))
			}
		case "lifecycle":
			lifecycle = true
			v := w.skip()
			switch {
			case w.is(v, string(ahp.Persistent)):
				t.Lifecycle = ahp.Persistent
			case w.is(v, string(ahp.PerEvent)):
				t.Lifecycle = ahp.PerEvent
			default:
				w.badName(v, "persistent or per_event")
			}
		case "cwd":
			v := w.skip()
			if v.kind != '"' {
				w.bad(v, "a string")
				break
			}
			t.CWD = w.str(v)
		default:
			w.unread(&t.Unknown, "type, command, args, lifecycle and cwd", true)
		}
	}
	if !command {
		w.missing(stageBody, off, "command", "a string that is not empty: a path or a name")
	}
	if !lifecycle {
		w.missing(stageBody, off, "lifecycle", "persistent or per_event")
	}
	return t
}

func (w *walker) http(off int, o *RegOptions) *ahp.HTTPTransport {
	t := new(ahp.HTTPTransport)
	has := false
	w.open()
	for w.more() {
		switch string(w.name()) {
		case "type":
			w.skip()
		case "url":
			has = true
			v := w.skip()
			if v.kind != '"' {
				w.bad(v, "an absolute http or https URL")
				break
			}
			t.URL = w.str(v)
			if _, found, expected := uri.Endpoint(t.URL, o.AllowPlainHTTP, "a token comes from authentication.tokenEnv"); found != "" {
				w.fail(stageBody, ahp.FailMalformed, ahp.CodeInvalidParams, v.start, found, expected)
			}
		default:
			w.unread(&t.Unknown, "type and url", true)
		}
	}
	if !has {
		w.missing(stageBody, off, "url", "an absolute http or https URL")
	}
	return t
}

func (w *walker) authentication(o *RegOptions) *ahp.Bearer {
	start := w.here()
	if start.kind != '{' {
		w.bad(w.skip(), "an object")
		return nil
	}
	a := new(ahp.Bearer)
	var typ, tokenEnv bool
	w.open()
	for w.more() {
		switch string(w.name()) {
		case "type":
			typ = true
			if v := w.skip(); !w.is(v, "bearer") {
				w.badName(v, "bearer")
			}
		case "tokenEnv":
			tokenEnv = true
			v := w.skip()
			if v.kind != '"' || !walk.EnvName(w.content(v)) {
				w.bad(v, "the name of an environment variable: letters, digits and _")
				break
			}
			a.TokenEnv = w.str(v)
			if o.LookupEnv == nil {
				break
			}
			if val, ok := o.LookupEnv(a.TokenEnv); !ok || val == "" {
				w.warn(v.start, "an environment variable that is not set", "a token in it when a message is sent")
			}
		case "token", "bearerToken", "value":
			w.credential(w.pos)
			w.skip()
		default:
			w.unread(&a.Unknown, "type and tokenEnv", true)
		}
	}
	if !typ {
		w.missing(stageBody, start.start, "type", "bearer")
	}
	if !tokenEnv {
		w.missing(stageBody, start.start, "tokenEnv", "the name of an environment variable")
	}
	return a
}

func (w *walker) subscriptions() (list []ahp.Subscription) {
	if w.kind() != '[' {
		w.bad(w.skip(), "an array of subscriptions")
		return nil
	}
	start := w.here()
	type key struct {
		ahp.EventType
		ahp.Mode
	}
	taken := map[key]bool{}
	n := 0
	w.open()
	for w.more() {
		n++
		off := w.pos
		s := w.subscription()
		for _, e := range s.Events {
			if k := (key{e, s.Mode}); s.Mode != "" && taken[k] {
				w.fail(stageBody, ahp.FailMalformed, ahp.CodeInvalidParams, off,
					"a second "+string(s.Mode)+" subscription of this backend to "+string(e), "one for each event and mode")
			} else {
				taken[k] = true
			}
		}
		list = append(list, s)
	}
	if n == 0 && !w.dead {
		w.fail(stageBody, ahp.FailMalformed, ahp.CodeInvalidParams, start.start, "an empty array", "at least one subscription")
	}
	return list
}

func (w *walker) subscription() (s ahp.Subscription) {
	start := w.here()
	if start.kind != '{' {
		w.bad(w.skip(), "an object that describes a subscription")
		return s
	}
	if v, ok := w.ahead("mode"); ok {
		switch {
		case w.is(v, string(ahp.ModeIntercept)):
			s.Mode = ahp.ModeIntercept
		case w.is(v, string(ahp.ModeObserve)):
			s.Mode = ahp.ModeObserve
		}
	}
	var events, mode, timeout, policy bool
	w.open()
	for w.more() {
		switch string(w.name()) {
		case "events":
			events = true
			s.Events = w.events(s.Mode)
		case "mode":
			mode = true
			if v := w.skip(); s.Mode == "" {
				w.badName(v, "intercept or observe")
			}
		case "timeoutMs":
			timeout = true
			v := w.skip()
			if w.forbidden(v, s.Mode) {
				break
			}
			var n int64
			fits, ok := false, false
			if v.kind == '0' {
				n, fits, ok = walk.Integer(w.b[v.start:v.end])
			}
			if !ok || fits && n < 1 || !fits && w.b[v.start] == '-' || n > math.MaxInt64/int64(time.Millisecond) || !fits {
				w.badName(v, "a positive integer: milliseconds")
				break
			}
			s.Timeout = time.Duration(n) * time.Millisecond
		case "failurePolicy":
			policy = true
			v := w.skip()
			switch {
			case w.forbidden(v, s.Mode):
			case w.is(v, string(ahp.FailOpen)):
				s.FailurePolicy = ahp.FailOpen
			case w.is(v, string(ahp.FailClosed)):
				s.FailurePolicy = ahp.FailClosed
			default:
				w.badName(v, "fail-open or fail-closed")
			}
		case "includeNative":
			v := w.skip()
			if v.kind != 't' && v.kind != 'f' {
				w.bad(v, "true or false")
			}
			s.IncludeNative = v.kind == 't'
		default:
			w.unread(&s.Unknown, "events, mode, timeoutMs, failurePolicy and includeNative", true)
		}
	}
	if !events {
		w.missing(stageBody, start.start, "events", "an array of event types")
	}
	if !mode {
		w.missing(stageBody, start.start, "mode", "intercept or observe")
	}
	if s.Mode == ahp.ModeIntercept && !timeout {
		w.missing(stageBody, start.start, "timeoutMs", "a positive integer: there is no default deadline")
	}
	if s.Mode == ahp.ModeIntercept && !policy {
		w.missing(stageBody, start.start, "failurePolicy", "fail-open or fail-closed: there is no default")
	}
	return s
}

// forbidden reports a member that an observe subscription may not have (V-FAIL-2).
func (w *walker) forbidden(v val, m ahp.Mode) bool {
	if m != ahp.ModeObserve {
		return false
	}
	w.bad(v, "nothing: observation never blocks")
	return true
}

func (w *walker) events(m ahp.Mode) (list []ahp.EventType) {
	start := w.here()
	if start.kind != '[' {
		w.bad(w.skip(), "an array of event types")
		return nil
	}
	n := 0
	w.open()
	for w.more() {
		n++
		v := w.skip()
		var t ahp.EventType
		if v.kind == '"' {
			t = knownEvent(w.content(v))
		}
		switch {
		case m == ahp.ModeIntercept && t != ahp.ToolBefore:
			w.badName(v, "tool.before: no other event can be intercepted")
		case t == "":
			w.badName(v, "an event type of revision 0.1, by its exact name")
		case slices.Contains(list, t):
			w.badName(v, "each event once")
		default:
			list = append(list, t)
		}
	}
	if n == 0 && !w.dead {
		w.fail(stageBody, ahp.FailMalformed, ahp.CodeInvalidParams, start.start, "an empty array", "at least one event type")
	}
	return list
}

// badName reports a value that is a name or a number of the configuration's own,
// which is safe and helpful to show.
func (w *walker) badName(v val, expected string) {
	const most = 64
	found := w.describe(v)
	switch {
	case v.kind == '"' && v.end-v.start > 2 && v.end-v.start <= most:
		found = strconv.QuoteToASCII(string(w.content(v)))
	case v.kind == '0' && v.end-v.start <= most:
		found = string(w.b[v.start:v.end])
	}
	w.fail(stageBody, ahp.FailMalformed, ahp.CodeInvalidParams, v.start, found, expected)
}

func (w *walker) warn(off int, found, expected string) {
	if !w.dead && w.wants(stageBody) {
		w.add(problem{stage: stageBody, off: off, pointer: w.pointer(""), found: found, expected: expected, severity: SeverityWarning})
	}
}
