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
	l := o.Limits.complete()
	l.SingleLine = false
	d := newDecoder(data, l)
	defer d.free()
	d.Lint = true
	reg := new(ahp.Registration)
	if d.Start() {
		d.registration(reg, &o)
		d.End()
	}
	var warnings []Problem
	var errs []error
	for _, p := range problems(name, data, walk.Sorted(d.Problems())) {
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

func (d *decoder) registration(reg *ahp.Registration, o *RegOptions) {
	start := d.Here()
	if start.Kind != '{' {
		d.bad(d.Skip(), "an object: a registration")
		return
	}
	var version, hooks bool
	ids := map[string]bool{}
	d.Open()
	for d.More() {
		switch string(d.Name()) {
		case "protocolVersion":
			version = true
			v := d.Skip()
			if !d.Is(v, string(ahp.Version01)) {
				d.bad(v, `the string "0.1"`)
			}
			reg.Version = ahp.Version01
		case "hooks":
			hooks = true
			if d.Kind() != '[' {
				d.bad(d.Skip(), "an array of backends")
				break
			}
			list := d.Here()
			n := 0
			d.Open()
			for d.More() {
				n++
				reg.Hooks = append(reg.Hooks, d.backend(ids, o))
			}
			if n == 0 && !d.Dead() {
				d.Fail(walk.StageBody, ahp.FailMalformed, ahp.CodeInvalidParams, list.Start, "an empty array", "at least one backend")
			}
		default:
			d.unread(&reg.Unknown, "protocolVersion and hooks", false)
		}
	}
	if !version {
		d.missing(walk.StageBody, start.Start, "protocolVersion", `the string "0.1"`)
	}
	if !hooks {
		d.missing(walk.StageBody, start.Start, "hooks", "an array of backends")
	}
}

// backend reads one entry of hooks.
func (d *decoder) backend(ids map[string]bool, o *RegOptions) (b ahp.Backend) {
	start := d.Here()
	if start.Kind != '{' {
		d.bad(d.Skip(), "an object that describes a backend")
		return b
	}
	var id, transport, subscriptions bool
	var auth walk.Val
	d.Open()
	for d.More() {
		switch string(d.Name()) {
		case "id":
			id = true
			v := d.Skip()
			switch {
			case v.Kind != '"' || !reverseDNS(d.Content(v)):
				d.badName(v, "a reverse-DNS name such as com.example.policy")
			case ids[string(d.Content(v))]:
				d.badName(v, "an id that no other backend has")
			default:
				b.ID = d.Str(v)
				ids[b.ID] = true
			}
		case "transport":
			transport = true
			b.Transport = d.transport(o)
		case "authentication":
			auth = d.Here()
			b.Auth = d.authentication(o)
		case "subscriptions":
			subscriptions = true
			b.Subscriptions = d.subscriptions()
		default:
			d.unread(&b.Unknown, "id, transport, authentication and subscriptions", true)
		}
	}
	if !id {
		d.missing(walk.StageBody, start.Start, "id", "a reverse-DNS name such as com.example.policy")
	}
	if !transport {
		d.missing(walk.StageBody, start.Start, "transport", "an object of type stdio or http")
	}
	if !subscriptions {
		d.missing(walk.StageBody, start.Start, "subscriptions", "an array of subscriptions")
	}
	if _, stdio := b.Transport.(*ahp.StdioTransport); stdio && auth.Kind != 0 {
		d.extra(auth.Start, "authentication", "authentication for a stdio backend", "none: only http has it")
	}
	return b
}

func (d *decoder) transport(o *RegOptions) ahp.Transport {
	start := d.Here()
	if start.Kind != '{' {
		d.bad(d.Skip(), "an object of type stdio or http")
		return nil
	}
	typ, ok := d.Ahead("type")
	switch {
	case ok && d.Is(typ, "stdio"):
		return d.stdio(start.Start)
	case ok && d.Is(typ, "http"):
		return d.http(start.Start, o)
	}
	var none ahp.Members
	d.Open()
	for d.More() {
		if string(d.Name()) == "type" {
			d.badName(d.Skip(), "stdio or http")
			continue
		}
		d.hunt(&none)
	}
	if !ok {
		d.missing(walk.StageBody, start.Start, "type", "stdio or http")
	}
	return nil
}

func (d *decoder) stdio(off int) *ahp.StdioTransport {
	t := new(ahp.StdioTransport)
	var command, lifecycle bool
	d.Open()
	for d.More() {
		switch string(d.Name()) {
		case "type":
			d.Skip()
		case "command":
			command = true
			v := d.Skip()
			if v.Kind != '"' || v.Empty() {
				d.bad(v, "a string that is not empty: a path or a name")
				break
			}
			t.Command = d.Str(v)
		case "args":
			if d.Kind() != '[' {
				d.bad(d.Skip(), "an array of strings")
				break
			}
			t.Args = []string{}
			d.Open()
			for d.More() {
				v := d.Skip()
				if v.Kind != '"' {
					d.bad(v, "a string")
					continue
				}
				t.Args = append(t.Args, d.Str(v))
			}
		case "lifecycle":
			lifecycle = true
			v := d.Skip()
			switch {
			case d.Is(v, string(ahp.Persistent)):
				t.Lifecycle = ahp.Persistent
			case d.Is(v, string(ahp.PerEvent)):
				t.Lifecycle = ahp.PerEvent
			default:
				d.badName(v, "persistent or per_event")
			}
		case "cwd":
			v := d.Skip()
			if v.Kind != '"' {
				d.bad(v, "a string")
				break
			}
			t.CWD = d.Str(v)
		default:
			d.unread(&t.Unknown, "type, command, args, lifecycle and cwd", true)
		}
	}
	if !command {
		d.missing(walk.StageBody, off, "command", "a string that is not empty: a path or a name")
	}
	if !lifecycle {
		d.missing(walk.StageBody, off, "lifecycle", "persistent or per_event")
	}
	return t
}

func (d *decoder) http(off int, o *RegOptions) *ahp.HTTPTransport {
	t := new(ahp.HTTPTransport)
	has := false
	d.Open()
	for d.More() {
		switch string(d.Name()) {
		case "type":
			d.Skip()
		case "url":
			has = true
			v := d.Skip()
			if v.Kind != '"' {
				d.bad(v, "an absolute http or https URL")
				break
			}
			t.URL = d.Str(v)
			if _, found, expected := uri.Endpoint(t.URL, o.AllowPlainHTTP, "a token comes from authentication.tokenEnv"); found != "" {
				d.Fail(walk.StageBody, ahp.FailMalformed, ahp.CodeInvalidParams, v.Start, found, expected)
			}
		default:
			d.unread(&t.Unknown, "type and url", true)
		}
	}
	if !has {
		d.missing(walk.StageBody, off, "url", "an absolute http or https URL")
	}
	return t
}

func (d *decoder) authentication(o *RegOptions) *ahp.Bearer {
	start := d.Here()
	if start.Kind != '{' {
		d.bad(d.Skip(), "an object")
		return nil
	}
	a := new(ahp.Bearer)
	var typ, tokenEnv bool
	d.Open()
	for d.More() {
		switch string(d.Name()) {
		case "type":
			typ = true
			if v := d.Skip(); !d.Is(v, "bearer") {
				d.badName(v, "bearer")
			}
		case "tokenEnv":
			tokenEnv = true
			v := d.Skip()
			if v.Kind != '"' || !walk.EnvName(d.Content(v)) {
				d.bad(v, "the name of an environment variable: letters, digits and _")
				break
			}
			a.TokenEnv = d.Str(v)
			if o.LookupEnv == nil {
				break
			}
			if val, ok := o.LookupEnv(a.TokenEnv); !ok || val == "" {
				d.Warn(v.Start, "an environment variable that is not set", "a token in it when a message is sent")
			}
		case "token", "bearerToken", "value":
			d.credential(d.Pos())
			d.Skip()
		default:
			d.unread(&a.Unknown, "type and tokenEnv", true)
		}
	}
	if !typ {
		d.missing(walk.StageBody, start.Start, "type", "bearer")
	}
	if !tokenEnv {
		d.missing(walk.StageBody, start.Start, "tokenEnv", "the name of an environment variable")
	}
	return a
}

func (d *decoder) subscriptions() (list []ahp.Subscription) {
	if d.Kind() != '[' {
		d.bad(d.Skip(), "an array of subscriptions")
		return nil
	}
	start := d.Here()
	type key struct {
		ahp.EventType
		ahp.Mode
	}
	taken := map[key]bool{}
	n := 0
	d.Open()
	for d.More() {
		n++
		off := d.Pos()
		s := d.subscription()
		for _, e := range s.Events {
			if k := (key{e, s.Mode}); s.Mode != "" && taken[k] {
				d.Fail(walk.StageBody, ahp.FailMalformed, ahp.CodeInvalidParams, off,
					"a second "+string(s.Mode)+" subscription of this backend to "+string(e), "one for each event and mode")
			} else {
				taken[k] = true
			}
		}
		list = append(list, s)
	}
	if n == 0 && !d.Dead() {
		d.Fail(walk.StageBody, ahp.FailMalformed, ahp.CodeInvalidParams, start.Start, "an empty array", "at least one subscription")
	}
	return list
}

func (d *decoder) subscription() (s ahp.Subscription) {
	start := d.Here()
	if start.Kind != '{' {
		d.bad(d.Skip(), "an object that describes a subscription")
		return s
	}
	if v, ok := d.Ahead("mode"); ok {
		switch {
		case d.Is(v, string(ahp.ModeIntercept)):
			s.Mode = ahp.ModeIntercept
		case d.Is(v, string(ahp.ModeObserve)):
			s.Mode = ahp.ModeObserve
		}
	}
	var events, mode, timeout, policy bool
	d.Open()
	for d.More() {
		switch string(d.Name()) {
		case "events":
			events = true
			s.Events = d.events(s.Mode)
		case "mode":
			mode = true
			if v := d.Skip(); s.Mode == "" {
				d.badName(v, "intercept or observe")
			}
		case "timeoutMs":
			timeout = true
			v := d.Skip()
			if d.forbidden(v, s.Mode) {
				break
			}
			var n int64
			fits, ok := false, false
			if v.Kind == '0' {
				n, fits, ok = walk.Integer(d.Text(v))
			}
			if !ok || fits && n < 1 || !fits && d.Text(v)[0] == '-' || n > math.MaxInt64/int64(time.Millisecond) || !fits {
				d.badName(v, "a positive integer: milliseconds")
				break
			}
			s.Timeout = time.Duration(n) * time.Millisecond
		case "failurePolicy":
			policy = true
			v := d.Skip()
			switch {
			case d.forbidden(v, s.Mode):
			case d.Is(v, string(ahp.FailOpen)):
				s.FailurePolicy = ahp.FailOpen
			case d.Is(v, string(ahp.FailClosed)):
				s.FailurePolicy = ahp.FailClosed
			default:
				d.badName(v, "fail-open or fail-closed")
			}
		case "includeNative":
			v := d.Skip()
			if v.Kind != 't' && v.Kind != 'f' {
				d.bad(v, "true or false")
			}
			s.IncludeNative = v.Kind == 't'
		default:
			d.unread(&s.Unknown, "events, mode, timeoutMs, failurePolicy and includeNative", true)
		}
	}
	if !events {
		d.missing(walk.StageBody, start.Start, "events", "an array of event types")
	}
	if !mode {
		d.missing(walk.StageBody, start.Start, "mode", "intercept or observe")
	}
	if s.Mode == ahp.ModeIntercept && !timeout {
		d.missing(walk.StageBody, start.Start, "timeoutMs", "a positive integer: there is no default deadline")
	}
	if s.Mode == ahp.ModeIntercept && !policy {
		d.missing(walk.StageBody, start.Start, "failurePolicy", "fail-open or fail-closed: there is no default")
	}
	return s
}

// forbidden reports a member that an observe subscription may not have (V-FAIL-2).
func (d *decoder) forbidden(v walk.Val, m ahp.Mode) bool {
	if m != ahp.ModeObserve {
		return false
	}
	d.bad(v, "nothing: observation never blocks")
	return true
}

func (d *decoder) events(m ahp.Mode) (list []ahp.EventType) {
	start := d.Here()
	if start.Kind != '[' {
		d.bad(d.Skip(), "an array of event types")
		return nil
	}
	n := 0
	d.Open()
	for d.More() {
		n++
		v := d.Skip()
		var t ahp.EventType
		if v.Kind == '"' {
			t = knownEvent(d.Content(v))
		}
		switch {
		case m == ahp.ModeIntercept && t != ahp.ToolBefore:
			d.badName(v, "tool.before: no other event can be intercepted")
		case t == "":
			d.badName(v, "an event type of revision 0.1, by its exact name")
		case slices.Contains(list, t):
			d.badName(v, "each event once")
		default:
			list = append(list, t)
		}
	}
	if n == 0 && !d.Dead() {
		d.Fail(walk.StageBody, ahp.FailMalformed, ahp.CodeInvalidParams, start.Start, "an empty array", "at least one event type")
	}
	return list
}

// badName reports a value that is a name or a number of the configuration's own,
// which is safe and helpful to show.
func (d *decoder) badName(v walk.Val, expected string) {
	const most = 64
	found := walk.Describe(v)
	switch {
	case v.Kind == '"' && !v.Empty() && v.End-v.Start <= most:
		found = strconv.QuoteToASCII(string(d.Content(v)))
	case v.Kind == '0' && v.End-v.Start <= most:
		found = string(d.Text(v))
	}
	d.Fail(walk.StageBody, ahp.FailMalformed, ahp.CodeInvalidParams, v.Start, found, expected)
}
