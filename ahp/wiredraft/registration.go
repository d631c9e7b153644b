package wiredraft

import (
	"errors"
	"strconv"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// RegOptions configures [ParseRegistration]. The zero value is the strict one.
type RegOptions struct {
	// LookupEnv answers whether the variable of a tokenEnv is set now, as
	// [os.LookupEnv] does. A missing or empty one is a warning, or an error with
	// StrictSecrets; the value is not kept. Nil skips the question.
	LookupEnv func(name string) (value string, ok bool)

	// LookupSecret answers whether the host has a secret of that name, for a tokenRef
	// or a clientSecretRef. Nil skips the question.
	LookupSecret func(ref string) bool

	// StrictSecrets makes a reference that does not resolve an error (D-SUB-9). With
	// a nil lookup of its kind, no reference resolves then.
	StrictSecrets bool

	// Manifest is what the harness advertises: selectors are held against it
	// (D-REG-4, D-SUB-7), and scopes (D-SUB-5). Nil is the whole catalogue and every
	// scope.
	Manifest *ahp.Manifest

	// AllowPlainHTTP accepts http URLs to hosts other than loopback, for local
	// development only (D-HTTP-7).
	AllowPlainHTTP bool

	Limits Limits // bounds the document; SingleLine is ignored
}

// ParseRegistration reads a registration document (AHP draft section 22). It
// reports all problems, not the first only: err joins them, each a [Problem]
// with file, position, found and expected, and one is enough for the whole
// document to be refused (D-REG-1). Warnings are reported beside a usable
// registration as well: members that nothing reads (D-REG-2), and references that
// do not resolve. Name is the file's name in problems. No text quotes a token, a
// URL or an argument.
func ParseRegistration(name string, data []byte, o RegOptions) (*ahp.Registration, []Problem, error) {
	l := o.Limits.complete()
	l.SingleLine = false
	d := newDecoder(data, l)
	defer d.free()
	d.Lint = true
	reg := new(ahp.Registration)
	if d.Start() {
		r := registrar{decoder: d, o: &o}
		r.registration(reg)
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

// A registrar reads a registration. Its decoder lints.
type registrar struct {
	*decoder
	o *RegOptions
}

// badName reports a value that is a name or a number of the configuration's own,
// which is safe and helpful to show.
func (r *registrar) badName(v walk.Val, expected string) {
	const most = 64
	found := walk.Describe(v)
	switch {
	case v.Kind == '"' && v.End-v.Start > 2 && v.End-v.Start <= most:
		found = strconv.QuoteToASCII(string(r.Content(v)))
	case v.Kind == '0' && v.End-v.Start <= most:
		found = string(r.Text(v))
	}
	r.badAs(v.Start, found, expected)
}

// choose reads one of a few names, and shows another one.
func (r *registrar) choose(expected string, names ...string) string {
	v := r.Skip()
	for _, s := range names {
		if r.Is(v, s) {
			return s
		}
	}
	r.badName(v, expected)
	return ""
}

func (r *registrar) registration(reg *ahp.Registration) {
	start, ok := r.object("an object: a registration")
	if !ok {
		return
	}
	var version, hooks bool
	ids, subscriptions := map[string]bool{}, map[string]bool{}
	for r.More() {
		switch string(r.Name()) {
		case "protocolVersion":
			version = true
			v := r.Skip()
			if !r.Is(v, string(ahp.VersionDraft)) {
				r.badName(v, `the string "draft"`)
			}
			reg.Version = ahp.VersionDraft
		case "hooks":
			hooks = true
			off, ok := r.array("an array of backends")
			if !ok {
				continue
			}
			n := 0
			for r.More() {
				n++
				reg.Hooks = append(reg.Hooks, r.backend(ids, subscriptions))
			}
			if n == 0 && !r.Dead() {
				r.badAs(off, "an empty array", "at least one backend")
			}
		default:
			r.unread(&reg.Unknown, "protocolVersion and hooks", false)
		}
	}
	if !version {
		r.lacks(start, "protocolVersion", `the string "draft"`)
	}
	if !hooks {
		r.lacks(start, "hooks", "an array of backends")
	}
}

const backendID = "a reverse-DNS name such as com.example.policy"

// backend reads one entry of hooks (AHP draft section 22.1).
func (r *registrar) backend(ids, subscriptions map[string]bool) (b ahp.Backend) {
	start, ok := r.object("an object that describes a backend")
	if !ok {
		return b
	}
	var id, transport, subs bool
	auth := 0
	for r.More() {
		switch string(r.Name()) {
		case "id":
			id = true
			v := r.Skip()
			switch {
			case v.Kind != '"' || !reverseDNS(r.Content(v)):
				r.badName(v, backendID)
			case ids[string(r.Content(v))]:
				r.badName(v, "an id that no other backend has")
			default:
				b.ID = r.Str(v)
				ids[b.ID] = true
			}
		case "transport":
			transport = true
			b.Transport = r.transport()
		case "authentication":
			auth = r.Pos()
			b.Auth, b.OAuth = r.authentication()
		case "subscriptions":
			subs = true
			off, ok := r.array("an array of subscriptions")
			if !ok {
				continue
			}
			n := 0
			for r.More() {
				n++
				b.Subscriptions = append(b.Subscriptions, r.subscription(subscriptions))
			}
			if n == 0 && !r.Dead() {
				r.badAs(off, "an empty array", "at least one subscription")
			}
		case "contentReceiver": // D-REG-6
			r.badAs(r.NameVal().Start, "a content receiver", "none: a subscription has an upload")
			r.Skip()
		default:
			r.unread(&b.Unknown, "id, transport, authentication and subscriptions", true)
		}
	}
	if !id {
		r.lacks(start, "id", backendID)
	}
	if !transport {
		r.lacks(start, "transport", "an object of type stdio or http")
	}
	if !subs {
		r.lacks(start, "subscriptions", "an array of subscriptions")
	}
	if _, stdio := b.Transport.(*ahp.StdioTransport); stdio && auth > 0 {
		r.extra(auth, "authentication", "authentication for a stdio backend", "none: only http has it")
	}
	return b
}

func (r *registrar) transport() ahp.Transport {
	start := r.Pos()
	if r.Kind() != '{' {
		r.bad(r.Skip(), "an object of type stdio or http")
		return nil
	}
	typ, ok := r.Ahead("type")
	switch {
	case ok && r.Is(typ, "stdio"):
		return r.stdio(start)
	case ok && r.Is(typ, "http"):
		return r.http(start)
	}
	var none ahp.Members
	r.Open()
	for r.More() {
		if string(r.Name()) == "type" {
			r.badName(r.Skip(), "stdio or http")
			continue
		}
		r.hunt(&none)
	}
	if !ok {
		r.lacks(start, "type", "stdio or http")
	}
	return nil
}

const commandName = "a string that is not empty: a path or a name"

func (r *registrar) stdio(off int) *ahp.StdioTransport {
	t := new(ahp.StdioTransport)
	var command, lifecycle bool
	r.Open()
	for r.More() {
		switch string(r.Name()) {
		case "type":
			r.Skip()
		case "command":
			command = true
			v := r.Skip()
			if v.Kind != '"' || v.Empty() {
				r.bad(v, commandName)
				continue
			}
			t.Command = r.Str(v)
		case "args":
			t.Args = r.names("an array of strings", 0, false)
		case "lifecycle":
			lifecycle = true
			t.Lifecycle = ahp.Lifecycle(r.choose("persistent or per_event", string(ahp.Persistent), string(ahp.PerEvent)))
		case "cwd":
			t.CWD = r.str()
		default:
			r.unread(&t.Unknown, "type, command, args, lifecycle and cwd", true)
		}
	}
	if !command {
		r.lacks(off, "command", commandName)
	}
	if !lifecycle {
		r.lacks(off, "lifecycle", "persistent or per_event")
	}
	return t
}

func (r *registrar) http(off int) *ahp.HTTPTransport {
	t := new(ahp.HTTPTransport)
	has := false
	r.Open()
	for r.More() {
		switch string(r.Name()) {
		case "type":
			r.Skip()
		case "url":
			has = true
			v := r.Skip()
			if v.Kind != '"' {
				r.bad(v, "an absolute http or https URL")
				continue
			}
			t.URL = r.Str(v)
			if found, expected := badURL(t.URL, r.o.AllowPlainHTTP); found != "" {
				r.badAs(v.Start, found, expected)
			}
		default:
			r.unread(&t.Unknown, "type and url", true)
		}
	}
	if !has {
		r.lacks(off, "url", "an absolute http or https URL")
	}
	return t
}
